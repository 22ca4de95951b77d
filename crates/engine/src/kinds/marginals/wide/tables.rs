//! The published tables of wide releases, one row a cell: held where they are few, else made and written a part at a
//! time.

use super::WideMarginals;
use crate::error::Result;
use crate::release::output::{AnswerColumn, Answers, Cell, Details, LongTable, Uncertainty};
use scumble::noise::BitSource;
use scumble::workload::wide::Records;
use scumble::workload::wide::marginals;
use std::sync::Arc;

/// More cells are made and written a part at a time.
const MOST_HELD: u64 = 500_000;
/// A part has tables of about this many cells.
const PART_CELLS: usize = 1 << 17;

/// Tables in long form: the columns of each table and their values, side by side.
pub(crate) fn published(
    asked: &WideMarginals,
    plan: &marginals::MarginalPlan,
    people: &Records,
    values: Vec<Vec<Cell>>,
    bits: &mut dyn BitSource,
) -> Result<Answers> {
    let tables = WideTables {
        measured: plan.release(people, bits)?,
        names: asked.attributes.names().to_vec(),
        values,
        order: asked.order,
        has_estimates: asked.published.has_estimates() || !asked.has_fitted(),
        has_fitted: asked.has_fitted(),
    };
    let mut notes = tables.notes();
    let sets: Vec<Vec<usize>> = asked.tables().collect();
    let cells: u64 = sets.iter().map(|set| tables.cells(set) as u64).sum();
    let mut details = Details::default();
    let columns = if cells <= MOST_HELD {
        tables.columns(&sets)?
    } else {
        let long = long(tables, sets, PART_CELLS);
        notes.push(long.note());
        let first = long.first()?;
        details.long = Some(long);
        first
    };
    Ok(Answers { columns, notes, details })
}

/// The same, made and written a part at a time.
fn long(tables: WideTables, sets: Vec<Vec<usize>>, part_cells: usize) -> LongTable {
    let (mut starts, mut part, mut cells) = (vec![0], 0, 0);
    for (place, set) in sets.iter().enumerate() {
        if part >= part_cells {
            starts.push(place);
            part = 0;
        }
        part += tables.cells(set);
        cells += tables.cells(set) as u64;
    }
    LongTable::new(cells, move |number| {
        let Some(&start) = starts.get(number) else { return Ok(None) };
        let end = starts.get(number + 1).copied().unwrap_or(sets.len());
        tables.columns(&sets[start..end]).map(Some)
    })
}

/// All that the published tables are made of.
struct WideTables {
    measured: marginals::MeasuredMarginals,
    names: Vec<String>,
    values: Vec<Vec<Cell>>,
    order: usize,
    has_estimates: bool,
    has_fitted: bool,
}

impl WideTables {
    fn cells(&self, table: &[usize]) -> usize {
        table.iter().map(|&column| self.measured.plan().sizes()[column] as usize).product()
    }

    /// The rows of some of the tables.
    fn columns(&self, tables: &[Vec<usize>]) -> Result<Vec<AnswerColumn>> {
        let fitted = self.has_fitted.then(|| self.measured.fitted());
        let mut of_columns: Vec<(Vec<Cell>, Vec<Cell>)> = vec![(Vec::new(), Vec::new()); self.order];
        let (mut estimates, mut bars, mut fits) = (Vec::new(), Vec::new(), Vec::new());
        for table in tables {
            self.name(table, &mut of_columns);
            if self.has_estimates {
                let estimate = self.measured.marginal(table)?;
                bars.extend(self.bars(table, &estimate));
                estimates.extend(estimate.into_iter().map(Cell::Number));
            }
            if let Some(fitted) = &fitted {
                fits.extend(fitted.marginal(table)?.into_iter().map(Cell::Number));
            }
        }
        let mut columns = Vec::new();
        for (place, (own, values)) in of_columns.into_iter().enumerate() {
            columns.push(AnswerColumn::plain(format!("column_{}", place + 1), own));
            columns.push(AnswerColumn::plain(format!("value_{}", place + 1), values));
        }
        if self.has_estimates {
            columns.push(AnswerColumn { uncertainty: Some(bars), ..AnswerColumn::plain("estimate", estimates) });
        }
        if self.has_fitted {
            columns.push(AnswerColumn::of_unknown_error("fitted", fits));
        }
        Ok(columns)
    }

