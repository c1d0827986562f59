//! A driver that `.portolan/plugins.yaml` of a project declares. Only its time is known of its usage.

use portolan_gates::plugins::Driver;
use portolan_gates::supervisor::Usage;

use super::process::{Program, run, short};
use super::{AgentDriver, Assignment, SessionFuture, SessionResult, on_path};

/// A driver that a project declares.
pub struct DeclaredDriver(pub Driver);

impl AgentDriver for DeclaredDriver {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn available(&self) -> Result<(), String> {
        match self.0.argv.first() {
            Some(program) if !program.contains('/') => on_path(program),
            _ => Ok(()),
        }
    }

    fn run_phase<'a>(&'a self, assignment: &'a Assignment) -> SessionFuture<'a> {
        Box::pin(async move {
            let argv = filled(&self.0.argv, assignment);
            let is_given = self.0.argv.iter().any(|word| word == "{prompt}");
            let input = if is_given { "" } else { assignment.prompt.as_str() };
            let (folder, deadline) = (&assignment.project, assignment.deadline);
            let printed = match run(Program { argv: &argv, folder, input, deadline, secrets: true }).await {
                Ok(printed) => printed,
                Err(failed) => return failed,
            };
            SessionResult {
                final_message: short(&printed.out),
                usage: Usage { wall_ms: Some(printed.took_ms), ..Usage::default() },
                failed: printed.failure(&self.0.argv[0]),
                ..SessionResult::default()
            }
        })
    }
}

/// Fills in whole arguments, never parts of one: the text of an issue or a commit cannot become an option.
fn filled(argv: &[String], assignment: &Assignment) -> Vec<String> {
    let word = |word: &String| match word.as_str() {
        "{prompt}" => assignment.prompt.clone(),
        "{task}" => assignment.task.clone(),
        "{phase}" => assignment.phase.clone(),
        _ => word.clone(),
    };
    argv.iter().map(word).collect()
}
