//! Releases of each kind that are refused.

use super::Refusing;
use scumble_testing::projects::{
    FEW_VALUES, FRIENDS, HABITS, HABITS_COLUMNS, INCOMES, INCOMES_QUERY, INTERACTIVE, SEARCHES, SMALL_TABLE,
    SMALL_TABLE_CONDITIONS, accounts,
};

const LEARNING: &str = include_str!("../../../../../docs/how-to/learn.md");
const STABLE_COUNTS: &str = include_str!("../../../../../docs/how-to/stable-counts.md");

/// A share that buys no noise was refused by the noise, which nobody had given a scale.
#[test]
fn a_share_that_is_too_small_is_said_to_be() {
    let folder =
        |project: &str| Refusing::with(&[("scumble.toml", project), ("people.csv", "age,sex,name\n30,f,ann\n")]);
    let project = |share: &str| {
        format!(
            "[dataset.visits]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 3\n\
             [dataset.visits.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\n\
             [[release]]\nname = \"r\"\nsql = \"SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex\"\ncost = {{ epsilon = 0.5 }}\nbounding_report = {{ share = {share} }}\n"
        )
    };
    for share in ["1e-17", "1e-30"] {
        let words = "what is set aside of the cost (the share of bounding_report) is too small for any noise: give it a larger share, such as 0.05";
        let said = folder(&project(share)).plan(words);
        assert!(said.contains("scumble.toml:"), "{said}");
    }
    folder(&project("0.05")).plans();
}

#[test]
fn joint_noise_that_is_not_to_be_had_is_refused_in_a_sentence() {
    let refused = |sql: &str, cost: &str, more: &str, words: &str| {
        let release = format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\n{more}\ncost = {{ {cost} }}\n");
        let project = format!("{INCOMES}{release}");
        let folder =
            Refusing::with(&[("scumble.toml", &project), ("people.csv", "sex,smokes,income,town\nf,true,1,t0\n")]);
        folder.plan(words);
        folder.release(words);
    };
    let joint = "noise = \"joint\"";
    refused(INCOMES_QUERY, "rho = 0.1", joint, "joint noise is for a cost in epsilon");
    refused("SELECT AVG(income) AS a, COUNT(*) AS n FROM people", "epsilon = 1", joint, "published as they are");
    refused("SELECT COUNT(*) AS n, 2 * SUM(income) AS s FROM people", "epsilon = 1", joint, "published as they are");
    refused("SELECT COUNT(*) AS n FROM people", "epsilon = 1", joint, "for two numbers or more");
    refused(
        "SELECT town, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY town",
        "epsilon = 1, delta = 1e-6",
        joint,
        "for groups that are public",
    );
    refused(
        "SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY ROLLUP (sex)",
        "epsilon = 1",
        joint,
        "one grouping",
    );
    refused(INCOMES_QUERY, "epsilon = 1", "noise = \"shared\"", "noise must be 'each', 'joint' or 'auto'");
}

