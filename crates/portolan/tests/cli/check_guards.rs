//! `portolan check` of the guards that a definition carries.

use expect_test::expect;

use crate::support::Project;

/// The rules for calls are read by the gates, and reported with all other faults, in the order of the text.
#[test]
fn guards_of_a_definition_are_checked_with_it() {
    let project = Project::new();
    project.write(
        "guarded.json",
        r#"{ "nodes": { "start": { "type": "start" },
  "pay": { "type": "task", "guards": [{ "id": "large", "tools": ["mcp:pay/*"], "when": "amount > 1", "reason": "no" }] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "pay" }, { "from": "pay", "to": "dnoe" }],
"guards": [{ "id": "money", "total": { "result": "$count(rows)", "most": 1 } }] }
"#,
    );
    expect![[r#"
        error[unknown-name]: `amount` is not available in `when`
         --> guarded.json:2:88
          |
        2 |   "pay": { "type": "task", "guards": [{ "id": "large", "tools": ["mcp:pay/*"], "when": "amount > 1", "reason": "no" }] },
          |                                                                                        ^^^^^^^^^^^^
          |
        help: the available names are `tool`, `path`, `command`, `arguments`, `calls`, `called`, `branch`, `phase` and `steps`

        error[missing-field]: guard `money` needs exactly one `reason`
         --> guarded.json:5:12
          |
        5 | "guards": [{ "id": "money", "total": { "result": "$count(rows)", "most": 1 } }] }
          |            ^

        error[unknown-name]: `rows` is not available in `result`
         --> guarded.json:5:50
          |
        5 | "guards": [{ "id": "money", "total": { "result": "$count(rows)", "most": 1 } }] }
          |                                                  ^^^^^^^^^^^^^^
          |
        help: the available name is `result`

        error[unknown-node]: an edge leads to `dnoe`, which is not defined
         --> guarded.json:4:68
          |
        4 | "edges": [{ "from": "start", "to": "pay" }, { "from": "pay", "to": "dnoe" }],
          |                                                                    ^^^^^^
          |
        help: did you mean `done`?

        1 file checked: 4 errors, 0 warnings
        exit: 3
    "#]].assert_eq(&project.says("check guarded.json"));
}
