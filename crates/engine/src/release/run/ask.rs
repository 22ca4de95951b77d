//! `scumble ask`: questions to an interactive release, one after the other.
//!
//! # What a question does, in this order
//! 1. The condition is evaluated on all combinations of values, without data: its errors are reported now.
//! 2. The process takes a lock, so that no other asks the same release meanwhile. (Nothing below depends on it.)
//! 3. If a round is open and the state is the one that its last answer left ([`state`]), the ledger gets an entry
//!    `reading`; otherwise a round is **reserved**. Either is durable before a row is read, and says that answer n of
//!    the round is being made. Where the rounds or the budget are used up, the model answers, *not checked*.
//! 4. Rows are read, the model's answer is tested, perhaps the count is measured. All of it stays in memory, and so
//!    does the state that the answer leaves.
//! 5. The ledger gets an entry `drawn`: the number of the answer, and the digest of that state.
//! 6. The state, the files with all answers, and the ledger's commit, each durable; then the answer is shown.
//!
//! # Guarantee
//! Every answer that is ever seen has an entry `drawn` of its own before it. In a round there is at most one for each
//! number, and rows are read for a number once: `reading` and `drawn` are written in transactions that look whether
//! they may follow ([`Ledger::reading`], [`Ledger::drawn_answer`]). So whatever is copied, edited or put back beside
//! the ledger, and whenever a process is killed or kept from writing, the answers of a round are one run of the sparse
//! vector, and the first measured answer is the last: the state after it has no open round, and no other state of that
//! round is the last one.
//!
//! What is charged depends on answers that were drawn for somebody to see, and on nothing else in the data. A process
//! that ends between 3 and 5, in whatever way, has shown nothing, not even whether the count was measured: what it does
//! up to there, and what it says if it fails, is the same in both cases. The round is over either way: even an observer
//! who learned from the time it took whether the count was measured would know one run of the sparse vector, which is
//! charged. One that ends after 5 has been charged for what it would have shown; if the state was written, that is in
//! the next table.

mod state;

pub use state::AnswerSource;

use super::exclusivity;
use super::kept::request_digest;
use super::metadata::metadata;
use super::publish::Places;
use crate::error::{Error, ErrorKind, Result};
use crate::guarded::guarded;
use crate::kinds::interactive;
use crate::kinds::interactive::OpenedInteractive;
use crate::ledger::{self, DrawMode, Ledger, LedgerState, Pass, Proposal, Receipt, ReleaseContext, Reservation};
use crate::place::{Origin, Place};
use crate::project::{Request, file_names};
use crate::release::field::PlacedValue;
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnRole, Details, Uncertainty};
use crate::release::plan::ChargedAccess;
use crate::release::run::Marks;
use crate::release::run::charge::{ChargeLife, ChargeStep, interrupted, uncommitted};
use crate::release::run::published::release_document;
use crate::release::run::{PlannedRelease, Runner};
use crate::remote::backend_of;
use crate::tables::Backend;
use scumble::mechanism::sparse_vector::ThresholdNoise;
use scumble::noise::BitSource;
use scumble::workload::NORMAL_95;
use scumble::workload::interactive::{CellWeights, LinearQuery, Reply};
use state::{GivenAnswer, OpenRound, RoundState, StateFile};
use std::path::{Path, PathBuf};

/// An answer, as it is shown.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InteractiveAnswer {
    /// The condition.
    pub question: String,
    /// About how many owners fulfil it.
    pub answer: i64,
    /// The answer is within this; none where nobody has looked.
    pub within: Option<u64>,
    /// Where it comes from.
    pub how: AnswerSource,
    /// The entry of the round that was charged for it, if one was.
    pub charged: Option<u64>,
    /// How many rounds were charged so far, and how many there may be.
    pub rounds: (u64, u64),
    /// What somebody should know.
    pub notes: Vec<String>,
}

/// A release that is being asked: nobody else asks it meanwhile.
pub struct InteractiveSession<'a> {
    runner: &'a Runner<'a>,
    opened: OpenedInteractive,
    /// A round of it, as a release.
    round: PlannedRelease,
    request: String,
    out: PathBuf,
    kept: StateFile,
    state: RoundState,
    /// The digest of the state, where the ledger has it.
    known: Option<String>,
    model: CellWeights,
    marks: Marks,
    backend: Backend,
    counts: Option<Vec<u64>>,
    /// How many answers the ledger has that the state does not remember.
    forgotten: u64,
}

