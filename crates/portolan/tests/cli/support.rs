//! A scratch project, and what the binary says in it.

use crate::calls::{Calls, Move};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use portolan_core::run::Human;
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Caller, Open, Options, Service, ServiceError, View};

/// Work, a gate that may send it back once, and a person when that is not enough.
pub(crate) const SMALL: &str = r#"{
  "name": "Small",
  "nodes": {
    "start": { "type": "start" },
    "work": { "type": "task", "instructions": "Do it." },
    "verify": { "type": "gate", "maxRetries": 1, "instructions": "Is it right?" },
    "stuck": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "It fails. What now?" },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [
    { "from": "start", "to": "work" },
    { "from": "work", "to": "verify" },
    { "from": "verify", "to": "done", "on": "passed" },
    { "from": "verify", "to": "work", "on": "failed" },
    { "from": "verify", "to": "stuck", "on": "failed" },
    { "from": "stuck", "to": "work", "on": "passed" }
  ]
}
"#;

/// A graph that adds two numbers, and says which of three ways it took.
pub(crate) const SUM: &str = r#"version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds two numbers
    inputSchema:
      type: object
      properties: {a: {type: integer}, b: {type: integer}, note: {type: string}, key: {type: string, writeOnly: true}}
      required: [a, b]
    outputSchema: {type: object, required: [sum]}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: mcp, server: echo, tool: add, args: {a: {expr: $.entry.a}, b: {expr: $.entry.b}}, next: large, onError: broken}
      - id: large
        type: switch
        conditions:
          - {rule: {">": [{var: add.sum}, 10]}, next: big}
        next: small
      - {id: big, type: transform, transform: {expr: '{"sum": $.add.sum, "size": "big"}'}, next: exit}
      - {id: small, type: transform, transform: {expr: '{"sum": $.add.sum, "size": "small"}'}, next: exit}
      - {id: broken, type: transform, transform: {expr: '{"sum": 0, "error": $.add.error.message}'}, next: exit}
      - {id: exit, type: exit}
"#;

/// A workflow whose one step is checked by a command.
pub(crate) fn checked(argv: &str) -> String {
    format!(
        r#"{{ "nodes": {{ "start": {{ "type": "start" }},
  "work": {{ "type": "task", "accept": [{{ "id": "tests", "run": {argv} }}] }},
  "done": {{ "type": "end", "result": "success" }} }},
"edges": [{{ "from": "start", "to": "work" }}, {{ "from": "work", "to": "done" }}] }}
"#
    )
}

const MARKERS: [&str; 7] =
    ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE"];

/// A repository of somebody, with the person's own records beside it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    handles: Vec<String>,
    /// Whose answers count in the runs that agents begin here.
    pub(crate) human: Human,
}

impl Project {
    pub(crate) fn new() -> Project {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("project")).expect("a project");
        Project { folder, handles: Vec::new(), human: Human::Attested }
    }

    /// A project with a workflow called `small`.
    pub(crate) fn small() -> Project {
        let project = Project::new();
        project.write(".flow/workflows/small.json", SMALL);
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().expect("the project is there")
    }

    pub(crate) fn person(&self) -> PathBuf {
        self.folder.path().join("person")
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }

    /// The binary in this project, with nothing of the tester's own surroundings.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portolan"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("PORTOLAN_DATA_DIR", self.person()).env("USER", "ada");
        command.env_remove("FLOW_EVENTS_PATH").env_remove("XCODER_EVENTS_PATH");
        // What hosts of agents give to their shells: the tests may have been started by one.
        for marker in MARKERS {
            command.env_remove(marker);
        }
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// What the binary says to a command line, written as at a shell: words are split at blanks.
    pub(crate) fn says(&self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.says_to(&words)
    }

    pub(crate) fn says_to(&self, words: &[&str]) -> String {
        self.output_text(&self.command(words).output().expect("the binary starts"))
    }

    /// Standard output, standard error and exit code, with what differs each time replaced.
    pub(crate) fn output_text(&self, output: &Output) -> String {
        let mut told = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        for line in said.lines() {
            let _ = writeln!(told, "stderr: {line}");
        }
        match output.status.code() {
            Some(code) => told += &format!("exit: {code}\n"),
            None => told += &format!("{}\n", output.status),
        }
        self.settled(&told)
    }

    fn settled(&self, text: &str) -> String {
        let mut text = text.replace(&*self.path().to_string_lossy(), "<project>");
        text = text.replace(&*self.person().to_string_lossy(), "<person>");
        for (at, handle) in self.handles.iter().enumerate() {
            text = text.replace(handle, &format!("<run{}>", at + 1));
        }
        without_times(&text)
    }

    /// Begins a run as an agent would, and makes moves by the words of their outcomes; the handle is known from then
    /// on as `<run1>`, `<run2>` …
    pub(crate) fn run(&mut self, workflow: &str, outcomes: &str) -> String {
        let init =
            Open { workflow: Some(workflow.to_owned()), description: Some("make it so".to_owned()), ..Open::default() };
        let view = self.agent(async |service, me| {
            let view = service.open(&init, me).await?;
            let mut view = service.start(&view.address, None, me).await?;
            for word in outcomes.split_whitespace() {
                view = service.next(&reported(&view, word), me).await?;
            }
            Ok(view)
        });
        let handle = view.expect("the moves are accepted").address.to_string();
        self.handles.push(handle.clone());
        handle
    }

    /// Does something as an agent.
    pub(crate) fn agent<T>(
        &self,
        what: impl AsyncFnOnce(&Service, &Caller) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let clock = Clock::stepping(1_700_000_000_000);
        let (trust, human) = (Some(self.person()), self.human);
        let options = Options { trust, clock, human, ..Options::of(self.path()) };
        let service = Service::new(options)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(what(&service, &Caller::agent("tester")))
    }
}

/// A report from where the agent is: in branches, from the first that is under way.
pub(crate) fn reported(view: &View, word: &str) -> Move {
    let mut offered = view.situation.offers.iter().filter(|offer| offer.blocked_by.is_none());
    let first = offered.find(|offer| offer.revision.is_some());
    let (branch, revision) = first.map_or((None, None), |offer| (offer.branch.clone(), offer.revision));
    Move { address: view.address.clone(), branch, revision, outcome: Outcome::from(word), note: None, outputs: None }
}

pub(crate) fn address(run: &str) -> Address {
    Address::parse(run)
}

/// `2026-11-22T00:52:09Z` is `<time>`.
fn without_times(text: &str) -> String {
    const SHAPE: &str = "0000-00-00T00:00:00Z";
    let shape_of = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_time = rest.get(..SHAPE.len()).is_some_and(|head| head.chars().map(shape_of).eq(SHAPE.chars()));
        if is_time {
            out.push_str("<time>");
            rest = &rest[SHAPE.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// The repository that is tested.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
