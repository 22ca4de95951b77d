//! `scumble demo`.

use crate::failure::Failure;
use clap::Args;

/// The demo takes no arguments yet.
#[derive(Args)]
pub struct Arguments {}

/// Not there yet: says so.
pub fn run(_arguments: &Arguments) -> Result<(), Failure> {
    Err(Failure::Other("demo is not there yet".to_string()))
}
