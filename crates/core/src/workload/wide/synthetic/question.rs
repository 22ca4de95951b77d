//! Queries to the data, and their exact integer answers. Only this file sees records.

use super::super::records::Records;
use super::levels::ColumnLevels;
use super::tree::{LevelColumn, LevelColumns};
use crate::quantity::Sigma;

/// Scores are counted in parts of a person, so that what they compare with may be.
pub(super) const GRID: f64 = 16.0;

/// Something that is asked, with the σ of the noise on each of its integers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Measurement {
    /// How many people each combination has: a person is in one cell.
    Table { set: LevelColumns, sigma: Sigma },
    /// How far the table of a set is from this one: Σ|16·count − expected|. A person moves it by at most 16, two of
    /// them by 32.
    Score { set: LevelColumns, expected: Vec<i64>, sigma: Sigma },
}

impl Measurement {
    pub(super) fn set(&self) -> &LevelColumns {
        match self {
            Self::Table { set, .. } | Self::Score { set, .. } => set,
        }
    }

    pub(super) fn sigma(&self) -> Sigma {
        match self {
            Self::Table { sigma, .. } | Self::Score { sigma, .. } => *sigma,
        }
    }
}

/// People seen at the levels of their columns.
pub(super) struct LevelRecords<'a> {
    records: &'a Records,
    levels: &'a [ColumnLevels],
    /// The last table that was counted: its columns are needed at coarser levels next.
    last: Option<(LevelColumns, Vec<i64>)>,
}

impl<'a> LevelRecords<'a> {
    pub(super) fn new(records: &'a Records, levels: &'a [ColumnLevels]) -> Self {
        Self { records, levels, last: None }
    }

    /// The exact answer, before any noise.
    pub(super) fn answer(&mut self, question: &Measurement) -> Vec<i64> {
        let table = self.count(question.set());
        match question {
            Measurement::Table { .. } => table,
            Measurement::Score { expected, .. } => {
                let off = |(count, expected): (&i64, &i64)| (GRID as i64 * count - expected).abs();
                vec![table.iter().zip(expected).map(off).sum()]
            }
        }
    }

    /// The table of a set.
    pub(super) fn count(&mut self, set: &LevelColumns) -> Vec<i64> {
        if let Some((finer, table)) = &self.last {
            let refines = |(one, two): (&LevelColumn, &LevelColumn)| one.0 == two.0 && one.1 <= two.1;
            if finer.len() == set.len() && finer.iter().zip(set).all(refines) {
                return self.folded(finer, table, set);
            }
        }
        let sizes: Vec<usize> = set.iter().map(|&(column, level)| self.levels[column].0[level].bins).collect();
        let mut places = vec![0usize; self.records.people()];
        for (&(column, level), size) in set.iter().zip(&sizes) {
            let bins = &self.levels[column].0[level].of;
            let values = &self.records.columns()[column];
            places.iter_mut().zip(values).for_each(|(place, &value)| {
                *place = *place * size + bins[value as usize] as usize;
            });
        }
        let mut table = vec![0i64; sizes.iter().product()];
        places.into_iter().for_each(|place| table[place] += 1);
        self.last = Some((set.clone(), table.clone()));
        table
    }

    fn folded(&self, finer: &LevelColumns, table: &[i64], set: &LevelColumns) -> Vec<i64> {
        let mut folded = table.to_vec();
        let mut sizes: Vec<usize> = finer.iter().map(|&(column, level)| self.levels[column].0[level].bins).collect();
        for (axis, (&(column, from), &(_, to))) in
            finer.iter().zip(set).enumerate().filter(|(_, (one, two))| one != two)
        {
            let map = self.levels[column].map(from, to);
            let (inner, size) = (sizes[axis + 1..].iter().product::<usize>(), sizes[axis]);
            let wide = self.levels[column].0[to].bins;
            let mut joined = vec![0i64; folded.len() / size * wide];
            for (block, chunk) in folded.chunks_exact(size * inner).enumerate() {
                for (value, line) in chunk.chunks_exact(inner).enumerate() {
                    let start = (block * wide + map[value] as usize) * inner;
                    joined[start..start + inner].iter_mut().zip(line).for_each(|(sum, count)| *sum += count);
                }
            }
            folded = joined;
            sizes[axis] = wide;
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_at_coarser_levels_are_the_same_counted_or_folded() {
        let sizes = vec![50u32, 3, 40];
        let columns: Vec<Vec<u32>> =
            sizes.iter().map(|&size| (0..700u32).map(|i| (i * i / 3 + i / size) % size).collect()).collect();
        let records = Records::new(sizes.clone(), columns).unwrap();
        let levels: Vec<ColumnLevels> = sizes
            .iter()
            .map(|&size| ColumnLevels::new(&vec![1.0 / f64::from(size); size as usize], &vec![0; size as usize]))
            .collect();
        let mut seen = LevelRecords::new(&records, &levels);
        let fine: LevelColumns = vec![(0, 0), (1, 0), (2, 1)];
        assert_eq!(seen.count(&fine).iter().sum::<i64>(), 700);
        let coarse: LevelColumns = vec![(0, 2), (1, 0), (2, 3)];
        let folded = seen.count(&coarse);
        assert_eq!(folded, LevelRecords::new(&records, &levels).count(&coarse));
        let score =
            Measurement::Score { set: coarse, expected: vec![0; folded.len()], sigma: Sigma::new(1.0).unwrap() };
        assert_eq!(seen.answer(&score), [16 * 700]);
    }
}
