//! Golden vectors and exhaustive enumeration of the tree's cost.

use super::*;
use crate::harness::effort;
use crate::harness::{Distribution, ProbabilityInterval};
use crate::loss::Loss;
use crate::loss::filter::Odometer;
use crate::loss::words::heavy_hitters::{inclusion_loss, ln_fail_probability, ln_pass_probability};
use crate::noise::InsecureSeededSource;
use crate::quantity::{Beta, Delta, Epsilon, Exact, Scale};
use crate::scope::{AttributeSet, Scope};
use serde_json::Value;
use std::collections::BTreeMap;

mod continuous;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors are there")).expect("the vectors are JSON")
}

fn rows<'a>(vectors: &'a Value, key: &str) -> Vec<&'a Value> {
    let rows: Vec<&Value> = vectors[key].as_array().expect(key).iter().filter(|row| row["kind"] != "cont").collect();
    assert!(!rows.is_empty(), "{key} has no rows");
    rows
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is not an integer"))
}

fn close(computed: f64, wanted: f64, relative: f64, what: &str) {
    assert!((computed - wanted).abs() <= relative * wanted.abs().max(1e-300), "{what}: {computed} is not {wanted}");
}

fn subset(row: &Value) -> Vec<usize> {
    row["S"].as_array().unwrap().iter().map(|j| integer(j) as usize).collect()
}

fn tree_of(value: &Value) -> Tree {
    fn add(value: &Value, nodes: &mut Vec<Node>, attributes: &mut usize) -> Child {
        if let Some(attribute) = value.as_u64() {
            *attributes = (*attributes).max(attribute as usize + 1);
            return Child::Attribute(attribute as usize);
        }
        let children =
            value["children"].as_array().unwrap().iter().map(|child| add(child, nodes, attributes)).collect();
        let scale = Scale::new(number(&value["lam"])).unwrap();
        nodes.push(Node { children, threshold: integer(&value["tau"]), clip: integer(&value["kappa"]), scale });
        Child::Node(nodes.len() - 1)
    }
    let (mut nodes, mut attributes) = (Vec::new(), 0);
    add(value, &mut nodes, &mut attributes);
    Tree::new(attributes, nodes, &[]).unwrap()
}

/// One attribute below a chain of nodes.
fn path_tree(scale: f64, clip: i64, rise: i64, levels: usize) -> Tree {
    let scale = Scale::new(scale).unwrap();
    let node = |level: usize| Node {
        children: vec![if level == 0 { Child::Attribute(0) } else { Child::Node(level - 1) }],
        threshold: 100 + level as i64 * rise,
        clip,
        scale,
    };
    Tree::new(1, (0..levels).map(node).collect(), &[]).unwrap()
}

#[test]
fn one_test_passes_and_loses_as_in_the_vectors() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_pointwise") {
        let (scale, clip, u) = (number(&row["lam"]), integer(&row["kappa"]), integer(&row["u"]));
        let what = format!("{row}");
        close(ln_pass_probability(scale, u.max(-clip)), number(&row["log_p_in"]), 1e-12, &what);
        close(ln_fail_probability(scale, u.max(-clip)), number(&row["log_p_out"]), 1e-12, &what);
        close(inclusion_loss(scale, clip, u), number(&row["phi"]), 1e-11, &what);
    }
}

#[test]
fn the_loss_of_one_attribute_is_that_of_the_vectors() {
    for row in vectors()["hh_exact_single_attribute"].as_array().unwrap() {
        let (scale, rise, clip, levels) =
            (number(&row["lam"]), integer(&row["mu"]), integer(&row["kappa"]), integer(&row["H"]));
        let wanted = number(&row["eps_disc"]);
        let computed = path_epsilon(Scale::new(scale).unwrap(), clip as u32, rise as u32, levels as u32).get();
        close(computed, wanted, 2e-12, &format!("{row}"));
        assert!(computed >= wanted);
        close(path_tree(scale, clip, rise, levels as usize).epsilon(&[0]).get(), wanted, 2e-12, "as a tree");
        let (rate, decay) = (1.0 / scale, (-rise as f64 / scale).exp());
        assert!(computed <= rate * (2.0 + 1.0 / (1.0 - decay)) * (1.0 + 1e-9), "the simple bound of §4.4");
    }
}

#[test]
fn the_concentrated_cost_lies_between_the_lower_and_the_certified_value() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_zcdp_single_attribute") {
        let rise = integer(&row["mu"]);
        let rho = path_tree(number(&row["lam"]), rise, rise, integer(&row["H"]) as usize).rho(&[0]).get();
        assert!(rho >= number(&row["rho_with_counts_lower"]), "{rho} is unsound: {row}");
        assert!(rho <= number(&row["rho_with_counts_upper"]), "{rho} is loose: {row}");
    }
    // The trees of the vectors are for continuous noise, but a tree's parameters do not depend on that.
    let trees = vectors["hh_trees"].as_array().unwrap();
    let balanced = tree_of(&trees.iter().find(|row| row["name"] == "balanced4").unwrap()["tree"]);
    for row in rows(&vectors, "hh_zcdp_subsets") {
        let rho = balanced.rho(&subset(row)).get();
        assert!(rho <= number(&row["rho_certified_upper"]), "{rho} is loose: {row}");
        assert!(rho >= number(&row["rho_certified_upper"]) / 1.03, "{rho} is suspiciously small: {row}");
        close(balanced.epsilon(&subset(row)).get(), number(&row["eps"]), 2e-12, "pure");
    }
}

