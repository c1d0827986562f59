//! `portolan check`: reports all faults of definitions, each with its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use clap::Args;
use portolan_core::chat::script::answers;
use portolan_core::diagnostic::{Diagnostic, Severity};
use portolan_core::dialect::{RunAs, verify};
use portolan_core::source::{Location, Source, TreeKind, parse};
use portolan_gates::merge::Policy;
use portolan_gates::plugins::Plugins;
use portolan_gates::{guidelines, merge, project};
use portolan_runtime::definition::{DefinitionError, Findings, placed};
use portolan_runtime::library::{DefinitionReview, Library, WorkflowFile, read_definition, run_as, workflow_files};
use portolan_runtime::proof::{DEFAULT_SECONDS, Effort};
use portolan_runtime::rules;
use portolan_runtime::service::{ErrorKind, ServiceError};
use portolan_runtime::{attachments, plugins, project_checks};
use serde_json::{Value, json};

use super::output::{Output, Paint, one_line};
use super::proofs::Proofs;
use super::{Common, Denial, Exit, Leniency, exit_of};

/// Check definitions, and report all faults at once, with help.
///
/// Example: portolan check .flow/workflows
#[derive(Args)]
#[command(after_help = "`portolan serve` runs whatever this accepts. Exit code 3 when there are errors.")]
pub(super) struct Check {
    /// Files to check, or folders of them.
    /// Files of workflows or of graphs, or the settings of a project in `.portolan`: `guidelines.yaml`,
    /// `merge-policy.yaml`, `plugins.yaml`, `checks.yaml`, `verify.yaml`. A folder without any of its own is searched.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Your own file of MCP servers, for servers that a graph does not define.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Show a run that leads to each finding with this code, step by step.
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
    /// Write each run that refutes a property to a file in this folder.
    #[arg(long, value_name = "DIR")]
    counterexamples: Option<PathBuf>,
    /// The most states to explore for each workflow.
    /// If a workflow has more, it is unknown whether it can always finish.
    #[arg(long, value_name = "NUMBER", default_value_t = Effort::default().states)]
    states: usize,
    /// The time limit of this analysis, for each workflow.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_SECONDS)]
    seconds: u64,
    #[command(flatten)]
    leniency: Leniency,
    #[command(flatten)]
    denial: Denial,
}

pub(super) fn run(args: &Check, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let CommandLineFiles { settings, graphs, files, mut unread, doubles } = gather(&args.paths);
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let library = Library::new(&project, &paths, args.leniency.strictness())?;
    let mut reviews: Vec<DefinitionReview> = Vec::new();
    let mut proofs = Proofs::of(args);
    for file in &files {
        match library.review(&file.id) {
            Ok(review) => {
                let sound = !review.faults.iter().any(Diagnostic::is_error);
                let workflow = sound.then(|| library.definition(&file.id).ok()).flatten();
                let workflows = workflow.iter().map(|definition| &*definition.workflow);
                reviews.push(proofs.added(review, workflows));
            }
            Err(error) => unread.push((file.path.clone(), error)),
        }
    }
    reviews.extend(doubles);
    let attached = project.join(attachments::FILE).canonicalize().ok();
    let (own, settings): (Vec<_>, Vec<_>) =
        settings.into_iter().partition(|(path, _)| attached.is_some() && path.canonicalize().ok() == attached);
    // Attachments to workflows are checked even if they keep some of these workflows from running.
    match library.review_attachments(&graphs) {
        Ok(Some(review)) if !own.is_empty() || args.is_all() || review.faults.iter().any(Diagnostic::is_error) => {
            reviews.push(review);
        }
        Ok(_) => {}
        Err(error) => unread.push((PathBuf::from(attachments::FILE), error)),
    }
    for (path, faults) in settings {
        match read_definition(&path) {
            Ok(source) => reviews.push(DefinitionReview { faults: faults(&source), source }),
            Err(error) => unread.push((path, error)),
        }
    }
    for path in graphs {
        match library.review_functions(&path, args.mcp.as_deref()) {
            Ok(findings) => {
                let mut found = reviewed(&path, findings);
                let sound = !found.iter().flat_map(|review| &review.faults).any(Diagnostic::is_error);
                let workflows = if sound { library.drawable_functions(&path).unwrap_or_default() } else { Vec::new() };
                if let Some(review) = found.first().cloned() {
                    found[0] = proofs.added(review, workflows.iter());
                }
                reviews.extend(found);
            }
            Err(error) => unread.push((path, error)),
        }
    }
    for review in &mut reviews {
        review.faults = std::mem::take(&mut review.faults).into_iter().map(|fault| args.denial.weigh(fault)).collect();
    }
    print(&output, &reviews, &proofs, &unread)?;
    proofs.write()?;
    let faulty = reviews.iter().any(|review| review.faults.iter().any(Diagnostic::is_error));
    let failed = unread.first().map_or(Exit::Done, |(_, error)| exit_of(error.kind));
    Ok(if faulty { Exit::InvalidDefinition } else { failed })
}

