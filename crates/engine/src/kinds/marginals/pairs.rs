//! The method `psd`: all tables of one and of two of up to 500 binary columns, without their product.
//!
//! So many tables have a layout of their own: two columns and their values, and not a column for each attribute.

use super::published::{ESTIMATE, FITTED, Labels, MarginalsForm};
use super::work::MethodChoice;
use crate::error::Result;
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::release::plan::ExpectedError;
use crate::release::rows::records::Attributes;
use scumble::noise::BitSource;
use scumble::workload::Bits;
use scumble::workload::psd::{ColumnPairs, Literal, MOST_COLUMNS, MeasuredPairs, ProjectedPairs};

/// Why the method cannot make these tables, in a sentence; none where it can.
pub(crate) fn refusal(attributes: &Attributes, order: usize, published: MarginalsForm) -> Option<String> {
    let columns = attributes.names().len();
    if published == MarginalsForm::Rows {
        return Some(
            "the method 'psd' makes tables of two columns and no rows: use kind marginals, or another method"
                .to_string(),
        );
    }
    if order != 2 {
        return Some(format!("the method 'psd' makes tables of 2 columns, and order is {order}"));
    }
    if !(2..=MOST_COLUMNS).contains(&columns) {
        return Some(format!("the method 'psd' takes 2 to {MOST_COLUMNS} columns, not {columns}"));
    }
    let mut sizes = attributes.names().iter().zip(attributes.sizes());
    let (name, size) = sizes.find(|(_, size)| *size != Some(2))?;
    let number = size.map_or_else(|| "unknown values".to_string(), |size| format!("{size} values"));
    Some(format!(
        "the method 'psd' takes columns of two values, and '{name}' has {number} (a missing value counts, unless \
            missing = \"never\")"
    ))
}

/// What to expect of the tables.
pub(crate) fn expected(pairs: &ColumnPairs, published: MarginalsForm, choice: &MethodChoice) -> Vec<ExpectedError> {
    let mut expected = Vec::new();
    if published.has_estimates() {
        for size in [1, 2] {
            let about = format!("tables of {size}: every cell");
            let error = ExpectedError::new(ESTIMATE, Some(pairs.cell_variance(size).sqrt()), about);
            expected.push(error.with_margin(pairs.half_width(size)));
        }
    }
    if published.has_model() {
        let about = "no standard error: depends on the data; all correlations together have at most the error of \
                unprojected ones";
        expected.push(ExpectedError::new(FITTED, None, about));
    }
    if let Some(last) = expected.last_mut() {
        last.about += &format!("; method {}: {}", choice.method.name(), choice.why);
    }
    expected
}

/// Measures, projects, and lists the cells of all tables.
pub(crate) fn answers(
    pairs: &ColumnPairs,
    columns: &[Vec<u32>],
    labels: &Labels<'_>,
    published: MarginalsForm,
    mut notes: Vec<String>,
    bits: &mut dyn BitSource,
) -> Result<Answers> {
    let truths: Vec<Vec<bool>> = columns.iter().map(|column| column.iter().map(|code| *code == 1).collect()).collect();
    let measured = pairs.release(&Bits::new(&truths)?, bits)?;
    let projected = published.has_model().then(|| measured.projected()).transpose()?;
    let mut table = PairTable::new(pairs, &measured, projected.as_ref(), labels, published);
    for column in 0..labels.names.len() {
        [false, true].into_iter().for_each(|value| table.add((column, value), None));
    }
    for left in 0..labels.names.len() {
        for right in left + 1..labels.names.len() {
            for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                table.add((left, x), Some((right, y)));
            }
        }
    }
    notes.insert(0, note(published, projected.as_ref()));
    if let Some(people) = pairs.noise().0.number() {
        notes.insert(
            1,
            format!(
                "All tables add up to the declared public_owners = {people}; if that is wrong by x, \
            each cell of a table of c cells is off by x/c beyond its interval."
            ),
        );
    }
    Ok(table.answers(notes))
}

fn note(published: MarginalsForm, projected: Option<&ProjectedPairs>) -> String {
    let mut note = String::new();
    if published.has_estimates() {
        note += "`estimate` is unbiased, and its standard error holds for every cell; it may be negative, and all \
            tables agree with each other.";
    }
    if let Some(projected) = projected {
        note += " `fitted` has the nearest correlations that any table could have (no negative eigenvalue), and the \
            same single columns: it has no standard error (that of `estimate` is not its own), and may be negative.";
        note += &format!(
            " The correlations are at most {:.1e} off the nearest ones (root mean square; a certificate).",
            projected.distance()
        );
    }
    note.trim_start().to_string()
}

/// The cells of all tables, one after the other.
struct PairTable<'a> {
    pairs: &'a ColumnPairs,
    measured: &'a MeasuredPairs,
    projected: Option<&'a ProjectedPairs>,
    labels: &'a Labels<'a>,
    keys: [Vec<Cell>; 4],
    estimates: Option<Vec<(Cell, Uncertainty)>>,
    fitted: Option<Vec<Cell>>,
}

impl<'a> PairTable<'a> {
    fn new(
        pairs: &'a ColumnPairs,
        measured: &'a MeasuredPairs,
        projected: Option<&'a ProjectedPairs>,
        labels: &'a Labels<'a>,
        published: MarginalsForm,
    ) -> Self {
        let estimates = published.has_estimates().then(Vec::new);
        let fitted = projected.map(|_| Vec::new());
        Self { pairs, measured, projected, labels, keys: Default::default(), estimates, fitted }
    }

    /// A cell of the table of one column, or of two.
    fn add(&mut self, left: Literal, right: Option<Literal>) {
        let name = |literal: Literal| Cell::Text(self.labels.names[literal.0].as_str().into());
        let value = |literal: Literal| self.labels.value(literal.0, u32::from(literal.1));
        let keys = [name(left), value(left), right.map_or(Cell::Null, name), right.map_or(Cell::Null, value)];
        self.keys.iter_mut().zip(keys).for_each(|(column, cell)| column.push(cell));
        let estimate = right.map_or_else(|| self.measured.one(left), |right| self.measured.both(left, right));
        let size = 1 + usize::from(right.is_some());
        if let Some(noisy) = &mut self.estimates {
            let (standard_error, half_width) = (self.pairs.cell_variance(size).sqrt(), self.pairs.half_width(size));
            noisy.push((Cell::Number(estimate), Uncertainty::around(estimate, standard_error, half_width)));
        }
        if let (Some(cells), Some(projected)) = (&mut self.fitted, self.projected) {
            // A single column is the same in both.
            cells.push(Cell::Number(right.map_or(estimate, |right| projected.both(left, right))));
        }
    }

    fn answers(self, notes: Vec<String>) -> Answers {
        let names = ["first", "first_value", "second", "second_value"].into_iter();
        let mut columns: Vec<_> = names.zip(self.keys).map(|(name, cells)| AnswerColumn::plain(name, cells)).collect();
        columns.extend(self.estimates.map(|noisy| AnswerColumn::noisy(ESTIMATE, noisy)));
        columns.extend(self.fitted.map(|cells| AnswerColumn::of_unknown_error(FITTED, cells)));
        Answers { columns, notes, details: Details::default() }
    }
}
