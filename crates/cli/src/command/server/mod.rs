//! `scumble serve` and `scumble setup access`: a project for many, and who they are.

pub mod access;
pub mod serve;
