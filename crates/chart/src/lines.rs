//! Curves and bands over an axis of numbers or dates.

use crate::axis::{Axis, ScaledAxis};
use crate::canvas::{BAND, Canvas, Captions, LegendSample, Plot, Size, dash};
use crate::marks::{Paint, Picture, Point, Shape};

/// A named curve.
#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    steps: bool,
}

impl Series {
    /// A curve through these points, in their order. A point that an axis cannot show breaks it.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, steps: false }
    }

    /// The same as a staircase: each value holds until the next point.
    pub fn steps(self) -> Self {
        Self { steps: true, ..self }
    }
}

/// A band: (x, low, high). A name that is empty is not in the legend.
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
    captions: Captions,
    x: Axis,
    y: Axis,
    lines: Vec<Series>,
    bands: Vec<Band>,
    size: Size,
}

impl LineChart {
    /// An empty chart with linear axes.
    pub fn new(captions: impl Into<Captions>) -> Self {
        let axis = || Axis::linear("");
        Self { captions: captions.into(), x: axis(), y: axis(), lines: Vec::new(), bands: Vec::new(), size: Size::Wide }
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

    /// The picture as SVG.
    pub fn to_svg(&self) -> String {
        self.picture().to_svg()
    }

    /// The picture.
    pub fn picture(&self) -> Picture {
        let (x, y) = (self.x.lay(self.all_x()), self.y.lay(self.all_y()).rounded(6));
        let mut canvas = Canvas::new(&self.captions, self.size);
        canvas.label_above(&self.y.label);
        let plot = canvas.plot(&y, self.size.height());
        canvas.below(&plot, &x, &self.x.label, false);
        canvas.line((plot.left, plot.bottom), (plot.right, plot.bottom), Paint::Soft, 1.0);
        for (index, band) in self.bands.iter().enumerate() {
            draw_band(&mut canvas, &plot, band, index, &x, &y);
        }
        for (index, series) in self.lines.iter().enumerate() {
            draw_line(&mut canvas, &plot, series, index, &x, &y);
        }
        canvas.legend(&self.entries());
        canvas.finish(&self.summary())
    }

    /// Curves first. A single one needs no name beside its chart's.
    fn entries(&self) -> Vec<(LegendSample, String)> {
        let lines = self.lines.iter().enumerate().map(|(index, line)| (LegendSample::Line(index), line.name.clone()));
        let bands = self.bands.iter().enumerate().map(|(index, band)| (LegendSample::Band(index), band.name.clone()));
        lines.chain(bands).filter(|(_, name)| !name.is_empty()).collect()
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
        let names: Vec<&str> =
            self.lines.iter().map(|series| series.name.as_str()).filter(|name| !name.is_empty()).collect();
        let against = format!("{}: {} against {}", self.captions.title, self.y.label, self.x.label);
        if names.is_empty() { against } else { format!("{against}; {}", names.join(", ")) }
    }
}

fn draw_line(canvas: &mut Canvas, plot: &Plot, series: &Series, index: usize, x: &ScaledAxis, y: &ScaledAxis) {
    let mut runs: Vec<Vec<Point>> = Vec::new();
    let mut is_broken = true;
    for point in &series.points {
        let Some((across, up)) = x.place(point.0).zip(y.place(point.1)) else {
            is_broken = true;
            continue;
        };
        let at = (plot.x(across), plot.y(up));
        if std::mem::take(&mut is_broken) {
            runs.push(Vec::new());
        }
        let Some(run) = runs.last_mut() else { continue };
        if let Some((_, before)) = run.last().filter(|_| series.steps).copied() {
            run.push((at.0, before));
        }
        run.push(at);
    }
    // A point between two gaps is no line.
    for lonely in runs.iter().filter(|run| run.len() == 1) {
        canvas.mark(Shape::Dot { at: lonely[0], radius: 2.5 }, Paint::Series(index), 1.0);
    }
    runs.retain(|run| run.len() > 1);
    if !runs.is_empty() {
        canvas.mark(Shape::Path { runs, width: 2.0, dash: dash(index) }, Paint::Series(index), 1.0);
    }
}

/// An area for each run of points without a gap. An end that is not known reaches the edge.
fn draw_band(canvas: &mut Canvas, plot: &Plot, band: &Band, index: usize, x: &ScaledAxis, y: &ScaledAxis) {
    let corners = band.corners();
    for run in corners.split(|point| point.1.is_nan() || point.2.is_nan() || x.place(point.0).is_none()) {
        let shown: Vec<_> = run.iter().filter_map(|point| Some((plot.x(x.place(point.0)?), point))).collect();
        let highs = shown.iter().map(|(across, point)| (*across, plot.y(y.clamped(point.2))));
        let lows = shown.iter().rev().map(|(across, point)| (*across, plot.y(y.clamped(point.1))));
        match &shown[..] {
            [] => {}
            [(across, point)] => {
                let (from, to) = (plot.y(y.clamped(point.1)), plot.y(y.clamped(point.2)));
                canvas.line((*across, from), (*across, to), Paint::Series(index), 1.5);
            }
            _ => canvas.mark(Shape::Area(highs.chain(lows).collect()), Paint::Series(index), BAND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_breaks_the_line_and_the_band() {
        let points = vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 10.0), (4.0, 3.0)];
        let band = points.iter().map(|(x, y)| (*x, y - 1.0, y + 1.0)).collect();
        let svg = LineChart::new("t").band(Band::new("", band)).line(Series::new("s", points)).to_svg();
        let path = svg.lines().find(|line| line.starts_with("<path")).unwrap();
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(svg.matches("<polygon").count(), 2);
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
            .band(Band::new("b", vec![(0.0, f64::NAN, 1.0), (1.0, f64::NEG_INFINITY, f64::INFINITY)]))
            .line(Series::new("s", points))
            .to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("href") && !svg.contains("url("));
    }
}
