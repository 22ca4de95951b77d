//! For every kind of release and every form of cost: the events of the plan cost what was asked, in the scope that was
//! asked, and no less than they have to; and what is drawn is what the events say ([`drawn`]).
//!
//! Slips that asked for too much passed the suite (a δ that was not halved, ρ calibrated at the whole δ, a limit 5% too
//! high, several rows of an owner that were not charged as a person), because nobody added up the events of whole
//! plans. No data is needed for that.

mod drawn;

use crate::support::examples::{CostExample, in_order, kinds_without};
use scumble::event::{Event, Word};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use scumble_engine::budget::Odometer;
use scumble_engine::kinds::registry::KINDS;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use scumble_testing::tables::USUAL;
use std::path::Path;
use std::sync::LazyLock;

/// What can be asked of a plan.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    /// ε alone: the events' own δ is that of keys, and nothing is converted.
    Pure,
    /// ε at the δ of the cost, or of the budget.
    Approximate,
    Rho,
}

/// One release of a kind: its fields, which columns it reads, and how it is calibrated.
pub struct Case {
    pub kind: &'static str,
    pub fields: &'static str,
    /// Why the calibration is not continuous, so that no tightness is asked for; empty where it is.
    pub loose: &'static str,
    /// Whether keys or values are selected privately, which takes a δ.
    pub selects: bool,
    /// Whether the noise is pure (so that a cost of ε alone is met without δ); otherwise ε takes the budget's δ.
    pub pure: bool,
    pub rho: bool,
    pub attributes: &'static [&'static str],
    /// Whether it takes a cost for each of these.
    pub each: bool,
    /// Whether it takes no other cost than one per attribute.
    pub only_attributes: bool,
}

pub const SQL: Case = Case {
    kind: "sql",
    fields: "",
    loose: "",
    selects: false,
    pure: true,
    rho: true,
    attributes: &[],
    each: false,
    only_attributes: false,
};

/// One or more of each kind, from the kind's file in `tests/kinds`.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let all = in_order(|kind| &kind.cost, |example: &CostExample| example.order).into_iter();
    let case = |(kind, example): (&'static str, &'static CostExample)| Case {
        kind,
        fields: &example.fields,
        loose: &example.loose,
        selects: example.selects,
        pure: example.pure.0,
        rho: example.rho.0,
        attributes: example.attributes.iter().map(String::as_str).collect::<Vec<_>>().leak(),
        each: example.each,
        only_attributes: false,
    };
    all.map(case).collect()
});

/// What takes no other cost than one per attribute.
pub const ROBUST: Case = Case {
    kind: "learn",
    fields: "table = \"people\"\nconcept = \"robust-halfspace\"\nlabel = \"sex\"\npositive = \"f\"\ncolumns = [\"smokes\"]",
    rho: false,
    attributes: &["smokes", "sex"],
    only_attributes: true,
    ..SQL
};

/// The release that others are about.
pub const BASE: &str = "[[release]]\nname = \"base\"\nsql = \"SELECT day, COUNT(*) AS n FROM visits GROUP BY day\"\ncost = { epsilon = 1 }\n";

/// A plan of one release, made without data.
fn planned(fields: &str, kind: &str, cost: &str) -> PlannedRelease {
    let release = format!("[[release]]\nname = \"r\"\nkind = \"{kind}\"\n{fields}\n{cost}\n");
    let project = Project::parse(Path::new("scumble.toml"), &format!("{}{release}{BASE}", USUAL.declared())).unwrap();
    let runner = Runner::new(&project);
    runner.plan(&project.releases[0]).unwrap_or_else(|error| panic!("{kind} {fields} at {cost}: {error}"))
}

fn exact(number: &str) -> Exact {
    number.parse().unwrap()
}

fn attribute(name: &str) -> Scope {
    Scope::Attributes(AttributeSet::new([name]).unwrap())
}

/// What the events cost in the notion that was asked for; none if their own δ is more than was asked.
fn cost_of(events: &[Event], scope: &Scope, asked: Asked, delta: &Exact) -> Option<Exact> {
    let spent = Odometer::of(events, scope).unwrap();
    match asked {
        Asked::Pure => spent.pure_sum().filter(|_| spent.delta() <= delta),
        Asked::Approximate => spent.epsilon(delta),
        Asked::Rho => spent.rho(delta),
    }
}

/// Within what was asked in this scope, and tight to 1% unless it is said why not.
fn within(what: &str, events: &[Event], scope: &Scope, (asked, number): (Asked, &str), delta: &Exact) -> f64 {
    let limit = exact(number);
    let cost = cost_of(events, scope, asked, delta);
    let cost = cost.unwrap_or_else(|| panic!("{what}, {scope}: more δ than the {delta} that was asked for"));
    assert!(cost <= limit, "{what}, {scope}: costs {cost}, but {limit} was asked for");
    // Pure noise may cost less at a δ than the ε that it was calibrated to.
    let pure = cost_of(events, scope, Asked::Pure, delta).filter(|_| asked == Asked::Approximate);
    cost.to_f64().max(pure.map_or(0.0, |pure| pure.to_f64())) / limit.to_f64()
}

