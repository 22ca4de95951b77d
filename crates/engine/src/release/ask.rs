//! `scumble ask`: questions to an interactive release, one after the other.
//!
//! # What a question does, in this order
//! 1. The condition is tried out on all combinations of values, in public: what is wrong with it is said now.
//! 2. Whoever asks holds a lock; nobody else asks the same release meanwhile.
//! 3. If no round is open that can be believed ([`state`]), one is **reserved** in the ledger, which is durable before anything else happens. Where the rounds or the budget are used up, the model answers, *not checked*.
//! 4. The state says that a question is being answered, on the disk, before a row is read. If the process dies from here on, that is what the next one finds: the round is lost, and charged.
//! 5. Rows are read, the model's answer is tested, perhaps the count is measured.
//! 6. The state with the answer, the files with all answers, and the ledger's commit, each durable; then the answer is shown.
//!
//! # Guarantee
//! No answer is shown that is not in the ledger as a commit of a charged round, and a round that has ended is not asked again, whatever becomes of the state's file: the ledger has one commit more than an older file says. What is charged
//! depends on answers that were shown, and on nothing else in the data. A process that is killed while it answers has shown nothing of that answer, not even whether the count was measured: the round is over either way.

mod state;

pub use state::How;

use super::field::Placed;
use super::interactive::{self, Opened};
use super::job::place;
use super::kept::request_digest;
use super::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use super::publish::Places;
use super::published::part;
use super::run::{Marks, interrupted, places, uncommitted};
use super::{Charged, Planned, Runner};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::guarded::guarded;
use crate::ledger::{self, Ledger, Proposal, Receipt, Standing};
use crate::place::{Origin, Place};
use crate::project::Request;
use scumble::mechanism::sparse_vector::Round;
use scumble::noise::BitSource;
use scumble::workload::interactive::{Question, Reply, Weights};
use state::{Given, Kept, Open, State};
use std::path::{Path, PathBuf};

/// Half of a 95% interval in standard errors.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// An answer, as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The condition.
    pub question: String,
    /// About how many owners fulfil it.
    pub answer: i64,
    /// The answer is within this; none where nobody has looked.
    pub within: Option<u64>,
    /// Where it comes from.
    pub how: How,
    /// The entry of the round that was charged for it, if one was.
    pub charged: Option<u64>,
    /// How many rounds were charged so far, and how many there may be.
    pub rounds: (u64, u64),
    /// What somebody should know.
    pub notes: Vec<String>,
}

/// A release that is being asked: nobody else asks it meanwhile.
pub struct Asking<'a> {
    runner: &'a Runner<'a>,
    opened: Opened,
    /// A round of it, as a release.
    round: Planned,
    request: String,
    out: PathBuf,
    kept: Kept,
    state: State,
    model: Weights,
    marks: Marks,
    backend: Backend,
    counts: Option<Vec<u64>>,
    /// How many answers the ledger has that the state does not remember.
    forgotten: u64,
}

