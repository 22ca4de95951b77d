//! Limits on single attributes: each gets what it was granted, nothing is above its limit, and no other noise would be
//! better.

use super::super::allocation::{Constraint, precisions};
use super::super::planner::{RhoLimits, residual};
use super::*;
use crate::noise::BitSource;

fn of_attributes(limits: &[f64]) -> RhoLimits {
    RhoLimits { attributes: limits.iter().map(|limit| Some(rho(*limit))).collect(), ..RhoLimits::default() }
}

/// With a cost of 1 for each attribute and 0.3 for one of them, the others got 0.26 to 0.32 of it.
#[test]
fn each_attribute_gets_what_it_was_granted() {
    for (sizes, order, limits) in [
        (vec![3, 2, 4, 2], 2, vec![0.1, 0.1, 0.03, 0.1]),
        (vec![3, 2, 4, 2], 3, vec![0.4, 0.1, 0.0001, 0.02]),
        (vec![5, 4], 1, vec![0.01, 2.0]),
        (vec![2; 14], 2, (1..=14).map(|j| 0.01 * f64::from(j)).collect()),
    ] {
        let domain = Domain::new(sizes).unwrap();
        for public in [None, Some(1000)] {
            let limits = RhoLimits { public_people: public, ..of_attributes(&limits) };
            let plan = residual(&domain, order, &limits).unwrap();
            let names: Vec<String> = (0..domain.attributes()).map(|j| format!("a{j}")).collect();
            let events = plan.events(&names).unwrap();
            for (attribute, limit) in limits.attributes.iter().enumerate() {
                let (limit, scope) = (limit.unwrap().get(), AttributeSet::new([names[attribute].clone()]).unwrap());
                let spent = Odometer::of(&events, &Scope::Attributes(scope)).unwrap().rho(&Exact::zero()).unwrap();
                assert!(spent <= Exact::from_f64(limit).unwrap(), "{attribute}: {spent} of {limit}");
                assert!(spent.to_f64() > limit * (1.0 - 1e-6), "{attribute}: {spent} of {limit}");
            }
            assert!(plan.rho_presence().get() > 0.0 && plan.rho_presence().get().is_finite());
        }
    }
}

/// A strict attribute makes its own tables noisy and leaves more for all others. (The number of people is public here:
/// measured, it has a share of the presence cost, which is lower with a strict attribute.)
#[test]
fn tables_without_the_strict_attribute_are_no_noisier_for_it() {
    let domain = Domain::new(vec![3, 2, 4, 2]).unwrap();
    let (even, strict) = (of_attributes(&[0.1; 4]), of_attributes(&[0.1, 0.1, 0.03, 0.1]));
    let [even, strict] =
        [even, strict].map(|limits| residual(&domain, 2, &RhoLimits { public_people: Some(1000), ..limits }).unwrap());
    for table in domain.all().subsets().filter(|table| (1..=2).contains(&table.len())) {
        let [before, after] = [&even, &strict].map(|plan| plan.cell_variance(table).unwrap());
        assert_eq!(after <= before * (1.0 + 1e-6), !table.contains(2), "{table}: {before} {after}");
    }
}

#[test]
fn limits_on_presence_persons_and_attributes_hold_together() {
    let domain = Domain::new(vec![3, 2, 4]).unwrap();
    for (presence, person) in [(Some(0.05), None), (None, Some(0.08)), (Some(0.04), Some(0.06)), (None, Some(5.0))] {
        let limits =
            RhoLimits { presence: presence.map(rho), person: person.map(rho), ..of_attributes(&[0.1, 0.03, 0.1]) };
        let plan = residual(&domain, 2, &limits).unwrap();
        let mut shares = vec![
            presence.map_or(0.0, |most| plan.rho_presence().get() / most),
            person.map_or(0.0, |most| plan.rho_person().get() / most),
        ];
        shares.extend([0.1, 0.03, 0.1].iter().enumerate().map(|(j, most)| plan.rho(Subset::of(&[j])).get() / most));
        assert!(shares.iter().all(|share| *share <= 1.0), "{limits:?}: {shares:?}");
        assert!(shares.iter().any(|share| *share > 1.0 - 1e-6), "{limits:?}: {shares:?}");
    }
    let nothing = RhoLimits { attributes: vec![None, None, Some(rho(0.0))], ..RhoLimits::default() };
    assert!(residual(&domain, 2, &nothing).unwrap_err().to_string().contains("a limit above 0"));
}

/// One limit has the closed form σ² ∝ √(c/v); of several, no precisions drawn at random around the solution and brought
/// within the limits are better.
#[test]
fn no_other_precisions_are_better() {
    let one = [Constraint { costs: vec![(0, 1.0), (1, 4.0), (2, 0.5)], most: 0.7 }];
    let weights = [2.0, 1.0, 9.0];
    let roots: Vec<f64> = one[0].costs.iter().map(|(table, cost)| (weights[*table] * cost).sqrt()).collect();
    for ((root, (_, cost)), found) in roots.iter().zip(&one[0].costs).zip(precisions(&weights, &one)) {
        assert!((found / (0.7 * root / roots.iter().sum::<f64>() / cost) - 1.0).abs() < 1e-12);
    }
    let several = [
        Constraint { costs: vec![(0, 1.0), (1, 4.0), (3, 1.0)], most: 0.7 },
        Constraint { costs: vec![(1, 2.0), (2, 0.5)], most: 0.1 },
        Constraint { costs: vec![(0, 1.0), (1, 1.0), (2, 1.0), (3, 2.0)], most: 0.9 },
    ];
    let weights = [2.0, 1.0, 9.0, 0.3];
    let excess = |precisions: &[f64]| {
        let used = |limit: &Constraint| {
            limit.costs.iter().map(|(table, cost)| cost * precisions[*table]).sum::<f64>() / limit.most
        };
        several.iter().map(used).fold(0.0, f64::max)
    };
    let error =
        |precisions: &[f64]| weights.iter().zip(precisions).map(|(weight, precision)| weight / precision).sum::<f64>();
    let found = precisions(&weights, &several);
    assert!(excess(&found) <= 1.0 + 1e-12);
    let mut bits = InsecureSeededSource::new(8);
    for round in 0..3000 {
        let size = 0.3f64.powi(round % 6);
        let mut other: Vec<f64> = found
            .iter()
            .map(|p| p * (size * ((bits.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5)).exp())
            .collect();
        let excess = excess(&other);
        other.iter_mut().for_each(|precision| *precision /= excess);
        assert!(error(&other) >= error(&found) * (1.0 - 1e-9), "{other:?} beats {found:?}");
    }
    assert_eq!(precisions(&[1.0, 1.0], &[Constraint { costs: vec![(1, 1.0)], most: 1.0 }])[0], f64::INFINITY);
}
