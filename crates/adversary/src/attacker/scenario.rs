//! What an attacker is assumed to know, and what is published: the question that [`super::assess`] answers.

use super::lambda::Lambda;
use super::noise::AddedNoise;
use super::poisson_binomial::BeliefGroup;
use scumble::quantity::{Delta, Epsilon, Probability};

/// A whole question. Nothing in it is inferred from data: these are declarations, and the answer holds only if they are
/// true.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Whose records, and how many.
    pub population: Population,
    /// What the attacker knows and can choose.
    pub knowledge: Knowledge,
    /// What the attacker believes of the records that it does not know, given all that it knows.
    pub uncertainty: Uncertainty,
    /// Whether it was declared that the attacker considers different units independent.
    pub independent: bool,
    /// Whether the uncertainty of a record holds even given the other records of its own block.
    pub conditional_on_block: bool,
    /// What is published.
    pub release: Release,
    /// Noise on the published numbers.
    pub noise: AddedNoise,
    /// ε for a δ, or δ for an ε.
    pub query: GuaranteeQuery,
}

/// The records of the release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Population {
    /// How many records there are; `None` where the analysis holds for any number.
    pub records: Option<u64>,
    /// The largest number of records that depend on each other; 1 if every record stands for itself. The unit of
    /// protection is such a block.
    pub block_size: u32,
    /// How many blocks there are, if more is known than records divided by size.
    pub blocks: Option<u64>,
}

/// What the attacker knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knowledge {
    /// At most this many records.
    pub known: u64,
    /// Any records, or certain ones that the uncertainty does not list.
    pub which: KnownRecords,
    /// At most this many records have a value that the attacker chose.
    pub influenced: u64,
    /// Whether the guarantee must hold for every value of what is known, or on average.
    pub active: bool,
}

/// Which records are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KnownRecords {
    /// Any: the worst subset.
    Any,
    /// Certain ones, which the list of beliefs leaves out.
    Listed,
}

/// What the attacker believes of unknown records.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Uncertainty {
    /// Each is 1 (or, for a histogram, in each category) with probability at least λ, and at most 1 − λ.
    Lambda(Lambda),
    /// Each is 1 with a listed probability.
    Beliefs {
        /// The probabilities, and how many records have each.
        groups: Vec<BeliefGroup>,
        /// Whether the target is in the list.
        listed: BeliefCoverage,
    },
    /// Each is 1 with at most this probability.
    AtMost(Probability),
    /// Σ p(1−p) over the unknown units, without the target and the worst that may be known.
    TotalVariance(f64),
    /// Each is in category c with at least the c-th probability.
    CategoryMinima(Vec<f64>),
    /// Categories are rare (at most `rare` for each record) or common (at least `lambda` for each unknown record).
    RareCommon {
        /// At least this for common categories and the hidden one.
        lambda: Lambda,
        /// At most this for rare ones.
        rare: Probability,
    },
}

/// Whom a list of beliefs lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeliefCoverage {
    /// All unknown records; the worst of them is the target.
    All,
    /// The others: the target is not in it.
    Others,
}

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Release {
    /// The kind of statistic.
    pub published: PublishedStatistic,
    /// How many statistics about the same units are published in all, this one included, before and after it.
    pub on_same_units: u32,
    /// The count that was published, to see whether the declared beliefs are absurd.
    pub observed: Option<u64>,
}

/// A kind of statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PublishedStatistic {
    /// How many records are 1.
    Count,
    /// How many records are in each category.
    Histogram {
        /// The number of categories, if declared.
        categories: Option<u64>,
    },
    /// The count, if it is above the threshold.
    Threshold {
        /// ⊥ if and only if the count is at most this.
        threshold: u64,
    },
    /// The number in each category, if it is at least k.
    KAnonymity {
        /// Released from here on.
        k: u64,
        /// Whether an uncertain category exists whose number is never released; `None` if not declared.
        hidden_bottom: Option<bool>,
        /// How the categories were chosen; `None` if not declared.
        generalisation: Option<Generalisation>,
    },
}

/// How the categories of a k-anonymous release were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generalisation {
    /// Before looking at the data.
    Fixed,
    /// Looking at the data: then the choice itself tells something that is not analysed.
    DataDependent,
}

/// The guarantee to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum GuaranteeQuery {
    /// δ at this ε.
    Epsilon(Epsilon),
    /// The smallest ε for this δ.
    Delta(Delta),
}

impl Scenario {
    /// Records known or chosen: those that are chosen are known.
    pub fn known(&self) -> u64 {
        self.knowledge.known.max(self.knowledge.influenced)
    }

    /// Whether the guarantee must hold for every value of what is known.
    pub fn active(&self) -> bool {
        self.knowledge.active || self.knowledge.influenced > 0
    }

    /// Whether records come in dependent blocks.
    pub fn in_blocks(&self) -> bool {
        self.population.block_size > 1
    }

    /// Units: blocks, at least records divided by the largest size.
    pub fn units(&self) -> Option<u64> {
        let by_size = self.population.records.map(|records| records.div_ceil(u64::from(self.population.block_size)));
        self.population.blocks.or(by_size)
    }

    /// m: units that are neither the target nor touched by what is known.
    pub fn unknown_others(&self) -> Option<u64> {
        self.units().map(|units| units.saturating_sub(self.known().saturating_add(1)))
    }
}
