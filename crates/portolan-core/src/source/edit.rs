//! Edits one place of a text and leaves every other byte unchanged.
//!
//! An edit states the intention: set, insert, remove or move a value, or rename a key. A comparison of two values
//! cannot recognise a renamed key, so the comments beside it would be lost. Knows YAML and JSON, and no dialect.

use serde_json::{Map, Value};

use super::splice::{SpliceError, spliced};
use super::{Source, Span, Tree, TreeKind, parse};

/// One step of a path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The value of a key.
    Key(String),
    /// An item, from 0.
    Item(usize),
}

impl From<&str> for PathStep {
    fn from(key: &str) -> PathStep {
        PathStep::Key(key.to_owned())
    }
}

impl From<usize> for PathStep {
    fn from(item: usize) -> PathStep {
        PathStep::Item(item)
    }
}

/// A change at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets the value of a place. A key that does not exist is appended to its object.
    Set {
        /// The path of the value.
        at: Vec<PathStep>,
        /// The new value.
        value: Value,
    },
    /// Inserts an item into a list, or a key into an object.
    Insert {
        /// The path after the insertion; the items from there on shift by one. For a key, `before` gives the position.
        at: Vec<PathStep>,
        /// The key to insert before; `None` for the end.
        before: Option<String>,
        /// The new value.
        value: Value,
    },
    /// Removes a value, with its key.
    Remove {
        /// The path of the value.
        at: Vec<PathStep>,
    },
    /// Renames a key; the text of its value is unchanged.
    Rename {
        /// The path of the key.
        at: Vec<PathStep>,
        /// The new key.
        to: String,
    },
    /// Moves an item within its list.
    Move {
        /// The path of the item.
        at: Vec<PathStep>,
        /// Its index afterwards.
        to: usize,
    },
}

/// Returns the text of `source` after each of the edits, in order.
///
/// ```
/// use portolan_core::source::{Edit, Source, edited};
/// let source = Source::new("a.yaml", "nodes:\n  fix: # the work\n    type: task   # of an agent\n");
/// let edits = [
///     Edit::Rename { at: vec!["nodes".into(), "fix".into()], to: "mend".to_owned() },
///     Edit::Set { at: vec!["nodes".into(), "mend".into(), "name".into()], value: "Mend it".into() },
/// ];
/// let text = edited(&source, &edits).unwrap();
/// assert_eq!(text, "nodes:\n  mend: # the work\n    type: task   # of an agent\n    name: Mend it\n");
/// ```
///
/// # Errors
/// The text cannot be parsed, the path does not exist, or the text cannot be changed in place.
pub fn edited(source: &Source, edits: &[Edit]) -> Result<String, SpliceError> {
    let mut text = source.text.to_string();
    for edit in edits {
        let now = Source::new(&*source.name, &text);
        let (tree, faults) = parse(&now);
        let tree = tree.filter(|_| !faults.iter().any(crate::diagnostic::Diagnostic::is_error));
        let tree = tree.ok_or_else(|| SpliceError("its text cannot be read".to_owned()))?;
        text = match edit {
            Edit::Rename { at, to } => renamed(&now, &tree, at, to)?,
            edit => {
                let mut wanted = tree.value();
                change(&mut wanted, edit)?;
                let moved = match edit {
                    Edit::Move { at, to } => moved(&now, &tree, at, *to).filter(|text| says(&now, text, &wanted)),
                    _ => None,
                };
                match moved {
                    Some(text) => text,
                    None => spliced(&now, &tree, &wanted)?,
                }
            }
        };
    }
    Ok(text)
}

fn nowhere() -> SpliceError {
    SpliceError("it has no such place".to_owned())
}

/// Applies the edit to a value. A rename is applied by `renamed` instead.
fn change(root: &mut Value, edit: &Edit) -> Result<(), SpliceError> {
    match edit {
        Edit::Set { at, value } => match parted(root, at)? {
            Parent::Object(object, key) => {
                object.insert(key.to_owned(), value.clone());
            }
            Parent::Array(items, nth) => *items.get_mut(nth).ok_or_else(nowhere)? = value.clone(),
        },
        Edit::Insert { at, before, value } => match parted(root, at)? {
            Parent::Object(object, key) => {
                if object.contains_key(key) {
                    return Err(SpliceError(format!("`{key}` already exists")));
                }
                insert_before(object, key, before.as_deref(), value);
            }
            Parent::Array(items, nth) if nth <= items.len() => items.insert(nth, value.clone()),
            Parent::Array(..) => return Err(nowhere()),
        },
        Edit::Remove { at } => match parted(root, at)? {
            Parent::Object(object, key) => {
                object.shift_remove(key).ok_or_else(nowhere)?;
            }
            Parent::Array(items, nth) if nth < items.len() => {
                items.remove(nth);
            }
            Parent::Array(..) => return Err(nowhere()),
        },
        Edit::Move { at, to } => match parted(root, at)? {
            Parent::Array(items, nth) if nth < items.len() && *to < items.len() => {
                let item = items.remove(nth);
                items.insert(*to, item);
            }
            _ => return Err(nowhere()),
        },
        Edit::Rename { .. } => {}
    }
    Ok(())
}

