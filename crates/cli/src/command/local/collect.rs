//! `scumble local collect`.

use super::{Alphabet, LocalQuestion, LocalQuestionArguments, lines};
use crate::command::account::{DIGITS, value};
use crate::command::book::ChargedLedgerArguments;
use crate::command::engine::head_line;
use crate::failure::Failure;
use crate::output::{print, quoted};
use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use scumble::event::{Event, Shift, Word, charged_by_scope, charged_where_seen};
use scumble::loss::shuffle::ShuffleLoss;
use scumble::parties::local::mean::Mean;
use scumble::parties::local::{Frequency, FrequencyOracle};
use scumble::quantity::{Beta, Delta, Epsilon, rounded_up};
use scumble::{AttributeSet, Loss, Scope};
use scumble_engine::release::ExternalCharge;
use scumble_wire::event_to_json;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Example:\n  scumble local collect reports.txt --alphabet fruits.txt --epsilon 1")]
pub struct LocalCollectArguments {
    /// Reports, one per line; - reads standard input
    #[arg(default_value = "-")]
    reports: PathBuf,
    #[command(flatten)]
    question: LocalQuestionArguments,
    /// The attribute in the table of costs (repeatable)
    #[arg(long, value_name = "NAME")]
    attribute: Vec<String>,
    /// How often an interval may be wrong
    #[arg(long, default_value = "0.05")]
    beta: Beta,
    /// Reports came shuffled: their cost then, at --delta
    #[arg(long, requires = "delta")]
    shuffled: bool,
    /// The δ of --shuffled
    #[arg(long, requires = "shuffled")]
    delta: Option<Delta>,
    #[command(flatten)]
    ledger: ChargedLedgerArguments,
    /// The collection's name in the ledger
    #[arg(long, default_value = "local")]
    name: String,
    /// CSV: value,count,standard_error,low,high
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The cost of one report in words that ledgers add up. Without a cost of presence, who reports is seen.
fn counted(presence: Option<f64>, value: Epsilon, attributes: &AttributeSet) -> Result<Vec<Event>, Failure> {
    let (word, one) = (Word::Pure { epsilon: value }, Shift::one_cell(1.0)?);
    let Some(presence) = presence else { return Ok(charged_where_seen(word, one, attributes)?) };
    // Where all owners report, a person is replaced by one with another value or without one: the first costs more.
    let presence = Word::Pure { epsilon: Epsilon::new(presence.min(value.get()))? };
    let charge = |word: Word| (word, vec![one]);
    let changes = vec![(attributes.clone(), charge(word.clone()))];
    Ok(charged_by_scope(charge(presence), charge(word), changes)?)
}

/// The name of a value that has none in the alphabet.
const UNNAMED: &str = "value";

/// What the reports say.
struct CollectionResult {
    oracle: &'static str,
    reports: u64,
    rejected: u64,
    /// The largest error of any value, with probability 1 − β.
    largest: f64,
    names: Vec<String>,
    frequencies: Vec<Frequency>,
    attributes: AttributeSet,
    events: Vec<Event>,
}

/// Counts, estimates, prints.
pub fn run(arguments: &LocalCollectArguments) -> Result<(), Failure> {
    let names = arguments.attribute.iter().map(String::as_str);
    let attributes = AttributeSet::new(if arguments.attribute.is_empty() { vec![UNNAMED] } else { names.collect() })?;
    let asked = arguments.question.asked()?;
    // What a ledger is to hold stands in it before a report is looked at.
    let book = arguments.ledger.book()?;
    let paid = match &book {
        Some(book) => Some(charge_of(arguments, &asked, &attributes)?.charge(book, arguments.ledger.again)?),
        None => None,
    };
    let collected = match asked {
        LocalQuestion::Frequencies(oracle, alphabet) => frequencies(arguments, &oracle, &alphabet, &attributes)?,
        LocalQuestion::Mean(mean) => means(arguments, &mean, &attributes)?,
    };
    // Where nobody has reported yet, everything is possible; where somebody has, this is another file.
    if collected.reports == 0 && collected.rejected > 0 {
        let (file, lines) = (arguments.reports.display(), collected.rejected);
        refuse!(
            "{file}: none of its {lines} lines is a report of the oracle {}: check that the values, epsilon and \
                oracle are those of the reports",
            collected.oracle
        );
    }
    let shuffled = arguments.shuffled(collected.reports)?;
    let head = paid.map(|paid| paid.commit(&scumble_engine::digest(collected.as_csv().as_bytes()))).transpose()?;
    let text = if arguments.json {
        format!("{}\n", collected.as_json(arguments, shuffled)?)
    } else if arguments.csv {
        collected.as_csv()
    } else {
        let recorded = match &head {
            Some(head) => format!("Each owner's report is charged to the ledger.\n{}\n", head_line(head)),
            None => "Not recorded in any ledger; --json prints the events.\n".to_string(),
        };
        format!("{}{recorded}", collected.in_words(arguments, shuffled)?)
    };
    print(&text)
}

/// What the owners of these reports have paid, for a ledger that knows the same people.
fn charge_of(
    arguments: &LocalCollectArguments,
    asked: &LocalQuestion,
    attributes: &AttributeSet,
) -> Result<ExternalCharge, Failure> {
    if arguments.attribute.is_empty() {
        refuse!("a ledger counts by attribute: name the attribute with --attribute NAME");
    }
    let presence = match asked {
        LocalQuestion::Frequencies(oracle, _) if arguments.question.presence => Some(oracle.epsilon_presence().get()),
        _ => None,
    };
    let about = match asked {
        LocalQuestion::Frequencies(oracle, _) => json!({ "oracle": oracle.kind().name(), "values": oracle.values() }),
        LocalQuestion::Mean(_) => json!({ "oracle": "mean" }),
    };
    let events = counted(presence, arguments.question.epsilon, attributes)?;
    let events_as_json: Vec<Value> = events.iter().map(event_to_json).collect();
    Ok(ExternalCharge {
        release: arguments.name.clone(),
        kind: "local",
        plan: scumble_engine::digest(json!([arguments.name, about, events_as_json]).to_string().as_bytes()),
        events,
        rule: json!({ "question": about, "coalition": "everybody else together, and the collector" }),
    })
}

fn frequencies(
    arguments: &LocalCollectArguments,
    oracle: &FrequencyOracle,
    alphabet: &Alphabet,
    attributes: &AttributeSet,
) -> Result<CollectionResult, Failure> {
    let mut tally = oracle.tally()?;
    let too_long = lines::blocks(&arguments.reports, |block| tally.add_lines(block))?;
    Ok(CollectionResult {
        oracle: oracle.kind().name(),
        reports: tally.reports(),
        rejected: tally.rejected() + too_long,
        largest: oracle.error(arguments.beta, tally.reports())?,
        names: (0..oracle.values() as usize).map(|place| alphabet.name(place)).collect(),
        frequencies: tally.estimates(arguments.beta)?,
        events: oracle.events(attributes, arguments.question.absent())?,
        attributes: attributes.clone(),
    })
}

fn means(
    arguments: &LocalCollectArguments,
    mean: &Mean,
    attributes: &AttributeSet,
) -> Result<CollectionResult, Failure> {
    let (mut ones, mut zeros, mut rejected) = (0, 0, 0);
    let count = |block: &[u8]| {
        for line in block.split(|letter| *letter == b'\n') {
            match line.strip_suffix(b"\r").unwrap_or(line) {
                b"m1" => ones += 1,
                b"m0" => zeros += 1,
                _ => rejected += 1,
            }
        }
    };
    let too_long = lines::blocks(&arguments.reports, count)?;
    let reports = ones + zeros;
    Ok(CollectionResult {
        oracle: "mean",
        reports,
        rejected: rejected + too_long,
        largest: mean.error(arguments.beta, reports)?,
        names: vec!["sum".to_string()],
        frequencies: vec![mean.estimate(ones, reports, arguments.beta)?],
        events: mean.events(attributes)?,
        attributes: attributes.clone(),
    })
}

impl LocalCollectArguments {
    /// ε of the shuffled reports at the δ that is asked for.
    fn shuffled(&self, reports: u64) -> Result<Option<f64>, Failure> {
        let Some(delta) = self.delta.filter(|_| reports > 0) else { return Ok(None) };
        Ok(Some(ShuffleLoss::new(self.question.epsilon, reports)?.epsilon_upper(delta).get()))
    }
}

/// The mean, where a sum over the owners who reported was asked for.
fn divided(frequency: &Frequency, reports: u64) -> Frequency {
    let n = reports.max(1) as f64;
    let Frequency { count, standard_error, low, high } = *frequency;
    Frequency { count: count / n, standard_error: standard_error / n, low: low / n, high: high / n }
}

impl CollectionResult {
    fn is_mean(&self) -> bool {
        self.oracle == "mean"
    }

