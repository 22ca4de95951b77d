//! The privacy-loss distribution engine: certified bounds of δ(ε) and ε(δ) for a list of dominating pairs.
//!
//! 1. A coarse look at each source gives K(θ) = Σ times·ln E\[e^{θ·loss}\] nearly; its saddle point says where the
//!    answer is, how wide the law of the sum is there, and how fine the grid must be.
//! 2. Each source is put on that grid by connect-the-dots ([`cells`]), pessimistically; what lies beyond the top is
//!    added to δ.
//! 3. The tilted masses are composed by Fourier transforms ([`compose()`]).
//! 4. The upper bound is read off with all numerical errors added; the lower bound takes off what the grid can have
//!    added.
//!
//! The gap between both is the certificate: the grid is refined until it is below the tolerance.

mod cells;
mod compose;
mod custom;
mod source;
#[cfg(test)]
mod tests;

use super::Bounds;
use super::law::{Component, Law, SampleForm};
use cells::{AtomicPair, BasePair, ExponentialPair, GaussianPair};
use compose::{ComposedLaw, GriddedSource, OutsideMass, RepeatedSource, compose};
use source::DirectedPair;

/// The number to compute from the composition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LossQuery {
    /// The least ε at this δ.
    Epsilon { delta: f64 },
    /// The δ at this ε.
    Delta { epsilon: f64 },
}

/// The most nodes a transform may have.
const LARGEST_TRANSFORM: usize = 1 << 21;
/// The most nodes that all sources may have together.
const MOST_NODES: f64 = 4e6;
/// A number of nodes that is cheap.
const AMPLE_NODES: f64 = 262_144.0;
/// How much tilted mass may lie outside of the wide window, and above the narrow one.
const WINDOW_TAIL: f64 = 1e-11;
const NARROW_WINDOW_TAIL: f64 = 1e-8;
/// Which share of δ truncation may cost.
const TRUNCATION_SHARE: f64 = 1e-8;
/// The most runs: what one mass may be off by, 1e-13, then is a tenth of all. Beyond, transforms know nothing.
const MOST_RUNS: f64 = 1e12;
/// Discrete Gaussians with more atoms than this have no exact list of losses.
const MOST_ATOMS: f64 = 4e6;

/// Which neighbour the first distribution of a pair belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairSide {
    /// Somebody was removed.
    Remove,
    /// Somebody was added.
    Add,
}

/// Whether both sides have the same pair.
pub(crate) fn is_symmetric(component: &Component) -> bool {
    let law = !matches!(component.law, Law::Pair { .. } | Law::Custom(_));
    law && !matches!(component.form, SampleForm::Presence { .. })
}

/// The pair of a component, if it has one.
pub(crate) fn part(component: &Component, side: PairSide) -> Option<RepeatedSource> {
    let reversed = side == PairSide::Add;
    let source = match (component.form, few_atoms(&component.law)) {
        _ if component.without_pair => return None,
        (SampleForm::Presence { rate }, Some(atoms)) => DirectedPair::Whole(Box::new(atoms.sampled(rate, reversed))),
        (form, _) => by_form(&component.law, form, reversed)?,
    };
    Some(RepeatedSource { source, times: component.times })
}

/// Laws with a handful of losses, whose sampled pairs are written out.
fn few_atoms(law: &Law) -> Option<AtomicPair> {
    match law {
        Law::RandomizedResponse { epsilon, values } => Some(randomized_response(*epsilon, *values, 0.0)),
        Law::Approximate { epsilon, delta } => Some(randomized_response(*epsilon, 2.0, *delta)),
        Law::Pair { p, q } => Some(AtomicPair::of(p.iter().copied().zip(q.iter().copied()))),
        _ => None,
    }
}

fn by_form(law: &Law, form: SampleForm, reversed: bool) -> Option<DirectedPair> {
    Some(match form {
        SampleForm::Whole => DirectedPair::Whole(base(law, reversed)?),
        SampleForm::Presence { rate } if reversed => DirectedPair::Add { base: base(law, false)?, rate },
        SampleForm::Presence { rate } => DirectedPair::Remove { base: base(law, false)?, rate },
        SampleForm::Replace { rate } => {
            DirectedPair::Replace { forward: base(law, reversed)?, backward: base(law, !reversed)?, rate }
        }
    })
}

