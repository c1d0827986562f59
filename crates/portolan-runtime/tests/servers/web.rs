//! A web server for tests: one request a connection, answered as a test says.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::graph::Transport;
use portolan_runtime::servers::PoolOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::{World, server};

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// Its body as JSON, or null.
    pub(crate) body: Value,
}

pub(crate) enum Answer {
    Whole(u16, &'static str, Vec<u8>),
    Moved(String),
    /// An event stream that stays open until the sender is dropped.
    Events(mpsc::UnboundedReceiver<String>),
    /// The connection is held, and nothing is ever said.
    Silence,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Answer {
        Answer::Whole(status, "text/plain", Vec::new())
    }

    pub(crate) fn json(value: &Value) -> Answer {
        Answer::Whole(200, "application/json", value.to_string().into_bytes())
    }

    pub(crate) fn events(messages: &[Value]) -> Answer {
        let events: String = messages.iter().map(event).collect();
        Answer::Whole(200, "text/event-stream", events.into_bytes())
    }
}

pub(crate) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

type Handler = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

pub(crate) struct Web {
    /// Where it is, without a path.
    pub(crate) origin: String,
    seen: mpsc::UnboundedReceiver<Request>,
}

impl Web {
    pub(crate) async fn new(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (tell, seen) = mpsc::unbounded_channel();
        let handler: Handler = Arc::new(handler);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&handler), tell.clone()));
            }
        });
        Web { origin, seen }
    }

    /// Waits for a request that `wanted` picks.
    pub(crate) async fn sees(&mut self, wanted: impl Fn(&Request) -> bool) -> Request {
        loop {
            let request = self.seen.recv().await.expect("the server lives as long as its runtime");
            if wanted(&request) {
                return request;
            }
        }
    }

    /// What has come in so far.
    pub(crate) fn requests(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.seen.try_recv().ok()).collect()
    }

    pub(crate) fn world(&self, transport: impl Fn(String) -> Transport) -> World {
        self.world_with(transport, PoolOptions::default())
    }

    pub(crate) fn world_with(&self, transport: impl Fn(String) -> Transport, options: PoolOptions) -> World {
        World::new(|_| vec![server("s", transport(format!("{}/mcp", self.origin)))], options)
    }
}

async fn serve(stream: TcpStream, handler: Handler, tell: mpsc::UnboundedSender<Request>) {
    let mut stream = BufReader::new(stream);
    let Some(request) = read(&mut stream).await else { return };
    let answer = handler(&request);
    let _test_is_over = tell.send(request);
    let mut events = None;
    let (status, headers, body) = match answer {
        Answer::Whole(status, kind, body) => {
            // Told to whoever asks; a session begins with the first answer.
            let headers = format!("content-type: {kind}\r\nmcp-session-id: one\r\ncontent-length: {}\r\n", body.len());
            (status, headers, body)
        }
        Answer::Moved(to) => (307, format!("location: {to}\r\ncontent-length: 0\r\n"), Vec::new()),
        Answer::Events(stream) => {
            events = Some(stream);
            (200, "content-type: text/event-stream\r\n".to_owned(), Vec::new())
        }
        Answer::Silence => return drop(stream.read_to_end(&mut Vec::new()).await),
    };
    let head = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\n{headers}\r\n");
    // A client that has seen enough goes away.
    let _gone = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    if let Some(mut events) = events {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                _gone = stream.read_u8() => return,
            };
            let Some(event) = event else { break };
            if stream.write_all(event.as_bytes()).await.is_err() {
                return;
            }
        }
    }
    let _gone = stream.shutdown().await;
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, path, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// The result of a request that every server here answers alike.
pub(crate) fn result(request: &Request) -> Option<Value> {
    let params = &request.body["params"];
    let result = match request.body["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [], "structuredContent": {
            "arguments": params["arguments"], "meta": params["_meta"], "headers": request.headers,
        }}),
        _ => return None,
    };
    Some(reply(request, result))
}

pub(crate) fn reply(request: &Request, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result})
}

/// The tool that a request calls.
pub(crate) fn tool(request: &Request) -> &str {
    request.body["params"]["name"].as_str().unwrap_or_default()
}
