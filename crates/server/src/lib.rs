//! A project served to many.
