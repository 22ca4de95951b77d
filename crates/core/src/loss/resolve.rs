//! From an event and a scope to the laws that a neighbour can make it follow.

use super::hull::{self, Hull};
use super::law::{Component, Law, SampleForm, ShiftChoice, group_of_approximate};
use super::words;
use crate::error::{Error, Result};
use crate::event::{Event, Sampling, Shift, Word};
use crate::scope::Scope;

/// How `event` can be distinguished by neighbours in `scope`: independent components, none if it cannot.
///
/// # Guarantee
/// Whatever neighbours in `scope` do, each run's output pair is dominated by the product of the components', where one
/// of the covers takes the place of several alternatives ([`Law::AnyOf`]).
pub(crate) fn resolve(event: &Event, scope: &Scope) -> Result<Vec<Component>> {
    match words::of(event.word()).noise() {
        Some(noise) => with_threshold(event, noise, scope),
        None => Ok(resolve_one(event, scope)?.into_iter().collect()),
    }
}

/// Noise on numbers, and a threshold that they must reach: two independent components ([`words::new_keys`] says why).
fn with_threshold(event: &Event, noise: &Word, scope: &Scope) -> Result<Vec<Component>> {
    let (member, size) = scope.members();
    let noise = event.clone().with_word(noise.clone());
    if size > 1 && event.sampling().is_some() && event.moves().leaves_presence_to_others() {
        refuse!(
            "new keys on a sample have no proven bound for groups if presence and person stand in different events"
        );
    }
    let (form, scope, noise) = match event.sampling() {
        // A group on a sample is counted as if everybody were in it.
        Some(sampling) if size > 1 => (SampleForm::Whole, in_sample(sampling, scope), noise.on_everybody()),
        _ => (form_and_shifts(event, member).0, scope.clone(), noise),
    };
    let Some(common) = resolve_one(&noise, &scope)? else { return Ok(Vec::new()) };
    let by = event.moves().shifts(&scope).iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
    let law = Law::Approximate { epsilon: 0.0, delta: words::of(event.word()).shown(by, size) };
    // What the threshold really lets through is not known, nor whether all moves and all new keys happen at once.
    let exclusive = Component { form, is_cover: true, ..Component::whole(law, event.times() as f64) };
    Ok(vec![common, exclusive])
}

/// What neighbours in `scope` are in a sample.
fn in_sample(sampling: Sampling, scope: &Scope) -> Scope {
    match (sampling, scope) {
        (Sampling::WithoutReplacement(_), Scope::Group(member, size)) if **member == Scope::Presence => {
            Scope::Person.group(*size)
        }
        _ => scope.clone(),
    }
}

/// The sample that an event saw and the ways in which neighbours can move it there.
fn form_and_shifts(event: &Event, member: &Scope) -> (SampleForm, Vec<Shift>) {
    let (form, shifts) = match event.sampling() {
        None => (SampleForm::Whole, event.moves().shifts(member)),
        Some(sampling) => sampled_shifts(event, sampling, member),
    };
    // A sample of everybody is everybody.
    match form {
        SampleForm::Presence { rate } | SampleForm::Replace { rate } if rate == 1.0 => (SampleForm::Whole, shifts),
        form => (form, shifts),
    }
}

