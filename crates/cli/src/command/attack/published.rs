//! What somebody published: counts of known groups of people, and their answers.

use super::{bits, numbers};
use crate::failure::Failure;
use crate::input;
use clap::Args;
use scumble_adversary::attack::Queries;
use scumble_adversary::limits::singular::Matrix;
use scumble_engine::Frame;
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use std::path::{Path, PathBuf};

/// Where it stands.
#[derive(Args)]
pub struct PublishedQueriesArguments {
    /// A JSON document with "queries" or "members", and "answers"; - reads standard input
    #[arg(required_unless_present_any = ["queries", "members", "frame"], conflicts_with_all = ["queries", "members", "frame", "answers"])]
    file: Option<PathBuf>,
    /// A CSV file instead: a line for each query, 0 or 1 for each person
    #[arg(long, value_name = "CSV", requires = "answers", conflicts_with_all = ["members", "frame"])]
    queries: Option<PathBuf>,
    /// A file instead: a line for each query, the numbers of the people it counts, from 0: 0,2,5
    #[arg(long, value_name = "FILE", requires = "answers", requires = "people", conflicts_with = "frame")]
    members: Option<PathBuf>,
    /// How many people there are, for --members
    #[arg(long, value_name = "N", requires = "members")]
    people: Option<usize>,
    /// A public CSV file with a line of names and a row for each person, for --where
    #[arg(long, value_name = "CSV", requires = "answers", requires = "predicates")]
    frame: Option<PathBuf>,
    /// A file with a line for each query: an SQL condition, such as age >= 65 AND sex = 'f'
    #[arg(long = "where", id = "predicates", value_name = "FILE", requires = "frame")]
    predicates: Option<PathBuf>,
    /// A CSV file with one published number per line, for each query
    #[arg(long, value_name = "CSV")]
    answers: Option<PathBuf>,
}

/// Queries and their answers.
pub struct PublishedQueries {
    pub queries: Queries,
    pub answers: Vec<f64>,
    pub truth: Option<Vec<bool>>,
}

impl PublishedQueriesArguments {
    /// Reads it.
    pub fn read(&self) -> Result<PublishedQueries, Failure> {
        if let Some(file) = &self.file {
            return input::read(file, document_of);
        }
        let queries = match (&self.queries, &self.members, &self.frame) {
            (Some(path), ..) => of_matrix(path)?,
            (_, Some(path), _) => of_members(path, self.people.unwrap_or(0))?,
            (.., Some(frame)) => of_predicates(frame, self.predicates.as_deref().unwrap_or_else(|| Path::new("-")))?,
            _ => refuse!("give a JSON document, or --queries and --answers"),
        };
        let answers = self.answers.as_deref().unwrap_or_else(|| Path::new("-"));
        Ok(PublishedQueries { queries, answers: numbers_of(answers)?.concat(), truth: None })
    }
}

/// A column of 0 and 1.
pub fn column(path: &Path) -> Result<Vec<bool>, Failure> {
    Ok(bits_of(path)?.into_iter().flat_map(|(_, row)| row).collect())
}

/// The rows of a CSV file of finite numbers.
pub fn numbers_of(path: &Path) -> Result<Vec<Vec<f64>>, Failure> {
    let number = |cell: &str| match cell.parse() {
        Ok(number) if f64::is_finite(number) => Ok(number),
        Ok(_) => Err(format!("'{cell}' is not a finite number")),
        Err(_) => Err(format!("'{cell}' is not a number")),
    };
    Ok(cells_of(path, number)?.into_iter().map(|(_, row)| row).collect())
}

/// The rows of a CSV file of 0 and 1, with their lines.
pub fn bits_of(path: &Path) -> Result<Vec<(usize, Vec<bool>)>, Failure> {
    let bit = |cell: &str| match cell {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("'{other}' is not 0 or 1")),
    };
    cells_of(path, bit)
}

