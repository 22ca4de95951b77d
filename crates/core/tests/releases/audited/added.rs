//! Noise that is added to integers.

use super::{Audit, nearer};
use scumble::Target;
use scumble::event::{Moves, Shift};
use scumble::mechanism::additive::{Additive, Noise};
use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, CellKind, ElementCount, ListedCounts, Partition};
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::heavy_hitters::{Child, HeavyHitters, Node, Tree};
use scumble::mechanism::histogram::Histogram;
use scumble::mechanism::huge_domain::HugeDomainHistogram;
use scumble::mechanism::k_norm::KNormMechanism;
use scumble::mechanism::quantile::{QuantileTree, ThresholdCounts};
use scumble::parties::sum::{OwnerContribution, Ring, SharedSum, Trust};
use scumble::quantity::{Epsilon, Rho, Scale, Sigma};
use scumble::scope::{AttributeSet, Scope};
use scumble::workload::People;

fn one() -> Moves {
    Moves::everywhere(Shift::one_cell(1.0).unwrap())
}

pub(super) fn scale(value: f64) -> Scale {
    Scale::new(value).unwrap()
}

pub(super) fn gaussian(sigma: f64) -> Noise {
    Noise::gaussian(Sigma::new(sigma).unwrap())
}

fn noises() -> Vec<Noise> {
    vec![
        Noise::laplace(scale(1.2)),
        Noise::laplace(scale(0.4)),
        gaussian(1.3),
        gaussian(0.6),
        Noise::sinh_normal(Sigma::new(1.286).unwrap(), scale(2.7)).unwrap(),
        Noise::truncated_laplace(scale(1.2), 12).unwrap(),
    ]
}

pub fn additive() {
    for (noise, seed) in noises().into_iter().zip(1000..) {
        let name = noise.name();
        let mechanism = Additive::new(noise, one());
        Audit::of(name, &mechanism.events().unwrap(), &Scope::Presence)
            .tells(seed, |moved, bits| mechanism.release(&[7 + i64::from(moved)][..], bits)[0] as f64);
    }
}

/// The other ways to draw from a noise.
pub fn noise_by_itself() {
    for (noise, seed) in noises().into_iter().zip([1010, 1020, 1030, 1040, 1050, 1060]) {
        // The curves are the same for all of them.
        let claims = Audit::of("", &[noise.event(one()).unwrap()], &Scope::Person);
        let audit = |way: &str| claims.clone().called(format!("{} {way}", noise.name()));
        audit("added to all").tells(seed, |moved, bits| {
            let mut answers = [5, i64::from(moved)];
            noise.add_to_all(&mut answers, bits);
            answers[1] as f64
        });
        audit("added to a wide number").tells(seed + 1, |moved, bits| {
            (noise.add_to_wide((1 << 100) + i128::from(moved), bits) - (1 << 100)) as f64
        });
        audit("by itself").tells(seed + 2, |moved, bits| (noise.sample(bits) + i64::from(moved)) as f64);
        audit("at once").tells(seed + 3, |moved, bits| {
            let mut filled = [0; 2];
            noise.fill(bits, &mut filled);
            (filled[1] + i64::from(moved)) as f64
        });
    }
}

/// A replaced owner moves two counts.
pub fn histogram() {
    for (noise, seed) in [Noise::laplace(scale(1.5)), gaussian(1.3)].into_iter().zip(1070..) {
        let histogram = Histogram::new(noise);
        let events = histogram.events().unwrap();
        Audit::of("histogram, presence", &events, &Scope::Presence)
            .tells(seed, |moved, bits| histogram.release(&[4 + i64::from(moved), 9], bits)[0] as f64);
        let (here, there) = ([4, 9], [5, 8]);
        Audit::of("histogram, person", &events, &Scope::Person).tells(seed + 10, |moved, bits| {
            let noisy = histogram.release(if moved { &there } else { &here }, bits);
            if seed == 1070 { nearer(&noisy, &here, &there) } else { (noisy[0] - noisy[1]) as f64 }
        });
    }
}

pub fn people() {
    let people = People::new(Rho::new(0.3).unwrap()).unwrap();
    Audit::of("people", &people.events().unwrap(), &Scope::Presence)
        .tells(1090, |moved, bits| people.release(1000 + u64::from(moved), bits) as f64);
}

/// All coordinates move by 1, and one of the two points is nearer in the largest of them.
pub fn k_norm() {
    let mechanism = KNormMechanism::new(scale(1.2), 3, one()).unwrap();
    let off = |vector: &[i64], centre: i64| vector.iter().map(|value| value.abs_diff(centre)).max().unwrap() as f64;
    Audit::of("k-norm", &mechanism.events().unwrap(), &Scope::Presence).tells(1100, |moved, bits| {
        let vector = mechanism.release(&[9 + i64::from(moved); 3], bits).unwrap();
        off(&vector, 9) - off(&vector, 10)
    });
}

/// Of a root over two leaves: what is consistent is sufficient for Gaussian noise, with weights 2 and 1 for the leaves.
pub fn cdf() {
    let cdf = Cdf::with_branching(2, 2, gaussian(1.8)).unwrap();
    Audit::of("cdf", &cdf.events().unwrap(), &Scope::Presence).tells(1110, |moved, bits| {
        let below = cdf.release(&[5000 + i64::from(moved), 7000], bits).unwrap();
        below[0] + below[1]
    });
}

/// A leaf, the node above it and the root, each under its own noise.
pub fn cdf_at() {
    let cdf = Cdf::with_branching(4, 2, gaussian(2.2)).unwrap();
    let values = [vec![0u64; 20], vec![3; 20]].concat();
    let more = [&values[..], &[0]].concat();
    Audit::of("cdf at thresholds", &cdf.events().unwrap(), &Scope::Presence).tells(1120, |moved, bits| {
        cdf.release_at(if moved { &more } else { &values }, &[0, 1, 3], bits).unwrap().iter().sum()
    });
}

