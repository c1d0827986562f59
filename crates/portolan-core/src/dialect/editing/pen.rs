//! Helpers for the edits of several dialects.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::page::{Page, Place};
use super::{EditError, OperationResult};
use crate::diagnostic::{clip, is_unseen};
use crate::expr::{JsonLogic, Jsonata};
use crate::source::{Edit, PathStep, Tree};

/// Collects edits whose places are all those of the text before any of them, and orders them so that the places stay
/// valid: sets, then removals from the end, then insertions, then renames of keys.
#[derive(Default)]
pub(in crate::dialect) struct Pen {
    sets: Vec<(usize, Edit)>,
    removals: Vec<(usize, Vec<PathStep>)>,
    inserts: Vec<(usize, Edit)>,
    renames: Vec<(usize, Edit)>,
}

impl Pen {
    pub(in crate::dialect) fn set(&mut self, place: &Place, value: impl Into<Value>) {
        self.sets.push((place.file, Edit::Set { at: place.at.clone(), value: value.into() }));
    }

    pub(in crate::dialect) fn remove(&mut self, place: &Place) {
        self.removals.push((place.file, place.at.clone()));
    }

    /// Inserts an item into a list, or a key into an object before another key. Insertions keep their order.
    pub(in crate::dialect) fn insert(&mut self, place: &Place, before: Option<String>, value: Value) {
        self.inserts.push((place.file, Edit::Insert { at: place.at.clone(), before, value }));
    }

    pub(in crate::dialect) fn rename(&mut self, place: &Place, to: &str) {
        self.renames.push((place.file, Edit::Rename { at: place.at.clone(), to: to.to_owned() }));
    }

    pub(in crate::dialect) fn extend(&mut self, sets: Vec<(usize, Edit)>) {
        self.sets.extend(sets);
    }

    /// Removes nodes from a list of branches: each branch begins at the successor of its removed first node. An empty
    /// branch is removed, except the only one left, which leads to the join.
    pub(in crate::dialect) fn branches(
        &mut self,
        page: &Page<'_>,
        list: &Place,
        join: &str,
        gone: &BTreeSet<&str>,
        onward: &dyn Fn(&str) -> Option<String>,
    ) {
        let items = page.items(list);
        let names = items.iter().filter_map(Tree::as_str).filter(|id| !gone.contains(id));
        let mut known: BTreeSet<String> = names.map(str::to_owned).collect();
        for (nth, item) in items.iter().enumerate() {
            let Some(id) = item.as_str().filter(|id| gone.contains(id)) else { continue };
            match onward(id).filter(|to| to != join && known.insert(to.clone())) {
                Some(to) => self.set(&list.with(nth), to),
                None if known.is_empty() && nth + 1 == items.len() => self.set(&list.with(nth), join),
                None => self.remove(&list.with(nth)),
            }
        }
    }

    pub(in crate::dialect) fn done(mut self) -> OperationResult {
        self.removals.sort_by(|(_, one), (_, other)| from_the_end(one, other));
        self.removals.dedup();
        let removals = self.removals.into_iter().map(|(file, at)| (file, Edit::Remove { at }));
        let edits = self.sets.into_iter().chain(removals).chain(self.inserts).chain(self.renames).collect();
        OperationResult::of(edits)
    }
}

/// Orders later items first; the order of keys does not matter.
fn from_the_end(one: &[PathStep], other: &[PathStep]) -> std::cmp::Ordering {
    let differing = one.iter().zip(other).find(|(one, other)| one != other);
    match differing {
        Some((PathStep::Item(one), PathStep::Item(other))) => other.cmp(one),
        Some((PathStep::Key(one), PathStep::Key(other))) => one.cmp(other),
        Some((PathStep::Item(_), PathStep::Key(_))) => std::cmp::Ordering::Less,
        Some((PathStep::Key(_), PathStep::Item(_))) => std::cmp::Ordering::Greater,
        None => other.len().cmp(&one.len()),
    }
}

/// Returns the id of a new node: the wanted one if it is free, or a free one if none is wanted.
pub(in crate::dialect) fn identifier(
    wanted: Option<&str>,
    kind: &str,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<String, EditError> {
    match wanted {
        Some(id) => unused(id, is_taken).map(|()| id.to_owned()),
        None => Ok(super::fresh(kind, is_taken)),
    }
}

/// Refuses an id that is taken or invalid.
fn unused(id: &str, is_taken: &dyn Fn(&str) -> bool) -> Result<(), EditError> {
    if id.is_empty() || id.contains(is_unseen) {
        return Err(EditError::new(
            format!("`{}` cannot be an identifier", clip(id)),
            "use letters, digits, `_` and `-`",
        ));
    }
    if is_taken(id) {
        return Err(EditError::new(format!("the node `{id}` already exists"), "give it another identifier"));
    }
    Ok(())
}

/// Sets the given values, by the paths of their fields, in the initial fields of a new node.
pub(in crate::dialect) fn filled(node: impl Into<Value>, values: Option<&Map<String, Value>>) -> Value {
    let mut node = node.into();
    for (path, value) in values.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let mut here = &mut node;
        for key in path.split('.') {
            if !here.is_object() {
                *here = json!({});
            }
            let Value::Object(fields) = here else { break };
            here = fields.entry(key).or_insert(Value::Null);
        }
        *here = value.clone();
    }
    node
}

/// Returns a JSON Logic rule: the given one, or one that holds if and only if the given JSONata expression does.
pub(in crate::dialect) fn rule_of(expression: &str) -> Result<Value, EditError> {
    let help = || "write a condition such as `$.list.count > 3`".to_owned();
    // Read as JSONata, a rule would be an object, and so always hold.
    if let Ok(rule @ Value::Object(_)) = serde_json::from_str(expression) {
        JsonLogic::parse(&rule).map_err(|fault| EditError::new(fault.message, fault.help.unwrap_or_else(help)))?;
        return Ok(rule);
    }
    let rule = json!({ "var": expression });
    if Jsonata::parse(expression).is_ok() && JsonLogic::parse(&rule).is_ok() {
        return Ok(rule);
    }
    let message = format!("`{}` is neither a JSONata expression nor a rule of JSON Logic", clip(expression));
    Err(EditError::new(message, help()))
}

impl Page<'_> {
    /// Returns the first key of the object at a place.
    pub(in crate::dialect) fn first_key(&self, place: &Place) -> Option<&str> {
        self.tree(place)?.entries()?.first().map(|entry| entry.key.value.as_str())
    }
}
