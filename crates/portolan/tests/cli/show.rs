//! `portolan show`.

use expect_test::expect;

use crate::support::Project;

/// What is said in JSON without the drawing, which other tests look at.
fn without_places(said: &str) -> String {
    let (before, rest) = said.split_once(",\n  \"drawing\": ").expect("it has a drawing");
    let (_, after) = rest.split_once("\n}\n").expect("it ends");
    format!("{before}\n}}\n{after}")
}

#[test]
fn a_picture_for_browsers_stands_for_itself() {
    let project = Project::small();
    let said = project.says("show small --diagram svg");
    assert!(said.starts_with("<svg ") && said.ends_with("</svg>\nexit: 0\n"), "{said}");
    for name in ["start", "work", "verify", "It fails. What now?", "done"] {
        assert!(said.contains(&format!(">{name}")), "{name}: {said}");
    }
    let json: serde_json::Value = {
        let said = project.says("show small --format json");
        serde_json::from_str(said.trim_end_matches("exit: 0\n")).expect("it is JSON")
    };
    let nodes = json["drawing"]["nodes"].as_array().expect("nodes");
    assert!(nodes.iter().all(|node| node["width"].as_u64() > Some(0) && node["span"].is_object()));
    assert_eq!(json["drawing"]["edges"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_workflow_is_an_outline_or_a_picture() {
    let project = Project::small();
    expect![[r#"
        Small (small)

        start   start         → work
        work    task          → verify
        verify  gate          → done
                            failed → work (retry up to 1, then stuck)
        done    end           ends: success
        stuck   checkpoint    → work

        Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

        Believed: every step (2); nothing is checked.
        exit: 0
    "#]]
    .assert_eq(&project.says("show small"));
    expect![[r#"
        flowchart TD
            start(("start"))
            work["○ work"]
            verify{"○ verify<br/><small>↻1</small>"}
            stuck{{"✋ It fails. What now?"}}
            done[["done"]]

            start --> work
            work --> verify
            verify -->|"passed"| done
            verify -->|"failed"| work
            verify -->|"failed"| stuck
            stuck -->|"passed"| work

            accDescr: Believed: work, verify.
            legend["✓ checked · ○ believed, not checked"]
            classDef startStep fill:#90EE90,stroke:#228B22,color:#1f2937
            classDef successStep fill:#87CEEB,stroke:#4169E1,color:#1f2937
            classDef hitlStep fill:#FFB6C1,stroke:#DC143C,color:#1f2937
            classDef gateStep fill:#E6E6FA,stroke:#9370DB,color:#1f2937
            classDef forkJoinStep fill:#FFEAA7,stroke:#FDCB6E,color:#1f2937
            classDef currentStep fill:#FFD700,stroke:#FF8C00,stroke-width:3px,color:#1f2937
            classDef legend fill:none,stroke:none
            class start startStep
            class done successStep
            class stuck hitlStep
            class verify gateStep
            class legend legend
        exit: 0
    "#]]
    .assert_eq(&project.says("show .flow/workflows/small.json --diagram mermaid"));
    expect![[r##"
        digraph "small" {
            graph [label="Small\n✓ checked · ○ believed, not checked", labelloc=t, fontname="Helvetica,Arial,sans-serif"]
            node [shape=box, style=filled, fillcolor="#FFFFFF", fontname="Helvetica,Arial,sans-serif"]
            edge [fontname="Helvetica,Arial,sans-serif", fontsize=10]

            "start" [label="start", shape=circle, fillcolor="#90EE90", color="#228B22"]
            "work" [label="○ work", tooltip="believed, not checked"]
            "verify" [label="○ verify\n↻1", shape=diamond, fillcolor="#E6E6FA", color="#9370DB", tooltip="believed, not checked"]
            "stuck" [label="✋ It fails. What now?", shape=hexagon, fillcolor="#FFB6C1", color="#DC143C"]
            "done" [label="done", shape=box, peripheries=2, fillcolor="#87CEEB", color="#4169E1"]

            "start" -> "work"
            "work" -> "verify"
            "verify" -> "done" [label="passed"]
            "verify" -> "work" [label="failed", style=dashed, color="#DC143C"]
            "verify" -> "stuck" [label="failed", style=dashed, color="#DC143C"]
            "stuck" -> "work" [label="passed"]
        }
        exit: 0
    "##]]
    .assert_eq(&project.says("show small --diagram dot"));
    assert_eq!(project.says("show small --diagram text"), project.says("show small"));
}

#[test]
fn what_is_shown_is_there_for_programs() {
    let project = Project::small();
    expect![[r#"
        {
          "id": "small",
          "name": "Small",
          "description": "",
          "source": "project",
          "nodes": [
            {
              "id": "start",
              "name": "start",
              "kind": "start"
            },
            {
              "id": "work",
              "name": "work",
              "kind": "task",
              "verification": "believed",
              "checks": []
            },
            {
              "id": "verify",
              "name": "verify",
              "kind": "gate",
              "verification": "believed",
              "checks": []
            },
            {
              "id": "stuck",
              "name": "stuck",
              "kind": "checkpoint"
            },
            {
              "id": "done",
              "name": "done",
              "kind": "end"
            }
          ],
          "drawn": "Small (small)\n\nstart   start         → work\nwork    task          → verify\nverify  gate          → done\n                    failed → work (retry up to 1, then stuck)\ndone    end           ends: success\nstuck   checkpoint    → work\n\nWhere no `failed` is shown, failed work is tried again up to 3 times; then a person decides.\n\nBelieved: every step (2); nothing is checked.\n"
        }
        exit: 0
    "#]].assert_eq(&without_places(&project.says("show small --format json")));
}

#[test]
fn the_catalogue_needs_no_project() {
    let project = Project::new();
    expect![[r#"
        Execute (execute)
        Does one piece of work in one step with no gate after it; pick it for chores and questions where
        a review would cost more than a mistake.

        start        start               → execute
        execute      task   Do the work  → end_success
                            check output: the report gives `result`, which fits its schema
        end_success  end    Done         ends: success

        Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

        Checked: every step (1).
        exit: 0
    "#]]
    .assert_eq(&project.says("show execute"));
}

#[test]
fn what_is_not_there_is_said_to_be_missing() {
    let project = Project::small();
    expect![[r#"
        stderr: error: `smal` is neither a file nor the id of a workflow
        stderr: help: did you mean `small`?
        exit: 2
    "#]]
    .assert_eq(&project.says("show smal"));
    expect![[r#"
        stderr: error: `nothing-like-it` is neither a file nor the id of a workflow
        stderr: help: `portolan catalog list` shows what comes with Portolan; a project has its own in `.flow/workflows`
        exit: 2
    "#]]
    .assert_eq(&project.says("show nothing-like-it"));
    expect![[r#"
        stderr: error: there is no file `flows/small.json`
        stderr: help: check the path, or name a workflow by its id
        exit: 1
    "#]]
    .assert_eq(&project.says("show flows/small.json"));
    expect![[r#"
        stderr: error: invalid value 'pdf' for '--diagram <KIND>'
        stderr:   [possible values: mermaid, dot, svg, text]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("show small --diagram pdf"));
}

#[test]
fn a_folder_shows_its_only_workflow() {
    let project = Project::small();
    assert_eq!(project.says("show ."), project.says("show small"));
    project.write(".flow/workflows/other.json", "{}");
    expect![[r#"
        stderr: error: `.` holds 2 workflows: `other` and `small`
        stderr: help: name the file of one of them
        exit: 2
    "#]]
    .assert_eq(&project.says("show ."));
}

#[test]
fn what_cannot_be_drawn_is_explained() {
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
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("show broken.json"));
    expect![[r#"
        stderr: {"error":"invalid_definition","message":"workflow `broken` has 1 fault(s): broken.json:1:11: not valid JSON: expected value after colon in object property (syntax)","help":"fix them; `portolan check broken.json` shows where each one is"}
        exit: 3
    "#]].assert_eq(&project.says("show broken.json --format json"));
}

#[test]
fn what_has_faults_is_drawn_and_said_to_be_repaired() {
    let project = Project::new();
    project.write(
        "bent.json",
        r#"{"nodes": {"start": {"type": "start"}, "work": {"type": "task"}, "done": {"type": "end", "result": "success"}},
            "edges": [{"from": "start", "to": "work"}, {"from": "work", "to": "don"}]}"#,
    );
    let said = project.says("show bent.json");
    let note = "stderr: note: `bent` has 1 fault and is shown repaired; `portolan check` says what is wrong";
    assert!(said.contains(note), "{said}");
}

#[test]
fn a_graph_is_shown_in_the_words_of_its_file() {
    let project = Project::new();
    project.write("sum.yaml", crate::support::SUM);
    let said = project.says("show sum.yaml");
    let kind = |line: &&str| line.starts_with("entry ") || line.starts_with("exit ");
    let kinds: Vec<Vec<&str>> =
        said.lines().filter(kind).map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(kinds, [["entry", "entry"], ["exit", "exit"]], "{said}");
    let said = project.says("--format json show sum.yaml");
    let (nodes, drawing) = said.split_once("\"drawing\"").expect("it has places");
    assert!(nodes.contains(r#""kind": "exit""#) && !nodes.contains(r#""kind": "end""#), "{said}");
    assert!(drawing.contains(r#""form": "drawing/1""#), "{said}");
}
