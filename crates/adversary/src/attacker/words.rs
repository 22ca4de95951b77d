//! The verdict in plain words.

use super::analysis::Analysis;
use super::assess::{AssumptionChange, Guarantee, Notion};
use super::noise::AddedNoise;
use super::scenario::{PublishedStatistic, Scenario, Uncertainty};

/// What a reader must know before any number: what this is not.
pub fn brittleness() -> &'static str {
    "This is not differential privacy. If an attacker knows more records, if units are correlated (households, duplicates, \
     repeated rows), or if another statistic on the same records is or was released, this statement does not apply. It does not \
     cover what can be learned about a person from population-level facts."
}

/// The guarantee as a sentence that names every assumption.
pub fn sentence(scenario: &Scenario, guarantee: &Guarantee) -> String {
    sentence_with(scenario, guarantee, &rounded_up(guarantee.epsilon))
}

/// The same with ε as it is written elsewhere on the page.
pub fn sentence_with(scenario: &Scenario, guarantee: &Guarantee, epsilon: &str) -> String {
    let unit = if scenario.in_blocks() { "block of dependent records" } else { "record" };
    let chosen = match scenario.knowledge.influenced {
        0 => String::new(),
        influenced => format!(" and chooses at most {influenced} of them"),
    };
    let population = scenario.population.records.map_or("the".to_string(), |records| format!("the {records}"));
    let luck = match guarantee.notion {
        Notion::Active => "probability mass of bad outcomes",
        Notion::Passive => "probability mass of bad outcomes, or of the attacker's luck in what it happens to know,",
    };
    format!(
        "Against an attacker who (i) knows at most {known} of {population} records{chosen}, (ii) for every other {unit} remains uncertain: \
         {belief}, given all it knows, and (iii) considers different {unit}s independent, publishing {release} satisfies ({epsilon}, \
         {delta})-{notion} for every single {unit}: the attacker's odds between any two values of that {unit} change by at most a factor \
         e^{epsilon} = {factor}, except with {luck} at most {delta}. Method: {method}. Numerical slack included.",
        known = scenario.known(),
        belief = belief(&scenario.uncertainty),
        release = release(scenario),
        delta = rounded_up(guarantee.delta),
        notion = guarantee.notion.name(),
        factor = rounded_up(guarantee.epsilon.exp()),
        method = method(guarantee.method),
    )
}

fn belief(uncertainty: &Uncertainty) -> String {
    match uncertainty {
        Uncertainty::Lambda(lambda) => {
            format!("it believes each value with probability between {} and {}", lambda.get(), 1.0 - lambda.get())
        }
        Uncertainty::Beliefs { .. } => "it believes value 1 with the listed probability".to_string(),
        Uncertainty::AtMost(p_max) => format!("it believes value 1 with probability at most {p_max}"),
        Uncertainty::TotalVariance(variance) => {
            format!("the variances p(1-p) of its beliefs sum to at least {variance} over the unknown units")
        }
        Uncertainty::CategoryMinima(minima) => {
            format!("it believes each category with at least its minimum probability ({minima:?})")
        }
        Uncertainty::RareCommon { lambda, rare } => format!(
            "it believes each common category, and the hidden one, with probability at least {}, and each rare one with at most {rare}",
            lambda.get()
        ),
    }
}

fn release(scenario: &Scenario) -> String {
    let what = match scenario.release.published {
        PublishedStatistic::Count if scenario.release.on_same_units > 1 => {
            format!("{} counts of the same records", scenario.release.on_same_units)
        }
        PublishedStatistic::Count => "the count".to_string(),
        PublishedStatistic::Histogram { .. } => "the histogram".to_string(),
        PublishedStatistic::Threshold { threshold } => format!("the count if it is above {threshold}"),
        PublishedStatistic::KAnonymity { k, .. } => format!("the number in each category that has at least {k}"),
    };
    let noise = match scenario.noise {
        AddedNoise::None => return format!("{what} without noise"),
        AddedNoise::Geometric(ratio) => format!("two-sided geometric noise of p = {}", ratio.get()),
        AddedNoise::Laplace(scale) => format!("Laplace noise of scale {scale}"),
        AddedNoise::Gaussian(sigma) => format!("Gaussian noise of sigma {sigma}"),
        AddedNoise::DiscreteGaussian(sigma) => format!("discrete Gaussian noise of sigma {sigma}"),
    };
    format!("{what} with {noise}")
}

fn method(method: Analysis) -> &'static str {
    match method {
        Analysis::ExactCount => "exact law of the count",
        Analysis::WorstCaseCount => "worst case over the lambda-box",
        Analysis::Blanket => "privacy blanket",
        Analysis::ChernoffBound => "Chernoff bound from all beliefs",
        Analysis::VarianceBound => "bound from the total variance",
        Analysis::ThresholdExact => "exact law of the thresholded count",
        Analysis::ThresholdPassive => "exact law of the thresholded count, averaged over what is known",
        Analysis::ThresholdCoupling => "coupling below the threshold",
        Analysis::ThresholdUnified => "worst case over all beliefs below p_max",
        Analysis::KAnonymity => "corrected theorem on k-anonymity",
        Analysis::AlwaysSuppressed => "nothing is ever released",
        Analysis::NoiseAlone => "the added noise alone",
    }
}

impl AssumptionChange {
    /// What fails, in words.
    pub fn words(self) -> String {
        match self {
            Self::Known(percent) => format!("{percent} % of the unknown records are known after all"),
            Self::LessUncertain(divisor) => format!("the uncertainty is {divisor} times smaller"),
            Self::EverythingKnown => "all others are known".to_string(),
        }
    }
}

/// Six digits, rounded up: what is printed is still a bound.
///
/// ```
/// use scumble_adversary::attacker::rounded_up;
/// assert_eq!(rounded_up(0.12345612), "0.123457");
/// assert_eq!(rounded_up(1.0), "1");
/// assert_eq!(rounded_up(2.5000000001e-12), "2.50001e-12");
/// ```
pub fn rounded_up(value: f64) -> String {
    scumble::quantity::rounded_up(value, 6)
}
