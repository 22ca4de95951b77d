//! Many queries at once: what comes out against the ρ of the events.

use scumble::event::{Event, Word};
use scumble::loss::filter::Odometer;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Exact, Rho, Sigma};
use scumble::scope::{AttributeSet, Scope};
use scumble::workload::conjunctions::{self, BitLayout, Measure, Polynomial};
use scumble::workload::mwem::{Mwem, QueryFamilies};
use scumble::workload::planner::{self, RhoLimits};
use scumble::workload::projection::Projection;
use scumble::workload::psd::ColumnPairs;
use scumble::workload::{Bits, Domain, Predicate, Queries, Subset, wide};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, concentrated_cost, noise, outcomes, proportional};
use std::collections::{BTreeMap, BTreeSet};

pub fn rho_of(events: &[Event], scope: &Scope) -> f64 {
    Odometer::of(events, scope).unwrap().rho(&Exact::zero()).unwrap().to_f64()
}

pub fn names() -> Vec<String> {
    vec!["a".to_string(), "b".to_string()]
}

fn presence(rho: f64) -> RhoLimits {
    RhoLimits { presence: Some(Rho::new(rho).unwrap()), ..RhoLimits::default() }
}

/// ρ for a change of any one of these attributes.
pub fn of_each(attributes: usize, rho: f64) -> RhoLimits {
    RhoLimits { attributes: vec![Some(Rho::new(rho).unwrap()); attributes], ..RhoLimits::default() }
}

/// σ×0.95 in the release passed all tests: nobody had compared the noise that is drawn with the events. Here their ρ is
/// compared with ½·mᵀΣ⁻¹m for every move m of the whole table, where Σ is the covariance of what `release` gives: in
/// each scope, for each pair of cells.
pub fn residual() {
    let plan = planner::residual(&Domain::new(vec![3, 2]).unwrap(), 2, &presence(0.004)).unwrap();
    let mut bits = InsecureSeededSource::new(90);
    let estimate = || plan.release(&PEOPLE, &mut bits).unwrap().marginal(Subset::of(&[0, 1])).unwrap();
    residuals_cost("residual", &plan.events(&names()).unwrap(), estimate);
}

/// The same release without the product of all columns.
pub fn wide_marginals() {
    let limits = presence(0.004);
    let plan = wide::marginals::MarginalPlan::within(&limits, &[3, 2], 2).unwrap();
    let person = |cell: usize| std::iter::repeat_n(cell as u32, PEOPLE[cell] as usize);
    let cells: Vec<u32> = (0..6).flat_map(person).collect();
    let columns = vec![cells.iter().map(|cell| cell / 2).collect(), cells.iter().map(|cell| cell % 2).collect()];
    let records = wide::Records::new(vec![3, 2], columns).unwrap();
    let mut bits = InsecureSeededSource::new(91);
    let estimate = || plan.release(&records, &mut bits).unwrap().marginal(&[0, 1]).unwrap();
    residuals_cost("wide marginals", &plan.events(&names()).unwrap(), estimate);
}

/// Of one column, rows are its noisy counts: their variance says what they cost.
pub fn wide_rows() {
    let limits = presence(0.004);
    let plan = wide::synthetic::SyntheticPlan::within(&limits, &[3]).unwrap();
    let counts = [500usize, 700, 900];
    let values: Vec<u32> = (0..3).flat_map(|value| std::iter::repeat_n(value, counts[value as usize])).collect();
    let records = wide::Records::new(vec![3], vec![values]).unwrap();
    let mut bits = InsecureSeededSource::new(92);
    let (draws, mut sum) = (DRAWS / 6, 0.0);
    for _ in 0..draws {
        let made = plan.release(&records, 100_000, &mut bits).unwrap();
        for (value, exact) in counts.iter().enumerate() {
            let found = made.columns[0].iter().filter(|&&own| own as usize == value).count();
            sum += (found as f64 - *exact as f64).powi(2);
        }
    }
    let variance = sum / (3 * draws) as f64;
    let events = plan.events(&names()[..1]).unwrap();
    concentrated_cost("wide rows, presence", 0.5 / variance, rho_of(&events, &Scope::Presence), 3 * draws);
    concentrated_cost("wide rows, a person", 1.0 / variance, rho_of(&events, &Scope::Person), 3 * draws);
    let attribute = Scope::Attributes(AttributeSet::new(["a"]).unwrap());
    concentrated_cost("wide rows, an attribute", 1.0 / variance, rho_of(&events, &attribute), 3 * draws);
}

const PEOPLE: [u64; 6] = [50, 0, 7, 9, 100, 3];

