//! `scumble lab audit --command`: any mechanism that a command runs.

use super::outputs::AuditClaimArguments;
use super::{AuditAnswer, repeated};
use crate::failure::Failure;
use crate::interrupted::ProcessGroup;
use clap::Args;
use scumble_adversary::audit::{LEAST_OUTPUTS, Outputs};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command, the tables that it is run on, and how often.
#[derive(Args)]
pub struct ExternalMechanismArguments {
    /// Prints one output per line; {table} stands for the table
    #[arg(long, value_name = "COMMAND", requires_all = ["neighbours", "runs"])]
    pub command: Option<String>,
    /// Two tables that differ in one person
    #[arg(long, num_args = 2, value_names = ["TABLE", "NEIGHBOUR"], requires = "command")]
    neighbours: Vec<PathBuf>,
    /// Outputs of each table
    #[arg(long, value_name = "N", default_value_t = 0, requires = "command")]
    runs: usize,
    /// Seconds for one run
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    timeout: f64,
    #[command(flatten)]
    asked: AuditClaimArguments,
}

/// Where the table's file goes.
const TABLE: &str = "{table}";
/// More outputs do not fit into memory.
const MOST_RUNS: usize = 100_000_000;
/// How many bytes of what a command says on its standard error are looked at, and how many letters of its last line are
/// shown.
const MOST_SAID: usize = 64 << 10;
const MOST_SHOWN: usize = 200;
/// How often a run is looked at.
const GLANCE: Duration = Duration::from_millis(2);

impl ExternalMechanismArguments {
    /// What is claimed, and how sure the answer is to be.
    pub fn asked(&self) -> &AuditClaimArguments {
        &self.asked
    }

    /// The answer, and whether the claim is refuted.
    pub fn run(&self, command: &str) -> Result<AuditAnswer, Failure> {
        if !command.contains(TABLE) {
            refuse!("the command has no {{table}}: write it where the name of the table belongs");
        }
        refuse_if!(self.runs < LEAST_OUTPUTS, "--runs {}: an audit needs at least {LEAST_OUTPUTS}", self.runs);
        refuse_if!(self.runs > MOST_RUNS, "--runs {}: at most {MOST_RUNS} outputs are compared", self.runs);
        if !(self.timeout > 0.0 && self.timeout <= 1e6) {
            refuse!("--timeout must be a number of seconds above 0, at most 1000000");
        }
        if let Some(missing) = self.neighbours.iter().find(|table| !table.is_file()) {
            refuse!("{}: there is no such file", missing.display());
        }
        let [table, neighbour] = self.neighbours.as_slice() else {
            refuse!("--neighbours takes two files: a table and its neighbour");
        };
        let (table, neighbour) = (self.outputs(command, table)?, self.outputs(command, neighbour)?);
        self.asked.of(&table, &neighbour)
    }

    /// As many outputs on a table as are wanted, in the order of the runs.
    fn outputs(&self, command: &str, table: &Path) -> Result<Outputs, Failure> {
        let first = self.once(command, table)?;
        let each = first.lines().count();
        let times = self.runs.div_ceil(each) - 1;
        let one = |(): &mut ()| {
            let printed = self.once(command, table)?;
            match printed.lines().count() == each {
                true => Ok(printed),
                false => Err(self.failed(table, "printed more outputs in one run than in another")),
            }
        };
        let more = repeated(times, || Ok(()), one, || self.failed(table, "failed"))?;
        let all = std::iter::once(&first).chain(&more);
        let lines: Vec<&str> = all.flat_map(|printed| printed.lines()).take(self.runs).collect();
        Outputs::read(&(lines.join("\n") + "\n"))
            .map_err(|error| self.failed(table, &format!("printed what is not an output: {error}")))
    }

    /// What one run prints.
    fn once(&self, asked: &str, table: &Path) -> Result<String, Failure> {
        let quoted = format!("'{}'", table.display().to_string().replace('\'', "'\\''"));
        let mut command = Command::new("sh");
        command.arg("-c").arg(asked.replace(TABLE, &quoted));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| self.failed(table, &format!("cannot be run ({error})")))?;
        let mut pipe = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut printed = String::new();
            let read = pipe.as_mut().map(|pipe| pipe.read_to_string(&mut printed));
            read.is_some_and(|read| read.is_ok()).then_some(printed)
        });
        let complaints = child.stderr.take().map(|pipe| std::thread::spawn(move || complaint(pipe)));
        let group = ProcessGroup::of(child.id());
        let ended = self.waited(&mut child);
        if ended.is_none() {
            group.stop();
            let _ = child.kill();
            let _ = child.wait();
        }
        let printed = reader.join().ok().flatten();
        let Some(status) = ended else {
            return Err(self.failed(table, &format!("did not end within {} seconds", self.timeout)));
        };
        if !status.success() {
            let how = status.code().map_or("a signal".to_string(), |code| format!("status {code}"));
            // Something that it left running may hold its standard error open.
            group.stop();
            let said = complaints.and_then(|reader| reader.join().ok()).flatten();
            let said = said.map_or_else(String::new, |line| format!(": {line}"));
            return Err(self.failed(table, &format!("ended with {how}{said}")));
        }
        match printed {
            None => Err(self.failed(table, "printed what is not UTF-8")),
            Some(printed) if printed.trim().is_empty() => Err(self.failed(table, "printed nothing")),
            Some(printed) => Ok(printed),
        }
    }

    fn waited(&self, child: &mut Child) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + Duration::from_secs_f64(self.timeout);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(GLANCE),
                _ => return None,
            }
        }
    }

    fn failed(&self, table: &Path, what: &str) -> Failure {
        Failure::Input(format!("the command, on {}, {what}", table.display()))
    }
}

/// The last line that a command writes to its standard error, which is read to its end; of a very long line the
/// beginning.
fn complaint(mut pipe: impl Read) -> Option<String> {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(bytes @ 1..) = pipe.read(&mut part) {
        all.extend_from_slice(&part[..bytes]);
        let begin = all.len().saturating_sub(MOST_SAID);
        all.drain(..begin);
    }
    let text = String::from_utf8_lossy(&all);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().filter(|letter| !letter.is_control()).take(MOST_SHOWN).collect())
}
