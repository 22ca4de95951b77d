//! What entries say: what a release asks to be written down, the charges, and what they add up to.

use crate::asked::{Remark, RequestOrigin};
use crate::body::{CommitEntry, DrawnEntry, Entry, ReadingEntry, ReserveEntry, TotalsEntry};
use crate::budget::HeldLimits;
use crate::chain::{self, Head};
use crate::declaration::Declarations;
use crate::field::Field;
use crate::life::{ChargeProgress, DrawMode};
use crate::rule::RuleFacts;
use crate::standing::LedgerState;
use scumble::event::Event;
use scumble::scope::AttributeSet;
use scumble_wire::{event_to_json, events_at};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a release asks the ledger to write down before it runs.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The release's name.
    pub release: String,
    /// Its kind.
    pub kind: String,
    /// SHA-256 of the project file.
    pub project: Option<String>,
    /// The digest of the declaration; none if it will never be compared with another.
    pub request: Option<String>,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// What must be in force when it runs.
    pub about: ReleaseContext,
}

/// What a release runs under. What of it is new to the ledger becomes an entry before the charge.
#[derive(Debug, Clone, Default)]
pub struct ReleaseContext {
    /// The tables that it reads.
    pub tables: Declarations,
    /// The marks of their files, which have passed the check.
    pub data: BTreeMap<String, String>,
    /// The limits.
    pub budget: HeldLimits,
    /// Sets of attributes whose sums somebody will ask for.
    pub sets: Vec<AttributeSet>,
    /// Who asks for it, where that is known.
    pub asked: Option<RequestOrigin>,
    /// Whether the analyst has limits of their own: then everything charged for them is read and summed up.
    pub is_limited: bool,
    /// What it pays for. The entry `drawn` is written before anything that was drawn leaves the process: the same
    /// release may go on with a charge for one draw that has no such entry.
    pub draws: DrawMode,
}

impl Proposal {
    /// The reservation; `after` is the ledger's standing with it. The `nonce` is random: a ledger that was reset and is
    /// filled with the same releases has other heads.
    pub(crate) fn entry(&self, time: &str, nonce: String, after: &LedgerState) -> Entry {
        let asked = self.about.asked.as_ref().map(RequestOrigin::entry);
        Entry::Reserve(Box::new(ReserveEntry {
            after: Field::Here(after.entry()),
            asked: Field::if_any(asked),
            engine: crate::ENGINE.into(),
            events: self.events.iter().map(event_to_json).collect(),
            kind: Field::Here(self.kind.clone()),
            nonce: Field::Here(nonce),
            one_draw: Field::Here(self.about.draws == DrawMode::One),
            project: self.project.clone().into(),
            release: Field::Here(self.release.clone()),
            request: self.request.clone().into(),
            rule: self.rule.clone(),
            time: Field::from(time),
        }))
    }
}

/// How far a charge has come. In every state it is spent.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeState {
    /// Nothing of it can have been seen: the process is still at work, failed, or died, and the same release may go on
    /// with it.
    Reserved,
    /// Its answer may have been seen, and it is not known whether the outputs are in place. Charges of older versions
    /// have no entry `drawn`, and belong here.
    Drawn,
    /// The outputs are in place; their digests.
    Committed(OutputDigests),
}

impl ChargeState {
    /// What was published; none where it is not known that the outputs are in place.
    pub fn output(&self) -> Option<&OutputDigests> {
        match self {
            Self::Committed(output) => Some(output),
            Self::Reserved | Self::Drawn => None,
        }
    }

    /// Where a charge is whose outputs are not known to be in place.
    pub(super) fn uncommitted(life: &ChargeProgress) -> Self {
        if life.is_seen() { Self::Drawn } else { Self::Reserved }
    }
}

/// One reservation, as read back.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Its place in the ledger.
    pub sequence: u64,
    /// When it was reserved.
    pub time: String,
    /// The release's name.
    pub release: String,
    /// Its kind.
    pub kind: String,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// The digest of what was declared; older ledgers have none.
    pub request: Option<String>,
    /// Who asked for it, where that is known.
    pub asked: Option<RequestOrigin>,
    /// What became of it.
    pub state: ChargeState,
}

impl Charge {
    /// What is decided by its rule.
    pub fn facts(&self) -> RuleFacts {
        RuleFacts::of(&self.rule)
    }
}

/// What was published, as its digests (SHA-256, hexadecimal).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDigests {
    /// Of the values: the bytes of the CSV file.
    pub values: String,
    /// Of each file, by the end of its name; ledgers of version 2 and before have none.
    pub files: BTreeMap<String, String>,
}

impl From<&str> for OutputDigests {
    /// The values alone.
    fn from(values: &str) -> Self {
        Self { values: values.to_string(), files: BTreeMap::new() }
    }
}

impl OutputDigests {
    /// The commit of a reservation.
    pub(crate) fn entry(&self, of: u64, time: String) -> Entry {
        let files = self.files.iter().map(|(end, digest)| (end.clone(), Field::Here(digest.clone())));
        Entry::Commit(CommitEntry {
            files: Field::if_any(Some(files.collect()).filter(|_| !self.files.is_empty())),
            of: Field::Here(of),
            output: Field::Here(self.values.clone()),
            time: Field::Here(time),
        })
    }
}

