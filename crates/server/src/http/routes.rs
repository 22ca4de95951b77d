//! All routes.

use super::route::{Route, RouteAccess, RouteHandler};
use super::{api, openapi, pages};
use crate::access::Role;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

fn object() -> Value {
    json!({ "type": "object" })
}

fn text() -> Value {
    json!({ "type": "string" })
}

/// A route of the interface for programs.
const fn api(
    method: &'static str,
    path: &'static str,
    least: Role,
    about: &'static str,
    gives: fn() -> Value,
    handle: RouteHandler,
) -> Route {
    Route {
        method,
        path,
        about,
        who: RouteAccess::Role(least),
        takes: None,
        parameters: &[],
        gives: (JSON, gives),
        is_page: false,
        handle,
    }
}

/// A page.
const fn page(path: &'static str, least: Role, about: &'static str, handle: RouteHandler) -> Route {
    Route {
        method: "GET",
        path,
        about,
        who: RouteAccess::Role(least),
        takes: None,
        parameters: &[],
        gives: (HTML, text),
        is_page: true,
        handle,
    }
}

/// Every route that there is: nothing else is answered.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        takes: Some(openapi::question),
        ..api(
            "POST",
            "/v1/plan",
            Role::Analyst,
            "What a query would cost in every scope, the error to expect, and what would be left; charges nothing",
            openapi::forecast,
            |app, call| Box::pin(api::plan(app, call)),
        )
    },
    Route {
        takes: Some(openapi::question),
        parameters: &[(
            "Idempotency-Key",
            "header: a request that comes again with it gets the same answer, and is not charged again",
        )],
        ..api(
            "POST",
            "/v1/query",
            Role::Analyst,
            "The answer to a query: the one that was charged before, or a new one; as events, if text/event-stream is \
                accepted",
            openapi::answer,
            |app, call| Box::pin(api::query(app, call)),
        )
    },
    Route {
        takes: Some(openapi::releases),
        ..api(
            "POST",
            "/v1/release",
            Role::Curator,
            "Publishes what the project file declares and is not published yet; as events, if text/event-stream is accepted",
            object,
            |app, call| Box::pin(api::release(app, call)),
        )
    },
    api("GET", "/v1/answers", Role::Viewer, "The answers that you may see, newest first", object, |app, call| {
        Box::pin(api::answers(app, call))
    }),
    Route {
        parameters: &[
            ("sequence", "path: the entry of the answer in the ledger"),
            ("format", "query: json, csv, parquet or arrow"),
        ],
        ..api(
            "GET",
            "/v1/answers/{sequence}",
            Role::Viewer,
            "One answer, as JSON, CSV, Parquet or an Arrow stream",
            openapi::answer,
            |app, call| Box::pin(api::answer(app, call)),
        )
    },
    api(
        "GET",
        "/v1/ledger",
        Role::Analyst,
        "What was charged and what was asked: by everybody for curators, by yourself for analysts",
        object,
        |app, call| Box::pin(api::ledger(app, call)),
    ),
    api(
        "GET",
        "/v1/ledger/verify",
        Role::Curator,
        "Verifies every entry of the ledger, and every sum in it",
        object,
        |app, call| Box::pin(api::verify(app, call)),
    ),
    api(
        "GET",
        "/v1/budget",
        Role::Viewer,
        "What has been spent and what is left, in every scope; under 'own' in your own budget",
        object,
        |app, call| Box::pin(api::budget(app, call)),
    ),
    api(
        "GET",
        "/v1/kinds",
        Role::Viewer,
        "The kinds of releases, with a JSON schema for each",
        openapi::list,
        |app, call| Box::pin(api::kinds(app, call)),
    ),
    api(
        "GET",
        "/v1/tables",
        Role::Viewer,
        "The tables and columns as they are declared; nothing comes from data",
        object,
        |app, call| Box::pin(api::tables(app, call)),
    ),
    Route {
        parameters: &[("format", "query: json or html")],
        ..api(
            "GET",
            "/v1/report",
            Role::Viewer,
            "The report of what was published and what that gives away",
            object,
            |app, call| Box::pin(api::report(app, call)),
        )
    },
    api("GET", "/v1/people", Role::Curator, "Who has access", object, |app, call| Box::pin(api::people(app, call))),
    Route {
        takes: Some(openapi::person),
        ..api(
            "POST",
            "/v1/people",
            Role::Curator,
            "Gives a person access; the token is shown once",
            openapi::token,
            |app, call| Box::pin(api::add(app, call)),
        )
    },
    Route {
        parameters: &[("name", "path: whose access ends")],
        ..api("DELETE", "/v1/people/{name}", Role::Curator, "Takes a person's access away", object, |app, call| {
            Box::pin(api::revoke(app, call))
        })
    },
    api("GET", "/v1/me", Role::Viewer, "Who you are", object, |app, call| Box::pin(api::me(app, call))),
    Route {
        who: RouteAccess::Anybody,
        ..api("GET", "/openapi.json", Role::Viewer, "This description", object, |_, _| Box::pin(api::described(ROUTES)))
    },
    Route {
        who: RouteAccess::Anybody,
        ..api("GET", "/healthz", Role::Viewer, "Whether the server can read its ledger", object, |app, _| {
            Box::pin(api::health(app))
        })
    },
    Route {
        who: RouteAccess::Near,
        gives: ("text/plain; version=0.0.4", text),
        ..api(
            "GET",
            "/metrics",
            Role::Viewer,
            "Numbers about the server for Prometheus; without a token on this machine alone",
            text,
            |app, _| Box::pin(api::metrics(app)),
        )
    },
    Route {
        who: RouteAccess::Anybody,
        takes: Some(openapi::token),
        ..api("POST", "/enter", Role::Viewer, "Begins a session with a token: gives a cookie", object, |app, call| {
            Box::pin(api::enter(app, call))
        })
    },
    Route {
        who: RouteAccess::Anybody,
        ..api("POST", "/leave", Role::Viewer, "Ends a session", object, |app, call| Box::pin(api::leave(app, call)))
    },
    Route {
        who: RouteAccess::Anybody,
        ..page("/enter", Role::Viewer, "The page to log in", |_, _| Box::pin(pages::enter()))
    },
    page("/", Role::Viewer, "Overview: what is left, and recent answers", |app, call| {
        Box::pin(pages::overview(app, call))
    }),
    page("/ask", Role::Analyst, "Ask: a query, what it would cost, its answer", |app, call| {
        Box::pin(pages::ask(app, call))
    }),
    page("/answers", Role::Viewer, "Answers that were charged", |app, call| Box::pin(pages::answers(app, call))),
    Route {
        parameters: &[("sequence", "path: the entry of the answer in the ledger")],
        ..page("/answers/{sequence}", Role::Viewer, "One answer", |app, call| Box::pin(pages::answer(app, call)))
    },
    page("/ledger", Role::Analyst, "What was charged and asked", |app, call| Box::pin(pages::ledger(app, call))),
    page("/who-learns-what", Role::Viewer, "What each release gives away about each attribute", |app, call| {
        Box::pin(pages::who_learns_what(app, call))
    }),
    page("/people", Role::Curator, "Who has access", |app, call| Box::pin(pages::people(app, call))),
    page("/report", Role::Viewer, "The report", |app, call| Box::pin(pages::report(app, call))),
    Route {
        who: RouteAccess::Anybody,
        gives: ("text/css", text),
        ..page("/style.css", Role::Viewer, "How pages look", |_, _| Box::pin(pages::style()))
    },
    Route {
        who: RouteAccess::Anybody,
        gives: ("text/javascript", text),
        ..page("/script.js", Role::Viewer, "What pages do", |_, _| Box::pin(pages::script()))
    },
];
