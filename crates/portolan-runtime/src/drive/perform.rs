//! Performs effects: by servers, models, functions, and checks of a project. A performer knows nothing of journals, or
//! of whether its result is still needed.

use std::pin::Pin;
use std::sync::Arc;

use portolan_core::engine::{Effect, EffectKind};
use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::EffectResult;
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::states::Workers;
use crate::tools::Tools;

/// Performs the effects of runs.
pub trait Perform: Send + Sync {
    /// Checks whether this performer takes an effect of a workflow. An effect that it does not take stays pending for
    /// others. The engine executes automatic nodes that are taken.
    fn takes(&self, effect: &Effect, workflow: &Workflow) -> bool;

    /// Begins to perform an effect that it takes. The effect may have been performed before, with a lost result: see
    /// [`Effect::after_crash`].
    fn perform(&self, wanted: EffectRequest) -> EffectFuture;
}

/// An effect to perform.
#[derive(Clone, Debug)]
pub struct EffectRequest {
    /// The effect.
    pub effect: Effect,
    /// The workflow of the effect.
    pub workflow: Arc<Workflow>,
    /// The source of time.
    pub clock: Clock,
    /// The trace metadata for the server of a tool call.
    pub meta: Map<String, Value>,
}

/// An effect that is being performed.
pub struct EffectFuture {
    /// Whether it is performed only when it is due.
    pub(super) waits: bool,
    /// The result. Dropping it gives the effect up.
    pub(super) result: Pin<Box<dyn Future<Output = EffectResult> + Send>>,
}

impl EffectFuture {
    /// Returns an effect that is performed when it is due.
    pub fn when_due(result: impl Future<Output = EffectResult> + Send + 'static) -> EffectFuture {
        EffectFuture { waits: true, result: Box::pin(result) }
    }

    /// Returns an effect that is performed at once, even if it is due later: written answers need no wait.
    pub fn at_once(result: impl Future<Output = EffectResult> + Send + 'static) -> EffectFuture {
        EffectFuture { waits: false, result: Box::pin(result) }
    }

    /// Returns the result.
    pub async fn result(self) -> EffectResult {
        self.result.await
    }
}

/// The performers of this crate. They do not check trust: the caller has done so.
#[derive(Clone, Default)]
pub struct Performers {
    /// The handlers of tool calls.
    pub tools: Arc<Tools>,
    /// The workers of states, and the workspace of checks.
    pub workers: Workers,
}

impl Perform for Performers {
    fn takes(&self, effect: &Effect, workflow: &Workflow) -> bool {
        let is_of_state = || {
            let step = workflow.flow(&effect.flow).step(effect.node());
            matches!(step.node.kind, Kind::State(_))
        };
        match &effect.what {
            EffectKind::Instruct | EffectKind::Ask | EffectKind::TimeOut => false,
            // Without a project, checks of agents' and people's work are left to other performers.
            EffectKind::Check(_) => self.workers.ground.is_some() || is_of_state(),
            EffectKind::Advance
            | EffectKind::Call(_)
            | EffectKind::Complete(_)
            | EffectKind::UseTool(_)
            | EffectKind::Work(_) => true,
        }
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        let EffectRequest { effect, workflow, clock, meta } = wanted;
        let Performers { tools, workers } = self.clone();
        let node = effect.node().clone();
        match effect.what.clone() {
            EffectKind::Call(call) => {
                // Of several calls of a node, the one that begins first takes the first of its written answers.
                let turn = tools.turn(&effect);
                let is_written = turn.is_answered() || !tools.has_servers();
                let result = async move { tools.call((&effect, &call), turn, &clock, meta).await.into() };
                if is_written { EffectFuture::at_once(result) } else { EffectFuture::when_due(result) }
            }
            EffectKind::Complete(model_request) => EffectFuture::when_due(async move {
                workers.complete((&node, &model_request), (&tools, &workflow)).await.into()
            }),
            EffectKind::Work(work) => EffectFuture::when_due(async move { workers.work(&node, &work).await.into() }),
            EffectKind::Check(request) => EffectFuture::when_due(async move { workers.check(&request).await.into() }),
            EffectKind::UseTool(used) => EffectFuture::when_due(async move {
                let done = workers.use_tool((&effect, &used), &tools, &clock).await;
                EffectResult::Tool { done }
            }),
            EffectKind::Advance | EffectKind::Instruct | EffectKind::Ask | EffectKind::TimeOut => {
                EffectFuture::at_once(async { EffectResult::Due })
            }
        }
    }
}
