//! Named categories: bars, dots with intervals, or boxes of quantiles, beside each other or one below the other.

use crate::axis::{Axis, ScaledAxis};
use crate::canvas::{BAR, Canvas, Captions, LINE, LegendSample, Plot, SMALL, Size};
use crate::marks::{Anchor, Paint, Picture, Point, Shape};
use crate::text::{widest, wrapped};

/// A value and, perhaps, an interval around it. An infinite end is drawn to the edge with an arrow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Estimate {
    /// A value without an interval.
    pub fn new(value: f64) -> Self {
        Self { value, interval: None }
    }

    /// The same with an interval from `low` to `high`.
    pub fn within(self, low: f64, high: f64) -> Self {
        let is_known = !low.is_nan() && !high.is_nan();
        Self { interval: is_known.then_some((low, high)), ..self }
    }
}

/// One category with an estimate for each series, where there is one.
#[derive(Debug, Clone)]
pub struct Category {
    name: String,
    estimates: Vec<Option<Estimate>>,
    apart: bool,
}

impl Category {
    /// A category.
    pub fn new(name: impl Into<String>, estimates: Vec<Option<Estimate>>) -> Self {
        Self { name: name.into(), estimates, apart: false }
    }

    /// The same apart from the others: a total is not one more category.
    pub fn apart(self) -> Self {
        Self { apart: true, ..self }
    }
}

/// How estimates are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CategoryStyle {
    /// From zero: for amounts.
    Bars,
    /// Where they are: for means, shares and quantiles.
    Dots,
    /// A box with whiskers for each category, whose series are rising quantiles.
    Boxes,
}

/// Categories along one axis, values along the other.
///
/// ```
/// use scumble_chart::{Axis, Category, CategoryChart, CategoryStyle, Estimate};
/// let ohio = Category::new("Ohio", vec![Some(Estimate::new(120.0).within(110.0, 130.0))]);
/// let svg = CategoryChart::new("Visits", CategoryStyle::Bars, Axis::linear("people"), vec![ohio]).to_svg();
/// assert!(svg.contains("Ohio"));
/// ```
#[derive(Debug, Clone)]
pub struct CategoryChart {
    captions: Captions,
    style: CategoryStyle,
    axis: Axis,
    series: Vec<String>,
    rows: Vec<Category>,
    size: Size,
}

/// More categories than this stand one below the other.
const MOST_BESIDE: usize = 12;

impl CategoryChart {
    /// A chart of these categories over an axis of values.
    pub fn new(captions: impl Into<Captions>, style: CategoryStyle, axis: Axis, rows: Vec<Category>) -> Self {
        Self { captions: captions.into(), style, axis, series: Vec::new(), rows, size: Size::Wide }
    }

    /// Names the series, where there are several.
    pub fn series(self, series: Vec<String>) -> Self {
        Self { series, ..self }
    }

    /// Sets how large it is drawn.
    pub fn size(self, size: Size) -> Self {
        Self { size, ..self }
    }

    /// The picture as SVG.
    pub fn to_svg(&self) -> String {
        self.picture().to_svg()
    }

    /// The picture.
    pub fn picture(&self) -> Picture {
        let mut canvas = Canvas::new(&self.captions, self.size);
        let values = self.axis.lay(self.ends()).rounded(6);
        match self.beside(&canvas) {
            Some(names) => self.draw_beside(&mut canvas, &values, names),
            None => self.draw_below(&mut canvas, &values),
        }
        canvas.legend(&self.entries());
        let CategoryChart { captions, axis, rows, .. } = self;
        canvas.finish(&format!("{}: {} for {} categories", captions.title, axis.label, rows.len()))
    }

    /// How many estimates a category has at most.
    fn width(&self) -> usize {
        self.rows.iter().map(|row| row.estimates.len()).max().unwrap_or(0).max(1)
    }

    /// All numbers that must have room.
    fn ends(&self) -> impl Iterator<Item = f64> {
        let zero = (self.style == CategoryStyle::Bars).then_some(0.0);
        let estimates = self.rows.iter().flat_map(|row| row.estimates.iter().flatten());
        zero.into_iter().chain(estimates.flat_map(|one| {
            let (low, high) = one.interval.unwrap_or((one.value, one.value));
            [one.value, low, high]
        }))
    }

