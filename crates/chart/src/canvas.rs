//! The drawing surface: a string of SVG elements, with text escaped.

use crate::axis::ScaledAxis;
use std::fmt::Write;

const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
/// Room for the ticks and the label of the horizontal axis.
pub(crate) const BELOW_AXIS: f64 = 52.0;
const LEGEND_LINE: f64 = 20.0;
/// Between the label of the horizontal axis and the legend.
const LEGEND_GAP: f64 = 6.0;

/// How large a picture is drawn. Letters have the same size in both, so that each is readable at its own width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Size {
    /// For a page: 720 wide.
    #[default]
    Wide,
    /// For a phone: 380 wide.
    Narrow,
}

impl Size {
    fn width(self) -> f64 {
        if self == Self::Wide { 720.0 } else { 380.0 }
    }

    fn height(self) -> f64 {
        if self == Self::Wide { 420.0 } else { 330.0 }
    }

    /// How many entries of a legend fit beside each other.
    pub(crate) fn legend_columns(self) -> usize {
        if self == Self::Wide { 2 } else { 1 }
    }

    /// Of this many ticks of the horizontal axis, every how manieth has room for its number.
    fn every(self, ticks: usize) -> usize {
        if self == Self::Narrow && ticks > 5 { 2 } else { 1 }
    }

    /// How many letters of a title have room, at nine and a half units each: broad letters are rare.
    fn title_letters(self) -> usize {
        if self == Self::Wide { 68 } else { 38 }
    }
}

/// Colours that stay apart for the colour-blind and in grey (Okabe–Ito, darkened where white paper needs it).
pub(crate) const COLOURS: [&str; 8] =
    ["#0b5fa5", "#d55e00", "#00795c", "#b1397b", "#8a6d00", "#3a9ad9", "#555555", "#7a3fb0"];

/// Dashes repeat out of step with the colours, so that more than eight lines stay apart.
pub(crate) const DASHES: [&str; 3] = ["", "7 4", "2 3"];

/// The part of the picture that shows data, and the elements so far.
pub(crate) struct Canvas {
    body: String,
    size: Size,
    /// Below the horizontal axis.
    below: f64,
    /// With the legend.
    height: f64,
}

impl Canvas {
    /// A canvas with so much room below the horizontal axis and for a legend of this many entries.
    pub(crate) fn new(title: &str, size: Size, below: f64, legend_entries: usize) -> Self {
        let height = size.height() + LEGEND_GAP + LEGEND_LINE * legend_entries.div_ceil(size.legend_columns()) as f64;
        let mut canvas = Self { body: String::new(), size, below, height };
        let start = if size == Size::Wide { LEFT } else { 8.0 };
        canvas.text(start, 24.0, "start", "15", "600", &shortened(title, size.title_letters()));
        canvas
    }

    /// The right end of the part that shows data.
    fn right(&self) -> f64 {
        self.size.width() - RIGHT
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The horizontal position of a place in [0, 1].
    pub(crate) fn x(&self, place: f64) -> f64 {
        LEFT + place * (self.right() - LEFT)
    }

    /// The vertical position of a place in [0, 1], low numbers below.
    pub(crate) fn y(&self, place: f64) -> f64 {
        self.bottom() - place * (self.bottom() - TOP)
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.size.height() - self.below
    }

    pub(crate) fn raw(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, size: &str, weight: &str, text: &str) {
        let escaped = escape(text);
        let element = format!(
            r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="#222">{escaped}</text>"##
        );
        self.raw(&element);
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let element =
            format!(r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" {style}/>"#, from.0, from.1, to.0, to.1);
        self.raw(&element);
    }

    /// The horizontal axis with its ticks and label.
    pub(crate) fn x_axis(&mut self, axis: &ScaledAxis, label: &str) {
        let bottom = self.bottom();
        let ticks = axis.ticks();
        let every = self.size.every(ticks.len());
        for (index, (place, text)) in ticks.into_iter().enumerate() {
            let x = self.x(place);
            self.line((x, TOP), (x, bottom), r##"stroke="#e4e4e4""##);
            if index % every == 0 {
                self.text(x, bottom + 18.0, "middle", "12", "400", &text);
            }
        }
        self.x_label(label);
    }

    pub(crate) fn x_label(&mut self, label: &str) {
        let bottom = self.bottom();
        self.line((LEFT, bottom), (self.right(), bottom), r##"stroke="#333""##);
        self.text(self.x(0.5), bottom + 40.0, "middle", "13", "400", label);
    }

    /// The vertical axis with its ticks and label.
    pub(crate) fn y_axis(&mut self, axis: &ScaledAxis, label: &str) {
        for (place, text) in axis.ticks() {
            let y = self.y(place);
            self.line((LEFT, y), (self.right(), y), r##"stroke="#e4e4e4""##);
            self.text(LEFT - 8.0, y + 4.0, "end", "12", "400", &text);
        }
        let bottom = self.bottom();
        self.line((LEFT, TOP), (LEFT, bottom), r##"stroke="#333""##);
        let middle = (TOP + bottom) / 2.0;
        let escaped = escape(label);
        let element = format!(
            r##"<text x="18" y="{middle:.1}" text-anchor="middle" font-size="13" fill="#222" transform="rotate(-90 18 {middle:.1})">{escaped}</text>"##
        );
        self.raw(&element);
    }

    /// One entry of the legend.
    pub(crate) fn legend(&mut self, index: usize, sample: &str, name: &str) {
        let columns = self.size.legend_columns();
        let (row, column) = ((index / columns) as f64, (index % columns) as f64);
        let start = if self.size == Size::Wide { LEFT } else { 16.0 };
        let x = start + column * (self.right() - LEFT) / 2.0;
        let y = self.size.height() + LEGEND_GAP + row * LEGEND_LINE;
        let element = format!(r#"<g transform="translate({x:.1} {y:.1})">{sample}</g>"#);
        self.raw(&element);
        self.text(x + 32.0, y + 4.0, "start", "12", "400", name);
    }

    /// The whole picture. `summary` is what a screen reader says.
    pub(crate) fn finish(self, summary: &str) -> String {
        let mut svg = String::new();
        let width = self.size.width();
        let _ = write!(
            svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}" font-family="system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif" style="max-width:100%;height:auto">
<rect width="{width}" height="{height}" fill="#fff"/>
{body}</svg>
"##,
            height = self.height,
            label = escape(summary),
            body = self.body
        );
        svg
    }
}

/// A text cut to this many letters.
pub(crate) fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Text as it may stand in XML; characters that XML forbids are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            control if control.is_control() => escaped.push(' '),
            plain => escaped.push(plain),
        }
    }
    escaped
}