impl Check {
    /// Returns whether the arguments name a folder, and not only single files.
    fn is_all(&self) -> bool {
        self.paths.iter().any(|path| path.is_dir())
    }

    /// Returns the limits of the analysis.
    pub(super) fn effort(&self) -> Effort {
        Effort { states: self.states, time: Duration::from_secs(self.seconds) }
    }

    /// Returns the code whose runs are shown, and the folder that runs are written to.
    pub(super) fn wanted(&self) -> (Option<&str>, Option<&Path>) {
        (self.explain.as_deref(), self.counterexamples.as_deref())
    }
}

/// Finds the faults of a file.
type Review = fn(&Source) -> Vec<Diagnostic>;

/// The settings files of a project's gates, with their reviews.
const SETTINGS: [(&str, Review); 5] = [
    (rules::FILE, |source| guidelines::read(source).1),
    (merge::POLICY, |source| Policy::read(source).1),
    (plugins::FILE, |source| Plugins::read(source).1),
    (project_checks::FILE, |source| project::read(source).1),
    (attachments::FILE, |source| verify::read(source).1),
];

/// Returns whether a path is that of a project's rules.
pub(super) fn is_rules(path: &Path) -> bool {
    path.ends_with(rules::FILE) && !path.is_dir()
}

/// Returns the review of a settings file, by its path.
fn of_settings(path: &Path) -> Option<Review> {
    let (_, faults) = SETTINGS.iter().find(|(file, _)| path.ends_with(file))?;
    (!path.is_dir()).then_some(*faults)
}

/// Returns whether a file holds functions. An unreadable file does not count: it reports its error elsewhere.
pub(super) fn is_graph(path: &Path) -> bool {
    path.is_file() && run_as(path).is_ok_and(|run_as| run_as == Some(RunAs::Calls))
}

/// Returns whether a file holds MCP servers, and no definition.
pub(super) fn is_servers(path: &Path) -> bool {
    let is_definition = !path.is_file() || run_as(path).is_ok_and(|run_as| run_as.is_some());
    let tree = (!is_definition).then(|| read_definition(path).ok()).flatten().and_then(|source| parse(&source).0);
    let Some(TreeKind::Object(entries)) = tree.map(|tree| tree.kind) else { return false };
    entries.iter().any(|entry| matches!(entry.key.value.as_str(), "mcpServers" | "servers"))
}

/// Returns whether a file holds scripted answers of a model: they are a list, and no definition is one.
fn is_answers(path: &Path) -> bool {
    let tree = read_definition(path).ok().and_then(|source| parse(&source).0);
    tree.is_some_and(|tree| matches!(tree.kind, TreeKind::Array(_)))
}

/// Groups the findings of a file of functions by the files that they are in. Includes the file itself even without any.
fn reviewed(path: &Path, findings: Findings) -> Vec<DefinitionReview> {
    // The analysis may find something where nothing else does, and shows it in the text.
    let source = read_definition(path).unwrap_or_else(|_| Source::new(path.to_string_lossy().into_owned(), ""));
    let mut reviews = vec![DefinitionReview { source, faults: Vec::new() }];
    for (source, fault) in findings {
        match reviews.iter_mut().find(|review| review.source.name == source.name) {
            Some(review) => {
                review.source = source;
                review.faults.push(fault);
            }
            None => reviews.push(DefinitionReview { source, faults: vec![fault] }),
        }
    }
    reviews
}

/// Refuses files for their faults, as [`refuse`] does for a definition.
pub(super) fn draw_findings(output: &Output, name: &str, findings: &Findings) -> anyhow::Result<Exit> {
    let errors: Vec<_> = findings.iter().filter(|(_, fault)| fault.is_error()).collect();
    let message = format!("`{name}` has {}", counted(errors.len(), "error"));
    if output.is_json() {
        let texts: Vec<String> = errors.iter().take(MAX_DRAWN).map(|(source, fault)| placed(source, fault)).collect();
        output.error("invalid_definition", &format!("{message}: {}", texts.join("; ")), "fix them; nothing was done");
        return Ok(Exit::InvalidDefinition);
    }
    for (source, fault) in errors.iter().take(MAX_DRAWN) {
        output.remark(drawn(source, fault, output.has_error_colour()));
        output.remark("");
    }
    output.error("invalid_definition", &message, "fix them; nothing was done");
    Ok(Exit::InvalidDefinition)
}

