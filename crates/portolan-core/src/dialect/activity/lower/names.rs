//! The names in a text of activities, and whether the references to them resolve.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::activities::Activity;
use super::super::loops::{Body, Loop, LoopKind};
use super::super::steps::Item;
use super::super::syntax::File;
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::{Comparison, Condition, Expr, Jsonata};
use crate::graph::{Variable, VariableKind, VariableOwner};
use crate::source::fields::FaultList;
use crate::source::{Span, Spanned};
use crate::value::{ANSWERED, NodeId, template};

pub(super) struct Names<'f> {
    pub(super) activities: BTreeSet<&'f str>,
    pub(super) start: NodeId,
    pub(super) done: NodeId,
    variables: BTreeMap<&'f str, VariableKind>,
    /// Whether some step declares what it reports; if none does, each may report everything.
    pub(super) declares_outputs: bool,
    /// The variables that have a value from the beginning.
    seeded: BTreeSet<&'f str>,
    /// The loop variables.
    items: BTreeSet<&'f str>,
    /// The variable that activates each mode.
    modes: BTreeMap<&'f str, Option<&'f str>>,
    /// The variables that are mentioned but not declared, each with its first span.
    undeclared: RefCell<BTreeMap<String, Span>>,
    /// The variables that are set to values of other types.
    loosened: RefCell<BTreeSet<String>>,
}

/// The target that stands for the end instead of an activity.
pub(super) const TERMINAL: &str = "__terminal__";

/// Returns the first node of an activity.
pub(super) fn entry(activity: &str) -> NodeId {
    NodeId::from(activity)
}

/// Returns the variable that records the answer of a checkpoint. Its name is unique per checkpoint, and differs from
/// all variables of a text.
pub(super) fn answered(checkpoint: &NodeId) -> String {
    let mut name = ANSWERED.to_owned();
    for letter in checkpoint.as_str().chars() {
        match letter {
            '.' => name.push_str("_o"),
            '-' => name.push_str("_m"),
            '_' => name.push_str("__"),
            other => name.push(other),
        }
    }
    name
}

/// Returns a dotted path as an expression; `None` if it is none.
pub(super) fn path(text: &str) -> Option<Expr> {
    let segments: Vec<&str> = text.split('.').map(str::trim).collect();
    let sound = |segment: &&str| !segment.is_empty() && !segment.contains(['`', '$', '(', '[', '{', '*', '"', '\'']);
    if !segments.iter().all(sound) {
        return None;
    }
    let quoted: Vec<String> = segments.iter().map(|segment| format!("`{segment}`")).collect();
    Jsonata::parse(&quoted.join(".")).ok().map(Expr::Jsonata)
}

