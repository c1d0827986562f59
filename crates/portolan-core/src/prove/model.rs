//! The model that is explored in place of a workflow: the same flows without their unknown parts.
//!
//! Variables that conditions compare have cells; all others are removed. A condition that cannot be evaluated over
//! cells is *free*: it becomes a comparison of a made-up variable, and the analysis tries both results. The result of a
//! tool, a model or a computation becomes a call that succeeds or fails. The engine decides over this model as usual.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::live::find_live;
use super::state::is_like_a_mark;
use crate::engine::may_give;
use crate::expr::{Cells, Comparison, Condition, Expr, Partition, Sorted, condition_names};
use crate::graph::{
    Call, Check, CheckBy, Evidence, Fact, FailureHandling, Flow, Interface, Kind, Loop, LoopKind, Node, Retry, Since,
    State, Step, Variable, VariableKind, VariableOwner, Worker, Workflow,
};
use crate::source::Spanned;
use crate::value::{ById, NodeId, PASSED, WorkflowId, template};

/// The maximum number of tracked variables; conditions on others are free.
const MAX_NAMES: usize = 120;
/// The maximum number of cells of a tracked variable.
const MAX_CELLS: usize = 60;

/// The maximum number of loop limits per array of a tracked variable.
const MAX_SIZES: usize = 8;
/// The maximum length of an array whose loop passes are counted: each pass of such a loop is a state of its own.
const MAX_COUNTED: usize = 4;

/// A set of variables, one bit each by index.
pub(super) type Names = u128;
/// The possible cells of a variable.
pub(super) type Mask = Cells;
/// The cell for a variable without a value.
pub(super) const MISSING: Mask = 1;

/// The workflow in the form that is explored.
pub(super) struct Model {
    /// Its flows, in the form for the engine.
    pub(super) workflow: Workflow,
    /// The tracked variables with their cells.
    pub(super) names: ById<String, Partition>,
    flows: ById<WorkflowId, ById<NodeId, Site>>,
    /// The variables that flows receive, and return when they end.
    handed: Names,
    /// The prefix of made-up variables; an index follows it.
    free: String,
}

/// The facts about a node.
#[derive(Clone, Default)]
pub(super) struct Site {
    /// The variables that it reads.
    pub(super) reads: Names,
    /// Those of them that must have one value first.
    pub(super) settles: Names,
    /// The conditions that it evaluates, in order, up to the first that holds.
    pub(super) asks: Vec<Sorted>,
    /// The variables that it or any later node may read.
    pub(super) live: Names,
    /// Those of them that are not certainly given any value before.
    pub(super) needed: Names,
    /// The number of its free conditions.
    pub(super) free: usize,
    /// The variables that being here may set, with their possible cells.
    pub(super) gives: Vec<(usize, Mask)>,
    /// The variables that leaving it sets to the value of another one, and so to any value.
    pub(super) copies: Vec<(usize, Mask)>,
    /// The variables that a person may set who is asked because the work cannot continue here.
    pub(super) helps: Vec<(usize, Mask)>,
    /// Whether it runs a flow with a computed input.
    pub(super) computes_input: bool,
}

impl Model {
    pub(super) fn of(workflow: &Workflow) -> Model {
        let variables: BTreeMap<&WorkflowId, Variables<'_>> =
            workflow.flows().map(|(id, flow)| (id, Variables::of(flow))).collect();
        let names = names(workflow, &variables);
        let free = free_name(workflow);
        let mut model = Model { workflow: workflow.clone(), names, flows: ById::default(), handed: 0, free };
        model.handed = model.bits(handed(workflow).into_iter());
        let computed = called_with_arguments(workflow);
        let mut flows = ById::default();
        for (id, flow) in workflow.flows() {
            let of_root = id == workflow.id() || !computed.contains(id.as_str());
            let (flow, sites) = model.flow(flow, &variables[id], of_root);
            flows.insert(id.clone(), flow);
            model.flows.insert(id.clone(), sites);
        }
        model.workflow = Workflow::new(workflow.id().clone(), flows);
        find_live(&model.workflow, &mut model.flows);
        model
    }

