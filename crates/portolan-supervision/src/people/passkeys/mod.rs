//! Passkeys: a person confirms a single answer on the studio's page by WebAuthn, which an agent cannot do.
//!
//! The passkeys are in `people/passkeys.json` of the user's data folder. The event log of each project names those that
//! count there. A passphrase is asked for wherever a person has set one. A passkey instead allows what would otherwise
//! be refused, so one that the log does not name confirms nothing.

mod challenges;
mod client;
mod file;
mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use portolan_core::value::Timestamp;
use portolan_runtime::digest::Digest;
use portolan_runtime::error::ServiceError;
use serde::{Deserialize, Serialize};

use super::People;
use super::passphrase::{PassphrasePolicy, tampered, turn};
use client::{AuthenticatorData, ClientData, MAX_ID, MAX_KEY, MAX_SIGNATURE, decoded, malformed, wrong};
use file::{MAX_KEPT, PasskeyFile, PasskeyRecord};
use key::PublicKey;

pub use challenges::{AnswerContent, CHALLENGE_SECONDS, Challenges, ConfirmedContent, DecisionContent};

/// The WebAuthn relying party: the host name under which the page is opened.
pub const RP_ID: &str = "localhost";

/// The name of the passkey file.
const FILE: &str = "passkeys.json";
/// The name of the setting in the log that lists the passkeys.
const NAMED: &str = "passkeys";
/// The value in the log if no passkey counts any more.
const NONE: &str = "none";
/// The maximum length of a name, in letters.
const MAX_NAME: usize = 60;

/// A passkey that a person has enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// The credential's ID, in base64url.
    pub id: String,
    /// The name that the person gave it.
    pub name: String,
    /// When it was enrolled.
    pub at: Timestamp,
    /// Whether the project's event log names it. Only then does it confirm anything.
    pub is_named: bool,
}

/// The passkeys of a person, as one project sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passkeys {
    /// The stored passkeys, in the order of enrolment.
    pub kept: Vec<Passkey>,
    /// How many passkeys the log names that are not stored.
    pub missing: usize,
}

/// An authenticator's signed confirmation, each part in base64url.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assertion {
    /// The credential's ID.
    pub id: String,
    /// The authenticator's data.
    pub authenticator_data: String,
    /// The browser's client data.
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    /// The signature over both.
    pub signature: String,
}

/// A newly made passkey, as the browser returns it. Binary parts are in base64url.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registration {
    /// The credential's ID.
    pub id: String,
    /// The public key, as SubjectPublicKeyInfo.
    pub public_key: String,
    /// The algorithm, as a COSE number.
    pub algorithm: i64,
    /// The authenticator's data.
    pub authenticator_data: String,
    /// The browser's client data.
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    /// The name that the person gave it.
    pub name: String,
}

/// The data from which a browser makes a passkey.
#[derive(Clone, Debug, Serialize)]
pub struct Enrolment {
    /// The challenge, in base64url.
    pub challenge: String,
    /// The user handle, in base64url.
    pub user: String,
    /// The IDs of the stored credentials.
    pub exclude: Vec<String>,
}

