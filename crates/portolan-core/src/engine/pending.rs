//! The pending effects of a run.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::decide::{asked_for, outside};
use super::effect::{AfterCrash, CheckRequest, Effect, EffectKind, FunctionUse, ModelRequest, ModelToolCall, ToolCall};
use super::judge;
use crate::chat::{Arguments, Request, shown};
use crate::graph::{Check, CheckBy, KeyResultCheck, Kind, State, Worker, Workflow};
use crate::run::{Backoff, EffectId, EffectPart, Frame, FramePath, Human, ModelActivity, ModelState, Place, Run};
use crate::value::{CheckId, NodeId, Timestamp};

impl Run {
    /// Returns the effects to perform or present, in the order of the definition.
    pub fn pending(&self, workflow: &Workflow) -> Vec<Effect> {
        let mut effects = Vec::new();
        // A state that waits for workflows may also have asked for other tools.
        let has_effects =
            |frame: &Frame| matches!(frame.place, Place::Conversing { .. }) || frame.inner().next().is_none();
        for (path, frame) in self.frames(&has_effects) {
            let node = frame.place.node();
            At { run: self, workflow, path: &path, frame, node }.add_to(&mut effects);
        }
        effects
    }

    /// Returns the effect of the first automatic node. Settling it takes only a time and a seed. `None` if the run
    /// waits for somebody or for something outside.
    pub fn passing(&self) -> Option<EffectId> {
        // This is called after every event, so it does not collect all effects.
        fn find(frame: &Frame, path: &mut Vec<NodeId>) -> Option<EffectId> {
            if let Place::Passing { node, .. } = &frame.place {
                let frame_path = FramePath(path.clone());
                let (node, since, part) = (node.clone(), frame.since, EffectPart::Node);
                return Some(EffectId { frame: frame_path, node, since, part });
            }
            frame.inner().find_map(|(name, inner)| {
                path.push(name.clone());
                let found = find(inner, path);
                path.pop();
                found
            })
        }
        find(&self.root, &mut Vec::new())
    }

    /// Returns the earliest time at which a waiting effect may be performed; `None` if no effect waits for a time.
    pub fn next_due(&self, workflow: &Workflow) -> Option<Timestamp> {
        self.pending(workflow).iter().filter_map(|effect| effect.not_before).min_by_key(|time| time.0)
    }

    /// Returns the time from which the run continues without an agent and without a person; a time in the past if it
    /// does so at once. `None` if it waits for somebody, or is over.
    ///
    /// The checks of a report belong to whoever reported: the run waits for them.
    pub fn continues_at(&self) -> Option<Timestamp> {
        let at_once = Timestamp(i64::MIN);
        let has_effects =
            |frame: &Frame| matches!(frame.place, Place::Conversing { .. }) || frame.inner().next().is_none();
        let time = |(_, frame): (FramePath, &Frame)| match &frame.place {
            Place::Passing { .. } => Some(at_once),
            Place::Calling { not_before, .. } => Some(not_before.unwrap_or(at_once)),
            Place::Conversing { talk, .. } => match &talk.doing {
                ModelActivity::Asking(patience) | ModelActivity::Judging { patience, .. } => {
                    Some(patience.not_before.unwrap_or(at_once))
                }
                // Otherwise the state waits for workflows, which are frames of their own.
                ModelActivity::Using { settled, open } => {
                    let is_left = |call: &str| {
                        settled.iter().all(|(id, _)| id != call) && open.iter().all(|item| item.name.as_str() != call)
                    };
                    asked_for(talk).iter().any(|call| is_left(&call.id)).then_some(at_once)
                }
                ModelActivity::Checking { .. } => Some(at_once),
                ModelActivity::Held { .. } => None,
            },
            place => self.answers_itself(place),
        };
        self.frames(&has_effects).into_iter().filter_map(time).min_by_key(|time| time.0)
    }

    /// Returns the timeouts of the questions whose time is up at `now`.
    pub fn overdue(&self, now: Timestamp) -> Vec<EffectId> {
        let overdue = |(path, frame): (FramePath, &Frame)| {
            let due = self.answers_itself(&frame.place)?;
            let (node, since, part) = (frame.place.node().clone(), frame.since, EffectPart::Timer);
            (due.0 <= now.0).then_some(EffectId { frame: path, node, since, part })
        };
        self.positions().into_iter().filter_map(overdue).collect()
    }

