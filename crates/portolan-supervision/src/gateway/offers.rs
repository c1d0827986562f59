//! The resources and prompts of the servers, and the requests for them.
//!
//! A request is judged as a call is, as a tool with the name of its method: rules name it `mcp:<server>/resources/read`,
//! `mcp:<server>/resources/subscribe`, `mcp:<server>/prompts/get` or `mcp:<server>/completion/complete`. Its arguments are the address of the resource as
//! `uri`, the name of the prompt as `name` and its `arguments`, or both with the `argument` to complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use portolan_runtime::servers::{CallError, CallErrorKind, OfferWanted, Offers, Tool};
use rmcp::model::{CompleteRequestParams, Reference};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{Gateway, GatewayCall, JudgedCall, OfferedTool, ServerState, names};

/// The method that reads a resource, as rules name it.
const READ: &str = "resources/read";
/// The method that subscribes to a resource, as rules name it, also where a client listens to it without a session.
const SUBSCRIBE: &str = "resources/subscribe";
/// The method that returns a prompt's messages, as rules name it.
const GET: &str = "prompts/get";
/// The method that completes an argument, as rules name it.
const COMPLETE: &str = "completion/complete";
/// The beginning of the addresses of Portolan's own resources.
const OWN: &str = "portolan:";

/// The resources and prompts of all servers, by server.
pub(super) type AllOffers = BTreeMap<String, Arc<Offers>>;

impl Gateway {
    /// Lists the resources and prompts of a server. If that fails, the last lists stay.
    pub(super) async fn list_offers(&self, server: &str) {
        let about = format!("{server}: resources and prompts");
        match self.servers.offers(server).await {
            Ok(offers) => {
                self.report(&about, ServerState::Well, "");
                let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
                if listed.offers.get(server) != Some(&offers) {
                    listed.offers.insert(server.to_owned(), offers);
                    self.offer_changes.send_modify(|count| *count += 1);
                }
            }
            // That it is away is reported with its tools.
            Err(error) if matches!(error.kind, CallErrorKind::Start | CallErrorKind::Lost | CallErrorKind::Closed) => {}
            Err(error) => self.report(&about, ServerState::Away, &format!("{}; {}", error.message, error.help)),
        }
    }

    fn offers<T>(&self, of: impl FnOnce(&AllOffers) -> T) -> T {
        of(&self.listed.lock().unwrap_or_else(PoisonError::into_inner).offers)
    }

    /// Returns the resources of all servers, as they describe them. Of several with one address, the first server's is
    /// returned. None has an address of Portolan's own.
    pub fn resources(&self) -> Vec<Value> {
        self.offers(|all| unique(all.values().flat_map(|offers| &offers.resources), "uri"))
    }

    /// Returns the forms of addresses of further resources, as the servers describe them.
    pub fn templates(&self) -> Vec<Value> {
        self.offers(|all| unique(all.values().flat_map(|offers| &offers.templates), "uriTemplate"))
    }

    /// Returns the prompts of all servers. If two have one name, each has its server's name before it.
    pub fn prompts(&self) -> Vec<Value> {
        let renamed = |(name, _, prompt): (String, String, &Value)| {
            let mut prompt = prompt.clone();
            prompt["name"] = json!(name);
            prompt
        };
        self.offers(|all| named_prompts(all).into_iter().map(renamed).collect())
    }

    /// Returns a receiver that changes with the lists of resources and prompts.
    pub fn offer_changes(&self) -> watch::Receiver<u64> {
        self.offer_changes.subscribe()
    }

    /// Returns the request that reads a resource, or `None` if no server can have it.
    pub fn reading(&self, uri: &str, client: &str) -> Option<GatewayCall> {
        let server = self.offers(|all| holder(all, uri))?;
        Some(request(server, READ, address(uri), client, Some(OfferWanted::Resource { uri: uri.to_owned() })))
    }

    /// Checks whether a server may have the resource, and reports changes of its resources.
    pub fn reports_updates(&self, uri: &str) -> bool {
        self.offers(|all| holder(all, uri).is_some_and(|server| all[&server].reports_updates))
    }

