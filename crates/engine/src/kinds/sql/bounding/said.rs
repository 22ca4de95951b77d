//! From what owners have to what the report says of it.

use super::super::QueryMechanism;
use super::super::answer::Chance;
use super::super::noisy::NoisyIntegers;
use super::super::passed::ThresholdEvidence;
use super::{BoundingReport, Number, WidenedColumn, mistaken};
use crate::error::Result;
use crate::release::estimates::number;
use crate::release::output::{Answers, BETA, Uncertainty};
use crate::release::price::noise::Noise;
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Measure;
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::Integers;
use crate::tables::bounding::{Bounds, Contribution};
use crate::tables::functions::in_units;
use datafusion::common::ScalarValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The exact numbers of the whole table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BoundingTally {
    rows_cut: i128,
    rows_kept: i128,
    groups_cut: i128,
    groups_kept: i128,
    beyond: i128,
}

impl BoundingTally {
    /// One more owner.
    pub fn add(&mut self, owner: Contribution<'_>, bounds: Bounds, wide: Bounds) {
        let (rows, groups) = owner.kept(bounds);
        let (seen, _) = owner.kept(wide);
        let all = owner.rows().fold(0u64, u64::saturating_add);
        self.rows_kept += i128::from(rows);
        self.rows_cut += i128::from(seen.saturating_sub(rows));
        self.groups_kept += i128::from(groups);
        self.groups_cut += i128::from(owner.groups().min(wide.groups).saturating_sub(groups));
        self.beyond += i128::from(all > seen);
    }

    pub fn number(&self, number: Number) -> i128 {
        match number {
            Number::RowsCut => self.rows_cut,
            Number::RowsKept => self.rows_kept,
            Number::GroupsCut => self.groups_cut,
            Number::GroupsKept => self.groups_kept,
            Number::Beyond => self.beyond,
        }
    }
}

/// What was looked at, exactly: it waits for its noise.
pub(crate) struct BoundingLook {
    tally: BoundingTally,
    beside: HashMap<Vec<ScalarValue>, Vec<i128>>,
}

/// The numbers of a report, with noise.
struct DrawnBounding {
    /// Of the whole table, with their noise.
    whole: Vec<(Number, i128, Noise)>,
    /// Beside each released cell.
    beside: Vec<Vec<i128>>,
}

impl BoundingLook {
    /// The cells of a release and what stands beside them, in their order.
    pub fn new(report: &BoundingReport, tally: BoundingTally, integers: &Integers, beside: Vec<ExactCell>) -> Self {
        let numbers = |cell: ExactCell| report.measures.iter().map(|measure| cell.sums[*measure]).collect();
        let beside = integers.keys.iter().cloned().zip(beside.into_iter().map(numbers)).collect();
        Self { tally, beside }
    }
}

impl BoundingReport {
    /// Draws the report's noise and says it in the answers; `rows` are the released cells that the answers' rows come
    /// from.
    pub fn say(
        &self,
        looked: &BoundingLook,
        (answers, rows): (&mut Answers, &[usize]),
        (noisy, private): (&NoisyIntegers, &QueryMechanism),
        chance: &mut dyn Chance,
        cut: &PrivateQuery,
    ) -> Result<()> {
        let (noises, measures) = (&private.report, &cut.query.measures);
        let drawn = self.drawn(looked, noisy, noises, chance)?;
        let of_cells = &noises[self.numbers.len()..];
        let is_short = drawn.least_beyond() > 0.0;
        let passed = private.passed(cut);
        for widened in &self.columns {
            let column = answers.columns.iter_mut().find(|column| column.name == widened.column);
            let Some(intervals) = column.and_then(|column| column.uncertainty.as_mut()) else { continue };
            for (interval, row) in intervals.iter_mut().zip(rows) {
                let WidenedColumn { measure, step, beside, .. } = *widened;
                let own = (noisy.cells[*row].sums[measure], &private.noises[measure]);
                let passed = passed.as_ref().filter(|(owners, _)| *owners == measure).map(|(_, passed)| passed);
                let wide = (drawn.beside[*row][beside], &of_cells[beside]);
                let found = interval_of(own, wide, &measures[measure], passed);
                let (low, high) = if is_short { opened(found, &measures[measure]) } else { found };
                *interval = Uncertainty { low: in_units(low, step), high: in_units(high, step), ..*interval };
            }
        }
        self.say_computed((answers, rows), (noisy, private), &drawn.beside, (cut, is_short))?;
        let is_cut = self.share_cut(&drawn, Number::RowsCut, Number::RowsKept).is_some_and(|cut| cut.low > 0.0);
        if !is_cut {
            self.hold_their_numbers(answers);
        }
        self.tell(&drawn, answers);
        Ok(())
    }

