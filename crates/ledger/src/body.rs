//! The bodies of entries: one struct for each kind, as which it is written and read. `docs/engineers/ledger-format.md`
//! says what each field means.
//!
//! A body is written with its keys in the order of the alphabet, as all versions did: the hash covers every byte of it.

use crate::chain::Head;
use crate::declaration::Declaration;
use crate::digest::{hex, unhex};
use crate::error::{Error, Result};
use crate::field::Field;
use crate::time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "lowercase")]
pub(crate) enum Entry {
    /// A question that cost nothing.
    Asked(RemarkEntry),
    /// Limits that are in force from here on.
    Budget(BudgetEntry),
    /// The outputs of a charge are in place.
    Commit(CommitEntry),
    /// What the tables' files are from here on.
    Data(TablesEntry<String>),
    /// What the tables are from here on.
    Declaration(TablesEntry<Declaration>),
    /// What was drawn for a charge is about to leave the process.
    Drawn(DrawnEntry),
    /// Rows are about to be read for the next answer of a round.
    Reading(ReadingEntry),
    /// A charge.
    Reserve(Box<ReserveEntry>),
    /// A word that this version does not know, or none.
    #[serde(other)]
    Unknown,
}

impl Entry {
    /// Reads a body; only what is no JSON is no entry.
    pub fn read(body: &str, sequence: u64) -> std::result::Result<Self, String> {
        let value: Value = serde_json::from_str(body).map_err(|_| format!("entry {sequence} is not JSON"))?;
        // The word of a list would be its first text.
        let value = Some(value).filter(Value::is_object);
        Ok(value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or(Self::Unknown))
    }

    /// The body. Through a value, whose keys are in order.
    pub fn body(&self) -> Result<String> {
        let value = serde_json::to_value(self);
        Ok(value.map_err(|error| Error::machine(format!("an entry cannot be written ({error})")))?.to_string())
    }

    /// Which charge an entry of its life speaks of, if that is what it is.
    pub fn of(&self) -> Option<u64> {
        match self {
            Self::Reading(entry) => entry.of.get().copied(),
            Self::Drawn(entry) => entry.of.get().copied(),
            Self::Commit(entry) => entry.of.get().copied(),
            _ => None,
        }
    }

    /// What is wrong with an entry that may not follow those before it.
    pub fn out_of_order(&self, sequence: u64) -> String {
        let says = match self {
            Self::Reading(_) => "says that rows are read for a round that is over, or for no charge",
            Self::Drawn(_) => "says that something was drawn for no charge, or a second time",
            _ => "commits what was not reserved, or not drawn",
        };
        format!("entry {sequence} {says}")
    }
}

/// Fields that this version does not know: what is compared is compared with them.
type UnknownFields = BTreeMap<String, Value>;

/// A charge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReserveEntry {
    /// What all charges add up to with this one; older ledgers have none.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub after: Field<TotalsEntry>,
    /// Who asked for it, where that is known.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub asked: Field<RequestOriginEntry>,
    pub engine: Field<String>,
    /// The events in their JSON form, which is `scumble-wire`'s to read.
    pub events: Value,
    pub kind: Field<String>,
    pub nonce: Field<String>,
    /// Whether one draw is paid for, or each answer of a round; older ledgers do not say.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub one_draw: Field<bool>,
    pub project: Field<String>,
    pub release: Field<String>,
    pub request: Field<String>,
    /// What else is needed to check the events by hand: each kind's own.
    pub rule: Value,
    pub time: Field<String>,
}

/// Who asked for a charge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RequestOriginEntry {
    pub by: Field<String>,
    pub key: Field<String>,
    pub question: Field<String>,
}

/// What all charges add up to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TotalsEntry {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub budget: Field<Link>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub data: Field<Link>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub declaration: Field<Link>,
    /// How many charges there are of each kind.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub kinds: Field<BTreeMap<String, u64>>,
    /// Which rule counted the sums.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub rule: Field<u32>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub sums: Field<SumsEntry>,
    #[serde(flatten)]
    pub others: UnknownFields,
}

/// The sums, every number exactly, as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SumsEntry {
    pub attributes: BTreeMap<String, String>,
    pub others: String,
    pub person: String,
    pub presence: String,
    pub sets: Vec<Field<SetEntry>>,
}

/// The sum of a set of attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetEntry {
    pub attributes: Vec<String>,
    pub spent: String,
}

/// Another entry, by its place and its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub entry: u64,
    pub hash: String,
    #[serde(flatten)]
    pub others: UnknownFields,
}

impl Link {
    /// The link to a head's last entry.
    pub fn to(head: &Head) -> Self {
        Self { entry: head.entries, hash: hex(&head.hash), others: UnknownFields::new() }
    }

    /// Where it leads; none where the hash is none.
    pub fn head(&self) -> Option<Head> {
        Some(Head { entries: self.entry, hash: unhex(&self.hash)? })
    }
}

/// What was drawn is about to leave the process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DrawnEntry {
    /// Of a round: the number of the answer.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub answer: Field<u64>,
    pub nonce: Field<String>,
    pub of: Field<u64>,
    /// Of a round: the digest of the state that the answer leaves.
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub state: Field<String>,
    pub time: Field<String>,
}

/// Rows are about to be read for the next answer of a round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReadingEntry {
    pub answer: Field<u64>,
    pub of: Field<u64>,
    pub time: Field<String>,
}

/// The outputs are in place.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CommitEntry {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub files: Field<BTreeMap<String, Field<String>>>,
    pub of: Field<u64>,
    pub output: Field<String>,
    pub time: Field<String>,
}

/// An entry about tables: for each its declaration, or the mark of its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub(crate) struct TablesEntry<T> {
    #[serde(default = "Field::default")]
    pub tables: Field<BTreeMap<String, Field<T>>>,
    #[serde(default)]
    pub time: Field<String>,
}