fn base(law: &Law, reversed: bool) -> Option<Box<dyn BasePair>> {
    Some(match law {
        Law::Gaussian { mu } => Box::new(GaussianPair { mu: *mu }),
        Law::Laplace { lambda } => Box::new(ExponentialPair::laplace(*lambda)),
        Law::BoundedRange { epsilon } => Box::new(ExponentialPair::bounded_range(*epsilon)),
        Law::DiscreteGaussian { sigma, shift } => Box::new(discrete_gaussian(*sigma, *shift)?),
        Law::DiscreteLaplace { inverse_scale, shift } => Box::new(discrete_laplace(*inverse_scale, *shift)?),
        Law::RandomizedResponse { epsilon, values } => Box::new(randomized_response(*epsilon, *values, 0.0)),
        Law::Approximate { epsilon, delta } => Box::new(randomized_response(*epsilon, 2.0, *delta)),
        Law::Own(shape) => {
            let (atoms, infinite) = shape.0.pair()?;
            Box::new(AtomicPair::sorted(atoms, infinite))
        }
        Law::Pair { p, q } if reversed => Box::new(AtomicPair::of(q.iter().copied().zip(p.iter().copied()))),
        Law::Pair { p, q } => Box::new(AtomicPair::of(p.iter().copied().zip(q.iter().copied()))),
        Law::Custom(pair) => Box::new(custom::DirectedUserPair::new(pair.0.clone(), reversed)),
        Law::Concentrated { .. } | Law::ConcentratedGroup { .. } => return None,
        // Its covers have pairs.
        Law::AnyOf(_) => return None,
    })
}

/// Losses ±ε and, for more than two answers, 0; a mass δ at ±∞ \[KOV15\].
fn randomized_response(epsilon: f64, values: f64, delta: f64) -> AtomicPair {
    let keep = 1.0 - delta;
    let other = keep / (epsilon.exp() + values - 1.0);
    let truth = keep / (1.0 + (values - 1.0) * (-epsilon).exp());
    let middle = (values - 2.0) * other;
    let mut atoms = vec![(-epsilon, other, truth), (epsilon, truth, other)];
    if middle > 0.0 {
        atoms.insert(1, (0.0, middle, middle));
    }
    let step = if middle > 0.0 { epsilon } else { 2.0 * epsilon };
    AtomicPair::on_lattice(atoms, delta, delta, step)
}

/// Noise −x shifted by s: loss ((|x − s|) − |x|)/scale, from −s to s in steps of 2.
fn discrete_laplace(inverse_scale: f64, shift: u64) -> Option<AtomicPair> {
    if shift as f64 > MOST_ATOMS {
        return None;
    }
    let ratio = (-inverse_scale).exp();
    let front = -(-inverse_scale).exp_m1() / (1.0 + ratio);
    let s = shift as f64;
    // P = law of the noise at 0, Q = the same shifted by s: x ≤ 0 has loss s, x ≥ s has loss −s, x between s − 2x.
    let end = 1.0 / (1.0 + ratio);
    let far = end * (-inverse_scale * s).exp();
    let mut atoms = vec![(-s * inverse_scale, far, end)];
    for x in (1..shift).rev() {
        let x = x as f64;
        let p = front * (-inverse_scale * x).exp();
        let q = front * (-inverse_scale * (s - x)).exp();
        atoms.push(((s - 2.0 * x) * inverse_scale, p, q));
    }
    atoms.push((s * inverse_scale, end, far));
    Some(AtomicPair::on_lattice(atoms, 0.0, 0.0, 2.0 * inverse_scale))
}

