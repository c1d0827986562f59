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
/// The longest time that a list is taken for good.
const MAX_GOOD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

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
    #[serde(default)]
    ttl_ms: Value,
}

/// A list that was asked for.
pub(super) struct Listed {
    tools: Arc<[Tool]>,
    /// How often the server had said by then that it changed.
    changes: u64,
    /// When it is to be asked for again, where the server does not say that it changed.
    until: Option<Instant>,
}

impl Connection {
    /// All pages of the list of tools, as long as they are good: until the server says that the list changed, or, in
    /// the revision without a handshake, until the time is up that the server gave them.
    pub(super) async fn tools(&self, limit: Duration) -> Result<Arc<[Tool]>, CallError> {
        // From before it is asked for: what changes meanwhile may be missing from the list.
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

    /// The list, and for how long all of it is good.
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
            // What is no time is none.
            good_for = good_for.min(Duration::from_millis(page.ttl_ms.as_u64().unwrap_or_default()));
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(self.unusable(&format!("more than {MAX_TOOLS} tools")));
            }
            match page.next_cursor {
                None => return Ok((tools, good_for)),
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
