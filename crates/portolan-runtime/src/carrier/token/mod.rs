//! Tokens: a run as one line of text, which whoever holds it carries from call to call.
//!
//! ```text
//! v1.gzB64.<base64 of one gzip member>
//! ```
//! A token is signed with the user's key, so that it opens only as it was given out: each byte of it is either always the
//! same or vouched for by the signature. Signed is not hidden: whoever holds a token can read it. Nor is it known here
//! whether it is the run's last one. `docs/token.md` has the form to the byte.
//!
//! What the state of a run looks like is not known here.
//!
//! # Example
//! ```
//! use portolan_runtime::carrier::token::{Claims, Code, Fingerprint, Tokens};
//! use portolan_runtime::digest::Digest;
//! use portolan_runtime::store::RunId;
//!
//! # let folder = tempfile::tempdir()?;
//! # let data = folder.path();
//! let definition = Digest::of("the definition");
//! let tokens = Tokens::in_folder(data);
//! let claims = Claims {
//!     workflow: "release".into(),
//!     version: Some("1.2.0".into()),
//!     definition: Fingerprint::of(&definition),
//!     run: RunId::random(),
//!     revision: 7,
//!     state: b"where it stands".to_vec(),
//! };
//! let text = tokens.seal(&claims)?;
//! assert!(text.starts_with("v1.gzB64."));
//!
//! let opened = tokens.open(&text)?;
//! assert_eq!(opened, claims);
//! assert!(opened.check_workflow("release").is_ok());
//! assert!(opened.check_definition(&definition, None).is_ok());
//! assert_eq!(tokens.open(&text[1..]).unwrap_err().code, Code::Damaged);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod claims;
mod fault;
mod gzip;
mod layout;
mod seal;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub use claims::{Claims, Fingerprint};
pub use fault::{Code, TokenFault};

use crate::keys::KeyFile;
use gzip::Member;
use seal::Seal;

/// What makes tokens and opens them: the user's keys.
pub struct Tokens {
    keys: KeyFile,
    /// An agent looks again and again where it is: its claims are packed once.
    last: Mutex<Option<Sealed>>,
}

/// A token that was made.
struct Sealed {
    /// The id of the key that signed it.
    key: String,
    claims: Claims,
    text: String,
}

impl Tokens {
    /// The tokens of the user whose data folder this is. Nothing is read before it is needed; the first token makes the
    /// file of keys where there is none.
    pub fn in_folder(data: &Path) -> Tokens {
        Tokens { keys: KeyFile::in_folder(data, "tokens are signed with its keys"), last: Mutex::default() }
    }

    /// The token of these claims, signed with the newest key. The same claims and the same key give the same text.
    ///
    /// # Errors
    /// When they are too large for any token, or the keys cannot be used.
    pub fn seal(&self, claims: &Claims) -> Result<String, TokenFault> {
        let key = self.keys.newest()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.key == key.id() && last.claims == *claims) {
            return Ok(last.text.clone());
        }
        let content = layout::write(claims);
        let packed = gzip::pack(&content)?;
        let seal = Seal::of(&key, layout::PRESENT, &packed);
        let text = text::write(&gzip::write(&seal, &packed, &content))?;
        *last = Some(Sealed { key: key.id().to_owned(), claims: claims.clone(), text: text.clone() });
        Ok(text)
    }

    /// What a token claims. It may have been signed with any key of the file.
    ///
    /// # Errors
    /// When it is not, to the letter, a text that was given out here, or the keys cannot be used.
    pub fn open(&self, text: &str) -> Result<Claims, TokenFault> {
        let bytes = text::read(text)?;
        let member = gzip::read(&bytes)?;
        // Before anything of the content is believed.
        self.check_seal(&member)?;
        layout::read(member.seal().layout, member.content())
    }

    fn check_seal(&self, member: &Member<'_>) -> Result<(), TokenFault> {
        let seal = member.seal();
        let signers = seal.signers(&self.keys)?;
        if member.packed.is_some_and(|packed| seal.is_of_any(&signers, packed)) {
            return Ok(());
        }
        // Who packs a token anew, or changes a bit that unpacks to the same, forges nothing.
        match member.repacked() {
            Some(packed) if seal.is_of_any(&signers, &packed) => Err(gzip::packed_anew()),
            _ => Err(seal.forged()),
        }
    }
}
