//! The program as a user runs it. One binary for all files: each of its own would be linked, and run, one after the
//! other.

mod browser;
mod calculators;
mod files;
mod fixtures;
mod kinds;
mod ledger;
mod pages;
mod parties;
mod plan;
mod program;
mod remote;
mod report;
mod serve;
mod sql;
mod support;
