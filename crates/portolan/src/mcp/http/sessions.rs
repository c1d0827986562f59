//! Binds a session to the holder of the token that began it.
//!
//! A session's messages may tell what its client sees, so that its id alone must not admit another client. The id that
//! a client is given contains a code over the id and the holder's name; nothing is stored.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use portolan_runtime::service::ServiceError;
use ring::hmac::{self, HMAC_SHA256, Key};

use crate::http::{Principal, random_token};

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The key of the codes, which ends with the process as the sessions do.
pub(super) struct Sessions(Key);

impl Sessions {
    pub(super) fn new() -> Result<Sessions, ServiceError> {
        Ok(Sessions(Key::new(HMAC_SHA256, random_token()?.as_bytes())))
    }

    /// Adds the code to the id of a response that begins a session.
    pub(super) fn bind(&self, headers: &mut HeaderMap, principal: &Principal) {
        let Some(id) = headers.get(&SESSION_ID).and_then(|id| id.to_str().ok()) else { return };
        let code = hmac::sign(&self.0, bound(id, principal).as_bytes());
        let code: String = code.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        if let Ok(value) = HeaderValue::from_str(&format!("{id}.{code}")) {
            headers.insert(SESSION_ID, value);
        }
    }

    /// Removes the code from the id of a request. Returns `false` if the id is not one of this holder's.
    pub(super) fn unbind(&self, headers: &mut HeaderMap, principal: &Principal) -> bool {
        let mut ids = headers.get_all(&SESSION_ID).iter();
        let (first, second) = (ids.next(), ids.next());
        let Some(first) = first else { return true };
        let id = first.to_str().ok().and_then(|id| id.rsplit_once('.')).filter(|_| second.is_none());
        let id = id.filter(|(id, code)| {
            let code = decoded(code);
            code.is_some_and(|code| hmac::verify(&self.0, bound(id, principal).as_bytes(), &code).is_ok())
        });
        let Some(id) = id.and_then(|(id, _)| HeaderValue::from_str(id).ok()) else { return false };
        headers.insert(SESSION_ID, id);
        true
    }
}

/// Returns the text that a code is over. A name has no space, so that no two pairs have the same text.
fn bound(id: &str, principal: &Principal) -> String {
    format!("{} {id}", principal.name.as_deref().unwrap_or_default())
}

fn decoded(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}