#[test]
fn a_person_costs_far_less_than_all_attributes_and_siblings_are_free() {
    let node = |children| Node { children, threshold: 0, clip: 15, scale: Scale::new(3.0).unwrap() };
    let mut nodes: Vec<Node> =
        (0..32).map(|pair| node(vec![Child::Attribute(2 * pair), Child::Attribute(2 * pair + 1)])).collect();
    let (mut from, mut threshold) = (0, 100);
    nodes.iter_mut().for_each(|node| node.threshold = threshold);
    while nodes.len() - from > 1 {
        threshold += 15;
        let level: Vec<usize> = (from..nodes.len()).collect();
        from = nodes.len();
        for pair in level.chunks(2) {
            let joined = node(pair.iter().map(|&below| Child::Node(below)).collect());
            nodes.push(Node { threshold, ..joined });
        }
    }
    let tree = Tree::new(64, nodes, &[]).unwrap();
    close(tree.epsilon(&[17]).get(), 1.0011240172, 1e-9, "one attribute");
    close(tree.epsilon_person().get(), 26.67, 1e-3, "person, where 64 attributes would be 64.07");
    close(tree.epsilon_presence().get(), 16.0, 1e-3, "presence");
    assert_eq!(tree.epsilon(&[16, 17]), tree.epsilon(&[17]));
    let caterpillar = ThresholdRule::default()
        .calibrate(&JoinShape::caterpillar(16).unwrap(), &[Epsilon::new(1.0).unwrap(); 16])
        .unwrap();
    assert!(
        caterpillar.epsilon_person().get() <= caterpillar.epsilon(&[0]).get() * 1.01,
        "a caterpillar has one cherry"
    );
}

#[test]
fn calibration_finds_the_smallest_scale_of_the_vectors() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_calibration") {
        let levels = integer(&row["H"]) as usize;
        let shape =
            (1..levels).fold(JoinShape::Join(vec![JoinShape::Attribute(0)]), |below, _| JoinShape::Join(vec![below]));
        let rule = ThresholdRule { clip: (16.0 / number(&row["nu"])).ln(), gap: 0.0, ..ThresholdRule::default() };
        let target = number(&row["eps0"]);
        if row["rule"] != "mu=kappa=ceil(lam*ln(16/nu))" {
            continue;
        }
        let tree = rule.calibrate(&shape, &[Epsilon::new(target).unwrap()]).unwrap();
        close(tree.root().scale.get(), number(&row["lam_min"]), 1e-9, &format!("{row}"));
        assert_eq!(tree.root().clip, integer(&row["mu"]));
        assert!(tree.epsilon(&[0]) <= target);
    }
}

#[test]
fn different_targets_are_all_met() {
    let targets = [0.25, 4.0, 4.0, 2.0, 1.0].map(|epsilon| Epsilon::new(epsilon).unwrap());
    for shape in [JoinShape::balanced(5).unwrap(), JoinShape::caterpillar(5).unwrap()] {
        let tree = ThresholdRule::default().calibrate(&shape, &targets).unwrap();
        for (attribute, target) in targets.iter().enumerate() {
            assert!(tree.epsilon(&[attribute]) <= target.get(), "{shape} attribute {attribute}");
        }
        // The strictest attribute is met closely: no scale is wasted.
        assert!(tree.epsilon(&[0]) > 0.24);
    }
}

#[test]
fn an_unknown_domain_costs_its_delta() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_unknown_domain") {
        let (threshold, clip) = (integer(&row["tau"]), integer(&row["kappa"]));
        let scale = Scale::new(number(&row["lam"])).unwrap();
        let node = Node { children: vec![Child::Attribute(0)], threshold, clip, scale };
        let tree = Tree::new(1, vec![node], &[0]).unwrap();
        close(tree.delta(&[0]).get(), number(&row["delta_bound"]), 2e-12, &format!("{row}"));
        close(tree.epsilon(&[0]).get(), number(&row["eps"]), 2e-12, &format!("{row}"));
        assert_eq!(tree.delta(&[]), 0.0);
    }
}

#[test]
fn a_rule_for_unknown_domains_keeps_its_delta() {
    let delta = Delta::new(1e-7).unwrap();
    let rule = ThresholdRule { unknown: vec![1], unknown_delta: delta, ..ThresholdRule::default() };
    let shape = JoinShape::balanced(3).unwrap().with_thresholds_above(&[1]);
    let tree = rule.calibrate(&shape, &[Epsilon::new(1.0).unwrap(); 3]).unwrap();
    assert!(tree.delta(&[0, 1, 2]) <= 1e-7 * (1.0 + 1e-9));
    assert!(tree.delta(&[0, 1, 2]) > 1e-8);
    assert_eq!(tree.delta(&[0, 2]), 0.0);
}

#[test]
fn every_unknown_domain_costs_its_delta() {
    // A person alone with new values of several attributes is seen if any of them passes. A slip that charged one was
    // seen by no test here.
    let rule =
        ThresholdRule { unknown: vec![0, 2], unknown_delta: Delta::new(1e-3).unwrap(), ..ThresholdRule::default() };
    let shape = JoinShape::balanced(3).unwrap().with_thresholds_above(&[0, 2]);
    let tree = rule.calibrate(&shape, &[Epsilon::new(1.0).unwrap(); 3]).unwrap();
    let passes = |attribute: usize| {
        let node = tree.nodes().iter().find(|node| node.attribute_children().any(|child| child == attribute)).unwrap();
        ln_pass_probability(node.scale.get(), -node.clip).exp()
    };
    let any = 1.0 - (1.0 - passes(0)) * (1.0 - passes(2));
    let both = tree.delta(&[0, 1, 2]).get();
    assert!(any > 1.5 * passes(0).min(passes(2)) && any <= both && both <= any * 1.01, "{any} {both}");
}

