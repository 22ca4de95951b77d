//! From requests to published files, in the order that `docs/ledger-format.md` fixes.

use crate::budget::{Budget, Sums, rounded_down};
use crate::error::{Error, Result};
use crate::file::real;
use crate::guarded::{caught, guarded};
use crate::kinds::sql::PublishedColumn;
use crate::kinds::{registry, sql};
use crate::ledger::{
    self, About, Charge, Declaration, Declarations, Draws, Head, Ledger, Pass, Proposal, Receipt, Standing,
};
use crate::project::file_names;
use crate::project::{Cost, Goal, Project, Request};
use crate::release::Publication;
use crate::release::output::Answers;
use crate::release::plan::{Analysed, Charged, Plan};
use crate::release::price::needs;
use crate::release::run::asker::Asker;
use crate::release::run::kept::request_digest;
use crate::release::run::publish::Places;
use crate::release::run::published::release_document;
use crate::release::run::waiting::Work;
use crate::remote::{IntegerSource, OWN_HASH, RemoteSource, backend_of};
use crate::room::with_room;
use crate::sql::preflight;
use crate::tables::check;
use crate::tables::check::TableState;
use crate::tables::memory::Memory;
use crate::tables::{Backend, Watch};
use scumble::noise::BitSource;
use scumble::quantity::Exact;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A request that has been planned.
pub struct Planned {
    /// What was asked.
    pub request: Request,
    /// How it will be done.
    pub plan: Plan,
    /// What it would be at another cost.
    analysed: Analysed,
}

impl Planned {
    /// The columns that it will publish, where it is a query; none for other kinds.
    pub fn columns(&self) -> Result<Option<Vec<PublishedColumn>>> {
        let is_result = self.request.definition()?.publishes == Publication::QueryResult;
        let query = self.plan.query.as_ref().filter(|_| is_result);
        query.map(|query| sql::columns(query)).transpose()
    }
}

/// A release that has been published.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// What was published.
    pub answers: Answers,
    /// Its place in the ledger.
    pub sequence: u64,
    /// When it was charged (UTC).
    pub time: String,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// A mark for each table.
pub(super) type Marks = BTreeMap<String, String>;

/// Plans and runs the releases of one project.
pub struct Runner<'a> {
    project: &'a Project,
    ledger: PathBuf,
    asker: Option<Asker>,
    /// Whether nothing is charged: releases go on with charges of which nothing was seen.
    is_going_on: bool,
    watch: Arc<Watch>,
    /// What the machine has, for tests in which that is little.
    #[cfg(test)]
    pub(super) scarce: Option<tests::Machine>,
}

impl<'a> Runner<'a> {
    /// With the project's own ledger.
    pub fn new(project: &'a Project) -> Self {
        Self::with_ledger(project, project.ledger())
    }

    /// With another ledger.
    pub fn with_ledger(project: &'a Project, ledger: PathBuf) -> Self {
        Self {
            project,
            ledger,
            asker: None,
            is_going_on: false,
            watch: Arc::default(),
            #[cfg(test)]
            scarce: None,
        }
    }

    /// How far a release has come, to be asked on another thread while it runs.
    pub fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// The same for somebody who is named in the ledger, and may have limits of their own.
    pub fn asked_by(self, asker: Asker) -> Self {
        Self { asker: Some(asker), ..self }
    }

