//! A notation for workflows, so that a story shows its workflow beside its events.
//!
//! Statements end at `;` or at the end of a line:
//!
//! - `a > b` is an edge without an outcome, `a -failed-> b | c` one edge to each target, and `a -[n > 1]-> b` an edge
//!   with a guard.
//! - `f => a | b => j` makes `f` a fork of two branches and `j` its join.
//! - `var name string = "x"` declares a variable with a default. `var n number at a,b` may only be set at these nodes.
//! - `effect q yes sets n=1 skips b` declares the effects of an answer.
//! - `takes input` gives the flow an interface: it is called with an input and has an output.
//! - `where other: …` begins a workflow that subflows can run.
//! - `lenient:` at the very beginning reads the workflow leniently.
//!
//! A node without outgoing edges is an end: a success unless `!failure`, `!blocked` or `!cancelled` follows its name.
//! `!hitl` escalates to a person, and is a checkpoint if an edge leaves it. A loop leads to its pass by `l -pass-> a`.
//! If a node is an activity, all others belong to it.
//!
//! Words in brackets after the first mention of a node define it:
//!
//! - work: `gate`, `retries 2`, `outputs passed,rework`, `optional`, `checks tests,lint`, `checks named/I-4` (enforces
//!   a rule)
//! - a phase: `phase`, `back a`, `cap 2`, `counted b` (where going back is counted)
//! - a fork, a join: `limit 1`, `any`
//! - a subflow: `runs other`, `passes name` (the variables that it passes)
//! - activities: `switch`, `activity`
//! - a loop: `forEach items as item`, `while n<3`, `doWhile n<3`, `stop n!=0`, `most 2`, `continues` (at that limit),
//!   `repeat l` (the end of a pass of the loop `l`), `in l/m` (inside these loops)
//! - a question: `ask yes,no else no` (the fallback after a second), `per {it.name}` (its subject), `once` (in a run)
//! - executed by the engine: `call` (the tool called like the node), `computes` (its own name), `state`,
//!   `state uses other` (its model has that workflow and `web/search` as tools), `each other` (over two items)

use std::num::NonZeroU32;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::dialect::Strictness;
use crate::expr::{Expr, Jsonata, When};
use crate::graph::{
    Activity, AtLimit, Call, Check, CheckBy, Choice, DEFAULT_MAX_PASSES, Each, Edge, EndResult, Escalation, Fallback,
    Graph, Instance, Interface, Kind, Loop, LoopKind, Node, Phase, Question, Retry, StepPath, Strategy, Trigger,
    Variable, VariableKind, VariableOwner, Worker, Workflow,
};
use crate::source::{Span, Spanned};
use crate::validate;
use crate::value::NodeId;

/// Returns the workflow that `text` describes. It must be valid.
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
    let mut nodes: Vec<Node> = drawing.nodes.iter().map(|(id, words)| node(id, words, leaving(id))).collect();
    let activities = nodes.iter().filter(|node| node.kind == Kind::Activity);
    let activities: Vec<Activity> =
        activities.map(|node| Activity { id: node.id.to_string(), ..Activity::default() }).collect();
    for node in nodes.iter_mut().filter(|_| activities.is_empty()) {
        node.seat = None;
    }
    let begins = nodes.iter_mut().filter(|node| node.kind == Kind::Activity);
    for (at, seat) in begins.flat_map(|node| &mut node.seat).enumerate() {
        seat.activity = at;
    }
    for effect in &drawing.effects {
        take_effect(&mut nodes, effect);
    }
    Graph {
        nodes,
        edges: drawing.edges,
        variables: drawing.variables,
        activities,
        interface: drawing.interface,
        ..Graph::new(spanned(id.to_owned()))
    }
}

#[derive(Default)]
struct Drawing {
    nodes: IndexMap<String, Vec<String>>,
    edges: Vec<Edge>,
    variables: Vec<Variable>,
    effects: Vec<String>,
    interface: Option<Arc<Interface>>,
}

