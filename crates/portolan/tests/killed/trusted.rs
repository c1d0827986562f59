//! What a person allows.

use crate::stage::{Stage, killed, line};

const CHECKED: &str = r#"{ "nodes": { "s": { "type": "start" },
  "work": { "type": "task", "accept": [{ "id": "tests", "run": ["true"] }] }, "e": { "type": "end", "result": "success" } },
  "edges": [{ "from": "s", "to": "work" }, { "from": "work", "to": "e" }] }"#;

fn project(stage: &Stage) {
    stage.put("checked.json", CHECKED);
}

#[test]
fn trust() {
    killed("trust", project, line("trust checked.json"), |stage| {
        let known = stage.does("trust --list").out.contains("checked.json");
        stage.does("trust checked.json");
        let listed = stage.does("trust --list");
        assert_eq!((listed.out.matches("checked.json").count(), listed.err.as_str()), (1, ""), "{listed:?}");
        stage.does("trust --revoke checked.json");
        assert!(!stage.says("trust --list").out.contains("checked.json"));
        if known { "trusted" } else { "not trusted" }.to_owned()
    });
}

#[test]
fn init() {
    let suggests = |stage: &Stage| stage.put("Makefile", "test:\n\ttrue\n");
    killed("init", suggests, line("init --yes"), |stage| {
        let known = stage.path(".portolan/checks.yaml").exists();
        stage.does("init --yes");
        let text = std::fs::read_to_string(stage.path(".portolan/checks.yaml")).expect("the checks");
        assert_eq!(text.matches("tests: {run: [make, test]}").count(), 1, "{text}");
        if known { "written" } else { "not written" }.to_owned()
    });
}

#[test]
fn revoke() {
    let trusted = |stage: &Stage| {
        project(stage);
        stage.does("trust checked.json");
    };
    killed("trust --revoke", trusted, line("trust --revoke checked.json"), |stage| {
        let known = stage.says("trust --list").out.contains("checked.json");
        stage.does("trust --revoke checked.json");
        assert!(!stage.says("trust --list").out.contains("checked.json"));
        stage.does("trust checked.json");
        if known { "trusted" } else { "not trusted" }.to_owned()
    });
}

/// Rules of a project with hooks: they count once they are agreed to, and what their type check runs is trusted.
#[test]
fn rules() {
    let installed = |stage: &Stage| {
        stage.does("install claude-code --yes");
        stage.put(".portolan/guidelines.yaml", "typecheck:\n  commands: [[\"true\"]]\n");
    };
    killed("trust of the rules", installed, line("trust .portolan/guidelines.yaml"), |stage| {
        let known = stage.says("trust --list").out.contains("guidelines.yaml");
        stage.does("trust .portolan/guidelines.yaml");
        assert!(stage.does("trust --list").out.contains("guidelines.yaml"));
        let record = std::fs::read_to_string(stage.path(".portolan/installed.json")).expect("a record");
        assert!(record.contains("typecheck"), "{record}");
        stage.is_sound();
        if known { "trusted" } else { "not trusted" }.to_owned()
    });
}
