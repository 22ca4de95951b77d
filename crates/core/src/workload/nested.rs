//! Every cell of a domain against many tables at once, by nested partial sums, block by block.
//!
//! Σ_A t_A\[u_A\] at every cell u costs |X|·#tables additions if tables are added one after the other. Here an
//! attribute's tables are sliced at its value, which leaves tables of one attribute less, and what does not contain the
//! attribute is added up once for all of its values: about 2 additions per cell for tables of one attribute, 6 for
//! pairs, 14 for triples, however many tables there are. Read backwards the same recursion makes all marginal tables of
//! a table of cells.
//!
//! The last attributes make a block that stays in the nearest memory; blocks are visited in the order of the cells, so
//! that nothing as large as the domain is needed unless the caller has it.

use super::domain::{Domain, Subset};

/// At most this many cells make a block, unless the last attribute alone has more.
const MOST_CELLS_OF_BLOCK: usize = 1 << 14;
/// Sums run in this many lanes, which a processor adds side by side.
const LANES: usize = 8;

/// How the values that tables give to a cell are joined.
pub(super) trait Join {
    /// What changes nothing.
    const NEUTRAL: f64;
    /// Of two values, one.
    fn join(left: f64, right: f64) -> f64;
}

/// Values are added.
pub(super) struct SumJoin;
/// Values are multiplied.
pub(super) struct ProductJoin;

impl Join for SumJoin {
    const NEUTRAL: f64 = 0.0;
    fn join(left: f64, right: f64) -> f64 {
        left + right
    }
}

impl Join for ProductJoin {
    const NEUTRAL: f64 = 1.0;
    fn join(left: f64, right: f64) -> f64 {
        left * right
    }
}

/// What the cells of marginal tables are.
pub(super) trait CellNumber: Copy + Default + std::ops::AddAssign {}
impl<N: Copy + Default + std::ops::AddAssign> CellNumber for N {}

/// Where tables over a domain meet its blocks.
#[derive(Debug, Clone)]
pub(super) struct Nest {
    sizes: Vec<usize>,
    /// The attributes from here on make a block.
    first_inner: usize,
    block_cells: usize,
    blocks: usize,
    places: Vec<Stretch>,
    /// The attributes of a block that tables share with attributes outside, each once, in lexical order; with their
    /// tables' cells.
    parts: Vec<(Subset, usize)>,
    /// The tables that lie in a block as a whole, in lexical order.
    inside: Vec<(Subset, usize)>,
}

/// Where a table is in a block: a whole stretch of it, since the block's attributes come last.
#[derive(Debug, Clone)]
struct Stretch {
    cells: usize,
    /// Attributes outside the block, with the distance in the table from one value to the next.
    outer: Vec<(usize, usize)>,
    part: usize,
}

impl Nest {
    /// For tables of these sets of attributes.
    pub(super) fn new(domain: &Domain, tables: &[Subset]) -> Self {
        let sizes: Vec<usize> = domain.sizes().iter().map(|&size| size as usize).collect();
        let (mut first_inner, mut block_cells) = (sizes.len() - 1, sizes[sizes.len() - 1]);
        while first_inner > 0 && block_cells * sizes[first_inner - 1] <= MOST_CELLS_OF_BLOCK {
            first_inner -= 1;
            block_cells *= sizes[first_inner];
        }
        // An attribute of one value makes no difference to any table.
        let real = (0..sizes.len()).filter(|&attribute| sizes[attribute] > 1).fold(Subset::EMPTY, Subset::with);
        let inner = (first_inner..sizes.len()).fold(Subset::EMPTY, Subset::with).common(real);
        let split = |table: Subset| (table.common(real).without(inner), table.common(inner));
        let lexically = |left: &Subset, right: &Subset| left.iter().cmp(right.iter());
        let mut sets: Vec<Subset> = tables
            .iter()
            .map(|&table| split(table))
            .filter(|(outer, _)| !outer.is_empty())
            .map(|(_, part)| part)
            .collect();
        sets.sort_by(lexically);
        sets.dedup();
        let place = |&table: &Subset| {
            let (outer, part) = split(table);
            let mut distance = domain.table_cells(table);
            let mut next = |attribute: usize| {
                distance /= sizes[attribute];
                (attribute, distance)
            };
            let outer: Vec<(usize, usize)> = outer.iter().map(&mut next).collect();
            let part = sets.binary_search_by(|set| lexically(set, &part)).unwrap_or(0);
            Stretch { cells: domain.table_cells(table.common(inner)), outer, part }
        };
        let places: Vec<Stretch> = tables.iter().map(place).collect();
        let is_inside =
            |(number, &table): (usize, &Subset)| places[number].outer.is_empty().then(|| (table.common(inner), number));
        let mut inside: Vec<(Subset, usize)> = tables.iter().enumerate().filter_map(is_inside).collect();
        inside.sort_by(|left, right| lexically(&left.0, &right.0));
        let parts = sets.into_iter().map(|set| (set, domain.table_cells(set))).collect();
        Self { sizes, first_inner, block_cells, blocks: domain.cells() / block_cells, places, parts, inside }
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// How many cells each block has.
    pub(super) fn block_cells(&self) -> usize {
        self.block_cells
    }

    /// The values of the attributes outside, in a block.
    fn outer_values(&self, mut block: usize) -> Vec<usize> {
        let mut values = vec![0; self.first_inner];
        for (value, size) in values.iter_mut().zip(&self.sizes).rev() {
            *value = block % size;
            block /= size;
        }
        values
    }

    /// The tables that reach outside: each one's number, where its stretch in the block begins, and its place.
    fn crossing<'a>(&'a self, values: &'a [usize]) -> impl Iterator<Item = (usize, usize, &'a Stretch)> {
        let crossing = self.places.iter().enumerate().filter(|(_, place)| !place.outer.is_empty());
        crossing.map(|(number, place)| {
            (number, place.outer.iter().map(|&(attribute, distance)| values[attribute] * distance).sum(), place)
        })
    }
}

