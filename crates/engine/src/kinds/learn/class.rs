//! Finite classes of rules, by the exponential mechanism over their mistakes.

use super::{ALPHA, LearnRequest, LearntRule, Promise, equals, fitted, plan};
use crate::error::{Error, Result};
use crate::project::{Cost, Request};
use crate::release::output::{BETA, Cell};
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::rows::fields::quoted;
use crate::release::rows::records;
use crate::release::rows::records::Records;
use scumble::event::Event;
use scumble::learn::generic::GenericLearner;
use scumble::learn::halfspace::HalfspaceLearner;
use scumble::quantity::{Beta, Epsilon};
use scumble::scope::AttributeSet;
use serde_json::json;
use std::collections::HashSet;
use std::rc::Rc;

/// How many owners have label 0 and label 1, for each combination of values of the columns.
pub(crate) type LabelCounts = Vec<[u64; 2]>;

/// From counts to the mistakes of every rule.
type Mistakes = dyn Fn(&LabelCounts) -> Vec<u64>;

/// A class of rules, all of them public.
pub(crate) struct RuleClass {
    /// What kind of rules they are, for people.
    pub(crate) called: String,
    /// How many values each column has, missing ones included: a combination's place is the number with these digits.
    pub(crate) sizes: Vec<usize>,
    /// How many rules there are.
    pub(crate) rules: usize,
    /// The condition of a rule.
    pub(crate) condition: Box<dyn Fn(usize) -> String>,
    /// The mistakes of every rule.
    pub(crate) mistakes: Box<Mistakes>,
}

/// A larger domain or class is refused.
const MOST_CELLS: usize = 1_000_000;
/// The columns of a halfspace: all whole weights of a given sum are tried out.
pub(super) const MOST_BOOLS: usize = 6;
/// Rules times combinations.
const MOST_EVALUATIONS: usize = 1_000_000_000;

/// The combinations of values of the columns, missing ones included.
pub(crate) fn sizes(asked: &LearnRequest, request: &Request, most: usize) -> Result<(Vec<usize>, usize)> {
    let sizes: Vec<usize> = asked.domain.iter().map(Vec::len).collect();
    let cells = sizes.iter().try_fold(1usize, |cells, size| cells.checked_mul(*size)).filter(|cells| *cells <= most);
    let cells = cells.ok_or_else(|| {
        records::COLUMNS.error(
            request,
            format!("the columns have more than {most} combinations of values: take fewer, or coarser ones"),
        )
    })?;
    Ok((sizes, cells))
}

/// The values of a combination, as codes.
pub(crate) fn digits(sizes: &[usize], mut cell: u128) -> Vec<usize> {
    let mut digits = vec![0; sizes.len()];
    for (digit, size) in digits.iter_mut().zip(sizes).rev() {
        (*digit, cell) = ((cell % *size as u128) as usize, cell / *size as u128);
    }
    digits
}

pub(crate) fn counts(asked: &LearnRequest, records: &Records, sizes: &[usize]) -> LabelCounts {
    let mut counts = vec![[0; 2]; sizes.iter().product()];
    for record in 0..records.number() {
        let cell =
            sizes.iter().zip(&records.columns).fold(0, |cell, (size, column)| cell * size + column[record] as usize);
        counts[cell][usize::from(asked.is_positive(records, record))] += 1;
    }
    counts
}

/// All points of the domain, and the rule that is never true.
pub(crate) fn points(asked: &LearnRequest, request: &Request) -> Result<RuleClass> {
    let (sizes, cells) = sizes(asked, request, MOST_CELLS)?;
    let (columns, domain) = (asked.columns().to_vec(), asked.domain.clone());
    // A missing value is nobody's point.
    let is_whole = |cell: &usize| {
        digits(&sizes, *cell as u128).iter().zip(&domain).all(|(code, values)| values[*code] != Cell::Null)
    };
    let points: Rc<Vec<usize>> = Rc::new((0..cells).filter(is_whole).collect());
    let (of, radix) = (Rc::clone(&points), sizes.clone());
    let condition = move |rule: usize| match of.get(rule) {
        None => "FALSE".to_string(),
        Some(cell) => {
            let parts = digits(&radix, *cell as u128).into_iter().zip(&columns).zip(&domain);
            let parts = parts.map(|((code, name), values)| equals(name, values, &values[code]));
            parts.collect::<Vec<_>>().join(" AND ")
        }
    };
    let rules = points.len() + 1;
    let mistakes = move |counts: &LabelCounts| {
        let ones: u64 = counts.iter().map(|[_, ones]| ones).sum();
        let of_point = |cell: &usize| ones - counts[*cell][1] + counts[*cell][0];
        points.iter().map(of_point).chain([ones]).collect()
    };
    let (condition, mistakes) = (Box::new(condition), Box::new(mistakes));
    Ok(RuleClass { called: "points".to_string(), sizes, rules, condition, mistakes })
}

