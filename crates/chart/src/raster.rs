//! Pictures as pixels: areas are filled by scanlines, strokes and letters become areas.

use crate::marks::{Anchor, Label, Mark, Paint, Picture, Point, Shape};
use ttf_parser::{Face, OutlineBuilder};

/// Each row of pixels is looked at this many times.
const SAMPLES: usize = 4;

/// Rows of pixels, three bytes each.
pub(crate) struct Pixels {
    pub width: usize,
    pub height: usize,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Draws the picture, this many pixels for each of its units.
    pub(crate) fn pixels(&self, scale: f64) -> Pixels {
        let (width, height) = ((self.width * scale).ceil() as usize, (self.height * scale).ceil() as usize);
        let mut pixels = Pixels { width, height, bytes: vec![255; width * height * 3] };
        let face = Face::parse(dejavu::sans::regular(), 0).ok();
        for Mark { shape, paint, opacity } in &self.marks {
            let contours: Vec<Vec<Point>> = match shape {
                Shape::Rectangle { from, to } => vec![vec![*from, (to.0, from.1), *to, (from.0, to.1)]],
                Shape::Area(corners) => vec![corners.clone()],
                Shape::Dot { at, radius } => vec![circle(*at, *radius)],
                Shape::Path { runs, width, dash } => {
                    runs.iter().flat_map(|run| dashed(run, dash)).flat_map(|run| stroked(&run, *width)).collect()
                }
                Shape::Label(label) => face.as_ref().map_or_else(Vec::new, |face| lettering(face, label)),
            };
            pixels.fill(&contours, scale, *paint, *opacity);
        }
        pixels
    }
}

impl Pixels {
    /// Fills what the contours wind around (not what they wind around as often back).
    fn fill(&mut self, contours: &[Vec<Point>], scale: f64, paint: Paint, opacity: f64) {
        let scaled = |(x, y): Point| (x * scale, y * scale * SAMPLES as f64);
        // Only the rows of pixels that the contours reach.
        let (top, bottom) =
            contours.iter().flatten().fold((f64::INFINITY, f64::NEG_INFINITY), |(top, bottom), point| {
                (f64::min(top, point.1 * scale), f64::max(bottom, point.1 * scale))
            });
        let rows = top.max(0.0) as usize..(bottom.ceil().max(0.0) as usize).min(self.height);
        if rows.is_empty() {
            return;
        }
        let mut crossings: Vec<Vec<(f64, i32)>> = vec![Vec::new(); rows.len() * SAMPLES];
        let first = rows.start * SAMPLES;
        for contour in contours {
            for (index, from) in contour.iter().enumerate() {
                let (from, to) = (scaled(*from), scaled(contour[(index + 1) % contour.len()]));
                let (upper, lower, winding) = if from.1 < to.1 { (from, to, 1) } else { (to, from, -1) };
                let line = |y: f64| ((y - 0.5).ceil().max(0.0) as usize).clamp(first, rows.end * SAMPLES);
                for row in line(upper.1)..line(lower.1) {
                    let part = (row as f64 + 0.5 - upper.1) / (lower.1 - upper.1);
                    crossings[row - first].push((upper.0 + part * (lower.0 - upper.0), winding));
                }
            }
        }
        let mut covered = vec![0.0; self.width];
        for (row, lines) in rows.zip(crossings.chunks_mut(SAMPLES)) {
            covered.fill(0.0);
            for list in lines {
                list.sort_by(|left, right| left.0.total_cmp(&right.0));
                let mut winding = 0;
                for pair in list.windows(2) {
                    winding += pair[0].1;
                    if winding != 0 {
                        cover(&mut covered, pair[0].0, pair[1].0);
                    }
                }
            }
            self.blend(row, &covered, paint, opacity);
        }
    }

    fn blend(&mut self, row: usize, covered: &[f64], paint: Paint, opacity: f64) {
        let colour = rgb(paint.colour());
        for (column, part) in covered.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let alpha = (part / SAMPLES as f64).min(1.0) * opacity;
            let at = (row * self.width + column) * 3;
            for (byte, wanted) in self.bytes[at..at + 3].iter_mut().zip(colour) {
                *byte = (f64::from(*byte) * (1.0 - alpha) + f64::from(wanted) * alpha).round() as u8;
            }
        }
    }
}

