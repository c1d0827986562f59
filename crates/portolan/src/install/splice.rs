//! Edits of the user's JSON files that preserve comments, indentation and line ends, and can be undone to the last
//! byte.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// A value to insert into a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The path of its object or list, from the root.
    pub(super) within: Vec<String>,
    /// Its key in an object. `None` in a list.
    pub(super) key: Option<String>,
    pub(super) value: Value,
}

/// An inserted text, and its offset in the resulting text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) text: String,
    /// The white space that it replaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) removed: String,
}

/// A text with inserted parts.
pub(super) struct SplicedText {
    pub(super) text: String,
    pub(super) inserted: Vec<Insertion>,
    /// The parts that were there already, which are the user's own.
    pub(super) present: Vec<Part>,
}

/// The deepest nesting that is accepted.
const MAX_DEPTH: usize = 64;

/// Inserts parts into a text, which may be empty.
pub(super) fn put(text: &str, parts: &[Part]) -> Result<SplicedText, String> {
    let root = parse(text)?;
    let mut present = Vec::new();
    for part in parts {
        if !add(&root, part)? {
            present.push(part.clone());
        }
    }
    let made = root.to_string();
    let inserted = inserted(text, &made);
    if inserted.iter().any(|piece| !piece.removed.trim().is_empty()) {
        return Err("it cannot be edited without changing your own entries".to_owned());
    }
    Ok(SplicedText { text: made, inserted, present })
}

/// Adds a part. Returns `false` if its place is taken.
fn add(root: &CstRootNode, part: &Part) -> Result<bool, String> {
    let Some(mut object) = root.object_value_or_create() else { return Err(unfit(&[], "an object")) };
    let (inner, last) = match (&part.key, part.within.split_last()) {
        (Some(key), _) => (&part.within[..], key),
        (None, Some((list, objects))) => (objects, list),
        (None, None) => return Err(unfit(&[], "a list")),
    };
    for (depth, key) in inner.iter().enumerate() {
        let Some(found) = member(&object, key) else {
            object.append(key, input(&nested(&part.within[depth + 1..], part)));
            return Ok(true);
        };
        object = found.object_value().ok_or_else(|| unfit(&inner[..=depth], "an object"))?;
    }
    match (member(&object, last), &part.key) {
        (Some(_), Some(_)) => return Ok(false),
        (None, Some(_)) => drop(object.append(last, input(&part.value))),
        (None, None) => drop(object.append(last, input(&Value::Array(vec![part.value.clone()])))),
        (Some(found), None) => {
            let list = found.array_value().ok_or_else(|| unfit(&part.within, "a list"))?;
            if list.elements().iter().any(|item| value(item) == part.value) {
                return Ok(false);
            }
            list.append(input(&part.value));
        }
    }
    Ok(true)
}

/// Returns the differences between two texts, by lines and then by words and signs: by characters, a line that becomes a
/// hundred would take a hundred times as long.
fn inserted(before: &str, after: &str) -> Vec<Insertion> {
    let mut pieces: Vec<Insertion> = Vec::new();
    let mut at = 0;
    let lines = TextDiff::from_lines(before, after);
    for lines in lines.ops() {
        let (old, new) = (lines.old_range(), lines.new_range());
        let of = |text: &str, range: std::ops::Range<usize>| -> String {
            text.split_inclusive('\n').skip(range.start).take(range.len()).collect()
        };
        let (old, new) = (of(before, old), of(after, new));
        for change in TextDiff::from_slices(&words(&old), &words(&new)).iter_all_changes() {
            let text = change.value();
            match change.tag() {
                ChangeTag::Equal => at += text.len(),
                tag => {
                    let goes_on = pieces.last().is_some_and(|piece| piece.at + piece.text.len() == at);
                    if !goes_on {
                        pieces.push(Insertion { at, ..Insertion::default() });
                    }
                    let Some(piece) = pieces.last_mut() else { continue };
                    if tag == ChangeTag::Insert {
                        piece.text += text;
                        at += text.len();
                    } else {
                        piece.removed += text;
                    }
                }
            }
        }
    }
    pieces
}

/// Splits a text into its words, and everything between them into single characters.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word.max(first.len_utf8()));
        words.push(word);
        rest = after;
    }
    words
}

/// Removes the inserted pieces from an unchanged text. Returns `None` if one of them is not there.
pub(super) fn undo(text: &str, inserted: &[Insertion]) -> Option<String> {
    let mut text = text.to_owned();
    for piece in inserted.iter().rev() {
        let end = piece.at.checked_add(piece.text.len())?;
        if text.get(piece.at..end)? != piece.text {
            return None;
        }
        text.replace_range(piece.at..end, &piece.removed);
    }
    Some(text)
}

