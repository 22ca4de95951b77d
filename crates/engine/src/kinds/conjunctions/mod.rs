//! Kind `conjunctions`: one release, after which any conjunction of up to `width` literals is answered from what was
//! published.
//!
//! A literal is a binary column, or a comparison that makes one of another column, or the contrary. What is published
//! are noisy numbers about sets of few columns ([`scumble::workload::conjunctions`]); `scumble lookup` adds them up
//! ([`lookup`]).

mod literal;
mod lookup;

use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Cost, Project, Request};
use crate::release::field::{Field, PlacedValue, Word};
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::allowance::{ATTRIBUTE_COSTS, Allowance, Exceptions, delta_of_gaussian};
use crate::release::price::needs;
use crate::release::rows::fields::private_table;
use crate::release::rows::records;
use crate::release::rows::records::{Attributes, Records};
use crate::release::{CostAbout, Kind};
use literal::Test;
use scumble::event::Event;
use scumble::quantity::{Exact, Probability};
use scumble::workload::conjunctions::{self, BitLayout, ConjunctionCandidate, ConjunctionSummary, MOST_WIDTH, Measure};
use scumble::workload::planner::RhoLimits;
use scumble::workload::{Bits, NORMAL_95, sets};
use serde_json::{Value, json};
use std::rc::Rc;

pub use lookup::{LookupAnswer, lookup};

const COLUMNS: Field<Vec<PlacedValue<String>>> = Field::new(
    "columns",
    "binary columns, or comparisons such as `age >= 65` or `region = north`; if a value is missing, the comparison is false and its NOT is true",
);
const WIDTH: Field<PlacedValue<u64>> = Field::new("width", "the most literals of a conjunction");
const BIAS: Field<Option<PlacedValue<Probability>>> = Field::new(
    "bias",
    "a share of the owners (default: none) by which wide conjunctions may be off beside the noise, if that makes them better; needs `people`",
);
const PEOPLE: Field<Option<u64>> =
    Field::new("people", "about how many owners there are, from public knowledge: decides how much bias is best");
const MEASURE: Field<Option<MeasureWish>> = Field::new(
    "measure",
    "`parities`, `counts` (larger errors, but each number is readable) or `auto` (the default: the smaller error)",
);

/// What is counted, or the best.
#[derive(Clone, Copy)]
enum MeasureWish {
    This(Measure),
    Best,
}

impl Word for MeasureWish {
    const WORDS: &'static [(&'static str, Self)] =
        &[("parities", Self::This(Measure::Parities)), ("counts", Self::This(Measure::Counts)), ("auto", Self::Best)];

    fn unknown(_: &str) -> String {
        "measure must be 'parities', 'counts' or 'auto'".to_string()
    }
}

/// The kind `conjunctions`.
pub(crate) static KIND: Kind = Kind {
    name: "conjunctions",
    about: "numbers from which `scumble lookup` answers any conjunction of up to `width` columns or their negations, free",
    fields: &[
        records::FIELDS[0],
        COLUMNS.listed(),
        WIDTH.listed(),
        BIAS.listed(),
        PEOPLE.listed(),
        MEASURE.listed(),
        ATTRIBUTE_COSTS.listed(),
        records::FIELDS[3],
    ],
    cost_about: CostAbout::OwnersOrAttributes,
    analyse: |request, project| Ok(AnalysedRequest::new(Conjunctions::new(request, project)?)),
    ..Kind::COMMON
};

/// More numbers fill the memory of a small machine when they are written.
const MOST_NUMBERS: u64 = 2_000_000;

impl Analysis for Conjunctions {
    /// And what each attribute was granted.
    type Mechanism = (ChosenConjunctions, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (chosen, events, granted) = self.within(cost)?;
        Ok(Price { events, mechanism: (chosen, granted) })
    }

