//! Point functions: x ↦ 1 if x is one particular string (Theorem 31 of \[GKMS\]).

use crate::error::Result;
use crate::mechanism::heavy_hitters::HeavyHitters;
use crate::noise::BitSource;

/// Learns the string that has label 1, if a share of the people above 0.2·`accuracy` has it; otherwise a string that
/// hardly anybody has. The last column is the label.
///
/// # Guarantee
/// The cost of `finder`'s tree (over the attributes and the label); the rest is post-processing.
///
/// ```
/// use scumble::learn::point::learn;
/// use scumble::mechanism::heavy_hitters::{HeavyHitters, ThresholdRule, JoinShape};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let bit = |j: u32| (0..4000u32).map(|i| (i >> j & 1) as u8).collect::<Vec<u8>>();
/// let label = (0..4000u32).map(|i| u8::from(i % 8 == 5)).collect();
/// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(4)?, &[Epsilon::new(1.0)?; 4])?;
/// let finder = HeavyHitters::new(tree, vec![2; 4])?;
/// let learnt = learn(&finder, &[bit(0), bit(1), bit(2), label], 0.25, &mut InsecureSeededSource::new(1))?;
/// assert_eq!(learnt, [1, 0, 1]); // 5 in binary, lowest bit first
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn learn<V: Copy + Into<u32>, S: BitSource + ?Sized>(
    finder: &HeavyHitters,
    columns: &[Vec<V>],
    accuracy: f64,
    bits: &mut S,
) -> Result<Vec<u32>> {
    let attributes = columns.len().saturating_sub(1);
    if attributes == 0 || !(accuracy > 0.0 && accuracy < 1.0) {
        refuse!("a point function needs an attribute, a label and an accuracy between 0 and 1");
    }
    let heavy = 0.2 * accuracy * columns[0].len() as f64;
    let found = finder.release(columns, bits)?;
    let labelled = |label: u32| {
        let strings = found.strings.iter().filter(move |string| string.values[attributes] == label);
        strings.filter(|string| string.count as f64 > heavy)
    };
    // The largest; among equal ones the first in canonical order.
    let best = labelled(1).reduce(|best, next| if next.count > best.count { next } else { best });
    if let Some(best) = best {
        return Ok(best.values[..attributes].to_vec());
    }
    // Nobody's string has label 1: any string that few have is right. The first one that is not heavy, in canonical
    // order.
    let mut string = vec![0u32; attributes];
    while labelled(0).any(|taken| taken.values[..attributes] == string[..]) {
        for (value, &size) in string.iter_mut().zip(finder.domains()).rev() {
            *value += 1;
            if *value < size {
                break;
            }
            *value = 0;
        }
        if string.iter().all(|&value| value == 0) {
            break; // every string is heavy: none can be excluded
        }
    }
    Ok(string)
}