    /// Where nothing is cut off as far as anybody knows, a number beside its own interval would only puzzle: the
    /// intervals are made to hold theirs.
    fn hold_their_numbers(&self, answers: &mut Answers) {
        for name in self.about_all() {
            let Some(column) = answers.columns.iter_mut().find(|column| column.name == name) else { continue };
            let Some(intervals) = column.uncertainty.as_mut() else { continue };
            for (interval, number) in intervals.iter_mut().zip(&column.cells) {
                let Some(number) = number.number() else { continue };
                *interval = Uncertainty { low: interval.low.min(number), high: interval.high.max(number), ..*interval };
            }
        }
    }

    fn drawn(
        &self,
        looked: &BoundingLook,
        noisy: &NoisyIntegers,
        noises: &[Noise],
        chance: &mut dyn Chance,
    ) -> Result<DrawnBounding> {
        if noises.len() != self.numbers.len() + self.measures.len() {
            return Err(mistaken());
        }
        let (of_table, of_cells) = noises.split_at(self.numbers.len());
        let numbers = self.numbers.iter().zip(of_table);
        let whole =
            numbers.map(|(number, noise)| (*number, chance.noised(noise, looked.tally.number(*number)), noise.clone()));
        let whole = whole.collect();
        let mut beside = Vec::with_capacity(noisy.keys.len());
        for key in &noisy.keys {
            let exact = looked.beside.get(key).ok_or_else(mistaken)?;
            beside.push(exact.iter().zip(of_cells).map(|(exact, noise)| chance.noised(noise, *exact)).collect());
        }
        Ok(DrawnBounding { whole, beside })
    }

    /// The report's part of an answer's JSON and notes.
    fn tell(&self, drawn: &DrawnBounding, answers: &mut Answers) {
        let least = drawn.least_beyond();
        // Of what is known to be missing nobody knows how much it is: up to all rows.
        let opened = |cut: ShareCut| if least > 0.0 { ShareCut { high: 1.0, ..cut } } else { cut };
        let rows = self.share_cut(drawn, Number::RowsCut, Number::RowsKept).map(opened);
        let groups = self.share_cut(drawn, Number::GroupsCut, Number::GroupsKept).map(opened);
        let beyond = drawn.get(Number::Beyond).map(|(found, noise)| (found, (found + noise.quantile(0.1)).max(0.0)));
        let mut shown = Map::new();
        shown.insert("looks_at".to_string(), json!({
            "groups_per_owner": self.wide.groups, "rows_per_group": self.wide.rows_per_group, "rows_per_owner": self.wide.rows,
        }));
        let mut words = Vec::new();
        for (name, cut) in [("rows", &rows), ("groups", &groups)] {
            let Some(cut) = cut else { continue };
            shown.insert(name.to_string(), cut.json());
            words.push(cut.words(name, least > 0.0));
        }
        if let Some((found, most)) = beyond {
            shown.insert("owners_beyond".to_string(), json!({ "estimate": found, "at_most": most }));
            words.push(self.beyond_words(least, most));
        }
        let about_all: Vec<&str> = self.about_all().collect();
        shown.insert("intervals_of_all_rows".to_string(), json!(about_all));
        shown.insert("of_the_bounded_table".to_string(), json!(self.bounded));
        answers.details.facts.insert("bounding_report".to_string(), Value::Object(shown));
        answers.notes.push(format!("Bounding report: {}", words.join(" ")));
    }

