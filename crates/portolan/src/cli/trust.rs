//! `portolan trust`: a person allows the commands of a definition.

mod list;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::verify::Attachments;
use portolan_core::graph::Workflow;
use portolan_core::source::Source;
use portolan_gates::guidelines;
use portolan_runtime::clock::Clock;
use portolan_runtime::definition::Definition;
use portolan_runtime::gates::review;
use portolan_runtime::library::{FunctionFiles, FunctionSet, Library, WorkflowFile, read_definition, workflow_files};
use portolan_runtime::models::OpenError;
use portolan_runtime::rules;
use portolan_runtime::service::{Service, ServiceError};
use portolan_runtime::trust::{
    Digest, TrustEntry, TrustedCommand, commands, commands_digest, digest_of, phases_digest, server_commands,
};
use portolan_runtime::typecheck::{Checker, CheckerOrigin, checker};
use portolan_runtime::{attachments, plugins, project_checks};
use serde_json::json;

use super::check::{draw_findings, is_graph, is_rules, is_servers, refuse, refuse_files};
use super::output::{Output, one_line};
use super::{Common, Exit, Leniency, person, runs};
use crate::install;
use list::{line, masked};

/// Allow what definitions and rules of this project run.
///
/// For a definition, these are its acceptance checks and its MCP servers. For the project, these are the commands of
/// its type check, of `.portolan/checks.yaml` and of `.portolan/verify.yaml`, and the programs and addresses of
/// `.portolan/plugins.yaml`. For a workflow of phases, tasks may also begin with these phases. If hooks are installed,
/// the present `.portolan/guidelines.yaml` takes effect.
///
/// Example: portolan trust .flow/workflows/release.json
#[derive(Args)]
#[command(after_help = "No command from a repository is run before this. Trust is recorded outside the repository; a \
        changed command must be trusted again.\n\nWith a store that several machines use (`--store postgres://…` or \
        `--store restate://…`), `--shared` records it for all of them. It counts on a machine after its user ran \
        `portolan trust --accept-shared` there: from then on, whoever can write the store decides what may run in the \
        project on that machine.")]
pub(super) struct TrustArgs {
    /// Files of workflows, of graphs or of MCP servers, or `.portolan/guidelines.yaml`.
    #[arg(value_name = "FILE", required_unless_present_any = ["list", "typecheck", "accept_shared"])]
    files: Vec<PathBuf>,
    /// Revoke the trust instead.
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    #[command(flatten)]
    leniency: Leniency,
    /// Allow what the type check runs.
    /// The commands of the guidelines, or else those that the project's files suggest.
    #[arg(long, conflicts_with = "list")]
    typecheck: bool,
    /// List what is trusted, in all projects.
    /// With `--shared`, also what is trusted in the store.
    #[arg(long, conflicts_with = "files")]
    list: bool,
    /// Record it for all machines that accept what is trusted in the store, instead of for this machine alone.
    /// With `--revoke`, withdraw it on all machines.
    #[arg(long, conflicts_with = "typecheck")]
    shared: bool,
    /// Accept on this machine, for this project, what is trusted in the store: now and later.
    /// With `--revoke`, end this.
    #[arg(long, conflicts_with_all = ["files", "list", "shared", "typecheck"])]
    accept_shared: bool,
}

