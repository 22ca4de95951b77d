//! What is computed from noisy numbers, as a formula that can be asked for everything that it may be where these may be
//! many.
//!
//! [`super::derivation`] reads it off an output column, [`enclosed`] encloses its values and slopes over a box,
//! [`bounds`] finds its ends there.

mod bounds;
mod enclosed;
mod span;
#[cfg(test)]
mod tests;

pub(crate) use bounds::bounds;
pub(crate) use enclosed::{BoxedRow, FormulaEnclosure, Order};
pub(crate) use span::Span;

/// What is computed. Truths are 1 and 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Formula {
    Constant(f64),
    /// Something that no noise moves, different in each row: an index.
    Given(usize),
    /// Something with noise: an index.
    Noisy(usize),
    /// Anything, or nothing.
    Unknown,
    Negative(Box<Self>),
    Sum(Box<Self>, Box<Self>),
    Product(Box<Self>, Box<Self>),
    Quotient(Box<Self>, Box<Self>),
    /// The remainder, of whole numbers or of others.
    Remainder {
        of: Box<Self>,
        by: Box<Self>,
        whole: bool,
    },
    Power(Box<Self>, Box<Self>),
    Elementary(ElementaryFunction, Box<Self>),
    /// Rounded to this many digits. A reader takes a rounded number for the one that was rounded: it is both.
    Rounded {
        how: Rounding,
        of: Box<Self>,
        digits: Box<Self>,
    },
    /// Nothing where it is not within these: a whole number that its bits do not hold.
    Fitting(Box<Self>, (f64, f64)),
    /// Never outside of these, also where the formula is not defined: what an aggregate is for all data.
    Within(Box<Self>, (f64, f64)),
    Greatest(Vec<Self>),
    Least(Vec<Self>),
    /// The first that is not NULL.
    First(Vec<Self>),
    /// NULL where both are equal.
    Unless(Box<Self>, Box<Self>),
    NumberRelation(NumberRelation, Box<Self>, Box<Self>),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    IsNull(Box<Self>),
    /// Whether it is this truth, which NULL is not.
    Is(bool, Box<Self>),
    /// What stands beside the first condition that is true.
    Case(Vec<(Self, Self)>, Option<Box<Self>>),
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementaryFunction {
    Absolute,
    Sign,
    SquareRoot,
    CubeRoot,
    Exponential,
    Logarithm,
    Sine,
    Cosine,
}

/// To which side is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Down,
    Up,
    ToZero,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRelation {
    Equal,
    Below,
    AtMost,
}

/// How a formula depends on noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Degree {
    Constant,
    Linear,
    Other,
}

impl Formula {
    pub fn plus(self, other: Self) -> Self {
        Self::Sum(Box::new(self), Box::new(other))
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(Self::Negative(Box::new(other)))
    }

    pub fn times(self, other: Self) -> Self {
        Self::Product(Box::new(self), Box::new(other))
    }

    /// Where it is divided by NULL or by 0, the result is nothing in either case.
    pub fn over(self, other: Self) -> Self {
        let by = match other {
            Self::Unless(by, zero) if *zero == Self::Constant(0.0) => *by,
            other => other,
        };
        Self::Quotient(Box::new(self), Box::new(by))
    }

    pub fn root(self) -> Self {
        Self::Elementary(ElementaryFunction::SquareRoot, Box::new(self))
    }

