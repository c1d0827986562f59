//! The exact syntax tree of the nodes: the fields of each type.

use std::collections::BTreeSet;

use super::lints;
use super::syntax::About;
use crate::diagnostic::{Diagnostic, clip, list};
use crate::dialect::nodes::{self, About as AboutStates, Each, Fork, Words, is_id};
use crate::expr::Expr;
use crate::graph::{Call, Judge, State, Strategy};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The maximum number of nodes of a tool, or of a file with nodes beside the tools.
const MAX_NODES: usize = 10_000;
/// The maximum number of conditions of a switch.
const MAX_CONDITIONS: usize = 1_000;

const WORDS: Words = Words {
    branches: "branches",
    at_once: "maxConcurrency",
    if_none: "name the first node of each branch: `branches: [left, right]`",
    if_too_many: "use a `forEach` for very many items",
};

pub(super) struct Node {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) next: Option<Spanned<String>>,
    pub(super) on_error: Option<Spanned<String>>,
    /// Whether a required `next` is missing. The node is drawn, so that its edge can be drawn as well.
    pub(super) is_open: bool,
    /// The tool that an entry or exit beside the tools belongs to, in an old spelling.
    pub(super) tool: Option<Spanned<String>>,
    /// The names that its expressions read from the context.
    pub(super) mentions: Vec<Spanned<String>>,
    /// The type; `None` if it could not be read.
    pub(super) kind: Option<NodeType>,
}

pub(super) enum NodeType {
    Entry,
    Exit,
    Mcp(Box<Call>),
    Transform(Expr),
    Switch(Vec<Condition>),
    Parallel(Fork),
    Join(Strategy),
    Each { each: Each, target: Target },
    Call { target: Target, args: Option<Expr> },
    State(Box<State>),
}

pub(super) struct Condition {
    pub(super) rule: Spanned<Expr>,
    pub(super) next: Spanned<String>,
    pub(super) span: Span,
}

/// The target of a call.
pub(super) enum Target {
    /// Another tool of the same file.
    Tool(Spanned<String>),
    /// A workflow of any dialect.
    Workflow(Spanned<String>),
}

const TYPES: &[&str] = &["entry", "exit", "mcp", "transform", "switch", "parallel", "join", "forEach", "call", "state"];

pub(super) fn read(about: &About<'_>, tree: &Tree, whose: &str, faults: &mut FaultList) -> Vec<Node> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`nodes` of {whose} must be an array, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help("write each node after a `-`"));
        return Vec::new();
    };
    if items.len() > MAX_NODES {
        let message = format!("{whose} has {} nodes, more than the limit of {MAX_NODES}", items.len());
        let fault = Diagnostic::error("too-large", message).at(tree.head());
        faults.push(fault.help("move parts of it into tools that it calls"));
        return Vec::new();
    }
    let mut ids = BTreeSet::new();
    let mut nodes: Vec<Node> = Vec::new();
    for item in items {
        let Some(node) = read_node(about, item, faults) else { continue };
        if !ids.insert(node.id.value.clone()) {
            let message = format!("{whose} has two nodes `{}`", clip(&node.id.value));
            faults
                .push(Diagnostic::error("duplicate-id", message).at(node.id.span).help("give one of them another id"));
            continue;
        }
        nodes.push(node);
    }
    nodes
}

fn read_node(about: &About<'_>, tree: &Tree, faults: &mut FaultList) -> Option<Node> {
    let named =
        tree.get("id").and_then(Tree::as_str).map_or_else(|| "a node".to_owned(), |id| format!("node `{}`", clip(id)));
    let mut fields = Fields::of(tree, named.clone(), faults)?;
    let id = fields.required_string("id", faults).filter(|id| is_id(id, "a node", faults));
    let name = fields.string("name", faults).map(|name| name.value);
    let description = fields.string("description", faults).map(|text| text.value);
    let mut reader = Reader {
        about,
        tree,
        named,
        fields,
        faults,
        next: None,
        is_open: false,
        lost: false,
        on_error: None,
        tool: None,
    };
    let kind = reader.kind();
    let Reader { fields, faults, next, on_error, tool, is_open, lost, .. } = reader;
    // If the type is unknown, it is also unknown which fields have a meaning.
    if kind.is_some() || tree.get("type").and_then(Tree::as_str).is_some_and(|word| known_type(word).is_some()) {
        fields.finish(faults);
    }
    let kind = kind.filter(|_| !lost);
    let mentions = lints::mentions(about.source, tree, about.dollar);
    Some(Node { id: id?, name, description, next, on_error, is_open, tool, mentions, kind })
}