/// Adds how much of each pixel of a row lies between two positions.
fn cover(covered: &mut [f64], from: f64, to: f64) {
    let (from, to) = (from.max(0.0), to.min(covered.len() as f64));
    let mut column = from as usize;
    while (column as f64) < to {
        let part = f64::min(to, column as f64 + 1.0) - f64::max(from, column as f64);
        covered[column] += part.max(0.0);
        column += 1;
    }
}

fn rgb(colour: &str) -> [u8; 3] {
    [1, 3, 5].map(|at| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0))
}

fn circle(at: Point, radius: f64) -> Vec<Point> {
    let corner = |index: i32| (f64::from(index) * std::f64::consts::TAU / 24.0).sin_cos();
    (0..24).map(corner).map(|(sine, cosine)| (at.0 + radius * cosine, at.1 + radius * sine)).collect()
}

/// A line as the areas of its segments and of the joints between them, which all wind the same way.
fn stroked(run: &[Point], width: f64) -> Vec<Vec<Point>> {
    let half = width / 2.0;
    let segments = run.windows(2).filter_map(|pair| {
        let [(x1, y1), (x2, y2)] = [pair[0], pair[1]];
        let long = (x2 - x1).hypot(y2 - y1);
        let (across, up) = (half * (y1 - y2) / long, half * (x2 - x1) / long);
        (long > 0.0).then(|| {
            vec![(x1 - across, y1 - up), (x2 - across, y2 - up), (x2 + across, y2 + up), (x1 + across, y1 + up)]
        })
    });
    let inner = run.get(1..run.len().saturating_sub(1)).unwrap_or_default();
    segments.chain(inner.iter().map(|joint| circle(*joint, half))).collect()
}

/// A line as its dashes.
fn dashed(run: &[Point], dash: &[f64]) -> Vec<Vec<Point>> {
    if dash.is_empty() || run.is_empty() {
        return vec![run.to_vec()];
    }
    let (mut dashes, mut index, mut left) = (vec![run[..1].to_vec()], 0, dash[0]);
    for pair in run.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let long = (to.0 - from.0).hypot(to.1 - from.1);
            let part = if long > left { left / long } else { 1.0 };
            let end = (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
            if let Some(last) = dashes.last_mut().filter(|_| index % 2 == 0) {
                last.push(end);
            }
            if long <= left {
                left -= long;
                break;
            }
            (from, index) = (end, index + 1);
            left = dash[index % dash.len()];
            if index % 2 == 0 {
                dashes.push(vec![from]);
            }
        }
    }
    dashes
}

/// A label as the contours of its letters.
fn lettering(face: &Face<'_>, label: &Label) -> Vec<Vec<Point>> {
    let Label { at, text, size, bold, anchor, turned } = label;
    let unit = size / f64::from(face.units_per_em());
    let glyphs: Vec<_> = text.chars().map(|letter| face.glyph_index(letter).unwrap_or_default()).collect();
    let advance = |glyph| f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * unit;
    let long: f64 = glyphs.iter().copied().map(advance).sum();
    let mut pen = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -long / 2.0,
        Anchor::End => -long,
    };
    let (sine, cosine) = turned.to_radians().sin_cos();
    let mut contours = Vec::new();
    for glyph in glyphs {
        let mut outline = Outline { unit, pen, contours: Vec::new() };
        face.outline_glyph(glyph, &mut outline);
        for contour in outline.contours.into_iter().filter(|contour| contour.len() > 2) {
            let placed = |(x, y): Point| (at.0 + x * cosine - y * sine, at.1 + x * sine + y * cosine);
            contours.push(contour.into_iter().map(placed).collect::<Vec<_>>());
        }
        pen += advance(glyph);
    }
    if *bold {
        // Of one weight of letters: others are made by painting their outlines too.
        let closed = |contour: &Vec<Point>| contour.iter().chain(&contour[..2]).copied().collect::<Vec<_>>();
        let edges: Vec<_> = contours.iter().flat_map(|contour| stroked(&closed(contour), size * 0.045)).collect();
        contours.extend(edges.into_iter().map(outward));
    }
    contours
}

