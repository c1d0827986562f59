//! The scripted agent: a real MCP client that prints each call and each answer.

use std::process::Command;

use anyhow::{Context, ensure};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value, json};

use super::folder::DemoFolder;
use crate::cli::output::{Output, Paint};

pub(super) struct Agent {
    client: RunningService<RoleClient, ClientConfig>,
    output: Output,
    /// The latest situation, which is all that the agent knows.
    situation: Value,
}

impl Agent {
    pub(super) async fn connect(scene: &DemoFolder, output: Output) -> anyhow::Result<Agent> {
        let mut server = scene.command(Command::new(std::env::current_exe()?));
        server.args(["serve", "--human", "verified"]);
        let transport = TokioChildProcess::new(tokio::process::Command::from(server))?;
        let me = ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("demo-agent", env!("CARGO_PKG_VERSION")),
        );
        let client = me.serve(transport).await.context("the server did not answer")?;
        Ok(Agent { client, output, situation: Value::Null })
    }

    pub(super) async fn leave(self) -> anyhow::Result<()> {
        self.client.cancel().await?;
        Ok(())
    }

    pub(super) fn revision(&self) -> Value {
        self.situation["position"]["revision"].clone()
    }

    /// Makes a call that must be accepted.
    pub(super) async fn call(&mut self, tool: &'static str, arguments: Value) -> anyhow::Result<Value> {
        let (answer, is_error) = self.send(tool, &arguments).await?;
        ensure!(!is_error, "{tool} was refused: {}", answer["message"]);
        self.show(&answer)?;
        self.situation = answer.clone();
        Ok(answer)
    }

    /// Sends the first required action unchanged, which must be accepted. Returns its arguments.
    pub(super) async fn offered(&mut self, tool: &'static str) -> anyhow::Result<Value> {
        let action = self.situation["actions"]["required"][0].clone();
        ensure!(action["tool"] == tool, "the situation offers {action}, not {tool}");
        self.call(tool, action["arguments"].clone()).await?;
        Ok(action["arguments"].clone())
    }

    /// Sends the first required action as a claim that the checks refute.
    pub(super) async fn unproven(&mut self) -> anyhow::Result<()> {
        self.offered("Next").await?;
        ensure!(self.situation["claim"]["held"] == json!(false), "the claim was accepted");
        Ok(())
    }

    /// Makes a call that must be refused.
    pub(super) async fn refused(&mut self, tool: &'static str, arguments: Value, code: &str) -> anyhow::Result<()> {
        let (answer, is_error) = self.send(tool, &arguments).await?;
        ensure!(is_error && answer["error"] == code, "{tool} returned {answer}");
        self.line(Paint::Bad, &format!("refused ({code}): {}", text(&answer["message"])))?;
        self.line(Paint::Faint, &format!("help: {}", text(&answer["help"])))
    }

    async fn send(&self, tool: &'static str, arguments: &Value) -> anyhow::Result<(Value, bool)> {
        self.output.line(format!("  → {tool} {arguments}"))?;
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let result: CallToolResult =
            self.client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?;
        let answer = result.structured_content.context("the answer has no structured content")?;
        Ok((answer, result.is_error == Some(true)))
    }

    fn show(&self, answer: &Value) -> anyhow::Result<()> {
        if answer["claim"]["held"] == json!(false) {
            for check in
                answer["claim"]["checks"].as_array().into_iter().flatten().filter(|check| check["held"] == json!(false))
            {
                self.line(
                    Paint::Bad,
                    &format!("refused: `{}` did not hold: {}", text(&check["id"]), text(&check["reason"])),
                )?;
            }
        }
        let position = &answer["position"];
        let retries = &position["retries"];
        let retries = match retries["used"].as_u64() {
            Some(used) if used > 0 => {
                format!(", retry {used} of {} for `{}`", retries["budget"], text(&retries["gate"]))
            }
            _ => String::new(),
        };
        self.line(Paint::Strong, &format!("← {} · {}{retries}", text(&answer["currentStep"]), text(&answer["state"])))?;
        for line in text(&answer["instructions"]).lines().filter(|line| !line.trim().is_empty()).take(14) {
            self.line(Paint::Faint, &format!("  {line}"))?;
        }
        for (word, list) in [("must", "required"), ("may", "optional"), ("blocked", "blocked")] {
            for action in answer["actions"][list].as_array().into_iter().flatten() {
                let lifted = action["liftedBy"].as_str().map_or_else(String::new, |lifted| format!(", until {lifted}"));
                self.line(Paint::Faint, &format!("  {word}: {}{lifted}", text(&action["title"])))?;
            }
        }
        Ok(())
    }

    fn line(&self, paint: Paint, line: &str) -> anyhow::Result<()> {
        self.output.line(format!("  {}", self.output.paint(paint, line)))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
