//! The tools that manage definitions: list, draw, copy, load.

use std::path::Path;

use portolan_core::present::{diagram_markdown, mermaid};
use portolan_core::value::NodeId;
use portolan_runtime::catalog::{self, AgentCard};
use portolan_runtime::copy::{self, CopyResult};
use portolan_runtime::library::{Origin, WorkflowLine, catalogue, is_plain};
use portolan_runtime::service::{Service, ServiceError};
use serde_json::{Map, Value, json};

use crate::mcp::arguments::Arguments;

type Answer = Result<Map<String, Value>, ServiceError>;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

pub(super) fn listed(listed: &WorkflowLine) -> Value {
    json!({
        "id": listed.id,
        "name": listed.name,
        "description": listed.description,
        "stepCount": listed.steps,
        "source": listed.origin.word(),
    })
}

pub(super) fn list_workflows(service: &Service, mut arguments: Arguments) -> Answer {
    let source = arguments.string("source");
    arguments.finish()?;
    let all = service.library().list();
    let has_project = all.iter().any(|workflow| workflow.origin == Origin::Project);
    let filter = source.unwrap_or_else(|| if has_project { "project".to_owned() } else { "all".to_owned() });
    if !["all", "project", "catalog", "external"].contains(&filter.as_str()) {
        return Err(ServiceError::refused(
            "invalid_arguments",
            format!("`source` is `{}`, which is not one of its values", portolan_core::diagnostic::clip(&filter)),
            "use one of `all`, `project`, `catalog` and `external`",
        ));
    }
    let workflows: Vec<Value> =
        all.iter().filter(|workflow| filter == "all" || workflow.origin.word() == filter).map(listed).collect();
    Ok(object(json!({ "workflows": workflows, "filter": filter, "hasProjectWorkflows": has_project })))
}

pub(super) fn diagram(service: &Service, mut arguments: Arguments) -> Answer {
    let id = arguments.required("workflowType");
    let step = arguments.string("currentStep");
    let file = arguments.string("filePath");
    arguments.finish()?;
    let (workflow, origin) = service.library().drawable(&id)?;
    let current = step.as_deref().map(NodeId::from);
    if let Some(step) = current.as_ref().filter(|step| !workflow.root().steps.contains_key(*step)) {
        return Err(ServiceError::refused(
            "unknown_step",
            format!("`{}` is not a step of workflow `{id}`", portolan_core::diagnostic::clip(step.as_str())),
            "leave `currentStep` out, or call Current for the step that a run is at",
        ));
    }
    let markdown = diagram_markdown(&workflow, current.as_ref());
    let given = file.clone().unwrap_or_else(|| format!(".flow/diagrams/{}.md", id.replace(':', "-")));
    write_diagram(service.project(), &given, &markdown)?;
    Ok(object(json!({
        "savedTo": given,
        "source": origin.word(),
        "mermaid": mermaid(&workflow, current.as_ref()),
        "markdown": markdown,
    })))
}

/// Writes a diagram inside the project. It replaces nothing but another diagram.
fn write_diagram(project: &Path, given: &str, markdown: &str) -> Result<(), ServiceError> {
    let path = Path::new(given);
    let markdown_file = path.extension().is_some_and(|extension| extension == "md");
    let (Some(name), true) = (path.file_name(), markdown_file) else {
        return Err(ServiceError::refused(
            "bad_path",
            format!("`{given}` is not a Markdown file"),
            "give `filePath` the extension `.md`",
        ));
    };
    let folder = copy::inside(project, path.parent().unwrap_or(Path::new("")))?;
    let file = folder.join(name);
    match std::fs::symlink_metadata(&file) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(ServiceError::refused("bad_path", format!("`{given}` is a folder or a link"), "name a file"));
        }
        Ok(_) if !std::fs::read_to_string(&file).is_ok_and(|text| text.starts_with("## Workflow:")) => {
            return Err(ServiceError::refused(
                "not_a_diagram",
                format!("`{given}` exists and is not a diagram"),
                "choose another name",
            ));
        }
        _ => {}
    }
    copy::write(&file, markdown).map_err(|error| {
        ServiceError::failed(
            "unwritable",
            format!("`{given}` cannot be written: {error}"),
            "check the folder and its permissions",
        )
    })
}

pub(super) fn copy_workflows(service: &Service, mut arguments: Arguments) -> Answer {
    let ids = arguments.strings("workflowIds").unwrap_or_default();
    let force = arguments.flag("force");
    arguments.finish()?;
    Ok(copied(copy::workflows(service.project(), &ids, force)?))
}

