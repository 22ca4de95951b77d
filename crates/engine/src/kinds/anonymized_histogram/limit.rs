//! What nobody could promise of an anonymized histogram: for the tables that can occur under the declarations, not for
//! all.

use crate::budget::{Odometer, rounded_up};
use crate::error::Result;
use crate::kinds::counted::CountedColumns;
use crate::project::{Column, Domain, Table};
use crate::release::floor::Floor;
use crate::tables::bounding::Bounds;
use scumble::event::Event;
use scumble::mechanism::anonymized_histogram::MOST_ELEMENTS;
use scumble::quantity::{Delta, Epsilon, Exact};
use scumble::scope::Scope;
use scumble_adversary::limits::anonymized_histogram::{ElementOwners, HistogramSize, lower_bound_within};

/// Which tables there are, as far as limits need it.
#[derive(Debug, Clone)]
pub(crate) struct TableReach {
    owned: ElementOwners,
    /// How many values can occur at least.
    values: u64,
    /// No value has more elements.
    largest: u64,
    /// How many owners there are, where that is public: then nobody comes or goes, and neighbours replace.
    owners: Option<u64>,
    /// Whether nothing is known: then there is no limit.
    is_unknown: bool,
}

impl TableReach {
    /// Of values: as many as the declared domains have, and an owner's rows within their bounds.
    pub fn of_values(counted: &CountedColumns<'_>, bounds: Option<Bounds>, at_most: Option<u64>) -> Self {
        let columns: Vec<&Column> =
            counted.table.columns.iter().filter(|column| counted.names.contains(&column.name)).collect();
        let values = columns.iter().map(|column| number_of(&column.domain)).fold(1u64, u64::saturating_mul);
        // Which values a map or a public table leaves is not looked at.
        let is_mapped = columns.iter().any(|column| column.recoding.is_some() || column.key_set.is_some());
        let owned = bounds.map_or(ElementOwners::ONE_ELEMENT, |bounds| ElementOwners::Elements {
            elements: bounds.rows.min(bounds.groups.saturating_mul(bounds.rows_per_group)),
            values: bounds.groups,
            of_each: bounds.rows_per_group,
        });
        // Both are public: which tables have so many owners and no more rows is not looked at.
        let is_unknown = is_mapped || counted.table.public_owners.is_some() && at_most.is_some();
        Self { owned, values, largest: u64::MAX, owners: counted.table.public_owners, is_unknown }
    }

    /// Of owners: each is a value, with up to this many rows.
    pub fn of_owners(per_owner: u64, table: &Table) -> Self {
        // All of a known number of owners have rows: which tables that leaves is not looked at.
        let is_unknown = table.public_owners.is_some();
        Self { owned: ElementOwners::Values, values: u64::MAX, largest: per_owner, owners: None, is_unknown }
    }

    /// The expected error beside that of the hardest tables known that can occur; none where that is unknown.
    ///
    /// Where the number of owners is public, neighbours replace one, and tables of exactly so many owners are looked
    /// at: those who are not in a block have one row each of one value more.
    pub fn limits(&self, elements: u64, events: &[Event], expected: f64) -> Result<Vec<Floor>> {
        let (scope, name) = match self.owners {
            Some(_) => (Scope::Person, "person"),
            None => (Scope::Presence, "presence"),
        };
        let spent = Odometer::of(events, &scope)?.epsilon(&Exact::zero()).map(|epsilon| epsilon.to_f64_up());
        let (Some(epsilon), false) = (spent, self.is_unknown) else { return Ok(Vec::new()) };
        let room = HistogramSize {
            elements: self.owners.unwrap_or(elements).min(MOST_ELEMENTS),
            values: self.values,
            largest: self.largest,
            is_full: self.owners.is_some(),
        };
        let (least, _) = lower_bound_within(&room, &self.owned, Epsilon::new(epsilon)?, Delta::new(0.0)?)?;
        let mut about = format!("{name}, epsilon {}, {elements} rows", rounded_up(epsilon));
        if self.values < elements {
            about += &format!(" of {} values", self.values);
        }
        if self.largest < elements {
            about += &format!(", up to {} of an owner", self.largest);
        }
        if let ElementOwners::Elements { elements: most @ 2.., .. } = self.owned {
            about += &format!(", up to {most} of an owner");
        }
        about += "; the first number is what is proven, measured errors are 2 to 4 times smaller";
        let error = "all counts together (L1)".into();
        Ok(vec![Floor { column: "how_many".to_string(), error, expected, least, about }])
    }
}

/// How many values a column can have at least. Of numbers without a grid there are as many as anybody wants.
fn number_of(domain: &Domain) -> u64 {
    let whole =
        |bounds: &Option<(i64, i64)>| bounds.map_or(u64::MAX, |(lower, upper)| upper.abs_diff(lower).saturating_add(1));
    match domain {
        Domain::Bool => 2,
        Domain::Category { values: Some(values) } => values.len() as u64,
        Domain::Category { values: None } => u64::MAX,
        Domain::Int { bounds } | Domain::Date { bounds } | Domain::Timestamp { bounds, .. } => whole(bounds),
        Domain::Float { bounds: Some((lower, upper)), granularity: Some(step) } => {
            (((upper - lower) / step).floor() as u64).saturating_add(1)
        }
        Domain::Float { bounds: Some((lower, upper)), granularity: None } if lower >= upper => 1,
        Domain::Float { .. } => u64::MAX,
    }
}
