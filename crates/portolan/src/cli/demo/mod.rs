//! `portolan demo`: a scripted agent follows a workflow over real MCP, and tries to cheat.
//!
//! Everything but the agent's lines is real: a repository, `portolan serve` as a child process, an MCP client, `cargo
//! test` as a check, and `portolan runs answer` for the person.

mod agent;
mod folder;

use std::process::Command;

use clap::Args;
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::output::{Output, Paint};
use super::{Common, Exit, block_on};
use agent::Agent;
use folder::DemoFolder;

/// Watch an agent follow a workflow, and be refused when it cheats.
///
/// Example: portolan demo
#[derive(Args)]
pub(super) struct Demo {}

pub(super) fn run(_args: &Demo, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    if output.is_json() {
        let help = "leave `--format json` out";
        return Err(ServiceError::refused("text_only", "the demo has only text output", help).into());
    }
    let scene = DemoFolder::set()?;
    block_on(play(&scene, output))??;
    Ok(Exit::Done)
}

async fn play(scene: &DemoFolder, output: Output) -> anyhow::Result<()> {
    let stage = Stage { scene, output };
    stage
        .say("A scratch repository with one workflow, `greeting`: plan → write → verify → approve → publish → done.")?;
    stage.shell(&["show", folder::WORKFLOW_FILE])?;
    stage.say("Its checks run `cargo test`. No command from a repository runs before a person trusts it:")?;
    stage.shell(&["trust", folder::WORKFLOW_FILE])?;
    stage.say(
        "The server starts as a child process of an MCP client; it accepts a person's answer only from the person.",
    )?;
    let mut agent = Agent::connect(scene, output).await?;
    let run = begin(&stage, &mut agent).await?;
    work(&stage, &mut agent).await?;
    approve(&stage, &mut agent, &run).await?;
    agent.leave().await?;
    stage.say("What happened, from the journal:")?;
    stage.shell(&["runs", "events", &run])?;
    stage.say(&format!("The journal is {}", scene.journal().display()))?;
    stage.say(&format!(
        "and the project is {}. Look around: `portolan runs show {run} --project <that folder>`",
        scene.project().display()
    ))
}

async fn begin(stage: &Stage<'_>, agent: &mut Agent) -> anyhow::Result<String> {
    let opened =
        agent.call("Init", json!({ "workflowType": "greeting", "description": "greet the user politely" })).await?;
    let run = opened["run"].as_str().unwrap_or_default().to_owned();
    stage.cheat("it tries to start directly at the publish step")?;
    agent.refused("Init", json!({ "workflowType": "greeting", "stepId": "publish" }), "needs_person").await?;
    agent.offered("Start").await?;
    stage.cheat("it reports that the plan is written, but there is no plan")?;
    agent.unproven().await?;
    stage.act("it writes docs/plan.md and sends the offered call unchanged")?;
    stage.scene.write("docs/plan.md", "Say hello by name, in one sentence.\n")?;
    let spent = agent.offered("Next").await?;
    stage.cheat("it replays the same call, to pass another step without doing it")?;
    agent.refused("Next", spent, "stale").await?;
    Ok(run)
}

async fn work(stage: &Stage<'_>, agent: &mut Agent) -> anyhow::Result<()> {
    stage.act("it writes src/lib.rs, with a mistake in it, and reports the step done")?;
    stage.scene.write("src/lib.rs", folder::BROKEN)?;
    agent.offered("Next").await?;
    stage.cheat("at the gate it reports `passed` without checking; the gate runs the tests itself")?;
    agent.unproven().await?;
    stage.act("sent back with the failure as feedback, it fixes the code")?;
    stage.scene.write("src/lib.rs", folder::MENDED)?;
    agent.offered("Next").await?;
    stage.act("at the gate again: now the tests pass")?;
    agent.offered("Next").await?;
    Ok(())
}

async fn approve(stage: &Stage<'_>, agent: &mut Agent, run: &str) -> anyhow::Result<()> {
    stage.cheat("a person is asked to approve the release; the agent answers for them")?;
    let guess = json!({ "run": run, "revision": agent.revision(), "result": "passed" });
    agent.refused("Next", guess, "needs_person").await?;
    stage.say("The person answers through a channel that the agent has no access to:")?;
    stage.shell(&["runs", "answer", run, "passed", "--note", "go ahead"])?;
    stage.act("the agent checks where it is, and finishes")?;
    agent.call("Current", json!({ "run": run })).await?;
    agent.offered("Next").await?;
    Ok(())
}

/// The demo's folder and output.
struct Stage<'a> {
    scene: &'a DemoFolder,
    output: Output,
}

impl Stage<'_> {
    fn say(&self, text: &str) -> anyhow::Result<()> {
        self.output.line(format!("\n{}", self.output.paint(Paint::Strong, text)))
    }

    fn act(&self, text: &str) -> anyhow::Result<()> {
        self.output.line(format!("\n{} {text}", self.output.paint(Paint::Good, "agent:")))
    }

    fn cheat(&self, text: &str) -> anyhow::Result<()> {
        self.output.line(format!("\n{} {text}", self.output.paint(Paint::Warn, "agent cheats:")))
    }

    /// Runs `portolan` itself, as the person would at a shell.
    fn shell(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        self.output.line(format!("  $ portolan {}", shown.join(" ")))?;
        let done = self.scene.command(Command::new(std::env::current_exe()?)).args(arguments).output()?;
        for line in String::from_utf8_lossy(&done.stdout).lines().chain(String::from_utf8_lossy(&done.stderr).lines()) {
            self.output.line(format!("    {line}"))?;
        }
        anyhow::ensure!(done.status.success(), "`portolan {}` ended with {}", arguments.join(" "), done.status);
        Ok(())
    }
}
