//! Workflows in a line of text, so that a story shows its workflow beside what happens in it.
//!
//! Statements end at `;` or at the end of a line. `a > b` draws an edge without an outcome, `a -failed-> b | c` one
//! edge to each, `f => a | b => j` makes `f` a fork of two branches and `j` its join. Words in brackets after a node's
//! first mention say what it is: `gate`, `retries 2`, `outputs passed,rework`, `checks tests,lint`, `limit 1` (of a
//! fork), `any` (of a join), `runs other`. Nodes that nothing leaves are ends, successes unless `!failure`, `!blocked`
//! or `!cancelled` follows the name; `!hitl` asks a person, and is a checkpoint where an edge leaves it.
//! `where other: …` begins a workflow that subflows can run; `lenient:` at the very beginning reads it leniently.

use std::num::NonZeroU32;

use indexmap::IndexMap;

use crate::dialect::Strictness;
use crate::graph::{
    Brief, Check, CheckBy, Edge, EndResult, Escalation, Graph, Kind, Node, Strategy, Trigger, Workflow,
};
use crate::source::{Span, Spanned};
use crate::validate;

/// The workflow that `text` draws. It must be valid.
pub(super) fn workflow(text: &str) -> Workflow {
    let (strictness, text) = match text.trim().strip_prefix("lenient:") {
        Some(rest) => (Strictness::Lenient, rest),
        None => (Strictness::Strict, text),
    };
    let mut parts = text.split("where ");
    let root = graph("story", parts.next().unwrap_or_default());
    let others: Vec<Graph> = parts
        .map(|part| {
            let (name, text) = part.split_once(':').expect("`where` is followed by a name and `:`");
            graph(name.trim(), text)
        })
        .collect();
    let library = |name: &str| others.iter().find(|graph| graph.id.value == name);
    let (workflow, faults) = validate::validate(&root, &library, strictness);
    workflow.unwrap_or_else(|| panic!("the story's workflow is not valid: {faults:#?}"))
}

fn graph(id: &str, text: &str) -> Graph {
    let mut drawing = Drawing::default();
    for statement in text.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty()) {
        drawing.statement(statement);
    }
    let leaving = |id: &str| drawing.edges.iter().any(|edge| edge.from.value.as_str() == id);
    let nodes = drawing.nodes.iter().map(|(id, words)| node(id, words, leaving(id))).collect();
    Graph {
        id: spanned(id.to_owned()),
        name: id.to_owned(),
        description: String::new(),
        nodes,
        edges: drawing.edges,
        unread: Default::default(),
        program: None,
        broken: Default::default(),
    }
}

#[derive(Default)]
struct Drawing {
    nodes: IndexMap<String, Vec<String>>,
    edges: Vec<Edge>,
}

impl Drawing {
    fn statement(&mut self, statement: &str) {
        if let Some((fork, rest)) = statement.split_once("=>") {
            let (branches, join) = rest.split_once("=>").expect("a fork names its join: `f => a | b => j`");
            let (fork, join) = (self.mention(fork), self.mention(join));
            self.nodes[&fork].push(format!("fork {join}"));
            self.nodes[&join].push(format!("join {fork}"));
            for branch in branches.split('|') {
                self.edge(&fork, branch, Trigger::Done);
            }
        } else if let Some((from, rest)) = statement.split_once(" -") {
            let (outcome, targets) = rest.split_once("->").expect("an outcome is written `-failed->`");
            let from = self.mention(from);
            for target in targets.split('|') {
                self.edge(&from, target, Trigger::Outcome(spanned(outcome.trim().into())));
            }
        } else {
            let chain: Vec<&str> = statement.split('>').collect();
            let mut from = self.mention(chain[0]);
            for target in &chain[1..] {
                from = self.edge(&from, target, Trigger::Done);
            }
        }
    }

    fn edge(&mut self, from: &str, to: &str, on: Trigger) -> String {
        let to = self.mention(to);
        let edge = Edge {
            from: spanned(from.into()),
            to: spanned(to.as_str().into()),
            on,
            label: None,
            span: Span::default(),
        };
        self.edges.push(edge);
        to
    }

    /// Notes a node and what is said of it; gives its name.
    fn mention(&mut self, text: &str) -> String {
        let (name, words) = match text.trim().split_once('(') {
            Some((name, words)) => (name, words.trim_end_matches(')')),
            None => (text.trim(), ""),
        };
        let (name, mark) = name.split_once('!').unwrap_or((name, ""));
        let said = self.nodes.entry(name.trim().to_owned()).or_default();
        said.extend(words.split_whitespace().map(str::to_owned));
        said.extend((!mark.is_empty()).then(|| format!("!{mark}")));
        name.trim().to_owned()
    }
}

fn node(id: &str, said: &[String], leaving: bool) -> Node {
    let after = |word: &str| {
        let at = said.iter().position(|said| said == word)?;
        Some(said[at + 1].as_str())
    };
    let list = |word: &str| after(word).into_iter().flat_map(|list| list.split(','));
    let named = |word: &str| said.iter().find_map(|said| said.strip_prefix(word)).map(|name| spanned(name.into()));
    let has = |word: &str| said.iter().any(|said| said == word);
    let hitl = has("!hitl").then_some(Escalation::Hitl);
    let kind = if id == "start" {
        Kind::Start
    } else if let Some(join) = named("fork ") {
        let max_concurrency = after("limit").map(|limit| limit.parse::<NonZeroU32>().expect("a limit is a number"));
        Kind::Fork { join, max_concurrency }
    } else if let Some(fork) = named("join ") {
        Kind::Join { fork, strategy: if has("any") { Strategy::AnyPass } else { Strategy::AllPass } }
    } else if let Some(other) = after("runs") {
        Kind::Subflow { workflow: spanned(other.to_owned()), args: None }
    } else if leaving && hitl.is_some() {
        Kind::Checkpoint { escalation: hitl }
    } else if leaving {
        Kind::Work { gate: has("gate"), outputs: list("outputs").map(|word| spanned(word.into())).collect() }
    } else {
        Kind::End { result: result(&has, hitl), escalation: hitl }
    };
    Node {
        id: id.into(),
        span: Span::default(),
        name: id.to_owned(),
        brief: Brief::default(),
        kind,
        accept: list("checks").map(check).collect(),
        max_retries: after("retries").map(|count| spanned(count.parse().expect("retries are a number"))),
    }
}

fn result(has: &dyn Fn(&str) -> bool, hitl: Option<Escalation>) -> EndResult {
    let results =
        [("!failure", EndResult::Failure), ("!blocked", EndResult::Blocked), ("!cancelled", EndResult::Cancelled)];
    let marked = results.into_iter().find(|(mark, _)| has(mark)).map(|(_, result)| result);
    marked.unwrap_or(if hitl.is_some() { EndResult::Blocked } else { EndResult::Success })
}

fn check(id: &str) -> Check {
    Check { id: id.into(), span: Span::default(), by: CheckBy::File { path: id.to_owned() } }
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}
