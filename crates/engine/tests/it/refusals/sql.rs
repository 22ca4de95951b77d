//! Queries that are refused.

use super::Refusing;
use scumble_engine::project::Request;
use scumble_engine::release::Runner;
use scumble_testing::projects::{
    CLINIC, CLINIC_VISITS, DISEASES, FLIGHTS, FLIGHTS_ROWS, MIXED, NAMED_PEOPLE, SPENDING, TOWNS,
};

const PAGE: &str = include_str!("../../../../../docs/reference/sql.md");

/// The blocks of one language on the page.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    PAGE.split(&opening).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// The page's project.
fn page() -> Refusing {
    let [project] = blocks("toml")[..] else { panic!("the page has one project") };
    Refusing::with(&[
        ("scumble.toml", project),
        ("visits.csv", "person,clinic,reason,cost,minutes,urgent\n0,north,flu,37.25,12,true\n"),
        ("patients.csv", "id,age,sex\n0,30,f\n"),
        ("wards.csv", "clinic,city\nnorth,Ulm\nsouth,Bonn\nwest,Ulm\n"),
        ("appointments.csv", "person,day,begins\n0,2025-03-01,2025-03-01T09:30:00\n"),
    ])
}

fn clinic() -> Refusing {
    let wards = "clinic,city,beds\na,Ulm,1\nb,Bonn,2\n";
    Refusing::with(&[("scumble.toml", CLINIC), ("visits.csv", CLINIC_VISITS), ("wards.csv", wards)])
}

fn people() -> Refusing {
    let budget = "[budget]\nperson = { epsilon = 100, delta = 1e-9 }\n";
    let project = format!("{NAMED_PEOPLE}{budget}");
    Refusing::with(&[("scumble.toml", &project), ("people.csv", "age,sex,name\n30,f,ann\n40,m,ben\n")])
}

fn towns(releases: &str) -> Refusing {
    Refusing::with(&[
        ("scumble.toml", &format!("{TOWNS}{releases}")),
        ("people.csv", "sex,city,town,age\nf,Ulm,a,30\n"),
        ("visits.csv", "person,clinic\n0,north\n"),
    ])
}

fn release(sql: &str, cost: &str) -> String {
    format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ {cost} }}\n")
}

#[test]
fn refusals_are_in_the_words_of_sql() {
    let folder = clinic();
    for (sql, words) in [
        ("SELECT CORR(cost, clinic) AS r FROM visits", "query:1:8: CORR does not take these arguments"),
        ("SELECT CORR(cost) AS r FROM visits", "check their number and types"),
        ("SELECT SUM(SQRT(clinic)) AS r FROM visits", "query:1:12: SQRT does not take"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE clinic IN (SELECT clinic, city FROM wards)",
            "takes a sub-query of one column",
        ),
        ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY 5", "their numbers in the SELECT from 1 on"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2013-02-01' + INTERVAL '1 fortnight'",
            "with years, months, weeks",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2013-02-01' + minutes * INTERVAL '1 day'",
            "a literal interval",
        ),
        (
            "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic LIMIT -1",
            "LIMIT and OFFSET take a whole number that is not negative",
        ),
        (
            "SELECT AVG(r) AS a FROM (SELECT person, ROW_NUMBER() OVER () AS r FROM visits GROUP BY person)",
            "query:1:54: a window function (OVER)",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE clinic IN (SELECT clinic FROM wards WHERE wards.beds = visits.minutes)",
            "belongs to the outer query",
        ),
        ("SELECT MIN(reason) AS n FROM visits", "needs numbers, not strings"),
        (
            "SELECT AVG(f) AS a FROM (SELECT person, MAX(day) - MIN(day) AS f FROM visits GROUP BY person)",
            "day - DATE '2000-01-01'",
        ),
        ("SELECT COUNT(*) AS n FROM visits WHERE SUBSTR(clinic) = 'a'", "SUBSTR takes a string and a position"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day + INTERVAL '300 years' > DATE '2013-02-01'",
            "visits.day + INTERVAL '3600 MONS' may be before 1678",
        ),
        ("SELECT SUM(MOD(minutes, 0)) AS n FROM visits", "divide by a number that is not 0"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day = 5",
            "visits.day is a date or a time and is compared with a number: write DATE '2013-12-31'",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE minutes IN (SELECT clinic FROM wards)",
            "visits.minutes holds whole numbers, and the sub-query after IN gives strings",
        ),
        ("SELECT version() AS v, COUNT(*) AS n FROM visits", "version() says nothing about rows"),
        (
            "SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM visits GROUP BY TO_CHAR(day, 'YYYY-MM')",
            "TO_CHAR takes a format with % here",
        ),
        ("SELECT FLOOR(cost / 2) AS k, COUNT(*) AS n FROM visits GROUP BY FLOOR(cost / 2)", "CAST(FLOOR(x) AS BIGINT)"),
        ("SELECT AVG(CAST(urgent AS INT)) AS a FROM visits", "of a truth value, write CASE WHEN … THEN 1 ELSE 0 END"),
        ("SELECT COUNT(*) AS \"\" FROM visits", "a published column has no name; give it one after AS"),
        (
            "SELECT COUNT(*) AS n FROM visits v, wards w WHERE v.minutes > w.beds",
            "query:1:22: a join needs ON with equal columns of both tables",
        ),
    ] {
        let said = folder.query(sql, "epsilon=0.1", words);
        let raw = [
            "Error during planning",
            "Int64",
            "Utf8",
            "Float64",
            "Date32",
            "DataFusion",
            "Arrow",
            "IntervalMonth",
            "scumble_",
        ];
        assert!(!raw.iter().any(|raw| said.contains(raw)), "{said}");
    }
    assert!(!folder.file("scumble.ledger").exists(), "something was charged");
}

