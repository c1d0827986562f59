//! The analysis against brute force: every run of a small workflow, step by step, with nothing left out and nothing
//! summed up. What the analysis proves or refutes must come out the same.
//!
//! `PORTOLAN_PROOFS` says how many workflows of each kind are drawn, `PORTOLAN_SEED` draws others.
#![expect(clippy::disallowed_methods, reason = "how many and which are chosen outside")]
#![expect(clippy::print_stdout, reason = "the counts are what the test is for")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use portolan_core::engine::{EffectKind, decide, open};
use portolan_core::graph::{Flow, Kind, Variable, VariableKind, VariableOwner, Workflow};
use portolan_core::prove::{AnalysisLimits, Conclusion as Proven, Counterexample, Dead, Proof, prove};
use portolan_core::run::EffectResult;
use portolan_core::run::{
    Actor, BranchState, Change, Event, EventKind, Frame, FramePath, Move, Opening, Place, Run, Verdict, WaitingFor,
    moves,
};
use portolan_core::value::{NodeId, Outcome, WorkflowId};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::generate::Files;
use crate::graphs::results;
use crate::walk::{by_agent, by_engine, by_person, repaired};

/// How many states brute force looks at before it gives up on a workflow.
const MOST_STATES: usize = 3_000;

type Site = (WorkflowId, NodeId);

/// What was found by going everywhere.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    seen: BTreeSet<Site>,
    astray: BTreeSet<Site>,
    /// Whether an end can be reached from every state.
    finishes: bool,
    /// How many moves a run takes at most in which nobody helps; nothing where there is no such number.
    moves: Option<u64>,
    /// How many moves a run takes at least that comes to an end.
    least: Option<u64>,
}

/// Where a state leads.
#[derive(Clone, Copy)]
struct Ahead {
    to: usize,
    moves: u64,
    helps: bool,
}

struct Search<'w> {
    workflow: &'w Workflow,
    /// The variables that something reads.
    read: BTreeSet<String>,
    known: BTreeMap<String, usize>,
    before: Vec<Vec<usize>>,
    /// Where each state leads, and whether by a move of the agent and by somebody's help.
    ahead: Vec<Vec<Ahead>>,
    begins: usize,
    ends: Vec<usize>,
    over: BTreeSet<usize>,
    waiting: VecDeque<(usize, Run)>,
    found: Everything,
}

fn everything(workflow: &Workflow) -> Option<Everything> {
    let mut search = Search {
        workflow,
        read: read(workflow),
        known: BTreeMap::new(),
        before: Vec::new(),
        ahead: Vec::new(),
        begins: 0,
        ends: Vec::new(),
        over: BTreeSet::new(),
        waiting: VecDeque::new(),
        found: Everything::default(),
    };
    for opening in search.openings() {
        let run = Run::fold(&open(workflow, &opening).ok()?)?;
        search.reach(None, run);
    }
    search.begins = search.known.len();
    while let Some((at, run)) = search.waiting.pop_front() {
        if search.known.len() > MOST_STATES {
            return None;
        }
        search.all_from(at, &run);
    }
    let mut finishes = vec![false; search.before.len()];
    let mut waiting = search.ends.clone();
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut finishes[at], true) {
            waiting.extend(&search.before[at]);
        }
    }
    search.found.finishes = (0..finishes.len()).all(|at| finishes[at] || search.over.contains(&at));
    search.found.moves = search.most_moves();
    search.found.least = search.least_moves();
    Some(search.found)
}

/// The variables and nodes that conditions and loops mention, and the variables that a workflow is handed which it
/// cannot begin without.
fn read(workflow: &Workflow) -> BTreeSet<String> {
    let called = workflow.flows().flat_map(|(_, flow)| flow.steps.values()).filter_map(|step| match &step.node.kind {
        Kind::Subflow { workflow: called, context, .. } => Some((workflow.find(&called.value)?, context)),
        _ => None,
    });
    let required = called.flat_map(|(flow, context)| {
        context.iter().filter(|name| flow.variable(name).is_some_and(|variable| variable.required)).cloned()
    });
    let mut read: BTreeSet<String> = required.collect();
    for (_, flow) in workflow.flows() {
        for step in flow.steps.values() {
            let own = step.exits.guards.iter().map(|(guard, _)| guard).chain(step.node.kind.expressions());
            let texts: String = own.map(|expr| format!("{} ", expr.text())).collect();
            let words: BTreeSet<&str> = texts.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
            let mentioned = flow.variables.iter().filter(|variable| words.contains(variable.name.value.as_str()));
            read.extend(mentioned.map(|variable| variable.name.value.clone()));
            let nodes = flow.steps.keys().map(|node| node.as_str()).filter(|node| words.contains(node));
            read.extend(nodes.map(str::to_owned));
        }
    }
    read
}

