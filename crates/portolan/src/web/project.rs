//! The project, as far as the page shows it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::answer::Answer;
use super::{Studio, inbox};

/// What the page is about.
pub(super) async fn one(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let project = studio.service.project();
    let Json(waiting) = inbox::count(&studio).await?;
    Ok(Json(json!({
        "name": project.file_name().unwrap_or_default().to_string_lossy(),
        "path": project.to_string_lossy(),
        "version": env!("CARGO_PKG_VERSION"),
        "readOnly": studio.read_only,
        "observes": studio.told_by.is_some(),
        "onlyShows": studio.told_by,
        "inbox": waiting,
    })))
}
