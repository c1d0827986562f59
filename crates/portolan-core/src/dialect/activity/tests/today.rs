//! The present format: one list of steps, each with its kind.

use expect_test::expect;

use super::{activity, workflow};

#[test]
fn a_workflow_of_today() {
    let text = r#"
id: write-wiki
version: 3.35.0
title: Write a wiki
rules:
  workflow:
    - ref: interaction
    - Explicit approval first
  activity: []
  universal: [Cite everything]
techniques:
  workflow: [lead]
  activity: [variable-binding, cite::sources]
fragments:
  rules:
    interaction:
      - Ask
      - Then act
  checkpoints:
    interview:
      condition: { type: simple, variable: has_questions, operator: "==", value: true }
      message: Answer {questions}
      blocking: true
      options:
        - id: accept
          label: Accept
          effect: { setVariable: { accepted: true } }
variables:
  - { name: wiki_path, type: string, description: Where it lies, default: docs }
initialActivity: write
"#;
    expect![[r#"
        workflow id="write-wiki" version="3.35.0" title="Write a wiki" initial="write" elsewhere
          rule workflow ref="interaction"
          rule workflow text="Explicit approval first"
          rule universal text="Cite everything"
          techniques workflow=["lead"]
          techniques activity=["variable-binding", "cite::sources"]
          variable wiki_path String description="Where it lies" = "docs"
          shared rules interaction =["Ask", "Then act"]
          shared checkpoint interview when [has_questions == true] message="Answer {questions}"
            option accept label="Accept" set={accepted: true}
    "#]]
    .assert_eq(&workflow(text));
}

#[test]
fn an_activity_of_today() {
    let text = r#"
id: resolve
version: 2.4.0
name: Resolve
techniques: [scatter-gather]
steps:
  - kind: technique
    technique: findings::load
  - kind: technique
    id: check
    technique:
      name: findings::check
      inputs: { folder: wiki_path, limit: 3, strict: true, text: "{title} now" }
      outputs: { report: check_report }
    when: has_findings == true && !(depth > 3)
    required: false
    actions: [{ action: validate, target: report_ok != false, message: It is not }]
  - kind: action
    id: note
    actions: []
    condition: needs_note
  - kind: checkpoint
    id: confirm
    when: findings_count > 0
    message: Go on with {findings_count}?
    defaultOption: go-on
    autoAdvanceMs: 30000
    options:
      - { id: go-on, label: Go on }
      - { id: stop, label: Stop, effect: { transitionTo: end } }
  - { kind: checkpoint, id: interview, ref: interview, condition: "is_review != true" }
  - kind: loop
    id: each-finding
    name: Each finding
    loopType: forEach
    variable: finding
    over: findings.open
    condition: { type: simple, variable: is_review, operator: "!=", value: true }
    maxIterations: 100
    steps:
      - kind: loop
        id: refine
        loopType: doWhile
        condition: disposition == discuss
        when: allowed
        breakCondition: tries >= 3
        steps:
          - { kind: technique, id: propose, technique: findings::propose }
          - { kind: checkpoint, id: decide, scope: visit, message: "{finding.id}?", options: [{ id: ok, label: OK }] }
  - kind: loop
    id: wait
    loopType: while
    condition: waiting
    required: false
    steps: [{ kind: action, id: pause }]
decisions:
  - id: way
    name: Which way
    branches:
      - { id: back, label: Back, when: open > 0, transitionTo: resolve }
      - { id: over, label: Over, isDefault: true }
transitions:
  - { to: publish, when: done }
triggers:
  - { workflow: tell, passContext: [report] }
outcome: [Every finding is decided]
"#;
    expect![[r#"
        activity resolve name="Resolve" version="2.4.0" techniques=["scatter-gather"] outcome=["Every finding is decided"]
          step load by="findings::load"
          step check optional when [has_findings == true && !(depth > 3)] by="findings::check" inputs={folder: "wiki_path", limit: 3, strict: true, text: "{title} now"} outputs=["report -> check_report"]
            do Validate target="report_ok != false" message="It is not"
          step note when [needs_note]
          checkpoint confirm when [findings_count > 0] message="Go on with {findings_count}?" -> go-on after 30000 ms
            option go-on label="Go on"
            option stop label="Stop" to="end"
          checkpoint interview when [is_review != true] ref="interview"
          loop each-finding over="findings.open" as="finding" when [is_review != true] name="Each finding" at most 100
            loop refine do while [disposition == discuss] when [allowed] until [tries >= 3]
              step propose by="findings::propose"
              checkpoint decide scope=Visit message="{finding.id}?"
                option ok label="OK"
          loop wait optional while [waiting]
            step pause
          decision way name="Which way"
            branch back when [open > 0] label="Back" to="resolve"
            branch over label="Over" default ends
          then publish when [done]
          trigger tell with=["report"]
        27:20 warning answers-itself: checkpoint `confirm` is answered with `go-on` if there is no other answer
            help: remove `autoAdvanceMs` if the answer matters; under `--human verified`, where only a person's answer counts, it does nothing
    "#]].assert_eq(&activity(text));
}
