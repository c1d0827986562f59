//! The codes of the page's buttons. A code is given with a view of the run, in metadata that clients do not show to
//! models, and counts for one position of one run, for the client that got it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use portolan_runtime::store::RunId;

/// The most codes that count at once. A page that is still open gets a new one.
const MOST: usize = 256;

/// The codes that count, the oldest first.
#[derive(Default)]
pub(super) struct Codes(Mutex<VecDeque<Code>>);

struct Code {
    text: String,
    /// The client, the run, and the revision of the position.
    about: String,
}

impl Codes {
    /// Returns a code for a position: the one that was given for it before, if it still counts.
    pub(super) fn give(&self, about: String) -> String {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = codes.iter().find(|code| code.about == about) {
            return known.text.clone();
        }
        if codes.len() >= MOST {
            codes.pop_front();
        }
        // Two handles form a token of 80 bits that nobody can guess.
        let text = format!("{}{}", RunId::random(), RunId::random());
        codes.push_back(Code { text: text.clone(), about });
        text
    }

    /// Checks whether a code counts for a position. It counts until the answer is recorded, which may take two calls.
    pub(super) fn counts(&self, text: &str, about: &str) -> bool {
        let codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.iter().any(|code| code.text == text && code.about == about)
    }

    /// Removes a code whose answer is recorded.
    pub(super) fn spend(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|code| code.text != text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_for_its_position_until_it_is_spent() {
        let codes = Codes::default();
        let code = codes.give("ada k7m2 4".to_owned());
        assert_eq!(codes.give("ada k7m2 4".to_owned()), code);
        assert!(codes.counts(&code, "ada k7m2 4"));
        assert!(!codes.counts(&code, "ada k7m2 5") && !codes.counts("", "ada k7m2 4"));
        codes.spend(&code);
        assert!(!codes.counts(&code, "ada k7m2 4"));
    }

    #[test]
    fn the_oldest_codes_are_forgotten() {
        let codes = Codes::default();
        let first = codes.give("0".to_owned());
        (1..=MOST).for_each(|number| drop(codes.give(number.to_string())));
        assert!(!codes.counts(&first, "0"));
    }
}
