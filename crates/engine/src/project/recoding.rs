//! Values that are made of those in files, row by row and before anything counts them: intervals of numbers and dates,
//! other words for texts.

use super::section::{Section, Spot};
use super::{Domain, Zone};
use crate::calendar::{shown_day, shown_moment};
use crate::error::Result;
use std::collections::BTreeMap;

/// The most bins: more are a mistake.
const MOST_BINS: usize = 10_000;

/// How what files hold becomes what a column holds.
///
/// # Guarantee
/// A function of the one value: it fails on none, and NULL stays NULL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Recoding {
    /// The interval that a value is in, by its label. What is below the first edge is in the first interval, NaN in
    /// none.
    Bins {
        /// Where the intervals begin, ascending.
        edges: BinEdges,
        /// What they are called, one for each edge.
        labels: Vec<String>,
    },
    /// Other texts for some.
    Texts {
        /// What becomes of a text; others stay as they are.
        map: BTreeMap<String, String>,
        /// What becomes of those that are not listed then.
        unlisted: Option<String>,
    },
}

/// Where intervals begin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BinEdges {
    /// Of whole numbers.
    Whole(Vec<i64>),
    /// Of numbers.
    Numbers(Vec<f64>),
    /// Of dates, in days since 1970-01-01.
    Days(Vec<i64>),
    /// Of times on the wall of a zone, in nanoseconds.
    Moments(Vec<i64>, Zone),
}

impl Recoding {
    /// What files hold.
    pub fn in_files(&self) -> Domain {
        match self {
            Self::Texts { .. } => Domain::Category { values: None },
            Self::Bins { edges: BinEdges::Whole(_), .. } => Domain::Int { bounds: None },
            Self::Bins { edges: BinEdges::Numbers(_), .. } => Domain::Float { bounds: None, granularity: None },
            Self::Bins { edges: BinEdges::Days(_), .. } => Domain::Date { bounds: None },
            Self::Bins { edges: BinEdges::Moments(_, zone), .. } => Domain::Timestamp { bounds: None, zone: *zone },
        }
    }
}

/// `bins` and `labels` of a column; `read` reads an edge.
pub(super) fn bins<T: PartialOrd>(
    section: &Section,
    spot: &Spot,
    read: impl Fn(&Spot) -> Result<T>,
    edges: impl FnOnce(Vec<T>) -> BinEdges,
) -> Result<Recoding> {
    for key in ["lower", "upper", "granularity"] {
        if let Some(spot) = section.get(key) {
            let sentence =
                format!("a column with bins has no {key}: the first bin takes all values below it, the last all above");
            return Err(spot.error(sentence));
        }
    }
    let list = spot.list()?;
    if list.len() < 2 || list.len() > MOST_BINS {
        return Err(spot.error(format!(
            "bins are where intervals begin, at least two and at most {MOST_BINS}, as in [0, 18, 65]"
        )));
    }
    let starts = list.iter().map(&read).collect::<Result<Vec<T>>>()?;
    if let Some(index) = starts.windows(2).position(|pair| !matches!(pair, [one, other] if one < other)) {
        return Err(list[index + 1].error("bins must ascend"));
    }
    let edges = edges(starts);
    let labels = match section.get("labels") {
        None => edges.labels(),
        Some(given) => {
            let labels = given.list()?.iter().map(|one| one.text().map(str::to_string)).collect::<Result<Vec<_>>>()?;
            if labels.len() != list.len() {
                return Err(given.error(format!(
                    "there are {} bins and {} labels; give one for each",
                    list.len(),
                    labels.len()
                )));
            }
            labels
        }
    };
    let twice = (1..labels.len()).find(|index| labels[..*index].contains(&labels[*index]));
    match twice {
        Some(index) => Err(spot.error(format!("two bins are called '{}'; give them labels", labels[index]))),
        None => Ok(Recoding::Bins { edges, labels }),
    }
}

