//! What a coding agent waits for at each tool call: the whole process of `portolan hook`, from its start to its answer, in
//! a repository of 10,000 files.
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
    row("floor: /bin/true", calls, || program(Path::new("/bin/true"), &[], &project, b""));
    row("floor: git rev-parse HEAD", calls, || program(Path::new("git"), &["rev-parse", "HEAD"], &project, b""));
    row("floor: portolan --version", calls, || program(&hook, &["--version"], &project, b""));
    let ask = |name: &str, branch: &str, (tool, input): (&str, Value), said: &str| {
        git(&project, &["switch", "-q", branch]);
        let mut call = 0;
        row(name, calls, || {
            call += 1;
            let announced = json!({ "session_id": "bench", "tool_use_id": format!("{name} {call}"), "cwd": project,
                "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
            let answer =
                program(&hook, &["hook", "claude-code", "PreToolUse"], &project, announced.to_string().as_bytes());
            assert!(answer.contains(said) && (!said.is_empty() || answer.is_empty()), "{name}: {answer}");
            answer
        });
    };
    ask("edit on a branch", "feat/1-x", edit("d1/f1.rs"), "");
    ask("shell command on a branch", "feat/1-x", shell("ls -la && grep -rn x d1 | head"), "");
    ask("commit on a branch", "feat/1-x", shell("git add -A && git commit -m 'feat: x (#1)'"), "");
    ask("edit on main, which is refused", "main", edit("d1/f1.rs"), "deny");
    ask("shell command on main", "main", shell("ls -la && grep -rn x d1 | head"), "");
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
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    // One that reads nothing may have ended.
    drop(child.stdin.take().expect("a pipe").write_all(input));
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn row(name: &str, calls: usize, mut call: impl FnMut() -> String) {
    let timed = |_| {
        let begun = Instant::now();
        drop(call());
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..calls).map(timed).collect();
    times.sort();
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize].as_secs_f64() * 1e3;
    println!("{name:<40} n={calls:<6} median {:>7.2} ms   p99 {:>7.2} ms   min {:>7.2} ms", at(0.5), at(0.99), at(0.0));
}
