//! The first generation: skills, checkpoints and loops beside the steps, conditions as objects.

use expect_test::expect;

use super::{activity, workflow};

#[test]
fn a_workflow_of_the_first_generation() {
    let text = r#"
$schema: ../workflow.schema.json
id: fix-bug
version: 1.2.0
title: Fix a bug
description: From report to release
author: somebody
tags: [bugs, repair]
rules:
  - One task at a time
  - "Ask: do not guess"
variables:
  - { name: bug_found, type: boolean, defaultValue: false, description: Whether it was found }
  - { name: tasks, type: array, required: true }
  - { name: report, type: object, defaultValue: { pages: 1 } }
  - { name: title, type: string, defaultValue: "" }
  - { name: tries, type: number, defaultValue: 0 }
  - { name: none, type: number, defaultValue: null }
initialActivity: find
finalActivity: release
modes:
  - id: review
    name: Review
    description: Look, and change nothing
    activationVariable: is_review
    recognition: [review this]
    skipActivities: [release]
    defaults: { tries: 1 }
    resource: review-guide
artifactLocations:
  planning: .planning
  drafts: { path: .drafts, description: Not kept, gitignored: true }
activities:
  - id: find
    version: 1.0.0
    name: Find it
    skills: { primary: debug, supporting: [read-code, bisect] }
    steps:
      - { id: look, name: Look, description: Look around, skill: read-code, required: false }
    transitions:
      - { to: release }
  - { id: release, version: 2.0.10, name: Release it, required: false }
"#;
    expect![[r#"
        workflow id="fix-bug" version="1.2.0" title="Fix a bug" description="From report to release" author="somebody" tags=["bugs", "repair"] initial="find" final="release"
          rule universal text="One task at a time"
          rule universal text="Ask: do not guess"
          variable bug_found Boolean description="Whether it was found" = false
          variable tasks Array required
          variable report Object = {"pages":1}
          variable title String = ""
          variable tries Number = 0
          variable none Number
          location planning path=".planning"
          location drafts path=".drafts" description="Not kept" gitignored
          mode review name="Review" description="Look, and change nothing" on="is_review" recognition=["review this"] skip=["release"] defaults={tries: 1} resource="review-guide"
          activity find name="Find it" version="1.0.0" skill="debug" skills=["read-code", "bisect"]
            step look optional name="Look" description="Look around" by="read-code"
            then release
          activity release optional name="Release it" version="2.0.10"
    "#]].assert_eq(&workflow(text));
}

#[test]
fn steps_of_the_first_generation() {
    let text = r#"
id: implement
name: Implement
steps:
  - id: plan
    name: Plan
    actions:
      - { action: set, target: plan, value: null }
      - { action: log, message: planned, condition: { type: simple, variable: verbose, operator: exists } }
      - { action: emit, value: [1, { a: 2 }] }
    effectivities: [code-review_rust, planning]
    triggers: { workflow: look-up, description: Where something is unclear, passContext: [plan, title] }
  - id: write
    condition:
      type: and
      conditions:
        - { type: simple, variable: review.state, operator: "==", value: approved }
        - { type: not, condition: { type: simple, variable: tries, operator: ">=", value: 3 } }
        - type: or
          conditions:
            - { type: simple, variable: forced, operator: "==", value: true }
            - { type: simple, variable: blocked_by, operator: notExists }
loops:
  - { id: each-task, name: Each task, type: forEach, variable: task, over: plan.tasks, steps: [write] }
  - id: until-green
    name: Until it is green
    description: Test and mend
    type: while
    condition: { type: simple, variable: green, operator: "!=", value: true }
    breakCondition: { type: simple, variable: tries, operator: ">", value: 5 }
    maxIterations: 20
    after: write
    steps:
      - { id: run-tests, name: Run the tests }
      - { id: mend, name: Mend }
  - { id: whole, type: forEach, over: features, activities: [implement, test] }
"#;
    expect![[r#"
        activity implement name="Implement"
          step plan name="Plan" effectivities=["code-review_rust", "planning"]
            do Set target="plan" = null
            do Log when [verbose exists] message="planned"
            do Emit = [1,{"a":2}]
            trigger look-up with=["plan", "title"] description="Where something is unclear"
          step write when [review.state == "approved" && !(tries >= 3) && (forced == true || blocked_by notExists)]
          at exit
            loop each-task over="plan.tasks" as="task" name="Each task" steps=["write"]
          after write
            loop until-green while [green != true] until [tries > 5] name="Until it is green" description="Test and mend" at most 20
              step run-tests name="Run the tests"
              step mend name="Mend"
          at exit
            loop whole over="features" activities=["implement", "test"]
    "#]].assert_eq(&activity(text));
}

#[test]
fn checkpoints_of_the_first_generation() {
    let text = r#"
id: implement
name: Implement
steps: [{ id: plan, name: Plan }, { id: write, name: Write }]
checkpoints:
  - id: confirm-plan
    name: Confirm
    message: Is {plan} right?
    prerequisite: There is a plan
    after: plan
    scope: visit
    blocking: true
    options:
      - id: yes-please
        label: "Yes"
        description: Go on
        effect: { setVariable: { plan_confirmed: true, tries: 0 } }
      - { id: again, label: Plan again, effect: { transitionTo: research, skipActivities: [release, tidy] } }
      - { id: hm, label: Neither }
  - { id: ready, name: Ready, message: Ready?, before: write, options: [{ id: ok, label: OK }], required: false }
  - { id: welcome, name: Welcome, message: Hello, at: entry, scope: run, options: [{ id: ok, label: OK }] }
  - { id: done, name: Done, message: Done?, at: exit, options: [{ id: ok, label: OK }] }
  - id: last
    name: Last
    message: Anything else?
    condition: { type: simple, variable: asked, operator: "!=", value: true }
    options: [{ id: ok, label: OK }]
"#;
    expect![[r#"
        activity implement name="Implement"
          step plan name="Plan"
          step write name="Write"
          after plan
            checkpoint confirm-plan name="Confirm" prerequisite="There is a plan" scope=Visit message="Is {plan} right?"
              option yes-please label="Yes" description="Go on" set={plan_confirmed: true, tries: 0}
              option again label="Plan again" to="research" skip=["release", "tidy"]
              option hm label="Neither"
          before write
            checkpoint ready optional name="Ready" message="Ready?"
              option ok label="OK"
          at entry
            checkpoint welcome name="Welcome" scope=Run message="Hello"
              option ok label="OK"
          at exit
            checkpoint done name="Done" message="Done?"
              option ok label="OK"
          at exit
            checkpoint last when [asked != true] name="Last" message="Anything else?"
              option ok label="OK"
    "#]]
    .assert_eq(&activity(text));
}

#[test]
fn what_an_activity_has_besides_its_steps() {
    let text = r#"
id: implement
version: 1.0.0
name: Implement
description: Task by task
problem: The plan is not carried out yet
recognition: [implement it, go on]
estimatedTime: 1-4h
skills: { primary: implement }
rules: [Keep the tests green]
entryActions:
  - { action: validate, target: branch, message: On the right branch }
decisions:
  - id: enough
    name: Is it enough?
    description: One of three
    branches:
      - id: more
        label: More
        condition: { type: simple, variable: more, operator: "==", value: true }
        transitionTo: plan-again
      - { id: ship, label: Ship, transitionTo: release, isDefault: true }
      - { id: stop, label: Stop, condition: { type: simple, variable: stopped, operator: exists } }
transitions:
  - { to: review, condition: { type: simple, variable: has_review, operator: "==", value: true } }
  - { to: release, isDefault: true }
triggers:
  workflow: notify
exitActions:
  - { action: message, message: Update the readme, description: So that it is found }
artifacts:
  - { id: log, name: "{date}-log.md", location: planning, description: What was done, action: create }
  - { id: plan-file, name: plan.md, action: update }
modeOverrides:
  review:
    description: Only look
    rules: [Change nothing]
    steps: [{ id: read-only, name: Read }]
    skipSteps: [write]
    checkpoints: [{ id: seen, name: Seen, message: Seen?, options: [{ id: ok, label: OK }] }]
    transitionOverride: report
    context_to_preserve: [findings]
  quick:
    steps: [{ id: read-only, name: Read faster }]
outcome: [It is done]
context_to_preserve: [plan - what is to be done]
notes: [It may take long]
artifactPrefix: "08"
"#;
    expect![[r#"
        activity implement name="Implement" version="1.0.0" description="Task by task" problem="The plan is not carried out yet" time="1-4h" recognition=["implement it", "go on"] skill="implement" outcome=["It is done"] context=["plan - what is to be done"] notes=["It may take long"]
          rule activity text="Keep the tests green"
          on entry Validate target="branch" message="On the right branch"
          on exit Message message="Update the readme" description="So that it is found"
          artifact log name="{date}-log.md" in="planning" description="What was done" Create
          artifact plan-file name="plan.md" Update
          in mode review description="Only look" skip=["write"] to="report" context=["findings"]
            rule activity text="Change nothing"
            step read-only name="Read"
            at exit
              checkpoint seen name="Seen" message="Seen?"
                option ok label="OK"
          in mode quick
            step read-only name="Read faster"
          decision enough name="Is it enough?" description="One of three"
            branch more when [more == true] label="More" to="plan-again"
            branch ship label="Ship" default to="release"
            branch stop when [stopped exists] label="Stop" ends
          then review when [has_review == true]
          then release default
          trigger notify
    "#]].assert_eq(&activity(text));
}

#[test]
fn json_is_read_as_yaml_is() {
    let text = r#"{"id": "one", "version": "1.0.0", "title": "One", "activities": [
      {"id": "a", "name": "A", "steps": [{"id": "s", "name": "S"}], "triggers": [{"workflow": "x"}, {"workflow": "y"}]}
    ]}"#;
    expect![[r#"
        workflow id="one" version="1.0.0" title="One"
          activity a name="A"
            step s name="S"
            trigger x
            trigger y
    "#]]
    .assert_eq(&workflow(text));
}
