//! Eigenvalues and eigenvectors of a symmetric matrix: Householder's tridiagonal form, divide and conquer, and back.
//!
//! The textbook algorithm (8.3 and 8.4 of \[Golub–Van Loan 2013\]), written here because what is needed is one routine
//! of a linear-algebra library, and a library would be most of this crate's build. The triangle is updated and
//! multiplied in one pass over the memory; all of the rest is products of matrices.

use super::super::nested::dot;
use super::divide::divided;
use super::matrix::Matrix;

/// The eigenvalues, ascending, and a unit eigenvector for each as a row.
pub(super) struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Matrix,
}

/// The eigenvalues and eigenvectors of a symmetric matrix; only its lower triangle is read.
pub(super) fn eigen(matrix: &Matrix) -> Eigen {
    let Tridiagonal { diagonal, beside, reflections, factors } = tridiagonal(matrix.clone());
    let (values, mut vectors) = divided(&diagonal, &beside);
    reflect(&mut vectors, &reflections, &factors);
    Eigen { values, vectors }
}

/// T with A = QTQᵀ, and Q as reflections I − factor·vvᵀ, the one of row i on the first i entries.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Entry i is between i and i + 1.
    beside: Vec<f64>,
    reflections: Matrix,
    factors: Vec<f64>,
}

fn tridiagonal(mut matrix: Matrix) -> Tridiagonal {
    let size = matrix.rows;
    let (mut diagonal, mut beside) = (vec![0.0; size], vec![0.0; size.saturating_sub(1)]);
    let (mut reflections, mut factors) = (Matrix::zeros(size, size), vec![0.0; size]);
    // The update A − vwᵀ − wvᵀ of the step before, which is still to be done.
    let (mut before, mut other) = (vec![0.0; size], vec![0.0; size]);
    for row in (1..size).rev() {
        let values = &mut matrix.row_mut(row)[..=row];
        let (v, w) = (before[row], other[row]);
        values.iter_mut().zip(before.iter().zip(&other)).for_each(|(value, (x, y))| *value -= v * y + w * x);
        diagonal[row] = values[row];
        let reflection = &mut reflections.row_mut(row)[..row];
        reflection.copy_from_slice(&values[..row]);
        (factors[row], beside[row - 1]) = reflector(reflection);
        let product = updated_times(&mut matrix, row, (&before, &other), reflection);
        // w = p − (factor/2)(pᵀv)v with p = factor·Av: then HAH = A − vwᵀ − wvᵀ.
        let factor = factors[row];
        let half = 0.5 * factor * factor * dot(&product, reflection);
        before[..row].copy_from_slice(reflection);
        for (w, (p, v)) in other.iter_mut().zip(product.iter().zip(reflection.iter())) {
            *w = factor * p - half * v;
        }
    }
    if size > 0 {
        diagonal[0] = matrix.data[0] - 2.0 * before[0] * other[0];
    }
    Tridiagonal { diagonal, beside, reflections, factors }
}

/// Makes of x the v of a reflection I − factor·vvᵀ that takes x to (0, …, 0, end); gives factor and end.
fn reflector(x: &mut [f64]) -> (f64, f64) {
    let Some((last, rest)) = x.split_last_mut() else { return (0.0, 0.0) };
    let largest = rest.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        let end = *last;
        *last = 0.0;
        return (0.0, end);
    }
    // Scaled, so that no square underflows or overflows.
    let scale = largest.max(last.abs());
    let squares: f64 = rest.iter().chain([&*last]).map(|value| (value / scale) * (value / scale)).sum();
    let end = -(scale * squares.sqrt()).copysign(*last);
    // v = (x − end·e)/(x_last − end): its last entry is 1, and factor = (end − x_last)/end.
    let (factor, below) = ((end - *last) / end, *last - end);
    rest.iter_mut().for_each(|value| *value /= below);
    *last = 1.0;
    (factor, end)
}