fn resolve_one(event: &Event, scope: &Scope) -> Result<Option<Component>> {
    let (member, size) = scope.members();
    let (form, shifts) = form_and_shifts(event, member);
    let (mut shifts, is_rounded) = in_steps(event.word(), undominated(shifts));
    if let (Word::SinhNormal { .. }, SampleForm::Whole, 1) = (event.word(), form, size) {
        shifts = divided_alternatives(shifts)?;
    }
    let Some(covered) = shifts.iter().copied().reduce(covering) else { return Ok(None) };
    let in_law = if form == SampleForm::Whole { u64::from(size) } else { 1 };
    let made = |shift: Shift, group: u64| -> Result<Component> {
        let one = component(event, form, shift, group)?;
        Ok(Component { is_cover: one.is_cover || is_rounded || matches!(form, SampleForm::Replace { .. }), ..one })
    };
    let cover = made(covered, in_law)?;
    if size > 1 {
        // The owners of a group may each move in another way: what covers all ways. On a sample a group is a chain of
        // neighbours, each of whom the sampled mechanism hides as it hides one owner.
        let cover = Component { is_cover: cover.is_cover || shifts.len() > 1, ..cover };
        return Ok(Some(if form == SampleForm::Whole { cover } else { chained(cover, size) }));
    }
    if shifts.len() == 1 {
        return Ok(Some(cover));
    }
    if let Word::Gaussian { .. } = event.word() {
        // Only the length counts, and of no mixture it is longer.
        let longest = shifts.into_iter().max_by(|one, other| length(one).total_cmp(&length(other)));
        return longest.map(|shift| made(shift, 1)).transpose();
    }
    if let (Some(is_whole), SampleForm::Whole) = (compared(event.word()), form)
        && let Some(shift) = hull::majorizing(&shifts, is_whole)
    {
        return made(shift, 1).map(Some);
    }
    chosen(event, form, &shifts, cover, &made)
}

/// Moves in whole steps, where noise is on whole numbers; and whether some are only covered.
///
/// One cell that moves by at most 1.5 moves by at most 1. "Two cells by 1.5" stand for three cells by 1 too: for as
/// many steps in all, in cells that each move by at most 1. A mixture of several alternatives may be further in a cell
/// than either is, rounded down, so that there 1.5 counts as 2.
fn in_steps(word: &Word, shifts: Vec<Shift>) -> (Vec<Shift>, bool) {
    let is_whole = matches!(word, Word::SinhNormal { .. }) || compared(word) == Some(true);
    let is_split = |shift: &Shift| shift.cells > 1 && shift.by.get().fract() != 0.0;
    match &shifts[..] {
        _ if !is_whole => (shifts, false),
        [one] if is_split(one) => (divided(*one).into_iter().collect(), true),
        [_] => (shifts, false),
        several => {
            let is_rounded = several.iter().any(|shift| shift.by.get().fract() != 0.0);
            let up = |shift: &Shift| Shift { by: shift.by.rounded_up(), ..*shift };
            (undominated(several.iter().map(up).collect()), is_rounded)
        }
    }
}

/// The whole move that weakly majorizes all whole moves of "so many cells by a fraction"; none if no cell moves by a
/// step.
fn divided(shift: Shift) -> Option<Shift> {
    let by = shift.by.rounded_down();
    if by.get() < 1.0 {
        return None;
    }
    // The product is off by half a unit in its last place at most.
    let steps = (shift.cells as f64 * shift.by.get()).next_up().floor();
    let cells = (steps / by.get()).ceil();
    let is_short = cells.mul_add(by.get(), -steps) < 0.0;
    Some(Shift { cells: (cells as u64).saturating_add(u64::from(is_short)), by })
}

/// Whether a word is symmetric log-concave noise, whose moves are compared by majorization, and if so, whether on whole
/// numbers.
fn compared(word: &Word) -> Option<bool> {
    match word {
        Word::Laplace { .. } => Some(false),
        Word::DiscreteLaplace { .. } | Word::DiscreteGaussian { .. } => Some(true),
        _ => None,
    }
}

/// The squared length of a move.
fn length(shift: &Shift) -> f64 {
    shift.cells as f64 * shift.by.get() * shift.by.get()
}

