//! One statement, answered: rows, or the word for what was done.

use super::bound::printed;
use super::catalogue::{MOST_RESULT, ResultColumn, Table, World, weight};
use super::refused::{Refused, code};
use super::settings::{self, Settings};
use super::shown;
use super::statement::{Asked, Question};
use super::value::{PgType, Value};
use crate::access::Person;
use crate::service::{Forecast, HeldRows, PaidAnswer, QueryRequest, Service, TableShown};
use scumble_engine::kinds::PublishedColumn;
use scumble_engine::release::{Answers, Cell};
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting that shows what is left.
const BUDGET: &str = "scumble.budget";

/// What came of a statement.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The rows, where there are some to be sent.
    pub table: Option<Table>,
    /// The word that ends it; the number of rows follows that of SELECT.
    pub tag: &'static str,
    /// What a reader should know.
    pub notices: Vec<String>,
    /// Settings of which clients are told.
    pub told: Vec<(&'static str, String)>,
    /// The right to hold these rows until they are read.
    pub _held: Option<HeldRows>,
}

impl Outcome {
    pub fn done(tag: &'static str) -> Self {
        Self { table: None, tag, notices: Vec::new(), told: Vec::new(), _held: None }
    }

    fn rows(table: Table, tag: &'static str) -> Self {
        Self { table: Some(table), ..Self::done(tag) }
    }
}

/// Who asks, and what there is to ask about.
#[derive(Clone)]
pub(super) struct Asker {
    pub service: Arc<Service>,
    pub person: Person,
    pub tables: Arc<Vec<TableShown>>,
}

impl Asker {
    /// The columns of a statement's rows, without asking it; none where it has no rows.
    pub async fn columns(&self, asked: &Asked, settings: &Settings) -> Result<Option<Vec<ResultColumn>>, Refused> {
        Ok(match asked {
            Asked::Question(question) => Some(self.planned_columns(question, settings).await?),
            Asked::Catalogue(_) => self.answer(asked, &mut settings.clone()).await?.table.map(|table| table.columns),
            Asked::Explain { .. } => Some(shown::plan_columns()),
            Asked::Show(name) => Some(show_columns(name, settings)?),
            _ => None,
        })
    }

    async fn planned_columns(&self, question: &Question, settings: &Settings) -> Result<Vec<ResultColumn>, Refused> {
        // Which columns there are does not depend on the cost.
        let cost = settings.cost().map_or_else(|_| "epsilon=1".to_string(), |(cost, _)| cost);
        let asked = QueryRequest { sql: text(question)?, cost, fresh: false, key: None };
        let columns = self.service.columns(&self.person, &asked).await;
        let columns = columns.map_err(|refusal| Refused::of(refusal, question.text.as_deref()))?;
        Ok(columns.into_iter().map(|PublishedColumn { name, kind }| ResultColumn::new(name, kind.into())).collect())
    }

    /// Refuses what could not be answered, before anything beside it is: plans cost nothing.
    pub async fn checked(&self, asked: &Asked, settings: &mut Settings) -> Result<(), Refused> {
        match asked {
            Asked::Question(question) => {
                let forecast = self.forecast(question, settings).await?;
                match forecast.fits || forecast.stored {
                    true => Ok(()),
                    false => Err(Refused::new(code::BUDGET, forecast.budget)),
                }
            }
            Asked::Set { name, value } => settings.set(name, value.as_deref()).map(drop),
            Asked::Reset(_) => {
                settings.reset();
                Ok(())
            }
            Asked::Show(name) => show_columns(name, settings).map(drop),
            _ => Ok(()),
        }
    }

    /// The answer.
    pub async fn answer(&self, asked: &Asked, settings: &mut Settings) -> Result<Outcome, Refused> {
        Ok(match asked {
            Asked::Question(question) => self.paid(question, settings).await?,
            Asked::Explain { question, json } => {
                let forecast = self.forecast(question, settings).await?;
                Outcome::rows(shown::plan(&forecast, *json)?, "EXPLAIN")
            }
            Asked::Catalogue(statement) => self.of_catalogue(statement, settings).await?,
            Asked::Set { name, value } => {
                let told = settings.set(name, value.as_deref())?;
                Outcome {
                    told: told.into_iter().collect(),
                    ..Outcome::done(if value.is_some() { "SET" } else { "RESET" })
                }
            }
            Asked::Reset(tag) => {
                settings.reset();
                Outcome { told: settings.reported().collect(), ..Outcome::done(tag) }
            }
            Asked::Show(name) => Outcome::rows(self.show(name, settings).await?, "SHOW"),
            Asked::Begin => Outcome::done("BEGIN"),
            Asked::End(tag) | Asked::Nothing(tag) => Outcome::done(tag),
            Asked::Deallocate(Some(_)) => Outcome::done("DEALLOCATE"),
            Asked::Deallocate(None) => Outcome::done("DEALLOCATE ALL"),
        })
    }