/// What tables give to every cell, joined, block by block.
pub(super) struct BlockSpreader<'a, J> {
    nest: &'a Nest,
    tables: Vec<Vec<f64>>,
    /// What the tables inside give, which is the same in every block.
    inside: Option<Vec<f64>>,
    parts: Vec<Vec<f64>>,
    scratch: Vec<f64>,
    join: std::marker::PhantomData<J>,
}

impl<'a, J: Join> BlockSpreader<'a, J> {
    /// Of tables in the order in which the nest was given them.
    pub(super) fn new(nest: &'a Nest, tables: Vec<Vec<f64>>) -> Self {
        let mut scratch = vec![0.0; nest.block_cells];
        let own: Vec<(Subset, &[f64])> = nest.inside.iter().map(|&(set, table)| (set, &tables[table][..])).collect();
        let inside = (!own.is_empty()).then(|| {
            let mut inside = vec![0.0; nest.block_cells];
            fill_all::<J>(nest, &own, &mut inside, &mut scratch);
            inside
        });
        let parts = nest.parts.iter().map(|&(_, cells)| vec![J::NEUTRAL; cells]).collect();
        Self { nest, tables, inside, parts, scratch, join: std::marker::PhantomData }
    }

    /// The values of the cells of a block.
    pub(super) fn block(&mut self, number: usize, out: &mut [f64]) {
        self.parts.iter_mut().for_each(|part| part.fill(J::NEUTRAL));
        let values = self.nest.outer_values(number);
        for (table, start, place) in self.nest.crossing(&values) {
            let stretch = &self.tables[table][start..start + place.cells];
            self.parts[place.part].iter_mut().zip(stretch).for_each(|(sum, &value)| *sum = J::join(*sum, value));
        }
        let parts = self.nest.parts.iter().zip(&self.parts);
        let parts: Vec<(Subset, &[f64])> = parts.map(|(&(set, _), part)| (set, &part[..])).collect();
        match &self.inside {
            Some(inside) if parts.is_empty() => out.copy_from_slice(inside),
            Some(inside) => {
                fill_all::<J>(self.nest, &parts, out, &mut self.scratch);
                out.iter_mut().zip(inside).for_each(|(value, &other)| *value = J::join(*value, other));
            }
            None => fill_all::<J>(self.nest, &parts, out, &mut self.scratch),
        }
    }
}

/// The constant tables come first in lexical order.
fn fill_all<J: Join>(nest: &Nest, tables: &[(Subset, &[f64])], out: &mut [f64], scratch: &mut [f64]) {
    let (constants, tables) = tables.split_at(tables.iter().take_while(|(set, _)| set.is_empty()).count());
    let constant = constants.iter().fold(J::NEUTRAL, |sum, (_, table)| J::join(sum, table[0]));
    fill::<J>(&nest.sizes, nest.first_inner, constant, tables, out, scratch);
}

