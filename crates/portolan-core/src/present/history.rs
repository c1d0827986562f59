//! A record of the journal as one line: the actor, the event, and its result.

use serde_json::Value;

use super::conversation;
use crate::diagnostic::{clip, list};
use crate::run::{
    Actor, BranchState, Change, Channel, EffectId, EffectPart, EffectResult, Event, EventKind, FramePath, LoopEnd,
    ModelActivity, Opening, Place, Reply, Verdict, WaitingFor,
};

/// Formats an event and its changes as one line, without the time.
pub fn history(event: &Event, changes: &[Change]) -> String {
    let effects: Vec<String> = changes.iter().filter_map(change).collect();
    let is_altered = changes.iter().any(|change| matches!(change, Change::Altered { .. }));
    let what = match &event.what {
        EventKind::Noted { values, .. } if is_altered => format!("changed {}", names(values)),
        kind => what(kind),
    };
    let what = format!("{} {what}", actor(&event.by));
    if effects.is_empty() { what } else { format!("{what} → {}", effects.join(", ")) }
}

fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Agent(name) => format!("agent {name}"),
        Actor::Person { name, via: Channel::Attested } => format!("person (relayed by agent {name})"),
        Actor::Person { name, via: Channel::Elicitation } => format!("person {name} (asked by the client)"),
        Actor::Person { name, via: Channel::CommandLine } => format!("person {name} (command line)"),
        Actor::Person { name, via: Channel::Studio } => format!("person {name} (studio)"),
        Actor::Person { name, via: Channel::Passkey } => format!("person {name} (studio, confirmed by a passkey)"),
        Actor::Engine => "portolan".to_owned(),
    }
}

fn opened(opening: &Opening) -> String {
    let at = match &opening.at {
        Some(step) => format!(" at `{step}`, past the steps before it"),
        None => String::new(),
    };
    let fork = opening.origin.as_ref().map(|of| format!(", a fork of `{}` after its record {}", of.run, of.seq));
    format!("opened `{}`{at}{}", opening.workflow, fork.unwrap_or_default())
}

fn what(event: &EventKind) -> String {
    match event {
        EventKind::Opened(opening) => opened(opening),
        EventKind::Begun { .. } => "began".to_owned(),
        EventKind::Reported { frame, outcome, note, .. } => {
            let note = note.as_ref().map_or_else(String::new, |note| format!(" (\"{note}\")"));
            format!("reported {outcome}{}{note}", at(frame))
        }
        EventKind::Settled { effect, result, .. } => settled(effect, result),
        EventKind::Gathered { branches } => {
            let branches: Vec<String> = branches.iter().map(|(name, outcome)| format!("`{name}` {outcome}")).collect();
            format!("gathered {}", branches.join(", "))
        }
        EventKind::Raised { frame, question, .. } => format!("asked{}: {}", at(frame), clip(&question.question)),
        EventKind::Resumed { frame, with, .. } => format!("{}{}", conversation::resumed(with), at(frame)),
        EventKind::Noted { values, .. } => format!("gave {}", names(values)),
        EventKind::Bypassed { invariant, node, reason, .. } => {
            format!("bypassed `{invariant}` at `{node}`: {}", clip(reason))
        }
        EventKind::Used { bypass } => format!("allowed a tool call by `{bypass}`"),
        EventKind::Cancelled { reason, outcome } => {
            let outcome = outcome.as_ref().map_or_else(String::new, |outcome| format!(" as {outcome}"));
            format!("cancelled the run{outcome}: {reason}")
        }
    }
}

fn names(values: &Value) -> String {
    let names: Vec<&str> = values.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    list(&names)
}

fn settled(effect: &EffectId, result: &EffectResult) -> String {
    let at = at(&effect.frame);
    match (&effect.part, result) {
        (EffectPart::Timer, _) => format!("timed out waiting for an answer{at}"),
        (_, EffectResult::Due) => "went on".to_owned(),
        (EffectPart::Check(check), EffectResult::Verdict(verdict)) => {
            format!("checked `{check}` of `{}`: it {}", effect.node, found(verdict))
        }
        (_, EffectResult::Reply(Reply::Output(_))) => format!("took an answer{at}"),
        (_, EffectResult::Reply(Reply::Failed(fault))) => format!("took a failure{at}: {}", clip(&fault.message)),
        (EffectPart::Vote { judge, .. }, EffectResult::Completion(reply)) => {
            format!("{}{at}", conversation::completed(Some(*judge), reply))
        }
        (_, EffectResult::Completion(reply)) => format!("{}{at}", conversation::completed(None, reply)),
        (EffectPart::Tool(call), EffectResult::Tool { done, .. }) => {
            format!("{}{at}", conversation::tool_done(call, done))
        }
        (_, EffectResult::Verdict(_) | EffectResult::Tool { .. }) => format!("took a result that cannot be used{at}"),
    }
}

