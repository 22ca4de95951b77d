//! What the ledger is given about marginals against the exact laws of what is released, in every scope.

use super::super::mwem::{Mwem, QueryFamilies};
use super::super::planner::{self, RhoLimits};
use super::super::projection::Projection;
use super::*;
use crate::event::Event;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
use crate::quantity::Sigma;
use std::cell::RefCell;
use std::collections::BTreeMap;

pub(super) fn names(number: usize) -> Vec<String> {
    (0..number).map(|attribute| format!("a{attribute}")).collect()
}

/// Presence, person and every set of attributes, with all pairs of datasets of up to two people that are neighbours
/// there.
pub(super) fn scopes(domain: &Domain) -> Vec<(Scope, Vec<neighbours::NeighbourPair<Vec<usize>>>)> {
    let universe = neighbours::records(&domain.sizes().iter().map(|&size| size as usize).collect::<Vec<_>>());
    let mut scopes = vec![
        (Scope::Presence, neighbours::presence(&universe, 2)),
        (Scope::Person, [neighbours::person(&universe, 1), neighbours::person(&universe, 2)].concat()),
    ];
    for set in domain.all().subsets().filter(|set| !set.is_empty()) {
        let changing: Vec<usize> = set.iter().collect();
        let named = AttributeSet::new(changing.iter().map(|&j| names(domain.attributes())[j].clone())).unwrap();
        let of = |owners| neighbours::attributes(&universe, owners, &changing);
        scopes.push((Scope::Attributes(named), [of(1), of(2)].concat()));
    }
    scopes
}

fn counts(domain: &Domain, people: &[Vec<usize>]) -> Vec<u64> {
    let columns: Vec<Vec<u32>> = (0..domain.attributes())
        .map(|attribute| people.iter().map(|person| person[attribute] as u32).collect())
        .collect();
    domain.count(&columns).unwrap()
}

/// D_α of discrete Gaussian noise around 0 and around `shift`, in closed form except for two sums:
/// αs²/(2σ²) + ln(Σ e^{−(z−m)²/2σ²} / Σ e^{−z²/2σ²})/(α − 1), m = (1 − α)s.
fn renyi(sigma: f64, shift: i64, order: f64) -> f64 {
    let sum = |middle: f64| {
        let fraction = middle - middle.round();
        let reach = (40.0 * sigma).ceil() as i64;
        (-reach..=reach).map(|z| (-(z as f64 - fraction).powi(2) / (2.0 * sigma * sigma)).exp()).sum::<f64>()
    };
    let shift = shift as f64;
    order * shift * shift / (2.0 * sigma * sigma) + (sum((1.0 - order) * shift) / sum(0.0)).ln() / (order - 1.0)
}

/// Integer tables, each with the σ of its noise.
pub(super) type IntegerTables = Vec<(f64, Vec<i64>)>;

/// The exact Rényi divergence of what is released for two datasets; `known` are the divergences of single cells.
fn divergence(
    left: &IntegerTables,
    right: &IntegerTables,
    order: f64,
    known: &mut BTreeMap<(u64, i64, u64), f64>,
) -> f64 {
    let mut sum = 0.0;
    for ((sigma, left), (_, right)) in left.iter().zip(right) {
        for shift in left.iter().zip(right).map(|(l, r)| l - r).filter(|shift| *shift != 0) {
            let key = (sigma.to_bits(), shift, order.to_bits());
            sum += *known.entry(key).or_insert_with(|| renyi(*sigma, shift, order));
        }
    }
    sum
}

