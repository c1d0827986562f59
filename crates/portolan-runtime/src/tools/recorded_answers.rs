//! Written answers: a function can be run, and tested, without its servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portolan_core::dialect::script::Answers;
use portolan_core::engine::Effect;
use portolan_core::run::Reply;

use super::fault;

pub use portolan_core::dialect::script::ScriptedAnswer;

/// The written answers of a run.
#[derive(Debug, Default)]
pub struct RecordedAnswers {
    nodes: BTreeMap<String, Node>,
}

#[derive(Debug, Default)]
struct Node {
    answers: Vec<ScriptedAnswer>,
    given: AtomicUsize,
}

impl RecordedAnswers {
    /// Returns answers by node. Each call gets the next answer of its node, and the last one serves all later calls.
    pub fn new(nodes: impl IntoIterator<Item = (String, Vec<ScriptedAnswer>)>) -> RecordedAnswers {
        let nodes = nodes.into_iter().map(|(name, answers)| (name, Node { answers, given: AtomicUsize::new(0) }));
        RecordedAnswers { nodes: nodes.collect() }
    }

    /// Returns the answers of a script.
    pub fn of(answers: &Answers) -> RecordedAnswers {
        RecordedAnswers::new(answers.iter().map(|(name, answers)| (name.clone(), answers.value.clone())))
    }

    /// Returns the nodes with answers that were never called.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.nodes.iter().filter(|(_, node)| node.given.load(Ordering::Relaxed) == 0);
        unused.map(|(name, _)| name.as_str())
    }

    pub(super) fn answer(&self, effect: &Effect) -> Option<Reply> {
        let node = self.nodes.get(&name(effect)).or_else(|| self.nodes.get(effect.node().as_str()))?;
        let turn = node.given.fetch_add(1, Ordering::Relaxed);
        let answer = node.answers.get(turn).or_else(|| node.answers.last())?;
        Some(match answer {
            ScriptedAnswer::Output(output) => Reply::Output(Some(Arc::new(output.clone()))),
            ScriptedAnswer::Failure { message, code } => {
                Reply::Failed(fault(effect, code.as_deref().unwrap_or(TOOL_ERROR), message.as_str(), ""))
            }
        })
    }
}

/// The code of a tool that reports a failure.
pub(super) const TOOL_ERROR: &str = "tool-error";

/// Returns the key of a node's answers: `function.node`. `node` alone is the fallback.
pub(super) fn name(effect: &Effect) -> String {
    format!("{}.{}", effect.flow, effect.node())
}
