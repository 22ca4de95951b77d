//! From requests to published files, in the order that `docs/engineers/ledger-format.md` fixes.

use crate::budget::{Budget, Sums, rounded_down};
use crate::error::{Error, ErrorKind, Result};
use crate::file::real;
use crate::guarded::guarded;
use crate::kinds::sql::PublishedColumn;
use crate::kinds::{registry, sql};
use crate::ledger::{self, Charge, Declarations, DrawMode, Head, Ledger, LedgerState, ReleaseContext, RemarkContent};
use crate::project::{Cost, Goal, Project, Request};
use crate::project::{file_names, picture_names};
use crate::release::Publication;
use crate::release::output::{Answers, ColumnKind};
use crate::release::plan::{AnalysedRequest, Plan};
use crate::release::price::needs;
use crate::release::run::asker::Asker;
use crate::release::run::charge::ReleaseSources;
use crate::release::run::open_ledger::OpenLedger;
use crate::release::run::publish::Places;
use crate::remote::{IntegerSource, RemoteSource, backend_of};
use crate::room::with_room;
use crate::sql::preflight;
use crate::tables::check;
use crate::tables::check::TableState;
use crate::tables::memory::Memory;
use crate::tables::{Backend, Watch};
use scumble::noise::BitSource;
use scumble::quantity::Exact;
use std::cell::Ref;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A request that has been planned.
pub struct PlannedRelease {
    /// What was asked.
    pub request: Request,
    /// How it will be done.
    pub plan: Plan,
    /// What it would be at another cost.
    analysed: AnalysedRequest,
}

impl PlannedRelease {
    /// The columns that it will publish, where it is a query; none for other kinds.
    pub fn columns(&self) -> Result<Option<Vec<PublishedColumn>>> {
        let is_result = self.request.definition()?.publishes == Publication::QueryResult;
        let query = self.plan.query.as_ref().filter(|_| is_result);
        query.map(|query| sql::columns(query)).transpose()
    }
}

/// A release that has been published.
#[derive(Debug)]
pub struct ReleaseOutcome {
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
    ledger: OpenLedger,
    asker: Option<Asker>,
    /// Whether nothing is charged: releases resume charges whose draws were never seen.
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
            ledger: OpenLedger::at(ledger),
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

    /// The same, which charges nothing: its releases go on with charges whose draws nobody has seen, or are refused.
    pub fn going_on(self) -> Self {
        Self { is_going_on: true, ..self }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> &Path {
        self.ledger.path()
    }

    /// The ledger as it is now, if there is one. Nothing is made.
    pub fn existing_ledger(&self) -> Result<Option<Ref<'_, Ledger>>> {
        self.ledger.existing()
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
    pub fn plan(&self, request: &Request) -> Result<PlannedRelease> {
        let request = &self.project.with_scope(request.clone());
        let analyse = registry::find(&request.kind)?.analyse;
        // What is above an aggregate is put together, copied and run here, as deep as its sub-queries make it.
        let planned = with_room(|| {
            analyse(request, self.project).and_then(|analysed| {
                let mut plan = analysed.at(&request.cost)?.plan()?;
                plan.notes.extend(needs::note(plan.memory));
                Ok(PlannedRelease { request: request.clone(), plan, analysed })
            })
        });
        // Where no field is to blame, the release is.
        planned.map_err(|error| error.or_at(request.fields.place()))
    }

    /// What has been charged so far, all of it.
    pub fn charges(&self) -> Result<Vec<Charge>> {
        Ok(self.existing_ledger()?.map_or(Ok(Vec::new()), |ledger| ledger.charges())?)
    }

    /// The last charges, and what all of them add up to.
    pub fn recent(&self, number: usize) -> Result<(Vec<Charge>, LedgerState)> {
        let Some(ledger) = self.existing_ledger()? else { return Ok((Vec::new(), LedgerState::nothing())) };
        Ok((ledger.recent(number)?, ledger.standing(&self.project.sensitive_pairs()?)?.0))
    }

    /// Writes the project's first budget into a ledger that began without one, so that it is in force from now on:
    /// whether a release fits it, is kept or fails. A ledger that is not there yet has nothing to limit, and its first
    /// charge writes the budget.
    pub fn hold_budget(&self) -> Result<()> {
        match self.ledger.existing_to_write()? {
            Some(mut ledger) => Ok(ledger.first_budget(&self.project.budget).map(drop)?),
            None => Ok(()),
        }
    }

    /// Writes down that somebody asked, where it cost nothing; the ledger is made if there is none.
    pub fn remark(&self, remarked: &RemarkContent) -> Result<Head> {
        Ok(self.ledger.created()?.remark(remarked)?)
    }

    /// Whether all of these may be released together, on top of what has been charged: the tables are what they were,
    /// nothing that must stand alone has company, and the budget holds. Charges nothing.
    pub fn admit<'p>(&self, releases: impl IntoIterator<Item = &'p PlannedRelease>) -> Result<()> {
        self.admitted(releases).map(drop)
    }

