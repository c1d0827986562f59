//! Nothing goes round for ever: not an agent whose every step succeeds, and not the engine by itself.
//!
//! A circle is left by another outcome of a question, by a condition, or at the limit of a loop. A condition that reads
//! only what nothing in the circle gives a value to decides once: the run leaves there at its first pass, or never.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::{Map as Object, Value};

use super::{Code, Rule};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::expr::{Expr, Scope, never};
use crate::graph::{Edge, Kind, LoopKind, Node, Trigger};
use crate::validate::circles::circles;
use crate::validate::map::Map;
use crate::value::NodeId;

pub(super) const RULE: Rule = Rule {
    codes: &[
        Code {
            code: "endless-loop",
            what: "A run goes round in a circle and never comes to an end: an agent whose every step succeeds, or the engine by itself where all work is conditional.",
            fix: "Let the circle be left on success, and repeated on `failed` or on another declared outcome; let something in it change what the conditions read.",
        },
        Code {
            code: "never-set",
            what: "A loop goes through the items of an array that nothing gives a value to.",
            fix: "Let a step report it, give it a default, or say with `required: true` that a run begins with it.",
        },
    ],
    check,
};

/// How many nodes are looked at for all conditions together.
const MAX_VISITS: usize = 4_000_000;

fn check(map: &Map<'_>, faults: &mut Vec<Diagnostic>) {
    // What a switch of a function does by default is no success: it may well go round, within its limits.
    if map.graph.interface.is_some() {
        return;
    }
    let rounds = Rounds::of(map);
    let mut told = rounds.without_exit(faults);
    rounds.decided_once(&mut told, faults);
    rounds.of_nothing(&told, faults);
    for node in map.nodes() {
        faults.extend(loop_over_nothing(map, node));
    }
}

/// The ways on when everything succeeds, by the numbers of the nodes.
struct Rounds<'m, 'g> {
    map: &'m Map<'g>,
    nodes: IndexMap<&'g NodeId, &'g Node>,
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    circle: Vec<usize>,
}

