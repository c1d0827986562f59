//! What is told as it happens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SUM};

/// A stream of events.
pub(super) struct Stream(BufReader<TcpStream>);

/// An event: its name, its identifier and its data.
#[derive(Debug)]
struct Event {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Studio {
    /// Begins to read. The protocol's older version is spoken: then nothing stands between the events.
    pub(super) fn events(&self, query: &str, last: Option<&str>) -> Stream {
        let (host, bearer) = (self.host(), self.bearer());
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let head =
            format!("GET /api/v1/events{query} HTTP/1.0\r\nHost: {host}\r\nAuthorization: {bearer}\r\n{last}\r\n");
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).expect("it listens");
        let mut stream = Stream(BufReader::new(stream));
        assert_eq!(stream.next().expect("it begins").name, "here");
        stream
    }
}

impl Stream {
    /// The next event; nothing once the stream has ended.
    fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (None, None, Value::Null);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("it goes on") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", text)) => name = Some(text.to_owned()),
                Some(("id", text)) => id = Some(text.to_owned()),
                Some(("data", text)) => data = serde_json::from_str(text).expect("it is JSON"),
                None if line.trim().is_empty() => {
                    if let Some(name) = name.take() {
                        return Some(Event { name, id, data });
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads on to an event of this name.
    pub(super) fn wait_for(&mut self, name: &str) {
        while self.next().expect("it goes on").name != name {}
    }

    /// Everything that is told up to an event, which is known by its name and its data: both of each, in one text.
    pub(super) fn up_to(&mut self, is_last: impl Fn(&str, &Value) -> bool) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let Event { name, data, .. } = self.next().expect("it goes on");
            told.push(format!("{name} {data}"));
            if is_last(&name, &data) {
                return told;
            }
        }
    }

    /// The next record: its run, its number and its identifier.
    fn record(&mut self) -> (String, u64, String) {
        loop {
            let event = self.next().expect("it goes on");
            if event.name == "record" {
                let run = event.data["run"].as_str().expect("a run").to_owned();
                return (run, event.data["seq"].as_u64().expect("a number"), event.id.expect("an identifier"));
            }
        }
    }
}

#[test]
fn records_are_told_as_other_processes_keep_them() {
    let mut project = Project::small();
    let studio = Studio::of(&project, &[]);
    // Times of this project's runs lie in the past, of which a stream that begins now says nothing.
    let mut stream = studio.events("", Some("0"));
    let run = project.run("small", "passed");
    for seq in 1..=3 {
        let told = stream.record();
        assert_eq!((&*told.0, told.1), (&*run, seq));
    }
}

#[test]
fn a_stream_that_was_cut_off_goes_on_without_a_gap() {
    let mut project = Project::small();
    let run = project.run("small", "passed");
    let first = Studio::of(&project, &[]);
    let mut stream = first.events("", Some("0"));
    let last = loop {
        let (_, seq, id) = stream.record();
        if seq == 2 {
            break id;
        }
    };
    // The reader is cut off, and the studio ends with it: another one goes on.
    drop((stream, first));
    let next = Studio::of(&project, &[]);
    let mut stream = next.events("", Some(&last));
    let told = loop {
        let told = stream.record();
        if told.1 > 2 {
            break told;
        }
    };
    assert_eq!((&*told.0, told.1), (&*run, 3));
}

#[test]
fn one_run_alone_is_followed() {
    let mut project = Project::small();
    let one = project.run("small", "");
    let _other = project.run("small", "passed");
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events(&format!("?run={one}"), Some("0"));
    for seq in 1..=2 {
        let told = stream.record();
        assert_eq!((&*told.0, told.1), (&*one, seq));
    }
}

#[test]
#[cfg(unix)]
fn a_studio_that_ends_says_so_and_ends_its_streams() {
    let project = Project::small();
    let mut studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let ended = std::process::Command::new("kill").args(["-TERM", &studio.child.id().to_string()]).status();
    assert!(ended.expect("it can be told").success());
    assert_eq!(stream.next().expect("it says so").name, "bye");
    assert!(stream.next().is_none());
    assert!(studio.child.wait().expect("it ends").success());
}

#[test]
fn a_definition_that_changes_on_disk_is_told() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    // The first look has happened by the time that something else was told.
    project.write(".flow/workflows/more.json", crate::support::SMALL);
    assert_eq!(stream.next().expect("it goes on").name, "definitions");
}

/// That a run waits, goes on or is stopped is no record. Whoever asks for it after each of these events knows how it stands.
#[test]
fn how_a_run_is_driven_is_told_whenever_that_changes() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let wanted = json!({ "input": { "a": 2, "b": 40 }, "answers": { "add": { "sum": 42 } }, "breakpoints": ["large"] });
    let run = studio.begun("sums", &wanted);
    let mut until = |stands: &dyn Fn(&Value) -> bool| loop {
        let event = stream.next().expect("it goes on");
        if event.name == "driven" {
            assert_eq!(event.data, json!({ "run": run }));
            let driven = studio.get(&format!("/runs/{run}")).json()["driven"].clone();
            if stands(&driven) {
                break;
            }
        }
    };
    until(&|driven| driven["phase"] == "paused" && driven["before"] == "large");
    studio.control(&run, &json!({ "breakpoints": ["big"] }));
    until(&|driven| driven["breakpoints"][0]["node"] == "big");
    studio.control(&run, &json!({ "do": "resume" }));
    until(&|driven| driven["before"] == "big");
    studio.control(&run, &json!({ "do": "step" }));
    until(&|driven| driven["before"] == "exit");
    studio.control(&run, &json!({ "do": "stop" }));
    until(&|driven| driven["phase"] == "stopped");
}
