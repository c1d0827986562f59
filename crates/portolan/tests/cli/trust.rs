//! `portolan trust`.

use expect_test::expect;

use crate::support::{Project, SMALL, checked};

#[test]
fn commands_run_after_a_person_allowed_them() {
    let mut project = Project::new();
    project.write(".flow/workflows/release.json", checked(r#"["git", "--version"]"#));
    let run = project.run("release", "");
    expect![[r#"
        <run1> · release · work · working

        ## work

        Checked when you report it done:
        - tests: `git --version` exits with status 0
        These commands are not trusted yet, so it cannot pass: run `portolan trust .flow/workflows/release.json`.

        → Call Next(passed|failed) when complete.

        optional  report that `work` failed                           Next {"run":"<run1>","result":"failed","revision":2}
        blocked   report `work` passed; 1 acceptance check(s) decide  until run `portolan trust .flow/workflows/release.json`
        exit: 0
    "#]].assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        .flow/workflows/release.json: these commands may run in this project
          work/tests: git --version  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .flow/workflows/release.json"));
    expect![[r#"
        <time>  .flow/workflows/release.json  in <project>
          work/tests: git --version  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --list"));
    assert!(project.says(&format!("runs show {run}")).contains("required"));
    expect![[r#"
        .flow/workflows/release.json: these commands may no longer run
          work/tests: git --version  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --revoke .flow/workflows/release.json"));
    expect![[r#"
        .flow/workflows/release.json: these commands were not trusted
          work/tests: git --version  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --revoke .flow/workflows/release.json"));
    expect![[r#"
        stderr: nothing is trusted
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --list"));
    expect![[r#"
        {
          "trusted": []
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --list --format json"));
}

#[test]
fn a_person_allows_that_a_model_is_shown_changes() {
    let project = Project::new();
    project.write(".portolan/guidelines.yaml", "review: {model: \"anthropic:claude-sonnet-4-5\"}\n");
    expect![[r#"
        .portolan/guidelines.yaml: these commands may run in this project
          review/model: ask anthropic:claude-sonnet-4-5  (at most 300 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/guidelines.yaml"));
    let both = "typecheck: {commands: [[cargo, check]]}\nreview: {model: \"openai:m@http://127.0.0.1:8080/v1\"}\n";
    project.write(".portolan/guidelines.yaml", both);
    expect![[r#"
        .portolan/guidelines.yaml: these commands may run in this project
          typecheck/1: cargo check  (at most 600 s)
        .portolan/guidelines.yaml: these commands may run in this project
          review/model: ask openai:m@http://127.0.0.1:8080/v1  (at most 300 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/guidelines.yaml"));
    expect![[r#"
        .portolan/guidelines.yaml: these commands may run in this project
          typecheck/1: cargo check  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --typecheck"));
    expect![[r#"
        .portolan/guidelines.yaml: these commands may no longer run
          typecheck/1: cargo check  (at most 600 s)
        .portolan/guidelines.yaml: these commands may no longer run
          review/model: ask openai:m@http://127.0.0.1:8080/v1  (at most 300 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/guidelines.yaml --revoke"));
}

#[test]
fn a_model_that_cannot_look_at_changes_is_not_allowed() {
    let project = Project::new();
    for model in ["nosuch:x", "scripted:answers.json"] {
        project.write(".portolan/guidelines.yaml", format!("review: {{model: \"{model}\"}}\n"));
        let said = project.says("trust .portolan/guidelines.yaml");
        assert!(said.contains("exit: 2") && said.contains(model.split(':').next().expect("a word")), "{said}");
        assert!(!project.says("trust --list").contains("review"), "{said}");
        assert!(project.says("doctor").contains("wrong  review: "), "{}", project.says("doctor"));
    }
    project.write(".portolan/guidelines.yaml", "review: {model: \"openai:m\"}\n");
    assert!(project.says("doctor").contains("doubtful  review: `openai:m`"), "{}", project.says("doctor"));
    project.says("trust .portolan/guidelines.yaml");
    assert!(project.says("doctor").contains("good  review: `openai:m`"), "{}", project.says("doctor"));
}

#[test]
fn phases_are_agreed_to_as_a_whole() {
    let project = Project::new();
    let phases = "id: small\nphases:\n  - id: idle\n  - id: work\n";
    project.write(".flow/workflows/small.yaml", phases);
    project.write(".portolan/installed.json", r#"{"version":1,"files":[],"pins":{}}"#);
    assert!(project.says("flow start t --workflow small").contains("run `portolan trust .flow/workflows/small.yaml`"));
    expect![[r#"
        .flow/workflows/small.yaml: tasks may begin with these phases in this project
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .flow/workflows/small.yaml"));
    expect![[r#"
        <time>  .flow/workflows/small.yaml  in <project>
          its phases
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --list"));
    assert!(project.says("flow start t --workflow small").ends_with("exit: 0\n"));
    project.says("flow abort --as scoped-down --reason enough");
    expect![[r#"
        .flow/workflows/small.yaml: tasks may no longer begin with these phases
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --revoke .flow/workflows/small.yaml"));
    assert!(project.says("flow start t --workflow small").contains("no person has accepted"));
    // What they run is allowed with them.
    project.write(".flow/workflows/small.yaml", format!("{phases}    accept: [{{ id: v, run: [git, --version] }}]\n"));
    expect![[r#"
        .flow/workflows/small.yaml: tasks may begin with these phases in this project
        .flow/workflows/small.yaml: these commands may run in this project
          work/v: git --version  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .flow/workflows/small.yaml"));
}

#[test]
fn a_command_cannot_be_taken_for_another() {
    let project = Project::new();
    project.write("sly.json", checked(r#"["sh", "-c", "rm x\u001b[2K\rtrue\n\u202e", ""]"#));
    expect![[r#"
        sly.json: these commands may run in this project
          work/tests: sh -c "rm x\u{1b}[2K\rtrue\n\u{202e}" ""  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust sly.json"));
}

#[test]
fn secrets_that_a_file_spells_out_are_not_shown() {
    let project = Project::new();
    let servers = "mcpServers:\n  echo: {command: npx, env: {API_TOKEN: s3cret}}\n  \
                   web: {type: http, url: \"https://h/mcp?key=s3cret\", headers: {Authorization: Bearer s3cret}}\ntools:";
    project.write("sum.yaml", crate::support::SUM.replacen("tools:", servers, 1));
    expect![[r#"
        sum.yaml: these commands may run in this project
          server echo: env "API_TOKEN=[redacted]" npx
          server web: "https://h/mcp?key=[redacted]" "Authorization=[redacted]"
        exit: 0
    "#]]
    .assert_eq(&project.says("trust sum.yaml"));
    for more in ["", " --format json"] {
        let said = project.says(&format!("trust --list{more}"));
        assert!(said.contains("[redacted]") && !said.contains("s3cret"), "{said}");
    }
}

#[test]
fn all_files_are_looked_at_before_any_is_trusted() {
    let project = Project::new();
    project.write("good.json", checked(r#"["true"]"#));
    project.write("broken.json", "{");
    expect![[r#"
        stderr: error[syntax]: not valid JSON: unterminated object
        stderr:  --> broken.json:1:1
        stderr:   |
        stderr: 1 | {
        stderr:   | ^
        stderr: 
        stderr: error: `broken.json` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("trust good.json broken.json"));
    expect![[r#"
        stderr: {"error":"unreadable","message":"`missing.json` cannot be read: no such file or directory","help":"check the path and its permissions"}
        exit: 1
    "#]].assert_eq(&project.says("trust good.json missing.json --format json"));
    expect![[r#"
        stderr: nothing is trusted
        exit: 0
    "#]]
    .assert_eq(&project.says("trust --list"));
}

#[test]
fn only_files_with_commands_can_be_trusted() {
    let project = Project::new();
    project.write("small.json", SMALL);
    expect![[r#"
        small.json: it runs no commands, so there is nothing to trust
        exit: 0
    "#]]
    .assert_eq(&project.says("trust small.json"));
    expect![[r#"
        stderr: error: `.` is a folder
        stderr: help: name the files one by one: each is checked
        exit: 2
    "#]]
    .assert_eq(&project.says("trust ."));
    expect![[r#"
        stderr: error: the following required arguments were not provided:
        stderr:   <FILE>...
        stderr: 
        stderr: Usage: portolan trust <FILE>...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("trust"));
    expect![[r#"
        stderr: error: the argument '--list' cannot be used with '--revoke'
        stderr: 
        stderr: Usage: portolan trust --list [FILE]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("trust --list --revoke"));
}
