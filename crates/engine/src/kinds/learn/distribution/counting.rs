//! Noisy counts of combinations of values, and a noisy number of owners, in one of three ways.
//!
//! Up to a million combinations each has noise of its own. Beyond that all of them still have, but only those above a
//! threshold are listed, which takes no walk through the others ([`scumble::mechanism::huge_domain`]). For a cost per
//! attribute there is the tree of heavy hitters too, which grows with the logarithm of the number of columns, and not
//! with that of the number of combinations: it is taken where it promises less error, from about fifty columns of two
//! values on.

use super::DistributionDomain;
use crate::error::{Error, Result};
use crate::kinds::heavy_hitters::{HeavyHittersRequest, fitted};
use crate::kinds::learn::KIND;
use crate::kinds::learn::class::digits;
use crate::project::{Cost, CostScope, Goal};
use crate::release::output::BETA;
use crate::release::price::allowance::Exceptions;
use crate::release::price::noise::{CostShare, Demand, Noise, calibrate, described};
use crate::release::rows::records::Records;
use scumble::event::{Event, Moves, Shift, Touch};
use scumble::learn::distribution::CountErrors;
use scumble::mechanism::heavy_hitters::{HeavyHitters, MOST_CANDIDATES};
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Exact};
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Up to this many combinations all are listed.
const MOST_CELLS: f64 = 1_000_000.0;
/// Combinations are numbered up to 2 to this.
pub(crate) const MOST_KEY_BITS: u32 = 120;
/// The share that the number of owners has of a cost for presence. For persons it costs nothing more: a replaced owner
/// moves two combinations, or one and the number.
const FOR_OWNERS: &str = "0.1";
/// Promises of heavy hitters are for at most this many owners, or for as many as are public.
const MANY_OWNERS: u64 = 1_000_000;

/// How combinations and owners are counted, what that costs, and how far off it may be.
pub(crate) struct DistributionMechanism {
    way: CountingMethod,
    /// The noise of the number of owners; none where it is public.
    owners: Option<Noise>,
    pub(crate) events: Vec<Event>,
    /// All of it holds with probability 95%.
    pub(crate) off: CountErrors,
    /// For how many owners that is.
    most_owners: Option<u64>,
    granted: Value,
}

enum CountingMethod {
    All(Noise),
    Listed(Noise, HugeDomainHistogram),
    Tree(HeavyHitters),
}

/// What was counted, with its noise.
pub(crate) struct NoisyDistribution {
    pub(crate) counts: Vec<i64>,
    /// Which combinations they are of.
    pub(crate) places: KeyPlaces,
    /// At least one.
    pub(crate) owners: f64,
    /// Whether a list was cut, so that nothing is known of what is not listed.
    pub(crate) is_cut: bool,
}

pub(crate) enum KeyPlaces {
    /// All in their order.
    All,
    /// These, by their codes.
    Listed(Vec<Vec<usize>>),
}

impl DistributionMechanism {
    /// With the least noise that the cost allows.
    pub(crate) fn within(cost: &Cost, domain: &DistributionDomain) -> Result<Self> {
        if matches!(cost.target, Goal::Accuracy { .. }) {
            return Err(Error::input("the accuracy of a distribution cannot be asked for: give epsilon or rho"));
        }
        if domain.combinations <= MOST_CELLS {
            return Self::all(cost, domain);
        }
        let is_pure = matches!(cost.target, Goal::Epsilon(_));
        let listed = domain.keys().filter(|_| is_pure).map(|keys| Self::listed(cost, domain, keys)).transpose()?;
        let tree = (cost.scope() == CostScope::Attribute).then(|| Self::tree(cost, domain));
        match (listed, tree) {
            (Some(listed), Some(Ok(tree))) if tree.width() < listed.width() => Ok(tree),
            (Some(listed), _) => Ok(listed),
            (None, Some(tree)) => tree,
            (None, None) if is_pure => Err(Error::input(format!(
                "the columns have more than 2^{MOST_KEY_BITS} combinations of values: take fewer columns, or a cost per attribute, cost = {{ epsilon = …, scope = \"attribute\" }}"
            ))),
            (None, None) => Err(Error::input(format!(
                "more than {MOST_CELLS} combinations of values have Laplace noise, with a pure epsilon: write cost = \
                    {{ epsilon = … }}, or take fewer columns"
            ))),
        }
    }

    fn width(&self) -> f64 {
        self.off.above + self.off.below
    }

