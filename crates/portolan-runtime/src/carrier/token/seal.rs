//! The seal of a token: its layout, the key, and the signature. Knows nothing of the signed content.

use std::fmt;

use ring::hmac::{self, HMAC_SHA256};

use super::fault::{Code, TokenFault};
use super::text;
use crate::keys::{Key, KeyFile};

const KEY_BYTES: usize = 4;
const MAC_BYTES: usize = 16;
/// The layout, the key and the signature.
pub(super) const SEAL_BYTES: usize = 1 + KEY_BYTES + MAC_BYTES;

/// The seal of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) layout: u8,
    /// The beginning of the key's id.
    key: [u8; KEY_BYTES],
    mac: [u8; MAC_BYTES],
}

impl Seal {
    /// Signs a packed content in this layout.
    pub(super) fn of(key: &Key, layout: u8, packed: &[u8]) -> Seal {
        let mut seal = Seal { layout, key: beginning(key), mac: [0; MAC_BYTES] };
        seal.mac = seal.sign(&derived(key), packed);
        seal
    }

    pub(super) fn to_bytes(&self) -> [u8; SEAL_BYTES] {
        let mut bytes = [self.layout; SEAL_BYTES];
        bytes[1..=KEY_BYTES].copy_from_slice(&self.key);
        bytes[1 + KEY_BYTES..].copy_from_slice(&self.mac);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; SEAL_BYTES]) -> Seal {
        let [layout, rest @ ..] = bytes;
        let mut seal = Seal { layout: *layout, key: [0; KEY_BYTES], mac: [0; MAC_BYTES] };
        let (key, mac) = rest.split_at(KEY_BYTES);
        seal.key.copy_from_slice(key);
        seal.mac.copy_from_slice(mac);
        seal
    }

    /// Returns the keys of the file that may have signed the token. The file is read each time, so a removed key opens
    /// no token from then on.
    pub(super) fn signers(&self, file: &KeyFile) -> Result<Vec<Key>, TokenFault> {
        let path = file.path().display();
        let Some(keys) = file.read()? else {
            return Err(self.unsigned(format_args!("and the key file `{path}` is missing")));
        };
        let signers: Vec<Key> = keys.iter().filter(|key| beginning(key) == self.key).cloned().collect();
        match signers.is_empty() {
            true => Err(self.unsigned(format_args!("which is not in the key file `{path}`"))),
            false => Ok(signers),
        }
    }

    /// Checks whether one of these keys signed the packed content.
    pub(super) fn is_of_any(&self, signers: &[Key], packed: &[u8]) -> bool {
        signers.iter().any(|key| self.is_of(key, packed))
    }

    /// Returns the fault of a token whose key did not sign it.
    pub(super) fn forged(&self) -> TokenFault {
        self.unsigned("which did not sign its content")
    }

    fn unsigned(&self, why: impl fmt::Display) -> TokenFault {
        let key = u32::from_be_bytes(self.key);
        let help = "send a token that was issued here, or set `PORTOLAN_DATA_DIR` to the folder with the key \
            file that it was signed with";
        let message = format!("the token is not authentic: it names key `{key:08x}`, {why}");
        TokenFault::new(Code::NotAuthentic, message, help)
    }

    /// Compares the keyed hashes of both signatures, so that the time does not depend on which bytes differ.
    fn is_of(&self, key: &Key, packed: &[u8]) -> bool {
        let key = derived(key);
        let must = hmac::sign(&key, &self.sign(&key, packed));
        hmac::verify(&key, &self.mac, must.as_ref()).is_ok()
    }

    fn sign(&self, key: &hmac::Key, packed: &[u8]) -> [u8; MAC_BYTES] {
        let mut signing = hmac::Context::with_key(key);
        signing.update(text::PREFIX.as_bytes());
        signing.update(&[self.layout]);
        signing.update(&self.key);
        signing.update(packed);
        let tag = signing.sign();
        *tag.as_ref().first_chunk().expect("a SHA-256 is longer")
    }
}

/// Derives the key that signs tokens, and nothing else.
fn derived(key: &Key) -> hmac::Key {
    let root = key.root();
    root.expand(&["portolan token 1".as_bytes()], HMAC_SHA256).expect("one key is not too long").into()
}

fn beginning(key: &Key) -> [u8; KEY_BYTES] {
    let digits = &key.id()[..2 * KEY_BYTES];
    u32::from_str_radix(digits, 16).expect("the id of a key is hexadecimal digits").to_be_bytes()
}
