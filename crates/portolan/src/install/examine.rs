//! Checks that what was installed is still there, is switched on, and refuses what it must refuse. For the last, each
//! hook runs as the host would run it, with a call that is always refused: an edit of the hook's own configuration.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_supervision::hook::{self, stands};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::record::{InstalledFile, digest};
use super::{Record, files, gate, git, shell, splice};
use crate::hook::{Event, Host, Reply, Stage, is_denial};

/// The result of one check.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// A host, `git`, `pins` or `environment`.
    pub(crate) about: String,
    pub(crate) state: State,
    pub(crate) message: String,
}

/// The state of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Good,
    /// Possibly intended.
    Doubtful,
    Wrong,
}

impl State {
    fn of(state: hook::State) -> State {
        match state {
            hook::State::Good => State::Good,
            hook::State::Doubtful => State::Doubtful,
            hook::State::Wrong => State::Wrong,
        }
    }
}

impl Finding {
    fn new(about: &str, state: State, message: impl Into<String>) -> Finding {
        Finding { about: about.to_owned(), state, message: message.into() }
    }
}

/// The context of an examination.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExaminationContext<'a> {
    /// The program that hooks should run. `None` skips this check.
    pub(crate) program: Option<&'a Path>,
    /// The names of the variables in the environment.
    pub(crate) variables: &'a [String],
}

/// Examines everything that was installed in a project.
pub(crate) async fn examine(project: &Path, record: &Record, looking: ExaminationContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for host in Host::ALL {
        if record.of(host.name()).next().is_none() {
            continue;
        }
        findings.extend(record.of(host.name()).map(|installed| unchanged(project, installed)));
        findings.extend(record.of(host.name()).flat_map(|installed| beside_gate(project, host, installed)));
        findings.extend(switched_off(project, host));
        findings.push(refuses(project, record, host).await);
        if let Some(program) = shell::program(project, record, host) {
            findings.push(check_sandbox(project, host, &program).await);
        }
    }
    if record.of("git").next().is_some() {
        findings.extend(git_hooks(project, record));
    } else {
        findings.extend(unrecorded(project));
    }
    findings.extend(looking.program.into_iter().flat_map(|program| others(record, program)));
    if !record.files.is_empty() {
        findings.extend(
            stands(project).into_iter().map(|found| Finding::new("pins", State::of(found.state), found.message)),
        );
    }
    findings.extend(variables(looking.variables));
    findings
}

/// Runs the shell of a host, and checks that it cannot write the installation record.
async fn check_sandbox(project: &Path, host: Host, program: &Path) -> Finding {
    const LIMIT: Duration = Duration::from_secs(10);
    let test = format!("if test -w {}; then echo open; else echo held; fi", super::record::PLACE);
    let runs = Runs::Exec([&program.to_string_lossy(), "-c", test.as_str()].map(str::to_owned).to_vec());
    let wrong = |message: String| Finding::new(host.name(), State::Wrong, message);
    match run(project, &runs, "", LIMIT).await {
        Ok(reply) if reply.stdout.trim() == "held" => {
            Finding::new(host.name(), State::Good, "shell commands cannot write the files that hold the gates")
        }
        Ok(reply) if reply.stdout.trim() == "open" => {
            wrong("shell commands can write the files that hold the gates, in spite of the sandbox".to_owned())
        }
        Ok(reply) => {
            let reason = reply.stderr.lines().next().unwrap_or("no reason given").trim_start_matches("error: ");
            wrong(format!("the shell cannot be run in the sandbox, so none of its commands can run: {reason}"))
        }
        Err(why) => wrong(format!("`{}` {why}", program.display())),
    }
}

/// Reports hooks that run another program than this one, once for each host and program.
fn others(record: &Record, program: &Path) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    let mut found = Vec::new();
    for installed in &record.files {
        let Some(named) = &installed.program else { continue };
        let is_this = Path::new(named).canonicalize().is_ok_and(|path| path == program);
        if !is_this && reported.insert((&installed.host, named)) {
            let again = format!("run `portolan install {}` again", installed.host);
            let message = format!("the hooks run `{named}`, but this is `{}`: {again}", program.display());
            found.push(Finding::new(&installed.host, State::Wrong, message));
        }
    }
    found
}

