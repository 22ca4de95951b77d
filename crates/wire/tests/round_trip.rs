//! Every word of the core's table, written and read again to the last bit, by this crate's own features alone.

use scumble::event::{Parameter, ParameterForm, WORDS};
use scumble_wire::{account_from_json, event_from_json, event_to_json, parse};
use serde_json::{Value, json};

/// Between 1 and 2, with all bits of the fraction in use: a reader that is off by a unit in the last place is seen.
/// Decimal readers that are not exact are off for about one in twenty such numbers.
fn odd(at: usize) -> f64 {
    f64::from_bits(1f64.to_bits() | (0x9e37_79b9_7f4a_7c15u64.wrapping_mul(at as u64 + 1) >> 12))
}

/// A parameter's value.
fn value(parameter: &Parameter, at: usize) -> Value {
    let odd = odd(at);
    match (parameter.form, parameter.name) {
        (ParameterForm::Whole, _) => json!(2 + at % 5),
        (ParameterForm::Family, _) => json!(["cauchy4", "discrete-laplace", "discrete-gaussian"][at % 3]),
        (ParameterForm::Fraction, "gamma") => json!(format!("{}/{}", 9 + at, 8 + at)),
        (ParameterForm::Fraction, "alpha") => json!(format!("{}/100003", 1 + at)),
        (ParameterForm::Fraction, _) => json!(format!("{}/{}", 1 + at, 2 + at)),
        (ParameterForm::Probabilities, "p") => json!([0.25 * odd, 1.0 - 0.25 * odd]),
        (ParameterForm::Probabilities, _) => json!([1.0 - 0.25 * odd, 0.25 * odd]),
        (ParameterForm::Noise, _) => json!({"mechanism": "sinh-normal", "sigma": odd * 3.0, "a": odd * 7.0}),
        (ParameterForm::Number(_), "delta") => json!(odd * 1e-9),
        (ParameterForm::Number(_), "omega") => json!(odd * 20.0),
        (ParameterForm::Number(_), "sigma") => json!(odd * 3.0),
        (ParameterForm::Number(_), "a") => json!(odd * 7.0),
        (ParameterForm::Number(_), _) => json!(odd),
    }
}

#[test]
fn every_word_is_read_back_as_it_was() {
    assert!(WORDS.len() >= 16);
    for entry in WORDS {
        for at in 0..200 {
            let mut event = json!({ "mechanism": entry.name, "times": at + 1 });
            for (index, parameter) in entry.parameters.iter().enumerate() {
                event[parameter.name] = value(parameter, 7 * at + index);
            }
            let by = odd(at);
            event["moves"] = json!({
                "presence": [{"cells": 1, "by": by}],
                "person": [{"cells": 2, "by": by}],
                "touches": [{"attributes": ["a"], "shifts": [{"cells": 2, "by": by}]}],
            });
            event["sampling"] = json!({"kind": "poisson", "rate": 0.5 * odd(at)});
            let read = event_from_json(&event).unwrap_or_else(|error| panic!("{event}: {error}"));
            let written = event_to_json(&read).to_string();
            assert_eq!(event_from_json(&parse(&written).unwrap()).unwrap(), read, "{written}");
            assert_eq!(parse(&written).unwrap(), event, "nothing is lost or added");
        }
    }
}

/// What several attributes move adds up where the event says so, and its reader keeps that; a form that cannot add up
/// is refused.
#[test]
fn touches_that_add_up_are_read_back() {
    let touch = |name: &str, cells: u64| json!({"attributes": [name], "shifts": [{"cells": cells, "by": 1.0}]});
    let event = |cells: u64, adds_up: Value| {
        let moves = json!({
            "presence": [{"cells": 1, "by": 2.0}],
            "person": [{"cells": cells, "by": 3.5}],
            "touches": [touch("a", 1), touch("b", cells)],
            "touches_add_up": adds_up,
        });
        json!({"mechanism": "exponential", "epsilon": 0.5, "times": 1, "moves": moves})
    };
    let read = event_from_json(&event(1, json!(true))).unwrap();
    assert!(read.moves().adds_up() && event_to_json(&read) == event(1, json!(true)), "{read:?}");
    for wrong in [event(2, json!(true)), event(1, json!(false)), event(1, json!("yes"))] {
        assert!(event_from_json(&wrong).is_err(), "{wrong}");
    }
    let asked = json!({"events": [event(1, json!(true))], "delta": 0, "attributes": ["a", "b"]});
    let accounted = account_from_json(&asked);
    assert!(accounted.is_ok(), "{:?}", accounted.err());
}

/// A person who moves less than its presence was accounted for as if that could be.
#[test]
fn moves_that_do_not_agree_are_refused() {
    let event = |presence: Value, person: Value, touches: Value| {
        let moves = json!({"presence": presence, "person": person, "touches": touches});
        let event = json!({"mechanism": "laplace", "scale": 2, "moves": moves});
        // A ledger is read as it is.
        assert!(event_from_json(&event).is_ok());
        account_from_json(&json!({"events": [event], "delta": 1e-6})).map_err(|error| error.to_string())
    };
    let (one, two) = (json!([{"cells": 1, "by": 1}]), json!([{"cells": 2, "by": 1}]));
    assert!(event(one.clone(), two.clone(), json!([])).is_ok());
    let refused = event(two.clone(), one.clone(), json!([])).unwrap_err();
    assert!(refused.starts_with("$.events[0].moves: person must cover"), "{refused}");
    let touch = json!([{"attributes": ["a"], "shifts": two}]);
    assert!(event(one.clone(), one.clone(), touch.clone()).is_err());
    // Ledgers have events that speak of one scope alone; other events of the release speak of the others.
    for alone in
        [event(one.clone(), json!([]), json!([])), event(json!([]), one, json!([])), event(json!([]), json!([]), touch)]
    {
        assert!(alone.is_ok(), "{alone:?}");
    }
}

