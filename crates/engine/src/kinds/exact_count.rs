//! Kind `exact-count`: a number of rows without noise, for which there is no differential privacy at all.
//!
//! What protects anybody is the uncertainty of the attacker that the project file declares. The ledger charges the
//! truth: (0, 1), which holds for everything and promises nothing, in every scope that the count depends on. So every
//! budget that it touches refuses it, and without a budget the ledger tells an infinite ε from then on. And because
//! such guarantees do not compose, an exact count stands alone, in its ledger and in every other that can be seen from
//! here (`release::run::exclusivity`). Two counts of two nearly equal sets tell whether somebody is in the difference:
//! the guarantee is void if anything else about these people is ever published, anywhere.

use crate::attackers::{Finding, ReleasedStatistic, answer};
use crate::error::{Error, Result};
use crate::project::{Bounding, Cost, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, Cell, Details};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::rows::condition::one_condition;
use crate::release::rows::fields::{TABLE, quoted, table};
use crate::release::{CostAbout, DigestOf, Exclusivity, Kind};
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Computation;
use crate::tables::Backend;
use scumble::event::{Event, Moves, Shift, Touch, Word};
use scumble::quantity::{Delta, Epsilon};
use scumble::scope::AttributeSet;
use scumble_adversary::attacker::{AddedNoise, ReleaseAssessment, Statistic, Verdict, assess, brittleness};
use serde_json::{Map, json};
use std::rc::Rc;

/// The word in project files and in the ledger.
pub(crate) const NAME: &str = "exact-count";

/// What its cost is.
const NO_EPSILON: &str = "There is no finite epsilon at any delta where it says ∞: the count is published without noise, and against somebody who knows all else nothing is promised.";

/// What no program can see.
const VOID: &str = "This guarantee is void if anything else about these people is or was ever published: from another ledger, by another program, \
     or from another copy of the data. Scumble refuses what it can see, and it sees only the ledgers beside the project and its sources.";

const WHERE: Field<PlacedValue<String>> = Field::new("where", "which rows count: a condition as in SQL");
const ACCEPTED: Field<bool> = Field::new(
    "i_accept_assumptions",
    "must be true: the count protects only against the attacker of `[attacker]`, if all that is declared there is true",
);

/// The kind exact-count.
pub(crate) static KIND: Kind = Kind {
    name: NAME,
    about: "a number of rows without noise. This is not differentially private: it needs `[attacker]`, a ledger of its own, and accepted assumptions",
    fields: &[TABLE.listed(), WHERE.listed(), ACCEPTED.listed()],
    cost_about: CostAbout::Nobody,
    analyse,
    company: Exclusivity::Nothing,
    digest: DigestOf::DeclaredAttacker,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    if !ACCEPTED.read(request)? {
        return Err(ACCEPTED.error(
            request,
            "an exact count protects only against the declared attacker: set \
            i_accept_assumptions = true to accept that, or publish the count with noise (kind sql)",
        ));
    }
    let table = table(request, project)?;
    if table.owner.is_some() && table.bounding.rows != Some(1) {
        let sentence = format!("an exact count needs one row for each owner, and table '{}' may have more", table.name);
        return Err(TABLE.error(request, sentence));
    }
    let condition = WHERE.read(request)?;
    let sql = format!("SELECT COUNT(*) AS count FROM {} WHERE ({})", quoted(&table.name), one_condition(&condition)?);
    let cut = crate::sql::analyse(&sql, Bounding::default(), project, &Backend::without_data(project)?)
        .map_err(|error| error.without_place().or_at(condition.place.clone()))?;
    let plain = cut.query.keys.is_empty() && matches!(cut.query.aggregates[..], [Computation::Count(_)]);
    if !plain || cut.below.tables.iter().ne([&table.name]) {
        return Err(condition.error("this must be one condition on the rows of the table"));
    }
    let counted =
        ReleasedStatistic::Rows { table: table.name.clone(), statistic: Statistic::Count, noise: AddedNoise::None };
    let learned = guarantee(project, &counted, request)?;
    let events = vec![nothing_promised(&cut)?];
    Ok(AnalysedRequest::new(ExactCountAnalysis { sql, cut: Rc::new(cut), counted, learned, events }))
}

