//! The output of an attempt. The free checks run first, all of them; then the checks outside; and only an output that
//! passes both is judged by models, which cost money.

use std::sync::Arc;

use serde_json::Value;

use super::{StateDecision, words};
use crate::engine::decide::walk::Draft;
use crate::engine::judge;
use crate::graph::{KeyResult, KeyResultCheck, State};
use crate::run::{
    Attempt, Backoff, Completion, FramePath, KeyResultOutcome, ModelActivity, ModelStateChange, Spend, Verdict,
};
use crate::value::{CheckId, Outcome};

/// Settles a check outside.
pub(in crate::engine::decide) fn settled(
    draft: &mut Draft<'_>,
    path: &FramePath,
    (check, verdict): (&CheckId, &Verdict),
) {
    let Some(mut working) = StateDecision::at(draft, path) else { return };
    let ModelActivity::Checking { settled, .. } = &working.talk.doing else { return };
    let is_open = !settled.iter().any(|(id, _)| id == check);
    let is_known = outside(working.state.key_results.iter(), working.talk.attempt).any(|(id, _)| id == *check);
    if is_open && is_known {
        working.say(ModelStateChange::Settled { check: check.clone(), verdict: verdict.clone() });
        working.conclude();
    }
}

/// Returns the checks outside, each with an identifier of this attempt, so that the next attempt performs them again.
pub(in crate::engine) fn outside<'s>(
    key_results: impl Iterator<Item = &'s KeyResult>,
    attempt: u32,
) -> impl Iterator<Item = (CheckId, &'s KeyResult)> {
    let outside = key_results.filter(|result| matches!(result.by, KeyResultCheck::Check(_)));
    outside.map(move |result| (CheckId::from(format!("{}#{}", result.name.value, attempt + 1)), result))
}

impl StateDecision<'_, '_> {
    /// Checks the output of an attempt.
    pub(super) fn look_at(&mut self, output: Arc<Value>) {
        let state = self.state;
        let mut found = Vec::new();
        for result in &state.key_results {
            if let KeyResultCheck::Expr(expr) = &result.by {
                let holds = self.with_scope(Some(&output), |scope| expr.holds(scope));
                found.push(match holds {
                    Ok(true) => met(result),
                    Ok(false) => unmet(result, format!("`{}` does not hold", expr.text())),
                    Err(fault) => unmet(result, format!("the check cannot be evaluated: {fault}")),
                });
            }
        }
        if self.lacks(&found) {
            return self.fail(output, found);
        }
        match outside(state.key_results.iter(), self.talk.attempt).next() {
            Some(_) => {
                self.say(ModelStateChange::Doing(ModelActivity::Checking { output, found, settled: Vec::new() }))
            }
            None => self.judge(output, found),
        }
    }

    /// Asks the judges once all checks outside are settled.
    fn conclude(&mut self) {
        let ModelActivity::Checking { output, found, settled } = &self.talk.doing else { return };
        let (output, mut found) = (output.clone(), found.clone());
        for (id, result) in outside(self.state.key_results.iter(), self.talk.attempt) {
            let Some((_, verdict)) = settled.iter().find(|(known, _)| *known == id) else { return };
            found.push(of_verdict(result, verdict));
        }
        if self.lacks(&found) { self.fail(output, found) } else { self.judge(output, found) }
    }

    fn judge(&mut self, output: Arc<Value>, found: Vec<KeyResultOutcome>) {
        if !self.state.key_results.iter().any(|result| matches!(result.by, KeyResultCheck::Judge)) {
            return self.accept(Attempt { output, found });
        }
        let votes = vec![None; self.state.judge.votes.get() as usize];
        let doing = ModelActivity::Judging { output, found, votes, patience: Backoff::default() };
        // The votes quote this number, so that late votes of the attempt before do not count.
        self.say(ModelStateChange::Asked { works: false });
        match self.over_models() {
            Some(over) => self.hold(over, doing),
            None => self.say(ModelStateChange::Doing(doing)),
        }
    }

    pub(super) fn voted(&mut self, vote: u32, reply: &Completion, patience: Backoff) {
        let answer = match reply {
            Completion::Answer(answer) => answer,
            // A judge without an answer has not said yes.
            Completion::Output { .. } => return,
            Completion::Unanswered(why) => {
                let ModelActivity::Judging { output, found, votes, .. } = self.talk.doing.clone() else { return };
                let then = |patience| ModelActivity::Judging { output, found, votes, patience };
                return self.unanswered(why, patience, then);
            }
        };
        self.spend(Spend { model_calls: 1, ..Spend::of_answer(answer) });
        let outcomes = judge::read(answer, self.state);
        self.say(ModelStateChange::Voted { vote, found: outcomes });
        let ModelActivity::Judging { output, found, votes, .. } = &self.talk.doing else { return };
        let Some(votes) = votes.iter().cloned().collect::<Option<Vec<_>>>() else { return };
        let (output, mut all) = (output.clone(), found.clone());
        all.extend(judge::counted(self.state, &votes));
        let order = |name: &str| self.state.key_results.iter().position(|result| result.name.value == name);
        all.sort_by_key(|found| order(&found.name));
        if self.lacks(&all) { self.fail(output, all) } else { self.accept(Attempt { output, found: all }) }
    }

