//! The queue: which tasks there are, and which one is at hand.

use portolan_gates::supervisor::{Item, standings};
use serde_json::{Value, json};

use super::Supervisor;
use crate::audit::{Kind, LogEntry};
use crate::error::ServiceError;
use crate::plugins;
use crate::service::{Active, Caller, DEFAULT_WORKFLOW, Stage, Start};
use crate::store::RunId;

/// The most tasks that may be open at once.
const MAX_TASKS: usize = 500;
/// The longest goal, in bytes.
const MAX_GOAL_BYTES: usize = 4_000;

/// A task that is to be worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What is to be achieved.
    pub goal: String,
    /// The workflow of its phases; nothing means the usual one.
    pub workflow: Option<String>,
    /// The phase that it begins at; nothing means the first.
    pub at: Option<String>,
}

impl Supervisor<'_> {
    /// Puts a task into the queue, at its end. One that is in it already stays as it is.
    ///
    /// # Errors
    /// The goal is too long, there are too many tasks, or it cannot be put on record.
    pub async fn enqueue(&self, task: &Task) -> Result<(), ServiceError> {
        if task.goal.len() > MAX_GOAL_BYTES {
            let message = format!("the goal has more than {MAX_GOAL_BYTES} bytes");
            return Err(ServiceError::refused("too_large", message, "write it into a file, and name that"));
        }
        let data = json!({ "goal": task.goal, "workflow": task.workflow, "at": task.at });
        self.change(|board, _| {
            let open = |item: &&Item| item.progress.is_open();
            if board.queue.get(&task.name).filter(open).is_some() {
                return Ok((Vec::new(), ()));
            }
            if board.queue.values().filter(open).count() >= MAX_TASKS {
                let message = format!("{MAX_TASKS} tasks are in the queue already");
                return Err(ServiceError::refused("too_many", message, "have some finished first"));
            }
            let entry = LogEntry { task: Some(task.name.clone()), ..LogEntry::of(Kind::TaskQueued, data) };
            Ok((vec![entry], ()))
        })
        .await
    }

    /// The task to work on next: the one at hand where nothing holds it up, or else the first such one of the queue.
    ///
    /// # Errors
    /// As for [`settle_deadlines`](Supervisor::settle_deadlines).
    pub async fn next_task(&self) -> Result<Option<Item>, ServiceError> {
        self.settle_deadlines().await?;
        let budgets = plugins::load(self.service.project())?.budgets;
        let board = self.board().await?;
        let now = self.now();
        // A session that is over has its budget used up for itself alone.
        let is_halted = |task: &str| standings(&budgets, &board, Some(task), None, now).iter().any(|s| s.halts);
        Ok(board.next(is_halted).cloned())
    }

    /// Makes a task the project's: begins it, or takes it up where it was set aside. Whatever is under way is set aside.
    ///
    /// # Errors
    /// It cannot be begun or taken up.
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
            let message = format!("the run of `{}` is not known any more", item.task);
            ServiceError::failed("unknown_run", message, "queue the task anew under another name")
        };
        let run = RunId::parse(run).ok_or_else(unknown)?;
        flow.take_up(&Active { run, task: item.task.clone(), workflow, stage: Stage::UnderWay }, caller).await?;
        self.tell(Kind::TaskResumed, item, item.run.as_deref(), json!({})).await
    }

    /// Sets the project's task aside, where it is this one.
    ///
    /// # Errors
    /// It cannot be put on record, or noted.
    pub async fn park(&self, task: &str, reason: &str, caller: &Caller) -> Result<(), ServiceError> {
        let flow = self.service.flow();
        let Some(active) = flow.active().await?.filter(|active| active.task == task) else { return Ok(()) };
        let data = json!({ "reason": reason });
        let run = Some(active.run.to_string());
        let entry = LogEntry { task: Some(task.to_owned()), run, ..LogEntry::of(Kind::TaskParked, data) };
        self.change(|_, _| Ok((vec![entry], ()))).await?;
        flow.set_aside(caller).await.map(|_| ())
    }

    /// Puts something of a task on record.
    pub(crate) async fn tell(
        &self,
        kind: Kind,
        item: &Item,
        run: Option<&str>,
        data: Value,
    ) -> Result<(), ServiceError> {
        let run = run.map(str::to_owned);
        let entry = LogEntry { task: Some(item.task.clone()), run, ..LogEntry::of(kind, data) };
        self.change(|_, _| Ok((vec![entry], ()))).await
    }
}
