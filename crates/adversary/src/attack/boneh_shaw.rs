//! Tracing by the code of Boneh and Shaw (1998; Vadhan 2017, 7.5.3): whose row is in published means.
//!
//! Users 1 … n; n + 1 blocks of B columns in secret random order; user i has 0 in the blocks before block i and 1 from
//! it on. A word that keeps what all agree on has only zeros in block 0 and only ones in block n, so that somewhere
//! from one block to the next the ones rise by B/n; user i alone tells block i − 1 from block i.

use scumble::error::Result;
use scumble::noise::BitSource;
use scumble::quantity::Beta;

/// Users beyond this are refused.
const MOST_USERS: u64 = 10_000;
/// Blocks up to this length have their false accusations computed exactly.
const MOST_EXACT: u64 = 20_000;

fn check(users: u64) -> Result<()> {
    refuse_if!(!(1..=MOST_USERS).contains(&users), "a code has 1 to {MOST_USERS} users, not {users}");
    Ok(())
}

/// ⌈n²·ln(n/β)⌉ + 1 columns in a block keep the probability of accusing anybody innocent below β (Serfling 1974; half
/// of what Hoeffding's bound needs).
///
/// ```
/// assert_eq!(scumble_adversary::attack::boneh_shaw::block(3, scumble::quantity::beta(0.05)?)?, 38);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn block(users: u64, beta: Beta) -> Result<u64> {
    check(users)?;
    let n = users as f64;
    Ok(libm::ceil(n * n * libm::log(n / beta.get())).max(0.0) as u64 + 1)
}

/// The probability that anybody innocent is accused is at most n·max_m P\[n(2X − m) ≥ B\],
/// X ~ Hypergeometric(2B, m, B): whatever was published, with m ones in the two blocks that only user i could tell
/// apart. Rounded up; none for blocks too long to go through.
///
/// ```
/// let most = scumble_adversary::attack::boneh_shaw::false_accusation(3, 38)?.unwrap();
/// assert!((most - 0.0082967506).abs() < 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn false_accusation(users: u64, block: u64) -> Result<Option<f64>> {
    check(users)?;
    refuse_if!(block == 0, "a block has at least one column");
    if block > MOST_EXACT {
        return Ok(None);
    }
    let most = (0..=2 * block).map(|ones| tail(users, block, ones)).fold(0.0, f64::max);
    Ok(Some((users as f64 * most).min(1.0)))
}

/// P\[n(2X − m) ≥ B\], rounded up.
fn tail(users: u64, block: u64, ones: u64) -> f64 {
    // The least x with n(2x − m) ≥ B.
    let first = (ones + block.div_ceil(users)).div_ceil(2).max(ones.saturating_sub(block));
    let last = ones.min(block);
    if first > last {
        return 0.0;
    }
    let ln_factorial = |n: u64| libm::lgamma(n as f64 + 1.0);
    let ln_choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let ln_first = ln_choose(ones, first) + ln_choose(2 * block - ones, block - first) - ln_choose(2 * block, block);
    let (mut term, mut sum) = (1.0, 1.0);
    for x in first..last {
        let up = (ones - x) as f64 * (block - x) as f64;
        let down = (x + 1) as f64 * (block + x + 1 - ones) as f64;
        term *= up / down;
        sum += term;
        if term < 1e-18 * sum {
            // From the mean on the ratios fall, and this far beyond it the rest is smaller still.
            sum += term;
            break;
        }
    }
    let slack = 1e-14 + 1e-15 * ln_factorial(2 * block) + 4e-16 * (last - first) as f64;
    libm::exp(ln_first) * sum * (1.0 + slack)
}

/// The least block whose false accusations, computed exactly, stay below β (it is not monotone: longer blocks may do
/// worse); none where that would take long.
pub fn least_block(users: u64, beta: Beta) -> Result<Option<u64>> {
    let closed = block(users, beta)?;
    if closed > 1500 {
        return Ok(None);
    }
    for length in 1..=closed {
        if false_accusation(users, length)?.is_some_and(|most| most <= beta.get()) {
            return Ok(Some(length));
        }
    }
    Ok(None)
}

/// A code: the block of each column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BonehShawCode {
    users: u64,
    block: u64,
    columns: Vec<u64>,
}

