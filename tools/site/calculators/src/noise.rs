//! Which noise: what a count, a histogram or a quantile is off by at a cost, with the noises that reach the same
//! privacy beside it. No data is read: the counts in the picture are made up.

use crate::question::{Question, Refusal};
use crate::shown::{counted, digits, grouped};
use scumble::calibrate::{ShiftNorms, Target, epsilon_for_pure};
use scumble::mechanism::additive::{Additive, Noise};
use scumble::mechanism::plan::{NoiseCandidate, NoisePlanner};
use scumble::mechanism::quantile::Quantile;
use scumble::quantity::{Beta, Delta, Epsilon, Probability, rounded_down, rounded_up};
use scumble::scope::Scope;
use scumble_chart::{Axis, Band, Captions, Category, CategoryChart, CategoryStyle, Estimate, LineChart, Series, Size};
use serde_json::{Value, json};

/// A number is off by more than its margin with this probability.
const BETA: f64 = 0.05;
/// The most groups that are drawn.
const DRAWN: u64 = 12;
/// The oldest of the made-up people of the quantile.
const OLDEST: u32 = 120;

/// What is asked of all three.
struct StatisticCost {
    epsilon: Epsilon,
    delta: Delta,
    scope: Scope,
    people: u64,
    size: Size,
}

impl StatisticCost {
    fn target(&self) -> Target {
        if self.delta.get() == 0.0 { Target::pure(self.epsilon) } else { Target::approximate(self.epsilon, self.delta) }
    }
}

/// What a published number is off by.
pub fn noise(question: &Question<'_>) -> Result<Value, Refusal> {
    let cost = StatisticCost {
        epsilon: question.epsilon()?,
        delta: question.delta()?,
        scope: question.scope()?,
        people: question.whole("people", 1, 1_000_000_000)?,
        size: question.size()?,
    };
    match question.text("statistic")? {
        "count" => count(&cost),
        "histogram" => histogram(&cost, question.whole("groups", 2, 1_000_000)?),
        "quantile" => quantile(&cost),
        other => Err(Refusal(format!("the statistic is count, histogram or quantile, not {other:?}"))),
    }
}

fn count(cost: &StatisticCost) -> Result<Value, Refusal> {
    let additive = Additive::count().within(cost.target(), &cost.scope)?;
    let margin = additive.error(Beta::new(BETA)?)?;
    let row = NoiseRow::of(additive.noise(), additive.noise().name(), None, margin);
    let one = [("everybody".to_string(), cost.people)];
    Ok(json!({
        "claim": format!("The count is off by at most {} in 95 of 100 releases", digits(margin)),
        "about": relative(margin, cost.people, "the count"),
        "rows": [row.json()],
        "note": null,
        "svg": bars(cost, &one, margin, "One count of everybody", "people in the table"),
    }))
}

fn histogram(cost: &StatisticCost, groups: u64) -> Result<Value, Refusal> {
    let beta = Beta::new(BETA)?;
    let candidates = NoisePlanner::within(cost.target(), &cost.scope, 1)?.candidates(groups, groups, beta)?;
    // Every cell is public here, so that a threshold would only lose counts.
    let own = candidates.iter().filter(|candidate| candidate.threshold.is_none());
    let own = own.min_by(|one, other| one.standard_deviation.total_cmp(&other.standard_deviation));
    let Some(own) = own else { return Err(Refusal("no noise meets this cost: raise epsilon".to_string())) };
    let margin = own.noise.quantile(BETA);
    let counts = made_up(cost.people, groups);
    let rows: Vec<Value> = candidates.iter().map(|one| NoiseRow::of_candidate(one).json()).collect();
    let title = match groups {
        ..=DRAWN => format!("{} groups", grouped(&groups.to_string())),
        _ => format!("The {DRAWN} largest of {} groups", grouped(&groups.to_string())),
    };
    Ok(json!({
        "claim": format!(
            "Each count is off by at most {} in 95 of 100 releases, and all {} together by at most {}",
            digits(margin), grouped(&groups.to_string()), digits(own.maximum_error),
        ),
        "about": relative(margin, cost.people / groups, "an average group"),
        "rows": rows,
        "note": "largest error: the most that any of the counts is off, in 95 of 100 releases",
        "svg": bars(cost, &counts, margin, &title, "people in each group"),
    }))
}

