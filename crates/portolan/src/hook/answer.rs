//! Decisions, and the parts that every host's answer is made of.

use portolan_gates::Decision;
use serde_json::{Value, json};

use super::{Host, Stage, Unreadable};
use super::{claude_code, codex, copilot, cursor, gemini, opencode};
use crate::invisible::safe;

/// A decision for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// The reason, for the agent.
    pub(crate) reason: String,
    /// The remedies, in order.
    pub(crate) remedies: Vec<String>,
    /// Further information for the agent.
    pub(crate) context: Option<String>,
    /// The only tools that the model may see next, by the host's names.
    pub(crate) allowed_tools: Option<Vec<String>>,
}

impl Answer {
    /// Allows the call without a message.
    pub(crate) fn allowed() -> Answer {
        let (reason, remedies) = (String::new(), Vec::new());
        Answer { decision: Decision::Allow, reason, remedies, context: None, allowed_tools: None }
    }

    /// Blocks the call.
    pub(crate) fn blocked(reason: impl Into<String>) -> Answer {
        Answer { decision: Decision::Block, reason: reason.into(), ..Answer::allowed() }
    }

    /// Returns the reason and the remedies. It is never empty: some hosts ignore a refusal without a reason.
    pub(super) fn message(&self) -> String {
        // Reasons contain branch names, titles and commit messages, which must not control a terminal.
        let reason = safe(&self.reason);
        let mut message = if reason.trim().is_empty() { "refused by portolan".to_owned() } else { reason };
        for remedy in &self.remedies {
            message.push_str("\n- ");
            message.push_str(&safe(remedy));
        }
        shortened(message)
    }

    /// Returns the message for a host that cannot ask a person, and takes no context with a refusal.
    pub(super) fn message_unasked(&self) -> String {
        let consent = match self.decision {
            Decision::Ask => "\n- this needs a person's consent, which no hook of this host can ask for",
            Decision::Allow | Decision::Block => "",
        };
        let context = self.context().map(|context| format!("\n\n{context}")).unwrap_or_default();
        shortened(format!("{}{consent}{context}", self.message()))
    }

    pub(super) fn context(&self) -> Option<String> {
        self.context.as_deref().map(|context| shortened(safe(context))).filter(|context| !context.trim().is_empty())
    }

    /// Returns the feedback after an event has happened.
    pub(super) fn feedback(&self) -> Option<String> {
        match self.decision {
            Decision::Allow => self.context(),
            Decision::Ask | Decision::Block => {
                let context = self.context().map(|context| format!("\n{context}")).unwrap_or_default();
                Some(self.message() + &context)
            }
        }
    }
}

/// The most characters of a message. Hosts cut a longer one, or treat it as an error.
const MAX_CHARS: usize = 9_000;

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The result of a hook's process. The host reads all three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: u8,
}

impl Reply {
    /// Returns a success without output.
    pub(super) fn silent() -> Reply {
        Reply { stdout: String::new(), stderr: String::new(), status: 0 }
    }

    pub(super) fn json(value: &Value) -> Reply {
        Reply { stdout: format!("{value}\n"), ..Reply::silent() }
    }

    /// Returns a refusal by exit code 2, with the reason on standard error.
    pub(super) fn exit_two(reason: &str) -> Reply {
        Reply { stdout: String::new(), stderr: format!("{reason}\n"), status: 2 }
    }
}

/// Formats a decision on `event` for `host`.
pub(crate) fn answer(host: Host, event: &str, answer: &Answer) -> Reply {
    let stage = host.stage(event);
    let event = host.event(event).map_or(event, |event| event.name);
    match host {
        Host::ClaudeCode => claude_code::answer(stage, event, answer),
        Host::Codex => codex::answer(stage, event, answer),
        Host::Cursor => cursor::answer(stage, event, answer),
        Host::Gemini => gemini::answer(stage, event, answer),
        Host::OpenCode => opencode::answer(stage, answer),
        Host::Copilot => copilot::answer(stage, event, answer),
    }
}

/// Formats the answer to an unreadable announcement: a gating event is refused, any other one passes.
pub(crate) fn refuse(host: Host, event: &str, unreadable: &Unreadable) -> Reply {
    if !unreadable.stage.is_gating() {
        return answer(host, event, &Answer::allowed());
    }
    let mut refusal = Answer::blocked(format!("this call is refused, because {}", unreadable.message));
    refusal.remedies.push("run `portolan doctor`: the hook and the host may not be compatible".to_owned());
    answer(host, event, &refusal)
}

/// Returns whether a host treats this reply as a refusal of the tool call.
pub(crate) fn is_denial(host: Host, event: &str, reply: &Reply) -> bool {
    if host.stage(event) != Stage::BeforeTool {
        return false;
    }
    let out: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    let nested = &out["hookSpecificOutput"];
    let denied = |value: &Value, words: &[&str]| value.as_str().is_some_and(|word| words.contains(&word));
    let reasoned = |value: &Value| value.as_str().is_some_and(|reason| !reason.trim().is_empty());
    let exited = reply.status == 2 && !reply.stderr.trim().is_empty();
    match host {
        Host::ClaudeCode | Host::Copilot => {
            exited || reply.status == 0 && denied(&nested["permissionDecision"], &["deny"])
        }
        // An additional key would make the answer invalid, and the call would pass.
        Host::Codex => {
            let reason = &nested["permissionDecisionReason"];
            let exact = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
                "permissionDecision": "deny", "permissionDecisionReason": reason } });
            exited && reply.stdout.is_empty() || reply.status == 0 && out == exact && reasoned(reason)
        }
        Host::Cursor => reply.status == 0 && denied(&out["permission"], &["deny"]),
        Host::Gemini => exited || reply.status == 0 && denied(&out["decision"], &["deny", "block"]),
        Host::OpenCode => reply.status != 0 || !denied(&out["decision"], &["allow"]),
    }
}

/// Returns an object with the fields in `hookSpecificOutput`.
pub(super) fn specific(event: &str, mut fields: Value) -> Value {
    let mut inner = json!({ "hookEventName": event });
    if let (Some(inner), Some(fields)) = (inner.as_object_mut(), fields.as_object_mut()) {
        inner.append(fields);
    }
    json!({ "hookSpecificOutput": inner })
}
