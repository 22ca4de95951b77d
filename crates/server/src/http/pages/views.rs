//! What stands on each page.

use super::html::{Html, escaped};
use crate::access::Listed;
use crate::service::TableShown;
use scumble_engine::budget::{rounded_down, rounded_up};
use serde_json::Value;

/// A number rounded as the ledger's are: what was spent upwards.
fn spent(value: &Value) -> String {
    value.as_f64().map_or("∞".to_string(), rounded_up)
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "–".to_string(),
        Value::String(text) => escaped(text),
        Value::Array(list) => escaped(
            &list
                .iter()
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_string))
                .collect::<Vec<_>>()
                .join(" to "),
        ),
        other => escaped(&other.to_string()),
    }
}

/// The first letters of a query.
fn short(value: &Value) -> String {
    let Some(whole) = value.as_str() else { return "–".to_string() };
    let start: String = whole.chars().take(120).collect();
    let more = if start.len() < whole.len() { "…" } else { "" };
    format!("<code>{}{more}</code>", escaped(start.trim()))
}

/// What is left, and recent answers.
pub(super) fn overview(budget: &Value, answers: &Value) -> Html {
    let mut page = Html::default().heading("What is left").raw(&scopes(budget));
    if !budget["own"].is_null() {
        page = page.heading("What is left of your own budget").raw(&scopes(&budget["own"]));
    }
    let all = answers["answers"].as_array().map_or(&[][..], Vec::as_slice);
    let page = page.heading("Recent answers");
    match all.is_empty() {
        true => page.paragraph("Nothing has been published yet."),
        false => listed(page, &all[..all.len().min(8)]),
    }
}

/// A bar for each scope that has a limit.
fn scopes(budget: &Value) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, cost: &Value, left: &Value| {
        let (unit, left) = match (left["epsilon"].as_f64(), left["rho"].as_f64()) {
            (Some(left), _) => ("epsilon", left),
            (None, Some(left)) => ("rho", left),
            (None, None) => {
                rows.push(format!(
                    "<li><span class=\"scope\">{}</span> <span>epsilon {} spent, no limit</span></li>",
                    escaped(name),
                    spent(&cost["epsilon"])
                ));
                return;
            }
        };
        let used = cost[unit].as_f64().or(cost["approximate_zcdp"][unit].as_f64()).unwrap_or(0.0);
        let most = used + left;
        let share = if most > 0.0 { (used / most).clamp(0.0, 1.0) } else { 1.0 };
        rows.push(format!(
            "<li><span class=\"scope\">{name}</span> <svg class=\"bar\" role=\"img\" aria-label=\"{name}: {unit} {} of about {} spent\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\"><rect class=\"all\" width=\"100\" height=\"8\"/><rect class=\"used\" width=\"{:.2}\" height=\"8\"/></svg> <span>{unit} {} left</span></li>",
            rounded_up(used), rounded_up(most), 100.0 * share, rounded_down(left), name = escaped(name)
        ));
    };
    for scope in ["presence", "person"] {
        row(scope, &budget[scope], &budget["remaining"][scope]);
    }
    for (name, cost) in budget["attributes"].as_object().into_iter().flatten() {
        row(name, cost, &budget["remaining"]["attributes"][name]);
    }
    format!("<ul class=\"scopes\">{}</ul>", rows.concat())
}

fn listed(page: Html, answers: &[Value]) -> Html {
    let rows = answers.iter().map(|one| {
        let link = format!("<a href=\"/answers/{0}\">{0}</a>", one["sequence"].as_u64().unwrap_or(0));
        vec![link, text(&one["time"]), text(&one["release"]), short(&one["sql"]), text(&one["by"])]
    });
    page.table(
        "answers",
        "Answers, newest first",
        &["entry", "time", "release", "query", "asked by"],
        &rows.collect::<Vec<_>>(),
    )
}

