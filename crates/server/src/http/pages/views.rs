//! What stands on each page.

use crate::access::AccessRecord;
use crate::service::TableShown;
use maud::{Markup, html};
use scumble_engine::budget::{rounded_down, rounded_up};
use serde_json::Value;

/// This many rows of an answer stand on its page.
const SHOWN: usize = 1000;

/// A number rounded as the ledger's are: what was spent upwards.
fn spent(value: &Value) -> String {
    value.as_f64().map_or("∞".to_string(), rounded_up)
}

/// A value as text; numbers with as many digits as anybody reads.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "–".to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or("–".to_string(), readable),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The same as a cell of a table.
fn plain(value: &Value) -> Markup {
    html! { (text(value)) }
}

/// A cell of an answer: an interval is two numbers.
fn cell(value: &Value) -> Markup {
    match value.as_array().map(Vec::as_slice) {
        Some([low, high]) => html! { (text(low)) " to " (text(high)) },
        _ => plain(value),
    }
}

/// A table with a caption, which scrolls on its own where the page is narrow.
fn table(id: &str, caption: &str, header: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table id=(id) {
                caption { (caption) }
                thead { tr { @for name in header { th scope="col" { (name) } } } }
                tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }
}

/// Six digits of a number.
fn readable(number: f64) -> String {
    format!("{number:.5e}").parse().map_or("–".to_string(), |rounded: f64| rounded.to_string())
}

/// A time as people write it; the tables say that it is UTC.
fn moment(whole: &str) -> Markup {
    html! { time datetime=(whole) { (whole.trim_end_matches('Z').replace('T', " ")) } }
}

/// The name of a release, which leads to its answer.
fn named(one: &Value) -> Markup {
    match one["sequence"].as_u64() {
        Some(sequence) if one["state"] == "committed" => {
            html! { a href={ "/answers/" (sequence) } { (text(&one["release"])) } }
        }
        _ => plain(&one["release"]),
    }
}

/// The first letters of a query.
fn short(value: &Value) -> Markup {
    let Some(whole) = value.as_str() else { return html! { "–" } };
    let start: String = whole.chars().take(120).collect();
    html! { code { (start.trim()) @if start.len() < whole.len() { "…" } } }
}

/// What is left, and recent answers.
pub(super) fn overview(budget: &Value, answers: &Value) -> Markup {
    let all = answers["answers"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        h2 { "What is left" }
        (scopes(budget))
        @if !budget["own"].is_null() {
            h2 { "What is left of your own budget" }
            (scopes(&budget["own"]))
        }
        h2 { "Recent answers" }
        (listed(&all[..all.len().min(8)]))
    }
}

/// A bar for each scope that has a limit.
fn scopes(budget: &Value) -> Markup {
    let attributes = budget["attributes"].as_object().into_iter().flatten();
    html! {
        ul.scopes {
            @for scope in ["presence", "person"] { (bar(scope, &budget[scope], &budget["remaining"][scope])) }
            @for (name, cost) in attributes { (bar(name, cost, &budget["remaining"]["attributes"][name])) }
        }
    }
}

/// What was spent in a scope, and what is left of its limit.
fn bar(name: &str, cost: &Value, left: &Value) -> Markup {
    let (unit, left) = match (left["epsilon"].as_f64(), left["rho"].as_f64()) {
        (Some(left), _) => ("epsilon", left),
        (None, Some(left)) => ("rho", left),
        (None, None) => {
            return html! {
                li { span.scope { (name) } " " span { "epsilon " (spent(&cost["epsilon"])) " spent, no limit" } }
            };
        }
    };
    let used = cost[unit].as_f64().or(cost["approximate_zcdp"][unit].as_f64()).unwrap_or(0.0);
    let most = used + left;
    let share = if most > 0.0 { (used / most).clamp(0.0, 1.0) } else { 1.0 };
    let label = format!("{name}: {unit} {} of about {} spent", rounded_up(used), rounded_up(most));
    html! {
        li {
            span.scope { (name) } " "
            svg.bar role="img" aria-label=(label) viewBox="0 0 100 8" preserveAspectRatio="none" {
                rect.all width="100" height="8" {}
                rect.used width=(format!("{:.2}", 100.0 * share)) height="8" {}
            }
            " " span { (unit) " " (rounded_down(left)) " left" }
        }
    }
}

