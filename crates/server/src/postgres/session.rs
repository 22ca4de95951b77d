//! A connection after its login: simple queries, and prepared statements with their portals.

use super::answer::{AnalystContext, StatementOutcome};
use super::bound::{bound, parameters, printed};
use super::catalogue::{ResultColumn, ResultTable, weight};
use super::line::{AFTER_LOGIN, Binding, ClientMessage, ConnectionError, MessageStream, MessageTarget, PATIENCE, said};
use super::login::AuthenticatedPerson;
use super::parameter::{Literal, decoded, kind_of_oid};
use super::refused::{SqlError, code, notice};
use super::settings::Settings;
use super::statement::{ClientStatement, PrivateTableQuery, asked};
use super::value::{PgType, ValueFormat, encoded};
use crate::access::Person;
use crate::listen::stopped;
use crate::service::{Service, TableShown};
use bytes::{BufMut, BytesMut};
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::data::{DataRow, FieldDescription, NoData, ParameterDescription, RowDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete, PortalSuspended};
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse, ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::ParameterStatus;
use scumble_engine::kinds::ColumnKind;
use sqlparser::ast::Statement;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The most prepared statements and portals of a connection, and how long all of their texts may be.
const MOST_STATEMENTS: usize = 1_000;
const MOST_PORTALS: usize = 100;
const LONGEST: usize = 1 << 20;
/// How many bytes of rows wait in the portals of a connection for a client that reads them in parts.
const MOST_HELD: usize = 8 << 20;

/// How many bytes of rows a client reads in a second at least, and how long it may take beside that.
const SLOWEST: usize = 16 << 10;

/// A connection of somebody who is known.
pub(super) struct PostgresSession<'a, S> {
    line: MessageStream<S>,
    known: AuthenticatedPerson<'a>,
    service: Arc<Service>,
    tables: Arc<Vec<TableShown>>,
    names: BTreeSet<String>,
    statements: HashMap<String, Arc<PreparedStatement>>,
    portals: HashMap<String, Portal>,
    in_transaction: bool,
    answer_time: Option<Duration>,
}

/// A prepared statement. Its text alone is kept, and read again when it is used: what is made of a text takes a hundred
/// times as much memory.
struct PreparedStatement {
    sql: String,
    /// The types of its parameters: what the client names, or what the query tells.
    types: Vec<u32>,
    kinds: Vec<Option<ColumnKind>>,
}

impl PreparedStatement {
    /// The statement with literals in the places of its parameters; none for an empty text.
    fn asked(&self, names: &BTreeSet<String>, literals: &[Literal]) -> Result<Option<ClientStatement>, SqlError> {
        asked(&self.sql, names)?.pop().map(|one| with_literals(one, literals)).transpose()
    }
}

/// A statement with its parameters.
struct Portal {
    prepared: Arc<PreparedStatement>,
    literals: Vec<Literal>,
    /// How long the texts of its statement and of its parameters are.
    length: usize,
    /// The forms of its columns, as many as were given.
    forms: Vec<ValueFormat>,
    /// What came of it, and how many of its rows have been sent.
    outcome: Option<(StatementOutcome, usize)>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> PostgresSession<'a, S> {
    pub fn new(
        line: MessageStream<S>,
        known: AuthenticatedPerson<'a>,
        service: Arc<Service>,
        answer_time: Option<Duration>,
    ) -> Self {
        let tables = Arc::new(service.tables());
        let names = tables.iter().map(|table| table.name.clone()).collect();
        let (statements, portals) = (HashMap::new(), HashMap::new());
        Self { line, known, service, tables, names, statements, portals, in_transaction: false, answer_time }
    }

