//! Idle sessions, on a clock that nobody waits for.

use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use portolan_runtime::service::{Options, Service, StoreAt};
use rmcp::model::{CallToolRequestParams, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::advance;

use super::super::*;
use super::*;
use crate::http::{Access, Holders, Scope};
use crate::mcp::face::{resources, result};
use crate::mcp::several::ServedTools;
use crate::mcp::toolset::{Answer, Toolset};

/// A toolset whose list changes when it is told to, with a resource, and a tool that takes a while.
struct Changing {
    list: watch::Receiver<u64>,
    finished: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Toolset for Changing {
    fn about(&self) -> ServerConfig {
        let mut about = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        about.capabilities.resources = Some(resources());
        about
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::new("slow", "Takes a while", Arc::default())]
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Navigate
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.list.clone())
    }

    fn updates(&self, _uri: &str) -> Option<watch::Receiver<u64>> {
        Some(self.list.clone())
    }

    fn call(&self, _request: CallToolRequestParams, _context: RequestContext<RoleServer>) -> Answer<'_> {
        let finished = self.finished.lock().expect("it is free").take();
        Box::pin(async move {
            if let Some(finished) = finished {
                let _told = finished.await;
            }
            Ok::<_, ErrorData>(result(json!({ "done": true }), false).into())
        })
    }
}

/// A server, and what its toolset waits for.
struct Served {
    router: Router,
    server: Arc<Server>,
    /// The id of the last request.
    last: AtomicU64,
    list: watch::Sender<u64>,
    finish: Mutex<Option<oneshot::Sender<()>>>,
    _end: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Served {
    async fn new() -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let trust = Some(folder.path().with_extension("person"));
        let options = Options { store: StoreAt::Memory, trust, ..Options::of(folder.path().to_owned()) };
        let service = Arc::new(Service::new(options).expect("a service"));
        let (end, ending) = watch::channel(false);
        let (list, changes) = watch::channel(0);
        let (finish, finished) = oneshot::channel();
        let toolset = Arc::new(Changing { list: changes, finished: Mutex::new(Some(finished)) });
        let sets = vec![NamedTools { name: "tasks", tools: ServedTools::alone(toolset) }];
        let access = Access::new("http", 7420, Holders::Everyone);
        let (router, server) =
            router(Content::Project(service, sets), access, config(), ending, Metrics::new()).await.expect("a router");
        Served {
            router,
            server,
            last: AtomicU64::new(1),
            list,
            finish: Mutex::new(Some(finish)),
            _end: end,
            _folder: folder,
        }
    }

    async fn sent(&self, method: Method, session: &str, message: &Value) -> Response {
        let request = Request::builder().method(method).uri("/mcp/tasks").header("host", "localhost:7420");
        let request = request.header("content-type", "application/json").header("mcp-session-id", session);
        let request = request.header("accept", "application/json, text/event-stream");
        let mut request = request.body(Body::from(message.to_string())).expect("a request");
        if session.is_empty() {
            request.headers_mut().remove("mcp-session-id");
        }
        TowerToHyperService::new(self.router.clone()).call(request).await.expect("it answers")
    }

    /// Begins a session, and returns its id.
    async fn begun(&self) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let response = self.sent(Method::POST, "", &message).await;
        let id = response.headers()["mcp-session-id"].to_str().expect("it is text").to_owned();
        let _text = text(response).await;
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.sent(Method::POST, &id, &begun).await.status(), StatusCode::ACCEPTED);
        id
    }

    /// Returns the result of a request in a session.
    async fn asked(&self, session: &str, method: &str, params: Value) -> Value {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let text = text(self.sent(Method::POST, session, &message).await).await;
        let start = text.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{text}"));
        let mut messages = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        messages.next().expect("a message").expect("it is JSON")["result"].clone()
    }

    fn finish_call(&self) {
        self.finish.lock().expect("it is free").take().expect("once").send(()).expect("it is pending");
    }

    /// Lets time pass, and returns the number of sessions and of those that are suspended.
    async fn later(&self, time: Duration) -> (usize, usize) {
        advance(time).await;
        self.server.free_idle().await;
        self.server.session_count()
    }
}

