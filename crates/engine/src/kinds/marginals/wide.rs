//! The same kinds where the columns have more combinations than a model of all of them can have: nothing is larger than
//! one table.
//!
//! `marginals` are measured as before, by their residuals, and reconstructed table by table. `synthetic` rows come from
//! a few tables that are chosen privately (method 'chosen'). Which of the two ways it is depends on public numbers
//! alone: the sizes of the columns and what the project file asks for.

mod tables;

use super::answers::refuse_noise_alone;
use super::published::MarginalsForm;
use super::work::MethodWish;
use super::{METHOD, ORDER};
use crate::error::Result;
use crate::project::{Cost, Project, Request};
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, Cell, Details};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::allowance::{Allowance, Exceptions, delta_of_gaussian};
use crate::release::price::needs;
use crate::release::rows::fields::countable_owners;
use crate::release::rows::records;
use crate::release::rows::records::Attributes;
use scumble::event::Event;
use scumble::quantity::Exact;
use scumble::workload::Domain;
use scumble::workload::planner::{Approach, RhoLimits};
use scumble::workload::wide::marginals::{self, all_cells, sets_of_size};
use scumble::workload::wide::synthetic::{self, SyntheticRows};
use scumble::workload::wide::{Records, synthetic::StructuralZero};
use serde_json::{Value, json};
use std::rc::Rc;

pub(crate) const NEVER: Field<Option<Vec<PlacedValue<String>>>> = Field::new(
    "never",
    "impossible combinations, from public knowledge, such as `age < 15 AND marital = 'married'`: no row has them (method `chosen`)",
);
pub(crate) const LINKED: Field<Option<Vec<PlacedValue<String>>>> = Field::new(
    "linked",
    "columns that are functions of each other, from public knowledge: of two neighbours in the list, the one with more values determines the other (method `chosen`)",
);

pub(crate) const ROWS: Field<Option<PlacedValue<u64>>> = Field::new(
    "rows",
    "the number of synthetic rows; by default the number of people, from `public_owners` or noisy counts (method `chosen`)",
);

/// The most synthetic rows; more would be of no use and fill the memory.
const MOST_ROWS: usize = 10_000_000;
/// Tables of this many attributes are fitted; larger ones have unbiased estimates alone.
const FITTED_ORDER: usize = 2;

/// A request for marginals of many columns.
struct WideMarginals {
    attributes: Attributes,
    sizes: Vec<u32>,
    order: usize,
    exceptions: Exceptions,
    budget_delta: Option<Exact>,
    public_people: Option<u64>,
    published: MarginalsForm,
    never: Vec<StructuralZero>,
    linked: Vec<Vec<usize>>,
    rows: Option<usize>,
    why: String,
}

/// What is done.
enum WideMethod {
    Marginals(marginals::MarginalPlan),
    Rows(synthetic::SyntheticPlan),
}

