//! The interval of a number that is derived from noisy ones: the least and the largest that it is where the true numbers may be.
//!
//! Let g be what is derived, x the released numbers, θ the true ones, and the *ball* the θ with Σ (θ_i − x_i)²/r_i² ≤ 1, where |noise_i| ≤ r_i with
//! probability 95%. The interval is [min g, max g] over the ball. It misses g(θ) only if the ball does not reach the surface on which g has the value
//! g(θ), which is the region's profile likelihood (Venzon and Moolgavkar 1988): where that surface is flat, x is further than the ball's
//! reach from a plane, which noise does with probability 5%, however many numbers there are. So it is for sums and differences (exactly), for quotients (Fieller's
//! interval: s = m·n is a plane whatever m is), nearly for variances (a cone), and for what has steps (ROUND, CASE) it is at least that. Laplace noise has r = 2.12
//! deviations: along other planes than those of one number its quantile is smaller, down to 1.96, and the interval covers up to 96.6%.
//!
//! A surface that is closed around the ball's middle (x² + y² near 0) is missed more often. Where g has an extremum inside, the ball is widened to
//! the one that holds all numbers at once with probability 95% ([`JOINT`]).
//!
//! Where g is not defined (NULL) or divides by what may be 0, its value may be anything: both ends are infinite. Where g is one value on all of the ball (a
//! step of CASE), everything that the noise reaches with probability 1 − 1e-9 is looked at too: only what is the same there also is said to be certain.
//!
//! g is a black box that is evaluated for many rows and points at once: on the axes, along the gradient (which is exact if g is linear), at fixed points
//! spread over the ball and its surface, and further along the gradient, or to a summit, at the least and the largest. No randomness is used.

use crate::error::Result;
use crate::release::output::Uncertainty;

/// Where the true numbers of a row may be.
#[derive(Debug, Clone)]
pub(super) struct Ball {
    pub middle: Vec<f64>,
    pub reach: Vec<f64>,
}

/// What is known of the noise of one number, the same in all rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The ball's reach in standard deviations.
    pub units: f64,
    /// How many times as far noise gets with probability 1e-9.
    pub wide: f64,
}

/// The least reach in standard deviations. Where noise is next to nothing the reach is one step and many deviations, and a width over that many would be no error at all, although
/// the noise of another number makes all of it.
pub(super) fn least_units(axes: &[Axis]) -> f64 {
    axes.iter().map(|axis| axis.units).fold(f64::INFINITY, f64::min)
}

/// Numbers that might be the true ones: of which row, and a column for each axis.
pub(super) struct Points<'a> {
    pub rows: &'a [usize],
    pub columns: Vec<Vec<f64>>,
}

/// What is derived at each point; not a number where it is nothing.
pub(super) struct Derived {
    /// Without steps where they can be left out: this shows the way.
    pub values: Vec<f64>,
    /// With all its steps, where it has some.
    pub stepped: Option<Vec<f64>>,
    /// What is divided by.
    pub divisors: Vec<Vec<f64>>,
    /// What it has a kink in where it is 0, as ABS has.
    pub kinks: Vec<Vec<f64>>,
}

/// Derives numbers from those at points.
pub(super) type Derive<'a> = dyn FnMut(&Points<'_>) -> Result<Derived> + 'a;

/// The radius that holds d numbers at once with probability 95%, in units of that for one: for normal noise √(χ²_d quantile)/1.96, for Laplace noise
/// more than that (as 2 million draws show: 1.299, 1.502, 1.657), which is taken for both; for more numbers it is made to grow with √d.
const JOINT: [f64; 5] = [1.0, 1.0, 1.31, 1.51, 1.67];

/// How many points there are on the surface and, for one number, on the line; and how far inside others are.
const CIRCLE: usize = 24;
const SURFACE: usize = 48;
const LINE: usize = 64;
const INSIDE: [f64; 2] = [0.7, 0.35];
/// Parts of the way from the ball to the wider one.
const BETWEEN: [f64; 3] = [0.3, 0.6, 0.9];
/// Half of the differences that gradients are taken over, one after the other, in units of the ball.
const STEPS: [f64; 3] = [0.3, 0.1, 0.03];

