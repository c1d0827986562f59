//! A workflow as text for a terminal: its nodes in the order of a run, and their targets.

use std::collections::{BTreeSet, VecDeque};

use super::check_words::looks_at;
use super::picture::{cut, one_line};
use super::trace::function_word;
use crate::graph::{
    ATTACHMENTS, CheckedSteps, DEFAULT_RETRIES, Escalation, FailureHandling, Flow, Kind, Node, NodeCheck, Step,
    Strategy, Workflow,
};
use crate::value::{FAILED, NodeId, PASSED, WorkflowId};

/// Returns one line for each node that a run can reach, beginning with the main line of work.
///
/// Branches are indented under their fork, and a subflow's workflow under the first subflow that runs it. After a
/// heading, every node is `id  kind  name  targets`; further exits and checks follow under the name.
pub fn outline(workflow: &Workflow) -> String {
    outline_with(workflow, &|_, _, _| None)
}

/// Returns the outline with the line numbers of checks that the project's file attaches.
pub fn outline_with(workflow: &Workflow, attached_in: &AttachedIn<'_>) -> String {
    let mut outline = Outline { workflow, attached_in, rows: Vec::new(), shown: BTreeSet::new(), defaults: false };
    outline.flow(workflow.id(), 0);
    let mut text = heading(workflow);
    text += &table(&outline.rows);
    if outline.defaults {
        text += &format!(
            "\nWhere no `failed` is shown, failed work is tried again up to {DEFAULT_RETRIES} times; \
             then a person decides.\n"
        );
    }
    text + &believed(workflow)
}

/// A function that returns the line at which a check of a node is attached, if known.
pub type AttachedIn<'a> = dyn Fn(&WorkflowId, &Node, &NodeCheck<'_>) -> Option<usize> + 'a;

/// The maximum number of believed steps to list.
const MOST_BELIEVED: usize = 12;

/// Describes at how many steps something is checked, and which are believed.
fn believed(workflow: &Workflow) -> String {
    let CheckedSteps { checked, believed } = workflow.root().checked();
    let all = checked + believed.len();
    let named: Vec<&str> = believed.iter().take(MOST_BELIEVED).map(|node| node.as_str()).collect();
    let more = believed.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match (all, believed.len()) {
        (0, _) => String::new(),
        (_, 0) => format!("\nChecked: every step ({all}).\n"),
        _ if checked == 0 => format!("\nBelieved: every step ({all}); nothing is checked.\n"),
        _ => format!("\nChecked: {checked} of {all} steps. Believed: {}{more}.\n", one_line(&named.join(", "))),
    }
}

/// The maximum width of a heading or a detail.
const WIDTH: usize = 96;
/// The maximum length of a name or an outcome.
const NAME: usize = 60;
/// The maximum indentation.
const DEEPEST: usize = 24;
/// The maximum width of a column of identifiers or names.
const COLUMN: usize = 36;

struct Outline<'w> {
    workflow: &'w Workflow,
    attached_in: &'w AttachedIn<'w>,
    rows: Vec<Row>,
    shown: BTreeSet<&'w WorkflowId>,
    /// Whether a node leaves its retries to the rule in the last line.
    defaults: bool,
}

enum Row {
    Node { id: String, kind: &'static str, name: String, leads: String },
    Detail(String),
}

impl<'w> Outline<'w> {
    /// Appends the rows of a flow. Subflows nest at most `MAX_SUBFLOW_DEPTH` deep, so recursion is safe.
    fn flow(&mut self, id: &'w WorkflowId, depth: usize) {
        self.shown.insert(id);
        let flow = self.workflow.flow(id);
        for (inner, step) in walk(flow) {
            self.step(id, step, flow.interface.is_some(), depth + inner);
        }
    }

