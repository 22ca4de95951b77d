//! How wide a string is about, and where it breaks into lines. Fonts differ: these widths are those of broad ones, so
//! that what has room here has room everywhere.

/// The width of a string in letters of this size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(relative).sum::<f64>() * size
}

fn relative(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '|' | '!' | '\'' | '.' | ',' | ':' | ';' | ' ' | '\u{202f}' | '\u{a0}' => 0.33,
        'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' => 0.72,
        'a'..='z' | '0'..='9' => 0.63,
        wide if ('\u{1100}'..'\u{fb00}').contains(&wide) && !('\u{1e00}'..'\u{2e80}').contains(&wide) => 1.05,
        _ => 0.72,
    }
}

/// A string cut to this width, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if width(&short, size) + width("…", size) + relative(letter) * size > room {
            break;
        }
        short.push(letter);
    }
    format!("{}…", short.trim_end())
}

/// A string in lines of this width, as many as may be; what has no room ends in an ellipsis. Lines break at spaces and
/// after hyphens, commas and slashes; a word without any is cut.
pub(crate) fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words = text.split_inclusive([' ', '-', ',', '/', '\n']).peekable();
    while let Some(word) = words.next() {
        let whole = format!("{line}{word}");
        if width(whole.trim_end(), size) <= room || line.is_empty() {
            line = whole;
        } else if lines.len() + 1 == most {
            line = whole + &words.by_ref().collect::<String>();
        } else {
            lines.push(std::mem::take(&mut line));
            line = word.to_string();
        }
    }
    lines.push(line);
    lines.iter().map(|line| cut(line.trim(), size, room)).filter(|line| !line.is_empty()).collect()
}

/// The width of the widest of some lines.
pub(crate) fn widest<'a>(lines: impl IntoIterator<Item = &'a str>, size: f64) -> f64 {
    lines.into_iter().map(|line| width(line, size)).fold(0.0, f64::max)
}

/// A number for people: no more decimals than its step needs, and from five digits on groups of three.
pub(crate) fn number(value: f64, step: f64) -> String {
    if value != 0.0 && (value.abs() >= 1e12 || (value.abs() < 1e-4 && step < 1e-4)) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let places = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    let plain = format!("{value:.places$}");
    let plain = if plain.trim_start_matches(['-', '0', '.']).is_empty() { plain.replace('-', "") } else { plain };
    let (sign, digits) = plain.split_at(usize::from(plain.starts_with('-')));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let sign = if sign.is_empty() { "" } else { "−" };
    if whole.len() < 5 {
        return format!("{sign}{digits}");
    }
    let letters: Vec<char> = whole.chars().collect();
    let groups: Vec<String> = letters.rchunks(3).rev().map(|group| group.iter().collect()).collect();
    format!("{sign}{}{decimals}", groups.join("\u{202f}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_break_between_words_and_end_in_an_ellipsis() {
        let lines = wrapped("Visits to outpatient clinics by quarter", 12.0, 130.0, 3);
        assert_eq!(lines, ["Visits to outpatient", "clinics by quarter"]);
        let lines = wrapped("Visits to outpatient clinics by quarter and by federal state", 12.0, 130.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        let lines = wrapped("Donaudampfschifffahrtsgesellschaft", 12.0, 100.0, 3);
        assert!(lines.len() == 1 && lines[0].ends_with('…') && width(&lines[0], 12.0) <= 100.0, "{lines:?}");
        assert_eq!(wrapped("a-b", 12.0, 500.0, 1), ["a-b"]);
        assert!(wrapped("", 12.0, 100.0, 2).is_empty());
    }

    #[test]
    fn numbers_have_groups_of_three_digits_and_a_minus() {
        for (value, step, text) in [
            (1234.0, 1.0, "1234"),
            (12_345.0, 1.0, "12\u{202f}345"),
            (-2_000_000.0, 1e6, "−2\u{202f}000\u{202f}000"),
            (0.25, 0.05, "0.25"),
            (-0.0, 0.1, "0.0"),
            (3e-5, 1e-5, "3e-5"),
        ] {
            assert_eq!(number(value, step), text);
        }
    }
}
