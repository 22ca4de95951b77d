//! `scumble lab attack membership`.

use super::published::{bits_of, numbers_of};
use super::trace::finite;
use super::{AttackScoringArguments, Findings, bits, numbers, rows};
use crate::failure::Failure;
use crate::input;
use clap::Args;
use scumble::quantity::Probability;
use scumble_adversary::attack::membership::MembershipAttack;
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What was published, in one document or in CSV files.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab attack membership means.json")]
pub struct MembershipArguments {
    /// A JSON document with "published", "population", "persons" and "false_positive"; - reads standard input
    #[arg(required_unless_present = "published", conflicts_with = "published")]
    file: Option<PathBuf>,
    /// CSV files instead: the published means
    #[arg(long, value_name = "CSV", requires = "population", requires = "persons", requires = "false_positive")]
    published: Option<PathBuf>,
    /// The means of the population, as many
    #[arg(long, value_name = "CSV", requires = "published")]
    population: Option<PathBuf>,
    /// A line for each person, 0 or 1 for each mean
    #[arg(long, value_name = "CSV", requires = "published")]
    persons: Option<PathBuf>,
    /// How often a person who is not in the table may be accused
    #[arg(long, value_name = "P", requires = "published")]
    false_positive: Option<f64>,
    /// A line for each of some people who are not in the table: says how many of them are accused
    #[arg(long, value_name = "CSV", requires = "published")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    judged: AttackScoringArguments,
}

impl MembershipArguments {
    /// Attacks, judges and prints.
    pub(super) fn answered(&self) -> Result<(), Failure> {
        let found = match (&self.file, &self.published) {
            (Some(file), _) => input::read(file, answer),
            (None, Some(published)) => {
                let document = self.document(published)?;
                // There is no document whose places somebody could look up.
                answer(&LocatedValue::root(&document))
                    .map_err(|wrong| Failure::Input(format!("{}: {}", published.display(), wrong.of_field())))
            }
            (None, None) => Err(Failure::Input("give a JSON document, or --published and --population".to_string())),
        };
        self.judged.shown(found?)
    }

    fn document(&self, published: &Path) -> Result<Value, Failure> {
        let means = |path: &Path| Ok::<_, Failure>(numbers_of(path)?.concat());
        let people = |path: &Path| -> Result<Vec<Vec<u8>>, Failure> {
            let row = |(_, row): (usize, Vec<bool>)| row.into_iter().map(u8::from).collect();
            Ok(bits_of(path)?.into_iter().map(row).collect())
        };
        let standard_input = Path::new("-");
        let mut document = json!({
            "published": means(published)?,
            "population": means(self.population.as_deref().unwrap_or(standard_input))?,
            "persons": people(self.persons.as_deref().unwrap_or(standard_input))?,
            "false_positive": self.false_positive,
        });
        if let Some(reference) = &self.reference {
            document["reference"] = json!(people(reference)?);
        }
        Ok(document)
    }
}

/// Scores, the threshold, and who is accused.
pub fn answer(place: &LocatedValue<'_>) -> WireResult<Findings> {
    place.only(&["published", "population", "person", "persons", "reference", "false_positive", "people", "noise"])?;
    let attack = MembershipAttack::new(&numbers(&place.field("published")?)?, &numbers(&place.field("population")?)?);
    let attack = place.core(attack)?;
    let rate = place.field("false_positive")?.quantity(Probability::new)?;
    let threshold = place.core(attack.threshold(rate))?;
    let score = |person: &Vec<bool>| place.core(attack.score(person));
    let scores = rows(place, "person", "persons")?.iter().map(score).collect::<WireResult<Vec<f64>>>()?;
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
         most {}; assumes that attributes are independent in the population\n",
        scores.len(),
        rate.get()
    );
    if let Some(reference) = place.get("reference")? {
        let others = reference.list()?.iter().map(bits).collect::<WireResult<Vec<_>>>()?;
        let reached = others.iter().map(score).collect::<WireResult<Vec<f64>>>()?;
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
