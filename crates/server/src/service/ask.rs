//! Planning and asking.

use super::{Service, allowed, key_digest};
use crate::access::{Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use scumble::noise::{BitSource, SecureSource};
use scumble_engine::ledger::{Charge, ChargeState, Ledger, LedgerState, RemarkContent, RemarkOutcome};
use scumble_engine::project::{Cost, Request};
use scumble_engine::release::{Answers, PlannedRelease, Runner, StoredAnswers, stored};
use scumble_engine::summary::planned::{ReleaseForecast, delta_of, forecast, scopes, usual_delta};
use scumble_engine::summary::{PerScope, ScopeLeft, SummaryRequest as LedgerQuestion, summary};
use scumble_engine::{Error, ErrorKind, digest};
use serde::Serialize;
use serde_json::Value;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// This many letters of a question stand in the ledger's remark of it.
const REMARKED: usize = 4000;
/// This many remarks are known to be in the ledger; beyond them some may be written again.
const KNOWN_REMARKS: usize = 100_000;
/// How often, and after how long each time, we look again for the answer to a charge of another server.
const WAITS: u32 = 40;
const WAIT: Duration = Duration::from_millis(50);

/// A question as somebody asks it.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// The query.
    pub sql: String,
    /// What it may cost.
    pub cost: Cost,
    /// Pay for new numbers although there is an answer.
    pub fresh: bool,
    /// The request's own key: what comes again with it gets the same answer, and is not charged again.
    pub key: Option<String>,
}

/// The progress of the charge for a question, as far as the analyst must know it.
enum QuestionState {
    /// Nothing was charged for it that could be gone on with.
    Unpaid,
    /// Charged, and nobody has seen its draw: the release that goes on with the charge.
    Reserved(Box<PlannedRelease>),
    /// Charged, and not published: lost, or another server is at work on it.
    Unfinished(Refusal),
    /// Charged, and published.
    Committed(PaidAnswer),
}

/// One paid answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PaidAnswer {
    /// What was published.
    pub answers: Arc<Answers>,
    /// The same as JSON, as `scumble query --json` prints it.
    pub shown: Arc<Value>,
    /// Its name in the ledger.
    pub release: String,
    /// Its entry there.
    pub sequence: u64,
    /// When it was charged (UTC).
    pub time: String,
    /// Whether it was paid for before, and nothing was charged now.
    pub stored: bool,
    /// The ledger's head (hexadecimal) and number of entries when it was read.
    pub head: (String, u64),
}

impl PaidAnswer {
    /// As `scumble query --json` prints it, with the release, its entry, and whether it was paid for before.
    pub fn document(&self) -> AnswerDocument<'_> {
        AnswerDocument {
            shown: &self.shown,
            columns: columns(&self.answers),
            ledger_head: &self.head.0,
            ledger_entries: self.head.1,
            release: &self.release,
            sequence: self.sequence,
            time: &self.time,
            stored: self.stored,
        }
    }
}

/// A paid answer as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerDocument<'a> {
    /// The rows, the notes, and what the kind says beside them.
    #[serde(flatten)]
    shown: &'a Value,
    /// The names of the columns in their order.
    columns: Vec<&'a str>,
    ledger_head: &'a str,
    ledger_entries: u64,
    release: &'a str,
    sequence: u64,
    time: &'a str,
    stored: bool,
}

/// What a question would cost: a release of `scumble plan --json`, and what that means for who asks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// What is known of the release.
    #[serde(flatten)]
    pub release: ReleaseForecast,
    /// Whether it would be answered.
    pub fits: bool,
    /// The same in words.
    pub budget: String,
    /// Whether its answer was paid for before.
    pub stored: bool,
    /// What would be left in every scope.
    pub left: PerScope<ScopeLeft>,
}

/// What a plan says of a question that has its answer.
const PAID: &str = "it was charged: asking again costs nothing";
/// And of one that was charged when its server died.
const CHARGED: &str = "it was charged, and nothing of it was seen: asking again uses that charge";