/// Values of a type that the conditions of the generator tell apart.
fn values(kind: VariableKind) -> Vec<Value> {
    match kind {
        VariableKind::Boolean => vec![json!(false), json!(true)],
        VariableKind::Number => vec![json!(0), json!(2), json!(3), json!(4)],
        VariableKind::String => vec![json!("x"), json!("y")],
        VariableKind::Array => [0, 1, 2, 3, 5].map(|length| json!(vec!["p"; length])).to_vec(),
        VariableKind::Object => vec![json!({})],
        VariableKind::Any => vec![json!(true), json!(2), json!("x"), json!(["p"])],
    }
}

/// Every way in which some of these variables are given values, and others none.
fn given(variables: &[&Variable], may_lack: impl Fn(&Variable) -> bool) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for variable in variables {
        let mut next = if may_lack(variable) { all.clone() } else { Vec::new() };
        for value in values(variable.kind) {
            next.extend(all.iter().map(|given| {
                let mut given = given.clone();
                given.insert(variable.name.value.clone(), value.clone());
                given
            }));
        }
        all = next;
    }
    all
}

impl Search<'_> {
    fn openings(&self) -> Vec<Opening> {
        let flow = self.workflow.root();
        let is_given = |variable: &&Variable| {
            let needed = variable.required && variable.default.is_none();
            let may = variable.keeper != VariableOwner::Person || variable.required;
            needed || may && self.read.contains(&variable.name.value)
        };
        let variables: Vec<&Variable> = flow.variables.iter().filter(is_given).collect();
        let may_lack = |variable: &Variable| !variable.required || variable.default.is_some();
        let opening = |input: Map<String, Value>| Opening {
            input: (!input.is_empty()).then(|| Arc::new(Value::Object(input))),
            ..Opening::of(self.workflow.id().clone())
        };
        given(&variables, may_lack).into_iter().map(opening).collect()
    }

    /// The longest way from where a run begins; nothing where one may go round.
    fn most_moves(&self) -> Option<u64> {
        let mut before = vec![0_usize; self.ahead.len()];
        let mut reached = vec![false; self.ahead.len()];
        let mut waiting: Vec<usize> = (0..self.begins).collect();
        while let Some(at) = waiting.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                self.unaided(at).for_each(|ahead| before[ahead.to] += 1);
                waiting.extend(self.unaided(at).map(|ahead| ahead.to));
            }
        }
        let mut most = vec![0_u64; self.ahead.len()];
        let mut waiting: Vec<usize> = (0..most.len()).filter(|at| reached[*at] && before[*at] == 0).collect();
        let mut done = 0;
        while let Some(at) = waiting.pop() {
            done += 1;
            for Ahead { to, moves, .. } in self.unaided(at) {
                most[to] = most[to].max(most[at] + moves);
                before[to] -= 1;
                waiting.extend((before[to] == 0).then_some(to));
            }
        }
        (done == reached.iter().filter(|is| **is).count()).then(|| most.into_iter().max().unwrap_or(0))
    }

    /// Where a state leads without anybody's help.
    fn unaided(&self, at: usize) -> impl Iterator<Item = Ahead> {
        self.ahead[at].iter().copied().filter(|ahead| !ahead.helps)
    }

    /// The fewest moves from where a run begins to an end; nothing where there is no way to one.
    fn least_moves(&self) -> Option<u64> {
        let mut done = vec![false; self.ahead.len()];
        let mut waiting: VecDeque<(usize, u64)> = (0..self.begins).map(|at| (at, 0)).collect();
        while let Some((at, moves)) = waiting.pop_front() {
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            if self.ends.contains(&at) {
                return Some(moves);
            }
            for ahead in &self.ahead[at] {
                match ahead.moves {
                    0 => waiting.push_front((ahead.to, moves)),
                    more => waiting.push_back((ahead.to, moves + more)),
                }
            }
        }
        None
    }

    fn reach(&mut self, from: Option<usize>, run: Run) -> usize {
        let next = self.known.len();
        let at = *self.known.entry(key(&run, &self.read)).or_insert(next);
        if at == next {
            self.before.push(Vec::new());
            self.ahead.push(Vec::new());
            self.see(&run.root);
            if run.is_over() {
                let step = self.workflow.root().step(run.root.place.node());
                match step.node.kind {
                    Kind::End { .. } => self.ends.push(at),
                    _ => drop(self.over.insert(at)),
                }
            }
            self.waiting.push_back((at, run));
        }
        self.before[at].extend(from);
        at
    }

    fn see(&mut self, frame: &Frame) {
        self.found.seen.insert((frame.flow.clone(), frame.place.node().clone()));
        frame.inner().for_each(|(_, inner)| self.see(inner));
    }

    fn all_from(&mut self, at: usize, run: &Run) {
        for (path, frame) in run.positions() {
            for event in self.events(run, &path, frame) {
                self.go(at, run, &path, frame, &event);
            }
        }
    }

    fn go(&mut self, at: usize, run: &Run, path: &FramePath, frame: &Frame, event: &Event) {
        let Ok(changes) = decide(self.workflow, run, event) else { return };
        let mut next = run.clone();
        changes.iter().for_each(|change| next.apply(change));
        for change in &changes {
            if let Change::Moved { frame, place, .. } = change {
                let flow = next.frame(frame).or_else(|| run.frame(frame)).map(|frame| frame.flow.clone());
                self.found.seen.extend(flow.map(|flow| (flow, place.node().clone())));
            }
        }
        if matches!(frame.place, Place::Passing { .. }) {
            let around = (0..=path.0.len()).map(|length| FramePath(path.0[..length].to_vec()));
            let is_lost = |path: FramePath| {
                let place = next.frame(&path).map(|frame| &frame.place);
                let ends = |node: &NodeId| node.as_str().starts_with("no_way_on");
                match place {
                    Some(Place::Waiting { on: WaitingFor::Progress, .. }) => true,
                    Some(Place::Passing { node, .. }) => ends(node),
                    _ => false,
                }
            };
            if around.into_iter().any(is_lost) {
                self.found.astray.insert((frame.flow.clone(), frame.place.node().clone()));
            }
        }
        let to = self.reach(Some(at), next);
        let helps = matches!(frame.place, Place::Waiting { on: WaitingFor::Budget | WaitingFor::Progress, .. });
        let is_move = matches!((&event.by, &event.what), (Actor::Agent(_), EventKind::Reported { .. }));
        self.ahead[at].push(Ahead { to, moves: u64::from(is_move), helps });
    }

    fn events(&self, run: &Run, path: &FramePath, frame: &Frame) -> Vec<Event> {
        let flow = self.workflow.flow(&frame.flow);
        let reported = |outcome: &Outcome, outputs: Map<String, Value>| EventKind::Reported {
            frame: path.clone(),
            outcome: outcome.clone(),
            revision: None,
            note: None,
            outputs: (!outputs.is_empty()).then(|| Arc::new(Value::Object(outputs))),
        };
        let pending = || run.pending(self.workflow).into_iter().filter(|effect| effect.id.frame == *path);
        match &frame.place {
            Place::Ready { .. } => {
                let open = |variable: &&Variable| self.is_open(run, path, frame, variable);
                let variables: Vec<&Variable> = flow.variables.iter().filter(open).collect();
                let mut events = Vec::new();
                for wanted in moves(self.workflow, frame) {
                    match wanted {
                        Move::Report(outcome) => {
                            let outputs = given(&variables, |_| true).into_iter();
                            events.extend(outputs.map(|outputs| by_agent(reported(&outcome, outputs))));
                        }
                        _ => events.push(by_agent(EventKind::Begun { revision: None })),
                    }
                }
                events
            }
            Place::Checking { .. } => pending()
                .flat_map(|check| {
                    let broken = Verdict::Broken { reason: "no".to_owned(), output: String::new() };
                    [Verdict::Held, broken].map(|verdict| by_engine(check.id.clone().settled(verdict, 0)))
                })
                .collect(),
            Place::Waiting { on, .. } => {
                let step = flow.step(frame.place.node());
                let leads = |outcome: &Outcome| match on {
                    WaitingFor::Answer => outcome.as_str() != "cancelled" || step.exits.target(outcome).is_some(),
                    _ => outcome.as_str() != "cancelled",
                };
                let answers = moves(self.workflow, frame).into_iter().filter_map(|wanted| wanted.outcome().cloned());
                let helps = matches!(on, WaitingFor::Budget | WaitingFor::Progress);
                let read = |variable: &&Variable| helps && self.read.contains(&variable.name.value);
                let variables: Vec<&Variable> = flow.variables.iter().filter(read).collect();
                let each = |outcome: Outcome| {
                    let outputs = given(&variables, |_| true).into_iter();
                    outputs.map(|outputs| by_person(reported(&outcome, outputs))).collect::<Vec<_>>()
                };
                let answers = answers.filter(leads).flat_map(each);
                let timer = pending().filter(|effect| effect.what == EffectKind::TimeOut).map(|effect| Event {
                    at: effect.not_before.unwrap_or_default(),
                    ..by_engine(effect.id.settled(EffectResult::Due, 0))
                });
                answers.chain(timer).collect()
            }
            _ => pending().flat_map(|effect| results(&effect)).collect(),
        }
    }

    /// Whether the work at a position may give a variable a value: it is tried.
    fn is_open(&self, run: &Run, path: &FramePath, frame: &Frame, variable: &Variable) -> bool {
        let Some(Move::Report(outcome)) = moves(self.workflow, frame).into_iter().next() else { return false };
        let Some(value) = values(variable.kind).into_iter().next() else { return false };
        let outputs = Some(Arc::new(json!({ variable.name.value.as_str(): value })));
        let what = EventKind::Reported { frame: path.clone(), outcome, revision: None, note: None, outputs };
        self.read.contains(&variable.name.value) && decide(self.workflow, run, &by_agent(what)).is_ok()
    }
}

