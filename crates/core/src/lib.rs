//! Differential privacy with exact noise and certified accounting.
//!
//! # The idea
//! Differential privacy usually reports one number. The truth is a table: *what can be learned* about **whom** (a
//! person's presence, a whole person, some of a person's attributes, a group) by **which attacker** (one who knows
//! everybody else's data, or one who knows less). So here
//! - a **mechanism** makes an answer private, and says what it did as a list of **events**: the noise that was drawn,
//!   and how far each **scope** (who is protected) can move what was noised;
//! - a **loss** is what events cost in a scope: certified upper bounds of ε and δ, each with its certified lower bound
//!   beside it;
//! - a **target** is what you want to spend; mechanisms are made from targets, never the other way round.
//!
//! Noise is exact: integers from a cryptographic source, by integer arithmetic or certified tables; no `f64` decides an
//! outcome without a proven bound and an exact fallback. An error is one sentence with its remedy.
//!
//! # Constructors
//! Numbers are [quantities](quantity): checked once, where you write them, with the function of their name:
//! `epsilon(0.5)?`. A mechanism has one or both of
//! - `within(target, scope, …)`: its noise from what may be spent, which comes first: a [`Target`] and the [`Scope`] in
//!   which it holds (or [limits](workload::planner::RhoLimits) for several scopes at once), then what is answered.
//!   Where two parts of a mechanism are paid for by themselves, there is a target for each;
//! - `new(…)`: from the noise, or from the ε that is the mechanism's own parameter, as in randomized response and the
//!   exponential mechanism.
//!
//! There are no files here, no network, no clock and no global state: randomness is an argument. (The package
//! `scumble-engine` adds SQL over CSV and Parquet files, a durable ledger and reports; `scumble-cli` is the program.)
//!
//! # Ten lines
//! ```
//! use scumble::quantity::{beta, delta, epsilon};
//! use scumble::noise::SecureSource;
//! use scumble::{Additive, Contribution, Loss, Scope, StabilityHistogram, Target};
//! let mut bits = SecureSource::new()?;
//! let count = Additive::count().within(Target::pure(epsilon(0.5)?), Scope::Person)?; // noise and event from one target
//! let answer = count.release(120, &mut bits);
//! let loss = Loss::of(count.events()?, Scope::Person)?;
//! assert!(loss.epsilon(delta(0.0)?).upper <= 0.5 * (1.0 + 1e-9));
//! println!("{answer} ± {}", count.error(beta(0.05)?)?);
//! let keys = StabilityHistogram::within(Target::approximate(epsilon(1.0)?, delta(1e-6)?), Scope::Person, Contribution::one())?;
//! let published = keys.release(&[("measles", 341), ("a rare disease", 1)], &mut bits);
//! assert!(published.len() <= 2);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! # Cookbook
//! All recipes run. Those with [`InsecureSeededSource`](noise::InsecureSeededSource) do so to be repeatable: publish
//! with [`SecureSource`] only.
//!
//! **A sum.** Bring each owner's value into public bounds first; real numbers go onto a public grid.
//! ```
//! use scumble::quantity::{beta, epsilon};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Additive, Scope, Target};
//! let incomes: Vec<i64> = (0..1000).map(|i| 20_000 + 37 * i).collect();
//! let sum = Additive::sum(0, 100_000)?.within(Target::pure(epsilon(1.0)?), Scope::Presence)?;
//! let exact: i64 = incomes.iter().map(|income| income.clamp(&0, &100_000)).sum();
//! let noisy = sum.release(exact, &mut InsecureSeededSource::new(1));
//! assert!(((noisy - exact) as f64).abs() <= sum.error(beta(1e-9)?)?);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **A histogram over public values**, with the kind of noise that has the least largest error. [`mechanism::plan`]
//! compares them without data.
//! ```
//! use scumble::quantity::{beta, delta, epsilon};
//! use scumble::mechanism::plan::histogram_noise;
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Histogram, Scope, Target};
//! let plan = histogram_noise(Target::approximate(epsilon(1.0)?, delta(1e-6)?), &Scope::Person, 1000, 0.05.try_into()?)?;
//! let best = Histogram::new(plan[0].noise.clone());
//! let noisy = best.release(&[120, 45, 0, 7], &mut InsecureSeededSource::new(1));
//! assert!(noisy.len() == 4 && best.error(beta(0.05)?, 1000)? <= plan[4].maximum_error);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **Values that are not public** (search terms, diagnoses): only keys that many owners share are published.
//! ```
//! use scumble::quantity::{beta, delta, epsilon};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Contribution, Scope, StabilityHistogram, Target};
//! let three_each = Contribution::new(3, 1)?;
//! let keys = StabilityHistogram::within(Target::approximate(epsilon(1.0)?, delta(1e-9)?), Scope::Presence, three_each)?;
//! let terms = [("flu", 5000), ("my own name", 1)];
//! assert_eq!(keys.release(&terms, &mut InsecureSeededSource::new(1)).len(), 1);
//! assert!(keys.published_from(beta(0.05)?)? < 100.0);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **A median or any quantile**: a key of a public range, no bounds to guess.
//! ```
//! use scumble::quantity::{epsilon, probability};
//! use scumble::mechanism::quantile::Quantile;
//! use scumble::noise::InsecureSeededSource;
//! let ages: Vec<u128> = (0..2000).map(|i| 20 + i % 60).collect();
//! let median = Quantile::new(120, probability(0.5)?, epsilon(1.0)?)?.release(&ages, &mut InsecureSeededSource::new(1));
//! assert!((45..55).contains(&median));
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **A distribution function**: how many are at most each key, all at once.
//! ```
//! use scumble::quantity::beta;
//! use scumble::mechanism::cdf::Cdf;
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Noise, quantity::Sigma};
//! let cdf = Cdf::new(120, Noise::gaussian(Sigma::new(8.0)?))?;
//! let below = cdf.release(&[10; 120], &mut InsecureSeededSource::new(1))?;
//! assert!((below[59] - 600.0).abs() <= cdf.error(beta(1e-9)?, 120)?);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **The best of several**: one index is published, no score.
//! ```
//! use scumble::mechanism::selection::{ScoreChange, Selection, Selector};
//! use scumble::noise::InsecureSeededSource;
//! let selection = Selection::new(Selector::PermuteAndFlip(1.0.try_into()?), ScoreChange::Monotone)?;
//! assert_eq!(selection.release(&[3, 950, 17], &mut InsecureSeededSource::new(1))?, 1);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **Without a trusted curator**: every owner randomizes an own answer.
//! ```
//! use scumble::quantity::{beta, epsilon};
//! use scumble::mechanism::randomized_response::RandomizedResponse;
//! use scumble::noise::InsecureSeededSource;
//! let mechanism = RandomizedResponse::new(epsilon(1.0)?, 2)?;
//! let mut bits = InsecureSeededSource::new(1);
//! let mut counts = [0, 0];
//! for owner in 0..3000 {
//!     counts[mechanism.release(u64::from(owner < 900), &mut bits)? as usize] += 1;
//! }
//! let yes = &mechanism.estimate(&counts)[1];
//! assert!((yes.count - 900.0).abs() <= mechanism.error(beta(1e-9)?, 3000)?);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **What training on samples costs** (DP-SGD), with the certified bound from below beside it.
//! ```
//! use scumble::quantity::{delta, rate, sigma};
//! use scumble::{Event, Loss, Scope};
//! let training = Event::gaussian(sigma(1.0)?).poisson(rate(0.01)?).repeated(1000)?;
//! let answer = Loss::of([training], Scope::Presence)?.epsilon(delta(1e-6)?);
//! assert!(answer.lower <= answer.upper && answer.upper < 2.2);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **The least noise for that**: a search on certified upper bounds; also for the largest sample or the most steps.
//! ```
//! use scumble::quantity::sigma;
//! use scumble::calibrate::{FreeParameter, calibrate};
//! use scumble::event::Word;
//! use scumble::{Event, Scope};
//! let any = Event::gaussian(sigma(1.0)?).repeated(10)?;
//! let found = calibrate(&any, FreeParameter::Noise, &Scope::Presence, 1.0.try_into()?, 1e-6.try_into()?)?;
//! assert!(matches!(found.word(), Word::Gaussian { sigma } if sigma.get() < 13.36));
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **Whom an answer is about**: the same release costs a person more than their presence, and nothing where it does not
//! look.
//! ```
//! use scumble::quantity::{delta, epsilon};
//! use scumble::{Additive, AttributeSet, Loss, Scope, Target};
//! let histogram = Additive::histogram().within(Target::pure(epsilon(1.0)?), Scope::Person)?;
//! let events = histogram.events()?;
//! let epsilon = |scope: Scope| Ok::<f64, scumble::Error>(Loss::of(&events, scope)?.epsilon(delta(0.0)?).upper);
//! assert!(epsilon(Scope::Presence)? < 0.51 && epsilon(Scope::Person)? > 0.99);
//! assert_eq!(epsilon(Scope::Attributes(AttributeSet::new(["shoe size"])?))?, 0.0);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **A budget for queries that are not known yet**: a filter admits exactly what fits, even if each query depends on
//! earlier answers.
//! ```
//! use scumble::quantity::epsilon;
//! use scumble::loss::filter::{Filter, Limit};
//! use scumble::{Additive, Scope, Target};
//! let limit = Limit::Approximate { epsilon: "1.0".parse()?, delta: "0".parse()? };
//! let mut filter = Filter::new(limit, Scope::Person);
//! let tenth = Additive::count().within(Target::pure(epsilon(0.1)?), Scope::Person)?;
//! let admitted = (0..20).filter(|_| filter.admit(&tenth.events().unwrap()[0]).is_ok()).count();
//! assert_eq!(admitted, 10, "each costs 1/10 exactly, and sums are exact");
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! **All marginals of some order at once**, with as little noise as the limits allow, person by person or attribute by
//! attribute.
//! ```
//! use scumble::noise::InsecureSeededSource;
//! use scumble::quantity::rho;
//! use scumble::workload::planner::{RhoLimits, residual};
//! use scumble::workload::{Domain, Subset};
//! use scumble::{Scope, Target};
//! let domain = Domain::new(vec![3, 2, 4])?;
//! let plan = residual(&domain, 2, &RhoLimits::of(Target::zcdp(rho(0.1)?), Scope::Person)?)?;
//! let measured = plan.release(&[50; 24], &mut InsecureSeededSource::new(1))?;
//! assert_eq!(measured.marginal(Subset::of(&[0, 1]))?.len(), 6);
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! # What is not supported
//! - Real-valued noise: answers are integers, or real values on a public grid. `f64` noise on `f64` answers leaks
//!   through its last digits.
//! - Bounding what each owner contributes: your data must already be what the moves say ([`Moves`]). The engine does it
//!   for tables.
//! - Timing: a release takes a time that depends on its noise, and sometimes on the data. Publish on a schedule.
//! - Parameters that were chosen after looking at the data: [`Loss`] needs them fixed beforehand; [`loss::filter`] does
//!   not.
//! - Serialisation: events have JSON forms in the package `scumble-wire`, so that their names are fixed in one place.
//!
//! # Modules, in the order in which they build on each other
//! [`quantity`] (checked numbers, exact budgets) → [`noise`] (exact samplers) → [`scope`], [`event`] (who is protected,
//! what was done) → [`loss`] (what it costs) → [`calibrate`] (from a target to noise) → [`mechanism`] → [`parties`] →
//! [`workload`], [`learn`]. Beside them stands the package `scumble-adversary`: what attackers learn who know less,
//! what published numbers give away, what outputs prove against a claim, and which errors no mechanism can beat.
//!
//! # Features and minimum Rust version
//! - `harness` (off): exact output distributions and all neighbours of small datasets, with which this crate checks
//!   itself; for tests of mechanisms of your own.
//!
//! Rust 1.94, edition 2024: associated type bounds in arguments, let chains, and the integer square roots, midpoints
//! and neighbours of floats of the standard library (`isqrt`, `midpoint`, `next_up`), on which the rounding of bounds
//! leans. It is raised in minor versions only.

#[macro_use]
pub mod error;
#[macro_use]
mod named;

pub mod calibrate;
pub mod event;
pub mod learn;
pub mod loss;
pub mod mechanism;
pub mod noise;
pub mod parties;
pub mod quantity;
pub mod scope;
pub mod workload;

#[cfg(any(test, feature = "harness"))]
pub mod harness;

/// The example of the package's page is run like those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use calibrate::Target;
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, Moves, Shift};
pub use loss::Loss;
pub use mechanism::additive::{Additive, Noise};
pub use mechanism::histogram::Histogram;
pub use mechanism::stability::{Contribution, StabilityHistogram};
pub use noise::{BitSource, SecureSource};
pub use scope::{AttributeSet, Scope};
