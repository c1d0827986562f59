//! What every host is answered before a tool is used.

use serde_json::json;

use crate::support::{HOSTS, Project, before};

#[test]
fn an_edit_on_main_is_refused_with_what_puts_it_right() {
    let project = Project::new();
    for (host, ..) in HOSTS {
        let said = project.edit(host, "a.txt");
        assert!(said.is_denied(), "{said:?}");
        for part in
            ["I-1", "would be written on `main`", "git switch -c feat/<issue>-<slug>", "only a person can allow"]
        {
            assert!(said.stdout.contains(part), "{host} does not say {part}: {said:?}");
        }
        for way in ["PORTOLAN_", "flow override"] {
            assert!(!said.stdout.contains(way), "{host} shows the way past: {said:?}");
        }
    }
    assert_eq!(project.events("flow.guard.block").len(), HOSTS.len());
}

#[test]
fn an_edit_on_a_branch_is_allowed_and_on_record() {
    let project = Project::on_branch();
    for (host, ..) in HOSTS {
        let said = project.edit(host, "a.txt");
        assert!(said.is_allowed(), "{said:?}");
    }
    let invoked = project.events("flow.tool.invoked");
    assert_eq!(invoked.len(), HOSTS.len());
    let data = &invoked[0]["data"];
    assert_eq!(data["toolName"], "Write");
    assert_eq!(data["toolInputKeys"], serde_json::json!(["file_path", "content"]));
    assert_eq!(data["inputDigest"].as_str().map(str::len), Some(64));
}

#[test]
fn a_commit_without_a_type_check_is_refused() {
    let project = Project::on_branch();
    project.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n");
    for (host, ..) in HOSTS {
        let said = project.shell(host, "git add -A && git commit -m 'feat: x (#1)'");
        assert!(said.is_denied(), "{said:?}");
        assert!(said.stdout.contains("I-6") && said.stdout.contains("portolan qa typecheck"), "{said:?}");
    }
}