    fn beyond_words(&self, least: f64, most: f64) -> String {
        let Bounds { groups, rows_per_group, rows } = self.wide;
        let looked = match self.grouped {
            true => format!("{}, {} in one or {rows} in all", number(groups, "group"), number(rows_per_group, "row")),
            false => number(rows, "row"),
        };
        if least > 0.0 {
            return format!(
                "{:.0} to {most:.0} owners (with 95% confidence) have more than {looked}: what they have beyond that is in no number here, so that the intervals have no end there; look wider (max_rows_per_owner and the others of bounding_report).",
                least.ceil()
            );
        }
        format!(
            "At most {most:.0} owners (with 95% confidence) have more than {looked}: what they have beyond that is in no number and no interval here."
        )
    }

    /// Which part was cut off.
    fn share_cut(&self, drawn: &DrawnBounding, cut: Number, kept: Number) -> Option<ShareCut> {
        Some(ShareCut::new(drawn.get(cut)?, drawn.get(kept)?))
    }

    /// The columns whose intervals are about all rows.
    fn about_all(&self) -> impl Iterator<Item = &str> {
        let direct = self.columns.iter().map(|column| column.column.as_str());
        direct.chain(self.computed.iter().map(|column| column.column.as_str()))
    }

    /// What the release's numbers are about, beside its bounds.
    pub fn about(&self) -> String {
        let names = |list: Vec<&str>| list.join(", ");
        let all = names(self.about_all().collect());
        let bounded = names(self.bounded.iter().map(String::as_str).collect());
        let Bounds { groups, rows_per_group, rows } = self.wide;
        let looked = match self.grouped {
            true => format!(
                "at most {}, {} in each and {} in all",
                number(groups, "group"),
                number(rows_per_group, "row"),
                number(rows, "row")
            ),
            false => format!("at most {}", number(rows, "row")),
        };
        let mut text = String::new();
        if !all.is_empty() {
            text.push_str(&format!(
                "The 95% intervals of {all} are about all rows of owners with {looked} (bounding report); for owners with more, they include that much."
            ));
        }
        if !bounded.is_empty() {
            text.push_str(&format!(" {bounded}: number and interval are of the bounded table, and how far that is from the whole one is not known."));
        }
        text.trim().to_string()
    }
}

impl DrawnBounding {
    /// How many owners certainly have more than is looked at, with 95% confidence.
    fn least_beyond(&self) -> f64 {
        self.get(Number::Beyond).map_or(0.0, |(found, noise)| (found - noise.quantile(0.1)).max(0.0))
    }

    fn get(&self, number: Number) -> Option<(f64, &Noise)> {
        let found = self.whole.iter().find(|(own, ..)| *own == number);
        found.map(|(_, found, noise)| (*found as f64, noise))
    }
}

/// An estimate is not worth saying where its interval is wider.
const LITTLE_IS_KNOWN: f64 = 0.5;

/// How much was cut off of how much, with noise on both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShareCut {
    pub cut: f64,
    pub kept: f64,
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

impl ShareCut {
    fn new((cut, cut_noise): (f64, &Noise), (kept, kept_noise): (f64, &Noise)) -> Self {
        Self::within(cut, cut_noise.quantile(BETA / 2.0), kept, kept_noise.quantile(BETA / 2.0))
    }

    /// Both are within these half widths with probability 97.5%, so that the share is within its interval with
    /// probability 95%: cut/(cut + kept) grows with the one and falls with the other, and neither is less than nothing.
    pub fn within(cut: f64, cut_width: f64, kept: f64, kept_width: f64) -> Self {
        let share = |cut: f64, kept: f64, nothing: f64| {
            let (cut, kept) = (cut.max(0.0), kept.max(0.0));
            if cut + kept > 0.0 { cut / (cut + kept) } else { nothing }
        };
        let low = share(cut - cut_width, kept + kept_width, 0.0);
        let high = share(cut + cut_width, kept - kept_width, 1.0);
        Self { cut, kept, share: share(cut, kept, 0.0), low, high }
    }

