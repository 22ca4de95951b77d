//! Golden vectors and exhaustive enumeration of the tree's cost.

use super::cost::{inclusion_loss, ln_fail_probability, ln_pass_probability};
use super::*;
use crate::quantity::{Delta, Epsilon, Scale};
use serde_json::Value;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/partial.json");
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
        let children = value["children"].as_array().unwrap().iter().map(|child| add(child, nodes, attributes)).collect();
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
        let computed = path_epsilon(Scale::new(scale).unwrap(), clip as u32, rise as u32, levels as u32);
        close(computed, wanted, 2e-12, &format!("{row}"));
        assert!(computed >= wanted);
        close(path_tree(scale, clip, rise, levels as usize).epsilon(&[0]), wanted, 2e-12, "as a tree");
        assert!(computed <= number(&row["corrected_lemma28_bound"]) * (1.0 + 1e-9));
    }
}

#[test]
fn every_subset_of_every_tree_costs_what_the_vectors_say() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_trees") {
        let tree = tree_of(&row["tree"]);
        for subset_row in row["subsets"].as_array().unwrap() {
            close(tree.epsilon(&subset(subset_row)), number(&subset_row["eps"]), 2e-12, &format!("{subset_row}"));
        }
        close(tree.epsilon_person(), number(&row["person_substitution"]), 2e-12, "person");
        close(tree.epsilon_presence(), number(&row["person_add_remove"]), 2e-12, "presence");
        assert_eq!(tree.epsilon(&[]), 0.0);
        assert!(tree.epsilon_person() <= number(&row["prop8_bound"]) * (1.0 + 1e-9), "group privacy is not better");
    }
}

#[test]
fn the_concentrated_cost_lies_between_the_lower_and_the_certified_value() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_zcdp_single_attribute") {
        let rise = integer(&row["mu"]);
        let rho = path_tree(number(&row["lam"]), rise, rise, integer(&row["H"]) as usize).rho(&[0]);
        assert!(rho >= number(&row["rho_with_counts_lower"]), "{rho} is unsound: {row}");
        assert!(rho <= number(&row["rho_with_counts_upper"]), "{rho} is loose: {row}");
    }
    let balanced = rows(&vectors, "hh_trees").into_iter().find(|row| row["name"] == "balanced4").map(|row| tree_of(&row["tree"]));
    if let Some(tree) = balanced {
        for row in rows(&vectors, "hh_zcdp_subsets") {
            let rho = tree.rho(&subset(row));
            assert!(rho <= number(&row["rho_certified_upper"]), "{rho} is loose: {row}");
            assert!(rho >= number(&row["rho_certified_upper"]) / 1.03, "{rho} is suspiciously small: {row}");
        }
    } else {
        panic!("the vectors have no balanced4");
    }
}

#[test]
fn calibration_finds_the_smallest_scale_of_the_vectors() {
    let vectors = vectors();
    for row in rows(&vectors, "hh_calibration") {
        let levels = integer(&row["H"]) as usize;
        let shape = (1..levels).fold(Shape::Join(vec![Shape::Attribute(0)]), |below, _| Shape::Join(vec![below]));
        let rule = Rule { clip: (16.0 / number(&row["nu"])).ln(), gap: 0.0, ..Rule::default() };
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
    for shape in [Shape::balanced(5).unwrap(), Shape::caterpillar(5).unwrap()] {
        let tree = Rule::default().calibrate(&shape, &targets).unwrap();
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
        close(tree.delta(&[0]), number(&row["delta_bound"]), 2e-12, &format!("{row}"));
        close(tree.epsilon(&[0]), number(&row["eps"]), 2e-12, &format!("{row}"));
        assert_eq!(tree.delta(&[]), 0.0);
    }
}

#[test]
fn a_rule_for_unknown_domains_keeps_its_delta() {
    let delta = Delta::new(1e-7).unwrap();
    let rule = Rule { unknown: vec![1], unknown_delta: delta, ..Rule::default() };
    let shape = Shape::balanced(3).unwrap().with_thresholds_above(&[1]);
    let tree = rule.calibrate(&shape, &[Epsilon::new(1.0).unwrap(); 3]).unwrap();
    assert!(tree.delta(&[0, 1, 2]) <= 1e-7 * (1.0 + 1e-9));
    assert!(tree.delta(&[0, 1, 2]) > 1e-8);
    assert_eq!(tree.delta(&[0, 2]), 0.0);
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
    check(1, vec![node(vec![a, a], 5, 2)], &[], "joined already");
    check(2, vec![node(vec![a, b], 5, 2)], &[1], "threshold node of its own");
    check(1, vec![node(vec![a], 5, 5)], &[0], "at most its threshold − 1");
    check(1, vec![node(vec![a], 5, 1)], &[0], "too small for its scale");
    check(2, vec![node(vec![a], 5, 2), node(vec![b], 5, 2)], &[], "not joined by any other");
}