/// The forms of cost that a case can be given: how it is written, what it asks, and at which δ.
fn forms(case: &Case) -> Vec<(&'static str, (Asked, &'static str), &'static str)> {
    let approximate = |written, number, delta| (written, (Asked::Approximate, number), delta);
    let mut forms = vec![
        approximate("epsilon = 0.7, delta = 3e-6", "0.7", "3e-6"),
        approximate("epsilon = 4, delta = 1e-7", "4", "1e-7"),
    ];
    match (case.pure, case.selects) {
        (true, false) => forms.push(("epsilon = 0.7", (Asked::Pure, "0.7"), "0")),
        // A hundredth of the budget's δ is for keys.
        (true, true) => forms.push(("epsilon = 0.7", (Asked::Pure, "0.7"), "1e-6")),
        (false, _) => forms.push(approximate("epsilon = 0.7", "0.7", "1e-4")),
    }
    if case.rho {
        forms.push(("rho = 0.03", (Asked::Rho, "0.03"), if case.selects { "1e-6" } else { "0" }));
        if case.selects {
            forms.push(("rho = 0.03, delta = 1e-9", (Asked::Rho, "0.03"), "1e-9"));
        }
    }
    forms
}

#[test]
fn plans_cost_what_was_asked_in_the_scope_that_was_asked() {
    for case in CASES.iter() {
        for (written, asked, delta) in forms(case) {
            let delta = exact(delta);
            for scope in [Scope::Presence, Scope::Person] {
                let plan = planned(case.fields, case.kind, &format!("cost = {{ {written}, scope = \"{scope}\" }}"));
                let what = format!("{} {} at {written}", case.kind, case.fields);
                let spent = within(&what, &plan.plan.events, &scope, asked, &delta);
                // Heavy hitters: the whole search is over whole numbers, yet nothing may be wasted by half.
                let least = if case.loose.is_empty() { 0.99 } else { 0.5 };
                assert!(spent >= least, "{what}, {scope}: only {spent} of the cost is used; {}", case.loose);
            }
            if case.attributes.is_empty() {
                continue;
            }
            per_attribute(case, written, asked, &delta);
        }
    }
}

/// The worst of the attributes uses the cost up.
fn per_attribute(case: &Case, written: &str, asked: (Asked, &str), delta: &Exact) {
    let plan = planned(case.fields, case.kind, &format!("cost = {{ {written}, scope = \"attribute\" }}"));
    let what = format!("{} {} at {written} per attribute", case.kind, case.fields);
    let spent = case.attributes.iter().map(|name| within(&what, &plan.plan.events, &attribute(name), asked, delta));
    let most = spent.fold(0.0, f64::max);
    assert!(most >= if case.loose.is_empty() { 0.99 } else { 0.5 }, "{what}: only {most} of the cost is used");
}

/// A robust halfspace: each attribute costs what was asked, and so does one with a cost of its own; a change of both is
/// charged both.
#[test]
fn a_robust_halfspace_costs_each_attribute_what_was_asked() {
    for (written, asked, delta) in forms(&ROBUST) {
        per_attribute(&ROBUST, written, asked, &exact(delta));
    }
    let fields = format!("{}\nattribute_costs = {{ sex = 3 }}", ROBUST.fields);
    let plan = planned(&fields, "learn", "cost = { epsilon = 0.5, scope = \"attribute\" }");
    let pays = |scope: &Scope| cost_of(&plan.plan.events, scope, Asked::Pure, &Exact::zero()).unwrap().to_f64();
    let both = pays(&Scope::Attributes(AttributeSet::new(["smokes", "sex"]).unwrap()));
    assert!(pays(&attribute("smokes")) <= 0.5 && pays(&attribute("smokes")) > 0.499);
    assert!(pays(&attribute("sex")) <= 3.0 && pays(&attribute("sex")) > 2.999);
    assert!((both - pays(&attribute("smokes")) - pays(&attribute("sex"))).abs() < 1e-9 && both <= pays(&Scope::Person));
}

/// Costs of single attributes where a kind takes them, each within its own.
#[test]
fn attributes_cost_what_was_asked_for_each() {
    for case in CASES.iter().filter(|case| case.each) {
        let (first, second) = (case.attributes[0], case.attributes[1]);
        let costs = "cost = { rho = 0.05, scope = \"attribute\" }";
        let fields = format!("{}\nattribute_costs = {{ {first} = 0.01, {second} = 0.2 }}", case.fields);
        let plan = planned(&fields, case.kind, costs);
        let delta = exact(if case.selects { "1e-6" } else { "0" });
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for name in case.attributes {
            let own = if *name == first {
                "0.01"
            } else if *name == second {
                "0.2"
            } else {
                "0.05"
            };
            let spent = within(&fields, &plan.plan.events, &attribute(name), (Asked::Rho, own), &delta);
            (least, most) = (least.min(spent), most.max(spent));
        }
        // Noise was scaled to the strictest attribute. Only residuals have noise for each set of attributes.
        assert!(
            least > 0.99 || !fields.contains("residual"),
            "{fields}: an attribute gets {least} of what it was granted"
        );
        assert!(most > if case.loose.is_empty() { 0.99 } else { 0.5 }, "{fields}: only {most} of the cost is used");
    }
}