/// A count without noise.
struct ExactCountAnalysis {
    sql: String,
    cut: Rc<PrivateQuery>,
    counted: ReleasedStatistic,
    learned: ReleaseAssessment,
    events: Vec<Event>,
}

impl Analysis for ExactCountAnalysis {
    type Mechanism = ();

    fn at(&self, _no_cost: &Cost) -> Result<Price<()>> {
        Ok(Price { events: self.events.clone(), mechanism: () })
    }

    fn plan(self: Rc<Self>, (): (), events: Vec<Event>) -> Result<Plan> {
        let (learned, cut) = (self.learned.clone(), Rc::clone(&self.cut));
        let rule = json!({
            "sql": self.sql,
            "tables": cut.below.tables,
            "filters": { "attributes": cut.query.rows },
            "noise": "none: not differentially private",
            "i_accept_assumptions": true,
            "attacker": Finding::Learned(Box::new(learned.clone())).document(),
        });
        let expected = ExpectedError::new("count", Some(0.0), "exact, without noise: not differentially private");
        let source = PlanSource::query(&cut, Estimates::of(cut.query.bounds, false));
        let plan = Plan::new(source, events, rule, vec![expected], move |charged| {
            // Each owner has one row: nothing is left out, whatever the key.
            let exact = charged.read(&cut)?;
            let count = exact.cells.first().and_then(|cell| cell.sums.first()).copied();
            let count = count.ok_or_else(|| Error::machine("the backend gave no count"))?;
            contradicted(&learned, count)?;
            Ok(answers(&learned, count))
        });
        Ok(Plan { notes: vec![NO_EPSILON.to_string()], counted: self.counted.clone(), ..plan })
    }
}

/// What the declared attacker learns; without a guarantee there is no release.
fn guarantee(project: &Project, counted: &ReleasedStatistic, request: &Request) -> Result<ReleaseAssessment> {
    let place = request.fields.place();
    match answer(project, counted)? {
        Some(Finding::Learned(learned)) if matches!(learned.verdict, Verdict::Guarantee(_)) => Ok(*learned),
        Some(other) => Err(Error::at(place, format!("an exact count would protect nobody: {}", other.words()))),
        None => Err(Error::at(
            place,
            "an exact count protects only against a declared attacker, and the project file has no [attacker]",
        )),
    }
}

/// (0, 1): true of everything. In the scopes that the count depends on nothing is promised; an attribute that no
/// condition reads is not in it.
fn nothing_promised(cut: &PrivateQuery) -> Result<Event> {
    let kind = Word::Approximate { epsilon: Epsilon::new(0.0)?, delta: Delta::new(1.0)? };
    let one = vec![Shift::one_cell(1.0)?];
    let attributes = AttributeSet::new(cut.query.rows.iter().cloned())?;
    let touches = if attributes.is_empty() { Vec::new() } else { vec![Touch { attributes, shifts: one.clone() }] };
    Ok(Event::new(kind, Moves::by_scope(one.clone(), one, touches)))
}

fn answers(learned: &ReleaseAssessment, count: i128) -> Answers {
    let words = learned.words.replacen(brittleness(), "", 1).trim().to_string();
    let notes = vec![brittleness().to_string(), words, VOID.to_string()];
    let column = AnswerColumn::plain("count", [Cell::Whole(count)]);
    let mut facts = Map::new();
    facts.insert("differentially_private".into(), json!(false));
    Answers { columns: vec![column], notes, details: Details { facts, ..Details::default() } }
}

/// If the count contradicts the declared beliefs, they protect no one: then nothing is published, and the reason is not
/// printed.
fn contradicted(learned: &ReleaseAssessment, count: i128) -> Result<()> {
    let mut scenario = learned.scenario.clone();
    scenario.release.observed = Some(u64::try_from(count).unwrap_or(0).min(1 << 40));
    match assess(&scenario)? {
        Verdict::Guarantee(_) => Ok(()),
        _ => Err(Error::machine("the count is next to impossible under the declared [attacker]")),
    }
}
