//! Queries that are 0 or 1 for each person: conjunctions, parities, cells of marginals; and how far a person can move
//! them.

use super::domain::{Domain, Subset};
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};

/// A question about some attributes of a person that is answered by 0 or 1; asked of a table, how many people say 1.
///
/// ```
/// use scumble::workload::{Domain, Predicate, Subset};
/// let domain = Domain::new(vec![3, 2, 2])?;
/// let query = Predicate::conjunction(&domain, &[(0, 2), (2, 1)])?;
/// assert_eq!(query.attributes(), Subset::of(&[0, 2]));
/// assert!(Predicate::parity(&domain, &[0, 1]).is_err()); // attribute 0 is not binary
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    attributes: Subset,
    /// The cells of the attributes' marginal table where the answer is 1.
    cells: Vec<u32>,
}

impl Predicate {
    /// 1 if every one of these attributes has this value.
    pub fn conjunction(domain: &Domain, terms: &[(usize, u32)]) -> Result<Self> {
        let attributes: Vec<usize> = terms.iter().map(|(attribute, _)| *attribute).collect();
        let subset = checked(domain, &attributes)?;
        let mut place = 0;
        for attribute in subset.iter() {
            let value = terms.iter().find(|(named, _)| *named == attribute).map_or(0, |(_, value)| *value);
            refuse_if!(value >= domain.sizes()[attribute], "attribute {attribute} has no value {value}");
            place = place * domain.sizes()[attribute] + value;
        }
        Ok(Self { attributes: subset, cells: vec![place] })
    }

    /// 1 if an odd number of these binary attributes is 1.
    pub fn parity(domain: &Domain, attributes: &[usize]) -> Result<Self> {
        let subset = checked(domain, attributes)?;
        if let Some(attribute) = subset.iter().find(|&attribute| domain.sizes()[attribute] != 2) {
            refuse!("a parity needs binary attributes, and attribute {attribute} is not");
        }
        let cells = (0..1u32 << subset.len()).filter(|cell| cell.count_ones() % 2 == 1).collect();
        Ok(Self { attributes: subset, cells })
    }

    /// The attributes that the answer depends on.
    pub fn attributes(&self) -> Subset {
        self.attributes
    }
}

fn checked(domain: &Domain, attributes: &[usize]) -> Result<Subset> {
    if let Some(missing) = attributes.iter().find(|&&attribute| attribute >= domain.attributes()) {
        refuse!("the domain has no attribute {missing}");
    }
    let subset = Subset::of(attributes);
    if subset.is_empty() || subset.len() != attributes.len() || subset.len() > 20 {
        refuse!("a query names 1 to 20 attributes, each once");
    }
    Ok(subset)
}

/// A workload of queries, those about the same attributes together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queries {
    domain: Domain,
    groups: Vec<QueryGroup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct QueryGroup {
    table: Subset,
    queries: Vec<Vec<u32>>,
    /// For each set of attributes of the table that really changes: how many of the group's answers can change at once.
    changes: BTreeMap<Subset, u32>,
    /// How many of the group's answers are 1 for the same person, at most.
    together: u32,
}

/// Sets of attributes up to this size are searched for the worst subset; for larger ones the worst of each table is
/// added up.
const SEARCHED: usize = 16;
/// Tables up to this many cells have their moves enumerated; for larger ones all answers of the table count as moved.
const ENUMERATED: usize = 512;
/// Up to this many subsets of tables are looked at to count dimensions.
const MOST_COUNTED: u64 = 1_000_000;

impl Queries {
    /// The workload of these queries. Answers come in the order of the queries' attribute sets, and within a set as
    /// given.
    pub fn new(domain: &Domain, queries: Vec<Predicate>) -> Result<Self> {
        refuse_if!(queries.is_empty(), "a workload needs at least one query");
        let mut by_table: BTreeMap<Subset, Vec<Vec<u32>>> = BTreeMap::new();
        for query in queries {
            if !query.attributes.is_within(domain.all()) {
                refuse!("the query about {} is not in the domain", query.attributes);
            }
            by_table.entry(query.attributes).or_default().push(query.cells);
        }
        let groups = by_table.into_iter().map(|(table, queries)| QueryGroup::new(domain, table, queries)).collect();
        Ok(Self { domain: domain.clone(), groups })
    }

    /// Every cell of every marginal of `order` attributes.
    pub fn marginals(domain: &Domain, order: usize) -> Result<Self> {
        let mut queries = Vec::new();
        for attributes in Subset::all_of_size(domain.attributes(), order) {
            let cells = domain.table_cells(attributes) as u32;
            queries.extend((0..cells).map(|cell| Predicate { attributes, cells: vec![cell] }));
        }
        Self::new(domain, queries)
    }

    /// Every conjunction "these `order` attributes are all 1" of binary attributes.
    pub fn conjunctions(domain: &Domain, order: usize) -> Result<Self> {
        let of = |subset: Subset| {
            Predicate::conjunction(domain, &subset.iter().map(|attribute| (attribute, 1)).collect::<Vec<_>>())
        };
        let sets = Subset::all_of_size(domain.attributes(), order);
        Self::new(domain, sets.into_iter().map(of).collect::<Result<_>>()?)
    }

