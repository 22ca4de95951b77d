//! Axes: from numbers to the unit interval, and which ticks to draw.

use crate::dates;
use crate::text::number;

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
    scale: AxisScale,
    fixed: Option<(f64, f64)>,
    including: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AxisScale {
    Linear,
    Log,
    Days,
}

impl Axis {
    /// Equal steps are equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: AxisScale::Linear, fixed: None, including: None }
    }

    /// Equal steps are equal ratios; only positive numbers show.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: AxisScale::Log, fixed: None, including: None }
    }

    /// Dates and times, as days since 1970-01-01 with their fractions; ticks are at hours, days, months or years.
    pub fn days(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: AxisScale::Days, fixed: None, including: None }
    }

    /// Fixes the range, for charts that are to be compared.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { fixed: Some((low, high)), ..self }
    }

    /// Holds these numbers too, for charts that are to have one range.
    pub fn including(self, low: f64, high: f64) -> Self {
        Self { including: Some((low, high)), ..self }
    }

    /// Whether it shows dates.
    pub(crate) fn is_of_days(&self) -> bool {
        self.scale == AxisScale::Days
    }

    /// Whether the axis can show this number.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != AxisScale::Log || value > 0.0)
    }

    fn internal(&self, value: f64) -> f64 {
        if self.scale == AxisScale::Log { value.log10() } else { value }
    }

    /// The axis laid over these values.
    pub(crate) fn lay(&self, values: impl Iterator<Item = f64>) -> ScaledAxis {
        let more = self.including.into_iter().flat_map(|(low, high)| [low, high]);
        let shown = values.chain(more).filter(|value| self.shows(*value));
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
            let room = if self.scale == AxisScale::Log { 1.0 } else { low.abs().max(1.0) * 0.5 };
            (low, high) = (low - room, high + room);
        }
        ScaledAxis { axis: self.clone(), low, high, step: None }
    }
}

/// An axis whose range is known.
pub(crate) struct ScaledAxis {
    axis: Axis,
    low: f64,
    high: f64,
    /// Between its ticks, where it was rounded.
    step: Option<f64>,
}

/// A tick: where in the unit interval, what to write, and what stands below that, as a year below its months.
pub(crate) struct Tick {
    pub place: f64,
    pub text: String,
    pub below: Option<String>,
}

impl Tick {
    /// In one line.
    pub fn whole(&self) -> String {
        self.below.as_ref().map_or_else(|| self.text.clone(), |below| format!("{} {below}", self.text))
    }
}

impl ScaledAxis {
    /// The same with both ends at ticks, if it is linear and its range is not fixed.
    pub(crate) fn rounded(mut self, most: usize) -> Self {
        if self.axis.scale == AxisScale::Linear && self.axis.fixed.is_none() {
            let step = round_step((self.high - self.low) / most.max(1) as f64);
            self.low = (self.low / step + 1e-9).floor() * step;
            self.high = (self.high / step - 1e-9).ceil() * step;
            self.step = Some(step);
        }
        self
    }

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

    /// At most about this many ticks.
    pub(crate) fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        let plain = |list: Vec<(f64, String)>| list.into_iter().map(|(inner, text)| (inner, text, None)).collect();
        let values: Vec<(f64, String, Option<String>)> = match self.axis.scale {
            AxisScale::Log => plain(self.decades(most)),
            AxisScale::Linear => plain(self.rounds(most)),
            AxisScale::Days => dates::ticks(self.low, self.high, most),
        };
        let tick = |(inner, text, below)| Tick { place: (inner - self.low) / (self.high - self.low), text, below };
        values.into_iter().map(tick).collect()
    }

    fn decades(&self, most: usize) -> Vec<(f64, String)> {
        let (first, last) = (self.low.ceil() as i64, self.high.floor() as i64);
        let every = ((last - first) / most as i64 + 1).max(1);
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

    fn rounds(&self, most: usize) -> Vec<(f64, String)> {
        let fits = |step: &f64| (self.high - self.low) / step <= 1.5 * most as f64;
        let step = self.step.filter(fits).unwrap_or_else(|| round_step((self.high - self.low) / most as f64));
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
        -3..=0 => format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power as i32)),
        1..=4 => number(10f64.powi(power as i32), 1.0),
        _ => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: Axis, values: &[f64]) -> Vec<String> {
        axis.lay(values.iter().copied()).ticks(6).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(texts(Axis::linear(""), &[0.0, 10.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(Axis::linear(""), &[0.0, 0.3]), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]);
        assert_eq!(texts(Axis::linear(""), &[-20.0, 20.0]), ["−20", "−10", "0", "10", "20"]);
        assert_eq!(texts(Axis::log(""), &[1e-2, 1.0]), ["0.01", "0.1", "1"]);
        assert_eq!(texts(Axis::log(""), &[1e-12, 1.0]), ["1e-12", "1e-9", "1e-6", "0.001", "1"]);
        assert_eq!(texts(Axis::log(""), &[2.0, 9.0]), ["2", "5"]);
    }

    #[test]
    fn an_axis_without_anything_to_show_still_lays() {
        for values in [&[][..], &[f64::NAN], &[5.0], &[0.0], &[-1.0]] {
            for axis in [Axis::linear(""), Axis::log(""), Axis::days("")] {
                let laid = axis.lay(values.iter().copied()).rounded(5);
                assert!(laid.low < laid.high && laid.low.is_finite() && laid.high.is_finite());
                assert!(laid.ticks(5).len() < 20);
            }
        }
    }

    #[test]
    fn a_rounded_axis_ends_at_ticks_and_holds_all_values() {
        let laid = Axis::linear("").lay([-3.0, 97.0].into_iter()).rounded(5);
        assert_eq!((laid.low, laid.high), (-20.0, 100.0));
        let fixed = Axis::linear("").range(-3.0, 97.0).lay([].into_iter()).rounded(5);
        assert_eq!((fixed.low, fixed.high), (-3.0, 97.0));
    }
}
