//! Work on a state: attempts that are checked, judged, and repeated with the reasons until the key results are met.
//!
//! ```text
//! begin → attempt → ask ⇄ use tools → output → checks → looks outside → judges → leave
//!            ↑___________________________________ not met ___________________↓
//! ```
//! Each answer of a model, tool, check or judge is an event of its own, so that a killed process continues where it
//! was.

mod attempts;
mod hold;
mod limits;
mod output;
mod tools;
mod turn;
mod words;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scope::{self, At, Now, fault};
use super::walk::Draft;
use crate::expr::{Expr, Outputs, Scope};
use crate::graph::{Flow, Kind, State, Step, Worker};
use crate::run::{
    Backoff, Change, Fault, Frame, FramePath, ModelActivity, ModelState, ModelStateChange, Place, Run, Spend,
    WaitReason,
};
use crate::value::{NodeId, Timestamp};

pub(super) use hold::resume;
pub(in crate::engine) use output::outside;
pub(super) use output::settled;
pub(in crate::engine) use tools::asked_for;
pub(super) use tools::{tool_done, workflow_done};
pub(super) use turn::completed;
pub(in crate::engine) use words::text_of;

/// A state under way, and the decision under construction.
struct StateDecision<'d, 'w> {
    draft: &'d mut Draft<'w>,
    path: FramePath,
    /// The frame whose variables it sets.
    owner: FramePath,
    frame: &'w Frame,
    step: &'w Step,
    state: &'w State,
    now: Now,
    /// The state after the changes so far.
    talk: ModelState,
    /// The variables after the changes so far.
    shared: Map<String, Value>,
}

/// Begins the state at which a frame is passing.
pub(super) fn begin(draft: &mut Draft<'_>, at: &At<'_>, state: &State) {
    let now = draft.now;
    let input = input(draft.before, at.path);
    if matches!(state.work, Worker::Nobody) && state.key_results.is_empty() && state.limits == Default::default() {
        let mut working = StateDecision::new(draft, at.path, entered(now, input.clone()));
        if let Some(working) = &mut working {
            working.leave(input);
        }
        return;
    }
    draft.emit(Change::Visited { frame: at.path.clone(), flow: at.frame.flow.clone(), node: at.node().clone() });
    let talk = entered(now, input);
    draft.moved(at.path, Place::Conversing { node: at.node().clone(), talk: Box::new(talk.clone()) }, None);
    if let Some(mut working) = StateDecision::new(draft, at.path, talk) {
        working.visit();
    }
}

/// The limit on the number of nodes that a run executes.
pub(super) const STEPS: &str = "steps";

/// Enters a state and waits, because the run has executed its maximum number of nodes: a person may grant as many
/// again.
pub(super) fn wait_for_steps(draft: &mut Draft<'_>, at: &At<'_>, (used, limit): (u64, u64)) {
    let mut talk = entered(draft.now, input(draft.before, at.path));
    let why = WaitReason::Limit { of: STEPS.to_owned(), used, limit, of_run: true, at: None };
    talk.doing = ModelActivity::Held { why, then: Box::new(ModelActivity::Asking(Backoff::default())) };
    draft.emit(Change::Visited { frame: at.path.clone(), flow: at.frame.flow.clone(), node: at.node().clone() });
    draft.moved(at.path, Place::Conversing { node: at.node().clone(), talk: Box::new(talk) }, None);
}

/// The maximum number of outputs in the history. Without it, a run would take time quadratic in its length.
const MAX_HISTORY: usize = 1_000;

/// Returns the input of a state: the newest output before it, in its branch or else before the fork; at the beginning,
/// the input of the run. A fork itself has no output.
pub(super) fn input(run: &Run, path: &FramePath) -> Arc<Value> {
    let newest = scope::outputs(run, path).into_iter().find_map(Outputs::newest).cloned();
    let given = || run.frame(&run.owner(path)).and_then(|frame| frame.data.as_ref()).map(|data| data.input.clone());
    newest.or_else(given).unwrap_or_default()
}

/// Returns the earlier outputs, in a branch also those before its fork, the oldest first.
pub(super) fn history(flow: &Flow, outputs: &[&Outputs]) -> Value {
    let mut entries: Vec<Value> = Vec::new();
    for outputs in outputs {
        let most = MAX_HISTORY - entries.len();
        let mut earlier = outputs.history(most, |node| is_named(flow, node));
        earlier.append(&mut entries);
        entries = earlier;
    }
    Value::Array(entries)
}

