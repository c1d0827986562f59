//! Spans of a run from the shell: they are with the collector before the command is over.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::support::{Project, SUM};

/// A collector that takes what is sent to it, until somebody says `over`: each request's path and body.
struct Collector {
    address: String,
    taken: thread::JoinHandle<Vec<(String, Vec<u8>)>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let taken = thread::spawn(move || {
            let mut taken = Vec::new();
            for stream in listener.incoming() {
                let (path, body) = take(stream.expect("a connection"));
                if path == "/over" {
                    return taken;
                }
                taken.push((path, body));
            }
            taken
        });
        Collector { address, taken }
    }

    fn taken(self) -> Vec<(String, Vec<u8>)> {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(b"POST /over HTTP/1.1\r\nContent-Length: 0\r\n\r\n").expect("it is told");
        self.taken.join().expect("it heard")
    }
}

/// One request of a connection, answered and closed.
fn take(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.expect("a length").trim().parse().expect("a number");
            if bytes.len() >= head + 4 + length {
                let path = text.split_whitespace().nth(1).expect("a path").to_owned();
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                return (path, bytes.split_off(head + 4));
            }
        }
        match stream.read(&mut buffer).expect("it can be read") {
            0 => panic!("it ended within a request: {}", String::from_utf8_lossy(&bytes)),
            read => bytes.extend(&buffer[..read]),
        }
    }
}

#[test]
fn the_last_span_is_sent_before_the_command_is_over() {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    let collector = Collector::start();
    let mut command = project.command(&["run", "sum.yaml", "a=1", "b=2", "note=my-own-words"]);
    // Nothing but the end of the command makes it send within an hour.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "3600000");
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.address));
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", project.output_text(&output));
    let taken = collector.taken();
    assert!(taken.iter().all(|(path, _)| path == "/v1/traces"), "{taken:?}");
    let bodies: Vec<u8> = taken.into_iter().flat_map(|(_, body)| body).collect();
    let bodies = String::from_utf8_lossy(&bodies);
    for told in ["sum", "tools/call add", "large", "small", "exit"] {
        assert!(bodies.contains(told), "`{told}` is missing in {bodies:?}");
    }
    assert!(!bodies.contains("my-own-words"), "what a run works on is in no span");
}
