//! The changes of a frame's variables from their initial values, in the shortest encoding.

use serde_json::{Map, Value};

/// The numbers of the encodings. They never change.
pub(super) const NONE: u64 = 0;
pub(super) const MARKED: u64 = 1;
pub(super) const LISTED: u64 = 2;
pub(super) const ANEW: u64 = 3;
/// The encoding shares a number with the flags of the frame's data.
pub(super) const CHANGE_BITS: u32 = 2;

/// The changes of variables. Their order matters: variables are shown in the order in which they were set.
pub(super) enum Changes<'v> {
    /// No changes.
    None,
    /// A bit for each variable of the flow, the first the lowest, and the values of those that are set, in that order.
    Marked(u64, Vec<&'v Value>),
    /// The names and values of those that were set.
    Listed(Vec<(&'v String, &'v Value)>),
    /// All variables: they do not follow from the initial values.
    Anew(Vec<(&'v String, &'v Value)>),
}

impl<'v> Changes<'v> {
    /// Returns the changes from the initial variables to these. `declared` are the names of the flow's variables.
    pub(super) fn of(first: &Map<String, Value>, variables: &'v Map<String, Value>, declared: &[&str]) -> Changes<'v> {
        let is_set = |name: &String, value: &Value| first.get(name).is_none_or(|first| !is_exactly(first, value));
        let set: Vec<_> = variables.iter().filter(|(name, value)| is_set(name, value)).collect();
        if !gives(first, set.iter().map(|(name, _)| *name), variables) {
            return Changes::Anew(variables.iter().collect());
        }
        match marked(first, variables, &set, declared) {
            _ if set.is_empty() => Changes::None,
            Some((marks, values)) => Changes::Marked(marks, values),
            None => Changes::Listed(set),
        }
    }

    pub(super) fn number(&self) -> u64 {
        match self {
            Changes::None => NONE,
            Changes::Marked(..) => MARKED,
            Changes::Listed(_) => LISTED,
            Changes::Anew(_) => ANEW,
        }
    }
}

fn marked<'v>(
    first: &Map<String, Value>,
    variables: &Map<String, Value>,
    set: &[(&'v String, &'v Value)],
    declared: &[&str],
) -> Option<(u64, Vec<&'v Value>)> {
    let place = |name: &str| declared.iter().position(|declared| *declared == name).filter(|place| *place < 64);
    let placed = set.iter().map(|(name, value)| Some((place(name)?, *name, *value)));
    let mut placed: Vec<_> = placed.collect::<Option<_>>()?;
    placed.sort_unstable_by_key(|(place, ..)| *place);
    let marks = placed.iter().fold(0, |marks, (place, ..)| marks | 1 << place);
    let values = placed.iter().map(|(.., value)| *value).collect();
    gives(first, placed.iter().map(|(_, name, _)| *name), variables).then_some((marks, values))
}

/// Checks whether setting these one after the other gives the variables in their order.
fn gives<'a>(
    first: &'a Map<String, Value>,
    set: impl Iterator<Item = &'a String>,
    variables: &'a Map<String, Value>,
) -> bool {
    first.keys().chain(set.filter(|name| !first.contains_key(*name))).eq(variables.keys())
}

/// Checks whether two values are identical: equality ignores the signs of zeros and the order of keys.
fn is_exactly(one: &Value, other: &Value) -> bool {
    let [one_text, other_text] = [one, other].map(Value::to_string);
    one == other && one_text == other_text
}
