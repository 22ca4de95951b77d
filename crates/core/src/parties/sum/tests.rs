use super::*;
use crate::harness::statistics::assert_agree;
use crate::loss::Loss;
use crate::noise::InsecureSeededSource;
use crate::quantity::Delta;
use std::collections::BTreeMap;

fn vectors() -> Vec<serde_json::Value> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    let found = all["vectors"].as_array().unwrap().iter();
    let found: Vec<_> = found.filter(|vector| vector["name"].as_str().unwrap().starts_with("s10_shares")).collect();
    assert_eq!(found.len(), 3);
    found.into_iter().cloned().collect()
}

#[test]
fn the_vectors_come_out() {
    for vector in vectors() {
        let (input, expected) = (&vector["input"], &vector["expected"]);
        let near = |found: f64, wanted: &serde_json::Value, relative: f64| {
            let wanted = wanted.as_f64().unwrap();
            assert!((found - wanted).abs() <= relative * wanted, "{}: {found} is not {wanted}", vector["name"]);
        };
        let scale = Scale::new(1.0 / input["epsilon"].as_f64().unwrap()).unwrap();
        let number = |field: &str| input[field].as_u64().unwrap();
        let total = TotalNoise::new(scale, number("actual_honest"), number("planned_honest"));
        let shape = expected["shape"].as_str().unwrap();
        let (above, below) = shape.split_once('/').unwrap_or((shape, "1"));
        assert_eq!(total.shape(), above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap());
        for (z, mass) in expected["pmf"].as_array().unwrap().iter().enumerate() {
            near(total.probability(z as u64).unwrap(), mass, 1e-12);
        }
        near(total.variance(), &expected["variance"], 1e-12);
        let epsilon = total.epsilon(1).unwrap().get();
        near(epsilon, &expected["epsilon_actual"], 4e-12);
        assert!(epsilon >= expected["epsilon_actual"].as_f64().unwrap() * (1.0 - 1e-15));
    }
}

/// The spec's numbers of a shortfall.
#[test]
fn a_shortfall_costs_what_the_spec_says() {
    for (epsilon, honest, expected) in
        [(1.0, 9, 1.0989), (1.0, 5, 1.6751), (1.0, 1, 3.2962), (0.5, 9, 0.5860), (0.5, 5, 1.1375)]
    {
        let found = TotalNoise::new(Scale::new(1.0 / epsilon).unwrap(), honest, 10).epsilon(1).unwrap().get();
        assert!((found - expected).abs() < 6e-5, "{epsilon} {honest}: {found}");
    }
    let nobody = TotalNoise::new(Scale::new(1.0).unwrap(), 0, 10);
    assert_eq!(nobody.epsilon(1).unwrap(), f64::INFINITY);
    assert_eq!(TotalNoise::new(Scale::new(1e9).unwrap(), 5, 10).epsilon(1), None, "too wide to say");
}

/// Bits that somebody has chosen.
struct ChosenBits(Vec<u64>);

impl BitSource for ChosenBits {
    fn next_u64(&mut self) -> u64 {
        panic!("small rings take a few bits at a time")
    }