pub(super) fn run(args: &TrustArgs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = common.options()?;
    let service = Service::new(options)?;
    if args.list {
        return list::list(&output, service.trust(), args.shared);
    }
    if !args.revoke {
        person::confirmed(&service, "may trust what a project runs")?;
    }
    if args.accept_shared {
        return shared::accept(&output, service.trust(), args.revoke);
    }
    let change = if args.revoke { Change::Revoke } else { Change::Allow };
    let change = TrustChange { change, scope: if args.shared { Scope::Shared } else { Scope::Machine } };
    if args.shared {
        shared::may_share(service.trust(), &args.files)?;
    }
    let (rules, others): (Vec<&PathBuf>, Vec<&PathBuf>) = args.files.iter().partition(|path| is_rules(path));
    let (added, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        others.into_iter().partition(|path| of_project(path).is_some());
    let (servers, others): (Vec<&PathBuf>, Vec<&PathBuf>) = others.into_iter().partition(|path| is_servers(path));
    let servers = servers.into_iter().map(|path| of_servers(&service, path)).collect::<Result<Vec<_>, _>>()?;
    let (graphs, files): (Vec<&PathBuf>, Vec<&PathBuf>) = others.into_iter().partition(|path| is_graph(path));
    let paths = files.iter().map(|file| one_file(file)).collect::<Result<Vec<WorkflowFile>, _>>()?;
    let given: Vec<PathBuf> = paths.iter().map(|found| found.path.clone()).collect();
    let library = Library::new(service.project(), &given, args.leniency.strictness())?;
    // All files are checked before any is recorded: the person did not allow half of a command line.
    let mut led = Vec::new();
    for found in &paths {
        match library.definition(&found.id) {
            Ok(definition) => led.push((library.text(&found.id)?.0, definition)),
            Err(error) => return refuse(&output, &library, &found.id, error),
        }
    }
    let library = Library::new(service.project(), &[], args.leniency.strictness())?;
    let mut definitions = Vec::new();
    for path in graphs {
        match library.functions(FunctionFiles::unserved(std::slice::from_ref(path))) {
            Ok(functions) => {
                let source = read_definition(path)?;
                definitions.extend(distinct(&functions).into_iter().map(|definition| (source.clone(), definition)));
            }
            Err(refused) => return refuse_files(&output, &path.to_string_lossy(), refused),
        }
    }
    definitions.extend(led);
    let typecheck = match args.typecheck || !rules.is_empty() {
        true => match typecheck(&service, rules.first().map(|path| path.as_path()), args)? {
            Ok(request) => Some(request),
            Err(FaultyRules(source, faults)) => {
                let findings = faults.into_iter().map(|fault| (source.clone(), fault)).collect();
                return draw_findings(&output, &source.name, &findings);
            }
        },
        false => None,
    };
    let mut report = Vec::new();
    if let Some((request, others)) = typecheck.as_deref().and_then(<[TrustRequest]>::split_first) {
        let are_agreed = !rules.is_empty() && !args.revoke && install::agree(service.project())?;
        let mut settled = settle(&output, &service, request, change)?;
        if are_agreed {
            settled["agreed"] = true.into();
            if !output.is_json() {
                output.line(format!("{}: these rules apply from now on", rules::FILE))?;
            }
        }
        report.push(settled);
        for request in others {
            report.push(settle(&output, &service, request, change)?);
        }
    }
    for path in added {
        for request in own(&service, path)? {
            report.push(settle(&output, &service, &request, change)?);
        }
    }
    for request in servers {
        report.push(settle(&output, &service, &request, change)?);
    }
    for (source, definition) in definitions {
        let request = TrustRequest::of(&source, &definition.workflow);
        if let Some(phases) = phases_digest(&definition.workflow, &definition.texts_digest()) {
            report.push(agree(&output, &service, &request, phases, change)?);
            if request.runs.is_none() {
                continue;
            }
        }
        report.push(settle(&output, &service, &request, change)?);
    }
    if output.is_json() {
        output.json(&json!({ "files": report }))?;
    }
    Ok(Exit::Done)
}

/// Returns the project file with a path's name: the one of its plug-ins, its checks or its attachments.
fn of_project(path: &Path) -> Option<&'static str> {
    let own = [plugins::FILE, project_checks::FILE, attachments::FILE];
    own.into_iter().find(|own| Path::new(own).file_name() == path.file_name())
}

/// Records that the person allows the commands of a project file.
pub(super) fn allow(output: &Output, service: &Service, file: &str) -> anyhow::Result<()> {
    for request in own(service, &service.project().join(file))? {
        settle(output, service, &request, TrustChange { change: Change::Allow, scope: Scope::Machine })?;
    }
    Ok(())
}