/// The 95% intervals of what is derived, one for each row. The standard error is the half width over the quantile of the noise along the gradient.
pub(super) fn intervals(balls: &[Ball], axes: &[Axis], derive: &mut Derive<'_>) -> Result<Vec<Uncertainty>> {
    let mut search = Search { balls, axes, derive, found: Vec::new() };
    search.on_the_axes()?;
    search.spread()?;
    let mut ends = search.ends();
    for step in STEPS {
        ends = search.further(&ends, step)?;
    }
    search.where_it_is_flat()?;
    Ok(search.found.iter().map(|found| found.uncertainty(axes)).collect())
}

/// What has been seen of one row.
#[derive(Debug, Clone, Default)]
struct Found {
    low: End,
    high: End,
    /// The least and the largest with steps.
    stepped: Option<(f64, f64)>,
    is_unknown: bool,
    radius: f64,
    gradient: Vec<f64>,
    /// The sign of each divisor, and its gradient.
    divisors: Vec<(f64, Vec<f64>)>,
    /// The nearest points at which it may have a kink.
    kinks: Vec<Vec<f64>>,
}

/// The least or the largest value so far and where it is, in units of the ball.
#[derive(Debug, Clone, Default)]
struct End {
    value: f64,
    at: Vec<f64>,
    /// How far it may still be from the least or the largest.
    slack: f64,
}

struct Search<'a, 'b> {
    balls: &'a [Ball],
    axes: &'a [Axis],
    derive: &'a mut Derive<'b>,
    found: Vec<Found>,
}

/// Where a point is: in the ball, on the surface of the wider ball, or between.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layer {
    Ball,
    Between,
    Surface,
}

/// Points to be evaluated, in units of the ball.
#[derive(Default)]
struct Batch {
    rows: Vec<usize>,
    units: Vec<f64>,
}

impl Batch {
    fn push(&mut self, row: usize, unit: &[f64], scale: f64) {
        self.rows.push(row);
        self.units.extend(unit.iter().map(|number| number * scale));
    }

    /// A point and those beside it on each axis.
    fn push_cross(&mut self, row: usize, middle: &[f64], by: f64) {
        self.push(row, middle, 1.0);
        for axis in 0..middle.len() {
            for by in [by, -by] {
                self.push(row, middle, 1.0);
                let last = self.units.len() - middle.len();
                self.units[last + axis] += by;
            }
        }
    }
}

impl Search<'_, '_> {
    fn derived(&mut self, batch: &Batch) -> Result<Derived> {
        let dimension = self.axes.len();
        let column = |axis: usize| {
            let units = batch.units.iter().skip(axis).step_by(dimension);
            let at = |(row, unit): (&usize, &f64)| {
                let ball = &self.balls[*row];
                ball.middle[axis] + ball.reach[axis] * unit
            };
            batch.rows.iter().zip(units).map(at).collect()
        };
        let columns = (0..dimension).map(column).collect();
        (self.derive)(&Points { rows: &batch.rows, columns })
    }

    /// The middle and both ends of each axis.
    fn on_the_axes(&mut self) -> Result<()> {
        let dimension = self.axes.len();
        let middle = vec![0.0; dimension];
        let mut batch = Batch::default();
        for row in 0..self.balls.len() {
            batch.push_cross(row, &middle, 1.0);
        }
        let derived = self.derived(&batch)?;
        let width = 2 * dimension + 1;
        let gradient = |values: &[f64]| -> Vec<f64> {
            (0..dimension).map(|axis| (values[1 + 2 * axis] - values[2 + 2 * axis]) / 2.0).collect()
        };
        for row in 0..self.balls.len() {
            let start = row * width;
            let divisor = |divisor: &Vec<f64>| (divisor[start].signum(), gradient(&divisor[start..start + width]));
            let kink = |kink: &Vec<f64>| zero(kink[start], &gradient(&kink[start..start + width]));
            let middle = End { value: derived.values[start], at: vec![0.0; dimension], slack: 0.0 };
            self.found.push(Found {
                low: middle.clone(),
                high: middle,
                stepped: derived.stepped.as_ref().map(|stepped| (stepped[start], stepped[start])),
                is_unknown: false,
                radius: 1.0,
                gradient: gradient(&derived.values[start..start + width]),
                divisors: derived.divisors.iter().map(divisor).collect(),
                kinks: derived.kinks.iter().filter_map(kink).collect(),
            });
        }
        (0..batch.rows.len()).for_each(|point| self.note(&batch, &derived, point));
        Ok(())
    }