    /// The same, which charges nothing: its releases go on with charges of which nothing was seen, or are refused.
    pub fn going_on(self) -> Self {
        Self { is_going_on: true, ..self }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// Who asks, where that is known.
    pub(super) fn asker(&self) -> Option<&Asker> {
        self.asker.as_ref()
    }

    /// The project.
    pub(crate) fn project(&self) -> &Project {
        self.project
    }

    /// Plans a request; touches no data.
    pub fn plan(&self, request: &Request) -> Result<Planned> {
        let analyse = registry::find(&request.kind)?.analyse;
        // What is above an aggregate is put together, copied and run here, as deep as its sub-queries make it.
        let planned = with_room(|| {
            analyse(request, self.project).and_then(|analysed| {
                let mut plan = analysed.at(&request.cost)?.plan()?;
                plan.notes.extend(needs::note(plan.memory));
                Ok(Planned { request: request.clone(), plan, analysed })
            })
        });
        // Where no field is to blame, the release is.
        planned.map_err(|error| error.or_at(request.fields.place()))
    }

    /// What has been charged so far, all of it.
    pub fn charges(&self) -> Result<Vec<Charge>> {
        Ledger::open_existing(&self.ledger)?.map_or(Ok(Vec::new()), |ledger| ledger.charges())
    }

    /// The last charges, and what all of them add up to.
    pub fn recent(&self, number: usize) -> Result<(Vec<Charge>, Standing)> {
        let Some(ledger) = Ledger::open_existing(&self.ledger)? else { return Ok((Vec::new(), Standing::nothing())) };
        Ok((ledger.recent(number)?, ledger.standing(&self.project.sensitive_pairs()?)?.0))
    }

    /// Writes the project's first budget into a ledger that began without one, so that it is in force from now on: whether a release fits it, is kept or fails. A
    /// ledger that is not there yet has nothing to limit, and its first charge writes the budget.
    pub fn hold_budget(&self) -> Result<()> {
        match Ledger::open_existing(&self.ledger)? {
            Some(mut ledger) => ledger.first_budget(&self.project.budget).map(drop),
            None => Ok(()),
        }
    }

    /// Whether all of these may be released together, on top of what has been charged: the tables are what they were, nothing that
    /// must stand alone has company, and the budget holds. Charges nothing.
    pub fn admit<'p>(&self, releases: impl IntoIterator<Item = &'p Planned>) -> Result<()> {
        self.admitted(releases).map(drop)
    }

