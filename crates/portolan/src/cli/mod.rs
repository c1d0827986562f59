//! The command line: one file per command, with its arguments, its function and its exit code.

mod assignment;
mod autopilot;
mod builtin;
mod catalog;
mod check;
mod check_progress;
mod checks;
mod commands;
mod completions;
mod demo;
mod doctor;
mod duration;
mod eval;
mod export;
mod flow;
mod gate;
mod guard;
mod hook;
mod import;
mod init;
mod install;
mod merge_gate;
mod output;
mod passkey;
mod people;
mod person;
mod proofs;
mod prune;
mod qa;
mod resume;
mod run;
mod runs;
mod sandbox;
mod serve;
mod show;
mod signals;
mod simulate;
mod standing;
mod start;
mod step_commands;
mod store;
mod stored_graph;
mod studio;
mod supervisor;
mod test;
mod token;
mod token_run;
mod trust;
mod worker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use portolan_core::diagnostic::{Diagnostic, closest};
use portolan_core::dialect::Strictness;
use portolan_runtime::service::{ErrorKind, Options, Service, ServiceError, StoreAt};
use portolan_runtime::telemetry::Telemetry;

pub(crate) use output::{Format, Output};

/// Leads AI agents through workflows they cannot cheat.
///
/// Without a command, it shows the project's state and the next commands.
///
/// Exit codes: 0 done, 1 failed, 2 refused, 3 invalid definition, 4 waiting for a person. `qa` and `merge-gate`
/// document their own.
#[derive(Parser)]
#[command(name = "portolan", version, max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    common: Common,
}

/// The arguments of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// The project's folder, with `.flow` and `.portolan` in it.
    /// [default: the nearest folder around this one that has either, or else the root of the repository, or else this
    /// folder]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The store of runs: a SQLite file, a PostgreSQL database (`postgres://user@host/database`), Restate
    /// (`restate://host:8080/space`), or `memory`.
    /// [default: `PORTOLAN_STORE`, or else .portolan/runs.db in the project]
    #[arg(long, global = true, value_name = "STORE")]
    store: Option<PathBuf>,
    /// The output format.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[arg(skip)]
    telemetry: Option<Telemetry>,
}

#[derive(Subcommand)]
enum Verb {
    Init(init::Init),
    Check(check::Check),
    Show(show::Show),
    Run(run::Run),
    Test(test::Test),
    Simulate(simulate::Simulate),
    Serve(serve::Serve),
    Gate(gate::Gate),
    Token(token::Token),
    Studio(studio::Studio),
    Worker(worker::Worker),
    Catalog(catalog::Catalog),
    Runs(runs::Runs),
    Store(store::StoreArgs),
    Flow(flow::Flow),
    Supervisor(supervisor::SupervisorArgs),
    Autopilot(autopilot::Autopilot),
    MergeGate(merge_gate::MergeGate),
    Checks(checks::Checks),
    Qa(qa::Qa),
    Import(import::Import),
    Trust(trust::TrustArgs),
    People(people::PeopleArgs),
    Install(install::Install),
    Doctor(doctor::Doctor),
    Hook(hook::Hook),
    Guard(guard::Guard),
    Sandbox(sandbox::Sandbox),
    Builtin(builtin::Builtin),
    Eval(eval::Eval),
    Export(export::Export),
    Demo(demo::Demo),
    Completions(completions::Completions),
}

/// The result of a command, as the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Refused = 2,
    InvalidDefinition = 3,
    Waiting = 4,
}

impl Exit {
    /// The merge gate requires a person's review. Its codes are those that scripts expect of merge gates.
    pub(crate) const HUMAN_REVIEW: Exit = Exit::InvalidDefinition;
    /// A check could not determine its result.
    pub(crate) const UNVERIFIED: Exit = Exit::InvalidDefinition;
}

/// Whether definitions must conform to their format, or are read as their original program reads them.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Leniency {
    /// Load, with warnings, what the format's own program would load.
    /// Each fault is repaired so that no run is stranded.
    #[arg(long)]
    lenient: bool,
}

impl Leniency {
    pub(crate) fn strictness(self) -> Strictness {
        if self.lenient { Strictness::Lenient } else { Strictness::Strict }
    }
}

