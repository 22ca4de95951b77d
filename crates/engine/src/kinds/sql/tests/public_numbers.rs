//! Columns of public tables that are constant in a group cost nothing and are exact. Columns that only look constant
//! are paid for as before.

use super::*;
use crate::release::output::Uncertainty;

const TABLES: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "o"
max_rows_per_owner = 3
max_groups_per_owner = 2
[dataset.visits.columns]
city = { type = "category", values = ["Ulm", "Bonn", "Kiel"] }
town = { type = "category" }
year = { type = "int", lower = 2024, upper = 2025 }
cost = { type = "int", lower = 0, upper = 100 }
[dataset.cities]
source = "cities.csv"
public = true
[dataset.cities.columns]
city = { type = "category" }
region = { type = "category", values = ["n", "s"] }
residents = { type = "int", lower = 0, upper = 10000000 }
area = { type = "float", lower = 0, upper = 1000 }
name = { type = "category" }
[dataset.twice]
source = "twice.csv"
public = true
[dataset.twice.columns]
city = { type = "category" }
same = { type = "int", lower = 0, upper = 1000000 }
other = { type = "int", lower = 0, upper = 1000000 }
hole = { type = "int", lower = 0, upper = 1000000 }
[dataset.years]
source = "years.csv"
public = true
[dataset.years.columns]
city = { type = "category" }
year = { type = "int", lower = 2024, upper = 2025 }
residents = { type = "int", lower = 0, upper = 10000000 }
[dataset.gone]
source = "gone.csv"
public = true
[dataset.gone.columns]
city = { type = "category" }
residents = { type = "int", lower = 0, upper = 10000000 }
"#;

/// The three visits of owner 1 are in Ulm; Kiel is in no public table, and one row has no city.
const VISITS: &str = "o,city,town,year,cost\n1,Ulm,a,2024,10\n1,Ulm,a,2024,20\n1,Ulm,a,2025,30\n2,Bonn,b,2025,40\n3,Kiel,c,2024,50\n4,,d,2024,60\n5,Bonn,Bonn,2024,70\n";

fn tables() -> (Folder, Project) {
    let folder = Folder::with(&[
        ("visits.csv", VISITS),
        (
            "cities.csv",
            "city,region,residents,area,name\nUlm,s,125000,118.7,Ulm an der Donau\nBonn,n,330000,141.1,Bundesstadt\n",
        ),
        // Ulm stands there twice: with one number, with two, and with one and none. A row without a city counts nobody.
        ("twice.csv", "city,same,other,hole\nUlm,5,5,5\nUlm,5,6,\nBonn,6,7,7\n,9,9,9\n,8,8,8\n"),
        ("years.csv", "city,year,residents\nUlm,2024,4\nUlm,2025,5\nBonn,2024,6\nBonn,2025,7\n"),
    ]);
    let project = folder.project(TABLES);
    (folder, project)
}

fn analysed_query(project: &Project, sql: &str) -> AnalysedQuery {
    let request = Request::sql("test", sql, &"epsilon=1,delta=1e-6".parse().unwrap()).unwrap();
    match asked(sql, &request, project, |error| error).unwrap_or_else(|error| panic!("{sql}: {error}")) {
        SqlRequest::One(query) => *query,
        SqlRequest::Union(_) => panic!("one query"),
    }
}

/// Its answer without noise, as a release of kind `sql` makes it.
fn exact(project: &Project, sql: &str) -> String {
    let query = analysed_query(project, sql);
    let (cut, tables) = (&query.cut, query.cut.below.tables.iter().cloned().collect::<Vec<_>>());
    let backend = Backend::with_data(project, &tables).unwrap();
    let integers = integers(cut, &backend, Key(1, 2)).unwrap();
    let certain = Epsilon::new(1e5).unwrap();
    let quantiles = cut.query.quantiles.iter().map(|quantile| mechanism(&cut.query, quantile, certain).unwrap());
    let plan = query.at(&"epsilon=1,delta=1e-6".parse().unwrap()).unwrap();
    let private = QueryMechanism { threshold: None, selection: None, quantiles: quantiles.collect(), ..plan.private };
    let noisy = noised(cut, integers, &private, &mut ZeroNoise(InsecureSeededSource::new(1)));
    let mut answers = answers(cut, &noisy, &private).unwrap();
    answers.columns.iter_mut().for_each(|column| column.uncertainty = None);
    answers.columns.retain(|column| !column.name.ends_with("_error"));
    answers.csv().unwrap()
}