impl<'m, 'g> Rounds<'m, 'g> {
    fn of(map: &'m Map<'g>) -> Rounds<'m, 'g> {
        let nodes: IndexMap<&NodeId, &Node> = map.nodes().map(|node| (&node.id, node)).collect();
        let numbered = |node: &&'g Node| -> Vec<usize> {
            on_success(map, node).into_iter().filter_map(|id| nodes.get_index_of(id)).collect()
        };
        let next: Vec<Vec<usize>> = nodes.values().map(numbered).collect();
        let mut before = vec![Vec::new(); next.len()];
        for (node, following) in next.iter().enumerate() {
            following.iter().for_each(|other| before[*other].push(node));
        }
        let circle = circles(&next);
        Rounds { map, nodes, next, before, circle }
    }

    /// Circles that no way leads out of. Gives the numbers of those circles.
    fn without_exit(&self, faults: &mut Vec<Diagnostic>) -> BTreeSet<usize> {
        let edges = || self.next.iter().enumerate().flat_map(|(from, next)| next.iter().map(move |to| (from, *to)));
        let same = |(from, to): (usize, usize)| self.circle[from] == self.circle[to];
        let round: BTreeSet<usize> = edges().filter(|edge| same(*edge)).map(|(from, _)| self.circle[from]).collect();
        let left: BTreeSet<usize> = edges().filter(|edge| !same(*edge)).map(|(from, _)| self.circle[from]).collect();
        let endless: BTreeSet<usize> = round.difference(&left).copied().collect();
        let mut told = BTreeSet::new();
        for (at, node) in self.nodes.values().enumerate() {
            // Where nothing leads to an end at all, that is the fault.
            if endless.contains(&self.circle[at]) && self.map.comes_to_an_end(&node.id) && told.insert(self.circle[at])
            {
                let message = format!("when every step succeeds, `{}` is reached again and again", node.id);
                let fault = Diagnostic::error("endless-loop", message).at(node.span);
                let help = "let success leave the loop, and `failed` repeat it; `passed` is success, or else the outcome that comes first";
                faults.push(fault.help(help).repaired("a run that succeeds there goes round"));
            }
        }
        endless
    }

    /// Circles that are only left by a condition which nothing in them can change.
    fn decided_once(&self, told: &mut BTreeSet<usize>, faults: &mut Vec<Diagnostic>) {
        let mut visits = 0;
        for (at, node) in self.nodes.values().enumerate() {
            let guards = self.map.guards(&node.id);
            if guards.is_empty() || node.kind != Kind::Switch || told.contains(&self.circle[at]) {
                continue;
            }
            let read: Option<Vec<Vec<&str>>> = guards.iter().map(|(guard, _)| names(&guard.value)).collect();
            let Some(read) = read else { continue };
            let read: BTreeSet<&str> = read.into_iter().flatten().collect();
            for (way, edge) in self.map.leaving(&node.id).iter().enumerate() {
                let Some(to) = self.nodes.get_index_of(&edge.to.value) else { continue };
                let stays = self.circle[to] == self.circle[at];
                if !stays || !self.may_be_taken(node, way) {
                    continue;
                }
                let Some(round) = self.round(at, to, &mut visits) else { continue };
                if visits > MAX_VISITS {
                    return;
                }
                if !round.iter().any(|inside| gives(self.nodes[*inside], &read)) {
                    faults.push(decides_once(self.map, edge, &read));
                    told.insert(self.circle[at]);
                    break;
                }
            }
        }
    }

    /// Whether some values have a switch take a way.
    fn may_be_taken(&self, node: &Node, way: usize) -> bool {
        let leaving = self.map.leaving(&node.id);
        let guard = |edge: &&'g Edge| match &edge.on {
            Trigger::When(guard) => Some(&guard.value),
            _ => None,
        };
        let own: Vec<&Expr> = guard(&leaving[way]).into_iter().collect();
        // The way without a condition is taken when no other is.
        let before = if own.is_empty() { leaving.len() } else { way };
        let earlier: Vec<&Expr> = leaving[..before].iter().filter_map(guard).collect();
        !never(&own, &earlier, &|path, value| self.map.known().can_be(&node.id, path, value))
    }

    /// The nodes of the circle that leads from `at` by its way to `to` back to `at`; nothing where there is another way
    /// out of it.
    fn round(&self, at: usize, to: usize, visits: &mut usize) -> Option<BTreeSet<usize>> {
        let mut walk = |from: usize, next: &[Vec<usize>]| {
            let mut reached = BTreeSet::new();
            let mut waiting = vec![from];
            while let Some(node) = waiting.pop() {
                *visits += 1;
                if reached.insert(node) && node != at && *visits <= MAX_VISITS {
                    waiting.extend(&next[node]);
                }
            }
            reached
        };
        let ahead = walk(to, &self.next);
        if !ahead.contains(&at) {
            return None;
        }
        let mut round = BTreeSet::from([at]);
        let mut waiting: Vec<usize> = vec![at];
        while let Some(node) = waiting.pop() {
            let behind = self.before[node].iter().filter(|before| ahead.contains(before) && **before != at);
            waiting.extend(behind.filter(|before| round.insert(**before)));
        }
        let leaves = |node: &usize| *node != at && self.next[*node].iter().any(|next| !round.contains(next));
        (!round.iter().any(leaves)).then_some(round)
    }

    /// Circles in which nothing is done: every condition in them reads what nobody gives a value to.
    fn of_nothing(&self, told: &BTreeSet<usize>, faults: &mut Vec<Diagnostic>) {
        let unset = Unset::of(self.map);
        let next: Vec<Option<usize>> = self.nodes.values().map(|node| self.by_itself(node, &unset)).collect();
        let mut walk_of = vec![None; next.len()];
        for first in 0..next.len() {
            let mut at = Some(first);
            while let Some(node) = at.filter(|node| walk_of[*node].is_none()) {
                walk_of[node] = Some(first);
                at = next[node];
            }
            let Some(node) = at.filter(|node| walk_of[*node] == Some(first) && !told.contains(&self.circle[*node]))
            else {
                continue;
            };
            let round = std::iter::successors(next[node], |at| next[*at].filter(|_| *at != node));
            let round: Vec<&Node> = round.map(|at| self.nodes[at]).collect();
            faults.extend(does_nothing(self.map, &round));
        }
    }

    /// Where the engine goes from a node without anybody doing anything, as long as what nobody gives a value to has
    /// the one that it had at first.
    fn by_itself(&self, node: &Node, unset: &Unset<'_>) -> Option<usize> {
        let to = match &node.kind {
            Kind::Start | Kind::Activity => &self.map.edge_on(&node.id, "passed")?.to.value,
            Kind::Switch => {
                let mut taken = None;
                for (guard, edge) in self.map.guards(&node.id) {
                    if unset.holds(&guard.value)? {
                        taken = Some(&edge.to.value);
                        break;
                    }
                }
                match taken {
                    Some(to) => to,
                    None => &self.map.edge_on(&node.id, "passed")?.to.value,
                }
            }
            Kind::Loop(looping) => {
                let LoopKind::While(condition) = &looping.kind else { return None };
                if unset.holds(condition)? {
                    return None;
                }
                &self.map.edge_on(&node.id, "passed")?.to.value
            }
            _ => return None,
        };
        self.nodes.get_index_of(to)
    }
}

/// Where success leads from a node: by its first outcome, by each answer and each condition, and from a fork to its join.
fn on_success<'g>(map: &Map<'g>, node: &'g Node) -> Vec<&'g NodeId> {
    let all = || map.leaving(&node.id).iter().map(|edge| &edge.to.value);
    let on = |outcome: &str| map.edge_on(&node.id, outcome).map(|edge| &edge.to.value);
    match &node.kind {
        Kind::Fork { join, .. } => vec![&join.value],
        Kind::Switch | Kind::Loop(_) | Kind::Activity => all().collect(),
        Kind::Checkpoint { .. } => map.outcomes(node).iter().filter_map(|outcome| on(outcome.as_str())).collect(),
        _ => map.outcomes(node).first().and_then(|outcome| on(outcome.as_str())).into_iter().collect(),
    }
}

