//! Pictures of the documentation, drawn from what plans say.

use scumble_chart::{Axis, LineChart, Series};
use scumble_engine::project::Project;
use scumble_engine::release::Runner;
use std::fs;

const GRAPH: &str = "[dataset.friends]\nsource = \"edges.csv\"\ngraph = { from = \"a\", to = \"b\", vertices = 200000 }\n\
    [dataset.friends.columns]\na = { type = \"int\" }\nb = { type = \"int\" }\n";

/// The standard errors that the plan of a release expects: smooth, bounded, propose–test–release, and noise for the
/// worst graph.
fn errors(epsilon: f64) -> [f64; 4] {
    let plan = |method: &str| {
        let release = format!(
            "[[release]]\nname = \"r\"\nkind = \"triangles\"\ntable = \"friends\"\n{method}\ncost = {{ epsilon = {epsilon}, delta = 1e-6, scope = \"presence\" }}\n"
        );
        let project = Project::parse(std::path::Path::new("scumble.toml"), &format!("{GRAPH}{release}")).unwrap();
        Runner::new(&project).plan(&project.releases[0]).unwrap().plan
    };
    let said = plan("method = \"smooth\"").notes.concat();
    let after = |word: &str| -> f64 {
        let rest = said.split(word).nth(1).unwrap_or_else(|| panic!("no '{word}' in {said}"));
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.trim_end_matches('.').parse().unwrap()
    };
    let proposed = plan("method = \"propose-test-release\"\nproposed = 200").expected[0].standard_error.unwrap();
    [after("smooth "), after("bounded "), proposed, after("of 200000 vertices: ")]
}

/// `SCUMBLE_UPDATE=1 cargo test -p scumble-engine --test it pictures` draws it.
#[test]
fn triangles_error_against_epsilon() {
    let points: Vec<(f64, [f64; 4])> = (0..=16)
        .map(|step| 0.1 * 10f64.powf(f64::from(step) / 8.0))
        .map(|epsilon| (epsilon, errors(epsilon)))
        .collect();
    for (epsilon, [smooth, bounded, proposed, worst]) in &points {
        assert!(
            smooth < worst && bounded < worst && proposed < worst,
            "{epsilon}: {smooth} {bounded} {proposed} {worst}"
        );
    }
    let line = |name: &str, index: usize| {
        Series::new(name, points.iter().map(|(epsilon, errors)| (*epsilon, errors[index])).collect())
    };
    let picture = LineChart::new("Triangles of 200,000 vertices: standard error against ε (δ = 1e-6)")
        .x(Axis::log("ε"))
        .y(Axis::log("standard error, triangles"))
        .line(line("noise for the worst graph", 3))
        .line(line("smooth, 100 common neighbours", 0))
        .line(line("bounded, 100 common neighbours", 1))
        .line(line("propose–test–release, 200 proposed", 2))
        .to_svg();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/triangles.svg");
    if std::env::var_os("SCUMBLE_UPDATE").is_some() {
        fs::write(path, &picture).unwrap();
    }
    assert_eq!(
        fs::read_to_string(path).unwrap_or_default(),
        picture,
        "docs/pictures/triangles.svg is not what plans say"
    );
}
