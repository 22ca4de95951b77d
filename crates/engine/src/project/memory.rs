//! How much memory a release may take: `memory = "4 GB"`.

use super::section::Spot;
use crate::error::Result;

/// With less than this, no table can be read: the program itself and what it reads at a time need about half of it.
const LEAST: (&str, u64) = ("128 MB", 128_000_000);

/// What a number of bytes is written in.
const UNITS: [(&str, f64); 8] = [
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// The bytes that a text says.
pub(super) fn memory(spot: &Spot) -> Result<u64> {
    let text = spot.text()?.trim();
    let unit = text.trim_start_matches(|sign: char| !sign.is_ascii_alphabetic());
    let number = text[..text.len() - unit.len()].trim().parse::<f64>();
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| factor);
    let (Ok(number), Some(factor)) = (number, factor) else {
        return Err(spot.error("memory is a number and a unit, such as \"4 GB\" or \"500 MB\""));
    };
    let bytes = (number * factor) as u64;
    if bytes < LEAST.1 {
        return Err(spot.error(format!("{text} of memory is too little to read a table in: give at least {}", LEAST.0)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use crate::place::Origin;
    use crate::project::parse;

    fn read(text: &str) -> Result<u64, String> {
        let file = parse(Origin::File("scumble.toml".to_string()), &format!("memory = {text}\n")).unwrap();
        super::memory(file.get("memory").unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_and_a_unit() {
        let fine =
            [("4 GB", 4_000_000_000), ("500MB", 500_000_000), ("1.5 gib", 1_610_612_736), ("128 MB", 128_000_000)];
        for (text, bytes) in fine {
            assert_eq!(read(&format!("\"{text}\"")), Ok(bytes), "{text}");
        }
        for text in ["\"4\"", "\"GB\"", "\"four GB\"", "\"4 GB or so\"", "\"\"", "\"1e3 MB\"", "\"NaN GB\""] {
            let sentence = read(text).unwrap_err();
            assert!(
                sentence.ends_with("memory is a number and a unit, such as \"4 GB\" or \"500 MB\""),
                "{text}: {sentence}"
            );
        }
        for text in ["\"127 MB\"", "\"0 GB\"", "\"-4 GB\"", "\"900 KB\""] {
            let sentence = read(text).unwrap_err();
            assert!(sentence.ends_with("is too little to read a table in: give at least 128 MB"), "{text}: {sentence}");
            assert!(sentence.starts_with("scumble.toml:1:10"), "{sentence}");
        }
        assert!(read("4").unwrap_err().contains("string in quotation marks"));
    }
}
