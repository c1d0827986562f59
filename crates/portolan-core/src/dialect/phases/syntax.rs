//! The exact syntax tree of a file of phases: its fields and their types.

use std::sync::Arc;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::checks;
use crate::graph::{CallRules, Check, ToolRules, VariableKind};
use crate::source::fields::{FaultList, Fields, distinct, not_an_object};
use crate::source::{Spanned, Tree, TreeKind};

/// The maximum number of phases, and of fields.
const MAX_PHASES: usize = 200;
const MAX_FIELDS: usize = 200;
/// The maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 100;
/// The maximum iteration cap.
const MAX_CAP: u32 = 1_000;

pub(super) struct File {
    pub(super) id: Option<Spanned<String>>,
    pub(super) title: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) version: Option<Spanned<String>>,
    pub(super) cap: Option<Spanned<u32>>,
    pub(super) fields: Vec<Field>,
    pub(super) phases: Vec<Phase>,
    /// The ids of phases that could not be read.
    pub(super) unread: Vec<String>,
    pub(super) call_rules: Option<Arc<CallRules>>,
}

/// A field that a task claims.
pub(super) struct Field {
    pub(super) name: Spanned<String>,
    pub(super) kind: VariableKind,
    pub(super) description: Option<Spanned<String>>,
    /// The first phase at which it may be set.
    pub(super) from: Option<Spanned<String>>,
    /// The last phase at which it may be set.
    pub(super) until: Option<Spanned<String>>,
    pub(super) default: Option<Value>,
}

pub(super) struct Phase {
    pub(super) id: Spanned<String>,
    pub(super) title: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) prompt: Option<Spanned<String>>,
    /// The phase that it follows, if that is not the one before it.
    pub(super) after: Option<Spanned<String>>,
    /// The phase to which a failure returns.
    pub(super) back: Option<Spanned<String>>,
    pub(super) accept: Vec<Check>,
    pub(super) tools: Option<Box<ToolRules>>,
    pub(super) call_rules: Option<Arc<CallRules>>,
}

/// Reads the syntax tree; `None` if there are no phases to draw.
pub(super) fn read(tree: &Tree, faults: &mut FaultList) -> Option<File> {
    let mut fields = Fields::of(tree, "the workflow", faults)?;
    let id = fields.string("id", faults).filter(|id| is_id(id, "a workflow", faults));
    let title = fields.string("title", faults);
    let description = fields.string("description", faults);
    let version = fields.string("version", faults);
    let cap = fields.count("iterationCap", 0..=MAX_CAP, faults);
    let claims = fields.optional("fields");
    let phases = fields.required("phases", faults);
    let call_rules = checks::call_rules(&mut fields);
    fields.ignored(&["$schema", "metadata"]);
    fields.finish(faults);
    let claims = claims.map(|tree| read_fields(tree, faults)).unwrap_or_default();
    let (phases, unread) = read_phases(phases?, faults)?;
    Some(File { id, title, description, version, cap, fields: claims, phases, unread, call_rules })
}

