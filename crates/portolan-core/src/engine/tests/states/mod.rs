//! States as stories: the answers of their models, tools, judges and persons, and the results.

mod attempts;
mod branches;
mod judges;
mod notation;
mod pauses;
mod workflows;

use std::sync::Arc;

use expect_test::Expect;
use serde_json::{Value, json};

use super::{json as reread, reading, step};
use crate::chat::{Arguments, Finish, Message, ModelAnswer, ModelError, Role, ToolUse, Usage};
use crate::engine::{Effect, EffectKind, open};
use crate::graph::Workflow;
use crate::present;
use crate::run::{
    Actor, Change, Completion, EffectId, EffectPart, EffectResult, Event, EventKind, FramePath, Opening, Place, Resume,
    Run, ToolCallResult, Verdict,
};
use crate::value::Timestamp;

/// Checks the history of a run of `workflow` (see [`notation`]) with the answers in `lines`. Like every story it also
/// runs with a restart from JSON before every event, and with one from the journal.
#[track_caller]
fn story(workflow: &str, lines: &str, told: Expect) {
    let workflow = notation::workflow(workflow);
    let straight = tell(&workflow, lines, |run, _| run);
    let read = tell(&workflow, lines, |run, _| reread(&run));
    let folded = tell(&workflow, lines, reading());
    assert_eq!(straight, read, "a run read back from JSON goes on as it would have");
    assert_eq!(straight, folded, "a run folded from its journal goes on as it would have");
    told.assert_eq(&straight);
}

fn tell(workflow: &Workflow, lines: &str, restart: impl Fn(Run, &Vec<Change>) -> Run) -> String {
    let opening = Opening {
        input: Some(Arc::new(json!("the input"))),
        since: Some(Timestamp(0)),
        ..Opening::of(workflow.id().clone())
    };
    let mut journal = open(workflow, &opening).expect("it opens");
    let mut run = Run::fold(&journal).expect("it is open");
    let mut told = String::new();
    let mut now = 0;
    for line in [""].into_iter().chain(lines.lines().map(str::trim).filter(|line| !line.is_empty())) {
        if !line.is_empty() {
            now += 1;
            run = restart(run, &journal);
            let event = Event { at: Timestamp(now), by: Actor::Engine, what: parse_event(workflow, &run, line) };
            match step(workflow, &mut run, &mut journal, &reread(&event)) {
                Ok(changes) => told.push_str(&format!("{}\n", present::history(&event, &changes))),
                Err(refusal) => told.push_str(&format!("{line}: {refusal}\n")),
            }
        }
        while let Some(id) = advances(workflow, &run) {
            run = restart(run, &journal);
            let event = Event { at: Timestamp(now), by: Actor::Engine, what: id.settled(EffectResult::Due, 0) };
            let changes = step(workflow, &mut run, &mut journal, &event).expect("it goes on");
            told.push_str(&format!("{}\n", present::history(&event, &changes)));
        }
        for effect in run.pending(workflow) {
            told.push_str(&format!("    {}\n", pending(&effect)));
        }
    }
    told.push_str(&ended(&run));
    told
}

fn advances(workflow: &Workflow, run: &Run) -> Option<EffectId> {
    run.pending(workflow).into_iter().find(|effect| effect.what == EffectKind::Advance).map(|effect| effect.id)
}

/// Returns an effect on a line, with the name of its branch.
fn pending(effect: &Effect) -> String {
    let branch = effect.id.frame.0.last().map(|branch| format!("in `{branch}` ")).unwrap_or_default();
    branch + &to_do(effect)
}

fn to_do(effect: &Effect) -> String {
    match &effect.what {
        EffectKind::Complete(asked) => {
            let last = asked.request.messages.last().and_then(|message| message.content.clone()).unwrap_or_default();
            let who = asked.judge.map_or_else(|| "model".to_owned(), |judge| format!("judge {}", judge + 1));
            let later = effect.not_before.map(|at| format!(" not before {}", at.0)).unwrap_or_default();
            let first = last.lines().next().unwrap_or_default();
            format!("ask {who} in {} messages{later}: {first}", asked.request.messages.len())
        }
        EffectKind::UseTool(used) => match &effect.id.part {
            EffectPart::Tool(call) => format!("use {} {} ({call})", used.tool, used.arguments),
            part => format!("{part:?}"),
        },
        EffectKind::Work(work) => format!("call {} with {}", work.function, work.input),
        EffectKind::Check(_) => format!("look at {}", effect.id.check().expect("a check has its name")),
        other => format!("{other:?}"),
    }
}

fn ended(run: &Run) -> String {
    let spent = run.tallies.as_deref().map(|tallies| tallies.run.spend).unwrap_or_default();
    let spent = format!("{} attempts, {} model calls, {} tools", spent.attempts, spent.model_calls, spent.tool_calls);
    let data = run.root.data.as_deref();
    match &run.root.place {
        Place::Ended { result, .. } => {
            let fault = data.and_then(|data| data.fault.as_ref()).map(|fault| format!(": {}", fault.message));
            let output = data.and_then(|data| data.output.as_ref()).map(|output| format!(" with {output}"));
            format!("{}{}{} ({spent})\n", result.word(), output.unwrap_or_default(), fault.unwrap_or_default())
        }
        Place::Conversing { node, talk } => format!("at `{node}`, {} ({spent})\n", present::state_sentence(talk)),
        place => format!("at `{}` ({spent})\n", place.node()),
    }
}

