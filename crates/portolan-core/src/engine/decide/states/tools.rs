//! The tool calls of a model: which of them are performed, and the results for the model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{StateDecision, words};
use crate::chat::{Arguments, Message, ToolUse, shown};
use crate::diagnostic::{clip, list};
use crate::engine::decide::node_result::NodeOutput;
use crate::engine::decide::walk::{Draft, too_deep};
use crate::engine::variable_tools::{SHARED_GET, SHARED_SET};
use crate::graph::{MAX_DEPTH, State};
use crate::run::{Frame, FramePath, ModelActivity, ModelState, ModelStateChange, Spend, ToolCallResult, WaitReason};
use crate::value::{NodeId, WorkflowId};

/// The maximum number of tool calls in one message.
const MAX_AT_ONCE: usize = 128;

/// Handles the result of a tool call. One that is already settled, or was not asked for, changes nothing.
pub(in crate::engine::decide) fn tool_done(draft: &mut Draft<'_>, path: &FramePath, call: &str, done: &ToolCallResult) {
    let Some(mut working) = StateDecision::at(draft, path) else { return };
    let ModelActivity::Using { settled, .. } = &working.talk.doing else { return };
    let known = asked_for(&working.talk).iter().any(|tool_use| tool_use.id == call);
    if !known || settled.iter().any(|(id, _)| id == call) {
        return;
    }
    let done = working.stopping(call, done.clone());
    working.say(ModelStateChange::ToolDone { call: call.to_owned(), done });
    working.after_tools();
}

/// Handles the end of a workflow that is used as a tool.
pub(in crate::engine::decide) fn workflow_done(
    draft: &mut Draft<'_>,
    (path, outer): (&FramePath, &Frame),
    call: &NodeId,
    came: NodeOutput,
) {
    let Some(item) = outer.items().iter().find(|item| item.name == *call) else { return };
    let done = match came {
        Ok(output) => ToolCallResult::Output(output.unwrap_or_default()),
        Err(fault) => {
            ToolCallResult::Failed(format!("`{}` failed at `{}`: {}", item.frame.flow, fault.node, fault.message))
        }
    };
    tool_done(draft, path, call.as_str(), &done);
}

/// Returns the tool calls of the last message.
pub(in crate::engine) fn asked_for(talk: &ModelState) -> &[ToolUse] {
    talk.messages.last().map_or(&[], |message| &message.tool_calls)
}

/// Returns the tool calls of this conversation for expressions: names, arguments and results.
pub(super) fn calls(talk: &ModelState) -> Value {
    let used = talk.messages.iter().flat_map(|message| &message.tool_calls);
    let result = |id: &str| {
        let result_message = talk.messages.iter().find(|message| message.tool_call_id.as_deref() == Some(id))?;
        result_message.content.as_deref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)))
    };
    let call = |call: &ToolUse| {
        let arguments = match &call.arguments {
            Arguments::Json(value) => (**value).clone(),
            Arguments::Text(text) => Value::from(text.as_str()),
        };
        json!({ "name": call.name, "arguments": arguments, "result": result(&call.id) })
    };
    used.map(call).collect()
}

