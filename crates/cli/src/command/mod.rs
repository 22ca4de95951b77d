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
    Daily(DailyCommand),
    #[command(flatten)]
    Further(FurtherCommand),
    /// Computes costs, limits and noise; attacks and audits releases
    #[command(subcommand, after_help = "Example:\n  scumble lab noise discrete-laplace --scale 2 --count 5")]
    Lab(LabCommand),
    /// Gives access, prepares other engines, writes completions and manual
    #[command(subcommand, after_help = "Example:\n  scumble setup completions bash > scumble.bash")]
    Setup(SetupCommand),
}

/// From a table to published numbers.
#[derive(Subcommand)]
pub enum DailyCommand {
    /// Writes a first project file from the columns of a table
    Init(engine::init::InitArguments),
    /// Checks that the files of all tables fit their declarations
    Check(engine::check::CheckArguments),
    /// Predicts the cost and error of each release
    Plan(engine::plan::PlanArguments),
    /// Charges the ledger, and publishes what is not published yet
    Release(engine::release::ReleaseArguments),
    /// Shows what is published, what would run, what changed, what is spent
    Status(engine::status::StatusArguments),
    /// Lists what is published, or prints the answers of one release
    Show(engine::show::ShowArguments),
    /// Publishes the answer to one SQL query, as one release
    Query(engine::query::QueryArguments),
    /// Shows what was spent and is left; verifies and exports the ledger
    Ledger(engine::ledger::LedgerCommandArguments),
    /// Shows, raises or lowers the ledger's budget, with a recorded reason
    Budget(engine::budget::BudgetArguments),
    /// Serves the project to analysts: pages, HTTP, PostgreSQL's protocol
    Serve(server::serve::ServeArguments),
    /// Invents a population, publishes statistics and writes a report
    Demo(engine::demo::DemoArguments),
}

/// Releases of single kinds, and those without one trusted curator.
#[derive(Subcommand)]
pub enum FurtherCommand {
    /// Lists the kinds of releases and their fields
    Kinds(engine::kinds::KindsArguments),
    /// Asks a release of kind interactive; a round is charged when it opens
    Ask(engine::ask::AskArguments),
    /// Counts owners by a published release of kind conjunctions
    Lookup(engine::lookup::LookupArguments),
    /// Randomizes reports on owners' devices, and estimates from them
    Local(local::LocalArguments),
    /// Publishes sums over several parties; no server sees one's counts
    Parties(parties::PartiesArguments),
}

/// What something costs, to whom, with how much noise; and research.
#[derive(Subcommand)]
pub enum LabCommand {
    /// Computes what a list of events costs: ε at a δ, or δ at an ε, with certified bounds
    Account(account::AccountArguments),
    /// Finds the least noise, the largest sample or the most repetitions for a target
    Calibrate(calibrate::CalibrateArguments),
    /// Compares all noises for a histogram at equal privacy
    #[command(allow_negative_numbers = true)]
    CompareNoise(compare_noise::CompareNoiseArguments),
    /// Draws exact noise: one integer per line, or a summary
    Noise(noise::NoiseArguments),
    /// Computes what an attacker who knows only some records learns
    Attacker(attacker::AttackerArguments),
    /// Attacks published numbers: reconstruction, tracing, membership; a demonstration
    Attack(attack::AttackArguments),
    /// Tests a privacy claim by outputs: lower bounds of ε for any mechanism
    Audit(audit::AuditArguments),
    /// Prints limits that no mechanism can beat, each with its theorem
    Limits(limits::LimitsArguments),
    /// Releases how often values occur, without the values, from a file of counts
    AnonymizedHistogram(anonymized_histogram::AnonymizedHistogramArguments),
    /// Measures the tables and draws the pictures of the documentation again, on invented data
    Reproduce(reproduce::ReproduceArguments),
}

/// What is done once: for other people, other engines and the shell.
#[derive(Subcommand)]
pub enum SetupCommand {
    /// Says who may ask the server: adds, lists and revokes names
    Access(server::access::AccessArguments),
    /// Prints a release as SQL for another engine
    Integers(engine::integers::IntegersArguments),
    /// Runs a scheduler and executors of Apache Ballista
    Cluster(cluster::ClusterArguments),
    /// Prints the completions of a shell
    Completions(setup::CompletionArguments),
    /// Prints the names of a project's releases, for completions
    #[command(hide = true)]
    Names(setup::NamesArguments),
    /// Prints the manual page, or writes one for each command
    #[command(alias = "man")]
    Manual(setup::ManualArguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Daily(command) => command.run(quiet),
            Self::Further(command) => command.run(quiet),
            Self::Lab(command) => command.run(quiet),
            Self::Setup(command) => command.run(quiet),
        }
    }
}

impl DailyCommand {
    fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Init(arguments) => engine::init::run(&arguments, quiet),
            Self::Check(arguments) => engine::check::run(&arguments),
            Self::Plan(arguments) => engine::plan::run(&arguments, quiet),
            Self::Release(arguments) => engine::release::run(&arguments, quiet),
            Self::Status(arguments) => engine::status::run(&arguments),
            Self::Show(arguments) => engine::show::run(&arguments),
            Self::Query(arguments) => engine::query::run(&arguments, quiet),
            Self::Ledger(arguments) => engine::ledger::run(&arguments),
            Self::Budget(arguments) => engine::budget::run(&arguments, quiet),
            Self::Serve(arguments) => server::serve::run(&arguments, quiet),
            Self::Demo(arguments) => engine::demo::run(&arguments, quiet),
        }
    }
}

impl FurtherCommand {
    fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Kinds(arguments) => engine::kinds::run(&arguments),
            Self::Ask(arguments) => engine::ask::run(&arguments, quiet),
            Self::Lookup(arguments) => engine::lookup::run(&arguments),
            Self::Local(arguments) => local::run(&arguments),
            Self::Parties(arguments) => parties::run(&arguments, quiet),
        }
    }
}

impl LabCommand {
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
            Self::AnonymizedHistogram(arguments) => anonymized_histogram::run(&arguments),
            Self::Reproduce(arguments) => reproduce::run(&arguments, quiet),
        }
    }
}

impl SetupCommand {
    fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Access(arguments) => server::access::run(&arguments, quiet),
            Self::Integers(arguments) => engine::integers::run(&arguments),
            Self::Cluster(arguments) => cluster::run(&arguments, quiet),
            Self::Completions(arguments) => setup::completions(&arguments),
            Self::Names(arguments) => setup::names(&arguments),
            Self::Manual(arguments) => setup::manual(&arguments),
        }
    }
}
