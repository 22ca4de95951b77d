//! Tables and queries that are run elsewhere: one of each construct that is written for other engines.

/// The project; `BOUNDS` is replaced by one of the bounds.
pub const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
BOUNDS
[dataset.visits.columns]
clinic = { type = "category" }
ward = { type = "int", lower = 1, upper = 3 }
cost = { type = "float", lower = 0, upper = 100, granularity = 0.1 }
open = { type = "bool" }
day = { type = "date", lower = "2020-02-01", upper = "2020-02-28" }
seen = { type = "timestamp" }
[dataset.homes]
source = "homes.csv"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["north", "it's \\ south"] }
[dataset.trips]
source = "trips.csv"
owner = "rider"
BOUNDS
[dataset.trips.columns]
km = { type = "int", lower = -5, upper = 50 }
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
"#;

/// How much of an owner counts.
pub const BOUNDS: [&str; 5] = [
    "max_rows_per_owner = 6\nmax_groups_per_owner = 2\nmax_rows_per_group = 3",
    "max_rows_per_owner = 2\nmax_groups_per_owner = 2\nmax_rows_per_group = 1",
    "max_rows_per_owner = 3",
    // What all of an owner's groups may have together chooses among rows, and among groups.
    "max_rows_per_owner = 4\nmax_groups_per_owner = 3\nmax_rows_per_group = 2",
    "max_rows_per_owner = 2\nmax_groups_per_owner = 4\nmax_rows_per_group = 1",
];

/// A row as CSV has it, as SQL has it, or both made from words: `-` is nothing.
struct TableText {
    csv: String,
    sql: String,
}

impl TableText {
    /// A table of rows whose columns are texts, where `texts` says so.
    fn of(name: &str, columns: &str, kinds: &str, rows: &[Vec<String>], is_text: &[bool]) -> Self {
        let csv_rows = rows.iter().map(|row| row.join(",") + "\n").collect::<String>();
        let value = |(text, is_text): (&String, &bool)| match text.as_str() {
            "" => "NULL".to_string(),
            text if *is_text => format!("'{}'", text.replace('\'', "''")),
            text => text.to_string(),
        };
        let sql_row =
            |row: &Vec<String>| format!("({})", row.iter().zip(is_text).map(value).collect::<Vec<_>>().join(", "));
        let values = rows.iter().map(sql_row).collect::<Vec<_>>().join(",\n");
        let sql = format!("CREATE TABLE {name} ({kinds});\nINSERT INTO {name} VALUES {values};\n");
        Self { csv: format!("{columns}\n{csv_rows}"), sql }
    }
}

