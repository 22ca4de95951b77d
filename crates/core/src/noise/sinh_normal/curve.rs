//! The continuous sinh-normal distribution: its Rényi curve by quadrature, to search for parameters and to cross-check.
//!
//! No guarantee rests on this file: what is sampled is the table, and the table has its own certificate.

/// Below which order the divergence of continuous sinh-normal noise is finite: 1/(1 − e^{−2Δ/A}), with a = A/Δ.
///
/// ```
/// assert!((scumble::noise::sinh_normal::order_limit(10.0) - 5.517).abs() < 1e-3);
/// ```
pub fn order_limit(a: f64) -> f64 {
    -1.0 / (-2.0 / a).exp_m1()
}

/// D_α between continuous sinh-normal noise and the same moved by Δ, with a = A/Δ and shape R = A²/2σ².
///
/// e^{(α−1)D} = e^{R(1−B)/2}·√(R/π)·∫ e^{−RB·sinh²v}·cosh(y−d)^α·cosh(y)^{1−α} dv, y = v + θ/2, d = Δ/A,
/// B = √(1−4α(α−1)sinh²d), tanh θ = α·sinh 2d/(α·cosh 2d + 1 − α). The integrand is analytic in a strip and falls
/// doubly exponentially, so the trapezoid rule converges geometrically: the step is halved until two sums agree.
///
/// ```
/// // A/Δ = 20, ρ₀ = 0.01, so R = 4.
/// let d = scumble::noise::sinh_normal::continuous_renyi(20.0, 4.0, 9.0);
/// assert!((d / 0.1522410262800749503173 - 1.0).abs() < 1e-10);
/// ```
pub fn continuous_renyi(a: f64, shape: f64, order: f64) -> f64 {
    if order >= order_limit(a) {
        return f64::INFINITY;
    }
    let d = 1.0 / a;
    let inside = 1.0 - 4.0 * order * (order - 1.0) * d.sinh().powi(2);
    if inside <= 0.0 {
        return f64::INFINITY;
    }
    let b = inside.sqrt();
    let theta = (order * (2.0 * d).sinh() / (order * (2.0 * d).cosh() + 1.0 - order)).atanh();
    let ln_integrand = |v: f64| {
        let y = v + theta / 2.0;
        -shape * b * v.sinh().powi(2) + order * ln_cosh(y - d) + (1.0 - order) * ln_cosh(y)
    };
    // Where R·B·sinh²v is 800 nothing is left; the other factors grow at most like e^{α·d + |v|}.
    let reach = (800.0 / (shape * b)).sqrt().asinh();
    let mut step = reach / 32.0;
    let mut before = f64::NAN;
    for _ in 0..12 {
        let count = (reach / step) as i64;
        let sum: f64 = (-count..=count).map(|i| ln_integrand(i as f64 * step).exp()).sum();
        let integral = sum * step;
        if (integral - before).abs() <= 1e-14 * integral {
            before = integral;
            break;
        }
        before = integral;
        step /= 2.0;
    }
    let ln_prefactor = shape * (1.0 - b) / 2.0 + 0.5 * (shape / std::f64::consts::PI).ln();
    ((ln_prefactor + before.ln()) / (order - 1.0)).max(0.0)
}

fn ln_cosh(x: f64) -> f64 {
    let x = x.abs();
    x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2
}
