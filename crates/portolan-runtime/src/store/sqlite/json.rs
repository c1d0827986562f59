//! What is kept as JSON text, to and fro.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::Trouble;
use crate::nested;

/// The JSON of a value.
pub(super) fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("runs and events consist of structs, lists, texts and numbers")
}

/// The value of a JSON text; `what` says what it is, should it be none.
pub(super) fn read<T: DeserializeOwned>(text: &str, what: impl Fn() -> String) -> Result<T, Trouble> {
    nested::read(text.as_bytes()).map_err(|why| Trouble::Garbled { what: what(), why })
}
