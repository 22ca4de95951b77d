//! What the entries so far add up to: carried along in the chain, so that the next reservation need not read all before
//! it.
//!
//! Each reservation's body ends with `after`: how many releases of each kind there are, the sums in every scope
//! (`budget::Sums`), and which entries hold the declaration, the data's marks and the budget that are in force, each by
//! number and hash.
//!
//! # Guarantee
//! A sum that is used is the sum of all charges before it:
//! 1. It stands in the last reservation. [`store::tail`](crate::store) walks from the head down and stops at the first
//!    one that it meets; a budget that was changed since is taken in on the way.
//! 2. It belongs to this chain and to this place: the head's hash covers the body, its number and the hash before it,
//!    link by link down to that reservation. A body of another ledger, of another place or with another number in it
//!    does not have that hash. (Somebody who can rewrite all hashes can write any history; heads that were published
//!    elsewhere reveal that, see `anchor`.)
//! 3. It was right when it was written: in a transaction that excludes other writers, it was made from the `after`
//!    before it by adding that reservation's events, or from a reading of all entries.
//! 4. It is counted by today's rule: `rule` must be [`RULE`], or all entries are read again. So they are if a
//!    reservation has no `after` (an older program wrote it) or a scope is asked about that has no sum.
//!
//! An entry further down that was edited since is not noticed here, and does not matter to the sums; `ledger verify`
//! reads everything, recomputes each `after` and demands that it is the one that stands there.

use crate::body::{Entry, Link, TotalsEntry};
use crate::budget::{Budget, HeldLimits, RULE, Sums};
use crate::chain::Head;
use crate::declaration::Declarations;
use crate::error::{Error, Result};
use crate::field::Field;
use scumble::event::Event;
use scumble::scope::AttributeSet;
use std::collections::BTreeMap;

/// The state of a ledger after some entry.
#[derive(Debug, Clone)]
pub struct LedgerState {
    kinds: BTreeMap<String, u64>,
    /// None if there is an event that no budget can count.
    sums: Option<Sums>,
    pub(crate) declared: InForce<Declarations>,
    /// The marks of the tables' files as they were read last, which have passed the check.
    pub(crate) data: InForce<BTreeMap<String, String>>,
    pub(crate) budget: InForce<HeldLimits>,
    /// What was charged for the analyst, where one is named; no entry holds it.
    pub(crate) own: Option<Sums>,
}

/// What the last entry of some kind says, and which one that is.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce<T> {
    pub(crate) value: T,
    pub(crate) at: Option<Head>,
}