    /// Returns the request that subscribes to a resource, or `None` if no server can have it.
    pub fn subscribing(&self, uri: &str, client: &str) -> Option<GatewayCall> {
        let server = self.offers(|all| holder(all, uri))?;
        Some(request(server, SUBSCRIBE, address(uri), client, None))
    }

    /// Performs a request of [`Gateway::subscribing`] that was allowed. Returns a receiver that changes with each update,
    /// until it is dropped.
    ///
    /// # Errors
    /// The server did not accept the subscription.
    pub async fn subscribe(&self, mut judged: JudgedCall) -> Result<watch::Receiver<u64>, CallError> {
        let end = judged.end.take().unwrap_or_else(|| self.end_of(&judged)).begun();
        let uri = judged.arguments()["uri"].as_str().unwrap_or_default();
        let subscribed = self.servers.subscribe(&judged.tool().server, uri).await;
        let result = subscribed.as_ref().map(|_receiver| json!({})).map_err(CallError::clone);
        self.record_end(end, judged.kept.take(), &result).await;
        subscribed
    }

    /// Returns the request for the messages of a prompt, or `None` if no server has it.
    pub fn prompting(&self, name: &str, arguments: Map<String, Value>, client: &str) -> Option<GatewayCall> {
        let (server, name) = self.prompt(name)?;
        let shown = Map::from_iter([("name".to_owned(), json!(name)), ("arguments".to_owned(), json!(arguments))]);
        Some(request(server, GET, shown, client, Some(OfferWanted::Prompt { name, arguments })))
    }

    /// Returns the request for the values that complete an argument, or `None` if no server has what it belongs to.
    pub fn completing(&self, params: &CompleteRequestParams, client: &str) -> Option<GatewayCall> {
        // The `_meta` of the request concerns the connection with the client.
        let mut params = params.clone();
        params.meta = None;
        let (server, what) = match &mut params.r#ref {
            Reference::Prompt(prompt) => {
                let (server, name) = self.prompt(&prompt.name)?;
                prompt.name.clone_from(&name);
                (server, ("name".to_owned(), json!(name)))
            }
            Reference::Resource(resource) => {
                let is_its = |offers: &Offers| offers.templates.iter().any(|it| it["uriTemplate"] == *resource.uri);
                let server =
                    self.offers(|all| all.iter().find(|(_, offers)| is_its(offers)).map(|(server, _)| server.clone()))?;
                (server, ("uri".to_owned(), json!(resource.uri)))
            }
            _ => return None,
        };
        let shown = Map::from_iter([what, ("argument".to_owned(), json!(params.argument))]);
        Some(request(server, COMPLETE, shown, client, Some(OfferWanted::Completion(Box::new(params)))))
    }

    /// Returns the server of a prompt, and the prompt's own name.
    fn prompt(&self, name: &str) -> Option<(String, String)> {
        let own = |prompt: &Value| prompt["name"].as_str().unwrap_or_default().to_owned();
        self.offers(|all| {
            let found = named_prompts(all).into_iter().find(|(known, ..)| known == name);
            found.map(|(_, server, prompt)| (server, own(prompt)))
        })
    }
}

/// Returns a request as a call of a tool with the name of its method.
fn request(
    server: String,
    method: &str,
    arguments: Map<String, Value>,
    client: &str,
    offer: Option<OfferWanted>,
) -> GatewayCall {
    let tool = Tool {
        name: method.to_owned(),
        title: None,
        description: None,
        input_schema: Value::Null,
        output_schema: None,
        annotations: None,
    };
    let tool = Arc::new(OfferedTool { name: names::full(&server, method), server, tool });
    GatewayCall { tool, arguments, client: client.to_owned(), does: None, offer, branch: None }
}

/// Returns the arguments of a request for a resource.
fn address(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), json!(uri))])
}

/// Returns the items with different addresses, without those that look like Portolan's own.
fn unique<'a>(items: impl Iterator<Item = &'a Value>, field: &str) -> Vec<Value> {
    let mut addresses = BTreeSet::new();
    let is_new = |item: &&Value| {
        item[field].as_str().is_some_and(|address| !address.starts_with(OWN) && addresses.insert(address.to_owned()))
    };
    items.filter(is_new).cloned().collect()
}

