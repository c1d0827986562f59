//! Hosts × events × decisions, as files. `<case>@<event>.json` is the host's announcement, `<case>@<event>.txt` is what
//! is read from it, and the answers. `UPDATE_EXPECT=1` rewrites the answers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{expect, expect_file};
use portolan_gates::{Decision, Tool};

use super::*;

fn cases(host: Host) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hook").join(host.name())
}

#[test]
fn what_hosts_write_is_read_and_answered_in_their_own_bytes() {
    for host in Host::ALL {
        let mut covered = BTreeSet::new();
        for entry in fs::read_dir(cases(host)).expect("cases") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let (_, event) = name.split_once('@').expect("a case names its event");
            covered.insert(event.to_owned());
            let story = story(host, event, &fs::read(&path).expect("a case"));
            expect_file![path.with_extension("txt")].assert_eq(&story);
        }
        for event in host.events() {
            assert!(covered.contains(event.name), "{} has no case for `{}`", host.name(), event.name);
        }
    }
}

fn story(host: Host, event: &str, stdin: &[u8]) -> String {
    let mut story = String::new();
    match read(host, event, stdin) {
        Ok(call) => {
            let _ = writeln!(story, "{}\n", call_text(&call));
            for (title, answer) in answers(call.stage) {
                let _ = write!(story, "## {title}\n{}\n", drawn(&super::answer(host, event, &answer)));
            }
        }
        Err(unreadable) => {
            let _ = write!(story, "unreadable: {}\n\n", unreadable.message);
            let reply = refuse(host, event, &unreadable);
            assert_eq!(is_denial(host, event, &reply), unreadable.stage == Stage::BeforeTool, "{host} {event}");
            let _ = write!(story, "## answer\n{}", drawn(&reply));
        }
    }
    story.trim_end().to_owned() + "\n"
}

fn call_text(call: &Call) -> String {
    let mut told = format!("{:?} {}", call.stage, call.event);
    let mut field = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            let _ = write!(told, "\n{name}: {value}");
        }
    };
    field("session", &call.session);
    field("folder", &call.folder);
    field("source", &call.source);
    field("task", &call.task);
    if let Some(stop) = call.stop {
        let _ = write!(told, "\nstop: {stop:?}");
    }
    if let Some(intent) = &call.intent {
        assert_eq!(intent.session, call.session);
        let _ = write!(told, "\ntool: {} = {:?}\nin: {}", intent.name, intent.tool, intent.folder);
        let _ = write!(
            told,
            "\ncall: {:?}, agent: {:?}\narguments: {}",
            intent.call,
            intent.agent,
            intent.arguments.join(", ")
        );
    }
    told
}

fn answers(stage: Stage) -> Vec<(&'static str, Answer)> {
    let full = |decision| Answer {
        decision,
        reason: "I-2: `main` is the integration branch".to_owned(),
        remedies: vec!["git switch -c feat/42-login".to_owned(), "commit again".to_owned()],
        ..Answer::allowed()
    };
    let context = Some("phase: branch".to_owned());
    let mut answers = vec![
        ("allow", Answer::allowed()),
        ("allow, with context", Answer { context: context.clone(), ..Answer::allowed() }),
        ("ask", full(Decision::Ask)),
        ("block", full(Decision::Block)),
        ("block, with context", Answer { context, ..full(Decision::Block) }),
    ];
    if stage == Stage::BeforeToolSelection {
        let some = Some(vec!["read_file".to_owned(), "mcp_portolan_next".to_owned()]);
        answers.push(("two tools", Answer { allowed_tools: some, ..Answer::allowed() }));
        answers.push(("no tools", Answer { allowed_tools: Some(Vec::new()), ..Answer::allowed() }));
    }
    answers
}

