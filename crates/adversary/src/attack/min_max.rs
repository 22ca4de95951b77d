//! Reconstruction by the other linear programme: the column in [0, 1]ⁿ whose largest error is least, rounded at ½
//! (Dwork, McSherry, Talwar 2007; Vadhan 2017, 7.5.2).
//!
//! It is for answers that are all off by little, as those with bounded noise, and it has a
//! [`certificate`](MinMaxSolution::wrong_at_most). One outlier among the answers ruins it: then
//! [`linear`](super::linear) is better.

use super::least_squares::MatrixCertificate;
use super::programme::{Objective, solve};
use super::{Queries, rounded};
use scumble::error::Result;

/// The solution, and how near it is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MinMaxSolution {
    /// Between 0 and 1 for each person.
    pub estimate: Vec<f64>,
    /// Rounded at ½.
    pub column: Vec<bool>,
    /// max|⟨q, x⟩ − y| at the estimate.
    pub largest_error: f64,
    /// No column in [0, 1]ⁿ has a largest error below this: some answer is off by at least as much, whatever the column
    /// is.
    pub largest_error_at_least: f64,
}

/// Solves until the largest error is within a thousandth of a count, or of itself, of the least.
///
/// ```
/// use scumble_adversary::attack::{Queries, min_max::reconstruct};
/// let queries = Queries::new(2, vec![vec![0], vec![1], vec![0, 1]])?;
/// let found = reconstruct(&queries, &[0.6, 0.3, 1.2])?;
/// // Each answer is off by a third of 1.2 − 0.6 − 0.3.
/// assert!((found.largest_error - 0.1).abs() < 2e-3 && found.column == [true, false]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn reconstruct(queries: &Queries, answers: &[f64]) -> Result<MinMaxSolution> {
    let found = solve(queries, answers, Objective::Largest)?;
    Ok(MinMaxSolution {
        column: rounded(&found.estimate),
        estimate: found.estimate,
        largest_error: found.error,
        largest_error_at_least: found.error_at_least,
    })
}

