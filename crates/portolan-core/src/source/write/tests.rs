use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn to_yaml(json: &str, expected: Expect) {
    let source = Source::new("a.json", json);
    expected.assert_eq(&convert(&source, Format::Yaml).expect("it can be said in YAML"));
}

#[test]
fn order_numbers_and_texts_are_kept() {
    to_yaml(
        r#"{"z": 1E+3, "a": [1.50, -0, 12345678901234567890123], "check": "len(output) >= 40 and '#' in output",
            "": {}, "empty": [], "yes": "no", "text": "two\nlines\n", "odd": " x", "nested": [[1], {"a": [{"b": null}]}]}"#,
        expect![[r##"
            z: 1E+3
            a:
              - 1.50
              - -0
              - 12345678901234567890123
            check: "len(output) >= 40 and '#' in output"
            "": {}
            empty: []
            "yes": "no"
            text: |
              two
              lines
            odd: " x"
            nested:
              - - 1
              - a:
                  - b: null
        "##]],
    );
}

#[test]
fn what_cannot_be_said_is_refused() {
    let long = format!("{{\"{}\": 1}}", "k".repeat(2_000));
    for (text, spelling) in [(long.as_str(), Format::Yaml), ("{", Format::Json)] {
        assert!(convert(&Source::new("a.json", text), spelling).is_err(), "{text}");
    }
}

fn json_text() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?",
    ];
    let text = prop_oneof![any::<String>(), "[a-z :#\n'\"\\\\-]{0,12}", "(true|null|12|~|-|on|0x1f|1e3| |\\t|<<)"];
    let quote = |text: String| serde_json::Value::from(text).to_string();
    let leaf = prop_oneof![Just("null".to_owned()), Just("true".to_owned()), number, text.clone().prop_map(quote)];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let member = (text.clone().prop_map(quote), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..5).prop_map(|members| {
                let mut seen = std::collections::BTreeSet::new();
                let members = members.into_iter().filter(|(key, _)| seen.insert(key.clone()));
                let members: Vec<String> = members.map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn json_comes_back_from_yaml_as_it_was(text in json_text()) {
        let source = Source::new("a.json", &text);
        let straight = convert(&source, Format::Json).expect("JSON is JSON");
        let yaml = convert(&source, Format::Yaml).map_err(|faults| TestCaseError::fail(format!("{faults:?}")))?;
        let back = convert(&Source::new("a.yaml", &yaml), Format::Json).expect("it was read as YAML already");
        prop_assert_eq!(straight, back, "{}", yaml);
    }
}
