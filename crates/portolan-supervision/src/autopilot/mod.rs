//! The autopilot works through the queue: it has a driver work on a phase, and then asks the engine whether the phase
//! is done. A driver moves nothing. Every move is a tick; if it is refused, the reasons are part of the next prompt.
//!
//! ```text
//! next task → brief → driver works → usage → question? → tick → next phase, or the reason goes back
//! ```
//! All its state is in the log and beside it. A killed autopilot continues from there.

mod prompt;
mod pulse;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::run::Actor;
use portolan_core::value::Timestamp;
use portolan_gates::supervisor::Item;
use portolan_runtime::audit::Kind;
use portolan_runtime::disk::try_alone;
use portolan_runtime::error::{ErrorKind, ServiceError};
use portolan_runtime::project_folder;
use portolan_runtime::service::{Brief, Caller, Ending, Service, Tick};
use serde::Serialize;
use serde_json::json;

use crate::drivers::{AgentDriver, AgentQuestion, Assignment, SessionResult};
use crate::notifiers::{Notice, Notifiers};
use crate::supervisor::{Ask, Supervisor, Task, UsageReport};
use pulse::Pulse;

/// The limits of the autopilot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutopilotLimits {
    /// The maximum number of sessions of all tasks together.
    pub sessions: u32,
    /// The maximum number of sessions of a task.
    pub sessions_per_task: u32,
    /// How many sessions in a row may work on a phase before a person is asked.
    pub attempts: u32,
    /// The time without a move after which a person is asked.
    pub stuck_after: Duration,
    /// The maximum duration of a session.
    pub session: Duration,
    /// The interval of the messages that work continues.
    pub heartbeat: Duration,
}

impl Default for AutopilotLimits {
    fn default() -> AutopilotLimits {
        AutopilotLimits {
            sessions: 200,
            sessions_per_task: 50,
            attempts: 5,
            stuck_after: Duration::from_secs(3_600),
            session: Duration::from_secs(1_800),
            heartbeat: Duration::from_secs(300),
        }
    }
}

/// The autopilot.
pub struct Autopilot<'s> {
    service: &'s Service,
    driver: Arc<dyn AgentDriver>,
    notifiers: Notifiers,
    limits: AutopilotLimits,
    caller: Caller,
}

/// How the autopilot stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutopilotResult {
    /// The reason.
    pub why: Why,
    /// A sentence about the reason, for people.
    pub reason: String,
    /// The number of sessions.
    pub sessions: u32,
}

/// Why the autopilot stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// No task is left.
    Done,
    /// All open tasks wait for an answer.
    Waiting,
    /// A budget is used up.
    Halted,
    /// The maximum number of sessions is reached.
    Limit,
}

/// The choices for a task that is stuck.
const STUCK: [&str; 3] = ["try again", "scope down", "escalate"];

