//! Computes the single order of phases.

use std::collections::BTreeMap;

use super::syntax::Phase;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::Span;
use crate::source::fields::FaultList;

/// Returns the indices of the phases in the order of execution. Returns `None` if they form no single sequence, and
/// reports the phase at which it breaks.
pub(super) fn order(phases: &[Phase], faults: &mut FaultList) -> Option<Vec<usize>> {
    let places: BTreeMap<&str, usize> =
        phases.iter().enumerate().map(|(at, phase)| (phase.id.value.as_str(), at)).collect();
    let mut next: Vec<Option<usize>> = vec![None; phases.len()];
    let mut sound = true;
    for (at, phase) in phases.iter().enumerate() {
        let (before, span) = match &phase.after {
            None => (at.checked_sub(1), phase.id.span),
            Some(after) => match places.get(after.value.as_str()) {
                Some(before) => (Some(*before), after.span),
                None => {
                    faults.push(unknown(&after.value, after.span, "`after`", &places));
                    sound = false;
                    continue;
                }
            },
        };
        let Some(before) = before else { continue };
        match next[before] {
            // A phase with `after` comes before one that follows only by its position in the list.
            Some(taken) if phase.after.is_some() && phases[taken].after.is_none() => {
                next[before] = Some(at);
                let last = last_of(at, &next);
                next[last] = Some(taken);
            }
            Some(_) if phase.after.is_none() => {
                let last = last_of(before, &next);
                next[last] = Some(at);
            }
            Some(taken) => {
                let both = (clip(&phases[taken].id.value), clip(&phase.id.value));
                let message = format!("`{}` and `{}` both follow `{}`", both.0, both.1, phases[before].id.value);
                faults.push(not_one_way(message, span));
                sound = false;
            }
            None => next[before] = Some(at),
        }
    }
    sound.then(|| walk(phases, &next, faults)).flatten()
}

/// Returns the last phase that follows from `at`, as far as is known; `at` itself if there is a cycle.
fn last_of(at: usize, next: &[Option<usize>]) -> usize {
    let mut last = at;
    for _ in 0..next.len() {
        match next[last] {
            Some(following) => last = following,
            None => return last,
        }
    }
    at
}

fn walk(phases: &[Phase], next: &[Option<usize>], faults: &mut FaultList) -> Option<Vec<usize>> {
    let mut is_followed = vec![false; phases.len()];
    next.iter().flatten().for_each(|at| is_followed[*at] = true);
    let Some(first) = is_followed.iter().position(|followed| !followed) else {
        faults.push(not_one_way("every phase follows another: there is no first one".to_owned(), phases[0].id.span));
        return None;
    };
    let mut order = vec![first];
    while let Some(following) = order.last().and_then(|at| next[*at]) {
        if order.len() > phases.len() {
            break;
        }
        order.push(following);
    }
    if order.len() == phases.len() {
        return Some(order);
    }
    let apart = (0..phases.len()).find(|at| !order.contains(at)).unwrap_or(first);
    let message = format!("`{}` is not reached from `{}`", clip(&phases[apart].id.value), phases[first].id.value);
    faults.push(not_one_way(message, phases[apart].id.span));
    None
}

fn not_one_way(message: String, span: Span) -> Diagnostic {
    Diagnostic::error("not-one-way", message)
        .at(span)
        .help("the phases must form one sequence: change `after`, or remove it to use the order in the file")
}

pub(super) fn unknown(name: &str, span: Span, by: &str, places: &BTreeMap<&str, usize>) -> Diagnostic {
    Diagnostic::error("unknown-phase", format!("{by} names `{}`, which is not a phase", clip(name)))
        .at(span)
        .help("correct the name, or add the phase")
        .did_you_mean(name, places.keys().copied())
}
