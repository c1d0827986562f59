//! What is to happen next, as data. Some effects are performed by runners; the others are presented.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::decide::{asked_for, outside};
use super::judge;
use crate::chat::{Arguments, Request, shown};
use crate::graph::{Check, CheckBy, Finding, Kind, State, Worker, Workflow};
use crate::run::{Attempt, Doing, EffectId, Frame, FramePath, Patience, Place, Run, Talk};
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
    /// A model is asked.
    Complete(ModelUse),
    /// A tool is used that a model has asked for.
    Use(ToolUsed),
    /// A function works on a state.
    Work(FunctionUse),
}

/// A request to a model, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// At which position. Together with `since`, `turn` and `vote` it names the request: it is settled once, however often
    /// it is made.
    pub frame: FramePath,
    /// The state.
    pub node: NodeId,
    /// The revision at which the state was entered, to be quoted.
    pub since: u64,
    /// The number of the request, to be quoted.
    pub turn: u32,
    /// Which judge it is, from 0; nothing for the model that works.
    pub vote: Option<u32>,
    /// The flow whose state it is.
    pub flow: WorkflowId,
    /// What is asked. Where it names no model, the definition names none.
    pub request: Request,
    /// Not before then: somebody who did not answer is left alone for a while.
    pub not_before: Option<Timestamp>,
}

/// A tool that a model has asked for, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUsed {
    /// At which position. Together with `since` and `call` it names the use: it is settled once.
    pub frame: FramePath,
    /// The state.
    pub node: NodeId,
    /// The revision at which the state was entered, to be quoted.
    pub since: u64,
    /// The name of the call in the conversation, to be quoted.
    pub call: String,
    /// The flow whose state it is.
    pub flow: WorkflowId,
    /// The tool, as the definition has it.
    pub tool: String,
    /// Its arguments: an object, which nobody has compared with the tool's schema yet.
    pub arguments: Arc<Value>,
}

/// Work for a function that whoever embeds the engine has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// At which position. Together with `since` and `turn` it names the work: it is settled once.
    pub frame: FramePath,
    /// The state.
    pub node: NodeId,
    /// The revision at which the state was entered, to be quoted.
    pub since: u64,
    /// The number of the request, to be quoted.
    pub turn: u32,
    /// The flow whose state it is.
    pub flow: WorkflowId,
    /// The function.
    pub function: String,
    /// What it works on.
    pub input: Arc<Value>,
    /// The variables.
    pub shared: Map<String, Value>,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// What the attempt before came to, and what was found of it.
    pub last: Option<Attempt>,
    /// Not before then.
    pub not_before: Option<Timestamp>,
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
                Place::Conversing { node, talk } => {
                    let at = At { workflow, path: &path, frame, node };
                    if let Kind::State(state) = &workflow.flow(&frame.flow).step(node).node.kind {
                        at.talking(state, talk, &mut effects);
                    }
                }
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

/// A state at work, and where.
struct At<'r> {
    workflow: &'r Workflow,
    path: &'r FramePath,
    frame: &'r Frame,
    node: &'r NodeId,
}

impl At<'_> {
    /// What a state has to be done for it.
    fn talking(&self, state: &State, talk: &Talk, effects: &mut Vec<Effect>) {
        match &talk.doing {
            Doing::Asking(patience) => effects.extend(self.asking(state, talk, *patience)),
            Doing::Using { settled } => {
                let open = asked_for(talk).iter().filter(|call| !settled.iter().any(|(id, _)| *id == call.id));
                let names = shown(state.tools.iter().map(|tool| tool.value.as_str()));
                effects.extend(open.filter_map(|call| {
                    let at = names.iter().position(|name| *name == call.name)?;
                    let Arguments::Json(arguments) = &call.arguments else { return None };
                    Some(Effect::Use(ToolUsed {
                        frame: self.path.clone(),
                        node: self.node.clone(),
                        since: self.frame.since,
                        call: call.id.clone(),
                        flow: self.frame.flow.clone(),
                        tool: state.tools[at].value.clone(),
                        arguments: arguments.clone(),
                    }))
                }));
            }
            Doing::Checking { settled, .. } => {
                let all = outside(state.key_results.iter(), talk.attempt);
                let open = all.filter(|(check, _)| !settled.iter().any(|(known, _)| known == check));
                effects.extend(open.filter_map(|(check, result)| {
                    let Finding::Check(by) = &result.by else { return None };
                    let (frame, node, since) = (self.path.clone(), self.node.clone(), self.frame.since);
                    let id = EffectId { frame, node, since, check };
                    let (check, claims) = (by.clone(), Arc::default());
                    Some(Effect::Perform(Work { id, check, claims, after_crash: AfterCrash::Repeat }))
                }));
            }
            Doing::Judging { output, votes, patience, .. } => {
                let request = judge::request(state, output);
                let open = (0..).zip(votes).filter(|(_, vote)| vote.is_none());
                effects.extend(open.map(|(vote, _)| {
                    let request = self.with_model(request.clone());
                    Effect::Complete(self.request(talk, Some(vote), request, *patience))
                }));
            }
            Doing::Held { .. } => {}
        }
    }

    fn asking(&self, state: &State, talk: &Talk, patience: Patience) -> Option<Effect> {
        Some(match &state.work {
            Worker::Nobody => return None,
            Worker::Model(asking) => {
                let tools = state.tools.iter().map(|tool| tool.value.clone()).collect();
                let request = self.with_model(Request {
                    model: asking.model.clone(),
                    messages: talk.messages.clone(),
                    tools: Arc::new(tools),
                    settings: asking.settings.clone(),
                    answer_schema: asking.schema.as_ref().map(|schema| Arc::new(schema.value().clone())),
                });
                Effect::Complete(self.request(talk, None, request, patience))
            }
            Worker::Function(function) => Effect::Work(FunctionUse {
                frame: self.path.clone(),
                node: self.node.clone(),
                since: self.frame.since,
                turn: talk.turn,
                flow: self.frame.flow.clone(),
                function: function.value.clone(),
                input: talk.input.clone(),
                shared: self.frame.data.as_ref().map(|data| data.variables.clone()).unwrap_or_default(),
                attempt: talk.attempt,
                last: talk.failed.last().cloned(),
                not_before: patience.not_before,
            }),
        })
    }

    /// The model of the whole definition, where the state names none.
    fn with_model(&self, request: Request) -> Request {
        let of_flow = || self.workflow.flow(&self.frame.flow).program.as_ref()?.model.clone();
        let of_root = || self.workflow.root().program.as_ref()?.model.clone();
        Request { model: request.model.clone().or_else(of_flow).or_else(of_root), ..request }
    }

    fn request(&self, talk: &Talk, vote: Option<u32>, request: Request, patience: Patience) -> ModelUse {
        ModelUse {
            frame: self.path.clone(),
            node: self.node.clone(),
            since: self.frame.since,
            turn: talk.turn,
            vote,
            flow: self.frame.flow.clone(),
            request,
            not_before: patience.not_before,
        }
    }
}