/// Loss (s² − 2xs)/2σ² with x ∝ e^{−x²/2σ²}; atoms beyond 38σ underflow.
fn discrete_gaussian(sigma: f64, shift: u64) -> Option<AtomicPair> {
    let reach = (38.0 * sigma).ceil();
    if 2.0 * reach > MOST_ATOMS || shift == 0 {
        return (shift == 0).then(|| AtomicPair::of(std::iter::once((1.0, 1.0))));
    }
    let s = shift as f64;
    let weight = |x: f64| (-0.5 * (x / sigma) * (x / sigma)).exp();
    let half: f64 = (1..=reach as u64).rev().map(|x| weight(x as f64)).sum();
    let total = 1.0 + 2.0 * half;
    let count = reach as i64;
    let atoms = (-count..=count).rev().map(|x| {
        let x = x as f64;
        (s * (s - 2.0 * x) / (2.0 * sigma * sigma), weight(x) / total, weight(x - s) / total)
    });
    Some(AtomicPair::on_lattice(atoms.collect(), 0.0, 0.0, s / (sigma * sigma)))
}

/// A source at a few uneven nodes: enough for a first idea of its cumulants.
struct Sketch {
    nodes: Vec<f64>,
    masses: Vec<f64>,
    times: f64,
}

impl Sketch {
    fn new(part: &RepeatedSource, tail: f64) -> Self {
        let (low, high) = part.source.range(tail);
        let far = low.abs().max(high.abs()).max(1e-300);
        let mut nodes = vec![part.source.anchor(), 0.0];
        nodes.extend((0..=96).map(|i| low + (high - low) * f64::from(i) / 96.0));
        for i in 1..=100 {
            let distance = 1e-5 * far * (f64::from(i) * 0.01 * 1e5f64.ln_1p()).exp_m1();
            nodes.extend([distance, -distance]);
        }
        // Nodes nearer than this would leave a mass between them with a relative error of u·far/slack, once for every
        // run.
        let slack = far * (1e-13 * part.times).clamp(1e-9, 0.1);
        nodes.retain(|&node| node >= low - slack && node <= high + slack);
        nodes.push(low - slack);
        nodes.push(high + slack);
        nodes.sort_by(f64::total_cmp);
        nodes.dedup_by(|next, kept| *next - *kept < 0.5 * slack);
        if nodes.len() < 2 {
            nodes = vec![-1e-9, 1e-9];
        }
        let masses = part.source.masses(&nodes).at;
        Self { nodes, masses, times: part.times }
    }

    /// times·(K, K′, K″).
    fn cumulants(&self, theta: f64) -> (f64, f64, f64) {
        let reference = if theta > 0.0 { self.nodes[self.nodes.len() - 1] } else { self.nodes[0] };
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (&node, &mass) in self.nodes.iter().zip(&self.masses) {
            let mass = mass * (theta * (node - reference)).exp();
            sum += mass;
            first += mass * node;
            second += mass * node * node;
        }
        let mean = first / sum;
        let variance = (second / sum - mean * mean).max(0.0);
        (self.times * (sum.ln() + theta * reference), self.times * mean, self.times * variance)
    }
}

fn total(sketches: &[Sketch], theta: f64) -> (f64, f64, f64) {
    let add = |a: (f64, f64, f64), b: (f64, f64, f64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    sketches.iter().map(|sketch| sketch.cumulants(theta)).fold((0.0, 0.0, 0.0), add)
}

/// Where the answer is, nearly.
struct SaddlePoint {
    sketches: Vec<Sketch>,
    theta: f64,
    epsilon: f64,
    delta: f64,
    deviation: f64,
    /// Losses between which nearly all of the tilted mass lies.
    wide_window: (f64, f64),
    /// A narrower window around the answer, where that will do: mass below it may wrap around, since it comes up with a
    /// weight of e^{−θ·width} (see [`compose()`]).
    window: (f64, f64),
}

impl SaddlePoint {
    /// The change of tilt whose Chernoff bound of the mass beyond `edge` is least; negative for what lies below.
    fn turn(&self, edge: f64, sign: f64) -> f64 {
        let (value, unit) = (total(&self.sketches, self.theta).0, turn_unit(self.deviation));
        let bound = |turn: f64| total(&self.sketches, self.theta + turn).0 - value - turn * edge;
        let turns = TURNS.map(|scale| sign * scale * unit);
        turns
            .into_iter()
            .map(|turn| (bound(turn), turn))
            .fold((f64::INFINITY, sign * unit), |a, b| if b.0 < a.0 { b } else { a })
            .1
    }
}

/// Changes of tilt that are tried, in units of the one that is best for a normal law.
const TURNS: [f64; 6] = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0];

