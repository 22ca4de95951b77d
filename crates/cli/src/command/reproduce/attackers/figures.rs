//! The curves of Figures 2 to 6 of the paper, with the numbers that hold.

use scumble::Result;
use scumble::quantity::{Delta, Epsilon, Probability, Scale};
use scumble_adversary::attacker::{
    AddedNoise, BeliefGroup, Bound, Lambda, Ratio, Window, blanket, closed_kullback_leibler, coupling, directions,
    directions_with_noise, epsilon_for, ln_smallest_delta, poisson_binomial, printed, thresholded, worst_count,
};
use scumble_chart::{Axis, LineChart, Series};

/// Precise enough for a line of two pixels.
const TOLERANCE: f64 = 0.01;

/// Draws one figure as SVG.
type FigureRenderer = fn() -> Result<String>;

/// Every figure: the name of its file, and the picture.
pub const ALL: [(&str, FigureRenderer); 6] = [
    ("figure-2-n100.svg", || figure_2(100, 1.0)),
    ("figure-2-n10000.svg", || figure_2(10_000, 0.5)),
    ("figure-3.svg", figure_3),
    ("figure-4.svg", figure_4),
    ("figure-5.svg", figure_5),
    ("figure-6.svg", figure_6),
];

fn worst(m: u64, lambda: Lambda, noise: AddedNoise, epsilon: Epsilon) -> Result<Bound> {
    Ok(worst_count(m, lambda, noise, epsilon, 1, TOLERANCE)?.delta)
}

/// A curve over `steps` equal steps of ε.
fn curve(from: f64, to: f64, steps: u32, mut at: impl FnMut(Epsilon) -> Result<f64>) -> Result<Vec<(f64, f64)>> {
    (0..=steps)
        .map(|step| {
            let x = from + (to - from) * f64::from(step) / f64::from(steps);
            Ok((x, at(Epsilon::new(x)?)?))
        })
        .collect()
}

/// δ(ε) of a count: what is proven for the λ-box, what is printed, and what two particular beliefs give.
fn figure_2(n: u64, up_to: f64) -> Result<String> {
    let (m, lambda) = (n - 1, Lambda::new(0.05)?);
    let fair = poisson_binomial(&[BeliefGroup::new(0.5, m)?])?;
    let spread: Result<Vec<BeliefGroup>> =
        (0..m).map(|i| BeliefGroup::new(0.05 + 0.9 * (i as f64 + 0.5) / m as f64, 1)).collect();
    let spread = poisson_binomial(&spread?)?;
    let exact = |law: &Window, epsilon: Epsilon| Ok(directions(law, epsilon, 1).delta().upper);
    let records = [BeliefGroup::new(0.05, 1)?, BeliefGroup::new(0.5, n - 1)?];
    let corrected = (1..40).map(|step| {
        let delta = Delta::new(10f64.powf(-0.5 * f64::from(step)))?;
        Ok(printed::proposition_7_corrected(&records, delta))
    });
    let mut corrected = corrected.collect::<Result<Vec<(f64, f64)>>>()?;
    corrected.retain(|point| point.0 <= up_to && point.1 <= 1.0);
    let steps = 40;
    Ok(LineChart::new(format!("δ of a count without noise, n = {n}, λ = 0.05"))
        .x(Axis::linear("ε"))
        .y(Axis::log("δ").range(1e-16, 1.0))
        .line(Series::new(
            "worst case, two values",
            curve(0.0, up_to, steps, |e| Ok(worst(m, lambda, AddedNoise::None, e)?.upper))?,
        ))
        .line(Series::new(
            "blanket (worst case, three values and more)",
            curve(0.0, up_to, steps, |e| Ok(blanket(m, lambda, e)?.upper))?,
        ))
        .line(Series::new(
            "Theorem 3 as printed (false)",
            curve(0.0, up_to, steps, |e| Ok(printed::theorem_3_ratio(m, lambda, e)))?,
        ))
        .line(Series::new("closed form (KL)", curve(0.0, up_to, steps, |e| Ok(closed_kullback_leibler(m, lambda, e)))?))
        .line(Series::new("exact: all others 0.5", curve(0.0, up_to, steps, |e| exact(&fair, e))?))
        .line(Series::new("exact: others uniform on [0.05, 0.95]", curve(0.0, up_to, steps, |e| exact(&spread, e))?))
        .line(Series::new("Proposition 7, third moment corrected", corrected))
        .to_svg())
}