#[test]
fn only_where_the_rules_let_agents_they_get_past_by_name_and_on_record() {
    let project = Project::new();
    let line = |what| {
        format!("PORTOLAN_ALLOW_INTEGRATION_EDIT=1 PORTOLAN_BYPASS_REASON='first aid' git commit -m 'fix: {what} (#1)'")
    };
    for (host, ..) in HOSTS {
        let said = project.shell(host, &line("x"));
        assert!(said.is_denied() && said.stdout.contains("is accepted here only from a person"), "{said:?}");
    }
    assert!(project.events("flow.bypass").is_empty());
    project.write(".portolan/guidelines.yaml", "bypass: agent\n");
    for (host, ..) in HOSTS {
        let said = project.shell(host, &line("y"));
        assert!(said.is_allowed(), "{said:?}");
    }
    let bypasses = project.events("flow.bypass");
    assert_eq!(bypasses.len(), HOSTS.len());
    let data = &bypasses[0]["data"];
    assert_eq!(
        (&data["invariant"], &data["reason"], &data["stage"]),
        (&"I-2".into(), &"first aid".into(), &"applied".into())
    );
    assert_eq!(project.events("flow.guard.bypass").len(), HOSTS.len());
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let project = Project::on_branch();
    let long = format!(r#"{{"cwd":"/","tool_name":"x","tool_input":{{"a":"{}"}}}}"#, "a".repeat(10 << 20));
    for (host, ..) in HOSTS {
        for input in ["", "oops", "[]", "{}", r#"{"cwd":"here","tool_name":"Bash","tool_input":{}}"#, &long] {
            let said = project.hook(host, before(host), input.as_bytes());
            assert!(said.is_denied(), "{}: {said:?}", &input[..input.len().min(40)]);
        }
    }
    assert_eq!(project.events("flow.guard.block").len(), 6 * HOSTS.len());
}

/// A parser takes one of two, and the host may take the other.
#[test]
fn keys_that_stand_twice_are_refused() {
    let project = Project::on_branch();
    for (host, ..) in HOSTS {
        let call = project.runs(host, "git push --force origin HEAD:main").to_string();
        for (once, twice) in [
            (r#""command":"#, r#""command":"ls","command":"#),
            (r#""cwd":"#, r#""cwd":"/","cwd":"#),
            (r#""tool_name":"#, r#""tool_name":"Read","tool_name":"#),
        ] {
            let said = project.hook(host, before(host), call.replace(once, twice).as_bytes());
            assert!(said.is_denied() && said.stdout.contains("appears twice"), "{said:?}");
        }
    }
    let text = r#"{"path":"/a","path":"b"}"#;
    let mut call = project.edits("copilot", "a.txt");
    call["tool_input"] = text.into();
    let said = project.hook("copilot", "PreToolUse", call.to_string().as_bytes());
    assert!(said.is_denied() && said.stdout.contains("appears twice"), "{said:?}");
}

#[test]
fn an_agent_that_is_nowhere_may_do_nothing() {
    let project = Project::new();
    for (host, ..) in HOSTS {
        let mut call = project.edits(host, "a.txt");
        call["cwd"] = project.beside("nowhere").to_string_lossy().into();
        let said = project.hook(host, before(host), call.to_string().as_bytes());
        assert!(said.is_denied() && said.stdout.contains("does not exist"), "{said:?}");
    }
}

#[test]
fn what_only_looks_is_allowed_and_not_on_record() {
    let project = Project::new();
    let call = project.call("claude-code", "Read", serde_json::json!({ "file_path": "a.txt" }));
    assert!(project.hook("claude-code", "PreToolUse", call.to_string().as_bytes()).is_allowed());
    assert!(project.shell("claude-code", "git status && git log").is_allowed());
    assert_eq!(project.events("flow.tool.invoked").len(), 1, "the shell alone may change something");
}

#[test]
fn an_unknown_host_or_event_is_told() {
    let project = Project::new();
    let said = project.hook("nobody", "PreToolUse", b"{}");
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("the hosts are"), "{said:?}");
    let said = project.hook("claude-code", "Shiny", br#"{"cwd":"/"}"#);
    assert!(said.status == 0 && said.stdout.is_empty(), "{said:?}");
}

#[test]
fn a_project_is_the_one_that_the_host_names() {
    let project = Project::new();
    let inner = project.path().join("inner");
    project.git_words(&["init", "-q", "-b", "topic", "inner"]);
    let mut call = project.edits("claude-code", "a.txt");
    call["cwd"] = inner.to_string_lossy().into();
    let said = project.hook_with(
        "claude-code",
        "PreToolUse",
        call.to_string().as_bytes(),
        &[("PORTOLAN_PROJECT", &project.path().to_string_lossy())],
    );
    assert!(said.is_denied(), "{said:?}");
    assert_eq!(project.events("flow.guard.block").len(), 1);
}

/// A tool of a forge's server names the repository that it writes: that of this project, or another.
#[test]
fn a_branch_of_another_repository_is_no_branch_of_this_one() {
    let project = Project::on_branch();
    let pushes = |owner: &str, branch: &str| {
        let input = json!({ "owner": owner, "repo": "it", "branch": branch, "files": [] });
        let call = project.call("claude-code", "mcp__github__push_files", input);
        project.hook("claude-code", "PreToolUse", call.to_string().as_bytes())
    };
    project.git("remote add origin git@github.com:me/it.git");
    assert!(pushes("me", "main").is_denied());
    assert!(pushes("me", "feat/1-xyz").is_allowed());
    let said = pushes("other", "main");
    assert!(said.is_asked() && said.stdout.contains("`other/it`"), "{said:?}");
    assert!(pushes("another", "feat/1-x").is_allowed());
    project.git("remote add backup ../backup.git");
    assert!(pushes("others", "main").is_denied(), "what cannot be compared is taken for this one");
}
