//! Seeded statistics with a stated false-alarm probability: for what is too large to enumerate.

/// The chance that a test which uses this module fails although nothing is wrong (for another seed; ours are fixed).
pub const FALSE_ALARM: f64 = 1e-9;

/// Fewer expected draws than this in a cell, and it is pooled with its neighbours: Pearson's statistic is then close
/// enough to its limit.
const LEAST_EXPECTED: f64 = 200.0;

/// What a chi-square variable with this many degrees of freedom exceeds with probability at most `false_alarm`
/// (Laurent and Massart, *Adaptive estimation of a quadratic functional*, 2000, lemma 1).
///
/// ```
/// use scumble::harness::statistics::chi_square_limit;
/// assert!(chi_square_limit(10, 1e-9) > 10.0);
/// ```
pub fn chi_square_limit(degrees: usize, false_alarm: f64) -> f64 {
    let (degrees, x) = (degrees as f64, -false_alarm.ln());
    degrees + 2.0 * (degrees * x).sqrt() + 2.0 * x
}

/// Compares counts with the probabilities of the same cells, in order; what the cells leave out is one more cell.
/// Neighbouring cells are pooled until each has enough draws. Fails with both sides shown.
///
/// # Panics
/// If the counts would be this far off with probability at most [`FALSE_ALARM`].
pub fn assert_agree(name: &str, draws: u64, cells: impl IntoIterator<Item = (u64, f64)>) {
    let pooled = pool(draws, cells);
    let term = |(count, expected): &(f64, f64)| (count - expected).powi(2) / expected;
    let statistic: f64 = pooled.iter().map(term).sum();
    let limit = chi_square_limit(pooled.len() - 1, FALSE_ALARM);
    assert!(pooled.len() > 1, "{name}: only one cell, nothing is tested");
    let worst = pooled.iter().max_by(|a, b| term(a).total_cmp(&term(b)));
    assert!(
        statistic <= limit,
        "{name}: chi-square {statistic:.1} > {limit:.1} with {} cells, worst {worst:?}",
        pooled.len()
    );
}

fn pool(draws: u64, cells: impl IntoIterator<Item = (u64, f64)>) -> Vec<(f64, f64)> {
    let draws = draws as f64;
    let mut pooled: Vec<(f64, f64)> = Vec::new();
    let (mut count, mut expected, mut seen, mut listed) = (0.0, 0.0, 0.0, 0.0);
    for (observed, probability) in cells {
        count += observed as f64;
        expected += probability * draws;
        seen += observed as f64;
        listed += probability;
        if expected >= LEAST_EXPECTED {
            pooled.push((count, expected));
            (count, expected) = (0.0, 0.0);
        }
    }
    count += draws - seen;
    expected += (1.0 - listed).max(0.0) * draws;
    match pooled.last_mut() {
        Some(last) if expected < LEAST_EXPECTED => *last = (last.0 + count, last.1 + expected),
        _ => pooled.push((count, expected)),
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{BitSource, InsecureSeededSource};

    #[test]
    fn a_fair_die_passes_and_a_loaded_one_does_not() {
        let mut bits = InsecureSeededSource::new(1);
        let mut counts = [0u64; 4];
        for _ in 0..100_000 {
            counts[bits.next_bits(2) as usize] += 1;
        }
        assert_agree("fair", 100_000, counts.map(|count| (count, 0.25)));
        let loaded = [0.24, 0.26, 0.25, 0.25];
        let failed = std::panic::catch_unwind(|| assert_agree("loaded", 100_000, counts.into_iter().zip(loaded)));
        assert!(failed.is_err());
    }

    #[test]
    fn the_limit_is_above_the_true_quantile() {
        // The 1 − 1e-9 quantiles of chi-square with 1 and 100 degrees of freedom are 37.32 and 207.3.
        assert!(chi_square_limit(1, 1e-9) > 37.32 && chi_square_limit(1, 1e-9) < 60.0);
        assert!(chi_square_limit(100, 1e-9) > 207.3 && chi_square_limit(100, 1e-9) < 240.0);
    }
}
