//! Merges one task over another, key by key: keys that the upper one does not name keep their values and places.

use serde_json::Value;

use super::Task;

/// Returns `before` with `changes` over it. `metadata` is merged by key, everything else is replaced. A `null` removes
/// its key.
pub(super) fn merged(mut before: Task, changes: Task) -> Task {
    for (key, value) in changes {
        match (value, before.get_mut(&key)) {
            (Value::Object(upper), Some(Value::Object(lower))) if key == "metadata" => overlay(lower, upper),
            (Value::Object(upper), _) if key == "metadata" => {
                let mut lower = Task::new();
                overlay(&mut lower, upper);
                before.insert(key, Value::Object(lower));
            }
            (value, _) => set(&mut before, key, value),
        }
    }
    before
}

fn overlay(lower: &mut Task, upper: Task) {
    for (key, value) in upper {
        set(lower, key, value);
    }
}

fn set(task: &mut Task, key: String, value: Value) {
    match value {
        // `remove` would put the last key in its place.
        Value::Null => drop(task.shift_remove(&key)),
        value => drop(task.insert(key, value)),
    }
}