/// Queries whose refusals were the planner's own, or that were answered with 0 at their full price.
#[test]
fn queries_are_refused_in_our_words() {
    let folder = people();
    let texts =
        "name holds strings and is compared with a number: write a string in single quotes, or CAST(name AS BIGINT)";
    for condition in ["name > 5", "5 = name", "name IN (5, 6)", "name BETWEEN 1 AND 6"] {
        folder.in_our_words(&format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), texts);
    }
    for (sql, words) in [
        (
            "SELECT COUNT(*) AS n FROM people WHERE sex = \"male\"",
            "query:1:47: there is no declared column 'male' (did you mean 'age'?); if it is a string, write it in \
                single quotes: 'male'",
        ),
        (
            "SELECT SUM(COUNT(*)) AS n FROM people",
            "query:1:8: an aggregate stands inside of another: leave one of them out",
        ),
        ("SELECT TOP 5 COUNT(*) AS n FROM people", "TOP is not supported; write ORDER BY … LIMIT …"),
        (
            "SELECT COUNT(*) AS n FROM people WHERE name SIMILAR TO 'a%'",
            "SIMILAR TO is not supported on private rows; write LIKE",
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE DATE '2020-13-45' > DATE '2020-01-01'",
            "query:1:46: 2020-13-45 is not a date or time from 1678 to 2261",
        ),
    ] {
        folder.in_our_words(sql, words);
    }
    let cast = "SELECT COUNT(*) AS n FROM people WHERE CAST(name AS BIGINT) > 5";
    people().answers(cast, "epsilon=0.1");
    // Of types that do not go together.
    let arithmetic = "arithmetic needs numbers, not strings, truth values or dates";
    let truth = "a truth value is needed";
    for (condition, words) in [
        ("name + 1 > 5", arithmetic),
        ("name * 2 = 4", arithmetic),
        ("-name = 4", arithmetic),
        ("age + 'x' > 5", arithmetic),
        ("NOT age", truth),
        ("age", truth),
        ("age LIKE 5", "LIKE compares strings"),
        ("ABS(name) > 1", "ABS does not take these arguments: check their"),
    ] {
        folder.in_our_words(&format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), words);
    }
}

/// A name that was refused for standing beside a number did not say beside which.
#[test]
fn a_clash_of_names_says_of_which() {
    let folder = people();
    let words = "two published columns would be called 'n_error', because the noisy column 'n' is published with its \
        error, interval and rank error; give one of them another name";
    folder.in_our_words("SELECT COUNT(*) AS n, AVG(age) AS n_error FROM people", words);
    folder.in_our_words("SELECT AVG(age) AS n_error, COUNT(*) AS n FROM people", words);
}

