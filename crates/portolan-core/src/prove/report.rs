//! Reports a proof to the author of a definition: findings with their places, and one line.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bound, Conclusion, Counterexample, Dead, NodeRef, Proof, RunCounts, Trap};
use crate::diagnostic::{Code, Diagnostic, clip, list};
use crate::expr::condition_names;
use crate::graph::{Bounds, Kind, LoopKind, Node, Step, Workflow};
use crate::source::Span;
use crate::value::{NodeId, WorkflowId};

/// The codes that only the analysis reports.
pub const CODES: &[Code] = &[
    Code {
        code: "cannot-finish",
        what: "A run can reach a position from which it can never finish: it repeats the same steps forever, or it \
               cannot continue at all. A failed step, the value of a variable, or a question without a possible answer \
               can lead it there.",
        fix: "Let a step in the cycle change what its conditions read, or add an edge that leads out of the cycle. \
              `--explain cannot-finish` shows how a run reaches this position.",
    },
    Code {
        code: "never-happens",
        what: "A step is never reached, an answer can never be given, or an edge is never taken, whatever the agent, \
               people and tools do. No edge leads there from the start, the conditions on the path contradict each \
               other, or what they read never has such a value.",
        fix: "Correct the conditions on the path, add the missing edge, or remove the part that never happens.",
    },
    Code {
        code: "may-have-no-way",
        what: "A run can reach a choice of which no condition holds, or a loop whose array has no value. A person must \
               then decide, because the definition does not.",
        fix: "Add an edge without a condition, or give the variables that the conditions or the loop read a `default`. \
              `--explain may-have-no-way` shows how a run reaches this position.",
    },
];

/// A finding with its counterexample.
#[derive(Clone, Debug)]
pub struct ProofFinding {
    /// The finding.
    pub diagnostic: Diagnostic,
    /// The run that shows it; `None` if no run does.
    pub run: Option<Counterexample>,
}

impl Proof {
    /// Checks whether a bound was reached before the verdict on a property.
    pub fn is_undecided(&self) -> bool {
        let of_ends = [&self.finishes, &self.ends];
        of_ends.iter().any(|conclusion| matches!(conclusion, Conclusion::Undecided(_)))
            || matches!(self.alive, Conclusion::Undecided(_))
            || matches!(self.has_ways, Conclusion::Undecided(_))
    }

    /// Returns the refutations for the root flow of the workflow. Those for its subflows are reported where they are
    /// checked.
    pub fn findings(&self, workflow: &Workflow) -> Vec<ProofFinding> {
        let traps = self.finishes.refutations().iter().map(|trap| trapped(workflow, trap));
        let astray = self
            .has_ways
            .refutations()
            .iter()
            .map(|astray| ProofFinding { diagnostic: no_way(workflow, &astray.at), run: Some(astray.run.clone()) });
        let unseen = UnreachedNodes::of(workflow, self.alive.refutations());
        let dead = self.alive.refutations().iter().filter_map(|dead| unseen.diagnostic(workflow, dead));
        let dead = dead.map(|diagnostic| ProofFinding { diagnostic, run: None });
        traps.chain(astray).chain(dead).collect()
    }

    /// Returns the result in one line: `can always finish · nothing dead · loops: review (a person's)`; or why it is
    /// unknown.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        let verdicts = [
            (truth(&self.finishes), "can always finish"),
            (truth(&self.alive), "nothing dead"),
            (truth(&self.has_ways), "always a way"),
        ];
        parts.extend(verdicts.iter().filter(|(is, _)| *is == Some(true)).map(|(_, text)| (*text).to_owned()));
        if let Some(costs) = &self.costs {
            let counted = [("at least", counts(&costs.least)), ("at most", counts(&costs.most))];
            let limits = [("limits:", limits(&costs.declared))];
            let nonempty = counted.into_iter().chain(limits).filter(|(_, texts)| !texts.is_empty());
            parts.extend(nonempty.map(|(what, texts)| format!("{what} {}", texts.join(", "))));
        }
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

    /// Returns the bound, if one was reached.
    pub fn bound(&self) -> Option<Bound> {
        match &self.alive {
            Conclusion::Undecided(bound) => Some(*bound),
            _ => None,
        }
    }
}

/// The maximum number of reported loops.
const MAX_TOLD: usize = 4;

impl Bound {
    /// Describes the bound in words for a sentence.
    pub fn text(&self) -> String {
        match self {
            Bound::States(most) => format!("more than {most} states, raise `--states`"),
            Bound::Bytes(most) => format!("more than {} MB", most >> 20),
            Bound::Ways => "one choice depends on too many combinations".to_owned(),
            Bound::Time => "the time limit was reached, raise `--seconds`".to_owned(),
            Bound::Size(_) => "the definition is too large".to_owned(),
            Bound::NeverOpened => "no run of it can be opened".to_owned(),
        }
    }
}