/// Each in one sentence that says what to write instead.
#[test]
fn what_is_no_count_is_refused() {
    let block = STABLE_COUNTS.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let tables = block.split("[[release]]").next().unwrap();
    let folder = Refusing::with(&[
        ("visits.csv", "person_id,clinic,reason\n0,north,flu\n"),
        ("clinics.csv", "clinic,is_new\nnorth,true\nsouth,true\nwest,false\n"),
    ]);
    let asking = |fields: &str| {
        format!(
            "{tables}[[release]]\nname = \"r\"\nkind = \"exact-if-stable\"\n{fields}\ncost = {{ epsilon = 1, delta = 1e-6 }}\n"
        )
    };
    let sql = |query: &str, more: &str| format!("sql = \"SELECT {query}\"\n{more}");
    for (fields, words) in [
        ("at_least = 5".to_string(), "needs 'table' or 'sql'"),
        (sql("COUNT(*) FROM visits", "at_least = 5\ntable = \"visits\""), "give table or sql, not both"),
        (sql("COUNT(*) FROM visits", "at_least = 5\nwhere = \"reason = 'flu'\""), "write it after WHERE"),
        (sql("COUNT(*) FROM visits", ""), "needs 'at_least' or 'rounded_to' (or, of a query with GROUP BY, 'largest')"),
        (sql("COUNT(*) FROM visits", "largest = true"), "largest is for a query with GROUP BY"),
        ("table = \"visits\"\nlargest = true".to_string(), "largest is for a query with GROUP BY"),
        (sql("clinic, COUNT(*) FROM visits GROUP BY clinic", "largest = true\nat_least = 5"), "give only one of"),
        (sql("clinic, COUNT(*) FROM visits GROUP BY clinic", "largest = true\nrounded_to = 5"), "give only one of"),
        (sql("COUNT(*) > 1000 FROM visits", "at_least = 5"), "the count and the keys must stand by themselves"),
        (sql("COUNT(*) + 1 AS n FROM visits", "at_least = 5"), "the count and the keys must stand by themselves"),
        (sql("COUNT(*), COUNT(DISTINCT person_id) FROM visits", "at_least = 5"), "takes one count beside the keys"),
        (sql("DISTINCT reason FROM visits", "at_least = 5"), "takes one count beside the keys"),
        (sql("clinic, COUNT(*) FROM visits GROUP BY ROLLUP(clinic)", "at_least = 5"), "takes one grouping"),
        (sql("clinic, COUNT(*) FROM visits GROUP BY clinic HAVING COUNT(*) > 9", "at_least = 5"), "leave out HAVING"),
        (
            sql("clinic, COUNT(*) FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC LIMIT 1", "largest = true"),
            "leave out HAVING, ORDER BY",
        ),
        (sql("COUNT(*) FROM visits GROUP BY clinic", "at_least = 5"), "SELECT must name every column of GROUP BY"),
        (
            sql("UPPER(clinic), COUNT(*) FROM visits GROUP BY clinic", "at_least = 5"),
            "the count and the keys must stand by themselves",
        ),
        (
            sql("clinic AS is_published, COUNT(*) FROM visits GROUP BY clinic", "at_least = 5"),
            "two published columns would be called 'is_published'",
        ),
        (
            sql("clinic AS is_at_least_5, COUNT(*) FROM visits GROUP BY clinic", "at_least = 5"),
            "two published columns would be called 'is_at_least_5'",
        ),
        (sql("COUNT(*) FROM clinics", "at_least = 5"), "public"),
        (sql("COUNT(*) FROM visit", "at_least = 5"), "visit"),
        (
            sql(
                "reason, COUNT(*) FROM visits GROUP BY reason",
                "at_least = 5\nmax_rows_per_owner = 100000\nmax_groups_per_owner = 100000",
            ),
            "lower max_groups_per_owner, or raise epsilon",
        ),
    ] {
        folder.write("scumble.toml", &asking(&fields));
        folder.plan(words);
    }
}

/// One sentence with its place, and nothing is charged.
#[test]
fn what_cannot_be_learnt_is_refused() {
    let tables = LEARNING.split("```toml\n").nth(1).unwrap().split("[budget]").next().unwrap();
    let check = |more: &str, words: &str| {
        let budget = "[budget]\nperson = { epsilon = 1000, delta = 1e-6 }\n";
        let release = format!("[[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"patients\"\n{more}\n");
        let patients = "id,age,smokes,vaccinated,ward,ill\n0,70,true,false,north,true\n";
        let project = format!("{tables}{budget}{release}");
        let folder = Refusing::with(&[("scumble.toml", &project), ("patients.csv", patients)]);
        folder.release(words);
        assert!(!folder.file("out").exists());
    };
    let cost = "cost = { epsilon = 1 }";
    let distribution = |more: &str| format!("concept = \"distribution\"\ncolumns = [\"ward\"]\n{more}\n{cost}");
    check(&distribution("label = \"ill\""), "a distribution predicts no label: leave 'label' out");
    check(&distribution("positive = \"west\""), "'positive' is for a label, and a distribution has none");
    check(&distribution("rules = [\"age > 3\"]"), "'rules' are for the concept 'list'");
    check("concept = \"distribution\"\ncolumns = []\ncost = { epsilon = 1 }", "give at least one column");
    check(
        "concept = \"distribution\"\ncolumns = [\"ward\"]\naccuracy = { within = 3, confidence = 0.9 }",
        "the accuracy of a distribution cannot be asked for",
    );
    check(&format!("concept = \"point\"\ncolumns = [\"ward\"]\n{cost}"), "needs 'label', the column that is predicted");
    check(&format!("concept = \"tree\"\nlabel = \"ill\"\ncolumns = [\"age\"]\n{cost}"), "the concept is 'point'");
    check(
        &format!("concept = \"point\"\nlabel = \"age\"\ncolumns = [\"ward\"]\n{cost}"),
        "a label is a bool, an int with the bounds 0 and 1",
    );
    check(&format!("concept = \"point\"\nlabel = \"ward\"\ncolumns = [\"age\"]\n{cost}"), "needs 'positive'");
    check(
        &format!("concept = \"point\"\nlabel = \"ward\"\npositive = \"east\"\ncolumns = [\"age\"]\n{cost}"),
        "'east' is not a value of the column 'ward'",
    );
    check(&format!("concept = \"point\"\nlabel = \"ill\"\ncolumns = [\"ill\"]\n{cost}"), "listed twice");
    check(&format!("concept = \"threshold\"\nlabel = \"ill\"\ncolumns = [\"ward\"]\n{cost}"), "one column of type int");
    check(&format!("concept = \"parity\"\nlabel = \"ill\"\ncolumns = [\"ward\"]\n{cost}"), "over columns of type bool");
    check(
        "concept = \"parity\"\nlabel = \"ill\"\ncolumns = [\"smokes\"]\ncost = { rho = 1 }",
        "takes an epsilon, and no delta",
    );
    check(
        "concept = \"point\"\nlabel = \"ill\"\ncolumns = [\"ward\"]\naccuracy = { within = 3, confidence = 0.9 }",
        "the accuracy of a rule cannot be asked for",
    );
    check(
        &format!("concept = \"list\"\nlabel = \"ill\"\ncolumns = [\"age\"]\n{cost}"),
        "'rules' are for the concept 'list'",
    );
    let list =
        |rules: &str| format!("concept = \"list\"\nlabel = \"ill\"\ncolumns = [\"age\"]\nrules = {rules}\n{cost}");
    check(&list("[]"), "list 1 to 1000 rules");
    check(&list("[\"ward = 'west'\"]"), "reads 'ward', which is not among the columns of the release");
    check(&list("[\"age + 1\"]"), "a truth value is needed");
    check(&list("[\"10 / age > 3\"]"), "may divide by zero");
    check(&list("[\"age > random() * 100\"]"), "the function random is not supported");
    // The stack overflowed.
    let long = vec!["age = 1"; 3000].join(" OR ");
    check(&list(&format!("[\"{long}\"]")), "operators");
}

