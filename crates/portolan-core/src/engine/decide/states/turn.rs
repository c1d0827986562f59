//! Requests to a model, and their answers.

use std::sync::Arc;

use serde_json::Value;

use super::{StateDecision, words};
use crate::chat::{self, Finish, Message, ModelAnswer, ModelError, Role, ToolUse};
use crate::engine::decide::walk::Draft;
use crate::graph::{RequestTemplate, Retry, RetryContext, Worker};
use crate::run::{
    Backoff, Completion, Fault, FramePath, KeyResultOutcome, ModelActivity, ModelStateChange, Spend, TURNS, WaitReason,
};

/// The maximum number of retries of a request before a person is asked. With the delays below, they take seven minutes.
const MAX_FAILURES: u32 = 12;
/// The delays between retries.
const WAITS: Retry = Retry { max: MAX_FAILURES, backoff_ms: 1_000, factor_percent: 200, max_delay_ms: 60_000 };
/// The longest delay that a provider may ask for, in milliseconds: an hour.
const MAX_WAIT_MS: u64 = 3_600_000;

/// Handles the answer of a model, a judge or a function. An answer that nothing waits for changes nothing.
pub(in crate::engine::decide) fn completed(
    draft: &mut Draft<'_>,
    path: &FramePath,
    (turn, vote): (u32, Option<u32>),
    reply: &Completion,
) {
    let Some(mut working) = StateDecision::at(draft, path) else { return };
    if working.talk.turn != turn {
        return;
    }
    match (&working.talk.doing, vote) {
        (ModelActivity::Asking(patience), None) => {
            let patience = *patience;
            working.answered(reply, patience);
        }
        (ModelActivity::Judging { votes, patience, .. }, Some(vote))
            if votes.get(vote as usize).is_some_and(Option::is_none) =>
        {
            let patience = *patience;
            working.voted(vote, reply, patience);
        }
        _ => {}
    }
}

impl StateDecision<'_, '_> {
    /// Returns the first messages of a new conversation.
    pub(super) fn opening(
        &mut self,
        asking: &RequestTemplate,
        advice: Option<&str>,
    ) -> Result<Vec<Arc<Message>>, Fault> {
        let system = match &asking.system {
            Some(expr) => words::text_of(&self.eval(expr, None)?.unwrap_or_default()),
            None => words::system(self.state, self.node()),
        };
        let mut user = match &asking.prompt {
            Some(expr) => words::text_of(&self.eval(expr, None)?.unwrap_or_default()),
            None => words::prompt(self.state, &self.talk.input),
        };
        if self.state.again == RetryContext::Restart
            && let Some(last) = self.talk.failed.last()
        {
            user = words::retry_prompt(&user, &words::text_of(&last.output));
        }
        if let Some(reasons) = words::feedback(self, advice) {
            user = format!("{user}\n\n{reasons}");
        }
        Ok(vec![Arc::new(Message::text(Role::System, system)), Arc::new(Message::text(Role::User, user))])
    }

    /// Sends the model another request, unless a limit is reached.
    pub(super) fn ask(&mut self) {
        let then = ModelActivity::Asking(Backoff::default());
        if let Worker::Function(_) = self.state.work {
            return self.say(ModelStateChange::Doing(then));
        }
        let (used, limit) = (self.talk.asked, self.state.max_turns());
        if used >= limit {
            let (used, limit) = (u64::from(used), u64::from(limit));
            return self.hold(WaitReason::Limit { of: TURNS.to_owned(), used, limit, of_run: false, at: None }, then);
        }
        match self.over_models() {
            Some(over) => self.hold(over, then),
            None => self.say(ModelStateChange::Doing(then)),
        }
    }

    fn answered(&mut self, reply: &Completion, patience: Backoff) {
        match reply {
            Completion::Answer(answer) => self.handle_answer(answer),
            Completion::Output { output, writes } => {
                self.say(ModelStateChange::Asked { works: true });
                for (name, value) in writes.as_deref().and_then(Value::as_object).into_iter().flatten() {
                    self.set(name, value.clone());
                }
                self.look_at(output.clone());
            }
            Completion::Unanswered(why) => {
                let then = |patience| ModelActivity::Asking(patience);
                self.unanswered(why, patience, then);
            }
        }
    }

    /// Handles a request without an answer: it is retried later, or a person is asked.
    pub(super) fn unanswered(
        &mut self,
        why: &ModelError,
        patience: Backoff,
        then: impl FnOnce(Backoff) -> ModelActivity,
    ) {
        // A late answer to this request must not count.
        self.say(ModelStateChange::Asked { works: false });
        let failures = patience.failures + 1;
        if !why.may_pass || failures > MAX_FAILURES {
            return self.hold(WaitReason::Unanswered { why: why.clone() }, then(Backoff::default()));
        }
        let wait = why.retry_after_ms.unwrap_or(0).max(WAITS.delay_ms(failures)).min(MAX_WAIT_MS);
        let not_before = Some(self.in_ms(wait));
        self.say(ModelStateChange::Doing(then(Backoff { failures, not_before })));
    }

    fn handle_answer(&mut self, answer: &ModelAnswer) {
        let turn = self.talk.turn;
        self.say(ModelStateChange::Asked { works: true });
        self.spend(Spend { model_calls: 1, ..Spend::of_answer(answer) });
        let mut message = answer.message.clone();
        message.role = Role::Assistant;
        for (nth, call) in message.tool_calls.iter_mut().enumerate() {
            *call = ToolUse { id: format!("call-{turn}-{nth}"), ..call.clone() };
        }
        let calls = message.tool_calls.clone();
        let text = message.content.clone().unwrap_or_default();
        self.say(ModelStateChange::Message(Arc::new(message)));
        if !calls.is_empty() {
            return self.use_tools(&calls);
        }
        let cut = match &answer.finish {
            Finish::Length => Some("the answer was cut off because it reached the token limit"),
            Finish::Filtered => Some("the provider withheld the answer"),
            Finish::Stop | Finish::Tools | Finish::Other(_) => None,
        };
        match cut {
            Some(reason) => self.fail(Arc::new(Value::from(text)), vec![lacking("a whole answer", reason)]),
            None => self.read(text),
        }
    }

    /// Reads the output from the last message of the model: text, or JSON if it has a schema.
    fn read(&mut self, text: String) {
        let Worker::Model(asking) = &self.state.work else { return };
        let Some(schema) = &asking.schema else { return self.look_at(Arc::new(Value::from(text))) };
        match serde_json::from_str::<Value>(chat::unfenced(&text)) {
            Err(error) => {
                let reason = format!("the answer is not valid JSON: {error}");
                self.fail(Arc::new(Value::from(text)), vec![lacking("schema", &reason)]);
            }
            Ok(value) => {
                let faults = schema.check(&value);
                if faults.is_empty() {
                    return self.look_at(Arc::new(value));
                }
                let faults: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
                let reason = format!("the answer does not match its schema: {}", faults.join("; "));
                self.fail(Arc::new(value), vec![lacking("schema", &reason)]);
            }
        }
    }
}

/// Returns the finding for a requirement on every answer, whatever the key results.
fn lacking(name: &str, reason: &str) -> KeyResultOutcome {
    KeyResultOutcome { name: name.to_owned(), met: false, reason: reason.to_owned(), evidence: String::new() }
}