    fn epsilon(&self, scope: Scope) -> Result<f64, Failure> {
        Ok(Loss::of(&self.events, scope)?.epsilon(Delta::new(0.0)?).upper)
    }

    fn as_csv(&self) -> String {
        let mut text = "value,count,standard_error,low,high\n".to_string();
        for (name, frequency) in self.names.iter().zip(&self.frequencies) {
            let Frequency { count, standard_error, low, high } = frequency;
            let _ = writeln!(text, "{},{count:.1},{standard_error:.1},{low:.1},{high:.1}", quoted(name));
        }
        text
    }

    fn as_json(&self, arguments: &LocalCollectArguments, shuffled: Option<f64>) -> Result<Value, Failure> {
        let one = |(name, frequency): (&String, &Frequency)| {
            let Frequency { count, standard_error, low, high } = frequency;
            json!({ "value": name, "count": count, "standard_error": standard_error, "low": low, "high": high })
        };
        let mut object = json!({
            "oracle": self.oracle, "epsilon": arguments.question.epsilon.get(), "beta": arguments.beta.get(),
            "reports": self.reports, "rejected": self.rejected, "largest_error": self.largest,
            "person": value(self.epsilon(Scope::Person)?), "presence": value(self.epsilon(Scope::Presence)?),
            "attributes": value(self.epsilon(Scope::Attributes(self.attributes.clone()))?),
            "events": self.events.iter().map(event_to_json).collect::<Vec<_>>(),
            "values": self.names.iter().zip(&self.frequencies).map(one).collect::<Vec<_>>(),
        });
        if let (Some(epsilon), Some(delta)) = (shuffled, arguments.delta) {
            object["shuffled"] = json!({ "epsilon": epsilon, "delta": delta.get() });
        }
        if self.is_mean() {
            let Frequency { count, standard_error, low, high } = divided(&self.frequencies[0], self.reports);
            object["mean"] = json!({ "mean": count, "standard_error": standard_error, "low": low, "high": high });
        }
        Ok(object)
    }