/// Removes from a changed text everything that `ours` recognises at the paths of `parts`, and the containers that this
/// leaves empty.
pub(super) fn cut(text: &str, parts: &[Part], ours: impl Fn(&Part, &Value) -> bool) -> Result<String, String> {
    let root = parse(text)?;
    for part in parts {
        let Some(mut path) = holder(&root, part) else { continue };
        let found: Vec<CstNode> = match (path.last().map(|(_, node)| node.clone()), &part.key) {
            (Some(CstNode::Container(CstContainerNode::Array(list))), None) => {
                list.elements().into_iter().filter(|item| ours(part, &value(item))).collect()
            }
            (Some(CstNode::Container(CstContainerNode::Object(object))), Some(key)) => {
                let named = object.properties().into_iter().filter(|found| name(found) == *key);
                let is_ours = |found: &CstObjectProp| found.value().is_some_and(|node| ours(part, &value(&node)));
                named.filter(is_ours).map(CstNode::from).collect()
            }
            _ => Vec::new(),
        };
        if found.is_empty() {
            continue;
        }
        found.into_iter().for_each(CstNode::remove);
        // Removes containers that are left empty, but never the root.
        while let Some((Some(property), node)) = path.pop() {
            if !is_empty(&node) {
                break;
            }
            property.remove();
        }
    }
    Ok(root.to_string())
}

/// Returns the containers on the path of a part, each with the property that holds it.
fn holder(root: &CstRootNode, part: &Part) -> Option<Vec<(Option<CstObjectProp>, CstNode)>> {
    let mut path = vec![(None, root.value()?)];
    for key in &part.within {
        let found = member(&path.last()?.1.as_object()?, key)?;
        let node = found.value()?;
        path.push((Some(found), node));
    }
    Some(path)
}

/// Returns whether a container has neither values nor comments.
fn is_empty(node: &CstNode) -> bool {
    node.children().iter().all(|child| child.is_token() || child.is_whitespace() || child.is_newline())
}

/// Returns whether a text contains a part.
pub(super) fn holds(text: &str, part: &Part) -> bool {
    let Ok(root) = parsed(text) else { return false };
    let holder = part.within.iter().try_fold(&root, |value, key| value.get(key));
    match (&part.key, holder) {
        (Some(key), Some(Value::Object(fields))) => fields.get(key) == Some(&part.value),
        (None, Some(Value::Array(items))) => items.contains(&part.value),
        _ => false,
    }
}

/// Parses a text and drops its comments.
pub(super) fn parsed(text: &str) -> Result<Value, String> {
    Ok(parse(text)?.to_serde_value().unwrap_or_default())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    if depth(text) > MAX_DEPTH {
        return Err("it is nested too deeply".to_owned());
    }
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(text, &options).map_err(|error| error.to_string())
}

/// Returns how deep a text is nested. Brackets in strings and comments do not count.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest): (usize, usize) = (0, 0);
    let mut rest = text;
    while let Some(at) = rest.find(['[', '{', ']', '}', '"', '/']) {
        let (first, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        let skipped = |end: Option<usize>| end.map_or("", |end| &after[end..]);
        rest = match first {
            b'"' => skipped(end_of_string(after)),
            b'/' if after.starts_with('/') => skipped(after.find('\n')),
            b'/' if after.starts_with('*') => skipped(after.find("*/").map(|end| end + 2)),
            b'[' | b'{' => {
                depth += 1;
                after
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                after
            }
            _ => after,
        };
        deepest = deepest.max(depth);
    }
    deepest
}

/// Returns where a string ends whose first quote is before `text`.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    let ends = |byte: u8| {
        let was = escaped;
        escaped = !was && byte == b'\\';
        byte == b'"' && !was
    };
    text.bytes().position(ends).map(|at| at + 1)
}

fn value(node: &CstNode) -> Value {
    node.to_serde_value().unwrap_or_default()
}

fn name(property: &CstObjectProp) -> String {
    property.decoded_name().unwrap_or_default()
}

/// Returns a property. If the key is there twice, the last one counts.
fn member(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|property| name(property) == key)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(word) => CstInputValue::Bool(*word),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

fn unfit(path: &[String], expected: &str) -> String {
    if path.is_empty() { format!("it is not {expected}") } else { format!("`{}` is not {expected}", path.join(".")) }
}

