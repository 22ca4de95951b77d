//! Gram matrices QᵀQ of query matrices: their factors, and a certified lower bound of their least eigenvalue.

/// A symmetric matrix with non-negative eigenvalues, exact entries (whole numbers below 2⁵³), row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gram {
    size: usize,
    entries: Vec<f64>,
}

/// A lower triangular factor L with LLᵀ near a matrix.
#[derive(Debug, Clone)]
pub(crate) struct CholeskyFactor {
    size: usize,
    entries: Vec<f64>,
}

/// Rows that are worked on together, so that they stay in the cache.
const BLOCK: usize = 32;

impl Gram {
    /// Of the columns that `product(i, j)` multiplies.
    pub(crate) fn new(size: usize, mut product: impl FnMut(usize, usize) -> f64) -> Self {
        let mut entries = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let value = product(i, j);
                entries[i * size + j] = value;
                entries[j * size + i] = value;
            }
        }
        Self { size, entries }
    }

    /// The same for some of the columns.
    pub(crate) fn of_columns(&self, columns: &[usize]) -> Self {
        Self::new(columns.len(), |i, j| self.entries[columns[i] * self.size + columns[j]])
    }

    /// Cholesky's factor of the matrix plus `shift` times the identity; none where a pivot is not above 0.
    pub(crate) fn factor(&self, shift: f64) -> Option<CholeskyFactor> {
        let n = self.size;
        let mut entries = self.entries.clone();
        for i in 0..n {
            entries[i * n + i] += shift;
        }
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            for rows in (start..n).step_by(BLOCK) {
                for i in rows..(rows + BLOCK).min(n) {
                    for j in start..end.min(i + 1) {
                        let (before, own) = entries.split_at_mut(i * n);
                        let other = if j == i { &own[..start] } else { &before[j * n..j * n + start] };
                        let sum = dot(&own[..start], other);
                        own[j] -= sum;
                    }
                }
            }
            for j in start..end {
                let pivot =
                    entries[j * n + j] - dot(&entries[j * n + start..j * n + j], &entries[j * n + start..j * n + j]);
                if pivot.is_nan() || pivot <= 0.0 {
                    return None;
                }
                let root = libm::sqrt(pivot);
                entries[j * n + j] = root;
                for i in j + 1..n {
                    let (before, own) = entries.split_at_mut(i * n);
                    own[j] = (own[j] - dot(&own[start..j], &before[j * n + start..j * n + j])) / root;
                }
            }
        }
        Some(CholeskyFactor { size: n, entries })
    }

    /// A vector near the eigenvector of the least eigenvalue, and its Rayleigh quotient: inverse iteration.
    pub(crate) fn weakest_direction(&self, steps: usize) -> (Vec<f64>, f64) {
        let n = self.size;
        let trace: f64 = (0..n).map(|i| self.entries[i * n + i]).sum();
        let mut shift = 1e-13 * trace;
        let factor = loop {
            match self.factor(shift) {
                Some(factor) => break factor,
                None => shift = 10.0 * shift.max(f64::MIN_POSITIVE),
            }
            if !shift.is_finite() {
                return (vec![0.0; n], 0.0);
            }
        };
        // Not orthogonal to anything that a query matrix is likely to have.
        let mut vector: Vec<f64> = (0..n).map(|i| 1.0 + libm::sin(1.0 + 2.0 * i as f64)).collect();
        let mut before = 0.0;
        for _ in 0..steps {
            factor.solve(&mut vector);
            let length = libm::sqrt(dot(&vector, &vector));
            if length == 0.0 || !length.is_finite() {
                break;
            }
            vector.iter_mut().for_each(|value| *value /= length);
            if (length / before - 1.0).abs() < 1e-14 {
                break;
            }
            before = length;
        }
        let image: f64 = (0..n).map(|i| vector[i] * dot(&self.entries[i * n..(i + 1) * n], &vector)).sum();
        (vector, image.max(0.0))
    }

    /// A certified lower bound of the least eigenvalue; 0 where nothing better is certain.
    ///
    /// If Cholesky's algorithm in floating point runs through on A − μ·1, then the least eigenvalue of A is at least
    /// μ − γ·tr A with γ = (n + 2)u/(1 − (n + 2)u) (Rump 2006, *Verification of positive definiteness*; any order of
    /// summation).
    pub(crate) fn least_eigenvalue_lower(&self) -> f64 {
        let n = self.size;
        if n == 0 {
            return 0.0;
        }
        let (_, near) = self.weakest_direction(300);
        let trace: f64 = (0..n).map(|i| self.entries[i * n + i]).sum();
        let unit = f64::EPSILON / 2.0;
        // One more for the rounding of the shifted diagonal and of the trace.
        let rounding = (n as f64 + 8.0) * unit * 1.01 * trace;
        let mut below = 1e-13;
        while below < 1.0 {
            let shift = near * (1.0 - below);
            if shift <= rounding {
                return 0.0;
            }
            if self.factor(-shift).is_some() {
                return (shift - rounding) * (1.0 - 1e-15);
            }
            below *= 8.0;
        }
        0.0
    }
}