impl Runner<'_> {
    /// Prepares for questions to an interactive release, which write their answers into the folder `out`. Charges nothing, and looks at no value except to check the files.
    pub fn asking<'a>(&'a self, request: &Request, out: &Path) -> Result<Asking<'a>> {
        if request.kind != interactive::NAME {
            return Err(Error::input(format!(
                "release '{}' is of kind {}, which is published by 'scumble release'; only releases of kind interactive are asked",
                request.name, request.kind
            )));
        }
        let opened = interactive::opened(request, self.project())?;
        self.hold_budget()?;
        let mut round = self.plan(request)?;
        round.plan.events.clone_from(&opened.round);
        let digest = request_digest(self.project(), &round)?;
        let one = std::slice::from_ref(&round);
        let before = self.agreed(&round)?;
        if place(request, &round.plan.tables, self.project())?.is_some() {
            return Err(Error::input(format!(
                "release '{}' is asked about rows, which are computed with elsewhere: what needs rows needs a file that is read here (docs/backends.md)",
                request.name
            )));
        }
        let backend = self.preflight(one)?;
        let marks = self.checked(one, &before)?;
        self.refuse_own_files(out, one)?;
        drop(places(out, &round, self.ledger())?);
        let kept = Kept::hold(self.ledger(), &request.name)?;
        let found = kept.read().filter(|state| state.request == digest);
        let state = found.unwrap_or_else(|| State { request: digest.clone(), ..State::default() });
        let mut asking = Asking {
            runner: self,
            model: Weights::uniform(opened.declared.universe.domain.cells()),
            opened,
            round,
            request: digest,
            out: out.to_path_buf(),
            kept,
            state,
            marks,
            backend,
            counts: None,
            forgotten: 0,
        };
        asking.learn_again()?;
        Ok(asking)
    }

    /// How many rounds of an interactive release were charged, and how many there may be; none for other kinds.
    pub fn rounds(&self, planned: &Planned) -> Result<Option<(u64, u64)>> {
        if planned.request.kind != interactive::NAME {
            return Ok(None);
        }
        let all = planned.plan.events.iter().map(scumble::Event::times).max().unwrap_or(0);
        let request = request_digest(self.project(), planned)?;
        let charged = Ledger::open_existing(self.ledger())?
            .map_or(Ok(Vec::new()), |ledger| ledger.reservations(&planned.request.name))?;
        Ok(Some((charged.iter().filter(|one| one.request == request).count() as u64, all)))
    }

    /// The standing of the ledger, with which the budget and the tables of a release must agree.
    fn agreed(&self, planned: &Planned) -> Result<Standing> {
        let before = match Ledger::open_existing(self.ledger())? {
            Some(ledger) => ledger.standing(&[])?.0,
            None => Standing::nothing(),
        };
        before.agrees(&self.project().budget.in_force(), &self.project().path.display().to_string())?;
        let folder = ledger::folder(self.ledger())?;
        ledger::joined(before.declared(), &self.declared(planned, &folder)?, &folder)?;
        Ok(before)
    }
}

/// What a question may use.
enum Grant {
    /// A round, with its receipt; whether it was charged just now.
    Round { receipt: Receipt, secret: i128, answers: u64, is_new: bool },
    /// The model alone, and why.
    ModelAlone(String),
}

