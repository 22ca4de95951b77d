//! What an attacker with partial knowledge learns from one release of counts, for a report.

use super::assess::{Verdict, assess};
use super::lambda::Lambda;
use super::noise::AddedNoise;
use super::scenario::{
    GuaranteeQuery, Knowledge, KnownRecords, Population, PublishedStatistic, Release, Scenario, Uncertainty,
};
use super::words::{brittleness, sentence};
use scumble::error::Result;
use scumble::quantity::{Delta, Rate};

/// The attacker of a project: declared once, for all of its releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttackerSettings {
    /// At least this many rows are in the release. A public number: a bound that anybody may know, never the size of a
    /// private table. Fewer rows only weaken the claim.
    pub rows: u64,
    /// The share of the rows that the attacker knows.
    pub known: Rate,
    /// Whether the attacker chose what it knows.
    pub active: bool,
    /// What the attacker leaves open about each other row, even given the other rows of its owner.
    pub lambda: Lambda,
    /// Whether it was declared that the attacker considers different owners independent.
    pub independent: bool,
    /// The δ at which ε is reported.
    pub delta: Delta,
}

/// What was released.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// One count.
    Count,
    /// The counts of all of this many categories; each row is in one of them.
    Histogram(u64),
}

/// What such an attacker learns.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleaseAssessment {
    /// The question that was answered.
    pub scenario: Scenario,
    /// The answer.
    pub verdict: Verdict,
    /// The answer in words; without noise, the warning first.
    pub words: String,
}

/// What the attacker of `settings` learns about an owner of at most `rows_per_owner` rows from a statistic with this
/// noise (discrete Laplace noise of scale b is [`AddedNoise::Geometric`] of ratio e^{−1/b}), if `releases` statistics
/// are released about the same rows.
///
/// # Guarantee
/// That of [`assess`]. It stands beside the accountant's claim and never takes its place: with noise the accountant's
/// claim holds without any of these assumptions; without noise this is all there is, so that the words begin with what
/// it is not.
///
/// ```
/// use scumble_adversary::attacker::{Lambda, AddedNoise, AttackerSettings, Statistic, Verdict, of_release};
/// use scumble::quantity::{Delta, Rate};
/// let settings = AttackerSettings {
///     rows: 10_000,
///     known: Rate::new(0.5)?,
///     active: true,
///     lambda: Lambda::new(0.05)?,
///     independent: true,
///     delta: Delta::new(1e-9)?,
/// };
/// let learned = of_release(&settings, Statistic::Count, AddedNoise::None, 1, 1)?;
/// assert!(matches!(learned.verdict, Verdict::Guarantee(_)));
/// assert!(learned.words.starts_with("This is not differential privacy."));
/// // Two statistics about the same rows: nothing is claimed.
/// assert!(matches!(of_release(&settings, Statistic::Count, AddedNoise::None, 1, 2)?.verdict, Verdict::Refused { .. }));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn of_release(
    settings: &AttackerSettings,
    statistic: Statistic,
    noise: AddedNoise,
    rows_per_owner: u32,
    releases: u32,
) -> Result<ReleaseAssessment> {
    let known = (settings.rows as f64 * settings.known.get()).ceil() as u64;
    let published = match statistic {
        Statistic::Count => PublishedStatistic::Count,
        Statistic::Histogram(categories) => PublishedStatistic::Histogram { categories: Some(categories) },
    };
    let scenario = Scenario {
        population: Population { records: Some(settings.rows), block_size: rows_per_owner.max(1), blocks: None },
        knowledge: Knowledge {
            known: known.min(settings.rows),
            which: KnownRecords::Any,
            influenced: 0,
            active: settings.active,
        },
        uncertainty: Uncertainty::Lambda(settings.lambda),
        independent: settings.independent,
        conditional_on_block: rows_per_owner > 1,
        release: Release { published, on_same_units: releases, observed: None },
        noise,
        query: GuaranteeQuery::Delta(settings.delta),
    };
    let verdict = assess(&scenario)?;
    let words = match &verdict {
        Verdict::Guarantee(guarantee) if noise == AddedNoise::None => {
            format!("{} {}", brittleness(), sentence(&scenario, guarantee))
        }
        Verdict::Guarantee(guarantee) => sentence(&scenario, guarantee),
        Verdict::None { reason } => format!("Against this attacker nothing is guaranteed: {reason}."),
        Verdict::Refused { missing } => format!("Nothing is claimed about this attacker: {}.", missing.join("; ")),
    };
    Ok(ReleaseAssessment { scenario, verdict, words })
}
