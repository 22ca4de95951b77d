//! The least and the largest that a formula may be in a box, from outside: by slopes that do not change their sign, by
//! the mean value and by halving (branch and bound; Hansen and Walster 2004, chapter 12).

use super::enclosed::{BoxedRow, FormulaEnclosure, Order};
use super::{Formula, Span};

/// Everything that a formula may be in a box: a span with all of it; none where it may be nothing or anything.
///
/// # Guarantee
/// Whatever numbers of the box are put in, what comes out is in the span (up to rounding): the search makes it
/// narrower, never too narrow. `splits` bounds the effort.
pub(crate) fn bounds(formula: &Formula, row: BoxedRow<'_>, splits: usize) -> Option<Span> {
    let whole = formula.enclosed(row, Order::Slopes);
    if whole.is_number() && whole.span.is_point() {
        return Some(whole.span);
    }
    let search =
        |side: Side| EndSearch { formula, given: row.given, side, reached: f64::INFINITY }.end(row.noisy, splits);
    let (low, high) = (search(Side::Low)?, -search(Side::High)?);
    let found = Span::new(low, high);
    let found = if whole.is_number() { found.common(whole.span) } else { found };
    // The two searches round differently.
    Some(if found.is_empty() { Span::new(high.min(low), high.max(low)) } else { found })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

struct EndSearch<'a> {
    formula: &'a Formula,
    given: &'a [Option<f64>],
    side: Side,
    /// The least that has been seen.
    reached: f64,
}

/// A part of the box.
struct Piece {
    noisy: Vec<Span>,
    /// Nothing in it is below this.
    bound: f64,
    /// The number along which it is halved; none where it is one point.
    along: Option<usize>,
}

/// The bound is near enough at this part of what it is away from the first one.
const NEAR: f64 = 0.005;

impl EndSearch<'_> {
    /// The value whose least is looked for.
    fn at(&self, noisy: &[Span], order: Order) -> FormulaEnclosure {
        let found = self.formula.enclosed(BoxedRow { given: self.given, noisy }, order);
        match self.side {
            Side::Low => found,
            Side::High => FormulaEnclosure { span: found.span.negative(), ..found },
        }
    }

    /// A number that nothing in the box is below; none where there may be nothing.
    fn end(mut self, noisy: &[Span], splits: usize) -> Option<f64> {
        let first = self.piece(noisy.to_vec())?;
        let start = first.bound;
        let mut pieces = vec![first];
        for _ in 0..splits {
            let (place, least) = least(&pieces)?;
            let near = NEAR * (self.reached - start).abs();
            let (true, Some(along)) = (self.reached - least.bound > near, least.along) else { break };
            let Piece { noisy, .. } = pieces.swap_remove(place);
            let middle = noisy[along].middle();
            for half in [Span::new(noisy[along].low, middle), Span::new(middle, noisy[along].high)] {
                let mut noisy = noisy.clone();
                noisy[along] = half;
                let piece = self.piece(noisy)?;
                if piece.bound < self.reached {
                    pieces.push(piece);
                }
            }
            if pieces.is_empty() {
                return Some(self.reached);
            }
        }
        let (_, least) = least(&pieces)?;
        Some(least.bound.min(self.reached)).filter(|bound| bound.is_finite())
    }

    /// What is known of a part: none where its middle is nothing.
    fn piece(&mut self, mut noisy: Vec<Span>) -> Option<Piece> {
        let mut found = self.at(&noisy, Order::Slopes);
        // Where it only rises or only falls with a number, its least is at that number's end.
        for _ in 0..noisy.len() {
            if !found.is_steady() || !self.moved_to_ends(&mut noisy, &found) {
                break;
            }
            found = self.at(&noisy, Order::Slopes);
        }
        let middle: Vec<Span> = noisy.iter().map(|span| Span::point(span.middle())).collect();
        let there = self.at(&middle, Order::Values);
        if !there.is_number() {
            return None;
        }
        self.reached = self.reached.min(there.span.high);
        let mut bound = if found.is_number() { found.span.low } else { f64::NEG_INFINITY };
        let reach = |place: usize| noisy[place].width() / 2.0;
        let slope = |place: usize| found.slopes.as_ref().map_or(0.0, |slopes| slopes.first[place].largest());
        if found.is_steady() {
            let falls: f64 = (0..noisy.len()).map(|place| fall(slope(place), reach(place))).sum();
            bound = bound.max(there.span.low - falls);
        }
        let worth = |place: usize| if found.is_steady() { fall(slope(place), reach(place)) } else { reach(place) };
        let wide = (0..noisy.len()).filter(|place| !noisy[*place].is_point());
        let along = wide.max_by(|one, other| worth(*one).total_cmp(&worth(*other)));
        Some(Piece { noisy, bound, along })
    }

    /// Brings numbers to the ends at which the least is; whether there was one.
    fn moved_to_ends(&self, noisy: &mut [Span], found: &FormulaEnclosure) -> bool {
        let Some(slopes) = &found.slopes else { return false };
        let mut any = false;
        for (span, slope) in noisy.iter_mut().zip(&slopes.first) {
            let slope = if self.side == Side::Low { *slope } else { slope.negative() };
            let end = match (slope.low >= 0.0, slope.high <= 0.0) {
                (true, _) => span.low,
                (_, true) => span.high,
                _ => continue,
            };
            any |= !span.is_point();
            *span = Span::point(end);
        }
        any
    }
}

/// How far it falls at most along a number: nothing where that does not move.
fn fall(slope: f64, reach: f64) -> f64 {
    if reach == 0.0 { 0.0 } else { slope * reach }
}

fn least(pieces: &[Piece]) -> Option<(usize, &Piece)> {
    pieces.iter().enumerate().min_by(|(_, one), (_, other)| one.bound.total_cmp(&other.bound))
}
