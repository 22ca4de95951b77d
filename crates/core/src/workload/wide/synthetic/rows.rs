//! Whole rows of a model, clique by clique and column by column.
//!
//! Drawing rows at random would add the error of a sample. Instead, among the rows that agree in what a column depends
//! on, each value gets its share of the rows, rounded such that roundings cancel over the groups; and which row gets
//! which value is chosen such that the tables of the new column with every other column stay near what the model
//! expects of them.

use super::levels::ColumnLevels;
use super::model::{JunctionModel, MarginalMap};
use super::tree::LevelColumn;

/// Random numbers for choices that need no secrecy: what they choose among is public.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, number: usize) -> usize {
        ((u128::from(self.next()) * number as u128) >> 64) as usize
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

/// Other columns that are watched at most while a column is drawn: time goes with their number.
const WATCHED: usize = 40;
/// A column is watched only where its table with the new one has no more cells than this, and all of these tables
/// together have no more than the second number: each is held as a whole.
const WATCHED_CELLS: (usize, usize) = (2_000_000, 16_000_000);
/// Values that a row is offered at most.
const OFFERED: usize = 12;

/// Rows in the making: of each column, at which level it is known, and its bins.
struct RowBuilder<'a> {
    levels: &'a [ColumnLevels],
    known: Vec<Option<usize>>,
    bins: Vec<Vec<u32>>,
    number: usize,
    careful: bool,
}

/// This many rows of a model, as codes column by column; `careful` rows have tables of two columns nearer to the
/// model's.
pub(super) fn rows(
    levels: &[ColumnLevels],
    model: &JunctionModel,
    number: usize,
    careful: bool,
    dice: &mut Dice,
) -> Vec<Vec<u32>> {
    let columns = levels.len();
    let mut rows =
        RowBuilder { levels, known: vec![None; columns], bins: vec![vec![0; number]; columns], number, careful };
    for (clique, table) in model.tree.cliques.iter().zip(&model.tables) {
        // Columns with few values first: their shares come out almost exactly.
        let mut axes: Vec<LevelColumn> = clique.axes.clone();
        axes.sort_by_key(|&(column, level)| levels[column].0[level].bins);
        for &(column, level) in &axes {
            if rows.known[column].is_none_or(|known| known > level) {
                // What is known of the others, as finely as the clique has it.
                let known = |&(own, at): &LevelColumn| Some((own, rows.known[own]?.max(at)));
                let given: Vec<LevelColumn> =
                    clique.axes.iter().filter(|(own, _)| *own != column).filter_map(known).collect();
                rows.draw((column, level), &given, &clique.axes, table, dice);
            }
        }
    }
    rows.bins
}

/// Rows that agree in what a column depends on.
struct RowGroup {
    rows: Vec<u32>,
    /// The values that they can have, and the shares of these. No others: all groups together list no value of the
    /// clique's table twice, so that they never take more room than this table.
    shares: Vec<(u32, f32)>,
}

