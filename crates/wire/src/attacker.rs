//! Questions about attackers with partial knowledge, and their verdicts.

use crate::place::LocatedValue;
use crate::place::WireResult;
use scumble::quantity::{Delta, Epsilon, Probability, Scale, Sigma};
use scumble_adversary::attacker::{
    AddedNoise, BeliefCoverage, BeliefGroup, Generalisation, GuaranteeQuery, Knowledge, KnownRecords, Lambda,
    Population, PublishedStatistic, Ratio, Release, Scenario, Uncertainty, Verdict, brittleness, sentence,
};
use serde::Serialize;
use serde_json::{Value, json};

/// A question and what was assumed where it says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackerQuestion {
    /// The question.
    pub scenario: Scenario,
    /// What was taken for granted, each in a few words: to be printed with the answer.
    pub assumed: Vec<String>,
}

/// Reads a question: the sections population, attacker, uncertainty, release, noise and query.
///
/// What makes an attacker weaker is never assumed: without `uncertainty.independence = "declared"`, without
/// `hidden_bottom` or `generalisation` of a k-anonymous release, the verdict is a refusal. An attacker is active unless
/// the document says passive.
pub fn attacker_from_json(document: &Value) -> WireResult<AttackerQuestion> {
    let root = LocatedValue::root(document);
    root.only(&["population", "attacker", "uncertainty", "release", "noise", "query"])?;
    let empty = json!({});
    let section = |name: &str| -> WireResult<LocatedValue<'_>> {
        Ok(root.get(name)?.unwrap_or_else(|| LocatedValue::at(&empty, format!("$.{name}"))))
    };
    let mut assumed = Vec::new();
    let mut knowledge = knowledge(&section("attacker")?, &mut assumed)?;
    let release = release(&root.field("release")?, &mut assumed)?;
    let believed = root.field("uncertainty")?;
    let uncertainty = uncertainty(&believed)?;
    let population = population(&section("population")?)?;
    if let Uncertainty::Beliefs { groups, listed } = &uncertainty {
        knowledge.which = which_are_listed(&believed, groups, *listed, &population, &knowledge)?;
    }
    let scenario = Scenario {
        population,
        knowledge,
        independent: choice(&believed, "independence", &["declared", "unknown"])? == Some("declared"),
        conditional_on_block: truth(&believed, "conditional_on_block")?.unwrap_or(false),
        uncertainty,
        release,
        noise: noise(&section("noise")?)?,
        query: query(&root.field("query")?)?,
    };
    Ok(AttackerQuestion { scenario, assumed })
}

fn choice<'a>(section: &LocatedValue<'a>, name: &str, allowed: &[&str]) -> WireResult<Option<&'a str>> {
    let Some(place) = section.get(name)? else { return Ok(None) };
    let text = place.text()?;
    if allowed.contains(&text) {
        return Ok(Some(text));
    }
    Err(place.refuse(format!("{name} must be one of {}, not {text}", allowed.join(", "))))
}

fn truth(section: &LocatedValue, name: &str) -> WireResult<Option<bool>> {
    let Some(place) = section.get(name)? else { return Ok(None) };
    place.value().as_bool().map(Some).ok_or_else(|| place.refuse(format!("{name} must be true or false")))
}

fn whole(section: &LocatedValue, name: &str) -> WireResult<Option<u64>> {
    section.get(name)?.map(|place| place.whole()).transpose()
}

fn population(section: &LocatedValue) -> WireResult<Population> {
    section.only(&["n_total", "unit", "block_max_size", "blocks"])?;
    choice(section, "unit", &["record", "block"])?;
    let records = section.get("n_total")?.map(|place| match place.whole()? {
        0 => Err(place.refuse("n_total must be at least 1")),
        records => Ok(records),
    });
    let block_size = match section.get("block_max_size")? {
        None => 1,
        Some(place) => u32::try_from(place.whole()?)
            .ok()
            .filter(|size| (1..=1_000_000).contains(size))
            .ok_or_else(|| place.refuse("block_max_size must be a whole number from 1 to 1000000"))?,
    };
    let records = records.transpose()?;
    let blocks = whole(section, "blocks")?;
    if let (Some(blocks), Some(records), Some(place)) = (blocks, records, section.get("blocks")?)
        && blocks > records
    {
        return Err(place.refuse(format!("{blocks} blocks cannot hold only {records} records")));
    }
    Ok(Population { records, block_size, blocks })
}

