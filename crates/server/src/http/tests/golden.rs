//! The body of every route for programs, to the letter. A change of a type that moves a byte of these by accident fails
//! here.
//!
//! After a change that is meant, `SCUMBLE_GOLDEN=1 cargo test -p scumble-server --lib golden` writes the files anew.

use super::*;
use scumble_testing::golden;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// At such a cost the noise is 0, except with a probability below 1e-40: so the files need no random numbers.
const COST: u32 = 200;

const BY_SEX: &str = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";

/// A table with every type of column, a budget, an analyst with one of their own, a weaker attacker, and a release.
const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
public_owners = 300
[dataset.people.columns]
sex = { type = "category", values = ["f", "m"], sensitive = true }
age = { type = "int", lower = 0, upper = 100 }
income = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
insured = { type = "bool" }
day = { type = "date", lower = "2020-01-01", upper = "2020-01-03" }
seen = { type = "timestamp", lower = "2020-01-01T00:00:00", upper = "2020-01-03T00:00:00" }
[dataset.clinics]
source = "clinics.csv"
public = true
[dataset.clinics.columns]
clinic = { type = "category" }
[budget]
person = { epsilon = 2000 }
[analyst.bob]
person = { epsilon = 500 }
[attacker]
known_rows = 0.5
mode = "passive"
uncertainty = 0.05
independence = "declared"
delta = 1e-6
[[release]]
name = "by insurance"
sql = "SELECT insured, COUNT(*) AS n FROM people GROUP BY insured"
cost = { epsilon = 200 }
"#;

fn project() -> Folder {
    let mut people = String::from("sex,age,income,insured,day,seen\n");
    for number in 0..300 {
        let (sex, age, income) = (["f", "m", "m"][number % 3], number % 90, number as f64 / 2.0);
        let (insured, day) = (number % 4 == 0, 1 + number % 3);
        people.push_str(&format!("{sex},{age},{income},{insured},2020-01-0{day},2020-01-0{day}T00:00:00\n"));
    }
    Folder::with(&[("scumble.toml", PROJECT), ("people.csv", &people), ("clinics.csv", "clinic\nnorth\n")])
}

/// Calls one route after the other, and keeps what they give.
struct Recorder {
    router: Router,
    routes: BTreeSet<(&'static str, &'static str)>,
    bodies: BTreeMap<String, String>,
}

impl Recorder {
    /// Calls a route, which has this status, and keeps its body under this name; gives its text.
    async fn call(
        &mut self,
        name: &str,
        status: u16,
        token: Option<&str>,
        route: (&'static str, &'static str, &str),
        body: Option<Value>,
    ) -> String {
        let (method, path, at) = route;
        let mut headers = vec![(CONTENT_TYPE, "application/json")];
        headers.extend(token.map(|token| (AUTHORIZATION, token)));
        let body = body.map_or_else(String::new, |body| body.to_string());
        let reply = called(&self.router, method, at, &headers, &body).await;
        assert_eq!(reply.status, status, "{name}: {}", reply.text);
        self.routes.insert((method, path));
        let end = if reply.header(&CONTENT_TYPE).contains("json") { "json" } else { "txt" };
        assert!(self.bodies.insert(format!("{name}.{end}"), reply.text.clone()).is_none(), "{name} stands there twice");
        reply.text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_the_server_is_as_it_was() {
    let folder = project();
    let mut record = Recorder { router: router(app(&folder)), routes: BTreeSet::new(), bodies: BTreeMap::new() };
    let cas = bearer(&folder, "cas", Role::Curator);
    let bob = bearer(&folder, "bob", Role::Analyst);
    let vic = bearer(&folder, "vic", Role::Viewer);
    let [cas, bob, vic] = [&cas, &bob, &vic].map(|token| Some(token.as_str()));
    let token = bob.and_then(|bearer| bearer.strip_prefix("Bearer ")).unwrap();
    let cost = json!({ "epsilon": COST });
    let question = || Some(json!({ "sql": BY_SEX, "cost": cost }));
    let plan = ("POST", "/v1/plan", "/v1/plan");
    let query = ("POST", "/v1/query", "/v1/query");

    record.call("healthz", 200, None, ("GET", "/healthz", "/healthz"), None).await;
    record.call("openapi", 200, None, ("GET", "/openapi.json", "/openapi.json"), None).await;
    record.call("enter", 200, None, ("POST", "/enter", "/enter"), Some(json!({ "token": token }))).await;
    record.call("me", 200, bob, ("GET", "/v1/me", "/v1/me"), None).await;
    record.call("kinds", 200, bob, ("GET", "/v1/kinds", "/v1/kinds"), None).await;
    record.call("tables", 200, bob, ("GET", "/v1/tables", "/v1/tables"), None).await;
    record.call("budget-at-first", 200, vic, ("GET", "/v1/budget", "/v1/budget"), None).await;
    record.call("plan", 200, bob, plan, question()).await;
    let answer = record.call("query", 200, bob, query, question()).await;
    record.call("query-again", 200, bob, query, question()).await;
    record.call("plan-of-an-answer", 200, bob, plan, question()).await;
    let beyond = Some(json!({ "sql": BY_SEX, "cost": { "epsilon": "900", "scope": "person" } }));
    record.call("plan-beyond", 200, bob, plan, beyond.clone()).await;
    record.call("query-beyond", 402, bob, query, beyond).await;
    let wrong = Some(json!({ "sql": "SELECT COUNT(*) AS n\nFROM peple", "cost": cost }));
    record.call("query-wrong", 400, bob, query, wrong).await;
    record.call("release", 200, cas, ("POST", "/v1/release", "/v1/release"), Some(json!({}))).await;
    record.call("release-again", 200, cas, ("POST", "/v1/release", "/v1/release"), Some(json!({}))).await;
    record.call("answers", 200, bob, ("GET", "/v1/answers", "/v1/answers"), None).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let at = format!("/v1/answers/{}", answer["sequence"]);
    record.call("answer", 200, bob, ("GET", "/v1/answers/{sequence}", &at), None).await;
    record.call("answer-not-seen", 404, vic, ("GET", "/v1/answers/{sequence}", &at), None).await;
    record.call("ledger", 200, bob, ("GET", "/v1/ledger", "/v1/ledger"), None).await;
    record.call("ledger-of-a-curator", 200, cas, ("GET", "/v1/ledger", "/v1/ledger"), None).await;
    record.call("verify", 200, cas, ("GET", "/v1/ledger/verify", "/v1/ledger/verify"), None).await;
    record.call("budget", 200, bob, ("GET", "/v1/budget", "/v1/budget"), None).await;
    record.call("report", 200, vic, ("GET", "/v1/report", "/v1/report?format=json"), None).await;
    let una = Some(json!({ "name": "una", "role": "viewer" }));
    record.call("people-added", 200, cas, ("POST", "/v1/people", "/v1/people"), una).await;
    record.call("people", 200, cas, ("GET", "/v1/people", "/v1/people"), None).await;
    record.call("people-revoked", 200, cas, ("DELETE", "/v1/people/{name}", "/v1/people/una"), None).await;
    record.call("leave", 200, None, ("POST", "/leave", "/leave"), None).await;
    record.call("metrics", 200, cas, ("GET", "/metrics", "/metrics"), None).await;

    let all = ROUTES.iter().filter(|route| !route.is_page).map(|route| (route.method, route.path));
    assert_eq!(record.routes, all.collect(), "every route for programs has a golden body");
    let masked = |(name, text): (String, String)| (name, golden::masked(&text, folder.path()));
    let bodies = record.bodies.into_iter().map(masked).collect();
    golden::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &bodies);
}
