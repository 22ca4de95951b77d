//! The life of a charge in one run: unpaid → reserved → drawn → committed. Releases, answers of interactive ones and
//! what parties publish take the same steps ([`ChargeStep`]); what happens in each is theirs ([`ChargeLife`]).
//!
//! # Guarantee
//! No row is read and no noise is drawn before the charge is durable, nothing leaves the process before the entry
//! `drawn` is, and the commit comes last. Each step takes the proof that the one before it gave ([`Receipt`],
//! [`Pass`]), so that no other order compiles. Whatever ends this early may lose an answer, and never a charge.

use super::exclusivity;
use super::kept::request_digest;
use super::metadata::metadata;
use super::publish::Places;
use super::published::release_document;
use super::waiting::ChargeLock;
use super::{Marks, PlannedRelease, ReleaseOutcome, Runner};
use crate::error::{Error, Result};
use crate::guarded::{caught, guarded};
use crate::ledger::{self, Ledger, Pass, Proposal, Receipt, RuleFacts};
use crate::release::output::{Answers, ColumnKind};
use crate::release::plan::ChargedAccess;
use crate::remote::{IntegerSource, OWN_HASH};
use crate::room::with_room;
use crate::tables::Backend;
use scumble::noise::BitSource;
use serde_json::json;

/// How far a charge has come in this run, with what proves it.
pub(super) enum ChargeStep<L: ChargeLife> {
    /// Nothing is charged.
    Unpaid { ready: L::Ready },
    /// The charge is durable: rows may be read and noise may be drawn, in memory.
    Reserved { receipt: Receipt, held: L::Held },
    /// The entry `drawn` is durable: what was drawn may leave the process.
    Drawn { pass: Pass, drawn: L::Drawn },
    /// What was drawn has left, and the ledger says so.
    Committed(L::Outcome),
}

/// What is charged for, and how each step of its charge is taken. [`ChargeStep::next`] alone calls these.
pub(super) trait ChargeLife {
    /// What is ready before anything is charged.
    type Ready;
    /// What is held from the charge on.
    type Held;
    /// What was drawn.
    type Drawn;
    /// What came of it.
    type Outcome;

    /// Charges, durably.
    fn reserve(&mut self, ready: Self::Ready, ledger: &mut Ledger) -> Result<(Receipt, Self::Held)>;

    /// Reads rows and draws noise, in memory; then writes down that something is about to leave.
    fn draw(&mut self, receipt: Receipt, held: Self::Held, ledger: &mut Ledger) -> Result<(Pass, Self::Drawn)>;

    /// Lets out what was drawn, and writes that down.
    fn commit(&mut self, pass: Pass, drawn: Self::Drawn, ledger: &mut Ledger) -> Result<Self::Outcome>;
}

impl<L: ChargeLife> ChargeStep<L> {
    /// The step after this one; the last is its own.
    fn next(self, life: &mut L, ledger: &mut Ledger) -> Result<Self> {
        Ok(match self {
            Self::Unpaid { ready } => {
                let (receipt, held) = life.reserve(ready, ledger)?;
                Self::Reserved { receipt, held }
            }
            Self::Reserved { receipt, held } => {
                let (pass, drawn) = life.draw(receipt, held, ledger)?;
                Self::Drawn { pass, drawn }
            }
            Self::Drawn { pass, drawn } => Self::Committed(life.commit(pass, drawn, ledger)?),
            Self::Committed(outcome) => Self::Committed(outcome),
        })
    }

    /// Takes the charge on from this step to its end.
    pub fn committed(self, life: &mut L, ledger: &mut Ledger) -> Result<L::Outcome> {
        let mut step = self;
        loop {
            match step {
                Self::Committed(outcome) => return Ok(outcome),
                before => step = before.next(life, ledger)?,
            }
        }
    }

    /// Takes a new charge on until what was drawn may leave.
    pub fn until_drawn(life: &mut L, ready: L::Ready, ledger: &mut Ledger) -> Result<(Pass, L::Drawn)> {
        let mut step = Self::Unpaid { ready };
        loop {
            match step {
                Self::Drawn { pass, drawn } => return Ok((pass, drawn)),
                before => step = before.next(life, ledger)?,
            }
        }
    }
}

