//! What programs send and get, as types whose fields are the keys.

use crate::access::{AccessRecord, Person, Role};
use crate::refusal::Refusal;
use crate::service::{QueryRequest, TableShown};
use scumble::quantity::Exact;
use scumble_engine::project::{Cost, CostScope};
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Somebody to whom access was given, with the token that is shown once.
#[derive(Serialize)]
pub(super) struct TokenBody<'a> {
    #[serde(flatten)]
    pub person: &'a Person,
    pub token: &'a str,
}

#[derive(Serialize)]
pub(super) struct PeopleBody {
    pub people: Vec<AccessRecord>,
}

#[derive(Serialize)]
pub(super) struct RevokedBody<'a> {
    pub name: &'a str,
    pub revoked: bool,
}

#[derive(Serialize)]
pub(super) struct TablesBody {
    pub tables: Vec<TableShown>,
}

#[derive(Serialize)]
pub(super) struct HealthBody {
    pub status: &'static str,
}

/// An event for somebody who waits.
#[derive(Serialize)]
pub(super) struct ProgressBody {
    pub seconds: u64,
}

#[derive(Serialize)]
pub(super) struct EmptyBody {}

/// The body of a request; its keys are the names of its fields.
pub(super) trait RequestBody: DeserializeOwned {
    /// The keys.
    const KEYS: &'static [&'static str];
}

/// A field as it was given. A refusal names the field that is wrong, so a wrong value does not end the reading of a
/// body.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenField<T> {
    /// A value of the field's type.
    Fits(T),
    /// Another value, or none.
    Wrong(IgnoredAny),
}

impl<T> Default for GivenField<T> {
    fn default() -> Self {
        Self::Wrong(IgnoredAny)
    }
}

impl<T> GivenField<T> {
    /// The value; else a refusal in this sentence.
    fn or_refuse(self, sentence: impl Into<String>) -> Result<T, Refusal> {
        match self {
            Self::Fits(value) => Ok(value),
            Self::Wrong(_) => Err(Refusal::input(sentence)),
        }
    }
}

/// A question.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct QuestionBody {
    sql: GivenField<String>,
    cost: GivenField<CostBody>,
    fresh: Option<GivenField<bool>>,
}

impl RequestBody for QuestionBody {
    const KEYS: &'static [&'static str] = &["sql", "cost", "fresh"];
}

impl QuestionBody {
    /// The question, with the request's own key.
    pub fn question(self, key: Option<String>) -> Result<QueryRequest, Refusal> {
        let sql = self.sql.or_refuse("'sql' must be a string: the query")?;
        let fresh = self.fresh.map(|fresh| fresh.or_refuse("'fresh' must be true or false")).transpose()?;
        let cost = self.cost.or_refuse(UNLIKE_A_COST)?.cost()?;
        Ok(QueryRequest { sql, cost, fresh: fresh.unwrap_or(false), key })
    }
}

const UNLIKE_A_COST: &str =
    "'cost' must be like {\"epsilon\": 0.1}, {\"rho\": 0.05} or {\"epsilon\": 1, \"delta\": 1e-9}";

/// A cost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostBody {
    #[serde(default, deserialize_with = "said")]
    epsilon: Option<Decimal>,
    #[serde(default, deserialize_with = "said")]
    rho: Option<Decimal>,
    #[serde(default, deserialize_with = "said")]
    delta: Option<Decimal>,
    #[serde(default, deserialize_with = "said")]
    scope: Option<String>,
}

/// A number, or one in quotation marks, which keeps all of its digits.
#[derive(Deserialize)]
#[serde(untagged)]
enum Decimal {
    Number(Number),
    Text(String),
}

/// A value that is present; null is not a value.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

impl Decimal {
    /// The number to its last digit: 0.1 is a tenth, not the binary fraction next to it.
    fn exact(self) -> Result<Exact, Refusal> {
        let digits = match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        };
        let is_number = digits.chars().all(|letter| letter.is_ascii_digit() || "+-.eE".contains(letter));
        digits.parse().ok().filter(|_| is_number).ok_or_else(|| Refusal::input(UNLIKE_A_COST))
    }
}

impl CostBody {
    fn cost(self) -> Result<Cost, Refusal> {
        let exact = |number: Option<Decimal>| number.map(Decimal::exact).transpose();
        let (epsilon, rho, delta) = (exact(self.epsilon)?, exact(self.rho)?, exact(self.delta)?);
        if epsilon.is_none() && rho.is_none() && delta.is_none() {
            return Err(Refusal::input(UNLIKE_A_COST));
        }
        let scope = self.scope.map(|scope| scope.parse::<CostScope>()).transpose()?;
        Ok(Cost::of_parts(epsilon, rho, delta, scope)?)
    }
}

/// Which releases are published, and which of them anew.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ReleaseBody {
    only: Option<GivenField<Vec<String>>>,
    again: Option<GivenField<Vec<String>>>,
}

