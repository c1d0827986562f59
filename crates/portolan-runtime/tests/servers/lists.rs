//! What servers tell about themselves and their tools.

use std::sync::{Arc, Mutex};

use portolan_core::graph::Transport;
use portolan_runtime::servers::{CallErrorKind, Tool};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::support::{World, block_on, error_text, world};
use crate::web::{Answer, Request, Web, event, reply};

#[test]
fn all_pages_are_listed_once_until_the_list_changes() {
    block_on(async {
        let world = world("normal");
        let tools = world.servers.tools("s").await.expect("a list");
        assert!(tools.len() > 10, "{tools:?}");
        let echo = tools.iter().find(|tool| tool.name == "echo").expect("it is there");
        assert_eq!(echo.description.as_deref(), Some("version 1"));
        assert_eq!(echo.input_schema, json!({"type": "object"}));
        assert_eq!(echo.output_schema, None);
        for page in ["None", "5", "10"] {
            world.hears(&format!("s: tools/list {page}")).await;
        }
        let again = world.servers.tools("s").await.expect("a list");
        assert!(Arc::ptr_eq(&tools, &again), "it was asked for again");

        world.text("change_tools", json!({})).await;
        let changed = world.servers.tools("s").await.expect("a list");
        assert_eq!(changed[0].description.as_deref(), Some("version 2"));
        world.hears("s: tools/list None").await;
    });
}

#[test]
fn a_server_introduces_itself() {
    block_on(async {
        let about = world("normal").servers.about("s").await.expect("an introduction");
        assert_eq!(
            format!("{about:?}"),
            r#"ServerAbout { name: "misbehaving", title: Some("Misbehaving server"), version: Some("1.2.3"), instructions: Some("do not trust it") }"#
        );
    });
}

#[test]
fn a_list_that_cannot_be_used_is_an_error() {
    block_on(async {
        for (mode, why) in [("endless_list", "it repeats the same page"), ("odd_list", "invalid type")] {
            let world = world(mode);
            let error = world.servers.tools("s").await.expect_err("no list");
            assert_eq!(error.kind, CallErrorKind::Unusable);
            assert!(error.message.contains(why), "{}", error_text(&error));
        }
    });
}

#[test]
fn a_server_that_knows_no_handshake_is_reached() {
    block_on(async {
        let world = world("newer");
        let about = world.servers.about("s").await.expect("an introduction");
        assert_eq!(about.name, "newer");
        let reply = world.call("echo", json!({"a": 1})).await.expect("a reply");
        let meta = &reply["structuredContent"]["meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        // It says neither when its list changes nor for how long that is good, so the list is asked for each time.
        world.servers.tools("s").await.expect("a list");
        world.text("change_tools", json!({})).await;
        assert_eq!(world.servers.tools("s").await.expect("a list")[0].description.as_deref(), Some("version 2"));
    });
}

/// A server of the revision without a handshake; its list has a page for each time that one is good for.
async fn newer(good_for: Value) -> (Web, World) {
    let web = Web::new(move |request| answer(request, &good_for)).await;
    let world = web.world(|url| Transport::Http { url, headers: Default::default(), either: false });
    (web, world)
}

fn answer(request: &Request, good_for: &Value) -> Answer {
    let result = match request.body["method"].as_str() {
        Some("initialize") => {
            let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
            return Answer::json(&json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error}));
        }
        Some("server/discover") => discovered(),
        Some("tools/list") => {
            let nth = request.body["params"]["cursor"].as_str().map_or(0, |at| at.parse().expect("one of ours"));
            let tool = json!({"name": format!("tool-{nth}"), "inputSchema": {"type": "object"}});
            let next = good_for.get(nth + 1).map(|_| (nth + 1).to_string());
            let mut page = json!({"resultType": "complete", "tools": [tool], "ttlMs": good_for[nth]});
            if let Some(next) = next {
                page["nextCursor"] = json!(next);
            }
            page
        }
        _ => return Answer::status(405),
    };
    Answer::json(&reply(request, result))
}

fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
        "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1"}},
    })
}

/// How many pages were asked for so far, and not counted yet.
fn pages(web: &mut Web) -> usize {
    web.requests().iter().filter(|request| request.body["method"] == "tools/list").count()
}

