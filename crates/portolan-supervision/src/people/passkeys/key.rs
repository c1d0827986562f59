//! Public keys as browsers return them (SubjectPublicKeyInfo), and signature checks with them. All keys of one kind
//! begin with the same bytes, so no parser is needed.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};

/// The bytes before the uncompressed point of a P-256 key.
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// The bytes before an Ed25519 key.
const EDWARDS: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The identifier of RSA within its keys.
const RSA: &[u8] = &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// The supported algorithms, by their COSE numbers.
pub(super) const ES256: i64 = -7;
pub(super) const EDDSA: i64 = -8;
pub(super) const RS256: i64 = -257;

/// A key that verifies signatures.
pub(super) struct PublicKey<'k> {
    algorithm: &'static dyn VerificationAlgorithm,
    bytes: &'k [u8],
}

impl<'k> PublicKey<'k> {
    /// Reads a key of a supported algorithm. Returns `None` if it is not one.
    pub(super) fn read(algorithm: i64, info: &'k [u8]) -> Option<PublicKey<'k>> {
        let (algorithm, bytes): (&'static dyn VerificationAlgorithm, &[u8]) = match algorithm {
            ES256 => (&ECDSA_P256_SHA256_ASN1, info.strip_prefix(P256).filter(|key| key.len() == 65 && key[0] == 4)?),
            EDDSA => (&ED25519, info.strip_prefix(EDWARDS).filter(|key| key.len() == 32)?),
            RS256 => (&RSA_PKCS1_2048_8192_SHA256, rsa(info)?),
            _ => return None,
        };
        Some(PublicKey { algorithm, bytes })
    }

    /// Checks whether this key has signed the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.algorithm, self.bytes).verify(message, signature).is_ok()
    }
}

/// Returns the key within its information. All keys that are long enough have two-byte lengths.
fn rsa(info: &[u8]) -> Option<&[u8]> {
    let inner = sized(info, 0x30)?.strip_prefix(RSA)?;
    sized(inner, 0x03)?.strip_prefix(&[0])
}

/// Returns the contents of a DER value of this kind, if nothing follows it.
fn sized(bytes: &[u8], kind: u8) -> Option<&[u8]> {
    let [first, 0x82, high, low, inner @ ..] = bytes else { return None };
    (*first == kind && usize::from(u16::from_be_bytes([*high, *low])) == inner.len()).then_some(inner)
}
