//! Formulas from seeds: whatever is in a box is in what is said of the box.

use super::*;

/// Multiples of the golden ratio (Steele, Lea and Flood 2014): enough for choosing formulas and points.
struct FormulaChoice(u64);

impl FormulaChoice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 53) as f64
    }

    fn number(&mut self, depth: u32) -> Formula {
        if depth == 0 {
            return match self.below(4) {
                0 => Formula::Constant(self.below(9) as f64 - 3.0),
                1 => Formula::Given(self.below(2) as usize),
                _ => Formula::Noisy(self.below(3) as usize),
            };
        }
        let deeper = depth - 1;
        let one = |choice: &mut Self| Box::new(choice.number(deeper));
        match self.below(17) {
            0 => Formula::Negative(one(self)),
            1 | 2 => Formula::Sum(one(self), one(self)),
            3 | 4 => Formula::Product(one(self), one(self)),
            5 => self.number(deeper).over(self.number(deeper)),
            6 => Formula::Remainder { of: one(self), by: Box::new(Formula::Constant(7.0)), whole: false },
            7 => Formula::Power(one(self), Box::new(Formula::Constant(self.below(5) as f64 / 2.0))),
            8 | 9 => {
                let all = [
                    ElementaryFunction::Absolute,
                    ElementaryFunction::Sign,
                    ElementaryFunction::SquareRoot,
                    ElementaryFunction::CubeRoot,
                    ElementaryFunction::Exponential,
                    ElementaryFunction::Logarithm,
                    ElementaryFunction::Sine,
                    ElementaryFunction::Cosine,
                ];
                Formula::Elementary(all[self.below(8) as usize], one(self))
            }
            10 => {
                let how = [Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::ToZero][self.below(4) as usize];
                let digits = Box::new(Formula::Constant(self.below(3) as f64 - 1.0));
                Formula::Rounded { how, of: one(self), digits }
            }
            11 => Formula::Within(one(self), (-4.0, 5.0)),
            12 => Formula::Greatest((0..3).map(|_| self.number(deeper)).collect()),
            13 => Formula::Least((0..2).map(|_| self.number(deeper)).collect()),
            14 => Formula::First(vec![Formula::Unless(one(self), one(self)), self.number(deeper)]),
            _ => Formula::Case(vec![(self.truth(deeper), self.number(deeper))], Some(one(self))),
        }
    }

    fn truth(&mut self, depth: u32) -> Formula {
        let how = [NumberRelation::Equal, NumberRelation::Below, NumberRelation::AtMost][self.below(3) as usize];
        let compared = Formula::NumberRelation(how, Box::new(self.number(depth)), Box::new(self.number(0)));
        match self.below(5) {
            0 => Formula::Not(Box::new(compared)),
            1 => Formula::And(Box::new(compared), Box::new(self.truth(0))),
            2 => Formula::Or(Box::new(compared), Box::new(self.truth(0))),
            3 => Formula::IsNull(Box::new(self.number(depth))),
            _ => compared,
        }
    }
}

const GIVEN: [Option<f64>; 2] = [Some(2.5), None];

/// What it is at a point. What is rounded is both numbers: any of them is in what is said of a box.
fn at(formula: &Formula, point: &[f64]) -> FormulaEnclosure {
    let noisy: Vec<Span> = point.iter().map(|number| Span::point(*number)).collect();
    formula.enclosed(BoxedRow { given: &GIVEN, noisy: &noisy }, Order::Values)
}

fn close(one: f64, span: Span) -> bool {
    let slack = 1e-9 * (1.0 + one.abs());
    span.low - slack <= one && one <= span.high + slack
}

/// 4,000 formulas, with 30 points in a box each: everything that they are there is in what is said of the box, before
/// and after the search.
#[test]
fn whatever_is_in_a_box_is_enclosed() {
    let mut found = 0;
    for seed in 0..4000u64 {
        let mut choice = FormulaChoice(seed * 7919);
        let formula = choice.number(1 + seed as u32 % 4);
        let middle = [0, 1, 2].map(|_| (choice.below(21) as f64 - 10.0).round());
        let reach = [0, 1, 2].map(|_| choice.below(5) as f64);
        let noisy: Vec<Span> = middle.iter().zip(reach).map(|(middle, reach)| Span::around(*middle, reach)).collect();
        let row = BoxedRow { given: &GIVEN, noisy: &noisy };
        let whole = formula.enclosed(row, Order::Bends);
        let ends = bounds(&formula, row, 20);
        for turn in 0..30 {
            // Half of the points are whole numbers: equalities are true of them.
            let coordinate = |(middle, reach): (&f64, &f64)| {
                let number = middle + (2.0 * choice.fraction() - 1.0) * reach;
                if turn % 2 == 0 { number.round() } else { number }
            };
            let point: Vec<f64> = middle.iter().zip(&reach).map(coordinate).collect();
            let here = at(&formula, &point);
            assert!(!here.missing || whole.missing, "{formula:?} at {point:?}: {here:?} in {whole:?}");
            assert!(!here.undefined || whole.undefined, "{formula:?} at {point:?}: {here:?} in {whole:?}");
            if here.span.is_empty() || !here.is_number() {
                assert!(ends.is_none() || !here.missing, "{formula:?} at {point:?}: {here:?}, said {ends:?}");
                continue;
            }
            for end in [here.span.low, here.span.high] {
                assert!(close(end, whole.span), "{formula:?} at {point:?}: {here:?} in {whole:?}");
                assert!(ends.is_none_or(|ends| close(end, ends)), "{formula:?} at {point:?}: {here:?} in {ends:?}");
            }
        }
        found += usize::from(ends.is_some());
    }
    assert!(found > 1500, "{found}");
}

