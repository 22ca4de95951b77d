//! Products of categorical attributes, and sets of attributes.

use crate::error::{Error, Result};
use crate::scope::AttributeSet;

/// A product of categorical attributes: attribute j has the values 0, …, size − 1.
///
/// Cells are numbered with the last attribute fastest.
///
/// ```
/// use scumble::workload::Domain;
/// let domain = Domain::new(vec![3, 2])?;
/// assert_eq!(domain.cells(), 6);
/// assert_eq!(domain.count(&[vec![0u8, 2, 2], vec![1, 0, 0]])?, [0, 1, 0, 0, 2, 0]);
/// assert!(Domain::new(vec![1000, 1000, 1000]).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    sizes: Vec<u32>,
    cells: usize,
}

/// Domains with more cells are refused: a model of them would not fit into the memory of a small machine.
const MOST_CELLS: u64 = 20_000_000;
/// A [`Subset`] is a word of bits.
const MOST_ATTRIBUTES: usize = 64;

impl Domain {
    /// The product of attributes of these sizes.
    pub fn new(sizes: Vec<u32>) -> Result<Self> {
        if sizes.is_empty() || sizes.len() > MOST_ATTRIBUTES {
            refuse!("a domain has 1 to {MOST_ATTRIBUTES} attributes, not {}", sizes.len());
        }
        if let Some(empty) = sizes.iter().position(|&size| size == 0) {
            refuse!("attribute {empty} of the domain has no values");
        }
        let cells = sizes.iter().try_fold(1u64, |product, &size| {
            product.checked_mul(u64::from(size)).filter(|&product| product <= MOST_CELLS)
        });
        match cells {
            Some(cells) => Ok(Self { sizes, cells: cells as usize }),
            None => Err(Error::refused(format!(
                "the domain has more than {MOST_CELLS} cells: leave attributes out or join values"
            ))),
        }
    }

    /// How many values each attribute has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// How many attributes there are.
    pub fn attributes(&self) -> usize {
        self.sizes.len()
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// All attributes.
    pub fn all(&self) -> Subset {
        (0..self.attributes()).fold(Subset::EMPTY, |all, attribute| all.with(attribute))
    }

    /// How many people each cell has; `columns[j][i]` is person i's value of attribute j.
    pub fn count<V: Copy + Into<u32>>(&self, columns: &[Vec<V>]) -> Result<Vec<u64>> {
        if columns.len() != self.sizes.len() {
            refuse!("the data has {} columns, but the domain has {} attributes", columns.len(), self.sizes.len());
        }
        let mut cells = vec![0usize; columns[0].len()];
        for (attribute, (column, &size)) in columns.iter().zip(&self.sizes).enumerate() {
            refuse_if!(column.len() != cells.len(), "column {attribute} does not have as many rows as column 0");
            for (row, (cell, &value)) in cells.iter_mut().zip(column).enumerate() {
                let value: u32 = value.into();
                if value >= size {
                    refuse!("row {row} of column {attribute} is {value}, which is not below {size}, its domain's size");
                }
                *cell = *cell * size as usize + value as usize;
            }
        }
        let mut counts = vec![0; self.cells];
        cells.iter().for_each(|&cell| counts[cell] += 1);
        Ok(counts)
    }

    /// The values of a cell.
    pub fn values(&self, mut cell: usize) -> Vec<u32> {
        let mut values = vec![0; self.sizes.len()];
        for (value, &size) in values.iter_mut().zip(&self.sizes).rev() {
            *value = (cell % size as usize) as u32;
            cell /= size as usize;
        }
        values
    }

    /// The domain of the marginal table of a subset.
    pub(super) fn of(&self, subset: Subset) -> Self {
        Self { sizes: subset.iter().map(|attribute| self.sizes[attribute]).collect(), cells: self.table_cells(subset) }
    }

    /// Where a cell is in the marginal table of a subset.
    pub(super) fn place(&self, cell: usize, subset: Subset) -> usize {
        let values = self.values(cell);
        subset.iter().fold(0, |place, attribute| place * self.sizes[attribute] as usize + values[attribute] as usize)
    }

    /// How many cells the marginal table of a subset has.
    pub fn table_cells(&self, subset: Subset) -> usize {
        subset.iter().map(|attribute| self.sizes[attribute] as usize).product()
    }

    /// The marginal table of a subset: sums over all other attributes.
    ///
    /// ```
    /// use scumble::workload::{Domain, Subset};
    /// let domain = Domain::new(vec![3, 2])?;
    /// assert_eq!(domain.marginal(&[1u64, 2, 3, 4, 5, 6], Subset::of(&[1])), [9, 12]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn marginal<N: Copy + Default + std::ops::AddAssign>(&self, cells: &[N], subset: Subset) -> Vec<N> {
        let mut table = vec![N::default(); self.table_cells(subset)];
        // The attributes after the last one of the subset are summed out together: all of a block belongs to one place.
        let kept = subset.iter().last().map_or(0, |last| last + 1).min(self.sizes.len());
        let block: usize = self.sizes[kept..].iter().map(|&size| size as usize).product();
        let mut places = self.places_among(kept, subset);
        for values in cells.chunks_exact(block) {
            let mut sum = N::default();
            values.iter().for_each(|value| sum += *value);
            table[places.next_place()] += sum;
        }
        table
    }

