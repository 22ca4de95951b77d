//! Events as JSON, both ways.

use crate::place::WireResult;
use crate::place::{LocatedValue, WireError};
use scumble::event::{
    ArgumentReader, Event, Moves, ParameterValue, Sampling, Shift, Touch, WORDS, Word, WordEntry, word_entry,
};
use scumble::quantity::{Probability, Rate};
use scumble::scope::AttributeSet;
use serde_json::{Map, Value, json};

/// What every event may have besides its mechanism's parameters.
const COMMON: [&str; 6] = ["mechanism", "sensitivity", "cells", "moves", "times", "sampling"];

/// The event that `value` describes.
pub fn event_from_json(value: &Value) -> WireResult<Event> {
    event_at(&LocatedValue::root(value))
}

/// The events of a list.
pub fn events_at(place: &LocatedValue<'_>) -> WireResult<Vec<Event>> {
    place.list()?.iter().map(event_at).collect()
}

/// The event at a place.
pub fn event_at(place: &LocatedValue<'_>) -> WireResult<Event> {
    event_with(place, None)
}

/// The event at a place; with `free`, that parameter may be missing and gets the value given.
pub(crate) fn event_with(place: &LocatedValue<'_>, free: Option<(&str, f64)>) -> WireResult<Event> {
    let mechanism = place.field("mechanism")?;
    place.only(&[COMMON.to_vec(), names(entry_of(&mechanism)?)].concat())?;
    let word = EventParameters { place, free }.word(&mechanism)?;
    let moves = moves(place, &word)?;
    let mut event = Event::new(word, moves);
    if let Some(times) = place.get("times")? {
        event = times.core(event.repeated(times.whole()?))?;
    }
    match place.get("sampling")? {
        None => Ok(event),
        Some(sampling) => Ok(event.sampled(self::sampling(&sampling, free)?)),
    }
}

/// The row of the mechanism that `word` names.
fn entry_of(word: &LocatedValue<'_>) -> WireResult<&'static WordEntry> {
    let name = word.text()?;
    word_entry(name).ok_or_else(|| {
        let known: Vec<&str> = WORDS.iter().map(|entry| entry.name).collect();
        word.refuse(format!("unknown mechanism {name:?}; expected one of {}", known.join(", ")))
    })
}

fn names(entry: &WordEntry) -> Vec<&'static str> {
    entry.parameters.iter().map(|parameter| parameter.name).collect()
}

/// The parameters of the mechanism at `place` that are missing (for calibration).
pub(crate) fn missing_parameters(place: &LocatedValue<'_>) -> WireResult<Vec<&'static str>> {
    let mut missing = Vec::new();
    for parameter in word_entry(place.field("mechanism")?.text()?).map_or_else(Vec::new, names) {
        if place.get(parameter)?.is_none() {
            missing.push(parameter);
        }
    }
    Ok(missing)
}

/// An object with a word's parameters; one may be missing and then has the value in `free`.
struct EventParameters<'a> {
    place: &'a LocatedValue<'a>,
    free: Option<(&'a str, f64)>,
}

impl EventParameters<'_> {
    /// The word that `mechanism` names, with its parameters.
    fn word(&self, mechanism: &LocatedValue<'_>) -> WireResult<Word> {
        Word::read(entry_of(mechanism)?.name, self)
            .unwrap_or_else(|| Err(mechanism.refuse("there is no such mechanism")))
    }
}

impl ArgumentReader for EventParameters<'_> {
    type Refusal = WireError;

    fn number(&self, name: &str) -> WireResult<f64> {
        match (self.place.get(name)?, self.free) {
            (None, Some((missing, value))) if missing == name => Ok(value),
            _ => self.place.field(name)?.number(),
        }
    }

    fn whole(&self, name: &str) -> WireResult<u64> {
        self.place.field(name)?.whole()
    }

    fn text(&self, name: &str) -> WireResult<&str> {
        self.place.field(name)?.text()
    }

    fn probabilities(&self, name: &str) -> WireResult<Vec<f64>> {
        let list = self.place.field(name)?.list()?;
        list.iter().map(|element| element.quantity(Probability::new).map(Probability::get)).collect()
    }

    fn noise(&self, name: &str, outer: &str) -> WireResult<Word> {
        let noise = self.place.field(name)?;
        let mechanism = noise.field("mechanism")?;
        if mechanism.text()? == outer {
            return Err(mechanism.refuse("the noise of new keys must be another mechanism"));
        }
        noise.only(&[vec!["mechanism"], names(entry_of(&mechanism)?)].concat())?;
        EventParameters { place: &noise, free: None }.word(&mechanism)
    }

    fn refusal(&self, name: Option<&str>, error: scumble::Error) -> WireError {
        let place = name.and_then(|name| self.place.field(name).ok());
        place.as_ref().unwrap_or(self.place).refuse(error.to_string())
    }
}

