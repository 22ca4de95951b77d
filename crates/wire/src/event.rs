//! Events as JSON, both ways.

use crate::place::{Located, WireError};
use scumble::event::{Choices, Event, Moves, NewKeys, Pair, Parity, Path, Sampling, Shift, SmoothNoise, Touch, Word};
use scumble::quantity::{Delta, Epsilon, Omega, Rate, Rho, Scale, Sigma};
use scumble::scope::AttributeSet;
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, WireError>;

/// What every event may have besides its mechanism's parameters.
const COMMON: [&str; 6] = ["mechanism", "sensitivity", "cells", "moves", "times", "sampling"];

/// Each word with its parameters.
const WORDS: [(&str, &[&str]); 16] = [
    ("gaussian", &["sigma"]),
    ("discrete-gaussian", &["sigma"]),
    ("laplace", &["scale"]),
    ("discrete-laplace", &["scale"]),
    ("sinh-normal", &["sigma", "a"]),
    ("randomized-response", &["epsilon", "values"]),
    ("exponential", &["epsilon"]),
    ("pure", &["epsilon"]),
    ("approximate", &["epsilon", "delta"]),
    ("zcdp", &["rho"]),
    ("tcdp", &["rho", "omega"]),
    ("heavy-hitters", &["scale", "clip", "rise", "levels"]),
    ("new-keys", &["noise", "delta", "keys"]),
    ("smooth-noise", &["family", "gamma", "alpha", "levels"]),
    ("parity", &["keep", "give_up"]),
    ("pair", &["p", "q"]),
];

/// The event that `value` describes.
pub fn event_from_json(value: &Value) -> Result<Event> {
    event_at(&Located::root(value))
}

/// The events of a list.
pub fn events_at(place: &Located<'_>) -> Result<Vec<Event>> {
    place.list()?.iter().map(event_at).collect()
}

/// The event at a place.
pub fn event_at(place: &Located<'_>) -> Result<Event> {
    event_with(place, None)
}

/// The event at a place; with `free`, that parameter may be missing and gets the value given.
pub(crate) fn event_with(place: &Located<'_>, free: Option<(&str, f64)>) -> Result<Event> {
    let mechanism = place.field("mechanism")?;
    place.only(&[&COMMON, parameters_of(&mechanism)?].concat())?;
    let word = word(place, mechanism.text()?, free)?;
    let moves = moves(place, &word)?;
    let mut event = Event::new(word, moves);
    if let Some(times) = place.get("times")? {
        event = times.core(event.repeated(times.whole()?))?;
    }
    match place.get("sampling")? {
        None => Ok(event),
        Some(sampling) => Ok(event.sampled(self::sampling(&sampling, free)?)),
    }
}

/// The parameters of the mechanism that `word` names.
fn parameters_of(word: &Located<'_>) -> Result<&'static [&'static str]> {
    let name = word.text()?;
    if let Some((_, parameters)) = WORDS.iter().find(|(known, _)| *known == name) {
        return Ok(parameters);
    }
    let known: Vec<&str> = WORDS.iter().map(|(known, _)| *known).collect();
    Err(word.refuse(format!("there is no mechanism {name:?}; those that are: {}", known.join(", "))))
}

/// The parameters of the mechanism at `place` that are missing (for calibration).
pub(crate) fn missing_parameters(place: &Located<'_>) -> Result<Vec<&'static str>> {
    let name = place.field("mechanism")?.text()?;
    let parameters = WORDS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, parameters)| *parameters);
    let mut missing = Vec::new();
    for &parameter in parameters {
        if place.get(parameter)?.is_none() {
            missing.push(parameter);
        }
    }
    Ok(missing)
}

