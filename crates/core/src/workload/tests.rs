//! The residual release: its cost against all pairs of records, its variances, its accuracy, and the rows made from it.

use super::planner::RhoLimits;
use super::residual::ResidualPlan;
use super::*;
use crate::Target;
use crate::harness::example_table;
use crate::loss::filter::Odometer;
use crate::noise::InsecureSeededSource;
use crate::quantity::{Exact, Rho};
use crate::scope::{AttributeSet, Scope};

mod bars;
mod bits;
mod exact;
mod granted;

fn rho(value: f64) -> Rho {
    Rho::new(value).unwrap()
}

fn presence(value: f64) -> RhoLimits {
    RhoLimits::of(Target::zcdp(rho(value)), Scope::Presence).unwrap()
}

#[test]
fn the_example_table_is_the_one_of_the_generator() {
    let columns = example_table::columns();
    let people = (0..example_table::PEOPLE).flat_map(|i| columns.iter().map(move |column| u64::from(column[i])));
    let hash = people.fold(0u64, |hash, value| hash.wrapping_mul(31).wrapping_add(value + 1));
    assert_eq!(hash, 10275219783301746934);
}

/// The integer tables Ξ·M_A·e of one person, straight from the definition.
fn tables_of_person(domain: &Domain, plan: &ResidualPlan, person: usize) -> Vec<Vec<f64>> {
    let values = domain.values(person);
    let entry = |subset: Subset, cell: usize| {
        let mut rest = cell;
        let mut entry = 1.0;
        for attribute in subset.iter().collect::<Vec<_>>().into_iter().rev() {
            let size = domain.sizes()[attribute];
            let matches = (rest as u32) % size == values[attribute];
            entry *= if matches { f64::from(size) - 1.0 } else { -1.0 };
            rest /= size as usize;
        }
        entry
    };
    let of = |&(subset, _): &(Subset, _)| (0..domain.table_cells(subset)).map(|cell| entry(subset, cell)).collect();
    plan.noise().iter().map(of).collect()
}

#[test]
fn the_cost_of_every_scope_is_the_largest_over_all_records() {
    let domain = Domain::new(vec![3, 2, 4]).unwrap();
    let plan = planner::residual(&domain, 3, &presence(0.3)).unwrap();
    let cost = |left: &[Vec<f64>], right: Option<&[Vec<f64>]>| -> f64 {
        let moved = |table: usize| {
            let other = |cell: usize| right.map_or(0.0, |right| right[table][cell]);
            left[table].iter().enumerate().map(|(cell, value)| (value - other(cell)).powi(2)).sum::<f64>()
        };
        plan.noise().iter().enumerate().map(|(table, (_, sigma))| moved(table) / (2.0 * sigma.get().powi(2))).sum()
    };
    let people: Vec<Vec<Vec<f64>>> = (0..domain.cells()).map(|cell| tables_of_person(&domain, &plan, cell)).collect();
    let presence = people.iter().map(|person| cost(person, None)).fold(0.0, f64::max);
    assert!((presence - plan.rho_presence().get()).abs() < 1e-9 && plan.rho_presence().get() <= 0.3);
    for scope in domain.all().subsets().filter(|scope| !scope.is_empty()) {
        let mut worst = 0.0f64;
        for (left, left_tables) in people.iter().enumerate() {
            for (right, right_tables) in people.iter().enumerate() {
                let (one, other) = (domain.values(left), domain.values(right));
                if (0..3).all(|attribute| scope.contains(attribute) || one[attribute] == other[attribute]) {
                    worst = worst.max(cost(left_tables, Some(right_tables)));
                }
            }
        }
        assert!(worst <= plan.rho(scope).get(), "{scope}: {worst} exceeds {}", plan.rho(scope));
        assert!((worst - plan.rho(scope).get()).abs() < 1e-9, "{scope} is attained");
    }
    assert_eq!(plan.rho(Subset::EMPTY), 0.0);
}

#[test]
fn the_events_cost_what_the_plan_states() {
    let domain = Domain::new(vec![3, 2, 4]).unwrap();
    let plan = planner::residual(&domain, 2, &presence(0.3)).unwrap();
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    let events = plan.events(&names).unwrap();
    let spent = |scope: Scope| Odometer::of(&events, &scope).unwrap().rho(&Exact::zero()).unwrap().to_f64();
    assert!((spent(Scope::Presence) / plan.rho_presence().get() - 1.0).abs() < 1e-12);
    assert!((spent(Scope::Person) / plan.rho_person().get() - 1.0).abs() < 1e-12);
    for scope in domain.all().subsets().filter(|scope| !scope.is_empty()) {
        let set = AttributeSet::new(scope.iter().map(|attribute| names[attribute].clone())).unwrap();
        let (stated, charged) = (plan.rho(scope).get(), spent(Scope::Attributes(set)));
        assert!(charged >= stated * (1.0 - 1e-12), "{scope}: {charged} is charged, but it costs {stated}");
        let slack = if scope.len() == 1 { 1.0 + 1e-11 } else { 1.25 };
        assert!(charged <= stated * slack, "{scope}: {charged} is charged for {stated}");
    }
}

