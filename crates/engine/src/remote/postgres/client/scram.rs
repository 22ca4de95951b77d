//! A password proven without being sent: SCRAM-SHA-256 (RFC 5802, RFC 7677), the client's side, without channel binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{HMAC_SHA256, Key, Tag, sign};
use ring::pbkdf2::{PBKDF2_HMAC_SHA256, derive};
use sha2::{Digest, Sha256};
use std::num::NonZeroU32;

/// More rounds than any server asks for would keep us busy for minutes.
const MOST_ROUNDS: u32 = 1_000_000;

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> Tag {
    sign(&Key::new(HMAC_SHA256, key), text)
}

/// PBKDF2 with HMAC-SHA-256 (RFC 8018).
fn salted(password: &[u8], salt: &[u8], rounds: NonZeroU32) -> [u8; 32] {
    let mut key = [0; 32];
    derive(PBKDF2_HMAC_SHA256, rounds, salt, password, &mut key);
    key
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
        let (nonce, salt) = (part("r=")?, STANDARD.decode(part("s=")?).ok()?);
        let rounds = part("i=")?.parse::<NonZeroU32>().ok().filter(|rounds| rounds.get() <= MOST_ROUNDS)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return None;
        }
        let salted = salted(password.as_bytes(), &salt, rounds);
        let client = hmac(&salted, b"Client Key");
        let without_proof = format!("c=biws,r={nonce}");
        let said = format!("{},{answer},{without_proof}", self.bare());
        self.expected = format!("v={}", STANDARD.encode(hmac(hmac(&salted, b"Server Key").as_ref(), said.as_bytes())));
        Some(format!("{without_proof},p={}", STANDARD.encode(masked(client.as_ref(), said.as_bytes()))))
    }

    /// Whether the server knows the password too.
    pub fn is_proven(&self, last: &str) -> bool {
        !self.expected.is_empty() && last.split(',').next() == Some(self.expected.as_str())
    }
}

/// The client's key under the signature of what was said.
fn masked(client: &[u8], said: &[u8]) -> Vec<u8> {
    let signature = hmac(&Sha256::digest(client), said);
    client.iter().zip(signature.as_ref()).map(|(one, other)| one ^ other).collect()
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
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = salted(b"pencil", &salt, 4096.try_into().unwrap());
        let said = format!(
            "n=user,r=rOprNGfwEbeRWgbNEkqO,{answer},c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
        );
        let signature = hmac(hmac(&salted, b"Server Key").as_ref(), said.as_bytes());
        assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let client = hmac(&salted, b"Client Key");
        let proof = masked(client.as_ref(), said.as_bytes());
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        // Ours says no name, and refuses another's nonce and too many rounds.
        assert!(scram.proof(answer, "pencil").unwrap().starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hv"));
        assert!(!scram.is_proven("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(scram.proof("r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "pencil").is_none());
        assert!(scram.proof(&answer.replace("4096", "9999999"), "pencil").is_none());
        assert!(scram.proof(&answer.replace("4096", "0"), "pencil").is_none());
    }
}
