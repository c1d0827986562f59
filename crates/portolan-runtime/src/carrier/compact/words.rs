//! The words of a definition, as lists that both sides derive from it: a state names words by their indices.
//!
//! The lists are sorted, so that they do not depend on the order in which a release creates nodes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::graph::{Flow, Kind, LoopKind, Question, Step, Workflow};
use portolan_core::value::{CANCELLED, FAILED, NodeId, PASS, PASSED, SKIPPED, WorkflowId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::bytes::Out;

/// Enough bytes that a release which reads the definition differently does not continue at another node by accident.
pub(super) const CHECK_BYTES: usize = 2;

/// The words of every definition, even if it does not contain them.
const ALWAYS: [&str; 5] = [CANCELLED, FAILED, PASS, PASSED, SKIPPED];

/// The maximum number of definitions whose words are cached.
const MAX_KNOWN: usize = 64;

/// The words of the definitions that were used last. Deriving them takes longer than everything else that is done with
/// a state.
#[derive(Default)]
pub(crate) struct KnownWords(Mutex<Vec<(Arc<Workflow>, Arc<Words>)>>);

impl KnownWords {
    pub(crate) fn of(&self, workflow: &Arc<Workflow>) -> Arc<Words> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, words)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, workflow)) {
            return Arc::clone(words);
        }
        let words = Arc::new(Words::of(workflow));
        if known.len() == MAX_KNOWN {
            known.remove(0);
        }
        known.push((Arc::clone(workflow), Arc::clone(&words)));
        words
    }
}

/// The words of a definition.
pub(crate) struct Words {
    /// The names of workflows and variables, and the keys of objects.
    pub(super) names: List,
    /// The nodes of all workflows.
    pub(super) nodes: List,
    /// The outcomes, the checks, and the texts to which variables are set.
    pub(super) texts: List,
    /// A check of the lists and of the initial values of variables: of everything that a state leaves to the
    /// definition.
    pub(super) check: [u8; CHECK_BYTES],
}

/// A sorted list of distinct words.
pub(super) struct List(Vec<Box<str>>);

impl List {
    pub(super) fn number(&self, word: &str) -> Option<usize> {
        self.0.binary_search_by(|known| (**known).cmp(word)).ok()
    }

    pub(super) fn word(&self, number: usize) -> Option<&str> {
        self.0.get(number).map(|word| &**word)
    }
}

impl Words {
    pub(super) fn of(workflow: &Workflow) -> Words {
        let mut found = FoundWords { texts: BTreeSet::from(ALWAYS), ..FoundWords::default() };
        for (id, flow) in workflow.flows() {
            found.flow(id, flow);
        }
        let list = |words: BTreeSet<&str>| List(words.into_iter().map(Box::from).collect());
        let (names, nodes, texts) = (list(found.names), list(found.nodes), list(found.texts));
        let words = Words { names, nodes, texts, check: Default::default() };
        Words { check: words.sum(workflow), ..words }
    }

    fn sum(&self, workflow: &Workflow) -> [u8; CHECK_BYTES] {
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
struct FoundWords<'w> {
    names: BTreeSet<&'w str>,
    nodes: BTreeSet<&'w str>,
    texts: BTreeSet<&'w str>,
}

impl<'w> FoundWords<'w> {
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
