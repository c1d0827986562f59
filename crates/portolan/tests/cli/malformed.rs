//! Malformed requests: whole ones that are cut, spliced, repeated and filled with extremes, over connections that may break.
//! The server answers other clients meanwhile, admits nobody without the token, returns no status of 500 or above except
//! for 503, does not panic, and its memory stays bounded.
//!
//! `PORTOLAN_MALFORMED_SECONDS=3600 cargo test -p portolan --test cli malformed` goes on for an hour.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::json;

use crate::serve_http::{initialize, meta};
use crate::served::{Served, port_of, started_with};
use crate::support::Project;

const SENDERS: u64 = 4;
/// The connections of each sender, where no time is set.
const CONNECTIONS: usize = 500;
/// The connections after which a whole request must be answered.
const BETWEEN: usize = 50;
/// How long a sender waits for more of an answer: a server may wait for the rest of a request that is not whole.
const PATIENCE: Duration = Duration::from_millis(40);
/// The most bytes of an answer that are read.
const MOST: usize = 1 << 20;
/// The most memory that the server may have taken at any time, in KiB.
const MOST_MEMORY: u64 = 512 << 10;

#[test]
#[expect(clippy::print_stdout, reason = "the seed repeats a run that found something")]
fn malformed_requests_leave_the_server_as_it_is() {
    let project = Project::small();
    let said = project.path().join("said");
    let stderr = File::create(&said).expect("there is room");
    let words = ["serve", "--http", "127.0.0.1:0", "--format", "json", "--log", "json"];
    let (child, first) = started_with(project.command(&words), stderr.into());
    let port = port_of(first["address"].as_str().expect("an address"));
    let token = fs::read_to_string(first["tokenFile"].as_str().expect("a file")).expect("the token is kept");
    let server = Served { child, port, token };
    let seed = std::env::var("PORTOLAN_MALFORMED_SEED").ok();
    let seed = seed.map_or_else(|| fastrand::u64(..), |seed| seed.parse().expect("a number"));
    println!("PORTOLAN_MALFORMED_SEED={seed}");
    let until = std::env::var("PORTOLAN_MALFORMED_SECONDS")
        .ok()
        .map(|seconds| Instant::now() + Duration::from_secs(seconds.parse().expect("a number of seconds")));
    let sent: usize = thread::scope(|scope| {
        let senders = (0..SENDERS).map(|number| {
            let server = &server;
            scope.spawn(move || send(server, Rng::with_seed(seed ^ number), until))
        });
        senders.collect::<Vec<_>>().into_iter().map(|sender| sender.join().expect("it found no fault")).sum()
    });
    println!("{sent} connections");
    let said = fs::read_to_string(&said).expect("it is there");
    assert!(!said.contains("panicked"), "{said}");
    #[cfg(target_os = "linux")]
    {
        let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("it runs");
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is known");
        let most: u64 = most.trim().trim_end_matches(" kB").parse().expect("a number");
        println!("{} MiB at most", most >> 10);
        assert!(most < MOST_MEMORY, "it took {most} KiB");
    }
}

/// Sends malformed requests until the time is up, and whole ones among them.
fn send(server: &Served, mut random: Rng, until: Option<Instant>) -> usize {
    let seeds = seeds(server);
    let mut sent = 0;
    while until.map_or(sent < CONNECTIONS, |until| Instant::now() < until) {
        let request = mutated(&mut random, &seeds);
        let answer = exchanged(server, &mut random, &request);
        check(server, &request, &answer);
        sent += 1;
        if sent % BETWEEN == 0 {
            assert_eq!(server.sent(&healthy(server)).status, 200, "after {}", request.escape_ascii());
        }
    }
    sent
}

fn healthy(server: &Served) -> String {
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } }).to_string();
    let more = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nConnection: close\r\n";
    post(server, "/mcp", more, &list)
}

fn post(server: &Served, path: &str, more: &str, body: &str) -> String {
    let (host, bearer, length) = (server.host(), server.bearer(), body.len());
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    )
}

/// Whole requests, from which the others are made.
fn seeds(server: &Served) -> Vec<Vec<u8>> {
    let (host, bearer) = (server.host(), server.bearer());
    let newest = "MCP-Protocol-Version: 2026-07-28\r\n";
    let call = |name: &str, arguments| {
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta() });
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
        post(server, "/mcp", &format!("{newest}Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"), &body)
    };
    let wanted = json!({ "_meta": meta(), "notifications": { "toolsListChanged": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": "x", "method": "subscriptions/listen", "params": wanted });
    let chunked = initialize().to_string();
    let session = "mcp-session-id: 0123456789abcdef\r\n";
    let get = |path: &str, more: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nAccept: text/event-stream\r\n{more}\r\n"
        )
    };
    let requests = [
        healthy(server),
        call("Current", json!({})),
        call("Init", json!({ "workflowType": "small" })),
        call("Next", json!({ "taskFilePath": ".tasks/x.json", "result": "passed" })),
        post(server, "/mcp", "", &initialize().to_string()),
        post(server, "/mcp/navigate", session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string()),
        post(server, "/mcp", newest, &listen.to_string()),
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{chunked}\r\n0\r\n\r\n",
            chunked.len()
        ),
        get("/mcp", session),
        get("/metrics", ""),
        get("/projects/%2e%2e/mcp", "Origin: http://127.0.0.1\r\nLast-Event-ID: 1\r\n"),
        format!("DELETE /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\n{session}\r\n"),
        format!("OPTIONS * HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nExpect: 100-continue\r\n\r\n"),
    ];
    requests.map(String::into_bytes).to_vec()
}