    pub(super) fn site(&self, flow: &WorkflowId, node: &NodeId) -> Option<&Site> {
        self.flows.get(flow)?.get(node)
    }

    /// Returns the made-up variable for condition `at` of a node.
    pub(super) fn free_variable(&self, at: usize) -> String {
        format!("{}{at}", self.free)
    }

    /// Returns the cells that a value of a variable may be in, among the values that `takes` accepts.
    fn cells_of(&self, name: usize, takes: &dyn Fn(&Value) -> bool) -> Mask {
        let values = self.names[name].values().iter().enumerate();
        values.filter(|(_, value)| takes(value)).fold(0, |mask, (cell, _)| mask | cell_bit(cell))
    }

    /// Returns the cells of all values of a type; without a type, of all values.
    pub(super) fn any_of(&self, kind: Option<VariableKind>, name: usize) -> Mask {
        self.cells_of(name, &|value| kind.is_none_or(|kind| kind.takes(value)))
    }

    /// Returns the value of a cell in the run that the engine decides over.
    pub(super) fn value(&self, name: usize, cell: u32) -> Option<&Value> {
        self.names[name].values().get((cell as usize).checked_sub(1)?)
    }

    fn flow(&self, flow: &Flow, variables: &Variables<'_>, requires: bool) -> (Flow, ById<NodeId, Site>) {
        let mut sites = ById::default();
        let mut made = flow.clone();
        let declared = (0..self.names.len()).filter_map(|name| Some((name, variables.declared.get(self.text(name))?)));
        let helps: Vec<(usize, Mask)> =
            declared.map(|(name, variable)| (name, self.any_of(Some(variable.kind), name))).collect();
        for (node, step) in &mut made.steps {
            let mut site = self.read_at(variables, &flow.steps[node]);
            self.abstracted(variables, step, &mut site);
            step.node.accept.iter_mut().for_each(given_freely);
            site.copies = self.copied(variables, &mut step.node);
            site.gives = self.given_at(variables, &flow.steps[node].node);
            site.helps.clone_from(&helps);
            counted(&mut step.exits.failing);
            sites.insert(node.clone(), site);
        }
        made.interface = flow.interface.as_ref().map(|interface| Arc::new(open(interface)));
        for variable in &mut made.variables {
            variable.required &= requires;
        }
        // Expressions see variables only if the flow has some.
        if sites.values().any(|site: &Site| site.free > 0) {
            made.variables.push(made_up(self.free_variable(0)));
        }
        (made, sites)
    }

    /// Collects the reads of a node.
    fn read_at(&self, variables: &Variables<'_>, step: &Step) -> Site {
        let mut site = Site::default();
        match &step.node.kind {
            Kind::Switch => step.exits.guards.iter().for_each(|(guard, _)| self.asked(variables, guard, &mut site)),
            Kind::Loop(looping) => match &looping.kind {
                LoopKind::ForEach { over, .. } => site.settles = self.array(variables, over).unwrap_or(0),
                LoopKind::While(condition) => self.asked(variables, condition, &mut site),
                LoopKind::DoWhile(_) => {}
            },
            Kind::Repeat { of } => {
                if let Kind::Loop(looping) = &variables.flow.step(&of.value).node.kind {
                    looping.stop.iter().for_each(|stop| self.asked(variables, stop, &mut site));
                    if !matches!(looping.kind, LoopKind::ForEach { .. }) {
                        self.asked(variables, looping.condition(), &mut site);
                    }
                }
            }
            Kind::Subflow { context, args, .. } => {
                site.computes_input = args.is_some();
                site.settles = self.bits(context.iter().map(String::as_str));
            }
            // The variables that a flow received are returned when it ends.
            Kind::End { .. } => site.settles = self.handed,
            _ => {}
        }
        site.reads |= site.settles;
        site
    }

