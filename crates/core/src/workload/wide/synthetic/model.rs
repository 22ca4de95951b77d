//! The most even distribution with given tables: proportional fitting on a junction tree.
//!
//! Each clique keeps the table of its columns under the model. Fitting walks over the tree: in each clique the table is
//! scaled to each wanted set in turn, and what changed is handed to the next clique through what they share (Jiroušek
//! and Přeučil 1995). All cliques agree at the end of each walk.

use super::levels::ColumnLevels;
use super::tree::{JunctionTree, LevelColumn, LevelColumns};

/// Where each cell of a table is in the table of some of its columns, perhaps at coarser levels: for each axis what its
/// value adds to the place.
#[derive(Debug, Clone)]
pub(super) struct MarginalMap {
    adds: Vec<Vec<u32>>,
    cells: usize,
}

/// What a set of columns should have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TargetTable {
    pub(super) set: LevelColumns,
    /// Shares of people, cell by cell.
    pub(super) shares: Vec<f64>,
}

/// Combinations that cannot be: which cells of a set are possible.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mask {
    pub(super) set: LevelColumns,
    pub(super) possible: Vec<bool>,
}

/// A junction tree with the tables of its cliques, as shares of people.
#[derive(Debug, Clone)]
pub(super) struct JunctionModel {
    pub(super) tree: JunctionTree,
    pub(super) tables: Vec<Vec<f64>>,
    shared: Vec<Vec<f64>>,
    /// From each clique to what it shares with its parent, and from the parent.
    own_onto: Vec<MarginalMap>,
    parent_onto: Vec<MarginalMap>,
}

/// So much of what the model says stays in a target, so that no cell dies that another table needs.
const KEPT: f64 = 1e-6;
/// Walks over the tree.
const WALKS: usize = 30;
/// A walk that moved no table by more than this share of people was the last.
const STILL: f64 = 2e-5;

impl MarginalMap {
    /// From the table of `axes` onto that of `set`; each column of `set` is among the axes, at this level or a finer
    /// one.
    pub(super) fn new(levels: &[ColumnLevels], axes: &[LevelColumn], set: &[LevelColumn]) -> Self {
        let mut strides = vec![1usize; set.len()];
        for place in (0..set.len().saturating_sub(1)).rev() {
            let (column, level) = set[place + 1];
            strides[place] = strides[place + 1] * levels[column].0[level].bins;
        }
        let cells = set.iter().map(|&(column, level)| levels[column].0[level].bins).product();
        let adds = |&(column, level): &LevelColumn| match set.iter().position(|&(own, _)| own == column) {
            Some(place) => {
                let map = levels[column].map(level, set[place].1);
                map.into_iter().map(|bin| bin * strides[place] as u32).collect()
            }
            None => vec![0; levels[column].0[level].bins],
        };
        Self { adds: axes.iter().map(adds).collect(), cells }
    }

    /// Calls `each` with runs of cells: the first cell, the place before the last axis, and what the last axis adds.
    fn runs(&self, mut each: impl FnMut(usize, u32, &[u32])) {
        let Some((last, outer)) = self.adds.split_last() else {
            return each(0, 0, &[0]);
        };
        let mut values = vec![0usize; outer.len()];
        let mut first = 0;
        loop {
            let place = outer.iter().zip(&values).map(|(adds, &value)| adds[value]).sum();
            each(first, place, last);
            first += last.len();
            let Some(axis) = (0..outer.len()).rev().find(|&axis| values[axis] + 1 < outer[axis].len()) else { return };
            values[axis] += 1;
            values[axis + 1..].fill(0);
        }
    }

    pub(super) fn summed(&self, table: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.cells];
        self.runs(|first, place, last| {
            let run = &table[first..first + last.len()];
            run.iter().zip(last).for_each(|(share, add)| sums[(place + add) as usize] += share);
        });
        sums
    }

    fn scale(&self, table: &mut [f64], by: &[f64]) {
        self.runs(|first, place, last| {
            let run = &mut table[first..first + last.len()];
            run.iter_mut().zip(last).for_each(|(share, add)| *share *= by[(place + add) as usize]);
        });
    }
}

fn ratio(wanted: &[f64], now: &[f64]) -> Vec<f64> {
    wanted.iter().zip(now).map(|(wanted, now)| if *now > 0.0 { wanted / now } else { 0.0 }).collect()
}

impl JunctionModel {
    /// Columns that have nothing to do with each other, with these shares, except for what cannot be.
    pub(super) fn independent(
        levels: &[ColumnLevels],
        tree: JunctionTree,
        shares: &[Vec<f64>],
        masks: &[Mask],
    ) -> Self {
        let product = |axes: &LevelColumns| {
            let mut table = vec![1.0];
            for &(column, level) in axes {
                let own = levels[column].summed(level, &shares[column]);
                table = table.iter().flat_map(|share| own.iter().map(move |more| share * more)).collect();
            }
            table
        };
        let tables = tree.cliques.iter().map(|clique| product(&clique.axes)).collect();
        let shared = tree.cliques.iter().map(|clique| product(&clique.shared)).collect();
        let own_onto =
            tree.cliques.iter().map(|clique| MarginalMap::new(levels, &clique.axes, &clique.shared)).collect();
        let from_parent = |clique: &super::tree::Clique| {
            let axes = clique.parent.map_or(&[][..], |parent| &tree.cliques[parent].axes);
            MarginalMap::new(levels, axes, &clique.shared)
        };
        let parent_onto = tree.cliques.iter().map(from_parent).collect();
        let mut model = Self { tables, shared, own_onto, parent_onto, tree };
        for mask in masks {
            let Some(home) = model.tree.home(&mask.set) else { continue };
            let onto = MarginalMap::new(levels, &model.tree.cliques[home].axes, &mask.set);
            let by: Vec<f64> = mask.possible.iter().map(|&possible| f64::from(u8::from(possible))).collect();
            onto.scale(&mut model.tables[home], &by);
        }
        if !masks.is_empty() {
            model.agree();
        }
        model
    }

