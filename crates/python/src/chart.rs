//! The pictures of notebooks: those of the report.

use pyo3::prelude::*;
use scumble_chart::{Axis, Category, CategoryChart, CategoryStyle, Estimate, LineChart, Series};

/// A name, a value, and an interval around it where it is bounded.
type BarTuple = (String, f64, Option<(f64, f64)>);

/// Bars with error bars, as SVG.
#[pyfunction]
pub fn bars(title: String, label: String, bars: Vec<BarTuple>) -> String {
    let bar = |(name, value, interval): BarTuple| {
        let estimate = Estimate::new(value);
        let estimate = interval.map_or(estimate, |(low, high)| estimate.within(low, high));
        Category::new(name, vec![Some(estimate)])
    };
    let bars = bars.into_iter().map(bar).collect();
    CategoryChart::new(title, CategoryStyle::Bars, Axis::linear(label), bars).to_svg()
}

/// Lines over a linear axis, with a logarithmic one beside it, as SVG.
#[pyfunction]
pub fn lines(title: String, x: String, y: String, series: Vec<(String, Vec<(f64, f64)>)>) -> String {
    let chart = LineChart::new(title).x(Axis::linear(x)).y(Axis::log(y));
    series.into_iter().fold(chart, |chart, (name, points)| chart.line(Series::new(name, points))).to_svg()
}