impl<'w> StateDecision<'_, 'w> {
    /// Returns the result of a tool call, marked if the definition stops the run after the tool.
    fn stopping(&self, call: &str, done: ToolCallResult) -> ToolCallResult {
        let tool_use = asked_for(&self.talk).iter().find(|tool_use| tool_use.id == call);
        let Some(tool) = tool_use.and_then(|tool_use| self.tool_of(tool_use)) else { return done };
        match done {
            ToolCallResult::Output(output) if self.state.breaking.iter().any(|name| name.value == tool) => {
                ToolCallResult::Breaks(output)
            }
            ToolCallResult::Output(output) if self.state.waiting.iter().any(|name| name.value == tool) => {
                ToolCallResult::Waits(output)
            }
            done => done,
        }
    }

    /// Begins the tool calls of a message: all valid ones at once. The model gets an error for the others.
    pub(super) fn use_tools(&mut self, calls: &[ToolUse]) {
        self.say(ModelStateChange::Doing(ModelActivity::Using { settled: Vec::new(), open: Vec::new() }));
        for (nth, call) in calls.iter().enumerate() {
            let settled = if nth >= MAX_AT_ONCE {
                Some(ToolCallResult::Failed(format!("more than {MAX_AT_ONCE} tools were called at once")))
            } else {
                self.settled_at_once(call)
            };
            if let Some(done) = settled {
                self.say(ModelStateChange::ToolDone { call: call.id.clone(), done });
            }
        }
        self.begin_tools();
    }

    /// Begins the calls that are not settled, unless a limit is reached.
    pub(super) fn begin_tools(&mut self) {
        if let Some(over) = self.over_tools().filter(|_| !self.is_all_settled()) {
            let then = self.talk.doing.clone();
            return self.hold(over, then);
        }
        let ModelActivity::Using { settled, .. } = &self.talk.doing else { return };
        let is_open = |call: &ToolUse| !settled.iter().any(|(id, _)| *id == call.id);
        let open_calls = (0..).zip(asked_for(&self.talk)).filter(|(_, call)| is_open(call));
        let open: Vec<(u32, ToolUse)> = open_calls.map(|(nth, call)| (nth, call.clone())).collect();
        self.spend(Spend { tool_calls: open.len() as u64, ..Spend::default() });
        for (nth, call) in open {
            self.begin_workflow(nth, &call);
        }
        self.after_tools();
    }

    /// Begins the workflow that a call asks for, if it does. Its frame is inside this one until it is done.
    fn begin_workflow(&mut self, nth: u32, call: &ToolUse) {
        let Some(workflow) = self.tool_of(call).and_then(State::workflow_of).map(WorkflowId::from) else { return };
        let Arguments::Json(arguments) = &call.arguments else { return };
        let begun = if self.path.0.len() >= MAX_DEPTH {
            Err(too_deep())
        } else {
            self.draft.inner_frame(&workflow, Some((**arguments).clone())).map_err(|fault| fault.message)
        };
        match begun {
            Ok(frame) => {
                self.say(ModelStateChange::WorkflowBegun { call: call.id.clone(), index: nth, frame: Box::new(frame) });
            }
            Err(why) => {
                self.say(ModelStateChange::ToolDone { call: call.id.clone(), done: ToolCallResult::Failed(why) })
            }
        }
    }

    /// Returns the tool of a call, as the definition names it.
    fn tool_of(&self, call: &ToolUse) -> Option<&'w str> {
        let tools = self.state.tools.iter().map(|tool| tool.value.as_str());
        let at = shown(tools).iter().position(|name| *name == call.name)?;
        Some(self.state.tools[at].value.as_str())
    }

    fn is_all_settled(&self) -> bool {
        let ModelActivity::Using { settled, .. } = &self.talk.doing else { return false };
        asked_for(&self.talk).iter().all(|call| settled.iter().any(|(id, _)| *id == call.id))
    }

    /// Returns the result of a call that needs nothing outside.
    fn settled_at_once(&mut self, call: &ToolUse) -> Option<ToolCallResult> {
        let tools: Vec<&str> = self.state.tools.iter().map(|tool| tool.value.as_str()).collect();
        let names = shown(tools.iter().copied());
        let Some(at) = names.iter().position(|name| *name == call.name) else {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let there =
                if known.is_empty() { "there are no tools".to_owned() } else { format!("there are {}", list(&known)) };
            return Some(ToolCallResult::Failed(format!("there is no tool `{}` here; {there}", clip(&call.name))));
        };
        let arguments = match &call.arguments {
            Arguments::Json(value) if value.is_object() => value.clone(),
            Arguments::Json(_) => {
                return Some(ToolCallResult::Failed("the arguments are not a JSON object".to_owned()));
            }
            Arguments::Text(text) => {
                let why = serde_json::from_str::<Value>(text).err().map_or_else(String::new, |why| format!(": {why}"));
                return Some(ToolCallResult::Failed(format!("the arguments are not valid JSON{why}")));
            }
        };
        match tools[at] {
            SHARED_GET => Some(self.shared_get(&arguments)),
            SHARED_SET => Some(self.shared_set(&arguments)),
            _ => None,
        }
    }

    fn shared_get(&self, arguments: &Value) -> ToolCallResult {
        match arguments.get("name").and_then(Value::as_str) {
            Some(name) => ToolCallResult::Output(Arc::new(self.shared.get(name).cloned().unwrap_or_default())),
            None => ToolCallResult::Output(Arc::new(Value::Object(self.shared.clone()))),
        }
    }

    fn shared_set(&mut self, arguments: &Value) -> ToolCallResult {
        let (Some(name), Some(value)) = (arguments.get("name").and_then(Value::as_str), arguments.get("value")) else {
            return ToolCallResult::Failed("`name` and `value` are needed".to_owned());
        };
        let (name, value) = (name.to_owned(), value.clone());
        self.set(&name, value);
        ToolCallResult::Output(Arc::new(json!({ "set": name })))
    }

    /// Gives the results to the model, in the order of its calls, once all are settled, unless one of them stops the
    /// run.
    pub(super) fn after_tools(&mut self) {
        if !self.is_all_settled() {
            return;
        }
        let ModelActivity::Using { settled, .. } = &self.talk.doing else { return };
        let (settled, calls) = (settled.clone(), asked_for(&self.talk).to_vec());
        let done = |call: &ToolUse| settled.iter().find(|(id, _)| *id == call.id).map(|(_, done)| done.clone());
        let stops = calls.iter().find_map(|call| match done(call)? {
            ToolCallResult::Breaks(output) => Some(WaitReason::Break { call: call.id.clone(), output }),
            ToolCallResult::Waits(output) => Some(WaitReason::Answer { call: call.id.clone(), output }),
            ToolCallResult::Output(_) | ToolCallResult::Failed(_) => None,
        });
        if let Some(why) = stops {
            let then = self.talk.doing.clone();
            return self.hold(why, then);
        }
        for call in &calls {
            let text = match done(call) {
                Some(ToolCallResult::Output(value)) => words::text_of(&value),
                Some(ToolCallResult::Failed(why)) => format!("Error: {why}"),
                Some(ToolCallResult::Breaks(_) | ToolCallResult::Waits(_)) | None => continue,
            };
            let message = Message::of_tool(&call.id, words::clipped(&text, words::MAX_TOOL_TEXT));
            self.say(ModelStateChange::Message(Arc::new(message)));
        }
        self.ask();
    }
}