/// Refuses files that cannot be used, with their faults if they have any.
pub(super) fn refuse_files(output: &Output, name: &str, refused: DefinitionError) -> anyhow::Result<Exit> {
    match refused.findings.is_empty() {
        true => Err((*refused.error).into()),
        false => draw_findings(output, name, &refused.findings),
    }
}

/// The files that the command line names.
#[derive(Default)]
struct CommandLineFiles {
    /// Settings files of a project's gates.
    settings: Vec<(PathBuf, Review)>,
    /// Files of functions, by path: a tool's name does not depend on the file's.
    graphs: Vec<PathBuf>,
    /// Files of one workflow each, whose id is the file's name.
    files: Vec<WorkflowFile>,
    /// Paths that could not be read, with the errors. The others are checked nevertheless.
    unread: Vec<(PathBuf, ServiceError)>,
    /// Files with the id of another file, with a fault that says so.
    doubles: Vec<DefinitionReview>,
}

/// Collects the files to check. If several have the same id, all but the first get a fault.
fn gather(paths: &[PathBuf]) -> CommandLineFiles {
    let mut by_id: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut gathered = CommandLineFiles::default();
    for path in paths {
        if let Some(faults) = of_settings(path) {
            if gathered.settings.iter().all(|(known, _)| known != path) {
                gathered.settings.push((path.clone(), faults));
            }
            continue;
        }
        for file in gathered.found(path) {
            if is_answers(&file.path) {
                gathered.settings.push((file.path, |source| answers(source).1));
                continue;
            }
            if is_graph(&file.path) {
                gathered.graphs.extend(Some(file.path).filter(|path| !gathered.graphs.contains(path)));
                continue;
            }
            match by_id.get(&file.id) {
                Some(other) if *other == file.path => {}
                Some(other) => gathered.doubles.push(double(&file, other)),
                None => {
                    by_id.insert(file.id.clone(), file.path.clone());
                    gathered.files.push(file);
                }
            }
        }
    }
    gathered
}

impl CommandLineFiles {
    /// Returns the workflows of a path. A folder without any is searched.
    fn found(&mut self, path: &Path) -> Vec<WorkflowFile> {
        let error = match files_at(path) {
            Ok(files) => return files,
            Err(error) => error,
        };
        let inside =
            if error.code == NO_WORKFLOWS && path.is_dir() { self.inside(path, MAX_DEPTH) } else { Vec::new() };
        if inside.is_empty() {
            self.unread.push((path.to_owned(), error));
        }
        inside
    }

    fn inside(&mut self, folder: &Path, depth: usize) -> Vec<WorkflowFile> {
        let mut found = Vec::new();
        for folder in folders(folder) {
            match files_at(&folder) {
                Ok(files) => found.extend(files),
                Err(error) if error.code != NO_WORKFLOWS => self.unread.push((folder, error)),
                Err(_) if depth > 1 => found.extend(self.inside(&folder, depth - 1)),
                Err(_) => {}
            }
        }
        found
    }
}

/// How deep folders are searched.
const MAX_DEPTH: usize = 4;
/// The most entries that are read of a folder.
const MAX_ENTRIES: usize = 10_000;
/// Folders with generated or third-party files.
const PASSED_OVER: [&str; 3] = ["node_modules", "target", "dist"];

/// Returns the folders in a folder, sorted, without hidden ones, links, and `PASSED_OVER`.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let is_looked_at = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && !name.starts_with('.') && !PASSED_OVER.contains(&&*name)
    };
    let mut folders: Vec<PathBuf> = entries.filter(is_looked_at).map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn double(file: &WorkflowFile, other: &Path) -> DefinitionReview {
    let message = format!("`{}` is also the id of `{}`", file.id, other.display());
    let fault = Diagnostic::error("duplicate-id", message).help("rename one of the files");
    DefinitionReview { source: Source::new(file.path.to_string_lossy().into_owned(), ""), faults: vec![fault] }
}

const NO_WORKFLOWS: &str = "no_workflows";

