//! How a strip's area is spread over its columns.
//!
//! Flat columns are off by half of a strip's width times its drop. Columns that follow the slope towards the
//! neighbouring strips are not, wherever the diagram is smooth, so that strips can be wider and fewer and see less
//! noise. Both neighbours must agree on a slope: the gentler of the two is taken (the *minmod* limiter of finite-volume
//! schemes, \[vLe79\]), which keeps the columns falling and, up to rounding, their sum. Where a strip lies between two
//! plateaus, there is a cliff in it, whose place the area tells (*subcell resolution*, \[Har89\]).

use super::projection::{FRACTION_BITS, MonotoneFit};

/// A strip's drop is a cliff if it is this many times as large as the drops beyond it.
const CLIFF: i128 = 32;
const ONE: i128 = 1 << FRACTION_BITS;

/// Columns as (height, how many), from the left to the right.
type ColumnRuns = Vec<(u64, u64)>;

/// A strip and how the averages fall around it.
struct Strip {
    area: u64,
    width: i128,
    height: i128,
    /// From the strip before the one before.
    drop_before: Option<i128>,
    /// From the strip before.
    drop_in: i128,
    width_before: i128,
    /// To the strip after.
    drop_out: i128,
    width_after: i128,
    /// From the strip after to the one after that.
    drop_after: i128,
}

/// The heights of the columns of strips with these averages.
///
/// # Guarantee
/// The columns of strip k are together within ½ each, and within (g_k/2)(m_{k−1} − m_{k+1}), of its average m_k;
/// [`super::error`] says why all of it comes to little. Single columns and flat stretches stay as they are.
pub fn spread(fit: &MonotoneFit, widths: &[u64]) -> ColumnRuns {
    let mut runs = Vec::with_capacity(2 * widths.len());
    for (position, width) in widths.iter().enumerate() {
        let columns = match strip_at(fit, widths, position) {
            Some(strip) => cliff(&strip).or_else(|| slope(&strip)),
            None => None,
        };
        runs.extend(columns.unwrap_or_else(|| level(fit.areas[position], *width)));
    }
    runs
}

/// Columns of one height, or two if the area asks for it: |y − θ| is linear between whole numbers, so this is as near
/// to a falling target as the average is.
pub fn level(area: u64, width: u64) -> ColumnRuns {
    let (height, higher) = (area / width, area % width);
    vec![(height.saturating_add(1), higher), (height, width - higher)]
}

/// The strip with its neighbours, if it is wide and has one before it. After the last strip there is nothing.
fn strip_at(fit: &MonotoneFit, widths: &[u64], position: usize) -> Option<Strip> {
    let width = *widths.get(position).filter(|width| **width > 1)?;
    let before = position.checked_sub(1)?;
    let height = |position: usize| fit.heights.get(position).copied().unwrap_or(0);
    let drop = |position: usize| height(position) - height(position + 1);
    Some(Strip {
        area: fit.areas[position],
        width: i128::from(width),
        height: height(position),
        drop_before: before.checked_sub(1).map(drop),
        drop_in: drop(before),
        width_before: i128::from(widths[before]),
        drop_out: drop(position),
        width_after: i128::from(*widths.get(position + 1).unwrap_or(&width)),
        drop_after: drop(position + 1),
    })
}

/// As many columns of the height before as the area allows, and the others of the height after, if this is a cliff.
///
/// That both of its drops exceed those beyond keeps two neighbours from both being cliffs; that it exceeds [`CLIFF`]
/// elements keeps noise from being one.
fn cliff(strip: &Strip) -> Option<ColumnRuns> {
    let beyond = strip.drop_before? + strip.drop_after;
    let falls = strip.drop_in + strip.drop_out > CLIFF * (beyond + ONE);
    if !falls || strip.drop_in.min(strip.drop_out) <= beyond {
        return None;
    }
    let rounded = |height: i128| u64::try_from((height + ONE / 2) >> FRACTION_BITS).ok();
    let (high, low) = (rounded(strip.height + strip.drop_in)?, rounded(strip.height - strip.drop_out)?);
    let width = u64::try_from(strip.width).ok()?;
    // Rounding may leave no room between the two heights.
    let above = strip.area.checked_sub(low.checked_mul(width)?)?;
    let (full, rest) = (above / (high - low), above % (high - low));
    let lower = width.checked_sub(full + 1)?;
    Some(vec![(high, full), (low + rest, 1), (low, lower)])
}