    fn in_words(&self, arguments: &LocalCollectArguments, shuffled: Option<f64>) -> Result<String, Failure> {
        let sure = 100.0 * (1.0 - arguments.beta.get());
        let mut text = format!("{} reports of the oracle {}", self.reports, self.oracle);
        let _ = match self.rejected {
            0 => writeln!(text, "."),
            1 => writeln!(text, "; 1 line is not a report and was left out."),
            rejected => writeln!(text, "; {rejected} lines are not reports and were left out."),
        };
        let _ = writeln!(text, "{}", self.table(sure));
        if !self.is_mean() {
            let _ = writeln!(
                text,
                "Each interval holds its truth with probability {sure}%; all estimates at once are within ±{:.0} of it with the same.",
                self.largest.ceil()
            );
        }
        let cost = rounded_up(self.epsilon(Scope::Attributes(self.attributes.clone()))?, DIGITS);
        let of = match arguments.attribute.is_empty() {
            true => String::new(),
            false => format!(" ({})", arguments.attribute.join(", ")),
        };
        let _ =
            writeln!(text, "A report costs its owner ε = {cost} for its value{of}, against everybody else together.");
        let presence = self.epsilon(Scope::Presence)?;
        let _ = match presence.is_finite() {
            true => writeln!(
                text,
                "That an owner has a value costs ε = {}, where all owners without one report; all about a person costs ε = {}.",
                rounded_up(presence, DIGITS),
                rounded_up(self.epsilon(Scope::Person)?, DIGITS)
            ),
            false => writeln!(
                text,
                "Who reports is not protected, because everybody who receives a report sees that it came: neither presence nor a person as a whole has a finite ε."
            ),
        };
        if let (Some(epsilon), Some(delta)) = (shuffled, arguments.delta) {
            let _ = writeln!(
                text,
                "Shuffled, a report costs ({}, {delta}), as far as all others reported as they were asked to.",
                rounded_up(epsilon, DIGITS)
            );
        }
        Ok(text)
    }

    /// The largest counts.
    fn table(&self, sure: f64) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_BORDERS_ONLY);
        let interval = format!("{sure}% interval");
        table.set_header([if self.is_mean() { "" } else { "value" }, "owners", "standard error", &interval]);
        if self.is_mean() {
            let Frequency { count, standard_error, low, high } = divided(&self.frequencies[0], self.reports);
            table.set_header(["", "mean", "standard error", &interval]);
            table.add_row([
                "",
                &format!("{count:.4}"),
                &format!("{standard_error:.4}"),
                &format!("{low:.4} … {high:.4}"),
            ]);
            return table;
        }
        let mut order: Vec<usize> = (0..self.frequencies.len()).collect();
        order.sort_by(|a, b| self.frequencies[*b].count.total_cmp(&self.frequencies[*a].count));
        for place in order.iter().take(SHOWN) {
            let Frequency { count, standard_error, low, high } = self.frequencies[*place];
            let numbers = [format!("{count:.0}"), format!("{standard_error:.0}"), format!("{low:.0} … {high:.0}")];
            table.add_row([&[self.names[*place].clone()], &numbers[..]].concat());
        }
        if order.len() > SHOWN {
            table.add_row([format!("and {} more: --csv", order.len() - SHOWN)]);
        }
        table
    }
}

/// More values are not shown to people.
const SHOWN: usize = 20;
