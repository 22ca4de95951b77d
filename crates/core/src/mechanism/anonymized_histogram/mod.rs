//! Anonymized histograms: how often the values of a column occur, without the values.
//!
//! The sorted counts of a column, as a table of how many values have which count, answer many questions (how many
//! different values are there, how many are rare, what share have the ten most frequent, what is the entropy) and name
//! no value. Their L1 error is √n·e^{−ε} up to a constant for n elements (Manurangsi, Theorem 6), and √(n·ln(1/ε)/ε)
//! for small ε (\[Sur19\]; Theorem 7 says that nobody can do better), however many values there may be.
//!
//! **One idea.** Sorted counts are a Young diagram, and one element more or less is one cell more or less. Group the
//! cells into regions in any way fixed beforehand ([`Layout`]): the areas move by 1 in L1 norm, so discrete Laplace
//! noise of scale 1/ε on every area is ε-private. Everything after that is post-processing: exact integer projections
//! ([`ProjectionMethod`]), a simultaneous band ([`ReleasedHistogram::band`]), [`Statistics`].
//!
//! ```
//! use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, Partition, ElementCount};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::quantity::Epsilon;
//! use scumble::{Scope, Target};
//! let target = Target::pure(Epsilon::new(2.0)?);
//! let mechanism = AnonymizedHistogram::within(target, Scope::Presence, ElementCount::Private)?;
//! let counts = Partition::from_counts((1..=100).map(|rank| 5000 / rank))?;
//! let released = mechanism.release(&counts, &mut InsecureSeededSource::new(1))?;
//! assert!(released.partition.distance(&counts) < counts.elements() / 20);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! Where few values are listed, their noisy counts are sorted instead ([`ListedCounts`]): as many noises as there are
//! values, not as √n.
//!
//! **Where we differ from the paper** and why: the projections ignore the constraint that the counts sum to at most n
//! (only the feasibility of the truth is used in the proof) and fix a rule for ties; an unknown n costs a twentieth of
//! ε instead of a whole 1 (the paper's split multiplies the error by e·√2), and nothing is cut off afterwards to make
//! the counts sum to the estimate (Algorithm 2, line 6): that would undo the right counts as often as the wrong ones,
//! and the error bound does not need it; small ε uses strips whose *sums* are released (prevalences at single points,
//! as Section 2.1 suggests, would multiply the noise by the strips' widths), of rows as well as of columns, and columns
//! are interpolated inside of them.

mod curve;
mod error;
mod family;
mod layout;
mod listed;
mod partition;
mod profile;
mod projection;
mod reconstruct;
mod statistics;
#[cfg(test)]
mod tests;

pub use curve::CurvePoint;
pub use family::HistogramFamily;
pub use layout::{Areas, Layout, LayoutChoice, Phase};
pub use listed::{CellKind, ListedCounts, NoisyCells};
pub use partition::{MOST_ELEMENTS, Partition, Run};
pub use reconstruct::{BandPoint, ProjectionMethod, reconstruct};
pub use statistics::{Statistics, symmetric, top_share};

use crate::calibrate::{ShiftNorms, Target, epsilon_for_pure, scale_for_pure};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::mechanism::smooth::OwnerSteps;
use crate::noise::{BitSource, DiscreteLaplace};
use crate::quantity::{Beta, Epsilon, Scale};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;
use std::num::NonZeroU64;

/// Of an unknown size's estimate: how likely it is, twice, that the layout is made for fewer elements than there are.
const TOO_SMALL: f64 = 1e-3;
/// A layout of more regions than this is refused; only the naive ones can be so large.
const MOST_REGIONS: u64 = 1 << 27;
/// The smallest and largest ε per element: the noise's scale must be one that can be drawn.
const EPSILON_PER_ELEMENT: std::ops::RangeInclusive<f64> = 1e-9..=1e6;

/// What is known about the number of elements.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementCount {
    /// At most this many, as everybody may know: a number that was not computed from the data.
    AtMost(u64),
    /// Nothing: a twentieth of ε (at most 0.1) is spent on an estimate.
    Private,
}

/// The mechanism with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct AnonymizedHistogram {
    size: ElementCount,
    layout: LayoutChoice,
    elements_per_owner: NonZeroU64,
    epsilon: Epsilon,
    /// What is spent on the number of elements, if it is private, for one element.
    size_epsilon: Option<Epsilon>,
    /// What is spent on the areas, for one element.
    cell_epsilon: Epsilon,
}

/// What was released: the noisy numbers, and what they stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedHistogram {
    /// The noisy number of elements, if it was private.
    pub size_estimate: Option<i64>,
    /// How many elements the layout was made for.
    pub laid_out_for: u64,
    /// The layout.
    pub layout: Layout,
    /// The noisy areas: publish them too if somebody may want another estimator.
    pub noisy: Areas,
    /// The anonymized histogram.
    pub partition: Partition,
    scale: Scale,
}

