//! Recognizes schemas that keep to the rules of 2020-12 and can be compiled, without the metaschema: building its
//! validator takes longer than all else that many short processes do with a definition.

use serde_json::{Map, Value};

/// The names of types.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Checks whether a schema uses only the common keywords, each as the metaschema demands. If not, the metaschema decides.
pub(super) fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(members) => members.iter().all(|(keyword, value)| is_sound(keyword, value)),
        _ => false,
    }
}

fn is_sound(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => is_type(value),
        "properties" | "$defs" => value.as_object().is_some_and(|schemas: &Map<_, _>| schemas.values().all(is_plain)),
        "items" | "additionalProperties" | "not" => is_plain(value),
        "allOf" | "anyOf" | "oneOf" => value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_plain)),
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && differ(names)),
        "enum" | "examples" => value.is_array(),
        "const" | "default" => true,
        "title" | "description" | "format" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.is_u64(),
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
        _ => false,
    }
}

fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name) && differ(names),
        name => is_name(name),
    }
}

/// Checks whether no two values are the same. A long list is left to the metaschema, which does not compare all pairs.
fn differ(values: &[Value]) -> bool {
    values.len() <= 64 && values.iter().enumerate().all(|(at, value)| !values[..at].contains(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::rules;
    use super::is_plain;

    /// Keywords, some of which are never plain.
    const KEYWORDS: &str = "type type properties $defs items additionalProperties not allOf anyOf oneOf required enum \
        examples const default title description format minimum maximum exclusiveMinimum exclusiveMaximum minLength \
        maxLength minItems maxItems minProperties maxProperties uniqueItems readOnly writeOnly deprecated pattern $ref \
        $schema dependentRequired prefixItems x-other";

    /// Schemas with the keywords in any place. Many of their values are right.
    fn schema() -> impl Strategy<Value = Value> {
        let names = ["string", "object", "null", "strin", "String", ""].map(|name| json!(name));
        let others = [json!(null), json!(true), json!(2), json!(2.0), json!(-1), json!(1.5), json!([])];
        let leaf = prop::sample::select([&names[..], &others[..]].concat());
        leaf.clone().prop_recursive(4, 24, 4, move |inner| {
            let keyword = prop::sample::select(KEYWORDS.split(' ').collect::<Vec<_>>());
            let alone = (keyword.clone(), leaf.clone()).prop_map(|(key, it)| json!({ key: it }));
            let list = prop::collection::vec(prop_oneof![leaf.clone(), inner.clone()], 1..3);
            let both = (keyword, prop_oneof![inner.clone(), list.prop_map(Value::Array)]);
            prop_oneof![
                alone,
                prop::collection::vec(both, 1..3)
                    .prop_map(|it| it.into_iter().map(|(key, it)| (key.to_owned(), it)).collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_plain_keeps_to_the_metaschema(schema in schema()) {
            prop_assert!(!is_plain(&schema) || rules(&schema).is_valid(&schema), "{schema}");
            prop_assert!(!is_plain(&schema) || jsonschema::options().offline().build(&schema).is_ok(), "{schema}");
        }
    }

    #[test]
    fn each_keyword_is_plain_and_no_longer_so_with_another_value() {
        let schemas = json!({
            "type": [["string", "null"], ["string", "string"]],
            "properties": [{ "a": { "type": "string" } }, { "a": { "type": "strin" } }],
            "items": [{ "minimum": 1.5 }, [{}]],
            "additionalProperties": [false, "no"],
            "anyOf": [[true, {}], []],
            "required": [["a", "b"], ["a", "a"]],
            "enum": [[1, null], 1],
            "title": ["a", 1],
            "maximum": [-1, "1"],
            "minLength": [0, -1],
            "uniqueItems": [true, 1],
        });
        for (keyword, pair) in schemas.as_object().expect("an object") {
            let [right, wrong] = [0, 1].map(|at| json!({ keyword: pair[at] }));
            assert!(is_plain(&right) && rules(&right).is_valid(&right), "{right}");
            assert!(!is_plain(&wrong) && !rules(&wrong).is_valid(&wrong), "{wrong}");
        }
    }
}
