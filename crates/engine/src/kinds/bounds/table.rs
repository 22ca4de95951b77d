//! How many rows have which place among their owner's groups and rows.

use super::super::sql::ShareCut;
use crate::release::output::BETA;
use crate::release::price::noise::Noise;
use crate::tables::bounding::{Bounds, Contribution};
use scumble::noise::BitSource;

/// Public ranges of numbers of groups and of rows, up to what is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    most: Bounds,
    groups: Vec<u64>,
    rows: Vec<u64>,
}

/// 1, 2, 4, …, and the largest.
fn doubling(largest: u64) -> Vec<u64> {
    let below = std::iter::successors(Some(1u64), |level| level.checked_mul(2)).take_while(|level| *level < largest);
    below.chain([largest]).collect()
}

impl Levels {
    pub fn new(most: Bounds) -> Self {
        Self { most, groups: doubling(most.groups), rows: doubling(most.rows_per_group) }
    }

    pub fn cells(&self) -> usize {
        self.groups.len() * self.rows.len()
    }
}

/// The table, exact or with noise: group ranges one after the other, row ranges in each.
#[derive(Debug, Clone)]
pub(crate) struct LevelTable {
    levels: Levels,
    cells: Vec<i128>,
    /// How many owners have more than is looked at.
    pub beyond: f64,
    exactly_beyond: i128,
}

/// What bounds of this many groups and rows would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundsPair {
    pub groups: u64,
    pub rows_per_group: u64,
    pub cut: ShareCut,
    pub standard_error: f64,
    /// The cell of the table that this pair adds to those within.
    pub rows: i128,
}

impl LevelTable {
    pub fn new(levels: Levels) -> Self {
        Self { cells: vec![0; levels.cells()], levels, beyond: 0.0, exactly_beyond: 0 }
    }

    /// One more owner: at most as many of its rows as are looked at.
    pub fn add(&mut self, owner: Contribution<'_>) {
        let Bounds { groups, rows_per_group, rows } = self.levels.most;
        let mut left = rows;
        let mut all = 0u64;
        let mut group_level = 0;
        for (index, here) in (1u64..).zip(owner.rows()) {
            all = all.saturating_add(here);
            if index > groups {
                continue;
            }
            if index > self.levels.groups[group_level] {
                group_level += 1;
            }
            let here = here.min(rows_per_group).min(left);
            left -= here;
            let mut below = 0;
            for (level, end) in self.levels.rows.iter().enumerate() {
                let within = here.min(*end).saturating_sub(below);
                self.cells[group_level * self.levels.rows.len() + level] += i128::from(within);
                below = *end;
            }
        }
        self.exactly_beyond += i128::from(all > rows - left);
    }

    /// All of it, before noise.
    #[cfg(test)]
    pub fn exact(&self) -> (Vec<i128>, i128) {
        (self.cells.clone(), self.exactly_beyond)
    }

    /// The same with noise on each number.
    pub fn noised(mut self, of_cells: &Noise, of_beyond: &Noise, bits: &mut dyn BitSource) -> Self {
        self.cells.iter_mut().for_each(|cell| *cell = of_cells.add_to_wide(*cell, bits));
        self.beyond = of_beyond.add_to_wide(self.exactly_beyond, bits) as f64;
        self.exactly_beyond = 0;
        self
    }

    /// Each pair of bounds: the cells within it are kept, all others are cut off.
    pub fn pairs(&self, noise: &Noise) -> Vec<BoundsPair> {
        let rows = self.levels.rows.len();
        let mut pairs = Vec::new();
        for (group_level, groups) in self.levels.groups.iter().enumerate() {
            for (row_level, rows_per_group) in self.levels.rows.iter().enumerate() {
                let (mut kept, mut cut, mut cells_kept) = (0i128, 0i128, 0usize);
                for (index, cell) in self.cells.iter().enumerate() {
                    if index / rows <= group_level && index % rows <= row_level {
                        (kept, cells_kept) = (kept + cell, cells_kept + 1);
                    } else {
                        cut += cell;
                    }
                }
                let cells_cut = self.cells.len() - cells_kept;
                let (kept, cut) = (kept as f64, cut as f64);
                let share = ShareCut::within(cut, width(noise, cells_cut), kept, width(noise, cells_kept));
                pairs.push(BoundsPair {
                    groups: *groups,
                    rows_per_group: *rows_per_group,
                    standard_error: standard_error(&share, noise, cells_cut, cells_kept),
                    cut: share,
                    rows: self.cells[group_level * rows + row_level],
                });
            }
        }
        pairs
    }
}