impl BinEdges {
    /// The default names of the intervals: for whole numbers and dates both ends, inclusive; for others the end that is
    /// not included.
    fn labels(&self) -> Vec<String> {
        match self {
            Self::Whole(edges) => intervals(edges, i64::to_string, |edge| (edge - 1).to_string(), "or more"),
            Self::Numbers(edges) => intervals(edges, f64::to_string, |edge| format!("below {edge}"), "or more"),
            Self::Days(edges) => intervals(edges, |day| shown_day(*day), |day| shown_day(*day - 1), "or later"),
            Self::Moments(edges, _) => {
                let end = |edge: &i64| format!("before {}", shown_moment(*edge));
                intervals(edges, |edge| shown_moment(*edge), end, "or later")
            }
        }
    }
}

/// What intervals are called: by their beginnings and the ends before the next ones, the last by `last`.
fn intervals<T>(edges: &[T], start: impl Fn(&T) -> String, end: impl Fn(&T) -> String, last: &str) -> Vec<String> {
    let between = |(edge, next): (&T, &T)| match (start(edge), end(next)) {
        (start, end) if start == end => start,
        (start, end) => format!("{start} to {end}"),
    };
    let last = edges.last().map(|edge| format!("{} {last}", start(edge)));
    edges.iter().zip(edges.iter().skip(1)).map(between).chain(last).collect()
}

/// `map` and `unlisted` of a column of strings, whose values are listed or not.
pub(super) fn texts(section: &Section, is_listed: bool) -> Result<Option<Recoding>> {
    let mut map = BTreeMap::new();
    if let Some(spot) = section.get("map") {
        for (from, to) in spot.section()?.iter() {
            map.insert(from.to_string(), to.text()?.to_string());
        }
    }
    let unlisted = match section.get("unlisted") {
        None => None,
        Some(spot) if !is_listed => {
            return Err(spot.error("unlisted is the name of all values that are not listed: list values"));
        }
        Some(spot) => match spot.text()? {
            "" => {
                return Err(
                    spot.error("unlisted is the name of all values that are not listed, as in unlisted = \"other\"")
                );
            }
            word => Some(word.to_string()),
        },
    };
    Ok((!map.is_empty() || unlisted.is_some()).then_some(Recoding::Texts { map, unlisted }))
}

/// All values that rows can have where these are listed: the value that stands for others is one of them. Or why that
/// cannot be.
pub(crate) fn with_recoded(
    mut listed: Vec<String>,
    recoding: Option<&Recoding>,
) -> std::result::Result<Vec<String>, String> {
    let Some(Recoding::Texts { map, unlisted }) = recoding else { return Ok(listed) };
    if let Some((from, to)) = map.iter().find(|(_, to)| !listed.contains(to)) {
        return Err(format!("map replaces '{from}' by '{to}', which is not among the values; list it"));
    }
    let is_gone =
        |value: &&String| map.get(*value).is_some_and(|to| to != *value) && !map.values().any(|to| to == *value);
    if let Some(gone) = listed.iter().find(is_gone) {
        return Err(format!("map replaces the value '{gone}', so no row can have it: leave it out of the values"));
    }
    listed.extend(unlisted.iter().filter(|word| !listed.contains(word)).cloned().collect::<Vec<_>>());
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::SECOND;

    #[test]
    fn bins_have_names_that_say_what_is_in_them() {
        let whole = BinEdges::Whole(vec![0, 18, 19, 65]).labels();
        assert_eq!(whole, ["0 to 17", "18", "19 to 64", "65 or more"]);
        assert_eq!(BinEdges::Numbers(vec![-0.5, 2.0]).labels(), ["-0.5 to below 2", "2 or more"]);
        assert_eq!(BinEdges::Days(vec![0, 31]).labels(), ["1970-01-01 to 1970-01-31", "1970-02-01 or later"]);
        let noon = BinEdges::Moments(vec![0, 43_200 * SECOND], Zone::default()).labels();
        assert_eq!(noon, ["1970-01-01T00:00:00 to before 1970-01-01T12:00:00", "1970-01-01T12:00:00 or later"]);
    }
}
