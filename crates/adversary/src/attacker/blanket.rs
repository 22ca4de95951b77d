//! The privacy blanket: what holds for every number of categories.
//!
//! A record that is in category a with probability at least λ_a and in b with at least λ_b is, with probability
//! λ_a + λ_b, a fresh coin between a and b that nobody can predict. Reveal all the others; N ∼ Bin(m, λ_a+λ_b) coins
//! remain, and the target hides among them: δ ≤ E_N\[H_ε(1 + Bin(N, π) ‖ Bin(N, π))\], π = λ_a/(λ_a+λ_b). For three and
//! more categories this is not only a bound but the truth in the worst case.

use super::bound::{Bound, UNIT};
use super::closed;
use super::hockey;
use super::lambda::Lambda;
use super::noise::{self, AddedNoise};
use super::poisson_binomial::{BeliefGroup, MOST_RECORDS, poisson_binomial};
use super::window::Window;
use scumble::error::Result;
use scumble::quantity::Epsilon;

/// β(m, λ, ε): δ of a histogram, or of a count, when each of m unknown records is in each category with probability at
/// least λ.
///
/// # Guarantee
/// Valid for every number of categories K ≥ 2 with λ ≤ 1/K, active and passive; the worst case itself for K ≥ 3.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{Lambda, blanket};
/// let delta = blanket(9999, Lambda::new(0.05)?, epsilon(0.2)?)?;
/// assert!((delta.upper / 1.5596548055285366e-05 - 1.0).abs() < 1e-8);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn blanket(m: u64, lambda: Lambda, epsilon: Epsilon) -> Result<Bound> {
    let both = 2.0 * lambda.get();
    let coins = number_of_coins(m, both)?;
    Ok(averaged(&coins, 0.5, 0.5, epsilon).and(Bound::at_most(closed::blanket(m, lambda, epsilon))))
}

/// The blanket between categories a and b with different minima: `(δ_ab, δ_ba)`, δ_ab = H_ε(target in a ‖ target in b).
pub fn blanket_pair(m: u64, minimum_a: f64, minimum_b: f64, epsilon: Epsilon) -> Result<(Bound, Bound)> {
    let both = minimum_a + minimum_b;
    if !(minimum_a > 0.0 && minimum_b > 0.0 && both <= 1.0 + 1e-12) {
        refuse!("the minima of two categories must be above 0 and at most 1 together, not {minimum_a} and {minimum_b}");
    }
    let coins = number_of_coins(m, both.min(1.0))?;
    let (share_a, share_b) = (minimum_a / both, minimum_b / both);
    Ok((averaged(&coins, share_a, share_b, epsilon), averaged(&coins, share_b, share_a, epsilon)))
}

/// The blanket when each record has its own λ_j and any `taken` of the list may be known, or the target: then the
/// smallest λ_j are what is left in the worst case, since the bound falls in every λ_j.
pub fn blanket_of_each(records: &[(Lambda, u64)], taken: u64, epsilon: Epsilon) -> Result<Bound> {
    let kept = smallest(records, taken)?;
    let doubled: Result<Vec<BeliefGroup>> =
        kept.iter().map(|&(lambda, how_many)| BeliefGroup::new((2.0 * lambda.get()).min(1.0), how_many)).collect();
    Ok(averaged(&poisson_binomial(&doubled?)?, 0.5, 0.5, epsilon))
}

/// The list without its `taken` largest λ.
fn smallest(records: &[(Lambda, u64)], taken: u64) -> Result<Vec<(Lambda, u64)>> {
    let mut kept = records.to_vec();
    kept.sort_by(|a, b| b.0.get().total_cmp(&a.0.get()));
    let mut left = taken;
    for (_, how_many) in &mut kept {
        let away = left.min(*how_many);
        *how_many -= away;
        left -= away;
    }
    refuse_if!(left > 0, "{taken} records cannot be removed from a shorter list");
    Ok(kept)
}

/// β of a count with added noise, by looking at each N: for comparisons, slower than the rest.
pub fn blanket_with_noise(m: u64, lambda: Lambda, noise: AddedNoise, epsilon: Epsilon) -> Result<Bound> {
    let coins = number_of_coins(m, 2.0 * lambda.get())?;
    let each: Vec<Bound> = (coins.first()..=coins.last())
        .map(|n| noise::with_against_without(&Window::binomial(n as u64, 0.5, 0.5), noise, epsilon.get(), 1))
        .collect();
    Ok(mean(&coins, &each))
}

fn number_of_coins(m: u64, probability: f64) -> Result<Window> {
    refuse_if!(m > MOST_RECORDS, "more than {MOST_RECORDS} records are not analysed; claim fewer (that is safe)");
    Ok(Window::binomial(m, probability, 1.0 - probability))
}

/// E_N\[δ_N\] where δ_N is bounded by `each`, from the first N of the window on. What the window dropped counts in
/// full, since δ_N ≤ 1.
fn mean(coins: &Window, each: &[Bound]) -> Bound {
    let error = coins.relative_error() + (coins.values().len() as f64 + 4.0) * UNIT;
    let sum = |end: fn(&Bound) -> f64| -> f64 {
        coins.values().iter().zip(each).map(|(weight, delta)| weight * end(delta)).sum()
    };
    Bound::new(sum(|delta| delta.lower) * (1.0 - error), sum(|delta| delta.upper) / (1.0 - error) + coins.dropped())
}

