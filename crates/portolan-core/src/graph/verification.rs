//! What stands between a claim that a node is done and the way on. Pictures, counts and lists of it read it here.

use serde::Serialize;

use super::{CheckBy, CheckedSteps, Flow, KeyResultCheck, Kind, Node, Worker};
use crate::expr::Expr;

/// Whether it is checked that a node is done, before it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// At least one check decides.
    Checked,
    /// Whoever works at it is believed.
    Believed,
}

impl Verification {
    /// The word for it.
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
    /// Something outside is looked at.
    Check(&'n CheckBy),
    /// An expression holds of the output.
    Expr(&'n Expr),
    /// A model says so.
    Judge {
        /// What is to hold.
        wanted: &'n str,
    },
}

impl Node {
    /// The checks that must hold before it is left as done: those of work, and the key results that a state cannot be left
    /// without.
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

    /// Whether somebody's claim that it is done is checked or believed; nothing where nobody claims anything: what the
    /// engine and functions do by themselves is no claim.
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
    /// At how many steps something is checked, and which are believed.
    pub fn checked(&self) -> CheckedSteps<'_> {
        let mut told = CheckedSteps::default();
        for step in self.steps.values() {
            match step.node.verification() {
                Some(Verification::Checked) => told.checked += 1,
                Some(Verification::Believed) => told.believed.push(&step.node.id),
                None => {}
            }
        }
        told
    }
}
