//! Outputs, and the numbers by which they are distinguished.

use scumble::error::Result;
use std::collections::HashMap;
use std::fmt;

/// The outputs of many runs of a mechanism on one table, all of one kind.
///
/// ```
/// use scumble_adversary::audit::Outputs;
/// assert!(matches!(Outputs::read("1.5\n-2\n")?, Outputs::Numbers(_)));
/// assert!(matches!(Outputs::read("1,2\n3,4\n")?, Outputs::Vectors { width: 2, .. }));
/// assert!(matches!(Outputs::read("yes\nno\n")?, Outputs::Texts(_)));
/// assert_eq!(Outputs::read("1\nNaN\n").unwrap_err().to_string(), "line 2 is not a number: NaN");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outputs {
    /// One number each; infinite ones are outputs too.
    Numbers(Vec<f64>),
    /// As many finite numbers each.
    Vectors {
        /// How many numbers one output has.
        width: usize,
        /// One output after the other.
        values: Vec<f64>,
    },
    /// Anything: compared for being equal.
    Texts(Vec<String>),
}

impl Outputs {
    /// One output per line: numbers, numbers separated by commas, or words.
    pub fn read(text: &str) -> Result<Self> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        if let Some(at) = lines.iter().position(|line| line.is_empty()) {
            refuse!("line {} is empty: one output per line is expected", at + 1);
        }
        let not_a_number = |line: &str| line.split(',').any(|part| part.trim().parse::<f64>().is_ok_and(f64::is_nan));
        if let Some(at) = lines.iter().position(|line| not_a_number(line)) {
            refuse!("line {} is not a number: {}", at + 1, shortened(lines[at]));
        }
        if let Some(numbers) = lines.iter().map(|line| line.parse().ok()).collect::<Option<Vec<f64>>>() {
            return Ok(Self::Numbers(numbers));
        }
        let width = lines.first().map_or(0, |line| line.split(',').count());
        if width > 1
            && let Some(values) = vectors(&lines, width)
        {
            return Ok(Self::Vectors { width, values });
        }
        Ok(Self::Texts(lines.into_iter().map(str::to_string).collect()))
    }

    /// How many outputs there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Vectors { width, values } => values.len() / (*width).max(1),
            Self::Texts(words) => words.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What one output is.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Numbers(_) => "numbers".to_string(),
            Self::Vectors { width, .. } => format!("{width} numbers a line"),
            Self::Texts(_) => "texts".to_string(),
        }
    }

    /// Whether all outputs of both are one and the same.
    pub(super) fn all_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers(a), Self::Numbers(b)) => a.iter().chain(b).all(|value| value.to_bits() == a[0].to_bits()),
            (Self::Vectors { width, values: a }, Self::Vectors { values: b, .. }) => {
                a.chunks(*width).chain(b.chunks(*width)).all(|vector| vector == &a[..*width])
            }
            (Self::Texts(a), Self::Texts(b)) => a.iter().chain(b).all(|word| *word == a[0]),
            _ => false,
        }
    }
}

fn vectors(lines: &[&str], width: usize) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(lines.len() * width);
    for line in lines {
        let before = values.len();
        for part in line.split(',') {
            values.push(part.trim().parse::<f64>().ok().filter(|value| value.is_finite())?);
        }
        if values.len() - before != width {
            return None;
        }
    }
    Some(values)
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A number for each output: an event is a score at least, or below, a threshold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Score {
    /// The number itself.
    Value,
    /// The exponent of the lowest binary digit that is 1: f64 noise on an f64 answer leaves its table's digits there
    /// (Mironov 2012).
    LowestBit,
    /// The sum of the coordinates with these weights.
    Direction(Vec<f64>),
    /// How much more frequent this very number was in training.
    NumberRatio(HashMap<u64, f64>),
    /// How much more frequent this word was in training.
    TextRatio(HashMap<String, f64>),
}

/// More distinct outputs than this in training, and how often each was seen says nothing.
const MOST_VALUES: usize = 2000;

impl Score {
    /// The scores to try on outputs of this kind, from their first `training` ones.
    pub(super) fn candidates(first: &Outputs, second: &Outputs, training: (usize, usize)) -> Vec<Self> {
        match (first, second) {
            (Outputs::Numbers(a), Outputs::Numbers(b)) => {
                let (a, b) = (&a[..training.0], &b[..training.1]);
                let ratios = ratios(a.iter().map(|value| value.to_bits()), b.iter().map(|value| value.to_bits()));
                let mut scores = vec![Self::Value, Self::LowestBit];
                if ratios.len() <= MOST_VALUES {
                    scores.push(Self::NumberRatio(ratios));
                }
                scores
            }
            (Outputs::Texts(a), Outputs::Texts(b)) => {
                vec![Self::TextRatio(ratios(a[..training.0].iter().cloned(), b[..training.1].iter().cloned()))]
            }
            (Outputs::Vectors { width, values: a }, Outputs::Vectors { values: b, .. }) => {
                vec![Self::Direction(direction(*width, &a[..training.0 * width], &b[..training.1 * width]))]
            }
            _ => Vec::new(),
        }
    }

