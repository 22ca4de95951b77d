use super::*;

fn texts(cells: &[&str]) -> Answers {
    let cells = cells.iter().map(|text| Cell::Text((*text).into())).collect();
    let columns = vec![AnswerColumn { name: "key".to_string(), cells, uncertainty: None }];
    Answers { columns, notes: Vec::new(), details: Details::default() }
}

/// The story: a key `=cmd|'/c calc'!A1` of the data was published as it was, and a spreadsheet that opens the CSV runs
/// it; a key with an escape sequence rewrote the reader's terminal.
#[test]
fn a_key_is_neither_a_formula_nor_a_command_for_the_terminal() {
    let answers =
        texts(&["=cmd|'/c calc'!A1", "\t@SUM(A1)", "\u{1b}]0;owned\u{7}", "a\u{202e}b", "-5", "+1e3", "plain", "-"]);
    let csv = answers.csv().unwrap();
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(lines[0], "'=cmd|'/c calc'!A1");
    assert_eq!(lines[1], "'\t@SUM(A1)");
    assert_eq!(lines[2], "␛]0;owned␇");
    assert_eq!(lines[3], "a\u{fffd}b");
    assert_eq!(lines[4..], ["-5", "+1e3", "plain", "'-"]);
    assert!(!csv.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    // JSON keeps what was published, and writes it so that no terminal obeys it.
    assert_eq!(answers.json()["rows"][0]["key"], "=cmd|'/c calc'!A1");
    assert!(!answers.json().to_string().contains('\u{1b}'));
}

/// The story: `SELECT COUNT(*) AS n, COUNT(age) AS n_error` had one field `n_error` in its JSON for two numbers.
#[test]
fn names_that_would_swallow_each_other_are_refused() {
    assert!(check_names([("state", false), ("n", true), ("m", true)]).is_ok());
    for names in
        [[("n", true), ("n_error", true)], [("n_interval", false), ("n", true)], [("count", false), ("count", true)]]
    {
        let sentence = check_names(names).unwrap_err().to_string();
        assert!(sentence.contains("give one of them another name"), "{sentence}");
    }
}

/// Names of files' columns that are taken get out of the way, and always in the same one.
#[test]
fn a_name_that_is_taken_gets_out_of_the_way() {
    let columns = [("n", true), ("n_se", true), ("n_low", false), ("n_low_", false), ("k", false)];
    let found = names_beside(columns.into_iter());
    assert_eq!(found[0], Some(["n_se_", "n_low__", "n_high"].map(String::from)));
    assert_eq!(found[1], Some(["n_se_se", "n_se_low", "n_se_high"].map(String::from)));
    assert_eq!(found[2..], [None, None, None]);
}

/// Nothing is known of a quotient whose divisor may be 0: an empty cell there would be taken for no error.
#[test]
fn what_is_unbounded_is_said_in_a_word() {
    let unsure =
        vec![Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: 7.5 }, Uncertainty::UNKNOWN];
    let cells = vec![Cell::Number(3.0), Cell::Null];
    let columns = vec![AnswerColumn { name: "q".to_string(), cells, uncertainty: Some(unsure) }];
    let answers = Answers { columns, notes: Vec::new(), details: Details::default() };
    assert_eq!(answers.csv().unwrap(), "q,q_se,q_low,q_high\n3,unbounded,unbounded,7.5\n,,,\n");
    let rows = &answers.json()["rows"];
    assert_eq!(rows[0], json!({ "q": 3.0, "q_error": "unbounded", "q_interval": ["unbounded", 7.5] }));
    assert_eq!(rows[1], json!({ "q": null, "q_error": null, "q_interval": null }));
}

/// An interval that ended in a zero was printed as -0.
#[test]
fn no_zero_has_a_sign() {
    let unsure = vec![Uncertainty { standard_error: 1.0, low: -0.0, high: -0.0 }];
    let columns =
        vec![AnswerColumn { name: "q".to_string(), cells: vec![Cell::Number(-0.0)], uncertainty: Some(unsure) }];
    let answers = Answers { columns, notes: Vec::new(), details: Details::default() };
    assert_eq!(answers.csv().unwrap(), "q,q_se,q_low,q_high\n0,1,0,0\n");
    assert!(!answers.json().to_string().contains("-0"), "{}", answers.json());
}