impl MinMaxSolution {
    /// If no answer is off by more than `error`, at most this many values are wrong: 4k(E + E′)²/σ_min², E′ the largest
    /// error of this solution (at most E if it were solved exactly, which gives 16kE²/σ_min²); none where the least
    /// singular value may be 0.
    ///
    /// Of k queries the counts of the estimate and of the truth are at most E + E′ apart, so that both columns are at
    /// most √k·(E + E′)/σ_min apart, and each wrong value needs ¼ of the square.
    pub fn wrong_at_most(&self, certificate: &MatrixCertificate, queries: usize, error: f64) -> Option<f64> {
        let apart = error + self.largest_error;
        certificate.wrong_at_most(&[libm::sqrt(queries as f64) * apart * (1.0 + 1e-12)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::{linear, recovered};
    use scumble::noise::{BitSource, InsecureSeededSource};

    /// The least largest error over two people, exactly: it is in a corner, where three of the constraints
    /// ±(⟨q, x⟩ − y) ≤ E, 0 ≤ x ≤ 1 hold with equality.
    fn exact(queries: &[[f64; 2]], answers: &[f64]) -> f64 {
        // a·x₀ + b·x₁ − e·E ≤ c
        let mut planes = vec![[1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0], [0.0, -1.0, 0.0, 0.0]];
        for ([a, b], y) in queries.iter().zip(answers) {
            planes.push([*a, *b, -1.0, *y]);
            planes.push([-a, -b, -1.0, -y]);
        }
        let mut best = f64::INFINITY;
        for i in 0..planes.len() {
            for j in 0..i {
                for k in 0..j {
                    let [p, q, r] = [planes[i], planes[j], planes[k]];
                    let minor = |u: usize, v: usize, w: usize| {
                        p[u] * (q[v] * r[w] - q[w] * r[v]) - p[v] * (q[u] * r[w] - q[w] * r[u])
                            + p[w] * (q[u] * r[v] - q[v] * r[u])
                    };
                    let all = minor(0, 1, 2);
                    if all.abs() < 1e-9 {
                        continue;
                    }
                    let corner = [minor(3, 1, 2) / all, minor(0, 3, 2) / all, minor(0, 1, 3) / all];
                    let holds =
                        |plane: &[f64; 4]| (0..3).map(|at| plane[at] * corner[at]).sum::<f64>() <= plane[3] + 1e-9;
                    if planes.iter().all(holds) {
                        best = best.min(corner[2]);
                    }
                }
            }
        }
        best
    }

    #[test]
    fn it_is_the_least_of_all_corners() {
        let mut bits = InsecureSeededSource::new(3);
        for _ in 0..100 {
            let count = 1 + bits.next_bits(3) as usize;
            let rows: Vec<[f64; 2]> =
                (0..count).map(|_| [bits.next_bits(1) as f64, bits.next_bits(1) as f64]).collect();
            let answers: Vec<f64> = rows.iter().map(|_| bits.next_bits(5) as f64 / 8.0 - 1.0).collect();
            let members = |row: &[f64; 2]| (0..2u32).filter(|i| row[*i as usize] == 1.0).collect();
            let found = reconstruct(&Queries::new(2, rows.iter().map(members).collect()).unwrap(), &answers).unwrap();
            let truth = exact(&rows, &answers);
            assert!(
                found.largest_error_at_least <= truth + 1e-9 && truth <= found.largest_error + 1e-9,
                "{truth} {found:?}"
            );
            let gap = found.largest_error - found.largest_error_at_least;
            assert!(gap <= 1e-3 * found.largest_error.max(1.0), "{truth} {found:?}");
        }
    }

    /// Answers that are each off by at most one: nearly everybody is found, and no more values are wrong than the
    /// certificate allows. With garbage among them it is ruined, where the least total error is not.
    #[test]
    fn bounded_errors_are_withstood_and_garbage_is_not() {
        let mut bits = InsecureSeededSource::new(12);
        let (people, count) = (40u32, 400);
        let random: Vec<Vec<u32>> =
            (0..count).map(|_| (0..people).filter(|_| bits.next_bits(1) == 1).collect()).collect();
        let queries = Queries::new(people as usize, random).unwrap();
        let truth: Vec<bool> = (0..people).map(|_| bits.next_bits(1) == 1).collect();
        let column: Vec<f64> = truth.iter().map(|bit| f64::from(u8::from(*bit))).collect();
        let mut answers = queries.answers(&column);
        answers.iter_mut().for_each(|answer| *answer += bits.next_bits(10) as f64 / 512.0 - 1.0);
        let found = reconstruct(&queries, &answers).unwrap();
        let right = recovered(&found.column, &truth).unwrap().right;
        assert!(right >= 38 && found.largest_error <= 1.01, "{right} {}", found.largest_error);
        let certificate = MatrixCertificate::of(&queries, false).unwrap();
        // A tenth of the errors: the certificate is far from what is seen, and is not far from nothing.
        let near: Vec<f64> =
            queries.answers(&column).iter().zip(&answers).map(|(exact, one)| exact + (one - exact) / 10.0).collect();
        let found = reconstruct(&queries, &near).unwrap();
        let most = found.wrong_at_most(&certificate, 400, 0.1).unwrap();
        let wrong = 40 - recovered(&found.column, &truth).unwrap().right;
        assert!(wrong as f64 <= most && most < 5.0, "{wrong} {most}");
        assert_eq!(
            found.wrong_at_most(
                &MatrixCertificate::of(&Queries::new(2, vec![vec![0, 1]]).unwrap(), false).unwrap(),
                1,
                1.0
            ),
            None
        );
        answers.iter_mut().step_by(10).for_each(|answer| *answer = 1000.0);
        let ruined = recovered(&reconstruct(&queries, &answers).unwrap().column, &truth).unwrap().right;
        let robust = recovered(&linear::reconstruct(&queries, &answers).unwrap().column, &truth).unwrap().right;
        assert!(ruined < 35 && robust >= 38, "{ruined} {robust}");
    }
}