impl LedgerState {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self {
            kinds: BTreeMap::new(),
            sums: Some(Sums::nothing()),
            declared: InForce::default(),
            data: InForce::default(),
            budget: InForce::default(),
            own: None,
        }
    }

    /// How many charges there are.
    pub fn releases(&self) -> u64 {
        self.kinds.values().sum()
    }

    /// Whether there is a charge of this kind.
    pub fn holds(&self, kind: &str) -> bool {
        self.kinds.contains_key(kind)
    }

    /// What the tables are.
    pub fn declared(&self) -> &Declarations {
        &self.declared.value
    }

    /// The mark of the files of a table that have passed the check.
    pub fn mark(&self, table: &str) -> Option<&str> {
        self.data.value.get(table).map(String::as_str)
    }

    /// The limits that are in force; none where no release has had any, or where they are in a form that this version
    /// does not know.
    pub fn budget(&self) -> Option<Budget> {
        self.budget.at.as_ref().and_then(|_| self.budget.value.budget().cloned())
    }

    /// The limits in force, also where they are in a form that this version does not know.
    pub fn limits(&self) -> HeldLimits {
        self.budget.value.clone()
    }

    /// Refuses limits that are not those in force: a budget changes by an entry with a reason, and never by itself.
    pub fn agrees(&self, limits: &HeldLimits, project: &str) -> Result<()> {
        let Some(at) = self.budget.at.as_ref().filter(|_| self.budget.value != *limits) else { return Ok(()) };
        let both = limits.budget().zip(self.budget.value.budget());
        let (what, verb) = both.map_or((String::new(), "raise"), |(new, old)| {
            let (was, is) = new.first_change(old).unwrap_or_default();
            (format!(" ({is}; it was {was})"), if new.allows_more_than(old) { "raise" } else { "lower" })
        });
        Err(Error::input(format!(
            "the budget of {project} differs from ledger entry {}{what}; nothing was charged: run scumble budget \
                {verb} {project} --because \"…\", or undo it",
            at.entries
        )))
    }

    /// What the charges add up to.
    pub fn sums(&self) -> Result<&Sums> {
        self.sums.as_ref().ok_or_else(|| {
            Error::machine(
                "the ledger holds an event that no sum can count (docs/reference/limits.md); see 'scumble ledger export'",
            )
        })
    }

    /// Whether there is a sum for each of these sets.
    pub(crate) fn knows(&self, sets: &[AttributeSet]) -> bool {
        let known =
            |set: &AttributeSet, sums: &Sums| sums.spent(&scumble::scope::Scope::Attributes(set.clone())).is_some();
        self.sums.as_ref().is_some_and(|sums| sets.iter().all(|set| known(set, sums)))
    }

    /// Keeps a sum for each of these sets from now on; `charges` are all so far.
    pub(crate) fn ask<'a>(&mut self, sets: &[AttributeSet], charges: impl Iterator<Item = &'a [Event]> + Clone) {
        let asked = self.sums.as_mut().map(|sums| sets.iter().try_for_each(|set| sums.ask(set, charges.clone())));
        if matches!(asked, Some(Err(_))) {
            self.sums = None;
        }
    }

    /// Adds a charge.
    pub fn charge(&mut self, kind: &str, events: &[Event]) {
        *self.kinds.entry(kind.to_string()).or_insert(0) += 1;
        if self.sums.as_mut().is_some_and(|sums| sums.add(events).is_err()) {
            self.sums = None;
        }
        if self.own.as_mut().is_some_and(|own| own.add(events).is_err()) {
            self.own = None;
        }
    }

    /// The same for somebody for whom this was charged.
    pub fn with_own(self, own: Sums) -> Self {
        Self { own: Some(own), ..self }
    }

    /// What was charged for the analyst; an error where none is named, or an event has no sum.
    pub fn own(&self) -> Result<&Sums> {
        self.own.as_ref().ok_or_else(|| Error::machine("the charges of this analyst are not known"))
    }

    /// The field `after`.
    pub(crate) fn entry(&self) -> TotalsEntry {
        let link = |at: &Option<Head>| at.as_ref().map(Link::to).into();
        TotalsEntry {
            budget: link(&self.budget.at),
            data: link(&self.data.at),
            declaration: link(&self.declared.at),
            kinds: Field::Here(self.kinds.clone()),
            rule: Field::Here(RULE),
            sums: self.sums.as_ref().map(Sums::entry).into(),
            others: BTreeMap::new(),
        }
    }

    /// Whether `after` is what this standing would write, up to the last digits of sums that another machine computed.
    pub(crate) fn wrote(&self, after: &TotalsEntry) -> bool {
        let sums = after.sums.get().and_then(|sums| Sums::read(sums).ok());
        let agree = self.sums.as_ref().zip(sums).is_some_and(|(ours, theirs)| ours.agree_with(&theirs));
        agree && TotalsEntry { sums: after.sums.clone(), ..self.entry() } == *after
    }

    /// What `after` says, if its sums are counted by today's rule; `noted` gives the entry that it points to.
    pub(crate) fn read<E: From<String>>(
        after: &Field<TotalsEntry>,
        noted: impl Fn(&Head) -> std::result::Result<Entry, E>,
    ) -> std::result::Result<Option<Self>, E> {
        let damaged = || E::from("an entry's sums are not in a form that this version knows".to_string());
        let Some(after) = after.get().filter(|after| after.is_by_this_rule()) else { return Ok(None) };
        let mut standing = Self::nothing();
        standing.kinds = after.kinds.get().ok_or_else(damaged)?.clone();
        standing.sums = Some(after.sums.get().and_then(|sums| Sums::read(sums).ok()).ok_or_else(damaged)?);
        for link in [&after.declaration, &after.data, &after.budget].into_iter().filter(|link| !link.is_empty()) {
            let head = link.get().and_then(Link::head).ok_or_else(damaged)?;
            standing.note(&noted(&head)?, head).map_err(E::from)?;
        }
        Ok(Some(standing))
    }

    /// Takes in an entry that says what is in force from now on.
    pub(crate) fn note(&mut self, entry: &Entry, at: Head) -> std::result::Result<(), String> {
        let unknown = || format!("entry {} has a form that this version does not know", at.entries);
        match entry {
            Entry::Declaration(entry) => {
                self.declared = InForce { value: entry.known().ok_or_else(unknown)?, at: Some(at) };
            }
            Entry::Data(entry) => self.data = InForce { value: entry.known().ok_or_else(unknown)?, at: Some(at) },
            Entry::Budget(entry) => {
                self.budget = InForce { value: HeldLimits::read(&entry.limits), at: Some(at) };
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

impl TotalsEntry {
    /// Whether there are sums in it, and today's rule counted them.
    pub fn is_by_this_rule(&self) -> bool {
        self.rule.get() == Some(&RULE) && !self.sums.is_empty()
    }
}
