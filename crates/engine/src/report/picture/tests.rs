//! Which picture shows which answer, and what its files hold.

use super::plate::{CategoryPanel, HeatPanel, LinePanel, Panel, PanelForm, Plate};
use super::words::ChartWords;
use super::{big, plate, small};
use crate::project::Project;
use crate::release::output::{
    AnswerColumn, Answers, BandedCurve, Cell, ColumnRole, Details, IntervalChart, Uncertainty,
};
use scumble_chart::Size;
use serde_json::{Value, json};
use std::path::Path;

const KEY: ColumnRole = ColumnRole::Key;
const AMOUNT: ColumnRole = ColumnRole::Amount { of: None };
const LEVEL: ColumnRole = ColumnRole::Level { of: None };

const PROJECT: &str = "[dataset.t]\nsource = 't.csv'\nlabel = 'Register of visits'\n[dataset.t.columns]\n\
    clinic = { type = 'category', label = 'Clinic' }\ncost = { type = 'float', lower = 0, upper = 9, unit = '€' }\n\
    [[release]]\nname = 'r'\nsql = 'SELECT COUNT(*) AS n FROM t'\ncost = { epsilon = 1 }\n\
    title = 'Visits'\nunit = 'visits'\nlabels = { n = 'Number of visits' }\n";

fn project() -> Project {
    Project::parse(Path::new("scumble.toml"), PROJECT).unwrap()
}

/// A column of an answer with its role.
struct GivenColumn(&'static str, Option<ColumnRole>, AnswerColumn);

fn texts(name: &'static str, cells: impl IntoIterator<Item = String>) -> GivenColumn {
    let cells =
        cells.into_iter().map(|cell| if cell.is_empty() { Cell::Null } else { Cell::Text(cell.as_str().into()) });
    GivenColumn(name, Some(KEY), AnswerColumn { name: name.to_string(), cells: cells.collect(), uncertainty: None })
}

/// Noisy numbers with a margin of 5.
fn numbers(name: &'static str, role: ColumnRole, numbers: impl IntoIterator<Item = f64>) -> GivenColumn {
    let cells: Vec<Cell> = numbers.into_iter().map(Cell::Number).collect();
    let unsure = |cell: &Cell| {
        let number = cell.number().unwrap();
        Uncertainty { standard_error: 2.5, low: number - 5.0, high: number + 5.0 }
    };
    let uncertainty = Some(cells.iter().map(unsure).collect());
    GivenColumn(name, Some(role), AnswerColumn { name: name.to_string(), cells, uncertainty })
}

fn sure(mut given: GivenColumn) -> GivenColumn {
    given.2.uncertainty = None;
    given
}

fn named(prefix: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{prefix}{index}"))
}

fn answers(columns: Vec<GivenColumn>) -> Answers {
    let roles = columns.iter().filter_map(|GivenColumn(name, role, _)| Some((name.to_string(), role.clone()?)));
    let details = Details { roles: roles.collect(), ..Details::default() };
    Answers { columns: columns.into_iter().map(|GivenColumn(.., column)| column).collect(), notes: Vec::new(), details }
}

fn drawn(answers: &Answers, rows: usize) -> Option<Plate> {
    let project = project();
    let plate = plate(answers, &ChartWords::new(&project, "r", &json!({ "table": "t" })), rows)?;
    assert_eq!(plate.picture().outside(), Vec::<&str>::new(), "text sticks out");
    for panel in plate.big.iter().chain(&plate.small) {
        for picture in [big(panel, Size::Wide), big(panel, Size::Narrow), small(panel, Size::Narrow)] {
            assert_eq!(picture.outside(), Vec::<&str>::new(), "text sticks out");
        }
    }
    Some(plate)
}

/// A panel in one line.
fn shown(panel: &Panel) -> String {
    let form = match &panel.form {
        PanelForm::Lines(LinePanel { x, series, .. }) => {
            let points = series.iter().map(|series| series.points.iter().flat_map(|point| point.1).count());
            let axis = if x.is_time { "dates" } else { "numbers" };
            format!("lines over {axis} {:?}", points.collect::<Vec<_>>())
        }
        PanelForm::Categories(CategoryPanel { style, series, rows, .. }) => {
            let apart = rows.iter().filter(|row| row.apart).count();
            format!("{style:?} {} series {} apart {apart}", rows.len(), series.len().max(1))
        }
        PanelForm::Heat(HeatPanel { rows, columns, totals, .. }) => {
            format!("heat {}x{} totals {totals:?}", rows.len(), columns.len())
        }
        PanelForm::Curve(curve) => format!("curve {}", curve.points.len()),
    };
    format!("{form}: {}", if panel.title.is_empty() { &panel.subtitle } else { &panel.title })
}

/// A picture as lines: the large panel, small ones, notes.
fn lines(columns: Vec<GivenColumn>) -> Vec<String> {
    let answers = answers(columns);
    let Some(plate) = drawn(&answers, answers.rows()) else { return vec!["none".to_string()] };
    let large = plate.big.iter().map(|panel| format!("LARGE {}", shown(panel)));
    let notes = plate.big.iter().chain(&plate.small).flat_map(|panel| panel.notes.clone());
    let notes = notes.chain(plate.words.notes.clone()).collect::<Vec<_>>();
    large.chain(plate.small.iter().map(shown)).chain(notes).collect()
}

fn dates(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|index| format!("2013-{:02}-01", index + 1))
}