/// `1000 * COUNT(*) / MAX(p.residents)` spent half of the cost on a public number, and had no error then; `GROUP BY
/// city, residents` had private groups, because 10,000,001 numbers of residents are declared.
#[test]
fn numbers_of_a_public_table_that_depend_on_the_key_are_free_and_exact() {
    let (_folder, project) = tables();
    let check = |asked: &str, numbers: usize, expected: &str| {
        let sql = format!("SELECT {asked}");
        let query = analysed_query(&project, &sql);
        assert_eq!((query.cut.query.measures.len(), query.cut.query.quantiles.len()), (numbers, 0), "{sql}");
        assert!(!query.cut.public.is_empty() && query.cut.query.cells().is_some(), "{sql}: {:?}", query.cut.public);
        assert_eq!(exact(&project, &sql), expected, "{sql}");
    };
    let from = "FROM visits v JOIN cities c ON v.city = c.city";
    check(
        &format!(
            "v.city, COUNT(*) AS n, MAX(c.residents) AS r, MIN(c.area) AS a, AVG(c.residents) AS m {from} GROUP BY v.city"
        ),
        1,
        "city,n,r,a,m\nUlm,3,125000,118.7,125000\nBonn,2,330000,141.1,330000\n",
    );
    check(
        &format!("v.city, 100000.0 * COUNT(*) / MAX(c.residents) AS rate {from} GROUP BY v.city"),
        1,
        "city,rate\nUlm,2.4\nBonn,0.6060606060606061\n",
    );
    let by_both = "city,residents,n\nUlm,125000,3\nBonn,330000,2\n";
    check(&format!("v.city, c.residents, COUNT(*) AS n {from} GROUP BY v.city, c.residents"), 1, by_both);
    check(&format!("v.city, c.residents, COUNT(*) AS n {from} GROUP BY c.residents, v.city"), 1, by_both);
    check(
        &format!("v.city, c.area, c.name, c.region, SUM(cost) AS s {from} GROUP BY v.city, c.area, c.name, c.region"),
        1,
        "city,area,name,region,s\nUlm,118.7,Ulm an der Donau,s,60\nBonn,141.1,Bundesstadt,n,110\n",
    );
    check(
        "v.city, COUNT(*) AS n, MAX(c.residents) AS r FROM visits v JOIN cities c ON c.city = v.city WHERE c.region <> 'x' GROUP BY v.city",
        1,
        "city,n,r\nUlm,3,125000\nBonn,2,330000\n",
    );
    check(
        &format!(
            "place, r / 1000 AS k, COUNT(*) AS n FROM (SELECT v.city AS place, c.residents AS r, v.cost {from} WHERE v.cost > 10) s GROUP BY place, r"
        ),
        1,
        "place,k,n\nUlm,125,2\nBonn,330,2\n",
    );
    check(
        &format!("v.city, COUNT(*) AS n {from} GROUP BY v.city HAVING MAX(c.residents) > 200000"),
        1,
        "city,n\nBonn,2\n",
    );
    // The key that stays is the one with declared values.
    check(
        &format!("v.city, c.name, COUNT(*) AS n {from} GROUP BY c.name, v.city"),
        1,
        "city,name,n\nUlm,Ulm an der Donau,3\nBonn,Bundesstadt,2\n",
    );
    // A row that stands there twice counts every visit twice, and is one number.
    let twice = "FROM visits v JOIN twice t ON v.city = t.city";
    check(
        &format!("v.city, COUNT(*) AS n, MAX(t.same) AS r {twice} GROUP BY v.city"),
        1,
        "city,n,r\nUlm,3,5\nBonn,2,6\n",
    );
    // Of one year there is one number; and of a city and a year.
    let years = "FROM visits v JOIN years y ON v.city = y.city";
    check(
        &format!("v.city, COUNT(*) AS n, MAX(y.residents) AS r {years} WHERE y.year = 2025 GROUP BY v.city"),
        1,
        "city,n,r\nUlm,3,5\nBonn,2,7\n",
    );
    check(
        &format!(
            "v.city, v.year, COUNT(*) AS n, MAX(y.residents) AS r {years} AND v.year = y.year GROUP BY v.city, v.year"
        ),
        1,
        "city,year,n,r\nUlm,2024,2,4\nUlm,2025,1,5\nBonn,2024,1,6\nBonn,2025,1,7\n",
    );
    check(
        &format!("COUNT(*) AS n, MAX(y.residents) AS r {years} WHERE y.year = 2025 AND y.city = 'Ulm'"),
        1,
        "n,r\n3,5\n",
    );
    check(
        &format!(
            "place, MAX(r) AS r, AVG(s) AS m FROM (SELECT v.o, v.city AS place, c.residents AS r, SUM(v.cost) AS s {from} GROUP BY v.o, v.city, c.residents) q GROUP BY place"
        ),
        2,
        "place,r,m\nUlm,125000,60\nBonn,330000,55\n",
    );
}

