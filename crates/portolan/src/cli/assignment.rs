//! Parses an argument `name=value`.

use serde_json::Value;

/// Parses a name and its value: JSON, or else text.
pub(super) fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write `field=value`, such as `branch=feat/login`")?;
    if name.is_empty() {
        return Err("write the name of a field before `=`".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}
