//! The exact syntax tree of a file of activities: its fields and their types. Makes no decisions.
//!
//! References are not resolved here, except for the options of a checkpoint.

use std::sync::Arc;

use serde_json::Value;

use super::activities::Activity;
use super::checkpoints::Checkpoint;
use super::folder;
use super::fragments;
use super::modes::Mode;
use super::reader::{Reader, flag, valued};
use super::rules::{ByAudience, Rule, SharedRules};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::checks;
use crate::graph::{CallRules, VariableKind};
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{Source, Span, Spanned, Tree, TreeKind};

pub(crate) struct File {
    pub(super) span: Span,
    pub(super) id: Option<Spanned<String>>,
    pub(super) version: Option<Spanned<String>>,
    pub(super) title: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file"))]
    pub(super) author: Option<Spanned<String>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "workflows are listed by name and description"))]
    pub(super) tags: Vec<Spanned<String>>,
    pub(super) rules: ByAudience<Rule>,
    pub(super) techniques: ByAudience<Spanned<String>>,
    pub(super) variables: Vec<Variable>,
    pub(super) initial_activity: Option<Spanned<String>>,
    pub(super) final_activity: Option<Spanned<String>>,
    /// `None` if there are none, neither in the file nor in files of their own.
    pub(super) activities: Option<Vec<Activity>>,
    /// The indices in the list of activities at which files are named.
    pub(super) named: Vec<usize>,
    /// The ids of activities that could not be read.
    pub(super) unread: Vec<String>,
    /// Whether there are activities whose id could not be read either.
    pub(super) incomplete: bool,
    /// The folder of the activities, if it is not `activities`.
    #[cfg_attr(not(test), expect(dead_code, reason = "whoever reads files has followed it before"))]
    pub(super) activities_dir: Option<Spanned<String>>,
    pub(super) modes: Vec<Mode>,
    pub(super) artifact_locations: Vec<Location>,
    pub(super) shared_rules: Vec<SharedRules>,
    pub(super) shared_checkpoints: Vec<Checkpoint>,
    pub(super) call_rules: Option<Arc<CallRules>>,
}

pub(super) struct Variable {
    pub(super) name: Spanned<String>,
    pub(super) kind: VariableKind,
    pub(super) description: Option<Spanned<String>>,
    /// A value of its type.
    pub(super) default: Option<Spanned<Value>>,
    pub(super) required: bool,
}

const KINDS: &[(&str, VariableKind)] = &[
    ("string", VariableKind::String),
    ("number", VariableKind::Number),
    ("boolean", VariableKind::Boolean),
    ("array", VariableKind::Array),
    ("object", VariableKind::Object),
];

/// A place for artifacts.
pub(super) struct Location {
    pub(super) name: Spanned<String>,
    pub(super) path: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) gitignored: bool,
}

/// Reads a workflow; `None` if it is no object.
pub(crate) fn read(source: &Source, tree: &Tree, faults: &mut FaultList) -> Option<File> {
    let mut reader = Reader::new(source, faults);
    let file = reader.file(tree);
    reader.settle();
    let mut file = file?;
    if source.is_joined() && (file.activities.is_none() || !file.named.is_empty()) {
        folder::read_activities(source, &mut file, faults);
    }
    fragments::take_over(source, &mut file, faults);
    Some(file)
}

const WHAT: &str = "the workflow";

/// The content of `activities`.
#[derive(Default)]
struct ActivityList {
    activities: Option<Vec<Activity>>,
    unread: Vec<String>,
    named: Vec<usize>,
    incomplete: bool,
}

