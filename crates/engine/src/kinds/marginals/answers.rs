//! What is published: tables in long form, or rows.

use super::pairs;
use super::published::{Bar, ESTIMATE, FITTED, Labels, MarginalsForm};
use super::work::{FittedMarginals, MarginalsMethod, MethodChoice};
use crate::error::{Error, Result};
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::release::plan::ExpectedError;
use scumble::quantity::Rho;
use scumble::workload::planner::RhoLimits;
use scumble::workload::{CountModel, Domain, Subset};

/// More made-up rows help nobody and fill the memory.
pub(crate) const MOST_ROWS: f64 = 1e7;
/// Where the number of people has a larger standard error, their rows would be made up of noise, and take minutes.
const MOST_NOISE: f64 = 1e6;

/// Refuses a cost for which the number of rows would be noise.
pub(crate) fn refuse_noise_alone(limits: &RhoLimits) -> Result<()> {
    let rho = [limits.presence, limits.person].into_iter().flatten().map(Rho::get).fold(f64::INFINITY, f64::min);
    // All of ρ for the number of people alone is a standard error of 1/√(2ρ).
    if limits.public_people.is_some() || 0.5 / rho <= MOST_NOISE * MOST_NOISE {
        return Ok(());
    }
    Err(Error::input(format!(
        "at this cost the number of people has a standard error above {MOST_NOISE}, and rows would be noise alone: \
            raise the cost, or declare public_owners"
    )))
}

/// The published columns.
pub(crate) fn answers(
    work: &MarginalsMethod,
    fitted: &FittedMarginals,
    labels: &Labels<'_>,
    tables: &[Subset],
    published: MarginalsForm,
    mut notes: Vec<String>,
) -> Result<Answers> {
    let mut details = Details::default();
    let columns = match (published, &fitted.model) {
        (MarginalsForm::Rows, Some(model)) => {
            let (model, scaled) = publishable(model, tables)?;
            notes.extend(scaled);
            rows(&model, labels)
        }
        _ => {
            let (columns, bars) = long_form(work, fitted, labels, tables)?;
            details.bars = bars;
            columns
        }
    };
    let mut first = vec![note(work, published).to_string()];
    // A projection's unbiased estimates do not know the number of people; those of the residual release do.
    first.extend(work.public_people().map(|people| match fitted.distance {
        Some(_) => format!("The fitted tables add up to the declared public_owners = {people}."),
        None => format!(
            "All tables add up to the declared public_owners = {people}; if that is wrong by x, each cell \
            of a table of c cells is off by x/c beyond its interval."
        ),
    }));
    first.extend(fitted.distance.map(|distance| {
        format!("The projection is at most {distance:.3} off the exact one (root mean square of the answers).")
    }));
    first.extend(notes);
    Ok(Answers { columns, notes: first, details })
}

fn note(work: &MarginalsMethod, published: MarginalsForm) -> &'static str {
    match (published, work) {
        (MarginalsForm::Rows, _) => {
            "The rows are synthetic: they are a table of counts that was fitted to noisy numbers, and no row is \
                anybody's. Their counts have no standard error: small ones are too large on average, others too \
                small, so means of the rows are biased where people are few for the noise."
        }
        (MarginalsForm::Tables, MarginalsMethod::Residual(_)) => {
            "`estimate` is unbiased, and its standard error holds for tables of every size; it may be negative, and \
                all tables agree with each other. `fitted` is the likeliest table of counts that are not negative: it \
                has no standard error (that of `estimate` is not its own), and small counts are too large in it on \
                average, others too small, so that means and shares from it are biased."
        }
        (MarginalsForm::UnbiasedTables, MarginalsMethod::Residual(_)) => {
            "`estimate` is unbiased, and its standard error holds for tables of every size; it may be negative, and \
                all tables agree with each other."
        }
        (MarginalsForm::Tables, MarginalsMethod::Projection(..)) => {
            "`estimate` is unbiased, and its standard error holds for tables of every size; it may be negative, and \
                tables agree with each other only within their noise. `fitted` is the nearest consistent table: it \
                has no standard error (that of `estimate` is not its own), and small counts are too large in it on \
                average, so that means and shares from it are biased."
        }
        (MarginalsForm::UnbiasedTables, _) => {
            "`estimate` is unbiased, and its standard error holds for tables of every size; it may be negative, and \
                tables agree with each other only within their noise."
        }
        (MarginalsForm::FittedTables, _) | (_, MarginalsMethod::Mwem { .. } | MarginalsMethod::Pairs(_)) => {
            "`fitted` is one consistent table of counts that are not negative; its error depends on the data, so that \
                it has no standard error, and small counts are too large in it on average, so that means and shares \
                from it are biased."
        }
    }
}

