//! What programs call.

use super::bodies::{
    AddPersonBody, EmptyBody, HealthBody, LoginBody, PeopleBody, ProgressBody, QuestionBody, ReleaseBody, RevokedBody,
    TablesBody, TokenBody,
};
use super::call::Call;
use super::route::Route;
use super::{App, Reply, SESSION, cookie, openapi, problem, rest};
use crate::access::{self, Person};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::{DownloadForm, QueryRequest};
use axum::body::Body;
use axum::http::header::{
    ACCEPT, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, SET_COOKIE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures::stream::unfold;
use scumble_engine::kinds::registry::{KINDS, schema};
use scumble_engine::summary::document;
use serde::Serialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often somebody who waits for events hears that it goes on.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The report has its styles in itself, and runs nothing; our own page shows it in a frame.
pub(super) const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; sandbox";

/// Bytes of a type.
pub(super) fn typed(kind: &'static str, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn shown(value: &impl Serialize) -> Reply {
    Ok(typed("application/json", format!("{:#}\n", document(value)?)))
}

pub(super) async fn plan(app: Arc<App>, call: Call) -> Reply {
    let question = question(&call)?;
    shown(&app.service.plan(call.person()?, &question).await?)
}

pub(super) async fn query(app: Arc<App>, call: Call) -> Reply {
    let question = question(&call)?;
    let person = call.person()?.clone();
    let service = Arc::clone(&app.service);
    let work = async move { Ok(document(&service.ask(&person, &question).await?.document())?) };
    respond(app, &call.headers, "answer", work).await
}

/// The outcome of work: as it is, or, for a client that accepts events, after events that say that it goes on.
async fn respond<W>(app: Arc<App>, headers: &HeaderMap, last: &'static str, work: W) -> Reply
where
    W: Future<Output = Result<Value, Refusal>> + Send + 'static,
{
    if !accepts(headers, "text/event-stream") {
        return shown(&work.await?);
    }
    let (sender, receiver) = mpsc::channel::<String>(4);
    tokio::spawn(stream_progress(sender, last, at_a_rounded_time(app, work)));
    let events = unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (Ok::<_, Infallible>(event), receiver))
    });
    Ok(typed("text/event-stream", Body::from_stream(events)))
}

/// Work that goes on until its rounded time: when it was done is not to be seen.
async fn at_a_rounded_time(
    app: Arc<App>,
    work: impl Future<Output = Result<Value, Refusal>>,
) -> Result<Value, Refusal> {
    let began = Instant::now();
    let done = work.await;
    if let Some(unit) = app.answer_time.filter(|unit| !unit.is_zero()) {
        tokio::time::sleep(rest(began.elapsed(), unit)).await;
    }
    done
}

/// Sends an event each second until the work is done, and then what came of it.
async fn stream_progress(
    sender: mpsc::Sender<String>,
    last: &'static str,
    work: impl Future<Output = Result<Value, Refusal>>,
) {
    tokio::pin!(work);
    let mut seconds = 0u64;
    let done = loop {
        let sent = sender.send(event("progress", &json!(ProgressBody { seconds }))).await;
        if sent.is_err() {
            // Nobody listens any more: what waits costs nothing, what has begun comes to its end.
            return;
        }
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(HEARTBEAT) => seconds += 1,
        }
    };
    let last = match done {
        Ok(value) => event(last, &value),
        Err(refusal) => event("problem", &problem::shown(&refusal)),
    };
    let _ = sender.send(last).await;
}

/// An event: its data is one line.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

pub(super) async fn release(app: Arc<App>, call: Call) -> Reply {
    let [only, again] = call.body::<ReleaseBody>()?.names()?;
    let person = call.person()?.clone();
    let service = Arc::clone(&app.service);
    let work = async move { Ok(document(&service.release(&person, only, again).await?)?) };
    respond(app, &call.headers, "released", work).await
}

pub(super) async fn answers(app: Arc<App>, call: Call) -> Reply {
    shown(&app.service.answers(call.person()?).await?)
}

