//! What attackers who do not know everything learn from a release, under the assumptions that the project file
//! declares.
//!
//! The answer stands beside the guarantee without assumptions and never takes its place, except for the kind
//! `exact-count`, which has no other. Nothing here looks at data: everything follows from the project file and the
//! plan.

use crate::budget::{Budget, rounded_up};
use crate::error::{Error, Result};
use crate::project::{Attacker, Project};
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Summand;
use scumble::mechanism::additive::Noise;
use scumble::quantity::{Delta, Exact, Rate, Scale, Sigma};
use scumble_adversary::attacker::{
    AddedNoise, AttackerSettings, Lambda, Ratio, ReleaseAssessment, Statistic, Verdict, of_release, sentence,
    sentence_with,
};
use scumble_wire::{AttackerQuestion, VerdictDocument};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// δ where neither `[attacker]` nor a budget names one.
const USUAL_DELTA: f64 = 1e-9;

/// A release as the analysis of partial knowledge sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StatisticDocument", into = "StatisticDocument")]
#[non_exhaustive]
pub enum ReleasedStatistic {
    /// Numbers of rows of one table, with this noise on each.
    Rows {
        /// The table.
        table: String,
        /// One count, or counts over categories.
        statistic: Statistic,
        /// The noise.
        noise: AddedNoise,
    },
    /// Something else: why it is not analysed.
    Other(Cow<'static, str>),
}

impl Default for ReleasedStatistic {
    fn default() -> Self {
        Self::Other("only counts and histograms of rows are analysed".into())
    }
}

/// How it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StatisticDocument {
    Other { why_not: Cow<'static, str> },
    Rows { table: String, categories: Option<u64>, noise: Cow<'static, str>, size: Option<f64> },
}

impl From<ReleasedStatistic> for StatisticDocument {
    fn from(counted: ReleasedStatistic) -> Self {
        let (table, statistic, noise) = match counted {
            ReleasedStatistic::Rows { table, statistic, noise } => (table, statistic, noise),
            ReleasedStatistic::Other(why_not) => return Self::Other { why_not },
        };
        let categories = match statistic {
            Statistic::Count => None,
            Statistic::Histogram(categories) => Some(categories),
        };
        let (noise, size) = match noise {
            AddedNoise::None => ("none", None),
            AddedNoise::Geometric(ratio) => ("geometric", Some(ratio.get())),
            AddedNoise::Laplace(scale) => ("laplace", Some(scale.get())),
            AddedNoise::Gaussian(sigma) => ("gaussian", Some(sigma.get())),
            AddedNoise::DiscreteGaussian(sigma) => ("discrete-gaussian", Some(sigma.get())),
        };
        Self::Rows { table, categories, noise: noise.into(), size }
    }
}

impl TryFrom<StatisticDocument> for ReleasedStatistic {
    type Error = Error;

    fn try_from(document: StatisticDocument) -> Result<Self> {
        let (table, categories, noise, size) = match document {
            StatisticDocument::Rows { table, categories, noise, size } => (table, categories, noise, size),
            StatisticDocument::Other { why_not } => return Ok(Self::Other(why_not)),
        };
        let size = || size.ok_or_else(|| Error::input(format!("noise of the law {noise} has a size")));
        let noise = match &*noise {
            "none" => AddedNoise::None,
            "geometric" => AddedNoise::Geometric(Ratio::new(size()?)?),
            "laplace" => AddedNoise::Laplace(Scale::new(size()?)?),
            "gaussian" => AddedNoise::Gaussian(Sigma::new(size()?)?),
            "discrete-gaussian" => AddedNoise::DiscreteGaussian(Sigma::new(size()?)?),
            other => return Err(Error::input(format!("there is no noise of the law {other}"))),
        };
        Ok(Self::Rows { table, statistic: categories.map_or(Statistic::Count, Statistic::Histogram), noise })
    }
}

impl ReleasedStatistic {
    /// A query that counts the rows of one table, in all or over public categories, is analysed; others are not.
    pub(crate) fn of_query(cut: &PrivateQuery, noises: &[Noise]) -> Result<Self> {
        let query = &cut.query;
        let (Some(table), 1) = (cut.below.tables.iter().next(), cut.below.tables.len()) else {
            return Ok(Self::Other("rows of several tables are joined".into()));
        };
        let ([measure], [noise], true) = (&query.measures[..], noises, query.quantiles.is_empty()) else {
            return Ok(Self::Other("several statistics of the same rows are published at once".into()));
        };
        if cut.per_owner.is_some() {
            return Ok(Self::Other("the rows of each owner are made one first, and the analysis is for rows".into()));
        }
        if !matches!(measure.what, Summand::Owners | Summand::Rows | Summand::Present) {
            return Ok(Self::Other("only counts and histograms of rows are analysed".into()));
        }
        if query.bounds.is_some_and(|bounds| bounds.rows > 1) {
            return Ok(Self::Other("an owner may have several rows here, and the analysis is for one".into()));
        }
        let statistic = match (query.keys.len(), query.cells()) {
            (0, _) => Statistic::Count,
            // A row may also be in no cell: left out by a condition, or without a value.
            (_, Some(cells)) => Statistic::Histogram(cells.saturating_add(1)),
            (_, None) => {
                return Ok(Self::Other(
                    "its groups are not public, so that nobody can declare beliefs about them".into(),
                ));
            }
        };
        let noise = match noise {
            Noise::Laplace(noise) => geometric(noise.scale())?,
            Noise::Gaussian(noise) => AddedNoise::DiscreteGaussian(noise.sigma()),
            _ => return Ok(Self::Other("its noise is of a kind that is not analysed".into())),
        };
        Ok(Self::Rows { table: table.clone(), statistic, noise })
    }
}

/// What the project's attacker learns from one release.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Finding {
    /// The analysis' verdict and words.
    Learned(Box<ReleaseAssessment>),
    /// Nothing may be claimed before these are declared, each in one sentence.
    Missing(Vec<String>),
    /// The release is not of a kind that is analysed.
    NotAnalysed(String),
}

impl Finding {
    /// Whether there is a guarantee.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Learned(learned) if matches!(learned.verdict, Verdict::Guarantee(_)))
    }

