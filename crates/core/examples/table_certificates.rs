//! What the tables of the fast path decide by, for `proofs/tables/check.py`.
//!
//! `cargo run -p scumble --features harness --example table_certificates -- laplace 10 gaussian 2.5`

use scumble::noise::{DiscreteGaussian, DiscreteLaplace, Geometric};
use scumble::quantity::{Scale, Sigma};
use scumble::{Error, Result};

pub(crate) fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|word| word.parse().ok());
        let (Some(law), Some(number)) = (pair.first(), number) else {
            return Err(Error::refused("say which laws, each with its number: `laplace 10 gaussian 2.5`"));
        };
        let certificate = match law.as_str() {
            "geometric" => Geometric::new(Scale::new(number)?).certificate(),
            "laplace" => DiscreteLaplace::new(Scale::new(number)?).certificate(),
            "gaussian" => DiscreteGaussian::new(Sigma::new(number)?).certificate(),
            other => return Err(Error::refused(format!("{other} is not geometric, laplace or gaussian"))),
        };
        println!("{certificate}");
    }
    Ok(())
}
