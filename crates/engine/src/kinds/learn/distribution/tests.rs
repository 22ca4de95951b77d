//! The law of what is published against what is charged, what is promised against what is drawn, and which way is
//! taken.

use super::*;
use crate::kinds::learn::tests::request_of;
use crate::project::Cost;
use crate::release::price::noise::Noise;
use scumble::event::Word;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::Delta;
use scumble::scope::{AttributeSet, Scope};
use std::collections::BTreeMap;

/// The columns a0, a1, … of type bool, none of them missing.
fn domain(columns: usize, cost: &str, public_owners: &str) -> (DistributionDomain, Cost) {
    let names: Vec<String> = (0..columns).map(|column| format!("a{column}")).collect();
    let declared: String = names.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
    let (project, request) = request_of(&format!(
        "[dataset.t]\nsource = \"t.csv\"\n{public_owners}\n[dataset.t.columns]\n{declared}[[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"t\"\nconcept = \"distribution\"\nmissing = \"never\"\ncolumns = {names:?}\ncost = {cost}\n"
    ));
    (DistributionDomain::read(&request, &project).unwrap(), request.cost)
}

fn charged(events: &[Event], scope: &Scope) -> f64 {
    scumble::Loss::of(events, scope.clone()).unwrap().epsilon(Delta::new(0.0).unwrap()).upper
}

fn attribute(name: &str) -> Scope {
    Scope::Attributes(AttributeSet::new([name]).unwrap())
}

/// Noises, and how likely each is.
fn law(noise: &Noise) -> Vec<(i64, f64)> {
    let Noise::Laplace(noise) = noise else { panic!("ε alone") };
    let a = (-1.0 / noise.scale().get()).exp();
    (-9..=9i64).map(|z| (z, (1.0 - a) / (1.0 + a) * a.powi(z.unsigned_abs() as i32))).collect()
}

/// The noise of the combinations and of the number of owners, as the events have it.
fn noises(counting: &DistributionMechanism) -> (Noise, Option<Noise>) {
    let of = |event: &Event| match event.word() {
        Word::DiscreteLaplace { scale } => Noise::laplace(*scale),
        word => panic!("{word:?}"),
    };
    let owners = counting.events.last().map(of);
    (of(&counting.events[0]), owners)
}

/// The law of all that is published of two combinations with this many owners: every noise of each, and of the number
/// of owners. What is as far apart as the noises that are tried out is left out: of such a difference not all ways are
/// seen that it can come about.
fn published(
    domain: &DistributionDomain,
    counting: &DistributionMechanism,
    exact: [i64; 2],
    listed_from: Option<i64>,
) -> BTreeMap<String, f64> {
    let (noise, owners) = noises(counting);
    let (of_counts, of_owners) = (law(&noise), owners.map_or(vec![(0, 1.0)], |noise| law(&noise)));
    let pairs = of_counts.iter().flat_map(|first| of_counts.iter().map(move |second| (first, second)));
    let mut found = BTreeMap::new();
    for ((first, p), (second, q)) in pairs.filter(|(first, second)| (first.0 - second.0).abs() <= 8) {
        let noisy = [exact[0] + first, exact[1] + second];
        for (more, r) in &of_owners {
            let owners = domain.public_owners.map_or(exact.iter().sum::<i64>() + more, |owners| owners as i64);
            let listed = (0..2).filter(|place| listed_from.is_none_or(|from| noisy[*place] >= from));
            let places = match listed_from {
                None => KeyPlaces::All,
                Some(_) => KeyPlaces::Listed(listed.clone().map(|place| vec![place]).collect()),
            };
            let counts = listed.map(|place| noisy[place]).collect();
            let noisy = NoisyDistribution { counts, places, owners: (owners as f64).max(1.0), is_cut: false };
            *found.entry(format!("{:?}", LearntDistribution::of(domain, counting, &noisy))).or_insert(0.0) += p * q * r;
        }
    }
    found
}

