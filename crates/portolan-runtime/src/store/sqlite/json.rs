//! What is kept as JSON text, to and fro.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::Trouble;

/// The JSON of a value.
pub(super) fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("runs and events consist of structs, lists, texts and numbers")
}

/// The value of a JSON text; `what` says what it is, should it be none.
pub(super) fn read<T: DeserializeOwned>(text: &str, what: impl Fn() -> String) -> Result<T, Trouble> {
    let garbled = |why: String| Trouble::Garbled { what: what(), why };
    if depth(text) > MAX_DEPTH {
        return Err(garbled(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(|error| garbled(error.to_string()))?;
    reader.end().map_err(|error| garbled(error.to_string()))?;
    Ok(value)
}

/// How deep lists and objects are nested.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' if !quoted => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A fork in a subflow takes nine levels, and subflows nest 16 deep: more than the 128 that `serde_json` allows.
/// There must be a limit all the same, because a file that came with a repository must not overflow the stack.
const MAX_DEPTH: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert_eq!(depth(r#"{"a":[1,{"b":"[[[\"[["}],"c":"\\"}"#), 3);
        assert_eq!(depth("7"), 0);
    }

    #[test]
    fn too_deep_a_text_is_garbled_and_no_crash() {
        let text = "[".repeat(100_000);
        let fault = read::<serde_json::Value>(&text, || "it".to_owned()).expect_err("it is too deep");
        assert!(matches!(fault, Trouble::Garbled { .. }), "{fault:?}");
    }
}
