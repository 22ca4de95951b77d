//! What residual tables of marginals move and weigh, whatever their sets of attributes are kept as.

use super::allocation::Constraint;
use super::limits::RhoLimits;
use crate::error::Result;
use crate::quantity::Rho;

/// A residual: its set of attributes, the squared length by which presence moves it, and its weight in the error.
pub(super) type Term<S> = (S, f64, f64);

/// The squared length by which one person's presence moves a residual: ∏(1 − 1/d_j).
pub(super) fn moved_by_presence(sizes: &[u32], set: impl Iterator<Item = usize>) -> f64 {
    set.map(|attribute| 1.0 - 1.0 / f64::from(sizes[attribute])).product()
}

/// The squared length by which a residual moves when exactly these attributes of one person change:
/// 2(⟨Pe, e⟩ − ⟨Pe, e'⟩), where the projection P has 1 − 1/d on the diagonal and −1/d off it.
pub(super) fn moved_by_change(
    sizes: &[u32],
    set: impl Iterator<Item = usize> + Clone,
    changes: impl Fn(usize) -> bool,
) -> f64 {
    if !set.clone().any(&changes) {
        return 0.0;
    }
    let factor = |attribute: usize| {
        let share = 1.0 / f64::from(sizes[attribute]);
        if changes(attribute) { -share } else { 1.0 - share }
    };
    2.0 * (moved_by_presence(sizes, set.clone()) - set.map(factor).product::<f64>())
}

/// How much of the variance of a residual reaches one cell of a table that has these attributes beside its own.
pub(super) fn weight_in(sizes: &[u32], set: impl Iterator<Item = usize>, outside: impl Iterator<Item = usize>) -> f64 {
    let spread: f64 = outside.map(|attribute| f64::from(sizes[attribute]).powi(-2)).product();
    moved_by_presence(sizes, set) * spread
}

/// Replaces each value by a function of itself, of the sum along an axis and of that axis' size, axis after axis.
pub(super) fn along_axes<N>(table: &mut [N], sizes: &[usize], of: impl Fn(N, N, N) -> N)
where
    N: Copy + Default + std::ops::AddAssign + TryFrom<i32>,
{
    let mut inner = table.len();
    for &size in sizes {
        let block = inner;
        inner /= size;
        let number = N::try_from(size as i32).unwrap_or_default();
        for chunk in table.chunks_exact_mut(block) {
            for fibre in 0..inner {
                let mut sum = N::default();
                (0..size).for_each(|row| sum += chunk[row * inner + fibre]);
                (0..size).for_each(|row| chunk[row * inner + fibre] = of(chunk[row * inner + fibre], sum, number));
            }
        }
    }
}

/// The limits as sums over residuals: what one attribute's change moves each of them by, presence, and what may move
/// them most when a person is replaced.
pub(super) fn constraints<S>(
    terms: &[Term<S>],
    limits: &RhoLimits,
    attributes: usize,
    change: impl Fn(&S, usize) -> f64,
    presence: impl Fn(&S) -> f64,
    person: &[&dyn Fn(&S) -> f64],
) -> Result<Vec<Constraint>> {
    let mut rows = Vec::new();
    let mut add = |most: Option<Rho>, moved: &dyn Fn(&S) -> f64| {
        let Some(most) = most else { return };
        let costs = terms.iter().enumerate().map(|(number, (set, ..))| (number, moved(set)));
        let costs: Vec<(usize, f64)> = costs.filter(|(_, cost)| *cost > 0.0).collect();
        rows.extend((!costs.is_empty()).then(|| Constraint { costs, most: most.get() }));
    };
    for (attribute, most) in limits.attributes.iter().enumerate().take(attributes) {
        add(*most, &|set| change(set, attribute));
    }
    add(limits.presence, &presence);
    person.iter().for_each(|moved| add(limits.person, moved));
    if rows.is_empty() || rows.iter().any(|row| row.most <= 0.0) {
        refuse!("marginals need a limit above 0 on their cost in some scope");
    }
    Ok(rows)
}

/// A finite precision for each residual: where no limit speaks about it, the share of the presence cost that it has in
/// the plan that is best for presence, where costs go with √(moved·weight).
pub(super) fn filled<S>(terms: &[Term<S>], precisions: Vec<f64>) -> Vec<f64> {
    let finite = || terms.iter().zip(&precisions).filter(|(_, precision)| precision.is_finite());
    let spent: f64 = finite().map(|((_, moved, _), precision)| moved * precision).sum();
    let roots: f64 = finite().map(|((_, moved, weight), _)| (moved * weight).sqrt()).sum();
    let share = |(_, moved, weight): &Term<S>| spent / roots * (moved * weight).sqrt() / moved;
    let own = |(term, &precision): (&Term<S>, &f64)| if precision.is_finite() { precision } else { share(term) };
    terms.iter().zip(&precisions).map(own).collect()
}
