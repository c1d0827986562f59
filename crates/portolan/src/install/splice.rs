//! JSON files of the user's, changed without a byte of theirs being touched: what is put in is inserted as text, and
//! what is taken out is cut out as text. Comments, indentation and line ends stay.

use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{ParseOptions, parse_to_ast};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that is to be in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The object or the list that it goes into, from the top.
    pub(super) within: Vec<String>,
    /// Its name in an object; in a list it has none.
    pub(super) key: Option<String>,
    pub(super) value: Value,
}

/// Text that was put in, where it stands in the text that came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inserted {
    pub(super) at: usize,
    pub(super) text: String,
}

/// A file with parts put in.
pub(super) struct Spliced {
    pub(super) text: String,
    pub(super) inserted: Vec<Inserted>,
    /// The parts that stand there by themselves: the user's own.
    pub(super) present: Vec<Part>,
}

/// The deepest nesting that is looked at.
const MAX_DEPTH: usize = 64;

/// Puts parts into a text; into an empty one as well.
pub(super) fn put(text: &str, parts: &[Part]) -> Result<Spliced, String> {
    let mut spliced = Spliced { text: text.to_owned(), inserted: Vec::new(), present: Vec::new() };
    for part in parts {
        let style = Style::of(&spliced.text);
        match insertions(&spliced.text, part, &style)? {
            Some(pieces) => {
                for (at, piece) in pieces.into_iter().rev() {
                    spliced.insert(at, &piece);
                }
            }
            None => spliced.present.push(part.clone()),
        }
    }
    parse(&spliced.text, |_| ()).map_err(|why| format!("it would not be JSON any more: {why}"))?;
    Ok(spliced)
}

impl Spliced {
    fn insert(&mut self, at: usize, piece: &str) {
        self.text.insert_str(at, piece);
        let mut inside = false;
        for known in &mut self.inserted {
            if known.at >= at {
                known.at += piece.len();
            } else if known.at + known.text.len() > at {
                known.text.insert_str(at - known.at, piece);
                inside = true;
            }
        }
        if inside {
            return;
        }
        self.inserted.push(Inserted { at, text: piece.to_owned() });
        self.inserted.sort_by_key(|known| known.at);
    }
}

/// Takes out what was put into a text that has not changed since: nothing when it is not there.
pub(super) fn undo(text: &str, inserted: &[Inserted]) -> Option<String> {
    let mut text = text.to_owned();
    for piece in inserted.iter().rev() {
        let end = piece.at.checked_add(piece.text.len())?;
        if text.get(piece.at..end)? != piece.text {
            return None;
        }
        text.replace_range(piece.at..end, "");
    }
    Some(text)
}

/// Takes out of a text that has changed since whatever `ours` recognises in the places of `parts`, with the containers
/// that are empty without it.
pub(super) fn cut(text: &str, parts: &[Part], ours: impl Fn(&Part, &Value) -> bool) -> Result<String, String> {
    let mut text = text.to_owned();
    for part in parts {
        while let Some(next) = parse(&text, |root| root.and_then(|root| cut_one(&text, root, part, &ours)))? {
            text = next;
        }
    }
    Ok(text)
}

fn cut_one(text: &str, root: &Node<'_>, part: &Part, ours: &impl Fn(&Part, &Value) -> bool) -> Option<String> {
    let mut path = vec![root];
    for key in &part.within {
        let Node::Object(object) = path.last()? else { return None };
        path.push(member(object, key)?);
    }
    let holder = *path.last()?;
    let mut siblings = children(holder);
    let mut index = match (holder, &part.key) {
        (Node::Array(array), None) => array.elements.iter().position(|node| ours(part, &value(node)))?,
        (Node::Object(object), Some(key)) => {
            let at = object.properties.iter().rposition(|property| property.name.as_str() == key)?;
            ours(part, &value(&object.properties[at].value)).then_some(at)?
        }
        _ => return None,
    };
    // What holds nothing else goes with it, but never the whole file.
    for depth in (1..path.len()).rev() {
        if siblings.len() > 1 || has_remarks(text, path[depth], siblings[index]) {
            break;
        }
        let Node::Object(outer) = path[depth - 1] else { break };
        index = outer.properties.iter().rposition(|property| property.name.as_str() == part.within[depth - 1])?;
        siblings = children(path[depth - 1]);
    }
    Some(without(text, &siblings, index))
}

