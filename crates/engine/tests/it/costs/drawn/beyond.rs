//! Kinds whose noise follows the data, and those that say a value exactly or nothing.

use super::*;
use scumble::calibrate::Target;
use scumble::event::NoiseFamily;
use scumble::mechanism::smooth::{OwnerSteps, SmoothMechanism};
use scumble::noise::Levels;

const ENDS: &str = "a = { type = \"int\" }\nb = { type = \"int\" }\n[dataset.t.graph]\nfrom = \"a\"\nto = \"b\"";

/// Each of these is true with its own probability; different coins are more concentrated than as many equal ones of the
/// mean probability (Hoeffding 1956).
fn coins(what: &str, drawn: impl IntoIterator<Item = bool>, claimed: f64, slipped: f64) {
    let law = |chance: f64| BTreeMap::from([(true, chance), (false, 1.0 - chance)]);
    outcomes(what, drawn, &law(claimed), &law(slipped));
}

/// The level of a table whose bounds are min(k/2, most): that of a graph without an edge.
fn level_of_nothing(table: &Levels, most: u64) -> u32 {
    table.smooth(|k| (k / 2).min(most))
}

/// A graph without an edge: what is published is the noise of its level.
#[test]
fn triangles_with_smooth_noise() {
    let request = "kind = \"triangles\"\ntable = \"t\"\nmethod = \"smooth\"\ncost = { epsilon = 2 }";
    let (events, answers) = released(&format!("{ENDS}\nvertices = 60"), "a,b\n", request, 140, 21);
    let Word::SmoothNoise(noise) = events[0].word() else { panic!("{events:?}") };
    let table = noise.table().unwrap();
    let scale = table.scale(level_of_nothing(&table, 58)).get();
    let within = |scale: f64, q: i64| {
        let weight = |z: i64| 1.0 / (1.0 + (z as f64 / scale).powi(4));
        (-q..=q).map(weight).sum::<f64>() / (-20_000..=20_000).map(weight).sum::<f64>()
    };
    let q = (0.55 * scale) as i64;
    let drawn = answers.iter().flat_map(|answers| numbers(answers, "triangles")).map(|z| (z as i64).abs() <= q);
    coins("smooth triangles", drawn, within(scale, q), within(0.35 * scale, q));
}

/// The same by the other families, whose events say the (ε, δ) that their noise was made for.
#[test]
fn triangles_with_other_smooth_noise() {
    for (family, seed) in [(NoiseFamily::DiscreteLaplace, 31), (NoiseFamily::DiscreteGaussian, 32)] {
        let request = format!(
            "kind = \"triangles\"\ntable = \"t\"\nmethod = \"smooth\"\nfamily = \"{}\"\ncost = {{ epsilon = 2, delta = 1e-3 }}",
            family.name()
        );
        let (events, answers) = released(&format!("{ENDS}\nvertices = 20"), "a,b\n", &request, 140, seed);
        let Word::Approximate { epsilon, delta } = events[0].word() else { panic!("{events:?}") };
        let smooth = SmoothMechanism::within(
            Target::Approximate(*epsilon, *delta),
            Scope::Presence,
            &OwnerSteps::one(),
            family,
            18,
        )
        .unwrap();
        let table = smooth.noise().table().unwrap();
        let scale = table.scale(level_of_nothing(&table, 18)).get();
        let within = |scale: f64, q: i64| {
            let weight = |z: i64| match family {
                NoiseFamily::DiscreteLaplace => (-(z.abs() as f64) / scale).exp(),
                _ => (-(z as f64 / scale).powi(2) / 2.0).exp(),
            };
            (-q..=q).map(weight).sum::<f64>() / (-20_000..=20_000).map(weight).sum::<f64>()
        };
        let q = (0.7 * scale) as i64;
        let drawn = answers.iter().flat_map(|answers| numbers(answers, "triangles")).map(|z| (z as i64).abs() <= q);
        coins("smooth triangles", drawn, within(scale, q), within(0.3 * scale, q));
    }
}