/// Reports git hooks of ours without an installation record: the record was removed.
fn unrecorded(project: &Path) -> Vec<Finding> {
    let Ok(folder) = git::folder(project) else { return Vec::new() };
    let is_ours = |path: &Path| files::read(path).is_ok_and(|text| text.is_some_and(|text| text.contains(git::MARK)));
    let ours = git::HOOKS.iter().any(|(name, _)| is_ours(&folder.join(name)));
    let message = format!(
        "hooks of portolan are in `{}`, but `{}` does not list them: run `portolan install git` again",
        folder.display(),
        super::record::PLACE
    );
    ours.then(|| Finding::new("git", State::Wrong, message)).into_iter().collect()
}

fn unchanged(project: &Path, installed: &InstalledFile) -> Finding {
    let shown = installed.file.display();
    let wrong = |message: String| Finding::new(&installed.host, State::Wrong, message);
    let again = format!("run `portolan install {}` again", installed.host);
    let text = match files::read(&project.join(&installed.file)) {
        Ok(Some(text)) => text,
        Ok(None) => return wrong(format!("`{shown}` is gone: {again}")),
        Err(error) => return wrong(format!("`{shown}` cannot be read: {error}")),
    };
    if digest(text.as_bytes()) == installed.digest {
        return Finding::new(&installed.host, State::Good, format!("`{shown}` is as it was installed"));
    }
    let whole = installed.parts.is_empty();
    if !whole && installed.parts.iter().all(|part| splice::holds(&text, part)) {
        let reason = format!("`{shown}` was changed since, but still has everything that was installed");
        return Finding::new(&installed.host, State::Good, reason);
    }
    wrong(format!("`{shown}` is no longer what was installed: check it, then {again}"))
}

/// Reports servers that the host starts itself, although the gate was put before its servers.
fn beside_gate(project: &Path, host: Host, installed: &InstalledFile) -> Vec<Finding> {
    let text = files::read(&project.join(&installed.file)).ok().flatten().unwrap_or_default();
    let beside = gate::beside(host, installed, &text).into_iter();
    let to_finding = |name: String| {
        let (shown, again) = (installed.file.display(), format!("portolan install {} --gate", host.name()));
        let message = format!("`{}` in `{shown}` is not behind the gate: run `{again}` to move it there", clip(&name));
        Finding::new(host.name(), State::Doubtful, message)
    };
    beside.map(to_finding).collect()
}

/// Reports the host's settings that switch all hooks off.
fn switched_off(project: &Path, host: Host) -> Vec<Finding> {
    let wrong = |message: String| Finding::new(host.name(), State::Wrong, message);
    let mut found = Vec::new();
    match host {
        Host::ClaudeCode => {
            for file in [".claude/settings.json", ".claude/settings.local.json"] {
                let settings =
                    files::read(&project.join(file)).ok().flatten().and_then(|text| splice::parsed(&text).ok());
                for switch in ["disableAllHooks", "allowManagedHooksOnly"] {
                    if settings.as_ref().is_some_and(|settings| settings[switch] == true) {
                        found.push(wrong(format!("`{switch}` in `{file}` disables every hook: remove it")));
                    }
                }
            }
        }
        Host::Codex => {
            let own = std::env::var_os("CODEX_HOME").map(std::path::PathBuf::from);
            let own = own.or_else(|| Some(std::env::home_dir()?.join(".codex"))).map(|home| home.join("config.toml"));
            let places = [Some(project.join(".codex/config.toml")), own.clone()];
            for place in places.into_iter().flatten() {
                let text = files::read(&place).ok().flatten().unwrap_or_default();
                if toml_switch(&text, "features", "hooks").is_some_and(|value| value == "false") {
                    found.push(wrong(format!(
                        "`hooks = false` in `{}` disables every hook: remove it",
                        place.display()
                    )));
                }
            }
            let trusted = own.and_then(|own| files::read(&own).ok().flatten()).is_some_and(|text| {
                text.contains(&format!("[hooks.state.\"{}:", project.join(".codex/hooks.json").display()))
            });
            if !trusted {
                let why = "the hooks are installed but not trusted, so Codex skips them: run `/hooks` in Codex";
                found.push(wrong(why.to_owned()));
            }
        }
        Host::Cursor | Host::Gemini | Host::OpenCode | Host::Copilot => {}
    }
    found
}