impl Asking<'_> {
    /// Of which combinations a question is true; what is wrong with it is said here, and nothing is charged.
    pub fn understood(&self, question: &str) -> Result<Question> {
        let place = Place { origin: Origin::CommandLine, line: 1, column: 1 };
        let condition = Placed { value: question.to_string(), place };
        let truths = self.opened.declared.universe.fulfilling(&condition, self.runner.project())?;
        Ok(Question::of(truths))
    }

    /// Answers a question.
    ///
    /// # Guarantee
    /// As the module says.
    pub fn ask(&mut self, question: &str, bits: &mut dyn BitSource) -> Result<Answered> {
        let understood = self.understood(question)?;
        let places = places(&self.out, &self.round, self.runner.ledger())?;
        let (mut ledger, mut notes) = (Ledger::open_or_create(self.runner.ledger())?, Vec::new());
        let grant = self.granted(&mut ledger, &mut notes, bits)?;
        let (receipt, charged, how, answer, expected) = match grant {
            Grant::ModelAlone(why) => {
                notes.push(why);
                let last = ledger.reservations(&self.round.request.name)?.pop();
                let receipt = last.map(|last| ledger.resumed(&last.head)).transpose()?;
                let expected = self.opened.plan.expected(self.model.answer(&understood));
                (receipt, None, How::NotChecked, expected as i64, expected)
            }
            Grant::Round { receipt, secret, answers, is_new } => {
                self.in_flight(&receipt, secret, answers, bits)?;
                let name = self.round.request.name.clone();
                let drawn = guarded(|| self.drawn(&receipt, secret, &understood, bits));
                let (drawn, expected) = drawn.ok_or_else(|| interrupted(&name))?;
                let (how, answer) = match drawn {
                    Reply::Model(_) => (How::Model, expected as i64),
                    Reply::Measured(noisy) => (How::Measured, noisy),
                };
                let sequence = receipt.sequence();
                (Some(receipt), is_new.then_some(sequence), how, answer, expected)
            }
        };
        let given = Given { question: question.to_string(), how, answer, expected };
        if how == How::Measured {
            self.model.update(&understood, self.opened.plan.step(answer, expected));
        }
        self.settle(&given)?;
        self.published(places, receipt, &mut ledger)?;
        let charges = ledger.reservations(&self.round.request.name)?;
        let charges = charges.iter().filter(|one| one.request == self.request).count() as u64;
        let rounds = (charges, self.opened.plan.updates());
        Ok(Answered { question: given.question, answer, within: self.within(how), how, charged, rounds, notes })
    }

    /// The open round, if it can be believed; otherwise a new one, which is charged; otherwise the model alone.
    fn granted(&mut self, ledger: &mut Ledger, notes: &mut Vec<String>, bits: &mut dyn BitSource) -> Result<Grant> {
        let all = ledger.reservations(&self.round.request.name)?;
        let own = all.iter().filter(|one| one.request == self.request);
        let (charged, asked) = (own.clone().count() as u64, own.map(|one| one.commits).sum::<u64>());
        self.forgotten = asked.saturating_sub(self.state.answers.len() as u64);
        notes.extend(self.said_of_forgotten());
        let Opened { plan, declared, .. } = &self.opened;
        if asked >= declared.questions {
            return Ok(Grant::ModelAlone(format!(
                "All {} questions that were planned for are asked: the model answers, and nobody has looked how near that is.",
                declared.questions
            )));
        }
        if let Some(open) = self.state.open.take() {
            let last = all.last().filter(|last| last.head == open.head && last.commits == open.answers);
            if last.is_some() && !self.state.in_flight {
                let receipt = ledger.resumed(&open.head)?;
                return Ok(Grant::Round { receipt, secret: open.secret, answers: open.answers, is_new: false });
            }
            notes.push(lost(open.head.entries));
        } else if let Some(last) = all.last().filter(|last| last.request == self.request && last.commits == 0) {
            // It was charged, and nothing is known of it any more.
            notes.push(lost(last.head.entries));
        }
        if charged >= plan.updates() {
            return Ok(Grant::ModelAlone(format!(
                "All {} rounds are used up: the model answers, and nobody has looked how near that is.",
                plan.updates()
            )));
        }
        let secure = bits.is_secure();
        match self.reserved(ledger, charged + 1, secure) {
            Ok(receipt) => {
                let secret = plan.open(bits).secret();
                Ok(Grant::Round { receipt, secret, answers: 0, is_new: true })
            }
            Err(Error::Budget(refused)) if charged > 0 => Ok(Grant::ModelAlone(format!(
                "No further round fits the budget: the model answers, and nobody has looked how near that is ({refused})."
            ))),
            Err(error) => Err(error),
        }
    }

    /// Charges a round.
    fn reserved(&self, ledger: &mut Ledger, number: u64, secure: bool) -> Result<Receipt> {
        let (runner, round) = (self.runner, &self.round);
        let mut rule = round.plan.rule.clone();
        rule["number"] = serde_json::json!(number);
        if !secure {
            rule["insecure"] = serde_json::json!("noise from a seed: nothing here is private");
        }
        let proposal = Proposal {
            release: round.request.name.clone(),
            kind: round.request.kind.clone(),
            project: Some(runner.project().digest.clone()),
            request: Some(self.request.clone()),
            events: round.plan.events.clone(),
            rule,
            about: runner.about(round, &self.marks)?,
        };
        super::alone::among_ledgers(runner.project(), round, &proposal.about.tables, runner.ledger())?;
        ledger.reserve(&proposal, |standing| runner.fits(round, standing))
    }

    /// Writes down that a question of this round is being answered.
    fn in_flight(&mut self, receipt: &Receipt, secret: i128, answers: u64, bits: &mut dyn BitSource) -> Result<()> {
        if self.state.key.is_none() {
            self.state.key = Some((bits.next_u64(), bits.next_u64()));
        }
        self.state.open = Some(Open { head: receipt.head().clone(), secret, answers });
        self.state.in_flight = true;
        self.kept.write(&self.state)
    }

    /// From rows to an answer, and what the model expected. Whatever goes wrong here may depend on the data.
    fn drawn(
        &mut self,
        receipt: &Receipt,
        secret: i128,
        question: &Question,
        bits: &mut dyn BitSource,
    ) -> Result<(Reply, u64)> {
        let key = self.state.key().ok_or_else(|| Error::machine("a round without a key"))?;
        let mut charged = Charged::with_key(receipt, &self.backend, key, bits);
        let universe = &self.opened.declared.universe;
        let counts = match self.counts.take() {
            Some(counts) => counts,
            None => universe.counts(&charged.records(&universe.attributes)?)?,
        };
        let (count, share) = self.model.look(question, &counts);
        let expected = self.opened.plan.expected(share);
        let answer = self.opened.plan.ask(Round::resumed(secret), count, expected, charged.bits());
        self.counts = Some(counts);
        Ok((answer, expected))
    }

    /// Writes down an answer: the round goes on after one of the model, and is over after one that was measured.
    fn settle(&mut self, given: &Given) -> Result<()> {
        match (given.how, &mut self.state.open) {
            (How::Model, Some(open)) => open.answers += 1,
            (How::NotChecked, _) | (How::Model, None) => {}
            (How::Measured, open) => *open = None,
        }
        self.state.in_flight = false;
        self.state.answers.push(given.clone());
        self.kept.write(&self.state)
    }

    /// Puts all answers so far in their places and commits them.
    fn published(&self, places: Places, receipt: Option<Receipt>, ledger: &mut Ledger) -> Result<()> {
        let name = &self.round.request.name;
        let Some(receipt) = receipt else { return Err(Error::machine("an answer without any round")) };
        let mut answers = self.answers();
        self.round.plan.estimates.iter().for_each(|estimates| estimates.say_in(&mut answers));
        let document = serde_json::json!({
            "release": name, "kind": self.round.request.kind, "sequence": receipt.sequence(), "ledger_head": receipt.head().hex(),
            "answers": answers.json(), "report": part(&answers, &self.round.plan.limits, &self.round.plan.counted),
        });
        ledger.in_place()?;
        let (_, output) = places.put_answers(&answers, &document)?;
        ledger.commit(receipt, output).map(drop).map_err(|_| uncommitted(name))
    }

    /// The answers so far as a table.
    fn answers(&self) -> Answers {
        let given = &self.state.answers;
        let uncertainty = given.iter().map(|given| match self.within(given.how) {
            Some(within) => Uncertainty {
                standard_error: within as f64 / NORMAL_95,
                low: given.answer as f64 - within as f64,
                high: given.answer as f64 + within as f64,
            },
            None => Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY },
        });
        let uncertainty: Vec<Uncertainty> = uncertainty.collect();
        let column = |name: &str, cell: &dyn Fn(&Given) -> Cell, uncertainty: Option<Vec<Uncertainty>>| AnswerColumn {
            name: name.to_string(),
            cells: given.iter().map(cell).collect(),
            uncertainty,
        };
        let [question, answer, how] = interactive::PUBLISHED;
        let mut notes = vec![
            "All intervals together hold with probability 95%. What is not checked is an answer of the model that nobody has compared with the data: it may be off by anything.".to_string(),
        ];
        notes.extend(self.said_of_forgotten());
        notes.extend(self.opened.declared.universe.attributes.note());
        Answers {
            columns: vec![
                column(question, &|given| Cell::Text(given.question.as_str().into()), None),
                column(answer, &|given| Cell::Whole(i128::from(given.answer)), Some(uncertainty)),
                column(how, &|given| Cell::Text(given.how.words().into()), None),
            ],
            notes,
            details: Details {
                bars: Some(given.iter().map(|given| given.question.clone()).collect()),
                intervals: vec![answer.to_string()],
                ..Details::default()
            },
        }
    }

    /// Whoever reads the table should not take it for all that was answered.
    fn said_of_forgotten(&self) -> Option<String> {
        (self.forgotten > 0).then(|| {
            format!(
                "{} earlier answers are not in this table: the file beside the ledger that remembered them is lost, and the model begins anew without them. They stay charged.",
                self.forgotten
            )
        })
    }

    fn within(&self, how: How) -> Option<u64> {
        let promise = self.opened.plan.promise();
        match how {
            How::Measured => Some(promise.slack_answer),
            How::Model => Some(promise.error),
            How::NotChecked => None,
        }
    }

    /// The model as it was left: from the answers that were measured.
    fn learn_again(&mut self) -> Result<()> {
        let measured: Vec<Given> =
            self.state.answers.iter().filter(|given| given.how == How::Measured).cloned().collect();
        for given in measured {
            let question = self.understood(&given.question)?;
            self.model.update(&question, self.opened.plan.step(given.answer, given.expected));
        }
        Ok(())
    }
}

fn lost(entry: u64) -> String {
    format!(
        "The round of entry {entry} is lost, and stays charged: what was kept of it beside the ledger is not there, was in use when its process ended, or is not as old as the ledger."
    )
}