/// Whether a container has comments beside its one child.
fn has_remarks(text: &str, holder: &Node<'_>, (start, end): (usize, usize)) -> bool {
    text[holder.start()..start].contains('/') || text[end..holder.end()].contains('/')
}

/// A text without one of some siblings and one comma. Comments stay, as they may be about a neighbour.
fn without(text: &str, siblings: &[(usize, usize)], index: usize) -> String {
    let (start, end) = siblings[index];
    let from = text[..start].trim_end_matches([' ', '\t', '\r', '\n']).len();
    let following = comma(text, end);
    if index + 1 < siblings.len() || following.is_some() {
        let to = following.map_or(end, |at| at + 1);
        return collapsed(text, from, to);
    }
    let mut out = collapsed(text, from, end);
    if let Some(at) = index.checked_sub(1).and_then(|before| comma(text, siblings[before].1)) {
        out.remove(at);
    }
    out
}

/// A text without a range; a container that has nothing but blanks then is closed up.
fn collapsed(text: &str, from: usize, to: usize) -> String {
    let rest = text[to..].trim_start_matches([' ', '\t', '\r', '\n']);
    let empty = text[..from].ends_with(['{', '[']) && rest.starts_with(['}', ']']);
    format!("{}{}", &text[..from], if empty { rest } else { &text[to..] })
}

/// Where the comma behind a child stands.
fn comma(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = &text[at..];
        if rest.starts_with(',') {
            return Some(at);
        } else if rest.starts_with([' ', '\t', '\r', '\n']) {
            at += 1;
        } else if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if let Some(inner) = rest.strip_prefix("/*") {
            at += inner.find("*/")? + 4;
        } else {
            return None;
        }
    }
}

/// Whether there is such a part in a text.
pub(super) fn holds(text: &str, part: &Part) -> bool {
    let found = parse(text, |root| {
        let root = value(root?);
        let holder = part.within.iter().try_fold(&root, |value, key| value.get(key))?;
        Some(match (&part.key, holder) {
            (Some(key), Value::Object(fields)) => fields.get(key) == Some(&part.value),
            (None, Value::Array(items)) => items.contains(&part.value),
            _ => false,
        })
    });
    found.ok().flatten().unwrap_or_default()
}

/// What a text says, without its comments.
pub(super) fn parsed(text: &str) -> Result<Value, String> {
    parse(text, |root| root.map_or(Value::Null, value))
}

fn parse<T>(text: &str, read: impl FnOnce(Option<&Node<'_>>) -> T) -> Result<T, String> {
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
    let parsed = parse_to_ast(text, &Default::default(), &options).map_err(|error| error.to_string())?;
    Ok(read(parsed.value.as_ref()))
}

/// At least how deep a text is nested; brackets in strings count too.
fn depth(text: &str) -> usize {
    let mut depth: usize = 0;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        Node::BooleanLit(word) => Value::Bool(word.value),
        Node::Object(object) => {
            let fields = object.properties.iter();
            Value::Object(fields.map(|field| (field.name.as_str().to_owned(), value(&field.value))).collect())
        }
        Node::Array(array) => array.elements.iter().map(value).collect(),
        Node::NullKeyword(_) => Value::Null,
    }
}

/// The value of a key; of one that stands there twice, the one that counts.
fn member<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b Node<'a>> {
    object.properties.iter().rfind(|property| property.name.as_str() == key).map(|property| &property.value)
}

fn children(node: &Node<'_>) -> Vec<(usize, usize)> {
    match node {
        Node::Object(Object { properties, .. }) => {
            properties.iter().map(|child| (child.start(), child.end())).collect()
        }
        Node::Array(Array { elements, .. }) => elements.iter().map(|child| (child.start(), child.end())).collect(),
        _ => Vec::new(),
    }
}

