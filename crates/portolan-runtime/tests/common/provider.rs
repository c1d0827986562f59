//! A provider of models for tests, on this machine: it speaks OpenAI's chat completions and Anthropic's messages, whole
//! and in pieces, says what a test wants, and fails as a test wants. It needs nothing but `std` and `serde_json`, so
//! that the tests of any crate can take it in by its path.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// What the provider does with a request.
#[derive(Clone)]
pub(crate) enum Turn {
    /// It answers, in the words of the protocol that it is asked in.
    Says(Said),
    /// The same, each piece only when the gate lets it through.
    Paced(Said, Gate),
    /// The same, and the connection ends after so many bytes of the body.
    Cut(Said, usize),
    /// These bytes, with the length that they have.
    Raw { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A body of so many bytes, which nobody announced.
    Huge { media_type: &'static str, head: String, bytes: usize },
    /// The head of an answer, and then this again and again for as long as somebody listens.
    Endless { media_type: &'static str, again: String },
    /// Nothing at all, for as long as somebody listens.
    Silence,
}

impl Turn {
    pub(crate) fn error(status: u16, body: Value) -> Turn {
        Turn::raw(status, "application/json", &body.to_string())
    }

    pub(crate) fn raw(status: u16, media_type: &str, body: &str) -> Turn {
        Turn::Raw { status, headers: vec![("content-type", media_type.to_owned())], body: body.to_owned() }
    }

    /// The same with another header.
    pub(crate) fn with(self, name: &'static str, value: &str) -> Turn {
        match self {
            Turn::Raw { status, mut headers, body } => {
                headers.push((name, value.to_owned()));
                Turn::Raw { status, headers, body }
            }
            other => other,
        }
    }
}

/// What a model says.
#[derive(Clone, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    /// The tools that it asks for: an id, a name, and the text of the arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    /// Why it stops, as the protocol says it; usually what fits.
    pub(crate) finish: Option<String>,
    pub(crate) usage: Counted,
}

/// What is told of the usage.
#[derive(Clone, Default)]
pub(crate) enum Counted {
    /// 11 tokens in, 4 of them from a cache, and 7 out.
    #[default]
    Honest,
    Nothing,
    /// This.
    Told(Value),
}

impl Said {
    pub(crate) fn text(text: &str) -> Said {
        Said { text: text.to_owned(), ..Said::default() }
    }

    pub(crate) fn calling(mut self, id: &str, name: &str, arguments: &str) -> Said {
        self.calls.push((id.to_owned(), name.to_owned(), arguments.to_owned()));
        self
    }

    pub(crate) fn finish(self, finish: &str) -> Said {
        Said { finish: Some(finish.to_owned()), ..self }
    }

    pub(crate) fn usage(self, usage: Counted) -> Said {
        Said { usage, ..self }
    }
}

/// Lets pieces through one by one.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<usize>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self, pieces: usize) {
        *self.0.0.lock().expect("no panic") += pieces;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let open = self.0.0.lock().expect("no panic");
        *self.0.1.wait_while(open, |open| *open == 0).expect("no panic") -= 1;
    }
}

/// The provider. It answers as long as its process lives.
pub(crate) struct FakeProvider {
    /// Where it is, without a path: `http://127.0.0.1:…`.
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl FakeProvider {
    /// Takes these turns one after the other, and the last one for ever.
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> FakeProvider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let turns: Arc<Mutex<VecDeque<Turn>>> = Arc::new(Mutex::new(turns.into_iter().collect()));
        let told = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (turns, told) = (Arc::clone(&turns), Arc::clone(&told));
                std::thread::spawn(move || serve(stream, &turns, &told));
            }
        });
        FakeProvider { origin, seen }
    }

    /// What it was asked so far.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }
}

fn serve(stream: TcpStream, turns: &Mutex<VecDeque<Turn>>, seen: &Mutex<Vec<Seen>>) {
    let Some(request) = request(&stream) else { return };
    seen.lock().expect("no panic").push(request.clone());
    let turn = {
        let mut turns = turns.lock().expect("no panic");
        if turns.len() > 1 { turns.pop_front() } else { turns.front().cloned() }
    };
    // Whoever hangs up has heard enough.
    let _heard = answer(&stream, &request, turn.unwrap_or(Turn::Silence));
    let _closed = stream.shutdown(Shutdown::Both);
}

fn request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { path, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

fn head(mut stream: &TcpStream, status: u16, headers: &[(&str, String)]) -> std::io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    write!(stream, "{text}\r\n")
}

