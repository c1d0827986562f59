//! Several processes on one log, processes that are killed while they write, and one whose disk is full.
//!
//! The processes are this program again, as the test [`child`] with a role in its environment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

const WRITERS: usize = 8;
const EACH: u64 = 1_000;

#[test]
fn eight_processes_make_one_chain() {
    let home = Home::new();
    let writers: Vec<Child> = (0..WRITERS).map(|_| start(home.path(), "count").spawn().expect("it starts")).collect();
    for mut writer in writers {
        assert!(writer.wait().expect("it is ours").success());
    }
    assert_eq!(home.verified(), format!("{} lines", EACH * WRITERS as u64));
    assert!(home.files().len() > 3, "it went on in other files meanwhile");
    let lines =
        read(home.path(), &Filter::default()).expect("it can be read").map(|line| line.expect("it can be read"));
    let mut of_each = std::collections::BTreeMap::new();
    for (line, seq) in lines.zip(1..) {
        assert_eq!(line.seq, seq);
        let last: &mut Value = of_each.entry(line.run.expect("each has one")).or_insert(json!(0));
        assert_eq!(line.data["n"].as_u64(), last.as_u64().map(|last| last + 1), "each in its own order");
        *last = line.data["n"].clone();
    }
    assert!(of_each.len() == WRITERS && of_each.values().all(|last| *last == EACH));
}

#[test]
fn kill_at_any_moment_loses_no_acknowledged_line() {
    let home = Home::new();
    let mut told = 0;
    for round in 0..30 {
        let mut writer = start(home.path(), "write").stdout(Stdio::piped()).spawn().expect("it starts");
        let says = BufReader::new(writer.stdout.take().expect("it is piped")).lines();
        let mut seqs = says.filter_map(|line| line.expect("it is text").strip_prefix("told: ")?.parse::<u64>().ok());
        for _ in 0..1 + round * 7 % 40 {
            told = told.max(seqs.next().expect("it writes until it is killed"));
        }
        writer.kill().expect("it is ours");
        writer.wait().expect("it is ours");
        told = seqs.fold(told, u64::max);
        home.append(Kind::Boot, json!({}));
        let found = verify(home.path()).expect("it can be read");
        assert_eq!(found.first_fault, None, "round {round}");
        assert!(found.lines > told, "{told} lines were told of, {} are there", found.lines);
    }
}

#[test]
fn a_disk_that_is_full_is_told_and_leaves_the_log_whole() {
    let home = Home::new().with(1);
    // The limit on the size of files stands for a full disk: a write is cut short, and the next one fails.
    let program = start(home.path(), "fill");
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]).arg(program.get_program());
    limited.args(program.get_args());
    for (name, value) in program.get_envs() {
        limited.env(name, value.expect("it is set"));
    }
    let said = limited.output().expect("there is a shell");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let told = said.lines().find_map(|line| line.strip_prefix("told: ")).unwrap_or_else(|| panic!("{said}"));
    let (code, lines) = told.split_once(' ').expect("a code and a number");
    assert_eq!(code, "log_unwritable");
    assert_eq!(home.verified(), format!("{lines} lines"), "nothing of what was refused is there");
    let lines: u64 = lines.parse().expect("it is a number");
    assert_eq!(home.append(Kind::Boot, json!({})).seq, lines + 1);
}

/// Not a test of its own: what the processes do that the others start.
#[test]
fn child() {
    let Some(path) = std::env::var_os("PORTOLAN_LOG_FILE") else { return };
    let log = Log::open(PathBuf::from(path)).expect("there is nothing in the way").rotating_at(400_000);
    let run = std::process::id().to_string();
    let entry = |n: u64| LogEntry {
        run: Some(run.clone()),
        ..LogEntry::of(Kind::Boot, json!({ "n": n, "x": "x".repeat(n as usize % 2_000) }))
    };
    match std::env::var("PORTOLAN_LOG_ROLE").expect("the parent sets both").as_str() {
        "count" => (1..=EACH).for_each(|n| {
            log.append(&[entry(n)], Durability::Written).expect("it can be written");
        }),
        "write" => (1..1_000_000).for_each(|n| {
            let batch: Vec<LogEntry> = (0..1 + n % 5).map(|more| entry(n * 97 + more)).collect();
            let lines = log.append(&batch, Durability::Written).expect("it can be written");
            tell(&lines.last().expect("it is no empty batch").seq.to_string());
        }),
        _ => {
            let failed = (1..).find_map(|n| log.append(&[entry(n + 500)], Durability::Written).err());
            let lines = verify(log.path()).expect("it can be read").lines;
            tell(&format!("{} {lines}", failed.expect("the disk is full some time").code));
        }
    }
}

/// This program in a role.
fn start(path: &Path, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program is a file"));
    command.args(["processes::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("PORTOLAN_LOG_FILE", path).env("PORTOLAN_LOG_ROLE", role).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Tells the parent, in one write, which a pipe takes whole or not at all.
fn tell(what: &str) {
    let line = format!("\ntold: {what}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("the parent listens");
}
