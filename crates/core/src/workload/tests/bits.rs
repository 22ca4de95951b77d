//! What the ledger is given about numbers of sets of binary columns against the exact laws of what is released, in
//! every scope.

use super::super::conjunctions::{self, BitLayout, Measure, Polynomial};
use super::super::planner::RhoLimits;
use super::super::psd::ColumnPairs;
use super::exact::{IntegerTables, names, passes, scopes, whole_law_passes};
use super::*;
use crate::event::{Event, Word};
use crate::quantity::Sigma;

/// The people of a table of counts over binary attributes.
fn bits(domain: &Domain, counts: &[u64]) -> Bits {
    let people = (0..domain.cells()).flat_map(|cell| std::iter::repeat_n(cell, counts[cell] as usize));
    let rows: Vec<Vec<u32>> = people.map(|cell| domain.values(cell)).collect();
    let column = |j: usize| rows.iter().map(|row| row[j] == 1).collect();
    Bits::new(&(0..domain.attributes()).map(column).collect::<Vec<_>>()).unwrap()
}

fn presence(value: f64) -> RhoLimits {
    RhoLimits { presence: Some(rho(value)), ..RhoLimits::default() }
}

/// The plans of both measures, exact and with a bias.
fn plans(columns: usize, width: usize) -> Vec<conjunctions::ConjunctionPlan> {
    let shape = BitLayout::plain(columns).unwrap();
    let polynomials = [Polynomial::exact(width), Polynomial::minimax(width, width - 1)];
    let both = polynomials.into_iter().flat_map(|polynomial| {
        let polynomial = polynomial.unwrap();
        Measure::ALL.map(|measure| {
            conjunctions::ConjunctionPlan::within(&presence(0.2), &shape, polynomial.clone(), measure).unwrap()
        })
    });
    both.collect()
}

fn tables(plan: &conjunctions::ConjunctionPlan, columns: &Bits) -> IntegerTables {
    let people = vec![columns.people() as i64];
    plan.sigmas().into_iter().zip(std::iter::once(people).chain(plan.exact(columns))).collect()
}

#[test]
fn no_neighbours_in_any_scope_are_further_apart_than_conjunctions_are_charged() {
    for (columns, width) in [(2, 2), (3, 2), (3, 3)] {
        let domain = Domain::new(vec![2; columns]).unwrap();
        for plan in plans(columns, width) {
            let events = plan.events(&names(columns)).unwrap();
            // Who is replaced by somebody here does not change the number of people, and no one person turns most sums
            // and most products: what a person is charged is loose.
            passes(&domain, &events, |counts| tables(&plan, &bits(&domain, counts)), 2.0);
        }
    }
}

#[test]
fn each_size_of_sets_is_charged_exactly_what_the_worst_neighbours_show() {
    for columns in [2, 3, 4] {
        let domain = Domain::new(vec![2; columns]).unwrap();
        for plan in plans(columns, 2) {
            let events = plan.events(&names(columns)).unwrap();
            for size in 1..plan.sigmas().len() {
                let own = of_size(&events, columns, size);
                let table = |counts: &[u64]| vec![tables(&plan, &bits(&domain, counts)).swap_remove(size)];
                passes(&domain, own, table, 1.0 + 1e-6);
            }
        }
    }
}

/// The events of the sets of this size: one, and one for each column. Before them stands that of the number of people,
/// where that is not public.
fn of_size(events: &[Event], columns: usize, size: usize) -> &[Event] {
    let first = events.len() % (columns + 1);
    &events[first + (size - 1) * (columns + 1)..][..columns + 1]
}

#[test]
#[should_panic(expected = "claimed")]
fn a_charge_of_conjunctions_that_is_one_percent_too_small_is_seen() {
    let domain = Domain::new(vec![2; 3]).unwrap();
    let plan = &plans(3, 2)[1];
    let larger = |event: &Event| match event.word() {
        Word::DiscreteGaussian { sigma } => Event::new(
            Word::DiscreteGaussian { sigma: Sigma::new(sigma.get() * 1.01f64.sqrt()).unwrap() },
            event.moves().clone(),
        ),
        _ => unreachable!("all noise is Gaussian"),
    };
    let events: Vec<Event> = plan.events(&names(3)).unwrap().iter().map(larger).collect();
    passes(&domain, &events, |counts| tables(plan, &bits(&domain, counts)), 2.0);
}

#[test]
fn no_neighbours_in_any_scope_are_further_apart_than_pairs_are_charged() {
    for columns in [2, 3, 4] {
        let domain = Domain::new(vec![2; columns]).unwrap();
        let public = RhoLimits { public_people: Some(2), ..presence(0.3) };
        let strict = RhoLimits { attributes: vec![Some(rho(0.1)); columns], ..RhoLimits::default() };
        for limits in [presence(0.3), RhoLimits { person: Some(rho(0.2)), ..RhoLimits::default() }, public, strict] {
            let pairs = ColumnPairs::within(&limits, columns).unwrap();
            let (people, single, pair) = pairs.noise();
            let events = pairs.events(&names(columns)).unwrap();
            let mut parts = vec![(single.get(), 1), (pair.get(), 2)];
            parts.extend(people.sigma().map(|sigma| (sigma.get(), 0)));
            let of = |&(sigma, size): &(f64, usize), counts: &[u64]| (sigma, bits(&domain, counts).balances(size));
            let all = |counts: &[u64]| parts.iter().map(|part| of(part, counts)).collect();
            passes(&domain, &events, all, 2.0);
            for part in &parts[..2] {
                let own = of_size(&events, columns, part.1);
                passes(&domain, own, |counts| vec![of(part, counts)], 1.0 + 1e-6);
            }
        }
    }
}

