//! Tools that a step allows or denies, for the run that a session works at.

use crate::calls::Calls;
use portolan_runtime::service::Open;

use crate::support::{HOSTS, Project, before};

pub(crate) const STEPS: &str = r#"{ "nodes": { "start": { "type": "start" },
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
        assert!(said.is_denied() && said.stdout.contains("in their own terminal"), "{line}: {said:?}");
    }
    assert!(project.edit("claude-code", "a.txt").is_denied());
    // A person does what it says.
    std::fs::remove_file(project.path().join(".portolan/flow.json")).expect("deleted");
    assert!(project.edit("claude-code", "bc.txt").is_allowed());
}

const LOOSE: &str = r#"{ "nodes": { "start": { "type": "start" }, "work": { "type": "task", "instructions": "Work." },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "work" }, { "from": "work", "to": "done" }] }
"#;

/// What the server answers to a call of an agent of these tests' own process, which is the host of all its hooks.
fn served(project: &Project, tool: &str, arguments: &serde_json::Value) -> serde_json::Value {
    served_with(project, &[], tool, arguments)
}

/// The same, of a server with this environment.
pub(crate) fn served_with(
    project: &Project,
    environment: &[(&str, &str)],
    tool: &str,
    arguments: &serde_json::Value,
) -> serde_json::Value {
    let call = serde_json::json!({ "name": tool, "arguments": arguments });
    let init = serde_json::json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "tester", "version": "1" } });
    let lines = [
        serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": init }),
        serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ];
    let said = project.served(&lines.map(|line| line.to_string()).join("\n"), environment);
    let answers: Vec<serde_json::Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let answer = answers.iter().find(|answer| answer["id"] == 2).unwrap_or_else(|| panic!("no answer: {said}"));
    answer["result"]["structuredContent"].clone()
}

fn begun(project: &Project, workflow: &str) -> String {
    let run = served(project, "Init", &serde_json::json!({ "workflowType": workflow }))["run"].clone();
    let now = served(project, "Start", &serde_json::json!({ "run": run }));
    assert_eq!(now["run"], run, "{now}");
    run.as_str().expect("a handle").to_owned()
}

/// Nobody attaches anything: who begins a run is held to its steps, whatever its host calls the sessions of its subagents.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_run_binds_the_agent_that_begins_it_until_it_is_over() {
    for (host, ..) in HOSTS {
        let project = Project::on_branch();
        project.write(".flow/workflows/steps.json", STEPS);
        project.write(".flow/workflows/loose.json", LOOSE);
        assert!(project.edit(host, "a.txt").is_allowed());
        let run = begun(&project, "steps");
        let said = project.edit(host, "longer.txt");
        assert!(said.is_denied() && said.stdout.contains("at `look`"), "{said:?}");
        let mut of_subagent = project.edits(host, "even-longer.txt");
        of_subagent["session_id"] = "another".into();
        let said = project.hook(host, before(host), of_subagent.to_string().as_bytes());
        assert!(said.is_denied() && said.stdout.contains("at `look`"), "{said:?}");
        assert!(project.shell(host, "ls").is_allowed());
        // A second run that allows more takes nothing away.
        let loose = begun(&project, "loose");
        assert!(project.edit(host, "as-long-as-it-gets.txt").is_denied());
        let now = served(&project, "Current", &serde_json::json!({ "run": run }));
        let next = now["actions"]["required"][0]["arguments"].clone();
        assert_eq!(served(&project, "Next", &next)["state"], "ended");
        assert!(project.edit(host, "after-all-of-that.txt").is_allowed(), "the run is over, and the other allows it");
        let said = project.portolan("runs list");
        assert!(said.contains(&loose), "{said}");
    }
}

const LOOKING: &str = r#"{ "nodes": { "start": { "type": "start" },
  "plan": { "type": "task", "instructions": "Plan.", "deny": ["edit"] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "plan" }, { "from": "plan", "to": "done" }] }
"#;