#[test]
fn a_tree_that_the_proof_does_not_cover_is_refused() {
    let scale = Scale::new(2.0).unwrap();
    let node = |children: Vec<Child>, threshold, clip| Node { children, threshold, clip, scale };
    let (a, b, below) = (Child::Attribute(0), Child::Attribute(1), Child::Node(0));
    let check = |attributes, nodes, unknown: &[usize], part: &str| {
        let sentence = Tree::new(attributes, nodes, unknown).unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    check(2, vec![node(vec![a], 5, 2)], &[], "attribute 1 is not in the tree");
    check(2, vec![node(vec![a, b], 5, 0)], &[], "clip depth of node 0 must be at least 1");
    check(2, vec![node(vec![a], 9, 2), node(vec![below, b], 8, 2)], &[], "below the floor 7 of its child 0");
    check(1, vec![node(vec![a, a], 5, 2)], &[], "joins already");
    check(2, vec![node(vec![a, b], 5, 2)], &[1], "threshold node of its own");
    check(1, vec![node(vec![a], 5, 5)], &[0], "at most its threshold − 1");
    let wide = Node { scale: Scale::new(20.0).unwrap(), ..node(vec![a], 5, 1) };
    check(1, vec![wide], &[0], "too small for its scale");
    check(2, vec![node(vec![a], 5, 2), node(vec![b], 5, 2)], &[], "not joined by any other");
}

/// All outputs (the lists of every node) with their probabilities, by composing the tests of one node after another.
fn distribution_of(tree: &Tree, domains: &[u32], people: &[Vec<u32>]) -> Distribution<Vec<Vec<u32>>> {
    let start = Distribution::new([(Vec::new(), ProbabilityInterval::near(1.0, 0.0))], 0.0);
    tree.nodes().iter().fold(start, |so_far, node| {
        so_far
            .then(|lists: &Vec<Vec<u32>>| node_distribution(tree, node, domains, people, lists))
            .map(|(lists, next)| [&lists[..], std::slice::from_ref(next)].concat())
    })
}

/// The strings of a node as bit masks of what is in its list: list entries are numbers of strings over all attributes
/// below.
fn node_distribution(
    tree: &Tree,
    node: &Node,
    domains: &[u32],
    people: &[Vec<u32>],
    lists: &[Vec<u32>],
) -> Distribution<Vec<u32>> {
    // A string is written as its values in positional notation with base 8, attributes not read being 7.
    let blank = domains.iter().fold(0u32, |code, _| code * 8 + 7);
    let unit = |attribute: usize| 8u32.pow((domains.len() - 1 - attribute) as u32);
    let merged = |left: u32, right: u32| left + right - blank;
    let candidates = node.children.iter().fold(vec![blank], |so_far, child| {
        let options: Vec<u32> = match child {
            Child::Attribute(j) => {
                let occurs = |value: &u32| !tree.is_unknown(*j) || people.iter().any(|person| person[*j] == *value);
                (0..domains[*j]).filter(occurs).map(|value| blank - (7 - value) * unit(*j)).collect()
            }
            Child::Node(below) => lists[*below].clone(),
        };
        so_far.iter().flat_map(|&left| options.iter().map(move |&right| merged(left, right))).collect()
    });
    let matches = |person: &Vec<u32>, string: u32| {
        (0..domains.len()).all(|j| matches!(string / unit(j) % 8, digit if digit == 7 || digit == person[j]))
    };
    candidates.iter().fold(
        Distribution::new([(Vec::new(), ProbabilityInterval::near(1.0, 0.0))], 0.0),
        |so_far, &string| {
            let count = people.iter().filter(|person| matches(person, string)).count() as i64;
            let above = (count - node.threshold).max(-node.clip);
            let pass = ProbabilityInterval::near(ln_pass_probability(node.scale.get(), above).exp(), 1e-14);
            let fail = ProbabilityInterval::near(ln_fail_probability(node.scale.get(), above).exp(), 1e-14);
            let coin = Distribution::new([(true, pass), (false, fail)], 0.0);
            so_far.product(&coin).map(|(list, passed)| match passed {
                true => [&list[..], &[string]].concat(),
                false => list.clone(),
            })
        },
    )
}

fn uniform_tree(shape: &JoinShape, scale: f64, bottom: i64, rise: i64) -> Tree {
    let joins = shape.flattened().unwrap();
    let mut nodes: Vec<Node> = Vec::new();
    let mut attributes = 0;
    for children in joins {
        let below = children.iter().filter_map(|child| match child {
            Child::Node(below) => Some(nodes[*below].threshold + rise),
            Child::Attribute(_) => None,
        });
        let threshold = below.max().unwrap_or(bottom);
        attributes += children.iter().filter(|child| matches!(child, Child::Attribute(_))).count();
        nodes.push(Node { children, threshold, clip: rise, scale: Scale::new(scale).unwrap() });
    }
    Tree::new(attributes, nodes, &[]).unwrap()
}

type Dataset = Vec<Vec<u32>>;

/// All multisets of `people` records.
fn datasets(domains: &[u32], people: usize) -> Vec<Vec<Vec<u32>>> {
    let records = domains.iter().fold(vec![Vec::new()], |so_far: Vec<Vec<u32>>, &size| {
        so_far
            .iter()
            .flat_map(|left| (0..size).map(|value| [&left[..], &[value]].concat()).collect::<Vec<_>>())
            .collect()
    });
    (0..people).fold(vec![Vec::new()], |so_far: Vec<Vec<Vec<u32>>>, _| {
        so_far
            .iter()
            .flat_map(|left| {
                let allowed = records.iter().filter(|record| left.last().is_none_or(|last| last <= *record));
                allowed.map(|record| [&left[..], std::slice::from_ref(record)].concat()).collect::<Vec<_>>()
            })
            .collect()
    })
}

/// Neighbours of the dataset when the last person's values of the attributes change (any person can be the last).
fn neighbours(domains: &[u32], dataset: &[Vec<u32>], attributes: &[usize]) -> Vec<(Dataset, Dataset)> {
    let mut pairs = Vec::new();
    for place in 0..dataset.len() {
        let changed = attributes.iter().fold(vec![dataset[place].clone()], |so_far, &attribute| {
            so_far
                .iter()
                .flat_map(|record| {
                    (0..domains[attribute]).map(|value| {
                        let mut record = record.clone();
                        record[attribute] = value;
                        record
                    })
                })
                .collect()
        });
        for record in changed.into_iter().filter(|record| *record < dataset[place]) {
            let mut other = dataset.to_vec();
            other[place] = record;
            pairs.push((dataset.to_vec(), other));
        }
    }
    pairs
}

/// The largest loss over all outputs of a pair, by the shared harness.
fn worst_loss(tree: &Tree, domains: &[u32], pair: &(Dataset, Dataset)) -> f64 {
    let (p, q) = (distribution_of(tree, domains, &pair.0), distribution_of(tree, domains, &pair.1));
    p.max_divergence_lower(&q).max(q.max_divergence_lower(&p))
}

#[test]
fn no_output_of_the_whole_distribution_exceeds_the_formula() {
    // ((0,1),2): 625 outputs; 3 × 2 values: 64 outputs. Every subset of attributes, all datasets of this many people.
    let cases: [(Vec<u32>, JoinShape, f64, i64, i64, usize); 2] = [
        (vec![2, 2, 2], JoinShape::caterpillar(3).unwrap(), 2.0, 1, 1, 3),
        (vec![3, 2], JoinShape::balanced(2).unwrap(), 1.5, 2, 2, 4),
    ];
    for (domains, shape, scale, bottom, rise, people) in cases {
        let tree = uniform_tree(&shape, scale, bottom, rise);
        for mask in 1..1usize << domains.len() {
            let attributes: Vec<usize> = (0..domains.len()).filter(|j| mask >> j & 1 == 1).collect();
            let claimed = tree.epsilon(&attributes).get();
            let mut worst = 0.0f64;
            for dataset in datasets(&domains, people).iter().step_by(if mask.count_ones() > 1 { 7 } else { 3 }) {
                for pair in neighbours(&domains, dataset, &attributes) {
                    worst = worst.max(worst_loss(&tree, &domains, &pair));
                }
            }
            assert!(worst <= claimed, "{attributes:?} of {shape}: {worst} exceeds {claimed}");
        }
    }
}

/// ln of the ratio P/Q of "listed" and of "not listed" for every string over all values below a node.
fn ratios(node: &Node, strings: &[u32], at: &dyn Fn(u32) -> (i64, i64), counts_released: bool) -> Vec<(f64, f64)> {
    let scale = node.scale.get();
    let ratio = |&string: &u32| {
        let (here, there) = at(string);
        let (here, there) = ((here - node.threshold).max(-node.clip), (there - node.threshold).max(-node.clip));
        let fail = ln_fail_probability(scale, here) - ln_fail_probability(scale, there);
        let pass = ln_pass_probability(scale, here) - ln_pass_probability(scale, there);
        // The noisy count is released: the worst count above the threshold.
        let released = match here - there {
            0 => 0.0,
            1 => 1.0 / scale,
            _ if here >= 1 => 1.0 / scale,
            _ => -1.0 / scale,
        };
        (if counts_released { released } else { pass }, fail)
    };
    strings.iter().map(ratio).collect()
}

/// The largest loss over all outputs of one pair: every list of every lower node is tried; at the root, where nothing
/// depends on a test any more, the worst outcome of each test is taken.
struct Enumeration<'a> {
    tree: &'a Tree,
    sizes: Vec<usize>,
    domains: &'a [u32],
    losses: Vec<Vec<(f64, f64)>>,
}

