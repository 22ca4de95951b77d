//! Where things stand: the words above and below a chart, the part that shows data, its axes and its legend.

use crate::axis::ScaledAxis;
use crate::marks::{Anchor, Label, Mark, Paint, Picture, Point, Shape};
use crate::text::{width, wrapped};

/// Between the edge of a picture and what it shows.
const EDGE: f64 = 14.0;
/// The letters of axes and legends.
pub(crate) const SMALL: f64 = 12.0;
/// The distance of two lines of these letters.
pub(crate) const LINE: f64 = 15.0;

/// How large a picture is drawn. Letters have the same size in both, so that each is readable at its own width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Size {
    /// For a page: 720 wide.
    #[default]
    Wide,
    /// For a phone, or two beside each other: 360 wide.
    Narrow,
}

impl Size {
    pub(crate) fn width(self) -> f64 {
        if self == Self::Wide { 720.0 } else { 360.0 }
    }

    /// The height of the part that shows data, where nothing else decides it.
    pub(crate) fn height(self) -> f64 {
        if self == Self::Wide { 310.0 } else { 230.0 }
    }
}

/// The words around a chart.
///
/// ```
/// use scumble_chart::Captions;
/// let words = Captions::new("Visits by clinic").subtitle("number of visits").source("Source: register of visits");
/// # let _ = words;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Captions {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) notes: Vec<String>,
    pub(crate) source: String,
}

impl Captions {
    /// A title alone.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Says below the title what is drawn, and in which unit.
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// Adds a sentence below the chart.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says below everything where the numbers are from.
    pub fn source(self, source: impl Into<String>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// The words alone, to stand above or below several charts.
    pub fn picture(&self, size: Size) -> Picture {
        Canvas::new(self, size).finish(&self.title)
    }
}

impl<S: Into<String>> From<S> for Captions {
    fn from(title: S) -> Self {
        Self::new(title)
    }
}

/// The marks so far, and how far down they reach.
pub(crate) struct Canvas {
    pub size: Size,
    /// Where the next thing may begin.
    pub top: f64,
    captions: Captions,
    marks: Vec<Mark>,
}

/// The part of a picture that shows data.
#[derive(Clone, Copy)]
pub(crate) struct Plot {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Plot {
    /// The horizontal position of a place in [0, 1].
    pub fn x(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    /// The vertical position of a place in [0, 1], low numbers below.
    pub fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }

    /// How many ticks have room below.
    pub fn across(&self) -> usize {
        ((self.right - self.left) / 72.0) as usize
    }
}

impl Canvas {
    /// A canvas with its title and subtitle.
    pub fn new(captions: &Captions, size: Size) -> Self {
        let mut canvas = Self { size, top: EDGE, captions: captions.clone(), marks: Vec::new() };
        canvas.lines(&captions.title, 15.0, 19.0, 3, Paint::Ink, true);
        canvas.lines(&captions.subtitle, 12.5, 16.0, 3, Paint::Soft, false);
        canvas.top += 8.0;
        canvas
    }

    /// From the left edge to the right one.
    pub fn room(&self) -> f64 {
        self.size.width() - 2.0 * EDGE
    }

    pub fn left(&self) -> f64 {
        EDGE
    }

    pub fn right(&self) -> f64 {
        self.size.width() - EDGE
    }

    /// Wrapped text from the left edge; what follows begins below it.
    fn lines(&mut self, text: &str, letters: f64, height: f64, most: usize, paint: Paint, bold: bool) {
        for line in wrapped(text, if bold { letters * 1.06 } else { letters }, self.room(), most) {
            let at = (EDGE, self.top + letters);
            self.label(Label { at, text: line, size: letters, bold, anchor: Anchor::Start, turned: 0.0 }, paint);
            self.top += height;
        }
    }

    pub fn mark(&mut self, shape: Shape, paint: Paint, opacity: f64) {
        self.marks.push(Mark { shape, paint, opacity });
    }

    pub fn label(&mut self, label: Label, paint: Paint) {
        self.mark(Shape::Label(label), paint, 1.0);
    }

    /// A line of small text.
    pub fn text(&mut self, at: Point, anchor: Anchor, text: impl Into<String>) {
        self.label(Label { at, text: text.into(), size: SMALL, bold: false, anchor, turned: 0.0 }, Paint::Ink);
    }

    pub fn line(&mut self, from: Point, to: Point, paint: Paint, width: f64) {
        self.mark(Shape::Path { runs: vec![vec![from, to]], width, dash: &[] }, paint, 1.0);
    }

    /// The label of the vertical axis, above it.
    pub fn label_above(&mut self, label: &str) {
        self.lines(label, SMALL, LINE, 2, Paint::Soft, false);
        self.top += 10.0;
    }