impl CholeskyFactor {
    /// Replaces b by the solution of LLᵀx = b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            let row = &self.entries[i * n..i * n + i];
            b[i] = (b[i] - dot(row, &b[..i])) / self.entries[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] /= self.entries[i * n + i];
            let (before, own) = b.split_at_mut(i);
            let row = &self.entries[i * n..i * n + i];
            before.iter_mut().zip(row).for_each(|(value, factor)| *value -= own[0] * factor);
        }
    }

    /// The diagonal of the inverse: the squared lengths of the columns of L⁻¹.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let n = self.size;
        let column = |at: usize| {
            let mut solved = vec![0.0; n];
            for i in at..n {
                let one = if i == at { 1.0 } else { 0.0 };
                let row = &self.entries[i * n + at..i * n + i];
                solved[i] = (one - dot(row, &solved[at..i])) / self.entries[i * n + i];
            }
            dot(&solved, &solved)
        };
        (0..n).map(column).collect()
    }
}

/// Σ a·b in eight sums, which the compiler keeps in registers.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (long, other) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = long.remainder().iter().zip(other.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in long.zip(other) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 on the diagonal and r next to it: eigenvalues 1 + 2r·cos(πk/(n+1)).
    #[test]
    fn the_least_eigenvalue_is_bounded_from_below_and_closely() {
        for n in [1usize, 2, 7, 40, 100] {
            let gram = Gram::new(n, |i, j| match i - j {
                0 => 9.0,
                1 => 4.0,
                _ => 0.0,
            });
            let truth = 9.0 + 8.0 * (std::f64::consts::PI * n as f64 / (n as f64 + 1.0)).cos();
            let found = gram.least_eigenvalue_lower();
            assert!(found <= truth * (1.0 + 1e-15) && found > truth * (1.0 - 1e-5), "{n}: {found} {truth}");
        }
        // Two equal columns.
        assert_eq!(Gram::new(2, |_, _| 1.0).least_eigenvalue_lower(), 0.0);
    }

    #[test]
    fn factors_solve_and_invert() {
        let n = 50;
        let gram = Gram::new(n, |i, j| if i == j { 100.0 + i as f64 } else { ((i * 7 + j * 3) % 5) as f64 });
        let factor = gram.factor(0.0).unwrap();
        let x: Vec<f64> = (0..n).map(|i| i as f64 - 20.0).collect();
        let mut b: Vec<f64> = (0..n).map(|i| dot(&gram.entries[i * n..(i + 1) * n], &x)).collect();
        factor.solve(&mut b);
        assert!(b.iter().zip(&x).all(|(found, truth)| (found - truth).abs() < 1e-10));
        let mut unit = vec![0.0; n];
        unit[17] = 1.0;
        factor.solve(&mut unit);
        assert!((factor.inverse_diagonal()[17] - unit[17]).abs() < 1e-14);
    }
}
