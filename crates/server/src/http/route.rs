//! What a route is: who may call it, what it takes and gives, and what it calls.

use super::App;
use super::call::Call;
use crate::access::Role;
use crate::refusal::Refusal;
use axum::response::Response;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// One route.
pub(crate) struct Route {
    pub method: &'static str,
    pub path: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    pub who: RouteAccess,
    /// The schema of the body that it takes.
    pub takes: Option<fn() -> Value>,
    /// The parameters of the query string and the path, and what they mean.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The type and the schema of what it gives.
    pub gives: (&'static str, fn() -> Value),
    /// Whether people look at it.
    pub is_page: bool,
    pub handle: RouteHandler,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    Anybody,
    /// Everybody on this machine, and everybody with a token.
    Near,
    Role(Role),
}

/// What is called.
pub(crate) type RouteHandler = fn(Arc<App>, Call) -> Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

impl Route {
    /// Whether its time could tell something about tables or about what was asked before.
    pub fn is_timed(&self) -> bool {
        self.path.starts_with("/v1/")
    }
}