    /// Takes a point that is in the ball.
    fn note(&mut self, batch: &Batch, derived: &Derived, point: usize) {
        let dimension = self.axes.len();
        let found = &mut self.found[batch.rows[point]];
        let crosses = |(divisor, (sign, _)): (&Vec<f64>, &(f64, Vec<f64>))| {
            let here = divisor[point];
            here == 0.0 || !here.is_finite() || here.signum() != *sign
        };
        let value = derived.values[point];
        let stepped = derived.stepped.as_ref().map(|stepped| stepped[point]);
        let is_defined = value.is_finite() && stepped.is_none_or(f64::is_finite);
        if !is_defined || derived.divisors.iter().zip(&found.divisors).any(crosses) {
            found.is_unknown = true;
            return;
        }
        let at = || batch.units[point * dimension..(point + 1) * dimension].to_vec();
        if value < found.low.value {
            found.low = End { value, at: at(), slack: 0.0 };
        }
        if value > found.high.value {
            found.high = End { value, at: at(), slack: 0.0 };
        }
        if let (Some((low, high)), Some(step)) = (&mut found.stepped, stepped) {
            (*low, *high) = (low.min(step), high.max(step));
        }
    }

    /// Along the gradients, and at fixed points; in more than one dimension also on the surface of the wider ball.
    fn spread(&mut self) -> Result<()> {
        let dimension = self.axes.len();
        let (inside, surface) = spread_points(dimension);
        let joint = joint(dimension);
        let mut batch = Batch::default();
        let mut places = Vec::new();
        for (row, found) in self.found.iter().enumerate().filter(|(_, found)| !found.is_unknown) {
            if let Some(gradient) = unit(&found.gradient) {
                [1.0, -1.0].into_iter().for_each(|to| batch.push(row, &gradient, to));
            }
            for (sign, gradient) in &found.divisors {
                unit(gradient).into_iter().for_each(|gradient| batch.push(row, &gradient, -sign));
            }
            inside.iter().chain(&surface).chain(&found.kinks).for_each(|unit| batch.push(row, unit, 1.0));
            places.resize(batch.rows.len(), Layer::Ball);
            if dimension > 1 {
                if let Some(gradient) = unit(&found.gradient) {
                    let between = BETWEEN.iter().map(|part| 1.0 + part * (joint - 1.0));
                    between.flat_map(|to| [to, -to]).for_each(|to| batch.push(row, &gradient, to));
                    places.resize(batch.rows.len(), Layer::Between);
                    [joint, -joint].into_iter().for_each(|to| batch.push(row, &gradient, to));
                }
                surface.iter().step_by(2).for_each(|unit| batch.push(row, unit, joint));
                places.resize(batch.rows.len(), Layer::Surface);
            }
        }
        let derived = self.derived(&batch)?;
        let in_ball = (0..batch.rows.len()).filter(|point| places[*point] == Layer::Ball);
        in_ball.for_each(|point| self.note(&batch, &derived, point));
        self.widen_where_closed(&batch, &derived, &places);
        Ok(())
    }

    /// Takes the wider ball where the least or the largest value is inside of it and not on its surface.
    fn widen_where_closed(&mut self, batch: &Batch, derived: &Derived, places: &[Layer]) {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let mut inside: Vec<(f64, f64)> = self.found.iter().map(|found| (found.low.value, found.high.value)).collect();
        let mut surface = vec![nothing; self.found.len()];
        for (point, row) in batch.rows.iter().enumerate() {
            let value = derived.values[point];
            let (least, largest) = match places[point] {
                Layer::Ball => continue,
                Layer::Between => &mut inside[*row],
                Layer::Surface => &mut surface[*row],
            };
            (*least, *largest) = (least.min(value), largest.max(value));
        }
        let joint = joint(self.axes.len());
        for (found, (inside, surface)) in self.found.iter_mut().zip(inside.into_iter().zip(surface)) {
            let slack = 1e-9 * (inside.1 - inside.0);
            if surface != nothing && (inside.0 < surface.0 - slack || inside.1 > surface.1 + slack) {
                found.radius = joint;
            }
        }
        for point in (0..batch.rows.len()).filter(|point| places[*point] != Layer::Ball) {
            if self.found[batch.rows[point]].radius > 1.0 {
                self.note(batch, derived, point);
            }
        }
    }