/// What is put into a request. Each was a fault in some server.
const EXTREMES: [&[u8]; 22] = [
    b"\r\n",
    b"\n",
    b"\0",
    b"\r\n\r\n",
    b"\xff\xfe",
    b" ",
    b":",
    b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Host: evil.example\r\n",
    b"Origin: null\r\n",
    b"Expect: 100-continue\r\n",
    b"ffffffffffffffff\r\n",
    b"\"\\ud800\"",
    b"1e999",
    b"/../..//%2e%2e%2f%00",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

const REPEATED: [&[u8]; 5] = [b"[", b"{\"a\":", b"x", b"9", b"A: b\r\n"];

fn mutated(random: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = any(random, seeds).clone();
    let is_whole = random.bool();
    for _ in 0..random.usize(1..6) {
        bytes = match is_whole {
            true => with_another_line_or_body(random, &bytes, seeds),
            false => with_other_bytes(random, bytes, seeds),
        };
    }
    bytes
}

fn any<'a, T>(random: &mut Rng, all: &'a [T]) -> &'a T {
    &all[random.usize(..all.len())]
}

/// Another request whose parts fit together for HTTP, so that it is read further.
fn with_another_line_or_body(random: &mut Rng, bytes: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
    let parts = |bytes: &[u8]| {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap_or(bytes.len());
        let lines = bytes[..end].split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end().to_vec());
        (lines.collect::<Vec<_>>(), bytes.get(end + 4..).unwrap_or_default().to_vec())
    };
    let ((mut lines, mut body), (others, other_body)) = (parts(bytes), parts(any::<Vec<u8>>(random, seeds)));
    let nth = random.usize(..lines.len());
    match random.u8(..8) {
        0 if nth > 0 => drop(lines.remove(nth)),
        1 => lines.push(lines[nth].clone()),
        2 => lines[nth] = any(random, &others).clone(),
        3 => {
            let from = lines[nth].iter().position(|byte| b": /".contains(byte)).map_or(0, |at| at + 1);
            let extreme = any(random, &EXTREMES).iter().copied().filter(|byte| !byte.is_ascii_control());
            lines[nth].splice(from.., extreme).for_each(drop);
        }
        4 => lines.insert(nth.max(1), [b"X-Filled: ", &b"x".repeat(random.usize(..9_000))[..]].concat()),
        5 => body = other_body,
        _ => body = with_other_bytes(random, body, seeds),
    }
    for line in &mut lines {
        if line.starts_with(b"Content-Length:") {
            *line = format!("Content-Length: {}", body.len()).into_bytes();
        }
    }
    [lines.join(&b"\r\n"[..]), body].join(&b"\r\n\r\n"[..])
}

fn with_other_bytes(random: &mut Rng, mut bytes: Vec<u8>, seeds: &[Vec<u8>]) -> Vec<u8> {
    let at = random.usize(..=bytes.len());
    let end = random.usize(at..=bytes.len());
    match random.u8(..10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 if at < bytes.len() => bytes[at] = random.u8(..),
        3 => drop(bytes.splice(at..at, any(random, &EXTREMES).iter().copied())),
        4 => drop(bytes.splice(at..end, any(random, &EXTREMES).iter().copied())),
        5 => {
            let piece = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, piece));
        }
        // A connection carries several requests.
        6 => bytes.extend_from_slice(any::<Vec<u8>>(random, seeds)),
        7 => {
            let other = any(random, seeds);
            let from = random.usize(..other.len());
            drop(bytes.splice(at.., other[from..].iter().copied()));
        }
        8 => {
            let piece = any(random, &REPEATED);
            drop(bytes.splice(at..at, piece.repeat(random.usize(1..20_000))));
        }
        _ => {
            if let Some(digit) = bytes.iter_mut().filter(|byte| byte.is_ascii_digit()).nth(random.usize(..8)) {
                *digit = b"0123456789"[random.usize(..10)];
            }
        }
    }
    bytes
}

/// Sends a request as it is, in one piece or two, and returns what is answered before the server waits, or ends.
fn exchanged(server: &Served, random: &mut Rng, request: &[u8]) -> Vec<u8> {
    let mut stream = server.connect();
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    let (one, other) = request.split_at(random.usize(..=request.len()));
    // A server that has refused a request does not read the rest.
    let is_taken = stream.write_all(one).is_ok() && stream.write_all(other).is_ok();
    if random.u8(..8) == 0 {
        return Vec::new();
    }
    if is_taken && random.bool() {
        let _gone = stream.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let mut piece = [0; 8192];
    while answer.len() < MOST {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => answer.extend_from_slice(&piece[..length]),
        }
    }
    answer
}

/// The first answer is one of HTTP, tells of no fault of the server, and admits only who has the token.
fn check(server: &Served, request: &[u8], answer: &[u8]) {
    let shown = || format!("{}\n{}", request.escape_ascii(), answer.escape_ascii());
    if answer.is_empty() {
        return;
    }
    let status = answer.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let status = status.and_then(|status| str::from_utf8(status).ok()).and_then(|status| status.parse::<u16>().ok());
    let status = status.unwrap_or_else(|| panic!("no answer of HTTP to {}", shown()));
    assert!(status < 500 || status == 503, "{}", shown());
    let contains = |text: &str| request.windows(text.len()).any(|part| part == text.as_bytes());
    let is_open = ["/healthz", "/readyz", "/.well-known"].into_iter().any(contains);
    assert!(!(200..300).contains(&status) || is_open || contains(&server.token), "{}", shown());
}
