//! Pictures as SVG: text stays text, and each paint is a class that a page may colour anew.

use crate::marks::{Label, Mark, Paint, Picture, Point, Shape};
use std::fmt::Write;

impl Picture {
    /// The picture as SVG that needs nothing else.
    pub fn to_svg(&self) -> String {
        let mut svg = String::new();
        let Self { width, height, .. } = self;
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{}" font-family="system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif" style="max-width:100%;height:auto">"#,
            escape(&self.summary)
        );
        let _ = writeln!(
            svg,
            r#"<rect class="p-paper" width="{width:.0}" height="{height:.0}" fill="{}"/>"#,
            Paint::Paper.colour()
        );
        self.marks.iter().for_each(|mark| element(&mut svg, mark));
        svg.push_str("</svg>\n");
        svg
    }
}

fn element(svg: &mut String, mark: &Mark) {
    let (class, colour) = (mark.paint.class(), mark.paint.colour());
    let opacity = match mark.opacity {
        1.0 => String::new(),
        some => format!(r#" fill-opacity="{some:.2}""#),
    };
    let fill = format!(r#"class="{class}" fill="{colour}"{opacity}"#);
    let _ = match &mark.shape {
        Shape::Rectangle { from, to } => {
            let (x, y) = (from.0.min(to.0), from.1.min(to.1));
            let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
            writeln!(svg, r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" {fill}/>"#)
        }
        Shape::Area(corners) => writeln!(svg, r#"<polygon points="{}" {fill}/>"#, points(corners)),
        Shape::Dot { at, radius } => {
            writeln!(svg, r#"<circle cx="{:.1}" cy="{:.1}" r="{radius:.1}" {fill}/>"#, at.0, at.1)
        }
        Shape::Path { runs, width, dash } => {
            let dashes = dash.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
            let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dashes}""#) };
            let stroke = format!(r#"class="{class} p-line" stroke="{colour}" stroke-width="{width}"{dash}"#);
            match &runs[..] {
                [run] if run.len() == 2 => {
                    let [(x1, y1), (x2, y2)] = [run[0], run[1]];
                    writeln!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {stroke}/>"#)
                }
                runs => {
                    let d: String = runs.iter().map(|run| run_of(run)).collect();
                    writeln!(svg, r#"<path d="{d}" fill="none" stroke-linejoin="round" {stroke}/>"#)
                }
            }
        }
        Shape::Label(label) => writeln!(svg, "{}", text(label, &fill)),
    };
}

fn points(corners: &[Point]) -> String {
    corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

fn run_of(run: &[Point]) -> String {
    let step = |(index, (x, y)): (usize, &Point)| format!("{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
    run.iter().enumerate().map(step).collect()
}

fn text(label: &Label, fill: &str) -> String {
    let Label { at: (x, y), text, size, bold, anchor, turned } = label;
    let weight = if *bold { r#" font-weight="600""# } else { "" };
    let turned = match turned {
        0.0 => String::new(),
        degrees => format!(r#" transform="rotate({degrees} {x:.1} {y:.1})""#),
    };
    let anchor = anchor.name();
    let text = escape(text);
    format!(
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}"{weight}{turned} {fill}>{text}</text>"#
    )
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