/// What makes a difference to what can still happen.
fn key(run: &Run, read: &BTreeSet<String>) -> String {
    let mut key = String::new();
    frame_key(&run.root, read, &mut key);
    key
}

fn frame_key(frame: &Frame, read: &BTreeSet<String>, key: &mut String) {
    let _ = write!(key, "{} {} ", frame.flow, frame.place.node());
    for spent in &frame.spent {
        let _ = write!(key, "{}={} ", spent.gate, spent.used);
    }
    if let Some(data) = &frame.data {
        data_key(data, read, key);
    }
    match &frame.place {
        Place::Checking { outcome, settled, .. } => {
            let settled: BTreeMap<&str, bool> =
                settled.iter().map(|(id, verdict)| (id.as_str(), *verdict == Verdict::Held)).collect();
            let _ = write!(key, "checks {outcome} {settled:?}");
        }
        Place::Looping { pass, items, .. } => {
            let _ = write!(key, "loops {pass} {:?}", items.as_ref().map(|items| items.len()));
        }
        Place::Waiting { on, due, .. } => {
            let _ = write!(key, "waits {on:?} {}", due.is_some());
        }
        Place::Forked { branches, .. } => {
            for branch in branches {
                let state = match &branch.state {
                    BranchState::Held => "held".to_owned(),
                    BranchState::Open(_) => "open".to_owned(),
                    BranchState::Done(outcome) => format!("done {}", outcome.is_failed()),
                    BranchState::Cancelled => "cancelled".to_owned(),
                };
                let _ = write!(key, "{} {state} ", branch.name);
                if let Some(data) = &branch.data {
                    data_key(data, read, key);
                }
            }
        }
        Place::Ended { result, .. } => {
            let _ = write!(key, "ended {result:?}");
        }
        Place::Arrived { outcome, .. } => {
            let _ = write!(key, "arrived {}", outcome.is_failed());
        }
        Place::Calling { retries, .. } => {
            let _ = write!(key, "calls {retries}");
        }
        Place::Conversing { talk, .. } => key.push_str(&json!(talk).to_string()),
        Place::Ready { .. } => key.push_str("ready"),
        Place::Passing { .. } => key.push_str("passing"),
        _ => {}
    }
    for (name, inner) in frame.inner() {
        let _ = write!(key, "({name}: ");
        frame_key(inner, read, key);
        key.push(')');
    }
}