/// The question under the name of a release that was charged for it, if it can go on with that charge.
fn going_on(
    runner: &Runner<'_>,
    release: &str,
    question: &QueryRequest,
) -> Result<Option<Box<PlannedRelease>>, Refusal> {
    let planned = planned(runner, release, question)?;
    Ok(runner.resumed_entry(&planned)?.map(|_| Box::new(planned)))
}

/// The same for a person's newest charge for a question whose draw nobody has seen.
fn unanswered(
    runner: &Runner<'_>,
    digest: &str,
    person: &Person,
    question: &QueryRequest,
) -> Result<Option<Box<PlannedRelease>>, Refusal> {
    let Some(ledger) = runner.existing_ledger()? else { return Ok(None) };
    for release in ledger.unanswered(digest, &person.name)? {
        if let Some(planned) = going_on(runner, &release, question)? {
            return Ok(Some(planned));
        }
    }
    Ok(None)
}

impl Service {
    /// What a question would cost whom, and the error to expect. Charges nothing and touches no data.
    pub async fn plan(self: &Arc<Self>, person: &Person, question: &QueryRequest) -> Result<Forecast, Refusal> {
        allowed(person, Role::Analyst)?;
        let (person, question) = (person.clone(), question.clone());
        self.at_work(move |service| {
            service.metrics.planned();
            service.forecast(&person, &question)
        })
        .await
    }

    fn forecast(&self, person: &Person, question: &QueryRequest) -> Result<Forecast, Refusal> {
        let runner = self.runner(person, None);
        let planned = planned(&runner, "plan", question)?;
        let fits = runner.admit([&planned]);
        let budget = match &fits {
            Ok(()) => "it fits the budget".to_string(),
            Err(error) if error.kind() == ErrorKind::Budget => error.to_string(),
            Err(error) => return Err(error.clone().into()),
        };
        let (scopes, usual) = (scopes(&self.project)?, usual_delta(&self.project)?);
        let delta = delta_of(&planned, &scopes, &usual)?;
        let release = forecast(&planned, &self.project, &scopes, &delta)?;
        let digest = runner.question(&planned)?;
        let (stored, standing) = match runner.existing_ledger()? {
            Some(ledger) => (ledger.answered(&digest)?, ledger.standing(&[])?.0),
            None => (None, LedgerState::nothing()),
        };
        if let Some(charge) = &stored {
            self.remark_planned(&runner, person, question, charge)?;
        }
        // What was paid for fits, and leaves what is left.
        let free = match &stored {
            _ if question.fresh => None,
            Some(_) => Some(PAID),
            None => unanswered(&runner, &digest, person, question)?.map(|_| CHARGED),
        };
        let is_free = free.is_some();
        let mut sums = standing.sums()?.clone();
        if !is_free {
            sums.add(&planned.plan.events)?;
        }
        let budget_in_force = standing.budget().unwrap_or_else(|| self.project.budget.clone());
        let attributes = self.project.attributes();
        let asked =
            LedgerQuestion { budget: &budget_in_force, attributes: &attributes, delta: None, sets: &[], group: None };
        Ok(Forecast {
            release,
            fits: is_free || fits.is_ok(),
            budget: free.map_or(budget, str::to_string),
            stored: stored.is_some(),
            left: summary(&[], &sums, &asked)?.remaining,
        })
    }

    /// The answer to a question: the one that was paid for, or a new one, which is charged before a row is read.
    ///
    /// # Guarantee
    /// This process begins one charge at a time, and none that does not fit when it is written. A question that is
    /// dropped while it waits costs nothing; one that has begun is brought to its end, and its answer is there when it
    /// is asked again.
    pub async fn ask(self: &Arc<Self>, person: &Person, question: &QueryRequest) -> Result<PaidAnswer, Refusal> {
        allowed(person, Role::Analyst)?;
        if let Some(key) = &question.key
            && (key.is_empty() || key.len() > 255 || !key.chars().all(|letter| letter.is_ascii_graphic()))
        {
            return Err(Refusal::input("an Idempotency-Key has 1 to 255 visible ASCII characters"));
        }
        let (person, question) = (person.clone(), question.clone());
        let is_plain = !question.fresh && question.key.is_none();
        if let Some(answer) = self.memory.get(&question).filter(|_| is_plain) {
            self.metrics.stored();
            if self.is_known_remark(&person, &stored_mark(&answer)) {
                return Ok(answer);
            }
            return self
                .at_work(move |service| {
                    service.remark_stored(&service.runner(&person, None), &person, &question, &answer)?;
                    Ok(answer)
                })
                .await;
        }
        self.paying(move |service| service.answered(&person, &question)).await
    }

