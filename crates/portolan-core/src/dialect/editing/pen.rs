//! What the edits of several formats are made with.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::page::{Page, Place};
use super::{Done, EditError};
use crate::diagnostic::{clip, is_unseen};
use crate::expr::{JsonLogic, Jsonata};
use crate::source::{Edit, PathStep, Tree};

/// Gathers edits whose places are all those of the text before any of them, and puts them in an order in which that holds:
/// what moves nothing, then what is taken out, from the end, then what is put in, then keys that are renamed.
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

    /// Puts an item into a list, or a key into an object before another key, in the order in which this is asked for.
    pub(in crate::dialect) fn insert(&mut self, place: &Place, before: Option<String>, value: Value) {
        self.inserts.push((place.file, Edit::Insert { at: place.at.clone(), before, value }));
    }

    pub(in crate::dialect) fn rename(&mut self, place: &Place, to: &str) {
        self.renames.push((place.file, Edit::Rename { at: place.at.clone(), to: to.to_owned() }));
    }

    pub(in crate::dialect) fn extend(&mut self, sets: Vec<(usize, Edit)>) {
        self.sets.extend(sets);
    }

    /// Takes nodes out of the list of what opens branches: each branch leads on to what is behind its first node. One with
    /// nothing in it goes, but for the last, which leads to the join.
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

    pub(in crate::dialect) fn done(mut self) -> Done {
        self.removals.sort_by(|(_, one), (_, other)| from_the_end(one, other));
        self.removals.dedup();
        let removals = self.removals.into_iter().map(|(file, at)| (file, Edit::Remove { at }));
        let edits = self.sets.into_iter().chain(removals).chain(self.inserts).chain(self.renames).collect();
        Done::of(edits)
    }
}

/// Later items first; keys in whatever order.
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

/// The identifier of a new node: what is wanted, where that is free, else one that is.
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

/// Refuses an identifier that there is already, or that cannot be one.
fn unused(id: &str, is_taken: &dyn Fn(&str) -> bool) -> Result<(), EditError> {
    if id.is_empty() || id.contains(is_unseen) {
        return Err(EditError::new(
            format!("`{}` cannot be an identifier", clip(id)),
            "use letters, digits, `_` and `-`",
        ));
    }
    if is_taken(id) {
        return Err(EditError::new(format!("there is a node `{id}` already"), "give it another identifier"));
    }
    Ok(())
}

/// A node with what is asked for, by the paths of its fields, over what one of its kind begins with.
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

/// A rule of JSON Logic that holds when an expression of JSONata does.
pub(in crate::dialect) fn rule_of(expression: &str) -> Result<Value, EditError> {
    let rule = json!({ "var": expression });
    if Jsonata::parse(expression).is_ok() && JsonLogic::parse(&rule).is_ok() {
        return Ok(rule);
    }
    let message = format!("`{}` is no expression of JSONata", clip(expression));
    Err(EditError::new(message, "write a condition such as `$.list.count > 3`"))
}

impl Page<'_> {
    /// The first key of the object at a place.
    pub(in crate::dialect) fn first_key(&self, place: &Place) -> Option<&str> {
        self.tree(place)?.entries()?.first().map(|entry| entry.key.value.as_str())
    }
}
