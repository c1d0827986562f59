//! `portolan test`.

use expect_test::expect;

use crate::support::{Project, SUM};

fn project(tests: &str) -> Project {
    let project = Project::new();
    project.write("sum.yaml", SUM);
    project.write("sum.test.yaml", tests);
    project
}

#[test]
fn tests_pass_fail_and_leave_edges_untaken() {
    let project = project(
        r#"coverage: {edges: 90}
mock: {add: {sum: 3}}
tests:
  - {name: small, input: {a: 1, b: 2}, expect: {size: small, sum: 3.0}}
  - {name: big, input: {a: 1, b: 2}, mock: {add: {sum: 30}}, expect: {sum: 30, size: small}}
  - {name: broken, input: {a: 1, b: 2}, mock: {add: {error: gone}}, expect: {sum: 0, error: gone}}
  - {name: refused, input: {a: 1}, mock: {sum.add: 1}, expectError: {code: bad-input}}
"#,
    );
    expect![[r#"
        sum.test.yaml
          ok      small
          FAILED  big
                  line 5
                    {
                      "sum": 30,
                  -   "size": "small"
                  +   "size": "big"
                    }
          ok      broken
          ok      refused
                  the answer for `sum.add` was not used
          sum: 8 of 8 edges taken
        4 tests: 3 passed, 1 failed; 8 of 8 edges taken
        exit: 1
    "#]]
    .assert_eq(&project.says("test sum.yaml"));
}

#[test]
fn too_few_edges_are_a_failure() {
    let tests = "coverage: {edges: 80}\ntests: [{name: small, input: {a: 1, b: 2}, mock: {add: {sum: 3}}}]\n";
    let project = project(tests);
    expect![[r#"
        sum.test.yaml
          ok      small
          sum: 4 of 8 edges taken
            never taken: line 13: add → broken (error)
            never taken: line 17: large → big ({">":[{"var":"add.sum"},10]})
            never taken: line 19: big → exit
            never taken: line 21: broken → exit
          50 % of the edges were taken, less than the required 80 %
        1 test: 1 passed, 0 failed; 4 of 8 edges taken
        exit: 1
    "#]]
    .assert_eq(&project.says("test sum.test.yaml"));
    assert!(
        project.says("--format json test .").contains("\"percent\": 50"),
        "{}",
        project.says("--format json test .")
    );
}

#[test]
fn a_call_without_an_answer_fails_its_test_whatever_comes_of_it() {
    let project = project(
        r#"tests:
  - {name: caught, input: {a: 1, b: 2}}
  - {name: meant, input: {a: 1, b: 2}, mock: {add: {error: {message: m, code: no-answer}}}, expect: {sum: 0, error: m}}
  - {name: other, input: {a: 1, b: 2}, expect: {sum: 3}}
"#,
    );
    expect![[r#"
        sum.test.yaml
          FAILED  caught
                  line 2
                  `sum.add` was called, but has no answer: write one under `mock`
          ok      meant
          FAILED  other
                  line 4
                    {
                  -   "sum": 3
                  +   "sum": 0,
                  +   "error": "there is no answer for this call of `add`"
                    }
                  `sum.add` was called, but has no answer: write one under `mock`
          sum: 3 of 8 edges taken
            never taken: line 13: add → large
            never taken: line 17: large → big ({">":[{"var":"add.sum"},10]})
            never taken: line 18: large → small (otherwise)
            never taken: line 19: big → exit
            never taken: line 20: small → exit
        3 tests: 1 passed, 2 failed; 3 of 8 edges taken
        exit: 1
    "#]]
    .assert_eq(&project.says("test sum.yaml"));
    let said = project.says("--format json test sum.yaml");
    assert!(said.contains(r#""sum.add""#) && said.contains(r#""unanswered""#), "{said}");
}

#[test]
fn what_is_expected_of_a_failure_is_held_against_it() {
    let graph = SUM.replace(", onError: broken", "");
    let project = project(
        r#"graph: bare.yaml
mock: {add: {error: {message: it took too long, code: call-timeout}}}
tests:
  - {name: all of it, input: {a: 1, b: 2}, expectError: {node: add, code: call-timeout, message: too long}}
  - {name: another node, input: {a: 1, b: 2}, expectError: {node: large}}
  - {name: an output, input: {a: 1, b: 2}, expect: {sum: 1}}
"#,
    );
    project.write("bare.yaml", graph);
    expect![[r#"
        sum.test.yaml
          ok      all of it
          FAILED  another node
                  line 5
                    {
                  -   "expectError": {
                  -     "node": "large"
                  +   "error": {
                  +     "node": "add",
                  +     "code": "call-timeout",
                  +     "message": "it took too long"
                      }
                    }
          FAILED  an output
                  line 6
                    {
                  -   "sum": 1
                  +   "error": {
                  +     "node": "add",
                  +     "code": "call-timeout",
                  +     "message": "it took too long"
                  +   }
                    }
          sum: 1 of 7 edges taken
            never taken: line 13: add → large
            never taken: line 17: large → big ({">":[{"var":"add.sum"},10]})
            never taken: line 18: large → small (otherwise)
            never taken: line 19: big → exit
            never taken: line 20: small → exit
            never taken: line 21: broken → exit
        3 tests: 1 passed, 2 failed; 1 of 7 edges taken
        exit: 1
    "#]]
    .assert_eq(&project.says("test sum.test.yaml"));
}

#[test]
fn faults_of_a_test_file_have_their_places() {
    let project = project("tests:\n  - {name: a, tool: summ, mock: {ad: 1}}\n  - {nam: b}\n");
    expect![[r#"
        0 tests: 0 passed, 0 failed; 0 of 0 edges taken
        stderr: error[missing-field]: test 2 has no `name`
        stderr:  --> sum.test.yaml:3:5
        stderr:   |
        stderr: 3 |   - {nam: b}
        stderr:   |     ^
        stderr: 
        stderr: error[unknown-field]: test 2 has a field `nam`, which has no meaning here
        stderr:  --> sum.test.yaml:3:6
        stderr:   |
        stderr: 3 |   - {nam: b}
        stderr:   |      ^^^
        stderr:   |
        stderr: help: did you mean `name`?
        stderr: 
        stderr: error: `sum.test.yaml` has 2 errors
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("test sum.test.yaml"));
    project.write("sum.test.yaml", "tests:\n  - {name: a, tool: summ, mock: {ad: 1}}\n");
    expect![[r#"
        0 tests: 0 passed, 0 failed; 0 of 0 edges taken
        stderr: error[unknown-node]: `ad` is not a node whose call can be answered
        stderr:  --> sum.test.yaml:2:34
        stderr:   |
        stderr: 2 |   - {name: a, tool: summ, mock: {ad: 1}}
        stderr:   |                                  ^^
        stderr:   |
        stderr: help: did you mean `add`?
        stderr: 
        stderr: error[unknown-tool]: there is no tool `summ`
        stderr:  --> sum.test.yaml:2:21
        stderr:   |
        stderr: 2 |   - {name: a, tool: summ, mock: {ad: 1}}
        stderr:   |                     ^^^^
        stderr:   |
        stderr: help: did you mean `sum`?
        stderr: 
        stderr: error: `sum.test.yaml` has 2 errors
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("test sum.test.yaml"));
    project.write("other.test.yaml", "tests: []\n");
    expect![[r#"
        stderr: error: `other.test.yaml` does not say which graph it tests
        stderr: help: write `graph: FILE` in it, or name it `<graph>.test.yaml` and put it beside the graph
        exit: 2
    "#]]
    .assert_eq(&project.says("test other.test.yaml"));
    std::fs::remove_file(project.path().join("sum.test.yaml")).expect("it is there");
    expect![[r#"
        stderr: error: there is no `sum.test.yaml` beside `sum.yaml`
        stderr: help: `portolan run --record` writes one
        exit: 2
    "#]]
    .assert_eq(&project.says("test sum.yaml"));
}

/// Branches, loops and error edges are edges too.
#[test]
fn edges_of_branches_count() {
    let project = Project::new();
    project.write(
        "both.yaml",
        r#"version: "1.0"
server: {name: both, version: "1"}
tools:
  - name: both
    description: Two at once
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: fork}
      - {id: fork, type: parallel, branches: [one, two], join: joined}
      - {id: one, type: mcp, server: echo, tool: echo, args: {n: 1}, next: joined}
      - {id: two, type: mcp, server: echo, tool: echo, args: {n: 2}, next: joined}
      - {id: joined, type: join, next: exit}
      - {id: exit, type: exit}
"#,
    );
    project.write("both.test.yaml", "tests: [{name: all, mock: {one: 1, two: 2}, expect: {one: 1, two: 2}}]\n");
    expect![[r#"
        both.test.yaml
          ok      all
          both: 6 of 6 edges taken
        1 test: 1 passed, 0 failed; 6 of 6 edges taken
        exit: 0
    "#]]
    .assert_eq(&project.says("test both.yaml"));
}
