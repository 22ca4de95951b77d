//! Many queries at once. Their events say a ρ, from which a curve of δ follows that no noise attains; what is audited
//! with σ·1.2 is the curve of the Gaussian noise that has this ρ.

use super::{Audit, claim_of};
use crate::workloads::{names, rho_of, solved};
use scumble::event::Event;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Rho, Sigma};
use scumble::scope::{AttributeSet, Scope};
use scumble::workload::conjunctions::{self, BitLayout, Measure, Polynomial};
use scumble::workload::mwem::{Mwem, QueryFamilies};
use scumble::workload::planner::{self, RhoLimits};
use scumble::workload::projection::Projection;
use scumble::workload::psd::ColumnPairs;
use scumble::workload::{Bits, Domain, Predicate, Queries, Subset, wide};
use scumble_adversary::audit::Claim;

/// Gaussian noise whose ρ is that of the events, its σ larger by a factor.
fn gaussian(what: &str, events: &[Event], scope: &Scope, factor: f64) -> Audit {
    let mu = (2.0 * rho_of(events, scope)).sqrt() / factor;
    Audit::claiming(what, claim_of(events, scope), Claim::Gaussian { mu })
}

/// One more in a cell: the estimates of the whole table, each with the weight that tells the two apart best.
pub fn residual() {
    let domain = Domain::new(vec![3, 2]).unwrap();
    let plan = planner::residual(&domain, 2, &presence(0.4)).unwrap();
    let (events, table) = (plan.events(&names()).unwrap(), Subset::of(&[0, 1]));
    tables("residual", &events, 1400, |counts, bits| plan.release(counts, bits).unwrap().marginal(table).unwrap());
}

/// The same from records.
pub fn wide_marginals() {
    let plan = wide::marginals::MarginalPlan::within(&presence(0.4), &[3, 2], 2).unwrap();
    let records = |counts: &[u64; 6]| {
        let person = |cell: usize| std::iter::repeat_n(cell as u32, counts[cell] as usize);
        let cells: Vec<u32> = (0..6).flat_map(person).collect();
        let columns = vec![cells.iter().map(|cell| cell / 2).collect(), cells.iter().map(|cell| cell % 2).collect()];
        wide::Records::new(vec![3, 2], columns).unwrap()
    };
    // Made once for each of the two tables.
    let known = [records(&PEOPLE), records(&one_more())];
    let events = plan.events(&names()).unwrap();
    tables("wide marginals", &events, 1402, |counts, bits| {
        plan.release(&known[usize::from(*counts != PEOPLE)], bits).unwrap().marginal(&[0, 1]).unwrap()
    });
}

const PEOPLE: [u64; 6] = [50, 0, 7, 9, 100, 3];

fn one_more() -> [u64; 6] {
    let mut counts = PEOPLE;
    counts[2] += 1;
    counts
}

fn presence(rho: f64) -> RhoLimits {
    RhoLimits { presence: Some(Rho::new(rho).unwrap()), ..RhoLimits::default() }
}

