use super::*;
use crate::noise::{BitSource, InsecureSeededSource};

fn symmetric(size: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    let mut matrix = Matrix::zeros(size, size);
    for row in 0..size {
        for column in 0..size {
            matrix.row_mut(row)[column] = entry(row.max(column), row.min(column));
        }
    }
    matrix
}

/// A matrix and what is found: AV = VΛ, VVᵀ = I, and ascending.
fn holds(matrix: &Matrix, what: &str) -> Vec<f64> {
    let size = matrix.rows;
    let Eigen { values, vectors } = eigen(matrix);
    let scale = matrix.squares().sqrt().max(f64::MIN_POSITIVE);
    let close = 1e-14 * (size as f64).sqrt() * 10.0;
    let product = vectors.times(matrix);
    let unit = vectors.times(&vectors.transposed());
    for (row, value) in values.iter().enumerate() {
        for column in 0..size {
            let off = product.row(row)[column] - value * vectors.row(row)[column];
            assert!(off.abs() <= close * scale, "{what}: AV − VΛ is {off} at {row}, {column}");
            let one = f64::from(u8::from(row == column));
            assert!((unit.row(row)[column] - one).abs() <= close, "{what}: VVᵀ is {}", unit.row(row)[column]);
        }
    }
    assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{what}");
    values
}

#[test]
fn matrices_of_every_shape_are_taken_apart() {
    let mut bits = InsecureSeededSource::new(3);
    let mut draw = || (bits.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    for size in [1, 2, 3, 5, 24, 25, 49, 97, 160] {
        let random: Vec<f64> = (0..size * size).map(|_| draw()).collect();
        holds(&symmetric(size, |i, j| random[i * size + j]), "random");
        holds(&symmetric(size, |i, j| 1e150 * random[i * size + j]), "huge");
        holds(&symmetric(size, |i, j| 1e-150 * random[i * size + j]), "tiny");
        holds(&symmetric(size, |_, _| 0.0), "zero");
        let ones = holds(&symmetric(size, |_, _| 1.0), "all ones");
        assert!((ones[size - 1] - size as f64).abs() < 1e-12 * size as f64);
        holds(&symmetric(size, |i, j| if i == j { 1.0 } else { 0.0 }), "identity");
        holds(&symmetric(size, |i, j| if i == j { (i % 3) as f64 } else { 0.0 }), "diagonal, equal values");
        // Equal blocks: every eigenvalue many times.
        holds(
            &symmetric(size, |i, j| if i / 4 == j / 4 { random[(i % 4) * size.min(4) + j % 4] } else { 0.0 }),
            "blocks",
        );
        // Wilkinson's: pairs of eigenvalues that agree to the last digit.
        let half = size as f64 / 2.0;
        let wilkinson = |i: usize, j: usize| match i - j {
            0 => (i as f64 - half).abs(),
            1 => 1.0,
            _ => 0.0,
        };
        holds(&symmetric(size, wilkinson), "Wilkinson");
        holds(
            &symmetric(size, |i, j| random[i] * random[j] + if i == j { 1e-9 } else { 0.0 }),
            "rank one and a little",
        );
        holds(&symmetric(size, |i, j| 10f64.powi(-(i as i32 % 20)) * random[i * size + j]), "graded");
    }
}

#[test]
fn the_second_differences_have_their_known_eigenvalues() {
    let size = 200;
    let second = |i: usize, j: usize| match i - j {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    };
    let values = holds(&symmetric(size, second), "second differences");
    for (place, value) in values.iter().enumerate() {
        let angle = std::f64::consts::PI * (place + 1) as f64 / (size + 1) as f64;
        assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-13, "{place}: {value}");
    }
}