    /// Where the least and the largest values are.
    fn ends(&self) -> Vec<Ends> {
        self.found.iter().map(|found| [found.low.at.clone(), found.high.at.clone()]).collect()
    }

    /// From the two points of each row to those to which the values fall and rise; the points themselves are taken.
    fn further(&mut self, ends: &[Ends], step: f64) -> Result<Vec<Ends>> {
        let mut batch = Batch::default();
        let rows: Vec<usize> = (0..self.found.len()).filter(|row| !self.found[*row].is_unknown).collect();
        for row in &rows {
            ends[*row].iter().for_each(|end| batch.push_cross(*row, end, step));
        }
        let derived = self.derived(&batch)?;
        let width = 2 * self.axes.len() + 1;
        let mut next = ends.to_vec();
        for (index, row) in rows.iter().enumerate() {
            for (end, sign) in [-1.0, 1.0].into_iter().enumerate() {
                let start = (2 * index + end) * width;
                self.note(&batch, &derived, start);
                let values = &derived.values[start..start + width];
                let found = &mut self.found[*row];
                let at = &ends[*row][end];
                let (further, slack) = found.further(at, values, step, sign);
                let best = if end == 0 { &mut found.low } else { &mut found.high };
                // From what is no better there is nowhere to go: back, with a smaller step.
                next[*row][end] = if best.at == *at { further } else { best.at.clone() };
                if best.at == *at {
                    best.slack = slack;
                }
            }
        }
        Ok(next)
    }

    /// Looks at all that the noise can reach, where what was seen is one value.
    fn where_it_is_flat(&mut self) -> Result<()> {
        let dimension = self.axes.len();
        let (inside, surface) = spread_points(dimension);
        let on_axes = (0..dimension).flat_map(|axis| {
            [1.0, -1.0].map(|by| (0..dimension).map(|index| if index == axis { by } else { 0.0 }).collect::<Vec<f64>>())
        });
        let mut wide: Vec<Vec<f64>> = inside.into_iter().chain(surface).chain(on_axes).collect();
        for unit in &mut wide {
            unit.iter_mut().zip(self.axes).for_each(|(number, axis)| *number *= axis.wide);
        }
        let mut batch = Batch::default();
        for row in (0..self.found.len()).filter(|row| self.found[*row].is_flat()) {
            wide.iter().for_each(|unit| batch.push(row, unit, 1.0));
        }
        if !batch.rows.is_empty() {
            let derived = self.derived(&batch)?;
            (0..batch.rows.len()).for_each(|point| self.note(&batch, &derived, point));
        }
        Ok(())
    }
}

/// A point for the least value of a row and one for the largest.
type Ends = [Vec<f64>; 2];

impl Found {
    /// Where the values rise to (or fall to, by the sign) from a point with those `step` beside it, and how much higher it may be there: to the summit of the parabolas on
    /// the axes, if it is in the ball; otherwise along the gradient to the surface, or from far inside a step up.
    fn further(&self, at: &[f64], values: &[f64], step: f64, sign: f64) -> (Vec<f64>, f64) {
        let slopes: Vec<(f64, f64)> = values[1..]
            .chunks_exact(2)
            .map(|pair| ((pair[0] - pair[1]) / 2.0, pair[0] - 2.0 * values[0] + pair[1]))
            .collect();
        let largest = values[1..].iter().map(|value| (value - values[0]).abs()).fold(0.0, f64::max);
        let top = |(at, (slope, bend)): (&f64, &(f64, f64))| at - slope / bend * step;
        let summit: Vec<f64> = at.iter().zip(&slopes).map(top).collect();
        let gradient: Vec<f64> = slopes.iter().map(|(slope, _)| *slope).collect();
        if slopes.iter().all(|(_, bend)| bend * sign < 0.0) && norm(&summit) <= self.radius {
            // At a kink the parabola goes half of the way; and a summit is hit up to rounding.
            let way: f64 = summit.iter().zip(at).map(|(to, from)| (to - from).abs()).sum();
            return (summit, largest * (2.0 * way / step + 1e-10));
        }
        let Some(gradient) = unit(&gradient) else { return (at.to_vec(), 0.0) };
        if norm(at) > 0.95 * self.radius {
            return (gradient.into_iter().map(|number| number * sign * self.radius).collect(), 0.0);
        }
        let moved: Vec<f64> = at.iter().zip(&gradient).map(|(at, by)| at + by * sign * step).collect();
        let beyond = (norm(&moved) / self.radius).max(1.0);
        (moved.into_iter().map(|number| number / beyond).collect(), largest)
    }

