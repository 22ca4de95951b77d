//! From the text of a project file to its releases: a kind says which fields there may be.

use crate::error::{Error, Result};
use crate::kinds::registry;
use crate::memory::Batches;
use crate::project::{
    Cost, CostScope, Presentation, Project, Request, Section, cost, file_stem, given, project, project_of_json,
};
use crate::release::{CostAbout, Kind, Publication};
use crate::tables::key_sets::with_key_sets;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// No project file is longer, in bytes.
const LONGEST: u64 = 64 << 20;

impl Project {
    /// Reads and checks a project file, and what its public tables list as values; private data is not touched.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        // A pipe would be waited for, and a device may never end.
        if std::fs::metadata(path).is_ok_and(|file| !file.is_file() || file.len() > LONGEST) {
            return Err(Error::input(format!(
                "the project file {shown} is not a file of at most {} MiB",
                LONGEST >> 20
            )));
        }
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::input(format!(
                "there is no project file {shown}; write one, or let 'scumble init TABLE' write a first one"
            )),
            _ => Error::input(format!("the project file {shown} cannot be read ({error})")),
        })?;
        let content = String::from_utf8(bytes)
            .map_err(|_| Error::input(format!("the project file {shown} is not UTF-8 text")))?;
        with_key_sets(Self::parse(path, &content)?)
    }

    /// A project of a program: its text, which stands in no file, and the rows of its tables. `path` is where the file
    /// would be, beside the ledger and the outputs; the source of a table in `rows` is only what it is called.
    ///
    /// # Guarantee
    /// The rows are held to the same declarations as those of files, and are read after the same charge. What differs:
    /// no other project can be seen to read the same rows, since they have no place on a disk.
    pub fn in_memory(path: &Path, content: &str, rows: BTreeMap<String, Batches>) -> Result<Self> {
        with_rows(Self::parse(path, content)?, rows)
    }

    /// The same of values: the tables, keys and values of a project file as JSON. There are no lines, so that a
    /// refusal names the keys that lead to what is wrong ([`Origin::Given`](crate::Origin::Given)).
    ///
    /// ```
    /// use scumble_engine::project::Project;
    /// use std::{collections::BTreeMap, path::Path};
    /// let opened = |age: &str| {
    ///     let people = format!(r#"{{"source": "people.csv", "columns": {{"age": {age}}}}}"#);
    ///     let text = format!(r#"{{"dataset": {{"people": {people}}}}}"#);
    ///     Project::of_json(Path::new("session.toml"), &text, BTreeMap::new())
    /// };
    /// assert_eq!(opened(r#"{"type": "int", "lower": 0, "upper": 120}"#)?.tables.len(), 1);
    /// let error = opened(r#"{"type": "int", "lower": 9, "upper": 1}"#).unwrap_err().to_string();
    /// assert!(error.starts_with("dataset.people.columns.age.lower: the bounds are inverted"), "{error}");
    /// # Ok::<(), scumble_engine::Error>(())
    /// ```
    ///
    /// # Guarantee
    /// That of [`Project::in_memory`].
    pub fn of_json(path: &Path, content: &str, rows: BTreeMap<String, Batches>) -> Result<Self> {
        with_rows(project_of_json(path, content, request)?, rows)
    }

    /// Checks a project file's text; no table is read, so columns whose values a public table lists are without them.
    pub fn parse(path: &Path, content: &str) -> Result<Self> {
        project(path, content, request)
    }
}

/// The project with rows in the place of files.
fn with_rows(mut project: Project, rows: BTreeMap<String, Batches>) -> Result<Project> {
    for (name, rows) in rows {
        project.table(&name)?;
        let Some(table) = project.tables.get_mut(&name) else { continue };
        if let Some(key) = table.layout.about_text() {
            return Err(Error::input(format!("{key} is for CSV files, and table '{name}' is in memory: leave it out")));
        }
        table.rows = Some(rows);
    }
    with_key_sets(project)
}

/// The fields that every release may have, whatever its kind.
const COMMON: [&str; 4] = ["name", "kind", "cost", "accuracy"];

/// A release of a project file.
fn request(section: &Section) -> Result<Request> {
    read(section, None)
}

