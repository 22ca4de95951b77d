//! A password proven without being sent: SCRAM-SHA-256 (RFC 5802, RFC 7677), the client's side, without channel binding.

use sha2::{Digest, Sha256};

/// More rounds than any server asks for would keep us busy for minutes.
const MOST_ROUNDS: u32 = 1_000_000;

/// HMAC-SHA-256 (RFC 2104).
pub(crate) fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

/// PBKDF2 with HMAC-SHA-256, one block (RFC 8018).
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let mut last = hmac(password, &[salt, &[0, 0, 0, 1]].concat());
    let mut sum = last;
    for _ in 1..rounds {
        last = hmac(password, &last);
        sum.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

/// A proof under way.
pub(crate) struct Scram {
    nonce: String,
    /// What the server's last message must be.
    expected: String,
}

impl Scram {
    /// With a nonce that was never used: letters and digits.
    pub fn new(nonce: String) -> Self {
        Self { nonce, expected: String::new() }
    }

    /// The first message. The name is that of the connection.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The proof, from what the server answered; none where that is no answer.
    pub fn proof(&mut self, answer: &str, password: &str) -> Option<String> {
        let part = |name: &str| answer.split(',').find_map(|part| part.strip_prefix(name));
        let (nonce, salt, rounds) = (part("r=")?, from_base64(part("s=")?)?, part("i=")?.parse::<u32>().ok()?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() || !(1..=MOST_ROUNDS).contains(&rounds) {
            return None;
        }
        let salted = salted(password.as_bytes(), &salt, rounds);
        let client = hmac(&salted, b"Client Key");
        let without_proof = format!("c=biws,r={nonce}");
        let said = format!("{},{answer},{without_proof}", self.bare());
        let signature = hmac(&Sha256::digest(client), said.as_bytes());
        let proof: Vec<u8> = client.iter().zip(signature).map(|(one, other)| one ^ other).collect();
        self.expected = format!("v={}", to_base64(&hmac(&hmac(&salted, b"Server Key"), said.as_bytes())));
        Some(format!("{without_proof},p={}", to_base64(&proof)))
    }

    /// Whether the server knows the password too.
    pub fn is_proven(&self, last: &str) -> bool {
        !self.expected.is_empty() && last.split(',').next() == Some(self.expected.as_str())
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let of = |three: &[u8]| {
        let word = three.iter().chain(&[0u8, 0]).take(3).fold(0usize, |word, byte| word << 8 | usize::from(*byte));
        let digit = |place: usize| char::from(DIGITS[word >> (18 - 6 * place) & 63]);
        (0..4).map(move |place| if place <= three.len() { digit(place) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(of).collect()
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::new();
    for four in digits.as_bytes().chunks(4) {
        let mut word = 0usize;
        for byte in four {
            word = word << 6 | DIGITS.iter().position(|digit| digit == byte)?;
        }
        word <<= 6 * (4 - four.len());
        let whole = [(word >> 16) as u8, (word >> 8) as u8, word as u8];
        bytes.extend_from_slice(&whole[..four.len().checked_sub(1)?]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_example_of_the_standard_holds() {
        let mut scram = Scram { nonce: "rOprNGfwEbeRWgbNEkqO".to_string(), expected: String::new() };
        // There the message holds the user's name.
        let answer = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let salt = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = salted(b"pencil", &salt, 4096);
        let said = format!(
            "n=user,r=rOprNGfwEbeRWgbNEkqO,{answer},c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
        );
        let signature = hmac(&hmac(&salted, b"Server Key"), said.as_bytes());
        assert_eq!(to_base64(&signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let client = hmac(&salted, b"Client Key");
        let other = hmac(&Sha256::digest(client), said.as_bytes());
        let proof: Vec<u8> = client.iter().zip(other).map(|(one, other)| one ^ other).collect();
        assert_eq!(to_base64(&proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        // Ours says no name, and refuses another's nonce and too many rounds.
        assert!(scram.proof(answer, "pencil").unwrap().starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hv"));
        assert!(!scram.is_proven("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(scram.proof("r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "pencil").is_none());
        assert!(scram.proof(&answer.replace("4096", "9999999"), "pencil").is_none());
        for text in ["", "a", "ab", "abc", "abcd\u{ff}"] {
            assert_eq!(from_base64(&to_base64(text.as_bytes())).unwrap(), text.as_bytes());
        }
    }
}
