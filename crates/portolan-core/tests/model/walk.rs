//! A run under test: every event is decided, applied, journalled, and what must always hold is looked at.

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{Effect, EffectKind, Rejection, decide, fits, open};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::prove::{self, AnalysisLimits, Proof, prove};
use portolan_core::run::{
    Actor, Change, Channel, EffectId, EffectResult, Event, EventKind, FramePath, Opening, Rules, Run, Verdict, moves,
};
use portolan_core::source::Source;
use portolan_core::validate::validate;
use portolan_core::value::{Outcome, Timestamp};
use serde_json::Value;

/// How many states the analysis looks at: of a workflow that has more, nothing is promised here.
const MOST_STATES: usize = 1_000;

/// The workflow of the first file, when strict validation accepts every file and has no advice for any, and the analysis
/// finds no run that is caught or loses its way: what is promised of runs is promised where that was followed.
pub(crate) fn workflow(files: &[Value]) -> Option<Workflow> {
    proved(files).map(|(workflow, _)| workflow)
}

/// The same, where no circle is told of which somebody has to decide when it is left.
pub(crate) fn straight(files: &[Value]) -> Option<Workflow> {
    proved(files).filter(|(_, proof)| proof.cycles.is_empty()).map(|(workflow, _)| workflow)
}

fn proved(files: &[Value]) -> Option<(Workflow, Proof)> {
    let workflow = accepted(files)?;
    let proof = prove(&workflow, &AnalysisLimits { states: MOST_STATES, ..AnalysisLimits::default() }, &mut || false);
    let holds = (&proof.finishes, &proof.has_ways) == (&prove::Conclusion::Proved, &prove::Conclusion::Proved);
    holds.then_some((workflow, proof))
}

fn accepted(files: &[Value]) -> Option<Workflow> {
    let graphs: Vec<Graph> = files.iter().map(|file| graph(file, Strictness::Strict)).collect::<Option<_>>()?;
    let graphs: Vec<Graph> = graphs.into_iter().map(|graph| Graph { advised: false, ..graph }).collect();
    let library = |name: &str| graphs.iter().find(|graph| graph.id.value == name);
    let mut workflows = graphs.iter().map(|graph| validate(graph, &library, Strictness::Strict).0);
    workflows.clone().all(|workflow| workflow.is_some()).then(|| workflows.next().flatten()).flatten()
}

/// The first workflow of the first file, read as leniently as can be, if even that finds something to run.
pub(crate) fn repaired(files: &[Value]) -> Option<Workflow> {
    let files: Vec<Vec<Graph>> = files.iter().map(|file| parsed(file, Strictness::Lenient).0).collect();
    let first = files.iter().all(|graphs| !graphs.is_empty()).then(|| files.first()?.first()).flatten()?;
    let library = |name: &str| files.iter().flatten().find(|graph| graph.id.value == name);
    validate(first, &library, Strictness::Lenient).0
}

fn graph(file: &Value, strictness: Strictness) -> Option<Graph> {
    let (graphs, faults) = parsed(file, strictness);
    let is_advice = |fault: &Diagnostic| fault.code == "unknown-variable" && strictness == Strictness::Strict;
    graphs.into_iter().next().filter(|_| !faults.iter().any(is_advice))
}

fn parsed(file: &Value, strictness: Strictness) -> (Vec<Graph>, Vec<Diagnostic>) {
    // What is JSON is YAML as well, and only a file of one of the dialects is called otherwise.
    let ending = if file["nodes"].is_object() { "json" } else { "yaml" };
    let name = format!("{}.{ending}", file["id"].as_str().unwrap_or("file"));
    let dialect::File { graphs, faults } = dialect::parse(&Source::new(name, file.to_string()), strictness);
    (graphs, faults)
}

pub(crate) fn by_agent(what: EventKind) -> Event {
    Event { at: Timestamp(0), by: Actor::Agent("agent".to_owned()), what }
}

pub(crate) fn by_engine(what: EventKind) -> Event {
    Event { at: Timestamp(0), by: Actor::Engine, what }
}

pub(crate) fn by_person(what: EventKind) -> Event {
    Event { at: Timestamp(0), by: Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine }, what }
}

