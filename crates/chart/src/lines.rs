//! Curves and bands over a numeric axis.

use crate::axis::{Axis, ScaledAxis};
use crate::canvas::{BELOW_AXIS, COLOURS, Canvas, DASHES, Size};
use std::fmt::Write;

/// A named curve.
#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    steps: bool,
}

impl Series {
    /// A curve through these points, in their order.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, steps: false }
    }

    /// The same as a staircase: each value holds until the next point.
    pub fn steps(self) -> Self {
        Self { steps: true, ..self }
    }
}

/// A named band: (x, low, high).
#[derive(Debug, Clone)]
pub struct Band {
    name: String,
    points: Vec<(f64, f64, f64)>,
    steps: bool,
}

impl Band {
    /// The area between the lows and the highs.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64, f64)>) -> Self {
        Self { name: name.into(), points, steps: false }
    }

    /// The same with steps at its edges: each low and high holds until the next point.
    pub fn steps(self) -> Self {
        Self { steps: true, ..self }
    }

    /// Its corners, from left to right.
    fn corners(&self) -> Vec<(f64, f64, f64)> {
        if !self.steps {
            return self.points.clone();
        }
        let held = self.points.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1, pair[0].2)]);
        held.chain(self.points.last().copied()).collect()
    }
}

/// Curves and bands with two axes, a title and a legend.
///
/// ```
/// use scumble_chart::{Axis, Band, LineChart, Series};
/// let svg = LineChart::new("Ages")
///     .x(Axis::linear("age"))
///     .y(Axis::linear("share"))
///     .band(Band::new("95% band", vec![(0.0, 0.1, 0.3), (1.0, 0.2, 0.4)]))
///     .line(Series::new("estimate", vec![(0.0, 0.2), (1.0, 0.3)]))
///     .to_svg();
/// assert!(svg.contains("95% band"));
/// ```
#[derive(Debug, Clone)]
pub struct LineChart {
    title: String,
    x: Axis,
    y: Axis,
    lines: Vec<Series>,
    bands: Vec<Band>,
    size: Size,
}

impl LineChart {
    /// An empty chart with linear axes.
    pub fn new(title: impl Into<String>) -> Self {
        let axis = || Axis::linear("");
        Self { title: title.into(), x: axis(), y: axis(), lines: Vec::new(), bands: Vec::new(), size: Size::Wide }
    }

    /// Sets how large it is drawn.
    pub fn size(self, size: Size) -> Self {
        Self { size, ..self }
    }

    /// Sets the horizontal axis.
    pub fn x(self, axis: Axis) -> Self {
        Self { x: axis, ..self }
    }

    /// Sets the vertical axis.
    pub fn y(self, axis: Axis) -> Self {
        Self { y: axis, ..self }
    }

    /// Adds a curve.
    pub fn line(mut self, series: Series) -> Self {
        self.lines.push(series);
        self
    }

    /// Adds a band, drawn beneath the curves, in the colour of the curve of the same index.
    pub fn band(mut self, band: Band) -> Self {
        self.bands.push(band);
        self
    }