/// Of all of these the group's rows may have several numbers, or the private rows decide which: they are released with
/// noise, as before.
#[test]
fn numbers_that_only_look_determined_are_paid_for() {
    let (_folder, project) = tables();
    let check = |asked: &str| {
        let sql = format!("SELECT COUNT(*) AS n, {asked}");
        let query = analysed_query(&project, &sql);
        let numbers = query.cut.query.measures.len() + query.cut.query.quantiles.len();
        assert!(query.cut.public.is_empty() && numbers == 2, "{sql}: {:?}", query.cut.public);
    };
    let from = "FROM visits v JOIN cities c ON v.city = c.city";
    let twice = "FROM visits v JOIN twice t ON v.city = t.city";
    let years = "FROM visits v JOIN years y ON v.city = y.city";
    // Several values for one key, NULL among them.
    check(&format!("MAX(t.other) AS r {twice} GROUP BY v.city"));
    check(&format!("MAX(t.hole) AS r {twice} GROUP BY v.city"));
    check(&format!("MAX(t.same + t.other) AS r {twice} GROUP BY v.city"));
    check(&format!("MAX(y.residents) AS r {years} GROUP BY v.city"));
    check(&format!("MAX(y.residents) AS r {years} AND v.year = y.year GROUP BY v.city"));
    // The condition is about private rows.
    check(&format!("MAX(y.residents) AS r {years} WHERE v.year = 2025 GROUP BY v.city"));
    check(&format!("MAX(c.residents) FILTER (WHERE v.cost > 20) AS r {from} GROUP BY v.city"));
    check(&format!("MAX(CASE WHEN v.cost > 20 THEN c.residents END) AS r {from} GROUP BY v.city"));
    check(&format!("MAX(c.residents + v.cost) AS r {from} GROUP BY v.city"));
    // The key does not decide the row.
    check(&format!("MAX(c.residents) AS r {from}"));
    check(&format!("MAX(c.residents) AS r {from} GROUP BY v.year"));
    check(&format!("MAX(c.residents) AS r {from} GROUP BY SUBSTR(v.city, 2, 1)"));
    // Whether there is a row at all.
    check("MAX(c.residents) AS r FROM visits v LEFT JOIN cities c ON v.city = c.city GROUP BY v.city");
    // Another statistic than one of its values.
    check(&format!("SUM(c.residents) AS r {from} GROUP BY v.city"));
    check(&format!("COUNT(DISTINCT c.residents) AS r {from} GROUP BY v.city"));
    // A table that cannot be read here.
    check("MAX(g.residents) AS r FROM visits v JOIN gone g ON v.city = g.city GROUP BY v.city");
    // As keys.
    let private = |sql: &str| {
        let query = analysed_query(&project, sql);
        assert!(query.cut.public.is_empty() && query.cut.query.cells().is_none(), "{sql}");
    };
    private(&format!("SELECT v.city, t.other, COUNT(*) AS n {twice} GROUP BY v.city, t.other"));
    private(&format!("SELECT v.city, t.hole, COUNT(*) AS n {twice} GROUP BY v.city, t.hole"));
    private(
        "SELECT v.city, c.name, COUNT(*) AS n FROM visits v LEFT JOIN cities c ON v.city = c.city GROUP BY v.city, c.name",
    );
    // How many rows of an owner are in a group would depend on the table.
    private(&format!(
        "SELECT place, r, AVG(s) AS m FROM (SELECT v.o, v.city AS place, c.residents AS r, SUM(v.cost) AS s {from} GROUP BY v.o, v.city, c.residents) q GROUP BY place, r"
    ));
    // Which towns there are is private, and their city is not that of the table.
    private(&format!("SELECT v.town, c.name, COUNT(*) AS n {from} GROUP BY v.town, c.name"));
}

/// Keys that are not listed are selected privately, by themselves: what is public about them follows.
#[test]
fn private_keys_bring_their_public_numbers() {
    let (_folder, project) = tables();
    let sql = "SELECT v.town, COUNT(*) AS n, MAX(c.residents) AS r FROM visits v JOIN cities c ON v.town = c.city GROUP BY v.town";
    let query = analysed_query(&project, sql);
    assert!(!query.cut.public.is_empty() && query.cut.query.cells().is_none() && query.cut.query.quantiles.is_empty());
    assert_eq!(exact(&project, sql), "town,n,r\nBonn,1,330000\n");
}

