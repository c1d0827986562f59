//! Texts that name variables in braces: `{name}`, `{name.of.a.part}`.

use serde_json::Value;

/// The path that a text names, where it is nothing else.
pub(crate) fn whole(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    is_path(path).then_some(path)
}

/// The value at a path.
pub(crate) fn found<'v>(path: &str, variables: &[(&str, &'v Value)]) -> Option<&'v Value> {
    let mut segments = path.split('.');
    let first = segments.next()?;
    let root = variables.iter().find(|(name, _)| *name == first)?.1;
    segments.try_fold(root, |value, segment| value.as_object()?.get(segment))
}

/// The name that a path begins with.
pub(crate) fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// Whether a text is a name, or names with dots between.
pub(crate) fn is_path(text: &str) -> bool {
    let segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && segment.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    !text.is_empty() && text.split('.').all(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_in_braces() {
        assert_eq!(whole(" {a.b-c} "), Some("a.b-c"));
        for text in ["{a}{b}", "a", "{}", "{a b}", "{1}", "x {a}"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