fn truth<T>(verdict: &Conclusion<T>) -> Option<bool> {
    match verdict {
        Conclusion::Proved => Some(true),
        Conclusion::Refuted(_) => Some(false),
        Conclusion::Undecided(_) => None,
    }
}

/// Describes the counts of a run that are not 0, in the order of the fields.
fn counts(counts: &RunCounts) -> Vec<String> {
    let counted = [
        (counts.moves, "move"),
        (counts.answers, "answer"),
        (counts.checks, "check"),
        (counts.calls, "call"),
        (counts.attempts, "attempt"),
    ];
    counted.iter().filter(|(count, _)| *count > 0).map(|(count, word)| several(*count, word)).collect()
}

/// Describes the declared limits of a run.
fn limits(declared: &Bounds) -> Vec<String> {
    let counted =
        [(declared.model_calls, "model call"), (declared.tool_calls, "tool call"), (declared.tokens, "token")];
    let counted = counted.iter().filter_map(|(limit, word)| limit.map(|limit| several(limit, word)));
    let money = declared.microdollars.map(|limit| format!("${}", limit as f64 / 1e6));
    let time = declared.ms.map(|limit| format!("{} s", limit as f64 / 1e3));
    counted.chain(money).chain(time).collect()
}

fn several(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Describes a loop by its first node, and whether a person decides to leave it.
fn cycle(cycle: &super::Cycle) -> String {
    let name = cycle.nodes.first().map_or("", |place| place.node.as_str());
    let whose = if cycle.by_person { "unbounded, a person's" } else { "unbounded" };
    format!("{name} ({whose})")
}

fn step<'w>(workflow: &'w Workflow, place: &NodeRef) -> Option<&'w Step> {
    workflow.find(place.flow.as_str())?.steps.get(&place.node)
}

/// Returns the span of a node if it is in the text of the workflow itself.
fn span(workflow: &Workflow, place: &NodeRef) -> Option<Span> {
    let step = step(workflow, place).filter(|_| place.flow == *workflow.id())?;
    Some(step.node.span).filter(|span| *span != Span::default())
}

fn at(diagnostic: Diagnostic, span: Option<Span>) -> Diagnostic {
    Diagnostic { span, ..diagnostic }
}

/// Formats a node for a sentence, with its flow if that is another one.
fn named(workflow: &Workflow, place: &NodeRef) -> String {
    match place.flow == *workflow.id() {
        true => place.node.to_string(),
        false => format!("{}/{}", place.flow, place.node),
    }
}

