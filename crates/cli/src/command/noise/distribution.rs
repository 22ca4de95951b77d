//! The distributions that can be drawn, their flags, and how each is drawn. A new one gets a variant, a line in
//! `common` and a line in `draws`.

use super::{DrawArguments, DrawBlock};
use crate::failure::Failure;
use clap::{Args, Subcommand};
use num_bigint::BigUint;
use scumble::noise::{
    Binomial, BitSource, DiscreteGaussian, DiscreteLaplace, Fraction, Geometric, KNorm, NegativeBinomial, SinhNormal,
    TruncatedDiscreteLaplace, bernoulli, permutation, subset, uniform,
};
use scumble::quantity::{Exact, Probability, Scale, Sigma};

/// What can be drawn.
#[derive(Subcommand)]
pub enum Distribution {
    /// P[z] ∝ e^(−z²/2σ²) on the integers
    #[command(after_help = "Example:\n  scumble lab noise discrete-gaussian --sigma 10 --count 5")]
    DiscreteGaussian {
        /// The parameter σ: the standard deviation except for discretisation
        #[arg(long, allow_hyphen_values = true)]
        sigma: Sigma,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// P[z] ∝ e^(−|z|/scale) on the integers
    #[command(after_help = "Example:\n  scumble lab noise discrete-laplace --scale 2 --count 1000 --summary")]
    DiscreteLaplace {
        /// The scale
        #[arg(long, allow_hyphen_values = true)]
        scale: Scale,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// P[n] ∝ e^(−n/scale) on 0, 1, 2, …
    #[command(after_help = "Example:\n  scumble lab noise geometric --scale 2 --count 5")]
    Geometric {
        /// The scale
        #[arg(long, allow_hyphen_values = true)]
        scale: Scale,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// Discrete Laplace noise that is never further from zero than the bound
    #[command(after_help = "Example:\n  scumble lab noise truncated-discrete-laplace --scale 2 --bound 10")]
    TruncatedDiscreteLaplace {
        /// The scale
        #[arg(long, allow_hyphen_values = true)]
        scale: Scale,
        /// The largest distance from zero
        #[arg(long, allow_hyphen_values = true)]
        bound: i64,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// P[z] ∝ e^(−max|z_i|/scale) for several integers at once, on one line
    #[command(after_help = "Example:\n  scumble lab noise k-norm --scale 2 --dimension 3")]
    KNorm {
        /// The scale
        #[arg(long, allow_hyphen_values = true)]
        scale: Scale,
        /// How many integers at once
        #[arg(long, allow_hyphen_values = true)]
        dimension: usize,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// Noise in shares: shapes add up, and shape 1 is geometric
    #[command(after_help = "Example:\n  scumble lab noise negative-binomial --scale 2 --shape 1/3")]
    NegativeBinomial {
        /// The scale of the geometric distribution that whole shares add up to
        #[arg(long, allow_hyphen_values = true)]
        scale: Scale,
        /// The shape, a decimal number or a fraction such as 1/3
        #[arg(long, allow_hyphen_values = true, value_parser = fraction)]
        shape: Fraction,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// How many of many trials succeed
    #[command(after_help = "Example:\n  scumble lab noise binomial --trials 100 --probability 0.5")]
    Binomial {
        /// How many trials, below 2^128
        #[arg(long, allow_hyphen_values = true)]
        trials: u128,
        /// The probability of success
        #[arg(long, allow_hyphen_values = true)]
        probability: Probability,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// Uniform integers 0, …, below − 1
    #[command(after_help = "Example:\n  scumble lab noise uniform --below 6")]
    Uniform {
        /// The bound, at least 1
        #[arg(long, allow_hyphen_values = true, value_parser = bound)]
        below: u128,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// Coins: 1 with the given probability, else 0
    #[command(after_help = "Example:\n  scumble lab noise bernoulli --logistic 1/2")]
    Bernoulli {
        #[command(flatten)]
        chance: CoinBiasArguments,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// A uniformly random order of 0, …, of − 1, on one line
    #[command(after_help = "Example:\n  scumble lab noise permutation --of 10")]
    Permutation {
        /// How many
        #[arg(long, allow_hyphen_values = true, value_parser = length)]
        of: usize,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// A uniformly random set of this many of 0, …, universe − 1, in order on one line
    #[command(after_help = "Example:\n  scumble lab noise subset --universe 49 --size 6")]
    Subset {
        /// How many there are
        #[arg(long, allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
        universe: u64,
        /// How many are chosen
        #[arg(long, allow_hyphen_values = true, value_parser = length)]
        size: usize,
        #[command(flatten)]
        common: DrawArguments,
    },
    /// A·arsinh((σ/A)·N(0,1)) on the integers: lighter tails than a Gaussian
    #[command(after_help = "Example:\n  scumble lab noise sinh-normal --sigma 10 --a 20")]
    SinhNormal {
        /// The parameter σ
        #[arg(long, allow_hyphen_values = true)]
        sigma: Sigma,
        /// The parameter A, at least σ
        #[arg(long, allow_hyphen_values = true)]
        a: Scale,
        #[command(flatten)]
        common: DrawArguments,
    },
}

/// The bias of a coin, in one of three ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct CoinBiasArguments {
    /// The probability of 1
    #[arg(long, allow_hyphen_values = true)]
    probability: Option<Probability>,
    /// X: the probability of 1 is e^−X
    #[arg(long, allow_hyphen_values = true, value_name = "X", value_parser = fraction)]
    exp_minus: Option<Fraction>,
    /// X: the probability of 1 is 1/(1 + e^−X)
    #[arg(long, allow_hyphen_values = true, value_name = "X", value_parser = fraction)]
    logistic: Option<Fraction>,
}

type IntegerSampler = Box<dyn Fn(&mut dyn BitSource, &mut [i64])>;
type LargeIntegerSampler = Box<dyn Fn(&mut dyn BitSource) -> u128>;
type CoinSampler = Box<dyn Fn(&mut dyn BitSource) -> bool>;
type ListSampler = Box<dyn Fn(&mut dyn BitSource) -> Vec<i64>>;

/// How a distribution is drawn.
pub enum DistributionSampler {
    Fill(IntegerSampler),
    Large(LargeIntegerSampler),
    Lists { length: usize, draw: ListSampler },
}

impl DistributionSampler {
    /// This many draws, in the place of those that `block` holds.
    pub fn draw(&self, bits: &mut dyn BitSource, count: usize, block: &mut DrawBlock) {
        match (self, block) {
            (Self::Fill(fill), DrawBlock::Integers(values)) => {
                values.resize(count, 0);
                fill(bits, values);
            }
            (Self::Fill(_), block) => {
                *block = DrawBlock::Integers(Vec::new());
                self.draw(bits, count, block);
            }
            (Self::Large(draw), block) => *block = DrawBlock::Large((0..count).map(|_| draw(bits)).collect()),
            (Self::Lists { draw, .. }, block) => *block = DrawBlock::Lists((0..count).map(|_| draw(bits)).collect()),
        }
    }

    /// How many integers one draw has.
    pub fn values_per_draw(&self) -> usize {
        match self {
            Self::Fill(_) | Self::Large(_) => 1,
            Self::Lists { length, .. } => *length,
        }
    }
}

/// Permutations and subsets longer than this are refused.
const LONGEST: usize = 100_000_000;

impl Distribution {
    /// The flags that every distribution has.
    pub fn common(&self) -> &DrawArguments {
        match self {
            Self::DiscreteGaussian { common, .. }
            | Self::DiscreteLaplace { common, .. }
            | Self::Geometric { common, .. }
            | Self::TruncatedDiscreteLaplace { common, .. }
            | Self::KNorm { common, .. }
            | Self::NegativeBinomial { common, .. }
            | Self::Binomial { common, .. }
            | Self::Uniform { common, .. }
            | Self::Bernoulli { common, .. }
            | Self::Permutation { common, .. }
            | Self::Subset { common, .. }
            | Self::SinhNormal { common, .. } => common,
        }
    }

    /// How it is drawn; parameters that do not go together are refused here, before anything is drawn.
    pub fn draws(&self) -> Result<DistributionSampler, Failure> {
        Ok(match self {
            Self::DiscreteGaussian { sigma, .. } => {
                let noise = DiscreteGaussian::new(*sigma);
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
            Self::DiscreteLaplace { scale, .. } => {
                let noise = DiscreteLaplace::new(*scale);
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
            Self::Geometric { scale, .. } => {
                let noise = Geometric::new(*scale);
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
            Self::TruncatedDiscreteLaplace { scale, bound, .. } => {
                let noise = TruncatedDiscreteLaplace::new(*scale, *bound).map_err(|error| flag("bound", &error))?;
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
            Self::KNorm { scale, dimension, .. } => {
                let noise = KNorm::new(*scale, *dimension).map_err(|error| flag("dimension", &error))?;
                DistributionSampler::Lists { length: *dimension, draw: Box::new(move |bits| noise.sample(bits)) }
            }
            Self::NegativeBinomial { scale, shape, .. } => {
                let noise = NegativeBinomial::new(*scale, shape).map_err(|error| flag("shape", &error))?;
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
            Self::Binomial { trials, probability, .. } => {
                let count = Binomial::new(*trials, *probability);
                DistributionSampler::Large(Box::new(move |bits| count.sample(bits)))
            }
            Self::Uniform { below, .. } => {
                let below = *below;
                DistributionSampler::Large(Box::new(move |bits| uniform::below(bits, below)))
            }
            Self::Bernoulli { chance, .. } => chance.draws(),
            Self::Permutation { of, .. } => {
                let length = *of;
                let draw = move |bits: &mut dyn BitSource| {
                    permutation::of(bits, length).into_iter().map(|index| index as i64).collect()
                };
                DistributionSampler::Lists { length, draw: Box::new(draw) }
            }
            Self::Subset { universe, size, .. } => {
                let (universe, length) = (*universe, *size);
                refuse_if!(length as u64 > universe, "--size {length} is more than --universe {universe} has");
                let draw = move |bits: &mut dyn BitSource| {
                    let chosen = subset::of_size(bits, universe, length as u64).unwrap_or_default();
                    chosen.into_iter().map(|member| member as i64).collect()
                };
                DistributionSampler::Lists { length, draw: Box::new(draw) }
            }
            Self::SinhNormal { sigma, a, .. } => {
                let noise = SinhNormal::new(*sigma, *a).map_err(|error| flag("a", &error))?;
                DistributionSampler::Fill(Box::new(move |bits, out| noise.fill(bits, out)))
            }
        })
    }
}

impl CoinBiasArguments {
    fn draws(&self) -> DistributionSampler {
        let fill = |coin: CoinSampler| {
            DistributionSampler::Fill(Box::new(move |bits, out| {
                out.iter_mut().for_each(|slot| *slot = i64::from(coin(bits)))
            }))
        };
        if let Some(exponent) = self.exp_minus.clone() {
            return fill(Box::new(move |bits| bernoulli::exp_minus(bits, &exponent)));
        }
        if let Some(score) = self.logistic.clone() {
            return fill(Box::new(move |bits| bernoulli::logistic(bits, &score)));
        }
        let chance = self.probability.map(|probability| Fraction::from_f64(probability.get()).ok()).unwrap_or_default();
        let chance = chance.unwrap_or_else(|| Fraction::whole(0u32));
        fill(Box::new(move |bits| bernoulli::rational(bits, &chance)))
    }
}

fn flag(name: &str, error: &scumble::Error) -> Failure {
    Failure::Input(format!("--{name}: {error}"))
}

fn bound(text: &str) -> Result<u128, String> {
    let refused = || format!("the bound must be an integer in [1, 2^128), not {text}");
    text.parse().ok().filter(|bound| *bound > 0).ok_or_else(refused)
}

fn length(text: &str) -> Result<usize, String> {
    let refused = || format!("this must be an integer in [0, {LONGEST}], not {text}");
    text.parse().ok().filter(|length| *length <= LONGEST).ok_or_else(refused)
}

/// A decimal number, which is the rational it looks like, or a fraction of two integers.
fn fraction(text: &str) -> Result<Fraction, String> {
    let refused = || format!("this must be a number that is at least 0, such as 0.25 or 1/3, not {text}");
    match text.split_once('/') {
        Some((numerator, denominator)) => {
            let integer = |part: &str| part.trim().parse::<BigUint>().ok().filter(|_| part.len() < 100);
            let (numerator, denominator) = integer(numerator).zip(integer(denominator)).ok_or_else(refused)?;
            Fraction::new(numerator, denominator).map_err(|_| refused())
        }
        None => text.parse::<Exact>().and_then(|exact| Fraction::from_exact(&exact)).map_err(|_| refused()),
    }
}