    fn step(&mut self, flow: &WorkflowId, step: &'w Step, called: bool, depth: usize) {
        let Step { node, exits } = step;
        let kind = if called { function_word(&node.kind) } else { node.kind.word() };
        let id = format!("{}{}", "  ".repeat(depth.min(DEEPEST)), one_line(node.id.as_str()));
        // A name that only repeats the identifier or the kind is left out.
        let tells = node.name != node.id.as_str() && !node.name.eq_ignore_ascii_case(kind);
        let name = if tells { cut(&one_line(&node.name), NAME) } else { String::new() };
        self.rows.push(Row::Node { id, kind, name, leads: leads(step) });
        if !goes_one_way(step) {
            let ways = exits.on.iter().map(|(on, to)| way(on.as_str(), to));
            self.rows.extend(ways.map(Row::Detail));
        }
        if let Kind::Join { strategy, .. } = &node.kind {
            self.rows.push(Row::Detail(gathered(*strategy).to_owned()));
        }
        self.failing(step);
        for check in node.checks() {
            let by = check.attached.then(|| attached((self.attached_in)(flow, node, &check)));
            self.rows.push(Row::Detail(checked(&check) + &by.unwrap_or_default()));
        }
        let guards = exits.guards.iter().map(|(guard, to)| way(&guard.text(), to));
        self.rows.extend(guards.map(Row::Detail));
        if let Some(workflow) = node.kind.runs() {
            self.subflow(&workflow.value, depth);
        }
    }

    fn failing(&mut self, step: &Step) {
        if matches!(step.node.kind, Kind::Start | Kind::End { .. } | Kind::Fork { .. }) {
            return;
        }
        let by_default =
            FailureHandling::Retries { to: step.node.id.clone(), budget: DEFAULT_RETRIES, exhausted: None };
        if step.exits.failing != by_default {
            self.rows.extend(failure(&step.exits.failing).map(Row::Detail));
        } else if step.node.seat.is_none() && !matches!(step.node.kind, Kind::Checkpoint { .. }) {
            self.defaults = true;
        }
    }

    fn subflow(&mut self, name: &str, depth: usize) {
        let flow = self.workflow.flows().map(|(id, _)| id).find(|id| id.as_str() == name);
        let Some(id) = flow else { return };
        if self.shown.contains(id) {
            self.rows.push(Row::Detail(format!("runs {}, which is shown above", one_line(name))));
        } else {
            self.rows.push(Row::Detail(format!("runs {}:", one_line(name))));
            self.flow(id, depth + 1);
        }
    }
}

/// Returns the reachable nodes, each with the number of forks around it.
///
/// The first exit of each node is followed first; the others wait until that line of work ends.
fn walk(flow: &Flow) -> Vec<(usize, &Step)> {
    struct Branches<'w> {
        waiting: VecDeque<&'w NodeId>,
        join: Option<&'w NodeId>,
    }
    let mut visited = BTreeSet::new();
    // The joins of the forks that are being walked: branches stop there.
    let mut held = BTreeSet::new();
    let mut walked = Vec::new();
    let mut open = vec![Branches { waiting: VecDeque::from([&flow.start]), join: None }];
    while let Some(branches) = open.last_mut() {
        let Some(id) = branches.waiting.pop_front() else {
            if let Some(join) = branches.join {
                held.remove(join);
            }
            open.pop();
            continue;
        };
        if held.contains(id) || !visited.insert(id) {
            continue;
        }
        let step = flow.step(id);
        let mut ways = step.exits.on.iter().map(|(_, to)| to);
        if let Some(first) = ways.next() {
            branches.waiting.push_front(first);
        }
        branches.waiting.extend(ways.chain(failure_targets(&step.exits.failing)));
        let join = match &step.node.kind {
            Kind::Fork { join, .. } => Some(&join.value).filter(|join| flow.steps.contains_key(*join)),
            _ => None,
        };
        if let Some(join) = join {
            branches.waiting.push_front(join);
        }
        walked.push((open.len() - 1, step));
        if !step.exits.branches.is_empty() {
            held.extend(join);
            open.push(Branches { waiting: step.exits.branches.iter().collect(), join });
        }
    }
    walked
}

fn failure_targets(failing: &FailureHandling) -> impl Iterator<Item = &NodeId> {
    let (first, second) = match failing {
        FailureHandling::Stays | FailureHandling::Ends => (None, None),
        FailureHandling::Leads(to) | FailureHandling::Caught(to) => (Some(to), None),
        FailureHandling::Retries { to, exhausted, .. } => (Some(to), exhausted.as_ref()),
    };
    first.into_iter().chain(second)
}

fn goes_one_way(step: &Step) -> bool {
    matches!(&step.exits.on[..], [] | [_]) && step.exits.on.iter().all(|(on, _)| on.as_str() == PASSED)
}

