//! The nearest distribution by enumeration: against all others on a grid, and against what is promised of it.

use super::*;

fn squared(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum()
}

/// Of all distributions in steps of 1/24 over three strings none is nearer, for all small counts, listed or not.
#[test]
fn nothing_is_nearer() {
    let grid: Vec<[f64; 3]> = (0..=24)
        .flat_map(|first| (0..=24 - first).map(move |second| [first, second, 24 - first - second]))
        .map(|parts| parts.map(|part| f64::from(part) / 24.0))
        .collect();
    for code in 0..1000 {
        let counts = [code % 10 - 3, code / 10 % 10 - 3, code / 100 - 3].map(i64::from);
        for people in [1.0, 4.0, 7.0] {
            let shares = counts.map(|count| count as f64 / people);
            let (found, others) = nearest(&counts, people, 3.0);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && others == 0.0, "{counts:?} of {people}");
            assert!(found.iter().all(|probability| *probability >= 0.0));
            let distance = squared(&found, &shares);
            assert!(grid.iter().all(|other| squared(other, &shares) >= distance - 1e-12), "{counts:?} of {people}");
            // A string that is not listed is one with the count 0.
            let (listed, other) = nearest(&counts[..2], people, 3.0);
            let (all, _) = nearest(&[counts[0], counts[1], 0], people, 3.0);
            assert!(squared(&[listed[0], listed[1], other], &all) < 1e-24);
        }
    }
    // Beyond all numbers of strings nothing is left for each.
    let (listed, other) = nearest(&[3, 1], 8.0, f64::INFINITY);
    assert!(listed == [0.375, 0.125] && (0.0..1e-300).contains(&other));
}

/// All tables of three counts below four, all errors of the counts and of the number of people within their bounds; the
/// last string listed, or counted as 0.
#[test]
fn the_promise_holds_for_all_errors_within_its_bounds() {
    let (mut closest, mut cases) = (f64::INFINITY, 0);
    for code in 1..64i64 {
        let exact = [code % 4, code / 4 % 4, code / 16];
        let number: i64 = exact.iter().sum();
        let shares = exact.map(|count| count as f64 / number as f64);
        for errors in 0..175i64 {
            let (first, second, third, people) = (errors % 5 - 2, errors / 5 % 5 - 2, errors / 25 % 7 - 3, number + 1);
            for (people, is_listed) in [(people, true), (number - 1, true), (people, false), (number - 1, false)] {
                let people = people.max(1) as f64;
                let third = if is_listed { third.clamp(-2, 2) } else { -exact[2] };
                let counts = [exact[0] + first, exact[1] + second, exact[2] + third];
                let below = if is_listed { 2.0 } else { 3.0 };
                let strings = if is_listed { 3.0 } else { f64::INFINITY };
                let off = CountErrors { above: 2.0, below, people: 1.0, strings };
                let (listed, other) = nearest(&counts[..if is_listed { 3 } else { 2 }], people, 3.0);
                let found = [listed[0], listed[1], listed.get(2).copied().unwrap_or(other)];
                let each = found.iter().zip(shares).map(|(found, share)| (found - share).abs()).fold(0.0, f64::max);
                assert!(each <= off.each(people) + 1e-12, "{exact:?} as {counts:?} of {people}: {each}");
                assert!(squared(&found, &shares) <= off.squared(people) + 1e-12, "{exact:?} as {counts:?} of {people}");
                if each > 0.1 {
                    closest = closest.min(off.each(people) / each);
                }
                cases += 1;
            }
        }
    }
    assert!(cases == 63 * 175 * 4 && closest < 1.3, "{closest}: a bound that is twice as large would pass");
}

/// With as many people as are said to be enough the bound and the sample's own error are within α; with one fewer they
/// are not.
#[test]
fn as_many_people_as_are_needed() {
    for (above, people, alpha, beta) in [(0.0, 0.0, 0.05, 0.05), (40.0, 90.0, 0.05, 0.05), (3.0, 0.0, 0.2, 0.001)] {
        let off = CountErrors { above, below: 2.0 * above, people, strings: f64::INFINITY };
        let needed = off.people_needed(alpha, Beta::new(beta).unwrap()).unwrap();
        let error = |number: f64| off.each(number - people) + (1.0 + (1.0 / beta).ln().sqrt()) / number.sqrt();
        assert!(error(needed) <= alpha && error(needed - 1.0) > alpha, "{needed}");
    }
    let off = CountErrors { above: 1.0, below: 1.0, people: 1.0, strings: 2.0 };
    for alpha in [0.0, 1.0, f64::NAN] {
        assert!(off.people_needed(alpha, Beta::new(0.05).unwrap()).is_err());
    }
}