    /// The model's shares of a set that is inside a clique.
    pub(super) fn shares(&self, levels: &[ColumnLevels], set: &[LevelColumn]) -> Option<Vec<f64>> {
        let home = self.tree.home(set)?;
        Some(MarginalMap::new(levels, &self.tree.cliques[home].axes, set).summed(&self.tables[home]))
    }

    /// How much of all people is possible: 0 if constraints contradict each other.
    pub(super) fn mass(&self) -> f64 {
        let roots = self.tree.cliques.iter().zip(&self.tables).filter(|(clique, _)| clique.parent.is_none());
        roots.map(|(_, table)| table.iter().sum::<f64>()).fold(1.0, f64::min)
    }

    /// Fits the targets, as far as they agree with each other.
    pub(super) fn fit(&mut self, levels: &[ColumnLevels], targets: &[TargetTable]) {
        let mut own: Vec<Vec<(MarginalMap, Vec<f64>)>> = vec![Vec::new(); self.tree.cliques.len()];
        for target in targets {
            let Some(home) = self.tree.home(&target.set) else { continue };
            let onto = MarginalMap::new(levels, &self.tree.cliques[home].axes, &target.set);
            let now = onto.summed(&self.tables[home]);
            let kept = |(wanted, now): (&f64, &f64)| (1.0 - KEPT) * wanted + KEPT * now;
            own[home].push((onto, target.shares.iter().zip(&now).map(kept).collect()));
        }
        let steps = self.steps();
        for walk in 0..WALKS {
            // Later walks go half the way: where targets disagree, no one of them has the last word.
            let power = if walk < WALKS / 2 { 1.0 } else { 0.5 };
            let mut moved = 0.0f64;
            for &(clique, from) in &steps {
                if let Some(from) = from {
                    self.hand(from, clique);
                }
                // A clique is scaled when the walk first comes to it.
                if from.is_none_or(|from| self.tree.cliques[clique].parent == Some(from)) {
                    for (onto, wanted) in &own[clique] {
                        let now = onto.summed(&self.tables[clique]);
                        let off: f64 = wanted.iter().zip(&now).map(|(wanted, now)| (wanted - now).abs()).sum();
                        moved = moved.max(off);
                        if off > STILL {
                            let by: Vec<f64> = ratio(wanted, &now).into_iter().map(|by| by.powf(power)).collect();
                            onto.scale(&mut self.tables[clique], &by);
                        }
                    }
                }
            }
            if moved <= STILL {
                break;
            }
        }
        self.agree();
    }

    /// The walk: each clique, and from which one it is come to; roots from none.
    fn steps(&self) -> Vec<(usize, Option<usize>)> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.tree.cliques.len()];
        let mut roots = Vec::new();
        for (number, clique) in self.tree.cliques.iter().enumerate() {
            clique.parent.map_or_else(|| roots.push(number), |parent| children[parent].push(number));
        }
        let mut steps = Vec::new();
        for root in roots {
            steps.push((root, None));
            let mut open = vec![(root, 0)];
            while let Some((clique, done)) = open.pop() {
                if let Some(&child) = children[clique].get(done) {
                    open.push((clique, done + 1));
                    open.push((child, 0));
                    steps.push((child, Some(clique)));
                } else if let Some(&(parent, _)) = open.last() {
                    steps.push((parent, Some(clique)));
                }
            }
        }
        steps
    }

    /// Tells a neighbour what a clique knows.
    fn hand(&mut self, from: usize, to: usize) {
        let down = self.tree.cliques[to].parent == Some(from);
        let child = if down { to } else { from };
        let (source, sink) = match down {
            true => (&self.parent_onto[child], &self.own_onto[child]),
            false => (&self.own_onto[child], &self.parent_onto[child]),
        };
        let now = source.summed(&self.tables[from]);
        let by = ratio(&now, &self.shared[child]);
        if by.iter().zip(&now).any(|(by, now)| (by - 1.0).abs() * now > 1e-12) || now.contains(&0.0) {
            sink.scale(&mut self.tables[to], &by);
        }
        self.shared[child] = now;
    }

    /// Makes all cliques agree and add up to 1: up to the roots, and down again.
    fn agree(&mut self) {
        for child in (0..self.tree.cliques.len()).rev() {
            if let Some(parent) = self.tree.cliques[child].parent {
                self.hand(child, parent);
            }
        }
        for child in 0..self.tree.cliques.len() {
            match self.tree.cliques[child].parent {
                Some(parent) => self.hand(parent, child),
                None => {
                    let total: f64 = self.tables[child].iter().sum();
                    if total > 0.0 {
                        self.tables[child].iter_mut().for_each(|share| *share /= total);
                    }
                }
            }
        }
    }
}
