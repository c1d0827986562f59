//! The lists that all machines of a project share. A store that belongs to one machine has none.
//!
//! A list only grows, and its entries are numbered in the order in which they become visible: whoever has read an entry has
//! read all before it. The store does not know what an entry means.

use super::StoreError;

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedList {
    /// What persons trust.
    Trust,
    /// The usage of agents, and raised budgets.
    Budgets,
}

impl SharedList {
    /// Returns its name in stores.
    pub fn name(self) -> &'static str {
        match self {
            SharedList::Trust => "trust",
            SharedList::Budgets => "budgets",
        }
    }
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    /// The identity. An entry whose identity is in the list already is not appended again.
    pub id: String,
    /// What [`SharedRequest::key`] selects. It is empty for entries that are only read in their order.
    pub key: String,
    /// The content.
    pub text: String,
}

/// Which entries of a list to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRequest {
    /// The list.
    pub list: SharedList,
    /// Leaves out the entries with another key.
    pub key: Option<String>,
    /// The number of the entry before the first. 0 for the first page.
    pub after: u64,
    /// The maximum number of entries. A store may return fewer; only an empty page says that there are no more.
    pub limit: usize,
}

impl SharedRequest {
    /// Returns the request for the first page of a list.
    pub fn of(list: SharedList) -> SharedRequest {
        SharedRequest { list, key: None, after: 0, limit: MOST_SHARED_PER_PAGE }
    }
}

/// The maximum number of entries of a page, and of those that are appended at once.
pub const MOST_SHARED_PER_PAGE: usize = 256;
/// The maximum size of an entry's text, in bytes.
pub const MOST_SHARED_BYTES: usize = 32 << 10;
/// The maximum length of an identity and of a key, in bytes.
const MOST_NAME_BYTES: usize = 200;

/// Refuses entries that no store accepts, so that all stores accept the same.
pub(super) fn check(entries: &[SharedEntry]) -> Result<(), StoreError> {
    if entries.len() > MOST_SHARED_PER_PAGE {
        return Err(too_large(format!("{} entries were to be shared at once", entries.len())));
    }
    for SharedEntry { id, key, text } in entries {
        let is_plain = |name: &str| name.len() <= MOST_NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic());
        if id.is_empty() || !is_plain(id) || !is_plain(key) {
            return Err(StoreError::Failed {
                code: "bad_entry",
                message: "the identity or the key of a shared entry is not a plain name".to_owned(),
                help: format!("use up to {MOST_NAME_BYTES} visible ASCII characters"),
            });
        }
        if text.len() > MOST_SHARED_BYTES || text.contains('\0') {
            return Err(too_large(format!("an entry of {} bytes cannot be shared", text.len())));
        }
    }
    Ok(())
}

fn too_large(message: String) -> StoreError {
    let help = format!(
        "share up to {MOST_SHARED_PER_PAGE} texts at once, each of up to {MOST_SHARED_BYTES} bytes without a zero byte"
    );
    StoreError::Failed { code: "too_large", message, help }
}

/// Returns the error of a store that has no lists.
pub(super) fn not_shared() -> StoreError {
    StoreError::Failed {
        code: "not_shared",
        message: "this store belongs to one machine, and shares no lists with others".to_owned(),
        help: "name a database with `--store postgres://…`, or Restate with `--store restate://…`".to_owned(),
    }
}
