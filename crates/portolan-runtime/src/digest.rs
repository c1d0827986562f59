//! SHA-256 digests: the names of definitions, of commands, and of what a person trusts.

use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, in lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(Arc<str>);

impl Digest {
    /// Returns the digest of a text or of bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Digest {
        Digest::from_hash(Sha256::new().chain_update(bytes))
    }

    /// Returns the digest of several texts, each with its length, so that different lists have different digests.
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        let hash = parts
            .into_iter()
            .fold(Sha256::new(), |hash, part| hash.chain_update((part.len() as u64).to_le_bytes()).chain_update(part));
        Digest::from_hash(hash)
    }

    fn from_hash(hash: Sha256) -> Digest {
        Digest(HEXLOWER.encode(&hash.finalize()).into())
    }

    /// Wraps the text of a store without validation: it is compared with the digest of the content it names.
    pub(crate) fn stored(text: &str) -> Digest {
        Digest(text.into())
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Readers of files rely on this validation: a digest is part of their names.
impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Digest, &'static str> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 64 && text.bytes().all(is_digit) {
            true => Ok(Digest(text.into())),
            false => Err("a digest has 64 lower-case hexadecimal digits"),
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0.as_ref().to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of("").as_str(), empty);
        assert_ne!(Digest::of("a"), Digest::of("b"));
    }
}
