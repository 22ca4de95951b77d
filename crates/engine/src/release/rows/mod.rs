//! What releases read: the fields that name a table, one record for each owner, graphs, and combinations of public
//! values.

pub(crate) mod condition;
pub(crate) mod fields;
pub(crate) mod graph;
pub(crate) mod integers;
pub(crate) mod read;
pub(crate) mod records;
pub(crate) mod universe;