/// What the covariance of unbiased tables of three by two cells costs, against what is charged.
fn residuals_cost(name: &str, events: &[Event], mut estimate: impl FnMut() -> Vec<f64>) {
    let (domain, counts) = (Domain::new(vec![3, 2]).unwrap(), PEOPLE);
    let (draws, mut sums) = (DRAWS / 2, [[0.0f64; 6]; 6]);
    for _ in 0..draws {
        let estimate = estimate();
        let off: Vec<f64> = estimate.iter().zip(&counts).map(|(cell, count)| cell - *count as f64).collect();
        for (row, left) in sums.iter_mut().zip(&off) {
            row.iter_mut().zip(&off).for_each(|(sum, right)| *sum += left * right);
        }
    }
    let covariance = sums.map(|row| row.map(|sum| sum / draws as f64));
    let claim = |scope: &Scope| rho_of(events, scope);
    let cost = |plus: usize, minus: Option<usize>| {
        let mut moved = [0.0; 6];
        moved[plus] = 1.0;
        minus.into_iter().for_each(|cell| moved[cell] = -1.0);
        0.5 * moved.iter().zip(solved(covariance, moved)).map(|(m, x)| m * x).sum::<f64>()
    };
    let degrees = draws - 5;
    let attribute = |name: &str| Scope::Attributes(AttributeSet::new([name]).unwrap());
    let mut worst = BTreeMap::new();
    for cell in 0..6 {
        concentrated_cost(&format!("{name}, cell {cell}"), cost(cell, None), claim(&Scope::Presence), degrees);
        for other in cell + 1..6 {
            let (here, there) = (domain.values(cell), domain.values(other));
            let changed: Vec<&str> = (0..2).filter(|j| here[*j] != there[*j]).map(|j| ["a", "b"][j]).collect();
            let found = cost(cell, Some(other));
            let held = worst.entry(changed.clone()).or_insert(0.0f64);
            *held = held.max(found);
            if let [own] = changed[..] {
                concentrated_cost(&format!("{name}, {own} changes"), found, claim(&attribute(own)), degrees);
            }
        }
    }
    let person = worst.values().copied().fold(0.0, f64::max);
    concentrated_cost(&format!("{name}, a person"), person, claim(&Scope::Person), degrees);
}

/// The x with matrix·x = right, by elimination.
pub fn solved(mut matrix: [[f64; 6]; 6], mut right: [f64; 6]) -> [f64; 6] {
    for pivot in 0..6 {
        for row in (0..6).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let subtracted = matrix[pivot];
            matrix[row].iter_mut().zip(subtracted).for_each(|(cell, other)| *cell -= factor * other);
            right[row] -= factor * right[pivot];
        }
    }
    std::array::from_fn(|row| right[row] / matrix[row][row])
}

/// One query far from its ends: what is projected is the noisy answer itself.
pub fn projection() {
    let domain = Domain::new(vec![2]).unwrap();
    let queries = Queries::new(&domain, vec![Predicate::conjunction(&domain, &[(0, 1)]).unwrap()]).unwrap();
    let projection = Projection::new(queries, Sigma::new(6.0).unwrap());
    let event = projection.events(&["a".to_string()]).unwrap().remove(0);
    let mut bits = InsecureSeededSource::new(91);
    let mut release = || projection.release(&[1400, 1600], 3000, &mut bits).unwrap();
    let drawn: Vec<i64> = (0..DRAWS).map(|_| (release().answers[0] - 1600.0).round() as i64).collect();
    noise(
        "projection",
        &drawn,
        &IntegerDistribution::of_event(&event, 1.0),
        &IntegerDistribution::of_event(&event, SLIP),
    );
}

/// Half of ρ is for measuring: one query that half of the people say 1 to, measured once. The fitted share rises with
/// the noisy count, so that the shares in their order are the counts; the one that changes nothing is the exact one.
pub fn mwem_measures() {
    let domain = Domain::new(vec![2]).unwrap();
    let queries = Queries::new(&domain, vec![Predicate::conjunction(&domain, &[(0, 1)]).unwrap()]).unwrap();
    let mwem = Mwem::within(&of_each(1, 0.04), queries, 1, 1, QueryFamilies::Blocks).unwrap();
    let events = mwem.events(&["a".to_string()]).unwrap();
    let sigma = (1.0 / rho_of(&events, &Scope::Person)).sqrt();
    let mut bits = InsecureSeededSource::new(92);
    let shares: Vec<f64> = (0..DRAWS / 2).map(|_| mwem.release(&[500, 500], 1000, &mut bits).unwrap()[1]).collect();
    let in_order: BTreeSet<u64> = shares.iter().map(|share| share.to_bits()).collect();
    let place: BTreeMap<u64, i64> = in_order.into_iter().zip(0..).collect();
    let unchanged = place.iter().find(|(share, _)| (f64::from_bits(**share) - 500.0).abs() < 1e-9).unwrap();
    let drawn: Vec<i64> = shares.iter().map(|share| place[&share.to_bits()] - unchanged.1).collect();
    noise(
        "mwem measures",
        &drawn,
        &IntegerDistribution::discrete_gaussian(sigma),
        &IntegerDistribution::discrete_gaussian(sigma * SLIP),
    );
}