/// Returns the event of a line. A line after `@BRANCH` is for that branch.
fn parse_event(workflow: &Workflow, run: &Run, line: &str) -> EventKind {
    let (branch, line) = match line.strip_prefix('@').and_then(|line| line.split_once(' ')) {
        Some((branch, line)) => (FramePath(vec![branch.into()]), line),
        None => (FramePath::default(), line),
    };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut asked = run.pending(workflow);
    asked.retain(|effect| branch.0.is_empty() || effect.id.frame == branch);
    let (frame, revision, seed) = (branch, None, 0);
    let resumed = |with| EventKind::Resumed { frame: frame.clone(), revision, with, seed };
    match word {
        "go" => resumed(Resume::GoOn),
        "accept" => resumed(Resume::Accept),
        "give-up" => resumed(Resume::GiveUp),
        "answer" => resumed(Resume::Answer(Arc::new(value(rest)))),
        _ => of_effect(&asked, word, rest).unwrap_or_else(|| panic!("nobody is asked for `{line}`")),
    }
}

fn of_effect(pending: &[Effect], word: &str, rest: &str) -> Option<EventKind> {
    let first = |wanted: &dyn Fn(&EffectKind) -> bool| pending.iter().find(|effect| wanted(&effect.what));
    let completed = |judges, reply| {
        let is_asked =
            |what: &EffectKind| matches!(what, EffectKind::Complete(asked) if asked.judge.is_some() == judges);
        Some(first(&is_asked)?.id.clone().settled(reply, 0))
    };
    let tool = |done: ToolCallResult| {
        let used = first(&|what| matches!(what, EffectKind::UseTool(_)))?;
        Some(used.id.clone().settled(EffectResult::Tool { done }, 0))
    };
    let settled = |verdict: Verdict| {
        let check = first(&|what| matches!(what, EffectKind::Check(_)))?;
        Some(check.id.clone().settled(verdict, 0))
    };
    match word {
        "says" => completed(false, answer(rest, Vec::new(), Finish::Stop)),
        "cut" => completed(false, answer(rest, Vec::new(), Finish::Length)),
        "asks" => completed(false, answer("", rest.split(';').map(call).collect(), Finish::Tools)),
        "judge" => completed(true, answer(rest, Vec::new(), Finish::Stop)),
        "yes" => completed(true, verdict(rest, true)),
        "no" => completed(true, verdict(rest, false)),
        "down" => completed(false, unanswered(true)).or_else(|| completed(true, unanswered(true))),
        "dead" => completed(false, unanswered(false)).or_else(|| completed(true, unanswered(false))),
        "done" => tool(ToolCallResult::Output(Arc::new(value(rest)))),
        "fails" => tool(ToolCallResult::Failed(rest.to_owned())),
        "breaks" => tool(ToolCallResult::Breaks(Arc::new(value(rest)))),
        "waits" => tool(ToolCallResult::Waits(Arc::new(value(rest)))),
        "holds" => settled(Verdict::Held),
        "broken" => settled(Verdict::Broken { reason: rest.to_owned(), output: String::new() }),
        "returns" => {
            let work = first(&|what| matches!(what, EffectKind::Work(_)))?;
            let output = Completion::Output { output: Arc::new(value(rest)), writes: None };
            Some(work.id.clone().settled(output, 0))
        }
        _ => None,
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn call(text: &str) -> ToolUse {
    let (name, arguments) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    // Providers may repeat the names of calls: all of these have the same one.
    ToolUse { id: "x".to_owned(), name: name.to_owned(), arguments: Arguments::read(arguments), extra: None }
}

/// A state with only a worker.
pub(super) use notation::plain;

pub(super) fn answer(text: &str, tool_calls: Vec<ToolUse>, finish: Finish) -> Completion {
    let message = Message { tool_calls, ..Message::text(Role::Assistant, text) };
    let usage = Usage { input: Some(10), output: Some(5), ..Usage::default() };
    Completion::Answer(Box::new(ModelAnswer { message, finish, usage, model: None, cost_microdollars: Some(3) }))
}

fn verdict(criterion: &str, met: bool) -> Completion {
    let verdict = json!({ "criterion": criterion, "reason": "because", "evidence": "\"it\"", "met": met });
    answer(&json!({ "verdicts": [verdict] }).to_string(), Vec::new(), Finish::Stop)
}

fn unanswered(may_pass: bool) -> Completion {
    let code = if may_pass { "overloaded" } else { "refused-key" };
    let message = format!("the provider says {code}");
    Completion::Unanswered(ModelError { code: code.to_owned(), message, may_pass, retry_after_ms: None })
}
