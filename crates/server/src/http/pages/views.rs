//! What stands on each page.

use crate::access::AccessRecord;
use crate::service::{
    BudgetShown, BudgetState, ChargeShown, DeclaredValue, HistoryShown, PublishedAnswer, RemarkShown, TableShown,
};
use maud::{Markup, html};
use scumble_engine::budget::{rounded_down, rounded_up};
use scumble_engine::release::{AnswerColumn, Answers, Cell, UNBOUNDED, Uncertainty};
use scumble_engine::report::AttackerLine;
use scumble_engine::summary::{ChargeCost, ChargeOutcome, LedgerSummary, PerScope, ScopeCost, ScopeLeft};

/// This many rows of an answer stand on its page.
const SHOWN: usize = 1000;

/// What stands where there is nothing to say.
const NOTHING: &str = "–";

/// A number rounded as the ledger's are: what was spent upwards.
fn spent(epsilon: Option<f64>) -> String {
    finite(epsilon).map_or("∞".to_string(), rounded_up)
}

fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite())
}

/// A text as a cell of a table.
fn plain(text: &str) -> Markup {
    html! { (text) }
}

/// The same, where there may be none.
fn optional(text: Option<&str>) -> Markup {
    plain(text.unwrap_or(NOTHING))
}

/// A published value; numbers with as many digits as anybody reads.
fn value(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Null => (NOTHING),
            Cell::Text(text) => (&**text),
            Cell::Whole(number) => (number),
            Cell::Number(number) => (readable(*number)),
            Cell::Truth(truth) => (truth),
        }
    }
}

/// An error, or an end of an interval.
fn end(number: f64) -> String {
    if number.is_infinite() { UNBOUNDED.to_string() } else { readable(number) }
}

/// The cells beside a noisy number: its error, and the ends of its interval.
fn beside(uncertainty: &Uncertainty) -> [Markup; 3] {
    [uncertainty.published_error(), uncertainty.low, uncertainty.high].map(|number| html! { (end(number)) })
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
    let rounded = finite(Some(number)).and_then(|number| format!("{number:.5e}").parse::<f64>().ok());
    rounded.map_or(NOTHING.to_string(), |rounded| rounded.to_string())
}

/// A time as people write it; the tables say that it is UTC.
fn moment(whole: &str) -> Markup {
    html! { time datetime=(whole) { (whole.trim_end_matches('Z').replace('T', " ")) } }
}

/// The name of a release, which leads to its answer.
fn named(charge: &ChargeCost) -> Markup {
    match charge.state {
        ChargeOutcome::Committed => html! { a href={ "/answers/" (charge.sequence) } { (charge.release) } },
        _ => plain(&charge.release),
    }
}

/// The first letters of a query.
fn short(query: Option<&str>) -> Markup {
    let Some(whole) = query else { return plain(NOTHING) };
    let start: String = whole.chars().take(120).collect();
    html! { code { (start.trim()) @if start.len() < whole.len() { "…" } } }
}

/// What is left, and recent answers.
pub(super) fn overview(budget: &BudgetShown, answers: &[PublishedAnswer]) -> Markup {
    html! {
        h2 { "What is left" }
        (scopes(&budget.project))
        @if let Some(own) = &budget.own {
            h2 { "What is left of your own budget" }
            (scopes(own))
        }
        h2 { "Recent answers" }
        (listed(&answers[..answers.len().min(8)]))
    }
}

/// A bar for each scope that has a limit.
fn scopes(budget: &BudgetState) -> Markup {
    let (spent, left) = (&budget.spent, &budget.remaining);
    let whole = [("presence", &spent.presence, &left.presence), ("person", &spent.person, &left.person)];
    html! {
        ul.scopes {
            @for (name, cost, left) in whole {
                @if let Some(cost) = cost { (bar(name, cost, left.as_ref())) }
            }
            @for (name, cost) in &spent.attributes { (bar(name, cost, left.attributes.get(name))) }
        }
    }
}

/// What was spent in a scope, and what is left of its limit.
fn bar(name: &str, cost: &ScopeCost, left: Option<&ScopeLeft>) -> Markup {
    let of_left = |unit: fn(&ScopeLeft) -> Option<f64>| left.and_then(unit).filter(|left| left.is_finite());
    let rho = finite(cost.rho).or(finite(cost.approximate_zcdp.as_ref().map(|zcdp| zcdp.rho)));
    let (unit, used, left) = match (of_left(|left| left.epsilon), of_left(|left| left.rho)) {
        (Some(left), _) => ("epsilon", finite(cost.epsilon), left),
        (None, Some(left)) => ("rho", rho, left),
        (None, None) => {
            return html! {
                li { span.scope { (name) } " " span { "epsilon " (spent(cost.epsilon)) " spent, no limit" } }
            };
        }
    };
    let used = used.unwrap_or(0.0);
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

fn listed(answers: &[PublishedAnswer]) -> Markup {
    let rows = answers.iter().map(|one| {
        let link = html! { a href={ "/answers/" (one.sequence) } { (one.sequence) } };
        let (query, by) = (short(one.sql.as_deref()), optional(one.by.as_deref()));
        vec![link, moment(&one.time), plain(&one.release), query, by]
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
                        code { (column.name) } " " (column.kind.word())
                        @for (key, value) in &column.declared { ", " (key) " " (declaration(value)) }
                        @if column.sensitive { ", sensitive" }
                    }
                }
            }
        }
    }
}