fn listed(answers: &[Value]) -> Markup {
    let rows = answers.iter().map(|one| {
        let sequence = one["sequence"].as_u64().unwrap_or(0);
        let link = html! { a href={ "/answers/" (sequence) } { (sequence) } };
        vec![link, moment(&text(&one["time"])), plain(&one["release"]), short(&one["sql"]), plain(&one["by"])]
    });
    let header = ["entry", "time (UTC)", "release", "query", "asked by"];
    match answers.is_empty() {
        true => html! { p { "Nothing has been published yet." } },
        false => table("answers", "Answers, newest first", &header, &rows.collect::<Vec<_>>()),
    }
}

/// Where one asks.
pub(super) fn ask(tables: &[TableShown]) -> Markup {
    html! {
        form #ask {
            label for="sql" { "Query" }
            textarea id="sql" rows="6" spellcheck="false" autocomplete="off" required {}
            p.line {
                label for="unit" { "Cost" }
                select #unit { option { "epsilon" } option { "rho" } }
                label for="number" class="hidden" { "Number" }
                input id="number" inputmode="decimal" value="0.1" required;
                label { input type="checkbox" id="fresh"; " new numbers, although there is an answer" } " "
                button { "Ask and pay" }
            }
        }
        aside aria-label="Tables" {
            h2 { "Tables" }
            @for table in tables { (declared(table)) }
        }
        div.told {
            section aria-labelledby="would" {
                h2 #would { "What it would cost" }
                div #plan role="status" { p { "Write a query: nothing is charged until you ask." } }
            }
            section aria-labelledby="got" {
                h2 #got { "Answer" }
                div #answer role="status" {}
            }
        }
    }
}

/// A table's columns, as they are declared.
fn declared(table: &TableShown) -> Markup {
    let owner = table.owner.as_ref().map_or("each row is one person".to_string(), |owner| format!("owner {owner}"));
    let owner = if table.public { "public".to_string() } else { owner };
    html! {
        details open {
            summary { code { (table.name) } " (" (owner) ")" }
            ul {
                @for column in &table.columns {
                    li {
                        code { (column.name) } " " (column.kind)
                        @for (key, value) in column.declared.as_object().into_iter().flatten() {
                            ", " (key) " " (text(value))
                        }
                        @if column.sensitive { ", sensitive" }
                    }
                }
            }
        }
    }
}

/// All answers.
pub(super) fn answers(answers: &Value) -> Markup {
    listed(answers["answers"].as_array().map_or(&[][..], Vec::as_slice))
}

