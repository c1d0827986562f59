//! The state of questions, tasks and usage: a fold over the lines of the event log, so that lost state can be rebuilt
//! from the log.

use std::collections::BTreeMap;

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::{Scope, Unit, Usage, WindowUsage};
use super::queue::{Item, Progress, Question, QuestionAnswer};
use crate::log_line::LogLine;
use portolan_core::value::Timestamp;

/// The most budget windows, and the most reported crossings, that are kept. The least recently used windows are
/// dropped.
pub const MAX_WINDOWS: usize = 2_000;
/// The most answered questions, and the most finished tasks, that are kept; the first ones are dropped.
const MAX_OVER: usize = 1_000;

/// The state of the supervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupervisorState {
    /// The questions, by token, in the order in which they were asked.
    pub questions: IndexMap<String, Question>,
    /// The tasks, by name, in the order in which they were queued.
    pub queue: IndexMap<String, Item>,
    /// The usage, by window.
    pub spent: BTreeMap<String, WindowUsage>,
    /// The raised limits, by window and unit.
    pub raised: BTreeMap<String, u64>,
    /// The reported warnings and halts, the latest last, so that each crossing is reported once.
    #[serde(rename = "told")]
    pub reported: IndexSet<String>,
    /// The session that reported usage last.
    pub session: Option<String>,
}

impl SupervisorState {
    /// Applies one line. A line of another kind, or without its required fields, changes nothing.
    pub fn apply(&mut self, line: &LogLine<'_>) {
        match line.kind {
            "supervisor.question.sent" => self.asked(line),
            "supervisor.reply.received" => self.answered(line),
            "supervisor.question.overdue" => {
                if let Some(question) = line.text("replyToken").and_then(|token| self.questions.get_mut(token)) {
                    question.reminded = true;
                }
            }
            "supervisor.usage.recorded" => self.used(line),
            "supervisor.budget.warning" => self.crossed("warning", line),
            "supervisor.budget.halt" => self.crossed("halt", line),
            "flow.bypass" => self.raised(line),
            "supervisor.task.queued" => self.queued(line),
            "supervisor.task.parked" => self.with_item(line, |item| {
                item.progress = Progress::Parked;
                item.run = line.run.map(str::to_owned).or(item.run.take());
            }),
            "supervisor.heartbeat" if line.text("stage") == Some("started") => self.with_item(line, |item| {
                item.sessions += 1;
                item.attempts += 1;
            }),
            "flow.boot" | "supervisor.task.resumed" => self.begun(line),
            "flow.transition" => self.with_item(line, |item| {
                item.moved_at = Some(line.at);
                item.attempts = 0;
            }),
            "task.completed" => self.over(line, Progress::Done),
            "task.failed.scoped-down" | "task.failed.escalated" => self.over(line, Progress::Failed),
            _ => {}
        }
    }

