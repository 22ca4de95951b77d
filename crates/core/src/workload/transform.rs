//! The orthonormal basis in which marginals are independent: a Helmert basis for each attribute, and their Kronecker
//! product.
//!
//! The first vector of an attribute's basis is constant. A coefficient belongs to the set of attributes in which it is
//! not constant, and the marginal table of a set depends on the coefficients of its subsets only.

use super::domain::Domain;

/// The coefficients of a table of cells, in place.
pub(super) fn forward(domain: &Domain, cells: &mut [f64]) {
    along_each_attribute(domain, cells, forward_fibres);
}

/// The table of cells of the coefficients, in place.
pub(super) fn inverse(domain: &Domain, coefficients: &mut [f64]) {
    along_each_attribute(domain, coefficients, inverse_fibres);
}

fn along_each_attribute(domain: &Domain, cells: &mut [f64], fibres: fn(&mut [f64], usize, usize)) {
    let mut inner = domain.cells();
    for &size in domain.sizes() {
        let size = size as usize;
        let block = inner;
        inner /= size;
        for chunk in cells.chunks_exact_mut(block) {
            fibres(chunk, size, inner);
        }
    }
}

/// Helmert: c₀ = Σx/√m, c_i = (x₀ + … + x_{i−1} − i·x_i)/√(i(i+1)); a block holds `size` rows of `inner` fibres.
fn forward_fibres(block: &mut [f64], size: usize, inner: usize) {
    let (first, rest) = block.split_at_mut(inner);
    for (i, row) in (1..size).zip(rest.chunks_exact_mut(inner)) {
        let norm = 1.0 / ((i * (i + 1)) as f64).sqrt();
        for (sum, value) in first.iter_mut().zip(row) {
            let own = *value;
            *value = (*sum - i as f64 * own) * norm;
            *sum += own;
        }
    }
    let norm = 1.0 / (size as f64).sqrt();
    first.iter_mut().for_each(|sum| *sum *= norm);
}

fn inverse_fibres(block: &mut [f64], size: usize, inner: usize) {
    let (first, rest) = block.split_at_mut(inner);
    let norm = 1.0 / (size as f64).sqrt();
    // `first` becomes c₀/√m plus the coefficients above, which all values below share.
    first.iter_mut().for_each(|constant| *constant *= norm);
    for (i, row) in (1..size).zip(rest.chunks_exact_mut(inner)).rev() {
        let norm = 1.0 / ((i * (i + 1)) as f64).sqrt();
        for (shared, value) in first.iter_mut().zip(row) {
            let own = *value * norm;
            *value = *shared - i as f64 * own;
            *shared += own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::domain::Subset;
    use super::*;

    /// The set that each coefficient belongs to: the attributes in which it is not constant.
    fn subsets_of_coefficients(domain: &Domain) -> impl Iterator<Item = Subset> + '_ {
        let mut values = vec![0u32; domain.attributes()];
        (0..domain.cells()).map(move |_| {
            let nonzero = values.iter().enumerate().filter(|(_, value)| **value > 0);
            let subset = nonzero.fold(Subset::EMPTY, |set, (attribute, _)| set.with(attribute));
            for (value, &size) in values.iter_mut().zip(domain.sizes()).rev() {
                *value += 1;
                if *value < size {
                    break;
                }
                *value = 0;
            }
            subset
        })
    }

    #[test]
    fn the_transform_is_orthonormal_and_its_inverse_undoes_it() {
        let domain = Domain::new(vec![3, 2, 4, 1, 2]).unwrap();
        let cells: Vec<f64> = (0..domain.cells()).map(|cell| ((cell * 37 + 11) % 17) as f64).collect();
        let mut coefficients = cells.clone();
        forward(&domain, &mut coefficients);
        let energy = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        assert!((energy(&cells) - energy(&coefficients)).abs() < 1e-9);
        let mut back = coefficients.clone();
        inverse(&domain, &mut back);
        assert!(cells.iter().zip(&back).all(|(left, right)| (left - right).abs() < 1e-9));
    }

    #[test]
    fn a_marginal_depends_on_the_coefficients_of_its_subsets_only() {
        let domain = Domain::new(vec![3, 2, 4]).unwrap();
        let cells: Vec<f64> = (0..24).map(|cell| ((cell * 37 + 11) % 17) as f64).collect();
        let table = Subset::of(&[0, 2]);
        let mut kept = cells.clone();
        forward(&domain, &mut kept);
        for (coefficient, subset) in kept.iter_mut().zip(subsets_of_coefficients(&domain)) {
            if !subset.is_within(table) {
                *coefficient = 1234.5;
            }
        }
        inverse(&domain, &mut kept);
        let (left, right) = (domain.marginal(&cells, table), domain.marginal(&kept, table));
        assert!(left.iter().zip(&right).all(|(left, right)| (left - right).abs() < 1e-9));
    }
}