/// Visits of 40 people with quotes in their names, their homes, trips of riders with numbers, and people; as files, and
/// as SQL.
pub fn tables() -> (Vec<(&'static str, String)>, String) {
    let owner = |i: u32| format!("o'{}\u{e9}\u{1F600}", i);
    let visits: Vec<Vec<String>> = (0..240u32)
        .map(|i| {
            let clinic = ["a", "b", "c'\u{e9}", "d \\ e", ""][(i * 7 % 5) as usize];
            let cost = ["1.25", "30", "", "250", "-7", "99.94", "NaN", "-0.0", "0.0", "0.35"][(i * 3 % 10) as usize];
            let (ward, day) = (["0", "1", "2", "", "4"][(i % 5) as usize], 1 + i % 3);
            [
                owner(i * i % 40).as_str(),
                clinic,
                ward,
                cost,
                if i % 3 == 0 { "true" } else { "false" },
                &format!("2020-02-0{day}"),
                "",
            ]
            .map(str::to_string)
            .to_vec()
        })
        .collect();
    let homes: Vec<Vec<String>> =
        (0..40).map(|i| vec![owner(i), ["north", "it's \\ south", "mars"][(i % 3) as usize].to_string()]).collect();
    let trips: Vec<Vec<String>> =
        (0..200i64).map(|i| vec![(i * i % 31 - 9).to_string(), (i % 70 - 9).to_string()]).collect();
    let people: Vec<Vec<String>> = (0..90).map(|i| vec![(i * 3 % 130).to_string()]).collect();
    let all = [
        TableText::of(
            "visits",
            "person,clinic,ward,cost,open,day,seen",
            "person VARCHAR, clinic VARCHAR, ward INTEGER, cost FLOAT8, open BOOLEAN, day DATE, seen TIMESTAMP",
            &visits,
            &[true, true, false, true, false, true, true],
        ),
        TableText::of("homes", "person,area", "person VARCHAR, area VARCHAR", &homes, &[true, true]),
        TableText::of("trips", "rider,km", "rider INTEGER, km BIGINT", &trips, &[false, false]),
        TableText::of("people", "age", "age INTEGER", &people, &[false]),
    ];
    let names = ["visits.csv", "homes.csv", "trips.csv", "people.csv"];
    let sql = all.iter().map(|table| table.sql.as_str()).collect();
    (names.into_iter().zip(all.into_iter().map(|table| table.csv)).collect(), sql)
}

/// What other engines are given: one of each construct that is written for them.
pub const QUERIES: [&str; 18] = [
    "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic",
    "SELECT clinic, ward, COUNT(DISTINCT person) AS n, AVG(cost) AS s FROM visits GROUP BY clinic, ward",
    "SELECT open, MAX(cost) AS b, COUNT(DISTINCT clinic) AS c, COUNT(cost) AS p FROM visits WHERE ward > 1 GROUP BY open",
    "SELECT COUNT(*) AS n, VAR_POP(cost) AS v, MEDIAN(ward) AS m FROM visits",
    "SELECT day, SUM(cost) AS s, COUNT(DISTINCT ward) AS w, COUNT(DISTINCT open) AS o FROM visits GROUP BY day",
    "SELECT h.area, COUNT(*) AS n, SUM(v.cost) AS s FROM visits v JOIN homes h ON v.person = h.person WHERE v.cost > 0.5 GROUP BY h.area",
    "SELECT CASE WHEN cost > 20 THEN 'it''s \\ dear' WHEN open THEN 'open' ELSE 'other' END AS k, COUNT(*) AS n FROM visits GROUP BY 1",
    "SELECT COALESCE(clinic, 'none') AS c, SUM(ward * 2 - 1) AS s FROM visits GROUP BY 1",
    "SELECT km > 10 OR km IS NULL AS k, COUNT(*) AS n FROM trips GROUP BY 1",
    "SELECT SUM(km) AS s, COUNT(DISTINCT rider) AS r, COUNT(DISTINCT km) AS d FROM trips WHERE km BETWEEN 2 AND 40",
    "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost = 0 OR clinic IN ('a', 'c''\u{e9}') OR NOT open GROUP BY clinic",
    "SELECT clinic, open, COUNT(*) AS n FROM visits GROUP BY ROLLUP (clinic, open)",
    "SELECT 'visits' AS t, COUNT(*) AS n FROM visits UNION ALL SELECT 'trips', COUNT(*) FROM trips",
    "SELECT c, SUM(w) AS s FROM (SELECT clinic || '!' AS c, 2 * ward AS w FROM visits WHERE open AND cost IS NOT NULL) t GROUP BY c",
    "SELECT age, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY age",
    // A number that is written out has 32 bits in some engines, and this product has 33.
    "SELECT clinic, SUM(CASE WHEN open THEN 2000000000 ELSE 1 END * 2) AS s FROM visits GROUP BY clinic",
    "SELECT ward, SUM(cost * 0.25 + ward / 4.0) AS s FROM visits GROUP BY ward",
    "SELECT open, COUNT(*) AS n FROM visits WHERE day >= '2020-02-02' AND cost IS NOT NULL GROUP BY open",
];