    fn plan(self: Rc<Self>, (chosen, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let ChosenConjunctions { plan, why } = chosen;
        let labels: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
        let rule = json!({
            "records": self.attributes.rule(), "columns": labels, "width": self.width, "degree": plan.polynomial().degree(), "bias": plan.polynomial().bias(),
            "measure": plan.measure().name(), "sigmas": plan.sigmas(), "public_people": plan.public_people(), "why": why, "granted": granted,
        });
        let memory = plan.numbers().saturating_mul(2 * needs::NUMBER + needs::LINE);
        let source = PlanSource::records(&self.attributes).holding(memory);
        let (expected, notes) = (expected(&plan, &why)?, notes(&self, &plan));
        let planned = Plan::new(source, events, rule, expected, move |charged| {
            let records = charged.read(&self.attributes)?;
            let summary = plan.release(&self.columns(&records)?, charged.bits())?;
            Ok(answers(&self, &plan, &summary, &labels))
        });
        Ok(Plan { notes, ..planned })
    }
}

/// A request of this kind.
struct Conjunctions {
    attributes: Attributes,
    tests: Vec<Test>,
    /// For each test the attribute that it is about, and for each of its codes whether it is true.
    bits: Vec<(usize, Vec<bool>)>,
    shape: BitLayout,
    width: usize,
    bias: Option<f64>,
    people: Option<u64>,
    measures: Vec<Measure>,
    exceptions: Exceptions,
    budget_delta: Option<Exact>,
    public_people: Option<u64>,
    place: Place,
}

/// The best way, and why.
struct ChosenConjunctions {
    plan: conjunctions::ConjunctionPlan,
    why: String,
}

impl Conjunctions {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let (tests, columns) = tests(request, project)?;
        let attributes = Attributes::of(columns, request, project, false, &[])?;
        let mut bits = Vec::new();
        for (test, place) in &tests {
            let attribute = attributes.names().iter().position(|name| name == test.column()).unwrap_or(0);
            let is_missing = |code: usize| attributes.is_missing(attribute, code);
            let truths = test.truths(&attributes.listed(attribute), is_missing);
            bits.push((attribute, truths.map_err(|error| error.or_at(place.clone()))?));
        }
        let of = |attribute: usize| bits.iter().filter(|(own, _)| *own == attribute).count();
        let shape = BitLayout::new((0..attributes.names().len()).map(of).collect())?;
        let (bias, people) = (bias(request)?, PEOPLE.read(request)?);
        let public_people = private_table(request, project)?.public_owners;
        if bias.is_some() && people.or(public_people).is_none() {
            return Err(BIAS.error(
                request,
                "the best bias depends on the number of owners: give people, about how many there are, from public \
                    knowledge",
            ));
        }
        Ok(Self {
            width: width(request, bits.len())?,
            bias,
            people: people.or(public_people),
            measures: match MEASURE.read(request)?.unwrap_or(MeasureWish::Best) {
                MeasureWish::This(measure) => vec![measure],
                MeasureWish::Best => Measure::ALL.to_vec(),
            },
            exceptions: Exceptions::read(request, attributes.names())?,
            budget_delta: project.budget.smallest_delta(),
            public_people,
            place: COLUMNS.place(request),
            tests: tests.into_iter().map(|(test, _)| test).collect(),
            attributes,
            bits,
            shape,
        })
    }

    /// The best way that this cost pays for, its events, and what each attribute pays of what it was granted.
    fn within(&self, cost: &Cost) -> Result<(ChosenConjunctions, Vec<Event>, Value)> {
        let names = self.attributes.names();
        let delta = delta_of_gaussian(cost, self.budget_delta.as_ref(), "conjunctions")?;
        let allowance = Allowance::of(cost, KIND.name, names, delta, &self.exceptions)?;
        let limits = RhoLimits { public_people: self.public_people, ..allowance.in_rho(names)? };
        let chosen = self.choose(&limits)?;
        let events = chosen.plan.events(names)?;
        let (events, granted) = allowance.charged(events, names, self.attributes.move_together())?;
        Ok((chosen, events, granted))
    }