fn answer(mut stream: &TcpStream, request: &Seen, turn: Turn) -> std::io::Result<()> {
    let is_stream = request.body["stream"] == true;
    let pieces = |said: &Said| match request.path.ends_with("/messages") {
        true => anthropic(said, is_stream),
        false => openai(said, is_stream),
    };
    let media_type = if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let typed = |media_type: &str| ("content-type", media_type.to_owned());
    match turn {
        Turn::Says(said) => {
            let body = pieces(&said).concat();
            head(stream, 200, &[typed(media_type), ("content-length", body.len().to_string())])?;
            stream.write_all(body.as_bytes())
        }
        Turn::Paced(said, gate) => {
            head(stream, 200, &[typed(media_type)])?;
            pieces(&said).iter().try_for_each(|piece| {
                gate.pass();
                stream.write_all(piece.as_bytes())
            })
        }
        Turn::Cut(said, after) => {
            let body = pieces(&said).concat();
            // A stream announces no length: that it was cut is to be seen in what it says.
            let length = (!is_stream).then(|| ("content-length", body.len().to_string()));
            head(stream, 200, &[typed(media_type)].into_iter().chain(length).collect::<Vec<_>>())?;
            stream.write_all(&body.as_bytes()[..after.min(body.len())])
        }
        Turn::Raw { status, mut headers, body } => {
            headers.push(("content-length", body.len().to_string()));
            head(stream, status, &headers)?;
            stream.write_all(body.as_bytes())
        }
        Turn::Huge { media_type, head: begin, bytes } => {
            head(stream, 200, &[typed(media_type)])?;
            stream.write_all(begin.as_bytes())?;
            let block = [b'x'; 1 << 16];
            (0..bytes.div_ceil(block.len())).try_for_each(|_| stream.write_all(&block))
        }
        Turn::Endless { media_type, again } => {
            head(stream, 200, &[typed(media_type)])?;
            loop {
                stream.write_all(again.as_bytes())?;
            }
        }
        Turn::Silence => std::io::copy(&mut stream, &mut std::io::sink()).map(drop),
    }
}

/// The text in pieces of a word each, with the blank before it.
fn words(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 0).collect();
    starts.push(text.len());
    let pieces = starts.iter().scan(0, |from, to| Some(&text[std::mem::replace(from, *to)..*to]));
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// A text in pieces of a few characters.
fn shreds(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(4).map(|few| few.iter().collect()).collect()
}

fn openai(said: &Said, is_stream: bool) -> Vec<String> {
    let usual = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = said.finish.clone().unwrap_or_else(|| usual.to_owned());
    let usage = match &said.usage {
        Counted::Honest => json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}),
        Counted::Nothing => Value::Null,
        Counted::Told(usage) => usage.clone(),
    };
    let call = |(id, name, arguments): &(String, String, String)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    if !is_stream {
        let content = if said.text.is_empty() { Value::Null } else { json!(said.text) };
        let mut message = json!({"role": "assistant", "content": content});
        if !said.calls.is_empty() {
            message["tool_calls"] = said.calls.iter().map(call).collect();
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return vec![json!({"id": "chatcmpl-1", "model": "m-1", "choices": [choice], "usage": usage}).to_string()];
    }
    let event = |value: &Value| format!("data: {value}\n\n");
    let chunk = |delta: Value, finish: Value| {
        event(&json!({"id": "chatcmpl-1", "model": "m-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(words(&said.text).into_iter().map(|word| chunk(json!({"content": word}), Value::Null)));
    for (index, (id, name, _)) in said.calls.iter().enumerate() {
        let call = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    // The arguments of several calls come by turns.
    let shreds: Vec<Vec<String>> = said.calls.iter().map(|(_, _, arguments)| shreds(arguments)).collect();
    for turn in 0..shreds.iter().map(Vec::len).max().unwrap_or(0) {
        for (index, shred) in shreds.iter().enumerate().filter_map(|(index, shreds)| Some((index, shreds.get(turn)?))) {
            let call = json!({"index": index, "function": {"arguments": shred}});
            events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    events.push(chunk(json!({}), json!(finish)));
    if !usage.is_null() {
        events.push(event(&json!({"id": "chatcmpl-1", "model": "m-1", "choices": [], "usage": usage})));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn anthropic(said: &Said, is_stream: bool) -> Vec<String> {
    let usual = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let finish = said.finish.clone().unwrap_or_else(|| usual.to_owned());
    let usage = match &said.usage {
        Counted::Honest => json!({"input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 7}),
        Counted::Nothing => Value::Null,
        Counted::Told(usage) => usage.clone(),
    };
    let input = |arguments: &str| serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
    if !is_stream {
        let text = (!said.text.is_empty()).then(|| json!({"type": "text", "text": said.text}));
        let calls = said.calls.iter().map(
            |(id, name, arguments)| json!({"type": "tool_use", "id": id, "name": name, "input": input(arguments)}),
        );
        let content: Vec<Value> = text.into_iter().chain(calls).collect();
        return vec![
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": content,
                "stop_reason": finish, "usage": usage})
            .to_string(),
        ];
    }
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().expect("a type"));
    let mut begun = usage.clone();
    if begun["output_tokens"].is_u64() {
        begun["output_tokens"] = json!(1);
    }
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "usage": begun});
    let mut events = vec![event(json!({"type": "message_start", "message": message})), event(json!({"type": "ping"}))];
    let mut block = |index: usize, begin: Value, deltas: Vec<Value>| {
        events.push(event(json!({"type": "content_block_start", "index": index, "content_block": begin})));
        let delta = |delta| event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.extend(deltas.into_iter().map(delta));
        events.push(event(json!({"type": "content_block_stop", "index": index})));
    };
    let has_text = !said.text.is_empty();
    if has_text {
        let deltas = words(&said.text).into_iter().map(|word| json!({"type": "text_delta", "text": word}));
        block(0, json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (at, (id, name, arguments)) in said.calls.iter().enumerate() {
        let begin = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let deltas =
            shreds(arguments).into_iter().map(|shred| json!({"type": "input_json_delta", "partial_json": shred}));
        block(at + usize::from(has_text), begin, deltas.collect());
    }
    let told = match &said.usage {
        Counted::Honest => json!({"output_tokens": 7}),
        Counted::Nothing => Value::Null,
        Counted::Told(usage) => usage.clone(),
    };
    events.push(event(json!({"type": "message_delta", "delta": {"stop_reason": finish}, "usage": told})));
    events.push(event(json!({"type": "message_stop"})));
    events
}