    /// Every parity of `order` binary attributes.
    pub fn parities(domain: &Domain, order: usize) -> Result<Self> {
        let sets = Subset::all_of_size(domain.attributes(), order);
        let of = |subset: Subset| Predicate::parity(domain, &subset.iter().collect::<Vec<_>>());
        Self::new(domain, sets.into_iter().map(of).collect::<Result<_>>()?)
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.queries.len()).sum()
    }

    /// Whether there is none (never true).
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The attributes of each query, in the order of the answers.
    pub fn attributes(&self) -> Vec<Subset> {
        self.groups.iter().flat_map(|group| std::iter::repeat_n(group.table, group.queries.len())).collect()
    }

    /// The answers on a table of cells.
    ///
    /// ```
    /// use scumble::workload::{Domain, Queries};
    /// let domain = Domain::new(vec![2, 2])?;
    /// assert_eq!(Queries::parities(&domain, 2)?.answers(&[5u64, 1, 2, 7]), [3]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn answers<N: Copy + Default + std::ops::AddAssign>(&self, cells: &[N]) -> Vec<N> {
        let tables = self.domain.marginals(cells, &self.tables());
        let mut answers = Vec::with_capacity(self.len());
        for (group, table) in self.groups.iter().zip(&tables) {
            for query in &group.queries {
                let mut sum = N::default();
                query.iter().for_each(|&cell| sum += table[cell as usize]);
                answers.push(sum);
            }
        }
        answers
    }

    /// The tables that queries are about, in the order of the answers.
    pub(super) fn tables(&self) -> Vec<Subset> {
        self.groups.iter().map(|group| group.table).collect()
    }

    /// The tables whose cells are all queries, in their order, each with the index of its first answer.
    pub(super) fn whole_tables(&self) -> Vec<(Subset, usize)> {
        let (mut whole, mut first) = (Vec::new(), 0);
        for group in &self.groups {
            let one_by_one = group.queries.iter().enumerate().all(|(cell, query)| query[..] == [cell as u32]);
            if one_by_one && group.queries.len() == self.domain.table_cells(group.table) {
                whole.push((group.table, first));
            }
            first += group.queries.len();
        }
        whole
    }

    /// The table of a query, and the cells of it where the answer is 1.
    pub(super) fn members(&self, mut query: usize) -> (Subset, &[u32]) {
        for group in &self.groups {
            match group.queries.get(query) {
                Some(members) => return (group.table, members),
                None => query -= group.queries.len(),
            }
        }
        (Subset::EMPTY, &[])
    }

    /// For each cell of each table the sum of the weights of its queries that are 1 there: added up over the tables,
    /// this is what a cell of the domain weighs.
    pub(super) fn weights_of_tables(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        let mut weights = weights.iter();
        let table = |group: &QueryGroup| {
            let mut table = vec![0.0; self.domain.table_cells(group.table)];
            for (query, weight) in group.queries.iter().zip(&mut weights) {
                query.iter().for_each(|&cell| table[cell as usize] += weight);
            }
            table
        };
        self.groups.iter().map(table).collect()
    }

    /// The answers for one person of whom nothing is known: each query's share of its table.
    pub(super) fn even_answers(&self) -> Vec<f64> {
        let shares = |group: &'_ QueryGroup| {
            let cells = self.domain.table_cells(group.table) as f64;
            group.queries.iter().map(move |query| query.len() as f64 / cells).collect::<Vec<f64>>()
        };
        self.groups.iter().flat_map(shares).collect()
    }

    /// Which answers are 1 at each cell of each table.
    pub(super) fn held(&self) -> CellAnswers<'_> {
        let mut first = 0;
        let of_group = |group: &QueryGroup| {
            let mut true_at = group.true_at(&self.domain);
            true_at.iter_mut().flatten().for_each(|query| *query += first);
            first += group.queries.len() as u32;
            (group.table, true_at)
        };
        CellAnswers { domain: &self.domain, tables: self.groups.iter().map(of_group).collect() }
    }

    /// Whether every query is a cell of a marginal table, and each such table is there whole: in order, once.
    fn is_marginals(&self) -> bool {
        let is_cell = |(cell, members): (u32, &Vec<u32>)| members[..] == [cell];
        let is_whole = |group: &QueryGroup| {
            group.queries.len() == self.domain.table_cells(group.table) && (0u32..).zip(&group.queries).all(is_cell)
        };
        self.groups.iter().all(is_whole)
    }

    /// At most how many dimensions the answers of tables of equally many people have. Exact for marginals, whose tables
    /// are functions of the contrasts of their subsets ([`super::transform`]).
    pub(super) fn dimension(&self) -> usize {
        let most = self.len().min(self.domain.cells() - 1).max(1);
        let subsets: u64 = self.groups.iter().map(|group| 1 << group.table.len()).sum();
        if subsets > MOST_COUNTED || !self.is_marginals() {
            return most;
        }
        let seen: BTreeSet<Subset> = self.groups.iter().flat_map(|group| group.table.subsets()).collect();
        let contrasts = |subset: &Subset| subset.iter().map(|a| self.domain.sizes()[a] as usize - 1).product::<usize>();
        seen.iter().filter(|subset| !subset.is_empty()).map(contrasts).sum::<usize>().clamp(1, most)
    }

    /// Δ²: how many answers can change at most when one person's values of these attributes change. Answers are 0 or 1
    /// per person, so this is the squared Euclidean, and the absolute, length of the change.
    ///
    /// # Guarantee
    /// An upper bound for all pairs of records; monotone in the attributes. Exact for marginals, conjunctions of all
    /// attributes of a size, and parities (where flipping more attributes can change fewer answers).
    pub fn squared_sensitivity(&self, attributes: Subset) -> u64 {
        let changed = attributes.common(self.domain.all());
        let moved = |really: Subset| self.groups.iter().map(|group| group.moved(really)).sum::<u64>();
        let worst = |group: &QueryGroup| group.table.common(changed).subsets().map(|really| group.moved(really)).max();
        let of_each_table: u64 = self.groups.iter().map(|group| worst(group).unwrap_or(0)).sum();
        // Where changing everything moves every table as far as it can go (marginals), there is nothing to search.
        if changed.len() > SEARCHED || moved(changed) == of_each_table {
            return of_each_table;
        }
        changed.subsets().map(moved).max().unwrap_or(0)
    }

    /// Each table that queries are about, with how many of its answers can change at most when any of its attributes
    /// do.
    pub(super) fn moved_by_table(&self) -> impl Iterator<Item = (Subset, u64)> {
        let worst = |group: &QueryGroup| group.changes.values().copied().max().map_or(0, u64::from);
        self.groups.iter().map(move |group| (group.table, worst(group)))
    }

    /// How many answers one person's presence can change.
    ///
    /// # Guarantee
    /// An upper bound for all records.
    pub fn squared_sensitivity_presence(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.together)).sum()
    }
}

