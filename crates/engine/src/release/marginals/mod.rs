//! Kinds `marginals` and `synthetic`: all tables of up to this many attributes, or whole rows with about the same tables.
//!
//! Three methods of the core can do it, each with its own cost per attribute; `auto` takes the one that promises the smallest error. All of
//! them end in a fitted table of counts that is consistent and not negative, of which rows are made. A table of such counts is biased wherever
//! counts are small, and nobody knows its error: so `marginals` publishes the unbiased estimates with their error bars, and the fitted
//! counts beside them, without any.

mod answers;
mod work;

use super::allowance::{ATTRIBUTE_COSTS, Allowance, Exceptions, any_attribute_as_person};
use super::field::{Field, Placed, Word};
use super::records::{self, Attributes};
use super::rows::private_table;
use super::{Analysed, CostAbout, Kind, Plan, Priced};
use crate::attackers::Counted;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Cost, Goal, Project, Request};
use answers::Published;
use scumble::event::Event;
use scumble::quantity::Exact;
use scumble::workload::planner::{Limits, Promise};
use scumble::workload::{Domain, Subset};
use serde_json::{Value, json};
use std::rc::Rc;
use work::{Choice, MethodWish, Wishes, Work};

const METHOD: Field<Option<MethodWish>> = Field::new(
    "method",
    "'residual', 'projection', 'mwem', or 'auto' (the default): the one that promises the smallest error",
);
const ORDER: Field<Option<Placed<u64>>> =
    Field::new("order", "tables of up to this many attributes (2 where this is left out)");
const PEOPLE: Field<Option<u64>> = Field::new(
    "people",
    "about how many people there are, from public knowledge: decides between methods and the number of rounds",
);
const ROUNDS: Field<Option<Placed<u64>>> = Field::new("rounds", "rounds of the method 'mwem'");
const QUERIES: Field<Option<Placed<u64>>> = Field::new(
    "queries_per_round",
    "attribute-disjoint queries in each round of 'mwem': each attribute pays for one, a person for all",
);
const ESTIMATES: Field<Option<Estimates>> = Field::new(
    "estimates",
    "'both' (the default), 'unbiased' (the column `estimate`, with its error bars; methods 'residual' and 'projection') or 'model' (the column `fitted`: consistent and not negative, without error bars)",
);

/// The core counts fewer people than this.
const MOST_PEOPLE: u64 = 1 << 40;

/// Which estimates are published.
#[derive(Clone, Copy)]
enum Estimates {
    Both,
    Model,
    Unbiased,
}

impl Word for Estimates {
    const WORDS: &'static [(&'static str, Self)] =
        &[("both", Self::Both), ("unbiased", Self::Unbiased), ("model", Self::Model)];

    fn unknown(_: &str) -> String {
        "estimates must be 'both', 'unbiased' or 'model'".to_string()
    }
}

/// The kind `marginals`.
pub(super) static MARGINALS: Kind = Kind {
    name: "marginals",
    about: "the number of owners for every combination of values of up to this many of some columns, with error bars",
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
};

fn analyse_marginals(request: &Request, project: &Project) -> Result<Analysed> {
    let published = match ESTIMATES.read(request)?.unwrap_or(Estimates::Both) {
        Estimates::Both => Published::Tables,
        Estimates::Model => Published::FittedTables,
        Estimates::Unbiased => Published::UnbiasedTables,
    };
    Ok(Marginals::new(request, project, published)?.analysed())
}

