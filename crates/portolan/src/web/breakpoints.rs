//! Breakpoints as the page sends them: nodes of the drawing, with optional conditions.

use portolan_core::expr::{Language, ParseFault};
use portolan_core::value::NodeId;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::Breakpoint;
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};

/// A node before which a run waits, as the drawing names it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum BreakpointRef {
    Always(String),
    If(Conditional),
}

/// A breakpoint with a condition over the data that the node would see.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conditional {
    node: String,
    when: Option<String>,
}

/// A breakpoint as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BreakpointView {
    node: String,
    when: Option<String>,
}

/// Converts breakpoints. Each node must exist in the definition, and each condition must parse.
pub(super) fn breakpoints(
    definition: &Definition,
    references: &[BreakpointRef],
) -> Result<Vec<Breakpoint>, ServiceError> {
    let breakpoint = |reference: &BreakpointRef| match reference {
        BreakpointRef::Always(node) => before(definition, node).map(|(breakpoint, _)| breakpoint),
        BreakpointRef::If(Conditional { node, when }) => {
            let (breakpoint, language) = before(definition, node)?;
            let when = when.as_deref().map(str::trim).filter(|when| !when.is_empty());
            let Some(when) = when else { return Ok(breakpoint) };
            breakpoint.when(language, when).map_err(|fault| no_condition(node, when, &fault))
        }
    };
    references.iter().map(breakpoint).collect()
}

/// Returns a breakpoint before a node of the drawing, and the language of its conditions.
fn before(definition: &Definition, name: &str) -> Result<(Breakpoint, Language), ServiceError> {
    // The drawing names a node of a nested workflow by its path.
    let bare = NodeId::from(name.rsplit('/').next().unwrap_or(name));
    let (root, workflow) = (definition.workflow.id(), &definition.workflow);
    let mut flows = workflow.flows().filter(|(_, flow)| flow.steps.contains_key(&bare)).map(|(id, _)| id);
    let Some(flow) = flows.next() else {
        let message = format!("there is no node `{name}` to wait before");
        return Err(ServiceError::refused("unknown_step", message, "choose a node of the drawing"));
    };
    let in_root = workflow.root().steps.contains_key(&bare);
    let flow = if in_root && !name.contains('/') { root } else { flow };
    let breakpoint = if in_root || name.contains('/') { Breakpoint::drawn(name) } else { bare.into() };
    Ok((breakpoint, definition.language(flow)))
}

fn no_condition(node: &str, when: &str, fault: &ParseFault) -> ServiceError {
    let at = fault.offset.and_then(|offset| when.get(..offset)).map(|before| before.chars().count() + 1);
    let at = at.map_or_else(String::new, |at| format!(", at character {at}"));
    let message = format!("the condition of the breakpoint at `{node}` cannot be read{at}: {}", fault.message);
    let help = fault.help.clone().unwrap_or_else(|| "write it in the condition syntax of the definition".to_owned());
    ServiceError::refused("bad_expression", message, help)
}

/// Converts a breakpoint for the page.
pub(super) fn broken(breakpoint: &Breakpoint) -> BreakpointView {
    BreakpointView { node: breakpoint.node().to_owned(), when: breakpoint.condition().map(str::to_owned) }
}
