//! The ordered list of an activity: steps, checkpoints and loops.

use std::sync::Arc;

use super::checkpoints::Checkpoint;
use super::flow::{Action, Trigger};
use super::loops::Loop;
use super::reader::{Entry, Reader, flag, named};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::dialect::checks;
use crate::expr::Expr;
use crate::graph::{CallRules, Check, ToolRules};
use crate::source::fields::{Fields, not_an_object};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// One item of the list.
pub(super) enum Item {
    Step(Box<Step>),
    Checkpoint(Box<Checkpoint>),
    Loop(Box<Loop>),
}

/// A unit of work.
pub(super) struct Step {
    pub(super) span: Span,
    pub(super) id: Spanned<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    /// Detailed instructions.
    pub(super) guide: Option<Spanned<String>>,
    pub(super) technique: Option<Technique>,
    pub(super) required: bool,
    pub(super) condition: Option<Spanned<Expr>>,
    pub(super) actions: Vec<Action>,
    /// The abilities that an agent needs for it.
    pub(super) effectivities: Vec<Spanned<String>>,
    pub(super) triggers: Vec<Trigger>,
    /// The variables that it sets.
    pub(super) outputs: Vec<Output>,
    /// The checks that must pass before it counts as done.
    pub(super) accept: Vec<Check>,
    /// The tools that may be used for it.
    pub(super) tools: Option<Box<ToolRules>>,
    /// The rules for calls of tools while it is worked on.
    pub(super) call_rules: Option<Arc<CallRules>>,
}

/// The technique of a step, called a skill in the first generation.
pub(super) struct Technique {
    pub(super) name: Spanned<String>,
    /// The values of its inputs: other variables, texts with variables in braces, or constants.
    pub(super) inputs: Vec<Entry>,
}

/// A variable, and its name in the technique that produces it.
pub(super) struct Output {
    pub(super) name: Spanned<String>,
    pub(super) variable: Spanned<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Technique,
    Checkpoint,
    Loop,
}

const KINDS: &[(&str, Kind)] = &[
    ("step", Kind::Plain),
    ("technique", Kind::Technique),
    ("action", Kind::Plain),
    ("checkpoint", Kind::Checkpoint),
    ("loop", Kind::Loop),
];

