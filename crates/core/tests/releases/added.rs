//! Mechanisms that add noise to integers: what comes out, less what went in, has the law of the event.

use scumble::event::{Event, Moves, Shift, Word};
use scumble::mechanism::additive::{Additive, Noise};
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, CellKind, ElementCount, LayoutChoice, ListedCounts, Partition, Phase,
};
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::heavy_hitters::{Child, HeavyHitters, Node, Tree};
use scumble::mechanism::histogram::Histogram;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::k_norm::KNormMechanism;
use scumble::mechanism::quantile::{QuantileTree, ThresholdCounts};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Epsilon, Scale, Sigma};
use scumble::workload::People;
use scumble::{AttributeSet, Scope, Target};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, frequency, noise, outcomes, proportional};
use std::collections::BTreeMap;

fn one() -> Moves {
    Moves::everywhere(Shift::one_cell(1.0).unwrap())
}

fn sigma(value: f64) -> Sigma {
    Sigma::new(value).unwrap()
}

fn scale(value: f64) -> Scale {
    Scale::new(value).unwrap()
}

/// Noise whose event says what was added.
fn noises() -> Vec<Noise> {
    vec![
        Noise::laplace(scale(3.3)),
        Noise::laplace(scale(0.8)),
        Noise::gaussian(sigma(4.2)),
        Noise::gaussian(sigma(0.9)),
        Noise::sinh_normal(sigma(1.286), scale(2.7)).unwrap(),
    ]
}

fn as_said(what: &str, drawn: &[i64], event: &Event) {
    noise(what, drawn, &IntegerDistribution::of_event(event, 1.0), &IntegerDistribution::of_event(event, SLIP));
}

pub fn additive() {
    for noise in noises() {
        let mechanism = Additive::new(noise.clone(), one());
        let name = format!("additive {}", noise.name());
        let drawn = mechanism.release(&vec![1000; DRAWS], &mut InsecureSeededSource::new(1));
        as_said(
            &name,
            &drawn.iter().map(|value| value - 1000).collect::<Vec<_>>(),
            &mechanism.events().unwrap().remove(0),
        );
        // The first draws of an object are made in another way.
        let mut bits = InsecureSeededSource::new(2);
        let few = |_| Additive::new(fresh(&noise), one()).release(&[7, 7, 7], &mut bits);
        let drawn: Vec<i64> = (0..DRAWS / 3).flat_map(few).map(|value| value - 7).collect();
        as_said(&format!("{name}, first draws"), &drawn, &mechanism.events().unwrap().remove(0));
    }
    truncated();
}

/// The same noise in a new object.
fn fresh(noise: &Noise) -> Noise {
    match noise {
        Noise::Laplace(noise) => Noise::laplace(noise.scale()),
        Noise::Gaussian(noise) => Noise::gaussian(noise.sigma()),
        other => other.clone(),
    }
}

/// Truncated noise is (ε, δ): neighbouring masses are e^ε apart, and the last has mass δ.
fn truncated() {
    let mechanism = Additive::new(Noise::truncated_laplace(scale(2.0), 10).unwrap(), one());
    let event = mechanism.events().unwrap().remove(0);
    let Word::Approximate { epsilon, delta } = event.word() else { panic!("{event:?}") };
    let law = |epsilon: f64| IntegerDistribution::of_weights(10, |z| (-epsilon * z.abs() as f64).exp());
    let claimed = law(epsilon.get());
    assert!((delta.get() / claimed.mass(10) - 1.0).abs() < 1e-9, "{delta:?}");
    let drawn = mechanism.release(&vec![0; DRAWS], &mut InsecureSeededSource::new(3));
    noise("additive truncated", &drawn, &claimed, &law(epsilon.get() / SLIP));
}

/// The other ways to draw from [`Noise`], which mechanisms are made of.
pub fn noise_by_itself() {
    for noise in noises() {
        let (event, mut bits) = (noise.event(one()).unwrap(), InsecureSeededSource::new(4));
        let wide: Vec<i64> =
            (0..DRAWS).map(|_| noise.add_to_wide(1 << 100, &mut bits) - (1 << 100)).map(small).collect();
        as_said(&format!("{} added to a wide number", noise.name()), &wide, &event);
        let single: Vec<i64> = (0..DRAWS).map(|_| noise.sample(&mut bits)).collect();
        as_said(&format!("{} by itself", noise.name()), &single, &event);
        let mut filled = vec![0; DRAWS];
        noise.fill(&mut bits, &mut filled);
        as_said(&format!("{} at once", noise.name()), &filled, &event);
    }
}

