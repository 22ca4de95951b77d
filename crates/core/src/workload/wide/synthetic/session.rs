//! Which queries come next, and what the model learnt from noisy answers. This file sees no records, so all of it is
//! post-processing.

use super::super::marginals::fitted::{by_halves, nearest, with_margins};
use super::super::records::Records;
use super::SyntheticPlan;
use super::budget::OF_TABLE;
use super::levels::ColumnLevels;
use super::model::{JunctionModel, Mask, TargetTable};
use super::price::{ChosenTable, TableCandidate, beyond_pairs, by_chance, spanning, worthwhile};
use super::question::{GRID, LevelRecords, Measurement};
use super::rows::{Dice, rows};
use super::tree::{JunctionTree, LevelColumn, LevelColumns};
use crate::calibrate::{ShiftNorms, sigma_for_zcdp};
use crate::error::Result;
use crate::quantity::{Rho, Sigma};
use std::collections::BTreeMap;

/// A table that was measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeasuredTable {
    /// The columns, by position.
    pub columns: Vec<usize>,
    /// How many bins each column was seen in.
    pub bins: Vec<usize>,
    /// The σ of the noise on each count.
    pub sigma: f64,
}

/// Candidates with larger tables are not looked at.
pub(super) const MOST_SCORED: usize = 20_000;
/// To see what the model expects, rows of it are drawn: as many as there are people, but no more than this.
const MOST_DRAWN: usize = 200_000;
/// At about how many bins pairs are looked at: all, and these.
const BINS: [usize; 5] = [usize::MAX, 32, 16, 8, 4];
/// And triples: what only three columns show is looked for in few cells.
const BINS_OF_TRIPLES: [usize; 1] = [8];

/// Everything that is known at some time.
pub(super) struct Session<'a> {
    plan: &'a SyntheticPlan,
    step: usize,
    pub(super) asked: Vec<Measurement>,
    pub(super) levels: Vec<ColumnLevels>,
    pub(super) people: f64,
    shares: Vec<Vec<f64>>,
    candidates: Vec<TableCandidate>,
    targets: Vec<TargetTable>,
    masks: Vec<Mask>,
    pub(super) model: Option<JunctionModel>,
    pub(super) measured: Vec<MeasuredTable>,
    /// Of linked columns: from which to which, and the value of each value.
    functions: Vec<(usize, usize, Vec<u32>)>,
    dice: Dice,
}

impl<'a> Session<'a> {
    /// The first step: counts of every single column.
    pub(super) fn new(plan: &'a SyntheticPlan, seed: u64) -> Result<Self> {
        let even =
            |&size: &u32| ColumnLevels::new(&vec![1.0 / f64::from(size); size as usize], &vec![0; size as usize]);
        let mut session = Self {
            plan,
            step: 0,
            asked: Vec::new(),
            levels: plan.sizes.iter().map(even).collect(),
            people: 1.0,
            shares: Vec::new(),
            candidates: Vec::new(),
            targets: Vec::new(),
            masks: Vec::new(),
            model: None,
            measured: Vec::new(),
            functions: Vec::new(),
            dice: Dice::new(seed),
        };
        for (column, rho) in plan.singles().into_iter().enumerate() {
            session.asked.push(Measurement::Table { set: vec![(column, 0)], sigma: sigma_for(rho)? });
        }
        Ok(session)
    }

    /// Learns from the noisy answers to the current queries, and chooses the next ones; none at the end.
    pub(super) fn learn(&mut self, answers: &[Vec<i64>]) -> Result<()> {
        let asked = std::mem::take(&mut self.asked);
        match self.step {
            0 => self.learn_singles(&asked, answers),
            step if step % 2 == 1 => self.learn_scores(&asked, answers),
            _ => self.learn_tables(&asked, answers),
        }
        self.step += 1;
        if self.step > 2 * self.plan.rounds() {
            return Ok(());
        }
        if self.step % 2 == 1 { self.ask_scores() } else { self.ask_tables() }
    }

    fn round(&self) -> usize {
        (self.step - 1) / 2
    }

