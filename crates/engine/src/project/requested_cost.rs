//! The cost of a release that stands in no project file.

use super::FieldValue;
use crate::error::Error;
use scumble::quantity::Exact;
use std::str::FromStr;

/// What a release may cost, as a program or somebody at a terminal asks for it. Whether it is one is said where the
/// request is made, as of a cost in a project file.
///
/// ```
/// use scumble_engine::project::RequestedCost;
/// let written: RequestedCost = "epsilon=1,delta=1e-9".parse()?;
/// assert_eq!(written, RequestedCost::epsilon("1".parse()?).with_delta("1e-9".parse()?));
/// let error = "half".parse::<RequestedCost>().unwrap_err().to_string();
/// assert!(error.contains("must be like epsilon=0.5, rho=0.05 or epsilon=1,delta=1e-9"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCost {
    parts: Vec<(&'static str, Exact)>,
}

/// The keys that a cost may have here.
const KEYS: [&str; 3] = ["epsilon", "delta", "rho"];

impl RequestedCost {
    /// This ε.
    pub fn epsilon(epsilon: Exact) -> Self {
        Self { parts: vec![("epsilon", epsilon)] }
    }

    /// This ρ.
    pub fn rho(rho: Exact) -> Self {
        Self { parts: vec![("rho", rho)] }
    }

    /// The same with this δ.
    #[must_use]
    pub fn with_delta(mut self, delta: Exact) -> Self {
        self.parts.push(("delta", delta));
        self
    }

    /// As a field of a release. Numbers are texts, in which all digits count.
    pub(crate) fn field(&self) -> FieldValue {
        let part = |(key, number): &(&'static str, Exact)| (*key, FieldValue::Text(number.to_string()));
        FieldValue::Table(self.parts.iter().map(part).collect())
    }
}

impl FromStr for RequestedCost {
    type Err = Error;

    /// Reads `epsilon=0.5`, `rho=0.05` or `epsilon=1,delta=1e-9`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::input(format!("--cost '{text}' must be like epsilon=0.5, rho=0.05 or epsilon=1,delta=1e-9"));
        let mut parts: Vec<(&'static str, Exact)> = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: Exact = value.trim().parse().map_err(|_| wrong())?;
            let key = KEYS.into_iter().find(|known| *known == key.trim()).ok_or_else(wrong)?;
            if parts.iter().any(|(known, _)| *known == key) {
                return Err(wrong());
            }
            parts.push((key, value));
        }
        Ok(Self { parts })
    }
}
