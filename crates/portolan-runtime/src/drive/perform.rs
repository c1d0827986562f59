//! Effects are performed: by servers, models, functions, and whoever looks at a project. Whoever performs one knows
//! nothing of journals, and of whether anybody still waits for its result.

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
    /// Whether it performs an effect of a workflow. What it does not take stays pending, for somebody else. Automatic nodes
    /// are executed by the engine, where it takes them.
    fn takes(&self, effect: &Effect, workflow: &Workflow) -> bool;

    /// Begins to perform an effect that it takes. It may be performed before, and its result lost: see
    /// [`Effect::after_crash`].
    fn perform(&self, wanted: EffectRequest) -> EffectFuture;
}

/// An effect that is to be performed.
#[derive(Clone, Debug)]
pub struct EffectRequest {
    /// The effect.
    pub effect: Effect,
    /// The workflow that it belongs to.
    pub workflow: Arc<Workflow>,
    /// Where time comes from.
    pub clock: Clock,
    /// What the server of a tool call is told of the trace.
    pub meta: Map<String, Value>,
}

/// An effect while it is performed.
pub struct EffectFuture {
    /// Whether it is performed only when its time has come.
    pub(super) waits: bool,
    /// Its result. Dropping it gives the effect up.
    pub(super) result: Pin<Box<dyn Future<Output = EffectResult> + Send>>,
}

impl EffectFuture {
    /// It is performed when the effect's time has come.
    pub fn when_due(result: impl Future<Output = EffectResult> + Send + 'static) -> EffectFuture {
        EffectFuture { waits: true, result: Box::pin(result) }
    }

    /// It is performed at once, whatever the effect's time: for answers that are written nobody waits.
    pub fn at_once(result: impl Future<Output = EffectResult> + Send + 'static) -> EffectFuture {
        EffectFuture { waits: false, result: Box::pin(result) }
    }

    /// Its result.
    pub async fn result(self) -> EffectResult {
        self.result.await
    }
}

/// Those who perform effects here. They are told nothing of trust: whoever has them perform something has asked.
#[derive(Clone, Default)]
pub struct Performers {
    /// Who answers tool calls.
    pub tools: Arc<Tools>,
    /// Who works on states, and looks at the project for checks.
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
            // Where no project is at hand, the work of agents and people is checked by whoever has one.
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
                // Of several calls of a node, the one that begins first has the first of its written answers.
                let turn = tools.turn(&effect);
                let is_written = turn.is_answered() || !tools.has_servers();
                let result = async move { tools.call((&effect, &call), turn, &clock, meta).await.into() };
                if is_written { EffectFuture::at_once(result) } else { EffectFuture::when_due(result) }
            }
            EffectKind::Complete(asked) => {
                EffectFuture::when_due(
                    async move { workers.complete((&node, &asked), (&tools, &workflow)).await.into() },
                )
            }
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
