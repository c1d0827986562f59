//! What a proof says to the author of a definition: findings with their places, and one line.

use std::collections::BTreeSet;

use super::{Bound, Counterexample, Dead, Place, Proof, Trap, Verdict};
use crate::diagnostic::{Code, Diagnostic, list};
use crate::expr::condition_names;
use crate::graph::{Kind, LoopKind, Step, Workflow};
use crate::source::Span;
use crate::value::NodeId;

/// The codes that only the analysis reports.
pub const CODES: &[Code] = &[
    Code {
        code: "cannot-finish",
        what: "A run can come to where it can never finish: from there on it only goes round, or stands still. A step may fail, a variable may hold another value, or nobody may be able to answer what is needed.",
        fix: "Let something on the way round change what its conditions read, or let another way lead out. `--explain cannot-finish` shows how a run comes there.",
    },
    Code {
        code: "never-happens",
        what: "A step is never come to, an answer can never be given, or a way is never taken, whatever the agent, people and tools do: the conditions on the way to it contradict each other, or what they read never has such a value.",
        fix: "Correct the conditions on the way to it, or remove it.",
    },
    Code {
        code: "may-have-no-way",
        what: "A run can come to a choice of which no condition holds, or to a loop without a value for what it goes through. A person is then asked what the definition does not say.",
        fix: "Add a way without a condition, or give what the conditions read a `default`. `--explain may-have-no-way` shows how a run comes there.",
    },
];

/// A finding, and the run that shows it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is said of it.
    pub diagnostic: Diagnostic,
    /// How a run comes there; nothing where no run does.
    pub run: Option<Counterexample>,
}

impl Proof {
    /// What is refuted, in the flow that the workflow begins in. What its subflows lack is said where they are checked.
    pub fn findings(&self, workflow: &Workflow) -> Vec<Finding> {
        let traps = self.finishes.refutations().iter().map(|trap| trapped(workflow, trap));
        let astray = self
            .has_ways
            .refutations()
            .iter()
            .map(|astray| Finding { diagnostic: no_way(workflow, &astray.at), run: Some(astray.run.clone()) });
        let unseen = Unseen::of(workflow, self.alive.refutations());
        let dead = self.alive.refutations().iter().filter_map(|dead| unseen.told(workflow, dead));
        let dead = dead.map(|diagnostic| Finding { diagnostic, run: None });
        traps.chain(astray).chain(dead).collect()
    }

    /// What is proved, in one line: `can always finish · nothing dead · loops: review (a person's)`; or why it is not known.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        let verdicts = [
            (said(&self.finishes), "can always finish"),
            (said(&self.alive), "nothing dead"),
            (said(&self.has_ways), "always a way"),
        ];
        parts.extend(verdicts.iter().filter(|(is, _)| *is == Some(true)).map(|(_, text)| (*text).to_owned()));
        let cycles: Vec<String> = self.cycles.iter().take(MAX_TOLD).map(cycle).collect();
        if !cycles.is_empty() {
            let more = self.cycles.len() - cycles.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            parts.push(format!("loops: {}{more}", cycles.join(", ")));
        }
        match self.bound() {
            Some(bound) => format!("undecided: {}", bound.text()),
            None if parts.is_empty() => "proved: nothing".to_owned(),
            None => format!("proved: {}", parts.join(" · ")),
        }
    }

    /// The bound that was reached, if one was.
    pub fn bound(&self) -> Option<Bound> {
        match &self.alive {
            Verdict::Undecided(bound) => Some(*bound),
            _ => None,
        }
    }
}

/// How many loops are told.
const MAX_TOLD: usize = 4;

impl Bound {
    /// What was reached, as a sentence has it.
    pub fn text(&self) -> String {
        match self {
            Bound::States(most) => format!("more than {most} states, raise `--states`"),
            Bound::Bytes(most) => format!("more than {} MB", most >> 20),
            Bound::Ways => "one choice depends on too much at once".to_owned(),
            Bound::Time => "the time was up, raise `--seconds`".to_owned(),
            Bound::Size(_) => "the definition is too large".to_owned(),
            Bound::NeverOpened => "no run of it can be opened".to_owned(),
        }
    }
}

fn said<T>(verdict: &Verdict<T>) -> Option<bool> {
    match verdict {
        Verdict::Proved => Some(true),
        Verdict::Refuted(_) => Some(false),
        Verdict::Undecided(_) => None,
    }
}

/// A loop by its first node, and whose it is to leave it.
fn cycle(cycle: &super::Cycle) -> String {
    let name = cycle.nodes.first().map_or("", |place| place.node.as_str());
    let whose = if cycle.by_person { "a person's" } else { "unbounded" };
    format!("{name} ({whose})")
}

fn step<'w>(workflow: &'w Workflow, place: &Place) -> Option<&'w Step> {
    workflow.find(place.flow.as_str())?.steps.get(&place.node)
}

