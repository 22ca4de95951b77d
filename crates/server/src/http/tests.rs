use super::*;
use crate::access;
use axum::body::to_bytes;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use scumble_testing::Folder;
use std::collections::BTreeSet;
use tower::ServiceExt;

mod golden;

const PROJECT: &str = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\na = { type = \"int\", lower = 0, upper = 9 }\n[budget]\nperson = { epsilon = 1 }\n";

fn folder() -> Folder {
    Folder::with(&[("t.csv", "a\n1\n2\n"), ("scumble.toml", PROJECT)])
}

fn app(folder: &Folder) -> Arc<App> {
    let project = scumble_engine::project::Project::open(&folder.file("scumble.toml")).unwrap();
    let service = Arc::new(Service::new(project, None, None).unwrap());
    let (sessions, _) = Sessions::begin().unwrap();
    Arc::new(App { service, sessions, answer_time: None, hosts: vec!["here".to_string()], is_secure: false })
}

/// What was sent back.
struct TestReply {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl TestReply {
    fn header(&self, name: &HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// A refusal in JSON of this status and type, with a sentence with these words.
    fn is_problem(&self, status: u16, word: &str, words: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header(&CONTENT_TYPE), "application/problem+json");
        let shown: serde_json::Value = serde_json::from_str(&self.text).unwrap();
        assert_eq!((&shown["status"], &shown["type"]), (&status.into(), &format!("urn:scumble:problem:{word}").into()));
        assert!(shown["detail"].as_str().unwrap().contains(words), "said: {shown}\n not: {words}");
    }
}

/// Calls a route with these headers and this body.
async fn called(router: &Router, method: &str, path: &str, headers: &[(HeaderName, &str)], body: &str) -> TestReply {
    let mut request = axum::http::Request::builder().method(method).uri(path).header(HOST, "here");
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    TestReply { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
}

async fn status(router: &Router, method: &str, path: &str) -> (u16, String) {
    let reply = called(router, method, path, &[], "").await;
    (reply.status, reply.text)
}

/// What somebody of this role sends to be known.
fn bearer(folder: &Folder, name: &str, role: Role) -> String {
    format!("Bearer {}", access::add(&folder.file("scumble.ledger"), name, role).unwrap())
}

/// The document has every route of the table, with its role, its body and its refusals; and the router answers every
/// path of the document, and no other.
#[tokio::test]
async fn the_description_is_that_of_every_route() {
    let folder = folder();
    let router = router(app(&folder));
    let (_, text) = status(&router, "GET", "/openapi.json").await;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            described.insert((method.to_uppercase(), path.clone()));
            assert!(
                operation["responses"]["200"].is_object() && operation["summary"].as_str().unwrap().len() > 5,
                "{path}"
            );
            let given = path.replace("{sequence}", "1").replace("{name}", "nobody");
            let (status, text) = status(&router, &method.to_uppercase(), &given).await;
            assert!(status != 404 && status != 405, "{method} {path} is described and not there: {text}");
            let guarded = operation["security"].as_array().is_some_and(|list| !list.is_empty());
            let is_page = operation["tags"][0] == "pages";
            match (guarded, is_page) {
                (true, false) => assert_eq!(status, 401, "{method} {path} without a token"),
                (true, true) => assert_eq!(status, 303, "{method} {path} without a session"),
                (false, _) => assert!([200, 400].contains(&status), "{method} {path}: {status}"),
            }
            for part in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                let parameters = operation["parameters"].as_array().unwrap();
                assert!(
                    parameters.iter().any(|one| one["name"] == part && one["in"] == "path"),
                    "{path} does not describe {part}"
                );
            }
        }
    }
    let routes: BTreeSet<(String, String)> =
        ROUTES.iter().map(|route| (route.method.to_string(), route.path.to_string())).collect();
    assert_eq!(described, routes);
    assert_eq!(routes.len(), ROUTES.len(), "no route stands there twice");
    assert!(routes.len() > 25);
    let (missing, text) = status(&router, "GET", "/v1/../scumble.toml").await;
    assert_eq!(missing, 404, "{text}");
    assert_eq!(status(&router, "PUT", "/v1/plan").await.0, 405);
}

