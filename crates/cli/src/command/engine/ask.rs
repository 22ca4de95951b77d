//! `scumble ask`: questions to an interactive release, one after the other.

use super::{head_line, known, run_and_report, runner};
use crate::failure::{Failure, say};
use crate::output::print;
use clap::Args;
use scumble::noise::SecureSource;
use scumble_engine::project::Project;
use scumble_engine::release::{InteractiveAnswer, InteractiveSession};
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::PathBuf;

/// What `ask` takes.
#[derive(Args)]
#[command(after_help = "A round is charged when it opens, and ends with the first answer that is\n\
                  measured. Questions are conditions on the columns of the release.\n\n\
                  Examples:\n  \
                  scumble ask smokers \"smoker AND age > 40\"\n  \
                  scumble ask smokers \"smoker\" \"NOT smoker AND sex = 'f'\"\n  \
                  scumble ask smokers - < questions.txt  # one on each line")]
pub struct AskArguments {
    /// The release, of kind interactive
    name: String,
    /// Conditions as in SQL; - reads standard input, one per line
    #[arg(required = true)]
    questions: Vec<String>,
    /// The project file
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    project: PathBuf,
    /// Another ledger than the project's
    #[arg(long, value_name = "PATH")]
    ledger: Option<PathBuf>,
    /// The folder for all answers so far, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON, an object for each answer
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &AskArguments, quiet: bool) -> Result<(), Failure> {
    let project = Project::open(&arguments.project)?;
    let runner = runner(&project, arguments.ledger.as_ref());
    let request = known(&project, &arguments.name)?;
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    {
        let mut asking = runner.asking(request, &out)?;
        // What is wrong with one of them is said before any is paid for.
        for question in arguments.questions.iter().filter(|question| *question != "-") {
            asking.understood(question)?;
        }
        let mut bits = SecureSource::new()?;
        for question in &arguments.questions {
            if question != "-" {
                answer(&mut asking, question, &mut bits, quiet, arguments.json)?;
                continue;
            }
            for line in std::io::stdin().lock().lines() {
                let line = line.map_err(|error| Failure::Input(format!("the questions cannot be read ({error})")))?;
                if !line.trim().is_empty() {
                    answer(&mut asking, line.trim(), &mut bits, quiet, arguments.json)?;
                }
            }
        }
    }
    let (_, head, report) = run_and_report(&project, &runner, &[], &out, true)?;
    if !(quiet || arguments.json) {
        say(&format!("report: {}\n{}", report.display(), head_line(&head)));
    }
    Ok(())
}

fn answer(
    asking: &mut InteractiveSession<'_>,
    question: &str,
    bits: &mut SecureSource,
    quiet: bool,
    as_json: bool,
) -> Result<(), Failure> {
    let answered = asking.ask(question, bits)?;
    if as_json {
        return print(&format!("{}\n", shown(&answered)));
    }
    if !quiet {
        let (charged, all) = answered.rounds;
        answered.notes.iter().for_each(|note| say(note));
        if let Some(entry) = answered.charged {
            say(&format!(
                "a round was charged for this question and those after it: {charged} of {all} (entry {entry})"
            ));
        }
    }
    let within = answered.within.map_or_else(String::new, |within| format!(" ± {within}"));
    print(&format!("{}{within} ({})\n", answered.answer, answered.how.words()))
}

fn shown(answered: &InteractiveAnswer) -> Value {
    let interval = answered.within.map(|within| {
        let (answer, within) = (i128::from(answered.answer), i128::from(within));
        [(answer - within) as f64, (answer + within) as f64]
    });
    json!({
        "question": answered.question, "answer": answered.answer, "answer_interval": interval,
        "how": answered.how.words(), "charged": answered.charged, "rounds_charged": answered.rounds.0,
        "rounds": answered.rounds.1, "notes": answered.notes,
    })
}