impl Reader<'_> {
    /// Reads the items under `steps`.
    pub(super) fn items(&mut self, fields: &mut Fields<'_>) -> Vec<Item> {
        let mut items = Vec::new();
        for tree in self.list(fields, "steps") {
            match self.item(tree) {
                Some(item) => items.push(item),
                None => self.lose(tree),
            }
        }
        items
    }

    fn item(&mut self, tree: &Tree) -> Option<Item> {
        if tree.entries().is_none() {
            self.faults.push(not_an_object(tree, "a step").help("write it with an `id`: `- id: look-around`"));
            return None;
        }
        match self.kind(tree)? {
            Kind::Checkpoint => self.inline_checkpoint(tree).map(|found| Item::Checkpoint(Box::new(found))),
            Kind::Loop => self.inline_loop(tree).map(|found| Item::Loop(Box::new(found))),
            kind => self.step(tree, kind).map(|found| Item::Step(Box::new(found))),
        }
    }

    /// Reads the kind; the default is a plain step.
    fn kind(&mut self, tree: &Tree) -> Option<Kind> {
        let what = named(tree, "step");
        let word = match tree.get("kind") {
            Some(Tree { kind: TreeKind::String(word), span }) => Spanned { value: word.as_str(), span: *span },
            None | Some(Tree { kind: TreeKind::Null, .. }) => return Some(self.unnamed(tree, &what)),
            Some(other) => {
                let message = format!("`kind` of {what} must be a string, but is {}", other.describe());
                self.faults.push(Diagnostic::error("wrong-type", message).at(other.head()).help(kinds()));
                return None;
            }
        };
        let known = KINDS.iter().find(|(known, _)| *known == word.value).map(|(_, kind)| *kind);
        if known.is_none() {
            let message = format!("{what} has the kind `{}`, which does not exist", clip(word.value));
            let fault = Diagnostic::error("unknown-type", message).at(word.span).help(kinds());
            self.faults.push(fault.did_you_mean(word.value, KINDS.iter().map(|(known, _)| *known)));
        }
        known
    }

    /// Returns the kind of an item without a `kind`: a step, unless its other fields suggest another, which is
    /// reported.
    fn unnamed(&mut self, tree: &Tree, what: &str) -> Kind {
        let first = |keys: &[&'static str]| keys.iter().find(|key| tree.get(key).is_some()).copied();
        let (key, word, kind) = match (first(&["options", "ref"]), first(&["loopType", "over", "steps"])) {
            (Some(key), _) => (key, "checkpoint", Kind::Checkpoint),
            (None, Some(key)) => (key, "loop", Kind::Loop),
            (None, None) => return Kind::Plain,
        };
        let message = format!("{what} has `{key}` like a {word}, but no `kind`");
        let fault = Diagnostic::error("missing-field", message).at(tree.head());
        self.faults.push(fault.help(format!("write `kind: {word}`")));
        kind
    }

    fn step(&mut self, tree: &Tree, kind: Kind) -> Option<Step> {
        let what = named(tree, "step");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        fields.ignored(&["kind"]);
        let key = self.either(&fields, tree, ["technique", "skill"], &what);
        fields.ignored(&["technique", "skill"]);
        let mut outputs = Vec::new();
        let technique = match fields.optional(key) {
            Some(tree) => self.technique(tree, &format!("`{key}` of {what}"), &mut outputs),
            None => {
                if kind == Kind::Technique {
                    fields.required("technique", self.faults);
                }
                None
            }
        };
        let id = self.step_id(&mut fields, technique.as_ref().filter(|_| kind == Kind::Technique));
        self.outputs(&mut fields, &what, &mut outputs);
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        let guide = fields.string("guide", self.faults);
        let required = flag(&mut fields, "required", true, self.faults);
        let condition = self.gate(&mut fields, tree, &what);
        let actions = self.actions(&mut fields, "actions", &what);
        let effectivities = fields.strings("effectivities", self.faults);
        let triggers = self.triggers(&mut fields, &what);
        let accept = checks::read(&mut fields, self.faults);
        let tools = checks::tools(&mut fields, self.faults);
        let call_rules = checks::call_rules(&mut fields);
        fields.finish(self.faults);
        Some(Step {
            span: tree.head(),
            id: id?,
            name,
            description,
            guide,
            technique,
            required,
            condition,
            actions,
            effectivities,
            triggers,
            outputs,
            accept,
            tools,
            call_rules,
        })
    }

    /// Reads the id; a technique without one gets the last word of its name.
    fn step_id(&mut self, fields: &mut Fields<'_>, technique: Option<&Technique>) -> Option<Spanned<String>> {
        match technique {
            Some(technique) if !fields.has("id") => {
                fields.ignored(&["id"]);
                let Spanned { value, span } = &technique.name;
                let last = value.rsplit("::").next().unwrap_or(value);
                self.claim(Spanned { value: last.to_owned(), span: *span }, "a step")
            }
            _ => self.own_id(fields, "a step"),
        }
    }

    fn technique(&mut self, tree: &Tree, what: &str, outputs: &mut Vec<Output>) -> Option<Technique> {
        if let TreeKind::String(name) = &tree.kind {
            let name = Spanned { value: name.clone(), span: tree.span };
            return Some(Technique { name, inputs: Vec::new() });
        }
        if tree.entries().is_none() {
            let message = format!("{what} must be a name, but is {}", tree.describe());
            let help = "write `group::operation`, or `{name: group::operation, inputs: …, outputs: …}`";
            self.faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
            return None;
        }
        let mut fields = Fields::of(tree, what, self.faults)?;
        let name = fields.required_string("name", self.faults);
        let inputs = self.entries(&mut fields, "inputs", what);
        for (input, value) in inputs.iter().filter(|(_, input)| input.value.is_array() || input.value.is_object()) {
            let message = format!("input `{}` of {what} must be a text, a number or a flag", clip(&input.value));
            let help = "put the value into a variable, and name the variable";
            self.faults.push(Diagnostic::error("wrong-type", message).at(value.span).help(help));
        }
        self.outputs(&mut fields, what, outputs);
        fields.finish(self.faults);
        Some(Technique { name: name?, inputs })
    }

    /// Reads outputs: names of variables, or an object from the name of an output to that of its variable.
    fn outputs(&mut self, fields: &mut Fields<'_>, what: &str, outputs: &mut Vec<Output>) {
        let found: Vec<Output> = match fields.optional("outputs").map(|tree| &tree.kind) {
            Some(TreeKind::Object(_)) => {
                let texts = fields.texts("outputs", self.faults).into_iter();
                let variable = |tree: &Tree| tree.as_str().unwrap_or_default().to_owned();
                texts
                    .map(|(name, tree)| Output { name, variable: Spanned { value: variable(tree), span: tree.span } })
                    .collect()
            }
            _ => {
                let names = fields.strings("outputs", self.faults).into_iter();
                names.map(|name| Output { name: name.clone(), variable: name }).collect()
            }
        };
        let whose = format!("a variable in `outputs` of {what}");
        outputs.extend(found.into_iter().filter(|output| self.is_name(&output.variable, &whose)));
    }
}

fn kinds() -> String {
    let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
    format!("the kinds are {}", list(&words))
}
