//! `portolan export`: writes a definition as JSON, as YAML, or as a program.

use std::fs;
use std::io::ErrorKind as Trouble;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{self, Strictness};
use portolan_core::present::{self, Crates, rust_project};
use portolan_core::source::{Format, Source, convert, parse};
use portolan_runtime::catalog;
use portolan_runtime::definition::Definition;
use portolan_runtime::library::{FunctionFiles, Library, read_definition};
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::check::{drawn, is_graph, refuse, refuse_files};
use super::output::{one_line, plain};
use super::show::{one_file, unknown};
use super::{Common, Exit, Output};

/// Write a definition as JSON, as YAML, or as a program.
///
/// Example: portolan export bug-fix --to langgraph --out bug_fix.py
#[derive(Args)]
pub(super) struct Export {
    /// A file of a workflow or of a graph.
    /// For a program also the id of a workflow of the project or the catalogue.
    #[arg(value_name = "FILE|ID")]
    workflow: String,
    /// The kind of output.
    #[arg(long, value_enum, value_name = "KIND")]
    to: Kind,
    /// The tool of a graph file; required if the file has several.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The file to write, or the folder of a Cargo project [default: standard output].
    #[arg(long, value_name = "FILE|DIR", required_if_eq("to", "rust"))]
    out: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long, requires = "out")]
    force: bool,
    /// For a Cargo project: the folder with the sources of Portolan's crates.
    #[arg(long, value_name = "DIR")]
    crates: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The same definition in JSON.
    Json,
    /// The same definition in YAML.
    Yaml,
    /// A Python module that builds a LangGraph graph, whose nodes call Portolan.
    Langgraph,
    /// A Cargo project that runs the workflow with Portolan's crates.
    Rust,
}

pub(super) fn run(args: &Export, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let text = match args.to {
        Kind::Json => spelled(&output, args, Format::Json)?,
        Kind::Yaml => spelled(&output, args, Format::Yaml)?,
        Kind::Langgraph => program(&output, args, common)?.map(|program| {
            let around = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            let place = program.file.map(|file| from(around, &file).to_string_lossy().into_owned());
            present::langgraph(&program.definition.workflow, place.as_deref())
        }),
        Kind::Rust => {
            let Some(program) = program(&output, args, common)? else { return Ok(Exit::InvalidDefinition) };
            return project(&output, args, &program);
        }
    };
    let Some(text) = text else { return Ok(Exit::InvalidDefinition) };
    match &args.out {
        Some(path) => {
            written(path, &text, args.force)?;
            output.remark(format!("wrote {}", path.display()));
        }
        None if output.is_json() => output.json(&json!({ "text": text }))?,
        None => output.line(text.trim_end())?,
    }
    Ok(Exit::Done)
}

/// Converts the document to the other format. Prints its faults and returns `None` if it has any.
fn spelled(output: &Output, args: &Export, spelling: Format) -> anyhow::Result<Option<String>> {
    let path = Path::new(&args.workflow);
    let source = read_definition(path)?;
    let text = match convert(&source, spelling) {
        Ok(text) => text,
        Err(faults) => {
            faulty(output, &source, &faults);
            return Ok(None);
        }
    };
    // A format's original program reads JSON.
    if spelling == Format::Json
        && let Some(original) = dialect::of(&source).and_then(|dialect| dialect.original)
        && let (Some(tree), _) = parse(&source)
    {
        faulty(output, &source, &(original.beyond)(&tree));
    }
    Ok(Some(text))
}

fn faulty(output: &Output, source: &Source, faults: &[Diagnostic]) {
    for fault in faults {
        output.remark(drawn(source, fault, output.has_error_colour()));
    }
}

/// A definition to export as a program, and its file.
struct Program {
    definition: Arc<Definition>,
    file: Option<PathBuf>,
}

/// Loads the definition to export. Prints its faults and returns `None` if it has any.
fn program(output: &Output, args: &Export, common: &Common) -> anyhow::Result<Option<Program>> {
    let (project, path) = (common.project()?, Path::new(&args.workflow));
    if is_graph(path) {
        let library = Library::new(&project, &[], Strictness::Strict)?;
        let functions = match library.functions(FunctionFiles::unserved(&[path.to_owned()])) {
            Ok(functions) => functions,
            Err(refused) => return refuse_files(output, &args.workflow, refused).map(|_| None),
        };
        let definition = functions.called(args.tool.as_deref())?.clone();
        return Ok(Some(Program { definition, file: Some(path.to_owned()) }));
    }
    let (given, id) = if path.exists() { one_file(path)? } else { (Vec::new(), args.workflow.clone()) };
    let library = Library::new(&project, &given, Strictness::Strict)?;
    if given.is_empty() && library.path(&id).is_none() && catalog::workflow(&id).is_none() {
        return Err(unknown(&library, &id).into());
    }
    match library.definition(&id) {
        Ok(definition) => Ok(Some(Program { definition, file: given.into_iter().next() })),
        Err(error) => refuse(output, &library, &id, error).map(|_| None),
    }
}

/// Writes a Cargo project.
fn project(output: &Output, args: &Export, program: &Program) -> anyhow::Result<Exit> {
    let bundle = &program.definition.bundle;
    if !bundle.activities.is_empty() {
        let message = format!("`{}` consists of several files", args.workflow);
        let help = "put its activities into one file first, or export it to LangGraph";
        return Err(ServiceError::refused("several_files", message, help).into());
    }
    let folder = args.out.as_deref().unwrap_or(Path::new("."));
    let is_used = fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some());
    if is_used && !args.force {
        let message = format!("the folder `{}` is not empty", folder.display());
        return Err(ServiceError::refused("exists", message, "name another folder, or use `--force`").into());
    }
    let sources = args.crates.as_deref().map(|sources| sources.canonicalize().unwrap_or_else(|_| sources.to_owned()));
    let sources = sources.as_deref().map(Path::to_string_lossy);
    let crates = Crates { sources: sources.as_deref(), version: env!("CARGO_PKG_VERSION") };
    let files: Vec<(String, String)> = bundle.workflows.iter().map(|(id, text)| named(id, text)).collect();
    for (path, text) in rust_project(&program.definition.workflow, &bundle.text(), &files, &crates) {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| unwritable(&path, &error))?;
        written(&path, &text, true)?;
    }
    output.remark(format!("wrote {}", folder.display()));
    Ok(Exit::Done)
}

/// Returns a definition's file name, with the extension of its format, and its text.
fn named(id: &str, text: &str) -> (String, String) {
    let ending = if text.trim_start().starts_with('{') { "json" } else { "yaml" };
    (format!("{id}.{ending}"), text.to_owned())
}

/// Returns a path relative to a folder if it lies in there, or else the absolute path.
fn from(folder: &Path, path: &Path) -> PathBuf {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = whole(path);
    path.strip_prefix(whole(folder)).map(Path::to_owned).unwrap_or(path)
}

fn written(path: &Path, text: &str, force: bool) -> Result<(), ServiceError> {
    let mut options = fs::File::options();
    let opened = options.write(true).create(true).truncate(true).create_new(!force).open(path);
    let written = opened.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| match error.kind() {
        Trouble::AlreadyExists => {
            let message = format!("`{}` already exists", path.display());
            ServiceError::refused("exists", message, "name another file, or use `--force`")
        }
        _ => unwritable(path, &error),
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> ServiceError {
    let message = one_line(&format!("`{}` cannot be written: {}", path.display(), plain(error)));
    ServiceError::failed("unwritable", message, "name a path in an existing folder with `--out`")
}
