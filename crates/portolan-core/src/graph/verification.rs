//! Whether a node is left on a claim alone or on checks. Diagrams, counts and lists take it from here.

use serde::Serialize;

use super::{CheckBy, CheckedSteps, Flow, KeyResultCheck, Kind, Node, Worker};
use crate::expr::Expr;

/// Whether checks decide that a node is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// At least one check decides.
    Checked,
    /// The worker's claim decides.
    Believed,
}

impl Verification {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Verification::Checked => "checked",
            Verification::Believed => "believed",
        }
    }
}

/// A check that decides whether a node is left as done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeCheck<'n> {
    /// Its identifier, unique on the node.
    pub id: &'n str,
    /// How it is decided.
    pub by: DecidedBy<'n>,
    /// Whether the project attaches it by `.portolan/verify.yaml`.
    pub attached: bool,
}

/// How a check of a node is decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DecidedBy<'n> {
    /// A check outside the run decides.
    Check(&'n CheckBy),
    /// An expression over the output decides.
    Expr(&'n Expr),
    /// A model decides.
    Judge {
        /// The criterion.
        wanted: &'n str,
    },
}

impl Node {
    /// Returns the checks that must hold before it is left as done: the checks of work, and the key results of a state
    /// that are not advisory.
    pub fn checks(&self) -> Vec<NodeCheck<'_>> {
        if let Kind::State(state) = &self.kind {
            let needed = state.key_results.iter().filter(|result| !result.advisory);
            let check = needed.map(|result| {
                let by = match &result.by {
                    KeyResultCheck::Expr(expr) => DecidedBy::Expr(expr),
                    KeyResultCheck::Check(by) => DecidedBy::Check(by),
                    KeyResultCheck::Judge => DecidedBy::Judge { wanted: &result.description },
                };
                NodeCheck { id: &result.name.value, by, attached: result.attached }
            });
            return check.collect();
        }
        let accepted = self.accept.iter();
        accepted
            .map(|check| NodeCheck { id: check.id.as_str(), by: DecidedBy::Check(&check.by), attached: check.attached })
            .collect()
    }

    /// Returns whether a claim that the node is done is checked or believed. `None` if nobody makes a claim: the engine
    /// and functions make none.
    pub fn verification(&self) -> Option<Verification> {
        let is_claimed = match &self.kind {
            Kind::Work { .. } => true,
            Kind::State(state) => matches!(state.work, Worker::Model(_)),
            Kind::Start
            | Kind::End { .. }
            | Kind::Checkpoint { .. }
            | Kind::Fork { .. }
            | Kind::Join { .. }
            | Kind::Subflow { .. }
            | Kind::Compute(_)
            | Kind::Switch
            | Kind::Activity
            | Kind::Loop(_)
            | Kind::Repeat { .. }
            | Kind::Call(_)
            | Kind::Each(_) => return None,
        };
        match self.checks().is_empty() {
            false => Some(Verification::Checked),
            true => is_claimed.then_some(Verification::Believed),
        }
    }
}

impl Flow {
    /// Returns how many steps have checks, and which have none.
    pub fn checked(&self) -> CheckedSteps<'_> {
        let mut checked_steps = CheckedSteps::default();
        for step in self.steps.values() {
            match step.node.verification() {
                Some(Verification::Checked) => checked_steps.checked += 1,
                Some(Verification::Believed) => checked_steps.believed.push(&step.node.id),
                None => {}
            }
        }
        checked_steps
    }
}