fn declaration(value: &DeclaredValue) -> String {
    match value {
        DeclaredValue::Whole(number) => number.to_string(),
        DeclaredValue::Number(number) => readable(*number),
        DeclaredValue::Text(text) => text.clone(),
        DeclaredValue::List(values) => values.join(", "),
    }
}

/// All answers.
pub(super) fn answers(answers: &[PublishedAnswer]) -> Markup {
    listed(answers)
}

/// One answer, with its downloads; the script draws it.
pub(super) fn answer(sequence: u64, release: &str, answers: &Answers) -> Markup {
    let names = answers.names();
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = answers.rows();
    let cells = (0..rows.min(SHOWN)).map(|row| answers.columns.iter().flat_map(|column| cells(column, row)).collect());
    html! {
        p { "Release " (release) ", entry " (sequence) " of the ledger." }
        p {
            "Download: "
            @for (index, form) in ["csv", "json", "parquet", "arrow"].into_iter().enumerate() {
                @if index > 0 { ", " }
                a href={ "/v1/answers/" (sequence) "?format=" (form) } { (form) }
            }
        }
        div #chart data-answer=(sequence) {}
        (table("rows", "The answer", &header, &cells.collect::<Vec<_>>()))
        @if rows > SHOWN { p { "The first " (SHOWN) " of " (rows) " rows; the files have all." } }
        @for note in &answers.notes { p { (note) } }
    }
}

/// The cells of a column in a row.
fn cells(column: &AnswerColumn, row: usize) -> Vec<Markup> {
    let beside = column.uncertainty.iter().filter_map(|all| all.get(row)).flat_map(beside);
    column.cells.get(row).map(value).into_iter().chain(beside).collect()
}