fn read_fields(tree: &Tree, faults: &mut FaultList) -> Vec<Field> {
    let Some(entries) = tree.entries() else {
        let message = format!("`fields` must be an object from name to field, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span));
        return Vec::new();
    };
    let entries = distinct(entries, "`fields`", faults);
    if let Some(extra) = entries.get(MAX_FIELDS) {
        let message = format!("there are {} fields, more than the limit of {MAX_FIELDS}", entries.len());
        faults.push(Diagnostic::error("too-large", message).at(extra.key.span));
    }
    let read = entries.into_iter().take(MAX_FIELDS).filter_map(|entry| {
        is_name(&entry.key, faults).then_some(())?;
        read_field(entry.key.clone(), &entry.value, faults)
    });
    read.collect()
}

const KINDS: [(&str, VariableKind); 5] = [
    ("string", VariableKind::String),
    ("number", VariableKind::Number),
    ("boolean", VariableKind::Boolean),
    ("array", VariableKind::Array),
    ("object", VariableKind::Object),
];

fn read_field(name: Spanned<String>, tree: &Tree, faults: &mut FaultList) -> Option<Field> {
    let mut fields = Fields::of(tree, format!("field `{}`", clip(&name.value)), faults)?;
    if !fields.has("type") {
        fields.required("type", faults);
    }
    let kind = fields.choice("type", &KINDS, faults);
    let description = fields.string("description", faults);
    let from = fields.string("from", faults);
    let until = fields.string("until", faults);
    let default = fields.optional("default");
    fields.finish(faults);
    let default = default.and_then(|tree| {
        let value = tree.value();
        if kind.is_some_and(|kind| !kind.takes(&value)) {
            let wanted = kind.map_or("", VariableKind::described);
            let message = format!("`default` of field `{}` must be {wanted}, but is {}", name.value, tree.describe());
            faults.push(Diagnostic::error("wrong-type", message).at(tree.span).repaired("it counts as absent"));
            return None;
        }
        Some(value)
    });
    Some(Field { name, kind: kind?, description, from, until, default })
}

fn read_phases(tree: &Tree, faults: &mut FaultList) -> Option<(Vec<Phase>, Vec<String>)> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`phases` must be an array of phases in order, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span).help("write `phases: [{id: idle}, …]`"));
        return None;
    };
    if items.len() > MAX_PHASES {
        let message = format!("the workflow has {} phases, more than the limit of {MAX_PHASES}", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.span));
        return None;
    }
    if items.is_empty() {
        let fault = Diagnostic::error("missing-field", "the workflow has no phases").at(tree.span);
        faults.push(fault.help("write at least one, as in `phases: [{id: implement}]`"));
        return None;
    }
    let mut unread = Vec::new();
    let mut phases: Vec<Phase> = Vec::new();
    for item in items {
        match read_phase(item, faults) {
            Some(phase) if phases.iter().any(|earlier| earlier.id.value == phase.id.value) => {
                let message = format!("two phases are called `{}`", clip(&phase.id.value));
                let fault = Diagnostic::error("duplicate-id", message).at(phase.id.span);
                faults.push(fault.help("give one of them another id").repaired("the first is used"));
            }
            Some(phase) => phases.push(phase),
            None => unread.extend(item.get("id").and_then(Tree::as_str).map(str::to_owned)),
        }
    }
    Some((phases, unread))
}

fn read_phase(tree: &Tree, faults: &mut FaultList) -> Option<Phase> {
    if tree.entries().is_none() {
        faults.push(not_an_object(tree, "a phase").help("write it with an `id`: `- id: implement`"));
        return None;
    }
    let what = tree.get("id").and_then(Tree::as_str);
    let what = what.map_or_else(|| "a phase".to_owned(), |id| format!("phase `{}`", clip(id)));
    let mut fields = Fields::of(tree, what, faults)?;
    let id = fields.required_string("id", faults);
    let title = fields.string("title", faults);
    let description = fields.string("description", faults);
    let prompt = fields.string("prompt", faults);
    let after = fields.string("after", faults);
    let back = fields.string("back", faults);
    let accept = checks::read(&mut fields, faults);
    let tools = checks::tools(&mut fields, faults);
    let call_rules = checks::call_rules(&mut fields);
    fields.ignored(&["metadata"]);
    fields.finish(faults);
    let id = id.filter(|id| is_id(id, "a phase", faults))?;
    Some(Phase { id, title, description, prompt, after, back, accept, tools, call_rules })
}

pub(super) fn is_id(id: &Spanned<String>, whose: &str, faults: &mut FaultList) -> bool {
    let begins = id.value.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let sound = begins
        && id.value.len() <= MAX_ID_BYTES
        && id.value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !sound {
        let message = format!("`{}` cannot be the id of {whose}", clip(&id.value));
        let help = format!(
            "an id has 1 to {MAX_ID_BYTES} ASCII letters, digits, `-`, `_` and `.`, starting with a letter or digit"
        );
        faults.push(Diagnostic::error("bad-id", message).at(id.span).help(help));
    }
    sound
}

fn is_name(name: &Spanned<String>, faults: &mut FaultList) -> bool {
    let begins = name.value.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let sound =
        begins && name.value.len() <= MAX_ID_BYTES && name.value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !sound {
        let message = format!("`{}` cannot be the name of a field", clip(&name.value));
        let help = format!("a name has 1 to {MAX_ID_BYTES} ASCII letters, digits and `_`, not starting with a digit");
        faults.push(Diagnostic::error("bad-id", message).at(name.span).help(help));
    }
    sound
}
