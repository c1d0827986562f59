//! What a token says of a run, and whether that is what a caller goes by.

use std::fmt;

use super::fault::{Code, TokenFault, quoted};
use crate::digest::Digest;
use crate::store::RunId;

pub(super) const FINGERPRINT_BYTES: usize = 16;

/// What a token binds together: nothing of it can be changed without the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The id of the workflow that the run began in.
    pub workflow: String,
    /// Its version, where the definition names one: for people, the fingerprint decides.
    pub version: Option<String>,
    /// The bundle that the run is held to.
    pub definition: Fingerprint,
    /// The run.
    pub run: RunId,
    /// Its revision.
    pub revision: u64,
    /// Where it stands, as whoever made the token encodes it.
    pub state: Vec<u8>,
}

/// The first half of a digest: enough to know a definition by, and short enough to carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub(super) [u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    /// That of a digest.
    #[must_use]
    pub fn of(digest: &Digest) -> Fingerprint {
        // A store that was tampered with may hold anything for a digest: such a text has a fingerprint of its own too.
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
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Claims {
    /// Whether the run is one of the workflow that a call names.
    ///
    /// # Errors
    /// [`Code::WorkflowMismatch`] when it is of another one.
    pub fn check_workflow(&self, named: &str) -> Result<(), TokenFault> {
        if self.workflow == named {
            return Ok(());
        }
        let (is, named) = (quoted(&self.workflow), quoted(named));
        let message = format!("the token is of a run of workflow {is}, and the call names {named}");
        Err(TokenFault::new(Code::WorkflowMismatch, message, format!("name {is}, or send a token of a run of {named}")))
    }

    /// Whether the definition at hand, of this version where it names one, is the one that the run began with.
    ///
    /// # Errors
    /// [`Code::DefinitionChanged`] when it is another one, whatever it calls itself.
    pub fn check_definition(&self, digest: &Digest, version: Option<&str>) -> Result<(), TokenFault> {
        let present = Fingerprint::of(digest);
        if self.definition == present {
            return Ok(());
        }
        let message = format!(
            "run `{}` of workflow {} began with {}, and the definition is now {}",
            self.run,
            quoted(&self.workflow),
            named(self.version.as_deref(), self.definition),
            named(version, present)
        );
        let help = "put back the definition that the run began with, or begin a new run";
        Err(TokenFault::new(Code::DefinitionChanged, message, help))
    }
}

/// A definition as people tell it from another: two may call themselves the same.
fn named(version: Option<&str>, fingerprint: Fingerprint) -> String {
    let short: String = fingerprint.to_string().chars().take(12).collect();
    match version {
        Some(version) => format!("version {} (`{short}`)", quoted(version)),
        None => format!("`{short}`, without a version"),
    }
}