impl Enumeration<'_> {
    fn digit_allowed(&self, node: usize, mut string: usize, lists: &[u32]) -> bool {
        self.tree.nodes()[node].children.iter().rev().all(|child| match child {
            Child::Attribute(j) => {
                string /= self.domains[*j] as usize;
                true
            }
            Child::Node(below) => {
                let digit = string % self.sizes[*below];
                string /= self.sizes[*below];
                lists[*below] >> digit & 1 == 1
            }
        })
    }

    fn worst(&self, node: usize, lists: &mut Vec<u32>) -> f64 {
        let candidates: Vec<usize> = (0..self.sizes[node]).filter(|&s| self.digit_allowed(node, s, lists)).collect();
        let losses: Vec<(f64, f64)> = candidates.iter().map(|&string| self.losses[node][string]).collect();
        if node + 1 == self.sizes.len() {
            return losses.iter().map(|(pass, fail)| pass.max(*fail)).sum();
        }
        let mut worst = f64::NEG_INFINITY;
        for chosen in 0u32..1 << candidates.len() {
            let own: f64 =
                losses.iter().enumerate().map(|(k, (pass, fail))| if chosen >> k & 1 == 1 { pass } else { fail }).sum();
            let list =
                candidates.iter().enumerate().filter(|(k, _)| chosen >> k & 1 == 1).map(|(_, s)| 1u32 << s).sum();
            lists.push(list);
            worst = worst.max(own + self.worst(node + 1, lists));
            lists.pop();
        }
        worst
    }
}

