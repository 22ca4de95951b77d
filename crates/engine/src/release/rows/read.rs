//! What can be read from rows, and from what.

use crate::error::Result;
use crate::remote::IntegerSource;
use crate::tables::Backend;
use crate::tables::hash::Key;

/// Something that is computed from private rows.
pub(crate) trait ReadRows {
    /// What it gives.
    type Found;

    /// Reads the rows.
    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Self::Found>;
}

/// The rows that a release may read. Only a charge gives them to anybody (`release::plan::ChargedAccess::read`).
pub(crate) struct PrivateRows<'a> {
    pub(in crate::release) backend: &'a Backend,
    /// Where integers come from, if not from rows that we read.
    pub(in crate::release) source: Option<&'a dyn IntegerSource>,
    /// Decides which of an owner's rows count.
    pub(in crate::release) key: Key,
}
