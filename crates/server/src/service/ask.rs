//! Planning and asking.

use super::{Service, allowed, key_digest};
use crate::access::{Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use scumble::noise::{BitSource, SecureSource};
use scumble_engine::ledger::{Charge, ChargeState, Ledger, LedgerState, RemarkContent, RemarkOutcome};
use scumble_engine::project::{Cost, Request};
use scumble_engine::release::{Answers, PlannedRelease, Runner, StoredAnswers, stored};
use scumble_engine::summary::planned::{ReleaseForecast, delta_of, forecast, scopes, usual_delta};
use scumble_engine::summary::{PerScope, ScopeLeft};
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

/// A person's question, and the runner that charges for it.
struct QuestionContext<'a> {
    service: &'a Service,
    runner: Runner<'a>,
    person: &'a Person,
    question: &'a QueryRequest,
    /// The digest of its Idempotency-Key.
    key: Option<String>,
}

impl Service {
    /// What a question would cost whom, and the error to expect. Charges nothing and touches no data.
    pub async fn plan(self: &Arc<Self>, person: &Person, question: &QueryRequest) -> Result<Forecast, Refusal> {
        allowed(person, Role::Analyst)?;
        let (person, question) = (person.clone(), question.clone());
        self.at_work(move |service| {
            service.metrics.planned.add();
            service.context(&person, &question, None).forecast()
        })
        .await
    }

