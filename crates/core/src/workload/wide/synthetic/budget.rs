//! What each step may cost, and how that is divided among tables, so that no scope pays more than it was granted
//! whatever is chosen.
//!
//! A table that is measured with discrete Gaussian noise of parameter σ costs ρ = 1/(2σ²) when a person comes or goes,
//! and twice that when a person, or an attribute that the table has, changes: two of its cells move by 1. A score moves
//! by 1 or by 2: four times its ρ. Which tables are measured depends on earlier noisy numbers; so each step has limits
//! that are fixed beforehand, and those are what is charged (adaptive composition \[BS16\]).

use super::super::super::limits::RhoLimits;
use crate::error::Result;
use crate::quantity::Rho;

/// The most ρ of one step when a person comes or goes, when a person changes, and when an attribute changes; infinite
/// where nothing is demanded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Caps {
    presence: f64,
    person: f64,
    attributes: Vec<f64>,
}

/// What a step costs at most: when a person comes or goes, when a person changes, and when each attribute changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Costs {
    pub(super) presence: f64,
    pub(super) person: f64,
    pub(super) attributes: Vec<f64>,
}

/// Sums of numbers that were divided are below what was divided, however f64 rounds.
const BELOW: f64 = 1.0 - 1e-9;

/// How much further a change moves than presence does, in ρ: of a table, and of a score.
pub(super) const OF_TABLE: f64 = 2.0;
pub(super) const OF_SCORE: f64 = 4.0;

impl Caps {
    /// All that the limits allow.
    pub(super) fn new(limits: &RhoLimits, columns: usize) -> Result<Self> {
        let or_none = |rho: Option<Rho>| rho.map_or(f64::INFINITY, |rho| rho.get() * BELOW);
        let granted = limits.attributes.iter().flatten().map(|rho| rho.get()).fold(0.0, f64::max);
        let attribute = |column: usize| match limits.attributes.get(column).copied().flatten() {
            // An attribute without a limit among others that have one gets as much as the freest.
            None if granted > 0.0 => granted * BELOW,
            limit => or_none(limit),
        };
        let caps = Self {
            presence: or_none(limits.presence),
            person: or_none(limits.person),
            attributes: (0..columns).map(attribute).collect(),
        };
        let all = caps.attributes.iter().chain([&caps.presence, &caps.person]);
        if !caps.of_tables().presence.is_finite() || all.into_iter().any(|cap| *cap <= 0.0) {
            refuse!("synthetic rows need a limit above 0 on their cost in some scope");
        }
        Ok(caps)
    }

    /// A part of it.
    pub(super) fn part(&self, share: f64) -> Self {
        let attributes = self.attributes.iter().map(|own| own * share).collect();
        Self { presence: self.presence * share, person: self.person * share, attributes }
    }

    /// What tables of two attributes or more within these caps cost at most, whichever they are: each is paid for by at
    /// least two attributes.
    pub(super) fn of_tables(&self) -> Costs {
        let by_attributes = self.attributes.iter().sum::<f64>() / (2.0 * OF_TABLE);
        let presence = self.presence.min(self.person / OF_TABLE).min(by_attributes);
        let person = OF_TABLE * presence;
        Costs { presence, person, attributes: self.attributes.iter().map(|own| own.min(person)).collect() }
    }