/// How the user writes.
struct Style {
    line_end: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Style {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && line.trim_start().starts_with('"'));
        let unit = indented.map(indentation).filter(|unit| unit.len() <= 8).unwrap_or("  ");
        Style { line_end, unit: unit.to_owned() }
    }

    /// A value as the user would write it, its first line without indentation.
    fn written(&self, value: &Value, indent: &str) -> String {
        let mut out = Vec::new();
        let unit = self.unit.as_bytes();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(unit);
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        // A value writes itself into memory without fail.
        let _ = serde::Serialize::serialize(value, &mut serializer);
        String::from_utf8_lossy(&out).replace('\n', &format!("{}{indent}", self.line_end))
    }
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The texts to insert, in order of their places; nothing where the part's place is taken.
fn insertions(text: &str, part: &Part, style: &Style) -> Result<Option<Vec<(usize, String)>>, String> {
    parse(text, |root| {
        let Some(mut node) = root else {
            let whole = nested(&part.within, part);
            let ended = text.is_empty() || text.ends_with('\n');
            let start = if ended { "" } else { style.line_end };
            return Ok(Some(vec![(text.len(), format!("{start}{}{}", style.written(&whole, ""), style.line_end))]));
        };
        for (depth, key) in part.within.iter().enumerate() {
            let Node::Object(object) = node else { return Err(unfit(&part.within[..depth], "an object")) };
            match member(object, key) {
                Some(inner) => node = inner,
                None => {
                    let inner = nested(&part.within[depth + 1..], part);
                    return Ok(Some(inserted(text, node, Some(key), &inner, style)));
                }
            }
        }
        match (node, &part.key) {
            (Node::Object(object), Some(key)) if member(object, key).is_some() => Ok(None),
            (Node::Object(_), Some(_)) => Ok(Some(inserted(text, node, part.key.as_deref(), &part.value, style))),
            (Node::Array(array), None) if array.elements.iter().any(|item| value(item) == part.value) => Ok(None),
            (Node::Array(_), None) => Ok(Some(inserted(text, node, None, &part.value, style))),
            (_, Some(_)) => Err(unfit(&part.within, "an object")),
            (_, None) => Err(unfit(&part.within, "a list")),
        }
    })?
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

/// A child at the end of a container.
fn inserted(text: &str, holder: &Node<'_>, key: Option<&str>, value: &Value, style: &Style) -> Vec<(usize, String)> {
    let children = children(holder);
    let name = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
    let (open, close) = (holder.start() + 1, holder.end() - 1);
    let inside = &text[open..close];
    let line_indent = indentation(&text[text[..holder.start()].rfind('\n').map_or(0, |at| at + 1)..]);
    let Some((last_start, last_end)) = children.last().copied() else {
        let indent = format!("{line_indent}{}", style.unit);
        let item = format!("{name}{}", style.written(value, &indent));
        // With a comment in it, the text goes before the line on which the container ends.
        let at = open + inside.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let end =
            if inside[at - open..].contains('\n') { String::new() } else { format!("{}{line_indent}", style.line_end) };
        return vec![(at, format!("{}{indent}{item}{end}", style.line_end))];
    };
    let line = text[..last_start].rfind('\n').map_or(0, |at| at + 1);
    if !text[line..last_start].trim().is_empty() || line <= holder.start() {
        // On one line, or in a way of the user's own: it goes behind the last, on the same line.
        return vec![(last_end, format!(", {name}{value}"))];
    }
    let indent = indentation(&text[line..]);
    let item = format!("{}{indent}{name}{}", style.line_end, style.written(value, indent));
    let (comma, item_at) = behind(text, last_end, close);
    match (comma, item_at == last_end) {
        (true, _) => vec![(item_at, item)],
        (false, true) => vec![(last_end, format!(",{item}"))],
        (false, false) => vec![(last_end, ",".to_owned()), (item_at, item)],
    }
}

/// Whether a comma stands behind the last child, and where its line ends with all that is said of it.
fn behind(text: &str, from: usize, close: usize) -> (bool, usize) {
    let mut at = from;
    let mut comma = false;
    let mut end = from;
    loop {
        let rest = &text[at..close];
        if rest.starts_with(',') && !comma {
            comma = true;
            at += 1;
            end = at;
        } else if rest.starts_with([' ', '\t']) {
            at += 1;
        } else if rest.starts_with("//") {
            at += rest.find(['\r', '\n']).unwrap_or(rest.len());
            return (comma, at);
        } else if let Some(inner) = rest.strip_prefix("/*") {
            at += inner.find("*/").map_or(rest.len(), |length| length + 4);
            end = at;
        } else {
            return (comma, end);
        }
    }
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
        assert_eq!(why(&"[".repeat(1_000_000)), "it is nested too deeply");
    }

    #[test]
    fn a_name_that_is_taken_stays_as_it_is() {
        let text = r#"{"servers": {"portolan": {"mine": 1}}}"#;
        let spliced = put(text, &parts()[2..]).expect("it fits");
        assert_eq!((spliced.text.as_str(), spliced.present.len()), (text, 1));
    }
}
