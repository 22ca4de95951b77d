//! Columns seen more or less finely: nested ways to join the values of a column.
//!
//! Level 0 is the column itself. Each further level joins neighbouring bins of the one before it to bins of about equal
//! mass. They are cut on noisy counts, so that they are post-processing.

/// A way to join values: the bin of each value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnLevel {
    pub(super) bins: usize,
    pub(super) of: Vec<u32>,
}

/// The levels of one column, finest first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnLevels(pub(super) Vec<ColumnLevel>);

/// About how many bins the coarser levels have.
const BINS: [usize; 4] = [32, 16, 8, 4];

impl ColumnLevels {
    /// Of a column with these shares of people; values of different `classes` are never joined.
    pub(super) fn new(shares: &[f64], classes: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|&value| (classes[value], value));
        let own = ColumnLevel { bins: shares.len(), of: (0..shares.len() as u32).collect() };
        let mut levels = vec![own];
        for bins in BINS {
            if levels[levels.len() - 1].bins > bins {
                let coarser = joined(&levels[levels.len() - 1], shares, classes, &order, bins);
                if coarser.bins < levels[levels.len() - 1].bins {
                    levels.push(coarser);
                }
            }
        }
        Self(levels)
    }

    /// The bin of a coarser level of each bin of a finer one.
    pub(super) fn map(&self, finer: usize, coarser: usize) -> Vec<u32> {
        let mut map = vec![0; self.0[finer].bins];
        self.0[finer].of.iter().zip(&self.0[coarser].of).for_each(|(&bin, &wider)| map[bin as usize] = wider);
        map
    }

    /// Sums by bin of a level.
    pub(super) fn summed(&self, level: usize, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.0[level].bins];
        values.iter().zip(&self.0[level].of).for_each(|(value, &bin)| sums[bin as usize] += value);
        sums
    }
}

/// Joins the bins of a level such that the middle of each one's mass falls into the same of `bins` equal parts.
fn joined(finer: &ColumnLevel, shares: &[f64], classes: &[u32], order: &[usize], bins: usize) -> ColumnLevel {
    let mut mass = vec![0.0; finer.bins];
    shares.iter().zip(&finer.of).for_each(|(share, &bin)| mass[bin as usize] += share);
    let total: f64 = mass.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut wider: Vec<Option<u32>> = vec![None; finer.bins];
    let (mut before, mut last, mut number) = (0.0, None, 0u32);
    for &value in order {
        let bin = finer.of[value] as usize;
        if wider[bin].is_some() {
            continue;
        }
        let part = (((before + mass[bin] / 2.0) / total * bins as f64) as usize).min(bins - 1);
        before += mass[bin];
        let own = (classes[value], part);
        if last.is_some_and(|last| last != own) {
            number += 1;
        }
        last = Some(own);
        wider[bin] = Some(number);
    }
    ColumnLevel {
        bins: number as usize + 1,
        of: finer.of.iter().map(|&bin| wider[bin as usize].unwrap_or(0)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_nested_have_about_equal_mass_and_keep_classes_apart() {
        let shares: Vec<f64> = (0..100).map(|value| if value == 50 { 0.5 } else { 0.5 / 99.0 }).collect();
        let classes: Vec<u32> = (0..100).map(|value| u32::from(value % 10 == 3)).collect();
        let levels = ColumnLevels::new(&shares, &classes);
        let bins: Vec<usize> = levels.0.iter().map(|level| level.bins).collect();
        assert!(bins[0] == 100 && bins.windows(2).all(|two| two[0] > two[1]) && bins[bins.len() - 1] <= 8, "{bins:?}");
        for (finer, coarser) in levels.0.iter().zip(&levels.0[1..]) {
            for one in 0..100 {
                for two in 0..100 {
                    assert!(finer.of[one] != finer.of[two] || coarser.of[one] == coarser.of[two]);
                    assert!(coarser.of[one] != coarser.of[two] || classes[one] == classes[two]);
                }
            }
        }
        // The value of half the people is alone at first.
        assert_eq!(levels.0[1].of.iter().filter(|&&bin| bin == levels.0[1].of[50]).count(), 1);
        assert_eq!(levels.summed(1, &shares).len(), bins[1]);
        let map = levels.map(1, 2);
        assert!((0..100).all(|value| map[levels.0[1].of[value] as usize] == levels.0[2].of[value]));
    }

    #[test]
    fn a_small_column_has_only_itself() {
        assert_eq!(ColumnLevels::new(&[0.5, 0.5], &[0, 0]).0.len(), 1);
        assert_eq!(ColumnLevels::new(&[1.0], &[0]).0[0].bins, 1);
    }
}
