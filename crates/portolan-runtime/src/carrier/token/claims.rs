//! The claims of a token about a run, and their comparison with a call.

use std::fmt;

use data_encoding::HEXLOWER;

use super::fault::{Code, TokenFault, quoted};
use crate::digest::Digest;
use crate::store::RunId;

pub(super) const FINGERPRINT_BYTES: usize = 16;

/// The content of a token: no part of it can be changed without the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The id of the workflow in which the run began.
    pub workflow: String,
    /// The version of the workflow, if the definition names one. It is for people; the fingerprint decides.
    pub version: Option<String>,
    /// The definition bundle of the run.
    pub definition: Fingerprint,
    /// The run.
    pub run: RunId,
    /// The revision of the run.
    pub revision: u64,
    /// The encoded state. Its encoding is up to the caller.
    pub state: Vec<u8>,
}

/// The first half of a digest: enough to identify a definition, and short enough to carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub(super) [u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    /// Returns the fingerprint of a digest.
    #[must_use]
    pub fn of(digest: &Digest) -> Fingerprint {
        // A store that was tampered with may contain any text as a digest: such a text has a fingerprint of its own
        // too.
        let half = |digest: &Digest| first_bytes(digest.as_str()).map(Fingerprint);
        half(digest).or_else(|| half(&Digest::of(digest.as_str()))).expect("a digest of a text is hexadecimal digits")
    }
}

fn first_bytes(digits: &str) -> Option<[u8; FINGERPRINT_BYTES]> {
    let mut bytes = [0; FINGERPRINT_BYTES];
    let mut values = digits.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok());
    for byte in &mut bytes {
        *byte = values.next()?? << 4 | values.next()??;
    }
    Some(bytes)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Claims {
    /// Checks whether the run is one of the workflow that a call names.
    ///
    /// # Errors
    /// [`Code::WorkflowMismatch`] if it is of another one.
    pub fn check_workflow(&self, named: &str) -> Result<(), TokenFault> {
        if self.workflow == named {
            return Ok(());
        }
        let (is, named) = (quoted(&self.workflow), quoted(named));
        let message = format!("the token belongs to a run of workflow {is}, but the call names {named}");
        Err(TokenFault::new(Code::WorkflowMismatch, message, format!("name {is}, or send a token of a run of {named}")))
    }

    /// Checks whether the current definition, with its version if it names one, is the one that the run began with.
    ///
    /// # Errors
    /// [`Code::DefinitionChanged`] if it is another one, even with the same version.
    pub fn check_definition(&self, digest: &Digest, version: Option<&str>) -> Result<(), TokenFault> {
        let present = Fingerprint::of(digest);
        if self.definition == present {
            return Ok(());
        }
        let message = format!(
            "run `{}` of workflow {} began with {}, but the definition is now {}",
            self.run,
            quoted(&self.workflow),
            named(self.version.as_deref(), self.definition),
            named(version, present)
        );
        let help = "restore the definition that the run began with, or start a new run";
        Err(TokenFault::new(Code::DefinitionChanged, message, help))
    }
}

/// Names a definition for people: two may have the same version.
fn named(version: Option<&str>, fingerprint: Fingerprint) -> String {
    let short: String = fingerprint.to_string().chars().take(12).collect();
    match version {
        Some(version) => format!("version {} (`{short}`)", quoted(version)),
        None => format!("`{short}`, without a version"),
    }
}