/// The warnings that count as errors.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Denial {
    /// Treat a warning as an error: its code, or `warnings` for all.
    /// A code is, for example, `read-before-set`. May be given several times.
    #[arg(long, value_name = "CODE|warnings", value_parser = deniable)]
    deny: Vec<String>,
}

impl Denial {
    /// Returns the finding with its effective severity.
    pub(crate) fn weigh(&self, fault: Diagnostic) -> Diagnostic {
        let is_denied = self.deny.iter().any(|denied| denied == ALL_WARNINGS || denied == fault.code);
        if is_denied { fault.denied() } else { fault }
    }
}

/// The word for all warnings.
const ALL_WARNINGS: &str = "warnings";

/// Parses a code that a finding may have. A misspelt one would have no effect, which its user would not notice.
fn deniable(word: &str) -> Result<String, String> {
    let codes: Vec<&str> = portolan_core::codes().iter().map(|code| code.code).chain([ALL_WARNINGS]).collect();
    if codes.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(match closest(word, codes) {
        Some(near) => format!("no finding has this code; did you mean `{near}`?"),
        None => "no finding has this code; `docs/diagnostics.md` lists them all".to_owned(),
    })
}

/// Whose answer counts if a question is for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HumanArg {
    /// The agent passes the person's answer on.
    #[default]
    Attested,
    /// Only the person's own answer, in the client's dialog or by `portolan runs answer`.
    Verified,
}

/// Returns the project around a folder. The innermost project counts, and a repository ends the search.
fn around(here: &Path) -> PathBuf {
    let Ok(folder) = here.canonicalize() else { return here.to_owned() };
    for around in folder.ancestors() {
        let has = |name: &str| around.join(name).is_dir();
        if has(".portolan") || has(".flow") || around.join(".git").symlink_metadata().is_ok() {
            return around.to_owned();
        }
    }
    here.to_owned()
}

impl Common {
    /// Returns the project's folder.
    pub(crate) fn project(&self) -> Result<PathBuf, ServiceError> {
        let given = self.project.clone().unwrap_or_else(|| around(&PathBuf::from(".")));
        let no_project = |why: &str| {
            ServiceError::failed(
                "no_project",
                format!("`{}` is not a project: {why}", given.display()),
                "name an existing folder with `--project`",
            )
        };
        let project = given.canonicalize().map_err(|error| no_project(&output::plain(&error)))?;
        if project.is_dir() { Ok(project) } else { Err(no_project("it is not a folder")) }
    }

    pub(crate) fn options(&self) -> Result<Options, ServiceError> {
        let mut options = Options::of(self.project()?);
        options.telemetry = self.telemetry.clone();
        if let Some(store) = self.named_store() {
            options.store = StoreAt::of_environment(&store)?;
        }
        Ok(options)
    }

    /// Returns the service of the store that the arguments or the environment name, or else of that of the project's task.
    pub(crate) fn service_of_task(&self) -> Result<Service, ServiceError> {
        let options = self.options()?;
        if self.named_store().is_some() { Service::new(options) } else { Service::of_task(options) }
    }

    /// Returns the store that the arguments name, or else the environment.
    pub(crate) fn named_store(&self) -> Option<PathBuf> {
        let given = || std::env::var_os("PORTOLAN_STORE").filter(|store| !store.is_empty()).map(PathBuf::from);
        self.store.clone().or_else(given)
    }

    pub(crate) fn output(&self) -> Output {
        Output::new(self.format)
    }
}

/// Runs a future to completion on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}

/// Runs the program with the arguments of the process. Returns its exit code.
pub fn run() -> ExitCode {
    match portolan_supervision::sandbox::forward() {
        Ok(None) => {}
        Ok(Some(code)) => return ExitCode::from(code),
        Err(why) => {
            Output::new(Format::default()).error(
                "no_sandbox",
                &why,
                "start it again from a shell that is still running",
            );
            return ExitCode::from(Exit::Failed as u8);
        }
    }
    let words: Vec<_> = std::env::args_os().collect();
    let exit = match step_commands::command(&words).map_or_else(|| parsed(&words), Ok) {
        Ok(cli) => traced(cli),
        Err(error) => misused(&error),
    };
    ExitCode::from(exit as u8)
}

fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
}

