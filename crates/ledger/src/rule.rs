//! What is decided by the rule of a charge. The rest of a rule is each kind's own, for people who check events by hand.

use crate::field::Field;
use serde::Deserialize;
use serde_json::Value;

/// The parts of a rule that programs decide by.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct RuleFacts {
    hash: Field<String>,
    insecure: Field<String>,
    job: Field<JobFacts>,
    number: Field<u64>,
}

/// The job whose integers are charged for.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
struct JobFacts {
    digest: Field<String>,
    number: Field<String>,
}

impl RuleFacts {
    /// Those of a rule.
    pub fn of(rule: &Value) -> Self {
        if rule.is_object() { Self::deserialize(rule).unwrap_or_default() } else { Self::default() }
    }

    /// By which hash it is decided which rows of an owner count.
    pub fn hash(&self) -> Option<&str> {
        self.hash.get().map(String::as_str)
    }

    /// Whether the noise is from a secure source.
    pub fn is_secure(&self) -> bool {
        self.insecure.is_empty()
    }

    /// Whether the integers are those of a job that somebody ran elsewhere.
    pub fn is_of_job(&self) -> bool {
        !self.job.is_empty()
    }

    /// Which round of an interactive release this is.
    pub fn round(&self) -> Option<u64> {
        self.number.get().copied()
    }

    /// The one-time number of the job with this digest, if it is that job.
    pub(crate) fn number_of_job(&self, digest: &str) -> Option<String> {
        let job = self.job.get().filter(|job| job.digest.is(digest))?;
        Some(job.number.text().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_rule_says_is_read_and_what_it_does_not_say_is_nothing() {
        let nothing = RuleFacts::default();
        assert!(nothing.is_secure() && !nothing.is_of_job());
        for rule in [json!(null), json!([]), json!("x"), json!({ "number": "2", "hash": 7, "tree": [1] })] {
            let facts = RuleFacts::of(&rule);
            assert_eq!((facts.hash(), facts.round(), facts.is_secure()), (None, None, true), "{rule}");
        }
        let facts = RuleFacts::of(&json!({ "number": 3, "hash": "h", "insecure": "a seed", "job": null }));
        assert_eq!((facts.hash(), facts.round()), (Some("h"), Some(3)));
        assert!(!facts.is_secure() && !facts.is_of_job());
        let job = |job: Value| RuleFacts::of(&json!({ "job": job }));
        assert_eq!(job(json!({ "digest": "d", "number": "n" })).number_of_job("d"), Some("n".to_string()));
        assert_eq!(job(json!({ "digest": "d" })).number_of_job("d"), Some(String::new()));
        assert_eq!(job(json!({ "digest": "d" })).number_of_job("e"), None);
        // A form that is not known is a job all the same: nobody goes on with such a charge.
        assert!([json!({}), json!("d"), json!([]), json!({ "digest": 1 })].into_iter().all(|one| job(one).is_of_job()));
    }
}
