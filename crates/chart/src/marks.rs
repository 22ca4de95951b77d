//! A picture as marks on a plane, from which every file form is made.

use crate::text;

/// What a mark is painted with: a page may show another colour for each in the dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Ink,
    Soft,
    Grid,
    Paper,
    /// The colour of a series.
    Series(usize),
}

/// Colours that stay apart for the colour-blind and in grey (Okabe–Ito, darkened where white paper needs it).
const COLOURS: [&str; 8] = ["#0b5fa5", "#d55e00", "#00795c", "#b1397b", "#8a6d00", "#3a9ad9", "#555555", "#7a3fb0"];

impl Paint {
    /// On white paper.
    pub fn colour(self) -> &'static str {
        match self {
            Self::Ink => "#1b2430",
            Self::Soft => "#55606e",
            Self::Grid => "#e2e5ea",
            Self::Paper => "#ffffff",
            Self::Series(index) => COLOURS[index % COLOURS.len()],
        }
    }

    /// What a style sheet calls it.
    pub fn class(self) -> String {
        match self {
            Self::Ink => "p-ink".to_string(),
            Self::Soft => "p-soft".to_string(),
            Self::Grid => "p-grid".to_string(),
            Self::Paper => "p-paper".to_string(),
            Self::Series(index) => format!("p-{}", index % COLOURS.len()),
        }
    }
}

/// A position: from the left, from the top.
pub(crate) type Point = (f64, f64);

/// One mark.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub shape: Shape,
    pub paint: Paint,
    pub opacity: f64,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Rectangle { from: Point, to: Point },
    Area(Vec<Point>),
    Path { runs: Vec<Vec<Point>>, width: f64, dash: &'static [f64] },
    Dot { at: Point, radius: f64 },
    Label(Label),
}

/// A line of text.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub at: Point,
    pub text: String,
    pub size: f64,
    pub bold: bool,
    pub anchor: Anchor,
    /// Turned by this many degrees.
    pub turned: f64,
}

/// Which part of a line of text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A picture that is ready to be written.
#[derive(Debug, Clone)]
pub struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What a screen reader says.
    pub(crate) summary: String,
    pub(crate) marks: Vec<Mark>,
}

impl Picture {
    /// Pictures beside each other in this many columns, below a first one.
    pub fn below(first: Self, others: Vec<Self>, columns: usize) -> Self {
        let (mut width, mut top) = (first.width, first.height);
        let mut all = first;
        for row in others.chunks(columns.max(1)) {
            let (mut left, mut bottom) = (0.0, top);
            for one in row {
                all.marks.extend(one.marks.iter().map(|mark| mark.moved(left, top)));
                all.summary = format!("{}; {}", all.summary, one.summary);
                left += one.width;
                bottom = f64::max(bottom, top + one.height);
            }
            (width, top) = (width.max(left), bottom);
        }
        Self { width, height: top, ..all }
    }

    /// All text in it.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().filter_map(|mark| match &mark.shape {
            Shape::Label(label) => Some(label.text.as_str()),
            _ => None,
        })
    }

    /// The labels that stick out of the picture, by the widths of broad letters.
    pub fn outside(&self) -> Vec<&str> {
        let sticks_out = |label: &&Label| {
            let long = text::width(&label.text, label.size);
            let (left, right) = match label.anchor {
                Anchor::Start => (0.0, long),
                Anchor::Middle => (-long / 2.0, long / 2.0),
                Anchor::End => (-long, 0.0),
            };
            let (sine, cosine) = label.turned.to_radians().sin_cos();
            [left, right].into_iter().any(|end| {
                let (x, y) = (label.at.0 + end * cosine, label.at.1 + end * sine);
                x < -1.0 || x > self.width + 1.0 || y < 0.0 || y > self.height
            })
        };
        let labels = self.marks.iter().filter_map(|mark| match &mark.shape {
            Shape::Label(label) => Some(label),
            _ => None,
        });
        labels.filter(sticks_out).map(|label| label.text.as_str()).collect()
    }
}

impl Mark {
    fn moved(&self, right: f64, down: f64) -> Self {
        let by = |(x, y): &Point| (x + right, y + down);
        let shape = match &self.shape {
            Shape::Rectangle { from, to } => Shape::Rectangle { from: by(from), to: by(to) },
            Shape::Area(corners) => Shape::Area(corners.iter().map(by).collect()),
            Shape::Path { runs, width, dash } => {
                let runs = runs.iter().map(|run| run.iter().map(by).collect()).collect();
                Shape::Path { runs, width: *width, dash }
            }
            Shape::Dot { at, radius } => Shape::Dot { at: by(at), radius: *radius },
            Shape::Label(label) => Shape::Label(Label { at: by(&label.at), ..label.clone() }),
        };
        Self { shape, ..self.clone() }
    }
}
