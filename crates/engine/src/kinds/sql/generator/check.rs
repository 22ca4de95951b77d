//! One case: everything that must hold of one query on one table and its neighbours.

use super::compare;
use super::moves::too_far;
use super::neighbours::Neighbour;
use super::query::RandomQuery;
use super::windows;
use super::world::{World, WorldRows};
use crate::kinds::sql::answer::{DrawnNoise, NoisyGrouping, answers, answers_of_parts, noised};
use crate::kinds::sql::bounding::{BoundingTally, Number};
use crate::kinds::sql::sets::in_whole;
use crate::kinds::sql::{PricedQuery, QueryMechanism, SqlRequest, asked};
use crate::project::{Bounding, Project, Request};
use crate::release::output::Answers;
use crate::sql::analyse::sensitivity::of_owners;
use crate::sql::execute::integers::{Integers, integers, integers_beside};
use crate::sql::text::statements;
use crate::sql::{PrivateQuery, SqlQuery, analyse_several, preflight};
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use crate::tables::hash::Key;
use crate::tables::ranks::Ranks;
use datafusion::common::DataFusionError;
use datafusion::prelude::SessionContext;
use scumble::noise::InsecureSeededSource;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A world, its rows, a query, and what to look at.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub world: World,
    pub rows: WorldRows,
    pub query: RandomQuery,
    pub neighbours: Vec<Neighbour>,
    pub key: (u64, u64),
    /// Whether the window form is run too.
    pub windows: bool,
    /// Whether the answer is drawn and finished too.
    pub answered: bool,
}

impl Case {
    /// The secret of ranks that other engines make too.
    pub fn secret(&self) -> String {
        format!("{:016x}{:016x}", self.key.0, self.key.1)
    }
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CaseOutcome {
    /// The query is not answered, for this reason.
    Refused(String),
    /// Everything holds.
    Held {
        compared: bool,
    },
    Failed(Failure),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub class: FailureClass,
    pub how: String,
}

impl Failure {
    pub fn new(class: FailureClass, how: impl Into<String>) -> Self {
        Self { class, how: how.into() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FailureClass {
    /// Something panics.
    Panic,
    /// A query fails on some data.
    NotTotal,
    /// A key is published twice, outside its domain, or in another type.
    Keys,
    /// One pass and the window form give different integers.
    Windows,
    /// SQLite gives other integers.
    Oracle,
    /// A neighbour moves more than is claimed.
    Moves,
    /// What stands above the aggregate fails on noisy numbers.
    Above,
}

/// The contribution bounds under which nothing is left out.
const LOOSE: Bounding = Bounding { rows: Some(100_000), groups: Some(100_000), rows_per_group: Some(100_000) };

/// Checks a case, panics included.
pub(crate) fn check(case: &Case, context: &SessionContext) -> CaseOutcome {
    match catch_unwind(AssertUnwindSafe(|| checked(case, context))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failure)) => CaseOutcome::Failed(failure),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            CaseOutcome::Failed(Failure::new(FailureClass::Panic, text.unwrap_or("no message")))
        }
    }
}

fn checked(case: &Case, context: &SessionContext) -> Result<CaseOutcome, Failure> {
    let project = case.world.project().expect("the project file is right");
    let backend = Backend::without_data(&project).expect("a session");
    let mut trial = CaseTrial { case, sql: case.query.text(&case.world), project, backend };
    let cuts = match trial.branches(Bounding::default()) {
        Ok(cuts) => cuts,
        Err(error) => return Ok(CaseOutcome::Refused(error.to_string())),
    };
    trial.give(&case.rows);
    if let Err(error) = cuts.iter().try_for_each(|cut| preflight(cut, &trial.backend)) {
        return Ok(CaseOutcome::Refused(error.to_string()));
    }
    let mut bases = Vec::new();
    for cut in cuts.iter().flat_map(groupings) {
        bases.push(trial.grouping(cut, context)?);
    }
    if case.answered {
        trial.answered(&bases)?;
    }
    Ok(CaseOutcome::Held { compared: trial.same_in_sqlite()? })
}

/// The groupings of a query; each is run.
fn groupings(cut: &PrivateQuery) -> Vec<&PrivateQuery> {
    if cut.sets.is_empty() { vec![cut] } else { cut.sets.iter().map(|set| &set.cut).collect() }
}

struct CaseTrial<'a> {
    case: &'a Case,
    sql: String,
    project: Project,
    backend: Backend,
}