/// Two triangles that share an edge. The bound is published: the answer has noise for it.
#[test]
fn triangles_with_bounded_sensitivity() {
    let request = "kind = \"triangles\"\ntable = \"t\"\nmethod = \"bounded\"\ncost = { epsilon = 2, delta = 1e-4 }";
    let rows = "a,b\n0,1\n1,2\n2,0\n3,0\n3,1\n";
    let (events, answers) = released(&format!("{ENDS}\nvertices = 60"), rows, request, 120, 22);
    let Word::Pure { epsilon } = events[1].word() else { panic!("{events:?}") };
    let (mut drawn, mut claimed, mut slipped) = (Vec::new(), 0.0, 0.0);
    for answers in &answers {
        let [value, bound] = ["triangles", "sensitivity_bound"].map(|name| numbers(answers, name).next().unwrap());
        assert!(bound >= 2.0);
        let scale = bound / epsilon.get();
        let q = (0.7 * scale).floor();
        // P[|Z| ≤ q] = 1 − 2·r^{q+1}/(1+r), r = e^{−1/scale}.
        let within = |scale: f64| 1.0 - 2.0 * (-(q + 1.0) / scale).exp() / (1.0 + (-1.0 / scale).exp());
        (claimed, slipped) = (claimed + within(scale) / 120.0, slipped + within(0.25 * scale) / 120.0);
        drawn.push((value - 2.0).abs() <= q);
    }
    coins("bounded triangles", drawn, claimed, slipped);
}

/// The ends of edges of a few hubs whose degrees are forty apart, as for the kind anonymized-histogram.
#[test]
fn degrees() {
    let leaves = (1..=25usize).flat_map(|hub| std::iter::repeat_n(hub - 1, 40 * hub));
    let rows: String = leaves.enumerate().map(|(leaf, hub)| format!("{hub},{}\n", 25 + leaf)).collect();
    let request = "kind = \"degrees\"\ntable = \"t\"\nat_most = 13000\ncost = { epsilon = 2 }";
    let (events, answers) = released(&format!("{ENDS}\nvertices = 13025"), &format!("a,b\n{rows}"), request, 60, 23);
    let mut drawn = Vec::new();
    for answers in &answers {
        let pairs = numbers(answers, "degree").zip(numbers(answers, "how_many"));
        let mut found: Vec<i64> =
            pairs.flat_map(|(degree, vertices)| std::iter::repeat_n(degree as i64, vertices as usize)).collect();
        found.sort_unstable_by(|left, right| right.cmp(left));
        drawn.extend(found.iter().zip((6..=25).rev()).map(|(degree, hub)| degree - 40 * hub));
    }
    assert_eq!(drawn.len(), 1200);
    as_said("degrees", &drawn, &events[0], 0.6);
}

/// π(k + 1) = min(e^ε·π(k) + δ, 1 − e^{−ε}(1 − π(k) − δ), 1) of the event.
fn chance(event: &Event, slip: f64, distance: u32) -> f64 {
    let Word::Approximate { epsilon, delta } = event.word() else { panic!("{event:?}") };
    let (epsilon, delta) = (epsilon.get() / slip, delta.get());
    (0..distance).fold(0.0f64, |chance, _| {
        (epsilon.exp() * chance + delta).min(1.0 - (-epsilon).exp() * (1.0 - chance - delta)).min(1.0)
    })
}

/// Fourteen rows more of one value than of the other: seven replaced ones make it another mode.
#[test]
fn mode() {
    let request = "kind = \"mode\"\ntable = \"t\"\ncolumn = \"x\"\ncost = { epsilon = 1, delta = 2e-3 }";
    let rows = format!("x\n{}{}", "1\n".repeat(16), "0\n".repeat(2));
    let (events, answers) = released(&whole_numbers(1), &rows, request, 100, 24);
    let drawn = answers.iter().map(|answers| {
        let found = numbers(answers, "x").next();
        assert!(found.is_none_or(|found| found == 1.0));
        found.is_some()
    });
    // The rival comes first and wins ties.
    coins("mode", drawn, chance(&events[0], 1.0, 7), chance(&events[0], 0.5, 7));
}

/// Twenty rows; seven must go until there are fewer than fourteen.
#[test]
fn exact_if_stable() {
    let request = "kind = \"exact-if-stable\"\ntable = \"t\"\nat_least = 14\ncost = { epsilon = 1, delta = 2e-3 }";
    let (events, answers) = released(&whole_numbers(1), &format!("x\n{}", "1\n".repeat(20)), request, 100, 25);
    let drawn = answers.iter().map(|answers| {
        let cell = &answers.columns[0].cells[0];
        assert!([Cell::Null, Cell::Truth(true)].contains(cell), "{cell:?}");
        *cell != Cell::Null
    });
    coins("exact if stable", drawn, chance(&events[0], 1.0, 7), chance(&events[0], 0.5, 7));
}

