//! Charges for what is published in another way than as a release of a project: sums of several parties, inner products of two.
//!
//! No row is read here. The publisher asks for the charge first, and gets what the ledger needs afterwards. The first message of a protocol is drawn and leaves at once, and nobody goes on with such a
//! charge: so its entry `drawn` is written with it, and nothing can leave before.

use super::exclusivity::holds_lonely;
use super::publish::Places;
use crate::budget::{Budget, HeldLimits, Odometer};
use crate::error::{Error, Result};
use crate::file::real;
use crate::ledger::{Head, Ledger, LedgerState, OutputDigests, Pass, Proposal, ReleaseContext};
use crate::project::Project;
use scumble::Scope;
use scumble::event::Event;
use scumble::quantity::Exact;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A ledger, and the limits that a project file gives it; without one those that are in force.
#[derive(Debug, Clone)]
pub struct ChargedLedger {
    ledger: PathBuf,
    budget: Option<Budget>,
}

impl ChargedLedger {
    /// The ledger and the budget of a project.
    pub fn of_project(project: &Project) -> Self {
        Self { ledger: project.ledger(), budget: Some(project.budget.clone()) }
    }

    /// A ledger with the budget that it holds, if any.
    pub fn of_ledger(ledger: &Path) -> Self {
        Self { ledger: ledger.to_path_buf(), budget: None }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }
}

/// What is to be charged.
#[derive(Debug, Clone)]
pub struct ExternalCharge {
    /// Its name in the ledger, and that of its outputs.
    pub release: String,
    /// Its kind in the ledger.
    pub kind: &'static str,
    /// SHA-256 of the plan that it goes by, hexadecimal: the same plan is charged once, unless it is asked for again.
    pub plan: String,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
}

/// A charge that is durable, and so is the entry that something drawn for it may be seen.
pub struct PaidCharge {
    ledger: Ledger,
    pass: Pass,
}

impl ExternalCharge {
    /// Whether the ledger would take the charge now. Charges nothing and makes nothing.
    pub fn admitted(&self, book: &ChargedLedger, again: bool) -> Result<()> {
        let Some(ledger) = Ledger::open_existing(&book.ledger)? else {
            return self.fits(&LedgerState::nothing(), book);
        };
        self.once(&ledger, again)?;
        let standing = ledger.standing(&[])?.0;
        self.limits(&standing, book)?;
        self.fits(&standing, book)
    }

    /// Charges, durably, and writes down that something may be seen from here on.
    pub fn charge(&self, book: &ChargedLedger, again: bool) -> Result<PaidCharge> {
        let mut ledger = Ledger::open_or_create(&book.ledger)?;
        self.once(&ledger, again)?;
        let budget = self.limits(&ledger.standing(&[])?.0, book)?;
        let proposal = Proposal {
            release: self.release.clone(),
            kind: self.kind.to_string(),
            project: None,
            request: Some(self.plan.clone()),
            events: self.events.clone(),
            rule: self.rule.clone(),
            about: ReleaseContext { budget, ..ReleaseContext::default() },
        };
        let receipt = ledger.reserve(&proposal, |standing| self.fits(standing, book))?;
        let pass = ledger.drawn(receipt)?.ok_or_else(|| Error::machine("another process has drawn for this charge"))?;
        Ok(PaidCharge { ledger, pass })
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

impl PaidCharge {
    /// The charge's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.pass.sequence()
    }

    /// The head of the chain after both entries.
    pub fn head(&self) -> &Head {
        self.pass.head()
    }

    /// Writes down that something with this digest was given away.
    pub fn commit(mut self, output: &str) -> Result<Head> {
        Ok(self.ledger.commit(self.pass, output)?)
    }

    /// Puts the files `release.csv` and `release.json` into their places, both or none, and writes that down.
    pub fn publish(mut self, places: OutputPlaces, csv: &[u8], json: &[u8]) -> Result<(Vec<PathBuf>, Head)> {
        self.ledger.in_place()?;
        let files = places.0.put(&[csv, json])?;
        let digests = [("csv", csv), ("json", json)].map(|(end, content)| (end.to_string(), crate::digest(content)));
        let output = OutputDigests { values: crate::digest(csv), files: BTreeMap::from(digests) };
        Ok((files, self.ledger.commit(self.pass, output)?))
    }
}

/// The places of the outputs, which can be written: looked at before anything is charged.
pub struct OutputPlaces(Places);

impl OutputPlaces {
    /// The places for `release.csv` and `release.json` in a folder.
    pub fn claim(folder: &Path, release: &str, book: &ChargedLedger) -> Result<Self> {
        let names = ["csv", "json"].map(|end| format!("{release}.{end}"));
        if let Some(taken) =
            names.iter().map(|name| real(&folder.join(name))).find(|place| *place == real(&book.ledger))
        {
            return Err(Error::input(format!(
                "{} is the ledger, and outputs do not replace it: give another folder with --out",
                taken.display()
            )));
        }
        Ok(Self(Places::claim(folder, &names)?))
    }
}
