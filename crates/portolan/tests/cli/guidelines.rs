//! The rules of a project: checked, and taken over from xCoder.

use expect_test::expect;

use crate::support::Project;

#[test]
fn faults_of_the_rules_are_shown_in_their_places() {
    let project = Project::new();
    project.write(".portolan/guidelines.yaml", "strikt: true\npolicies:\n  branch-prefix: off\n");
    expect![[r#"
        error[unknown-field]: the file has a field `strikt`, which has no meaning here
         --> .portolan/guidelines.yaml:1:1
          |
        1 | strikt: true
          | ^^^^^^
          |
        help: did you mean `strict`?

        error[unknown-rule]: `policies` names `branch-prefix`, which is not a rule
         --> .portolan/guidelines.yaml:3:3
          |
        3 |   branch-prefix: off
          |   ^^^^^^^^^^^^^
          |
        help: did you mean `branchMatchesPrefix`?

        1 file checked: 2 errors, 0 warnings
        exit: 3
    "#]]
    .assert_eq(&project.says("check .portolan/guidelines.yaml"));
    project.write(".portolan/guidelines.yaml", "policies: {branchMatchesPrefix: off}\n");
    expect![[r#"
        1 file checked: 0 errors, 0 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check .portolan/guidelines.yaml"));
    expect![[r#"
        {
          "files": [
            {
              "file": ".portolan/guidelines.yaml",
              "ok": true,
              "diagnostics": []
            }
          ],
          "errors": 0,
          "warnings": 0
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("check .portolan/guidelines.yaml --format json"));
    expect![[r#"
        0 files checked: 0 errors, 0 warnings; 1 path not read
        stderr: error: `other/.portolan/guidelines.yaml` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("check other/.portolan/guidelines.yaml"));
}

#[test]
fn the_other_files_of_the_gates_are_checked_alike() {
    let project = Project::new();
    project.write(".portolan/plugins.yaml", "gards: []\n");
    project.write(".portolan/merge-policy.yaml", "zones:\n  - {name: a, path: [x]}\n");
    expect![[r#"
        error[unknown-field]: the file of plug-ins has no `gards`
         --> .portolan/plugins.yaml:1:1
          |
        1 | gards: []
          | ^^^^^
          |
        help: did you mean `guards`?

        error[wrong-type]: `zones` must be an object, but is an array
         --> .portolan/merge-policy.yaml:2:3
          |
        2 |   - {name: a, path: [x]}
          |   ^^^^^^^^^^^^^^^^^^^^^^

        2 files checked: 2 errors, 0 warnings
        exit: 3
    "#]]
    .assert_eq(&project.says("check .portolan/plugins.yaml .portolan/merge-policy.yaml"));
    project.write(".portolan/plugins.yaml", "");
    expect![[r#"
        1 file checked: 0 errors, 0 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check .portolan/plugins.yaml"));
}

#[test]
fn the_rules_of_xcoder_are_printed_and_written() {
    let project = Project::new();
    expect![[r#"
        stderr: error: none of `.xcoder/guidelines.yaml`, `.claude/settings.json` and `.xcoder/merge-policy.yaml` exists
        stderr: help: name the project with `--project`
        exit: 2
    "#]]
    .assert_eq(&project.says("import xcoder"));
    project.write(".xcoder/guidelines.yaml", "branched: {off: develop}\nqa: {test: npm test}\n");
    project.write(".claude/settings.json", r#"{"workflow": {"specsRequired": true, "type": "solo"}}"#);
    expect![[r#"
        integration: [develop]
        specs:
          required: true
        stderr: warning[not-taken-over]: `workflow.type` is not imported
        stderr:  --> .claude/settings.json:1:38
        stderr:   |
        stderr: 1 | {"workflow": {"specsRequired": true, "type": "solo"}}
        stderr:   |                                      ^^^^^^
        stderr:   |
        stderr: help: it has no counterpart here
        stderr: 
        stderr: warning[not-taken-over]: `qa.test` is not imported
        stderr:  --> .xcoder/guidelines.yaml:2:6
        stderr:   |
        stderr: 2 | qa: {test: npm test}
        stderr:   |      ^^^^
        stderr:   |
        stderr: help: give a phase an acceptance check that runs it
        stderr: 
        exit: 0
    "#]]
    .assert_eq(&project.says("import xcoder"));
    assert!(!project.path().join(".portolan").exists(), "nothing is written without being asked for");
    expect![[r#"
        {
          "guidelines": "integration: [develop]\nspecs:\n  required: true\n",
          "mergePolicy": null,
          "notTakenOver": [
            {
              "file": ".claude/settings.json",
              "line": 1,
              "column": 38,
              "message": "`workflow.type` is not imported",
              "help": "it has no counterpart here"
            },
            {
              "file": ".xcoder/guidelines.yaml",
              "line": 2,
              "column": 6,
              "message": "`qa.test` is not imported",
              "help": "give a phase an acceptance check that runs it"
            }
          ]
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("import xcoder --write --format json"));
    assert!(project.says("check .portolan/guidelines.yaml").ends_with("exit: 0\n"));
    expect![[r#"
        stderr: error: `.portolan/guidelines.yaml` already exists
        stderr: help: move it away first, or copy what is missing into it
        exit: 2
    "#]]
    .assert_eq(&project.says("import xcoder --write"));
    project.write(".xcoder/guidelines.yaml", "branched: [");
    let said = project.says("import xcoder --write");
    assert!(said.ends_with("exit: 3\n"), "{said}");
}

#[test]
fn the_merge_policy_of_another_program_is_taken_over() {
    let project = Project::new();
    let policy = "zones:\n  core: { paths: [src/**], require: human-review }\n";
    project.write(".xcoder/merge-policy.yaml", policy);
    expect![[r#"
        # All settings have their default values.

        # .portolan/merge-policy.yaml
        zones:
          core: { paths: [src/**], require: human-review }
        exit: 0
    "#]]
    .assert_eq(&project.says("import xcoder"));
    assert!(project.says("import xcoder --write").ends_with("exit: 0\n"));
    let written = std::fs::read_to_string(project.path().join(".portolan/merge-policy.yaml")).expect("it is there");
    assert_eq!(written, policy);
    assert!(!project.path().join(".portolan/guidelines.yaml").exists(), "there were no rules");
    expect![[r#"
        stderr: error: `.portolan/merge-policy.yaml` already exists
        stderr: help: move it away first, or copy what is missing into it
        exit: 2
    "#]]
    .assert_eq(&project.says("import xcoder --write"));
    project.write(".xcoder/merge-policy.yaml", "zones:\n  core: { path: [src/**], require: somebody }\n");
    expect![[r#"
        # All settings have their default values.
        stderr: error[missing-field]: zone `core` has no `paths`, so nothing belongs to it
        stderr:  --> .xcoder/merge-policy.yaml:2:3
        stderr:   |
        stderr: 2 |   core: { path: [src/**], require: somebody }
        stderr:   |   ^^^^
        stderr: 
        stderr: error[unknown-field]: zone `core` has no `path`
        stderr:  --> .xcoder/merge-policy.yaml:2:11
        stderr:   |
        stderr: 2 |   core: { path: [src/**], require: somebody }
        stderr:   |           ^^^^
        stderr:   |
        stderr: help: did you mean `paths`?
        stderr: 
        stderr: error[unknown-word]: `require` cannot be `somebody`
        stderr:  --> .xcoder/merge-policy.yaml:2:36
        stderr:   |
        stderr: 2 |   core: { path: [src/**], require: somebody }
        stderr:   |                                    ^^^^^^^^
        stderr:   |
        stderr: help: use one of `gate-pass-or-human`, `gate-pass` and `human-review`
        stderr: 
        exit: 3
    "#]]
    .assert_eq(&project.says("import xcoder --write"));
}
