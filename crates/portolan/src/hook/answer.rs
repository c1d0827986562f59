//! What is decided, in the words that every host's answer is made of.

use portolan_core::diagnostic::is_unseen;
use portolan_gates::Decision;
use serde_json::{Value, json};

use super::{Host, Stage, Unreadable};
use super::{claude_code, codex, copilot, cursor, gemini, opencode};

/// What a host is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// Why, for the agent.
    pub(crate) reason: String,
    /// What puts it right, in order.
    pub(crate) remedies: Vec<String>,
    /// What the agent should know besides.
    pub(crate) context: Option<String>,
    /// The only tools that the model is to see next, by the host's own names.
    pub(crate) allowed_tools: Option<Vec<String>>,
}

impl Answer {
    /// It may happen, and there is nothing to say.
    pub(crate) fn allowed() -> Answer {
        let (reason, remedies) = (String::new(), Vec::new());
        Answer { decision: Decision::Allow, reason, remedies, context: None, allowed_tools: None }
    }

    /// It may not happen.
    pub(crate) fn blocked(reason: impl Into<String>) -> Answer {
        Answer { decision: Decision::Block, reason: reason.into(), ..Answer::allowed() }
    }

    /// Why, and what to do. It is never empty: a refusal without a reason is none on some hosts.
    pub(super) fn message(&self) -> String {
        let reason = readable(&self.reason);
        let mut message = if reason.trim().is_empty() { "refused by portolan".to_owned() } else { reason };
        for remedy in &self.remedies {
            message.push_str("\n- ");
            message.push_str(&readable(remedy));
        }
        shortened(message)
    }

    /// The message where the host has nobody to ask.
    pub(super) fn message_unasked(&self) -> String {
        match self.decision {
            Decision::Ask => {
                format!("{}\n- this needs a person's consent, which no hook of this host can ask for", self.message())
            }
            Decision::Allow | Decision::Block => self.message(),
        }
    }

    pub(super) fn context(&self) -> Option<String> {
        self.context.as_deref().map(|context| shortened(readable(context))).filter(|context| !context.trim().is_empty())
    }

    /// What there is to say after something has happened.
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

/// Hosts cut what is longer, or take it for an error.
const MAX_CHARS: usize = 9_000;

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// A text that steers no terminal: branch names, titles and commit messages stand in reasons.
fn readable(text: &str) -> String {
    let hidden = |c: char| c != '\n' && is_unseen(c);
    text.chars().map(|c| if hidden(c) { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

/// What the hook does: the host reads all three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: u8,
}

impl Reply {
    /// Nothing is said, and all is well.
    pub(super) fn silent() -> Reply {
        Reply { stdout: String::new(), stderr: String::new(), status: 0 }
    }

    pub(super) fn json(value: &Value) -> Reply {
        Reply { stdout: format!("{value}\n"), ..Reply::silent() }
    }

    /// The exit code with which hosts that know it refuse, and whose reason they read on standard error.
    pub(super) fn exit_two(reason: &str) -> Reply {
        Reply { stdout: String::new(), stderr: format!("{reason}\n"), status: 2 }
    }
}

/// The bytes that tell `host` what was decided at `event`.
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

/// The bytes for what could not be read: a gating event is refused, any other passes.
pub(crate) fn refuse(host: Host, event: &str, unreadable: &Unreadable) -> Reply {
    if !unreadable.stage.is_gating() {
        return answer(host, event, &Answer::allowed());
    }
    let mut refusal = Answer::blocked(format!("this call is refused, because {}", unreadable.message));
    refusal.remedies.push("run `portolan doctor`: the hook and the host may not fit together".to_owned());
    answer(host, event, &refusal)
}

/// Whether a host takes these bytes for a refusal of the tool call.
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
        // A key too many makes it no answer at all.
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

/// An object with what the host expects beneath `hookSpecificOutput`.
pub(super) fn specific(event: &str, mut fields: Value) -> Value {
    let mut inner = json!({ "hookEventName": event });
    if let (Some(inner), Some(fields)) = (inner.as_object_mut(), fields.as_object_mut()) {
        inner.append(fields);
    }
    json!({ "hookSpecificOutput": inner })
}
