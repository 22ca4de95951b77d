//! The section on what an optimal mechanism could have done.

use super::Report;
use super::format::{digits, escaped};
use crate::release::floor::Floor;
use crate::release::run::published::PublishedRelease;
use serde::Serialize;
use std::fmt::Write;

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
pub(super) fn section(report: &Report<'_>) -> String {
    if report.published.iter().all(|one| one.limits.is_empty()) {
        return String::new();
    }
    let mut text = String::from(
        "<section id=\"limits\"><h2>What an optimal mechanism could have done</h2><p>Noise is the price of privacy, and some of it cannot be \
         avoided: no mechanism with the same guarantee can promise a smaller error than this for every table. Where nothing is \
         listed, no bound with explicit numbers is known to us.</p><div class=\"wide\"><table><thead><tr><th>release</th><th>column</th>\
         <th>expected error</th><th>nobody can promise less</th><th>times</th></tr></thead><tbody>",
    );
    for one in report.published {
        // What says less than another about the same error is in the JSON alone.
        for limit in one.limits.iter().filter(|limit| limit.is_strongest(&one.limits)) {
            let expected =
                if limit.expected.is_finite() { digits(limit.expected) } else { "depends on the data".to_string() };
            let factor = limit.factor().map_or("–".to_string(), |factor| format!("{factor:.2}"));
            let _ = write!(
                text,
                "<tr class=\"over\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{factor}</td></tr><tr class=\"under\"><td colspan=\"5\">{}; {}</td></tr>",
                escaped(&one.charge.release),
                escaped(&limit.column),
                expected,
                digits(limit.least),
                escaped(&limit.error),
                escaped(&limit.about),
            );
        }
    }
    text.push_str("</tbody></table></div></section>");
    text
}