/// What the sum of this many noises exceeds with probability 2.5% at most, to either side together: by the expansion of
/// a quantile in cumulants (Cornish and Fisher 1938); of one noise exactly.
fn width(noise: &Noise, cells: usize) -> f64 {
    const NORMAL: f64 = 2.241_402_727_604_945;
    if cells <= 1 {
        return if cells == 0 { 0.0 } else { noise.quantile(BETA / 2.0) };
    }
    let kurtosis = if matches!(noise, Noise::Laplace(..)) { 3.0 } else { 0.0 } / cells as f64;
    let units = NORMAL + (NORMAL.powi(3) - 3.0 * NORMAL) * kurtosis / 24.0;
    units * noise.standard_deviation() * (cells as f64).sqrt()
}

/// Of cut/(cut + kept), by its tangent: the sums are of different cells.
fn standard_error(share: &ShareCut, noise: &Noise, cells_cut: usize, cells_kept: usize) -> f64 {
    let all = share.cut.max(0.0) + share.kept.max(0.0);
    let variance = |cells: usize| noise.standard_deviation().powi(2) * cells as f64;
    let error = ((1.0 - share.share).powi(2) * variance(cells_cut) + share.share.powi(2) * variance(cells_kept)).sqrt();
    if all > 0.0 { error / all } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::tables::hash::Key;
    use crate::tables::ranks::Ranks;

    const RANKS: Ranks = Ranks::Sip(Key(5, 6));
    const MOST: Bounds = Bounds { groups: 3, rows_per_group: 5, rows: 6 };

    /// All owners with at most four groups of at most six rows.
    fn owners() -> Vec<Vec<(u64, u64)>> {
        let mut all: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
        let mut last = all.clone();
        for rank in 0..4 {
            let longer = |owner: &Vec<(u64, u64)>| {
                let owner = owner.clone();
                (1..=6u64).map(move |rows| [owner.as_slice(), &[(rank, rows)]].concat())
            };
            last = last.iter().flat_map(longer).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    fn table_of(owner: &[(u64, u64)]) -> LevelTable {
        let mut table = LevelTable::new(Levels::new(MOST));
        table.add(Contribution::of(&RANKS, owner));
        table
    }

    /// The hulls of "one cell by R" and "two cells by R": sums at most R and 2R, cells at most R.
    #[test]
    fn no_owner_adds_more_than_is_claimed() {
        let vectors: std::collections::BTreeSet<Vec<i128>> =
            owners().iter().map(|owner| table_of(owner).cells).collect();
        let (mut most_added, mut most_moved) = (0, 0);
        for one in &vectors {
            assert!(one.iter().all(|cell| *cell >= 0));
            most_added = most_added.max(one.iter().sum::<i128>());
            for other in &vectors {
                let moved: Vec<i128> = one.iter().zip(other).map(|(one, other)| (one - other).abs()).collect();
                assert!(moved.iter().all(|by| *by <= 6));
                most_moved = most_moved.max(moved.iter().sum());
            }
        }
        assert_eq!(most_added, 6);
        assert!((8..=12).contains(&most_moved), "{most_moved}");
    }

    /// Of owners within what is looked at, each pair cuts off what bounding with it cuts off.
    #[test]
    fn pairs_cut_off_what_bounding_cuts_off() {
        let noise = Noise::laplace(scumble::quantity::Scale::new(1.0).unwrap());
        for owner in owners() {
            let all: u64 = owner.iter().map(|(_, rows)| rows).sum();
            let within = owner.len() <= 3 && all <= 6 && owner.iter().all(|(_, rows)| *rows <= 5);
            let table = table_of(&owner);
            assert_eq!(table.exactly_beyond, i128::from(!within), "{owner:?}");
            if !within {
                continue;
            }
            for pair in table.pairs(&noise) {
                let (groups, rows_per_group) = (pair.groups, pair.rows_per_group);
                let bounds = Bounds { groups, rows_per_group, rows: groups * rows_per_group };
                let (kept, _) = Contribution::of(&RANKS, &owner).kept(bounds);
                assert_eq!((pair.cut.kept, pair.cut.cut), (kept as f64, (all - kept) as f64), "{owner:?}, {bounds:?}");
            }
        }
    }

    #[test]
    fn levels_double_up_to_the_largest() {
        assert_eq!(doubling(1), [1]);
        assert_eq!(doubling(8), [1, 2, 4, 8]);
        assert_eq!(doubling(11), [1, 2, 4, 8, 11]);
    }
}
