//! Integers that are computed where the rows are.

mod jobs;