    /// The columns and values of the cells of a table. Every part has its own texts: two processors that count the
    /// holders of one text wait for each other.
    fn name(&self, table: &[usize], of_columns: &mut [(Vec<Cell>, Vec<Cell>)]) {
        let (sizes, cells) = (self.measured.plan().sizes(), self.cells(table));
        for (place, (columns, own)) in of_columns.iter_mut().enumerate() {
            let Some(&column) = table.get(place) else {
                columns.resize(columns.len() + cells, Cell::Null);
                own.resize(own.len() + cells, Cell::Null);
                continue;
            };
            columns.resize(columns.len() + cells, Cell::Text(self.names[column].as_str().into()));
            let values: Vec<Cell> = self.values[column].iter().map(as_text).collect();
            let below: usize = table[place + 1..].iter().map(|&later| sizes[later] as usize).product();
            own.extend((0..cells).map(|cell| values[cell / below % values.len()].clone()));
        }
    }

    fn bars(&self, table: &[usize], estimate: &[f64]) -> impl Iterator<Item = Uncertainty> {
        let plan = self.measured.plan();
        let standard_error = plan.cell_variance(table).unwrap_or(f64::NAN).sqrt();
        let half = plan.half_width(table).unwrap_or(f64::INFINITY);
        estimate.iter().map(move |&own| Uncertainty::around(own, standard_error, half))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.has_estimates {
            notes.push(
                "`estimate` is unbiased, and its standard error holds for tables of every size; it may be \
                negative, and all tables agree with each other."
                    .to_string(),
            );
        }
        if self.has_fitted {
            notes.push(
                "`fitted` is not negative, and all tables agree with each other; it has no standard error, and \
                small counts are too large in it on average, others too small, so that means and shares from it are \
                biased."
                    .to_string(),
            );
        }
        let people = self.measured.plan().public_people();
        notes.extend(people.map(|people| format!("All tables add up to the declared public_owners = {people}.")));
        notes
    }
}

/// A value as a text with letters of its own.
fn as_text(value: &Cell) -> Cell {
    match value {
        Cell::Text(text) => Cell::Text(Arc::from(&**text)),
        other => Cell::Text(other.text().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::noise::InsecureSeededSource;
    use scumble::quantity::Rho;
    use scumble::workload::planner::RhoLimits;
    use scumble::workload::wide::marginals::{MarginalPlan, sets_of_size};

    /// However the rows are cut into parts, they are those of the whole table, in its order, and the files are the
    /// same.
    #[test]
    fn parts_are_the_table() {
        let sizes = [3, 2, 4, 2];
        let limits = RhoLimits { presence: Some(Rho::new(0.5).unwrap()), ..RhoLimits::default() };
        let plan = MarginalPlan::within(&limits, &sizes, 2).unwrap();
        let columns = sizes.iter().map(|size| (0..50).map(|person| (person * 7 + 3) % size).collect()).collect();
        let people = Records::new(sizes.to_vec(), columns).unwrap();
        let tables = || WideTables {
            measured: plan.release(&people, &mut InsecureSeededSource::new(1)).unwrap(),
            names: ["a", "b", "c", "d"].map(String::from).to_vec(),
            values: sizes.iter().map(|size| (0..*size).map(|code| Cell::Whole(code.into())).collect()).collect(),
            order: 2,
            has_estimates: true,
            has_fitted: true,
        };
        let sets: Vec<Vec<usize>> = (1..=2).flat_map(|size| sets_of_size(4, size)).collect();
        let whole = tables().columns(&sets).unwrap();
        let answers =
            |columns, long| Answers { columns, notes: Vec::new(), details: Details { long, ..Details::default() } };
        let held = answers(whole.clone(), None);
        for part_cells in [1, 5, 12, 1000] {
            let long = long(tables(), sets.clone(), part_cells);
            assert_eq!(long.rows, 3 + 2 + 4 + 2 + 6 + 12 + 6 + 8 + 4 + 8);
            let cut = answers(long.first().unwrap(), Some(long));
            assert_eq!(cut.csv().unwrap(), held.csv().unwrap());
            let mut joined = whole.clone();
            joined.iter_mut().for_each(|column| column.cells.clear());
            let mut number = 0;
            let join = |part: Vec<AnswerColumn>| {
                number += 1;
                joined.iter_mut().zip(part).for_each(|(own, more)| own.cells.extend(more.cells));
                Ok(())
            };
            cut.each_part(|part| Ok(part.to_vec()), join).unwrap();
            assert_eq!((number > 1, cut.all_rows()), (part_cells < 1000, held.all_rows()));
            // As text: an error that is not known is not equal to itself.
            assert_eq!(format!("{joined:?}"), format!("{whole:?}"));
        }
    }
}
