//! Columns of ordered values that are no 64-bit numbers: texts in the order of a dictionary, UUIDs, and times to the
//! nanosecond. For the kinds `quantiles` and `cdf`.
//!
//! Values become keys of up to 128 bits in their order, and are counted by the backend; the mechanisms never walk
//! through the keys.

use super::ordered::COLUMN;
use super::sql::rows_without_a_key;
use crate::calendar::shown_moment;
use crate::error::Result;
use crate::project::{Domain, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::{Field, ListedField, PlacedValue, Word};
use crate::release::output::{Cell, is_shown_as_it_is};
use crate::release::plan::PlanSource;
use crate::release::rows::fields::{column, private_table, quoted, total_bounding};
use crate::sql::execute::integers::Integers;
use crate::sql::{PrivateQuery, analyse_what_occurs};
use crate::tables::Backend;
use datafusion::common::ScalarValue;
use scumble::mechanism::huge_domain::StringDomain;
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;

const KEYS: Field<Option<PlacedValue<KeyType>>> = Field::new(
    "keys",
    "how a column without numeric order is ordered: `texts` (by Unicode), `uuids`, or `times` (a timestamp with bounds, in nanoseconds instead of seconds)",
);
const MAX_BYTES: Field<Option<PlacedValue<u64>>> = Field::new(
    "max_bytes",
    "with `keys = \"texts\"`: the first bytes by which strings differ (1 to 17, default 16); fewer give more exact ranks",
);

/// What both kinds have for such columns.
pub(crate) const FIELDS: [ListedField; 2] = [KEYS.listed(), MAX_BYTES.listed()];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyType {
    Texts,
    Uuids,
    Times,
}

impl Word for KeyType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("texts", Self::Texts), ("uuids", Self::Uuids), ("times", Self::Times)];

    fn unknown(_: &str) -> String {
        "keys are 'texts', 'uuids' or 'times'".to_string()
    }
}

const DEFAULT_BYTES: u64 = 16;

/// The keys of a column's values.
#[derive(Debug, Clone)]
pub(crate) enum Keys {
    Texts(StringDomain),
    Uuids,
    /// Nanoseconds of a first and a last time.
    Times(i64, i64),
}

impl Keys {
    fn new(asked: &PlacedValue<KeyType>, domain: &Domain, bytes: Option<PlacedValue<u64>>) -> Result<Self> {
        if let (Some(bytes), KeyType::Uuids | KeyType::Times) = (&bytes, asked.value) {
            return Err(bytes.error("max_bytes goes with keys = \"texts\""));
        }
        match (asked.value, domain) {
            (KeyType::Texts, Domain::Category { values: None }) => {
                let most = bytes.as_ref().map_or(DEFAULT_BYTES, |bytes| bytes.value);
                let texts = StringDomain::up_to(usize::try_from(most).unwrap_or(usize::MAX));
                let wrong = |_| match &bytes {
                    Some(bytes) => bytes.error(format!("max_bytes must be 1 to 17, not {most}")),
                    None => asked.error("the strings have too many bytes"),
                };
                Ok(Self::Texts(texts.map_err(wrong)?))
            }
            (KeyType::Uuids, Domain::Category { values: None }) => Ok(Self::Uuids),
            (KeyType::Times, Domain::Timestamp { bounds: Some((lower, upper)), .. }) => Ok(Self::Times(*lower, *upper)),
            (KeyType::Times, _) => Err(asked.error("keys = \"times\" is for a timestamp with lower and upper")),
            _ => Err(asked.error(
                "keys = \"texts\" and \"uuids\" need a column of type category whose values are not \
                listed",
            )),
        }
    }

    /// The largest key.
    pub fn last(&self) -> u128 {
        match self {
            Self::Texts(texts) => texts.last(),
            Self::Uuids => u128::MAX,
            Self::Times(lower, upper) => upper.abs_diff(*lower).into(),
        }
    }

    /// The key of a value; none if it counts for none.
    fn key(&self, value: &ScalarValue) -> Option<u128> {
        match (self, value) {
            (Self::Texts(texts), ScalarValue::Utf8(Some(text))) => Some(self.shown(texts.key_at_or_before(text))),
            (Self::Uuids, ScalarValue::Utf8(Some(text))) => uuid(text),
            (Self::Times(lower, upper), ScalarValue::TimestampNanosecond(Some(moment), _)) => {
                Some(moment.clamp(lower, upper).abs_diff(*lower).into())
            }
            _ => None,
        }
    }

