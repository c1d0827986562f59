//! `portolan supervisor`, `portolan autopilot` and `portolan flow findings`, with programs that answer like agents do.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::support::Project;

const SMALL: &str = "
id: small
iterationCap: 2
phases:
  - id: idle
  - id: work
    prompt: Do it.
    accept: [{ id: made, file: made, invariant: X-1 }]
";

fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", SMALL);
    project
}

/// A program that comes first on the `PATH`. A shell writes it, so that nobody finds it busy.
fn says(project: &Project, program: &str, script: &str, line: &str) -> String {
    let folder = project.path().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "-"]).arg(folder.join(program)).stdin(Stdio::piped());
    let mut shell = shell.spawn().expect("a shell");
    shell.stdin.take().expect("its input").write_all(script.as_bytes()).expect("written");
    assert!(shell.wait().expect("it ends").success());
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("it is set"));
    let words: Vec<&str> = line.split_whitespace().collect();
    project.output_text(&project.command(&words).env("PATH", path).output().expect("the binary starts"))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text.split("exit:").next().unwrap_or_default().split("stderr:").next().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_question_is_asked_answered_and_answered_again() {
    let project = project();
    let asked = project.says_to(&["supervisor", "ask", "--choice", "yes", "--choice", "no", "--task", "t", "Merge?"]);
    let token = asked.lines().next().expect("a token").to_owned();
    assert!(asked.ends_with("exit: 0\n") && token.starts_with('q'), "{asked}");
    let listed = project.says("supervisor list").replace(&token, "<token>");
    assert!(listed.contains("<token>  t  ") && listed.contains("Merge?  yes | no"), "{listed}");
    expect![[r#"
        stderr: error: the answer is not one of the choices; the question stays open
        stderr: help: answer with one of `yes` and `no`
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("supervisor reply {token} perhaps")));
    assert_eq!(project.says(&format!("supervisor reply {token} 2")), "answered: no\nexit: 0\n");
    assert_eq!(project.says(&format!("supervisor reply {token} NO")), "answered: no (as before)\nexit: 0\n");
    expect![[r#"
        stderr: error: the question was already answered differently
        stderr: help: ask a new question if the answer must be different
        exit: 2
    "#]]
    .assert_eq(&project.says(&format!("supervisor reply {token} yes")));
    expect![[r#"
        stderr: error: no question with this token was asked
        stderr: help: `portolan supervisor list` shows the questions that are open
        exit: 2
    "#]]
    .assert_eq(&project.says("supervisor reply q0 s3cret"));
    expect![[r#"
        stderr: no question is open, and the queue is empty
        exit: 0
    "#]]
    .assert_eq(&project.says("supervisor list"));
}

#[test]
fn people_are_told_of_questions_once_and_once_more_when_nobody_answers() {
    let project = project();
    project.write(
        ".portolan/plugins.yaml",
        "notifiers: [{id: notes, file: told.jsonl}, {id: bell, command: [\"false\"]}]\n",
    );
    let ask = ["supervisor", "ask", "--choice", "yes", "--choice", "no", "--task", "t", "--within", "0s", "Merge?"];
    let told = || std::fs::read_to_string(project.path().join("told.jsonl")).unwrap_or_default();
    let asked = project.says_to(&ask);
    assert!(
        asked.contains("note: `.portolan/plugins.yaml` was not notified: ") && asked.ends_with("exit: 0\n"),
        "{asked}"
    );
    assert_eq!(told(), "", "nobody has trusted it yet");
    let token = asked.lines().next().expect("a token");
    project.says(&format!("supervisor reply {token} yes"));
    assert!(project.says("trust .portolan/plugins.yaml").ends_with("exit: 0\n"));

    let asked = project.says_to(&ask);
    assert!(asked.contains("note: `bell` was not notified: "), "{asked}");
    let token = asked.lines().next().expect("a token");
    for _ in 0..2 {
        project.says("supervisor next");
        project.says("supervisor list");
    }
    let lines: Vec<serde_json::Value> =
        told().lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let told: Vec<String> =
        lines.iter().map(|line| format!("{} {} {}", line["type"], line["replyToken"], line["body"])).collect();
    assert_eq!(
        told,
        [
            format!("\"supervisor.question.sent\" \"{token}\" \"Merge? (yes | no)\""),
            format!("\"supervisor.question.overdue\" \"{token}\" \"not answered in time: Merge?\""),
        ]
    );
}

#[test]
fn budgets_are_shown_used_up_and_raised() {
    let project = project();
    project.write(".portolan/plugins.yaml", "budgets: {task: {turns: 10, costUsd: 1}}\n");
    expect![[r#"
        task:t  9 of 10 turns         warning
        task:t  unknown of 1 costUsd  fine
        exit: 0
    "#]]
    .assert_eq(&project.says("supervisor usage --task t --turns 9"));
    expect![[r#"
        task:t  10 of 10 turns     halted
        task:t  0.25 of 1 costUsd  fine
        exit: 0
    "#]]
    .assert_eq(&project.says("supervisor usage --task t --turns 1 --cost-usd 0.25"));
    let raise = ["supervisor", "budget", "raise", "task", "turns", "--task", "t", "--to", "20", "--reason", "one more"];
    expect![[r#"
        task:t  10 of 20 turns     fine
        task:t  0.25 of 1 costUsd  fine
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&raise));
    let bypass = project.says("flow events --type flow.bypass");
    assert!(bypass.contains("I-15 bypassed (recorded) with supervisor budget raise: one more"), "{bypass}");
}

const CLAUDE: &str = r#"#!/bin/sh
test "$*" = "-p --output-format json" || exit 9
cat > "prompt-$(ls | wc -l)"
if test -e almost; then echo there > made; else touch almost; fi
echo '{"type":"result","is_error":false,"duration_ms":7,"num_turns":2,"result":"ok","session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5}}'
"#;

#[test]
fn the_autopilot_works_with_claude_and_only_the_repository_counts() {
    let project = project();
    let line = "autopilot start --goal Log-in --workflow small --driver claude --format json";
    let landed = json(&says(&project, "claude", CLAUDE, line));
    assert_eq!(landed, serde_json::json!({ "why": "done", "reason": "nothing is left to do", "sessions": 2 }));
    let status = project.says("autopilot status");
    assert_eq!(status, "0 open, 1 done, 0 called off\nexit: 0\n");
    let used = project.says("flow events --json --type supervisor.usage.recorded");
    assert_eq!(used.matches(r#""costUsd":0.5"#).count(), 2, "{used}");
}

#[test]
fn a_driver_that_fails_is_tried_until_a_person_is_asked() {
    let project = project();
    let line = "autopilot start --goal Log-in --workflow small --driver claude --max-attempts 2";
    let told = says(&project, "claude", "#!/bin/sh\necho 'Invalid API key' >&2\nexit 1\n", line);
    assert!(told.contains("a session failed: `claude` exited with status 1: Invalid API key"), "{told}");
    assert!(told.contains("`log-in` is stuck in `idle`: 2 sessions in a row did not finish its phase"), "{told}");
    assert!(told.ends_with("exit: 4\n"), "{told}");
    expect![[r#"
        stderr: error: there is no driver `claud`
        stderr: help: did you mean `claude`? there are `claude`, `codex`, `gemini` and `opencode`, and `scripted` with a script
        exit: 2
    "#]]
    .assert_eq(&project.says("autopilot start --driver claud"));
}

#[test]
fn nothing_of_a_project_runs_before_somebody_trusts_it() {
    let project = project();
    let plugins = "drivers: [{id: own, argv: [sh, -c, echo there > made]}]\n";
    project.write(".portolan/plugins.yaml", plugins);
    let line = "autopilot start --goal Log-in --workflow small --driver own";
    expect![[r#"
        stderr: error: `.portolan/plugins.yaml` names programs or addresses that have not been trusted yet
        stderr: help: a person must check them and run `portolan trust .portolan/plugins.yaml`
        exit: 4
    "#]]
    .assert_eq(&project.says(line));
    assert!(!project.path().join("made").exists());
    expect![[r#"
        .portolan/plugins.yaml: these commands may run in this project
          driver/own: sh -c "echo there > made"
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/plugins.yaml"));
    let told = project.says(line);
    assert!(told.ends_with("after 2 sessions: nothing is left to do\nexit: 0\n"), "{told}");
    project.write(".portolan/plugins.yaml", plugins.replace("made", "evil"));
    assert!(project.says(line).contains("not been trusted yet"));
}

#[test]
fn a_script_drives_a_task_and_what_the_log_shows_is_told_once() {
    let project = project();
    project.write("script.yaml", "phases: {work: [{write: {path: made, text: there}, attempt: 2}]}\n");
    let told = project.says("autopilot start --goal Log-in --workflow small --driver scripted --script script.yaml");
    assert!(told.ends_with("after 3 sessions: nothing is left to do\nexit: 0\n"), "{told}");
    expect![[r#"
        stderr: no findings
        exit: 0
    "#]]
    .assert_eq(&project.says("flow findings"));
    let log = portolan_runtime::audit::Log::of_project(&project.path()).expect("a log");
    let block = portolan_runtime::audit::LogEntry {
        run: Some("r".to_owned()),
        ..portolan_runtime::audit::LogEntry::of(
            portolan_runtime::audit::Kind::GuardBlock,
            serde_json::json!({ "guardId": "no-edit-on-integration", "reason": "no" }),
        )
    };
    let entries = vec![block; 3];
    log.append(&entries, portolan_runtime::audit::Durability::Written).expect("written");
    for _ in 0..2 {
        let found = json(&project.says("flow findings --json"));
        assert_eq!(found["findings"][0]["rule"], "repeated-block");
        assert_eq!(found["findings"][0]["evidence"].as_array().map(Vec::len), Some(3));
    }
    let recorded = project.says("flow events --json --type self-improvement.*");
    assert_eq!(recorded.lines().filter(|line| line.starts_with('{')).count(), 1, "{recorded}");
    expect![[r#"
        stderr: error: too few tasks have ended to compare others with
        stderr: help: try again when at least five have ended
        exit: 2
    "#]]
    .assert_eq(&project.says("flow findings --baseline"));
}