impl Drawing {
    fn statement(&mut self, statement: &str) {
        if let Some(variable) = statement.strip_prefix("var ") {
            self.variables.push(self::variable(variable));
        } else if statement == "takes input" {
            self.interface = Some(Arc::default());
        } else if let Some(effect) = statement.strip_prefix("effect ") {
            self.effects.push(effect.to_owned());
        } else if let Some((from, rest)) = statement.split_once(" -[") {
            let (guard, target) = rest.split_once("]->").expect("a guard is written `-[n > 1]->`");
            let from = self.mention(from);
            self.edge(&from, target, Trigger::When(spanned(when(guard))));
        } else if let Some((fork, rest)) = statement.split_once("=>") {
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

    /// Adds a node with its words, and returns its name.
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
        let context = list("passes").map(str::to_owned).collect();
        Kind::Subflow { workflow: spanned(other.to_owned()), args: None, context }
    } else if let Some(kind) = executed(id, &has, &after) {
        kind
    } else if has("switch") {
        Kind::Switch
    } else if has("activity") {
        Kind::Activity
    } else if let Some(of) = after("repeat") {
        Kind::Repeat { of: spanned(of.into()) }
    } else if let Some(kind) = looping(&after) {
        let most = after("most").map_or(DEFAULT_MAX_PASSES, |most| most.parse().expect("a number of passes"));
        let at_limit = if has("continues") { AtLimit::GoesOn } else { AtLimit::Fails };
        Kind::Loop(Box::new(Loop { kind, stop: after("stop").map(when), most, at_limit }))
    } else if let Some(options) = after("ask") {
        let option = |id: &str| Choice {
            id: id.into(),
            label: id.to_owned(),
            description: None,
            sets: Vec::new(),
            skips: Vec::new(),
        };
        let options = options.split(',').map(option).collect();
        let fallback = after("else").map(|option| Fallback { option: option.into(), after_ms: 1_000 });
        let instance = after("per").map(|of| Instance { of: of.to_owned(), for_run: has("once") });
        let question = Question { message: id.to_owned(), options, fallback, instance };
        Kind::Checkpoint { escalation: None, question: Some(Box::new(question)) }
    } else if has("optional") {
        Kind::Work { gate: false, outputs: ["passed", "skipped"].map(|word| spanned(word.into())).to_vec() }
    } else if leaving && hitl.is_some() {
        Kind::Checkpoint { escalation: hitl, question: None }
    } else if leaving {
        Kind::Work { gate: has("gate"), outputs: list("outputs").map(|word| spanned(word.into())).collect() }
    } else {
        Kind::End { result: result(&has, hitl), escalation: hitl }
    };
    Node {
        accept: list("checks").map(check).collect(),
        max_retries: after("retries").map(|count| spanned(count.parse().expect("retries are a number"))),
        sets: list("sets").map(assignment).collect(),
        phase: has("phase").then(|| Box::new(phase(id, &after))),
        seat: Some(Box::new(StepPath {
            activity: 0,
            id: id.to_owned(),
            number: None,
            loops: after("in").into_iter().flat_map(|loops| loops.split('/')).map(NodeId::from).collect(),
            effectivities: Vec::new(),
            gates: false,
            reports: None,
        })),
        ..Node::new(id, Span::default(), kind)
    }
}

/// Returns the kind of a node that the engine executes.
fn executed<'t>(id: &str, has: &dyn Fn(&str) -> bool, after: &dyn Fn(&str) -> Option<&'t str>) -> Option<Kind> {
    if has("call") {
        return Some(Kind::Call(Box::new(Call {
            server: spanned("tools".to_owned()),
            tool: spanned(id.to_owned()),
            args: Expr::Literal(Arc::new(json!({}))),
            post: None,
            retry: Retry::default(),
            timeout_ms: None,
            idempotent: true,
        })));
    }
    if has("computes") {
        return Some(Kind::Compute(Expr::Literal(Arc::new(json!(id)))));
    }
    if has("state") {
        let mut state = super::states::plain(Worker::Model(Box::default()));
        if let Some(used) = after("uses") {
            state.tools = [format!("run:{used}"), "web/search".to_owned()].map(spanned).to_vec();
        }
        return Some(Kind::State(Box::new(state)));
    }
    after("each").map(|other| {
        Kind::Each(Box::new(Each {
            items: Expr::Literal(Arc::new(json!(["x", "y"]))),
            workflow: spanned(other.to_owned()),
            args: None,
            concurrency: NonZeroU32::new(2).expect("two"),
        }))
    })
}