    /// Of a charge without an answer nobody can tell whether its server died when its files were being written or is
    /// still at work: we wait a little, without the turn, before we call it lost.
    fn answered(&self, person: &Person, question: &QueryRequest) -> Result<PaidAnswer, Refusal> {
        let mut waits = WAITS;
        loop {
            match self.answered_now(person, question)? {
                QuestionState::Committed(answer) => return Ok(answer),
                QuestionState::Unfinished(refusal) if waits == 0 => return Err(refusal),
                QuestionState::Unfinished(_) | QuestionState::Reserved(_) | QuestionState::Unpaid => {
                    waits = waits.saturating_sub(1);
                }
            }
            std::thread::sleep(WAIT);
        }
    }

    fn answered_now(&self, person: &Person, question: &QueryRequest) -> Result<QuestionState, Refusal> {
        let key = question.key.as_ref().map(|key| key_digest(person, key));
        let runner = self.runner(person, key.clone());
        let name = format!("ask-{:016x}", SecureSource::new().map_err(Error::from)?.next_u64());
        let planned = planned(&runner, &name, question);
        // Held until the work is done, whether or not anybody waits for it.
        let _charge_lock = self.charge_lock()?;
        let planned = match planned {
            Ok(planned) => planned,
            Err(refusal) => {
                if refusal.kind() == RefusalKind::Input {
                    self.remark_refused(&runner, person, question, &refusal)?;
                }
                self.metrics.refused();
                return Err(refusal);
            }
        };
        let (runner, planned, resumed) = match self.paid_before(&runner, &planned, person, question, key.as_deref())? {
            QuestionState::Unpaid => (runner, [planned], false),
            QuestionState::Reserved(planned) => (runner.going_on(), [*planned], true),
            ended @ (QuestionState::Unfinished(_) | QuestionState::Committed(_)) => return Ok(ended),
        };
        let name = planned[0].request.name.clone();
        let mut bits = SecureSource::new().map_err(Error::from)?;
        match runner.release(&planned, &self.out, &mut bits, |_| ()) {
            Ok((mut outcomes, head)) => {
                let outcome = outcomes.remove(0);
                let answer = PaidAnswer {
                    shown: Arc::new(outcome.answers.json()),
                    answers: Arc::new(outcome.answers),
                    release: outcome.name,
                    sequence: outcome.sequence,
                    time: outcome.time,
                    stored: false,
                    head: (head.hex(), head.entries),
                };
                self.metrics.paid();
                self.memory.put(question, &answer);
                if resumed && let Some(key) = key {
                    self.remembers_key(&runner, person, question, key, &answer)?;
                }
                Ok(QuestionState::Committed(answer))
            }
            Err(error) => {
                // Another process may have charged for the same key, or gone on with the same charge, meanwhile: then
                // its answer is the answer.
                if resumed || (key.is_some() && !runner.is_charged(&name)?) {
                    match self.paid_before(&runner, &planned[0], person, question, key.as_deref())? {
                        QuestionState::Unpaid | QuestionState::Reserved(_) => {}
                        ended @ (QuestionState::Unfinished(_) | QuestionState::Committed(_)) => return Ok(ended),
                    }
                }
                Err(self.not_released(&runner, person, question, &name, error)?)
            }
        }
    }

