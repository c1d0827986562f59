//! What may be used up in a run and in a state. Whoever reaches a limit waits; nothing is lost.

use super::Working;
use crate::graph::Bounds;
use crate::run::{Change, Doing, Hold, Said, Tallies, Tally};
use crate::value::Timestamp;

impl Working<'_, '_> {
    /// Waits for somebody, and goes on with `then`.
    pub(super) fn hold(&mut self, why: Hold, then: Doing) {
        self.say(Said::Doing(Doing::Held { why, then: Box::new(then) }));
    }

    /// Why models may not be asked now; nothing where they may.
    pub(super) fn over_models(&self) -> Option<Hold> {
        self.over(&["model_calls", "tokens", "microdollars", "ms"])
    }

    /// Why so many tools more may not be used now.
    pub(super) fn over_tools(&self) -> Option<Hold> {
        self.over(&["tool_calls", "ms"])
    }

    /// Why nothing may be attempted again now.
    pub(super) fn over_attempts(&self) -> Option<Hold> {
        self.over(&["attempts", "ms"])
    }

    /// Why the state may not be entered now. This visit is counted already.
    pub(super) fn over_visits(&self) -> Option<Hold> {
        self.over(&["visits", "attempts", "ms"])
    }

    fn over(&self, of: &[&str]) -> Option<Hold> {
        let program = self.draft.workflow.root().program.as_deref();
        let of_run = program.map(|program| program.bounds).unwrap_or_default();
        let since = self.draft.before.opening.since.unwrap_or(self.talk.since);
        let elapsed = |since: Timestamp| u64::try_from(self.now.at.0.saturating_sub(since.0)).unwrap_or(0);
        let (run, state) = self.tallies();
        let looks = [(of_run, run, elapsed(since), true), (self.state.limits, state, elapsed(self.talk.since), false)];
        looks.into_iter().find_map(|(bounds, tally, elapsed, of_run)| {
            let (name, used, limit) = reached(&bounds, &tally, elapsed, of)?;
            Some(Hold::Limit { of: name.to_owned(), used, limit, of_run })
        })
    }

    /// What was used up before this decision and in it.
    fn tallies(&self) -> (Tally, Tally) {
        let known = self.draft.before.tallies.as_deref();
        let key = Tallies::key(&self.frame.flow, self.node());
        let mut run = known.map(|known| known.run.clone()).unwrap_or_default();
        let mut state = known.and_then(|known| known.states.get(&key)).cloned().unwrap_or_default();
        for change in self.draft.changes() {
            match change {
                Change::Visited { .. } => {
                    run.visits = run.visits.saturating_add(1);
                    state.visits = state.visits.saturating_add(1);
                }
                Change::Talked { said: Said::Spent(spend), .. } => {
                    run.spend = run.spend.and(*spend);
                    state.spend = state.spend.and(*spend);
                }
                Change::Talked { said: Said::Granted { of, of_run }, .. } => {
                    let tally = if *of_run { &mut run } else { &mut state };
                    let granted = tally.granted.entry(of.clone()).or_default();
                    *granted = granted.saturating_add(1);
                }
                _ => {}
            }
        }
        (run, state)
    }
}

/// The first limit that is reached: which, how much was used, how much may be.
fn reached(bounds: &Bounds, tally: &Tally, elapsed: u64, of: &[&str]) -> Option<(&'static str, u64, u64)> {
    bounds.each().into_iter().filter(|(name, _)| of.contains(name)).find_map(|(name, limit)| {
        let limit = limit?.saturating_mul(1 + tally.granted.get(name).copied().unwrap_or(0));
        let used = match name {
            "attempts" => tally.spend.attempts,
            // The visit under way is counted, and may be the last one that is allowed.
            "visits" => tally.visits.saturating_sub(1),
            "model_calls" => tally.spend.model_calls,
            "tool_calls" => tally.spend.tool_calls,
            "tokens" => tally.spend.tokens(),
            "microdollars" => tally.spend.microdollars,
            _ => elapsed,
        };
        (used >= limit).then_some((name, used, limit))
    })
}
