//! A named thing to publish: data in; answers with error bars, and events, out.
//!
//! Each algorithm is a [`Kind`] in one registry ([`crate::kinds::registry`]). A kind reads and analyses a request
//! without touching data, as an `Analysis` of its own: that prices the request at any cost, which gives its events, and
//! of the cost that is taken it makes the [`Plan`], a record of all that is public about the release. The order is
//! fixed by types: [`Plan::compute`] is given a [`ChargedAccess`], which is made of the ledger's receipt, and only
//! through that can rows be read and noise be drawn.

mod columns;
pub(crate) mod estimates;
pub(crate) mod field;
pub(crate) mod floor;
mod kind;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod price;
pub(crate) mod rows;
mod rule;
pub(crate) mod run;

pub use estimates::Estimates;
pub use field::ListedField;
pub use floor::Floor;
pub use kind::{CostAbout, DigestOf, Exclusivity, Grouping, Kind, Publication};
pub use output::parquet::arrow;
pub use output::{
    AnswerColumn, Answers, BETA, BandedCurve, Cell, ColumnKind, Details, IntervalChart, LongTable, SuggestedBounds,
    UNBOUNDED, Uncertainty,
};
pub use plan::{AnalysedRequest, AssumedError, ChargedAccess, Compute, ExpectedError, Plan};
pub use price::allowance::AttributeGrant;
pub use rule::KeyNeed;
pub use run::ask::{AnswerSource, InteractiveAnswer, InteractiveSession};
pub use run::asker::Asker;
pub use run::external_charge::{ChargedLedger, ExternalCharge, OutputPlaces, PaidCharge};
#[cfg(feature = "generator")]
pub use run::job::integers_of_both;
pub use run::kept::{KeptRelease, SecondCharge, again};
pub use run::published::{
    MOST_ROWS, OutputError, OutputErrorKind, PublishedRelease, StoredAnswers, UnshownCharge, published, published_file,
    stored,
};
pub use run::{PlannedRelease, ReleaseOutcome, Runner};

pub use crate::sql::text::Engine;
