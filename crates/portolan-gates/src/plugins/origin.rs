//! Where a guard is declared, for messages and for the log.

use std::fmt;

use portolan_core::diagnostic::clip;
use portolan_core::value::{NodeId, WorkflowId};

/// Where a guard is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GuardOrigin {
    /// In the project's file. It always applies.
    #[default]
    Project,
    /// In a definition. It applies while a run of the workflow is open, or a node of it.
    Definition {
        /// The workflow.
        workflow: String,
        /// The node. `None` if it is that of the whole workflow.
        node: Option<String>,
    },
}

impl GuardOrigin {
    /// Returns the origin of a guard in a definition.
    pub(super) fn of_definition(workflow: &WorkflowId, node: Option<&NodeId>) -> GuardOrigin {
        GuardOrigin::Definition { workflow: workflow.to_string(), node: node.map(NodeId::to_string) }
    }

    /// Returns the node, if it is declared at one.
    pub fn node(&self) -> Option<&str> {
        match self {
            GuardOrigin::Definition { node, .. } => node.as_deref(),
            GuardOrigin::Project => None,
        }
    }

    /// Returns the name of the place, if it is a definition: `invoices`, or `invoices/pay` for a node.
    pub fn place(&self) -> Option<String> {
        match self {
            GuardOrigin::Project => None,
            GuardOrigin::Definition { workflow, node: None } => Some(workflow.clone()),
            GuardOrigin::Definition { workflow, node: Some(node) } => Some(format!("{workflow}/{node}")),
        }
    }
}

impl fmt::Display for GuardOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardOrigin::Project => f.write_str("`.portolan/plugins.yaml`"),
            GuardOrigin::Definition { workflow, node: None } => write!(f, "the workflow `{}`", clip(workflow)),
            GuardOrigin::Definition { workflow, node: Some(node) } => {
                write!(f, "`{}` of the workflow `{}`", clip(node), clip(workflow))
            }
        }
    }
}
