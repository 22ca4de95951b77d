//! A picture before it is drawn: what the forms of files have in common.

use crate::release::output::BandedCurve;

/// A picture: one large panel, several small ones, or both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plate {
    pub words: PlateWords,
    pub big: Option<Panel>,
    pub small: Vec<Panel>,
}

/// What stands around a picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PlateWords {
    pub title: String,
    /// What the large panel shows, or all small ones where there is no large one.
    pub subtitle: String,
    pub notes: Vec<String>,
    pub source: String,
}

/// One chart of a picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panel {
    pub title: String,
    pub subtitle: String,
    pub notes: Vec<String>,
    pub form: PanelForm,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PanelForm {
    Lines(LinePanel),
    Categories(CategoryPanel),
    Heat(HeatPanel),
    /// Both axes logarithmic.
    Curve(BandedCurve),
}

/// Lines with bands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinePanel {
    pub x: AxisWords,
    pub y: AxisWords,
    pub series: Vec<LineSeries>,
    pub range: Option<(f64, f64)>,
}

/// A line: positions and what stands there; nothing where the line has a gap.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LineSeries {
    pub name: String,
    pub points: Vec<(f64, Option<ChartNumber>)>,
}

/// Bars, dots or boxes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CategoryPanel {
    pub style: PanelStyle,
    pub axis: AxisWords,
    /// What the categories are.
    pub by: String,
    pub series: Vec<String>,
    pub rows: Vec<CategoryRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanelStyle {
    Bars,
    Dots,
    Boxes,
}

/// A category with a number for each series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CategoryRow {
    pub name: String,
    pub numbers: Vec<Option<ChartNumber>>,
    /// Whether it is a total.
    pub apart: bool,
}

/// A table with coloured cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeatPanel {
    pub axis: AxisWords,
    pub by: [String; 2],
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    pub cells: Vec<Vec<Option<ChartNumber>>>,
    /// How many of the last rows and columns are totals.
    pub totals: (usize, usize),
}

/// What an axis shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AxisWords {
    pub label: String,
    /// Whether its numbers are days since 1970-01-01.
    pub is_time: bool,
}

/// A published number with its 95% interval, whose ends may be infinite, where one is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChartNumber {
    pub value: f64,
    pub ends: Option<(f64, f64)>,
}

impl ChartNumber {
    /// The finite numbers that must have room.
    pub fn finite(&self) -> impl Iterator<Item = f64> + use<> {
        let (low, high) = self.ends.unwrap_or((self.value, self.value));
        [self.value, low, high].into_iter().filter(|number| number.is_finite())
    }
}

impl Panel {
    /// A panel without words of its own.
    pub fn of(form: PanelForm) -> Self {
        Self { title: String::new(), subtitle: String::new(), notes: Vec::new(), form }
    }
}

impl Plate {
    /// Whether it shows groups, and not points of a curve.
    pub fn has_groups(&self) -> bool {
        let first = self.big.iter().chain(&self.small).next();
        first.is_some_and(|panel| matches!(panel.form, PanelForm::Categories(_) | PanelForm::Heat(_)))
    }

    /// A curve that its kind has made.
    pub fn of_curve(curve: &BandedCurve) -> Self {
        let subtitle = curve.title.clone();
        let words = PlateWords { subtitle: subtitle.clone(), ..PlateWords::default() };
        let big = Panel { subtitle, ..Panel::of(PanelForm::Curve(curve.clone())) };
        Self { words, big: Some(big), small: Vec::new() }
    }
}
