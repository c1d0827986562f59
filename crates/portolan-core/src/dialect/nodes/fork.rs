//! Concurrent branches: forks and joins.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::MAX_COUNT;
use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{Kind, Strategy};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Spanned, Tree};
use crate::value::NodeId;

/// The maximum number of branches of a fork.
const MAX_BRANCHES: usize = 1_000;

/// A node that opens branches.
pub(in crate::dialect) struct Fork {
    /// The first node of each branch.
    pub(in crate::dialect) branches: Vec<Spanned<String>>,
    pub(in crate::dialect) join: Spanned<String>,
    pub(in crate::dialect) max_concurrency: Option<NonZeroU32>,
}

/// The words of a dialect for a fork.
pub(in crate::dialect) struct Words {
    /// The field with the branches.
    pub(in crate::dialect) branches: &'static str,
    /// The field that limits the number of concurrent branches.
    pub(in crate::dialect) at_once: &'static str,
    /// The help if there are no branches.
    pub(in crate::dialect) if_none: &'static str,
    /// The help if there are too many branches.
    pub(in crate::dialect) if_too_many: &'static str,
}

pub(in crate::dialect) fn fork(
    words: &Words,
    fields: &mut Fields<'_>,
    (tree, named): (&Tree, &str),
    faults: &mut FaultList,
) -> Option<Fork> {
    let before = faults.0.len();
    let branches = fields.strings(words.branches, faults);
    let wrong = |code, message: String, help| Diagnostic::error(code, message).at(tree.head()).help(help);
    let sound = match branches.len() {
        0 if faults.0.len() > before => false,
        0 => {
            faults.push(wrong("missing-field", format!("{named} opens no branch"), words.if_none));
            false
        }
        1..=MAX_BRANCHES => true,
        count => {
            let message = format!("{named} opens {count} branches, more than the limit of {MAX_BRANCHES}");
            faults.push(wrong("too-large", message, words.if_too_many));
            false
        }
    };
    let join = fields.required_string("join", faults);
    let most = fields.count(words.at_once, 1..=MAX_COUNT, faults);
    let max_concurrency = most.and_then(|most| NonZeroU32::new(most.value));
    let join = join.filter(|_| sound)?;
    Some(Fork { branches, join, max_concurrency })
}

/// Reads `all` or `any`.
pub(in crate::dialect) fn strategy(
    fields: &mut Fields<'_>,
    key: &'static str,
    faults: &mut FaultList,
) -> Option<Strategy> {
    fields.choice(key, &[("all", Strategy::AllPass), ("any", Strategy::AnyPass)], faults)
}

/// The fork of each join.
#[derive(Default)]
pub(in crate::dialect) struct Joins(BTreeMap<String, NodeId>);

impl Joins {
    /// Returns the joins that these forks name.
    pub(in crate::dialect) fn of<'n>(forks: impl Iterator<Item = (&'n Spanned<String>, &'n Fork)>) -> Joins {
        Joins(forks.map(|(id, fork)| (fork.join.value.clone(), NodeId::from(id.value.as_str()))).collect())
    }

    /// Returns the names of the joins.
    pub(in crate::dialect) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns a join for the graph; `None` if no fork names it.
    pub(in crate::dialect) fn join(&self, id: &Spanned<String>, strategy: Strategy) -> Option<Kind> {
        let fork = Spanned { value: self.0.get(&id.value)?.clone(), span: id.span };
        Some(Kind::Join { fork, strategy })
    }
}

/// Returns the diagnostic for a join that no fork names; `forks` are the nodes that could name it, and `those` is one
/// of them.
pub(in crate::dialect) fn unpaired(id: &Spanned<String>, forks: &str, those: &str) -> Diagnostic {
    let message = format!("no {forks} leads to the join `{}`", clip(&id.value));
    let fault = Diagnostic::error("unpaired-join", message).at(id.span);
    fault.help(format!("name it as `join` of the {those} whose branches it collects"))
}
