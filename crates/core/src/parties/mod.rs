//! Protocols of several parties, in which no party is trusted with all of the data.
//!
//! [`local`]: every owner randomizes their own report, and the collector is not trusted at all. [`sum`]: parties that
//! each hold the counts of many owners publish their sums through servers that are not trusted
//! alone. [`inner_product`]: two parties with a bit for each owner learn how many owners have both.

pub mod inner_product;
pub mod local;
pub mod sum;
