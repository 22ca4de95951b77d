//! Pictures as Vega-Lite specifications with their data inside, for those who want another look.

use super::numbers;
use super::plate::{AxisWords, CategoryPanel, ChartNumber, HeatPanel, LinePanel, Panel, PanelForm, PanelStyle, Plate};
use crate::calendar::{DAY, SECOND, shown_moment};
use crate::release::output::{BandedCurve, unsigned_zero};
use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";

impl Plate {
    /// The specification of the whole picture.
    pub fn vega(&self) -> Value {
        let words = &self.words;
        let titled = |panel: &Panel, title: Value| {
            let mut spec = panel.vega();
            spec["title"] = title;
            spec
        };
        let below: Vec<&String> = words.notes.iter().chain([&words.source]).filter(|line| !line.is_empty()).collect();
        let mut all: Vec<Value> = Vec::new();
        all.extend(self.big.iter().map(|panel| titled(panel, json!(panel.subtitle))));
        let small = |panel: &Panel| titled(panel, json!({ "text": panel.title, "subtitle": panel.subtitle }));
        all.extend(self.small.iter().map(small));
        json!({
            "$schema": SCHEMA,
            "description": below,
            "title": { "text": words.title, "subtitle": [&words.subtitle], "anchor": "start" },
            "usermeta": { "notes": words.notes, "source": words.source },
            "vconcat": all,
        })
    }
}

impl Panel {
    fn vega(&self) -> Value {
        match &self.form {
            PanelForm::Lines(lines) => lines.vega(),
            PanelForm::Categories(categories) => categories.vega(),
            PanelForm::Heat(heat) => heat.vega(),
            PanelForm::Curve(curve) => curve_spec(curve),
        }
    }
}

/// A number for JSON: a date or a time as such, nothing where it is infinite.
fn number(value: f64, axis: &AxisWords) -> Value {
    match axis.is_time {
        _ if !value.is_finite() => Value::Null,
        true => json!(shown_moment((value * (DAY * SECOND) as f64).round() as i64)),
        false => json!(unsigned_zero(value)),
    }
}

/// The fields of a number with its interval.
fn fields(one: &ChartNumber, axis: &AxisWords) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("value".to_string(), number(one.value, axis));
    if let Some((low, high)) = one.ends {
        fields.insert("low".to_string(), number(low, axis));
        fields.insert("high".to_string(), number(high, axis));
    }
    fields
}

fn with(mut fields: Map<String, Value>, more: &[(&str, Value)]) -> Value {
    fields.extend(more.iter().map(|(name, value)| (name.to_string(), value.clone())));
    Value::Object(fields)
}

/// How a field stands on an axis.
fn on(field: &str, axis: &AxisWords) -> Value {
    let kind = if axis.is_time { "temporal" } else { "quantitative" };
    json!({ "field": field, "type": kind, "title": axis.label, "scale": { "zero": false } })
}

impl LinePanel {
    fn vega(&self) -> Value {
        let point = |name: &str, at: f64, one: &ChartNumber| {
            with(fields(one, &self.y), &[("x", number(at, &self.x)), ("series", json!(name))])
        };
        let values: Vec<Value> = self
            .series
            .iter()
            .flat_map(|series| {
                series.points.iter().filter_map(|(at, one)| Some(point(&series.name, *at, one.as_ref()?)))
            })
            .collect();
        let colour = json!({ "field": "series", "type": "nominal", "title": null });
        let colour = if self.series.len() > 1 { colour } else { json!({ "value": "#0b5fa5" }) };
        let mut y = on("value", &self.y);
        if let Some((low, high)) = self.range {
            y["scale"]["domain"] = json!([low, high]);
        }
        json!({
            "width": 560, "height": 280,
            "data": { "values": values },
            "encoding": { "x": on("x", &self.x), "color": colour },
            "layer": [
                { "mark": { "type": "area", "opacity": 0.2 },
                  "encoding": { "y": on("low", &self.y), "y2": { "field": "high" } } },
                { "mark": "line", "encoding": { "y": y } },
            ],
        })
    }
}

