//! What people look at: pages that the server writes, with a little script of our own ([`script`]) and nothing from
//! elsewhere.

mod views;

use super::api::{on_files, sequence, typed};
use super::call::Call;
use super::{App, Reply, is_curator};
use crate::access::{self, Person, Role};
use crate::refusal::{Refusal, RefusalKind};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, LOCATION};
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use std::sync::Arc;

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

/// Nothing of a page comes from elsewhere, the icon neither.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
                    %3Crect width='16' height='16' rx='4' fill='%231f5f8b'/%3E%3C/svg%3E";

/// A whole page: `content` is its body.
fn whole(title: &str, content: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · scumble" }
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
                link rel="icon" href=(ICON);
            }
            (content)
        }
        "\n"
    };
    typed(HTML, page.into_string())
}

/// A page for somebody.
fn page(person: &Person, path: &str, title: &str, content: &Markup) -> Response {
    let offered = MENU.iter().filter(|(.., least)| person.role >= *least);
    let body = html! {
        body data-page=(path) {
            a.skip href="#main" { "Skip to the content" }
            header {
                strong { "scumble" }
                nav aria-label="Pages" {
                    @for (to, name, _) in offered {
                        a href=(to) aria-current=[(*to == path).then_some("page")] { (name) }
                    }
                }
                p.who { (person.name) ", " (person.role.to_string()) " " button type="button" id="leave" { "Leave" } }
            }
            main id="main" tabindex="-1" { h1 { (title) } (content) }
        }
    };
    whole(title, &body)
}

/// A refusal as a page: somebody without a session is sent to the login page.
pub(super) fn refused(refusal: &Refusal) -> Response {
    if refusal.kind() == RefusalKind::Token {
        let mut response = typed(HTML, "");
        *response.status_mut() = StatusCode::SEE_OTHER;
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/enter"));
        return response;
    }
    let (_, title) = refusal.kind().words();
    let body = html! {
        body {
            main #main {
                h1 { (title) }
                p { (refusal.to_string()) }
                p { a href="/" { "Back to the overview" } }
            }
        }
    };
    let mut response = whole(title, &body);
    *response.status_mut() = StatusCode::from_u16(refusal.kind().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

pub(super) async fn enter() -> Reply {
    let body = html! {
        body data-page="/enter" {
            main id="main" class="door" {
                h1 { "scumble" }
                p { "Private answers, within one budget." }
                form #enter {
                    label for="token" { "Your token" }
                    p.line {
                        input id="token" type="password" autocomplete="current-password" required;
                        button { "Log in" }
                    }
                }
                p #said role="status" {}
                noscript { p { "This page needs its script to log in." } }
                p.soft { "A curator gives you one: " code { "scumble setup access add NAME --role analyst" } }
            }
        }
    };
    Ok(whole("Log in", &body))
}

pub(super) async fn overview(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let budget = app.service.budget(person).await?;
    let answers = app.service.answers(person).await?.answers;
    Ok(page(person, "/", "Overview", &views::overview(&budget, &answers)))
}

pub(super) async fn ask(app: Arc<App>, call: Call) -> Reply {
    Ok(page(call.person()?, "/ask", "Ask", &views::ask(&app.service.tables())))
}

pub(super) async fn answers(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let answers = app.service.answers(person).await?.answers;
    Ok(page(person, "/answers", "Answers", &views::answers(&answers)))
}

pub(super) async fn answer(app: Arc<App>, call: Call) -> Reply {
    let (person, sequence) = (call.person()?, sequence(&call)?);
    let (release, answers) = app.service.answer_table(person, sequence).await?;
    Ok(page(person, "/answers", "Answer", &views::answer(sequence, &release, &answers)))
}

pub(super) async fn ledger(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let history = app.service.history(person).await?;
    Ok(page(person, "/ledger", "Ledger", &views::ledger(&history, is_curator(person))))
}

pub(super) async fn who_learns_what(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let report = app.service.report(person).await?;
    let content = views::who_learns_what(&report.summary, &report.attackers);
    Ok(page(person, "/who-learns-what", "Who learns what", &content))
}

pub(super) async fn people(app: Arc<App>, call: Call) -> Reply {
    let people = on_files(&app, access::list).await?;
    Ok(page(call.person()?, "/people", "People", &views::people(&people)))
}

pub(super) async fn report(app: Arc<App>, call: Call) -> Reply {
    let person = call.person()?;
    let report = app.service.report(person).await?;
    Ok(page(person, "/report", "Report", &views::report(&report.verdict)))
}

pub(super) async fn style() -> Reply {
    Ok(typed("text/css", include_str!("style.css")))
}

pub(super) async fn script() -> Reply {
    Ok(typed("text/javascript", include_str!("script.js")))
}