impl Reader<'_> {
    fn file(&mut self, tree: &Tree) -> Option<File> {
        let mut fields = Fields::of(tree, WHAT, self.faults)?;
        let id = fields.required_string("id", self.faults).filter(|id| self.is_id(id, "a workflow"));
        let version = fields.required_string("version", self.faults);
        let version = version.filter(|version| is_version(version, WHAT, self.faults));
        let title = self.either(&fields, tree, ["title", "name"], WHAT);
        fields.ignored(&["title", "name"]);
        let title = fields.required_string(title, self.faults);
        let description = fields.string("description", self.faults);
        let author = fields.string("author", self.faults);
        let tags = fields.strings("tags", self.faults);
        let rules = self.by_audience(&mut fields, "rules", WHAT, Self::rules);
        let techniques = self.by_audience(&mut fields, "techniques", WHAT, Self::names);
        let variables = self.variables(&mut fields);
        let initial_activity = fields.string("initialActivity", self.faults);
        let final_activity = fields.string("finalActivity", self.faults);
        let ActivityList { activities, unread, named, incomplete } = self.activities(&mut fields);
        let activities_dir = self.activities_dir(&mut fields, tree);
        let modes = self.modes(&mut fields);
        let artifact_locations = self.locations(&mut fields);
        let (shared_rules, shared_checkpoints) =
            fields.optional("fragments").and_then(|tree| self.fragments(tree)).unwrap_or_default();
        let call_rules = checks::call_rules(&mut fields);
        fields.ignored(&["$schema"]);
        fields.finish(self.faults);
        Some(File {
            span: tree.head(),
            id,
            version,
            title,
            description,
            author,
            tags,
            rules,
            techniques,
            variables,
            initial_activity,
            final_activity,
            activities,
            named,
            unread,
            incomplete,
            activities_dir,
            modes,
            artifact_locations,
            shared_rules,
            shared_checkpoints,
            call_rules,
        })
    }

    fn activities(&mut self, fields: &mut Fields<'_>) -> ActivityList {
        let mut listed = ActivityList::default();
        let Some(tree) = fields.optional("activities") else { return listed };
        let before = self.faults.0.len();
        let items = self.list(fields, "activities");
        if items.is_empty() && self.faults.0.len() == before {
            let fault = Diagnostic::error("missing-field", "the workflow has no activities").at(tree.head());
            self.faults
                .push(fault.help("add one under `activities`, or remove the field if they are in files of their own"));
        }
        let mut activities = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Some(file) = item.as_str() {
                listed.named.push(at);
                self.is_here(file, item.span, &mut listed);
                continue;
            }
            match self.activity(item) {
                Some(activity) => activities.push(activity),
                None => listed.unread.extend(item.get("id").and_then(Tree::as_str).map(str::to_owned)),
            }
        }
        listed.activities = Some(self.distinct(activities, "activity", None, |activity| &activity.id));
        listed
    }

    /// Reports a file that was not read: a text alone has no files, which the reader of the file system must add.
    fn is_here(&mut self, file: &str, span: Span, listed: &mut ActivityList) {
        if self.source.is_joined() {
            return;
        }
        listed.incomplete = true;
        let message = format!("the activity in `{}` was not read", clip(file));
        let fault = Diagnostic::error("unreadable-file", message).at(span);
        let help = "check the folder of the workflow, and keep the workflows that it takes activities from next to it";
        self.faults.push(fault.help(help).repaired("it is left out"));
    }

    fn activities_dir(&mut self, fields: &mut Fields<'_>, tree: &Tree) -> Option<Spanned<String>> {
        let folder = fields.string("activitiesDir", self.faults)?;
        if fields.has("activities") {
            self.exclude(tree, "activities", "activitiesDir", WHAT);
        }
        if folder::is_inside(&folder.value) {
            return Some(folder);
        }
        let message = format!("`activitiesDir` is `{}`, which is outside the workflow's folder", clip(&folder.value));
        let fault = Diagnostic::error("bad-path", message).at(folder.span);
        self.faults.push(fault.help("name a folder inside the workflow's folder, such as `activities`"));
        None
    }

    fn variables(&mut self, fields: &mut Fields<'_>) -> Vec<Variable> {
        let items = self.list(fields, "variables");
        let variables: Vec<_> = items.iter().filter_map(|item| self.variable(item)).collect();
        self.distinct(variables, "variable", None, |variable| &variable.name)
    }

    fn variable(&mut self, tree: &Tree) -> Option<Variable> {
        let what = match tree.get("name").and_then(Tree::as_str) {
            Some(name) => format!("variable `{}`", clip(name)),
            None => "a variable".to_owned(),
        };
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let name = fields.required_string("name", self.faults).filter(|name| self.is_name(name, "a variable"));
        let kind = fields.required("type", self.faults).and_then(|_| fields.choice("type", KINDS, self.faults));
        if kind.is_none() {
            self.repaired("it holds values of any type");
        }
        let mut kind = kind.unwrap_or(VariableKind::Any);
        let description = fields.string("description", self.faults);
        let key = self.either(&fields, tree, ["default", "defaultValue"], &what);
        fields.ignored(&["default", "defaultValue"]);
        let default = fields.optional(key).map(|tree| {
            if let Some(wanted) = wants(kind, tree) {
                let _: Option<()> = fields.wrong(key, wanted, tree, self.faults);
                self.repaired("it holds values of any type");
                kind = VariableKind::Any;
            }
            valued(tree)
        });
        let required = flag(&mut fields, "required", false, self.faults);
        fields.finish(self.faults);
        Some(Variable { name: name?, kind, description, default, required })
    }

    /// Reads places of artifacts: a path alone, or with a description.
    fn locations(&mut self, fields: &mut Fields<'_>) -> Vec<Location> {
        let Some(tree) = fields.optional("artifactLocations") else { return Vec::new() };
        let Some(entries) = tree.entries() else {
            return fields.wrong("artifactLocations", "an object", tree, self.faults).unwrap_or_default();
        };
        let entries = distinct(entries, "`artifactLocations`", self.faults);
        entries.into_iter().filter_map(|entry| self.location(&entry.key, &entry.value)).collect()
    }

    fn location(&mut self, name: &Spanned<String>, tree: &Tree) -> Option<Location> {
        let name = name.clone();
        if let TreeKind::String(path) = &tree.kind {
            let path = Spanned { value: path.clone(), span: tree.span };
            return Some(Location { name, path, description: None, gitignored: false });
        }
        let mut fields = Fields::of(tree, format!("location `{}`", clip(&name.value)), self.faults)?;
        let path = fields.required_string("path", self.faults);
        let description = fields.string("description", self.faults);
        let gitignored = flag(&mut fields, "gitignored", false, self.faults);
        fields.finish(self.faults);
        Some(Location { name, path: path?, description, gitignored })
    }

    fn fragments(&mut self, tree: &Tree) -> Option<(Vec<SharedRules>, Vec<Checkpoint>)> {
        let mut fields = Fields::of(tree, "`fragments`", self.faults)?;
        let rules = fields.optional("rules").map(|tree| self.shared_rules(tree)).unwrap_or_default();
        let checkpoints = fields.optional("checkpoints").map(|tree| self.shared_checkpoints(tree)).unwrap_or_default();
        fields.finish(self.faults);
        Some((rules, checkpoints))
    }
}

