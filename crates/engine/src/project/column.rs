//! One declared column: its type and what is publicly known about it.

use super::recoding::{bins, texts, with_recoded};
use super::section::positive;
use super::section::{Section, Spot};
use super::{BinEdges, Column, ColumnWords, Domain, KeySet, Recoding, Zone};
use crate::calendar::{self, DAY, SECOND};
use crate::error::Result;
use std::collections::BTreeSet;

/// More cells than this in one list of values is a mistake rather than a domain.
const LONGEST_DOMAIN: usize = 1_000_000;
/// Bounds of dates that are further apart say nothing: they count as none where groups are listed.
const MOST_YEARS: i64 = 500;
pub(crate) const TYPES: [&str; 6] = ["int", "float", "category", "bool", "date", "timestamp"];

/// The keys of a column of a type; none where there is no such type.
pub(crate) fn keys(of: &str) -> Option<&'static [&'static str]> {
    Some(match of {
        "int" | "date" => &["type", "lower", "upper", "bins", "labels", "missing", "sensitive", "label", "unit"],
        "float" => {
            &["type", "lower", "upper", "granularity", "bins", "labels", "missing", "sensitive", "label", "unit"]
        }
        "category" => &["type", "values", "map", "unlisted", "missing", "sensitive", "label", "unit"],
        "bool" => &["type", "missing", "sensitive", "label", "unit"],
        "timestamp" => &["type", "lower", "upper", "zone", "bins", "labels", "missing", "sensitive", "label", "unit"],
        _ => return None,
    })
}

/// A column of a table.
pub(super) fn column(name: &str, section: &Section) -> Result<Column> {
    let kind = section.need("type")?;
    let sensitive = section.get("sensitive").map(Spot::truth).transpose()?.unwrap_or(false);
    let mut recoding = None;
    let mut binned = |read: &dyn Fn(&Spot) -> Result<Recoding>| -> Result<Option<Domain>> {
        let Some(spot) = section.get("bins") else {
            return match section.get("labels") {
                Some(spot) => Err(spot.error("labels need bins, as in bins = [0, 18, 65]")),
                None => Ok(None),
            };
        };
        let made = read(spot)?;
        let Recoding::Bins { labels, .. } = &made else { return Ok(None) };
        let domain = Domain::Category { values: Some(labels.clone()) };
        recoding = Some(made);
        Ok(Some(domain))
    };
    if let Some(keys) = keys(kind.text()?) {
        section.only(keys)?;
    }
    let mut key_set = None;
    let domain = match kind.text()? {
        "int" => {
            let within = |spot: &Spot| match spot.integer()? {
                edge if edge.unsigned_abs() <= 1 << 62 => Ok(edge),
                _ => Err(spot.error("bins must be within ±2^62")),
            };
            match binned(&|spot| bins(section, spot, within, BinEdges::Whole))? {
                Some(domain) => domain,
                None => Domain::Int { bounds: pair(section, Spot::integer, 1i64 << 62)? },
            }
        }
        "float" => match binned(&|spot| bins(section, spot, Spot::number, BinEdges::Numbers))? {
            Some(domain) => domain,
            None => {
                let bounds = pair(section, Spot::number, 1e300)?;
                let granularity = section.get("granularity").map(positive).transpose()?;
                Domain::Float { bounds, granularity }
            }
        },
        "category" => {
            let mut listed = None;
            match section.get("values") {
                Some(spot) if spot.section().is_ok() => key_set = Some(self::key_set(spot, spot.section()?)?),
                Some(spot) => listed = Some(values(spot)?),
                None => {}
            }
            recoding = texts(section, listed.is_some() || key_set.is_some())?;
            // What a public table lists is read later.
            let values = listed.map(|listed| with_recoded(listed, recoding.as_ref()));
            Domain::Category { values: values.transpose().map_err(|why| section.error(why))? }
        }
        "bool" => Domain::Bool,
        "date" => match binned(&|spot| bins(section, spot, day, BinEdges::Days))? {
            Some(domain) => domain,
            None => Domain::Date { bounds: span(section, day, 1)? },
        },
        "timestamp" => {
            let zone = section.get("zone").map_or(Ok(Zone::default()), zone)?;
            match binned(&|spot| bins(section, spot, moment, |edges| BinEdges::Moments(edges, zone)))? {
                Some(domain) => domain,
                None => Domain::Timestamp { bounds: span(section, moment, DAY * SECOND)?, zone },
            }
        }
        other => {
            let hint = crate::place::suggestion(other, TYPES.into_iter());
            return Err(
                kind.error(format!("unknown type '{other}' of column '{name}'{hint}; types are: {}", TYPES.join(", ")))
            );
        }
    };
    let words = ColumnWords::read(section)?;
    let never_missing = never_missing(section, key_set.is_some() || domain.has_first())?;
    Ok(Column { name: name.to_string(), domain, sensitive, words, recoding, never_missing, key_set })
}