fn small(value: i128) -> i64 {
    i64::try_from(value).unwrap()
}

pub fn histogram() {
    for noise in noises() {
        let histogram = Histogram::new(noise);
        let drawn = histogram.release(&vec![-5; DRAWS], &mut InsecureSeededSource::new(5));
        let drawn: Vec<i64> = drawn.iter().map(|value| value + 5).collect();
        as_said(&format!("histogram {}", histogram.noise().name()), &drawn, &histogram.events().unwrap().remove(0));
    }
}

pub fn people() {
    let people = People::new(scumble::quantity::Rho::new(0.01).unwrap()).unwrap();
    let mut bits = InsecureSeededSource::new(6);
    let drawn: Vec<i64> = (0..DRAWS).map(|_| people.release(1000, &mut bits) as i64 - 1000).collect();
    as_said("people", &drawn, &people.events().unwrap().remove(0));
}

/// A vector at distance m in the maximum norm has probability ∝ e^{−εm}, and there are (2m+1)^k − (2m−1)^k of them.
pub fn k_norm() {
    let mechanism = KNormMechanism::new(scale(2.0), 3, one()).unwrap();
    let event = mechanism.events().unwrap().remove(0);
    let Word::Pure { epsilon } = event.word() else { panic!("{event:?}") };
    let law = |epsilon: f64| {
        let shell = |m: i64| ((2 * m + 1).pow(3) - (2 * m - 1).max(0).pow(3)) as f64;
        proportional((0..120).map(|m| (m, shell(m) * (-epsilon * m as f64).exp())))
    };
    let mut bits = InsecureSeededSource::new(7);
    let norm = |vector: Vec<i64>| vector.iter().map(|value| (value - 9).abs()).max().unwrap();
    let drawn = (0..DRAWS).map(|_| norm(mechanism.release(&[9, 9, 9], &mut bits).unwrap()));
    outcomes("k-norm", drawn, &law(epsilon.get()), &law(epsilon.get() / SLIP));
    let alone = |noise: Vec<i128>| noise.iter().map(|value| value.unsigned_abs() as i64).max().unwrap();
    let drawn = (0..DRAWS).map(|_| alone(mechanism.noise(&mut bits)));
    outcomes("k-norm, the noise alone", drawn, &law(epsilon.get()), &law(epsilon.get() / SLIP));
}

/// A root and two leaves. Consistent, three times the first leaf is 2·l₀ + r − l₁ and three times the whole is
/// 2·r + l₀ + l₁; the counts are so far apart that nothing has to be made monotone.
pub fn cdf() {
    for noise_of_node in [Noise::gaussian(sigma(4.0)), Noise::laplace(scale(3.0))] {
        let cdf = Cdf::with_branching(2, 2, noise_of_node).unwrap();
        let event = cdf.events().unwrap().remove(0);
        let law = |factor: f64| {
            let node = IntegerDistribution::of_event(&event, factor);
            node.times(2).plus(&node).plus(&node)
        };
        let (claimed, slipped) = (law(1.0), law(SLIP));
        let mut bits = InsecureSeededSource::new(8);
        let thrice = |value: f64, truth: f64| (3.0 * (value - truth)).round() as i64;
        let released: Vec<Vec<f64>> = (0..DRAWS).map(|_| cdf.release(&[5000, 7000], &mut bits).unwrap()).collect();
        let first: Vec<i64> = released.iter().map(|below| thrice(below[0], 5000.0)).collect();
        noise("cdf, first key", &first, &claimed, &slipped);
        let whole: Vec<i64> = released.iter().map(|below| thrice(below[1], 12_000.0)).collect();
        noise("cdf, last key", &whole, &claimed, &slipped);
    }
}

/// The threshold at the end of the domain is the root, the first is a leaf.
pub fn cdf_at() {
    let cdf = Cdf::with_branching(4, 2, Noise::gaussian(sigma(4.0))).unwrap();
    let event = cdf.events().unwrap().remove(0);
    let values: Vec<u64> = [0u64, 3].iter().flat_map(|value| [*value; 200]).collect();
    let mut bits = InsecureSeededSource::new(9);
    let released: Vec<Vec<f64>> = (0..DRAWS).map(|_| cdf.release_at(&values, &[0, 3], &mut bits).unwrap()).collect();
    for (index, truth) in [(0, 200.0), (1, 400.0)] {
        let drawn: Vec<i64> = released.iter().map(|below| (below[index] - truth).round() as i64).collect();
        as_said(&format!("cdf at threshold {index}"), &drawn, &event);
    }
}

