//! What a coding agent waits for at each tool call: the whole process of `portolan hook`, from its start to its answer, in
//! a repository of 10,000 files in which Portolan is installed, for the agent's host and for git.
//!
//! Beside the figures stand the machine's own floors from the same run: a program that does nothing, and the cheapest
//! question that git answers.
//!
//! ```sh
//! cargo bench -p portolan --bench hook
//! PORTOLAN_BENCH_CALLS=1000 cargo bench -p portolan --bench hook
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const FILES: usize = 10_000;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    let calls = std::env::var("PORTOLAN_BENCH_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(200);
    let (calls, files) = if testing { (1, 10) } else { (calls, FILES) };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let project = repository(scratch.path(), files);
    let hook = PathBuf::from(env!("CARGO_BIN_EXE_portolan"));
    let edit = |file: &str| ("Write", json!({ "file_path": project.join(file), "content": "x" }));
    let shell = |line: &str| ("Bash", json!({ "command": line }));

    println!("{calls} calls each, in a repository of {files} files");
    let floor = |name: &str, words: &[&str], file: &Path| {
        let times = (0..calls).map(|_| timed(|| drop(program(file, words, &project, b""))));
        row(&format!("floor: {name}"), times.collect());
    };
    floor("/bin/true", &[], Path::new("/bin/true"));
    floor("git rev-parse HEAD", &["rev-parse", "HEAD"], Path::new("git"));
    floor("portolan --version", &["--version"], &hook);
    for host in ["claude-code", "git"] {
        program(&hook, &["install", host, "--yes"], &project, b"");
    }
    let ask = |name: &str, branch: &str, (tool, input): (&str, Value), said: &str| {
        git(&project, &["-c", "core.hooksPath=/dev/null", "switch", "-q", branch]);
        let announce = |event: &str, call: usize| {
            let announced = json!({ "session_id": "bench", "tool_use_id": format!("{name} {call}"), "cwd": project,
                "hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_response": {} });
            let answer = program(&hook, &["hook", "claude-code", event], &project, announced.to_string().as_bytes());
            assert!(answer.contains(said) && (!said.is_empty() || answer.is_empty()), "{name}: {answer}");
        };
        // The first call of a session on a branch looks at all files.
        announce("PreToolUse", calls);
        let is_seen_after = said.is_empty() && tool == "Bash";
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for call in 0..calls {
            before.push(timed(|| announce("PreToolUse", call)));
            if is_seen_after {
                after.push(timed(|| announce("PostToolUse", call)));
            }
        }
        row(name, before);
        if is_seen_after {
            row(&format!("{name}, afterwards"), after);
        }
    };
    ask("edit on a branch", "feat/1-x", edit("d1/f1.rs"), "");
    ask("shell command on a branch", "feat/1-x", shell("ls -la && grep -rn x d1 | head"), "");
    ask("commit on a branch", "feat/1-x", shell("git add -A && git commit -m 'feat: x (#1)'"), "");
    ask("edit on main, which is refused", "main", edit("d1/f1.rs"), "deny");
    ask("shell command on main that reads", "main", shell("ls -la && grep -rn x d1 | head"), "");
    ask("shell command on main", "main", shell("cargo build"), "");
}

fn repository(scratch: &Path, files: usize) -> PathBuf {
    let project = scratch.join("project");
    for nth in 0..files {
        let folder = project.join(format!("d{}", nth % 100));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("f{nth}.rs")), format!("// {nth}\n")).expect("a file");
    }
    git(&project, &["init", "-q", "-b", "main", "."]);
    // Git tidies up so many files in the background, beside what is measured.
    git(&project, &["config", "gc.auto", "0"]);
    git(&project, &["config", "maintenance.auto", "false"]);
    git(&project, &["add", "-A"]);
    git(&project, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "chore: begin"]);
    git(&project, &["branch", "feat/1-x"]);
    project.canonicalize().expect("it is there")
}

fn git(project: &Path, words: &[&str]) {
    assert!(Command::new("git").args(words).current_dir(project).status().expect("git").success());
}

fn program(name: &Path, words: &[&str], folder: &Path, input: &[u8]) -> String {
    let mut child = Command::new(name)
        .args(words)
        .current_dir(folder)
        .env("HOME", folder.parent().expect("a scratch folder"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    // One that reads nothing may have ended.
    drop(child.stdin.take().expect("a pipe").write_all(input));
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn timed(call: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    call();
    begun.elapsed()
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let (calls, at) =
        (times.len(), |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize].as_secs_f64() * 1e3);
    println!("{name:<46} n={calls:<6} median {:>7.2} ms   p99 {:>7.2} ms   min {:>7.2} ms", at(0.5), at(0.99), at(0.0));
}