/// The parent of a path's last step, with that step.
enum Parent<'v, 's> {
    Object(&'v mut Map<String, Value>, &'s str),
    Array(&'v mut Vec<Value>, usize),
}

/// Returns the parent of a path. Creates missing objects on the path; a null parent becomes an object or a list.
fn parted<'v, 's>(root: &'v mut Value, at: &'s [PathStep]) -> Result<Parent<'v, 's>, SpliceError> {
    let (last, way) = at.split_last().ok_or_else(nowhere)?;
    let mut here = root;
    for step in way {
        here = match (here, step) {
            (Value::Object(object), PathStep::Key(key)) => {
                object.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new()))
            }
            (Value::Array(items), PathStep::Item(nth)) => items.get_mut(*nth).ok_or_else(nowhere)?,
            _ => return Err(nowhere()),
        };
    }
    if here.is_null() {
        *here = match last {
            PathStep::Key(_) => Value::Object(Map::new()),
            PathStep::Item(_) => Value::Array(Vec::new()),
        };
    }
    match (here, last) {
        (Value::Object(object), PathStep::Key(key)) => Ok(Parent::Object(object, key)),
        (Value::Array(items), PathStep::Item(nth)) => Ok(Parent::Array(items, *nth)),
        _ => Err(nowhere()),
    }
}

fn insert_before(object: &mut Map<String, Value>, key: &str, before: Option<&str>, value: &Value) {
    let at = before.and_then(|before| object.keys().position(|known| known == before)).unwrap_or(object.len());
    object.shift_insert(at, key.to_owned(), value.clone());
}

/// Returns the tree at a path.
pub(crate) fn found<'t>(tree: &'t Tree, at: &[PathStep]) -> Option<&'t Tree> {
    at.iter().try_fold(tree, |here, step| match (&here.kind, step) {
        (TreeKind::Object(_), PathStep::Key(key)) => here.get(key),
        (TreeKind::Array(items), PathStep::Item(nth)) => items.get(*nth),
        _ => None,
    })
}

/// Returns the text with a key renamed, in the quoting style of the old key if possible.
fn renamed(source: &Source, tree: &Tree, at: &[PathStep], to: &str) -> Result<String, SpliceError> {
    let Some((PathStep::Key(key), way)) = at.split_last() else { return Err(nowhere()) };
    let object = found(tree, way).ok_or_else(nowhere)?;
    let entries = object.entries().ok_or_else(nowhere)?;
    if key != to && entries.iter().any(|entry| entry.key.value == to) {
        return Err(SpliceError(format!("`{to}` already exists")));
    }
    let mut named = entries.iter().filter(|entry| entry.key.value == *key);
    let (Some(entry), None) = (named.next(), named.next()) else { return Err(nowhere()) };
    let Span { start, end } = entry.key.span;
    let text = &*source.text;
    let written = text.get(start..end).ok_or_else(nowhere)?;
    let mut wanted = tree.value();
    rename_in(&mut wanted, at, to)?;
    spellings(written, to)
        .into_iter()
        .map(|spelling| [&text[..start], &spelling, &text[end..]].concat())
        .find(|text| says(source, text, &wanted))
        .ok_or_else(|| SpliceError("the changed text would not have the intended value".to_owned()))
}

/// Returns the text with an item moved, together with the comments above it and at the end of its lines. `None` if
/// items share a line.
fn moved(source: &Source, tree: &Tree, at: &[PathStep], to: usize) -> Option<String> {
    let (PathStep::Item(from), way) = at.split_last()? else { return None };
    let TreeKind::Array(items) = &found(tree, way)?.kind else { return None };
    let text = &*source.text;
    let line_of = |offset: usize| text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let mut starts: Vec<usize> = items.iter().map(|item| with_comments(text, line_of(item.span.start))).collect();
    if starts.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    let last = items.last()?.span.end;
    // The span of a scalar may include the line break.
    let last = if text[..last].ends_with('\n') {
        last
    } else {
        text[last..].find('\n').map_or(text.len(), |at| last + at + 1)
    };
    starts.push(last);
    let mut pieces: Vec<&str> = starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    if pieces.iter().any(|piece| !piece.ends_with('\n')) {
        return None;
    }
    let piece = pieces.remove(*from);
    pieces.insert(to, piece);
    Some([&text[..starts[0]], &pieces.concat(), &text[last..]].concat())
}

/// Returns the start of a line, or of the comments directly above it with the same indentation.
fn with_comments(text: &str, line: usize) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(&text[line..]);
    let mut start = line;
    while start > 0 {
        let above = text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        let comment = &text[above..start - 1];
        if !comment.trim_start().starts_with('#') || depth(comment) != own {
            break;
        }
        start = above;
    }
    start
}

fn says(source: &Source, text: &str, wanted: &Value) -> bool {
    let (tree, faults) = parse(&Source::new(&*source.name, text));
    !faults.iter().any(crate::diagnostic::Diagnostic::is_error) && tree.is_some_and(|tree| tree.value() == *wanted)
}