#[tokio::test]
async fn another_name_than_its_own_is_refused() {
    let folder = folder();
    let router = router(app(&folder));
    let request =
        axum::http::Request::builder().uri("/healthz").header(HOST, "evil.example").body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status().as_u16(), 403);
}

#[test]
fn times_are_rounded_up_to_the_unit() {
    let millis = Duration::from_millis;
    assert_eq!(rest(millis(1), millis(1000)), millis(999));
    assert_eq!(rest(millis(1001), millis(1000)), millis(999));
    assert_eq!(rest(millis(2000), millis(1000)), millis(0));
}

#[test]
fn what_changes_something_comes_from_our_own_pages() {
    let said = |pairs: &[(&str, &str)]| {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("here"));
        for (name, value) in pairs {
            headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        from_here(&headers).is_ok()
    };
    assert!(said(&[]) && said(&[("origin", "http://here")]) && said(&[("sec-fetch-site", "same-origin")]));
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://here.evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        assert!(!said(&[(name, value)]), "{name}: {value}");
    }
}

#[test]
fn a_cookie_is_found_among_others() {
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_static("a=b; scumble-session=abc; c=d"));
    assert_eq!(cookie(&headers), Some("abc"));
    headers.insert(COOKIE, HeaderValue::from_static("xscumble-session=abc"));
    assert_eq!(cookie(&headers), None);
}

/// Refusals are JSON with a type, a status and a sentence, whatever is wrong; and every answer has what keeps browsers
/// in check.
#[tokio::test]
async fn a_refusal_is_a_problem_with_its_sentence() {
    let folder = folder();
    let router = router(app(&folder));
    let vic = bearer(&folder, "vic", Role::Viewer);
    let get = |path: &'static str, token: &str| {
        let (router, token) = (router.clone(), token.to_string());
        async move {
            let headers = [(AUTHORIZATION, token.as_str())];
            called(&router, "GET", path, if token.is_empty() { &[] } else { &headers }, "").await
        }
    };
    let unknown = get("/v1/budget", "").await;
    unknown.is_problem(401, "token", "this needs a token: send 'Authorization: Bearer TOKEN'");
    assert_eq!(unknown.header(&WWW_AUTHENTICATE), "Bearer");
    for token in ["Bearer nobody's", "Basic dmljOng=", "vic"] {
        assert_eq!(get("/v1/budget", token).await.status, 401, "{token}");
    }
    let missing = get("/v1/nothing", "").await;
    missing.is_problem(404, "not-found", "there is no such path; /openapi.json lists them");
    let method = called(&router, "PUT", "/v1/plan", &[], "").await;
    method.is_problem(405, "method", "this path does not take this method; /openapi.json says which");
    let health = get("/healthz", "").await;
    let seen = get("/", &vic).await;
    assert_eq!((health.status, seen.status), (200, 200), "{}", seen.text);
    for reply in [unknown, missing, method, health, seen] {
        assert_eq!(reply.header(&CONTENT_SECURITY_POLICY), POLICY);
        assert_eq!(reply.header(&CACHE_CONTROL), "no-store");
        assert_eq!(reply.header(&X_FRAME_OPTIONS), "DENY");
        assert_eq!(reply.header(&HeaderName::from_static("x-content-type-options")), "nosniff");
    }
}