/// What a release reads.
pub(super) struct ReleaseSources<'a> {
    /// The marks of its tables' files, where it reads files.
    pub marks: &'a Marks,
    pub backend: &'a Backend,
    /// Where integers come from, if not from rows that we read.
    pub elsewhere: Option<&'a dyn IntegerSource>,
}

/// A release that is about to be charged.
struct ReleaseCharge<'a> {
    runner: &'a Runner<'a>,
    planned: &'a PlannedRelease,
    sources: &'a ReleaseSources<'a>,
    bits: &'a mut dyn BitSource,
    proposal: Proposal,
    /// What is known of its columns.
    kinds: Vec<(String, ColumnKind)>,
    /// Whether the same release may go on with its charge: its noise is secure, and its integers do not come from files
    /// that somebody has brought.
    may_go_on: bool,
}

/// Where a release's files go, what was drawn, and the lock of its charge.
type DrawnRelease = (Places, Answers, ChargeLock);

impl Runner<'_> {
    /// Takes one release through the life of its charge.
    pub(super) fn publish(
        &self,
        planned: &PlannedRelease,
        sources: &ReleaseSources<'_>,
        places: Places,
        bits: &mut dyn BitSource,
        ledger: &mut Ledger,
    ) -> Result<ReleaseOutcome> {
        let mut charge = ReleaseCharge::of(self, planned, sources, bits)?;
        ChargeStep::Unpaid { ready: places }.committed(&mut charge, ledger)
    }
}

impl<'a> ReleaseCharge<'a> {
    fn of(
        runner: &'a Runner<'a>,
        planned: &'a PlannedRelease,
        sources: &'a ReleaseSources<'a>,
        bits: &'a mut dyn BitSource,
    ) -> Result<Self> {
        let mut rule = planned.plan.rule.clone();
        rule["hash"] = json!(OWN_HASH);
        sources.elsewhere.iter().for_each(|elsewhere| elsewhere.note(&mut rule));
        let is_secure = bits.is_secure();
        if !is_secure {
            rule["insecure"] = json!("noise from a seed: nothing here is private");
        }
        let may_go_on = is_secure && !RuleFacts::of(&rule).is_of_job();
        let proposal = Proposal {
            release: planned.request.name.clone(),
            kind: planned.request.kind.clone(),
            project: Some(runner.project().digest.clone()),
            request: Some(request_digest(runner.project(), planned)?),
            events: planned.plan.events.clone(),
            rule,
            about: runner.about(planned, sources.marks)?,
        };
        let kinds = runner.column_kinds(planned)?;
        Ok(Self { runner, planned, sources, bits, proposal, kinds, may_go_on })
    }

    /// From rows to answers. Whatever goes wrong here may depend on the data.
    fn answers(&mut self, receipt: &Receipt) -> Result<Answers> {
        let plan = &self.planned.plan;
        let mut charged = ChargedAccess::new(receipt, self.sources.backend, self.bits).with(self.sources.elsewhere);
        let mut answers = with_room(|| (plan.compute)(&mut charged))?;
        plan.estimates.iter().for_each(|estimates| estimates.say_in(&mut answers));
        answers.know_kinds(self.kinds.clone());
        Ok(answers)
    }
}

