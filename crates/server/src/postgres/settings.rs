//! What a connection has set: the cost of its queries, and what PostgreSQL's clients expect to be able to set and to
//! look at.

use super::refused::{SqlError, code};
use scumble_engine::project::Cost;
use std::collections::BTreeMap;

/// The name of the one database.
pub(super) const DATABASE: &str = "scumble";
/// The version of PostgreSQL whose manners these are.
pub(super) const VERSION: &str = "15.0";

/// What a query may cost.
pub(super) const COST: &str = "scumble.cost";
/// Whether new numbers are paid for although there are some.
pub(super) const FRESH: &str = "scumble.fresh";

/// The settings that clients read: the name, the value, whether it is sent at the start and at each change, and whether
/// it is fixed, as the server's version and the format of dates and times are.
const KNOWN: [(&str, &str, bool, bool); 43] = [
    ("application_name", "", true, false),
    ("bytea_output", "hex", false, false),
    ("check_function_bodies", "on", false, false),
    ("client_encoding", "UTF8", true, true),
    ("client_min_messages", "notice", false, false),
    ("DateStyle", "ISO, MDY", true, true),
    ("default_table_access_method", "heap", false, false),
    ("default_tablespace", "", false, false),
    ("default_transaction_deferrable", "off", false, false),
    ("default_transaction_isolation", "read committed", false, false),
    ("default_transaction_read_only", "off", true, false),
    ("default_with_oids", "off", false, false),
    ("enable_seqscan", "on", false, false),
    ("extra_float_digits", "1", false, false),
    ("idle_in_transaction_session_timeout", "0", false, false),
    ("in_hot_standby", "off", true, true),
    ("integer_datetimes", "on", true, true),
    ("IntervalStyle", "postgres", true, true),
    ("jit", "off", false, false),
    ("lc_collate", "C", false, false),
    ("lc_ctype", "C", false, false),
    ("lc_messages", "C", false, false),
    ("lc_monetary", "C", false, false),
    ("lock_timeout", "0", false, false),
    ("max_identifier_length", "63", false, true),
    ("max_index_keys", "32", false, true),
    ("quote_all_identifiers", "off", false, false),
    ("row_security", "on", false, false),
    (COST, "", false, false),
    (FRESH, "off", false, false),
    ("search_path", "public", false, false),
    ("server_encoding", "UTF8", true, true),
    ("server_version", VERSION, true, true),
    ("server_version_num", "150000", false, true),
    ("session_authorization", "", true, true),
    ("ssl", "off", false, true),
    ("standard_conforming_strings", "on", true, true),
    ("statement_timeout", "0", false, false),
    ("synchronize_seqscans", "on", false, false),
    ("TimeZone", "UTC", true, true),
    ("transaction_isolation", "read committed", false, false),
    ("transaction_read_only", "off", false, false),
    ("xmloption", "content", false, false),
];

/// The settings of one connection.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    user: String,
    /// What is not as it was at the start, by its name in small letters.
    changed: BTreeMap<String, String>,
    /// What the start of the connection asked for: the values to which a reset goes back.
    first: BTreeMap<String, String>,
}

impl Settings {
    pub fn new(user: &str) -> Self {
        let first = BTreeMap::from([("session_authorization".to_string(), user.to_string())]);
        Self { user: user.to_string(), changed: BTreeMap::new(), first }
    }

    /// Who this is.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What the first message asks for: settings of their own names, and `-c name=value` in `options`.
    pub fn at_start(&mut self, parameters: &[(String, String)]) -> Result<(), SqlError> {
        for (name, value) in parameters {
            match name.as_str() {
                "user" | "database" | "replication" => {}
                "options" => {
                    for (name, value) in options(value) {
                        self.set(&name, Some(&value))?;
                    }
                }
                name if name.starts_with("_pq_.") => {}
                // What is not known here does not keep anybody from asking.
                name if known(name).is_some() => self.set(name, Some(value)).map(drop)?,
                _ => {}
            }
        }
        self.first.append(&mut self.changed);
        Ok(())
    }

