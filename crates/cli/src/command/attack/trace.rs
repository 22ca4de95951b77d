//! `scumble lab attack trace`.

use super::{Findings, bits, numbers, rows};
use scumble::quantity::{Beta, Probability, rounded_up};
use scumble_adversary::attack::{boneh_shaw, tardos};
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::json;

/// Tardos' code where there are biases, otherwise that of Boneh and Shaw.
pub fn answer(place: &LocatedValue<'_>) -> WireResult<Findings> {
    match (place.get("bias")?, place.get("published")?) {
        (Some(_), _) => by_tardos(place),
        (None, Some(_)) => by_boneh_shaw(place),
        (None, None) => plan(place),
    }
}

/// How long a block must be.
fn plan(place: &LocatedValue<'_>) -> WireResult<Findings> {
    place.only(&["users", "beta"])?;
    let (users, beta) = (place.field("users")?.whole()?, place.field("beta")?.quantity(Beta::new)?);
    let block = place.core(boneh_shaw::block(users, beta))?;
    let least = place.core(boneh_shaw::least_block(users, beta))?;
    let accusation = |block: u64| place.core(boneh_shaw::false_accusation(users, block));
    let at_least = least.map(accusation).transpose()?.flatten();
    let numbers = json!({
        "block_closed_form": block, "length_closed_form": (users + 1) * block,
        "false_accusation_at_closed_form": accusation(block)?,
        "least_block_exact": least, "false_accusation_at_least": at_least,
    });
    let exact = least.map_or_else(String::new, |least| format!("; {least} suffice by exact sums"));
    Ok(Findings {
        numbers,
        words: format!(
            "{block} columns in each of {} blocks keep false accusations below {}{exact}\n",
            users + 1,
            beta.get()
        ),
    })
}

fn by_boneh_shaw(place: &LocatedValue<'_>) -> WireResult<Findings> {
    place.only(&["users", "columns", "published"])?;
    let columns = place.field("columns")?.list()?.iter().map(LocatedValue::whole).collect::<WireResult<Vec<u64>>>()?;
    let users = place.field("users")?.whole()?;
    let code = place.core(boneh_shaw::BonehShawCode::new(users, columns))?;
    let field = place.field("published")?;
    let word: Vec<bool> = numbers(&field)?.iter().map(|mean| *mean > 0.5).collect();
    let accused = field.core(code.accused(&word))?;
    let wrong = place.core(boneh_shaw::false_accusation(users, code.block()))?;
    let named = accused.map_or("nobody".to_string(), |user| format!("user {user}"));
    let chance = wrong
        .map_or_else(String::new, |wrong| format!(" (an innocent with probability at most {})", rounded_up(wrong, 3)));
    Ok(Findings {
        numbers: json!({ "accused": accused, "false_accusation": wrong }),
        words: format!("accused: {named}{chance}\n"),
    })
}

fn by_tardos(place: &LocatedValue<'_>) -> WireResult<Findings> {
    place.only(&["bias", "pirate", "user", "users", "false_positive", "coalition", "tardos_epsilon"])?;
    let field = place.field("bias")?;
    let code = field.core(tardos::TardosCode::new(numbers(&field)?))?;
    let word = bits(&place.field("pirate")?)?;
    let rate = place.field("false_positive")?.quantity(Probability::new)?;
    let threshold = place.core(code.threshold(&word, rate))?;
    let users = rows(place, "user", "users")?;
    let scores = users.iter().map(|user| place.core(code.score(&word, user))).collect::<WireResult<Vec<f64>>>()?;
    let accused: Vec<usize> = (0..scores.len()).filter(|user| scores[*user] >= threshold).collect();
    let mut numbers = json!({ "threshold": finite(threshold), "scores": scores, "accused": accused });
    if let [score] = scores[..] {
        numbers["score"] = json!(score);
    }
    if let (Some(coalition), Some(rate)) = (place.get("coalition")?, place.get("tardos_epsilon")?) {
        let classical = place.core(tardos::classical(coalition.whole()?, rate.quantity(Probability::new)?))?;
        numbers["tardos_length"] = json!(classical.length);
        numbers["tardos_threshold"] = json!(classical.threshold);
        numbers["tardos_cutoff"] = json!(classical.cutoff);
    }
    let words = format!(
        "accused: {accused:?} of {} users, by scores of at least {threshold:.6}; an innocent has that with \
         probability at most {}\n",
        scores.len(),
        rate.get()
    );
    Ok(Findings { numbers, words })
}

/// An infinite threshold accuses nobody; JSON has no infinity.
pub fn finite(threshold: f64) -> Option<f64> {
    Some(threshold).filter(|threshold| threshold.is_finite())
}
