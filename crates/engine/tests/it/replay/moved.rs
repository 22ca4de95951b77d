//! How far a neighbour moved what mechanisms were given, against what the events of the plan say.

use scumble::event::{Event, Moves, Shift, Word};
use scumble::noise::tape::{Announcement, CallPair, MechanismInput, RecordedLaw};
use scumble::quantity::{Delta, Epsilon, Exact, Scale, Sigma};
use scumble::scope::Scope;
use scumble_engine::budget::Odometer;
use std::collections::BTreeMap;

/// Moves of one call, each of a cell: how far.
type Cells = Vec<f64>;

/// What is wrong with a replay, a sentence each; nothing if everything moved by at most what the events say.
pub fn wrong(pairs: &[CallPair], events: &[Event], scope: &Scope, most_records: i128) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut moved: Vec<(RecordedLaw, Cells)> = Vec::new();
    for pair in pairs {
        match call(pair, scope, most_records) {
            Ok(Some((law, cells))) => moved.push((law, cells)),
            Ok(None) => {}
            Err(why) => wrong.push(why),
        }
    }
    wrong.extend(by_law(&moved, events, scope));
    wrong.extend(in_all(&moved, events, scope));
    wrong
}

/// How far one call moved, with its law; nothing where it has none and did not move too far.
fn call(pair: &CallPair, scope: &Scope, most_records: i128) -> Result<Option<(RecordedLaw, Cells)>, String> {
    let (before, after) = match (&pair.recorded, &pair.replayed) {
        (Some(before), Some(after)) => (before.clone(), after.clone()),
        // A key that only one of both has: as if it had nobody in the other.
        (Some(one), None) | (None, Some(one)) if pair.label.is_some() => (one.clone(), nobody(one)),
        (one, other) => return Err(format!("a call in one run only: {one:?} and {other:?}")),
    };
    if (before.name, &before.law) != (after.name, &after.law) {
        return Err(format!("{} {:?} became {} {:?}", before.name, before.law, after.name, after.law));
    }
    let cells = cells(&before.input, &after.input).ok_or_else(|| format!("{before:?} became {after:?}"))?;
    match before.law.clone() {
        Some(law) => Ok(Some((law, cells))),
        None => {
            let may = if matches!(scope, Scope::Presence) { most_records } else { 2 * most_records };
            let allowed = may as f64;
            let sum: f64 = cells.iter().sum();
            let said =
                || format!("{}: {sum} records moved, where {allowed} may: {before:?} became {after:?}", before.name);
            if sum <= allowed { Ok(None) } else { Err(said()) }
        }
    }
}

fn nobody(said: &Announcement) -> Announcement {
    let input = match &said.input {
        MechanismInput::Cells(cells) => MechanismInput::Cells(vec![0; cells.len()]),
        MechanismInput::Jointly(cells) => MechanismInput::Jointly(vec![0.0; cells.len()]),
        other => other.clone(),
    };
    Announcement { input, ..said.clone() }
}

/// The moves; none if the inputs are of two forms.
fn cells(before: &MechanismInput, after: &MechanismInput) -> Option<Cells> {
    let moves: Cells = match (before, after) {
        (MechanismInput::Cells(before), MechanismInput::Cells(after)) if before.len() == after.len() => {
            before.iter().zip(after).map(|(before, after)| (before - after).abs() as f64).collect()
        }
        (MechanismInput::Jointly(before), MechanismInput::Jointly(after)) if before.len() == after.len() => {
            vec![before.iter().zip(after).map(|(before, after)| (before - after).abs()).fold(0.0, f64::max)]
        }
        (MechanismInput::Scores(before), MechanismInput::Scores(after)) => vec![range(before, after)?],
        (MechanismInput::Scaled(before, level, next), MechanismInput::Scaled(after, other, others)) => {
            let off = (before - after).unsigned_abs() as u64;
            let steps = |next: &[u64]| {
                let mut reach = 0u64;
                let sums = next.iter().map(move |by| {
                    reach = reach.saturating_add(*by);
                    reach
                });
                [0].into_iter().chain(sums).position(|reach| reach >= off).unwrap_or(usize::MAX)
            };
            vec![steps(next).max(steps(others)).max(level.abs_diff(*other) as usize) as f64]
        }
        (MechanismInput::Records(before), MechanismInput::Records(after)) => {
            let of = |counts: &BTreeMap<String, i128>, key: &String| counts.get(key).copied().unwrap_or(0);
            let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            keys.into_iter().map(|key| (of(before, key) - of(after, key)).abs() as f64).collect()
        }
        _ => return None,
    };
    Some(moves.into_iter().filter(|by| *by > 0.0).collect())
}

