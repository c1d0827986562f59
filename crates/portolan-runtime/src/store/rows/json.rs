//! Writes and reads stored JSON texts.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Unread;
use crate::nesting;

/// Returns the JSON of a value.
pub(in crate::store) fn write(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("runs and events consist of structs, lists, texts and numbers")
}

/// Returns the value of a JSON text. `what` names it in an error.
pub(in crate::store) fn read<T: DeserializeOwned>(text: &str, what: impl Fn() -> String) -> Result<T, Unread> {
    nesting::read(text.as_bytes()).map_err(|why| Unread::Garbled { what: what(), why })
}
