//! Numbers between two ends, and what arithmetic makes of them (Moore 1966).
//!
//! Ends are rounded to the nearest number. Rounding is monotone: whatever floats lie in two spans, the float that +, −,
//! ×, ÷ or √ makes of them lies in the span that is made here. Functions that are not rounded correctly are widened.

/// All numbers from `low` to `high`; none where `low` is above `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub low: f64,
    pub high: f64,
}

/// Nothing.
const EMPTY: Span = Span { low: f64::INFINITY, high: f64::NEG_INFINITY };

/// By how much functions that are not rounded correctly are off, relatively: four times the last bit.
const OFF: f64 = 1e-15;

impl Span {
    /// 0.
    pub const ZERO: Self = Self { low: 0.0, high: 0.0 };
    /// No number.
    pub const EMPTY: Self = EMPTY;
    /// All numbers.
    pub const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    pub fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// One number.
    pub fn point(at: f64) -> Self {
        Self { low: at, high: at }
    }

    /// The numbers that are at most `by` away.
    pub fn around(middle: f64, by: f64) -> Self {
        Self { low: middle - by, high: middle + by }
    }

    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub fn is_point(self) -> bool {
        self.low == self.high
    }

    pub fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    pub fn holds(self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    pub fn width(self) -> f64 {
        self.high - self.low
    }

    pub fn middle(self) -> f64 {
        if self.is_point() { self.low } else { self.low / 2.0 + self.high / 2.0 }
    }

    /// The largest absolute value.
    pub fn largest(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The least span with both in it.
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// What both have.
    pub fn common(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }.defined()
    }

    pub fn negative(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negative())
    }

    pub fn times(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return EMPTY;
        }
        // An end that is infinite is never reached: 0 times it is 0.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let all = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        Self {
            low: all.into_iter().fold(f64::INFINITY, f64::min),
            high: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub fn square(self) -> Self {
        let (low, high) = (self.low * self.low, self.high * self.high);
        if self.is_empty() {
            EMPTY
        } else if self.holds(0.0) {
            Self { low: 0.0, high: low.max(high) }
        } else {
            Self { low: low.min(high), high: low.max(high) }
        }
    }

    /// 1 over it; everything where it may be 0.
    pub fn reciprocal(self) -> Self {
        if self.is_empty() {
            EMPTY
        } else if self.holds(0.0) {
            Self::ALL
        } else {
            Self { low: 1.0 / self.high, high: 1.0 / self.low }
        }
    }

    /// Over what is not 0; everything where that may be 0.
    pub fn over(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return EMPTY;
        }
        if other.holds(0.0) {
            return Self::ALL;
        }
        let all = [self.low / other.low, self.low / other.high, self.high / other.low, self.high / other.high];
        Self {
            low: all.into_iter().fold(f64::INFINITY, f64::min),
            high: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub fn absolute(self) -> Self {
        if self.is_empty() || self.low >= 0.0 {
            self
        } else if self.high <= 0.0 {
            self.negative()
        } else {
            Self { low: 0.0, high: self.largest() }
        }
    }

    /// A function that never falls.
    pub fn rising(self, function: impl Fn(f64) -> f64) -> Self {
        if self.is_empty() { EMPTY } else { Self { low: function(self.low), high: function(self.high) } }
    }

    /// A function that never falls and is not rounded correctly.
    pub fn nearly_rising(self, function: impl Fn(f64) -> f64) -> Self {
        self.rising(function).widened()
    }

    /// A number to the power of a whole one, which is not negative.
    pub fn powered(self, power: i32) -> Self {
        if power % 2 == 0 {
            self.absolute().nearly_rising(|number| number.powi(power))
        } else {
            self.nearly_rising(|number| number.powi(power))
        }
    }

    /// By more than what functions are off.
    pub fn widened(self) -> Self {
        if self.is_empty() {
            return self;
        }
        Self { low: self.low - OFF * self.low.abs(), high: self.high + OFF * self.high.abs() }.defined()
    }

    /// ∞ − ∞ may be anything.
    fn defined(self) -> Self {
        Self {
            low: if self.low.is_nan() { f64::NEG_INFINITY } else { self.low },
            high: if self.high.is_nan() { f64::INFINITY } else { self.high },
        }
    }
}