fn data_key(data: &portolan_core::run::Data, read: &BTreeSet<String>, key: &mut String) {
    let known: BTreeMap<&String, &Value> =
        data.variables.iter().filter(|(name, _)| read.contains(*name) || name.starts_with('_')).collect();
    let _ = write!(key, "{known:?} {:?} ", data.skipped);
    for name in read {
        if let Some(output) = data.outputs.latest(name) {
            let _ = write!(key, "{name}:{output} ");
        }
    }
}

/// What the analysis says against what is.
pub(crate) fn compared(workflow: &Workflow) -> Option<(Proof, Everything, Result<(), String>)> {
    let is = everything(workflow)?;
    let proof = prove(workflow, &AnalysisLimits::default(), &mut || false);
    let came = agree(workflow, &is, &proof);
    Some((proof, is, came))
}

fn agree(workflow: &Workflow, is: &Everything, proof: &Proof) -> Result<(), String> {
    if is.finishes != (proof.finishes == Proven::Proved) {
        let traps: Vec<_> = proof.finishes.refutations().iter().map(|trap| (&trap.round, &trap.run.lines)).collect();
        return Err(format!("finishes: {} but said to be caught in {traps:?}", is.finishes));
    }
    let dead: BTreeSet<Site> = proof
        .alive
        .refutations()
        .iter()
        .filter_map(|dead| match dead {
            Dead::Node(place) => Some((place.flow.clone(), place.node.clone())),
            _ => None,
        })
        .collect();
    // Of a workflow that nothing comes to, what runs it is said to be dead, and not each of its nodes.
    let is_entered = |id: &WorkflowId| id == workflow.id() || is.seen.iter().any(|(flow, _)| flow == id);
    let entered = workflow.flows().filter(|(id, _)| is_entered(id));
    let all = entered.flat_map(|(id, flow)| nodes(id, flow));
    let unseen: BTreeSet<Site> = all.filter(|site| !is.seen.contains(site)).collect();
    if unseen != dead {
        let differing: Vec<_> = unseen.symmetric_difference(&dead).collect();
        return Err(format!("never come to: {unseen:?}, said to be: {dead:?}, differing: {differing:?}"));
    }
    let astray: BTreeSet<Site> =
        proof.has_ways.refutations().iter().map(|it| (it.at.flow.clone(), it.at.node.clone())).collect();
    if astray != is.astray {
        return Err(format!("astray: {:?}, said to be: {astray:?}", is.astray));
    }
    let least = proof.costs.as_ref().map(|costs| costs.least.moves);
    if least.is_some_and(|least| is.least.is_some_and(|is| is < least)) {
        return Err(format!("a run takes {:?} moves at least, and is said to take {least:?}", is.least));
    }
    match (is.moves, proof.costs.as_ref().map(|costs| costs.most)) {
        (None, _) if proof.cycles.is_empty() => Err("a run may go round, and no circle is told".to_owned()),
        (Some(moves), Some(costs)) if moves > costs.moves => {
            Err(format!("a run takes {moves} moves, and is said to take at most {}", costs.moves))
        }
        (_, None) if proof.bound().is_none() => Err("what it costs is not told".to_owned()),
        _ => Ok(()),
    }
}