pub(super) fn passes(domain: &Domain, events: &[Event], tables: impl Fn(&[u64]) -> IntegerTables, slack: f64) {
    let mut known = BTreeMap::new();
    for (scope, pairs) in scopes(domain) {
        let claimed = Odometer::of(events, &scope).unwrap().rho(&Exact::zero()).unwrap().to_f64_up();
        for order in [1.5, 2.0, 8.0] {
            let mut worst = 0.0f64;
            for (left, right) in &pairs {
                let (left, right) = (tables(&counts(domain, left)), tables(&counts(domain, right)));
                worst = worst.max(divergence(&left, &right, order, &mut known));
                worst = worst.max(divergence(&right, &left, order, &mut known));
            }
            assert!(worst <= order * claimed * (1.0 + 1e-12), "{scope}: {worst} at order {order}, claimed {claimed}");
            let loose = matches!(&scope, Scope::Attributes(set) if set.len() > 1);
            assert!(loose || order * claimed <= worst * slack, "{scope}: {claimed} is loose, it is {worst} at {order}");
        }
    }
}

#[test]
fn no_neighbours_in_any_scope_are_further_apart_than_the_residual_release_is_charged() {
    for (sizes, order) in [(vec![3, 2, 2], 2), (vec![3, 2, 2], 3), (vec![4, 3], 1)] {
        let domain = Domain::new(sizes).unwrap();
        let public = RhoLimits { presence: Some(rho(0.2)), public_people: Some(2), ..RhoLimits::default() };
        let strict = [0.1, 0.01, 0.3].map(|limit| Some(rho(limit)))[..domain.attributes()].to_vec();
        let granted = RhoLimits { attributes: strict, ..RhoLimits::default() };
        let within = |limits: &RhoLimits| planner::residual(&domain, order, limits);
        let plans = [planner::residual(&domain, order, &presence(0.2)), within(&public), within(&granted)];
        for plan in plans.map(|plan| plan.unwrap()) {
            let tables = |counts: &[u64]| {
                let tables = plan.exact_tables(counts);
                plan.noise().iter().map(|(_, sigma)| sigma.get()).zip(tables).collect()
            };
            passes(&domain, &plan.events(&names(domain.attributes())).unwrap(), tables, 1.0 + 1e-6);
        }
    }
}

#[test]
fn no_neighbours_in_any_scope_are_further_apart_than_the_projection_is_charged() {
    for (sizes, order) in [(vec![3, 2, 2], 2), (vec![2, 2, 2], 1), (vec![4, 3], 2)] {
        let domain = Domain::new(sizes).unwrap();
        let queries = Queries::marginals(&domain, order).unwrap();
        let projection = Projection::new(queries.clone(), Sigma::new(3.0).unwrap());
        let tables = |counts: &[u64]| {
            vec![(3.0, queries.answers(counts).into_iter().map(|answer| answer as i64).collect::<Vec<i64>>())]
        };
        passes(&domain, &projection.events(&names(domain.attributes())).unwrap(), tables, 1.0 + 1e-6);
    }
}

/// Discrete Gaussian noise around a whole number, cut where the tail is below 1e-9.
fn noisy(exact: i64, sigma: f64) -> Distribution<i64> {
    let reach = (6.5 * sigma).ceil() as i64;
    let weight = |z: i64| (-(z * z) as f64 / (2.0 * sigma * sigma)).exp();
    let total: f64 = (-4 * reach..=4 * reach).map(weight).sum();
    let outcomes = (-reach..=reach).map(|z| (exact + z, ProbabilityInterval::near(weight(z) / total, 1e-12)));
    Distribution::new(outcomes, 1e-9)
}

/// The law of several noisy numbers together.
fn law(tables: &IntegerTables) -> Distribution<Vec<i64>> {
    let cells = tables.iter().flat_map(|(sigma, table)| table.iter().map(move |&value| noisy(value, *sigma)));
    let nothing = Distribution::new([(Vec::new(), ProbabilityInterval { lower: 1.0, upper: 1.0 })], 0.0);
    cells.fold(nothing, |so_far, cell| so_far.product(&cell).map(|(list, value)| [&list[..], &[*value]].concat()))
}