/// `missing = "never"`, for a domain with a first value: what would be missing counts as that.
fn never_missing(section: &Section, has_first: bool) -> Result<bool> {
    let Some(spot) = section.get("missing") else { return Ok(false) };
    match (spot.text()?, has_first) {
        ("never", true) => Ok(true),
        ("never", false) => Err(spot.error(
            "missing = \"never\" needs bounds or listed values: a missing value counts as the lower bound or the first",
        )),
        _ => Err(spot.error("missing can be \"never\" alone; leave it out if values may be missing")),
    }
}

/// `values = { table = …, column = … }`.
fn key_set(spot: &Spot, section: &Section) -> Result<KeySet> {
    section.only(&["table", "column"])?;
    let text = |key: &str| section.need(key).and_then(|spot| spot.text().map(str::to_string));
    Ok(KeySet { table: text("table")?, column: text("column")?, place: spot.place() })
}

/// `lower` and `upper`, and where the first stands: both or neither.
fn ends<T>(section: &Section, read: fn(&Spot) -> Result<T>) -> Result<Option<(&Spot, (T, T))>> {
    match (section.get("lower"), section.get("upper")) {
        (None, None) => Ok(None),
        (Some(lower), Some(upper)) => Ok(Some((lower, (read(lower)?, read(upper)?)))),
        _ => Err(section.error("give both lower and upper")),
    }
}

/// `lower` and `upper`: both or neither, in order, and not beyond `most`.
fn pair<T: PartialOrd + Copy + std::fmt::Display + std::ops::Neg<Output = T>>(
    section: &Section,
    read: fn(&Spot) -> Result<T>,
    most: T,
) -> Result<Option<(T, T)>> {
    let Some((lower, (low, high))) = ends(section, read)? else { return Ok(None) };
    if low > high {
        return Err(lower.error(format!("the bounds are inverted: lower is {low} and upper is {high}")));
    }
    if low < -most || high > most {
        return Err(lower.error(format!("bounds must be within ±{most}")));
    }
    Ok(Some((low, high)))
}

/// `lower` and `upper` of dates or times; `day` is the length of one day.
fn span(section: &Section, read: fn(&Spot) -> Result<i64>, day: i64) -> Result<Option<(i64, i64)>> {
    let Some((lower, (low, high))) = ends(section, read)? else { return Ok(None) };
    if low > high {
        return Err(lower.error("the bounds are inverted: lower is later than upper"));
    }
    if (high - low) / day > MOST_YEARS * 366 {
        return Err(lower.error(format!("the bounds are more than {MOST_YEARS} years apart: give tighter ones")));
    }
    Ok(Some((low, high)))
}

/// A bound of a date.
fn day(spot: &Spot) -> Result<i64> {
    let wrong =
        || spot.error("this must be a date from 1678-01-01 to 2261-12-31 in quotation marks, as in \"2013-12-31\"");
    calendar::day(spot.text().map_err(|_| wrong())?).filter(|day| calendar::day_within(*day) == *day).ok_or_else(wrong)
}

/// A bound of a time. It has one of day, because a date alone could mean its beginning or its end.
fn moment(spot: &Spot) -> Result<i64> {
    let wrong = || {
        let sentence = "this must be a local time of the column's zone, from 1678-01-01T00:00:00 to \
            2261-12-31T23:59:59 in quotation marks, as in \"2013-12-31T23:59:59\"";
        spot.error(sentence)
    };
    let text = spot.text().map_err(|_| wrong())?;
    let is_whole = text.len() > 10 && !text.get(11..).unwrap_or_default().contains(['Z', 'z', '+', '-']);
    let year_is_known = text.get(..10).and_then(calendar::day).is_some_and(|day| calendar::day_within(day) == day);
    calendar::moment(text, Zone::default()).filter(|_| is_whole && year_is_known).ok_or_else(wrong)
}

fn zone(spot: &Spot) -> Result<Zone> {
    Zone::named(spot.text()?).ok_or_else(|| {
        spot.error(
            "this is not a time zone: give one of the tz database, as in \"Europe/Berlin\" or \"UTC\", or an \
            offset, as in \"+02:00\"",
        )
    })
}

fn values(spot: &Spot) -> Result<Vec<String>> {
    let items = spot.list()?;
    if items.is_empty() || items.len() > LONGEST_DOMAIN {
        return Err(spot.error("a public domain has at least one value and at most a million"));
    }
    let mut seen = BTreeSet::new();
    for item in items {
        if !seen.insert(item.text()?) {
            return Err(item.error(format!("the value '{}' is listed twice", item.text()?)));
        }
    }
    items.iter().map(|item| item.text().map(str::to_string)).collect()
}