/// How well anybody can tell who comes or goes, another value of the column, and who is replaced, at most, from tables
/// of two combinations.
fn told(domain: &DistributionDomain, counting: &DistributionMechanism, listed_from: Option<i64>) -> [f64; 3] {
    let base = listed_from.unwrap_or(0);
    let tables = [[30, 30], [base + 1, 30], [base + 2, base]];
    let mut worst = [0.0f64; 3];
    for exact in tables {
        let here = published(domain, counting, exact, listed_from);
        for (which, neighbour) in [(0, [exact[0] - 1, exact[1]]), (1, [exact[0] - 1, exact[1] + 1])] {
            let there = published(domain, counting, neighbour, listed_from);
            // What is beyond the noises that are tried out is not compared.
            for (p, q) in here.iter().filter_map(|(outcome, p)| Some((p, there.get(outcome)?))) {
                worst[which] = worst[which].max((p / q).ln().abs());
            }
        }
    }
    worst[2] = worst[0].max(worst[1]);
    worst
}

/// What is published costs no more than is charged, and where it matters a charge that is 2% (for persons at a cost for
/// presence 6%) smaller would be too small. ε is large, because two combinations reveal only their difference, and its
/// tail is that of one noise up to a factor.
#[test]
fn what_is_published_costs_what_is_charged() {
    let cases = [
        ("{ epsilon = 40 }", "", [0.98, 0.98, 0.98]),
        ("{ epsilon = 40, scope = \"attribute\" }", "", [0.98, 0.98, 0.98]),
        ("{ epsilon = 40, scope = \"presence\" }", "", [0.98, 0.98, 0.94]),
        ("{ epsilon = 40 }", "public_owners = 61", [0.98, 0.98, 0.98]),
        ("{ epsilon = 40, scope = \"presence\" }", "public_owners = 61", [0.98, 0.98, 0.98]),
    ];
    for (cost, public, least) in cases {
        let (domain, cost) = domain(1, cost, public);
        let all = DistributionMechanism::within(&cost, &domain).unwrap();
        let listed = DistributionMechanism::listed(&cost, &domain, 2).unwrap();
        let from = listed.off.above as i64 + 1;
        for (counting, from) in [(&all, None), (&listed, Some(from))] {
            let worst = told(&domain, counting, from);
            let scopes = [Scope::Presence, attribute("a0"), Scope::Person];
            for ((worst, scope), least) in worst.into_iter().zip(scopes).zip(least) {
                let charged = charged(&counting.events, &scope);
                assert!(worst <= charged * (1.0 + 1e-9), "{scope}, {public}: {worst} is more than {charged}");
                assert!(worst > least * charged, "{scope}, {public}: {worst} would not show that {charged} is needed");
            }
        }
    }
}

fn records(columns: usize, rows: usize, code: impl Fn(usize, usize) -> u32) -> Records {
    let column = |column: usize| (0..rows).map(|row| code(row, column)).collect();
    Records { columns: (0..columns).map(column).collect(), values: vec![Vec::new(); columns] }
}