pub(crate) fn reported(frame: &FramePath, outcome: &Outcome, revision: Option<u64>) -> EventKind {
    EventKind::Reported { frame: frame.clone(), outcome: outcome.clone(), revision, note: None, outputs: None }
}

pub(crate) fn broken() -> Verdict {
    Verdict::Broken { reason: "exit status 1".to_owned(), output: String::new() }
}

/// A run, its journal, and the checks that were ever asked for.
#[derive(Clone)]
pub(crate) struct Walk<'w> {
    pub(crate) workflow: &'w Workflow,
    pub(crate) run: Run,
    pub(crate) journal: Vec<Change>,
    pub(crate) asked: Vec<EffectId>,
}

impl<'w> Walk<'w> {
    pub(crate) fn open(workflow: &'w Workflow, rules: Rules) -> Walk<'w> {
        let opening = Opening { rules, ..Opening::of(workflow.id().clone()) };
        Walk::opened(workflow, &opening)
    }

    pub(crate) fn opened(workflow: &'w Workflow, opening: &Opening) -> Walk<'w> {
        let journal = open(workflow, opening).expect("the workflow can be opened there");
        let run = Run::fold(&journal).expect("a journal begins with `Opened`");
        let mut walk = Walk { workflow, run, journal, asked: Vec::new() };
        walk.pass(Walk::happens);
        walk
    }

    /// Lets an event happen, and whatever needs nobody after it.
    pub(crate) fn happen(&mut self, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = self.happens(event)?;
        Ok([changes, self.pass(Walk::happens)].concat())
    }

    /// Executes what needs nobody, each node by an event of its own.
    fn pass(&mut self, happens: impl Fn(&mut Self, &Event) -> Result<Vec<Change>, Rejection>) -> Vec<Change> {
        let mut changes = Vec::new();
        while let Some(effect) = self.run.passing() {
            let passed = happens(self, &by_engine(effect.settled(EffectResult::Due, 0)));
            changes.extend(passed.expect("what is pending is accepted"));
        }
        changes
    }

    fn happens(&mut self, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = self.decide(&json(event))?;
        let before = self.run.revision;
        for change in &changes {
            self.run.apply(change);
        }
        assert_eq!(self.run.revision, before + changes.len() as u64, "the revision grows with every change");
        self.journal.extend(changes.iter().map(json));
        assert_eq!(Run::fold(&self.journal).as_ref(), Some(&self.run), "the run is the fold of its journal");
        assert_eq!(json(&self.run), self.run, "the run can be read back");
        assert_eq!(fits(self.workflow, &self.run), Ok(()), "the run fits its workflow");
        for id in self.pending() {
            if !self.asked.contains(&id) {
                self.asked.push(id);
            }
        }
        Ok(changes)
    }

    /// Lets an event happen as [`Walk::happen`] does, without reading everything back.
    pub(crate) fn take(&mut self, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = self.takes(event)?;
        Ok([changes, self.pass(Walk::takes)].concat())
    }

    fn takes(&mut self, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = self.decide(event)?;
        for change in &changes {
            self.run.apply(change);
        }
        self.journal.extend(changes.iter().cloned());
        for id in self.pending() {
            if !self.asked.contains(&id) {
                self.asked.push(id);
            }
        }
        Ok(changes)
    }

    /// What an event would make true.
    pub(crate) fn decide(&self, event: &Event) -> Result<Vec<Change>, Rejection> {
        decide(self.workflow, &self.run, event)
    }

    /// The checks that wait for a verdict.
    pub(crate) fn pending(&self) -> Vec<EffectId> {
        let effects = self.run.pending(self.workflow).into_iter();
        effects
            .filter_map(|effect| match effect {
                Effect { id, what: EffectKind::Check(_), .. } => Some(id),
                _ => None,
            })
            .collect()
    }

    /// Every offered move, as an event that a person makes.
    pub(crate) fn offers(&self) -> Vec<(FramePath, Event)> {
        let mut offers = Vec::new();
        for (path, frame) in self.run.positions() {
            for offer in moves(self.workflow, frame) {
                let revision = Some(frame.since);
                let what = match offer.outcome() {
                    Some(outcome) => reported(&path, outcome, revision),
                    None => EventKind::Begun { revision },
                };
                offers.push((path.clone(), by_person(what)));
            }
        }
        offers
    }
}

fn json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("it can be read back: {error}: {text}"))
}
