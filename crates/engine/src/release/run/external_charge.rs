//! Charges for what is published in another way than as a release of a project: sums of several parties, inner products
//! of two.
//!
//! No row is read here. The publisher asks for the charge first, and gets what the ledger needs afterwards. The first
//! message of a protocol is drawn and leaves at once, and such a charge is never resumed. So its entry `drawn` is
//! written with the charge, and nothing can leave before.

use super::charge::{ChargeLife, ChargeStep};
use super::exclusivity::holds_lonely;
use super::open_ledger::OpenLedger;
use super::publish::Places;
use crate::budget::{Budget, HeldLimits, Odometer};
use crate::error::{Error, Result};
use crate::file::real;
use crate::ledger::{Head, Ledger, LedgerState, OutputDigests, Pass, Proposal, Receipt, ReleaseContext};
use crate::project::Project;
use scumble::Scope;
use scumble::event::Event;
use scumble::quantity::Exact;
use serde_json::Value;
use std::cell::RefMut;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A ledger, opened once, and the limits that a project file gives it; without one those that are in force.
pub struct ChargedLedger {
    ledger: OpenLedger,
    budget: Option<Budget>,
}

impl ChargedLedger {
    /// The ledger and the budget of a project.
    pub fn of_project(project: &Project) -> Self {
        Self { ledger: OpenLedger::at(project.ledger()), budget: Some(project.budget.clone()) }
    }

    /// A ledger with the budget that it holds, if any.
    pub fn of_ledger(ledger: &Path) -> Self {
        Self { ledger: OpenLedger::at(ledger.to_path_buf()), budget: None }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> &Path {
        self.ledger.path()
    }
}

/// What is to be charged.
#[derive(Debug, Clone)]
pub struct ExternalCharge {
    /// Its name in the ledger, and that of its outputs.
    pub release: String,
    /// Its kind in the ledger.
    pub kind: &'static str,
    /// SHA-256 of its plan, hexadecimal: the same plan is charged once, unless a second charge is requested.
    pub plan: String,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
}

/// A charge that is durable, and so is the entry that something drawn for it may be seen.
pub struct PaidCharge<'a> {
    life: ExternalLife<'a>,
    ledger: RefMut<'a, Ledger>,
    pass: Pass,
}

/// A charge and where it goes.
struct ExternalLife<'a> {
    charge: ExternalCharge,
    book: &'a ChargedLedger,
    again: bool,
}

/// What was given away for a charge.
enum ExternalOutput {
    /// Nothing yet: the protocol has only begun.
    Nothing,
    /// Something with this digest.
    Digest(String),
    /// The files `release.csv` and `release.json`.
    Files { places: OutputPlaces, csv: Vec<u8>, json: Vec<u8> },
}

impl ChargeLife for ExternalLife<'_> {
    type Ready = ();
    type Held = ();
    type Drawn = ExternalOutput;
    type Outcome = (Vec<PathBuf>, Head);

    fn reserve(&mut self, (): (), ledger: &mut Ledger) -> Result<(Receipt, ())> {
        let Self { charge, book, again } = self;
        charge.once(ledger, *again)?;
        let budget = charge.limits(&ledger.standing(&[])?.0, book)?;
        let proposal = Proposal {
            release: charge.release.clone(),
            kind: charge.kind.to_string(),
            project: None,
            request: Some(charge.plan.clone()),
            events: charge.events.clone(),
            rule: charge.rule.clone(),
            about: ReleaseContext { budget, ..ReleaseContext::default() },
        };
        Ok((ledger.reserve(&proposal, |standing| charge.fits(standing, book))?, ()))
    }

    /// The first message is drawn and leaves at once: nothing leaves before this.
    fn draw(&mut self, receipt: Receipt, (): (), ledger: &mut Ledger) -> Result<(Pass, ExternalOutput)> {
        let pass = ledger.drawn(receipt)?.ok_or_else(|| Error::machine("another process has drawn for this charge"))?;
        Ok((pass, ExternalOutput::Nothing))
    }

    fn commit(&mut self, pass: Pass, output: ExternalOutput, ledger: &mut Ledger) -> Result<Self::Outcome> {
        let (files, output) = match output {
            ExternalOutput::Nothing => {
                return Err(Error::machine("nothing was published for this charge: there is nothing to commit"));
            }
            ExternalOutput::Digest(digest) => (Vec::new(), OutputDigests::from(digest.as_str())),
            ExternalOutput::Files { places, csv, json } => {
                ledger.in_place()?;
                let files = places.0.put(&[&csv, &json])?;
                let digests = [("csv", &csv), ("json", &json)];
                let digests = digests.map(|(end, content)| (end.to_string(), crate::digest(content)));
                (files, OutputDigests { values: crate::digest(&csv), files: BTreeMap::from(digests) })
            }
        };
        Ok((files, ledger.commit(pass, output)?))
    }
}

impl ExternalCharge {
    /// Whether the ledger would take the charge now. Charges nothing and makes nothing.
    pub fn admitted(&self, book: &ChargedLedger, again: bool) -> Result<()> {
        let Some(ledger) = book.ledger.existing()? else {
            return self.fits(&LedgerState::nothing(), book);
        };
        self.once(&ledger, again)?;
        let standing = ledger.standing(&[])?.0;
        self.limits(&standing, book)?;
        self.fits(&standing, book)
    }

