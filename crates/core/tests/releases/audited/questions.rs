//! Questions one after the other, and a small table that is drawn.

use super::Audit;
use scumble::mechanism::selection::ScoreChange;
use scumble::mechanism::sparse_vector::SparseVector;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Beta, Epsilon};
use scumble::workload::interactive::{InteractivePlan, Reply};
use scumble::workload::small_table::SmallTable;
use scumble::{AttributeSet, Scope, Target};

/// Questions before the one that tells: with five the loss is within 2% of what is charged.
const BEFORE: usize = 5;

/// Five scores just below the threshold and then one at it. On the neighbour the five are nearer and, where scores may
/// move both ways, the last is further: that exactly the last is the first to reach it is less likely by nearly all of
/// ε₁ + ε₂. One question alone tells nothing like it: its noise is on the threshold and on the score.
pub fn sparse_vector() {
    for (change, (first, each), seed) in
        [(ScoreChange::General, (0.8, 2.0), 1600), (ScoreChange::Monotone, (1.0, 1.0), 1602)]
    {
        let test = SparseVector::within_parts(
            Target::pure(Epsilon::new(first).unwrap()),
            Target::pure(Epsilon::new(each).unwrap()),
            Scope::Presence,
            change,
        )
        .unwrap();
        let scores = |moved: bool| {
            let last = if moved && change == ScoreChange::General { 99 } else { 100 };
            [vec![if moved { 100 } else { 99 }; BEFORE], vec![last]].concat()
        };
        let (here, there) = (scores(false), scores(true));
        let audit = |what: &str| {
            let events = test.events(&AttributeSet::empty()).unwrap();
            Audit::of(format!("{what}, {change:?}"), &events, &Scope::Presence).runs(200_000)
        };
        let is_last = |found: Option<usize>| f64::from(u8::from(found == Some(BEFORE)));
        audit("sparse vector")
            .tells(seed, |moved, bits| is_last(test.release(if moved { &there } else { &here }, 100, bits)));
        // Question by question, as somebody asks who sees the answers.
        audit("sparse vector, one by one").tells(seed + 1, |moved, bits| {
            let mut round = test.open(bits);
            for (index, score) in (if moved { &there } else { &here }).iter().enumerate() {
                match test.ask(round, *score, 100, bits) {
                    Some(open) => round = open,
                    None => return is_last(Some(index)),
                }
            }
            is_last(None)
        });
    }
}

/// The same, and the last one is measured: a count that differs by one is in what is published as well.
pub fn interactive() {
    let plan = InteractivePlan::within(
        Target::pure(Epsilon::new(4.0).unwrap()),
        Scope::Presence,
        4,
        1000,
        10,
        1,
        Beta::new(0.05).unwrap(),
    )
    .unwrap();
    let threshold = plan.promise().threshold;
    let events = plan.events_of_round(&AttributeSet::empty()).unwrap();
    let tested = plan.promise().epsilon_threshold.get() + plan.promise().epsilon_question.get();
    let asked = |moved: bool, bits: &mut InsecureSeededSource| -> Option<i64> {
        let mut round = plan.open(bits);
        for question in 0..=BEFORE {
            let count = match (question == BEFORE, moved) {
                (true, true) | (false, false) => threshold - 1,
                _ => threshold,
            };
            match plan.ask(round, count, 0, bits) {
                Reply::Model(open) => round = open,
                Reply::Measured(noisy) => return (question == BEFORE).then_some(noisy),
            }
        }
        None
    };
    Audit::of("questions one after the other", &events, &Scope::Presence).runs(400_000).tells(1610, |moved, bits| {
        let centre = threshold as i64;
        asked(moved, bits).map_or(0.0, |noisy| {
            // ln of how much likelier this is on the table than on its neighbour.
            tested
                + plan.promise().epsilon_answer.get() * ((noisy - (centre - 1)).abs() - (noisy - centre).abs()) as f64
        })
    });
}

/// One owner of one kind or of the other, and tables of one row: each is likelier by e^{ε/2} where the owner is of its
/// kind.
pub fn small_table() {
    let table =
        SmallTable::within(Target::pure(Epsilon::new(1.5).unwrap()), Scope::Presence, &[vec![true, false]], 1).unwrap();
    let events = table.events(&AttributeSet::empty()).unwrap();
    Audit::of("a small table", &events, &Scope::Person).tells(1620, |moved, bits| {
        let counts: &[u64] = if moved { &[1, 0] } else { &[0, 1] };
        f64::from(table.release(counts, 1, bits).unwrap()[0])
    });
}
