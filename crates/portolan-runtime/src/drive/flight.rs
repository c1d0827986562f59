//! What is under way outside of the engine: an effect that waits for its time and is performed then.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::engine::{Effect, EffectKind};
use portolan_core::graph::Workflow;
use portolan_core::run::EffectResult;
use serde_json::{Map, Value};

use super::Setup;
use crate::clock::Clock;
use crate::states::Workers;
use crate::tools::{Tools, Turn};

/// What came of an effect.
pub(super) struct Landed {
    /// For the engine.
    pub(super) result: EffectResult,
    /// How long it was held back before it was performed.
    pub(super) waited: Duration,
}

/// An effect with those who perform it.
pub(super) struct Flight {
    effect: Effect,
    workflow: Arc<Workflow>,
    tools: Arc<Tools>,
    workers: Workers,
    clock: Clock,
    /// The turn of a tool call.
    turn: Option<Turn>,
    /// What the server of a tool call is told of the trace.
    meta: Map<String, Value>,
}

impl Flight {
    /// Of several calls of a node, the one that is prepared first has the first of its written answers.
    pub(super) fn prepare(effect: Effect, workflow: Arc<Workflow>, meta: Map<String, Value>, setup: &Setup) -> Flight {
        let tools = setup.tools.clone();
        let turn = matches!(effect.what, EffectKind::Call(_)).then(|| tools.turn(&effect));
        Flight { effect, workflow, tools, workers: setup.workers.clone(), clock: setup.clock.clone(), turn, meta }
    }

    /// Waits for the effect's time and performs it; nothing where it is no effect that is performed outside.
    pub(super) async fn fly(self) -> Option<Landed> {
        let mut waited = Duration::ZERO;
        if let Some(wait) = self.wait() {
            let began = tokio::time::Instant::now();
            tokio::time::sleep(wait).await;
            waited = began.elapsed();
        }
        let result = self.perform().await?;
        Some(Landed { result, waited })
    }

    /// How long it waits; never beyond the end of the run. For an answer that is written nobody waits.
    fn wait(&self) -> Option<Duration> {
        let is_written = |turn: &Turn| turn.is_answered() || !self.tools.has_servers();
        if self.turn.as_ref().is_some_and(is_written) {
            return None;
        }
        let until = self.effect.not_before?.0.min(self.effect.deadline.map_or(i64::MAX, |deadline| deadline.0));
        let wait = u64::try_from(until.saturating_sub(self.clock.now().0)).ok()?;
        (wait > 0).then(|| Duration::from_millis(wait))
    }

    async fn perform(self) -> Option<EffectResult> {
        let Flight { effect, workflow, tools, workers, clock, turn, meta } = self;
        let node = effect.node();
        Some(match &effect.what {
            EffectKind::Call(call) => tools.call((&effect, call), turn?, &clock, meta).await.into(),
            EffectKind::Complete(asked) => workers.complete((node, asked), (&tools, &workflow)).await.into(),
            EffectKind::Work(work) => workers.work(node, work).await.into(),
            EffectKind::Check(request) => workers.check(request).await.into(),
            EffectKind::UseTool(used) => {
                let done = workers.use_tool((&effect, used), &tools, &clock).await;
                EffectResult::Tool { done, spent: Default::default() }
            }
            EffectKind::Advance | EffectKind::Instruct | EffectKind::Ask | EffectKind::TimeOut => return None,
        })
    }
}
