//! The nearest matrix with ones on the diagonal and no negative eigenvalue, in the Frobenius norm.
//!
//! Its dual is to minimise θ(y) = ½‖(A + Diag y)₊‖² − Σy. The gradient of θ is diag((A + Diag y)₊) − 1, and a
//! generalised Hessian is h ↦ diag(V(W∘(VᵀDiag(h)V))Vᵀ), W being 1 between positive eigenvalues and λ_i/(λ_i − λ_j)
//! between a positive and another: a semismooth Newton method \[QS06\], with conjugate gradients for each step and
//! Armijo's rule. What is found carries its own certificate.

use super::super::nested::dot;
use super::eigen::{Eigen, eigen};
use super::matrix::Matrix;
use crate::error::Result;

/// The nearest correlation matrix, nearly.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestCorrelation {
    size: usize,
    entries: Vec<f64>,
    /// ½‖X̂ − A‖² is at most this much above the least possible one, and ‖X̂ − X*‖² at most twice this (up to f64
    /// rounding).
    pub gap: f64,
    /// How many steps of Newton it took.
    pub steps: usize,
}

impl NearestCorrelation {
    /// An entry.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.size + column]
    }

    /// All entries, row after row.
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }
}

/// The gap at which a matrix is near enough, for each of its entries.
const ENOUGH: f64 = 1e-9;
/// More steps have never been needed; what is found by then says how near it is.
const MOST_STEPS: usize = 60;

/// The nearest correlation matrix of a symmetric matrix of `size` rows, given row after row.
///
/// Refused where an entry is not finite, or the matrix is not symmetric.
///
/// ```
/// use scumble::workload::psd::nearest_correlation;
/// let noisy = [1.0, 0.9, 0.9, 0.9, 1.0, -0.9, 0.9, -0.9, 1.0];
/// let nearest = nearest_correlation(3, &noisy)?;
/// assert!((nearest.at(0, 1) - 0.5).abs() < 1e-7 && nearest.gap < 1e-9);
/// assert!(nearest_correlation(2, &[1.0, f64::NAN, f64::NAN, 1.0]).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn nearest_correlation(size: usize, entries: &[f64]) -> Result<NearestCorrelation> {
    if size == 0 || entries.len() != size * size {
        refuse!("a matrix of {size} rows does not have {} entries", entries.len());
    }
    let matrix = Matrix { rows: size, columns: size, data: entries.to_vec() };
    for (row, values) in entries.chunks_exact(size).enumerate() {
        for (column, value) in values.iter().enumerate() {
            if !value.is_finite() || value.abs() > 1e100 {
                refuse!("row {row} of the matrix has {value} in column {column}, and not a number up to 1e100");
            }
            if *value != matrix.row(column)[row] {
                refuse!("the matrix is not symmetric: rows {row} and {column} differ");
            }
        }
    }
    Ok(found(&matrix))
}

/// A point of the dual.
struct DualPoint {
    y: Vec<f64>,
    eigen: Eigen,
    theta: f64,
    gradient: Vec<f64>,
}

impl DualPoint {
    fn new(matrix: &Matrix, y: Vec<f64>) -> Self {
        let mut shifted = matrix.clone();
        y.iter().enumerate().for_each(|(at, y)| shifted.row_mut(at)[at] += y);
        let eigen = eigen(&shifted);
        let positive = || eigen.values.iter().enumerate().filter(|(_, value)| **value > 0.0);
        let theta = 0.5 * positive().map(|(_, value)| value * value).sum::<f64>() - y.iter().sum::<f64>();
        let mut gradient = vec![-1.0; y.len()];
        for (place, value) in positive() {
            let vector = eigen.vectors.row(place);
            gradient.iter_mut().zip(vector).for_each(|(entry, v)| *entry += value * v * v);
        }
        Self { y, eigen, theta, gradient }
    }

    /// (A + Diag y)₊ with its diagonal scaled to ones.
    fn feasible(&self) -> Matrix {
        let size = self.y.len();
        let first = self.eigen.values.iter().position(|value| *value > 0.0).unwrap_or(size);
        let mut half = Matrix::zeros(size - first, size);
        for (row, place) in (first..size).enumerate() {
            let root = self.eigen.values[place].sqrt();
            half.row_mut(row).iter_mut().zip(self.eigen.vectors.row(place)).for_each(|(to, v)| *to = root * v);
        }
        let mut matrix = half.transposed().times(&half);
        let scale: Vec<f64> = (0..size).map(|at| matrix.row(at)[at].max(0.0).sqrt()).collect();
        for (row, values) in matrix.data.chunks_exact_mut(size).enumerate() {
            for (column, value) in values.iter_mut().enumerate() {
                // A row without a diagonal is 0 altogether.
                let both = scale[row] * scale[column];
                *value = match () {
                    () if row == column => 1.0,
                    () if both > 0.0 => (*value / both).clamp(-1.0, 1.0),
                    () => 0.0,
                };
            }
        }
        matrix
    }
}

