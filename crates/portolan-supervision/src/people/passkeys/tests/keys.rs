//! Keys of all supported kinds.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};

use super::super::key::PublicKey;

#[test]
fn keys_of_other_kinds_verify_too() {
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let pair = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key");
    let info = [&URL_SAFE_NO_PAD.decode("MCowBQYDK2VwAyEA").expect("ours"), pair.public_key().as_ref()].concat();
    let key = PublicKey::read(-8, &info).expect("a key");
    assert!(key.has_signed(b"a message", pair.sign(b"a message").as_ref()));
    assert!(!key.has_signed(b"another", pair.sign(b"a message").as_ref()));
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("ours");
    let (info, signature) = (decoded(RSA_KEY), decoded(RSA_SIGNATURE));
    let key = PublicKey::read(-257, &info).expect("a key");
    assert!(key.has_signed(b"a message", &signature));
    assert!(!key.has_signed(b"another", &signature));
    for end in 0..info.len() {
        assert!(PublicKey::read(-257, &info[..end]).is_none(), "{end}");
    }
    assert!(PublicKey::read(-7, &info).is_none() && PublicKey::read(-8, &info).is_none());
}

/// Made with `openssl genpkey -algorithm RSA`, and the signature of `a message` with `openssl dgst -sha256 -sign`.
const RSA_KEY: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAqiQRy_fIV6nsBLtQQ44GARVEwKxqXK65fV9pump0v0JtTNOWsgX5\
oOP6KBp7Q0fLFu14PFdH6T81boyrWy-xNwYSMh8dvNyBpOV7FUm5TaTy8DrrmYhPYt5j2LgOcJHFQUDdGacKoKetJ7WTPXp6VZBCWUWRRGGw2_O7OYEplR2lP\
xuoWr58Dhi0UgGVtTwy4GGdymU66pftZi7CPYg_J-HSDv_BNJFxWbvjwGOGuJdR4lAdYepWZ4qGb1YxQVOnNYz4EOvhg0kPe8PnFEpUJWkOf8lfxJiDJx1l8r\
G56NKcwGjAbR0HCwqzl2sJ5S7F-BH_n7iIpUVrMx1lVAUb1QIDAQAB";
const RSA_SIGNATURE: &str = "Hw2hhe-zRa0DKQzVj-xXqUSpiJDsTojSB01zplwI7Nc4bK41VQS3lWE_y3hOk5cTDDaKTQ4NdazCNh0wFCP4VUFDBKDfLj8\
xPPqvfhPtwQTr1F7v18mYJ1MyqmMLsticH5-o7huRYunLbU0kTP0ZdDA-iXFAlRzkQhD2-ZYxomD2yBCsQCPa8rekDSVwJsuwNRWZ9ASUJKGzUH6u4CAxIw7H\
0QkMCQ5J5CbT8AcH2YeGPaxOjBRYWuZAENVX3t_bkKe--mosSwz4kXBDR30shicb9ux7jAREETqcwov_LGI45KbZQ91djbsPXXlVTZcG6NkbC5FUw1mNm_yRFy\
ZoAw";