fn word(place: &Located<'_>, name: &str, free: Option<(&str, f64)>) -> Result<Word> {
    let number = |parameter: &str| -> Result<(Located<'_>, f64)> {
        match (place.get(parameter)?, free) {
            (Some(field), _) => field.number().map(|value| (field, value)),
            (None, Some((missing, value))) if missing == parameter => Ok((place.clone(), value)),
            (None, _) => Err(place.field(parameter).err().unwrap_or_else(|| place.refuse("a parameter is missing"))),
        }
    };
    let epsilon = || number("epsilon").and_then(|(at, value)| at.core(Epsilon::new(value)));
    let sigma = || number("sigma").and_then(|(at, value)| at.core(Sigma::new(value)));
    let scale = |word: &str| number(word).and_then(|(at, value)| at.core(Scale::new(value)));
    let rho = || number("rho").and_then(|(at, value)| at.core(Rho::new(value)));
    Ok(match name {
        "gaussian" => Word::Gaussian { sigma: sigma()? },
        "discrete-gaussian" => Word::DiscreteGaussian { sigma: sigma()? },
        "laplace" => Word::Laplace { scale: scale("scale")? },
        "discrete-laplace" => Word::DiscreteLaplace { scale: scale("scale")? },
        "sinh-normal" => Word::SinhNormal { sigma: sigma()?, a: scale("a")? },
        "randomized-response" => {
            let field = place.field("values")?;
            let values = field.core(Choices::new(field.whole()?))?;
            Word::RandomizedResponse { epsilon: epsilon()?, values }
        }
        "exponential" => Word::Exponential { epsilon: epsilon()? },
        "pure" => Word::Pure { epsilon: epsilon()? },
        "approximate" => Word::Approximate { epsilon: epsilon()?, delta: place.field("delta")?.quantity(Delta::new)? },
        "zcdp" => Word::Zcdp { rho: rho()? },
        "tcdp" => Word::Tcdp { rho: rho()?, omega: place.field("omega")?.quantity(Omega::new)? },
        "heavy-hitters" => {
            let whole = |name: &str| -> Result<u32> {
                let field = place.field(name)?;
                match u32::try_from(field.whole()?) {
                    Ok(number) if number > 0 => Ok(number),
                    _ => Err(field.refuse(format!("{name} must be a whole number from 1 to 4294967295"))),
                }
            };
            let (clip, rise, levels) = (whole("clip")?, whole("rise")?, whole("levels")?);
            let path = place.core(Path::new(clip, rise, levels))?;
            Word::HeavyHitters { scale: scale("scale")?, path }
        }
        "new-keys" => new_keys(place)?,
        "smooth-noise" => smooth_noise(place)?,
        "parity" => {
            let fraction = |name: &str| place.field(name).and_then(|field| field.core(field.text()?.parse()));
            place.core(Parity::new(fraction("keep")?, fraction("give_up")?)).map(Word::Parity)?
        }
        _ => pair(place)?,
    })
}

fn new_keys(place: &Located<'_>) -> Result<Word> {
    let noise = place.field("noise")?;
    let mechanism = noise.field("mechanism")?;
    if mechanism.text()? == "new-keys" {
        return Err(mechanism.refuse("the noise of new keys must be another mechanism"));
    }
    noise.only(&[&["mechanism"], parameters_of(&mechanism)?].concat())?;
    let keys = place.field("keys")?;
    let delta = place.field("delta")?.quantity(Delta::new)?;
    if keys.whole()? == 0 {
        return Err(keys.refuse("an owner has at least 1 key, not 0"));
    }
    noise.core(NewKeys::new(word(&noise, mechanism.text()?, None)?, delta, keys.whole()?)).map(Word::NewKeys)
}

fn smooth_noise(place: &Located<'_>) -> Result<Word> {
    let fraction = |name: &str| place.field(name).and_then(|field| field.core(field.text()?.parse()));
    let family = place.field("family")?;
    let family = family.core(family.text()?.parse())?;
    let field = place.field("levels")?;
    let levels = u32::try_from(field.whole()?).map_err(|_| field.refuse("levels must be a whole number below 2^32"))?;
    place.core(SmoothNoise::new(family, fraction("gamma")?, fraction("alpha")?, levels)).map(Word::SmoothNoise)
}