pub(super) fn whole_law_passes(domain: &Domain, events: &[Event], tables: impl Fn(&[u64]) -> IntegerTables) {
    let known = RefCell::new(BTreeMap::<Vec<Vec<usize>>, Distribution<Vec<i64>>>::new());
    let law_of = |people: &Vec<Vec<usize>>| {
        let of = || law(&tables(&counts(domain, people)));
        known.borrow_mut().entry(people.clone()).or_insert_with(of).clone()
    };
    for (scope, pairs) in scopes(domain) {
        let mut claim = Claim::of(events, &scope, &[0.5, 1.0, 2.0]);
        let rho = Odometer::of(events, &scope).unwrap().rho(&Exact::zero()).unwrap().to_f64_up();
        claim.renyi = vec![(2.0, 2.0 * rho), (6.0, 6.0 * rho)];
        // One person in the data: noise is added to whatever is there, so that more people bring nothing new.
        let few: Vec<_> = pairs.into_iter().filter(|(left, right)| left.len().max(right.len()) == 1).collect();
        check(&few, law_of, &claim, Slack::ANY);
    }
}

#[test]
fn the_whole_output_of_small_releases_passes_the_harness_in_every_scope() {
    let pairs = Domain::new(vec![2, 2]).unwrap();
    let queries = Queries::marginals(&pairs, 1).unwrap();
    let projection = Projection::new(queries.clone(), Sigma::new(0.9).unwrap());
    whole_law_passes(&pairs, &projection.events(&names(2)).unwrap(), |counts| {
        vec![(0.9, queries.answers(counts).into_iter().map(|answer| answer as i64).collect())]
    });
    let coin = Domain::new(vec![2]).unwrap();
    let plan = planner::residual(&coin, 1, &presence(1.5)).unwrap();
    whole_law_passes(&coin, &plan.events(&names(1)).unwrap(), |counts| {
        plan.noise().iter().map(|(_, sigma)| sigma.get()).zip(plan.exact_tables(counts)).collect()
    });
}

#[test]
fn the_ledger_charges_mwem_and_projection_at_least_what_they_state() {
    let domain = Domain::new(vec![2, 3, 2, 2, 2]).unwrap();
    let queries = Queries::marginals(&domain, 2).unwrap();
    let named = names(5);
    let check = |events: &[Event], stated: &dyn Fn(&Scope, Subset) -> f64, exact: &dyn Fn(Subset) -> bool| {
        let mut scopes = vec![(Scope::Presence, domain.all()), (Scope::Person, domain.all())];
        for set in domain.all().subsets() {
            let set_names = AttributeSet::new(set.iter().map(|attribute| named[attribute].clone())).unwrap();
            scopes.push((Scope::Attributes(set_names), set));
        }
        for (scope, set) in scopes {
            let charged = Odometer::of(events, &scope).unwrap().rho(&Exact::zero()).unwrap().to_f64_up();
            let stated = stated(&scope, set);
            assert!(charged >= stated * (1.0 - 1e-14), "{scope}: {charged} for {stated}");
            let must_be_exact = !matches!(scope, Scope::Attributes(_)) || exact(set);
            assert!(!must_be_exact || charged <= stated * (1.0 + 1e-11), "{scope}: {charged} for {stated}");
        }
    };
    let projection = Projection::new(queries.clone(), Sigma::new(7.0).unwrap());
    let stated = |scope: &Scope, set: Subset| match scope {
        Scope::Presence => projection.rho_presence().get(),
        _ => projection.rho(set).get(),
    };
    check(&projection.events(&named).unwrap(), &stated, &|_| true);
    for (families, disjoint) in
        [(QueryFamilies::Blocks, 1), (QueryFamilies::Blocks, 2), (QueryFamilies::Joint, 1), (QueryFamilies::Joint, 2)]
    {
        let mwem = Mwem::of_attribute(queries.clone(), 6, disjoint, rho(0.3), families).unwrap();
        let stated = |scope: &Scope, set: Subset| match scope {
            Scope::Presence => mwem.rho_presence().get(),
            _ => mwem.rho(set).get(),
        };
        let exact = |set: Subset| set.len() <= 1 && (families == QueryFamilies::Blocks || disjoint == 1);
        check(&mwem.events(&named).unwrap(), &stated, &exact);
    }
    assert!(projection.events(&named[..3]).is_err());
}