impl QueryGroup {
    fn new(domain: &Domain, table: Subset, queries: Vec<Vec<u32>>) -> Self {
        let mut group = Self { table, queries, changes: BTreeMap::new(), together: 0 };
        let cells = domain.table_cells(table);
        let true_at = group.true_at(domain);
        let together = true_at.iter().map(|queries| queries.len() as u32).max().unwrap_or(0);
        let mut changes = BTreeMap::new();
        if cells <= ENUMERATED {
            let sizes: Vec<(usize, usize)> = table.iter().map(|a| (a, domain.sizes()[a] as usize)).collect();
            for left in 0..cells {
                for right in 0..left {
                    let worst = changes.entry(differing(&sizes, left, right)).or_insert(0);
                    *worst = (*worst).max(symmetric_difference(&true_at[left], &true_at[right]));
                }
            }
        } else {
            let all = (2 * together).min(group.queries.len() as u32);
            changes.extend(table.subsets().filter(|set| !set.is_empty()).map(|set| (set, all)));
        }
        (group.changes, group.together) = (changes, together);
        group
    }

    /// For each cell of the table the queries that are 1 there.
    fn true_at(&self, domain: &Domain) -> Vec<Vec<u32>> {
        let mut true_at: Vec<Vec<u32>> = vec![Vec::new(); domain.table_cells(self.table)];
        for (query, members) in (0u32..).zip(&self.queries) {
            members.iter().for_each(|&cell| true_at[cell as usize].push(query));
        }
        true_at
    }

    fn moved(&self, really: Subset) -> u64 {
        self.changes.get(&self.table.common(really)).copied().map_or(0, u64::from)
    }
}

/// Which answers are 1 at each cell of each table.
pub(super) struct CellAnswers<'a> {
    domain: &'a Domain,
    tables: Vec<(Subset, Vec<Vec<u32>>)>,
}

impl CellAnswers<'_> {
    /// The answers that are 1 for a person in a cell, ascending.
    pub(super) fn at(&self, cell: usize) -> Vec<u32> {
        let (values, sizes) = (self.domain.values(cell), self.domain.sizes());
        let place = |table: Subset| table.iter().fold(0, |place, a| place * sizes[a] as usize + values[a] as usize);
        self.tables.iter().flat_map(|(table, true_at)| &true_at[place(*table)]).copied().collect()
    }
}

/// The attributes in which two cells of a table differ.
fn differing(sizes: &[(usize, usize)], mut left: usize, mut right: usize) -> Subset {
    let mut set = Subset::EMPTY;
    for &(attribute, size) in sizes.iter().rev() {
        if left % size != right % size {
            set = set.with(attribute);
        }
        left /= size;
        right /= size;
    }
    set
}

fn symmetric_difference(left: &[u32], right: &[u32]) -> u32 {
    let only = |these: &[u32], those: &[u32]| these.iter().filter(|query| !those.contains(query)).count() as u32;
    only(left, right) + only(right, left)
}
