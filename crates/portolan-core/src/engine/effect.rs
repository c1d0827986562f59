//! What is to happen next, as data. Some effects are performed by runners; the others are presented.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::graph::{Check, CheckBy, Kind, Workflow};
use crate::run::{EffectId, Frame, FramePath, Place, Run};
use crate::value::{NodeId, Timestamp, WorkflowId};

/// Something to perform or to present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The agent is told what to do.
    Instruct {
        /// At which position.
        frame: FramePath,
        /// The node.
        node: NodeId,
    },
    /// A person is asked.
    Ask {
        /// At which position.
        frame: FramePath,
        /// The node.
        node: NodeId,
    },
    /// Something is found out.
    Perform(Work),
    /// The engine goes on by itself, with the next event.
    Continue {
        /// At which position.
        frame: FramePath,
        /// The node.
        node: NodeId,
        /// The revision at which it was reached, to be quoted.
        since: u64,
    },
    /// A tool is called.
    Call(ToolCall),
}

/// A call of a tool, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// At which position. Together with `since` it names the call: it is settled once, however often it is performed.
    pub frame: FramePath,
    /// The node.
    pub node: NodeId,
    /// The revision at which the call began, to be quoted.
    pub since: u64,
    /// The flow whose node it is.
    pub flow: WorkflowId,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments: an object.
    pub arguments: Arc<Value>,
    /// How many times it was called before, on this visit.
    pub retries: u32,
    /// How long it may take, in milliseconds; nothing means what the server's entry says.
    pub timeout_ms: Option<u64>,
    /// When the time of the whole run is up.
    pub deadline: Option<Timestamp>,
    /// Not before then: a retry waits.
    pub not_before: Option<Timestamp>,
    /// Whether its answer is read as text first.
    pub text_first: bool,
    /// What to do when a crash leaves it unknown whether it was performed.
    pub after_crash: AfterCrash,
}

/// Work for a runner, with everything it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Under which it is settled, once, however often it is performed.
    pub id: EffectId,
    /// What to find out.
    pub check: CheckBy,
    /// What the run claims, where a gate looks at it: the variables that are seen there.
    pub claims: Arc<Map<String, Value>>,
    /// What to do when a crash leaves it unknown whether it was performed.
    pub after_crash: AfterCrash,
}

/// What to do when a crash leaves it unknown whether an effect was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCrash {
    /// Perform it again: finding something out twice does no harm.
    Repeat,
    /// Ask a person: it may have done something in the world.
    Ask,
}

impl Run {
    /// The effects to perform or present, in order of the definition.
    pub fn pending(&self, workflow: &Workflow) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (path, frame) in self.positions() {
            match &frame.place {
                Place::Ready { node } => effects.push(Effect::Instruct { frame: path, node: node.clone() }),
                Place::Waiting { node, .. } => effects.push(Effect::Ask { frame: path, node: node.clone() }),
                Place::Checking { node, settled, .. } => {
                    let checks = &workflow.flow(&frame.flow).step(node).node.accept;
                    let open = checks.iter().filter(|check| !settled.iter().any(|(id, _)| *id == check.id));
                    let claims = self.claims(workflow, checks, &path);
                    effects.extend(open.map(|check| {
                        let id = EffectId {
                            frame: path.clone(),
                            node: node.clone(),
                            since: frame.since,
                            check: check.id.clone(),
                        };
                        let (check, claims) = (check.by.clone(), claims.clone());
                        Effect::Perform(Work { id, check, claims, after_crash: AfterCrash::Repeat })
                    }));
                }
                Place::Passing { node } => {
                    effects.push(Effect::Continue { frame: path, node: node.clone(), since: frame.since });
                }
                Place::Calling { .. } => effects.extend(self.call(workflow, path, frame).map(Effect::Call)),
                Place::Each { .. }
                | Place::Looping { .. }
                | Place::Forked { .. }
                | Place::Gathering { .. }
                | Place::Within { .. }
                | Place::Arrived { .. }
                | Place::Ended { .. } => {}
            }
        }
        effects
    }

    /// The variables that gates among `checks` look at; nothing where there is none.
    fn claims(&self, workflow: &Workflow, checks: &[Check], path: &FramePath) -> Arc<Map<String, Value>> {
        if !checks.iter().any(|check| matches!(check.by, CheckBy::Gate { .. })) {
            return Arc::default();
        }
        // What could be claimed and is not is told as `null`; of several of a name the innermost is told first, and counts.
        let owner = self.frame(&self.owner(path)).map(|frame| workflow.flow(&frame.flow));
        let declared = owner.into_iter().flat_map(|flow| &flow.variables);
        let mut claims: Map<String, Value> =
            declared.map(|variable| (variable.name.value.clone(), Value::Null)).collect();
        let seen = self.variables(path).into_iter().rev();
        claims.extend(seen.map(|(name, value)| (name.to_owned(), value.clone())));
        Arc::new(claims)
    }

    fn call(&self, workflow: &Workflow, path: FramePath, frame: &Frame) -> Option<ToolCall> {
        let Place::Calling { node, arguments, retries, not_before } = &frame.place else { return None };
        let flow = workflow.flow(&frame.flow);
        let Kind::Call(call) = &flow.step(node).node.kind else { return None };
        let limits = workflow.root().program.as_ref().map(|program| program.limits);
        let deadline =
            self.opening.since.zip(limits).map(|(since, limits)| {
                Timestamp(since.0.saturating_add(i64::try_from(limits.max_ms).unwrap_or(i64::MAX)))
            });
        Some(ToolCall {
            frame: path,
            node: node.clone(),
            since: frame.since,
            flow: frame.flow.clone(),
            server: call.server.value.clone(),
            tool: call.tool.value.clone(),
            arguments: arguments.clone(),
            retries: *retries,
            timeout_ms: call.timeout_ms,
            deadline,
            not_before: *not_before,
            text_first: flow.program.as_ref().is_some_and(|program| program.text_first),
            after_crash: if call.idempotent { AfterCrash::Repeat } else { AfterCrash::Ask },
        })
    }
}
