//! Families of histograms on which errors are measured, and a power law like that of passwords.

use super::{MOST_ELEMENTS, Partition, Run};
use crate::error::Result;

named! {
    /// A family of histograms, one for each number of elements.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::HistogramFamily;
    /// assert_eq!(HistogramFamily::Staircase.generate(10)?.expanded(), [4, 3, 2, 1]);
    /// assert_eq!(HistogramFamily::Passwords.generate(10_000_000)?.elements(), 10_000_000);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum HistogramFamily {
        /// m, m−1, …, 1: the worst that is known for rows and columns.
        Staircase = "staircase",
        /// 2(m−1), …, 2, 0: the instance of Lemma 10.
        WideStaircase = "wide-staircase",
        /// ⌊n/(i·H_n)⌋: a power law of exponent 1.
        Zipf = "zipf",
        /// The password frequencies fitted to RockYou: the r most frequent have a share of 0.03742·r^0.1872.
        Passwords = "passwords",
        /// √n values with count √n.
        Flat = "flat",
        /// Every value once.
        Singletons = "singletons",
    }
}

impl HistogramFamily {
    /// The member with at most `elements` elements.
    pub fn generate(self, elements: u64) -> Result<Partition> {
        refuse_if!(elements > MOST_ELEMENTS, "a generated histogram has at most 2^40 elements");
        let root = elements.isqrt();
        match self {
            Self::Staircase => Partition::from_counts(1..=((8 * elements + 1).isqrt() - 1) / 2),
            Self::WideStaircase => Partition::from_counts((0..root).map(|step| 2 * step)),
            Self::Zipf => zipf(elements),
            Self::Passwords => passwords(elements),
            Self::Flat => Partition::from_runs([Run { count: root, values: root }]),
            Self::Singletons => Partition::from_runs([Run { count: 1, values: elements }]),
        }
    }
}

fn zipf(elements: u64) -> Result<Partition> {
    // H_n to 1/(252 n^6): Euler–Maclaurin.
    let n = elements.max(1) as f64;
    const EULER: f64 = 0.577_215_664_901_532_9;
    let harmonic = match elements {
        0..=100 => (1..=elements.max(1)).map(|rank| 1.0 / rank as f64).sum(),
        _ => libm::log(n) + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n),
    };
    let counts = (1..=elements).map(|rank| (n / (rank as f64 * harmonic)) as u64);
    Partition::from_counts(counts.take_while(|count| *count > 0))
}

fn passwords(elements: u64) -> Result<Partition> {
    let below = |rank: u64| (elements as f64 * (0.03742 * libm::pow(rank as f64, 0.1872)).min(1.0)) as u64;
    // Once the expected count is below 1 the differences are 0 or 1, and what is left is singletons.
    let last = libm::pow(elements as f64 * 0.03742 * 0.1872, 1.0 / (1.0 - 0.1872)) as u64 + 1;
    let singletons = elements - below(last).min(elements);
    let counts = Partition::from_counts((1..=last).map(|rank| below(rank) - below(rank - 1)))?;
    let rest = Partition::from_runs([Run { count: 1, values: singletons }])?;
    Partition::from_runs(counts.union(&rest).runs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_family_has_more_elements_than_asked() {
        for family in HistogramFamily::ALL {
            for elements in [0, 1, 2, 3, 10, 99, 100, 1000, 123_456] {
                let partition = family.generate(elements).unwrap();
                assert!(partition.elements() <= elements, "{} {elements}", family.name());
            }
        }
        assert!(HistogramFamily::ALL.iter().all(|family| family.generate(u64::MAX).is_err()));
        assert_eq!(HistogramFamily::WideStaircase.generate(16).unwrap().expanded(), [6, 4, 2]);
        assert_eq!(HistogramFamily::Flat.generate(9).unwrap().expanded(), [3, 3, 3]);
        assert_eq!(HistogramFamily::Zipf.generate(100).unwrap().expanded()[..3], [19, 9, 6]);
    }
}