/// Every route of the table, called by everybody: by those below its role it is refused before it is looked at, by the
/// others not for their role.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_for_its_role_and_those_above() {
    let folder = folder();
    let router = router(app(&folder));
    let roles = [("vic", Role::Viewer), ("ann", Role::Analyst), ("cas", Role::Curator)];
    let tokens = roles.map(|(name, role)| (role, bearer(&folder, name, role)));
    let mut refused = 0;
    for route in ROUTES {
        let path = route.path.replace("{sequence}", "1").replace("{name}", "nobody");
        for (role, token) in &tokens {
            let reply = called(&router, route.method, &path, &[(AUTHORIZATION, token.as_str())], "").await;
            let (method, least) = (route.method, route.who);
            match route.who {
                RouteAccess::Role(least) if *role < least => {
                    assert_eq!(reply.status, 403, "{method} {path} by {role:?}: {}", reply.text);
                    refused += 1;
                }
                _ => assert!(
                    ![401, 403, 405].contains(&reply.status),
                    "{method} {path} by {role:?} ({least:?}): {}",
                    reply.text
                ),
            }
        }
    }
    assert!(refused > 10, "{refused}");
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_said_to_be() {
    let folder = folder();
    let router = router(app(&folder));
    let ann = bearer(&folder, "ann", Role::Analyst);
    let long = format!("{{\"sql\": \"{}\"}}", "x".repeat(70 << 10));
    for (kind, body, status, word, words) in [
        ("text/plain", "{}", 400, "input", "the body must be JSON: send 'Content-Type: application/json'"),
        ("", "{}", 400, "input", "the body must be JSON: send 'Content-Type: application/json'"),
        ("application/json", "{\n\"sql\": }", 400, "input", "the body is not JSON (line 2, column 8)"),
        ("application/json", "[]", 400, "input", "the body must be a JSON object"),
        (
            "application/json",
            "{\"slq\": \"x\"}",
            400,
            "input",
            "the body has the unknown key 'slq' (did you mean 'sql'?)",
        ),
        ("Application/JSON; charset=utf-8", "3", 400, "input", "the body must be a JSON object"),
        ("application/json", &long, 413, "too-large", "the body is longer than 64 KiB, or was cut off"),
    ] {
        let headers = [(AUTHORIZATION, ann.as_str()), (CONTENT_TYPE, kind)];
        called(&router, "POST", "/v1/plan", &headers, body).await.is_problem(status, word, words);
    }
    assert!(!folder.file("scumble.ledger").exists(), "nothing was charged");
}

/// A table, a column and an alias that are markup elsewhere are texts in every page.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_wrote_is_text_in_every_page() {
    let (script, image) = ("<script>alert(1)</script>", "<img src=x onerror=alert(2)>");
    let project = format!(
        "[dataset.\"{script}\"]\nsource = \"t.csv\"\n[dataset.\"{script}\".columns]\n\"{image}\" = {{ type = \"int\", lower = 0, upper = 9 }}\n[budget]\nperson = {{ epsilon = 1 }}\n"
    );
    let folder = Folder::with(&[("t.csv", &format!("{image}\n1\n2\n")), ("scumble.toml", &project)]);
    let router = router(app(&folder));
    let cas = bearer(&folder, "cas", Role::Curator);
    let headers = [(AUTHORIZATION, cas.as_str()), (CONTENT_TYPE, "application/json")];
    let sql = format!("SELECT COUNT(\"{image}\") AS \"{image}\" FROM \"{script}\"");
    let body = serde_json::json!({ "sql": sql, "cost": { "epsilon": 0.5 } }).to_string();
    let asked = called(&router, "POST", "/v1/query", &headers, &body).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    let mut pages = BTreeSet::new();
    for route in ROUTES.iter().filter(|route| route.is_page && route.gives.0.starts_with("text/html")) {
        for sequence in ["1", "2", "3", "4"] {
            let path = route.path.replace("{sequence}", sequence);
            let page = called(&router, route.method, &path, &headers, "").await;
            assert!(!page.text.contains("<script>alert") && !page.text.contains("<img src=x"), "{path}: {}", page.text);
            if page.text.contains("&lt;img src=x onerror=alert(2)&gt;") {
                pages.insert(route.path);
            }
        }
    }
    assert!(pages.len() >= 3, "the names are on {pages:?} alone");
}
