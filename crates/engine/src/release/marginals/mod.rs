//! Kinds `marginals` and `synthetic`: all tables of up to so many attributes, or whole rows with about the same tables.
//!
//! Three methods of the core can do it, each with its own cost per attribute; `auto` takes the one that promises the smallest error. All of
//! them end in a fitted table of counts that is consistent and not negative; what is published is read off that table.

mod answers;
mod work;

use super::allowance::{ATTRIBUTE_COSTS, Allowance, any_attribute_as_person};
use super::records::{self, Attributes};
use super::{CostAbout, Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::error::{Error, Result};
use crate::ledger::Receipt;
use crate::project::{Project, Request, Target};
use answers::Published;
use scumble::event::Event;
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::Exact;
use scumble::workload::{Domain, Subset};
use serde_json::{Value, json};
use work::{Choice, Work};

const METHOD: Field = Field {
    name: "method",
    form: "text",
    required: false,
    about: "'residual', 'projection', 'mwem', or 'auto' (the default): the one that promises the smallest error",
};
const ORDER: Field = Field {
    name: "order",
    form: "whole number",
    required: false,
    about: "tables of up to so many attributes (2 where this is left out)",
};
const PEOPLE: Field = Field {
    name: "people",
    form: "whole number",
    required: false,
    about: "about how many people there are, from public knowledge: decides between methods and the number of rounds",
};
const ROUNDS: Field =
    Field { name: "rounds", form: "whole number", required: false, about: "rounds of the method 'mwem'" };
const QUERIES: Field = Field {
    name: "queries_per_round",
    form: "whole number",
    required: false,
    about: "attribute-disjoint queries in each round of 'mwem': each attribute pays for one, a person for all",
};
const ESTIMATES: Field = Field {
    name: "estimates",
    form: "text",
    required: false,
    about: "'model' (the default: consistent, not negative, less noisy) or 'unbiased' (method 'residual' only)",
};

const SYNTHETIC_FIELDS: [Field; 10] = [
    records::FIELDS[0],
    records::FIELDS[1],
    ORDER,
    METHOD,
    PEOPLE,
    ROUNDS,
    QUERIES,
    ATTRIBUTE_COSTS,
    records::FIELDS[2],
    records::FIELDS[3],
];
const MARGINALS_FIELDS: [Field; 11] = [
    records::FIELDS[0],
    records::FIELDS[1],
    ORDER,
    METHOD,
    ESTIMATES,
    PEOPLE,
    ROUNDS,
    QUERIES,
    ATTRIBUTE_COSTS,
    records::FIELDS[2],
    records::FIELDS[3],
];

/// The kind `marginals`.
pub(super) static MARGINALS: Kind = Kind {
    name: "marginals",
    about: "the number of owners for every combination of values of up to so many of some columns, with standard errors",
    fields: &MARGINALS_FIELDS,
    cost_about: CostAbout::OwnersOrAttributes,
    plan: plan_marginals,
};

fn plan_marginals(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let published =
        match request.fields.get(ESTIMATES.name).map(|spot| Ok::<_, Error>((spot, spot.text()?))).transpose()? {
            None | Some((_, "model")) => Published::Tables,
            Some((_, "unbiased")) => Published::UnbiasedTables,
            Some((spot, _)) => return Err(spot.error("estimates must be 'model' or 'unbiased'")),
        };
    Ok(Box::new(MarginalsPlan::new(request, project, published)?))
}

/// The kind `synthetic`.
pub(super) static SYNTHETIC: Kind = Kind {
    name: "synthetic",
    about: "made-up rows whose tables of up to so many columns are about those of the data",
    fields: &SYNTHETIC_FIELDS,
    cost_about: CostAbout::OwnersOrAttributes,
    plan: plan_synthetic,
};

fn plan_synthetic(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    Ok(Box::new(MarginalsPlan::new(request, project, Published::Rows)?))
}

struct MarginalsPlan {
    attributes: Attributes,
    domain: Domain,
    tables: Vec<Subset>,
    work: Work,
    choice: Choice,
    published: Published,
    events: Vec<Event>,
}

impl MarginalsPlan {
    fn new(request: &Request, project: &Project, published: Published) -> Result<Self> {
        let attributes = Attributes::new(request, project, false, published.columns())?;
        let place = request.fields.need("columns")?.place();
        let sizes: Vec<u32> = attributes.sizes().into_iter().flatten().collect();
        let domain = Domain::new(sizes).map_err(|error| Error::from(error).or_at(place))?;
        let order = order(request, &domain)?;
        let allowance = Allowance::of(request, attributes.names(), delta_of(request, project)?)?;
        let (work, choice) = Work::choose(request, &domain, order, &allowance, attributes.names())?;
        if matches!(published, Published::UnbiasedTables) && !matches!(work, Work::Residual(_)) {
            let spot = request.fields.need(ESTIMATES.name)?;
            return Err(spot.error("only the method 'residual' has unbiased estimates"));
        }
        let mut events = work.events(attributes.names())?;
        if attributes.move_together() {
            events = any_attribute_as_person(&events, attributes.names())?;
        }
        if !allowance.admits(&events)? {
            // Only where a change of one attribute is charged as that of a person.
            return Err(Error::input(
                "with several rows per owner each attribute is charged as a whole person: give the cost for scope = \"person\", or max_rows_per_owner = 1",
            ));
        }
        let tables = (1..=order).flat_map(|size| Subset::all_of_size(domain.attributes(), size)).collect();
        Ok(Self { attributes, domain, tables, work, choice, published, events })
    }
}

/// The order, at most the number of attributes.
fn order(request: &Request, domain: &Domain) -> Result<usize> {
    let most = domain.attributes();
    match request.fields.get(ORDER.name) {
        None => Ok(most.min(2)),
        Some(spot) => match usize::try_from(spot.at_least_one()?) {
            Ok(order) if order <= most.min(20) => Ok(order),
            _ => Err(spot.error(format!("of {most} columns there are tables of 1 to {} attributes", most.min(20)))),
        },
    }
}

/// Gaussian noise has an ε only at some δ: that of the cost, or the smallest of any budget.
fn delta_of(request: &Request, project: &Project) -> Result<Exact> {
    match (&request.cost.target, &request.cost.delta, project.budget.smallest_delta()) {
        (Target::Epsilon(_), Some(delta), _) => Ok(delta.clone()),
        (Target::Epsilon(_), None, Some(delta)) => Ok(delta),
        (Target::Epsilon(_), None, None) => Err(Error::input(format!(
            "{} have Gaussian noise, whose epsilon needs a delta: write cost = {{ epsilon = …, delta = 1e-9 }} or {{ rho = … }}, or give the budget a delta",
            if request.kind == "synthetic" { "synthetic rows" } else { "marginals" }
        ))),
        _ => Ok(Exact::zero()),
    }
}

impl Plan for MarginalsPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let mut rule = json!({ "records": self.attributes.rule(), "tables": self.tables.len() });
        rule["method"] = json!(self.choice.method.name());
        rule["why"] = json!(self.choice.why);
        rule["promises"] = self
            .choice
            .promises
            .iter()
            .map(|promise| json!({ "method": promise.method.name(), "error": promise.error }))
            .collect();
        rule["work"] = self.work.rule(self.attributes.names());
        rule
    }

    fn expected(&self) -> Vec<Expected> {
        answers::expected(&self.work, &self.domain, &self.tables, self.published, &self.choice)
    }

    fn tables(&self) -> Vec<String> {
        vec![self.attributes.table().to_string()]
    }

    fn compute(&self, _charged: &Receipt, _project: &Project, backend: &Backend) -> Result<Draw> {
        let mut secret = SecureSource::new()?;
        let records = self.attributes.read(backend, Key(secret.next_u64(), secret.next_u64()))?;
        let counts = self.domain.count(&records.columns)?;
        let (work, published, tables) = (self.work.clone(), self.published, self.tables.clone());
        let names = self.attributes.names().to_vec();
        let notes: Vec<String> = self.attributes.note().into_iter().collect();
        Ok(Box::new(move |_receipt, bits| {
            let fitted = work.release(&counts, records.number() as u64, &tables, bits)?;
            let labels = answers::Labels { names: &names, values: &records.values };
            answers::answers(&work, &fitted, &labels, &tables, published, notes)
        }))
    }
}