fn turn_unit(deviation: f64) -> f64 {
    (-2.0 * WINDOW_TAIL.ln()).sqrt() / deviation.max(1e-150)
}

/// Between which tilts the saddle point is sought, and which share of the untilted variance must be left.
const LEAST_TILT: f64 = 1e-4;
const LARGEST_TILT: f64 = 2000.0;
const LEAST_WIDTH: f64 = 1e-3;
/// The largest tilt in units of one over the deviation: losses may be as small as one likes, and the answer lies this
/// many deviations above.
const LARGEST_SCORE: f64 = 50.0;

/// ln δ at the loss K′(θ), by the saddle-point approximation.
fn ln_delta_at(theta: f64, cumulants: (f64, f64, f64)) -> f64 {
    let (value, mean, variance) = cumulants;
    let width = (2.0 * std::f64::consts::PI * variance).sqrt();
    let smooth = (theta * (1.0 + theta) * width).max(1.0 + theta);
    value - theta * mean - smooth.ln()
}

fn plan(sketches: Vec<Sketch>, question: LossQuery) -> SaddlePoint {
    let plain = total(&sketches, LEAST_TILT).2;
    // Near the largest loss the saddle point runs away; there a tilt that leaves the law some width serves as well.
    let above = |theta: f64| {
        let cumulants = total(&sketches, theta);
        let before = match question {
            LossQuery::Epsilon { delta } => ln_delta_at(theta, cumulants) > delta.ln(),
            LossQuery::Delta { epsilon } => cumulants.1 < epsilon,
        };
        before && cumulants.2 > LEAST_WIDTH * plain
    };
    let largest = LARGEST_TILT.max(LARGEST_SCORE / plain.sqrt().max(1e-100));
    let (mut low, mut high) = (LEAST_TILT.ln(), largest.ln());
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if above(middle.exp()) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let theta = low.exp();
    let (value, mean, variance) = total(&sketches, theta);
    let deviation = variance.sqrt();
    let unit = turn_unit(deviation);
    // Chernoff's edges: beyond them lies at most a mass of `tail`/e.
    let edge = |turn: f64, tail: f64| (total(&sketches, theta + turn).0 - value + 1.0 - tail.ln()) / turn;
    let support = |end: fn(&Sketch) -> f64| -> f64 { sketches.iter().map(|s| s.times * end(s)).sum() };
    let above = |tail: f64| {
        let end = support(|sketch| sketch.nodes[sketch.nodes.len() - 1]);
        TURNS.into_iter().map(|scale| edge(scale * unit, tail)).fold(end, f64::min)
    };
    let below = |tail: f64| {
        let end = support(|sketch| sketch.nodes[0]);
        TURNS.into_iter().map(|scale| edge(-scale * unit, tail)).fold(end, f64::max)
    };
    let wide_window = (below(WINDOW_TAIL), above(WINDOW_TAIL));
    let (epsilon, delta) = match question {
        LossQuery::Epsilon { delta } => (mean, delta),
        LossQuery::Delta { epsilon } => (epsilon, ln_delta_at(theta, (value, epsilon, variance)).exp()),
    };
    let wrap = -(TRUNCATION_SHARE * delta).ln() / theta;
    let (from, to) = (epsilon - 0.15 * wrap, above(NARROW_WINDOW_TAIL));
    let narrow = (from, to.max(from + wrap));
    let is_worth_it = narrow.1 - narrow.0 < 0.8 * (wide_window.1 - wide_window.0);
    let window = if is_worth_it { narrow } else { wide_window };
    SaddlePoint { sketches, theta, epsilon, delta, deviation, wide_window, window }
}

/// A length that transforms fast, at least `least`: a product of small primes.
fn fast_size(least: f64) -> usize {
    let least = (least.ceil() + 2.0).clamp(16.0, LARGEST_TRANSFORM as f64) as usize;
    let power = least.next_power_of_two();
    let shares = [18, 20, 24, 27, 30, 32].map(|share| power / 32 * share);
    shares.into_iter().find(|&size| size >= least && size.is_multiple_of(2)).unwrap_or(power)
}