impl People<'_> {
    /// Returns the passkeys of the person.
    ///
    /// # Errors
    /// The passkey file or the log cannot be read.
    pub fn passkeys(&self) -> Result<Passkeys, ServiceError> {
        let file = PasskeyFile::read(&self.passkey_file()?)?;
        let mut missing = self.named_passkeys()?;
        let passkey = |kept: PasskeyRecord| {
            let is_named = missing.remove(&kept.fingerprint());
            Passkey { id: kept.id, name: kept.name, at: kept.at, is_named }
        };
        Ok(Passkeys { kept: file.passkeys.into_iter().map(passkey).collect(), missing: missing.len() })
    }

    /// Returns the IDs of the passkeys that may confirm something in this project.
    ///
    /// # Errors
    /// The passkey file or the log cannot be read.
    pub fn credentials(&self) -> Result<Vec<String>, ServiceError> {
        // Without passkeys, which is the usual case, the log need not be read to its beginning.
        if PasskeyFile::read(&self.passkey_file()?)?.passkeys.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.passkeys()?.kept.into_iter().filter(|kept| kept.is_named).map(|kept| kept.id).collect())
    }

    /// Returns a challenge for a passkey to confirm exactly this content.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn challenge(&self, challenges: &Challenges, content: &ConfirmedContent) -> Result<String, ServiceError> {
        challenges.make(&content.0, self.service.clock().now())
    }

    /// Refuses a content that no passkey of the person has confirmed on a page at this origin. Uses up the challenge,
    /// even if the confirmation fails.
    ///
    /// # Errors
    /// A part is malformed or wrong; the project's log does not name the passkey; the passphrase file was tampered
    /// with; or a file or the log cannot be read or written.
    pub fn confirm_by_passkey(
        &self,
        challenges: &Challenges,
        content: &ConfirmedContent,
        origin: &str,
        given: &Assertion,
    ) -> Result<(), ServiceError> {
        let client = ClientData::read(&given.client_data, "webauthn.get", origin)?;
        let authenticator = AuthenticatorData::read(&given.authenticator_data)?;
        let signature = decoded("signature", &given.signature, MAX_SIGNATURE)?;
        challenges.take(&client.challenge, &content.0, self.service.clock().now())?;
        // If the passphrase record was changed, the passkey record may have been changed too.
        if self.standing()? == PassphrasePolicy::Tampered {
            return Err(tampered(&self.file()?));
        }
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        let Some(kept) = file.passkeys.iter_mut().find(|kept| kept.id == given.id) else {
            let help = "run `portolan people passkey` in a terminal to enrol one";
            return Err(ServiceError::refused("unknown_passkey", "this passkey is not enrolled here", help));
        };
        if !self.named_passkeys()?.contains(&kept.fingerprint()) {
            return Err(unnamed(&kept.name));
        }
        let info = decoded("publicKey", &kept.public_key, MAX_KEY)?;
        let key = PublicKey::read(kept.algorithm, &info);
        if !key.is_some_and(|key| key.has_signed(&authenticator.signed_with(&client), &signature)) {
            return Err(wrong("the signature is not from the enrolled passkey"));
        }
        count(kept, authenticator.sign_count)?;
        if authenticator.sign_count == 0 { Ok(()) } else { file.write(&path) }
    }

    /// Returns the data from which a browser makes a passkey.
    ///
    /// # Errors
    /// No more passkeys fit, the file cannot be read or written, or the system gives no random bytes.
    pub fn begin_enrolment(&self, challenges: &Challenges) -> Result<Enrolment, ServiceError> {
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        has_room(&file)?;
        let user = file.user()?;
        file.write(&path)?;
        let challenge = challenges.make(&enrolling(), self.service.clock().now())?;
        Ok(Enrolment { challenge, user, exclude: file.passkeys.into_iter().map(|kept| kept.id).collect() })
    }

    /// Stores a passkey that a browser has made on a page at this origin, and records it in the project's log. The
    /// caller must know that a person began the enrolment. A number is appended to the name if it is taken.
    ///
    /// # Errors
    /// A part is wrong, the passkey is stored already, no more fit, or it cannot be stored or recorded.
    pub fn enrol(&self, challenges: &Challenges, origin: &str, given: &Registration) -> Result<Passkey, ServiceError> {
        let client = ClientData::read(&given.client_data, "webauthn.create", origin)?;
        let authenticator = AuthenticatorData::read(&given.authenticator_data)?;
        let id = decoded("id", &given.id, MAX_ID)?;
        if id.is_empty() || authenticator.credential() != Some(&*id) {
            return Err(malformed("`authenticatorData` does not belong to the passkey that `id` names"));
        }
        let info = decoded("publicKey", &given.public_key, MAX_KEY)?;
        if PublicKey::read(given.algorithm, &info).is_none() {
            let message = format!("`publicKey` is not a key of the algorithm {}", given.algorithm);
            let help = "use ES256 (-7), EdDSA (-8) or RS256 (-257)";
            return Err(ServiceError::refused("bad_passkey", message, help));
        }
        let name = name(&given.name)?;
        challenges.take(&client.challenge, &enrolling(), self.service.clock().now())?;
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        has_room(&file)?;
        if file.passkeys.iter().any(|kept| kept.id == given.id) {
            let help = "run `portolan people passkey --adopt NAME` to accept it in another project";
            return Err(ServiceError::refused("bad_passkey", "this passkey is already enrolled", help));
        }
        let (name, at) = (file.free_name(name), self.service.clock().now());
        let (id, public_key, sign_count) = (given.id.clone(), given.public_key.clone(), authenticator.sign_count);
        let kept = PasskeyRecord { id, public_key, algorithm: given.algorithm, name, sign_count, at };
        file.passkeys.push(kept.clone());
        file.write(&path)?;
        self.name_passkey(&kept)?;
        Ok(Passkey { id: kept.id, name: kept.name, at, is_named: true })
    }

    /// Lets a passkey that was enrolled in another project count in this one.
    ///
    /// # Errors
    /// No passkey has this name, or the log cannot be written.
    pub fn adopt_passkey(&self, name: &str) -> Result<(), ServiceError> {
        let _turn = turn(&self.folder()?)?;
        let file = PasskeyFile::read(&self.passkey_file()?)?;
        let kept = file.passkeys.iter().find(|kept| kept.name == name).ok_or_else(|| no_such(name))?;
        self.name_passkey(kept)
    }

    /// Removes a passkey from the file, so that it confirms nothing in any project.
    ///
    /// # Errors
    /// No passkey has this name, or the file or the log cannot be written.
    pub fn remove_passkey(&self, name: &str) -> Result<(), ServiceError> {
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        let at = file.passkeys.iter().position(|kept| kept.name == name).ok_or_else(|| no_such(name))?;
        let removed = file.passkeys.remove(at);
        file.write(&path)?;
        let mut named = self.named_passkeys()?;
        if named.remove(&removed.fingerprint()) { self.name_passkeys(&named) } else { Ok(()) }
    }

    fn passkey_file(&self) -> Result<PathBuf, ServiceError> {
        Ok(self.folder()?.join(FILE))
    }

    /// Returns the fingerprints that the log names.
    fn named_passkeys(&self) -> Result<BTreeSet<String>, ServiceError> {
        let named = self.named(NAMED)?.unwrap_or_default();
        Ok(named.split_whitespace().filter(|name| *name != NONE).map(str::to_owned).collect())
    }

    /// Records one more passkey in the log. Drops those that are no longer stored, because another project removed
    /// them.
    fn name_passkey(&self, kept: &PasskeyRecord) -> Result<(), ServiceError> {
        let file = PasskeyFile::read(&self.passkey_file()?)?;
        let known: BTreeSet<String> = file.passkeys.iter().map(PasskeyRecord::fingerprint).collect();
        let mut named = self.named_passkeys()?;
        named.retain(|name| known.contains(name));
        named.insert(kept.fingerprint());
        self.name_passkeys(&named)
    }

    fn name_passkeys(&self, named: &BTreeSet<String>) -> Result<(), ServiceError> {
        let all: Vec<&str> = named.iter().map(String::as_str).collect();
        let value = if all.is_empty() { NONE.to_owned() } else { all.join(" ") };
        self.name(NAMED, &value, "people passkey")
    }
}

