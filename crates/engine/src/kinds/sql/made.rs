//! What aggregates are made of: formulas over noisy whole numbers.

use crate::sql::above::formula::Formula;
use crate::sql::analyse::pair::{Moments, Pair};
use crate::sql::analyse::query::Computation;
use crate::sql::functions::PairStatistic;

/// The measures of an aggregate.
pub(crate) fn measures(aggregate: &Computation) -> Vec<usize> {
    match aggregate {
        Computation::Count(measure) => vec![*measure],
        Computation::Sum { steps, .. } => vec![*steps],
        Computation::Mean { steps, count, .. } => vec![*steps, *count],
        Computation::Spread { steps, squares, count, .. } => vec![*steps, *squares, *count],
        Computation::Pair(pair) => pair.measures(),
        Computation::Quantile(_) => Vec::new(),
    }
}

/// An aggregate as a formula of its measures, within what it is for all data.
pub(crate) fn formula(aggregate: &Computation, measure: &dyn Fn(usize) -> Formula) -> Formula {
    let number = Formula::Constant;
    match aggregate {
        Computation::Count(count) => measure(*count),
        Computation::Sum { steps, step } => measure(*steps).times(number(*step)),
        Computation::Mean { steps, count, grid, centre } => {
            let mean = measure(*steps).over(measure(*count)).plus(number(*centre as f64));
            mean.times(number(grid.step)).within(grid.lower, grid.upper)
        }
        Computation::Spread { steps, squares, count, grid, sample, root } => {
            let largest = ((grid.upper - grid.lower) / 2.0).powi(2) * if *sample { 2.0 } else { 1.0 };
            let spread = spread(measure(*squares), measure(*steps), measure(*count));
            let variance = spread.over(rows(measure(*count), *sample)).times(number(grid.step * grid.step));
            let variance = variance.within(0.0, largest);
            if *root { variance.root() } else { variance }
        }
        Computation::Pair(pair) => {
            let value = paired(pair, measure);
            match pair.bounds() {
                Some((low, high)) => value.within(low, high),
                None => value,
            }
        }
        Computation::Quantile(_) => Formula::Unknown,
    }
}

/// The sum of squares of the distances from the mean.
fn spread(squares: Formula, steps: Formula, count: Formula) -> Formula {
    squares.minus(steps.clone().times(steps).over(count))
}

fn rows(count: Formula, sample: bool) -> Formula {
    if sample { count.minus(Formula::Constant(1.0)) } else { count }
}

/// What two columns have in common, as [`Pair::at`] computes it.
fn paired(pair: &Pair, measure: &dyn Fn(usize) -> Formula) -> Formula {
    let number = Formula::Constant;
    let n = || measure(pair.count);
    let sum = |of: &Moments| measure(of.steps).times(number(of.grid.step));
    let own = |of: &Moments| match of.squares {
        Some(squares) => spread(measure(squares), measure(of.steps), n()).times(number(of.grid.step * of.grid.step)),
        None => Formula::Unknown,
    };
    let products = measure(pair.products).times(number(pair.step));
    let common = products.minus(sum(&pair.x).times(sum(&pair.y)).over(n()));
    let mean = |of: &Moments| sum(of).over(n()).plus(number(of.centre as f64 * of.grid.step));
    match pair.asked {
        PairStatistic::Covariance { sample } => common.over(rows(n(), sample)),
        PairStatistic::Slope => common.over(own(&pair.x)),
        PairStatistic::Intercept => mean(&pair.y).minus(common.over(own(&pair.x)).times(mean(&pair.x))),
        PairStatistic::Correlation => common.over(own(&pair.x).times(own(&pair.y)).root()),
        PairStatistic::Determination => common.clone().times(common).over(own(&pair.x).times(own(&pair.y))),
    }
}