#[test]
fn smooth_noise_that_cannot_be_is_refused_at_its_place() {
    let refused = |family: Value, gamma: Value, alpha: Value, levels: Value| {
        let event =
            json!({"mechanism": "smooth-noise", "family": family, "gamma": gamma, "alpha": alpha, "levels": levels});
        event_from_json(&event).unwrap_err().to_string()
    };
    let check = |found: String, begin: &str| assert!(found.starts_with(begin), "{found}");
    check(refused(json!("cauchy"), json!("9/8"), json!("1/3"), json!(24)), "$.family: unknown noise \"cauchy\"");
    check(refused(json!("cauchy4"), json!("5/3"), json!("1/3"), json!(24)), "$: gamma must be one more than one over");
    check(refused(json!("cauchy4"), json!(1.125), json!("1/3"), json!(24)), "$.gamma: a string is expected");
    check(refused(json!("cauchy4"), json!("9/8"), json!("0/3"), json!(24)), "$.alpha: a fraction needs two positive");
    check(refused(json!("cauchy4"), json!("9/8"), json!("1/3"), json!(1e12)), "$.levels: levels must be");
    check(refused(json!("cauchy4"), json!("9/8"), json!("1/3"), json!(2_000_000)), "$: levels of noise need");
    check(refused(json!("cauchy4"), json!("2/1"), json!("100/1"), json!(63)), "$: 63 levels go beyond");
}

#[test]
fn parities_that_cannot_be_are_refused_at_their_place() {
    let read = |keep: Value, give_up: Value| {
        event_from_json(&json!({"mechanism": "parity", "keep": keep, "give_up": give_up}))
            .map_err(|error| error.to_string())
    };
    assert!(read(json!("1/2"), json!("1/3")).is_ok());
    let check = |found: Result<scumble::event::Event, String>, begin: &str| {
        let found = found.unwrap_err();
        assert!(found.starts_with(begin), "{found}");
    };
    check(read(json!(0.5), json!("1/3")), "$.keep: a string is expected");
    check(read(json!("2/2"), json!("1/3")), "$: keep of a parity must be a fraction below 1");
    check(read(json!("1/2"), json!("0/3")), "$.give_up: a fraction needs two positive");
}

/// A parameter that is missing, or none of its quantity, is refused at its own place; so is what does not fit together.
#[test]
fn parameters_are_refused_at_their_place() {
    for entry in WORDS {
        for left_out in entry.parameters {
            let mut event = json!({ "mechanism": entry.name, "sensitivity": 1 });
            for (index, parameter) in entry.parameters.iter().enumerate().filter(|(_, one)| *one != left_out) {
                event[parameter.name] = value(parameter, index);
            }
            let name = left_out.name;
            let missing = event_from_json(&event).unwrap_err().to_string();
            assert_eq!(missing, format!("$.{name}: {name} is missing"), "{}", entry.name);
            event[name] = json!({});
            let wrong = event_from_json(&event).unwrap_err().to_string();
            assert!(wrong.starts_with(&format!("$.{name}")), "{}: {wrong}", entry.name);
        }
    }
    let refused = |event: Value| event_from_json(&event).unwrap_err().to_string();
    let pair = |p: Value, q: Value| refused(json!({ "mechanism": "pair", "p": p, "q": q }));
    assert_eq!(pair(json!([0.5, 0.4]), json!([1.0])), "$.p: probabilities must sum to 1, not 0.9");
    assert_eq!(pair(json!([0.5, 0.5]), json!([1.0])), "$.q: p and q must have the same length, not 2 and 1");
    assert_eq!(pair(json!([1.5]), json!([1.0])), "$.p[0]: probability must be a number in [0, 1], not 1.5");
    let path = json!({ "mechanism": "heavy-hitters", "scale": 2, "clip": 0, "rise": 1, "levels": 1 });
    assert_eq!(refused(path), "$.clip: clip must be a whole number from 1 to 4294967295");
    let keys = |noise: Value, keys: u64| {
        refused(json!({ "mechanism": "new-keys", "noise": noise, "delta": 1e-9, "keys": keys, "sensitivity": 1 }))
    };
    let laplace = json!({ "mechanism": "laplace", "scale": 2 });
    assert_eq!(keys(laplace, 0), "$.keys: an owner has at least 1 key, not 0");
    let pure = json!({ "mechanism": "pure", "epsilon": 2 });
    assert!(keys(pure, 1).starts_with("$.noise: new keys are published by their noisy counts: pure"));
    let again = json!({ "mechanism": "new-keys" });
    assert_eq!(keys(again, 1), "$.noise.mechanism: the noise of new keys must be another mechanism");
}
