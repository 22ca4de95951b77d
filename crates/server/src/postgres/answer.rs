//! One statement, answered: rows, or the word for what was done.

use super::bound::printed;
use super::catalogue::{Catalogue, MOST_RESULT, ResultColumn, ResultTable, weight};
use super::refused::{SqlError, code};
use super::settings::{self, Settings};
use super::shown;
use super::statement::{ClientStatement, PrivateTableQuery};
use super::value::{CellValue, PgType};
use crate::access::Person;
use crate::service::{Forecast, HeldRows, PaidAnswer, QueryRequest, Service, TableShown};
use scumble::quantity::epsilon;
use scumble_engine::Error;
use scumble_engine::kinds::PublishedColumn;
use scumble_engine::project::Cost;
use scumble_engine::release::{Answers, Cell};
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting that shows what is left.
const BUDGET: &str = "scumble.budget";

/// What came of a statement.
#[derive(Debug)]
pub(super) struct StatementOutcome {
    /// The rows, where there are some to be sent.
    pub table: Option<ResultTable>,
    /// The word that ends it; the number of rows follows that of SELECT.
    pub tag: &'static str,
    /// What a reader should know.
    pub notices: Vec<String>,
    /// Settings that are reported to clients.
    pub told: Vec<(&'static str, String)>,
    /// The right to hold these rows until they are read.
    pub _held: Option<HeldRows>,
}

impl StatementOutcome {
    pub fn done(tag: &'static str) -> Self {
        Self { table: None, tag, notices: Vec::new(), told: Vec::new(), _held: None }
    }

    fn rows(table: ResultTable, tag: &'static str) -> Self {
        Self { table: Some(table), ..Self::done(tag) }
    }
}

/// Who asks, and what there is to ask about.
#[derive(Clone)]
pub(super) struct AnalystContext {
    pub service: Arc<Service>,
    pub person: Person,
    pub tables: Arc<Vec<TableShown>>,
}

impl AnalystContext {
    /// The columns of a statement's rows, without asking it; none where it has no rows. Where any values stand in the
    /// places of parameters, these decide nothing.
    pub async fn columns(
        &self,
        asked: &ClientStatement,
        settings: &Settings,
        has_stand_ins: bool,
    ) -> Result<Option<Vec<ResultColumn>>, SqlError> {
        Ok(match asked {
            ClientStatement::Question(question) => Some(self.planned_columns(question, settings, has_stand_ins).await?),
            ClientStatement::Catalogue(_) => {
                self.answer(asked, &mut settings.clone()).await?.table.map(|table| table.columns)
            }
            ClientStatement::Explain { .. } => Some(shown::plan_columns()),
            ClientStatement::Show(name) => Some(show_columns(name, settings)?),
            _ => None,
        })
    }

    async fn planned_columns(
        &self,
        question: &PrivateTableQuery,
        settings: &Settings,
        has_stand_ins: bool,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        let sql = text(question)?;
        let columns = if has_stand_ins {
            self.service.columns_of(&self.person, &sql).await
        } else {
            let cost = settings.cost().map_or_else(|_| any_cost(), |(cost, _)| Ok(cost))?;
            self.service.columns(&self.person, &QueryRequest { sql, cost, fresh: false, key: None }).await
        };
        let columns = columns.map_err(|refusal| SqlError::of(refusal, question.text.as_deref()))?;
        Ok(columns.into_iter().map(|PublishedColumn { name, kind }| ResultColumn::new(name, kind.into())).collect())
    }

    /// Refuses what could not be answered, before anything beside it is: plans cost nothing.
    pub async fn checked(&self, asked: &ClientStatement, settings: &mut Settings) -> Result<(), SqlError> {
        match asked {
            ClientStatement::Question(question) => {
                let forecast = self.forecast(question, settings).await?;
                match forecast.fits || forecast.stored {
                    true => Ok(()),
                    false => Err(SqlError::new(code::BUDGET, forecast.budget)),
                }
            }
            ClientStatement::Set { name, value } => settings.set(name, value.as_deref()).map(drop),
            ClientStatement::Reset(_) => {
                settings.reset();
                Ok(())
            }
            ClientStatement::Show(name) => show_columns(name, settings).map(drop),
            _ => Ok(()),
        }
    }