/// The runs that the engine does not go, though they assume nothing: such a run is no evidence.
fn astray_runs(proof: &Proof) -> impl Iterator<Item = &Counterexample> {
    let runs = proof.finishes.refutations().iter().map(|trap| &trap.run);
    let runs = runs.chain(proof.has_ways.refutations().iter().map(|astray| &astray.run));
    runs.filter(|run| !run.is_replayed && run.assumes.is_empty())
}

fn nodes<'f>(id: &'f WorkflowId, flow: &'f Flow) -> impl Iterator<Item = Site> + 'f {
    flow.steps.keys().map(move |node| (id.clone(), node.clone()))
}

pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Draws the workflows of a seed.
pub(crate) fn runner() -> TestRunner {
    let seed = number("PORTOLAN_SEED", 0);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed as u8; 32]);
    TestRunner::new_with_rng(Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() }, rng)
}

/// What a proof refutes: where runs are caught and lose their way, and what never happens.
pub(crate) fn refutations_text(proof: &Proof) -> String {
    let traps: Vec<_> = proof.finishes.refutations().iter().map(|trap| (&trap.round, trap.goes_round)).collect();
    let astray: Vec<_> = proof.has_ways.refutations().iter().map(|astray| &astray.at).collect();
    format!("{traps:?} {astray:?} {:?}", proof.alive.refutations())
}