impl CaseTrial<'_> {
    /// The query under these bounds, or each branch of a UNION ALL.
    fn branches(&self, bounding: Bounding) -> crate::Result<Vec<PrivateQuery>> {
        Ok(match analyse_several(&self.sql, bounding, &self.project, &self.backend)? {
            SqlQuery::One(cut) => vec![cut],
            SqlQuery::Several(union) => union.branches.into_iter().map(|(cut, _)| cut).collect(),
        })
    }

    /// All that must hold of one grouping; gives its integers.
    fn grouping(&mut self, cut: &PrivateQuery, context: &SessionContext) -> Result<Integers, Failure> {
        let case = self.case;
        let base = self.run(cut, &case.rows)?;
        // Some is not written as text.
        let untold = matches!(statements(cut, &self.project), Err(DataFusionError::NotImplemented(_)));
        if case.windows && !untold {
            self.same_by_windows(cut, context)?;
        }
        for neighbour in &case.neighbours {
            let other = self.run(cut, &neighbour.rows)?;
            too_far(cut, &neighbour.scope, &base, &other).map_err(|how| Failure::new(FailureClass::Moves, how))?;
        }
        if let Some(bounds) = cut.query.bounds.filter(|_| case.answered && cut.per_owner.is_none()) {
            self.reported(cut, bounds, &base)?;
        }
        self.give(&case.rows);
        Ok(base)
    }

    fn key(&self) -> Key {
        Key(self.case.key.0, self.case.key.1)
    }

    /// Puts rows into the tables.
    fn give(&mut self, rows: &WorldRows) {
        let used = self.case.query.from.tables();
        let world = &self.case.world;
        for table in used.iter().copied() {
            let batch = world.batch(table, &rows[table], world.has_number_owners(&used));
            self.backend.give(&self.project, &world.tables[table].name, batch).expect("rows as declared");
        }
    }

    /// The integers of one pass; their keys are looked at.
    fn run(&mut self, cut: &PrivateQuery, rows: &WorldRows) -> Result<Integers, Failure> {
        self.give(rows);
        let found = integers(cut, &self.backend, self.key());
        let found = found.map_err(|error| Failure::new(FailureClass::NotTotal, error.to_string()))?;
        let mut seen = HashSet::new();
        for (key, cell) in found.keys.iter().zip(&found.cells) {
            let fits = key.len() == cut.query.keys.len()
                && key.iter().zip(&cut.query.keys).all(|(value, key)| {
                    value.data_type() == key.kind
                        && !value.is_null()
                        && key.domain.as_ref().is_none_or(|domain| domain.contains(value))
                });
            if !fits || !seen.insert(key) || cell.sums.len() != cut.query.measures.len() {
                return Err(Failure::new(FailureClass::Keys, format!("the key {key:?}")));
            }
        }
        Ok(found)
    }

    /// One pass with the ranks that other engines make too, and the text that they are given.
    fn same_by_windows(&self, cut: &PrivateQuery, context: &SessionContext) -> Result<(), Failure> {
        let base = integers(cut, &self.backend, Ranks::sha(&self.case.secret()));
        let base = base.map_err(|error| Failure::new(FailureClass::NotTotal, error.to_string()))?;
        let found = windows::cells(cut, &self.project, &self.backend, context, self.case);
        let found = found.map_err(|how| Failure::new(FailureClass::Windows, how))?;
        let ours = windows::filled(&base);
        if found == ours {
            return Ok(());
        }
        Err(Failure::new(FailureClass::Windows, format!("one pass {ours:?}, window form {found:?}")))
    }

    /// Whether SQLite could be asked; a failure where it says something else.
    fn same_in_sqlite(&mut self) -> Result<bool, Failure> {
        let Ok(cuts) = self.branches(LOOSE) else { return Ok(false) };
        let (mut compared, queries) = (true, self.case.query.branches());
        for (cut, query) in cuts.iter().zip(&queries) {
            compared &= self.branch_in_sqlite(cut, query)?;
        }
        Ok(compared && cuts.len() == queries.len())
    }

    fn branch_in_sqlite(&mut self, cut: &PrivateQuery, query: &RandomQuery) -> Result<bool, Failure> {
        if cut.sets.is_empty() {
            return self.same_as(cut, query);
        }
        // Where two keys are written differently and are the same, nothing says which is which.
        let all = cut.sets.iter().flat_map(|set| set.places()).max().map_or(0, |last| last + 1);
        let mut compared = all == query.keys.len();
        for set in cut.sets.iter().filter(|_| all == query.keys.len()) {
            compared &= self.same_as(&set.cut, &query.only(set.places()))?;
        }
        Ok(compared)
    }

    fn same_as(&mut self, cut: &PrivateQuery, query: &RandomQuery) -> Result<bool, Failure> {
        let expected = super::oracle::groups(&self.case.world, &self.case.rows, query);
        let Some(expected) = expected else { return Ok(false) };
        let found = self.run(cut, &self.case.rows)?;
        compare::same(query, cut, &found, expected).map_err(|how| Failure::new(FailureClass::Oracle, how))
    }

    /// What a bounding report counts of the whole table: beside the same integers, and no further moved by a neighbour
    /// than is claimed.
    fn reported(&mut self, cut: &PrivateQuery, bounds: Bounds, base: &Integers) -> Result<(), Failure> {
        let twice = |bound: u64| bound.saturating_mul(2);
        let [groups, rows_per_group, rows] = [bounds.groups, bounds.rows_per_group, bounds.rows].map(twice);
        let wide = Bounds { groups, rows_per_group, rows };
        let case = self.case;
        let (own, here) = self.tally(cut, &case.rows, bounds, wide)?;
        if own != *base {
            return Err(Failure::new(FailureClass::Moves, "with a bounding report other rows count"));
        }
        for neighbour in &case.neighbours {
            let (_, there) = self.tally(cut, &neighbour.rows, bounds, wide)?;
            for number in Number::ALL {
                let moved = (here.number(number) - there.number(number)).unsigned_abs() as f64;
                let claimed = of_owners(number.most(bounds, wide), &cut.query);
                let claimed = claimed.map_err(|error| Failure::new(FailureClass::Moves, error.to_string()))?;
                let shifts = claimed.shifts(&neighbour.scope);
                let most = shifts.iter().map(|shift| shift.cells as f64 * shift.by.get()).fold(0.0, f64::max);
                if moved > most {
                    let how = format!("{:?} moves {number:?} by {moved}, claimed are {most}", neighbour.scope);
                    return Err(Failure::new(FailureClass::Moves, how));
                }
            }
        }
        Ok(())
    }

    fn tally(
        &mut self,
        cut: &PrivateQuery,
        rows: &WorldRows,
        bounds: Bounds,
        wide: Bounds,
    ) -> Result<(Integers, BoundingTally), Failure> {
        self.give(rows);
        let mut tally = BoundingTally::default();
        let found = integers_beside(cut, &self.backend, self.key(), wide, |owner| tally.add(owner, bounds, wide));
        let (own, _) = found.map_err(|error| Failure::new(FailureClass::NotTotal, error.to_string()))?;
        Ok((own, tally))
    }

    /// Draws noise and runs what stands above the aggregate.
    fn answered(&self, bases: &[Integers]) -> Result<(), Failure> {
        let request =
            Request::sql("adversarial", &self.sql, &"epsilon=1,delta=1e-6".parse().expect("a cost")).expect("a cost");
        // A plan that cannot be made is refused before anything is charged.
        let priced = asked(&self.sql, &request, &self.project, |error| error).and_then(|question| {
            question.plan(question.at(&request.cost)?)?;
            Ok((question.at(&request.cost)?, question))
        });
        let Ok((priced, question)) = priced else { return Ok(()) };
        let mut bits = InsecureSeededSource::new(self.case.key.0);
        let answers = match &question {
            SqlRequest::One(query) => answered(&query.cut, bases, &priced, &mut bits),
            SqlRequest::Union(union) => union.noised_and_answered(bases, &priced, &mut DrawnNoise(&mut bits)),
        };
        let answers = answers.map_err(|error| Failure::new(FailureClass::Above, error.to_string()))?;
        let lengths: HashSet<usize> = answers.columns.iter().map(|column| column.cells.len()).collect();
        if lengths.len() > 1 {
            return Err(Failure::new(FailureClass::Above, "columns of different lengths"));
        }
        Ok(())
    }
}

/// Noise on the integers of each grouping, and what stands above the aggregate.
fn answered(
    cut: &PrivateQuery,
    bases: &[Integers],
    priced: &PricedQuery,
    bits: &mut InsecureSeededSource,
) -> crate::Result<Answers> {
    let mut noise = |cut: &PrivateQuery, base: &Integers, private: &QueryMechanism| {
        noised(cut, base.clone(), private, &mut DrawnNoise(&mut *bits))
    };
    if cut.sets.is_empty() {
        return answers(cut, &noise(cut, &bases[0], &priced.private), &priced.private);
    }
    let mut found = Vec::new();
    for ((set, base), part) in cut.sets.iter().zip(bases).zip(&priced.parts) {
        found.push(in_whole(set, noise(&set.cut, base, &part.private), cut)?);
    }
    let parts = found.iter().zip(&priced.parts).map(|(noisy, part)| NoisyGrouping {
        noisy,
        private: &part.private,
        named: None,
    });
    Ok(answers_of_parts(cut, &parts.collect::<Vec<_>>())?.0)
}