const DECIDED: &str = r#"
[dataset.t]
source = "t.csv"
owner = "id"
max_rows_per_owner = 6
[dataset.t.columns]
race = { type = "category", values = ["Black", "White"] }
state = { type = "category", values = ["Ohio", "Iowa"], unlisted = "other" }
free = { type = "category" }
age = { type = "int", lower = 0, upper = 110 }
cost = { type = "float", lower = 0, upper = 500 }
day = { type = "date", lower = "2020-01-01", upper = "2021-12-31" }
begins = { type = "timestamp", lower = "2020-01-01T00:00:00", upper = "2021-12-31T23:59:59" }
"#;

fn decided() -> Refusing {
    let row = "p,Black,Ohio,x,5,1.5,2020-05-05,2020-05-05T10:00:00\n";
    Refusing::with(&[("t.csv", &format!("id,race,state,free,age,cost,day,begins\n{row}")), ("scumble.toml", DECIDED)])
}

/// `race = 'black'` where 'Black' is listed cost ε 0.5 for a constant 0.
#[test]
fn a_condition_that_the_declarations_decide_is_refused() {
    let folder = decided();
    let near = "race is never 'black', and so the condition is true of no row (did you mean 'Black'?)";
    let bounds = "by the domains that the project file declares, ";
    for (condition, words) in [
        ("race = 'black'", near),
        ("'black' = race", near),
        ("race IN ('black', 'white')", near),
        ("race = 'black' AND age > 5", near),
        ("age > 5 AND (race = 'black' OR cost > 500)", near),
        ("race = 'Martian'", "; its values are 'Black', 'White'"),
        ("state = 'other ' AND free = 'x'", "state is never 'other '"),
        ("race = 'Black' AND race = 'White'", bounds),
        ("UPPER(race) = 'Black'", bounds),
        ("age > 110", bounds),
        ("age < 0", bounds),
        ("age = 200", bounds),
        ("age BETWEEN 120 AND 130", bounds),
        ("age + 1 > 111", bounds),
        ("cost > 500", bounds),
        ("cost < 0", bounds),
        ("day > DATE '2021-12-31'", bounds),
        ("begins < TIMESTAMP '2020-01-01T00:00:00'", bounds),
    ] {
        let said = folder.query(&format!("SELECT COUNT(*) AS n FROM t WHERE {condition}"), "epsilon=0.5", words);
        assert!(said.contains("query:1:"), "{said}");
        folder.query(
            &format!("SELECT race, COUNT(*) AS n FROM t WHERE {condition} GROUP BY race"),
            "epsilon=0.5",
            words,
        );
    }
    let filtered = "SELECT COUNT(*) FILTER (WHERE race = 'black') AS n, COUNT(*) AS m FROM t";
    folder.query(filtered, "epsilon=0.5", near);
    let inner = "SELECT AVG(cost) AS c FROM (SELECT cost FROM t WHERE race = 'black') AS s";
    folder.query(inner, "epsilon=0.5", near);
    // Nobody has more rows than count.
    let many = "SELECT COUNT(*) AS n FROM (SELECT id, COUNT(*) AS rows FROM t GROUP BY id) AS s WHERE rows > 6";
    folder.query(many, "epsilon=0.5", bounds);
}

/// What some data could fulfil is answered, whatever is in these.
#[test]
fn a_condition_that_some_row_may_fulfil_is_answered() {
    let project = decided().project().unwrap();
    for condition in [
        "race = 'Black'",
        "race IN ('black', 'Black')",
        "race <> 'black'",
        "NOT race = 'black'",
        "race IS NULL",
        "COALESCE(race, 'unknown') = 'unknown'",
        "race = 'black' OR age > 5",
        "LOWER(race) = 'black'",
        "state = 'other'",
        "free = 'anything'",
        "age >= 110",
        "age = 0",
        "cost >= 500 OR cost <= 0",
        "cost BETWEEN 500 AND 600",
        "day = DATE '2021-12-31'",
        "begins <= TIMESTAMP '2020-01-01T00:00:00'",
        "age IS NULL AND race = 'White'",
    ] {
        let sql = format!("SELECT COUNT(*) AS n FROM t WHERE {condition}");
        let request = Request::sql("query", &sql, &"epsilon=0.5".parse().unwrap()).unwrap();
        if let Err(error) = Runner::new(&project).plan(&request) {
            panic!("{condition}: {error}");
        }
    }
}

