//! Post-processing of a tree of counts: least squares, and a function that does not decrease.

/// The leaves of the tree of counts that is consistent (children add up to their parent) and closest to the noisy one
/// in the sum of squares, for noise of the same variance in every node (Hay, Rastogi, Miklau, Suciu 2010, Theorem 3,
/// for `branching` children): upwards, a node becomes a weighted mean of itself and its children's sum; downwards, what
/// a parent has more than its children is shared among them.
pub(super) fn leaves(noisy: Vec<Vec<i64>>, branching: usize) -> Vec<f64> {
    let mut levels: Vec<Vec<f64>> =
        noisy.into_iter().map(|level| level.into_iter().map(|count| count as f64).collect()).collect();
    let b = branching as f64;
    for depth in (0..levels.len() - 1).rev() {
        let height = (levels.len() - depth) as i32;
        // The weight of a node's own count: (b^h − b^{h−1})/(b^h − 1), h = 1 at the leaves.
        let own = (1.0 - 1.0 / b) / (1.0 - b.powi(-height));
        let (above, below) = levels.split_at_mut(depth + 1);
        for (node, children) in above[depth].iter_mut().zip(below[0].chunks(branching)) {
            *node = own * *node + (1.0 - own) * children.iter().sum::<f64>();
        }
    }
    for depth in 1..levels.len() {
        let (above, below) = levels.split_at_mut(depth);
        for (parent, children) in above[depth - 1].iter().zip(below[0].chunks_mut(branching)) {
            let share = (parent - children.iter().sum::<f64>()) / b;
            children.iter_mut().for_each(|child| *child += share);
        }
    }
    levels.pop().unwrap_or_default()
}

/// The never decreasing sequence closest in the sum of squares (pool adjacent violators). It is never further from a
/// never decreasing truth, in the largest difference, than the given one.
///
/// ```
/// assert_eq!(scumble::mechanism::cdf::isotonic(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
/// ```
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut pool = (*value, 1usize);
        while let Some((mean, count)) = pools.pop_if(|(mean, _)| *mean > pool.0) {
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

/// The never decreasing sequence with the last number as it is that is closest in the sum of squares: the others by
/// themselves, cut off at the last (bounds of an isotonic regression are kept by cutting it off).
///
/// Without this the last number is the largest mean of the last ones, which is too large on average wherever the truth
/// is flat there.
///
/// ```
/// assert_eq!(scumble::mechanism::cdf::up_to_total(&[1.0, 3.0, 2.0, 2.25]), [1.0, 2.25, 2.25, 2.25]);
/// ```
pub fn up_to_total(values: &[f64]) -> Vec<f64> {
    let Some((total, others)) = values.split_last() else { return Vec::new() };
    isotonic(others).into_iter().map(|value| value.min(*total)).chain([*total]).collect()
}
