//! Kinds `marginals` and `synthetic`: all tables of up to this many attributes, or whole rows with about the same
//! tables.
//!
//! Three methods of the core can do it, each with its own cost per attribute, and a fourth for the pairs of up to 500
//! binary columns ([`pairs`]); `auto` takes the one that promises the smallest error. The three end in a fitted table
//! of counts that is consistent and not negative; rows are drawn from it. A table of such counts is biased wherever
//! counts are small, and its error is unknown. So `marginals` publishes the unbiased estimates with their standard
//! errors, and beside them the fitted counts, without any.

mod answers;
mod never;
mod pairs;
mod published;
mod wide;
mod work;

use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Cost, Project, Request};
use crate::release::field::{Field, PlacedValue, Word};
use crate::release::floor::Floor;
use crate::release::plan::{AnalysedRequest, Analysis, Plan, PlanSource, Price};
use crate::release::price::allowance::{ATTRIBUTE_COSTS, Allowance, Exceptions, delta_of_gaussian};
use crate::release::price::limits;
use crate::release::price::limits::AllTables;
use crate::release::price::needs;
use crate::release::rows::fields::countable_owners;
use crate::release::rows::records;
use crate::release::rows::records::Attributes;
use crate::release::{CostAbout, Kind, Publication};
use published::MarginalsForm;
use scumble::event::Event;
use scumble::quantity::Exact;
use scumble::workload::planner::{PredictedError, RhoLimits};
use scumble::workload::{Domain, Subset};
use serde_json::{Value, json};
use std::rc::Rc;
use work::{MarginalsMethod, MethodChoice, MethodWish, Space, Wishes};

const METHOD: Field<Option<MethodWish>> = Field::new(
    "method",
    "`residual`, `projection` or `mwem` (up to 2,000,000 cells), `psd` (pairs of up to 500 binary columns), `chosen` (many columns, from a few tables that are chosen privately) or `auto` (the default: the smallest expected error). Beyond 20,000,000 combinations of all values, marginals have the columns `column_1`, `value_1`, `column_2`, … and at most 100,000,000 lines (beyond 500,000, the JSON file has the first 1,000)",
);
const ORDER: Field<Option<PlacedValue<u64>>> = Field::new("order", "tables of up to this many attributes (default: 2)");
const PEOPLE: Field<Option<u64>> =
    Field::new("people", "about how many people there are, from public knowledge: decides methods and rounds");
const ROUNDS: Field<Option<PlacedValue<u64>>> = Field::new("rounds", "the number of rounds of `mwem`");
const QUERIES: Field<Option<PlacedValue<u64>>> = Field::new(
    "queries_per_round",
    "attribute-disjoint queries in each round of `mwem`: each attribute pays for one, a person for all",
);
const ESTIMATES: Field<Option<EstimateChoice>> =
    Field::new("estimates", "`both` (the default), `unbiased` (not with `mwem`) or `model` (`fitted` only)");

/// Which estimates are published.
#[derive(Clone, Copy)]
enum EstimateChoice {
    Both,
    Model,
    Unbiased,
}

impl Word for EstimateChoice {
    const WORDS: &'static [(&'static str, Self)] =
        &[("both", Self::Both), ("unbiased", Self::Unbiased), ("model", Self::Model)];

    fn unknown(_: &str) -> String {
        "estimates must be 'both', 'unbiased' or 'model'".to_string()
    }
}

/// The kind `marginals`.
pub(crate) static MARGINALS: Kind = Kind {
    name: "marginals",
    about: "the number of owners for each combination of values of up to `order` columns: `estimate` (unbiased, with a standard error, perhaps negative) and `fitted` (consistent, not negative, biased where counts are small, without a standard error)",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        ORDER.listed(),
        METHOD.listed(),
        ESTIMATES.listed(),
        PEOPLE.listed(),
        ROUNDS.listed(),
        QUERIES.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse: analyse_marginals,
    ..Kind::COMMON
};

fn analyse_marginals(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let published = match ESTIMATES.read(request)?.unwrap_or(EstimateChoice::Both) {
        EstimateChoice::Both => MarginalsForm::Tables,
        EstimateChoice::Model => MarginalsForm::FittedTables,
        EstimateChoice::Unbiased => MarginalsForm::UnbiasedTables,
    };
    analyse(request, project, published)
}

/// Tables or rows, by a model of all combinations or where these are too many without one.
fn analyse(request: &Request, project: &Project, published: MarginalsForm) -> Result<AnalysedRequest> {
    match wide::analysed(request, project, published)? {
        Some(analysed) => Ok(analysed),
        None => Ok(AnalysedRequest::new(Marginals::new(request, project, published)?)),
    }
}