/// Returns the prompts with the names under which they are offered, and their servers.
fn named_prompts(all: &AllOffers) -> Vec<(String, String, &Value)> {
    let prompts: Vec<(&str, &str, &Value)> = all
        .iter()
        .flat_map(|(server, offers)| offers.prompts.iter().map(move |prompt| (server, prompt)))
        .filter_map(|(server, prompt)| Some((server.as_str(), prompt["name"].as_str()?, prompt)))
        .collect();
    let pairs: Vec<(&str, &str)> = prompts.iter().map(|(server, name, _)| (*server, *name)).collect();
    let names = names::names(&pairs, &BTreeSet::new()).into_iter();
    let named = names.zip(prompts).filter_map(|(name, (server, _, prompt))| Some((name?, server.to_owned(), prompt)));
    named.collect()
}

/// Returns the server that has a resource: the one that lists it, else the one with the longest matching beginning of a
/// template, else the only one that has resources, since a server need not list all of them.
fn holder(all: &AllOffers, uri: &str) -> Option<String> {
    if uri.starts_with(OWN) {
        return None;
    }
    let lists = |offers: &Offers| offers.resources.iter().any(|resource| resource["uri"] == uri);
    if let Some((server, _)) = all.iter().find(|(_, offers)| lists(offers)) {
        return Some(server.clone());
    }
    let beginning = |template: &Value| {
        let beginning = template["uriTemplate"].as_str()?.split('{').next()?;
        (!beginning.is_empty() && uri.starts_with(beginning)).then_some(beginning.len())
    };
    let longest = |offers: &Offers| offers.templates.iter().filter_map(beginning).max();
    let matching = all.iter().filter_map(|(server, offers)| Some((longest(offers)?, server)));
    // Of several with the same beginning, the first server.
    if let Some((_, server)) = matching.min_by_key(|(length, _)| std::cmp::Reverse(*length)) {
        return Some(server.clone());
    }
    let mut with_resources = all.iter().filter(|(_, offers)| offers.has_resources);
    match (with_resources.next(), with_resources.next()) {
        (Some((server, _)), None) => Some(server.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(resources: &[&str], templates: &[&str], prompts: &[&str]) -> Arc<Offers> {
        let each = |field: &str, texts: &[&str]| texts.iter().map(|text| json!({ field: text })).collect();
        Arc::new(Offers {
            has_resources: true,
            reports_updates: false,
            resources: each("uri", resources),
            templates: each("uriTemplate", templates),
            prompts: each("name", prompts),
        })
    }

    fn two() -> AllOffers {
        AllOffers::from([
            ("a".to_owned(), offers(&["db://x", "portolan://runs/1"], &["file:///{path}"], &["review", "own"])),
            ("b".to_owned(), offers(&["db://x", "db://y"], &["file:///docs/{name}", "{any}"], &["review"])),
        ])
    }

    #[test]
    fn a_resource_is_read_from_the_server_that_has_it() {
        let all = two();
        let held = |uri: &str| holder(&all, uri).unwrap_or_default();
        assert_eq!(held("db://x"), "a", "of two, the first");
        assert_eq!(held("db://y"), "b");
        assert_eq!(held("file:///etc/hosts"), "a");
        assert_eq!(held("file:///docs/plan"), "b", "the longer beginning");
        assert_eq!(held("other://1"), "", "either could have it");
        assert_eq!(held("portolan://runs/1"), "", "never one of Portolan's own");
        let one = AllOffers::from([("a".to_owned(), offers(&[], &[], &[]))]);
        assert_eq!(holder(&one, "other://1").as_deref(), Some("a"), "no other can have it");
    }

    #[test]
    fn two_prompts_of_one_name_have_their_servers_before_it() {
        let all = two();
        let names: Vec<String> = named_prompts(&all).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["a_review", "own", "b_review"]);
    }

    #[test]
    fn of_two_resources_of_one_address_the_first_is_listed() {
        let uris = unique(two().values().flat_map(|offers| &offers.resources), "uri");
        let uris: Vec<&str> = uris.iter().filter_map(|resource| resource["uri"].as_str()).collect();
        assert_eq!(uris, ["db://x", "db://y"]);
    }
}