/// Updates the triangle of the first `size` rows, and multiplies it by `vector` in the same pass.
fn updated_times(matrix: &mut Matrix, size: usize, (before, other): (&[f64], &[f64]), vector: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; size];
    for row in 0..size {
        let (v, w, own) = (before[row], other[row], vector[row]);
        let values = &mut matrix.row_mut(row)[..row];
        let (mut sums, whole) = ([0.0; 4], row - row % 4);
        let fours = values[..whole].chunks_exact_mut(4).zip(before.chunks_exact(4).zip(other.chunks_exact(4)));
        let more = vector.chunks_exact(4).zip(product.chunks_exact_mut(4));
        for ((a, (x, y)), (u, p)) in fours.zip(more) {
            for lane in 0..4 {
                a[lane] -= v * y[lane] + w * x[lane];
                sums[lane] += a[lane] * u[lane];
                p[lane] += a[lane] * own;
            }
        }
        let mut sum: f64 = sums.iter().sum();
        for column in whole..row {
            values[column] -= v * other[column] + w * before[column];
            sum += values[column] * vector[column];
            product[column] += values[column] * own;
        }
        let last = &mut matrix.row_mut(row)[row];
        *last -= 2.0 * v * w;
        product[row] += sum + *last * own;
    }
    product
}

/// This many reflections are applied to a row together.
const TOGETHER: usize = 16;

/// Each row y becomes Qy: the reflections of the shortest vectors come first.
///
/// A block of reflections is I − VᵀSV with a small triangle S (the compact WY form), so that a row is read twice for
/// all of them.
fn reflect(rows: &mut Matrix, reflections: &Matrix, factors: &[f64]) {
    let size = rows.columns;
    for first in (1..size).step_by(TOGETHER) {
        let block = first..(first + TOGETHER).min(size);
        let length = block.end - 1;
        let vectors: Vec<&[f64]> = block.clone().map(|row| &reflections.row(row)[..length]).collect();
        let triangle = compact(&vectors, &factors[block]);
        for row in rows.data.chunks_exact_mut(size) {
            let row = &mut row[..length];
            let products: Vec<f64> = vectors.iter().map(|vector| dot(vector, row)).collect();
            for (vectors, shares) in vectors.chunks(4).zip(shares(&triangle, &products).chunks(4)) {
                subtract(row, vectors, shares);
            }
        }
    }
}

/// The triangle S of H_k⋯H_1 = I − Σ S_{ij}·v_i v_jᵀ: S gets a row for each further reflection.
fn compact(vectors: &[&[f64]], factors: &[f64]) -> Vec<Vec<f64>> {
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for (next, (vector, factor)) in vectors.iter().zip(factors).enumerate() {
        let products: Vec<f64> = vectors[..next].iter().map(|earlier| dot(vector, earlier)).collect();
        let mut row: Vec<f64> =
            (0..next).map(|j| -factor * (j..next).map(|i| products[i] * triangle[i][j]).sum::<f64>()).collect();
        row.push(*factor);
        triangle.push(row);
    }
    triangle
}

/// What is subtracted of each vector.
fn shares(triangle: &[Vec<f64>], products: &[f64]) -> Vec<f64> {
    triangle.iter().map(|row| row.iter().zip(products).map(|(s, p)| s * p).sum()).collect()
}

/// row − Σ share·vector.
fn subtract(row: &mut [f64], vectors: &[&[f64]], shares: &[f64]) {
    if let ([a, b, c, d], [p, q, r, s]) = (vectors, shares) {
        let values = a.iter().zip(b.iter()).zip(c.iter().zip(d.iter()));
        for (entry, ((w, x), (y, z))) in row.iter_mut().zip(values) {
            *entry -= (p * w + q * x) + (r * y + s * z);
        }
        return;
    }
    for (vector, share) in vectors.iter().zip(shares) {
        row.iter_mut().zip(vector.iter()).for_each(|(entry, value)| *entry -= share * value);
    }
}

#[cfg(test)]
mod tests;