    /// The last key at or before this one whose text is shown as it is. Where characters are shown as others, a reader
    /// would look for the text at another place of the dictionary than the one that its numbers are about. Rows count
    /// by such keys too, so that exactly those rows are at or before a key that are at or before this one.
    pub fn shown(&self, key: u128) -> u128 {
        let Self::Texts(texts) = self else { return key };
        let mut key = key;
        while let Some(text) = texts.text(key)
            && let Some((place, letter)) = text.char_indices().find(|(_, letter)| !is_shown_as_it_is(*letter))
        {
            // All texts from here to the key begin with the same letters. A beginning of a short enough text is one.
            key = texts.key_at_or_before(&text[..place + letter.len_utf8()]).saturating_sub(1);
        }
        key
    }

    /// A key as it is published.
    pub fn cell(&self, key: u128) -> Cell {
        match self {
            Self::Texts(texts) => texts.text(key).map_or(Cell::Null, |text| Cell::Text(text.into())),
            Self::Uuids => Cell::Text(shown_uuid(key).into()),
            Self::Times(lower, upper) => {
                let moment = i64::try_from(i128::from(*lower) + key as i128).unwrap_or(*upper);
                Cell::Text(shown_moment(moment.clamp(*lower, *upper)).into())
            }
        }
    }

    fn rule(&self) -> Value {
        match self {
            Self::Texts(_) => json!("texts"),
            Self::Uuids => json!("uuids"),
            Self::Times(..) => json!("times"),
        }
    }

    /// What a reader of the answers should know.
    pub fn note(&self) -> &'static str {
        match self {
            Self::Texts(_) => {
                "Texts are in the order of a dictionary, by Unicode's numbers of their characters; a longer text counts as its beginning (the last text before it that is short enough), and likewise one with control characters. A published text need not be one that occurs."
            }
            Self::Uuids => {
                "UUIDs are in the order of their digits; what is no UUID is left out. A published one need not be one that occurs."
            }
            Self::Times(..) => "A published time need not be one that occurs.",
        }
    }
}

/// 32 hexadecimal digits, with hyphens after 8, 12, 16 and 20 of them or without, in braces or not.
fn uuid(text: &str) -> Option<u128> {
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let parts: Vec<&str> = bare.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_uuid = lengths == [32] || lengths == [8, 4, 4, 4, 12];
    // A sign is no digit.
    let is_digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_uuid && is_digits).then(|| u128::from_str_radix(&parts.concat(), 16).ok()).flatten()
}

