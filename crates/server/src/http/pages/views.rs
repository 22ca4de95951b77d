//! What stands on each page.

use super::html::{Html, escaped};
use crate::access::Listed;
use crate::service::TableShown;
use scumble_engine::budget::{rounded_down, rounded_up};
use serde_json::Value;

/// This many rows of an answer stand on its page.
const SHOWN: usize = 1000;

/// A number rounded as the ledger's are: what was spent upwards.
fn spent(value: &Value) -> String {
    value.as_f64().map_or("∞".to_string(), rounded_up)
}

/// A value as text that may stand in HTML; numbers with as many digits as anybody reads.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "–".to_string(),
        Value::String(text) => escaped(text),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or("–".to_string(), readable),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(", "),
        other => escaped(&other.to_string()),
    }
}

/// A cell of an answer: an interval is two numbers.
fn cell(value: &Value) -> String {
    match value.as_array().map(Vec::as_slice) {
        Some([low, high]) => format!("{} to {}", text(low), text(high)),
        _ => text(value),
    }
}

/// Six digits of a number.
fn readable(number: f64) -> String {
    format!("{number:.5e}").parse().map_or("–".to_string(), |rounded: f64| rounded.to_string())
}

/// A time as people write it; the tables say that it is UTC.
fn moment(value: &Value) -> String {
    let whole = text(value);
    let shown = whole.trim_end_matches('Z').replace('T', " ");
    format!("<time datetime=\"{whole}\">{shown}</time>")
}