/// Owners with several rows: one row counts, and another value of one attribute may mean another row. Charging the
/// attribute alone passed.
#[test]
fn with_several_rows_each_attribute_is_charged_as_a_person() {
    for (kind, fields) in [
        ("heavy-hitters", "table = \"visits\"\ncolumns = [\"day\", \"sex\"]"),
        ("marginals", "table = \"visits\"\ncolumns = [\"day\", \"sex\"]\nmethod = \"residual\""),
        ("synthetic", "table = \"visits\"\ncolumns = [\"day\", \"sex\"]\nmethod = \"projection\""),
        ("conjunctions", "table = \"visits\"\ncolumns = [\"day > 3\", \"sex = f\"]\nwidth = 2"),
    ] {
        let plan = planned(fields, kind, "cost = { rho = 0.03, scope = \"person\" }");
        let rho = |scope: &Scope| cost_of(&plan.plan.events, scope, Asked::Rho, &Exact::zero()).unwrap();
        for name in ["day", "sex"] {
            assert_eq!(rho(&attribute(name)), rho(&Scope::Person), "{kind}: {name} alone can bring in another row");
        }
    }
    // Asked per attribute, the cost is that of a person.
    let fields = "table = \"visits\"\ncolumns = [\"day\", \"sex\"]";
    let plan = planned(fields, "heavy-hitters", "cost = { epsilon = 1, scope = \"attribute\" }");
    for scope in [attribute("day"), attribute("sex"), Scope::Person] {
        let spent =
            within("heavy hitters of several rows", &plan.plan.events, &scope, (Asked::Pure, "1"), &Exact::zero());
        assert!(spent > 0.5, "{scope}: {spent}");
    }
}

/// An accuracy is a noise that keeps it, and hardly a smaller one.
fn laplace(kind: &Word) -> Option<f64> {
    if let Word::DiscreteLaplace { scale } = kind { Some(scale.get()) } else { None }
}

#[test]
fn an_accuracy_is_kept_and_not_bettered() {
    for (kind, fields, step) in [
        ("sql", r#"sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex""#, 1.0),
        ("sql", r#"sql = "SELECT SUM(income) AS s FROM people""#, 0.5),
        ("sql", r#"sql = "SELECT town, COUNT(*) AS n FROM people GROUP BY town""#, 1.0),
        ("histogram", "table = \"visits\"\ncolumn = \"day\"", 1.0),
    ] {
        let plan = planned(fields, kind, "accuracy = { within = 40, confidence = 0.95 }");
        let noises: Vec<f64> = plan
            .plan
            .events
            .iter()
            .filter_map(|event| match event.word() {
                Word::NewKeys(keys) => laplace(keys.noise()),
                kind => laplace(kind),
            })
            .collect();
        assert!(!noises.is_empty(), "{fields}: {:?}", &plan.plan.events);
        for scale in noises {
            // P[|Z| > q] = 2·r^{q+1}/(1+r), r = e^{−1/scale}.
            let beyond = |scale: f64| {
                let r = (-1.0 / scale).exp();
                2.0 * r.powf(40.0 / step + 1.0) / (1.0 + r)
            };
            assert!(beyond(scale) <= 0.05 * (1.0 + 1e-9), "{fields}: off by more with {}", beyond(scale));
            assert!(beyond(scale * 1.01) > 0.05, "{fields}: scale {scale} is too small");
        }
    }
}

/// A kind is compared with what was asked, and what it draws with what its events say: by a test of its name in
/// `drawn`, or by one of this name in the kind's own file. A count without noise costs nothing that could be asked for.
#[test]
fn every_kind_has_a_case() {
    let own = "fn what_is_drawn_is_what_the_events_say()";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = |folder: &Path| -> String { rust_files(folder).into_iter().map(|(_, text)| text).collect() };
    let drawn = sources(&folder.join("tests/it/costs"));
    let missing = kinds_without(|kind| !kind.cost.is_empty());
    assert_eq!(missing, ["exact-count"], "no release of these kinds is compared with its cost");
    for kind in KINDS.iter().filter(|kind| !missing.contains(&kind.name)) {
        let name = kind.name.replace('-', "_");
        let is_own = |(path, text): &(String, String)| path.starts_with(&name) && text.contains(own);
        let test = format!("#[test]\nfn {name}");
        assert!(
            drawn.contains(&test) || rust_files(&folder.join("src/kinds")).iter().any(is_own),
            "nothing compares what {} draws with its events",
            kind.name
        );
    }
}

/// The Rust files of a folder and those in it, by their paths in it, with their texts.
fn rust_files(folder: &Path) -> Vec<(String, String)> {
    fn walk(folder: &Path, before: &str, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => walk(&entry.path(), &format!("{name}/"), found),
                false if name.ends_with(".rs") => found.push((name, std::fs::read_to_string(entry.path()).unwrap())),
                false => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, "", &mut found);
    found
}