/// The names that a condition reads; nothing where it cannot be told.
fn names(expr: &Expr) -> Option<Vec<&str>> {
    match expr {
        Expr::When(when) => Some(when.names()),
        Expr::Condition(condition) => Some(condition.names()),
        _ => None,
    }
}

/// Whether being at a node may give one of these a value.
fn gives(node: &Node, names: &BTreeSet<&str>) -> bool {
    node.gives_all() || node.gives().iter().any(|name| names.contains(name))
}

fn decides_once(map: &Map<'_>, edge: &Edge, read: &BTreeSet<&str>) -> Diagnostic {
    let to = &edge.to.value;
    let declared = |name: &&str| map.graph.variables.iter().any(|variable| variable.name.value == *name);
    let names: Vec<&str> = read.iter().copied().filter(declared).collect();
    let when = match &edge.on {
        Trigger::When(guard) if !names.is_empty() => format!("when `{}` holds", clip(&guard.value.text())),
        Trigger::When(_) => "then".to_owned(),
        _ => "when no condition holds".to_owned(),
    };
    let (why, help) = match asked_once(map, read) {
        Some(question) if names.is_empty() => (
            format!("`{question}`, which may lead out, is asked once in a run"),
            "leave its `scope` out, so that each visit asks again; or let another way lead out",
        ),
        _ => (
            format!("nothing on the way round changes {}", list(&names)),
            "let a step report it on the way (`outputs`), or an action or an answer set it; or let another way lead out",
        ),
    };
    let message = format!("{when}, `{to}` is reached again and again: {why}");
    Diagnostic::error("endless-loop", message)
        .at(edge.on_span())
        .help(help)
        .repaired("a run that comes there goes round")
}

/// The question whose first answer is remembered under one of these names.
fn asked_once<'g>(map: &Map<'g>, names: &BTreeSet<&str>) -> Option<&'g str> {
    let question = |node: &&Node| matches!(node.kind, Kind::Checkpoint { .. }) && gives(node, names);
    map.nodes().find(question).map(|node| node.name.as_str())
}

fn does_nothing(map: &Map<'_>, round: &[&Node]) -> Option<Diagnostic> {
    let first = round.iter().find(|node| node.kind == Kind::Activity).or(round.first())?;
    let conditions = round.iter().flat_map(|node| map.guards(&node.id));
    let read: BTreeSet<&str> = conditions.filter_map(|(guard, _)| names(&guard.value)).flatten().collect();
    let names = list(&read.into_iter().collect::<Vec<_>>());
    let message = format!("nothing is done on the way from `{}` back to it: nobody gives {names} a value", first.id);
    let help = "let a step report it (`outputs`), or an answer or an action set it; or say with `required: true` that a run begins with it";
    let fault = Diagnostic::error("endless-loop", message).at(first.span).help(help);
    Some(fault.repaired("a person is asked"))
}

/// The variables that nothing in a workflow gives a value to, with the value that each has at first.
struct Unset<'g> {
    names: BTreeSet<&'g str>,
    values: Value,
}

impl<'g> Unset<'g> {
    fn of(map: &Map<'g>) -> Unset<'g> {
        let mut unset = Unset { names: BTreeSet::new(), values: Value::Object(Object::new()) };
        if map.nodes().any(Node::gives_all) {
            return unset;
        }
        let given: BTreeSet<&str> = map.nodes().flat_map(Node::gives).collect();
        for variable in &map.graph.variables {
            let name = variable.name.value.as_str();
            // What a run must begin with may have any value.
            let any = variable.required && variable.default.is_none();
            if any || given.contains(name) {
                continue;
            }
            unset.names.insert(name);
            if let Some(default) = &variable.default {
                unset.values[name] = default.clone();
            }
        }
        unset
    }

    /// Whether a condition holds; nothing where it reads something else.
    fn holds(&self, expr: &Expr) -> Option<bool> {
        let read = names(expr)?;
        if !read.iter().all(|name| self.names.contains(name)) {
            return None;
        }
        expr.holds(&Scope::of(&self.values)).ok()
    }
}

fn loop_over_nothing(map: &Map<'_>, node: &Node) -> Option<Diagnostic> {
    let Kind::Loop(looping) = &node.kind else { return None };
    let LoopKind::ForEach { over, .. } = &looping.kind else { return None };
    let text = over.text().replace('`', "");
    let name = text.split('.').next().unwrap_or_default();
    let variable = map.graph.variables.iter().find(|variable| variable.name.value == name)?;
    let begins_with_it = variable.required || variable.default.is_some();
    if begins_with_it || map.nodes().any(|node| gives(node, &BTreeSet::from([name]))) {
        return None;
    }
    let message = format!("the loop `{}` goes through `{}`, which nothing gives a value to", node.name, clip(&text));
    let help =
        "let a step report it (`outputs`), give it a `default`, or say with `required: true` that a run begins with it";
    Some(Diagnostic::error("never-set", message).at(node.span).help(help).repaired("a person is asked for it"))
}
