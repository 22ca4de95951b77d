//! For every word, every sample and moves of all shapes: a person costs at least what presence does, or the events are
//! refused.

use super::check;
use crate::error::{Error, Result};
use crate::event::{ArgumentReader, Event, Moves, Sampling, Shift, Touch, WORDS, Word, charged_where_seen};
use crate::loss::filter::Odometer;
use crate::loss::{Answer, Loss};
use crate::quantity::{Delta, Epsilon, Rate};
use crate::scope::{AttributeSet, Scope};

/// A word's parameters: those that stand in a list, and usual ones.
struct UsualArguments(&'static str);

/// Numbers of a word of their own, and then those of all words, by the name of the parameter.
const NUMBERS: [(&str, &str, f64); 15] = [
    ("sinh-normal", "sigma", 8.0),
    ("randomized-response", "epsilon", 0.7),
    ("exponential", "epsilon", 0.6),
    ("heavy-hitters", "scale", 9.0),
    ("heavy-hitters", "levels", 4.0),
    ("new-keys", "keys", 2.0),
    ("", "sigma", 4.0),
    ("", "scale", 3.0),
    ("", "a", 20.0),
    ("", "delta", 1e-7),
    ("", "rho", 0.05),
    ("", "omega", 60.0),
    ("", "clip", 15.0),
    ("", "rise", 15.0),
    ("", "levels", 24.0),
];

impl ArgumentReader for UsualArguments {
    type Refusal = Error;

    fn number(&self, name: &str) -> Result<f64> {
        let mut own = NUMBERS.iter().filter(|(word, ..)| *word == self.0 || word.is_empty());
        Ok(own.find(|(_, parameter, _)| *parameter == name).map_or(0.4, |(.., value)| *value))
    }

    fn whole(&self, name: &str) -> Result<u64> {
        let is_listed = NUMBERS.iter().any(|(_, parameter, _)| *parameter == name);
        Ok(if is_listed { self.number(name)? as u64 } else { 5 })
    }

    fn text(&self, name: &str) -> Result<&str> {
        Ok(match name {
            "family" => "cauchy4",
            "gamma" => "9/8",
            "keep" => "1/4",
            _ => "1/3",
        })
    }

    fn probabilities(&self, name: &str) -> Result<Vec<f64>> {
        Ok(if name == "p" { vec![0.7, 0.3] } else { vec![0.4, 0.6] })
    }

    fn noise(&self, _: &str, _: &str) -> Result<Word> {
        Word::read("discrete-laplace", self).expect("a word")
    }

    fn refusal(&self, _: Option<&str>, error: Error) -> Error {
        error
    }
}

/// Every word of the table.
fn words() -> Vec<Word> {
    WORDS.iter().map(|entry| Word::read(entry.name, &UsualArguments(entry.name)).unwrap().unwrap()).collect()
}

fn shifts(shifts: &[(u64, f64)]) -> Vec<Shift> {
    shifts.iter().map(|(cells, by)| Shift::new(*cells, *by).unwrap()).collect()
}

/// More cells, larger moves, both, and a person that was given less than presence.
fn moves() -> Vec<Moves> {
    let touch = || vec![Touch { attributes: AttributeSet::new(["age"]).unwrap(), shifts: shifts(&[(1, 1.0)]) }];
    vec![
        Moves::everywhere(Shift::one_cell(1.0).unwrap()),
        Moves::by_scope(shifts(&[(1, 1.0)]), shifts(&[(2, 1.0)]), touch()),
        Moves::by_scope(shifts(&[(2, 1.0)]), shifts(&[(1, 2.0)]), touch()),
        Moves::by_scope(shifts(&[(1, 2.0)]), shifts(&[(1, 1.0)]), Vec::new()),
        Moves::by_scope(shifts(&[(1, 1.0)]), Vec::new(), Vec::new()),
    ]
}

fn samplings() -> [Option<Sampling>; 3] {
    let rate = Rate::new(0.1).unwrap();
    [None, Some(Sampling::Poisson(rate)), Some(Sampling::WithoutReplacement(rate))]
}

/// In every view in which both have a number. On a sample both bounds are loose in their own ways, far out in the
/// tails: there what a person costs is at least what presence certainly costs.
fn is_covered(events: &[Event], members: u32) {
    let is_sampled = events.iter().any(|event| event.sampling().is_some());
    let numbers = |answers: [Answer; 2]| {
        let [own, other] = answers;
        (own.upper, if is_sampled { other.lower } else { other.upper })
    };
    let [person, presence] = [Scope::Person, Scope::Presence].map(|scope| scope.group(members.try_into().unwrap()));
    if let (Ok(own), Ok(other)) = (Odometer::of(events, &person), Odometer::of(events, &presence)) {
        assert!(own.is_at_least(&other), "{events:?}: {} {}", own.to_text(), other.to_text());
    }
    // What has no bound for a person is refused, whatever there is for presence.
    let (Ok(own), Ok(other)) = (Loss::of(events, person), Loss::of(events, presence)) else { return };
    for delta in [0.0, 1e-9, 0.01] {
        let (own, other) = numbers([&own, &other].map(|loss| loss.epsilon(Delta::new(delta).unwrap())));
        assert!(own >= other * (1.0 - 1e-3), "{events:?} at {delta}, groups of {members}: {own} {other}");
    }
    for epsilon in [0.0, 0.5] {
        let (own, other) = numbers([&own, &other].map(|loss| loss.delta(Epsilon::new(epsilon).unwrap())));
        assert!(own >= other * (1.0 - 1e-2) - 1e-12, "{events:?} at {epsilon}, groups of {members}: {own} {other}");
    }
}

#[test]
fn no_word_costs_a_person_less_than_its_presence() {
    for word in words() {
        for moves in moves() {
            for sampling in samplings() {
                let event = Event::new(word.clone(), moves.clone());
                let event = sampling.map_or(event.clone(), |sampling| event.sampled(sampling));
                check(std::slice::from_ref(&event)).unwrap();
                is_covered(std::slice::from_ref(&event), 1);
                if sampling.is_none() {
                    is_covered(&[event], 2);
                }
            }
        }
    }
}

/// Costs of scopes side by side, of every two words: what is less for a person is refused, and no sum believes it.
#[test]
fn scopes_side_by_side_are_refused_or_covered() {
    let one = || shifts(&[(1, 1.0)]);
    let (mut refused, mut taken) = (0, 0);
    for presence in words() {
        for person in words() {
            let events = [
                Event::new(presence.clone(), Moves::as_written(one(), Vec::new(), Vec::new())),
                Event::new(person, Moves::as_written(Vec::new(), one(), Vec::new())),
            ];
            match check(&events) {
                Err(_) => refused += 1,
                Ok(()) => taken += 1,
            }
            if let (Ok(own), Ok(other)) =
                (Odometer::of(&events, &Scope::Person), Odometer::of(&events, &Scope::Presence))
            {
                assert!(own.is_at_least(&other), "{events:?}: {} {}", own.to_text(), other.to_text());
            }
        }
    }
    assert!(refused > 50 && taken > 50, "{refused} {taken}");
}

/// The three doors of the story: reports and bits of owners whom everybody sees.
#[test]
fn who_is_seen_is_not_protected_as_a_person() {
    let age = AttributeSet::new(["age"]).unwrap();
    for word in words() {
        let events = charged_where_seen(word, Shift::one_cell(1.0).unwrap(), &age).unwrap();
        check(&events).unwrap();
        let spent = |scope: &Scope| Odometer::of(&events[..1], scope).unwrap();
        assert_eq!(spent(&Scope::Person), spent(&Scope::Presence));
        assert_eq!(Loss::of(&events, Scope::Person).unwrap().epsilon(Delta::new(1e-3).unwrap()).upper, f64::INFINITY);
    }
}

/// A lone presence on a sample of a fixed size was once free of charge: only what a replaced owner moves was looked at.
#[test]
fn presence_by_itself_costs_something_on_a_sample() {
    for word in words() {
        let event = Event::new(word, Moves::as_written(shifts(&[(1, 1.0)]), Vec::new(), Vec::new()));
        let event = event.without_replacement(Rate::new(0.5).unwrap());
        if let Ok(loss) = Loss::of([event.clone()], Scope::Presence) {
            assert!(loss.delta(Epsilon::new(0.0).unwrap()).upper > 0.0, "{event:?}");
        }
        if let Ok(spent) = Odometer::of(std::slice::from_ref(&event), &Scope::Presence) {
            assert!(spent != Odometer::nothing(), "{event:?}");
        }
    }
}