/// One answer, with its downloads; the script draws it.
pub(super) fn answer(sequence: u64, answer: &Value) -> Markup {
    let rows = answer["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ordered(answer);
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = rows.iter().take(SHOWN).map(|row| names.iter().map(|name| cell(&row[name.as_str()])).collect());
    let notes = answer["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    html! {
        p { "Release " (answer["release"].as_str().unwrap_or_default()) ", entry " (sequence) " of the ledger." }
        p {
            "Download: "
            @for (index, form) in ["csv", "json", "parquet", "arrow"].into_iter().enumerate() {
                @if index > 0 { ", " }
                a href={ "/v1/answers/" (sequence) "?format=" (form) } { (form) }
            }
        }
        div #chart data-answer=(sequence) {}
        (table("rows", "The answer", &header, &cells.collect::<Vec<_>>()))
        @if rows.len() > SHOWN { p { "The first " (SHOWN) " of " (rows.len()) " rows; the files have all." } }
        @for note in notes { p { (note) } }
    }
}

/// The keys of an answer's rows: its columns in their order, each with what stands beside it.
fn ordered(answer: &Value) -> Vec<String> {
    let keys: Vec<&String> = answer["rows"][0].as_object().into_iter().flat_map(|row| row.keys()).collect();
    let columns: Vec<&str> = answer["columns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut names: Vec<String> = Vec::new();
    for column in &columns {
        let beside = |key: &&&String| {
            let rest = key.strip_prefix(column).and_then(|rest| rest.strip_prefix('_'));
            rest.is_some_and(|rest| ["error", "interval", "rank_error", "rank_interval"].contains(&rest))
                && !columns.contains(&key.as_str())
        };
        names.extend(
            keys.iter()
                .filter(|key| key.as_str() == *column)
                .chain(keys.iter().filter(beside))
                .map(|key| key.to_string()),
        );
    }
    names.extend(keys.iter().filter(|key| !names.contains(key)).map(|key| key.to_string()).collect::<Vec<_>>());
    names
}

/// What was charged and asked.
pub(super) fn ledger(history: &Value, is_curator: bool) -> Markup {
    let list = |name: &str| history[name].as_array().into_iter().flatten().rev();
    let charges: Vec<Vec<Markup>> = list("releases").map(charged).collect();
    let asked: Vec<Vec<Markup>> = list("asked").map(free).collect();
    let header = ["entry", "time (UTC)", "release", "query", "asked by", "state", "epsilon (person)"];
    html! {
        p { (history["entries"].to_string()) " entries, head " code { (text(&history["head"])) } }
        @if is_curator {
            p {
                button type="button" id="verify" { "Verify every entry" } " "
                span #verified role="status" {}
            }
        }
        p {
            label for="filter" { "Filter" } " "
            input id="filter" type="search" data-tables="charges asked";
        }
        h2 { "Charged" }
        (table("charges", "What was charged, newest first", &header, &charges))
        h2 { "Asked at no cost" }
        (table(
            "asked",
            "What was asked and cost nothing, newest first",
            &["entry", "time (UTC)", "query", "cost", "asked by", "what came of it"],
            &asked,
        ))
    }
}

/// A charge's line.
fn charged(one: &Value) -> Vec<Markup> {
    vec![
        plain(&one["sequence"]),
        moment(&text(&one["time"])),
        named(one),
        short(&one["sql"]),
        plain(&one["by"]),
        plain(&one["state"]),
        html! { (spent(&one["person"]["epsilon"])) },
    ]
}

/// The line of what was asked at no cost.
fn free(one: &Value) -> Vec<Markup> {
    let came = match (one["answer"].as_u64(), one["planned"].as_u64()) {
        (Some(answer), _) => html! { "answer " (answer) ", which was charged before" },
        (None, Some(answer)) => html! { "a plan, which said that answer " (answer) " is stored" },
        (None, None) => plain(&one["refused"]),
    };
    let when = moment(&text(&one["time"]));
    vec![plain(&one["sequence"]), when, short(&one["what"]), plain(&one["cost"]), plain(&one["by"]), came]
}

/// Attributes against releases, and what weaker attackers learn.
pub(super) fn who_learns_what(report: &Value) -> Markup {
    let summary = &report["summary"];
    let names: Vec<&str> =
        summary["attributes"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    // Sets of attributes are named with a comma between them.
    let (together, single): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.contains(','));
    let header = [&["release", "person"][..], &single].concat();
    let sets: Vec<String> = together.iter().map(|names| names.replace(',', " and ")).collect();
    let header_of_sets: Vec<&str> = std::iter::once("release").chain(sets.iter().map(String::as_str)).collect();
    html! {
        p {
            "How much each release gives away, as epsilon: about a whole person, and about each attribute. The \
             darker, the more. Releases of other analysts are in the last line, and not shown one by one."
        }
        (table("matrix", "Releases and attributes", &header, &matrix(summary, &single, true)))
        @if !together.is_empty() {
            h2 { "Sensitive attributes together with others" }
            (table("together", "Releases and sets of attributes", &header_of_sets, &matrix(summary, &together, false)))
        }
        h2 { "Attackers who know less" }
        (attackers(report))
    }
}

/// What the attacker whom the project declares learns from each release.
fn attackers(report: &Value) -> Markup {
    let rows = report["attackers"].as_array().into_iter().flatten().map(|one| {
        let against = one["epsilon"].as_f64().map_or("nothing better is claimed".to_string(), rounded_up);
        vec![plain(&one["release"]), html! { (spent(&one["without_assumptions"]["epsilon"])) }, html! { (against) }]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let header = ["release", "epsilon against everybody", "epsilon against the declared attacker"];
    html! {
        @if rows.is_empty() {
            p { "The project declares no weaker attacker, or no release that could be analysed." }
        } @else {
            p {
                "What holds against everybody holds against weaker attackers too. Where the attacker whom the project \
                 declares learns less, the last column says so, for each release taken alone; it holds as long as what \
                 is declared about them is true. The report says what that is."
            }
            (table("attackers", "What weaker attackers learn", &header, &rows))
        }
    }
}

/// A line for each release and one for all: what it gives away about a person, where that is asked, and about each
/// of these.
fn matrix(summary: &Value, names: &[&str], with_person: bool) -> Vec<Vec<Markup>> {
    let row = |name: Markup, one: &Value| {
        let mut cells = vec![name];
        cells.extend(with_person.then(|| heat(&one["person"]["epsilon"])));
        cells.extend(names.iter().map(|name| heat(&one["attributes"][*name]["epsilon"])));
        cells
    };
    let releases = summary["releases"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<Markup>> = releases.map(|one| row(named(one), one)).collect();
    rows.push(row(html! { strong { "all releases together" } }, summary));
    rows
}

/// An epsilon on a ground that is the darker, the larger it is.
fn heat(value: &Value) -> Markup {
    let degree = match value.as_f64() {
        Some(epsilon) if epsilon <= 0.0 => 0,
        Some(epsilon) if epsilon <= 0.1 => 1,
        Some(epsilon) if epsilon <= 0.5 => 2,
        Some(epsilon) if epsilon <= 1.0 => 3,
        _ => 4,
    };
    html! { span class={ "heat heat-" (degree) } { (spent(value)) } }
}

/// Who has access.
pub(super) fn people(people: &[AccessRecord]) -> Markup {
    let rows = people.iter().map(|one| {
        let button = match &one.revoked {
            Some(time) => html! { "revoked " (moment(time)) },
            None => html! { button type="button" data-revoke=(one.name) { "Revoke " (one.name) } },
        };
        vec![html! { (one.name) }, html! { (one.role.to_string()) }, moment(&one.added), button]
    });
    let header = ["name", "role", "added (UTC)", "access"];
    html! {
        form #add {
            p.line {
                label for="name" { "Name" }
                input id="name" required pattern="[a-z0-9][a-z0-9._\\-]*" maxlength="63"; " "
                label for="role" { "Role" }
                select #role { option { "analyst" } option { "viewer" } option { "curator" } } " "
                button { "Give access" }
            }
        }
        p #said role="status" {}
        (table("people", "Everybody who has or had access", &header, &rows.collect::<Vec<_>>()))
    }
}

/// The verdict, and where the whole report is.
pub(super) fn report(report: &Value) -> Markup {
    html! {
        @for sentence in report["verdict"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            p { (sentence) }
        }
        p {
            a href="/v1/report?format=html" { "The report on a page of its own" } ", or "
            a href="/v1/report?format=json" { "as JSON" } "."
        }
        iframe.report title="The report" src="/v1/report?format=html" {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What comes from a table or from somebody's text is text on a page, wherever it stands.
    #[test]
    fn texts_are_never_markup() {
        let evil = "<script>alert(1)</script>\"'";
        let row = json!({ evil: evil, "n": 1.5, "n_error": 28.281325184025587, "n_interval": [-1.0, 3.25] });
        let answered = json!({ "rows": [row], "columns": [evil, "n"], "notes": [evil], "release": evil });
        let one = json!({ "sequence": 1, "time": evil, "release": evil, "sql": evil, "by": evil, "state": "committed", "what": evil, "cost": evil, "refused": evil });
        let history = json!({ "releases": [one], "asked": [one], "head": evil, "entries": 1 });
        let report = json!({
            "summary": { "releases": [one], "attributes": { evil: {}, "a,b": {} } }, "verdict": [evil],
            "attackers": [{ "release": evil }],
        });
        let people = [AccessRecord {
            name: evil.into(),
            role: crate::access::Role::Viewer,
            added: evil.into(),
            revoked: Some(evil.into()),
        }];
        let pages = [
            answer(1, &answered),
            answers(&json!({ "answers": [one] })),
            ledger(&history, true),
            who_learns_what(&report),
            super::people(&people),
            super::report(&report),
            overview(&json!({ "attributes": { evil: {} } }), &json!({ "answers": [one] })),
        ];
        for page in pages {
            let page = page.into_string();
            assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        }
        let shown = answer(1, &answered).into_string();
        let columns: Vec<&str> =
            shown.split("<th scope=\"col\">").skip(2).map(|part| part.split('<').next().unwrap()).collect();
        assert_eq!(columns, ["n", "n_error", "n_interval"]);
        assert!(shown.contains("<td>28.2813</td><td>-1 to 3.25</td>"), "{shown}");
    }
}
