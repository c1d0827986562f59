//! The usage of agents, and the budgets that stop them.

use portolan_core::run::{Actor, Channel};
use portolan_gates::guidelines::Who;
use portolan_gates::log_line::LogLine;
use portolan_gates::supervisor::{Budget, BudgetStatus, Scope, SupervisorState, Unit, Usage, standings};
use portolan_runtime::audit::{Kind, LogEntry};
use portolan_runtime::error::ServiceError;
use portolan_runtime::rules::rules;
use portolan_runtime::service::Caller;
use serde_json::json;

use super::Supervisor;
use portolan_runtime::plugins;

/// The usage of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// The task that it worked on.
    pub task: Option<String>,
    /// The phase that it worked on.
    pub phase: Option<String>,
    /// The session, as its host names it.
    pub session: Option<String>,
    /// The driver that reports.
    pub driver: String,
    /// The usage.
    pub usage: Usage,
}

/// The result of a report, which is in the log.
#[derive(Debug)]
pub struct UsageResult {
    /// The status of the budgets.
    pub budgets: Vec<BudgetStatus>,
    /// The reason why the store does not have it yet, so that it does not count on other machines. It is sent with the next
    /// request that needs the budgets.
    pub unsent: Option<ServiceError>,
}

/// A request to raise a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The scope of the budget.
    pub scope: Scope,
    /// The unit of the budget.
    pub unit: Unit,
    /// The new cap, in the budget's unit, for the open window.
    pub to: u64,
    /// The reason.
    pub reason: String,
    /// The task, or `None` for the one under way.
    pub task: Option<String>,
}

impl Supervisor<'_> {
    /// Records usage in the log, and once for each budget that most or all of it is used up. Then sends it to the store, if
    /// machines share the budgets there. Returns the status of the budgets.
    ///
    /// # Errors
    /// The project's plugins cannot be read or have faults, or the log cannot be read or written.
    pub async fn record_usage(&self, report: &UsageReport) -> Result<UsageResult, ServiceError> {
        let budgets = plugins::load(self.service.project())?.budgets;
        // Whatever the store says, the usage is recorded.
        let before = self.log.shared(&budgets).await.unwrap_or(None);
        let mut data = report.usage.to_json();
        data["session"] = json!(report.session);
        data["driver"] = json!(report.driver);
        let of = |kind: Kind, data| LogEntry {
            task: report.task.clone(),
            phase: report.phase.clone(),
            ..LogEntry::of(kind, data)
        };
        let standings = self
            .log
            .change(|board, now| {
                let (kind, task) = (Kind::UsageRecorded.name(), report.task.as_deref());
                let line = LogLine { id: "", kind, at: now, task, run: None, data: &data };
                let with_line = |state: &SupervisorState| {
                    let mut after = state.clone();
                    after.apply(&line);
                    after
                };
                let own = with_line(board);
                let after = before.as_ref().map_or_else(|| own.clone(), |all| own.with_shared(&with_line(all)));
                let data = data.clone();
                let mut entries = vec![of(Kind::UsageRecorded, data)];
                let standings = standings(&budgets, &after, task, report.session.as_deref(), now);
                for standing in standings.iter().filter(|standing| standing.warns) {
                    let standing_json = standing.to_json();
                    let (what, kind) = match standing.halts {
                        true => ("halt", Kind::BudgetHalt),
                        false => ("warning", Kind::BudgetWarning),
                    };
                    if !board.was_reported(what, &standing_json) {
                        entries.push(of(kind, standing_json));
                    }
                }
                Ok((entries, standings))
            })
            .await?;
        Ok(UsageResult { budgets: standings, unsent: self.log.shared(&budgets).await.err() })
    }

    /// Raises a budget for the open window. It bypasses I-15, and is recorded before it takes effect. Then it is sent to the
    /// store, if machines share the budgets there. Returns the reason why the store does not have it yet, if so.
    ///
    /// # Errors
    /// The caller may not raise it, the reason is blank or too long, there is no such budget, or the new cap is no
    /// raise. The store does not say what the budget is now.
    pub async fn raise(&self, raise: &Raise, caller: &Caller) -> Result<Option<ServiceError>, ServiceError> {
        let reason = raise.reason.trim();
        if reason.is_empty() || reason.len() > 4_000 {
            return Err(ServiceError::refused(
                "bad_input",
                "the reason must have 1 to 4000 bytes",
                "say why, in a sentence",
            ));
        }
        let by = self.may_raise(caller)?;
        let budgets: Vec<Budget> = plugins::load(self.service.project())?.budgets;
        let brief = self.service.flow().brief().await?;
        let task = raise.task.clone().or_else(|| brief.as_ref().map(|brief| brief.task.clone()));
        let phase = brief.map_or_else(|| "idle".to_owned(), |brief| brief.phase);
        let shared = self.log.shared(&budgets).await?;
        self.log
            .change(|own, now| {
                let board = &shared.as_ref().map_or_else(|| own.clone(), |shared| own.with_shared(shared));
                let all = standings(&budgets, board, task.as_deref(), board.session.as_deref(), now);
                let found = all.iter().find(|found| (found.scope, found.unit) == (raise.scope, raise.unit));
                let Some(found) = found else {
                    let message =
                        format!("no budget of a {} currently counts {}", raise.scope.name(), raise.unit.name());
                    let help = "`portolan supervisor budget` lists the existing budgets";
                    return Err(ServiceError::refused("no_budget", message, help));
                };
                if raise.to <= found.cap {
                    let message = format!("the budget is already {}", found.unit.shown(found.cap));
                    return Err(ServiceError::refused("no_raise", message, "name a larger amount with `--to`"));
                }
                let data = json!({
                    "source": "command",
                    "identifier": "supervisor budget raise",
                    "invariant": "I-15",
                    "phase": phase,
                    "reason": reason,
                    "by": by,
                    "stage": "recorded",
                    "budget": {
                        "scope": found.scope.name(),
                        "unit": found.unit.name(),
                        "window": found.window,
                        "from": found.unit.shown(found.cap),
                        "cap": found.unit.shown(raise.to),
                    },
                });
                let entry =
                    LogEntry { task: task.clone(), phase: Some(phase.clone()), ..LogEntry::of(Kind::Bypass, data) };
                Ok((vec![entry], ()))
            })
            .await?;
        Ok(self.log.shared(&budgets).await.err())
    }

    fn may_raise(&self, caller: &Caller) -> Result<String, ServiceError> {
        let refused = |message: &str, help: &str| Err(ServiceError::refused("bad_bypass", message, help));
        let (name, is_person) = match &caller.by {
            Actor::Agent(name) => (name.clone(), false),
            Actor::Person { name, via } => (name.clone(), !matches!(via, Channel::Attested)),
            Actor::Engine => ("portolan".to_owned(), false),
        };
        match rules(self.service.project())?.who("I-15") {
            Who::Never => {
                refused("I-15 cannot be bypassed in this project", "wait for the next window, or change the rules")
            }
            Who::HumanOnly if !is_person => {
                refused("only a person is allowed to bypass I-15", "ask the person at this machine to raise the budget")
            }
            Who::Anyone | Who::HumanOnly => Ok(name),
        }
    }
}