/// The largest move of a score less the smallest; none if the candidates are others.
fn range(before: &[(u128, i128)], after: &[(u128, i128)]) -> Option<f64> {
    let (mut before, mut after) = (before.to_vec(), after.to_vec());
    before.sort_unstable();
    after.sort_unstable();
    if before.last()?.0 != after.last()?.0 {
        return None;
    }
    let (mut left, mut right, mut moves) = (0, 0, Vec::new());
    while let (Some(one), Some(other)) = (before.get(left), after.get(right)) {
        moves.push(one.1 - other.1);
        left += usize::from(one.0 <= other.0);
        right += usize::from(other.0 <= one.0);
    }
    Some((moves.iter().max()? - moves.iter().min()?) as f64)
}

/// The law of a word, for noise that is added to numbers.
fn law(word: &Word) -> Option<RecordedLaw> {
    match word {
        Word::NewKeys(keys) => law(keys.noise()),
        Word::DiscreteLaplace { scale } => Some(("discrete-laplace", vec![scale.get()])),
        Word::DiscreteGaussian { sigma } => Some(("discrete-gaussian", vec![sigma.get()])),
        Word::SinhNormal { sigma, a } => Some(("sinh-normal", vec![sigma.get(), a.get()])),
        _ => None,
    }
}

fn shifts(event: &Event, scope: &Scope) -> Vec<(f64, f64)> {
    event.moves().shifts(scope).iter().map(|shift| (shift.cells as f64, shift.by.get())).collect()
}

/// Whether an event of this word is about a whole mechanism that draws this noise inside. Words are named here one by
/// one: any other that comes beside noise of no event excuses nothing.
fn is_made_of(word: &Word, (noise, _): &RecordedLaw) -> bool {
    match word {
        // Counts of found strings; a test and the answer behind it; choices whose scores have noise, and sparse
        // vectors.
        Word::HeavyHitters { .. } | Word::Approximate { .. } | Word::Pure { .. } => *noise == "discrete-laplace",
        // What is calibrated in ρ.
        Word::Zcdp { .. } => *noise == "discrete-gaussian",
        _ => false,
    }
}

/// Where a law is that of an event: the sum of all moves, that of their squares, and the largest, against those of its
/// events. A law of no event is noise that nobody was charged for, unless its event is about all of a mechanism.
fn by_law(moved: &[(RecordedLaw, Cells)], events: &[Event], scope: &Scope) -> Vec<String> {
    let additive = ["discrete-laplace", "discrete-gaussian", "sinh-normal"];
    let mut wrong: Vec<String> = smooth(moved, events, scope).into_iter().collect();
    let mut laws: Vec<&RecordedLaw> =
        moved.iter().map(|(law, _)| law).filter(|law| additive.contains(&law.0)).collect();
    laws.sort_by(|one, other| one.partial_cmp(other).unwrap());
    laws.dedup();
    for own in laws {
        let with: Vec<&Event> = events.iter().filter(|event| law(event.word()).as_ref() == Some(own)).collect();
        if with.is_empty() {
            if !events.iter().any(|event| is_made_of(event.word(), own)) {
                wrong.push(format!("noise {own:?} is of no event: {events:?}"));
            }
            continue;
        }
        let cells: Vec<f64> = moved.iter().filter(|(law, _)| law == own).flat_map(|(_, cells)| cells.clone()).collect();
        let most = |of: &dyn Fn((f64, f64)) -> f64| -> f64 {
            let one =
                |event: &&Event| shifts(event, scope).into_iter().map(of).fold(0.0, f64::max) * event.times() as f64;
            with.iter().map(one).sum()
        };
        let largest = with.iter().flat_map(|event| shifts(event, scope)).map(|(_, by)| by).fold(0.0, f64::max);
        let slack = 1.0 + 1e-9;
        for (what, is, may) in [
            ("sum of moves", cells.iter().sum::<f64>(), most(&|(cells, by)| cells * by)),
            ("sum of squares", cells.iter().map(|by| by * by).sum::<f64>(), most(&|(cells, by)| cells * by * by)),
            ("largest move", cells.iter().copied().fold(0.0, f64::max), largest),
        ] {
            if is > may * slack {
                wrong.push(format!("{own:?}: the {what} is {is}, where the events say {may}: {cells:?}"));
            }
        }
    }
    wrong
}