/// E_N\[H_ε(1 + Bin(N, π) ‖ Bin(N, π))\] for N in the window, in time proportional to its width.
///
/// Write D(N, k) = P\[Bin(N,π) ≥ k−1\] − e^ε·P\[Bin(N,π) ≥ k\], whose maximum over k, at K(N), is δ_N. One more coin
/// gives D(N+1, k) = (1−π)D(N, k) + πD(N, k−1), and D(N, k) − D(N, k−1) = e^ε b(k−1) − b(k−2), b the probabilities of
/// Bin(N, π). So going down from N + 1 to N, where K(N+1) =: K is K(N) or K(N) + 1:
///
/// δ_N = δ_{N+1} + π·(e^ε b(K−1) − b(K−2)) if K(N) = K, and δ_{N+1} + (1−π)·(b(K−2) − e^ε b(K−1)) if K(N) = K − 1,
///
/// and by the choice of K(N) both terms are positive: nothing cancels, all N together cost what one did.
fn averaged(coins: &Window, heads: f64, tails: f64, epsilon: Epsilon) -> Bound {
    let epsilon = epsilon.get().min(hockey::LARGEST_EPSILON);
    // e^ε and the odds are rounded once; an ε that is a little smaller (larger) covers that from above (below).
    let slack = 16.0 * UNIT * (1.0 + epsilon);
    let above = mean(coins, &each_delta(coins, heads, tails, epsilon - slack));
    let below = mean(coins, &each_delta(coins, heads, tails, epsilon + slack));
    Bound::new(below.lower, above.upper)
}

/// δ_N for every N of the window.
fn each_delta(coins: &Window, heads: f64, tails: f64, epsilon: f64) -> Vec<Bound> {
    let factor = epsilon.exp();
    let first = coins.first() as u64;
    let (mut edge, top) = top(first, coins.last() as u64, heads, tails, factor);
    let (mut lower, mut upper) = (top.lower, top.upper);
    // Above the top δ_N is smaller still, and so small that nothing is known from below.
    let mut each = vec![Bound::at_most(top.upper); coins.values().len()];
    let count = (edge.n - first) as usize;
    each[count] = top;
    for index in (0..count).rev() {
        let n = first + index as u64;
        edge.down_to(n);
        let k = edge.k;
        // b(K−2) − e^ε b(K−1), from b(K−2) = 0 if K = 1, and else as b(K−2)·(1 − e^ε·odds·(N−K+2)/(K−1)).
        let difference = if k == 1 {
            -factor * edge.probability
        } else {
            edge.probability * edge.weighed(k - 1, factor) / (k - 1) as f64
        };
        let step = if difference < 0.0 { -heads * difference } else { tails * difference };
        upper = (upper + step * (1.0 + edge.error)) * (1.0 + UNIT);
        lower = (lower + step * (1.0 - edge.error)) * (1.0 - UNIT);
        each[index] = Bound::new(lower, upper);
        if difference >= 0.0 {
            edge.one_lower();
        }
    }
    each
}

/// The largest N of the range at which b(K−2) is large enough to be held, and δ_N there.
fn top(first: u64, last: u64, heads: f64, tails: f64, factor: f64) -> (Edge, Bound) {
    let look = |n: u64| {
        let window = Window::binomial(n, heads, tails);
        (Edge::new(n, &window, heads, tails, factor), window)
    };
    let (mut low, mut high) = (first, last);
    if look(last).0.probability > 0.0 {
        low = last;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if look(middle).0.probability > 0.0 {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let (edge, window) = look(low);
    let delta = hockey::with_against_without(&window, factor.ln(), 1);
    (edge, delta)
}

/// b_N(max(K−2, 0)) of Bin(N, π), followed while N and K go down together.
struct Edge {
    n: u64,
    k: u64,
    probability: f64,
    error: f64,
    heads: f64,
    tails: f64,
}

impl Edge {
    fn new(n: u64, window: &Window, heads: f64, tails: f64, factor: f64) -> Self {
        let mut edge = Self { n, k: 1, probability: 0.0, error: window.relative_error() + 20.0 * UNIT, heads, tails };
        // K = the smallest k ≥ 1 with b(k−1) ≥ e^ε b(k), that is k ≥ e^ε·odds·(N−k+1).
        let scale = factor * heads / tails;
        let guess = if scale.is_finite() { scale * (n + 1) as f64 / (1.0 + scale) } else { (n + 1) as f64 };
        edge.k = (guess.ceil() as u64).clamp(1, n + 1);
        while edge.k > 1 && edge.weighed(edge.k - 1, factor) >= 0.0 {
            edge.k -= 1;
        }
        while edge.weighed(edge.k, factor) < 0.0 {
            edge.k += 1;
        }
        edge.probability = window.at(edge.place() as i64);
        edge
    }

    /// k − e^ε·odds·(N−k+1), with one rounding at the end, so that its sign is right.
    fn weighed(&self, k: u64, factor: f64) -> f64 {
        (factor * self.heads / self.tails).mul_add(-((self.n + 1 - k) as f64), k as f64)
    }

    fn place(&self) -> u64 {
        self.k.saturating_sub(2)
    }

    /// From Bin(N+1, π) to Bin(N, π): b_N(j) = b_{N+1}(j)·(N+1−j)/((N+1)(1−π)).
    fn down_to(&mut self, n: u64) {
        while self.n > n {
            self.probability *= (self.n - self.place()) as f64 / (self.n as f64 * self.tails);
            self.error += 5.0 * UNIT;
            self.n -= 1;
        }
    }

    /// K becomes K − 1: b(j−1) = b(j)·j(1−π)/((N−j+1)π).
    fn one_lower(&mut self) {
        let before = self.place();
        self.k -= 1;
        if self.place() < before {
            self.probability *= before as f64 * self.tails / ((self.n - before + 1) as f64 * self.heads);
            self.error += 6.0 * UNIT;
        }
    }
}
