//! The three providers, and what learns on them.

use super::*;
use crate::learn::{Example, asked, conjunction};
use crate::noise::{BitSource, InsecureSeededSource};
use crate::quantity::{Delta, Epsilon, Rho, Scale};
use crate::scope::{AttributeSet, Scope};
use crate::{Loss, Target};

fn numbers(rows: u64, from: u64) -> Vec<(u64, bool)> {
    (0..rows).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56).map(|x| (x, x >= from)).collect()
}

/// Each answer is within the tolerance: with β = 1e-9 it is off by chance once in 10⁹ times.
#[test]
fn answers_are_within_their_tolerance() {
    let rows = numbers(60_000, 100);
    let is_even = |(x, _): &(u64, bool)| if x.is_multiple_of(2) { UNIT } else { 0 };
    let third = |(x, _): &(u64, bool)| (x * 257 % 65_537) as u32;
    let mut bits = InsecureSeededSource::new(1);
    for function in [&is_even as QueryFunction<'_, (u64, bool)>, &third] {
        let truth = ExactQueries::new(&rows).ask(function).unwrap();
        let mut central =
            CentralQueries::within(Target::zcdp(Rho::new(0.1).unwrap()), Scope::Person, &rows, 1, &mut bits).unwrap();
        let tolerance = central.tolerance(1, Beta::new(1e-9).unwrap()).unwrap();
        assert!((central.ask(function).unwrap() - truth).abs() <= tolerance && tolerance < 1e-3);
        let mut local = LocalQueries::new(&rows, Epsilon::new(1.0).unwrap(), 3, &mut bits).unwrap();
        let tolerance = local.tolerance(1, Beta::new(1e-9).unwrap()).unwrap();
        assert!((local.ask(function).unwrap() - truth).abs() <= tolerance && tolerance < 0.2, "{tolerance}");
    }
}