/// The name of a release, which leads to its answer.
fn named(one: &Value) -> String {
    match one["sequence"].as_u64() {
        Some(sequence) if one["state"] == "committed" => {
            format!("<a href=\"/answers/{sequence}\">{}</a>", text(&one["release"]))
        }
        _ => text(&one["release"]),
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
        vec![link, moment(&one["time"]), text(&one["release"]), short(&one["sql"]), text(&one["by"])]
    });
    page.table(
        "answers",
        "Answers, newest first",
        &["entry", "time (UTC)", "release", "query", "asked by"],
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
        "<form id=\"ask\"><label for=\"sql\">Query</label><textarea id=\"sql\" rows=\"6\" spellcheck=\"false\" autocomplete=\"off\" required></textarea>\
         <p class=\"line\"><label for=\"unit\">Cost</label><select id=\"unit\"><option>epsilon</option><option>rho</option></select>\
         <label for=\"number\" class=\"hidden\">Number</label><input id=\"number\" inputmode=\"decimal\" value=\"0.1\" required>\
         <label><input type=\"checkbox\" id=\"fresh\"> new numbers, although there is an answer</label> <button>Ask and pay</button></p></form>\
         <aside aria-label=\"Tables\"><h2>Tables</h2>{aside}</aside>\
         <div class=\"told\"><section aria-labelledby=\"would\"><h2 id=\"would\">What it would cost</h2><div id=\"plan\" role=\"status\"><p>Write a query: nothing is charged until you ask.</p></div></section>\
         <section aria-labelledby=\"got\"><h2 id=\"got\">Answer</h2><div id=\"answer\" role=\"status\"></div></section></div>"
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
    let names = ordered(answer);
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = rows.iter().take(SHOWN).map(|row| names.iter().map(|name| cell(&row[name.as_str()])).collect());
    let links = ["csv", "json", "parquet", "arrow"]
        .map(|form| format!("<a href=\"/v1/answers/{sequence}?format={form}\">{form}</a>"));
    let page = Html::default()
        .paragraph(&format!(
            "Release {}, entry {sequence} of the ledger.",
            answer["release"].as_str().unwrap_or_default()
        ))
        .raw(&format!("<p>Download: {}</p><div id=\"chart\" data-answer=\"{sequence}\"></div>", links.join(", ")))
        .table("rows", "The answer", &header, &cells.collect::<Vec<_>>());
    let page = match rows.len() > SHOWN {
        true => page.paragraph(&format!("The first {SHOWN} of {} rows; the files have all.", rows.len())),
        false => page,
    };
    let notes = answer["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    notes.fold(page, |page, note| page.paragraph(note))
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
            moment(&one["time"]),
            named(one),
            short(&one["sql"]),
            text(&one["by"]),
            text(&one["state"]),
            spent(&one["person"]["epsilon"]),
        ]
    });
    let asked = history["asked"].as_array().into_iter().flatten().rev().map(|one| {
        let came = match (one["answer"].as_u64(), one["planned"].as_u64()) {
            (Some(answer), _) => format!("answer {answer}, which was paid for"),
            (None, Some(answer)) => format!("a plan, which said that answer {answer} is stored"),
            (None, None) => text(&one["refused"]),
        };
        vec![
            text(&one["sequence"]),
            moment(&one["time"]),
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
            &["entry", "time (UTC)", "release", "query", "asked by", "state", "epsilon (person)"],
            &charges.collect::<Vec<_>>(),
        )
        .heading("Asked at no cost")
        .table(
            "asked",
            "What was asked and cost nothing, newest first",
            &["entry", "time (UTC)", "query", "cost", "asked by", "what came of it"],
            &asked.collect::<Vec<_>>(),
        )
}

/// Attributes against releases, and what weaker attackers learn.
pub(super) fn who_learns_what(report: &Value) -> Html {
    let summary = &report["summary"];
    let names: Vec<&str> =
        summary["attributes"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    // Sets of attributes are named with a comma between them.
    let (together, single): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.contains(','));
    let page = Html::default()
        .paragraph("How much each release gives away, as epsilon: about a whole person, and about each attribute. The darker, the more. Releases of other analysts are in the last line, and not shown one by one.")
        .table("matrix", "Releases and attributes", &[&["release", "person"][..], &single].concat(), &matrix(summary, &single, true));
    let page = match together.is_empty() {
        true => page,
        false => {
            let shown: Vec<String> = together.iter().map(|names| names.replace(',', " and ")).collect();
            let header: Vec<&str> = std::iter::once("release").chain(shown.iter().map(String::as_str)).collect();
            page.heading("Sensitive attributes together with others").table(
                "together",
                "Releases and sets of attributes",
                &header,
                &matrix(summary, &together, false),
            )
        }
    };
    let page = page.heading("Attackers who know less");
    let attackers = report["attackers"].as_array().into_iter().flatten().map(|one| {
        let against = one["epsilon"].as_f64().map_or("nothing better is claimed".to_string(), rounded_up);
        vec![text(&one["release"]), spent(&one["without_assumptions"]["epsilon"]), against]
    });
    let attackers: Vec<Vec<String>> = attackers.collect();
    match attackers.is_empty() {
        true => page.paragraph("The project declares no weaker attacker, or nothing about which one could be told."),
        false => page
            .paragraph("What holds against everybody holds against weaker attackers too. Where the attacker whom the project declares learns less, the last column says so, for each release taken alone; it holds as long as what is declared about them is true. The report says what that is.")
            .table(
                "attackers",
                "What weaker attackers learn",
                &["release", "epsilon against everybody", "epsilon against the declared attacker"],
                &attackers,
            ),
    }
}

/// A line for each release and one for all: what it gives away about a person, where that is asked, and about each of these.
fn matrix(summary: &Value, names: &[&str], with_person: bool) -> Vec<Vec<String>> {
    let row = |name: String, one: &Value| {
        let mut cells = vec![name];
        cells.extend(with_person.then(|| heat(&one["person"]["epsilon"])));
        cells.extend(names.iter().map(|name| heat(&one["attributes"][*name]["epsilon"])));
        cells
    };
    let releases = summary["releases"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> = releases.map(|one| row(named(one), one)).collect();
    rows.push(row("<strong>all releases together</strong>".to_string(), summary));
    rows
}

/// An epsilon on a ground that is the darker, the larger it is.
fn heat(value: &Value) -> String {
    let degree = match value.as_f64() {
        Some(epsilon) if epsilon <= 0.0 => 0,
        Some(epsilon) if epsilon <= 0.1 => 1,
        Some(epsilon) if epsilon <= 0.5 => 2,
        Some(epsilon) if epsilon <= 1.0 => 3,
        _ => 4,
    };
    format!("<span class=\"heat heat-{degree}\">{}</span>", spent(value))
}

/// Who has access.
pub(super) fn people(people: &[Listed]) -> Html {
    let rows = people.iter().map(|one| {
        let button = match &one.revoked {
            Some(time) => format!("revoked {}", moment(&Value::from(time.as_str()))),
            None => format!("<button type=\"button\" data-revoke=\"{0}\">Revoke {0}</button>", escaped(&one.name)),
        };
        vec![escaped(&one.name), one.role.to_string(), moment(&Value::from(one.added.as_str())), button]
    });
    Html::default()
        .raw("<form id=\"add\"><p class=\"line\"><label for=\"name\">Name</label><input id=\"name\" required pattern=\"[a-z0-9][a-z0-9._\\-]*\" maxlength=\"63\"> \
              <label for=\"role\">Role</label><select id=\"role\"><option>analyst</option><option>viewer</option><option>curator</option></select> <button>Give access</button></p></form>\
              <p id=\"said\" role=\"status\"></p>")
        .table("people", "Everybody who has or had access", &["name", "role", "added (UTC)", "access"], &rows.collect::<Vec<_>>())
}

/// The verdict, and where the whole report is.
pub(super) fn report(report: &Value) -> Html {
    let verdict = report["verdict"].as_array().into_iter().flatten().filter_map(Value::as_str);
    verdict
        .fold(Html::default(), |page, sentence| page.paragraph(sentence))
        .raw("<p><a href=\"/v1/report?format=html\">The report on a page of its own</a>, or <a href=\"/v1/report?format=json\">as JSON</a>.</p>\
              <iframe class=\"report\" title=\"The report\" src=\"/v1/report?format=html\"></iframe>")
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
        let people = [Listed {
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
            assert!(page.text().contains("&lt;script&gt;") && !page.text().contains("<script"), "{}", page.text());
        }
        let shown = answer(1, &answered);
        let columns: Vec<&str> =
            shown.text().split("<th scope=\"col\">").skip(2).map(|part| part.split('<').next().unwrap()).collect();
        assert_eq!(columns, ["n", "n_error", "n_interval"]);
        assert!(shown.text().contains("<td>28.2813</td><td>-1 to 3.25</td>"), "{}", shown.text());
    }
}