/// Bounds of the answer for one side.
pub(crate) fn solve(parts: &[RepeatedSource], question: LossQuery, tolerance: f64) -> Bounds {
    let infinite = infinite_mass(parts);
    let nothing = match question {
        LossQuery::Epsilon { delta } if infinite > delta => f64::INFINITY,
        LossQuery::Epsilon { .. } => 0.0,
        LossQuery::Delta { .. } => infinite,
    };
    let everything = if matches!(question, LossQuery::Epsilon { .. }) { f64::INFINITY } else { 1.0 };
    let useless = Bounds { lower: nothing, upper: everything };
    if matches!(question, LossQuery::Epsilon { .. }) && nothing > 0.0 {
        return useless;
    }
    let runs: f64 = parts.iter().map(|part| part.times).sum();
    let sketch_tail = match question {
        LossQuery::Epsilon { delta } => (delta - infinite) * TRUNCATION_SHARE / runs,
        LossQuery::Delta { .. } => 1e-30,
    };
    if sketch_tail <= 1e-300 || parts.is_empty() || runs > MOST_RUNS {
        return useless;
    }
    let sketches: Vec<Sketch> = parts.iter().map(|part| Sketch::new(part, sketch_tail)).collect();
    let finite = match question {
        LossQuery::Epsilon { delta } => LossQuery::Epsilon { delta: delta - infinite },
        other => other,
    };
    let plan = plan(sketches, finite);
    let tail = (plan.delta * TRUNCATION_SHARE / runs).clamp(1e-290, 1e-6);
    refine(parts, question, &plan, tail, tolerance, useless)
}

fn infinite_mass(parts: &[RepeatedSource]) -> f64 {
    let ln_finite: f64 = parts.iter().map(|part| part.times * (-part.source.infinite()).ln_1p()).sum();
    -ln_finite.exp_m1()
}

/// Composes on finer and finer grids until the bounds agree to the tolerance.
fn refine(
    parts: &[RepeatedSource],
    question: LossQuery,
    plan: &SaddlePoint,
    tail: f64,
    tolerance: f64,
    useless: Bounds,
) -> Bounds {
    let mut window = plan.window;
    let width = (window.1 - window.0).max(1e-100);
    let reach: f64 = parts.iter().map(|part| part.source.range(tail)).map(|(low, high)| high - low).sum();
    let finest = (1.05 * width / LARGEST_TRANSFORM as f64).max(reach / MOST_NODES);
    let lattice = common(parts, DirectedPair::lattice).filter(|&step| step >= finest);
    let mut step = lattice.unwrap_or_else(|| fitted(parts, first_step(parts, plan, width, tolerance).max(finest)));
    if !step.is_finite() {
        return useless;
    }
    let mut best = useless;
    for _ in 0..5 {
        let before = best.upper;
        let mut composed = compose_on(parts, plan, window, step, tail);
        let mut found = read(&composed, question);
        let at = if let LossQuery::Delta { epsilon } = question { epsilon } else { found.upper };
        if window != plan.wide_window && !composed.holds(at) {
            // The sketch was wrong about where the answer is.
            window = plan.wide_window;
            step = step.max(1.05 * (window.1 - window.0) / LARGEST_TRANSFORM as f64);
            composed = compose_on(parts, plan, window, step, tail);
            found = read(&composed, question);
        }
        best = Bounds { lower: best.lower.max(found.lower), upper: best.upper.min(found.upper) };
        let scale = match question {
            LossQuery::Epsilon { .. } => best.upper.max(1e-3 * plan.deviation).max(1e-100),
            LossQuery::Delta { .. } => best.upper,
        };
        let ratio = (best.upper - best.lower) / (tolerance * scale);
        if ratio <= 1.0 || ratio.is_nan() || lattice.is_some() || step <= finest * 1.001 {
            break;
        }
        // Off the grid and run once or twice, atoms leave the lower bound loose long after the upper one has settled.
        if before - best.upper <= 0.1 * tolerance * scale && (width + reach) / step > AMPLE_NODES {
            break;
        }
        // The grid's effect is quadratic in the step; without a bound yet, go down by a fixed factor.
        let factor = if ratio.is_finite() { (0.7 / ratio).sqrt().clamp(0.1, 0.8) } else { 0.25 };
        step = fitted(parts, (step * factor).max(finest));
    }
    best
}

