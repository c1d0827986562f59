//! A server of this program that listens on this machine, and requests to it, byte by byte.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::studio::described;

/// A server that runs.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The status and the code of a refusal.
    pub(crate) fn refusal(&self) -> String {
        let code = self.json()["error"]["code"].as_str().expect("a refusal has a code").to_owned();
        format!("{} {code}", self.status)
    }
}

/// Starts a server, and returns it with what it prints first, which is an object.
pub(crate) fn started(command: Command) -> (Child, Value) {
    started_with(command, Stdio::null())
}

/// The same, with its standard error.
pub(crate) fn started_with(mut command: Command, stderr: Stdio) -> (Child, Value) {
    let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().expect("it starts");
    let mut out: BufReader<ChildStdout> = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut said = String::new();
    while !said.ends_with("}\n") {
        assert!(out.read_line(&mut said).expect("it speaks") > 0, "it ended: {said}");
    }
    (child, serde_json::from_str(&said).expect("it is JSON"))
}

/// The port in an address.
pub(crate) fn port_of(address: &str) -> u16 {
    let rest = address.split("://").nth(1).and_then(|rest| rest.rsplit_once(':')).expect("an address").1;
    rest.split('/').next().and_then(|port| port.parse().ok()).expect("a port")
}

impl Served {
    /// What is answered to the bytes of a request. It is given up after a minute.
    pub(crate) fn sent(&self, request: &str) -> Answer {
        self.sent_to(Ipv4Addr::LOCALHOST.into(), request)
    }

    /// The same at one of the addresses of this machine.
    pub(crate) fn sent_to(&self, address: IpAddr, request: &str) -> Answer {
        let mut attempts = 0;
        let bytes = loop {
            attempts += 1;
            let mut stream = self.connect_to(address);
            let written = stream.write_all(request.as_bytes());
            let mut bytes = Vec::new();
            let read = stream.read_to_end(&mut bytes);
            // A server that refuses a request by its head closes the connection before it has read the rest. The system may
            // then lose the answer.
            if !bytes.is_empty() || (written.is_ok() && read.is_ok()) {
                break bytes;
            }
            let is_closed =
                |error: &std::io::Error| matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
            let errors = [written.err(), read.err()];
            assert!(attempts < 20 && errors.iter().flatten().all(is_closed), "{errors:?}");
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        self.connect_to(Ipv4Addr::LOCALHOST.into())
    }

    fn connect_to(&self, address: IpAddr) -> TcpStream {
        let stream = TcpStream::connect((address, self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
        stream
    }

    /// A request with these headers and no others but the one that ends the connection. What the studio replies is held
    /// against its description.
    pub(crate) fn with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        if !body.is_empty() {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        let answer = self.sent(&format!("{request}\r\n{body}"));
        described::holds_of(method, path, &answer);
        answer
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