/// Half of ρ is for picking, c²/2: of two queries that are off by 500 and 492, the odds are e^{8c}.
pub fn mwem_picks() {
    let domain = Domain::new(vec![2, 2]).unwrap();
    let query = |attribute| Predicate::conjunction(&domain, &[(attribute, 1)]).unwrap();
    for (families, seed) in [(QueryFamilies::Blocks, 93), (QueryFamilies::Joint, 94)] {
        let queries = Queries::new(&domain, vec![query(0), query(1)]).unwrap();
        let mwem = Mwem::within(&of_each(2, 0.09), queries, 1, 1, families).unwrap();
        let events = mwem.events(&names()).unwrap();
        let one = Scope::Attributes(AttributeSet::new(["a"]).unwrap());
        assert!((rho_of(&events, &one) / rho_of(&events, &Scope::Person) - 1.0).abs() < 1e-9, "one query per round");
        let law = |rho: f64| proportional([(0, (8.0 * rho.sqrt()).exp()), (1, 1.0)]);
        let claimed = rho_of(&events, &one);
        let mut bits = InsecureSeededSource::new(seed);
        let mut picked = || {
            let model = mwem.release(&[992, 8, 0, 0], 1000, &mut bits).unwrap();
            // The query that was measured has moved the share of its attribute.
            usize::from((model[2] + model[3] - 500.0).abs() < 1e-6)
        };
        let drawn: Vec<usize> = (0..DRAWS * 5 / 8).map(|_| picked()).collect();
        outcomes("mwem picks", drawn, &law(claimed), &law(claimed / (SLIP * SLIP)));
    }
}

/// The events of the number of people and of a projection say what is drawn, also where there are several answers.
pub fn projection_events_name_their_noise() {
    let domain = Domain::new(vec![3, 2]).unwrap();
    let projection = Projection::new(Queries::marginals(&domain, 2).unwrap(), Sigma::new(3.0).unwrap());
    for event in projection.events(&names()).unwrap() {
        assert_eq!(*event.word(), Word::DiscreteGaussian { sigma: projection.sigma() });
    }
}

/// Columns of nobody: what is released is the noise.
fn nobody(columns: usize) -> (Bits, Vec<String>) {
    (Bits::new(&vec![Vec::new(); columns]).unwrap(), (0..columns).map(|column| format!("a{column}")).collect())
}

/// The event of the noise on parities or counts of `size` columns, which moves this many of them when somebody comes.
fn event_of(events: &[Event], cells: u64) -> &Event {
    events.iter().find(|event| event.moves().parts().0.first().is_some_and(|shift| shift.cells == cells)).unwrap()
}

/// The numbers of each size have the noise of their own event.
pub fn conjunctions() {
    let (bits, names) = nobody(100);
    let limits = RhoLimits { presence: Some(Rho::new(0.5).unwrap()), ..RhoLimits::default() };
    for (measure, seed) in [(Measure::Parities, 95), (Measure::Counts, 96)] {
        let plan = conjunctions::ConjunctionPlan::within(
            &limits,
            &BitLayout::plain(100).unwrap(),
            Polynomial::exact(2).unwrap(),
            measure,
        );
        let plan = plan.unwrap();
        let events = plan.events(&names).unwrap();
        let mut source = InsecureSeededSource::new(seed);
        let mut drawn = vec![Vec::new(); 3];
        while drawn[1].len() < DRAWS / 4 {
            let released = plan.release(&bits, &mut source).unwrap();
            let few = drawn.iter_mut().zip(released.numbers()).filter(|(all, _)| all.len() < DRAWS / 4);
            few.for_each(|(all, numbers)| all.extend_from_slice(numbers));
        }
        for (size, cells) in [(1, 100), (2, 4950)] {
            let event = event_of(&events, cells);
            let few = &drawn[size][..DRAWS / 4];
            noise(
                "conjunctions",
                few,
                &IntegerDistribution::of_event(event, 1.0),
                &IntegerDistribution::of_event(event, SLIP),
            );
        }
    }
}

/// The sums of single columns and of pairs have the noise of their own events: a table of one has half of it, one of
/// two a quarter of all.
pub fn pairs() {
    let (bits, names) = nobody(40);
    let limits = RhoLimits { presence: Some(Rho::new(0.5).unwrap()), public_people: Some(0), ..RhoLimits::default() };
    let pairs = ColumnPairs::within(&limits, 40).unwrap();
    let events = pairs.events(&names).unwrap();
    let mut source = InsecureSeededSource::new(97);
    let (mut singles, mut both) = (Vec::new(), Vec::new());
    while singles.len() < DRAWS / 4 {
        let measured = pairs.release(&bits, &mut source).unwrap();
        singles.extend((0..40).map(|column| (2.0 * measured.one((column, false))) as i64));
        // Of the four cells of a table the two on the diagonal have the product, and not the sums: half of it each.
        let product = |left: usize, right: usize| {
            let [none, all] = [false, true].map(|value| measured.both((left, value), (right, value)));
            (2.0 * (none + all)) as i64
        };
        both.extend(
            (1..40)
                .flat_map(|right| (0..right).map(move |left| (left, right)))
                .map(|(left, right)| product(left, right)),
        );
    }
    for (what, drawn, cells) in [("single columns", &singles, 40), ("pairs", &both, 780)] {
        let event = event_of(&events, cells);
        noise(
            what,
            &drawn[..DRAWS / 4],
            &IntegerDistribution::of_event(event, 1.0),
            &IntegerDistribution::of_event(event, SLIP),
        );
    }
}
