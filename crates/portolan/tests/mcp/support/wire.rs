//! A client that writes and reads lines, so that nothing is hidden by a library.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::schema;
use super::within;

/// How long an answer may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Wire {
    /// Nothing once it was waited for.
    server: Option<Child>,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What it writes to its standard error, where that is listened to.
    heard: Option<Receiver<String>>,
    /// What came while something else was waited for.
    early: Vec<Value>,
    last_id: u64,
    schemas: BTreeMap<String, Value>,
    /// What every request carries, in the revisions that have no session.
    meta: Option<Value>,
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) is_error: bool,
}

impl Answer {
    /// The code of an error; empty for a success.
    pub(crate) fn code(&self) -> &str {
        self.value["error"].as_str().unwrap_or_default()
    }
}

impl Wire {
    /// Like [`Wire::to`], with [`Wire::hears`] for what the server writes to its standard error.
    pub(crate) fn hearing(mut command: Command) -> Wire {
        command.stderr(Stdio::piped());
        let mut wire = Wire::to(command);
        let errors = wire.server.as_mut().and_then(|server| server.stderr.take()).expect("a pipe");
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        wire.heard = Some(heard);
        wire
    }

    /// Waits for a line of the server's standard error that holds `words`.
    pub(crate) fn hears(&self, words: &str) -> String {
        let heard = self.heard.as_ref().expect("its standard error is listened to");
        loop {
            let line = heard.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nobody said `{words}`"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// What the server has written to its standard error and was not waited for, up to its end.
    pub(crate) fn overheard(&self) -> Vec<String> {
        self.heard.as_ref().expect("its standard error is listened to").iter().collect()
    }

    pub(crate) fn to(mut command: Command) -> Wire {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("the server starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).expect("each line is a message");
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Wire {
            server: Some(server),
            input,
            lines,
            heard: None,
            early: Vec::new(),
            last_id: 0,
            schemas: BTreeMap::new(),
            meta: None,
        }
    }

    pub(crate) fn process(&self) -> u32 {
        self.server.as_ref().expect("the server runs").id()
    }

    /// Writes a line as it stands. A server that is gone is noticed by whoever waits for its answer.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let _gone = input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.line(message.to_string().as_bytes());
    }

    /// Sends a request; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let mut params = params;
        for (name, value) in self.meta.iter().filter_map(Value::as_object).flatten() {
            params["_meta"][name] = value.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The next message, whatever it is; nothing when the server has gone.
    pub(crate) fn next(&mut self) -> Option<Value> {
        if self.early.is_empty() { self.arriving() } else { Some(self.early.remove(0)) }
    }

    fn arriving(&self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(message) => Some(message),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("no answer came"),
        }
    }

    /// The response to the request `id`; nothing when the server has gone.
    pub(crate) fn response(&mut self, id: u64) -> Option<Value> {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.early.iter().position(is_it) {
            return Some(self.early.remove(at));
        }
        loop {
            let message = self.arriving()?;
            if is_it(&message) {
                return Some(message);
            }
            self.early.push(message);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.response(id).expect("the server answers")
    }

    /// Initializes a session, and learns the schemas.
    pub(crate) fn shake_hands(&mut self, version: &str, capabilities: &Value) -> Value {
        let client = json!({ "name": "wire", "version": "1" });
        let hello = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let answer = self.request("initialize", hello);
        self.notify("notifications/initialized", &json!({}));
        self.learn();
        answer["result"].clone()
    }

    /// Speaks the revision that has no session: every request says who asks.
    pub(crate) fn without_session(&mut self, capabilities: &Value) {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "wire", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        self.learn();
    }

    fn learn(&mut self) {
        let listed = self.request("tools/list", json!({}));
        for tool in listed["result"]["tools"].as_array().expect("tools") {
            self.schemas.insert(tool["name"].as_str().expect("a name").to_owned(), tool["outputSchema"].clone());
        }
    }

    pub(crate) fn ask_tool(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool. Whatever it answers is held against the schema and against its own text.
    /// A call with a progress token: what was told before its answer, and the answer.
    pub(crate) fn watched(&mut self, tool: &str, arguments: Value) -> (Vec<Value>, Value) {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "t" } });
        let id = self.ask("tools/call", params);
        let mut told = Vec::new();
        loop {
            let message = self.next().expect("the server answers");
            if message["id"] == id {
                return (told, message["result"].clone());
            }
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], "t");
            told.push(message["params"].clone());
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        let id = self.ask_tool(tool, arguments);
        self.answer(id, tool).expect("the server answers")
    }

    pub(crate) fn answer(&mut self, id: u64, tool: &str) -> Option<Answer> {
        let response = self.response(id)?;
        Some(self.read(tool, &response))
    }

    pub(crate) fn read(&self, tool: &str, response: &Value) -> Answer {
        let result = &response["result"];
        let value = result["structuredContent"].clone();
        assert!(value.is_object(), "{tool} returned {response}");
        let text = result["content"][0]["text"].as_str().expect("text");
        let said: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(said, value, "text and structured content of {tool} differ");
        assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
        let is_error = result["isError"] == json!(true);
        assert_eq!(is_error, value.get("error").is_some(), "{value}");
        if let Some(schema) = self.schemas.get(tool) {
            schema::check(schema, &value).unwrap_or_else(|fault| panic!("{tool}: {fault} in {value:#}"));
        }
        Answer { value, is_error }
    }

    /// Calls a tool that is expected to do what it is asked.
    pub(crate) fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{tool} {arguments} was refused: {:#}", answer.value);
        answer.value
    }

    /// Calls a tool that is expected to refuse.
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value, code: &str) -> Value {
        let answer = self.call(tool, arguments);
        assert_eq!(answer.code(), code, "{tool} {arguments}: {:#}", answer.value);
        answer.value
    }

    /// Sends an action of a situation back as it stands.
    pub(crate) fn take(&mut self, action: &Value) -> Value {
        self.done(action["tool"].as_str().expect("a tool"), &action["arguments"])
    }

    /// What has come without being asked for; nothing when all is quiet.
    pub(crate) fn next_without_waiting(&mut self) -> Option<Value> {
        if self.early.is_empty() { self.lines.try_recv().ok() } else { Some(self.early.remove(0)) }
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Closes the server's input and waits for its end.
    pub(crate) fn leave(mut self) -> ExitStatus {
        self.input = None;
        self.ended()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process().to_string()]).status();
        assert!(sent.expect("kill is there").success(), "the server is there to be signalled");
    }

    /// Waits for the server's end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut server = self.server.take().expect("the server runs");
        within("the server ends", move || server.wait().expect("the server is a child"))
    }

    /// Kills the server at once.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _gone = server.kill();
            let _status = server.wait();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.kill();
    }
}