/// A file is edited by a shell, or by another server's tool, as well as by the host's own.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_step_that_denies_edits_denies_what_writes_files_by_another_way() {
    let project = Project::on_branch();
    project.write(".flow/workflows/looking.json", LOOKING);
    begun(&project, "looking");
    let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nE";
    for line in [
        patch,
        "echo two > a.txt",
        "cat > new.py <<E\nx = 1\nE",
        "sed -i s/one/two/ a.txt",
        "ls | tee list.txt",
        "rm a.txt",
    ] {
        let said = project.shell("claude-code", line);
        assert!(said.is_denied() && said.stdout.contains("would be written"), "{line}: {said:?}");
    }
    for line in
        ["cat a.txt", "grep -r one . 2>/dev/null", "cargo test > target/log.txt", "mkdir -p notes", "git status"]
    {
        let said = project.shell("claude-code", line);
        assert!(said.is_allowed(), "{line}: {said:?}");
    }
    let said = project.shell("claude-code", "f=$(date); ls > \"$f\"");
    assert!(said.is_asked() && said.stdout.contains("whose name is known only when the command runs"), "{said:?}");
    let write = serde_json::json!({ "path": project.path().join("b.txt"), "content": "x" });
    let call = project.call("claude-code", "mcp__files__write_file", write).to_string();
    let said = project.hook("claude-code", "PreToolUse", call.as_bytes());
    assert!(said.is_denied() && said.stdout.contains("b.txt"), "{said:?}");
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_run_that_is_begun_in_a_shell_or_called_off_binds_just_the_same() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    let said = project.portolan("runs start steps --format json");
    let run = serde_json::from_str::<serde_json::Value>(&said).expect("JSON")["run"].clone();
    assert!(project.edit("claude-code", "a.txt").is_allowed(), "it has not begun: {said}");
    served(&project, "Start", &serde_json::json!({ "run": run }));
    assert!(project.edit("claude-code", "bc.txt").is_denied());
    project.portolan(&format!("runs cancel {} --reason over", run.as_str().expect("a handle")));
    assert!(project.edit("claude-code", "def.txt").is_allowed());
}

/// A session is bound in another process as well, where it is taken up again; and whoever only takes up the run.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_session_stays_bound_when_its_host_starts_anew() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    let run = begun(&project, "steps");
    assert!(project.edit("claude-code", "a.txt").is_denied());
    // As it is when no process is left that the binding knows.
    std::fs::remove_dir_all(project.path().join(".portolan/bindings")).expect("gone");
    assert!(project.edit("claude-code", "bc.txt").is_denied());
    let other = |file: &str| {
        let mut call = project.edits("claude-code", file);
        call["session_id"] = "s2".into();
        project.hook("claude-code", "PreToolUse", call.to_string().as_bytes())
    };
    assert!(other("def.txt").is_allowed(), "a new session that knows nothing of the run");
    served(&project, "Current", &serde_json::json!({ "run": run }));
    assert!(other("ghij.txt").is_denied(), "it asks where the run is");
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_run_that_is_gone_binds_a_session_no_longer_than_it_lasts() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    begun(&project, "steps");
    std::fs::rename(project.path().join(".portolan/runs.db"), project.beside("runs.db")).expect("moved");
    let said = project.edit("claude-code", "a.txt");
    assert!(said.is_denied() && said.stdout.contains("a new session"), "{said:?}");
    assert!(project.shell("claude-code", "git status").is_allowed());
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn an_agent_that_begins_run_after_run_is_not_judged_for_ever() {
    let project = Project::on_branch();
    project.write(".flow/workflows/loose.json", LOOSE);
    for _ in 0..32 {
        project.portolan("runs start loose");
    }
    assert!(project.edit("claude-code", "a.txt").is_allowed());
    project.portolan("runs start loose");
    let said = project.edit("claude-code", "bc.txt");
    assert!(said.is_denied() && said.stdout.contains("more than 32 open runs"), "{said:?}");
    assert!(project.shell("claude-code", "git status").is_allowed());
}