    /// The same; gives the ledger's standing before these releases.
    fn admitted<'p>(&self, releases: impl IntoIterator<Item = &'p PlannedRelease>) -> Result<LedgerState> {
        let ledger = self.existing_ledger()?;
        let before = match &ledger {
            Some(ledger) => ledger.standing(&[])?.0,
            None => LedgerState::nothing(),
        };
        let before = match (self.limited(), &ledger) {
            (Some(asker), Some(ledger)) => before.with_own(ledger.charged_to(&asker.by)?),
            (Some(_), None) => before.with_own(Sums::nothing()),
            (None, _) => before,
        };
        before.agrees(&self.project.budget.in_force(), &self.project.path.display().to_string())?;
        let mut standing = before.clone();
        let folder = ledger::folder(self.ledger())?;
        let mut declared = standing.declared().clone();
        for planned in releases {
            let tables = self.declared(planned, &folder)?;
            if let Some(all) = ledger::joined(&declared, &tables, &folder)? {
                declared = all;
            }
            exclusivity::among_ledgers(self.project, planned, &tables, self.ledger())?;
            exclusivity::in_its_own_ledger(self.project, &tables, self.ledger())?;
            // What was charged for it is there already.
            if let Some(ledger) = &ledger
                && self.waiting(planned, ledger)?.is_some()
            {
                continue;
            }
            self.fits(planned, &standing)?;
            standing.charge(&planned.request.kind, &planned.plan.events);
        }
        Ok(before)
    }

    /// The analyst, if they have limits of their own.
    fn limited(&self) -> Option<&Asker> {
        self.asker.as_ref().filter(|asker| asker.limits.is_some())
    }

    /// The declarations of the tables that a release reads.
    pub(super) fn declared(&self, planned: &PlannedRelease, folder: &Path) -> Result<Declarations> {
        let tables = planned.plan.tables.iter();
        tables.map(|name| Ok((name.clone(), self.project.table(name)?.declaration(folder)))).collect()
    }

    /// One release on top of what has been charged: fine, or the sentence that says why not and what would fit.
    pub(super) fn fits(&self, planned: &PlannedRelease, before: &LedgerState) -> Result<()> {
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
    /// What can be wrong with budgets, places and the form of the sources is shown before the first charge, and depends
    /// on no value. A release that fails after its charge publishes nothing and stays charged, the sentence is always
    /// the same, and the releases after it are not begun.
    ///
    /// # Guarantee
    /// No row is read and no noise is drawn without the ledger's receipt; outputs are written only after noise was
    /// drawn. What is shown about a failure depends on the release's name alone.
    pub fn release(
        &self,
        releases: &[PlannedRelease],
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<ReleaseOutcome>, Head)> {
        if let Some(planned) = releases.iter().find(|planned| planned.request.is_asked()) {
            return Err(Error::input(format!(
                "release '{name}' is interactive: ask it questions with scumble ask '{name}' \"…\"",
                name = planned.request.name
            )));
        }
        self.hold_budget()?;
        let before = self.admitted(releases)?;
        let backend = with_room(|| self.preflight(releases))?;
        // Servers and clusters are asked for all releases before the first is charged, and again for each before its
        // charge.
        releases.iter().try_for_each(|planned| self.served(planned, bits).map(drop))?;
        let marks = self.checked(releases, &before)?;
        self.refuse_own_files(out, releases)?;
        self.project.stop.here();
        // All places are tried before anything is charged, and held for one release at a time: a process may not have
        // many open files.
        let open = self.existing_ledger()?;
        releases.iter().try_for_each(|planned| places(out, planned, open.as_deref()).map(drop))?;
        drop(open);
        let mut ledger = self.ledger.created()?;
        let run = releases.iter().map(|planned| {
            tell(&format!("releasing '{}'", planned.request.name));
            let served = self.served(planned, bits)?;
            let elsewhere = served.as_ref().map(|served| served as &dyn IntegerSource);
            let sources = ReleaseSources { marks: &marks, backend: &backend, elsewhere };
            let places = places(out, planned, Some(&ledger))?;
            self.publish(planned, &sources, places, bits, &mut ledger)
        });
        let outcomes = run.collect::<Result<Vec<_>>>();
        // Its threads may still be at work on rows after a failure.
        guarded(|| {
            drop(backend);
            Ok(())
        });
        Ok((outcomes?, ledger.head()?))
    }

    /// Runs one release on integers that another engine has computed (`scumble setup integers`), from files of a
    /// folder.
    ///
    /// # Guarantee
    /// As for [`Runner::release`], except that no row is read: errors of the files are reported before the charge,
    /// and their one-time number is charged at most once. That the integers are those of the job's statements is the
    /// responsibility of the operator of the job.
    pub fn release_given(
        &self,
        planned: &PlannedRelease,
        folder: &Path,
        out: &Path,
        bits: &mut dyn BitSource,
        mut tell: impl FnMut(&str),
    ) -> Result<(Vec<ReleaseOutcome>, Head)> {
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
        let places = places(out, planned, self.existing_ledger()?.as_deref())?;
        let mut ledger = self.ledger.created()?;
        tell(&format!("releasing '{}'", planned.request.name));
        let sources = ReleaseSources { marks: &Marks::new(), backend: Backend::empty()?, elsewhere: Some(&given) };
        let outcome = self.publish(planned, &sources, places, bits, &mut ledger)?;
        Ok((vec![outcome], ledger.head()?))
    }

    /// The place that computes a release's integers, logged in and ready; none where its tables are files that are read
    /// here.
    fn served(&self, planned: &PlannedRelease, bits: &mut dyn BitSource) -> Result<Option<RemoteSource<'a>>> {
        let Some(place) = backend_of(&planned.request, &planned.plan.tables, self.project)? else { return Ok(None) };
        let queries = job::queries(&planned.request, self.project)?;
        RemoteSource::new(&planned.request, &queries, place, self.project, bits).map(Some)
    }

    /// Outputs never take the place of the ledger, of the project file or of a table's file, nor become rows of a table
    /// that is a folder: a charge in a ledger that was written over is none.
    pub(super) fn refuse_own_files(&self, out: &Path, releases: &[PlannedRelease]) -> Result<()> {
        let ledger = real(self.ledger());
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
        let of_release = |planned: &PlannedRelease| {
            let name = &planned.request.name;
            file_names(name).into_iter().chain(picture_names(name))
        };
        let names = releases.iter().flat_map(of_release).chain(reports);
        match names.map(|name| real(&out.join(name))).find(|place| is_taken(place)) {
            Some(place) => Err(Error::input(format!(
                "{} belongs to the ledger, the project or a table, and outputs do not replace it: give another folder \
                    with --out, or the release another name",
                place.display()
            ))),
            None => Ok(()),
        }
    }

    /// Opens what the releases read and looks whether its columns fit; no value is looked at.
    pub(super) fn preflight(&self, releases: &[PlannedRelease]) -> Result<Backend> {
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

    /// Checks the files that the releases read, unless the ledger remembers that they have passed as they are; gives
    /// their marks.
    ///
    /// # Guarantee
    /// What this says about a table depends on its files and its declaration alone, and is the same for every release
    /// that reads it. Which tables are looked at is known from the releases' texts. So nothing can be asked by a query
    /// that fails here.
    pub(super) fn checked(&self, releases: &[PlannedRelease], before: &LedgerState) -> Result<Marks> {
        let states = check::state(self.project, &self.files_of(releases))?;
        let key = ledger::MarkKey::existing(self.ledger())?;
        let passed = |state: &TableState| {
            let mark = key.as_ref().map(|key| key.mark(&state.fingerprint));
            mark.is_some_and(|mark| before.mark(&state.table) == Some(&mark))
        };
        let unchecked: Vec<String> =
            states.iter().filter(|state| !passed(state)).map(|state| state.table.clone()).collect();
        check::check(self.project, &unchecked)?;
        let key = key.map_or_else(|| ledger::MarkKey::of(self.ledger()), Ok)?;
        Ok(states.into_iter().map(|state| (state.table, key.mark(&state.fingerprint))).collect())
    }

    /// The tables that some release reads and that are files which are read here.
    pub(super) fn files_of(&self, releases: &[PlannedRelease]) -> Vec<String> {
        let tables: BTreeSet<&String> = releases.iter().flat_map(|planned| &planned.plan.tables).collect();
        let is_file =
            |name: &&String| self.project.tables.get(*name).is_none_or(|table| self.project.is_read_here(table));
        tables.into_iter().filter(is_file).cloned().collect()
    }

    /// What a release runs under.
    pub(super) fn about(&self, planned: &PlannedRelease, marks: &Marks) -> Result<ReleaseContext> {
        let tables = self.declared(planned, &ledger::folder(self.ledger())?)?;
        let data = marks.iter().filter(|(table, _)| tables.contains_key(*table));
        Ok(ReleaseContext {
            data: data.map(|(table, mark)| (table.clone(), mark.clone())).collect(),
            tables,
            budget: self.project.budget.in_force(),
            sets: self.project.sensitive_pairs()?,
            asked: self.asker.as_ref().map(|asker| asker.asked(self.project, planned)).transpose()?,
            is_limited: self.limited().is_some(),
            draws: DrawMode::One,
        })
    }

    /// What is known of the columns that a release publishes: of a query all, of other kinds what is declared of
    /// columns of the same names.
    fn column_kinds(&self, planned: &PlannedRelease) -> Result<Vec<(String, ColumnKind)>> {
        if let Some(columns) = planned.columns()? {
            return Ok(columns.into_iter().map(|column| (column.name, column.kind)).collect());
        }
        let tables = planned.plan.tables.iter().filter_map(|name| self.project.tables.get(name));
        let columns = tables.flat_map(|table| &table.columns);
        Ok(columns.map(|column| (column.name.clone(), ColumnKind::declared(&column.domain))).collect())
    }

    /// What is read for a release, in words.
    fn reading(&self, planned: &PlannedRelease) -> String {
        let sources = planned.plan.tables.iter().filter_map(|name| self.project.tables.get(name));
        let sources: Vec<String> = sources.map(|table| table.source.display().to_string()).collect();
        format!("release '{}' reads {}", planned.request.name, sources.join(", "))
    }
}

