//! From the text of a project file to a [`Project`]; everything wrong is named with its line and column.

use super::cluster::Cluster;
use super::column::column;
use super::cost::DefaultScope;
use super::graph;
use super::layout::{self, Layout};
use super::memory::memory;
use super::presentation::words;
use super::section::{Section, Spot, parse, parse_json};
use super::server::Server;
use super::{Attacker, Bounding, Column, Domain, Project, Request, Table};
use crate::budget::{Budget, Limit};
use crate::error::Result;
use crate::place::Origin;
use crate::stop::Stop;
use scumble::quantity::{Delta, Epsilon, Exact, Omega, Order, Rho};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A project from the text of its file; `request` reads a release, whose fields its kind declares.
pub(crate) fn project(path: &Path, content: &str, request: impl Fn(&Section) -> Result<Request>) -> Result<Project> {
    of_section(path, &parse(Origin::File(path.display().to_string()), content)?, content, request)
}

/// The same from JSON.
pub(crate) fn project_of_json(
    path: &Path,
    content: &str,
    request: impl Fn(&Section) -> Result<Request>,
) -> Result<Project> {
    of_section(path, &parse_json(content)?, content, request)
}

fn of_section(
    path: &Path,
    file: &Section,
    content: &str,
    request: impl Fn(&Section) -> Result<Request>,
) -> Result<Project> {
    file.only(&["dataset", "budget", "attacker", "analyst", "release", "ledger", "memory", "engine", "cost_scope"])?;
    let mut tables = BTreeMap::new();
    for (name, spot) in file.need("dataset")?.section()?.iter() {
        tables.insert(name.to_string(), table(name, spot.section()?, path)?);
    }
    let budget = file.get("budget").map(|spot| budget(spot.section()?)).transpose()?.unwrap_or_default();
    let attacker = file.get("attacker").map(|spot| attacker(spot.section()?)).transpose()?;
    let ledger = file.get("ledger").map(ledger).transpose()?;
    let analysts = file.get("analyst").map(|spot| analysts(spot.section()?)).transpose()?.unwrap_or_default();
    let memory = file.get("memory").map(memory).transpose()?;
    let cluster = file.get("engine").map(|spot| Cluster::read(spot.section()?)).transpose()?;
    let default_scope = file.get("cost_scope").map(DefaultScope::read).transpose()?.flatten();
    let mut said = Vec::new();
    for spot in file.get("release").map_or(Ok(&[][..]), Spot::list)? {
        said.push(request(spot.section()?)?);
    }
    let mut project = Project {
        path: path.to_path_buf(),
        digest: crate::digest(content.as_bytes()),
        tables,
        budget,
        releases: Vec::new(),
        attacker,
        analysts,
        stop: Stop::default(),
        memory,
        cluster,
        ledger,
        default_scope,
        kept: None,
    };
    project.releases = said.into_iter().map(|request| project.with_scope(request)).collect();
    check_names(&project, file)?;
    Ok(project)
}

/// The ledger's file.
fn ledger(spot: &Spot) -> Result<PathBuf> {
    let path = PathBuf::from(spot.text()?);
    match crate::file::unusable_name(&path) {
        Some(why) => Err(spot.error(why)),
        None => Ok(path),
    }
}

/// Release names differ also as file names, and budgets speak of columns that exist.
fn check_names(project: &Project, file: &Section) -> Result<()> {
    let mut seen = BTreeMap::new();
    for request in &project.releases {
        let stem = super::file_stem(&request.name);
        let sentence = match seen.insert(stem.clone(), &request.name) {
            None => continue,
            Some(other) if *other == request.name => {
                format!("two releases are called '{other}': give one another name")
            }
            Some(other) => format!(
                "the files of '{other}' and '{}' would have the same name, {stem}.csv: give one release another name",
                request.name
            ),
        };
        return Err(request.fields.error(sentence));
    }
    let attributes = project.attributes();
    only_known(&project.budget, "", &attributes, || file.need("budget")?.section()?.need("attributes"))?;
    project.analysts.iter().try_for_each(|(name, budget)| {
        only_known(budget, &format!(" of {name}"), &attributes, || file.need("analyst")?.section()?.need(name))
    })
}

/// Refuses limits of attributes that no table has; `spot` is where they stand.
fn only_known<'a>(
    budget: &Budget,
    whose: &str,
    attributes: &BTreeSet<String>,
    spot: impl FnOnce() -> Result<&'a Spot>,
) -> Result<()> {
    let Some(unknown) = budget.attributes.keys().find(|name| !attributes.contains(*name)) else { return Ok(()) };
    let hint = crate::place::suggestion(unknown, attributes.iter().map(String::as_str));
    Err(spot()?.error(format!("the budget{whose} names '{unknown}', which is not a declared column{hint}")))
}

/// The name of somebody who asks: also a user of a database, a part of a line of a log, a key of this file.
pub fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter);
    (1..=63).contains(&name.len())
        && name.chars().all(fits)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// `[analyst.NAME]`: what one analyst may spend, in the keys of `[budget]`.