/// Returns the trust requests of a project file. Refuses another file of that name, since it is never used.
fn own(service: &Service, path: &Path) -> Result<Vec<TrustRequest>, ServiceError> {
    let project = service.project();
    let file = of_project(path).unwrap_or(plugins::FILE);
    let there = project.join(file).canonicalize().ok();
    if there.is_none() || path.canonicalize().ok() != there {
        let message = format!("`{}` is not the project's `{file}`", path.display());
        return Err(ServiceError::refused("not_a_file", message, "name the project's file"));
    }
    if file == plugins::FILE {
        let source = Source::new(file, plugins::text(project)?.unwrap_or_default());
        let plugins = plugins::load(project)?;
        return Ok(vec![TrustRequest::runs(&source, plugins::digest(&plugins), plugins::commands(&plugins))]);
    }
    if file == attachments::FILE {
        let source = attachments::source(project)?.unwrap_or_else(|| Source::new(file, ""));
        return Ok(attached(&source, &attachments::sound(&source)?));
    }
    let source = project_checks::source(project)?.unwrap_or_else(|| Source::new(file, ""));
    let checks = project_checks::load(project)?;
    Ok(vec![TrustRequest::runs(&source, project_checks::digest(&checks), project_checks::commands(&checks))])
}

/// Returns the trust request of a file of servers that `portolan gate` stands before.
fn of_servers(service: &Service, path: &Path) -> Result<TrustRequest, ServiceError> {
    let source = read_definition(path)?;
    let servers = service.library().own_servers(path)?;
    let commands = server_commands(servers.iter().map(|setup| &setup.server));
    let digest = (!commands.is_empty()).then(|| digest_of(&commands));
    Ok(TrustRequest::runs(&source, digest, commands))
}

/// Returns one request per entry that attaches commands to workflows, since a run keeps the entries that it began with.
/// Without any such entry, returns one request without commands.
fn attached(source: &Source, attachments: &Attachments) -> Vec<TrustRequest> {
    let commands = attachments.entries.iter().map(attachments::commands).filter(|commands| !commands.is_empty());
    let requests = commands.map(|commands| TrustRequest::runs(source, Some(digest_of(&commands)), commands));
    let requests: Vec<TrustRequest> = requests.collect();
    if requests.is_empty() { vec![TrustRequest::runs(source, None, Vec::new())] } else { requests }
}

/// Returns the functions of a file that run different commands. One record covers all that run the same.
fn distinct(functions: &FunctionSet) -> Vec<Arc<Definition>> {
    let all = functions.definitions.values();
    let any = all.clone().any(|definition| definition.commands.is_some());
    let mut known: Vec<&Option<Digest>> = Vec::new();
    let distinct = all.filter(|definition| {
        let is_new = !known.contains(&&definition.commands);
        known.push(&definition.commands);
        is_new && (definition.commands.is_some() || !any)
    });
    distinct.cloned().collect()
}

/// Resolves one file. A folder is refused: the person has not seen what it may contain later.
fn one_file(path: &Path) -> Result<WorkflowFile, ServiceError> {
    let not_a_file = || {
        ServiceError::refused(
            "not_a_file",
            format!("`{}` is a folder", path.display()),
            "name the files one by one: each is checked",
        )
    };
    if path.is_dir() { Err(not_a_file()) } else { workflow_files(path)?.pop().ok_or_else(not_a_file) }
}

/// The commands that a person is asked to allow.
struct TrustRequest {
    /// The file that names them.
    file: String,
    text: Digest,
    /// The commands and their digest. `None` if there are none.
    runs: Option<(Digest, Vec<TrustedCommand>)>,
    /// Further advice if there are none.
    otherwise: &'static str,
}

impl TrustRequest {
    /// Returns the record of commands of this file, or of its phases.
    fn entry(&self, service: &Service, commands: &Digest, runs: Vec<TrustedCommand>) -> TrustEntry {
        TrustEntry {
            project: service.project().to_owned(),
            commands: commands.clone(),
            file: self.text.clone(),
            path: self.file.clone(),
            at: Clock::System.now(),
            runs,
        }
    }

