//! What was done, in a fixed vocabulary: the noise that was drawn, and how far each scope can move what was noised.
//!
//! Events are the stable words of the ledger: never redefined once released, only added to. An event holds parameters, not
//! losses; [`crate::loss`] computes what it costs, for any scope, at any later time.
//!
//! ```
//! use scumble::event::{Event, Kind, Moves, Shift};
//! use scumble::quantity::Sigma;
//! let event = Event::new(Kind::DiscreteGaussian { sigma: Sigma::new(10.0)? }, Moves::everywhere(Shift::one_cell(1.0)?));
//! assert_eq!(event.kind.name(), "discrete-gaussian");
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Omega, Rate, Rho, Scale, Sensitivity, Sigma};
use crate::scope::{AttributeSet, Scope};
use std::num::NonZeroU64;

/// Something that was done to the data, perhaps several times, perhaps on a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The noise or the mechanism.
    pub kind: Kind,
    /// How far what is noised can move, in each scope.
    pub moves: Moves,
    /// How many independent times, with the same parameters, fixed beforehand.
    pub times: NonZeroU64,
    /// The sample it was done on, if not on everybody.
    pub sampling: Option<Sampling>,
}

/// The vocabulary. `docs/events.md` gives each word's name, parameters, meaning and the version that introduced it.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Continuous Gaussian noise of standard deviation σ.
    Gaussian {
        /// The standard deviation.
        sigma: Sigma,
    },
    /// Discrete Gaussian noise: P\[z\] ∝ e^{−z²/2σ²} on the integers.
    DiscreteGaussian {
        /// The parameter σ.
        sigma: Sigma,
    },
    /// Continuous Laplace noise.
    Laplace {
        /// The scale b: density ∝ e^{−|z|/b}.
        scale: Scale,
    },
    /// Discrete Laplace noise: P\[z\] ∝ e^{−|z|/scale} on the integers.
    DiscreteLaplace {
        /// The scale.
        scale: Scale,
    },
    /// Sinh-normal noise on the integers: A·arsinh((σ/A)·N(0,1)) as an integer-weight table.
    SinhNormal {
        /// The parameter σ.
        sigma: Sigma,
        /// The parameter A, in units of the grid.
        a: Scale,
    },
    /// Randomized response among `values` answers: the truth with probability e^ε/(e^ε+k−1).
    RandomizedResponse {
        /// The privacy of one response.
        epsilon: Epsilon,
        /// How many answers there are (at least 2).
        values: u64,
    },
    /// An exponential mechanism whose privacy loss has range at most ε.
    Exponential {
        /// The range of the privacy loss.
        epsilon: Epsilon,
    },
    /// Anything that is ε-private.
    Pure {
        /// The bound.
        epsilon: Epsilon,
    },
    /// Anything that is (ε, δ)-private.
    Approximate {
        /// The bound ε.
        epsilon: Epsilon,
        /// The mass δ.
        delta: Delta,
    },
    /// Anything that is ρ-zCDP.
    Zcdp {
        /// The slope.
        rho: Rho,
    },
    /// Anything that is (ρ, ω)-tCDP.
    Tcdp {
        /// The slope.
        rho: Rho,
        /// The largest order.
        omega: Omega,
    },
    /// One attribute's path through a tree of heavy hitters: discrete Laplace noise, lists and the root's counts released.
    ///
    /// Events of several attributes of one tree may be added up (pure ε and ρ), not convolved.
    HeavyHitters {
        /// The noise scale λ of every node on the path.
        scale: Scale,
        /// The clip depth κ.
        clip: u32,
        /// By how much each threshold is at least above the one below.
        rise: u32,
        /// How many nodes the path has.
        levels: u32,
    },
    /// A dominating pair of finite distributions over the same outcomes.
    Pair {
        /// The output distribution on one dataset.
        p: Vec<f64>,
        /// The output distribution on its neighbour.
        q: Vec<f64>,
    },
}

