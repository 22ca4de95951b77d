//! The ways to find the most frequent values: which noise on what, and what it takes to be found.

use super::{Scores, TopMethod, TopValues, cell};
use crate::error::{Error, Result};
use crate::project::{Cost, Goal};
use crate::release::output::{BETA, Cell};
use crate::release::price::noise::{Noise, calibrate_runs, delta_of_keys};
use datafusion::common::ScalarValue;
use scumble::event::Event;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::selection::ScoreChange;
use scumble::mechanism::selection::top::{GeneralizedHistogram, UnknownTop, leads, moves_of_a_pair};
use scumble::mechanism::stability::{Contribution, StabilityHistogram};
use scumble::noise::BitSource;
use scumble::noise::tape::{self, Announcement};
use scumble::quantity::{Beta, Delta, Scale};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// With which probability any of the values that nobody has is published, where a domain is too large to be listed.
pub(crate) const SPURIOUS: f64 = 0.01;

/// One way, at one cost.
#[derive(Debug, Clone)]
pub(crate) struct TopMechanism {
    pub method: TopMethod,
    pub number: u64,
    pub noise: Noise,
    /// The least noisy number that is published; none where all values are listed.
    pub threshold: Option<i64>,
    pub delta: Option<f64>,
    pub events: Vec<Event>,
    pub needed: DetectionBound,
    /// What all numbers that are looked at are off by at most, except with probability 5%, where it is known how many
    /// these are.
    most_off: Option<f64>,
}

/// What is enough for a value to be found, except with probability 5%.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DetectionBound {
    /// A lead over the next value.
    Lead(f64),
    /// This many owners.
    Owners(f64),
}

impl DetectionBound {
    /// What a value needs to be published with probability 95%.
    pub fn json(self) -> Value {
        match self {
            Self::Owners(owners) => json!({ "owners_for_95_percent": owners.ceil() as u64 }),
            Self::Lead(lead) => json!({ "lead_for_95_percent": lead.ceil() as u64 }),
        }
    }

    pub fn get(self) -> f64 {
        match self {
            Self::Lead(number) | Self::Owners(number) => number,
        }
    }
}

impl TopMechanism {
    /// Noise on every value's number of owners: an owner who comes or goes moves as many as they have values.
    pub fn counts(scores: &Scores, cost: &Cost, number: u64) -> Result<Self> {
        let (noise, delta) = noise(scores, cost, &scores.moves, 1)?;
        let event = noise.event(scores.moves.clone())?;
        let (threshold, event) = match (&scores.values, delta) {
            (TopValues::Unknown, Some(delta)) => {
                let keys = few(scores.keys)?;
                let made = StabilityHistogram::new(noise.clone(), Contribution::new(keys, 1)?, Delta::new(delta)?)?;
                (Some(made.threshold()), event.for_new_keys(Delta::new(delta)?, scores.keys)?)
            }
            (values, _) => (spurious(values, &noise)?, event),
        };
        Self::new(scores, TopMethod::Counts, number, noise, (threshold, delta), vec![event])
    }

    /// Noise on what each of the best leads the next by: m pairs of values move, however many an owner has.
    pub fn gap(scores: &Scores, cost: &Cost, number: u64) -> Result<Self> {
        let moves = moves_of_a_pair(ScoreChange::Monotone, vec![scores.read.clone()])?;
        let (noise, delta) = noise(scores, cost, &moves, number as usize)?;
        let (threshold, events) = match (&scores.values, delta) {
            (TopValues::Unknown, Some(delta)) => {
                let made = UnknownTop::new(number as usize, noise.clone(), Delta::new(delta)?)?;
                (Some(made.threshold()), made.events_touching(vec![scores.read.clone()])?)
            }
            (values, _) => (spurious(values, &noise)?, vec![noise.event(moves)?.repeated(number)?]),
        };
        Self::new(scores, TopMethod::Gap, number, noise, (threshold, delta), events)
    }