    fn of(source: &Source, workflow: &Workflow) -> TrustRequest {
        TrustRequest {
            file: source.name.to_string(),
            text: Digest::of(source.text.as_bytes()),
            runs: commands_digest(workflow).map(|digest| (digest, commands(workflow))),
            otherwise: "",
        }
    }

    fn runs(source: &Source, digest: Option<Digest>, commands: Vec<TrustedCommand>) -> TrustRequest {
        TrustRequest {
            file: source.name.to_string(),
            text: Digest::of(source.text.as_bytes()),
            runs: digest.map(|digest| (digest, commands)),
            otherwise: "",
        }
    }

    fn checker(file: &str, text: &str, checker: Option<&Checker>) -> TrustRequest {
        TrustRequest {
            file: file.to_owned(),
            text: Digest::of(text.as_bytes()),
            runs: checker.map(|checker| (checker.digest(), checker.runs())),
            otherwise: "",
        }
    }
}

/// Invalid rules, and their faults.
struct FaultyRules(Source, Vec<Diagnostic>);

/// Returns the requests of the project's rules: the type check, and the review model. A type check that the project's
/// files only suggest must be requested by `--typecheck`.
fn typecheck(
    service: &Service,
    given: Option<&Path>,
    args: &TrustArgs,
) -> anyhow::Result<Result<Vec<TrustRequest>, FaultyRules>> {
    let own = service.project().join(rules::FILE);
    if let Some(given) = given.filter(|given| given.canonicalize().ok() != own.canonicalize().ok()) {
        let message = format!("`{}` holds the rules of another project", given.display());
        return Err(ServiceError::refused("another_project", message, "name that project with `--project`").into());
    }
    // A named file is read as it is on disk. Otherwise the rules that are trusted count.
    let source = if given.is_some() { rules::written(service.project())? } else { rules::source(service.project())? };
    let source = source.unwrap_or_else(|| Source::new(rules::FILE, ""));
    let (read, faults) = guidelines::read(&source);
    if faults.iter().any(Diagnostic::is_error) {
        return Ok(Err(FaultyRules(source, faults)));
    }
    if let (Some(model), Some(_), false) = (&read.review.model, given, args.revoke) {
        let refused = |error: OpenError| ServiceError::refused("bad_model", error.message, error.help);
        review::may_look(model).map_err(refused)?;
    }
    let reviewed = given.and_then(|_| review::digest(&read));
    let reviewer = reviewed.map(|digest| TrustRequest::runs(&source, Some(digest), review::commands(&read)));
    let checker = checker(service.project(), &read);
    let checked = match checker {
        Some(Checker { origin: CheckerOrigin::Suggested(files), commands }) if args.typecheck => {
            let checker = Checker { commands, origin: CheckerOrigin::Suggested(files.clone()) };
            TrustRequest::checker(&files.join(", "), &checker.shown(), Some(&checker))
        }
        Some(checker) if checker.origin == CheckerOrigin::Guidelines => {
            TrustRequest::checker(&source.name, &source.text, Some(&checker))
        }
        Some(_) => TrustRequest {
            otherwise: "; `portolan trust --typecheck` allows what the project's files suggest",
            ..TrustRequest::checker(&source.name, &source.text, None)
        },
        None => TrustRequest::checker(&source.name, &source.text, None),
    };
    // A request without commands is dropped if there is another one.
    let checked = Some(checked).filter(|checked| checked.runs.is_some() || reviewer.is_none());
    Ok(Ok(checked.into_iter().chain(reviewer).collect()))
}

/// What a person decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Allow,
    Revoke,
}

/// Where it counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// On this machine.
    Machine,
    /// On all machines that accept what is trusted in the store.
    Shared,
}

#[derive(Clone, Copy)]
struct TrustChange {
    change: Change,
    scope: Scope,
}

/// The result of a change.
enum Changed {
    Allowed,
    Revoked,
    WasNot,
    /// Revoked on this machine, where the store still allows it.
    StillShared,
}