/// What is not answered is said with its reason, before anything is charged.
#[test]
fn refusals_of_dates() {
    let folder = Refusing::with(&[("flights.csv", FLIGHTS_ROWS), ("scumble.toml", FLIGHTS)]);
    for (sql, words) in [
        (
            "SELECT departs, COUNT(*) AS n FROM flights GROUP BY departs",
            "a column of times has a group for nearly every row; group by DATE_TRUNC('month', …)",
        ),
        ("SELECT COUNT(*) AS n FROM flights WHERE departs - day IS NOT NULL", "is a duration, which is not supported"),
        (
            "SELECT COUNT(*) AS n FROM flights WHERE day + INTERVAL '300 years' > day",
            "may be before 1678 or after 2261",
        ),
        (
            "SELECT COUNT(*) AS n FROM flights WHERE day > '2013-13-01'",
            "is not a date or time from 1678 to 2261 as in '2013-12-31'",
        ),
        (
            "SELECT COUNT(*) AS n FROM flights WHERE EXTRACT(CENTURY FROM day) = 21",
            "query:1:41: EXTRACT and date_part know these parts of dates and times: year, isoyear, quarter, month",
        ),
        (
            "SELECT DATE_TRUNC('decade', day) AS d, COUNT(*) AS n FROM flights GROUP BY 1",
            "the unit of DATE_TRUNC must be a literal, one of second, minute, hour",
        ),
        ("SELECT MAX(day) - MIN(day) AS days FROM flights", "computes with dates after the aggregate"),
        ("SELECT AVG(day) AS d FROM flights", "AVG does not take these arguments: check their"),
    ] {
        folder.query(sql, "epsilon=1", words);
    }
    assert!(!folder.file("scumble.ledger").exists(), "nothing is charged");
}

#[test]
fn what_is_not_answered_is_refused() {
    let folder = page();
    let refusals = blocks("refused");
    assert!(refusals.len() >= 6, "{}", refusals.len());
    for sql in refusals {
        folder.query(sql, "epsilon=1,delta=1e-8", "");
    }
    assert!(!folder.file("out").exists(), "nothing is written");
}

/// The error about a misspelt function names the existing ones.
#[test]
fn unknown_functions_list_what_exists() {
    let folder = page();
    let query = |sql: &str, words: &str| folder.query(sql, "epsilon=1", words);
    query("SELECT AVG(FOO(cost)) FROM visits", "there is no function");
    query("SELECT AVG(FOO(cost)) FROM visits", "sqrt, starts_with");
    query("SELECT SUM(SIN(cost)) FROM visits", "sin is not supported on private rows; these are: abs, ");
    query("SELECT ARRAY_AGG(cost) FROM visits", "these are: COUNT, COUNT(DISTINCT …), SUM");
    // The page lists the same functions as the refusal.
    let said = query("SELECT SUM(SIN(cost)) FROM visits", "these are: ");
    let listed = said.split("these are: ").nth(1).unwrap().split(", and MOD").next().unwrap();
    for name in listed.split(", ") {
        assert!(PAGE.contains(&format!("`{name}`")), "the page does not mention {name}");
    }
}

#[test]
fn groupings_that_are_not_answered_are_refused() {
    let folder = towns("");
    let query = |sql: &str, words: &str| {
        folder.query(sql, "epsilon=1", words);
    };
    query("SELECT sex, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex), (sex))", "one grouping twice");
    query(
        "SELECT COUNT(*) AS n FROM people GROUP BY CUBE (age, age + 1, age + 2, age + 3, age + 4, age + 5, age + 6)",
        "more than 64 groupings",
    );
}

