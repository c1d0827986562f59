//! Passkeys: persons confirm single answers on the studio's page by WebAuthn, for an agent has no finger.
//!
//! They lie in `people/passkeys.json` of the user's data folder; the event log of each project names those that count in
//! it. A passphrase is asked for wherever a person has set one, but a passkey lets somebody do what they could not do
//! otherwise: so one that the log does not name confirms nothing, however it came into the file.

mod challenges;
mod client;
mod kept;
mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};

use super::People;
use super::passphrase::{PassphrasePolicy, tampered, turn};
use crate::digest::Digest;
use crate::error::ServiceError;
use client::{AuthenticatorData, ClientData, MAX_ID, MAX_KEY, MAX_SIGNATURE, decoded, malformed, wrong};
use kept::{MAX_KEPT, PasskeyFile, PasskeyRecord};
use key::PublicKey;

pub use challenges::{AnswerContent, CHALLENGE_SECONDS, Challenges};

/// What passkeys belong to: the name under which the page is opened.
pub const RP_ID: &str = "localhost";

/// Their file in the folder of persons.
const FILE: &str = "passkeys.json";
/// What the log calls those that count.
const NAMED: &str = "passkeys";
/// What the log says where none does any more.
const NONE: &str = "none";
/// The longest name, in letters.
const MAX_NAME: usize = 60;

/// A passkey that a person has enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// Its credential's id, in base64url.
    pub id: String,
    /// How the person calls it.
    pub name: String,
    /// When it was enrolled.
    pub at: Timestamp,
    /// Whether the event log of the project names it: only then it confirms anything.
    pub is_named: bool,
}

/// The passkeys of a person, as a project sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passkeys {
    /// Those that are kept, in the order in which they were enrolled.
    pub kept: Vec<Passkey>,
    /// How many the log names that are not kept.
    pub missing: usize,
}

/// What an authenticator signs where it confirms something: each part in base64url.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assertion {
    /// The credential's id.
    pub id: String,
    /// What the authenticator says.
    pub authenticator_data: String,
    /// What the browser says.
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    /// The signature over both.
    pub signature: String,
}

/// What comes of a passkey being made: binary parts in base64url.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registration {
    /// The credential's id.
    pub id: String,
    /// Its public key, as SubjectPublicKeyInfo.
    pub public_key: String,
    /// Its algorithm, by the number in COSE.
    pub algorithm: i64,
    /// What the authenticator says.
    pub authenticator_data: String,
    /// What the browser says.
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    /// How the person calls it.
    pub name: String,
}

/// What a browser is told that is to make a passkey.
#[derive(Clone, Debug, Serialize)]
pub struct Enrolment {
    /// The challenge, in base64url.
    pub challenge: String,
    /// What authenticators know the person by, in base64url.
    pub user: String,
    /// The credentials that are kept already.
    pub exclude: Vec<String>,
}

