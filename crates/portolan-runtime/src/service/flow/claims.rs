//! Validates claims: a value that no check could confirm is refused when it is claimed, not when the phase is to be
//! left.

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::graph::Workflow;
use portolan_gates::acceptance::is_below;
use portolan_gates::names::is_branch;
use portolan_gates::references::is_key;
use serde_json::{Map, Value};

use super::state;
use crate::error::ServiceError;

/// The largest number that every host represents exactly.
const MAX_NUMBER: f64 = 9_007_199_254_740_991.0;
/// The maximum length in bytes of a text in `contextRefs`, or of a path.
const MAX_TEXT: usize = 1_000;
/// The maximum number of texts in `contextRefs`.
const MAX_REFS: usize = 200;

/// A field of a task.
struct Field {
    name: &'static str,
    expected: &'static str,
    takes: fn(&Value) -> bool,
}

/// The fields that a check or the state of a task reads. A workflow's other fields are its own.
const FIELDS: [Field; 7] = [
    Field { name: "issueNumber", expected: "a whole number of at least 1", takes: is_number },
    Field { name: "issueKey", expected: "an issue key of a tracker, such as `ABC-12`", takes: is_tracker_key },
    Field { name: "branch", expected: "a branch name that git accepts, without blanks", takes: is_branch_name },
    Field { name: "branchPrefix", expected: "a prefix of branch names, such as `feat/`", takes: is_prefix },
    Field { name: "specPath", expected: "a path relative to the project, without `..`", takes: is_path },
    Field { name: "prNumber", expected: "a whole number of at least 1", takes: is_number },
    Field { name: "contextRefs", expected: "a list of at most 200 texts of at most 1000 bytes each", takes: is_refs },
];

/// Returns the values to store, or an error about all invalid values at once.
pub(super) fn meant(workflow: &Workflow, values: &Map<String, Value>) -> Result<Map<String, Value>, ServiceError> {
    let own: Vec<&str> = values.keys().map(String::as_str).filter(|name| state::is_own(name)).collect();
    if let Some(own) = own.first() {
        let message = format!("`{own}` is set only by the engine");
        return Err(ServiceError::refused("out_of_phase", message, "leave it out"));
    }
    let faults: Vec<String> = values.iter().filter_map(|(name, value)| fault(workflow, name, value)).collect();
    match faults.is_empty() {
        true => Ok(values.iter().map(|(name, value)| (name.clone(), whole(value))).collect()),
        false => Err(ServiceError::refused("bad_claim", faults.join("; "), "correct the values; nothing was claimed")),
    }
}

fn fault(workflow: &Workflow, name: &str, value: &Value) -> Option<String> {
    let flow = workflow.root();
    if flow.variable(name).is_none() {
        let known: Vec<&str> = flow.variables.iter().map(|variable| variable.name.value.as_str()).collect();
        let help = closest(name, known.iter().copied())
            .map_or_else(|| format!("the fields are {}", list(&known)), |near| format!("did you mean `{near}`?"));
        return Some(format!("there is no field `{}` ({help})", clip(name)));
    }
    let field = FIELDS.iter().find(|field| field.name == name)?;
    if (field.takes)(value) {
        return None;
    }
    let shown = value.to_string().replace('`', "'");
    Some(format!("`{name}` must be {}, but is `{}`", field.expected, clip(&shown)))
}

/// Stores a number without a fraction as an integer: `42.0` is issue 42 everywhere.
fn whole(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() <= MAX_NUMBER => {
            Value::from(number as i64)
        }
        _ => value.clone(),
    }
}

fn is_number(value: &Value) -> bool {
    let number = value.as_f64().filter(|number| number.fract() == 0.0);
    number.is_some_and(|number| (1.0..=MAX_NUMBER).contains(&number))
}

fn is_branch_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| is_branch(name) && !name.contains(char::is_whitespace))
}

/// Checks whether a branch name can begin with this prefix.
fn is_prefix(value: &Value) -> bool {
    value.as_str().is_some_and(|prefix| {
        !prefix.is_empty() && !prefix.contains(char::is_whitespace) && is_branch(&format!("{prefix}x"))
    })
}

fn is_path(value: &Value) -> bool {
    value.as_str().is_some_and(|path| is_below(path) && path.trim() == path && path.len() <= MAX_TEXT)
}

fn is_tracker_key(value: &Value) -> bool {
    value.as_str().is_some_and(is_key)
}

fn is_refs(value: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| text.len() <= MAX_TEXT);
    value.as_array().is_some_and(|refs| refs.len() <= MAX_REFS && refs.iter().all(is_text))
}