    fn json(&self) -> Value {
        json!({ "cut": self.cut, "kept": self.kept, "share_cut": self.share, "share_cut_interval": [self.low, self.high] })
    }

    fn words(&self, what: &str, is_short: bool) -> String {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let of = if what == "groups" { "the groups that owners are in" } else { "the rows" };
        let of = &format!("{of}, as far as the report looks,");
        if is_short {
            return format!("At least {} of {of} are cut off.", percent(self.low));
        }
        if self.high - self.low > LITTLE_IS_KNOWN {
            return format!(
                "Of {of} {} to {} are cut off (95% interval): at this cost the noise is too large to say more.",
                percent(self.low),
                percent(self.high)
            );
        }
        format!(
            "About {} of {of} are cut off (95% interval {} to {}).",
            percent(self.share),
            percent(self.low),
            percent(self.high)
        )
    }
}

/// The interval of a measure without bounds; see the module for what it covers. A number of owners for which its key
/// was published may be lower than its noise says.
fn interval_of(
    (own, own_noise): (i128, &Noise),
    (wide, noise): (i128, &Noise),
    measure: &Measure,
    passed: Option<&ThresholdEvidence>,
) -> (f64, f64) {
    let (own, wide) = (own as f64, wide as f64);
    let (least, most) = measure.range;
    if least < 0 && most > 0 {
        let half = noise.quantile(BETA);
        return (wide - half, wide + half);
    }
    let (half, own_half) = (noise.quantile(0.035), own_noise.quantile(0.03));
    let own_low = passed.map_or(own - own_half, |passed| passed.low_at(own, 0.03));
    let own_high = own + own_half;
    if least >= 0 {
        ((wide - half).max(own_low), (wide + half).max(own_high))
    } else {
        ((wide - half).min(own_low), (wide + half).min(own_high))
    }
}

/// The same where rows are missing for certain, and nobody knows how many: they only add to a number that cannot fall,
/// and so on.
fn opened((low, high): (f64, f64), measure: &Measure) -> (f64, f64) {
    let (least, most) = measure.range;
    (if least < 0 { f64::NEG_INFINITY } else { low }, if most > 0 { f64::INFINITY } else { high })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Owners who certainly have more than is looked at add an unknown number of rows: there is no end above a count.
    #[test]
    fn what_is_missing_for_certain_has_no_end() {
        let measure = |range: (i64, i64)| Measure {
            what: crate::sql::analyse::query::Summand::Rows,
            expression: None,
            attributes: Default::default(),
            range,
        };
        assert_eq!(opened((3.0, 9.0), &measure((0, 1))), (3.0, f64::INFINITY));
        assert_eq!(opened((3.0, 9.0), &measure((-5, 0))), (f64::NEG_INFINITY, 9.0));
        assert_eq!(opened((3.0, 9.0), &measure((-5, 5))), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn shares_are_between_nothing_and_everything() {
        let found = ShareCut::within(300.0, 100.0, 700.0, 50.0);
        assert_eq!((found.share, found.low, found.high), (0.3, 200.0 / 950.0, 400.0 / 1050.0));
        let unknown = ShareCut::within(-5.0, 3.0, 1.0, 10.0);
        assert_eq!((unknown.share, unknown.low, unknown.high), (0.0, 0.0, 1.0));
        assert!(
            unknown
                .words("rows", false)
                .starts_with("Of the rows, as far as the report looks, 0.0% to 100.0% are cut off"),
            "{}",
            unknown.words("rows", false)
        );
        assert!(
            found.words("rows", false).starts_with("About 30.0% of the rows, as"),
            "{}",
            found.words("rows", false)
        );
        assert_eq!(found.words("rows", true), "At least 21.1% of the rows, as far as the report looks, are cut off.");
    }
}