/// An ask moves by one whole unit in every scope, whatever the function does; a batch by the cells of a row.
#[test]
fn asks_cost_what_the_sums_move() {
    let rows = numbers(100, 7);
    let mut bits = InsecureSeededSource::new(2);
    let central =
        CentralQueries::within(Target::pure(Epsilon::new(0.5).unwrap()), Scope::Person, &rows, 1, &mut bits).unwrap();
    let event = central.event_of_ask().unwrap();
    let age = Scope::Attributes(AttributeSet::new(["age"]).unwrap());
    for scope in [Scope::Presence, Scope::Person, age] {
        let epsilon = Loss::of([event.clone()], scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
        assert!(epsilon <= 0.5 * (1.0 + 1e-9) && epsilon > 0.499);
    }
    let of = |(x, _): &(u64, bool), cells: &mut Vec<usize>| cells.extend([*x as usize % 10, 3, 3, 999]);
    let batch = QueryBatch::new(10, 2, &of).unwrap();
    let epsilon = |scope: Scope| {
        let events = central.events_of_batch(&batch).unwrap();
        Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper
    };
    assert!((epsilon(Scope::Person) - 0.5).abs() < 1e-3 && (epsilon(Scope::Presence) - 0.25).abs() < 1e-3);
}

/// No row counts in more cells than were said: a cell twice, a cell that does not exist, one too many.
#[test]
fn rows_count_in_no_more_cells_than_were_said() {
    let rows = [1u8, 2, 3];
    let greedy = |_: &u8, cells: &mut Vec<usize>| cells.extend([5, 0, 0, 1, 2, 77]);
    let counts = QueryBatch::new(4, 2, &greedy).unwrap().counts(&rows);
    assert_eq!(counts, [3, 3, 0, 0]);
    assert!(QueryBatch::new(4, 5, &greedy).is_err() && QueryBatch::new(0, 0, &greedy).is_err());
}

#[test]
fn what_is_not_paid_for_is_not_answered() {
    let rows = numbers(10, 3);
    let one = |_: &(u64, bool)| UNIT;
    let mut bits = InsecureSeededSource::new(3);
    let mut local = LocalQueries::new(&rows, Epsilon::new(1.0).unwrap(), 2, &mut bits).unwrap();
    assert!(local.ask(&one).is_ok() && local.ask(&one).is_ok());
    let refused = local.ask(&one).unwrap_err().to_string();
    assert_eq!(refused, "exhausted: 2 asks were charged for, and all are answered");
    assert!(LocalQueries::new(&rows, Epsilon::new(1.0).unwrap(), 11, &mut bits).is_err());
    // A curator who went on answering passed all tests: only owners were asked too often.
    let of = |(x, _): &(u64, bool), cells: &mut Vec<usize>| cells.push(*x as usize % 2);
    let batch = QueryBatch::new(2, 1, &of).unwrap();
    let mut central =
        CentralQueries::within(Target::pure(Epsilon::new(1.0).unwrap()), Scope::Person, &rows, 2, &mut bits).unwrap();
    assert!(central.ask(&one).is_ok() && central.ask_all(&batch).is_ok());
    let refused = [central.ask(&one).unwrap_err(), central.ask_all(&batch).unwrap_err()].map(|error| error.to_string());
    assert_eq!(refused, ["exhausted: 2 asks were charged for, and all are answered"; 2]);
    let none: [(u64, bool); 0] = [];
    assert!(
        CentralQueries::within(Target::pure(Epsilon::new(1.0).unwrap()), Scope::Person, &none, 1, &mut bits).is_err()
    );
    assert!(ExactQueries::new(&none).ask(&one).is_err());
}

/// Every owner answers one ask at most.
#[test]
fn local_owners_report_once() {
    let rows: Vec<usize> = (0..101).collect();
    let asked = std::cell::RefCell::new(vec![0; 101]);
    let mut bits = InsecureSeededSource::new(4);
    let mut local = LocalQueries::new(&rows, Epsilon::new(1.0).unwrap(), 7, &mut bits).unwrap();
    for _ in 0..7 {
        local
            .ask(&|row: &usize| {
                asked.borrow_mut()[*row] += 1;
                UNIT
            })
            .unwrap();
    }
    assert!(asked.borrow().iter().all(|times| *times == 1));
}

/// The learners with all three providers; those with noise err by chance with probability at most 1e-6 each.
#[test]
fn thresholds_and_points_are_learnt_by_asking() {
    let rows = numbers(200_000, 100);
    let mut bits = InsecureSeededSource::new(5);
    assert_eq!(asked::threshold(&mut ExactQueries::new(&rows), 8, Beta::new(0.05).unwrap()).unwrap().from, 100);
    let mut central =
        CentralQueries::within(Target::pure(Epsilon::new(0.1).unwrap()), Scope::Person, &rows, 8, &mut bits).unwrap();
    let tolerance = central.tolerance(8, Beta::new(1e-6).unwrap()).unwrap();
    let learnt = asked::threshold(&mut central, 8, Beta::new(1e-6).unwrap()).unwrap().from;
    let wrong = rows.iter().filter(|(x, y)| (*x >= learnt) != *y).count() as f64 / rows.len() as f64;
    assert!(learnt >= 100 && wrong <= 2.0 * tolerance, "{learnt} {wrong}");
    let mut local = LocalQueries::new(&rows, Epsilon::new(2.0).unwrap(), 8, &mut bits).unwrap();
    let learnt = asked::threshold(&mut local, 8, Beta::new(1e-6).unwrap()).unwrap().from;
    assert!((100..130).contains(&learnt), "{learnt}");
    let points: Vec<(u64, bool)> = rows.iter().map(|(x, _)| (*x % 32, *x % 32 == 21)).collect();
    let mut central =
        CentralQueries::within(Target::pure(Epsilon::new(0.1).unwrap()), Scope::Person, &points, 6, &mut bits).unwrap();
    assert_eq!(asked::point(&mut central, 5, 0.02, Beta::new(1e-6).unwrap()).unwrap(), Some(21));
    let never: Vec<(u64, bool)> = rows.iter().map(|(x, _)| (*x % 32, false)).collect();
    let mut central =
        CentralQueries::within(Target::pure(Epsilon::new(0.1).unwrap()), Scope::Person, &never, 6, &mut bits).unwrap();
    assert_eq!(asked::point(&mut central, 5, 0.02, Beta::new(1e-6).unwrap()).unwrap(), None);
    let mut local = LocalQueries::new(&points[..1000], Epsilon::new(1.0).unwrap(), 6, &mut bits).unwrap();
    assert!(asked::point(&mut local, 5, 0.02, Beta::new(0.05).unwrap()).unwrap_err().to_string().contains("tolerance"));
}

#[test]
fn conjunctions_are_learnt_within_their_error() {
    let mut random = InsecureSeededSource::new(6);
    let mut row = || {
        let x = random.next_u64() | random.next_u64(); // ones are likely
        let attributes: Vec<bool> = (0..20).map(|j| x >> j & 1 == 1).collect();
        let label = attributes[2] && attributes[5] && !attributes[9];
        Example::new(&attributes, label)
    };
    let rows: Vec<Example> = (0..50_000).map(|_| row()).collect();
    let exact = conjunction::learn(&mut ExactQueries::new(&rows), 20, Beta::new(0.05).unwrap()).unwrap();
    assert_eq!(exact.literals(), [(2, true), (5, true), (9, false)]);
    let mut bits = InsecureSeededSource::new(7);
    let mut central =
        CentralQueries::within(Target::zcdp(Rho::new(0.05).unwrap()), Scope::Presence, &rows, 1, &mut bits).unwrap();
    let most = conjunction::error(&central, 20, Beta::new(1e-6).unwrap()).unwrap();
    let learnt = conjunction::learn(&mut central, 20, Beta::new(1e-6).unwrap()).unwrap();
    let wrong = rows.iter().filter(|row| learnt.predicts(row) != row.label()).count() as f64 / rows.len() as f64;
    assert!(
        wrong <= most && exact.literals().iter().all(|literal| learnt.literals().contains(literal)),
        "{wrong} {most}"
    );
    assert!(!learnt.is_never());
}

/// What one attribute and the label move, over all rows of three attributes and all changes; and what several move
/// together, which no single one covers.
#[test]
fn attributes_move_two_literals_each_and_the_label_all() {
    let rows: Vec<Example> =
        (0..16u32).map(|i| Example::new(&[i & 1 == 1, i & 2 == 2, i & 4 == 4], i & 8 == 8)).collect();
    let names = ["a", "b", "c", "y"];
    let alone: Vec<AttributeSet> = names.map(|name| AttributeSet::new([name]).unwrap()).into();
    conjunction::with_batch(3, &alone, |batch| {
        let counts = |row: &Example| batch.counts(std::slice::from_ref(row));
        let moved =
            |a: &Example, b: &Example| counts(a).iter().zip(counts(b)).filter(|(a, b)| **a != *b).count() as u64;
        let events = batch.events(&crate::Event::discrete_laplace(Scale::new(4.0).unwrap())).unwrap();
        let charged = |scope: &Scope| -> u64 {
            let of = |event: &crate::Event| event.moves().shifts(scope).iter().map(|shift| shift.cells).max();
            events.iter().filter_map(of).sum()
        };
        let mut reached = [0u64; 16];
        for (place, row) in rows.iter().enumerate() {
            assert!(counts(row).iter().sum::<i64>() <= charged(&Scope::Presence) as i64);
            for (other_place, other) in rows.iter().enumerate() {
                let changed = place ^ other_place;
                reached[changed] = reached[changed].max(moved(row, other));
            }
        }
        assert_eq!(reached.iter().max(), Some(&charged(&Scope::Person)));
        for (changed, reached) in reached.iter().enumerate().skip(1) {
            let own = names.iter().enumerate().filter(|(bit, _)| changed >> bit & 1 == 1).map(|(_, name)| *name);
            let scope = Scope::Attributes(AttributeSet::new(own).unwrap());
            // With the label or without: of both together the sum is charged.
            let exact = changed & 8 == 0 || changed == 8;
            assert!(*reached == charged(&scope) || !exact && *reached <= charged(&scope), "{changed} {reached}");
            let planned = batch.moves(&scope).unwrap().shifts(&scope)[0].cells;
            assert_eq!(planned, charged(&scope), "{changed}");
        }
        Ok(())
    })
    .unwrap();
}
