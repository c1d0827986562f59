//! The result of a node and its consequence: the run continues along an edge, or the flow ends and the frame that waits
//! for it continues.

use std::sync::Arc;

use serde_json::{Value, json};

use super::scope::{EvaluationResult, fault};
use super::states;
use super::walk::Draft;
use crate::graph::{EndResult, FailureHandling};
use crate::run::{Change, Fault, Feedback, Frame, FramePath, Place, WaitingFor};
use crate::value::{NodeId, Outcome};

/// An output, or an error.
pub(super) type NodeOutput = Result<Option<Arc<Value>>, Fault>;

impl Draft<'_> {
    /// Handles the result of a node.
    pub(super) fn settle(&mut self, path: &FramePath, node: &NodeId, value: EvaluationResult) {
        match value {
            Ok(output) => self.came_to(path, node, output.map(Arc::new)),
            Err(fault) => self.broke(path, node, fault),
        }
    }

    /// Records the result of a node, if something in its flow reads it.
    pub(super) fn executed(&mut self, path: &FramePath, node: &NodeId, came: NodeOutput) {
        let Some(frame) = self.standing(path) else { return };
        let flow = frame.flow.clone();
        if !self.workflow.flow(&flow).records {
            return;
        }
        let (output, fault) = match came {
            Ok(output) => (output, None),
            Err(fault) => (None, Some(fault)),
        };
        // The results of a pass of a loop stay visible after it.
        self.emit(Change::Executed { frame: self.before.owner(path), node: node.clone(), output, fault });
    }

    /// Handles the output of a node and continues with the next.
    pub(super) fn came_to(&mut self, path: &FramePath, node: &NodeId, output: Option<Arc<Value>>) {
        let Some(frame) = self.standing(path) else { return };
        // An automatic node passes the feedback on, because it does not respond to it.
        let feedback = frame.feedback.clone().filter(|_| matches!(frame.place, Place::Passing { .. }));
        self.executed(path, node, Ok(output));
        self.leave(path, node, &Outcome::passed(), feedback);
    }

    /// Handles the failure of a node.
    pub(super) fn broke(&mut self, path: &FramePath, node: &NodeId, fault: Fault) {
        let note = fault.message.clone();
        self.failed(path, node, fault, note);
    }

    /// Handles the failure of a node, with `note` as the feedback.
    pub(super) fn failed(&mut self, path: &FramePath, node: &NodeId, fault: Fault, note: String) {
        let Some(frame) = self.standing(path) else { return };
        let flow = frame.flow.clone();
        self.executed(path, node, Err(fault.clone()));
        match &self.step(&flow, node).exits.failing {
            FailureHandling::Caught(to) => self.enter(path, flow, to, &Outcome::passed(), None),
            FailureHandling::Ends => {
                let (path, node) = self.around_loops(path, node);
                self.finish(&path, &node, EndResult::Failure, Some(Err(fault)));
            }
            FailureHandling::Stays | FailureHandling::Leads(_) | FailureHandling::Retries { .. } => {
                let feedback = Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(note) };
                self.leave(path, node, &Outcome::failed(), Some(feedback));
            }
        }
    }

    /// Handles a node for which the definition does not say how to continue. It fails if failures are caught or end the
    /// flow; else a person decides.
    pub(super) fn undecided(&mut self, path: &FramePath, node: &NodeId, fault: Fault) {
        let Some(frame) = self.standing(path) else { return };
        let flow = frame.flow.clone();
        match &self.step(&flow, node).exits.failing {
            FailureHandling::Caught(_) | FailureHandling::Ends => self.broke(path, node, fault),
            FailureHandling::Stays | FailureHandling::Leads(_) | FailureHandling::Retries { .. } => {
                self.stuck(path, node.clone(), format_fault(&fault));
            }
        }
    }

    /// Waits for a person to decide.
    pub(super) fn stuck(&mut self, path: &FramePath, node: NodeId, why: String) {
        let feedback = Feedback { from: Some(node.clone()), failures: Vec::new(), note: Some(why) };
        self.moved(path, Place::Waiting { node, on: WaitingFor::Progress, due: None }, Some(feedback));
    }

    /// Ends a flow and continues the frame that waits for it. `came` is its result, if it names one.
    pub(super) fn finish(&mut self, path: &FramePath, node: &NodeId, result: EndResult, came: Option<NodeOutput>) {
        if let Some(came) = &came {
            let (output, fault) = match came {
                Ok(output) => (output.clone(), None),
                Err(fault) => (None, Some(fault.clone())),
            };
            self.emit(Change::Finished { frame: path.clone(), output, fault });
        }
        self.moved(path, Place::Ended { node: node.clone(), result }, None);
        let Some((parent, name)) = path.split() else { return };
        let failed = match &came {
            Some(came) => came.is_err(),
            None => result != EndResult::Success,
        };
        // The caller began the workflow before this decision, because that is an event of its own.
        match self.before.frame(&parent) {
            Some(outer)
                if matches!(outer.place, Place::Within { .. } | Place::Each { .. } | Place::Conversing { .. }) =>
            {
                let came = came.unwrap_or_else(|| self.led_to(outer, node, result));
                self.inner_done((&parent, outer), (path, name), came, result);
            }
            _ => self.branch_done(&parent, name.clone(), &if failed { Outcome::failed() } else { Outcome::passed() }),
        }
    }

    /// Returns the result of a flow that names no output; it ended at `end`.
    fn led_to(&self, outer: &Frame, end: &NodeId, result: EndResult) -> NodeOutput {
        let (node, word) = (outer.place.node(), result.word());
        if result == EndResult::Success {
            let value = || Arc::new(json!({ "outcome": Outcome::passed().as_str(), "result": word }));
            return Ok(self.workflow.flow(&outer.flow).records.then(value));
        }
        // The path of an item is added later, so that only its end is missing here.
        let at = if matches!(outer.place, Place::Within { .. }) { node } else { end };
        Err(fault(at, WORKFLOW_FAILED, format!("the workflow that `{node}` runs ended as {word}"), ""))
    }

    fn inner_done(
        &mut self,
        (parent, outer): (&FramePath, &Frame),
        (path, name): (&FramePath, &NodeId),
        came: NodeOutput,
        result: EndResult,
    ) {
        let node = outer.place.node();
        match came {
            came if matches!(outer.place, Place::Each { .. }) => self.item_done(parent, outer, name, came),
            came if matches!(outer.place, Place::Conversing { .. }) => {
                states::workflow_done(self, (parent, outer), name, came);
            }
            Ok(output) => {
                self.take_back(parent, path, node);
                self.executed(parent, node, Ok(output));
                self.leave(parent, node, &Outcome::passed(), None);
            }
            Err(fault) => {
                let fault = if fault.code == WORKFLOW_FAILED { fault } else { fault.within(node) };
                self.failed(parent, node, fault, format!("the workflow that `{node}` runs ended as {}", result.word()));
            }
        }
    }
}

const WORKFLOW_FAILED: &str = "workflow-failed";

/// Returns a fault as text for feedback.
fn format_fault(fault: &Fault) -> String {
    match fault.detail.as_str() {
        "" => fault.message.clone(),
        expression => format!("{} in `{expression}`", fault.message),
    }
}