    /// Adds a condition to a node unless it is free.
    fn asked(&self, variables: &Variables<'_>, expr: &Expr, site: &mut Site) {
        let Some(names) = self.known(variables, expr) else { return };
        site.reads |= names;
        match Sorted::of(expr, &self.names) {
            Some(sorted) => site.asks.push(sorted),
            // A constant reads nothing.
            None => site.settles |= names,
        }
    }

    fn bits<'n>(&self, names: impl Iterator<Item = &'n str>) -> Names {
        names.filter_map(|name| self.names.get_index_of(name)).fold(0, |bits, name| bits | 1 << name)
    }

    /// Returns the names that a condition reads if all of them are tracked or certainly have no value.
    fn known(&self, variables: &Variables<'_>, expr: &Expr) -> Option<Names> {
        if expr.is_constant() {
            return Some(0);
        }
        let names = condition_names(expr)?;
        let is_known = |name: &&str| match variables.has(name) {
            // The output of a node hides a variable of its name.
            true => {
                self.names.contains_key(*name) && !(variables.flow.records && variables.flow.steps.contains_key(*name))
            }
            false => !variables.flow.records,
        };
        names.iter().all(is_known).then(|| self.bits(names.into_iter()))
    }

    /// Returns the variable over whose items a loop iterates, if it is tracked.
    fn array(&self, variables: &Variables<'_>, over: &Expr) -> Option<Names> {
        let name = array_name(over)?;
        let is_followed = variables.declared.contains_key(name.as_str()) && self.names.contains_key(&name);
        is_followed.then(|| self.bits(std::iter::once(name.as_str())))
    }

    /// Removes the unknown parts of a node, and counts its free conditions.
    fn abstracted(&self, variables: &Variables<'_>, step: &mut Step, site: &mut Site) {
        for (guard, _) in &mut step.exits.guards {
            self.freed(variables, guard, site);
        }
        let opaque = |step: &Step| match &step.node.kind {
            Kind::State(_) => {
                let only_passes = step.exits.on.iter().all(|(outcome, _)| outcome.as_str() == PASSED);
                if only_passes || step.node.seat.is_some() { Some(called()) } else { Some(reported()) }
            }
            Kind::Compute(_) | Kind::Call(_) | Kind::Each(_) => Some(called()),
            _ => None,
        };
        if let Some(kind) = opaque(step) {
            step.node.accept.clear();
            step.node.kind = kind;
        }
        match &mut step.node.kind {
            Kind::Subflow { args: Some(args), .. } => *args = Expr::Literal(Arc::new(Value::Object(Map::new()))),
            Kind::Loop(looping) => {
                match &mut looping.kind {
                    LoopKind::ForEach { over, .. } => {
                        if self.array(variables, over).is_none() {
                            let items = array_named(&self.free_variable(site.free));
                            // One for whether it has items, one for whether it has more than the loop makes passes.
                            site.free += 2;
                            *over = items.unwrap_or_else(|| Expr::Literal(Arc::new(Value::Array(Vec::new()))));
                        }
                    }
                    LoopKind::While(condition) | LoopKind::DoWhile(condition) => self.freed(variables, condition, site),
                }
                if let Some(stop) = &mut looping.stop {
                    self.freed(variables, stop, site);
                }
            }
            _ => {}
        }
    }

    /// Replaces a condition that cannot be evaluated by a comparison of a made-up variable.
    fn freed(&self, variables: &Variables<'_>, expr: &mut Expr, site: &mut Site) {
        if self.known(variables, expr).is_some() {
            return;
        }
        let condition = Condition::compare(&self.free_variable(site.free), Comparison::Equal, Value::Bool(true));
        site.free += 1;
        *expr = Expr::Condition(condition.expect("the name is a name, and a boolean is compared"));
    }

    /// Removes from a node the assignments of other variables' values.
    fn copied(&self, variables: &Variables<'_>, node: &mut Node) -> Vec<(usize, Mask)> {
        let mut copied = Vec::new();
        let mut take = |sets: &mut Vec<(String, Value)>| {
            sets.retain(|(name, value)| {
                if !is_copied(value) {
                    return true;
                }
                let kind = variables.declared.get(name.as_str()).map(|variable| variable.kind);
                copied.extend(self.names.get_index_of(name.as_str()).map(|name| (name, self.any_of(kind, name))));
                false
            });
        };
        take(&mut node.sets);
        if let Kind::Checkpoint { question: Some(question), .. } = &mut node.kind {
            question.options.iter_mut().for_each(|option| take(&mut option.sets));
        }
        copied
    }

    /// Collects the variables that a node may set, with their possible cells.
    fn given_at(&self, variables: &Variables<'_>, node: &Node) -> Vec<(usize, Mask)> {
        let declared = (0..self.names.len()).filter_map(|name| Some((name, *variables.declared.get(self.text(name))?)));
        let is_given: &dyn Fn(&Variable) -> bool = match &node.kind {
            Kind::Work { .. } => {
                let learns = node.accept.iter().any(|check| matches!(check.by, CheckBy::Gate { .. }));
                &move |variable| learns || may_give(node, variable) || node.must_give(&variable.name.value)
            }
            Kind::State(state) if gives_anything(state) => &|_| true,
            Kind::State(state) => &|variable| state.sets.iter().any(|(set, _)| set.value == variable.name.value),
            _ => return Vec::new(),
        };
        let given = declared.filter(|(_, variable)| is_given(variable));
        given.map(|(name, variable)| (name, self.any_of(Some(variable.kind), name))).collect()
    }

    pub(super) fn text(&self, name: usize) -> &str {
        self.names.get_index(name).map_or("", |(text, _)| text)
    }

    /// Returns the cells of all values that a variable of a flow can be given.
    pub(super) fn given_in(&self, site: &Site, name: usize) -> Mask {
        let at = site.helps.binary_search_by_key(&name, |(name, _)| *name);
        at.map_or(0, |at| site.helps[at].1)
    }
}

