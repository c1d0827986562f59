//! The Rust functions that the workflow needs.

use portolan_core::engine::FunctionUse;
use portolan_runtime::schemars::{self, JsonSchema};
use portolan_runtime::states::{FunctionError, FunctionOutput, Functions};
use serde::Deserialize;
use serde_json::Value;

/// The arguments of a tool: give each tool its own type, so models are shown its fields.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {}

/// The functions, by the names that the workflow uses for them.
pub(crate) fn functions() -> Result<Functions, FunctionError> {
    let functions = Functions::default();
    let functions = functions.working("shout", do_shout);
    let functions = functions.typed("look-up", "look-up", do_look_up)?;
    let functions = functions.typed("look_up", "look_up", do_look_up_2)?;
    Ok(functions)
}

async fn do_shout(work: FunctionUse) -> Result<FunctionOutput, FunctionError> {
    let _ = work.input;
    Err(FunctionError::new("the function `shout` is not written yet; write it in src/functions.rs"))
}

async fn do_look_up(arguments: Arguments) -> Result<Value, FunctionError> {
    let _ = arguments;
    Err(FunctionError::new("the tool `look-up` is not written yet; write it in src/functions.rs"))
}

async fn do_look_up_2(arguments: Arguments) -> Result<Value, FunctionError> {
    let _ = arguments;
    Err(FunctionError::new("the tool `look_up` is not written yet; write it in src/functions.rs"))
}
