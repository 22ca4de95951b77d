//! The analyses, by name.

named! {
    /// Which analysis gave the answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Analysis {
        /// The law of the count itself.
        ExactCount = "exact-count",
        /// The worst vertex of the λ-box.
        WorstCaseCount = "worst-case-count",
        /// The privacy blanket.
        Blanket = "blanket",
        /// The closed form from all beliefs.
        ChernoffBound = "chernoff-bound",
        /// The closed form from the total variance.
        VarianceBound = "variance-bound",
        /// The law of the thresholded count itself.
        ThresholdExact = "threshold-exact",
        /// The same, averaged over what a passive attacker happens to know.
        ThresholdPassive = "threshold-passive",
        /// The others hardly ever reach the threshold.
        ThresholdCoupling = "threshold-coupling",
        /// The worst case over all beliefs below a largest one.
        ThresholdUnified = "threshold-unified",
        /// The corrected theorem on k-anonymity.
        KAnonymity = "k-anonymity",
        /// Nothing is ever released.
        AlwaysSuppressed = "always-suppressed",
        /// Only the added noise.
        NoiseAlone = "noise-alone",
    }
}