/// A release: its kind says which other fields there may be. Its cost is read from them, unless it is known.
fn read(section: &Section, known_cost: Option<Cost>) -> Result<Request> {
    let name = section.need("name")?;
    let fits = |letter: char| letter.is_alphanumeric() || " -_.,()+&".contains(letter);
    let text = name.text()?;
    if text.trim().is_empty() || text.len() > 150 || text.starts_with('.') || !text.chars().all(fits) {
        let sentence = "a release's name becomes a file name: 1 to 150 letters, digits, spaces and - _ . , ( ) + &, not starting with a dot";
        return Err(name.error(sentence));
    }
    if text.trim() != text {
        let sentence = format!(
            "a release's name becomes a file name, and must not begin or end with a space: write name = \"{}\"",
            text.trim()
        );
        return Err(name.error(sentence));
    }
    if file_stem(text) == "report" {
        return Err(name.error(format!(
            "a release cannot be called '{text}', because report.json is the report's own file; give it another name"
        )));
    }
    if file_stem(text).to_lowercase().ends_with(".vl") {
        return Err(
            name.error("a release's name cannot end in '.vl', because NAME.vl.json is a chart's file; give it another")
        );
    }
    let kind = match section.get("kind") {
        Some(spot) => registry::find(spot.text()?).map_err(|error| error.or_at(spot.place()))?,
        None if section.get("sql").is_some() => registry::of_queries(),
        None => return Err(section.error(format!("release '{}' needs 'sql' or a 'kind'", name.text()?))),
    };
    let fields = kind.fields;
    let common = COMMON.into_iter().chain(Presentation::KEYS);
    let known: Vec<&str> = common.chain(fields.iter().map(|field| field.name)).collect();
    section.only(&known)?;
    if let Some(missing) = fields.iter().find(|field| field.required && section.get(field.name).is_none()) {
        let sentence = format!("release '{}' of kind {} needs '{}'", name.text()?, kind.name, missing.name);
        return Err(section.error(sentence));
    }
    let may_cost = cost_of(section, kind, text, known_cost)?;
    let label = kind.label.and_then(|field| section.get(field)).and_then(|spot| spot.text().ok()).map(str::to_string);
    Ok(Request {
        name: name.text()?.to_string(),
        kind: kind.name.to_string(),
        cost: may_cost,
        label,
        presentation: Presentation::read(section)?,
        fields: section.clone(),
    })
}

/// What a release may cost, if that is not known already.
fn cost_of(section: &Section, kind: &Kind, name: &str, known: Option<Cost>) -> Result<Cost> {
    let may_cost = match (section.get("cost"), section.get("accuracy")) {
        (None, None) if kind.cost_about == CostAbout::Nobody => Cost::nothing(),
        (Some(spot), _) | (_, Some(spot)) if kind.cost_about == CostAbout::Nobody => {
            return Err(
                spot.error(format!("a release of kind {} has no cost that could be chosen: leave this out", kind.name))
            );
        }
        (Some(said), None) => known.map_or_else(|| cost(said.section()?), |cost| Ok(cost.without_zero_delta()))?,
        (None, Some(wish)) => Cost::accuracy(wish.section()?)?,
        (Some(_), Some(wish)) => return Err(wish.error("a release has a cost or an accuracy, not both")),
        (None, None) => return Err(section.error(format!("release '{name}' needs 'cost' or 'accuracy'"))),
    };
    if may_cost.scope() == CostScope::Attribute && kind.cost_about != CostAbout::OwnersOrAttributes {
        let able: Vec<&str> = registry::KINDS
            .iter()
            .filter(|kind| kind.cost_about == CostAbout::OwnersOrAttributes)
            .map(|kind| kind.name)
            .collect();
        return Err(section.error(format!(
            "kind {} has no cost per attribute (scope = \"attribute\" is for {}); give the cost for 'person' or 'presence'",
            kind.name,
            able.join(", ")
        )));
    }
    Ok(may_cost)
}

