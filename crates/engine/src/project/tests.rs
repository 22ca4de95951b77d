//! What a project file says, and the sentence and the place of everything in it that cannot be read.

use super::*;
use crate::budget::Limit;
use crate::error::ErrorKind;
use crate::place::Origin;
use scumble::quantity::Exact;

/// Four lines: text after it begins in line 5.
const TABLE: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 120 }\n";

fn read(text: &str) -> Result<Project> {
    Project::parse(Path::new("scumble.toml"), text)
}

/// The text is refused at this place (a line, or a line and a column) in one sentence with these words: `PLACE: WORDS`.
fn check(text: &str, expect: &str) {
    let error = read(text).err().unwrap_or_else(|| panic!("read: {text}"));
    assert!(error.kind() == ErrorKind::Input, "{text}: {error}");
    let (said, (place, words)) = (error.to_string(), expect.split_once(": ").unwrap());
    let is_there = said.starts_with(&format!("scumble.toml:{place}:")) && said.contains(words);
    assert!(is_there, "{text}\n  said: {said}\n  not:  {expect}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The same for what stands after the table.
fn check_more(more: &str, expect: &str) {
    check(&format!("{TABLE}{more}\n"), expect);
}

#[test]
fn the_file_and_its_sections() {
    check("", "1:1: the file needs 'dataset'");
    check("dataset = 3\n", "1:11: this must be a table in { } or under a [heading]");
    check("[dataset.people\n", "1: this is not TOML (");
    check_more("[budgt]", "5:2: unknown key 'budgt' in the file (did you mean 'budget'?)");
    check_more("release = 1", "5:11: this must be a table in { } or under a [heading]");
    check(&format!("release = 1\n{TABLE}"), "1:11: this must be a list in [ ]");
    check(&format!("ledger = 1\n{TABLE}"), "1:10: this must be a string in quotation marks");
    check(&format!("ledger = \":memory:\"\n{TABLE}"), "1:10: this name has another meaning to the database");
}

#[test]
fn budgets_and_whom_they_are_for() {
    check_more("[budget]\nperson = { epsilon = 1, rho = 1 }", "6:10: a budget has epsilon (pure, or with");
    check_more("[budget]\nperson = { omega = 3 }", "6:10: a budget has epsilon");
    check_more("[budget]\nperson = { epsilon = -1 }", "6:22: epsilon must be a number in [0, ∞), not -1");
    check_more("[budget]\nperson = { epsilon = inf }", "6:22: this must be a finite number");
    check_more("[budget]\nperson = { epsilon = 1, delta = 2 }", "6:33: delta must be");
    check_more("[budget]\nperson = 1", "6:10: this must be a table in { } or under a [heading]");
    check_more(
        "[budget]\nattributes = { agee = { epsilon = 1 } }",
        "6:14: the budget names 'agee', which is not a declared column (did you mean 'age'?)",
    );
    check_more("[analyst.Ada]\nperson = { epsilon = 1 }", "5: an analyst's name has 1 to 63 of a-z");
    check_more("[analyst.ada]", "5: [analyst.ada] needs a limit, such as person");
    check_more(
        "[analyst.ada]\nattributes = { agee = { epsilon = 1 } }",
        "5: the budget of ada names 'agee', which is not a declared column (did you mean 'age'?)",
    );
}

#[test]
fn attackers() {
    check_more("[attacker]\nknown_rows = 1.5", "6:14: known_rows must be a number in [0, 1]");
    check_more("[attacker]\nuncertainty = 0.6", "6:15: uncertainty must be a number in [0, 0.5]");
    check_more("[attacker]\nmode = \"lazy\"", "6:8: mode must be 'active' or 'passive', not 'lazy'");
    check_more("[attacker]\nknows = 1", "6:1: unknown key 'knows' in 'attacker' in the file");
}

#[test]
fn costs_of_releases() {
    let release = |cost: &str| {
        format!("[[release]]\nname = \"r\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = {{ {cost} }}")
    };
    for (cost, expect) in [
        ("epsilon = 1, rho = 1", "8:8: a cost has exactly one of epsilon, rho and accuracy"),
        ("", "8:8: a cost has exactly one of epsilon, rho and accuracy"),
        ("epsilon = 0", "8:20: a release that may cost nothing can publish nothing: give more than 0"),
        ("epsilon = \"much\"", "8:20: this must be a number"),
        ("epsilon = 1, scope = \"everything\"", "8:31: the scope of a cost is 'person', 'presence' or 'attribute'"),
        ("accuracy = { within = 0, confidence = 0.9 }", "8:32: this must be a number above 0"),
        ("accuracy = { within = 3, confidence = 1 }", "8:48: confidence must be a number in (0, 1)"),
        ("accuracy = { within = 3 }", "8:21: 'accuracy' in 'cost' in "),
    ] {
        check_more(&release(cost), expect);
    }
}

/// One line makes another scope than a person's the one of all costs that say none.
#[test]
fn the_scope_of_costs_that_say_none() {
    let costs = |line: &str, costs: &[&str]| {
        let release = |(number, cost): (usize, &&str)| {
            format!("[[release]]\nname = \"r{number}\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\n{cost}\n")
        };
        let releases: String = costs.iter().enumerate().map(release).collect();
        read(&format!("{line}{TABLE}{releases}")).unwrap().releases
    };
    let (line, usual) = ("cost_scope = \"presence\"\n", "cost = { epsilon = 1 }");
    let said = ["cost = { epsilon = 1, scope = \"person\" }", "cost = { rho = 1, scope = \"presence\" }"];
    let scopes = |line: &str| costs(line, &[usual, said[0], said[1]]).iter().map(|one| one.cost.scope()).collect();
    let (without, with): (Vec<CostScope>, Vec<CostScope>) = (scopes(""), scopes(line));
    assert_eq!(without, [CostScope::Person, CostScope::Person, CostScope::Presence]);
    assert_eq!(with, [CostScope::Presence, CostScope::Person, CostScope::Presence]);
    // A request has it among its fields, as if it had been written there: charges remember these.
    let fields = |line: &str, cost: &str| costs(line, &[cost])[0].fields.json();
    assert_eq!(fields(line, usual), fields("", "cost = { epsilon = 1, scope = \"presence\" }"));
    for cost in [usual, "accuracy = { within = 9, confidence = 0.9 }", said[0], said[1]] {
        assert_eq!(fields("cost_scope = \"person\"\n", cost), fields("", cost), "{cost}");
    }
    // The noise of an accuracy is the same in every scope.
    for cost in
        ["accuracy = { within = 9, confidence = 0.9 }", "cost = { accuracy = { within = 9, confidence = 0.9 } }"]
    {
        assert_eq!(fields(line, cost), fields("", cost), "{cost}");
    }
    for (wrong, expect) in [
        ("\"attribute\"", "1:14: cost_scope is 'person' or 'presence'; a cost per attribute stands in its release"),
        ("\"everybody\"", "1:14: cost_scope is 'person' or 'presence', not 'everybody'"),
        ("\"\"", "1:14: cost_scope is 'person' or 'presence', not ''"),
        ("1", "1:14: this must be a string in quotation marks"),
        ("{ scope = \"presence\" }", "1:14: this must be a string in quotation marks"),
    ] {
        check(&format!("cost_scope = {wrong}\n{TABLE}"), expect);
    }
    check_more("[budget]\ncost_scope = \"presence\"", "6:1: unknown key 'cost_scope' in 'budget' in the file;");
    // At the end of the file it is in the last section.
    let (inner, expect) = (
        format!("[[release]]\nname = \"r\"\nsql = \"SELECT 1\"\n{usual}\n{line}"),
        "9:1: unknown key 'cost_scope' in 'release' in the file; write it above the first [section]",
    );
    check_more(&inner, expect);
}

#[test]
fn tables_and_their_owners() {
    let table = |lines: &str| TABLE.replace("[dataset.people.columns]", &format!("{lines}\n[dataset.people.columns]"));
    for (lines, expect) in [
        ("owner = \"id\"", "1: table 'people' has an owner, so it needs max_rows_per_owner"),
        ("max_rows_per_owner = 2", "1: table 'people' has no owner: each row is one person"),
        ("max_rows_per_owner = 0", "3:22: this must be a whole number of at least 1"),
        ("max_rows_per_owner = 1.5", "3:22: this must be a whole number"),
        ("max_rows_per_owner = 99999999999999999999", "3:22: this must be a whole number that fits 64 bits"),
        ("max_rows_per_owner = 1000001", "1: a contribution bound of more than a million protects nobody"),
        ("owner = \"age\"\nmax_rows_per_owner = 1", "5: 'age' is the owner of the rows"),
        (
            "owner = \"id\"\nmax_rows_per_owner = 1\npublic = true",
            "1: table 'people' is public and has an owner; leave one of the two out",
        ),
        ("public = 1", "3:10: this must be true or false"),
        ("separator = \"tab\"", "3:13: this must be one character"),
        ("decimal = \";\"", "3:11: decimal must be \".\" or \",\""),
        ("header = []", "3:10: header must name each column of the file"),
        ("null = [\"NA\", \"NA\"]", "3:15: 'NA' is listed twice"),
        ("encoding = \"klingon\"", "3:12: unknown encoding"),
        ("password_file = \"secret\"", "2:10: password_file is for a PostgreSQL table"),
    ] {
        check(&table(lines), expect);
    }
    let column = |declared: &str| TABLE.replace("{ type = \"int\", lower = 0, upper = 120 }", declared);
    for (declared, expect) in [
        ("{ type = \"number\" }", "4:16: unknown type 'number' of column 'age'"),
        ("{ lower = 0 }", "4:7: needs 'type'"),
        ("{ type = \"int\", lower = 9, upper = 0 }", "4:31: the bounds are inverted: lower is 9 and upper is 0"),
        ("{ type = \"category\", values = [] }", "4:37: a public domain has at least one value"),
        ("{ type = \"category\", values = [\"a\", \"a\"] }", "4:43: the value 'a' is listed twice"),
    ] {
        check(&column(declared), expect);
    }
}

/// An address with a password would be handed around with the file.
#[test]
fn addresses_of_servers() {
    let source = |address: &str| TABLE.replace("people.csv", address);
    for (address, words) in [
        (
            "mysql://ada@here/db?table=t",
            "a source is a file, a folder or \
            postgres://user@host:port/database?table=schema.name; for",
        ),
        ("postgres://here/db?table=t", "the address has no user"),
        ("postgres://ada:secret@here/db?table=t", "a project file must not hold a password"),
        ("postgres://ada@here:port/db?table=t", "the port is not a number"),
        ("postgres://ada@here/db", "the address has no table"),
        ("postgres://ada@/db?table=t", "the address has no host"),
        ("postgres://ada@here?table=t", "the address has no database"),
        ("postgres://ada@here/db?table=t&sslmode=disable", "sslmode is verify-full"),
        ("postgres://ada@here/db?table=t&sslmode=require", "sslmode is verify-full"),
        ("postgres://ada@here/db?table=t&timeout=0", "the timeout must be from 1 to 86400 seconds"),
        ("postgres://ada@here/db?tabel=t", "the address has an unknown 'tabel'; known are table, host, port"),
        ("postgres://a%zz@here/db?table=t", "a % in the address is not followed by two hexadecimal digits"),
    ] {
        check(&source(address), &format!("2:10: {words}"));
    }
    let server = |address: &str| read(&source(address)).unwrap().tables["people"].server.clone().unwrap();
    let full = server("postgresql://a%40b@[::1]:5433/db?table=s.t%20u&timeout=60&sslmode=verify-full");
    let parts = (full.user.as_str(), full.host.as_str(), full.port, full.database.as_str(), full.timeout);
    assert_eq!(parts, ("a@b", "::1", 5433, "db", 60));
    assert_eq!((full.named().as_str(), full.is_verified, full.is_here()), ("\"s\".\"t u\"", true, true));
    // Elsewhere a certificate is verified without a word; here nothing is seen by others. Nobody's name is in what is
    // shown.
    let (away, here) = (server("postgres://ada@away/db?table=t"), server("postgres://ada@/db?table=t&host=/run/pg"));
    assert!(away.is_verified && !here.is_verified && here.is_socket());
    assert_eq!((away.to_string().as_str(), away.timeout), ("postgres://away:5432/db?table=t", 3600));
    assert!(!away.is_beside(&here) && away.is_beside(&server("postgres://ada@away/db?table=other")));
    assert!(read(TABLE).unwrap().tables["people"].server.is_none());
}

#[test]
fn addresses_of_clusters() {
    let engine = |lines: &str| format!("[engine]\n{lines}");
    for (lines, expect) in [
        ("cluster = \"spark://here\"", "6:11: only clusters of Apache Ballista are supported; write it as ballista://"),
        ("cluster = \"ballista://here:port\"", "6:11: the port is not a number"),
        ("cluster = \"ballista://\"", "6:11: the address has no host, or more than a host and a port"),
        ("cluster = \"ballista://a/b\"", "6:11: the address has no host, or more than a host and a port"),
        ("cluster = \"ballista://a\"\ntimeout = 86401", "7:11: timeout must be at most 86400 seconds"),
    ] {
        check_more(&engine(lines), expect);
    }
    let cluster = |address: &str| {
        let text = format!("{TABLE}{}\n", engine(&format!("cluster = \"ballista://{address}\"")));
        read(&text).unwrap().cluster.unwrap()
    };
    let usual = cluster("here");
    assert_eq!((usual.host.as_str(), usual.port, usual.timeout), ("here", 50050, 3600));
    assert_eq!(cluster("[::1]:6000").to_string(), "ballista://[::1]:6000");
    assert_eq!(cluster("[::1]").port, 50050);
}

/// A tenth is a tenth, and not the nearest f64.
#[test]
fn numbers_are_those_that_are_written() {
    let text = format!(
        "{TABLE}[budget]\nperson = {{ epsilon = 0.1, delta = 1e-9 }}\nattributes = {{ \"*\" = {{ rho = 0.3 }} }}\n"
    );
    let budget = read(&text).unwrap().budget;
    let exact = |text: &str| text.parse::<Exact>().unwrap();
    assert_eq!(budget.person, Some(Limit::Approximate { epsilon: exact("0.1"), delta: exact("1e-9") }));
    assert_eq!(budget.every_attribute, Some(Limit::Zcdp { rho: exact("0.3"), delta: Exact::zero() }));
    assert_ne!(exact("0.1"), Exact::from_f64(0.1).unwrap());
}

/// A project that says nothing about the attacker gets the strongest one.
#[test]
fn what_is_not_said_makes_no_attacker_weaker() {
    let attacker = |lines: &str| read(&format!("{TABLE}[attacker]\n{lines}\n")).unwrap().attacker.unwrap();
    let silent = attacker("");
    assert!(silent.active && !silent.independent && silent.delta.is_none());
    assert_eq!((silent.known_rows, silent.uncertainty), (0.0, 0.0));
    let weak =
        attacker("mode = \"passive\"\nindependence = \"declared\"\nuncertainty = 0.5\nknown_rows = 0.25\ndelta = 1e-9");
    assert!(!weak.active && weak.independent && weak.delta.is_some());
    assert_eq!((weak.known_rows, weak.uncertainty), (0.25, 0.5));
}

/// Whether two sections say the same does not depend on the order of keys or on how a number is written.
#[test]
fn sections_that_say_the_same_are_the_same() {
    let json = |text: &str| parse(Origin::File("scumble.toml".to_string()), text).unwrap().json();
    assert_eq!(
        json("a = 1.50\nb = [1, \"x\"]\n[c]\nd = true\n"),
        json("b = [1.0, \"x\"]\na = 1.5\nc = { d = true }\n")
    );
    assert_ne!(json("a = 1.5\n"), json("a = \"one\"\n"));
    assert_ne!(json("a = 1.5\n"), json("a = 1.25\n"));
}

/// What programs give as JSON says what a file says, in the order in which it was given; and what is wrong is found by
/// the keys that lead to it.
#[test]
fn a_project_of_values_is_that_of_a_file() {
    let values = r#"{"dataset": {"people": {"source": "people.csv", "columns": {
        "size": {"type": "float", "lower": 0.5, "upper": 1e-09, "bins": [0.5, 1, true, "x", {"a": -3}]},
        "age": {"type": "int"}}}}}"#;
    let text = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n\
        size = { type = \"float\", lower = 0.5, upper = 1e-09, bins = [0.5, 1, true, \"x\", { a = -3 }] }\n\
        age = { type = \"int\" }\n";
    let (given, file) = (parse_json(values).unwrap(), parse(Origin::File("scumble.toml".to_string()), text).unwrap());
    assert_eq!(given.json(), file.json());
    let order = |section: &Section| {
        let people = section.need("dataset").unwrap().section().unwrap().need("people").unwrap().section().unwrap();
        let columns = people.need("columns").unwrap().section().unwrap();
        columns.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((order(&given), order(&file)), (vec!["size".to_string(), "age".to_string()], order(&given)));
    let refused = |content: &str| {
        let read = Project::of_json(Path::new("session.toml"), content, BTreeMap::new());
        let error = read.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{content}");
        (error.place().map(|place| place.to_string()), error.sentence().to_string())
    };
    let table = |more: &str| format!(r#"{{"dataset": {{"people": {{"source": "people.csv", {more}}}}}}}"#);
    for (content, keys, words) in [
        ("{}".to_string(), Some("the project"), "the file needs 'dataset'"),
        ("[]".to_string(), None, "a project must be a JSON object"),
        ("{".to_string(), None, "this is not JSON ("),
        (table(r#""columns": {"age": {}, "age": {}}"#), None, "'age' is listed twice"),
        (table(r#""colums": {}"#), Some("dataset.people"), "unknown key 'colums'"),
        (
            table(r#""columns": {"age": {"type": null}}"#),
            Some("dataset.people.columns.age.type"),
            "this must be a string",
        ),
        (
            table(r#""columns": {"sex": {"type": "category", "values": ["f", 1]}}"#),
            Some("dataset.people.columns.sex.values"),
            "this must be a string",
        ),
    ] {
        let (place, sentence) = refused(&content);
        assert_eq!(place.as_deref(), keys, "{content}");
        assert!(sentence.contains(words), "{content}: {sentence}");
    }
}

#[test]
fn names_of_people_are_names_of_users_too() {
    for name in ["ada", "a", "0x", "ada.b-c_d", &"a".repeat(63)] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", "Ada", "a b", "-a", ".a", "ä", "a\n", &"a".repeat(64)] {
        assert!(!is_name(name), "{name:?}");
    }
}
