//! One file per command; each has its arguments and a `run`. The groups are those of the help.

use crate::failure::Failure;
use clap::Subcommand;

mod account;
mod anonymized_histogram;
mod attack;
mod attacker;
mod audit;
mod book;
mod calibrate;
mod cluster;
mod compare_noise;
mod engine;
mod limits;
mod local;
mod noise;
mod parties;
mod reproduce;
mod server;
mod setup;

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    Publish(PublishCommand),
    #[command(flatten)]
    Understand(UnderstandCommand),
    /// Measures and draws again what the guides say about the papers, on made-up data
    Reproduce(reproduce::ReproduceArguments),
    #[command(flatten)]
    Setup(SetupCommand),
}

/// From a table to published numbers.
#[derive(Subcommand)]
pub enum PublishCommand {
    /// Makes up a population, releases statistics about it and leaves a report
    Demo(engine::demo::DemoArguments),
    /// Writes a first project file from a table's column names, and who its owner is
    Init(engine::init::InitArguments),
    /// Whether the files of a project's tables fit their declaration; for whoever holds the files
    Check(engine::check::CheckArguments),
    /// What each release would cost in every scope, and the error to expect; touches no data, unless asked to choose bounds
    Plan(engine::plan::PlanArguments),
    /// Publishes what is not published yet: charges the ledger, writes outputs and report
    Release(engine::release::ReleaseArguments),
    /// The exact integers of a release as SQL for another engine, where the rows are; `release --integers` takes them back
    Integers(engine::integers::IntegersArguments),
    /// What has been spent, by release, in every scope; verifies and exports the ledger
    Ledger(engine::ledger::LedgerCommandArguments),
    /// The budgets that the ledger has held; raises or lowers one, with a reason that stays
    Budget(engine::budget::BudgetArguments),
    /// One ad-hoc SQL release through the same path as those of the project file
    Query(engine::query::QueryArguments),
    /// Asks an interactive release, one question after the other; a round is charged when it opens
    Ask(engine::ask::AskArguments),
    /// How many owners satisfy a conjunction, from a published release of kind conjunctions; costs nothing
    Lookup(engine::lookup::LookupArguments),
    /// Serves the project to many, within its budget: an HTTP interface and pages
    Serve(server::serve::ServeArguments),
    /// Who may ask the server: adds somebody, lists all, revokes a token
    Access(server::access::AccessArguments),
    /// A scheduler and executors of Apache Ballista, for tables on files that several machines see
    Cluster(cluster::ClusterArguments),
    /// Lists the kinds of releases and their fields
    Kinds(engine::kinds::KindsArguments),
    /// How often values occur, without the values: from a file of counts, without a project
    AnonymizedHistogram(anonymized_histogram::AnonymizedHistogramArguments),
    /// Where nobody is trusted: owners randomize a report each, and many reports say how many hold what
    Local(local::LocalArguments),
    /// Where no server is trusted alone: holders of counts publish their sums, and nobody sees anybody's numbers
    Parties(parties::PartiesArguments),
}

/// What something costs, to whom, and with how much noise.
#[derive(Subcommand)]
pub enum UnderstandCommand {
    /// What a list of events costs: ε at a δ, or δ at an ε, with certified bounds
    Account(account::AccountArguments),
    /// The least noise, the largest sample or the most repetitions for a target
    Calibrate(calibrate::CalibrateArguments),
    /// Which noise for a histogram: every kind at equal privacy, and the error of each
    #[command(allow_negative_numbers = true)]
    CompareNoise(compare_noise::CompareNoiseArguments),
    /// Draws exact noise: one integer per line, or a summary
    Noise(noise::NoiseArguments),
    /// What an attacker who knows only part of the records learns from a count, a histogram or a suppressed table
    Attacker(attacker::AttackerArguments),
    /// What published numbers alone give away: reconstruction, tracing, membership; and a demonstration
    Attack(attack::AttackArguments),
    /// What outputs prove against a claim: lower bounds of ε for any mechanism
    Audit(audit::AuditArguments),
    /// What nobody can beat: limits with the theorem that each rests on
    Limits(limits::LimitsArguments),
}

/// What belongs to the installation of the program.
#[derive(Subcommand)]
pub enum SetupCommand {
    /// Prints the completions of a shell, for its startup file or completion folder
    Completions(setup::CompletionArguments),
    /// Prints the manual page, or writes one for each command
    Man(setup::ManArguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Publish(command) => command.run(quiet),
            Self::Understand(command) => command.run(quiet),
            Self::Reproduce(arguments) => reproduce::run(&arguments, quiet),
            Self::Setup(SetupCommand::Completions(arguments)) => setup::completions(&arguments),
            Self::Setup(SetupCommand::Man(arguments)) => setup::man(&arguments),
        }
    }
}

impl PublishCommand {
    fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Demo(arguments) => engine::demo::run(&arguments, quiet),
            Self::Init(arguments) => engine::init::run(&arguments, quiet),
            Self::Check(arguments) => engine::check::run(&arguments),
            Self::Plan(arguments) => engine::plan::run(&arguments, quiet),
            Self::Release(arguments) => engine::release::run(&arguments, quiet),
            Self::Query(arguments) => engine::query::run(&arguments, quiet),
            Self::Ask(arguments) => engine::ask::run(&arguments, quiet),
            Self::Integers(arguments) => engine::integers::run(&arguments),
            Self::Ledger(arguments) => engine::ledger::run(&arguments),
            Self::Budget(arguments) => engine::budget::run(&arguments, quiet),
            Self::Lookup(arguments) => engine::lookup::run(&arguments),
            Self::Serve(arguments) => server::serve::run(&arguments, quiet),
            Self::Access(arguments) => server::access::run(&arguments, quiet),
            Self::Cluster(arguments) => cluster::run(&arguments, quiet),
            Self::Kinds(arguments) => engine::kinds::run(&arguments),
            Self::AnonymizedHistogram(arguments) => anonymized_histogram::run(&arguments),
            Self::Local(arguments) => local::run(&arguments),
            Self::Parties(arguments) => parties::run(&arguments, quiet),
        }
    }
}

impl UnderstandCommand {
    fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Account(arguments) => account::run(&arguments),
            Self::Calibrate(arguments) => calibrate::run(&arguments),
            Self::CompareNoise(arguments) => compare_noise::run(&arguments),
            Self::Noise(arguments) => noise::run(&arguments),
            Self::Attacker(arguments) => attacker::run(&arguments),
            Self::Attack(arguments) => attack::run(&arguments),
            Self::Audit(arguments) => audit::run(&arguments, quiet),
            Self::Limits(arguments) => limits::run(&arguments),
        }
    }
}
