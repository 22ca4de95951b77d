//! Limits with a formula.

use super::LimitStatement;
use scumble::quantity::{Delta, Epsilon, Probability, rounded_down, rounded_up};
use scumble_adversary::limits::{fingerprinting, information, neighbours, packing};
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::json;

/// What one document may hold, so that the same one can be given to several limits.
const GUARANTEE: [&str; 5] = ["epsilon", "delta", "universe", "success", "rows"];

pub fn guarantee(place: &LocatedValue<'_>) -> WireResult<(Epsilon, Delta)> {
    let delta = place.get("delta")?.map_or(place.core(Delta::new(0.0)), |field| field.quantity(Delta::new))?;
    let field = place.field("epsilon")?;
    let epsilon = field.quantity(Epsilon::new)?;
    match epsilon.get() {
        // Nothing of the data is published then, and there is nothing to limit.
        0.0 => Err(field.refuse("a limit needs epsilon above 0")),
        _ => Ok((epsilon, delta)),
    }
}

/// (e^ε + δ)/(e^ε + 1).
pub fn neighbours(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    place.only(&GUARANTEE)?;
    let (epsilon, delta) = guarantee(place)?;
    let most = neighbours::success_at_most(epsilon, delta);
    Ok(LimitStatement {
        numbers: json!({
            "neighbour_success_at_most": most,
            "printed_neighbour_success": neighbours::printed_success_at_most(epsilon, delta),
        }),
        words: vec![format!(
            "of two neighbours, one is answered within half of the distance between their true answers with probability at most {}",
            rounded_up(most, 7)
        )],
        theorem: "the optimal test between neighbours (Kairouz, Oh, Viswanath 2015); sharper than Vadhan 2017, 7.3.1",
    })
}

/// The size of a set: a number, or "infinite".
fn size(place: &LocatedValue<'_>) -> WireResult<f64> {
    match place.value().as_str() {
        Some("infinite") => Ok(f64::INFINITY),
        _ => {
            let size = place.number()?;
            if size >= 1.0 {
                Ok(size)
            } else {
                Err(place.refuse("a number of at least 1, or \"infinite\", is expected"))
            }
        }
    }
}

const PACKING: &str =
    "packing with its group-privacy sum δ(1 − e^{−mε})/(e^ε − 1); Vadhan 2017, 7.5.13, prints δ, which is false";

/// The least error, or how likely goals can be reached.
pub fn packing(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    if place.get("m")?.is_some() {
        return reached(place);
    }
    place.only(&GUARANTEE)?;
    let (epsilon, delta) = guarantee(place)?;
    let universe = size(&place.field("universe")?)?;
    let success = place.field("success")?.quantity(Probability::new)?;
    let changes = place.core(packing::least_changes(epsilon, delta, universe, success))?;
    let error = changes.map(|changes| (changes - 1) as f64 / 2.0);
    let words = match error {
        None => "no number of people makes such counts possible".to_string(),
        Some(0.0) => "no bound: at this size any error is possible".to_string(),
        Some(error) => format!(
            "counts that tell {universe} values apart are off by at least {error} somewhere, on some table, if they are right with probability {success}"
        ),
    };
    Ok(LimitStatement {
        numbers: json!({ "packing_m": changes, "packing_count_error": error }),
        words: vec![words],
        theorem: PACKING,
    })
}

fn reached(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    place.only(&["epsilon", "delta", "m", "packing_size"])?;
    let (epsilon, delta) = guarantee(place)?;
    let changes = place.field("m")?.whole()?;
    let size = size(&place.field("packing_size")?)?;
    let correct = place.core(packing::success_at_most(epsilon, delta, size, changes))?;
    let attained = packing::key_selection(epsilon, delta, changes);
    let printed = packing::printed_success_at_most(epsilon, delta, size, changes);
    let (correct_words, attained_words) = (rounded_up(correct, 7), rounded_down(attained, 7));
    Ok(LimitStatement {
        numbers: json!({ "correct_bound": correct, "printed_bound": printed, "attained": attained }),
        words: vec![
            format!("goals within {changes} changes are reached with probability at most {correct_words}"),
            format!("the best selection of keys publishes a key of {changes} owners with probability {attained_words}"),
        ],
        theorem: PACKING,
    })
}

/// u − 1 − ln u.
pub fn information(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    place.only(&GUARANTEE)?;
    let (epsilon, delta) = guarantee(place)?;
    let nats = information::nats_per_row(epsilon);
    let bits = rounded_up(nats / std::f64::consts::LN_2, 6);
    let mut numbers = json!({ "mutual_information_nats_per_row": nats, "assumes": "delta = 0, independent rows" });
    let mut words =
        vec![format!("an output tells at most {bits} bits about a row, if rows are independent and delta is 0")];
    if let Some(rows) = place.get("rows")? {
        let all = rows.core(information::nats_for_any_prior(epsilon, rows.whole()?))?;
        numbers["mutual_information_nats_any_prior"] = json!(all);
        words.push(format!("and at most {} nats about all of them, whatever their joint law", rounded_up(all, 6)));
    }
    if delta.get() > 0.0 {
        words
            .push("delta is above 0: for that no bound is known here, and the number is that of delta = 0".to_string());
    }
    Ok(LimitStatement {
        numbers,
        words,
        theorem: "a ratio of mean 1 in an interval of ratio e^ε; Vadhan 2017, 7.9.5, prints 1.5·ε bits",
    })
}

/// How many people many means need.
pub fn fingerprinting(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    place.only(&["n", "attributes", "epsilon", "delta", "rms_error"])?;
    let (epsilon, delta) = guarantee(place)?;
    let (attributes, error) = (place.field("attributes")?.whole()?, place.field("rms_error")?.number()?);
    let people = place.core(fingerprinting::people_lower(attributes, epsilon, delta, error))?;
    let mut numbers = json!({ "n_at_least": people.direct, "n_at_least_scaled": people.scaled });
    if let Some(n) = place.get("n")? {
        numbers["lemma_constant"] = json!(fingerprinting::lemma_constant(n.whole()?).to_string());
    }
    let words = match people.at_least() {
        None => "no bound: at such an error the lemma says nothing".to_string(),
        Some(least) => format!(
            "{attributes} means with a root-mean-square error of {error} need a table of at least {} people",
            // People are whole.
            least.ceil()
        ),
    };
    Ok(LimitStatement {
        numbers,
        words: vec![words],
        theorem: "the fingerprinting lemma with its exact constant (n + 4)/(3(n + 2)); person scope (after Dwork, Smith, Steinke, Ullman, Vadhan 2015)",
    })
}