fn pairs(first: usize, second: usize) -> (Vec<String>, Vec<String>) {
    let all = (0..first).flat_map(|one| (0..second).map(move |two| (format!("a{one}"), format!("b{two}"))));
    all.unzip()
}

#[test]
fn one_key_is_bars_dots_or_lines() {
    let up = |count: usize| (0..count).map(|index| 100.0 + index as f64);
    assert_eq!(
        lines(vec![texts("clinic", named("c", 4)), numbers("n", AMOUNT, up(4))]),
        ["LARGE Bars 4 series 1 apart 0: Number of visits"]
    );
    assert_eq!(
        lines(vec![texts("clinic", named("c", 4)), numbers("m", ColumnRole::Level { of: Some("cost".into()) }, up(4))]),
        ["LARGE Dots 4 series 1 apart 0: m (€)"]
    );
    assert_eq!(
        lines(vec![texts("month", dates(12)), numbers("n", AMOUNT, up(12))]),
        ["LARGE lines over dates [12]: Number of visits by month, with 95% intervals"]
    );
    // Two dates are no line.
    let two = lines(vec![texts("month", dates(2)), numbers("n", AMOUNT, up(2))]);
    assert_eq!(two, ["LARGE Bars 2 series 1 apart 0: Number of visits"]);
    let ages = |count: usize| {
        let cells = (0..count).map(|age| Cell::Whole(age as i128)).collect();
        GivenColumn("age", Some(KEY), AnswerColumn { name: "age".to_string(), cells, uncertainty: None })
    };
    let curve = lines(vec![ages(40), numbers("n", AMOUNT, up(40))]);
    assert_eq!(curve, ["LARGE lines over numbers [40]: Number of visits by age, with 95% intervals"]);
    assert_eq!(
        lines(vec![ages(12), numbers("n", AMOUNT, up(12))]),
        ["LARGE Bars 12 series 1 apart 0: Number of visits"]
    );
    assert_eq!(lines(vec![texts("clinic", named("c", 1)), numbers("n", AMOUNT, up(1))]), ["none"]);
}