/// Returns a description of the values of a kind, if `tree` is none of them.
fn wants(kind: VariableKind, tree: &Tree) -> Option<&'static str> {
    let (fits, wanted) = match kind {
        VariableKind::String => (matches!(tree.kind, TreeKind::String(_)), "a string"),
        VariableKind::Number => (matches!(tree.kind, TreeKind::Number(_)), "a number"),
        VariableKind::Boolean => (matches!(tree.kind, TreeKind::Bool(_)), "`true` or `false`"),
        VariableKind::Array => (matches!(tree.kind, TreeKind::Array(_)), "an array"),
        VariableKind::Object => (matches!(tree.kind, TreeKind::Object(_)), "an object"),
        VariableKind::Any => (true, "a value"),
    };
    (!fits).then_some(wanted)
}

/// Returns whether a version is three numbers separated by dots, and reports if not.
pub(super) fn is_version(version: &Spanned<String>, what: &str, faults: &mut FaultList) -> bool {
    let numbers: Vec<&str> = version.value.split('.').collect();
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let sound = numbers.len() == 3 && numbers.iter().all(is_number);
    if !sound {
        let message = format!("`version` of {what} is `{}`, which is not a valid version", clip(&version.value));
        let fault = Diagnostic::error("bad-version", message).at(version.span);
        faults.push(fault.help("write three numbers separated by dots, such as `1.0.0`"));
    }
    sound
}
