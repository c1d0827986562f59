//! The navigation tools: what they are announced as, how they answer, and whom they ask.

mod edited;
mod examples;
mod people;
mod progress;
mod sets;
mod siege;
mod walks;

use serde_json::Value;

use crate::support::{Project, Wire};

/// A workflow whose way is decided by what a person answers.
const ASKING: &str = "
id: asking
version: 1.0.0
title: A change that is asked about
variables:
  - { name: tracker, type: string, default: none }
  - { name: parts, type: array, default: [] }
activities:
  - id: plan
    name: Plan
    steps:
      - { id: split, kind: step, name: Split the work, description: 'Give the parts as `parts`.' }
      - id: where
        kind: checkpoint
        message: Where is it tracked?
        options:
          - { id: github, label: GitHub, effect: { setVariable: { tracker: GitHub } } }
          - { id: nowhere, label: Nowhere, description: nobody is told, effect: { transitionTo: done } }
    transitions: [{ to: build, isDefault: true }]
  - id: build
    name: Build
    steps:
      - id: each
        kind: loop
        name: Parts
        loopType: forEach
        over: parts
        variable: part
        steps: [{ id: make, kind: step, name: 'Make {part} in {tracker}' }]
    transitions: [{ to: done }]
  - id: done
    name: Done
    steps: [{ id: tell, kind: step, name: Tell the user }]
";

fn asking() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/asking.yaml", ASKING);
    project
}

fn serving(project: &Project, more: &[&str]) -> Wire {
    project.client(&[&["--toolset", "navigate"], more].concat())
}

/// Sends an action back as it stands, with its holes filled.
fn send(wire: &mut Wire, action: &Value, fill: &Value) -> Value {
    let mut arguments = action["arguments"].clone();
    for hole in action["fill"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        arguments[hole] = match &fill[hole] {
            Value::Null => Value::from("as it was asked for"),
            given => given.clone(),
        };
    }
    if let Some(outputs) = fill.get("outputs") {
        arguments["outputs"] = outputs.clone();
    }
    wire.done(action["tool"].as_str().expect("a tool"), &arguments)
}

/// Does what is required, with what `fill` says.
fn go_on(wire: &mut Wire, now: &Value, fill: &Value) -> Value {
    let action = &now["availableActions"]["required"][0];
    assert!(action.is_object(), "nothing is required: {now:#}");
    send(wire, action, fill)
}

fn headline(now: &Value) -> &str {
    now["message"].as_str().and_then(|text| text.lines().next()).unwrap_or_default()
}
