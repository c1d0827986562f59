//! Tools that a step allows or denies, for the run that a session works at.

use crate::calls::Calls;
use portolan_runtime::service::Open;

use crate::support::{HOSTS, Project, before};

const STEPS: &str = r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Look.", "allow": ["read", "shell"], "deny": ["WebFetch"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }
"#;

fn run(project: &Project) -> String {
    project.write(".flow/workflows/steps.json", STEPS);
    let init = Open { workflow: Some("steps".to_owned()), ..Open::default() };
    let begun = project.service(async |service, me| {
        let view = service.open(&init, me).await?;
        service.start(&view.address, None, me).await
    });
    begun.expect("it begins").address.to_string()
}

#[test]
fn a_step_says_which_tools_may_be_used() {
    let project = Project::on_branch();
    let run = run(&project);
    for (host, ..) in HOSTS {
        assert!(project.edit(host, "a.txt").is_allowed(), "no session is attached");
        let call = project.edits(host, "longer.txt").to_string();
        let said = project.hook_with(host, before(host), call.as_bytes(), &[("PORTOLAN_RUN", &run)]);
        assert!(said.is_denied() && said.stdout.contains("at `look`"), "{said:?}");
    }
    project.portolan(&format!("flow attach {run} --session s1"));
    let said = project.edit("claude-code", "even-longer.txt");
    assert!(said.is_denied() && said.stdout.contains("the step allows only `read` and `shell`"), "{said:?}");
    assert!(project.shell("claude-code", "ls").is_allowed());
    let fetch = project.call("claude-code", "WebFetch", serde_json::json!({ "url": "x" })).to_string();
    assert!(project.hook("claude-code", "PreToolUse", fetch.as_bytes()).is_denied());
    let said = project.hook("gemini", "BeforeToolSelection", br#"{"session_id":"s1","cwd":"CWD"}"#);
    assert_eq!(said.stdout.trim(), "{}", "no project is known there");
    let cwd = serde_json::json!({ "session_id": "s1", "cwd": project.path() }).to_string();
    let said = project.hook("gemini", "BeforeToolSelection", cwd.as_bytes()).json();
    let names = said["hookSpecificOutput"]["toolConfig"]["allowedFunctionNames"].to_string();
    assert!(names.contains("run_shell_command") && !names.contains("write_file"), "{said}");
}

/// Nothing may change while it is not known what the task allows; but somebody must find out what is wrong.
#[test]
fn whoever_only_looks_goes_on_where_the_run_of_the_task_is_gone() {
    let project = Project::on_branch();
    project.portolan("flow start login");
    std::fs::rename(project.path().join(".portolan/runs.db"), project.beside("runs.db")).expect("moved");
    for line in ["portolan doctor", "portolan flow status", "portolan flow events", "git status", "cat a.txt", "ls -la"]
    {
        let said = project.shell("claude-code", line);
        assert!(said.is_allowed(), "{line}: {said:?}");
    }
    let read = project.call("claude-code", "Read", serde_json::json!({ "file_path": project.path().join("a.txt") }));
    assert!(project.hook("claude-code", "PreToolUse", read.to_string().as_bytes()).is_allowed());
    for line in ["touch b.txt", "portolan doctor; touch b.txt", "rm .portolan/flow.json"] {
        let said = project.shell("claude-code", line);
        assert!(said.is_denied() && said.stdout.contains("in a terminal of their own"), "{line}: {said:?}");
    }
    assert!(project.edit("claude-code", "a.txt").is_denied());
    // A person does what it says.
    std::fs::remove_file(project.path().join(".portolan/flow.json")).expect("deleted");
    assert!(project.edit("claude-code", "bc.txt").is_allowed());
}

#[test]
fn an_agent_does_not_attach_itself() {
    let project = Project::on_branch();
    let said = project.shell("claude-code", "portolan flow attach k7m2qx4p --session s1");
    assert!(said.is_denied() && said.stdout.contains("only a person"), "{said:?}");
    let call = project.edits("claude-code", "a.txt").to_string();
    let said = project.hook_with("claude-code", "PreToolUse", call.as_bytes(), &[("PORTOLAN_RUN", "../x")]);
    assert!(said.is_denied() && said.stdout.contains("is no run"), "{said:?}");
}

#[test]
fn a_project_adds_guards_of_its_own() {
    let project = Project::on_branch();
    let guards = "guards:\n  - id: no-secrets\n    tools: [edit]\n    paths: ['*.env']\n    decision: block\n    \
                  reason: secrets are not written by agents\n";
    project.write(".portolan/plugins.yaml", guards);
    for (host, ..) in HOSTS {
        let said = project.edit(host, "prod.env");
        assert!(said.is_denied() && said.stdout.contains("secrets are not written by agents"), "{said:?}");
        assert!(project.edit(host, "a.txt").is_allowed());
    }
    project.write(".portolan/plugins.yaml", "guards: 7\n");
    let said = project.edit("claude-code", "b.txt");
    assert!(said.is_denied() && said.stdout.contains("plugins.yaml"), "what nobody understands is not none: {said:?}");
}

/// The name of a server says nothing of what it is.
#[test]
fn portolans_own_server_is_known_by_what_is_started() {
    let project = Project::on_branch();
    let run = run(&project);
    let call = |server: &str, tool: &str, input: serde_json::Value| {
        let call = project.call("claude-code", &format!("mcp__{server}__{tool}"), input).to_string();
        project.hook_with("claude-code", "PreToolUse", call.as_bytes(), &[("PORTOLAN_RUN", &run)])
    };
    let next = || serde_json::json!({ "run": run, "result": "passed", "note": "git push comes later" });
    let said = call("portolan", "Next", next());
    assert!(said.is_denied() && said.stdout.contains("portolan install"), "{said:?}");
    let servers = |own: &str| {
        serde_json::json!({ "mcpServers": {
            "portolan": { "command": "/bin/sh", "args": ["serve"] },
            "steps": { "command": own, "args": ["serve"] },
        } })
    };
    project.write(".mcp.json", &servers(env!("CARGO_BIN_EXE_portolan")).to_string());
    assert!(call("portolan", "Next", next()).is_denied(), "a foreign server may have the name");
    assert!(call("steps", "Next", next()).is_allowed(), "ours may have another");
    assert!(call("steps", "Current", serde_json::json!({ "command": "git push origin main" })).is_allowed());
    let push = serde_json::json!({ "command": "git push origin HEAD:main" });
    assert!(call("portolan", "execute", push).is_denied(), "what a foreign server does is judged");
}
