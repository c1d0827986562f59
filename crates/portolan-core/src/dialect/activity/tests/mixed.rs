//! Files that mix both generations, and fields that neither has but that are read.

use expect_test::expect;

use super::{activity, diagnostics, workflow};

#[test]
fn both_generations_stand_in_one_activity() {
    let text = r#"
id: both
name: Both
estimatedTime: 5
skills: { supporting: [old] }
techniques: [new]
steps:
  - { id: plain, name: Plain, when: ready, outputs: [result, other] }
  - { kind: step, id: named, guide: At length, outputs: { count: found_count } }
  - { kind: technique, technique: group::inner::do-it, name: Do it }
  - { kind: checkpoint, id: among, name: Among, message: Here?, options: [{ id: ok, label: OK }] }
checkpoints:
  - { id: beside, message: There?, after: plain, options: [{ id: ok, label: OK }] }
loops:
  - { id: beside-too, loopType: forEach, over: things, before: named, steps: [{ kind: action, id: inner }] }
transitions:
  - { to: next, condition: is_ready }
"#;
    expect![[r#"
        activity both name="Both" time="5" skills=["old"] techniques=["new"]
          step plain when [ready] name="Plain" outputs=["result -> result", "other -> other"]
          step named guide="At length" outputs=["count -> found_count"]
          step do-it name="Do it" by="group::inner::do-it"
          checkpoint among name="Among" message="Here?"
            option ok label="OK"
          before named
            loop beside-too over="things"
              step inner
          after plain
            checkpoint beside message="There?"
              option ok label="OK"
          then next when [is_ready]
    "#]]
    .assert_eq(&activity(text));
}

#[test]
fn times_are_numbers_and_ranges() {
    for time in ["30m", "1-4h", "2 days", "1.5 - 2 hr", "\"90\"", "45min"] {
        assert_eq!(diagnostics(&format!("estimatedTime: {time}\n")), "", "{time}");
    }
    for time in ["h", "1-", "-1", "1-2-3h", "1 week", "1e9h", "\"\"", "一"] {
        assert!(diagnostics(&format!("estimatedTime: {time}\n")).contains("bad-duration"), "{time}");
    }
}

#[test]
fn what_is_absent_is_not_there() {
    let text = "
name: Called by its name
id: w
version: 1.0.0
activities:
  - id: alone
";
    expect![[r#"
        workflow id="w" version="1.0.0" title="Called by its name"
          activity alone
    "#]]
    .assert_eq(&workflow(text));
}