pub(super) fn copy_agents(service: &Service, mut arguments: Arguments) -> Answer {
    let ids = arguments.strings("agentIds").unwrap_or_default();
    let target = arguments.string("targetDir");
    let force = arguments.flag("force");
    arguments.finish()?;
    Ok(copied(copy::agents(service.project(), target.as_deref(), &ids, force)?))
}

fn copied(report: CopyResult) -> Map<String, Value> {
    let mut answer = object(json!({ "copied": report.copied, "unchanged": report.unchanged, "path": report.path }));
    if !report.errors.is_empty() {
        answer.insert("errors".to_owned(), errors(&report.errors));
    }
    answer
}

fn errors(errors: &[(String, String)]) -> Value {
    errors.iter().map(|(id, error)| json!({ "id": id, "error": error })).collect()
}

pub(super) fn load_workflows(service: &Service, mut arguments: Arguments) -> Answer {
    let path = arguments.string("path");
    let root = arguments.string("sourceRoot");
    let ids = arguments.strings("workflowIds");
    arguments.finish()?;
    match path {
        Some(path) => load_external(service, &path, root.as_deref(), ids.as_deref()),
        None => load_project(service, ids.as_deref()),
    }
}

fn load_project(service: &Service, ids: Option<&[String]>) -> Answer {
    let available = service.library().project_ids();
    let Some(ids) = ids else {
        let hint = if available.is_empty() {
            "the project has no workflows of its own; those of the catalogue can be run as they are, or copied with CopyWorkflows"
        } else {
            "Init finds these without loading; name some in `workflowIds` to check them"
        };
        return Ok(object(json!({ "available": available, "hint": hint })));
    };
    let mut loaded = Vec::new();
    let mut failed = Vec::new();
    for id in if ids.is_empty() { &available } else { ids } {
        match service.library().definition(id) {
            Ok(_) => loaded.push(id.clone()),
            Err(error) => failed.push((portolan_core::diagnostic::clip(id), error.to_string())),
        }
    }
    Ok(loading(loaded, &failed))
}

fn load_external(service: &Service, path: &str, root: Option<&str>, ids: Option<&[String]>) -> Answer {
    let at = service.project().join(path);
    let (folder, name) = match root {
        Some(root) => (at.clone(), service.project().join(root)),
        None => (at.join(".flow").join("workflows"), at.clone()),
    };
    let namespace = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !is_plain(&namespace) || namespace.contains(':') {
        return Err(ServiceError::refused(
            "bad_path",
            format!("`{path}` has no name that can be a namespace for its workflows"),
            "name a folder whose name has no `:` and does not begin with a dot",
        ));
    }
    let report = service.library().load_external(&folder, &namespace, ids.filter(|ids| !ids.is_empty()))?;
    Ok(loading(report.ids, &report.errors))
}

fn loading(ids: Vec<String>, failed: &[(String, String)]) -> Map<String, Value> {
    let mut answer = object(json!({ "loaded": ids.len(), "ids": ids }));
    if !failed.is_empty() {
        answer.insert("errors".to_owned(), errors(failed));
    }
    answer
}

pub(super) fn list_catalog(arguments: Arguments) -> Answer {
    arguments.finish()?;
    let workflows: Vec<Value> = catalogue()
        .iter()
        .map(|workflow| json!({ "id": workflow.id, "name": workflow.name, "description": workflow.description, "stepCount": workflow.steps }))
        .collect();
    let agents: Vec<(&str, AgentCard)> =
        catalog::AGENTS.iter().map(|entry| (entry.id, AgentCard::read(entry))).collect();
    let agent_values: Vec<Value> = agents
        .iter()
        .map(|(id, card)| {
            let mut agent = json!({ "id": id, "name": card.name, "description": card.description });
            if let Some(model) = &card.model {
                agent["model"] = json!(model);
            }
            agent
        })
        .collect();
    let all = |count: usize, what: &str| json!({ "label": format!("All {what} (Recommended)"), "description": format!("Copy all {count}") });
    let mut workflow_options = vec![all(workflows.len(), "workflows")];
    workflow_options.extend(workflows.iter().map(|workflow| {
        json!({ "label": workflow["name"], "description": format!("{} ({} steps)", workflow["description"].as_str().unwrap_or_default(), workflow["stepCount"]), "id": workflow["id"] })
    }));
    let mut agent_options = vec![all(agents.len(), "agents")];
    agent_options.extend(
        agents.iter().map(|(id, card)| json!({ "label": card.name, "description": card.description, "id": id })),
    );
    Ok(object(json!({
        "workflows": workflows,
        "workflowSelectionOptions": workflow_options,
        "agents": agent_values,
        "agentSelectionOptions": agent_options,
    })))
}