/// How large a margin is beside a count.
fn relative(margin: f64, count: u64, what: &str) -> String {
    match count {
        0 => format!("{what} has less than one person"),
        count => {
            let share = rounded_up(100.0 * margin / count as f64, 2);
            format!("{share}% of {what}, {}", counted(count, "person", "people"))
        }
    }
}

/// A noise that meets the target.
struct NoiseRow<'a> {
    noise: &'a Noise,
    name: &'a str,
    threshold: Option<i64>,
    maximum: f64,
    deviation: f64,
}

impl<'a> NoiseRow<'a> {
    fn of(noise: &'a Noise, name: &'a str, threshold: Option<i64>, maximum: f64) -> Self {
        Self { noise, name, threshold, maximum, deviation: noise.standard_deviation() }
    }

    fn of_candidate(one: &'a NoiseCandidate) -> Self {
        Self::of(&one.noise, one.name(), one.threshold, one.maximum_error)
    }

    /// As a line of `scumble lab compare-noise`.
    fn json(&self) -> Value {
        let parameters = match self.noise {
            Noise::Laplace(noise) => {
                let threshold = self.threshold.map_or_else(String::new, |least| format!(", threshold {least}"));
                format!("scale {:.4}{threshold}", noise.scale().get())
            }
            Noise::Gaussian(noise) => format!("sigma {:.4}", noise.sigma().get()),
            Noise::TruncatedLaplace(noise) => format!("scale {:.4}, bound {}", noise.scale().get(), noise.bound()),
            Noise::SinhNormal(noise) => format!("sigma {:.4}, a {:.4}", noise.sigma().get(), noise.a().get()),
            other => other.name().to_string(),
        };
        json!({
            "noise": self.name,
            "parameters": parameters,
            "maximum_error": digits(self.maximum.round()),
            "standard_deviation": format!("{:.3}", self.deviation),
        })
    }
}

/// Made-up counts of some people in groups, of which the second has half of the first, the third a third of it, and so
/// on; the largest of them.
fn made_up(people: u64, groups: u64) -> Vec<(String, u64)> {
    let all: f64 = (1..=groups).map(|group| 1.0 / group as f64).sum();
    let of = |group: u64| (people as f64 / group as f64 / all).round() as u64;
    (1..=groups.min(DRAWN)).map(|group| (format!("group {group}"), of(group))).collect()
}

/// Bars with margins. What reaches beyond the picture has an arrow.
fn bars(cost: &StatisticCost, counts: &[(String, u64)], margin: f64, title: &str, axis: &str) -> String {
    // The axis depends on the counts alone: where ε is moved, only the margins move.
    let end = 1.5 * counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    let bar = |(name, count): &(String, u64)| {
        let count = *count as f64;
        let (low, high) = (count - margin, count + margin);
        let within = |value: f64, beyond: f64| if (0.0..=end).contains(&value) { value } else { beyond };
        let estimate = Estimate::new(count).within(within(low, f64::NEG_INFINITY), within(high, f64::INFINITY));
        Category::new(name.clone(), vec![Some(estimate)])
    };
    let axis = Axis::linear(axis).range(0.0, end);
    let subtitle =
        format!("made-up counts; a published count lies between the ends in 95 of 100 releases, ε = {}", cost.epsilon);
    let captions = Captions::new(title).subtitle(subtitle);
    CategoryChart::new(captions, CategoryStyle::Bars, axis, counts.iter().map(bar).collect()).size(cost.size).to_svg()
}

