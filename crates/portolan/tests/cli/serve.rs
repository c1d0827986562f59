//! `portolan serve`, as far as the command line goes; `tests/mcp` speaks with it.

use expect_test::expect;

use crate::support::Project;

#[test]
fn what_is_named_must_be_sound() {
    let project = Project::new();
    project.write("broken.json", "{\"nodes\": ");
    expect![[r#"
        stderr: error[syntax]: not valid JSON: expected value after colon in object property
        stderr:  --> broken.json:1:11
        stderr:   |
        stderr: 1 | {"nodes": 
        stderr:   |           ^
        stderr: 
        stderr: error: `broken.json` has 1 error
        stderr: help: mend them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("serve broken.json"));
    expect![[r#"
        stderr: error: `missing.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("serve missing.json"));
    expect![[r#"
        stderr: error: invalid value 'somebody' for '--human <HOW>'
        stderr:   [possible values: attested, verified]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --human somebody"));
}

#[test]
fn a_client_that_leaves_at_once_is_no_error() {
    let project = Project::small();
    expect![[r#"
        exit: 0
    "#]]
    .assert_eq(&project.says("serve"));
    expect![[r#"
        exit: 0
    "#]]
    .assert_eq(&project.says("serve .flow/workflows --human verified --lenient --store memory"));
}
