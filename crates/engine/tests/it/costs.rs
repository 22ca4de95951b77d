//! For every kind of release and every form of cost: the events of the plan cost what was asked, in the scope that was asked, and no less
//! than they have to; and what is drawn is what the events say ([`drawn`]).
//!
//! Slips that asked for too much passed the suite (a δ that was not halved, ρ calibrated at the whole δ, a limit 5% too high, several rows
//! of an owner that were not charged as a person), because nobody added up the events of whole plans. No data is needed for that.

mod drawn;

use scumble::event::{Event, Word};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use scumble_engine::budget::Odometer;
use scumble_engine::kinds::registry::KINDS;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, Runner};
use scumble_testing::tables::USUAL;
use std::collections::BTreeSet;

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
    only_attributes: false,
};

/// At least one of each kind; [`every_kind_has_a_case`] sees to it.
pub const CASES: &[Case] = &[
    Case { fields: r#"sql = "SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY sex""#, ..SQL },
    Case {
        fields: r#"sql = "SELECT AVG(income) AS a, MEDIAN(age) AS m, COUNT(*) AS n FROM people WHERE smokes""#,
        ..SQL
    },
    Case { fields: r#"sql = "SELECT day, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY day""#, ..SQL },
    Case { fields: r#"sql = "SELECT town, COUNT(*) AS n FROM people GROUP BY town""#, selects: true, ..SQL },
    Case {
        fields: r#"sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic""#,
        selects: true,
        ..SQL
    },
    Case {
        fields: "sql = \"SELECT day, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY day\"\nbounding_report = { share = 0.3 }",
        ..SQL
    },
    Case {
        fields: "sql = \"SELECT clinic, COUNT(*) AS n, MEDIAN(cost) AS m FROM visits GROUP BY clinic\"\nbounding_report = { share = 0.05 }",
        selects: true,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT day AS k, COUNT(*) AS n FROM visits GROUP BY day UNION ALL SELECT age, SUM(income) FROM people GROUP BY ROLLUP (age) UNION ALL SELECT 0, MEDIAN(age) FROM people""#,
        ..SQL
    },
    Case {
        fields: r#"sql = "SELECT town AS k, COUNT(*) AS n FROM people GROUP BY town UNION ALL SELECT clinic, SUM(cost) FROM visits GROUP BY clinic""#,
        selects: true,
        ..SQL
    },
    Case { fields: r#"sql = "SELECT DISTINCT town FROM people WHERE smokes""#, selects: true, ..SQL },
    Case { fields: r#"sql = "SELECT DISTINCT clinic, day FROM visits""#, selects: true, ..SQL },
    Case {
        fields: "sql = \"SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM people WHERE smokes GROUP BY sex\"\nnoise = \"joint\"",
        rho: false,
        ..SQL
    },
    Case {
        fields: "sql = \"SELECT day, COUNT(DISTINCT id) AS o, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY day\"\nnoise = \"joint\"",
        rho: false,
        ..SQL
    },
    Case { kind: "top", fields: "table = \"people\"\ncolumn = \"age\"\nnumber = 3", ..SQL },
    Case { kind: "top", fields: "table = \"visits\"\ncolumn = \"day\"\nnumber = 2\nmethod = \"gap\"", ..SQL },
    Case { kind: "top", fields: "table = \"visits\"\ncolumn = \"clinic\"\nnumber = 7", selects: true, ..SQL },
    Case {
        kind: "top",
        fields: "table = \"visits\"\ncolumn = \"clinic\"\nnumber = 3\nmethod = \"counts\"",
        selects: true,
        ..SQL
    },
    Case {
        kind: "top",
        fields: "table = \"visits\"\ncolumn = \"clinic\"\nlead = 30000\nmax_bytes = 16\nmethod = \"gap\"",
        rho: false,
        ..SQL
    },
    Case { kind: "histogram", fields: "table = \"visits\"\ncolumn = \"clinic\"\nmax_bytes = 9", rho: false, ..SQL },
    Case { kind: "bounds", fields: "for = \"base\"", ..SQL },
    Case { kind: "histogram", fields: "table = \"people\"\ncolumns = [\"age\", \"sex\"]", ..SQL },
    Case { kind: "histogram", fields: "table = \"visits\"\ncolumn = \"clinic\"", selects: true, ..SQL },
    Case { kind: "cdf", fields: "table = \"people\"\ncolumn = \"age\"", ..SQL },
    Case { kind: "cdf", fields: "table = \"visits\"\ncolumn = \"cost\"", ..SQL },
    Case { kind: "quantiles", fields: "table = \"people\"\ncolumn = \"income\"\nquantiles = [0.1, 0.5, 0.75]", ..SQL },
    Case { kind: "quantiles", fields: "table = \"visits\"\ncolumn = \"cost\"\nquantiles = [0.5]", ..SQL },
    Case { kind: "anonymized-histogram", fields: "table = \"people\"\ncolumn = \"town\"", rho: false, ..SQL },
    Case { kind: "anonymized-histogram", fields: "table = \"visits\"\ncolumn = \"clinic\"", rho: false, ..SQL },
    Case {
        kind: "anonymized-histogram",
        fields: "table = \"people\"\ncolumn = \"town\"\nat_most = 1000",
        rho: false,
        ..SQL
    },
    // Few listed values, and owners with few rows: each cell has noise, as in a histogram.
    Case {
        kind: "anonymized-histogram",
        fields: "table = \"people\"\ncolumns = [\"age\", \"sex\"]",
        rho: false,
        ..SQL
    },
    Case {
        kind: "anonymized-histogram",
        fields: "table = \"visits\"\ncolumn = \"day\"\nat_most = 100000",
        rho: false,
        ..SQL
    },
    Case {
        kind: "anonymized-histogram",
        fields: "table = \"once\"\ncolumn = \"id\"\nat_most = 100000",
        rho: false,
        ..SQL
    },
    Case {
        kind: "anonymized-histogram",
        fields: "table = \"people\"\ncolumn = \"sex\"\nlayout = \"rows-and-columns\"",
        rho: false,
        ..SQL
    },
    Case {
        kind: "marginals",
        fields: "table = \"people\"\ncolumns = [\"age\", \"sex\", \"smokes\"]\nmethod = \"residual\"",
        pure: false,
        attributes: &["age", "sex", "smokes"],
        ..SQL
    },
    Case {
        kind: "marginals",
        fields: "table = \"people\"\ncolumns = [\"age\", \"sex\"]\nmethod = \"projection\"",
        pure: false,
        attributes: &["age", "sex"],
        ..SQL
    },
    Case {
        kind: "marginals",
        fields: "table = \"once\"\ncolumns = [\"day\", \"sex\"]\nmethod = \"mwem\"\nrounds = 3",
        pure: false,
        attributes: &["day", "sex"],
        ..SQL
    },
    Case {
        kind: "marginals",
        fields: "table = \"people\"\ncolumns = [\"sex\", \"smokes\"]\nmissing = \"never\"\nmethod = \"psd\"",
        pure: false,
        attributes: &["sex", "smokes"],
        ..SQL
    },
    Case {
        kind: "conjunctions",
        fields: "table = \"people\"\ncolumns = [\"sex = f\", \"smokes\", \"age >= 5\", \"age < 2\"]\nwidth = 3",
        pure: false,
        attributes: &["sex", "smokes", "age"],
        ..SQL
    },
    Case {
        kind: "conjunctions",
        fields: "table = \"once\"\ncolumns = [\"sex = f\", \"day = 0\"]\nwidth = 2\nmeasure = \"counts\"",
        pure: false,
        attributes: &["sex", "day"],
        ..SQL
    },
    Case {
        kind: "synthetic",
        fields: "table = \"people\"\ncolumns = [\"age\", \"sex\", \"smokes\"]\nmethod = \"residual\"",
        pure: false,
        attributes: &["age", "sex", "smokes"],
        ..SQL
    },
    Case {
        kind: "heavy-hitters",
        fields: "table = \"people\"\ncolumns = [\"age\", \"sex\", \"smokes\"]",
        loose: "clip depths and thresholds are whole numbers",
        attributes: &["age", "sex", "smokes"],
        ..SQL
    },
    Case {
        kind: "heavy-hitters",
        fields: "table = \"people\"\ncolumns = [\"town\", \"sex\"]",
        loose: "clip depths and thresholds are whole numbers",
        selects: true,
        attributes: &["town", "sex"],
        ..SQL
    },
];

const SIXTEENTHS: &str = "scales of smooth noise are multiples of 1/16, of which the worst level decides";

/// Kinds beyond the worst-case sensitivity.
pub const BEYOND: &[Case] = &[
    Case {
        kind: "triangles",
        fields: "table = \"friends\"\nmethod = \"smooth\"",
        loose: SIXTEENTHS,
        rho: false,
        ..SQL
    },
    Case { kind: "triangles", fields: "table = \"calls\"\nmethod = \"smooth\"", loose: SIXTEENTHS, rho: false, ..SQL },
    Case {
        kind: "triangles",
        fields: "table = \"calls\"\nmethod = \"smooth\"\nfamily = \"discrete-laplace\"",
        loose: SIXTEENTHS,
        rho: false,
        selects: true,
        ..SQL
    },
    Case { kind: "triangles", fields: "table = \"friends\"\nmethod = \"bounded\"", rho: false, selects: true, ..SQL },
    Case { kind: "triangles", fields: "table = \"calls\"\nmethod = \"bounded\"", rho: false, selects: true, ..SQL },
    Case {
        kind: "triangles",
        fields: "table = \"friends\"\nmethod = \"auto\"",
        loose: SIXTEENTHS,
        rho: false,
        selects: true,
        ..SQL
    },
    Case {
        kind: "triangles",
        fields: "table = \"calls\"\nmethod = \"propose-test-release\"\nproposed = 40",
        rho: false,
        selects: true,
        ..SQL
    },
    Case { kind: "degrees", fields: "table = \"friends\"", rho: false, ..SQL },
    Case { kind: "degrees", fields: "table = \"calls\"\nat_most = 1000", rho: false, ..SQL },
    Case { kind: "mode", fields: "table = \"people\"\ncolumn = \"town\"", rho: false, selects: true, ..SQL },
    Case { kind: "mode", fields: "table = \"visits\"\ncolumn = \"day\"", rho: false, selects: true, ..SQL },
    Case {
        kind: "learn",
        fields: "table = \"people\"\nconcept = \"threshold\"\nlabel = \"smokes\"\ncolumns = [\"age\"]",
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"visits\"\nconcept = \"point\"\nlabel = \"sex\"\npositive = \"f\"\ncolumns = [\"day\"]",
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"people\"\nconcept = \"conjunction\"\nlabel = \"smokes\"\ncolumns = [\"age\", \"sex\"]",
        attributes: &["age", "sex", "smokes"],
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"once\"\nconcept = \"point\"\nlabel = \"sex\"\npositive = \"f\"\ncolumns = [\"day\"]",
        loose: "per attribute, clip depths and thresholds are whole numbers",
        attributes: &["day", "sex"],
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"people\"\nconcept = \"parity\"\nlabel = \"sex\"\npositive = \"f\"\ncolumns = [\"smokes\"]",
        rho: false,
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"people\"\nconcept = \"distribution\"\ncolumns = [\"sex\", \"age\", \"smokes\"]",
        attributes: &["sex", "age", "smokes"],
        ..SQL
    },
    Case {
        kind: "learn",
        fields: "table = \"visits\"\nconcept = \"distribution\"\ncolumns = [\"day\", \"sex\"]",
        ..SQL
    },
    Case {
        kind: "exact-if-stable",
        fields: "table = \"people\"\nwhere = \"age > 3\"\nat_least = 100",
        rho: false,
        selects: true,
        ..SQL
    },
    Case { kind: "exact-if-stable", fields: "table = \"visits\"\nrounded_to = 1000", rho: false, selects: true, ..SQL },
    Case {
        kind: "exact-if-stable",
        fields: "sql = \"SELECT day, COUNT(*) FROM visits WHERE cost > 3 GROUP BY day\"\nat_least = 100",
        rho: false,
        selects: true,
        ..SQL
    },
    Case {
        kind: "exact-if-stable",
        fields: "sql = \"SELECT clinic, COUNT(cost) FROM visits GROUP BY clinic\"\nrounded_to = 100",
        rho: false,
        selects: true,
        ..SQL
    },
    Case {
        kind: "exact-if-stable",
        fields: "sql = \"SELECT clinic, COUNT(DISTINCT id) FROM visits GROUP BY clinic\"\nlargest = true",
        rho: false,
        selects: true,
        ..SQL
    },
    Case {
        kind: "quantiles",
        fields: "table = \"people\"\ncolumn = \"income\"\nquantiles = [0.1, 0.5]\nmethod = \"smooth\"",
        loose: SIXTEENTHS,
        rho: false,
        ..SQL
    },
    Case {
        kind: "quantiles",
        fields: "table = \"people\"\ncolumn = \"income\"\nquantiles = [0.1, 0.5]\nmethod = \"smooth\"\nfamily = \"discrete-gaussian\"",
        loose: SIXTEENTHS,
        rho: false,
        selects: true,
        ..SQL
    },
    Case {
        kind: "quantiles",
        fields: "table = \"visits\"\ncolumn = \"cost\"\nquantiles = [0.5]\nmethod = \"smooth\"",
        loose: SIXTEENTHS,
        rho: false,
        ..SQL
    },
    Case {
        kind: "small-table",
        fields: "table = \"once\"\ncolumns = [\"sex\"]\nmissing = \"never\"",
        rho: false,
        ..SQL
    },
    Case {
        kind: "interactive",
        fields: "table = \"visits\"\ncolumns = [\"day\", \"sex\"]\npeople = 5000",
        rho: false,
        ..SQL
    },
];

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
    let project =
        Project::parse(std::path::Path::new("scumble.toml"), &format!("{}{release}{BASE}", USUAL.declared())).unwrap();
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
    for case in CASES.iter().chain(BEYOND) {
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

/// A robust halfspace: each attribute costs what was asked, and so does one with a cost of its own; a change of both is charged both.
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
    for case in CASES.iter().filter(|case| case.attributes.len() > 1) {
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

/// Owners with several rows: one row counts, and another value of one attribute may mean another row. Charging the attribute alone passed.
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

/// The next kind must have a case above; a count without noise costs nothing that could be asked for.
#[test]
fn every_kind_has_a_case() {
    let kinds: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).filter(|name| *name != "exact-count").collect();
    assert_eq!(kinds, CASES.iter().chain(BEYOND).map(|case| case.kind).collect::<BTreeSet<&str>>());
    assert_eq!(kinds, drawn::KINDS.iter().copied().collect::<BTreeSet<&str>>());
}