    /// A plot from here on, with room for the labels of the vertical axis.
    pub fn plot(&mut self, y: &ScaledAxis, height: f64) -> Plot {
        let (top, bottom) = (self.top, self.top + height);
        let ticks = y.ticks((height / 45.0) as usize);
        let widest = ticks.iter().map(|tick| width(&tick.whole(), SMALL)).fold(0.0, f64::max);
        let plot = Plot { left: EDGE + widest + 8.0, right: self.right() - 8.0, top, bottom };
        for tick in ticks {
            let at = plot.y(tick.place);
            self.line((plot.left, at), (plot.right, at), Paint::Grid, 1.0);
            self.text((plot.left - 8.0, at + 4.0), Anchor::End, tick.whole());
        }
        self.top = bottom;
        plot
    }

    /// The horizontal axis below a plot: ticks, with grid lines where asked for, and the label.
    pub fn below(&mut self, plot: &Plot, x: &ScaledAxis, label: &str, grid: bool) {
        let ticks = x.ticks(plot.across());
        let has_below = ticks.iter().any(|tick| tick.below.is_some());
        for tick in ticks {
            let at = plot.x(tick.place);
            let from = if grid { plot.top } else { plot.bottom };
            let (to, paint) = if grid { (plot.bottom, Paint::Grid) } else { (plot.bottom + 4.0, Paint::Soft) };
            self.line((at, from), (at, to), paint, 1.0);
            let at = self.inside(at, &tick.text);
            self.text((at, plot.bottom + 17.0), Anchor::Middle, tick.text);
            if let Some(below) = tick.below {
                let at = self.inside(at, &below);
                self.text((at, plot.bottom + 17.0 + LINE), Anchor::Middle, below);
            }
        }
        self.top = plot.bottom + 22.0 + if has_below { LINE } else { 0.0 };
        for line in wrapped(label, SMALL, plot.right - plot.left, 2) {
            self.label(
                Label {
                    at: (plot.x(0.5), self.top + SMALL),
                    text: line,
                    size: SMALL,
                    bold: false,
                    anchor: Anchor::Middle,
                    turned: 0.0,
                },
                Paint::Soft,
            );
            self.top += LINE;
        }
    }

    /// The middle of a text that should be here, moved so that it does not stick out.
    fn inside(&self, at: f64, text: &str) -> f64 {
        let half = width(text, SMALL) / 2.0;
        at.clamp(half + 2.0, (self.size.width() - half - 2.0).max(half + 2.0))
    }

    /// A legend: samples with their names, in as many lines as they need.
    pub fn legend(&mut self, entries: &[(LegendSample, String)]) {
        if entries.is_empty() {
            return;
        }
        self.top += 10.0;
        let mut x = EDGE;
        for (sample, name) in entries {
            let name = crate::text::cut(name, SMALL, self.room() - 30.0);
            let long = 30.0 + width(&name, SMALL);
            if x > EDGE && x + long > self.right() {
                (x, self.top) = (EDGE, self.top + LINE + 4.0);
            }
            let middle = self.top + 6.0;
            let (shape, paint, opacity) = sample.at(x, middle);
            self.mark(shape, paint, opacity);
            self.text((x + 30.0, middle + 4.0), Anchor::Start, name);
            x += long + 18.0;
        }
        self.top += LINE;
    }

    /// The whole picture, with what stands below the chart. `summary` is what a screen reader says.
    pub fn finish(mut self, summary: &str) -> Picture {
        let Captions { notes, source, .. } = self.captions.clone();
        self.top += 6.0;
        for note in &notes {
            self.lines(note, SMALL, LINE, 6, Paint::Ink, false);
        }
        self.lines(&source, 11.0, 14.0, 6, Paint::Soft, false);
        let (width, height) = (self.size.width(), self.top + EDGE - 4.0);
        Picture { width, height: height.ceil(), summary: summary.to_string(), marks: self.marks }
    }
}

/// The sample beside a name of a legend.
#[derive(Clone, Copy)]
pub(crate) enum LegendSample {
    Line(usize),
    Band(usize),
    Bar(usize),
    Dot(usize),
}

impl LegendSample {
    fn at(self, x: f64, y: f64) -> (Shape, Paint, f64) {
        let line = |width: f64, dash| Shape::Path { runs: vec![vec![(x, y), (x + 24.0, y)]], width, dash };
        let block = |half: f64| Shape::Rectangle { from: (x, y - half), to: (x + 24.0, y + half) };
        match self {
            Self::Line(index) => (line(2.0, dash(index)), Paint::Series(index), 1.0),
            Self::Band(index) => (block(7.0), Paint::Series(index), BAND),
            Self::Bar(index) => (block(6.0), Paint::Series(index), BAR),
            Self::Dot(index) => (Shape::Dot { at: (x + 12.0, y), radius: 4.0 }, Paint::Series(index), 1.0),
        }
    }
}

/// How much of what is behind a band is covered.
pub(crate) const BAND: f64 = 0.2;
/// How much of what is behind a bar is covered.
pub(crate) const BAR: f64 = 0.8;

/// Dashes repeat out of step with the colours, so that more than eight lines stay apart.
pub(crate) fn dash(index: usize) -> &'static [f64] {
    [&[][..], &[7.0, 4.0], &[2.0, 3.0]][index % 3]
}