/// A report drew the first 30 of 200 groups, and nobody was told.
#[test]
fn two_hundred_groups_do_not_vanish_without_a_sentence() {
    let counts = (0..200).map(|index| f64::from((index * 37) % 200));
    let columns = vec![texts("city", named("c", 200)), numbers("n", AMOUNT, counts)];
    let said = "The 30 groups with the largest Number of visits are drawn; 170 others are in the table.";
    assert_eq!(lines(columns), ["LARGE Bars 30 series 1 apart 0: Number of visits", said]);
    let counts: Vec<f64> = (0..200).map(|index| f64::from((index * 37) % 200)).collect();
    let answers = answers(vec![texts("city", named("c", 200)), numbers("n", AMOUNT, counts)]);
    let plate = drawn(&answers, 20_000).unwrap();
    let Some(PanelForm::Categories(panel)) = plate.big.as_ref().map(|panel| &panel.form) else { panic!() };
    let least = panel.rows.iter().filter_map(|row| row.numbers[0]).map(|one| one.value).fold(f64::INFINITY, f64::min);
    assert_eq!(least, 170.0, "the largest are drawn");
    assert!(plate.picture().labels().any(|label| label.starts_with("The 30 groups with the largest")));
    assert_eq!(plate.words.notes, ["Of 20000 rows, the first 200 are drawn."]);
    // Large means are often those of small groups: who is large, counts decide.
    let means = (0..200).map(|index| f64::from(200 - index));
    let counts = (0..200).map(f64::from);
    let columns = vec![texts("city", named("c", 200)), numbers("m", LEVEL, means), numbers("n", AMOUNT, counts)];
    let plate = drawn(&self::answers(columns), 200).unwrap();
    let Some(PanelForm::Categories(panel)) = plate.big.as_ref().map(|panel| &panel.form) else { panic!() };
    assert!(panel.rows.iter().any(|row| row.name == "c199"));
}

#[test]
fn two_keys_are_grouped_bars_lines_or_a_coloured_table() {
    let two = |first: usize, second: usize| {
        let (left, right) = pairs(first, second);
        let counts = (0..first * second).map(|index| index as f64);
        lines(vec![texts("clinic", left), texts("sex", right), numbers("n", AMOUNT, counts)])
    };
    assert_eq!(two(6, 3), ["LARGE Bars 6 series 3 apart 0: Number of visits"]);
    assert_eq!(two(3, 6), ["LARGE Bars 6 series 3 apart 0: Number of visits"]);
    assert_eq!(two(9, 7), ["LARGE heat 9x7 totals (0, 0): Number of visits"]);
    assert_eq!(
        two(40, 20),
        [
            "LARGE heat 30x12 totals (0, 0): Number of visits",
            "The 30 groups with the largest Number of visits are drawn; 10 others are in the table.",
            "The 12 columns with the largest Number of visits are drawn; 8 others are in the table."
        ]
    );
    let over_time = |groups: usize| {
        let months: Vec<String> = (0..groups).flat_map(|_| dates(6)).collect();
        let names = (0..groups).flat_map(|group| vec![format!("g{group}"); 6]);
        let counts = (0..6 * groups).map(|index| index as f64);
        lines(vec![texts("month", months.clone()), texts("clinic", names), numbers("n", AMOUNT, counts)])
    };
    assert_eq!(over_time(3), ["LARGE lines over dates [6, 6, 6]: Number of visits"]);
    let multiples = over_time(6);
    assert_eq!((multiples.len(), multiples[0].as_str()), (6, "lines over dates [6]: g0"));
    let many = over_time(15);
    assert_eq!(many.len(), 13);
    assert_eq!(many[12], "The 12 groups with the largest Number of visits are drawn; 3 others are in the table.");
}

