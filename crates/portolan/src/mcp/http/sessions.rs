//! Binds a session to the holder of the token that began it.
//!
//! A session's messages may tell what its client sees, so that its id alone must not admit another client. The id that
//! a client is given contains a code over the id and the holder's name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use data_encoding::HEXLOWER;
use portolan_runtime::service::ServiceError;
use ring::hmac::{self, HMAC_SHA256, Key};

use crate::http::{Principal, is_equal, random_token};

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The sessions of the holders.
pub(super) struct Sessions {
    /// The key of the codes, which ends with the process as the sessions do.
    key: Key,
    /// The ids that were given out, by the name of the holder. Some may have ended.
    begun: Mutex<BTreeMap<Arc<str>, BTreeSet<String>>>,
}

impl Sessions {
    pub(super) fn new() -> Result<Sessions, ServiceError> {
        let key = Key::new(HMAC_SHA256, random_token()?.as_bytes());
        Ok(Sessions { key, begun: Mutex::default() })
    }

    /// Returns the number of sessions of a holder. Those of holders that are not told apart are not counted here.
    pub(super) fn of(&self, principal: &Principal) -> usize {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        principal.name.as_ref().and_then(|name| begun.get(name)).map_or(0, BTreeSet::len)
    }

    /// Forgets the sessions that are not open.
    pub(super) fn retain(&self, open: &BTreeSet<String>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.values_mut().for_each(|ids| ids.retain(|id| open.contains(id)));
        begun.retain(|_name, ids| !ids.is_empty());
    }

    fn note(&self, id: &str, principal: &Principal) {
        let Some(name) = &principal.name else { return };
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.entry(Arc::clone(name)).or_default().insert(id.to_owned());
    }

    /// Adds the code to the id of a response that begins a session.
    pub(super) fn bind(&self, headers: &mut HeaderMap, principal: &Principal) {
        let Some(id) = headers.get(&SESSION_ID).and_then(|id| id.to_str().ok()) else { return };
        self.note(id, principal);
        if let Ok(value) = HeaderValue::from_str(&format!("{id}.{}", self.code(id, principal))) {
            headers.insert(SESSION_ID, value);
        }
    }

    /// Removes the code from the id of a request. Returns `false` if the id is not one of this holder's.
    pub(super) fn unbind(&self, headers: &mut HeaderMap, principal: &Principal) -> bool {
        let mut ids = headers.get_all(&SESSION_ID).iter();
        let (first, second) = (ids.next(), ids.next());
        let Some(first) = first else { return true };
        let id = first.to_str().ok().and_then(|id| id.rsplit_once('.')).filter(|_| second.is_none());
        let id = id.filter(|(id, code)| is_equal(code.as_bytes(), self.code(id, principal).as_bytes()));
        let Some(id) = id.and_then(|(id, _)| HeaderValue::from_str(id).ok()) else { return false };
        headers.insert(SESSION_ID, id);
        true
    }

    /// Returns the code over an id and the name of its holder. An id has no space, so that no two pairs have one text.
    fn code(&self, id: &str, principal: &Principal) -> String {
        let text = format!("{} {id}", principal.name.as_deref().unwrap_or_default());
        HEXLOWER.encode(hmac::sign(&self.key, text.as_bytes()).as_ref())
    }
}