/// The analysis of a request that is meant this way; none where a model of all combinations is.
pub(crate) fn analysed(
    request: &Request,
    project: &Project,
    published: MarginalsForm,
) -> Result<Option<AnalysedRequest>> {
    let is_rows = published == MarginalsForm::Rows;
    let attributes = match is_rows {
        true => Attributes::with_steps(request, project, published.columns())?,
        false => Attributes::new(request, project, false, published.columns())?,
    };
    let sizes: Vec<u32> = attributes.sizes().into_iter().flatten().collect();
    let is_small = Domain::new(sizes.clone()).is_ok();
    let method = METHOD.read(request)?.unwrap_or(MethodWish::Best);
    // What only some kinds have is absent in others.
    let (never, linked, rows) = (NEVER.read(request)?, LINKED.read(request)?, number_of_rows(request)?);
    let is_told = never.is_some() || linked.is_some() || rows.is_some();
    let pairs = super::order(request, sizes.len())?;
    let combinations: f64 = sizes.iter().map(|&size| f64::from(size)).product();
    let why = match (is_rows, method, is_small) {
        (true, MethodWish::Chosen, _) => "the project file asks for it".to_string(),
        (true, MethodWish::Best, false) => {
            format!("the columns have {combinations:.1e} combinations, too many for a model of all of them")
        }
        (true, MethodWish::Best, true) if attributes.has_steps() => "columns in steps are for it".to_string(),
        (true, MethodWish::Best, true) if is_told => "'never', 'linked' and 'rows' are for it".to_string(),
        (true, _, _) if is_told => {
            return Err(METHOD.error(request, "'never', 'linked' and 'rows' are for the method 'chosen'"));
        }
        (true, _, _) if attributes.has_steps() => {
            return Err(METHOD.error(
                request,
                "numbers with fractions, dates and times need the method 'chosen'; for other methods, declare bins \
                    for them",
            ));
        }
        // Pairs of binary columns have a method of their own.
        (false, MethodWish::Best, false) if super::pairs::refusal(&attributes, pairs, published).is_none() => {
            return Ok(None);
        }
        (false, MethodWish::Best | MethodWish::This(Approach::Residual), false) => {
            format!(
                "the columns have {combinations:.1e} combinations: each table is measured and reconstructed by itself"
            )
        }
        (false, MethodWish::Chosen, _) => {
            return Err(METHOD.error(request, "the method 'chosen' makes rows: it is for kind = \"synthetic\""));
        }
        _ => return Ok(None),
    };
    let public_people = countable_owners(request, project)?;
    let asked = WideMarginals {
        order: order(request, &sizes, is_rows)?,
        exceptions: Exceptions::read(request, attributes.names())?,
        budget_delta: project.budget.smallest_delta(),
        never: read_never(never.unwrap_or_default(), &attributes)?,
        linked: read_linked(linked.unwrap_or_default(), &attributes)?,
        rows,
        attributes,
        sizes,
        public_people,
        published,
        why,
    };
    // What is wrong whatever the cost is said at its place.
    if is_rows {
        let any = RhoLimits { presence: Some(scumble::quantity::Rho::new(1.0)?), ..RhoLimits::default() };
        let plan = synthetic::SyntheticPlan::within(&any, &asked.sizes)?;
        let plan = plan.with_never(asked.never.clone()).map_err(|error| NEVER.error(request, error.to_string()))?;
        plan.with_linked(&asked.linked).map_err(|error| LINKED.error(request, error.to_string()))?;
    }
    Ok(Some(AnalysedRequest::new(asked)))
}

impl Analysis for WideMarginals {
    /// The method, and what each attribute was granted.
    type Mechanism = (WideMethod, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (work, events, granted) = self.within(cost)?;
        Ok(Price { events, mechanism: (work, granted) })
    }

    fn plan(self: Rc<Self>, (work, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let (method, parameters) = match &work {
            WideMethod::Rows(plan) => (
                "chosen",
                json!({ "rho_presence": plan.rho_presence().get(), "rho_person": plan.rho_person().get(), "never": self.never.len(), "linked": self.linked, "rows": self.rows }),
            ),
            WideMethod::Marginals(plan) => {
                ("residual", json!({ "residuals_by_sizes": by_sizes(plan), "public_people": plan.public_people() }))
            }
        };
        let rule = json!({
            "records": self.attributes.rule(), "method": method, "why": self.why, "order": self.order, "work": parameters, "granted": granted,
        });
        let source = PlanSource::records(&self.attributes).holding(self.memory());
        let expected = expected(&self, &work, method);
        Ok(Plan::new(source, events, rule, expected, move |charged| {
            let records = charged.read(&self.attributes)?;
            let people = Records::new(self.sizes.clone(), records.columns)?;
            let mut answers = match &work {
                WideMethod::Rows(plan) => {
                    made(&self, &plan.release(&people, MOST_ROWS, charged.bits())?, &records.values)
                }
                WideMethod::Marginals(plan) => tables::published(&self, plan, &people, records.values, charged.bits())?,
            };
            answers.notes.extend(self.attributes.note());
            Ok(answers)
        }))
    }
}

/// How many rows the request asks for, if it does.
fn number_of_rows(request: &Request) -> Result<Option<usize>> {
    let Some(rows) = ROWS.read(request)? else { return Ok(None) };
    match usize::try_from(rows.value) {
        Ok(number) if (1..=MOST_ROWS).contains(&number) => Ok(Some(number)),
        _ => Err(rows.error(format!("rows must be a number from 1 to {MOST_ROWS}"))),
    }
}

fn order(request: &Request, sizes: &[u32], is_rows: bool) -> Result<usize> {
    let asked = ORDER.read(request)?;
    let order = asked.as_ref().map_or(2, |order| order.value).min(20) as usize;
    let cells: f64 = (1..=order).map(|order| all_cells(sizes, order)).sum();
    if !is_rows && cells > marginals::MOST_CELLS {
        return Err(records::COLUMNS.error(request, format!(
            "tables of up to {order} of these columns have {cells:.0} cells, more than {:.0}: lower the order, leave \
                columns out, or join values",
            marginals::MOST_CELLS
        )));
    }
    Ok(order.min(sizes.len()))
}

fn read_never(texts: Vec<PlacedValue<String>>, attributes: &Attributes) -> Result<Vec<StructuralZero>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let labels: Vec<Vec<Cell>> = (0..attributes.names().len()).map(|attribute| attributes.listed(attribute)).collect();
    let one = |text: &PlacedValue<String>| {
        super::never::read(&text.value, attributes.names(), &labels).map_err(|sentence| text.error(sentence))
    };
    texts.iter().map(one).collect()
}

