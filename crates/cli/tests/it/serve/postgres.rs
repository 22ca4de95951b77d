//! PostgreSQL's own client and drivers against `scumble serve --postgres`: what a person types into psql, and what
//! notebooks and Java do.

use crate::serve::support::{Server, add, project};
use crate::support::Folder;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether a program is here; if not, that is said.
pub fn is_here(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("SCUMBLE_NEED_PSQL").is_none(), "{program} is missing");
    if !found {
        eprintln!("NOT TESTED: {program} is missing");
    }
    found
}

fn start(folder: &Folder) -> Server {
    Server::start(folder.path(), &["--postgres", "127.0.0.1:0"])
}

/// Runs psql with these arguments as ada.
fn psql_with(server: &Server, token: &str, arguments: &[&str]) -> Output {
    let address = server.postgres.unwrap();
    let place = format!("host={} port={} dbname=scumble user=ada", address.ip(), address.port());
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", &place]).args(arguments);
    command.env("PGPASSWORD", token).env("PAGER", "cat").env("LC_ALL", "C").output().unwrap()
}

/// What psql prints for commands that must all succeed without a complaint.
fn psql(server: &Server, token: &str, commands: &[&str]) -> String {
    let arguments = commands.iter().flat_map(|command| ["-c", command]);
    let arguments: Vec<&str> =
        ["-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose"].into_iter().chain(arguments).collect();
    let output = psql_with(server, token, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("ERROR"), "{commands:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn psql_sees_tables_and_asks() {
    if !is_here("psql", "--version") {
        return;
    }
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = start(&folder);
    let tables = psql(&server, &ada, &["\\dt"]);
    assert!(tables.contains(" public | people | table | ada"), "{tables}");
    let described = psql(&server, &ada, &["\\d people"]);
    assert!(described.contains(" sex    | text   ") && described.contains(" age    | bigint "), "{described}");
    let more = psql(&server, &ada, &["\\d+ people"]);
    assert!(more.contains("lower 0"), "{more}");
    for command in [
        "\\d",
        "\\l",
        "\\dn",
        "\\du",
        "\\df",
        "\\dv",
        "\\di",
        "\\dT",
        "\\dx",
        "\\dp",
        "\\db",
        "\\ds",
        "\\dt+",
        "\\conninfo",
        "\\encoding",
        "SELECT version()",
    ] {
        psql(&server, &ada, &[command]);
    }
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex";
    let csv = |commands: &[&str]| {
        let all: Vec<&str> = ["\\pset format csv"].into_iter().chain(commands.iter().copied()).collect();
        psql(&server, &ada, &all)
    };
    let first = csv(&["SET scumble.cost = 'epsilon=0.5'", sql]);
    let lines: Vec<&str> = first.lines().collect();
    assert!(lines.len() == 3 && lines[0] == "sex,n,n_se,n_low,n_high" && lines[1].starts_with("f,"), "{first}");
    assert_eq!(csv(&["SET scumble.cost = 'epsilon=0.5'", sql]), first, "paid for once");
    let budget = csv(&["SHOW scumble.budget"]);
    let person = budget.lines().find(|line| line.starts_with("project,person,")).unwrap();
    assert!(person.contains("epsilon 0.5") && person.contains("epsilon 1.5"), "{budget}");
    let plan = psql(
        &server,
        &ada,
        &["SET scumble.cost = 'epsilon=0.5'", "EXPLAIN SELECT COUNT(*) AS n FROM people WHERE age < 10"],
    );
    assert!(plan.contains("QUERY PLAN") && plan.contains("person: epsilon 0.5") && plan.contains("n: "), "{plan}");
    // The page's own example.
    let page = include_str!("../../../../../docs/how-to/serve.md");
    let example = page.split("\n```sql\n").nth(1).unwrap().split("\n```").next().unwrap();
    let shown = psql(&server, &ada, &example.lines().collect::<Vec<_>>());
    assert!(shown.contains("n_se") && shown.contains("QUERY PLAN") && shown.contains("remaining"), "{shown}");
}

#[test]
fn psql_is_refused_with_codes_and_sentences() {
    if !is_here("psql", "--version") {
        return;
    }
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = start(&folder);
    let refused = |commands: &[&str], code: &str, words: &str| {
        let arguments = commands.iter().flat_map(|command| ["-c", command]);
        let arguments: Vec<&str> = ["-v", "VERBOSITY=verbose"].into_iter().chain(arguments).collect();
        let output = psql_with(&server, &ada, &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("ERROR:  {code}: ")) && said.contains(words), "{commands:?}: {said}");
        said
    };
    let cost = "SET scumble.cost = 'epsilon=0.5'";
    let said = refused(&["SELECT COUNT(*) FROM people"], "55000", "set what a query may cost first");
    assert!(said.contains("SET scumble.cost = 'epsilon=0.1'"), "{said}");
    let said = refused(&[cost, "SELECT COUNT(*) FROM peopel"], "42P01", "did you mean 'people'?");
    assert!(
        said.contains("LINE 1: SELECT COUNT(*) FROM peopel") && said.lines().any(|line| line.trim() == "^"),
        "{said}"
    );
    refused(&[cost, "SELEC 1"], "42601", "this is not SQL");
    refused(&[cost, "SELECT age FROM people"], "0A000", "rows are never published");
    refused(&[cost, "SELECT COUNT(*) FROM people; DROP TABLE people"], "0A000", "nothing is ever written");
    refused(&["SET scumble.cost = 'epsilon=50'", "SELECT COUNT(*) FROM people"], "53400", "left");
    refused(&["\\copy people to '/dev/null'"], "0A000", "");
    let wrong = psql_with(&server, &"0".repeat(64), &["-c", "SELECT 1"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(2) && said.contains("password authentication failed for user \"ada\""),
        "{said}"
    );
    // Nothing of all that was paid for.
    assert!(!folder.path().join("out").exists(), "something was published");
    let (status, log) = {
        assert!(Command::new("kill").args(["-TERM", &server.id()]).status().unwrap().success());
        server.ended()
    };
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains(&ada) && !log.contains("peopel"), "{log}");
}

