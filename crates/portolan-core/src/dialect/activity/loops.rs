//! Loops: among the steps with their bodies inside, or in a list beside them.

use super::checkpoints::PlacedItem;
use super::reader::{Reader, flag, named};
use super::steps::Item;
use crate::diagnostic::Diagnostic;
use crate::expr::Expr;
use crate::graph::AtLimit;
use crate::source::fields::Fields;
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The maximum nesting of loops.
pub(super) const MAX_NESTING: usize = 8;
/// The maximum number of iterations that a loop may be allowed.
const MAX_ITERATIONS: u32 = 1_000_000;

pub(super) struct Loop {
    pub(super) span: Span,
    pub(super) id: Spanned<String>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    pub(super) required: bool,
    pub(super) kind: LoopKind,
    /// The condition of starting it at all.
    pub(super) condition: Option<Spanned<Expr>>,
    pub(super) break_condition: Option<Spanned<Expr>>,
    pub(super) max_iterations: Option<Spanned<u32>>,
    pub(super) at_limit: AtLimit,
    pub(super) body: Body,
}

pub(super) enum LoopKind {
    ForEach {
        /// The path to the array.
        over: Spanned<String>,
        /// The name of each item.
        variable: Option<Spanned<String>>,
    },
    /// Continues while this holds, evaluated before each iteration.
    While(Spanned<Expr>),
    /// Continues while this holds, evaluated after each iteration.
    DoWhile(Spanned<Expr>),
}

pub(super) enum Body {
    Items(Vec<Item>),
    /// Steps of the activity, by their ids.
    Steps(Vec<Spanned<String>>),
    /// Whole activities, by their ids.
    Activities(Vec<Spanned<String>>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    ForEach,
    While,
    DoWhile,
}

const TYPES: &[(&str, Type)] = &[("forEach", Type::ForEach), ("while", Type::While), ("doWhile", Type::DoWhile)];

const AT_LIMIT: &[(&str, AtLimit)] = &[("fail", AtLimit::Fails), ("continue", AtLimit::GoesOn)];

impl Reader<'_> {
    /// Reads a loop among the steps.
    pub(super) fn inline_loop(&mut self, tree: &Tree) -> Option<Loop> {
        let what = named(tree, "loop");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        fields.ignored(&["kind"]);
        let found = self.each(&mut fields, tree, &what);
        fields.finish(self.faults);
        found
    }

    /// Reads the loops beside the steps. The place of one that repeats steps of the activity has no meaning.
    pub(super) fn loops(&mut self, fields: &mut Fields<'_>) -> Vec<PlacedItem<Loop>> {
        let mut loops = Vec::new();
        for tree in self.list(fields, "loops") {
            match self.placed_loop(tree) {
                Some(found) => loops.push(found),
                None => self.lose(tree),
            }
        }
        loops
    }

    fn placed_loop(&mut self, tree: &Tree) -> Option<PlacedItem<Loop>> {
        let what = named(tree, "loop");
        let mut fields = Fields::of(tree, what.as_str(), self.faults)?;
        let place = self.place(&mut fields, tree, &what);
        let found = self.each(&mut fields, tree, &what);
        fields.finish(self.faults);
        let found = found?;
        if matches!(found.body, Body::Steps(_)) {
            self.placed_by_its_steps(tree, &what);
        }
        Some(PlacedItem { place, item: found })
    }

    /// Warns about a place of a loop that repeats steps: the steps keep their positions.
    fn placed_by_its_steps(&mut self, tree: &Tree, what: &str) {
        for key in ["before", "after", "at"] {
            let Some(inert) = tree.get(key) else { continue };
            let message = format!("`{key}` of {what} does nothing: the loop repeats steps at their own positions");
            let fault = Diagnostic::warning("inert-field", message).at(inert.head());
            self.faults.push(fault.help("remove it, or define the steps inside the loop"));
        }
    }