impl Kind {
    /// The word in files and flags.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::DiscreteGaussian { .. } => "discrete-gaussian",
            Self::Laplace { .. } => "laplace",
            Self::DiscreteLaplace { .. } => "discrete-laplace",
            Self::SinhNormal { .. } => "sinh-normal",
            Self::RandomizedResponse { .. } => "randomized-response",
            Self::Exponential { .. } => "exponential",
            Self::Pure { .. } => "pure",
            Self::Approximate { .. } => "approximate",
            Self::Zcdp { .. } => "zcdp",
            Self::Tcdp { .. } => "tcdp",
            Self::HeavyHitters { .. } => "heavy-hitters",
            Self::Pair { .. } => "pair",
        }
    }

    /// Whether noise is added to a number, so that a move has a size; otherwise a move of `by` counts as `by` owners.
    pub fn is_additive(&self) -> bool {
        matches!(
            self,
            Self::Gaussian { .. }
                | Self::DiscreteGaussian { .. }
                | Self::Laplace { .. }
                | Self::DiscreteLaplace { .. }
                | Self::SinhNormal { .. }
        )
    }
}

/// The random sample of owners that a mechanism saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Each owner independently with this probability.
    Poisson(Rate),
    /// A uniformly random subset of this fraction of the owners.
    WithoutReplacement(Rate),
}

/// One way in which neighbours differ: so many cells, each by at most so much, independent noise in each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// How many cells move.
    pub cells: u64,
    /// By how much each moves at most.
    pub by: Sensitivity,
}

impl Shift {
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

    fn is_nothing(&self) -> bool {
        self.cells == 0 || self.by.get() == 0.0
    }
}

/// How far what is noised can move in each scope: alternatives, of which the worst counts. No alternative means: not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Moves {
    presence: Vec<Shift>,
    person: Vec<Shift>,
    touches: Vec<Touch>,
    same_everywhere: bool,
}

/// What happens when one owner's values of some attributes change: if any of `attributes` is among them, `shifts` can happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// The attributes that have this effect.
    pub attributes: AttributeSet,
    /// The ways in which the cells can then move.
    pub shifts: Vec<Shift>,
}

impl Moves {
    /// The same move in every scope: the caller has fixed what neighbours are (as `scumble account` does).
    ///
    /// ```
    /// use scumble::event::{Moves, Shift};
    /// use scumble::scope::Scope;
    /// let moves = Moves::everywhere(Shift::one_cell(2.0)?);
    /// assert_eq!(moves.shifts(&Scope::Person), moves.shifts(&Scope::Presence));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn everywhere(shift: Shift) -> Self {
        Self { presence: vec![shift], person: vec![shift], touches: Vec::new(), same_everywhere: true }
    }

    /// Moves by scope. `person` must cover everything that `presence` and `touches` list, here or in other events of the same release: who
    /// replaces an owner may have no rows in this table.
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
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn by_scope(presence: Vec<Shift>, person: Vec<Shift>, touches: Vec<Touch>) -> Self {
        Self { presence, person, touches, same_everywhere: false }
    }

    /// The alternatives in the scope of one owner (for a group, those of its members).
    ///
    /// # Guarantee
    /// A scope whose neighbours cannot change the noised values gets no alternative; the set is monotone in the attributes.
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
        self.touches
            .iter()
            .filter(|touch| touch.attributes.touches(set))
            .flat_map(|touch| touch.shifts.clone())
            .collect()
    }

    /// The parts, for the wire form: presence, person, touches, and whether the move is the same everywhere.
    pub fn parts(&self) -> (&[Shift], &[Shift], &[Touch], bool) {
        (&self.presence, &self.person, &self.touches, self.same_everywhere)
    }
}

impl Event {
    /// Something done once, on everybody.
    pub fn new(kind: Kind, moves: Moves) -> Self {
        Self { kind, moves, times: NonZeroU64::MIN, sampling: None }
    }

    /// The same, `times` times.
    ///
    /// ```
    /// use scumble::event::{Event, Kind, Moves, Shift};
    /// use scumble::quantity::Epsilon;
    /// let event = Event::new(Kind::Pure { epsilon: Epsilon::new(0.1)? }, Moves::everywhere(Shift::one_cell(1.0)?));
    /// assert_eq!(event.clone().repeated(100)?.times.get(), 100);
    /// assert!(event.repeated(0).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn repeated(self, times: u64) -> Result<Self> {
        let times = NonZeroU64::new(times).ok_or_else(|| Error::refused("times must be at least 1, not 0"))?;
        Ok(Self { times, ..self })
    }

    /// The same, on a sample.
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling: Some(sampling), ..self }
    }
}