impl People<'_> {
    /// The passkeys of the person.
    ///
    /// # Errors
    /// Their file or the log cannot be read.
    pub fn passkeys(&self) -> Result<Passkeys, ServiceError> {
        let file = PasskeyFile::read(&self.passkey_file()?)?;
        let mut missing = self.named_passkeys()?;
        let passkey = |kept: PasskeyRecord| {
            let is_named = missing.remove(&kept.fingerprint());
            Passkey { id: kept.id, name: kept.name, at: kept.at, is_named }
        };
        Ok(Passkeys { kept: file.passkeys.into_iter().map(passkey).collect(), missing: missing.len() })
    }

    /// The ids of the passkeys that may confirm something in this project.
    ///
    /// # Errors
    /// Their file or the log cannot be read.
    pub fn credentials(&self) -> Result<Vec<String>, ServiceError> {
        // Most persons have none: then the log need not be read to its beginning.
        if PasskeyFile::read(&self.passkey_file()?)?.passkeys.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.passkeys()?.kept.into_iter().filter(|kept| kept.is_named).map(|kept| kept.id).collect())
    }

    /// A challenge, for a passkey to confirm this very answer.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn challenge(&self, challenges: &Challenges, content: &AnswerContent<'_>) -> Result<String, ServiceError> {
        challenges.make(&content.digest(), self.service.clock().now())
    }

    /// Refuses an answer that no passkey of the person has confirmed, on a page at this origin. The challenge is used up
    /// either way.
    ///
    /// # Errors
    /// A part of it is wrong; the passkey is none that the log of the project names; what is kept of passphrases was
    /// changed; or something cannot be read or written.
    pub fn confirm_by_passkey(
        &self,
        challenges: &Challenges,
        content: &AnswerContent<'_>,
        origin: &str,
        given: &Assertion,
    ) -> Result<(), ServiceError> {
        let client = ClientData::read(&given.client_data, "webauthn.get", origin)?;
        let authenticator = AuthenticatorData::read(&given.authenticator_data)?;
        let signature = decoded("signature", &given.signature, MAX_SIGNATURE)?;
        challenges.take(&client.challenge, &content.digest(), self.service.clock().now())?;
        // Whoever has changed the one record of the person may have changed the other.
        if self.standing()? == PassphrasePolicy::Tampered {
            return Err(tampered(&self.file()?));
        }
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        let Some(kept) = file.passkeys.iter_mut().find(|kept| kept.id == given.id) else {
            let help = "`portolan people passkey` in a terminal enrols one";
            return Err(ServiceError::refused("unknown_passkey", "this passkey is not enrolled here", help));
        };
        if !self.named_passkeys()?.contains(&kept.fingerprint()) {
            return Err(unnamed(&kept.name));
        }
        let info = decoded("publicKey", &kept.public_key, MAX_KEY)?;
        let key = PublicKey::read(kept.algorithm, &info);
        if !key.is_some_and(|key| key.has_signed(&authenticator.signed_with(&client), &signature)) {
            return Err(wrong("the signature is not of the passkey that is enrolled"));
        }
        count(kept, authenticator.sign_count)?;
        if authenticator.sign_count == 0 { Ok(()) } else { file.write(&path) }
    }

    /// What a browser is told that is to make a passkey.
    ///
    /// # Errors
    /// So many are kept that there is no room, or their file cannot be read or written.
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

    /// Keeps a passkey that a browser has made on a page at this origin, and has the log of this project name it. Whoever
    /// calls knows that a person has begun this. It gets its name, or that with a number.
    ///
    /// # Errors
    /// A part of it is wrong, it is kept already, there is no room, or it cannot be kept or put on record.
    pub fn enrol(&self, challenges: &Challenges, origin: &str, given: &Registration) -> Result<Passkey, ServiceError> {
        let client = ClientData::read(&given.client_data, "webauthn.create", origin)?;
        let authenticator = AuthenticatorData::read(&given.authenticator_data)?;
        let id = decoded("id", &given.id, MAX_ID)?;
        if id.is_empty() || authenticator.credential() != Some(&*id) {
            return Err(malformed("`authenticatorData` is not of the passkey that `id` names"));
        }
        let info = decoded("publicKey", &given.public_key, MAX_KEY)?;
        if PublicKey::read(given.algorithm, &info).is_none() {
            let message = format!("`publicKey` is not a key of the algorithm {}", given.algorithm);
            let help = "ES256 (-7), EdDSA (-8) and RS256 (-257) are known";
            return Err(ServiceError::refused("bad_passkey", message, help));
        }
        let name = name(&given.name)?;
        challenges.take(&client.challenge, &enrolling(), self.service.clock().now())?;
        let _turn = turn(&self.folder()?)?;
        let path = self.passkey_file()?;
        let mut file = PasskeyFile::read(&path)?;
        has_room(&file)?;
        if file.passkeys.iter().any(|kept| kept.id == given.id) {
            let help = "`portolan people passkey --adopt NAME` has another project go by it";
            return Err(ServiceError::refused("bad_passkey", "this passkey is enrolled already", help));
        }
        let (name, at) = (file.free_name(name), self.service.clock().now());
        let (id, public_key, sign_count) = (given.id.clone(), given.public_key.clone(), authenticator.sign_count);
        let kept = PasskeyRecord { id, public_key, algorithm: given.algorithm, name, sign_count, at };
        file.passkeys.push(kept.clone());
        file.write(&path)?;
        self.name_passkey(&kept)?;
        Ok(Passkey { id: kept.id, name: kept.name, at, is_named: true })
    }

    /// Has this project go by a passkey that was enrolled in another one.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be put on record.
    pub fn adopt_passkey(&self, name: &str) -> Result<(), ServiceError> {
        let _turn = turn(&self.folder()?)?;
        let file = PasskeyFile::read(&self.passkey_file()?)?;
        let kept = file.passkeys.iter().find(|kept| kept.name == name).ok_or_else(|| no_such(name))?;
        self.name_passkey(kept)
    }

    /// Forgets a passkey: it confirms nothing any more, in no project.
    ///
    /// # Errors
    /// There is none of that name, or the file or the log cannot be written.
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

    /// Those that the log names.
    fn named_passkeys(&self) -> Result<BTreeSet<String>, ServiceError> {
        let named = self.named(NAMED)?.unwrap_or_default();
        Ok(named.split_whitespace().filter(|name| *name != NONE).map(str::to_owned).collect())
    }

    /// Has the log name one more. Those that are not kept any more, for they were removed in another project, go.
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

/// What challenges are for by which passkeys are made.
fn enrolling() -> Digest {
    Digest::of("portolan enrolment 1")
}

/// An authenticator counts its signatures, or says 0 each time. Where the count goes back, there are two of it.
fn count(kept: &mut PasskeyRecord, now: u32) -> Result<(), ServiceError> {
    if now <= kept.sign_count && (now, kept.sign_count) != (0, 0) {
        let message = format!("the passkey `{}` was copied: it has signed less often than before", kept.name);
        let help = "`portolan people passkey --remove` takes it away, in a terminal";
        return Err(ServiceError::refused("wrong_passkey", message, help));
    }
    kept.sign_count = now;
    Ok(())
}

fn has_room(file: &PasskeyFile) -> Result<(), ServiceError> {
    if file.passkeys.len() < MAX_KEPT {
        return Ok(());
    }
    let message = format!("there are {MAX_KEPT} passkeys, and no more are kept");
    Err(ServiceError::refused("too_many", message, "`portolan people passkey --remove NAME` takes one away"))
}

/// A name that can be shown and typed.
fn name(given: &str) -> Result<&str, ServiceError> {
    let name = given.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.starts_with('-') || name.chars().any(char::is_control)
    {
        let message = format!("a passkey's name is one line of at most {MAX_NAME} letters, and begins with no `-`");
        return Err(ServiceError::refused("bad_input", message, "call it after the device that it is on"));
    }
    Ok(name)
}

fn no_such(name: &str) -> ServiceError {
    let message = format!("there is no passkey `{name}`");
    ServiceError::refused("unknown_passkey", message, "`portolan people passkey --list` shows those that there are")
}

/// What is said of one that is kept, and that the log does not name.
fn unnamed(name: &str) -> ServiceError {
    ServiceError::refused(
        "passkey_unnamed",
        format!("the event log of this project does not name the passkey `{name}`"),
        format!(
            "if you have enrolled it, `portolan people passkey --adopt '{name}'`; if not, find out who has put it there"
        ),
    )
}
