//! Exact noise in bulk, as 64-bit integers in an array of Python's.
//!
//! Each call draws from a source of its own, with a key from the operating system: nothing is kept between calls, so
//! that a forked process has nothing to repeat.

use crate::failure::{Failure, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use scumble::noise::{
    Binomial, DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, KNorm, NegativeBinomial, SecureSource,
    SinhNormal, TruncatedDiscreteLaplace, bernoulli, permutation, subset, uniform,
};
use scumble::quantity::{Exact, Probability, Scale, Sigma};
use scumble_wire::{LocatedValue, parse};

/// Fills a block that holds whole draws.
type IntegerSampler = Box<dyn Fn(&mut SecureSource, &mut [i64]) + Send + Sync>;

/// More than this do not fit into memory.
const MOST: usize = 1 << 36;

/// A distribution, and a source that is made for it alone.
///
/// The integers go into an array that Python has made, piece by piece: numpy takes large pages for large arrays, and a
/// piece that is filled here stays in the processor's cache until it is copied there. (10^7 integers took three times
/// as long in an array of our own, nearly all of it for pages that are touched for the first time.)
#[pyclass(module = "scumble._native")]
pub struct Noise {
    length: usize,
    fill: IntegerSampler,
    bits: SecureSource,
    piece: Vec<i64>,
}

#[pymethods]
impl Noise {
    /// A distribution with these parameters (JSON).
    #[new]
    fn new(law: &str, parameters: &str) -> PyResult<Self> {
        let document = parse(parameters).map_err(Failure::from)?;
        let (length, fill) = drawing(law, &LocatedValue::root(&document))?;
        let bits = SecureSource::new().map_err(Failure::from)?;
        Ok(Self { length, fill, bits, piece: Vec::new() })
    }

    /// How many integers `size` draws have.
    fn integers(&self, size: usize) -> PyResult<usize> {
        let all = size.checked_mul(self.length).filter(|all| *all <= MOST);
        let refused =
            || Failure::input(format!("size must be a whole number of at most {MOST} integers in all, not {size}"));
        Ok(all.ok_or_else(refused)?)
    }

    /// How many integers a piece of about this many has, so that no draw is cut in two.
    fn whole(&self, about: usize) -> usize {
        (about / self.length.max(1)).max(1) * self.length.max(1)
    }

    /// Fills a writable buffer of native 64-bit integers with whole draws.
    fn into(&mut self, py: Python<'_>, buffer: PyBuffer<i64>) -> PyResult<()> {
        self.piece.resize(buffer.item_count(), 0);
        let Self { fill, bits, piece, .. } = self;
        py.detach(|| fill(bits, piece));
        buffer.copy_from_slice(py, piece)
    }
}

/// How many integers one draw has, and how a block is filled.
fn drawing(law: &str, place: &LocatedValue<'_>) -> Result<(usize, IntegerSampler)> {
    let scale = || place.field("scale").and_then(|field| field.quantity(Scale::new));
    let sigma = || place.field("sigma").and_then(|field| field.quantity(Sigma::new));
    let one = |fill: IntegerSampler| Ok((1, fill));
    let many = |length: usize, fill: IntegerSampler| Ok((length, fill));
    match law {
        "discrete-gaussian" => {
            let noise = DiscreteGaussian::new(sigma()?);
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "discrete-laplace" => {
            let noise = DiscreteLaplace::new(scale()?);
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "geometric" => {
            let noise = Geometric::new(scale()?);
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "truncated-discrete-laplace" => {
            let bound = i64::try_from(place.field("bound")?.whole()?)
                .map_err(|_| Failure::input("bound must be below 2^63"))?;
            let noise = TruncatedDiscreteLaplace::new(scale()?, bound)?;
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "sinh-normal" => {
            let noise = SinhNormal::new(sigma()?, place.field("a")?.quantity(Scale::new)?)?;
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "negative-binomial" => {
            let noise = NegativeBinomial::new(scale()?, &fraction(place, "shape")?)?;
            one(Box::new(move |bits, out| noise.fill(bits, out)))
        }
        "binomial" => {
            let chance = place.field("probability")?.quantity(Probability::new)?;
            let count = Binomial::new(u128::from(below(place, "trials")?.unsigned_abs()), chance);
            // At most as many as there are trials, which an i64 holds.
            one(Box::new(move |bits, out| out.iter_mut().for_each(|slot| *slot = count.sample(bits) as i64)))
        }
        "uniform" => {
            let bound = below(place, "below")?.unsigned_abs();
            if bound == 0 {
                return Err(Failure::input("below must be at least 1, not 0"));
            }
            one(Box::new(move |bits, out| out.iter_mut().for_each(|slot| *slot = uniform::below(bits, bound) as i64)))
        }
        "bernoulli" => {
            let chance = fraction(place, "probability")?;
            if chance.numerator() > chance.denominator() {
                return Err(Failure::input("probability must be a number in [0, 1]"));
            }
            one(Box::new(move |bits, out| {
                out.iter_mut().for_each(|slot| *slot = i64::from(bernoulli::rational(bits, &chance)));
            }))
        }
        "k-norm" => {
            let dimension = length(place, "dimension")?;
            let noise = KNorm::new(scale()?, dimension)?;
            many(
                dimension,
                Box::new(move |bits, out| {
                    out.chunks_mut(dimension).for_each(|draw| draw.copy_from_slice(&noise.sample(bits)));
                }),
            )
        }
        "permutation" => {
            let of = length(place, "of")?;
            many(
                of,
                Box::new(move |bits, out| {
                    for draw in out.chunks_mut(of) {
                        for (slot, index) in draw.iter_mut().zip(permutation::of(bits, of)) {
                            *slot = index as i64;
                        }
                    }
                }),
            )
        }
        "subset" => {
            let (universe, size) = (below(place, "universe")?.unsigned_abs(), length(place, "members")?);
            if size as u64 > universe {
                return Err(Failure::input(format!("members is {size}, which is more than universe has ({universe})")));
            }
            many(
                size,
                Box::new(move |bits, out| {
                    for draw in out.chunks_mut(size) {
                        let chosen = subset::of_size(bits, universe, size as u64).unwrap_or_default();
                        for (slot, member) in draw.iter_mut().zip(chosen) {
                            *slot = member as i64;
                        }
                    }
                }),
            )
        }
        other => Err(Failure::input(format!("unknown distribution '{other}'"))),
    }
}

/// A whole number that an i64 holds.
fn below(place: &LocatedValue<'_>, name: &str) -> Result<i64> {
    i64::try_from(place.field(name)?.whole()?).map_err(|_| Failure::input(format!("{name} must be below 2^63")))
}

/// How many integers a draw has: at least one.
fn length(place: &LocatedValue<'_>, name: &str) -> Result<usize> {
    match usize::try_from(place.field(name)?.whole()?) {
        Ok(length) if (1..=100_000_000).contains(&length) => Ok(length),
        _ => Err(Failure::input(format!("{name} must be a whole number from 1 to 100000000"))),
    }
}

/// A number as a text, which is the rational that it looks like.
fn fraction(place: &LocatedValue<'_>, name: &str) -> Result<Fraction> {
    let refused = || Failure::input(format!("{name} must be a number that is at least 0, such as 0.25 or 1/3"));
    let text = place.field(name)?.text()?.to_string();
    let exact =
        |text: &str| text.trim().parse::<Exact>().and_then(|exact| Fraction::from_exact(&exact)).map_err(|_| refused());
    match text.split_once('/') {
        Some((numerator, denominator)) => {
            Ok(exact(numerator)?.times(&exact(denominator)?.inverse().map_err(|_| refused())?))
        }
        None => exact(&text),
    }
}
