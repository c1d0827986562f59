//! The examples as they lie in their folder, and each as one value, so that its ids can be listed and changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portolan_core::source::{Source, parse};
use serde_json::{Value, json};

use crate::common::World;

/// The examples, by the ids that begin them.
pub(super) const EXAMPLES: [&str; 3] = ["work-package", "follow-up", "release"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/activities")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Puts the examples into a project, as they are.
pub(super) fn copied(world: &World) {
    let mut folders = vec![folder()];
    while let Some(from) = folders.pop() {
        for file in files_in(&from) {
            if file.is_dir() {
                folders.push(file);
                continue;
            }
            let name = file.strip_prefix(folder()).expect("it lies in the folder").to_string_lossy().into_owned();
            world.write(&format!(".flow/workflows/{name}"), std::fs::read(&file).expect("it can be read"));
        }
    }
}

fn value(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (tree, faults) = parse(&Source::new(file.to_string_lossy(), text));
    assert!(faults.is_empty(), "{faults:?}");
    tree.expect("it has no fault").value()
}

/// An example as one value, its activities among it.
pub(super) fn joined(id: &str) -> Value {
    let single = [format!("{id}.yaml"), format!("{id}.json")].map(|name| folder().join(name));
    if let Some(file) = single.iter().find(|file| file.exists()) {
        return value(file);
    }
    let mut workflow = value(&folder().join(id).join("workflow.yaml"));
    let activities = files_in(&folder().join(id).join("activities"));
    workflow["activities"] = json!(activities.iter().map(|file| value(file)).collect::<Vec<_>>());
    workflow
}

/// The ids of all that an agent could name: activities, steps, questions, options, loops; and of all else that has some.
pub(super) fn ids(workflow: &Value) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut workflow = workflow.clone();
    each_id(&mut workflow, true, &mut |id| {
        ids.insert(id.clone());
    });
    ids
}

/// The same workflow with ids that stand in no text.
pub(super) fn renamed(workflow: &Value) -> Value {
    let mut workflow = workflow.clone();
    each_id(&mut workflow, true, &mut |id| *id = format!("zz-{id}"));
    workflow
}

/// Fields that hold an id, or lists of ids; and those that hold values of variables, in which there are none.
const ONE: [&str; 10] = [
    "id",
    "to",
    "transitionTo",
    "transitionOverride",
    "defaultOption",
    "before",
    "after",
    "initialActivity",
    "finalActivity",
    "artifact",
];
const SEVERAL: [&str; 4] = ["activities", "steps", "skipActivities", "skipSteps"];
const VALUES: [&str; 5] = ["setVariable", "default", "defaultValue", "defaults", "value"];

fn each_id(value: &mut Value, is_root: bool, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut().filter(|(key, _)| !VALUES.contains(&key.as_str())) {
                match field {
                    // The workflow's own id stands in every call.
                    Value::String(_) if is_root && key == "id" => {}
                    Value::String(id) if ONE.contains(&key.as_str()) => change(id),
                    Value::Array(items) if SEVERAL.contains(&key.as_str()) => {
                        items.iter_mut().for_each(|item| match item {
                            Value::String(id) => change(id),
                            other => each_id(other, false, change),
                        })
                    }
                    Value::Object(modes) if key == "modeOverrides" => {
                        for (mut mode, mut over) in std::mem::take(modes) {
                            change(&mut mode);
                            each_id(&mut over, false, change);
                            modes.insert(mode, over);
                        }
                    }
                    other => each_id(other, false, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_id(item, false, change)),
        _ => {}
    }
}
