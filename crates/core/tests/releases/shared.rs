//! Protocols of several parties: what they draw against what their events name.

use scumble::noise::InsecureSeededSource;
use scumble::parties::inner_product::InnerProduct;
use scumble::parties::sum::{OwnerContribution, Ring, SharedSum, Trust};
use scumble::quantity::Epsilon;
use scumble::{AttributeSet, Event, Scope, Target};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, noise, outcomes};
use std::collections::BTreeMap;

fn attributes() -> AttributeSet {
    AttributeSet::new(["disease"]).unwrap()
}

fn as_said(what: &str, drawn: &[i64], event: &Event) {
    noise(what, drawn, &IntegerDistribution::of_event(event, 1.0), &IntegerDistribution::of_event(event, SLIP));
}

/// The honest parties alone, as colluders see it who subtract their own noise.
pub fn sums() {
    for (parties, colluding, silent) in [(3, 1, 0), (4, 0, 0), (7, 2, 3)] {
        let trust = Trust::new(parties, colluding, silent, 2).unwrap();
        let owner = OwnerContribution { cells: 1, by: 2 };
        let sum =
            SharedSum::within(Target::pure("0.6".parse().unwrap()), Scope::Person, DRAWS as u64, owner, trust).unwrap();
        let mut bits = InsecureSeededSource::new(220 + parties);
        let mut servers = vec![vec![0; DRAWS]; 2];
        for _ in 0..trust.honest().get() {
            let shares = sum.shares(&vec![50; DRAWS], &mut bits).unwrap();
            servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share));
        }
        let truth = 50 * trust.honest().get() as i64;
        let drawn: Vec<i64> = sum.opened(&servers).unwrap().iter().map(|total| total - truth).collect();
        as_said(&format!("{trust:?}"), &drawn, &sum.events(&attributes()).unwrap()[0]);
    }
}

/// Two bits of each server's share.
pub fn splits() {
    let shares = Ring::WORDS.split(&vec![77; DRAWS], 3, &mut InsecureSeededSource::new(230)).unwrap();
    let law = |slip: f64| {
        let mass = |place: u64| if place == 0 { 0.25 * slip } else { (1.0 - 0.25 * slip) / 3.0 };
        (0..4).map(|place| (place, mass(place))).collect::<BTreeMap<u64, f64>>()
    };
    for share in shares {
        for shift in [0, 31, 62] {
            outcomes("split", share.iter().map(|word| word >> shift & 3), &law(1.0), &law(SLIP));
        }
    }
}

pub fn flips() {
    let product = InnerProduct::with_flip(1, 5, Epsilon::new(1.0).unwrap()).unwrap();
    let event = product.events_first(&attributes()).unwrap().remove(1);
    let scumble::event::Word::RandomizedResponse { epsilon, .. } = event.word() else { panic!("{event:?}") };
    let law = |slip: f64| {
        let lie = 1.0 / (1.0 + (epsilon.get() / slip).exp());
        BTreeMap::from([(true, lie), (false, 1.0 - lie)])
    };
    for bit in [true, false] {
        let sent = product.message(&vec![bit; DRAWS], &mut InsecureSeededSource::new(240));
        outcomes("flips", sent.into_iter().map(|sent| sent != bit), &law(1.0), &law(SLIP));
    }
}

pub fn answers() {
    let product = InnerProduct::with_flip(1, 4, Epsilon::new(0.9).unwrap()).unwrap();
    let event = product.events_second(&attributes()).unwrap().remove(1);
    let mut bits = InsecureSeededSource::new(250);
    let y = [true, false, true];
    // 4·1 − 1 for the first owner, −1 for the last.
    let drawn: Vec<i64> =
        (0..DRAWS).map(|_| product.answer(&y, &[true, true, false], &mut bits).unwrap() - 2).collect();
    as_said("answers", &drawn, &event);
}
