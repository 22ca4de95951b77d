//! `scumble attack membership`.

use super::trace::finite;
use super::{Findings, Result, bits, numbers, rows};
use scumble::attack::membership::Membership;
use scumble_wire::Located;
use serde_json::json;

/// Scores, the threshold, and who is accused.
pub fn answer(place: &Located<'_>) -> Result<Findings> {
    place.only(&["published", "population", "person", "persons", "reference", "false_positive", "people", "noise"])?;
    let attack = Membership::new(&numbers(&place.field("published")?)?, &numbers(&place.field("population")?)?);
    let attack = place.core(attack)?;
    let rate = place.field("false_positive")?.number()?;
    let threshold = place.core(attack.threshold(rate))?;
    let score = |person: &Vec<bool>| place.core(attack.score(person));
    let scores = rows(place, "person", "persons")?.iter().map(score).collect::<Result<Vec<f64>>>()?;
    let accused: Vec<usize> = (0..scores.len()).filter(|person| scores[*person] >= threshold).collect();
    let mut numbers = json!({
        "threshold": finite(threshold), "scores": scores, "accused": accused, "assumes": "independent attributes",
        "exact_false_positive": attack.exact_false_positive(threshold),
    });
    if let [score] = scores[..] {
        numbers["score"] = json!(score);
    }
    let mut words = format!(
        "accused: {accused:?} of {} persons, by scores of at least {threshold:.6}\nsomebody who is not in the table has that with probability at \
         most {rate}; assumes that attributes are independent in the population\n",
        scores.len()
    );
    if let Some(reference) = place.get("reference")? {
        let others = reference.list()?.iter().map(bits).collect::<Result<Vec<_>>>()?;
        let reached = others.iter().map(score).collect::<Result<Vec<f64>>>()?;
        let hits = reached.iter().filter(|score| **score >= threshold).count();
        numbers["reference_accused"] = json!(hits);
        words += &format!("of {} in the reference sample {hits} are accused\n", others.len());
    }
    if let Some(people) = place.get("people")? {
        let noise = place.get("noise")?.map_or(Ok(0.0), |field| field.number())?;
        let power = attack.power(people.whole()?.max(1), noise);
        numbers["power"] = json!(power);
        words += &format!("members' scores are expected {power:.2} standard deviations above those of others\n");
    }
    Ok(Findings { numbers, words })
}