fn nested(path: &[String], part: &Part) -> Value {
    let innermost = match &part.key {
        Some(key) => Value::Object([(key.clone(), part.value.clone())].into_iter().collect()),
        None => Value::Array(vec![part.value.clone()]),
    };
    path.iter().rev().fold(innermost, |value, key| Value::Object([(key.clone(), value)].into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts() -> Vec<Part> {
        let hook = |event: &str| Part {
            within: vec!["hooks".to_owned(), event.to_owned()],
            key: None,
            value: json!({ "command": "portolan", "args": ["hook", event] }),
        };
        let server =
            Part { within: vec!["servers".to_owned()], key: Some("portolan".to_owned()), value: json!({ "on": true }) };
        vec![hook("Before"), hook("Stop"), server]
    }

    const TEXTS: [&str; 16] = [
        "",
        "{}",
        "{ }\n",
        "{\n}\n",
        "// mine\n{\n  // empty\n}\n",
        "{\"a\":1}",
        "{\n    \"a\": 1\n}",
        "{\r\n\t\"a\": 1, // one\r\n\t\"hooks\": {}\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"Before\": []\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Before\": [\n      { \"command\": \"mine\" } // keep\n    ],\n  },\n}\n",
        "{\"hooks\":{\"Before\":[{\"command\":\"mine\"}],\"Stop\":[1,2]},\"servers\":{\"other\":{}}}",
        "{\n   \"servers\": { /* none */ },\n\n   \"z\": [1,\n2]}",
        "{\n  \"a\": \"é\" /* b */, // c\n  /* d */\n}\n// e\n",
        "{ \"hooks\": { \"Before\": [ ], \"Stop\": [\n] } }",
        "\n\n",
        "// only a remark",
    ];

    #[test]
    fn what_was_put_in_is_taken_out_to_the_last_byte() {
        for text in TEXTS {
            let spliced = put(text, &parts()).expect(text);
            for part in parts() {
                assert!(holds(&spliced.text, &part), "{part:?} in\n{}", spliced.text);
            }
            let before = parsed(text).expect(text);
            for (key, value) in before
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, _)| !["hooks", "servers"].contains(&key.as_str()))
            {
                assert_eq!(parsed(&spliced.text).expect("it is JSON").get(key), Some(value));
            }
            assert_eq!(undo(&spliced.text, &spliced.inserted).as_deref(), Some(text), "{}", spliced.text);
            assert_eq!(put(&spliced.text, &parts()).expect("again").text, spliced.text, "twice");
        }
    }

    #[test]
    fn from_a_text_that_changed_only_our_own_is_taken() {
        for text in TEXTS {
            let spliced = put(text, &parts()).expect(text);
            let cut = cut(&spliced.text, &parts(), |part, value| *value == part.value).expect(text);
            let left = parsed(&cut).expect(&cut);
            assert!(!cut.contains("portolan"), "{cut}");
            for comment in
                ["// mine", "// empty", "// one", "// keep", "/* none */", "/* b */", "// c", "/* d */", "// e"]
            {
                assert_eq!(cut.contains(comment), text.contains(comment), "{comment} in {cut}");
            }
            let before = parsed(text).expect(text);
            for (key, value) in left.as_object().into_iter().flatten() {
                assert!(before.get(key).is_some(), "{key}: {value} in {cut}");
            }
            if text.contains("mine\"") {
                assert_eq!(left["hooks"]["Before"], json!([{ "command": "mine" }]), "{cut}");
            }
        }
    }

    #[test]
    fn the_users_way_of_writing_is_taken_up() {
        let text = "{\r\n\t\"a\": 1 // one\r\n}\r\n";
        let spliced = put(text, &parts()[2..]).expect("it fits");
        let expected = "{\r\n\t\"a\": 1, // one\r\n\t\"servers\": {\r\n\t\t\"portolan\": {\r\n\t\t\t\"on\": true\r\n\t\t}\r\n\t}\r\n}\r\n";
        assert_eq!(spliced.text, expected);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let why = |text: &str| put(text, &parts()).err().expect("it does not fit");
        assert_eq!(why("[]"), "it is not an object");
        assert_eq!(why(r#"{"hooks": []}"#), "`hooks` is not an object");
        assert_eq!(why(r#"{"hooks": {"Before": {}}}"#), "`hooks.Before` is not a list");
        assert!(why("{").contains("line 1"), "{}", why("{"));
        for opening in ["[", r#"["]]\"]]","#, "/* ]] \" */ [", "// ]] \"\n["] {
            assert_eq!(why(&opening.repeat(100_000)), "it is nested too deeply", "{opening}");
        }
        let flat = format!("{{\"a\": [{}1]}}", r#""[[[{{{", /* [[ */ "#.repeat(100));
        assert_eq!(depth(&flat), 2);
    }

    #[test]
    fn a_name_that_is_taken_stays_as_it_is() {
        let text = r#"{"servers": {"portolan": {"mine": 1}}}"#;
        let spliced = put(text, &parts()[2..]).expect("it fits");
        assert_eq!((spliced.text.as_str(), spliced.present.len()), (text, 1));
    }
}
