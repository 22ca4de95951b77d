//! What a stream of draws looks like: count, mean, variance, extremes.

use super::DrawBlock;
use serde_json::{Value, json};
use std::time::Duration;

/// Running moments (Chan, Golub, LeVeque 1979: blocks are merged, so that nothing large is subtracted) and extremes.
#[derive(Default)]
pub struct RunningMoments {
    values: f64,
    mean: f64,
    squares: f64,
    extremes: Option<(Integer, Integer)>,
}

/// An integer of any block: negative ones fit an i64, the others a u128.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Integer {
    Negative(i64),
    NonNegative(u128),
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        u128::try_from(value).map_or(Self::Negative(value), Self::NonNegative)
    }
}

impl Integer {
    /// A JSON number where JSON readers take integers, the digits as text beyond.
    fn to_json(self) -> Value {
        match self {
            Self::Negative(value) => json!(value),
            Self::NonNegative(value) => u64::try_from(value).map_or(json!(value.to_string()), |value| json!(value)),
        }
    }
}

impl RunningMoments {
    /// Adds the draws of a block; each integer of a list counts for itself.
    pub fn add(&mut self, block: &DrawBlock) {
        match block {
            DrawBlock::Integers(values) => self.add_integers(values),
            DrawBlock::Large(values) => {
                let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
                self.add_moments(&floats);
                self.add_extremes(values.iter().map(|value| Integer::NonNegative(*value)));
            }
            DrawBlock::Lists(lists) => lists.iter().for_each(|list| self.add_integers(list)),
        }
    }

    fn add_integers(&mut self, values: &[i64]) {
        let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        self.add_moments(&floats);
        self.add_extremes(values.iter().map(|value| Integer::from(*value)));
    }

    fn add_moments(&mut self, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let (total, distance) = (self.values + count, mean - self.mean);
        self.squares += squares + distance * distance * self.values * count / total;
        self.mean += distance * count / total;
        self.values = total;
    }

    fn add_extremes(&mut self, values: impl Iterator<Item = Integer>) {
        for value in values {
            let (least, largest) = self.extremes.unwrap_or((value, value));
            self.extremes = Some((least.min(value), largest.max(value)));
        }
    }

    /// One object; what nothing was drawn for is null.
    pub fn to_json(&self, count: u64, drawing: Duration) -> Value {
        let seconds = drawing.as_secs_f64();
        let some = |known: bool, value: f64| if known { json!(value) } else { Value::Null };
        json!({
            "count": count,
            "mean": some(self.values > 0.0, self.mean),
            "variance": some(self.values > 1.0, self.squares / (self.values - 1.0)),
            "min": self.extremes.map(|(least, _)| least.to_json()),
            "max": self.extremes.map(|(_, largest)| largest.to_json()),
            "seconds": seconds,
            "samples_per_second": some(seconds > 0.0, count as f64 / seconds),
        })
    }
}