fn knowledge(section: &LocatedValue, assumed: &mut Vec<String>) -> WireResult<Knowledge> {
    section.only(&["known_records", "known_which", "influenced_records", "mode"])?;
    let known = whole(section, "known_records")?;
    if known.is_none() {
        assumed.push("the attacker knows no record (attacker.known_records is not given)".to_string());
    }
    let which = match choice(section, "known_which", &["any", "listed"])? {
        Some("listed") => KnownRecords::Listed,
        _ => KnownRecords::Any,
    };
    Ok(Knowledge {
        known: known.unwrap_or(0),
        which,
        influenced: whole(section, "influenced_records")?.unwrap_or(0),
        active: choice(section, "mode", &["passive", "active"])? != Some("passive"),
    })
}

fn uncertainty(section: &LocatedValue) -> WireResult<Uncertainty> {
    section.only(&[
        "kind",
        "lambda",
        "values",
        "of",
        "p_max",
        "total_variance",
        "category_min",
        "rho",
        "independence",
        "conditional_on_block",
    ])?;
    let kind = section.field("kind")?;
    let lambda = || section.field("lambda")?.quantity(Lambda::new);
    match kind.text()? {
        "lambda" => Ok(Uncertainty::Lambda(lambda()?)),
        "probs" => {
            let listed = match choice(section, "of", &["all", "others"])? {
                Some("others") => BeliefCoverage::Others,
                _ => BeliefCoverage::All,
            };
            let groups = section.field("values")?.list()?.iter().map(group).collect::<WireResult<_>>()?;
            Ok(Uncertainty::Beliefs { groups, listed })
        }
        "p_max" => Ok(Uncertainty::AtMost(section.field("p_max")?.quantity(Probability::new)?)),
        "total_variance" => {
            let place = section.field("total_variance")?;
            let variance = place.number()?;
            if !(0.0..=1e9).contains(&variance) {
                return Err(place.refuse(format!("total_variance must be a number in [0, 1e9], not {variance}")));
            }
            Ok(Uncertainty::TotalVariance(variance))
        }
        "category_min" => {
            let place = section.field("category_min")?;
            let minima: Vec<f64> = place
                .list()?
                .iter()
                .map(|entry| Ok(entry.quantity(Probability::new)?.get()))
                .collect::<WireResult<_>>()?;
            if minima.len() < 2 {
                return Err(place.refuse("category_min must list at least two categories"));
            }
            let sum: f64 = minima.iter().sum();
            if sum > 1.0 + 1e-9 {
                return Err(place.refuse(format!("the minima of all categories can sum to at most 1, not {sum}")));
            }
            Ok(Uncertainty::CategoryMinima(minima))
        }
        "rare_common" => {
            Ok(Uncertainty::RareCommon { lambda: lambda()?, rare: section.field("rho")?.quantity(Probability::new)? })
        }
        other => Err(kind.refuse(format!(
            "kind must be one of lambda, probs, p_max, total_variance, category_min, rare_common, not {other}"
        ))),
    }
}

/// `[p, how_many]`, or a p alone.
fn group(place: &LocatedValue) -> WireResult<BeliefGroup> {
    if place.value().is_number() {
        return Ok(BeliefGroup { probability: place.quantity(Probability::new)?, how_many: 1 });
    }
    match place.list()?.as_slice() {
        [p, how_many] => Ok(BeliefGroup { probability: p.quantity(Probability::new)?, how_many: how_many.whole()? }),
        _ => Err(place.refuse("a belief is [p, how_many]")),
    }
}

