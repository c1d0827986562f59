//! Every fault that is reported, with its location and its help.

use expect_test::expect;

use super::{activity, diagnostics, workflow};

#[test]
fn what_a_workflow_must_have() {
    expect![[r#"
        workflow elsewhere
        1:1 error missing-field: the workflow has no `id` (it is left out)
            help: add `id: …`
        1:1 error missing-field: the workflow has no `version` (it is left out)
            help: add `version: …`
        1:1 error missing-field: the workflow has no `title` (it is left out)
            help: add `title: …`
    "#]]
    .assert_eq(&workflow("{}"));
    expect![[r#"
        nothing
        1:1 error wrong-type: the workflow must be an object, but is an array (it is left out)
            help: write its fields as `name: value`, each on a line of its own
    "#]]
    .assert_eq(&workflow("[]"));
    expect![[r#"
        workflow title="T"
        1:5 error bad-id: `a b` cannot be the id of a workflow (it is left out)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        2:10 error wrong-type: `version` of the workflow must be a string, but is `1.0` (it counts as absent)
            help: put it in quotes: `"1.0"`
        4:1 error either-or: the workflow has both `title` and `name` (the first of the two counts)
            help: keep one of the two
        5:13 error missing-field: the workflow has no activities (it is left out)
            help: add one under `activities`, or remove the field if they are in files of their own
    "#]]
    .assert_eq(&workflow("id: a b\nversion: 1.0\ntitle: T\nname: N\nactivities: []\n"));
    expect![[r#"
        workflow id="a" title="T" elsewhere
        2:10 error bad-version: `version` of the workflow is `v1`, which is not a valid version (it is left out)
            help: write three numbers separated by dots, such as `1.0.0`
        4:1 error unknown-field: the workflow has a field `activites`, which has no meaning here (it is ignored)
            help: did you mean `activities`?
        5:8 error wrong-type: `modes` of the workflow must be an array, but is an object (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
    "#]]
    .assert_eq(&workflow("id: a\nversion: v1\ntitle: T\nactivites: []\nmodes: {}\n"));
}

#[test]
fn the_folder_of_activities_is_inside_that_of_the_workflow_and_all_there_is() {
    expect![[r#"
        workflow id="a" version="1.0.0" title="T" dir="parts/of-it" elsewhere
    "#]]
    .assert_eq(&workflow("id: a\nversion: 1.0.0\ntitle: T\nactivitiesDir: parts/of-it\n"));
    expect![[r#"
        workflow id="a" version="1.0.0" title="T"
          activity a
        4:1 error either-or: the workflow has both `activities` and `activitiesDir` (the first of the two counts)
            help: keep one of the two
        4:16 error bad-path: `activitiesDir` is `../x`, which is outside the workflow's folder (it is left out)
            help: name a folder inside the workflow's folder, such as `activities`
    "#]]
    .assert_eq(&workflow("id: a\nversion: 1.0.0\ntitle: T\nactivitiesDir: ../x\nactivities: [{ id: a }]\n"));
}

#[test]
fn a_default_is_of_the_type_of_its_variable() {
    let text = r#"
id: w
version: 1.0.0
title: T
variables:
  - { name: a, type: string, default: 1 }
  - { name: b, type: number, default: "1" }
  - { name: c, type: boolean, defaultValue: "yes" }
  - { name: d, type: array, default: { x: 1 } }
  - { name: e, type: object, default: [] }
  - { name: f, type: text }
  - { name: g.h, type: string }
  - { name: i, type: string, default: x, defaultValue: y }
  - { name: i, type: number }
  - { name: j }
  - { type: string, requierd: true }
"#;
    expect![[r#"
        workflow id="w" version="1.0.0" title="T" elsewhere
          variable a Any = 1
          variable b Any = "1"
          variable c Any = "yes"
          variable d Any = {"x":1}
          variable e Any = []
          variable f Any
          variable i String = "x"
          variable j Any
        6:39 error wrong-type: `default` of variable `a` must be a string, but is `1` (it holds values of any type)
            help: put it in quotes: `"1"`
        7:39 error wrong-type: `default` of variable `b` must be a number, but is a string (it holds values of any type)
            help: write it without quotes
        8:45 error wrong-type: `defaultValue` of variable `c` must be `true` or `false`, but is a string (it holds values of any type)
            help: write it without quotes
        9:38 error wrong-type: `default` of variable `d` must be an array, but is an object (it holds values of any type)
            help: write each item after a `-`, or all of them as `[first, second]`
        10:39 error wrong-type: `default` of variable `e` must be an object, but is an array (it holds values of any type)
            help: write its fields as `name: value`, each on a line of its own
        11:22 error unknown-value: `type` of variable `f` is `text`, which is not one of its values (it holds values of any type)
            help: write one of `string`, `number`, `boolean`, `array` and `object`
        12:13 error bad-id: `g.h` cannot be the name of a variable (it is left out)
            help: a name has 1 to 200 bytes: letters, digits, `_` and `-`, starting with a letter or `_`
        13:42 error either-or: variable `i` has both `default` and `defaultValue` (the first of the two counts)
            help: keep one of the two
        14:13 error duplicate-id: the variable `i` is defined twice (the first one counts)
            help: give one of them another id
        15:5 error missing-field: variable `j` has no `type` (it holds values of any type)
            help: add `type: …`
        16:5 error missing-field: a variable has no `name` (it is left out)
            help: add `name: …`
        16:21 error unknown-field: a variable has a field `requierd`, which has no meaning here (it is ignored)
            help: did you mean `required`?
    "#]]
    .assert_eq(&workflow(text));
}

#[test]
fn rules_modes_and_locations() {
    let text = r#"
id: w
version: 1.0.0
title: T
rules: { workflows: [a], activity: [{ a: b }, 3] }
techniques: [1]
fragments:
  rules: { one: text, two: [{ ref: one }] }
  checkpoints: { a b: { message: M, options: [{ id: o, label: L }] }, c: { id: c }, d: 1 }
  others: {}
modes:
  - { id: m, name: M }
  - { id: n, activationVariable: v }
  - { id: n, activationVariable: v }
artifactLocations: { a: 1, b: { description: x } }
"#;
    expect![[r#"
        workflow id="w" version="1.0.0" title="T" elsewhere
          mode m name="M"
          mode n on="v"
          shared rules one =["text"]
          shared rules two
          shared checkpoint c message="c"
            option continue label="Continue"
        5:10 error unknown-field: `rules` of the workflow has a field `workflows`, which has no meaning here (it is ignored)
            help: did you mean `workflow`?
        5:37 error wrong-type: a rule of `rules` of the workflow must be a text, but is an object (it is left out)
            help: write a text, in quotes if it contains `: `, or `ref: …` for shared rules
        5:47 error wrong-type: a rule of `rules` of the workflow must be a text, but is a number (it is left out)
            help: write a text, in quotes if it contains `: `, or `ref: …` for shared rules
        6:14 error wrong-type: `techniques` of the workflow must be an array of strings, but is `1` (it counts as absent)
            help: put it in quotes: `"1"`
        8:36 error wrong-type: the shared rules `two` refer to others (it is left out)
            help: write the rules out: shared rules cannot refer to others
        9:18 error bad-id: `a b` cannot be the id of a shared checkpoint (it is left out)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        9:74 error missing-field: shared checkpoint `c` has no `message` (its id is the question)
            help: add `message: …`
        9:74 error missing-field: shared checkpoint `c` has no `options` (its only option is `continue`)
            help: add `options: …`
        9:76 error unknown-field: shared checkpoint `c` has a field `id`, which has no meaning here (it is ignored)
            help: the fields here are `name`, `description`, `prerequisite`, `when`, `condition`, `required`, `blocking`, `scope`, `ref`, `message`, `options`, `defaultOption` and `autoAdvanceMs`
        9:88 error wrong-type: shared checkpoint `d` must be an object, but is a number (it is left out)
            help: write its fields as `name: value`, each on a line of its own
        10:3 error unknown-field: `fragments` has a field `others`, which has no meaning here (it is ignored)
            help: the fields here are `rules` and `checkpoints`
        12:5 error missing-field: mode `m` has no `activationVariable` (it is left out)
            help: add `activationVariable: …`
        14:11 error duplicate-id: the mode `n` is defined twice (the first one counts)
            help: give one of them another id
        15:25 error wrong-type: location `a` must be an object, but is a number (it is left out)
            help: write its fields as `name: value`, each on a line of its own
        15:31 error missing-field: location `b` has no `path` (it is left out)
            help: add `path: …`
    "#]].assert_eq(&workflow(text));
    let text = "id: w\nversion: 1.0.0\ntitle: T\nfragments: { rules: [], checkpoints: [] }\nartifactLocations: []\n";
    expect![[r#"
        workflow id="w" version="1.0.0" title="T" elsewhere
        4:21 error wrong-type: `rules` of `fragments` must be an object, but is an array (it is left out)
            help: write each list of rules under its name
        4:38 error wrong-type: `checkpoints` of `fragments` must be an object, but is an array (it is left out)
            help: write each checkpoint under its name, without an `id`
        5:20 error wrong-type: `artifactLocations` of the workflow must be an object, but is an array (it counts as absent)
            help: write its fields as `name: value`, each on a line of its own
    "#]]
    .assert_eq(&workflow(text));
}

#[test]
fn what_an_activity_must_have() {
    expect![[r#"
        nothing
        1:1 error missing-field: an activity has no `id` (it is left out)
            help: add `id: …`
    "#]]
    .assert_eq(&activity("name: A\n"));
    expect![[r#"
        nothing
        1:1 error wrong-type: an activity must be an object, but is an array (it is left out)
            help: write its fields as `name: value`, each on a line of its own
    "#]]
    .assert_eq(&activity("- a\n"));
    let text =
        "version: 1.0\nestimatedTime: soon\nskills: debug\nrequired: maybe\nstep: []\nnotes: text\nmodeOverrides: []\n";
    expect![[r#"
        2:10 error wrong-type: `version` of activity `a` must be a string, but is `1.0` (it counts as absent)
            help: put it in quotes: `"1.0"`
        3:16 error bad-duration: `estimatedTime` of activity `a` is `soon`, which is not a valid time (it counts as absent)
            help: write a number or a range with `m`, `h` or `d`, such as `30m` or `1-4h`
        4:9 error wrong-type: `skills` of activity `a` must be an object, but is a string (it is left out)
            help: write its fields as `name: value`, each on a line of its own
        5:11 error wrong-type: `required` of activity `a` must be `true` or `false`, but is a string (it counts as absent)
            help: write it without quotes
        6:1 error unknown-field: activity `a` has a field `step`, which has no meaning here (it is ignored)
            help: did you mean `steps`?
        7:8 error wrong-type: `notes` of activity `a` must be an array of strings, but is a string (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
        8:16 error wrong-type: `modeOverrides` of activity `a` must be an object, but is an array (it is left out)
            help: write the overrides under the id of the mode
    "#]]
    .assert_eq(&diagnostics(text));
}

#[test]
fn ids_are_plain_words_that_stand_once() {
    let text = r#"
id: w
version: 1.0.0
title: T
activities:
  - id: a
    steps:
      - { id: s }
      - { id: s }
      - { id: "s t" }
      - { id: -s }
      - { id: "" }
      - { name: none }
      - { kind: loop, id: l, loopType: forEach, over: xs, steps: [{ id: s }, { id: l }] }
      - { kind: technique, technique: a::s }
      - { kind: technique, technique: "a::b c" }
    checkpoints: [{ id: l, message: M, options: [{ id: o, label: L }, { id: o, label: L }] }]
    loops: [{ id: s, type: forEach, over: xs, steps: [s] }]
    decisions:
      - { id: d, branches: [{ id: x, isDefault: true }, { id: x }] }
      - { id: d, branches: [{ id: x }, { id: y }] }
    artifacts: [{ id: f, name: F }, { id: f, name: F }]
  - id: a
  - { id: s, steps: [{ id: s }] }
  - { id: "a/b" }
  - text
"#;
    expect![[r#"
        workflow id="w" version="1.0.0" title="T"
          activity a
            step s
            step s-2
            step s-t
            step s-3
            step unnamed
            step unnamed-2 name="none"
            loop l over="xs"
              step s-4
              step l-2
            step s-5 by="a::s"
            step b-c by="a::b c"
            at exit
              loop s-6 over="xs" steps=["s"]
            at exit
              checkpoint l-3 message="M"
                option o label="L"
            artifact f name="F"
            decision d
              branch x default ends
          activity s
            step s
          activity a-b
        9:15 error duplicate-id: the id `s` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        10:15 error bad-id: `s t` cannot be the id of a step (the parts not allowed in an id are removed or replaced)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        11:15 error bad-id: `-s` cannot be the id of a step (the parts not allowed in an id are removed or replaced)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        11:15 error duplicate-id: the id `s` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        12:15 error bad-id: `` cannot be the id of a step (the parts not allowed in an id are removed or replaced)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        13:9 error missing-field: a step has no `id` (an id is generated)
            help: add `id: …`
        14:73 error duplicate-id: the id `s` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        14:84 error duplicate-id: the id `l` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        15:39 error duplicate-id: the id `s` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        16:39 error bad-id: `b c` cannot be the id of a step (the parts not allowed in an id are removed or replaced)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        17:25 error duplicate-id: the id `l` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        17:77 error duplicate-id: the option `o` of checkpoint `l` is defined twice (the first one counts)
            help: give one of them another id
        18:19 error duplicate-id: the id `s` is used twice in the activity (the later one gets another id)
            help: give one of them another id: the steps, checkpoints and loops of an activity share one set of ids
        20:63 error duplicate-id: the branch `x` of decision `d` is defined twice (the first one counts)
            help: give one of them another id
        21:15 error duplicate-id: the decision `d` is defined twice (the first one counts)
            help: give one of them another id
        22:43 error duplicate-id: the artifact `f` is defined twice (the first one counts)
            help: give one of them another id
        23:9 error duplicate-id: the activity `a` is defined twice (the first one counts)
            help: give one of them another id
        25:11 error bad-id: `a/b` cannot be the id of an activity (the parts not allowed in an id are removed or replaced)
            help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
        26:5 error unreadable-file: the activity in `text` was not read (it is left out)
            help: check the folder of the workflow, and keep the workflows that it takes activities from next to it
    "#]]
    .assert_eq(&workflow(text));
}

#[test]
fn steps_are_of_a_kind_that_exists() {
    let text = r#"
steps:
  - { id: a, kind: checkpiont }
  - { id: b, kind: 1 }
  - { id: c, message: M, options: [{ id: o, label: L }] }
  - { id: d, over: xs, steps: [{ id: e }] }
  - { kind: technique, id: f }
  - { id: g, technique: t, skill: s }
  - { id: h, technique: [t] }
  - { id: i, technique: { name: t, inputs: { x: [1] }, output: {} } }
  - { id: j, outputs: [a.b], required: 1 }
  - { id: k, nmae: N }
  - text
"#;
    expect![[r#"
        4:20 error unknown-type: step `a` has the kind `checkpiont`, which does not exist
            help: did you mean `checkpoint`?
        5:20 error wrong-type: `kind` of step `b` must be a string, but is a number (it is left out)
            help: the kinds are `step`, `technique`, `action`, `checkpoint` and `loop`
        6:5 error missing-field: step `c` has `options` like a checkpoint, but no `kind` (it is left out)
            help: write `kind: checkpoint`
        7:5 error missing-field: step `d` has `over` like a loop, but no `kind` (it is left out)
            help: write `kind: loop`
        7:5 error missing-field: loop `d` has no `loopType` (it is left out)
            help: add `loopType: …`
        8:5 error missing-field: step `f` has no `technique` (it is left out)
            help: add `technique: …`
        9:28 error either-or: step `g` has both `technique` and `skill` (the first of the two counts)
            help: keep one of the two
        10:25 error wrong-type: `technique` of step `h` must be a name, but is an array (it is left out)
            help: write `group::operation`, or `{name: group::operation, inputs: …, outputs: …}`
        11:49 error wrong-type: input `x` of `technique` of step `i` must be a text, a number or a flag (it is left out)
            help: put the value into a variable, and name the variable
        11:56 error unknown-field: `technique` of step `i` has a field `output`, which has no meaning here (it is ignored)
            help: did you mean `outputs`?
        12:24 error bad-id: `a.b` cannot be the name of a variable in `outputs` of step `j` (it is left out)
            help: a name has 1 to 200 bytes: letters, digits, `_` and `-`, starting with a letter or `_`
        12:40 error wrong-type: `required` of step `j` must be `true` or `false`, but is `1` (it counts as absent)
            help: write it without quotes
        13:14 error unknown-field: step `k` has a field `nmae`, which has no meaning here (it is ignored)
            help: did you mean `name`?
        14:5 error wrong-type: a step must be an object, but is a string (it is left out)
            help: write it with an `id`: `- id: look-around`
    "#]].assert_eq(&diagnostics(text));
    expect![[r#"
        2:8 error wrong-type: `steps` of activity `a` must be an array, but is an object (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
    "#]]
    .assert_eq(&diagnostics("steps: { a: 1 }\n"));
}

#[test]
fn checkpoints_are_questions_with_answers() {
    let text = r#"
checkpoints:
  - { id: a, message: M }
  - { id: b, message: M, options: [] }
  - { id: c, options: [{ id: o, label: L }] }
  - { id: d, message: M, blocking: false, options: [{ id: o }, { label: L }, { id: p, label: L, effects: {} }] }
  - { id: e, message: M, defaultOption: o, options: [{ id: o, label: L }] }
  - { id: f, message: M, autoAdvanceMs: 10, options: [{ id: o, label: L }] }
  - { id: g, message: M, defaultOption: stopp, autoAdvanceMs: 10, options: [{ id: go, label: G }, { id: stop, label: S }] }
  - { id: h, message: M, defaultOption: o, autoAdvanceMs: 0, options: [{ id: o, label: L }] }
  - { id: i, ref: shared, message: M, options: [] }
  - { id: j, ref: shared, before: x, at: entry }
  - { id: k, ref: shared, at: end, scope: forever }
  - { id: l, message: M, options: [{ id: o, label: L, effect: { setVariables: {}, setVariable: [], skipActivities: x } }] }
"#;
    expect![[r#"
        4:5 error missing-field: checkpoint `a` has no `options` (its only option is `continue`)
            help: add `options: …`
        5:5 error missing-field: checkpoint `b` has no options (its only option is `continue`)
            help: add one with `id` and `label` under `options`, or make it a step
        6:5 error missing-field: checkpoint `c` has no `message` (its id is the question)
            help: add `message: …`
        7:36 warning not-blocking: checkpoint `d` has `blocking: false`, but still waits for an answer
            help: give it a `defaultOption` and `autoAdvanceMs`, so it answers itself after a while, or remove the field
        7:53 error missing-field: option `o` of checkpoint `d` has no `label` (its id is the label)
            help: add `label: …`
        7:64 error missing-field: an option of checkpoint `d` has no `id` (it is left out)
            help: add `id: …`
        7:97 error unknown-field: option `p` of checkpoint `d` has a field `effects`, which has no meaning here (it is ignored)
            help: did you mean `effect`?
        8:5 warning never-by-itself: checkpoint `e` has `defaultOption`, but no `autoAdvanceMs`
            help: give both, so it answers itself after a while, or neither: at present it waits for an answer
        9:5 warning never-by-itself: checkpoint `f` has `autoAdvanceMs`, but no `defaultOption`
            help: give both, so it answers itself after a while, or neither: at present it waits for an answer
        10:41 error unknown-option: checkpoint `g` has no option `stopp` to use by default (it is left out)
            help: did you mean `stop`?
        11:59 error bad-duration: `autoAdvanceMs` of checkpoint `h` is `0`, which is not a valid duration (it counts as absent)
            help: write a number of milliseconds, or a text such as `500ms`, `2s` or `1m`; from 1 to 2592000000 ms
        12:27 error either-or: checkpoint `i` has both `ref` and `message` (the first of the two counts)
            help: keep one of the two
        12:39 error either-or: checkpoint `i` has both `ref` and `options` (the first of the two counts)
            help: keep one of the two
        13:38 error either-or: checkpoint `j` has both `before` and `at` (the first of the two counts)
            help: keep one of the two
        14:31 error unknown-value: `at` of checkpoint `k` is `end`, which is not one of its values (it counts as absent)
            help: write one of `entry` and `exit`
        14:43 error unknown-value: `scope` of checkpoint `k` is `forever`, which is not one of its values (it counts as absent)
            help: write one of `visit` and `run`
        15:65 error unknown-field: `effect` of option `o` of checkpoint `l` has a field `setVariables`, which has no meaning here (it is ignored)
            help: did you mean `setVariable`?
        15:96 error wrong-type: `setVariable` of `effect` of option `o` of checkpoint `l` must be an object, but is an array (it counts as absent)
            help: write its fields as `name: value`, each on a line of its own
        15:116 error wrong-type: `skipActivities` of `effect` of option `o` of checkpoint `l` must be an array of strings, but is a string (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
    "#]].assert_eq(&diagnostics(text));
    // Among the steps, a checkpoint's place is its position.
    expect![[r#"
        3:40 error unknown-field: checkpoint `a` has a field `after`, which has no meaning here (it is ignored)
            help: the fields here are `kind`, `id`, `name`, `description`, `prerequisite`, `when`, `condition`, `required`, `blocking`, `scope`, `ref`, `message`, `options`, `defaultOption` and `autoAdvanceMs`
    "#]].assert_eq(&diagnostics("steps:\n  - { kind: checkpoint, id: a, ref: b, after: x }\n"));
}

#[test]
fn loops_have_something_to_go_over_and_an_end() {
    let text = r#"
loops:
  - { id: a, steps: [s] }
  - { id: b, type: forEach, steps: [s] }
  - { id: c, type: while, steps: [s] }
  - { id: d, type: doWhile, steps: [s] }
  - { id: e, type: foreach, over: xs, steps: [s] }
  - { id: f, type: forEach, loopType: forEach, over: xs, steps: [s] }
  - { id: g, type: forEach, over: "xs[0]", variable: a.b, steps: [s] }
  - { id: h, type: while, over: xs, variable: x, condition: go, steps: [s] }
  - { id: i, type: forEach, over: xs }
  - { id: j, type: forEach, over: xs, steps: [] }
  - { id: k, type: forEach, over: xs, steps: [s, { id: t }] }
  - { id: l, type: forEach, over: xs, steps: [{ id: u }, s] }
  - { id: m, type: forEach, over: xs, steps: [s], activities: [a] }
  - { id: n, type: forEach, over: xs, maxIterations: 0, steps: s }
  - { id: o, type: while, condition: "a b", breakCondition: 1, steps: [s] }
  - { id: p, type: forEach, over: xs, when: a, condition: b, steps: [s] }
  - { id: q, type: forEach, over: xs, after: s, steps: [s] }
"#;
    expect![[r#"
        4:5 error missing-field: loop `a` has no `loopType` (it is left out)
            help: add `loopType: …`
        5:5 error missing-field: loop `b` has no `over` (it is left out)
            help: add `over: …`
        6:5 error missing-field: loop `c` has no `condition`, so nothing decides when it ends (it is left out)
            help: add the condition for another iteration
        7:5 error missing-field: loop `d` has no `condition`, so nothing decides when it ends (it is left out)
            help: add the condition for another iteration
        8:20 error unknown-value: `type` of loop `e` is `foreach`, which is not one of its values (it counts as absent)
            help: did you mean `forEach`?
        9:14 error either-or: loop `f` has both `loopType` and `type` (the first of the two counts)
            help: keep one of the two
        10:35 error bad-path: `over` of loop `g` leads nowhere: `xs[0]` is not a path to a value (it is left out)
            help: name a variable, with dots for nested values, as in `review.state`
        10:54 error bad-id: `a.b` cannot be the name of a variable (it is left out)
            help: a name has 1 to 200 bytes: letters, digits, `_` and `-`, starting with a letter or `_`
        11:33 warning inert-field: `over` of loop `h` does nothing: only a `forEach` iterates over items
            help: remove it, or make the `type` a `forEach`
        11:47 warning inert-field: `variable` of loop `h` does nothing: only a `forEach` iterates over items
            help: remove it, or make the `type` a `forEach`
        12:5 error missing-field: loop `i` has no steps, so there is nothing to repeat (it is left out)
            help: add the steps to repeat under `steps`
        13:5 error missing-field: loop `j` has no steps, so there is nothing to repeat (it is left out)
            help: add the steps to repeat under `steps`
        14:50 error wrong-type: `steps` of loop `k` must be an array of strings, but is an object (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
        15:58 error wrong-type: a step must be an object, but is a string (it is left out)
            help: write it with an `id`: `- id: look-around`
        16:51 error either-or: loop `m` has both `steps` and `activities` (the first of the two counts)
            help: keep one of the two
        17:54 error wrong-type: `maxIterations` of loop `n` must be a whole number from 1 to 1000000, but is `0` (it counts as absent)
            help: write such a number without quotes
        17:64 error wrong-type: `steps` of loop `n` must be an array, but is a string (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
        18:41 error bad-condition: `condition` of loop `o` is not a valid condition: `b` is not allowed here (it never holds)
            help: join conditions with `&&` or `||`; write text with spaces in quotes
        18:61 error wrong-type: `breakCondition` of loop `o` must be a condition, but is a number (it is left out)
            help: write `state == done`, or `{type: simple, variable: state, operator: ==, value: done}`
        19:48 error either-or: loop `p` has both `when` and `condition` (the first of the two counts)
            help: keep one of the two
        20:46 warning inert-field: `after` of loop `q` does nothing: the loop repeats steps at their own positions
            help: remove it, or define the steps inside the loop
    "#]]
    .assert_eq(&diagnostics(text));
}

#[test]
fn loops_stand_inside_each_other_eight_deep() {
    let nested = |levels: usize| {
        let open = |level: usize| format!("{{kind: loop, id: l{level}, loopType: forEach, over: xs, steps: [");
        let open: String = (0..levels).map(open).collect();
        diagnostics(&format!("steps: [{open}{{id: s}}{}]\n", "]}".repeat(levels)))
    };
    assert_eq!(nested(8), "");
    expect![[r#"
        2:473 error too-large: loop `l8` is nested in 8 other loops, and loops cannot be nested more deeply
            help: move an inner part into an activity or a workflow of its own
    "#]]
    .assert_eq(&nested(9));
    assert_eq!(nested(60).lines().count(), 2);
}

#[test]
fn the_ways_on() {
    let text = r#"
decisions:
  - { id: a, branches: [{ id: x }] }
  - { id: b }
  - { id: c, branches: [{ id: x, isDefault: true }, { id: y, isDefault: true }] }
  - { id: d, branches: [{ id: x, goto: y }, { label: y }, { id: z, when: a, condition: b }] }
  - { branches: { a: 1 } }
transitions:
  - { to: a, isDefault: true }
  - { to: b, isDefault: true }
  - { condition: a }
  - b
triggers: { workflw: x }
entryActions:
  - { action: sett, target: a }
  - { target: a }
  - { action: set, target: [a], when: "a ==" }
exitActions: {}
artifacts: [{ id: a }, { id: b, name: B, action: delete }]
"#;
    expect![[r#"
        4:5 error missing-field: decision `a` has fewer than two branches (it is left out)
            help: add another branch, or write a transition instead of the decision
        5:5 error missing-field: decision `b` has no `branches` (it is left out)
            help: add `branches: …`
        6:59 error several-defaults: decision `c` has more than one default branch (the first one counts)
            help: keep `isDefault: true` on one of them
        7:34 error unknown-field: branch `x` of decision `d` has a field `goto`, which has no meaning here (it is ignored)
            help: the fields here are `id`, `label`, `when`, `condition`, `transitionTo` and `isDefault`
        7:45 error missing-field: a branch of decision `d` has no `id` (it is left out)
            help: add `id: …`
        7:77 error either-or: branch `z` of decision `d` has both `when` and `condition` (the first of the two counts)
            help: keep one of the two
        8:5 error missing-field: a decision has no `id` (it is left out)
            help: add `id: …`
        8:17 error wrong-type: `branches` of a decision must be an array, but is an object (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
        11:5 error several-defaults: activity `a` has more than one default transition (the first one counts)
            help: keep `isDefault: true` on one of them
        12:5 error missing-field: a transition of activity `a` has no `to` (it is left out)
            help: add `to: …`
        13:5 error wrong-type: a transition of activity `a` must be an object, but is a string (it is left out)
            help: write its fields as `name: value`, each on a line of its own
        14:11 error missing-field: a trigger of activity `a` has no `workflow` (it is left out)
            help: add `workflow: …`
        14:13 error unknown-field: a trigger of activity `a` has a field `workflw`, which has no meaning here (it is ignored)
            help: did you mean `workflow`?
        16:15 error unknown-value: `action` of action `sett` of activity `a` is `sett`, which is not one of its values (it counts as absent)
            help: did you mean `set`?
        17:5 error missing-field: an action of activity `a` has no `action` (it is left out)
            help: add `action: …`
        18:28 error wrong-type: `target` of action `set` of activity `a` must be a string, but is an array (it counts as absent)
            help: write it as a text
        18:44 error bad-condition: `when` of action `set` of activity `a` is not a valid condition: expected a value, found the end (it never holds)
            help: compare a name with a value, as in `state == done`
        19:14 error wrong-type: `exitActions` of activity `a` must be an array, but is an object (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
        20:13 error missing-field: artifact `a` has no `name` (it is left out)
            help: add `name: …`
        20:50 error unknown-value: `action` of artifact `b` is `delete`, which is not one of its values (it counts as absent)
            help: write one of `create` and `update`
    "#]].assert_eq(&diagnostics(text));
    expect![[r#"
        2:11 error wrong-type: `triggers` of activity `a` must be an array, but is a string (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
    "#]]
    .assert_eq(&diagnostics("triggers: x\n"));
}

#[test]
fn lists_have_an_end() {
    let steps = |count: usize| {
        let ids: Vec<String> = (0..count).map(|at| format!("{{id: s{at}}}")).collect();
        diagnostics(&format!("steps: [{}]\n", ids.join(",")))
    };
    assert_eq!(steps(10_000), "");
    expect![[r#"
        2:8 error too-large: `steps` has 10001 items, more than the limit of 10000
            help: move some of them into a workflow of their own
    "#]]
    .assert_eq(&steps(10_001));
}