#[test]
fn several_columns_of_one_attribute_are_charged_together() {
    // An attribute of three values as two columns ("is it 1", "is it 2"), and a binary one.
    let domain = Domain::new(vec![3, 2]).unwrap();
    let shape = BitLayout::new(vec![2, 1]).unwrap();
    let of = |counts: &[u64]| {
        let people = (0..domain.cells()).flat_map(|cell| std::iter::repeat_n(cell, counts[cell] as usize));
        let rows: Vec<Vec<u32>> = people.map(|cell| domain.values(cell)).collect();
        let column = |is: &dyn Fn(&[u32]) -> bool| rows.iter().map(|row| is(row)).collect::<Vec<bool>>();
        Bits::new(&[column(&|row| row[0] == 1), column(&|row| row[0] == 2), column(&|row| row[1] == 1)]).unwrap()
    };
    for measure in Measure::ALL {
        for limits in
            [presence(0.2), RhoLimits { attributes: vec![Some(rho(0.1)), Some(rho(0.3))], ..RhoLimits::default() }]
        {
            let plan =
                conjunctions::ConjunctionPlan::within(&limits, &shape, Polynomial::exact(3).unwrap(), measure).unwrap();
            let events = plan.events(&names(2)).unwrap();
            // Not every pattern of the columns is somebody's, so that this is an upper bound.
            passes(&domain, &events, |counts| tables(&plan, &of(counts)), 4.0);
        }
    }
}

#[test]
fn the_whole_output_of_small_summaries_passes_the_harness_in_every_scope() {
    let domain = Domain::new(vec![2, 2]).unwrap();
    let public = RhoLimits { presence: Some(rho(1.5)), public_people: Some(1), ..RhoLimits::default() };
    let plan = conjunctions::ConjunctionPlan::within(
        &public,
        &BitLayout::plain(2).unwrap(),
        Polynomial::exact(2).unwrap(),
        Measure::Parities,
    );
    let plan = plan.unwrap();
    let events = plan.events(&names(2)).unwrap();
    whole_law_passes(&domain, &events, |counts| tables(&plan, &bits(&domain, counts)).split_off(1));
    let pairs = ColumnPairs::within(&public, 2).unwrap();
    let (_, single, pair) = pairs.noise();
    whole_law_passes(&domain, &pairs.events(&names(2)).unwrap(), |counts| {
        let columns = bits(&domain, counts);
        vec![(single.get(), columns.balances(1)), (pair.get(), columns.balances(2))]
    });
}

#[test]
fn every_plan_uses_its_limit_up_and_the_ledger_charges_what_it_states() {
    let named = names(5);
    let shape = BitLayout::new(vec![1, 1, 2, 1, 3]).unwrap();
    let attributes = vec![Some(rho(0.2)), None, Some(rho(0.05)), None, Some(rho(0.3))];
    let all = [
        presence(0.1),
        RhoLimits { person: Some(rho(0.1)), ..RhoLimits::default() },
        RhoLimits { attributes, ..RhoLimits::default() },
        RhoLimits { public_people: Some(70), ..presence(0.1) },
    ];
    for limits in &all {
        for measure in Measure::ALL {
            for polynomial in [Polynomial::exact(4), Polynomial::chebyshev(4, 0.1), Polynomial::minimax(8, 3)] {
                let plan = conjunctions::ConjunctionPlan::within(limits, &shape, polynomial.unwrap(), measure).unwrap();
                let excess = limits
                    .excess(plan.rho_presence().get(), plan.rho_person().get(), |j| plan.rho_attribute(j).get())
                    .unwrap();
                let excess = excess * super::super::limits::BELOW;
                assert!(excess <= 1.0 && excess > 1.0 - 1e-6, "{limits:?}: {excess}");
                let events = plan.events(&named).unwrap();
                let charged =
                    |scope: &Scope| Odometer::of(&events, scope).unwrap().rho(&Exact::zero()).unwrap().to_f64_up();
                let near = |charged: f64, stated: f64| charged <= stated && charged > stated * (1.0 - 1e-11);
                assert!(near(charged(&Scope::Presence), plan.rho_presence().get()));
                assert!(near(charged(&Scope::Person), plan.rho_person().get()));
                for (j, name) in named.iter().enumerate() {
                    let scope = Scope::Attributes(AttributeSet::new([name.clone()]).unwrap());
                    assert!(near(charged(&scope), plan.rho_attribute(j).get()), "{name}");
                }
                assert!(plan.events(&named[1..]).is_err());
            }
        }
        let pairs = ColumnPairs::within(limits, 5).unwrap();
        let excess = limits
            .excess(pairs.rho_presence().get(), pairs.rho_person().get(), |_| pairs.rho_attribute().get())
            .unwrap();
        let excess = excess * super::super::limits::BELOW;
        assert!(excess <= 1.0 && excess > 1.0 - 1e-6, "{limits:?}: {excess}");
        assert_eq!(scopes(&Domain::new(vec![2; 2]).unwrap()).len(), 5);
    }
}