/// The rows of ROLLUP and CUBE without a key were one more group called "–", which dwarfed all others.
#[test]
fn totals_stand_apart() {
    let keys = || texts("clinic", named("c", 4).chain([String::new()]));
    let counts = || numbers("n", AMOUNT, [1000.0, 2000.0, 3000.0, 4000.0, 10_000.0]);
    assert_eq!(
        lines(vec![keys(), counts()]),
        ["LARGE Bars 4 series 1 apart 0: Number of visits", "Number of visits in all: 10\u{202f}000 (± 5)."]
    );
    let means = numbers("m", LEVEL, [10.0, 20.0, 30.0, 40.0, 25.0]);
    assert_eq!(lines(vec![keys(), means])[0], "LARGE Dots 5 series 1 apart 1: m (visits)");
    let (mut left, mut right) = pairs(6, 7);
    for index in 0..6 {
        left.push(format!("a{index}"));
        right.push(String::new());
    }
    for index in 0..7 {
        left.push(String::new());
        right.push(format!("b{index}"));
    }
    left.push(String::new());
    right.push(String::new());
    let counts = (0..left.len()).map(|index| index as f64);
    let cube = lines(vec![texts("clinic", left), texts("sex", right), numbers("n", AMOUNT, counts)]);
    assert_eq!(cube, ["LARGE heat 8x7 totals (1, 1): Number of visits"]);
}

/// The report drew bars of ranks, and the values were their names.
#[test]
fn quantiles_are_drawn_as_values() {
    let share = |cells: Vec<f64>| {
        let cells = cells.into_iter().map(Cell::Number).collect();
        GivenColumn("quantile", Some(KEY), AnswerColumn { name: "quantile".to_string(), cells, uncertainty: None })
    };
    let shares = || share(vec![0.25, 0.5, 0.75]);
    let value = sure(numbers("value", ColumnRole::Level { of: Some("cost".into()) }, [10.0, 20.0, 50.0]));
    let error = sure(numbers("rank_error", AMOUNT, [7.0, 7.0, 7.0]));
    let error = GivenColumn(error.0, None, error.2);
    assert_eq!(lines(vec![shares(), value, error]), ["LARGE Dots 3 series 1 apart 0: value (€)"]);
    // Dates stand on an axis of dates.
    let mut days = texts("value", ["2013-01-01", "2013-06-01", "2014-01-01"].map(str::to_string));
    days.1 = Some(LEVEL);
    let plate = drawn(&answers(vec![shares(), days]), 3).unwrap();
    let Some(PanelForm::Categories(panel)) = plate.big.map(|panel| panel.form) else { panic!() };
    assert!(panel.axis.is_time && panel.rows[0].numbers[0].unwrap().value == 15_706.0);
    // By group: boxes, or dots where intervals are known.
    let quantile = |name, share: f64| {
        let role = ColumnRole::Quantile { of: "cost".to_string(), share };
        numbers(name, role, (0..5).map(|index| 10.0 * share + f64::from(index)))
    };
    let all = || vec![quantile("h", 0.75), quantile("l", 0.25), quantile("m", 0.5)];
    let boxes: Vec<GivenColumn> =
        std::iter::once(texts("clinic", named("c", 5))).chain(all().into_iter().map(sure)).collect();
    let answer = answers(boxes);
    let plate = drawn(&answer, 5).unwrap();
    assert_eq!(shown(plate.big.as_ref().unwrap()), "Boxes 5 series 3 apart 0: cost (€)");
    let Some(PanelForm::Categories(panel)) = plate.big.as_ref().map(|panel| &panel.form) else { panic!() };
    assert_eq!(panel.series, ["25%", "median", "75%"], "in their order");
    let dots: Vec<GivenColumn> = std::iter::once(texts("clinic", named("c", 5))).chain(all()).collect();
    assert_eq!(lines(dots), ["LARGE Dots 5 series 3 apart 0: cost (€)"]);
    // Without groups.
    let one = |name, share: f64| sure(numbers(name, ColumnRole::Quantile { of: "cost".to_string(), share }, [share]));
    assert_eq!(lines(vec![one("l", 0.1), one("m", 0.5)]), ["LARGE Dots 2 series 1 apart 0: 10%, median"]);
}

