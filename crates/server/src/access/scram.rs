//! What SCRAM-SHA-256 needs of a token [RFC 5802, RFC 7677]: with it a client proves that it has the token without
//! sending it.
//!
//! SaltedPassword = PBKDF2(token, salt, iterations), ClientKey = HMAC(SaltedPassword, "Client Key"),
//! StoredKey = SHA-256(ClientKey), ServerKey = HMAC(SaltedPassword, "Server Key"). Tokens have 256 bits, so that
//! iterations add nothing: they are as few as clients accept.

use ring::hmac::HMAC_SHA256;
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::num::NonZeroU32;

/// The least that RFC 7677 allows.
pub(crate) const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).unwrap();

/// What is kept of a token for SCRAM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScramVerifier {
    /// Random bytes that make equal tokens different here.
    #[serde(with = "hexadecimal")]
    pub salt: Vec<u8>,
    /// How often the hash is taken.
    pub iterations: u32,
    /// SHA-256 of the key that a client proves to have.
    #[serde(with = "hexadecimal")]
    pub stored_key: [u8; 32],
    /// The key with which the server proves that it knows the client.
    #[serde(with = "hexadecimal")]
    pub server_key: [u8; 32],
}

impl ScramVerifier {
    /// Of a token, with this salt.
    pub(crate) fn with_salt(token: &str, salt: Vec<u8>) -> Self {
        let salted = salted(token.as_bytes(), &salt, ITERATIONS);
        let stored_key = Sha256::digest(hmac(&salted, b"Client Key")).into();
        Self { salt, iterations: ITERATIONS.get(), stored_key, server_key: hmac(&salted, b"Server Key") }
    }
}

/// Bytes as the file has them: in hexadecimal.
mod hexadecimal {
    use hex::FromHex;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex::encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: FromHex<Error: std::fmt::Display>>(
        from: D,
    ) -> Result<T, D::Error> {
        T::from_hex(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// PBKDF2 with HMAC-SHA-256 [RFC 8018, 5.2].
pub(crate) fn salted(password: &[u8], salt: &[u8], iterations: NonZeroU32) -> [u8; 32] {
    let mut key = [0; 32];
    pbkdf2::derive(PBKDF2_HMAC_SHA256, iterations, salt, password, &mut key);
    key
}

/// HMAC-SHA-256 [RFC 2104].
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut tag = [0; 32];
    tag.copy_from_slice(ring::hmac::sign(&ring::hmac::Key::new(HMAC_SHA256, key), message).as_ref());
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2; RFC 7914, section 11 (PBKDF2-HMAC-SHA-256, one iteration, its first 32 bytes).
    #[test]
    fn published_vectors_come_out() {
        assert_eq!(
            hex::encode(hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex::encode(salted(b"passwd", b"salt", NonZeroU32::MIN)),
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        );
    }

    /// RFC 7677, section 3: user 'user', password 'pencil'. The client's proof is
    /// ClientKey ⊕ HMAC(StoredKey, AuthMessage).
    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        // The salt W22ZaJ0SNY7soEsUEjb6gQ== in hexadecimal.
        let salt = hex::decode("5b6d99689d12358eeca04b141236fa81").unwrap();
        let scram = ScramVerifier::with_salt("pencil", salt);
        let message = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                       s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        // The server's signature 6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4= in hexadecimal.
        let signature = "eabae24d1062db75a9451ff0b6ea7e98c8546549ff741e672d3251b2397de46e";
        assert_eq!(hex::encode(hmac(&scram.server_key, message.as_bytes())), signature);
        let kept = serde_json::to_string(&scram).unwrap();
        assert!(kept.contains("\"salt\":\"5b6d99689d12358eeca04b141236fa81\""), "{kept}");
        assert_eq!(serde_json::from_str::<ScramVerifier>(&kept).unwrap(), scram);
    }
}
