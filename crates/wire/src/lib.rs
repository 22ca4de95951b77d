//! The JSON forms of events and questions, at the edge: the core's types are not serialisable, these are their papers.
//!
//! ```
//! use scumble_wire::{event_from_json, event_to_json, parse};
//! let value = parse(r#"{"mechanism": "laplace", "scale": 10, "sensitivity": 1, "times": 50}"#)?;
//! let event = event_from_json(&value)?;
//! assert_eq!(event_from_json(&event_to_json(&event))?, event);
//! let wrong = parse(r#"{"mechanism": "laplace", "scale": -1, "sensitivity": 1}"#)?;
//! assert_eq!(event_from_json(&wrong).unwrap_err().to_string(), "$.scale: scale must be a number in [1e-9, 1e18], not -1");
//! # Ok::<(), scumble_wire::WireError>(())
//! ```

mod attacker;
mod event;
mod place;
mod question;

pub use attacker::{
    AttackerQuestion, DegradationDocument, GuaranteeDocument, VerdictDocument, attacker_from_json, verdict_to_json,
};
pub use event::{event_at, event_from_json, event_to_json, events_at};
pub use place::{LocatedValue, WireError, WireErrorKind, WireResult, parse};
pub use question::{
    Account, AccountQuestion, Calibration, PrivacyClaim, account_from_json, calibration_from_json, claim_at,
};
