//! `portolan install`: makes a coding agent, or git, ask before it acts.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::people::People;
use portolan_supervision::sandbox;
use serde_json::json;

use super::output::{one_line, safe};
use super::{Common, Exit, person};
use crate::hook::Host;
use crate::install::{Direction, Extras, Plan, Target, gate, plugin, program};

/// Put hooks into a coding agent's settings and into git.
///
/// Only the settings of this project change. Git's hooks are installed with an agent's: only they see what a script
/// does.
///
/// Example: portolan install claude-code --print
#[derive(Args)]
#[command(after_help = "Your own entries in these files are not changed. What is installed is recorded in \
        .portolan/installed.json; `portolan doctor` checks that it still works.")]
pub(super) struct Install {
    /// The agent, or git.
    #[arg(value_enum, value_name = "FOR")]
    target: Name,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Remove what was installed.
    #[arg(long)]
    uninstall: bool,
    /// Show the changes without making them.
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// Write a plug-in for Claude Code into this folder instead.
    /// The folder has the manifest of a marketplace.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["uninstall", "print"])]
    plugin: Option<PathBuf>,
    /// Run the host's shell where it cannot write the files of the gates.
    /// Later installations keep this.
    #[arg(long, conflicts_with_all = ["uninstall", "plugin"])]
    sandbox: bool,
    /// Move the agent's other MCP servers behind `portolan gate`.
    /// Later installations keep this; `--uninstall` gives the file back as it was.
    #[arg(long, conflicts_with_all = ["uninstall", "plugin"])]
    gate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    ClaudeCode,
    Codex,
    Cursor,
    Gemini,
    #[value(name = "opencode")]
    OpenCode,
    Copilot,
    /// Only git's own hooks, which check every commit.
    Git,
}

impl Name {
    fn target(self) -> Target {
        match self {
            Name::ClaudeCode => Target::Host(Host::ClaudeCode),
            Name::Codex => Target::Host(Host::Codex),
            Name::Cursor => Target::Host(Host::Cursor),
            Name::Gemini => Target::Host(Host::Gemini),
            Name::OpenCode => Target::Host(Host::OpenCode),
            Name::Copilot => Target::Host(Host::Copilot),
            Name::Git => Target::Git,
        }
    }
}

pub(super) fn run(args: &Install, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let target = args.target.target();
    if let Some(folder) = &args.plugin {
        return write_plugin(target, folder, common);
    }
    let direction = if args.uninstall { Direction::Uninstall } else { Direction::Install };
    if args.sandbox {
        check_sandbox(target)?;
    }
    if args.gate {
        check_gate(target)?;
    }
    let (program, note) = program()?;
    let extras = Extras { sandbox: args.sandbox, gate: args.gate };
    let mut plan = Plan::of(target, direction, extras, &project, &program)?;
    if direction == Direction::Install {
        plan.notes.splice(0..0, note);
    }
    let notes = std::mem::take(&mut plan.notes);
    let changed = !plan.is_empty();
    let files: Vec<String> = plan.files().iter().map(|file| file.display().to_string()).collect();
    if !output.is_json() && changed {
        output.line(safe(&plan.diff()).trim_end())?;
    }
    if args.uninstall && changed && !args.print {
        person::confirmed(&Service::new(common.options()?)?, "may remove the gates")?;
    }
    let done = !args.print && (!changed || person::consented("Make these changes?", args.yes)?);
    if done {
        plan.perform()?;
    }
    if done && direction == Direction::Install {
        // Names the passphrase in the log, so that a later replacement is detected.
        People::of(&Service::new(common.options()?)?).name_passphrase()?;
    }
    if output.is_json() {
        output.json(&json!({ "for": target.name(), "files": files, "done": done && changed, "notes": notes }))?;
        return Ok(Exit::Done);
    }
    let message = match (changed, done, direction) {
        (false, ..) => "there is nothing to do",
        (true, false, _) => "nothing was changed",
        (true, true, Direction::Install) => "installed; run `portolan doctor` to check that it works",
        (true, true, Direction::Uninstall) => "uninstalled",
    };
    output.remark(message);
    for note in notes.iter().filter(|_| changed || args.print) {
        output.remark(safe(note));
    }
    Ok(if changed && !done && !args.print { Exit::Refused } else { Exit::Done })
}

/// Refuses a sandbox that would prevent every command of the shell.
fn check_sandbox(target: Target) -> Result<(), ServiceError> {
    if target != Target::Host(Host::ClaudeCode) {
        let message = format!("the shell of `{}` cannot be run in a sandbox", target.name());
        return Err(ServiceError::refused("no_sandbox", message, "leave `--sandbox` out; it is for `claude-code`"));
    }
    let help = "set up the sandbox (docs/sandbox.md says what it needs), or leave `--sandbox` out";
    sandbox::check_available().map_err(|why| ServiceError::refused("no_sandbox", why, help))
}

/// Refuses the gate for a target whose servers are in no file that the installation changes.
fn check_gate(target: Target) -> Result<(), ServiceError> {
    if matches!(target, Target::Host(host) if gate::has_servers(host)) {
        return Ok(());
    }
    let message = format!("the MCP servers of `{}` cannot be moved behind the gate", target.name());
    let help = "leave `--gate` out, and start `portolan gate` in the place of the servers yourself: see docs/gate.md";
    Err(ServiceError::refused("no_gate", message, help))
}

/// Writes the plug-in without asking: the folder was named on the command line, and nothing else is written.
fn write_plugin(target: Target, folder: &Path, common: &Common) -> anyhow::Result<Exit> {
    if target != Target::Host(Host::ClaudeCode) {
        let message = format!("there is no plug-in for `{}`", target.name());
        return Err(ServiceError::refused("no_plugin", message, "leave `--plugin` out").into());
    }
    let output = common.output();
    let written: Vec<String> = plugin::write(folder)?.iter().map(|path| path.display().to_string()).collect();
    if output.is_json() {
        output.json(&json!({ "for": target.name(), "files": written, "done": true, "notes": [] }))?;
        return Ok(Exit::Done);
    }
    for path in &written {
        output.line(one_line(path))?;
    }
    output.remark(format!("in Claude Code: /plugin marketplace add {}", one_line(&folder.display().to_string())));
    Ok(Exit::Done)
}
