//! Saves runs of functions as tests, beside their definitions.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_runtime::definition::Definition;
use portolan_runtime::library::Library;
use portolan_runtime::script::{SavedRun, Tester};
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::definitions::{broken, shown_name};
use super::runs::address;
use crate::http::Refusal;

/// The name of a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveRequest {
    name: String,
}

/// A test that was written.
#[derive(Serialize)]
pub(super) struct SaveResponse {
    /// The file, relative to the project's folder if it lies in there.
    file: String,
    /// The complete text.
    text: String,
    created: bool,
    /// Whether confidential content was masked.
    redacted: bool,
}

/// Saves a run as a test.
pub(super) async fn save(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(wanted): Body<SaveRequest>,
) -> Answer<SaveResponse> {
    let past = studio.past(&run).await?;
    let (pinned, hidden, trail) = {
        let past = past.lock().await;
        (past.definition().clone(), past.hidden().clone(), past.trail().clone())
    };
    let held = trail.run().ok_or_else(|| broken("the run has no record"))?;
    let (own, beside) = (pinned.clone(), Arc::clone(&studio));
    let found = tokio::task::spawn_blocking(move || file_of(beside.service.library(), &own));
    let (graph, definition) = found.await.map_err(broken)??;
    let records = studio.service.page(&address(&run)?, 0, usize::MAX).await?;
    let stored = SavedRun { graph: &graph, definition: &definition, run: held, records: &records, hidden: &hidden };
    let saved = stored.save(&wanted.name, &Tester::beside(&studio.service)?).await?;
    let file = shown_name(studio.service.library(), &saved.file.to_string_lossy());
    Ok(Json(SaveResponse { file, text: saved.text, created: saved.created, redacted: saved.redacted }))
}

/// Finds the file whose definition is exactly the run's.
fn file_of(library: &Library, pinned: &Definition) -> Result<(PathBuf, Arc<Definition>), Refusal> {
    let name = pinned.workflow.id().as_str();
    let mut found = library.functions_called(name);
    let another = !found.is_empty();
    found.retain(|(_, definition)| definition.digest == pinned.digest);
    if let Some(found) = found.into_iter().next() {
        return Ok(found);
    }
    let (message, help) = match another {
        true => (
            format!("`{name}` is no longer the definition that this run is of"),
            "try it again in its present form, and save that run",
        ),
        false => (format!("no file of the project has `{name}`"), "a test is saved beside the file of its definition"),
    };
    Err(Refusal::from(ServiceError::refused("no_definition", message, help)))
}
