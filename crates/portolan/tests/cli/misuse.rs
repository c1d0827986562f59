//! Command lines that cannot be understood, and projects that are none.

use expect_test::expect;

use crate::support::Project;

#[test]
fn a_command_line_that_cannot_be_understood_is_refused() {
    let project = Project::new();
    expect![[r#"
        stderr: error: unrecognized subcommand 'chek'
        stderr: 
        stderr:   tip: some similar subcommands exist: 'checks', 'check'
        stderr: 
        stderr: Usage: portolan [OPTIONS] [COMMAND]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("chek"));
    expect![[r#"
        stderr: {"error":"usage","message":"unrecognized subcommand 'chek'","help":"`--help` shows the usage"}
        exit: 2
    "#]]
    .assert_eq(&project.says("chek --format json"));
    expect![[r#"
        stderr: {"error":"usage","message":"the following required arguments were not provided: --reason <TEXT>","help":"`--help` shows the usage"}
        exit: 2
    "#]].assert_eq(&project.says("--format=json runs cancel k7m2qx4p"));
    expect![[r#"
        stderr: error: invalid value 'yaml' for '--format <FORMAT>'
        stderr:   [possible values: text, json]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("check x --format yaml"));
    expect![[r#"
        stderr: error: invalid value 'tcsh' for '<SHELL>'
        stderr:   [possible values: bash, elvish, fish, powershell, zsh]
        stderr: 
        stderr:   tip: a similar value exists: 'zsh'
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("completions tcsh"));
    expect![[r#"
        stderr: {"error":"text_only","message":"the demo has only text output","help":"leave `--format json` out"}
        exit: 2
    "#]]
    .assert_eq(&project.says("demo --format json"));
}

#[test]
fn a_project_is_a_folder_that_is_there() {
    let project = Project::new();
    project.write("file", "");
    expect![[r#"
        stderr: error: `nowhere` is not a project: no such file or directory
        stderr: help: name an existing folder with `--project`
        exit: 1
    "#]]
    .assert_eq(&project.says("--project nowhere runs list"));
    expect![[r#"
        stderr: {"error":"no_project","message":"`file` is not a project: it is not a folder","help":"name an existing folder with `--project`"}
        exit: 1
    "#]].assert_eq(&project.says("--project file runs list --format json"));
}

#[test]
fn the_version_is_one_line() {
    assert_eq!(Project::new().says("--version"), format!("portolan {}\nexit: 0\n", env!("CARGO_PKG_VERSION")));
}
