//! Projects that tests of the program release, and that the engine's tests of refusals use.

/// Visits to clinics, and the wards of these.
pub const CLINIC: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 3
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
reason = { type = "category" }
day = { type = "date", lower = "2013-01-01", upper = "2013-12-31" }
begun = { type = "timestamp", lower = "2013-01-01T00:00:00", upper = "2013-12-31T23:59:59", zone = "Europe/Berlin" }
minutes = { type = "int", lower = 0, upper = 100 }
cost = { type = "float", lower = 0, upper = 10 }
urgent = { type = "bool" }
[dataset.wards]
source = "wards.csv"
public = true
[dataset.wards.columns]
clinic = { type = "category" }
city = { type = "category" }
beds = { type = "int", lower = 0, upper = 10 }
"#;

/// The rows of `visits` in [`CLINIC`].
pub const CLINIC_VISITS: &str = "person,clinic,reason,day,begun,minutes,cost,urgent\n\
                    1,a,x,2013-07-03,2013-07-03T12:00:00,10,1.5,true\n\
                    2,b,y,2013-07-03,2013-07-03T10:00:00Z,20,2.5,false\n";

/// People with an age, a sex and a name.
pub const NAMED_PEOPLE: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m"] }
name = { type = "category" }
"#;

/// Days and times of flights.
pub const FLIGHTS: &str = r#"
[dataset.flights]
source = "flights.csv"
[dataset.flights.columns]
day     = { type = "date", lower = "2013-01-01", upper = "2013-12-31" }
departs = { type = "timestamp", lower = "2013-01-01T00:00:00", upper = "2013-12-31T23:59:59", zone = "Europe/Berlin" }
"#;

/// The rows of [`FLIGHTS`]: missing ones, and some outside of the bounds.
pub const FLIGHTS_ROWS: &str = "\
day,departs
2013-01-31,2013-01-31T23:30:00Z
2013-02-28,2013-02-28 12:00
2012-02-29,2013-03-31T00:30:00+00:00
2013-12-31,2013-12-31T23:59:59.5
,
1066-10-14,9999-12-31T00:00:00
";

/// People in towns, and their visits to clinics.
pub const TOWNS: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = { type = "category", values = ["f", "m"] }
city = { type = "category", values = ["Ulm", "Bonn", "Trier"] }
town = { type = "category" }
age = { type = "int", lower = 0, upper = 100 }
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 4
max_groups_per_owner = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["north", "south"] }
[budget]
person = { epsilon = 1000, delta = 1e-6 }
"#;

/// What visits cost.
pub const SPENDING: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 5
[dataset.visits.columns]
clinic = { type = "category", values = ["north", "south"] }
cost = { type = "float", lower = 0, upper = 100, granularity = 0.01 }
[budget]
person = { epsilon = 1000 }
"#;

/// People with an income, who smoke or not.
pub const INCOMES: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = { type = "category", values = ["f", "m"] }
smokes = { type = "bool" }
income = { type = "int", lower = 0, upper = 100 }
town = { type = "category" }
"#;

/// Three numbers of each sex in [`INCOMES`].
pub const INCOMES_QUERY: &str = "SELECT sex, COUNT(*) AS n, COUNT(*) FILTER (WHERE smokes) AS smokers, SUM(income) AS income FROM people GROUP BY sex";

/// People with columns of every type, and visits.
pub const MIXED: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = { type = "category", values = ["f", "m", "x"] }
state = { type = "category" }
age = { type = "int", lower = 0, upper = 120 }
y = { type = "float", lower = 0, upper = 100 }
b = { type = "bool" }
[dataset.visits]
source = "visits.csv"
owner = "id"
max_rows_per_owner = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
cost = { type = "int", lower = 0, upper = 10 }
"#;

/// Habits of people.
pub const HABITS: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
smoker = { type = "bool" }
insured = { type = "bool" }
age = { type = "int", lower = 0, upper = 99 }
region = { type = "category", values = ["north", "south", "west"] }
"#;

