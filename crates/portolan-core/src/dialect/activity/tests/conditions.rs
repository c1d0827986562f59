//! Conditions in files: the diagnostics and their locations.

use expect_test::expect;

use super::diagnostics;

fn of(condition: &str) -> String {
    diagnostics(&format!("transitions:\n  - to: b\n    condition: {condition}\n"))
}

#[test]
fn a_condition_that_cannot_be_read_says_where() {
    expect![[r#"
        4:28 error bad-condition: `condition` of a transition of activity `a` is not a valid condition: expected a name, found `|` (it never holds)
            help: compare a name with a value, as in `state == done`
    "#]].assert_eq(&of("a == 'x' && || b"));
    expect![[r#"
        4:16 error wrong-type: `condition` of a transition of activity `a` must be a condition, but is an array (it is left out)
            help: write `state == done`, or `{type: simple, variable: state, operator: ==, value: done}`
    "#]]
    .assert_eq(&of("[a, b]"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` has no `type` (it is left out)
            help: add `type: …`
    "#]]
    .assert_eq(&of("{ variable: a, operator: exists }"));
    expect![[r#"
        4:24 error unknown-value: `type` of `condition` of a transition of activity `a` is `sinple`, which is not one of its values (it counts as absent)
            help: did you mean `simple`?
    "#]].assert_eq(&of("{ type: sinple, variable: a }"));
    expect![[r#"
        4:42 error bad-condition: `condition` of a transition of activity `a` is not a valid condition: `a b` is not a path to a value
            help: name a variable, with dots for nested values, as in `review.state`
    "#]].assert_eq(&of("{ type: simple, variable: a b, operator: '==', value: 1 }"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` has no `variable` (it is left out)
            help: add `variable: …`
        4:42 error unknown-value: `operator` of `condition` of a transition of activity `a` is `=`, which is not one of its values (it counts as absent)
            help: write one of `==`, `!=`, `>`, `<`, `>=`, `<=`, `exists` and `notExists`
    "#]].assert_eq(&of("{ type: simple, operator: '=', value: 1 }"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` has no `operator` (it is left out)
            help: add `operator: …`
        4:55 error unknown-field: `condition` of a transition of activity `a` has a field `valeu`, which has no meaning here (it is ignored)
            help: did you mean `value`?
    "#]].assert_eq(&of("{ type: simple, variable: a, value: 1, valeu: 2 }"));
}

#[test]
fn a_comparison_needs_what_it_compares() {
    expect![[r#""#]].assert_eq(&of("{ type: simple, variable: a, operator: '==', value: null }"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` has no `value` to compare with (it compares with `null`)
            help: add it, or ask with `exists` or `notExists` whether the variable has a value
    "#]]
    .assert_eq(&of("{ type: simple, variable: a, operator: '==' }"));
    expect![[r#"
        4:67 error bad-condition: `condition` of a transition of activity `a` is not a valid condition: `>` compares numbers, but `"3"` is not a number
            help: write the number without quotes
    "#]].assert_eq(&of("{ type: simple, variable: a, operator: '>', value: '3' }"));
    expect![[r#"
        4:68 error bad-condition: `condition` of a transition of activity `a` is not a valid condition: `!=` compares single values, but an array is not one
            help: compare with a text, a number, `true`, `false` or `null`
    "#]].assert_eq(&of("{ type: simple, variable: a, operator: '!=', value: [1] }"));
    expect![[r#"
        4:70 warning inert-field: `value` of `condition` of a transition of activity `a` does nothing: its operator does not compare with a value
            help: remove it
    "#]].assert_eq(&of("{ type: simple, variable: a, operator: exists, value: true }"));
}

#[test]
fn the_faults_of_all_parts_are_told() {
    expect![[r#"
        4:41 error missing-field: a part of `condition` of a transition of activity `a` has no `condition` (it is left out)
            help: add `condition: …`
        4:82 error bad-condition: a part of `condition` of a transition of activity `a` is not a valid condition: `1a` is not a path to a value
            help: name a variable, with dots for nested values, as in `review.state`
    "#]]
        .assert_eq(&of("{ type: or, conditions: [{ type: not }, { type: simple, variable: 1a, operator: exists }] }"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` combines fewer than two conditions (it is replaced by its one condition)
            help: add another, or write the one condition directly
    "#]]
    .assert_eq(&of("{ type: and, conditions: [{ type: simple, variable: a, operator: exists }] }"));
    expect![[r#"
        4:16 error missing-field: `condition` of a transition of activity `a` has no `conditions` (it is left out)
            help: add `conditions: …`
    "#]]
    .assert_eq(&of("{ type: and }"));
    expect![[r#"
        4:41 error wrong-type: `conditions` of `condition` of a transition of activity `a` must be an array, but is a string (it counts as absent)
            help: write each item after a `-`, or all of them as `[first, second]`
    "#]].assert_eq(&of("{ type: and, conditions: a }"));
    expect![[r#"
        4:40 error wrong-type: a part of `condition` of a transition of activity `a` must be an object, but is a string (it is left out)
            help: write its fields as `name: value`, each on a line of its own
        4:43 error unknown-field: `condition` of a transition of activity `a` has a field `value`, which has no meaning here (it is ignored)
            help: the fields here are `type` and `condition`
    "#]].assert_eq(&of("{ type: not, condition: a, value: 1 }"));
}

#[test]
fn one_thing_has_one_condition() {
    expect![[r#"
        5:5 error either-or: step `s` has both `when` and `condition` (the first of the two counts)
            help: keep one of the two
    "#]]
    .assert_eq(&diagnostics("steps:\n  - id: s\n    when: a\n    condition: b\n"));
    expect![[r#"
        4:11 error wrong-type: `when` of step `s` must be a string, but is an object (it is left out)
            help: write it as `state == done`, or call it `condition` if it is an object
    "#]]
    .assert_eq(&diagnostics("steps:\n  - id: s\n    when: { type: simple }\n"));
}

#[test]
fn nesting_has_an_end() {
    let nested = |levels: usize| {
        let inner = "{type: simple, variable: a, operator: exists}";
        of(&format!("{}{inner}{}", "{type: not, condition: ".repeat(levels), "}".repeat(levels)))
    };
    assert_eq!(nested(99), "");
    assert_eq!(
        nested(100),
        "4:2316 error bad-condition: the condition nests deeper than 100 levels\n    help: reduce the nesting\n"
    );
    assert_eq!(nested(200).lines().count(), 2);
}
