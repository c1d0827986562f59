//! What the agent is told: at a step, and of the activity that it stands in.

use super::super::activities::Activity;
use super::super::flow::{Action, Verb};
use super::super::rules::Rule;
use super::super::steps::Step;
use super::super::syntax::File;
use crate::graph::{self, Brief};
use crate::source::Spanned;

/// The activity as readers see it.
pub(super) fn activity(file: &File, activity: &Activity) -> graph::Activity {
    let rules = file.rules.activity.iter().chain(&file.rules.universal).chain(&activity.rules);
    graph::Activity {
        id: activity.id.value.clone(),
        name: activity.name.as_ref().map_or_else(|| activity.id.value.clone(), |name| name.value.clone()),
        description: activity.description.as_ref().or(activity.problem.as_ref()).map(|text| text.value.clone()),
        rules: rules.flat_map(|rule| rule_texts(file, rule)).collect(),
        outcome: values(&activity.outcome),
    }
}

fn rule_texts(file: &File, rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Text(text) => vec![text.value.clone()],
        Rule::Shared(name) => {
            let shared = file.shared_rules.iter().find(|shared| shared.name.value == name.value);
            shared.map(|shared| values(&shared.texts)).unwrap_or_default()
        }
    }
}

fn values(texts: &[Spanned<String>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}

/// What to do at a step.
pub(super) fn step(file: &File, activity: &Activity, step: &Step) -> Brief {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(step.guide.iter().map(|guide| guide.value.clone()));
    if let Some(technique) = &step.technique {
        let inputs = technique.inputs.iter().map(|(name, value)| match &value.value {
            serde_json::Value::String(text) => format!("{} = {text}", name.value),
            other => format!("{} = {other}", name.value),
        });
        let inputs: Vec<String> = inputs.collect();
        let with = if inputs.is_empty() { String::new() } else { format!(" with {}", inputs.join(", ")) };
        lines.push(format!("Technique: {}{with}", technique.name.value));
    }
    lines.extend(step.actions.iter().filter_map(told));
    let outputs: Vec<&str> = step.outputs.iter().map(|output| output.variable.value.as_str()).collect();
    if !outputs.is_empty() {
        lines.push(format!("Outputs: {}", outputs.join(", ")));
    }
    // What is made is told at the end of the activity that makes it.
    let last = activity
        .steps
        .last()
        .is_some_and(|item| matches!(item, super::super::steps::Item::Step(last) if last.id.value == step.id.value));
    if last {
        lines.extend(activity.artifacts.iter().map(|artifact| {
            let location = artifact.location.as_ref().map(|at| place(file, &at.value)).unwrap_or_default();
            format!("Artifact: {location}{}", artifact.name.value)
        }));
    }
    Brief {
        description: step.description.as_ref().map(|text| text.value.clone()),
        instructions: (!lines.is_empty()).then(|| lines.join("\n")),
        ..Brief::default()
    }
}

fn place(file: &File, name: &str) -> String {
    let location = file.artifact_locations.iter().find(|location| location.name.value == name);
    location.map_or_else(|| format!("{name}/"), |location| format!("{}/", location.path.value.trim_end_matches('/')))
}

/// An action that somebody else than the engine performs.
fn told(action: &Action) -> Option<String> {
    let verb = match action.verb {
        Verb::Set => return None,
        Verb::Log => "Log",
        Verb::Validate => "Validate",
        Verb::Emit => "Emit",
        Verb::Message => "Tell the user",
    };
    let what = [&action.target, &action.message, &action.description];
    let what: Vec<&str> = what.into_iter().flatten().map(|text| text.value.as_str()).collect();
    (!what.is_empty()).then(|| format!("{verb}: {}", what.join(": ")))
}
