//! An exact picture of the nodes: which fields each type has.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::expressions::{self, Template};
use super::lints;
use super::syntax::About;
use crate::diagnostic::{Diagnostic, clip, is_unseen, list};
use crate::dialect::states;
use crate::expr::Expr;
use crate::graph::{Judge, Retry, State, Strategy};
use crate::source::fields::{Faults, Fields};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The longest identifier, in bytes.
const MAX_ID_BYTES: usize = 200;
/// The most nodes of a tool, and of a file where they stand beside the tools.
const MAX_NODES: usize = 10_000;
/// The most branches of a `parallel`.
pub(in crate::dialect) const MAX_BRANCHES: usize = 1_000;
/// The longest time that is waited for anything, in milliseconds: a day.
pub(in crate::dialect) const MAX_MS: u64 = 86_400_000;
/// The most retries, and the most branches and items at once.
pub(in crate::dialect) const MAX_COUNT: u32 = 10_000;
/// The most conditions of a switch.
const MAX_CONDITIONS: usize = 1_000;

pub(super) struct Node {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) next: Option<Spanned<String>>,
    pub(super) on_error: Option<Spanned<String>>,
    /// The tool that an entry or exit beside the tools belongs to, as it was written for a time.
    pub(super) tool: Option<Spanned<String>>,
    /// The names that its expressions ask of the context.
    pub(super) mentions: Vec<Spanned<String>>,
    /// Nothing where it could not be read.
    pub(super) kind: Option<NodeType>,
}

pub(super) enum NodeType {
    Entry,
    Exit,
    Mcp(Box<Mcp>),
    Transform(Expr),
    Switch(Vec<Condition>),
    Parallel { branches: Vec<Spanned<String>>, join: Spanned<String>, max_concurrency: Option<NonZeroU32> },
    Join(Strategy),
    Each(Box<Each>),
    Call { target: Target, args: Option<Expr> },
    State(Box<State>),
}

pub(super) struct Mcp {
    pub(super) server: Spanned<String>,
    pub(super) tool: Spanned<String>,
    pub(super) args: Expr,
    pub(super) post: Option<Expr>,
    pub(super) retry: Retry,
    pub(super) timeout_ms: Option<u64>,
    pub(super) idempotent: bool,
}

pub(super) struct Condition {
    pub(super) rule: Spanned<Expr>,
    pub(super) next: Spanned<String>,
    pub(super) span: Span,
}

pub(super) struct Each {
    pub(super) items: Expr,
    pub(super) target: Target,
    pub(super) args: Option<Expr>,
    pub(super) concurrency: NonZeroU32,
}

/// What a node calls.
pub(super) enum Target {
    /// Another tool of the same file.
    Tool(Spanned<String>),
    /// A workflow of any dialect.
    Workflow(Spanned<String>),
}

const TYPES: &[&str] = &["entry", "exit", "mcp", "transform", "switch", "parallel", "join", "forEach", "call", "state"];

pub(super) fn read(about: &About<'_>, tree: &Tree, whose: &str, faults: &mut Faults) -> Vec<Node> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`nodes` of {whose} must be an array, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help("write each node after a `-`"));
        return Vec::new();
    };
    if items.len() > MAX_NODES {
        let message = format!("{whose} has {} nodes, more than the {MAX_NODES} that are read", items.len());
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

/// Whether a text can be an identifier; a fault when it cannot.
pub(in crate::dialect) fn is_id(id: &Spanned<String>, whose: &str, faults: &mut Faults) -> bool {
    let text = &id.value;
    let sound = !text.is_empty() && text.len() <= MAX_ID_BYTES && !text.contains(is_unseen);
    if !sound {
        let message = format!("`{}` cannot be the name of {whose}", clip(text));
        faults.push(Diagnostic::error("bad-id", message).at(id.span).help("use letters, digits, `_` and `-`"));
    }
    sound
}

fn read_node(about: &About<'_>, tree: &Tree, faults: &mut Faults) -> Option<Node> {
    let named =
        tree.get("id").and_then(Tree::as_str).map_or_else(|| "a node".to_owned(), |id| format!("node `{}`", clip(id)));
    let mut fields = Fields::of(tree, named.clone(), faults)?;
    let id = fields.required_string("id", faults).filter(|id| is_id(id, "a node", faults));
    let name = fields.string("name", faults).map(|name| name.value);
    let description = fields.string("description", faults).map(|text| text.value);
    let mut reader = Reader { about, tree, named, fields, faults, next: None, lost: false, on_error: None, tool: None };
    let kind = reader.kind();
    let Reader { fields, faults, next, on_error, tool, lost, .. } = reader;
    // Of a node whose type is not known, nobody can say which fields mean something.
    if kind.is_some() || tree.get("type").and_then(Tree::as_str).is_some_and(|word| known_type(word).is_some()) {
        fields.finish(faults);
    }
    let kind = kind.filter(|_| !lost);
    let mentions = lints::mentions(about.source, tree, about.dollar);
    Some(Node { id: id?, name, description, next, on_error, tool, mentions, kind })
}

/// The type that a word names, old words included.
fn known_type(word: &str) -> Option<&'static str> {
    match word {
        "mcp_tool" => Some("mcp"),
        word => TYPES.iter().find(|known| **known == word).copied(),
    }
}