fn tables(
    what: &str,
    events: &[Event],
    seed: u64,
    mut released: impl FnMut(&[u64; 6], &mut InsecureSeededSource) -> Vec<f64>,
) {
    let (mut bits, mut covariance) = (InsecureSeededSource::new(seed), [[0.0f64; 6]; 6]);
    for _ in 0..20_000 {
        let off: Vec<f64> =
            released(&PEOPLE, &mut bits).iter().zip(&PEOPLE).map(|(cell, count)| cell - *count as f64).collect();
        for (row, left) in covariance.iter_mut().zip(&off) {
            row.iter_mut().zip(&off).for_each(|(sum, right)| *sum += left * right);
        }
    }
    let weights = solved(covariance, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    gaussian(what, events, &Scope::Presence, 1.2).tells(seed + 1, |moved, bits| {
        let counts = if moved { one_more() } else { PEOPLE };
        released(&counts, bits).iter().zip(weights).map(|(cell, weight)| cell * weight).sum()
    });
}

/// Rows of one column are its noisy counts, one of them larger by one.
pub fn wide_rows() {
    let plan = wide::synthetic::SyntheticPlan::within(&presence(0.8), &[3]).unwrap();
    let records = |more: usize| {
        let values = (0..3u32).flat_map(|value| std::iter::repeat_n(value, 30 + more * usize::from(value == 2)));
        wide::Records::new(vec![3], vec![values.collect()]).unwrap()
    };
    let (here, there) = (records(0), records(1));
    let events = plan.events(&names()[..1]).unwrap();
    gaussian("wide rows", &events, &Scope::Presence, 1.2).runs(25_000).tells(1404, |moved, bits| {
        let made = plan.release(if moved { &there } else { &here }, 10_000, bits).unwrap();
        made.columns[0].iter().filter(|value| **value == 2).count() as f64
    });
}

/// Nobody, and one person of whom nothing is true: four columns.
fn nobody_and_one() -> (Bits, Bits, Vec<String>) {
    let one = Bits::new(&vec![vec![false]; 4]).unwrap();
    (Bits::new(&vec![Vec::new(); 4]).unwrap(), one, (0..4).map(|column| format!("a{column}")).collect())
}

/// Every number with the weight that its own move and noise give it.
pub fn conjunctions() {
    let (nobody, one, names) = nobody_and_one();
    for (measure, seed) in [(Measure::Parities, 1430), (Measure::Counts, 1432)] {
        let shape = BitLayout::plain(4).unwrap();
        let plan =
            conjunctions::ConjunctionPlan::within(&presence(0.4), &shape, Polynomial::exact(2).unwrap(), measure)
                .unwrap();
        let mut bits = InsecureSeededSource::new(seed);
        let mut mean = |columns: &Bits| {
            let mut sums = vec![0.0; plan.numbers() as usize];
            for _ in 0..4_000 {
                let released = plan.release(columns, &mut bits).unwrap();
                sums.iter_mut().zip(released.numbers().concat()).for_each(|(sum, number)| *sum += number as f64 / 4e3);
            }
            sums
        };
        // Noise of a standard deviation of at most 10 has a mean within 1/2 of 0: where a number moves is seen.
        assert!(plan.sigmas().iter().all(|sigma| (1.0..10.0).contains(sigma)), "{:?}", plan.sigmas());
        let moves: Vec<f64> =
            mean(&one).iter().zip(mean(&nobody)).map(|(there, here)| (there - here).round()).collect();
        assert!(moves.iter().sum::<f64>() == 11.0, "people, four columns and six pairs: {moves:?}");
        let weight = |numbers: &[Vec<i64>]| -> f64 {
            let each = numbers
                .iter()
                .zip(plan.sigmas())
                .flat_map(|(of_size, sigma)| of_size.iter().map(move |number| *number as f64 / (sigma * sigma)));
            each.zip(&moves).map(|(number, moved)| number * moved).sum()
        };
        Audit::of(measure.name(), &plan.events(&names).unwrap(), &Scope::Presence).tells(seed + 1, |moved, bits| {
            weight(plan.release(if moved { &one } else { &nobody }, bits).unwrap().numbers())
        });
    }
}

/// The same for the sums of columns and of pairs.
pub fn pairs() {
    let (nobody, one, names) = nobody_and_one();
    let pairs = ColumnPairs::within(&presence(0.4), 4).unwrap();
    let (people, single, pair) = pairs.noise();
    let precision = |sigma: Sigma| 1.0 / sigma.get().powi(2);
    let (people, single, pair) = (precision(people.sigma().unwrap()), precision(single), precision(pair));
    Audit::of("pairs", &pairs.events(&names).unwrap(), &Scope::Presence).tells(1440, |moved, bits| {
        let measured = pairs.release(if moved { &one } else { &nobody }, bits).unwrap();
        let number = measured.people() as f64;
        let of_column = |column: usize| 2.0 * measured.one((column, false)) - number;
        let of_pair = |left: usize, right: usize| {
            let [none, all] = [false, true].map(|value| measured.both((left, value), (right, value)));
            2.0 * (none + all) - number
        };
        let products = (1..4).flat_map(|right| (0..right).map(move |left| (left, right)));
        people * number
            + single * (0..4).map(of_column).sum::<f64>()
            + pair * products.map(|(left, right)| of_pair(left, right)).sum::<f64>()
    });
}

fn attribute() -> Scope {
    Scope::Attributes(AttributeSet::new(["a"]).unwrap())
}

fn one_query() -> (Domain, Queries) {
    let domain = Domain::new(vec![2]).unwrap();
    let query = Predicate::conjunction(&domain, &[(0, 1)]).unwrap();
    let queries = Queries::new(&domain, vec![query]).unwrap();
    (domain, queries)
}

pub fn projection() {
    let projection = Projection::new(one_query().1, Sigma::new(1.3).unwrap());
    let events = projection.events(&["a".to_string()]).unwrap();
    Audit::of("projection", &events, &attribute()).tells(1410, |moved, bits| {
        let ones = 1600 + u64::from(moved);
        projection.release(&[3000 - ones, ones], 3000, bits).unwrap().answers[0]
    });
}

/// Half of ρ is for picking, and one query leaves nothing to pick: σ looks larger by √2.
pub fn mwem() {
    let limits = RhoLimits { attributes: vec![Some(Rho::new(0.8).unwrap())], ..RhoLimits::default() };
    let mwem = Mwem::within(&limits, one_query().1, 1, 1, QueryFamilies::Blocks).unwrap();
    let events = mwem.events(&["a".to_string()]).unwrap();
    gaussian("mwem", &events, &attribute(), 1.2 * 2f64.sqrt()).runs(40_000).tells(1420, |moved, bits| {
        let ones = 500 + u64::from(moved);
        mwem.release(&[1000 - ones, ones], 1000, bits).unwrap()[1]
    });
}
