//! `portolan check`.

use expect_test::expect;
use serde_json::Value;

use crate::support::{Project, SMALL, SUM, repository};

const MISSPELT: &str = r#"{
  "nodes": {
    "start": { "type": "start" },
    "lint_format": { "type": "task" },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [
    { "from": "start", "to": "lint-format" },
    { "from": "lint_format", "to": "done" }
  ]
}
"#;

#[test]
fn what_is_sound_is_counted() {
    let project = Project::small();
    expect![[r#"
        small: proved: can always finish · nothing dead · always a way · at least 2 moves · at most 10 moves, 2 answers · loops: stuck (unbounded, a person's) · checked: 0 of 2 steps
        1 file checked: 0 errors, 0 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check .flow/workflows/small.json"));
    expect![[r#"
        {
          "files": [
            {
              "file": ".flow/workflows/small.json",
              "ok": true,
              "diagnostics": []
            }
          ],
          "errors": 0,
          "warnings": 0
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("check .flow/workflows/small.json --format json"));
}

#[test]
fn a_project_is_its_flow_folder() {
    let project = Project::small();
    project.write("package.json", "{}");
    let whole = project.says("check .");
    expect![[r#"
        small: proved: can always finish · nothing dead · always a way · at least 2 moves · at most 10 moves, 2 answers · loops: stuck (unbounded, a person's) · checked: 0 of 2 steps
        1 file checked: 0 errors, 0 warnings
        exit: 0
    "#]]
    .assert_eq(&whole);
    assert_eq!(project.says("check .flow"), whole);
    assert_eq!(project.says("check .flow/workflows"), whole);
}

#[test]
fn a_folder_may_hold_graphs_in_yaml_and_their_tests() {
    let project = Project::small();
    project.write("all/a.yaml", SUM);
    project.write("all/b/workflow.yml", SUM);
    project.write("all/a.test.yaml", "mock: {}");
    project.write("all/mcp.json", "{}");
    project.write("all/order.schema.json", r#"{"type": "object"}"#);
    project.write("all/small.json", SMALL);
    expect![[r#"
        small: proved: can always finish · nothing dead · always a way · at least 2 moves · at most 10 moves, 2 answers · loops: stuck (unbounded, a person's) · checked: 0 of 2 steps
        sum: proved: can always finish · nothing dead · always a way · at least 1 call · at most 1 call
        sum: proved: can always finish · nothing dead · always a way · at least 1 call · at most 1 call
        3 files checked: 0 errors, 0 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check all"));
    assert_eq!(project.says("check all all/a.yaml"), project.says("check all"), "each file once");
    project.write("all/a.yaml", "tools: [");
    let says = project.says("check all");
    assert!(
        says.contains("all/a.yaml:1:") && says.ends_with("3 files checked: 1 error, 0 warnings\nexit: 3\n"),
        "{says}"
    );
}

#[test]
fn a_fault_is_shown_in_its_place_with_what_to_do() {
    let project = Project::new();
    project.write("misspelt.json", MISSPELT);
    expect![[r#"
        error[unknown-node]: an edge leads to `lint-format`, which is not defined
         --> misspelt.json:8:30
          |
        8 |     { "from": "start", "to": "lint-format" },
          |                              ^^^^^^^^^^^^^
          |
        help: did you mean `lint_format`?

        1 file checked: 1 error, 0 warnings
        exit: 3
    "#]]
    .assert_eq(&project.says("check misspelt.json"));
    expect![[r#"
        {
          "files": [
            {
              "file": "misspelt.json",
              "ok": false,
              "diagnostics": [
                {
                  "code": "unknown-node",
                  "severity": "error",
                  "message": "an edge leads to `lint-format`, which is not defined",
                  "help": "did you mean `lint_format`?",
                  "line": 8,
                  "column": 30,
                  "endLine": 8,
                  "endColumn": 43
                }
              ]
            }
          ],
          "errors": 1,
          "warnings": 0
        }
        exit: 3
    "#]]
    .assert_eq(&project.says("check misspelt.json --format json"));
}

#[test]
fn lenient_reading_warns_and_says_what_it_does() {
    let project = Project::new();
    project.write("misspelt.json", MISSPELT);
    expect![[r#"
        warning[never-happens]: `lint_format` is never reached: no edge leads there from the start
         --> misspelt.json:4:5
          |
        4 |     "lint_format": { "type": "task" },
          |     ^^^^^^^^^^^^^
          |
        help: add the missing edge to it, or remove it

        warning[unknown-node]: an edge leads to `lint-format`, which is not defined
         --> misspelt.json:8:30
          |
        8 |     { "from": "start", "to": "lint-format" },
          |                              ^^^^^^^^^^^^^
          |
        help: did you mean `lint_format`? (until then the edge is left out)

        misspelt: proved: can always finish · always a way · checked: 0 of 1 steps
        1 file checked: 0 errors, 2 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check --lenient misspelt.json"));
}

#[test]
fn every_path_is_looked_at_whatever_becomes_of_the_others() {
    let project = Project::small();
    project.write("broken.json", "{\"nodes\": ");
    project.write("bytes.json", b"\xff\xfe");
    project.write("empty/readme.txt", "");
    expect![[r#"
        error[syntax]: not valid JSON: expected value after colon in object property
         --> broken.json:1:11
          |
        1 | {"nodes": 
          |           ^

        small: proved: can always finish · nothing dead · always a way · at least 2 moves · at most 10 moves, 2 answers · loops: stuck (unbounded, a person's) · checked: 0 of 2 steps
        2 files checked: 1 error, 0 warnings; 3 paths not read
        stderr: error: `missing.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        stderr: error: `empty` holds no workflow
        stderr: help: a workflow is a file `<id>.json` or `<id>.yaml`, or `workflow.json` in a folder `<id>`; a project has them in `.flow/workflows`
        stderr: error: `bytes.json` is not UTF-8: invalid character at byte 0
        stderr: help: save it as UTF-8
        exit: 3
    "#]].assert_eq(&project.says("check missing.json broken.json bytes.json empty .flow"));
    expect![[r#"
        {
          "files": [
            {
              "file": "missing.json",
              "ok": false,
              "diagnostics": [
                {
                  "code": "unreadable",
                  "severity": "error",
                  "message": "`missing.json` cannot be read: no such file or directory",
                  "help": "check the path and its permissions"
                }
              ]
            },
            {
              "file": "bytes.json",
              "ok": false,
              "diagnostics": [
                {
                  "code": "not_utf8",
                  "severity": "error",
                  "message": "`bytes.json` is not UTF-8: invalid character at byte 0",
                  "help": "save it as UTF-8"
                }
              ]
            }
          ],
          "errors": 2,
          "warnings": 0
        }
        exit: 1
    "#]]
    .assert_eq(&project.says("check missing.json bytes.json --format json"));
    expect![[r#"
        0 files checked: 0 errors, 0 warnings; 1 path not read
        stderr: error: `empty` holds no workflow
        stderr: help: a workflow is a file `<id>.json` or `<id>.yaml`, or `workflow.json` in a folder `<id>`; a project has them in `.flow/workflows`
        exit: 2
    "#]].assert_eq(&project.says("check empty"));
}

#[test]
fn a_large_file_is_refused_unread() {
    let project = Project::new();
    let file = std::fs::File::create(project.path().join("large.json")).expect("a file");
    file.set_len(50 << 20).expect("a file may have holes");
    expect![[r#"
        0 files checked: 0 errors, 0 warnings; 1 path not read
        stderr: error: `large.json` has more than 4194304 bytes
        stderr: help: split it: a subflow can be in a file of its own
        exit: 1
    "#]]
    .assert_eq(&project.says("check large.json"));
}

#[test]
fn two_files_of_one_id_are_told_apart() {
    let project = Project::new();
    project.write("a/small.json", SMALL);
    project.write("b/small.json", SMALL);
    expect![[r#"
        error[duplicate-id]: `small` is also the id of `a/small.json`
        --> b/small.json
         |
        help: rename one of the files

        small: proved: can always finish · nothing dead · always a way · at least 2 moves · at most 10 moves, 2 answers · loops: stuck (unbounded, a person's) · checked: 0 of 2 steps
        2 files checked: 1 error, 0 warnings
        exit: 3
    "#]]
    .assert_eq(&project.says("check a b a"));
}

#[test]
fn a_flood_of_faults_is_cut_for_people_and_whole_for_programs() {
    let project = Project::new();
    let nodes: String = (0..5_000).map(|at| format!(",\n\"n{at}\": {{\"type\": \"tsk\", \"x\": 1}}")).collect();
    let edges: String = (0..5_000).map(|at| format!(",\n{{\"from\": \"n{at}\", \"to\": \"nowhere\"}}")).collect();
    let text = format!(
        "{{\"nodes\": {{\"start\": {{\"type\": \"start\"}}{nodes}}},\n\"edges\": [{{\"from\": \"start\", \"to\": \"n0\"}}{edges}]}}"
    );
    project.write("flood.json", text);
    let said = project.says("check flood.json");
    assert_eq!(said.matches("--> flood.json:").count(), 100);
    let end = said.rsplit("\n\n").take(2).collect::<Vec<_>>();
    expect![[r#"
        1 file checked: 15000 errors, 1 warning
        exit: 3

        flood.json: 14901 more; use `--format json` to see them all"#]]
    .assert_eq(&end.join("\n"));
    let json = project.command(&["check", "flood.json", "--format", "json"]).output().expect("it runs");
    let json: Value = serde_json::from_slice(&json.stdout).expect("one JSON value");
    let faults = json["files"][0]["diagnostics"].as_array().expect("faults");
    assert_eq!((&json["errors"], &json["warnings"]), (&Value::from(15_000), &Value::from(1)));
    assert_eq!(faults.len(), 15_001);
    assert_eq!((&faults[0]["line"], &faults[0]["column"]), (&Value::from(2), &Value::from(16)));
}

const FOLDER: &str = ".flow/workflows/mine";

/// A workflow whose activities are files, the second of them with a fault.
fn of_files() -> Project {
    let project = Project::small();
    project.write(&format!("{FOLDER}/workflow.yaml"), "id: own\nversion: 1.0.0\ntitle: Mine\n");
    let look = "id: look\nversion: 1.0.0\nname: Look\ntransitions: [{ to: build }]\n";
    project.write(&format!("{FOLDER}/activities/01-look.yaml"), look);
    let build = "id: build\nversion: 1.0.0\nname: Build\n\nsteps:\n  - { id: é, kind: stpe }\n";
    project.write(&format!("{FOLDER}/activities/02-build.yaml"), build);
    project
}

#[test]
fn a_fault_in_the_file_of_an_activity_is_shown_there() {
    let project = of_files();
    expect![[r#"
        warning[id-file-name]: the workflow has the id `own`, but its file or folder is called `mine`
         --> .flow/workflows/mine/workflow.yaml:1:5
          |
        1 | id: own
          |     ^^^
          |
        help: use the name of its file or folder as `id`: the workflow is started by that name

        error[unknown-type]: step `é` has the kind `stpe`, which does not exist
         --> .flow/workflows/mine/activities/02-build.yaml:6:20
          |
        6 |   - { id: é, kind: stpe }
          |                    ^^^^
          |
        help: did you mean `step`?

        3 files checked: 1 error, 1 warning
        exit: 3
    "#]]
    .assert_eq(&project.says(&format!("check {FOLDER}")));
    expect![[r#"
        {
          "files": [
            {
              "file": ".flow/workflows/mine/workflow.yaml",
              "ok": true,
              "diagnostics": [
                {
                  "code": "id-file-name",
                  "severity": "warning",
                  "message": "the workflow has the id `own`, but its file or folder is called `mine`",
                  "help": "use the name of its file or folder as `id`: the workflow is started by that name",
                  "line": 1,
                  "column": 5,
                  "endLine": 1,
                  "endColumn": 8
                }
              ]
            },
            {
              "file": ".flow/workflows/mine/activities/01-look.yaml",
              "ok": true,
              "diagnostics": []
            },
            {
              "file": ".flow/workflows/mine/activities/02-build.yaml",
              "ok": false,
              "diagnostics": [
                {
                  "code": "unknown-type",
                  "severity": "error",
                  "message": "step `é` has the kind `stpe`, which does not exist",
                  "help": "did you mean `step`?",
                  "line": 6,
                  "column": 20,
                  "endLine": 6,
                  "endColumn": 24
                }
              ]
            }
          ],
          "errors": 1,
          "warnings": 1
        }
        exit: 3
    "#]]
    .assert_eq(&project.says(&format!("check {FOLDER} --format json")));
    expect![[r#"
        stderr: error[unknown-type]: step `é` has the kind `stpe`, which does not exist
        stderr:  --> <project>/.flow/workflows/mine/activities/02-build.yaml:6:20
        stderr:   |
        stderr: 6 |   - { id: é, kind: stpe }
        stderr:   |                    ^^^^
        stderr:   |
        stderr: help: did you mean `step`?
        stderr: 
        stderr: error: `<project>/.flow/workflows/mine/workflow.yaml` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("show mine"));
}

#[test]
fn a_folder_of_activities_is_shown_by_what_it_is_begun_by() {
    let project = of_files();
    project.write(&format!("{FOLDER}/activities/02-build.yaml"), "id: build\nversion: 1.0.0\nname: Build\n");
    let shown = project.says("show mine");
    expect![[r#"
        Mine (mine)

        start  start               → look
        look   activity  Look      → build
        build  activity  Build     → done
        done   end       Complete  ends: success
        exit: 0
    "#]]
    .assert_eq(&shown);
    assert_eq!(project.says(&format!("show {FOLDER}")), shown);
    assert_eq!(project.says(&format!("show {FOLDER}/workflow.yaml")), shown);
}

/// Sound by the rules of its format, and with a variable that nobody declares.
const ADVISED: &str = "id: advised\nversion: 1.0.0\ntitle: Advised\nactivities:\n  - id: a\n    name: A\n    steps:\n      - { id: one, kind: action, when: nobody }\n";

#[test]
fn a_warning_that_is_denied_is_an_error() {
    let project = Project::small();
    project.write("advised.yaml", ADVISED);
    let last = |args: &str| {
        let says = project.says(args);
        says.lines().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        1 file checked: 0 errors, 1 warning
        exit: 0"#]]
    .assert_eq(&last("check advised.yaml"));
    expect![[r#"
        1 file checked: 1 error, 0 warnings
        exit: 3"#]]
    .assert_eq(&last("check advised.yaml --deny unknown-variable"));
    assert_eq!(
        last("check advised.yaml --deny warnings --lenient"),
        last("check advised.yaml --deny unknown-variable")
    );
    assert_eq!(last("check advised.yaml --deny never-happens"), last("check advised.yaml"));
    expect![[r#"
        stderr: error: invalid value 'nevr-happens' for '--deny <CODE|warnings>': no finding has this code; did you mean `never-happens`?
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("check advised.yaml --deny nevr-happens"));
    expect![[r#"
        stderr: error[unknown-variable]: there is no variable `nobody`
        stderr:  --> advised.yaml:8:40
        stderr:   |
        stderr: 8 |       - { id: one, kind: action, when: nobody }
        stderr:   |                                        ^^^^^^
        stderr:   |
        stderr: help: declare it under `variables`; until then it has a value only where a step reports one
        stderr: 
        stderr: error: `advised.yaml` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("serve advised.yaml --deny unknown-variable"));
}

/// Whoever is tired once goes round for ever: nobody is asked anew.
pub(crate) const TRAPPED: &str = "id: trapped\nversion: 1.0.0\ntitle: Trapped\nvariables:\n  \
    - { name: tired, type: boolean, default: false }\nactivities:\n  - id: look\n    \
    steps: [{ id: work, kind: step, outputs: [tired] }]\n    \
    transitions: [{ to: again, when: tired }, { to: done, isDefault: true }]\n  - id: again\n    \
    steps: [{ id: work, kind: step, outputs: [] }]\n    \
    transitions: [{ to: done, when: tired == false }, { to: again, isDefault: true }]\n  \
    - { id: done, steps: [{ id: work, kind: step, outputs: [] }] }\n";

#[test]
fn a_run_that_refutes_something_is_shown_and_written() {
    let project = Project::new();
    project.write("trapped.yaml", TRAPPED);
    project.write("taken", "");
    expect![[r#"
        warning[cannot-finish]: a run can reach a cycle that it never leaves: `again`, `again.leave` and `again.work`
          --> trapped.yaml:10:9
           |
        10 |   - id: again
           |         ^^^^^
           |
        help: let a step in the cycle change `tired`, or add an edge that leads out

        warning[never-happens]: `again.leave` never leads to `done`: `tired == false` never holds there
          --> trapped.yaml:10:9
           |
        10 |   - id: again
           |         ^^^^^
           |
        help: correct the conditions on the path to it, or remove it

        trapped: proved: always a way · at least 2 moves · at most 2 moves · loops: again (unbounded) · checked: 0 of 3 steps

        cannot-finish in trapped:
            1  start: the work begins
            2  look: passed
            3  look.work: the agent reports `passed`, with `tired` = true
            4  look.leave: passed
        1 file checked: 0 errors, 2 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check trapped.yaml --explain cannot-finish"));
    project.says("check trapped.yaml --counterexamples runs");
    let names: Vec<String> = std::fs::read_dir(project.path().join("runs"))
        .expect("it was made")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["trapped-cannot-finish-1.json"]);
    let text = std::fs::read_to_string(project.path().join("runs").join(&names[0])).expect("it was written");
    let run: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&run["is_replayed"], run["events"].as_array().map(Vec::is_empty)), (&true.into(), Some(false)));
    expect![[r#"
            1  agent agent began → now at `look`
            2  portolan went on → now at `look.work`
            3  agent agent reported passed → set `tired`, now at `look.leave`
            4  portolan went on → `look.leave` leads to `again`, now at `again`
        it is at `again`; next: the engine continues by itself
        exit: 0
    "#]]
    .assert_eq(&project.says("simulate trapped.yaml --replay runs/trapped-cannot-finish-1.json"));
    project.write("trapped.yaml", TRAPPED.replace("{ to: again, when: tired }", "{ to: done, when: tired }"));
    expect![[r#"
            1  agent agent began → now at `look`
            2  portolan went on → now at `look.work`
            3  agent agent reported passed → set `tired`, now at `look.leave`
            4  portolan went on → `look.leave` leads to `done`, now at `done`
        it is at `done`; next: the engine continues by itself
        exit: 0
    "#]]
    .assert_eq(&project.says("simulate trapped.yaml --replay runs/trapped-cannot-finish-1.json"));
    project.write("trapped.yaml", TRAPPED.replace("tired", "weary"));
    expect![[r#"
            1  agent agent began → now at `look`
            2  portolan went on → now at `look.work`
        it is at `look.work`; next: `passed`
        stderr: event 3 is refused: the step does not give `tired`; leave out what the step is not declared to give
        exit: 1
    "#]]
    .assert_eq(&project.says("simulate trapped.yaml --replay runs/trapped-cannot-finish-1.json"));
    expect![[r#"
        stderr: error: `trapped` is neither a file nor the id of a workflow
        stderr: help: `portolan catalog list` shows what comes with Portolan; a project has its own in `.flow/workflows`
        exit: 2
    "#]]
    .assert_eq(&project.says("simulate --replay runs/trapped-cannot-finish-1.json"));
    expect![[r#"
        stderr: error: `trapped.yaml` is not a recorded run: expected value at line 1 column 1
        stderr: help: name a file that was written by `portolan check --counterexamples DIR`
        exit: 1
    "#]]
    .assert_eq(&project.says("simulate trapped.yaml --replay trapped.yaml"));
    project.write("trapped.yaml", TRAPPED);
    let taken = project.says("check trapped.yaml --counterexamples taken");
    assert!(taken.contains("warning[cannot-finish]"), "what was found is said all the same: {taken}");
    assert!(taken.ends_with("stderr: error: `taken` cannot be created: File exists\nexit: 1\n"), "{taken}");
}

#[test]
fn a_folder_that_has_no_workflow_is_gone_through() {
    let project = Project::small();
    let small = std::fs::read_to_string(project.path().join(".flow/workflows/small.json")).expect("it is there");
    for place in ["all/deep/er/small.json", "all/node_modules/x/other.json", "all/.hidden/other.json"] {
        project.write(place, &small);
    }
    let said = project.says("check all");
    assert!(said.contains("small: proved") && said.contains("1 file checked"), "{said}");
    project.write("all/second/small.json", &small);
    let said = project.says("check all");
    assert!(said.contains("duplicate-id") && said.ends_with("exit: 3\n"), "{said}");
}

#[test]
fn each_folder_of_examples_is_sound_as_a_whole() {
    let project = Project::new();
    let examples = repository().join("examples");
    for folder in ["activities", "agent-states", "navigator", "tool-graphs"] {
        let said = project.says_to(&["check", &examples.join(folder).to_string_lossy()]);
        assert!(said.contains(" 0 errors") && said.ends_with("exit: 0\n"), "{said}");
    }
}

#[test]
fn what_only_the_analysis_finds_in_a_graph_is_shown_in_its_text() {
    let project = Project::small();
    let text = "version: '1.0'
server: { name: s, version: 1.0.0 }
mcpServers: { s: { command: server } }
tools:
  - name: all
    description: It goes round where the call fails
    inputSchema: { type: object }
    outputSchema: {}
    nodes:
      - { id: in, type: entry, next: call }
      - { id: call, type: mcp, server: s, tool: t, args: {}, idempotent: true, retry: { max: 2 }, onError: round, next: out }
      - { id: round, type: mcp, server: s, tool: t, args: {}, onError: round, next: round }
      - { id: out, type: exit }
";
    project.write("round.yaml", text);
    let said = project.says("check round.yaml --explain cannot-finish");
    assert!(said.contains("error[cannot-finish]") && said.contains("round.yaml:12:15"), "{said}");
    assert!(said.contains("- { id: round, type: mcp"), "{said}");
    assert!(said.contains("call: it fails"), "{said}");
}