/// One of several moves or a mixture of them ([`hull`] says what that is).
///
/// # Guarantee
/// Pairs that cover all mixtures are known for symmetric log-concave noise on everybody; for everything else "the most
/// cells, each by the most" covers them.
fn chosen(
    event: &Event,
    form: SampleForm,
    shifts: &[Shift],
    cover: Component,
    made: &dyn Fn(Shift, u64) -> Result<Component>,
) -> Result<Option<Component>> {
    let times = event.times() as f64;
    let one_run = |component: Component| Component { times: component.times / times, ..component };
    let all = |moves: &[Shift]| moves.iter().map(|shift| made(*shift, 1).map(one_run)).collect::<Result<Vec<_>>>();
    let hull = compared(event.word()).filter(|_| form == SampleForm::Whole).and_then(|whole| Hull::of(shifts, whole));
    let (pieces, cover) = match hull {
        Some(hull) => (hull.covers(hull::PIECES)?, all(&hull.covers(1)?.concat())?),
        None => (Vec::new(), vec![one_run(cover)]),
    };
    let pieces = pieces.iter().map(|moves| all(moves)).collect::<Result<_>>()?;
    // On a sample all cells are one law, and a mixture has none here.
    let reached = if form == SampleForm::Whole {
        hull::mixtures(shifts)
    } else {
        shifts.iter().map(|shift| vec![*shift]).collect()
    };
    let reached = reached.iter().map(|moves| all(moves)).collect::<Result<_>>()?;
    let mut alternatives = all(shifts)?;
    if let Some(rate) = hull::by_rate(event.word(), shifts, 1) {
        alternatives.push(Component { is_cover: true, ..one_run(made(rate, 1)?) });
    }
    let choice = ShiftChoice { alternatives, pieces, cover, reached };
    Ok(Some(Component::whole(Law::AnyOf(Box::new(choice)), times)))
}

/// The more cells of two ways to move, each by the larger move.
fn covering(a: Shift, b: Shift) -> Shift {
    let by = if a.by.get() >= b.by.get() { a.by } else { b.by };
    Shift { cells: a.cells.max(b.cells), by }
}

/// The same for this many owners one after the other: by the chain of Rényi curves and the sum of pure bounds, and for
/// (ε, δ) by the usual formula on the amplified parameters.
fn chained(one: Component, owners: u32) -> Component {
    match (&one.law, one.form) {
        _ if owners == 1 => one,
        (Law::Approximate { epsilon, delta }, SampleForm::Presence { rate } | SampleForm::Replace { rate }) => {
            let law = group_of_approximate(one.form.amplified(*epsilon), rate * delta, f64::from(owners));
            Component { law, form: SampleForm::Whole, is_cover: true, ..one }
        }
        _ => Component { owners, without_pair: true, ..one },
    }
}

/// In a sample an owner may also be absent: the mechanism on the sample is compared with and without it.
fn sampled_shifts(event: &Event, sampling: Sampling, member: &Scope) -> (SampleForm, Vec<Shift>) {
    let own = event.moves().shifts(member);
    let absent = event.moves().shifts(absent_scope(sampling));
    let (Sampling::Poisson(rate) | Sampling::WithoutReplacement(rate)) = sampling;
    let rate = rate.get();
    if own.is_empty() {
        return (SampleForm::Whole, own);
    }
    let form = if *member == Scope::Presence { SampleForm::Presence { rate } } else { SampleForm::Replace { rate } };
    let all = match (member, sampling) {
        (Scope::Presence, Sampling::Poisson(_)) => own,
        // Who is added to a sample of a fixed size takes another's place; events may say each scope's cost side by
        // side, and then only `own` is here.
        _ => own.into_iter().chain(absent).collect(),
    };
    (form, all)
}

/// In which scope a sample with an owner and one without are neighbours: of a fixed number of owners, one that is not
/// drawn has been replaced by another.
fn absent_scope(sampling: Sampling) -> &'static Scope {
    match sampling {
        Sampling::Poisson(_) => &Scope::Presence,
        Sampling::WithoutReplacement(_) => &Scope::Person,
    }
}

/// What moves of several cells stand for where a curve divided by the move may fall: the most in all, in cells that
/// each move by 1, 2, … up to the most.
///
/// The tails of a sinh-normal table end, and further moves cost little more there: for σ = A = 1 the mean loss is 12.1
/// for each of 4 steps, and 10.3 for each of 5. With φ the curve and T the largest sum of the moves,
/// Σφ(sⱼ) = Σsⱼ·φ(sⱼ)/sⱼ ≤ T·max φ(s)/s. Of larger moves not each is looked at: φ grows, so that the next one that is
/// covers it in as many cells.
fn divided_alternatives(shifts: Vec<Shift>) -> Result<Vec<Shift>> {
    let steps = |shift: &Shift| shift.by.get().floor();
    let most = shifts.iter().map(steps).fold(0.0, f64::max);
    if most < 2.0 || shifts.iter().all(|shift| shift.cells <= 1) {
        return Ok(shifts);
    }
    let total = shifts.iter().map(|shift| shift.cells as f64 * steps(shift)).fold(0.0, f64::max);
    let (mut found, mut before): (Vec<Shift>, f64) = (Vec::new(), 0.0);
    while before < most {
        let by = (before * DIVIDED).floor().max(before + 1.0).min(most);
        found.push(Shift::new((total / (before + 1.0)).ceil() as u64, by)?);
        before = by;
    }
    Ok(found)
}