/// Within these limits on top of what was charged: fine, or the sentence that says why not and what would fit.
fn within(limits: &Budget, planned: &PlannedRelease, charged: &Sums) -> Result<()> {
    match limits.first_refusal(charged, &planned.plan.events)? {
        None => Ok(()),
        Some(refusal) => Err(refusal.error(&planned.request.name, &largest(limits, planned, charged)?).into()),
    }
}

/// A refusal by somebody's own limits says whose they are.
fn of_own(by: &str, error: Error) -> Error {
    if error.kind() != ErrorKind::Budget {
        return error;
    }
    Error::budget(format!("by the budget of {by}: {}", error.sentence()))
}

/// The largest cost of the same form that would fit these limits, in words.
fn largest(limits: &Budget, planned: &PlannedRelease, charged: &Sums) -> Result<String> {
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

/// A decimal text of a positive number.
fn decimal(number: f64) -> String {
    format!("{number:.9}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The places of a release's files. `ledger` is where what they replace was charged.
fn places(out: &Path, planned: &PlannedRelease, ledger: Option<&Ledger>) -> Result<Places> {
    let name = &planned.request.name;
    let places = Places::claim(out, &file_names(name))?;
    let before = ledger.map_or(Ok(None), |ledger| ledger.last_committed(name))?;
    places.keeping_earlier(before.as_ref().map(|(charge, _)| charge))
}

pub(crate) mod ask;
pub(crate) mod asker;
mod charge;
pub(crate) mod exclusivity;
pub(crate) mod external_charge;
pub(crate) mod job;
pub(crate) mod kept;
mod metadata;
mod open_ledger;
pub(crate) mod publish;
pub(crate) mod published;
pub(crate) mod request;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod waiting;
