//! From requests to published files, in the order that `docs/ledger-format.md` fixes.

use super::guarded::guarded;
use super::publish::Places;
use super::{Answers, Limit, Plan, exact_count, kinds};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::budget::rounded_down;
use crate::error::{Error, Result};
use crate::ledger::{Charge, Head, Ledger, Proposal, Receipt};
use crate::project::{COMMAND_LINE, Cost, Project, Request, Target};
use scumble::event::Event;
use scumble::noise::BitSource;
use scumble::quantity::Exact;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A request that has been planned.
pub struct Planned {
    /// What was asked.
    pub request: Request,
    /// How it will be done.
    pub plan: Box<dyn Plan>,
}

/// A release that has been published.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What was published.
    pub answers: Answers,
    /// What nobody could beat at its privacy, where that is known.
    pub limits: Vec<Limit>,
    /// What is counted, for attackers who know only part of the rows.
    pub counted: Counted,
    /// Its place in the ledger.
    pub sequence: u64,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// Plans and runs the releases of one project.
pub struct Runner<'a> {
    project: &'a Project,
    ledger: PathBuf,
}

impl<'a> Runner<'a> {
    /// With the project's own ledger.
    pub fn new(project: &'a Project) -> Self {
        Self { project, ledger: project.ledger() }
    }

    /// With another ledger.
    pub fn with_ledger(project: &'a Project, ledger: PathBuf) -> Self {
        Self { project, ledger }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// Plans a request; touches no data.
    pub fn plan(&self, request: &Request) -> Result<Planned> {
        let plan = (kinds::find(&request.kind)?.plan)(request, self.project).map_err(|error| {
            let place = request.fields.place();
            // Where no field is to blame, the release is.
            if place.text == COMMAND_LINE { error } else { error.or_at(place) }
        })?;
        Ok(Planned { request: request.clone(), plan })
    }

    /// What has been charged so far.
    pub fn charges(&self) -> Result<Vec<Charge>> {
        Ledger::open_existing(&self.ledger)?.map_or(Ok(Vec::new()), |ledger| ledger.charges())
    }

    /// Whether all of these fit the budget together, on top of what has been charged; charges nothing.
    pub fn admit(&self, releases: &[Planned]) -> Result<()> {
        let charges = self.charges()?;
        let mut kinds: Vec<&str> = charges.iter().map(|charge| charge.kind.as_str()).collect();
        let mut charged: Vec<Vec<Event>> = charges.iter().map(|charge| charge.events.clone()).collect();
        for planned in releases {
            stands_alone(&planned.request, &kinds)?;
            self.fits(planned, &charged)?;
            kinds.push(&planned.request.kind);
            charged.push(planned.plan.events().to_vec());
        }
        Ok(())
    }

    /// One release on top of charges: fine, or the sentence that says why not and what would fit.
    fn fits(&self, planned: &Planned, charged: &[Vec<Event>]) -> Result<()> {
        let charged: Vec<&[Event]> = charged.iter().map(Vec::as_slice).collect();
        match self.project.budget.first_refusal(&charged, planned.plan.events())? {
            None => Ok(()),
            Some(refusal) => {
                let largest = self.largest(&planned.request, &charged)?;
                Err(refusal.error(&planned.request.name, &largest))
            }
        }
    }

    /// The largest cost of the same form that would fit, in words.
    fn largest(&self, request: &Request, charged: &[&[Event]]) -> Result<String> {
        let (word, most) = match &request.cost.target {
            Target::Epsilon(epsilon) => ("epsilon", epsilon.to_f64()),
            Target::Rho(rho) => ("rho", rho.to_f64()),
            Target::Accuracy { .. } => return Ok("ask for less accuracy".to_string()),
        };
        let fits = |number: &str| -> Result<bool> {
            let exact: Exact = number.parse()?;
            if exact <= Exact::zero() {
                return Ok(false);
            }
            let target = if word == "rho" { Target::Rho(exact) } else { Target::Epsilon(exact) };
            let smaller = Request { cost: Cost { target, ..request.cost.clone() }, ..request.clone() };
            let plan = (kinds::find(&smaller.kind)?.plan)(&smaller, self.project)?;
            Ok(self.project.budget.first_refusal(charged, plan.events())?.is_none())
        };
        let (mut low, mut high) = (0.0, most);
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if fits(&decimal(middle))? { low = middle } else { high = middle }
        }
        // A number with few digits, such as what is left of a round budget, if that fits as well.
        let nice = rounded_down(high * (1.0 + 1e-6));
        let shown = if fits(&nice)? { nice } else { decimal(low) };
        Ok(match shown.parse::<f64>() {
            Ok(number) if number > most * 1e-6 => format!("the largest cost that would fit is {word} {shown}"),
            _ => "no cost would fit".to_string(),
        })
    }

    /// Runs all, one after the other.
    ///
    /// What can be wrong with budgets, places and the form of the sources is told before the first charge, and depends on no value.
    /// A release that fails after its charge publishes nothing and stays charged, the sentence is always the same, and the releases
    /// after it are not begun.
    ///
    /// # Guarantee
    /// No row is read and no noise is drawn without the ledger's receipt; outputs are written only after noise was drawn. What is told
    /// about a failure depends on the release's name alone.
    pub fn release(
        &self,
        releases: &[Planned],
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<Outcome>, Head)> {
        self.admit(releases)?;
        let backend = self.preflight(releases)?;
        let places = releases.iter().map(|planned| Places::claim(out, &file_names(&planned.request.name)));
        let places = places.collect::<Result<Vec<_>>>()?;
        let mut ledger = Ledger::open_or_create(&self.ledger)?;
        let run = releases.iter().zip(places).map(|(planned, places)| {
            tell(&format!("releasing '{}'", planned.request.name));
            self.publish(planned, &backend, places, bits, &mut ledger)
        });
        let outcomes = run.collect::<Result<Vec<_>>>();
        // Its threads may still be at work on rows after a failure.
        guarded(|| {
            drop(backend);
            Ok(())
        });
        Ok((outcomes?, ledger.verify()?))
    }