/// The same for a query, for a key and for the key with the largest count: twenty rows of one key and six of the other;
/// one row moves both keys (a person) or one (presence).
#[test]
fn exact_if_stable_of_keys() {
    let rows = format!("x\n{}{}", "1\n".repeat(20), "0\n".repeat(6));
    let query = "kind = \"exact-if-stable\"\nsql = \"SELECT x, COUNT(*) FROM t GROUP BY x\"\n";
    // In presence an owner moves one of the keys: twenty rows are seven from fewer than fourteen.
    let each = "at_least = 14\ncost = { epsilon = 1, delta = 2e-3, scope = \"presence\" }";
    let (events, answers) = released(&whole_numbers(1), &rows, &format!("{query}{each}"), 100, 29);
    let said = answers.iter().map(|answers| {
        assert!([Cell::Null, Cell::Truth(true)].contains(&answers.columns[1].cells[1]), "{answers:?}");
        answers.columns[1].cells[1] != Cell::Null
    });
    coins("exact if stable, each key", said, chance(&events[0], 1.0, 7), chance(&events[0], 0.5, 7));
    // A lead of fourteen, seven replaced rows from a tie, which the first key wins.
    let largest = "largest = true\ncost = { epsilon = 1, delta = 2e-3 }";
    let (events, answers) = released(&whole_numbers(1), &rows, &format!("{query}{largest}"), 100, 30);
    let said = answers.iter().map(|answers| {
        assert!([Cell::Null, Cell::Whole(1)].contains(&answers.columns[0].cells[0]), "{answers:?}");
        answers.columns[0].cells[0] != Cell::Null
    });
    coins("exact if stable, largest", said, chance(&events[0], 1.0, 7), chance(&events[0], 0.5, 7));
}

/// Of the rules never, always, x and not x one makes two mistakes fewer than two others and four fewer than the last;
/// and of one row the parity is right as often as it is kept.
#[test]
fn learn() {
    let columns = "x = { type = \"bool\" }\ny = { type = \"bool\" }";
    let request = "kind = \"learn\"\ntable = \"t\"\nmissing = \"never\"\nlabel = \"y\"\ncolumns = [\"x\"]\n";
    let rules = "concept = \"list\"\nrules = [\"x\", \"NOT x\", \"TRUE\", \"FALSE\"]\ncost = { epsilon = 0.8 }";
    let rows = "x,y\ntrue,true\ntrue,true\nfalse,false\nfalse,false\n";
    let (events, answers) = released(columns, rows, &format!("{request}{rules}"), 200, 27);
    let Word::Exponential { epsilon } = events[0].word() else { panic!("{events:?}") };
    assert!((epsilon.get() - 0.4).abs() < 1e-9, "a person moves by 2");
    let right = |factor: f64| {
        let step = (-2.0 * epsilon.get() / factor).exp();
        1.0 / (1.0 + 2.0 * step + step * step)
    };
    let says = |answers: &Answers, rule: &str| answers.columns[0].cells[0] == Cell::Text(rule.into());
    coins("learn", answers.iter().map(|a| says(a, "CASE WHEN (x) THEN 1 ELSE 0 END")), right(1.0), right(0.35));

    let parity = "concept = \"parity\"\ncost = { epsilon = 2 }";
    let (events, answers) = released(columns, "x,y\ntrue,true\n", &format!("{request}{parity}"), 200, 28);
    let Word::Parity(word) = events[0].word() else { panic!("{events:?}") };
    let share = |text: String| {
        let (above, below) = text.split_once('/').unwrap();
        above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
    };
    let (keep, give_up) = (share(word.keep().to_string()), share(word.give_up().to_string()));
    assert!((keep - 1f64.tanh()).abs() < 1e-8 && (give_up - 1.0 / (2f64.exp() + 2.0)).abs() < 1e-8);
    let right = |keep: f64| (1.0 - give_up) * (keep + (1.0 - keep) / 2.0);
    let rule = "CASE WHEN (CASE WHEN \"x\" IS TRUE THEN 1 ELSE 0 END) % 2 = 1 THEN 1 ELSE 0 END";
    coins("parity", answers.iter().map(|a| says(a, rule)), right(keep), right(0.0));
}

