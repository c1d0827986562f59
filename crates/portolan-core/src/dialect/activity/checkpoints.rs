//! Checkpoints: questions that a person answers before the work continues.

use super::reader::{Entry, Reader, flag, named, plain};
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::Expr;
use crate::source::fields::{Fields, distinct};
use crate::source::{Span, Spanned, Tree};

/// The maximum time after which a checkpoint answers itself, in milliseconds: thirty days.
const MAX_WAIT_MS: u64 = 30 * 86_400_000;

pub(super) struct Checkpoint {
    pub(super) span: Span,
    pub(super) id: Spanned<String>,
    /// The template of its instances, if it is asked once for each of several things: `{file.path}` of
    /// `review#{file.path}`.
    pub(super) instance: Option<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    /// The prerequisite of asking it, in prose.
    pub(super) prerequisite: Option<Spanned<String>>,
    pub(super) condition: Option<Spanned<Expr>>,
    pub(super) required: bool,
    pub(super) scope: Option<Scope>,
    pub(super) body: Body,
}

/// The scope of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The visit of the activity: the next visit asks again.
    Visit,
    /// The whole run.
    Run,
}

pub(super) enum Body {
    Own(Question),
    /// The question of a shared checkpoint of the workflow.
    Shared(Spanned<String>),
}

pub(super) struct Question {
    pub(super) message: Spanned<String>,
    /// At least one.
    pub(super) options: Vec<Choice>,
    pub(super) auto: Option<Auto>,
}

/// The option that is chosen if no answer comes in time; it is one of the options.
pub(super) struct Auto {
    pub(super) option: Spanned<String>,
    pub(super) after_ms: u64,
}

pub(super) struct Choice {
    pub(super) id: Spanned<String>,
    pub(super) label: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) effect: Effect,
}

/// The effect of an answer, besides being recorded.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) set: Vec<Entry>,
    pub(super) transition_to: Option<Spanned<String>>,
    pub(super) skip_activities: Vec<Spanned<String>>,
}

/// An element of a list beside the steps, and its place among them.
pub(super) struct PlacedItem<T> {
    pub(super) place: Place,
    pub(super) item: T,
}

pub(super) enum Place {
    Before(Spanned<String>),
    After(Spanned<String>),
    /// Before all steps.
    Entry,
    /// After all steps, which is the default.
    Exit,
}