/// For each node: how many strings there are over all values below it, and each person's string.
fn strings_of(tree: &Tree, domains: &[u32], people: &[Vec<u32>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut sizes, mut own): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for node in tree.nodes() {
        let (mut size, mut codes) = (1, vec![0; people.len()]);
        for child in &node.children {
            let factor = match child {
                Child::Attribute(j) => domains[*j] as usize,
                Child::Node(below) => sizes[*below],
            };
            for (person, code) in codes.iter_mut().enumerate() {
                *code = *code * factor
                    + match child {
                        Child::Attribute(j) => people[person][*j] as usize,
                        Child::Node(below) => own[*below][person],
                    };
            }
            size *= factor;
        }
        sizes.push(size);
        own.push(codes);
    }
    (sizes, own)
}

fn worst_of_pair(tree: &Tree, domains: &[u32], left: &[Vec<u32>], right: &[Vec<u32>], counts_released: bool) -> f64 {
    let (sizes, of_left) = strings_of(tree, domains, left);
    let (_, of_right) = strings_of(tree, domains, right);
    let count = |codes: &[usize], string: u32| codes.iter().filter(|&&code| code == string as usize).count() as i64;
    let losses = (0..sizes.len()).map(|node| {
        let strings: Vec<u32> = (0..sizes[node] as u32).collect();
        let at = |string| (count(&of_left[node], string), count(&of_right[node], string));
        ratios(&tree.nodes()[node], &strings, &at, counts_released && node + 1 == sizes.len())
    });
    let enumeration = Enumeration { tree, losses: losses.collect(), sizes, domains };
    enumeration.worst(0, &mut Vec::new())
}

#[test]
fn exhaustive_search_over_datasets_attains_the_formula() {
    let vectors = vectors();
    for case in vectors["brute_force"]["exhaustive"].as_array().unwrap().iter().filter(|case| case["kind"] == "disc") {
        let name = case["name"].as_str().unwrap();
        let domains: Vec<u32> = case["doms"].as_object().unwrap().values().map(|size| integer(size) as u32).collect();
        let shape = match name.split(' ').next().unwrap() {
            "balanced4" => JoinShape::balanced(4).unwrap(),
            _ => JoinShape::caterpillar(domains.len()).unwrap(),
        };
        let rise = integer(&case["kappa"]);
        let levels = if name.starts_with("balanced4") { 2 } else { domains.len() as i64 - 1 };
        let tree = uniform_tree(&shape, number(&case["lam"]), integer(&case["tau_root"]) - (levels - 1) * rise, rise);
        let counts_released = case["counts_released"].as_bool().unwrap();
        let datasets = datasets(&domains, integer(&case["n"]) as usize);
        for row in case["rows"].as_array().unwrap() {
            let attributes = subset(row);
            if domains.len() == 4 && attributes.len() > effort(0, 1) {
                continue; // the larger sets of four attributes take minutes, the smaller ones a quarter of one
            }
            let mut worst = 0.0f64;
            for dataset in &datasets {
                for (left, right) in neighbours(&domains, dataset, &attributes) {
                    worst = worst.max(worst_of_pair(&tree, &domains, &left, &right, counts_released));
                    worst = worst.max(worst_of_pair(&tree, &domains, &right, &left, counts_released));
                }
            }
            close(worst, number(&row["brute"]), 1e-9, &format!("{name} {row}"));
            assert!(worst <= tree.epsilon(&attributes).get(), "{name} {attributes:?}: {worst} exceeds the formula");
        }
    }
}

#[test]
fn adding_a_person_costs_no_more_than_the_formula() {
    for (shape, people) in [(JoinShape::caterpillar(3).unwrap(), 5), (JoinShape::balanced(4).unwrap(), 3)] {
        let tree = uniform_tree(&shape, 2.0, 1, 1);
        let domains = vec![2; tree.attributes()];
        let mut worst = 0.0f64;
        for dataset in datasets(&domains, people) {
            for place in 0..people {
                let mut fewer = dataset.clone();
                fewer.remove(place);
                worst = worst.max(worst_of_pair(&tree, &domains, &dataset, &fewer, true));
                worst = worst.max(worst_of_pair(&tree, &domains, &fewer, &dataset, true));
            }
        }
        assert!(worst <= tree.epsilon_presence().get(), "{worst} exceeds the formula");
        close(worst, tree.epsilon_presence().get(), 1e-9, "it is attained");
    }
}

/// How far a frequency of this many trials may be from its probability, except with a probability of 1e-12 (Bernstein).
fn tolerance(probability: f64, trials: f64) -> f64 {
    let log = (2.0 / 1e-12f64).ln();
    (2.0 * probability * (1.0 - probability) * log / trials).sqrt() + log / trials
}