/// Where a node stands in the text of the workflow itself.
fn span(workflow: &Workflow, place: &Place) -> Option<Span> {
    let step = step(workflow, place).filter(|_| place.flow == *workflow.id())?;
    Some(step.node.span).filter(|span| *span != Span::default())
}

fn at(diagnostic: Diagnostic, span: Option<Span>) -> Diagnostic {
    Diagnostic { span, ..diagnostic }
}

/// A node as a sentence has it: with its flow, where that is another one.
fn named(workflow: &Workflow, place: &Place) -> String {
    match place.flow == *workflow.id() {
        true => place.node.to_string(),
        false => format!("{}/{}", place.flow, place.node),
    }
}

fn trapped(workflow: &Workflow, trap: &Trap) -> Finding {
    let names: Vec<String> = trap.round.iter().map(|place| named(workflow, place)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = match trap.goes_round {
        true => format!("a run can come to where it never finishes, and only goes round: {}", list(&names)),
        false => format!("a run can come to `{}` and never goes on from there", named(workflow, &trap.at)),
    };
    let read: BTreeSet<&str> = trap.round.iter().filter_map(|place| step(workflow, place)).flat_map(read).collect();
    let read: Vec<&str> = read.into_iter().collect();
    let help = match read.as_slice() {
        [] => "let another way lead out".to_owned(),
        read => format!("let something on the way round change {}, or let another way lead out", list(read)),
    };
    let place = trap.round.iter().find_map(|place| span(workflow, place)).or(span(workflow, &trap.at));
    // The format of activities says nothing about where ways lead: its own program takes what goes round.
    let is_advice = !workflow.flow(&trap.at.flow).activities.is_empty();
    let finding = match is_advice {
        true => Diagnostic::warning("cannot-finish", message),
        false => Diagnostic::error("cannot-finish", message),
    };
    let diagnostic = at(finding.help(help), place);
    Finding { diagnostic, run: Some(trap.run.clone()) }
}

/// The names that a choice or a loop asks for.
fn read(step: &Step) -> Vec<&str> {
    let guards = step.exits.guards.iter().map(|(guard, _)| guard);
    let looping = match &step.node.kind {
        Kind::Loop(looping) if !matches!(looping.kind, LoopKind::ForEach { .. }) => Some(looping.condition()),
        _ => None,
    };
    guards.chain(looping).filter_map(condition_names).flatten().filter(|name| !name.starts_with('_')).collect()
}

fn no_way(workflow: &Workflow, place: &Place) -> Diagnostic {
    let read = step(workflow, place).map(read).unwrap_or_default();
    let what = if read.is_empty() { String::new() } else { format!(", depending on {}", list(&read)) };
    let message = format!("it may be that no way leads on from `{}`{what}", named(workflow, place));
    let help = "add a way without a condition, or give what it reads a `default`";
    at(Diagnostic::warning("may-have-no-way", message).help(help), span(workflow, place))
}

/// What is never come to, and the part of it that something leads to.
#[derive(Default)]
struct Unseen<'p> {
    nodes: BTreeSet<&'p Place>,
    /// Those that a way leads to from what is come to.
    first: BTreeSet<Place>,
}

impl<'p> Unseen<'p> {
    fn of(workflow: &Workflow, dead: &'p [Dead]) -> Unseen<'p> {
        let nodes: BTreeSet<&Place> = dead
            .iter()
            .filter_map(|dead| match dead {
                Dead::Node(place) => Some(place),
                Dead::Outcome(..) | Dead::Way(..) => None,
            })
            .collect();
        let mut first = BTreeSet::new();
        for (id, flow) in workflow.flows().filter(|_| !nodes.is_empty()) {
            let place = |node: &NodeId| Place { flow: id.clone(), node: node.clone() };
            for step in flow.steps.values().filter(|step| !nodes.contains(&place(&step.node.id))) {
                first.extend(step.exits.targets().map(place).filter(|to| nodes.contains(to)));
            }
        }
        Unseen { nodes, first }
    }

    /// What never happens, where nothing else that is said explains it.
    fn told(&self, workflow: &Workflow, dead: &Dead) -> Option<Diagnostic> {
        let (place, message) = match dead {
            // Behind another one that is never come to, this one follows from that.
            Dead::Node(place) if !self.first.contains(place) => return None,
            Dead::Node(place) => (place, format!("`{}` is never come to, whatever happens", place.node)),
            Dead::Outcome(place, outcome) => (place, format!("`{}` is never left by `{outcome}`", place.node)),
            // What is never led to is said where it stands.
            Dead::Way(place, to) if self.nodes.contains(&Place { flow: place.flow.clone(), node: to.clone() }) => {
                return None;
            }
            Dead::Way(place, to) => {
                (place, format!("the condition that leads from `{}` to `{to}` never decides", place.node))
            }
        };
        let span = span(workflow, place)?;
        let help = "correct the conditions on the way to it, or remove it";
        Some(Diagnostic::warning("never-happens", message).at(span).help(help))
    }
}
