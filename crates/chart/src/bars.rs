//! Bars with error bars over named categories.

use crate::axis::{Axis, ScaledAxis};
use crate::canvas::{BELOW_AXIS, COLOURS, Canvas, Size, shortened};

/// One category: its value and, perhaps, an interval around it.
#[derive(Debug, Clone)]
pub struct Bar {
    name: String,
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Bar {
    /// A bar without an interval.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, interval: None }
    }

    /// The same with an error bar from `low` to `high`.
    pub fn with_interval(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)), ..self }
    }
}

/// Bars over categories, with error bars.
///
/// ```
/// use scumble_chart::{Bar, BarChart};
/// let svg = BarChart::new("Visits", "people", vec![Bar::new("Ohio", 120.0).with_interval(110.0, 130.0)]).to_svg();
/// assert!(svg.contains("Ohio"));
/// ```
#[derive(Debug, Clone)]
pub struct BarChart {
    title: String,
    label: String,
    bars: Vec<Bar>,
    size: Size,
}

/// More categories than this are not drawn: nobody reads them; the chart says how many are missing.
const MOST_BARS: usize = 40;
/// Names longer than this are cut.
const LONGEST_NAME: usize = 14;
/// Room for names of that length, slanted.
const SLANTED_NAMES: f64 = 84.0;

impl BarChart {
    /// A chart of these bars, with the label of the vertical axis.
    pub fn new(title: impl Into<String>, label: impl Into<String>, bars: Vec<Bar>) -> Self {
        Self { title: title.into(), label: label.into(), bars, size: Size::Wide }
    }

    /// Sets how large it is drawn.
    pub fn size(self, size: Size) -> Self {
        Self { size, ..self }
    }

    /// The picture.
    pub fn to_svg(&self) -> String {
        let shown = &self.bars[..self.bars.len().min(MOST_BARS)];
        let ends = shown.iter().flat_map(|bar| {
            let (low, high) = bar.interval.unwrap_or((bar.value, bar.value));
            [0.0, bar.value, low, high]
        });
        let y = Axis::linear(self.label.clone()).lay(ends);
        let mut canvas = Canvas::new(
            &self.title,
            self.size,
            if slanted(shown.len(), self.size) { SLANTED_NAMES } else { BELOW_AXIS },
            0,
        );
        canvas.y_axis(&y, &self.label);
        canvas.x_label(&self.missing(shown.len()));
        for (index, bar) in shown.iter().enumerate() {
            draw(&mut canvas, bar, index, shown.len(), &y);
        }
        canvas.finish(&format!("{}: {} for {} categories", self.title, self.label, self.bars.len()))
    }

    fn missing(&self, shown: usize) -> String {
        match self.bars.len() - shown {
            0 => String::new(),
            more => format!("and {more} more categories, not drawn"),
        }
    }
}

fn draw(canvas: &mut Canvas, bar: &Bar, index: usize, count: usize, y: &ScaledAxis) {
    let width = 1.0 / count as f64;
    let middle = canvas.x((index as f64 + 0.5) * width);
    let half = (canvas.x(width) - canvas.x(0.0)) * 0.36;
    let (zero, top) = (canvas.y(y.clamped(0.0)), canvas.y(y.clamped(bar.value)));
    let (high, low) = (zero.min(top), zero.max(top));
    canvas.raw(&format!(
        r#"<rect x="{:.1}" y="{high:.1}" width="{:.1}" height="{:.1}" fill="{}" fill-opacity="0.75"/>"#,
        middle - half,
        2.0 * half,
        low - high,
        COLOURS[0]
    ));
    if let Some((from, to)) = bar.interval {
        let (from, to) = (canvas.y(y.clamped(from)), canvas.y(y.clamped(to)));
        let style = r##"stroke="#111" stroke-width="1.5""##;
        canvas.line((middle, from), (middle, to), style);
        for end in [from, to] {
            canvas.line((middle - half * 0.4, end), (middle + half * 0.4, end), style);
        }
    }
    name(canvas, &bar.name, middle, count);
}

/// Whether this many names have no room beside each other.
fn slanted(count: usize, size: Size) -> bool {
    count > if size == Size::Wide { 6 } else { 3 }
}

/// Writes the category below its bar, slanted where there are many.
fn name(canvas: &mut Canvas, name: &str, x: f64, count: usize) {
    let y = canvas.bottom() + 16.0;
    let shown = shortened(name, LONGEST_NAME);
    if !slanted(count, canvas.size()) {
        canvas.text(x, y, "middle", "12", "400", &shown);
        return;
    }
    let escaped = crate::canvas::escape(&shown);
    let size = if count > 20 { 9 } else { 11 };
    canvas.raw(&format!(
        r##"<text x="{x:.1}" y="{y:.1}" text-anchor="end" font-size="{size}" fill="#222" transform="rotate(-40 {x:.1} {y:.1})">{escaped}</text>"##
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_bars_are_cut_and_counted() {
        let bars = (0..50).map(|index| Bar::new(format!("c{index}"), f64::from(index))).collect();
        let svg = BarChart::new("t", "n", bars).to_svg();
        assert_eq!(svg.matches("fill-opacity").count(), 40);
        assert!(svg.contains("and 10 more categories, not drawn"));
    }

    #[test]
    fn negative_and_empty_charts_draw() {
        let svg = BarChart::new("t", "n", vec![Bar::new("a", -3.0).with_interval(-5.0, -1.0)]).to_svg();
        assert!(!svg.contains("height=\"-"));
        assert!(BarChart::new("t", "n", Vec::new()).to_svg().starts_with("<svg"));
    }
}