    /// The answer.
    pub async fn answer(&self, asked: &ClientStatement, settings: &mut Settings) -> Result<StatementOutcome, SqlError> {
        Ok(match asked {
            ClientStatement::Question(question) => self.paid(question, settings).await?,
            ClientStatement::Explain { question, json } => {
                let forecast = self.forecast(question, settings).await?;
                StatementOutcome::rows(shown::plan(&forecast, *json)?, "EXPLAIN")
            }
            ClientStatement::Catalogue(statement) => self.of_catalogue(statement, settings).await?,
            ClientStatement::Set { name, value } => {
                let told = settings.set(name, value.as_deref())?;
                StatementOutcome {
                    told: told.into_iter().collect(),
                    ..StatementOutcome::done(if value.is_some() { "SET" } else { "RESET" })
                }
            }
            ClientStatement::Reset(tag) => {
                settings.reset();
                StatementOutcome { told: settings.reported().collect(), ..StatementOutcome::done(tag) }
            }
            ClientStatement::Show(name) => StatementOutcome::rows(self.show(name, settings).await?, "SHOW"),
            ClientStatement::Begin => StatementOutcome::done("BEGIN"),
            ClientStatement::End(tag) | ClientStatement::Nothing(tag) => StatementOutcome::done(tag),
            ClientStatement::Deallocate(Some(_)) => StatementOutcome::done("DEALLOCATE"),
            ClientStatement::Deallocate(None) => StatementOutcome::done("DEALLOCATE ALL"),
        })
    }

    /// What the declarations say. The rows are held with a right to it from before they are made until they are read,
    /// also where nobody waits for them any more.
    async fn of_catalogue(&self, statement: &Statement, settings: &Settings) -> Result<StatementOutcome, SqlError> {
        let of = |refusal| SqlError::of(refusal, None);
        let held = self.service.hold(&self.person, MOST_RESULT).await.map_err(of)?;
        let (statement, tables, settings) = (statement.clone(), Arc::clone(&self.tables), settings.clone());
        let stop = Arc::<AtomicBool>::default();
        let _stops = StopOnDrop(Arc::clone(&stop));
        // In the places of everything else that is worked on: what one query may take is taken so often and no more.
        let made = self.service.at_work(move |_| {
            let table = Catalogue::new(&tables, &settings).until(stop).answer(&statement);
            Ok((table, held))
        });
        let (table, held) = made.await.map_err(of)?;
        let table = table?;
        let held = held.fitted(weight(&table)).map_err(of)?;
        Ok(StatementOutcome { _held: Some(held), ..StatementOutcome::rows(table, "SELECT") })
    }

    async fn forecast(&self, question: &PrivateTableQuery, settings: &Settings) -> Result<Forecast, SqlError> {
        let (cost, fresh) = settings.cost()?;
        let asked = QueryRequest { sql: text(question)?, cost, fresh, key: None };
        let forecast = self.service.plan(&self.person, &asked).await;
        forecast.map_err(|refusal| SqlError::of(refusal, question.text.as_deref()))
    }

    async fn paid(&self, question: &PrivateTableQuery, settings: &Settings) -> Result<StatementOutcome, SqlError> {
        let (cost, fresh) = settings.cost()?;
        let columns = self.planned_columns(question, settings, false).await?;
        let asked = QueryRequest { sql: text(question)?, cost, fresh, key: None };
        let answer = self.service.ask(&self.person, &asked).await;
        let answer = answer.map_err(|refusal| SqlError::of(refusal, question.text.as_deref()))?;
        let table = ResultTable { rows: rows(&answer.answers, &columns)?, columns };
        let held = self.service.hold(&self.person, weight(&table)).await;
        let held = held.map_err(|refusal| {
            SqlError::of(refusal, None).with_hint("this answer is charged and stored: asking again costs nothing")
        })?;
        let mut notices = answer.answers.notes.clone();
        notices.push(paid_words(&answer, &self.service.words_of_cost(&asked)));
        Ok(StatementOutcome { notices, _held: Some(held), ..StatementOutcome::rows(table, "SELECT") })
    }