/// Returns the bit of a cell of values.
fn cell_bit(cell: usize) -> Mask {
    1 << (cell + 1)
}

impl Model {
    /// Returns the cell of a value as a mask.
    pub(super) fn mask_of(&self, name: usize, value: &Value) -> Mask {
        self.names[name].cell_of(value).map_or(MISSING, cell_bit)
    }
}

/// The variables of a flow by name.
struct Variables<'f> {
    flow: &'f Flow,
    declared: BTreeMap<&'f str, &'f Variable>,
    /// Variables with values of any type: loop items, and those that only the definition sets.
    untyped: BTreeSet<&'f str>,
}

impl<'f> Variables<'f> {
    fn of(flow: &'f Flow) -> Variables<'f> {
        let declared: BTreeMap<&str, &Variable> =
            flow.variables.iter().map(|variable| (variable.name.value.as_str(), variable)).collect();
        let items = flow.steps.values().filter_map(|step| match &step.node.kind {
            Kind::Loop(looping) => looping.variable(),
            _ => None,
        });
        let set = flow.steps.values().flat_map(|step| sets(&step.node)).map(|(name, _)| name.as_str());
        let set: Vec<&str> = set.filter(|name| !declared.contains_key(name)).collect();
        let untyped = items.chain(set).collect();
        Variables { flow, declared, untyped }
    }

    fn has(&self, name: &str) -> bool {
        self.declared.contains_key(name) || self.untyped.contains(name)
    }

    fn takes(&self, name: &str, value: &Value) -> bool {
        self.untyped.contains(name) || self.declared.get(name).is_some_and(|variable| variable.kind.takes(value))
    }
}

/// Returns the variables that conditions of a workflow compare, and their cells.
fn names(workflow: &Workflow, variables: &BTreeMap<&WorkflowId, Variables<'_>>) -> ById<String, Partition> {
    let mut wanted: ById<String, Vec<&Expr>> = ById::default();
    let mut arrays: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (id, flow) in workflow.flows() {
        for looping in flow.steps.values().filter_map(|step| loop_of(&step.node)) {
            let LoopKind::ForEach { over, .. } = &looping.kind else { continue };
            if let Some(name) = array_name(over).filter(|name| variables[id].has(name)) {
                wanted.entry(name.clone()).or_default();
                arrays.entry(name).or_default().insert(looping.most as usize);
            }
        }
        for expr in conditions(flow) {
            for name in condition_names(expr).unwrap_or_default() {
                if variables[id].has(name) {
                    wanted.entry(name.to_owned()).or_default().push(expr);
                }
            }
        }
    }
    for (id, name) in required(workflow) {
        if variables[id].has(name) {
            wanted.entry(name.to_owned()).or_default();
        }
    }
    let mut names = ById::default();
    for (name, exprs) in wanted.into_iter().take(MAX_NAMES) {
        let takes = |value: &Value| variables.values().any(|of_flow| of_flow.takes(&name, value));
        let sizes: Vec<usize> = arrays.get(&name).into_iter().flatten().copied().collect();
        if sizes.len() > MAX_SIZES {
            continue;
        }
        let lengths = lengths(workflow, &name, sizes.last().copied().unwrap_or(0));
        let partition = Partition::of(&name, exprs.into_iter(), sizes, lengths, &takes);
        let is_followed = |partition: &Partition| {
            partition.values().len() < MAX_CELLS && !partition.values().iter().any(is_like_a_mark)
        };
        if let Some(partition) = partition.filter(is_followed) {
            names.insert(name, partition);
        }
    }
    names
}

/// Returns the lengths of the arrays that a workflow assigns to a variable, as far as loops iterate over all their
/// items.
fn lengths(workflow: &Workflow, name: &str, most: usize) -> Vec<usize> {
    let known = workflow.flows().flat_map(|(_, flow)| {
        let declared = flow.variables.iter().filter(|variable| variable.name.value == name);
        let set = flow.steps.values().flat_map(|step| sets(&step.node)).filter(|(set, _)| set == name);
        declared.filter_map(|variable| variable.default.as_ref()).chain(set.map(|(_, value)| value))
    });
    let lengths: BTreeSet<usize> = known.filter_map(|value| value.as_array().map(Vec::len)).collect();
    lengths.into_iter().filter(|length| (1..=most.min(MAX_COUNTED)).contains(length)).collect()
}

/// Returns the variables that a flow passes to a flow that requires them, each with the passing flow.
fn required(workflow: &Workflow) -> impl Iterator<Item = (&WorkflowId, &str)> {
    workflow.flows().flat_map(|(id, flow)| flow.steps.values().map(move |step| (id, step))).flat_map(|(id, step)| {
        let (called, context) = match &step.node.kind {
            Kind::Subflow { workflow: called, context, .. } => (workflow.find(&called.value), context.as_slice()),
            _ => (None, &[][..]),
        };
        let is_required = move |name: &&String| {
            let variable = called.and_then(|flow| flow.variable(name));
            variable.is_some_and(|variable| variable.required && variable.default.is_none())
        };
        context.iter().filter(is_required).map(move |name| (id, name.as_str()))
    })
}

/// Returns the conditions of a flow.
fn conditions(flow: &Flow) -> impl Iterator<Item = &Expr> {
    flow.steps.values().flat_map(|step| {
        let of_loop =
            loop_of(&step.node).into_iter().flat_map(|looping| [Some(looping.condition()), looping.stop.as_ref()]);
        step.exits.guards.iter().map(|(guard, _)| guard).chain(of_loop.flatten())
    })
}

/// Checks whether an assigned value is that of another variable.
pub(super) fn is_copied(value: &Value) -> bool {
    value.as_str().is_some_and(|text| template::whole(text).is_some())
}

/// Returns the assignments of a node, with those of all answers.
pub(super) fn sets(node: &Node) -> impl Iterator<Item = &(String, Value)> {
    let question = match &node.kind {
        Kind::Checkpoint { question, .. } => question.as_deref(),
        _ => None,
    };
    let answers = question.into_iter().flat_map(|question| &question.options).flat_map(|option| &option.sets);
    node.sets.iter().chain(answers)
}

fn loop_of(node: &Node) -> Option<&Loop> {
    match &node.kind {
        Kind::Loop(looping) => Some(looping),
        _ => None,
    }
}

/// Returns the variable over whose items a loop iterates, if the expression is only its name.
pub(super) fn array_name(over: &Expr) -> Option<String> {
    let Expr::Jsonata(jsonata) = over else { return None };
    let name = jsonata.text().trim_matches('`');
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    is_name.then(|| name.to_owned())
}

fn array_named(name: &str) -> Option<Expr> {
    crate::expr::Jsonata::parse(&format!("`{name}`")).ok().map(Expr::Jsonata)
}

/// Returns a prefix that no variable has.
fn free_name(workflow: &Workflow) -> String {
    let mut name = "free".to_owned();
    let variables = || workflow.flows().flat_map(|(_, flow)| &flow.variables);
    while variables().any(|variable| variable.name.value.starts_with(&name)) {
        name.push('_');
    }
    name
}

/// Adds one to a budget: in a state, each budget counts as used once, so that the engine reports a refill.
fn counted(failing: &mut FailureHandling) {
    if let FailureHandling::Retries { budget, .. } = failing
        && *budget > 0
    {
        *budget = budget.saturating_add(1);
    }
}

/// Replaces a check of a reported value: the agent can always find one that fits.
fn given_freely(check: &mut Check) {
    if check.by.evidence().is_some_and(|wanted| wanted.fact.output().is_some()) {
        check.by = CheckBy::Evidence(Evidence { fact: Fact::Person, since: Since::Step });
    }
}

/// Returns the flows that are called with a computed input.
fn called_with_arguments(workflow: &Workflow) -> BTreeSet<&str> {
    let steps = workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    let called = steps.filter_map(|step| match &step.node.kind {
        Kind::Subflow { workflow, args: Some(_), .. } => Some(workflow.value.as_str()),
        _ => None,
    });
    called.collect()
}

/// Returns the variables that are passed to flows.
fn handed(workflow: &Workflow) -> Vec<&str> {
    let steps = workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    let handed = steps.filter_map(|step| match &step.node.kind {
        Kind::Subflow { context, .. } => Some(context),
        _ => None,
    });
    handed.flatten().map(String::as_str).collect()
}

/// Checks whether a state may set any variable.
fn gives_anything(state: &State) -> bool {
    let sets = state.tools.iter().any(|tool| tool.value == crate::engine::SHARED_SET);
    sets || matches!(state.work, Worker::Function(_))
}

fn made_up(name: String) -> Variable {
    Variable {
        name: Spanned { value: name, span: Default::default() },
        kind: VariableKind::Boolean,
        description: None,
        default: None,
        required: false,
        keeper: VariableOwner::Person,
        only_at: None,
    }
}

/// Makes the abstraction of external work: a call that succeeds or fails.
fn called() -> Kind {
    let word = |text: &str| Spanned { value: text.to_owned(), span: Default::default() };
    Kind::Call(Box::new(Call {
        server: word("any"),
        tool: word("any"),
        args: Expr::Literal(Arc::new(Value::Object(Map::new()))),
        post: None,
        retry: Retry::default(),
        timeout_ms: None,
        idempotent: true,
    }))
}

/// Makes the abstraction of external work with one of several outcomes.
fn reported() -> Kind {
    Kind::Work { gate: false, outputs: Vec::new() }
}

/// Removes the schemas of an interface: input and output are computed.
fn open(interface: &Interface) -> Interface {
    Interface { input: None, output: None, bounds: Default::default(), ..interface.clone() }
}