impl Reader<'_> {
    /// Reads a checkpoint among the steps.
    pub(super) fn inline_checkpoint(&mut self, tree: &Tree) -> Option<Checkpoint> {
        let what = named(tree, "checkpoint");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        fields.ignored(&["kind"]);
        let id = self.instance_id(&mut fields);
        let checkpoint = self.checkpoint(&mut fields, tree, id, &what);
        fields.finish(self.faults);
        checkpoint
    }

    /// Reads the id, and the instance template after a `#`. Both together identify the checkpoint.
    fn instance_id(&mut self, fields: &mut Fields<'_>) -> Option<(Spanned<String>, Option<String>)> {
        if !fields.has("id") {
            return self.own_id(fields, "a checkpoint").map(|id| (id, None));
        }
        let written = fields.required_string("id", self.faults)?;
        let Some((id, of)) = written.value.split_once('#').filter(|(_, of)| !of.trim().is_empty()) else {
            return self.claim(written, "a checkpoint").map(|id| (id, None));
        };
        let (mut id, instance) = (id.trim().to_owned(), of.trim().to_owned());
        // Ids that differ as written are different checkpoints, even with the same first part; equal ones are
        // duplicates.
        if self.wholes.insert(written.value.clone()) {
            id = self.free(&id);
        }
        let id = self.claim(Spanned { value: id, span: written.span }, "a checkpoint")?;
        Some((id, Some(instance)))
    }

    /// Reads the checkpoints beside the steps.
    pub(super) fn checkpoints(&mut self, fields: &mut Fields<'_>) -> Vec<PlacedItem<Checkpoint>> {
        let mut checkpoints = Vec::new();
        for tree in self.list(fields, "checkpoints") {
            match self.placed_checkpoint(tree) {
                Some(checkpoint) => checkpoints.push(checkpoint),
                None => self.lose(tree),
            }
        }
        checkpoints
    }

    fn placed_checkpoint(&mut self, tree: &Tree) -> Option<PlacedItem<Checkpoint>> {
        let what = named(tree, "checkpoint");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = self.instance_id(&mut fields);
        let place = self.place(&mut fields, tree, &what);
        let checkpoint = self.checkpoint(&mut fields, tree, id, &what);
        fields.finish(self.faults);
        Some(PlacedItem { place, item: checkpoint? })
    }

    /// Reads the checkpoints that several activities of a workflow share, by their names.
    pub(super) fn shared_checkpoints(&mut self, tree: &Tree) -> Vec<Checkpoint> {
        let Some(entries) = tree.entries() else {
            let message = format!("`checkpoints` of `fragments` must be an object, but is {}", tree.describe());
            let help = "write each checkpoint under its name, without an `id`";
            self.faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
            return Vec::new();
        };
        let entries = distinct(entries, "`checkpoints` of `fragments`", self.faults);
        let mut shared = Vec::new();
        for entry in entries {
            let what = format!("shared checkpoint `{}`", clip(&entry.key.value));
            let Some(mut fields) = Fields::of(&entry.value, what.as_str(), self.faults) else { continue };
            let id = Some(entry.key.clone())
                .filter(|id| self.is_elsewhere || self.is_id(id, "a shared checkpoint"))
                .map(|id| (id, None));
            let checkpoint = self.checkpoint(&mut fields, &entry.value, id, &what);
            fields.finish(self.faults);
            shared.extend(checkpoint);
        }
        shared
    }

    /// Reads the fields that all checkpoints have.
    fn checkpoint(
        &mut self,
        fields: &mut Fields<'_>,
        tree: &Tree,
        id: Option<(Spanned<String>, Option<String>)>,
        what: &str,
    ) -> Option<Checkpoint> {
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        let prerequisite = fields.string("prerequisite", self.faults);
        let condition = self.gate(fields, tree, what);
        let required = flag(fields, "required", true, self.faults);
        self.blocking(fields, what);
        let scopes = [("visit", Scope::Visit), ("run", Scope::Run)];
        let scope = fields.choice("scope", &scopes, self.faults);
        let body = self.body(fields, tree, what)?;
        let (id, instance) = id?;
        Some(Checkpoint {
            span: tree.head(),
            id,
            instance,
            name,
            description,
            prerequisite,
            condition,
            required,
            scope,
            body,
        })
    }

    /// Warns about `blocking: false` without a default answer: only a default answer lets the work continue.
    fn blocking(&mut self, fields: &mut Fields<'_>, what: &str) {
        let Some(Spanned { value: false, span }) = fields.flag("blocking", self.faults) else { return };
        if fields.has("defaultOption") && fields.has("autoAdvanceMs") {
            return;
        }
        let message = format!("{what} has `blocking: false`, but still waits for an answer");
        let help =
            "give it a `defaultOption` and `autoAdvanceMs`, so it answers itself after a while, or remove the field";
        self.faults.push(Diagnostic::warning("not-blocking", message).at(span).help(help));
    }

    fn body(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Body> {
        let shared = fields.string("ref", self.faults);
        if fields.has("ref") {
            let own = ["message", "options", "defaultOption", "autoAdvanceMs"];
            fields.ignored(&own);
            for key in own.into_iter().filter(|key| tree.get(key).is_some()) {
                self.exclude(tree, "ref", key, what);
            }
            return shared.map(Body::Shared);
        }
        let message = fields.required_string("message", self.faults).or_else(|| {
            self.repaired("its id is the question");
            let id = tree.get("id").and_then(Tree::as_str).unwrap_or("checkpoint");
            Some(Spanned { value: id.to_owned(), span: tree.head() })
        });
        let faults_before = self.faults.0.len();
        fields.required("options", self.faults);
        let before = self.faults.0.len();
        let items = self.list(fields, "options");
        if fields.has("options") && items.is_empty() && self.faults.0.len() == before {
            let fault = Diagnostic::error("missing-field", format!("{what} has no options")).at(tree.head());
            self.faults.push(fault.help("add one with `id` and `label` under `options`, or make it a step"));
        }
        let mut options: Vec<_> = items.iter().filter_map(|item| self.option(item, what)).collect();
        if options.is_empty() && self.faults.0.len() > faults_before {
            self.repaired("its only option is `continue`");
            let word = |word: &str| Spanned { value: word.to_owned(), span: tree.head() };
            let (id, label) = (word("continue"), word("Continue"));
            options.push(Choice { id, label, description: None, effect: Effect::default() });
        }
        let options = self.distinct(options, "option", Some(what), |option| &option.id);
        let auto = self.auto(fields, tree, what, &options);
        let message = message?;
        (!options.is_empty()).then_some(Body::Own(Question { message, options, auto }))
    }

    fn option(&mut self, tree: &Tree, checkpoint: &str) -> Option<Choice> {
        let what = format!("{} of {checkpoint}", named(tree, "option"));
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "an option"));
        let no_label = id.is_some() && !fields.has("label");
        let label = fields.required_string("label", self.faults);
        if no_label {
            self.repaired("its id is the label");
        }
        let label = label.or_else(|| id.clone());
        let id = id.or_else(|| label.as_ref().map(|label| Spanned { value: plain(&label.value), span: label.span }));
        let description = fields.string("description", self.faults);
        let effect = fields.optional("effect").and_then(|tree| self.effect(tree, &what));
        fields.finish(self.faults);
        Some(Choice { id: id?, label: label?, description, effect: effect.unwrap_or_default() })
    }

    fn effect(&mut self, tree: &Tree, option: &str) -> Option<Effect> {
        let what = format!("`effect` of {option}");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let set = self.entries(&mut fields, "setVariable", &what);
        let transition_to = fields.string("transitionTo", self.faults);
        let skip_activities = fields.strings("skipActivities", self.faults);
        fields.finish(self.faults);
        Some(Effect { set, transition_to, skip_activities })
    }

    fn auto(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str, options: &[Choice]) -> Option<Auto> {
        let option = fields.string("defaultOption", self.faults);
        let after = fields.duration_ms("autoAdvanceMs", 1..=MAX_WAIT_MS, self.faults);
        if fields.has("defaultOption") != fields.has("autoAdvanceMs") {
            let (one, other) = match fields.has("defaultOption") {
                true => ("defaultOption", "autoAdvanceMs"),
                false => ("autoAdvanceMs", "defaultOption"),
            };
            let fault = Diagnostic::warning("never-by-itself", format!("{what} has `{one}`, but no `{other}`"));
            let help = "give both, so it answers itself after a while, or neither: at present it waits for an answer";
            self.faults.push(fault.at(tree.head()).help(help));
        }
        let option = option?;
        let ids: Vec<&str> = options.iter().map(|option| option.id.value.as_str()).collect();
        if !ids.contains(&option.value.as_str()) {
            let message = format!("{what} has no option `{}` to use by default", clip(&option.value));
            let fault = Diagnostic::error("unknown-option", message).at(option.span);
            let fault = fault.help("name one of its `options` in `defaultOption`");
            self.faults.push(fault.did_you_mean(&option.value, ids));
            return None;
        }
        let after = after?;
        let message = format!("{what} is answered with `{}` if there is no other answer", clip(&option.value));
        let help = "remove `autoAdvanceMs` if the answer matters; under `--human verified`, where only a \
            person's answer counts, it does nothing";
        self.faults.push(Diagnostic::warning("answers-itself", message).at(after.span).help(help));
        Some(Auto { option, after_ms: after.value })
    }

    /// Reads the place among the steps of an element in a list beside them.
    pub(super) fn place(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Place {
        let given: Vec<&str> = ["before", "after", "at"].into_iter().filter(|key| fields.has(key)).collect();
        if let [one, other, ..] = given[..] {
            self.exclude(tree, one, other, what);
        }
        let before = fields.string("before", self.faults).map(Place::Before);
        let after = fields.string("after", self.faults).map(Place::After);
        let at = fields.choice("at", &[("entry", true), ("exit", false)], self.faults);
        let at = at.map(|entry| if entry { Place::Entry } else { Place::Exit });
        before.or(after).or(at).unwrap_or(Place::Exit)
    }
}