impl CommitEntry {
    /// Which reservation it is of, and the digests of its output.
    pub fn read(&self, sequence: u64) -> Result<(u64, OutputDigests), String> {
        let of = self.of.get().ok_or_else(|| format!("entry {sequence} commits what was not reserved"))?;
        let files = self.files.get().into_iter().flatten();
        let files = files.filter_map(|(end, digest)| Some((end.clone(), digest.text()?)));
        Ok((*of, OutputDigests { values: needed(&self.output, "output", sequence)?, files: files.collect() }))
    }
}

/// The entry that comes before anything drawn for a reservation leaves the process; of a round, with the number of the
/// answer and the digest of the state that it leaves.
pub(crate) fn drawn(of: u64, time: String, nonce: String, answer: Option<(u64, &str)>) -> Entry {
    Entry::Drawn(DrawnEntry {
        answer: Field::if_any(answer.map(|(answer, _)| answer)),
        nonce: Field::Here(nonce),
        of: Field::Here(of),
        state: Field::if_any(answer.map(|(_, state)| state.to_string())),
        time: Field::Here(time),
    })
}

/// The entry that comes before a row is read for an answer of a round.
pub(crate) fn reading(of: u64, time: String, answer: u64) -> Entry {
    Entry::Reading(ReadingEntry { answer: Field::Here(answer), of: Field::Here(of), time: Field::Here(time) })
}

/// All entries, read.
pub(crate) struct History {
    pub(crate) charges: Vec<Charge>,
    /// What was asked and cost nothing.
    pub(crate) remarks: Vec<Remark>,
    pub(crate) standing: LedgerState,
}

impl History {
    /// Reads verified bodies, and recomputes every sum that stands in them. An entry or event that is not known is an
    /// error: a charge is never skipped.
    pub(crate) fn of(bodies: &[String]) -> Result<Self, String> {
        let (mut charges, mut lives): (BTreeMap<u64, Charge>, BTreeMap<u64, ChargeProgress>) = Default::default();
        let (mut standing, mut remarks, mut since) = (LedgerState::nothing(), Vec::new(), Head::empty());
        for (body, link) in bodies.iter().zip(chain::heads(bodies).skip(1)) {
            let sequence = link.entries;
            let entry = Entry::read(body, sequence)?;
            if let Entry::Asked(remark) = &entry {
                remarks.push(remark.remark(sequence, &since)?);
                continue;
            }
            since = link.clone();
            match &entry {
                Entry::Reserve(reserve) => {
                    let charge = reserve.charge(sequence)?;
                    standing.charge(&charge.kind, &charge.events);
                    charges.insert(sequence, charge);
                    lives.insert(sequence, ChargeProgress::of(reserve));
                    compared(&mut standing, &reserve.after, sequence, &charges)?;
                }
                Entry::Reading(_) | Entry::Drawn(_) | Entry::Commit(_) => {
                    let of = entry.of().and_then(|of| charges.get_mut(&of).zip(lives.get_mut(&of)));
                    let (charge, life) = of.ok_or_else(|| entry.out_of_order(sequence))?;
                    if !life.follow(&entry) {
                        return Err(entry.out_of_order(sequence));
                    }
                    if let Entry::Commit(commit) = &entry {
                        charge.state = ChargeState::Committed(commit.read(sequence)?.1);
                    } else if charge.state.output().is_none() {
                        charge.state = ChargeState::uncommitted(life);
                    }
                }
                _ => standing.note(&entry, link)?,
            }
        }
        Ok(Self { charges: charges.into_values().collect(), remarks, standing })
    }

    /// The events of each charge.
    pub(crate) fn events(&self) -> impl Iterator<Item = &[Event]> + Clone {
        self.charges.iter().map(|charge| charge.events.as_slice())
    }
}

/// The sums that stand in an entry must be those of the entries so far. Those that another rule counted are left alone.
fn compared(
    standing: &mut LedgerState,
    after: &Field<TotalsEntry>,
    sequence: u64,
    charges: &BTreeMap<u64, Charge>,
) -> Result<(), String> {
    let Some(after) = after.get().filter(|after| after.is_by_this_rule()) else { return Ok(()) };
    let sets = after.sums.get().into_iter().flat_map(|sums| &sums.sets).filter_map(Field::get);
    let sets = sets.filter_map(|set| AttributeSet::new(set.attributes.iter().map(String::as_str)).ok());
    let sets: Vec<AttributeSet> = sets.collect();
    standing.ask(&sets, charges.values().map(|charge| charge.events.as_slice()));
    if standing.wrote(after) {
        return Ok(());
    }
    Err(format!("the sums in entry {sequence} are not those of the entries up to it"))
}

impl ReserveEntry {
    /// The charge; nothing but this entry is known of it yet.
    pub fn charge(&self, sequence: u64) -> Result<Charge, String> {
        let place = scumble_wire::LocatedValue::at(&self.events, format!("entry {sequence}, events"));
        let events = events_at(&place).map_err(|error| error.to_string())?;
        Ok(Charge {
            sequence,
            time: needed(&self.time, "time", sequence)?,
            release: needed(&self.release, "release", sequence)?,
            kind: needed(&self.kind, "kind", sequence)?,
            events,
            rule: self.rule.clone(),
            request: self.request.text(),
            asked: RequestOrigin::read(&self.asked, sequence)?,
            state: ChargeState::uncommitted(&ChargeProgress::of(self)),
        })
    }
}

fn needed(field: &Field<String>, name: &str, sequence: u64) -> Result<String, String> {
    field.text().ok_or_else(|| format!("entry {sequence} has no '{name}'"))
}
