use super::report_part::part;
use super::*;
use crate::release::output::{BandedCurve, ColumnKind, ColumnRole};
use scumble::quantity::Sigma;
use scumble_adversary::attacker::{AddedNoise, Ratio, Statistic};
use serde_json::json;

fn column(name: &str, cells: Vec<Cell>, noisy: bool) -> AnswerColumn {
    let one = Uncertainty { standard_error: 0.1, low: f64::NEG_INFINITY, high: 1e300 };
    let uncertainty = noisy.then(|| vec![one; cells.len()]);
    AnswerColumn { name: name.to_string(), cells, uncertainty }
}

/// What is written is read back as it was: columns in their order, infinite ends, curves, limits and what is counted.
#[test]
fn a_release_is_read_back_as_it_was_written() {
    let cells = vec![Cell::Text("z".into()), Cell::Null, Cell::Truth(true)];
    let numbers = vec![Cell::Whole(-7), Cell::Number(12.0), Cell::Number(0.1)];
    // Their kind is read back too: a date is a string in JSON.
    let days = vec![Cell::Null, Cell::Text("2025-12-31".into()), Cell::Null];
    let curve = BandedCurve {
        title: "t".to_string(),
        x: "x".to_string(),
        y: "y".to_string(),
        promise: "p".to_string(),
        points: vec![(1.0, 2.0, 0.5, 3.0)],
    };
    let details = Details {
        curve: Some(curve),
        roles: [
            ("z".to_string(), ColumnRole::Key),
            ("n".to_string(), ColumnRole::Quantile { of: "x".to_string(), share: 0.5 }),
        ]
        .into(),
        facts: [("total".to_string(), json!(3))].into_iter().collect(),
        limits: Vec::new(),
        long: None,
        kinds: [("day".to_string(), ColumnKind::Day)].into(),
        drawn: Some(IntervalChart {
            column: "n".to_string(),
            label: "l".to_string(),
            ends: Some(["z".to_string(), "n".to_string()]),
            title: "p".to_string(),
        }),
    };
    let answers = Answers {
        columns: vec![column("z", cells, false), column("n", numbers, true), column("day", days, false)],
        notes: vec!["a note".to_string()],
        details,
    };
    let limits = vec![Floor {
        column: "n".to_string(),
        error: "standard error".into(),
        expected: 2.0,
        least: 1.0,
        about: "at ε = 1".to_string(),
    }];
    for counted in [
        ReleasedStatistic::Other("why not".into()),
        ReleasedStatistic::Rows { table: "t".to_string(), statistic: Statistic::Count, noise: AddedNoise::None },
        ReleasedStatistic::Rows {
            table: "t".to_string(),
            statistic: Statistic::Histogram(3),
            noise: AddedNoise::Geometric(Ratio::new(0.3).unwrap()),
        },
        ReleasedStatistic::Rows {
            table: "t".to_string(),
            statistic: Statistic::Histogram(3),
            noise: AddedNoise::DiscreteGaussian(Sigma::new(0.1).unwrap()),
        },
    ] {
        let shown = json!({ "answers": answers.json(), "report": part(&answers, &limits, &counted), "kind": "sql" });
        let document: Document = serde_json::from_str(&shown.to_string()).unwrap();
        assert_eq!(document.rows, 3);
        assert_eq!(of_document(&document), Some((answers.clone(), limits.clone(), counted)));
    }
}

/// A JSON file of millions of synthetic rows was held as a whole, twice.
#[test]
fn only_the_first_rows_are_held() {
    let rows: Vec<Value> = (0..MOST_ROWS + 5).map(|row| json!({ "n": row })).collect();
    let document: Document = serde_json::from_str(&json!({ "answers": { "rows": rows } }).to_string()).unwrap();
    assert_eq!((document.first.len(), document.rows), (MOST_ROWS, MOST_ROWS + 5));
}
