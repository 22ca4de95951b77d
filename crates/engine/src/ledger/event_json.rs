//! The disk form of events: `{"mechanism": …, parameters…, "times": …, "sampling": …, "moves": …}`.
//!
//! The words are those of `scumble account`; `moves` holds what `account` has as one sensitivity: per scope a list of alternatives
//! `[cells, by]`, and `touches` for attributes.

use scumble::event::{Event, Kind, Moves, Sampling, Shift, Touch};
use scumble::quantity::{Delta, Epsilon, Omega, Rate, Rho, Scale, Sigma};
use scumble::scope::AttributeSet;
use serde_json::{Map, Value, json};

/// The disk form.
pub(crate) fn event_to_json(event: &Event) -> Value {
    let mut fields = Map::new();
    fields.insert("mechanism".into(), json!(event.kind.name()));
    for (name, value) in parameters(&event.kind) {
        fields.insert(name.into(), value);
    }
    fields.insert("times".into(), json!(event.times.get()));
    if let Some(sampling) = event.sampling {
        let (kind, rate) = match sampling {
            Sampling::Poisson(rate) => ("poisson", rate),
            Sampling::WithoutReplacement(rate) => ("without-replacement", rate),
        };
        fields.insert("sampling".into(), json!({ "kind": kind, "rate": rate.get() }));
    }
    fields.insert("moves".into(), moves_to_json(&event.moves));
    Value::Object(fields)
}

fn parameters(kind: &Kind) -> Vec<(&'static str, Value)> {
    match kind {
        Kind::Gaussian { sigma } | Kind::DiscreteGaussian { sigma } => vec![("sigma", json!(sigma.get()))],
        Kind::Laplace { scale } | Kind::DiscreteLaplace { scale } => vec![("scale", json!(scale.get()))],
        Kind::SinhNormal { sigma, a } => vec![("sigma", json!(sigma.get())), ("a", json!(a.get()))],
        Kind::RandomizedResponse { epsilon, values } => {
            vec![("epsilon", json!(epsilon.get())), ("values", json!(values))]
        }
        Kind::Exponential { epsilon } | Kind::Pure { epsilon } => vec![("epsilon", json!(epsilon.get()))],
        Kind::Approximate { epsilon, delta } => {
            vec![("epsilon", json!(epsilon.get())), ("delta", json!(delta.get()))]
        }
        Kind::Zcdp { rho } => vec![("rho", json!(rho.get()))],
        Kind::Tcdp { rho, omega } => vec![("rho", json!(rho.get())), ("omega", json!(omega.get()))],
        Kind::HeavyHitters { scale, clip, rise, levels } => {
            vec![("scale", json!(scale.get())), ("clip", json!(clip)), ("rise", json!(rise)), ("levels", json!(levels))]
        }
        Kind::Pair { p, q } => vec![("p", json!(p)), ("q", json!(q))],
    }
}

fn moves_to_json(moves: &Moves) -> Value {
    let list = |shifts: &[Shift]| -> Value { shifts.iter().map(|s| json!([s.cells, s.by.get()])).collect() };
    let (presence, person, touches, everywhere) = moves.parts();
    if everywhere {
        return json!({ "everywhere": list(presence) });
    }
    let touches: Vec<Value> = touches
        .iter()
        .map(
            |touch| json!({ "attributes": touch.attributes.iter().collect::<Vec<_>>(), "shifts": list(&touch.shifts) }),
        )
        .collect();
    json!({ "presence": list(presence), "person": list(person), "touches": touches })
}

/// Reads the disk form back. What is not known is an error.
pub(crate) fn event_from_json(value: &Value) -> Result<Event, String> {
    let said = |error: scumble::Error| error.to_string();
    let kind = kind_from_json(value)?;
    let moves = moves_from_json(&value["moves"])?;
    let times = value["times"].as_u64().ok_or("an event has no 'times'")?;
    let event = Event::new(kind, moves).repeated(times).map_err(said)?;
    let sampling = &value["sampling"];
    if sampling.is_null() {
        return Ok(event);
    }
    let rate = Rate::new(number(sampling, "rate")?).map_err(said)?;
    match sampling["kind"].as_str() {
        Some("poisson") => Ok(event.sampled(Sampling::Poisson(rate))),
        Some("without-replacement") => Ok(event.sampled(Sampling::WithoutReplacement(rate))),
        _ => Err("a kind of sampling that this version does not know".to_string()),
    }
}