fn pair(place: &Located<'_>) -> Result<Word> {
    let masses = |name: &str| -> Result<Vec<f64>> {
        let field = place.field(name)?;
        let list = field.list()?;
        let mut masses = Vec::with_capacity(list.len());
        for element in &list {
            masses.push(element.quantity(scumble::quantity::Probability::new)?.get());
        }
        let sum: f64 = masses.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(field.refuse(format!("probabilities must sum to 1, not {sum}")));
        }
        Ok(masses)
    };
    let (p, q) = (masses("p")?, masses("q")?);
    if p.len() != q.len() {
        let message = format!("p and q must have the same length, not {} and {}", p.len(), q.len());
        return Err(place.field("q")?.refuse(message));
    }
    place.core(Pair::new(p, q)).map(Word::Pair)
}

fn moves(place: &Located<'_>, word: &Word) -> Result<Moves> {
    if let Some(moves) = place.get("moves")? {
        for name in ["sensitivity", "cells"] {
            if let Some(field) = place.get(name)? {
                return Err(field.refuse(format!("moves are given, so {name} must not be")));
            }
        }
        return moves_at(&moves);
    }
    let by = match place.get("sensitivity")? {
        Some(field) => field.quantity(|value| Shift::one_cell(value).map(|shift| shift.by.get()))?,
        None if word.is_additive() => return Err(place.field("sensitivity").err().unwrap_or_else(|| place.refuse(""))),
        None => 1.0,
    };
    let cells = place.get("cells")?.map_or(Ok(1), |field| field.whole())?;
    place.core(Shift::new(cells, by)).map(Moves::everywhere)
}

fn moves_at(place: &Located<'_>) -> Result<Moves> {
    if let Some(everywhere) = place.get("everywhere")? {
        place.only(&["everywhere"])?;
        return shift(&everywhere).map(Moves::everywhere);
    }
    place.only(&["presence", "person", "touches", "touches_add_up"])?;
    let touches = place.get("touches")?.map_or(Ok(Vec::new()), |field| field.list()?.iter().map(touch).collect())?;
    let moves = Moves::as_written(shifts(&place.field("presence")?)?, shifts(&place.field("person")?)?, touches);
    match place.get("touches_add_up")? {
        None => Ok(moves),
        Some(field) if field.value().as_bool() == Some(true) => field.core(moves.adding_up()),
        Some(field) => Err(field.refuse("touches_add_up is true, or left out")),
    }
}

fn shifts(place: &Located<'_>) -> Result<Vec<Shift>> {
    place.list()?.iter().map(shift).collect()
}

fn shift(place: &Located<'_>) -> Result<Shift> {
    place.only(&["cells", "by"])?;
    let by = place.field("by")?;
    by.core(Shift::new(place.field("cells")?.whole()?, by.number()?))
}

fn touch(place: &Located<'_>) -> Result<Touch> {
    place.only(&["attributes", "shifts"])?;
    let attributes = place.field("attributes")?;
    let names: Vec<&str> = attributes.list()?.iter().map(Located::text).collect::<Result<_>>()?;
    Ok(Touch { attributes: attributes.core(AttributeSet::new(names))?, shifts: shifts(&place.field("shifts")?)? })
}

fn sampling(place: &Located<'_>, free: Option<(&str, f64)>) -> Result<Sampling> {
    place.only(&["kind", "rate"])?;
    let rate = match (place.get("rate")?, free) {
        (None, Some(("rate", value))) => place.core(Rate::new(value))?,
        _ => place.field("rate")?.quantity(Rate::new)?,
    };
    let kind = place.field("kind")?;
    match kind.text()? {
        "poisson" => Ok(Sampling::Poisson(rate)),
        "without-replacement" => Ok(Sampling::WithoutReplacement(rate)),
        other => {
            Err(kind.refuse(format!("there is no sampling {other:?}; those that are: poisson, without-replacement")))
        }
    }
}