    fn next_bits(&mut self, count: u32) -> u64 {
        assert_eq!(count, 2);
        self.0.pop().unwrap()
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// Every way to split each of these words in the integers modulo 4, each as likely as the others.
fn splits(words: &[u64], servers: usize) -> Vec<Vec<Vec<u64>>> {
    let drawn = words.len() * (servers - 1);
    let all = 0..4u64.pow(drawn as u32);
    let chosen = |number: u64| ChosenBits((0..drawn).map(|place| number >> (2 * place) & 3).collect());
    all.map(|number| Ring::new(2).unwrap().split(words, servers, &mut chosen(number)).unwrap()).collect()
}

/// Enumerated: what any s − 1 servers see of one word is every combination equally often, whatever the word is.
#[test]
fn all_servers_but_one_see_uniform_words() {
    for servers in [2, 3, 4] {
        for left_out in 0..servers {
            for word in 0..4 {
                let mut seen: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
                for shares in splits(&[word], servers) {
                    let sum = shares.iter().map(|share| share[0]).sum::<u64>() % 4;
                    assert_eq!(sum, word);
                    let rest = (0..servers).filter(|server| *server != left_out).map(|server| shares[server][0]);
                    *seen.entry(rest.collect()).or_default() += 1;
                }
                assert_eq!(seen.len(), 4usize.pow(servers as u32 - 1));
                assert!(seen.values().all(|times| *times == 1), "{servers} {word} {seen:?}");
            }
        }
    }
}

/// The whole transcript of all servers but one, of two parties, and the sum that the last one opens: it is a function
/// of the opened total and of uniform words. So two pairs of numbers with the same total cannot be distinguished, and
/// pairs with different totals only by the total.
#[test]
fn a_transcript_tells_the_total_and_nothing_else() {
    for servers in [2, 3] {
        for left_out in 0..servers {
            let mut by_total: BTreeMap<u64, Vec<BTreeMap<Vec<u64>, u32>>> = BTreeMap::new();
            for numbers in 0..16u64 {
                let words = [numbers & 3, numbers >> 2];
                let mut seen: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
                // Both parties split at once: words are split independently.
                for shares in splits(&words, servers) {
                    let rest = (0..servers).filter(|server| *server != left_out);
                    let mut view: Vec<u64> = rest.flat_map(|server| shares[server].clone()).collect();
                    view.push(shares[left_out].iter().sum::<u64>() % 4);
                    *seen.entry(view).or_default() += 1;
                }
                let total = (words[0] + words[1]) % 4;
                by_total.entry(total).or_default().push(seen);
            }
            for laws in by_total.values() {
                assert!(laws.len() == 4 && laws.iter().all(|law| *law == laws[0]));
                let each = laws[0].values().next().unwrap();
                assert!(laws[0].values().all(|times| times == each), "all views of a total are equally likely");
            }
        }
    }
}

/// Z_2^64 as it is sent, where enumeration ends: each byte of each share of a seeded run is uniform, though all numbers
/// are the same. False alarm 1e-9 for each.
#[test]
fn sent_words_are_uniform() {
    let trust = Trust::new(4, 1, 0, 3).unwrap();
    let sum = SharedSum::within(
        Target::pure("1".parse().unwrap()),
        Scope::Presence,
        100_000,
        OwnerContribution { cells: 1, by: 1 },
        trust,
    )
    .unwrap();
    let shares = sum.shares(&vec![7; 100_000], &mut InsecureSeededSource::new(3)).unwrap();
    for share in &shares {
        for byte in 0..8 {
            let mut counts = [0u64; 256];
            share.iter().for_each(|word| counts[(word >> (8 * byte) & 255) as usize] += 1);
            assert_agree("a byte of a share", 100_000, counts.map(|count| (count, 1.0 / 256.0)));
        }
    }
    // And what the last server holds does not follow from what another one holds.
    let mut counts = [0u64; 256];
    shares[0].iter().zip(&shares[2]).for_each(|(one, other)| counts[((one & 15) << 4 | other & 15) as usize] += 1);
    assert_agree("two servers", 100_000, counts.map(|count| (count, 1.0 / 256.0)));
}

/// NB(1/planned, q) on 0, …, reach.
fn one_share(q: f64, planned: u64, reach: usize) -> Vec<f64> {
    let shape = 1.0 / planned as f64;
    let mut mass = (1.0 - q).powf(shape);
    (0..=reach)
        .map(|k| {
            let here = mass;
            mass *= q * (k as f64 + shape) / (k as f64 + 1.0);
            here
        })
        .collect()
}

/// The law of the sum of `times` independent draws of `one`, cut off at its reach.
fn added(one: &[f64], times: u64) -> Vec<f64> {
    let mut law = vec![0.0; one.len()];
    law[0] = 1.0;
    for _ in 0..times {
        let next = |z: usize| (0..=z).map(|k| law[k] * one[z - k]).sum::<f64>();
        law = (0..one.len()).map(next).collect();
    }
    law
}

/// Enumerated on small numbers: the law of the honest parties' noise is built from single shares by convolution, and
/// what one owner's move does to it is compared with what is printed, for each number of colluders and each number of
/// parties that answered. What colluders know of their own noise and what servers hold adds nothing: the former is
/// subtracted, the latter is uniform (above).
#[test]
fn any_number_of_colluders_is_told_its_guarantee() {
    let (mut exact, mut short) = (0, 0);
    for (parties, colluding, silent) in [(2, 0, 0), (3, 1, 0), (4, 1, 1), (5, 2, 1), (4, 0, 3)] {
        for (epsilon, by) in [("1", 1), ("0.5", 1), ("2", 3)] {
            let trust = Trust::new(parties, colluding, silent, 2).unwrap();
            let sum = SharedSum::within(
                Target::pure(epsilon.parse().unwrap()),
                Scope::Presence,
                1,
                OwnerContribution { cells: 1, by },
                trust,
            )
            .unwrap();
            let (planned, scale) = (trust.honest().get(), sum.scale().get());
            let reach = (60.0 * scale) as usize + 40;
            let share = one_share((-1.0 / scale).exp(), planned, reach);
            for answered in trust.least_answers()..=parties {
                for colluders in 0..=answered {
                    let claimed = sum.epsilon_against(&Scope::Presence, colluders, answered).unwrap().unwrap().get();
                    let honest = answered - colluders;
                    if colluders <= colluding {
                        // With at most the planned number of colluders, the promised ε holds.
                        let promised: f64 = epsilon.parse().unwrap();
                        assert!(claimed <= promised * (1.0 + 1e-11), "{claimed}");
                        exact += 1;
                    }
                    if honest == 0 {
                        assert_eq!(claimed, f64::INFINITY);
                        continue;
                    }
                    let side = added(&share, honest);
                    let mass = |z: i64| {
                        let z = z.unsigned_abs() as usize;
                        (0..=reach - z).map(|k| side[k] * side[k + z]).sum::<f64>()
                    };
                    let near = (8.0 * scale) as i64 + by as i64;
                    let losses = (-near..=near).map(|z| (mass(z) / mass(z + by as i64)).ln().abs());
                    let worst = losses.fold(0.0, f64::max);
                    assert!(worst <= claimed * (1.0 + 1e-9), "{trust:?} {answered} {colluders}: {worst} > {claimed}");
                    if honest <= planned {
                        // And no more than it is.
                        assert!(
                            worst >= claimed * (1.0 - 1e-9),
                            "{trust:?} {answered} {colluders}: {worst} < {claimed}"
                        );
                        short += u32::from(honest < planned);
                    }
                }
            }
        }
    }
    assert!(exact > 20 && short > 10, "{exact} {short}");
}

/// The draws themselves, of h parties together, against discrete Laplace noise; and with one party fewer they are
/// something else.
#[test]
fn shares_of_honest_parties_add_up_to_discrete_laplace_noise() {
    let trust = Trust::new(4, 1, 0, 2).unwrap();
    let sum = SharedSum::within(
        Target::pure("0.5".parse().unwrap()),
        Scope::Presence,
        40_000,
        OwnerContribution { cells: 1, by: 1 },
        trust,
    )
    .unwrap();
    let mut bits = InsecureSeededSource::new(9);
    let mut counts = |parties: u64| {
        let mut servers = vec![vec![0; 40_000]; 2];
        for _ in 0..parties {
            let shares = sum.shares(&vec![1000; 40_000], &mut bits).unwrap();
            servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share));
        }
        let mut counts = [0u64; 41];
        for total in sum.opened(&servers).unwrap() {
            if let Some(slot) = counts.get_mut((total - 1000 * parties as i64 + 20) as usize) {
                *slot += 1;
            }
        }
        counts
    };
    let total = TotalNoise::new(sum.scale(), 3, 3);
    let law = |z: usize| total.probability((z as i64 - 20).unsigned_abs()).unwrap();
    let laplace = |z: usize| (0.25f64).tanh() * (-0.5 * (z as f64 - 20.0).abs()).exp();
    assert!((0..41).all(|z| (law(z) / laplace(z) - 1.0).abs() < 1e-12));
    assert_agree("three honest parties", 40_000, counts(3).into_iter().enumerate().map(|(z, count)| (count, law(z))));
    let two = counts(2);
    let failed = std::panic::catch_unwind(|| {
        assert_agree("two", 40_000, two.into_iter().enumerate().map(|(z, count)| (count, law(z))));
    });
    assert!(failed.is_err(), "two parties have less noise, and the test sees it");
}

