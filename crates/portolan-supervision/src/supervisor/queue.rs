//! The queue of tasks, and the current one.

use portolan_gates::supervisor::{Item, standings};
use portolan_runtime::audit::{Kind, LogEntry};
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::{Active, Caller, DEFAULT_WORKFLOW, Stage, Start};
use portolan_runtime::store::RunId;
use serde_json::{Value, json};

use super::Supervisor;
use portolan_runtime::plugins;

/// The maximum number of open tasks.
const MAX_TASKS: usize = 500;
/// The maximum length of a goal, in bytes.
const MAX_GOAL_BYTES: usize = 4_000;

/// A task to queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The name.
    pub name: String,
    /// The goal of the task.
    pub goal: String,
    /// The workflow of its phases, or `None` for the default one.
    pub workflow: Option<String>,
    /// The phase that it begins at, or `None` for the first.
    pub at: Option<String>,
}

impl Supervisor<'_> {
    /// Appends a task to the queue. Does nothing if it is in the queue already.
    ///
    /// # Errors
    /// The goal is too long, there are too many tasks, or the log cannot be read or written.
    pub async fn enqueue(&self, task: &Task) -> Result<(), ServiceError> {
        if task.goal.len() > MAX_GOAL_BYTES {
            let message = format!("the goal has more than {MAX_GOAL_BYTES} bytes");
            return Err(ServiceError::refused("too_large", message, "write it to a file, and name the file"));
        }
        let data = json!({ "goal": task.goal, "workflow": task.workflow, "at": task.at });
        self.log
            .change(|board, _| {
                let open = |item: &&Item| item.progress.is_open();
                if board.queue.get(&task.name).filter(open).is_some() {
                    return Ok((Vec::new(), ()));
                }
                if board.queue.values().filter(open).count() >= MAX_TASKS {
                    let message = format!("{MAX_TASKS} tasks are already in the queue");
                    return Err(ServiceError::refused("too_many", message, "finish some first"));
                }
                let entry = LogEntry { task: Some(task.name.clone()), ..LogEntry::of(Kind::TaskQueued, data) };
                Ok((vec![entry], ()))
            })
            .await
    }

    /// Returns the task to work on next: the current one if it is not blocked, or else the first such one of the queue.
    ///
    /// # Errors
    /// As for [`settle_deadlines`](Supervisor::settle_deadlines); or the project's plugins cannot be read or have
    /// faults.
    pub async fn next_task(&self) -> Result<Option<Item>, ServiceError> {
        self.settle_deadlines().await?;
        let budgets = plugins::load(self.service.project())?.budgets;
        let board = self.log.board().await?;
        let now = self.log.now();
        // A used-up session budget does not stop other sessions.
        let is_halted = |task: &str| standings(&budgets, &board, Some(task), None, now).iter().any(|s| s.halts);
        Ok(board.next(is_halted).cloned())
    }

    /// Makes a task the project's current one: starts it, or resumes it if it was parked. Parks the task under way.
    ///
    /// # Errors
    /// The task cannot be started or resumed.
    pub async fn bring(&self, item: &Item, caller: &Caller) -> Result<(), ServiceError> {
        let flow = self.service.flow();
        match flow.active().await? {
            Some(active) if active.task == item.task => {
                if item.run.as_deref() != Some(active.run.as_str()) {
                    self.tell(Kind::TaskResumed, item, Some(active.run.as_str()), json!({})).await?;
                }
                return Ok(());
            }
            Some(active) => {
                let reason = format!("`{}` is worked on instead", item.task);
                self.park(&active.task, &reason, caller).await?;
            }
            None => {}
        }
        let Some(run) = &item.run else {
            let start = Start { task: item.task.clone(), at: item.begin.clone(), workflow: item.workflow.clone() };
            return flow.start(&start, caller).await.map(|_| ());
        };
        let workflow = item.workflow.clone().unwrap_or_else(|| DEFAULT_WORKFLOW.to_owned());
        let unknown = || {
            let message = format!("the run of `{}` is no longer known", item.task);
            ServiceError::failed("unknown_run", message, "queue the task again under another name")
        };
        let run = RunId::parse(run).ok_or_else(unknown)?;
        flow.take_up(&Active { run, task: item.task.clone(), workflow, store: None, stage: Stage::UnderWay }, caller)
            .await?;
        self.tell(Kind::TaskResumed, item, item.run.as_deref(), json!({})).await
    }

    /// Parks the given task, if it is the project's current one.
    ///
    /// # Errors
    /// The log or the project's state cannot be written.
    pub async fn park(&self, task: &str, reason: &str, caller: &Caller) -> Result<(), ServiceError> {
        let flow = self.service.flow();
        let Some(active) = flow.active().await?.filter(|active| active.task == task) else { return Ok(()) };
        let data = json!({ "reason": reason });
        let run = Some(active.run.to_string());
        let entry = LogEntry { task: Some(task.to_owned()), run, ..LogEntry::of(Kind::TaskParked, data) };
        self.log.change(|_, _| Ok((vec![entry], ()))).await?;
        flow.set_aside(caller).await.map(|_| ())
    }

    /// Records an event of a task in the log.
    pub(crate) async fn tell(
        &self,
        kind: Kind,
        item: &Item,
        run: Option<&str>,
        data: Value,
    ) -> Result<(), ServiceError> {
        let run = run.map(str::to_owned);
        let entry = LogEntry { task: Some(item.task.clone()), run, ..LogEntry::of(kind, data) };
        self.log.change(|_, _| Ok((vec![entry], ()))).await
    }
}
