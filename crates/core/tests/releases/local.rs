//! The local model: reports against the probabilities that their events name.

use scumble::AttributeSet;
use scumble::event::{Event, Word};
use scumble::noise::InsecureSeededSource;
use scumble::parties::local::mean::{Mean, UNIT};
use scumble::parties::local::{AbsentOwners, Coin, FrequencyOracle, Report, ReportKind};
use scumble::quantity::Epsilon;
use scumble_testing::laws::{DRAWS, SLIP, outcomes};
use std::collections::BTreeMap;

/// The attribute that a report is about.
fn value() -> AttributeSet {
    AttributeSet::new(["value"]).unwrap()
}

fn coin(chance: f64) -> BTreeMap<bool, f64> {
    BTreeMap::from([(true, chance), (false, 1.0 - chance)])
}

/// e^ε/(1+e^ε) with the ε of the event, perhaps slipped.
fn truth(event: &Event, slip: f64) -> f64 {
    let epsilon = match event.word() {
        Word::RandomizedResponse { epsilon, .. } => epsilon.get(),
        Word::Pair(pair) => (pair.p()[0] / pair.p()[1]).abs().ln(),
        other => panic!("{other:?}"),
    };
    1.0 / (1.0 + (-epsilon / slip).exp())
}

fn oracle(kind: ReportKind) -> (FrequencyOracle, Event) {
    let oracle = FrequencyOracle::new(kind, Epsilon::new(1.1).unwrap(), 5).unwrap();
    let event = oracle.events(&value(), AbsentOwners::Silent).unwrap().remove(1);
    (oracle, event)
}

/// Whether a report supports a value.
fn supports(report: &Report, value: u64) -> bool {
    match report {
        Report::Value(answer) => *answer == value,
        Report::Ones { words, .. } => words[0] >> value & 1 == 1,
        Report::Row(row) => (row & (value + 1)).count_ones().is_multiple_of(2),
    }
}

pub fn report() {
    let mut bits = InsecureSeededSource::new(200);
    for (kind, value) in
        [(ReportKind::KAry, 3), (ReportKind::Unary, 3), (ReportKind::Unary, 1), (ReportKind::Hadamard, 3)]
    {
        let (oracle, event) = oracle(kind);
        let law = |slip: f64| {
            let truth = truth(&event, slip);
            coin(match (kind, value) {
                (ReportKind::KAry, _) => truth / (truth + 4.0 * (1.0 - truth)),
                (ReportKind::Unary, 1) => 1.0 - truth, // a value that the owner does not hold
                (ReportKind::Unary, _) => 0.5,
                _ => truth,
            })
        };
        let drawn: Vec<bool> = (0..DRAWS).map(|_| supports(&oracle.report(3, &mut bits).unwrap(), value)).collect();
        // The own bit is a fair coin, whatever ε is.
        let slipped = if (kind, value) == (ReportKind::Unary, 3) { coin(0.5 * SLIP) } else { law(SLIP) };
        outcomes(&format!("report {}", kind.name()), drawn, &law(1.0), &slipped);
    }
}

pub fn absent() {
    let mut bits = InsecureSeededSource::new(201);
    for kind in ReportKind::ALL {
        let (oracle, event) = oracle(kind);
        let law = |slip: f64| {
            coin(match kind {
                ReportKind::Unary => 1.0 - truth(&event, slip),
                ReportKind::Hadamard => 0.5 * slip,
                _ => 0.2 * slip,
            })
        };
        let drawn: Vec<bool> = (0..DRAWS).map(|_| supports(&oracle.absent(&mut bits), 2)).collect();
        outcomes(&format!("absent {}", kind.name()), drawn, &law(1.0), &law(SLIP));
    }
}

pub fn mean() {
    let mean = Mean::new(Epsilon::new(1.1).unwrap()).unwrap();
    let event = mean.events(&value()).unwrap().remove(1);
    let mut bits = InsecureSeededSource::new(202);
    for number in [UNIT, UNIT / 16] {
        let law = |slip: f64| {
            let (truth, f) = (truth(&event, slip), f64::from(number) / f64::from(UNIT));
            coin(f * truth + (1.0 - f) * (1.0 - truth))
        };
        let drawn: Vec<bool> = (0..DRAWS).map(|_| mean.report(number, &mut bits).unwrap()).collect();
        outcomes("mean", drawn, &law(1.0), &law(0.8));
    }
}

pub fn lies() {
    let lies = Coin::new(Epsilon::new(1.1).unwrap()).unwrap();
    let law = |slip: f64| coin(1.0 / (1.0 + (1.1f64 / slip).exp()));
    let mut bits = InsecureSeededSource::new(203);
    let drawn: Vec<bool> = (0..DRAWS).map(|_| lies.is_lie(&mut bits)).collect();
    outcomes("lies", drawn, &law(1.0), &law(SLIP));
}
