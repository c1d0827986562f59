//! The words of a definition, in lists that both sides make of it: a state names them by their numbers.
//!
//! The lists are sorted, so that they do not depend on the order in which a release makes nodes of a text.

use std::collections::BTreeSet;

use portolan_core::graph::{Flow, Kind, LoopKind, Question, Step, Workflow};
use portolan_core::value::{CANCELLED, FAILED, NodeId, PASS, PASSED, SKIPPED, WorkflowId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::bytes::Out;

/// Enough that a release which reads the definition otherwise does not go on at another node by accident.
pub(super) const CHECK_BYTES: usize = 2;

/// What every definition has, whether it says so or not.
const ALWAYS: [&str; 5] = [CANCELLED, FAILED, PASS, PASSED, SKIPPED];

/// The words of a definition.
pub(super) struct Words<'w> {
    /// Workflows and variables, and the keys of objects.
    pub(super) names: List<'w>,
    /// Nodes, of all workflows.
    pub(super) nodes: List<'w>,
    /// Outcomes, checks, and the texts that variables are set to.
    pub(super) texts: List<'w>,
}

/// Sorted, each word once.
pub(super) struct List<'w>(Vec<&'w str>);

impl<'w> List<'w> {
    pub(super) fn number(&self, word: &str) -> Option<usize> {
        self.0.binary_search(&word).ok()
    }

    pub(super) fn word(&self, number: usize) -> Option<&'w str> {
        self.0.get(number).copied()
    }
}

impl<'w> Words<'w> {
    pub(super) fn of(workflow: &'w Workflow) -> Words<'w> {
        let mut found = Found { texts: BTreeSet::from(ALWAYS), ..Found::default() };
        for (id, flow) in workflow.flows() {
            found.flow(id, flow);
        }
        let list = |words: BTreeSet<&'w str>| List(words.into_iter().collect());
        Words { names: list(found.names), nodes: list(found.nodes), texts: list(found.texts) }
    }

    /// Vouches for the lists and for what variables hold at first: for all that a state leaves to the definition.
    pub(super) fn check(&self, workflow: &Workflow) -> [u8; CHECK_BYTES] {
        let mut out = Out::new(self);
        for list in [&self.names, &self.nodes, &self.texts] {
            out.list(list.0.iter(), |out, word| out.own(word));
        }
        let mut flows: Vec<(&WorkflowId, &Flow)> = workflow.flows().collect();
        flows.sort_unstable_by_key(|(id, _)| *id);
        out.list(flows.iter(), |out, (id, flow)| {
            out.own(id.as_str());
            out.list(flow.variables.iter(), |out, variable| {
                out.own(&variable.name.value);
                out.own(variable.kind.word());
                out.option(variable.default.as_ref(), Out::value);
            });
        });
        let hash = Sha256::digest(out.bytes());
        *hash.first_chunk().expect("a SHA-256 is longer")
    }
}

#[derive(Default)]
struct Found<'w> {
    names: BTreeSet<&'w str>,
    nodes: BTreeSet<&'w str>,
    texts: BTreeSet<&'w str>,
}

impl<'w> Found<'w> {
    fn flow(&mut self, id: &'w WorkflowId, flow: &'w Flow) {
        self.names.insert(id.as_str());
        for variable in &flow.variables {
            self.names.insert(&variable.name.value);
            variable.default.iter().for_each(|value| self.value(value));
        }
        for (id, step) in &flow.steps {
            self.step(id, step);
        }
    }

    fn step(&mut self, id: &'w NodeId, step: &'w Step) {
        self.nodes.insert(id.as_str());
        self.texts.extend(step.exits.on.iter().map(|(outcome, _)| outcome.as_str()));
        self.texts.extend(step.node.accept.iter().map(|check| check.id.as_str()));
        self.sets(&step.node.sets);
        match &step.node.kind {
            Kind::Checkpoint { question: Some(question), .. } => self.question(question),
            Kind::Loop(looping) => {
                if let LoopKind::ForEach { variable, .. } = &looping.kind {
                    self.names.insert(variable);
                }
            }
            _ => {}
        }
    }

    fn question(&mut self, question: &'w Question) {
        for option in &question.options {
            self.texts.insert(option.id.as_str());
            self.sets(&option.sets);
        }
    }

    fn sets(&mut self, sets: &'w [(String, Value)]) {
        for (name, value) in sets {
            self.names.insert(name);
            self.value(value);
        }
    }

    fn value(&mut self, value: &'w Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                self.texts.insert(text);
            }
            Value::Array(values) => values.iter().for_each(|value| self.value(value)),
            Value::Object(values) => {
                for (key, value) in values {
                    self.names.insert(key);
                    self.value(value);
                }
            }
        }
    }
}
