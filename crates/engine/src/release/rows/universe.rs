//! All combinations of values of some columns; each owner has one of them. And conditions on them, evaluated on public
//! values.
//!
//! # Guarantee
//! A condition is evaluated on the combinations, before anything is charged, and never on a row: whether it can be
//! computed depends on the declarations alone. An owner has one record ([`Attributes::read`]), so that an owner who
//! comes, goes or changes moves any count of records that fulfil a condition by at most 1.

use super::records::{self, Attributes, Records};
use crate::error::{Error, Result};
use crate::project::{Bounding, Project, Request};
use crate::release::field::PlacedValue;
use crate::release::rows::condition::one_condition;
use crate::sql::analyse::query::Computation;
use crate::sql::execute::cells::{TruthTable, tried};
use crate::tables::Backend;
use scumble::scope::AttributeSet;
use scumble::workload::Domain;

/// The combinations of values of a release's columns.
pub(crate) struct Universe {
    pub attributes: Attributes,
    pub domain: Domain,
}

impl Universe {
    /// Reads the fields of a request; no column may be called as one of the `published`.
    pub fn new(request: &Request, project: &Project, published: &[&str]) -> Result<Self> {
        let attributes = Attributes::new(request, project, false, published)?;
        let sizes: Vec<u32> = attributes.sizes().into_iter().flatten().collect();
        let place = records::COLUMNS.place(request);
        let domain = Domain::new(sizes).map_err(|error| Error::from(error).or_at(place))?;
        Ok(Self { attributes, domain })
    }

    /// The attributes that are read: another value of any may be another combination.
    pub fn read(&self) -> Result<AttributeSet> {
        Ok(AttributeSet::new(self.attributes.names().iter().cloned())?)
    }

    /// How many owners each combination has.
    pub fn counts(&self, records: &Records) -> Result<Vec<u64>> {
        Ok(self.domain.count(&records.columns)?)
    }

    /// Which combinations fulfil a condition.
    pub fn fulfilling(&self, condition: &PlacedValue<String>, project: &Project) -> Result<Vec<bool>> {
        let text = one_condition(condition)?;
        let table = self.attributes.table();
        let sql =
            format!("SELECT COUNT(*) AS count FROM {} WHERE ({text})", crate::release::rows::fields::quoted(table));
        let found =
            crate::sql::analyse(&sql, Bounding::default(), project, &Backend::without_data(project)?).and_then(|cut| {
                let plain = cut.query.keys.is_empty() && matches!(cut.query.aggregates[..], [Computation::Count(_)]);
                if !plain || cut.per_owner.is_some() || cut.below.tables.iter().ne([table]) {
                    return Err(Error::input("this must be one condition on the rows of the table"));
                }
                tried(&cut, self.attributes.names(), &self.attributes.arrays())
            });
        found.map(|tried| self.spread(&tried)).map_err(|error| error.without_place().or_at(condition.place.clone()))
    }

    /// From combinations of the columns that a condition reads to those of all.
    fn spread(&self, tried: &TruthTable) -> Vec<bool> {
        let sizes = self.domain.sizes();
        let mut strides = vec![0u32; sizes.len()];
        let mut stride = 1;
        for column in tried.columns.iter().rev() {
            strides[*column] = stride;
            stride *= sizes[*column];
        }
        let mut places = vec![0u32];
        for (size, stride) in sizes.iter().zip(strides) {
            places = places.iter().flat_map(|place| (0..*size).map(move |value| place + value * stride)).collect();
        }
        places.into_iter().map(|place| tried.truths[place as usize]).collect()
    }
}