impl Request {
    /// Its kind, as it is registered.
    pub fn definition(&self) -> Result<&'static Kind> {
        registry::find(&self.kind)
    }

    /// Whether it is asked one question after the other (`scumble ask`), and not published as a whole.
    pub fn is_asked(&self) -> bool {
        self.definition().is_ok_and(|kind| kind.publishes == Publication::Rounds)
    }

    /// A SQL request that does not stand in the project file.
    ///
    /// ```
    /// use scumble::quantity::Epsilon;
    /// use scumble_engine::project::{Cost, Request};
    /// let request = Request::sql("people", "SELECT COUNT(*) FROM people", &Cost::epsilon(Epsilon::new(0.5)?)?)?;
    /// assert_eq!(request.kind, "sql");
    /// # Ok::<(), scumble_engine::Error>(())
    /// ```
    pub fn sql(name: &str, sql: &str, cost: &Cost) -> Result<Self> {
        of_program(&[("name", name.into()), ("sql", sql.into())], cost)
    }

    /// A request of any kind that does not stand in a project file, with the fields that one has there.
    ///
    /// ```
    /// use scumble_engine::project::Request;
    /// let ages = r#"{"name": "ages", "kind": "quantiles", "table": "people", "column": "age", "quantiles": [0.5],
    ///                "cost": {"epsilon": 1}}"#;
    /// let fields = |text: &str| serde_json::from_str(text).expect("an object");
    /// assert_eq!(Request::of_fields(&fields(ages))?.kind, "quantiles");
    /// let error = Request::of_fields(&fields(r#"{"name": "ages", "kind": "quantile"}"#)).unwrap_err().to_string();
    /// assert!(error.starts_with("unknown kind 'quantile' (did you mean 'quantiles'?)"), "{error}");
    /// # Ok::<(), scumble_engine::Error>(())
    /// ```
    pub fn of_fields(fields: &Map<String, Value>) -> Result<Self> {
        read(&given(fields), None).map_err(Error::without_place)
    }

    /// A request for the bounds of a release, which looks at this many rows of an owner.
    pub fn bounds_of(release: &str, cost: &Cost, rows: Option<u64>) -> Result<Self> {
        // A file name, which may not be longer.
        let end = (0..=release.len().min(140)).rev().find(|end| release.is_char_boundary(*end)).unwrap_or(0);
        let name = format!("bounds of {}", &release[..end]);
        let mut fields =
            vec![("name", name.as_str().into()), ("kind", registry::of_bounds().name.into()), ("for", release.into())];
        fields.extend(rows.map(|rows| ("max_rows_per_owner", rows.into())));
        of_program(&fields, cost)
    }
}

/// A request of values. What its cost says stands among its fields too, as in a project file: charges remember all of
/// them.
fn of_program(fields: &[(&str, Value)], cost: &Cost) -> Result<Request> {
    let mut said: Map<String, Value> = fields.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    said.insert("cost".to_string(), cost.json());
    read(&given(&said), Some(cost.clone())).map_err(Error::without_place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Origin;
    use crate::project::parse;
    use serde_json::json;

    /// Charges remember all fields, and answers are found again by them: how a request was made must not show.
    #[test]
    fn a_request_of_a_program_says_what_one_of_a_file_does() {
        let file = |text: &str| read(&parse(Origin::CommandLine, text).unwrap(), None).unwrap();
        let same = |one: Request, other: Request| {
            assert_eq!(one.fields.json(), other.fields.json());
            assert_eq!((one.name, one.kind, one.cost), (other.name, other.kind, other.cost));
        };
        let sql = "SELECT \"a\"\n\tFROM t WHERE x = 'ü\\'";
        for (flag, text) in [
            ("epsilon=1,delta=1e-9", "{ epsilon = \"1\", delta = \"0.000000001\" }"),
            ("rho=0.05", "{ rho = 0.05 }"),
            ("epsilon=0.10,delta=0", "{ epsilon = \"0.1\", delta = \"0\" }"),
        ] {
            let text = format!("name = \"q\"\nsql = {}\ncost = {text}", toml::Value::from(sql));
            let cost: Cost = flag.parse().unwrap();
            let (given, read) = (Request::sql("q", sql, &cost).unwrap(), file(&text));
            assert_eq!(given.fields.json()["sql"], read.fields.json()["sql"]);
            let exact =
                |value: &serde_json::Value| value.as_str().unwrap().parse::<scumble::quantity::Exact>().unwrap();
            for (key, value) in read.fields.json()["cost"].as_object().unwrap() {
                assert_eq!(exact(&given.fields.json()["cost"][key]), exact(value), "{flag} {key}");
            }
            assert_eq!((&given.name, &given.kind, &given.cost), (&read.name, &read.kind, &read.cost));
        }
        let text = "name = \"bounds of x\"\nkind = \"bounds\"\nfor = \"x\"\nmax_rows_per_owner = 7\ncost = { epsilon = \"1\" }";
        same(Request::bounds_of("x", &"epsilon=1".parse().unwrap(), Some(7)).unwrap(), file(text));
        let fields = json!({
            "name": "ages", "kind": "quantiles", "table": "people", "column": "age", "quantiles": [0.5, 1e-9, 1],
            "cost": { "epsilon": 1, "scope": "presence" },
        });
        let text = "name = \"ages\"\nkind = \"quantiles\"\ntable = \"people\"\ncolumn = \"age\"\nquantiles = [0.5, 1e-09, 1]\n\
                    cost = { epsilon = 1, scope = \"presence\" }";
        same(Request::of_fields(fields.as_object().unwrap()).unwrap(), file(text));
    }
}
