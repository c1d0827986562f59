//! The project: its trust entries, installed hooks, event log and budgets.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::present::TrustRequirement;
use portolan_runtime::attachments;
use portolan_runtime::audit::{project_log, verify};
use portolan_runtime::clock::rfc3339;
use portolan_runtime::definition::Definition;
use portolan_runtime::service::{Service, ServiceError, lifted_by};
use portolan_runtime::trust::{Digest, commands};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Body};
use super::definitions::broken;
use super::{Studio, inbox};
use crate::http::Refusal;
use crate::install::{ExaminationContext, Record, examine, this};

/// Returns the project's summary.
pub(super) async fn one(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let project = studio.service.project();
    let Json(waiting) = inbox::count(&studio).await?;
    // An unreadable passkey confirms nothing; `portolan doctor` reports the reason.
    let passkeys = studio.passkeys().await.unwrap_or(0);
    Ok(Json(json!({
        "name": project.file_name().unwrap_or_default().to_string_lossy(),
        "path": project.to_string_lossy(),
        "version": env!("CARGO_PKG_VERSION"),
        "readOnly": studio.read_only,
        "observes": studio.told_by.is_some(),
        "onlyShows": studio.only_shows(),
        "inbox": waiting,
        "passkeys": passkeys,
    })))
}

/// Lists the trusted commands.
pub(super) async fn trust(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let (entries, unread) = studio.service.trust().list();
    let entries = entries.into_iter().map(|entry| {
        let runs = entry.runs.iter().map(|command| json!({ "node": command.node, "argv": command.argv }));
        json!({
            "key": entry.key(), "file": entry.path, "at": rfc3339(entry.at), "runs": runs.collect::<Vec<_>>(),
        })
    });
    let unread = unread.into_iter().map(|error| error.to_string());
    Ok(Json(json!({ "trusted": entries.collect::<Vec<_>>(), "unreadable": unread.collect::<Vec<_>>() })))
}

/// Returns the commands of a definition that are not trusted, and how to trust them, or `None` if nothing is missing.
pub(super) fn untrusted(service: &Service, definition: &Definition) -> Option<Value> {
    let lacking = service.untrusted(definition)?;
    let is_attached = matches!(&lacking, TrustRequirement::Trust { file } | TrustRequirement::PutBack { file, .. } if file == attachments::FILE);
    let runs = match is_attached {
        true => definition.attachments().entries.iter().flat_map(attachments::commands).collect(),
        false => commands(&definition.workflow),
    };
    let runs = runs.iter().map(|command| json!({ "node": command.node, "argv": command.argv }));
    Some(json!({ "help": lifted_by(&lacking), "runs": runs.collect::<Vec<_>>() }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevokeRequest {
    key: Digest,
}

/// Revokes trust, which an agent may do as well as a person.
pub(super) async fn revoke(State(studio): State<Arc<Studio>>, Body(wanted): Body<RevokeRequest>) -> Answer<Value> {
    let revoked = studio.service.trust().revoke(&wanted.key).map_err(|error| {
        ServiceError::failed("not_written", error.to_string(), "make the user's data folder writable")
    })?;
    Ok(Json(json!({ "revoked": revoked })))
}

/// Verifies the event log.
pub(super) async fn log(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let path = project_log(studio.service.project());
    let shown_path = path.to_string_lossy().into_owned();
    if !path.exists() {
        return Ok(Json(json!({ "path": shown_path, "lines": 0, "head": null, "fault": null })));
    }
    let verified = tokio::task::spawn_blocking(move || verify(&path)).await.map_err(broken)?;
    let verified = verified.map_err(ServiceError::from)?;
    let fault = verified
        .first_fault
        .map(|fault| json!({ "file": fault.segment.to_string_lossy(), "line": fault.line, "message": fault.what }));
    Ok(Json(json!({ "path": shown_path, "lines": verified.lines, "head": verified.head, "fault": fault })))
}

/// Returns the use of the project's budgets, for the active task and the session that reported last.
pub(super) async fn budgets(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let task = studio.service.flow().active().await?.map(|active| active.task);
    let standings = studio.service.supervisor_log().standings(task.as_deref()).await?;
    let objects = standings.iter().map(|standing| {
        let mut object = standing.to_json();
        object["state"] = json!(match (standing.halts, standing.warns) {
            (true, _) => "used_up",
            (false, true) => "nearly",
            (false, false) => "open",
        });
        object
    });
    Ok(Json(json!({ "task": task, "budgets": objects.collect::<Vec<_>>() })))
}

/// Examines the installed hooks of hosts and git. Each hook runs as its host would run it.
pub(super) async fn hooks(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let project = studio.service.project();
    let record = Record::load(project).map_err(|error| unread(&error))?;
    let mut environment: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    environment.sort();
    let program = this();
    let looking = ExaminationContext { program: program.as_deref(), variables: &environment };
    let findings = examine(project, &record, looking).await;
    Ok(Json(json!({ "installed": !record.files.is_empty(), "findings": findings })))
}

fn unread(error: &dyn std::fmt::Display) -> Refusal {
    let help = "run `portolan doctor` for details";
    Refusal::from(ServiceError::failed("unreadable", format!("it is not known what is installed: {error}"), help))
}