/// The contour winding as the outer contours of letters do.
fn outward(mut contour: Vec<Point>) -> Vec<Point> {
    let next = contour.iter().cycle().skip(1);
    let area: f64 = contour.iter().zip(next).map(|(from, to)| from.0 * to.1 - to.0 * from.1).sum();
    if area < 0.0 {
        contour.reverse();
    }
    contour
}

/// Collects the contours of a letter, curves as short lines.
struct Outline {
    unit: f64,
    pen: f64,
    contours: Vec<Vec<Point>>,
}

impl Outline {
    fn point(&self, x: f32, y: f32) -> Point {
        (self.pen + f64::from(x) * self.unit, -f64::from(y) * self.unit)
    }

    fn push(&mut self, point: Point) {
        if let Some(contour) = self.contours.last_mut() {
            contour.push(point);
        }
    }

    /// The curve of these control points (de Casteljau).
    fn curve(&mut self, controls: &[Point]) {
        let Some(start) = self.contours.last().and_then(|contour| contour.last()).copied() else { return };
        for step in 1..=6 {
            let part = f64::from(step) / 6.0;
            let mut points: Vec<Point> = std::iter::once(start).chain(controls.iter().copied()).collect();
            while points.len() > 1 {
                let between = |pair: &[Point]| {
                    (pair[0].0 + part * (pair[1].0 - pair[0].0), pair[0].1 + part * (pair[1].1 - pair[0].1))
                };
                points = points.windows(2).map(between).collect();
            }
            self.push(points[0]);
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let start = self.point(x, y);
        self.contours.push(vec![start]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.push(self.point(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.curve(&[self.point(x1, y1), self.point(x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.curve(&[self.point(x1, y1), self.point(x2, y2), self.point(x, y)]);
    }

    fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(marks: Vec<Mark>) -> Picture {
        Picture { width: 20.0, height: 10.0, summary: String::new(), marks }
    }

    fn ink(picture: &Picture) -> f64 {
        let pixels = picture.pixels(2.0);
        let dark = |byte: &u8| (255.0 - f64::from(*byte)) / 255.0;
        pixels.bytes.chunks(3).map(|pixel| dark(&pixel[0])).sum::<f64>() / 4.0
    }

    fn paper(shape: Shape) -> Picture {
        // Of a paint that is 27/255 of red.
        picture(vec![Mark { shape, paint: Paint::Ink, opacity: 1.0 }])
    }

    #[test]
    fn areas_cover_what_they_cover() {
        let full = 1.0 - 27.0 / 255.0;
        let rectangle = ink(&paper(Shape::Rectangle { from: (2.25, 2.0), to: (6.25, 5.0) }));
        assert!((rectangle - 12.0 * full).abs() < 0.05, "{rectangle}");
        let beyond = ink(&paper(Shape::Rectangle { from: (-5.0, -5.0), to: (50.0, 50.0) }));
        assert!((beyond - 200.0 * full).abs() < 0.05, "what is outside is cut: {beyond}");
        let dot = ink(&paper(Shape::Dot { at: (10.0, 5.0), radius: 3.0 }));
        assert!((dot - 9.0 * std::f64::consts::PI * full).abs() < 0.7, "{dot}");
        // Two strokes that cross are not darker there, nor empty.
        let runs = vec![vec![(2.0, 5.0), (18.0, 5.0)], vec![(18.0, 5.0), (2.0, 5.0)]];
        let twice = ink(&paper(Shape::Path { runs, width: 2.0, dash: &[] }));
        assert!(twice > 31.0 * full, "{twice}");
        let runs = vec![vec![(0.0, 5.0), (12.0, 5.0)]];
        let dashes = ink(&paper(Shape::Path { runs, width: 2.0, dash: &[2.0, 4.0] }));
        assert!((dashes - 8.0 * full).abs() < 0.1, "{dashes}");
    }

    #[test]
    fn letters_are_drawn_and_bold_ones_are_darker() {
        let label = |bold| {
            let text = "ag%ü".to_string();
            let label = Label { at: (10.0, 7.0), text, size: 6.0, bold, anchor: Anchor::Middle, turned: 0.0 };
            ink(&paper(Shape::Label(label)))
        };
        assert!(label(false) > 5.0 && label(true) > label(false) * 1.1, "{} {}", label(false), label(true));
    }
}