/// Noise that follows the data: how many owners' steps lie between the two inputs. Two families stand in the plan as
/// the (ε, δ) that they were calibrated to, with the same steps.
fn smooth(moved: &[(RecordedLaw, Cells)], events: &[Event], scope: &Scope) -> Option<String> {
    let is_pure = events.iter().any(|event| matches!(event.word(), Word::SmoothNoise(_)));
    // At (ε, δ) the same noise is charged as just that.
    let is_own = |word: &Word| match word {
        Word::SmoothNoise(_) => true,
        Word::Approximate { .. } => !is_pure,
        _ => false,
    };
    let own = events.iter().filter(|event| is_own(event.word()));
    let may = own.flat_map(|event| shifts(event, scope)).map(|(_, by)| by).fold(0.0, f64::max);
    let calls = moved.iter().filter(|(law, _)| law.0 == "smooth-noise").flat_map(|(_, cells)| cells);
    let is = calls.copied().fold(0.0, f64::max);
    (is > may).then(|| format!("smooth noise: {is} steps, where the events say {may}"))
}

/// What was really moved as events, against those of the plan: in ε alone, in ρ and in δ.
fn in_all(moved: &[(RecordedLaw, Cells)], events: &[Event], scope: &Scope) -> Vec<String> {
    let real: Vec<Event> =
        moved.iter().flat_map(|(law, cells)| cells.iter().filter_map(move |by| real(law, *by))).collect();
    let (is, may) = (Odometer::of(&real, &Scope::Presence).unwrap(), Odometer::of(events, scope).unwrap());
    let above = |is: Option<Exact>, may: Option<Exact>, slack: f64| match (is, may) {
        (_, None) => None,
        (None, Some(may)) => Some((f64::INFINITY, may.to_f64())),
        (Some(is), Some(may)) => (is.to_f64() > may.to_f64() * (1.0 + slack)).then(|| (is.to_f64(), may.to_f64())),
    };
    // Of independent coins the δ are added up here, which is up to δ/2 more than their product gives. A move may be
    // free in one view and not in the other; each that the plan has must hold. ρ beside the δ that the plan's own
    // events have.
    let views = [
        ("epsilon", above(is.pure_sum(), may.pure_sum(), 1e-9)),
        ("rho", above(is.rho(is.delta()), may.rho(may.delta()), 1e-9)),
        ("delta", above(Some(is.delta().clone()), Some(may.delta().clone()), 1e-2)),
    ];
    let say = |(what, off): (&str, Option<(f64, f64)>)| {
        off.map(|(is, may)| format!("{what} {is} of what moved, where the events cost {may}"))
    };
    views.into_iter().filter_map(say).collect()
}

/// A move as an event; none for laws that are compared otherwise.
fn real((name, parameters): &RecordedLaw, by: f64) -> Option<Event> {
    let word = match *name {
        "discrete-laplace" => Word::DiscreteLaplace { scale: Scale::new(parameters[0]).ok()? },
        "discrete-gaussian" => Word::DiscreteGaussian { sigma: Sigma::new(parameters[0]).ok()? },
        "exponential" => Word::Exponential { epsilon: Epsilon::new(parameters[0]).ok()? },
        "pure" => Word::Pure { epsilon: Epsilon::new(parameters[0]).ok()? },
        // (e^ε − 1)/(e^ε·by − 1)·δ would be for by > 1; that is more than any event of ours says.
        "approximate" => {
            let delta = Delta::new((parameters[1] * by).min(1.0)).ok()?;
            Word::Approximate { epsilon: Epsilon::new(parameters[0] * by).ok()?, delta }
        }
        _ => return None,
    };
    let by = if *name == "approximate" { 1.0 } else { by };
    Some(Event::new(word, Moves::everywhere(Shift::one_cell(by).ok()?)))
}
