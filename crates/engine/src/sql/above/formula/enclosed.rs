//! Everything that a formula may be where its noisy numbers are in a box, and everything that its slopes may be
//! (Moore 1966; Rall 1981): never less.

use super::span::Span;
use super::{ElementaryFunction, Formula, NumberRelation, Rounding};

/// How many derivatives are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Values,
    Slopes,
    Bends,
}

/// Where a formula is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoxedRow<'a> {
    /// What no noise moves; none where it is NULL.
    pub given: &'a [Option<f64>],
    /// The box of the noisy numbers.
    pub noisy: &'a [Span],
}

/// What a formula may be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormulaEnclosure {
    /// All numbers that it may be; none where it is NULL for sure.
    pub span: Span,
    /// Whether it may be NULL.
    pub missing: bool,
    /// Whether it may be no number: x / 0.0, √−1.
    pub undefined: bool,
    /// Whether it may jump.
    pub jumps: bool,
    /// Whether its slopes may jump.
    pub bent: bool,
    /// None where it is the same in all of the box.
    pub slopes: Option<Slopes>,
}

/// The derivatives by each noisy number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slopes {
    pub first: Vec<Span>,
    /// Row by row, of the lower triangle; empty where they are not wanted.
    pub second: Vec<Span>,
}

impl Slopes {
    /// Each derivative of two.
    fn joined(one: &Option<Self>, other: &Option<Self>, join: impl Fn(Span, Span) -> Span) -> Option<Self> {
        let (Some(first), Some(second)) = (one, other) else {
            let with_zero = |of: &Self, swapped: bool| {
                let join = |span: &Span| if swapped { join(Span::ZERO, *span) } else { join(*span, Span::ZERO) };
                Self { first: of.first.iter().map(join).collect(), second: of.second.iter().map(join).collect() }
            };
            return one.as_ref().map(|of| with_zero(of, false)).or(other.as_ref().map(|of| with_zero(of, true)));
        };
        let all = |one: &[Span], other: &[Span]| one.iter().zip(other).map(|(one, other)| join(*one, *other)).collect();
        Some(Self { first: all(&first.first, &second.first), second: all(&first.second, &second.second) })
    }

    /// The bend by numbers i and j.
    pub fn bend(&self, i: usize, j: usize) -> Span {
        let (i, j) = (i.max(j), i.min(j));
        self.second[i * (i + 1) / 2 + j]
    }
}

/// Which of true, false and NULL it may be.
#[derive(Debug, Clone, Copy)]
struct Truths {
    yes: bool,
    no: bool,
    missing: bool,
}

impl Truths {
    const ANY: Self = Self { yes: true, no: true, missing: true };

    fn enclosed(self) -> FormulaEnclosure {
        let span = match (self.no, self.yes) {
            (true, true) => Span::new(0.0, 1.0),
            (true, false) => Span::ZERO,
            (false, true) => Span::point(1.0),
            (false, false) => Span::EMPTY,
        };
        FormulaEnclosure { missing: self.missing, jumps: self.no && self.yes, ..FormulaEnclosure::fixed(span) }
    }
}

impl FormulaEnclosure {
    fn fixed(span: Span) -> Self {
        Self { span, missing: false, undefined: false, jumps: false, bent: false, slopes: None }
    }

    fn nothing() -> Self {
        Self { missing: true, ..Self::fixed(Span::EMPTY) }
    }

    fn anything() -> Self {
        Self { missing: true, undefined: true, jumps: true, bent: true, ..Self::fixed(Span::ALL) }
    }

    /// Whether it is a number everywhere.
    pub fn is_number(&self) -> bool {
        !self.missing && !self.undefined && self.span.is_finite() && !self.span.is_empty()
    }

    /// Whether the slopes hold it: it does not jump, and all of them are known.
    pub fn is_steady(&self) -> bool {
        self.is_number() && !self.jumps
    }