fn found(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Held => "held".to_owned(),
        Verdict::Shown { reason, .. } => format!("held: {reason}"),
        Verdict::Excused { reason, bypass } => format!("was bypassed by `{bypass}`: {reason}"),
        Verdict::Broken { reason, .. } => format!("did not hold: {reason}"),
        Verdict::ForPerson { reason } => format!("is for a person to decide: {reason}"),
        Verdict::Unknown { reason } => format!("could not be checked: {reason}"),
    }
}

fn at(frame: &FramePath) -> String {
    if frame.0.is_empty() { String::new() } else { format!(" in `{}`", frame.text()) }
}

fn change(change: &Change) -> Option<String> {
    match change {
        Change::Opened { .. } | Change::Settled { .. } | Change::Given { .. } | Change::Joined { .. } => None,
        Change::Finished { .. } => None,
        Change::Bypassed { bypass } => Some(format!("bypass `{}` on record", bypass.id)),
        Change::Used { bypass } => Some(format!("bypass `{bypass}` is used up")),
        Change::Moved { frame, place, .. } => Some(format!("{}{}", moved(place), at(frame))),
        Change::Retried { gate, used, budget, .. } => Some(format!("retry {used} of {budget} for `{gate}`")),
        Change::Refilled { gate: Some(gate), .. } => Some(format!("budget of `{gate}` refilled")),
        Change::Refilled { gate: None, .. } => Some("budgets refilled".to_owned()),
        Change::Branched { branch, state, .. } => Some(match state {
            BranchState::Held => format!("branch `{branch}` held back"),
            BranchState::Open(_) => format!("branch `{branch}` opened"),
            BranchState::Done(outcome) => format!("branch `{branch}` {outcome}"),
            BranchState::Cancelled => format!("branch `{branch}` cancelled"),
        }),
        Change::Executed { node, fault: None, .. } => Some(format!("executed `{node}`")),
        Change::Executed { node, fault: Some(fault), .. } => Some(format!("`{node}` failed: {}", clip(&fault.message))),
        Change::Altered { frame, node, .. } => Some(format!("the output of `{node}` was replaced{}", at(frame))),
        Change::Raised { .. } => None,
        Change::Set { name, .. } => Some(format!("set `{name}`")),
        Change::Skipped { activities, .. } => {
            let activities: Vec<&str> = activities.iter().map(crate::value::NodeId::as_str).collect();
            Some(format!("will skip {}", list(&activities)))
        }
        Change::Led { over: Some(over), .. } => Some(format!("skipped `{over}`: its condition does not hold")),
        Change::Led { node, to, .. } => Some(format!("`{node}` leads to `{to}`")),
        Change::Looped { node, passes, by, .. } => {
            let by = match by {
                LoopEnd::Done => "done",
                LoopEnd::Broken => "its break condition holds",
                LoopEnd::Limit => "no more passes are allowed",
            };
            Some(format!("`{node}` ended after {passes} passes: {by}"))
        }
        Change::ItemBegun { index, .. } => Some(format!("item {index} began")),
        Change::Visited { .. } => None,
        Change::Talked { said, .. } => conversation::describe_change(said),
        Change::ItemDone { index, .. } => Some(format!("item {index} done")),
    }
}

fn moved(place: &Place) -> String {
    match place {
        Place::Ready { node } | Place::Passing { node, .. } => format!("now at `{node}`"),
        Place::Checking { node, .. } => format!("checks of `{node}`"),
        Place::Calling { node, retries: 0, .. } => format!("call of `{node}`"),
        Place::Calling { node, retries, .. } => format!("retry {retries} of `{node}`"),
        Place::Conversing { node, talk } => match &talk.doing {
            ModelActivity::Held { why, .. } => format!("`{node}` waits: {}", why.text()),
            _ => format!("work on `{node}`"),
        },
        Place::Each { node, items, .. } => format!("{} items of `{node}`", items.len()),
        Place::Waiting { node, on, .. } => match on {
            WaitingFor::Unchecked => format!("`{node}` waits for a person: nothing defines how to check it"),
            WaitingFor::Raised => format!("`{node}` waits for an answer"),
            WaitingFor::Answer => format!("`{node}` asks a person"),
            WaitingFor::Budget => format!("`{node}` waits for a person: retries spent"),
            WaitingFor::Progress => format!("`{node}` waits for a person: no progress"),
        },
        Place::Forked { node, .. } | Place::Gathering { node } => format!("`{node}` forks"),
        Place::Within { node, .. } => format!("into `{node}`"),
        Place::Looping { node, pass, .. } => format!("pass {} of `{node}`", pass + 1),
        Place::Arrived { node, outcome } => format!("arrived at `{node}`, {outcome}"),
        Place::Ended { node, result } => format!("ended at `{node}`: {}", result.word()),
    }
}
