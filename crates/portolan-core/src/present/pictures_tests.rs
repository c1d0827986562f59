//! Tests the contents of the pictures.

pub(super) mod hostile;

use expect_test::{Expect, expect};

use super::{diagram_markdown, dot, mermaid, outline};
use crate::dialect::{self, Strictness};
use crate::graph::{Graph, Workflow};
use crate::source::Source;
use crate::validate;

/// Makes a workflow of `nodes` and `edges` that may run the workflow `inner`.
fn workflow(nodes: &str, edges: &str) -> Workflow {
    let inner = parse("inner.json", INNER);
    let graph = parse("small.json", &format!(r#"{{ "name": "Small", "nodes": {{ {nodes} }}, "edges": [ {edges} ] }}"#));
    let library = |id: &str| (id == "inner").then_some(&inner);
    let (workflow, faults) = validate::validate(&graph, &library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("{faults:?}"))
}

fn parse(name: &str, text: &str) -> Graph {
    let (graph, faults) = dialect::parse(&Source::new(name, text), Strictness::Strict).first();
    graph.unwrap_or_else(|| panic!("{faults:?}"))
}

const INNER: &str = r#"{
    "nodes": { "start": {"type": "start"}, "dig": {"type": "task"}, "dug": {"type": "end", "result": "success"} },
    "edges": [ {"from": "start", "to": "dig"}, {"from": "dig", "to": "dug"} ]
}"#;

/// A gate that retries, then asks a person.
fn retrying() -> Workflow {
    workflow(
        r#" "start": {"type": "start", "name": "Start"},
            "end": {"type": "task", "name": "Say \"hi\" | wave", "agent": "Dev", "emoji": "👋", "stage": "s", "instructions": "Run `a`\nor <b>."},
            "check": {"type": "gate", "name": "Check: is it #1?", "agent": "Rev", "maxRetries": 2,
                      "accept": [{"id": "tests", "run": ["cargo", "test"]}, {"id": "notes", "file": "notes.md"}]},
            "done": {"type": "end", "name": "Done", "result": "success"},
            "stuck": {"type": "end", "name": "Stuck", "result": "blocked", "escalation": "hitl"} "#,
        r#" {"from": "start", "to": "end"}, {"from": "end", "to": "check"},
            {"from": "check", "to": "done", "on": "passed", "label": "it is \"fine\""},
            {"from": "check", "to": "end", "on": "failed"}, {"from": "check", "to": "stuck", "on": "failed"},
            {"from": "stuck", "to": "end", "on": "passed"} "#,
    )
}

/// A fork of two branches, both of which run the same workflow.
fn forking() -> Workflow {
    workflow(
        r#" "start": {"type": "start"},
            "split": {"type": "fork", "join": "meet", "maxConcurrency": 1},
            "left": {"type": "subflow", "workflow": "inner"},
            "right": {"type": "subflow", "workflow": "inner", "name": "The other side"},
            "meet": {"type": "join", "fork": "split", "strategy": "any-pass"},
            "choose": {"type": "task", "name": "Choose", "outputs": ["keep", "drop"]},
            "done": {"type": "end", "result": "success"},
            "lost": {"type": "end", "result": "failure", "escalation": "alert"} "#,
        r#" {"from": "start", "to": "split"}, {"from": "split", "to": "left"}, {"from": "split", "to": "right"},
            {"from": "left", "to": "meet"}, {"from": "right", "to": "meet"}, {"from": "meet", "to": "choose"},
            {"from": "choose", "to": "done", "on": "keep"}, {"from": "choose", "to": "lost", "on": "drop"} "#,
    )
}

fn shows(picture: &str, expected: &Expect) {
    expected.assert_eq(picture);
}

#[test]
fn a_chart_renames_what_mermaid_reserves_and_escapes_what_it_would_read() {
    shows(
        &mermaid(&retrying(), Some(&"end".into())),
        &expect![[r#"
            flowchart TD
                start(("Start"))
                n_end["○ Say #quot;hi#quot; | wave<br/><small>👋 Dev</small>"]
                check{"✓ Check: is it #35;1?<br/><small>Rev ↻2</small>"}
                done[["Done"]]
                stuck{{"✋ Stuck"}}

                start --> n_end
                n_end --> check
                check -->|"it is #quot;fine#quot;"| done
                check -->|"failed"| n_end
                check -->|"failed"| stuck
                stuck -->|"passed"| n_end

                accDescr: Checked: Check: is it #35;1? by tests and notes. Believed: Say #quot;hi#quot; | wave.
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
                class check gateStep
                class legend legend
                class n_end currentStep
        "#]],
    );
}

#[test]
fn a_chart_shows_forks_joins_and_subflows_and_ignores_an_unknown_step() {
    shows(
        &mermaid(&forking(), Some(&"nowhere".into())),
        &expect![[r#"
            flowchart TD
                start(("start"))
                split(["split"])
                left[["left<br/><small>runs inner</small>"]]
                right[["The other side<br/><small>runs inner</small>"]]
                meet(["meet"])
                choose["○ Choose"]
                done[["done"]]
                lost{{"lost"}}

                start --> split
                split --> left
                split --> right
                left --> meet
                right --> meet
                meet --> choose
                choose -->|"keep"| done
                choose -->|"drop"| lost

                accDescr: Believed: Choose.
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
                class lost hitlStep
                class split,meet forkJoinStep
                class legend legend
        "#]],
    );
}

#[test]
fn a_chart_draws_what_a_repair_added() {
    let text =
        r#"{ "nodes": { "a": {"type": "task"}, "b": {"type": "task"} }, "edges": [ {"from": "a", "to": "b"} ] }"#;
    let (graph, _) = dialect::parse(&Source::new("loose.json", text), Strictness::Lenient).first();
    let graph = graph.expect("it can be drawn");
    let (workflow, _) = validate::validate(&graph, &|_| None, Strictness::Lenient);
    let chart = mermaid(&workflow.expect("it can be repaired"), None);
    let edges = chart.lines().map(str::trim).filter(|line| line.contains("-->")).collect::<Vec<_>>().join("\n");
    shows(
        &edges,
        &expect![[r#"
            a --> b
            start --> a
            b --> no_way_on"#]],
    );
}

#[test]
fn a_markdown_page_keeps_every_text_in_its_place() {
    let page = diagram_markdown(&retrying(), None);
    let (_, table) = page.split_once("### Step Instructions").expect("the page has a table");
    shows(
        table,
        &expect![[r#"


            | Stage | Step | Name | Agent | Instructions |
            |-------|------|------|-------|--------------|
            | s | end | Say "hi" \| wave | Dev | Run `a` or \<b>. |
            | - | check | Check: is it #1? | Rev | - |
        "#]],
    );
}

#[test]
fn a_digraph_escapes_labels_and_dashes_failures() {
    shows(
        &dot(&retrying()),
        &expect![[r##"
            digraph "small" {
                graph [label="Small\n✓ checked · ○ believed, not checked", labelloc=t, fontname="Helvetica,Arial,sans-serif"]
                node [shape=box, style=filled, fillcolor="#FFFFFF", fontname="Helvetica,Arial,sans-serif"]
                edge [fontname="Helvetica,Arial,sans-serif", fontsize=10]

                "start" [label="Start", shape=circle, fillcolor="#90EE90", color="#228B22"]
                "end" [label="○ Say \"hi\" | wave\n👋 Dev", tooltip="believed, not checked"]
                "check" [label="✓ Check: is it #1?\nRev ↻2", shape=diamond, fillcolor="#E6E6FA", color="#9370DB", tooltip="checked by tests and notes"]
                "done" [label="Done", shape=box, peripheries=2, fillcolor="#87CEEB", color="#4169E1"]
                "stuck" [label="✋ Stuck", shape=hexagon, fillcolor="#FFB6C1", color="#DC143C"]

                "start" -> "end"
                "end" -> "check"
                "check" -> "done" [label="it is \"fine\""]
                "check" -> "end" [label="failed", style=dashed, color="#DC143C"]
                "check" -> "stuck" [label="failed", style=dashed, color="#DC143C"]
                "stuck" -> "end" [label="passed"]
            }
        "##]],
    );
}

#[test]
fn an_outline_shows_the_main_line_first_and_every_way_out() {
    shows(
        &outline(&retrying()),
        &expect![[r#"
            Small (small)

            start  start                         → end
            end    task        Say "hi" | wave   → check
            check  gate        Check: is it #1?  → done
                               failed → end (retry up to 2, then stuck)
                               check tests: cargo test
                               check notes: file notes.md
            done   end         Done              ends: success
            stuck  checkpoint  Stuck             → end

            Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

            Checked: 1 of 2 steps. Believed: end.
        "#]],
    );
}

#[test]
fn an_outline_indents_branches_and_shows_a_subflow_once() {
    shows(
        &outline(&forking()),
        &expect![[r#"
            Small (small)

            start      start                    → split
            split      fork                     → 2 branches, 1 at a time → meet
              left     subflow                  → meet
                                runs inner:
                start  start                    → dig
                dig    task                     → dug
                dug    end                      ends: success
              right    subflow  The other side  → meet
                                runs inner, which is shown above
            meet       join                     → choose
                                passes when one branch has passed
                                failed → a person decides
            choose     task     Choose
                                keep → done
                                drop → lost
            done       end                      ends: success
            lost       end                      ends: failure, raises an alert

            Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

            Believed: every step (1); nothing is checked.
        "#]],
    );
}