/// What was charged and asked.
pub(super) fn ledger(history: &HistoryShown, is_curator: bool) -> Markup {
    let charges: Vec<Vec<Markup>> = history.releases.iter().rev().map(charged).collect();
    let asked: Vec<Vec<Markup>> = history.asked.iter().rev().map(free).collect();
    let header = ["entry", "time (UTC)", "release", "query", "asked by", "state", "epsilon (person)"];
    html! {
        p { (history.head.entries) " entries, head " code { (history.head.head) } }
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
fn charged(one: &ChargeShown) -> Vec<Markup> {
    let cost = &one.cost;
    vec![
        html! { (cost.sequence) },
        moment(&cost.time),
        named(cost),
        short(one.sql.as_deref()),
        optional(one.by.as_deref()),
        plain(cost.state.word()),
        html! { (spent(about_person(&cost.spent))) },
    ]
}

/// ε about a person.
fn about_person(costs: &PerScope<ScopeCost>) -> Option<f64> {
    costs.person.as_ref().and_then(|cost| cost.epsilon)
}

/// The line of what was asked at no cost.
fn free(one: &RemarkShown) -> Vec<Markup> {
    let came = match (one.answer, one.planned) {
        (Some(answer), _) => html! { "answer " (answer) ", which was charged before" },
        (None, Some(answer)) => html! { "a plan, which said that answer " (answer) " is stored" },
        (None, None) => optional(one.refused.as_deref()),
    };
    let (sequence, query) = (html! { (one.sequence) }, short(Some(&one.what)));
    vec![sequence, moment(&one.time), query, plain(&one.cost), plain(&one.by), came]
}

/// Attributes against releases, and what weaker attackers learn.
pub(super) fn who_learns_what(summary: &LedgerSummary, against: &[AttackerLine]) -> Markup {
    let names = summary.spent.attributes.keys().map(String::as_str);
    // Sets of attributes are named with a comma between them.
    let (together, single): (Vec<&str>, Vec<&str>) = names.partition(|name| name.contains(','));
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
        (attackers(against))
    }
}

/// What the attacker whom the project declares learns from each release.
fn attackers(against: &[AttackerLine]) -> Markup {
    let rows = against.iter().map(|one| {
        let claimed = finite(one.epsilon).map_or("nothing better is claimed".to_string(), rounded_up);
        vec![plain(&one.release), html! { (spent(one.without_assumptions)) }, html! { (claimed) }]
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
fn matrix(summary: &LedgerSummary, names: &[&str], with_person: bool) -> Vec<Vec<Markup>> {
    let row = |name: Markup, costs: &PerScope<ScopeCost>| {
        let about = |name: &&str| heat(costs.attributes.get(*name).and_then(|cost| cost.epsilon));
        let mut cells = vec![name];
        cells.extend(with_person.then(|| heat(about_person(costs))));
        cells.extend(names.iter().map(about));
        cells
    };
    let mut rows: Vec<Vec<Markup>> = summary.releases.iter().map(|one| row(named(one), &one.spent)).collect();
    rows.push(row(html! { strong { "all releases together" } }, &summary.spent));
    rows
}

/// An epsilon on a ground that is the darker, the larger it is.
fn heat(epsilon: Option<f64>) -> Markup {
    let degree = match finite(epsilon) {
        Some(epsilon) if epsilon <= 0.0 => 0,
        Some(epsilon) if epsilon <= 0.1 => 1,
        Some(epsilon) if epsilon <= 0.5 => 2,
        Some(epsilon) if epsilon <= 1.0 => 3,
        _ => 4,
    };
    html! { span class={ "heat heat-" (degree) } { (spent(epsilon)) } }
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
pub(super) fn report(verdict: &[String]) -> Markup {
    html! {
        @for sentence in verdict { p { (sentence) } }
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
    use crate::service::HeadShown;
    use scumble_engine::ledger::Head;
    use std::collections::BTreeMap;

    /// What comes from a table or from somebody's text is text on a page, wherever it stands.
    #[test]
    fn texts_are_never_markup() {
        let evil = "<script>alert(1)</script>\"'";
        let owned = || evil.to_string();
        let uncertain = Uncertainty { standard_error: 28.281325184025587, low: -1.0, high: 3.25 };
        let column = |name: &str, cell, uncertainty| AnswerColumn { name: name.into(), cells: vec![cell], uncertainty };
        let answered = Answers {
            columns: vec![
                column(evil, Cell::Text(evil.into()), None),
                column("n", Cell::Number(1.5), Some(vec![uncertain])),
            ],
            notes: vec![owned()],
            details: Default::default(),
        };
        let published = [PublishedAnswer {
            sequence: 1,
            time: owned(),
            release: owned(),
            kind: owned(),
            sql: Some(owned()),
            by: Some(owned()),
        }];
        let none = ScopeCost { epsilon: None, delta: 0.0, rho: None, approximate_zcdp: None };
        let attributes = BTreeMap::from([(owned(), none.clone()), ("a,b".to_string(), none)]);
        let spent = PerScope { attributes, ..PerScope::default() };
        let cost = ChargeCost {
            sequence: 1,
            time: owned(),
            release: owned(),
            kind: owned(),
            state: ChargeOutcome::Committed,
            spent: spent.clone(),
        };
        let asked = RemarkShown {
            sequence: 1,
            time: owned(),
            by: owned(),
            what: owned(),
            cost: owned(),
            answer: None,
            refused: Some(owned()),
            planned: None,
        };
        let history = HistoryShown {
            budget: None,
            releases: vec![ChargeShown { cost: cost.clone(), by: Some(owned()), sql: Some(owned()) }],
            asked: vec![asked],
            head: HeadShown::of(&Head::empty()),
        };
        let summary = LedgerSummary {
            spent: spent.clone(),
            releases: vec![cost],
            remaining: PerScope::default(),
            rule: "",
            groups: None,
        };
        let against = [AttackerLine { release: owned(), without_assumptions: None, epsilon: None }];
        let budget = BudgetShown {
            project: BudgetState::told(spent, PerScope::default()),
            own: None,
            head: HeadShown::of(&Head::empty()),
        };
        let people = [AccessRecord {
            name: evil.into(),
            role: crate::access::Role::Viewer,
            added: evil.into(),
            revoked: Some(evil.into()),
        }];
        let pages = [
            answer(1, evil, &answered),
            answers(&published),
            ledger(&history, true),
            who_learns_what(&summary, &against),
            super::people(&people),
            super::report(&[owned()]),
            overview(&budget, &published),
        ];
        for page in pages {
            let page = page.into_string();
            assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        }
        let shown = answer(1, evil, &answered).into_string();
        let columns: Vec<&str> =
            shown.split("<th scope=\"col\">").skip(2).map(|part| part.split('<').next().unwrap()).collect();
        assert_eq!(columns, ["n", "n_se", "n_low", "n_high"]);
        assert!(shown.contains("<td>28.2813</td><td>-1</td><td>3.25</td>"), "{shown}");
    }

    #[test]
    fn what_is_not_known_is_said_so() {
        let beside = |low, high, standard_error| {
            beside(&Uncertainty { standard_error, low, high }).map(|cell| cell.into_string()).join(" | ")
        };
        assert_eq!(beside(f64::NEG_INFINITY, 2.0, f64::INFINITY), "unbounded | unbounded | 2");
        assert_eq!(beside(f64::NAN, f64::NAN, f64::NAN), "– | – | –");
        assert_eq!(value(&Cell::Number(f64::NAN)).into_string(), "–");
        assert_eq!(value(&Cell::Null).into_string(), "–");
        assert_eq!(spent(Some(f64::INFINITY)), "∞");
    }
}
