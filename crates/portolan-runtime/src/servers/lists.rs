//! The tools, resources and prompts that a server lists.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, SubscriptionFilter,
};
use rmcp::{Peer, RoleClient};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{Connection, Terms};
use super::notices::Notices;
use super::{CallError, CallErrorKind};

/// The maximum number of items of one list of one server.
const MAX_ITEMS: usize = 10_000;
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

/// The resources and prompts of a server, as it describes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// Whether it announced resources at all. It may have some that it does not list.
    pub has_resources: bool,
    /// Whether it reports changes of its resources to subscribers.
    pub reports_updates: bool,
    /// The resources, each with its `uri`.
    pub resources: Vec<Value>,
    /// The forms of addresses of further resources, each with its `uriTemplate`.
    pub templates: Vec<Value>,
    /// The prompts, each with its `name`.
    pub prompts: Vec<Value>,
}

/// A received list.
pub(super) struct ReceivedList<T: ?Sized> {
    items: Arc<T>,
    /// The number of changes that the server had reported by then.
    changes: u64,
    /// The end of its validity, if the server does not report changes.
    until: Option<Instant>,
}

/// A method that lists something, page by page.
struct Method {
    name: &'static str,
    /// The field of the result that has the items.
    field: &'static str,
    request: fn(PaginatedRequestParams) -> ClientRequest,
}

const TOOLS: Method = Method {
    name: "tools/list",
    field: "tools",
    request: |params| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
};
const RESOURCES: Method = Method {
    name: "resources/list",
    field: "resources",
    request: |params| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params)),
};
const TEMPLATES: Method = Method {
    name: "resources/templates/list",
    field: "resourceTemplates",
    request: |params| ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params)),
};
const PROMPTS: Method = Method {
    name: "prompts/list",
    field: "prompts",
    request: |params| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params)),
};

/// Asks a server of the revision without a handshake to report the changes of its lists; older ones report them unasked.
/// The reports end with the connection. A server that cannot report changes of all its lists is not asked, and its lists
/// are cached for the time that it gives.
pub(super) fn listen(peer: &Peer<RoleClient>, notices: &Arc<Notices>) {
    let Some(wanted) = peer.peer_info().filter(|info| !info.protocol_version.has_initialize()).and_then(|info| {
        let all = &info.capabilities;
        let tools = all.tools.as_ref().map(|tools| tools.list_changed == Some(true));
        let prompts = all.prompts.as_ref().map(|prompts| prompts.list_changed == Some(true));
        let resources = all.resources.as_ref().map(|resources| resources.list_changed == Some(true));
        let mut filter = SubscriptionFilter::new();
        (filter.tools_list_changed, filter.prompts_list_changed, filter.resources_list_changed) =
            (tools, prompts, resources);
        let lists = [tools, prompts, resources];
        (!lists.contains(&Some(false)) && lists.contains(&Some(true))).then_some(filter)
    }) else {
        return;
    };
    notices.ask();
    let (peer, notices) = (peer.clone(), Arc::clone(notices));
    tokio::spawn(async move {
        let Ok(mut changes) = peer.listen(wanted.clone()).await else { return };
        if *changes.acknowledged() == wanted {
            notices.listen(true);
            while let Ok(Some(_counted)) = changes.next().await {}
            notices.listen(false);
        }
    });
}

impl Connection {
    /// Returns all pages of the list of tools. They are cached until the server reports a change, or, if it does not report
    /// changes, for the time that it gave.
    pub(super) async fn tools(&self, limit: Duration) -> Result<Arc<[Tool]>, CallError> {
        let listing = async {
            let mut pages = Pages::of(self, limit);
            let tools: Vec<Tool> = pages.all(&TOOLS).await?;
            Ok((tools.into(), pages.good_for))
        };
        self.cached(&self.tools, listing).await
    }

