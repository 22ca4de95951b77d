//! A request that was let in, with its body read.

use super::bodies::RequestBody;
use crate::access::Person;
use crate::refusal::{Refusal, RefusalKind};
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// No body is longer, in bytes.
const LONGEST: usize = 64 << 10;
/// A body is here after so long, or it is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a route is called with.
pub(crate) struct Call {
    /// Who calls, where the route asks for that.
    person: Option<Person>,
    /// The address that it comes from.
    pub peer: IpAddr,
    /// The headers.
    pub headers: HeaderMap,
    /// The query string.
    pub query: BTreeMap<String, String>,
    path: BTreeMap<String, String>,
    body: Value,
}

impl Call {
    /// Reads the body, if the route takes one.
    pub async fn read(
        person: Option<Person>,
        peer: IpAddr,
        mut parts: Parts,
        body: Body,
        takes_body: bool,
    ) -> Result<Self, Refusal> {
        let query = Query::<BTreeMap<String, String>>::try_from_uri(&parts.uri)
            .map_err(|_| Refusal::input("what follows the '?' of the address cannot be read"))?
            .0;
        let path = RawPathParams::from_request_parts(&mut parts, &()).await;
        let path = path.map(|found| found.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
        let body = if takes_body { json(&parts.headers, body).await? } else { Value::Null };
        Ok(Self { person, peer, headers: parts.headers, query, path: path.unwrap_or_default(), body })
    }

    /// Who calls.
    pub fn person(&self) -> Result<&Person, Refusal> {
        self.person.as_ref().ok_or_else(|| Refusal::new(RefusalKind::Token, "this needs a token"))
    }

    /// A part of the path.
    pub fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The body, which is an object with no other keys than the type has.
    pub fn body<B: RequestBody>(&self) -> Result<B, Refusal> {
        let known = B::KEYS;
        let Some(object) = self.body.as_object() else {
            return Err(Refusal::input("the body must be a JSON object"));
        };
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            None => serde_json::from_value(self.body.clone()).map_err(|error| Refusal::input(error.to_string())),
            Some(unknown) => {
                let hint = scumble_engine::nearest(unknown, known.iter().copied());
                let hint = hint.map_or_else(
                    || format!(" (known are: {})", known.join(", ")),
                    |near| format!(" (did you mean '{near}'?)"),
                );
                Err(Refusal::input(format!("the body has the unknown key '{unknown}'{hint}")))
            }
        }
    }
}

/// The JSON of a body that is not too long and comes in time.
async fn json(headers: &HeaderMap, body: Body) -> Result<Value, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(Refusal::input("the body must be JSON: send 'Content-Type: application/json'"));
    }
    let read = tokio::time::timeout(PATIENCE, to_bytes(body, LONGEST)).await;
    let read = read.map_err(|_| {
        Refusal::new(RefusalKind::TooSlow, format!("the body did not arrive within {} seconds", PATIENCE.as_secs()))
    })?;
    let bytes = read.map_err(|_| {
        Refusal::new(RefusalKind::TooLarge, format!("the body is longer than {} KiB, or was cut off", LONGEST >> 10))
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Refusal::input(format!("the body is not JSON (line {}, column {})", error.line(), error.column()))
    })
}
