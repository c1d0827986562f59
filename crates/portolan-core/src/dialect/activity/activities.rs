//! One activity, inside its workflow or in a file of its own.

use super::checkpoints::{Checkpoint, PlacedItem};
use super::flow::{Action, Decision, Transition, Trigger};
use super::loops::Loop;
use super::modes::ModeOverride;
use super::reader::{Reader, flag, named};
use super::rules::Rule;
use super::steps::Item;
use super::syntax::is_version;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Source, Spanned, Tree, TreeKind};

pub(crate) struct Activity {
    pub(super) id: Spanned<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "a run is pinned to the text, not to what it calls its version"))]
    pub(super) version: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    /// The problem of a user who needs it.
    pub(super) problem: Option<Spanned<String>>,
    /// Phrases that identify it as what a user wants.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a run begins where the workflow says, whatever a user asks for")
    )]
    pub(super) recognition: Vec<Spanned<String>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "which activities come is said by what leads to them"))]
    pub(super) required: bool,
    pub(super) estimated_time: Option<Spanned<String>>,
    pub(super) skills: Skills,
    pub(super) techniques: Vec<Spanned<String>>,
    pub(super) rules: Vec<Rule>,
    pub(super) steps: Vec<Item>,
    pub(super) checkpoints: Vec<PlacedItem<Checkpoint>>,
    pub(super) loops: Vec<PlacedItem<Loop>>,
    pub(super) decisions: Vec<Decision>,
    pub(super) transitions: Vec<Transition>,
    pub(super) triggers: Vec<Trigger>,
    pub(super) entry_actions: Vec<Action>,
    pub(super) exit_actions: Vec<Action>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) mode_overrides: Vec<ModeOverride>,
    pub(super) outcome: Vec<Spanned<String>>,
    pub(super) context_to_preserve: Vec<Spanned<String>>,
    pub(super) notes: Vec<Spanned<String>>,
    /// The ids of steps, checkpoints and loops that could not be read.
    pub(super) unread: Vec<String>,
}

#[derive(Default)]
pub(super) struct Skills {
    pub(super) primary: Option<Spanned<String>>,
    pub(super) supporting: Vec<Spanned<String>>,
}

/// A file that an activity creates.
pub(super) struct Artifact {
    pub(super) id: Spanned<String>,
    /// Its name, with variables in braces.
    pub(super) name: Spanned<String>,
    /// One of the workflow's locations.
    pub(super) location: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) action: Option<ArtifactAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArtifactAction {
    Create,
    Update,
}

/// Reads an activity in a file of its own.
pub(crate) fn read_activity(source: &Source, tree: &Tree, faults: &mut FaultList) -> Option<Activity> {
    let mut reader = Reader::new(source, faults);
    let activity = reader.activity(tree);
    reader.settle();
    activity
}

impl Reader<'_> {
    pub(super) fn activity(&mut self, tree: &Tree) -> Option<Activity> {
        self.ids.clear();
        self.wholes.clear();
        self.unread.clear();
        let what = named(tree, "activity");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "an activity"));
        let version = fields.string("version", self.faults).filter(|version| is_version(version, &what, self.faults));
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        let problem = fields.string("problem", self.faults);
        let recognition = fields.strings("recognition", self.faults);
        let required = flag(&mut fields, "required", true, self.faults);
        let estimated_time = self.estimated_time(&mut fields, &what);
        let skills = fields.optional("skills").and_then(|tree| self.skills(tree, &what)).unwrap_or_default();
        let techniques = fields.strings("techniques", self.faults);
        let rules = self.rules(&mut fields, "rules", &what);
        let steps = self.items(&mut fields);
        let loops = self.loops(&mut fields);
        let checkpoints = self.checkpoints(&mut fields);
        let decisions = self.decisions(&mut fields);
        let transitions = self.transitions(&mut fields, &what);
        let triggers = self.triggers(&mut fields, &what);
        let entry_actions = self.actions(&mut fields, "entryActions", &what);
        let exit_actions = self.actions(&mut fields, "exitActions", &what);
        let artifacts = self.artifacts(&mut fields);
        let mode_overrides = self.mode_overrides(&mut fields, &what);
        let outcome = fields.strings("outcome", self.faults);
        let context_to_preserve = fields.strings("context_to_preserve", self.faults);
        let notes = fields.strings("notes", self.faults);
        // The prefix comes from the number of the file, whatever is written.
        fields.ignored(&["$schema", "artifactPrefix"]);
        fields.finish(self.faults);
        Some(Activity {
            id: id?,
            version,
            name,
            description,
            problem,
            recognition,
            required,
            estimated_time,
            skills,
            techniques,
            rules,
            steps,
            checkpoints,
            loops,
            decisions,
            transitions,
            triggers,
            entry_actions,
            exit_actions,
            artifacts,
            mode_overrides,
            outcome,
            context_to_preserve,
            notes,
            unread: std::mem::take(&mut self.unread),
        })
    }

    /// Reads a number or a range, with or without a unit. It is shown to people and does not delay anything.
    fn estimated_time(&mut self, fields: &mut Fields<'_>, what: &str) -> Option<Spanned<String>> {
        let tree = fields.optional("estimatedTime")?;
        let text = match &tree.kind {
            TreeKind::Number(text) | TreeKind::String(text) => text,
            _ => return fields.wrong("estimatedTime", "a number or a string", tree, self.faults),
        };
        if !is_time(text) {
            let message = format!("`estimatedTime` of {what} is `{}`, which is not a valid time", clip(text));
            let fault = Diagnostic::error("bad-duration", message).at(tree.span);
            let help = "write a number or a range with `m`, `h` or `d`, such as `30m` or `1-4h`";
            self.faults.push(fault.help(help).repaired("it counts as absent"));
            return None;
        }
        Some(Spanned { value: text.clone(), span: tree.span })
    }

    fn skills(&mut self, tree: &Tree, what: &str) -> Option<Skills> {
        let mut fields = Fields::of(tree, format!("`skills` of {what}"), self.faults)?;
        let primary = fields.string("primary", self.faults);
        let supporting = fields.strings("supporting", self.faults);
        fields.finish(self.faults);
        Some(Skills { primary, supporting })
    }

    fn artifacts(&mut self, fields: &mut Fields<'_>) -> Vec<Artifact> {
        let items = self.list(fields, "artifacts");
        let artifacts: Vec<_> = items.iter().filter_map(|item| self.artifact(item)).collect();
        self.distinct(artifacts, "artifact", None, |artifact| &artifact.id)
    }

    fn artifact(&mut self, tree: &Tree) -> Option<Artifact> {
        let mut fields = Fields::of(tree, named(tree, "artifact"), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "an artifact"));
        let name = fields.required_string("name", self.faults);
        let location = fields.string("location", self.faults);
        let description = fields.string("description", self.faults);
        let actions = [("create", ArtifactAction::Create), ("update", ArtifactAction::Update)];
        let action = fields.choice("action", &actions, self.faults);
        fields.finish(self.faults);
        Some(Artifact { id: id?, name: name?, location, description, action })
    }
}

/// Returns whether a text is a time such as `30m`, `1-4h`, `2 days`.
fn is_time(text: &str) -> bool {
    let text = text.trim();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let known = ["", "m", "min", "h", "hr", "hour", "hours", "d", "day", "days"].contains(&&text[unit..]);
    let is_number = |text: &str| {
        let text = text.trim();
        text.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
    };
    let (from, to) = text[..unit].split_once('-').unwrap_or((&text[..unit], "0"));
    known && is_number(from) && is_number(to)
}
