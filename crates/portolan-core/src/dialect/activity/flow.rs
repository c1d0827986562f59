//! The path from one activity to the next: transitions, decisions, triggers, actions.

use serde_json::Value;

use super::reader::{Reader, flag, named, valued};
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::Expr;
use crate::source::fields::Fields;
use crate::source::{Span, Spanned, Tree, TreeKind};

pub(super) struct Transition {
    pub(super) span: Span,
    pub(super) to: Spanned<String>,
    pub(super) condition: Option<Spanned<Expr>>,
    pub(super) is_default: bool,
}

pub(super) struct Decision {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) branches: Vec<Branch>,
}

pub(super) struct Branch {
    pub(super) id: Spanned<String>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) condition: Option<Spanned<Expr>>,
    /// The target activity; `None` for the end of the workflow.
    pub(super) to: Option<Spanned<String>>,
    pub(super) is_default: bool,
}

/// A workflow that is started from here.
pub(super) struct Trigger {
    pub(super) workflow: Spanned<String>,
    pub(super) description: Option<Spanned<String>>,
    /// The variables that it receives.
    pub(super) pass_context: Vec<Spanned<String>>,
}

pub(super) struct Action {
    pub(super) verb: Verb,
    pub(super) target: Option<Spanned<String>>,
    pub(super) message: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    /// `Some` of `null` if `null` was written.
    pub(super) value: Option<Spanned<Value>>,
    pub(super) condition: Option<Spanned<Expr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Log,
    Validate,
    Set,
    Emit,
    Message,
}

const VERBS: &[(&str, Verb)] = &[
    ("log", Verb::Log),
    ("validate", Verb::Validate),
    ("set", Verb::Set),
    ("emit", Verb::Emit),
    ("message", Verb::Message),
];

impl Reader<'_> {
    pub(super) fn transitions(&mut self, fields: &mut Fields<'_>, what: &str) -> Vec<Transition> {
        let items = self.list(fields, "transitions");
        let transitions: Vec<_> = items.iter().filter_map(|item| self.transition(item, what)).collect();
        let defaults = transitions.iter().filter(|transition| transition.is_default).map(|it| it.span);
        self.one_default(defaults, &format!("{what} has more than one default transition"));
        transitions
    }

    fn transition(&mut self, tree: &Tree, what: &str) -> Option<Transition> {
        let what = format!("a transition of {what}");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let to = fields.required_string("to", self.faults);
        let condition = self.gate(&mut fields, tree, &what);
        let is_default = flag(&mut fields, "isDefault", false, self.faults);
        fields.finish(self.faults);
        Some(Transition { span: tree.head(), to: to?, condition, is_default })
    }

    /// Reports a second default: it would be unclear which one is taken.
    fn one_default(&mut self, mut defaults: impl Iterator<Item = Span>, message: &str) {
        defaults.next();
        if let Some(second) = defaults.next() {
            let fault = Diagnostic::error("several-defaults", message).at(second);
            self.faults.push(fault.help("keep `isDefault: true` on one of them").repaired("the first one counts"));
        }
    }

    pub(super) fn decisions(&mut self, fields: &mut Fields<'_>) -> Vec<Decision> {
        let items = self.list(fields, "decisions");
        let decisions: Vec<_> = items.iter().filter_map(|item| self.decision(item)).collect();
        self.distinct(decisions, "decision", None, |decision| &decision.id)
    }

    fn decision(&mut self, tree: &Tree) -> Option<Decision> {
        let what = named(tree, "decision");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "a decision"));
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        fields.required("branches", self.faults);
        let before = self.faults.0.len();
        let items = self.list(&mut fields, "branches");
        if fields.has("branches") && items.len() < 2 && self.faults.0.len() == before {
            let message = format!("{what} has fewer than two branches");
            let fault = Diagnostic::error("missing-field", message).at(tree.head());
            self.faults.push(fault.help("add another branch, or write a transition instead of the decision"));
        }
        let branches: Vec<_> = items.iter().filter_map(|item| self.branch(item, &what)).collect();
        fields.finish(self.faults);
        let branches = self.distinct(branches, "branch", Some(&what), |branch| &branch.id);
        let defaults = branches.iter().filter(|branch| branch.is_default).map(|branch| branch.id.span);
        self.one_default(defaults, &format!("{what} has more than one default branch"));
        Some(Decision { id: id?, name, description, branches })
    }

    fn branch(&mut self, tree: &Tree, decision: &str) -> Option<Branch> {
        let what = format!("{} of {decision}", named(tree, "branch"));
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let id = fields.required_string("id", self.faults).map(|id| self.sound(id, "a branch"));
        let label = fields.string("label", self.faults);
        let condition = self.gate(&mut fields, tree, &what);
        let to = fields.string("transitionTo", self.faults);
        let is_default = flag(&mut fields, "isDefault", false, self.faults);
        fields.finish(self.faults);
        Some(Branch { id: id?, label, condition, to, is_default })
    }

    /// Reads one trigger, or a list of them.
    pub(super) fn triggers(&mut self, fields: &mut Fields<'_>, what: &str) -> Vec<Trigger> {
        match fields.optional("triggers") {
            Some(one @ Tree { kind: TreeKind::Object(_), .. }) => self.trigger(one, what).into_iter().collect(),
            _ => self.list(fields, "triggers").iter().filter_map(|item| self.trigger(item, what)).collect(),
        }
    }

    fn trigger(&mut self, tree: &Tree, what: &str) -> Option<Trigger> {
        let mut fields = Fields::of(tree, format!("a trigger of {what}"), self.faults)?;
        let workflow = fields.required_string("workflow", self.faults);
        let description = fields.string("description", self.faults);
        let pass_context = fields.strings("passContext", self.faults);
        fields.finish(self.faults);
        Some(Trigger { workflow: workflow?, description, pass_context })
    }

    pub(super) fn actions(&mut self, fields: &mut Fields<'_>, key: &'static str, what: &str) -> Vec<Action> {
        self.list(fields, key).iter().filter_map(|item| self.action(item, what)).collect()
    }

    fn action(&mut self, tree: &Tree, what: &str) -> Option<Action> {
        let verb = tree.get("action").and_then(Tree::as_str);
        let what = match verb {
            Some(verb) => format!("action `{}` of {what}", clip(verb)),
            None => format!("an action of {what}"),
        };
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let verb = fields.required("action", self.faults).and_then(|_| fields.choice("action", VERBS, self.faults));
        let target = fields.string("target", self.faults);
        let message = fields.string("message", self.faults);
        let description = fields.string("description", self.faults);
        fields.ignored(&["value"]);
        let value = tree.get("value").map(valued);
        let condition = self.gate(&mut fields, tree, &what);
        fields.finish(self.faults);
        Some(Action { verb: verb?, target, message, description, value, condition })
    }
}