/// By how much each of the moves is larger than the one before it, where these are not next to each other.
const DIVIDED: f64 = 1.25;

/// Drops every shift that another one covers in cells and in size.
fn undominated(shifts: Vec<Shift>) -> Vec<Shift> {
    let mut kept: Vec<Shift> = Vec::new();
    for shift in shifts {
        if kept.iter().any(|other| other.cells >= shift.cells && other.by >= shift.by) {
            continue;
        }
        kept.retain(|other| !(shift.cells >= other.cells && shift.by >= other.by));
        kept.push(shift);
    }
    kept
}

fn component(event: &Event, form: SampleForm, shift: Shift, group: u64) -> Result<Component> {
    // What noise is added to moves by the sum of what the owners do; elsewhere each owner's move counts as this many
    // whole owners.
    let is_sum = event.word().is_additive() || matches!(event.word(), Word::Exponential { .. });
    let by = group as f64 * if is_sum { shift.by.get() } else { shift.by.get().ceil() };
    let word = words::of(event.word());
    let law = word.law_of_group(shift.by.get(), group).unwrap_or_else(|| word.law(by))?;
    // A group may move the same cells further or more cells: with Gaussian noise the first is the worse, exactly; for
    // the other additive kinds that is known of the Rényi curve (superadditive in the shift) and of the pure bound
    // only.
    let further = group > 1 && event.word().is_additive() && !matches!(event.word(), Word::Gaussian { .. });
    let (times, cells) = (event.times() as f64, shift.cells as f64);
    // "c cells by r rows" stands for the same rows in more cells too ([`hull`]). Where moves are not compared by
    // majorization, only their sum is known.
    let divided = cells > 1.0 && shift.by.get() >= least_divided(event.word());
    let without_pair = further || (divided && form == SampleForm::Whole);
    if form == SampleForm::Whole || cells <= 1.0 {
        return Ok(Component { form, without_pair, is_cover: word.covers(by), ..Component::whole(law, times * cells) });
    }
    // An owner who is in the sample moves all of its cells: the sample of the cells' composition, which costs more than
    // the composition of sampled cells.
    let law = law.in_all_cells(cells).ok_or_else(|| {
        Error::refused(format!(
            "a sampled {} event that moves {} cells at once has no proven bound here: state its loss as pure or zcdp",
            event.word().name(),
            shift.cells
        ))
    })?;
    let is_cover = !matches!(law, Law::Gaussian { .. });
    Ok(Component { form, without_pair, is_cover, ..Component::whole(law, times) })
}

/// From how far a move of several cells on may be divided into more cells such that its pair is not known to cover
/// these.
///
/// A move of less than two whole steps is not divided. Where a move counts as owners, one of two is divided into cells
/// of one owner each, which the pair for two owners covers: two answers that are ε-private are together 2ε-private.
/// Three owners in each of two cells are two in each of three too, which nothing here compares.
fn least_divided(word: &Word) -> f64 {
    match word {
        // On the line and on whole numbers, what majorizes dominates.
        Word::Gaussian { .. } | Word::Laplace { .. } | Word::DiscreteLaplace { .. } | Word::DiscreteGaussian { .. } => {
            f64::INFINITY
        }
        Word::SinhNormal { .. } | Word::Exponential { .. } => 2.0,
        Word::NewKeys(keys) => least_divided(keys.noise()),
        _ => 2.0f64.next_up(),
    }
}

#[cfg(test)]
mod tests;