    fn new(
        scores: &Scores,
        method: TopMethod,
        number: u64,
        noise: Noise,
        (threshold, delta): (Option<i64>, Option<f64>),
        events: Vec<Event>,
    ) -> Result<Self> {
        let beta = Beta::new(BETA)?;
        let most_off = match scores.values {
            TopValues::Listed(values) => Some(noise.maximum(values as f64, beta)),
            _ => None,
        };
        let above = threshold.map(|threshold| threshold as f64 + noise.maximum(number as f64, beta));
        let needed = match (above, most_off, method) {
            (Some(above), _, TopMethod::Counts) => DetectionBound::Owners(above),
            (Some(above), ..) => DetectionBound::Lead(above),
            (None, Some(off), _) => DetectionBound::Lead(2.0 * off + 1.0),
            (None, None, _) => return Err(Error::machine("values that are not listed have a threshold")),
        };
        Ok(Self { method, number, noise, threshold, delta, events, needed, most_off })
    }

    /// The values with their noisy numbers, largest first. `scored` are all that are listed, or that occur.
    ///
    /// # Guarantee
    /// As accounting says of [`TopMechanism::events`], for owners who add at most 1 to the number of each value.
    pub fn release(
        &self,
        values: &TopValues,
        scored: &[(Vec<ScalarValue>, i64)],
        bits: &mut dyn BitSource,
    ) -> Result<Vec<(Vec<Cell>, i64)>> {
        let number = self.number as usize;
        let shown = |key: &Vec<ScalarValue>| key.iter().map(cell).collect::<Vec<Cell>>();
        let mut found: Vec<(Vec<Cell>, i64)> = match (values, self.method) {
            (TopValues::Listed(_), TopMethod::Gap) => {
                let counts: Vec<i64> = scored.iter().map(|(_, owners)| *owners).collect();
                let made = GeneralizedHistogram::new(number, self.noise.clone(), ScoreChange::Monotone)?;
                let best = made.release_leads(&counts, bits)?;
                best.into_iter().map(|(index, lead)| (shown(&scored[index].0), lead)).collect()
            }
            (TopValues::Listed(_), _) => {
                let mut counts: Vec<i64> = scored.iter().map(|(_, owners)| *owners).collect();
                self.noise.add_to_all(&mut counts, bits);
                scored.iter().zip(counts).map(|((key, _), noisy)| (shown(key), noisy)).collect()
            }
            (TopValues::Unknown, method) => {
                let delta = self.delta.ok_or_else(|| Error::machine("unknown values without a delta"))?;
                let said = || {
                    let noised = if method == TopMethod::Gap { leads(scored, number) } else { scored.to_vec() };
                    let keys = noised.into_iter().map(|(key, owners)| (format!("{key:?}"), i128::from(owners)));
                    Announcement::keys(self.noise.law(), keys)
                };
                tape::through_result(bits, said, |bits| {
                    let found = match method {
                        TopMethod::Gap => {
                            UnknownTop::new(number, self.noise.clone(), Delta::new(delta)?)?.release(scored, bits)
                        }
                        _ => self.stable(delta)?.release(scored, bits),
                    };
                    Ok::<_, Error>(found.into_iter().map(|(key, noisy)| (shown(&key), noisy)).collect::<Vec<_>>())
                })?
            }
            (TopValues::Texts(texts), method) => {
                let key = |(key, owners): &(Vec<ScalarValue>, i64)| match &key[..] {
                    [ScalarValue::Utf8(Some(text))] => Some((texts.key(text)?, *owners)),
                    _ => None,
                };
                let mut counts: Vec<(u128, i64)> = scored.iter().filter_map(key).collect();
                if method == TopMethod::Gap {
                    counts = leads(&counts, number);
                }
                let found = huge(texts.last(), &self.noise, self.threshold)?.release(&counts, bits)?;
                let text = |key| Cell::Text(texts.text(key).unwrap_or_default().into());
                found.into_iter().map(|(key, noisy)| (vec![text(key)], noisy)).collect()
            }
        };
        found.sort_by_key(|(_, noisy)| Reverse(*noisy));
        found.truncate(number);
        Ok(found)
    }

    /// Keys whose noisy number reaches the threshold, which is kept.
    fn stable(&self, delta: f64) -> Result<StabilityHistogram> {
        let keys = match self.events[0].word() {
            scumble::event::Word::NewKeys(keys) => few(keys.keys())?,
            _ => return Err(Error::machine("unknown values without their event")),
        };
        Ok(StabilityHistogram::new(self.noise.clone(), Contribution::new(keys, 1)?, Delta::new(delta)?)?)
    }

