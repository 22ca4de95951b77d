//! The table that marginals are measured on: 50,000 people, 8 attributes, from a small Bayesian network, by integers
//! only.
//!
//! region(8); age(6) given region; sex(2); educ(5) given age, sex; occ(4) given educ, sex; employed(2) given age, educ;
//! insured(2) given employed, occ; and flag(2) = sex XOR employed, flipped with probability 1/5: an interaction of
//! three that pairs hardly show.

/// How many people there are.
pub const PEOPLE: usize = 50_000;
/// The attributes' names.
pub const NAMES: [&str; 8] = ["region", "age", "sex", "educ", "occ", "employed", "insured", "flag"];
/// How many values each attribute has.
pub const SIZES: [u32; 8] = [8, 6, 2, 5, 4, 2, 2, 2];
const SEED: u64 = 20_240_229;
const PARENTS: [&[usize]; 7] = [&[], &[0], &[], &[1, 2], &[3, 2], &[1, 3], &[5, 4]];

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// One column of values per attribute.
pub fn columns() -> Vec<Vec<u8>> {
    let mut random = SplitMix64(SEED);
    let tables: Vec<Vec<Vec<u64>>> = (0..7).map(|attribute| cumulative_weights(attribute, &mut random)).collect();
    let mut columns = vec![Vec::new(); 8];
    for _ in 0..PEOPLE {
        let mut person = [0u8; 8];
        for attribute in 0..7 {
            let row = PARENTS[attribute]
                .iter()
                .fold(0, |row, &parent| row * SIZES[parent] as usize + usize::from(person[parent]));
            let weights = &tables[attribute][row];
            let drawn = random.next() % weights[weights.len() - 1];
            person[attribute] = weights.iter().take_while(|&&weight| drawn >= weight).count() as u8;
        }
        person[7] = (person[2] ^ person[5]) ^ u8::from(random.next().is_multiple_of(5));
        columns.iter_mut().zip(person).for_each(|(column, value)| column.push(value));
    }
    columns
}

fn cumulative_weights(attribute: usize, random: &mut SplitMix64) -> Vec<Vec<u64>> {
    let rows: u32 = PARENTS[attribute].iter().map(|&parent| SIZES[parent]).product();
    let row = |random: &mut SplitMix64| {
        let mut total = 0;
        let mut weight = || {
            total += 1 + (random.next() % 100).pow(2);
            total
        };
        (0..SIZES[attribute]).map(|_| weight()).collect()
    };
    (0..rows).map(|_| row(random)).collect()
}
