//! What an optimal mechanism could have done: a release's expected error beside what nobody can promise at the same privacy.

use super::noise::Noise;
use crate::budget::{Spent, rounded_up};
use crate::error::Result;
use crate::sql::query::{Computation, What};
use crate::sql::{Cut, above};
use scumble::event::Event;
use scumble::limits::{count, packing, tcdp};
use scumble::quantity::{Delta, Epsilon, Exact, Omega, Probability, Rho};
use scumble::scope::Scope;
use serde_json::{Value, json};
use std::borrow::Cow;

/// zCDP is tCDP of every order: a large one gives the limit of zCDP itself for up to this many owners.
const LARGE_ORDER: f64 = 1e4;

/// An expected error and the least that anybody could promise.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// The column.
    pub column: String,
    /// Which error.
    pub error: Cow<'static, str>,
    /// This release's.
    pub expected: f64,
    /// No mechanism with the same guarantee can promise less for every table.
    pub least: f64,
    /// The guarantee that was compared at, and what is known about the bound.
    pub about: String,
}

impl Floor {
    /// How many times the least possible error the expected one is; none where the bound says nothing.
    pub fn factor(&self) -> Option<f64> {
        (self.least > 0.0 && self.expected.is_finite()).then(|| self.expected / self.least)
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "column": self.column, "error": self.error, "expected": self.expected, "least_possible": self.least,
            "factor": self.factor(), "about": self.about,
        })
    }

    /// What [`Floor::json`] wrote.
    pub(super) fn from_json(shown: &Value) -> Option<Self> {
        let text = |key: &str| shown[key].as_str().map(str::to_string);
        let number = |key: &str| Some(shown[key].as_f64().unwrap_or(f64::INFINITY));
        Some(Self {
            column: text("column")?,
            error: text("error")?.into(),
            expected: number("expected")?,
            least: number("least_possible")?,
            about: text("about")?,
        })
    }
}

/// The privacy of a whole release in one scope, in the notion of its noise.
enum Privacy {
    Pure { epsilon: Epsilon, delta: Delta },
    Concentrated(Rho),
}

impl Privacy {
    /// None where the noise is mixed, or a δ comes with Gaussian noise: no limit is known to us there.
    fn of(events: &[Event], noises: &[Noise], scope: &Scope) -> Result<Option<Self>> {
        let spent = Spent::of(events, scope)?;
        if noises.iter().all(|noise| matches!(noise, Noise::Laplace(..))) {
            let Some(epsilon) = spent.pure_sum() else { return Ok(None) };
            let delta = Delta::new(spent.delta().to_f64_up().min(1.0))?;
            return Ok(Some(Self::Pure { epsilon: Epsilon::new(epsilon.to_f64_up())?, delta }));
        }
        let gaussian = noises.iter().all(|noise| matches!(noise, Noise::Gaussian(..)));
        match spent.rho(&Exact::zero()) {
            Some(rho) if gaussian => Ok(Some(Self::Concentrated(Rho::new(rho.to_f64_up())?))),
            _ => Ok(None),
        }
    }

    fn standard_error_lower(&self) -> f64 {
        match self {
            Self::Pure { epsilon, delta } => count::standard_error_lower(*epsilon, *delta),
            Self::Concentrated(rho) => count::concentrated_standard_error_lower(*rho),
        }
    }

    fn histogram_error_lower(&self, cells: u64) -> Result<Option<f64>> {
        Ok(match self {
            Self::Pure { epsilon, delta } if delta.get() == 0.0 => Some(count::histogram_error_lower(*epsilon, cells)?),
            Self::Pure { .. } => None,
            Self::Concentrated(rho) => Some(tcdp::histogram_error_lower(*rho, Omega::new(LARGE_ORDER)?, cells as f64)?),
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Pure { epsilon, delta } if delta.get() == 0.0 => format!("epsilon {}", rounded_up(epsilon.get())),
            Self::Pure { epsilon, delta } => {
                format!("epsilon {}, delta {}, whole numbers", rounded_up(epsilon.get()), rounded_up(delta.get()))
            }
            Self::Concentrated(rho) => format!("rho {}", rounded_up(rho.get())),
        }
    }
}

/// The limit of counts below each of many thresholds: tables in which m owners have one value, whichever it is, are all near the empty one and must be answered differently, so that
/// nobody is within (m* − 1)/2 owners with probability 95% (packing: Vadhan 2017, 7.5.13, corrected). `expected` is this release's own error with that probability.
pub(super) fn of_thresholds(
    events: &[Event],
    noise: &Noise,
    points: u64,
    rows: u64,
    expected: f64,
) -> Result<Vec<Floor>> {
    let presence = Privacy::of(events, std::slice::from_ref(noise), &Scope::Presence)?;
    let Some(Privacy::Pure { epsilon, delta }) = &presence else { return Ok(Vec::new()) };
    let Some(changes) = packing::least_changes(*epsilon, *delta, points as f64, Probability::new(0.95)?)? else {
        return Ok(Vec::new());
    };
    Ok(vec![Floor {
        column: "count".to_string(),
        error: "largest error of all counts, with probability 95%".into(),
        expected,
        least: changes.saturating_sub(1) as f64 / 2.0 * rows as f64,
        about: format!("presence, {}, by packing", presence.as_ref().map(Privacy::words).unwrap_or_default()),
    }])
}

/// The limits of a query's counts and sums.
pub(super) fn of_query(cut: &Cut, noises: &[Noise], events: &[Event]) -> Result<Vec<Floor>> {
    let mut limits = Vec::new();
    let (Some(presence), Some(person)) =
        (Privacy::of(events, noises, &Scope::Presence)?, Privacy::of(events, noises, &Scope::Person)?)
    else {
        return Ok(limits);
    };
    let query = &cut.query;
    for output in above::outputs(&cut.plan, &cut.aggregate)? {
        let (measure, step) = match output.direct.and_then(|aggregate| query.aggregates.get(aggregate)) {
            Some(Computation::Count(measure)) => (*measure, 1.0),
            Some(Computation::Sum { steps, step }) => (*steps, *step),
            _ => continue,
        };
        let (Some(noise), Some(event)) = (noises.get(measure), events.get(measure)) else { continue };
        // Tables in which each owner moves the cell by all that is allowed are counts of such owners.
        let moved = event.moves().shifts(&Scope::Presence).iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
        let column = output.name;
        let all = if noises.len() + query.quantiles.len() > 1 {
            ", all of the release's cost spent on this column"
        } else {
            ""
        };
        let single = presence.standard_error_lower();
        limits.push(Floor {
            column: column.clone(),
            error: "standard error of each cell".into(),
            expected: noise.standard_deviation() * step,
            least: single * moved * step,
            about: format!("presence, {}{all}", presence.words()),
        });
        let counts = matches!(query.measures.get(measure).map(|measure| measure.what), Some(What::Owners | What::Rows));
        if let (true, Some(cells)) = (counts, query.cells().filter(|cells| *cells > 2))
            && let Some(least) = person.histogram_error_lower(cells)?
            // Over few cells this says less than what holds for a single one.
            && least > single
        {
            limits.push(Floor {
                column,
                error: "largest error of all cells, in half of the runs".into(),
                expected: noise.maximum(cells as f64, 0.5) * step,
                least: least * moved * step,
                about: format!("person, {}{all}", person.words()),
            });
        }
    }
    Ok(limits)
}