#[test]
fn what_cannot_be_asked_for_is_one_sentence_with_its_place() {
    let folder = |release: &str| {
        let release =
            format!("[[release]]\nname = \"habits\"\nkind = \"conjunctions\"\ntable = \"people\"\n{release}\n");
        let people = "id,smoker,insured,age,region\n0,true,true,30,north\n";
        Refusing::with(&[("scumble.toml", &format!("{HABITS}{release}")), ("people.csv", people)])
    };
    let plan = |release: &str, words: &str| {
        let sentence = folder(release).plan(words);
        assert!(sentence.contains("scumble.toml:"), "{sentence}");
    };
    let with = |more: &str| format!("{HABITS_COLUMNS}\n{more}\ncost = {{ rho = 1 }}");
    plan(&with("width = 5"), "4 columns have conjunctions of 1 to 4 literals");
    plan(&with("width = 0"), "a whole number of at least 1");
    plan(&with("width = 2\nbias = 1.0\npeople = 10"), "above 0 and below 1");
    plan(&with("width = 2\nbias = 0.0\npeople = 10"), "above 0 and below 1");
    plan(&with("width = 2\nbias = -0.1\npeople = 10"), "-0.1");
    plan(&with("width = 2\nbias = nan\npeople = 10"), "a finite number");
    plan(&with("width = 2\nbias = 0.1"), "the best bias depends on");
    plan(&with("width = 2\nmeasure = \"sums\""), "'parities', 'counts' or 'auto'");
    let of =
        |columns: &str, words: &str| plan(&format!("columns = [{columns}]\nwidth = 1\ncost = {{ rho = 1 }}"), words);
    of("", "at least one");
    of("\"smokr\"", "smokr");
    of("\"smoker\", \"smoker\"", "'smoker' is listed twice");
    of("\"region\"", "neither true nor false");
    of("\"age\"", "has 100 values");
    of("\"region = east\"", "true of no value");
    of("\"age >= 0\"", "true of every value");
    of("\"age >= nan\"", "compares whole numbers");
    let many: Vec<String> = (1..99).map(|age| format!("\"age >= {age}\"")).collect();
    plan(&format!("columns = [{}]\nwidth = 5\ncost = {{ rho = 1 }}", many.join(", ")), "lower the width");
    let no_delta = folder(&format!("{HABITS_COLUMNS}\nwidth = 2\ncost = {{ epsilon = 1 }}"));
    no_delta.plan("needs a delta");
}

