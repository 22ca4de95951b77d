//! Noise that follows the data's own sensitivity, and answers that may not come.

use super::Audit;
use super::added::scale;
use scumble::event::{NoiseFamily, SmoothNoise};
use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
use scumble::mechanism::propose_test_release::ProposeTestRelease;
use scumble::mechanism::smooth::{OwnerSteps, SmoothMechanism};
use scumble::mechanism::stable_value::StableValue;
use scumble::noise::Levels;
use scumble::quantity::{Delta, Epsilon};
use scumble::{Scope, Target};

fn noise(family: NoiseFamily) -> (SmoothMechanism, Levels) {
    let word = SmoothNoise::new(family, "9/8".parse().unwrap(), "1/1".parse().unwrap(), 28).unwrap();
    (SmoothMechanism::new(word).unwrap(), word.table().unwrap())
}

/// ln of the noise's mass, up to a constant.
fn ln_mass(family: NoiseFamily, z: f64, scale: f64) -> f64 {
    match family {
        NoiseFamily::DiscreteLaplace => -z.abs() / scale,
        NoiseFamily::DiscreteGaussian => -z * z / (2.0 * scale * scale),
        _ => -(z / scale).powi(4).ln_1p(),
    }
}

/// Neighbours whose levels differ and whose answers are as far apart as the lesser level lets them.
struct Apart {
    family: NoiseFamily,
    smooth: SmoothMechanism,
    levels: Levels,
    level: u32,
}

impl Apart {
    fn of(family: NoiseFamily) -> Self {
        let (smooth, levels) = noise(family);
        Self { family, smooth, levels, level: 27 }
    }

    fn value(&self, moved: bool) -> i64 {
        if moved { self.levels.reach(self.level) as i64 } else { 0 }
    }

    /// A bound of this level: whatever else is near has no more.
    fn bound(&self, moved: bool) -> u64 {
        let bound = self.levels.reach(self.level + u32::from(!moved));
        assert_eq!(self.levels.level_of(bound), self.level + u32::from(!moved));
        bound
    }

    fn score(&self, released: i64) -> f64 {
        let of = |moved: bool| {
            let scale = self.levels.scale(self.level + u32::from(!moved)).get();
            ln_mass(self.family, (released - self.value(moved)) as f64, scale)
        };
        of(true) - of(false)
    }
}

/// The worst pair of levels.
pub fn smooth() {
    for (family, seed) in [(NoiseFamily::Cauchy4, 1300), (NoiseFamily::DiscreteLaplace, 1301)] {
        let apart = Apart::of(family);
        let events = apart.smooth.events(&OwnerSteps::one()).unwrap();
        Audit::of(format!("smooth noise, {}", family.name()), &events, &Scope::Presence).runs(200_000).tells(
            seed,
            |moved, bits| {
                let bound = apart.bound(moved);
                apart.score(apart.smooth.release(apart.value(moved), |_| bound, bits))
            },
        );
    }
    let apart = Apart::of(NoiseFamily::DiscreteGaussian);
    let events = apart.smooth.events(&OwnerSteps::one()).unwrap();
    let why = "its accounting is a Rényi curve, and a curve of δ that is made of that is above the true one";
    Audit::loose("smooth noise, discrete-gaussian", &events, &Scope::Presence, 2.0, why).tells(1302, |moved, bits| {
        let bound = apart.bound(moved);
        apart.score(apart.smooth.release(apart.value(moved), |_| bound, bits))
    });
}

/// The level is published beside the answer.
pub fn level() {
    let apart = Apart::of(NoiseFamily::Cauchy4);
    let wide = scale(1.0);
    let mut events = apart.smooth.events(&OwnerSteps::one()).unwrap();
    events.push(apart.smooth.event_of_level(wide, &OwnerSteps::one()).unwrap());
    Audit::of("an answer and its level", &events, &Scope::Presence).runs(200_000).tells(1310, |moved, bits| {
        let bound = apart.bound(moved);
        let (answer, level) = apart.smooth.release_with_level(apart.value(moved), |_| bound, wide, bits);
        let (least, next) = (i64::from(apart.level), i64::from(apart.level) + 1);
        apart.score(answer) + ((level - next).abs() - (level - least).abs()) as f64
    });
}

/// One step nearer to a dataset with a larger bound, and an answer that differs by what was proposed.
pub fn propose_test_release() {
    let test = ProposeTestRelease::within(
        Target::approximate(Epsilon::new(0.6).unwrap(), Delta::new(0.005).unwrap()),
        Target::pure(Epsilon::new(1.0).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
        4,
    )
    .unwrap();
    let odds = |moved: bool| test.probability(6 + u64::from(moved));
    assert!((0.05..0.6).contains(&odds(false)), "{}", odds(false));
    Audit::of("propose, test, release", &test.events(&OwnerSteps::one()).unwrap(), &Scope::Presence)
        .runs(100_000)
        .tells(1320, |moved, bits| {
            let (value, distance) = (if moved { 74 } else { 70 }, 6 + u64::from(moved));
            let bound = |k: u64| if k < distance { 4 } else { 5 };
            match test.release(value, bound, bits).unwrap() {
                None => ((1.0 - odds(true)) / (1.0 - odds(false))).ln(),
                Some(y) => (odds(true) / odds(false)).ln() + ((y - 70).abs() - (y - 74).abs()) as f64 / 4.0,
            }
        });
}

pub fn stable_value() {
    let stable = StableValue::within(
        Target::approximate(Epsilon::new(1.0).unwrap(), Delta::new(0.02).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    Audit::of("a stable value", &stable.events(&OwnerSteps::one()).unwrap(), &Scope::Presence)
        .tells(1330, |moved, bits| {
            f64::from(u8::from(stable.release('a', 3 + u64::from(moved), bits).unwrap().is_some()))
        });
}

/// The local sensitivity is larger by 1, and the answer by as much as it allows.
pub fn bounded() {
    let bounded = BoundedSensitivity::within(
        Target::approximate(Epsilon::new(0.9).unwrap(), Delta::new(1e-3).unwrap()),
        Target::pure(Epsilon::new(0.9).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    let (t, local) = (bounded.truncation() as i64, 2000i64);
    Audit::of("bounded sensitivity", &bounded.events(&OwnerSteps::one()).unwrap(), &Scope::Presence).tells(
        1340,
        |moved, bits| {
            let (value, sensitivity) = if moved { (local, local + 1) } else { (0, local) };
            let found = bounded.release(value, sensitivity as u64, bits).unwrap();
            let centre = found.bound as i64 - t;
            let of_bound = 0.9 * ((centre - local).abs() - (centre - local - 1).abs()) as f64;
            of_bound + 0.9 * (found.value.abs() - (found.value - local).abs()) as f64 / found.bound as f64
        },
    );
}
