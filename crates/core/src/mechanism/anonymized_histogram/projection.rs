//! Exact integer projections onto falling sequences, with a rule for ties, so that the same noisy vector gives the same
//! answer everywhere.

use std::collections::BinaryHeap;

/// The falling sequence nearest to `values` in the weighted L1 norm; of several, the pointwise smallest. O(m log m),
/// integers only.
///
/// A heap of the values seen so far, from the last to the first: pushing each with twice its weight and popping once
/// its weight keeps the slope of the cost function; the heap's maximum is where that function is smallest.
pub fn least_absolute(values: &[i64], weights: &[u64]) -> Vec<i64> {
    let mut heap: BinaryHeap<(i64, u128)> = BinaryHeap::with_capacity(values.len());
    let mut projected = vec![0i64; values.len()];
    for (position, (value, weight)) in values.iter().zip(weights).enumerate().rev() {
        heap.push((*value, 2 * u128::from(*weight)));
        let mut surplus = u128::from(*weight);
        while let Some(mut top) = heap.peek_mut() {
            if top.1 > surplus {
                top.1 -= surplus;
                projected[position] = top.0;
                break;
            }
            surplus -= top.1;
            std::collections::binary_heap::PeekMut::pop(top);
        }
    }
    for position in 1..projected.len() {
        projected[position] = projected[position].min(projected[position - 1]);
    }
    projected
}

/// Heights are counted in units of 2⁻¹⁶ where they need not be whole.
pub const FRACTION_BITS: u32 = 16;

/// A falling sequence of averages: what [`least_squares`] found.
pub struct MonotoneFit {
    /// The area of each strip, rounded.
    pub areas: Vec<u64>,
    /// The average height of each strip in units of 2⁻¹⁶, rounded down, which keeps it falling.
    pub heights: Vec<i128>,
}

/// The falling sequence of averages nearest to `areas[i] / widths[i]` in the L2 norm weighted by the widths, also times
/// the widths: negative areas become 0 and each is rounded, halves up. Pool adjacent violators in exact integers, O(m).
///
/// Clamping a projection at 0 is the projection onto what is falling and not negative. Isotonic L2 regression brings
/// the weighted L1 distance (indeed every convex one) to a falling target no further away (spec B1.3), so only the
/// rounding, at most ½ each, adds to the noise.
pub fn least_squares(areas: &[i64], widths: &[u64]) -> MonotoneFit {
    struct PooledBlock {
        area: i128,
        width: i128,
        members: usize,
    }
    let mut blocks: Vec<PooledBlock> = Vec::new();
    for (area, width) in areas.iter().zip(widths) {
        let mut last = PooledBlock { area: i128::from(*area), width: i128::from(*width), members: 1 };
        // Exact: |area| < 2^63·m and width ≤ 2^41·m keep the products far below 2^127.
        while let Some(before) = blocks.pop_if(|before| before.area * last.width < last.area * before.width) {
            last.area += before.area;
            last.width += before.width;
            last.members += before.members;
        }
        blocks.push(last);
    }
    let mut fit = MonotoneFit { areas: Vec::with_capacity(areas.len()), heights: Vec::with_capacity(areas.len()) };
    for block in blocks {
        let total = block.area.max(0);
        for _ in 0..block.members {
            let width = i128::from(widths[fit.areas.len()]);
            let area = (2 * total * width + block.width) / (2 * block.width);
            fit.areas.push(u64::try_from(area).unwrap_or(u64::MAX));
            fit.heights.push((total << FRACTION_BITS) / block.width);
        }
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(values: &[i64], weights: &[u64], candidate: &[i64]) -> u64 {
        values.iter().zip(weights).zip(candidate).map(|((value, weight), at)| weight * value.abs_diff(*at)).sum()
    }

    /// Every falling sequence of this length with entries in `low..=high`.
    fn falling(length: usize, low: i64, high: i64) -> Vec<Vec<i64>> {
        if length == 0 {
            return vec![Vec::new()];
        }
        let shorter = falling(length - 1, low, high);
        let longer = |start: &Vec<i64>| {
            let top = start.last().copied().unwrap_or(high);
            let start = start.clone();
            (low..=top).map(move |next| start.iter().copied().chain([next]).collect::<Vec<i64>>())
        };
        shorter.iter().flat_map(longer).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn least_absolute_is_the_smallest_best(pairs in proptest::collection::vec((-3i64..6, 1u64..4), 1..6)) {
            let (values, weights): (Vec<i64>, Vec<u64>) = pairs.into_iter().unzip();
            let found = least_absolute(&values, &weights);
            let all = falling(values.len(), -3, 5);
            let best = all.iter().map(|candidate| cost(&values, &weights, candidate)).min().unwrap();
            prop_assert_eq!(cost(&values, &weights, &found), best);
            prop_assert!(found.windows(2).all(|pair| pair[0] >= pair[1]));
            for candidate in all.iter().filter(|candidate| cost(&values, &weights, candidate) == best) {
                prop_assert!(found.iter().zip(candidate).all(|(ours, theirs)| ours <= theirs), "{found:?} {candidate:?}");
            }
        }

        #[test]
        fn clamping_is_best_among_what_is_not_negative(values in proptest::collection::vec(-4i64..6, 1..6)) {
            let weights = vec![1; values.len()];
            let clamped: Vec<i64> = least_absolute(&values, &weights).into_iter().map(|value| value.max(0)).collect();
            let all = falling(values.len(), 0, 5);
            let best = all.iter().map(|candidate| cost(&values, &weights, candidate)).min().unwrap();
            prop_assert_eq!(cost(&values, &weights, &clamped), best);
        }

        /// The claim in the documentation of `least_squares`: no further from any falling target than the noisy vector,
        /// up to rounding.
        #[test]
        fn least_squares_contracts_towards_falling_targets(
            pairs in proptest::collection::vec((-50i64..50, 1u64..5, 0i64..20), 1..12)
        ) {
            let widths: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
            let mut targets: Vec<i64> = pairs.iter().map(|pair| pair.2).collect();
            targets.sort_unstable_by(|left, right| right.cmp(left));
            let target_areas: Vec<i64> = targets.iter().zip(&widths).map(|(target, width)| target * *width as i64).collect();
            let noisy: Vec<i64> = pairs.iter().zip(&target_areas).map(|(pair, area)| pair.0 + area).collect();
            let found = least_squares(&noisy, &widths).areas;
            let noise: u64 = noisy.iter().zip(&target_areas).map(|(left, right)| left.abs_diff(*right)).sum();
            let error: u64 = found.iter().zip(&target_areas).map(|(left, right)| (*left as i64).abs_diff(*right)).sum();
            prop_assert!(2 * error <= 2 * noise + pairs.len() as u64, "{error} {noise}");
        }
    }

    #[test]
    fn a_falling_sequence_stays_as_it_is() {
        assert_eq!(least_absolute(&[9, 4, 4, 0], &[1; 4]), [9, 4, 4, 0]);
        assert_eq!(least_squares(&[9, 8, 6, 0], &[1, 2, 2, 3]).areas, [9, 8, 6, 0]);
        assert!(least_absolute(&[], &[]).is_empty() && least_squares(&[], &[]).areas.is_empty());
    }
}