    fn context<'a>(
        &'a self,
        person: &'a Person,
        question: &'a QueryRequest,
        key: Option<String>,
    ) -> QuestionContext<'a> {
        QuestionContext { service: self, runner: self.runner(person, key.clone()), person, question, key }
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
            self.metrics.stored.add();
            if self.is_known_remark(&person, &stored_mark(&answer)) {
                return Ok(answer);
            }
            return self
                .at_work(move |service| {
                    service.context(&person, &question, None).remark_stored(&answer)?;
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
            let key = question.key.as_ref().map(|key| key_digest(person, key));
            match self.context(person, question, key).answered()? {
                QuestionState::Committed(answer) => return Ok(answer),
                QuestionState::Unfinished(refusal) if waits == 0 => return Err(refusal),
                QuestionState::Unfinished(_) | QuestionState::Reserved(_) | QuestionState::Unpaid => {
                    waits = waits.saturating_sub(1);
                }
            }
            std::thread::sleep(WAIT);
        }
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

impl QuestionContext<'_> {
    /// The question as a release of this name. What is wrong with it is known without data.
    fn planned(&self, name: &str) -> Result<PlannedRelease, Refusal> {
        let request = Request::sql(name, &self.question.sql, &self.question.cost)?;
        Ok(self.runner.plan(&request)?)
    }

    /// The question under the name of a release that was charged for it, if it can go on with that charge.
    fn going_on(&self, release: &str) -> Result<Option<Box<PlannedRelease>>, Refusal> {
        let planned = self.planned(release)?;
        Ok(self.runner.resumed_entry(&planned)?.map(|_| Box::new(planned)))
    }

    /// The same for the person's newest charge for a question whose draw nobody has seen.
    fn unanswered(&self, digest: &str) -> Result<Option<Box<PlannedRelease>>, Refusal> {
        let Some(ledger) = self.runner.existing_ledger()? else { return Ok(None) };
        for release in ledger.unanswered(digest, &self.person.name)? {
            if let Some(planned) = self.going_on(&release)? {
                return Ok(Some(planned));
            }
        }
        Ok(None)
    }

    fn forecast(&self) -> Result<Forecast, Refusal> {
        let (runner, project) = (&self.runner, &self.service.project);
        let planned = self.planned("plan")?;
        let fits = runner.admit([&planned]);
        let budget = match &fits {
            Ok(()) => "it fits the budget".to_string(),
            Err(error) if error.kind() == ErrorKind::Budget => error.to_string(),
            Err(error) => return Err(error.clone().into()),
        };
        let (scopes, usual) = (scopes(project)?, usual_delta(project)?);
        let delta = delta_of(&planned, &scopes, &usual)?;
        let release = forecast(&planned, project, &scopes, &delta)?;
        let digest = runner.question(&planned)?;
        let (stored, standing) = match runner.existing_ledger()? {
            Some(ledger) => (ledger.answered(&digest)?, ledger.standing(&[])?.0),
            None => (None, LedgerState::nothing()),
        };
        if let Some(charge) = &stored {
            self.remark_planned(charge)?;
        }
        // What was paid for fits, and leaves what is left.
        let free = match &stored {
            _ if self.question.fresh => None,
            Some(_) => Some(PAID),
            None => self.unanswered(&digest)?.map(|_| CHARGED),
        };
        let is_free = free.is_some();
        let mut sums = standing.sums()?.clone();
        if !is_free {
            sums.add(&planned.plan.events)?;
        }
        let in_force = standing.budget().unwrap_or_else(|| project.budget.clone());
        Ok(Forecast {
            release,
            fits: is_free || fits.is_ok(),
            budget: free.map_or(budget, str::to_string),
            stored: stored.is_some(),
            left: self.service.summarized(&[], &sums, &in_force)?.remaining,
        })
    }

    fn answered(self) -> Result<QuestionState, Refusal> {
        let service = self.service;
        let name = format!("ask-{:016x}", SecureSource::new().map_err(Error::from)?.next_u64());
        let planned = self.planned(&name);
        // Held until the work is done, whether or not anybody waits for it.
        let _charge_lock = service.charge_lock()?;
        let planned = match planned {
            Ok(planned) => planned,
            Err(refusal) => {
                if refusal.kind() == RefusalKind::Input {
                    self.remark_refused(&refusal)?;
                }
                service.metrics.refused.add();
                return Err(refusal);
            }
        };
        let (context, planned, resumed) = match self.paid_before(&planned)? {
            QuestionState::Unpaid => (self, [planned], false),
            QuestionState::Reserved(planned) => (Self { runner: self.runner.going_on(), ..self }, [*planned], true),
            ended @ (QuestionState::Unfinished(_) | QuestionState::Committed(_)) => return Ok(ended),
        };
        let name = planned[0].request.name.clone();
        let mut bits = SecureSource::new().map_err(Error::from)?;
        match context.runner.release(&planned, &service.out, &mut bits, |_| ()) {
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
                service.metrics.paid.add();
                service.memory.put(context.question, &answer);
                if resumed && let Some(key) = &context.key {
                    context.remembers_key(key, &answer)?;
                }
                Ok(QuestionState::Committed(answer))
            }
            Err(error) => {
                // Another process may have charged for the same key, or gone on with the same charge, meanwhile: then
                // its answer is the answer.
                if resumed || (context.key.is_some() && !context.runner.is_charged(&name)?) {
                    match context.paid_before(&planned[0])? {
                        QuestionState::Unpaid | QuestionState::Reserved(_) => {}
                        ended @ (QuestionState::Unfinished(_) | QuestionState::Committed(_)) => return Ok(ended),
                    }
                }
                Err(context.not_released(&name, error)?)
            }
        }
    }

    /// How far the same question, or a request with the same key, has come. What was paid for before is counted.
    fn paid_before(&self, planned: &PlannedRelease) -> Result<QuestionState, Refusal> {
        let service = self.service;
        let Some(ledger) = self.runner.existing_ledger()? else { return Ok(QuestionState::Unpaid) };
        let digest = self.runner.question(planned)?;
        if let Some(charge) = self.key.as_ref().map(|key| ledger.keyed(key)).transpose()?.flatten() {
            if charge.asked.as_ref().is_none_or(|asked| asked.question != digest) {
                let sentence = "this Idempotency-Key belongs to another request: give each request a key of its own";
                return Err(Refusal::new(RefusalKind::Conflict, sentence));
            }
            return Ok(match &charge.state {
                ChargeState::Reserved => match self.going_on(&charge.release)? {
                    Some(planned) => QuestionState::Reserved(planned),
                    None => QuestionState::Unfinished(unpublished(&charge)),
                },
                ChargeState::Drawn => QuestionState::Unfinished(unpublished(&charge)),
                ChargeState::Committed(_) => {
                    let answer = service.read(&ledger, &charge)?;
                    service.metrics.stored.add();
                    QuestionState::Committed(answer)
                }
            });
        }
        if self.question.fresh {
            return Ok(QuestionState::Unpaid);
        }
        let Some(charge) = ledger.answered(&digest)? else {
            let unanswered = self.unanswered(&digest)?;
            return Ok(unanswered.map_or(QuestionState::Unpaid, QuestionState::Reserved));
        };
        let answer = service.read(&ledger, &charge)?;
        // It is written to next.
        drop(ledger);
        service.memory.put(self.question, &answer);
        self.remark_stored(&answer)?;
        service.metrics.stored.add();
        Ok(QuestionState::Committed(answer))
    }

    /// Why there is no answer. Beside budgets and what was charged, what is wrong may be something about files: that is
    /// for the curator.
    fn not_released(&self, name: &str, error: Error) -> Result<Refusal, Refusal> {
        if error.kind() == ErrorKind::Budget {
            let refusal = Refusal::from(error);
            self.remark_refused(&refusal)?;
            self.service.metrics.refused.add();
            return Ok(refusal);
        }
        self.service.metrics.failed.add();
        if self.runner.is_charged(name)? {
            return Ok(Refusal::new(RefusalKind::Lost, error.to_string()));
        }
        tracing::error!("a question was not answered, and nothing was charged: {error}");
        Ok(match self.person.role {
            Role::Curator => error.into(),
            _ => Refusal::new(
                RefusalKind::Machine,
                "this cannot be answered now, and nothing was charged: the curator finds why in the server's log and \
                    with 'scumble check'",
            ),
        })
    }

    fn remark_stored(&self, answer: &PaidAnswer) -> Result<(), Refusal> {
        let mark = stored_mark(answer);
        // A key is remembered each time: what comes again with it gets this answer, whatever was paid for meanwhile.
        if self.key.is_none() && self.service.is_known_remark(self.person, &mark) {
            return Ok(());
        }
        self.remark(self.key.clone(), RemarkOutcome::Stored(answer.sequence))?;
        self.service.remembers_remark(self.person, mark);
        Ok(())
    }

    /// A plan that tells that a colleague's question is stored tells something about the colleague: that is written
    /// down, once for each person and answer.
    fn remark_planned(&self, charge: &Charge) -> Result<(), Refusal> {
        let mark = format!("planned {}", charge.sequence);
        let is_known = || {
            self.service.is_known_remark(self.person, &mark)
                || self.service.is_known_remark(self.person, &format!("entry {}", charge.sequence))
        };
        if self.service.may_see(self.person, charge, is_known) {
            return Ok(());
        }
        self.remark(None, RemarkOutcome::Planned(charge.sequence))?;
        self.service.remembers_remark(self.person, mark);
        Ok(())
    }

    /// What comes again with this key gets this answer, although another request was charged for it.
    fn remembers_key(&self, key: &str, answer: &PaidAnswer) -> Result<(), Refusal> {
        let is_known = match self.runner.existing_ledger()? {
            Some(ledger) => ledger.keyed(key)?.is_some(),
            None => true,
        };
        match is_known {
            true => Ok(()),
            false => self.remark(Some(key.to_string()), RemarkOutcome::Stored(answer.sequence)),
        }
    }

    fn remark_refused(&self, refusal: &Refusal) -> Result<(), Refusal> {
        let mark = digest(format!("{}\n{}\n{}", self.question.cost, self.question.sql, refusal.sentence()).as_bytes());
        if self.service.is_known_remark(self.person, &mark) {
            return Ok(());
        }
        self.remark(None, RemarkOutcome::Refused(refusal.to_string()))?;
        self.service.remembers_remark(self.person, mark);
        Ok(())
    }

    /// Writes into the ledger what came of a question that was charged for nothing.
    fn remark(&self, key: Option<String>, came: RemarkOutcome) -> Result<(), Refusal> {
        let what: String = self.question.sql.chars().take(REMARKED).collect();
        let cost: String = self.question.cost.to_string().chars().take(200).collect();
        self.runner.remark(&RemarkContent { by: self.person.name.clone(), what, cost, key, came })?;
        Ok(())
    }
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
