//! The tools that a server lists.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::connection::Connection;
use super::{CallError, CallErrorKind};

/// The most tools that are taken from one server.
const MAX_TOOLS: usize = 10_000;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does.
    #[serde(default)]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as the server wrote it.
    #[serde(default)]
    pub input_schema: Value,
    /// The JSON Schema of what it puts into `structuredContent`.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Hints about its behaviour, such as `readOnlyHint`.
    #[serde(default)]
    pub annotations: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Tool>,
    #[serde(default)]
    next_cursor: Option<String>,
}

impl Connection {
    /// All pages of the list of tools. It is asked for again only after the server said that it changed.
    pub(super) async fn tools(&self, limit: Duration) -> Result<Arc<[Tool]>, CallError> {
        let changes = self.changes();
        if let Some((at, tools)) = &*self.listed.lock().unwrap_or_else(PoisonError::into_inner)
            && *at == changes
        {
            return Ok(Arc::clone(tools));
        }
        let tools: Arc<[Tool]> = self.list(limit).await?.into();
        if self.tells_changes() {
            // With the count from before: what changed meanwhile may be missing from the list.
            let listed = Some((changes, Arc::clone(&tools)));
            *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = listed;
        }
        Ok(tools)
    }

    async fn list(&self, limit: Duration) -> Result<Vec<Tool>, CallError> {
        let until = Instant::now() + limit;
        let mut tools = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor = None;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let left = until.saturating_duration_since(Instant::now());
            let page = self.request("`tools/list`", request, Map::new(), left).await?;
            let page: Page = serde_json::from_value(page).map_err(|error| self.unusable(&error.to_string()))?;
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(self.unusable(&format!("more than {MAX_TOOLS} tools")));
            }
            match page.next_cursor {
                None => return Ok(tools),
                Some(next) if !seen.insert(next.clone()) => return Err(self.unusable("the same page over and over")),
                next => cursor = next,
            }
        }
    }

    fn unusable(&self, why: &str) -> CallError {
        let message = format!("the list of tools of server `{}` cannot be used: {why}", self.server);
        self.error(CallErrorKind::Unusable, message, "report this to the author of the server")
    }
}
