//! What is known publicly: combinations that cannot be, and columns that are functions of each other.

use super::levels::ColumnLevels;
use super::model::{JunctionModel, Mask};
use super::price::room;
use super::tree::{JunctionTree, LevelColumns};
use super::{StructuralZero, SyntheticPlan};
use crate::error::{Error, Result};
use std::collections::BTreeMap;

impl SyntheticPlan {
    /// The same where these combinations cannot be: no row has them.
    ///
    /// ```
    /// use scumble::quantity::Rho;
    /// use scumble::workload::planner::RhoLimits;
    /// use scumble::workload::wide::synthetic::{StructuralZero, SyntheticPlan};
    /// let limits = RhoLimits { presence: Some(Rho::new(0.1)?), ..RhoLimits::default() };
    /// let plan = SyntheticPlan::within(&limits, &[2, 3])?;
    /// let never = |values: [bool; 2]| StructuralZero { columns: vec![0, 1], values: vec![values.to_vec(), vec![true, true, false]] };
    /// assert!(plan.clone().with_never(vec![never([true, false])]).is_ok());
    /// let all = StructuralZero { columns: vec![1], values: vec![vec![false, false, true]] };
    /// assert!(plan.with_never(vec![never([true, false]), never([false, true]), all]).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn with_never(mut self, never: Vec<StructuralZero>) -> Result<Self> {
        for one in &never {
            let ascending = one.columns.windows(2).all(|two| two[0] < two[1]) && !one.columns.is_empty();
            let fits = |(&column, values): (&usize, &Vec<bool>)| {
                self.sizes.get(column).is_some_and(|&size| values.len() == size as usize)
            };
            if !ascending || one.values.len() != one.columns.len() || !one.columns.iter().zip(&one.values).all(fits) {
                refuse!("an impossible combination needs columns of the table, and true or false for each value");
            }
        }
        self.never = never;
        let shares: Vec<Vec<f64>> = (0..self.sizes.len()).map(|column| self.possible(column, Vec::new())).collect();
        if shares.iter().any(|own| own.iter().all(|share| *share == 0.0)) {
            refuse!("the impossible combinations leave a column without any value");
        }
        let levels: Vec<ColumnLevels> =
            shares.iter().enumerate().map(|(column, own)| ColumnLevels::new(own, &self.classes(column))).collect();
        let masks = self.masks(&levels);
        let sets: Vec<LevelColumns> = masks.iter().map(|mask| mask.set.clone()).collect();
        let Some(tree) = JunctionTree::new(&levels, &sets, room(&levels)) else {
            refuse!("the impossible combinations link too many columns: leave some out")
        };
        match JunctionModel::independent(&levels, tree, &shares, &masks).mass() {
            mass if mass > 0.0 => Ok(self),
            _ => Err(Error::refused("the impossible combinations contradict each other: no row is left")),
        }
    }

    /// The same where these groups of columns are functions of each other: of two that follow each other in a group,
    /// each value of the one with more values goes with one value of the other.
    pub fn with_linked(mut self, groups: &[Vec<usize>]) -> Result<Self> {
        for group in groups {
            for two in group.windows(2) {
                let (one, two) = (two[0].min(two[1]), two[0].max(two[1]));
                let cells = |column: usize| self.sizes.get(column).map_or(f64::INFINITY, |&size| f64::from(size));
                if one == two || cells(one) * cells(two) > super::session::MOST_SCORED as f64 {
                    refuse!(
                        "linked columns must be different columns of the table with at most {} pairs of values",
                        super::session::MOST_SCORED
                    );
                }
                self.linked.push((one, two));
            }
        }
        Ok(self)
    }

    /// Shares without the values that cannot be, and none of the others quite 0, so that no constraint is left without
    /// people; even ones where none are given.
    pub(super) fn possible(&self, column: usize, shares: Vec<f64>) -> Vec<f64> {
        let size = self.sizes[column] as usize;
        let shares = if shares.is_empty() { vec![1.0; size] } else { shares };
        let alone = |never: &&StructuralZero| never.columns == [column];
        let is_possible = |value: usize| !self.never.iter().filter(alone).any(|never| never.values[0][value]);
        let kept: Vec<f64> = shares
            .iter()
            .enumerate()
            .map(|(value, share)| if is_possible(value) { share.max(1e-9) } else { 0.0 })
            .collect();
        let total: f64 = kept.iter().sum();
        kept.into_iter().map(|share| share / total.max(f64::MIN_POSITIVE)).collect()
    }

    /// Values that the same constraints speak about are of one class.
    pub(super) fn classes(&self, column: usize) -> Vec<u32> {
        let speaks = |value: usize| -> Vec<bool> {
            let own = self.never.iter().filter_map(|never| {
                let place = never.columns.iter().position(|&own| own == column)?;
                Some(never.values[place][value])
            });
            own.collect()
        };
        let mut known: BTreeMap<Vec<bool>, u32> = BTreeMap::new();
        (0..self.sizes[column] as usize)
            .map(|value| {
                let next = known.len() as u32;
                *known.entry(speaks(value)).or_insert(next)
            })
            .collect()
    }

    /// The constraints on several columns, each at its columns' coarsest levels: no bin has values of two classes.
    pub(super) fn masks(&self, levels: &[ColumnLevels]) -> Vec<Mask> {
        let mask = |never: &StructuralZero| {
            let set: LevelColumns = never.columns.iter().map(|&column| (column, levels[column].0.len() - 1)).collect();
            let mut is_meant = vec![true];
            for (&(column, level), values) in set.iter().zip(&never.values) {
                let level = &levels[column].0[level];
                let mut own = vec![false; level.bins];
                level.of.iter().zip(values).for_each(|(&bin, &meant)| own[bin as usize] = meant);
                is_meant = is_meant.iter().flat_map(|&meant| own.iter().map(move |&more| meant && more)).collect();
            }
            Mask { set, possible: is_meant.into_iter().map(|meant| !meant).collect() }
        };
        self.never.iter().filter(|never| never.columns.len() > 1).map(mask).collect()
    }
}