    /// Answers until the client leaves or the server stops.
    pub async fn serve(mut self, mut stop: watch::Receiver<bool>) {
        // After something was refused, what belongs to it is passed over up to the next Sync.
        let mut skips = false;
        loop {
            let next = tokio::select! {
                next = self.line.next(AFTER_LOGIN) => next,
                () = stopped(&mut stop) => {
                    self.line.end(Some(SqlError::fatal(code::STOPPED, "the server stops; connect again soon"))).await;
                    return;
                }
            };
            // Whoever says what cannot be read gets an answer, and that is the end.
            let read = |(letter, body): (u8, Vec<u8>)| {
                said(letter, &body).map_err(|refused| SqlError { fatal: true, ..refused }.into())
            };
            let message = match next.and_then(read) {
                Ok(message) => message,
                Err(ConnectionError::Gone) => return,
                Err(ConnectionError::Refused(refused)) => return self.line.end(Some(refused)).await,
            };
            if skips && !matches!(message, ClientMessage::Sync | ClientMessage::Terminate) {
                continue;
            }
            let simple = match &message {
                ClientMessage::Terminate => return self.line.end(None).await,
                ClientMessage::Sync => {
                    skips = false;
                    false
                }
                ClientMessage::Query(_) => true,
                _ => false,
            };
            let done = match self.answered(message).await {
                Err(ConnectionError::Refused(refused)) if !refused.fatal => {
                    skips = !simple;
                    let told = self.line.say(&refused.message());
                    if simple { told.and_then(|()| self.ready()) } else { told }
                }
                done => done,
            };
            let sent = match done {
                Ok(()) => self.line.send().await,
                broken => broken,
            };
            match sent {
                Ok(()) => {}
                Err(ConnectionError::Gone) => return,
                Err(ConnectionError::Refused(refused)) => return self.line.end(Some(refused)).await,
            }
        }
    }

    async fn answered(&mut self, message: ClientMessage) -> Result<(), ConnectionError> {
        match message {
            ClientMessage::Query(text) => self.simple(&text).await,
            ClientMessage::Parse { name, sql, types } => self.parse(name, &sql, &types).await,
            ClientMessage::Bind(binding) => self.bind(binding),
            ClientMessage::Describe(MessageTarget::Statement(name)) => self.describe_statement(&name).await,
            ClientMessage::Describe(MessageTarget::Portal(name)) => self.describe_portal(&name).await,
            ClientMessage::Execute { portal, most } => self.execute(&portal, most).await,
            ClientMessage::Close(target) => {
                match target {
                    MessageTarget::Statement(name) => drop(self.statements.remove(&name)),
                    MessageTarget::Portal(name) => drop(self.portals.remove(&name)),
                }
                self.line.say(&Message::CloseComplete(CloseComplete::new()))
            }
            ClientMessage::Sync => {
                if !self.in_transaction {
                    self.portals.clear();
                }
                self.ready()
            }
            ClientMessage::Flush | ClientMessage::Copying | ClientMessage::Terminate => Ok(()),
        }
    }

    fn ready(&mut self) -> Result<(), ConnectionError> {
        let status = if self.in_transaction { TransactionStatus::Transaction } else { TransactionStatus::Idle };
        self.line.say(&Message::ReadyForQuery(ReadyForQuery::new(status)))
    }

    /// Who asks, if their token is still the one that they came with.
    fn asker(&self) -> Result<AnalystContext, SqlError> {
        let person: Option<Person> = self.service.person(&self.known.name);
        let scram = self.service.scram(&self.known.name);
        let same = scram.is_some_and(|scram| scram.stored_key == self.known.stored_key);
        match person.filter(|_| same) {
            Some(person) => {
                Ok(AnalystContext { service: Arc::clone(&self.service), person, tables: Arc::clone(&self.tables) })
            }
            None => Err(SqlError::fatal(code::LOGIN, "this token was revoked: ask the curator for another")),
        }
    }

