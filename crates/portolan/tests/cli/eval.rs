//! `portolan eval`

use std::io::Write;
use std::process::Stdio;

use expect_test::expect;

use crate::support::Project;

fn project() -> Project {
    let project = Project::new();
    project.write("data.json", r#"{"items": [{"price": 2.5, "count": 2}, {"price": 1, "count": 3}], "state": "open"}"#);
    project.write("vars.json", r#"{"limit": 5}"#);
    project
}

#[test]
fn an_expression_is_evaluated_over_data() {
    let project = project();
    expect![[r#"
        8
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "$sum(items.(price * count))", "--data", "data.json"]));
    expect![[r#"
        {
          "over": true
        }
        exit: 0
    "#]]
    .assert_eq(
        &project.says("eval jsonata {\"over\":$sum(items.count)>=$limit} --data data.json --bindings vars.json"),
    );
    expect![[r#"
        true
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&["eval", "when", "state == open && !done", "--data", "data.json"]));
    expect![[r#"
        [
          2.5,
          1
        ]
        exit: 0
    "#]]
    .assert_eq(&project.says_to(&[
        "eval",
        "jsonlogic",
        r#"{"map": [{"var": "items"}, {"var": "price"}]}"#,
        "--data",
        "data.json",
    ]));
    expect![[r#"
        -1
        exit: 0
    "#]]
    .assert_eq(&project.says("eval jsonata -1"));
}

#[test]
fn data_may_come_from_standard_input() {
    let project = project();
    let mut command = project.command(&["eval", "jsonata", "a[1]", "--data", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("its input").write_all(br#"{"a": [1, "two"]}"#).expect("it is read");
    expect![[r#"
        "two"
        exit: 0
    "#]]
    .assert_eq(&project.output_text(&child.wait_with_output().expect("it ends")));
}

#[test]
fn undefined_is_nothing_with_a_remark() {
    let project = project();
    expect![[r#"
        stderr: undefined
        exit: 0
    "#]]
    .assert_eq(&project.says("eval jsonata nothing --data data.json"));
    assert_eq!(project.says("eval jsonata null"), "null\nexit: 0\n");
}

#[test]
fn what_cannot_be_read_is_shown_in_its_place() {
    let project = project();
    expect![[r#"
        stderr: error[expression-syntax]: found `)`, expected a value (S0211)
        stderr:  --> <expression>:1:20
        stderr:   |
        stderr: 1 | $sum(items.( * ) + )
        stderr:   |                    ^
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "$sum(items.( * ) + )"]));
    expect![[r#"
        stderr: error[expression-syntax]: `]` is missing at the end of the expression (S0203)
        stderr:  --> <expression>:2:3
        stderr:   |
        stderr: 2 |  2
        stderr:   |   ^
        stderr:   |
        stderr: help: add what is missing at the end: a value, or a closing bracket
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "[1,\n 2"]));
    expect![[r#"
        stderr: error[expression-syntax]: `&&` and `||` are mixed without parentheses
        stderr:  --> <expression>:1:8
        stderr:   |
        stderr: 1 | a && b || c
        stderr:   |        ^
        stderr:   |
        stderr: help: group the conditions with parentheses
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "when", "a && b || c"]));
    expect![[r#"
        stderr: error[expression-syntax]: `ands` is not a JSON Logic operator
        stderr: --> <expression>
        stderr:  |
        stderr: help: did you mean `and`?
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonlogic", r#"{"ands": [1]}"#]));
    expect![[r#"
        stderr: error[syntax]: not valid JSON: unexpected close brace
        stderr:  --> <expression>:1:11
        stderr:   |
        stderr: 1 | {"and": [1}
        stderr:   |           ^
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonlogic", r#"{"and": [1}"#]));
    expect![[r#"
        stderr: {"error":"expression-syntax","message":"2:4: found `3`, expected `]` (S0202)","help":""}
        exit: 3
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "[1,\n 2 3", "--format", "json"]));
}

#[test]
fn what_fails_says_why() {
    let project = project();
    expect![[r#"
        stderr: error: The right side of the + operator must evaluate to a number (T2002)
        exit: 1
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "1 + \"a\""]));
    expect![[r#"
        stderr: {"error":"expression-bounds","message":"a text is larger than 4 MiB","help":""}
        exit: 1
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "$pad(\"x\", 1e12)", "--format", "json"]));
    expect![[r#"
        stderr: error: the result is or contains a function, which is not a value; call it
        exit: 1
    "#]]
    .assert_eq(&project.says_to(&["eval", "jsonata", "function($x) { $x }"]));
}

#[test]
fn data_that_cannot_be_used_is_refused() {
    let project = project();
    project.write("broken.json", "{");
    project.write("list.json", "[1]");
    expect![[r#"
        stderr: error: `nothing.json` cannot be read: no such file or directory
        stderr: help: name a JSON file, or `-` for standard input
        exit: 1
    "#]]
    .assert_eq(&project.says("eval jsonata 1 --data nothing.json"));
    expect![[r#"
        stderr: error: `broken.json` is not valid JSON: it ends unexpectedly at line 1 column 1
        stderr: help: mend it
        exit: 2
    "#]]
    .assert_eq(&project.says("eval jsonata 1 --data broken.json"));
    expect![[r#"
        stderr: error: `list.json` is not a JSON object
        stderr: help: write the variables as members of an object, without their `$`
        exit: 2
    "#]]
    .assert_eq(&project.says("eval jsonata 1 --bindings list.json"));
    expect![[r#"
        stderr: error: invalid value 'jmespath' for '<LANGUAGE>'
        stderr:   [possible values: jsonata, jsonlogic, when]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("eval jmespath 1"));
}