/// ε at δ = 0.01/n against λ; where no ε exists the line ends.
fn figure_3() -> Result<String> {
    let lambdas = [0.0001, 0.0003, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5];
    let mut chart = LineChart::new("ε at δ = 0.01/n of a count without noise")
        .x(Axis::log("λ"))
        .y(Axis::linear("ε").range(0.0, 3.0));
    for n in [100u64, 1000, 10_000, 100_000] {
        let delta = Delta::new(0.01 / n as f64)?;
        let (mut truth, mut claimed) = (Vec::new(), Vec::new());
        for value in lambdas {
            let lambda = Lambda::new(value)?;
            if delta.get().ln() >= ln_smallest_delta(n - 1, lambda)
                && let Some(found) =
                    epsilon_for(delta, 1e-3, |epsilon| worst(n - 1, lambda, AddedNoise::None, epsilon))?
            {
                truth.push((value, found.upper));
            }
            let printed = |epsilon: Epsilon| Ok(Bound::at_most(printed::theorem_3_ratio(n - 1, lambda, epsilon)));
            if let Some(found) = epsilon_for(delta, 1e-3, printed)? {
                claimed.push((value, found.upper));
            }
        }
        chart = chart.line(Series::new(format!("n = {n}"), truth));
        chart = chart.line(Series::new(format!("n = {n}, as printed (false)"), claimed));
    }
    Ok(chart.to_svg())
}

/// δ of a thresholded count against T.
fn figure_4() -> Result<String> {
    let mut chart = LineChart::new("A count released above T, each record 1 with p = 0.005")
        .x(Axis::linear("T"))
        .y(Axis::log("δ").range(1e-16, 1.0));
    for (n, thresholds) in [(1000u64, 2..=32i64), (10_000, 45..=115)] {
        let p = Probability::new(0.005)?;
        let others = poisson_binomial(&[BeliefGroup { probability: p, how_many: n - 1 }])?;
        let zero = Epsilon::new(0.0)?;
        let points = |at: &dyn Fn(i64) -> Option<f64>| -> Vec<(f64, f64)> {
            thresholds.clone().filter_map(|t| Some((t as f64, at(t)?))).collect()
        };
        chart = chart
            .line(Series::new(
                format!("n = {n}: exact, ε = 0"),
                points(&|t| Some(thresholded(&others, t, zero).delta().upper)),
            ))
            .line(Series::new(
                format!("n = {n}: coupling, any passive attacker"),
                points(&|t| Some(coupling(&others, t).upper)),
            ))
            .line(Series::new(
                format!("n = {n}: Theorem 4 (with its ε > 0)"),
                points(&|t| Some(printed::theorem_4(n, p, t as u64)?.1)),
            ));
    }
    Ok(chart.to_svg())
}

/// ε at δ = 1e-10 against the number of known records, with and without Laplace noise of scale 2.
fn figure_5() -> Result<String> {
    let (n, lambda, delta) = (100_000u64, Lambda::new(0.05)?, Delta::new(1e-10)?);
    let laplace = AddedNoise::Laplace(Scale::new(2.0)?);
    let known = [0u64, 10_000, 25_000, 50_000, 75_000, 85_000, 90_000, 93_000, 95_000, 97_000, 98_000, 99_000, 99_500];
    let (mut closed, mut exact, mut covered, mut noisy) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for known in known {
        let (m, x) = (n - known - 1, known as f64);
        let (epsilon, applicable) = printed::closed_form(m, lambda, delta);
        if applicable {
            closed.push((x, epsilon));
        }
        if let Some(found) = epsilon_for(delta, 1e-3, |epsilon| worst(m, lambda, AddedNoise::None, epsilon))? {
            exact.push((x, found.upper));
        }
        if let Some(found) = epsilon_for(delta, 1e-3, |epsilon| blanket(m, lambda, epsilon))? {
            covered.push((x, found.upper));
        }
        if let Some(found) = epsilon_for(delta, 1e-3, |epsilon| worst(m, lambda, laplace, epsilon))? {
            noisy.push((x, found.upper));
        }
    }
    Ok(LineChart::new("ε at δ = 1e-10, n = 100 000, λ = 0.05, against what is known")
        .x(Axis::linear("known records"))
        .y(Axis::linear("ε").range(0.0, 1.5))
        .line(Series::new("worst case, two values", exact))
        .line(Series::new("blanket", covered))
        .line(Series::new("closed form of the paper (where it applies)", closed))
        .line(Series::new("worst case with Laplace noise of scale 2", noisy))
        .line(Series::new("Laplace noise alone (differential privacy)", vec![(0.0, 0.5), (99_999.0, 0.5)]))
        .to_svg())
}

/// δ(ε) with data uncertainty and geometric noise together.
fn figure_6() -> Result<String> {
    let others = poisson_binomial(&[BeliefGroup::new(0.95, 9999)?])?;
    let mut chart = LineChart::new("δ of a count with geometric noise, n = 10 000, λ = 0.05, others 0.95")
        .x(Axis::linear("ε"))
        .y(Axis::log("δ").range(1e-24, 1.0));
    let noises = [
        ("no noise", AddedNoise::None),
        ("p = 0.5", AddedNoise::Geometric(Ratio::new(0.5)?)),
        ("p = 0.6", AddedNoise::Geometric(Ratio::new(0.6)?)),
        ("p = 0.75", AddedNoise::Geometric(Ratio::new(0.75)?)),
    ];
    for (name, noise) in noises {
        let at = |epsilon: Epsilon| Ok(directions_with_noise(&others, noise, epsilon, 1).delta().upper);
        chart = chart.line(Series::new(name, curve(0.0, 0.6, 240, at)?));
    }
    Ok(chart.to_svg())
}
