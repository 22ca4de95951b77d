use super::*;
use axum::body::to_bytes;
use scumble_testing::Folder;
use std::collections::BTreeSet;
use tower::ServiceExt;

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

async fn status(router: &Router, method: &str, path: &str) -> (u16, String) {
    let request =
        axum::http::Request::builder().method(method).uri(path).header(HOST, "here").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

/// The document has every route of the table, with its role, its body and its refusals; and the router answers every path of the document, and no other.
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
