//! HTTP: one table of routes ([`routes::ROUTES`]) says what there is, who may call it and what it takes; from it the
//! router and the OpenAPI document are made, and every request goes the same way through [`dispatch`].

mod api;
mod bodies;
mod call;
mod openapi;
mod pages;
mod problem;
mod route;
mod routes;

use crate::access::{Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::{Service, allowed};
use crate::session::{Bearer, Sessions};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN,
    X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use call::Call;
use route::{Route, RouteAccess};
use routes::ROUTES;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a handler gives.
type Reply = Result<Response, Refusal>;

/// The cookie of a session.
const SESSION: &str = "scumble-session";

/// Nothing comes from elsewhere, nothing runs that is not ours, and nobody shows these pages inside of theirs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The address that a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub IpAddr);

/// All that a request needs.
pub(crate) struct App {
    pub service: Arc<Service>,
    pub sessions: Sessions,
    /// The times of answers are rounded up to a multiple of this.
    pub answer_time: Option<Duration>,
    /// The names by which the server may be called; any, where there are none.
    pub hosts: Vec<String>,
    /// Whether it speaks TLS.
    pub is_secure: bool,
}

/// The router of all routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let app = Arc::clone(&app);
        let handle = move |request: Request| dispatch(Arc::clone(&app), route, request);
        router = router.route(route.path, on(filter(route.method), handle));
    }
    let missing = Arc::clone(&app);
    router
        .method_not_allowed_fallback(|| async {
            dressed(problem::reply(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                "Not with this method",
                "this path does not take this method; /openapi.json says which",
            ))
        })
        .fallback(move || {
            missing.service.metrics.request("none", 404);
            async {
                dressed(problem::response(&Refusal::new(
                    RefusalKind::NotFound,
                    "there is no such path; /openapi.json lists them",
                )))
            }
        })
}

fn filter(method: &str) -> MethodFilter {
    match method {
        "POST" => MethodFilter::POST,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

/// The one way of a request.
async fn dispatch(app: Arc<App>, route: &'static Route, request: Request) -> Response {
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let mut name = None;
    let reply = handled(&app, route, parts, body, &mut name).await;
    if let (Some(unit), true) = (app.answer_time.filter(|unit| !unit.is_zero()), route.is_timed()) {
        tokio::time::sleep(rest(began.elapsed(), unit)).await;
    }
    let response = match reply {
        Ok(response) => response,
        Err(refusal) if route.is_page => pages::refused(&refusal),
        Err(refusal) => problem::response(&refusal),
    };
    let status = response.status().as_u16();
    app.service.metrics.request(route.path, status);
    // The route as it is declared: what stands in its place, and everything else of the request, is somebody's.
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        method = route.method,
        route = route.path,
        status,
        milliseconds,
        by = name.as_deref().unwrap_or("-")
    );
    dressed(response)
}

/// How long until the next multiple of a unit.
fn rest(elapsed: Duration, unit: Duration) -> Duration {
    let (elapsed, unit) = (elapsed.as_nanos(), unit.as_nanos());
    Duration::from_nanos(u64::try_from((unit - elapsed % unit) % unit).unwrap_or(0))
}

async fn handled(
    app: &Arc<App>,
    route: &'static Route,
    parts: Parts,
    body: Body,
    name: &mut Option<String>,
) -> Result<Response, Refusal> {
    let peer = parts.extensions.get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    called_by_name(app, &parts.headers)?;
    let changes = parts.method != Method::GET && parts.method != Method::HEAD;
    let (person, by_cookie) = match route.who {
        RouteAccess::Anybody => (None, false),
        RouteAccess::Near if peer.is_loopback() => (None, false),
        RouteAccess::Near | RouteAccess::Role(_) => {
            let (person, by_cookie) = known(app, &parts.headers, peer).await?;
            *name = Some(person.name.clone());
            if let RouteAccess::Role(least) = route.who {
                allowed(&person, least)?;
            }
            (Some(person), by_cookie)
        }
    };
    // A browser sends a cookie along for any page that makes it do so; a token in a header it does not.
    if changes && (by_cookie || person.is_none()) {
        from_here(&parts.headers)?;
    }
    let call = Call::read(person, peer, parts, body, route.takes.is_some()).await?;
    (route.handle)(Arc::clone(app), call).await
}

/// Who asks: by the token in the header, or by the cookie of a session.
async fn known(app: &App, headers: &HeaderMap, peer: IpAddr) -> Result<(Person, bool), Refusal> {
    if let Some(given) = headers.get(AUTHORIZATION) {
        let token = given.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        return match token {
            Some(token) => Ok((app.service.authenticate(token, peer).await?, false)),
            None => Err(app.service.failed(peer).await),
        };
    }
    // A session ends with the token that it began with.
    let is_current = |bearer: &Bearer| app.service.is_current(bearer);
    let person = cookie(headers).and_then(|cookie| app.sessions.whose(cookie, is_current));
    person.map(|person| (person, true)).ok_or_else(|| {
        Refusal::new(RefusalKind::Token, "this needs a token: send 'Authorization: Bearer TOKEN', or log in at /enter")
    })
}

/// The cookie of the session, if there is one.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
    all.filter_map(|pair| pair.trim().split_once('=')).find(|(name, _)| *name == SESSION).map(|(_, value)| value)
}

/// On a machine's own address, a page from elsewhere could be served under a name that leads here: the names are few.
fn called_by_name(app: &App, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    match app.hosts.is_empty() || app.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        true => Ok(()),
        false => Err(Refusal::new(
            RefusalKind::Role,
            format!("this server answers only as {}: use that address", app.hosts.first().map_or("", String::as_str)),
        )),
    }
}

/// What changes something comes from our own pages, or from no page at all.
fn from_here(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?").to_string());
    let is_own = match (text(ORIGIN), text(HeaderName::from_static("sec-fetch-site"))) {
        // Whether it is called with TLS, who stands before the server may decide.
        (Some(origin), _) => origin.split_once("://").is_some_and(|(_, host)| text(HOST).as_deref() == Some(host)),
        (None, Some(site)) => site == "same-origin" || site == "none",
        (None, None) => true,
    };
    match is_own {
        true => Ok(()),
        false => Err(Refusal::new(RefusalKind::Role, "this came from a page of another origin, and is refused")),
    }
}

/// A response with what every response has.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let own = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in own {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whether somebody is a curator, for pages that show more to them.
fn is_curator(person: &Person) -> bool {
    person.role == Role::Curator
}

#[cfg(test)]
mod tests;