/// Columns on a line through the average, rounded to whole heights, if the averages fall on both sides.
fn slope(strip: &Strip) -> Option<ColumnRuns> {
    let width = strip.width;
    let (distance_before, distance_after) = (strip.width_before + width, width + strip.width_after);
    // Heights are below 2^80 and widths below 2^41: no product here reaches 2^127.
    let gentler_before = strip.drop_in * distance_after <= strip.drop_out * distance_before;
    let (drop, distance) =
        if gentler_before { (strip.drop_in, distance_before) } else { (strip.drop_out, distance_after) };
    // Column j has height + drop·(width − 1 − 2j)/distance: the line through the middles of the two strips. If it falls
    // by less than a whole, level columns are as near to it and keep the area.
    if 2 * drop * (width - 1) < distance << FRACTION_BITS {
        return None;
    }
    let middle = (strip.height + ONE / 2) * distance + drop * (width - 1);
    let unit = distance << FRACTION_BITS;
    let height_of = |column: i128| (middle - 2 * drop * column).div_euclid(unit);
    let mut runs = Vec::new();
    let mut column = 0;
    while column < width {
        let height = height_of(column);
        let last = ((middle - height * unit) / (2 * drop)).min(width - 1);
        runs.push((u64::try_from(height).ok()?, (last + 1 - column) as u64));
        column = last + 1;
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::super::projection::least_squares;
    use super::*;
    use proptest::prelude::*;

    fn columns(areas: &[i64], widths: &[u64]) -> Vec<u64> {
        let runs = spread(&least_squares(areas, widths), widths);
        runs.into_iter().flat_map(|(height, how_many)| std::iter::repeat_n(height, how_many as usize)).collect()
    }

    #[test]
    fn a_line_is_found_inside_of_strips() {
        // 20, 18, …, 2 in strips of 1, 2, 3, 3, 1.
        assert_eq!(columns(&[20, 34, 36, 18, 2], &[1, 2, 3, 3, 1]), [20, 18, 16, 14, 12, 10, 8, 6, 4, 2]);
        // Wide strips and small drops: runs, not columns.
        let fit = least_squares(&[40_000, 30_000, 20_000], &[1_000, 1_000, 1_000]);
        let runs = spread(&fit, &[1_000, 1_000, 1_000]);
        assert_eq!(runs[2..5], [(35, 50), (34, 100), (33, 100)]);
        assert_eq!(runs.len(), 2 + 11 + 11, "{runs:?}");
    }

    #[test]
    fn the_gentler_neighbour_decides() {
        // Flat towards the left: flat, although it falls to the right.
        assert_eq!(columns(&[12, 36, 3, 3], &[1, 3, 3, 3]), [12, 12, 12, 12, 1, 1, 1, 1, 1, 1]);
        // Not a whole average: two heights.
        assert_eq!(columns(&[12, 24, 35, 0], &[1, 2, 3, 1]), [12, 12, 12, 12, 12, 11, 0]);
        // Nothing comes before the first strip.
        assert_eq!(columns(&[8, 1], &[3, 1]), [3, 3, 2, 1]);
    }

    #[test]
    fn a_cliff_is_found_inside_of_a_strip() {
        assert_eq!(columns(&[100, 300, 200, 0, 0], &[1, 3, 4, 4, 4])[..8], [100, 100, 100, 100, 100, 100, 0, 0]);
        assert_eq!(columns(&[100, 300, 217, 12, 12], &[1, 3, 4, 4, 4])[4..12], [100, 100, 14, 3, 3, 3, 3, 3]);
        // Too low to be distinguished from noise: a slope.
        assert_eq!(columns(&[20, 60, 40, 0, 0], &[1, 3, 4, 4, 4])[4..8], [14, 11, 9, 6]);
    }

    proptest! {
        /// What the guarantee of `spread` says, and that the columns of a strip fall.
        #[test]
        fn columns_stay_near_their_strip(strips in proptest::collection::vec((0i64..2_000, 1u64..9), 1..12)) {
            let (areas, widths): (Vec<i64>, Vec<u64>) = strips.into_iter().unzip();
            let fit = least_squares(&areas, &widths);
            let columns = columns(&areas, &widths);
            prop_assert_eq!(columns.len() as u64, widths.iter().sum::<u64>());
            let height = |position: usize| fit.heights.get(position).map_or(0.0, |height| *height as f64 / ONE as f64);
            let mut start = 0;
            for (position, width) in widths.iter().enumerate() {
                let own = &columns[start..start + *width as usize];
                start += *width as usize;
                prop_assert!(own.is_sorted_by(|left, right| left >= right), "{:?}", own);
                let off: f64 = own.iter().map(|column| (*column as f64 - height(position)).abs()).sum();
                let before = if position == 0 { height(0) } else { height(position - 1) };
                let fall = before - height(position + 1);
                let rounding = 0.5 + if *width == 1 { 0.0 } else { 0.5 * *width as f64 };
                prop_assert!(off <= *width as f64 / 2.0 * fall + rounding + 1e-3, "{own:?} {off} {fall}");
            }
        }
    }
}