    /// Returns when a question times out. Never if only a person's own answer is accepted.
    fn answers_itself(&self, place: &Place) -> Option<Timestamp> {
        let counts = self.opening.rules.human == Human::Attested;
        let Place::Waiting { due, .. } = place else { return None };
        due.filter(|_| counts)
    }

    /// Returns the variables for the gates and evidence among `checks`; empty if there are none.
    fn claims(&self, workflow: &Workflow, checks: &[Check], path: &FramePath) -> Arc<Map<String, Value>> {
        if !checks.iter().any(|check| matches!(check.by, CheckBy::Gate { .. } | CheckBy::Evidence(_))) {
            return Arc::default();
        }
        // Declared variables without a value are `null`. `variables` lists the innermost first: reversed, the innermost
        // wins.
        let owner = self.frame(&self.owner(path)).map(|frame| workflow.flow(&frame.flow));
        let declared = owner.into_iter().flat_map(|flow| &flow.variables);
        let mut claims: Map<String, Value> =
            declared.map(|variable| (variable.name.value.clone(), Value::Null)).collect();
        let values = self.variables(path).into_iter().rev();
        claims.extend(values.map(|(name, value)| (name.to_owned(), value.clone())));
        Arc::new(claims)
    }
}

/// A position and its data, for creating its effects.
struct At<'r> {
    run: &'r Run,
    workflow: &'r Workflow,
    path: &'r FramePath,
    frame: &'r Frame,
    node: &'r NodeId,
}