/// A rate was asked for and the counts below it were drawn; a median was taken for the name of a group.
#[test]
fn what_was_asked_for_is_large_and_the_rest_is_small() {
    let columns = vec![
        texts("clinic", named("c", 5)),
        numbers("n", AMOUNT, (0..5).map(f64::from)),
        numbers("rate", ColumnRole::Derived, (0..5).map(f64::from)),
        sure(numbers("typical", ColumnRole::Quantile { of: "cost".to_string(), share: 0.5 }, (0..5).map(f64::from))),
        GivenColumn("note", None, texts("note", named("x", 5)).2),
    ];
    assert_eq!(
        lines(columns),
        [
            "LARGE Dots 5 series 1 apart 0: rate (visits)",
            "Bars 5 series 1 apart 0: Number of visits",
            "Dots 5 series 1 apart 0: typical (€)"
        ]
    );
    // How many live in a city is known, and makes no groups.
    let residents = numbers("residents", KEY, [10.0, 20.0, 30.0, 40.0]);
    let columns = vec![texts("city", named("c", 4)), sure(residents), numbers("n", AMOUNT, [1.0, 2.0, 3.0, 4.0])];
    assert_eq!(lines(columns), ["LARGE Bars 4 series 1 apart 0: Number of visits"]);
    // Numbers of one row, where they have one unit.
    let row = || vec![numbers("a", AMOUNT, [1.0]), numbers("b", AMOUNT, [2.0])];
    assert_eq!(lines(row()), ["LARGE Dots 2 series 1 apart 0: a, b"]);
    let other = numbers("m", ColumnRole::Level { of: Some("cost".into()) }, [2.0]);
    assert_eq!(lines(vec![numbers("a", AMOUNT, [1.0]), other]), ["none"]);
}

#[test]
fn three_keys_are_a_coloured_table_and_more_are_combinations() {
    let all = (0..4).flat_map(|a| (0..5).flat_map(move |b| (0..3).map(move |c| (a, b, c))));
    let all: Vec<(i32, i32, i32)> = all.collect();
    let key =
        |name, of: fn(&(i32, i32, i32)) -> i32| texts(name, all.iter().map(move |one| format!("{name}{}", of(one))));
    let counts = || numbers("n", AMOUNT, (0..60).map(f64::from));
    let three = vec![key("a", |one| one.0), key("b", |one| one.1), key("c", |one| one.2), counts()];
    assert_eq!(lines(three), ["LARGE heat 20x3 totals (0, 0): Number of visits"]);
    let keys = [key("a", |one| one.0), key("b", |one| one.1), key("c", |one| one.2), key("d", |one| one.0)];
    let four = keys.into_iter().chain([counts()]).collect();
    assert_eq!(
        lines(four),
        [
            "LARGE Bars 30 series 1 apart 0: Number of visits",
            "The 30 groups with the largest Number of visits are drawn; 30 others are in the table."
        ]
    );
}

/// Answers that say nothing of roles: what stands before the first noisy column is a key.
#[test]
fn kinds_without_roles_are_drawn_as_before() {
    let columns = vec![texts("sex", named("s", 3)), numbers("count", AMOUNT, [1.0, 2.0, 3.0])];
    let mut answers = answers(columns);
    answers.details.roles.clear();
    assert_eq!(shown(&drawn(&answers, 3).unwrap().big.unwrap()), "Bars 3 series 1 apart 0: count (visits)");
    let [low, high] = [0.5, 1.5].map(|factor| [1.0, 2.0, 3.0].map(|number| number * factor));
    answers.columns[1].uncertainty = None;
    answers.columns.extend([sure(numbers("low", KEY, low)).2, sure(numbers("high", KEY, high)).2]);
    answers.details.drawn = Some(IntervalChart {
        label: "sex".to_string(),
        column: "count".to_string(),
        ends: Some(["low".to_string(), "high".to_string()]),
        title: "t".to_string(),
    });
    let plate = drawn(&answers, 3).unwrap();
    let Some(PanelForm::Categories(panel)) = plate.big.as_ref().map(|panel| &panel.form) else { panic!() };
    assert_eq!(panel.rows[2].numbers[0].unwrap().ends, Some((1.5, 4.5)));
}

