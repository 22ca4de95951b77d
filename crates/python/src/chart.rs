//! The pictures of notebooks: those of the report.

use pyo3::prelude::*;
use scumble_chart::{Axis, Bar, BarChart, LineChart, Series};

/// A name, a value, and an interval around it where it is bounded.
type BarTuple = (String, f64, Option<(f64, f64)>);

/// Bars with error bars, as SVG.
#[pyfunction]
pub fn bars(title: String, label: String, bars: Vec<BarTuple>) -> String {
    let bar = |(name, value, interval): BarTuple| match interval {
        Some((low, high)) => Bar::new(name, value).with_interval(low, high),
        None => Bar::new(name, value),
    };
    BarChart::new(title, label, bars.into_iter().map(bar).collect()).to_svg()
}

/// Lines over a linear axis, with a logarithmic one beside it, as SVG.
#[pyfunction]
pub fn lines(title: String, x: String, y: String, series: Vec<(String, Vec<(f64, f64)>)>) -> String {
    let chart = LineChart::new(title).x(Axis::linear(x)).y(Axis::log(y));
    series.into_iter().fold(chart, |chart, (name, points)| chart.line(Series::new(name, points))).to_svg()
}
