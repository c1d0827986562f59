//! Lowers the syntax tree of a file to a graph: each state is a node, between a start and an end that are added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::branches;
use super::nodes::{Node, NodeKind};
use super::syntax::File;
use super::ways::{Branch, Choose, DEFAULT, Transition, Ways};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::{Answer, Ask, Joins, is_answer};
use crate::graph::{self, Brief, Choice, Edge, EndResult, Graph, Kind, Question, State, Trigger, Worker};
use crate::source::fields::{FaultList, MAX_GUESSES};
use crate::source::{Span, Spanned};
use crate::value::{NodeId, Outcome};

/// The maximum number of edges: an expression that may choose every state has as many as there are states.
const MAX_EDGES: usize = 200_000;

pub(super) fn graph(file: File, faults: &mut FaultList) -> Graph {
    let File { id, name, description, nodes, unread, ways, interface, settings } = file;
    let names: Vec<String> = nodes.iter().map(|node| node.id.value.clone()).collect();
    let known = names.iter().chain(&unread).cloned().collect();
    let mut drawing = Drawing::of(known, names, unread, faults);
    drawing.joins = branches::joins(&nodes);
    let start = drawing.invented("start", Kind::Start);
    drawing.end = drawing.invented("end", Kind::End { result: EndResult::Success, escalation: None });
    if let Some(first) = drawing.initial(&nodes) {
        drawing.edge(&start, first.id.span, first.id.value.as_str(), Trigger::Done);
    }
    drawing.all(nodes, ways);
    let Drawing { nodes, edges, unread, .. } = drawing;
    Graph {
        name: name.unwrap_or_else(|| id.value.clone()),
        description,
        nodes,
        edges,
        unread,
        interface: Some(Arc::new(interface)),
        settings: Arc::new(settings),
        ..Graph::new(id)
    }
}

/// The graph while it is built.
pub(super) struct Drawing<'d> {
    /// The nodes that a transition may name.
    named: BTreeSet<String>,
    /// The nodes that a transition may name, and the added ones.
    known: BTreeSet<String>,
    /// The nodes that a transition may name and that could be read, in order.
    names: Vec<String>,
    end: NodeId,
    nodes: Vec<graph::Node>,
    edges: Vec<Edge>,
    /// The fork of each join.
    pub(super) joins: Joins,
    pub(super) unread: BTreeSet<NodeId>,
    pub(super) faults: &'d mut FaultList,
}

