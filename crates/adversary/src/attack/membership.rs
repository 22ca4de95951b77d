//! Membership: whether a person's data is in published means (Homer and others 2008; Dwork, Smith, Steinke, Ullman,
//! Vadhan 2015).
//!
//! With published means a, population means p and a person's bits x, the score is Σ(a_j − p_j)(x_j − p_j). For somebody
//! who is not in the table, and whose attributes are independent, its law is known given a and p; members' scores are
//! higher by Σp_j(1 − p_j)/n.

use super::chernoff::{ScoreStep, check_probabilities, exact_tail, threshold};
use scumble::error::Result;
use scumble::quantity::Probability;

/// Published means, and the attributes' frequencies in the population.
#[derive(Debug, Clone)]
pub struct MembershipAttack {
    steps: Vec<ScoreStep>,
    population: Vec<f64>,
}

impl MembershipAttack {
    /// `published` means of a table, and the `population`'s, each in (0, 1).
    ///
    /// ```
    /// use scumble_adversary::attack::membership::MembershipAttack;
    /// let means = MembershipAttack::new(&[0.5, 0.25, 0.75], &[0.3, 0.4, 0.5])?;
    /// assert!((means.score(&[true, false, true])? - 0.325).abs() < 1e-12);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn new(published: &[f64], population: &[f64]) -> Result<Self> {
        if published.len() != population.len() || published.is_empty() {
            let (given, known) = (published.len(), population.len());
            refuse!("there are {given} published means and {known} of the population: give the same number of each");
        }
        check_probabilities(population, "population mean")?;
        if let Some(at) = published.iter().position(|mean| !mean.is_finite()) {
            refuse!("published mean {at} is {}, not a finite number", published[at]);
        }
        let step = |(a, p): (&f64, &f64)| ScoreStep { p: *p, one: (a - p) * (1.0 - p), zero: -(a - p) * p };
        Ok(Self { steps: published.iter().zip(population).map(step).collect(), population: population.to_vec() })
    }

    /// The score of a person.
    pub fn score(&self, person: &[bool]) -> Result<f64> {
        if person.len() != self.steps.len() {
            refuse!("a person has {} bits, and there are {} means", person.len(), self.steps.len());
        }
        Ok(self.steps.iter().zip(person).map(|(step, bit)| if *bit { step.one } else { step.zero }).sum())
    }

    /// Somebody who is not in the table reaches this with probability at most `false_positive`, if attributes are
    /// independent in the population.
    pub fn threshold(&self, false_positive: Probability) -> Result<f64> {
        threshold(&self.steps, false_positive)
    }

    /// With what probability exactly, for at most 20 attributes.
    pub fn exact_false_positive(&self, score: f64) -> Option<f64> {
        exact_tail(&self.steps, score)
    }

    /// By how many standard deviations the scores of members of a table of `people` exceed those of others, if each
    /// mean has noise of standard deviation `noise`: Σp(1−p)/n over √Σp(1−p)(p(1−p)/n + σ²). A prediction.
    pub fn power(&self, people: u64, noise: f64) -> f64 {
        let n = people as f64;
        let variances = || self.population.iter().map(|p| p * (1.0 - p));
        let gap: f64 = variances().sum::<f64>() / n;
        let spread: f64 = variances().map(|v| v * (v / n + noise * noise)).sum();
        gap / libm::sqrt(spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::noise::{BitSource, InsecureSeededSource};

    /// 60 people, 3000 attributes, exact means: every member is found at a rate of 1e-4, and nobody of 200 others is.
    #[test]
    fn members_are_found_and_others_are_not() {
        let mut bits = InsecureSeededSource::new(6);
        let population: Vec<f64> = (0..3000).map(|j| 0.1 + 0.8 * f64::from(j) / 3000.0).collect();
        let mut person =
            || -> Vec<bool> { population.iter().map(|p| (bits.next_bits(32) as f64) < p * 4_294_967_296.0).collect() };
        let members: Vec<Vec<bool>> = (0..60).map(|_| person()).collect();
        let mean = |j: usize| members.iter().filter(|member| member[j]).count() as f64 / 60.0;
        let published: Vec<f64> = (0..3000).map(mean).collect();
        let attack = MembershipAttack::new(&published, &population).unwrap();
        let threshold = attack.threshold(Probability::new(1e-4).unwrap()).unwrap();
        let found = members.iter().filter(|member| attack.score(member).unwrap() >= threshold).count();
        let accused = (0..200).filter(|_| attack.score(&person()).unwrap() >= threshold).count();
        assert!(found >= 55 && accused == 0, "{found} {accused}");
        assert!(attack.power(60, 0.0) < 50f64.sqrt() && attack.power(60, 0.0) > 6.0);
        assert!(MembershipAttack::new(&[0.5], &[1.0]).is_err() && MembershipAttack::new(&[f64::NAN], &[0.5]).is_err());
    }
}
