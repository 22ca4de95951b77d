//! Distances against a search, and every neighbour of tiny tables against the claim.

mod neighbours;

use super::*;

/// Against a search over all counts, and 1-Lipschitz in rows.
#[test]
fn distances_are_those_of_a_search() {
    for scale in [Scale::AtLeast(1), Scale::AtLeast(7), Scale::Rounded(2), Scale::Rounded(5), Scale::Rounded(6)] {
        let value = |count: u64| scale.columns(&[Some(count)]);
        for count in 0..30u64 {
            let other = (0..60).filter(|other| value(*other) != value(count)).map(|other: u64| other.abs_diff(count));
            assert_eq!(scale.distance(count), other.min().unwrap(), "{scale:?} {count}");
            assert!(scale.distance(count).abs_diff(scale.distance(count + 1)) <= 1);
        }
    }
}
