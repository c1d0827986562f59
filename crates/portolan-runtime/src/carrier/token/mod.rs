//! Tokens: a run as one line of text, which its holder carries from call to call.
//!
//! ```text
//! v1.gzB64.<base64 of one gzip member>
//! ```
//! A token is signed with the user's key, so that it opens only as it was given out: each byte is either constant or
//! covered by the signature. A token is not encrypted: its holder can read it. It does not show whether it is the run's
//! last one. `docs/token.md` specifies the form to the byte.
//!
//! The encoding of a run's state is not known here.
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

/// Creates and opens tokens with the user's keys.
pub struct Tokens {
    keys: KeyFile,
    /// The last token: an agent often asks for its position again, and its claims are packed only once.
    last: Mutex<Option<SignedToken>>,
}

/// A token that was created.
struct SignedToken {
    /// The id of the key that signed it.
    key: String,
    claims: Claims,
    text: String,
}

impl Tokens {
    /// Returns the tokens of the user with this data folder. Nothing is read before it is needed. The first token
    /// creates the key file if there is none.
    pub fn in_folder(data: &Path) -> Tokens {
        Tokens { keys: KeyFile::in_folder(data, "tokens are signed with its keys"), last: Mutex::default() }
    }

    /// Returns the token of these claims, signed with the newest key. The same claims and the same key give the same
    /// text.
    ///
    /// # Errors
    /// The claims are too large for any token, or the keys cannot be used.
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
        *last = Some(SignedToken { key: key.id().to_owned(), claims: claims.clone(), text: text.clone() });
        Ok(text)
    }

    /// Returns the claims of a token. Any key of the file may have signed it.
    ///
    /// # Errors
    /// The text is not exactly one that was given out here, or the keys cannot be used.
    pub fn open(&self, text: &str) -> Result<Claims, TokenFault> {
        let bytes = text::read(text)?;
        let member = gzip::read(&bytes)?;
        // Before any of the content is trusted.
        self.check_seal(&member)?;
        layout::read(member.seal().layout, member.content())
    }

    fn check_seal(&self, member: &Member<'_>) -> Result<(), TokenFault> {
        let seal = member.seal();
        let signers = seal.signers(&self.keys)?;
        if member.packed.is_some_and(|packed| seal.is_of_any(&signers, packed)) {
            return Ok(());
        }
        // A token that was only compressed again, or has a changed bit that unpacks to the same content, is not a
        // forgery.
        match member.repacked() {
            Some(packed) if seal.is_of_any(&signers, &packed) => Err(gzip::packed_anew()),
            _ => Err(seal.forged()),
        }
    }
}
