//! How far neighbours can move what is noised, in each scope.

use crate::error::{Error, Result};
use crate::quantity::Sensitivity;
use crate::scope::{AttributeSet, Scope};

/// One way in which neighbours differ: this many cells, each by at most so much, independent noise in each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// How many cells move.
    pub cells: u64,
    /// By how much each moves at most.
    pub by: Sensitivity,
}

impl Shift {
    /// One cell, by 1.
    pub const ONE: Self = Self { cells: 1, by: Sensitivity::ONE };

    /// `cells` cells, each by at most `by`.
    ///
    /// ```
    /// assert!(scumble::event::Shift::new(3, f64::NAN).is_err());
    /// ```
    pub fn new(cells: u64, by: f64) -> Result<Self> {
        Ok(Self { cells, by: Sensitivity::new(by)? })
    }

    /// One cell that moves by at most `by`.
    ///
    /// ```
    /// assert_eq!(scumble::event::Shift::one_cell(1.0).unwrap().cells, 1);
    /// ```
    pub fn one_cell(by: f64) -> Result<Self> {
        Self::new(1, by)
    }

    /// Whether the other moves no more cells, and none further.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.cells >= other.cells && self.by >= other.by
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.cells == 0 || self.by.get() == 0.0
    }
}

/// How far the noised numbers can move in each scope: alternatives. A pair of neighbours takes one of them or a mixture
/// (shares of several that add up to at most one). No alternative means: not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Moves {
    presence: Vec<Shift>,
    person: Vec<Shift>,
    touches: Vec<Touch>,
    same_everywhere: bool,
    adds_up: bool,
}

/// What happens when one owner's values of some attributes change: if any of `attributes` is among them, `shifts` can
/// happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// The attributes that have this effect.
    pub attributes: AttributeSet,
    /// The ways in which the cells can then move.
    pub shifts: Vec<Shift>,
}

