//! A plan as a table: what each release costs a person, how far off its numbers will be; and below it, what somebody
//! has to know before all else.

use super::super::counted;
use super::PriorPublication;
use crate::colour::Ink;
use crate::failure::Failure;
use crate::table::{table, wrapped};
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::budget::{Odometer, rounded_up, shown_delta};
use scumble_engine::project::{CostScope, Project};
use scumble_engine::release::{ExpectedError, KeyNeed, PlannedRelease, again};
use scumble_engine::report::digits;

/// More columns than these have no line of their own.
const COLUMNS: usize = 4;
/// A longer note stands below the table.
const SHORT: usize = 30;

/// The lines of some releases, and the notes below them.
#[derive(Default)]
pub struct Overview {
    rows: Vec<Vec<String>>,
    /// Each note with the releases that it is about.
    notes: Vec<(String, Vec<String>)>,
}

/// What is known of a column: its name, its standard error, its margin, and a note.
type ColumnLine = [String; 4];

impl Overview {
    /// Adds a release that would be charged, at a δ.
    pub fn add(&mut self, planned: &PlannedRelease, project: &Project, delta: &Exact) -> Result<(), Failure> {
        let (plan, name) = (&planned.plan, &planned.request.name);
        let PersonCost { epsilon, more } = costs(planned, project, delta)?;
        let mut lines = self.columns(name, &plan.expected);
        if let Some(more) = more {
            let first = lines.first_mut().filter(|line| line[3].is_empty() && more.chars().count() <= SHORT);
            match first {
                Some(line) => line[3] = more,
                None => self.note(name, &more),
            }
        }
        for (place, [column, error, margin, note]) in lines.into_iter().enumerate() {
            let (name, epsilon) = if place == 0 { (name.clone(), epsilon.clone()) } else { Default::default() };
            self.rows.push(vec![name, epsilon, column, error, margin, note]);
        }
        if let Some(need) = plan.key_need() {
            self.note(name, &needed(need));
        }
        if let Some(estimates) = &plan.estimates {
            self.note(name, &cut_off(estimates.words()));
        }
        let urgent = ["Warning", "Hardly any", "Recommended"];
        for note in plan.notes.iter().filter(|note| urgent.iter().any(|start| note.starts_with(start))) {
            self.note(name, note);
        }
        Ok(())
    }

    /// Adds a release that is published as it is declared.
    pub fn add_kept(&mut self, name: &str, prior: &PriorPublication) {
        let day = prior.time.split('T').next().unwrap_or_default();
        let note = format!("published {day} (entry {})", prior.entry);
        let state = if prior.lost.is_none() { "kept" } else { "lost" };
        self.rows.push([name, state, "", "", "", &note].map(String::from).to_vec());
        // A release refuses this until somebody has said which it is to be.
        if let Some(lost) = &prior.lost {
            self.note(name, &format!("{lost}: restore it, name its folder with --out, or use release {}", again(name)));
        }
    }

    /// A note on a release; one that holds for several releases is printed once.
    pub fn note(&mut self, name: &str, note: &str) {
        match self.notes.iter_mut().find(|(said, _)| said == note) {
            Some((_, names)) => names.push(name.to_string()),
            None => self.notes.push((note.to_string(), vec![name.to_string()])),
        }
    }

    /// The table and its notes.
    pub fn text(self) -> String {
        let header = ["release", "epsilon", "column", "standard error", "95% margin", "note"];
        let mut text = table(&header, self.rows);
        for (note, names) in self.notes {
            let note = wrapped(&format!("{}: {note}", names.join(", ")));
            let is_urgent = note.contains(": Warning") || note.contains(": Hardly any");
            text.push_str(&if is_urgent { Ink::Warning.on(&note) } else { note });
        }
        text
    }

    /// A line for each column; long notes go below.
    fn columns(&mut self, name: &str, expected: &[ExpectedError]) -> Vec<ColumnLine> {
        let mut lines: Vec<ColumnLine> = Vec::new();
        for one in &expected[..expected.len().min(COLUMNS)] {
            let (error, margin) = numbers(one);
            let margin = margin.map_or_else(String::new, digits);
            let about = match &error {
                Some(_) => "",
                None if one.about.is_empty() => "depends on the data",
                None => &one.about,
            };
            let is_short = about.chars().count() <= SHORT;
            if !is_short {
                self.note(name, &format!("{}: {about}", one.column));
            }
            let about = if is_short { about } else { "" };
            let error = error.unwrap_or_else(|| "–".to_string());
            lines.push([one.column.clone(), error, margin, about.to_string()]);
        }
        if expected.len() > COLUMNS {
            let more = format!("{} more", expected.len() - COLUMNS);
            lines.push([more, String::new(), String::new(), "plan --details has them".to_string()]);
        }
        if lines.is_empty() {
            lines.push(Default::default());
        }
        lines
    }
}