impl<'f> Names<'f> {
    pub(super) fn of(file: &'f File, activities: &'f [Activity]) -> Names<'f> {
        let ids: BTreeSet<&str> = activities.iter().map(|activity| activity.id.value.as_str()).collect();
        let free = |wanted: &str| {
            let mut id = wanted.to_owned();
            while ids.contains(id.as_str()) {
                id.push('_');
            }
            NodeId::from(id)
        };
        let variables = file.variables.iter().map(|variable| (variable.name.value.as_str(), variable.kind)).collect();
        let seeded = file.variables.iter().filter(|variable| variable.default.is_some() || variable.required);
        let seeded = seeded.map(|variable| variable.name.value.as_str()).collect();
        let rows = activities.iter().map(|activity| (&activity.steps, &activity.mode_overrides));
        let mut steps =
            rows.flat_map(|(steps, overrides)| steps.iter().chain(overrides.iter().flat_map(|it| &it.steps)));
        let declares_outputs = steps.any(declares_outputs)
            || activities.iter().flat_map(|activity| &activity.loops).any(|placed| inner_declares(&placed.item));
        let mut items = BTreeSet::new();
        for activity in activities {
            activity.loops.iter().for_each(|placed| bound(&placed.item, &mut items));
            activity.steps.iter().for_each(|item| bound_in(item, &mut items));
            activity.mode_overrides.iter().flat_map(|over| &over.steps).for_each(|item| bound_in(item, &mut items));
        }
        let modes = file.modes.iter().map(|mode| {
            (mode.id.value.as_str(), mode.activation_variable.as_ref().map(|variable| variable.value.as_str()))
        });
        Names {
            start: free("start"),
            done: free("done"),
            activities: ids,
            variables,
            declares_outputs,
            seeded,
            items,
            modes: modes.collect(),
            undeclared: RefCell::default(),
            loosened: RefCell::default(),
        }
    }

    /// Returns the target of a transition to an activity, or to the end.
    pub(super) fn place(&self, name: &str) -> NodeId {
        if name == TERMINAL && !self.activities.contains(name) { self.done.clone() } else { entry(name) }
    }

    /// Checks the names alone.
    pub(super) fn check(&self, file: &File, faults: &mut FaultList) {
        for mode in &file.modes {
            mode.activation_variable.iter().for_each(|variable| self.known(variable, faults));
            for (name, value) in &mode.defaults {
                self.given(name, value, faults);
            }
        }
        for activity in file.activities.iter().flatten() {
            for over in activity.mode_overrides.iter().filter(|over| !self.modes.contains_key(over.mode.value.as_str()))
            {
                let message = format!("there is no mode `{}`", clip(&over.mode.value));
                let fault = Diagnostic::error("unknown-mode", message).at(over.mode.span);
                let fault =
                    fault.help("add it under `modes`").did_you_mean(&over.mode.value, self.modes.keys().copied());
                faults.push(fault.repaired("it is treated as never active"));
            }
        }
    }

    /// Returns the condition under which a mode is active; `None` if it cannot be activated.
    pub(super) fn is_active(&self, mode: &str) -> Option<Expr> {
        let variable = (*self.modes.get(mode)?)?;
        Condition::compare(variable, Comparison::Equal, Value::Bool(true)).ok().map(Expr::Condition)
    }

    /// Returns the value that a variable is set to. A text may be JSON if the variable holds no texts, or name another
    /// variable in braces.
    pub(super) fn given(&self, name: &Spanned<String>, value: &Spanned<Value>, faults: &mut FaultList) -> Value {
        let Some(&kind) = self.variables.get(name.value.as_str()) else {
            self.unknown(&name.value, name.span, "it is created where it is set", faults);
            return value.value.clone();
        };
        if let Some(path) = value.value.as_str().and_then(template::whole) {
            self.hands_on(name, kind, path, value.span, faults);
            return value.value.clone();
        }
        if kind.takes(&value.value) || value.value.is_null() {
            return value.value.clone();
        }
        let as_json = value.value.as_str().and_then(|text| serde_json::from_str(text).ok());
        if let Some(value) = as_json.filter(|value| kind.takes(value)) {
            return value;
        }
        self.loosen(&name.value);
        let written = clip(&value.value.to_string()).replace('`', "'");
        let message = format!("`{}` is declared as {}, but set to `{written}`", name.value, kind.described());
        let fault = Diagnostic::warning("set-to-other-type", message).at(value.span);
        faults.push(
            fault.help("give it a value of its type, or change its type; until then it holds values of any type"),
        );
        value.value.clone()
    }

    /// Checks that a variable may be set to another one's value or a part of it. The type of a part is unknown.
    fn hands_on(&self, name: &Spanned<String>, kind: VariableKind, path: &str, span: Span, faults: &mut FaultList) {
        let root = template::root(path);
        if !self.knows(root) {
            self.unknown(root, span, "it has a value only where a step reports one", faults);
        }
        let is_part = root != path || self.items.contains(root);
        if is_part || self.variables.get(root) != Some(&kind) {
            self.loosen(&name.value);
        }
    }

    fn loosen(&self, name: &str) {
        self.loosened.borrow_mut().insert(name.to_owned());
    }

    /// Returns the declared variables with their actual types, and the undeclared ones.
    pub(super) fn variables(&self, declared: Vec<Variable>) -> Vec<Variable> {
        let (loosened, undeclared) = (self.loosened.borrow(), self.undeclared.borrow());
        let mut variables = declared;
        for variable in variables.iter_mut().filter(|variable| loosened.contains(&variable.name.value)) {
            variable.kind = VariableKind::Any;
        }
        variables.extend(undeclared.iter().map(|(name, span)| Variable {
            name: Spanned { value: name.clone(), span: *span },
            kind: VariableKind::Any,
            description: None,
            default: None,
            required: false,
            keeper: VariableOwner::Anyone,
            only_at: None,
        }));
        variables
    }

    /// Records that a step sets a variable, which need not be declared.
    pub(super) fn reports(&self, name: &Spanned<String>) {
        if !self.knows(&name.value) {
            self.undeclared.borrow_mut().entry(name.value.clone()).or_insert(name.span);
        }
    }

    /// Reports a path whose variable is not declared.
    pub(super) fn known(&self, path: &Spanned<String>, faults: &mut FaultList) {
        let root = path.value.split('.').next().unwrap_or_default();
        if !self.knows(root) {
            self.unknown(root, path.span, "it has a value only where a step reports one", faults);
        }
    }

    /// Reports the undeclared variables that a condition reads.
    pub(super) fn reads(&self, condition: &Spanned<Expr>, faults: &mut FaultList) {
        let names = match &condition.value {
            Expr::When(when) => when.names(),
            Expr::Condition(condition) => condition.names(),
            _ => return,
        };
        for name in names.into_iter().filter(|name| !self.knows(name)) {
            self.unknown(name, condition.span, "it has a value only where a step reports one", faults);
        }
        let Expr::Condition(tested) = &condition.value else { return };
        let always = |name: &&str| self.seeded.contains(name) && !self.items.contains(name);
        for name in tested.existing().into_iter().filter(always) {
            let message = format!("the condition tests whether `{}` exists, and it always does", clip(name));
            let fault = Diagnostic::warning("always-there", message).at(condition.span);
            faults.push(fault.help("compare its value, or remove its `default` and `required`"));
        }
    }

    fn knows(&self, name: &str) -> bool {
        self.variables.contains_key(name) || self.items.contains(name)
    }

    fn unknown(&self, name: &str, span: Span, until: &'static str, faults: &mut FaultList) {
        let message = format!("there is no variable `{}`", clip(name));
        // A variable comes into existence when it is set.
        if is_name(name) {
            self.undeclared.borrow_mut().entry(name.to_owned()).or_insert(span);
        }
        let fault = Diagnostic::warning("unknown-variable", message).at(span);
        let known = self.variables.keys().chain(&self.items).copied();
        let fault = fault.help(format!("declare it under `variables`; until then {until}"));
        faults.push(fault.did_you_mean(name, known));
    }
}

/// Returns whether a text is a valid name of a variable.
pub(in super::super) fn is_name(text: &str) -> bool {
    template::is_path(text) && template::root(text) == text
}

fn declares_outputs(item: &Item) -> bool {
    match item {
        Item::Step(step) => !step.outputs.is_empty(),
        Item::Loop(looping) => inner_declares(looping),
        Item::Checkpoint(_) => false,
    }
}

fn inner_declares(looping: &Loop) -> bool {
    matches!(&looping.body, Body::Items(inner) if inner.iter().any(declares_outputs))
}

fn bound<'f>(looping: &'f Loop, items: &mut BTreeSet<&'f str>) {
    if let LoopKind::ForEach { variable, .. } = &looping.kind {
        items.insert(variable.as_ref().map_or("item", |variable| variable.value.as_str()));
    }
    if let Body::Items(inner) = &looping.body {
        inner.iter().for_each(|item| bound_in(item, items));
    }
}

fn bound_in<'f>(item: &'f Item, items: &mut BTreeSet<&'f str>) {
    if let Item::Loop(looping) = item {
        bound(looping, items);
    }
}