impl<'d> Drawing<'d> {
    fn of(named: BTreeSet<String>, names: Vec<String>, unread: Vec<String>, faults: &'d mut FaultList) -> Drawing<'d> {
        let unread = unread.iter().map(|id| NodeId::from(id.as_str())).collect();
        let (known, end) = (named.clone(), NodeId::from("end"));
        let joins = Joins::default();
        Drawing { named, known, names, end, nodes: Vec::new(), edges: Vec::new(), joins, unread, faults }
    }

    /// Adds a node that the definition does not name, with a free id.
    fn invented(&mut self, wanted: &str, kind: Kind) -> NodeId {
        let mut id = wanted.to_owned();
        while !self.known.insert(id.clone()) {
            id.push('_');
        }
        let id = Spanned { value: id, span: Span::default() };
        self.nodes.push(node(&id, None, kind));
        node_id(&id)
    }

    /// Returns the initial state: the first that is marked as such, or else the first.
    fn initial<'n>(&mut self, nodes: &'n [Node]) -> Option<&'n Node> {
        let mut flagged = nodes.iter().filter_map(|node| Some((node, node.initial?)));
        let Some((first, _)) = flagged.next() else { return nodes.first() };
        for (other, span) in flagged {
            let message = format!(
                "`{}` is a second initial state; the first is `{}`",
                clip(&other.id.value),
                clip(&first.id.value)
            );
            let fault = Diagnostic::error("several-initials", message).at(span).help("keep one of them");
            self.faults.push(fault.repaired("the first is used"));
        }
        Some(first)
    }

    fn all(&mut self, nodes: Vec<Node>, mut ways: BTreeMap<String, Transition>) {
        for node in nodes {
            let transition = ways.remove(&node.id.value);
            self.node(node, transition);
        }
        for (name, transition) in ways {
            if !self.unread.contains(name.as_str()) {
                let message = format!("a transition starts at `{}`, which is not a state", clip(&name));
                self.unknown(message, &name, transition.of, "it is ignored");
            }
        }
    }

    fn node(&mut self, read: Node, transition: Option<Transition>) {
        let id = node_id(&read.id);
        self.failing(&read);
        let ways = match read.kind {
            NodeKind::Fork(_) => self.at_its_join(&read, transition),
            _ => self.ways(&read, transition),
        };
        let kind = match (read.kind, ways) {
            // The target is unknown, so nothing can be reported about what follows.
            (_, Ways::Lost) => {
                self.unread.insert(id);
                return;
            }
            (NodeKind::Ask(ask), ways) => self.question(&read.id, ask, ways),
            (NodeKind::Fork(fork), _) => self.fork(&read.id, fork),
            (NodeKind::Join(strategy), ways) => match self.joined(&read.id, strategy) {
                Some(kind) => self.leads(&read.id, kind, ways),
                None => {
                    self.unread.insert(id);
                    return;
                }
            },
            (NodeKind::Other(kind), ways) => self.leads(&read.id, kind, ways),
        };
        self.nodes.push(node(&read.id, read.description, kind));
    }

    /// Returns the target of a node's transition; a final state ends the run in any case.
    fn ways(&mut self, read: &Node, transition: Option<Transition>) -> Ways {
        let name = clip(&read.id.value);
        match transition {
            Some(transition) if read.is_final => {
                if !matches!(transition.kind, Ways::End(_)) {
                    let message = format!("the transition of `{name}` is never taken: a run ends at a final state");
                    let fault = Diagnostic::warning("inert-transition", message).at(transition.of);
                    self.faults.push(fault.help("remove it, or `is_final`"));
                }
                Ways::End(transition.of)
            }
            Some(transition) => transition.kind,
            None => {
                if !read.is_final {
                    let message = format!("`{name}` has no transition and is not final: a run ends there");
                    let fault = Diagnostic::warning("no-transition", message).at(read.id.span);
                    self.faults.push(fault.help("add a transition, or `is_final: true`"));
                }
                Ways::End(read.id.span)
            }
        }
    }

    /// Adds the edges of a node whose result selects the edge.
    fn leads(&mut self, id: &Spanned<String>, kind: Kind, ways: Ways) -> Kind {
        match (kind, ways) {
            (kind, Ways::To(to)) => {
                self.to(&node_id(id), &to, Trigger::Done);
                kind
            }
            (Kind::State(mut state), ways) => {
                state.way = self.branches(&node_id(id), ways);
                Kind::State(state)
            }
            (kind, Ways::End(span)) => {
                self.finish(&node_id(id), span, Trigger::Done);
                kind
            }
            // Only a state can choose, so other nodes are followed by a chooser that passes its input on.
            (kind, ways) => {
                let chooser = self.invented(&State::chooser_of(&id.value), Kind::Start);
                let way = self.branches(&chooser, ways);
                if let Some(node) = self.nodes.last_mut() {
                    node.kind = Kind::State(Box::new(passing_on(way)));
                }
                self.edge(&node_id(id), id.span, chooser.as_str(), Trigger::Done);
                kind
            }
        }
    }

    /// Adds the edges of a state; returns the expression that chooses between them, if it is not the output.
    fn branches(&mut self, from: &NodeId, ways: Ways) -> Option<crate::expr::Expr> {
        match ways {
            Ways::End(span) => self.finish(from, span, Trigger::Done),
            Ways::To(to) => self.to(from, &to, Trigger::Done),
            Ways::Branches(_, branches) => branches.into_iter().for_each(|branch| self.branch(from, branch)),
            Ways::Choose(choose) => return Some(self.choices(from, *choose)),
            Ways::Lost => {}
        }
        None
    }

    fn branch(&mut self, from: &NodeId, branch: Branch) {
        let Branch { name, to } = branch;
        let on = match name.value.as_str() {
            DEFAULT => Trigger::Done,
            word => Trigger::Outcome(Spanned { value: State::branch(word), span: name.span }),
        };
        match to {
            Some(to) => self.to(from, &to, on),
            None => self.finish(from, name.span, on),
        }
    }

    fn choices(&mut self, from: &NodeId, choose: Choose) -> crate::expr::Expr {
        let Choose { expr, to, span } = choose;
        let to = to.unwrap_or_else(|| {
            let all = self.names.iter().map(|name| Some(Spanned { value: name.clone(), span }));
            all.chain([None]).collect()
        });
        if self.edges.len() + to.len() > MAX_EDGES {
            let message = format!("the workflow has more transitions than the limit of {MAX_EDGES}");
            let fault = Diagnostic::error("too-large", message).at(span);
            self.faults.push(fault.help("name the states that the expression may give with `to`"));
            return expr;
        }
        for target in to {
            match target {
                Some(to) => {
                    let on = Spanned { value: State::branch(&to.value), span: to.span };
                    self.to(from, &to, Trigger::Outcome(on));
                }
                None => self.finish(from, span, Trigger::Done),
            }
        }
        expr
    }

    /// Lowers a question, with an edge for each answer.
    fn question(&mut self, id: &Spanned<String>, ask: Ask, ways: Ways) -> Kind {
        let Ask { question: message, options } = ask;
        let from = node_id(id);
        let options = match (&ways, options) {
            (Ways::Branches(_, branches), options) if options.is_empty() => self.answers(branches),
            (_, options) => options,
        };
        if let Ways::Branches(_, branches) = &ways {
            self.unasked(id, branches, &options);
        }
        for option in &options {
            self.answer(id, option, &ways);
        }
        if options.is_empty() {
            self.branches(&from, ways);
        }
        let choice = |answer: Answer| Choice {
            id: Outcome::from(answer.id.value.as_str()),
            label: answer.label,
            description: None,
            sets: Vec::new(),
            skips: Vec::new(),
        };
        let options = options.into_iter().map(choice).collect();
        Kind::Checkpoint {
            escalation: None,
            question: Some(Box::new(Question { message, options, fallback: None, instance: None })),
        }
    }

    /// Returns the answers of a question without options: its branches.
    fn answers(&mut self, branches: &[Branch]) -> Vec<Answer> {
        let named = branches.iter().map(|branch| &branch.name).filter(|name| name.value != DEFAULT);
        let sound: Vec<&Spanned<String>> = named.filter(|name| is_answer(name, self.faults)).collect();
        sound.into_iter().map(|name| Answer { id: name.clone(), label: name.value.clone() }).collect()
    }

    /// Reports branches for answers that the question does not offer.
    fn unasked(&mut self, id: &Spanned<String>, branches: &[Branch], options: &[Answer]) {
        let known: BTreeSet<&str> = options.iter().map(|option| option.id.value.as_str()).collect();
        for branch in branches {
            let name = &branch.name;
            if name.value == DEFAULT || known.contains(name.value.as_str()) {
                continue;
            }
            let message = format!("`{}` is not an answer to the question `{}`", clip(&name.value), clip(&id.value));
            let fault = Diagnostic::error("unknown-option", message).at(name.span);
            let fault = fault.help("add it to `options`, or remove the branch");
            self.faults.push(fault.did_you_mean(&name.value, known.iter().copied()));
        }
    }

    fn answer(&mut self, id: &Spanned<String>, option: &Answer, ways: &Ways) {
        let on = Trigger::Outcome(Spanned { value: Outcome::from(option.id.value.as_str()), span: option.id.span });
        let from = node_id(id);
        match ways {
            Ways::To(to) => self.to(&from, to, on),
            Ways::End(span) => self.finish(&from, *span, on),
            Ways::Branches(span, branches) => {
                let named = |word: &str| branches.iter().find(|branch| branch.name.value == word);
                match named(&option.id.value).or_else(|| named(DEFAULT)) {
                    Some(Branch { to: Some(to), .. }) => self.to(&from, to, on),
                    Some(Branch { to: None, name }) => self.finish(&from, name.span, on),
                    None => {
                        let (question, answer) = (clip(&id.value), clip(&option.id.value));
                        let message = format!("the answer `{answer}` to the question `{question}` has no target");
                        let fault = Diagnostic::error("missing-field", message).at(*span);
                        self.faults.push(fault.help(format!("add a branch `{answer}`, or a `default`")));
                    }
                }
            }
            Ways::Choose(choose) => {
                let message =
                    format!("the question `{}` chooses its transition by the answer, not by `choose`", clip(&id.value));
                let fault = Diagnostic::error("wrong-type", message).at(choose.span);
                self.faults.push(fault.help("write a branch for each answer"));
            }
            Ways::Lost => {}
        }
    }

    /// Adds an edge to a state that the definition names.
    pub(super) fn to(&mut self, from: &NodeId, to: &Spanned<String>, on: Trigger) {
        if !self.named.contains(&to.value) {
            let message = format!("the transition of `{from}` leads to `{}`, which is not a state", clip(&to.value));
            self.unknown(message, &to.value, to.span, "a run that takes it cannot continue");
            return self.lead_astray(from, to, on);
        }
        self.edge(from, to.span, &to.value, on);
    }

    /// Adds an edge to a node that does not exist, so that rules know that an edge was intended. The target gets a free
    /// name, so that it is no added node.
    fn lead_astray(&mut self, from: &NodeId, to: &Spanned<String>, on: Trigger) {
        let mut name = to.value.clone();
        while self.known.contains(&name) {
            name.push('_');
        }
        self.unread.insert(NodeId::from(name.as_str()));
        self.edge(from, to.span, &name, on);
    }

    fn finish(&mut self, from: &NodeId, span: Span, on: Trigger) {
        let end = self.end.clone();
        self.edge(from, span, end.as_str(), on);
    }

    fn edge(&mut self, from: &NodeId, span: Span, to: &str, on: Trigger) {
        let from = Spanned { value: from.clone(), span };
        let to = Spanned { value: NodeId::from(to), span };
        self.edges.push(Edge { from, to, on, label: None, span });
    }

    fn unknown(&mut self, message: String, name: &str, span: Span, repair: &'static str) {
        let fault = Diagnostic::error("unknown-state", message).at(span);
        let fault = fault.help("correct the name, or add the state").repaired(repair);
        let guessed = self.faults.0.len() < MAX_GUESSES;
        let names = self.names.iter().map(String::as_str);
        self.faults.push(if guessed { fault.did_you_mean(name, names) } else { fault });
    }
}

/// Returns a state without a worker, which passes its input on along the edge that `way` chooses.
fn passing_on(way: Option<crate::expr::Expr>) -> State {
    State {
        objective: String::new(),
        purpose: String::new(),
        key_results: Vec::new(),
        work: Worker::Nobody,
        tools: Vec::new(),
        breaking: Vec::new(),
        waiting: Vec::new(),
        max_retries: 0,
        again: Default::default(),
        exhausted: Default::default(),
        judge: Default::default(),
        sets: Vec::new(),
        limits: Default::default(),
        way,
    }
}

pub(super) fn node_id(id: &Spanned<String>) -> NodeId {
    NodeId::from(id.value.as_str())
}

fn node(id: &Spanned<String>, description: Option<String>, kind: Kind) -> graph::Node {
    let brief = Brief { description, ..Brief::default() };
    graph::Node { brief, ..graph::Node::new(node_id(id), id.span, kind) }
}
