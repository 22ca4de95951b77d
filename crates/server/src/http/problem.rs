//! Refusals as `application/problem+json` [RFC 9457].

use crate::refusal::{Refusal, RefusalKind};
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};

/// A refusal as a response.
pub(super) fn response(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.kind().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = typed(status, &shown(refusal));
    match refusal.kind() {
        RefusalKind::Token => drop(response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        RefusalKind::Busy => drop(response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => {}
    }
    response
}

/// A problem.
#[derive(Serialize)]
struct ProblemBody<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceBody>,
}

/// Where it is in the query.
#[derive(Serialize)]
struct PlaceBody {
    r#in: String,
    line: usize,
    column: usize,
}

/// A refusal as JSON: its place is that in the query.
pub(super) fn shown(refusal: &Refusal) -> Value {
    let (word, title) = refusal.kind().words();
    let place = refusal.place();
    let place = place.map(|place| PlaceBody { r#in: place.origin.to_string(), line: place.line, column: place.column });
    let detail = refusal.to_string();
    json!(ProblemBody { place, ..problem(refusal.kind().status(), word, title, &detail) })
}

/// A problem that is no refusal of ours.
pub(super) fn reply(status: StatusCode, word: &str, title: &str, detail: &str) -> Response {
    typed(status, &json!(problem(status.as_u16(), word, title, detail)))
}

fn problem<'a>(status: u16, word: &str, title: &'a str, detail: &'a str) -> ProblemBody<'a> {
    ProblemBody { kind: format!("urn:scumble:problem:{word}"), title, status, detail, place: None }
}

fn typed(status: StatusCode, shown: &Value) -> Response {
    let mut response = Response::new(Body::from(format!("{shown:#}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}