/// Slopes and bends against differences of values, where the formula is smooth.
#[test]
fn slopes_are_those_of_the_formula() {
    let mut compared = 0;
    for seed in 0..4000u64 {
        let mut choice = FormulaChoice(seed * 104_729);
        let formula = choice.number(1 + seed as u32 % 4);
        let point = [0, 1, 2].map(|_| choice.fraction() * 6.0 - 3.0);
        let noisy: Vec<Span> = point.iter().map(|number| Span::around(*number, 1e-3)).collect();
        let whole = formula.enclosed(BoxedRow { given: &GIVEN, noisy: &noisy }, Order::Bends);
        let Some(slopes) = whole.slopes.as_ref().filter(|_| whole.is_steady()) else { continue };
        let moved = |by: [f64; 3]| {
            let point: Vec<f64> = point.iter().zip(by).map(|(number, by)| number + by * 1e-3).collect();
            at(&formula, &point).span.middle()
        };
        let unit = |place: usize| [0, 1, 2].map(|other| if other == place { 1.0 } else { 0.0 });
        let size = whole.span.largest();
        for i in 0..3 {
            let slope = (moved(unit(i)) - moved(unit(i).map(|by| -by))) / 2e-3;
            let slack = 1e-10 * (1.0 + size) / 1e-3;
            let span = slopes.first[i];
            assert!(span.low - slack <= slope && slope <= span.high + slack, "{formula:?}, {i}: {slope} in {span:?}");
            if !whole.bent {
                let bend = (moved(unit(i)) - 2.0 * moved([0.0; 3]) + moved(unit(i).map(|by| -by))) / 1e-6;
                let (span, slack) = (slopes.bend(i, i), 1e-13 * (1.0 + size) / 1e-6 + 1e-6);
                assert!(span.low - slack <= bend && bend <= span.high + slack, "{formula:?}, {i}: {bend} in {span:?}");
            }
            compared += 1;
        }
    }
    assert!(compared > 1500, "{compared}");
}

/// What depends on a number twice is not wider for it.
#[test]
fn ends_are_found() {
    let x = || Formula::Noisy(0);
    let y = || Formula::Noisy(1);
    let check = |formula: Formula, low: f64, high: f64| {
        let noisy = [Span::new(-2.0, 3.0), Span::new(1.0, 4.0), Span::new(1.0, 4.0)];
        let found = bounds(&formula, BoxedRow { given: &GIVEN, noisy: &noisy }, 60).unwrap();
        let near = 0.03 * (high - low) + 1e-12;
        assert!((found.low - low).abs() <= near && (found.high - high).abs() <= near, "{formula:?}: {found:?}");
        assert!(found.low <= low + 1e-12 && found.high >= high - 1e-12, "{formula:?}: {found:?}");
    };
    check(x().minus(x()), 0.0, 0.0);
    check(x().times(x()), 0.0, 9.0);
    check(x().times(x().plus(Formula::Constant(1.0))), -0.25, 12.0);
    check(y().over(y().plus(Formula::Noisy(2))), 0.2, 0.8);
    check(y().over(y().times(y()).plus(Formula::Constant(1.0))), 4.0 / 17.0, 0.5);
    let absolute = |of: Formula| Formula::Elementary(ElementaryFunction::Absolute, Box::new(of));
    check(x().plus(absolute(x().minus(Formula::Constant(1.0)))), 1.0, 5.0);
    check(Formula::Greatest(vec![x(), y()]), 1.0, 4.0);
    // Divided by what may be 0, it may be anything.
    let noisy = [Span::new(-2.0, 3.0)];
    assert!(bounds(&Formula::Constant(1.0).over(x()), BoxedRow { given: &[], noisy: &noisy }, 60).is_none());
}

/// The part through which all noise comes in.
#[test]
fn cores_are_found() {
    let n = Formula::Noisy;
    let is_sum = |index: usize| index < 5;
    let core = |formula: &Formula| formula.core(&is_sum);
    let rounded = |of: Formula| Formula::Rounded {
        how: Rounding::Nearest,
        of: Box::new(of),
        digits: Box::new(Formula::Constant(0.0)),
    };
    let sum = n(0).plus(n(1).times(Formula::Constant(2.0)));
    assert_eq!(core(&sum), sum);
    assert_eq!(core(&rounded(sum.clone())), sum);
    // A quotient times a constant, with one added; also by what is NULL instead of 0.
    let share = n(0).over(Formula::Unless(Box::new(n(1)), Box::new(Formula::Constant(0.0))));
    let percent = share.clone().times(Formula::Constant(100.0)).plus(Formula::Given(0));
    assert_eq!(core(&rounded(percent.clone())), percent);
    assert_eq!(percent.fraction(&is_sum).unwrap().1, n(1));
    // One number, however often.
    assert_eq!(core(&n(0).times(n(0).plus(Formula::Constant(1.0)))), n(0));
    assert_eq!(core(&rounded(n(7))), n(7));
    // Several: the least part with all of them.
    let product = n(0).times(n(1));
    assert_eq!(core(&rounded(product.clone()).plus(Formula::Constant(1.0))), product);
    assert_eq!(rounded(product.clone()).around(&product), rounded(n(0)));
}
