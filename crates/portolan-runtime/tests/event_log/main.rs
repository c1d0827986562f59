//! The event log as its writers and readers meet it: on a disk, with whatever became of its files.
#![cfg(unix)]

mod ends;
mod processes;

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use portolan_core::value::Timestamp;
use portolan_runtime::audit::{
    AuditError, Durability, Filter, Kind, Line, Log, LogEntry, follow, latest, log_of, read, tail, verify,
};
use portolan_runtime::clock::Clock;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A project with a log whose clock advances by a second each append.
struct Home {
    folder: TempDir,
    log: Log,
}

impl Home {
    fn new() -> Home {
        Home::rotating_at(1 << 20)
    }

    fn rotating_at(bytes: u64) -> Home {
        let folder = TempDir::new().expect("there is room for a directory");
        let log = Log::open(folder.path().join(".portolan/flow-events.jsonl")).expect("there is nothing in the way");
        Home { folder, log: log.with_clock(Clock::stepping(1_700_000_000_000)).rotating_at(bytes) }
    }

    fn path(&self) -> &Path {
        self.log.path()
    }

    fn append(&self, kind: Kind, data: Value) -> Line {
        let entry = LogEntry { run: Some("r1".into()), task: Some("t1".into()), ..LogEntry::of(kind, data) };
        self.log.append(&[entry], Durability::Written).expect("it can be written").remove(0)
    }