/// The median of ages.
fn quantile(cost: &StatisticCost) -> Result<Value, Refusal> {
    if cost.delta.get() > 0.0 {
        return Err(Refusal("the quantile of this page is chosen with a pure cost: set delta to 0".to_string()));
    }
    let half = Probability::new(0.5)?;
    let last = u128::from(OLDEST);
    // What replacing a person costs follows from the mechanism's own event.
    let event = Quantile::new(last, half, cost.epsilon)?.events()?.remove(0);
    let moved = ShiftNorms::from(&event.moves().shifts(&cost.scope)[..]);
    let mechanism = Quantile::new(last, half, epsilon_for_pure(cost.epsilon, moved)?)?;
    let ranks = mechanism.error(Beta::new(BETA)?)?;
    let people = cost.people as f64;
    let share = (ranks / people).min(0.5);
    let (low, high) = ((0.5 - share).max(0.0), (0.5 + share).min(1.0));
    let shares = shares_below();
    // A key is at most so far off if at most that many ranks too many are below it, and above it.
    let first =
        |is_there: &dyn Fn(f64) -> bool| shares.iter().position(|share| is_there(*share)).unwrap_or(OLDEST as usize);
    let (youngest, oldest) = (first(&|share| share >= low), first(&|share| share > high));
    let claim = match share >= 0.5 {
        true => "At this cost nothing is promised about the median of so few people: it may be any age".to_string(),
        false => format!(
            "The published median is at most {} of {} ranks from the middle in 95 of 100 releases",
            rounded_up(ranks, 4),
            grouped(&cost.people.to_string()),
        ),
    };
    let about = match share >= 0.5 {
        true => "raise epsilon, or ask more people".to_string(),
        false => format!(
            "between the {}% and the {}% point; of the made-up ages below, from {} to {}",
            rounded_down(100.0 * low, 4),
            rounded_up(100.0 * high, 4),
            youngest,
            oldest,
        ),
    };
    let points = shares.iter().enumerate().map(|(age, share)| (age as f64, 100.0 * share)).collect();
    let band = [0.0, f64::from(OLDEST)].map(|age| (age, 100.0 * low, 100.0 * high)).to_vec();
    let captions = Captions::new("Where the published median lies")
        .subtitle(format!("made-up ages; between the ends of the band in 95 of 100 releases, ε = {}", cost.epsilon));
    let svg = LineChart::new(captions)
        .size(cost.size)
        .x(Axis::linear("age"))
        .y(Axis::linear("percent of people who are at most that old").range(0.0, 100.0))
        .line(Series::new("made-up ages", points))
        .band(Band::new("ranks of the published median", band))
        .to_svg();
    let row = json!({
        "noise": "exponential mechanism",
        "parameters": format!("privacy-loss range {}", rounded_up(mechanism_epsilon(&mechanism)?, 4)),
        "maximum_error": format!("{} ranks", rounded_up(ranks, 4)),
        "standard_deviation": "–",
    });
    Ok(json!({ "claim": claim, "about": about, "rows": [row], "note": null, "svg": svg }))
}

/// The ε of the mechanism itself, which its event has.
fn mechanism_epsilon(mechanism: &Quantile) -> Result<f64, Refusal> {
    use scumble::event::Word;
    match mechanism.events()?.remove(0).word() {
        Word::Exponential { epsilon } => Ok(epsilon.get()),
        _ => Ok(f64::NAN),
    }
}

