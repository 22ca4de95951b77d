//! The charts of releases: bars with their intervals, lines with their bands.

use super::format::shown;
use crate::release::output::{AnswerColumn, Answers, BandedCurve, Cell, IntervalChart};
use maud::{Markup, PreEscaped, html};
use scumble_chart::{Axis, Band, Bar, BarChart, LineChart, Series, Size};

/// Bars that a chart can hold.
const SHOWN_BARS: usize = 30;
/// Charts of one release.
const SHOWN_CHARTS: usize = 4;

/// Charts beside each other, where there are several; a single one is as wide as the page, or as a phone.
pub(super) fn charts(answers: &Answers) -> Markup {
    let noisy = answers.columns.iter().filter(|column| column.uncertainty.is_some()).take(SHOWN_CHARTS);
    let mut drawings: Vec<ReportChart> = noisy.filter_map(|column| drawing(answers, column)).collect();
    drawings.extend(answers.details.curve.as_ref().map(banded));
    drawings.extend(answers.details.drawn.as_ref().and_then(|drawn| of_columns(answers, drawn)));
    match &drawings[..] {
        [] => Markup::default(),
        [one] => both_sizes(one),
        many => html! { div.charts { @for one in many { figure { (one.to_svg(Size::Narrow)) } } } },
    }
}

/// One of the two kinds of charts.
pub(super) enum ReportChart {
    Lines(LineChart),
    Bars(BarChart),
}

impl ReportChart {
    /// The chart's texts are escaped as XML wants it where it is drawn.
    fn to_svg(&self, size: Size) -> Markup {
        PreEscaped(match self {
            Self::Lines(chart) => chart.clone().size(size).to_svg(),
            Self::Bars(chart) => chart.clone().size(size).to_svg(),
        })
    }
}

/// The chart for pages and for phones; the style shows one of them.
pub(super) fn both_sizes(drawing: &ReportChart) -> Markup {
    html! {
        figure.on-page { (drawing.to_svg(Size::Wide)) }
        figure.on-phone { (drawing.to_svg(Size::Narrow)) }
    }
}

/// Bars with 95% intervals, or a line with its band where the labels are numbers in order.
fn drawing(answers: &Answers, column: &AnswerColumn) -> Option<ReportChart> {
    let list = column.uncertainty.as_ref()?;
    let rows = column.cells.len();
    if rows < 2 {
        return None;
    }
    let labels: Vec<&AnswerColumn> = answers.columns.iter().filter(|column| column.uncertainty.is_none()).collect();
    let number = |row: usize| column.cells[row].number().unwrap_or(f64::NAN);
    let title = format!("{} with 95% intervals", column.name);
    if let [label] = labels[..]
        && let Some(positions) = label.cells.iter().map(Cell::number).collect::<Option<Vec<f64>>>()
        && rows > 12
        && positions.windows(2).all(|pair| pair[0] < pair[1])
    {
        let points = (0..rows).map(|row| (positions[row], number(row))).collect();
        let band = (0..rows).map(|row| (positions[row], list[row].low, list[row].high)).collect();
        let chart = LineChart::new(title)
            .x(Axis::linear(label.name.clone()))
            .y(Axis::linear(column.name.clone()))
            .band(Band::new("95% interval", band))
            .line(Series::new(column.name.clone(), points));
        return Some(ReportChart::Lines(chart));
    }
    let bars = (0..rows.min(SHOWN_BARS)).map(|row| {
        let name = match &answers.details.bars {
            Some(names) => names[row].clone(),
            None => labels.iter().map(|label| shown(&label.cells[row])).collect::<Vec<_>>().join(", "),
        };
        let name = if name.is_empty() { (row + 1).to_string() } else { name };
        Bar::new(name, number(row)).with_interval(list[row].low, list[row].high)
    });
    Some(ReportChart::Bars(BarChart::new(title, column.name.clone(), bars.collect())))
}

/// Bars whose intervals stand in columns of their own, or that have none.
fn of_columns(answers: &Answers, drawn: &IntervalChart) -> Option<ReportChart> {
    let column = |name: &str| answers.columns.iter().find(|column| column.name == name);
    let (labels, numbers) = (column(&drawn.label)?, column(&drawn.column)?);
    let ends = match &drawn.ends {
        Some([low, high]) => Some((column(low)?, column(high)?)),
        None => None,
    };
    let bar = |row: usize| {
        let bar = Bar::new(shown(&labels.cells[row]), numbers.cells[row].number()?);
        Some(match ends {
            Some((low, high)) => bar.with_interval(low.cells[row].number()?, high.cells[row].number()?),
            None => bar,
        })
    };
    let bars: Vec<Bar> = (0..answers.rows().min(SHOWN_BARS)).filter_map(bar).collect();
    (bars.len() > 1).then(|| ReportChart::Bars(BarChart::new(drawn.title.clone(), drawn.column.clone(), bars)))
}

/// A curve with its band, both axes logarithmic.
fn banded(curve: &BandedCurve) -> ReportChart {
    let band = curve.points.iter().map(|point| (point.0, point.2, point.3)).collect();
    let line = curve.points.iter().map(|point| (point.0, point.1)).collect();
    let chart = LineChart::new(curve.title.clone())
        .x(Axis::log(curve.x.clone()))
        .y(Axis::log(curve.y.clone()))
        .band(Band::new(curve.promise.clone(), band).steps())
        .line(Series::new("published", line).steps());
    ReportChart::Lines(chart)
}