impl Moves {
    /// The same move in every scope: the caller has fixed what neighbours are (as `scumble lab account` does).
    ///
    /// ```
    /// use scumble::event::{Moves, Shift};
    /// use scumble::scope::Scope;
    /// let moves = Moves::everywhere(Shift::one_cell(2.0)?);
    /// assert_eq!(moves.shifts(&Scope::Person), moves.shifts(&Scope::Presence));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn everywhere(shift: Shift) -> Self {
        Self { presence: vec![shift], person: vec![shift], touches: Vec::new(), same_everywhere: true, adds_up: false }
    }

    /// Moves by scope. The replacement of an owner may have no rows in this table, and other values of any attribute:
    /// so `person` is what is given and whatever `presence` and `touches` list beyond that.
    ///
    /// What no touch names moves nothing. A mechanism does not know which attributes its numbers were made of, so the
    /// [`events`](crate::mechanism::additive::Additive::events) of mechanisms that were given no touches cost nothing
    /// in the scope of any attribute: there, give them moves with the touches of your data.
    ///
    /// ```
    /// use scumble::event::{Moves, Shift, Touch};
    /// use scumble::scope::{AttributeSet, Scope};
    /// let one = Shift::one_cell(1.0)?;
    /// let two = Shift::new(2, 1.0)?;
    /// let age = AttributeSet::new(["age"])?;
    /// let moves = Moves::by_scope(vec![one], vec![two], vec![Touch { attributes: age.clone(), shifts: vec![two] }]);
    /// assert_eq!(moves.shifts(&Scope::Attributes(age)), vec![two]);
    /// assert!(moves.shifts(&Scope::Attributes(AttributeSet::new(["disease"])?)).is_empty());
    /// // A person never moves less than its presence.
    /// assert_eq!(Moves::by_scope(vec![two], vec![one], vec![]).shifts(&Scope::Person), vec![one, two]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn by_scope(presence: Vec<Shift>, mut person: Vec<Shift>, touches: Vec<Touch>) -> Self {
        for shift in presence.iter().chain(touches.iter().flat_map(|touch| &touch.shifts)) {
            if !shift.is_nothing() && !person.iter().any(|own| own.covers(shift)) {
                person.push(*shift);
            }
        }
        Self { presence, person, touches, same_everywhere: false, adds_up: false }
    }

    /// Moves as somebody has written them, for readers of ledgers: nothing is added, and [`Moves::check`] says whether
    /// they agree.
    ///
    /// ```
    /// use scumble::event::{Moves, Shift};
    /// let (one, two) = (vec![Shift::one_cell(1.0)?], vec![Shift::new(2, 1.0)?]);
    /// assert!(Moves::as_written(one.clone(), two.clone(), vec![]).check().is_ok());
    /// assert!(Moves::as_written(one.clone(), vec![], vec![]).check().is_ok());
    /// assert!(Moves::as_written(two, one, vec![]).check().is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn as_written(presence: Vec<Shift>, person: Vec<Shift>, touches: Vec<Touch>) -> Self {
        Self { presence, person, touches, same_everywhere: false, adds_up: false }
    }

    /// The same, where the attributes move one and the same cell: a change of several of them moves it by the sum of
    /// what each can, and never further than `person`. (Without this, what several attributes do are alternatives, and
    /// cells that each attribute has for itself are events of their own.) Refused unless every touch has one shift, of
    /// one cell.
    ///
    /// ```
    /// use scumble::event::{Moves, Shift, Touch};
    /// use scumble::scope::{AttributeSet, Scope};
    /// let by = |by: f64| Shift::one_cell(by).map(|shift| vec![shift]);
    /// let touch = |name: &str| Ok::<_, scumble::Error>(Touch { attributes: AttributeSet::new([name])?, shifts: by(1.0)? });
    /// let moves = Moves::by_scope(by(2.0)?, by(2.5)?, vec![touch("a")?, touch("b")?, touch("c")?]).adding_up()?;
    /// let of = |names: &[&str]| Ok::<_, scumble::Error>(moves.shifts(&Scope::Attributes(AttributeSet::new(names.iter().copied())?)));
    /// assert_eq!((of(&["a"])?, of(&["a", "b"])?), (by(1.0)?, by(2.0)?));
    /// assert_eq!(of(&["a", "b", "c", "d"])?, by(2.5)?);
    /// assert!(Moves::by_scope(vec![], by(1.0)?, vec![Touch { attributes: AttributeSet::new(["a"])?, shifts: vec![] }]).adding_up().is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn adding_up(self) -> Result<Self> {
        let is_one = |touch: &Touch| matches!(touch.shifts[..], [Shift { cells: 1, .. }]);
        if self.same_everywhere || self.person.is_empty() || !self.touches.iter().all(is_one) {
            refuse!("moves add up where person is given and each touch has one shift, of one cell");
        }
        Ok(Self { adds_up: true, ..self })
    }

    /// Whether what several attributes move adds up ([`Moves::adding_up`]).
    pub fn adds_up(&self) -> bool {
        self.adds_up
    }

    /// Refuses moves that do not agree: `person` covers the rest, or only one of the three is there, and other events
    /// of the release say what the mechanism costs in the other scopes ([`super::charged_by_scope`]).
    pub fn check(&self) -> Result<()> {
        let empty = [self.presence.is_empty(), self.person.is_empty(), self.touches.is_empty()];
        let is_alone = empty.iter().filter(|empty| !**empty).count() <= 1;
        let covering = || Self {
            adds_up: self.adds_up,
            ..Self::by_scope(self.presence.clone(), self.person.clone(), self.touches.clone())
        };
        if self.same_everywhere || is_alone || covering() == *self {
            return Ok(());
        }
        Err(Error::refused("person must cover what presence and touches list: the new owner may have no rows"))
    }

    /// Whether presence moves something here that a person does not: then other events say what a person costs.
    pub(crate) fn leaves_presence_to_others(&self) -> bool {
        let is_left = |shift: &Shift| !shift.is_nothing() && !self.person.iter().any(|own| own.covers(shift));
        !self.same_everywhere && self.presence.iter().any(is_left)
    }

    /// The same with other shifts. `change` must not make a shift that covers another cover it no longer.
    pub(crate) fn map(&self, change: impl Fn(&Shift) -> Result<Shift>) -> Result<Self> {
        let all = |shifts: &[Shift]| shifts.iter().map(&change).collect::<Result<Vec<_>>>();
        let touch = |touch: &Touch| Ok(Touch { attributes: touch.attributes.clone(), shifts: all(&touch.shifts)? });
        Ok(Self {
            presence: all(&self.presence)?,
            person: all(&self.person)?,
            touches: self.touches.iter().map(touch).collect::<Result<_>>()?,
            same_everywhere: self.same_everywhere,
            adds_up: self.adds_up,
        })
    }

    /// The alternatives in the scope of one owner (for a group, those of its members).
    ///
    /// # Guarantee
    /// A scope whose neighbours cannot change the noised values gets no alternative; the set is monotone in the
    /// attributes.
    pub fn shifts(&self, scope: &Scope) -> Vec<Shift> {
        let all: Vec<Shift> = match scope.members().0 {
            _ if self.same_everywhere => self.presence.clone(),
            Scope::Presence => self.presence.clone(),
            Scope::Person => self.person.clone(),
            Scope::Attributes(set) => self.touched(set),
            Scope::Group(..) => unreachable!("members() has opened the group"),
        };
        all.into_iter().filter(|shift| !shift.is_nothing()).collect()
    }

    fn touched(&self, set: &AttributeSet) -> Vec<Shift> {
        let touched = self.touches.iter().filter(|touch| touch.attributes.touches(set));
        let all: Vec<Shift> = touched.flat_map(|touch| touch.shifts.clone()).collect();
        if self.adds_up && all.len() > 1 { vec![self.added_up(&all)] } else { all }
    }

    /// One cell that moves by the sum, rounded up, or as far as for a person if that is less.
    fn added_up(&self, all: &[Shift]) -> Shift {
        // Never below the sum: up by one where it was rounded (exactly known: Knuth's two-sum).
        let add = |sum: f64, by: f64| {
            let rounded = sum + by;
            let part = rounded - sum;
            let lost = (sum - (rounded - part)) + (by - part);
            if lost == 0.0 { rounded } else { rounded.next_up() }
        };
        let sum = all.iter().map(|shift| shift.by.get()).fold(0.0, add);
        let furthest = self.person.iter().map(|shift| shift.by).max_by(|one, other| one.get().total_cmp(&other.get()));
        // A sum beyond all numbers is more than any person moves.
        let by = match (Sensitivity::new(sum), furthest) {
            (Ok(sum), Some(furthest)) if sum >= furthest => furthest,
            (Ok(sum), _) => sum,
            (Err(_), furthest) => furthest.unwrap_or(all[0].by),
        };
        Shift { cells: 1, by }
    }

    /// The parts, for the wire form: presence, person, touches, and whether the move is the same everywhere.
    pub fn parts(&self) -> (&[Shift], &[Shift], &[Touch], bool) {
        (&self.presence, &self.person, &self.touches, self.same_everywhere)
    }
}