    /// Returns the unanswered questions.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        self.questions.values().filter(|question| question.answer.is_none())
    }

    /// Checks whether a task waits for an answer.
    pub fn is_waiting(&self, task: &str) -> bool {
        self.open().any(|question| question.task.as_deref() == Some(task))
    }

    /// Returns the task to work on next: the active one, or else the first of the queue, unless it is waiting or
    /// halted.
    pub fn next(&self, is_halted: impl Fn(&str) -> bool) -> Option<&Item> {
        let free = |item: &&Item| item.progress.is_open() && !self.is_waiting(&item.task) && !is_halted(&item.task);
        let at_hand = self.queue.values().filter(free).find(|item| item.progress == Progress::Active);
        at_hand.or_else(|| self.queue.values().find(free))
    }

    /// Returns the state with the usage and the raised limits that all machines of the project reported, where they are
    /// more than this machine knows. Sessions are not among them.
    pub fn with_shared(&self, shared: &SupervisorState) -> SupervisorState {
        let mut all = self.clone();
        for (window, spent) in &shared.spent {
            all.spent.entry(window.clone()).or_default().raise_to(spent);
        }
        for (window, cap) in &shared.raised {
            let known = all.raised.entry(window.clone()).or_default();
            *known = (*known).max(*cap);
        }
        all
    }

    /// Returns the raised limit in a window.
    pub fn raised_to(&self, window: &str, unit: Unit) -> Option<u64> {
        self.raised.get(&key(window, unit.name())).copied()
    }

    /// Checks whether a crossing was reported. `what` is `warning` or `halt`.
    pub fn was_reported(&self, what: &str, status: &Value) -> bool {
        crossing(what, status).is_some_and(|key| self.reported.contains(&key))
    }

    fn asked(&mut self, line: &LogLine<'_>) {
        let Some((token, body)) = line.text("replyToken").zip(line.text("body")) else { return };
        let choices = line.data.get("choices").and_then(Value::as_array);
        let choices = choices.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let question = Question {
            token: token.to_owned(),
            task: line.task.map(str::to_owned),
            channel: line.text("channel").unwrap_or_default().to_owned(),
            body: body.to_owned(),
            choices,
            default: line.text("default").map(str::to_owned),
            asked_at: line.at,
            deadline: line.data.get("deadlineMs").and_then(Value::as_i64).map(Timestamp),
            reminded: false,
            answer: None,
        };
        self.questions.entry(token.to_owned()).or_insert(question);
    }

    fn answered(&mut self, line: &LogLine<'_>) {
        let Some((token, body)) = line.text("replyToken").zip(line.text("body")) else { return };
        let Some(question) = self.questions.get_mut(token) else { return };
        question.answer.get_or_insert_with(|| QuestionAnswer {
            body: body.to_owned(),
            digest: line.text("digest").map(str::to_owned),
            by: line.text("by").unwrap_or_default().to_owned(),
            at: line.at,
        });
        // An answer renews the task's attempts; one that is not a timeout renews its sessions as well.
        let task = question.task.clone();
        let by_somebody = line.text("by") != Some("timeout");
        if let Some(item) = task.and_then(|task| self.queue.get_mut(&task)).filter(|item| item.progress.is_open()) {
            item.attempts = 0;
            item.moved_at = item.moved_at.map(|_| line.at);
            item.sessions = if by_somebody { 0 } else { item.sessions };
        }
        let over = self.questions.values().filter(|question| question.answer.is_some()).count();
        forget(&mut self.questions, over, |question| question.answer.is_some());
    }

    fn used(&mut self, line: &LogLine<'_>) {
        let usage = Usage::from_json(line.data);
        let session = line.text("session");
        for scope in Scope::ALL {
            let Some(window) = scope.window(line.task, session, line.at) else { continue };
            self.spent.entry(window).or_default().take(&usage, line.at);
        }
        self.session = session.map(str::to_owned).or_else(|| self.session.take());
        while self.spent.len() > MAX_WINDOWS {
            let oldest = self.spent.iter().min_by_key(|(_, spent)| spent.at).map(|(window, _)| window.clone());
            oldest.map(|window| self.spent.remove(&window));
        }
    }

    fn crossed(&mut self, what: &str, line: &LogLine<'_>) {
        self.reported.extend(crossing(what, line.data));
        while self.reported.len() > MAX_WINDOWS {
            self.reported.shift_remove_index(0);
        }
    }

    fn raised(&mut self, line: &LogLine<'_>) {
        let Some(budget) = line.data.get("budget").filter(|_| line.text("stage") == Some("recorded")) else { return };
        let text = |name: &str| budget.get(name).and_then(Value::as_str);
        let unit = Unit::ALL.into_iter().find(|unit| text("unit") == Some(unit.name()));
        let cap = budget.get("cap").and_then(Value::as_f64);
        if let (Some(window), Some(unit), Some(cap)) = (text("window"), unit, cap)
            && let Some(cap) = unit.counted(cap)
        {
            self.raised.insert(key(window, unit.name()), cap);
        }
    }

    fn queued(&mut self, line: &LogLine<'_>) {
        let Some(task) = line.task else { return };
        let item = Item {
            task: task.to_owned(),
            goal: line.text("goal").unwrap_or_default().to_owned(),
            workflow: line.text("workflow").map(str::to_owned),
            begin: line.text("at").map(str::to_owned),
            progress: Progress::Queued,
            run: None,
            sessions: 0,
            attempts: 0,
            moved_at: None,
        };
        // A finished task may be queued again. It begins anew, at the end.
        if self.queue.get(task).is_some_and(|known| !known.progress.is_open()) {
            self.queue.shift_remove(task);
        }
        self.queue.entry(task.to_owned()).or_insert(item);
    }

    fn begun(&mut self, line: &LogLine<'_>) {
        self.with_item(line, |item| {
            item.progress = Progress::Active;
            item.run = line.run.map(str::to_owned);
            item.moved_at = Some(line.at);
        });
    }

    fn over(&mut self, line: &LogLine<'_>, progress: Progress) {
        self.with_item(line, |item| item.progress = progress);
        // A question about a finished task needs no answer.
        for question in self.questions.values_mut().filter(|question| question.task.as_deref() == line.task) {
            question.answer.get_or_insert_with(|| QuestionAnswer {
                body: String::new(),
                digest: None,
                by: "task-over".to_owned(),
                at: line.at,
            });
        }
        let over = self.queue.values().filter(|item| !item.progress.is_open()).count();
        forget(&mut self.queue, over, |item| !item.progress.is_open());
    }

    fn with_item(&mut self, line: &LogLine<'_>, change: impl FnOnce(&mut Item)) {
        let item = line.task.and_then(|task| self.queue.get_mut(task));
        if let Some(item) = item.filter(|item| item.progress.is_open()) {
            change(item);
        }
    }
}

fn key(window: &str, unit: &str) -> String {
    format!("{window} {unit}")
}

/// Returns the key of a crossing. It includes the limit, because a raised limit can be crossed again.
fn crossing(what: &str, status: &Value) -> Option<String> {
    let text = |name: &str| status.get(name).and_then(Value::as_str);
    Some(format!("{what} {} {} {}", text("window")?, text("unit")?, status.get("cap")?))
}

/// Removes the first finished element if there are too many.
fn forget<T>(all: &mut IndexMap<String, T>, over: usize, is_over: impl Fn(&T) -> bool) {
    if over > MAX_OVER
        && let Some(first) = all.values().position(is_over)
    {
        all.shift_remove_index(first);
    }
}
