//! JSON without duplicate keys. Parsers take the first or the last of two, and it is unknown which one the host takes:
//! a gate that judges one of them might let the other pass.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value that was read with this check.
pub(super) struct Unique(Value);

impl From<Unique> for Value {
    fn from(unique: Unique) -> Value {
        unique.0
    }
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unique, D::Error> {
        from.deserialize_any(Reader).map(Unique)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if all.contains_key(&key) {
                let shown = portolan_core::diagnostic::clip(&key);
                return Err(A::Error::custom(format_args!("the key `{shown}` appears twice")));
            }
            let Unique(value) = fields.next_value()?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_once_is_read_as_ever() {
        for text in ["null", "[1,-2,2.5,\"a\",true,{}]", r#"{"a":{"b":[{"c":null}]},"c":18446744073709551615}"#] {
            let read: Value = serde_json::from_str::<Unique>(text).map(Unique::into).expect("JSON");
            assert_eq!(read, serde_json::from_str::<Value>(text).expect("JSON"), "{text}");
        }
        assert!(serde_json::from_str::<Unique>(&"[".repeat(200)).is_err(), "it is bounded in depth");
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"x":[{"a":1,"b":2,"a":3}]}"#, r#"{"a":1,"\u0061":2}"#] {
            let why = serde_json::from_str::<Unique>(text).err().expect("it is refused").to_string();
            assert!(why.starts_with("the key `a` appears twice"), "{why}");
        }
    }
}