impl<'s> Autopilot<'s> {
    /// Creates an autopilot for a project.
    pub fn new(
        service: &'s Service,
        driver: Arc<dyn AgentDriver>,
        notifiers: Notifiers,
        limits: AutopilotLimits,
    ) -> Autopilot<'s> {
        let caller = Caller { by: Actor::Agent(format!("autopilot/{}", driver.id())), can_ask: false };
        Autopilot { service, driver, notifiers, limits, caller }
    }

    /// Works until no task is left that can be worked on.
    ///
    /// # Errors
    /// The project's files cannot be read or written, or a task cannot be started.
    pub async fn fly(&self) -> Result<AutopilotResult, ServiceError> {
        let supervisor = Supervisor::of(self.service);
        let _alone = self.alone()?;
        self.adopt(&supervisor).await?;
        let mut pulse = Pulse::new(self.now(), self.limits.heartbeat);
        let mut sessions = 0;
        loop {
            self.remind(&supervisor).await?;
            let Some(item) = supervisor.next_task().await? else { return self.landed(sessions).await };
            if sessions >= self.limits.sessions {
                let reason = "the limit of sessions is reached".to_owned();
                return Ok(AutopilotResult { why: Why::Limit, reason, sessions });
            }
            if let Some(landed) = self.decided(&item).await? {
                supervisor.bring(&item, &self.caller).await?;
                self.service.flow().abort(landed, "a person decided this", &self.caller).await?;
                continue;
            }
            if let Err(error) = supervisor.bring(&item, &self.caller).await {
                self.unbegun(&item, error).await?;
                continue;
            }
            let Some(item) = self.service.supervisor_log().board().await?.queue.get(&item.task).cloned() else {
                continue;
            };
            if let Some(why) = self.held_up(&item) {
                self.stuck(&item, &why).await?;
                continue;
            }
            let Some(brief) = self.service.flow().brief().await?.filter(|brief| !brief.is_over) else { continue };
            if let Some(run) = &brief.waits {
                let why = format!("it cannot continue by itself, and `portolan runs answer {run}` decides");
                self.stuck(&item, &why).await?;
                continue;
            }
            sessions += 1;
            self.session(&item, &brief, &mut pulse).await?;
        }
    }

    /// Takes the lock of the autopilot. There is one working copy, so only one autopilot may work on a project.
    fn alone(&self) -> Result<File, ServiceError> {
        let folder = self.service.project().join(".portolan");
        let path = folder.join("autopilot.lock");
        let failed = |error: std::io::Error| {
            let message = format!("`{}` cannot be locked: {error}", path.display());
            ServiceError::failed("not_locked", message, "make the project writable")
        };
        project_folder::make(&folder).map_err(failed)?;
        try_alone(&path).map_err(failed)?.ok_or_else(|| {
            let help = "wait until it has ended; `portolan autopilot status` shows what it is doing";
            ServiceError::refused("under_way", "an autopilot is already working on this project", help)
        })
    }

    /// Adds a task that was started by hand to the queue, so that it is not parked for good.
    async fn adopt(&self, supervisor: &Supervisor<'_>) -> Result<(), ServiceError> {
        let Some(active) = self.service.flow().active().await? else { return Ok(()) };
        let (name, workflow) = (active.task, Some(active.workflow));
        supervisor.enqueue(&Task { name, goal: String::new(), workflow, at: None }).await
    }

    /// Asks a person about a task that cannot be started. The other tasks continue.
    async fn unbegun(&self, item: &Item, error: ServiceError) -> Result<(), ServiceError> {
        if !matches!(error.kind, ErrorKind::Refused | ErrorKind::InvalidDefinition) {
            return Err(error);
        }
        let body = format!("`{}` cannot be started: {}; {}", item.task, error.message, error.help);
        self.ask(item, &AgentQuestion { body, choices: vec!["try again".to_owned()], default: None }).await
    }

    /// Runs one session of the driver on the present phase, and has the engine judge it.
    async fn session(&self, item: &Item, brief: &Brief, pulse: &mut Pulse) -> Result<(), ServiceError> {
        let supervisor = Supervisor::of(self.service);
        let state = self.service.flow().status().await?;
        let board = self.service.supervisor_log().board().await?;
        let answers = board.questions.values().filter(|question| question.task.as_deref() == Some(&item.task));
        let answers: Vec<(String, String)> = answers
            .filter_map(|question| Some((question.body.clone(), question.answer.as_ref()?.body.clone())))
            .collect();
        let assignment = Assignment {
            project: self.service.project().to_owned(),
            task: item.task.clone(),
            goal: item.goal.clone(),
            phase: brief.phase.clone(),
            prompt: prompt::prompt(item, brief, state.last_error.as_deref(), &answers),
            attempt: item.attempts,
            answers,
            deadline: self.limits.session,
        };
        // Recorded before it begins, so that a session that crashes the machine counts too.
        self.beat(item, "started", None).await?;
        let worked = self.working(item, &assignment, pulse).await?;
        let session = worked.session.clone().unwrap_or_else(|| format!("{}-{}", item.task, item.sessions + 1));
        let report = UsageReport {
            task: Some(item.task.clone()),
            phase: Some(brief.phase.clone()),
            session: Some(session),
            driver: self.driver.id().to_owned(),
            usage: worked.usage.clone(),
        };
        // What could not be sent is sent when the budgets are asked for next.
        let recorded = supervisor.record_usage(&report).await?;
        for standing in recorded.budgets.iter().filter(|standing| standing.halts) {
            self.notify(Kind::BudgetHalt, Some(&item.task), standing.sentence(), None).await;
        }
        if let Some(why) = &worked.failed {
            self.notify(Kind::Heartbeat, Some(&item.task), format!("a session failed: {why}"), None).await;
        }
        self.judge(item, &worked).await
    }

    /// Has the engine decide on the result of a session.
    async fn judge(&self, item: &Item, worked: &SessionResult) -> Result<(), ServiceError> {
        let supervisor = Supervisor::of(self.service);
        let flow = self.service.flow();
        // The agent may have ended the task itself, or asked a question.
        if flow.active().await?.is_none_or(|active| active.task != item.task) {
            return Ok(());
        }
        if let Some(posed) = &worked.question {
            self.ask(item, posed).await?;
            return supervisor.park(&item.task, "it waits for an answer", &self.caller).await;
        }
        if self.service.supervisor_log().board().await?.is_waiting(&item.task) {
            return supervisor.park(&item.task, "it waits for an answer", &self.caller).await;
        }
        if worked.failed.is_some() {
            return Ok(());
        }
        if !worked.claims.is_empty()
            && let Err(error) = flow.patch(&worked.claims, &self.caller).await
        {
            // A claim may no longer be allowed. The checks then report what is missing.
            self.notify(Kind::Heartbeat, Some(&item.task), format!("a claim was refused: {error}"), None).await;
        }
        let tick: Tick = match &worked.back {
            Some(reason) => match flow.back(reason, &self.caller).await {
                Err(error) if error.kind == ErrorKind::Refused => {
                    self.notify(Kind::Heartbeat, Some(&item.task), format!("going back was refused: {error}"), None)
                        .await;
                    return Ok(());
                }
                back => back?,
            },
            None => flow.tick(&self.caller).await?,
        };
        if tick.advanced && tick.to == "idle" {
            self.notify(Kind::TaskCompleted, Some(&item.task), tick.reason, None).await;
        }
        Ok(())
    }

    /// Waits for the driver, and reports meanwhile that work continues.
    async fn working(
        &self,
        item: &Item,
        assignment: &Assignment,
        pulse: &mut Pulse,
    ) -> Result<SessionResult, ServiceError> {
        let mut work = self.driver.run_phase(assignment);
        loop {
            match tokio::time::timeout(pulse.patience(), &mut work).await {
                Ok(worked) => {
                    self.beat_if_due(item, pulse).await?;
                    return Ok(worked);
                }
                Err(_elapsed) => self.beat_if_due(item, pulse).await?,
            }
        }
    }

    async fn beat_if_due(&self, item: &Item, pulse: &mut Pulse) -> Result<(), ServiceError> {
        let Some(since) = pulse.due(self.now()) else { return Ok(()) };
        self.beat(item, "working", Some(since)).await?;
        self.notify(Kind::Heartbeat, Some(&item.task), format!("`{}` is in progress", item.task), None).await;
        Ok(())
    }

    async fn beat(&self, item: &Item, stage: &str, seconds: Option<u64>) -> Result<(), ServiceError> {
        let data = json!({ "stage": stage, "driver": self.driver.id(), "seconds": seconds });
        Supervisor::of(self.service).tell(Kind::Heartbeat, item, item.run.as_deref(), data).await
    }

    /// Returns why a task cannot continue by itself, or `None` if it can.
    fn held_up(&self, item: &Item) -> Option<String> {
        if item.sessions >= self.limits.sessions_per_task {
            return Some(format!("it had {} sessions, which is the limit", item.sessions));
        }
        if item.attempts >= self.limits.attempts {
            return Some(format!("{} sessions in a row did not finish its phase", item.attempts));
        }
        let moved = item.moved_at.unwrap_or(self.now());
        let still = u64::try_from(self.now().0.saturating_sub(moved.0)).unwrap_or(0);
        let is_stuck =
            item.attempts > 0 && still >= u64::try_from(self.limits.stuck_after.as_millis()).unwrap_or(u64::MAX);
        is_stuck.then(|| format!("it has not moved for {} s", still / 1_000))
    }

    /// Asks a person about a stuck task and parks it, so that the queue continues.
    async fn stuck(&self, item: &Item, why: &str) -> Result<(), ServiceError> {
        let state = self.service.flow().status().await?;
        let last = state.last_error.map_or_else(String::new, |last| format!(" It was last refused because: {last}"));
        let body = format!("`{}` is stuck in `{}`: {why}.{last}", item.task, state.phase);
        let posed = AgentQuestion { body, choices: STUCK.map(str::to_owned).to_vec(), default: None };
        self.ask(item, &posed).await?;
        Supervisor::of(self.service).park(&item.task, why, &self.caller).await
    }

    /// Returns the ending that a person chose for a stuck task, if any.
    async fn decided(&self, item: &Item) -> Result<Option<Ending>, ServiceError> {
        let board = self.service.supervisor_log().board().await?;
        let of = |question: &&portolan_gates::supervisor::Question| {
            question.task.as_deref() == Some(&item.task) && question.choices == STUCK
        };
        let last = board.questions.values().rfind(of).and_then(|question| question.answer.as_ref());
        // A decision from before the last move is not about the present phase.
        let answer = last.filter(|answer| item.moved_at.is_none_or(|moved| answer.at >= moved));
        let answer = answer.map(|answer| answer.body.as_str());
        Ok(match answer {
            Some("scope down") => Some(Ending::ScopedDown),
            Some("escalate") => Some(Ending::Escalated),
            _ => None,
        })
    }

    async fn ask(&self, item: &Item, posed: &AgentQuestion) -> Result<(), ServiceError> {
        let ask = Ask {
            task: Some(item.task.clone()),
            channel: "autopilot".to_owned(),
            body: posed.body.clone(),
            choices: posed.choices.clone(),
            default: None,
            deadline: None,
        };
        let token = Supervisor::of(self.service).ask(&ask).await?;
        self.notify(Kind::QuestionSent, Some(&item.task), posed.body.clone(), Some(token)).await;
        Ok(())
    }

    /// Reminds people of overdue questions.
    async fn remind(&self, supervisor: &Supervisor<'_>) -> Result<(), ServiceError> {
        for question in supervisor.settle_deadlines().await? {
            let body = format!("not answered in time: {}", question.body);
            self.notify(Kind::QuestionOverdue, question.task.as_deref(), body, Some(question.token)).await;
        }
        Ok(())
    }

    async fn notify(&self, kind: Kind, task: Option<&str>, body: String, reply_token: Option<String>) {
        let state = self.service.flow().status().await;
        let issue = state.ok().filter(|state| state.task_id.as_deref() == task).and_then(|state| state.issue_number);
        let task_id = task.map(str::to_owned);
        let notice = Notice { kind: kind.name().to_owned(), at_ms: self.now().0, task_id, issue, body, reply_token };
        // A failed notification stops nothing, because the event is in the log.
        let _untold = self.notifiers.tell(&notice).await;
    }

    async fn landed(&self, sessions: u32) -> Result<AutopilotResult, ServiceError> {
        let board = self.service.supervisor_log().board().await?;
        let open: Vec<&Item> = board.queue.values().filter(|item| item.progress.is_open()).collect();
        let waiting = open.iter().filter(|item| board.is_waiting(&item.task)).count();
        let (why, reason) = if open.is_empty() {
            (Why::Done, "nothing is left to do".to_owned())
        } else if waiting < open.len() {
            let halted = open.iter().find(|item| !board.is_waiting(&item.task)).map(|item| item.task.as_str());
            let halts =
                self.service.supervisor_log().standings(halted).await?.into_iter().find(|standing| standing.halts);
            (Why::Halted, halts.map_or_else(|| "a budget is used up".to_owned(), |halt| halt.sentence()))
        } else {
            let tasks = if waiting == 1 { "1 task waits".to_owned() } else { format!("{waiting} tasks wait") };
            (Why::Waiting, format!("{tasks} for an answer: see `portolan supervisor list`"))
        };
        Ok(AutopilotResult { why, reason, sessions })
    }

    fn now(&self) -> Timestamp {
        self.service.clock().now()
    }
}