/// Returns the content of challenges for enrolment.
fn enrolling() -> Digest {
    Digest::of("portolan enrolment 1")
}

/// Checks the signature count. An authenticator counts its signatures, or always reports 0. A lower count than before
/// means that there is a copy.
fn count(kept: &mut PasskeyRecord, now: u32) -> Result<(), ServiceError> {
    if now <= kept.sign_count && (now, kept.sign_count) != (0, 0) {
        let message = format!("the passkey `{}` was copied: its signature count did not increase", kept.name);
        let help = "run `portolan people passkey --remove` in a terminal to remove it";
        return Err(ServiceError::refused("wrong_passkey", message, help));
    }
    kept.sign_count = now;
    Ok(())
}

fn has_room(file: &PasskeyFile) -> Result<(), ServiceError> {
    if file.passkeys.len() < MAX_KEPT {
        return Ok(());
    }
    let message = format!("there are already {MAX_KEPT} passkeys, which is the maximum");
    Err(ServiceError::refused("too_many", message, "run `portolan people passkey --remove NAME` to remove one"))
}

/// Returns a trimmed name that can be shown and typed.
fn name(given: &str) -> Result<&str, ServiceError> {
    let name = given.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.starts_with('-') || name.chars().any(char::is_control)
    {
        let message =
            format!("a passkey's name is one line of at most {MAX_NAME} characters, and does not begin with `-`");
        return Err(ServiceError::refused("bad_input", message, "name it after the device that it is on"));
    }
    Ok(name)
}

fn no_such(name: &str) -> ServiceError {
    let message = format!("there is no passkey `{name}`");
    ServiceError::refused("unknown_passkey", message, "run `portolan people passkey --list` to list the enrolled ones")
}

/// Returns the error for a stored passkey that the log does not name.
fn unnamed(name: &str) -> ServiceError {
    ServiceError::refused(
        "passkey_unnamed",
        format!("the event log of this project does not name the passkey `{name}`"),
        format!(
            "if you enrolled it, run `portolan people passkey --adopt '{name}'`; if not, find out who put it there"
        ),
    )
}