    /// Noise on every combination.
    pub(crate) fn all(cost: &Cost, domain: &DistributionDomain) -> Result<Self> {
        let (noise, owners, events) = noises(cost, domain)?;
        let beta = if owners.is_some() { BETA / 2.0 } else { BETA };
        let most = noise.maximum(domain.combinations, Beta::new(beta)?);
        let people = owners.as_ref().map_or(0.0, |owners| owners.quantile(beta));
        let off = CountErrors { above: most, below: most, people, strings: domain.combinations };
        Ok(Self { way: CountingMethod::All(noise), owners, events, off, most_owners: None, granted: Value::Null })
    }

    /// The same, where only what no noise by itself reaches is listed.
    pub(crate) fn listed(cost: &Cost, domain: &DistributionDomain, keys: u128) -> Result<Self> {
        // All of it is pure, whatever δ there is.
        let (noise, owners, events) = noises(&Cost { delta: None, ..cost.clone() }, domain)?;
        let Noise::Laplace(laplace) = &noise else { return Err(Error::machine("pure noise is Laplace noise")) };
        let beta = if owners.is_some() { BETA / 2.0 } else { BETA };
        let most = noise.maximum(domain.combinations, Beta::new(beta)?);
        let people = owners.as_ref().map_or(0.0, |owners| owners.quantile(beta));
        // What is not listed has a noisy count of at most `most`, and so at most twice that many owners.
        let histogram = HugeDomainHistogram::with_threshold(keys - 1, laplace.scale(), most as i64 + 1)?;
        let off = CountErrors { above: most, below: 2.0 * most, people, strings: f64::INFINITY };
        let way = CountingMethod::Listed(noise, histogram);
        Ok(Self { way, owners, events, off, most_owners: None, granted: Value::Null })
    }

    /// A tree of heavy hitters, in which an attribute pays for few nodes; no attribute pays for the number of owners.
    pub(crate) fn tree(cost: &Cost, domain: &DistributionDomain) -> Result<Self> {
        let sizes = domain.attributes.sizes();
        let wanted = HeavyHittersRequest::balanced(&sizes)?;
        let delta = cost.delta.clone().unwrap_or_else(Exact::zero);
        let (tree, mut events, granted) =
            fitted(&wanted, &domain.attributes, cost, KIND.name, delta, &Exceptions::none())?;
        let noise = Noise::laplace(tree.root().scale);
        let owners = domain.public_owners.is_none().then(|| noise.clone());
        if let Some(owners) = &owners {
            events.push(owners.event(one(Vec::new())?)?);
        }
        let (beta, most_owners) = (BETA / 3.0, domain.public_owners.unwrap_or(MANY_OWNERS).max(MANY_OWNERS));
        // What is listed and few have is listed with the floor and its noise.
        let most = noise.maximum(MOST_CANDIDATES as f64, Beta::new(beta)?);
        let found_from = tree.found_from(most_owners, Beta::new(beta)?) as f64;
        let off = CountErrors {
            above: tree.root().floor().max(0) as f64 + most,
            below: most.max(found_from),
            people: owners.as_ref().map_or(0.0, |owners| owners.quantile(beta)),
            strings: f64::INFINITY,
        };
        let finder = HeavyHitters::new(tree, sizes.iter().map(|size| size.unwrap_or(1)).collect())?;
        Ok(Self { way: CountingMethod::Tree(finder), owners, events, off, most_owners: Some(most_owners), granted })
    }