#[test]
fn events_cost_what_was_asked_for() {
    let attributes = AttributeSet::new(["disease"]).unwrap();
    let trust = Trust::new(10, 2, 1, 3).unwrap();
    for (scope, cells, owner, epsilon) in [
        (Scope::Presence, 5, OwnerContribution { cells: 1, by: 1 }, "1"),
        (Scope::Person, 5, OwnerContribution { cells: 1, by: 1 }, "1"),
        (Scope::Person, 1, OwnerContribution { cells: 1, by: 7 }, "0.3"),
        (Scope::Person, 9, OwnerContribution { cells: 20, by: 2 }, "2.5"),
    ] {
        let sum = SharedSum::within(Target::pure(epsilon.parse().unwrap()), &scope, cells, owner, trust).unwrap();
        let events = sum.events(&attributes).unwrap();
        let cost = |scope: Scope| Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
        let asked: f64 = epsilon.parse().unwrap();
        assert!((cost(scope.clone()) - asked).abs() < 1e-9 * asked, "{scope:?}");
        assert_eq!(cost(Scope::Attributes(attributes.clone())), cost(Scope::Person));
        let told = sum.epsilon_against(&scope, 2, 9).unwrap().unwrap().get();
        assert!((told - asked).abs() < 1e-9 * asked);
        assert!(sum.epsilon_against(&scope, 3, 9).unwrap().unwrap() > asked);
    }
}

