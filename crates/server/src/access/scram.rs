//! What SCRAM-SHA-256 needs of a token [RFC 5802, RFC 7677]: with it a client proves that it has the token without sending it.
//!
//! SaltedPassword = PBKDF2(token, salt, iterations), ClientKey = HMAC(SaltedPassword, "Client Key"), StoredKey = SHA-256(ClientKey),
//! ServerKey = HMAC(SaltedPassword, "Server Key"). Tokens have 256 bits, so that iterations add nothing: they are as few as clients accept.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The least that RFC 7677 allows.
pub(crate) const ITERATIONS: u32 = 4096;
/// The block length of SHA-256 in bytes.
const BLOCK: usize = 64;

/// What is kept of a token for SCRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scram {
    /// Random bytes that make equal tokens different here.
    pub salt: Vec<u8>,
    /// How often the hash is taken.
    pub iterations: u32,
    /// SHA-256 of the key that a client proves to have.
    pub stored_key: [u8; 32],
    /// The key with which the server proves that it knows the client.
    pub server_key: [u8; 32],
}

impl Scram {
    /// Of a token, with this salt.
    pub(crate) fn with_salt(token: &str, salt: Vec<u8>) -> Self {
        let salted = salted(token.as_bytes(), &salt, ITERATIONS);
        let stored_key = Sha256::digest(hmac(&salted, b"Client Key")).into();
        Self { salt, iterations: ITERATIONS, stored_key, server_key: hmac(&salted, b"Server Key") }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "salt": hex(&self.salt), "iterations": self.iterations, "stored_key": hex(&self.stored_key), "server_key": hex(&self.server_key),
        })
    }

    pub(super) fn from_json(shown: &Value) -> Option<Self> {
        let bytes = |key: &str| unhex(shown[key].as_str()?);
        Some(Self {
            salt: bytes("salt")?,
            iterations: u32::try_from(shown["iterations"].as_u64()?).ok()?,
            stored_key: bytes("stored_key")?.try_into().ok()?,
            server_key: bytes("server_key")?.try_into().ok()?,
        })
    }
}

/// The first block of PBKDF2 with HMAC-SHA-256, which is all of 32 bytes [RFC 8018, 5.2].
fn salted(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let mut last = hmac(password, &[salt, &1u32.to_be_bytes()].concat());
    let mut sum = last;
    for _ in 1..iterations {
        last = hmac(password, &last);
        sum.iter_mut().zip(last).for_each(|(byte, other)| *byte ^= other);
    }
    sum
}

/// HMAC-SHA-256 [RFC 2104].
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0u8; BLOCK];
    match key.len() > BLOCK {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |index: usize| u8::from_str_radix(text.get(index..index + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2; RFC 7914, section 11 (PBKDF2-HMAC-SHA-256, one iteration, its first 32 bytes).
    #[test]
    fn published_vectors_come_out() {
        assert_eq!(
            hex(&hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(&salted(b"passwd", b"salt", 1)),
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        );
    }

    /// RFC 7677, section 3: user 'user', password 'pencil'. The client's proof is ClientKey ⊕ HMAC(StoredKey, AuthMessage).
    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        // The salt W22ZaJ0SNY7soEsUEjb6gQ== in hexadecimal.
        let salt = unhex("5b6d99689d12358eeca04b141236fa81").unwrap();
        let scram = Scram::with_salt("pencil", salt);
        let message = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                       s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        // The server's signature 6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4= in hexadecimal.
        let signature = "eabae24d1062db75a9451ff0b6ea7e98c8546549ff741e672d3251b2397de46e";
        assert_eq!(hex(&hmac(&scram.server_key, message.as_bytes())), signature);
        assert_eq!(Scram::from_json(&scram.json()), Some(scram));
    }
}