/// The layout's phase is drawn evenly.
pub fn phases() {
    let mut bits = InsecureSeededSource::new(16);
    let drawn: Vec<Phase> = (0..DRAWS).map(|_| Phase::draw(&mut bits)).collect();
    let all: Vec<Phase> = Phase::all().collect();
    for (number, phase) in all.iter().enumerate() {
        let hits = drawn.iter().filter(|drawn| *drawn == phase).count();
        frequency(&format!("phase {number}"), hits, DRAWS, 1.0 / all.len() as f64);
    }
}

pub fn anonymized_histogram() {
    let attributes = AttributeSet::new(["name"]).unwrap();
    let data = Partition::from_counts([9, 5, 3, 1, 1]).unwrap();
    let check = |name: &str, mechanism: AnonymizedHistogram, runs: usize, seed: u64| {
        let mut bits = InsecureSeededSource::new(seed);
        let (mut areas, mut sizes) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let released = mechanism.release(&data, &mut bits).unwrap();
            let exact = released.layout.areas(&data);
            let pairs =
                released.noisy.rows.iter().zip(&exact.rows).chain(released.noisy.strips.iter().zip(&exact.strips));
            areas.extend(pairs.map(|(noisy, exact)| noisy - exact));
            sizes.extend(released.size_estimate.map(|size| size - data.elements() as i64));
        }
        let mut events = mechanism.events(&attributes).unwrap();
        if !sizes.is_empty() {
            as_said(&format!("{name}, size"), &sizes, &events.remove(0));
        }
        as_said(name, &areas, &events[0]);
    };
    let epsilon = |value: f64| Epsilon::new(value).unwrap();
    check(
        "anonymized histogram",
        AnonymizedHistogram::within(Target::pure(epsilon(2.0)), Scope::Presence, ElementCount::Private).unwrap(),
        DRAWS * 2 / 5,
        10,
    );
    let strips = AnonymizedHistogram::within(Target::pure(epsilon(0.4)), Scope::Presence, ElementCount::AtMost(400))
        .unwrap()
        .with_layout(LayoutChoice::Strips);
    check("anonymized histogram in strips", strips, DRAWS / 10, 11);
    let three = AnonymizedHistogram::within(Target::pure(epsilon(2.0)), Scope::Presence, ElementCount::AtMost(30))
        .unwrap()
        .with_elements_per_owner(3)
        .unwrap();
    check("anonymized histogram of three elements per owner", three, DRAWS / 10, 12);
}

/// The cells of listed values and of a tally have the noise that the event is made of; the first cells of an object are
/// drawn in another way.
pub fn listed_counts() {
    for (what, of, seed) in [(CellKind::Values, 2.5, 18), (CellKind::Tally, 0.8, 19)] {
        let counts: Vec<i64> = (0..60).map(|cell| 7 * cell % 40).collect();
        let listed = ListedCounts::new(what, 60, scale(of)).unwrap();
        let event = listed.noise().event(one()).unwrap();
        let mut bits = InsecureSeededSource::new(seed);
        let mut drawn = |listed: &ListedCounts| {
            let noisy = listed.release(&counts, &mut bits).unwrap().noisy;
            noisy.iter().zip(&counts).map(|(noisy, exact)| noisy - exact).collect::<Vec<i64>>()
        };
        let all: Vec<i64> = (0..DRAWS / 60).flat_map(|_| drawn(&listed)).collect();
        as_said(&format!("listed counts of {what:?}"), &all, &event);
        let all: Vec<i64> =
            (0..DRAWS / 180).flat_map(|_| drawn(&ListedCounts::new(what, 60, scale(of)).unwrap())).collect();
        as_said(&format!("listed counts of {what:?}, first draws"), &all, &event);
    }
}