fn found(matrix: &Matrix) -> NearestCorrelation {
    let (size, squares) = (matrix.rows, matrix.squares());
    // Of large entries the gap is a difference of large numbers: what rounding leaves of it is enough.
    let enough = (ENOUGH * (size * size) as f64).max(64.0 * f64::EPSILON * squares);
    let mut point = DualPoint::new(matrix, matrix.row(0).iter().map(|_| 0.0).collect());
    let mut best: Option<NearestCorrelation> = None;
    for steps in 0..=MOST_STEPS {
        let feasible = point.feasible();
        let distance: f64 = feasible.data.iter().zip(&matrix.data).map(|(x, a)| (x - a) * (x - a)).sum();
        let gap = (0.5 * distance - (0.5 * squares - point.theta)).max(0.0);
        if best.as_ref().is_none_or(|best| gap < best.gap) {
            best = Some(NearestCorrelation { size, entries: feasible.data, gap, steps });
        }
        if gap <= enough || steps == MOST_STEPS {
            break;
        }
        match step(matrix, &point) {
            Some(next) => point = next,
            None => break,
        }
    }
    best.unwrap_or_else(|| unreachable!("the first point is feasible"))
}

/// A step that lowers θ by Armijo's rule; none where rounding allows none.
fn step(matrix: &Matrix, point: &DualPoint) -> Option<DualPoint> {
    let direction = newton(point);
    let slope = dot(&direction, &point.gradient);
    let mut length = 1.0;
    for _ in 0..30 {
        let y = point.y.iter().zip(&direction).map(|(y, d)| y + length * d).collect();
        let next = DualPoint::new(matrix, y);
        if next.theta <= point.theta + 1e-4 * length * slope {
            return Some(next);
        }
        length *= 0.5;
    }
    None
}

/// Conjugate gradients for (Hessian + a little)·x = −gradient, to a hundredth of the gradient.
fn newton(point: &DualPoint) -> Vec<f64> {
    let hessian = Hessian::new(&point.eigen);
    let length = |vector: &[f64]| dot(vector, vector).sqrt();
    let goal = 1e-2 * length(&point.gradient);
    let little = 1e-10f64.max(1e-6 * length(&point.gradient).min(1.0));
    let mut x = vec![0.0; point.y.len()];
    let mut rest: Vec<f64> = point.gradient.iter().map(|entry| -entry).collect();
    let mut direction = rest.clone();
    let mut square = dot(&rest, &rest);
    for _ in 0..200 {
        if square.sqrt() <= goal {
            break;
        }
        let mut image = hessian.times(&direction);
        image.iter_mut().zip(&direction).for_each(|(image, d)| *image += little * d);
        let along = dot(&direction, &image);
        if along <= 0.0 {
            break;
        }
        let share = square / along;
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += share * d);
        rest.iter_mut().zip(&image).for_each(|(rest, image)| *rest -= share * image);
        let next = dot(&rest, &rest);
        direction.iter_mut().zip(&rest).for_each(|(d, rest)| *d = rest + next / square * *d);
        square = next;
    }
    x
}

/// The generalised Hessian; of W and 1 − W that one is used which is 0 on more rows.
struct Hessian<'a> {
    eigen: &'a Eigen,
    turned: Matrix,
    /// The eigenvectors that are looked at.
    own: std::ops::Range<usize>,
    /// What each product counts, for each of these vectors and each vector.
    weights: Matrix,
    is_complement: bool,
}

impl<'a> Hessian<'a> {
    fn new(eigen: &'a Eigen) -> Self {
        let size = eigen.values.len();
        let first = eigen.values.iter().position(|value| *value > 0.0).unwrap_or(size);
        let is_complement = 2 * first < size;
        let own = if is_complement { 0..first } else { first..size };
        let mut weights = Matrix::zeros(own.len(), size);
        for (row, place) in own.clone().enumerate() {
            let value = eigen.values[place];
            for (column, other) in eigen.values.iter().enumerate() {
                // W between a positive λ and another μ is λ/(λ − μ), and counts for both orders; 1 − W is −μ/(λ − μ),
                // the same with signs turned.
                weights.row_mut(row)[column] = if own.contains(&column) { 1.0 } else { 2.0 * value / (value - other) };
            }
        }
        Self { eigen, turned: eigen.vectors.transposed(), own, weights, is_complement }
    }

    fn times(&self, h: &[f64]) -> Vec<f64> {
        let size = h.len();
        let mut scaled = Matrix::zeros(self.own.len(), size);
        for (row, place) in self.own.clone().enumerate() {
            let vector = self.eigen.vectors.row(place);
            scaled.row_mut(row).iter_mut().zip(vector.iter().zip(h)).for_each(|(to, (v, h))| *to = v * h);
        }
        let mut products = scaled.times(&self.turned);
        products.data.iter_mut().zip(&self.weights.data).for_each(|(product, weight)| *product *= weight);
        let images = products.times(&self.eigen.vectors);
        let mut result = vec![0.0; size];
        for (row, place) in self.own.clone().enumerate() {
            let pairs = self.eigen.vectors.row(place).iter().zip(images.row(row));
            result.iter_mut().zip(pairs).for_each(|(sum, (v, image))| *sum += v * image);
        }
        match self.is_complement {
            true => h.iter().zip(&result).map(|(h, rest)| h - rest).collect(),
            false => result,
        }
    }
}