    /// The same; gives the ledger's standing before these releases.
    fn admitted<'p>(&self, releases: impl IntoIterator<Item = &'p Planned>) -> Result<Standing> {
        let ledger = Ledger::open_existing(&self.ledger)?;
        let before = match &ledger {
            Some(ledger) => ledger.standing(&[])?.0,
            None => Standing::nothing(),
        };
        let before = match (self.limited(), &ledger) {
            (Some(asker), Some(ledger)) => before.with_own(ledger.charged_to(&asker.by)?),
            (Some(_), None) => before.with_own(Sums::nothing()),
            (None, _) => before,
        };
        before.agrees(&self.project.budget.in_force(), &self.project.path.display().to_string())?;
        let mut standing = before.clone();
        let folder = ledger::folder(&self.ledger)?;
        let mut declared = standing.declared().clone();
        for planned in releases {
            let tables = self.declared(planned, &folder)?;
            if let Some(all) = ledger::joined(&declared, &tables, &folder)? {
                declared = all;
            }
            exclusivity::among_ledgers(self.project, planned, &tables, &self.ledger)?;
            // What was charged for it is there already.
            if self.waiting(planned)?.is_some() {
                continue;
            }
            self.fits(planned, &standing)?;
            standing.charge(&planned.request.kind, &planned.plan.events);
        }
        Ok(before)
    }

    /// Whoever asks, if they have limits of their own.
    fn limited(&self) -> Option<&Asker> {
        self.asker.as_ref().filter(|asker| asker.limits.is_some())
    }

    /// The declarations of the tables that a release reads.
    pub(super) fn declared(&self, planned: &Planned, folder: &Path) -> Result<Declarations> {
        let tables = planned.plan.tables.iter();
        tables.map(|name| Ok((name.clone(), Declaration::of(self.project.table(name)?, folder)))).collect()
    }

    /// One release on top of what has been charged: fine, or the sentence that says why not and what would fit.
    pub(super) fn fits(&self, planned: &Planned, before: &Standing) -> Result<()> {
        exclusivity::in_ledger(planned, before)?;
        if self.project.budget != Budget::default() {
            within(&self.project.budget, planned, before.sums()?)?;
        }
        match self.asker.as_ref().and_then(|asker| Some((&asker.by, asker.limits.as_ref()?))) {
            Some((by, limits)) => within(limits, planned, before.own()?).map_err(|error| of_own(by, error)),
            None => Ok(()),
        }
    }
    /// Runs all, one after the other.
    ///
    /// What can be wrong with budgets, places and the form of the sources is shown before the first charge, and depends on no value.
    /// A release that fails after its charge publishes nothing and stays charged, the sentence is always the same, and the releases
    /// after it are not begun.
    ///
    /// # Guarantee
    /// No row is read and no noise is drawn without the ledger's receipt; outputs are written only after noise was drawn. What is shown
    /// about a failure depends on the release's name alone.
    pub fn release(
        &self,
        releases: &[Planned],
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<Outcome>, Head)> {
        if let Some(planned) = releases.iter().find(|planned| planned.request.is_asked()) {
            return Err(Error::input(format!(
                "release '{name}' is interactive: it is asked one question after the other, with scumble ask '{name}' \"…\"",
                name = planned.request.name
            )));
        }
        self.hold_budget()?;
        let before = self.admitted(releases)?;
        let backend = with_room(|| self.preflight(releases))?;
        // Servers and clusters are asked for all releases before the first is charged, and again for each before its charge.
        releases.iter().try_for_each(|planned| self.served(planned, bits).map(drop))?;
        let marks = self.checked(releases, &before)?;
        self.refuse_own_files(out, releases)?;
        self.project.stop.here();
        // All places are tried before anything is charged, and held for one release at a time: a process may not have many open files.
        releases.iter().try_for_each(|planned| places(out, planned, &self.ledger).map(drop))?;
        let mut ledger = Ledger::open_or_create(&self.ledger)?;
        let run = releases.iter().map(|planned| {
            tell(&format!("releasing '{}'", planned.request.name));
            let served = self.served(planned, bits)?;
            let elsewhere = served.as_ref().map(|served| served as &dyn IntegerSource);
            let read = Read { marks: &marks, backend: &backend, elsewhere };
            self.publish(planned, &read, places(out, planned, &self.ledger)?, bits, &mut ledger)
        });
        let outcomes = run.collect::<Result<Vec<_>>>();
        // Its threads may still be at work on rows after a failure.
        guarded(|| {
            drop(backend);
            Ok(())
        });
        Ok((outcomes?, ledger.head()?))
    }

    /// Runs one release on integers that another engine has computed (`scumble integers`), from the files of a folder.
    ///
    /// # Guarantee
    /// As for [`Runner::release`], except that no row is read: what is wrong with the files is said before the charge, and their one-time number is charged at
    /// most once. That the integers are those of the job's statements is for whoever ran it to know.
    pub fn release_given(
        &self,
        planned: &Planned,
        folder: &Path,
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<Outcome>, Head)> {
        self.hold_budget()?;
        self.admitted([planned])?;
        needs::refuse_too_large(
            &planned.request,
            planned.plan.memory,
            &Memory::of(self.project),
            self.project.memory.is_some(),
        )?;
        let given = self.imported(planned, folder)?;
        self.refuse_own_files(out, std::slice::from_ref(planned))?;
        let places = places(out, planned, &self.ledger)?;
        let mut ledger = Ledger::open_or_create(&self.ledger)?;
        tell(&format!("releasing '{}'", planned.request.name));
        let read = Read { marks: &Marks::new(), backend: Backend::empty()?, elsewhere: Some(&given) };
        let outcome = self.publish(planned, &read, places, bits, &mut ledger)?;
        Ok((vec![outcome], ledger.head()?))
    }

    /// The place that computes a release's integers, logged in and ready; none where its tables are files that are read here.
    fn served(&self, planned: &Planned, bits: &mut dyn BitSource) -> Result<Option<RemoteSource<'a>>> {
        let Some(place) = backend_of(&planned.request, &planned.plan.tables, self.project)? else { return Ok(None) };
        let queries = job::queries(&planned.request, self.project)?;
        RemoteSource::new(&planned.request, &queries, place, self.project, bits).map(Some)
    }

    /// Outputs never take the place of the ledger, of the project file or of a table's file, nor become rows of a table that is a
    /// folder: a charge in a ledger that was written over is none.
    pub(super) fn refuse_own_files(&self, out: &Path, releases: &[Planned]) -> Result<()> {
        let ledger = real(&self.ledger);
        let beside = ["", "-wal", "-shm", "-journal", ".key", ".access"].map(|end| {
            let mut name = ledger.file_name().unwrap_or_default().to_os_string();
            name.push(end);
            ledger.with_file_name(name)
        });
        let sources: Vec<PathBuf> = self.project.tables.values().map(|table| real(&table.source)).collect();
        let files: Vec<&PathBuf> = beside.iter().chain(&sources).collect();
        let project = real(&self.project.path);
        let is_taken = |place: &Path| {
            let is_inside = sources.iter().any(|source| source.is_dir() && place.starts_with(source));
            is_inside || project == place || files.iter().any(|file| file.as_path() == place)
        };
        let reports = ["report.html", "report.json"].map(String::from);
        let names = releases.iter().flat_map(|planned| file_names(&planned.request.name)).chain(reports);
        match names.map(|name| real(&out.join(name))).find(|place| is_taken(place)) {
            Some(place) => Err(Error::input(format!(
                "{} is the ledger's, the project's or a table's own file or lies in a table's folder, and outputs do not take its place: give another folder with --out, or the release another name",
                place.display()
            ))),
            None => Ok(()),
        }
    }

    /// Opens what the releases read and looks whether its columns fit; no value is looked at.
    pub(super) fn preflight(&self, releases: &[Planned]) -> Result<Backend> {
        let mut backend = Backend::with_data(self.project, &self.files_of(releases))?;
        backend.watch = self.watch();
        #[cfg(test)]
        if let Some(machine) = &self.scarce {
            backend = machine.of(backend);
        }
        for planned in releases {
            needs::refuse_too_large(
                &planned.request,
                planned.plan.memory,
                &backend.memory,
                self.project.memory.is_some(),
            )?;
            if backend_of(&planned.request, &planned.plan.tables, self.project)?.is_some() {
                continue;
            }
            let fits = planned.plan.query.as_ref().map_or(Ok(()), |query| preflight(query, &backend));
            fits.map_err(|error| error.or_while(&self.reading(planned)))?;
        }
        Ok(backend)
    }

    /// Checks the files that the releases read, unless the ledger remembers that they have passed as they are; gives their marks.
    ///
    /// # Guarantee
    /// What this says about a table depends on its files and its declaration alone, and is the same for every release that reads it. Which
    /// tables are looked at is known from the releases' texts. So nothing can be asked by a query that fails here.
    pub(super) fn checked(&self, releases: &[Planned], before: &Standing) -> Result<Marks> {
        let states = check::state(self.project, &self.files_of(releases))?;
        let key = ledger::Key::existing(&self.ledger)?;
        let passed = |state: &TableState| {
            let mark = key.as_ref().map(|key| key.mark(&state.fingerprint));
            mark.is_some_and(|mark| before.mark(&state.table) == Some(&mark))
        };
        let unchecked: Vec<String> =
            states.iter().filter(|state| !passed(state)).map(|state| state.table.clone()).collect();
        check::check(self.project, &unchecked)?;
        let key = key.map_or_else(|| ledger::Key::of(&self.ledger), Ok)?;
        Ok(states.into_iter().map(|state| (state.table, key.mark(&state.fingerprint))).collect())
    }

    /// The tables that some release reads and that are files which are read here.
    pub(super) fn files_of(&self, releases: &[Planned]) -> Vec<String> {
        let tables: BTreeSet<&String> = releases.iter().flat_map(|planned| &planned.plan.tables).collect();
        let is_file =
            |name: &&String| self.project.tables.get(*name).is_none_or(|table| self.project.is_read_here(table));
        tables.into_iter().filter(is_file).cloned().collect()
    }

    /// What a release runs under.
    pub(super) fn about(&self, planned: &Planned, marks: &Marks) -> Result<About> {
        let tables = self.declared(planned, &ledger::folder(&self.ledger)?)?;
        let data = marks.iter().filter(|(table, _)| tables.contains_key(*table));
        Ok(About {
            data: data.map(|(table, mark)| (table.clone(), mark.clone())).collect(),
            tables,
            budget: self.project.budget.in_force(),
            sets: self.project.sensitive_pairs()?,
            asked: self.asker.as_ref().map(|asker| asker.asked(self.project, planned)).transpose()?,
            is_limited: self.limited().is_some(),
            draws: Draws::One,
        })
    }

    /// What is read for a release, in words.
    fn reading(&self, planned: &Planned) -> String {
        let sources = planned.plan.tables.iter().filter_map(|name| self.project.tables.get(name));
        let sources: Vec<String> = sources.map(|table| table.source.display().to_string()).collect();
        format!("release '{}' reads {}", planned.request.name, sources.join(", "))
    }

    fn publish(
        &self,
        planned: &Planned,
        read: &Read<'_>,
        places: Places,
        bits: &mut dyn BitSource,
        ledger: &mut Ledger,
    ) -> Result<Outcome> {
        let request = &planned.request;
        let mut rule = planned.plan.rule.clone();
        rule["hash"] = serde_json::json!(OWN_HASH);
        read.elsewhere.iter().for_each(|elsewhere| elsewhere.note(&mut rule));
        if !bits.is_secure() {
            rule["insecure"] = serde_json::json!("noise from a seed: nothing here is private");
        }
        let proposal = Proposal {
            release: request.name.clone(),
            kind: request.kind.clone(),
            project: Some(self.project.digest.clone()),
            request: Some(request_digest(self.project, planned)?),
            events: planned.plan.events.clone(),
            rule,
            about: self.about(planned, read.marks)?,
        };
        let is_own = bits.is_secure() && proposal.rule["job"].is_null();
        let waiting = if is_own { self.waiting(planned)? } else { None };
        // From the charge on, whatever ends this early leaves an interrupted one.
        self.project.stop.here();
        let (receipt, _at_work) = match waiting {
            Some(waiting) => (ledger.resumed(&waiting.at)?, waiting.work),
            None if self.is_going_on => return Err(overtaken(&request.name)),
            None => {
                let receipt = ledger.reserve(&proposal, |standing| {
                    read.elsewhere.map_or(Ok(()), |elsewhere| elsewhere.admit(standing))?;
                    self.fits(planned, standing)
                })?;
                let work = Work::on(&self.ledger, receipt.sequence());
                (receipt, work)
            }
        };
        let answers = guarded(|| {
            // Another ledger may have charged something since: whoever comes second sees the first, and both see both.
            exclusivity::among_ledgers(self.project, planned, &proposal.about.tables, &self.ledger)?;
            self.answers(planned, &receipt, read, bits)
        });
        self.watch.ends();
        let failed = if is_own { unseen } else { interrupted };
        let answers = answers.ok_or_else(|| failed(&request.name))?;
        let pass = ledger.drawn(receipt).map_err(|error| unnoted(&request.name, &error, is_own))?;
        let pass = pass.ok_or_else(|| overtaken(&request.name))?;
        // From here on nothing is made from anything but what may be published.
        let made = caught(|| {
            let (answers, document) = documented(planned, answers, &pass);
            // A charge in a ledger that is gone is none.
            ledger.in_place()?;
            let (files, output) = places.put_answers(&pass, &answers, &document)?;
            Ok((answers, files, output))
        });
        let made = made.ok_or_else(|| interrupted(&request.name))?;
        let (answers, files, output) = made.map_err(|error| unwritten(&request.name, &error))?;
        let (sequence, time) = (pass.sequence(), pass.time().to_string());
        ledger.commit(pass, output).map_err(|_| uncommitted(&request.name))?;
        Ok(Outcome { name: request.name.clone(), answers, sequence, time, files })
    }

    /// From rows to answers. Whatever goes wrong here may depend on the data.
    fn answers(
        &self,
        planned: &Planned,
        receipt: &Receipt,
        read: &Read<'_>,
        bits: &mut dyn BitSource,
    ) -> Result<Answers> {
        let mut charged = Charged::new(receipt, read.backend, bits).with(read.elsewhere);
        let mut answers = with_room(|| (planned.plan.compute)(&mut charged))?;
        planned.plan.estimates.iter().for_each(|estimates| estimates.say_in(&mut answers));
        Ok(answers)
    }
}

