//! The exact syntax tree of the entries under `states`: a state, a tool call, a transform, another workflow, a
//! question, a fork or a join.

use crate::diagnostic::{Diagnostic, clip, list};
use crate::dialect::nodes::{self, About, Ask, Dollar, Fork};
use crate::graph::{Kind, Strategy};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Span, Spanned, Tree};

/// The fields that make an entry something other than a state.
const KINDS: [&str; 6] = ["call", "transform", "run", "ask", "parallel", "join"];

pub(super) struct Node {
    pub(super) id: Spanned<String>,
    pub(super) description: Option<String>,
    pub(super) kind: NodeKind,
    /// The span of `is_initial`, if it is set.
    pub(super) initial: Option<Span>,
    pub(super) is_final: bool,
    /// The state to which a failure leads.
    pub(super) go_to: Option<Spanned<String>>,
}

pub(super) enum NodeKind {
    /// A kind that the graph has as well; its output selects the edge.
    Other(Kind),
    /// A question; its answer selects the edge.
    Ask(Ask),
    /// A fork, whose edges leave its join.
    Fork(Fork),
    /// A join; its output selects the edge.
    Join(Strategy),
}

/// Reads a node; `None` if its kind is ambiguous or unreadable.
pub(super) fn read(about: &About<'_>, id: &Spanned<String>, tree: &Tree, faults: &mut FaultList) -> Option<Node> {
    let named = format!("state `{}`", clip(&id.value));
    let mut fields = Fields::of(tree, named.clone(), faults)?;
    let is_one = |kind: &&str| fields.has(kind) && (*kind != "join" || !fields.has("parallel"));
    let kinds: Vec<&str> = KINDS.into_iter().filter(is_one).collect();
    if kinds.len() > 1 {
        let message = format!("{named} has {}, and can be only one of them", list(&kinds));
        let fault = Diagnostic::error("several-kinds", message).at(tree.head());
        faults.push(fault.help("make each a state of its own, with a transition from one to the next"));
        return None;
    }
    let description = fields.string("description", faults).map(|text| text.value);
    let initial = fields.flag("is_initial", faults).filter(|flag| flag.value).map(|flag| flag.span);
    let is_final = fields.flag("is_final", faults).is_some_and(|flag| flag.value);
    let mut reader = Reader { about, tree, named, fields: &mut fields, faults, go_to: None };
    let kind = match kinds.first() {
        Some(&"call") => reader.call(),
        Some(&"transform") => reader.transform(),
        Some(&"run") => reader.run(),
        Some(&"ask") => reader.ask(),
        Some(&"parallel") => reader.parallel(),
        Some(_) => reader.join(),
        None => reader.state().map(NodeKind::Other),
    };
    let go_to = reader.go_to;
    fields.finish(faults);
    Some(Node { id: id.clone(), description, kind: kind?, initial, is_final, go_to })
}

/// A node while its fields are read.
pub(super) struct Reader<'f, 't> {
    pub(super) about: &'f About<'f>,
    pub(super) tree: &'t Tree,
    pub(super) named: String,
    pub(super) fields: &'f mut Fields<'t>,
    pub(super) faults: &'f mut FaultList,
    pub(super) go_to: Option<Spanned<String>>,
}

impl Reader<'_, '_> {
    fn state(&mut self) -> Option<Kind> {
        let (state, go_to) = nodes::state(self.about, &self.named, self.tree, self.fields, self.faults);
        self.go_to = go_to;
        state.map(|state| Kind::State(Box::new(state)))
    }

    /// Reads `call: {server, tool, args, …}`.
    fn call(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        let tree = self.fields.required("call", self.faults)?;
        let what = format!("`call` of {}", self.named);
        let mut fields = Fields::of(tree, what.clone(), self.faults)?;
        let descriptions = (what.as_str(), &*format!("`postTransform` in {what}"));
        let call = nodes::call(self.about.source, Dollar::Text, &mut fields, descriptions, self.faults);
        fields.finish(self.faults);
        call.map(|call| NodeKind::Other(Kind::Call(Box::new(call))))
    }

    /// Reads `transform: expression`, a JSONata text or an object.
    fn transform(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        let tree = self.fields.required("transform", self.faults)?;
        let what = format!("`transform` of {}", self.named);
        let expr = match tree.as_str() {
            Some(_) => nodes::jsonata(self.about.source, tree, &what, self.faults),
            None => nodes::computed(self.about.source, tree, &what, self.faults),
        };
        expr.map(|expr| NodeKind::Other(Kind::Compute(expr)))
    }

    /// Reads `run: workflow`, with `args`.
    fn run(&mut self) -> Option<NodeKind> {
        self.on_failure_leads();
        let workflow = self.fields.required_string("run", self.faults);
        let what = self.named.clone();
        let args = match self.fields.optional("args") {
            Some(tree) => {
                Some(nodes::text_or_template(self.about.source, tree, &format!("`args` of {what}"), self.faults)?)
            }
            None => None,
        };
        Some(NodeKind::Other(Kind::Subflow { workflow: workflow?, args, context: Vec::new() }))
    }

    /// Reads `ask: question`, with `options`.
    fn ask(&mut self) -> Option<NodeKind> {
        nodes::ask("ask", self.fields, &self.named, self.faults).map(NodeKind::Ask)
    }

    /// Reads `on_failure: {go_to: STATE}` for nodes that accept no other form.
    pub(super) fn on_failure_leads(&mut self) {
        let Some(tree) = self.fields.optional("on_failure") else { return };
        self.go_to = nodes::leads_to(tree, &self.named, self.faults);
    }
}
