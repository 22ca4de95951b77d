//! Reconstruction by least squares: the estimate nearest to the answers, rounded at ½ (Dwork, McSherry, Talwar 2007;
//! Vadhan 2017, 7.5.2).

use super::{Queries, check_answers, rounded};
use crate::limits::gram::dot;
use crate::limits::singular::MOST_COLUMNS;
use scumble::error::Result;
use scumble::loss::special::normal_above;

/// An estimate of the secret column.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LeastSquaresSolution {
    /// The numbers of least squared error (of least length, if there are several).
    pub estimate: Vec<f64>,
    /// Rounded at ½.
    pub column: Vec<bool>,
}

/// More steps than this are not made.
const MOST_STEPS: usize = 5000;

/// Conjugate gradients on the normal equations, from 0.
///
/// ```
/// use scumble_adversary::attack::{Queries, least_squares::reconstruct};
/// let queries = Queries::new(2, vec![vec![0], vec![1], vec![0, 1]])?;
/// assert_eq!(reconstruct(&queries, &[1.0, 0.1, 0.9])?.column, [true, false]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn reconstruct(queries: &Queries, answers: &[f64]) -> Result<LeastSquaresSolution> {
    check_answers(queries, answers)?;
    let mut x = vec![0.0; queries.people()];
    let mut residual = answers.to_vec();
    let mut slope = queries.transposed(&residual);
    let mut direction = slope.clone();
    let first = dot(&slope, &slope);
    let mut length = first;
    for _ in 0..MOST_STEPS.min(20 + 4 * queries.people()) {
        if length <= 1e-24 * first || length == 0.0 {
            break;
        }
        let image = queries.answers(&direction);
        let curvature = dot(&image, &image);
        if curvature == 0.0 {
            break;
        }
        let step = length / curvature;
        x.iter_mut().zip(&direction).for_each(|(x, direction)| *x += step * direction);
        residual.iter_mut().zip(&image).for_each(|(residual, image)| *residual -= step * image);
        slope = queries.transposed(&residual);
        let before = std::mem::replace(&mut length, dot(&slope, &slope));
        let turn = length / before;
        direction.iter_mut().zip(&slope).for_each(|(direction, slope)| *direction = slope + turn * *direction);
    }
    Ok(LeastSquaresSolution { column: rounded(&x), estimate: x })
}

/// What is certain about a query matrix, for at most 3000 people.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixCertificate {
    /// A lower bound of the least singular value; 0 where nothing is certain.
    pub least_singular_value: f64,
    inverse_diagonal: Option<Vec<f64>>,
}

impl MatrixCertificate {
    /// Of these queries; with `predictions`, also what [`MatrixCertificate::predicted_wrong`] needs (an inverse).
    pub fn of(queries: &Queries, predictions: bool) -> Result<Self> {
        let people = queries.people();
        refuse_if!(people > MOST_COLUMNS, "a certificate is computed for at most {MOST_COLUMNS} people, not {people}");
        let gram = queries.gram();
        let least_singular_value = libm::sqrt(gram.least_eigenvalue_lower()) * (1.0 - 4e-16);
        let invertible = predictions && least_singular_value > 0.0;
        let inverse_diagonal = if invertible { gram.factor(0.0).map(|factor| factor.inverse_diagonal()) } else { None };
        Ok(Self { least_singular_value, inverse_diagonal })
    }

    /// If the answers are off by `errors`, at most this many values are wrong: 4‖e‖₂²/σ_min²; none where the least
    /// singular value may be 0.
    ///
    /// x̂ − x = Q⁺e has length at most ‖e‖/σ_min, and each wrong value needs ¼ of its square.
    pub fn wrong_at_most(&self, errors: &[f64]) -> Option<f64> {
        let square = dot(errors, errors) * (1.0 + 1e-12);
        (self.least_singular_value > 0.0)
            .then(|| 4.0 * square / (self.least_singular_value * self.least_singular_value))
    }

    /// The part of the column that is expected to be wrong under independent normal errors of standard deviation σ: the
    /// mean over people of Φ(−1/(2σ·√(QᵀQ)⁻¹ᵢᵢ)). A prediction, not a bound.
    pub fn predicted_wrong(&self, sigma: f64) -> Option<f64> {
        let diagonal = self.inverse_diagonal.as_ref()?;
        let wrong = |variance: &f64| normal_above(1.0 / (2.0 * sigma * libm::sqrt(*variance)));
        Some(diagonal.iter().map(wrong).sum::<f64>() / diagonal.len() as f64)
    }
}
