//! The limits of a run, of a state, and of everything around it. A state that reaches one waits; nothing is lost.

use super::StateDecision;
use crate::graph::{Bounds, Kind};
use crate::run::{
    Change, Data, Frame, FramePath, ModelActivity, ModelStateChange, Place, StateUsage, Tallies, WaitReason,
};
use crate::value::Timestamp;

/// Something with limits, and its usage.
struct LimitScope {
    /// Whether it is the run, or a workflow with limits of its own.
    of_run: bool,
    /// Its frame, if it is neither the run nor the state itself.
    at: Option<FramePath>,
    bounds: Bounds,
    tally: StateUsage,
    since: Timestamp,
}

impl StateDecision<'_, '_> {
    /// Waits for a person, and then continues with `then`.
    pub(super) fn hold(&mut self, why: WaitReason, then: ModelActivity) {
        self.say(ModelStateChange::Doing(ModelActivity::Held { why, then: Box::new(then) }));
    }

    /// Returns the limit that forbids a model call now; `None` if none does.
    pub(super) fn over_models(&self) -> Option<WaitReason> {
        self.over(&["model_calls", "tokens", "microdollars", "ms"])
    }

    /// Returns the limit that forbids further tool calls now.
    pub(super) fn over_tools(&self) -> Option<WaitReason> {
        self.over(&["tool_calls", "ms"])
    }

    /// Returns the limit that forbids another attempt now.
    pub(super) fn over_attempts(&self) -> Option<WaitReason> {
        self.over(&["attempts", "ms"])
    }

    /// Returns the limit that forbids entering the state now. This visit is already counted.
    pub(super) fn over_visits(&self) -> Option<WaitReason> {
        self.over(&["visits", "attempts", "ms"])
    }

    /// Raises a limit by its original amount.
    pub(super) fn grant(&mut self, of: &str, of_run: bool, at: Option<FramePath>) {
        let change = ModelStateChange::Granted { of: of.to_owned(), of_run };
        match at.or_else(|| of_run.then(FramePath::default)) {
            Some(frame) => self.draft.emit(Change::Talked { frame, said: change }),
            None => self.say(change),
        }
    }

    fn over(&self, of: &[&str]) -> Option<WaitReason> {
        self.limited().into_iter().find_map(|limited| {
            let elapsed = u64::try_from(self.now.at.0.saturating_sub(limited.since.0)).unwrap_or(0);
            let (name, used, limit) = reached(&limited.bounds, &limited.tally, elapsed, of)?;
            let LimitScope { of_run, at, .. } = limited;
            Some(WaitReason::Limit { of: name.to_owned(), used, limit, of_run, at })
        })
    }

    /// Returns everything that limits the state: the run, the state itself, and from there outwards what is around it.
    fn limited(&self) -> Vec<LimitScope> {
        let (workflow, run) = (self.draft.workflow, self.draft.before);
        let bounds = |interface: &crate::graph::Interface| interface.bounds;
        let known = run.tallies.as_deref();
        let mut limited = vec![LimitScope {
            of_run: true,
            at: None,
            bounds: workflow.root().interface.as_deref().map(bounds).unwrap_or_default(),
            tally: self.counted(known.map(|known| known.run.clone()), (true, &FramePath::default())),
            since: run.opening.since.unwrap_or(self.talk.since),
        }];
        let frames: Vec<&Frame> = run.way(&self.path).collect();
        for (depth, frame) in frames.iter().enumerate().rev() {
            let is_own = depth == self.path.0.len();
            let path = FramePath(self.path.0[..depth].to_vec());
            let flow = workflow.flow(&frame.flow);
            let since = match &frame.place {
                _ if is_own => Some(self.talk.since),
                Place::Conversing { talk, .. } => Some(talk.since),
                _ => None,
            };
            if let (Some(since), Kind::State(state)) = (since, &flow.step(frame.place.node()).node.kind) {
                let key = Tallies::key(&frame.flow, frame.place.node());
                let tally = known.and_then(|known| known.states.get(&key)).cloned();
                let tally = self.counted(tally, (false, &path));
                let at = (!is_own).then(|| path.clone());
                limited.push(LimitScope { of_run: false, at, bounds: state.limits, tally, since });
            }
            if let Some(Data { budget: Some(budget), .. }) = frame.data.as_deref() {
                let tally = self.counted(Some(budget.tally.clone()), (true, &path));
                let bounds = flow.interface.as_deref().map(bounds).unwrap_or_default();
                limited.push(LimitScope { of_run: true, at: Some(path), bounds, tally, since: budget.since });
            }
        }
        limited
    }

    /// Returns the usage including that of this decision, all of which belongs to this state.
    fn counted(&self, known: Option<StateUsage>, (of_run, at): (bool, &FramePath)) -> StateUsage {
        let mut tally = known.unwrap_or_default();
        for change in self.draft.changes() {
            match change {
                Change::Visited { .. } => tally.visits = tally.visits.saturating_add(1),
                Change::Talked { said: ModelStateChange::Spent(spend), .. } => tally.spend = tally.spend.and(*spend),
                Change::Talked { frame, said: ModelStateChange::Granted { of, of_run: is_of_run } }
                    if *is_of_run == of_run && frame == at =>
                {
                    let granted = tally.granted.entry(of.clone()).or_default();
                    *granted = granted.saturating_add(1);
                }
                _ => {}
            }
        }
        tally
    }
}

/// Returns a limit including what a person has granted.
fn granted(name: &str, limit: u64, tally: &StateUsage) -> u64 {
    limit.saturating_mul(1 + tally.granted.get(name).copied().unwrap_or(0))
}

fn used(name: &str, tally: &StateUsage, elapsed: u64) -> u64 {
    match name {
        "attempts" => tally.spend.attempts,
        // The present visit is counted, and may be the last that is allowed.
        "visits" => tally.visits.saturating_sub(1),
        "model_calls" => tally.spend.model_calls,
        "tool_calls" => tally.spend.tool_calls,
        "tokens" => tally.spend.tokens(),
        "microdollars" => tally.spend.microdollars,
        _ => elapsed,
    }
}

/// Returns the first limit that is reached: its name, the amount used, the amount allowed.
fn reached(bounds: &Bounds, tally: &StateUsage, elapsed: u64, of: &[&str]) -> Option<(&'static str, u64, u64)> {
    bounds.each().into_iter().filter(|(name, _)| of.contains(name)).find_map(|(name, limit)| {
        let (limit, used) = (granted(name, limit?, tally), used(name, tally, elapsed));
        (used >= limit).then_some((name, used, limit))
    })
}
