//! The resources: workflows with their diagrams, and runs with their histories.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use portolan_core::diagnostic::clip;
use portolan_core::present::{history, mermaid};
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Caller, Request, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{CompleteRequestParams, Reference, Resource, ResourceContents, ResourceTemplate};

use rmcp::service::RequestContext;
use tokio::sync::watch;

use super::Project;
use crate::mcp::{app, leading};

const WORKFLOWS: &str = "portolan://workflows/";
const RUNS: &str = "portolan://runs/";
/// The end of the address of a workflow's diagram.
const DIAGRAM: &str = "/diagram";
/// The end of the address of a run's history.
const HISTORY: &str = "/history";
/// The most values of a completion, by the specification.
const MOST_VALUES: usize = 100;

/// The text of a resource, and its media type.
struct TypedText {
    kind: &'static str,
    text: String,
}

impl Project {
    /// Returns the resources that have an address of their own: the page of a run, for clients that show pages, and the
    /// workflows, if definitions can be read.
    pub(in crate::mcp) fn resources(&self) -> Vec<Resource> {
        let page = app::resource();
        if !self.shows_definitions {
            return vec![page];
        }
        let lines = self.service.library().overview().into_iter().filter(|line| line.fault.is_none());
        let both = lines.flat_map(|line| {
            let (uri, title) = (format!("{WORKFLOWS}{}", line.id), line.name);
            let definition = Resource::new(uri.clone(), line.id.clone()).with_title(title.clone());
            let definition = match line.description.is_empty() {
                true => definition,
                false => definition.with_description(line.description),
            };
            let diagram = Resource::new(format!("{uri}{DIAGRAM}"), format!("{}-diagram", line.id));
            let diagram = diagram.with_title(format!("{title}: diagram")).with_mime_type("text/vnd.mermaid");
            [definition, diagram]
        });
        std::iter::once(page).chain(both).collect()
    }

    /// Returns the forms of the addresses.
    pub(in crate::mcp) fn templates(&self) -> Vec<ResourceTemplate> {
        let run = [
            ResourceTemplate::new(format!("{RUNS}{{run}}"), "run")
                .with_description("The present situation of a run, as JSON")
                .with_mime_type("application/json"),
            ResourceTemplate::new(format!("{RUNS}{{run}}{HISTORY}"), "run-history")
                .with_description("The events of a run, one per line")
                .with_mime_type("text/plain"),
        ];
        let workflow = [
            ResourceTemplate::new(format!("{WORKFLOWS}{{id}}"), "workflow")
                .with_description("The definition of a workflow, as it is written"),
            ResourceTemplate::new(format!("{WORKFLOWS}{{id}}{DIAGRAM}"), "workflow-diagram")
                .with_description("A workflow as a Mermaid chart")
                .with_mime_type("text/vnd.mermaid"),
        ];
        run.into_iter().chain(workflow.into_iter().filter(|_| self.shows_definitions)).collect()
    }

    /// Reads a resource. Returns `None` if there is no resource of that address.
    pub(in crate::mcp) async fn read(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ResourceContents, ServiceError>> {
        if uri == app::URI {
            return app::is_shown_by(context).then(|| Ok(app::contents()));
        }
        if let Some(rest) = uri.strip_prefix(WORKFLOWS).filter(|_| self.shows_definitions) {
            return match rest.strip_suffix(DIAGRAM) {
                Some(id) => known(uri, self.diagram(&decoded(id)?)),
                None => known(uri, self.definition(&decoded(rest)?)),
            };
        }
        let rest = uri.strip_prefix(RUNS)?;
        match rest.strip_suffix(HISTORY) {
            Some(run) => known(uri, self.history(&decoded(run)?).await),
            None => known(uri, self.situation(&decoded(rest)?, &leading::caller(&self.service, context)).await),
        }
    }

    /// Returns a receiver that changes with a run in the store. `None` for other addresses.
    pub(in crate::mcp) fn updates(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        let run = uri.strip_prefix(RUNS)?;
        let run = decoded(run.strip_suffix(HISTORY).unwrap_or(run))?;
        self.address(&run).ok()?;
        self.followed.follow(&self.service, &run)
    }

    fn definition(&self, id: &str) -> Result<TypedText, ServiceError> {
        let (source, _) = self.service.library().text(id)?;
        let is_json = source.text.trim_start().starts_with('{');
        let kind = if is_json { "application/json" } else { "application/yaml" };
        Ok(TypedText { kind, text: source.text.to_string() })
    }

    fn diagram(&self, id: &str) -> Result<TypedText, ServiceError> {
        let (workflow, _) = self.service.library().drawable(id)?;
        Ok(TypedText { kind: "text/vnd.mermaid", text: mermaid(&workflow, None) })
    }

    async fn situation(&self, run: &str, caller: &Caller) -> Result<TypedText, ServiceError> {
        let view = self.service.view(&Request::of(self.address(run)?), caller).await?;
        let text = serde_json::to_string(&view.situation).expect("a situation is JSON");
        Ok(TypedText { kind: "application/json", text })
    }

    async fn history(&self, run: &str) -> Result<TypedText, ServiceError> {
        let events = self.service.history(&self.address(run)?).await?;
        let mut text = String::new();
        for record in &events.records {
            let line = events.hidden.text(&history(&record.event, &record.changes));
            let line: String = line.lines().next().unwrap_or_default().into();
            let _written = writeln!(text, "{:>4}  {}  {line}", record.seq, rfc3339(record.event.at));
        }
        Ok(TypedText { kind: "text/plain", text })
    }

    /// Returns the address of a run in the store or in one of the project's task files. Other files are not read.
    fn address(&self, run: &str) -> Result<Address, ServiceError> {
        match Address::parse(run) {
            Address::Task(_) => Err(ServiceError::refused(
                "unknown_run",
                format!("`{}` is not the handle of a run", clip(run)),
                "runs in task files are read with their tools",
            )),
            address => Ok(address),
        }
    }

    /// Returns the values that complete an argument of a prompt or a variable of an address.
    pub(in crate::mcp) async fn complete(&self, request: &CompleteRequestParams) -> Vec<String> {
        let Reference::Resource(template) = &request.r#ref else { return Vec::new() };
        let start = request.argument.value.as_str();
        let mut values = match request.argument.name.as_str() {
            "id" if template.uri.starts_with(WORKFLOWS) && self.shows_definitions => self.workflow_ids(start),
            "run" if template.uri.starts_with(RUNS) => {
                let runs = self.service.list(false, 10 * MOST_VALUES).await.unwrap_or_default();
                let handles = runs.into_iter().map(|line| line.run);
                handles
                    .filter(|run| run.starts_with(start) && !matches!(Address::parse(run), Address::Task(_)))
                    .collect()
            }
            _ => Vec::new(),
        };
        values.truncate(MOST_VALUES);
        values
    }
}

/// Returns `None` instead of the error of an unknown workflow or run: there is no such resource.
fn known(uri: &str, read: Result<TypedText, ServiceError>) -> Option<Result<ResourceContents, ServiceError>> {
    match read {
        Err(error) if matches!(error.code, "unknown_run" | "unknown_workflow" | "bad_id" | "no_workflow") => None,
        read => Some(read.map(|read| ResourceContents::text(read.text, uri).with_mime_type(read.kind))),
    }
}

/// Decodes `%XX` in a part of an address. Returns `None` if the result is not text.
fn decoded(part: &str) -> Option<String> {
    percent_decode_str(part).decode_utf8().ok().map(Cow::into_owned)
}
