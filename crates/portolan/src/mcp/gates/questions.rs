//! The open questions as a resource, which a client shows if it cannot ask its user in a dialog.

use portolan_runtime::service::ServiceError;
use rmcp::model::{Resource, ResourceContents};
use serde_json::json;

use super::polling::QuestionWatch;

/// The address of the resource.
pub(super) const QUESTIONS: &str = "portolan://supervisor/questions";

pub(super) fn resources() -> Vec<Resource> {
    let about = "Open questions to people. A person answers with `portolan supervisor reply <token> <answer>`.";
    vec![
        Resource::new(QUESTIONS, "supervisor-questions")
            .with_title("Open questions")
            .with_description(about)
            .with_mime_type("application/json"),
    ]
}

/// Returns the text of a resource, or `None` if there is none of this address.
pub(super) async fn read(watched: &QuestionWatch, uri: &str) -> Option<Result<ResourceContents, ServiceError>> {
    if uri != QUESTIONS {
        return None;
    }
    let open = watched.open().await;
    let text = |open| json!({ "questions": open }).to_string();
    Some(open.map(|open| ResourceContents::text(text(open), uri).with_mime_type("application/json")))
}
