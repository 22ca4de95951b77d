//! What the pages "Try it in your browser" compute, as WebAssembly: a question as JSON in, an answer as JSON out.
//!
//! Every number that is a claim comes from the crates that the program itself is made of: bounds and noise from
//! `scumble`, attacks and ceilings from `scumble-adversary`, the forms of events from `scumble-wire`. Nothing is drawn
//! and nothing is decided in JavaScript; the host gives random bytes (`crypto.getRandomValues`) and shows what comes
//! back. The page has no server: what is asked and what is answered stays in the browser.

#![warn(missing_docs)]

mod account;
mod attack;
#[cfg(target_arch = "wasm32")]
mod door;
mod meaning;
mod noise;
mod plan;
mod question;
mod shown;

// The engine's own files, compiled a second time: how far an owner moves a number, which noise a cost pays for, how a
// project file is read. So the page has no second formula. What they stand on is beside them.
mod error;
#[path = "../../../../crates/engine/src/place.rs"]
#[allow(dead_code, missing_docs)]
mod place;
#[path = "../../../../crates/engine/src/release/price/noise.rs"]
#[allow(dead_code, missing_docs)]
mod price;
mod project;
mod query;
#[path = "../../../../crates/engine/src/sql/analyse/sensitivity.rs"]
#[allow(dead_code, missing_docs)]
mod sensitivity;

/// What the ledger's rule is made of, where the engine's files look for it.
mod budget {
    #[cfg(test)]
    pub use scumble::loss::filter::Odometer;
    pub use scumble::loss::filter::own_share;
}

use question::{Question, Refusal};
use scumble::noise::BitSource;
use serde_json::{Value, json};

/// The answer to a question. What is wrong with a question is an answer too: a sentence under `refused`.
pub fn answer(question: &str, bits: &mut dyn BitSource) -> Value {
    answered(question, bits).unwrap_or_else(|Refusal(sentence)| json!({ "refused": sentence }))
}

fn answered(question: &str, bits: &mut dyn BitSource) -> Result<Value, Refusal> {
    let document = scumble_wire::parse(question)?;
    let question = Question::new(&document)?;
    match question.calculator()? {
        "words" => Ok(account::words()),
        "account" => account::bounds(question.text("document")?),
        "curve" => account::curve(question.text("document")?, question.size()?),
        "noise" => noise::noise(&question),
        "meaning" => meaning::meaning(&question),
        "attack" => attack::attack(&question, bits),
        "plan" => plan::plan(question.text("project")?),
        other => Err(Refusal(format!("unknown calculator {other:?}"))),
    }
}