fn phase<'t>(id: &str, after: &dyn Fn(&str) -> Option<&'t str>) -> Phase {
    let cap = after("cap").map_or(5, |cap| cap.parse().expect("a cap is a number"));
    Phase { back: after("back").map(NodeId::from), cap, counted_at: after("counted").unwrap_or(id).into() }
}

fn when(text: &str) -> Expr {
    Expr::When(When::parse(text).expect("a condition"))
}

fn looping<'t>(after: &dyn Fn(&str) -> Option<&'t str>) -> Option<LoopKind> {
    if let Some(over) = after("forEach") {
        let over = Expr::Jsonata(Jsonata::parse(over).expect("a path"));
        return Some(LoopKind::ForEach { over, variable: after("as").unwrap_or("item").to_owned() });
    }
    after("while")
        .map(|condition| LoopKind::While(when(condition)))
        .or_else(|| after("doWhile").map(|condition| LoopKind::DoWhile(when(condition))))
}

fn variable(text: &str) -> Variable {
    let (declared, default) = match text.split_once('=') {
        Some((declared, default)) => (declared, Some(serde_json::from_str(default).expect("a value in JSON"))),
        None => (text, None),
    };
    let mut words = declared.split_whitespace();
    let name = words.next().expect("a variable has a name");
    let kind = match words.next() {
        Some("string") => VariableKind::String,
        Some("number") => VariableKind::Number,
        Some("boolean") => VariableKind::Boolean,
        Some("array") => VariableKind::Array,
        other => panic!("no kind of variable: {other:?}"),
    };
    let word = words.next();
    let required = word == Some("required");
    let nodes = words.next().filter(|_| word == Some("at"));
    let only_at = nodes.map(|nodes| nodes.split(',').map(NodeId::from).collect());
    Variable {
        name: spanned(name.to_owned()),
        kind,
        description: None,
        default,
        required,
        keeper: VariableOwner::Anyone,
        only_at,
    }
}

fn assignment(text: &str) -> (String, Value) {
    let (name, value) = text.split_once('=').expect("a variable is set so: `n=1`");
    (name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)))
}

/// Reads `q yes sets n=1 skips b`.
fn take_effect(nodes: &mut [Node], effect: &str) {
    let words: Vec<&str> = effect.split_whitespace().collect();
    let node = nodes.iter_mut().find(|node| node.id.as_str() == words[0]).expect("the question is there");
    let Kind::Checkpoint { question: Some(question), .. } = &mut node.kind else { panic!("only answers have effects") };
    let choice = question.options.iter_mut().find(|option| option.id.as_str() == words[1]).expect("an option");
    for pair in words[2..].chunks(2) {
        match pair {
            ["sets", assigned] => choice.sets.extend(assigned.split(',').map(assignment)),
            ["skips", activity] => choice.skips.push((*activity).into()),
            other => panic!("no effect: {other:?}"),
        }
    }
}

fn result(has: &dyn Fn(&str) -> bool, hitl: Option<Escalation>) -> EndResult {
    let results =
        [("!failure", EndResult::Failure), ("!blocked", EndResult::Blocked), ("!cancelled", EndResult::Cancelled)];
    let marked = results.into_iter().find(|(mark, _)| has(mark)).map(|(_, result)| result);
    marked.unwrap_or(if hitl.is_some() { EndResult::Blocked } else { EndResult::Success })
}

/// Reads `named`, or `named/I-4`, which enforces a rule.
fn check(text: &str) -> Check {
    let (id, invariant) = text.split_once('/').map_or((text, None), |(id, rule)| (id, Some(rule.to_owned())));
    Check {
        id: id.into(),
        span: Span::default(),
        invariant,
        by: CheckBy::File { path: id.to_owned() },
        attached: false,
    }
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}