    /// Walks over the cells in order and tells each one's place in the marginal table of `subset`.
    #[cfg(test)]
    pub(crate) fn places(&self, subset: Subset) -> CellOdometer<'_> {
        self.places_among(self.sizes.len(), subset)
    }

    /// How far the cell in the table of a subset moves with each of the first attributes.
    pub(super) fn strides(&self, attributes: usize, subset: Subset) -> Vec<usize> {
        let mut strides = vec![0; attributes];
        let mut stride = 1;
        for attribute in (0..attributes).rev().filter(|&attribute| subset.contains(attribute)) {
            strides[attribute] = stride;
            stride *= self.sizes[attribute] as usize;
        }
        strides
    }

    /// The same among the first attributes only.
    fn places_among(&self, attributes: usize, subset: Subset) -> CellOdometer<'_> {
        let strides = self.strides(attributes, subset);
        CellOdometer { sizes: &self.sizes[..attributes], strides, values: vec![0; attributes], place: 0 }
    }
}

/// An odometer over the cells of a domain.
pub(crate) struct CellOdometer<'a> {
    sizes: &'a [u32],
    strides: Vec<usize>,
    values: Vec<u32>,
    place: usize,
}

impl CellOdometer<'_> {
    pub(crate) fn next_place(&mut self) -> usize {
        let place = self.place;
        for attribute in (0..self.sizes.len()).rev() {
            self.values[attribute] += 1;
            self.place += self.strides[attribute];
            if self.values[attribute] < self.sizes[attribute] {
                break;
            }
            self.place -= self.strides[attribute] * self.sizes[attribute] as usize;
            self.values[attribute] = 0;
        }
        place
    }
}

/// A set of attributes of a domain, by position.
///
/// ```
/// use scumble::workload::Subset;
/// let set = Subset::of(&[0, 2]);
/// assert_eq!(set.to_string(), "{0, 2}");
/// assert!(set.meets(Subset::of(&[2, 3])) && !set.is_within(Subset::of(&[2, 3])));
/// assert_eq!(set.subsets().count(), 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subset(u64);

impl Subset {
    /// No attribute.
    pub const EMPTY: Self = Self(0);

    /// These attributes; positions from 64 up belong to no domain and are left out.
    pub fn of(attributes: &[usize]) -> Self {
        attributes.iter().filter(|&&attribute| attribute < MOST_ATTRIBUTES).fold(Self::EMPTY, |set, &a| set.with(a))
    }

    /// One attribute more.
    pub fn with(self, attribute: usize) -> Self {
        Self(self.0 | 1 << attribute)
    }

    /// Whether the attribute is in the set.
    pub fn contains(self, attribute: usize) -> bool {
        self.0 >> attribute & 1 == 1
    }

    /// How many attributes there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the two share an attribute.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all attributes are in `other` too.
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The attributes that both have.
    pub fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The attributes that `other` does not have.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The positions, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let attribute = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(attribute)
        })
    }

    /// The set by the attributes' names.
    pub(super) fn named(self, names: &[String]) -> Result<AttributeSet> {
        let name = |attribute: usize| {
            names.get(attribute).cloned().ok_or_else(|| Error::refused(format!("attribute {attribute} has no name")))
        };
        AttributeSet::new(self.iter().map(name).collect::<Result<Vec<String>>>()?)
    }

    /// All subsets, the empty one and the set itself included.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        // Standard walk over the submasks, from the whole set down to the empty one.
        let mut next = Some(self.0);
        std::iter::from_fn(move || {
            let current = next?;
            next = if current == 0 { None } else { Some((current - 1) & self.0) };
            Some(Self(current))
        })
    }

    /// All sets of `size` of the first `attributes` attributes.
    ///
    /// ```
    /// assert_eq!(scumble::workload::Subset::all_of_size(8, 3).len(), 56);
    /// ```
    pub fn all_of_size(attributes: usize, size: usize) -> Vec<Self> {
        fn extend(from: usize, attributes: usize, left: usize, so_far: Subset, out: &mut Vec<Subset>) {
            if left == 0 {
                out.push(so_far);
                return;
            }
            for attribute in from..attributes.min(MOST_ATTRIBUTES) {
                extend(attribute + 1, attributes, left - 1, so_far.with(attribute), out);
            }
        }
        let mut out = Vec::new();
        extend(0, attributes, size, Self::EMPTY, &mut out);
        out
    }
}

impl std::fmt::Display for Subset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.iter().map(|attribute| attribute.to_string()).collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}