/// A table that reads a private one's file is not public, whatever is declared.
#[test]
fn a_private_file_under_another_name_is_not_read() {
    let folder = Folder::with(&[("visits.csv", VISITS)]);
    let project = folder.project(
        &TABLES
            .replace("\"cities.csv\"", "\"visits.csv\"")
            .replace("region = ", "# region = ")
            .replace("residents = {", "cost = {"),
    );
    let sql =
        "SELECT v.city, COUNT(*) AS n, MAX(c.cost) AS r FROM visits v JOIN cities c ON v.city = c.city GROUP BY v.city";
    let request = Request::sql("test", sql, &"epsilon=1".parse().unwrap()).unwrap();
    let error = asked(sql, &request, &project, |error| error).map(drop).unwrap_err().to_string();
    assert!(error.contains("reads the same file as table 'visits', which is private"), "{error}");
}

/// Rates by public numbers have the interval of a count times a constant: 95% or more of 250 draws (of 40,000 where it
/// seems to be fewer) hold, in every group.
#[test]
fn rates_by_public_numbers_have_intervals_that_hold() {
    let draws = crate::support::effort(250, 2000);
    let (_folder, project) = tables();
    let sql = "SELECT v.city, 100000.0 * COUNT(*) / MAX(c.residents) AS rate, COUNT(*) - MAX(c.area) AS d, SUM(cost) / MAX(c.area) AS s, \
        100.0 * COUNT(*) FILTER (WHERE cost > 25) / COUNT(*) * MAX(c.residents) / 1000 AS p \
        FROM visits v JOIN cities c ON v.city = c.city GROUP BY v.city";
    let query = analysed_query(&project, sql);
    let backend = Backend::with_data(&project, &["visits".to_string(), "cities".to_string()]).unwrap();
    let exact = integers(&query.cut, &backend, Key(1, 2)).unwrap();
    for (seed, cost) in ["epsilon=1", "rho=0.02", "epsilon=30"].into_iter().enumerate() {
        let private = query.at(&cost.parse().unwrap()).unwrap().private;
        let certain = noised(&query.cut, exact.clone(), &private, &mut ZeroNoise(InsecureSeededSource::new(1)));
        let truth = answers(&query.cut, &certain, &private).unwrap();
        let mut bits = InsecureSeededSource::new(seed as u64 + 7);
        let mut missed = |draws: usize| {
            let mut noisy = NoisyIntegers { keys: Vec::new(), cells: Vec::new() };
            for _ in 0..draws {
                let drawn = noised(&query.cut, exact.clone(), &private, &mut DrawnNoise(&mut bits));
                noisy.keys.extend(drawn.keys);
                noisy.cells.extend(drawn.cells);
            }
            let found = answers(&query.cut, &noisy, &private).unwrap();
            let wrong = |(index, column): (usize, &crate::release::output::AnswerColumn)| {
                let truth = |row: usize| truth.columns[index].cells[row % 2].number().unwrap();
                let is_wrong =
                    |(row, one): (usize, &Uncertainty)| one.low > truth(row) + 1e-9 || one.high < truth(row) - 1e-9;
                let all = column.uncertainty.as_ref().unwrap().iter().enumerate();
                all.filter(|(row, one)| is_wrong((*row, one))).count() as f64 / (2 * draws) as f64
            };
            found.columns.iter().enumerate().skip(1).map(wrong).collect::<Vec<f64>>()
        };
        let seen = missed(draws);
        let seen = if seen.iter().any(|part| *part > 0.05) { missed(20_000) } else { seen };
        assert!(seen.len() == 4 && seen.iter().all(|part| *part < 0.06), "{cost}: {seen:?}");
    }
}

/// What is published of neighbours differs in the counts alone: which groups there are, and their public numbers, do
/// not depend on a private row.
#[test]
fn public_numbers_do_not_move_with_private_rows() {
    let (folder, project) = tables();
    let sql = "SELECT v.city, c.residents, COUNT(*) AS n, MAX(c.area) AS a FROM visits v JOIN cities c ON v.city = c.city GROUP BY v.city, c.residents";
    let shown = |rows: &str| {
        folder.write("visits.csv", rows);
        let answer = exact(&project, sql);
        let lines: Vec<Vec<String>> =
            answer.lines().map(|line| line.split(',').map(str::to_string).collect()).collect();
        lines.into_iter().map(|mut line| (line.remove(2), line).1).collect::<Vec<_>>()
    };
    let all = shown(VISITS);
    assert_eq!(all.len(), 3);
    for rows in [
        "o,city,town,year,cost\n",
        "o,city,town,year,cost\n9,Kiel,x,2024,1\n",
        "o,city,town,year,cost\n9,Bonn,x,2024,1\n",
    ] {
        assert_eq!(shown(rows), all, "{rows}");
    }
}