    /// Charges, durably, and writes down that something may be seen from here on.
    pub fn charge(self, book: &ChargedLedger, again: bool) -> Result<PaidCharge<'_>> {
        let mut life = ExternalLife { charge: self, book, again };
        let mut ledger = book.ledger.created()?;
        let (pass, _) = ChargeStep::until_drawn(&mut life, (), &mut ledger)?;
        Ok(PaidCharge { life, ledger, pass })
    }

    /// The limits that the charge is made under.
    fn limits(&self, standing: &LedgerState, book: &ChargedLedger) -> Result<HeldLimits> {
        let Some(budget) = &book.budget else { return Ok(standing.limits()) };
        let limits = budget.in_force();
        standing.agrees(&limits, "the project file")?;
        Ok(limits)
    }

    /// The same plan opened twice is two answers: nobody pays for that by accident.
    fn once(&self, ledger: &Ledger, again: bool) -> Result<()> {
        let before = ledger.reservations(&self.release)?.into_iter().find(|one| one.request == self.plan && !again);
        match before {
            None => Ok(()),
            Some(one) => Err(Error::input(format!(
                "the ledger has charged this plan in entry {}, and a charge is used once: --again charges it once \
                    more",
                one.head.entries
            ))),
        }
    }

    /// What helps where the budget is too small.
    fn remedy(&self) -> Result<&'static str> {
        let is_seen = *Odometer::of(&self.events, &Scope::Presence)?.delta() >= Exact::from_f64(1.0)?;
        Ok(match is_seen {
            true => {
                "reports show who takes part, which no budget for person or presence allows: limit the attributes \
                    instead, or let owners without a value report too (--presence)"
            }
            false => "a plan with a smaller epsilon costs less",
        })
    }

    fn fits(&self, before: &LedgerState, book: &ChargedLedger) -> Result<()> {
        if holds_lonely(before) {
            return Err(Error::budget(format!(
                "'{}' was refused and nothing was charged: the ledger holds a count without noise, which protects \
                    nobody once anything else about them is published",
                self.release
            )));
        }
        let Some(budget) = book.budget.clone().or_else(|| before.budget()) else { return Ok(()) };
        if budget == Budget::default() {
            return Ok(());
        }
        match budget.first_refusal(before.sums()?, &self.events)? {
            None => Ok(()),
            Some(refusal) => Err(refusal.error(&self.release, self.remedy()?).into()),
        }
    }
}

impl PaidCharge<'_> {
    /// The charge's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.pass.sequence()
    }

    /// The head of the chain after both entries.
    pub fn head(&self) -> &Head {
        self.pass.head()
    }

    /// Writes down that something with this digest was given away.
    pub fn commit(self, output: &str) -> Result<Head> {
        Ok(self.given(ExternalOutput::Digest(output.to_string()))?.1)
    }

    /// Puts the files `release.csv` and `release.json` into their places, both or none, and writes that down.
    pub fn publish(self, places: OutputPlaces, csv: &[u8], json: &[u8]) -> Result<(Vec<PathBuf>, Head)> {
        self.given(ExternalOutput::Files { places, csv: csv.to_vec(), json: json.to_vec() })
    }

    fn given(mut self, drawn: ExternalOutput) -> Result<(Vec<PathBuf>, Head)> {
        ChargeStep::Drawn { pass: self.pass, drawn }.committed(&mut self.life, &mut self.ledger)
    }
}

/// The places of the outputs, which can be written: looked at before anything is charged.
pub struct OutputPlaces(Places);

impl OutputPlaces {
    /// The places for `release.csv` and `release.json` in a folder.
    pub fn claim(folder: &Path, release: &str, book: &ChargedLedger) -> Result<Self> {
        let names = ["csv", "json"].map(|end| format!("{release}.{end}"));
        if let Some(taken) =
            names.iter().map(|name| real(&folder.join(name))).find(|place| *place == real(book.ledger()))
        {
            return Err(Error::input(format!(
                "{} is the ledger, and outputs do not replace it: give another folder with --out",
                taken.display()
            )));
        }
        Ok(Self(Places::claim(folder, &names)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A charge opened its ledger when it was looked at, and again when it was paid.
    #[test]
    fn a_charge_opens_its_ledger_once_from_the_first_look_to_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let book = ChargedLedger::of_ledger(&folder.path().join("north.ledger"));
        let charge = ExternalCharge {
            release: "flu".to_string(),
            kind: "parties",
            plan: "00".to_string(),
            events: Vec::new(),
            rule: Value::Null,
        };
        charge.admitted(&book, false).unwrap();
        assert!(!book.ledger().exists(), "looking makes nothing");
        let paid = charge.clone().charge(&book, false).unwrap();
        let (sequence, drawn) = (paid.sequence(), paid.head().clone());
        let head = paid.commit("11").unwrap();
        assert_eq!((drawn.entries, head.entries), (sequence + 1, sequence + 2));
        let again = charge.admitted(&book, false).unwrap_err().to_string();
        assert!(again.starts_with("the ledger has charged this plan in entry "), "{again}");
        assert_eq!(book.ledger.opened.get(), 1);
    }
}