impl At<'_> {
    fn add_to(&self, effects: &mut Vec<Effect>) {
        match &self.frame.place {
            Place::Ready { .. } => effects.push(self.effect(EffectPart::Node, EffectKind::Instruct)),
            Place::Waiting { .. } => {
                effects.push(self.effect(EffectPart::Node, EffectKind::Ask));
                let due = self.run.answers_itself(&self.frame.place);
                let timer = || self.effect(EffectPart::Timer, EffectKind::TimeOut);
                effects.extend(due.map(|due| Effect { not_before: Some(due), ..timer() }));
            }
            Place::Checking { settled, .. } => {
                let checks = &self.workflow.flow(&self.frame.flow).step(self.node).node.accept;
                let claims = self.run.claims(self.workflow, checks, self.path);
                let open = checks.iter().filter(|check| !settled.iter().any(|(id, _)| *id == check.id));
                effects.extend(open.map(|check| self.check(check.id.clone(), &check.by, &claims)));
            }
            Place::Passing { .. } => effects.push(self.effect(EffectPart::Node, EffectKind::Advance)),
            Place::Calling { arguments, retries, not_before, .. } => {
                effects.extend(self.call(arguments, *retries, *not_before));
            }
            Place::Conversing { talk, .. } => {
                if let Kind::State(state) = &self.workflow.flow(&self.frame.flow).step(self.node).node.kind {
                    self.talking(state, talk, effects);
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

    fn effect(&self, part: EffectPart, what: EffectKind) -> Effect {
        let id = EffectId { frame: self.path.clone(), node: self.node.clone(), since: self.frame.since, part };
        let flow = self.frame.flow.clone();
        Effect { id, flow, not_before: None, deadline: None, after_crash: AfterCrash::Repeat, what }
    }

    fn check(&self, check: CheckId, by: &CheckBy, claims: &Arc<Map<String, Value>>) -> Effect {
        let request = CheckRequest { check: by.clone(), claims: claims.clone() };
        self.effect(EffectPart::Check(check), EffectKind::Check(request))
    }

    fn call(&self, arguments: &Arc<Value>, retries: u32, not_before: Option<Timestamp>) -> Option<Effect> {
        let flow = self.workflow.flow(&self.frame.flow);
        let Kind::Call(call) = &flow.step(self.node).node.kind else { return None };
        let limits = self.workflow.root().interface.as_ref().map(|interface| interface.limits);
        let deadline = self.run.opening.since.zip(limits).map(|(since, limits)| since.after_ms(limits.max_ms));
        // A call that waits for its next attempt may be made again, by its definition.
        let may_repeat = call.idempotent || not_before.is_some();
        let after_crash = if may_repeat { AfterCrash::Repeat } else { AfterCrash::Ask };
        let what = EffectKind::Call(ToolCall {
            server: call.server.value.clone(),
            tool: call.tool.value.clone(),
            arguments: arguments.clone(),
            retries,
            timeout_ms: call.timeout_ms,
            text_first: flow.settings.text_first,
        });
        Some(Effect { not_before, deadline, after_crash, ..self.effect(EffectPart::Node, what) })
    }

    /// Adds the effects of a state.
    fn talking(&self, state: &State, talk: &ModelState, effects: &mut Vec<Effect>) {
        match &talk.doing {
            ModelActivity::Asking(patience) => effects.extend(self.asking(state, talk, *patience)),
            ModelActivity::Using { settled, open } => {
                let is_settled = |call: &str| settled.iter().any(|(id, _)| *id == call);
                let is_under_way = |call: &str| open.iter().any(|item| item.name.as_str() == call);
                let unsettled = asked_for(talk).iter().filter(|call| !is_settled(&call.id) && !is_under_way(&call.id));
                let names = shown(state.tools.iter().map(|tool| tool.value.as_str()));
                effects.extend(unsettled.filter_map(|call| {
                    let at = names.iter().position(|name| *name == call.name)?;
                    let Arguments::Json(arguments) = &call.arguments else { return None };
                    let (tool, arguments) = (state.tools[at].value.clone(), arguments.clone());
                    let what = EffectKind::UseTool(ModelToolCall { tool, arguments });
                    let effect = self.effect(EffectPart::Tool(call.id.clone()), what);
                    Some(Effect { after_crash: AfterCrash::Ask, ..effect })
                }));
            }
            ModelActivity::Checking { settled, .. } => {
                let all = outside(state.key_results.iter(), talk.attempt);
                let open = all.filter(|(check, _)| !settled.iter().any(|(known, _)| known == check));
                effects.extend(open.filter_map(|(check, result)| {
                    let KeyResultCheck::Check(by) = &result.by else { return None };
                    Some(self.check(check, by, &Arc::default()))
                }));
            }
            ModelActivity::Judging { output, votes, patience, .. } => {
                let request = judge::request(state, output);
                let open = (0..).zip(votes).filter(|(_, vote)| vote.is_none());
                effects.extend(open.map(|(judge, _)| {
                    let part = EffectPart::Vote { turn: talk.turn, judge };
                    self.request(part, Some(judge), request.clone(), *patience)
                }));
            }
            ModelActivity::Held { .. } => {}
        }
    }

    fn asking(&self, state: &State, talk: &ModelState, patience: Backoff) -> Option<Effect> {
        let part = EffectPart::Request(talk.turn);
        Some(match &state.work {
            Worker::Nobody => return None,
            Worker::Model(asking) => {
                let tools = state.tools.iter().map(|tool| tool.value.clone()).collect();
                let request = Request {
                    model: asking.model.clone(),
                    messages: talk.messages.clone(),
                    tools: Arc::new(tools),
                    settings: asking.settings.clone(),
                    answer_schema: asking.schema.as_ref().map(|schema| Arc::new(schema.value().clone())),
                };
                self.request(part, None, request, patience)
            }
            Worker::Function(function) => {
                let what = EffectKind::Work(FunctionUse {
                    function: function.value.clone(),
                    input: talk.input.clone(),
                    shared: self.frame.data.as_ref().map(|data| data.variables.clone()).unwrap_or_default(),
                    attempt: talk.attempt,
                    last: talk.failed.last().cloned(),
                });
                Effect { not_before: patience.not_before, ..self.effect(part, what) }
            }
        })
    }

    fn request(&self, part: EffectPart, judge: Option<u32>, request: Request, patience: Backoff) -> Effect {
        // The default model of the definition, if the state names none.
        let of_flow = || self.workflow.flow(&self.frame.flow).settings.model.clone();
        let of_root = || self.workflow.root().settings.model.clone();
        let request = Request { model: request.model.clone().or_else(of_flow).or_else(of_root), ..request };
        let what = EffectKind::Complete(ModelRequest { judge, request });
        Effect { not_before: patience.not_before, ..self.effect(part, what) }
    }
}