    /// Never more than what holds against everybody: `everybody` is the release's ε for a person at a δ. The analysis
    /// of an attacker computes in f64 with slack, and would say 0.200001 beside a guarantee of 0.2 without assumptions.
    pub(crate) fn at_most(self, everybody: impl Fn(&Exact) -> Option<f64>) -> Self {
        let Self::Learned(mut learned) = self else { return self };
        let ReleaseAssessment { scenario, verdict, words } = &mut *learned;
        if let Verdict::Guarantee(guarantee) = verdict {
            let before = sentence(scenario, guarantee);
            let least = |epsilon: f64, delta: f64| {
                let most = Exact::from_f64(delta).ok().and_then(|delta| everybody(&delta));
                most.map_or(epsilon, |most| most.min(epsilon))
            };
            guarantee.epsilon = least(guarantee.epsilon, guarantee.delta);
            guarantee.epsilon_lower = guarantee.epsilon_lower.min(guarantee.epsilon);
            guarantee.noise_epsilon = guarantee.noise_epsilon.map(|epsilon| least(epsilon, 0.0));
            for (epsilon, delta) in guarantee.degradation.iter_mut().filter_map(|row| row.claim.as_mut()) {
                *epsilon = least(*epsilon, *delta);
            }
            *words = words.replace(&before, &sentence_with(scenario, guarantee, &rounded_up(guarantee.epsilon)));
        }
        Self::Learned(learned)
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Learned(learned) => learned.words.clone(),
            Self::Missing(missing) => format!("Nothing is claimed: {}.", missing.join("; ")),
            Self::NotAnalysed(why) => format!("Not analysed: {why}."),
        }
    }

    /// As JSON has it: what `scumble lab attacker --json` prints, and the words.
    pub fn document(&self) -> FindingDocument {
        let verdict = match self {
            Self::Learned(learned) => {
                let question = AttackerQuestion { scenario: learned.scenario.clone(), assumed: Vec::new() };
                FindingVerdict::Analysed(VerdictDocument::of(&question, &learned.verdict))
            }
            Self::Missing(missing) => FindingVerdict::Analysed(VerdictDocument::Refused { missing: missing.clone() }),
            Self::NotAnalysed(why) => FindingVerdict::NotAnalysed { verdict: "not-analysed", reason: why.clone() },
        };
        FindingDocument { verdict, words: self.words() }
    }
}