    /// The ρ of each of these sets of columns, in proportion to weights as far as every cap allows; a change costs
    /// `factor` times as much as presence.
    ///
    /// # Guarantee
    /// Σρ is at most the cap of presence, factor·Σρ that of a person, and factor·Σρ over the sets with an attribute
    /// that of this attribute; as real numbers.
    pub(super) fn divided(&self, sets: &[(Vec<usize>, f64)], factor: f64) -> Vec<f64> {
        let mut rho = vec![0.0; sets.len()];
        let most = self.presence.min(self.person / factor);
        // What one walk leaves, since some attribute was short of it, the next divides again.
        for _ in 0..8 {
            let spent = |column: usize| -> f64 {
                let own = sets.iter().zip(&rho).filter(|((set, _), _)| set.contains(&column));
                own.map(|(_, rho)| factor * rho).sum()
            };
            let left: Vec<f64> = (0..self.attributes.len()).map(|c| (self.attributes[c] - spent(c)).max(0.0)).collect();
            let unspent = (most - rho.iter().sum::<f64>()).max(0.0);
            let mut weights = vec![0.0; self.attributes.len()];
            let open: Vec<bool> = sets
                .iter()
                .map(|(set, _)| set.iter().all(|&c| left[c] == f64::INFINITY || left[c] > 1e-6 * self.attributes[c]))
                .collect();
            let mut all = 0.0;
            for ((set, weight), _) in sets.iter().zip(&open).filter(|(_, open)| **open) {
                all += weight;
                set.iter().for_each(|&column| weights[column] += weight);
            }
            if all <= 0.0 || (most.is_finite() && unspent <= 1e-6 * most) {
                break;
            }
            for (((set, weight), open), rho) in sets.iter().zip(&open).zip(&mut rho) {
                let of = |&column: &usize| left[column] / factor / weights[column];
                let by = set.iter().map(of).fold(unspent / all, f64::min);
                *rho += if *open { by * weight } else { 0.0 };
            }
        }
        rho.iter_mut().for_each(|rho| *rho *= BELOW);
        rho
    }
}

impl Costs {
    /// Of sets that are fixed beforehand.
    pub(super) fn of(sets: &[(Vec<usize>, f64)], columns: usize, factor: f64) -> Self {
        let presence: f64 = sets.iter().map(|(_, rho)| rho).sum();
        let mut attributes = vec![0.0; columns];
        for (set, rho) in sets {
            set.iter().for_each(|&column| attributes[column] += factor * rho);
        }
        Self { presence, person: factor * presence, attributes }
    }

    /// Both together.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.presence += other.presence;
        self.person += other.person;
        self.attributes.iter_mut().zip(&other.attributes).for_each(|(own, more)| *own += more);
        self
    }

    /// Whether any attribute may cost what a person does: then one charge says it for all attributes, and for all of
    /// their sets.
    pub(super) fn is_even(&self) -> bool {
        self.attributes.iter().all(|own| *own >= self.person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(value: f64) -> Option<Rho> {
        Some(Rho::new(value).unwrap())
    }

    #[test]
    fn no_cap_is_passed_and_one_is_used_up() {
        let sets: Vec<(Vec<usize>, f64)> =
            vec![(vec![0, 1], 1.0), (vec![1, 2], 5.0), (vec![2, 3], 0.1), (vec![0, 2, 3], 2.0), (vec![3, 4], 1.0)];
        let strict = [0.1, 0.01, 0.3, 0.2, 0.5].map(rho).to_vec();
        let all = [
            RhoLimits { presence: rho(0.2), ..RhoLimits::default() },
            RhoLimits { person: rho(0.2), ..RhoLimits::default() },
            RhoLimits { attributes: strict.clone(), ..RhoLimits::default() },
            RhoLimits { presence: rho(0.05), attributes: strict, ..RhoLimits::default() },
        ];
        for limits in all {
            let caps = Caps::new(&limits, 5).unwrap();
            for factor in [OF_TABLE, OF_SCORE] {
                let found = caps.divided(&sets, factor);
                let all = found.iter().sum::<f64>();
                let mut fullest = (all / caps.presence).max(factor * all / caps.person);
                assert!(fullest <= 1.0);
                for column in 0..5 {
                    let own = sets.iter().zip(&found).filter(|((set, _), _)| set.contains(&column));
                    let share = factor * own.map(|(_, rho)| rho).sum::<f64>() / caps.attributes[column];
                    assert!(share <= 1.0, "{limits:?} {column} {share}");
                    fullest = fullest.max(share);
                }
                assert!(fullest > 0.999, "{limits:?} {fullest}");
            }
        }
        assert!(Caps::new(&RhoLimits::default(), 3).is_err());
    }
}
