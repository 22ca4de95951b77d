//! What users draw against what the ledger says was drawn: for every mechanism, its own `release`, seeded, against its
//! own event.
//!
//! Seventeen of seventy hand-made slips passed the suite; four of them made the noise of a `release` smaller than its
//! event said, and two a threshold lower. So here every public function that takes random bits is called often enough
//! that noise which is 5% too small (10% where `SCUMBLE_THOROUGH` is not set) fails (see `scumble_testing::laws`: each
//! comparison states what it would miss, and all of them together fail by chance with probability at most 1e-9), and
//! [`nothing_draws_unseen`] fails for a new function that is not in the table. Beside that every one of them is
//! [`audited`] as a stranger would audit it, from outputs on two neighbours.

mod added;
mod audited;
mod chosen;
mod learners;
mod local;
mod moves;
mod questions;
mod sensitive;
mod shared;
mod workloads;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A function that takes random bits: its file, its name, and what compares it.
type Drawn = (&'static str, &'static str, &'static [fn()]);

/// Every such public function of a mechanism, a workload or a learner.
const DRAWN: &[Drawn] = &[
    ("mechanism/additive/release.rs", "release", &[added::additive]),
    ("mechanism/additive.rs", "add_to_all", &[added::additive]),
    ("mechanism/additive.rs", "add_to_wide", &[added::noise_by_itself]),
    ("mechanism/additive.rs", "fill", &[added::noise_by_itself]),
    ("mechanism/additive.rs", "sample", &[added::noise_by_itself]),
    ("mechanism/anonymized_histogram/layout.rs", "draw", &[added::phases]),
    ("mechanism/anonymized_histogram/listed.rs", "release", &[added::listed_counts]),
    ("mechanism/anonymized_histogram/mod.rs", "release", &[added::anonymized_histogram]),
    ("mechanism/bounded_sensitivity.rs", "release", &[sensitive::bounded]),
    ("mechanism/cdf.rs", "release", &[added::cdf]),
    ("mechanism/cdf.rs", "release_at", &[added::cdf_at]),
    ("mechanism/heavy_hitters/release.rs", "release", &[added::heavy_hitters]),
    ("mechanism/histogram.rs", "release", &[added::histogram]),
    ("mechanism/huge_domain.rs", "release", &[added::huge_domain]),
    ("mechanism/interior_point.rs", "release", &[chosen::interior_point]),
    ("mechanism/k_norm.rs", "noise", &[added::k_norm]),
    ("mechanism/k_norm.rs", "release", &[added::k_norm]),
    ("mechanism/propose_test_release.rs", "release", &[sensitive::propose_test_release]),
    ("mechanism/quantile.rs", "release", &[chosen::quantile]),
    ("mechanism/quantile.rs", "release_counted", &[chosen::quantile]),
    ("mechanism/quantile/thresholds.rs", "release", &[added::threshold_counts]),
    ("mechanism/quantile/tree.rs", "release", &[chosen::quantile_tree]),
    ("mechanism/randomized_response.rs", "release", &[chosen::randomized_response]),
    ("mechanism/selection.rs", "release", &[chosen::selection]),
    ("mechanism/selection/obvious.rs", "release", &[chosen::obvious_answer]),
    ("mechanism/selection/top.rs", "release", &[chosen::generalized_histogram]),
    ("mechanism/selection/top.rs", "release_leads", &[chosen::generalized_histogram]),
    ("mechanism/smooth/mod.rs", "release", &[sensitive::smooth]),
    ("mechanism/smooth/mod.rs", "release_with_level", &[sensitive::level]),
    ("mechanism/sparse_vector.rs", "ask", &[questions::sparse_vector]),
    ("mechanism/sparse_vector.rs", "open", &[questions::sparse_vector]),
    ("mechanism/sparse_vector.rs", "release", &[questions::sparse_vector]),
    ("mechanism/stability.rs", "release", &[chosen::stability_histogram, chosen::key_selection]),
    ("mechanism/stable_value.rs", "release", &[sensitive::stable_value]),
    ("workload/conjunctions/mod.rs", "release", &[workloads::conjunctions]),
    ("workload/interactive.rs", "ask", &[questions::interactive]),
    ("workload/interactive.rs", "open", &[questions::interactive]),
    ("parties/local/mod.rs", "report", &[local::report]),
    ("parties/local/mod.rs", "absent", &[local::absent]),
    ("parties/local/mean.rs", "report", &[local::mean]),
    ("parties/local/coin.rs", "is_lie", &[local::lies]),
    ("parties/inner_product/mod.rs", "message", &[shared::flips]),
    ("parties/inner_product/mod.rs", "answer", &[shared::answers]),
    ("parties/sum/mod.rs", "shares", &[shared::sums]),
    ("parties/sum/ring.rs", "split", &[shared::splits]),
    ("workload/mwem.rs", "release", &[workloads::mwem_measures, workloads::mwem_picks]),
    ("workload/people.rs", "release", &[added::people]),
    ("workload/projection/mod.rs", "release", &[workloads::projection]),
    ("workload/psd/mod.rs", "release", &[workloads::pairs]),
    ("workload/residual.rs", "release", &[workloads::residual]),
    ("workload/small_table.rs", "release", &[questions::small_table]),
    ("workload/wide/marginals.rs", "release", &[workloads::wide_marginals]),
    ("workload/wide/synthetic/mod.rs", "release", &[workloads::wide_rows]),
    ("learn/distribution.rs", "estimate", &[learners::a_distribution]),
    ("learn/generic.rs", "release", &[learners::a_class]),
    ("learn/halfspace.rs", "learn", &[learners::a_halfspace]),
    ("learn/parity.rs", "release", &[learners::a_parity]),
    ("learn/parity.rs", "release_in_parts", &[learners::a_parity]),
    ("learn/point.rs", "learn", &[learners::a_point]),
    ("learn/threshold.rs", "learn", &[learners::a_threshold]),
];

/// Files that draw for others only: whose release shows what they draw.
const INSIDE: &[(&str, &str)] = &[
    ("mechanism/piecewise.rs", "quantile.rs, selection.rs and interior_point.rs draw by it"),
    ("mechanism/interior_point/fullest.rs", "mechanism/interior_point/tests.rs compares the whole law"),
    ("mechanism/interior_point/leaves.rs", "mechanism/interior_point/tests.rs compares the whole law"),
    ("mechanism/interior_point/recursion.rs", "mechanism/interior_point/tests.rs compares the whole law"),
    ("mechanism/quantile/median.rs", "mechanism/quantile/median/tests.rs compares the whole law"),
    ("learn/mod.rs", "generic.rs, halfspace.rs and threshold.rs choose by it"),
    ("learn/query/central.rs", "asks_are_noised_as_said compares an ask and a batch"),
    ("learn/query/local.rs", "asks_are_noised_as_said compares the bit of one owner"),
    ("learn/parity/elimination.rs", "learn/parity/tests.rs compares the whole law"),
];

fn compared(file: &str) {
    let mut checks: Vec<fn()> = Vec::new();
    for check in DRAWN.iter().filter(|(name, ..)| *name == file).flat_map(|(_, _, checks)| *checks) {
        if !checks.iter().any(|known| std::ptr::fn_addr_eq(*known, *check)) {
            checks.push(*check);
        }
    }
    assert!(!checks.is_empty(), "{file} is not in the table");
    checks.iter().for_each(|check| check());
}

macro_rules! compare {
    ($($test:ident: $file:literal,)*) => {
        $(#[test] fn $test() { compared($file); })*
        const FILES: &[&str] = &[$($file),*];
    };
}

compare! {
    additive: "mechanism/additive/release.rs",
    noise: "mechanism/additive.rs",
    anonymized_histogram: "mechanism/anonymized_histogram/mod.rs",
    listed_counts: "mechanism/anonymized_histogram/listed.rs",
    phases: "mechanism/anonymized_histogram/layout.rs",
    bounded_sensitivity: "mechanism/bounded_sensitivity.rs",
    cdf: "mechanism/cdf.rs",
    heavy_hitters: "mechanism/heavy_hitters/release.rs",
    histogram: "mechanism/histogram.rs",
    huge_domain: "mechanism/huge_domain.rs",
    interior_point: "mechanism/interior_point.rs",
    k_norm: "mechanism/k_norm.rs",
    propose_test_release: "mechanism/propose_test_release.rs",
    quantile: "mechanism/quantile.rs",
    quantile_thresholds: "mechanism/quantile/thresholds.rs",
    quantile_tree: "mechanism/quantile/tree.rs",
    randomized_response: "mechanism/randomized_response.rs",
    selection: "mechanism/selection.rs",
    obvious_answer: "mechanism/selection/obvious.rs",
    generalized_histogram: "mechanism/selection/top.rs",
    smooth: "mechanism/smooth/mod.rs",
    sparse_vector: "mechanism/sparse_vector.rs",
    stability: "mechanism/stability.rs",
    stable_value: "mechanism/stable_value.rs",
    conjunctions: "workload/conjunctions/mod.rs",
    interactive: "workload/interactive.rs",
    local_reports: "parties/local/mod.rs",
    local_means: "parties/local/mean.rs",
    local_lies: "parties/local/coin.rs",
    inner_products: "parties/inner_product/mod.rs",
    shared_sums: "parties/sum/mod.rs",
    splits: "parties/sum/ring.rs",
    mwem: "workload/mwem.rs",
    people: "workload/people.rs",
    projection: "workload/projection/mod.rs",
    pairs: "workload/psd/mod.rs",
    residual: "workload/residual.rs",
    small_table: "workload/small_table.rs",
    wide_marginals: "workload/wide/marginals.rs",
    wide_rows: "workload/wide/synthetic/mod.rs",
    learn_distribution: "learn/distribution.rs",
    learn_generic: "learn/generic.rs",
    learn_halfspace: "learn/halfspace.rs",
    learn_parity: "learn/parity.rs",
    learn_point: "learn/point.rs",
    learn_threshold: "learn/threshold.rs",
}

#[test]
fn asks_are_noised_as_said() {
    learners::asked_of_a_curator();
    learners::asked_of_owners();
}

#[test]
fn events_name_their_noise() {
    workloads::projection_events_name_their_noise();
}

#[test]
fn moves_are_those_of_the_worst_pairs() {
    moves::of_sums();
    moves::of_choices();
}

#[test]
fn a_replaced_owner_moves_two_keys() {
    chosen::a_replaced_owner_moves_two_keys();
}

/// The source files below a folder that are no tests, by their path in `src`.
fn sources(folder: &Path, root: &Path, found: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        if path.is_dir() && name != "tests" {
            sources(&path, root, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "law.rs" && name != "laws.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string();
            found.push((path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"), text));
        }
    }
}

/// The public functions of a source whose signature takes random bits.
fn drawing(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("pub fn ").map(|(start, _)| &text[start + 7..]);
    let signatures = starts.map(|rest| rest.split('{').next().unwrap_or_default());
    let drawing = signatures.filter(|signature| signature.contains("BitSource"));
    drawing.map(|signature| signature.split(['<', '(']).next().unwrap_or_default().to_string()).collect()
}

/// Functions that draw, and read what was published and nothing else: whatever comes out is post-processing, and has no
/// event.
const AFTERWARDS: [&str; 1] = ["mechanism/cdf/around.rs: around"];

/// Every public function of a mechanism, a workload or a learner that takes random bits, as `file: function`.
fn all_that_draw() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["mechanism", "parties", "workload", "learn"] {
        sources(&root.join(folder), &root, &mut files);
    }
    assert!(files.len() > 40, "{} files are not all of them", files.len());
    let mut found = BTreeSet::new();
    for (file, text) in &files {
        let functions = drawing(text);
        let is_inside = INSIDE.iter().any(|(name, _)| name == file);
        assert!(
            !functions.is_empty() || !text.contains("BitSource") || is_inside,
            "{file} takes random bits inside: compare what it draws, or say in INSIDE who does"
        );
        found.extend(functions.into_iter().map(|function| format!("{file}: {function}")));
    }
    for function in AFTERWARDS {
        assert!(found.remove(function), "{function} is not there any more");
    }
    found
}

/// A new mechanism, or a new way to draw from an old one, must be compared with its event here before it can land.
#[test]
fn nothing_draws_unseen() {
    let listed: BTreeSet<String> = DRAWN.iter().map(|(file, function, _)| format!("{file}: {function}")).collect();
    assert_eq!(all_that_draw(), listed, "the left draw in public, the right are compared");
    let run: BTreeSet<&str> = FILES.iter().copied().collect();
    let drawn: BTreeSet<&str> = DRAWN.iter().map(|(file, ..)| *file).collect();
    assert_eq!(run, drawn, "every line of the table has a test that runs it");
}

/// And it must be audited.
#[test]
fn nothing_draws_unaudited() {
    assert_eq!(all_that_draw(), audited::listed(), "the left draw in public, the right are audited (audited/mod.rs)");
}