/// A [`Finding`] as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FindingDocument {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: FindingVerdict,
    /// The finding in words.
    pub words: String,
}

/// A verdict on a release as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum FindingVerdict {
    /// That of the analysis.
    Analysed(VerdictDocument),
    /// The release is not of a kind that is analysed.
    NotAnalysed {
        /// The word for this verdict.
        verdict: &'static str,
        /// Why not.
        reason: String,
    },
}

/// What the project's attacker learns from a release, taken alone; none if the project declares no attacker.
pub fn answer(project: &Project, counted: &ReleasedStatistic) -> Result<Option<Finding>> {
    let Some(attacker) = &project.attacker else { return Ok(None) };
    let ReleasedStatistic::Rows { table, statistic, noise } = counted else {
        let ReleasedStatistic::Other(why) = counted else { return Ok(None) };
        return Ok(Some(Finding::NotAnalysed(why.to_string())));
    };
    let missing = missing(project, attacker, table);
    let (Some(owners), true) = (project.tables.get(table).and_then(|table| table.public_owners), missing.is_empty())
    else {
        return Ok(Some(Finding::Missing(missing)));
    };
    let settings = AttackerSettings {
        rows: owners,
        known: Rate::new(attacker.known_rows)?,
        active: attacker.active,
        lambda: Lambda::new(attacker.uncertainty)?,
        independent: attacker.independent,
        delta: attacker.delta.map_or_else(|| default_delta(&project.budget), Ok)?,
    };
    if let Statistic::Histogram(categories) = statistic
        && attacker.uncertainty * *categories as f64 > 1.0
    {
        let (uncertainty, most) = (attacker.uncertainty, 1.0 / *categories as f64);
        return Ok(Some(Finding::Missing(vec![format!(
            "an uncertainty of {uncertainty} in [attacker] cannot hold for each of {categories} categories (including \
                rows that are in none), which leaves at most {most:.4} for the least likely"
        )])));
    }
    Ok(Some(Finding::Learned(Box::new(of_release(&settings, *statistic, *noise, 1, 1)?))))
}

/// What the project file declares about its attacker, as far as an answer depends on it.
pub(crate) fn declared(project: &Project) -> Result<Value> {
    let Some(attacker) = &project.attacker else { return Ok(Value::Null) };
    // Each field by name: a new one must be thought of here.
    let Attacker { known_rows, active, uncertainty, independent, delta } = attacker;
    let delta = delta.map_or_else(|| default_delta(&project.budget), Ok)?.get();
    Ok(json!({
        "known_rows": known_rows, "active": active, "uncertainty": uncertainty, "independent": independent, "delta": delta,
    }))
}

/// What must be declared before anything may be claimed about a table.
fn missing(project: &Project, attacker: &Attacker, table: &str) -> Vec<String> {
    let mut missing = Vec::new();
    if !attacker.independent {
        missing.push(
            "[attacker] needs independence = \"declared\": the attacker considers different owners \
            independent, without households or duplicates"
                .to_string(),
        );
    }
    if project.tables.get(table).is_none_or(|table| table.public_owners.is_none()) {
        missing.push(format!(
            "[dataset.{table}] needs public_owners: how many owners there are at least, from public knowledge and not counted from the data"
        ));
    }
    if attacker.uncertainty <= 0.0 {
        missing.push("[attacker] needs an uncertainty above 0: the least probability of each value of a row that the attacker does not know".to_string());
    }
    missing
}

fn default_delta(budget: &Budget) -> Result<Delta> {
    Ok(Delta::new(budget.smallest_delta().map_or(USUAL_DELTA, |delta| delta.to_f64_down()))?)
}

/// Discrete Laplace noise as the analysis calls it. The ratio is rounded down: narrower noise hides less, so that the
/// claim stays a bound.
pub fn geometric(scale: Scale) -> Result<AddedNoise> {
    let ratio = (-1.0 / scale.get()).exp().next_down().next_down();
    // Where e^{−1/scale} is next to nothing, so is the noise.
    Ok(if ratio > 0.0 { AddedNoise::Geometric(Ratio::new(ratio)?) } else { AddedNoise::None })
}