/// At least, or below, each number of one column; never and always among them.
pub(crate) fn thresholds(asked: &LearnRequest, request: &Request) -> Result<RuleClass> {
    let (sizes, _) = sizes(asked, request, MOST_CELLS)?;
    let numbers: Vec<i128> = match &asked.domain[..] {
        [values] => values.iter().filter_map(|cell| if let Cell::Whole(n) = cell { Some(*n) } else { None }).collect(),
        _ => Vec::new(),
    };
    if numbers.is_empty() {
        return Err(records::COLUMNS.error(request, "a threshold is over one column of type int with bounds"));
    }
    let (name, size) = (quoted(&asked.columns()[0]), numbers.len());
    // Rule 2i is 'at least the i-th number', 2i + 1 'below it'; a missing number is neither.
    let condition = move |rule: usize| match (rule / 2, rule % 2) {
        (0, 0) => format!("{name} IS NOT NULL"),
        (0, _) => "FALSE".to_string(),
        (place, side) => format!("{name} {} {}", if side == 0 { ">=" } else { "<" }, numbers[place]),
    };
    let mistakes = move |counts: &LabelCounts| {
        // Missing numbers are predicted 0 by every rule.
        let missing: u64 = counts[size..].iter().map(|[_, ones]| ones).sum();
        let (zeros, ones) = counts[..size].iter().fold((0, 0), |(zeros, ones), cell| (zeros + cell[0], ones + cell[1]));
        let (mut zeros_below, mut ones_below) = (0, 0);
        let mut mistakes = Vec::with_capacity(2 * size);
        for [zeros_here, ones_here] in &counts[..size] {
            mistakes.push(missing + ones_below + (zeros - zeros_below));
            mistakes.push(missing + zeros_below + (ones - ones_below));
            (zeros_below, ones_below) = (zeros_below + zeros_here, ones_below + ones_here);
        }
        mistakes
    };
    let (condition, mistakes) = (Box::new(condition), Box::new(mistakes));
    Ok(RuleClass { called: "thresholds".to_string(), sizes, rules: 2 * size, condition, mistakes })
}

/// Weighted sums of bool columns (1 if true, else −1) and a constant, with whole weights whose sizes add up to one more
/// than there are columns; of rules that agree everywhere one.
pub(crate) fn halfspaces(asked: &LearnRequest, request: &Request) -> Result<RuleClass> {
    asked.only_bools(request, "halfspace")?;
    let columns: Vec<String> = asked.columns().iter().map(|name| quoted(name)).collect();
    let dimension = columns.len();
    if dimension > MOST_BOOLS {
        return Err(records::COLUMNS
            .error(request, format!("a halfspace is over 1 to {MOST_BOOLS} columns here, not {dimension}")));
    }
    let kept = distinct_halfspaces(dimension)?;
    let (sizes, cells) = sizes(asked, request, MOST_CELLS)?;
    let combinations: Vec<Vec<usize>> = (0..cells).map(|cell| digits(&sizes, cell as u128)).collect();
    let table = |weights: &Vec<i32>| combinations.iter().map(|values| is_above(weights, values)).collect();
    let tables = kept.iter().map(table).collect();
    let condition = move |rule: usize| weighted(&columns, &kept[rule]);
    of_tables("halfspaces", sizes, tables, Box::new(condition), request)
}

/// Whole weights of bool columns whose sizes add up to one more than there are columns, and a constant behind them; of
/// halfspaces that agree everywhere one.
pub(super) fn distinct_halfspaces(columns: usize) -> Result<Vec<Vec<i32>>> {
    let mut all = HalfspaceLearner::net(columns + 1, columns as u32 + 1)?;
    let points: Vec<Vec<usize>> = (0..1 << columns).map(|point| digits(&vec![2; columns], point)).collect();
    let mut seen: HashSet<Vec<bool>> = HashSet::new();
    all.retain(|weights| seen.insert(points.iter().map(|point| is_above(weights, point)).collect()));
    Ok(all)
}

