//! Matrices in the order of their rows, and their product.

/// A matrix, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f64>,
}

impl Matrix {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Two different rows, the first one above the second.
    pub fn two_rows_mut(&mut self, above: usize, below: usize) -> (&mut [f64], &mut [f64]) {
        let (head, tail) = self.data.split_at_mut(below * self.columns);
        (&mut head[above * self.columns..(above + 1) * self.columns], &mut tail[..self.columns])
    }

    pub fn transposed(&self) -> Self {
        let mut other = Self::zeros(self.columns, self.rows);
        for (row, values) in self.data.chunks_exact(self.columns.max(1)).enumerate() {
            for (column, value) in values.iter().enumerate() {
                other.data[column * self.rows + row] = *value;
            }
        }
        other
    }

    /// The sum of the squares.
    pub fn squares(&self) -> f64 {
        self.data.iter().map(|value| value * value).sum()
    }

    /// This matrix times the other.
    ///
    /// Four rows of `other` stay in the nearest cache while every row of the product gets its share of them: that is
    /// all the blocking that sizes of some hundreds need, and the compiler makes vectors of the inner loop.
    pub fn times(&self, other: &Self) -> Self {
        let width = other.columns;
        let mut product = Self::zeros(self.rows, width);
        if width == 0 {
            return product;
        }
        for inner in (0..self.columns).step_by(4) {
            if inner + 4 > self.columns {
                for at in inner..self.columns {
                    for (row, sums) in product.data.chunks_exact_mut(width).enumerate() {
                        let factor = self.data[row * self.columns + at];
                        sums.iter_mut().zip(other.row(at)).for_each(|(sum, value)| *sum += factor * value);
                    }
                }
                break;
            }
            let four = &other.data[inner * width..(inner + 4) * width];
            let (first, rest) = four.split_at(width);
            let (second, rest) = rest.split_at(width);
            let (third, fourth) = rest.split_at(width);
            for (row, sums) in product.data.chunks_exact_mut(width).enumerate() {
                let own = &self.data[row * self.columns + inner..][..4];
                let (a, b, c, d) = (own[0], own[1], own[2], own[3]);
                let values = first.iter().zip(second).zip(third.iter().zip(fourth));
                for (sum, ((w, x), (y, z))) in sums.iter_mut().zip(values) {
                    *sum += (a * w + b * x) + (c * y + d * z);
                }
            }
        }
        product
    }
}
