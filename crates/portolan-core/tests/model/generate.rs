//! Random workflows, built from blocks so that many of them are valid: sequences of work with retries and outcomes of
//! any name, questions to a person, forks of branches, and subflows; and some edges that lead anywhere, also into
//! branches and out of them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A workflow and those that its subflows run, in the Navigator dialect: `flow0`, which is the root, `flow1`, ….
#[derive(Clone)]
pub(crate) struct Files(pub(crate) Vec<Value>);

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|file| writeln!(f, "{file:#}"))
    }
}

/// Random files. Not all of them are valid.
pub(crate) fn files() -> impl Strategy<Value = Files> {
    let flow = |blocks| (prop::collection::vec(blocks, 0..4), end());
    (flow(block().boxed()), flow(block().boxed()), flow(simple().boxed())).prop_map(|(root, first, second)| {
        let flows = [root, first, second];
        Files((0..flows.len()).map(|index| Drawing::of(index, &flows[index])).collect())
    })
}

/// Where success leads in the end.
#[derive(Clone, Copy, Debug)]
enum End {
    Success,
    Failure,
    /// Back into the work.
    Round(u8),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![12 => Just(End::Success), 1 => Just(End::Failure), 1 => any::<u8>().prop_map(End::Round)]
}

#[derive(Clone, Debug)]
enum Block {
    Work(Work),
    Question { redo: Option<u8>, on_failed: bool, on_cancelled: bool },
    Fork { branches: Vec<Vec<Block>>, limit: Option<u8>, any: bool, again: Option<u32>, fail: Fail },
    Subflow { retries: Option<u32>, fail: Fail },
}

#[derive(Clone, Debug)]
struct Work {
    gate: bool,
    retries: Option<u32>,
    fail: Fail,
    checks: u8,
    other: Option<Other>,
}

/// An outcome beside `passed`, and where it leads.
#[derive(Clone, Copy, Debug)]
struct Other {
    word: u8,
    to: Way,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// Back into the work of the sequence.
    Back(u8),
    /// To a node of the flow, wherever it stands.
    Anywhere(u8),
}

/// Words that mean something elsewhere are outcomes like any other here.
const OTHERS: &[&str] = &["rework", "skipped", "changes", "redo", "done"];

/// What the `failed` edges of a node lead to.
#[derive(Clone, Debug)]
struct Fail {
    back: Option<u8>,
    out: Option<Out>,
}

#[derive(Clone, Copy, Debug)]
enum Out {
    /// An end that failed; in a branch, the join.
    End,
    /// A question to a person, who leads back into the work.
    Person(u8),
    /// A node of the flow, wherever it stands.
    Anywhere(u8),
}

fn block() -> impl Strategy<Value = Block> {
    let branch = prop::collection::vec(simple(), 1..3);
    let fork = (
        prop::collection::vec(branch, 1..4),
        prop::option::of(1u8..3),
        any::<bool>(),
        prop::option::of(1u32..3),
        fail(),
    );
    let fork = fork.prop_map(|(branches, limit, any, again, fail)| Block::Fork { branches, limit, any, again, fail });
    prop_oneof![3 => simple(), 1 => fork]
}

fn simple() -> impl Strategy<Value = Block> {
    let way = prop_oneof![12 => any::<u8>().prop_map(Way::Back), 1 => any::<u8>().prop_map(Way::Anywhere)];
    let other = (any::<u8>(), way).prop_map(|(word, to)| Other { word, to });
    let work = (any::<bool>(), prop::option::of(0u32..3), fail(), 0u8..5, prop::option::weighted(0.25, other));
    let work = work.prop_map(|(gate, retries, fail, checks, other)| {
        // Three of five have no checks.
        Block::Work(Work { gate, retries, fail, checks: checks.saturating_sub(2), other })
    });
    let question = (prop::option::of(any::<u8>()), any::<bool>(), prop::bool::weighted(0.3))
        .prop_map(|(redo, on_failed, on_cancelled)| Block::Question { redo, on_failed, on_cancelled });
    let subflow = (prop::option::of(0u32..3), fail()).prop_map(|(retries, fail)| Block::Subflow { retries, fail });
    prop_oneof![5 => work, 1 => question, 1 => subflow]
}

fn fail() -> impl Strategy<Value = Fail> {
    let out = prop_oneof![
        8 => Just(Out::End),
        8 => any::<u8>().prop_map(Out::Person),
        1 => any::<u8>().prop_map(Out::Anywhere),
    ];
    (prop::option::of(any::<u8>()), prop::option::of(out)).prop_map(|(back, out)| Fail { back, out })
}

