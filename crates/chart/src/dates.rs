//! Ticks of dates and times: at round hours, days, months or years.

/// An hour, in days.
const HOUR: f64 = 1.0 / 24.0;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month (from 1) and day of a number of days since 1970-01-01 (Hinnant's algorithm).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The days since 1970-01-01 of the first of a month; months may go beyond their year.
fn first_of(year: i64, month: i64) -> f64 {
    let months = year * 12 + month - 1;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    (era * 146_097 + days - 719_468) as f64
}

type DateTick = (f64, String, Option<String>);

/// Ticks between two days, at most about this many; below the first of each larger unit its name.
pub(crate) fn ticks(low: f64, high: f64, most: usize) -> Vec<DateTick> {
    let span = high - low;
    let fits = |step: f64| span / step <= most as f64;
    let made = if let Some(hours) = [1.0, 2.0, 3.0, 6.0, 12.0].into_iter().find(|hours| fits(hours * HOUR)) {
        of_hours(low, high, hours)
    } else if let Some(days) = [1.0, 2.0, 7.0, 14.0].into_iter().find(|days| fits(*days)) {
        of_days(low, high, days)
    } else if let Some(months) = [1, 2, 3, 6].into_iter().find(|months| fits(*months as f64 * 30.4)) {
        of_months(low, high, months)
    } else {
        let years = [1, 2, 5, 10, 20, 50, 100, 200, 500].into_iter().find(|years| fits(*years as f64 * 365.25));
        of_years(low, high, years.unwrap_or(1000))
    };
    // What is the same as below the tick before is not repeated.
    let mut last = None;
    let once = |(at, text, below): DateTick| {
        let is_new = below.is_some() && below != last;
        last.clone_from(&below);
        (at, text, below.filter(|_| is_new))
    };
    made.into_iter().map(once).collect()
}

fn of_hours(low: f64, high: f64, hours: f64) -> Vec<DateTick> {
    let step = hours * HOUR;
    let ticks = ((low / step - 1e-6).ceil() as i64..=(high / step + 1e-6).floor() as i64).map(|index| {
        let at = index as f64 * step;
        let minutes = (at * 1440.0).round() as i64;
        let (_, month, day) = civil(minutes.div_euclid(1440));
        let clock = format!("{:02}:{:02}", minutes.rem_euclid(1440) / 60, minutes.rem_euclid(60));
        (at, clock, Some(format!("{day} {}", MONTHS[month as usize - 1])))
    });
    ticks.collect()
}

fn of_days(low: f64, high: f64, days: f64) -> Vec<DateTick> {
    // Weeks begin on Mondays; 1970-01-05 was one.
    let first = if days >= 7.0 { 4.0 } else { 0.0 };
    let (from, to) = (((low - first) / days).ceil() as i64, ((high - first) / days + 1e-9).floor() as i64);
    let ticks = (from..=to).map(|index| {
        let at = first + index as f64 * days;
        let (year, month, day) = civil(at as i64);
        (at, format!("{day} {}", MONTHS[month as usize - 1]), Some(year.to_string()))
    });
    ticks.collect()
}

fn of_months(low: f64, high: f64, months: i64) -> Vec<DateTick> {
    let (year, ..) = civil(low.floor() as i64);
    let all = (0..).map(|index| index * months).map(|month| {
        let at = first_of(year, 1 + month);
        (at, MONTHS[month.rem_euclid(12) as usize].to_string(), Some((year + month.div_euclid(12)).to_string()))
    });
    all.skip_while(|tick| tick.0 < low).take_while(|tick| tick.0 <= high).collect()
}

fn of_years(low: f64, high: f64, years: i64) -> Vec<DateTick> {
    let (first, ..) = civil(low.floor() as i64);
    let all = (0..).map(|index| (first.div_euclid(years) + index) * years);
    let all = all.map(|year| (first_of(year, 1), year.to_string(), None));
    all.skip_while(|tick| tick.0 < low).take_while(|tick| tick.0 <= high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(low: (i64, i64), high: (i64, i64), most: usize) -> Vec<String> {
        let list = ticks(first_of(low.0, low.1), first_of(high.0, high.1), most);
        list.into_iter()
            .map(|(_, text, below)| [text, below.unwrap_or_default()].join(" ").trim().to_string())
            .collect()
    }

    #[test]
    fn ticks_follow_the_calendar() {
        assert_eq!(shown((2013, 11), (2014, 3), 6), ["Nov 2013", "Dec", "Jan 2014", "Feb", "Mar"]);
        assert_eq!(shown((2013, 1), (2014, 1), 5), ["Jan 2013", "Apr", "Jul", "Oct", "Jan 2014"]);
        assert_eq!(shown((2000, 6), (2020, 1), 6), ["2005", "2010", "2015", "2020"]);
        let days: Vec<String> = ticks(15_706.0, 15_709.0, 4).into_iter().map(|tick| tick.1).collect();
        assert_eq!(days, ["1 Jan", "2 Jan", "3 Jan", "4 Jan"]);
        let hours = ticks(15_706.0, 15_707.0, 5);
        assert_eq!((hours[1].1.as_str(), hours[0].2.as_deref()), ("06:00", Some("1 Jan")));
    }

    #[test]
    fn days_and_dates_agree() {
        for days in (-106_650..106_650).step_by(97) {
            let (year, month, day) = civil(days);
            assert_eq!(first_of(year, month) as i64 + day - 1, days);
        }
    }
}