    /// The lines of each name, if the categories have room beside each other.
    fn beside(&self, canvas: &Canvas) -> Option<Vec<Vec<String>>> {
        let room = (canvas.room() - 60.0) / self.units();
        if self.axis.is_of_days() || self.rows.len() > MOST_BESIDE || room < 14.0 * self.width() as f64 {
            return None;
        }
        let lines = |row: &Category| {
            let lines = wrapped(&row.name, SMALL, room - 6.0, 3);
            let is_whole = !lines.iter().any(|line| line.ends_with('…')) || row.name.ends_with('…');
            is_whole.then_some(lines)
        };
        self.rows.iter().map(lines).collect()
    }

    /// How many slots the categories take, with the gap before those that are apart.
    fn units(&self) -> f64 {
        self.rows.len().max(1) as f64 + if self.gap().is_some() { GAP } else { 0.0 }
    }

    /// The first category that is apart from others before it.
    fn gap(&self) -> Option<usize> {
        self.rows.iter().position(|row| row.apart).filter(|first| *first > 0)
    }

    /// Where the slot of a category begins, in slots.
    fn slot(&self, index: usize) -> f64 {
        let gap = self.gap().filter(|first| index >= *first).map_or(0.0, |_| GAP);
        index as f64 + gap
    }

    fn draw_beside(&self, canvas: &mut Canvas, values: &ScaledAxis, names: Vec<Vec<String>>) {
        canvas.label_above(&self.axis.label);
        let plot = canvas.plot(values, self.size.height());
        let slot = (plot.right - plot.left) / self.units();
        let field = Field { plot, values, across: false };
        field.baseline(canvas);
        for (index, (row, name)) in self.rows.iter().zip(&names).enumerate() {
            let from = plot.left + self.slot(index) * slot;
            self.draw(canvas, &field, row, (from, slot));
            for (line, text) in name.iter().enumerate() {
                canvas.text((from + slot / 2.0, plot.bottom + 16.0 + LINE * line as f64), Anchor::Middle, text);
            }
        }
        if let Some(first) = self.gap() {
            let at = plot.left + (self.slot(first) - GAP / 2.0) * slot;
            canvas.line((at, plot.top), (at, plot.bottom), Paint::Soft, 1.0);
        }
        let lines = names.iter().map(Vec::len).max().unwrap_or(0);
        canvas.top = plot.bottom + 8.0 + LINE * lines as f64;
    }

    fn draw_below(&self, canvas: &mut Canvas, values: &ScaledAxis) {
        let room = canvas.room() * if self.size == Size::Wide { 0.36 } else { 0.42 };
        let names: Vec<Vec<String>> = self.rows.iter().map(|row| wrapped(&row.name, SMALL, room, 3)).collect();
        let lines = names.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let inside = if self.style == CategoryStyle::Boxes { 16.0 } else { 11.0 * self.width() as f64 };
        let slot = f64::max(lines as f64 * 14.0 + 6.0, inside + 10.0);
        let labels = names.iter().map(|name| widest(name.iter().map(String::as_str), SMALL)).fold(0.0, f64::max);
        let top = canvas.top + 4.0;
        let left = canvas.left() + labels + 10.0;
        let plot = Plot { left, right: canvas.right() - 12.0, top, bottom: top + slot * self.units() };
        canvas.below(&plot, values, &self.axis.label, true);
        let field = Field { plot, values, across: true };
        field.baseline(canvas);
        for (index, (row, name)) in self.rows.iter().zip(&names).enumerate() {
            let from = top + self.slot(index) * slot;
            self.draw(canvas, &field, row, (from, slot));
            let first = from + slot / 2.0 + 4.0 - 7.0 * (name.len() as f64 - 1.0);
            for (line, text) in name.iter().enumerate() {
                canvas.text((left - 8.0, first + 14.0 * line as f64), Anchor::End, text);
            }
        }
        if let Some(first) = self.gap() {
            let at = top + (self.slot(first) - GAP / 2.0) * slot;
            canvas.line((canvas.left(), at), (plot.right, at), Paint::Soft, 1.0);
        }
    }

