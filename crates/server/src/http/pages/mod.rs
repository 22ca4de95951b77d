//! What people look at: pages that the server writes, with a little script of our own ([`script`]) and nothing from elsewhere.

mod html;
mod views;

use super::api::{on_files, sequence, typed};
use super::call::Call;
use super::{App, is_curator, problem};
use crate::access::{self, Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, LOCATION};
use axum::response::Response;
use html::{Html, escaped};
use scumble_engine::summary::document;
use serde_json::Value;
use std::sync::Arc;

type Reply = Result<Response, Refusal>;

const HTML: &str = "text/html; charset=utf-8";

/// The pages, in the order in which they are offered, and who is offered them.
const MENU: [(&str, &str, Role); 7] = [
    ("/", "Overview", Role::Viewer),
    ("/ask", "Ask", Role::Analyst),
    ("/answers", "Answers", Role::Viewer),
    ("/ledger", "Ledger", Role::Analyst),
    ("/who-learns-what", "Who learns what", Role::Viewer),
    ("/people", "People", Role::Curator),
    ("/report", "Report", Role::Viewer),
];

/// What every page begins with. Nothing of it comes from elsewhere, the icon neither.
fn head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><link rel=\"stylesheet\" href=\"/style.css\"><script src=\"/script.js\" defer></script>\
         <link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%231f5f8b'/%3E%3C/svg%3E\"></head>"
    )
}

/// A page for somebody.
fn page(person: &Person, path: &str, title: &str, body: &Html) -> Response {
    let mut menu = String::new();
    for (to, name, _) in MENU.iter().filter(|(.., least)| person.role >= *least) {
        let current = if *to == path { " aria-current=\"page\"" } else { "" };
        menu.push_str(&format!("<a href=\"{to}\"{current}>{name}</a>"));
    }
    let who = format!("{}, {}", escaped(&person.name), person.role);
    typed(
        HTML,
        format!(
            "{}<body data-page=\"{path}\"><a class=\"skip\" href=\"#main\">Skip to the content</a><header><strong>scumble</strong><nav aria-label=\"Pages\">{menu}</nav>\
         <p class=\"who\">{who} <button type=\"button\" id=\"leave\">Leave</button></p></header>\
         <main id=\"main\" tabindex=\"-1\"><h1>{title}</h1>{}</main></body></html>\n",
            head(&format!("{title} · scumble")),
            body.text()
        ),
    )
}

/// A refusal as a page: whoever is not known goes to the page where one logs in.
pub(super) fn refused(refusal: &Refusal) -> Response {
    if refusal.kind == RefusalKind::Token {
        let mut response = typed(HTML, "");
        *response.status_mut() = StatusCode::SEE_OTHER;
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/enter"));
        return response;
    }
    let shown = problem::shown(refusal);
    let title = escaped(shown["title"].as_str().unwrap_or_default());
    let mut response = typed(
        HTML,
        format!(
            "{}<body><main id=\"main\"><h1>{title}</h1><p>{}</p><p><a href=\"/\">Back to the overview</a></p></main></body></html>\n",
            head(&format!("{title} · scumble")),
            escaped(&refusal.to_string())
        ),
    );
    *response.status_mut() = StatusCode::from_u16(refusal.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

pub(super) async fn enter() -> Reply {
    Ok(typed(
        HTML,
        format!(
            "{}<body data-page=\"/enter\"><main id=\"main\" class=\"door\"><h1>scumble</h1>\
        <p>Private answers, within one budget.</p><form id=\"enter\"><label for=\"token\">Your token</label>\
        <p class=\"line\"><input id=\"token\" type=\"password\" autocomplete=\"current-password\" required><button>Log in</button></p></form>\
        <p id=\"said\" role=\"status\"></p><noscript><p>This page needs its script to log in.</p></noscript>\
        <p class=\"soft\">A curator gives you one: <code>scumble access add NAME --role analyst</code></p></main></body></html>\n",
            head("Log in · scumble")
        ),
    ))
}

pub(super) async fn overview(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let budget = document(&app.service.budget(person).await?)?;
    let answers = document(&app.service.answers(person).await?)?;
    Ok(page(person, "/", "Overview", &views::overview(&budget, &answers)))
}

pub(super) async fn ask(app: Arc<App>, call: Call) -> Reply {
    Ok(page(call.person()?, "/ask", "Ask", &views::ask(&app.service.tables())))
}

pub(super) async fn answers(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let answers = document(&app.service.answers(person).await?)?;
    Ok(page(person, "/answers", "Answers", &views::answers(&answers)))
}

pub(super) async fn answer(app: Arc<App>, call: Call) -> Reply {
    let (person, sequence) = (call.person()?, sequence(&call)?);
    let bytes = app.service.answer(person, sequence, crate::service::DownloadForm::Json).await?;
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(page(person, "/answers", "Answer", &views::answer(sequence, &answer)))
}

pub(super) async fn ledger(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let history = document(&app.service.history(person).await?)?;
    Ok(page(person, "/ledger", "Ledger", &views::ledger(&history, is_curator(person))))
}

pub(super) async fn who_learns_what(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let texts = app.service.report(person).await?;
    let report: Value = serde_json::from_str(&texts[1]).unwrap_or_default();
    Ok(page(person, "/who-learns-what", "Who learns what", &views::who_learns_what(&report)))
}

pub(super) async fn people(app: Arc<App>, call: Call) -> Reply {
    let people = on_files(&app, access::list).await?;
    Ok(page(call.person()?, "/people", "People", &views::people(&people)))
}

pub(super) async fn report(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let texts = app.service.report(person).await?;
    let report: Value = serde_json::from_str(&texts[1]).unwrap_or_default();
    Ok(page(person, "/report", "Report", &views::report(&report)))
}

pub(super) async fn style() -> Reply {
    Ok(typed("text/css", include_str!("style.css")))
}

pub(super) async fn script() -> Reply {
    Ok(typed("text/javascript", include_str!("script.js")))
}