#[test]
fn a_list_is_asked_for_again_when_the_time_is_up_that_it_was_good_for() {
    block_on(async {
        let (mut web, world) = newer(json!([3_600_000, 7_200_000])).await;
        let list = world.servers.tools("s").await.expect("a list");
        assert_eq!(list.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["tool-0", "tool-1"]);
        assert!(Arc::ptr_eq(&list, &world.servers.tools("s").await.expect("a list")));
        assert_eq!(pages(&mut web), 2);
        // Nothing, and what is no time, are no time; the page that is good for least says for how long all are.
        for none in [json!([0]), json!([-5]), json!([null]), json!(["long"]), json!([3_600_000, 0])] {
            let (mut web, world) = newer(none.clone()).await;
            world.servers.tools("s").await.expect("a list");
            world.servers.tools("s").await.expect("a list");
            assert_eq!(pages(&mut web), 2 * none.as_array().expect("pages").len(), "{none}");
        }
        let (mut web, world) = newer(json!([20])).await;
        let list = world.servers.tools("s").await.expect("a list");
        // However fast this machine is, the time is up at some point.
        while Arc::ptr_eq(&list, &world.servers.tools("s").await.expect("a list")) {
            tokio::task::yield_now().await;
        }
        assert_eq!(pages(&mut web), 2);
        let (_, world) = newer(json!([u64::MAX])).await;
        world.servers.tools("s").await.expect("a time without an end is one, too");
        world.servers.tools("s").await.expect("a list");
    });
}

/// A server of the revision without a handshake that reports the changes of `announced`, if that is accepted.
struct Reporting {
    web: Web,
    world: World,
    streams: Arc<Mutex<Vec<UnboundedSender<String>>>>,
}

impl Reporting {
    async fn new(announced: Value, accepted: Value) -> Reporting {
        let streams: Arc<Mutex<Vec<UnboundedSender<String>>>> = Arc::default();
        let opened = Arc::clone(&streams);
        let web = Web::new(move |request| match request.body["method"].as_str() {
            Some("server/discover") => {
                let mut result = discovered();
                result["capabilities"] = announced.clone();
                Answer::json(&reply(request, result))
            }
            Some("subscriptions/listen") => {
                let (stream, events) = unbounded_channel();
                let id = json!({"io.modelcontextprotocol/subscriptionId": request.body["id"]});
                let params = json!({"notifications": accepted, "_meta": id});
                let method = "notifications/subscriptions/acknowledged";
                let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
                stream.send(event(&told)).expect("the other end is here");
                opened.lock().expect("nobody panics").push(stream);
                Answer::Events(events)
            }
            _ => answer(request, &json!([0])),
        })
        .await;
        let world = web.world(|url| Transport::Http { url, headers: Default::default(), either: false });
        Reporting { web, world, streams }
    }

    async fn list(&self) -> Arc<[Tool]> {
        self.world.servers.tools("s").await.expect("a list")
    }

    /// Lists until a list is kept, or until it is not.
    async fn until(&self, is_kept: bool) -> Arc<[Tool]> {
        loop {
            let (one, other) = (self.list().await, self.list().await);
            if Arc::ptr_eq(&one, &other) == is_kept {
                return other;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn a_server_without_a_handshake_is_asked_to_report_changes_of_its_lists() {
    block_on(async {
        let all = json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true}});
        let mut server = Reporting::new(all, json!({"toolsListChanged": true, "promptsListChanged": true})).await;
        let asked = server.list().await;
        let listening = server.web.sees(|request| request.body["method"] == "subscriptions/listen").await;
        let wanted = json!({"toolsListChanged": true, "promptsListChanged": true});
        assert_eq!(listening.body["params"]["notifications"], wanted);
        // The list is good for no time, and is kept as long as the server reports.
        let kept = server.until(true).await;
        assert_eq!(kept, asked);
        let id = json!({"io.modelcontextprotocol/subscriptionId": listening.body["id"]});
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": id}});
        server.streams.lock().expect("nobody panics")[0].send(event(&changed)).expect("it is read");
        while Arc::ptr_eq(&kept, &server.list().await) {
            tokio::task::yield_now().await;
        }
        server.until(true).await;
        server.streams.lock().expect("nobody panics").clear();
        server.until(false).await;
    });
}

#[test]
fn a_list_whose_changes_are_not_reported_is_good_for_the_time_that_was_given() {
    block_on(async {
        let (tools, both) =
            (json!({"listChanged": true}), json!({"toolsListChanged": true, "promptsListChanged": true}));
        // The changes of the prompts cannot be reported: nothing is asked for.
        let mut server = Reporting::new(json!({"tools": tools, "prompts": {}}), both).await;
        server.until(false).await;
        server.until(false).await;
        assert!(server.web.requests().iter().all(|request| request.body["method"] != "subscriptions/listen"));
        // Only some of what was asked for is reported.
        let announced = json!({"tools": tools, "prompts": tools});
        let mut server = Reporting::new(announced, json!({"toolsListChanged": true})).await;
        server.list().await;
        server.web.sees(|request| request.body["method"] == "subscriptions/listen").await;
        // It is given up.
        let stream = server.streams.lock().expect("nobody panics").pop().expect("it was opened");
        stream.closed().await;
        server.until(false).await;
    });
}
