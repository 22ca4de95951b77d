//! The eigenvalues and eigenvectors of a tridiagonal matrix: divide and conquer.
//!
//! T is two smaller ones and a matrix of rank one \[Cuppen 1981\]. Of their eigenvalues d and the rank-one vector z,
//! those with z ≈ 0 or two equal d are eigenvalues of T already (*deflated*); the others lie one each between
//! neighbouring d and solve the secular equation 1 + ρΣz²/(d − λ) = 0. Eigenvectors are orthogonal because they are
//! those of the z for which the computed λ are exact \[Gu–Eisenstat 1995\].

use super::matrix::Matrix;

/// Smaller ones are solved by rotations.
const SMALL: usize = 24;

/// Eigenvalues, ascending, and a unit eigenvector for each as a row.
pub(super) fn divided(diagonal: &[f64], beside: &[f64]) -> (Vec<f64>, Matrix) {
    let size = diagonal.len();
    // Scaled to about 1, so that nothing underflows or overflows.
    let largest = diagonal.iter().chain(beside).fold(0.0f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return (vec![0.0; size], identity(size));
    }
    let scaled = |values: &[f64]| values.iter().map(|value| value / largest).collect::<Vec<f64>>();
    let (mut values, vectors) = solved(scaled(diagonal), &scaled(beside));
    values.iter_mut().for_each(|value| *value *= largest);
    (values, vectors)
}

fn identity(size: usize) -> Matrix {
    let mut matrix = Matrix::zeros(size, size);
    (0..size).for_each(|place| matrix.row_mut(place)[place] = 1.0);
    matrix
}

fn solved(mut diagonal: Vec<f64>, beside: &[f64]) -> (Vec<f64>, Matrix) {
    let size = diagonal.len();
    if size <= SMALL {
        return rotated(diagonal, beside.to_vec());
    }
    let middle = size / 2;
    let between = beside[middle - 1];
    diagonal[middle - 1] -= between.abs();
    diagonal[middle] -= between.abs();
    let upper = solved(diagonal[..middle].to_vec(), &beside[..middle - 1]);
    let lower = solved(diagonal[middle..].to_vec(), &beside[middle..]);
    joined(upper, lower, between)
}

/// What is known while two halves are joined: values in ascending order, and where each one's vector is not 0.
struct Halves {
    values: Vec<f64>,
    z: Vec<f64>,
    vectors: Matrix,
    /// Whether a vector has entries in the upper half, and in the lower one.
    sides: Vec<(bool, bool)>,
}

fn joined(upper: (Vec<f64>, Matrix), lower: (Vec<f64>, Matrix), between: f64) -> (Vec<f64>, Matrix) {
    let middle = upper.0.len();
    let size = middle + lower.0.len();
    let mut halves = side_by_side(&upper, &lower, between);
    // ‖z‖² = 2 becomes 1.
    let rho = 2.0 * between.abs();
    let kept = deflated(&mut halves, rho);
    let d: Vec<f64> = kept.iter().map(|&place| halves.values[place]).collect();
    let z: Vec<f64> = kept.iter().map(|&place| halves.z[place]).collect();
    let (found, shares) = secular(&d, &z, rho);
    let mut new = Matrix::zeros(kept.len(), size);
    for (columns, is_there) in [
        (0..middle, (|side: (bool, bool)| side.0) as fn((bool, bool)) -> bool),
        (middle..size, |side: (bool, bool)| side.1),
    ] {
        let own: Vec<usize> = (0..kept.len()).filter(|&at| is_there(halves.sides[kept[at]])).collect();
        let mut factors = Matrix::zeros(kept.len(), own.len());
        for row in 0..kept.len() {
            let from = shares.row(row);
            factors.row_mut(row).iter_mut().zip(&own).for_each(|(to, &at)| *to = from[at]);
        }
        let mut rows = Matrix::zeros(own.len(), columns.len());
        for (row, &at) in own.iter().enumerate() {
            rows.row_mut(row).copy_from_slice(&halves.vectors.row(kept[at])[columns.clone()]);
        }
        let product = factors.times(&rows);
        for row in 0..kept.len() {
            new.row_mut(row)[columns.clone()].copy_from_slice(product.row(row));
        }
    }
    in_order(&halves, &kept, &found, &new)
}

