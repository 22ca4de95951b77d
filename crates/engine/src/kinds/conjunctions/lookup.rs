//! What a published summary says about one conjunction. Reads the release's JSON file, and nothing else: no table, no
//! ledger.

use super::literal::{ParsedConjunction, Test, conjunction};
use super::{Conjunctions, KIND};
use crate::error::{Error, Result};
use crate::project::known_file_names;
use scumble::workload::conjunctions::{self, ConjunctionEstimate, ConjunctionSummary, Measure, Polynomial};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The field of the answer's JSON that says how to read its rows.
pub(crate) const FACT: &str = "conjunctions";

/// What is needed beside the rows.
pub(crate) fn fact(
    asked: &Conjunctions,
    plan: &conjunctions::ConjunctionPlan,
    summary: &ConjunctionSummary,
    labels: &[String],
) -> Value {
    json!({
        "columns": labels, "width": asked.width, "degree": plan.polynomial().degree(),
        "newton": plan.polynomial().newton().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "measure": plan.measure().name(), "sigmas": summary.sigmas(), "records": asked.attributes.note(),
    })
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LookupAnswer {
    /// The conjunction, in the words of the release.
    pub conjunction: String,
    /// About how many satisfy it.
    pub answer: ConjunctionEstimate,
    /// The same from projected parities, if that was asked for: how many, and how far all of them are from the exact
    /// projection at most.
    pub projected: Option<(f64, f64)>,
    /// What a reader should know about whose records these are.
    pub note: Option<String>,
}

impl LookupAnswer {
    /// In one sentence.
    pub fn words(&self) -> String {
        let ConjunctionEstimate { estimate, standard_error, bias, most_bias, half_width } = self.answer;
        let (low, high) = (estimate - half_width, estimate + half_width);
        let bias = match bias {
            0.0 => String::new(),
            bias => {
                format!(", and a bias of up to {most_bias:.1} ({:.2}% of the owners) that no noise shows", 100.0 * bias)
            }
        };
        let projected = self.projected.map_or_else(String::new, |(number, distance)| {
            format!(
                "; projected on what a table of people can nearly have: {number:.1}, without a standard error (the \
                    projection is exact to {distance:.1e}, root mean square)"
            )
        });
        format!(
            "{}: {estimate:.1} owners, with a standard error of {standard_error:.1}{bias}; 95% interval {low:.1} to {high:.1}{projected}",
            self.conjunction
        )
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let ConjunctionEstimate { estimate, standard_error, bias, most_bias, half_width } = self.answer;
        let projected = self.projected.map(|(number, distance)| json!({ "estimate": number, "distance": distance }));
        json!({
            "conjunction": self.conjunction, "projected": projected, "estimate": estimate, "standard_error": standard_error, "bias": bias, "most_bias": most_bias,
            "interval": [estimate - half_width, estimate + half_width], "note": self.note,
        })
    }
}

/// What the release of this name, published in this folder, says about a conjunction such as `smoker AND NOT insured`.
///
/// Reads what was published and nothing else, so that it costs nothing. `projected` asks for the same after the
/// projection of all parities on what a table of people can nearly have.
pub fn lookup(folder: &Path, release: &str, text: &str, projected: bool) -> Result<LookupAnswer> {
    let known = known_file_names(release).into_iter().map(|[.., name]| folder.join(name)).collect::<Vec<_>>();
    // The name of a release is not a path.
    let is_name = !release.contains(['/', '\\']);
    let Some(path) = known.iter().find(|path| is_name && path.exists()) else {
        return Err(Error::input(format!(
            "release '{release}' is not in the folder {}: publish it with scumble release, or name its folder with --out",
            folder.display()
        )));
    };
    let bytes = std::fs::read(path).map_err(|error| {
        Error::input(format!(
            "release '{release}' is not in the folder {} ({error}): publish it with scumble release, or name its folder with --out",
            folder.display()
        ))
    })?;
    let wrong = || {
        Error::input(format!(
            "{} is not the file of a release of kind {}: only those answer conjunctions",
            path.display(),
            KIND.name
        ))
    };
    let document: LookupFile = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let (labels, summary, note) = summary(&document.answers).ok_or_else(wrong)?;
    let tests: Vec<Test> = labels.iter().map(|label| Test::parse(label)).collect();
    let ParsedConjunction { literals, turned } = conjunction(text, &tests)?;
    let words = |(place, value): &(usize, bool)| {
        if *value { labels[*place].clone() } else { format!("NOT {}", labels[*place]) }
    };
    let projected = match projected {
        true => {
            let moments = summary.projected()?;
            Some((summary.answer_projected(&literals, &moments)?, moments.distance()))
        }
        false => None,
    };
    Ok(LookupAnswer {
        note: with_turned(note, turned.iter().map(|(asked, literal)| (asked.as_str(), words(literal), literal.1))),
        projected,
        conjunction: literals.iter().map(words).collect::<Vec<_>>().join(" AND "),
        answer: summary.answer(&literals)?,
    })
}

/// A missing value is neither `age >= 65` nor `age < 65`, and the release knows one of them alone. `turned` are what
/// was asked, what is answered, and whether that is a test itself or its contrary.
fn with_turned<'a>(note: Option<String>, turned: impl Iterator<Item = (&'a str, String, bool)>) -> Option<String> {
    let said = turned.map(|(asked, answered, is_test)| match is_test {
        true => format!("'{asked}' is answered as {answered}, which owners without a value do not fulfil."),
        false => format!("'{asked}' is answered as {answered}, which owners without a value fulfil too."),
    });
    let all: Vec<String> = note.into_iter().chain(said).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The columns, what was released about them, and what to know about it.
fn summary(document: &LookupFields) -> Option<(Vec<String>, ConjunctionSummary, Option<String>)> {
    let fact = document.facts.get(FACT)?;
    let texts = |key: &str| -> Option<Vec<String>> {
        fact[key].as_array()?.iter().map(|text| text.as_str().map(str::to_string)).collect()
    };
    let (labels, newton) = (texts("columns")?, texts("newton")?);
    let width = usize::try_from(fact["width"].as_u64()?).ok()?;
    let measure = Measure::ALL.into_iter().find(|measure| fact["measure"] == measure.name())?;
    let sigmas = fact["sigmas"].as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>()?;
    let degree = newton.len().checked_sub(1)?;
    let polynomial = known(width, degree)?
        .into_iter()
        .find(|polynomial| polynomial.newton().iter().map(ToString::to_string).eq(newton.iter().cloned()))?;
    let mut rows = document.rows.iter().map(|row| row.number(measure));
    let mut numbers = Vec::new();
    for size in 0..=degree {
        let many =
            usize::try_from(measure.numbers(labels.len(), size)).ok().filter(|many| *many <= document.rows.len())?;
        numbers.push(rows.by_ref().take(many).collect::<Option<Vec<i64>>>()?);
    }
    let note = fact["records"].as_str().map(str::to_string);
    let summary = ConjunctionSummary::new(labels.len(), &polynomial, measure, sigmas, numbers).ok()?;
    rows.next().is_none().then_some((labels, summary, note))
}

/// The polynomials that a release can have: coefficients are looked up among them and never read, so that a bias is
/// always what it is said to be.
fn known(width: usize, degree: usize) -> Option<Vec<Polynomial>> {
    let of = [Polynomial::exact(width), Polynomial::minimax(width, degree), Polynomial::chebyshev_of(width, degree)];
    let of: Vec<Polynomial> = of.into_iter().flatten().collect();
    (!of.is_empty()).then_some(of)
}

/// The parts of a release's JSON file that are needed.
#[derive(Deserialize)]
struct LookupFile {
    #[serde(default)]
    answers: LookupFields,
}

/// The field `answers` of the file: the rows apart from the facts.
#[derive(Default, Deserialize)]
struct LookupFields {
    #[serde(flatten)]
    facts: Map<String, Value>,
    #[serde(default)]
    rows: Vec<LookupRow>,
}

/// A row: its noisy number, under the name of what was measured.
#[derive(Deserialize)]
struct LookupRow {
    count: Option<i64>,
    balance: Option<i64>,
}

impl LookupRow {
    fn number(&self, measure: Measure) -> Option<i64> {
        match measure {
            Measure::Counts => self.count,
            Measure::Parities => self.balance,
        }
    }
}