fn kind_from_json(value: &Value) -> Result<Kind, String> {
    let said = |error: scumble::Error| error.to_string();
    let get = |name: &str| number(value, name);
    let sigma = || Sigma::new(get("sigma")?).map_err(said);
    let scale = || Scale::new(get("scale")?).map_err(said);
    let epsilon = || Epsilon::new(get("epsilon")?).map_err(said);
    let rho = || Rho::new(get("rho")?).map_err(said);
    Ok(match value["mechanism"].as_str().unwrap_or_default() {
        "gaussian" => Kind::Gaussian { sigma: sigma()? },
        "discrete-gaussian" => Kind::DiscreteGaussian { sigma: sigma()? },
        "laplace" => Kind::Laplace { scale: scale()? },
        "discrete-laplace" => Kind::DiscreteLaplace { scale: scale()? },
        "sinh-normal" => Kind::SinhNormal { sigma: sigma()?, a: Scale::new(get("a")?).map_err(said)? },
        "randomized-response" => {
            let values = value["values"].as_u64().ok_or("randomized response without 'values'")?;
            Kind::RandomizedResponse { epsilon: epsilon()?, values }
        }
        "exponential" => Kind::Exponential { epsilon: epsilon()? },
        "pure" => Kind::Pure { epsilon: epsilon()? },
        "approximate" => Kind::Approximate { epsilon: epsilon()?, delta: Delta::new(get("delta")?).map_err(said)? },
        "zcdp" => Kind::Zcdp { rho: rho()? },
        "tcdp" => Kind::Tcdp { rho: rho()?, omega: Omega::new(get("omega")?).map_err(said)? },
        "heavy-hitters" => {
            let whole = |name: &str| {
                let number = value[name].as_u64().and_then(|number| u32::try_from(number).ok());
                number.ok_or_else(|| format!("heavy hitters without '{name}'"))
            };
            Kind::HeavyHitters { scale: scale()?, clip: whole("clip")?, rise: whole("rise")?, levels: whole("levels")? }
        }
        "pair" => Kind::Pair { p: numbers(&value["p"])?, q: numbers(&value["q"])? },
        _ => return Err("an event that this version does not know".to_string()),
    })
}

fn moves_from_json(value: &Value) -> Result<Moves, String> {
    if !value["everywhere"].is_null() {
        return match shifts(&value["everywhere"])?.as_slice() {
            [one] => Ok(Moves::everywhere(*one)),
            _ => Err("'everywhere' must have one shift".to_string()),
        };
    }
    let touches = value["touches"].as_array().ok_or("moves without 'touches'")?;
    let touches = touches
        .iter()
        .map(|touch| {
            let names = touch["attributes"].as_array().ok_or("a touch without 'attributes'")?;
            let names = names.iter().filter_map(Value::as_str);
            let attributes = AttributeSet::new(names).map_err(|error| error.to_string())?;
            Ok(Touch { attributes, shifts: shifts(&touch["shifts"])? })
        })
        .collect::<Result<Vec<Touch>, String>>()?;
    Ok(Moves::by_scope(shifts(&value["presence"])?, shifts(&value["person"])?, touches))
}

fn shifts(value: &Value) -> Result<Vec<Shift>, String> {
    let list = value.as_array().ok_or("moves without a list of shifts")?;
    list.iter()
        .map(|pair| {
            let cells = pair[0].as_u64().ok_or("a shift without cells")?;
            let by = pair[1].as_f64().ok_or("a shift without a size")?;
            Shift::new(cells, by).map_err(|error| error.to_string())
        })
        .collect()
}

fn number(value: &Value, name: &str) -> Result<f64, String> {
    value[name].as_f64().ok_or_else(|| format!("an event has no number '{name}'"))
}

fn numbers(value: &Value) -> Result<Vec<f64>, String> {
    let list = value.as_array().ok_or("a pair without its distributions")?;
    list.iter().map(|item| item.as_f64().ok_or_else(|| "a pair with something else than numbers".to_string())).collect()
}