/// Returns the type that a word names, old words included.
fn known_type(word: &str) -> Option<&'static str> {
    match word {
        "mcp_tool" => Some("mcp"),
        word => TYPES.iter().find(|known| **known == word).copied(),
    }
}

/// A node while its fields are read.
struct Reader<'f, 't> {
    about: &'f About<'f>,
    tree: &'t Tree,
    named: String,
    fields: Fields<'t>,
    faults: &'f mut FaultList,
    next: Option<Spanned<String>>,
    /// Whether a required `next` is missing.
    is_open: bool,
    /// Whether an edge could not be read, so that its target is unknown.
    lost: bool,
    on_error: Option<Spanned<String>>,
    tool: Option<Spanned<String>>,
}

impl Reader<'_, '_> {
    fn kind(&mut self) -> Option<NodeType> {
        let word = self.fields.required_string("type", self.faults)?;
        let Some(known) = known_type(&word.value) else {
            let message = format!("{} has the type `{}`, which does not exist", self.named, clip(&word.value));
            let fault = Diagnostic::error("unknown-type", message).at(word.span);
            let fault = fault.help(format!("the types are {}", list(TYPES)));
            self.faults.push(fault.did_you_mean(&word.value, TYPES.iter().copied()));
            return None;
        };
        if word.value == "mcp_tool" && !self.about.beside {
            let fault = Diagnostic::warning("old-spelling", "`mcp_tool` is an old spelling").at(word.span);
            self.faults.push(fault.help("write `type: mcp`"));
        }
        match known {
            "entry" => {
                self.old_tool();
                self.next();
                Some(NodeType::Entry)
            }
            "exit" => {
                self.old_tool();
                self.no_next();
                Some(NodeType::Exit)
            }
            "mcp" => self.mcp(),
            "transform" => self.transform(),
            "switch" => self.switch(),
            "parallel" => self.parallel(),
            "join" => {
                self.next();
                let strategy = nodes::strategy(&mut self.fields, "strategy", self.faults);
                Some(NodeType::Join(strategy.unwrap_or_default()))
            }
            "forEach" => self.each(),
            "state" => self.state(),
            _ => self.call(),
        }
    }

    fn next(&mut self) {
        self.next = self.fields.required_string("next", self.faults);
        self.settle_next();
    }

    /// Records whether `next` is missing, or present and unreadable, in which case the target is unknown.
    fn settle_next(&mut self) {
        let is_there = self.fields.has("next");
        self.lost |= self.next.is_none() && is_there;
        self.is_open |= self.next.is_none() && !is_there;
    }

    fn on_error(&mut self) {
        self.on_error = self.fields.string("onError", self.faults);
    }

    /// Reads the tool that entries and exits named in an old spelling.
    fn old_tool(&mut self) {
        self.tool = self.fields.string("tool", self.faults);
        if let Some(tool) = &self.tool {
            let message = format!("`tool` on {} is an old spelling", self.named);
            let fault = Diagnostic::warning("old-spelling", message).at(tool.span);
            self.faults.push(fault.help("put the nodes under `nodes` of the tool, and leave `tool` out"));
        }
    }

    fn no_next(&mut self) {
        if let Some(next) = self.fields.string("next", self.faults) {
            let fault =
                Diagnostic::warning("inert-field", format!("`next` of {} does nothing: a run ends there", self.named));
            self.faults.push(fault.at(next.span).help("remove it"));
        }
    }

    fn mcp(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let descriptions = (self.named.as_str(), &*format!("`postTransform` of {}", self.named));
        let call = nodes::call(self.about.source, self.about.dollar, &mut self.fields, descriptions, self.faults);
        call.map(|call| NodeType::Mcp(Box::new(call)))
    }

    /// Reads the optional arguments; the outer `None` means that they have a fault.
    fn args(&mut self) -> Option<Option<Expr>> {
        nodes::args(self.about.source, self.about.dollar, &mut self.fields, &self.named, self.faults)
    }

    fn transform(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let tree = self.fields.required("transform", self.faults)?;
        let what = format!("`transform` of {}", self.named);
        let mut fields = Fields::of(tree, what, self.faults)?;
        let expr = fields.required("expr", self.faults);
        fields.finish(self.faults);
        nodes::jsonata(self.about.source, expr?, &format!("`expr` of {}", self.named), self.faults)
            .map(NodeType::Transform)
    }