    /// Lines that are numbered in `data.n`.
    fn with(self, count: u64) -> Home {
        for n in 1..=count {
            self.append(Kind::Boot, json!({ "n": n }));
        }
        self
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).expect("it is there")
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        fs::write(self.path(), text).expect("it is ours");
    }

    /// What `verify` says, in a line.
    fn verified(&self) -> String {
        let found = verify(self.path()).expect("it can be read");
        match found.first_fault {
            None => format!("{} lines", found.lines),
            Some(fault) => {
                let name = fault.segment.file_name().expect("a file").to_string_lossy().into_owned();
                format!("{} lines; {name}:{}: {}", found.lines, fault.line, fault.what)
            }
        }
    }

    /// The numbers of the lines that a filter lets through.
    fn read(&self, filter: &Filter) -> Vec<u64> {
        let lines = read(self.path(), filter).expect("it can be read");
        lines.map(|line| line.expect("it can be read").seq).collect()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().parent().expect("a folder")).expect("it is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_line_has_its_keys_in_their_order() {
    let home = Home::new();
    home.append(Kind::Transition, json!({ "from": "test", "to": "commit", "reason": "Tests pass." }));
    home.log
        .append(&[LogEntry { phase: Some("commit".into()), ..LogEntry::of(Kind::Boot, json!({})) }], Durability::Synced)
        .expect("it can be written");
    expect![[r#"
        {"v":1,"seq":1,"id":"1ae151bdb77f7e425842","type":"flow.transition","at":"2023-11-14T22:13:20.000Z","phase":null,"taskId":"t1","runId":"r1","data":{"from":"test","to":"commit","reason":"Tests pass."},"prev":null}
        {"v":1,"seq":2,"id":"196048de8e627f6b1624","type":"flow.boot","at":"2023-11-14T22:13:21.000Z","phase":"commit","taskId":null,"runId":null,"data":{},"prev":"a200a97e740baf6930361ddcd399b5d4be19c95856b5480f60e8b79499d5f0a8"}
    "#]]
    .assert_eq(&home.text());
    assert_eq!(home.verified(), "2 lines");
    assert_eq!(home.files(), [".gitignore", "flow-events.jsonl", "flow-events.jsonl.lock"]);
}

#[test]
fn a_batch_is_one_after_the_other_and_its_text_is_deterministic() {
    let texts = [(); 2].map(|()| {
        let home = Home::new();
        let entries =
            [Kind::Bypass, Kind::AcceptancePassed, Kind::Transition].map(|kind| LogEntry::of(kind, json!({})));
        let lines = home.log.append(&entries, Durability::Written).expect("it can be written");
        assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(lines[2].prev, Some(lines[1].digest()));
        let read: Vec<Line> =
            read(home.path(), &Filter::default()).expect("it can be read").map(Result::unwrap).collect();
        assert_eq!(read, lines);
        home.text()
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn nothing_is_made_before_something_is_appended() {
    let home = Home::new();
    assert_eq!(home.log.append(&[], Durability::Synced), Ok(Vec::new()));
    assert!(home.read(&Filter::default()).is_empty() && home.verified() == "0 lines");
    assert!(!home.folder.path().join(".portolan").exists());
}

#[test]
fn lines_are_found_by_what_they_are() {
    let home = Home::new();
    home.append(Kind::GuardBlock, json!({}));
    home.append(Kind::GuardAllow, json!({}));
    home.append(Kind::TaskCompleted, json!({}));
    let other = LogEntry { run: Some("r2".into()), ..LogEntry::of(Kind::Bypass, json!({})) };
    home.log.append(&[other], Durability::Written).expect("it can be written");
    let types = |text: &str| Filter { types: Some(text.parse().expect("a type")), ..Filter::default() };
    assert_eq!(home.read(&types("flow.guard.*")), [1, 2]);
    assert_eq!(home.read(&types("flow.bypass")), [4]);
    assert_eq!(home.read(&Filter { task: Some("t1".into()), ..types("task.*") }), [3]);
    assert_eq!(home.read(&Filter { run: Some("r2".into()), ..Filter::default() }), [4]);
    assert_eq!(home.read(&Filter { since: Some(Timestamp(1_700_000_002_000)), ..Filter::default() }), [3, 4]);
    assert_eq!(home.read(&Filter { limit: Some(1), ..types("flow.guard.*") }), [2], "the newest");
    let fault = "flow.gaurd.block".parse::<portolan_runtime::audit::Types>().expect_err("no such type");
    assert_eq!(fault, "`flow.gaurd.block` is not an event type; did you mean `flow.guard.block`?");
    assert!("flaw.*".parse::<portolan_runtime::audit::Types>().is_err());
}

#[test]
fn a_log_goes_on_in_another_file() {
    let home = Home::rotating_at(1_000).with(20);
    let files = home.files();
    assert!(files.contains(&"flow-events.1.jsonl".to_owned()) && files.contains(&"flow-events.2.jsonl".to_owned()));
    assert_eq!(home.verified(), "20 lines");
    assert_eq!(home.read(&Filter::default()), (1..=20).collect::<Vec<_>>());
    let last: Vec<u64> = tail(home.path(), 9).expect("it can be read").iter().map(|line| line.seq).collect();
    assert_eq!(last, (12..=20).collect::<Vec<_>>());
    let fourth = latest(home.path(), |line| line.data["n"] == 4).expect("it can be read").expect("it is there");
    assert_eq!(fourth.seq, 4);
    assert_eq!(latest(home.path(), |line| line.data["n"] == 21), Ok(None));
    // A writer that died between two files left none that is written.
    fs::rename(home.path(), home.path().with_file_name(format!("flow-events.{}.jsonl", files.len() - 2)))
        .expect("it is ours");
    assert_eq!(home.append(Kind::Boot, json!({})).seq, 21);
    assert_eq!(home.verified(), "21 lines");
    fs::remove_file(home.path().with_file_name("flow-events.1.jsonl")).expect("it is ours");
    assert_eq!(home.verified(), "0 lines; flow-events.1.jsonl:1: the file is missing");
}

/// Makes another text of the lines of a log.
type Change = fn(&[&str]) -> String;

#[test]
fn what_was_tampered_with_is_found() {
    let cases: [(&str, Change, &str); 7] = [
        ("nothing", |lines| lines.join("\n") + "\n", "3 lines"),
        (
            "changed",
            |lines| lines.join("\n").replace("\"n\":2", "\"n\":7") + "\n",
            "1 lines; flow-events.jsonl:2: the line has been changed since it was written",
        ),
        (
            "the last one changed",
            |lines| lines.join("\n").replace("\"n\":3", "\"n\":7") + "\n",
            "2 lines; flow-events.jsonl:3: the line has been changed since it was written",
        ),
        (
            "left out",
            |lines| format!("{}\n{}\n", lines[0], lines[2]),
            "1 lines; flow-events.jsonl:2: the line has the number 3, but 2 is expected",
        ),
        (
            "put in",
            |lines| format!("{}\nhello\n{}\n", lines[0], lines[1]),
            "1 lines; flow-events.jsonl:2: the line is not an event",
        ),
        (
            "cut",
            |lines| format!("{}\n{}", lines[0], &lines[1][..50]),
            "1 lines; flow-events.jsonl:2: it ends in the middle of a line",
        ),
        (
            "endless",
            |lines| format!("{}\n{}\n", lines[0], "x".repeat(200_000)),
            "1 lines; flow-events.jsonl:2: the line is longer than any event can be",
        ),
    ];
    for (name, change, said) in cases {
        let home = Home::new().with(3);
        home.write(change(&home.text().lines().collect::<Vec<_>>()));
        assert_eq!(home.verified(), said, "{name}");
    }
    // Another chain from the beginning on is told by its head alone.
    let (one, other) = (Home::new().with(3), Home::new().with(2));
    other.append(Kind::Boot, json!({ "n": 4 }));
    let head = |home: &Home| verify(home.path()).expect("it can be read").head;
    assert_ne!(head(&one), head(&other));
}

#[test]
fn no_secret_gets_in_and_no_line_is_too_long() {
    let home = Home::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    home.append(
        Kind::GuardBlock,
        json!({ "reason": format!("`git push https://x:{key}@host` is refused"), "apiKey": 7 }),
    );
    let entry = LogEntry { task: Some(key.clone()), ..LogEntry::of(Kind::Boot, json!({ key.clone(): "x" })) };
    home.log.append(&[entry], Durability::Written).expect("it can be written");
    let many: Vec<String> = (0..1_000).map(|n| format!("{n} {}", "x".repeat(200))).collect();
    let cut = home.append(Kind::Opportunity, json!({ "evidence": many }));
    assert_eq!((&cut.data["cut"], &cut.data["keys"]), (&json!(true), &json!(["evidence"])));
    assert!(!home.text().contains(&key) && home.text().lines().all(|line| line.len() < 64 * 1024));
    assert_eq!(home.verified(), "3 lines");
}

#[test]
fn what_is_appended_is_followed_from_file_to_file() {
    let home = Home::rotating_at(1_000);
    let filter = Filter { types: Some("flow.*".parse().expect("a type")), ..Filter::default() };
    let mut reader = follow(home.path(), &filter).expect("there is nothing yet");
    let mut looks = || reader.look().expect("it can be read").iter().map(|line| line.seq).collect::<Vec<_>>();
    assert!(looks().is_empty());
    let home = home.with(1);
    home.append(Kind::TaskCompleted, json!({}));
    assert_eq!(looks(), [1], "the other one is not wanted");
    let home = home.with(10);
    assert_eq!(looks(), (3..=12).collect::<Vec<_>>());
    let whole = home.text();
    home.write(format!("{whole}{}", &whole[..40]));
    assert!(looks().is_empty(), "half a line is none");
    home.append(Kind::Boot, json!({}));
    assert_eq!(looks(), [14], "the one before tells that it was mended");
    assert!(looks().is_empty());
    let mut late = follow(home.path(), &filter).expect("it can be read");
    assert!(late.look().expect("it can be read").is_empty(), "what was there before is not new");
}

#[test]
fn variables_name_another_file() {
    let project = Path::new("/project");
    let of = |flow: Option<&'static str>, other: Option<&'static str>| {
        log_of(project, |name| match name {
            "FLOW_EVENTS_PATH" => flow.map(Into::into),
            "XCODER_EVENTS_PATH" => other.map(Into::into),
            _ => None,
        })
    };
    assert_eq!(of(None, None), PathBuf::from("/project/.portolan/flow-events.jsonl"));
    assert_eq!(of(Some("a.jsonl"), Some("/b.jsonl")), PathBuf::from("/project/a.jsonl"));
    assert_eq!(of(Some(""), Some("/b.jsonl")), PathBuf::from("/b.jsonl"));
}

fn code<T: std::fmt::Debug>(result: Result<T, AuditError>) -> &'static str {
    let error = result.expect_err("it is refused");
    assert!(!error.message.is_empty() && !error.help.is_empty() && !error.message.contains("os error"), "{error}");
    error.code
}
