//! `portolan install` and `portolan doctor`.

use expect_test::expect;

use crate::support::Project;

/// What is said, with the path of the program replaced.
fn says(project: &Project, line: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_portolan")).canonicalize().expect("the program");
    let said = project.says(line).replace(&*program.to_string_lossy(), "<program>");
    let kept = said.lines().filter(|line| !line.contains("`<program>` "));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn changes_are_shown_and_nobody_is_taken_to_agree() {
    let project = Project::new();
    project.write(".codex/hooks.json", "{\n  \"hooks\": { \"Stop\": [] }\n}\n");
    expect![[r#"
        --- a/.codex/hooks.json
        +++ b/.codex/hooks.json
        @@ -1,3 +1,48 @@
         {
        -  "hooks": { "Stop": [] }
        +  "hooks": {
        +    "Stop": [
        +      {
        +        "hooks": [
        +          {
        +            "type": "command",
        +            "command": "<program> hook codex Stop",
        +            "timeout": 30
        +          }
        +        ]
        +      }
        +    ],
        +    "PreToolUse": [
        +      {
        +        "hooks": [
        +          {
        +            "type": "command",
        +            "command": "<program> hook codex PreToolUse",
        +            "timeout": 60
        +          }
        +        ]
        +      }
        +    ],
        +    "PostToolUse": [
        +      {
        +        "hooks": [
        +          {
        +            "type": "command",
        +            "command": "<program> hook codex PostToolUse",
        +            "timeout": 10
        +          }
        +        ]
        +      }
        +    ],
        +    "SessionStart": [
        +      {
        +        "hooks": [
        +          {
        +            "type": "command",
        +            "command": "<program> hook codex SessionStart",
        +            "timeout": 10
        +          }
        +        ]
        +      }
        +    ]
        +  }
         }
        stderr: nothing was changed
        stderr: Codex silently skips these hooks until you have reviewed and trusted them: run `/hooks` in Codex.
        stderr: For the MCP server add to `.codex/config.toml`:
        stderr:   [mcp_servers.portolan]
        stderr:   command = "<program>"
        stderr:   args = ["serve"]
        stderr: git's own hooks are not installed (`<project>` is not a git repository: run `git init` first): fix that, then run `portolan install git`; until then nothing stops a script that moves a branch.
        exit: 0
    "#]]
    .assert_eq(&says(&project, "install codex --print"));
    let refused = says(&project, "install codex");
    assert!(refused.ends_with("stderr: error: these changes must be confirmed, but there is no terminal to ask at\nstderr: help: use `--yes`, or run it in a terminal\nexit: 2\n"), "{refused}");
    assert!(!project.path().join(".portolan/installed.json").exists());
}

#[test]
fn an_installation_is_done_once_and_taken_back() {
    let project = Project::new();
    let done = says(&project, "install gemini --yes");
    assert!(done.contains("+++ b/.gemini/settings.json"), "{done}");
    expect![[r#"
        stderr: there is nothing to do
        exit: 0
    "#]]
    .assert_eq(&says(&project, "install gemini"));
    let json = says(&project, "--format json install gemini --uninstall --yes");
    expect![[r#"
        {
          "for": "gemini",
          "files": [
            ".gemini/settings.json"
          ],
          "done": true,
          "notes": []
        }
        exit: 0
    "#]]
    .assert_eq(&json);
    assert_eq!(std::fs::read_dir(project.path()).expect("a folder").count(), 0);
    expect![[r#"
        good  environment: `PORTOLAN_DATA_DIR` is set
        stderr: nothing is installed in this project: see `portolan install --help`
        exit: 0
    "#]]
    .assert_eq(&says(&project, "doctor"));
}

#[test]
fn what_is_wrong_is_told_with_a_status() {
    let project = Project::new();
    says(&project, "install cursor --yes");
    project.write(".cursor/hooks.json", "{}");
    expect![[r#"
        wrong  cursor: `.cursor/hooks.json` is no longer what was installed: check it, then run `portolan install cursor` again
        good  cursor: `.cursor/mcp.json` is as it was installed
        wrong  cursor: there is no hook for `preToolUse`
        good  environment: `PORTOLAN_DATA_DIR` is set
        exit: 1
    "#]].assert_eq(&says(&project, "doctor"));
    let json = says(&project, "doctor --json");
    assert!(json.starts_with("{\n  \"good\": false,") && json.ends_with("exit: 1\n"), "{json}");
    expect![[r#"
        stderr: error: invalid value 'nobody' for '<FOR>'
        stderr:   [possible values: claude-code, codex, cursor, gemini, opencode, copilot, git]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&says(&project, "install nobody"));
}

#[test]
fn a_sandbox_is_for_one_host_and_says_what_it_holds() {
    let project = Project::new();
    expect![[r#"
        stderr: error: the shell of `codex` cannot be run in a sandbox
        stderr: help: leave `--sandbox` out; it is for `claude-code`
        exit: 2
    "#]]
    .assert_eq(&says(&project, "install codex --sandbox --yes"));
    project.write(".mcp.json", "{}");
    project.write(".portolan/issues/1.md", "");
    let held = says(&project, "sandbox --print");
    let inside: Vec<&str> = held.lines().filter(|line| line.contains("<project>")).collect();
    assert_eq!(
        inside,
        ["read-only  <project>/.mcp.json", "read-only  <project>/.portolan", "open       <project>/.portolan/issues",],
        "{held}"
    );
    let json: serde_json::Value = serde_json::from_str(
        says(&project, "--format json sandbox --print").rsplit_once("exit: 0").expect("it ends well").0,
    )
    .expect("JSON");
    assert!(json["paths"].as_array().is_some_and(|paths| paths.iter().any(|path| path["access"] == "open")), "{json}");
    let refused = says(&project, "sandbox");
    assert!(refused.contains("required arguments") && refused.ends_with("exit: 2\n"), "{refused}");
}

/// Without the program that makes it, nothing runs.
#[cfg(target_os = "linux")]
#[test]
fn without_a_sandbox_nothing_is_run() {
    let project = Project::new();
    let ran = project.path().join("ran");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_portolan"));
    command.args(["sandbox", "--", "/bin/touch"]).arg(&ran).current_dir(project.path()).env("PATH", "/nowhere");
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is not on the search path: install "), "{said}");
    assert!(!ran.exists());
}

/// What is handed over by a client that has lost its sandbox is not run in its place.
#[cfg(unix)]
#[test]
fn a_sandbox_that_has_ended_answers_nobody() {
    let project = Project::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_portolan"));
    command.args(["runs", "list"]).current_dir(project.path()).env("PORTOLAN_SANDBOX", project.path().join("gone"));
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: the shell that this sandbox was made for has ended"), "{said}");
}