/// The kind `synthetic`.
pub(crate) static SYNTHETIC: Kind = Kind {
    name: "synthetic",
    about: "synthetic data with about the same tables of up to `order` columns",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        ORDER.listed(),
        METHOD.listed(),
        PEOPLE.listed(),
        ROUNDS.listed(),
        QUERIES.listed(),
        wide::NEVER.listed(),
        wide::LINKED.listed(),
        wide::ROWS.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse: |request, project| analyse(request, project, MarginalsForm::Rows),
    publishes: Publication::SyntheticRows,
    ..Kind::COMMON
};

/// The tables that are asked for, and how.
struct Marginals {
    kind: &'static str,
    attributes: Attributes,
    /// The product of all columns; none where it is too large and pairs of binary columns are asked for.
    domain: Option<Domain>,
    order: usize,
    tables: Vec<Subset>,
    wishes: Wishes,
    /// Whether the method may be `psd`.
    may_be_pairs: bool,
    exceptions: Exceptions,
    /// The smallest δ of any budget.
    budget_delta: Option<Exact>,
    /// How many people there are, if the table declares that as public.
    public_people: Option<u64>,
    published: MarginalsForm,
    /// Where estimates are asked for.
    estimates: Place,
}

impl Marginals {
    fn new(request: &Request, project: &Project, published: MarginalsForm) -> Result<Self> {
        let attributes = Attributes::new(request, project, false, published.columns())?;
        let wishes = Wishes::read(request)?;
        let order = order(request, attributes.names().len())?;
        let sizes: Vec<u32> = attributes.sizes().into_iter().flatten().collect();
        let refusal = pairs::refusal(&attributes, order, published);
        if let (true, Some(refusal)) = (wishes.is_psd(), &refusal) {
            return Err(METHOD.error(request, refusal.clone()));
        }
        let may_be_pairs = refusal.is_none() && wishes.may_be_psd();
        let domain = match Domain::new(sizes) {
            Ok(domain) => Some(domain),
            Err(_) if may_be_pairs => None,
            Err(error) => return Err(Error::from(error).or_at(records::COLUMNS.place(request))),
        };
        let public_people = countable_owners(request, project)?;
        // How many there are is public: what could not be published is refused before anything is charged.
        if let (MarginalsForm::Rows, Some(people)) = (published, public_people)
            && people > answers::MOST_ROWS as u64
        {
            return Err(Error::input(format!(
                "public_owners of table '{}' is {people}, and at most {} synthetic rows are made: use kind marginals, \
                    or a table of fewer owners",
                attributes.table(),
                answers::MOST_ROWS
            )));
        }
        Ok(Self {
            kind: if matches!(published, MarginalsForm::Rows) { SYNTHETIC.name } else { MARGINALS.name },
            tables: domain.as_ref().map_or_else(Vec::new, |domain| {
                (1..=order).flat_map(|size| Subset::all_of_size(domain.attributes(), size)).collect()
            }),
            wishes,
            may_be_pairs,
            public_people,
            exceptions: Exceptions::read(request, attributes.names())?,
            budget_delta: project.budget.smallest_delta(),
            attributes,
            domain,
            order,
            published,
            estimates: ESTIMATES.place(request),
        })
    }

    /// The method that this cost pays for, its events, and what each attribute pays of what it was granted.
    fn within(&self, cost: &Cost) -> Result<(MarginalsMethod, MethodChoice, Vec<Event>, Value)> {
        let names = self.attributes.names();
        let allowance = Allowance::of(cost, self.kind, names, self.delta(cost)?, &self.exceptions)?;
        let limits = RhoLimits { public_people: self.public_people, ..allowance.in_rho(names)? };
        if matches!(self.published, MarginalsForm::Rows) {
            answers::refuse_noise_alone(&limits)?;
        }
        let space =
            Space { domain: self.domain.as_ref(), order: self.order, pairs: self.may_be_pairs.then_some(names.len()) };
        let (work, choice) = MarginalsMethod::choose(&self.wishes, &space, &limits, cost.scope())?;
        if matches!((self.published, &work), (MarginalsForm::UnbiasedTables, MarginalsMethod::Mwem { .. })) {
            return Err(Error::at(self.estimates.clone(), "the method 'mwem' has no unbiased estimates"));
        }
        let events = work.events(names)?;
        let (events, granted) = allowance.charged(events, names, self.attributes.move_together())?;
        Ok((work, choice, events, granted))
    }