impl RowBuilder<'_> {
    /// Draws a column at a level, given others (and itself, coarser, if it is known so).
    fn draw(&mut self, new: LevelColumn, given: &[LevelColumn], axes: &[LevelColumn], table: &[f64], dice: &mut Dice) {
        let (column, level) = new;
        let bins = self.levels[column].0[level].bins;
        let set: Vec<LevelColumn> = given.iter().copied().chain([new]).collect();
        let joint = MarginalMap::new(self.levels, axes, &set).summed(table);
        let groups = self.groups(new, given, &joint);
        let others = self.watched(new, given, dice);
        let mut wanted = if self.careful { self.wanted(&groups, &others, bins) } else { Vec::new() };
        let mut drawn = vec![0u32; self.number];
        let mut left_over = vec![0.0f32; bins];
        for group in groups {
            let mut values = quotas(&group, &mut left_over, dice);
            if self.careful && !others.is_empty() && group.rows.len() > 1 {
                self.dealt(&group, &values, &others, &mut wanted, bins, &mut drawn, dice);
            } else {
                dice.shuffle(&mut values);
                for (&row, &value) in group.rows.iter().zip(&values) {
                    drawn[row as usize] = value;
                    if self.careful {
                        self.took(row, value, &others, &mut wanted, bins);
                    }
                }
            }
        }
        self.bins[column] = drawn;
        self.known[column] = Some(level);
    }

    /// The other columns whose tables with the new one are looked after, in random order: those that are known, and are
    /// not given as finely as they are known.
    fn watched(&self, (column, level): LevelColumn, given: &[LevelColumn], dice: &mut Dice) -> Vec<usize> {
        let cells = |other: usize| {
            let known = self.known[other].map(|known| self.levels[other].0[known].bins);
            known.map(|bins| bins.saturating_mul(self.levels[column].0[level].bins))
        };
        let mut others: Vec<usize> = (0..self.levels.len())
            .filter(|&other| {
                other != column
                    && cells(other).is_some_and(|cells| cells <= WATCHED_CELLS.0)
                    && !given.iter().any(|&(own, at)| own == other && self.known[other] == Some(at))
            })
            .collect();
        dice.shuffle(&mut others);
        others.truncate(WATCHED);
        let mut room = WATCHED_CELLS.1;
        others.retain(|&other| {
            let left = cells(other).and_then(|cells| room.checked_sub(cells));
            room = left.unwrap_or(room);
            left.is_some()
        });
        others
    }

    /// The rows by what is given, each group with the shares of the new values.
    fn groups(&self, (column, level): LevelColumn, given: &[LevelColumn], joint: &[f64]) -> Vec<RowGroup> {
        let bins = self.levels[column].0[level].bins;
        let mut places = vec![0u64; self.number];
        for &(own, at) in given {
            let known = self.known[own].unwrap_or(at);
            let (map, size) = (self.levels[own].map(known, at), self.levels[own].0[at].bins as u64);
            places.iter_mut().zip(&self.bins[own]).for_each(|(place, &bin)| {
                *place = *place * size + u64::from(map[bin as usize]);
            });
        }
        let coarse = self.known[column].map(|known| self.inside((column, level), known));
        if let Some(inside) = &coarse {
            places
                .iter_mut()
                .zip(&self.bins[column])
                .for_each(|(place, &bin)| *place = *place * inside.len() as u64 + u64::from(bin));
        }
        let all: Vec<u32> = (0..bins as u32).collect();
        let mut order: Vec<(u64, u32)> = places.into_iter().zip(0..).collect();
        order.sort_unstable();
        let group = |rows: &[(u64, u32)]| {
            let place = rows[0].0 as usize;
            let (outer, own) = match &coarse {
                Some(inside) => (place / inside.len(), &inside[place % inside.len()]),
                None => (place, &all),
            };
            let row = &joint[outer * bins..(outer + 1) * bins];
            let total: f64 = own.iter().map(|&value| row[value as usize]).sum();
            let share = |&value: &u32| match total > 0.0 {
                true => (value, (row[value as usize] / total) as f32),
                // Rounding has put rows where the model has nobody: any value of the bin will do.
                false => (value, (1.0 / own.len() as f64) as f32),
            };
            RowGroup {
                rows: rows.iter().map(|&(_, row)| row).collect(),
                shares: own.iter().map(share).filter(|(_, share)| *share > 0.0).collect(),
            }
        };
        order.chunk_by(|one, two| one.0 == two.0).map(group).collect()
    }

    /// The bins of a column at a level that are inside each bin of a coarser one.
    fn inside(&self, (column, level): LevelColumn, coarser: usize) -> Vec<Vec<u32>> {
        let mut inside = vec![Vec::new(); self.levels[column].0[coarser].bins];
        for (bin, wider) in (0u32..).zip(self.levels[column].map(level, coarser)) {
            inside[wider as usize].push(bin);
        }
        inside
    }

    /// For each other column, how many rows with each of its bins should get each value.
    fn wanted(&self, groups: &[RowGroup], others: &[usize], bins: usize) -> Vec<Vec<f32>> {
        let of = |&other: &usize| {
            let size = self.levels[other].0[self.known[other].unwrap_or(0)].bins;
            let mut wanted = vec![0.0f32; size * bins];
            let mut numbers = vec![0u32; size];
            let mut seen: Vec<u32> = Vec::new();
            for group in groups {
                for &row in &group.rows {
                    let bin = self.bins[other][row as usize];
                    if numbers[bin as usize] == 0 {
                        seen.push(bin);
                    }
                    numbers[bin as usize] += 1;
                }
                for bin in seen.drain(..) {
                    let number = std::mem::take(&mut numbers[bin as usize]) as f32;
                    let line = &mut wanted[bin as usize * bins..][..bins];
                    group.shares.iter().for_each(|&(value, share)| line[value as usize] += number * share);
                }
            }
            wanted
        };
        others.iter().map(of).collect()
    }

    fn took(&self, row: u32, value: u32, others: &[usize], wanted: &mut [Vec<f32>], bins: usize) {
        for (other, wanted) in others.iter().zip(wanted) {
            wanted[self.bins[*other][row as usize] as usize * bins + value as usize] -= 1.0;
        }
    }

    /// Deals a group's values to its rows, in random order: each row takes what its other values miss most.
    #[allow(clippy::too_many_arguments)]
    fn dealt(
        &self,
        group: &RowGroup,
        values: &[u32],
        others: &[usize],
        wanted: &mut [Vec<f32>],
        bins: usize,
        drawn: &mut [u32],
        dice: &mut Dice,
    ) {
        let mut left: Vec<u32> = values.to_vec();
        dice.shuffle(&mut left);
        let mut rows = group.rows.clone();
        dice.shuffle(&mut rows);
        for row in rows {
            let places: Vec<usize> =
                others.iter().map(|&other| self.bins[other][row as usize] as usize * bins).collect();
            let missed = |value: u32| -> f32 {
                places.iter().zip(&*wanted).map(|(place, wanted)| wanted[place + value as usize].clamp(-2.0, 2.0)).sum()
            };
            let (mut best, mut most) = (0, f32::NEG_INFINITY);
            let from = left.len().saturating_sub(OFFERED);
            for offered in (from..left.len()).filter(|&offered| !left[from..offered].contains(&left[offered])) {
                let missed = missed(left[offered]);
                if missed > most {
                    (best, most) = (offered, missed);
                }
            }
            let value = left.swap_remove(best);
            // What was refused by one row is offered to others later, too.
            if left.len() > OFFERED {
                let (one, two) = (left.len() - 1 - dice.below(OFFERED), dice.below(left.len()));
                left.swap(one, two);
            }
            drawn[row as usize] = value;
            self.took(row, value, others, wanted, bins);
        }
    }
}

/// The values of a group's rows: each its share, rounded down, and one more where most is left over, counting what
/// earlier groups left.
fn quotas(group: &RowGroup, left_over: &mut [f32], dice: &mut Dice) -> Vec<u32> {
    let number = group.rows.len();
    let mut values = Vec::with_capacity(number);
    let mut candidates: Vec<(f32, u32)> = Vec::new();
    for &(value, share) in &group.shares {
        let exact = share * number as f32;
        let whole = exact.floor();
        values.extend(std::iter::repeat_n(value, whole as usize));
        let left_over = &mut left_over[value as usize];
        *left_over += exact - whole;
        // A value with a tiny share is not due before it has waited long.
        candidates.push((*left_over + 0.2 * dice.share() as f32, value));
    }
    values.truncate(number);
    let missing = number - values.len();
    if missing > 0 && missing < candidates.len() {
        candidates.select_nth_unstable_by(missing - 1, |one, two| two.0.total_cmp(&one.0));
    }
    for turn in 0..missing {
        let (_, value) = candidates[turn % candidates.len()];
        left_over[value as usize] -= 1.0;
        values.push(value);
    }
    values
}