/// The eigenvectors of both halves as rows of one matrix, ascending by their eigenvalues, and z of length 1.
fn side_by_side(upper: &(Vec<f64>, Matrix), lower: &(Vec<f64>, Matrix), between: f64) -> Halves {
    let (middle, size) = (upper.0.len(), upper.0.len() + lower.0.len());
    let mut order: Vec<(f64, usize)> = upper.0.iter().chain(&lower.0).copied().zip(0..).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (mut vectors, mut z, mut sides) = (Matrix::zeros(size, size), Vec::new(), Vec::new());
    for (row, (_, from)) in order.iter().enumerate() {
        if *from < middle {
            vectors.row_mut(row)[..middle].copy_from_slice(upper.1.row(*from));
            z.push(vectors.row(row)[middle - 1] / 2f64.sqrt());
        } else {
            vectors.row_mut(row)[middle..].copy_from_slice(lower.1.row(from - middle));
            z.push(vectors.row(row)[middle].copysign(vectors.row(row)[middle] * between) / 2f64.sqrt());
        }
        sides.push((*from < middle, *from >= middle));
    }
    Halves { values: order.into_iter().map(|(value, _)| value).collect(), z, vectors, sides }
}

/// Sets z to 0 where it hardly matters, rotating pairs of equal values; the places that remain, whose values are apart.
fn deflated(halves: &mut Halves, rho: f64) -> Vec<usize> {
    let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let tolerance = 8.0 * f64::EPSILON * largest(&halves.values).max(largest(&halves.z));
    let mut kept: Vec<usize> = Vec::new();
    for next in 0..halves.values.len() {
        if rho * halves.z[next].abs() <= tolerance {
            continue;
        }
        if let Some(&last) = kept.last()
            && rotated_away(halves, last, next, tolerance)
        {
            kept.pop();
        }
        kept.push(next);
    }
    kept
}

/// Turns the vectors of two nearly equal values so that the first has no share of z.
fn rotated_away(halves: &mut Halves, first: usize, second: usize, tolerance: f64) -> bool {
    let length = halves.z[first].hypot(halves.z[second]);
    let (c, s) = (halves.z[second] / length, -halves.z[first] / length);
    let (low, high) = (halves.values[first], halves.values[second]);
    if ((high - low) * c * s).abs() > tolerance {
        return false;
    }
    (halves.z[first], halves.z[second]) = (0.0, length);
    let (left, right) = halves.vectors.two_rows_mut(first, second);
    for (x, y) in left.iter_mut().zip(right) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
    halves.values[first] = low * c * c + high * s * s;
    halves.values[second] = low * s * s + high * c * c;
    let both = (halves.sides[first].0 || halves.sides[second].0, halves.sides[first].1 || halves.sides[second].1);
    (halves.sides[first], halves.sides[second]) = (both, both);
    true
}

/// The eigenvalues of diag(d) + ρzzᵀ, and for each its eigenvector in the coordinates of d as a row.
fn secular(d: &[f64], z: &[f64], rho: f64) -> (Vec<f64>, Matrix) {
    let size = d.len();
    let mut values = Vec::with_capacity(size);
    // Row i: d_j − λ_i, to full relative precision.
    let mut apart = Matrix::zeros(size, size);
    for root in 0..size {
        values.push(one_root(d, z, rho, root, apart.row_mut(root)));
    }
    let mut exact: Vec<f64> = Vec::with_capacity(size);
    for j in 0..size {
        let mut square = -apart.row(j)[j];
        for i in (0..size).filter(|&i| i != j) {
            square *= -apart.row(i)[j] / (d[i] - d[j]);
        }
        exact.push(square.abs().sqrt().copysign(z[j]));
    }
    for row in apart.data.chunks_exact_mut(size.max(1)) {
        row.iter_mut().zip(&exact).for_each(|(entry, z)| *entry = z / *entry);
        let length = row.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        row.iter_mut().for_each(|entry| *entry /= length);
    }
    (values, apart)
}

/// More steps than any root needs: each one at least halves its interval if it does not do better.
const MOST_STEPS: usize = 200;

