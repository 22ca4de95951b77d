//! Tables on a PostgreSQL server: its client, and the integers that it computes.

pub(crate) mod client;
pub(crate) mod source;