#[test]
fn the_algorithm_draws_from_the_distribution_that_is_accounted_for() {
    // ((0,1),2) with 2, 3 and 2 values: frequencies of the root's list against the enumeration.
    let tree = uniform_tree(&JoinShape::caterpillar(3).unwrap(), 1.5, 2, 2);
    let domains = vec![2, 3, 2];
    let people: Vec<Vec<u32>> = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 2, 1], [1, 2, 1], [0, 1, 0]]
        .iter()
        .map(|p| p.to_vec())
        .collect();
    let columns: Vec<Vec<u32>> = (0..3).map(|j| people.iter().map(|person| person[j]).collect()).collect();
    let code = |values: &[u32]| values.iter().fold(0, |code, value| code * 8 + value);
    let exact = distribution_of(&tree, &domains, &people).map(|lists| lists[1].clone());
    let finder = HeavyHitters::new(tree, domains).unwrap();
    let mut bits = InsecureSeededSource::new(20);
    let trials = 100_000;
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for _ in 0..trials {
        let mut list: Vec<u32> =
            finder.release(&columns, &mut bits).unwrap().strings.iter().map(|string| code(&string.values)).collect();
        list.sort_unstable();
        *seen.entry(list).or_insert(0) += 1;
    }
    let mut sorted: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
    for (list, probability) in exact.iter() {
        let mut list = list.clone();
        list.sort_unstable();
        *sorted.entry(list).or_insert(0.0) += probability.upper;
    }
    for (list, probability) in &sorted {
        let frequency = f64::from(seen.remove(list).unwrap_or(0)) / f64::from(trials);
        let allowed = tolerance(*probability, f64::from(trials));
        assert!((frequency - probability).abs() <= allowed, "{list:?}: {frequency} for {probability}");
    }
    assert!(seen.is_empty(), "an impossible list was drawn: {seen:?}");
}

#[test]
fn released_counts_are_the_true_ones_with_laplace_noise_cut_at_the_threshold() {
    // One attribute, one threshold of 5 with clip 3 (floor 2): value 0 has 6 people, value 1 has 1 (below the floor).
    let node = Node { children: vec![Child::Attribute(0)], threshold: 5, clip: 3, scale: Scale::new(2.0).unwrap() };
    let finder = HeavyHitters::new(Tree::new(1, vec![node], &[]).unwrap(), vec![2]).unwrap();
    let columns = vec![vec![0u8, 0, 0, 0, 0, 0, 1]];
    let mut bits = InsecureSeededSource::new(21);
    let trials = 100_000;
    let mut seen: BTreeMap<(u32, i64), u32> = BTreeMap::new();
    for _ in 0..trials {
        for string in finder.release(&columns, &mut bits).unwrap().strings {
            *seen.entry((string.values[0], string.count)).or_insert(0) += 1;
        }
    }
    let decay = (-0.5f64).exp();
    for (value, centre) in [(0u32, 6i64), (1, 2)] {
        for count in 0..30i64 {
            let density = (1.0 - decay) / (1.0 + decay) * decay.powi((count - centre).abs() as i32);
            let probability = if count > 5 { density } else { 0.0 };
            let frequency = f64::from(*seen.get(&(value, count)).unwrap_or(&0)) / f64::from(trials);
            assert!((frequency - probability).abs() <= tolerance(probability, f64::from(trials)), "{value} {count}");
        }
    }
}

/// More than 2²⁶ different values of an unknown domain were refused, after the charge: a failure that tells how many
/// there are.
#[test]
fn no_number_of_values_of_an_unknown_domain_is_refused() {
    let rule = ThresholdRule { unknown: vec![0], unknown_delta: Delta::new(1e-3).unwrap(), ..ThresholdRule::default() };
    let shape = JoinShape::balanced(2).unwrap().with_thresholds_above(&[0, 1]);
    let tree = rule.calibrate(&shape, &[Epsilon::new(1.0).unwrap(), Epsilon::new(1.0).unwrap()]).unwrap();
    assert!(HeavyHitters::new(tree.clone(), vec![u32::MAX - 1, 2]).is_ok());
    // A public domain of that size is refused, whatever the data.
    assert!(HeavyHitters::new(tree, vec![2, u32::MAX - 1]).is_err());
}

#[test]
fn only_values_that_occur_are_found_in_an_unknown_domain() {
    let rule = ThresholdRule {
        unknown: vec![0],
        unknown_delta: Delta::new(1e-3).unwrap(),
        bottom: 5,
        ..ThresholdRule::default()
    };
    let shape = JoinShape::balanced(2).unwrap().with_thresholds_above(&[0]);
    let tree = rule.calibrate(&shape, &[Epsilon::new(2.0).unwrap(); 2]).unwrap();
    let finder = HeavyHitters::new(tree, vec![1_000_000, 2]).unwrap();
    let columns: Vec<Vec<u32>> = vec![(0..2000).map(|i| 999_000 + i % 4).collect(), (0..2000).map(|i| i % 2).collect()];
    let found = finder.release(&columns, &mut InsecureSeededSource::new(3)).unwrap();
    assert!(found.strings.iter().all(|string| string.values[0] >= 999_000));
    assert!(found.strings.iter().filter(|string| string.count > 400).count() == 4);
}