/// The event as JSON: what [`event_from_json`] reads back as the same event.
pub fn event_to_json(event: &Event) -> Value {
    let mut object = word_to_json(event.word());
    put_moves(&mut object, event);
    object.insert("times".to_string(), json!(event.times()));
    if let Some(sampling) = event.sampling() {
        object.insert("sampling".to_string(), json!({"kind": sampling.name(), "rate": sampling.rate().get()}));
    }
    Value::Object(object)
}

fn word_to_json(word: &Word) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("mechanism".to_string(), json!(word.name()));
    let mut put = |name: &str, value: Value| object.insert(name.to_string(), value);
    match word {
        Word::Gaussian { sigma } | Word::DiscreteGaussian { sigma } => put("sigma", json!(sigma.get())),
        Word::Laplace { scale } | Word::DiscreteLaplace { scale } => put("scale", json!(scale.get())),
        Word::SinhNormal { sigma, a } => {
            put("sigma", json!(sigma.get()));
            put("a", json!(a.get()))
        }
        Word::RandomizedResponse { epsilon, values } => {
            put("epsilon", json!(epsilon.get()));
            put("values", json!(values.get()))
        }
        Word::Exponential { epsilon } | Word::Pure { epsilon } => put("epsilon", json!(epsilon.get())),
        Word::Approximate { epsilon, delta } => {
            put("epsilon", json!(epsilon.get()));
            put("delta", json!(delta.get()))
        }
        Word::Zcdp { rho } => put("rho", json!(rho.get())),
        Word::Tcdp { rho, omega } => {
            put("rho", json!(rho.get()));
            put("omega", json!(omega.get()))
        }
        Word::HeavyHitters { scale, path } => {
            put("scale", json!(scale.get()));
            put("clip", json!(path.clip()));
            put("rise", json!(path.rise()));
            put("levels", json!(path.levels()))
        }
        Word::NewKeys(keys) => {
            put("noise", Value::Object(word_to_json(keys.noise())));
            put("delta", json!(keys.delta().get()));
            put("keys", json!(keys.keys()))
        }
        Word::Parity(parity) => {
            put("keep", json!(parity.keep().to_string()));
            put("give_up", json!(parity.give_up().to_string()))
        }
        Word::SmoothNoise(noise) => {
            put("family", json!(noise.family().name()));
            put("gamma", json!(noise.gamma().to_string()));
            put("alpha", json!(noise.alpha().to_string()));
            put("levels", json!(noise.levels()))
        }
        Word::Pair(pair) => {
            put("p", json!(pair.p()));
            put("q", json!(pair.q()))
        }
        // A word without a form here would be read as one without parameters, which is refused; a test reads every word back.
        _ => None,
    };
    object
}

fn put_moves(object: &mut Map<String, Value>, event: &Event) {
    let one = |shift: &Shift| json!({"cells": shift.cells, "by": shift.by.get()});
    let all = |shifts: &[Shift]| Value::Array(shifts.iter().map(one).collect());
    let (presence, person, touches, everywhere) = event.moves().parts();
    if let (true, [shift]) = (everywhere, presence) {
        object.insert("sensitivity".to_string(), json!(shift.by.get()));
        if shift.cells != 1 {
            object.insert("cells".to_string(), json!(shift.cells));
        }
        return;
    }
    let touch = |touch: &Touch| {
        let names: Vec<&str> = touch.attributes.iter().collect();
        json!({"attributes": names, "shifts": all(&touch.shifts)})
    };
    let touches: Vec<Value> = touches.iter().map(touch).collect();
    let mut moves = json!({"presence": all(presence), "person": all(person), "touches": touches});
    if event.moves().adds_up() {
        moves["touches_add_up"] = json!(true);
    }
    object.insert("moves".to_string(), moves);
}