/// One column per attribute, empty where a table does not contain it; then `estimate` with its error bars, and
/// `fitted`, as far as there are any. And what the bars of a chart are called.
fn long_form(
    work: &MarginalsMethod,
    fitted: &FittedMarginals,
    labels: &Labels<'_>,
    tables: &[Subset],
) -> Result<(Vec<AnswerColumn>, Option<Vec<String>>)> {
    let sizes = |table: Subset| table.iter().map(|attribute| labels.values[attribute].len() as u32).collect();
    let mut attributes: Vec<Vec<Cell>> = labels.names.iter().map(|_| Vec::new()).collect();
    let mut bars = Vec::new();
    for &table in tables {
        let own = Domain::new(sizes(table))?;
        for cell in 0..own.cells() {
            let mut codes = own.values(cell).into_iter();
            let mut bar = Vec::new();
            for (attribute, column) in attributes.iter_mut().enumerate() {
                let code = if table.contains(attribute) { codes.next() } else { None };
                let value = code.map_or(Cell::Null, |code| labels.value(attribute, code));
                bar.extend(code.map(|_| format!("{} {}", labels.names[attribute], value.text())));
                column.push(value);
            }
            bars.push(bar.join(", "));
        }
    }
    let named = |(name, cells): (&String, Vec<Cell>)| AnswerColumn { name: name.clone(), cells, uncertainty: None };
    let mut columns: Vec<AnswerColumn> = labels.names.iter().zip(attributes).map(named).collect();
    columns.extend(fitted.estimates.as_ref().map(|estimates| estimated(work, tables, estimates)));
    columns.extend(fitted.model.as_ref().map(|model| {
        let cells = model.marginals(tables).into_iter().flatten().map(Cell::Number).collect();
        AnswerColumn { name: FITTED.to_string(), cells, uncertainty: None }
    }));
    Ok((columns, fitted.estimates.as_ref().map(|_| bars)))
}

/// The unbiased estimates with their error bars.
fn estimated(work: &MarginalsMethod, tables: &[Subset], estimates: &[Vec<f64>]) -> AnswerColumn {
    let (mut cells, mut uncertainty) = (Vec::new(), Vec::new());
    for (&table, estimates) in tables.iter().zip(estimates) {
        let bar = work.bar(table).unwrap_or(Bar { standard_error: f64::NAN, half_width: f64::INFINITY });
        for &estimate in estimates {
            cells.push(Cell::Number(estimate));
            uncertainty.push(Uncertainty {
                standard_error: bar.standard_error,
                low: estimate - bar.half_width,
                high: estimate + bar.half_width,
            });
        }
    }
    AnswerColumn { name: ESTIMATE.to_string(), cells, uncertainty: Some(uncertainty) }
}

/// The model with at most this many people as rows can be published, and what to say about it. How many people there
/// are, or what the noise makes of them, must not decide whether there is an answer.
fn publishable(model: &CountModel, tables: &[Subset]) -> Result<(CountModel, Option<String>)> {
    let people: f64 = model.cells().iter().sum();
    if people <= MOST_ROWS {
        return Ok((model.clone(), None));
    }
    let cells = model.cells().iter().map(|cell| cell * (MOST_ROWS / people)).collect();
    let note = format!("There are {MOST_ROWS} rows, each for about {:.2} of {people:.0} people.", people / MOST_ROWS);
    Ok((CountModel::new(model.domain().clone(), cells, tables.to_vec())?, Some(note)))
}

/// Whole rows in the order of the cells.
fn rows(model: &CountModel, labels: &Labels<'_>) -> Vec<AnswerColumn> {
    let rows = model.rows();
    let column = |(attribute, name): (usize, &String)| AnswerColumn {
        name: name.clone(),
        cells: rows.iter().map(|row| labels.value(attribute, row[attribute])).collect(),
        uncertainty: None,
    };
    labels.names.iter().enumerate().map(column).collect()
}

/// The error to expect of the tables of each size: of the unbiased estimates that of the noise, of all that is fitted
/// none.
pub(crate) fn expected(
    work: &MarginalsMethod,
    tables: &[Subset],
    published: MarginalsForm,
    choice: &MethodChoice,
) -> Vec<ExpectedError> {
    if let MarginalsMethod::Pairs(pairs) = work {
        return pairs::expected(pairs, published, choice);
    }
    let largest = tables.iter().map(|table| table.len()).max().unwrap_or(0);
    let mut expected: Vec<ExpectedError> = Vec::new();
    let mut tell = |column: &str, standard_error: Option<f64>, about: String| {
        expected.push(ExpectedError {
            column: column.to_string(),
            standard_error,
            margin: None,
            cells: Vec::new(),
            assumed: None,
            about,
        });
    };
    for size in 1..=largest {
        let error = mean_error(work, tables, size);
        match (published, error) {
            (MarginalsForm::Rows, Some(error)) => {
                let about = format!(
                    "tables of {size}: no standard error; the rows are fitted to unbiased tables with a standard \
                        error of {error:.4}"
                );
                tell("counts of rows", None, about);
            }
            (MarginalsForm::Rows, None) => tell("counts of rows", None, format!("tables of {size}: no standard error")),
            (published, Some(_)) if published.has_estimates() => {
                tell(ESTIMATE, error, format!("tables of {size}: root mean square over their cells"));
            }
            _ => {}
        }
    }
    if published != MarginalsForm::Rows && published.has_model() {
        tell(FITTED, None, "no standard error: depends on the data".to_string());
    }
    if let Some(last) = expected.last_mut() {
        last.about += &format!("; method {}: {}", choice.method.name(), choice.why);
    }
    expected
}

/// The root of the mean variance of a cell of the unbiased tables of this size.
fn mean_error(work: &MarginalsMethod, tables: &[Subset], size: usize) -> Option<f64> {
    let domain = work.domain()?;
    let (mut sum, mut cells) = (0.0, 0.0);
    for &table in tables.iter().filter(|table| table.len() == size) {
        let number = domain.table_cells(table) as f64;
        sum += number * work.bar(table)?.standard_error.powi(2);
        cells += number;
    }
    Some((sum / cells).sqrt())
}