/// Off by more than planned: with β = 0.01 in none of 300 seeded runs would be luck, in 20 or more bad luck
/// (below 1e-9).
#[test]
fn the_error_is_as_planned() {
    let trust = Trust::new(6, 1, 2, 2).unwrap();
    let sum = SharedSum::within(
        Target::pure("1".parse().unwrap()),
        Scope::Presence,
        20,
        OwnerContribution { cells: 1, by: 1 },
        trust,
    )
    .unwrap();
    let mut bits = InsecureSeededSource::new(11);
    let within = sum.error(Beta::new(0.01).unwrap(), 6).unwrap();
    let mut off = 0;
    for _ in 0..300 {
        let mut servers = vec![vec![0; 20]; 2];
        for _ in 0..6 {
            let shares = sum.shares(&[0; 20], &mut bits).unwrap();
            servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share));
        }
        off += u32::from(sum.opened(&servers).unwrap().iter().any(|total| total.unsigned_abs() as f64 > within));
    }
    assert!(off < 20, "{off}");
    // Within twice the best that there is: 20 cells of variance 2·(2q/(1−q)²).
    assert!(within < 40.0, "{within}");
}

#[test]
fn what_is_wrong_is_refused() {
    for (parties, colluding, silent, servers, words) in [
        (0, 0, 0, 2, "1 to 100000 parties"),
        (3, 0, 0, 1, "2 to 16 servers"),
        (3, 0, 0, 17, "2 to 16 servers"),
        (3, 2, 1, 2, "fewer than the parties"),
        (3, u64::MAX, 1, 2, "fewer than the parties"),
    ] {
        let sentence = Trust::new(parties, colluding, silent, servers).unwrap_err().to_string();
        assert!(sentence.contains(words), "{sentence}");
    }
    let trust = Trust::new(3, 1, 0, 2).unwrap();
    let made = |epsilon: &str, scope: Scope, cells, owner| {
        SharedSum::within(Target::pure(epsilon.parse().unwrap()), scope, cells, owner, trust)
    };
    let one = OwnerContribution { cells: 1, by: 1 };
    for refused in [
        made("0", Scope::Person, 3, one),
        made("1", Scope::Person, 0, one),
        made("1", Scope::Person, 3, OwnerContribution { cells: 0, by: 1 }),
        made("1", Scope::Person, 3, OwnerContribution { cells: 1, by: 0 }),
        made("1e-20", Scope::Person, 3, one),
        made("1", Scope::Attributes(AttributeSet::new(["a"]).unwrap()), 3, one),
    ] {
        assert!(refused.is_err());
    }
    let sum = made("1", Scope::Person, 3, one).unwrap();
    assert!(sum.shares(&[1, 2], &mut InsecureSeededSource::new(1)).is_err());
    assert!(sum.opened(&[vec![1, 2, 3]]).is_err() && sum.opened(&[vec![1, 2], vec![1, 2, 3]]).is_err());
    assert!(sum.check_fits(1 << 50).is_ok() && sum.check_fits(1 << 62).is_err());
    assert!(Ring::new(0).is_err() && Ring::new(65).is_err());
    assert!(Ring::WORDS.split(&[1], 1, &mut InsecureSeededSource::new(1)).is_err());
    assert!(trust.coalition().contains("any 1 of the 3 parties and either of the 2 servers"));
}