    /// A string of statements; all must be valid before the first is executed.
    async fn simple(&mut self, text: &str) -> Result<(), ConnectionError> {
        let asker = self.asker()?;
        let all = asked(text, &self.names)?;
        for one in &all {
            if query_of(one).map(parameters).transpose()?.unwrap_or(0) > 0 {
                let sentence = "a parameter has its value only in a prepared statement";
                return Err(SqlError::new(code::SYNTAX, sentence).into());
            }
        }
        if all.len() > 1 {
            let mut settings = self.known.settings.clone();
            for one in &all {
                asker.checked(one, &mut settings).await?;
            }
        }
        if all.is_empty() {
            self.line.say(&Message::EmptyQueryResponse(EmptyQueryResponse::new()))?;
        }
        for one in &all {
            let outcome = self.done(&asker, one).await?;
            if let Some(table) = &outcome.table {
                self.line.say(&described(&table.columns, &[])?)?;
                self.rows(table, &[], 0..table.rows.len()).await?;
            }
            self.complete(&outcome, outcome.table.as_ref().map_or(0, |table| table.rows.len()))?;
        }
        self.ready()
    }

    /// Does a statement, unless somebody asks for its end first.
    async fn done(
        &mut self,
        asker: &AnalystContext,
        one: &ClientStatement,
    ) -> Result<StatementOutcome, ConnectionError> {
        let begun = Instant::now();
        let mut settings = self.known.settings.clone();
        let outcome = tokio::select! {
            outcome = asker.answer(one, &mut settings) => outcome,
            () = self.known.cancel.asked() => Err(SqlError::new(
                code::CANCELLED,
                "cancelled: if it was charged already, it is completed, and asking again gets its answer for nothing",
            )),
        };
        if matches!(one, ClientStatement::Question(_) | ClientStatement::Explain { .. }) {
            rounded_up(begun, self.answer_time).await;
        }
        let outcome = outcome?;
        self.known.settings = settings;
        match one {
            ClientStatement::Begin => self.in_transaction = true,
            ClientStatement::End(_) => {
                self.in_transaction = false;
                // As PostgreSQL does: what waits in them is not held on.
                self.portals.clear();
            }
            ClientStatement::Reset("DISCARD ALL") => {
                self.statements.clear();
                self.portals.clear();
            }
            ClientStatement::Deallocate(None) => self.statements.clear(),
            ClientStatement::Deallocate(Some(name)) => drop(self.statements.remove(name)),
            _ => {}
        }
        for sentence in &outcome.notices {
            self.line.say(&notice(sentence))?;
        }
        for (name, value) in &outcome.told {
            self.line.say(&Message::ParameterStatus(ParameterStatus::new((*name).to_string(), value.clone())))?;
        }
        Ok(outcome)
    }