#[test]
fn what_is_wrong_with_a_top_is_said_in_a_sentence() {
    let refused = |kind: &str, fields: &str, cost: &str, words: &str| {
        let release = format!("[[release]]\nname = \"r\"\nkind = \"{kind}\"\n{fields}\ncost = {{ {cost} }}\n");
        let folder = Refusing::with(&[
            ("scumble.toml", &format!("{SEARCHES}{release}")),
            ("searches.csv", "user,term,page\nu0,t0,news\n"),
            ("people.csv", "town,sex\nnorth,f\n"),
        ]);
        folder.plan(words);
        folder.release(words);
        assert!(!folder.file("out").exists(), "nothing is written");
    };
    let top = |fields: &str, cost: &str, words: &str| refused("top", fields, cost, words);
    let term = "table = \"searches\"\ncolumn = \"term\"";
    top(term, "epsilon = 1", "say how many values: number = 10");
    top(&format!("{term}\nnumber = 3\nlead = 50"), "epsilon = 1", "give number or lead, not both");
    top(&format!("{term}\nnumber = 1001"), "epsilon = 1", "number may be at most 1000, not 1001");
    top(&format!("{term}\nnumber = 3\nmethod = \"best\""), "epsilon = 1", "method must be 'counts', 'gap' or 'auto'");
    top(&format!("{term}\nlead = 2"), "epsilon = 1", "not even one value is sure to be found by a lead of 2");
    top(&format!("{term}\nnumber = 3\nmax_bytes = 18"), "epsilon = 1", "max_bytes must be 1 to 17, not 18");
    top(&format!("{term}\nnumber = 3\nmax_bytes = 16"), "rho = 1", "which has a pure epsilon");
    let page = "table = \"searches\"\ncolumn = \"page\"";
    top(&format!("{page}\nnumber = 5"), "epsilon = 1", "there are only 5 values");
    top(&format!("{page}\nnumber = 2\nmax_bytes = 16"), "epsilon = 1", "whose values are not listed");
    top("table = \"searches\"\ncolumn = \"trem\"\nnumber = 1", "epsilon = 1", "did you mean 'term'?");
    refused("histogram", &format!("{page}\nmax_bytes = 16"), "epsilon = 1", "whose values are not listed");
    refused("histogram", &format!("{term}\nmax_bytes = 16"), "rho = 1", "which has a pure epsilon");
    refused(
        "histogram",
        &format!("{term}\nmax_bytes = 16\nbounding_report = {{ share = 0.1 }}"),
        "epsilon = 1",
        "max_bytes and bounding_report",
    );
}

