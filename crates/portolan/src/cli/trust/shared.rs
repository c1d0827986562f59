//! Trust that machines share through the store: what `portolan trust --shared` and `--accept-shared` add.

use std::path::PathBuf;

use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::project_checks;
use portolan_runtime::service::ServiceError;
use portolan_runtime::trust::{SharedDecision, Trust, TrustError};
use serde_json::json;

use super::super::Exit;
use super::super::check::is_rules;
use super::super::output::{Output, one_line};
use super::list::{list_runs, masked};
use super::{of_project, trust_error};

/// Refuses to share what each machine decides for itself: its checks read no store.
pub(super) fn may_share(trust: &Trust, files: &[PathBuf]) -> Result<(), ServiceError> {
    address(trust)?;
    let is_own = |path: &&PathBuf| is_rules(path) || of_project(path) == Some(project_checks::FILE);
    let Some(own) = files.iter().find(is_own) else { return Ok(()) };
    let message = format!("`{}` belongs to the checks of a machine, whose trust is not shared", own.display());
    Err(ServiceError::refused("not_shared", message, "trust it without `--shared` on each machine"))
}

/// Accepts what is trusted in the store, and prints what that is now. Or ends this.
pub(super) fn accept(output: &Output, trust: &Trust, revoke: bool) -> anyhow::Result<Exit> {
    let address = one_line(address(trust)?);
    if revoke {
        let message = match trust.refuse_shared().map_err(trust_error)? {
            true => "no longer counts for this project on this machine",
            false => "did not count for this project on this machine",
        };
        match output.is_json() {
            true => output.json(&json!({ "store": address, "accepted": false }))?,
            false => output.line(format!("what is trusted in {address} {message}"))?,
        }
        return Ok(Exit::Done);
    }
    // Whoever accepts it has seen what it says: a store that cannot be asked is not accepted.
    let (decisions, damaged) = decisions(trust)?;
    trust.accept_shared(Clock::System.now()).map_err(trust_error)?;
    if output.is_json() {
        output.json(&json!({ "store": address, "accepted": true, "trusted": decisions }))?;
    } else {
        output.line(format!(
            "what is trusted in {address} may run in this project on this machine, now and later: whoever can write that \
             store decides it"
        ))?;
        list(output, trust, &decisions, true)?;
        if decisions.is_empty() {
            output.line("nothing is trusted there yet")?;
        }
    }
    for fault in &damaged {
        output.error(fault.code(), &fault.message, &fault.help);
    }
    Ok(if damaged.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Returns what the store trusts, as it may be shown, and the faults of damaged entries.
pub(super) fn decisions(trust: &Trust) -> Result<(Vec<SharedDecision>, Vec<TrustError>), ServiceError> {
    let (mut decisions, damaged) = trust.shared_decisions().map_err(trust_error)?;
    for decision in &mut decisions {
        // Another program may have written it.
        decision.runs = decision.runs.iter().map(masked).collect();
    }
    Ok((decisions, damaged))
}

/// Prints what is trusted in the store: who trusted it, on which machine, and whether it counts on this one.
pub(super) fn list(
    output: &Output,
    trust: &Trust,
    decisions: &[SharedDecision],
    is_counted: bool,
) -> anyhow::Result<()> {
    let store = one_line(trust.shared_address().unwrap_or_default());
    let counts = if is_counted { "" } else { "  (not accepted on this machine)" };
    for SharedDecision { path, at, by, machine, runs, .. } in decisions {
        let who = one_line(&format!("by {by} on {machine}"));
        output.line(format!("{}  {}  {who}, in {store}{counts}", rfc3339(*at), one_line(path)))?;
        list_runs(output, runs)?;
    }
    Ok(())
}

fn address(trust: &Trust) -> Result<&str, ServiceError> {
    trust.shared_address().ok_or_else(|| {
        let message = "this project's store belongs to this machine, and shares no trust";
        let help = "name a database with `--store postgres://…`, or Restate with `--store restate://…`";
        ServiceError::refused("trust_not_shared", message, help)
    })
}