#[test]
fn unions_that_are_not_answered_are_refused() {
    let folder = towns("");
    let query = |sql: &str, words: &str| {
        folder.query(sql, "epsilon=1", words);
    };
    let count = "SELECT sex AS k, COUNT(*) AS n FROM people GROUP BY sex";
    query(&format!("{count} UNION {count}"), "UNION compares rows and is not supported; write UNION ALL");
    query(&format!("{count} INTERSECT {count}"), "INTERSECT is not supported");
    query(&format!("{count} UNION ALL SELECT COUNT(*) FROM people"), "must have the same number of columns");
    query(
        &format!("{count} UNION ALL SELECT COUNT(*), city FROM people GROUP BY city"),
        "column 1 of the UNION ALL ('k') is a text in one SELECT and a number in another",
    );
    query(&format!("{count} UNION ALL SELECT sex, age FROM people"), "the query has no aggregate");
    query(&format!("{count} UNION ALL SELECT 'x', 1"), "the query has no aggregate");
    query(
        "SELECT COUNT(*) AS n FROM (SELECT sex FROM people UNION ALL SELECT sex FROM people)",
        "UNION ALL below an aggregate is not supported; aggregate each part by itself",
    );
    query(&format!("SELECT SUM(n) AS n FROM ({count} UNION ALL {count})"), "UNION ALL below an aggregate");
    query(
        &format!("(({count}) UNION ALL ({count}) LIMIT 1) UNION ALL {count}"),
        "over one UNION ALL inside of another are not supported; write them around the outer one",
    );
    query(&vec![count; 33].join(" UNION ALL "), "it reads more than 32 tables");
    let cube = "SELECT 'x', COUNT(*) FROM people GROUP BY CUBE (sex, city, age, age + 1, age + 2, age + 3)";
    query(
        &format!("{count} UNION ALL {cube}"),
        "the UNION ALL has 65 groupings in all of its branches, and at most 64 share a cost; list fewer",
    );
    query(
        "SELECT COUNT(*) AS n FROM people WHERE city IN (SELECT city FROM people UNION ALL SELECT city FROM people)",
        "UNION ALL below",
    );
    assert!(!folder.file("out").exists(), "nothing is written");
    // What looks at one query alone.
    let visits =
        "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic UNION ALL SELECT 'all', COUNT(*) FROM visits";
    let reported =
        format!("{}bounding_report = {{ share = 0.5, max_rows_per_owner = 8 }}\n", release(visits, "epsilon = 1"));
    towns(&reported).plan("this is a UNION ALL of several: release the one that needs it by itself");
    let words = "release 'r' is a UNION ALL of several queries: choose the bounds of each by itself";
    towns(&release(visits, "epsilon = 1")).refused("suggested bounds", words, |project| {
        Runner::new(project).plan(&Request::bounds_of("r", &"epsilon=1".parse()?, None)?).map(drop)
    });
}

#[test]
fn what_is_not_answered_of_each_owners_rows_is_said_in_one_sentence() {
    let folder = Refusing::with(&[("scumble.toml", SPENDING), ("visits.csv", "person,clinic,cost\n1,north,10.25\n")]);
    let query = |sql: &str, words: &str| {
        folder.query(sql, "epsilon=1", words);
    };
    query(
        "SELECT AVG(n) FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic)",
        "needs an inner GROUP BY the owner column 'person'",
    );
    query(
        "SELECT AVG(m) FROM (SELECT person, MEDIAN(cost) AS m FROM visits GROUP BY person)",
        "COUNT, SUM, AVG, MIN and MAX are",
    );
    query(
        "SELECT AVG(total) FROM visits v JOIN (SELECT person, SUM(cost) AS total FROM visits GROUP BY person) t ON v.person = t.person",
        "join the tables inside of the sub-query",
    );
}

