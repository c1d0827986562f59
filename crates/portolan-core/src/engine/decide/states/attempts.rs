//! Attempts: how one begins, and what follows a failed one.

use std::sync::Arc;

use serde_json::Value;

use super::{StateDecision, words};
use crate::chat::{Message, Role};
use crate::graph::{ExhaustionPolicy, RetryContext, Worker};
use crate::run::{Attempt, Backoff, KeyResultOutcome, ModelActivity, ModelStateChange, Spend, WaitReason};

impl StateDecision<'_, '_> {
    /// Begins the first attempt after the state was entered.
    pub(super) fn visit(&mut self) {
        if let Some(over) = self.over_visits() {
            return self.hold(over, ModelActivity::Asking(Backoff::default()));
        }
        self.attempt(0, None);
    }

    /// Begins an attempt; `advice` is what a person adds to the reasons.
    pub(super) fn attempt(&mut self, number: u32, advice: Option<&str>) {
        let afresh = number == 0 || self.state.again == RetryContext::Restart;
        let messages = match &self.state.work {
            Worker::Model(asking) if afresh => match self.opening(asking, advice) {
                Ok(messages) => Some(messages),
                Err(fault) => return self.broke(fault),
            },
            _ => None,
        };
        let reasons = words::feedback(self, advice).filter(|_| !afresh);
        let before = (!self.shared.is_empty()).then(|| Arc::new(self.shared.clone()));
        self.say(ModelStateChange::Begun { attempt: number, afresh: messages, before });
        if let (Worker::Model(_), Some(reasons)) = (&self.state.work, reasons) {
            self.say(ModelStateChange::Message(Arc::new(Message::text(Role::User, reasons))));
        }
        self.spend(Spend { attempts: 1, ..Spend::default() });
        match &self.state.work {
            Worker::Nobody => {
                let output = self.talk.input.clone();
                self.look_at(output);
            }
            Worker::Model(_) | Worker::Function(_) => self.ask(),
        }
    }

    /// Handles a failed attempt: it is repeated with the reasons, if one is left.
    pub(super) fn fail(&mut self, output: Arc<Value>, found: Vec<KeyResultOutcome>) {
        let is_stuck = self.is_stuck(&output, &found);
        self.say(ModelStateChange::Failed(Attempt { output, found }));
        if self.shared != self.talk.variables_before() {
            self.say(ModelStateChange::Undone);
        }
        let next = self.talk.attempt.saturating_add(1);
        if next < self.allowed() && !is_stuck {
            return match self.over_attempts() {
                Some(over) => self.hold(over, ModelActivity::Asking(Backoff::default())),
                None => self.attempt(next, None),
            };
        }
        match self.state.exhausted {
            ExhaustionPolicy::Fail => self.give_up(is_stuck),
            ExhaustionPolicy::Best => self.accept_best(),
            ExhaustionPolicy::Ask => self.hold(WaitReason::Exhausted, ModelActivity::Asking(Backoff::default())),
        }
    }

    /// Returns the maximum number of attempts.
    pub(super) fn allowed(&self) -> u32 {
        self.talk.allowed.unwrap_or_else(|| self.state.max_retries.saturating_add(1))
    }

    /// Checks whether a model has repeated the output and the failures of the attempt before: it would do so again.
    fn is_stuck(&self, output: &Arc<Value>, found: &[KeyResultOutcome]) -> bool {
        let lacks = |found: &[KeyResultOutcome]| -> Vec<String> {
            found.iter().filter(|found| !found.met).map(|found| found.name.clone()).collect()
        };
        let last = self.talk.failed.last();
        let is_same = last.is_some_and(|last| last.output == *output && lacks(&last.found) == lacks(found));
        is_same && matches!(self.state.work, Worker::Model(_))
    }

    /// Fails the state, with its unmet key results.
    pub(super) fn give_up(&mut self, is_stuck: bool) {
        let attempts = self.talk.attempt + 1;
        let lacks = self.talk.failed.last().map(|last| words::lacks(self.state, &last.found)).unwrap_or_default();
        let why = if is_stuck { ", the last two with the same result" } else { "" };
        let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
        let message = format!("`{}` was attempted {times}{why}, and does not meet {lacks}", self.node());
        let detail = self.talk.failed.last().map(|last| words::text_of(&last.output)).unwrap_or_default();
        let fault = self.fault("key-results-unmet", message, words::clipped(&detail, words::MAX_DETAIL));
        self.broke(fault);
    }

    /// Accepts the attempt that met the most key results; of several the latest.
    pub(super) fn accept_best(&mut self) {
        let met = |attempt: &Attempt| attempt.found.iter().filter(|found| found.met).count();
        match self.talk.failed.iter().max_by_key(|attempt| met(attempt)).cloned() {
            Some(best) => self.accept(best),
            None => self.give_up(false),
        }
    }
}