fn read(composed: &ComposedLaw, question: LossQuery) -> Bounds {
    match question {
        LossQuery::Epsilon { delta } => {
            let upper = composed.epsilon_upper(delta);
            Bounds { lower: composed.epsilon_lower(delta, upper).min(upper), upper }
        }
        LossQuery::Delta { epsilon } => {
            Bounds { lower: composed.delta_lower(epsilon), upper: composed.delta_upper(epsilon) }
        }
    }
}

/// The distance that all sources share, if they do: of their lattices, or of what steps should divide.
fn common(parts: &[RepeatedSource], distance: impl Fn(&DirectedPair) -> Option<f64>) -> Option<f64> {
    let first = distance(&parts.first()?.source)?;
    let same = |part: &RepeatedSource| distance(&part.source).is_some_and(|other| (other / first - 1.0).abs() < 1e-14);
    (first > 0.0 && parts.iter().all(same)).then_some(first)
}

/// The largest step up to `step` that divides the common period, if there is one.
fn fitted(parts: &[RepeatedSource], step: f64) -> f64 {
    let period = common(parts, DirectedPair::period).filter(|&period| period > step);
    period.map_or(step, |period| period / (period / step).ceil())
}

/// The bounds' gap is about 0.8·runs·step²·(1+θ) in ε, and 1+θ times that in ln δ.
fn first_step(parts: &[RepeatedSource], plan: &SaddlePoint, width: f64, tolerance: f64) -> f64 {
    let runs: f64 = parts.iter().map(|part| part.times).sum();
    let gap = 0.7 * tolerance * plan.epsilon.abs().max(1e-3 * plan.deviation).max(1e-100);
    let step = (gap / (0.8 * runs * (1.0 + plan.theta))).sqrt();
    // The rate of the lower bound's envelope, 0.7/s with s = step·√runs/2, must exceed the tilt's.
    let envelope = 1.2 / (runs.sqrt() * (2.0 * plan.theta + 2.0));
    // Where few nodes would do, more of them cost little and give digits away for nothing.
    let ample = width * parts.len() as f64 / AMPLE_NODES;
    let ample = if tolerance <= super::TOLERANCE { ample } else { f64::INFINITY };
    step.min(plan.deviation / 8.0).min(envelope).min(ample)
}

fn compose_on(parts: &[RepeatedSource], plan: &SaddlePoint, window: (f64, f64), step: f64, tail: f64) -> ComposedLaw {
    let sources: Vec<GriddedSource> = parts.iter().map(|part| GriddedSource::new(part, step, tail)).collect();
    let margin = 0.01 * (window.1 - window.0) + 2.0 * step;
    let from = window.0 - margin;
    let size = fast_size((window.1 - window.0 + 2.0 * margin) / step);
    let to = from + (size - 1) as f64 * step;
    let outside = outside(&sources, step, plan, from + step, to - step);
    compose(&sources, step, plan.theta, (from, size), outside)
}

/// Chernoff's bounds of the tilted mass outside of the window, on the masses actually composed.
fn outside(sources: &[GriddedSource], step: f64, plan: &SaddlePoint, from: f64, to: f64) -> OutsideMass {
    let sum = |theta: f64| -> f64 { sources.iter().map(|source| source.times * source.cumulant(step, theta)).sum() };
    let value = sum(plan.theta);
    let beyond = |edge: f64, sign: f64| -> f64 {
        let support: f64 = sources.iter().map(|source| source.times * source.end(step, sign)).sum();
        if sign * support <= sign * edge {
            return 0.0;
        }
        let turn = plan.turn(edge, sign);
        (sum(plan.theta + turn) - value - turn * edge).exp().min(1.0)
    };
    OutsideMass { below: beyond(from, -1.0), above: beyond(to, 1.0) }
}