/// In 300 releases of each way what is promised with 95% fails no more often than it may, but for a chance of 1e-9; and
/// it says something.
#[test]
fn the_promise_is_kept() {
    let (small, cost) = domain(3, "{ epsilon = 1 }", "");
    let (large, _) = domain(24, "{ epsilon = 1 }", "");
    let (wide, per_attribute) = domain(70, "{ epsilon = 4, scope = \"attribute\" }", "");
    let ways = [
        (&small, DistributionMechanism::all(&cost, &small).unwrap(), 3, 2000, 300),
        (&large, DistributionMechanism::listed(&cost, &large, large.keys().unwrap()).unwrap(), 24, 2000, 300),
        (&wide, DistributionMechanism::tree(&per_attribute, &wide).unwrap(), 70, 2000, 20),
    ];
    for (seed, (domain, counting, columns, rows, runs)) in ways.into_iter().enumerate() {
        // Half have one combination, a third another, and the others are spread.
        let code = |row: usize, column: usize| match row % 6 {
            0..3 => 0,
            3 | 4 => (column % 2) as u32,
            _ => (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (20 + column % 40) & 1) as u32,
        };
        let records = records(columns, rows, code);
        let mut exact: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        for row in 0..rows {
            let codes = records.columns.iter().map(|column| column[row] as usize).collect();
            *exact.entry(codes).or_default() += 1.0 / rows as f64;
        }
        let mut bits = InsecureSeededSource::new(700 + seed as u64);
        let mut broken = 0;
        for _ in 0..runs {
            let noisy = counting.count(domain, &records, &mut bits).unwrap();
            let learnt = LearntDistribution::of(domain, &counting, &noisy);
            assert!(learnt.within < 0.35 && learnt.squared < 0.35, "{}: {learnt:?}", counting.called());
            let found: BTreeMap<&Vec<usize>, f64> = learnt.listed.iter().map(|(codes, p)| (codes, *p)).collect();
            let of_listed = found.iter().map(|(codes, p)| (p - exact.get(*codes).unwrap_or(&0.0)).abs());
            let missing = exact.iter().filter(|(codes, _)| !found.contains_key(codes));
            let off: Vec<f64> = of_listed.chain(missing.map(|(_, p)| (p - learnt.other).abs())).collect();
            let squared: f64 = off.iter().map(|off| off * off).sum();
            broken += usize::from(off.iter().any(|off| *off > learnt.within) || squared > learnt.squared);
        }
        // Binomial(300, 0.05) is above 45 with a chance below 1e-9, Binomial(20, 0.05) above 10.
        assert!(broken <= if runs == 300 { 45 } else { 10 }, "{}: {broken} of {runs}", counting.called());
    }
}

/// Few combinations have noise each, many are listed, of very many columns the tree is better; all cost what was asked
/// for.
#[test]
fn the_way_follows_from_public_numbers() {
    let of = |columns: usize, cost: &str| {
        let (domain, cost) = domain(columns, cost, "");
        DistributionMechanism::within(&cost, &domain)
    };
    let attribute_cost = "{ epsilon = 1, scope = \"attribute\" }";
    for (columns, cost, scope, called) in [
        (3, "{ epsilon = 1 }", Scope::Person, "each with noise"),
        (30, "{ epsilon = 1 }", Scope::Person, "noise can produce"),
        (30, "{ epsilon = 1, scope = \"presence\" }", Scope::Presence, "noise can produce"),
        (30, attribute_cost, attribute("a7"), "noise can produce"),
        (60, attribute_cost, attribute("a7"), "heavy hitters"),
        (150, attribute_cost, attribute("a7"), "heavy hitters"),
    ] {
        let counting = of(columns, cost).unwrap();
        assert!(counting.called().contains(called), "{columns} at {cost}: {}", counting.called());
        let pays = charged(&counting.events, &scope);
        assert!(pays <= 1.0 + 1e-12 && pays > 0.9, "{columns} at {cost}: {pays}");
    }
    let refused = |columns: usize, cost: &str| of(columns, cost).err().unwrap().to_string();
    assert!(refused(150, "{ epsilon = 1 }").contains("more than 2^120 combinations"));
    assert!(refused(30, "{ rho = 1 }").contains("a pure epsilon"));
}

/// A list that was cut promises nothing, and says so; so do too few owners.
#[test]
fn nothing_is_promised_where_nothing_is_known() {
    let (domain, cost) = domain(2, "{ epsilon = 1 }", "");
    let counting = DistributionMechanism::all(&cost, &domain).unwrap();
    let noisy = |is_cut: bool, owners: f64| NoisyDistribution {
        counts: vec![3000, 1000, 0, -4],
        places: KeyPlaces::All,
        owners,
        is_cut,
    };
    let cut = LearntDistribution::of(&domain, &counting, &noisy(true, 4000.0));
    assert!(cut.within == 1.0 && cut.said(&domain, &counting)[1].contains("was cut"));
    let few = LearntDistribution::of(&domain, &counting, &noisy(false, 1.0));
    assert!(few.within == 1.0 && few.said(&domain, &counting)[1].contains("too few"));
    let whole = LearntDistribution::of(&domain, &counting, &noisy(false, 4000.0));
    assert_eq!(whole.listed, [(vec![0, 0], 0.75), (vec![0, 1], 0.25)]);
    assert!(whole.within < 0.02 && whole.said(&domain, &counting)[1].contains("no probability is more than 0.0"));
}
