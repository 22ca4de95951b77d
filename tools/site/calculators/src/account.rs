//! The accountant: a list of events in, certified bounds of ε or δ out, and the curve. As `scumble lab account`.

use crate::question::Refusal;
use crate::shown::{lower, number, upper};
use scumble::event::{Event, WORDS};
use scumble::loss::{Answer, Loss, Method};
use scumble::quantity::{Delta, Epsilon};
use scumble::scope::Scope;
use scumble_chart::{Axis, LineChart, Series, Size};
use scumble_wire::{Account, AccountQuestion, account_from_json, event_to_json, parse};
use serde_json::{Value, json};

/// The parameters that a field of a form can hold; events with others are for JSON.
const SIMPLE: [&str; 7] = ["epsilon", "delta", "rho", "omega", "sigma", "scale", "values"];

/// The words that a form can ask for: name, sentence, parameters, and whether an event says how far its number moves.
pub fn words() -> Value {
    let simple = WORDS.iter().filter(|word| word.parameters.iter().all(|one| SIMPLE.contains(&one.name)));
    let shown = simple.map(|word| {
        let parameters: Vec<&str> = word.parameters.iter().map(|one| one.name).collect();
        json!({ "name": word.name, "sentence": word.sentence, "parameters": parameters, "moves": word.is_additive })
    });
    json!({ "words": shown.collect::<Vec<_>>() })
}

/// The document of `scumble lab account`; a refusal has the JSON path of what is wrong.
fn read(document: &str) -> Result<Account, Refusal> {
    let value = parse(document).map_err(|error| Refusal(error.sentence().to_string()))?;
    account_from_json(&value).map_err(|error| Refusal(error.to_string()))
}

/// What the events cost together and each alone.
pub fn bounds(document: &str) -> Result<Value, Refusal> {
    let account = read(document)?;
    let answer = answered(&account, &account.events)?;
    let (name, asked) = match account.ask {
        AccountQuestion::Epsilon(delta) => ("ε", format!("δ = {delta}")),
        AccountQuestion::Delta(epsilon) => ("δ", format!("ε = {epsilon}")),
    };
    let mut events = Vec::new();
    for event in &account.events {
        let own = answered(&account, std::slice::from_ref(event))?;
        events.push(json!({
            "event": event.word().name(),
            "parameters": parameters(event),
            "times": event.times(),
            "sample": sample(event),
            "alone": upper(own.upper),
        }));
    }
    let slack = match answer.upper > 0.0 && answer.upper.is_finite() {
        true => format!("; the two differ by {:.1e} of it", (answer.upper - answer.lower) / answer.upper),
        false => String::new(),
    };
    Ok(json!({
        "name": name,
        "claim": format!("{name} ≤ {} at {asked}", upper(answer.upper)),
        "below": format!("certainly not below {}{slack}", lower(answer.lower)),
        "neighbours": neighbours(&account.scope),
        "direction": answer.direction.to_string(),
        "rule": rule(&answer),
        "upper": number(answer.upper),
        "lower": number(answer.lower),
        "events": events,
    }))
}

fn answered(account: &Account, events: &[Event]) -> Result<Answer, Refusal> {
    let loss = Loss::of(events, &account.scope)?;
    Ok(match account.ask {
        AccountQuestion::Epsilon(delta) => loss.epsilon(delta),
        AccountQuestion::Delta(epsilon) => loss.delta(epsilon),
    })
}

fn neighbours(scope: &Scope) -> String {
    let (of_one, size) = scope.members();
    let one = match of_one {
        Scope::Presence => "one owner added or removed".to_string(),
        Scope::Attributes(set) => format!("one owner's values of {set} changed, and nothing else of theirs"),
        _ => "one owner replaced".to_string(),
    };
    if size == 1 { one } else { format!("{one}, groups of {size}") }
}

fn rule(answer: &Answer) -> &'static str {
    match answer.method {
        Method::Gaussian => "the exact curve of Gaussian noise",
        Method::Pld => "the privacy-loss distribution on a grid, rounded against us",
        Method::Renyi => "a Rényi curve, converted at its best order",
        Method::Split => "δ split between events with a privacy-loss distribution and the others",
        Method::Pure => "the sum of the largest losses",
        Method::Normal => "the law of very many losses, with its certified distance",
    }
}

