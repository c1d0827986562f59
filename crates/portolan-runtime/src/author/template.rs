//! The arguments of a node: a value in which `{expr: …}` is replaced by its result.

use portolan_core::expr::{Expr, Jsonata, ParseFault};
use serde_json::Value;
use std::sync::Arc;

/// The maximum nesting depth of arguments.
const MAX_DEPTH: usize = 128;

/// Returns the template for a value, and whether it has an expression to evaluate.
///
/// # Errors
/// An expression cannot be parsed, or has other members beside it.
pub fn template(value: &Value) -> Result<(Expr, bool), ParseFault> {
    read(value, 0)
}

fn read(value: &Value, depth: usize) -> Result<(Expr, bool), ParseFault> {
    if depth > MAX_DEPTH {
        return Err(fault(format!("the arguments are nested deeper than {MAX_DEPTH} levels"), "reduce the nesting"));
    }
    match value {
        Value::Object(members) if members.contains_key("expr") => match (&members["expr"], members.len()) {
            (Value::String(text), 1) => Ok((Expr::Jsonata(Jsonata::parse(text)?), true)),
            (Value::String(_), _) => Err(fault(
                "an object in the arguments has `expr` and other fields beside it",
                "an object with `expr` is replaced by its value: move the rest elsewhere",
            )),
            _ => Err(fault("`expr` in the arguments is not a text", "write it as JSONata, in quotes")),
        },
        Value::Object(members) => {
            let mut used = false;
            let mut read_members = Vec::new();
            for (name, member) in members {
                let (expr, uses) = read(member, depth + 1)?;
                used |= uses;
                read_members.push((name.clone(), expr));
            }
            Ok((Expr::Object(read_members), used))
        }
        Value::Array(items) => {
            let items: Vec<(Expr, bool)> = items.iter().map(|item| read(item, depth + 1)).collect::<Result<_, _>>()?;
            let used = items.iter().any(|(_, uses)| *uses);
            Ok((Expr::Array(items.into_iter().map(|(expr, _)| expr).collect()), used))
        }
        other => Ok((Expr::Literal(Arc::new(other.clone())), false)),
    }
}

fn fault(message: impl Into<String>, help: &str) -> ParseFault {
    ParseFault { message: message.into(), help: Some(help.to_owned()), offset: None, code: None }
}
