//! What may be used up in a run and in a state. Whoever reaches a limit waits; nothing is lost.

use super::Working;
use crate::graph::{Bounds, Kind, Workflow};
use crate::run::{Change, Doing, FramePath, Hold, Place, Run, Said, Tallies, Tally};
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
        let of_run = of_run(self.draft.workflow, self.draft.before);
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

/// What a state of a run may still use up, and with it whatever it uses: of its own limits and those of the run the least.
pub fn left(workflow: &Workflow, run: &Run, path: &FramePath, now: Timestamp) -> Bounds {
    let since = |since: Timestamp| u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
    let tallies = run.tallies.as_deref();
    let tally = tallies.map(|tallies| tallies.run.clone()).unwrap_or_default();
    let left = of_what_is_left(&of_run(workflow, run), &tally, run.opening.since.map_or(0, since));
    let Some(frame) = run.frame(path) else { return left };
    let (Place::Conversing { node, talk }, flow) = (&frame.place, workflow.flow(&frame.flow)) else { return left };
    let Kind::State(state) = &flow.step(node).node.kind else { return left };
    let tally = tallies.and_then(|known| known.states.get(&Tallies::key(&frame.flow, node))).cloned();
    left.least(of_what_is_left(&state.limits, &tally.unwrap_or_default(), since(talk.since)))
}

/// What the run may use up: as its definition says, and no more than it was lent. Only the former is ever granted again.
fn of_run(workflow: &Workflow, run: &Run) -> Bounds {
    let own = workflow.root().interface.as_deref().map(|interface| interface.bounds).unwrap_or_default();
    own.least(run.opening.bounds.unwrap_or_default())
}

fn of_what_is_left(bounds: &Bounds, tally: &Tally, elapsed: u64) -> Bounds {
    bounds.map(|name, limit| granted(name, limit, tally).saturating_sub(used(name, tally, elapsed)))
}

/// A limit with what a person has granted.
fn granted(name: &str, limit: u64, tally: &Tally) -> u64 {
    limit.saturating_mul(1 + tally.granted.get(name).copied().unwrap_or(0))
}

fn used(name: &str, tally: &Tally, elapsed: u64) -> u64 {
    match name {
        "attempts" => tally.spend.attempts,
        // The visit under way is counted, and may be the last one that is allowed.
        "visits" => tally.visits.saturating_sub(1),
        "model_calls" => tally.spend.model_calls,
        "tool_calls" => tally.spend.tool_calls,
        "tokens" => tally.spend.tokens(),
        "microdollars" => tally.spend.microdollars,
        _ => elapsed,
    }
}

/// The first limit that is reached: which, how much was used, how much may be.
fn reached(bounds: &Bounds, tally: &Tally, elapsed: u64, of: &[&str]) -> Option<(&'static str, u64, u64)> {
    bounds.each().into_iter().filter(|(name, _)| of.contains(name)).find_map(|(name, limit)| {
        let (limit, used) = (granted(name, limit?, tally), used(name, tally, elapsed));
        (used >= limit).then_some((name, used, limit))
    })
}