/// Checks whether a node has outputs and is written in the definition, rather than added by its reader.
fn is_named(flow: &Flow, node: &NodeId) -> bool {
    flow.steps.get(node).is_some_and(|step| {
        !matches!(step.node.kind, Kind::Start | Kind::Fork { .. }) && !State::is_chooser(&step.node)
    })
}

fn entered(now: Now, input: Arc<Value>) -> ModelState {
    ModelState {
        since: now.at,
        input,
        attempt: 0,
        allowed: None,
        turn: 0,
        asked: 0,
        messages: Arc::default(),
        doing: ModelActivity::Asking(Backoff::default()),
        failed: Vec::new(),
        before: None,
        met: None,
    }
}

impl<'d, 'w> StateDecision<'d, 'w> {
    fn new(draft: &'d mut Draft<'w>, path: &FramePath, talk: ModelState) -> Option<StateDecision<'d, 'w>> {
        let frame = draft.before.frame(path)?;
        let step = draft.step(&frame.flow, frame.place.node());
        let Kind::State(state) = &step.node.kind else { return None };
        let owner = draft.before.owner(path);
        let data = draft.before.frame(&owner).and_then(|frame| frame.data.as_ref());
        let shared = data.map(|data| data.variables.clone()).unwrap_or_default();
        let now = draft.now;
        Some(StateDecision { draft, path: path.clone(), owner, frame, step, state, now, talk, shared })
    }

    /// Returns the state that is under way in a frame; `None` if there is none.
    fn at(draft: &'d mut Draft<'w>, path: &FramePath) -> Option<StateDecision<'d, 'w>> {
        let frame = draft.before.frame(path)?;
        let Place::Conversing { talk, .. } = &frame.place else { return None };
        StateDecision::new(draft, path, (**talk).clone())
    }

    fn node(&self) -> &'w NodeId {
        &self.step.node.id
    }

    fn say(&mut self, change: ModelStateChange) {
        self.talk.apply(&change);
        if change == ModelStateChange::Undone {
            self.shared = self.talk.variables_before();
        }
        self.draft.emit(Change::Talked { frame: self.path.clone(), said: change });
    }

    fn spend(&mut self, spend: Spend) {
        self.say(ModelStateChange::Spent(spend));
    }

    fn set(&mut self, name: &str, value: Value) {
        self.shared.insert(name.to_owned(), value.clone());
        self.draft.emit(Change::Set { frame: self.owner.clone(), name: name.to_owned(), value });
    }

    fn fault(&self, code: &str, message: impl Into<String>, detail: impl Into<String>) -> Fault {
        fault(self.node(), code, message, detail)
    }

    fn broke(&mut self, fault: Fault) {
        let (path, node) = (self.path.clone(), self.node());
        self.draft.broke(&path, node, fault);
    }

    /// Evaluates with what an expression of the state sees; `output` only if there is one.
    fn with_scope<T>(&self, output: Option<&Value>, evaluate: impl FnOnce(&Scope<'_>) -> T) -> T {
        let shared = Value::Object(self.shared.clone());
        let attempt = Value::from(self.talk.attempt + 1);
        let calls = tools::calls(&self.talk);
        let feedback = words::feedback_of(self).map_or(Value::Null, Value::from);
        let mut names: Vec<(&str, &Value)> = vec![
            ("input", &self.talk.input),
            ("shared", &shared),
            ("attempt", &attempt),
            ("calls", &calls),
            ("feedback", &feedback),
        ];
        names.extend(output.map(|output| ("output", output)));
        let outputs = scope::outputs(self.draft.before, &self.path);
        let history = self.state.sees_history().then(|| history(self.draft.workflow.flow(&self.frame.flow), &outputs));
        names.extend(history.as_ref().map(|history| ("history", history)));
        let bindings = names.clone();
        evaluate(&Scope { outputs, root: None, names, bindings, at: self.now.at, seed: self.now.seed })
    }

    fn eval(&self, expr: &Expr, output: Option<&Value>) -> Result<Option<Value>, Fault> {
        let came = self.with_scope(output, |scope| expr.eval(scope));
        came.map_err(|fault| self.fault(fault.code, fault.message, fault.expression))
    }

    /// Returns the time `ms` milliseconds from now.
    fn in_ms(&self, ms: u64) -> Timestamp {
        self.now.at.after_ms(ms)
    }
}