/// The root between d_root and the next one (or beyond the last), and d − λ in `apart`. Poles are matched from both
/// sides in value and slope \[Bunch–Nielsen–Sorensen 1978\], within an interval that always holds the root.
fn one_root(d: &[f64], z: &[f64], rho: f64, root: usize, apart: &mut [f64]) -> f64 {
    let is_last = root + 1 == d.len();
    let squares: f64 = z.iter().map(|z| z * z).sum();
    let width = if is_last { rho * squares } else { d[root + 1] - d[root] };
    // Distances are from the nearer of the two poles.
    let at_middle =
        1.0 + rho * d.iter().zip(z).map(|(d_j, z_j)| z_j * z_j / ((d_j - d[root]) - 0.5 * width)).sum::<f64>();
    let from_left = is_last || at_middle >= 0.0;
    let origin = if from_left { d[root] } else { d[root + 1] };
    let (mut low, mut high) = match (from_left, at_middle >= 0.0) {
        (true, true) => (0.0, 0.5 * width),
        (true, false) => (0.5 * width, width),
        (false, _) => (-0.5 * width, 0.0),
    };
    let mut shift = 0.5 * (low + high);
    for _ in 0..MOST_STEPS {
        let (mut left, mut left_slope, mut right, mut right_slope, mut size) = (0.0, 0.0, 0.0, 0.0, 1.0);
        for (j, (d_j, z_j)) in d.iter().zip(z).enumerate() {
            let gap = (d_j - origin) - shift;
            let term = z_j / gap;
            let (value, slope) = (rho * z_j * term, rho * term * term);
            size += value.abs();
            if j <= root {
                left += value;
                left_slope += slope;
            } else {
                right += value;
                right_slope += slope;
            }
        }
        let f = 1.0 + left + right;
        if f > 0.0 {
            high = shift;
        } else {
            low = shift;
        }
        if f.abs() <= f64::EPSILON * size || high - low <= 2.0 * f64::EPSILON * low.abs().max(high.abs()) {
            break;
        }
        let before = (d[root] - origin) - shift;
        let step = if is_last {
            // 1 + r + s/(d − λ) = 0 with the value and the slope of the sum at λ.
            before + before * before * left_slope / (1.0 + left - before * left_slope)
        } else {
            let after = (d[root + 1] - origin) - shift;
            let (c, b) = (f - before * left_slope - after * right_slope, before * after * f);
            let a = (before + after) * f - before * after * (left_slope + right_slope);
            let root_of = (a * a - 4.0 * b * c).max(0.0).sqrt();
            if a <= 0.0 { (a - root_of) / (2.0 * c) } else { 2.0 * b / (a + root_of) }
        };
        let next = shift + step;
        shift = if next > low && next < high { next } else { 0.5 * (low + high) };
    }
    apart.iter_mut().zip(d).for_each(|(apart, d_j)| *apart = (d_j - origin) - shift);
    origin + shift
}

/// Old and new eigenvalues together, ascending, with their vectors.
fn in_order(halves: &Halves, kept: &[usize], found: &[f64], new: &Matrix) -> (Vec<f64>, Matrix) {
    let size = halves.values.len();
    let mut is_kept = vec![false; size];
    kept.iter().for_each(|&place| is_kept[place] = true);
    let old = (0..size).filter(|&place| !is_kept[place]).map(|place| (halves.values[place], halves.vectors.row(place)));
    let new = found.iter().enumerate().map(|(place, value)| (*value, new.row(place)));
    let mut all: Vec<(f64, &[f64])> = old.chain(new).collect();
    all.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut vectors = Matrix::zeros(size, size);
    for (row, (_, vector)) in all.iter().enumerate() {
        vectors.row_mut(row).copy_from_slice(vector);
    }
    (all.into_iter().map(|(value, _)| value).collect(), vectors)
}

/// Implicit QL with Wilkinson's shift.
fn rotated(mut diagonal: Vec<f64>, mut beside: Vec<f64>) -> (Vec<f64>, Matrix) {
    let size = diagonal.len();
    let mut vectors = identity(size);
    beside.push(0.0);
    for first in 0..size {
        // Three times the usual number of steps; what is left then is below any tolerance.
        for _ in 0..90 {
            let is_small = |at: usize| {
                beside[at].abs() <= f64::EPSILON * (diagonal[at].abs() + diagonal[at + 1].abs())
                    || beside[at].abs() < f64::MIN_POSITIVE
            };
            let last = (first..size - 1).find(|&at| is_small(at)).unwrap_or(size - 1);
            if last == first {
                break;
            }
            sweep(&mut diagonal, &mut beside, &mut vectors, first, last);
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|left, right| diagonal[*left].total_cmp(&diagonal[*right]));
    let mut sorted = Matrix::zeros(size, size);
    for (row, &from) in order.iter().enumerate() {
        sorted.row_mut(row).copy_from_slice(vectors.row(from));
    }
    (order.into_iter().map(|place| diagonal[place]).collect(), sorted)
}

/// One step of QL on the block from `first` to `last`.
fn sweep(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut Matrix, first: usize, last: usize) {
    let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
    let length = half.hypot(1.0);
    let mut g = diagonal[last] - diagonal[first] + beside[first] / (half + length.copysign(half));
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for at in (first..last).rev() {
        let (f, b) = (s * beside[at], c * beside[at]);
        let r = f.hypot(g);
        beside[at + 1] = r;
        if r == 0.0 {
            diagonal[at + 1] -= p;
            beside[last] = 0.0;
            return;
        }
        (s, c) = (f / r, g / r);
        g = diagonal[at + 1] - p;
        let r = (diagonal[at] - g) * s + 2.0 * c * b;
        p = s * r;
        diagonal[at + 1] = g + p;
        g = c * r - b;
        let (upper, lower) = vectors.two_rows_mut(at, at + 1);
        for (x, y) in upper.iter_mut().zip(lower) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
    diagonal[first] -= p;
    beside[first] = g;
    beside[last] = 0.0;
}