impl Runner<'_> {
    /// Prepares for questions to an interactive release, which write their answers into the folder `out`. Charges
    /// nothing, and looks at no value except to check the files.
    pub fn asking<'a>(&'a self, request: &Request, out: &Path) -> Result<InteractiveSession<'a>> {
        if !request.is_asked() {
            return Err(Error::input(format!(
                "release '{}' is of kind {}: publish it with 'scumble release'; only releases of kind interactive are \
                    asked",
                request.name, request.kind
            )));
        }
        let request = &self.project().with_scope(request.clone());
        let opened = interactive::opened(request, self.project())?;
        self.hold_budget()?;
        let mut round = self.plan(request)?;
        round.plan.events.clone_from(&opened.round);
        let digest = request_digest(self.project(), &round)?;
        let one = std::slice::from_ref(&round);
        let before = self.agreed(&round)?;
        if backend_of(request, &round.plan.tables, self.project())?.is_some() {
            return Err(Error::input(format!(
                "release '{}' needs rows, which remote backends do not give: use a file that is read here \
                    (docs/how-to/remote-backends.md)",
                request.name
            )));
        }
        let backend = self.preflight(one)?;
        let marks = self.checked(one, &before)?;
        self.refuse_own_files(out, one)?;
        drop(places(self, out, &round)?);
        let kept = StateFile::hold(self.ledger(), &request.name)?;
        let rounds = self.charged_rounds(&request.name, &digest)?;
        let is_known = |seal: &String| rounds.iter().any(|round| round.life.states().contains(seal));
        let found = kept.read().filter(|(state, seal)| state.request == digest && is_known(seal));
        let (state, known) = found.map_or_else(
            || (RoundState { request: digest.clone(), ..RoundState::default() }, None),
            |(state, seal)| (state, Some(seal)),
        );
        let mut asking = InteractiveSession {
            runner: self,
            model: CellWeights::uniform(opened.declared.universe.domain.cells()),
            opened,
            round,
            request: digest,
            out: out.to_path_buf(),
            kept,
            state,
            known,
            marks,
            backend,
            counts: None,
            forgotten: 0,
        };
        asking.learn_again()?;
        Ok(asking)
    }

    /// How many rounds of an interactive release were charged, and how many there may be; none for other kinds.
    pub fn rounds(&self, planned: &PlannedRelease) -> Result<Option<(u64, u64)>> {
        if !planned.request.is_asked() {
            return Ok(None);
        }
        let all = planned.plan.events.iter().map(scumble::Event::times).max().unwrap_or(0);
        let request = request_digest(self.project(), planned)?;
        Ok(Some((self.charged_rounds(&planned.request.name, &request)?.len() as u64, all)))
    }

    /// The rounds of a release that were charged under a declaration, in order.
    fn charged_rounds(&self, name: &str, request: &str) -> Result<Vec<Reservation>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(Vec::new()) };
        Ok(ledger.reservations(name)?.into_iter().filter(|one| one.request == request).collect())
    }

    /// The standing of the ledger, with which the budget and the tables of a release must agree.
    fn agreed(&self, planned: &PlannedRelease) -> Result<LedgerState> {
        let before = match self.existing_ledger()? {
            Some(ledger) => ledger.standing(&[])?.0,
            None => LedgerState::nothing(),
        };
        before.agrees(&self.project().budget.in_force(), &self.project().path.display().to_string())?;
        let folder = ledger::folder(self.ledger())?;
        let tables = self.declared(planned, &folder)?;
        ledger::joined(before.declared(), &tables, &folder)?;
        exclusivity::in_its_own_ledger(self.project(), &tables, self.ledger())?;
        Ok(before)
    }
}

/// What a question may use beside its receipt.
struct Grant {
    /// The number of the answer in its round.
    number: u64,
    /// The secret of the round; none where the model answers alone.
    secret: Option<i128>,
    /// Whether the round was charged just now.
    is_new: bool,
}

/// A question on its way through the life of its charge.
struct AskedQuestion<'q, 'a> {
    session: &'q mut InteractiveSession<'a>,
    question: &'q str,
    understood: LinearQuery,
    bits: &'q mut dyn BitSource,
    notes: Vec<String>,
    /// The entry of the round that was charged for it, if one was.
    charged: Option<u64>,
}