/// The event's parameters and moves in a few words.
fn parameters(event: &Event) -> String {
    let object = event_to_json(event);
    let skip = ["mechanism", "times", "sampling", "moves", "p", "q"];
    let fields = object.as_object().into_iter().flatten().filter(|(name, _)| !skip.contains(&name.as_str()));
    fields.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn sample(event: &Event) -> String {
    match event.sampling() {
        None => "everybody".to_string(),
        Some(sampling) => format!("{} {}", sampling.name().replace('-', " "), sampling.rate()),
    }
}

/// How many points a curve has beside the first, and the most events that have a curve of their own.
const POINTS: u32 = 30;
const MOST_EVENTS: usize = 6;

/// δ(ε) of the whole, and of the first few events.
pub fn curve(document: &str, size: Size) -> Result<Value, Refusal> {
    let account = read(document)?;
    let loss = Loss::of(&account.events, &account.scope)?;
    let asked = match account.ask {
        AccountQuestion::Epsilon(delta) => loss.epsilon(delta).upper,
        AccountQuestion::Delta(epsilon) => epsilon.get(),
    };
    // Up to where δ has fallen to 1e-12, or a little beyond what was asked.
    let reach = loss.epsilon(Delta::new(1e-12)?).upper;
    let end = [1.5 * asked, reach].into_iter().filter(|end| end.is_finite()).fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 10.0 };
    let points = |loss: &Loss| -> Result<Vec<(f64, f64)>, Refusal> {
        let mut points = Vec::new();
        for i in 0..=POINTS {
            let epsilon = end * f64::from(i) / f64::from(POINTS);
            let delta = loss.delta(Epsilon::new(epsilon)?).upper;
            if delta > 1e-14 {
                points.push((epsilon, delta));
            }
        }
        Ok(points)
    };
    let whole = points(&loss)?;
    if whole.is_empty() {
        return Ok(json!({ "svg": null, "said": "δ is 0 at every ε: nothing moves, so there is no curve" }));
    }
    let several = account.events.len() > 1;
    let title = if several { "What the events cost together" } else { "What the event costs" };
    let mut chart = LineChart::new(title).size(size).x(Axis::linear("ε")).y(Axis::log("δ(ε), upper bound"));
    chart = chart.line(Series::new(if several { "all events" } else { "" }, whole));
    for event in account.events.iter().take(MOST_EVENTS).filter(|_| several) {
        let own = Loss::of(std::slice::from_ref(event), &account.scope)?;
        chart = chart.line(Series::new(format!("{} ×{}", event.word().name(), event.times()), points(&own)?));
    }
    Ok(json!({ "svg": chart.to_svg() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::quantity::sigma;

    /// DP-SGD and a Laplace count: the page's numbers are the core's own.
    const DOCUMENT: &str = r#"{ "events": [
        { "mechanism": "gaussian", "sigma": 1, "sensitivity": 1, "times": 1000,
          "sampling": { "kind": "poisson", "rate": 0.01 } },
        { "mechanism": "discrete-laplace", "scale": 10, "sensitivity": 1 } ], "delta": 1e-6 }"#;

    #[test]
    fn the_bounds_are_those_of_the_core() {
        let training = Event::gaussian(sigma(1.0).unwrap()).poisson(0.01.try_into().unwrap()).repeated(1000).unwrap();
        let shown = bounds(DOCUMENT).unwrap();
        let count = scumble_wire::event_from_json(
            &parse(r#"{"mechanism": "discrete-laplace", "scale": 10, "sensitivity": 1}"#).unwrap(),
        );
        let events = [training.clone(), count.unwrap()];
        let own = Loss::of(&events, Scope::Presence).unwrap().epsilon(Delta::new(1e-6).unwrap());
        assert_eq!((shown["upper"].as_f64(), shown["lower"].as_f64()), (Some(own.upper), Some(own.lower)));
        assert_eq!(shown["claim"], format!("ε ≤ {} at δ = 1e-6", upper(own.upper)));
        let alone = Loss::of([training], Scope::Presence).unwrap().epsilon(Delta::new(1e-6).unwrap());
        assert_eq!(shown["events"][0]["alone"], upper(alone.upper));
        assert_eq!(
            (&shown["events"][0]["sample"], &shown["events"][1]["sample"]),
            (&json!("poisson 0.01"), &json!("everybody"))
        );
    }

    #[test]
    fn delta_can_be_asked_for_and_what_is_wrong_has_its_path() {
        let at = DOCUMENT.replace("\"delta\": 1e-6", "\"epsilon\": 2, \"neighbours\": \"replace\"");
        let shown = bounds(&at).unwrap();
        assert_eq!((&shown["name"], &shown["neighbours"]), (&json!("δ"), &json!("one owner replaced")));
        let wrong = bounds(&DOCUMENT.replace("\"scale\": 10", "\"scale\": -1")).unwrap_err();
        assert_eq!(wrong.0, "$.events[1].scale: scale must be a number in [1e-9, 1e18], not -1");
        assert!(bounds("{").unwrap_err().0.starts_with("this is not JSON"));
    }

    #[test]
    fn a_curve_falls_and_is_drawn_once_for_each_event() {
        // Without samples, whose curve takes a while.
        let few = r#"{ "events": [
            { "mechanism": "gaussian", "sigma": 4, "sensitivity": 1, "times": 3 },
            { "mechanism": "discrete-laplace", "scale": 10, "sensitivity": 1 } ], "delta": 1e-6 }"#;
        let svg = curve(few, Size::Wide).unwrap()["svg"].as_str().unwrap().to_string();
        assert!(svg.contains("all events") && svg.contains("gaussian ×3") && svg.contains("discrete-laplace ×1"));
        let nothing = r#"{ "events": [{ "mechanism": "pure", "epsilon": 0 }], "delta": 1e-6 }"#;
        assert!(curve(nothing, Size::Narrow).unwrap()["svg"].is_null());
    }

    #[test]
    fn every_word_of_the_form_has_simple_parameters() {
        let words = words();
        let names: Vec<&str> =
            words["words"].as_array().unwrap().iter().filter_map(|word| word["name"].as_str()).collect();
        assert!(names.contains(&"gaussian") && names.contains(&"tcdp") && !names.contains(&"pair"), "{names:?}");
    }
}