#[test]
fn an_agent_does_not_attach_itself() {
    let project = Project::on_branch();
    let said = project.shell("claude-code", "portolan flow attach k7m2qx4p --session s1");
    assert!(said.is_denied() && said.stdout.contains("only a person"), "{said:?}");
    let call = project.edits("claude-code", "a.txt").to_string();
    let said = project.hook_with("claude-code", "PreToolUse", call.as_bytes(), &[("PORTOLAN_RUN", "../x")]);
    assert!(said.is_denied() && said.stdout.contains("is not a valid run id"), "{said:?}");
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

/// A definition's guards are those of the gateway, and hold at the same steps.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_definition_carries_guards_for_its_runs_and_its_steps() {
    let project = Project::on_branch();
    let guarded = STEPS
        .replace("\"nodes\"", r#""guards": [{ "id": "no-keys", "tools": ["edit"], "paths": ["*.key"], "reason": "no keys" }], "nodes""#)
        .replace(
            r#""allow": ["read", "shell"], "deny": ["WebFetch"]"#,
            r#""guards": [{ "id": "few", "tools": ["shell"], "total": { "most": 2, "per": "step" }, "reason": "two commands" },
               { "id": "asked", "tools": ["WebFetch"], "decision": "ask", "reason": "a person confirms" }]"#,
        );
    project.write(".flow/workflows/steps.json", &guarded);
    for (host, ..) in HOSTS {
        assert!(project.edit(host, "a.key").is_allowed(), "no run of it is open");
    }
    let run = begun(&project, "steps");
    for (host, ..) in HOSTS {
        let said = project.edit(host, "b.key");
        assert!(said.is_denied() && said.stdout.contains("no keys"), "{said:?}");
        assert!(said.stdout.contains("the workflow `steps` defines what the guard `no-keys` covers"), "{said:?}");
        assert!(said.stdout.contains(&format!("Run `{run}`:")), "{said:?}");
        assert!(project.edit(host, "b.txt").is_allowed());
    }
    assert!(project.shell("claude-code", "ls").is_allowed() && project.shell("claude-code", "ls -a").is_allowed());
    let said = project.shell("claude-code", "ls -la");
    assert!(
        said.is_denied() && said.stdout.contains("two commands (2 of 2 calls were used before at this step)"),
        "{said:?}"
    );
    let fetch = project.call("claude-code", "WebFetch", serde_json::json!({ "url": "x" })).to_string();
    assert!(project.hook("claude-code", "PreToolUse", fetch.as_bytes()).is_asked());
    let blocked = project.events("flow.guard.block");
    assert!(blocked.iter().any(|event| event["data"]["definedAt"] == "steps/look"), "{blocked:?}");
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

/// The same as a call through `portolan gate` is told.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_refusal_says_where_the_run_is_and_what_continues_from_there() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    let run = begun(&project, "steps");
    for (host, ..) in HOSTS {
        let said = project.edit(host, "a.txt");
        assert!(said.is_denied() && said.stdout.contains(&format!("Run `{run}`:")), "{said:?}");
        assert!(said.stdout.contains("`look`") && said.stdout.contains("Call Next"), "{said:?}");
    }
    let others = project.edits("claude-code", "b.txt").to_string().replace("s1", "s9");
    assert!(project.hook("claude-code", "PreToolUse", others.as_bytes()).is_denied(), "the host's agents are bound");
}

/// Claude Code announces the tool `rows.purge` of `team.records` so.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_denial_holds_however_a_host_spells_the_tool() {
    let project = Project::on_branch();
    let steps = r#"{ "nodes": { "start": { "type": "start" },
      "look": { "type": "task", "instructions": "Look.", "deny": ["mcp:db/rows.purge", "mcp:team.records/*"] },
      "done": { "type": "end", "result": "success" } },
    "edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "done" }] }"#;
    project.write(".flow/workflows/steps.json", steps);
    begun(&project, "steps");
    let announced = |name: &str, server: &str| {
        let mut call = project.call("claude-code", name, serde_json::json!({}));
        call["tool_use_id"] = name.into();
        call["mcp_server"] = serde_json::json!({ "name": server });
        project.hook("claude-code", "PreToolUse", call.to_string().as_bytes())
    };
    assert!(announced("mcp__db__rows_purge", "db").is_denied());
    assert!(announced("mcp__team_records__drop", "team.records").is_denied());
    assert!(announced("mcp__db__rows_read", "db").is_allowed());
    assert!(announced("mcp__team_other__drop", "team.other").is_allowed());
}

/// The host asked its person, and then made the call.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_call_that_a_person_allowed_at_the_host_is_counted() {
    let project = Project::on_branch();
    let steps = STEPS.replace(r#""allow": ["read", "shell"], "#, "");
    project.write(".flow/workflows/steps.json", &steps);
    let guards = "guards:\n  - {id: pays, tools: [\"mcp:pay/*\"], decision: ask, reason: a person pays}\n  \
        - {id: often, tools: [\"mcp:pay/*\"], when: calls.run >= 1, reason: once is enough}\n";
    project.write(".portolan/plugins.yaml", guards);
    begun(&project, "steps");
    let pays = |event: &str, id: &str| {
        let mut call = project.call("claude-code", "mcp__pay__send", serde_json::json!({}));
        (call["tool_use_id"], call["hook_event_name"]) = (id.into(), event.into());
        project.hook("claude-code", event, call.to_string().as_bytes())
    };
    assert!(pays("PreToolUse", "c1").is_asked());
    assert!(pays("PreToolUse", "c2").is_asked(), "the first was not made");
    for event in ["PostToolUse", "PostToolUseFailure", "PostToolUse"] {
        assert!(pays(event, "c2").is_allowed());
    }
    let allowed = project.events("flow.guard.allow");
    assert_eq!(allowed.len(), 1, "{allowed:?}");
    assert_eq!((&allowed[0]["data"]["guardId"], &allowed[0]["data"]["call"]), (&"person".into(), &"c2".into()));
    assert!(pays("PreToolUse", "c3").is_denied());
}