    /// The scores of the outputs from `start` up to before `end`.
    pub(super) fn all(&self, outputs: &Outputs, start: usize, end: usize) -> Vec<f64> {
        match (self, outputs) {
            (Self::Value, Outputs::Numbers(values)) => values[start..end].to_vec(),
            (Self::LowestBit, Outputs::Numbers(values)) => values[start..end].iter().map(|v| lowest_bit(*v)).collect(),
            (Self::NumberRatio(known), Outputs::Numbers(values)) => {
                values[start..end].iter().map(|value| known.get(&value.to_bits()).copied().unwrap_or(1.0)).collect()
            }
            (Self::TextRatio(known), Outputs::Texts(words)) => {
                words[start..end].iter().map(|word| known.get(word).copied().unwrap_or(1.0)).collect()
            }
            (Self::Direction(weights), Outputs::Vectors { width, values }) => {
                let sum = |vector: &[f64]| vector.iter().zip(weights).map(|(value, weight)| value * weight).sum();
                values[start * width..end * width].chunks(*width).map(sum).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// (n₁ + ½)/(n₀ + ½) for each value that was seen.
fn ratios<K: std::hash::Hash + Eq>(a: impl Iterator<Item = K>, b: impl Iterator<Item = K>) -> HashMap<K, f64> {
    let mut counts: HashMap<K, (f64, f64)> = HashMap::new();
    a.for_each(|key| counts.entry(key).or_insert((0.5, 0.5)).0 += 1.0);
    b.for_each(|key| counts.entry(key).or_insert((0.5, 0.5)).1 += 1.0);
    counts.into_iter().map(|(key, (one, other))| (key, one / other)).collect()
}

/// The difference of the means, each coordinate in units of its variance.
fn direction(width: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let moments = |values: &[f64], at: usize| {
        let count = (values.len() / width) as f64;
        let column = || values.iter().skip(at).step_by(width);
        let mean = column().sum::<f64>() / count;
        (mean, column().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
    };
    let weight = |at: usize| {
        let ((first, spread), (second, other)) = (moments(a, at), moments(b, at));
        let variance = spread + other;
        // A coordinate that never varies tells everything, or nothing.
        let weight = (first - second) / if variance > 0.0 { variance } else { 1e-9 };
        if weight.is_finite() { weight } else { 0.0 }
    };
    (0..width).map(weight).collect()
}

/// e where |value| = (an odd number)·2^e; above all others for 0 and what is infinite.
fn lowest_bit(value: f64) -> f64 {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    match (exponent, fraction) {
        (0, 0) => 2000.0,
        (0x7ff, _) => 3000.0,
        (0, _) => f64::from(fraction.trailing_zeros()) - 1074.0,
        _ => exponent as f64 - 1075.0 + f64::from((fraction | 1 << 52).trailing_zeros()),
    }
}

/// Which outputs were counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Distinguisher {
    pub(super) score: Score,
    pub(super) threshold: f64,
    /// Whether scores from the threshold on count, or those below it.
    pub(super) at_least: bool,
}

impl Distinguisher {
    /// How many of these scores are in the event.
    pub(super) fn hits(&self, scores: &[f64]) -> u64 {
        scores.iter().filter(|score| (**score >= self.threshold) == self.at_least).count() as u64
    }
}

impl fmt::Display for Distinguisher {
    /// "an output at least 3.5".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.at_least { "at least" } else { "below" };
        match &self.score {
            Score::Value => write!(f, "an output {side} {}", self.threshold),
            Score::LowestBit => write!(f, "an output whose lowest binary digit is {side} 2^{}", self.threshold),
            Score::Direction(weights) => {
                write!(f, "an output whose sum with weights {weights:?} is {side} {}", self.threshold)
            }
            Score::NumberRatio(_) | Score::TextRatio(_) => {
                write!(f, "an output that was {side} {:.4} times as frequent in training", self.threshold)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bit_is_the_odd_part_s_exponent() {
        for (value, expected) in
            [(1.0, 0.0), (12.0, 2.0), (0.75, -2.0), (-0.1, -55.0), (5e-324, -1074.0), (-0.0, 2000.0)]
        {
            assert_eq!(lowest_bit(value), expected, "{value}");
        }
        assert_eq!(lowest_bit(1.0 + f64::EPSILON), -52.0);
    }

    #[test]
    fn what_is_read_is_one_kind() {
        assert_eq!(Outputs::read("1\ninf\n").unwrap(), Outputs::Numbers(vec![1.0, f64::INFINITY]));
        assert_eq!(Outputs::read("1\nred\n").unwrap(), Outputs::Texts(vec!["1".into(), "red".into()]));
        assert!(matches!(Outputs::read("1,2\n1,2,3\n").unwrap(), Outputs::Texts(_)));
        assert!(matches!(Outputs::read("1,2\n1,inf\n").unwrap(), Outputs::Texts(_)));
        assert_eq!(
            Outputs::read("1\n\n2").unwrap_err().to_string(),
            "line 2 is empty: one output per line is expected"
        );
        assert!(Outputs::read("1,2\n1,nan").unwrap_err().to_string().starts_with("line 2"));
    }
}
