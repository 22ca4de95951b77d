//! More than one curator: protocols in which nobody is trusted with all of the data.
//!
//! [`local`]: every owner randomizes an own report, and whoever collects them is not trusted at all.

pub mod local;