/// Where one asks.
pub(super) fn ask(tables: &[TableShown]) -> Html {
    let mut aside = String::new();
    for table in tables {
        let columns: String = table
            .columns
            .iter()
            .map(|column| {
                let sensitive = if column.sensitive { ", sensitive" } else { "" };
                let declared = column.declared.as_object().into_iter().flatten();
                let declared: String = declared.map(|(key, value)| format!(", {key} {}", text(value))).collect();
                format!("<li><code>{}</code> {}{declared}{sensitive}</li>", escaped(&column.name), column.kind)
            })
            .collect();
        let owner = table.owner.as_ref().map_or("each row is one person".to_string(), |owner| format!("owner {owner}"));
        let owner = if table.public { "public".to_string() } else { owner };
        aside.push_str(&format!(
            "<details open><summary><code>{}</code> ({})</summary><ul>{columns}</ul></details>",
            escaped(&table.name),
            escaped(&owner)
        ));
    }
    Html::default().raw(&format!(
        "<div class=\"ask\"><form id=\"ask\"><label for=\"sql\">Query</label><textarea id=\"sql\" rows=\"6\" spellcheck=\"false\" autocomplete=\"off\" required></textarea>\
         <p class=\"line\"><label for=\"unit\">Cost</label><select id=\"unit\"><option>epsilon</option><option>rho</option></select>\
         <label for=\"number\" class=\"hidden\">Number</label><input id=\"number\" inputmode=\"decimal\" value=\"0.1\" required>\
         <label><input type=\"checkbox\" id=\"fresh\"> new numbers, although there is an answer</label> <button>Ask and pay</button></p></form>\
         <section aria-labelledby=\"would\"><h2 id=\"would\">What it would cost</h2><div id=\"plan\" role=\"status\"><p>Write a query: nothing is charged until you ask.</p></div></section>\
         <section aria-labelledby=\"got\"><h2 id=\"got\">Answer</h2><div id=\"answer\" role=\"status\"></div></section></div>\
         <aside aria-label=\"Tables\"><h2>Tables</h2>{aside}</aside>"
    ))
}

/// All answers.
pub(super) fn answers(answers: &Value) -> Html {
    match answers["answers"].as_array() {
        Some(all) if !all.is_empty() => listed(Html::default(), all),
        _ => Html::default().paragraph("Nothing has been published yet."),
    }
}