    /// How they are counted, for people.
    pub(crate) fn called(&self) -> &'static str {
        match self.way {
            CountingMethod::All(_) => "each with noise of its own",
            CountingMethod::Listed(..) => "listed if more owners share them than noise can produce",
            CountingMethod::Tree(_) => "listed if many owners share them (heavy hitters)",
        }
    }

    /// What must be true beside.
    pub(crate) fn condition(&self) -> String {
        self.most_owners.map_or(String::new(), |owners| format!(", if there are no more than {owners} owners"))
    }

    /// For the ledger.
    pub(crate) fn tell(&self, rule: &mut Value) {
        rule["by"] = match &self.way {
            CountingMethod::All(noise) => json!({ "noise": described(noise) }),
            CountingMethod::Listed(noise, histogram) => {
                json!({ "noise": described(noise), "threshold": histogram.threshold() })
            }
            CountingMethod::Tree(finder) => {
                let root = finder.tree().root();
                json!({ "heavy_hitters": { "threshold": root.threshold, "scale": root.scale.get() }, "granted": self.granted })
            }
        };
        rule["owners"] = self.owners.as_ref().map_or(json!("public"), |owners| json!({ "noise": described(owners) }));
    }

    /// Counts, with noise.
    ///
    /// # Guarantee
    /// Before: each owner has one record. After: what the events say of it.
    pub(crate) fn count(
        &self,
        domain: &DistributionDomain,
        records: &Records,
        bits: &mut dyn BitSource,
    ) -> Result<NoisyDistribution> {
        let (counts, places, is_cut) = match &self.way {
            CountingMethod::All(noise) => {
                let mut counts = vec![0i64; domain.combinations as usize];
                (0..records.number()).for_each(|record| counts[domain.key(records, record) as usize] += 1);
                noise.add_to_all(&mut counts, bits);
                (counts, KeyPlaces::All, false)
            }
            CountingMethod::Listed(_, histogram) => {
                let mut counts: HashMap<u128, i64> = HashMap::new();
                (0..records.number()).for_each(|record| *counts.entry(domain.key(records, record)).or_default() += 1);
                let found = histogram.release(&counts.into_iter().collect::<Vec<_>>(), bits)?;
                let (keys, counts): (Vec<u128>, Vec<i64>) = found.into_iter().unzip();
                (counts, KeyPlaces::Listed(keys.into_iter().map(|key| digits(&domain.sizes, key)).collect()), false)
            }
            CountingMethod::Tree(finder) => {
                let found = finder.release(&records.columns, bits)?;
                let codes = |values: Vec<u32>| values.into_iter().map(|code| code as usize).collect();
                let strings = found.strings.into_iter().map(|string| (codes(string.values), string.count));
                let (places, counts): (Vec<Vec<usize>>, Vec<i64>) = strings.unzip();
                (counts, KeyPlaces::Listed(places), found.is_cut)
            }
        };
        let owners = match (&self.owners, domain.public_owners) {
            (Some(noise), _) => noise.add_to_wide(records.number() as i128, bits) as f64,
            (None, public) => public.unwrap_or(1) as f64,
        };
        Ok(NoisyDistribution { counts, places, owners: owners.max(1.0), is_cut })
    }
}

/// The noise of each combination and of the number of owners, with all that both cost.
///
/// # Guarantee
/// An owner is counted in one combination and in the number of owners. An owner who comes or goes moves both by 1; a
/// replaced owner moves two combinations, or one and the number, if by nobody; another value of an attribute moves two
/// combinations, and not the number. So for persons and attributes, where two numbers of the same noise move whatever
/// happens, one event says it all; for presence the number has noise of its own, and a smaller part of the cost.
fn noises(cost: &Cost, domain: &DistributionDomain) -> Result<(Noise, Option<Noise>, Vec<Event>)> {
    let all = AttributeSet::new(domain.attributes.names().iter().map(String::as_str))?;
    let two = vec![Shift::new(2, 1.0)?];
    let touch = Touch { attributes: all, shifts: two.clone() };
    let calibrated = |moves: &Moves, aside: Option<CostShare<'_>>| {
        let moves = std::slice::from_ref(moves);
        calibrate(cost, &Demand { moves, steps: &[Some(1.0)], aside, ..Demand::default() })
    };
    if domain.public_owners.is_none() && cost.scope() != CostScope::Presence {
        let moves = Moves::by_scope(two.clone(), two, vec![touch]);
        let noise = calibrated(&moves, None)?.noises.remove(0);
        let events = vec![noise.event(moves)?];
        return Ok((noise.clone(), Some(noise), events));
    }
    let moves = one(vec![touch])?;
    if domain.public_owners.is_some() {
        let noise = calibrated(&moves, None)?.noises.remove(0);
        let events = vec![noise.event(moves)?];
        return Ok((noise, None, events));
    }
    let (share, of_owners) = (FOR_OWNERS.parse::<Exact>()?, [one(Vec::new())?]);
    let mut both = calibrated(&moves, Some(CostShare { share: &share, moves: &of_owners, portions: &[1] }))
        .map_err(|_| Error::input("no noise fits this cost: raise it"))?;
    let (noise, owners) = (both.noises.remove(0), both.aside.remove(0));
    let [of_owners] = of_owners;
    let events = vec![noise.event(moves)?, owners.event(of_owners)?];
    Ok((noise, Some(owners), events))
}

/// What moves by 1 when an owner comes or goes; what else these say of attributes moves with a person.
fn one(touches: Vec<Touch>) -> Result<Moves> {
    let one = vec![Shift::new(1, 1.0)?];
    Ok(Moves::by_scope(one.clone(), one, touches))
}
