//! Writes and reads stored JSON texts.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::Trouble;
use crate::nested;

/// Returns the JSON of a value.
pub(super) fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("runs and events consist of structs, lists, texts and numbers")
}

/// Returns the value of a JSON text. `what` names it in an error.
pub(super) fn read<T: DeserializeOwned>(text: &str, what: impl Fn() -> String) -> Result<T, Trouble> {
    nested::read(text.as_bytes()).map_err(|why| Trouble::Garbled { what: what(), why })
}