/// The binary columns of a release of [`HABITS`].
pub const HABITS_COLUMNS: &str = r#"columns = ["smoker", "insured", "age >= 65", "region = north"]"#;

/// Searches of users, and people in towns.
pub const SEARCHES: &str = r#"
[dataset.searches]
source = "searches.csv"
owner = "user"
max_rows_per_owner = 200
[dataset.searches.columns]
term = { type = "category" }
page = { type = "category", values = ["news", "mail", "maps", "shop", "help"] }

[dataset.people]
source = "people.csv"
[dataset.people.columns]
town = { type = "category" }
sex = { type = "category", values = ["f", "m"] }

[budget]
person = { epsilon = 1000, delta = 1e-6 }
"#;

/// Columns of so few values that a model of all combinations is small.
pub const FEW_VALUES: &str = "[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 3 }\nsmokes = { type = \"bool\" }\n\
    sex = { type = \"category\", values = [\"f\", \"m\"] }\nincome = { type = \"int\", lower = 0, upper = 9 }\n";

/// A release of [`FEW_VALUES`] that is asked one question after the other: six rounds of ε = 10 each.
pub const INTERACTIVE: &str = "kind = \"interactive\"\ncolumns = [\"age\", \"smokes\", \"sex\"]\nmissing = \"never\"\npeople = 2000\nquestions = 30\nupdates = 6\n\
    cost = { epsilon = 60 }";

/// The conditions of [`SMALL_TABLE`].
pub const SMALL_TABLE_CONDITIONS: &str = "[\"smokes\", \"age = 0 AND sex = 'f'\", \"age > 1\"]";

/// A small table of [`FEW_VALUES`].
pub const SMALL_TABLE: &str = "kind = \"small-table\"\ncolumns = [\"age\", \"smokes\", \"sex\"]\nmissing = \"never\"\nsize = 4\n\
    conditions = [\"smokes\", \"age = 0 AND sex = 'f'\", \"age > 1\"]\npeople = 2000\ncost = { epsilon = 8 }";

/// A graph of friends.
pub const FRIENDS: &str = "[dataset.friends]\nsource = \"edges.csv\"\ngraph = { from = \"a\", to = \"b\", vertices = 200 }\n\
    [dataset.friends.columns]\na = { type = \"int\" }\nb = { type = \"int\" }\n";

/// Four people, as a German spreadsheet writes them.
pub const GERMAN_ROWS: &str =
    "name;größe;alter;raucher\nMüller;1,75;44,0;ja\n'Meier; Anna';1,6;NA;nein\nÖzil;;30;nein\nSchmidt;1,9;51;ja\n";

/// The declaration of [`GERMAN_ROWS`] in this file, with more lines for the table.
pub fn german(source: &str, table: &str) -> String {
    format!(
        "[dataset.people]\nsource = \"{source}\"\n{table}\n[dataset.people.columns]\nname = {{ type = \"category\" }}\n\
         'größe' = {{ type = \"float\", lower = 0, upper = 3, granularity = 0.01 }}\nalter = {{ type = \"int\", lower = 0, upper = 120 }}\n\
         raucher = {{ type = \"category\", values = [\"ja\", \"nein\"] }}\n"
    )
}

/// Accounts with passwords, more lines for the table, and a release of the kind `anonymized-histogram`.
pub fn accounts(dataset: &str, release: &str) -> String {
    format!(
        "[dataset.accounts]\nsource = \"accounts.csv\"\n{dataset}\n\
         [dataset.accounts.columns]\npassword = {{ type = \"category\" }}\ntall = {{ type = \"int\", lower = 0, upper = 1 }}\n\
         [[release]]\nname = \"frequencies\"\nkind = \"anonymized-histogram\"\ntable = \"accounts\"\n{release}\n"
    )
}

/// People with diseases, of whom there are publicly a thousand.
pub const DISEASES: &str = r#"
[dataset.people]
source = "people.csv"
public_owners = 1000
[dataset.people.columns]
age = { type = "int", lower = 18, upper = 89 }
disease = { type = "category", values = ["none", "flu", "asthma"] }
state = { type = "category" }
"#;