/// What a release reads.
struct Read<'a> {
    /// The marks of its tables' files, where it reads files.
    marks: &'a Marks,
    backend: &'a Backend,
    /// Where integers come from, if not from rows that we read.
    elsewhere: Option<&'a dyn IntegerSource>,
}

/// Within these limits on top of what was charged: fine, or the sentence that says why not and what would fit.
fn within(limits: &Budget, planned: &Planned, charged: &Sums) -> Result<()> {
    match limits.first_refusal(charged, &planned.plan.events)? {
        None => Ok(()),
        Some(refusal) => Err(refusal.error(&planned.request.name, &largest(limits, planned, charged)?)),
    }
}

/// A refusal by somebody's own limits says whose they are.
fn of_own(by: &str, error: Error) -> Error {
    match error {
        Error::Budget(sentence) => Error::Budget(format!("by the budget of {by}: {sentence}")),
        other => other,
    }
}

/// The largest cost of the same form that would fit these limits, in words.
fn largest(limits: &Budget, planned: &Planned, charged: &Sums) -> Result<String> {
    let asked = &planned.request.cost;
    let (word, most) = match &asked.target {
        Goal::Epsilon(epsilon) => ("epsilon", epsilon.to_f64()),
        Goal::Rho(rho) => ("rho", rho.to_f64()),
        Goal::Accuracy { .. } => return Ok("ask for less accuracy".to_string()),
    };
    let fits = |number: &str| -> Result<bool> {
        let exact: Exact = number.parse()?;
        if exact <= Exact::zero() {
            return Ok(false);
        }
        let target = if word == "rho" { Goal::Rho(exact) } else { Goal::Epsilon(exact) };
        let smaller = planned.analysed.at(&Cost { target, ..asked.clone() })?;
        Ok(limits.first_refusal(charged, smaller.events())?.is_none())
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

/// The JSON document of answers, with the head of the ledger that lets them be seen.
fn documented(planned: &Planned, mut answers: Answers, pass: &Pass) -> (Answers, serde_json::Value) {
    let known = std::mem::take(&mut answers.details.limits);
    let limits = if known.is_empty() { &planned.plan.limits } else { &known };
    let document = release_document(&planned.request, pass, &answers, limits, &planned.plan.counted);
    (answers, document)
}

/// What was drawn for a charge is seen once, and somebody else was first.
fn overtaken(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' was not published by this run: another process went on with its charge, and was first; nothing more was charged, and its files are the other's"
    ))
}

