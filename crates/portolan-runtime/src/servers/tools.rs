//! The tools that a server lists.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::connection::Connection;
use super::{CallError, CallErrorKind};

/// The maximum number of tools of one server.
const MAX_TOOLS: usize = 10_000;
/// The maximum time for which a list is cached.
const MAX_GOOD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as the server wrote it.
    #[serde(default)]
    pub input_schema: Value,
    /// The JSON Schema of its `structuredContent`.
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
    #[serde(default)]
    ttl_ms: Value,
}

/// A received list.
pub(super) struct Listed {
    tools: Arc<[Tool]>,
    /// The number of changes that the server had reported by then.
    changes: u64,
    /// The end of its validity, if the server does not report changes.
    until: Option<Instant>,
}

impl Connection {
    /// Returns all pages of the list of tools. They are cached until the server reports a change, or, in the revision
    /// without a handshake, for the time that the server gave.
    pub(super) async fn tools(&self, limit: Duration) -> Result<Arc<[Tool]>, CallError> {
        // Read before the request: a change during the request may be missing from the list.
        let (changes, now) = (self.changes(), Instant::now());
        if let Some(listed) = &*self.listed.lock().unwrap_or_else(PoisonError::into_inner)
            && listed.changes == changes
            && listed.until.is_none_or(|until| now < until)
        {
            return Ok(Arc::clone(&listed.tools));
        }
        let (tools, good_for) = self.list(limit).await?;
        let tools: Arc<[Tool]> = tools.into();
        let until = (!self.tells_changes()).then_some(now + good_for);
        let listed = Listed { tools: Arc::clone(&tools), changes, until };
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
        Ok(tools)
    }

    /// Returns the list, and the time for which all of it is valid.
    async fn list(&self, limit: Duration) -> Result<(Vec<Tool>, Duration), CallError> {
        let until = Instant::now() + limit;
        let (mut tools, mut good_for) = (Vec::new(), MAX_GOOD_FOR);
        let mut seen = BTreeSet::new();
        let mut cursor = None;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let left = until.saturating_duration_since(Instant::now());
            let page = self.request("`tools/list`", request, Map::new(), left).await?;
            let page: Page = serde_json::from_value(page).map_err(|error| self.unusable(&error.to_string()))?;
            // Any other value counts as zero.
            good_for = good_for.min(Duration::from_millis(page.ttl_ms.as_u64().unwrap_or_default()));
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(self.unusable(&format!("more than {MAX_TOOLS} tools")));
            }
            match page.next_cursor {
                None => return Ok((tools, good_for)),
                Some(next) if !seen.insert(next.clone()) => return Err(self.unusable("it repeats the same page")),
                next => cursor = next,
            }
        }
    }

    fn unusable(&self, why: &str) -> CallError {
        let message = format!("the list of tools of server `{}` cannot be used: {why}", self.server);
        self.error(CallErrorKind::Unusable, message, "report this to the author of the server")
    }
}
