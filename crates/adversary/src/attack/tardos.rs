//! Tracing by Tardos' code (2003), with symmetric scores (Škorić, Katzenbeisser, Celik 2008) and a threshold that is
//! valid for every pirate.
//!
//! Column j has a bias p_j = sin² r, r uniform on [t, π/2 − t], sin² t = 1/(300c); each user's bit is 1 with
//! probability p_j. A published word w that is made of the rows of a few users gives them high scores. An innocent
//! user's bits are independent of w, so the law of their score is known given w and p.

use super::chernoff::{ScoreStep, check_probabilities, threshold};
use scumble::error::Result;
use scumble::noise::BitSource;
use scumble::quantity::Probability;

/// A code's biases.
#[derive(Debug, Clone, PartialEq)]
pub struct TardosCode {
    bias: Vec<f64>,
}

/// Tardos' own parameters, which are far longer than is needed with [`TardosCode::threshold`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassicalParameters {
    /// 100·c²·k columns, k = ⌈ln(1/φ)⌉.
    pub length: u64,
    /// Accuse from 20·c·k on.
    pub threshold: u64,
    /// sin² t = 1/(300c).
    pub cutoff: f64,
}

/// For coalitions of at most `coalition` users and a false-positive rate for each innocent.
///
/// ```
/// use scumble::quantity::probability;
/// use scumble_adversary::attack::tardos::classical;
/// let parameters = classical(3, probability(0.01)?)?;
/// assert_eq!((parameters.length, parameters.threshold), (4500, 300));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn classical(coalition: u64, false_positive: Probability) -> Result<ClassicalParameters> {
    let rate = false_positive.get();
    let is_rate = rate > 0.0 && rate < 1.0;
    if coalition == 0 || coalition > 1_000_000 || !is_rate {
        refuse!("Tardos' parameters need 1 to 1e6 pirates and a false-positive rate in (0, 1)");
    }
    let k = libm::ceil(-libm::log(rate)) as u64;
    Ok(ClassicalParameters {
        length: 100 * coalition * coalition * k,
        threshold: 20 * coalition * k,
        cutoff: 1.0 / (300.0 * coalition as f64),
    })
}

impl TardosCode {
    /// Known biases, each in (0, 1).
    pub fn new(bias: Vec<f64>) -> Result<Self> {
        check_probabilities(&bias, "bias")?;
        Ok(Self { bias })
    }

    /// Fresh biases of `length` columns against coalitions of at most `coalition`.
    pub fn generate<S: BitSource + ?Sized>(length: usize, coalition: u64, bits: &mut S) -> Result<Self> {
        let cutoff = classical(coalition, Probability::new(0.5)?)?.cutoff;
        let least = libm::asin(libm::sqrt(cutoff));
        let mut bias = || {
            let uniform = (bits.next_bits(53) as f64 + 0.5) / (1u64 << 53) as f64;
            libm::sin(least + uniform * (std::f64::consts::FRAC_PI_2 - 2.0 * least)).powi(2)
        };
        Self::new((0..length).map(|_| bias()).collect())
    }

    /// The biases.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// Fresh bits of a user. (The biases must stay secret until somebody is accused.)
    pub fn user<S: BitSource + ?Sized>(&self, bits: &mut S) -> Vec<bool> {
        self.bias.iter().map(|p| (bits.next_bits(53) as f64) < p * (1u64 << 53) as f64).collect()
    }

    fn steps(&self, published: &[bool]) -> Result<Vec<ScoreStep>> {
        if published.len() != self.bias.len() {
            let (columns, given) = (self.bias.len(), published.len());
            refuse!("the published word has {given} bits, the code {columns} columns");
        }
        let step = |(p, bit): (&f64, &bool)| {
            let sign = if *bit { 1.0 } else { -1.0 };
            ScoreStep { p: *p, one: sign * libm::sqrt((1.0 - p) / p), zero: -sign * libm::sqrt(p / (1.0 - p)) }
        };
        Ok(self.bias.iter().zip(published).map(step).collect())
    }

    /// The symmetric score of a user.
    pub fn score(&self, published: &[bool], user: &[bool]) -> Result<f64> {
        let steps = self.steps(published)?;
        refuse_if!(user.len() != steps.len(), "a user has {} bits, the code {} columns", user.len(), steps.len());
        Ok(steps.iter().zip(user).map(|(step, bit)| if *bit { step.one } else { step.zero }).sum())
    }

    /// An innocent's score reaches this with probability at most `false_positive`, whatever was published.
    pub fn threshold(&self, published: &[bool], false_positive: Probability) -> Result<f64> {
        threshold(&self.steps(published)?, false_positive)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chernoff::exact_tail;
    use super::*;
    use scumble::noise::InsecureSeededSource;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    /// On short codes the false-positive rate is computed exactly, for every word that a pirate could publish.
    #[test]
    fn no_word_makes_innocents_look_guilty() {
        let code = TardosCode::new(vec![0.1, 0.5, 0.7, 0.9, 0.3, 0.02, 0.5, 0.6]).unwrap();
        for word in 0..256u32 {
            let word: Vec<bool> = (0..8).map(|j| word >> j & 1 == 1).collect();
            for rate in [0.2, 0.05, 1e-3] {
                let reached =
                    exact_tail(&code.steps(&word).unwrap(), code.threshold(&word, probability(rate)).unwrap()).unwrap();
                assert!(reached <= rate, "{reached} {rate}");
            }
        }
    }

    /// Three pirates publish at each column the bit of one of them, in turn: at 900 columns all have a score beyond the
    /// threshold of 1e-4, or at least one.
    #[test]
    fn pirates_are_caught() {
        let mut bits = InsecureSeededSource::new(2);
        let code = TardosCode::generate(1500, 3, &mut bits).unwrap();
        let users: Vec<Vec<bool>> = (0..3).map(|_| code.user(&mut bits)).collect();
        let word: Vec<bool> = (0..1500).map(|j| users[j % 3][j]).collect();
        let threshold = code.threshold(&word, probability(1e-4)).unwrap();
        assert!(users.iter().all(|user| code.score(&word, user).unwrap() >= threshold));
        let innocent = code.user(&mut bits);
        assert!(code.score(&word, &innocent).unwrap() < threshold);
        assert!(TardosCode::new(vec![0.0]).is_err() && code.threshold(&word[1..], probability(0.1)).is_err());
    }
}
