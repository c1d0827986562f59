//! Evaluates an expression while it is being edited, over the data of a run or over given values. The result has the
//! visible names and the value, or the fault with its place.
//!
//! Evaluation has no effects and the usual limits. Hidden values of a run are masked before evaluation.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::dialect::{self, Dialect, ExpressionError};
use crate::engine;
use crate::expr::{EvalFault, Expr, Outputs, Scope};
use crate::graph::Workflow;
use crate::graph::{Graph, Kind, Node};
use crate::present::{Redaction, drawn_as};
use crate::run::{FramePath, Run};
use crate::source::Span;
use crate::value::{NodeId, Timestamp};

/// The largest returned value, in bytes of its JSON.
const MAX_TOLD: usize = 256 << 10;

/// A field of a definition with its text.
#[derive(Clone, Copy)]
pub struct EvaluatedField<'f> {
    /// The format of the definition.
    pub dialect: &'f Dialect,
    /// The workflow.
    pub graph: &'f Graph,
    /// The node; `None` for the workflow itself.
    pub node: Option<&'f NodeId>,
    /// The path of the field, as in forms.
    pub path: &'f str,
    /// The text.
    pub text: &'f str,
}

/// The data of an evaluation.
pub enum EvaluationData<'d> {
    /// The data of a run.
    Run(Moment<'d>),
    /// Given values.
    Given(GivenValues),
}

/// A frame of a run at one moment.
#[derive(Clone, Copy)]
pub struct Moment<'d> {
    /// The workflow of the run.
    pub workflow: &'d Workflow,
    /// The run.
    pub run: &'d Run,
    /// The frame: see [`frame_of`].
    pub frame: &'d FramePath,
    /// The current time.
    pub at: Timestamp,
    /// The hidden values.
    pub hidden: &'d Redaction,
}

/// Given values.
#[derive(Clone, Debug, Default)]
pub struct GivenValues {
    /// The input of the workflow.
    pub input: Option<Value>,
    /// The outputs of nodes.
    pub outputs: Map<String, Value>,
    /// The variables.
    pub variables: Map<String, Value>,
}

/// The result of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// The names that the expression may use, those with a value first. JSONata variables have their `$`.
    pub names: Vec<String>,
    /// The value; `None` if it is undefined, or too large to return.
    pub value: Option<Value>,
    /// The type of the value, or `undefined`; `None` if there is a fault.
    pub kind: Option<&'static str>,
    /// The fault.
    pub fault: Option<ExpressionError>,
}

/// Returns the frame of a drawn node in a run: the one that is at the node, or else the outermost.
pub fn frame_of(run: &Run, drawn: &str) -> Option<FramePath> {
    let node = NodeId::from(drawn.rsplit('/').next().unwrap_or(drawn));
    let mut frames = run.frames(&|_| true);
    frames.retain(|(path, _)| drawn_as(run, path, &node) == drawn);
    let here = frames.iter().position(|(_, frame)| *frame.place.node() == node);
    let outermost = || frames.iter().enumerate().min_by_key(|(_, (path, _))| path.0.len()).map(|(at, _)| at);
    here.or_else(outermost).map(|at| frames.swap_remove(at).0)
}

/// Evaluates the text of a field.
pub fn evaluate(field: &EvaluatedField<'_>, data: &EvaluationData<'_>) -> Evaluation {
    match data {
        EvaluationData::Run(moment) => over_run(field, moment),
        EvaluationData::Given(given) => over_given(field, given),
    }
}

fn over_run(field: &EvaluatedField<'_>, moment: &Moment<'_>) -> Evaluation {
    let Moment { workflow, run, frame, at, hidden } = *moment;
    let root = NodeId::from("");
    let node = (frame, field.node.unwrap_or(&root));
    let evaluated = engine::look(workflow, run, node, at, |scope| {
        if hidden.is_empty() {
            return over(field, scope);
        }
        // Otherwise an expression could transform hidden values.
        let entries = scope.entries().into_iter();
        let shown = Value::Object(entries.map(|(name, value)| (name.to_owned(), hidden.value(value))).collect());
        over(field, &Scope { root: Some(&shown), at: scope.at, ..Scope::default() })
    });
    evaluated.unwrap_or_else(|| over(field, &Scope::default()))
}

fn over_given(field: &EvaluatedField<'_>, given: &GivenValues) -> Evaluation {
    let mut outputs = Outputs::new(false);
    let start = field.graph.nodes.iter().find(|node| node.kind == Kind::Start);
    if let (Some(start), Some(input)) = (start.filter(|_| field.graph.interface.is_some()), &given.input) {
        outputs.record(&start.id, Some(Arc::new(input.clone())));
    }
    for (node, value) in &given.outputs {
        outputs.record(&NodeId::from(node.as_str()), Some(Arc::new(value.clone())));
    }
    let shared = Value::Object(given.variables.clone());
    let mut names: Vec<(&str, &Value)> = given.variables.iter().map(|(name, value)| (name.as_str(), value)).collect();
    names.extend(given.input.as_ref().map(|input| ("input", input)));
    names.push(("shared", &shared));
    over(field, &Scope { names, ..Scope::over([&outputs]) })
}

