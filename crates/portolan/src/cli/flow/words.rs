//! The wording of a line of the event log.

use portolan_runtime::audit::{Kind, Line};
use serde_json::Value;

/// Words an event. A line of an unknown kind, or without a field of its kind, is shown as plain data.
pub(super) fn words(line: &Line) -> String {
    let got_past = line.data.get("bypassedBy").is_some_and(|by| !by.is_null());
    let text = Kind::of(&line.kind).and_then(|kind| match kind {
        Kind::AcceptancePassed if got_past => filled("{invariant} was bypassed: {reason}", &line.data),
        kind => filled(sentence(kind), &line.data),
    });
    text.unwrap_or_else(|| plainly(&line.data))
}

/// Returns the sentence of a kind. A name in braces is a field of its `data`.
fn sentence(kind: Kind) -> &'static str {
    match kind {
        Kind::Boot => "began, version {version}",
        Kind::Config => "{name} is {value} ({source})",
        Kind::Transition => "{from} → {to}: {reason}",
        Kind::AcceptancePassed => "{invariant} holds: {reason}",
        Kind::AcceptanceFailed => "{invariant} does not hold: {reason}",
        Kind::Bypass => "{invariant} bypassed ({stage}) with {identifier}: {reason}",
        Kind::OverrideRequested => "{by} asks to bypass {invariant}: {reason}",
        Kind::GuardAllow => "{guardId} allowed it: {reason}",
        Kind::GuardBlock => "{guardId} stopped it: {reason}",
        Kind::GuardBypass => "{guardId} was bypassed: {reason}",
        Kind::GuardTamper => "{what} was tampered with: {where}",
        Kind::ToolInvoked => "{toolName} was called",
        Kind::ToolAnswered => "{toolName} of {server} answered: {outcome}",
        Kind::ToolAsked => "{toolName} of {server} asked its client",
        Kind::ToolReplied => "the client of {toolName} of {server} replied: {outcome}",
        Kind::ToolSuspicious => "a {where} of {toolName} of {server} looks like instructions: {sign}",
        Kind::CommitFormatViolation => "{sha} does not follow the commit format: {subject}",
        Kind::RegistryReplaced => "{id} of {registry} was replaced",
        Kind::QuestionSent => "asked {replyToken}: {body}",
        Kind::ReplyReceived => "answered {replyToken}: {body}",
        Kind::ReplyUnparseable => "the answer to {replyToken} is not one of the options: {raw}",
        Kind::BudgetWarning => "{used} of {cap} {unit} used in this {scope}",
        Kind::BudgetHalt => "stopped: {used} of {cap} {unit} used in this {scope}",
        Kind::QuestionOverdue => "{replyToken} was not answered in time",
        Kind::UsageRecorded => "{driver} reported its usage",
        Kind::TaskQueued => "queued: {goal}",
        Kind::TaskParked => "set aside: {reason}",
        Kind::TaskResumed => "resumed",
        Kind::Heartbeat => "{driver} {stage}",
        Kind::TaskCompleted => "done: {summary}",
        Kind::TaskScopedDown => "done with reduced scope: {summary}",
        Kind::TaskEscalated => "handed to a person: {summary}",
        Kind::IterationCapHit => "{iterations} of {cap} iterations used",
        Kind::Opportunity => "{rule}: {metric} is {now}, and could be better",
        Kind::RegressionDetected => "{rule}: {metric} is {now}, and was {baseline}",
        Kind::MergeGateVerdict => "{verdict}: {base}..{head}",
        Kind::LogRepaired => "the end of the log was repaired ({done})",
    }
}

/// Fills the fields of a sentence. Returns `None` if one is missing.
fn filled(sentence: &str, data: &Value) -> Option<String> {
    let mut parts = sentence.split('{');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (name, after) = part.split_once('}')?;
        text.push_str(&plain(data.get(name).filter(|value| !value.is_null())?));
        text.push_str(after);
    }
    Some(text)
}

fn plainly(data: &Value) -> String {
    match data {
        Value::Object(members) => {
            let texts: Vec<String> = members.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
            texts.join(", ")
        }
        other => plain(other),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