/// One owner who has x and y. Of the four halfspaces over one column two are right, and those that are right about the
/// noisy label are chosen with odds e^{ε/2}, where ε is that of the column; the noisy label is the owner's with odds
/// e^{ε} of the label. Each of both is tried with the other so large that it decides nothing.
#[test]
fn learn_a_robust_halfspace() {
    let columns = "x = { type = \"bool\" }\ny = { type = \"bool\" }";
    let request = "kind = \"learn\"\ntable = \"t\"\nmissing = \"never\"\nlabel = \"y\"\ncolumns = [\"x\"]\nconcept = \"robust-halfspace\"\nflips = 1\ncost = { epsilon = 0.6, scope = \"attribute\" }\n";
    // A weighted sum that is at least 0 where x is true.
    let is_right = |answers: &Answers| {
        let Cell::Text(rule) = &answers.columns[0].cells[0] else { panic!("{answers:?}") };
        let sum =
            rule.strip_prefix("CASE WHEN ").and_then(|rule| rule.strip_suffix(" >= 0 THEN 1 ELSE 0 END")).unwrap();
        let sum = sum.replace(" * CASE WHEN \"x\" IS TRUE THEN 1 ELSE -1 END", "");
        sum.split(" + ").map(|term| term.parse::<i32>().unwrap()).sum::<i32>() >= 0
    };
    let odds = |exponent: f64| exponent.exp() / (1.0 + exponent.exp());
    for (costs, is_label, seed) in [("{ y = 13 }", false, 37), ("{ x = 90 }", true, 38)] {
        let fields = format!("{request}attribute_costs = {costs}\n");
        let (events, answers) = released(columns, "x,y\ntrue,true\n", &fields, 200, seed);
        let (Word::Exponential { epsilon: column }, Word::RandomizedResponse { epsilon: label, .. }) =
            (events[0].word(), events[1].word())
        else {
            panic!("{events:?}")
        };
        let law = |factor: f64| match is_label {
            true => odds(label.get() / factor),
            false => odds(column.get() / 2.0 / factor),
        };
        coins("robust halfspace", answers.iter().map(is_right), law(1.0), law(0.1));
    }
}

/// Three thousand combinations of fifty owners each, where no noisy count falls below 0: probabilities differ as noisy
/// counts do. The number of owners has noise of its own for presence, and that of the counts otherwise.
#[test]
fn learn_a_distribution() {
    let owners = |answers: &Answers| answers.details.facts["distribution"]["owners"].as_f64().unwrap();
    for (cost, events, seed) in [("{ epsilon = 0.8 }", 1, 33), ("{ epsilon = 0.8, scope = \"presence\" }", 2, 35)] {
        let request = format!(
            "kind = \"learn\"\ntable = \"t\"\nconcept = \"distribution\"\nmissing = \"never\"\ncolumns = [\"x\"]\ncost = {cost}"
        );
        let (drawn, answers) = released(&whole_numbers(2999), &even(3000, 50), &request, 8, seed);
        assert_eq!(drawn.len(), events);
        let differences = answers.iter().flat_map(|answers| {
            let mut found = [0.0; 3000];
            numbers(answers, "x").zip(numbers(answers, "probability")).for_each(|(x, p)| found[x as usize] = p);
            found.chunks(2).map(|pair| ((pair[0] - pair[1]) * owners(answers)).round() as i64).collect::<Vec<_>>()
        });
        // Of two noises the difference.
        let law = |factor: f64| {
            let Word::DiscreteLaplace { scale } = drawn[0].word() else { panic!("{drawn:?}") };
            let a = (-1.0 / (factor * scale.get())).exp();
            let mass = |z: i64| (1.0 - a) / (1.0 + a) * a.powi(z.unsigned_abs() as i32);
            let both = |difference: i64| (-200..=200).map(|z| mass(z) * mass(z - difference)).sum::<f64>();
            (-150..=150).map(|difference| (difference, both(difference))).collect::<BTreeMap<i64, f64>>()
        };
        outcomes("distribution", differences, &law(1.0), &law(0.75));
        let (drawn, answers) = released(&whole_numbers(1), &even(2, 500), &request, 200, seed + 1);
        let noises: Vec<i64> = answers.iter().map(|answers| owners(answers) as i64 - 1000).collect();
        as_said("owners of a distribution", &noises, drawn.last().unwrap(), 0.2);
    }
}

/// All values in the middle of a wide range, so many that every level is 0.
#[test]
fn smooth_quantiles() {
    let fractions: Vec<f64> = (0..20).map(|index| f64::from(40 + index) / 100.0).collect();
    let request = format!(
        "kind = \"quantiles\"\ntable = \"t\"\ncolumn = \"x\"\nquantiles = {fractions:?}\nmethod = \"smooth\"\ncost = {{ epsilon = 20 }}"
    );
    let (events, answers) = released(&whole_numbers(1000), &format!("x\n{}", "500\n".repeat(4000)), &request, 30, 26);
    let Word::SmoothNoise(noise) = events[0].word() else { panic!("{events:?}") };
    assert_eq!(events.len(), 2 * fractions.len());
    let table = noise.table().unwrap();
    let scale = table.scale(0).get();
    let drawn: Vec<i64> =
        answers.iter().flat_map(|answers| numbers(answers, "value")).map(|value| value as i64 - 500).collect();
    let law = |factor: f64| {
        // Beyond the bounds the value is the bound, as rare as that is.
        IntegerDistribution::of_weights(500, |z| 1.0 / (1.0 + (z as f64 / (factor * scale)).powi(4)))
    };
    super::noise("smooth quantiles", &drawn, &law(1.0), &law(0.5));
}