    /// How far the same question, or a request with the same key, has come. What was paid for before is counted.
    fn paid_before(
        &self,
        runner: &Runner<'_>,
        planned: &PlannedRelease,
        person: &Person,
        question: &QueryRequest,
        key: Option<&str>,
    ) -> Result<QuestionState, Refusal> {
        let Some(ledger) = runner.existing_ledger()? else { return Ok(QuestionState::Unpaid) };
        let digest = runner.question(planned)?;
        if let Some(charge) = key.map(|key| ledger.keyed(key)).transpose()?.flatten() {
            if charge.asked.as_ref().is_none_or(|asked| asked.question != digest) {
                let sentence = "this Idempotency-Key belongs to another request: give each request a key of its own";
                return Err(Refusal::new(RefusalKind::Conflict, sentence));
            }
            return Ok(match &charge.state {
                ChargeState::Reserved => match going_on(runner, &charge.release, question)? {
                    Some(planned) => QuestionState::Reserved(planned),
                    None => QuestionState::Unfinished(unpublished(&charge)),
                },
                ChargeState::Drawn => QuestionState::Unfinished(unpublished(&charge)),
                ChargeState::Committed(_) => {
                    let answer = self.read(&ledger, &charge)?;
                    self.metrics.stored();
                    QuestionState::Committed(answer)
                }
            });
        }
        if question.fresh {
            return Ok(QuestionState::Unpaid);
        }
        let Some(charge) = ledger.answered(&digest)? else {
            let unanswered = unanswered(runner, &digest, person, question)?;
            return Ok(unanswered.map_or(QuestionState::Unpaid, QuestionState::Reserved));
        };
        let answer = self.read(&ledger, &charge)?;
        // It is written to next.
        drop(ledger);
        self.memory.put(question, &answer);
        self.remark_stored(runner, person, question, &answer)?;
        self.metrics.stored();
        Ok(QuestionState::Committed(answer))
    }

    /// What a charge has published.
    pub(super) fn read(&self, ledger: &Ledger, charge: &Charge) -> Result<PaidAnswer, Refusal> {
        if charge.state.output().is_none() {
            return Err(unpublished(charge));
        }
        let StoredAnswers { answers, document, .. } = stored(&self.out, charge).map_err(|why| {
            Refusal::new(
                RefusalKind::Lost,
                format!(
                    "this was charged (entry {}), and {why}; nothing was charged now: ask with \"fresh\": true \
                        for new numbers, or let the curator restore its files",
                    charge.sequence
                ),
            )
        })?;
        let head = ledger.head()?;
        Ok(PaidAnswer {
            answers: Arc::new(answers),
            shown: Arc::new(document),
            release: charge.release.clone(),
            sequence: charge.sequence,
            time: charge.time.clone(),
            stored: true,
            head: (head.hex(), head.entries),
        })
    }

    /// Why there is no answer. Beside budgets and what was charged, what is wrong may be something about files: that is
    /// for the curator.
    fn not_released(
        &self,
        runner: &Runner<'_>,
        person: &Person,
        question: &QueryRequest,
        name: &str,
        error: Error,
    ) -> Result<Refusal, Refusal> {
        if error.kind() == ErrorKind::Budget {
            let refusal = Refusal::from(error);
            self.remark_refused(runner, person, question, &refusal)?;
            self.metrics.refused();
            return Ok(refusal);
        }
        self.metrics.failed();
        if runner.is_charged(name)? {
            return Ok(Refusal::new(RefusalKind::Lost, error.to_string()));
        }
        tracing::error!("a question was not answered, and nothing was charged: {error}");
        Ok(match person.role {
            Role::Curator => error.into(),
            _ => Refusal::new(
                RefusalKind::Machine,
                "this cannot be answered now, and nothing was charged: the curator finds why in the server's log and \
                    with 'scumble check'",
            ),
        })
    }

    fn remark_stored(
        &self,
        runner: &Runner<'_>,
        person: &Person,
        question: &QueryRequest,
        answer: &PaidAnswer,
    ) -> Result<(), Refusal> {
        let mark = stored_mark(answer);
        let key = question.key.as_ref().map(|key| key_digest(person, key));
        // A key is remembered each time: what comes again with it gets this answer, whatever was paid for meanwhile.
        if key.is_none() && self.is_known_remark(person, &mark) {
            return Ok(());
        }
        remark(runner, person, question, key, RemarkOutcome::Stored(answer.sequence))?;
        self.remembers_remark(person, mark);
        Ok(())
    }

