//! Refusals as `application/problem+json` [RFC 9457].

use crate::refusal::{Refusal, RefusalKind};
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::Response;
use serde_json::{Value, json};

/// A refusal as a response.
pub(super) fn response(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = typed(status, &shown(refusal));
    match refusal.kind {
        RefusalKind::Token => drop(response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        RefusalKind::Busy => drop(response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => {}
    }
    response
}

/// A refusal as JSON: its place is that in the query.
pub(super) fn shown(refusal: &Refusal) -> Value {
    let (word, title) = refusal.kind.words();
    let mut shown = problem(refusal.kind.status(), word, title, &refusal.to_string());
    if let Some(place) = &refusal.place {
        shown["place"] = json!({ "in": place.origin.to_string(), "line": place.line, "column": place.column });
    }
    shown
}

/// A problem that is no refusal of ours.
pub(super) fn reply(status: StatusCode, word: &str, title: &str, detail: &str) -> Response {
    typed(status, &problem(status.as_u16(), word, title, detail))
}

fn problem(status: u16, word: &str, title: &str, detail: &str) -> Value {
    json!({ "type": format!("urn:scumble:problem:{word}"), "title": title, "status": status, "detail": detail })
}

fn typed(status: StatusCode, shown: &Value) -> Response {
    let mut response = Response::new(Body::from(format!("{shown:#}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}
