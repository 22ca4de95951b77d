//! Rows as bytes, for the temporary file: column by column, each number as its distance from the least one, in as few
//! bytes as the largest distance needs. Owners, keys and values are mostly small or near each other, so that this is a
//! third of what they take in memory.

use super::ColumnarRows;

/// Bytes that no rows were made into: a mistake of ours, as changed ones are noticed before.
#[derive(Debug)]
pub(crate) struct DamagedRows;

impl ColumnarRows {
    /// The rows as bytes.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + self.bytes() / 2);
        for number in [self.len(), self.width, self.numbers.len(), self.copies.len(), self.texts.len()] {
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
        }
        pack(&mut bytes, self.numbers.iter().map(|number| ordered(*number)));
        let starts = std::iter::once(&0).chain(&self.ends);
        pack(&mut bytes, self.ends.iter().zip(starts).map(|(end, start)| (end - start) as u64));
        bytes.extend_from_slice(&self.texts);
        pack(&mut bytes, self.groups.iter().map(|group| u64::from(*group)));
        pack(&mut bytes, self.copies.iter().map(|copies| u64::from(*copies)));
        for column in 0..self.width {
            pack(&mut bytes, self.values.iter().skip(column).step_by(self.width).map(|value| ordered(*value)));
        }
        // Hashes are as large as they can be.
        self.ranks.iter().for_each(|rank| bytes.extend_from_slice(&rank.to_le_bytes()));
        bytes
    }

    /// The rows of some bytes.
    pub(crate) fn unpack(bytes: &[u8]) -> Result<Self, DamagedRows> {
        let mut rest = bytes;
        let mut header = [0usize; 5];
        for number in &mut header {
            *number = usize::try_from(word(&mut rest)?).map_err(|_| DamagedRows)?;
        }
        let [len, width, numbers, copies, texts] = header;
        let mut rows = Self::new(width);
        unpack(&mut rest, numbers, |number| rows.numbers.push(signed(number)))?;
        let mut end = 0;
        unpack(&mut rest, len - numbers.min(len), |length| {
            end += length as usize;
            rows.ends.push(end);
        })?;
        rows.texts = taken(&mut rest, texts)?.to_vec();
        unpack(&mut rest, len, |group| rows.groups.push(group as u32))?;
        unpack(&mut rest, copies, |copies| rows.copies.push(copies as u32))?;
        rows.values = vec![0; len * width];
        for column in 0..width {
            let mut place = column;
            unpack(&mut rest, len, |value| {
                rows.values[place] = signed(value);
                place += width;
            })?;
        }
        rows.ranks = taken(&mut rest, 8 * len)?.chunks_exact(8).map(number).collect();
        if rest.is_empty() && end == texts { Ok(rows) } else { Err(DamagedRows) }
    }
}

/// Signed numbers in their order. What stands for NULL becomes 0, which [`pack`] keeps apart from the others.
fn ordered(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

fn signed(number: u64) -> i64 {
    (number ^ (1 << 63)).cast_signed()
}

/// The least number above 0, the bytes of each, and the numbers: 0 as it is, others as their distance from the least,
/// and 1.
fn pack(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = u64> + Clone) {
    let others = numbers.clone().filter(|number| *number > 0);
    let (least, most) = others.fold((u64::MAX, 0), |(least, most), number| (least.min(number), most.max(number)));
    let least = least.min(most);
    let has_zero = numbers.clone().any(|number| number == 0);
    // Without a 0 the least one is at distance 0; no number is beyond 2⁶⁴ − 1, so that with one there is room for
    // the 1.
    let shift = u64::from(has_zero);
    let largest = if most == 0 { 0 } else { most - least + shift };
    let width = (u64::BITS - largest.leading_zeros()).div_ceil(8) as usize;
    bytes.extend_from_slice(&least.to_le_bytes());
    bytes.push(width as u8);
    bytes.push(shift as u8);
    for number in numbers {
        let distance = if number == 0 { 0 } else { number - least + shift };
        bytes.extend_from_slice(&distance.to_le_bytes()[..width]);
    }
}

/// Gives `each` the next `count` numbers.
fn unpack(rest: &mut &[u8], count: usize, mut each: impl FnMut(u64)) -> Result<(), DamagedRows> {
    let least = word(rest)?;
    let &[width, shift] = taken(rest, 2)? else { return Err(DamagedRows) };
    let (width, shift) = (usize::from(width), u64::from(shift));
    let of =
        |distance: u64| if shift == 1 && distance == 0 { 0 } else { least.wrapping_add(distance).wrapping_sub(shift) };
    if width == 0 {
        (0..count).for_each(|_| each(of(0)));
        return Ok(());
    }
    if width > 8 {
        return Err(DamagedRows);
    }
    for short in taken(rest, count.checked_mul(width).ok_or(DamagedRows)?)?.chunks_exact(width) {
        each(of(number(short)));
    }
    Ok(())
}

/// At most eight bytes as a number.
#[inline]
fn number(short: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..short.len()].copy_from_slice(short);
    u64::from_le_bytes(word)
}

fn word(rest: &mut &[u8]) -> Result<u64, DamagedRows> {
    Ok(number(taken(rest, 8)?))
}

fn taken<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], DamagedRows> {
    let (taken, left) = rest.split_at_checked(length).ok_or(DamagedRows)?;
    *rest = left;
    Ok(taken)
}