#[test]
fn bad_declarations_are_refused_with_a_sentence() {
    let wide = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\na = { type = \"int\", lower = 1, upper = 4000 }\n\
        b = { type = \"int\", lower = 1, upper = 4000 }\n[[release]]\nname = \"r\"\ntable = \"people\"\nkind = \"interactive\"\ncolumns = [\"a\", \"b\"]\npeople = 9\ncost = { epsilon = 1 }\n";
    for (release, words) in [
        (INTERACTIVE.replace("people = 2000\n", ""), "needs 'people', how many owners there are"),
        (INTERACTIVE.replace("updates = 6", "updates = 0"), "this must be a whole number of at least 1"),
        (INTERACTIVE.replace("updates = 6", "updates = 2000000"), "1 to 1000000 times, not 2000000"),
        (INTERACTIVE.replace("questions = 30", "questions = 0"), "this must be a whole number of at least 1"),
        (INTERACTIVE.replace("epsilon = 60", "rho = 1"), "takes an epsilon"),
        (INTERACTIVE.replace("columns = [\"age\", \"smokes\", \"sex\"]", "columns = []"), "at least one column"),
        (INTERACTIVE.replace("\"sex\"]", "\"sox\"]"), "did you mean 'sex'?"),
        (SMALL_TABLE.replace("size = 4", "size = 0"), "this must be a whole number of at least 1"),
        (SMALL_TABLE.replace("size = 4", "size = 60"), "10^8 comparisons: take fewer, or use"),
        (SMALL_TABLE.replace(SMALL_TABLE_CONDITIONS, "[]"), "at least one condition"),
        (SMALL_TABLE.replace(SMALL_TABLE_CONDITIONS, "[\"income = 3\"]"), "which is not among the columns"),
        (SMALL_TABLE.replace(SMALL_TABLE_CONDITIONS, "[\"age = \"]"), "this must be one condition"),
    ] {
        let table = "[dataset.people]\nsource = \"people.csv\"\n";
        let project = format!("{table}{FEW_VALUES}[[release]]\nname = \"r\"\ntable = \"people\"\n{release}\n");
        Refusing::with(&[("scumble.toml", &project), ("people.csv", "age,smokes,sex,income\n0,true,f,0\n")])
            .plan(words);
    }
    let folder = Refusing::with(&[("people.csv", "a,b\n"), ("scumble.toml", wide)]);
    folder.plan("10^7 combinations of values, not 16008001");
}

#[test]
fn wrong_requests_are_refused_in_a_sentence() {
    let columns = "columns = [\"password\"]";
    for (dataset, release, words) in [
        ("", format!("{columns}\ncost = {{ rho = 0.1 }}"), "has a pure epsilon"),
        ("", format!("{columns}\naccuracy = {{ within = 10, confidence = 0.9 }}"), "has a pure epsilon"),
        ("", "columns = [\"pasword\"]\ncost = { epsilon = 1 }".into(), "did you mean 'password'?"),
        ("", "columns = []\ncost = { epsilon = 1 }".into(), "at least one column"),
        (
            "",
            format!("{columns}\ncost = {{ epsilon = 1 }}\nlayout = \"rows-and-stripes\""),
            "did you mean 'rows-and-strips'?",
        ),
        ("", format!("{columns}\ncost = {{ epsilon = 1 }}\nat_most = 0"), "at least 1"),
        ("", format!("{columns}\ncost = {{ epsilon = 1 }}\nat_most = 9000000000000"), "2^40"),
        ("", format!("{columns}\ncost = {{ epsilon = 1e-12 }}"), "for an anonymized histogram"),
        ("public = true", format!("{columns}\ncost = {{ epsilon = 1 }}"), "is public"),
    ] {
        let project = accounts(dataset, &release);
        let folder = Refusing::with(&[("scumble.toml", &project), ("accounts.csv", "password,tall\npw1,1\n")]);
        folder.release(words);
        assert!(!folder.file("scumble.ledger").exists() && !folder.file("out").exists());
    }
}

#[test]
fn what_is_wrong_with_a_graph_is_said_in_one_sentence() {
    let folder = Refusing::with(&[("edges.csv", "a,b\n0,1\n1,2\n0,2\n")]);
    let release = "[[release]]\nname = \"r\"\nkind = \"triangles\"\ntable = \"friends\"\ncost = { epsilon = 1 }\n";
    let whole = format!("{FRIENDS}{release}");
    for (from, to, words) in [
        ("vertices = 200", "vertices = 2", "a graph has from 3 to 1073741824 vertices"),
        ("to = \"b\"", "to = \"c\"", "there is no declared column 'c'"),
        ("to = \"b\"", "to = \"a\"", "both ends of an edge are in the column 'a'"),
        ("b = { type = \"int\" }", "b = { type = \"int\", lower = 0, upper = 199 }", "leave its lower and upper out"),
        ("b = { type = \"int\" }", "b = { type = \"category\" }", "must be of type int"),
        ("vertices = 200", "vertices = 200, nodes = 3", "unknown key 'nodes'"),
        ("graph = { from = \"a\", to = \"b\", vertices = 200 }", "", "table 'friends' is not one"),
        ("cost = { epsilon = 1 }", "cost = { rho = 1 }", "takes an epsilon"),
        ("cost = { epsilon = 1 }", "cost = { epsilon = 1 }\nmethod = \"smoth\"", "did you mean 'smooth'"),
        (
            "cost = { epsilon = 1 }",
            "cost = { epsilon = 1 }\nproposed = 5",
            "only with method = \"propose-test-release\"",
        ),
        ("cost = { epsilon = 1 }", "cost = { epsilon = 1 }\nmethod = \"propose-test-release\"", "needs 'proposed'"),
        (
            "cost = { epsilon = 1 }",
            "cost = { epsilon = 1, delta = 1e-6 }\nmethod = \"propose-test-release\"\nproposed = 500",
            "changes at most 198 triangles",
        ),
        (
            "cost = { epsilon = 1 }",
            "cost = { epsilon = 1 }\nmax_rows_per_owner = 5",
            "each edge is protected by itself",
        ),
        ("source = \"edges.csv\"", "source = \"edges.csv\"\nowner = \"id\"", "needs max_rows_per_owner"),
    ] {
        assert!(whole.contains(from), "{from}");
        folder.write("scumble.toml", &whole.replace(from, to));
        folder.plan(words);
    }
}