/// One element more in a known layout moves one area by 1; a private size moves beside it.
pub fn anonymized_histogram() {
    let (here, there) =
        (Partition::from_counts([9, 5, 3, 1, 1]).unwrap(), Partition::from_counts([9, 5, 4, 1, 1]).unwrap());
    let epsilon = |value: f64| Epsilon::new(value).unwrap();
    for (size, at, seed) in [(ElementCount::AtMost(30), 1.0, 1130), (ElementCount::Private, 1.6, 1131)] {
        let mechanism = AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, size).unwrap();
        let events = mechanism.events(&AttributeSet::new(["name"]).unwrap()).unwrap();
        Audit::of("anonymized histogram", &events, &Scope::Presence).runs(40_000).tells(seed, |moved, bits| {
            let released = mechanism.release(if moved { &there } else { &here }, bits).unwrap();
            let (from, to) = (released.layout.areas(&here), released.layout.areas(&there));
            let areas = nearer(&released.noisy.rows, &from.rows, &to.rows)
                + nearer(&released.noisy.strips, &from.strips, &to.strips);
            let sizes = released.size_estimate.map_or(0.0, |size| {
                let (one, other) = (here.elements() as i64, there.elements() as i64);
                nearer(&[size], &[one], &[other]) * mechanism.epsilon_for_size().unwrap().get()
            });
            areas / released.scale().get() + sizes
        });
    }
}

/// One element more moves the count of its value; an owner with one row more leaves one count of rows for the next, and
/// both cells tell.
pub fn listed_counts() {
    let listed = |what: CellKind, of: f64| ListedCounts::new(what, 3, scale(of)).unwrap();
    let values = listed(CellKind::Values, 1.2);
    let events = [values.noise().event(one()).unwrap()];
    Audit::of("listed values", &events, &Scope::Presence)
        .tells(1170, |moved, bits| values.release(&[50, 6 + i64::from(moved), 0], bits).unwrap().noisy[1] as f64);
    let (here, there) = ([9, 4, 1], [9, 3, 2]);
    let tally = listed(CellKind::Tally, 1.5);
    let two = Moves::everywhere(Shift::new(2, 1.0).unwrap());
    Audit::of("a tally", &[tally.noise().event(two).unwrap()], &Scope::Presence).tells(1171, |moved, bits| {
        nearer(&tally.release(if moved { &there } else { &here }, bits).unwrap().noisy, &here, &there)
    });
}

/// One owner more of a key that is far above the threshold.
pub fn huge_domain() {
    let histogram = HugeDomainHistogram::with_threshold(29, scale(1.2), 4).unwrap();
    Audit::of("huge domain", &histogram.events().unwrap(), &Scope::Presence).tells(1140, |moved, bits| {
        let shown = histogram.release(&[(3, 20 + i64::from(moved))], bits).unwrap();
        shown.iter().find(|(key, _)| *key == 3).map_or(-1.0, |(_, count)| *count as f64)
    });
}

/// Somebody's value of the attribute changes: one listed string loses, one gains.
pub fn heavy_hitters() {
    let node = Node { children: vec![Child::Attribute(0)], threshold: 5, clip: 3, scale: scale(2.0) };
    let tree = Tree::new(1, vec![node], &[]).unwrap();
    let events = tree.events(&["a".to_string()]).unwrap();
    let scope = Scope::Attributes(AttributeSet::new(["a"]).unwrap());
    let finder = HeavyHitters::new(tree, vec![2]).unwrap();
    let column = |zeros: usize| vec![(0..50).map(|person| u8::from(person >= zeros)).collect::<Vec<u8>>()];
    let (here, there) = (column(25), column(26));
    Audit::of("heavy hitters", &events, &scope).tells(1150, |moved, bits| {
        let strings = finder.release(if moved { &there } else { &here }, bits).unwrap().strings;
        let near = |value: u32, from: i64, to: i64| {
            let found = strings.iter().find(|string| string.values[0] == value);
            found.map_or(0.0, |string| nearer(&[string.count], &[from], &[to]))
        };
        near(0, 25, 26) + near(1, 25, 24)
    });
}

/// The total has its own noise; the tree beside it costs next to nothing.
pub fn threshold_counts() {
    let tree = QuantileTree::new(7, 1, Epsilon::new(0.01).unwrap()).unwrap();
    let counts = ThresholdCounts::new(tree, Noise::laplace(scale(1.2)));
    let (here, there) = (vec![3u128; 20], vec![3u128; 21]);
    Audit::of("threshold counts", &counts.events().unwrap(), &Scope::Presence)
        .tells(1160, |moved, bits| counts.release(if moved { &there } else { &here }, bits).unwrap().total);
}

/// Two honest parties and a colluder, who leaves out its noise; the neighbour's owner is at one of the honest ones.
pub fn shared_sum() {
    let trust = Trust::new(3, 1, 0, 2).unwrap();
    let sum = SharedSum::within(
        Target::pure("1".parse().unwrap()),
        Scope::Presence,
        1,
        OwnerContribution { cells: 1, by: 1 },
        trust,
    )
    .unwrap();
    let events = sum.events(&AttributeSet::new(["disease"]).unwrap()).unwrap();
    Audit::of("shared sum", &events, &Scope::Presence).tells(1700, |moved, bits| {
        let mut servers = vec![vec![3], vec![2]];
        for value in [5 + u64::from(moved), 8] {
            let shares = sum.shares(&[value], bits).unwrap();
            servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share));
        }
        sum.opened(&servers).unwrap()[0] as f64
    });
}