    /// A plan that tells that a colleague's question is stored tells something about the colleague: that is written
    /// down, once for each person and answer.
    fn remark_planned(
        &self,
        runner: &Runner<'_>,
        person: &Person,
        question: &QueryRequest,
        charge: &Charge,
    ) -> Result<(), Refusal> {
        let mark = format!("planned {}", charge.sequence);
        let is_known = || {
            self.is_known_remark(person, &mark) || self.is_known_remark(person, &format!("entry {}", charge.sequence))
        };
        if self.may_see(person, charge, is_known) {
            return Ok(());
        }
        remark(runner, person, question, None, RemarkOutcome::Planned(charge.sequence))?;
        self.remembers_remark(person, mark);
        Ok(())
    }

    /// What comes again with this key gets this answer, although another request was charged for it.
    fn remembers_key(
        &self,
        runner: &Runner<'_>,
        person: &Person,
        question: &QueryRequest,
        key: String,
        answer: &PaidAnswer,
    ) -> Result<(), Refusal> {
        let is_known = match runner.existing_ledger()? {
            Some(ledger) => ledger.keyed(&key)?.is_some(),
            None => true,
        };
        match is_known {
            true => Ok(()),
            false => remark(runner, person, question, Some(key), RemarkOutcome::Stored(answer.sequence)),
        }
    }

    fn remark_refused(
        &self,
        runner: &Runner<'_>,
        person: &Person,
        question: &QueryRequest,
        refusal: &Refusal,
    ) -> Result<(), Refusal> {
        let mark = digest(format!("{}\n{}\n{}", question.cost, question.sql, refusal.sentence()).as_bytes());
        if self.is_known_remark(person, &mark) {
            return Ok(());
        }
        remark(runner, person, question, None, RemarkOutcome::Refused(refusal.to_string()))?;
        self.remembers_remark(person, mark);
        Ok(())
    }

    fn is_known_remark(&self, person: &Person, mark: &str) -> bool {
        let known = self.remarked.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(person.name.clone(), mark.to_string()))
    }

    fn remembers_remark(&self, person: &Person, mark: String) {
        let mut known = self.remarked.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_REMARKS {
            known.clear();
        }
        known.insert((person.name.clone(), mark));
    }
}

/// Writes into the runner's ledger what came of a question that was charged for nothing.
fn remark(
    runner: &Runner<'_>,
    person: &Person,
    question: &QueryRequest,
    key: Option<String>,
    came: RemarkOutcome,
) -> Result<(), Refusal> {
    let what: String = question.sql.chars().take(REMARKED).collect();
    let cost: String = question.cost.to_string().chars().take(200).collect();
    runner.remark(&RemarkContent { by: person.name.clone(), what, cost, key, came })?;
    Ok(())
}

/// The names of an answer's columns in their order, which JSON objects do not keep.
pub(super) fn columns(answers: &Answers) -> Vec<&str> {
    answers.columns.iter().map(|column| column.name.as_str()).collect()
}

/// Of a charge whose answer is not known to be in place.
fn unpublished(charge: &Charge) -> Refusal {
    Refusal::new(
        RefusalKind::Lost,
        format!(
            "this was charged (entry {}) and is not published; nothing more was charged: ask again later, or pay \
                again with another Idempotency-Key, or without one",
            charge.sequence
        ),
    )
}

fn stored_mark(answer: &PaidAnswer) -> String {
    format!("entry {}", answer.sequence)
}

/// A question as a release of this name. What is wrong with it is known without data.
fn planned(runner: &Runner<'_>, name: &str, question: &QueryRequest) -> Result<PlannedRelease, Refusal> {
    let request = Request::sql(name, &question.sql, &question.cost)?;
    Ok(runner.plan(&request)?)
}
