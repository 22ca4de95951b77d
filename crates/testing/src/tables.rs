//! The tables that releases of every kind are made of: rows that are persons, owners of more rows than count, owners of
//! one row, graphs with and without owners. Replays, costs, golden files and needs of memory declare the same ones in
//! sizes of their own.

/// How large the declared tables are.
pub struct TableSizes {
    /// The δ of the budget.
    pub delta: &'static str,
    /// The largest age in `people`.
    pub age: u32,
    /// More columns of `people`, a line each.
    pub more: &'static str,
    /// How much of an owner counts in `visits`, a line each.
    pub bounds: &'static str,
    /// The largest day in `visits` and `once`.
    pub day: u32,
    /// The largest cost in `visits`.
    pub cost: u32,
    /// The vertices of both graphs.
    pub vertices: u32,
}

/// So small that a release is replayed on all neighbours.
pub const TINY: TableSizes = TableSizes {
    delta: "1e-2",
    age: 4,
    more: "",
    bounds: "max_rows_per_owner = 5\nmax_groups_per_owner = 3\nmax_rows_per_group = 2\n",
    day: 3,
    cost: 20,
    vertices: 8,
};

/// As people have them; the golden files are made of these.
pub const USUAL: TableSizes = TableSizes {
    delta: "1e-4",
    age: 9,
    more: "",
    bounds: "max_rows_per_owner = 120\nmax_groups_per_owner = 60\nmax_rows_per_group = 2\n",
    day: 6,
    cost: 50,
    vertices: 500,
};

/// So large that what is public alone takes memory.
pub const LARGE: TableSizes = TableSizes {
    delta: "1e-3",
    age: 8999,
    more: "score = { type = \"int\", lower = 0, upper = 99 }\n",
    bounds: "max_rows_per_owner = 1000\n",
    day: 8999,
    cost: 50,
    vertices: 100_000_000,
};

impl TableSizes {
    /// A budget, and the declarations of `people`, `visits`, `friends`, `calls` and `once`, each in a file of its name.
    pub fn declared(&self) -> String {
        let Self { delta, age, more, bounds, day, cost, vertices } = self;
        format!(
            r#"
[budget]
person = {{ epsilon = 1e9, delta = {delta} }}
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = {{ type = "int", lower = 0, upper = {age} }}
sex = {{ type = "category", values = ["f", "m"] }}
smokes = {{ type = "bool" }}
town = {{ type = "category" }}
income = {{ type = "float", lower = -10, upper = 30, granularity = 0.5 }}
{more}[dataset.visits]
source = "visits.csv"
owner = "id"
{bounds}[dataset.visits.columns]
clinic = {{ type = "category" }}
day = {{ type = "int", lower = 0, upper = {day} }}
sex = {{ type = "category", values = ["f", "m"] }}
cost = {{ type = "int", lower = -5, upper = {cost} }}
[dataset.friends]
source = "friends.csv"
graph = {{ from = "a", to = "b", vertices = {vertices} }}
[dataset.friends.columns]
a = {{ type = "int" }}
b = {{ type = "int" }}
[dataset.calls]
source = "calls.csv"
owner = "id"
max_rows_per_owner = 3
graph = {{ from = "a", to = "b", vertices = {vertices} }}
[dataset.calls.columns]
a = {{ type = "int" }}
b = {{ type = "int" }}
[dataset.once]
source = "once.csv"
owner = "id"
max_rows_per_owner = 1
[dataset.once.columns]
day = {{ type = "int", lower = 0, upper = {day} }}
sex = {{ type = "category", values = ["f", "m"] }}
"#
        )
    }

    /// The budget and the declarations of one of the tables, whose rows come from there.
    pub fn declared_alone(&self, name: &str, source: &str) -> String {
        let own = |part: &&str| part.starts_with(&format!("{name}]")) || part.starts_with(&format!("{name}.columns]"));
        let all = self.declared();
        let (budget, parts) = all.split_once("[dataset.").unwrap();
        let parts = parts.split("[dataset.").filter(own).map(|part| format!("[dataset.{part}"));
        format!("{budget}{}", parts.collect::<String>()).replace(&format!("{name}.csv"), source)
    }
}