    fn choose(&self, limits: &RhoLimits) -> Result<ChosenConjunctions> {
        let found = conjunctions::candidates(&self.shape, self.width, self.bias, self.people, &self.measures, limits);
        let mut found = found.map_err(|error| Error::from(error).or_at(self.place.clone()))?;
        let smallest = found.iter().map(|candidate| candidate.plan.numbers()).min().unwrap_or(0);
        found.retain(|candidate| candidate.plan.numbers() <= MOST_NUMBERS);
        let why = why(&found, self.bias, self.people);
        match found.into_iter().next() {
            Some(best) => Ok(ChosenConjunctions { plan: best.plan, why }),
            None => Err(Error::at(
                self.place.clone(),
                format!(
                    "{smallest} numbers would be published, and at most {MOST_NUMBERS} are: lower the width, allow a larger bias, or leave columns out"
                ),
            )),
        }
    }
}

/// Which way it is, and what it was compared with.
fn why(found: &[ConjunctionCandidate], bias: Option<f64>, people: Option<u64>) -> String {
    let words = |candidate: &ConjunctionCandidate| {
        let plan = &candidate.plan;
        let polynomial = match plan.polynomial().is_exact() {
            true => "inclusion and exclusion".to_string(),
            false => format!("degree {}", plan.polynomial().degree()),
        };
        let error =
            people.filter(|_| bias.is_some()).map_or(candidate.standard_error, |people| candidate.error(people));
        format!("{} by {polynomial} {error:.1}", plan.measure().name())
    };
    let all: Vec<String> = found.iter().take(5).map(words).collect();
    match (bias, found.first().map(|best| best.bias)) {
        (None, _) => {
            format!("no bias was allowed; the standard error of a conjunction of the full width: {}", all.join(", "))
        }
        (Some(bias), Some(0.0)) => format!(
            "without bias, although {bias} was allowed: it has the smallest error of a conjunction of the full width \
                (root mean square, at the largest bias): {}",
            all.join(", ")
        ),
        (Some(_), _) => format!(
            "it has the smallest error of a conjunction of the full width (root mean square, at the largest bias): {}",
            all.join(", ")
        ),
    }
}

/// The tests with their places, and the columns that they are about, each once.
#[allow(clippy::type_complexity)]
fn tests(request: &Request, project: &Project) -> Result<(Vec<(Test, Place)>, Vec<PlacedValue<String>>)> {
    let table = private_table(request, project)?;
    let (mut tests, mut columns): (Vec<(Test, Place)>, Vec<PlacedValue<String>>) = (Vec::new(), Vec::new());
    for said in COLUMNS.read(request)? {
        // A column may have a sign in its name.
        let is_column = table.columns.iter().any(|column| column.name == said.value);
        let test = if is_column { Test::Column(said.value.clone()) } else { Test::parse(&said.value) };
        if tests.iter().any(|(other, _)| *other == test) {
            return Err(said.error(format!("'{test}' is listed twice")));
        }
        if !columns.iter().any(|column| column.value == test.column()) {
            columns.push(PlacedValue { value: test.column().to_string(), place: said.place.clone() });
        }
        tests.push((test, said.place));
    }
    Ok((tests, columns))
}

fn bias(request: &Request) -> Result<Option<f64>> {
    let Some(bias) = BIAS.read(request)? else { return Ok(None) };
    match bias.value.get() {
        share if share > 0.0 && share < 1.0 => Ok(Some(share)),
        _ => Err(bias.error("bias must be above 0 and below 1; leave it out for none")),
    }
}

fn width(request: &Request, columns: usize) -> Result<usize> {
    let width = WIDTH.read(request)?;
    match usize::try_from(width.value) {
        Ok(number) if number <= columns.min(MOST_WIDTH) => Ok(number),
        _ => {
            Err(width
                .error(format!("{columns} columns have conjunctions of 1 to {} literals", columns.min(MOST_WIDTH))))
        }
    }
}

/// What somebody should know before this is released.
fn notes(asked: &Conjunctions, plan: &conjunctions::ConjunctionPlan) -> Vec<String> {
    let polynomial = plan.polynomial();
    let mut notes = Vec::new();
    if let (Some(bias), true) = (asked.bias, polynomial.is_exact()) {
        notes.push(format!("No bias is better than one of up to {bias} here: conjunctions are answered exactly, except for the noise (inclusion and exclusion)."));
    }
    if !polynomial.is_exact() {
        notes.push(format!(
            "Conjunctions of {} to {} literals have a bias of up to {:.1}% of the owners beside their noise; their intervals have it in them.",
            polynomial.degree() + 1,
            asked.width,
            100.0 * polynomial.bias()
        ));
    }
    notes
}

