//! The ledger that is charged for what is no release of a project: sums of parties, inner products, collected reports.

use crate::failure::Failure;
use clap::Args;
use scumble_engine::project::Project;
use scumble_engine::release::ChargedLedger;
use std::path::PathBuf;

/// Which ledger is charged.
#[derive(Args)]
pub struct ChargedLedgerArguments {
    /// The ledger to charge, with its budget; may be new
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    ledger: Option<PathBuf>,
    /// The project whose ledger and budget are charged
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// Charge again if this is charged already
    #[arg(long)]
    pub again: bool,
}

impl ChargedLedgerArguments {
    /// The ledger, if one was named.
    pub fn book(&self) -> Result<Option<ChargedLedger>, Failure> {
        Ok(match (&self.ledger, &self.project) {
            (Some(ledger), _) => Some(ChargedLedger::of_ledger(ledger)),
            (None, Some(file)) => Some(ChargedLedger::of_project(&Project::open(file)?)),
            (None, None) => None,
        })
    }

    /// The ledger, which must be named.
    pub fn needed(&self) -> Result<ChargedLedger, Failure> {
        self.book()?.ok_or_else(|| {
            let sentence =
                "name the ledger that is charged: --ledger FILE, or --project FILE for a project's ledger and budget";
            Failure::Input(sentence.to_string())
        })
    }
}
