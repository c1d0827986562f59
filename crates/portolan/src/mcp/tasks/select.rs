//! SelectWorkflow: a dialog for the clients' question tool, whose panels have two to four options.

use portolan_runtime::library::{Origin, WorkflowLine};
use portolan_runtime::service::{Service, ServiceError};
use serde_json::{Map, Value, json};

use super::manage::listed;
use crate::mcp::arguments::Arguments;

/// The most options of a panel.
const MAX_OPTIONS: usize = 4;
const MIN_OPTIONS: usize = 2;
/// The most panels that clients show at once.
const MAX_PANELS: usize = 4;

/// The catalogue's workflows, the most popular first.
const PREFERRED: [&str; 12] = [
    "feature-development",
    "bug-fix",
    "quick-task",
    "agile-task",
    "bug-hunt",
    "refactor",
    "test-coverage",
    "context-optimization",
    "build-review-quick",
    "build-review-murder-board",
    "ui-reconstruction",
    "batch-process",
];

pub(super) fn select_workflow(service: &Service, arguments: Arguments) -> Result<Map<String, Value>, ServiceError> {
    arguments.finish()?;
    let mut workflows = service.library().list();
    workflows.sort_by_key(rank);
    let dialog: Vec<Value> = panels(&workflows)
        .iter()
        .enumerate()
        .map(|(nth, panel)| {
            json!({
                "question": if nth == 0 { "Which workflow should lead the work?" } else { "Or one of these?" },
                "header": if nth == 0 { "Primary".to_owned() } else { format!("Other {nth}") },
                "multiSelect": false,
                "options": panel.iter().map(|workflow| option(workflow)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let Value::Object(answer) =
        json!({ "workflows": workflows.iter().map(listed).collect::<Vec<_>>(), "dialog": dialog })
    else {
        return Ok(Map::new());
    };
    Ok(answer)
}

/// Returns the sort key: the project's own workflows first, then the popular ones, then the others by name.
fn rank(workflow: &WorkflowLine) -> (usize, usize, String) {
    let origin = match workflow.origin {
        Origin::Project => 0,
        Origin::External => 1,
        Origin::Catalog => 2,
    };
    let preferred = PREFERRED.iter().position(|id| *id == workflow.id).unwrap_or(PREFERRED.len());
    (origin, preferred, workflow.id.clone())
}

/// Returns up to four panels of two to four options. The list has the remaining workflows, too.
fn panels(workflows: &[WorkflowLine]) -> Vec<Vec<&WorkflowLine>> {
    let shown: Vec<&WorkflowLine> = workflows.iter().take(MAX_OPTIONS * MAX_PANELS).collect();
    let mut panels: Vec<Vec<&WorkflowLine>> = shown.chunks(MAX_OPTIONS).map(<[&WorkflowLine]>::to_vec).collect();
    if let [.., before, last] = panels.as_mut_slice()
        && last.len() < MIN_OPTIONS
        && let Some(moved) = before.pop()
    {
        last.insert(0, moved);
    }
    panels
}

fn option(workflow: &WorkflowLine) -> Value {
    json!({
        "label": workflow.name,
        "description": format!("{} ({} steps)", workflow.description, workflow.steps),
        "id": workflow.id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_has_two_to_four_options() {
        for count in 2..=30 {
            let workflows: Vec<WorkflowLine> = (0..count)
                .map(|nth| WorkflowLine {
                    id: format!("w{nth}"),
                    name: format!("W{nth}"),
                    description: String::new(),
                    steps: 3,
                    origin: Origin::Catalog,
                })
                .collect();
            let panels = panels(&workflows);
            assert!(panels.len() <= MAX_PANELS, "{count} workflows");
            assert!(panels.iter().all(|panel| (MIN_OPTIONS..=MAX_OPTIONS).contains(&panel.len())), "{count} workflows");
            assert_eq!(panels.concat().len(), count.min(16));
        }
    }
}