fn analysts(section: &Section) -> Result<BTreeMap<String, Budget>> {
    let mut analysts = BTreeMap::new();
    for (name, spot) in section.iter() {
        if !is_name(name) {
            return Err(
                spot.error("an analyst's name has 1 to 63 of a-z, 0-9, '.', '_' and '-', a letter or digit first")
            );
        }
        let limits = budget(spot.section()?)?;
        if limits == Budget::default() {
            return Err(spot.error(format!("[analyst.{name}] needs a limit, such as person = {{ epsilon = 0.5 }}")));
        }
        analysts.insert(name.to_string(), limits);
    }
    Ok(analysts)
}

/// The most columns of a table: how long a query is planned grows with them.
const MOST_COLUMNS: usize = 5_000;

/// The keys of a `[dataset]`, beside those of its layout.
pub(crate) const TABLE_KEYS: [&str; 11] = [
    "source",
    "label",
    "password_file",
    "owner",
    "public",
    "max_rows_per_owner",
    "max_groups_per_owner",
    "max_rows_per_group",
    "public_owners",
    "columns",
    "graph",
];

/// The keys of `[attacker]`.
pub(crate) const ATTACKER_KEYS: [&str; 5] = ["known_rows", "mode", "uncertainty", "independence", "delta"];

fn table(name: &str, section: &Section, path: &Path) -> Result<Table> {
    section.only(&[&TABLE_KEYS[..], &layout::KEYS].concat())?;
    let source = section.need("source")?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let server = Server::read(source, section.get("password_file"), &folder)?;
    let owner = section.get("owner").map(|spot| spot.text().map(str::to_string)).transpose()?;
    let public = section.get("public").map(Spot::truth).transpose()?.unwrap_or(false);
    let bounding = bounding(section)?;
    // A graph says by itself which columns it has.
    let says_columns = section.get("columns").is_some() || section.get("graph").is_none();
    let columns_section = if says_columns { section.need("columns")?.section()? } else { section };
    if says_columns && columns_section.iter().count() > MOST_COLUMNS {
        return Err(columns_section
            .error(format!("table '{name}' has more than {MOST_COLUMNS} columns; declare those that are released")));
    }
    let mut columns = Vec::new();
    for (column, spot) in columns_section.iter().filter(|_| says_columns) {
        columns.push(self::column(column, spot.section()?)?);
    }
    if !says_columns {
        columns = graph::ends(section.need("graph")?.section()?)?;
    }
    if let Some(owner) = &owner {
        if bounding.rows.is_none() && (bounding.groups.is_none() || bounding.rows_per_group.is_none()) {
            return Err(section.error(format!(
                "table '{name}' has an owner, so it needs max_rows_per_owner: how many rows of one owner may count"
            )));
        }
        if columns.iter().any(|column| column.name == *owner) {
            return Err(
                columns_section.error(format!("'{owner}' is the owner of the rows and needs no other declaration"))
            );
        }
        if public {
            return Err(section.error(format!("table '{name}' is public and has an owner; leave one of the two out")));
        }
    } else if bounding != Bounding::default() {
        return Err(section.error(format!(
            "table '{name}' has no owner: each row is one person, and there is nothing to bound per owner"
        )));
    }
    let public_owners = section.get("public_owners").map(Spot::at_least_one).transpose()?;
    let source = match &server {
        Some(server) => PathBuf::from(server.to_string()),
        None => folder.join(source.text()?),
    };
    let layout = Layout::read(section)?.of_source(&source);
    refuse_unreachable(&columns, &layout, columns_section)?;
    let graph = section.get("graph").map(|spot| graph::graph(spot.section()?, &columns)).transpose()?;
    let label = section.get("label").map(words).transpose()?;
    Ok(Table {
        name: name.to_string(),
        source,
        server,
        rows: None,
        layout,
        owner,
        public,
        bounding,
        public_owners,
        columns,
        graph,
        label,
    })
}

/// Listed values that no file can contain would silently count no rows.
fn refuse_unreachable(columns: &[Column], layout: &Layout, section: &Section) -> Result<()> {
    // What becomes of a bin or of another text is not looked for in files.
    for column in columns.iter().filter(|column| column.recoding.is_none()) {
        let Domain::Category { values: Some(values) } = &column.domain else { continue };
        let trimmed = |value: &&String| layout.trim == Some(true) && value.trim() != value.as_str();
        let why = match values.iter().find(trimmed) {
            Some(value) => Some((value, "begins or ends with a space, which trim = true removes")),
            None => {
                values.iter().find(|value| layout.is_missing(value)).map(|value| (value, "stands for a missing value"))
            }
        };
        if let Some((value, why)) = why.filter(|(value, _)| !value.is_empty()) {
            return Err(
                section.error(format!("the value '{value}' of column '{}' {why}: no row can have it", column.name))
            );
        }
    }
    Ok(())
}

