//! The released curve with its band, looked up at counts that are even on a logarithmic axis: for pictures.

use super::{BandPoint, Partition, ReleasedHistogram};
use crate::quantity::Beta;

/// One point of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    /// The count r.
    pub count: u64,
    /// How many values of the private histogram have count ≥ r.
    pub values: u64,
    /// At least this many values of the data have it.
    pub lower: u64,
    /// At most this many values of the data have it.
    pub upper: u64,
}

impl ReleasedHistogram {
    /// How many values have count ≥ r, with [`ReleasedHistogram::band`] around it, at up to `steps` + 1 counts r.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{AnonymizedHistogram, Partition, ElementCount};
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::quantity::{Beta, Epsilon};
    /// use scumble::{Scope, Target};
    /// let target = Target::pure(Epsilon::new(8.0)?);
    /// let mechanism = AnonymizedHistogram::within(target, Scope::Presence, ElementCount::AtMost(100))?;
    /// let data = Partition::from_counts([40, 20, 1, 1])?;
    /// let released = mechanism.release(&data, &mut InsecureSeededSource::new(1))?;
    /// let curve = released.curve(Beta::new(0.05)?, 50);
    /// assert_eq!((curve[0].count, curve[0].values), (1, 4));
    /// assert!(curve.iter().all(|point| point.lower <= point.upper));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn curve(&self, beta: Beta, steps: u32) -> Vec<CurvePoint> {
        curve_of(&self.partition, &self.band(beta), steps)
    }
}

/// The same of any partition and the band around it.
pub(super) fn curve_of(partition: &Partition, band: &[BandPoint], steps: u32) -> Vec<CurvePoint> {
    let columns = partition.conjugate();
    // (the last count of a stretch, how many values have at least that)
    let ends: Vec<(u64, u64)> = columns
        .runs()
        .scan(0u64, |end, run| {
            *end = end.saturating_add(run.values);
            Some((*end, run.count))
        })
        .collect();
    let prevalence = |count: u64| ends.get(ends.partition_point(|end| end.0 < count)).map_or(0, |end| end.1);
    let last = band.last().map_or(1, |point| point.count).max(ends.last().map_or(1, |end| end.0)).saturating_add(1);
    let even = |step: u32| libm::round(libm::pow(last as f64, f64::from(step) / f64::from(steps.max(1)))) as u64;
    let mut counts: Vec<u64> = (0..=steps.max(1)).map(even).collect();
    counts.dedup();
    let point = |count: u64| {
        let around = band[..band.partition_point(|point| point.count <= count)].last()?;
        Some(CurvePoint { count, values: prevalence(count), lower: around.lower, upper: around.upper })
    };
    counts.into_iter().filter_map(point).collect()
}