/// Performs a command, and sends its trace data before the process ends.
fn traced(mut cli: Cli) -> Exit {
    let output = cli.common.output();
    let telemetry = Telemetry::from_environment(Arc::new(move |note| output.remark(output::one_line(note))));
    cli.common.telemetry = telemetry.clone();
    let exit = perform(cli);
    if let Some(telemetry) = telemetry {
        telemetry.close();
    }
    exit
}

fn perform(cli: Cli) -> Exit {
    let output = cli.common.output();
    let Some(verb) = cli.verb else {
        let outcome = block_on(standing::run(&cli.common)).unwrap_or_else(|error| Err(error.into()));
        return outcome.unwrap_or_else(|error| report(&output, &error));
    };
    let result = match verb {
        Verb::Init(args) => init::run(&args, &cli.common),
        Verb::Check(args) => check::run(&args, &cli.common),
        Verb::Show(args) => show::run(&args, &cli.common),
        Verb::Run(args) => run::run(&args, &cli.common),
        Verb::Test(args) => test::run(&args, &cli.common),
        Verb::Simulate(args) => simulate::run(&args, &cli.common),
        Verb::Serve(args) => serve::run(args, &cli.common),
        Verb::Gate(args) => gate::run(&args, &cli.common),
        Verb::Token(args) => token::run(&args, &cli.common),
        Verb::Studio(args) => studio::run(args, &cli.common),
        Verb::Worker(args) => worker::run(args, &cli.common),
        Verb::Catalog(args) => catalog::run(&args, &cli.common),
        Verb::Runs(args) => runs::run(&args, &cli.common),
        Verb::Store(args) => store::run(&args, &cli.common),
        Verb::Flow(args) => flow::run(&args, &cli.common),
        Verb::Supervisor(args) => supervisor::run(&args, &cli.common),
        Verb::Autopilot(args) => autopilot::run(&args, &cli.common),
        Verb::MergeGate(args) => merge_gate::run(&args, &cli.common),
        Verb::Checks(args) => checks::run(&args, &cli.common),
        Verb::Qa(args) => qa::run(&args, &cli.common),
        Verb::Import(args) => import::run(&args, &cli.common),
        Verb::Trust(args) => trust::run(&args, &cli.common),
        Verb::People(args) => people::run(&args, &cli.common),
        Verb::Install(args) => install::run(&args, &cli.common),
        Verb::Doctor(args) => doctor::run(&args, &cli.common),
        Verb::Hook(args) => hook::run(&args, &cli.common),
        Verb::Guard(args) => guard::run(args),
        Verb::Sandbox(args) => sandbox::run(&args, &cli.common),
        Verb::Builtin(args) => builtin::run(&args, &cli.common),
        Verb::Eval(args) => eval::run(&args, &cli.common),
        Verb::Export(args) => export::run(&args, &cli.common),
        Verb::Demo(args) => demo::run(&args, &cli.common),
        Verb::Completions(args) => completions::run(&args, &cli.common),
    };
    result.unwrap_or_else(|error| report(&output, &error))
}

/// Prints the requested help, or the error of an invalid command line.
fn misused(error: &clap::Error) -> Exit {
    let words: Vec<String> = std::env::args().collect();
    let json = words.iter().any(|word| word == "--format=json")
        || words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    if error.use_stderr() && json {
        let text = error.to_string();
        let first_paragraph = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let message = first_paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        Output::new(Format::Json).error("usage", &message, "`--help` shows the usage");
    } else {
        // A closed output cannot be reported anywhere.
        let _ = error.print();
    }
    if error.use_stderr() { Exit::Refused } else { Exit::Done }
}

fn report(output: &Output, error: &anyhow::Error) -> Exit {
    match error.downcast_ref::<ServiceError>() {
        Some(error) => {
            output.error(error.code, &error.message, &error.help);
            exit_of(error.kind)
        }
        // A reader that closed the pipe has read enough.
        None if output::is_broken_pipe(error) => Exit::Done,
        None => {
            output.error("failed", &output::format_error(error), "");
            Exit::Failed
        }
    }
}

fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::Refused => Exit::Refused,
        ErrorKind::InvalidDefinition => Exit::InvalidDefinition,
        ErrorKind::NeedsPerson => Exit::Waiting,
        ErrorKind::Failed => Exit::Failed,
    }
}

/// Returns the command line's definition, for completions and the reference.
pub(crate) fn command() -> clap::Command {
    commands::grouped(<Cli as clap::CommandFactory>::command())
}