    pub fn name(&self) -> &'static str {
        if self.method == TopMethod::Gap { "gap" } else { "counts" }
    }

    /// The column of noisy numbers.
    pub fn column(&self) -> &'static str {
        if self.method == TopMethod::Gap { "lead" } else { "count" }
    }

    /// Half of an interval: of all values at once where these are listed, since those are shown whose noise is large.
    pub fn half_width(&self) -> f64 {
        self.most_off.unwrap_or_else(|| self.noise.quantile(BETA))
    }

    /// What can be relied on.
    pub fn promise_sentence(&self) -> String {
        let promise = self.promise();
        format!("{}{}.", promise[..1].to_uppercase(), &promise[1..])
    }

    /// The same, to stand after a name.
    pub fn promise(&self) -> String {
        let Self { number, .. } = self;
        let values = if *number == 1 {
            "the most frequent value is".to_string()
        } else {
            format!("the {number} most frequent values are")
        };
        match (self.needed, self.threshold) {
            (DetectionBound::Owners(owners), _) => format!(
                "{values} published, all with probability 95%, if each has {owners} owners; two of them are in their true order with that probability if they are {} owners apart",
                2.0 * self.noise.quantile(BETA / 2.0) + 1.0
            ),
            (DetectionBound::Lead(lead), Some(_)) => format!(
                "{values} published, all with probability 95%, if each has {lead} owners more than the next value has; fewer are if not"
            ),
            (DetectionBound::Lead(lead), None) => {
                format!(
                    "{values} found, all with probability 95%, if each has {lead} owners more than the next value has"
                )
            }
        }
    }

    /// What a reader should know of the numbers.
    pub fn meaning(&self) -> String {
        let what = match self.method {
            TopMethod::Gap => format!(
                "A lead is by how many owners a value has more than value number {}, with noise; its count is not published.",
                self.number + 1
            ),
            _ => "A count is how many owners have the value, with noise.".to_string(),
        };
        match self.most_off {
            Some(_) => format!("{what} The intervals hold for all values at once, with probability 95%."),
            None => format!(
                "{what} Values are shown where it is large: those whose noise is large too are among them, and fewer than 95% of the intervals may hold."
            ),
        }
    }
}

/// The noise of this many runs, and the δ of values that only one owner has where they are unknown.
fn noise(scores: &Scores, cost: &Cost, moves: &scumble::event::Moves, runs: usize) -> Result<(Noise, Option<f64>)> {
    match (&scores.values, &cost.target) {
        (TopValues::Unknown, _) => {
            let delta = delta_of_keys(cost, scores.default_delta.as_ref())?;
            Ok((calibrate_runs(cost, moves, runs)?, Some(delta)))
        }
        (TopValues::Texts(_), Goal::Rho(_)) => Err(Error::input(
            "strings of up to some bytes are counted with Laplace noise, which has a pure epsilon: write cost = { \
                epsilon = … }",
        )),
        // All of it is pure: a δ would buy Gaussian noise, whose tail is not drawn here.
        (TopValues::Texts(_), _) => Ok((calibrate_runs(&Cost { delta: None, ..cost.clone() }, moves, runs)?, None)),
        (TopValues::Listed(_), _) => Ok((calibrate_runs(cost, moves, runs)?, None)),
    }
}

fn few(keys: u64) -> Result<u32> {
    u32::try_from(keys).map_err(|_| Error::input("max_groups_per_owner is too large for values that are not public"))
}

/// The threshold that no absent text reaches, except with a small probability; none where all values are listed.
fn spurious(values: &TopValues, noise: &Noise) -> Result<Option<i64>> {
    let TopValues::Texts(texts) = values else { return Ok(None) };
    let made = HugeDomainHistogram::new(texts.last(), scale(noise)?, Beta::new(SPURIOUS)?)?;
    Ok(Some(made.threshold()))
}

fn huge(last: u128, noise: &Noise, threshold: Option<i64>) -> Result<HugeDomainHistogram> {
    let threshold = threshold.ok_or_else(|| Error::machine("a huge domain without a threshold"))?;
    Ok(HugeDomainHistogram::with_threshold(last, scale(noise)?, threshold)?)
}

fn scale(noise: &Noise) -> Result<Scale> {
    match noise {
        Noise::Laplace(noise) => Ok(noise.scale()),
        _ => Err(Error::machine("a huge domain has Laplace noise")),
    }
}