/// A list of beliefs lists all records, or all but the known ones (and except for the target, if it is of the others):
/// which, is seen from the number of records.
fn which_are_listed(
    section: &LocatedValue,
    groups: &[BeliefGroup],
    listed: BeliefCoverage,
    population: &Population,
    knowledge: &Knowledge,
) -> WireResult<KnownRecords> {
    let place = section.field("values")?;
    let sum = groups
        .iter()
        .try_fold(u64::from(listed == BeliefCoverage::Others), |sum, group| sum.checked_add(group.how_many));
    let described = match sum {
        None => return Err(place.refuse("the list has too many records")),
        Some(0) => return Err(place.refuse("the list needs at least one record")),
        Some(sum) => sum,
    };
    let with_known = described.saturating_add(knowledge.known.max(knowledge.influenced));
    let target = if listed == BeliefCoverage::Others { " with the target" } else { "" };
    match population.records {
        None => Ok(knowledge.which),
        Some(records) if records == with_known => Ok(KnownRecords::Listed),
        Some(records) if records == described && knowledge.which == KnownRecords::Any => Ok(KnownRecords::Any),
        Some(records) => Err(place.refuse(format!(
            "the list describes {described} records{target}, {with_known} with the known ones, but population.n_total is {records}; make \
             them agree, or leave n_total out"
        ))),
    }
}

fn release(section: &LocatedValue, assumed: &mut Vec<String>) -> WireResult<Release> {
    section.only(&[
        "kind",
        "T",
        "k",
        "hidden_bottom",
        "generalisation",
        "releases_on_same_units",
        "observed",
        "categories",
    ])?;
    let kind = section.field("kind")?;
    let published = match kind.text()? {
        "count" => PublishedStatistic::Count,
        "histogram" => PublishedStatistic::Histogram { categories: categories(section)? },
        "threshold_count" => PublishedStatistic::Threshold { threshold: within(&section.field("T")?)? },
        "k_anonymity" => PublishedStatistic::KAnonymity {
            k: within(&section.field("k")?)?,
            hidden_bottom: truth(section, "hidden_bottom")?,
            generalisation: choice(section, "generalisation", &["fixed", "data_dependent"])?.map(|how| match how {
                "fixed" => Generalisation::Fixed,
                _ => Generalisation::DataDependent,
            }),
        },
        other => {
            Err(kind.refuse(format!("kind must be one of count, histogram, threshold_count, k_anonymity, not {other}")))?
        }
    };
    let on_same_units = match section.get("releases_on_same_units")? {
        None => {
            assumed.push(
                "nothing else is ever released about these units (release.releases_on_same_units is not given)"
                    .to_string(),
            );
            1
        }
        Some(place) => u32::try_from(place.whole()?)
            .ok()
            .filter(|&count| count >= 1)
            .ok_or_else(|| place.refuse("releases_on_same_units must be at least 1: this release counts"))?,
    };
    Ok(Release {
        published,
        on_same_units,
        observed: section.get("observed")?.map(|place| within(&place)).transpose()?,
    })
}

fn categories(section: &LocatedValue) -> WireResult<Option<u64>> {
    let Some(place) = section.get("categories")? else { return Ok(None) };
    match place.whole()? {
        0 | 1 => Err(place.refuse("a histogram has at least two categories")),
        categories => Ok(Some(categories)),
    }
}

/// A number of records that fits where signed numbers are needed.
fn within(place: &LocatedValue) -> WireResult<u64> {
    match place.whole()? {
        number if number <= 1_000_000_000_000 => Ok(number),
        number => Err(place.refuse(format!("at most 1000000000000 is possible here, not {number}"))),
    }
}

