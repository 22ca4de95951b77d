//! A table whose cells are coloured by their values: for more groups than bars can show.

use crate::canvas::{Canvas, Captions, LINE, SMALL, Size};
use crate::marks::{Anchor, Paint, Picture, Shape};
use crate::text::{widest, width, wrapped};

/// A cell: its value decides the colour, its lines are written.
#[derive(Debug, Clone)]
pub struct HeatCell {
    value: f64,
    lines: Vec<String>,
}

impl HeatCell {
    /// A cell with these lines.
    pub fn new(value: f64, lines: Vec<String>) -> Self {
        Self { value, lines }
    }
}

/// A table with coloured cells. Where it is too wide, its columns go on below.
///
/// ```
/// use scumble_chart::{HeatCell, HeatTable};
/// let cells = vec![vec![Some(HeatCell::new(3.0, vec!["3".to_string()])), None]];
/// let table = HeatTable::new("Visits", vec!["Monday".into()], vec!["morning".into(), "evening".into()], cells);
/// assert!(table.picture().to_svg().contains("evening"));
/// ```
#[derive(Debug, Clone)]
pub struct HeatTable {
    captions: Captions,
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<Vec<Option<HeatCell>>>,
    totals: (usize, usize),
    size: Size,
}

impl HeatTable {
    /// A table of these rows and columns.
    pub fn new(
        captions: impl Into<Captions>,
        rows: Vec<String>,
        columns: Vec<String>,
        cells: Vec<Vec<Option<HeatCell>>>,
    ) -> Self {
        Self { captions: captions.into(), rows, columns, cells, totals: (0, 0), size: Size::Wide }
    }

    /// How many of the last rows and of the last columns are totals: they stand apart and have no colour.
    pub fn totals(self, rows: usize, columns: usize) -> Self {
        Self { totals: (rows.min(self.rows.len()), columns.min(self.columns.len())), ..self }
    }

    /// Sets how large it is drawn.
    pub fn size(self, size: Size) -> Self {
        Self { size, ..self }
    }

    /// The picture.
    pub fn picture(&self) -> Picture {
        let mut canvas = Canvas::new(&self.captions, self.size);
        let room = canvas.room() * if self.size == Size::Wide { 0.32 } else { 0.38 };
        let names: Vec<Vec<String>> = self.rows.iter().map(|row| wrapped(row, SMALL, room, 3)).collect();
        let labels = names.iter().map(|name| widest(name.iter().map(String::as_str), SMALL)).fold(0.0, f64::max) + 10.0;
        let most = ((canvas.room() - labels) / self.cell_width()).max(1.0) as usize;
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        let blocks = columns.len().div_ceil(most).max(1);
        for block in columns.chunks(columns.len().div_ceil(blocks).max(1)) {
            self.block(&mut canvas, block, &names, labels);
            canvas.top += 12.0;
        }
        canvas.finish(&format!("{}: {} rows, {} columns", self.captions.title, self.rows.len(), self.columns.len()))
    }

    /// As wide as the widest cell.
    fn cell_width(&self) -> f64 {
        let lines = self.cells.iter().flatten().flatten().flat_map(|cell| &cell.lines);
        let words = self.columns.iter().flat_map(|name| name.split(' '));
        let words = words.map(|word| width(word, SMALL)).fold(0.0, f64::max).min(90.0);
        let widest = lines.map(|line| width(line, SMALL)).fold(0.0, f64::max);
        f64::max(widest, words).clamp(38.0, 200.0) + 10.0
    }

    fn block(&self, canvas: &mut Canvas, columns: &[usize], names: &[Vec<String>], labels: f64) {
        let left = canvas.left() + labels;
        let wide = f64::min((canvas.right() - left) / columns.len() as f64, 150.0);
        let heads: Vec<Vec<String>> =
            columns.iter().map(|column| wrapped(&self.columns[*column], SMALL, wide - 6.0, 3)).collect();
        let tallest = heads.iter().map(Vec::len).max().unwrap_or(1);
        for (index, head) in heads.iter().enumerate() {
            let first = canvas.top + 12.0 + LINE * (tallest - head.len()) as f64;
            for (line, text) in head.iter().enumerate() {
                let at = (left + wide * (index as f64 + 0.5), first + LINE * line as f64);
                canvas.text(at, Anchor::Middle, text);
            }
        }
        canvas.top += LINE * tallest as f64 + 6.0;
        for (row, name) in names.iter().enumerate() {
            if self.totals.0 > 0 && row + self.totals.0 == names.len() && row > 0 {
                canvas.line((canvas.left(), canvas.top + 3.0), (canvas.right(), canvas.top + 3.0), Paint::Soft, 1.0);
                canvas.top += 6.0;
            }
            self.row(canvas, row, columns, name, (left, wide));
        }
    }