    /// Opens what the releases read and looks whether its columns fit; no value is looked at.
    fn preflight(&self, releases: &[Planned]) -> Result<Backend> {
        let tables: BTreeSet<String> = releases.iter().flat_map(|planned| planned.plan.tables()).collect();
        let tables: Vec<String> = tables.into_iter().collect();
        let backend = Backend::with_data(self.project, &tables)?;
        for planned in releases {
            let fits = planned.plan.preflight(self.project, &backend);
            fits.map_err(|error| error.or_while(&self.reading(planned)))?;
        }
        Ok(backend)
    }

    /// What is read for a release, in words.
    fn reading(&self, planned: &Planned) -> String {
        let tables = planned.plan.tables();
        let sources = tables.iter().filter_map(|name| self.project.tables.get(name));
        let sources: Vec<String> = sources.map(|table| table.source.display().to_string()).collect();
        format!("release '{}' reads {}", planned.request.name, sources.join(", "))
    }

    fn publish(
        &self,
        planned: &Planned,
        backend: &Backend,
        places: Places,
        bits: &mut dyn BitSource,
        ledger: &mut Ledger,
    ) -> Result<Outcome> {
        let request = &planned.request;
        let mut rule = planned.plan.rule();
        if !bits.is_secure() {
            rule["insecure"] = serde_json::json!("noise from a seed: nothing here is private");
        }
        let proposal = Proposal {
            release: request.name.clone(),
            kind: request.kind.clone(),
            project: Some(self.project.digest.clone()),
            events: planned.plan.events().to_vec(),
            rule,
        };
        let (counted, mut limits) = (planned.plan.counted()?, planned.plan.limits()?);
        let receipt = ledger.reserve(&proposal, |charges| {
            let kinds: Vec<&str> = charges.iter().map(|charge| charge.kind.as_str()).collect();
            stands_alone(request, &kinds)?;
            let charged: Vec<Vec<Event>> = charges.iter().map(|charge| charge.events.clone()).collect();
            self.fits(planned, &charged)
        })?;
        let sequence = receipt.sequence();
        let made = guarded(|| self.made(planned, &receipt, backend, places, bits));
        let Made { mut answers, files, digest } = made.ok_or_else(|| interrupted(&request.name))?;
        ledger.commit(receipt, &digest).map_err(|_| uncommitted(&request.name))?;
        let (name, kind) = (request.name.clone(), request.kind.clone());
        if !answers.details.limits.is_empty() {
            limits = std::mem::take(&mut answers.details.limits);
        }
        Ok(Outcome { name, kind, answers, limits, counted, sequence, files })
    }

    /// From rows to files. Whatever goes wrong here may depend on the data.
    fn made(
        &self,
        planned: &Planned,
        receipt: &Receipt,
        backend: &Backend,
        places: Places,
        bits: &mut dyn BitSource,
    ) -> Result<Made> {
        let Request { name, kind, .. } = &planned.request;
        let answers = planned.plan.compute(receipt, self.project, backend)?(receipt, bits)?;
        let csv = answers.csv();
        let told = serde_json::json!({
            "release": name, "kind": kind, "sequence": receipt.sequence(), "ledger_head": receipt.head().hex(),
            "answers": answers.json(),
        });
        let contents = [csv.clone().into_bytes(), super::parquet::bytes(&answers)?, format!("{told:#}\n").into_bytes()];
        let files = places.put(&contents.each_ref().map(Vec::as_slice))?;
        Ok(Made { answers, files, digest: crate::digest(csv.as_bytes()) })
    }
}

/// What came of a release.
struct Made {
    answers: Answers,
    files: Vec<PathBuf>,
    /// The digest of the CSV.
    digest: String,
}

/// The one sentence for everything that can fail after a charge: it depends on no value and on no cause.
fn interrupted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after it was charged: nothing of it was published, and its charge stays in the ledger as interrupted; why is not told, because that may depend on the data (look at the files with 'scumble check', keep the query clear of values that do not fit, and release it under a new charge)"
    ))
}

/// The outputs are there, and the ledger does not know.
fn uncommitted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' was charged and published, but the ledger could not write down that it is complete: it stays interrupted there, at the same cost"
    ))
}

/// What is published without noise protects only while nothing else is known from the same ledger: nothing comes before it or after it.
fn stands_alone(request: &Request, before: &[&str]) -> Result<()> {
    let name = &request.name;
    if before.contains(&exact_count::NAME) {
        return Err(Error::Budget(format!(
            "release '{name}' was refused and nothing was charged: the ledger holds a count without noise, which protects somebody only while nothing else is published; take another ledger if this is about other people"
        )));
    }
    if request.kind == exact_count::NAME && !before.is_empty() {
        return Err(Error::Budget(format!(
            "release '{name}' was refused and nothing was charged: a count without noise protects somebody only if nothing else is published, and there are {} other releases in the ledger or in this run; give it a project and a ledger of its own",
            before.len()
        )));
    }
    Ok(())
}

/// A decimal text of a positive number.
fn decimal(number: f64) -> String {
    format!("{number:.9}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The file name that a release's outputs have, without extension: its name.
pub fn file_stem(name: &str) -> String {
    name.trim().to_string()
}

/// The files of a release.
fn file_names(name: &str) -> [String; 3] {
    ["csv", "parquet", "json"].map(|extension| format!("{}.{extension}", file_stem(name)))
}
