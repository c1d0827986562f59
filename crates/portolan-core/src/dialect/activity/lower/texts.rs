//! The texts for the agent: at a step, and about the activity.

use super::super::activities::{Activity, Artifact, ArtifactAction};
use super::super::flow::{Action, Decision, Verb};
use super::super::modes::{Mode, ModeOverride};
use super::super::rules::Rule;
use super::super::steps::{Output, Step};
use super::super::syntax::File;
use crate::graph::{self, Brief, ConditionalText};
use crate::source::Spanned;

/// Returns the activity as agents see it. The first activity also has the texts for the leader of the workflow.
pub(super) fn activity(file: &File, activity: &Activity, is_first: bool) -> graph::Activity {
    let mode = |over: &ModeOverride| file.modes.iter().find(|mode| mode.id.value == over.mode.value);
    let variable =
        |over: &ModeOverride| mode(over)?.activation_variable.as_ref().map(|variable| variable.value.clone());
    let in_modes = |texts: &dyn Fn(&ModeOverride) -> Vec<String>| -> Vec<ConditionalText> {
        let overrides = activity.mode_overrides.iter().filter_map(|over| Some((over, variable(over)?)));
        let conditional_texts = overrides.flat_map(|(over, variable)| {
            texts(over).into_iter().map(move |text| ConditionalText { text, only_if: Some(variable.clone()) })
        });
        conditional_texts.collect()
    };
    let for_leaders = if is_first { &file.rules.workflow[..] } else { &[] };
    let rules = for_leaders.iter().chain(&file.rules.activity).chain(&file.rules.universal).chain(&activity.rules);
    let rules: Vec<String> = rules.flat_map(|rule| rule_texts(file, rule)).collect();
    let rules_of = |over: &ModeOverride| over.rules.iter().flat_map(|rule| rule_texts(file, rule)).collect();
    let mut notes = always(values(&activity.notes));
    notes.extend(file.modes.iter().filter(|_| is_first).filter_map(may_be_on));
    notes.extend(file.modes.iter().filter_map(|mode| is_on(mode, activity)));
    graph::Activity {
        id: activity.id.value.clone(),
        name: activity.name.as_ref().map_or_else(|| activity.id.value.clone(), |name| name.value.clone()),
        description: activity.description.as_ref().or(activity.problem.as_ref()).map(|text| text.value.clone()),
        rules: always(rules).into_iter().chain(in_modes(&rules_of)).collect(),
        outcome: values(&activity.outcome),
        keep: always(values(&activity.context_to_preserve))
            .into_iter()
            .chain(in_modes(&|over| values(&over.context_to_preserve)))
            .collect(),
        notes,
        means: means(file, activity, is_first),
        artifacts: activity.artifacts.iter().map(|made| artifact(file, made)).collect(),
        time: activity.estimated_time.as_ref().map(|time| time.value.clone()),
    }
}

/// Returns the text shown while a mode is active: its description, and the differences of this activity.
fn is_on(mode: &Mode, activity: &Activity) -> Option<ConditionalText> {
    let variable = mode.activation_variable.as_ref()?;
    let here = activity.mode_overrides.iter().find(|over| over.mode.value == mode.id.value);
    let here = here.and_then(|over| over.description.as_ref());
    let name = mode.name.as_ref().unwrap_or(&mode.id);
    let guide = mode.resource.as_ref().map(|resource| format!("see {}", resource.value));
    let about = mode.description.as_ref().into_iter().chain(here).map(|text| text.value.clone());
    let about: Vec<String> = about.chain(guide).collect();
    let about = if about.is_empty() { String::new() } else { format!(": {}", about.join("; ")) };
    Some(ConditionalText {
        text: format!("The mode `{}` is on{about}", name.value),
        only_if: Some(variable.value.clone()),
    })
}

/// Returns the text about a mode that may be turned on, shown at the beginning.
fn may_be_on(mode: &Mode) -> Option<ConditionalText> {
    let variable = &mode.activation_variable.as_ref()?.value;
    let name = mode.name.as_ref().unwrap_or(&mode.id);
    let signs = values(&mode.recognition).join(", ");
    let signs = if signs.is_empty() { String::new() } else { format!(", for: {signs}") };
    Some(ConditionalText { text: format!("`{variable}` turns on the mode `{}`{signs}", name.value), only_if: None })
}

/// Returns the subjects of an activity's decisions, for an agent or a person who decides instead.
pub(super) fn decisions(decisions: &[Decision]) -> Option<String> {
    let about = |decision: &Decision| {
        let words: Vec<String> = decision.name.iter().chain(&decision.description).map(|it| it.value.clone()).collect();
        (!words.is_empty()).then(|| words.join(": "))
    };
    let descriptions: Vec<String> = decisions.iter().filter_map(about).collect();
    (!descriptions.is_empty()).then(|| descriptions.join("\n"))
}

fn means(file: &File, activity: &Activity, is_first: bool) -> Vec<String> {
    let for_leaders = if is_first { &file.techniques.workflow[..] } else { &[] };
    let of_all = for_leaders.iter().chain(&file.techniques.activity).chain(&file.techniques.universal);
    let own = activity.skills.primary.iter().chain(&activity.skills.supporting).chain(&activity.techniques);
    let mut means: Vec<String> = Vec::new();
    for name in own.chain(of_all).filter(|name| !name.value.is_empty()) {
        if !means.contains(&name.value) {
            means.push(name.value.clone());
        }
    }
    means
}

fn artifact(file: &File, made: &Artifact) -> String {
    let location = made.location.as_ref().map(|at| place(file, &at.value)).unwrap_or_default();
    let known = made.location.as_ref();
    let known = known.and_then(|at| file.artifact_locations.iter().find(|location| location.name.value == at.value));
    let word = match made.action {
        Some(ArtifactAction::Create) => Some("create it"),
        Some(ArtifactAction::Update) => Some("update it"),
        None => None,
    };
    let ignored = known.filter(|location| location.gitignored).map(|_| "not under version control");
    let remarks: Vec<&str> = word.into_iter().chain(ignored).collect();
    let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
    let about = made.description.as_ref().or_else(|| known?.description.as_ref());
    let about = about.map(|text| format!(": {}", text.value)).unwrap_or_default();
    format!("{location}{}{remarks}{about}", made.name.value)
}

fn always(texts: Vec<String>) -> Vec<ConditionalText> {
    texts.into_iter().map(|text| ConditionalText { text, only_if: None }).collect()
}

fn rule_texts(file: &File, rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Text(text) => vec![text.value.clone()],
        Rule::Shared(name) => {
            let find = |name: &str| file.shared_rules.iter().find(|shared| shared.name.value == name);
            let own = || name.value.strip_prefix(&format!("{}::", file.id.as_ref()?.value)).and_then(find);
            let shared = find(&name.value).or_else(own);
            shared.map(|shared| values(&shared.texts)).unwrap_or_default()
        }
    }
}

fn values(texts: &[Spanned<String>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}

/// Returns the instructions of a step.
pub(super) fn step(step: &Step) -> Brief {
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
    lines.extend(step.actions.iter().filter_map(action_text));
    let output = |output: &Output| match (&output.name.value, &output.variable.value) {
        (name, variable) if name == variable => name.clone(),
        (name, variable) => format!("{variable} (its `{name}`)"),
    };
    let outputs: Vec<String> = step.outputs.iter().map(output).collect();
    if !outputs.is_empty() {
        lines.push(format!("Outputs: {}", outputs.join(", ")));
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

/// Returns the text of an action, or `None` for one that the engine performs.
fn action_text(action: &Action) -> Option<String> {
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
