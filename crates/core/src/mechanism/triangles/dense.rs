//! The vertices of the highest degrees, as rows of bits: where a graph is dense, its neighbours are counted 64 at a
//! time.

/// Which of the first vertices are joined.
pub(super) struct DenseGraph {
    size: u32,
    /// Words of a row.
    words: usize,
    rows: Vec<u64>,
}

/// More rows would take more than 32 MiB.
const MOST: u32 = 1 << 14;

impl DenseGraph {
    /// The rows of the first `size` vertices, or of as many as there is room for; `of` are a vertex's neighbours,
    /// rising.
    pub fn new<'a>(size: u32, of: impl Fn(u32) -> &'a [u32]) -> Self {
        let size = size.min(MOST);
        let words = (size as usize).div_ceil(64);
        let mut rows = vec![0; size as usize * words];
        for vertex in 0..size {
            let row = &mut rows[vertex as usize * words..][..words];
            for other in of(vertex).iter().take_while(|other| **other < size) {
                row[*other as usize / 64] |= 1 << (other % 64);
            }
        }
        Self { size, words, rows }
    }

    /// How many vertices have a row.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many words of two rows are looked at for the neighbours that they share.
    pub fn words(&self) -> u64 {
        self.words as u64
    }

    fn row(&self, vertex: u32) -> &[u64] {
        &self.rows[vertex as usize * self.words..][..self.words]
    }

    /// How many vertices with a row are neighbours of both.
    pub fn common(&self, one: u32, other: u32) -> u32 {
        shared(self.row(one), self.row(other))
    }

    /// The same, of those before the other.
    pub fn common_before(&self, one: u32, other: u32) -> u32 {
        let (whole, mask) = (other as usize / 64, (1u64 << (other % 64)) - 1);
        let (one, other) = (self.row(one), self.row(other));
        shared(&one[..whole], &other[..whole]) + (one[whole] & other[whole] & mask).count_ones()
    }
}

fn shared(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one & other).count_ones()).sum()
}