/// A Python with psycopg and pandas: that of the machine, or one that is made where much is tested.
fn python() -> Option<PathBuf> {
    let can = |python: &Path| {
        Command::new(python).args(["-c", "import psycopg, pandas"]).output().is_ok_and(|output| output.status.success())
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("psycopg");
    let made = folder.join("bin/python");
    let known = [PathBuf::from("python3"), made.clone()].into_iter().find(|python| can(python));
    if known.is_some() || std::env::var_os("SCUMBLE_THOROUGH").is_none() {
        return known;
    }
    let run = |program: &Path, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let installed = run(Path::new("python3"), &["-m", "venv", &folder.display().to_string()])
        && run(&made, &["-m", "pip", "install", "--quiet", "psycopg[binary]", "pandas", "sqlalchemy"]);
    Some(made).filter(|python| installed && can(python))
}

#[test]
fn psycopg_and_pandas_ask_with_parameters() {
    let Some(python) = python() else {
        eprintln!("NOT TESTED: there is no Python with psycopg and pandas (SCUMBLE_THOROUGH makes one)");
        return;
    };
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = start(&folder);
    let port = server.postgres.unwrap().port().to_string();
    let run = |script: &str| {
        let output = Command::new(&python).args(["-c", script]).env("TOKEN", &ada).env("PORT", &port).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let page = include_str!("../../../../../docs/how-to/serve.md");
    let blocks = page.split("\n```python\n").skip(1).map(|block| block.split("\n```").next().unwrap());
    let example = blocks.into_iter().find(|block| block.contains("psycopg")).unwrap();
    let said = run(&example.replace("port=5433", &format!("port={port}")));
    assert_eq!(said.trim(), "int64 ['sex', 'n', 'n_se', 'n_low', 'n_high']");
    let said = run(r#"
import os, warnings, psycopg, pandas
warnings.simplefilter("ignore")
place = f"host=127.0.0.1 port={os.environ['PORT']} dbname=scumble user=ada"
with psycopg.connect(place, password=os.environ["TOKEN"], options="-c scumble.cost=epsilon=0.25") as c:
    frame = pandas.read_sql_query("SELECT sex, COUNT(*) AS n FROM people WHERE age < %(age)s GROUP BY sex ORDER BY sex", c, params={"age": 40})
    print(list(frame.columns), [str(kind) for kind in frame.dtypes][1:], list(frame["sex"]))
    binary = c.cursor(binary=True).execute("SELECT sex, COUNT(*) AS n FROM people WHERE age < %s GROUP BY sex ORDER BY sex", [40]).fetchall()
    print([tuple(row) for row in binary] == [tuple(row) for row in frame.itertuples(index=False)])
    for text in ["f' OR 'a'='a", "\\' OR 1=1 --"]:
        n = c.execute("SELECT COUNT(*) AS n FROM people WHERE sex = %s", [text]).fetchone()[0]
        assert abs(n) < 120, n
    try:
        c.execute("SELECT COUNT(*) FROM nobody")
    except psycopg.errors.UndefinedTable as error:
        print("undefined table", error.diag.sqlstate)
    c.rollback()
    try:
        c.execute("SET scumble.cost = 'epsilon=9'"); c.execute("SELECT COUNT(*) FROM people")
    except psycopg.errors.ConfigurationLimitExceeded as error:
        print("budget")
"#);
    let expected = "['sex', 'n', 'n_se', 'n_low', 'n_high'] ['int64', 'float64'] ['f', 'm']\nTrue\nundefined table 42P01\nbudget\n";
    assert_eq!(said, expected);
    let has_sqlalchemy =
        Command::new(&python).args(["-c", "import sqlalchemy"]).output().is_ok_and(|output| output.status.success());
    if !has_sqlalchemy {
        eprintln!("NOT TESTED: there is no SQLAlchemy");
        return;
    }
    let said = run(r#"
import os, sqlalchemy, pandas
engine = sqlalchemy.create_engine(f"postgresql+psycopg://ada:{os.environ['TOKEN']}@127.0.0.1:{os.environ['PORT']}/scumble?options=-c%20scumble.cost%3Depsilon%3D0.25")
inspector = sqlalchemy.inspect(engine)
print(inspector.get_table_names(), inspector.has_table("people"), inspector.has_table("nobody"))
print([(column["name"], str(column["type"])) for column in inspector.get_columns("people")])
tables = sqlalchemy.MetaData(); tables.reflect(engine)
people = tables.tables["people"]
query = sqlalchemy.select(people.c.sex, sqlalchemy.func.count().label("n")).where(people.c.age < 40).group_by(people.c.sex)
print(list(pandas.read_sql(query, engine).columns))
"#);
    assert_eq!(
        said,
        "['people'] True False\n[('sex', 'TEXT'), ('age', 'BIGINT')]\n['sex', 'n', 'n_se', 'n_low', 'n_high']\n"
    );
}

#[test]
fn java_asks_through_its_driver() {
    let driver = Path::new("/usr/share/java/postgresql.jar");
    if std::env::var_os("SCUMBLE_THOROUGH").is_none() || !driver.exists() || !is_here("javac", "-version") {
        eprintln!("NOT TESTED: JDBC (SCUMBLE_THOROUGH is not set, or there is no javac, or no {})", driver.display());
        return;
    }
    let folder = project();
    let ada = add(&folder, "ada", "analyst");
    let server = start(&folder);
    std::fs::write(folder.path().join("Ask.java"), JAVA).unwrap();
    let compiled = Command::new("javac").arg("Ask.java").current_dir(folder.path()).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let place = format!(
        "jdbc:postgresql://127.0.0.1:{}/scumble?options=-c%20scumble.cost=epsilon=0.125",
        server.postgres.unwrap().port()
    );
    let classes = format!(
        ".:{}",
        std::fs::read_dir("/usr/share/java")
            .unwrap()
            .map(|file| file.unwrap().path().display().to_string())
            .collect::<Vec<_>>()
            .join(":")
    );
    let asked =
        Command::new("java").args(["-cp", &classes, "Ask", &place, &ada]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
    assert_eq!(said, "people TABLE\nsex text\nage int8\nn int8 n_se float8\nten times the same\n42P01\n");
}

const JAVA: &str = r#"
import java.sql.*;
public class Ask { public static void main(String[] a) throws Exception {
  try (Connection c = DriverManager.getConnection(a[0], "ada", a[1])) {
    DatabaseMetaData m = c.getMetaData();
    for (ResultSet r = m.getTables(null, "public", "%", new String[]{"TABLE"}); r.next();) System.out.println(r.getString("TABLE_NAME") + " " + r.getString("TABLE_TYPE"));
    for (ResultSet r = m.getColumns(null, "public", "people", "%"); r.next();) System.out.println(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
    for (ResultSet r : new ResultSet[]{ m.getSchemas(), m.getCatalogs(), m.getTableTypes(), m.getPrimaryKeys(null,"public","people"), m.getIndexInfo(null,"public","people",false,false), m.getImportedKeys(null,"public","people"), m.getTypeInfo() }) while (r.next()) {}
    PreparedStatement p = c.prepareStatement("SELECT COUNT(*) AS n FROM people WHERE age < ? AND sex = ?");
    long first = 0;
    for (int i = 0; i < 10; i++) { // after five times the driver takes binary forms
      p.setInt(1, 40); p.setString(2, "f");
      ResultSet r = p.executeQuery(); r.next();
      if (i == 0) { first = r.getLong(1); ResultSetMetaData d = r.getMetaData(); System.out.println(d.getColumnName(1) + " " + d.getColumnTypeName(1) + " " + d.getColumnName(2) + " " + d.getColumnTypeName(2)); }
      if (r.getLong("n") != first || !(r.getDouble("n_se") > 0)) throw new Exception("another answer");
    }
    System.out.println("ten times the same");
    try { c.createStatement().executeQuery("SELECT COUNT(*) FROM nobody"); } catch (SQLException e) { System.out.println(e.getSQLState()); }
  } } }
"#;
