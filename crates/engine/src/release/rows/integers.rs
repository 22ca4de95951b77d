//! The exact integers of a query, and what stands beside them.

use super::read::{PrivateRows, ReadRows};
use crate::error::Result;
use crate::sql::PrivateQuery;
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::{Integers, contributions, integers, integers_beside, occurrences};
use crate::tables::bounding::{Bounds, Contribution};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The exact integers of a query.
impl ReadRows for &PrivateQuery {
    type Found = Integers;

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Integers> {
        match rows.source {
            Some(source) => source.integers(self),
            None => integers(self, rows.backend, rows.key),
        }
    }
}

impl ReadRows for &Rc<PrivateQuery> {
    type Found = Integers;

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Integers> {
        (&**self).found_in(rows)
    }
}

/// The same, with what wider bounds keep beside each cell; `visit` is given what each owner has.
pub(crate) struct IntegersBeside<'q, V> {
    pub query: &'q PrivateQuery,
    pub wide: Bounds,
    pub visit: V,
}

impl<V: FnMut(Contribution<'_>)> ReadRows for IntegersBeside<'_, V> {
    type Found = (Integers, Vec<ExactCell>);

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Self::Found> {
        integers_beside(self.query, rows.backend, rows.key, self.wide, self.visit)
    }
}

/// How many keys of a counting query have how many rows, where each row is one person.
pub(crate) struct Occurrences<'q>(pub &'q PrivateQuery);

impl ReadRows for Occurrences<'_> {
    type Found = BTreeMap<u64, u64>;

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Self::Found> {
        occurrences(self.0, rows.backend, rows.key)
    }
}

/// Gives `visit` what each owner has in a query's groups, of at most this many groups.
pub(crate) struct Contributions<'q, V> {
    pub query: &'q PrivateQuery,
    pub groups: u64,
    pub visit: V,
}

impl<V: FnMut(Contribution<'_>)> ReadRows for Contributions<'_, V> {
    type Found = ();

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<()> {
        contributions(self.query, rows.backend, rows.key, self.groups, self.visit)
    }
}
