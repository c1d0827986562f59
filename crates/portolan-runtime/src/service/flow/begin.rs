//! Begins a task.
//!
//! ```text
//! note: `run` begins → the run, with all that its beginning comes to → the log → note: `run` is under way
//! ```
//! A crash on the way leaves nothing, or a task at its intended beginning: the note is written first, so no stored run
//! is without a note, and the run is stored as a whole. Until the note has the stage under way, a note without a run in
//! the store means a task that never began.

use std::sync::Arc;

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::graph::Workflow;
use portolan_core::run::{Actor, Branches, EffectResult, Event, EventKind, FramePath, Opening, Rules, Run};
use portolan_core::value::{NodeId, Outcome};

use super::active::{Active, Stage};
use super::takeover::NoteTarget;
use super::{DEFAULT_WORKFLOW, Flow, FlowState, Start, is_task, log};
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::service::Caller;
use crate::service::hold::{Carrier, HeldRun};
use crate::service::open::opened;
use crate::store::{Record, RunId, StoreError, store_error};

/// A run with its journal, before it is stored.
struct Draft {
    run: Run,
    records: Vec<Record>,
}

impl Flow<'_> {
    /// Begins a task, at the first phase or at a later one if this skips no check.
    ///
    /// # Errors
    /// There is a task already. The name or the phase is invalid. The workflow has no phases, or has phases that no
    /// person has agreed to.
    pub async fn start(&self, wanted: &Start, caller: &Caller) -> Result<FlowState, ServiceError> {
        is_task(&wanted.task)?;
        let turn = self.turn().await?;
        if let Some(active) = self.clear(&turn).await? {
            // For a task that can neither be finished nor called off, this returns the error with its remedy.
            self.shown().await?;
            let message = format!("the task `{}` is in progress", active.task);
            let help = "finish it, or cancel it with `portolan flow abort`";
            return Err(ServiceError::refused("task_under_way", message, help));
        }
        let name = wanted.workflow.as_deref().unwrap_or(DEFAULT_WORKFLOW);
        let definition = self.service.library.definition(name)?;
        let passed = before(&definition.workflow, name, wanted.at.as_deref())?;
        self.are_agreed(name, &definition)?;
        // A task that cannot be logged or shown must not begin: a run cannot be removed from the store.
        self.service.log_is_ready()?;
        self.shown().await?;
        let draft = self.drafted(&definition, &wanted.task, &passed, caller)?;
        self.service.hooks().may_begin(&definition.workflow, &draft.run).await?;
        let held = self.kept(&definition, draft, wanted, name).await?;
        drop(turn);
        self.state(&held).await
    }

    /// Returns all records of the beginning, up to the first phase of the task.
    fn drafted(
        &self,
        definition: &Definition,
        task: &str,
        passed: &[NodeId],
        caller: &Caller,
    ) -> Result<Draft, ServiceError> {
        let options = &self.service.options;
        let rules = Rules { human: options.human, branches: Branches::Inside, is_branch: false };
        let opening =
            Opening { description: Some(task.to_owned()), rules, ..Opening::of(definition.workflow.id().clone()) };
        let (run, changes) = opened(definition, &opening)?;
        let event = Event { at: options.clock.now(), by: caller.by.clone(), what: EventKind::Opened(opening) };
        let mut draft = Draft { run, records: vec![Record { seq: 1, event, changes }] };
        let happen = |draft: &mut Draft, what: EventKind| {
            let mut next = Some((caller.by.clone(), what));
            while let Some((by, what)) = next {
                let event = Event { at: options.clock.now(), by, what };
                let changes = draft.run.step(&definition.workflow, &event)?;
                let seq = draft.records.len() as u64 + 1;
                draft.records.push(Record { seq, event, changes });
                next = draft.run.passing().map(|effect| (Actor::Engine, effect.settled(EffectResult::Due, 0)));
            }
            Ok::<(), ServiceError>(())
        };
        happen(&mut draft, EventKind::Begun { revision: None })?;
        for _ in passed {
            let (frame, outcome, revision) = (FramePath::default(), Outcome::passed(), Some(draft.run.root.since));
            happen(&mut draft, EventKind::Reported { frame, outcome, revision, note: None, outputs: None })?;
        }
        Ok(draft)
    }

    /// Stores a new task, and notes that it is the project's.
    async fn kept(
        &self,
        definition: &Arc<Definition>,
        draft: Draft,
        wanted: &Start,
        workflow: &str,
    ) -> Result<HeldRun, ServiceError> {
        let run = loop {
            let run = RunId::random();
            let (task, workflow) = (wanted.task.clone(), workflow.to_owned());
            self.note_down(&Active { run: run.clone(), task, workflow, store: None, stage: Stage::Begins })?;
            match self.service.create_as(&run, definition, &draft.run, draft.records.clone()).await {
                Ok(()) => break run,
                Err(StoreError::Taken) => {}
                Err(error) => {
                    // The store may have kept the run nevertheless: then the note leads to it.
                    if let Ok(NoteTarget::Unborn) = self.noted().await {
                        super::active::forget(self.service.project())?;
                    }
                    return Err(store_error(error));
                }
            }
        };
        let seq = draft.records.len() as u64;
        let held = HeldRun { definition: definition.clone(), run: draft.run, seq, carrier: Carrier::Stored(run) };
        self.put_on_record(&held, &draft.records).await?;
        self.under_way_from_now(&held)?;
        Ok(held)
    }

    /// Logs the beginning: the task, its rules, and the phases that it passed.
    async fn put_on_record(&self, held: &HeldRun, records: &[Record]) -> Result<(), ServiceError> {
        let Carrier::Stored(id) = &held.carrier else { return Ok(()) };
        let first = records.iter().take(1).flat_map(|record| &record.changes);
        if let Some(run) = Run::fold(first) {
            let (definition, carrier) = (held.definition.clone(), Carrier::Stored(id.clone()));
            let opened = HeldRun { definition, run, seq: 1, carrier };
            self.service.log_opened(&opened, id, &records[0])?;
            self.service.log_rules(&opened, id)?;
        }
        self.service.log_missing(held, id).await
    }
}

/// Returns the phases that are passed at once when a task begins at `at`: none of them has a check.
fn before(workflow: &Workflow, name: &str, at: Option<&str>) -> Result<Vec<NodeId>, ServiceError> {
    let flow = workflow.root();
    let phases: Vec<&NodeId> =
        flow.steps.iter().filter(|(_, step)| step.node.phase.is_some()).map(|(id, _)| id).collect();
    if !log::has_phases(workflow) {
        let message = format!("`{name}` has no phases");
        let help = format!("name a workflow that has phases, such as `{DEFAULT_WORKFLOW}`");
        return Err(ServiceError::refused("no_phases", message, help));
    }
    let Some(at) = at else { return Ok(Vec::new()) };
    let names: Vec<&str> = phases.iter().map(|id| id.as_str()).collect();
    if !names.contains(&at) {
        let near = closest(at, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let message = format!("`{}` is not a phase of `{name}`", clip(at));
        return Err(ServiceError::refused("unknown_step", message, format!("{near}its phases are {}", list(&names))));
    }
    let left: Vec<NodeId> = phases.into_iter().take_while(|id| id.as_str() != at).cloned().collect();
    match workflow.passed_over(&NodeId::from(at)) {
        None => Ok(left),
        Some(id) => {
            let message = format!("the task cannot begin at `{at}`: `{id}`, which comes before it, has checks");
            Err(ServiceError::refused("skips_checks", message, format!("begin at `{id}` or before it")))
        }
    }
}
