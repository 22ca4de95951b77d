//! Pictures as SVG and PNG.

use super::numbers;
use super::plate::{
    AxisWords, CategoryPanel, CategoryRow, ChartNumber, HeatPanel, LinePanel, Panel, PanelForm, PanelStyle, Plate,
};
use crate::release::output::BandedCurve;
use scumble_chart::{
    Axis, Band, Captions, Category, CategoryChart, CategoryStyle, Estimate, HeatCell, HeatTable, LineChart, Picture,
    Series, Size,
};

impl Plate {
    /// The whole picture, with its title and its source, for a file.
    pub fn picture(&self) -> Picture {
        let words = &self.words;
        let title = Captions::new(&words.title).subtitle(&words.subtitle);
        let all = |captions: Captions| words.notes.iter().fold(captions, Captions::note).source(&words.source);
        // One alone has the room of two.
        let (size, columns) = if self.small.len() == 1 { (Size::Wide, 1) } else { (Size::Narrow, 2) };
        let small: Vec<Picture> = self.small.iter().map(|panel| small(panel, size)).collect();
        let first = match &self.big {
            Some(panel) if small.is_empty() => return panel.picture(all(noted(title, panel)), Size::Wide),
            Some(panel) => panel.picture(noted(title, panel), Size::Wide),
            None => title.picture(Size::Wide),
        };
        let panels = Picture::below(first, small, columns);
        Picture::below(panels, vec![all(Captions::default()).picture(Size::Wide)], 1)
    }
}

/// The large panel of a page that has the title already.
pub(crate) fn big(panel: &Panel, size: Size) -> Picture {
    panel.picture(noted(Captions::new(&panel.subtitle), panel), size)
}

/// A small panel with its own title.
pub(crate) fn small(panel: &Panel, size: Size) -> Picture {
    let captions = match panel.title.is_empty() {
        true => Captions::new(&panel.subtitle),
        false => Captions::new(&panel.title).subtitle(&panel.subtitle),
    };
    panel.picture(noted(captions, panel), size)
}

fn noted(captions: Captions, panel: &Panel) -> Captions {
    panel.notes.iter().fold(captions, Captions::note)
}

impl Panel {
    fn picture(&self, captions: Captions, size: Size) -> Picture {
        match &self.form {
            PanelForm::Lines(lines) => lines.chart(captions).size(size).picture(),
            PanelForm::Categories(categories) => categories.chart(captions).size(size).picture(),
            PanelForm::Heat(heat) => heat.chart(captions).size(size).picture(),
            PanelForm::Curve(curve) => banded(curve, captions).size(size).picture(),
        }
    }
}

impl AxisWords {
    fn axis(&self) -> Axis {
        if self.is_time { Axis::days(&self.label) } else { Axis::linear(&self.label) }
    }
}

impl LinePanel {
    fn chart(&self, captions: Captions) -> LineChart {
        let y = self.y.axis();
        let y = self.range.map_or(y.clone(), |(low, high)| y.including(low, high));
        // Where the ticks are dates, nobody needs to be told.
        let x = if self.x.is_time { Axis::days("") } else { self.x.axis() };
        let mut chart = LineChart::new(captions).x(x).y(y);
        let is_one = self.series.len() == 1;
        for series in &self.series {
            let ends =
                |number: &Option<ChartNumber>| number.and_then(|number| number.ends).unwrap_or((f64::NAN, f64::NAN));
            let band: Vec<(f64, f64, f64)> =
                series.points.iter().map(|(at, number)| (*at, ends(number).0, ends(number).1)).collect();
            let value = |number: &Option<ChartNumber>| number.map_or(f64::NAN, |number| number.value);
            let points = series.points.iter().map(|(at, number)| (*at, value(number))).collect();
            // What a band is, the subtitle says.
            chart = chart.band(Band::new("", band));
            chart = chart.line(Series::new(if is_one { "" } else { &series.name }, points));
        }
        chart
    }
}

impl CategoryPanel {
    fn chart(&self, captions: Captions) -> CategoryChart {
        let style = match self.style {
            PanelStyle::Bars => CategoryStyle::Bars,
            PanelStyle::Dots => CategoryStyle::Dots,
            PanelStyle::Boxes => CategoryStyle::Boxes,
        };
        let rows = self.rows.iter().map(CategoryRow::category).collect();
        CategoryChart::new(captions, style, self.axis.axis(), rows).series(self.series.clone())
    }
}

impl CategoryRow {
    fn category(&self) -> Category {
        let estimate = |number: &Option<ChartNumber>| {
            number.map(|ChartNumber { value, ends }| match ends {
                Some((low, high)) => Estimate::new(value).within(low, high),
                None => Estimate::new(value),
            })
        };
        let category = Category::new(&self.name, self.numbers.iter().map(estimate).collect());
        if self.apart { category.apart() } else { category }
    }
}

impl HeatPanel {
    fn chart(&self, captions: Captions) -> HeatTable {
        let cell = |number: &Option<ChartNumber>| number.map(|one| HeatCell::new(one.value, numbers::lines(&one)));
        let cells = self.cells.iter().map(|line| line.iter().map(cell).collect()).collect();
        HeatTable::new(captions, self.rows.clone(), self.columns.clone(), cells).totals(self.totals.0, self.totals.1)
    }
}

fn banded(curve: &BandedCurve, captions: Captions) -> LineChart {
    let band = curve.points.iter().map(|point| (point.0, point.2, point.3)).collect();
    let line = curve.points.iter().map(|point| (point.0, point.1)).collect();
    LineChart::new(captions)
        .x(Axis::log(&curve.x))
        .y(Axis::log(&curve.y))
        .band(Band::new(&curve.promise, band).steps())
        .line(Series::new("published", line).steps())
}