impl ChargeLife for AskedQuestion<'_, '_> {
    type Ready = Places;
    type Held = (Places, Grant);
    type Drawn = (Places, GivenAnswer);
    type Outcome = GivenAnswer;

    /// Charges a round, or goes on with the open one.
    fn reserve(&mut self, places: Places, ledger: &mut Ledger) -> Result<(Receipt, Self::Held)> {
        let (receipt, grant) = self.session.granted(ledger, &mut self.notes, self.bits)?;
        // Whatever ends this early leaves a round that is over.
        self.session.known = None;
        self.charged = grant.is_new.then(|| receipt.sequence());
        Ok((receipt, (places, grant)))
    }

    fn draw(
        &mut self,
        receipt: Receipt,
        (places, grant): Self::Held,
        ledger: &mut Ledger,
    ) -> Result<(Pass, Self::Drawn)> {
        let given = self.session.given(&receipt, &grant, self.question, &self.understood, self.bits)?;
        let pass = self.session.settled(receipt, grant, &given, ledger)?;
        Ok((pass, (places, given)))
    }

    fn commit(&mut self, pass: Pass, (places, given): Self::Drawn, ledger: &mut Ledger) -> Result<GivenAnswer> {
        let session = &mut *self.session;
        if given.how == AnswerSource::Measured {
            session.model.update(&self.understood, session.opened.plan.step(given.answer, given.expected));
        }
        session.published(places, pass, ledger)?;
        Ok(given)
    }
}