#[test]
fn unbiased_marginals_have_the_stated_variance() {
    let domain = Domain::new(vec![3, 2, 4]).unwrap();
    let counts: Vec<u64> = (0..24).map(|cell| 100 + cell * cell).collect();
    let plan = planner::residual(&domain, 2, &presence(0.05)).unwrap();
    let mut bits = InsecureSeededSource::new(7);
    let releases = 4000;
    let table = Subset::of(&[0, 2]);
    let exact = domain.marginal(&counts, table);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..releases {
        let estimate = plan.release(&counts, &mut bits).unwrap().marginal(table).unwrap();
        for (estimate, &exact) in estimate.iter().zip(&exact) {
            sum += estimate - exact as f64;
            squares += (estimate - exact as f64).powi(2);
        }
    }
    let number = f64::from(releases) * exact.len() as f64;
    let variance = plan.cell_variance(table).unwrap();
    // 48000 terms, at least 4000 of them independent: seven standard deviations.
    assert!((sum / number).abs() < 7.0 * (variance / f64::from(releases)).sqrt());
    assert!((squares / number / variance - 1.0).abs() < 7.0 * (2.0 / f64::from(releases)).sqrt());
    assert!(plan.release(&counts, &mut bits).unwrap().marginal(Subset::of(&[0, 1, 2])).is_err());
}

/// The average over all marginals of this order of the total variation distance, and the largest.
fn error(domain: &Domain, exact: &[f64], estimate: &[f64], order: usize) -> (f64, f64) {
    let (n, m): (f64, f64) = (exact.iter().sum(), estimate.iter().sum());
    let tables = Subset::all_of_size(domain.attributes(), order);
    let distances = tables.iter().map(|&table| {
        let (left, right) = (domain.marginal(exact, table), domain.marginal(estimate, table));
        left.iter().zip(&right).map(|(left, right)| (left / n - right / m).abs()).sum::<f64>() / 2.0
    });
    let distances: Vec<f64> = distances.collect();
    (distances.iter().sum::<f64>() / distances.len() as f64, distances.iter().copied().fold(0.0, f64::max))
}

#[test]
fn synthetic_rows_are_as_accurate_as_promised_and_match_their_model() {
    let domain = Domain::new(example_table::SIZES.to_vec()).unwrap();
    let counts = domain.count(&example_table::columns()).unwrap();
    let exact: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    // ρ = 0.01497 is (1, 1e-9) by the conversion of [CKS20].
    let plan = planner::residual(&domain, 3, &presence(0.014973)).unwrap();
    let model = plan.release(&counts, &mut InsecureSeededSource::new(1)).unwrap().model().unwrap();
    let rows: Vec<f64> = model.whole_counts().iter().map(|&count| count as f64).collect();
    for (what, cells) in [("model", model.cells()), ("rows", &rows)] {
        let ((pairs, _), (triples, worst)) = (error(&domain, &exact, cells, 2), error(&domain, &exact, cells, 3));
        assert!(pairs < 0.0027 && triples < 0.0070 && worst < 0.019, "{what}: {pairs} {triples} {worst}");
    }
    for table in Subset::all_of_size(8, 3) {
        let (left, right) = (model.marginal(table), domain.marginal(&rows, table));
        let off = left.iter().zip(&right).map(|(left, right)| (left - right).abs()).fold(0.0, f64::max);
        assert!(off < 6.0, "the rows' marginal of {table} is off by {off} people");
    }
    let total: f64 = model.cells().iter().sum();
    assert!((rows.iter().sum::<f64>() - total).abs() <= 0.5);
}

#[test]
fn columns_that_are_independent_stay_independent_in_the_rows() {
    // A popular generator returns rows whose columns are falsely correlated: here the model is a product, and so must
    // the rows be.
    let domain = Domain::new(vec![4, 3, 2]).unwrap();
    let cells: Vec<f64> = (0..24)
        .map(|cell| {
            domain.values(cell).iter().zip([1.0, 2.0, 3.0]).map(|(&v, w)| 1.0 + w * f64::from(v)).product::<f64>()
                * 0.37
        })
        .collect();
    let tables = Subset::all_of_size(3, 2);
    let model = CountModel::new(domain.clone(), cells, tables.clone()).unwrap();
    let rows = model.rows();
    for table in tables {
        let mut counts = vec![0.0; domain.table_cells(table)];
        for row in &rows {
            let place = table.iter().fold(0, |place, a| place * domain.sizes()[a] as usize + row[a] as usize);
            counts[place] += 1.0;
        }
        let wanted = model.marginal(table);
        assert!(
            counts.iter().zip(&wanted).all(|(count, wanted)| (count - wanted).abs() < 2.0),
            "{counts:?} {wanted:?}"
        );
    }
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let domain = Domain::new(vec![3, 2]).unwrap();
    let check = |result: crate::Result<ResidualPlan>, part: &str| {
        let sentence = result.unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    check(planner::residual(&domain, 3, &presence(1.0)), "1 to 2 attributes, not 3");
    check(planner::residual(&domain, 2, &presence(0.0)), "a limit above 0");
    check(ResidualPlan::within(&presence(1.0), &domain, &[(Subset::of(&[4]), 1.0)]), "not in the domain");
    check(ResidualPlan::within(&presence(1.0), &domain, &[(Subset::of(&[1]), f64::NAN)]), "NaN");
    check(ResidualPlan::within(&presence(1.0), &domain, &[]), "at least one marginal");
}
