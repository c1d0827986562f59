//! A client of the server, which may die while it is spoken to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::stage::{Death, Stage, counted};

pub(crate) struct Wire {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Wire {
    /// A client that has shaken hands, or has found the server dead.
    pub(crate) fn to(stage: &Stage, words: &[&str], death: Death) -> Wire {
        let mut command = stage.command(&[&["serve"], words].concat(), death);
        counted(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().expect("the server starts");
        let input = server.stdin.take().expect("a pipe");
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut wire = Wire { server, input, output, last: 0 };
        let client = json!({ "name": "wire", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        wire.ask("initialize", &hello);
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": {} }));
        wire
    }

    fn send(&mut self, message: &Value) {
        // A server that is gone is noticed by whoever waits for its answer.
        let _gone = self.input.write_all(format!("{message}\n").as_bytes()).and_then(|()| self.input.flush());
    }

    /// The result of a request; nothing when the server has died.
    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.last += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 || !line.ends_with('\n') {
                return None;
            }
            let message: Value = serde_json::from_str(&line).expect("each line is a message");
            if message["id"] == self.last {
                return Some(message["result"].clone());
            }
        }
    }

    /// What a tool answers, done or refused; nothing when the server has died.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Some(result["structuredContent"].clone())
    }

    /// The same, by a server that lives, which must do it.
    pub(crate) fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let value = self.call(tool, arguments).expect("the server lives");
        assert!(value.get("error").is_none(), "{tool} {arguments}: {value:#}");
        value
    }

    /// Does what a situation offers first.
    pub(crate) fn go(&mut self, situation: &Value) -> Value {
        let action = offered(situation);
        self.done(action["tool"].as_str().expect("a tool"), &action["arguments"])
    }
}

pub(crate) fn offered(situation: &Value) -> Value {
    situation["actions"]["required"][0].clone()
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _status = self.server.wait();
    }
}