    /// Sets something, or sets it back; gives the name and the value if clients are sent changes of it.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Option<(&'static str, String)>, SqlError> {
        let small = name.to_lowercase();
        let Some((shown, _, told, is_fixed)) = known(&small) else {
            // As in PostgreSQL, names with a point belong to somebody else's extension; nobody else's here.
            return match small.starts_with("scumble.") {
                true => Err(unknown(name)),
                false => Ok(None),
            };
        };
        if let Some(value) = value {
            self.checked(shown, value)?;
        }
        match value {
            Some(value) if !is_fixed => drop(self.changed.insert(small, value.to_string())),
            Some(_) => {}
            None => drop(self.changed.remove(&small)),
        }
        Ok(told.then(|| (*shown, self.get(shown).unwrap_or_default())))
    }

    /// Sets everything back.
    pub fn reset(&mut self) {
        self.changed.clear();
    }

    /// Refuses what would not be as it says.
    fn checked(&self, name: &str, value: &str) -> Result<(), SqlError> {
        let wrong = |sentence: String| Err(SqlError::new(code::VALUE, sentence));
        match name {
            COST if value.is_empty() => Ok(()),
            COST => cost(value).map(drop),
            FRESH if truth(value).is_none() => wrong(format!("{FRESH} is on or off, not '{value}'")),
            "client_encoding"
                if !["utf8", "utf-8", "unicode"].contains(&value.trim_matches('\'').to_lowercase().as_str()) =>
            {
                wrong(format!("strings are UTF8 here, not '{value}'"))
            }
            "standard_conforming_strings" if truth(value) == Some(false) => {
                wrong("a backslash in a string is a backslash here: standard_conforming_strings stays on".to_string())
            }
            _ => Ok(()),
        }
    }

    /// The value of a setting; none where there is no such one.
    pub fn get(&self, name: &str) -> Option<String> {
        let small = name.to_lowercase();
        let (shown, value, ..) = known(&small)?;
        let set = self.changed.get(&small).or_else(|| self.first.get(&small));
        let value = set.cloned().unwrap_or_else(|| value.to_string());
        Some(match truth(&value) {
            Some(is_fresh) if *shown == FRESH => if is_fresh { "on" } else { "off" }.to_string(),
            _ => value,
        })
    }

    /// What a query may cost, and whether new numbers are wanted.
    pub fn cost(&self) -> Result<(Cost, bool), SqlError> {
        let words = self.get(COST).filter(|words| !words.is_empty()).ok_or_else(|| {
            let sentence = "set what a query may cost first";
            SqlError::new(code::NOT_YET, sentence).with_hint(format!("SET {COST} = 'epsilon=0.1'"))
        })?;
        Ok((cost(&words)?, self.get(FRESH).is_some_and(|fresh| fresh == "on")))
    }

    /// All settings and their values.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        KNOWN.iter().map(|(name, ..)| (*name, self.get(name).unwrap_or_default()))
    }

    /// Those that are sent to a client at its start.
    pub fn reported(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        KNOWN.iter().filter(|(_, _, told, _)| *told).map(|(name, ..)| (*name, self.get(name).unwrap_or_default()))
    }
}

/// A cost as it is set.
fn cost(words: &str) -> Result<Cost, SqlError> {
    Cost::written(words, COST).map_err(|error| SqlError::new(code::VALUE, error.to_string()))
}

pub(super) fn unknown(name: &str) -> SqlError {
    let near = scumble_engine::nearest(name, KNOWN.iter().map(|(name, ..)| *name));
    let hint = near.map_or(String::new(), |near| format!(" (did you mean '{near}'?)"));
    SqlError::new(code::NO_SETTING, format!("there is no setting '{name}'{hint}"))
}

fn known(name: &str) -> Option<&'static (&'static str, &'static str, bool, bool)> {
    KNOWN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

fn truth(value: &str) -> Option<bool> {
    match value.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" => Some(true),
        "off" | "false" | "no" | "0" | "f" => Some(false),
        _ => None,
    }
}

/// The settings in `options`: words between spaces, where a backslash keeps a space; `-c name=value`, `-cname=value` or
/// `--name=value`.
fn options(text: &str) -> Vec<(String, String)> {
    let (mut words, mut word, mut letters) = (Vec::new(), String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.extend(letters.next()),
            letter if letter.is_whitespace() => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c") {
            Some("") => words.next(),
            Some(setting) => Some(setting.to_string()),
            None => word.strip_prefix("--").map(str::to_string),
        };
        let pair = setting.as_deref().and_then(|setting| setting.split_once('='));
        found.extend(pair.map(|(name, value)| (name.to_string(), value.to_string())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_set_what_a_query_may_cost() {
        let mut settings = Settings::new("ann");
        assert_eq!(settings.cost().unwrap_err().code, "55000");
        let start =
            [("options".to_string(), r"-c scumble.cost=epsilon=0.1,\ delta=1e-9 --scumble.fresh=on".to_string())];
        settings.at_start(&start).unwrap();
        let first: Cost = "epsilon=0.1,delta=1e-9".parse().unwrap();
        assert_eq!(settings.cost().unwrap(), (first.clone(), true));
        assert_eq!(settings.get(COST).unwrap(), "epsilon=0.1, delta=1e-9");
        settings.set(COST, Some("rho=0.5")).unwrap();
        assert_eq!(settings.cost().unwrap().0.to_string(), "rho=0.5");
        settings.reset();
        assert_eq!(settings.cost().unwrap().0, first);
    }

    #[test]
    fn wrong_settings_are_refused_and_foreign_ones_are_not() {
        let mut settings = Settings::new("ann");
        for (name, value) in [(COST, "much"), (COST, "epsilon=-1"), (FRESH, "perhaps"), ("client_encoding", "LATIN1")] {
            assert_eq!(settings.set(name, Some(value)).unwrap_err().code, "22023", "{name}");
        }
        // As asyncpg writes it.
        assert!(settings.set("client_encoding", Some("'utf-8'")).is_ok());
        assert_eq!(settings.set("scumble.costs", Some("1")).unwrap_err().code, "42704");
        assert_eq!(settings.set("some.other", Some("1")), Ok(None));
        assert_eq!(settings.set("Application_Name", Some("x")), Ok(Some(("application_name", "x".to_string()))));
        assert_eq!(settings.set("datestyle", Some("German")), Ok(Some(("DateStyle", "ISO, MDY".to_string()))));
    }
}