    /// The number of people is what all columns say of it; what is below nothing is noise.
    fn learn_singles(&mut self, asked: &[Measurement], answers: &[Vec<i64>]) {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (question, answer) in asked.iter().zip(answers) {
            let weight = 1.0 / (question.sigma().get().powi(2) * answer.len() as f64);
            sum += weight * answer.iter().map(|&count| count as f64).sum::<f64>();
            weights += weight;
        }
        self.people =
            self.plan.people.map_or((sum / weights).round().clamp(1.0, super::MOST_PEOPLE), |people| people as f64);
        for (column, answer) in answers.iter().enumerate() {
            let counts: Vec<f64> = answer.iter().map(|&count| count as f64).collect();
            let shares = by_halves(&counts, self.people).into_iter().map(|count| count / self.people).collect();
            self.shares.push(self.plan.possible(column, shares));
            self.levels[column] = ColumnLevels::new(&self.shares[column], &self.plan.classes(column));
        }
        let measured: Vec<MeasuredTable> = asked.iter().map(|question| self.measured_table(question)).collect();
        self.measured.extend(measured);
        self.masks = self.plan.masks(&self.levels);
        self.fit(&[]);
    }

    /// Asks of all pairs, at several levels, and of triples how far they are from the model.
    fn ask_scores(&mut self) -> Result<()> {
        let round = self.round();
        let drawn = if round > 0 { self.model_rows() } else { None };
        let mut seen = drawn.as_ref().map(|records| LevelRecords::new(records, &self.levels));
        let mut known: BTreeMap<u64, Sigma> = BTreeMap::new();
        self.candidates.clear();
        for (columns, rho) in self.plan.scored(round) {
            let sets = self.sets_of(&columns);
            let rho = rho / sets.len() as f64;
            for set in sets {
                let expected: Vec<f64> = match &mut seen {
                    Some(seen) => {
                        let scale = self.people / drawn.as_ref().map_or(1.0, |records| records.people() as f64);
                        seen.count(&set).into_iter().map(|count| count as f64 * scale).collect()
                    }
                    None => self.independent(&set),
                };
                let sigma = match known.get(&rho.to_bits()) {
                    Some(sigma) => *sigma,
                    None => *known.entry(rho.to_bits()).or_insert(Sigma::new(sigma_for(rho)?.get() * GRID)?),
                };
                let grid = expected.iter().map(|mean| (mean * GRID).round() as i64).collect();
                self.asked.push(Measurement::Score { set: set.clone(), expected: grid, sigma });
                self.candidates.push(TableCandidate { set, score: 0.0, error: sigma.get() / GRID, expected });
            }
        }
        Ok(())
    }

    fn learn_scores(&mut self, asked: &[Measurement], answers: &[Vec<i64>]) {
        for ((candidate, _), answer) in self.candidates.iter_mut().zip(asked).zip(answers) {
            // Of triples, what rows of the model have by chance counts too: both tables are samples.
            let samples = if candidate.set.len() > 2 { std::f64::consts::SQRT_2 } else { 1.0 };
            candidate.score = answer[0] as f64 / GRID - samples * by_chance(&candidate.expected);
        }
        beyond_pairs(&mut self.candidates);
    }

    /// Asks for the tables that are worth it.
    fn ask_tables(&mut self) -> Result<()> {
        let round = self.round();
        let caps = self.plan.tables(round);
        let costs = caps.of_tables();
        let kept: Vec<LevelColumns> = self
            .targets
            .iter()
            .map(|target| target.set.clone())
            .chain(self.masks.iter().map(|mask| mask.set.clone()))
            .collect();
        let chosen: Vec<ChosenTable> = if round == 0 {
            let first: Vec<LevelColumns> =
                self.plan.linked.iter().map(|&(one, two)| vec![(one, 0), (two, 0)]).collect();
            let each = costs.presence / (self.plan.sizes.len() - 1) as f64;
            spanning(&self.candidates, &first, self.plan.sizes.len(), each)
        } else {
            // What is known to be a function was measured as one.
            let linked = |set: &LevelColumns| set.len() == 2 && self.plan.linked.contains(&(set[0].0, set[1].0));
            self.candidates.retain(|candidate| !linked(&candidate.set));
            let chosen = worthwhile(&self.candidates, &kept, &self.levels, costs.presence);
            // Where nothing else is worth it, what is measured already becomes more precise.
            let again = |target: &TargetTable| ChosenTable { set: target.set.clone(), weight: 1.0 };
            if chosen.is_empty() { self.targets.iter().map(again).collect() } else { chosen }
        };
        let weighed: Vec<(Vec<usize>, f64)> =
            chosen.iter().map(|one| (one.set.iter().map(|node| node.0).collect(), one.weight)).collect();
        for (one, rho) in chosen.into_iter().zip(caps.divided(&weighed, OF_TABLE)) {
            if rho > 0.0 {
                self.asked.push(Measurement::Table { set: one.set, sigma: sigma_for(rho)? });
            }
        }
        // What the model says of them so far.
        let sets: Vec<LevelColumns> = self.asked.iter().map(|question| question.set().clone()).collect();
        self.fit(&sets);
        Ok(())
    }

