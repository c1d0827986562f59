//! Parses and checks what a browser and an authenticator sent. The bytes are untrusted and bounded in size.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portolan_runtime::error::ServiceError;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::RP_ID;

/// The maximum length of each part, in bytes.
pub(super) const MAX_ID: usize = 1_023;
pub(super) const MAX_KEY: usize = 1_200;
pub(super) const MAX_SIGNATURE: usize = 1_200;
const MAX_CLIENT_DATA: usize = 4_096;
const MAX_AUTHENTICATOR_DATA: usize = 4_096;

/// Flags of the authenticator: user present, user verified, attested credential data attached.
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const ATTACHED: u8 = 0x40;

/// Decodes a part that was sent in base64url.
pub(super) fn decoded(name: &str, text: &str, max: usize) -> Result<Vec<u8>, ServiceError> {
    if text.len() > max.div_ceil(3) * 4 {
        return Err(malformed(format!("`{name}` of the passkey is too long")));
    }
    let bytes = URL_SAFE_NO_PAD.decode(text);
    bytes.map_err(|_| malformed(format!("`{name}` of the passkey is not base64url without padding")))
}

/// Returns the error for a passkey response that cannot be parsed.
pub(super) fn malformed(message: impl Into<String>) -> ServiceError {
    ServiceError::refused("bad_passkey", message, "send what the browser returns, byte for byte, in base64url")
}

/// Returns the error for a passkey response that confirms nothing.
pub(super) fn wrong(message: impl Into<String>) -> ServiceError {
    ServiceError::refused("wrong_passkey", message, "nothing has changed; answer in a terminal, or start again")
}

/// The browser's client data, which the authenticator has signed.
pub(super) struct ClientData {
    bytes: Vec<u8>,
    pub(super) challenge: String,
}

/// The fields that are checked; browsers may add others.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin")]
    cross_origin: Option<bool>,
    #[serde(rename = "topOrigin")]
    top_origin: Option<String>,
}

impl ClientData {
    /// Parses the client data, and checks its kind and the origin of its page.
    pub(super) fn read(text: &str, kind: &str, origin: &str) -> Result<ClientData, ServiceError> {
        let bytes = decoded("clientDataJSON", text, MAX_CLIENT_DATA)?;
        let fields = serde_json::from_slice::<Fields>(&bytes);
        let fields =
            fields.map_err(|_| malformed("`clientDataJSON` of the passkey is not the JSON that a browser sends"))?;
        if fields.kind != kind {
            return Err(wrong(format!("the passkey was not used for `{kind}`")));
        }
        if fields.origin != origin || fields.cross_origin == Some(true) || fields.top_origin.is_some() {
            return Err(wrong(format!("the passkey was not used by the page at `{origin}`")));
        }
        Ok(ClientData { bytes, challenge: fields.challenge })
    }
}

/// The data that the authenticator reports about itself and about the person.
pub(super) struct AuthenticatorData {
    bytes: Vec<u8>,
    pub(super) sign_count: u32,
}

impl AuthenticatorData {
    /// Parses the data, and checks that it is for this program and that the person was verified.
    pub(super) fn read(text: &str) -> Result<AuthenticatorData, ServiceError> {
        let bytes = decoded("authenticatorData", text, MAX_AUTHENTICATOR_DATA)?;
        let Some((head, _)) = bytes.split_first_chunk::<37>() else {
            return Err(malformed("`authenticatorData` of the passkey is too short"));
        };
        if head[..32] != Sha256::digest(RP_ID)[..] {
            return Err(wrong(format!("the passkey was not used for `{RP_ID}`")));
        }
        if head[32] & (PRESENT | VERIFIED) != PRESENT | VERIFIED {
            let message = "the authenticator did not verify the person: no PIN, no fingerprint";
            return Err(wrong(message));
        }
        let sign_count = u32::from_be_bytes([head[33], head[34], head[35], head[36]]);
        Ok(AuthenticatorData { bytes, sign_count })
    }

    /// Returns the ID of the attached credential.
    pub(super) fn credential(&self) -> Option<&[u8]> {
        let (head, attached) = self.bytes.split_first_chunk::<37>()?;
        // Skips the model of the authenticator, which is not verified.
        let (length, rest) = attached.get(16..)?.split_first_chunk::<2>()?;
        let id = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
        (head[32] & ATTACHED != 0).then_some(id)
    }

    /// Returns the signed bytes: this data, followed by the digest of the client data.
    pub(super) fn signed_with(&self, client: &ClientData) -> Vec<u8> {
        [&self.bytes[..], &Sha256::digest(&client.bytes)[..]].concat()
    }
}