/// One node while its fields are read.
struct Reader<'f, 't> {
    about: &'f About<'f>,
    tree: &'t Tree,
    named: String,
    fields: Fields<'t>,
    faults: &'f mut Faults,
    next: Option<Spanned<String>>,
    /// Whether a way on is not known that should be: then nobody can say where the node leads.
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
            let fault = Diagnostic::warning("old-spelling", "`mcp_tool` is now written otherwise").at(word.span);
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
                let strategies = [("all", Strategy::AllPass), ("any", Strategy::AnyPass)];
                let strategy = self.fields.choice("strategy", &strategies, self.faults);
                Some(NodeType::Join(strategy.unwrap_or_default()))
            }
            "forEach" => self.each(),
            "state" => self.state(),
            _ => self.call(),
        }
    }

    fn next(&mut self) {
        self.next = self.fields.required_string("next", self.faults);
        self.lost |= self.next.is_none();
    }

    fn on_error(&mut self) {
        self.on_error = self.fields.string("onError", self.faults);
    }

    /// Entries and exits once named their tool.
    fn old_tool(&mut self) {
        self.tool = self.fields.string("tool", self.faults);
        if let Some(tool) = &self.tool {
            let message = format!("`tool` on {} is now written otherwise", self.named);
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
        let server = self.fields.required_string("server", self.faults);
        let tool = self.fields.required_string("tool", self.faults);
        let args = self.args("args");
        let post = self.wrapped("postTransform");
        let retry = retry(&mut self.fields, &self.named, self.faults);
        let timeout = self.fields.duration_ms("timeout", 1..=MAX_MS, self.faults);
        let idempotent = self.fields.flag("idempotent", self.faults).is_some_and(|flag| flag.value);
        let args = match args {
            Some(args) => args?,
            None => Expr::Object(Vec::new()),
        };
        Some(NodeType::Mcp(Box::new(Mcp {
            server: server?,
            tool: tool?,
            args,
            post: post?,
            retry: retry?,
            timeout_ms: timeout.map(|timeout| timeout.value),
            idempotent,
        })))
    }

    /// Arguments, where they are given: nothing inside where they cannot be read.
    fn args(&mut self, key: &'static str) -> Option<Option<Expr>> {
        let tree = self.fields.optional(key)?;
        if tree.entries().is_none() {
            self.faults.push(crate::source::fields::not_an_object(tree, &format!("`{key}` of {}", self.named)));
            return Some(None);
        }
        let what = format!("`{key}` of {}", self.named);
        let template = Template { source: self.about.source, dollar: self.about.dollar, what };
        Some(template.read(tree, self.faults))
    }

    /// `{expr: …}`, where it is given; nothing at all where it cannot be read.
    fn wrapped(&mut self, key: &'static str) -> Option<Option<Expr>> {
        let Some(tree) = self.fields.optional(key) else { return Some(None) };
        let what = format!("`{key}` of {}", self.named);
        expressions::wrapped(self.about.source, tree, &what, self.faults).map(Some)
    }

    fn transform(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let tree = self.fields.required("transform", self.faults)?;
        let what = format!("`transform` of {}", self.named);
        let mut fields = Fields::of(tree, what, self.faults)?;
        let expr = fields.required("expr", self.faults);
        fields.finish(self.faults);
        expressions::jsonata(self.about.source, expr?, &format!("`expr` of {}", self.named), self.faults)
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
                format!("{} has {} conditions, more than the {MAX_CONDITIONS} that are read", self.named, items.len());
            self.faults.push(
                Diagnostic::error("too-large", message)
                    .at(tree.head())
                    .help("look the way up in an expression instead"),
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
            let message = format!("{} has no `next`, so that it has no way on when no condition holds", self.named);
            let fault = Diagnostic::error("missing-field", message).at(self.tree.head());
            self.faults.push(fault.help("add `next: …`, the way that is taken by default"));
        }
        self.lost |= self.next.is_none();
        Some(NodeType::Switch(conditions))
    }

    /// A condition; nothing inside for what is the default, nothing at all where it cannot be read.
    fn condition(&mut self, tree: &Tree) -> Option<Option<Condition>> {
        let what = format!("a condition of {}", self.named);
        let mut fields = Fields::of(tree, what.clone(), self.faults)?;
        let rule = fields.optional("rule");
        let old = fields.string("target", self.faults);
        if let Some(old) = &old {
            let fault = Diagnostic::warning("old-spelling", format!("`target` in {what} is now written otherwise"));
            self.faults.push(fault.at(old.span).help("call it `next`"));
        }
        let next = match old {
            Some(old) => Some(old),
            None => fields.required_string("next", self.faults),
        };
        fields.finish(self.faults);
        let next = next?;
        match rule {
            Some(rule) => {
                let rule = expressions::rule(rule, &format!("`rule` in {what}"), self.faults)?;
                Some(Some(Condition { rule, next, span: tree.head() }))
            }
            // Without a rule it is the default, as it was written before the switch had a `next` of its own.
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
        let branches = self.fields.strings("branches", self.faults);
        if branches.is_empty() {
            let message = format!("{} opens no branch", self.named);
            let fault = Diagnostic::error("missing-field", message).at(self.tree.head());
            self.faults.push(fault.help("name the first node of each branch: `branches: [left, right]`"));
            self.lost = true;
        }
        if branches.len() > MAX_BRANCHES {
            let message =
                format!("{} opens {} branches, more than the {MAX_BRANCHES} that are read", self.named, branches.len());
            let fault = Diagnostic::error("too-large", message).at(self.tree.head());
            self.faults.push(fault.help("a `forEach` does the same for very many items"));
            return None;
        }
        let join = self.fields.required_string("join", self.faults);
        let most = self.fields.count("maxConcurrency", 1..=MAX_COUNT, self.faults);
        let max_concurrency = most.and_then(|most| NonZeroU32::new(most.value));
        Some(NodeType::Parallel { branches, join: join?, max_concurrency })
    }

    fn each(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let items = self.fields.required("items", self.faults);
        let what = format!("`items` of {}", self.named);
        let items = items.map(|tree| expressions::wrapped(self.about.source, tree, &what, self.faults));
        let target = self.target();
        let args = self.args("args");
        let most = self.fields.count("concurrency", 1..=MAX_COUNT, self.faults);
        let concurrency = most.and_then(|most| NonZeroU32::new(most.value)).unwrap_or(NonZeroU32::MIN);
        let args = match args {
            Some(args) => Some(args?),
            None => None,
        };
        Some(NodeType::Each(Box::new(Each { items: items??, target: target?, args, concurrency })))
    }

    fn call(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let target = self.target();
        let args = match self.args("args") {
            Some(args) => Some(args?),
            None => None,
        };
        Some(NodeType::Call { target: target?, args })
    }

    /// What a model works on until its key results hold, with the fields that it has in a file of states.
    fn state(&mut self) -> Option<NodeType> {
        self.next();
        self.on_error();
        let about = states::About { source: self.about.source, purpose: String::new(), judge: Judge::default() };
        let named = self.named.clone();
        let (state, go_to) = states::read_state(&about, named, self.tree, &mut self.fields, self.faults);
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

/// `retry`: how often and when a call is tried again; nothing where it cannot be read.
pub(in crate::dialect) fn retry(outer: &mut Fields<'_>, named: &str, faults: &mut Faults) -> Option<Retry> {
    let Some(tree) = outer.optional("retry") else { return Some(Retry::default()) };
    let mut fields = Fields::of(tree, format!("`retry` of {}", named), faults)?;
    let usual = Retry::default();
    let max = fields.count("max", 0..=MAX_COUNT, faults);
    if max.is_none() && !fields.has("max") {
        fields.required("max", faults);
    }
    let backoff = fields.duration_ms("backoff", 0..=MAX_MS, faults);
    let longest = fields.duration_ms("maxDelay", 0..=MAX_MS, faults);
    let factor = fields.optional("factor").map(|tree| (tree, factor_percent(tree)));
    fields.finish(faults);
    let factor_percent = match factor {
        None => usual.factor_percent,
        Some((_, Some(percent))) => percent,
        Some((tree, None)) => {
            let message = format!("`factor` in `retry` of {} must be a number from 1 to 100", named);
            faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help("2 doubles the wait each time"));
            return None;
        }
    };
    Some(Retry {
        max: max?.value,
        backoff_ms: backoff.map_or(usual.backoff_ms, |time| time.value),
        factor_percent,
        max_delay_ms: longest.map_or(usual.max_delay_ms, |time| time.value),
    })
}

/// A factor in hundredths.
fn factor_percent(tree: &Tree) -> Option<u32> {
    let TreeKind::Number(text) = &tree.kind else { return None };
    let factor: f64 = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 100 and 10,000")]
    (1.0..=100.0).contains(&factor).then(|| (factor * 100.0).round() as u32)
}