    /// Says rows, and sends them as they become many.
    async fn rows(
        &mut self,
        table: &ResultTable,
        forms: &[ValueFormat],
        rows: std::ops::Range<usize>,
    ) -> Result<(), ConnectionError> {
        // However little a client reads at a time, it does not hold rows for ever.
        let until = Instant::now() + PATIENCE + Duration::from_secs((weight(table) / SLOWEST) as u64);
        for row in &table.rows[rows] {
            let mut data = BytesMut::new();
            for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
                match encoded(cell, column.kind, form(forms, index))? {
                    None => data.put_i32(-1),
                    Some(bytes) => {
                        let length = i32::try_from(bytes.len());
                        data.put_i32(length.map_err(|_| SqlError::new(code::TOO_MUCH, "a cell is too long"))?);
                        data.extend_from_slice(&bytes);
                    }
                }
            }
            self.line.say(&Message::DataRow(DataRow::new(data, width(&table.columns)?)))?;
            timeout_at(until, self.line.send_if_full()).await.map_err(|_| ConnectionError::Gone)??;
        }
        Ok(())
    }

    fn complete(&mut self, outcome: &StatementOutcome, rows: usize) -> Result<(), ConnectionError> {
        let tag = match outcome.tag {
            "SELECT" => format!("SELECT {rows}"),
            tag => tag.to_string(),
        };
        self.line.say(&Message::CommandComplete(CommandComplete::new(tag)))
    }

    async fn parse(&mut self, name: String, sql: &str, types: &[u32]) -> Result<(), ConnectionError> {
        let asker = self.asker()?;
        let mut all = asked(sql, &self.names)?;
        if all.len() > 1 {
            return Err(SqlError::new(code::SYNTAX, "a prepared statement is one statement").into());
        }
        if !name.is_empty() && self.statements.contains_key(&name) {
            return Err(SqlError::new(code::TAKEN, format!("there is a prepared statement '{name}' already")).into());
        }
        let others = self.statements.iter().filter(|(other, _)| **other != name).map(|(_, one)| one.sql.len());
        if self.statements.len() >= MOST_STATEMENTS || others.sum::<usize>() + sql.len() > LONGEST {
            let sentence = format!(
                "a connection has at most {MOST_STATEMENTS} prepared statements of {LONGEST} bytes: close some"
            );
            return Err(SqlError::new(code::TOO_MUCH, sentence).into());
        }
        let one = all.pop();
        let count = one.as_ref().and_then(query_of).map(parameters).transpose()?.unwrap_or(0);
        if types.len() > count {
            let sentence = format!("the statement has {count} parameters, and {} types were given", types.len());
            return Err(SqlError::new(code::PROTOCOL, sentence).into());
        }
        let named = |index: usize| types.get(index).copied().filter(|oid| ![0, 705].contains(oid));
        let open = (0..count).any(|index| named(index).is_none());
        let told = match one.as_ref().and_then(question_of).filter(|_| open) {
            Some(question) => {
                let told = asker.service.parameters(&asker.person, &printed(&question.statement)?).await;
                told.map_err(|refusal| SqlError::of(refusal, question.text.as_deref()))?
            }
            None => Vec::new(),
        };
        let kinds: Vec<Option<ColumnKind>> = (0..count)
            .map(|index| named(index).map_or_else(|| told.get(index).copied().flatten(), kind_of_oid))
            .collect();
        let of = |index: usize| named(index).unwrap_or_else(|| kinds[index].map_or(PgType::Text, PgType::from).oid());
        let types = (0..count).map(of).collect();
        self.statements.insert(name, Arc::new(PreparedStatement { sql: sql.to_string(), types, kinds }));
        self.line.say(&Message::ParseComplete(ParseComplete::new()))
    }

    fn bind(&mut self, binding: Binding) -> Result<(), ConnectionError> {
        let Binding { portal, statement, forms, values, results } = binding;
        let prepared = self.prepared(&statement)?;
        let (wanted, given) = (prepared.types.len(), values.len());
        if given != wanted {
            let sentence = format!("the statement has {wanted} parameters, and {given} values were given");
            return Err(SqlError::new(code::PROTOCOL, sentence).into());
        }
        if forms.len() > 1 && forms.len() != given {
            let sentence = "give no format for the parameters, one for all, or one for each";
            return Err(SqlError::new(code::PROTOCOL, sentence).into());
        }
        let length = prepared.sql.len() + values.iter().flatten().map(Vec::len).sum::<usize>();
        let others = self.portals.iter().filter(|(other, _)| **other != portal).map(|(_, one)| one.length);
        if self.portals.len() >= MOST_PORTALS || others.sum::<usize>() + length > LONGEST {
            let sentence = format!("a connection has at most {MOST_PORTALS} portals of {LONGEST} bytes: close some");
            return Err(SqlError::new(code::TOO_MUCH, sentence).into());
        }
        let (forms, results) = (forms_of(&forms)?, forms_of(&results)?);
        let mut literals = Vec::with_capacity(given);
        for (index, value) in values.iter().enumerate() {
            let (oid, wanted) = (prepared.types[index], prepared.kinds[index]);
            literals.push(decoded(value.as_deref(), oid, form(&forms, index), wanted, index + 1)?);
        }
        // What cannot be asked is refused here already.
        prepared.asked(&self.names, &literals)?;
        self.portals.insert(portal, Portal { prepared, literals, length, forms: results, outcome: None });
        self.line.say(&Message::BindComplete(BindComplete::new()))
    }

    fn prepared(&self, name: &str) -> Result<Arc<PreparedStatement>, SqlError> {
        let found = self.statements.get(name).cloned();
        found.ok_or_else(|| SqlError::new(code::NO_STATEMENT, format!("there is no prepared statement '{name}'")))
    }

    async fn describe_statement(&mut self, name: &str) -> Result<(), ConnectionError> {
        let (asker, prepared) = (self.asker()?, self.prepared(name)?);
        // Any values of the parameters' kinds: they do not change which columns there are.
        let stand_ins: Vec<Literal> =
            prepared.kinds.iter().map(|kind| Literal::stand_in(kind.unwrap_or(ColumnKind::Text))).collect();
        let asked = prepared.asked(&self.names, &stand_ins)?;
        let has_stand_ins = !stand_ins.is_empty();
        let columns = columns(&asker, asked.as_ref(), &self.known.settings, has_stand_ins).await?;
        let types = ParameterDescription::new(prepared.types.clone());
        self.line.say(&Message::ParameterDescription(types))?;
        self.describe(columns.as_deref(), &[])
    }

    async fn describe_portal(&mut self, name: &str) -> Result<(), ConnectionError> {
        let asker = self.asker()?;
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        let columns = match portal.outcome.as_ref().and_then(|(outcome, _)| outcome.table.as_ref()) {
            Some(table) => Some(table.columns.clone()),
            None => {
                let asked = portal.prepared.asked(&self.names, &portal.literals)?;
                columns(&asker, asked.as_ref(), &self.known.settings, false).await?
            }
        };
        let forms = portal.forms.clone();
        self.describe(columns.as_deref(), &forms)
    }

    fn describe(&mut self, columns: Option<&[ResultColumn]>, forms: &[ValueFormat]) -> Result<(), ConnectionError> {
        let message = match columns {
            Some(columns) => described(columns, forms)?,
            None => Message::NoData(NoData::new()),
        };
        self.line.say(&message)
    }

    /// Refuses to hold more rows than a connection may let wait.
    fn may_wait(&self, outcome: &StatementOutcome) -> Result<(), SqlError> {
        let waiting = self.portals.values().filter_map(|portal| Some(&portal.outcome.as_ref()?.0));
        let held: usize = waiting.chain([outcome]).filter_map(|outcome| outcome.table.as_ref()).map(weight).sum();
        match held > MOST_HELD {
            true => Err(SqlError::new(
                code::TOO_MUCH,
                format!(
                    "rows of more than {MOST_HELD} bytes would wait on this connection: read all rows at once (what \
                        was charged stays charged)"
                ),
            )),
            false => Ok(()),
        }
    }

    async fn execute(&mut self, name: &str, most: i32) -> Result<(), ConnectionError> {
        let asker = self.asker()?;
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        // Rows that wait are asked for no second time.
        let asked = match portal.outcome {
            Some(_) => None,
            None => portal.prepared.asked(&self.names, &portal.literals)?,
        };
        if portal.outcome.is_none() && asked.is_none() {
            return self.line.say(&Message::EmptyQueryResponse(EmptyQueryResponse::new()));
        }
        let mut portal = match self.portals.remove(name) {
            Some(portal) => portal,
            None => return Err(no_portal(name).into()),
        };
        let (outcome, sent) = match (portal.outcome.take(), asked) {
            (Some(before), _) => before,
            (None, Some(asked)) => (self.done(&asker, &asked).await?, 0),
            (None, None) => return Err(no_portal(name).into()),
        };
        let all = outcome.table.as_ref().map_or(0, |table| table.rows.len());
        let end = match usize::try_from(most) {
            Ok(most) if most > 0 => sent.saturating_add(most).min(all),
            _ => all,
        };
        if let Some(table) = &outcome.table {
            if portal.forms.len() > 1 && portal.forms.len() != table.columns.len() {
                let sentence = "give no format for the columns, one for all, or one for each";
                return Err(SqlError::new(code::PROTOCOL, sentence).into());
            }
            self.rows(table, &portal.forms, sent..end).await?;
        }
        portal.outcome = Some(match end < all {
            true => {
                self.may_wait(&outcome)?;
                self.line.say(&Message::PortalSuspended(PortalSuspended::new()))?;
                (outcome, end)
            }
            false => {
                self.complete(&outcome, end - sent)?;
                // What was sent is not held any longer.
                let table = outcome.table.map(|table| ResultTable { rows: Vec::new(), ..table });
                (StatementOutcome { table, _held: None, ..outcome }, 0)
            }
        });
        self.portals.insert(name.to_string(), portal);
        Ok(())
    }
}

