//! Who somebody is: an Ed25519 key. The private half stays in a file; the public half stands in the plan.

use crate::error::{Error, Result};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;
use zeroize::Zeroizing;

/// The public half of a key; its text is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// The header of a public Ed25519 key in the form that TLS sends (RFC 8410).
const HEADER: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl PublicKey {
    /// The key as TLS sends it.
    pub(crate) fn in_tls(&self) -> Vec<u8> {
        [&HEADER[..], &self.0].concat()
    }

    /// The key that TLS received, if it is one of ours.
    pub(crate) fn from_tls(bytes: &[u8]) -> Option<Self> {
        bytes.strip_prefix(&HEADER[..])?.try_into().ok().map(Self)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = unhex(text).and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        bytes
            .map(Self)
            .ok_or_else(|| Error::input("a key must be 64 hexadecimal digits, as 'scumble parties key' prints them"))
    }
}

/// A private key with its public half.
pub struct Key {
    private: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

const FIRST_LINE: &str = "# A private key of scumble parties. A person who has it can act as you: show it to nobody.";

impl Key {
    /// A new key.
    pub fn generate() -> Result<Self> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let made = made.map_err(|_| Error::failed("the operating system gives no random numbers"))?;
        Self::from_bytes(Zeroizing::new(made.as_ref().to_vec()), "the new key")
    }

    fn from_bytes(private: Zeroizing<Vec<u8>>, shown: &str) -> Result<Self> {
        let wrong = || Error::input(format!("{shown} is not a private key that 'scumble parties key' wrote"));
        let pair = Ed25519KeyPair::from_pkcs8(&private).map_err(|_| wrong())?;
        let public: &[u8] = pair.public_key().as_ref();
        let public = public.try_into().map_err(|_| wrong())?;
        Ok(Self { private, public: PublicKey(public) })
    }

    /// Reads a key from a file that [`Key::write`] wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let mut text = Zeroizing::new(String::new());
        let read = File::open(path).and_then(|file| file.take(4096).read_to_string(&mut text));
        read.map_err(|error| Error::input(format!("{}: {error}", path.display())))?;
        let digits = text.lines().find(|line| !line.starts_with('#')).and_then(unhex);
        Self::from_bytes(digits.unwrap_or_default(), &path.display().to_string())
    }

    /// Writes the key into a new file that only its owner can read; a file that is there stays as it is.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let digits = Zeroizing::new(hex::encode(&self.private));
        let text = Zeroizing::new(format!("{FIRST_LINE}\n{}\n", *digits));
        let written = options.open(path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::input(format!(
                "{} exists already, and a key is never overwritten: give another name, or print its public half with \
                    --public",
                path.display()
            )),
            _ => Error::input(format!("{}: {error}", path.display())),
        })
    }

    /// The half that stands in plans.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn private(&self) -> &[u8] {
        &self.private
    }
}

fn unhex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    hex::decode(text.trim()).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_from_their_files_and_stay_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let key = Key::generate().unwrap();
        key.write(&path).unwrap();
        assert_eq!(Key::read(&path).unwrap().public(), key.public());
        assert_ne!(Key::generate().unwrap().public(), key.public());
        let sentence = key.write(&path).unwrap_err().to_string();
        assert!(sentence.contains("never overwritten"), "{sentence}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(key.public().to_string().parse::<PublicKey>().unwrap(), key.public());
        assert_eq!(PublicKey::from_tls(&key.public().in_tls()), Some(key.public()));
        for wrong in ["", "00", "zz", &"0".repeat(63), &"0".repeat(66)] {
            assert!(wrong.parse::<PublicKey>().is_err());
        }
        std::fs::write(&path, "# nothing\nabcdef\n").unwrap();
        assert!(Key::read(&path).is_err_and(|error| error.to_string().contains("not a private key")));
        assert!(Key::read(&folder.path().join("none")).is_err());
    }
}