#[test]
fn heavy_strings_are_found_with_the_promised_probability_and_error() {
    let people = 20_000u64;
    let tree = ThresholdRule::default()
        .calibrate(&JoinShape::balanced(16).unwrap(), &[Epsilon::new(1.0).unwrap(); 16])
        .unwrap();
    let beta = Beta::new(1e-6).unwrap();
    let heavy = tree.found_from(people, beta);
    let error = tree.count_error(beta);
    // Strings 0…0, 1…1 and 0101… have just enough people; everybody else has a string of their own.
    let value = |i: u64, j: u64| match i / heavy {
        0 => 0,
        1 => 1,
        2 => (j % 2) as u8,
        _ => (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (20 + j) & 1) as u8,
    };
    let columns: Vec<Vec<u8>> = (0..16).map(|j| (0..people).map(|i| value(i, j)).collect()).collect();
    let finder = HeavyHitters::new(tree, vec![2; 16]).unwrap();
    let found = finder.release(&columns, &mut InsecureSeededSource::new(5)).unwrap();
    for wanted in [vec![0; 16], vec![1; 16], (0..16).map(|j| j % 2).collect()] {
        let string = found.strings.iter().find(|string| string.values == wanted).expect("a heavy string is found");
        let exact =
            (0..people).filter(|&i| (0..16).all(|j| u32::from(value(i, j)) == wanted[j as usize])).count() as i64;
        assert!(string.count.abs_diff(exact) <= error);
    }
}

/// All sets of up to three attributes, and all together.
fn some_sets(attributes: usize) -> Vec<Vec<usize>> {
    let all = 1usize..1 << attributes;
    let sets = all.map(|mask| (0..attributes).filter(|j| mask >> j & 1 == 1).collect::<Vec<_>>());
    sets.filter(|set| set.len() <= 3 || set.len() == attributes).collect()
}

#[test]
fn the_events_cost_at_least_what_the_tree_states() {
    let rule = ThresholdRule::default();
    let unknown =
        ThresholdRule { unknown: vec![1], unknown_delta: Delta::new(1e-7).unwrap(), ..ThresholdRule::default() };
    let cases = [
        (&rule, JoinShape::balanced(8).unwrap(), vec![1.0; 8]),
        (&rule, JoinShape::balanced(5).unwrap(), vec![1.0; 5]),
        (&rule, JoinShape::caterpillar(4).unwrap(), vec![1.0; 4]),
        (&rule, JoinShape::balanced(5).unwrap(), vec![0.25, 4.0, 4.0, 2.0, 1.0]),
        (&unknown, JoinShape::balanced(4).unwrap().with_thresholds_above(&[1]), vec![0.5, 1.0, 1.0, 2.0]),
    ];
    for (rule, shape, targets) in cases {
        let attributes = targets.len();
        let targets: Vec<Epsilon> = targets.into_iter().map(|target| Epsilon::new(target).unwrap()).collect();
        let tree = rule.calibrate(&shape, &targets).unwrap();
        let names: Vec<String> = (0..attributes).map(|j| format!("a{j}")).collect();
        let events = tree.events(&names).unwrap();
        let all: Vec<usize> = (0..attributes).collect();
        let charged = |scope: &Scope, set: &[usize]| {
            let spent = Odometer::of(&events, scope).unwrap();
            let delta = Exact::from_f64(tree.delta(set).get() * (1.0 + 1e-9)).unwrap();
            let half = tree.delta(set).get() / 2.0;
            assert!(half == 0.0 || *spent.delta() > Exact::from_f64(half).unwrap(), "{scope} pays its delta");
            (spent.pure_sum().unwrap().to_f64(), spent.rho(&delta).unwrap().to_f64())
        };
        let (person, presence) = (charged(&Scope::Person, &all).0, charged(&Scope::Presence, &all).0);
        assert!(person <= tree.epsilon_person().get() * (1.0 + 1e-9), "person: {person}");
        assert!(presence <= tree.epsilon_presence().get() * (1.0 + 1e-9), "presence: {presence}");
        let pure = |scope: &Scope| Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
        if rule.unknown.is_empty() {
            close(pure(&Scope::Person), tree.epsilon_person().get(), 1e-9, "person");
            close(pure(&Scope::Presence), tree.epsilon_presence().get(), 1e-9, "presence");
        }
        for set in some_sets(attributes) {
            let scope = Scope::Attributes(AttributeSet::new(set.iter().map(|&j| names[j].clone())).unwrap());
            let (epsilon, rho) = charged(&scope, &set);
            if tree.delta(&set) == 0.0 {
                assert!(epsilon >= tree.epsilon(&set).get() * (1.0 - 1e-11), "{shape} {set:?}: {epsilon}");
            }
            assert!(rho >= tree.rho(&set).get() * (1.0 - 1e-6), "{shape} {set:?}: {rho} for {}", tree.rho(&set).get());
            if set.len() == 1 {
                assert!(epsilon <= tree.epsilon(&set).get() * 1.001, "{shape} {set:?}: {epsilon}");
            }
        }
    }
}

/// How many records of one table are not in the other.
fn apart(one: &[Vec<u32>], other: &[Vec<u32>]) -> usize {
    let mut left = other.to_vec();
    let is_new = |record: &&Vec<u32>| match left.iter().position(|there| there == *record) {
        Some(place) => {
            left.remove(place);
            false
        }
        None => true,
    };
    one.iter().filter(is_new).count()
}

