//! What guards must know of the run that a coding agent works at: its task, what was got past in it, and which tools its
//! step allows.

use std::collections::BTreeSet;

use portolan_core::engine;
use portolan_core::gates::bypass::{Source, Uses};
use portolan_core::gates::guards::FlowScene;
use portolan_core::gates::{Bypass, Intent, Judgement};
use portolan_core::run::{self, Human, Place, Run, WaitingFor};

use super::super::hold::Held;
use super::super::{Service, ServiceError};
use super::{Active, Flow, phase};
use crate::carrier::Address;
use crate::store::RunId;

/// A run, as far as guards look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// The run that the agent works at; nothing where there is none.
    pub run: Option<RunId>,
    /// The project's task.
    pub flow: Option<FlowScene>,
    /// What was got past in the task, as far as it still counts.
    pub bypasses: Vec<Bypass>,
    /// The runs whose questions only a person may answer.
    pub people: BTreeSet<String>,
    /// What the step says of the call, where it says anything.
    pub permitted: Option<Judgement>,
    /// The tools that the step allows, as it writes them; nothing where it allows all that it does not deny.
    pub allowed: Option<Vec<String>>,
}

impl Flow<'_> {
    /// What there is to know before a tool is used. `attached` is the run that the agent's session works at; otherwise it
    /// is the project's task.
    ///
    /// # Errors
    /// What is noted of the task cannot be read, or a run is none that is kept.
    pub async fn gate(&self, attached: Option<&RunId>, intent: Option<&Intent>) -> Result<Gate, ServiceError> {
        let mut gate = Gate::default();
        let active = self.active()?;
        if let Some(active) = &active {
            let held = self.held(&active.run).await?;
            gate.task(active, &held);
            if attached.is_none_or(|attached| *attached == active.run) {
                gate.step(&active.run, &held, intent);
                return Ok(gate);
            }
        }
        if let Some(run) = attached {
            let held = self.held(run).await?;
            gate.step(run, &held, intent);
        }
        Ok(gate)
    }
}

impl Service {
    /// Whether a run waits for an answer that is no agent's to give.
    ///
    /// # Errors
    /// The run is not known, or cannot be read.
    pub async fn asks_a_person(&self, address: &Address) -> Result<bool, ServiceError> {
        Ok(asks_a_person(&self.peek_in_time(address).await?.run))
    }
}

impl Gate {
    fn task(&mut self, active: &Active, held: &Held) {
        let run = &held.run;
        let variable = |name: &str| run.root.data.iter().find_map(|data| data.variables.get(name));
        self.flow = Some(FlowScene {
            task: active.task.clone(),
            phase: phase(run),
            issue: variable("issueNumber").and_then(serde_json::Value::as_u64),
            issue_key: variable("issueKey").and_then(serde_json::Value::as_str).map(str::to_owned),
            branch: variable("branch").and_then(serde_json::Value::as_str).map(str::to_owned),
        });
        let open = run.bypasses().iter().filter(|bypass| !(bypass.once && bypass.used));
        self.bypasses = open.map(|bypass| recorded(bypass, &active.task)).collect();
        self.people.extend(asks_a_person(run).then(|| active.run.to_string()));
    }

    fn step(&mut self, id: &RunId, held: &Held, intent: Option<&Intent>) {
        let (workflow, run) = (&held.definition.workflow, &held.run);
        self.run = Some(id.clone());
        self.permitted = intent.and_then(|intent| engine::permit(workflow, run, intent));
        self.people.extend(asks_a_person(run).then(|| id.to_string()));
        let mut allowed = Vec::new();
        for (_, frame) in run.positions() {
            let rules = workflow.flow(&frame.flow).step(frame.place.node()).node.tools.as_ref();
            match rules.and_then(|rules| rules.allow.as_ref()) {
                Some(names) => allowed.extend(names.iter().cloned()),
                None => return,
            }
        }
        self.allowed = Some(allowed);
    }
}

/// Whether the run waits for an answer that is no agent's to give.
pub(in crate::service) fn asks_a_person(run: &Run) -> bool {
    run.positions().into_iter().any(|(_, frame)| match &frame.place {
        Place::Waiting { on: WaitingFor::Budget, .. } => true,
        Place::Waiting { .. } => run.opening.rules.human == Human::Verified,
        _ => false,
    })
}

/// A bypass of a run, in the words that guards have for it.
fn recorded(bypass: &run::Bypass, task: &str) -> Bypass {
    Bypass {
        id: bypass.id.clone(),
        source: match bypass.source.as_str() {
            "env" => Source::Env,
            "config" => Source::Config,
            "flag" => Source::Flag,
            "code" => Source::Code,
            _ => Source::Command,
        },
        identifier: bypass.identifier.clone(),
        invariant: bypass.invariant.clone(),
        phase: Some(bypass.node.to_string()),
        task: Some(task.to_owned()),
        reason: bypass.reason.clone(),
        at: bypass.at,
        by: "flow".to_owned(),
        expires_at: bypass.expires_at,
        uses: if bypass.once { Uses::Once } else { Uses::Task },
    }
}
