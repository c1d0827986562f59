//! Evaluates expressions within the limits of a run.

use portolan_core::expr::{EvalFault, Expr, JsonLogic, Jsonata, ParseFault, Scope};
use portolan_runtime::clock::Clock;
use portolan_runtime::definition::DefinitionError;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::answers;
use crate::mcp::arguments::Arguments;

pub(super) fn jsonata(mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let expression = arguments.text("expression");
    let context = arguments.any("context").unwrap_or_else(|| Value::Object(Map::new()));
    if expression.is_none() {
        arguments.required("expression");
    }
    arguments.finish()?;
    let expr = match Jsonata::parse(&expression.unwrap_or_default()) {
        Ok(expr) => Expr::Jsonata(expr),
        Err(fault) => return Ok(answers::done(unread(&fault))),
    };
    Ok(answers::done(match expr.eval(&scope(&context)) {
        Ok(Some(value)) => json!({ "result": value }),
        Ok(None) => json!({ "undefined": true }),
        Err(fault) => failed(&fault),
    }))
}

pub(super) fn json_logic(mut arguments: Arguments) -> Result<CallToolResult, DefinitionError> {
    let rule = arguments.required_any("expression");
    let context = arguments.any("context").unwrap_or_else(|| Value::Object(Map::new()));
    arguments.finish()?;
    let expr = match JsonLogic::parse(&rule) {
        Ok(rule) => Expr::Logic(rule),
        Err(fault) => return Ok(answers::done(unread(&fault))),
    };
    Ok(answers::done(match expr.holds(&scope(&context)) {
        Ok(holds) => json!({ "result": holds }),
        Err(fault) => failed(&fault),
    }))
}

pub(super) fn scope(context: &Value) -> Scope<'_> {
    let at = Clock::default().now();
    Scope { at, seed: at.0.cast_unsigned(), ..Scope::of(context) }
}

fn unread(fault: &ParseFault) -> Value {
    json!({ "result": null, "error": unread_error(fault) })
}

pub(super) fn unread_error(fault: &ParseFault) -> Value {
    let mut details = json!({ "code": "bad-expression" });
    if let Some(offset) = fault.offset {
        details["offset"] = json!(offset);
    }
    if let Some(help) = &fault.help {
        details["help"] = json!(help);
    }
    if let Some(code) = &fault.code {
        details["jsonata"] = json!(code);
    }
    json!({ "message": fault.message, "details": details })
}

fn failed(fault: &EvalFault) -> Value {
    json!({ "result": null, "error": failed_error(fault) })
}

pub(super) fn failed_error(fault: &EvalFault) -> Value {
    json!({ "message": fault.message, "details": { "code": fault.code, "expression": fault.expression } })
}
