//! The section on what an optimal mechanism could have done.

use super::Report;
use super::format::{digits, table};
use crate::release::floor::Floor;
use crate::release::run::published::PublishedRelease;
use maud::{Markup, html};
use serde::Serialize;

/// A limit as JSON, with its release.
#[derive(Serialize)]
pub(super) struct ReleaseLimit<'a> {
    release: &'a str,
    #[serde(flatten)]
    limit: &'a Floor,
}

/// The limits of all releases as JSON.
pub(super) fn json<'a>(report: &'a Report<'_>) -> Vec<ReleaseLimit<'a>> {
    let of_release =
        |one: &'a PublishedRelease| one.limits.iter().map(|limit| ReleaseLimit { release: &one.charge.release, limit });
    report.published.iter().flat_map(of_release).collect()
}

/// The section of the page; nothing if no limit is known for any release.
pub(super) fn section(report: &Report<'_>) -> Markup {
    // What says less than another about the same error is in the JSON alone.
    let strongest = report.published.iter().flat_map(|one| {
        let limits = one.limits.iter().filter(|limit| limit.is_strongest(&one.limits));
        limits.map(|limit| (one.charge.release.as_str(), limit))
    });
    let rows = html! { @for (release, limit) in strongest { (row(release, limit)) } };
    let head = ["release", "column", "expected error", "nobody can promise less", "times"];
    html! {
        @if report.published.iter().any(|one| !one.limits.is_empty()) {
            section #limits {
                h2 { "What an optimal mechanism could have done" }
                p {
                    "Noise is the price of privacy, and some of it cannot be avoided: no mechanism with the same \
                     guarantee can promise a smaller error than this for every table. Where nothing is listed, no \
                     bound with explicit numbers is known to us."
                }
                (table(&head, &rows))
            }
        }
    }
}

fn row(release: &str, limit: &Floor) -> Markup {
    let expected = if limit.expected.is_finite() { digits(limit.expected) } else { "depends on the data".to_string() };
    let factor = limit.factor().map_or("–".to_string(), |factor| format!("{factor:.2}"));
    html! {
        tr.over {
            td { (release) }
            td { (limit.column) }
            td { (expected) }
            td { (digits(limit.least)) }
            td { (factor) }
        }
        tr.under { td colspan="5" { (limit.error) "; " (limit.about) } }
    }
}
