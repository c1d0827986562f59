//! `portolan serve --projects`: the projects of a folder, each with its own service.

use std::path::Path;
use std::sync::Arc;

use portolan_runtime::service::{Options, Service, ServiceError};

use super::{Serve, Toolset, chosen, fitting, http, leading};
use crate::cli::output::{one_line, plain};
use crate::cli::{Common, Exit};
use crate::mcp::{self, Metrics};

/// Serves the projects of a folder.
pub(super) fn run(args: &Serve, folder: &Path, common: &Common) -> anyhow::Result<Exit> {
    must_fit_many(args, common)?;
    let (toolsets, _no_files) = chosen(args)?;
    fitting(args, &toolsets)?;
    let address = args.over_http.address()?.expect("clap requires it");
    let path = folder.canonicalize().and_then(|path| path.read_dir().map(|_readable| path));
    let path = path.map_err(|error| {
        let message = format!("`--projects {}` cannot be read: {}", folder.display(), plain(&error));
        ServiceError::refused("usage", message, "name the folder that contains the folders of the projects")
    })?;
    let metrics = Metrics::new();
    let notes = args.log.notes(Some(metrics.events()));
    let served = mcp::ProjectFolder { path, toolsets: names(&toolsets), make: maker(args, toolsets, common, &notes) };
    http::serve(mcp::Content::Folder(served), address, &args.over_http, None, metrics, &common.output())?;
    notes.flush();
    Ok(Exit::Done)
}

/// Returns what opens a project.
fn maker(args: &Serve, toolsets: Vec<Toolset>, common: &Common, notes: &mcp::Notes) -> mcp::MakeProject {
    let options =
        args.options(Options { telemetry: common.telemetry.clone(), is_one_of_many: true, ..Options::of("") });
    let (notes, profile) = (notes.clone(), args.profile);
    Box::new(move |project| {
        let own = Options::of(project);
        let service = Service::new(Options { project: own.project, store: own.store, ..options.clone() })?;
        let service = Arc::new(service);
        let (notes, name) = (notes.clone(), project.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let tell: mcp::Tell = Arc::new(move |what| notes.note(one_line(&format!("note: `{name}`: {what}"))));
        let sets = leading(&service, &toolsets, profile, &tell);
        Ok((service, sets))
    })
}

/// Returns the names of toolsets in paths.
fn names(toolsets: &[Toolset]) -> Vec<&'static str> {
    let name = |set: &Toolset| match set {
        Toolset::Navigate => "navigate",
        Toolset::Tasks => "tasks",
        Toolset::Gates => "gates",
        Toolset::Graph => "graph",
        Toolset::Author => "author",
    };
    toolsets.iter().map(name).collect()
}

/// Refuses what makes sense for one project alone.
fn must_fit_many(args: &Serve, common: &Common) -> Result<(), ServiceError> {
    let has = |set| args.toolset.contains(&set);
    let of_one = [
        (!args.definitions.is_empty(), "files on the command line belong"),
        (args.mcp.is_some(), "`--mcp` belongs"),
        (args.model.is_some(), "`--model` belongs"),
        (args.conformance, "`--conformance` belongs"),
        (has(Toolset::Graph), "the toolset `graph` belongs"),
        (has(Toolset::Author), "the toolset `author` belongs"),
        (common.project.is_some(), "`--project` belongs"),
        (common.named_store().is_some(), "`--store` and `PORTOLAN_STORE` belong"),
    ];
    let Some((_, what)) = of_one.iter().find(|(is_given, _)| *is_given) else { return Ok(()) };
    let message = format!("{what} to one project, but `--projects` serves many, each with its own files and store");
    Err(ServiceError::refused("usage", message, "leave it out, or serve one project without `--projects`"))
}