fn shown_uuid(key: u128) -> String {
    let digits = format!("{key:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// A column of such values, and how to count them.
pub(crate) struct KeyedValues {
    pub cut: Rc<PrivateQuery>,
    pub table: String,
    pub column: String,
    pub keys: Keys,
    /// The rows of one owner that count.
    pub rows: u64,
    /// The attributes whose change is another value.
    pub read: AttributeSet,
}

impl KeyedValues {
    /// The column of a request that gives `keys`; none if it does not.
    pub fn new(request: &Request, project: &Project) -> Result<Option<Self>> {
        let bytes = MAX_BYTES.read(request)?;
        let Some(asked) = KEYS.read(request)? else {
            return match bytes {
                Some(bytes) => Err(bytes.error("max_bytes goes with keys = \"texts\"")),
                None => Ok(None),
            };
        };
        let (table, name) = (private_table(request, project)?, COLUMN.read(request)?);
        let column = column(table, &name)?;
        let keys = Keys::new(&asked, &column.domain, bytes)?;
        let (quoted_column, quoted_table) = (quoted(&column.name), quoted(&table.name));
        // Longer than the column's name, and so another one.
        let count = quoted(&format!("{}#", column.name));
        let sql = format!("SELECT {quoted_column}, COUNT(*) AS {count} FROM {quoted_table} GROUP BY {quoted_column}");
        // All of an owner's rows may have one value.
        let (bounding, rows) = total_bounding(request, table)?;
        let cut = analyse_what_occurs(&sql, bounding, project, &Backend::without_data(project)?)
            .map_err(|error| error.or_at(COLUMN.place(request)))?;
        let read = AttributeSet::new(cut.query.key_attributes.union(&cut.query.rows).cloned())?;
        Ok(Some(Self { cut: Rc::new(cut), table: table.name.clone(), column: column.name.clone(), keys, rows, read }))
    }

    /// How often each key occurs.
    pub fn counts(&self, found: &Integers) -> BTreeMap<u128, u64> {
        let mut counts = BTreeMap::new();
        for (value, cell) in found.keys.iter().zip(&found.cells) {
            if let Some(key) = value.first().and_then(|value| self.keys.key(value)) {
                *counts.entry(key).or_default() += u64::try_from(cell.sums[0]).unwrap_or(0);
            }
        }
        counts
    }

    /// The same, each key as often as it occurs.
    pub fn listed(&self, found: &Integers) -> Vec<u128> {
        let counts = self.counts(found).into_iter();
        counts.flat_map(|(key, times)| std::iter::repeat_n(key, usize::try_from(times).unwrap_or(usize::MAX))).collect()
    }

    /// What a plan reads of them.
    pub fn source(&self) -> PlanSource {
        let source = PlanSource::query(&self.cut, Estimates::of(self.cut.query.bounds, false));
        PlanSource { tables: vec![self.table.clone()], ..source }
    }

    pub fn rule(&self) -> Value {
        json!({
            "table": self.table, "column": self.column, "keys": self.keys.rule(), "last_key": self.keys.last().to_string(), "rows_per_owner": self.rows,
        })
    }

    /// What a reader of the answers should know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![self.keys.note().to_string()];
        notes.extend(rows_without_a_key(&self.cut.query.keys));
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_as_people_write_them_and_nothing_else_is() {
        let key = 0x550e_8400_e29b_41d4_a716_4466_5544_0000;
        let hyphens = "550e8400-e29b-41d4-a716-446655440000";
        for text in [
            hyphens,
            "550E8400-E29B-41D4-A716-446655440000",
            "550e8400e29b41d4a716446655440000",
            &format!("{{{hyphens}}}"),
        ] {
            assert_eq!(uuid(text), Some(key), "{text}");
        }
        assert_eq!(shown_uuid(key), hyphens);
        assert_eq!(shown_uuid(7), "00000000-0000-0000-0000-000000000007");
        let signed = "+50e8400-e29b-41d4-a716-446655440000";
        for text in [
            "",
            "550e8400",
            signed,
            "550e8400-e29b41d4-a716-446655440000",
            "550e8400-e29b-41d4-a716-44665544000g",
            "{550e8400",
        ] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }

    /// By hand, and against all texts of two bytes: the order is kept, nothing that is shown lies between a text and
    /// what it counts as.
    #[test]
    fn texts_are_those_that_are_shown_as_they_are() {
        let keys = |bytes: usize| Keys::Texts(StringDomain::up_to(bytes).unwrap());
        let found = |keys: &Keys, text: &str| match keys.cell(keys.key(&ScalarValue::from(text)).unwrap()) {
            Cell::Text(text) => text.to_string(),
            other => panic!("{other:?}"),
        };
        let four = keys(4);
        for (text, counts_as) in [("a", "a"), ("abcde", "abcd"), ("a\u{11}z", "a"), ("a\nb", "a"), ("\0", "")] {
            assert_eq!(found(&four, text), counts_as, "{text:?}");
        }
        assert_eq!(found(&four, "a\u{7f}"), "a~\u{7ff}");
        let two = keys(2);
        let mut last = 0;
        for key in 0..=two.last() {
            let shown = two.shown(key);
            let Cell::Text(text) = two.cell(key) else { panic!("{key} has no text") };
            let is_shown = text.chars().all(is_shown_as_it_is);
            assert_eq!(shown, if is_shown { key } else { last }, "{text:?}");
            last = shown;
        }
    }

    #[test]
    fn times_beyond_their_bounds_count_as_the_bounds() {
        let keys = Keys::Times(-5, 1_000_000_000);
        let key = |moment: i64| keys.key(&ScalarValue::TimestampNanosecond(Some(moment), None)).unwrap();
        assert_eq!((key(-9), key(-5), key(0), key(2_000_000_000)), (0, 0, 5, keys.last()));
        assert_eq!(keys.cell(keys.last()), Cell::Text("1970-01-01T00:00:01".into()));
        assert_eq!(Keys::Times(i64::MIN, i64::MAX).last(), u64::MAX.into());
    }
}