pub(super) async fn answer(app: Arc<App>, call: Call) -> Reply {
    let sequence = sequence(&call)?;
    let form = form(&call)?;
    let bytes = app.service.answer(call.person()?, sequence, form).await?;
    let mut response = typed(form.words().1, bytes);
    if form != DownloadForm::Json {
        let name = format!("attachment; filename=\"answer-{sequence}.{}\"", form.words().0);
        let value = HeaderValue::from_str(&name).map_err(|_| Refusal::input("this answer has no file name"))?;
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The entry that the path names.
pub(super) fn sequence(call: &Call) -> Result<u64, Refusal> {
    let text = call.path("sequence");
    let number = text.parse().ok().filter(|_| text.chars().all(|letter| letter.is_ascii_digit()));
    number.ok_or_else(|| Refusal::new(RefusalKind::NotFound, "an answer is named by its entry's number"))
}

/// The requested format: from the query string, or from the Accept header.
fn form(call: &Call) -> Result<DownloadForm, Refusal> {
    if let Some(word) = call.query.get("format") {
        let found = DownloadForm::ALL.into_iter().find(|form| form.words().0 == word);
        return found.ok_or_else(|| Refusal::input("the format is json, csv, parquet or arrow"));
    }
    let accepted = DownloadForm::ALL
        .into_iter()
        .find(|form| accepts(&call.headers, form.words().1.split(';').next().unwrap_or("")));
    Ok(accepted.unwrap_or(DownloadForm::Json))
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|text| text.split(',')).any(|one| one.split(';').next().is_some_and(|one| one.trim() == kind))
}

pub(super) async fn ledger(app: Arc<App>, call: Call) -> Reply {
    shown(&app.service.history(call.person()?).await?)
}

pub(super) async fn verify(app: Arc<App>, _: Call) -> Reply {
    shown(&app.service.verify().await?)
}

pub(super) async fn budget(app: Arc<App>, call: Call) -> Reply {
    shown(&app.service.budget(call.person()?).await?)
}

pub(super) async fn kinds(_: Arc<App>, _: Call) -> Reply {
    shown(&KINDS.iter().map(|kind| schema(kind)).collect::<Vec<Value>>())
}

pub(super) async fn tables(app: Arc<App>, _: Call) -> Reply {
    shown(&TablesBody { tables: app.service.tables() })
}

pub(super) async fn report(app: Arc<App>, call: Call) -> Reply {
    let is_page = match call.query.get("format").map(String::as_str) {
        None => accepts(&call.headers, "text/html"),
        Some("html") => true,
        Some("json") => false,
        Some(_) => return Err(Refusal::input("the format of the report is json or html")),
    };
    let report = app.service.report(call.person()?).await?;
    if !is_page {
        return Ok(typed("application/json", report.json.clone()));
    }
    let mut response = typed("text/html; charset=utf-8", report.page.clone());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    response.headers_mut().insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    Ok(response)
}

pub(super) async fn people(app: Arc<App>, _: Call) -> Reply {
    let people = on_files(&app, access::list).await?;
    shown(&PeopleBody { people })
}

pub(super) async fn add(app: Arc<App>, call: Call) -> Reply {
    let person = call.body::<AddPersonBody>()?.person()?;
    let Person { name, role } = person.clone();
    let token = on_files(&app, move |ledger| access::add(ledger, &name, role)).await?;
    shown(&TokenBody { person: &person, token: &token })
}

pub(super) async fn revoke(app: Arc<App>, call: Call) -> Reply {
    let name = call.path("name").to_string();
    let own = name.clone();
    on_files(&app, move |ledger| access::revoke(ledger, &own)).await?;
    app.sessions.close_all(&name);
    shown(&RevokedBody { name: &name, revoked: true })
}

/// Work on the file of those who may ask.
pub(super) async fn on_files<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&std::path::Path) -> scumble_engine::Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    let ledger = app.service.ledger().clone();
    let done = tokio::task::spawn_blocking(move || work(&ledger)).await;
    Ok(done.map_err(|_| Refusal::new(RefusalKind::Machine, "the server failed on this request, and keeps running"))??)
}

pub(super) async fn me(_: Arc<App>, call: Call) -> Reply {
    shown(call.person()?)
}

pub(super) async fn described(routes: &'static [Route]) -> Reply {
    shown(&openapi::document(routes))
}

pub(super) async fn health(app: Arc<App>) -> Reply {
    match app.service.is_healthy().await {
        true => shown(&HealthBody { status: "ok" }),
        false => Err(Refusal::new(RefusalKind::Busy, "the ledger cannot be read: the server's log says why")),
    }
}

pub(super) async fn metrics(app: Arc<App>) -> Reply {
    Ok(typed("text/plain; version=0.0.4", app.service.metrics.text()))
}

pub(super) async fn enter(app: Arc<App>, call: Call) -> Reply {
    let body = call.body::<LoginBody>()?;
    let token = body.token();
    let bearer = match app.sessions.opened(token) {
        Some(bearer) => bearer,
        None => app.service.bearer(token, call.peer).await?,
    };
    let mut response = shown(&bearer.person)?;
    let session = app.sessions.open(bearer)?;
    set_cookie(&app, &mut response, &session, 12 * 3600)?;
    Ok(response)
}

pub(super) async fn leave(app: Arc<App>, call: Call) -> Reply {
    cookie(&call.headers).into_iter().for_each(|cookie| app.sessions.close(cookie));
    let mut response = shown(&EmptyBody {})?;
    set_cookie(&app, &mut response, "", 0)?;
    Ok(response)
}

/// No script reads it, and no page of others makes a browser send it.
fn set_cookie(app: &App, response: &mut Response, value: &str, seconds: u64) -> Result<(), Refusal> {
    let secure = if app.is_secure { "; Secure" } else { "" };
    let text = format!("{SESSION}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let value =
        HeaderValue::from_str(&text).map_err(|_| Refusal::new(RefusalKind::Machine, "no session could be created"))?;
    response.headers_mut().insert(SET_COOKIE, value);
    *response.status_mut() = StatusCode::OK;
    Ok(())
}

/// The question in the body of a call.
fn question(call: &Call) -> Result<QueryRequest, Refusal> {
    let body = call.body::<QuestionBody>()?;
    let key = match call.headers.get("idempotency-key") {
        None => None,
        Some(key) => Some(
            key.to_str()
                .map_err(|_| Refusal::input("an Idempotency-Key has 1 to 255 visible ASCII characters"))?
                .to_string(),
        ),
    };
    body.question(key)
}