impl<T: Clone> TablesEntry<T> {
    /// As of now.
    pub fn of(tables: BTreeMap<String, T>) -> Self {
        let tables = tables.into_iter().map(|(name, table)| (name, Field::Here(table)));
        Self { tables: Field::Here(tables.collect()), time: Field::Here(time::now()) }
    }

    /// The tables; none if they have a form that this version does not know.
    pub fn known(&self) -> Option<BTreeMap<String, T>> {
        self.tables.get()?.iter().map(|(name, table)| Some((name.clone(), table.get()?.clone()))).collect()
    }
}

/// Limits by scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsEntry {
    pub attributes: BTreeMap<String, Field<LimitEntry>>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub every_attribute: Field<LimitEntry>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub person: Field<LimitEntry>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub presence: Field<LimitEntry>,
}

/// A limit, every number exactly, as text. Which numbers there are says in which notion it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum LimitEntry {
    Approximate { delta: String, epsilon: String },
    Zcdp { delta: String, rho: String },
    Tcdp { delta: String, omega: String, rho: String },
    Renyi { delta: String, epsilon: String, order: String },
}

/// Limits, and why they changed; the first ones need no reason.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BudgetEntry {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub because: Field<String>,
    /// By whichever version they were written: those in a form that is not known here are in force too. Null is none.
    pub limits: Field<LimitsEntry>,
    pub time: Field<String>,
}

/// A question that cost nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RemarkEntry {
    pub by: Field<String>,
    pub cost: Field<String>,
    pub key: Field<String>,
    /// The charge whose answer it got, or would have got.
    pub of: Field<u64>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub planned: Field<bool>,
    /// Where the entries before the remarks end.
    pub since: Field<Link>,
    pub time: Field<String>,
    pub what: Field<String>,
    /// Why it was refused.
    pub why: Field<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_is_written_as_it_always_was() {
        for body in [
            concat!(
                r#"{"by":"ada","cost":"epsilon=1","entry":"asked","key":null,"of":2,"planned":true,"#,
                r#""since":{"entry":2,"hash":"00"},"time":"t","what":"q","why":null}"#,
            ),
            concat!(
                r#"{"because":"more","entry":"budget","limits":{"attributes":{"a":{"delta":"0","rho":"0.1"}},"#,
                r#""every_attribute":{"delta":"0","omega":"20","rho":"0.1"},"person":{"delta":"0","epsilon":"1/3"},"#,
                r#""presence":{"delta":"0","epsilon":"1","order":"8"}},"time":"t"}"#,
            ),
            concat!(
                r#"{"entry":"budget","limits":{"attributes":{},"every_attribute":null,"#,
                r#""person":"epsilon 1 at delta 0","presence":null},"time":"t"}"#,
            ),
            r#"{"entry":"budget","limits":{"person":"epsilon 1 at delta 0"},"time":"t"}"#,
            r#"{"entry":"budget","limits":null,"time":"t"}"#,
            r#"{"entry":"commit","files":{"csv":"00"},"of":1,"output":"00","time":"t"}"#,
            r#"{"entry":"commit","of":1,"output":"00","time":"t"}"#,
            r#"{"entry":"data","tables":{"people":"m1"},"time":"t"}"#,
            concat!(
                r#"{"entry":"declaration","tables":{"people":{"columns":{"age":{"bounds":[0,9],"#,
                r#""type":"int"}},"layout":{"delimiter":";"},"owner":null,"public":false,"#,
                r#""source":"people.csv"}},"time":"t"}"#,
            ),
            r#"{"entry":"drawn","nonce":"00","of":1,"time":"t"}"#,
            r#"{"answer":1,"entry":"drawn","nonce":"00","of":1,"state":"ab","time":"t"}"#,
            r#"{"answer":2,"entry":"reading","of":1,"time":"t"}"#,
            concat!(
                r#"{"after":{"budget":null,"data":{"entry":2,"hash":"00"},"declaration":null,"#,
                r#""kinds":{"sql":3},"rule":2,"sums":{"attributes":{"age":"0 0"},"others":"0 0","#,
                r#""person":"0.3 0","presence":"0.1 0","sets":[{"attributes":["age","sex"],"#,
                r#""spent":"0 0"}]}},"asked":{"by":"ada","key":null,"question":"00"},"#,
                r#""engine":"scumble 0.1.0","entry":"reserve","events":[],"kind":"sql","nonce":"00","#,
                r#""one_draw":true,"project":null,"release":"r","request":null,"rule":{"why":1.5},"#,
                r#""time":"t"}"#,
            ),
        ] {
            let entry = Entry::read(body, 1).unwrap();
            assert!(entry != Entry::Unknown, "{body}");
            assert_eq!(entry.body().unwrap(), body);
        }
    }

    #[test]
    fn a_field_in_another_form_is_missed_by_whoever_needs_it_and_nobody_else() {
        let Entry::Commit(commit) =
            Entry::read(r#"{"entry":"commit","of":1.5,"files":{"csv":1},"more":0}"#, 1).unwrap()
        else {
            panic!("a commit")
        };
        assert!(commit.of.get().is_none() && !commit.of.is_empty() && commit.output.is_absent());
        assert!(commit.files.get().is_some_and(|files| files["csv"].get().is_none()));
        for unknown in ["[]", "5", "null", r#"["commit"]"#, "{}", r#"{"entry":7}"#, r#"{"entry":"refund","of":1}"#] {
            assert_eq!(Entry::read(unknown, 1), Ok(Entry::Unknown), "{unknown}");
        }
        assert_eq!(Entry::read("{", 3), Err("entry 3 is not JSON".to_string()));
    }
}