fn trapped(workflow: &Workflow, trap: &Trap) -> ProofFinding {
    let names: Vec<String> = trap.round.iter().map(|place| named(workflow, place)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = match trap.goes_round {
        true => format!("a run can reach a cycle that it never leaves: {}", list(&names)),
        false => format!("a run can reach `{}` and never continue from there", named(workflow, &trap.at)),
    };
    let read: BTreeSet<&str> = trap.round.iter().filter_map(|place| step(workflow, place)).flat_map(read).collect();
    let read: Vec<&str> = read.into_iter().collect();
    let help = match read.as_slice() {
        [] => "add an edge that leads out".to_owned(),
        read => format!("let a step in the cycle change {}, or add an edge that leads out", list(read)),
    };
    let place = trap.round.iter().find_map(|place| span(workflow, place)).or(span(workflow, &trap.at));
    // The activities format does not define the targets of ways, and its own program accepts cycles.
    let is_advice = !workflow.flow(&trap.at.flow).activities.is_empty();
    let finding = match is_advice {
        true => Diagnostic::warning("cannot-finish", message),
        false => Diagnostic::error("cannot-finish", message),
    };
    let diagnostic = at(finding.help(help), place);
    ProofFinding { diagnostic, run: Some(trap.run.clone()) }
}

/// Returns the names that a choice or a loop reads.
fn read(step: &Step) -> Vec<&str> {
    let guards = step.exits.guards.iter().map(|(guard, _)| guard);
    let looping = match &step.node.kind {
        Kind::Loop(looping) if !matches!(looping.kind, LoopKind::ForEach { .. }) => Some(looping.condition()),
        _ => None,
    };
    guards.chain(looping).filter_map(condition_names).flatten().filter(|name| !name.starts_with('_')).collect()
}

fn no_way(workflow: &Workflow, place: &NodeRef) -> Diagnostic {
    let read = step(workflow, place).map(read).unwrap_or_default();
    let what = if read.is_empty() { String::new() } else { format!(", depending on {}", list(&read)) };
    let message = format!("a run may be unable to continue from `{}`{what}", named(workflow, place));
    let help = "add an edge without a condition, or give what it reads a `default`";
    at(Diagnostic::warning("may-have-no-way", message).help(help), span(workflow, place))
}

/// The nodes that are never reached.
struct UnreachedNodes<'p, 'w> {
    nodes: BTreeSet<&'p NodeRef>,
    /// The reachable steps that lead to them.
    leading: BTreeMap<NodeRef, Vec<&'w Step>>,
    /// Those to report: the others are reachable only from them.
    reported: BTreeSet<&'p NodeRef>,
}

impl<'p, 'w> UnreachedNodes<'p, 'w> {
    fn of(workflow: &'w Workflow, dead: &'p [Dead]) -> UnreachedNodes<'p, 'w> {
        let in_order: Vec<&NodeRef> = dead
            .iter()
            .filter_map(|dead| match dead {
                Dead::Node(place) => Some(place),
                Dead::Outcome(..) | Dead::Way(..) => None,
            })
            .collect();
        let nodes: BTreeSet<&NodeRef> = in_order.iter().copied().collect();
        let mut leading: BTreeMap<NodeRef, Vec<&Step>> = BTreeMap::new();
        // Those that have an unreachable predecessor.
        let mut behind: BTreeSet<NodeRef> = BTreeSet::new();
        for (id, flow) in workflow.flows().filter(|_| !nodes.is_empty()) {
            for step in flow.steps.values() {
                let from = NodeRef { flow: id.clone(), node: step.node.id.clone() };
                for to in targets(step, id).filter(|to| nodes.contains(to) && *to != from) {
                    if nodes.contains(&from) {
                        behind.insert(to);
                    } else {
                        leading.entry(to).or_default().push(step);
                    }
                }
            }
        }
        let (later, first): (Vec<&NodeRef>, Vec<&NodeRef>) =
            in_order.iter().partition(|place| behind.contains(place) && !leading.contains_key(place));
        let (mut reported, mut covered) = (BTreeSet::new(), BTreeSet::new());
        for place in first.into_iter().chain(later) {
            if covered.contains(place) {
                continue;
            }
            reported.insert(place);
            let mut waiting = vec![place.clone()];
            while let Some(at) = waiting.pop() {
                let on = step(workflow, &at).into_iter().flat_map(|step| targets(step, &at.flow));
                waiting.extend(on.filter(|to| nodes.contains(to) && !covered.contains(to)));
                covered.insert(at);
            }
        }
        UnreachedNodes { nodes, leading, reported }
    }

    /// Describes what never happens, unless another finding explains it.
    fn diagnostic(&self, workflow: &Workflow, dead: &Dead) -> Option<Diagnostic> {
        let (place, message, help) = match dead {
            Dead::Node(place) if !self.reported.contains(place) => return None,
            Dead::Node(place) => {
                let (why, help) = self.why(place);
                (place, format!("`{}` is never reached: {why}", place.node), help)
            }
            Dead::Outcome(place, outcome) => (place, format!("`{}` never ends with `{outcome}`", place.node), MEND),
            // An unreachable node is reported at the node itself.
            Dead::Way(place, to) if self.nodes.contains(&NodeRef { flow: place.flow.clone(), node: to.clone() }) => {
                return None;
            }
            Dead::Way(place, to) => {
                let from = step(workflow, place)?;
                (place, format!("`{}` never leads to `{to}`: {}", place.node, never_decide(from, to)), MEND)
            }
        };
        let span = span(workflow, place)?;
        Some(Diagnostic::warning("never-happens", message).at(span).help(help))
    }

    /// Explains why a node is never reached, and what to do.
    fn why(&self, place: &NodeRef) -> (String, &'static str) {
        match self.leading.get(place).and_then(|leading| leading.first()) {
            None => ("no edge leads there from the start".to_owned(), "add the missing edge to it, or remove it"),
            Some(from) if from.exits.guards.iter().any(|(_, to)| *to == place.node) => {
                (never_decide(from, &place.node), MEND)
            }
            Some(Step { node: Node { kind: Kind::Loop(looping), .. }, .. })
                if !matches!(looping.kind, LoopKind::ForEach { .. }) =>
            {
                (format!("`{}` never holds there", clip(&looping.condition().text())), MEND)
            }
            Some(from) => (format!("`{}` never leads to it", from.node.id), MEND),
        }
    }
}

/// The help for what never happens.
const MEND: &str = "correct the conditions on the path to it, or remove it";

/// Returns the targets of a step.
fn targets<'s>(step: &'s Step, flow: &'s WorkflowId) -> impl Iterator<Item = NodeRef> + 's {
    step.exits.targets().map(|node| NodeRef { flow: flow.clone(), node: node.clone() })
}

/// Explains that the conditions on a way do not decide: they do not hold at the choice, or an earlier one does.
fn never_decide(from: &Step, to: &NodeId) -> String {
    let guards = &from.exits.guards;
    let texts: Vec<String> = guards.iter().filter(|(_, on)| on == to).map(|(guard, _)| clip(&guard.text())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let holds = if texts.len() == 1 { "holds" } else { "hold" };
    let before = if guards.first().is_some_and(|(_, on)| on == to) { "" } else { ", or an earlier condition does" };
    format!("{} never {holds} there{before}", list(&texts))
}