/// One answer, with its downloads; the script draws it.
pub(super) fn answer(sequence: u64, answer: &Value) -> Html {
    let rows = answer["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&String> = rows.first().and_then(Value::as_object).into_iter().flat_map(|row| row.keys()).collect();
    let header: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let cells = rows.iter().take(1000).map(|row| names.iter().map(|name| text(&row[name.as_str()])).collect());
    let links = ["csv", "json", "parquet", "arrow"]
        .map(|form| format!("<a href=\"/v1/answers/{sequence}?format={form}\">{form}</a>"));
    let page = Html::default()
        .paragraph(&format!(
            "Release {}, entry {sequence} of the ledger.",
            answer["release"].as_str().unwrap_or_default()
        ))
        .raw(&format!("<p>Download: {}</p><div id=\"chart\" data-answer=\"{sequence}\"></div>", links.join(", ")))
        .table("rows", "The answer", &header, &cells.collect::<Vec<_>>());
    let notes = answer["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    notes.fold(page, |page, note| page.paragraph(note))
}

/// What was charged and asked.
pub(super) fn ledger(history: &Value, is_curator: bool) -> Html {
    let head = format!("{} entries, head ", history["entries"]);
    let mut page = Html::default().raw(&format!("<p>{head}<code>{}</code></p>", text(&history["head"])));
    if is_curator {
        page = page.raw("<p><button type=\"button\" id=\"verify\">Verify every entry</button> <span id=\"verified\" role=\"status\"></span></p>");
    }
    page = page.raw("<p><label for=\"filter\">Filter</label> <input id=\"filter\" type=\"search\" data-tables=\"charges asked\"></p>");
    let charges = history["releases"].as_array().into_iter().flatten().rev().map(|one| {
        vec![
            text(&one["sequence"]),
            text(&one["time"]),
            text(&one["release"]),
            short(&one["sql"]),
            text(&one["by"]),
            text(&one["state"]),
            spent(&one["person"]["epsilon"]),
        ]
    });
    let asked = history["asked"].as_array().into_iter().flatten().rev().map(|one| {
        let came = match one["answer"].as_u64() {
            Some(answer) => format!("answer {answer}, which was paid for"),
            None => text(&one["refused"]),
        };
        vec![
            text(&one["sequence"]),
            text(&one["time"]),
            short(&one["what"]),
            text(&one["cost"]),
            text(&one["by"]),
            came,
        ]
    });
    page.heading("Charged")
        .table(
            "charges",
            "What was charged, newest first",
            &["entry", "time", "release", "query", "asked by", "state", "epsilon (person)"],
            &charges.collect::<Vec<_>>(),
        )
        .heading("Asked at no cost")
        .table(
            "asked",
            "What was asked and cost nothing, newest first",
            &["entry", "time", "query", "cost", "asked by", "what came of it"],
            &asked.collect::<Vec<_>>(),
        )
}

/// Attributes against releases, and what weaker attackers learn.
pub(super) fn who_learns_what(report: &Value) -> Html {
    let summary = &report["summary"];
    let names: Vec<&String> = summary["attributes"].as_object().into_iter().flat_map(|all| all.keys()).collect();
    let mut header = vec!["release", "person"];
    header.extend(names.iter().map(|name| name.as_str()));
    let row = |name: String, one: &Value| {
        let mut cells = vec![name, spent(&one["person"]["epsilon"])];
        cells.extend(names.iter().map(|name| spent(&one["attributes"][name.as_str()]["epsilon"])));
        cells
    };
    let releases = summary["releases"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> = releases.map(|one| row(text(&one["release"]), one)).collect();
    rows.push(row("<strong>all releases together</strong>".to_string(), summary));
    let page = Html::default()
        .paragraph("How much each release gives away, as epsilon: about a whole person, and about each attribute. Releases of other analysts are in the last line, and not shown one by one.")
        .table("matrix", "Releases and attributes", &header, &rows)
        .heading("Attackers who know less");
    let attackers = report["attackers"].as_array().into_iter().flatten().map(|one| {
        let against = one["epsilon"].as_f64().map_or("nothing is promised".to_string(), rounded_up);
        vec![text(&one["release"]), against, spent(&one["without_assumptions"]["epsilon"])]
    });
    let attackers: Vec<Vec<String>> = attackers.collect();
    match attackers.is_empty() {
        true => page.paragraph("The project declares no weaker attacker, or nothing about which one could be told."),
        false => page.table(
            "attackers",
            "What weaker attackers learn",
            &["release", "epsilon against the declared attacker", "epsilon against everybody"],
            &attackers,
        ),
    }
}

/// Who has access.
pub(super) fn people(people: &[Listed]) -> Html {
    let rows = people.iter().map(|one| {
        let button = match &one.revoked {
            Some(time) => format!("revoked {}", escaped(time)),
            None => format!("<button type=\"button\" data-revoke=\"{0}\">Revoke {0}</button>", escaped(&one.name)),
        };
        vec![escaped(&one.name), one.role.to_string(), escaped(&one.added), button]
    });
    Html::default()
        .raw("<form id=\"add\"><p class=\"line\"><label for=\"name\">Name</label><input id=\"name\" required pattern=\"[a-z0-9][a-z0-9._\\-]*\" maxlength=\"63\"> \
              <label for=\"role\">Role</label><select id=\"role\"><option>analyst</option><option>viewer</option><option>curator</option></select> <button>Give access</button></p></form>\
              <p id=\"said\" role=\"status\"></p>")
        .table("people", "Everybody who has or had access", &["name", "role", "added", ""], &rows.collect::<Vec<_>>())
}

/// The verdict, and where the whole report is.
pub(super) fn report(report: &Value) -> Html {
    let verdict = report["verdict"].as_array().into_iter().flatten().filter_map(Value::as_str);
    verdict
        .fold(Html::default(), |page, sentence| page.paragraph(sentence))
        .raw("<p><a href=\"/v1/report?format=html\">The whole report</a>, or <a href=\"/v1/report?format=json\">as JSON</a>.</p>")
}