    fn is_flat(&self) -> bool {
        let same = |(low, high): (f64, f64)| low >= high;
        !self.is_unknown && same((self.low.value, self.high.value)) && self.stepped.is_none_or(same)
    }

    fn uncertainty(&self, axes: &[Axis]) -> Uncertainty {
        if self.is_unknown {
            return Uncertainty { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        // Of what has steps, no summit is looked for.
        let (low, high) = match self.stepped {
            None => (self.low.value - self.low.slack, self.high.value + self.high.slack),
            Some((low, high)) => (low.min(self.low.value), high.max(self.high.value)),
        };
        let squares = |of: &dyn Fn(&Axis) -> f64| -> f64 {
            self.gradient.iter().zip(axes).map(|(by, axis)| (by * of(axis)).powi(2)).sum()
        };
        let units = (squares(&|_| 1.0) / squares(&|axis| 1.0 / axis.units)).sqrt();
        let units = if units.is_finite() { units } else { least_units(axes) };
        Uncertainty { standard_error: (high - low) / 2.0 / units, low, high }
    }
}

fn joint(dimension: usize) -> f64 {
    let last = JOINT.len() - 1;
    if dimension <= last { JOINT[dimension] } else { JOINT[last] * (dimension as f64 / last as f64).sqrt() }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// The direction of a gradient, if it has one.
fn unit(gradient: &[f64]) -> Option<Vec<f64>> {
    let norm = norm(gradient);
    (norm > 0.0 && norm.is_finite()).then(|| gradient.iter().map(|by| by / norm).collect())
}

/// The nearest point at which what has this value in the middle and this gradient is 0, if it is in the ball.
fn zero(value: f64, gradient: &[f64]) -> Option<Vec<f64>> {
    let far = value.abs() / norm(gradient);
    let direction = unit(gradient).filter(|_| far <= 1.0)?;
    Some(direction.into_iter().map(|number| -number * far * value.signum()).collect())
}

/// Fixed points inside of the unit ball and on its surface, other than those on the axes.
fn spread_points(dimension: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    // The golden ratio's multiples leave no gap, and share no period with anything.
    let golden = |index: usize| (index as f64 * 0.618_033_988_749_894_9).fract();
    match dimension {
        0 => (Vec::new(), Vec::new()),
        1 => ((1..=LINE).map(|index| vec![2.0 * golden(index) - 1.0]).collect(), Vec::new()),
        _ => {
            let surface = if dimension == 2 { circle() } else { sphere(dimension) };
            let inside = surface.iter().step_by(4).enumerate().map(|(index, unit)| {
                let radius = INSIDE[index % INSIDE.len()];
                unit.iter().map(|number| number * radius).collect()
            });
            (inside.collect(), surface)
        }
    }
}

fn circle() -> Vec<Vec<f64>> {
    let angle = |index: usize| (index as f64 + 0.5) * std::f64::consts::TAU / CIRCLE as f64;
    (0..CIRCLE).map(|index| vec![angle(index).cos(), angle(index).sin()]).collect()
}

/// Multiples of the powers of a generalised golden ratio (Roberts 2018) as normal numbers (Box and Muller 1958), on the sphere.
fn sphere(dimension: usize) -> Vec<Vec<f64>> {
    let pairs = dimension.div_ceil(2) * 2;
    // The root of g^(pairs+1) = g + 1.
    let ratio = (0..60).fold(2.0f64, |ratio, _| (1.0 + ratio).powf(1.0 / (pairs as f64 + 1.0)));
    let point = |index: usize| {
        let uniform = |axis: usize| (0.5 + index as f64 * ratio.powi(-(axis as i32 + 1))).fract();
        let normal = |axis: usize| {
            let (first, second) = (uniform(axis & !1), uniform(axis | 1));
            let length = (-2.0 * (1.0 - first).ln()).sqrt();
            let angle = std::f64::consts::TAU * second;
            if axis & 1 == 0 { length * angle.cos() } else { length * angle.sin() }
        };
        unit(&(0..dimension).map(normal).collect::<Vec<f64>>())
    };
    (1..=SURFACE).filter_map(point).collect()
}

#[cfg(test)]
mod tests;