/// The intervals as the specification holds them, by the names of their groups.
fn intervals(spec: &Value) -> Vec<(String, f64, f64)> {
    let values = spec["vconcat"][0]["data"]["values"].as_array().unwrap();
    let end = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    values.iter().map(|one| (one["group"].to_string(), end(one, "low"), end(one, "high"))).collect()
}

#[test]
fn the_vega_lite_specification_holds_the_intervals() {
    let columns = || vec![texts("clinic", named("c", 2)), numbers("n", AMOUNT, [10.0, 20.0])];
    let plate = drawn(&answers(columns()), 2).unwrap();
    let spec: Value = serde_json::from_str(&plate.vega().to_string()).unwrap();
    assert_eq!(intervals(&spec), [("\"c0\"".to_string(), 5.0, 15.0), ("\"c1\"".to_string(), 15.0, 25.0)]);
    assert_eq!(spec["title"]["text"], "Visits");
    assert_eq!(spec["vconcat"][0]["encoding"]["y"]["title"], "Clinic");
    // An end that is not known is nothing, and JSON has no infinity.
    let mut open = answers(columns());
    open.columns[1].uncertainty.as_mut().unwrap()[0].high = f64::INFINITY;
    let spec = drawn(&open, 2).unwrap().vega();
    assert_eq!(spec["vconcat"][0]["data"]["values"][0]["high"], Value::Null);
    for columns in [
        vec![texts("month", dates(5)), numbers("n", AMOUNT, (0..5).map(f64::from))],
        vec![texts("a", pairs(9, 9).0), texts("b", pairs(9, 9).1), numbers("n", AMOUNT, (0..81).map(f64::from))],
    ] {
        let spec = drawn(&answers(columns), 5).unwrap().vega();
        let first = &spec["vconcat"][0]["data"]["values"][1];
        assert_eq!((first["low"].as_f64(), first["high"].as_f64()), (Some(-4.0), Some(6.0)), "{spec:#}");
    }
    let points = vec![(1.0, 9.0, 8.0, 10.0), (2.0, 0.0, 0.0, 1.0)];
    let [title, x, y, promise] = ["t", "x", "y", "p"].map(str::to_string);
    let curve = Plate::of_curve(&BandedCurve { title, x, y, promise, points });
    assert_eq!(curve.vega()["vconcat"][0]["data"]["values"].as_array().unwrap().len(), 1, "no zero on a logarithm");
}

#[test]
fn a_gap_in_time_breaks_the_line() {
    let days = ["2013-01-01", "2013-01-02", "2013-01-03", "2013-01-20", "2013-01-21"].map(str::to_string);
    let answers = answers(vec![texts("day", days), numbers("n", AMOUNT, (0..5).map(f64::from))]);
    let plate = drawn(&answers, 5).unwrap();
    let Some(PanelForm::Lines(panel)) = plate.big.as_ref().map(|panel| &panel.form) else { panic!() };
    let gaps: Vec<bool> = panel.series[0].points.iter().map(|point| point.1.is_none()).collect();
    assert_eq!(gaps, [false, false, false, true, false, false]);
}

#[test]
fn words_come_from_the_project_file_or_from_names() {
    let project = project();
    let words = ChartWords::new(&project, "r", &json!({ "tables": ["t"] }));
    assert_eq!(words.label("n"), "Number of visits");
    assert_eq!((words.label("clinic"), words.label("other")), ("Clinic".to_string(), "other".to_string()));
    assert_eq!((words.unit(Some("cost")).as_deref(), words.unit(None).as_deref()), (Some("€"), Some("visits")));
    let other = ChartWords::new(&project, "another", &json!({ "table": "t" }));
    assert_eq!((other.title.as_str(), other.label("n"), other.unit(None)), ("another", "n".to_string(), None));
}