    fn row(&self, canvas: &mut Canvas, row: usize, columns: &[usize], name: &[String], (left, wide): (f64, f64)) {
        let cells: Vec<Option<&HeatCell>> =
            columns.iter().map(|column| self.cells.get(row)?.get(*column)?.as_ref()).collect();
        let lines = cells.iter().flatten().map(|cell| cell.lines.len()).max().unwrap_or(1).max(name.len());
        let (top, tall) = (canvas.top, 14.0 * lines as f64 + 8.0);
        let first = |count: usize| top + tall / 2.0 + 4.0 - 7.0 * (count as f64 - 1.0);
        for (line, text) in name.iter().enumerate() {
            canvas.text((left - 8.0, first(name.len()) + 14.0 * line as f64), Anchor::End, text);
        }
        for (index, (column, cell)) in columns.iter().zip(cells).enumerate() {
            let Some(cell) = cell else { continue };
            let from = (left + wide * index as f64 + 1.0, top + 1.0);
            let to = (from.0 + wide - 2.0, top + tall - 1.0);
            if let Some((paint, opacity)) = self.colour(row, *column, cell.value) {
                canvas.mark(Shape::Rectangle { from, to }, paint, opacity);
            }
            for (line, text) in cell.lines.iter().enumerate() {
                let at = ((from.0 + to.0) / 2.0, first(cell.lines.len()) + 14.0 * line as f64);
                canvas.text(at, Anchor::Middle, text);
            }
        }
        canvas.top += tall;
    }

    fn is_total(&self, row: usize, column: usize) -> bool {
        row + self.totals.0 >= self.rows.len() || column + self.totals.1 >= self.columns.len()
    }

    /// Deeper where a value is farther from zero, or from the least value if all are far from zero alike.
    fn colour(&self, row: usize, column: usize, value: f64) -> Option<(Paint, f64)> {
        if self.is_total(row, column) || !value.is_finite() {
            return None;
        }
        let all = self.cells.iter().enumerate().flat_map(|(row, list)| {
            let inner = list.iter().enumerate().filter(move |(column, _)| !self.is_total(row, *column));
            inner.filter_map(|(_, cell)| cell.as_ref().map(|cell| cell.value).filter(|value| value.is_finite()))
        });
        let (least, most) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (f64::min(least, value), f64::max(most, value))
        });
        let from = if least > 0.0 && most < 2.0 * least { least } else { 0.0 };
        let span = f64::max((most - from).abs(), (least - from).abs());
        let deep = if span > 0.0 { (value - from).abs() / span } else { 0.0 };
        Some((Paint::Series(usize::from(value < 0.0)), 0.06 + 0.5 * deep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize, columns: usize) -> HeatTable {
        let name = |what: &str, count: usize| (0..count).map(|at| format!("{what} {at}")).collect::<Vec<_>>();
        let cell = |value: usize| Some(HeatCell::new(value as f64, vec![value.to_string(), "± 12".to_string()]));
        let cells = (0..rows).map(|row| (0..columns).map(|column| cell(row * columns + column)).collect()).collect();
        HeatTable::new("t", name("row", rows), name("column", columns), cells)
    }

    #[test]
    fn what_has_no_room_beside_goes_on_below() {
        let wide = table(3, 24).picture();
        assert_eq!(wide.outside(), Vec::<&str>::new());
        assert!(wide.labels().filter(|label| *label == "row 0").count() > 1, "the rows are named again");
        assert_eq!(wide.labels().filter(|label| *label == "± 12").count(), 72, "every cell is there");
        assert_eq!(table(3, 24).size(Size::Narrow).picture().outside(), Vec::<&str>::new());
    }

    #[test]
    fn totals_have_no_colour() {
        let coloured = |table: &HeatTable| table.picture().to_svg().matches("fill-opacity").count();
        assert_eq!(coloured(&table(3, 3)), 9);
        assert_eq!(coloured(&table(3, 3).totals(1, 1)), 4);
    }
}