impl AnonymizedHistogram {
    /// From an ε in `scope`, for owners of one element each, with the layout that suits.
    ///
    /// # Guarantee
    /// [`AnonymizedHistogram::events`] cost at most `target` in `scope`, if the elements were made from what it is
    /// about.
    pub fn within(target: Target, scope: impl Borrow<Scope>, size: ElementCount) -> Result<Self> {
        let scope = scope.borrow();
        // A replaced owner takes elements away and puts as many back.
        let of_presence = OwnerSteps::two().read_by(scope).target_of_one(target, scope)?;
        let epsilon = of_presence.without_delta("an anonymized histogram")?;
        if matches!(size, ElementCount::AtMost(elements) if elements > MOST_ELEMENTS) {
            refuse!("the largest number of elements must be at most 2^40");
        }
        Self::assembled(epsilon, size, LayoutChoice::Automatic, NonZeroU64::MIN)
    }

    /// The same with another layout.
    pub fn with_layout(self, layout: LayoutChoice) -> Self {
        Self { layout, ..self }
    }

    /// The same where an owner has up to this many elements, which costs as many times as much: each element gets ε
    /// divided by this.
    ///
    /// An edge of a graph is an owner of two elements, its ends; the counts are then the degrees.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount};
    /// use scumble::quantity::Epsilon;
    /// use scumble::{Scope, Target};
    /// let target = Target::pure(Epsilon::new(1.0)?);
    /// let one = AnonymizedHistogram::within(target, Scope::Presence, ElementCount::AtMost(2000))?;
    /// assert_eq!(one.with_elements_per_owner(2)?.epsilon_per_element().get(), 0.5);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn with_elements_per_owner(self, most: u64) -> Result<Self> {
        let most = NonZeroU64::new(most).filter(|most| most.get() <= 1 << 32);
        let most = most.ok_or_else(|| Error::refused("the elements per owner must be a whole number in [1, 2^32]"))?;
        Self::assembled(self.epsilon, self.size, self.layout, most)
    }

    fn assembled(
        epsilon: Epsilon,
        size: ElementCount,
        layout: LayoutChoice,
        elements_per_owner: NonZeroU64,
    ) -> Result<Self> {
        let about = epsilon.get() / elements_per_owner.get() as f64;
        if !EPSILON_PER_ELEMENT.contains(&about) {
            let sentence = "epsilon, divided by the elements per owner, must be a number in [1e-9, 1e6] for an anonymized histogram";
            refuse!("{sentence}, not {about}");
        }
        let each = epsilon_for_pure(epsilon, ShiftNorms::units(elements_per_owner.get()))?.get();
        let size_epsilon = match size {
            ElementCount::AtMost(_) => None,
            // Spec B4.1: enough to know n to within its own noise, little enough to cost the histogram next to nothing.
            ElementCount::Private => Some(Epsilon::new((each / 20.0).min(0.1))?),
        };
        let cell_epsilon = match size_epsilon {
            None => each,
            Some(spent) => (each - spent.get()).next_down(),
        };
        let cell_epsilon = Epsilon::new(cell_epsilon)?;
        Ok(Self { size, layout, elements_per_owner, epsilon, size_epsilon, cell_epsilon })
    }

    /// What an owner's presence costs.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The most elements that one owner may have.
    pub fn elements_per_owner(&self) -> u64 {
        self.elements_per_owner.get()
    }

    /// What one element's presence costs in the areas: the noise on each has scale 1/ε of this.
    pub fn epsilon_per_element(&self) -> Epsilon {
        self.cell_epsilon
    }

    /// What one element's presence costs in the estimate of the size, if that is private.
    pub fn epsilon_for_size(&self) -> Option<Epsilon> {
        self.size_epsilon
    }

    /// What is known about the number of elements.
    pub fn size(&self) -> ElementCount {
        self.size
    }

    /// Releases the anonymized histogram.
    ///
    /// # Guarantee
    /// Before: the size, if given, does not depend on the data; no owner has more than the stated number of elements.
    /// After: the noisy estimate of the size and the noisy areas, together, are ε-private for the presence of an owner,
    /// and the rest is a function of them. Neighbours: one owner, with up to that many elements, more or less. Spec B0
    /// and B4; Theorem 6 and Lemma 9.
    pub fn release<S: BitSource + ?Sized>(&self, partition: &Partition, bits: &mut S) -> Result<ReleasedHistogram> {
        let (size_estimate, laid_out_for) = self.size_to_lay_out(partition, bits)?;
        let phase = if self.layout.has_phases(self.cell_epsilon) { Phase::draw(bits) } else { Phase::default() };
        let layout = self.layout_in(phase, laid_out_for)?;
        let scale = scale_of(self.cell_epsilon)?;
        let noise = DiscreteLaplace::new(scale);
        let mut noisy = layout.areas(partition);
        for area in noisy.rows.iter_mut().chain(&mut noisy.strips) {
            *area = noise.add_to(*area, bits);
        }
        let projection = ProjectionMethod::suited_to(self.cell_epsilon, &layout);
        let partition = reconstruct(&layout, &noisy, projection);
        Ok(ReleasedHistogram { size_estimate, laid_out_for, layout, noisy, partition, scale })
    }

    fn size_to_lay_out<S: BitSource + ?Sized>(&self, data: &Partition, bits: &mut S) -> Result<(Option<i64>, u64)> {
        match (self.size, self.size_epsilon) {
            (ElementCount::Private, Some(epsilon)) => {
                let estimate = DiscreteLaplace::new(scale_of(epsilon)?).add_to(data.elements() as i64, bits);
                let raised = estimate.saturating_add(slack(epsilon) as i64).max(1).unsigned_abs();
                Ok((Some(estimate), raised.min(2 * MOST_ELEMENTS)))
            }
            (ElementCount::AtMost(elements), _) => Ok((None, elements)),
            (ElementCount::Private, None) => Err(Error::refused("a private size needs a share of epsilon")),
        }
    }

    fn layout_in(&self, phase: Phase, elements: u64) -> Result<Layout> {
        let naive = matches!(self.layout, LayoutChoice::RowsOnly | LayoutChoice::ColumnsOnly);
        if naive && elements > MOST_REGIONS {
            let name = self.layout.name();
            refuse!("the layout {name} would release {elements} numbers, more than 2^27: use the layout automatic");
        }
        Ok(Layout::in_phase(self.layout, self.cell_epsilon, elements, phase))
    }

    /// What was done, for the ledger. `attributes` are those that the counted elements were made from.
    ///
    /// With one element per owner, a person who is replaced takes one cell away and puts one back: two areas move by 1.
    /// With more, nothing is known about how they spread over the areas except their sum, so the event promises the
    /// pure bound only.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, ElementCount};
    /// use scumble::quantity::Epsilon;
    /// use scumble::{Scope, Target};
    /// use scumble::scope::AttributeSet;
    /// let target = Target::pure(Epsilon::new(1.0)?);
    /// let mechanism = AnonymizedHistogram::within(target, Scope::Presence, ElementCount::Private)?;
    /// let events = mechanism.events(&AttributeSet::new(["password"])?)?;
    /// assert_eq!(events.len(), 2);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let most = self.elements_per_owner.get() as f64;
        let by_scope = |presence: Shift, person: Shift| {
            let touch = Touch { attributes: attributes.clone(), shifts: vec![person] };
            // Elements that no attribute decides about, such as the rows of an owner, move with owners alone.
            let touches = if attributes.is_empty() { Vec::new() } else { vec![touch] };
            Moves::by_scope(vec![presence], vec![person], touches)
        };
        let mut events = Vec::new();
        if let Some(epsilon) = self.size_epsilon {
            let shift = Shift::one_cell(most)?;
            events.push(Event::new(Word::DiscreteLaplace { scale: scale_of(epsilon)? }, by_scope(shift, shift)));
        }
        if self.elements_per_owner == NonZeroU64::MIN {
            let moves = by_scope(Shift::one_cell(1.0)?, Shift::new(2, 1.0)?);
            events.push(Event::new(Word::DiscreteLaplace { scale: scale_of(self.cell_epsilon)? }, moves));
        } else {
            let moves = by_scope(Shift::one_cell(most)?, Shift::one_cell(2.0 * most)?);
            events.push(Event::new(Word::Pure { epsilon: self.cell_epsilon }, moves));
        }
        Ok(events)
    }
}

impl ReleasedHistogram {
    /// For every count at once, what the number of values with at least that count lies between, with probability
    /// 1 − β, if the layout was made for at least as many elements as there are.
    pub fn band(&self, beta: Beta) -> Vec<BandPoint> {
        let regions = self.layout.regions() as u64;
        if regions == 0 {
            // Nothing was looked at: there may be as many values as there may be elements.
            return vec![BandPoint { count: 1, lower: 0, upper: self.laid_out_for }];
        }
        reconstruct::band(&self.layout, &self.noisy, error::largest_noise(regions, self.scale, beta))
    }

    /// The scale of the noise on each area.
    pub fn scale(&self) -> Scale {
        self.scale
    }
}

/// The smallest scale whose noise is ε-private for a move of 1.
fn scale_of(epsilon: Epsilon) -> Result<Scale> {
    scale_for_pure(epsilon, ShiftNorms::units(1))
}

/// τ of spec B4.1: added to the estimate of n, so that the layout is too small with probability 1e-3 / 2 at most.
fn slack(epsilon: Epsilon) -> u64 {
    libm::ceil(-libm::log(TOO_SMALL) / epsilon.get()) as u64
}