fn over(field: &EvaluatedField<'_>, scope: &Scope<'_>) -> Evaluation {
    let more = bound(field, scope);
    let mut scope = scope.clone();
    let is_state = field.node().is_some_and(|node| matches!(node.kind, Kind::State(_)));
    let mut root = scope.root.cloned();
    if let (true, Some(Value::Object(root))) = (is_state, &mut root) {
        for (name, value) in &more {
            root.entry(*name).or_insert_with(|| value.clone());
        }
    }
    scope.root = root.as_ref();
    for (name, value) in &more {
        if is_state {
            scope.names.push((name, value));
        }
        scope.bindings.retain(|(known, _)| known != name);
        scope.bindings.push((name, value));
    }
    let names = names(field, &scope);
    let came = dialect::expression(field.dialect, field.path, field.text)
        .and_then(|expr| value(&expr, &scope).map_err(|fault| unvalued(field, fault)));
    match came {
        Ok(value) => evaluation(names, value),
        Err(fault) => Evaluation { names, fault: Some(fault), ..Evaluation::default() },
    }
}

/// Returns whether a condition holds, or the value of any other expression.
fn value(expr: &Expr, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
    match expr {
        Expr::When(_) | Expr::Condition(_) => expr.holds(scope).map(|holds| Some(Value::Bool(holds))),
        expr => expr.eval(scope),
    }
}

fn evaluation(names: Vec<String>, value: Option<Value>) -> Evaluation {
    let kind = Some(type_of(value.as_ref()));
    let is_told = |value: &Value| serde_json::to_string(value).is_ok_and(|text| text.len() <= MAX_TOLD);
    Evaluation { names, value: value.filter(is_told), kind, fault: None }
}

/// Returns the word for the type of a value.
fn type_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

fn unvalued(field: &EvaluatedField<'_>, fault: EvalFault) -> ExpressionError {
    // In arguments, only one of several expressions may have failed.
    let within = field.text.find(&fault.expression).filter(|_| !fault.expression.is_empty());
    let span = within
        .map_or(Span { start: 0, end: field.text.len() }, |start| Span { start, end: start + fault.expression.len() });
    ExpressionError { message: fault.message, help: None, span }
}

/// Returns further names at a field: the item of a `forEach`, or the output of a call in its transform.
fn bound(field: &EvaluatedField<'_>, scope: &Scope<'_>) -> Vec<(&'static str, Value)> {
    let Some(node) = field.node() else { return Vec::new() };
    let output = || scope.name(node.id.as_str()).cloned();
    match &node.kind {
        Kind::Each(each) if field.path.contains("args") => {
            let items = each.items.eval(scope).ok().flatten();
            let first = match items {
                Some(Value::Array(items)) => items.into_iter().next(),
                other => other,
            };
            first.map_or_else(Vec::new, |item| vec![("item", item), ("index", json!(0))])
        }
        Kind::Call(_) if field.path.starts_with("post") || field.path.contains("postTransform") => {
            output().map_or_else(Vec::new, |output| vec![("output", output)])
        }
        Kind::State(_) => {
            let known = |name: &str| scope.name(name).is_some();
            let blank =
                [("attempt", json!(1)), ("calls", json!([])), ("feedback", Value::Null), ("history", json!([]))];
            let mut names: Vec<(&'static str, Value)> = blank.into_iter().filter(|(name, _)| !known(name)).collect();
            names.extend(output().map(|output| ("output", output)));
            names
        }
        _ => Vec::new(),
    }
}

fn names(field: &EvaluatedField<'_>, scope: &Scope<'_>) -> Vec<String> {
    let mut names: Vec<String> = scope.entries().into_iter().map(|(name, _)| name.to_owned()).collect();
    names.extend(scope.bindings.iter().map(|(name, _)| format!("${name}")));
    let nodes = field.graph.nodes.iter().filter(|node| Some(&node.id) != field.node && comes_to_something(node));
    names.extend(nodes.map(|node| node.id.to_string()));
    names.extend(field.graph.variables.iter().map(|variable| variable.name.value.clone()));
    let mut distinct = BTreeSet::new();
    names.retain(|name| distinct.insert(name.clone()));
    names
}

/// Checks whether a node has an output that expressions can see.
fn comes_to_something(node: &Node) -> bool {
    node.span != Span::default() && !matches!(node.kind, Kind::End { .. } | Kind::Fork { .. })
}

impl EvaluatedField<'_> {
    fn node(&self) -> Option<&Node> {
        self.graph.nodes.iter().find(|node| Some(&node.id) == self.node)
    }
}