    fn switch(&mut self) -> Option<NodeType> {
        self.next = self.fields.string("next", self.faults);
        self.on_error();
        let tree = self.fields.required("conditions", self.faults)?;
        let TreeKind::Array(items) = &tree.kind else {
            let message = format!("`conditions` of {} must be an array, but is {}", self.named, tree.describe());
            self.faults.push(
                Diagnostic::error("wrong-type", message).at(tree.head()).help("write each condition after a `-`"),
            );
            return None;
        };
        if items.len() > MAX_CONDITIONS {
            let message =
                format!("{} has {} conditions, more than the limit of {MAX_CONDITIONS}", self.named, items.len());
            self.faults.push(
                Diagnostic::error("too-large", message)
                    .at(tree.head())
                    .help("look up the target in an expression instead"),
            );
            return None;
        }
        let mut conditions = Vec::new();
        for item in items {
            match self.condition(item) {
                Some(condition) => conditions.extend(condition),
                None => self.lost = true,
            }
        }
        if self.next.is_none() && !self.fields.has("next") {
            let message = format!("{} has no `next`, so it has no edge to take when no condition holds", self.named);
            let fault = Diagnostic::error("missing-field", message).at(self.tree.head());
            self.faults.push(fault.help("add `next: …`, the edge that is taken by default"));
        }
        self.settle_next();
        Some(NodeType::Switch(conditions))
    }

    /// Reads a condition. The inner `None` is the default; the outer `None` means that it has a fault.
    fn condition(&mut self, tree: &Tree) -> Option<Option<Condition>> {
        let what = format!("a condition of {}", self.named);
        let mut fields = Fields::of(tree, what.clone(), self.faults)?;
        let rule = fields.optional("rule");
        let old = fields.string("target", self.faults);
        if let Some(old) = &old {
            let fault = Diagnostic::warning("old-spelling", format!("`target` in {what} is an old spelling"));
            self.faults.push(fault.at(old.span).help("rename it to `next`"));
        }
        let next = match old {
            Some(old) => Some(old),
            None => fields.required_string("next", self.faults),
        };
        fields.finish(self.faults);
        let next = next?;
        match rule {
            Some(rule) => {
                let rule = nodes::rule(rule, &format!("`rule` in {what}"), self.faults)?;
                Some(Some(Condition { rule, next, span: tree.head() }))
            }
            // A condition without a rule was the default before the switch had a `next` of its own.
            None if self.next.is_none() => {
                let fault =
                    Diagnostic::warning("old-spelling", format!("{what} has no `rule`, and is read as the default"));
                self.faults.push(fault.at(tree.head()).help("write it as `next` of the switch itself"));
                self.next = Some(next);
                Some(None)
            }
            None => {
                let fault = Diagnostic::error("missing-field", format!("{what} has no `rule`")).at(tree.head());
                self.faults.push(fault.help("add a rule; the default is `next` of the switch itself"));
                None
            }
        }
    }

    fn parallel(&mut self) -> Option<NodeType> {
        self.on_error();
        nodes::fork(&WORDS, &mut self.fields, (self.tree, &self.named), self.faults).map(NodeType::Parallel)
    }

    fn each(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let each = nodes::each(self.about.source, self.about.dollar, &mut self.fields, &self.named, self.faults);
        let target = self.target();
        Some(NodeType::Each { each: each?, target: target? })
    }

    fn call(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let target = self.target();
        let args = self.args();
        Some(NodeType::Call { target: target?, args: args? })
    }

    /// Reads a state for a model, with the same fields as in a file of states.
    fn state(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let about = AboutStates { source: self.about.source, purpose: String::new(), judge: Judge::default() };
        let (state, go_to) = nodes::state(&about, &self.named, self.tree, &mut self.fields, self.faults);
        self.on_error = self.on_error.take().or(go_to);
        state.map(|state| NodeType::State(Box::new(state)))
    }

    fn target(&mut self) -> Option<Target> {
        let tool = self.fields.string("tool", self.faults);
        let workflow = self.fields.string("workflow", self.faults);
        match (tool, workflow) {
            (Some(tool), None) => Some(Target::Tool(tool)),
            (None, Some(workflow)) => Some(Target::Workflow(workflow)),
            (one, _) => {
                let what = if one.is_some() { "both `tool` and `workflow`" } else { "neither `tool` nor `workflow`" };
                let fault =
                    Diagnostic::error("missing-field", format!("{} has {what}", self.named)).at(self.tree.head());
                self.faults
                    .push(fault.help("name a tool of this file with `tool`, or any other workflow with `workflow`"));
                None
            }
        }
    }
}