/// Made-up ages: as many of each up to 60, then fewer and fewer up to 100. Which share is at most each age.
fn shares_below() -> Vec<f64> {
    let weight = |age: u32| f64::from(100u32.saturating_sub(age).min(40)) / 40.0;
    let all: f64 = (0..=OLDEST).map(weight).sum();
    let sums = (0..=OLDEST).scan(0.0, |sum, age| {
        *sum += weight(age);
        Some(*sum / all)
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;
    use scumble::mechanism::plan::histogram_noise;
    use scumble::noise::InsecureSeededSource;

    fn asked(statistic: &str, epsilon: f64, delta: f64, scope: &str, people: u64, groups: u64) -> Value {
        let question = json!({ "calculator": "noise", "statistic": statistic, "epsilon": epsilon, "delta": delta,
            "scope": scope, "people": people, "groups": groups, "size": "narrow" });
        answer(&question.to_string(), &mut InsecureSeededSource::new(1))
    }

    #[test]
    fn a_count_has_the_margin_of_the_core() {
        for (epsilon, delta, scope) in [(1.0, 0.0, Scope::Person), (0.1, 1e-6, Scope::Presence)] {
            let cost = match delta {
                0.0 => Target::pure(epsilon.try_into().unwrap()),
                delta => Target::approximate(epsilon.try_into().unwrap(), delta.try_into().unwrap()),
            };
            let own = Additive::count().within(cost, &scope).unwrap();
            let margin = digits(own.error(BETA.try_into().unwrap()).unwrap());
            let shown = asked("count", epsilon, delta, &scope.to_string(), 1000, 2);
            assert_eq!(shown["claim"], format!("The count is off by at most {margin} in 95 of 100 releases"));
            assert!(shown["svg"].as_str().unwrap().starts_with("<svg"));
        }
    }

    /// The table is that of docs/explanation/noise.md, which the program prints.
    #[test]
    fn a_histogram_is_compared_as_the_program_compares_it() {
        let shown = asked("histogram", 1.0, 1e-9, "presence", 10_000_000, 1_000_000);
        let rows: Vec<[&str; 4]> = shown["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                ["noise", "parameters", "maximum_error", "standard_deviation"].map(|name| row[name].as_str().unwrap())
            })
            .collect();
        let printed = [
            ["discrete-laplace", "scale 1.0000", "17", "1.357"],
            ["truncated-discrete-laplace", "scale 1.0000, bound 20", "17", "1.357"],
            ["discrete-gaussian", "sigma 5.4998", "30", "5.500"],
            ["sinh-normal", "sigma 6.2842, a 62.8422", "33", "6.254"],
            ["stability", "scale 1.0000, threshold 22", "38", "1.357"],
        ];
        assert_eq!(rows, printed);
        let pure = asked("histogram", 0.5, 0.0, "person", 100, 4);
        let target = Target::pure(0.5.try_into().unwrap());
        let own = &histogram_noise(target, Scope::Person, 4, BETA.try_into().unwrap()).unwrap()[0];
        let claim = pure["claim"].as_str().unwrap();
        assert!(claim.contains(&format!("at most {} in 95", digits(own.noise.quantile(BETA)))), "{claim}");
        assert!(claim.ends_with(&format!("by at most {}", digits(own.maximum_error))), "{claim}");
    }

    #[test]
    fn a_median_costs_what_was_asked() {
        use scumble::loss::filter::Odometer;
        for (scope, name) in [(Scope::Person, "person"), (Scope::Presence, "presence")] {
            let event = Quantile::new(120, 0.5.try_into().unwrap(), 1.0.try_into().unwrap()).unwrap().events().unwrap();
            let moved = ShiftNorms::from(&event[0].moves().shifts(&scope)[..]);
            let own = epsilon_for_pure(scumble::quantity::epsilon(1.0).unwrap(), moved).unwrap();
            let mechanism = Quantile::new(120, 0.5.try_into().unwrap(), own).unwrap();
            let spent = Odometer::of(&mechanism.events().unwrap(), &scope).unwrap().pure_sum().unwrap();
            assert!(spent <= "1".parse().unwrap() && spent.to_f64() > 0.999, "{scope}: {spent}");
            let ranks = rounded_up(mechanism.error(BETA.try_into().unwrap()).unwrap(), 4);
            let shown = asked("quantile", 1.0, 0.0, name, 1000, 2);
            assert!(shown["claim"].as_str().unwrap().contains(&format!("at most {ranks} of 1000 ranks")), "{shown}");
        }
        assert!(asked("quantile", 1.0, 0.0, "person", 3, 2)["claim"].as_str().unwrap().contains("any age"));
        assert!(asked("quantile", 1.0, 1e-6, "person", 3, 2)["refused"].as_str().unwrap().contains("delta to 0"));
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        assert_eq!(asked("count", -1.0, 0.0, "person", 1, 2)["refused"], "epsilon must be a number in [0, ∞), not -1");
        assert_eq!(
            asked("mean", 1.0, 0.0, "person", 1, 2)["refused"],
            "the statistic is count, histogram or quantile, not \"mean\""
        );
        assert!(asked("count", 1.0, 0.0, "person", 0, 2)["refused"].as_str().unwrap().starts_with("people: "));
    }
}