/// The file of one flow in the making.
struct Drawing {
    flow: usize,
    nodes: Map<String, Value>,
    edges: Vec<Value>,
    /// The edges that lead anywhere, once it is known where there is.
    astray: Vec<(String, &'static str, u8)>,
}

/// A sequence in the making: its nodes so far, and the edges that lead out of it.
struct Sequence {
    entries: Vec<String>,
    open: Vec<(String, Option<&'static str>)>,
    join: Option<String>,
}

impl Drawing {
    fn of(flow: usize, (blocks, end): &(Vec<Block>, End)) -> Value {
        let mut drawing = Drawing { flow, nodes: Map::new(), edges: Vec::new(), astray: Vec::new() };
        drawing.nodes.insert("start".to_owned(), json!({"type": "start"}));
        let open = vec![("start".to_owned(), None)];
        let mut sequence = Sequence { entries: Vec::new(), open, join: None };
        drawing.blocks(blocks, &mut sequence);
        let round = match end {
            End::Round(back) if !sequence.entries.is_empty() => {
                &sequence.entries[usize::from(*back) % sequence.entries.len()..]
            }
            _ => &[],
        };
        // A person may always choose to leave a circle: one that has a question is none without an end.
        match (end, round.first().filter(|_| !round.iter().any(|id| id.starts_with('q'))).cloned()) {
            (End::Round(_), Some(back)) => drawing.close(&mut sequence, &back),
            (End::Success | End::Failure | End::Round(_), _) => {
                let result = if matches!(end, End::Failure) { "failure" } else { "success" };
                drawing.nodes.insert("done".to_owned(), json!({"type": "end", "result": result}));
                drawing.close(&mut sequence, "done");
            }
        }
        drawing.lead_astray();
        json!({"id": format!("flow{flow}"), "nodes": drawing.nodes, "edges": drawing.edges})
    }

    fn lead_astray(&mut self) {
        let ids: Vec<String> = self.nodes.keys().filter(|id| *id != "start").cloned().collect();
        for (from, on, to) in std::mem::take(&mut self.astray) {
            self.edge(&from, Some(on), &pick(&ids, to));
        }
    }

    fn blocks(&mut self, blocks: &[Block], sequence: &mut Sequence) {
        for block in blocks {
            match block {
                Block::Work(work) => self.work(work, sequence),
                Block::Question { redo, on_failed, on_cancelled } => {
                    self.question(*redo, *on_failed, *on_cancelled, sequence);
                }
                Block::Fork { branches, limit, any, again, fail } if sequence.join.is_none() => {
                    let node = json!({"type": "fork", "maxConcurrency": limit});
                    let strategy = if *any { "any-pass" } else { "all-pass" };
                    self.fork(branches, node, (strategy, *again), fail, sequence);
                }
                Block::Fork { branches, .. } => branches.iter().for_each(|branch| self.blocks(branch, sequence)),
                Block::Subflow { retries, fail } if self.flow < 2 => {
                    let node = json!({"type": "subflow", "workflow": format!("flow{}", self.flow + 1)});
                    let id = self.node("s", node, sequence);
                    self.failing(&id, *retries, fail, sequence);
                }
                Block::Subflow { .. } => {}
            }
        }
    }

    fn work(&mut self, work: &Work, sequence: &mut Sequence) {
        let mut node = json!({"type": if work.gate { "gate" } else { "task" }});
        let checks: Vec<Value> =
            (0..work.checks).map(|check| json!({"id": format!("c{check}"), "file": "x"})).collect();
        if !checks.is_empty() {
            node["accept"] = checks.into();
        }
        let other = work.other.map(|other| (OTHERS[usize::from(other.word) % OTHERS.len()], other.to));
        if let Some((word, _)) = other {
            node["outputs"] = json!(["passed", word]);
        }
        let id = self.node("w", node, sequence);
        match other {
            Some((word, Way::Back(back))) => self.edge(&id, Some(word), &pick(&sequence.entries, back)),
            Some((word, Way::Anywhere(to))) => self.astray.push((id.clone(), word, to)),
            None => {}
        }
        self.failing(&id, work.retries, &work.fail, sequence);
    }

