//! Who is counted by which query: a matrix of 0 and 1, multiplied quickly.

use crate::limits::gram::Gram;
use scumble::error::Result;

/// Counting queries over n people, each the set of those whom it counts.
#[derive(Debug, Clone)]
pub struct Queries {
    people: usize,
    /// Where each query's people begin, and the end.
    starts: Vec<usize>,
    members: Vec<u32>,
    /// Where many are counted: bits, eight people (or eight queries) in a byte.
    bits: Option<QueryBits>,
}

#[derive(Debug, Clone)]
struct QueryBits {
    /// For each eight people, a byte for each query.
    by_people: Vec<u8>,
    /// For each eight queries, a byte for each person.
    by_queries: Vec<u8>,
}

/// Denser than one in this many, and bytes are faster than lists.
const SPARSE: usize = 16;

impl Queries {
    /// Queries over `people` people, each with the indices of those whom it counts, none twice.
    ///
    /// ```
    /// use scumble_adversary::attack::Queries;
    /// let queries = Queries::new(3, vec![vec![0, 2], vec![1]])?;
    /// assert_eq!(queries.answers(&[1.0, 1.0, 1.0]), [2.0, 1.0]);
    /// assert!(Queries::new(3, vec![vec![3]]).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn new(people: usize, queries: Vec<Vec<u32>>) -> Result<Self> {
        if people == 0 || queries.is_empty() || people > u32::MAX as usize {
            refuse!("there is nothing to reconstruct without people and queries");
        }
        let (mut starts, mut members) = (vec![0], Vec::new());
        for (at, mut query) in queries.into_iter().enumerate() {
            query.sort_unstable();
            if query.last().is_some_and(|last| *last as usize >= people) {
                refuse!("query {at} counts person {}, but there are {people}, from 0 on", query[query.len() - 1]);
            }
            refuse_if!(query.windows(2).any(|pair| pair[0] == pair[1]), "query {at} counts a person twice");
            members.extend(query);
            starts.push(members.len());
        }
        let mut queries = Self { people, starts, members, bits: None };
        if queries.members.len() > people * queries.count() / SPARSE {
            queries.bits = Some(queries.packed());
        }
        Ok(queries)
    }

    /// How many people there are.
    pub fn people(&self) -> usize {
        self.people
    }

    /// How many queries there are.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whom a query counts.
    pub fn members(&self, query: usize) -> &[u32] {
        &self.members[self.starts[query]..self.starts[query + 1]]
    }

    /// The true answers of a column.
    pub fn answers(&self, column: &[f64]) -> Vec<f64> {
        match &self.bits {
            Some(bits) => by_tables(&bits.by_people, column, self.count()),
            None => (0..self.count()).map(|q| self.members(q).iter().map(|i| column[*i as usize]).sum()).collect(),
        }
    }

    /// Σ over the queries that count a person, of a number for each query.
    pub(crate) fn transposed(&self, numbers: &[f64]) -> Vec<f64> {
        if let Some(bits) = &self.bits {
            return by_tables(&bits.by_queries, numbers, self.people);
        }
        let mut sums = vec![0.0; self.people];
        for (query, number) in numbers.iter().enumerate() {
            self.members(query).iter().for_each(|i| sums[*i as usize] += number);
        }
        sums
    }

    /// QᵀQ: how many queries count both of two people.
    pub(crate) fn gram(&self) -> Gram {
        let words = self.count().div_ceil(64);
        let mut columns = vec![0u64; self.people * words];
        for query in 0..self.count() {
            for i in self.members(query) {
                columns[*i as usize * words + query / 64] |= 1 << (query % 64);
            }
        }
        let column = |i: usize| &columns[i * words..(i + 1) * words];
        let both = |i: usize, j: usize| column(i).iter().zip(column(j)).map(|(a, b)| (a & b).count_ones()).sum::<u32>();
        Gram::new(self.people, |i, j| f64::from(both(i, j)))
    }

    fn packed(&self) -> QueryBits {
        let (people, queries) = (self.people, self.count());
        let mut by_people = vec![0u8; people.div_ceil(8) * queries];
        let mut by_queries = vec![0u8; queries.div_ceil(8) * people];
        for query in 0..queries {
            for i in self.members(query) {
                let i = *i as usize;
                by_people[i / 8 * queries + query] |= 1 << (i % 8);
                by_queries[query / 8 * people + i] |= 1 << (query % 8);
            }
        }
        QueryBits { by_people, by_queries }
    }
}

/// Sums of the numbers whose bits are set: for each eight numbers a table of all 256 sums, looked up for each of
/// `count` outputs.
fn by_tables(bytes: &[u8], numbers: &[f64], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (block, eight) in numbers.chunks(8).enumerate() {
        let mut table = [0.0; 256];
        for mask in 1..1usize << eight.len() {
            table[mask] = table[mask & (mask - 1)] + eight[mask.trailing_zeros() as usize];
        }
        let own = &bytes[block * count..(block + 1) * count];
        sums.iter_mut().zip(own).for_each(|(sum, byte)| *sum += table[*byte as usize]);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same queries as bits and as lists give the same sums.
    #[test]
    fn bits_and_lists_agree() {
        let (people, count) = (37, 53);
        let list: Vec<Vec<u32>> =
            (0..count).map(|q| (0..people).filter(|i| (q * 7 + i * i + q * i) % 3 == 0).collect()).collect();
        let dense = Queries::new(people as usize, list).unwrap();
        assert!(dense.bits.is_some());
        let sparse = Queries { bits: None, ..dense.clone() };
        let x: Vec<f64> = (0..people).map(|i| f64::from(i) * 0.5 - 3.0).collect();
        let y: Vec<f64> = (0..count).map(|q| f64::from(q * q % 17)).collect();
        assert_eq!(dense.answers(&x), sparse.answers(&x));
        assert_eq!(dense.transposed(&y), sparse.transposed(&y));
        assert!(Queries::new(2, vec![vec![1, 1]]).is_err() && Queries::new(0, vec![vec![]]).is_err());
    }
}
