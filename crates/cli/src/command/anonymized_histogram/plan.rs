//! `scumble lab anonymized-histogram plan`: what it will cost, what error to expect, what nobody can beat.

use super::{MechanismArguments, whole_number};
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble::mechanism::anonymized_histogram::AnonymizedHistogram;
use scumble::quantity::{Beta, Delta};
use scumble_adversary::limits::anonymized_histogram::{
    ElementOwners, HistogramSize, lemma_10, lower_bound_within, theorem_7,
};
use serde_json::json;

#[derive(Args)]
pub struct HistogramPlanArguments {
    /// How many elements there will be, about
    #[arg(long, value_parser = whole_number)]
    elements: u64,
    #[command(flatten)]
    mechanism: MechanismArguments,
    /// The most elements that one owner has; costs this many times as much
    #[arg(long, default_value_t = 1)]
    elements_per_owner: u64,
    /// How likely the stated error may be exceeded
    #[arg(long, default_value = "0.05")]
    beta: Beta,
    /// The lower bounds are for (epsilon, delta)-private algorithms with this delta
    #[arg(long, default_value = "0")]
    delta: Delta,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// What a release costs, in sentences.
pub fn cost(mechanism: &AnonymizedHistogram) -> String {
    let most = mechanism.elements_per_owner();
    let epsilon = mechanism.epsilon();
    let shared = match most {
        1 => String::new(),
        most => format!(", {most} times what one element costs"),
    };
    let size = match mechanism.epsilon_for_size() {
        None => String::new(),
        Some(size) => format!(" The estimate of the size takes {size} per element of it."),
    };
    let elements = if most == 1 { "1 element".to_string() } else { format!("up to {most} elements") };
    format!(
        "Costs ε = {epsilon} for the presence of an owner of {elements}{shared}, twice that for exchanging one.{size}\n\
         Not recorded in any ledger.\n"
    )
}

/// Prints the plan.
pub fn run(arguments: &HistogramPlanArguments) -> Result<(), Failure> {
    let mechanism = arguments.mechanism.mechanism(arguments.elements_per_owner)?;
    let (elements, delta) = (arguments.elements, arguments.delta);
    refuse_if!(
        arguments.mechanism.at_most.is_some_and(|most| most < elements),
        "--at-most must be at least --elements, which is {elements}"
    );
    let expected = mechanism.expected_error(elements)?;
    let error = mechanism.error(arguments.beta, elements)?;
    let (epsilon, each) = (mechanism.epsilon(), mechanism.elements_per_owner());
    // An owner has up to c elements of any values: who moves fewer than c costs as much as who moves all.
    let owned = ElementOwners::Elements { elements: each, values: each, of_each: each };
    let (best, blocks) = lower_bound_within(&HistogramSize::of(elements), &owned, epsilon, delta)?;
    // The paper's are about owners of one element.
    let tenth = (each == 1).then(|| lemma_10(elements, epsilon, delta));
    let seventh = if each == 1 { theorem_7(elements, epsilon) } else { None };
    let factor = if best > 0.0 { Some(expected / best) } else { None };
    if arguments.json {
        return print_json(&json!({
            "elements": elements,
            "epsilon": mechanism.epsilon().get(),
            "elements_per_owner": mechanism.elements_per_owner(),
            "epsilon_per_element": mechanism.epsilon_per_element().get(),
            "epsilon_for_size": mechanism.epsilon_for_size().map(|epsilon| epsilon.get()),
            "expected_error_at_most": expected,
            "error": {"beta": arguments.beta.get(), "at_most": error},
            "lower_bound": best,
            "lower_bound_blocks": blocks.blocks().len(),
            "lower_bound_lemma_10": tenth,
            "lower_bound_theorem_7": seventh.map(|theorem| theorem.lower_bound),
            "factor_to_lower_bound_at_most": factor,
        }));
    }
    let mut text = cost(&mechanism);
    text += &format!("Expected L1 error: at most {}.\n", shown(expected));
    text += &format!("With probability {}: at most {}.\n", 1.0 - arguments.beta.get(), shown(error));
    let printed = tenth.map(|bound| format!("Lemma 10 as printed: {}", shown(bound)));
    let printed: Vec<String> = printed
        .into_iter()
        .chain(seventh.map(|theorem| format!("Theorem 7: {}", shown(theorem.lower_bound))))
        .collect();
    let printed = if printed.is_empty() { String::new() } else { format!(" ({})", printed.join("; ")) };
    text +=
        &format!("Nobody can promise less than {} for every histogram of {elements} elements{printed}.\n", shown(best));
    if let Some(factor) = factor {
        text += &format!(
            "The proven error is {factor:.1} times that; measured errors are 2 to 3 times \
             (scumble lab reproduce anonymized-histogram).\n"
        );
    }
    print(&text)
}

fn shown(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