/// The error of conjunctions of each width.
fn expected(plan: &conjunctions::ConjunctionPlan, why: &str) -> Result<Vec<ExpectedError>> {
    let mut expected = Vec::new();
    for literals in 1..=plan.polynomial().width() {
        let (standard_error, bias) = plan.error(literals)?;
        let bias = match bias {
            0.0 => "no bias".to_string(),
            bias => format!("and a bias of up to {:.2}% of the owners", 100.0 * bias),
        };
        let about = format!("conjunctions of {literals} looked up; {bias}");
        expected.push(ExpectedError::new(number_name(plan.measure()), Some(standard_error), about));
    }
    if let Some(last) = expected.last_mut() {
        last.about += &format!("; {} of up to {} columns: {why}", plan.measure().name(), plan.polynomial().degree());
    }
    Ok(expected)
}

impl Conjunctions {
    /// The records as columns of bits.
    fn columns(&self, records: &Records) -> Result<Bits> {
        let column = |(attribute, truths): &(usize, Vec<bool>)| {
            records.columns[*attribute]
                .iter()
                .map(|code| truths.get(*code as usize).copied().unwrap_or(false))
                .collect()
        };
        Ok(Bits::new(&self.bits.iter().map(column).collect::<Vec<Vec<bool>>>())?)
    }
}

/// The column of noisy numbers, and that of the sets which they are about.
fn number_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Counts => "count",
        Measure::Parities => "balance",
    }
}

fn answers(
    asked: &Conjunctions,
    plan: &conjunctions::ConjunctionPlan,
    summary: &ConjunctionSummary,
    labels: &[String],
) -> Answers {
    let (mut names, mut noisy) = (Vec::new(), Vec::new());
    for (size, (numbers, sigma)) in summary.numbers().iter().zip(summary.sigmas()).enumerate() {
        let sets = sets(labels.len(), size);
        let each = (numbers.len() / sets.len().max(1)).max(1);
        for (set, numbers) in sets.iter().zip(numbers.chunks(each)) {
            for (values, number) in numbers.iter().enumerate() {
                names.push(Cell::Text(named(set, values, plan.measure(), labels).into()));
                // 95% of a normal law, and half a step of the noise.
                let half_width = if *sigma == 0.0 { 0.0 } else { NORMAL_95 * sigma + 0.5 };
                let around = Uncertainty::around(*number as f64, *sigma, half_width);
                noisy.push((Cell::Whole(i128::from(*number)), around));
            }
        }
    }
    let mut details = Details::default();
    details.facts.insert(lookup::FACT.to_string(), lookup::fact(asked, plan, summary, labels));
    let columns = vec![AnswerColumn::plain("columns", names), AnswerColumn::noisy(number_name(plan.measure()), noisy)];
    let mut said = vec![match plan.measure() {
        Measure::Counts => "`count` is the number of owners of whom all of these are true; the first row is the number of owners.",
        Measure::Parities => "`balance` is the number of owners of whom an even number of these columns is true, minus the number of whom an odd number is; the first row is the number of owners.",
    }
    .to_string()];
    said.push(format!(
        "`scumble lookup` answers any conjunction of up to {} of these columns or their contraries from this table, with its error, at no further cost.",
        asked.width
    ));
    said.extend(asked.attributes.note());
    Answers { columns, notes: said, details }
}

/// What a number is about.
fn named(set: &[usize], values: usize, measure: Measure, labels: &[String]) -> String {
    if set.is_empty() {
        return "(everybody)".to_string();
    }
    let literal = |(place, column): (usize, &usize)| match measure {
        Measure::Counts if values >> place & 1 == 0 => format!("NOT {}", labels[*column]),
        _ => labels[*column].clone(),
    };
    let parts: Vec<String> = set.iter().enumerate().map(literal).collect();
    parts.join(if measure == Measure::Counts { " AND " } else { ", " })
}
