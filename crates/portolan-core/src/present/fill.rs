//! Fills the texts of definitions with the values of variables for `{name}`.

use serde_json::Value;

use crate::value::template;

/// The maximum length of one value in a text, in characters.
pub(super) const MAX_VALUE_CHARS: usize = 400;

/// Replaces `{name}` and `{name.of.a.part}` in a text. A variable without a value is marked as such: an agent must not
/// take its name for a value. Braces around anything else stay.
pub(super) fn filled(text: &str, variables: &[(&str, &Value)], is_declared: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let is_variable = |path: &str| {
            let first = template::root(path);
            template::is_path(path) && (is_declared(first) || variables.iter().any(|(name, _)| *name == first))
        };
        let close = from.find('}').filter(|close| is_variable(&from[1..*close]));
        match close {
            Some(close) => {
                let path = &from[1..close];
                out.push_str(&value(path, variables).unwrap_or_else(|| format!("({path} has no value)")));
                rest = &from[close + 1..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn value(path: &str, variables: &[(&str, &Value)]) -> Option<String> {
    template::found(path, variables).map(text)
}

/// Formats a value for people, shortened.
pub(super) fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_in_braces_become_their_values() {
        let (issue, review) = (json!("PR-7"), json!({ "points": [1, 2], "open": true }));
        let variables = [("issue", &issue), ("review", &review)];
        let cases = [
            ("Close {issue}?", "Close PR-7?"),
            ("{review.open} {review.points}", "true [1,2]"),
            ("{nobody} and {review.none}", "(nobody has no value) and (review.none has no value)"),
            ("a template, {slug}.md", "a template, {slug}.md"),
            ("{} { issue } {issue", "{} { issue } {issue"),
            ("{{issue}} {\"a\": 1}", "{PR-7} {\"a\": 1}"),
        ];
        for (text, expected) in cases {
            assert_eq!(filled(text, &variables, &|name| name == "nobody"), expected);
        }
        let long = json!("x".repeat(1_000));
        assert_eq!(filled("{long}", &[("long", &long)], &|_| false).chars().count(), MAX_VALUE_CHARS + 2);
    }
}