    /// Draws each noisy table towards what the model said of it, by as much as its noise deserves, and fits all.
    fn learn_tables(&mut self, asked: &[Measurement], answers: &[Vec<i64>]) {
        let mut targets = Vec::new();
        for (question, answer) in asked.iter().zip(answers) {
            let set = question.set();
            let expected = self.model.as_ref().and_then(|model| model.shares(&self.levels, set));
            let Some(expected) = expected else { continue };
            let noisy: Vec<f64> = answer.iter().map(|&count| count as f64 / self.people).collect();
            let sigma = question.sigma().get() / self.people;
            let linked = set.len() == 2 && set[0].1 + set[1].1 == 0 && self.plan.linked.contains(&(set[0].0, set[1].0));
            let margins: Vec<Vec<f64>> =
                set.iter().map(|&(column, level)| self.levels[column].summed(level, &self.shares[column])).collect();
            let shares = if linked {
                let (shares, from_first, of) = function(&noisy, &margins);
                let (from, to) = if from_first { (set[0].0, set[1].0) } else { (set[1].0, set[0].0) };
                self.functions.retain(|known| (known.0, known.1) != (from, to));
                self.functions.push((from, to, of));
                shares
            } else {
                estimated(&noisy, &expected, sigma, &margins)
            };
            targets.push(TargetTable { set: set.clone(), shares });
        }
        let measured: Vec<MeasuredTable> = asked.iter().map(|question| self.measured_table(question)).collect();
        self.measured.extend(measured);
        // A new table stands for an older one of the same columns that is not finer.
        let replaced = |old: &TargetTable| {
            targets.iter().any(|new| {
                new.set.len() == old.set.len()
                    && new.set.iter().zip(&old.set).all(|(new, old)| new.0 == old.0 && new.1 <= old.1)
            })
        };
        self.targets.retain(|old| !replaced(old));
        self.targets.extend(targets);
        self.fit(&[]);
    }

    /// Fits the model to all that is known, on a tree with room for these sets too.
    fn fit(&mut self, more: &[LevelColumns]) {
        let of_targets = self.targets.iter().map(|target| &target.set);
        let sets: Vec<LevelColumns> =
            of_targets.chain(self.masks.iter().map(|mask| &mask.set)).chain(more).cloned().collect();
        let Some(tree) = JunctionTree::new(&self.levels, &sets, usize::MAX >> 8) else { return };
        let mut model = JunctionModel::independent(&self.levels, tree, &self.shares, &self.masks);
        let singles = self
            .shares
            .iter()
            .enumerate()
            .map(|(column, shares)| TargetTable { set: vec![(column, 0)], shares: shares.clone() });
        let all: Vec<TargetTable> = singles.chain(self.targets.iter().cloned()).collect();
        model.fit(&self.levels, &all);
        self.model = Some(model);
    }

    fn model_rows(&mut self) -> Option<Records> {
        let number = (self.people as usize).clamp(1, MOST_DRAWN);
        let columns = rows(&self.levels, self.model.as_ref()?, number, false, &mut self.dice);
        Records::new(self.plan.sizes.clone(), columns).ok()
    }

    /// This many rows of the model, column by column.
    pub(super) fn rows(&mut self, number: usize) -> Vec<Vec<u32>> {
        let mut columns = match &self.model {
            Some(model) => rows(&self.levels, model, number, true, &mut self.dice),
            None => vec![Vec::new(); self.plan.sizes.len()],
        };
        for (from, to, of) in &self.functions {
            columns[*to] = columns[*from].iter().map(|&value| of[value as usize]).collect();
        }
        columns
    }