fn read_linked(names: Vec<PlacedValue<String>>, attributes: &Attributes) -> Result<Vec<Vec<usize>>> {
    let known = attributes.names();
    let place = |name: &PlacedValue<String>| {
        known.iter().position(|own| *own == name.value).ok_or_else(|| {
            let hint = crate::place::suggestion(&name.value, known.iter().map(String::as_str));
            name.error(format!("'{}' is not among the columns of this release{hint}", name.value))
        })
    };
    let group = names.iter().map(place).collect::<Result<Vec<usize>>>()?;
    Ok(if group.is_empty() { Vec::new() } else { vec![group] })
}

impl WideMarginals {
    fn within(&self, cost: &Cost) -> Result<(WideMethod, Vec<Event>, Value)> {
        let names = self.attributes.names();
        let (kind, what) = match self.published {
            MarginalsForm::Rows => (super::SYNTHETIC.name, "synthetic rows"),
            _ => (super::MARGINALS.name, "marginals"),
        };
        let allowance = Allowance::of(
            cost,
            kind,
            names,
            delta_of_gaussian(cost, self.budget_delta.as_ref(), what)?,
            &self.exceptions,
        )?;
        let limits = RhoLimits { public_people: self.public_people, ..allowance.in_rho(names)? };
        let work = match self.published {
            MarginalsForm::Rows => {
                if self.rows.is_none() {
                    refuse_noise_alone(&limits)?;
                }
                let plan = synthetic::SyntheticPlan::within(&limits, &self.sizes)?;
                WideMethod::Rows(plan.with_never(self.never.clone())?.with_linked(&self.linked)?.with_rows(self.rows))
            }
            _ => WideMethod::Marginals(marginals::MarginalPlan::within(&limits, &self.sizes, self.order)?),
        };
        let events = match &work {
            WideMethod::Rows(plan) => plan.events(names)?,
            WideMethod::Marginals(plan) => plan.events(names)?,
        };
        let (events, granted) = allowance.charged(events, names, self.attributes.move_together())?;
        Ok((work, events, granted))
    }

    /// See [`Plan::memory`]: of rows the columns' own tables and, where their number is public, the rows; of tables the
    /// measured residuals.
    fn memory(&self) -> u64 {
        let values: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        let held = match self.published {
            MarginalsForm::Rows => {
                let rows = self.rows.map(|rows| rows as u64).or(self.public_people).unwrap_or(0).min(MOST_ROWS as u64);
                rows.saturating_mul(self.sizes.len() as u64).saturating_mul(2 * needs::NUMBER)
            }
            _ => {
                let cells: f64 = (1..=self.order).map(|order| all_cells(&self.sizes, order)).sum();
                (cells as u64).saturating_mul(needs::NUMBER)
            }
        };
        held.saturating_add(values * 200)
    }

    fn tables(&self) -> impl Iterator<Item = Vec<usize>> {
        (1..=self.order).flat_map(|size| sets_of_size(self.sizes.len(), size))
    }

    fn has_fitted(&self) -> bool {
        self.published.has_model() && self.order <= FITTED_ORDER
    }
}

/// The σ of the noise on each measured table, by the numbers of values of its attributes.
fn by_sizes(plan: &marginals::MarginalPlan) -> Vec<Value> {
    let mut distinct: Vec<(Vec<u32>, f64, usize)> = Vec::new();
    for (set, sigma) in plan.noise() {
        let sizes: Vec<u32> = set.iter().map(|&column| plan.sizes()[column]).collect();
        match distinct.iter_mut().rev().take(200).find(|(own, known, _)| *own == sizes && *known == sigma.get()) {
            Some((.., number)) => *number += 1,
            None => distinct.push((sizes, sigma.get(), 1)),
        }
    }
    distinct
        .into_iter()
        .map(|(sizes, sigma, number)| json!({ "values": sizes, "sigma": sigma, "tables": number }))
        .collect()
}