    async fn show(&self, name: &str, settings: &Settings) -> Result<ResultTable, SqlError> {
        if name == BUDGET {
            let budget = self.service.budget(&self.person).await.map_err(|refusal| SqlError::of(refusal, None))?;
            return Ok(shown::budget(&budget));
        }
        let columns = show_columns(name, settings)?;
        let rows = match name {
            "all" => settings
                .all()
                .map(|(name, value)| vec![CellValue::text(name), CellValue::Text(value), CellValue::text("")])
                .collect(),
            name => vec![vec![settings.get(name).map_or(CellValue::Null, CellValue::Text)]],
        };
        Ok(ResultTable { columns, rows })
    }
}

/// A cost for a client that has not set one and asks for the columns alone, which do not depend on it.
fn any_cost() -> Result<Cost, SqlError> {
    let cost = epsilon(1.0).map_err(Error::from).and_then(Cost::epsilon);
    cost.map_err(|error| SqlError::of(error.into(), None))
}

/// Says that nobody waits any more, when it is dropped: a query that was cancelled does not go on.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The columns of SHOW.
fn show_columns(name: &str, settings: &Settings) -> Result<Vec<ResultColumn>, SqlError> {
    Ok(match name {
        BUDGET => shown::budget_columns(),
        "all" => ["name", "setting", "description"].map(|name| ResultColumn::new(name, PgType::Text)).to_vec(),
        name if settings.get(name).is_some() => vec![ResultColumn::new(name, PgType::Text)],
        name => return Err(settings::unknown(name)),
    })
}

/// The text of a question: as the client wrote it, or written anew from what was parsed.
fn text(question: &PrivateTableQuery) -> Result<String, SqlError> {
    question.text.clone().map_or_else(|| printed(&question.statement), Ok)
}

/// What was paid, in a sentence.
fn paid_words(answer: &PaidAnswer, cost: &str) -> String {
    match answer.stored {
        true => format!("this was charged before (entry {} of the ledger): nothing was charged now", answer.sequence),
        false => format!("charged: {cost} (entry {} of the ledger)", answer.sequence),
    }
}

/// The rows of an answer: its cells, and after each noisy one its standard error and the ends of its interval, as the
/// columns say.
fn rows(answers: &Answers, columns: &[ResultColumn]) -> Result<Vec<Vec<CellValue>>, SqlError> {
    // What was described is what is sent, or nothing is.
    if !answers.names().iter().eq(columns.iter().map(|column| &column.name)) {
        let sentence =
            "the answer has other columns than its plan; it is charged: ask for it over HTTP, and report this";
        return Err(SqlError::new(code::MACHINE, sentence));
    }
    let row = |row: usize| -> Result<Vec<CellValue>, SqlError> {
        let mut cells = Vec::with_capacity(columns.len());
        for column in &answers.columns {
            cells.push(cell(&column.cells[row])?);
            if let Some(list) = &column.uncertainty {
                let beside = [list[row].published_error(), list[row].low, list[row].high];
                let known = |number: f64| if number.is_nan() { CellValue::Null } else { CellValue::Number(number) };
                cells.extend(beside.map(known));
            }
        }
        Ok(cells)
    };
    (0..answers.rows()).map(row).collect()
}

fn cell(cell: &Cell) -> Result<CellValue, SqlError> {
    Ok(match cell {
        Cell::Null => CellValue::Null,
        Cell::Text(text) => CellValue::Text(text.replace('\0', "\u{2400}")),
        Cell::Number(number) => CellValue::Number(*number),
        Cell::Truth(truth) => CellValue::Truth(*truth),
        Cell::Whole(number) => CellValue::Whole(i64::try_from(*number).map_err(|_| {
            let sentence = "a number of the answer does not fit a BIGINT; it is charged: ask for it over HTTP";
            SqlError::new(code::OUT_OF_RANGE, sentence)
        })?),
    })
}