fn rename_in(root: &mut Value, at: &[PathStep], to: &str) -> Result<(), SpliceError> {
    let Parent::Object(object, key) = parted(root, at)? else { return Err(nowhere()) };
    let renamed = std::mem::take(object).into_iter();
    *object = renamed.map(|(known, value)| (if known == key { to.to_owned() } else { known }, value)).collect();
    Ok(())
}

/// Returns the possible spellings of a key, with the quoting style of the old key first.
fn spellings(before: &str, key: &str) -> Vec<String> {
    let (plain, double) = (key.to_owned(), Value::from(key).to_string());
    let single = format!("'{}'", key.replace('\'', "''"));
    match before.chars().next() {
        Some('"') => vec![double],
        Some('\'') => vec![single, double],
        _ => vec![plain, double],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn way(text: &str) -> Vec<PathStep> {
        let step = |part: &str| part.parse::<usize>().map_or_else(|_| PathStep::from(part), PathStep::from);
        text.split('.').map(step).collect()
    }

    fn check(name: &str, text: &str, edits: &[Edit], expected: Expect) {
        let told = match edited(&Source::new(name, text), edits) {
            Ok(text) => text,
            Err(unfit) => format!("unfit: {}", unfit.0),
        };
        expected.assert_eq(&told);
    }

    const YAML: &str = "# A flow.\nnodes:\n  # The work.\n  fix: {type: task, 'name': Fix} # short\n\n  \"check\":\n    type: gate   # strict\n    maxRetries: 2\nedges:\n  - {from: fix, to: check}\n  # Last.\n  - from: check\n    to: done\n";

    #[test]
    fn a_key_is_renamed_and_nothing_else() {
        check(
            "a.yaml",
            YAML,
            &[
                Edit::Rename { at: way("nodes.fix"), to: "mend".to_owned() },
                Edit::Rename { at: way("nodes.check"), to: "verify it".to_owned() },
                Edit::Rename { at: way("nodes.mend.name"), to: "it's".to_owned() },
            ],
            expect![[r#"
                # A flow.
                nodes:
                  # The work.
                  mend: {type: task, 'it''s': Fix} # short

                  "verify it":
                    type: gate   # strict
                    maxRetries: 2
                edges:
                  - {from: fix, to: check}
                  # Last.
                  - from: check
                    to: done
            "#]],
        );
    }

    #[test]
    fn values_are_set_put_in_and_taken_out_in_place() {
        check(
            "a.yaml",
            YAML,
            &[
                Edit::Set { at: way("nodes.check.maxRetries"), value: json!(5) },
                Edit::Insert {
                    at: way("nodes.review"),
                    before: Some("check".to_owned()),
                    value: json!({ "type": "task", "name": "Review" }),
                },
                Edit::Remove { at: way("nodes.fix.name") },
                Edit::Insert { at: way("edges.1"), before: None, value: json!({ "from": "fix", "to": "review" }) },
                Edit::Set { at: way("edges.0.to"), value: json!("review") },
            ],
            expect![[r##"
                # A flow.
                nodes:
                  # The work.
                  fix: {type: task} # short

                  review:
                    type: task
                    name: Review

                  "check":
                    type: gate   # strict
                    maxRetries: 5
                edges:
                  - {from: fix, to: review}
                  - from: fix
                    to: review
                  # Last.
                  - from: check
                    to: done
            "##]],
        );
    }

    #[test]
    fn json_keeps_its_layout() {
        check(
            "a.json",
            "{\n  \"nodes\": {\n    \"fix\": { \"type\": \"task\" },\n    \"done\": { \"type\": \"end\" }\n  }\n}\n",
            &[
                Edit::Rename { at: way("nodes.fix"), to: "mend".to_owned() },
                Edit::Set { at: way("nodes.mend.name"), value: json!("Mend") },
                Edit::Insert {
                    at: way("nodes.check"),
                    before: Some("done".to_owned()),
                    value: json!({ "type": "gate" }),
                },
            ],
            expect![[r#"
                {
                  "nodes": {
                    "mend": { "type": "task", "name": "Mend" },
                    "check": { "type": "gate" },
                    "done": { "type": "end" }
                  }
                }
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let taken = Edit::Rename { at: way("nodes.fix"), to: "check".to_owned() };
        check("a.yaml", YAML, &[taken], expect!["unfit: `check` already exists"]);
        check("a.yaml", YAML, &[Edit::Remove { at: way("nodes.none") }], expect!["unfit: it has no such place"]);
        check("a.yaml", "a: [", &[Edit::Remove { at: way("a") }], expect!["unfit: its text cannot be read"]);
    }

    #[test]
    fn an_item_is_moved() {
        check(
            "a.yaml",
            "steps:\n  - a   # first\n  - b\n  # The last.\n  - c: 1\n    d: 2\nend: 1\n",
            &[Edit::Move { at: way("steps.2"), to: 0 }],
            expect![[r#"
                steps:
                  # The last.
                  - c: 1
                    d: 2
                  - a   # first
                  - b
                end: 1
            "#]],
        );
    }
}
