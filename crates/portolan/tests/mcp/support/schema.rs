//! JSON Schema, as much of it as our schemas use. A word that it does not know is a fault: nothing goes unchecked.
//!
//! A validator from a registry would bring sixty crates to do this.

use serde_json::Value;

/// # Errors
/// Where the value differs from the schema.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Schema { root: schema }.check(schema, value, "the answer")
}

struct Schema<'a> {
    root: &'a Value,
}

impl Schema<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let words = schema.as_object().ok_or("a schema is an object")?;
        for (word, wanted) in words {
            let holds = match word.as_str() {
                "type" => is_of(wanted, value),
                "enum" => wanted.as_array().is_some_and(|values| values.contains(value)),
                "minimum" => value.as_f64() >= wanted.as_f64(),
                "required" => strings(wanted).all(|name| value.get(name).is_some()),
                "properties" => return self.members(schema, value, at),
                "additionalProperties" => continue,
                "items" => return self.items(wanted, value, at),
                "anyOf" => {
                    let faults: Vec<String> = list(wanted).filter_map(|one| self.check(one, value, at).err()).collect();
                    if faults.len() < list(wanted).count() {
                        continue;
                    }
                    return Err(faults.join("; "));
                }
                "not" => self.check(wanted, value, at).is_err(),
                "$ref" => {
                    let target = wanted.as_str().and_then(|path| self.root.pointer(path.trim_start_matches('#')));
                    return self.check(target.ok_or("a reference leads nowhere")?, value, at);
                }
                "description" | "$defs" => continue,
                other => return Err(format!("the schema has an unknown word `{other}`")),
            };
            if !holds {
                return Err(format!("{at} does not hold `{word}`: {wanted}"));
            }
        }
        Ok(())
    }

    fn members(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let mut rest = schema.clone();
        let properties = rest.as_object_mut().and_then(|words| words.remove("properties")).unwrap_or_default();
        for (name, member) in value.as_object().into_iter().flatten() {
            if let Some(wanted) = properties.get(name) {
                self.check(wanted, member, &format!("{at}.{name}"))?;
            } else if schema["additionalProperties"] == false {
                return Err(format!("{at} has `{name}`, which is not allowed"));
            }
        }
        self.check(&rest, value, at)
    }

    fn items(&self, wanted: &Value, value: &Value, at: &str) -> Result<(), String> {
        let items = value.as_array().ok_or(format!("{at} is no array"))?;
        items.iter().enumerate().try_for_each(|(nth, item)| self.check(wanted, item, &format!("{at}[{nth}]")))
    }
}

fn is_of(wanted: &Value, value: &Value) -> bool {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    wanted == kind || strings(wanted).any(|one| one == kind)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

#[test]
fn a_fault_is_found_wherever_it_is() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "$defs": { "word": { "type": "string" } },
        "properties": { "a": { "type": "array", "items": { "$ref": "#/$defs/word" } } },
    });
    assert_eq!(check(&schema, &serde_json::json!({ "a": ["x"] })), Ok(()));
    assert!(check(&schema, &serde_json::json!({ "a": [1] })).is_err());
    assert!(check(&schema, &serde_json::json!({})).is_err());
    assert!(check(&serde_json::json!({ "tpye": "object" }), &serde_json::json!({})).is_err());
}
