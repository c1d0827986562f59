//! Checks that the description of the interface and its routes agree.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{page, routes};

#[test]
fn the_description_has_every_path_and_no_other() {
    let described: Value = serde_json::from_str(page::OPENAPI).expect("it is JSON");
    let described = described["paths"].as_object().expect("it has paths");
    let described: BTreeSet<&str> = described.keys().map(String::as_str).collect();
    let routes = routes::paths();
    let routed: BTreeSet<&str> = routes.iter().map(|(path, _)| *path).collect();
    assert_eq!(described, routed);
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let described: Value = serde_json::from_str(page::OPENAPI).expect("it is JSON");
    let mut found = Vec::new();
    references(&described, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("it is within the document");
        assert!(described.pointer(pointer).is_some(), "{reference}");
    }
}