/// Fills the cells of the attributes from `attribute` on. Tables are not constant, and in lexical order: those with
/// this attribute come first.
fn fill<J: Join>(
    sizes: &[usize],
    attribute: usize,
    constant: f64,
    tables: &[(Subset, &[f64])],
    out: &mut [f64],
    scratch: &mut [f64],
) {
    if tables.is_empty() {
        out.fill(constant);
        return;
    }
    let size = sizes[attribute];
    let inner = out.len() / size;
    let (with, without) = tables.split_at(tables.iter().take_while(|(set, _)| set.contains(attribute)).count());
    let (first, others) = out.split_at_mut(inner);
    fill::<J>(sizes, attribute + 1, constant, without, first, scratch);
    if with.is_empty() {
        others.chunks_exact_mut(inner).for_each(|block| block.copy_from_slice(first));
        return;
    }
    let (alone, deeper) = with.split_at(with.iter().take_while(|(set, _)| set.len() == 1).count());
    // From the last value down, since the block of the first holds what all of them share.
    for value in (0..size).rev() {
        let own = alone.iter().fold(J::NEUTRAL, |sum, (_, table)| J::join(sum, table[value]));
        let block = if value > 0 { Some(&mut others[(value - 1) * inner..value * inner]) } else { None };
        if deeper.is_empty() {
            match block {
                Some(block) => block.iter_mut().zip(&*first).for_each(|(out, &shared)| *out = J::join(shared, own)),
                None => first.iter_mut().for_each(|out| *out = J::join(*out, own)),
            }
            continue;
        }
        let slices: Vec<(Subset, &[f64])> = deeper
            .iter()
            .map(|&(set, table)| {
                let cells = table.len() / size;
                (set.without(Subset::of(&[attribute])), &table[value * cells..(value + 1) * cells])
            })
            .collect();
        let (values, deeper_scratch) = scratch.split_at_mut(inner);
        fill::<J>(sizes, attribute + 1, own, &slices, values, deeper_scratch);
        match block {
            Some(block) => {
                let pairs = first.iter().zip(&*values);
                block.iter_mut().zip(pairs).for_each(|(out, (&shared, &value))| *out = J::join(shared, value));
            }
            None => first.iter_mut().zip(&*values).for_each(|(out, &value)| *out = J::join(*out, value)),
        }
    }
}

/// Marginal tables, from blocks of cells.
pub(super) struct BlockGatherer<'a, N> {
    nest: &'a Nest,
    tables: Vec<Vec<N>>,
    /// The sum of all blocks, from which the tables inside are made in the end.
    inside: Vec<N>,
    parts: Vec<Vec<N>>,
    scratch: Vec<N>,
}

impl<'a, N: CellNumber> BlockGatherer<'a, N> {
    pub(super) fn new(nest: &'a Nest) -> Self {
        let cells = |place: &Stretch| {
            let outer = place.outer.iter().map(|&(attribute, _)| nest.sizes[attribute]).product::<usize>();
            vec![N::default(); outer * place.cells]
        };
        Self {
            nest,
            tables: nest.places.iter().map(cells).collect(),
            inside: if nest.inside.is_empty() { Vec::new() } else { vec![N::default(); nest.block_cells] },
            parts: nest.parts.iter().map(|&(_, cells)| vec![N::default(); cells]).collect(),
            scratch: vec![N::default(); nest.block_cells],
        }
    }

    /// Adds the cells of a block to the tables.
    pub(super) fn add(&mut self, number: usize, block: &[N]) {
        add_each(&mut self.inside, block);
        self.parts.iter_mut().for_each(|part| part.fill(N::default()));
        let parts = self.nest.parts.iter().zip(&mut self.parts);
        let parts: Vec<(Subset, &mut [N])> = parts.map(|(&(set, _), part)| (set, &mut part[..])).collect();
        collapse_all(self.nest, block, parts, &mut self.scratch);
        let values = self.nest.outer_values(number);
        for (table, start, place) in self.nest.crossing(&values) {
            add_each(&mut self.tables[table][start..start + place.cells], &self.parts[place.part]);
        }
    }

    /// The tables, in the order in which the nest was given them.
    pub(super) fn finish(mut self) -> Vec<Vec<N>> {
        let mut own: Vec<Option<&mut [N]>> = self.tables.iter_mut().map(|table| Some(&mut table[..])).collect();
        let take = |&(set, table): &(Subset, usize)| own[table].take().map(|cells| (set, cells));
        let tables: Vec<(Subset, &mut [N])> = self.nest.inside.iter().filter_map(take).collect();
        if !tables.is_empty() {
            collapse_all(self.nest, &self.inside, tables, &mut self.scratch);
        }
        self.tables
    }
}