#[test]
fn too_large_queries_are_refused_before_the_charge() {
    // 5,000 ORs and 10,000 additions overflowed the stack; 4,000 sums of counts hung after the charge; 300,000 cells of
    // five aggregates were aborted after it.
    let people = "sex,state,age,y,b\nm,s0,0,0,true\n";
    let files = [("scumble.toml", MIXED), ("people.csv", people), ("visits.csv", "id,clinic,cost\n1,a,5\n2,b,6\n")];
    let folder = Refusing::with(&files);
    let many = |one: &str, times: usize, between: &str| vec![one; times].join(between);
    let queries = [
        (format!("SELECT COUNT(*) FROM people WHERE {}", many("age=1", 5_000, " OR ")), "deep"),
        (format!("SELECT COUNT(*) FROM people WHERE {} > 0", many("age", 10_000, "+")), "deep"),
        (format!("SELECT {} FROM people", many("COUNT(*)", 4_000, "+")), "deep"),
        (format!("SELECT {} FROM people", many("COUNT(*) FILTER (WHERE age=1)", 2_000, ",")), "release"),
        (
            "SELECT age, CAST(y*2 AS INT) AS a2, sex, b, COUNT(*), SUM(age), SUM(y), AVG(y), COUNT(y), COUNT(age), COUNT(b), COUNT(sex) FROM people GROUP BY 1, 2, 3, 4".to_string(),
            "numbers",
        ),
    ];
    for (sql, words) in queries {
        folder.query(&sql, "epsilon=1", words);
    }
    assert!(!folder.file("scumble.ledger").exists());
}

/// The threshold of unknown keys left 64 bits where δ or ε is next to nothing: a panic, and without overflow checks a
/// threshold below every count, which publishes all keys.
#[test]
fn a_threshold_beyond_all_counts_is_refused_before_the_charge() {
    let project = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nk = { type = \"category\" }\n\
                   [dataset.o]\nsource = \"o.csv\"\nowner = \"p\"\nmax_groups_per_owner = 2\nmax_rows_per_group = 1\n\
                   [dataset.o.columns]\nk = { type = \"category\" }\n";
    let folder = Refusing::with(&[("t.csv", "k\na\nb\n"), ("o.csv", "p,k\n1,a\n2,b\n"), ("scumble.toml", project)]);
    for (table, cost) in
        [("t", "epsilon=4e-18,delta=1e-30"), ("o", "epsilon=1,delta=2e-323"), ("t", "rho=1e-30,delta=1e-300")]
    {
        let sql = format!("SELECT k, COUNT(*) AS n FROM {table} GROUP BY k");
        let words = "would need more owners than there can be";
        folder.query(&sql, cost, words);
    }
    assert!(!folder.file("scumble.ledger").exists());
}

/// Sentences that were beside the point.
#[test]
fn what_is_not_answered_is_said_as_it_is() {
    let people = "age,disease,state\n30,flu,north\n";
    let folder = Refusing::with(&[("scumble.toml", DISEASES), ("people.csv", people)]);
    for (sql, words) in [
        (
            "SELECT STRING_AGG(state, ',') AS s FROM people",
            "the aggregate string_agg is not supported; these are: COUNT,",
        ),
        (
            "SELECT REGR_COUNT(age, age) AS s FROM people",
            "the aggregate regr_count is not supported; these are: \
            COUNT,",
        ),
        (
            "SELECT SUM(LN(age - 18)) AS s FROM people",
            "has no bounds, although age has: bound logarithms, quotients and powers",
        ),
        ("SELECT SUM(LENGTH(state)) AS s FROM people", "needs bounds: declare public lower and upper for state"),
    ] {
        folder.query(sql, "epsilon=1", words);
    }
    for (sql, words) in [
        (
            "SELECT COUNT(*) AS n FROM people WHERE age = 'old'",
            "age is a number and is compared with 'old', which is not: write a number",
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE disease > 5",
            "disease holds strings that are not numbers, and is compared with a number: compare it with one of its \
                values, as in disease = 'none'",
        ),
        ("SELECT COUNT(*) AS n FROM people WHERE disease IN (1, 2)", "disease holds strings"),
        (
            "SELECT disease, COUNT(*) AS n FROM people",
            "query:1:8: disease is neither in GROUP BY nor inside of an aggregate: write GROUP BY disease",
        ),
        ("SELECT SUM(disease) AS n FROM people", "query:1:8: SUM does not take these arguments"),
        ("SELECT COUNT(*) AS n FROM people WHERE (age > 5) = 'yes'", "a truth value is compared with something else"),
        ("SELECT COUNT(*) AS n, SUM(age) AS n FROM people", "query:1:20: two columns of the result are called 'n'"),
    ] {
        folder.query(sql, "epsilon=1", words);
    }
}