/// Records a change of one entry.
fn record(
    service: &Service,
    entry: TrustEntry,
    TrustChange { change, scope }: TrustChange,
) -> Result<Changed, ServiceError> {
    let trust = service.trust();
    let person = runs::person();
    let was_trusted = match (change, scope) {
        (Change::Allow, Scope::Machine) => {
            trust.record(entry).map_err(trust_error)?;
            return Ok(Changed::Allowed);
        }
        (Change::Allow, Scope::Shared) => {
            trust.share(entry, person.name()).map_err(trust_error)?;
            return Ok(Changed::Allowed);
        }
        (Change::Revoke, Scope::Shared) => trust.withdraw(&entry, person.name()).map_err(trust_error)?,
        (Change::Revoke, Scope::Machine) => {
            let was_trusted = trust.forget(&entry).map_err(trust_error)?;
            if trust.is_trusted(&entry.commands).map_err(trust_error)? {
                return Ok(Changed::StillShared);
            }
            was_trusted
        }
    };
    Ok(if was_trusted { Changed::Revoked } else { Changed::WasNot })
}

/// Records or revokes the trust in one file's commands, and prints them.
fn settle(
    output: &Output,
    service: &Service,
    request: &TrustRequest,
    change: TrustChange,
) -> anyhow::Result<serde_json::Value> {
    let file = one_line(&request.file);
    let Some((digest, runs)) = &request.runs else {
        if !output.is_json() {
            output.line(format!("{file}: it runs no commands, so there is nothing to trust{}", request.otherwise))?;
        }
        return Ok(json!({ "file": request.file, "trusted": false, "commands": [] }));
    };
    let entry = request.entry(service, digest, runs.iter().map(masked).collect());
    let runs = entry.runs.clone();
    let changed = record(service, entry, change)?;
    let message = match (&changed, change.scope) {
        (Changed::Allowed, Scope::Machine) => "these commands may run in this project",
        (Changed::Allowed, Scope::Shared) => {
            "these commands may run in this project, here and on each machine that accepts what is trusted in the store"
        }
        (Changed::Revoked, _) => "these commands may no longer run",
        (Changed::WasNot, _) => "these commands were not trusted",
        (Changed::StillShared, _) => {
            "these commands may still run, because the store allows them: `--revoke --shared` withdraws them there"
        }
    };
    if !output.is_json() {
        output.line(format!("{file}: {message}"))?;
        for command in &runs {
            output.line(format!("  {}", line(command)))?;
        }
    }
    let trusted = matches!(changed, Changed::Allowed | Changed::StillShared);
    Ok(json!({ "file": request.file, "trusted": trusted, "commands": runs }))
}

/// Records or revokes that tasks may begin with the phases of a file.
fn agree(
    output: &Output,
    service: &Service,
    request: &TrustRequest,
    phases: Digest,
    change: TrustChange,
) -> anyhow::Result<serde_json::Value> {
    let changed = record(service, request.entry(service, &phases, Vec::new()), change)?;
    let message = match (&changed, change.scope) {
        (Changed::Allowed, Scope::Machine) => "tasks may begin with these phases in this project",
        (Changed::Allowed, Scope::Shared) => {
            "tasks may begin with these phases in this project, here and on each machine that accepts what is trusted in \
             the store"
        }
        (Changed::Revoked, _) => "tasks may no longer begin with these phases",
        (Changed::WasNot, _) => "these phases were not trusted",
        (Changed::StillShared, _) => {
            "tasks may still begin with these phases, because the store allows them: `--revoke --shared` withdraws them there"
        }
    };
    if !output.is_json() {
        output.line(format!("{}: {message}", one_line(&request.file)))?;
    }
    let trusted = matches!(changed, Changed::Allowed | Changed::StillShared);
    Ok(json!({ "file": request.file, "trusted": trusted, "phases": true }))
}

fn trust_error(error: portolan_runtime::trust::TrustError) -> ServiceError {
    ServiceError::failed(error.code(), error.message, error.help)
}
