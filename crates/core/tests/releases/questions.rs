//! Many questions: which is the first above a threshold, what is measured then, and which small table is drawn.

use scumble::event::Word;
use scumble::mechanism::selection::ScoreChange;
use scumble::mechanism::sparse_vector::SparseVector;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Beta, Epsilon};
use scumble::workload::interactive::{InteractivePlan, Reply};
use scumble::workload::small_table::SmallTable;
use scumble::{AttributeSet, Scope, Target};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, noise as noise_as_said, outcomes, proportional};
use std::collections::BTreeMap;

/// P\[first at or above\], from both noises.
fn first_above(
    threshold: &IntegerDistribution,
    question: &IntegerDistribution,
    distances: &[i64],
) -> BTreeMap<Option<usize>, f64> {
    let mut law = BTreeMap::new();
    for (secret, mass) in threshold.iter() {
        let mut open = mass;
        for (index, distance) in distances.iter().enumerate() {
            let above = question.at_least(distance + secret);
            *law.entry(Some(index)).or_insert(0.0) += open * above;
            open *= 1.0 - above;
        }
        *law.entry(None).or_insert(0.0) += open;
    }
    law
}

/// The event says ε₁ + ε₂; the requested split is ε₁ to ε₂.
pub fn sparse_vector() {
    for (change, gap, seed) in [(ScoreChange::General, 2.0, 240), (ScoreChange::Monotone, 1.0, 241)] {
        let test = SparseVector::within_parts(
            Target::pure(Epsilon::new(0.5).unwrap()),
            Target::pure(Epsilon::new(0.8).unwrap()),
            Scope::Presence,
            change,
        )
        .unwrap();
        let events = test.events(&AttributeSet::empty()).unwrap();
        let Word::Pure { epsilon } = events[0].word() else { panic!("{events:?}") };
        let (first, second) = (epsilon.get() * 0.5 / 1.3, epsilon.get() * 0.8 / 1.3);
        let scores = [3i64, 6, 5];
        // T − u for T = 7; noise that is too small shows in both.
        let law = |factor: f64| {
            first_above(
                &IntegerDistribution::discrete_laplace(factor / first),
                &IntegerDistribution::discrete_laplace(factor * gap / second),
                &[4, 1, 2],
            )
        };
        let mut bits = InsecureSeededSource::new(seed);
        let drawn: Vec<Option<usize>> = (0..4 * DRAWS).map(|_| test.release(&scores, 7, &mut bits)).collect();
        outcomes(&format!("sparse vector, {change:?}"), drawn, &law(1.0), &law(0.9));
        // The secret alone, and one question alone, given the secret.
        let drawn: Vec<i64> = (0..DRAWS).map(|_| test.open(&mut bits).secret() as i64).collect();
        let secret = |factor: f64| IntegerDistribution::discrete_laplace(factor / first);
        noise_as_said("the secret of a threshold", &drawn, &secret(1.0), &secret(SLIP));
        let above = |factor: f64| {
            let yes = IntegerDistribution::discrete_laplace(factor * gap / second).at_least(4);
            BTreeMap::from([(true, yes), (false, 1.0 - yes)])
        };
        let zero = || scumble::mechanism::sparse_vector::ThresholdNoise::resumed(0);
        let drawn = (0..4 * DRAWS).map(|_| test.ask(zero(), 3, 7, &mut bits).is_none());
        outcomes("one question", drawn, &above(1.0), &above(SLIP));
    }
}

/// A question that is far off is measured with the noise of the event; one whose round is open keeps its secret.
pub fn interactive() {
    let plan = InteractivePlan::within(
        Target::pure(Epsilon::new(1.6).unwrap()),
        Scope::Presence,
        16,
        1_000_000,
        10,
        2,
        Beta::new(0.1).unwrap(),
    )
    .unwrap();
    let events = plan.events_of_round(&AttributeSet::empty()).unwrap();
    let mut bits = InsecureSeededSource::new(250);
    let drawn: Vec<i64> = (0..DRAWS)
        .map(|_| {
            let round = plan.open(&mut bits);
            match plan.ask(round, 900_000, 0, &mut bits) {
                Reply::Measured(noisy) => noisy - 900_000,
                Reply::Model(_) => panic!("this is off by far more than the threshold"),
            }
        })
        .collect();
    noise_as_said(
        "a measured answer",
        &drawn,
        &IntegerDistribution::of_event(&events[1], 1.0),
        &IntegerDistribution::of_event(&events[1], SLIP),
    );
    let Word::Pure { epsilon } = events[0].word() else { panic!("{events:?}") };
    let share = 1.0 / (1.0 + 4f64.cbrt());
    let law = |factor: f64| IntegerDistribution::discrete_laplace(factor / (epsilon.get() * share));
    let drawn: Vec<i64> = (0..DRAWS).map(|_| plan.open(&mut bits).secret() as i64).collect();
    noise_as_said("the secret of a round", &drawn, &law(1.0), &law(SLIP));
    // At the threshold itself: which side is a matter of both noises.
    let nu = |factor: f64| IntegerDistribution::discrete_laplace(factor * 2.0 / (epsilon.get() * (1.0 - share)));
    let tested = |factor: f64| first_above(&law(factor), &nu(factor), &[9]);
    let threshold = plan.promise().threshold;
    let drawn = (0..4 * DRAWS).map(|_| {
        let round = plan.open(&mut bits);
        matches!(plan.ask(round, threshold - 9, 0, &mut bits), Reply::Measured(_)).then_some(0)
    });
    outcomes("a test", drawn, &tested(1.0), &tested(SLIP));
}

/// P\[y\] ∝ e^{ε·score/2m}.
pub fn small_table() {
    let conditions = [vec![true, false], vec![false, true]];
    let table = SmallTable::within(Target::pure(Epsilon::new(0.5).unwrap()), Scope::Presence, &conditions, 2).unwrap();
    let events = table.events(&AttributeSet::empty()).unwrap();
    let Word::Exponential { epsilon } = events[0].word() else { panic!("{events:?}") };
    // Of 8 owners, all of the first kind, where 11 are declared: m·c − N·Y is 16 − 11k and −11(2 − k) with k rows of
    // the first kind. Compared with the 8 that are there, the declared number would not be what counts, and an owner
    // who comes would move twice as much.
    let off = |k: i64| (16 - 11 * k).abs().max(11 * (2 - k));
    let law = |epsilon: f64| proportional((0..=2).map(|k| (k, (-epsilon * off(k) as f64 / 4.0).exp())));
    let mut bits = InsecureSeededSource::new(260);
    let drawn = (0..DRAWS).map(|_| {
        let drawn = table.release(&[8, 0], 11, &mut bits).unwrap();
        drawn.iter().filter(|element| **element == 0).count() as i64
    });
    outcomes("a small table", drawn, &law(epsilon.get()), &law(epsilon.get() / 0.88));
}