/// Waits until a multiple of `unit` has passed, so that the time of an answer tells less.
async fn rounded_up(begun: Instant, unit: Option<Duration>) {
    let Some(unit) = unit.filter(|unit| !unit.is_zero()) else { return };
    let units = begun.elapsed().as_nanos().div_ceil(unit.as_nanos()).max(1);
    tokio::time::sleep_until(begun + unit.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX))).await;
}

async fn columns(
    asker: &AnalystContext,
    asked: Option<&ClientStatement>,
    settings: &Settings,
    has_stand_ins: bool,
) -> Result<Option<Vec<ResultColumn>>, SqlError> {
    match asked {
        Some(asked) => asker.columns(asked, settings, has_stand_ins).await,
        None => Ok(None),
    }
}

/// The part of a statement that may have parameters.
fn query_of(asked: &ClientStatement) -> Option<&Statement> {
    match asked {
        ClientStatement::Catalogue(statement) => Some(statement),
        other => question_of(other).map(|question| &*question.statement),
    }
}

fn question_of(asked: &ClientStatement) -> Option<&PrivateTableQuery> {
    match asked {
        ClientStatement::Question(question) | ClientStatement::Explain { question, .. } => Some(question),
        _ => None,
    }
}

/// The statement with literals in the places of its parameters.
fn with_literals(asked: ClientStatement, literals: &[Literal]) -> Result<ClientStatement, SqlError> {
    if literals.is_empty() {
        return Ok(asked);
    }
    let question = |question: PrivateTableQuery| -> Result<PrivateTableQuery, SqlError> {
        Ok(PrivateTableQuery { statement: Box::new(bound(*question.statement, literals)?), text: None })
    };
    Ok(match asked {
        ClientStatement::Question(one) => ClientStatement::Question(question(one)?),
        ClientStatement::Explain { question: one, json } => ClientStatement::Explain { question: question(one)?, json },
        ClientStatement::Catalogue(statement) => ClientStatement::Catalogue(Box::new(bound(*statement, literals)?)),
        other => other,
    })
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(code::NO_PORTAL, format!("there is no portal '{name}'"))
}