impl InteractiveSession<'_> {
    /// Which combinations fulfil a question; errors in it are reported here, and nothing is charged.
    pub fn understood(&self, question: &str) -> Result<LinearQuery> {
        let place = Place { origin: Origin::CommandLine, line: 1, column: 1 };
        let condition = PlacedValue { value: question.to_string(), place };
        let truths = self.opened.declared.universe.fulfilling(&condition, self.runner.project())?;
        Ok(LinearQuery::of(truths))
    }

    /// Answers a question.
    ///
    /// # Guarantee
    /// As the module says.
    pub fn ask(&mut self, question: &str, bits: &mut dyn BitSource) -> Result<InteractiveAnswer> {
        let understood = self.understood(question)?;
        let runner = self.runner;
        let places = places(runner, &self.out, &self.round)?;
        let mut ledger = runner.ledger.created()?;
        let mut asked = AskedQuestion { session: self, question, understood, bits, notes: Vec::new(), charged: None };
        let given = ChargeStep::Unpaid { ready: places }.committed(&mut asked, &mut ledger)?;
        let AskedQuestion { notes, charged, .. } = asked;
        let rounds = (self.charged(&ledger)?.len() as u64, self.opened.plan.updates());
        let GivenAnswer { question, how, answer, .. } = given;
        Ok(InteractiveAnswer { question, answer, within: self.within(how), how, charged, rounds, notes })
    }

    /// The rounds that were charged under this declaration.
    fn charged(&self, ledger: &Ledger) -> Result<Vec<Reservation>> {
        let all = ledger.reservations(&self.round.request.name)?;
        Ok(all.into_iter().filter(|one| one.request == self.request).collect())
    }

    /// The open round, if it can be believed; otherwise a new one, which is charged; otherwise the model alone.
    fn granted(
        &mut self,
        ledger: &mut Ledger,
        notes: &mut Vec<String>,
        bits: &mut dyn BitSource,
    ) -> Result<(Receipt, Grant)> {
        let rounds = self.charged(ledger)?;
        let (charged, asked) = (rounds.len() as u64, rounds.iter().map(|one| one.life.answers()).sum::<u64>());
        self.forgotten = asked.saturating_sub(self.state.answers.len() as u64);
        notes.extend(self.said_of_forgotten());
        let open = self.state.open.take();
        let OpenedInteractive { plan, declared, .. } = &self.opened;
        if asked >= declared.questions {
            let why = format!("All {} questions that were planned for are asked", declared.questions);
            return model_alone(ledger, &rounds, notes, (&why, ""));
        }
        if let Some(last) = rounds.last() {
            let known = self.known.as_ref();
            let has_ended = open.is_none() && known.is_some() && known == last.life.states().last();
            if let Some((known, open)) = known.zip(open).filter(|(_, open)| open.head == last.head)
                && let Some(receipt) = ledger.reading(&open.head, known)?
            {
                let number = last.life.answers() + 1;
                return Ok((receipt, Grant { number, secret: Some(open.secret), is_new: false }));
            }
            notes.extend((!has_ended).then(|| lost(last.head.entries)));
        }
        if charged >= plan.updates() {
            let why = format!("All {} rounds are used up", plan.updates());
            return model_alone(ledger, &rounds, notes, (&why, ""));
        }
        match self.reserved(ledger, charged + 1, bits.is_secure()) {
            Ok(receipt) => Ok((receipt, Grant { number: 1, secret: Some(plan.open(bits).secret()), is_new: true })),
            Err(error) if error.kind() == ErrorKind::Budget && charged > 0 => {
                let refused = format!(" ({})", error.sentence());
                model_alone(ledger, &rounds, notes, ("No further round fits the budget", &refused))
            }
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
            about: ReleaseContext { draws: DrawMode::Each, ..runner.about(round, &self.marks)? },
        };
        crate::release::run::exclusivity::among_ledgers(
            runner.project(),
            round,
            &proposal.about.tables,
            runner.ledger(),
        )?;
        ledger.reserve(&proposal, |standing| runner.fits(round, standing))
    }

    /// The answer, in memory alone. The error of a failure does not depend on whether the count was measured.
    fn given(
        &mut self,
        receipt: &Receipt,
        grant: &Grant,
        question: &str,
        understood: &LinearQuery,
        bits: &mut dyn BitSource,
    ) -> Result<GivenAnswer> {
        let (how, answer, expected) = match grant.secret {
            None => {
                let expected = self.opened.plan.expected(self.model.answer(understood));
                (AnswerSource::NotChecked, expected as i64, expected)
            }
            Some(secret) => {
                let drawn = guarded(|| self.drawn(receipt, secret, understood, bits));
                match drawn.ok_or_else(|| interrupted(&self.round.request.name))? {
                    (Reply::Model(_), expected) => (AnswerSource::Model, expected as i64, expected),
                    (Reply::Measured(noisy), expected) => (AnswerSource::Measured, noisy, expected),
                }
            }
        };
        Ok(GivenAnswer { question: question.to_string(), how, answer, expected })
    }

    /// From rows to an answer, and what the model expected. Whatever goes wrong here may depend on the data.
    fn drawn(
        &mut self,
        receipt: &Receipt,
        secret: i128,
        question: &LinearQuery,
        bits: &mut dyn BitSource,
    ) -> Result<(Reply, u64)> {
        let key = self.state.key(bits);
        let mut charged = ChargedAccess::with_key(receipt, &self.backend, key, bits);
        let universe = &self.opened.declared.universe;
        let counts = match self.counts.take() {
            Some(counts) => counts,
            None => universe.counts(&charged.read(&universe.attributes)?)?,
        };
        let (count, share) = self.model.look(question, &counts);
        let expected = self.opened.plan.expected(share);
        let answer = self.opened.plan.ask(ThresholdNoise::resumed(secret), count, expected, charged.bits());
        self.counts = Some(counts);
        Ok((answer, expected))
    }

    /// Writes down that an answer may be seen, and then the state that it leaves: the round goes on after one of the
    /// model that was checked, and is over after any other.
    fn settled(&mut self, receipt: Receipt, grant: Grant, given: &GivenAnswer, ledger: &mut Ledger) -> Result<Pass> {
        let Grant { number, secret, .. } = grant;
        let open = secret.filter(|_| given.how == AnswerSource::Model);
        let open = open.map(|secret| OpenRound { head: receipt.head().clone(), secret });
        let mut next = RoundState { open, ..self.state.clone() };
        next.answers.push(given.clone());
        let sealed = next.sealed()?;
        let pass = ledger.drawn_answer(receipt, number, &sealed.digest);
        let name = &self.round.request.name;
        let pass = pass.map_err(|error| unshown(name, &error.to_string()))?;
        let pass = pass.ok_or_else(|| unshown(name, "another process has answered in its place"))?;
        self.kept.write(&sealed)?;
        (self.state, self.known) = (next, Some(sealed.digest));
        Ok(pass)
    }

    /// Puts all answers so far in their places and commits them.
    fn published(&self, places: Places, pass: Pass, ledger: &mut Ledger) -> Result<()> {
        let name = &self.round.request.name;
        let mut answers = self.answers();
        self.round.plan.estimates.iter().for_each(|estimates| estimates.say_in(&mut answers));
        let PlannedRelease { request, plan, .. } = &self.round;
        let document = release_document(request, &pass, &answers, &plan.limits, &plan.counted);
        ledger.in_place()?;
        let (_, output) = places.put_answers(&pass, &answers, &document, &metadata(request, &pass))?;
        ledger.commit(pass, output).map(drop).map_err(|_| uncommitted(name))
    }

    /// The answers so far as a table.
    fn answers(&self) -> Answers {
        let given = &self.state.answers;
        let unsure = |given: &GivenAnswer| match self.within(given.how).map(|within| within as f64) {
            Some(within) => Uncertainty::around(given.answer as f64, within / NORMAL_95, within),
            None => Uncertainty::UNBOUNDED,
        };
        let noisy = given.iter().map(|given| (Cell::Whole(i128::from(given.answer)), unsure(given)));
        let [question, answer, how] = interactive::PUBLISHED;
        let mut notes = vec![
            "All intervals together hold with probability 95%. What is not checked is an answer of the model that nobody has compared with the data: it may be off by anything.".to_string(),
        ];
        notes.extend(self.said_of_forgotten());
        notes.extend(self.opened.declared.universe.attributes.note());
        Answers {
            columns: vec![
                AnswerColumn::plain(question, given.iter().map(|given| Cell::Text(given.question.as_str().into()))),
                AnswerColumn::noisy(answer, noisy),
                AnswerColumn::plain(how, given.iter().map(|given| Cell::Text(given.how.words().into()))),
            ],
            notes,
            details: Details {
                roles: [(question.to_string(), ColumnRole::Key), (answer.to_string(), ColumnRole::Amount { of: None })]
                    .into(),
                ..Details::default()
            },
        }
    }

    /// A reader should not take the table for everything that was answered.
    fn said_of_forgotten(&self) -> Option<String> {
        (self.forgotten > 0).then(|| {
            format!(
                "{} earlier answers are not in this table: the file beside the ledger does not remember them (it is lost or was changed, or a process ended before it was written), and the model goes on without them. They stay charged.",
                self.forgotten
            )
        })
    }

    fn within(&self, how: AnswerSource) -> Option<u64> {
        let promise = self.opened.plan.promise();
        match how {
            AnswerSource::Measured => Some(promise.slack_answer),
            AnswerSource::Model => Some(promise.error),
            AnswerSource::NotChecked => None,
        }
    }

    /// The model as it was left: from the answers that were measured.
    fn learn_again(&mut self) -> Result<()> {
        let measured: Vec<GivenAnswer> =
            self.state.answers.iter().filter(|given| given.how == AnswerSource::Measured).cloned().collect();
        for given in measured {
            let question = self.understood(&given.question)?;
            self.model.update(&question, self.opened.plan.step(given.answer, given.expected));
        }
        Ok(())
    }
}

