//! What the plan says of quotients: from which divisor on their interval has ends, and is narrow.
//!
//! A quotient's interval has no ends where its divisor may be 0, which small groups print as "unbounded" or as −300%.
//! How large a divisor has to be follows from its noise alone, and how large it is expected to be from `expected_rows`.

use super::QueryMechanism;
use super::expected::{made_up_cells, made_up_key};
use super::made::formula;
use super::noisy::{NoisyIntegers, key_columns};
use super::spread::{NoiseLaw, half_width};
use super::uncertainty::is_sum;
use crate::error::Result;
use crate::release::output::BETA;
use crate::sql::PrivateQuery;
use crate::sql::above::derivation::Derivation;
use crate::sql::above::formula::{BoxedRow, Degree, Formula, Order, Span};
use crate::sql::above::{self, Output};
use crate::sql::analyse::query::Summand;
use crate::tables::Backend;
use datafusion::arrow::datatypes::DataType;
use std::cell::RefCell;

/// A divisor of this many margins is well away from 0: its own noise moves the quotient by a tenth.
const WELL_AWAY: f64 = 10.0;

/// A sentence for each column that divides by a number with noise.
pub(crate) fn notes(cut: &PrivateQuery, private: &QueryMechanism, rows: u64) -> Result<Vec<String>> {
    let cells = vec![made_up_cells(&cut.query.measures, private.quantiles.len(), rows).remove(0)];
    let cell = NoisyIntegers { keys: vec![made_up_key(cut)?], cells };
    let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
    let read = outputs.iter().filter(|output| output.is_number && !output.windowed && !output.aggregates.is_empty());
    let notes =
        read.map(|output| Ok(divisor(cut, private, output, &cell)?.map(|found| found.words(&output.name, rows))));
    Ok(notes.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The number that a column divides by.
struct NoisyDivisor {
    /// Half of its 95% interval.
    margin: f64,
    /// What it is in a made-up cell.
    expected: f64,
    /// Whether numbers of rows are divided by numbers of rows.
    is_share: bool,
}

impl NoisyDivisor {
    fn words(&self, column: &str, rows: u64) -> String {
        let (margin, enough) = (shown(self.margin), shown(WELL_AWAY * self.margin));
        let is_near = self.expected < WELL_AWAY * self.margin;
        let warning = if is_near { "Warning: " } else { "" };
        let expected = if is_near {
            format!(" (about {} is expected, for {rows} rows)", shown(self.expected))
        } else {
            String::new()
        };
        let share =
            if self.is_share { " A share as AVG(CASE WHEN … THEN 1 ELSE 0 END) stays between 0 and 1." } else { "" };
        format!(
            "{warning}{column} divides by a number with noise of ±{margin}: where that is below {margin}, nothing is known, and it should be {enough} or more{expected}.{share}"
        )
    }
}

/// To two digits or to whole numbers.
fn shown(number: f64) -> String {
    if number >= 10.0 { format!("{:.0}", number.ceil()) } else { format!("{number:.2}") }
}

/// The divisor of a column whose margin is largest compared with what is expected.
fn divisor(
    cut: &PrivateQuery,
    private: &QueryMechanism,
    output: &Output,
    cell: &NoisyIntegers,
) -> Result<Option<NoisyDivisor>> {
    let query = &cut.query;
    let number = |kind: &DataType| if *kind == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
    let fields = cut.aggregate.schema.fields().iter().skip(query.keys.len());
    let kinds: Vec<DataType> =
        query.keys.iter().map(|key| key.kind.clone()).chain(fields.map(|field| number(field.data_type()))).collect();
    let derivation = Derivation::new(&output.expression, &cut.aggregate, &kinds, Backend::empty()?)?;
    let sums = |aggregate: usize| is_sum(&query.aggregates[aggregate]);
    let found: RefCell<Vec<(Formula, Formula)>> = RefCell::default();
    derivation.formula.replaced(&|part| {
        if let Formula::Quotient(above, below) = part
            && below.degree(&sums) == Degree::Linear
        {
            found.borrow_mut().push((above.as_ref().clone(), below.as_ref().clone()));
        }
        None
    });
    let keys = key_columns(cut, &cell.keys)?;
    let read: Vec<_> = derivation.keys.iter().map(|key| keys[*key].clone()).collect();
    let given = derivation.given(&read, 1)?;
    let points: Vec<Span> = cell.cells[0].sums.iter().map(|sum| Span::point(*sum as f64)).collect();
    let made = |part: &Formula| {
        part.replaced(&|part| match part {
            Formula::Noisy(aggregate) => Some(formula(&query.aggregates[*aggregate], &Formula::Noisy)),
            _ => None,
        })
    };
    let counts = |part: &Formula| {
        let is_count =
            |measure: usize| !matches!(query.measures[measure].what, Summand::Steps { .. } | Summand::Squares { .. });
        part.degree(&sums) < Degree::Other && made(part).noisy().into_iter().all(is_count)
    };
    let one = |(above, below): &(Formula, Formula)| {
        let here = made(below).enclosed(BoxedRow { given: &given[0], noisy: &points }, Order::Slopes);
        let slopes = here.slopes.as_ref().filter(|_| here.is_number())?;
        let factors = slopes.first.iter().zip(&private.noises);
        let noises: Vec<_> = factors.map(|(slope, noise)| (slope.middle(), NoiseLaw::of(noise))).collect();
        let far = |place: usize, parts: usize| private.noises[place].quantile(BETA / parts as f64);
        let (margin, expected) = (half_width(&noises, &far), here.span.middle().abs());
        Some(NoisyDivisor { margin, expected, is_share: counts(above) && counts(below) })
    };
    let all = found.into_inner();
    let worst = |one: &NoisyDivisor, other: &NoisyDivisor| {
        (one.margin * other.expected).total_cmp(&(other.margin * one.expected))
    };
    Ok(all.iter().filter_map(one).filter(|one| one.margin > 0.0).max_by(worst))
}