fn noise(section: &LocatedValue) -> WireResult<AddedNoise> {
    section.only(&["kind", "p", "scale", "sigma"])?;
    match choice(section, "kind", &["none", "geometric", "laplace", "gaussian", "discrete_gaussian"])? {
        Some("geometric") => Ok(AddedNoise::Geometric(section.field("p")?.quantity(Ratio::new)?)),
        Some("laplace") => Ok(AddedNoise::Laplace(section.field("scale")?.quantity(Scale::new)?)),
        Some("discrete_gaussian") => Ok(AddedNoise::DiscreteGaussian(section.field("sigma")?.quantity(Sigma::new)?)),
        Some("gaussian") => Ok(AddedNoise::Gaussian(section.field("sigma")?.quantity(Sigma::new)?)),
        _ => Ok(AddedNoise::None),
    }
}

fn query(section: &LocatedValue) -> WireResult<GuaranteeQuery> {
    section.only(&["epsilon", "delta"])?;
    match (section.get("epsilon")?, section.get("delta")?) {
        (Some(epsilon), None) => Ok(GuaranteeQuery::Epsilon(epsilon.quantity(Epsilon::new)?)),
        (None, Some(delta)) => Ok(GuaranteeQuery::Delta(delta.quantity(Delta::new)?)),
        _ => Err(section.refuse("give either epsilon (the answer is a delta) or delta (the answer is an epsilon)")),
    }
}

/// A verdict as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
#[non_exhaustive]
pub enum VerdictDocument {
    /// This holds.
    Guarantee(GuaranteeDocument),
    /// There is no guarantee.
    None {
        /// Why, in one sentence.
        reason: String,
    },
    /// Nothing may be claimed.
    Refused {
        /// What is missing, each in one sentence.
        missing: Vec<String>,
    },
}

/// A guarantee as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GuaranteeDocument {
    /// The notion of partial knowledge.
    pub kind: &'static str,
    /// ε.
    pub epsilon: f64,
    /// No smaller ε than this can hold for this δ in the worst case.
    pub epsilon_lower: f64,
    /// δ.
    pub delta: f64,
    /// In the worst case δ at this ε is at least this.
    pub delta_lower: f64,
    /// By which analysis.
    pub method: &'static str,
    /// What is left when assumptions fail.
    pub degradation: Vec<DegradationDocument>,
    /// What the noise alone gives against everybody.
    pub noise_epsilon: Option<f64>,
    /// The guarantee in words.
    pub sentence: String,
    /// What a reader must know of such a guarantee.
    pub warning: &'static str,
    /// What was taken for granted.
    pub assumed: Vec<String>,
}

/// What is left when an assumption fails, as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DegradationDocument {
    /// What fails.
    pub change: String,
    /// ε then, if anything holds.
    pub epsilon: Option<f64>,
    /// δ then, if anything holds.
    pub delta: Option<f64>,
}

impl VerdictDocument {
    /// The verdict on a question.
    pub fn of(question: &AttackerQuestion, verdict: &Verdict) -> Self {
        let guarantee = match verdict {
            Verdict::None { reason } => return Self::None { reason: reason.clone() },
            Verdict::Refused { missing } => return Self::Refused { missing: missing.clone() },
            Verdict::Guarantee(guarantee) => guarantee,
        };
        let degradation = guarantee.degradation.iter().map(|row| {
            let (epsilon, delta) = row.claim.unzip();
            DegradationDocument { change: row.change.words(), epsilon, delta }
        });
        Self::Guarantee(GuaranteeDocument {
            kind: guarantee.notion.name(),
            epsilon: guarantee.epsilon,
            epsilon_lower: guarantee.epsilon_lower,
            delta: guarantee.delta,
            delta_lower: guarantee.delta_lower,
            method: guarantee.method.name(),
            degradation: degradation.collect(),
            noise_epsilon: guarantee.noise_epsilon,
            sentence: sentence(&question.scenario, guarantee),
            warning: brittleness(),
            assumed: question.assumed.clone(),
        })
    }
}

/// The verdict as JSON.
pub fn verdict_to_json(question: &AttackerQuestion, verdict: &Verdict) -> Value {
    json!(VerdictDocument::of(question, verdict))
}
