//! From requests to published files, in the order that `docs/ledger-format.md` fixes.

use super::{Answers, Draw, Limit, Plan, exact_count, kinds};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::budget::rounded_down;
use crate::error::{Error, Result};
use crate::ledger::{Charge, Head, Ledger, Proposal};
use crate::project::{COMMAND_LINE, Cost, Project, Request, Target};
use scumble::event::Event;
use scumble::noise::BitSource;
use scumble::quantity::Exact;
use std::fs;
use std::io::Write;
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

    /// Runs all: everything that can go wrong with budget or data goes wrong before the first charge.
    ///
    /// # Guarantee
    /// Noise is drawn from `bits` only with the ledger's receipt; outputs are written only after noise was drawn.
    pub fn release(
        &self,
        releases: &[Planned],
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<Outcome>, Head)> {
        self.admit(releases)?;
        let mut tables: Vec<String> = releases.iter().flat_map(|planned| planned.plan.tables()).collect();
        tables.sort();
        tables.dedup();
        let backend = Backend::with_data(self.project, &tables)?;
        let mut draws: Vec<Draw> = Vec::new();
        for planned in releases {
            tell(&format!("computing '{}'", planned.request.name));
            let draw = planned.plan.compute(self.project, &backend);
            draws.push(draw.map_err(|error| error.or_while(&self.reading(planned)))?);
        }
        fs::create_dir_all(out)
            .map_err(|error| Error::machine(format!("the folder {} cannot be made ({error})", out.display())))?;
        let mut ledger = Ledger::open_or_create(&self.ledger)?;
        let mut outcomes = Vec::new();
        for (planned, draw) in releases.iter().zip(draws) {
            tell(&format!("releasing '{}'", planned.request.name));
            outcomes.push(self.publish(planned, draw, out, bits, &mut ledger)?);
        }
        let head = ledger.verify()?;
        Ok((outcomes, head))
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
        draw: Draw,
        out: &Path,
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
        let mut answers = draw(&receipt, bits)?;
        let csv = answers.csv();
        let stem = file_stem(&request.name);
        let json = serde_json::json!({ "release": request.name, "kind": request.kind, "sequence": sequence, "answers": answers.json() });
        let mut files = vec![written(out, &format!("{stem}.csv"), csv.as_bytes())?];
        files.push(written(out, &format!("{stem}.parquet"), &super::parquet::bytes(&answers)?)?);
        files.push(written(out, &format!("{stem}.json"), format!("{json:#}\n").as_bytes())?);
        ledger.commit(receipt, &crate::digest(csv.as_bytes()))?;
        let (name, kind) = (request.name.clone(), request.kind.clone());
        if !answers.details.limits.is_empty() {
            limits = std::mem::take(&mut answers.details.limits);
        }
        Ok(Outcome { name, kind, answers, limits, counted, sequence, files })
    }
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

/// Writes a file whole or not at all: a temporary one beside it, synced, then renamed.
pub(crate) fn written(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = folder.join(name);
    let temporary = folder.join(format!(".{name}.tmp-{}", std::process::id()));
    let attempt = || -> std::io::Result<()> {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    attempt().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::machine(format!("{} cannot be written ({error})", path.display()))
    })?;
    Ok(path)
}
