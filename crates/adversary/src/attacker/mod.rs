//! From whom: attackers who know everything but one record, and attackers who know less.
//!
//! Differential privacy protects against somebody who knows all records but one. This module answers the other
//! question: what does a release tell an attacker who knows *some* records and remains uncertain about the others? Then
//! a count may need no noise at all: an election result is published as it is. The answers hold under stated
//! assumptions only, and [`assess`] refuses when one is missing; it never falls back to a weaker one silently.
//!
//! Two notions (Desfontaines, Mohammadi, Krahmer, Basin, *Differential privacy with partial knowledge*): **APKDP**, for
//! every value of what an active attacker knows or chose, and **PPKDP**, on average over what a passive one happens to
//! know. Both bound H_ε, the hockey-stick divergence of the outputs given two values of the target.
//!
//! Seven statements of the paper are false as printed; what stands here are the corrections, and [`printed`] keeps the
//! originals for comparison only. Every δ is a [`Bound`] with both ends proven: laws are held in [`Window`]s whose
//! rounding and cut-off tails are part of the bound.
//!
//! ```
//! use scumble::quantity::Delta;
//! use scumble_adversary::attacker::{Lambda, AddedNoise, epsilon_for, worst_count};
//! // A referendum of ten million, 99 % of the votes known to the attacker, who gives each other vote at least 5 % either way.
//! let unknown_others = 100_000 - 1;
//! let lambda = Lambda::new(0.05)?;
//! let delta = |epsilon| Ok(worst_count(unknown_others, lambda, AddedNoise::None, epsilon, 1, 1e-3)?.delta);
//! let found = epsilon_for(Delta::new(1e-10)?, 1e-4, delta)?.unwrap();
//! assert!(found.upper < 0.081 && found.lower > 0.079);
//! # Ok::<(), scumble::Error>(())
//! ```

mod allowed;
mod analysis;
mod assess;
mod blanket;
mod bound;
mod closed;
mod composition;
mod count;
mod hockey;
mod k_anonymity;
mod lambda;
mod noise;
mod of_release;
mod poisson_binomial;
pub mod printed;
mod scenario;
mod solve;
mod threshold;
mod two_point;
mod window;
mod words;

pub use analysis::Analysis;
pub use assess::{AssumptionChange, Degradation, Guarantee, Notion, Verdict, assess};
pub use blanket::{blanket, blanket_of_each, blanket_pair, blanket_with_noise};
pub use bound::{Bound, Directions};
pub use closed::{
    blanket as closed_blanket, chernoff as closed_chernoff, kullback_leibler as closed_kullback_leibler,
    ln_smallest_delta, ln_smallest_delta_of, variance as closed_variance, variance_without,
};
pub use composition::{
    ApproximateBound, MOST_JOINT_RECORDS, TwoCounts, chained, dependency_of_two_days, independent_coordinates,
    parallel, with_dependency,
};
pub use count::{WorstCase, exact_count, exact_count_of_all, worst_count};
pub use hockey::directions;
pub use k_anonymity::{Anonymity, k_anonymity, rare_delta};
pub use lambda::Lambda;
pub use noise::{AddedNoise, Ratio, directions_with_noise};
pub use of_release::{AttackerSettings, ReleaseAssessment, Statistic, of_release};
pub use poisson_binomial::{BeliefGroup, MOST_RECORDS, poisson_binomial};
pub use scenario::{
    BeliefCoverage, Generalisation, GuaranteeQuery, Knowledge, KnownRecords, Population, PublishedStatistic, Release,
    Scenario, Uncertainty,
};
pub use solve::{EpsilonBounds, epsilon_for};
pub use threshold::{coupling, thresholded, thresholded_of_all, thresholded_passive, unified, unified_passive};
pub use window::Window;
pub use words::{brittleness, rounded_up, sentence, sentence_with};