impl BonehShawCode {
    /// A code with the columns in a random order.
    ///
    /// ```
    /// use scumble_adversary::attack::boneh_shaw::{BonehShawCode, block};
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::quantity::beta;
    /// let code = BonehShawCode::generate(3, block(3, beta(0.05)?)?, &mut InsecureSeededSource::new(1))?;
    /// // Whoever publishes user 2's own row is user 2.
    /// assert_eq!(code.accused(&code.row(2)?)?, Some(2));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn generate<S: BitSource + ?Sized>(users: u64, block: u64, bits: &mut S) -> Result<Self> {
        check(users)?;
        let mut columns: Vec<u64> = (0..=users).flat_map(|at| (0..block).map(move |_| at)).collect();
        // Fisher and Yates; 64 random bits leave a bias of at most 2⁻³² for each place.
        for at in (1..columns.len()).rev() {
            columns.swap(at, ((u128::from(bits.next_u64()) * (at as u128 + 1)) >> 64) as usize);
        }
        Ok(Self { users, block, columns })
    }

    /// A code whose columns are known: the block of each, every block equally often.
    pub fn new(users: u64, columns: Vec<u64>) -> Result<Self> {
        check(users)?;
        let block = columns.len() as u64 / (users + 1);
        let even = |at: u64| columns.iter().filter(|column| **column == at).count() as u64 == block;
        if block == 0 || !(0..=users).all(even) || columns.len() as u64 != block * (users + 1) {
            refuse!("the columns must lie in blocks 0 to {users}, equally many in each");
        }
        Ok(Self { users, block, columns })
    }

    /// The row of a user, from 1 on.
    pub fn row(&self, user: u64) -> Result<Vec<bool>> {
        refuse_if!(!(1..=self.users).contains(&user), "a user must be from 1 to {}, not {user}", self.users);
        Ok(self.columns.iter().map(|block| *block >= user).collect())
    }

    /// The columns in a block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// The first user i with n·(ones in block i − ones in block i − 1) ≥ B.
    pub fn accused(&self, published: &[bool]) -> Result<Option<u64>> {
        if published.len() != self.columns.len() {
            let (given, columns) = (published.len(), self.columns.len());
            refuse!("the published word has {given} bits, the code {columns} columns");
        }
        let mut ones = vec![0i128; self.users as usize + 1];
        for (block, bit) in self.columns.iter().zip(published) {
            ones[*block as usize] += i128::from(*bit);
        }
        let rises = |user: &u64| {
            let at = *user as usize;
            i128::from(self.users) * (ones[at] - ones[at - 1]) >= i128::from(self.block)
        };
        Ok((1..=self.users).find(rises))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use num_traits::{One, ToPrimitive, Zero};

    fn choose(n: u64, k: u64) -> BigUint {
        (0..k).fold(BigUint::one(), |product, i| product * (n - i) / (i + 1))
    }

    #[test]
    fn false_accusations_are_those_of_exact_integers() {
        for (users, block) in [(2u64, 15u64), (3, 7), (5, 20)] {
            let exact = |ones: u64| {
                let from = (0..=ones.min(block)).filter(|x| users * 2 * x >= block + users * ones && ones - x <= block);
                from.map(|x| choose(ones, x) * choose(2 * block - ones, block - x)).fold(BigUint::zero(), |a, b| a + b)
            };
            let most = (0..=2 * block).map(exact).max().unwrap().to_f64().unwrap()
                / choose(2 * block, block).to_f64().unwrap();
            let found = false_accusation(users, block).unwrap().unwrap();
            let truth = (users as f64 * most).min(1.0);
            assert!(
                found >= truth * (1.0 - 1e-14) && found <= truth * (1.0 + 1e-9),
                "{users} {block}: {found} {truth}"
            );
        }
    }

    /// Any mix of two users' rows that keeps what they agree on accuses one of them.
    #[test]
    fn a_coalition_loses_one_of_its_own() {
        use scumble::noise::InsecureSeededSource;
        let mut bits = InsecureSeededSource::new(4);
        let code = BonehShawCode::generate(5, block(5, Beta::new(0.01).unwrap()).unwrap(), &mut bits).unwrap();
        let (one, other) = (code.row(2).unwrap(), code.row(4).unwrap());
        for seed in 0..5 {
            let mut coins = InsecureSeededSource::new(seed);
            let word: Vec<bool> =
                one.iter().zip(&other).map(|(a, b)| if coins.next_bits(1) == 1 { *a } else { *b }).collect();
            assert!(matches!(code.accused(&word).unwrap(), Some(2 | 4)));
        }
        assert!(
            code.row(0).is_err() && code.accused(&[true]).is_err() && BonehShawCode::new(2, vec![0, 1, 1]).is_err()
        );
    }
}