/// Attributes with unknown domains are charged by (ε, δ), and a change of several of them by the convolution of those
/// pairs, groups by chains: nothing but a comment said that this may be done. Every table of three people against every
/// other one, all outputs.
#[test]
fn events_of_unknown_domains_may_be_convolved_and_chained() {
    let node = |children: Vec<Child>, threshold: i64, clip: i64, scale: f64| Node {
        children,
        threshold,
        clip,
        scale: Scale::new(scale).unwrap(),
    };
    let names = ["a".to_string(), "b".to_string()];
    let scope = |set: &[usize]| Scope::Attributes(AttributeSet::new(set.iter().map(|&j| names[j].clone())).unwrap());
    let domains = [2, 2];
    for (low, high, scale, root_scale) in [(3, 3, 1.0, 1.0), (2, 3, 0.7, 1.5), (2, 2, 2.0, 0.6)] {
        let clip = if scale > 1.0 { low - 1 } else { (low - 1).max(1) };
        let leaves = [0, 1].map(|attribute| node(vec![Child::Attribute(attribute)], low, clip, scale));
        let root = node(vec![Child::Node(0), Child::Node(1)], high, high - 1, root_scale);
        let Ok(tree) = Tree::new(2, [leaves.to_vec(), vec![root]].concat(), &[0, 1]) else { panic!("{low} {scale}") };
        let events = tree.events(&names).unwrap();
        let tables = datasets(&domains, 3);
        let laws: Vec<_> = tables.iter().map(|table| distribution_of(&tree, &domains, table)).collect();
        for (set, owners) in [(vec![0], 1u32), (vec![0, 1], 1), (vec![0], 2), (vec![0, 1], 2), (vec![0, 1], 3)] {
            let kept: Vec<usize> = (0..2).filter(|j| !set.contains(j)).collect();
            let column = |table: &Dataset, j: usize| {
                let mut values: Vec<u32> = table.iter().map(|record| record[j]).collect();
                values.sort_unstable();
                values
            };
            let group = scope(&set).group(owners.try_into().unwrap());
            let loss = Loss::of(&events, if owners == 1 { scope(&set) } else { group }).unwrap();
            for epsilon in [0.0, 0.3, 1.0, 2.0, 3.5, 5.0] {
                let found = loss.delta(Epsilon::new(epsilon).unwrap());
                let mut worst = 0.0f64;
                for (place, other) in (0..tables.len()).flat_map(|i| (0..tables.len()).map(move |j| (i, j))) {
                    let (one, two) = (&tables[place], &tables[other]);
                    let is_near =
                        apart(one, two) <= owners as usize && kept.iter().all(|&j| column(one, j) == column(two, j));
                    if is_near {
                        worst = worst.max(laws[place].hockey_stick_lower(&laws[other], epsilon));
                    }
                }
                assert!(found.upper >= worst * (1.0 - 1e-9), "{set:?} {owners} at {epsilon}: {found:?} {worst}");
            }
        }
    }
}

/// The same for three attributes of two values in an uneven tree, ((0),((1),(2))) with other thresholds and scales on
/// each level: two people, every table against every other one, all outputs.
#[test]
fn events_of_unknown_domains_may_be_convolved_in_an_uneven_tree() {
    let node = |children: Vec<Child>, threshold: i64, clip: i64, scale: f64| Node {
        children,
        threshold,
        clip,
        scale: Scale::new(scale).unwrap(),
    };
    let names = ["a", "b", "c"].map(str::to_string);
    let scope = |set: &[usize]| Scope::Attributes(AttributeSet::new(set.iter().map(|&j| names[j].clone())).unwrap());
    let domains = [2, 2, 2];
    let leaf = |attribute: usize, threshold: i64, scale: f64| {
        node(vec![Child::Attribute(attribute)], threshold, threshold - 1, scale)
    };
    let nodes = vec![
        leaf(0, 3, 1.0),
        leaf(1, 2, 1.8),
        leaf(2, 2, 1.8),
        node(vec![Child::Node(1), Child::Node(2)], 2, 1, 0.9),
        node(vec![Child::Node(0), Child::Node(3)], 3, 2, 1.3),
    ];
    let tree = Tree::new(3, nodes, &[0, 1, 2]).unwrap();
    let events = tree.events(&names).unwrap();
    let tables = datasets(&domains, 2);
    let laws: Vec<_> = tables.iter().map(|table| distribution_of(&tree, &domains, table)).collect();
    for (set, owners) in
        [(vec![1], 1u32), (vec![0, 1], 1), (vec![1, 2], 1), (vec![0, 1, 2], 1), (vec![0, 2], 2), (vec![0, 1, 2], 2)]
    {
        let group = if owners == 1 { scope(&set) } else { scope(&set).group(owners.try_into().unwrap()) };
        let loss = Loss::of(&events, group).unwrap();
        let kept: Vec<usize> = (0..3).filter(|j| !set.contains(j)).collect();
        let column = |table: &Dataset, j: usize| {
            let mut values: Vec<u32> = table.iter().map(|record| record[j]).collect();
            values.sort_unstable();
            values
        };
        let is_near = |one: &Dataset, two: &Dataset| {
            apart(one, two) <= owners as usize && kept.iter().all(|&j| column(one, j) == column(two, j))
        };
        for epsilon in [0.0, 1.0, 2.5, 5.0] {
            let found = loss.delta(Epsilon::new(epsilon).unwrap());
            let mut worst = 0.0f64;
            for (place, other) in (0..tables.len()).flat_map(|i| (0..tables.len()).map(move |j| (i, j))) {
                if is_near(&tables[place], &tables[other]) {
                    worst = worst.max(laws[place].hockey_stick_lower(&laws[other], epsilon));
                }
            }
            assert!(worst > 0.0 || epsilon > 0.0, "{set:?}: nothing is told apart");
            assert!(found.upper >= worst * (1.0 - 1e-9), "{set:?} {owners} at {epsilon}: {found:?} {worst}");
        }
    }
}
