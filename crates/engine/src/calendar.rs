//! Dates and times of day: texts, zones, and the years that there are.
//!
//! A date is its number of days since 1970-01-01. A time is what the clock on the wall shows in its column's zone, as
//! nanoseconds since 1970-01-01T00:00:00 there: then nothing that is computed from it depends on zones any more. 64
//! bits of nanoseconds hold the years 1678 to 2261, so dates and times outside of these count as the nearest one
//! inside, wherever they come from.

use crate::time::civil;
use chrono::{DateTime, Offset, TimeZone};
use datafusion::arrow::array::timezone::Tz;
use std::fmt;

/// The first and the last day: 1678-01-01 and 2261-12-31.
pub(crate) const DAYS: (i64, i64) = (-106_650, 106_650);
/// The days that can be computed with: a few months more on either side, as far as nanoseconds of 64 bits reach.
pub(crate) const REACH: (i64, i64) = (-106_751, 106_750);
/// The seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// The nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// The first and the last nanosecond of these days.
pub(crate) const MOMENTS: (i64, i64) = (DAYS.0 * DAY * SECOND, DAYS.1 * DAY * SECOND + (DAY * SECOND - 1));

/// The nearest day there is.
pub(crate) fn day_within(days: i64) -> i64 {
    days.clamp(DAYS.0, DAYS.1)
}

/// The nearest time there is.
pub(crate) fn moment_within(nanoseconds: i128) -> i64 {
    let (first, last) = (i128::from(MOMENTS.0), i128::from(MOMENTS.1));
    i64::try_from(nanoseconds.clamp(first, last)).unwrap_or(MOMENTS.0)
}

/// A zone, by its name in the tz database ("Europe/Berlin") or as a fixed offset ("+02:00").
#[derive(Debug, Clone, Copy)]
pub struct Zone(Tz);

impl Zone {
    /// A zone by name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// Whether its clocks show the time in which moments are counted.
    pub(crate) fn is_utc(self) -> bool {
        ["UTC", "Etc/UTC", "+00:00"].contains(&self.to_string().as_str())
    }

    /// What the clock on the wall shows at a moment, given in nanoseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn on_the_wall(self, moment: i128) -> i64 {
        let moment = moment_within(moment);
        let utc = DateTime::from_timestamp(moment.div_euclid(SECOND), 0).unwrap_or_default().naive_utc();
        let offset = self.0.offset_from_utc_datetime(&utc).fix().local_minus_utc();
        moment_within(i128::from(moment) + i128::from(offset) * i128::from(SECOND))
    }
}

impl Default for Zone {
    /// UTC.
    fn default() -> Self {
        Self::named("+00:00").unwrap_or_else(|| unreachable!("an offset"))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Zone {}

/// The day that a text names, as in 2013-12-31, whether or not it is one of [`DAYS`].
pub(crate) fn day(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..])?);
    let days = days_of(year, month, day);
    // A day that does not exist, such as 30 February, would come back as another.
    (civil(days) == (year, month, day)).then_some(days)
}

/// The time that a text names, as in 2013-12-31T23:59:59.5, 2013-12-31 23:59 or 2013-12-31T23:59:59+01:00: without an
/// offset that on the wall, with one the moment, which is shown by the wall clock of `zone`. A date alone is its
/// midnight.
pub(crate) fn moment(text: &str, zone: Zone) -> Option<i64> {
    if !text.is_ascii() || text.len() < 10 {
        return None;
    }
    let (date, rest) = text.split_at(10);
    let midnight = i128::from(day(date)?) * i128::from(DAY) * i128::from(SECOND);
    if rest.is_empty() {
        return Some(moment_within(midnight));
    }
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match clock.find(['Z', 'z', '+', '-']) {
        Some(place) => (&clock[..place], Some(offset(&clock[place..])?)),
        None => (clock, None),
    };
    let on_the_wall = midnight + time_of_day(clock)?;
    Some(match offset {
        None => moment_within(on_the_wall),
        Some(seconds) => zone.on_the_wall(on_the_wall - i128::from(seconds) * i128::from(SECOND)),
    })
}

/// HH:MM, HH:MM:SS or HH:MM:SS.fraction in nanoseconds.
fn time_of_day(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let (hour, minute) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(text) => match text.split_once('.') {
            None => (two_digits(text)?, 0),
            Some((second, decimals)) if (1..=9).contains(&decimals.len()) => {
                (two_digits(second)?, digits(decimals)? * 10i64.pow(9 - decimals.len() as u32))
            }
            Some(_) => return None,
        },
    };
    let is_time = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    is_time.then(|| i128::from(hour * 3600 + minute * 60 + second) * i128::from(SECOND) + i128::from(fraction))
}