/// Whether a weighted sum of codes (1 if it is that of true, else −1) and the constant behind the weights is at least
/// 0.
fn is_above(weights: &[i32], codes: &[usize]) -> bool {
    let terms = weights.iter().zip(codes).map(|(weight, code)| if *code == 1 { *weight } else { -weight });
    terms.sum::<i32>() + weights[codes.len()] >= 0
}

/// The condition that a weighted sum of quoted columns (1 if true, else −1) and the constant behind the weights is at
/// least 0.
pub(super) fn weighted(columns: &[String], weights: &[i32]) -> String {
    let term = |(name, weight): (&String, &i32)| format!("{weight} * CASE WHEN {name} IS TRUE THEN 1 ELSE -1 END");
    let mut terms: Vec<String> = columns.iter().zip(weights).filter(|(_, weight)| **weight != 0).map(term).collect();
    terms.extend(weights.get(columns.len()).map(i32::to_string));
    format!("{} >= 0", terms.join(" + "))
}

/// Rules that are known by what they say of every combination.
pub(crate) fn of_tables(
    called: &str,
    sizes: Vec<usize>,
    tables: Vec<Vec<bool>>,
    condition: Box<dyn Fn(usize) -> String>,
    request: &Request,
) -> Result<RuleClass> {
    let cells: usize = sizes.iter().product();
    if tables.len().saturating_mul(cells) > MOST_EVALUATIONS {
        return Err(records::COLUMNS
            .error(request, "there are too many rules for so many combinations of values: take fewer columns"));
    }
    let rules = tables.len();
    let mistakes = move |counts: &LabelCounts| {
        let wrong = |(says, counts): (&bool, &[u64; 2])| counts[usize::from(!says)];
        tables.iter().map(|table| table.iter().zip(counts).map(wrong).sum::<u64>()).collect()
    };
    Ok(RuleClass { called: called.to_string(), sizes, rules, condition, mistakes: Box::new(mistakes) })
}

/// One rule of a class.
pub(crate) fn analysed(class: RuleClass, asked: LearnRequest) -> Result<AnalysedRequest> {
    let all = asked.all()?;
    Ok(AnalysedRequest::new(ClassAnalysis { class: Rc::new(class), asked: Rc::new(asked), all }))
}

/// One rule of a class.
struct ClassAnalysis {
    class: Rc<RuleClass>,
    asked: Rc<LearnRequest>,
    /// What is read.
    all: AttributeSet,
}

impl Analysis for ClassAnalysis {
    type Mechanism = GenericLearner;

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let moves = GenericLearner::new(Epsilon::new(1.0)?)?.events(Some(&self.all))?.remove(0).moves().clone();
        let coefficient = fitted(cost, &moves, true)?.quantiles[0];
        let learner = GenericLearner::new(coefficient)
            .map_err(|_| Error::input("no rule can be learnt within this cost: raise it"))?;
        let events = learner.events(Some(&self.all))?;
        Ok(Price { events, mechanism: learner })
    }

    fn plan(self: Rc<Self>, learner: GenericLearner, events: Vec<Event>) -> Result<Plan> {
        let (class, asked) = (Rc::clone(&self.class), Rc::clone(&self.asked));
        let more = learner.error(Beta::new(BETA)?, class.rules as u64)?.floor();
        let owners = learner.rows_needed(ALPHA, Beta::new(BETA)?, class.rules as u64)?.ceil();
        let (rules, called) = (class.rules, class.called.clone());
        let about = format!(
            "one of {rules} {called}; with probability 95% it makes at most {more} mistakes more than the best of them"
        );
        let said = format!(
            "One of {rules} {called}. With probability 95% it makes at most {more} mistakes more than the best of them; their number is not published."
        );
        let promise = Promise {
            about,
            notes: vec![format!(
                "If one of the rules is always right, {owners} owners are enough to learn one that errs on at most 5% of the people they were drawn from, with probability 90%."
            )],
            rule: json!({ "concept": called, "rules": rules, "coefficient": learner.coefficient().get(), "mistakes_above_best": more, "owners_for_5_percent": owners }),
        };
        plan(asked.clone(), promise, events, move |records, bits| {
            let mistakes = (class.mistakes)(&counts(&asked, records, &class.sizes));
            let chosen = learner.release(&mistakes, bits)?;
            Ok(LearntRule { condition: Some((class.condition)(chosen)), notes: vec![said.clone()] })
        })
    }
}