    /// See [`Plan::memory`]: the counts of all combinations, exact, measured and fitted, and a line for each cell that
    /// is published; of pairs of binary columns a few square matrices.
    fn memory(&self) -> u64 {
        let Some(domain) = &self.domain else {
            return (self.attributes.names().len() as u64).pow(2).saturating_mul(8 * needs::NUMBER + 4 * needs::LINE);
        };
        let lines = self.tables.iter().map(|table| domain.table_cells(*table) as u64).fold(0, u64::saturating_add);
        let lines = if matches!(self.published, MarginalsForm::Rows) { 0 } else { lines.saturating_mul(needs::LINE) };
        (domain.cells() as u64).saturating_mul(5 * needs::NUMBER).saturating_add(lines)
    }

    fn delta(&self, cost: &Cost) -> Result<Exact> {
        let what = if matches!(self.published, MarginalsForm::Rows) { "synthetic rows" } else { "marginals" };
        delta_of_gaussian(cost, self.budget_delta.as_ref(), what)
    }

    /// The error that no mechanism can beat: tables of this order contain the table of each single column.
    fn limits(&self, work: &MarginalsMethod, events: &[Event]) -> Result<Vec<Floor>> {
        let sizes: Option<Vec<u32>> = self.attributes.sizes().into_iter().collect();
        let Some(sizes) = sizes else { return Ok(Vec::new()) };
        let unbiased = self.published.has_estimates();
        let error = |table: Subset| work.bar(table).filter(|_| unbiased).map(|bar| bar.standard_error);
        let single = || (0..sizes.len()).map(|column| error(Subset::of(&[column]))).collect::<Option<Vec<f64>>>();
        limits::of_tables(
            events,
            &AllTables {
                sizes: &sizes,
                people: work.public_people(),
                column: self.published.counts(matches!(work, MarginalsMethod::Mwem { .. } | MarginalsMethod::Pairs(_))),
                single_errors: self.domain.as_ref().and_then(|_| single()),
                largest_error: &|beta| self.largest_error(&error, beta),
            },
        )
    }

    /// What no cell of any unbiased table exceeds except with this probability, by a union bound: sums of discrete
    /// Gaussians have tails of at most 2·e^{−t²/2σ²} (Canonne, Kamath, Steinke 2020: they are sub-Gaussian with their
    /// σ).
    fn largest_error(&self, error: &dyn Fn(Subset) -> Option<f64>, beta: f64) -> Option<f64> {
        let domain = self.domain.as_ref()?;
        let (mut cells, mut worst) = (0.0, 0.0f64);
        for table in &self.tables {
            cells += domain.table_cells(*table) as f64;
            worst = worst.max(error(*table)?);
        }
        Some(worst * (2.0 * (2.0 * cells / beta).ln()).sqrt())
    }

    fn rule(&self, work: &MarginalsMethod, choice: &MethodChoice, granted: Value) -> Value {
        let promise = |promise: &PredictedError| json!({ "method": promise.method.name(), "error": promise.error });
        json!({
            "records": self.attributes.rule(), "tables": work.tables().unwrap_or(self.tables.len() as u64), "method": choice.method.name(), "why": choice.why,
            "promises": choice.promises.iter().map(promise).collect::<Vec<Value>>(),
            "work": work.rule(self.attributes.names()), "granted": granted,
        })
    }
}

impl Analysis for Marginals {
    /// The method, why it was chosen, and what each attribute was granted.
    type Mechanism = (MarginalsMethod, MethodChoice, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (work, choice, events, granted) = self.within(cost)?;
        Ok(Price { events, mechanism: (work, choice, granted) })
    }

    fn plan(self: Rc<Self>, (work, choice, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let rule = self.rule(&work, &choice, granted);
        let limits = self.limits(&work, &events)?;
        let expected = answers::expected(&work, &self.tables, self.published, &choice);
        let source = PlanSource::records(&self.attributes).holding(self.memory());
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let Self { attributes, tables, published, .. } = &*self;
            let records = charged.read(attributes)?;
            let labels = published::Labels { names: attributes.names(), values: &records.values };
            let notes = attributes.note().into_iter().collect();
            if let MarginalsMethod::Pairs(pairs) = &work {
                return pairs::answers(pairs, &records.columns, &labels, *published, notes, charged.bits());
            }
            let counts =
                self.domain.as_ref().map_or_else(|| Ok(Vec::new()), |domain| domain.count(&records.columns))?;
            let people = records.number() as u64;
            let fitted = work.release(&counts, people, (tables, *published), charged.bits())?;
            answers::answers(&work, &fitted, &labels, tables, *published, notes)
        });
        Ok(Plan { limits, ..plan })
    }
}

/// The order, at most the number of attributes.
fn order(request: &Request, most: usize) -> Result<usize> {
    match ORDER.read(request)? {
        None => Ok(most.min(2)),
        Some(order) => match usize::try_from(order.value) {
            Ok(order) if order <= most.min(20) => Ok(order),
            _ => Err(order.error(format!("{most} columns have tables of 1 to {} attributes", most.min(20)))),
        },
    }
}