    /// The flags of both.
    fn of_both(span: Span, one: &Self, other: &Self, slopes: Option<Slopes>) -> Self {
        Self {
            span,
            missing: one.missing || other.missing,
            undefined: one.undefined || other.undefined,
            jumps: one.jumps || other.jumps,
            bent: one.bent || other.bent,
            slopes,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let slopes = Slopes::joined(&self.slopes, &other.slopes, Span::plus);
        Self::of_both(self.span.plus(other.span), self, other, slopes)
    }

    fn negative(&self) -> Self {
        self.with(self.span.negative(), Span::point(-1.0), Span::ZERO)
    }

    /// A function of it, with these values, slopes and bends.
    fn with(&self, span: Span, slope: Span, bend: Span) -> Self {
        let slopes = self.slopes.as_ref().map(|slopes| {
            let first = slopes.first.iter().map(|by| by.times(slope)).collect();
            let mut second: Vec<Span> = slopes.second.iter().map(|by| by.times(slope)).collect();
            let mut place = 0;
            for i in 0..slopes.first.len() {
                for j in 0..=i {
                    let both = if i == j { slopes.first[i].square() } else { slopes.first[i].times(slopes.first[j]) };
                    if let Some(second) = second.get_mut(place) {
                        *second = second.plus(both.times(bend));
                    }
                    place += 1;
                }
            }
            Slopes { first, second }
        });
        Self { span, slopes, ..self.clone() }
    }

    fn times(&self, other: &Self) -> Self {
        let span = self.span.times(other.span);
        let slopes = match (&self.slopes, &other.slopes) {
            (None, None) => None,
            (Some(slopes), None) => Some(scaled(slopes, other.span)),
            (None, Some(slopes)) => Some(scaled(slopes, self.span)),
            (Some(one), Some(two)) => Some(product(one, self.span, two, other.span)),
        };
        Self::of_both(span, self, other, slopes)
    }

    fn square(&self) -> Self {
        self.with(self.span.square(), self.span.times(Span::point(2.0)), Span::point(2.0))
    }

    fn over(&self, other: &Self) -> Self {
        if other.span.holds(0.0) {
            return Self::anything();
        }
        let one = other.span.reciprocal();
        let square = one.square();
        let reciprocal = other.with(one, square.negative(), square.times(one).times(Span::point(2.0)));
        // Beside the slopes of a product with the reciprocal, the values are those of a division.
        Self { span: self.span.over(other.span), ..self.times(&reciprocal) }
    }

    /// Either of two.
    fn or(&self, other: &Self) -> Self {
        let slopes = Slopes::joined(&self.slopes, &other.slopes, Span::hull);
        Self::of_both(self.span.hull(other.span), self, other, slopes)
    }

    fn truths(&self) -> Truths {
        if self.undefined {
            return Truths::ANY;
        }
        let is_empty = self.span.is_empty();
        Truths { yes: !is_empty && self.span.high > 0.0, no: !is_empty && self.span.holds(0.0), missing: self.missing }
    }
}

fn scaled(slopes: &Slopes, by: Span) -> Slopes {
    let all = |spans: &[Span]| spans.iter().map(|span| span.times(by)).collect();
    Slopes { first: all(&slopes.first), second: all(&slopes.second) }
}

fn product(one: &Slopes, value: Span, other: &Slopes, beside: Span) -> Slopes {
    let all = |one: &[Span], other: &[Span]| {
        one.iter().zip(other).map(|(one, other)| one.times(beside).plus(other.times(value))).collect::<Vec<Span>>()
    };
    let (first, mut second) = (all(&one.first, &other.first), all(&one.second, &other.second));
    let mut place = 0;
    for i in 0..first.len() {
        for j in 0..=i {
            if let Some(second) = second.get_mut(place) {
                let crossed = one.first[i].times(other.first[j]).plus(one.first[j].times(other.first[i]));
                *second = second.plus(crossed);
            }
            place += 1;
        }
    }
    Slopes { first, second }
}

impl Formula {
    /// Everything that it may be in the box of a row.
    pub fn enclosed(&self, row: BoxedRow<'_>, order: Order) -> FormulaEnclosure {
        let of = |part: &Self| part.enclosed(row, order);
        match self {
            Self::Constant(number) => FormulaEnclosure::fixed(Span::point(*number)),
            Self::Given(index) => given(row.given[*index]),
            Self::Noisy(index) => noisy(*index, row, order),
            Self::Unknown => FormulaEnclosure::anything(),
            Self::Negative(one) => of(one).negative(),
            Self::Sum(one, other) => of(one).plus(&of(other)),
            Self::Product(one, other) if one == other => of(one).square(),
            Self::Product(one, other) => of(one).times(&of(other)),
            Self::Quotient(one, other) => of(one).over(&of(other)),
            Self::Remainder { of: one, by, whole } => remainder(&of(one), &of(by), *whole),
            Self::Power(one, power) => powered(&of(one), &of(power)),
            Self::Elementary(which, one) => function(*which, &of(one)),
            Self::Rounded { how, of: one, digits } => rounded(*how, of(one), &of(digits)),
            Self::Fitting(one, range) => fitting(of(one), *range),
            Self::Within(one, range) => within(of(one), *range),
            Self::Greatest(all) => {
                all.iter().map(of).reduce(|one, other| greater(&one, &other)).unwrap_or_else(FormulaEnclosure::nothing)
            }
            Self::Least(all) => {
                let all = all.iter().map(|one| of(one).negative());
                all.reduce(|one, other| greater(&one, &other))
                    .map_or_else(FormulaEnclosure::nothing, |one| one.negative())
            }
            Self::First(all) => first(all.iter().map(of)),
            Self::Unless(one, other) => unless(of(one), &of(other)),
            Self::NumberRelation(how, one, other) => compared(*how, &of(one), &of(other)).enclosed(),
            Self::Not(one) => {
                let Truths { yes, no, missing } = of(one).truths();
                Truths { yes: no, no: yes, missing }.enclosed()
            }
            Self::And(one, other) => both(of(one).truths(), of(other).truths()).enclosed(),
            Self::Or(one, other) => {
                let turned = |Truths { yes, no, missing }: Truths| Truths { yes: no, no: yes, missing };
                turned(both(turned(of(one).truths()), turned(of(other).truths()))).enclosed()
            }
            Self::IsNull(one) => {
                let one = of(one);
                let is_some = one.undefined || !one.span.is_empty();
                Truths { yes: one.missing, no: is_some, missing: false }.enclosed()
            }
            Self::Is(truth, one) => {
                let Truths { yes, no, missing } = of(one).truths();
                let (is, other) = if *truth { (yes, no) } else { (no, yes) };
                Truths { yes: is, no: other || missing, missing: false }.enclosed()
            }
            Self::Case(whens, otherwise) => case(whens, otherwise.as_deref(), row, order),
        }
    }
}

fn given(value: Option<f64>) -> FormulaEnclosure {
    match value {
        None => FormulaEnclosure::nothing(),
        Some(number) if number.is_finite() => FormulaEnclosure::fixed(Span::point(number)),
        Some(_) => FormulaEnclosure::anything(),
    }
}

fn noisy(index: usize, row: BoxedRow<'_>, order: Order) -> FormulaEnclosure {
    let dimension = row.noisy.len();
    let slope = |place: usize| if place == index { Span::point(1.0) } else { Span::ZERO };
    let slopes = (order >= Order::Slopes).then(|| Slopes {
        first: (0..dimension).map(slope).collect(),
        second: vec![Span::ZERO; if order == Order::Bends { dimension * (dimension + 1) / 2 } else { 0 }],
    });
    FormulaEnclosure { slopes, ..FormulaEnclosure::fixed(row.noisy[index]) }
}

fn remainder(of: &FormulaEnclosure, by: &FormulaEnclosure, whole: bool) -> FormulaEnclosure {
    let step = by.span.absolute();
    if of.span.is_empty() {
        return FormulaEnclosure::of_both(Span::EMPTY, of, by, None);
    }
    if step.holds(0.0) || by.span.is_empty() || !of.span.is_finite() {
        return FormulaEnclosure::anything();
    }
    let largest = if whole { step.high - 1.0 } else { step.high };
    let turn = |number: f64| (number / step.low).trunc();
    let one_turn = step.is_point() && turn(of.span.low) == turn(of.span.high) && !of.span.holds(0.0);
    let any = Span::new(
        if of.span.low < 0.0 { (-largest).max(of.span.low) } else { 0.0 },
        if of.span.high > 0.0 { largest.min(of.span.high) } else { 0.0 },
    );
    // Within one turn it rises with what is divided, and is exactly what floats make of it.
    let span = if one_turn { Span::new(of.span.low % step.low, of.span.high % step.low) } else { any };
    let both = FormulaEnclosure::of_both(span, of, by, of.slopes.clone());
    FormulaEnclosure { jumps: both.jumps || !one_turn, ..both }
}

fn powered(of: &FormulaEnclosure, power: &FormulaEnclosure) -> FormulaEnclosure {
    if of.span.is_empty() {
        return FormulaEnclosure::of_both(Span::EMPTY, of, power, None);
    }
    if power.missing || power.undefined {
        return FormulaEnclosure::anything();
    }
    let exponent = power.span.low;
    let is_whole = power.span.is_point() && exponent.fract() == 0.0 && (0.0..=64.0).contains(&exponent);
    if is_whole {
        let power = exponent as i32;
        let slope = match power {
            0 => Span::ZERO,
            _ => of.span.powered(power - 1).times(Span::point(exponent)),
        };
        let bend = match power {
            0 | 1 => Span::ZERO,
            _ => of.span.powered(power - 2).times(Span::point(exponent * (exponent - 1.0))),
        };
        return finite(of.with(of.span.powered(power), slope, bend));
    }
    if of.span.low <= 0.0 {
        return FormulaEnclosure::anything();
    }
    // Of a positive number it rises or falls with each of both: the ends are at corners.
    let at = |power: f64| of.span.low.powf(power).min(of.span.high.powf(power));
    let high = |power: f64| of.span.low.powf(power).max(of.span.high.powf(power));
    let between = |from: f64, to: f64| Span::new(at(from).min(at(to)), high(from).max(high(to))).widened();
    let span = between(power.span.low, power.span.high);
    let slope = between(power.span.low - 1.0, power.span.high - 1.0).times(power.span);
    let bend = between(power.span.low - 2.0, power.span.high - 2.0)
        .times(power.span)
        .times(power.span.minus(Span::point(1.0)));
    let made = of.with(span, slope, bend);
    let steady = power.slopes.is_none() && !power.jumps;
    finite(FormulaEnclosure { jumps: made.jumps || !steady, ..made })
}

/// What is too large for a float is no number.
fn finite(one: FormulaEnclosure) -> FormulaEnclosure {
    let is_finite = one.span.is_finite() || one.span.is_empty();
    FormulaEnclosure { undefined: one.undefined || !is_finite, ..one }
}

fn function(which: ElementaryFunction, of: &FormulaEnclosure) -> FormulaEnclosure {
    let (span, positive) = (of.span, of.span.common(Span::new(0.0, f64::INFINITY)));
    if span.is_empty() {
        return of.clone();
    }
    let number = Span::point;
    match which {
        ElementaryFunction::Absolute => {
            let kink = span.low < 0.0 && span.high > 0.0;
            let slope = Span::new(if span.low < 0.0 { -1.0 } else { 1.0 }, if span.high > 0.0 { 1.0 } else { -1.0 });
            let made = of.with(span.absolute(), slope, Span::ZERO);
            FormulaEnclosure { bent: made.bent || kink, ..made }
        }
        ElementaryFunction::Sign => {
            let sign = |number: f64| if number == 0.0 { 0.0 } else { number.signum() };
            let made = of.with(span.rising(sign), Span::ZERO, Span::ZERO);
            FormulaEnclosure { jumps: made.jumps || !made.span.is_point(), ..made }
        }
        ElementaryFunction::SquareRoot => {
            let root = positive.rising(f64::sqrt);
            // At 0 it is endlessly steep.
            let steepest = if root.low > 0.0 { 0.5 / root.low } else { f64::INFINITY };
            let slope = Span::new(0.5 / root.high, steepest);
            let bend = root.times(root.square()).times(number(-4.0)).reciprocal();
            let made = of.with(root, slope, bend);
            // Nothing where all of it is negative.
            FormulaEnclosure { undefined: made.undefined || span.low < 0.0, ..made }
        }
        ElementaryFunction::CubeRoot => {
            let root = span.nearly_rising(f64::cbrt);
            let square = root.square();
            let slope = square.times(number(3.0)).reciprocal();
            let bend = square.square().times(root).times(number(-4.5)).reciprocal();
            of.with(root, slope, bend)
        }
        ElementaryFunction::Exponential => {
            let value = span.nearly_rising(f64::exp);
            finite(of.with(value, value, value))
        }
        ElementaryFunction::Logarithm => {
            let one = span.reciprocal();
            let made = of.with(positive.nearly_rising(f64::ln), one, one.square().negative());
            finite(FormulaEnclosure { undefined: made.undefined || span.low <= 0.0, ..made })
        }
        ElementaryFunction::Sine | ElementaryFunction::Cosine => {
            let wave = Span::new(-1.0, 1.0).widened();
            let value = |number: f64| if which == ElementaryFunction::Sine { number.sin() } else { number.cos() };
            let exact = if span.is_point() { number(value(span.low)).widened() } else { wave };
            of.with(exact, wave, wave)
        }
    }
}

fn rounded(how: Rounding, of: FormulaEnclosure, digits: &FormulaEnclosure) -> FormulaEnclosure {
    if !digits.span.is_point() || digits.missing || digits.undefined {
        return FormulaEnclosure::anything();
    }
    let unit = 10f64.powi(digits.span.low.clamp(-400.0, 400.0) as i32);
    let round = |number: f64| {
        let scaled = number * unit;
        let whole = match how {
            Rounding::Nearest => scaled.round(),
            Rounding::Down => scaled.floor(),
            Rounding::Up => scaled.ceil(),
            Rounding::ToZero => scaled.trunc(),
        };
        let value = whole / unit;
        if value.is_finite() { value } else { number }
    };
    let span = of.span.rising(round).hull(of.span);
    FormulaEnclosure { jumps: of.jumps || !span.is_point(), span, ..of }
}

fn fitting(of: FormulaEnclosure, (low, high): (f64, f64)) -> FormulaEnclosure {
    let fits = of.span.is_empty() || (of.span.low >= low && of.span.high <= high);
    if fits { of } else { FormulaEnclosure { missing: true, span: of.span.common(Span::new(low, high)), ..of } }
}

fn within(of: FormulaEnclosure, (low, high): (f64, f64)) -> FormulaEnclosure {
    let range = Span::new(low, high);
    if of.missing || of.undefined || of.span.is_empty() {
        return FormulaEnclosure { jumps: true, bent: true, ..FormulaEnclosure::fixed(range) };
    }
    if of.span.low >= low && of.span.high <= high {
        return of;
    }
    // Clamped, its slope may be 0.
    let span = of.span.rising(|number| number.clamp(low, high));
    let slopes = Slopes::joined(&of.slopes, &None, Span::hull);
    FormulaEnclosure { span, bent: true, slopes, ..of }
}

/// The larger of two; NULL is passed over.
fn greater(one: &FormulaEnclosure, other: &FormulaEnclosure) -> FormulaEnclosure {
    if one.span.is_empty() && !one.undefined {
        return FormulaEnclosure { missing: other.missing, ..other.clone() };
    }
    if other.span.is_empty() && !other.undefined {
        return FormulaEnclosure { missing: one.missing, ..one.clone() };
    }
    let largest = Span::new(one.span.low.max(other.span.low), one.span.high.max(other.span.high));
    let made = match (one.span.low >= other.span.high, other.span.low >= one.span.high) {
        (true, _) => FormulaEnclosure::of_both(largest, one, other, one.slopes.clone()),
        (_, true) => FormulaEnclosure::of_both(largest, one, other, other.slopes.clone()),
        _ => FormulaEnclosure { span: largest, bent: true, ..one.or(other) },
    };
    if !one.missing && !other.missing {
        return made;
    }
    let mut span = made.span;
    span = if one.missing { span.hull(other.span) } else { span };
    span = if other.missing { span.hull(one.span) } else { span };
    FormulaEnclosure { span, missing: one.missing && other.missing, jumps: true, ..made }
}

fn first(all: impl Iterator<Item = FormulaEnclosure>) -> FormulaEnclosure {
    let mut found: Option<FormulaEnclosure> = None;
    for one in all {
        let ends = !one.missing;
        found = Some(match found {
            None => one,
            Some(before) if before.span.is_empty() && !before.undefined => one,
            Some(before) => FormulaEnclosure { missing: one.missing, jumps: true, ..before.or(&one) },
        });
        if ends {
            break;
        }
    }
    found.unwrap_or_else(FormulaEnclosure::nothing)
}

fn unless(one: FormulaEnclosure, other: &FormulaEnclosure) -> FormulaEnclosure {
    let Truths { yes, no, missing } = compared(NumberRelation::Equal, &one, other);
    match (yes, no || missing) {
        (true, false) => FormulaEnclosure::nothing(),
        (true, true) => FormulaEnclosure { missing: true, ..one },
        _ => one,
    }
}

fn compared(how: NumberRelation, one: &FormulaEnclosure, other: &FormulaEnclosure) -> Truths {
    if one.undefined || other.undefined {
        return Truths::ANY;
    }
    let missing = one.missing || other.missing;
    let (one, other) = (one.span, other.span);
    if one.is_empty() || other.is_empty() {
        return Truths { yes: false, no: false, missing };
    }
    let (yes, no) = match how {
        NumberRelation::Equal => (
            one.low <= other.high && other.low <= one.high,
            !(one.is_point() && other.is_point() && one.low == other.low),
        ),
        NumberRelation::Below => (one.low < other.high, one.high >= other.low),
        NumberRelation::AtMost => (one.low <= other.high, one.high > other.low),
    };
    Truths { yes, no, missing }
}

/// Three-valued AND.
fn both(one: Truths, other: Truths) -> Truths {
    Truths {
        yes: one.yes && other.yes,
        no: one.no || other.no,
        missing: (one.missing && (other.yes || other.missing)) || (other.missing && one.yes),
    }
}

fn case(
    whens: &[(Formula, Formula)],
    otherwise: Option<&Formula>,
    row: BoxedRow<'_>,
    order: Order,
) -> FormulaEnclosure {
    let mut found: Option<FormulaEnclosure> = None;
    let mut note = |one: FormulaEnclosure| {
        found = Some(match found.take() {
            None => one,
            Some(before) => FormulaEnclosure { jumps: true, ..before.or(&one) },
        });
    };
    for (when, then) in whens {
        let truths = when.enclosed(row, Order::Values).truths();
        if truths.yes {
            note(then.enclosed(row, order));
        }
        if !truths.no && !truths.missing {
            return found.unwrap_or_else(FormulaEnclosure::nothing);
        }
    }
    note(otherwise.map_or_else(FormulaEnclosure::nothing, |otherwise| otherwise.enclosed(row, order)));
    found.unwrap_or_else(FormulaEnclosure::nothing)
}