    fn question(&mut self, redo: Option<u8>, on_failed: bool, on_cancelled: bool, sequence: &mut Sequence) {
        let id = self.node("q", person(), sequence);
        if let Some(back) = redo {
            self.edge(&id, Some("redo"), &pick(&sequence.entries, back));
        }
        let elsewhere = self.dead_end(sequence);
        if on_failed {
            self.edge(&id, Some("failed"), &elsewhere);
        }
        if on_cancelled {
            self.edge(&id, Some("cancelled"), &elsewhere);
        }
    }

    fn fork(
        &mut self,
        branches: &[Vec<Block>],
        node: Value,
        (strategy, again): (&str, Option<u32>),
        fail: &Fail,
        sequence: &mut Sequence,
    ) {
        let fork = self.node("f", node, sequence);
        let join = format!("j{}", self.nodes.len());
        self.nodes[&fork]["join"] = json!(join);
        if self.nodes[&fork]["maxConcurrency"].is_null() {
            self.nodes[&fork].as_object_mut().expect("a node is an object").remove("maxConcurrency");
        }
        self.nodes.insert(join.clone(), json!({"type": "join", "fork": fork, "strategy": strategy}));
        sequence.open.clear();
        for branch in branches {
            let open = vec![(fork.clone(), None)];
            let mut inner = Sequence { entries: Vec::new(), open, join: Some(join.clone()) };
            self.blocks(branch, &mut inner);
            if !inner.entries.is_empty() {
                self.close(&mut inner, &join);
            }
        }
        if let Some(retries) = again {
            self.nodes[&join]["maxRetries"] = json!(retries);
            self.edge(&join, Some("failed"), &fork);
        }
        self.out(&join, fail.out, sequence);
        sequence.open.push((join, Some("passed")));
    }

    /// Adds a node at the end of a sequence, left by `passed` or by an edge without an outcome.
    fn node(&mut self, letter: &str, node: Value, sequence: &mut Sequence) -> String {
        let id = format!("{letter}{}", self.nodes.len());
        self.nodes.insert(id.clone(), node);
        self.close(sequence, &id);
        sequence.entries.push(id.clone());
        let on = if self.nodes.len().is_multiple_of(2) { Some("passed") } else { None };
        sequence.open.push((id.clone(), on));
        id
    }

    fn failing(&mut self, id: &str, retries: Option<u32>, fail: &Fail, sequence: &mut Sequence) {
        // Going back without a count or another way out is refused: leave a few of those, not most.
        let unbounded = fail.back.is_some() && fail.out.is_none() && retries.unwrap_or(0) == 0;
        let retries = if unbounded && fail.back != Some(7) { Some(2) } else { retries };
        if let Some(retries) = retries {
            self.nodes[id]["maxRetries"] = json!(retries);
        }
        if let Some(back) = fail.back {
            self.edge(id, Some("failed"), &pick(&sequence.entries, back));
        }
        self.out(id, fail.out, sequence);
    }

    fn out(&mut self, id: &str, out: Option<Out>, sequence: &Sequence) {
        match out {
            None => {}
            Some(Out::End) => {
                let elsewhere = self.dead_end(sequence);
                self.edge(id, Some("failed"), &elsewhere);
            }
            Some(Out::Person(back)) => {
                let question = format!("q{}", self.nodes.len());
                self.nodes.insert(question.clone(), person());
                self.edge(id, Some("failed"), &question);
                self.edge(&question, Some("passed"), &pick(&sequence.entries, back));
            }
            Some(Out::Anywhere(to)) => self.astray.push((id.to_owned(), "failed", to)),
        }
    }

    /// Where what goes wrong ends: the join of a branch, and else a failure.
    fn dead_end(&mut self, sequence: &Sequence) -> String {
        if let Some(join) = &sequence.join {
            return join.clone();
        }
        self.nodes.entry("dead").or_insert(json!({"type": "end", "result": "failure"}));
        "dead".to_owned()
    }

    fn close(&mut self, sequence: &mut Sequence, to: &str) {
        for (from, on) in std::mem::take(&mut sequence.open) {
            self.edge(&from, on, to);
        }
    }

    fn edge(&mut self, from: &str, on: Option<&str>, to: &str) {
        let mut edge = json!({"from": from, "to": to});
        if let Some(on) = on {
            edge["on"] = json!(on);
        }
        self.edges.push(edge);
    }
}

fn person() -> Value {
    json!({"type": "end", "result": "blocked", "escalation": "hitl"})
}

fn pick(entries: &[String], pick: u8) -> String {
    entries[usize::from(pick) % entries.len()].clone()
}