    /// The levels at which some columns are looked at, finest first.
    fn sets_of(&self, columns: &[usize]) -> Vec<LevelColumns> {
        let node = |column: usize, bins: usize| -> LevelColumn {
            let levels = &self.levels[column].0;
            (column, levels.iter().position(|level| level.bins <= bins).unwrap_or(levels.len() - 1))
        };
        let cells = |set: &LevelColumns| -> usize {
            set.iter().map(|&(column, level)| self.levels[column].0[level].bins).product()
        };
        let at = |bins: &usize| -> LevelColumns { columns.iter().map(|&column| node(column, *bins)).collect() };
        let mut sets: Vec<LevelColumns> = match columns.len() {
            0..=2 => BINS.iter().map(at).collect(),
            _ => BINS_OF_TRIPLES.iter().map(at).collect(),
        };
        sets.dedup();
        let coarsest = sets[sets.len() - 1].clone();
        sets.retain(|set| cells(set) <= MOST_SCORED);
        if sets.is_empty() { vec![coarsest] } else { sets }
    }

    /// What a set would have if its columns had nothing to do with each other.
    fn independent(&self, set: &LevelColumns) -> Vec<f64> {
        let mut table = vec![self.people];
        for &(column, level) in set {
            let own = self.levels[column].summed(level, &self.shares[column]);
            table = table.iter().flat_map(|mean| own.iter().map(move |share| mean * share)).collect();
        }
        table
    }

    fn measured_table(&self, question: &Measurement) -> MeasuredTable {
        let bins = |&(column, level): &LevelColumn| self.levels[column].0[level].bins;
        let set = question.set();
        MeasuredTable {
            columns: set.iter().map(|node| node.0).collect(),
            bins: set.iter().map(bins).collect(),
            sigma: question.sigma().get(),
        }
    }
}

/// The least noise of a table that costs at most this when a person comes or goes.
fn sigma_for(rho: f64) -> Result<Sigma> {
    sigma_for_zcdp(Rho::new(rho)?, ShiftNorms::units(1))
}

/// A noisy table, drawn towards what was expected: the variance of the true deviations is taken to go with the
/// expectation to the power 1.5, as much as the noisy ones show beyond their noise (empirical Bayes).
fn estimated(noisy: &[f64], measured: &[f64], sigma: f64, margins: &[Vec<f64>]) -> Vec<f64> {
    let seen: f64 = noisy.iter().zip(measured).map(|(noisy, measured)| (noisy - measured).powi(2)).sum();
    let scale: f64 = measured.iter().map(|measured| measured.powf(1.5)).sum();
    let spread = ((seen - sigma * sigma * noisy.len() as f64) / scale).max(0.0);
    let drawn: Vec<f64> = noisy
        .iter()
        .zip(measured)
        .map(|(noisy, measured)| {
            let variance = spread * measured.powf(1.5);
            measured + (noisy - measured) * variance / (variance + sigma * sigma).max(f64::MIN_POSITIVE)
        })
        .collect();
    let shares = nearest(&drawn, 1.0);
    match margins {
        [rows, columns] => with_margins(&shares, rows, columns),
        _ => shares,
    }
}

/// Of columns that are functions of each other: each value of the one with more values goes with the value of the other
/// that it is most often seen with. The table, whether the first one is that with more values, and its values' values.
fn function(noisy: &[f64], margins: &[Vec<f64>]) -> (Vec<f64>, bool, Vec<u32>) {
    let (first, second) = (margins[0].len(), margins[1].len());
    let from_first = first >= second;
    let (from, to) = if from_first { (0, 1) } else { (1, 0) };
    let cell = |one: usize, two: usize| if from_first { one * second + two } else { two * second + one };
    let mut shares = vec![0.0; noisy.len()];
    let mut of = Vec::with_capacity(margins[from].len());
    for (one, share) in margins[from].iter().enumerate() {
        let best =
            (0..margins[to].len()).max_by(|&two, &other| noisy[cell(one, two)].total_cmp(&noisy[cell(one, other)]));
        let best = best.unwrap_or(0);
        shares[cell(one, best)] = *share;
        of.push(best as u32);
    }
    (shares, from_first, of)
}