fn forms_of(codes: &[i16]) -> Result<Vec<ValueFormat>, SqlError> {
    let form = |code: &i16| match code {
        0 => Ok(ValueFormat::Text),
        1 => Ok(ValueFormat::Binary),
        other => Err(SqlError::new(code::PROTOCOL, format!("a format is 0 or 1, not {other}"))),
    };
    codes.iter().map(form).collect()
}

/// The form of one of many: text where none is given, that of all where one is.
fn form(forms: &[ValueFormat], index: usize) -> ValueFormat {
    match forms {
        [] => ValueFormat::Text,
        [one] => *one,
        many => many.get(index).copied().unwrap_or(ValueFormat::Text),
    }
}

fn width(columns: &[ResultColumn]) -> Result<i16, SqlError> {
    i16::try_from(columns.len()).map_err(|_| SqlError::new(code::TOO_MUCH, "a result has too many columns"))
}

/// The columns as they are sent to a client.
fn described(columns: &[ResultColumn], forms: &[ValueFormat]) -> Result<Message, SqlError> {
    width(columns)?;
    if forms.len() > 1 && forms.len() != columns.len() {
        return Err(SqlError::new(code::PROTOCOL, "give no format for the columns, one for all, or one for each"));
    }
    let field = |(index, column): (usize, &ResultColumn)| {
        let form = i16::from(form(forms, index) == ValueFormat::Binary);
        let name = column.name.replace('\0', "");
        FieldDescription::new(name, 0, 0, column.kind.oid(), column.kind.size(), -1, form)
    };
    Ok(Message::RowDescription(RowDescription::new(columns.iter().enumerate().map(field).collect())))
}