    /// Returns the lists of resources and prompts that the server has announced, cached in the same way.
    pub(super) async fn offers(&self, limit: Duration) -> Result<Arc<Offers>, CallError> {
        let listing = async {
            let (has_resources, has_prompts) = self.has_resources_and_prompts();
            let mut pages = Pages::of(self, limit);
            let mut offers = Offers { has_resources, reports_updates: self.reports_updates(), ..Offers::default() };
            if has_resources {
                offers.resources = pages.all(&RESOURCES).await?;
                // Many servers have resources and no templates, and not all of these know the method.
                offers.templates = match pages.all(&TEMPLATES).await {
                    Err(CallError { kind: CallErrorKind::Protocol { .. }, .. }) => Vec::new(),
                    templates => templates?,
                };
            }
            if has_prompts {
                offers.prompts = pages.all(&PROMPTS).await?;
            }
            Ok((Arc::new(offers), pages.good_for))
        };
        self.cached(&self.offers, listing).await
    }

    /// Returns a list from its cache if it is still valid there.
    async fn cached<T: ?Sized>(
        &self,
        cache: &Mutex<Option<ReceivedList<T>>>,
        listing: impl Future<Output = Result<(Arc<T>, Duration), CallError>>,
    ) -> Result<Arc<T>, CallError> {
        // Read before the request: a change during the request may be missing from the list.
        let (changes, now) = (self.changes(), Instant::now());
        if let Some(listed) = &*cache.lock().unwrap_or_else(PoisonError::into_inner)
            && listed.changes == changes
            && listed.until.is_none_or(|until| now < until)
        {
            return Ok(Arc::clone(&listed.items));
        }
        let (items, good_for) = listing.await?;
        let until = (!self.tells_changes()).then_some(now + good_for);
        let listed = ReceivedList { items: Arc::clone(&items), changes, until };
        *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
        Ok(items)
    }
}

/// A reading of lists within a time limit.
struct Pages<'a> {
    connection: &'a Connection,
    until: Instant,
    /// The time for which all that was read is valid.
    good_for: Duration,
}

impl Pages<'_> {
    fn of(connection: &Connection, limit: Duration) -> Pages<'_> {
        Pages { connection, until: Instant::now() + limit, good_for: MAX_GOOD_FOR }
    }

    /// Returns the items of all pages.
    async fn all<T: DeserializeOwned>(&mut self, method: &Method) -> Result<Vec<T>, CallError> {
        let (mut items, mut cursors, mut cursor) = (Vec::new(), BTreeSet::new(), None);
        loop {
            let request = (method.request)(PaginatedRequestParams::default().with_cursor(cursor));
            let terms = Terms { limit: self.until.saturating_duration_since(Instant::now()), ..Terms::default() };
            let mut page = self.connection.request(&format!("`{}`", method.name), request, terms).await?;
            let found = page.get_mut(method.field).map(Value::take).unwrap_or_default();
            let found: Vec<T> =
                serde_json::from_value(found).map_err(|error| self.unusable(method, &error.to_string()))?;
            items.extend(found);
            // Any other value counts as zero.
            self.good_for = self.good_for.min(Duration::from_millis(page["ttlMs"].as_u64().unwrap_or_default()));
            if items.len() > MAX_ITEMS {
                return Err(self.unusable(method, &format!("it has more than {MAX_ITEMS} items")));
            }
            let next = page.get_mut("nextCursor").map(Value::take).unwrap_or_default();
            match serde_json::from_value::<Option<String>>(next)
                .map_err(|error| self.unusable(method, &error.to_string()))?
            {
                None => return Ok(items),
                Some(next) if !cursors.insert(next.clone()) => {
                    return Err(self.unusable(method, "it repeats the same page"));
                }
                next => cursor = next,
            }
        }
    }

    fn unusable(&self, method: &Method, why: &str) -> CallError {
        let connection = self.connection;
        let message = format!("the list `{}` of server `{}` cannot be used: {why}", method.name, connection.server);
        connection.error(CallErrorKind::Unusable, message, "report this to the author of the server")
    }
}
