//! Axes: from numbers to the unit interval, and which ticks to draw.

/// An axis with its label; its range is that of the data unless fixed.
///
/// ```
/// use scumble_chart::Axis;
/// let axis = Axis::log("δ").range(1e-12, 1.0);
/// # let _ = axis;
/// ```
#[derive(Debug, Clone)]
pub struct Axis {
    pub(crate) label: String,
    logarithmic: bool,
    fixed: Option<(f64, f64)>,
}

impl Axis {
    /// Equal steps are equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false, fixed: None }
    }

    /// Equal steps are equal ratios; only positive numbers show.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true, fixed: None }
    }

    /// Fixes the range, for charts that are to be compared.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { fixed: Some((low, high)), ..self }
    }

    /// Whether the axis can show this number.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }

    fn internal(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    /// The axis laid over these values.
    pub(crate) fn lay(&self, values: impl Iterator<Item = f64>) -> ScaledAxis {
        let shown = values.filter(|value| self.shows(*value));
        let (mut low, mut high) = match self.fixed {
            Some((low, high)) if self.shows(low) && self.shows(high) => (self.internal(low), self.internal(high)),
            _ => shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                let place = self.internal(value);
                (low.min(place), high.max(place))
            }),
        };
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-12 * low.abs().max(1e-300) {
            let room = if self.logarithmic { 1.0 } else { low.abs().max(1.0) * 0.5 };
            (low, high) = (low - room, high + room);
        }
        ScaledAxis { axis: self.clone(), low, high }
    }
}

/// An axis whose range is known.
pub(crate) struct ScaledAxis {
    axis: Axis,
    low: f64,
    high: f64,
}

impl ScaledAxis {
    /// Where the value stands, 0 at the low end and 1 at the high end; none where it does not show.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        if !self.axis.shows(value) {
            return None;
        }
        let place = (self.axis.internal(value) - self.low) / (self.high - self.low);
        (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
    }

    /// The same, but what lies outside stands at the nearest end.
    pub(crate) fn clamped(&self, value: f64) -> f64 {
        let place = (self.axis.internal(value) - self.low) / (self.high - self.low);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Ticks: where, and what to write.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let values = if self.axis.logarithmic { self.decades() } else { self.rounds() };
        values.into_iter().map(|(inner, text)| ((inner - self.low) / (self.high - self.low), text)).collect()
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let (first, last) = (self.low.ceil() as i64, self.high.floor() as i64);
        let every = ((last - first) / 7 + 1).max(1);
        if last - first < 1 {
            return self.within_decade();
        }
        (first..=last).filter(|power| power % every == 0).map(|power| (power as f64, power_of_ten(power))).collect()
    }

    fn within_decade(&self) -> Vec<(f64, String)> {
        let base = 10f64.powf(self.low.floor());
        let candidates = (1..=100).map(|digit| base * f64::from(digit)).filter(|value| {
            let leading = value / 10f64.powf(value.log10().floor() + 1e-12);
            [1.0, 2.0, 5.0].iter().any(|wanted| (leading / wanted - 1.0).abs() < 1e-6)
        });
        let inside = candidates.filter(|value| (self.low..=self.high).contains(&value.log10()));
        inside.map(|value| (value.log10(), number(value, value * 1.001))).collect()
    }

    fn rounds(&self) -> Vec<(f64, String)> {
        let step = round_step((self.high - self.low) / 5.0);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).map(|value| (value, number(value, step))).collect()
    }
}

/// The next of 1, 2, 5, 10, … at or above.
fn round_step(raw: f64) -> f64 {
    let base = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| base * factor >= raw * 0.999).unwrap_or(10.0);
    base * factor
}

fn power_of_ten(power: i64) -> String {
    match power {
        -3 => "0.001".to_string(),
        -2 => "0.01".to_string(),
        -1 => "0.1".to_string(),
        0 => "1".to_string(),
        1 => "10".to_string(),
        2 => "100".to_string(),
        3 => "1000".to_string(),
        _ => format!("1e{power}"),
    }
}

/// A tick's text, with as many places as the step needs.
fn number(value: f64, step: f64) -> String {
    if value != 0.0 && (value.abs() >= 1e6 || value.abs() < 1e-4) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let places = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: Axis, values: &[f64]) -> Vec<String> {
        axis.lay(values.iter().copied()).ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(texts(Axis::linear(""), &[0.0, 10.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(Axis::linear(""), &[0.0, 0.3]), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts(Axis::log(""), &[1e-2, 1.0]), ["0.01", "0.1", "1"]);
        assert_eq!(texts(Axis::log(""), &[1e-12, 1.0]), ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "0.01", "1"]);
        assert_eq!(texts(Axis::log(""), &[2.0, 9.0]), ["2", "5"]);
    }

    #[test]
    fn an_axis_without_anything_to_show_still_lays() {
        for values in [&[][..], &[f64::NAN], &[5.0], &[0.0], &[-1.0]] {
            for axis in [Axis::linear(""), Axis::log("")] {
                let laid = axis.lay(values.iter().copied());
                assert!(laid.low < laid.high && laid.low.is_finite() && laid.high.is_finite());
            }
        }
    }
}
