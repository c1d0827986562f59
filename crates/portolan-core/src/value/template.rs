//! Texts with variables in braces: `{name}`, `{name.of.a.part}`.

use serde_json::Value;

/// Returns the path of a text that consists of one variable.
pub(crate) fn whole(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    is_path(path).then_some(path)
}

/// Returns the paths of all variables in a text.
pub(crate) fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| part.find('}').map(|end| &part[..end])).filter(|path| is_path(path))
}

/// Returns the text with the values of its variables. `None` if one has no value, or one of more than `most`
/// bytes.
pub(crate) fn filled(text: &str, variables: &[(&str, &Value)], most: usize) -> Option<String> {
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.find('}').filter(|end| is_path(&part[..*end])) {
            Some(end) => {
                let value = match found(&part[..end], variables)? {
                    Value::Null => return None,
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                out.push_str(Some(value).filter(|value| value.len() <= most)?.as_str());
                out.push_str(&part[end + 1..]);
            }
            None => {
                out.push('{');
                out.push_str(part);
            }
        }
    }
    Some(out)
}

/// Returns the value at a path.
pub(crate) fn found<'v>(path: &str, variables: &[(&str, &'v Value)]) -> Option<&'v Value> {
    let mut segments = path.split('.');
    let first = segments.next()?;
    let root = variables.iter().find(|(name, _)| *name == first)?.1;
    segments.try_fold(root, |value, segment| value.as_object()?.get(segment))
}

/// Returns the first name of a path.
pub(crate) fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// Checks whether a text is a name, or names separated by dots.
pub(crate) fn is_path(text: &str) -> bool {
    let segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && segment.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    !text.is_empty() && text.split('.').all(segment)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_stand_in_braces() {
        assert_eq!(whole(" {a.b-c} "), Some("a.b-c"));
        for text in ["{a}{b}", "a", "{}", "{a b}", "{1}", "x {a}"] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!(paths("{a} { b} {c.d}} {").collect::<Vec<_>>(), ["a", "c.d"]);
    }

    #[test]
    fn a_text_is_filled_or_not_at_all() {
        let (file, round) = (json!({ "path": "a/{x}.rs" }), json!(3));
        let variables = [("file", &file), ("round", &round), ("none", &Value::Null)];
        assert_eq!(filled("{file.path}#{round} {", &variables, 100).as_deref(), Some("a/{x}.rs#3 {"));
        assert_eq!(filled("{file.size}", &variables, 100), None);
        assert_eq!(filled("{none}", &variables, 100), None);
        assert_eq!(filled("{file.path}", &variables, 3), None);
    }
}
