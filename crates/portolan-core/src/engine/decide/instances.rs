//! Questions that are asked once for each of several things, and how long their answers are valid.
//!
//! An answer is stored in a variable that no text can name. An answer that is valid for a visit is dropped at the next
//! one.

use serde_json::Value;

use super::walk::Draft;
use crate::graph::{Flow, Instance, Kind, Node, Question};
use crate::run::{Change, FramePath};
use crate::value::template;
use crate::value::{ANSWERED, NodeId, Outcome, WorkflowId};

/// The maximum length of the value that identifies a question, in bytes. With a longer one it is asked each time.
const MAX_KEY_BYTES: usize = 1_000;

impl Draft<'_> {
    /// Returns the earlier answer to a question for its present subject.
    pub(super) fn answered_before(&mut self, path: &FramePath, node: &Node) -> Option<Outcome> {
        let (question, instance) = instance_of(node)?;
        let name = self.name_of_answer(path, &node.id, instance)?;
        let owner = self.owner(path);
        let data = self.frame(&owner)?.data.as_ref()?;
        let option = Outcome::from(data.variables.get(&name)?.as_str()?);
        // Another definition may have had other options.
        question.choice(&option).is_some().then_some(option)
    }

    /// Checks whether a question was answered for its present subject.
    pub(super) fn is_answered_before(&mut self, path: &FramePath, flow: &WorkflowId, node: &NodeId) -> bool {
        let workflow = self.workflow;
        self.answered_before(path, &workflow.flow(flow).step(node).node).is_some()
    }

    /// Stores an answer.
    pub(super) fn keep_answer(&mut self, path: &FramePath, node: &Node, option: &Outcome) {
        let Some((_, instance)) = instance_of(node) else { return };
        if self.answered_before(path, node).as_ref() == Some(option) {
            return;
        }
        let Some(name) = self.name_of_answer(path, &node.id, instance) else { return };
        let frame = self.owner(path);
        self.emit(Change::Set { frame, name, value: Value::from(option.as_str()) });
    }

    /// Drops the answers of an earlier visit of an activity, which begins at `node`.
    pub(super) fn forget_answers(&mut self, path: &FramePath, flow: &Flow, node: &NodeId) {
        let owner = self.owner(path);
        let Some(data) = self.frame(&owner).and_then(|frame| frame.data.as_ref()) else { return };
        let holds_no_longer = |name: &&String| {
            let Some((of, _)) = name.strip_prefix(ANSWERED).and_then(|name| name.split_once('#')) else { return false };
            let is_inside = of.strip_prefix(node.as_str()).is_some_and(|rest| rest.starts_with('.'));
            let step = flow.steps.get(of).filter(|_| is_inside);
            step.is_none_or(|step| instance_of(&step.node).is_some_and(|(_, instance)| !instance.for_run)) && is_inside
        };
        let names: Vec<String> = data.variables.keys().filter(holds_no_longer).cloned().collect();
        for name in names {
            self.emit(Change::Set { frame: owner.clone(), name, value: Value::Null });
        }
    }

    fn name_of_answer(&mut self, path: &FramePath, node: &NodeId, instance: &Instance) -> Option<String> {
        let variables = self.run().variables(path);
        let of = template::filled(&instance.of, &variables, MAX_KEY_BYTES)?;
        Some(format!("{ANSWERED}{node}#{of}"))
    }
}

fn instance_of(node: &Node) -> Option<(&Question, &Instance)> {
    let Kind::Checkpoint { question: Some(question), .. } = &node.kind else { return None };
    Some((question, question.instance.as_ref()?))
}