/// The kind `synthetic`.
pub(super) static SYNTHETIC: Kind = Kind {
    name: "synthetic",
    about: "made-up rows whose tables of up to this many columns are about those of the data",
    fields: &[
        records::FIELDS[0],
        records::FIELDS[1],
        ORDER.listed(),
        METHOD.listed(),
        PEOPLE.listed(),
        ROUNDS.listed(),
        QUERIES.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[2],
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse: analyse_synthetic,
};

fn analyse_synthetic(request: &Request, project: &Project) -> Result<Analysed> {
    Ok(Marginals::new(request, project, Published::Rows)?.analysed())
}

/// The tables that are asked for, and how.
struct Marginals {
    kind: &'static str,
    attributes: Attributes,
    domain: Domain,
    order: usize,
    tables: Vec<Subset>,
    wishes: Wishes,
    exceptions: Exceptions,
    /// The smallest δ of any budget.
    budget_delta: Option<Exact>,
    /// How many people there are, if the table declares that as public.
    public_people: Option<u64>,
    published: Published,
    /// Where estimates are asked for.
    estimates: Place,
}

impl Marginals {
    fn new(request: &Request, project: &Project, published: Published) -> Result<Self> {
        let attributes = Attributes::new(request, project, false, published.columns())?;
        let place = records::COLUMNS.place(request);
        let sizes: Vec<u32> = attributes.sizes().into_iter().flatten().collect();
        let domain = Domain::new(sizes).map_err(|error| Error::from(error).or_at(place))?;
        let order = order(request, &domain)?;
        let public_people = private_table(request, project)?.public_owners;
        if public_people.is_some_and(|people| people >= MOST_PEOPLE) {
            return Err(Error::input(format!(
                "public_owners of the table '{}' must be below 2^40",
                attributes.table()
            )));
        }
        // How many there are is public: what could not be published is refused before anything is charged.
        if let (Published::Rows, Some(people)) = (published, public_people)
            && people > answers::MOST_ROWS as u64
        {
            return Err(Error::input(format!(
                "synthetic rows are made for everybody, and public_owners of the table '{}' are {people}: at most {} rows are made up; release kind marginals, or a table of fewer people",
                attributes.table(),
                answers::MOST_ROWS
            )));
        }
        Ok(Self {
            kind: if matches!(published, Published::Rows) { SYNTHETIC.name } else { MARGINALS.name },
            tables: (1..=order).flat_map(|size| Subset::all_of_size(domain.attributes(), size)).collect(),
            wishes: Wishes::read(request)?,
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

    fn analysed(self) -> Analysed {
        let asked = Rc::new(self);
        Analysed::new(move |cost| {
            let (work, choice, events, granted) = asked.at(cost)?;
            let asked = Rc::clone(&asked);
            Ok(Priced::new(events, move |events| {
                let rule = asked.rule(&work, &choice, granted);
                Ok(plan(asked, work, &choice, rule, events))
            }))
        })
    }

    /// The method that this cost pays for, its events, and what each attribute pays of what it was granted.
    fn at(&self, cost: &Cost) -> Result<(Work, Choice, Vec<Event>, Value)> {
        let names = self.attributes.names();
        let allowance = Allowance::of(cost, self.kind, names, self.delta(cost)?, &self.exceptions)?;
        let limits = Limits { public_people: self.public_people, ..allowance.in_rho(names)? };
        let (work, choice) = Work::choose(&self.wishes, &self.domain, self.order, &limits, cost.scope)?;
        if matches!((self.published, &work), (Published::UnbiasedTables, Work::Mwem { .. })) {
            return Err(Error::at(self.estimates.clone(), "the method 'mwem' has no unbiased estimates"));
        }
        let mut events = work.events(names)?;
        if self.attributes.move_together() {
            events = any_attribute_as_person(&events, names)?;
        }
        if !allowance.admits(&events)? {
            // Only where a change of one attribute is charged as that of a person.
            return Err(Error::input(
                "with several rows per owner each attribute is charged as a whole person: give the cost for scope = \"person\", or max_rows_per_owner = 1",
            ));
        }
        let granted = allowance.granted(&events)?;
        Ok((work, choice, events, granted))
    }

    /// Gaussian noise has an ε only at some δ: that of the cost, or the smallest of any budget.
    fn delta(&self, cost: &Cost) -> Result<Exact> {
        match (&cost.target, &cost.delta, &self.budget_delta) {
            (Goal::Epsilon(_), Some(delta), _) | (Goal::Epsilon(_), None, Some(delta)) => Ok(delta.clone()),
            (Goal::Epsilon(_), None, None) => Err(Error::input(format!(
                "{} have Gaussian noise, whose epsilon needs a delta: write cost = {{ epsilon = …, delta = 1e-9 }} or {{ rho = … }}, or give the budget a delta",
                if matches!(self.published, Published::Rows) { "synthetic rows" } else { "marginals" }
            ))),
            _ => Ok(Exact::zero()),
        }
    }

    fn rule(&self, work: &Work, choice: &Choice, granted: Value) -> Value {
        let promise = |promise: &Promise| json!({ "method": promise.method.name(), "error": promise.error });
        json!({
            "records": self.attributes.rule(), "tables": self.tables.len(), "method": choice.method.name(), "why": choice.why,
            "promises": choice.promises.iter().map(promise).collect::<Vec<Value>>(),
            "work": work.rule(self.attributes.names()), "granted": granted,
        })
    }
}

fn plan(asked: Rc<Marginals>, work: Work, choice: &Choice, rule: Value, events: Vec<Event>) -> Plan {
    Plan {
        events,
        rule,
        expected: answers::expected(&work, &asked.domain, &asked.tables, asked.published, choice),
        notes: Vec::new(),
        limits: Vec::new(),
        counted: Counted::default(),
        estimates: asked.attributes.estimates(),
        tables: vec![asked.attributes.table().to_string()],
        query: None,
        compute: Box::new(move |charged| {
            let Marginals { attributes, domain, tables, published, .. } = &*asked;
            let records = charged.records(attributes)?;
            let counts = domain.count(&records.columns)?;
            let people = records.number() as u64;
            let fitted = work.release(&counts, people, (tables, *published), charged.bits())?;
            let labels = answers::Labels { names: attributes.names(), values: &records.values };
            answers::answers(&work, &fitted, &labels, tables, *published, attributes.note().into_iter().collect())
        }),
    }
}

/// The order, at most the number of attributes.
fn order(request: &Request, domain: &Domain) -> Result<usize> {
    let most = domain.attributes();
    match ORDER.read(request)? {
        None => Ok(most.min(2)),
        Some(order) => match usize::try_from(order.value) {
            Ok(order) if order <= most.min(20) => Ok(order),
            _ => Err(order.error(format!("of {most} columns there are tables of 1 to {} attributes", most.min(20)))),
        },
    }
}
