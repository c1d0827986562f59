//! The passkey file in the user's data folder, and the fingerprints that name passkeys in event logs.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portolan_core::value::Timestamp;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk;
use portolan_runtime::error::ServiceError;
use serde::{Deserialize, Serialize};

use super::super::passphrase::{json_of, text, unwritable};

/// The maximum number of passkeys, so that the file stays below the largest size that is read.
pub(super) const MAX_KEPT: usize = 16;

/// A stored passkey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PasskeyRecord {
    /// In base64url, as the public key.
    pub(super) id: String,
    pub(super) public_key: String,
    pub(super) algorithm: i64,
    pub(super) name: String,
    pub(super) sign_count: u32,
    /// When the passkey was enrolled.
    pub(super) at: Timestamp,
}

impl PasskeyRecord {
    /// Returns the passkey's name in event logs: a digest of all fields that its use does not change.
    pub(super) fn fingerprint(&self) -> String {
        let PasskeyRecord { id, public_key, algorithm, name, sign_count: _, at: _ } = self;
        let algorithm = algorithm.to_le_bytes();
        let parts =
            ["portolan passkey 1".as_bytes(), id.as_bytes(), public_key.as_bytes(), &algorithm, name.as_bytes()];
        Digest::of_parts(parts).as_str().chars().take(32).collect()
    }
}

/// The contents of the passkey file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PasskeyFile {
    /// The user handle that authenticators know, in base64url. Enrolling again on an authenticator replaces its earlier
    /// passkey.
    user: Option<String>,
    pub(super) passkeys: Vec<PasskeyRecord>,
}

impl PasskeyFile {
    pub(super) fn read(path: &Path) -> Result<PasskeyFile, ServiceError> {
        match text(path) {
            Ok(None) => Ok(PasskeyFile::default()),
            Ok(Some(text)) => serde_json::from_str(&text).map_err(|_| unreadable(path, "its content is not valid")),
            Err(error) => Err(unreadable(path, &error.to_string())),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), ServiceError> {
        disk::replace(path, &json_of(self)).map_err(|error: io::Error| unwritable(path, &error))
    }

    /// Returns the user handle, and makes one if there is none.
    pub(super) fn user(&mut self) -> Result<String, ServiceError> {
        if let Some(user) = &self.user {
            return Ok(user.clone());
        }
        let mut user = [0_u8; 32];
        getrandom::fill(&mut user).map_err(|error| {
            let message = format!("the system provides no random bytes: {error}");
            ServiceError::failed("no_chance", message, "try again")
        })?;
        Ok(self.user.insert(URL_SAFE_NO_PAD.encode(user)).clone())
    }

    /// Returns `wanted`, or `wanted` with a number if another passkey has that name.
    pub(super) fn free_name(&self, wanted: &str) -> String {
        let is_free = |name: &String| self.passkeys.iter().all(|kept| kept.name != *name);
        let numbered = (2..).map(|number| format!("{wanted} {number}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).expect("there are fewer than numbers")
    }
}

fn unreadable(path: &Path, why: &str) -> ServiceError {
    let message = format!("the passkeys in `{}` cannot be read: {why}", path.display());
    ServiceError::refused("passkeys_unreadable", message, "restore the file, or remove it and enrol the passkeys again")
}
