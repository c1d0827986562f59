//! Everything that legal moves can come to.

use std::collections::BTreeSet;

use portolan_core::graph::Workflow;
use portolan_core::run::{EventKind, Place, Rules, Run, Verdict};
use portolan_core::value::{NodeId, Outcome};

use crate::picture;
use crate::walk::{Walk, broken, by_agent, by_person};

/// The pictures of all runs that legal moves lead to, each run shown to `look` once; nothing when there are more than
/// `most`.
pub(crate) fn closure(
    workflow: &Workflow,
    rules: Rules,
    most: usize,
    mut look: impl FnMut(&Walk<'_>),
) -> Option<BTreeSet<String>> {
    let first = Walk::open(workflow, rules);
    let mut seen = BTreeSet::from([picture::of(&first.run.root)]);
    let mut waiting = vec![first];
    while let Some(walk) = waiting.pop() {
        look(&walk);
        for run in next(&walk) {
            if seen.insert(picture::of(&run.root)) {
                waiting.push(Walk { run, journal: Vec::new(), asked: Vec::new(), workflow });
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(seen)
}

fn next(walk: &Walk<'_>) -> Vec<Run> {
    let mut events: Vec<_> = walk.offers().into_iter().map(|(_, event)| event).collect();
    for effect in walk.pending() {
        for verdict in [Verdict::Held, broken()] {
            events.push(by_agent(effect.clone().settled(verdict, 0)));
        }
    }
    if let Place::Gathering { node } = &walk.run.root.place {
        let branches = combinations(&walk.workflow.root().step(node).exits.branches);
        events.extend(branches.into_iter().map(|branches| by_agent(EventKind::Gathered { branches })));
    }
    if !walk.run.is_over() {
        events.push(by_person(EventKind::Cancelled { reason: String::new(), outcome: None }));
    }
    let after = |event| {
        let mut after = walk.clone();
        after.take(&event).ok()?;
        Some(after.run)
    };
    events.into_iter().filter_map(after).collect()
}

/// Every way in which branches may have passed, have failed, or not be there yet.
fn combinations(branches: &[NodeId]) -> Vec<Vec<(NodeId, Outcome)>> {
    branches.iter().fold(vec![Vec::new()], |sofar, name| {
        let with = |outcome: Outcome| {
            sofar.iter().map(move |known| [known.clone(), vec![(name.clone(), outcome.clone())]].concat()).collect()
        };
        let (passed, failed): (Vec<_>, Vec<_>) = (with(Outcome::passed()), with(Outcome::failed()));
        [sofar.clone(), passed, failed].concat()
    })
}
