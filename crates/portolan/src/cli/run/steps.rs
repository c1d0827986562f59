//! Stepping through a run at the terminal: one command per line.

use std::io::BufRead;

use portolan_core::graph::Workflow;
use portolan_core::present::{Redaction, context};
use portolan_runtime::drive::{Control, Phase};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::cli::Output;
use crate::cli::output::{one_line, safe};

const COMMANDS: &str = "Enter: next node, c: continue, p: print the context, q: stop";

/// Reads commands whenever the run waits, until it is over.
pub(super) async fn steps(output: Output, control: &Control, workflow: &Workflow, hidden: &Redaction) {
    let mut lines = lines();
    while control.paused().await == Phase::Paused {
        let at = control.waits_before().unwrap_or_default();
        output.remark(one_line(&format!("paused before `{at}` ({COMMANDS})")));
        if !command(output, control, &mut lines, workflow, hidden).await {
            return;
        }
    }
}

/// Reads a command that continues the run. Returns `false` if no more can follow.
async fn command(
    output: Output,
    control: &Control,
    lines: &mut mpsc::Receiver<String>,
    workflow: &Workflow,
    hidden: &Redaction,
) -> bool {
    loop {
        // At the end of the input a waiting run would wait for ever.
        let line = lines.recv().await.unwrap_or_else(|| "q".to_owned());
        let moved = match line.trim() {
            "" | "s" => control.step(),
            "c" => control.resume(),
            "q" => {
                // The run may have ended meanwhile, which has the same result.
                let _ = control.stop();
                return false;
            }
            "p" => {
                print(output, control, workflow, hidden);
                continue;
            }
            other => {
                output.remark(one_line(&format!("`{other}` is not a command ({COMMANDS})")));
                continue;
            }
        };
        if moved.is_ok() {
            return true;
        }
    }
}

fn print(output: Output, control: &Control, workflow: &Workflow, hidden: &Redaction) {
    let Some(run) = control.context() else { return };
    for (path, outputs) in context(workflow, &run, hidden) {
        let text = serde_json::to_string_pretty(&outputs).unwrap_or_else(|_| Value::Null.to_string());
        let lead = if path.is_empty() { String::new() } else { format!("{path}: ") };
        output.remark(safe(&format!("{lead}{text}")));
    }
}

/// Returns the lines of standard input. The thread that reads them cannot be interrupted, and ends with the process.
fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
