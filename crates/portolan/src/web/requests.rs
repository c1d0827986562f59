//! What a person decides in a terminal: bypasses of rules that agents have asked for, and budgets that are used up.

use portolan_gates::supervisor::BudgetStatus;
use portolan_runtime::audit::project_log;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::BypassRequest;
use serde_json::{Value, json};

use super::Studio;
use crate::words::{bypass_command_anywhere, raise_command_anywhere};

impl Studio {
    /// Returns the requests. Leaves out what cannot be read: the page of the project shows the errors.
    pub(super) async fn requests(&self) -> Vec<Value> {
        let project = self.service.project();
        let bypasses = self.service.flow().requests().await.unwrap_or_default();
        let mut objects: Vec<Value> =
            bypasses.iter().map(|request| bypass(request, bypass_command_anywhere(project, request))).collect();
        let task = self.service.flow().active().await.ok().flatten().map(|active| active.task);
        let standings = self.service.supervisor_log().standings(task.as_deref()).await.unwrap_or_default();
        objects.extend(standings.iter().filter(|standing| standing.halts).map(|standing| {
            budget(standing, raise_command_anywhere(project, standing.scope.name(), standing.unit.name()))
        }));
        objects
    }

    /// Returns what differs once there may be other requests: the length of the log, where both kinds are recorded.
    pub(super) fn mark_of_requests(&self) -> Option<u64> {
        project_log(self.service.project()).metadata().ok().map(|metadata| metadata.len())
    }
}

fn bypass(request: &BypassRequest, command: String) -> Value {
    json!({
        "is": "bypass",
        "rule": request.invariant,
        "task": request.task,
        "phase": request.phase,
        "reason": request.reason,
        "by": request.by,
        "since": rfc3339(request.at),
        "command": command,
    })
}

fn budget(standing: &BudgetStatus, command: String) -> Value {
    let mut object = standing.to_json();
    object["is"] = json!("budget");
    object["command"] = json!(command);
    object
}
