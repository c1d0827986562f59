//! `portolan studio`: who may ask it for what, what it answers, and what it tells as it happens. The page itself is tried
//! in a browser: `studio/tests`.

mod api;
mod bounds;
mod changes;
mod corpora;
mod editing;
mod evaluating;
mod events;
mod passkeys;
mod places;
mod saving;
mod security;
mod servers;
mod tries;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::Project;

/// A studio that runs.
struct Studio {
    child: Child,
    port: u16,
    token: String,
}

/// An answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The status and the code of a refusal.
    fn refusal(&self) -> String {
        let code = self.json()["error"]["code"].as_str().expect("a refusal has a code").to_owned();
        format!("{} {code}", self.status)
    }
}

impl Studio {
    fn of(project: &Project, arguments: &[&str]) -> Studio {
        Studio::started(project.command(&[&["studio", "--format", "json"], arguments].concat()))
    }

    fn started(mut command: std::process::Command) -> Studio {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut said = String::new();
        while !said.ends_with("}\n") {
            assert!(out.read_line(&mut said).expect("it speaks") > 0, "it ended: {said}");
        }
        let said: Value = serde_json::from_str(&said).expect("it is JSON");
        let (base, token) = said["address"].as_str().and_then(|text| text.split_once("#token=")).expect("an address");
        let port = base.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Studio { child, port, token: token.to_owned() }
    }

    /// What is answered to the bytes of a request. It is given up after a minute.
    fn sent(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it answers");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
        stream
    }

    /// A request with these headers and no others but the one that ends the connection.
    fn with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        if !body.is_empty() {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        self.sent(&format!("{request}\r\n{body}"))
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// A request of the page, or of a program with the token.
    fn get(&self, path: &str) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        self.with("GET", &format!("/api/v1{path}"), &[("Host", &host), ("Authorization", &bearer)], "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        self.with("POST", &format!("/api/v1{path}"), &headers, &body.to_string())
    }

    fn put(&self, path: &str, body: &Value) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        self.with("PUT", &format!("/api/v1{path}"), &headers, &body.to_string())
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
