//! Schemas and values in, faults out.

use expect_test::expect;
use serde_json::{Value, json};

use super::{MAX_FAULTS, Schema, SchemaFault};

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn lines(faults: &[SchemaFault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

fn check(schema: &Value, value: &Value) -> String {
    lines(&compiled(schema).check(value))
}

fn refused(schema: &Value) -> String {
    lines(&Schema::compile(schema).expect_err("it is refused"))
}

#[test]
fn every_fault_of_a_value_is_told_in_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 3, "pattern": "^/"},
            "kind": {"enum": ["file", "folder", 3]},
            "size": {"type": ["integer", "null"], "minimum": 1, "maximum": 9, "multipleOf": 2},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 2},
            "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "shape": {"oneOf": [
                {"type": "object", "required": ["radius"]},
                {"type": "object", "required": ["width", "height"]},
                {"type": "string"}
            ]},
            "never": false,
            "fixed": {"const": {"a": 1}},
            "a/b~c": {"type": "boolean"}
        },
        "required": ["path", "owner"],
        "propertyNames": {"maxLength": 10},
        "additionalProperties": false
    });
    let value = json!({
        "path": "x", "kind": "link", "size": 11, "tags": ["a", "a", 1], "either": [], "shape": {"width": 1},
        "never": 1, "fixed": 2, "a/b~c": 3, "unknown": 4, "much-too-long": 5
    });
    expect![[r#"
        it has no `owner`
        it must not have `unknown` and `much-too-long`
        it has a field `much-too-long`, whose name must have at most 10 characters
        `/a~1b~0c` must be a boolean, but is `3`
        `/either` must be a string or a number, but is an array
        `/fixed` must be an object, but is `2`
        `/kind` must be one of `file`, `folder` and `3`, but is `"link"`
        `/never` is not allowed
        `/path` must have at least 3 characters
        `/path` must match `^/`, but is `"x"`
        `/shape` does not fit any of the 3 alternatives; for the closest, it has no `radius`
        `/size` must be at most 9, but is `11`
        `/size` must be a multiple of 2, but is `11`
        `/tags` must have at most 2 items
        `/tags` has the same item twice
        `/tags/2` must be a string, but is `1`
    "#]]
    .assert_eq(&check(&schema, &value));
    expect![[r#"
        it must be an object, but is `"text"`
    "#]]
    .assert_eq(&check(&schema, &json!("text")));
    assert_eq!(check(&schema, &json!({"path": "/tmp", "owner": 1})), "it must not have `owner`\n");
}

#[test]
fn a_default_is_not_filled_in() {
    let schema = compiled(&json!({"properties": {"a": {"default": 1}}, "required": ["a"]}));
    assert_eq!(lines(&schema.check(&json!({}))), "it has no `a`\n");
}

#[test]
fn what_is_marked_is_never_shown() {
    let schema = json!({
        "$defs": {"secret": {"type": "string", "writeOnly": true}, "tree": {
            "properties": {"token": {"$ref": "#/$defs/secret"}, "next": {"$ref": "#/$defs/tree"}}
        }},
        "properties": {
            "password": {"type": "string", "maxLength": 3, "pattern": "^x", "writeOnly": true},
            "users": {"items": {"properties": {"a/b": {"allOf": [{"$ref": "#/$defs/secret"}, {"maxLength": 1}]}}}},
            "vault": {"writeOnly": true, "properties": {"deep": {"type": "number"}}},
            "tree": {"$ref": "#/$defs/tree"},
            "any": {"additionalProperties": {"writeOnly": true, "enum": ["x"]}}
        }
    });
    let value = json!({
        "password": "hunter2",
        "users": [{"a/b": "hunter3"}, {"a/b": 4444}],
        "vault": {"deep": "hunter5"},
        "tree": {"next": {"next": {"token": 6666}}},
        "any": {"k": "hunter7"}
    });
    let schema = compiled(&schema);
    let said = lines(&schema.check(&value));
    expect![[r#"
        `/any/k` must be one of `x`, but is another value
        `/password` must have at most 3 characters
        `/password` must match `^x`, but is another value
        `/tree/next/next/token` must be a string, but is another value
        `/users/0/a~1b` must have at most 1 character
        `/users/1/a~1b` must be a string, but is another value
        `/vault/deep` must be a number, but is another value
    "#]]
    .assert_eq(&said);
    for secret in ["hunter", "4444", "6666"] {
        assert!(!said.contains(secret), "{said}");
    }
    expect![[r#"
        /any/*
        /password
        /tree/next/token
        /tree/token
        /users/*/a~1b
        /vault"#]]
    .assert_eq(&schema.write_only().join("\n"));
    assert!(schema.hides("/tree/next/next/next/token") && schema.hides("/users/7/a~1b") && schema.hides("/vault/x/y"));
    assert!(!schema.hides("") && !schema.hides("/users/7") && !schema.hides("/tree/token2"));
}

#[test]
fn what_is_no_schema_is_refused_with_all_its_faults() {
    expect![[r#"
        `/properties/a/type` must be one of `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`, but is `12`
        `/properties/b` must be a boolean or an object, but is `3`
        `/type` must be one of `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`, but is `"objct"`
        `/required` must be an array, but is `"a"`
        `/minLength` must be at least 0, but is `-1`
    "#]].assert_eq(&refused(&json!({
        "type": "objct", "properties": {"a": {"type": 12}, "b": 3}, "required": "a", "minLength": -1, "pattern": "("
    })));
    expect![[r#"
        it is not a schema: a schema is an object, `true` or `false`
    "#]]
    .assert_eq(&refused(&json!(12)));
    expect![[r#"
        `/items` must be a boolean or an object, but is an array
        `/enum` must be an array, but is `1`
    "#]]
    .assert_eq(&refused(&json!({"enum": 1, "items": []})));
}

#[test]
fn nothing_is_fetched() {
    expect![[r#"
        `/properties/a/$ref` refers to `https://example.com/schema.json`, but schemas are not fetched: copy that schema under `$defs` and refer to it as `#/$defs/…`
        `/properties/b/$ref` refers to `file:///etc/passwd`, but schemas are not fetched: copy that schema under `$defs` and refer to it as `#/$defs/…`
        `/properties/c/$ref` refers to `other.json#/x`, but schemas are not fetched: copy that schema under `$defs` and refer to it as `#/$defs/…`
        `/properties/d/$ref` refers to `#/$defs/nowhere`, which does not exist
        `/properties/f/$ref` refers to `#nobody`, which does not exist
        `/properties/g/$id` gives a part of the schema the address `https://example.com/g`, which is not supported: remove it
        `/properties/x~1y/items/$dynamicRef` refers to `https://x`, but schemas are not fetched: copy that schema under `$defs` and refer to it as `#/$defs/…`
    "#]].assert_eq(&refused(&json!({
        "properties": {
            "a": {"$ref": "https://example.com/schema.json"}, "b": {"$ref": "file:///etc/passwd"},
            "c": {"$ref": "other.json#/x"}, "d": {"$ref": "#/$defs/nowhere"}, "e": {"$ref": "#/properties"},
            "f": {"$ref": "#nobody"}, "g": {"$id": "https://example.com/g"}, "h": {"$ref": "#/properties/$ref"},
            "$ref": {"type": "string"}, "x/y": {"items": {"$dynamicRef": "https://x"}}
        }
    })));
    let local = json!({"$id": "https://example.com/s", "$defs": {"a b": {"$anchor": "name", "type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/a%20b"}, "b": {"$ref": "#name"}, "c": {"const": {"$ref": "https://x"}}}});
    assert_eq!(
        check(&local, &json!({"a": 1, "b": 2})),
        "`/a` must be a string, but is `1`\n`/b` must be a string, but is `2`\n"
    );
}

#[test]
fn older_drafts_are_read_as_they_say() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}},
        "items": [{"$ref": "#/definitions/a"}, {"type": "number"}], "additionalItems": false});
    assert_eq!(check(&schema, &json!([1, 2, 3])), "it must have at most 2 items\n`/0` must be a string, but is `1`\n");
}

#[test]
fn a_fault_never_repeats_a_large_value() {
    let long = "x".repeat(1 << 20);
    let schema = json!({"properties": {"a": {"maxLength": 3}, "b": {"enum": [long.clone()]}, "c": {"pattern": long.clone() + "("}}});
    assert!(refused(&schema).len() < 300);
    let schema = json!({"additionalProperties": {"const": long.clone()}, "propertyNames": {"maxLength": 3}});
    let said = check(&schema, &json!({long.clone(): long.clone(), "y": {"z": long}}));
    assert!(said.len() < 1_500, "{}", said.len());
}

#[test]
fn faults_are_counted_out() {
    let schema = compiled(&json!({"items": {"type": "string"}}));
    assert_eq!(schema.check(&json!((0..10_000).collect::<Vec<_>>())).len(), MAX_FAULTS);
    // Of very many, the first alone.
    assert_eq!(schema.check(&json!((0..500_000).collect::<Vec<_>>())).len(), 1);
}

fn chain(length: usize, link: impl Fn(String) -> Value) -> Value {
    let mut definitions: serde_json::Map<String, Value> =
        (0..length).map(|at| (format!("a{at}"), link(format!("#/$defs/a{}", at + 1)))).collect();
    definitions.insert(format!("a{length}"), json!({"type": "string"}));
    json!({"$defs": definitions, "$ref": "#/$defs/a0"})
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
}

const BOUNDED: &str = "it takes too many steps to check against its schema\n";

#[test]
fn a_small_schema_cannot_take_for_ever() {
    let doubling = |to: String| json!({"anyOf": [{"$ref": to}, {"$ref": to}]});
    assert_eq!(check(&chain(60, doubling), &json!(1)), BOUNDED);
    assert_eq!(check(&chain(4, doubling), &json!("x")), "");
    let recursive = json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    assert_eq!(check(&recursive, &nested(60)), BOUNDED);
    let around = json!({"items": {"pattern": "^(\\w+\\s?)*\\1$"}});
    assert_eq!(check(&around, &json!(vec!["a".repeat(5_000); 10_000])), BOUNDED);
    let choices = json!({"items": {"enum": (0..20_000).map(|at| json!({"k": at})).collect::<Vec<_>>()}});
    assert_eq!(check(&choices, &json!(vec![json!({"k": -1}); 20_000])), BOUNDED);
    let patterns: serde_json::Map<String, Value> =
        (0..1_000).map(|at| (format!("^x.*{at}$"), json!({"type": "string"}))).collect();
    let fields: serde_json::Map<String, Value> = (0..20_000).map(|at| (format!("xa{at}"), json!(1))).collect();
    assert_eq!(check(&json!({"patternProperties": patterns}), &Value::Object(fields)), BOUNDED);
}

#[test]
fn patterns_are_bounded() {
    expect![[r#"
        `/properties/a/pattern` is not a regular expression, or is too large
    "#]]
    .assert_eq(&refused(&json!({"properties": {"a": {"pattern": "(x{1000}){1000}"}, "b": {"pattern": "a{100000}"}}})));
    let text = "a".repeat(5_000) + "!";
    let slow = check(&json!({"pattern": "^(\\w+\\s?)*\\1$"}), &json!(text));
    assert_eq!(slow, "it takes too long to match against the pattern of its schema\n");
    assert_eq!(check(&json!({"pattern": "^(a+)+$"}), &json!(text)).lines().count(), 1);
    assert_eq!(check(&json!({"pattern": "^(?=a)(?!b)"}), &json!("ab")), "");
}

#[test]
fn a_schema_that_contains_itself_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}, {"not": {"$ref": "#"}}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        let schema = compiled(&schema);
        assert!(schema.check(&json!({"a": [1]})).len() <= 1, "{schema:?}");
        assert!(schema.write_only().is_empty() && !schema.hides("/a/b"));
    }
    let tree = compiled(&json!({"type": "object", "properties": {"a": {"$ref": "#"}}}));
    assert_eq!(tree.check(&nested(100)).len(), 1);
    assert_eq!(lines(&tree.check(&nested(200))), "it nests deeper than the 128 levels that are checked\n");
}

#[test]
fn deep_schemas_overflow_no_stack() {
    let deep =
        |depth: usize| (0..depth).fold(json!({"type": "string"}), |inner, _| json!({"properties": {"a": inner}}));
    assert_eq!(refused(&deep(100)), "it nests deeper than 128 levels\n");
    assert_eq!(compiled(&deep(60)).check(&nested(60)).len(), 1);
    let long = chain(10_000, |to| json!({"$ref": to}));
    assert_eq!(check(&long, &json!(1)), BOUNDED);
    assert_eq!(check(&chain(250, |to| json!({"$ref": to})), &json!(1)), "it must be a string, but is `1`\n");
    assert_eq!(check(&chain(250, |to| json!({"allOf": [{"$ref": to}]})), &json!(1)), BOUNDED);
}

#[test]
fn a_large_value_is_checked() {
    let schema = compiled(&json!({"items": {"properties": {"k": {"type": "integer"}}, "required": ["k"]}}));
    let items: Vec<Value> = (0..100_000).map(|at| json!({"k": at})).collect();
    assert!(schema.check(&Value::Array(items)).is_empty());
}

#[test]
fn schemas_are_equal_by_their_text() {
    let one = compiled(&json!({"type": "string"}));
    assert_eq!(one, compiled(&json!({"type": "string"})));
    assert_ne!(one, compiled(&json!({"type": "number"})));
    assert_eq!(one.clone().value(), &json!({"type": "string"}));
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}
    is_shared(&one);
}