/// Returns the value of a key in a table of a TOML file, as written.
fn toml_switch<'a>(text: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let mut inside = false;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.trim_end_matches(']').trim() == table;
        } else if let Some((name, value)) = line.split_once('=') {
            let name = name.trim();
            let is_meant = if inside { name == key } else { name == format!("{table}.{key}") };
            if is_meant {
                return Some(value.trim());
            }
        }
    }
    None
}

/// How a host runs a hook.
enum Runs {
    /// A program and its arguments.
    Exec(Vec<String>),
    /// A shell command line.
    Shell(String),
}

async fn refuses(project: &Path, record: &Record, host: Host) -> Finding {
    let Some(event) = host.events().iter().find(|event| event.stage == Stage::BeforeTool && event.installed) else {
        return Finding::new(host.name(), State::Wrong, "this host has no hook that runs before a tool");
    };
    let Some((runs, file)) = runs(project, record, host, event) else {
        return Finding::new(host.name(), State::Wrong, format!("there is no hook for `{}`", event.name));
    };
    let call = forbidden(host, event, project, &file);
    match run(project, &runs, &call.to_string(), event.stage.host_timeout()).await {
        // A reply comes with status 0. With another status the program has failed, and would refuse any call.
        Ok(reply) if reply.status == 0 && is_denial(host, event.name, &reply) => {
            Finding::new(host.name(), State::Good, format!("a forbidden edit of `{file}` is refused by the hook"))
        }
        Ok(reply) => {
            let reason = reply.stderr.lines().next().unwrap_or_default().to_owned();
            let why = if reason.is_empty() { String::new() } else { format!(", saying: {reason}") };
            let what = if is_denial(host, event.name, &reply) {
                "every call is refused".to_owned()
            } else {
                format!("a forbidden edit of `{file}` is not refused")
            };
            let message = format!("{what}: the hook for `{}` ends with status {}{why}", event.name, reply.status);
            Finding::new(host.name(), State::Wrong, message)
        }
        Err(why) => Finding::new(host.name(), State::Wrong, format!("the hook for `{}` {why}", event.name)),
    }
}

/// Returns the command in the host's current file, and the path of the file.
fn runs(project: &Path, record: &Record, host: Host, event: &Event) -> Option<(Runs, String)> {
    for installed in record.of(host.name()) {
        let file = installed.file.to_string_lossy().into_owned();
        let Ok(Some(text)) = files::read(&project.join(&installed.file)) else { continue };
        if host == Host::OpenCode && file.ends_with(".js") {
            let line = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "))?;
            let program: String = serde_json::from_str(line).ok()?;
            let words = [&program, "hook", host.name(), event.name];
            return Some((Runs::Exec(words.map(str::to_owned).to_vec()), file));
        }
        let Ok(settings) = splice::parsed(&text) else { continue };
        let entries = settings["hooks"][event.name].as_array().cloned().unwrap_or_default();
        if let Some(entry) = entries.iter().find(|entry| super::hosts::is_ours(host, entry)) {
            return Some((command(entry)?, file));
        }
    }
    None
}

fn command(entry: &Value) -> Option<Runs> {
    let handler = entry["hooks"].get(0).unwrap_or(entry);
    let line = handler["command"].as_str().or_else(|| handler["bash"].as_str())?.to_owned();
    match handler["args"].as_array() {
        Some(args) => {
            let args = args.iter().map(|word| word.as_str().map(str::to_owned));
            std::iter::once(Some(line)).chain(args).collect::<Option<Vec<String>>>().map(Runs::Exec)
        }
        None => Some(Runs::Shell(line)),
    }
}

/// Returns a call, in the host's format, that is refused under any rules of the project.
fn forbidden(host: Host, event: &Event, project: &Path, file: &str) -> Value {
    let path = project.join(file);
    let (name, input) = match host {
        Host::ClaudeCode | Host::Cursor => ("Write", json!({ "file_path": path, "content": "{}" })),
        Host::Codex => {
            let patch = format!("*** Begin Patch\n*** Delete File: {}\n*** End Patch\n", path.display());
            ("apply_patch", json!({ "command": patch }))
        }
        Host::Gemini => ("write_file", json!({ "file_path": path, "content": "{}" })),
        Host::OpenCode => ("write", json!({ "filePath": path, "content": "" })),
        Host::Copilot => ("create", json!({ "path": path, "file_text": "{}" })),
    };
    json!({
        "session_id": "portolan-doctor",
        "tool_use_id": "portolan-doctor",
        "hook_event_name": event.name,
        "cwd": project,
        "tool_name": name,
        "tool_input": input,
    })
}

