//! The server's side of SCRAM-SHA-256 [RFC 5802, RFC 7677]: a client proves that it has a token without sending it.
//!
//! AuthMessage = client-first-bare "," server-first "," client-final-without-proof;
//! ClientSignature = HMAC(StoredKey, AuthMessage); ClientKey = ClientProof ⊕ ClientSignature, and SHA-256(ClientKey)
//! must be StoredKey. ServerSignature = HMAC(ServerKey, AuthMessage). Nothing is bound to the channel: the mechanism
//! with "-PLUS" is not offered.

use crate::access::{ScramVerifier, hmac};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The one mechanism that is offered.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";

/// An exchange after the client's first message.
pub(super) struct ScramExchange {
    scram: ScramVerifier,
    /// The client's first message without its header.
    bare: String,
    /// The header, which the client repeats.
    header: String,
    /// Both nonces.
    nonce: String,
    /// The server's first message.
    first: String,
}

impl ScramExchange {
    /// From a client's first message; `nonce` is the server's part. None where the message is not of the mechanism.
    pub fn begin(message: &[u8], scram: ScramVerifier, nonce: &str) -> Option<Self> {
        let message = std::str::from_utf8(message).ok()?;
        let mut parts = message.splitn(3, ',');
        let (flag, identity, bare) = (parts.next()?, parts.next()?, parts.next()?);
        // "y": the client could bind to the channel and believes that the server cannot, which is so. Nobody acts for
        // somebody else.
        if !["n", "y"].contains(&flag) || !identity.is_empty() {
            return None;
        }
        let mut attributes = bare.split(',');
        // The name is that of the connection's start, as in PostgreSQL.
        attributes.next()?.strip_prefix("n=")?;
        let theirs = attributes.next()?.strip_prefix("r=").filter(|nonce| !nonce.is_empty())?;
        let nonce = format!("{theirs}{nonce}");
        let first = format!("r={nonce},s={},i={}", STANDARD.encode(&scram.salt), scram.iterations);
        Some(Self { scram, bare: bare.to_string(), header: format!("{flag},,"), nonce, first })
    }

    /// What the server says to that.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// From the client's last message to the server's; none where the client does not have the token.
    pub fn finish(&self, message: &[u8]) -> Option<String> {
        let message = std::str::from_utf8(message).ok()?;
        let (without_proof, proof) = message.rsplit_once(",p=")?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next()?.strip_prefix("c=")?;
        let nonce = attributes.next()?.strip_prefix("r=")?;
        if binding != STANDARD.encode(&self.header) || nonce != self.nonce {
            return None;
        }
        let proof: [u8; 32] = STANDARD.decode(proof).ok()?.try_into().ok()?;
        let all = format!("{},{},{without_proof}", self.bare, self.first);
        let signature = hmac(&self.scram.stored_key, all.as_bytes());
        let key: Vec<u8> = proof.iter().zip(signature).map(|(byte, other)| byte ^ other).collect();
        let is_theirs: bool = Sha256::digest(&key).as_slice().ct_eq(&self.scram.stored_key[..]).into();
        is_theirs.then(|| format!("v={}", STANDARD.encode(hmac(&self.scram.server_key, all.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const LAST: &str =
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    fn exchange() -> ScramExchange {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        ScramExchange::begin(FIRST, ScramVerifier::with_salt("pencil", salt), "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0").unwrap()
    }

    /// RFC 7677, section 3.
    #[test]
    fn the_example_of_the_rfc_comes_out() {
        let exchange = exchange();
        assert_eq!(
            exchange.first(),
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = exchange.finish(LAST.as_bytes());
        assert_eq!(last.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn whatever_is_changed_is_refused() {
        let exchange = exchange();
        for (index, letter) in LAST.char_indices() {
            let other = if letter == 'A' { "B" } else { "A" };
            let mut changed = LAST.to_string();
            changed.replace_range(index..index + 1, other);
            assert_eq!(exchange.finish(changed.as_bytes()), None, "{changed}");
        }
        for length in 0..LAST.len() {
            assert_eq!(exchange.finish(&LAST.as_bytes()[..length]), None);
        }
        for first in [
            "",
            "n",
            "n,,",
            "p=tls-server-end-point,,n=user,r=x",
            "n,a=root,n=user,r=x",
            "n,,n=user,r=",
            "n,,r=x",
            "n,,m=1,n=user,r=x",
        ] {
            let scram = ScramVerifier::with_salt("pencil", vec![7; 16]);
            assert!(ScramExchange::begin(first.as_bytes(), scram, "x").is_none(), "{first}");
        }
    }
}