fn drawn(reply: &Reply) -> String {
    let mut drawn = String::new();
    for line in reply.stdout.lines() {
        let _ = writeln!(drawn, "stdout: {line}");
    }
    for line in reply.stderr.lines() {
        let _ = writeln!(drawn, "stderr: {line}");
    }
    let _ = writeln!(drawn, "status: {}", reply.status);
    drawn
}

/// Checks that no host lets a call pass that is not allowed.
#[test]
fn what_is_not_allowed_is_refused_by_every_host() {
    for host in Host::ALL {
        for event in host.events().iter().filter(|event| event.stage == Stage::BeforeTool) {
            for (title, given) in answers(Stage::BeforeTool) {
                let reply = answer(host, event.name, &given);
                let denied = is_denial(host, event.name, &reply);
                let asks = matches!(host, Host::ClaudeCode | Host::Copilot) && given.decision == Decision::Ask;
                let expected = given.decision != Decision::Allow && !asks;
                assert_eq!(denied, expected, "{host} {} {title}: {reply:?}", event.name);
                assert!(!asks || reply.stdout.contains(r#""permissionDecision":"ask""#));
            }
            let unsaid = answer(host, event.name, &Answer::blocked(" "));
            assert!(is_denial(host, event.name, &unsaid), "{host} without a reason: {unsaid:?}");
        }
    }
}

#[test]
fn bytes_that_only_look_like_a_refusal_are_none() {
    let reply =
        |stdout: &str, stderr: &str, status| Reply { stdout: stdout.to_owned(), stderr: stderr.to_owned(), status };
    let flat = r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#;
    let nested = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let more = r#"{"suppressOutput":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let before = |host: Host| host.events()[0].name;
    for (host, reply, expected) in [
        (Host::ClaudeCode, reply(flat, "", 0), false),
        (Host::ClaudeCode, reply(nested, "", 0), true),
        (Host::ClaudeCode, reply(nested, "", 1), false),
        (Host::ClaudeCode, reply("", "no", 127), false),
        (Host::Codex, reply(nested, "", 0), true),
        (Host::Codex, reply(more, "", 0), false),
        (Host::Codex, reply("", "", 2), false),
        (Host::Codex, reply("", "no", 2), true),
        (Host::Cursor, reply(r#"{"permission":"ask"}"#, "", 0), false),
        (Host::Gemini, reply("log line\n{\"decision\":\"deny\"}", "", 0), false),
        (Host::Gemini, reply(r#"{"decision":"deny"}"#, "", 0), true),
        (Host::OpenCode, reply("", "", 0), true),
        (Host::OpenCode, reply(r#"{"decision":"allow"}"#, "", 0), false),
    ] {
        assert_eq!(is_denial(host, before(host), &reply), expected, "{host}: {reply:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_before_a_tool_and_passes_elsewhere() {
    let deep = format!("{{\"tool_input\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let large = format!(r#"{{"tool_name":"x","cwd":"/","tool_input":{{"a":"{}"}}}}"#, "a".repeat(10 << 20));
    let inputs: [&[u8]; 9] = [
        b"",
        b"oops",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe{}",
        br#"{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"here"}"#,
        deep.as_bytes(),
        large.as_bytes(),
    ];
    for host in Host::ALL {
        for event in host.events() {
            for input in inputs {
                let found = read(host, event.name, input);
                let Err(unreadable) = found else {
                    assert!(!matches!(event.stage, Stage::BeforeTool | Stage::AfterTool), "{host} {}", event.name);
                    continue;
                };
                let reply = refuse(host, event.name, &unreadable);
                let denied = is_denial(host, event.name, &reply);
                assert_eq!(denied, event.stage == Stage::BeforeTool, "{host} {}: {reply:?}", event.name);
                assert!(reply.stdout.len() + reply.stderr.len() < 2_000, "{reply:?}");
                let vetoes = event.stage == Stage::TaskCompleted;
                assert_eq!(reply.status, if vetoes { 2 } else { 0 }, "{host} {}", event.name);
            }
        }
    }
}

#[test]
fn messages_steer_no_terminal_and_are_bounded() {
    let reason = format!("branch `\u{1b}[2Jx\u{202e}` {}", "é".repeat(50_000));
    let reply = answer(Host::Codex, "PreToolUse", &Answer::blocked(reason));
    assert!(reply.stdout.contains(r"\\u{1b}[2Jx\\u{202e}"), "{}", &reply.stdout[..300]);
    assert!(reply.stdout.len() < 20_000 && is_denial(Host::Codex, "PreToolUse", &reply));
}

fn tool_of(host: Host, name: &str, input: &str) -> String {
    let event = host.events()[0].name;
    let text = format!(r#"{{"cwd":"/p","tool_name":"{name}","tool_input":{input}}}"#);
    match read(host, event, text.as_bytes()) {
        Ok(call) => match call.intent.expect("a tool").tool {
            Tool::Edit { paths } => format!("edits {}", paths.join(" ")),
            Tool::Shell { command } => format!("runs {command}"),
            Tool::Mcp { server, tool, does } => match does.as_deref() {
                None => format!("mcp {server} / {tool}"),
                Some(Tool::Shell { command }) => format!("mcp {server} / {tool}, which runs {command}"),
                Some(Tool::Edit { paths }) => format!("mcp {server} / {tool}, which edits {}", paths.join(" ")),
                Some(other) => format!("mcp {server} / {tool}, which is {other:?}"),
            },
            Tool::Reads => "reads".to_owned(),
            Tool::Other => "other".to_owned(),
        },
        Err(unreadable) => unreadable.message,
    }
}

#[test]
fn tools_are_known_by_their_names_and_else_by_their_arguments() {
    let mut told = String::new();
    for (host, name, input) in [
        (Host::ClaudeCode, "mcp__git__commit", "{}"),
        (Host::ClaudeCode, "mcp__git", "{}"),
        (Host::ClaudeCode, "Shiny", r#"{"command":"git commit"}"#),
        (Host::ClaudeCode, "Rewrite", r#"{"file_path":"a","content":"b"}"#),
        (Host::ClaudeCode, "Look", r#"{"file_path":"a"}"#),
        (Host::ClaudeCode, "Task", r#"{"prompt":"do it"}"#),
        (Host::ClaudeCode, "Bash", r#"{"command":7}"#),
        (Host::ClaudeCode, "Edit", r#"{"old_string":"a"}"#),
        (Host::Codex, "shell", r#"{"command":["git","commit","-m","it's"]}"#),
        (
            Host::Codex,
            "apply_patch",
            r#"{"command":"*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** End Patch"}"#,
        ),
        (Host::Codex, "apply_patch", r#"{"command":"nothing"}"#),
        (Host::Cursor, "MCP:create_issue", "{}"),
        (Host::Gemini, "mcp_git_hub_create", "{}"),
        (Host::OpenCode, "github_create_issue", "{}"),
        (Host::OpenCode, "apply_patch", r#"{"patchText":"*** Update File: a"}"#),
        (Host::Copilot, "github-mcp-server-list_issues", "{}"),
        (
            Host::Copilot,
            "multi_replace_string_in_file",
            r#"{"replacements":[{"filePath":"/p/a"},{"filePath":"/p/b"},{"filePath":"/p/a"}]}"#,
        ),
        (Host::Copilot, "editFiles", r#"{"files":["a","b"]}"#),
    ] {
        let _ = writeln!(told, "{} {name}: {}", host.name(), tool_of(host, name, input));
    }
    expect![[r#"
        claude-code mcp__git__commit: mcp git / commit, which runs git commit
        claude-code mcp__git: mcp git / 
        claude-code Shiny: runs git commit
        claude-code Rewrite: edits a
        claude-code Look: other
        claude-code Task: other
        claude-code Bash: the tool `Bash` was called without its command
        claude-code Edit: the tool `Edit` was called without the path of its file
        codex shell: runs git commit -m 'it'\''s'
        codex apply_patch: edits a b.txt c d e
        codex apply_patch: the tool `apply_patch` was called without the path of its file
        cursor MCP:create_issue: mcp  / create_issue
        gemini mcp_git_hub_create: mcp git / hub_create
        opencode github_create_issue: mcp github / create_issue
        opencode apply_patch: edits a
        copilot github-mcp-server-list_issues: mcp github-mcp-server / list_issues
        copilot multi_replace_string_in_file: edits /p/a /p/b
        copilot editFiles: edits a b
    "#]]
    .assert_eq(&told);
}

#[test]
fn tools_of_servers_are_known_for_what_they_do() {
    let mut told = String::new();
    for (host, name, input) in [
        (Host::ClaudeCode, "mcp__github__merge_pull_request", r#"{"owner":"me","repo":"it","pullNumber":12}"#),
        (Host::ClaudeCode, "mcp__github__push_files", r#"{"owner":"me","repo":"it","branch":"main","files":[]}"#),
        (Host::ClaudeCode, "mcp__github__create_or_update_file", r#"{"repo":"it","branch":"feat/1","path":"a"}"#),
        (Host::ClaudeCode, "mcp__github__delete_file", r#"{"owner":"me","repo":"it","path":"a"}"#),
        (Host::ClaudeCode, "mcp__github__create_branch", r#"{"owner":"me","repo":"it","branch":"release/1"}"#),
        (Host::ClaudeCode, "mcp__github__delete_branch", r#"{"repo":"me/it","branch":"main"}"#),
        (Host::ClaudeCode, "mcp__github__push_files", r#"{"owner":"a b","repo":"../it","branch":"main"}"#),
        (Host::ClaudeCode, "mcp__gitlab__push_files", r#"{"project_id":"7","branch":"main"}"#),
        (Host::ClaudeCode, "mcp__gitlab__push_files", r#"{"project_id":"me/it","branch":"main"}"#),
        (Host::ClaudeCode, "mcp__github__update_pull_request_branch", r#"{"pullNumber":1}"#),
        (Host::ClaudeCode, "mcp__github__pull_request_review_write", r#"{"event":"APPROVE"}"#),
        (Host::ClaudeCode, "mcp__github__pull_request_review_write", r#"{"event":"COMMENT"}"#),
        (Host::ClaudeCode, "mcp__github__list_issues", "{}"),
        (Host::Gemini, "mcp_my_hub_merge_pull_request", r#"{"pull_number":"1; git push"}"#),
        (Host::ClaudeCode, "mcp__gitlab__merge_merge_request", r#"{"project_id":1,"merge_request_iid":"2"}"#),
        (Host::ClaudeCode, "mcp__git__git_commit", r#"{"repo_path":"/p","message":"it's"}"#),
        (Host::ClaudeCode, "mcp__git__commit", r#"{"repoPath":"/p","message":"x","noVerify":true}"#),
        (Host::ClaudeCode, "mcp__git__git_push", r#"{"repo_path":"/p","branch":"main","force":true}"#),
        (Host::ClaudeCode, "mcp__git__git_checkout", r#"{"repo_path":"/p","branch_name":"main"}"#),
        (Host::ClaudeCode, "mcp__git__git_reset", r#"{"repo_path":"/p"}"#),
        (Host::ClaudeCode, "mcp__git__git_add", r#"{"repo_path":"/p","files":["a","b c"]}"#),
        (Host::ClaudeCode, "mcp__git__git_create_branch", r#"{"repo_path":"/p","branch_name":"b","base_branch":"c"}"#),
        (Host::ClaudeCode, "mcp__git__git_branch", r#"{"mode":"delete","branchName":"main","force":true}"#),
        (Host::ClaudeCode, "mcp__git__git_branch", r#"{"repo_path":"/p","branch_type":"all"}"#),
        (Host::ClaudeCode, "mcp__x__create_branch", r#"{"repo_path":"/p","branch_name":"release/1"}"#),
        (Host::ClaudeCode, "mcp__git__git_delete_branch", r#"{"name":"main"}"#),
        (Host::Gemini, "mcp_git_hub_push_files", r#"{"branch":"main"}"#),
        (Host::ClaudeCode, "mcp__git__git_merge", r#"{"path":"/p","branch":"b"}"#),
        (Host::ClaudeCode, "mcp__git__git_remote", r#"{"mode":"add","name":"evil","url":"../x"}"#),
        (Host::ClaudeCode, "mcp__git__git_status", r#"{"repo_path":"/p"}"#),
        (Host::ClaudeCode, "mcp__filesystem__write_file", r#"{"path":"/p/a","content":"x"}"#),
        (Host::ClaudeCode, "mcp__filesystem__edit_file", r#"{"path":"a","edits":[{"oldText":"a","newText":"b"}]}"#),
        (Host::ClaudeCode, "mcp__filesystem__edit_file", r#"{"path":"a","edits":[],"dryRun":true}"#),
        (Host::ClaudeCode, "mcp__filesystem__move_file", r#"{"source":"a","destination":"b"}"#),
        (Host::ClaudeCode, "mcp__filesystem__create_directory", r#"{"path":"a b"}"#),
        (Host::ClaudeCode, "mcp__filesystem__read_file", r#"{"path":"a"}"#),
        (Host::OpenCode, "files_createFile", r#"{"path":"a"}"#),
        (Host::Cursor, "MCP:run_command", r#"{"command":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__execute_command", r#"{"command":"git","args":["commit","-m","a b"],"cwd":"/q"}"#),
        (Host::ClaudeCode, "mcp__x__bash", r#"{"script":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__shell", r#"{"cmd":["git","push"]}"#),
        (Host::ClaudeCode, "mcp__x__shell", r#"{"command":7}"#),
        (Host::ClaudeCode, "mcp__portolan__execute", r#"{"command":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__deploy", r#"{"command":"git push"}"#),
    ] {
        let _ = writeln!(told, "{} {name}: {}", host.name(), tool_of(host, name, input));
    }
    expect![[r#"
        claude-code mcp__github__merge_pull_request: mcp github / merge_pull_request, which runs gh pr merge -R me/it 12
        claude-code mcp__github__push_files: mcp github / push_files, which runs git push forge://me/it HEAD:refs/heads/main
        claude-code mcp__github__create_or_update_file: mcp github / create_or_update_file, which runs git push origin HEAD:refs/heads/feat/1
        claude-code mcp__github__delete_file: mcp github / delete_file, which runs gh api -X POST contents
        claude-code mcp__github__create_branch: mcp github / create_branch, which runs git push forge://me/it HEAD:refs/heads/release/1
        claude-code mcp__github__delete_branch: mcp github / delete_branch, which runs git push forge://me/it :refs/heads/main
        claude-code mcp__github__push_files: mcp github / push_files, which runs git push origin HEAD:refs/heads/main
        claude-code mcp__gitlab__push_files: mcp gitlab / push_files, which runs git push origin HEAD:refs/heads/main
        claude-code mcp__gitlab__push_files: mcp gitlab / push_files, which runs git push forge://me/it HEAD:refs/heads/main
        claude-code mcp__github__update_pull_request_branch: mcp github / update_pull_request_branch, which runs gh api -X POST pulls/update-branch
        claude-code mcp__github__pull_request_review_write: mcp github / pull_request_review_write, which runs gh pr review --approve
        claude-code mcp__github__pull_request_review_write: mcp github / pull_request_review_write
        claude-code mcp__github__list_issues: mcp github / list_issues
        gemini mcp_my_hub_merge_pull_request: mcp my / hub_merge_pull_request, which runs gh pr merge '1; git push'
        claude-code mcp__gitlab__merge_merge_request: mcp gitlab / merge_merge_request, which runs gh pr merge 2
        claude-code mcp__git__git_commit: mcp git / git_commit, which runs git -C /p commit '--message=it'\''s'
        claude-code mcp__git__commit: mcp git / commit, which runs git -C /p commit --message=x --no-verify
        claude-code mcp__git__git_push: mcp git / git_push, which runs git -C /p push --force origin main
        claude-code mcp__git__git_checkout: mcp git / git_checkout, which runs git -C /p checkout main
        claude-code mcp__git__git_reset: mcp git / git_reset, which runs git -C /p reset
        claude-code mcp__git__git_add: mcp git / git_add, which runs git -C /p add a 'b c'
        claude-code mcp__git__git_create_branch: mcp git / git_create_branch, which runs git -C /p branch b c
        claude-code mcp__git__git_branch: mcp git / git_branch, which runs git branch -D main
        claude-code mcp__git__git_branch: mcp git / git_branch
        claude-code mcp__x__create_branch: mcp x / create_branch, which runs git -C /p branch release/1
        claude-code mcp__git__git_delete_branch: mcp git / git_delete_branch, which runs git branch -d main
        gemini mcp_git_hub_push_files: mcp git / hub_push_files, which runs git push origin HEAD:refs/heads/main
        claude-code mcp__git__git_merge: mcp git / git_merge, which runs git -C /p merge b
        claude-code mcp__git__git_remote: mcp git / git_remote, which runs git remote add evil ../x
        claude-code mcp__git__git_status: mcp git / git_status
        claude-code mcp__filesystem__write_file: mcp filesystem / write_file, which edits /p/a
        claude-code mcp__filesystem__edit_file: mcp filesystem / edit_file, which edits a
        claude-code mcp__filesystem__edit_file: mcp filesystem / edit_file
        claude-code mcp__filesystem__move_file: mcp filesystem / move_file, which edits b a
        claude-code mcp__filesystem__create_directory: mcp filesystem / create_directory, which runs mkdir -p 'a b'
        claude-code mcp__filesystem__read_file: mcp filesystem / read_file
        opencode files_createFile: mcp files / createFile, which edits a
        cursor MCP:run_command: mcp  / run_command, which runs git push
        claude-code mcp__x__execute_command: mcp x / execute_command, which runs cd /q || exit
        git commit -m 'a b'
        claude-code mcp__x__bash: mcp x / bash, which runs git push
        claude-code mcp__x__shell: mcp x / shell, which runs git push
        claude-code mcp__x__shell: mcp x / shell
        claude-code mcp__portolan__execute: mcp portolan / execute, which runs git push
        claude-code mcp__x__deploy: mcp x / deploy, which runs git push
    "#]].assert_eq(&told);
}

#[test]
fn tools_of_servers_are_known_however_they_are_told_what_to_do() {
    let mut told = String::new();
    for (host, name, input) in [
        (Host::ClaudeCode, "mcp__github__create_or_update_file", r#"{"owner":"me","repo":"it","path":"a"}"#),
        (Host::ClaudeCode, "mcp__github__push_files", r#"{"owner":"me","repo":"it","branch":"refs/heads/main"}"#),
        (Host::ClaudeCode, "mcp__github__update_ref", r#"{"owner":"me","repo":"it","ref":"heads/main","sha":"c0"}"#),
        (Host::ClaudeCode, "mcp__github__enable_auto_merge", r#"{"owner":"me","repo":"it","pullNumber":3}"#),
        (Host::ClaudeCode, "mcp__github__issue_write", r#"{"owner":"me","repo":"it","method":"create"}"#),
        (Host::ClaudeCode, "mcp__x__git", r#"{"args":["push","origin","HEAD:main"]}"#),
        (Host::ClaudeCode, "mcp__x__git", r#"{"command":"git push origin HEAD:main","cwd":"/p q"}"#),
        (Host::ClaudeCode, "mcp__git__run", r#"{"subcommand":"push","args":["origin","HEAD:main"]}"#),
        (Host::ClaudeCode, "mcp__git__git_push", r#"{"args":["--force","origin","HEAD:main"]}"#),
        (Host::ClaudeCode, "mcp__x__write_files", r#"{"files":[{"path":".claude/settings.json","content":""}]}"#),
        (Host::ClaudeCode, "mcp__x__append_file", r#"{"path":"a","content":""}"#),
        (Host::ClaudeCode, "mcp__x__str_replace_editor", r#"{"command":"create","path":"a","file_text":""}"#),
        (Host::ClaudeCode, "mcp__x__str_replace_editor", r#"{"command":"view","path":"a"}"#),
        (Host::ClaudeCode, "mcp__x__apply_patch", r#"{"patch":"--- a/b.rs\n+++ b/b.rs\n@@ -1 +1 @@\n"}"#),
        (Host::ClaudeCode, "mcp__x__run", r#"{"command":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__workflow_run", r#"{"id":1}"#),
        (Host::ClaudeCode, "mcp__x__terminal", r#"{"cmd":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"CommandLine":"git push","Cwd":"/p"}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"command_line":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"commands":["ls -l","git push"]}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"argv":["git","push"]}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"program":"git","arguments":["push"]}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"command":"bash","input":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__run_command", r#"{"line":"git push"}"#),
        (Host::ClaudeCode, "mcp__x__write_file", r#"{"file":".git/config","content":"x"}"#),
        (Host::ClaudeCode, "mcp__x__write_file", r#"{"targetFile":".git/config","text":"x"}"#),
        (Host::ClaudeCode, "mcp__x__write_file", r#"{"path":"a","args":{"path":".git/config"}}"#),
        (Host::ClaudeCode, "mcp__x__write_file", r#"{"dir":".git","name":"config"}"#),
        (Host::ClaudeCode, "mcp__x__copy_file", r#"{"src":"a","dst":".git/config"}"#),
        (Host::ClaudeCode, "mcp__x__download_file", r#"{"url":"https://x/y","to":".git/config"}"#),
        (Host::ClaudeCode, "mcp__x__git", r#"{"command":"push","args":["origin","HEAD:main"]}"#),
        (Host::ClaudeCode, "mcp__git__git", r#"{"command":"push","args":"origin HEAD:main"}"#),
        (Host::ClaudeCode, "mcp__x__gh", r#"{"args":["pr","merge","1"]}"#),
        (Host::ClaudeCode, "mcp__github__merge_branch", r#"{"owner":"me","repo":"it","base":"main","head":"x"}"#),
        (Host::ClaudeCode, "mcp__github__update_branch_protection", r#"{"branch":"main"}"#),
        (Host::ClaudeCode, "mcp__x__run_python", r#"{"code":"os.system('git push')"}"#),
        (Host::ClaudeCode, "mcp__x__query", r#"{"command":"SELECT 1 FROM (a)"}"#),
        (Host::ClaudeCode, "mcp__ci__pipeline_run", r#"{"name":"a (nightly) run"}"#),
        (Host::ClaudeCode, "REPL", r#"{"code":"require('child_process').execSync('git push')"}"#),
        (Host::ClaudeCode, "ApplyPatch", r#"{"patch":"*** Update File: .git/hooks/pre-push"}"#),
    ] {
        let _ = writeln!(told, "{} {name}: {}", host.name(), tool_of(host, name, input));
    }
    expect![[r#"
        claude-code mcp__github__create_or_update_file: mcp github / create_or_update_file, which runs gh api -X POST contents
        claude-code mcp__github__push_files: mcp github / push_files, which runs git push forge://me/it HEAD:refs/heads/main
        claude-code mcp__github__update_ref: mcp github / update_ref, which runs git push forge://me/it HEAD:refs/heads/main
        claude-code mcp__github__enable_auto_merge: mcp github / enable_auto_merge, which runs gh pr merge -R me/it 3
        claude-code mcp__github__issue_write: mcp github / issue_write
        claude-code mcp__x__git: mcp x / git, which runs git push origin HEAD:main
        claude-code mcp__x__git: mcp x / git, which runs git -C '/p q' push origin HEAD:main
        claude-code mcp__git__run: mcp git / run, which runs git push origin HEAD:main
        claude-code mcp__git__git_push: mcp git / git_push, which runs git push --force origin HEAD:main
        claude-code mcp__x__write_files: mcp x / write_files, which edits .claude/settings.json
        claude-code mcp__x__append_file: mcp x / append_file, which edits a
        claude-code mcp__x__str_replace_editor: mcp x / str_replace_editor, which edits a
        claude-code mcp__x__str_replace_editor: mcp x / str_replace_editor
        claude-code mcp__x__apply_patch: mcp x / apply_patch, which edits b.rs
        claude-code mcp__x__run: mcp x / run, which runs git push
        claude-code mcp__x__workflow_run: mcp x / workflow_run
        claude-code mcp__x__terminal: mcp x / terminal, which runs git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs cd /p || exit
        git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs ls -l
        git push
        'ls -l' 'git push'
        claude-code mcp__x__run_command: mcp x / run_command, which runs git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs bash
        git push
        claude-code mcp__x__run_command: mcp x / run_command, which runs git push
        claude-code mcp__x__write_file: mcp x / write_file, which edits .git/config
        claude-code mcp__x__write_file: mcp x / write_file, which edits .git/config
        claude-code mcp__x__write_file: mcp x / write_file, which edits a .git/config
        claude-code mcp__x__write_file: mcp x / write_file, which edits .git/config .git config
        claude-code mcp__x__copy_file: mcp x / copy_file, which edits a .git/config
        claude-code mcp__x__download_file: mcp x / download_file, which edits .git/config
        claude-code mcp__x__git: mcp x / git, which runs git push origin HEAD:main
        claude-code mcp__git__git: mcp git / git, which runs git push origin HEAD:main
        claude-code mcp__x__gh: mcp x / gh, which runs gh pr merge 1
        claude-code mcp__github__merge_branch: mcp github / merge_branch, which runs gh api -X POST merges
        claude-code mcp__github__update_branch_protection: mcp github / update_branch_protection, which runs gh api -X POST protection
        claude-code mcp__x__run_python: mcp x / run_python, which runs python3 -c 'os.system('\''git push'\'')'
        claude-code mcp__x__query: mcp x / query
        claude-code mcp__ci__pipeline_run: mcp ci / pipeline_run
        claude-code REPL: runs python3 -c 'require('\''child_process'\'').execSync('\''git push'\'')'
        claude-code ApplyPatch: edits .git/hooks/pre-push
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_shell_runs_where_it_is_told_to() {
    let folder = |input: &str| {
        let text = format!(r#"{{"cwd":"/p","tool_name":"bash","tool_input":{input}}}"#);
        read(Host::OpenCode, "tool.execute.before", text.as_bytes()).expect("it is read").intent.expect("a tool").folder
    };
    assert_eq!(folder(r#"{"command":"ls"}"#), "/p");
    assert_eq!(folder(r#"{"command":"ls","workdir":"sub"}"#), "/p/sub");
    assert_eq!(folder(r#"{"command":"ls","workdir":"/q"}"#), "/q");
}

#[test]
fn every_host_is_found_by_its_name_and_answers_before_it_is_given_up() {
    for host in Host::ALL {
        assert_eq!(Host::named(host.name()), Some(host));
        for event in host.events() {
            assert!(event.stage.deadline() < event.stage.host_timeout(), "{host} {}", event.name);
        }
    }
    assert_eq!(Host::named("git"), None);
}