fn collapse_all<N: CellNumber>(nest: &Nest, cells: &[N], mut tables: Vec<(Subset, &mut [N])>, scratch: &mut [N]) {
    let constants = tables.iter().take_while(|(set, _)| set.is_empty()).count();
    let (constants, tables) = tables.split_at_mut(constants);
    if !constants.is_empty() {
        let sum = total(cells);
        constants.iter_mut().for_each(|(_, table)| table[0] += sum);
    }
    collapse(&nest.sizes, nest.first_inner, cells, tables, scratch);
}

/// The recursion of [`fill`], read backwards.
fn collapse<N: CellNumber>(
    sizes: &[usize],
    attribute: usize,
    cells: &[N],
    tables: &mut [(Subset, &mut [N])],
    scratch: &mut [N],
) {
    if tables.is_empty() {
        return;
    }
    let size = sizes[attribute];
    let inner = cells.len() / size;
    let (with, without) = tables.split_at_mut(tables.iter().take_while(|(set, _)| set.contains(attribute)).count());
    if !with.is_empty() {
        let (alone, deeper) = with.split_at_mut(with.iter().take_while(|(set, _)| set.len() == 1).count());
        for (value, block) in cells.chunks_exact(inner).enumerate() {
            if !alone.is_empty() {
                let sum = total(block);
                alone.iter_mut().for_each(|(_, table)| table[value] += sum);
            }
            let mut slices: Vec<(Subset, &mut [N])> = Vec::with_capacity(deeper.len());
            for (set, table) in deeper.iter_mut() {
                let cells = table.len() / size;
                slices.push((set.without(Subset::of(&[attribute])), &mut table[value * cells..(value + 1) * cells]));
            }
            collapse(sizes, attribute + 1, block, &mut slices, scratch);
        }
    }
    if size == 1 {
        collapse(sizes, attribute + 1, cells, without, scratch);
    } else if !without.is_empty() {
        let (sums, deeper_scratch) = scratch.split_at_mut(inner);
        sums.copy_from_slice(&cells[..inner]);
        cells[inner..].chunks_exact(inner).for_each(|block| add_each(sums, block));
        collapse(sizes, attribute + 1, sums, without, deeper_scratch);
    }
}

/// The sum of many numbers.
pub(super) fn total<N: CellNumber>(numbers: &[N]) -> N {
    let mut lanes = [N::default(); LANES];
    let mut chunks = numbers.chunks_exact(LANES);
    for chunk in &mut chunks {
        add_each(&mut lanes, chunk);
    }
    let mut sum = N::default();
    chunks.remainder().iter().chain(&lanes).for_each(|&number| sum += number);
    sum
}

fn add_each<N: CellNumber>(sums: &mut [N], numbers: &[N]) {
    sums.iter_mut().zip(numbers).for_each(|(sum, &number)| *sum += number);
}

/// The largest of many numbers.
pub(super) fn largest(numbers: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    let larger = |lane: &mut f64, number: f64| *lane = if number > *lane { number } else { *lane };
    let mut chunks = numbers.chunks_exact(LANES);
    for chunk in &mut chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &number)| larger(lane, number));
    }
    chunks.remainder().iter().for_each(|&number| larger(&mut lanes[0], number));
    lanes.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// In lanes that a processor multiplies side by side.
pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (mut lefts, mut rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    for (left, right) in (&mut lefts).zip(&mut rights) {
        lanes.iter_mut().zip(left.iter().zip(right)).for_each(|(lane, (left, right))| *lane += left * right);
    }
    let rest: f64 = lefts.remainder().iter().zip(rights.remainder()).map(|(left, right)| left * right).sum();
    lanes.iter().sum::<f64>() + rest
}

impl Domain {
    /// The marginal tables of many subsets in one walk over the cells, much faster than one by one.
    ///
    /// ```
    /// use scumble::workload::{Domain, Subset};
    /// let domain = Domain::new(vec![3, 2])?;
    /// let tables = domain.marginals(&[1u64, 2, 3, 4, 5, 6], &[Subset::of(&[1]), Subset::EMPTY]);
    /// assert_eq!(tables, [vec![9, 12], vec![21]]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn marginals<N: Copy + Default + std::ops::AddAssign>(&self, cells: &[N], subsets: &[Subset]) -> Vec<Vec<N>> {
        let nest = Nest::new(self, subsets);
        let mut gather = BlockGatherer::new(&nest);
        cells.chunks_exact(nest.block_cells()).enumerate().for_each(|(number, block)| gather.add(number, block));
        gather.finish()
    }
}

#[cfg(test)]
mod tests;