/// The error to expect, from public numbers alone.
fn expected(asked: &WideMarginals, work: &WideMethod, method: &str) -> Vec<ExpectedError> {
    let mut expected = Vec::new();
    match work {
        WideMethod::Rows(_) => {
            let pairs = asked.sizes.len() * asked.sizes.len().saturating_sub(1) / 2;
            let about = format!(
                "no standard error: which of {pairs} pairs of columns (and of triples, if few) are measured is chosen \
                    privately; the report says which and how well"
            );
            expected.push(ExpectedError::new("counts of rows", None, about));
        }
        WideMethod::Marginals(plan) => {
            for size in (1..=asked.order).filter(|_| asked.published.has_estimates()) {
                let (mut variance, mut margins, mut cells) = (0.0, 0.0, 0.0);
                for table in sets_of_size(asked.sizes.len(), size) {
                    let number: f64 = table.iter().map(|&column| f64::from(asked.sizes[column])).product();
                    variance += number * plan.cell_variance(&table).unwrap_or(0.0);
                    margins += number * plan.half_width(&table).unwrap_or(0.0).powi(2);
                    cells += number;
                }
                let about = format!("tables of {size}: root mean square over their cells");
                let error = ExpectedError::new("estimate", Some((variance / cells).sqrt()), about);
                expected.push(error.with_margin((margins / cells).sqrt()));
            }
            if asked.has_fitted() {
                expected.push(ExpectedError::new("fitted", None, "no standard error: depends on the data"));
            }
        }
    }
    if let Some(last) = expected.last_mut() {
        last.about += &format!("; method {method}: {}", asked.why);
    }
    expected
}

/// Rows, and what they were made of.
fn made(asked: &WideMarginals, made: &SyntheticRows, values: &[Vec<Cell>]) -> Answers {
    let names = asked.attributes.names();
    let of = |(place, name): (usize, &String)| {
        AnswerColumn::plain(name, made.columns[place].iter().map(|&code| values[place][code as usize].clone()))
    };
    let columns = names.iter().enumerate().map(of).collect();
    let named = |own: &[usize]| own.iter().map(|&column| names[column].clone()).collect::<Vec<String>>();
    let table = |table: &synthetic::MeasuredTable| json!({ "columns": named(&table.columns), "bins": table.bins, "sigma": table.sigma, "expected_distance": distance(table, made.people) });
    let pairs: Vec<&synthetic::MeasuredTable> = made.measured.iter().filter(|table| table.columns.len() > 1).collect();
    let shown: Vec<String> = pairs
        .iter()
        .take(60)
        .map(|table| {
            let bins: Vec<String> = table.bins.iter().map(usize::to_string).collect();
            format!(
                "{} ({} bins, within about {:.3})",
                named(&table.columns).join(" × "),
                bins.join(" × "),
                distance(table, made.people)
            )
        })
        .collect();
    let rows = made.columns.first().map_or(0, Vec::len);
    let mut notes = vec![
        "The rows are synthetic: they are drawn from a model that was fitted to noisy numbers, and no row is \
            anybody's. Their counts have no standard error: small ones are too large on average, others too small, so \
            means of the rows are biased where people are few for the noise."
            .to_string(),
        format!(
            "Measured: each column, and {} tables of two or three, chosen privately: {}. \"Within\" is about how far \
             noise alone puts the shares of such a table (half the sum of absolute differences).",
            pairs.len(),
            shown.join("; ")
        ),
        "Tables of two columns that are not listed follow from those that are, and from nothing else: do not look for \
            links there. Do not use the rows for tables of three columns or more in which single counts matter, for \
            rare combinations, for the largest or least values, or to fill in what a person left out."
            .to_string(),
    ];
    if (rows as f64) < made.people || asked.rows.is_some() {
        notes.push(format!(
            "There are {rows} rows, each for about {:.2} of {:.0} people.",
            made.people / rows as f64,
            made.people
        ));
    }
    notes.extend(
        asked
            .public_people
            .filter(|_| asked.rows.is_none())
            .map(|people| format!("There are as many rows as the declared public_owners = {people}.")),
    );
    if asked.attributes.has_steps() {
        notes.push("Numbers with fractions, dates and times are in steps of equal width between their bounds, at most 1024, each shown by its middle.".to_string());
    }
    let mut details = Details::default();
    details.facts.insert("measured".to_string(), Value::Array(made.measured.iter().map(table).collect()));
    Answers { columns, notes, details }
}

/// About how far the noise alone puts the shares of a measured table: half of Σ E|noise| over its cells; at most 1.
fn distance(table: &synthetic::MeasuredTable, people: f64) -> f64 {
    let cells: f64 = table.bins.iter().map(|&bins| bins as f64).product();
    (0.4 * cells * table.sigma / people).min(1.0)
}
