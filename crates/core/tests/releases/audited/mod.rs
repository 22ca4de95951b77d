//! What the audit says of our own mechanisms: for each, outputs on two neighbours that its event describes tightly,
//! against its own event (never refuted) and against one that claims less (always refuted).
//!
//! Less is ε/1.2, or σ·1.2, with the same δ. Where a mechanism publishes less than its event pays for, no outputs can
//! show that, and [`Audit::loose`] says by how much less it must claim until they do, and why. β is 1e-6 for each; all
//! seeds are fixed.
//!
//! How clearly a claim that is too small is refuted is printed (`--nocapture`), in standard deviations on both sides.
//! Bounds at β are 4.89 of them away from what is counted; where both sides scatter alike, from 9.2 on another seed
//! would refute it too, but for a chance of 1e-9.

mod added;
mod chosen;
mod learners;
mod questions;
mod sensitive;
mod workloads;

use scumble::event::{Event, NewKeys, Quotient, SmoothNoise, Word};
use scumble::loss::Loss;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Beta, Delta, Epsilon, Rho, Scale, Sigma};
use scumble::scope::Scope;
use scumble_adversary::audit::{Claim, Counts, Outputs, compare};
use std::collections::BTreeSet;

macro_rules! audit {
    ($($module:ident $test:ident: $file:literal [$($function:literal),*],)*) => {
        mod of { $(#[test] fn $test() { super::$module::$test(); })* }
        const AUDITED: &[(&str, &[&str])] = &[$(($file, &[$($function),*])),*];
    };
}

// Every public function that takes random bits, and what audits it.
audit! {
    added additive: "mechanism/additive/release.rs" ["release"],
    added noise_by_itself: "mechanism/additive.rs" ["add_to_all", "add_to_wide", "fill", "sample"],
    added listed_counts: "mechanism/anonymized_histogram/listed.rs" ["release"],
    added anonymized_histogram: "mechanism/anonymized_histogram/mod.rs" ["release"],
    added cdf: "mechanism/cdf.rs" ["release"],
    added cdf_at: "mechanism/cdf.rs" ["release_at"],
    added heavy_hitters: "mechanism/heavy_hitters/release.rs" ["release"],
    added histogram: "mechanism/histogram.rs" ["release"],
    added huge_domain: "mechanism/huge_domain.rs" ["release"],
    added k_norm: "mechanism/k_norm.rs" ["release"],
    added people: "workload/people.rs" ["release"],
    added shared_sum: "parties/sum/mod.rs" ["shares"],
    added threshold_counts: "mechanism/quantile/thresholds.rs" ["release"],
    chosen interior_point: "mechanism/interior_point.rs" ["release"],
    chosen quantile: "mechanism/quantile.rs" ["release", "release_counted"],
    chosen quantile_tree: "mechanism/quantile/tree.rs" ["release"],
    chosen randomized_response: "mechanism/randomized_response.rs" ["release"],
    chosen selection: "mechanism/selection.rs" ["release"],
    chosen obvious_answer: "mechanism/selection/obvious.rs" ["release"],
    chosen generalized_histogram: "mechanism/selection/top.rs" ["release", "release_leads"],
    chosen stability_histogram: "mechanism/stability.rs" ["release"],
    chosen key_selection: "mechanism/stability.rs" ["release"],
    questions sparse_vector: "mechanism/sparse_vector.rs" ["ask", "open", "release"],
    questions interactive: "workload/interactive.rs" ["ask", "open"],
    questions small_table: "workload/small_table.rs" ["release"],
    sensitive bounded: "mechanism/bounded_sensitivity.rs" ["release"],
    sensitive propose_test_release: "mechanism/propose_test_release.rs" ["release"],
    sensitive smooth: "mechanism/smooth/mod.rs" ["release"],
    sensitive level: "mechanism/smooth/mod.rs" ["release_with_level"],
    sensitive stable_value: "mechanism/stable_value.rs" ["release"],
    workloads conjunctions: "workload/conjunctions/mod.rs" ["release"],
    workloads mwem: "workload/mwem.rs" ["release"],
    workloads projection: "workload/projection/mod.rs" ["release"],
    workloads pairs: "workload/psd/mod.rs" ["release"],
    workloads residual: "workload/residual.rs" ["release"],
    workloads wide_marginals: "workload/wide/marginals.rs" ["release"],
    workloads wide_rows: "workload/wide/synthetic/mod.rs" ["release"],
    learners a_class: "learn/generic.rs" ["release"],
    learners a_distribution: "learn/distribution.rs" ["estimate"],
    learners a_halfspace: "learn/halfspace.rs" ["learn"],
    learners a_parity: "learn/parity.rs" ["release", "release_in_parts"],
    learners a_point: "learn/point.rs" ["learn"],
    learners a_threshold: "learn/threshold.rs" ["learn"],
}

/// What is not audited, and why.
const NOT_AUDITED: &[(&str, &str, &str)] = &[
    (
        "mechanism/anonymized_histogram/layout.rs",
        "draw",
        "the phase is drawn without looking at any data, and published",
    ),
    ("mechanism/k_norm.rs", "noise", "the noise of its release, which is audited"),
    ("parties/local/mod.rs", "report", ENUMERATED),
    ("parties/local/mod.rs", "absent", ENUMERATED),
    ("parties/local/mean.rs", "report", ENUMERATED),
    ("parties/local/coin.rs", "is_lie", ENUMERATED),
    ("parties/inner_product/mod.rs", "message", BOTH_VIEWS),
    ("parties/inner_product/mod.rs", "answer", BOTH_VIEWS),
    ("parties/sum/ring.rs", "split", "every split of every word is enumerated in parties/sum"),
];

const ENUMERATED: &str = "every report of every pair of values is enumerated in parties/local";

const BOTH_VIEWS: &str = "the views of both parties are enumerated in parties/inner_product";

/// All that is audited, or need not be, as `file: function`.
pub fn listed() -> BTreeSet<String> {
    let audited = AUDITED.iter().flat_map(|(file, functions)| functions.iter().map(move |function| (file, function)));
    let excused = NOT_AUDITED.iter().filter(|(.., why)| !why.is_empty()).map(|(file, function, _)| (file, function));
    audited.chain(excused).map(|(file, function)| format!("{file}: {function}")).collect()
}

/// The probability that one of these audits is wrong, for another seed.
const BETA: f64 = 1e-6;
/// By how much less is claimed.
const LESS: f64 = 1.2;

/// A mechanism's claim, and one that is too small.
#[derive(Clone)]
pub struct Audit {
    what: String,
    claim: Claim,
    too_small: Claim,
    runs: usize,
}

impl Audit {
    /// Of events in a scope.
    pub fn of(what: impl Into<String>, events: &[Event], scope: &Scope) -> Self {
        Self::loose(what, events, scope, LESS, "its event is tight")
    }

    /// Of events that pay for more than is published: refuted where they claim less by this factor, for a reason.
    pub fn loose(what: impl Into<String>, events: &[Event], scope: &Scope, factor: f64, why: &str) -> Self {
        assert!(factor >= LESS && !why.is_empty());
        let less: Vec<Event> = events.iter().map(|event| claiming_less(event, factor)).collect();
        Self::claiming(what, claim_of(events, scope), claim_of(&less, scope))
    }

    /// Of a claim, and one that is too small.
    pub fn claiming(what: impl Into<String>, claim: Claim, too_small: Claim) -> Self {
        Self { what: what.into(), claim, too_small, runs: 60_000 }
    }

    /// The same claims of something else.
    pub fn called(self, what: String) -> Self {
        Self { what, ..self }
    }

    /// With this many runs on each side.
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Draws a number from each of many outputs on a table and on its neighbour (`true`), and audits both claims.
    pub fn tells(self, seed: u64, mut draw: impl FnMut(bool, &mut InsecureSeededSource) -> f64) {
        let mut bits = InsecureSeededSource::new(seed);
        let mut outputs = |moved: bool| Outputs::Numbers((0..self.runs).map(|_| draw(moved, &mut bits)).collect());
        let (table, neighbour) = (outputs(false), outputs(true));
        for (claim, is_false) in [(&self.claim, false), (&self.too_small, true)] {
            let found =
                compare(&table, &neighbour, Some(claim), Delta::new(0.0).unwrap(), Beta::new(BETA).unwrap()).unwrap();
            let (allowed, refuted) = found.verdict.unwrap();
            assert_eq!(
                refuted, is_false,
                "{}: {:?} proves {:?}, and {allowed} is allowed",
                self.what, found.counts, found.confidence
            );
            if is_false {
                let clear = deviations(&found.counts, claim);
                println!("{}: {clear:.1} deviations in {} runs", self.what, self.runs);
            }
        }
    }
}

/// In how many standard deviations on both sides these counts refute a claim.
fn deviations(counts: &Counts, claim: &Claim) -> f64 {
    let (mut below, mut above) = (0.0, 30.0);
    for _ in 0..12 {
        let middle = 0.5 * (below + above);
        // A normal law's tail on one side.
        let beta = libm::erfc(middle / std::f64::consts::SQRT_2);
        let is_refuted = beta < 0.5 && claim.is_refuted_by(&counts.confidence(Beta::new(beta).unwrap()).unwrap());
        if is_refuted || beta >= 0.5 {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// The whole curve of events.
pub fn claim_of(events: &[Event], scope: &Scope) -> Claim {
    Claim::of(&Loss::of(events, scope).unwrap()).unwrap()
}

/// The claim of ε alone.
pub fn pure(epsilon: f64) -> Claim {
    Claim::Approximate { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(0.0).unwrap() }
}

/// The same event with less cost: ε over this factor, σ times it.
fn claiming_less(event: &Event, factor: f64) -> Event {
    assert!(event.sampling().is_none());
    Event::new(less(event.word(), factor), event.moves().clone()).repeated(event.times()).unwrap()
}

fn less(word: &Word, factor: f64) -> Word {
    let lower = |epsilon: &Epsilon| Epsilon::new(epsilon.get() / factor).unwrap();
    let wider = |scale: &Scale| Scale::new(scale.get() * factor).unwrap();
    let more = |sigma: &Sigma| Sigma::new(sigma.get() * factor).unwrap();
    match word {
        Word::Gaussian { sigma } => Word::Gaussian { sigma: more(sigma) },
        Word::DiscreteGaussian { sigma } => Word::DiscreteGaussian { sigma: more(sigma) },
        Word::Laplace { scale } => Word::Laplace { scale: wider(scale) },
        Word::DiscreteLaplace { scale } => Word::DiscreteLaplace { scale: wider(scale) },
        Word::SinhNormal { sigma, a } => Word::SinhNormal { sigma: more(sigma), a: wider(a) },
        Word::RandomizedResponse { epsilon, values } => {
            Word::RandomizedResponse { epsilon: lower(epsilon), values: *values }
        }
        Word::Exponential { epsilon } => Word::Exponential { epsilon: lower(epsilon) },
        Word::Pure { epsilon } => Word::Pure { epsilon: lower(epsilon) },
        Word::Approximate { epsilon, delta } => Word::Approximate { epsilon: lower(epsilon), delta: *delta },
        Word::Zcdp { rho } => Word::Zcdp { rho: Rho::new(rho.get() / (factor * factor)).unwrap() },
        Word::HeavyHitters { scale, path } => Word::HeavyHitters { scale: wider(scale), path: *path },
        Word::NewKeys(keys) => {
            Word::NewKeys(NewKeys::new(less(keys.noise(), factor), keys.delta(), keys.keys()).unwrap())
        }
        Word::SmoothNoise(noise) => {
            let (above, below) = noise.alpha().parts();
            let alpha = Quotient::new(above * 1000, (f64::from(below) * 1000.0 * factor) as u32).unwrap();
            Word::SmoothNoise(SmoothNoise::new(noise.family(), noise.gamma(), alpha, noise.levels()).unwrap())
        }
        other => panic!("{other:?}: say here how it claims less"),
    }
}

/// How much nearer a vector is to `there` than to `here`, in all coordinates: what tells Laplace noise around both
/// apart.
pub fn nearer(vector: &[i64], here: &[i64], there: &[i64]) -> f64 {
    let off = |point: &[i64]| vector.iter().zip(point).map(|(a, b)| a.abs_diff(*b) as f64).sum::<f64>();
    off(here) - off(there)
}