/// The one sentence for everything that can fail after a charge and before anything leaves the process: it depends on no value and on no cause.
pub(super) fn unseen(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after it was charged: nothing of it was published, and its charge stays in the ledger as interrupted; the same release goes on with that charge and pays nothing more, unless its files change; why is not said, because that may depend on the data (look at the files with 'scumble check', and keep the query clear of values that do not fit)"
    ))
}

/// The one sentence for everything that can fail after that.
pub(super) fn interrupted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after it was charged: nothing of it was published, and its charge stays in the ledger as interrupted; why is not said, because that may depend on the data (look at the files with 'scumble check', keep the query clear of values that do not fit, and release it under a new charge)"
    ))
}

/// Nothing was seen yet, and the ledger cannot write down that it is about to be.
fn unnoted(name: &str, error: &Error, is_own: bool) -> Error {
    let next = match is_own {
        true => "the same release goes on with that charge and pays nothing more, unless its files change",
        false => "release it under a new charge",
    };
    Error::machine(format!(
        "release '{name}' failed after it was charged: {error}; nothing of it was published, and its charge stays in the ledger as interrupted; {next}"
    ))
}

/// The outputs could not be written: that depends on what may be published alone, so that it can be said.
fn unwritten(name: &str, error: &Error) -> Error {
    Error::machine(format!(
        "release '{name}' failed after its noise was drawn: {error}; nothing of it was published, and its charge stays in the ledger as interrupted: mend that, and release it under a new charge"
    ))
}

/// The outputs are there, and the ledger does not know.
pub(super) fn uncommitted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' was charged and published, but the ledger could not write down that it is complete: it stays interrupted there, at the same cost"
    ))
}

/// A decimal text of a positive number.
fn decimal(number: f64) -> String {
    format!("{number:.9}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The places of a release's files.
pub(super) fn places(out: &Path, planned: &Planned, ledger: &Path) -> Result<Places> {
    let name = &planned.request.name;
    let places = Places::claim(out, &file_names(name))?;
    // The rounds of an interactive release stand in one file, all of them.
    if planned.request.is_asked() {
        return Ok(places);
    }
    let before = Ledger::open_existing(ledger)?.map_or(Ok(None), |ledger| ledger.last_committed(name))?;
    places.keeping_earlier(before.as_ref().map(|(charge, _)| charge))
}

pub(crate) mod ask;
pub(crate) mod asker;
pub(crate) mod exclusivity;
pub(crate) mod external_charge;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod publish;
pub(crate) mod published;
pub(crate) mod request;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod waiting;