    /// One category in its slot: where it begins and how wide it is.
    fn draw(&self, canvas: &mut Canvas, field: &Field<'_>, row: &Category, (from, slot): (f64, f64)) {
        if self.style == CategoryStyle::Boxes {
            let quantiles: Vec<f64> = row.estimates.iter().flatten().map(|one| one.value).collect();
            return field.draw_box(canvas, &quantiles, from + slot / 2.0, f64::min(slot * 0.3, 9.0));
        }
        let count = self.width() as f64;
        let part = f64::min(slot * 0.78 / count, 60.0);
        let first = from + slot / 2.0 - part * (count - 1.0) / 2.0;
        for (index, estimate) in row.estimates.iter().enumerate() {
            let Some(estimate) = estimate.filter(|one| one.value.is_finite()) else { continue };
            let middle = first + part * index as f64;
            let paint = Paint::Series(if row.apart && self.series.is_empty() { APART } else { index });
            match self.style {
                CategoryStyle::Bars => {
                    field.bar(canvas, estimate.value, (middle, part * 0.46), paint);
                    field.whisker(canvas, estimate, (middle, f64::min(part * 0.2, 5.0)), Paint::Ink);
                }
                _ => {
                    field.whisker(canvas, estimate, (middle, f64::min(part * 0.3, 4.0)), paint);
                    let at = field.at(middle, estimate.value);
                    canvas.mark(Shape::Dot { at, radius: 4.0 }, paint, 1.0);
                }
            }
        }
    }

    fn entries(&self) -> Vec<(LegendSample, String)> {
        if self.style == CategoryStyle::Boxes || self.series.len() < 2 {
            return Vec::new();
        }
        let sample = |index| match self.style {
            CategoryStyle::Bars => LegendSample::Bar(index),
            _ => LegendSample::Dot(index),
        };
        self.series.iter().enumerate().map(|(index, name)| (sample(index), name.clone())).collect()
    }
}

/// The gap before what is apart, in slots.
const GAP: f64 = 0.5;
/// The colour of what is apart.
const APART: usize = 6;

/// A plot with its axis of values, which runs across or upwards.
struct Field<'a> {
    plot: Plot,
    values: &'a ScaledAxis,
    across: bool,
}