/// What a release costs a person, and what to say beside it.
struct PersonCost {
    epsilon: String,
    more: Option<String>,
}

/// What it costs a person; beside it presence where the cost is about that, the one whose budget it takes the largest
/// part of, and δ.
fn costs(planned: &PlannedRelease, project: &Project, delta: &Exact) -> Result<PersonCost, Failure> {
    let events = &planned.plan.events;
    let person = Odometer::of(events, &Scope::Person)?;
    // What the cost was given for is said, whatever the budget limits.
    let presence = match planned.request.cost.scope() {
        CostScope::Presence => Odometer::of(events, &Scope::Presence)?.epsilon(delta),
        _ => None,
    };
    let presence = presence.map(|own| rounded_up(own.to_f64_up()));
    let Some(epsilon) = person.epsilon(delta) else {
        let at = shown_delta(delta);
        let more = match (person.least_delta(), presence) {
            (None, _) => "no epsilon at any delta: published without noise".to_string(),
            (Some(_), None) => format!("no epsilon at delta {at}: ask for a larger --delta"),
            // A person who is replaced is two owners: their delta is twice that of one who comes or goes.
            (Some(_), Some(own)) => {
                format!("costs presence epsilon {own}, a person none at delta {at}: ask for a larger --delta")
            }
        };
        return Ok(PersonCost { epsilon: "none".to_string(), more: Some(more) });
    };
    let mut more = Vec::new();
    let tightest = tightest(planned, project, delta)?.filter(|(scope, _)| *scope != Scope::Person);
    let is_tightest = tightest.as_ref().is_some_and(|(scope, _)| *scope == Scope::Presence);
    more.extend(presence.filter(|_| !is_tightest).map(|own| format!("presence {own}")));
    more.extend(tightest.map(|(scope, own)| format!("{} {}", super::short(&scope), rounded_up(own))));
    if person.pure_sum().is_none() || *person.delta() > Exact::zero() {
        more.push(format!("at delta {}", shown_delta(delta)));
    }
    let more = Some(more.join(", ")).filter(|more| !more.is_empty());
    Ok(PersonCost { epsilon: rounded_up(epsilon.to_f64_up()), more })
}

/// The scope whose budget a release takes the largest part of, and its ε there.
fn tightest(planned: &PlannedRelease, project: &Project, delta: &Exact) -> Result<Option<(Scope, f64)>, Failure> {
    let mut tightest: Option<(f64, Scope, f64)> = None;
    for (scope, limit) in project.budget.limits(&project.attributes())? {
        let spent = Odometer::of(&planned.plan.events, &scope)?;
        let most = limit.most().to_f64_down();
        let Some(share) = limit.measure(&spent).map(|spent| spent.to_f64_up() / most).filter(|_| most > 0.0) else {
            continue;
        };
        let own = spent.epsilon(delta).map_or(f64::INFINITY, |epsilon| epsilon.to_f64_up());
        if tightest.as_ref().is_none_or(|(largest, ..)| share > *largest) {
            tightest = Some((share, scope, own));
        }
    }
    Ok(tightest.map(|(_, scope, own)| (scope, own)))
}

/// What the numbers of these columns are.
pub(super) fn heading(expected: &[ExpectedError]) -> &'static str {
    match expected.iter().any(|expected| numbers(expected).1.is_some()) {
        true => "standard error (95% margin)",
        false => "standard error",
    }
}

/// The standard error of a column, where one is known or assumed, and its 95% margin.
pub(super) fn numbers(expected: &ExpectedError) -> (Option<String>, Option<f64>) {
    match (expected.standard_error, &expected.assumed) {
        (Some(error), _) => (Some(digits(error)), expected.margin),
        (None, Some(assumed)) => (Some(format!("about {}", digits(assumed.standard_error))), assumed.margin),
        (None, None) => (None, None),
    }
}

fn needed(need: KeyNeed) -> String {
    match need {
        KeyNeed::Lead(lead) => format!("a value needs about {} more than the next one to show", counted(lead, "owner")),
        KeyNeed::Owners(owners) => format!("a key needs about {} to show", counted(owners, "owner")),
    }
}

/// What counts of an owner, in the words that the answers say it in.
fn cut_off(words: &str) -> String {
    let counted = words.split_once(": ").map_or(words, |(_, rest)| rest).split(". ").next().unwrap_or_default();
    format!("{}; the rest is cut off", counted.replace(", chosen at random", ""))
}