/// The places of the files of all rounds, which replace those of the rounds before: nothing of them is kept apart.
fn places(runner: &Runner<'_>, out: &Path, round: &PlannedRelease) -> Result<Places> {
    let name = &round.request.name;
    let places = Places::claim(out, &file_names(name))?;
    let before = runner.existing_ledger()?.map_or(Ok(None), |ledger| ledger.last_committed(name))?;
    Ok(places.replacing(before.as_ref().map(|(charge, _)| charge)))
}

fn lost(entry: u64) -> String {
    format!(
        "The round of entry {entry} is lost, and stays charged: what was kept of it beside the ledger is not there, was changed, was in use when its process ended, or is not as old as the ledger."
    )
}

/// The model answers alone, under the last round that was charged, with the reason.
fn model_alone(
    ledger: &Ledger,
    rounds: &[Reservation],
    notes: &mut Vec<String>,
    (why, more): (&str, &str),
) -> Result<(Receipt, Grant)> {
    notes.push(format!("{why}: the model answers, and nobody has looked how near that is{more}."));
    let last = rounds.last().ok_or_else(|| Error::machine("an answer without any round"))?;
    let receipt = ledger.resumed(&last.head)?;
    Ok((receipt, Grant { number: last.life.answers() + 1, secret: None, is_new: false }))
}

/// The ledger cannot write down that an answer is about to be seen: nobody sees it. That depends on no value.
fn unshown(name: &str, why: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after its round was charged: {why}; nothing of the answer was shown, and the charge \
            stays: ask again, in a new round"
    ))
}