/// A present key shows with its noisy count, an absent one with what noise alone is, both from the threshold on; each
/// by itself, so that keys of one kind are counted together.
pub fn huge_domain() {
    let (threshold, count) = (4i64, 6i64);
    let histogram = HugeDomainHistogram::with_threshold(29, scale(2.5), threshold).unwrap();
    let event = histogram.events().unwrap().remove(0);
    let law = |count: i64, factor: f64| published(&IntegerDistribution::of_event(&event, factor), count, threshold);
    let mut bits = InsecureSeededSource::new(13);
    let present: Vec<(u128, i64)> = (0..10).map(|key| (3 * key, count)).collect();
    let released: Vec<BTreeMap<u128, i64>> =
        (0..DRAWS / 10).map(|_| histogram.release(&present, &mut bits).unwrap().into_iter().collect()).collect();
    let shown = |is_present: bool| {
        let keys = (0..30u128).filter(move |key| key.is_multiple_of(3) == is_present);
        released.iter().flat_map(move |shown| keys.clone().map(|key| shown.get(&key).copied()))
    };
    outcomes("huge domain, present keys", shown(true), &law(count, 1.0), &law(count, SLIP));
    outcomes("huge domain, absent keys", shown(false), &law(0, 1.0), &law(0, SLIP));
}

/// Nothing, or a noisy count from the threshold on.
pub fn published(noise: &IntegerDistribution, count: i64, threshold: i64) -> BTreeMap<Option<i64>, f64> {
    let mut law = BTreeMap::from([(None, 1.0 - noise.at_least(threshold - count))]);
    law.extend(noise.iter().filter(|(z, _)| count + z >= threshold).map(|(z, mass)| (Some(count + z), mass)));
    law
}

/// One attribute under a threshold of 5 with clip 3, and two attributes, each under such a node, joined by a root.
pub fn heavy_hitters() {
    let node = |children: Vec<Child>, threshold: i64| Node { children, threshold, clip: 3, scale: scale(2.0) };
    let tree = Tree::new(1, vec![node(vec![Child::Attribute(0)], 5)], &[]).unwrap();
    let event = tree.events(&["a".to_string()]).unwrap().remove(2);
    assert!(matches!(event.word(), Word::HeavyHitters { .. }), "{event:?}");
    let finder = HeavyHitters::new(tree, vec![2]).unwrap();
    let mut bits = InsecureSeededSource::new(14);
    let column = vec![0u8, 0, 0, 0, 0, 0, 1];
    let listed: Vec<BTreeMap<u32, i64>> = (0..DRAWS)
        .map(|_| {
            let strings = finder.release(std::slice::from_ref(&column), &mut bits).unwrap().strings;
            strings.into_iter().map(|string| (string.values[0], string.count)).collect()
        })
        .collect();
    // Value 1 has one person, who counts as the floor of 2.
    for (value, count) in [(0, 6), (1, 2)] {
        let law = |factor: f64| published(&IntegerDistribution::of_event(&event, factor), count, 6);
        let drawn = listed.iter().map(|shown| shown.get(&value).copied());
        outcomes(&format!("heavy hitters, value {value}"), drawn, &law(1.0), &law(SLIP));
    }

    let nodes = vec![
        node(vec![Child::Attribute(0)], 5),
        node(vec![Child::Attribute(1)], 5),
        node(vec![Child::Node(0), Child::Node(1)], 9),
    ];
    let tree = Tree::new(2, nodes, &[]).unwrap();
    let names = ["a".to_string(), "b".to_string()];
    let event = tree.events(&names).unwrap().remove(2);
    let finder = HeavyHitters::new(tree, vec![1, 1]).unwrap();
    let columns = vec![vec![0u8; 7], vec![0u8; 7]];
    let found = (0..DRAWS).filter(|_| !finder.release(&columns, &mut bits).unwrap().strings.is_empty()).count();
    let passes = |above: i64| IntegerDistribution::of_event(&event, 1.0).at_least(above + 1);
    frequency("heavy hitters, three nodes", found, DRAWS, passes(5 - 7).powi(2) * passes(9 - 7));
}

pub fn threshold_counts() {
    let tree = QuantileTree::new(7, 1, Epsilon::new(1.0).unwrap()).unwrap();
    let counts = ThresholdCounts::new(tree, Noise::laplace(scale(2.5)));
    let event = counts.events().unwrap().pop().unwrap();
    let mut bits = InsecureSeededSource::new(15);
    let values = vec![3u128; 60];
    let draws = DRAWS / 2;
    let drawn: Vec<i64> = (0..draws).map(|_| counts.release(&values, &mut bits).unwrap().total as i64 - 60).collect();
    as_said("threshold counts, total", &drawn, &event);
}