/// Z, +HH, +HHMM or +HH:MM in seconds.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at(1) {
        ("Z" | "z", "") => return Some(0),
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at(2),
        5 => rest.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn two_digits(text: &str) -> Option<i64> {
    digits(text).filter(|_| text.len() == 2)
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The number of a day, by Howard Hinnant's `days_from_civil`.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalendarUnit {
    Second,
    Minute,
    Hour,
    Day,
    /// From Monday on.
    Week,
    Month,
    Quarter,
    Year,
}

impl CalendarUnit {
    /// Those of `DATE_TRUNC`, by name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
    ];

    /// The second with which the unit begins that a second is in.
    pub fn start(self, second: i64) -> i64 {
        let floored = |step: i64| second.div_euclid(step) * step;
        let day = second.div_euclid(DAY);
        let (year, month, _) = civil(day);
        match self {
            Self::Second => second,
            Self::Minute => floored(60),
            Self::Hour => floored(3600),
            Self::Day => floored(DAY),
            // Day 0 was a Thursday.
            Self::Week => (day - (day + 3).rem_euclid(7)) * DAY,
            Self::Month => days_of(year, month, 1) * DAY,
            Self::Quarter => days_of(year, (month - 1) / 3 * 3 + 1, 1) * DAY,
            Self::Year => days_of(year, 1, 1) * DAY,
        }
    }

    /// A number of seconds that divides all beginnings.
    pub fn grid(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            _ => DAY,
        }
    }
}

/// The year of a day.
pub(crate) fn year(day: i64) -> i64 {
    civil(day).0
}

/// A day as text.
pub(crate) fn shown_day(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A time as text, with decimals only where it has some.
pub(crate) fn shown_moment(moment: i64) -> String {
    let (second, fraction) = (moment.div_euclid(SECOND), moment.rem_euclid(SECOND));
    let rest = second.rem_euclid(DAY);
    let decimals = if fraction == 0 { String::new() } else { format!(".{fraction:09}") };
    let decimals = decimals.trim_end_matches('0');
    let day = shown_day(second.div_euclid(DAY));
    format!("{day}T{:02}:{:02}:{:02}{decimals}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read_as_they_are_written() {
        for (text, expected) in
            [("1970-01-01", 0), ("2000-02-29", 11_016), ("1678-01-01", DAYS.0), ("2261-12-31", DAYS.1)]
        {
            assert_eq!(day(text), Some(expected));
            assert_eq!(shown_day(expected), text);
        }
        for wrong in
            ["2001-02-29", "2001-13-01", "2001-1-1", "01.02.2001", "", "2001-02-03T", "20010203", "２００1-01-01"]
        {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        let berlin = Zone::named("Europe/Berlin").unwrap();
        for (text, expected) in [
            ("2013-07-01", "2013-07-01T00:00:00"),
            ("2013-07-01 12:30", "2013-07-01T12:30:00"),
            ("2013-07-01T12:30:05.25", "2013-07-01T12:30:05.25"),
            ("2013-07-01T12:30:05Z", "2013-07-01T14:30:05"),
            ("2013-01-01T12:30:05+0530", "2013-01-01T08:00:05"),
            ("0001-01-01T00:00", "1678-01-01T00:00:00"),
            ("9999-12-31T23:59:59-08", "2261-12-31T23:59:59.999999999"),
        ] {
            assert_eq!(moment(text, berlin).map(shown_moment).as_deref(), Some(expected), "{text}");
        }
        for wrong in [
            "2013-07-01T24:00",
            "2013-07-01T12",
            "2013-07-01T12:60",
            "2013-07-01T12:30:61",
            "2013-07-01T12:30:05.",
            "2013-07-01X12:30",
            "é013-07-01T12:30",
        ] {
            assert_eq!(moment(wrong, berlin), None, "{wrong}");
        }
        assert_eq!(Zone::default().to_string(), "+00:00");
        assert!(Zone::named("Mars/Olympus").is_none() && berlin != Zone::default());
    }

    #[test]
    fn units_begin_where_the_calendar_says() {
        let second = |text: &str| moment(text, Zone::default()).unwrap().div_euclid(SECOND);
        for (name, expected) in [
            ("second", "2013-08-14T13:45:59"),
            ("minute", "2013-08-14T13:45:00"),
            ("hour", "2013-08-14T13:00:00"),
            ("day", "2013-08-14T00:00:00"),
            ("week", "2013-08-12T00:00:00"),
            ("month", "2013-08-01T00:00:00"),
            ("quarter", "2013-07-01T00:00:00"),
            ("year", "2013-01-01T00:00:00"),
        ] {
            let unit = CalendarUnit::ALL.iter().find(|(known, _)| *known == name).unwrap().1;
            assert_eq!(unit.start(second("2013-08-14T13:45:59")), second(expected), "{name}");
            assert_eq!(second(expected).rem_euclid(unit.grid()), 0);
        }
        assert_eq!(CalendarUnit::Week.start(second("1969-12-28T01:00")), second("1969-12-22"));
    }
}