    /// What the declarations say. The rows are held with a right to it from before they are made until they are read, also where nobody waits for them any more.
    async fn of_catalogue(&self, statement: &Statement, settings: &Settings) -> Result<Outcome, Refused> {
        let of = |refusal| Refused::of(refusal, None);
        let held = self.service.hold(&self.person, MOST_RESULT).await.map_err(of)?;
        let (statement, tables, settings) = (statement.clone(), Arc::clone(&self.tables), settings.clone());
        let stop = Arc::<AtomicBool>::default();
        let _stops = Stops(Arc::clone(&stop));
        // In the places of everything else that is worked on: what one query may take is taken so often and no more.
        let made = self.service.at_work(move |_| {
            let table = World::new(&tables, &settings).until(stop).answer(&statement);
            Ok((table, held))
        });
        let (table, held) = made.await.map_err(of)?;
        let table = table?;
        let held = held.fitted(weight(&table)).map_err(of)?;
        Ok(Outcome { _held: Some(held), ..Outcome::rows(table, "SELECT") })
    }

    async fn forecast(&self, question: &Question, settings: &Settings) -> Result<Forecast, Refused> {
        let (cost, fresh) = settings.cost()?;
        let asked = QueryRequest { sql: text(question)?, cost, fresh, key: None };
        let forecast = self.service.plan(&self.person, &asked).await;
        forecast.map_err(|refusal| Refused::of(refusal, question.text.as_deref()))
    }

    async fn paid(&self, question: &Question, settings: &Settings) -> Result<Outcome, Refused> {
        let (cost, fresh) = settings.cost()?;
        let columns = self.planned_columns(question, settings).await?;
        let asked = QueryRequest { sql: text(question)?, cost, fresh, key: None };
        let answer = self.service.ask(&self.person, &asked).await;
        let answer = answer.map_err(|refusal| Refused::of(refusal, question.text.as_deref()))?;
        let table = Table { rows: rows(&answer.answers, &columns)?, columns };
        let held = self.service.hold(&self.person, weight(&table)).await;
        let held = held.map_err(|refusal| {
            Refused::of(refusal, None).with_hint("this answer is paid for and stored: asking again costs nothing")
        })?;
        let mut notices = answer.answers.notes.clone();
        notices.push(paid_words(&answer, &asked.cost));
        Ok(Outcome { notices, _held: Some(held), ..Outcome::rows(table, "SELECT") })
    }

    async fn show(&self, name: &str, settings: &Settings) -> Result<Table, Refused> {
        if name == BUDGET {
            let budget = self.service.budget(&self.person).await.map_err(|refusal| Refused::of(refusal, None))?;
            return Ok(shown::budget(&budget));
        }
        let columns = show_columns(name, settings)?;
        let rows = match name {
            "all" => settings
                .all()
                .map(|(name, value)| vec![Value::text(name), Value::Text(value), Value::text("")])
                .collect(),
            name => vec![vec![settings.get(name).map_or(Value::Null, Value::Text)]],
        };
        Ok(Table { columns, rows })
    }
}

/// Says that nobody waits any more, when it is dropped: a query that was cancelled does not go on.
struct Stops(Arc<AtomicBool>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The columns of SHOW.
fn show_columns(name: &str, settings: &Settings) -> Result<Vec<ResultColumn>, Refused> {
    Ok(match name {
        BUDGET => shown::budget_columns(),
        "all" => ["name", "setting", "description"].map(|name| ResultColumn::new(name, PgType::Text)).to_vec(),
        name if settings.get(name).is_some() => vec![ResultColumn::new(name, PgType::Text)],
        name => return Err(settings::unknown(name)),
    })
}

/// The text of a question: as the client wrote it, or written anew from what was parsed.
fn text(question: &Question) -> Result<String, Refused> {
    question.text.clone().map_or_else(|| printed(&question.statement), Ok)
}

/// What was paid, in a sentence.
fn paid_words(answer: &PaidAnswer, cost: &str) -> String {
    match answer.stored {
        true => format!("this was paid for before (entry {} of the ledger): nothing was charged now", answer.sequence),
        false => format!("paid: {cost} (entry {} of the ledger)", answer.sequence),
    }
}

/// The rows of an answer: its cells, and behind each noisy one its standard error, as the columns say.
fn rows(answers: &Answers, columns: &[ResultColumn]) -> Result<Vec<Vec<Value>>, Refused> {
    let names = answers.columns.iter().flat_map(|column| {
        let error = column.uncertainty.as_ref().map(|_| format!("{}_error", column.name));
        std::iter::once(column.name.clone()).chain(error)
    });
    // What was described is what is sent, or nothing is.
    if !names.eq(columns.iter().map(|column| column.name.clone())) {
        let sentence =
            "the answer has other columns than its plan; it is paid for: ask for it over HTTP, and report this";
        return Err(Refused::new(code::MACHINE, sentence));
    }
    let row = |row: usize| -> Result<Vec<Value>, Refused> {
        let mut cells = Vec::with_capacity(columns.len());
        for column in &answers.columns {
            cells.push(cell(&column.cells[row])?);
            if let Some(list) = &column.uncertainty {
                let error = list[row].published_error();
                cells.push(if error.is_nan() { Value::Null } else { Value::Number(error) });
            }
        }
        Ok(cells)
    };
    (0..answers.rows()).map(row).collect()
}

fn cell(cell: &Cell) -> Result<Value, Refused> {
    Ok(match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => Value::Text(text.replace('\0', "\u{2400}")),
        Cell::Number(number) => Value::Number(*number),
        Cell::Truth(truth) => Value::Truth(*truth),
        Cell::Whole(number) => Value::Whole(i64::try_from(*number).map_err(|_| {
            let sentence = "a number of the answer does not fit a BIGINT; it is paid for: ask for it over HTTP";
            Refused::new(code::OUT_OF_RANGE, sentence)
        })?),
    })
}