async fn text(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("it ends");
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

/// Reads a stream until it contains a text.
async fn read_until(stream: &mut BodyDataStream, text: &str) {
    let mut read = String::new();
    while !read.contains(text) {
        let bytes = std::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await;
        let bytes = bytes.expect("it is open").expect("it is well");
        read.push_str(std::str::from_utf8(&bytes).expect("it is text"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_suspended_and_restored_at_its_next_request() {
    let served = Served::new().await;
    let (one, other) = (served.begun().await, served.begun().await);
    assert_eq!(served.later(SUSPENDED_AFTER / 2).await, (2, 0));
    assert!(served.asked(&one, "tools/list", json!({})).await["tools"].is_array());
    assert_eq!(served.later(SUSPENDED_AFTER / 2).await, (2, 1), "the other was idle for longer");
    assert_eq!(served.later(SUSPENDED_AFTER / 2).await, (2, 2));
    for _ in 0..3 {
        assert_eq!(served.asked(&other, "tools/list", json!({})).await["tools"][0]["name"], "slow");
        assert_eq!(served.server.session_count(), (2, 1));
        assert_eq!(served.later(SUSPENDED_AFTER).await, (2, 2));
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" });
    assert_eq!(served.sent(Method::DELETE, &one, &Value::Null).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(served.sent(Method::POST, &one, &ping).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(served.later(IDLE).await, (0, 0), "it ends after a while");
    assert_eq!(served.sent(Method::POST, &other, &ping).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn while_many_are_active_they_are_suspended_sooner() {
    let served = Served::new().await;
    for _ in 0..=MANY {
        served.begun().await;
    }
    assert_eq!(served.server.session_count(), (MANY + 1, 0));
    advance(SUSPENDED_AFTER_IF_MANY).await;
    let last = served.begun().await;
    assert_eq!(served.server.session_count(), (MANY + 2, MANY + 1));
    assert_eq!(served.later(SUSPENDED_AFTER / 2).await, (MANY + 2, MANY + 1), "few are active");
    assert!(served.asked(&last, "tools/list", json!({})).await["tools"].is_array());
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_restore_a_session_once() {
    let served = Served::new().await;
    let id = served.begun().await;
    assert_eq!(served.later(SUSPENDED_AFTER).await, (1, 1));
    let list = || served.asked(&id, "tools/list", json!({}));
    let (one, two, three) = tokio::join!(list(), list(), list());
    assert!(one["tools"].is_array() && one == two && two == three);
    let restored = served
        .server
        .projects
        .table("/mcp/tasks")
        .expect("it is served")
        .0
        .all()
        .values()
        .map(|session| session.restored)
        .sum::<u32>();
    assert_eq!(restored, 1);
    // A request whose client leaves while the session is restored.
    assert_eq!(served.later(SUSPENDED_AFTER).await, (1, 1));
    let ping = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" });
    let mut left = Box::pin(served.sent(Method::POST, &id, &ping));
    let _pending = std::future::poll_fn(|context| Poll::Ready(left.as_mut().poll(context).is_pending())).await;
    drop(left);
    assert!(served.asked(&id, "tools/list", json!({})).await["tools"].is_array());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_an_open_stream_and_a_pending_call_keep_a_session_active() {
    let served = Served::new().await;
    let (subscribed, listening, calling) = (served.begun().await, served.begun().await, served.begun().await);
    served.asked(&subscribed, "resources/subscribe", json!({ "uri": "portolan://x" })).await;
    let mut stream = served.sent(Method::GET, &listening, &Value::Null).await.into_body().into_data_stream();
    let pending = served.asked(&calling, "tools/call", json!({ "name": "slow", "arguments": {} }));
    let ((), done) = tokio::join!(
        async {
            assert_eq!(served.later(IDLE / 2).await, (3, 0));
            served.list.send_replace(1);
            read_until(&mut stream, "notifications/tools/list_changed").await;
            assert_eq!(served.later(IDLE / 4).await, (3, 0));
            served.finish_call();
        },
        pending
    );
    assert_eq!(done["structuredContent"]["done"], true);
    drop(stream);
    assert_eq!(served.later(SUSPENDED_AFTER).await, (3, 2), "the subscription remains");
    assert_eq!(served.later(IDLE).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_left_before_the_response_can_come_back_for_it() {
    let served = Served::new().await;
    let id = served.begun().await;
    let call = json!({ "name": "slow", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
    drop(served.sent(Method::POST, &id, &message).await);
    assert_eq!(served.later(IDLE / 2).await, (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_restored_session_learns_that_the_list_may_have_changed() {
    let served = Served::new().await;
    let id = served.begun().await;
    assert_eq!(served.later(SUSPENDED_AFTER).await, (1, 1));
    // Its tasks end by themselves.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(served.list.receiver_count(), 1, "nothing of the session is left");
    served.list.send_replace(1);
    let mut stream = served.sent(Method::GET, &id, &Value::Null).await.into_body().into_data_stream();
    read_until(&mut stream, "notifications/tools/list_changed").await;
    served.list.send_replace(2);
    read_until(&mut stream, "notifications/tools/list_changed").await;
}
