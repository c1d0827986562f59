//! `portolan check`: everything that is wrong with definitions, each fault in its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use clap::Args;
use portolan_core::diagnostic::{Diagnostic, Severity};
use portolan_core::source::Source;
use portolan_runtime::library::{Found, Library, Reviewed, workflow_files};
use portolan_runtime::service::ServiceError;
use serde_json::{Value, json};

use super::output::{Output, Paint};
use super::{Common, Exit, Leniency};

/// Check definitions: all faults at once, each in its place, with what to do.
///
/// Example: portolan check .flow/workflows
#[derive(Args)]
#[command(after_help = "What this accepts, `portolan serve` runs. Exit code 3 when there are errors.")]
pub(super) struct Check {
    /// Workflow files, or folders of them.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    leniency: Leniency,
}

pub(super) fn run(args: &Check, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let (files, doubles) = gather(&args.paths)?;
    let options = common.options()?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let library = Library::new(&options.project, &paths, args.leniency.strictness())?;
    let mut reviews: Vec<Reviewed> = files.iter().map(|file| library.review(&file.id)).collect::<Result<_, _>>()?;
    for (source, fault) in doubles {
        reviews.push(Reviewed { source, faults: vec![fault] });
    }
    print(&output, &reviews)?;
    let failed = reviews.iter().any(|review| review.faults.iter().any(Diagnostic::is_error));
    Ok(if failed { Exit::InvalidDefinition } else { Exit::Done })
}

/// A file whose id another one has, and the fault that says so.
type Double = (Source, Diagnostic);

/// The files to check; of several that give the same id, the first, and a fault for each other one.
fn gather(paths: &[PathBuf]) -> Result<(Vec<Found>, Vec<Double>), ServiceError> {
    let mut by_id: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut files: Vec<Found> = Vec::new();
    let mut doubles = Vec::new();
    for path in paths {
        for file in files_at(path)? {
            match by_id.get(&file.id) {
                Some(other) if *other == file.path => {}
                Some(other) => {
                    let message = format!("`{}` is also the id of `{}`", file.id, other.display());
                    let fault = Diagnostic::error("duplicate-id", message).help("rename one of the files");
                    doubles.push((Source::new(file.path.to_string_lossy().into_owned(), ""), fault));
                }
                None => {
                    by_id.insert(file.id.clone(), file.path.clone());
                    files.push(file);
                }
            }
        }
    }
    Ok((files, doubles))
}

/// The workflows of a path; of a project's folder, those of its `.flow/workflows`.
pub(super) fn files_at(path: &Path) -> Result<Vec<Found>, ServiceError> {
    let files = workflow_files(path)?;
    let inner = path.join(".flow").join("workflows");
    let files = if files.is_empty() && inner.is_dir() { workflow_files(&inner)? } else { files };
    if files.is_empty() {
        return Err(ServiceError::refused(
            "no_workflows",
            format!("`{}` holds no workflow", path.display()),
            "a workflow is a file `<id>.json`, or `workflow.json` in a folder `<id>`",
        ));
    }
    Ok(files)
}

fn print(output: &Output, reviews: &[Reviewed]) -> anyhow::Result<()> {
    let count = |severity: Severity| {
        reviews.iter().flat_map(|review| &review.faults).filter(|fault| fault.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if output.is_json() {
        let files: Vec<Value> = reviews.iter().map(as_json).collect();
        return output.json(&json!({ "files": files, "errors": errors, "warnings": warnings }));
    }
    for review in reviews {
        for fault in &review.faults {
            output.line(drawn(&review.source, fault, output.has_colour()))?;
            output.line("")?;
        }
    }
    let summary = format!(
        "{} checked: {}, {}",
        counted(reviews.len(), "workflow"),
        counted(errors, "error"),
        counted(warnings, "warning")
    );
    output.line(output.paint(if errors > 0 { Paint::Bad } else { Paint::Good }, &summary))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn as_json(review: &Reviewed) -> Value {
    let faults: Vec<Value> = review
        .faults
        .iter()
        .map(|fault| {
            let at = fault.span.map(|span| (review.source.location(span.start), review.source.location(span.end)));
            json!({
                "code": fault.code,
                "severity": fault.severity,
                "message": fault.message,
                "help": fault.help,
                "line": at.map(|(start, _)| start.line),
                "column": at.map(|(start, _)| start.column),
                "endLine": at.map(|(_, end)| end.line),
                "endColumn": at.map(|(_, end)| end.column),
            })
        })
        .collect();
    let ok = !review.faults.iter().any(Diagnostic::is_error);
    json!({ "file": &*review.source.name, "ok": ok, "diagnostics": faults })
}

/// A fault with the lines that it is about.
pub(super) fn drawn(source: &Source, fault: &Diagnostic, colour: bool) -> String {
    let level = match fault.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(fault.message.as_str()).id(fault.code);
    let mut report: Vec<Group<'_>> = match fault.span {
        Some(span) => {
            let snippet = Snippet::source(&*source.text)
                .path(&*source.name)
                .fold(true)
                .annotation(AnnotationKind::Primary.span(span.start..first_line(source, span.start, span.end)));
            vec![title.element(snippet)]
        }
        None => vec![title.element(annotate_snippets::Origin::path(&*source.name))],
    };
    if let Some(help) = &fault.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&report).to_string()
}

/// The end of a span, or of its first line: a whole node underlined says less than its beginning.
fn first_line(source: &Source, start: usize, end: usize) -> usize {
    source.text[start..end].find('\n').map_or(end, |at| start + at)
}