async fn run(project: &Path, runs: &Runs, input: &str, limit: Duration) -> Result<Reply, String> {
    let mut command = match runs {
        Runs::Exec(words) => {
            let (program, arguments) = words.split_first().ok_or("names no program")?;
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        Runs::Shell(line) => {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        }
    };
    command.current_dir(project).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let mut stdin = child.stdin.take();
    let answered = async {
        if let Some(stdin) = &mut stdin {
            // A program that does not read its input may answer nevertheless.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        drop(stdin);
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(limit, answered).await.map_err(|_| {
        format!("does not answer within {} s, after which the host lets the call through", limit.as_secs())
    })?;
    let output = output.map_err(|error| format!("cannot be run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Ok(Reply { stdout: text(&output.stdout), stderr: text(&output.stderr), status })
}

fn git_hooks(project: &Path, record: &Record) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = git::folder(project);
    for installed in record.of("git") {
        let finding = unchanged(project, installed);
        let elsewhere = match &folder {
            Ok(folder) => installed.file.parent() != Some(folder),
            Err(_) => true,
        };
        findings.push(if finding.state != State::Good {
            finding
        } else if elsewhere {
            let why = "git now looks for hooks elsewhere: see `git config --show-origin core.hooksPath`";
            Finding::new("git", State::Wrong, format!("`{}` is not run, because {why}", installed.file.display()))
        } else if !files::is_executable(&installed.file) {
            let shown = installed.file.display();
            Finding::new(
                "git",
                State::Wrong,
                format!("`{shown}` is not executable, so git skips it: run `chmod +x {shown}`"),
            )
        } else {
            finding
        });
    }
    findings
}

/// The environment variables that this program reads.
const VARIABLES: [&str; 9] = [
    "PORTOLAN_ALLOW_INTEGRATION_EDIT",
    "PORTOLAN_BYPASS_REASON",
    "PORTOLAN_DATA_DIR",
    "PORTOLAN_EVENTS_PATH",
    "PORTOLAN_PROJECT",
    "PORTOLAN_RUN",
    "PORTOLAN_SANDBOX",
    "PORTOLAN_SKIP_ISSUE_REF",
    "PORTOLAN_SKIP_QA_GATE",
];

/// Reports Portolan's variables. A misspelt bypass has no effect, which its user would not notice.
fn variables(environment: &[String]) -> Vec<Finding> {
    let ours = environment.iter().filter(|name| name.starts_with("PORTOLAN_"));
    ours.map(|name| {
        if VARIABLES.contains(&name.as_str()) {
            return Finding::new("environment", State::Good, format!("`{name}` is set"));
        }
        let near = |known: &&str| strsim::damerau_levenshtein(known, name);
        let closest = VARIABLES.into_iter().min_by_key(near).filter(|known| near(known) <= name.len() / 3);
        let meant = closest.map(|known| format!(": did you mean `{known}`?")).unwrap_or_default();
        Finding::new("environment", State::Doubtful, format!("`{name}` is set, but is not a known variable{meant}"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_told_from_a_known_one() {
        let names = ["PORTOLAN_SKIP_QA_GATE", "PORTOLAN_ALLOW_INTEGRRATION_EDIT", "PORTOLAN_SHINY_THING", "PATH"]
            .map(str::to_owned);
        let said: Vec<String> = variables(&names).into_iter().map(|finding| finding.message).collect();
        assert_eq!(
            said,
            [
                "`PORTOLAN_SKIP_QA_GATE` is set",
                "`PORTOLAN_ALLOW_INTEGRRATION_EDIT` is set, but is not a known variable: did you mean `PORTOLAN_ALLOW_INTEGRATION_EDIT`?",
                "`PORTOLAN_SHINY_THING` is set, but is not a known variable"
            ]
        );
    }

    #[test]
    fn a_switch_counts_in_its_own_table_only() {
        assert_eq!(toml_switch("[features]\nhooks = false # no\n", "features", "hooks"), Some("false"));
        assert_eq!(toml_switch("features.hooks = false\n", "features", "hooks"), Some("false"));
        assert_eq!(toml_switch("[other]\nhooks = false\n", "features", "hooks"), None);
        assert_eq!(toml_switch("# [features]\n# hooks = false\n", "features", "hooks"), None);
    }
}