/// The contribution bounds of a table.
fn bounding(section: &Section) -> Result<Bounding> {
    let get = |key: &str| section.get(key).map(Spot::at_least_one).transpose();
    let bounding = Bounding {
        rows: get("max_rows_per_owner")?,
        groups: get("max_groups_per_owner")?,
        rows_per_group: get("max_rows_per_group")?,
    };
    within_reason(bounding, section)
}

/// Contribution bounds that protect somebody, of the table or the release in this section.
pub(crate) fn within_reason(bounding: Bounding, section: &Section) -> Result<Bounding> {
    let all = [bounding.rows, bounding.groups, bounding.rows_per_group];
    if all.iter().flatten().any(|bound| *bound > 1_000_000) {
        return Err(section.error("a contribution bound of more than a million protects nobody"));
    }
    Ok(bounding)
}

fn budget(section: &Section) -> Result<Budget> {
    section.only(&["presence", "person", "attributes"])?;
    let limit_of = |key: &str| section.get(key).map(|spot| limit(spot.section()?)).transpose();
    let mut budget = Budget { presence: limit_of("presence")?, person: limit_of("person")?, ..Budget::default() };
    if let Some(spot) = section.get("attributes") {
        for (name, spot) in spot.section()?.iter() {
            let limit = limit(spot.section()?)?;
            match name {
                "*" => budget.every_attribute = Some(limit),
                name => drop(budget.attributes.insert(name.to_string(), limit)),
            }
        }
    }
    Ok(budget)
}

/// `{ epsilon, delta }`, `{ rho, delta }` (zCDP), `{ rho, omega, delta }` (tCDP) or `{ order, epsilon, delta }`
/// (Rényi).
fn limit(section: &Section) -> Result<Limit> {
    section.only(&["epsilon", "delta", "rho", "omega", "order"])?;
    let delta = section.get("delta").map(delta).transpose()?.unwrap_or_else(Exact::zero);
    let [epsilon, rho, omega, order] = ["epsilon", "rho", "omega", "order"].map(|key| section.get(key));
    match (epsilon, rho, omega, order) {
        (Some(epsilon), None, None, None) => Ok(Limit::Approximate { epsilon: self::epsilon(epsilon)?, delta }),
        (None, Some(rho), None, None) => Ok(Limit::Zcdp { rho: self::rho(rho)?, delta }),
        (None, Some(rho), Some(omega), None) => {
            Ok(Limit::Tcdp { rho: self::rho(rho)?, omega: checked(omega, Omega::new)?, delta })
        }
        (Some(epsilon), None, None, Some(order)) => {
            Ok(Limit::Renyi { order: checked(order, Order::new)?, epsilon: self::epsilon(epsilon)?, delta })
        }
        _ => Err(section.error(
            "a budget has epsilon (pure, or with delta), rho (zCDP), rho and omega (tCDP), or order and epsilon (Rényi)",
        )),
    }
}

fn epsilon(spot: &Spot) -> Result<Exact> {
    checked(spot, Epsilon::new)
}

fn rho(spot: &Spot) -> Result<Exact> {
    checked(spot, Rho::new)
}

fn delta(spot: &Spot) -> Result<Exact> {
    checked(spot, Delta::new)
}

/// The exact number here, if it is one of the quantity's.
fn checked<T>(spot: &Spot, quantity: fn(f64) -> scumble::Result<T>) -> Result<Exact> {
    quantity(spot.number()?).map_err(|error| spot.error(error.to_string()))?;
    spot.exact()
}

fn attacker(section: &Section) -> Result<Attacker> {
    section.only(&ATTACKER_KEYS)?;
    let fraction = |key: &str, most: f64| -> Result<f64> {
        let Some(spot) = section.get(key) else { return Ok(0.0) };
        match spot.number()? {
            number if (0.0..=most).contains(&number) => Ok(number),
            _ => Err(spot.error(format!("{key} must be a number in [0, {most}]"))),
        }
    };
    // Not saying so never makes an attacker weaker: active is the stronger one, and independence is not assumed.
    let active = one_of(section, "mode", ["active", "passive"])? != Some("passive");
    let independent = one_of(section, "independence", ["declared", "unknown"])? == Some("declared");
    let delta =
        section.get("delta").map(|spot| Delta::new(spot.number()?).map_err(|error| spot.error(error.to_string())));
    Ok(Attacker {
        known_rows: fraction("known_rows", 1.0)?,
        active,
        uncertainty: fraction("uncertainty", 0.5)?,
        independent,
        delta: delta.transpose()?,
    })
}

/// One of two words, or nothing.
fn one_of<'a>(section: &'a Section, key: &str, words: [&str; 2]) -> Result<Option<&'a str>> {
    let Some(spot) = section.get(key) else { return Ok(None) };
    match spot.text()? {
        word if words.contains(&word) => Ok(Some(word)),
        word => Err(spot.error(format!("{key} must be '{}' or '{}', not '{word}'", words[0], words[1]))),
    }
}
