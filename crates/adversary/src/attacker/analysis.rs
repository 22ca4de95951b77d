//! The analyses, by name.

/// Which analysis gave the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Analysis {
    /// The law of the count itself.
    ExactCount,
    /// The worst vertex of the λ-box.
    WorstCaseCount,
    /// The privacy blanket.
    Blanket,
    /// The closed form from all beliefs.
    ChernoffBound,
    /// The closed form from the total variance.
    VarianceBound,
    /// The law of the thresholded count itself.
    ThresholdExact,
    /// The same, averaged over what a passive attacker happens to know.
    ThresholdPassive,
    /// The others hardly ever reach the threshold.
    ThresholdCoupling,
    /// The worst case over all beliefs below a largest one.
    ThresholdUnified,
    /// The corrected theorem on k-anonymity.
    KAnonymity,
    /// Nothing is ever released.
    AlwaysSuppressed,
    /// Only the added noise.
    NoiseAlone,
}

impl Analysis {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExactCount => "exact-count",
            Self::WorstCaseCount => "worst-case-count",
            Self::Blanket => "blanket",
            Self::ChernoffBound => "chernoff-bound",
            Self::VarianceBound => "variance-bound",
            Self::ThresholdExact => "threshold-exact",
            Self::ThresholdPassive => "threshold-passive",
            Self::ThresholdCoupling => "threshold-coupling",
            Self::ThresholdUnified => "threshold-unified",
            Self::KAnonymity => "k-anonymity",
            Self::AlwaysSuppressed => "always-suppressed",
            Self::NoiseAlone => "noise-alone",
        }
    }
}