impl RequestBody for ReleaseBody {
    const KEYS: &'static [&'static str] = &["only", "again"];
}

impl ReleaseBody {
    /// The names in both.
    pub fn names(self) -> Result<[Vec<String>; 2], Refusal> {
        Ok([names("only", self.only)?, names("again", self.again)?])
    }
}

fn names(key: &str, list: Option<GivenField<Vec<String>>>) -> Result<Vec<String>, Refusal> {
    let names = list.map(|list| list.or_refuse(format!("'{key}' must be a list of names of releases"))).transpose()?;
    Ok(names.unwrap_or_default())
}

/// Who gets access.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AddPersonBody {
    name: GivenField<String>,
    role: GivenField<String>,
}

impl RequestBody for AddPersonBody {
    const KEYS: &'static [&'static str] = &["name", "role"];
}

impl AddPersonBody {
    /// The name, and what they may do.
    pub fn person(self) -> Result<Person, Refusal> {
        let name = self.name.or_refuse("'name' must be a string")?;
        let role = self.role.or_refuse("'role' must be a string")?;
        Ok(Person { name, role: role.parse::<Role>().map_err(Refusal::input)? })
    }
}

/// Who logs in.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct LoginBody {
    token: GivenField<String>,
}

impl RequestBody for LoginBody {
    const KEYS: &'static [&'static str] = &["token"];
}

impl LoginBody {
    /// The token; what is no text is no token.
    pub fn token(&self) -> &str {
        match &self.token {
            GivenField::Fits(token) => token.trim(),
            GivenField::Wrong(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_question_is_read_or_refused_at_its_field() {
        let read = |body: Value| {
            let body: QuestionBody = serde_json::from_value(body).unwrap();
            let shown = |question: QueryRequest| (question.cost.to_string(), question.fresh);
            body.question(None).map(shown).map_err(|refusal| refusal.to_string())
        };
        let of_cost = |cost: Value| read(json!({ "sql": "SELECT 1", "cost": cost }));
        let fine = |cost: &str| Ok((cost.to_string(), false));
        assert_eq!(of_cost(json!({ "epsilon": 0.5 })), fine("epsilon=0.5"));
        assert_eq!(
            of_cost(json!({ "delta": 1e-9, "epsilon": "1.0000000000000000001" })),
            fine("epsilon=1.0000000000000000001,delta=1e-9")
        );
        assert_eq!(of_cost(json!({ "rho": "0.05" })), fine("rho=0.05"));
        assert_eq!(of_cost(json!({ "scope": "person", "epsilon": 1 })), fine("epsilon=1,scope=person"));
        for wrong in [
            json!(null),
            json!(1),
            json!("epsilon=1"),
            json!({}),
            json!({ "epsilon": null }),
            json!({ "epsilon": 1, "rho": null }),
            json!({ "epsilon": "one" }),
            json!({ "epsilon": "" }),
            json!({ "epsilons": 1 }),
            json!({ "epsilon": [1] }),
            json!({ "scope": "person" }),
            json!({ "epsilon": 1, "scope": null }),
        ] {
            assert!(of_cost(wrong.clone()).unwrap_err().starts_with("'cost' must be like"), "{wrong}");
        }
        let scope = of_cost(json!({ "epsilon": 1, "scope": "person,delta=0.5" }));
        assert_eq!(scope.unwrap_err(), "the scope of a cost is 'person', 'presence' or 'attribute'");
        let two = of_cost(json!({ "epsilon": 1, "rho": 1 }));
        assert_eq!(two.unwrap_err(), "a cost has exactly one of epsilon, rho and accuracy");
        let cost = json!({ "epsilon": 1 });
        assert_eq!(read(json!({ "cost": cost })).unwrap_err(), "'sql' must be a string: the query");
        assert_eq!(read(json!({ "sql": 1, "cost": cost })).unwrap_err(), "'sql' must be a string: the query");
        let fresh = |fresh: Value| read(json!({ "sql": "SELECT 1", "cost": cost, "fresh": fresh }));
        assert_eq!(fresh(json!("yes")).unwrap_err(), "'fresh' must be true or false");
        assert_eq!((fresh(json!(true)).unwrap().1, fresh(json!(null)).unwrap().1), (true, false));
    }

    #[test]
    fn names_are_lists_of_texts() {
        let read = |body: Value| serde_json::from_value::<ReleaseBody>(body).unwrap().names();
        assert_eq!(read(json!({})).unwrap(), [Vec::<String>::new(), Vec::new()]);
        assert_eq!(read(json!({ "only": ["a"], "again": null })).unwrap(), [vec!["a".to_string()], Vec::new()]);
        for wrong in [json!({ "only": "a" }), json!({ "only": [1] })] {
            assert_eq!(read(wrong).unwrap_err().to_string(), "'only' must be a list of names of releases");
        }
    }
}
