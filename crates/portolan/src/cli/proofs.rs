//! The properties that `portolan check` proves, and the runs that refute the others.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use portolan_core::diagnostic::Diagnostic;
use portolan_core::graph::Workflow;
use portolan_core::prove::{Counterexample, ProofFinding};
use portolan_runtime::library::DefinitionReview;
use portolan_runtime::proof::{Effort, analyse};

use super::check::Check;
use super::output::{Output, one_line};

/// The analysis results of the checked workflows.
pub(super) struct Proofs {
    effort: Effort,
    explain: Option<String>,
    folder: Option<PathBuf>,
    /// The proved properties, by workflow.
    lines: Vec<(String, String)>,
    /// The runs that refute a property, each with its workflow and its code.
    runs: Vec<(String, &'static str, Counterexample)>,
}

impl Proofs {
    pub(super) fn of(args: &Check) -> Proofs {
        let (explain, folder) = args.wanted();
        let (explain, folder) = (explain.map(str::to_owned), folder.map(PathBuf::from));
        Proofs { effort: args.effort(), explain, folder, lines: Vec::new(), runs: Vec::new() }
    }

    /// Adds the findings of the analysis to a review.
    pub(super) fn added<'w>(
        &mut self,
        review: DefinitionReview,
        workflows: impl Iterator<Item = &'w Workflow>,
    ) -> DefinitionReview {
        let DefinitionReview { source, mut faults } = review;
        let known = faults.len();
        for workflow in workflows {
            let proof = analyse(workflow, self.effort);
            let id = workflow.id().to_string();
            let counted = workflow.root().checked().counted().map(|counted| format!(" · {counted}"));
            self.lines.push((id.clone(), proof.summary() + &counted.unwrap_or_default()));
            for ProofFinding { diagnostic, run } in proof.findings(workflow) {
                self.runs.extend(run.map(|run| (id.clone(), diagnostic.code, run)));
                faults.push(diagnostic);
            }
        }
        if faults.len() > known {
            faults.sort_by_key(|fault: &Diagnostic| (fault.span.map_or(0, |span| span.start), fault.code));
        }
        DefinitionReview { source, faults }
    }

    /// Prints one line of results per workflow, and the requested runs.
    pub(super) fn print(&self, output: &Output) -> anyhow::Result<()> {
        for (id, line) in &self.lines {
            output.line(format!("{}: {line}", one_line(id)))?;
        }
        let wanted = self.runs.iter().filter(|(_, code, _)| self.explain.as_deref() == Some(code));
        for (id, code, run) in wanted {
            output.line(format!("\n{code} in {}:", one_line(id)))?;
            for (number, line) in run.lines.iter().enumerate() {
                output.line(format!(
                    "  {:>3}  {}: {}",
                    number + 1,
                    one_line(line.node.as_str()),
                    one_line(&line.what)
                ))?;
            }
            for assumed in &run.assumes {
                output.line(format!("       supposing that {}", one_line(assumed)))?;
            }
        }
        Ok(())
    }

    /// Writes the runs to the folder, if one was requested.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::create_dir_all(folder).with_context(|| format!("`{}` cannot be created", folder.display()))?;
        for (number, (id, code, run)) in self.runs.iter().enumerate() {
            let name: String =
                id.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).take(80).collect();
            let file = folder.join(format!("{name}-{code}-{}.json", number + 1));
            let text = serde_json::to_string_pretty(run)?;
            fs::write(&file, text + "\n").with_context(|| format!("`{}` cannot be written", file.display()))?;
        }
        Ok(())
    }
}
