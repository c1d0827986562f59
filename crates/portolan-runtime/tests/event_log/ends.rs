//! Ends of logs that are none, and files that cannot be one.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use portolan_runtime::audit::MAX_LINE_BYTES;

use super::*;

/// The `data` of the entry that tells of a repair, without its digest, after one more line was appended.
fn mended(home: &Home) -> String {
    home.append(Kind::Boot, json!({}));
    let repair = latest(home.path(), |line| line.kind == "log.repaired").expect("it can be read");
    match repair {
        None => "nothing".to_owned(),
        Some(line) => format!("{} {}", line.seq, line.data),
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must know what they did not test")]
fn unchecked(why: &str) {
    eprintln!("NOT CHECKED: {why}");
}

#[test]
fn half_a_line_is_cut_off() {
    let home = Home::new().with(2);
    let whole = home.text();
    home.write(format!("{whole}{{\"v\":1,\"se"));
    assert!(mended(&home).starts_with(r#"3 {"done":"cut","bytes":10,"digest":"#));
    assert_eq!(home.verified(), "4 lines");
    assert!(home.text().starts_with(&whole), "what was whole is untouched");
    assert_eq!(home.read(&Filter::default()), [1, 2, 3, 4]);
}

#[test]
fn half_a_line_that_is_all_there_is_or_longer_than_a_line_is_cut_off() {
    let home = Home::new().with(1);
    home.write("{");
    assert!(mended(&home).starts_with("1 {\"done\":\"cut\""));
    assert_eq!(home.verified(), "2 lines");
    let home = Home::new().with(2);
    home.write(home.text() + &"\0".repeat(3 * MAX_LINE_BYTES));
    assert_eq!(mended(&home), r#"3 {"done":"cut","bytes":196608,"digest":null}"#);
    assert_eq!(home.verified(), "4 lines");
}

#[test]
fn a_line_that_lacks_its_end_gets_it() {
    let home = Home::new().with(3);
    home.write(home.text().trim_end());
    assert!(mended(&home).starts_with("4 {\"done\":\"terminated\""));
    assert_eq!(home.verified(), "5 lines");
    let alone = Home::new().with(1);
    alone.write(alone.text().trim_end());
    assert!(mended(&alone).starts_with("2 {\"done\":\"terminated\""));
    assert_eq!(alone.verified(), "3 lines");
}

#[test]
fn lines_that_are_no_events_stay_for_whoever_looks_into_it() {
    let home = Home::new().with(2);
    home.write(home.text() + "hello\nworld\n");
    assert_eq!(mended(&home), r#"3 {"done":"passed-over","lines":2}"#);
    assert_eq!(home.append(Kind::Boot, json!({})).seq, 5);
    assert_eq!(home.text().matches("log.repaired").count(), 1, "it is told once");
    assert_eq!(home.verified(), "2 lines; flow-events.jsonl:3: the line is not an event");
    assert_eq!(home.read(&Filter::default()), [1, 2, 3, 4, 5]);
}

#[test]
fn a_file_whose_end_cannot_be_found_is_not_written() {
    let home = Home::new().with(1);
    home.write(format!("{}{}", home.text(), "\n".repeat(17 << 20)));
    let before = home.text().len();
    assert_eq!(code(home.log.append(&[LogEntry::of(Kind::Boot, json!({}))], Durability::Written)), "log_damaged");
    assert_eq!(home.text().len(), before);
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let home = Home::new().with(1);
    assert_eq!(code(Log::open("/dev/full")), "log_refused");
    assert_eq!(code(Log::open(home.folder.path())), "log_refused");
    assert_eq!(code(Log::open("")), "log_refused");
    let pipe = home.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it is there").success());
    assert_eq!(code(Log::open(&pipe)), "log_refused");
    assert_eq!(code(verify(&pipe)), "log_unreadable");
    let link = home.folder.path().join("link.jsonl");
    symlink(home.path(), &link).expect("a link is made");
    assert_eq!(code(Log::open(&link)), "log_refused");
    assert_eq!(code(verify(&link)), "log_unreadable");
    // It was a file when it was opened.
    fs::remove_file(home.path()).expect("it is ours");
    symlink("/dev/full", home.path()).expect("a link is made");
    assert_eq!(code(home.log.append(&[LogEntry::of(Kind::Boot, json!({}))], Durability::Written)), "log_refused");
}

#[test]
fn a_folder_that_leads_out_of_the_project_is_refused() {
    if ["FLOW_EVENTS_PATH", "XCODER_EVENTS_PATH"].iter().any(|name| std::env::var_os(name).is_some()) {
        return unchecked("a variable names the log of every project");
    }
    let (project, elsewhere) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    symlink(elsewhere.path(), project.path().join(".portolan")).expect("a link is made");
    assert_eq!(code(Log::of_project(project.path())), "log_refused");
    let linked = elsewhere.path().join("project");
    symlink(TempDir::new().expect("a folder").keep(), &linked).expect("a link is made");
    let log = Log::of_project(&linked).expect("the project itself may be a link");
    log.append(&[LogEntry::of(Kind::Boot, json!({}))], Durability::Written).expect("it can be written");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let home = Home::new().with(1);
    let blocked = Log::open(home.path().join("below/flow-events.jsonl"));
    let appended = blocked.and_then(|log| log.append(&[LogEntry::of(Kind::Boot, json!({}))], Durability::Written));
    assert!(["log_unwritable", "log_unreadable"].contains(&code(appended)));
    let folder = home.path().parent().expect("a folder").to_owned();
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n");
    if is_root {
        return unchecked("nothing is forbidden to root");
    }
    let log = Log::open(folder.join("other.jsonl")).expect("there is nothing in the way");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("it is ours");
    let appended = log.append(&[LogEntry::of(Kind::Boot, json!({}))], Durability::Written);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("it is ours");
    assert_eq!(code(appended), "log_unwritable");
}
