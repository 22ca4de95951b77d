//! What is published: tables in long form, or rows.

use super::pairs;
use super::published::{Bar, ESTIMATE, FITTED, Labels, MarginalsForm};
use super::work::{FittedMarginals, MarginalsMethod, MethodChoice};
use crate::error::{Error, Result};
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnRole, Details, Uncertainty};
use crate::release::plan::ExpectedError;
use scumble::quantity::Rho;
use scumble::workload::planner::RhoLimits;
use scumble::workload::{CountModel, Domain, Subset};

/// The most synthetic rows; more would be of no use and fill the memory.
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
            details.roles = labels.names.iter().map(|name| (name.clone(), ColumnRole::Key)).collect();
            let amount = |name: &str| (name.to_string(), ColumnRole::Amount { of: None });
            details.roles.extend([ESTIMATE, FITTED].map(amount));
            long_form(work, fitted, labels, tables)?
        }
    };
    let mut first = vec![note(work, published)];
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

fn note(work: &MarginalsMethod, published: MarginalsForm) -> String {
    let is_residual = matches!(work, MarginalsMethod::Residual(_));
    let agree = if is_residual { "all tables agree with each other" } else { AGREE_WITHIN_NOISE };
    let estimate = format!(
        "`estimate` is unbiased, and its standard error holds for tables of every size; it may be negative, and {agree}."
    );
    match (published, work) {
        (MarginalsForm::Rows, _) => {
            "The rows are synthetic: they are a table of counts that was fitted to noisy numbers, and no row is \
                anybody's. Their counts have no standard error: small ones are too large on average, others too \
                small, so means of the rows are biased where people are few for the noise."
                .to_string()
        }
        (MarginalsForm::Tables, MarginalsMethod::Residual(_) | MarginalsMethod::Projection(..)) => {
            let (which, others) = match is_residual {
                true => ("likeliest table of counts that are not negative", ", others too small"),
                false => ("nearest consistent table", ""),
            };
            format!(
                "{estimate} `fitted` is the {which}: it has no standard error (that of `estimate` is not its own), and \
                    small counts are too large in it on average{others}, so that means and shares from it are biased."
            )
        }
        (MarginalsForm::UnbiasedTables, _) => estimate,
        (MarginalsForm::FittedTables | MarginalsForm::Tables, _) => {
            "`fitted` is one consistent table of counts that are not negative; its error depends on the data, so that \
                it has no standard error, and small counts are too large in it on average, so that means and shares \
                from it are biased."
                .to_string()
        }
    }
}

/// Of tables that are measured one by one.
const AGREE_WITHIN_NOISE: &str = "tables agree with each other only within their noise";

/// One column per attribute, empty where a table does not contain it; then `estimate` with its error bars, and
/// `fitted`, as far as there are any.
fn long_form(
    work: &MarginalsMethod,
    fitted: &FittedMarginals,
    labels: &Labels<'_>,
    tables: &[Subset],
) -> Result<Vec<AnswerColumn>> {
    let sizes = |table: Subset| table.iter().map(|attribute| labels.values[attribute].len() as u32).collect();
    let mut attributes: Vec<Vec<Cell>> = labels.names.iter().map(|_| Vec::new()).collect();
    for &table in tables {
        let own = Domain::new(sizes(table))?;
        for cell in 0..own.cells() {
            let mut codes = own.values(cell).into_iter();
            for (attribute, column) in attributes.iter_mut().enumerate() {
                let code = if table.contains(attribute) { codes.next() } else { None };
                column.push(code.map_or(Cell::Null, |code| labels.value(attribute, code)));
            }
        }
    }
    let named = labels.names.iter().zip(attributes).map(|(name, cells)| AnswerColumn::plain(name, cells));
    let mut columns: Vec<AnswerColumn> = named.collect();
    columns.extend(fitted.estimates.as_ref().map(|estimates| estimated(work, tables, estimates)));
    columns.extend(fitted.model.as_ref().map(|model| {
        AnswerColumn::of_unknown_error(FITTED, model.marginals(tables).into_iter().flatten().map(Cell::Number))
    }));
    Ok(columns)
}

/// The unbiased estimates with their error bars.
fn estimated(work: &MarginalsMethod, tables: &[Subset], estimates: &[Vec<f64>]) -> AnswerColumn {
    let noisy = tables.iter().zip(estimates).flat_map(|(&table, estimates)| {
        let unknown = Bar { standard_error: f64::NAN, half_width: f64::INFINITY };
        let Bar { standard_error, half_width } = work.bar(table).unwrap_or(unknown);
        let around = move |&number: &f64| Uncertainty::around(number, standard_error, half_width);
        estimates.iter().map(move |estimate| (Cell::Number(*estimate), around(estimate)))
    });
    AnswerColumn::noisy(ESTIMATE, noisy)
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
    let column = |(attribute, name): (usize, &String)| {
        AnswerColumn::plain(name, rows.iter().map(|row| labels.value(attribute, row[attribute])))
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
    for size in 1..=largest {
        match (published, mean_bar(work, tables, size)) {
            (MarginalsForm::Rows, Some(Bar { standard_error, .. })) => {
                let about = format!(
                    "tables of {size}: no standard error; the rows are fitted to unbiased tables with a standard \
                        error of {standard_error:.4}"
                );
                expected.push(ExpectedError::new("counts of rows", None, about));
            }
            (MarginalsForm::Rows, None) => {
                let about = format!("tables of {size}: no standard error");
                expected.push(ExpectedError::new("counts of rows", None, about));
            }
            (published, Some(bar)) if published.has_estimates() => {
                let about = format!("tables of {size}: root mean square over their cells");
                let error = ExpectedError::new(ESTIMATE, Some(bar.standard_error), about);
                expected.push(error.with_margin(bar.half_width));
            }
            _ => {}
        }
    }
    if published != MarginalsForm::Rows && published.has_model() {
        expected.push(ExpectedError::new(FITTED, None, "no standard error: depends on the data"));
    }
    if let Some(last) = expected.last_mut() {
        last.about += &format!("; method {}: {}", choice.method.name(), choice.why);
    }
    expected
}

/// The root mean squares over the cells of the unbiased tables of this size: of standard errors and of margins.
fn mean_bar(work: &MarginalsMethod, tables: &[Subset], size: usize) -> Option<Bar> {
    let domain = work.domain()?;
    let (mut variance, mut margins, mut cells) = (0.0, 0.0, 0.0);
    for &table in tables.iter().filter(|table| table.len() == size) {
        let (number, bar) = (domain.table_cells(table) as f64, work.bar(table)?);
        variance += number * bar.standard_error.powi(2);
        margins += number * bar.half_width.powi(2);
        cells += number;
    }
    Some(Bar { standard_error: (variance / cells).sqrt(), half_width: (margins / cells).sqrt() })
}