impl Field<'_> {
    /// The position of a value, at this position along the categories; what is beyond the axis stands at its end.
    fn at(&self, along: f64, value: f64) -> Point {
        let place = self.values.clamped(value);
        if self.across { (self.plot.x(place), along) } else { (along, self.plot.y(place)) }
    }

    /// Zero, where the axis has it; otherwise its end.
    fn baseline(&self, canvas: &mut Canvas) {
        let Plot { left, right, top, bottom } = self.plot;
        let [from, to] = if self.across { [top, bottom] } else { [left, right] };
        let zero = self.values.place(0.0).map_or(f64::NEG_INFINITY, |_| 0.0);
        canvas.line(self.at(from, zero), self.at(to, zero), Paint::Soft, 1.0);
    }

    fn bar(&self, canvas: &mut Canvas, value: f64, (middle, half): (f64, f64), paint: Paint) {
        let (from, to) = (self.at(middle - half, 0.0), self.at(middle + half, value));
        canvas.mark(Shape::Rectangle { from, to }, paint, BAR);
    }

    /// An interval with its ends; an infinite one has an arrow at the edge.
    fn whisker(&self, canvas: &mut Canvas, one: Estimate, (middle, half): (f64, f64), paint: Paint) {
        let Some((low, high)) = one.interval else { return };
        canvas.line(self.at(middle, low), self.at(middle, high), paint, 1.6);
        for (end, inwards) in [(low, 1.0), (high, -1.0)] {
            let (x, y) = self.at(middle, end);
            if end.is_finite() {
                let (from, to) = (self.at(middle - half, end), self.at(middle + half, end));
                canvas.line(from, to, paint, 1.6);
                continue;
            }
            let corner = |side: f64| match self.across {
                true => (x + 7.0 * inwards, y + side),
                false => (x + side, y - 7.0 * inwards),
            };
            canvas.mark(Shape::Area(vec![(x, y), corner(-4.0), corner(4.0)]), paint, 1.0);
        }
    }

    /// A box with whiskers: of three quantiles the box has all, of more the inner ones.
    fn draw_box(&self, canvas: &mut Canvas, quantiles: &[f64], middle: f64, half: f64) {
        let paint = Paint::Series(0);
        let (Some(first), Some(last)) = (quantiles.first(), quantiles.last()) else { return };
        canvas.line(self.at(middle, *first), self.at(middle, *last), paint, 1.6);
        let inner = match quantiles.len() {
            0..=2 => None,
            3 => Some((*first, *last)),
            more => Some((quantiles[1], quantiles[more - 2])),
        };
        if let Some((low, high)) = inner {
            let (from, to) = (self.at(middle - half, low), self.at(middle + half, high));
            canvas.mark(Shape::Rectangle { from, to }, paint, 0.35);
        }
        for (index, value) in quantiles.iter().enumerate() {
            let is_median = quantiles.len() % 2 == 1 && index == quantiles.len() / 2;
            let half = if is_median || inner.is_some_and(|(low, high)| *value == low || *value == high) {
                half
            } else {
                half * 0.6
            };
            let (from, to) = (self.at(middle - half, *value), self.at(middle + half, *value));
            canvas.line(from, to, paint, if is_median { 3.0 } else { 1.6 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: f64, low: f64, high: f64) -> Vec<Option<Estimate>> {
        vec![Some(Estimate::new(value).within(low, high))]
    }

    fn bars(rows: Vec<Category>) -> CategoryChart {
        CategoryChart::new("t", CategoryStyle::Bars, Axis::linear("n"), rows)
    }

    #[test]
    fn short_names_stand_below_columns_and_long_ones_beside_rows() {
        let named = |name: &str| (0..8).map(|at| Category::new(format!("{name} {at}"), one(3.0, 2.0, 4.0))).collect();
        let short = bars(named("a"));
        assert!(short.beside(&Canvas::new(&short.captions, short.size)).is_some());
        let long = bars(named("Extraction of crude petroleum and natural gas"));
        assert!(long.beside(&Canvas::new(&long.captions, long.size)).is_none());
        for chart in [short, long] {
            for size in [Size::Wide, Size::Narrow] {
                let picture = chart.clone().size(size).picture();
                assert_eq!(picture.outside(), Vec::<&str>::new());
            }
        }
    }

    #[test]
    fn negative_unbounded_and_empty_charts_draw() {
        let rows = vec![
            Category::new("a", one(-3.0, -5.0, -1.0)),
            Category::new("b", one(1.0, f64::NEG_INFINITY, f64::INFINITY)),
            Category::new("c", vec![None]),
            Category::new("d", one(f64::NAN, f64::NAN, f64::NAN)),
        ];
        let svg = bars(rows).to_svg();
        assert!(!svg.contains("height=\"-") && !svg.contains("inf") && !svg.contains("NaN"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 2, "an arrow at each end that is not known");
        assert!(bars(Vec::new()).to_svg().starts_with("<svg"));
    }

    #[test]
    fn intervals_are_drawn_in_full() {
        let picture = bars(vec![Category::new("a", one(10.0, 2.0, 90.0))]).picture();
        let whiskers = picture.marks.iter().filter_map(|mark| match &mark.shape {
            Shape::Path { runs, .. } if mark.paint == Paint::Ink => Some(runs[0].clone()),
            _ => None,
        });
        let longest = whiskers.map(|run| (run[0].1 - run[1].1).abs()).fold(0.0, f64::max);
        let bar = picture.marks.iter().find_map(|mark| match &mark.shape {
            Shape::Rectangle { from, to } => Some((from.1 - to.1).abs()),
            _ => None,
        });
        let ratio = longest / bar.unwrap();
        assert!((ratio - 8.8).abs() < 0.01, "88 against 10: {ratio}");
    }

    #[test]
    fn totals_stand_apart_and_boxes_have_a_median() {
        let rows = vec![Category::new("a", one(1.0, 0.0, 2.0)), Category::new("all", one(2.0, 1.0, 3.0)).apart()];
        let chart = bars(rows);
        assert!(chart.gap() == Some(1) && chart.slot(1) > 1.2);
        let quantiles = [1.0, 2.0, 3.0, 5.0, 9.0].map(|value| Some(Estimate::new(value))).to_vec();
        let boxes =
            CategoryChart::new("t", CategoryStyle::Boxes, Axis::linear("x"), vec![Category::new("a", quantiles)]);
        let svg = boxes.to_svg();
        assert!(svg.contains("stroke-width=\"3\"") && svg.contains("fill-opacity=\"0.35\""), "{svg}");
    }
}
