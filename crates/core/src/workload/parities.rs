//! Columns of bits, and their parities: in how many people an odd number of some columns is true.

use crate::error::Result;

/// Columns that are true or false of each person, 64 people in a word.
///
/// ```
/// use scumble::workload::Bits;
/// let bits = Bits::new(&[vec![true, true, false], vec![true, false, false]])?;
/// assert_eq!((bits.people(), bits.columns()), (3, 2));
/// // The second and the third person have an even number of them, the first two; the one between has one.
/// assert_eq!(bits.balances(2), [1]);
/// assert_eq!(bits.balances(1), [-1, 1]);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    people: usize,
    columns: Vec<Vec<u64>>,
}

/// This many words of each column are looked at together: those of some hundred columns stay in the cache.
const BLOCK: usize = 256;

impl Bits {
    /// `columns[j][i]` is whether column j is true of person i; refused where columns are not equally long.
    pub fn new(columns: &[Vec<bool>]) -> Result<Self> {
        let people = columns.first().map_or(0, Vec::len);
        if let Some(other) = columns.iter().position(|column| column.len() != people) {
            refuse!("column {other} does not have as many rows as column 0");
        }
        let word = |bits: &[bool]| bits.iter().rev().fold(0u64, |word, bit| word << 1 | u64::from(*bit));
        Ok(Self { people, columns: columns.iter().map(|column| column.chunks(64).map(word).collect()).collect() })
    }

    /// How many people there are.
    pub fn people(&self) -> usize {
        self.people
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// For each set of `size` columns the number of people of whom an even number of them is true, minus the number of
    /// whom an odd number is; sets in the order of [`rank`].
    pub fn balances(&self, size: usize) -> Vec<i64> {
        let sets = binomial(self.columns.len(), size);
        if size == 0 {
            return vec![self.people as i64];
        }
        let mut odd = vec![0u64; sets as usize];
        let words = self.people.div_ceil(64);
        for first in (0..words).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(words);
            let columns: Vec<&[u64]> = self.columns.iter().map(|column| &column[block.clone()]).collect();
            let nothing = vec![0u64; block.len()];
            add_odd(&columns, columns.len(), size, 0, &nothing, &mut odd);
        }
        odd.into_iter().map(|odd| self.people as i64 - 2 * odd as i64).collect()
    }
}

/// Adds for all sets of `size` of the first `below` columns how many people have an odd number of them and of `taken`.
fn add_odd(columns: &[&[u64]], below: usize, size: usize, rank: usize, taken: &[u64], odd: &mut [u64]) {
    if size == 1 {
        for (odd, column) in odd[rank..].iter_mut().zip(&columns[..below]) {
            *odd += taken.iter().zip(*column).map(|(x, y)| u64::from((x ^ y).count_ones())).sum::<u64>();
        }
        return;
    }
    for last in size - 1..below {
        let both: Vec<u64> = taken.iter().zip(columns[last]).map(|(x, y)| x ^ y).collect();
        add_odd(columns, last, size - 1, rank + binomial(last, size) as usize, &both, odd);
    }
}

/// Where a set of columns, given ascending, stands among all sets of its size: by its largest column, then by the next
/// one.
///
/// ```
/// use scumble::workload::rank;
/// assert_eq!([rank(&[0, 1]), rank(&[0, 2]), rank(&[1, 2]), rank(&[0, 3])], [0, 1, 2, 3]);
/// ```
pub fn rank(set: &[usize]) -> usize {
    (1..).zip(set).map(|(size, &column)| binomial(column, size) as usize).sum()
}

/// All sets of `size` of the first `columns` columns, in the order of [`rank`].
///
/// ```
/// use scumble::workload::sets;
/// assert_eq!(sets(3, 2), [[0, 1], [0, 2], [1, 2]]);
/// ```
pub fn sets(columns: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |last: usize| {
        sets(last, size - 1).into_iter().map(move |mut set| {
            set.push(last);
            set
        })
    };
    (size - 1..columns.max(size - 1)).flat_map(with).collect()
}

/// How many sets of `size` of `number` there are; `u64::MAX` where they are more.
pub(super) fn binomial(number: usize, size: usize) -> u64 {
    if size > number {
        return 0;
    }
    let size = size.min(number - size);
    let mut product = 1u128;
    for step in 0..size {
        product = product * (number - step) as u128 / (step + 1) as u128;
        if product > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    product as u64
}

/// How many of the parities of `size` of `columns` bits turn at most if up to `bits` of them do: max Σ_{i odd}
/// C(w, i)·C(columns − w, size − i) over w ≤ bits. With all of them turned none of even size does.
pub(super) fn turned(columns: usize, size: usize, bits: usize) -> u64 {
    let of = |w: usize| {
        let odd = (1..=size.min(w)).step_by(2);
        odd.map(|i| binomial(w, i).saturating_mul(binomial(columns - w, size - i))).fold(0u64, u64::saturating_add)
    };
    (0..=bits.min(columns)).map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_are_those_of_the_definition_in_the_order_of_ranks() {
        // 70 people: more than a word of them.
        let of =
            |person: usize, column: usize| (person * 7 + column * column * 3 + person / 3).is_multiple_of(column + 2);
        let columns: Vec<Vec<bool>> = (0..6).map(|column| (0..70).map(|person| of(person, column)).collect()).collect();
        let bits = Bits::new(&columns).unwrap();
        for size in 0..=6 {
            let found = bits.balances(size);
            let all = sets(6, size);
            assert_eq!(found.len(), all.len());
            for (place, set) in all.iter().enumerate() {
                assert_eq!(rank(set), place);
                let odd = |person: &usize| set.iter().filter(|column| columns[**column][*person]).count() % 2 == 1;
                let odd = (0..70).filter(odd).count() as i64;
                assert_eq!(found[place], 70 - 2 * odd, "{set:?}");
            }
        }
        assert!(Bits::new(&[vec![true], vec![]]).is_err());
        assert_eq!(Bits::new(&[vec![], vec![]]).unwrap().balances(2), [0]);
    }

    #[test]
    fn more_people_than_a_block_are_counted() {
        let people = BLOCK * 64 + 100;
        let columns: Vec<Vec<bool>> =
            (2..5).map(|step| (0..people).map(|person| person % step == 0).collect()).collect();
        let odd = (0..people).filter(|person| (person % 2 == 0) != (person % 3 == 0)).count();
        assert_eq!(Bits::new(&columns).unwrap().balances(2)[0], people as i64 - 2 * odd as i64);
    }

    #[test]
    fn what_turns_is_what_all_pairs_of_records_show() {
        for columns in 1..=7usize {
            for size in 1..=columns {
                let masks: Vec<u32> =
                    sets(columns, size).iter().map(|set| set.iter().fold(0, |mask, j| mask | 1 << j)).collect();
                for bits in 0..=columns {
                    let moved =
                        |change: u32| masks.iter().filter(|mask| (*mask & change).count_ones() % 2 == 1).count();
                    let worst =
                        (0..1u32 << columns).filter(|change| change.count_ones() as usize <= bits).map(moved).max();
                    assert_eq!(Some(turned(columns, size, bits) as usize), worst, "{columns} {size} {bits}");
                }
            }
        }
        assert_eq!(turned(500, 2, 500), 500 * 500 / 4);
        assert_eq!(binomial(500, 250), u64::MAX);
        assert_eq!((binomial(50, 8), binomial(3, 5)), (536_878_650, 0));
    }
}
