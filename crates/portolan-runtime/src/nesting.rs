//! Parses JSON that is nested deeper than `serde_json` allows by default, but not so deep that it overflows the stack.

use serde::de::DeserializeOwned;

/// The maximum depth. A fork in a subflow takes nine levels, and a run may be 16 frames deep: more than the 128 levels
/// that `serde_json` allows. A limit is still needed, because a file from a repository must not overflow the stack.
pub(crate) const MAX_DEPTH: usize = 256;

/// Parses a JSON text.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    // Most texts contain fewer brackets than the limit, and this count processes many bytes at a time.
    let opened = text.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if opened > MAX_DEPTH && depth(text) > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Returns how deep lists and objects are nested.
fn depth(text: &[u8]) -> usize {
    let (mut now, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert_eq!(depth(br#"{"a":[1,{"b":"[[[\"[["}],"c":"\\"}"#), 3);
        assert_eq!(depth(b"7"), 0);
    }

    #[test]
    fn too_deep_a_text_is_refused_and_no_crash() {
        let read = |levels: usize| {
            read::<serde_json::Value>(format!("{}{}", "[".repeat(levels), "]".repeat(levels)).as_bytes())
        };
        assert!(read(MAX_DEPTH).is_ok());
        assert_eq!(read(100_000), Err("nested deeper than 256 levels".to_owned()));
    }
}