    fn each(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Loop> {
        let id = self.own_id(fields, "a loop");
        let name = fields.string("name", self.faults);
        let description = fields.string("description", self.faults);
        let required = flag(fields, "required", true, self.faults);
        let (kind, condition) = self.loop_kind(fields, tree, what);
        let break_condition = fields.optional("breakCondition");
        let break_condition =
            break_condition.and_then(|tree| self.condition(tree, &format!("`breakCondition` of {what}")));
        let max_iterations = fields.count("maxIterations", 1..=MAX_ITERATIONS, self.faults);
        let at_limit = fields.choice("atLimit", AT_LIMIT, self.faults).unwrap_or_default();
        let body = self.loop_body(fields, tree, what);
        Some(Loop {
            span: tree.head(),
            id: id?,
            name,
            description,
            required,
            kind: kind?,
            condition,
            break_condition,
            max_iterations,
            at_limit,
            body: body?,
        })
    }

    /// Reads what it iterates over or how long it continues, and its start condition.
    fn loop_kind(
        &mut self,
        fields: &mut Fields<'_>,
        tree: &Tree,
        what: &str,
    ) -> (Option<LoopKind>, Option<Spanned<Expr>>) {
        let key = self.either(fields, tree, ["loopType", "type"], what);
        fields.ignored(&["loopType", "type", "over", "variable", "condition", "when"]);
        let kind = fields.required(key, self.faults).and_then(|_| fields.choice(key, TYPES, self.faults));
        let Some(kind) = kind else { return (None, None) };
        if kind == Type::ForEach {
            let over = fields.required_string("over", self.faults);
            let over = over.filter(|over| self.is_path(over, &format!("`over` of {what}")));
            let variable = fields.string("variable", self.faults);
            let variable = variable.filter(|name| self.is_name(name, "a variable"));
            let gate = self.gate(fields, tree, what);
            return (over.map(|over| LoopKind::ForEach { over, variable }), gate);
        }
        let word = key;
        for key in ["over", "variable"] {
            if let Some(inert) = fields.optional(key) {
                let message = format!("`{key}` of {what} does nothing: only a `forEach` iterates over items");
                let fault = Diagnostic::warning("inert-field", message).at(inert.head());
                self.faults.push(fault.help(format!("remove it, or make the `{word}` a `forEach`")));
            }
        }
        let gate = self.only_when(fields, what);
        let Some(test) = fields.optional("condition") else {
            let message = format!("{what} has no `condition`, so nothing decides when it ends");
            let help = "add the condition for another iteration";
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()).help(help));
            return (None, gate);
        };
        let test = self.condition(test, &format!("`condition` of {what}"));
        let make = if kind == Type::While { LoopKind::While } else { LoopKind::DoWhile };
        (test.map(make), gate)
    }

    fn loop_body(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Body> {
        match self.either(fields, tree, ["steps", "activities"], what) {
            "activities" => {
                fields.ignored(&["steps"]);
                Some(Body::Activities(fields.strings("activities", self.faults)))
            }
            _ => {
                fields.ignored(&["activities"]);
                let steps = fields.optional("steps");
                let first = match steps.map(|steps| &steps.kind) {
                    Some(TreeKind::Array(items)) => items.first(),
                    Some(_) => return self.nothing(fields),
                    None => None,
                };
                let Some(first) = first else {
                    let message = format!("{what} has no steps, so there is nothing to repeat");
                    let fault = Diagnostic::error("missing-field", message).at(tree.head());
                    self.faults.push(fault.help("add the steps to repeat under `steps`"));
                    return None;
                };
                match first.as_str() {
                    Some(_) => Some(Body::Steps(fields.strings("steps", self.faults))),
                    None => self.inner(fields, tree, what),
                }
            }
        }
    }

    /// Reports `steps` that are no list.
    fn nothing(&mut self, fields: &mut Fields<'_>) -> Option<Body> {
        self.list(fields, "steps");
        None
    }

    fn inner(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Body> {
        if self.nesting >= MAX_NESTING {
            let message =
                format!("{what} is nested in {MAX_NESTING} other loops, and loops cannot be nested more deeply");
            let fault = Diagnostic::error("too-large", message).at(tree.head());
            self.faults.push(fault.help("move an inner part into an activity or a workflow of its own"));
            return None;
        }
        self.nesting += 1;
        let items = self.items(fields);
        self.nesting -= 1;
        Some(Body::Items(items))
    }
}