/// Returns the workflows of a path. For a project or its `.flow` these are the ones in `.flow/workflows`.
pub(super) fn files_at(path: &Path) -> Result<Vec<WorkflowFile>, ServiceError> {
    let inner = [path.join(".flow").join("workflows"), path.join("workflows")];
    let inner = inner.iter().find(|folder| folder.is_dir());
    let files = match inner {
        Some(inner) => workflow_files(inner)?,
        None => workflow_files(path)?,
    };
    if files.is_empty() {
        return Err(ServiceError::refused(
            NO_WORKFLOWS,
            format!("`{}` holds no workflow", inner.map_or(path, PathBuf::as_path).display()),
            "a workflow is a file `<id>.json` or `<id>.yaml`, or `workflow.json` in a folder `<id>`; a project has them in `.flow/workflows`",
        ));
    }
    Ok(files)
}

/// The most faults of one file that are drawn, since each takes several lines. JSON output has all of them.
const MAX_DRAWN: usize = 100;

fn print(
    output: &Output,
    reviews: &[DefinitionReview],
    proofs: &Proofs,
    unread: &[(PathBuf, ServiceError)],
) -> anyhow::Result<()> {
    let count = |severity: Severity| {
        reviews.iter().flat_map(|review| &review.faults).filter(|fault| fault.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if output.is_json() {
        let files: Vec<Value> = reviews.iter().flat_map(as_json).chain(unread.iter().map(unread_json)).collect();
        let errors = errors + unread.len();
        return output.json(&json!({ "files": files, "errors": errors, "warnings": warnings }));
    }
    for review in reviews {
        draw(output, review)?;
    }
    proofs.print(output)?;
    for (_, error) in unread {
        output.error(error.code, &error.message, &error.help);
    }
    let mut summary = format!(
        "{} checked: {}, {}",
        counted(reviews.iter().map(|review| review.source.names().count()).sum(), "file"),
        counted(errors, "error"),
        counted(warnings, "warning")
    );
    if !unread.is_empty() {
        summary = format!("{summary}; {} not read", counted(unread.len(), "path"));
    }
    output.line(output.paint(if errors + unread.len() > 0 { Paint::Bad } else { Paint::Good }, &summary))
}

/// Draws the faults of one file. If not all are drawn, errors come first.
fn draw(output: &Output, review: &DefinitionReview) -> anyhow::Result<()> {
    let mut faults: Vec<&Diagnostic> = review.faults.iter().collect();
    if faults.len() > MAX_DRAWN {
        faults.sort_by_key(|fault| fault.severity);
    }
    for fault in faults.iter().take(MAX_DRAWN) {
        output.line(drawn(&review.source, fault, output.has_colour()))?;
        output.line("")?;
    }
    if let Some(more) = faults.len().checked_sub(MAX_DRAWN).filter(|more| *more > 0) {
        output.line(format!("{}: {more} more; use `--format json` to see them all", one_line(&review.source.name)))?;
        output.line("")?;
    }
    Ok(())
}

/// Refuses a definition: draws its faults for a person, or joins them in one message for a program.
pub(super) fn refuse(output: &Output, library: &Library, id: &str, error: ServiceError) -> anyhow::Result<Exit> {
    if error.kind != ErrorKind::InvalidDefinition {
        return Err(error.into());
    }
    let review = library.review(id)?;
    let faults: Vec<&Diagnostic> = review.faults.iter().filter(|fault| fault.is_error()).collect();
    if output.is_json() || faults.is_empty() {
        output.error(error.code, &error.message, &error.help);
        return Ok(Exit::InvalidDefinition);
    }
    draw_refused(output, &review, &faults);
    Ok(Exit::InvalidDefinition)
}

/// Refuses a usable definition for denied warnings. Returns `None` if it has none.
pub(super) fn refuse_denied(
    output: &Output,
    library: &Library,
    id: &str,
    denial: &Denial,
) -> anyhow::Result<Option<Exit>> {
    let mut review = library.review(id)?;
    review.faults = review.faults.into_iter().map(|fault| denial.weigh(fault)).collect();
    let faults: Vec<&Diagnostic> = review.faults.iter().filter(|fault| fault.is_error()).collect();
    if faults.is_empty() {
        return Ok(None);
    }
    draw_refused(output, &review, &faults);
    Ok(Some(Exit::InvalidDefinition))
}

fn draw_refused(output: &Output, review: &DefinitionReview, faults: &[&Diagnostic]) {
    for fault in faults.iter().take(MAX_DRAWN).filter(|_| !output.is_json()) {
        output.remark(drawn(&review.source, fault, output.has_error_colour()));
        output.remark("");
    }
    let message = format!("`{}` has {}", review.source.name, counted(faults.len(), "error"));
    output.error("invalid_definition", &message, "fix them; nothing was done");
}

pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns a review as JSON, with the faults of each of its files.
fn as_json(review: &DefinitionReview) -> Vec<Value> {
    let lines = Lines::of(&review.source);
    let mut by_file: Vec<(&str, Vec<&Diagnostic>)> = review.source.names().map(|name| (name, Vec::new())).collect();
    for fault in &review.faults {
        let name = fault.span.map_or(&*review.source.name, |span| review.source.file_at(span.start).0);
        let file = by_file.iter_mut().find(|(file, _)| *file == name);
        file.into_iter().for_each(|(_, faults)| faults.push(fault));
    }
    let objects = by_file.into_iter().map(|(name, faults)| {
        let ok = !faults.iter().any(|fault| fault.is_error());
        let faults: Vec<Value> = faults.into_iter().map(|fault| fault_json(fault, &lines)).collect();
        json!({ "file": name, "ok": ok, "diagnostics": faults })
    });
    objects.collect()
}

pub(super) fn fault_json(fault: &Diagnostic, lines: &Lines<'_>) -> Value {
    let at = fault.span.map(|span| (lines.location(span.start), lines.location(span.end)));
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
}

fn unread_json((path, error): &(PathBuf, ServiceError)) -> Value {
    let fault = json!({ "code": error.code, "severity": "error", "message": error.message, "help": error.help });
    json!({ "file": path, "ok": false, "diagnostics": [fault] })
}

/// An index of the lines of a text. A search from the beginning for each place would take quadratic time.
pub(super) struct Lines<'t> {
    source: &'t Source,
    text: &'t str,
    starts: Vec<usize>,
    /// The offset of every [`STRIDE`]th character, since a file may be a single line.
    characters: Vec<usize>,
}

const STRIDE: usize = 256;

impl<'t> Lines<'t> {
    pub(super) fn of(source: &'t Source) -> Lines<'t> {
        let text: &str = &source.text;
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let characters = text.char_indices().map(|(at, _)| at).step_by(STRIDE).collect();
        Lines { source, text, starts, characters }
    }

    fn location(&self, offset: usize) -> Location {
        let offset = offset.min(self.text.len());
        let before = |offset: usize| self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[before(offset) - 1];
        // Lines are counted within their file.
        let line = before(offset) - before(self.source.file_at(offset).1.start) + 1;
        Location { line, column: self.characters_before(offset) - self.characters_before(start) + 1 }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let strides = self.characters.partition_point(|at| *at <= offset).saturating_sub(1);
        let from = self.characters.get(strides).copied().unwrap_or_default();
        strides * STRIDE + self.text[from..].char_indices().take_while(|(at, _)| from + at < offset).count()
    }
}

/// Draws a fault with only the first of its lines: an underlined node would hide where it begins.
pub(super) fn drawn(source: &Source, fault: &Diagnostic, colour: bool) -> String {
    let level = match fault.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(fault.message.as_str()).id(fault.code);
    let file = fault.span.map_or(&*source.name, |span| source.file_at(span.start).0);
    let name = one_line(file);
    let mut report: Vec<Group<'_>> = match fault.span {
        Some(span) => {
            // Only this line is passed on, since the renderer scans its whole source.
            let line = source.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
            let rest = &source.text[line..];
            let shown = rest[..rest.find('\n').unwrap_or(rest.len())].trim_end_matches('\r');
            let start = (span.start - line).min(shown.len());
            let end = (span.end - line).clamp(start, shown.len());
            let snippet = Snippet::source(shown)
                .path(name.as_str())
                .line_start(source.location(span.start).line)
                .annotation(AnnotationKind::Primary.span(start..end));
            vec![title.element(snippet)]
        }
        None => vec![title.element(annotate_snippets::Origin::path(name.as_str()))],
    };
    if let Some(help) = &fault.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&report).to_string()
}

#[cfg(test)]
mod tests {
    use portolan_core::source::Piece;

    use super::*;

    #[test]
    fn places_are_those_of_the_source() {
        let text = format!("é\n→→x\n\n{}\n€", "é".repeat(700));
        let source = Source::new("a.json", &text);
        let piece = Piece { name: "b.json".to_owned(), text: Ok(text.clone()) };
        let source = source.joined(vec![piece.clone(), piece], Vec::new());
        let text = source.text.clone();
        let lines = Lines::of(&source);
        for at in (0..=text.len() + 1).filter(|at| *at > text.len() || text.is_char_boundary(*at)) {
            assert_eq!(lines.location(at), source.location(at), "at {at}");
        }
    }
}