    pub fn within(self, low: f64, high: f64) -> Self {
        Self::Within(Box::new(self), (low, high))
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Constant(_) | Self::Given(_) | Self::Noisy(_) | Self::Unknown => Vec::new(),
            Self::Negative(one)
            | Self::Elementary(_, one)
            | Self::Fitting(one, _)
            | Self::Within(one, _)
            | Self::Not(one)
            | Self::IsNull(one)
            | Self::Is(_, one) => vec![one],
            Self::Sum(one, other)
            | Self::Product(one, other)
            | Self::Quotient(one, other)
            | Self::Power(one, other)
            | Self::Unless(one, other)
            | Self::NumberRelation(_, one, other)
            | Self::And(one, other)
            | Self::Or(one, other) => vec![one, other],
            Self::Remainder { of, by, .. } => vec![of, by],
            Self::Rounded { of, digits, .. } => vec![of, digits],
            Self::Greatest(all) | Self::Least(all) | Self::First(all) => all.iter().collect(),
            Self::Case(whens, otherwise) => {
                whens.iter().flat_map(|(when, then)| [when, then]).chain(otherwise.as_deref()).collect()
            }
        }
    }

    /// The same with each part replaced for which there is something else.
    pub fn replaced(&self, by: &dyn Fn(&Self) -> Option<Self>) -> Self {
        if let Some(other) = by(self) {
            return other;
        }
        let one = |part: &Self| Box::new(part.replaced(by));
        let all = |parts: &[Self]| parts.iter().map(|part| part.replaced(by)).collect();
        match self {
            Self::Constant(_) | Self::Given(_) | Self::Noisy(_) | Self::Unknown => self.clone(),
            Self::Negative(of) => Self::Negative(one(of)),
            Self::Sum(left, right) => Self::Sum(one(left), one(right)),
            Self::Product(left, right) => Self::Product(one(left), one(right)),
            Self::Quotient(left, right) => Self::Quotient(one(left), one(right)),
            Self::Remainder { of, by, whole } => Self::Remainder { of: one(of), by: one(by), whole: *whole },
            Self::Power(left, right) => Self::Power(one(left), one(right)),
            Self::Elementary(which, of) => Self::Elementary(*which, one(of)),
            Self::Rounded { how, of, digits } => Self::Rounded { how: *how, of: one(of), digits: one(digits) },
            Self::Fitting(of, range) => Self::Fitting(one(of), *range),
            Self::Within(of, range) => Self::Within(one(of), *range),
            Self::Greatest(parts) => Self::Greatest(all(parts)),
            Self::Least(parts) => Self::Least(all(parts)),
            Self::First(parts) => Self::First(all(parts)),
            Self::Unless(left, right) => Self::Unless(one(left), one(right)),
            Self::NumberRelation(how, left, right) => Self::NumberRelation(*how, one(left), one(right)),
            Self::Not(of) => Self::Not(one(of)),
            Self::And(left, right) => Self::And(one(left), one(right)),
            Self::Or(left, right) => Self::Or(one(left), one(right)),
            Self::IsNull(of) => Self::IsNull(one(of)),
            Self::Is(truth, of) => Self::Is(*truth, one(of)),
            Self::Case(whens, otherwise) => {
                let whens = whens.iter().map(|(when, then)| (when.replaced(by), then.replaced(by))).collect();
                Self::Case(whens, otherwise.as_deref().map(one))
            }
        }
    }

    /// Whether noise moves it.
    pub fn is_noisy(&self) -> bool {
        matches!(self, Self::Noisy(_) | Self::Unknown) || self.children().into_iter().any(Self::is_noisy)
    }

    /// Whether a part of it may be anything.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown) || self.children().into_iter().any(Self::is_unknown)
    }

    /// The numbers with noise that it reads, each once.
    pub fn noisy(&self) -> Vec<usize> {
        let mut found = match self {
            Self::Noisy(index) => vec![*index],
            other => other.children().into_iter().flat_map(Self::noisy).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How it depends on noise; `is_sum` says which noisy numbers are themselves whole numbers with noise, times a
    /// constant.
    pub fn degree(&self, is_sum: &dyn Fn(usize) -> bool) -> Degree {
        match self {
            Self::Noisy(index) => {
                if is_sum(*index) {
                    Degree::Linear
                } else {
                    Degree::Other
                }
            }
            other if !other.is_noisy() => Degree::Constant,
            // What does not fit is nothing, which its interval says where it may be.
            Self::Negative(one) | Self::Fitting(one, _) => one.degree(is_sum),
            Self::Sum(one, other) => one.degree(is_sum).max(other.degree(is_sum)),
            Self::Product(one, other) => match (one.degree(is_sum), other.degree(is_sum)) {
                (Degree::Constant, degree) | (degree, Degree::Constant) => degree,
                _ => Degree::Other,
            },
            Self::Quotient(one, other) if !other.is_noisy() => one.degree(is_sum),
            _ => Degree::Other,
        }
    }

    /// What is above and below the line, if it is a quotient of two sums of noisy numbers: also times a constant, or
    /// with one added.
    pub fn fraction(&self, is_sum: &dyn Fn(usize) -> bool) -> Option<(Self, Self)> {
        let linear = |part: &Self| part.degree(is_sum) < Degree::Other;
        match self {
            Self::Quotient(above, below) if linear(above) && below.degree(is_sum) == Degree::Linear => {
                Some((above.as_ref().clone(), below.as_ref().clone()))
            }
            Self::Negative(one) => one.fraction(is_sum).map(|(above, below)| (Self::Negative(Box::new(above)), below)),
            Self::Sum(one, other) => {
                let (fraction, by) = if other.is_noisy() { (other, one) } else { (one, other) };
                let (above, below) = fraction.fraction(is_sum).filter(|_| !by.is_noisy())?;
                Some((above.plus(by.as_ref().clone().times(below.clone())), below))
            }
            Self::Product(one, other) => {
                let (fraction, by) = if other.is_noisy() { (other, one) } else { (one, other) };
                let (above, below) = fraction.fraction(is_sum).filter(|_| !by.is_noisy())?;
                Some((above.times(by.as_ref().clone()), below))
            }
            Self::Quotient(one, other) if !other.is_noisy() => {
                let (above, below) = one.fraction(is_sum)?;
                Some((above.over(other.as_ref().clone()), below))
            }
            _ => None,
        }
    }

    /// The largest parts whose intervals are known by themselves, each once: sums, quotients of sums, and aggregates
    /// that are neither.
    fn atoms<'a>(&'a self, is_sum: &dyn Fn(usize) -> bool, found: &mut Vec<&'a Self>) {
        if !self.is_noisy() {
            return;
        }
        let is_one = matches!(self, Self::Noisy(_) | Self::Unknown)
            || self.degree(is_sum) < Degree::Other
            || self.fraction(is_sum).is_some();
        match is_one {
            true if !found.contains(&self) => found.push(self),
            true => {}
            false => self.children().into_iter().for_each(|child| child.atoms(is_sum, found)),
        }
    }

    /// The part through which all noise comes in: an interval of that part gives one of the whole.
    pub fn core(&self, is_sum: &dyn Fn(usize) -> bool) -> Self {
        if self.degree(is_sum) < Degree::Other {
            return self.clone();
        }
        if let ([one], false) = (&self.noisy()[..], self.is_unknown()) {
            return Self::Noisy(*one);
        }
        let mut atoms = Vec::new();
        self.atoms(is_sum, &mut atoms);
        if let [one] = &atoms[..] {
            return (*one).clone();
        }
        let mut core = self;
        loop {
            let noisy: Vec<&Self> = core.children().into_iter().filter(|child| child.is_noisy()).collect();
            match noisy[..] {
                [one] => core = one,
                _ => return core.clone(),
            }
        }
    }

    /// The whole as a function of that part alone, which is its noisy number 0.
    pub fn around(&self, core: &Self) -> Self {
        self.replaced(&|part| (part == core).then_some(Self::Noisy(0)))
    }
}