impl CategoryPanel {
    fn vega(&self) -> Value {
        let mut values = Vec::new();
        for row in &self.rows {
            for (index, one) in row.numbers.iter().enumerate() {
                let Some(one) = one else { continue };
                let series = self.series.get(index).cloned().unwrap_or_default();
                let more = [("group", json!(row.name)), ("series", json!(series)), ("total", json!(row.apart))];
                values.push(with(fields(one, &self.axis), &more));
            }
        }
        let mut encoding = json!({
            "y": { "field": "group", "type": "nominal", "sort": null, "title": self.by },
            "color": { "value": "#0b5fa5" },
        });
        let is_box = self.style == PanelStyle::Boxes;
        if self.series.len() > 1 {
            encoding["color"] = json!({ "field": "series", "type": "nominal", "sort": null, "title": null });
            if !is_box {
                encoding["yOffset"] = json!({ "field": "series", "type": "nominal", "sort": null });
            }
        }
        let mut value = on("value", &self.axis);
        if self.style == PanelStyle::Bars {
            value["scale"] = json!({ "zero": true });
        }
        let mark = match self.style {
            PanelStyle::Bars => json!({ "type": "bar", "opacity": 0.8 }),
            PanelStyle::Dots => json!({ "type": "point", "filled": true, "size": 60 }),
            PanelStyle::Boxes => json!({ "type": "tick", "thickness": 3 }),
        };
        let interval = json!({
            "mark": { "type": "rule" },
            "encoding": { "x": on("low", &self.axis), "x2": { "field": "high" }, "color": { "value": "#1b2430" } },
        });
        let whole = json!({
            "mark": "rule",
            "encoding": {
                "x": { "aggregate": "min", "field": "value", "type": "quantitative" },
                "x2": { "aggregate": "max", "field": "value" }, "color": { "value": "#0b5fa5" },
            },
        });
        let layer = [json!({ "mark": mark, "encoding": { "x": value } }), if is_box { whole } else { interval }];
        json!({ "width": 480, "data": { "values": values }, "encoding": encoding, "layer": layer })
    }
}

impl HeatPanel {
    fn vega(&self) -> Value {
        let mut values = Vec::new();
        for (row, line) in self.rows.iter().zip(&self.cells) {
            for (column, one) in self.columns.iter().zip(line) {
                let Some(one) = one else { continue };
                let text = numbers::sentence(one);
                let more = [("row", json!(row)), ("column", json!(column)), ("text", json!(text))];
                values.push(with(fields(one, &self.axis), &more));
            }
        }
        let sorted =
            |field: &str, title: &str| json!({ "field": field, "type": "nominal", "sort": null, "title": title });
        let colour = json!({ "field": "value", "type": "quantitative", "title": self.axis.label });
        json!({
            "data": { "values": values },
            "encoding": { "y": sorted("row", &self.by[0]), "x": sorted("column", &self.by[1]) },
            "width": { "step": 90 },
            "layer": [
                { "mark": { "type": "rect", "opacity": 0.6 }, "encoding": { "color": colour } },
                { "mark": "text", "encoding": { "text": { "field": "text" } } },
            ],
        })
    }
}

fn curve_spec(curve: &BandedCurve) -> Value {
    let plain = AxisWords::default();
    let point = |(x, value, low, high): &(f64, f64, f64, f64)| {
        // A logarithmic axis has no zero.
        let low = if *low > 0.0 { *low } else { f64::NEG_INFINITY };
        let one = ChartNumber { value: *value, ends: Some((low, *high)) };
        with(fields(&one, &plain), &[("x", number(*x, &plain))])
    };
    let log = |field: &str, title: &str| {
        let scale = json!({ "type": "log" });
        json!({ "field": field, "type": "quantitative", "title": title, "scale": scale })
    };
    let values: Vec<Value> = curve.points.iter().filter(|point| point.1 > 0.0).map(point).collect();
    json!({
        "width": 560, "height": 280,
        "data": { "values": values },
        "encoding": { "x": log("x", &curve.x) },
        "layer": [
            { "mark": { "type": "area", "opacity": 0.2, "interpolate": "step-after" },
              "encoding": { "y": log("low", &curve.y), "y2": { "field": "high" } } },
            { "mark": { "type": "line", "interpolate": "step-after" }, "encoding": { "y": log("value", &curve.y) } },
        ],
    })
}