fn moves(place: &LocatedValue<'_>, word: &Word) -> WireResult<Moves> {
    if let Some(moves) = place.get("moves")? {
        for name in ["sensitivity", "cells"] {
            if let Some(field) = place.get(name)? {
                return Err(field.refuse(format!("moves are given, so {name} must not be")));
            }
        }
        return moves_at(&moves);
    }
    let by = match place.get("sensitivity")? {
        Some(field) => field.quantity(|value| Shift::one_cell(value).map(|shift| shift.by.get()))?,
        None if word.is_additive() => return Err(place.field("sensitivity").err().unwrap_or_else(|| place.refuse(""))),
        None => 1.0,
    };
    let cells = place.get("cells")?.map_or(Ok(1), |field| field.whole())?;
    place.core(Shift::new(cells, by)).map(Moves::everywhere)
}

fn moves_at(place: &LocatedValue<'_>) -> WireResult<Moves> {
    if let Some(everywhere) = place.get("everywhere")? {
        place.only(&["everywhere"])?;
        return shift(&everywhere).map(Moves::everywhere);
    }
    place.only(&["presence", "person", "touches", "touches_add_up"])?;
    let touches = place.get("touches")?.map_or(Ok(Vec::new()), |field| field.list()?.iter().map(touch).collect())?;
    let moves = Moves::as_written(shifts(&place.field("presence")?)?, shifts(&place.field("person")?)?, touches);
    match place.get("touches_add_up")? {
        None => Ok(moves),
        Some(field) if field.value().as_bool() == Some(true) => field.core(moves.adding_up()),
        Some(field) => Err(field.refuse("touches_add_up must be true, or left out")),
    }
}

fn shifts(place: &LocatedValue<'_>) -> WireResult<Vec<Shift>> {
    place.list()?.iter().map(shift).collect()
}

fn shift(place: &LocatedValue<'_>) -> WireResult<Shift> {
    place.only(&["cells", "by"])?;
    let by = place.field("by")?;
    by.core(Shift::new(place.field("cells")?.whole()?, by.number()?))
}

fn touch(place: &LocatedValue<'_>) -> WireResult<Touch> {
    place.only(&["attributes", "shifts"])?;
    let attributes = place.field("attributes")?;
    let names: Vec<&str> = attributes.list()?.iter().map(LocatedValue::text).collect::<WireResult<_>>()?;
    Ok(Touch { attributes: attributes.core(AttributeSet::new(names))?, shifts: shifts(&place.field("shifts")?)? })
}

fn sampling(place: &LocatedValue<'_>, free: Option<(&str, f64)>) -> WireResult<Sampling> {
    place.only(&["kind", "rate"])?;
    let rate = match (place.get("rate")?, free) {
        (None, Some(("rate", value))) => place.core(Rate::new(value))?,
        _ => place.field("rate")?.quantity(Rate::new)?,
    };
    let kind = place.field("kind")?;
    match kind.text()? {
        "poisson" => Ok(Sampling::Poisson(rate)),
        "without-replacement" => Ok(Sampling::WithoutReplacement(rate)),
        other => Err(kind.refuse(format!("unknown sampling {other:?}; expected poisson or without-replacement"))),
    }
}

/// The event as JSON: what [`event_from_json`] reads back as the same event.
pub fn event_to_json(event: &Event) -> Value {
    let mut object = word_to_json(event.word());
    put_moves(&mut object, event);
    object.insert("times".to_string(), json!(event.times()));
    if let Some(sampling) = event.sampling() {
        object.insert("sampling".to_string(), json!({"kind": sampling.name(), "rate": sampling.rate().get()}));
    }
    Value::Object(object)
}

fn word_to_json(word: &Word) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("mechanism".to_string(), json!(word.name()));
    for (name, value) in word.arguments() {
        let value = match value {
            ParameterValue::Number(number) => json!(number),
            ParameterValue::Whole(number) => json!(number),
            ParameterValue::Text(text) => json!(text),
            ParameterValue::Probabilities(numbers) => json!(numbers),
            ParameterValue::Noise(noise) => Value::Object(word_to_json(noise)),
        };
        object.insert(name.to_string(), value);
    }
    object
}

fn put_moves(object: &mut Map<String, Value>, event: &Event) {
    let one = |shift: &Shift| json!({"cells": shift.cells, "by": shift.by.get()});
    let all = |shifts: &[Shift]| Value::Array(shifts.iter().map(one).collect());
    let (presence, person, touches, everywhere) = event.moves().parts();
    if let (true, [shift]) = (everywhere, presence) {
        object.insert("sensitivity".to_string(), json!(shift.by.get()));
        if shift.cells != 1 {
            object.insert("cells".to_string(), json!(shift.cells));
        }
        return;
    }
    let touch = |touch: &Touch| {
        let names: Vec<&str> = touch.attributes.iter().collect();
        json!({"attributes": names, "shifts": all(&touch.shifts)})
    };
    let touches: Vec<Value> = touches.iter().map(touch).collect();
    let mut moves = json!({"presence": all(presence), "person": all(person), "touches": touches});
    if event.moves().adds_up() {
        moves["touches_add_up"] = json!(true);
    }
    object.insert("moves".to_string(), moves);
}
