//! Modes: variants of a workflow that a variable turns on, and their overrides in an activity.

use std::collections::BTreeSet;

use super::checkpoints::{Checkpoint, PlacedItem};
use super::reader::{Entry, Reader, named};
use super::rules::Rule;
use super::steps::Item;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{Fields, distinct};
use crate::source::{Spanned, Tree};

pub(super) struct Mode {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    /// The variable that turns it on.
    pub(super) activation_variable: Option<Spanned<String>>,
    pub(super) recognition: Vec<Spanned<String>>,
    pub(super) skip_activities: Vec<Spanned<String>>,
    pub(super) defaults: Vec<Entry>,
    pub(super) resource: Option<Spanned<String>>,
}

impl Mode {
    /// Its display name.
    pub(super) fn name(&self) -> &str {
        &self.name.as_ref().unwrap_or(&self.id).value
    }
}

/// The differences of an activity in a mode.
pub(super) struct ModeOverride {
    pub(super) mode: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) rules: Vec<Rule>,
    /// Additional steps.
    pub(super) steps: Vec<Item>,
    pub(super) skip_steps: Vec<Spanned<String>>,
    /// Additional checkpoints.
    pub(super) checkpoints: Vec<PlacedItem<Checkpoint>>,
    /// The next activity.
    pub(super) transition_override: Option<Spanned<String>>,
    pub(super) context_to_preserve: Vec<Spanned<String>>,
}

impl Mode {
    /// Returns whether the mode skips an activity.
    pub(super) fn leaves_out(&self, activity: &str) -> bool {
        self.skip_activities.iter().any(|skipped| skipped.value == activity)
    }
}

impl Reader<'_> {
    pub(super) fn modes(&mut self, fields: &mut Fields<'_>) -> Vec<Mode> {
        let items = self.list(fields, "modes");
        let modes: Vec<_> = items.iter().filter_map(|item| self.mode(item)).collect();
        self.distinct(modes, "mode", None, |mode| &mode.id)
    }

    fn mode(&mut self, tree: &Tree) -> Option<Mode> {
        let what = named(tree, "mode");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "a mode"));
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        let activation_variable = fields.required_string("activationVariable", self.faults);
        let recognition = fields.strings("recognition", self.faults);
        let skip_activities = fields.strings("skipActivities", self.faults);
        let defaults = self.entries(&mut fields, "defaults", &what);
        let resource = fields.string("resource", self.faults);
        fields.finish(self.faults);
        Some(Mode { id: id?, name, description, activation_variable, recognition, skip_activities, defaults, resource })
    }

    /// Reads the overrides of an activity, by the ids of their modes.
    pub(super) fn mode_overrides(&mut self, fields: &mut Fields<'_>, what: &str) -> Vec<ModeOverride> {
        let Some(tree) = fields.optional("modeOverrides") else { return Vec::new() };
        let Some(entries) = tree.entries() else {
            let message = format!("`modeOverrides` of {what} must be an object, but is {}", tree.describe());
            let fault = Diagnostic::error("wrong-type", message).at(tree.head());
            self.faults.push(fault.help("write the overrides under the id of the mode"));
            return Vec::new();
        };
        let entries = distinct(entries, &format!("`modeOverrides` of {what}"), self.faults);
        let mut overrides = Vec::new();
        for entry in entries {
            self.ids_of_mode = Some(BTreeSet::new());
            overrides.extend(self.mode_override(&entry.key, &entry.value));
        }
        self.ids_of_mode = None;
        overrides
    }

    fn mode_override(&mut self, mode: &Spanned<String>, tree: &Tree) -> Option<ModeOverride> {
        let what = format!("override `{}`", clip(&mode.value));
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let description = fields.string("description", self.faults);
        let rules = self.rules(&mut fields, "rules", &what);
        let steps = self.items(&mut fields);
        let skip_steps = fields.strings("skipSteps", self.faults);
        let checkpoints = self.checkpoints(&mut fields);
        let transition_override = fields.string("transitionOverride", self.faults);
        let context_to_preserve = fields.strings("context_to_preserve", self.faults);
        fields.finish(self.faults);
        Some(ModeOverride {
            mode: mode.clone(),
            description,
            rules,
            steps,
            skip_steps,
            checkpoints,
            transition_override,
            context_to_preserve,
        })
    }
}