    /// Checks whether a key result is not met that is not advisory.
    fn lacks(&self, found: &[KeyResultOutcome]) -> bool {
        let advisory =
            |name: &str| self.state.key_results.iter().any(|result| result.advisory && result.name.value == name);
        found.iter().any(|found| !found.met && !advisory(&found.name))
    }

    /// Accepts the attempt, and leaves the state with its output.
    pub(super) fn accept(&mut self, attempt: Attempt) {
        let output = attempt.output.clone();
        self.say(ModelStateChange::Held(attempt));
        self.leave(output);
    }

    /// Leaves the state with an output: sets variables, chooses the branch, and removes what only chose the branch.
    pub(super) fn leave(&mut self, output: Arc<Value>) {
        let (state, node) = (self.state, self.node());
        for (name, expr) in &state.sets {
            match self.eval(expr, Some(&output)) {
                Ok(value) => self.set(&name.value, value.unwrap_or_default()),
                Err(fault) => return self.broke(fault),
            }
        }
        let named = match &state.way {
            Some(way) => match self.eval(way, Some(&output)) {
                Ok(named) => named,
                Err(fault) => return self.broke(fault),
            },
            None => named_by(&output),
        };
        let exits = &self.step.exits;
        let by_name = named.as_ref().and_then(Value::as_str).and_then(|name| exits.target(&State::branch(name)));
        // An expression that names an unknown branch is an error. Only one that names none takes the default.
        let otherwise = state.way.is_none() || named.as_ref().is_none_or(Value::is_null);
        let Some(to) = by_name.or_else(|| exits.passed().filter(|_| otherwise)) else {
            let chosen = named.map_or_else(|| "nothing".to_owned(), |named| named.to_string());
            let message = format!("no transition of `{node}` matches: it chose {}", words::clipped(&chosen, 200));
            return self.broke(self.fault("no-way-on", message, "add a branch of that name, or a `default`"));
        };
        let output =
            without_transition(output, state.way.is_none() && exits.on.len() > usize::from(exits.passed().is_some()));
        let (path, flow) = (self.path.clone(), self.frame.flow.clone());
        self.draft.executed(&path, node, Ok(Some(output)));
        self.draft.enter(&path, flow, to, &Outcome::passed(), None);
    }
}

/// Returns the branch that an output names: in `_transition`, or as its whole text.
fn named_by(output: &Value) -> Option<Value> {
    match output {
        Value::Object(fields) => fields.get("_transition").cloned(),
        Value::String(_) => Some(output.clone()),
        _ => None,
    }
}

/// Removes `_transition` from an output: it is not input for the next state.
fn without_transition(output: Arc<Value>, chooses: bool) -> Arc<Value> {
    match &*output {
        Value::Object(fields) if chooses && fields.contains_key("_transition") => {
            let rest = fields.iter().filter(|(name, _)| *name != "_transition");
            Arc::new(Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        _ => output,
    }
}

fn met(result: &KeyResult) -> KeyResultOutcome {
    KeyResultOutcome { name: result.name.value.clone(), met: true, reason: String::new(), evidence: String::new() }
}

fn unmet(result: &KeyResult, reason: String) -> KeyResultOutcome {
    KeyResultOutcome { name: result.name.value.clone(), met: false, reason, evidence: String::new() }
}

fn of_verdict(result: &KeyResult, verdict: &Verdict) -> KeyResultOutcome {
    match verdict {
        Verdict::Held => met(result),
        Verdict::Shown { reason, .. } => KeyResultOutcome { reason: reason.clone(), ..met(result) },
        Verdict::Excused { reason, bypass } => {
            KeyResultOutcome { reason: format!("{reason}; the bypass `{bypass}` makes it count as met"), ..met(result) }
        }
        Verdict::Broken { reason, output } => {
            KeyResultOutcome { evidence: output.clone(), ..unmet(result, reason.clone()) }
        }
        Verdict::Unknown { reason } | Verdict::ForPerson { reason } => {
            unmet(result, format!("{}{reason}", Verdict::CANNOT_VERIFY))
        }
    }
}