impl ChargeLife for ReleaseCharge<'_> {
    type Ready = Places;
    type Held = (Places, ChargeLock);
    type Drawn = DrawnRelease;
    type Outcome = ReleaseOutcome;

    /// Charges; or goes on with a charge whose draws nobody has seen.
    fn reserve(&mut self, places: Places, ledger: &mut Ledger) -> Result<(Receipt, Self::Held)> {
        let waiting = if self.may_go_on { self.runner.waiting(self.planned, ledger)? } else { None };
        // From the charge on, whatever ends this early leaves an interrupted one.
        self.runner.project().stop.here();
        let (receipt, work) = match waiting {
            Some(waiting) => (ledger.resumed(&waiting.at)?, waiting.work),
            None if self.runner.is_going_on => return Err(overtaken(&self.planned.request.name)),
            None => {
                let receipt = ledger.reserve(&self.proposal, |standing| {
                    self.sources.elsewhere.map_or(Ok(()), |elsewhere| elsewhere.admit(standing))?;
                    self.runner.fits(self.planned, standing)
                })?;
                let work = ChargeLock::on(self.runner.ledger(), receipt.sequence());
                (receipt, work)
            }
        };
        Ok((receipt, (places, work)))
    }

    fn draw(
        &mut self,
        receipt: Receipt,
        (places, work): Self::Held,
        ledger: &mut Ledger,
    ) -> Result<(Pass, DrawnRelease)> {
        let (runner, planned, may_go_on) = (self.runner, self.planned, self.may_go_on);
        let name = &planned.request.name;
        let answers = guarded(|| {
            // Another ledger may have charged something since: the later charge sees the earlier one, and where both
            // run at once, each sees the other.
            let tables = &self.proposal.about.tables;
            exclusivity::among_ledgers(runner.project(), planned, tables, runner.ledger())?;
            self.answers(&receipt)
        });
        runner.watch.ends();
        let failed = if may_go_on { unseen } else { interrupted };
        let answers = answers.ok_or_else(|| failed(name))?;
        let pass = ledger.drawn(receipt).map_err(|error| unnoted(name, &error, may_go_on))?;
        let pass = pass.ok_or_else(|| overtaken(name))?;
        Ok((pass, (places, answers, work)))
    }

    /// Puts the files in their places. Nothing is made from anything but what may be published.
    fn commit(
        &mut self,
        pass: Pass,
        (places, answers, _work): DrawnRelease,
        ledger: &mut Ledger,
    ) -> Result<ReleaseOutcome> {
        let name = &self.planned.request.name;
        let made = caught(|| {
            let (answers, document) = documented(self.planned, answers, &pass);
            // A charge in a ledger that is gone is none.
            ledger.in_place()?;
            let metadata = metadata(&self.planned.request, &pass);
            let (files, output) = places.put_answers(&pass, &answers, &document, &metadata)?;
            Ok((answers, files, output))
        });
        let made = made.ok_or_else(|| interrupted(name))?;
        let (answers, files, output) = made.map_err(|error| unwritten(name, &error))?;
        let (sequence, time) = (pass.sequence(), pass.time().to_string());
        ledger.commit(pass, output).map_err(|_| uncommitted(name))?;
        Ok(ReleaseOutcome { name: name.to_string(), answers, sequence, time, files })
    }
}

/// The JSON document of answers, with the head of the ledger that lets them be seen.
fn documented(planned: &PlannedRelease, mut answers: Answers, pass: &Pass) -> (Answers, serde_json::Value) {
    let known = std::mem::take(&mut answers.details.limits);
    let limits = if known.is_empty() { &planned.plan.limits } else { &known };
    let document = release_document(&planned.request, pass, &answers, limits, &planned.plan.counted);
    (answers, document)
}

/// What was drawn for a charge is seen once, and somebody else was first.
fn overtaken(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' was not published by this run: another process used its charge first; nothing more was \
            charged, and its files are the other's"
    ))
}

/// The one sentence for everything that can fail after a charge and before anything leaves the process: it depends on
/// no value and on no cause.
pub(super) fn unseen(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after it was charged: nothing was published, and why may be private; see 'scumble \
            check'; the same release uses this charge"
    ))
}

/// The one sentence for everything that can fail after that.
pub(super) fn interrupted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' failed after it was charged: nothing was published, and why may be private; see 'scumble \
            check'; release it under a new charge"
    ))
}

/// Nothing was seen yet, and the ledger cannot write down that it is about to be.
fn unnoted(name: &str, error: &ledger::Error, is_own: bool) -> Error {
    let next = match is_own {
        true => "the same release uses this charge and pays nothing more, unless its files change",
        false => "release it under a new charge",
    };
    Error::machine(format!(
        "release '{name}' failed after it was charged: {error}; nothing was published, and the charge stays in the \
            ledger as interrupted; {next}"
    ))
}

/// The outputs could not be written: that depends on what may be published alone, so that it can be said.
fn unwritten(name: &str, error: &Error) -> Error {
    Error::machine(format!(
        "release '{name}' failed after its noise was drawn: {error}; nothing was published, and the charge stays: fix \
            that, and release it under a new charge"
    ))
}

/// The outputs are there, and the ledger does not know.
pub(super) fn uncommitted(name: &str) -> Error {
    Error::machine(format!(
        "release '{name}' was charged and published, but the ledger could not record that: it stays interrupted \
            there, at the same cost"
    ))
}