    /// The picture.
    pub fn to_svg(&self) -> String {
        let x = self.x.lay(self.all_x());
        let y = self.y.lay(self.all_y());
        let entries = self.lines.len() + self.bands.len();
        let mut canvas = Canvas::new(&self.title, self.size, BELOW_AXIS, entries);
        canvas.x_axis(&x, &self.x.label);
        canvas.y_axis(&y, &self.y.label);
        for (index, band) in self.bands.iter().enumerate() {
            draw_band(&mut canvas, band, index, &x, &y);
            let colour = COLOURS[index % COLOURS.len()];
            let sample = format!(r#"<rect y="-7" width="24" height="14" fill="{colour}" fill-opacity="0.2"/>"#);
            canvas.legend(self.lines.len() + index, &sample, &band.name);
        }
        for (index, series) in self.lines.iter().enumerate() {
            draw_line(&mut canvas, series, index, &x, &y);
            let sample = format!(r#"<line x1="0" y1="0" x2="24" y2="0" {}/>"#, stroke(index));
            canvas.legend(index, &sample, &series.name);
        }
        canvas.finish(&self.summary())
    }

    fn all_x(&self) -> impl Iterator<Item = f64> {
        let of_lines = self.lines.iter().flat_map(|series| series.points.iter().map(|point| point.0));
        of_lines.chain(self.bands.iter().flat_map(|band| band.points.iter().map(|point| point.0)))
    }

    fn all_y(&self) -> impl Iterator<Item = f64> {
        let of_lines = self.lines.iter().flat_map(|series| series.points.iter().map(|point| point.1));
        of_lines.chain(self.bands.iter().flat_map(|band| band.points.iter().flat_map(|point| [point.1, point.2])))
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.lines.iter().map(|series| series.name.as_str()).collect();
        format!("{}: {} against {}; {}", self.title, self.y.label, self.x.label, names.join(", "))
    }
}

fn stroke(index: usize) -> String {
    let colour = COLOURS[index % COLOURS.len()];
    let dash = DASHES[index % DASHES.len()];
    format!(r#"fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round" stroke-dasharray="{dash}""#)
}

fn draw_line(canvas: &mut Canvas, series: &Series, index: usize, x: &ScaledAxis, y: &ScaledAxis) {
    let mut path = String::new();
    let mut previous: Option<(f64, f64)> = None;
    for point in &series.points {
        let Some((across, up)) = x.place(point.0).zip(y.place(point.1)) else {
            previous = None;
            continue;
        };
        let (across, up) = (canvas.x(across), canvas.y(up));
        let _ = match previous {
            None => write!(path, "M{across:.1} {up:.1}"),
            Some((_, before)) if series.steps => write!(path, "L{across:.1} {before:.1}L{across:.1} {up:.1}"),
            Some(_) => write!(path, "L{across:.1} {up:.1}"),
        };
        previous = Some((across, up));
    }
    canvas.raw(&format!(r#"<path d="{path}" {}/>"#, stroke(index)));
}

fn draw_band(canvas: &mut Canvas, band: &Band, index: usize, x: &ScaledAxis, y: &ScaledAxis) {
    let corners = band.corners();
    let shown: Vec<_> = corners.iter().filter_map(|point| x.place(point.0).map(|across| (across, point))).collect();
    let mut outline = String::new();
    let highs = shown.iter().map(|(across, point)| (*across, y.clamped(point.2)));
    let lows = shown.iter().rev().map(|(across, point)| (*across, y.clamped(point.1)));
    for (across, up) in highs.chain(lows) {
        let _ = write!(outline, "{:.1},{:.1} ", canvas.x(across), canvas.y(up));
    }
    let colour = COLOURS[index % COLOURS.len()];
    canvas.raw(&format!(r#"<polygon points="{}" fill="{colour}" fill-opacity="0.2"/>"#, outline.trim_end()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_breaks_the_line() {
        let chart = LineChart::new("t").y(Axis::log("y"));
        let svg = chart.line(Series::new("s", vec![(0.0, 1.0), (1.0, 0.0), (2.0, 10.0)])).to_svg();
        let path = svg.lines().find(|line| line.starts_with("<path")).unwrap();
        assert_eq!(path.matches('M').count(), 2);
    }

    #[test]
    fn a_band_with_steps_holds_each_value_until_the_next() {
        let band = Band::new("b", vec![(1.0, 4.0, 6.0), (2.0, 1.0, 3.0)]).steps();
        assert_eq!(band.corners(), [(1.0, 4.0, 6.0), (2.0, 4.0, 6.0), (2.0, 1.0, 3.0)]);
    }

    #[test]
    fn names_cannot_leave_their_text() {
        let svg = LineChart::new("<script>&").line(Series::new("\"a\u{1}'", vec![(0.0, 0.0)])).to_svg();
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;&amp;") && svg.contains("&quot;a &#39;"));
    }

    #[test]
    fn nothing_is_fetched_and_no_number_is_nan() {
        let points = vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, 2.0), (3.0, -5.0)];
        let svg = LineChart::new("t")
            .band(Band::new("b", vec![(0.0, f64::NAN, 1.0)]))
            .line(Series::new("s", points))
            .to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("href") && !svg.contains("url("));
    }
}
