//! From the text of a project file to what a plan needs.

use super::cost::{DefaultScope, cost};
use super::section::{Section, Spot, parse};
use super::{Cost, CostScope, Request};
use crate::error::{Error, Result};
use crate::place::Origin;
use crate::query::Bounds;
use scumble::loss::filter::Limit;
use scumble::quantity::{Delta, Epsilon, Exact, Omega, Order, Rho};
use scumble::scope::{AttributeSet, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// What the pasted text is called in messages.
const NAME: &str = "scumble.toml";

/// A project.
pub struct Project {
    /// The tables by name.
    pub tables: BTreeMap<String, Table>,
    /// What may be spent, about whom; `"*"` among the attributes is every other one.
    budget: Vec<(Option<String>, Scope, Limit)>,
    /// The releases in the file's order.
    pub releases: Vec<Release>,
}

/// A table.
pub struct Table {
    /// The column that says whose row it is.
    pub owner: Option<String>,
    bounding: Bounding,
    /// The declared columns.
    pub columns: Vec<(String, Column)>,
    /// Why nothing about it is planned here.
    pub left_out: Option<String>,
}

/// What a column holds, as far as it is read here.
pub enum Column {
    /// This many listed values.
    Listed { values: u64, never_missing: bool },
    /// Numbers between bounds, in whole steps: the least and the largest, and the size of a step; and whether they are
    /// whole numbers, by which rows can be grouped.
    Numbers { least: i64, most: i64, step: f64, is_whole: bool, never_missing: bool },
    /// Something else, and why it cannot be summed or grouped by here.
    Other { why: &'static str, never_missing: bool },
}

impl Column {
    /// Whether no value is missing.
    pub fn never_missing(&self) -> bool {
        match self {
            Self::Listed { never_missing, .. }
            | Self::Numbers { never_missing, .. }
            | Self::Other { never_missing, .. } => *never_missing,
        }
    }
}

/// A release.
pub struct Release {
    /// Its name.
    pub name: String,
    /// The query and its cost, or why it is not planned here.
    pub query: std::result::Result<ReleasedQuery, String>,
}

/// A release that is a query.
pub struct ReleasedQuery {
    /// The query.
    pub sql: String,
    /// Its cost, with the scope that the project gives it.
    pub cost: Cost,
    bounding: Bounding,
    /// Whether each number has noise of its own because the release says so.
    pub says_each: bool,
}

/// How much of one owner's rows counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bounding {
    rows: Option<u64>,
    groups: Option<u64>,
    rows_per_group: Option<u64>,
}

impl Bounding {
    fn read(section: &Section) -> Result<Self> {
        let get = |key: &str| section.get(key).map(Spot::at_least_one).transpose();
        let bounding = Self {
            rows: get("max_rows_per_owner")?,
            groups: get("max_groups_per_owner")?,
            rows_per_group: get("max_rows_per_group")?,
        };
        match [bounding.rows, bounding.groups, bounding.rows_per_group].iter().flatten().any(|most| *most > 1_000_000) {
            true => Err(section.error("a contribution bound of more than a million protects nobody")),
            false => Ok(bounding),
        }
    }

    fn or(self, others: Self) -> Self {
        Self {
            rows: self.rows.or(others.rows),
            groups: self.groups.or(others.groups),
            rows_per_group: self.rows_per_group.or(others.rows_per_group),
        }
    }
}

impl ReleasedQuery {
    /// How much of an owner counts; none where each row is one person. As the engine derives it from the same keys
    /// (`sql/analyse/measure.rs`).
    pub fn bounds(&self, table: &Table, is_grouped: bool) -> Option<Bounds> {
        table.owner.as_ref()?;
        let own = self.bounding.or(table.bounding);
        let rows = own.rows.unwrap_or_else(|| own.groups.unwrap_or(1).saturating_mul(own.rows_per_group.unwrap_or(1)));
        let groups = if is_grouped { own.groups.unwrap_or(rows).min(rows) } else { 1 };
        let rows_per_group = if is_grouped { own.rows_per_group.unwrap_or(rows).min(rows) } else { rows };
        Some(Bounds { groups, rows_per_group, rows })
    }
}

impl Project {
    /// Reads a project file.
    pub fn parse(text: &str) -> Result<Self> {
        let file = parse(Origin::File(NAME.to_string()), text)?;
        file.only(&[
            "dataset",
            "budget",
            "attacker",
            "analyst",
            "release",
            "ledger",
            "memory",
            "engine",
            "cost_scope",
        ])?;
        let mut tables = BTreeMap::new();
        for (name, spot) in file.need("dataset")?.section()?.iter() {
            tables.insert(name.to_string(), table(name, spot.section()?)?);
        }
        let budget = file.get("budget").map(|spot| budget(spot.section()?)).transpose()?.unwrap_or_default();
        let scope = file.get("cost_scope").map(DefaultScope::read).transpose()?.flatten();
        let mut releases: Vec<Release> = Vec::new();
        for spot in file.get("release").map_or(Ok(&[][..]), Spot::list)? {
            let section = spot.section()?;
            let release = release(section, scope.as_ref())?;
            if releases.iter().any(|other| other.name == release.name) {
                let sentence = format!("two releases are called '{}': give one another name", release.name);
                return Err(section.error(sentence));
            }
            releases.push(release);
        }
        Ok(Self { tables, budget, releases })
    }

    /// The names of all private columns that do not name an owner.
    pub fn attributes(&self) -> BTreeSet<String> {
        self.tables.values().flat_map(|table| table.columns.iter().map(|(name, _)| name.clone())).collect()
    }

    /// Each scope that has a limit.
    pub fn limits(&self) -> Result<Vec<(Scope, Limit)>> {
        let mut limits = Vec::new();
        for (attribute, scope, limit) in &self.budget {
            if attribute.as_deref() != Some("*") {
                limits.push((scope.clone(), limit.clone()));
                continue;
            }
            for name in self.attributes() {
                let own = one_attribute(&name)?;
                if !self.budget.iter().any(|(_, scope, _)| *scope == own) {
                    limits.push((own, limit.clone()));
                }
            }
        }
        Ok(limits)
    }

    /// The smallest δ of any limit, if one has a δ.
    pub fn smallest_delta(&self) -> Option<Exact> {
        let all = self.budget.iter().map(|(.., limit)| limit.delta());
        all.min().filter(|delta| **delta > Exact::zero()).cloned()
    }
}

/// The scope of one attribute.
pub fn one_attribute(name: &str) -> Result<Scope> {
    Ok(Scope::Attributes(AttributeSet::new([name])?))
}

/// The keys of a table that a plan of counts and sums depends on, those that this page does not read, and those that
/// say how its files are written.
const TABLE: [&str; 6] =
    ["source", "owner", "max_rows_per_owner", "max_groups_per_owner", "max_rows_per_group", "columns"];
const UNREAD: [&str; 4] = ["password_file", "public", "public_owners", "graph"];
const WRITTEN: [&str; 8] = ["label", "separator", "decimal", "quote", "encoding", "header", "null", "trim"];

fn table(name: &str, section: &Section) -> Result<Table> {
    section.only(&[&TABLE[..], &WRITTEN, &UNREAD].concat())?;
    section.need("source")?.text()?;
    let other = section.iter().map(|(key, _)| key).find(|key| !TABLE.contains(key) && !WRITTEN.contains(key));
    if let Some(key) = other {
        let left_out = Some(format!("table '{name}' has '{key}', which this page does not read"));
        // Its attributes are still among those that costs are shown of.
        let is_private = section.get("public").map_or(Ok(false), Spot::truth).is_ok_and(|public| !public);
        let declared = section.get("columns").filter(|_| is_private).and_then(|spot| spot.section().ok());
        let names = declared.into_iter().flat_map(Section::iter).map(|(column, _)| column.to_string());
        let unread = |column| {
            (column, Column::Other { why: "is in a table that this page does not read", never_missing: false })
        };
        return Ok(Table {
            owner: None,
            bounding: Bounding::default(),
            columns: names.map(unread).collect(),
            left_out,
        });
    }
    let owner = section.get("owner").map(|spot| spot.text().map(str::to_string)).transpose()?;
    let bounding = Bounding::read(section)?;
    let columns_section = section.need("columns")?.section()?;
    let mut columns = Vec::new();
    for (column, spot) in columns_section.iter() {
        columns.push((column.to_string(), self::column(spot.section()?)?));
    }
    match &owner {
        Some(_) if bounding.rows.is_none() && (bounding.groups.is_none() || bounding.rows_per_group.is_none()) => {
            return Err(section.error(format!(
                "table '{name}' has an owner, so it needs max_rows_per_owner: how many rows of one owner may count"
            )));
        }
        Some(owner) if columns.iter().any(|(column, _)| column == owner) => {
            let sentence = format!("'{owner}' is the owner of the rows and needs no other declaration");
            return Err(columns_section.error(sentence));
        }
        None if bounding != Bounding::default() => {
            return Err(section.error(format!(
                "table '{name}' has no owner: each row is one person, and there is nothing to bound per owner"
            )));
        }
        _ => {}
    }
    Ok(Table { owner, bounding, columns, left_out: None })
}

/// The keys of a column of any type, and the types.
const COLUMN: [&str; 14] = [
    "type",
    "lower",
    "upper",
    "granularity",
    "values",
    "map",
    "unlisted",
    "bins",
    "labels",
    "zone",
    "missing",
    "sensitive",
    "label",
    "unit",
];
const TYPES: [&str; 6] = ["int", "float", "category", "bool", "date", "timestamp"];

fn column(section: &Section) -> Result<Column> {
    let kind = section.need("type")?;
    let never_missing = section.get("missing").is_some();
    section.only(&COLUMN)?;
    let plain = ["type", "lower", "upper", "granularity", "values", "missing", "sensitive", "label", "unit"];
    if section.iter().any(|(key, _)| !plain.contains(&key)) {
        return Ok(Column::Other { why: "is recoded or binned", never_missing });
    }
    let ends = |read: fn(&Spot) -> Result<f64>| match (section.get("lower"), section.get("upper")) {
        (Some(lower), Some(upper)) => {
            let (low, high) = (read(lower)?, read(upper)?);
            match low > high {
                true => Err(lower.error(format!("the bounds are inverted: lower is {low} and upper is {high}"))),
                false => Ok(Some((low, high))),
            }
        }
        (None, None) => Ok(None),
        _ => Err(section.error("give both lower and upper")),
    };
    let is_whole = kind.text()? == "int";
    let (bounds, step) = match kind.text()? {
        "int" => (ends(|spot| Ok(spot.integer()? as f64))?, Some(1.0)),
        "float" => (ends(Spot::number)?, section.get("granularity").map(Spot::number).transpose()?),
        "category" => {
            let Some(spot) = section.get("values").filter(|spot| spot.section().is_err()) else {
                return Ok(Column::Other { why: "has no list of its values", never_missing });
            };
            let texts = spot.list()?.iter().map(Spot::text).collect::<Result<BTreeSet<&str>>>()?;
            return match texts.len() == spot.list()?.len() && !texts.is_empty() {
                true => Ok(Column::Listed { values: texts.len() as u64, never_missing }),
                false => Err(spot.error("list each value once, and at least one")),
            };
        }
        "bool" => return Ok(Column::Listed { values: 2, never_missing }),
        "date" | "timestamp" => return Ok(Column::Other { why: "is a date or a time", never_missing }),
        other => return Err(kind.error(format!("unknown type '{other}'; types are: {}", TYPES.join(", ")))),
    };
    let (Some((lower, upper)), Some(step)) = (bounds, step) else {
        let why = if bounds.is_none() { "has no bounds" } else { "has no granularity" };
        return Ok(Column::Other { why, never_missing });
    };
    // Below 2^53 both are exact, and no rounding has to be the engine's.
    let whole = |end: f64| Some(end / step).filter(|steps| steps.fract() == 0.0 && steps.abs() < 9e15);
    Ok(match (whole(lower), whole(upper)) {
        (Some(least), Some(most)) if step > 0.0 => {
            Column::Numbers { least: least as i64, most: most as i64, step, is_whole, never_missing }
        }
        _ => Column::Other { why: "has bounds that are no multiples of its granularity", never_missing },
    })
}

/// The fields of a release that a plan of counts and sums depends on, those that are left to the program, and those on
/// which none depends.
const RELEASE: [&str; 8] =
    ["name", "kind", "sql", "cost", "noise", "max_rows_per_owner", "max_groups_per_owner", "max_rows_per_group"];
const LEFT: [&str; 3] = ["accuracy", "share", "bounding_report"];
const SHOWN: [&str; 5] = ["title", "unit", "source", "labels", "expected_rows"];

fn release(section: &Section, scope: Option<&DefaultScope>) -> Result<Release> {
    let name = section.need("name")?.text()?.to_string();
    Ok(Release { query: query(section, scope)?, name })
}

fn query(section: &Section, scope: Option<&DefaultScope>) -> Result<std::result::Result<ReleasedQuery, String>> {
    let kind = section.get("kind").map_or(Ok("sql"), Spot::text)?;
    if kind != "sql" {
        return Ok(Err(format!("kind '{kind}' is planned by the program")));
    }
    let Some(sql) = section.get("sql") else {
        return Err(section.error(format!("release '{}' needs 'sql' or a 'kind'", section.need("name")?.text()?)));
    };
    section.only(&[&RELEASE[..], &SHOWN, &LEFT].concat())?;
    if let Some((key, _)) = section.iter().find(|(key, _)| !RELEASE.contains(key) && !SHOWN.contains(key)) {
        return Ok(Err(format!("its field '{key}' is read by the program alone")));
    }
    let cost = cost(section.need("cost")?.section()?)?;
    let mut request = Request { cost, fields: section.clone() };
    if let Some(scope) = scope {
        request = scope.of_request(request);
    }
    if request.cost.scope() == CostScope::Attribute {
        return Err(section.error("a query has no cost per attribute; give the cost for 'person' or 'presence'"));
    }
    let noise = section.get("noise").map(Spot::text).transpose()?;
    if noise == Some("joint") {
        return Ok(Err("joint noise is planned by the program".to_string()));
    }
    Ok(Ok(ReleasedQuery {
        sql: sql.text()?.to_string(),
        cost: request.cost,
        bounding: Bounding::read(section)?,
        says_each: noise == Some("each"),
    }))
}

type Limits = Vec<(Option<String>, Scope, Limit)>;

fn budget(section: &Section) -> Result<Limits> {
    section.only(&["presence", "person", "attributes"])?;
    let mut limits = Vec::new();
    for (key, scope) in [("presence", Scope::Presence), ("person", Scope::Person)] {
        if let Some(spot) = section.get(key) {
            limits.push((None, scope, limit(spot.section()?)?));
        }
    }
    if let Some(spot) = section.get("attributes") {
        for (name, spot) in spot.section()?.iter() {
            limits.push((Some(name.to_string()), one_attribute(name)?, limit(spot.section()?)?));
        }
    }
    Ok(limits)
}

fn limit(section: &Section) -> Result<Limit> {
    section.only(&["epsilon", "delta", "rho", "omega", "order"])?;
    let delta = section.get("delta").map(|spot| checked(spot, Delta::new)).transpose()?.unwrap_or_else(Exact::zero);
    let [epsilon, rho, omega, order] = ["epsilon", "rho", "omega", "order"].map(|key| section.get(key));
    match (epsilon, rho, omega, order) {
        (Some(epsilon), None, None, None) => Ok(Limit::Approximate { epsilon: checked(epsilon, Epsilon::new)?, delta }),
        (None, Some(rho), None, None) => Ok(Limit::Zcdp { rho: checked(rho, Rho::new)?, delta }),
        (None, Some(rho), Some(omega), None) => {
            Ok(Limit::Tcdp { rho: checked(rho, Rho::new)?, omega: checked(omega, Omega::new)?, delta })
        }
        (Some(epsilon), None, None, Some(order)) => {
            let epsilon = checked(epsilon, Epsilon::new)?;
            Ok(Limit::Renyi { order: checked(order, Order::new)?, epsilon, delta })
        }
        _ => Err(section.error(
            "a budget has epsilon (pure, or with delta), rho (zCDP), rho and omega (tCDP), or order and epsilon \
             (Rényi)",
        )),
    }
}

/// The exact number here, if it is one of the quantity's.
fn checked<T>(spot: &Spot, quantity: fn(f64) -> scumble::Result<T>) -> Result<Exact> {
    quantity(spot.number()?).map_err(|error| spot.error(error.to_string()))?;
    spot.exact()
}

impl From<Error> for crate::question::Refusal {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}
