//! The handle of a run in a store.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The short handle of a stored run, made to be read aloud and typed: `k3mx8q2p`.
///
/// ```
/// use portolan_runtime::store::RunId;
/// let id = RunId::random();
/// assert_eq!(RunId::parse(&format!(" {} ", id.as_str().to_uppercase())), Some(id));
/// assert_eq!(RunId::parse("k3mx8q2"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// Creates a random handle. There are 31^8 of them, so a collision within one store is unlikely.
    ///
    /// # Panics
    /// The operating system gives no random bytes.
    #[must_use]
    pub fn random() -> RunId {
        let mut text = String::with_capacity(LENGTH);
        while text.len() < LENGTH {
            let mut bytes = [0_u8; LENGTH];
            getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
            // 5 bits have 32 values and the alphabet has 31 letters: one draw in 32 is discarded, so that all are
            // equally likely.
            let drawn = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 31)));
            text.extend(drawn.map(|letter| char::from(*letter)).take(LENGTH - text.len()));
        }
        RunId(text.into())
    }

    /// Parses a handle in upper or lower case. Returns `None` if the text is not one.
    pub fn parse(text: &str) -> Option<RunId> {
        let text = text.trim();
        if text.len() != LENGTH {
            return None;
        }
        let text = text.to_ascii_lowercase();
        text.bytes().all(|letter| ALPHABET.contains(&letter)).then(|| RunId(text.into()))
    }

    /// Returns the handle as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunId, D::Error> {
        let text = String::deserialize(deserializer)?;
        RunId::parse(&text).ok_or_else(|| de::Error::custom("not a run handle"))
    }
}

const LENGTH: usize = 8;

/// Letters and digits that are not mistaken for one another: no 0 o, no 1 l i.
const ALPHABET: &[u8; 31] = b"23456789abcdefghjkmnpqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_handles_use_the_whole_alphabet_and_parse() {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let id = RunId::random();
            assert_eq!(RunId::parse(id.as_str()).as_ref(), Some(&id));
            seen.extend(id.as_str().bytes());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ALPHABET);
    }

    #[test]
    fn only_handles_parse() {
        assert_eq!(RunId::parse("\tK3MX8Q2P\n").map(|id| id.to_string()).as_deref(), Some("k3mx8q2p"));
        for text in ["", "k3mx8q2", "k3mx8q2pp", "k3mx8q20", "k3mx8qlp", "k3mx 8q2p", "k3mx8qé", "../../..", "K3MX8Q2İ"]
        {
            assert_eq!(RunId::parse(text), None, "{text}");
        }
    }
}
