//! `scumble parties product`.

use super::{ParticipantArguments, listen};
use crate::command::account::DIGITS;
use crate::command::engine::head_line;
use crate::failure::{Failure, say};
use crate::input;
use crate::output::{print, print_line};
use clap::Args;
use scumble::noise::SecureSource;
use scumble::quantity::{Beta, rounded_up};
use scumble_engine::release::{BETA, ExternalCharge, PaidCharge};
use scumble_parties::product::{FirstParty, ProductPlan, Role, SecondParty};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "Example:\n  scumble parties product both.toml --key survey.key --bits smokes.txt")]
pub struct PartiesProductArguments {
    #[command(flatten)]
    part: ParticipantArguments,
    /// 0 or 1 per owner, in the shared order; - is stdin
    #[arg(long, value_name = "FILE")]
    bits: PathBuf,
    /// Where the second party listens, not the plan's address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

/// Runs the side that the key belongs to: the first party prints the estimate, the second that it has answered.
pub fn run(arguments: &PartiesProductArguments, quiet: bool) -> Result<(), Failure> {
    let part = &arguments.part;
    let (plan, key) = part.open(ProductPlan::open)?;
    let role = plan.role_of(&key)?;
    let (book, again) = (part.ledger.needed()?, part.ledger.again);
    let outside = charge_of(&plan, role)?;
    outside.admitted(&book, again)?;
    // Whether the file fits the plan is said before anything is charged, as of a release's files.
    let bits = bits(&arguments.bits, plan.owners())?;
    let wait = part.wait();
    let mut random = SecureSource::new()?;
    match role {
        Role::First => {
            let first = FirstParty::meet(&plan, &key, wait)?;
            let paid = outside.charge(&book, again)?;
            let answer = first.multiply(&bits, &mut random)?;
            estimated(&plan, answer, paid, part.json)
        }
        Role::Second => {
            let address = arguments.listen.as_deref().unwrap_or(plan.address());
            let listener = listen(address)?;
            if !quiet {
                say(&format!("listening at {address}"));
            }
            let second = SecondParty::listen(&plan, &key, &listener, wait)?;
            let paid = outside.charge(&book, again)?;
            second.answer(&bits, &mut random)?;
            answered(&plan, paid, part.json)
        }
    }
}

fn charge_of(plan: &ProductPlan, role: Role) -> Result<ExternalCharge, Failure> {
    let role_name = if role == Role::First { "first" } else { "second" };
    Ok(ExternalCharge {
        release: plan.name().to_string(),
        kind: "product",
        plan: hex::encode(plan.digest()),
        events: plan.events(role)?,
        rule: json!({
            "role": role_name, "owners": plan.owners(),
            "coalition": format!("everybody, with '{}'; who the owners are, both parties know", plan.other(role)),
        }),
    })
}

fn bits(path: &Path, owners: usize) -> Result<Vec<bool>, Failure> {
    let text = input::text(path)?;
    let bit = |(place, line): (usize, &str)| match line.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Failure::Input(format!("{} line {}: a bit must be 0 or 1", path.display(), place + 1))),
    };
    let bits = text.lines().enumerate().map(bit).collect::<Result<Vec<bool>, _>>()?;
    if bits.len() != owners {
        refuse!("{} has {} lines, and the plan has {owners} owners", path.display(), bits.len());
    }
    Ok(bits)
}

fn estimated(plan: &ProductPlan, answer: i64, paid: PaidCharge<'_>, as_json: bool) -> Result<(), Failure> {
    let (estimate, within) =
        (plan.product().estimate(answer), plan.product().error(Beta::new(BETA)?, plan.owners() as u64)?);
    let (entry, cost) = (paid.sequence(), plan.product().epsilon_first().get());
    let head = paid.commit(&scumble_engine::digest(answer.to_string().as_bytes()))?;
    if as_json {
        let found = json!({ "estimate": estimate, "within": within, "beta": BETA, "answer": answer, "epsilon": cost, "entry": entry });
        return print(&format!("{found}\n"));
    }
    print(&format!(
        "about {estimate:.0} owners have both, within ±{:.0} with probability 95%\nEach owner's bit cost ε = {} against everybody; that somebody is among the {} owners is known to both parties.\n{}\n",
        within.ceil(),
        rounded_up(cost, DIGITS),
        plan.owners(),
        head_line(&head)
    ))
}

fn answered(plan: &ProductPlan, paid: PaidCharge<'_>, as_json: bool) -> Result<(), Failure> {
    let (entry, cost) = (paid.sequence(), plan.product().epsilon_second());
    let head = paid.commit(&scumble_engine::digest(plan.digest()))?;
    if as_json {
        return print_line(&json!({ "answered": true, "epsilon": cost.get(), "entry": entry }));
    }
    print(&format!("answered; each owner's bit cost ε = {cost} against everybody\n{}\n", head_line(&head)))
}