/// Draws workflows, and compares. Says how many were compared, too large, and undecided.
fn all_agree(what: &str, files: impl Strategy<Value = Files>) {
    let count = number("PORTOLAN_PROOFS", 12);
    let mut runner = runner();
    let (mut compared_with, mut large, mut refuted, mut undecided) = (0, 0, 0, 0);
    let (mut least, mut most) = (0, 0);
    let (mut ending, mut exact) = (0, 0);
    let (mut wrong, mut untold) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let files = crate::current(&files, &mut runner);
        let Some(workflow) = repaired(&files.0) else { continue };
        let Some((proof, is, came)) = compared(&workflow) else {
            large += 1;
            continue;
        };
        compared_with += 1;
        refuted += u64::from(!proof.finishes.refutations().is_empty());
        undecided += usize::from(matches!(proof.alive, Proven::Undecided(_)));
        let text = || files.0.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let lines = |run: &Counterexample| {
            let lines = run.lines.iter().map(|line| format!("{}: {}\n", line.node, line.what));
            lines.collect::<String>()
        };
        untold.extend(astray_runs(&proof).map(|run| format!("{}{}", lines(run), text())));
        if let (Some(moves), Some(costs), true) = (is.moves, &proof.costs, proof.cycles.is_empty()) {
            least += moves;
            most += costs.most.moves;
        }
        if let (Some(fewest), Some(costs)) = (is.least, &proof.costs) {
            exact += usize::from(fewest == costs.least.moves);
            ending += 1;
        }
        if let Err(why) = came {
            wrong.push(format!("{why}\n{}", text()));
        }
    }
    println!(
        "{what}: {compared_with} compared, {refuted} cannot finish, {large} too large for brute force, {undecided} undecided, {} runs that the engine does not go, {least} moves at most where {most} are said, the fewest exact for {exact} of {ending}, {} wrong",
        untold.len(),
        wrong.len()
    );
    wrong.sort_by_key(String::len);
    untold.sort_by_key(String::len);
    if let Some(shortest) = untold.first() {
        println!("the shortest run that the engine does not go:\n{shortest}");
    }
    assert!(wrong.is_empty(), "{} of {compared_with} differ; the shortest:\n{}", wrong.len(), wrong[0]);
    assert!(untold.is_empty(), "{} runs lead nowhere; the shortest:\n{}", untold.len(), untold[0]);
    assert!(undecided * 100 <= compared_with, "{undecided} of {compared_with} are not decided");
}

#[test]
fn the_analysis_and_brute_force_agree_about_navigator_files() {
    all_agree("navigator", crate::generate::files());
}

#[test]
fn the_analysis_and_brute_force_agree_about_activities() {
    all_agree("activities", crate::activities::files());
}

#[test]
fn the_analysis_and_brute_force_agree_about_tool_graphs() {
    all_agree("tool graphs", crate::graphs::calls());
}

#[test]
fn the_analysis_and_brute_force_agree_about_states() {
    all_agree("states", crate::graphs::states());
}

#[test]
fn the_analysis_and_brute_force_agree_about_phases() {
    all_agree("phases", crate::activities::phases());
}
