//! A quantity with a certified interval around it.

/// u: the unit roundoff of f64. Each arithmetic operation is off by at most this factor.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// A probability (mostly a δ) that is proven to lie between `lower` and `upper`.
///
/// ```
/// use scumble_adversary::attacker::Bound;
/// let delta = Bound::new(0.1, 0.2).max(Bound::exactly(0.15));
/// assert_eq!((delta.lower, delta.upper), (0.15, 0.2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The truth is at least this.
    pub lower: f64,
    /// The truth is at most this: the number to claim.
    pub upper: f64,
}

impl Bound {
    /// Clamps both ends to \[0, 1\].
    pub fn new(lower: f64, upper: f64) -> Self {
        let upper = upper.clamp(0.0, 1.0);
        Self { lower: lower.clamp(0.0, upper), upper }
    }

    /// A value that is known exactly.
    pub fn exactly(value: f64) -> Self {
        Self::new(value, value)
    }

    /// Nothing better than `upper` is claimed, and nothing is known from below.
    pub fn at_most(upper: f64) -> Self {
        Self::new(0.0, upper)
    }

    /// The bound of the larger of two quantities.
    pub fn max(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// Two bounds of the same quantity: what both say.
    pub fn and(self, other: Self) -> Self {
        let upper = self.upper.min(other.upper);
        Self { lower: self.lower.max(other.lower).min(upper), upper }
    }

    /// Two valid claims about perhaps different worst cases: the smaller upper end, and no lower end beyond it.
    pub fn or(self, other: Self) -> Self {
        if other.upper < self.upper { other } else { self }
    }
}

/// δ in both directions: `with_against_without` is H_ε(law(s + S) ‖ law(S)), written d10; `without_against_with` is
/// d01.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Directions {
    /// d10: the target contributes, against it does not.
    pub with_against_without: Bound,
    /// d01: the target does not contribute, against it does.
    pub without_against_with: Bound,
}

impl Directions {
    /// The δ to claim: the larger of both directions.
    pub fn delta(&self) -> Bound {
        self.with_against_without.max(self.without_against_with)
    }
}