/// The cells of each line that is not empty, with its number, the first being 1.
fn cells_of<T>(path: &Path, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<(usize, Vec<T>)>, Failure> {
    let text = input::text(path)?;
    let row = |(at, line): (usize, &str)| {
        let wrong = |wrong| Failure::Input(format!("{}, line {}: {wrong}", path.display(), at + 1));
        let cells = line.split(',').map(|cell| read(cell.trim()).map_err(wrong));
        Ok((at + 1, cells.collect::<Result<Vec<T>, Failure>>()?))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
}

/// The places of the ones.
fn ones(row: &[bool]) -> Vec<u32> {
    (0..row.len() as u32).filter(|i| row[*i as usize]).collect()
}

fn of_matrix(path: &Path) -> Result<Queries, Failure> {
    let (mut people, mut queries) = (None, Vec::new());
    for (line, row) in bits_of(path)? {
        let width = *people.get_or_insert(row.len());
        if row.len() != width {
            let file = path.display();
            refuse!("{file}, line {line}: {width} columns are expected, not {}", row.len());
        }
        queries.push(ones(&row));
    }
    Ok(Queries::new(people.unwrap_or(0), queries)?)
}

fn of_members(path: &Path, people: usize) -> Result<Queries, Failure> {
    let text = input::text(path)?;
    let number = |at: usize, cell: &str| {
        let wrong =
            || Failure::Input(format!("{}, line {}: '{cell}' is not the number of a person", path.display(), at + 1));
        cell.parse::<u32>().map_err(|_| wrong())
    };
    let query = |(at, line): (usize, &str)| match line.trim() {
        "" => Ok(Vec::new()),
        list => list.split(',').map(|cell| number(at, cell.trim())).collect(),
    };
    let queries = text.lines().enumerate().map(query).collect::<Result<Vec<Vec<u32>>, Failure>>()?;
    Ok(Queries::new(people, queries)?)
}

fn of_predicates(frame: &Path, predicates: &Path) -> Result<Queries, Failure> {
    let frame = Frame::open(frame)?;
    let (text, mut queries) = (input::text(predicates)?, Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = |error| Failure::Input(format!("{}, line {}: {error}", predicates.display(), at + 1));
        queries.push(frame.counted(line.trim()).map_err(place)?);
    }
    Ok(Queries::new(frame.people(), queries)?)
}

fn document_of(place: &LocatedValue<'_>) -> WireResult<PublishedQueries> {
    place.only(&["n", "queries", "members", "answers", "truth"])?;
    let queries = match place.get("members")? {
        Some(members) => listed(place, &members)?,
        None => queries(place, &place.field("queries")?)?,
    };
    Ok(PublishedQueries {
        queries,
        answers: numbers(&place.field("answers")?)?,
        truth: place.get("truth")?.map(|truth| bits(&truth)).transpose()?,
    })
}

/// Lists of the people whom each query counts.
fn listed(place: &LocatedValue<'_>, members: &LocatedValue<'_>) -> WireResult<Queries> {
    let people = place.field("n")?.whole()? as usize;
    let person = |one: &LocatedValue<'_>| {
        let number = one.whole()?;
        u32::try_from(number).map_err(|_| one.refuse("the number of a person is expected"))
    };
    let query = |list: &LocatedValue<'_>| list.list()?.iter().map(person).collect::<WireResult<Vec<u32>>>();
    let queries = members.list()?.iter().map(query).collect::<WireResult<Vec<_>>>()?;
    members.core(Queries::new(people, queries))
}

/// Rows of 0 and 1, masks of n people, or the words "rows of (1+H)/2 … order 8".
fn queries(place: &LocatedValue<'_>, field: &LocatedValue<'_>) -> WireResult<Queries> {
    if let Some(words) = field.value().as_str() {
        let order = words.strip_prefix("rows of (1+H)/2").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
        let order: usize = order.ok_or_else(|| field.refuse("rows of 0 and 1 are expected"))?;
        let matrix = field.core(Matrix::hadamard(order))?;
        let row = |row: &Vec<i8>| ones(&row.iter().map(|entry| *entry == 1).collect::<Vec<bool>>());
        return field.core(Queries::new(order, matrix.rows().iter().map(row).collect()));
    }
    let list = field.list()?;
    if list.is_empty() {
        return Err(field.refuse("at least one query is expected"));
    }
    if list[0].value().is_array() {
        let rows = list.iter().map(bits).collect::<WireResult<Vec<Vec<bool>>>>()?;
        let people = rows[0].len();
        if let Some(at) = rows.iter().position(|row| row.len() != people) {
            return Err(list[at].refuse(format!("{people} entries are expected, not {}", rows[at].len())));
        }
        return field.core(Queries::new(people, rows.iter().map(|row| ones(row)).collect()));
    }
    let people = place.field("n")?.whole()?;
    let mask = |query: &LocatedValue<'_>| {
        let mask = query.whole()?;
        match people <= 63 && mask >> people == 0 {
            true => Ok((0..people as u32).filter(|i| mask >> i & 1 == 1).collect()),
            false => Err(query.refuse(format!("a mask of {people} people (at most 63) is expected"))),
        }
    };
    field.core(Queries::new(people as usize, list.iter().map(mask).collect::<WireResult<_>>()?))
}