/// Returns the last column: the targets of a node, or what happens at it.
fn leads(step: &Step) -> String {
    match &step.node.kind {
        Kind::End { result, escalation } => {
            let consequence = match escalation {
                None => "",
                Some(Escalation::Hitl) => ", tells a person",
                Some(Escalation::Alert) => ", raises an alert",
                Some(Escalation::Ticket) => ", opens a ticket",
            };
            format!("ends: {}{consequence}", result.word())
        }
        Kind::Fork { join, max_concurrency } => {
            let count = step.exits.branches.len();
            let at_once = max_concurrency.map(|most| format!(", {most} at a time")).unwrap_or_default();
            format!("→ {count} {}{at_once} → {}", plural(count, "branch", "branches"), one_line(join.value.as_str()))
        }
        Kind::Call(call) => {
            let only = step.exits.passed().map(|to| one_line(to.as_str())).unwrap_or_default();
            format!("{}.{} → {only}", one_line(&call.server.value), one_line(&call.tool.value))
        }
        Kind::Start
        | Kind::Checkpoint { .. }
        | Kind::Work { .. }
        | Kind::Join { .. }
        | Kind::Subflow { .. }
        | Kind::Compute(_)
        | Kind::Switch
        | Kind::Activity
        | Kind::Loop(_)
        | Kind::Repeat { .. }
        | Kind::Each(_)
        | Kind::State(_) => {
            let only = step.exits.on.first().filter(|_| goes_one_way(step));
            only.map(|(_, to)| format!("→ {}", one_line(to.as_str()))).unwrap_or_default()
        }
    }
}

fn way(on: &str, to: &NodeId) -> String {
    format!("{} → {}", cut(&one_line(on), NAME), one_line(to.as_str()))
}

/// Describes the effect of a failure; `None` if the workflow simply fails with it.
fn failure(failing: &FailureHandling) -> Option<String> {
    let (to, budget, exhausted) = match failing {
        FailureHandling::Ends => return None,
        FailureHandling::Stays => return Some("stays until its checks hold".to_owned()),
        FailureHandling::Leads(to) | FailureHandling::Caught(to) => return Some(way(FAILED, to)),
        FailureHandling::Retries { to, budget, exhausted } => (to, *budget, exhausted),
    };
    let then = exhausted.as_ref().map_or_else(|| "a person decides".to_owned(), |to| one_line(to.as_str()));
    if budget == 0 {
        return Some(format!("{FAILED} → {then}"));
    }
    Some(format!("{} (retry up to {budget}, then {then})", way(FAILED, to)))
}

fn checked(check: &NodeCheck<'_>) -> String {
    cut(&format!("check {}: {}", one_line(check.id), looks_at(check)), WIDTH)
}

/// Formats the origin of a check that is attached outside the definition.
fn attached(line: Option<usize>) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!(" ({ATTACHMENTS}{line})")
}

fn gathered(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::AllPass => "passes when every branch has passed",
        Strategy::AnyPass => "passes when one branch has passed",
    }
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn heading(workflow: &Workflow) -> String {
    let flow = workflow.root();
    let id = one_line(workflow.id().as_str());
    let name = cut(&one_line(&flow.name), NAME);
    let title = if name == id || name.is_empty() { id } else { format!("{name} ({id})") };
    let mut text = format!("{title}\n");
    let mut width = 0;
    for word in one_line(&flow.description).split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        let fits = width > 0 && width + 1 + length <= WIDTH;
        text += match (width, fits) {
            (0, _) => "",
            (_, true) => " ",
            (_, false) => "\n",
        };
        width = if fits { width + 1 + length } else { length };
        text += word;
    }
    text + if width > 0 { "\n\n" } else { "\n" }
}

fn table(rows: &[Row]) -> String {
    let (mut ids, mut kinds, mut names) = (0, 0, 0);
    for row in rows {
        if let Row::Node { id, kind, name, .. } = row {
            ids = ids.max(id.chars().count().min(COLUMN));
            kinds = kinds.max(kind.len());
            names = names.max(name.chars().count().min(COLUMN));
        }
    }
    let mut text = String::new();
    for row in rows {
        let line = match row {
            Row::Node { id, kind, name, leads } => format!("{id:ids$}  {kind:kinds$}  {name:names$}  {leads}"),
            Row::Detail(detail) => format!("{:ids$}  {:kinds$}  {detail}", "", ""),
        };
        text += line.trim_end();
        text.push('\n');
    }
    text
}
