//! The parameters of words as files and front ends see them: their forms, how they are read, and their values.

use super::Word;
use super::new_keys::KeysPerOwner;
use crate::error::{Error, Result};
use crate::event::{AnswerCount, NoiseFamily, Quotient};
use crate::quantity::{Delta, Epsilon, Omega, QuantityEntry, Rho, Scale, Sigma};
use std::num::NonZeroU32;
use std::str::FromStr;

/// A parameter of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in files.
    pub name: &'static str,
    /// What is written there.
    pub form: ParameterForm,
}

impl Parameter {
    pub(super) const fn new(name: &'static str, form: ParameterForm) -> Self {
        Self { name, form }
    }
}

/// The written form of a parameter. Code that reads or writes events matches on all forms, so that none is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterForm {
    /// A number, which is this quantity.
    Number(QuantityEntry),
    /// A whole number that is not negative.
    Whole,
    /// A fraction as a string, `"9/8"`.
    Fraction,
    /// One of the [`NoiseFamily`] names.
    Family,
    /// Probabilities that sum to 1.
    Probabilities,
    /// Another word with its parameters.
    Noise,
}

/// The value of a parameter, to be written.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue<'a> {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A fraction or a name.
    Text(String),
    /// Probabilities.
    Probabilities(&'a [f64]),
    /// Another word.
    Noise(&'a Word),
}

/// From which the parameters of a word are read, each by its name ([`Word::read`]).
pub trait ArgumentReader {
    /// What a refusal is here: a sentence and its place, say.
    type Refusal;

    /// A number.
    fn number(&self, name: &str) -> std::result::Result<f64, Self::Refusal>;

    /// A whole number that is not negative.
    fn whole(&self, name: &str) -> std::result::Result<u64, Self::Refusal>;

    /// A string.
    fn text(&self, name: &str) -> std::result::Result<&str, Self::Refusal>;

    /// A list of numbers from 0 to 1.
    fn probabilities(&self, name: &str) -> std::result::Result<Vec<f64>, Self::Refusal>;

    /// A word with its parameters, which is not `outer` again.
    fn noise(&self, name: &str, outer: &str) -> std::result::Result<Word, Self::Refusal>;

    /// The refusal of one parameter's value, or of all together.
    fn refusal(&self, name: Option<&str>, error: Error) -> Self::Refusal;
}

/// The type of a parameter: its form, and how it is read.
pub(super) trait Argument: Sized {
    const FORM: ParameterForm;

    fn read<R: ArgumentReader>(word: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal>;
}

fn checked<T, R: ArgumentReader>(from: &R, name: &str, value: Result<T>) -> std::result::Result<T, R::Refusal> {
    value.map_err(|error| from.refusal(Some(name), error))
}

fn parsed<T, R>(from: &R, name: &str) -> std::result::Result<T, R::Refusal>
where
    T: FromStr<Err = Error>,
    R: ArgumentReader,
{
    checked(from, name, from.text(name)?.parse())
}

macro_rules! quantities {
    ($($quantity:ident)+) => {$(
        impl Argument for $quantity {
            const FORM: ParameterForm =
                ParameterForm::Number(QuantityEntry { name: $quantity::NAME, range: $quantity::RANGE });

            fn read<R: ArgumentReader>(_: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
                checked(from, name, $quantity::new(from.number(name)?))
            }
        }

        impl From<&$quantity> for ParameterValue<'_> {
            fn from(value: &$quantity) -> Self {
                Self::Number(value.get())
            }
        }
    )+};
}

quantities!(Delta Epsilon Omega Rho Scale Sigma);

macro_rules! whole_numbers {
    ($($type:ty = $read:expr;)+) => {$(
        impl Argument for $type {
            const FORM: ParameterForm = ParameterForm::Whole;

            fn read<R: ArgumentReader>(_: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
                let read: fn(&str, u64) -> Result<$type> = $read;
                checked(from, name, read(name, from.whole(name)?))
            }
        }
    )+};
}

whole_numbers! {
    AnswerCount = |_, value| AnswerCount::new(value);
    u32 = |name, value| {
        u32::try_from(value).map_err(|_| Error::refused(format!("{name} must be a whole number below 2^32")))
    };
    NonZeroU32 = |name, value| {
        let whole = u32::try_from(value).ok().and_then(NonZeroU32::new);
        whole.ok_or_else(|| Error::refused(format!("{name} must be a whole number from 1 to 4294967295")))
    };
    KeysPerOwner = |_, value| KeysPerOwner::new(value);
}

impl From<&AnswerCount> for ParameterValue<'_> {
    fn from(value: &AnswerCount) -> Self {
        Self::Whole(value.get())
    }
}

impl From<u32> for ParameterValue<'_> {
    fn from(value: u32) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<u64> for ParameterValue<'_> {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl Argument for Quotient {
    const FORM: ParameterForm = ParameterForm::Fraction;

    fn read<R: ArgumentReader>(_: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
        parsed(from, name)
    }
}

impl From<Quotient> for ParameterValue<'_> {
    fn from(value: Quotient) -> Self {
        Self::Text(value.to_string())
    }
}

impl Argument for NoiseFamily {
    const FORM: ParameterForm = ParameterForm::Family;

    fn read<R: ArgumentReader>(_: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
        parsed(from, name)
    }
}

impl From<NoiseFamily> for ParameterValue<'_> {
    fn from(value: NoiseFamily) -> Self {
        Self::Text(value.name().to_string())
    }
}

impl Argument for Vec<f64> {
    const FORM: ParameterForm = ParameterForm::Probabilities;

    fn read<R: ArgumentReader>(_: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
        let probabilities = from.probabilities(name)?;
        let sum: f64 = probabilities.iter().sum();
        let sums_to_one = match (sum - 1.0).abs() > 1e-9 {
            true => Err(Error::refused(format!("probabilities must sum to 1, not {sum}"))),
            false => Ok(probabilities),
        };
        checked(from, name, sums_to_one)
    }
}

impl<'a> From<&'a [f64]> for ParameterValue<'a> {
    fn from(value: &'a [f64]) -> Self {
        Self::Probabilities(value)
    }
}

impl Argument for Word {
    const FORM: ParameterForm = ParameterForm::Noise;

    fn read<R: ArgumentReader>(word: &str, name: &str, from: &R) -> std::result::Result<Self, R::Refusal> {
        from.noise(name, word)
    }
}

impl<'a> From<&'a Word> for ParameterValue<'a> {
    fn from(value: &'a Word) -> Self {
        Self::Noise(value)
    }
}
