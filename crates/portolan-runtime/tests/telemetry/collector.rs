//! A collector: HTTP/1 on a socket of this machine. Each export that arrives is handed to the test, which may hold back
//! or choose the answer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::world::PATIENCE;

/// A collector that takes whatever comes, unless `answers` says otherwise.
pub(crate) struct Collector {
    pub(crate) url: String,
    exports: Receiver<Export>,
}

/// What a collector answers: each export takes the next of these, and 200 where there is none.
pub(crate) enum Answer {
    Status(u16),
    /// Not before the sender says so, or is dropped.
    Held(Receiver<()>),
}

/// One export.
pub(crate) struct Export {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Collector {
    pub(crate) fn new(answers: Vec<Answer>) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (tell, exports) = channel();
        thread::spawn(move || serve(&listener, &tell, answers));
        Collector { url, exports }
    }

    /// The next export.
    pub(crate) fn export(&self) -> Export {
        self.exports.recv_timeout(PATIENCE).expect("an export arrives")
    }

    /// Everything that has arrived. Call it when nothing more is on its way.
    pub(crate) fn all(&self) -> Vec<Export> {
        self.exports.try_iter().collect()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.all().iter().flat_map(Export::spans).collect()
    }
}

impl Export {
    pub(crate) fn request(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(&*self.body).expect("it is what OTLP says")
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let resources = self.request().resource_spans.into_iter();
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

fn serve(listener: &TcpListener, tell: &Sender<Export>, answers: Vec<Answer>) {
    let mut answers = answers.into_iter();
    for stream in listener.incoming() {
        let Ok(stream) = stream else { return };
        // The exporter has one export under way at a time: connections follow one another.
        if !talk(stream, tell, &mut answers) {
            return;
        }
    }
}

/// Answers the requests of a connection until it is closed; whether somebody still listens.
fn talk(stream: TcpStream, tell: &Sender<Export>, answers: &mut impl Iterator<Item = Answer>) -> bool {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be shared"));
    let mut writer = stream;
    while let Some(export) = read(&mut reader) {
        if tell.send(export).is_err() {
            return false;
        }
        let status = match answers.next() {
            None => 200,
            Some(Answer::Status(status)) => status,
            Some(Answer::Held(until)) => {
                // Dropped without a word is as good.
                let _ = until.recv();
                200
            }
        };
        if write!(writer, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").is_err() {
            break;
        }
    }
    true
}

fn read(reader: &mut impl BufRead) -> Option<Export> {
    let line = |reader: &mut dyn BufRead| {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line(reader)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let next = line(reader)?;
        let Some((name, value)) = next.split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Export { path, headers, body })
}
