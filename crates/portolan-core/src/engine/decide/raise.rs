//! The agent asks a question that the workflow does not: its work waits for the answer.

use std::collections::BTreeSet;

use super::report::Claim;
use super::walk::Draft;
use super::{Rejection, RejectionReason, addressed, fresh};
use crate::diagnostic::clip;
use crate::graph::Kind;
use crate::run::{Change, Feedback, Frame, FramePath, Place, RaisedQuestion, WaitingFor};

/// The maximum number of options.
const MAX_OPTIONS: usize = 20;
/// The maximum length of the question and of each option, in bytes.
const MAX_BYTES: usize = 4_000;

pub(super) fn decide(
    draft: &mut Draft<'_>,
    path: &FramePath,
    revision: Option<u64>,
    question: &RaisedQuestion,
) -> Result<(), Rejection> {
    let frame = addressed(draft.before, path)?;
    fresh(frame, revision)?;
    let node = frame.place.node();
    let at_work = matches!(draft.step(&frame.flow, node).node.kind, Kind::Work { .. });
    if !at_work || !matches!(frame.place, Place::Ready { .. }) {
        return Err(Rejection::new(
            RejectionReason::OutOfPlace,
            format!("nothing can be asked at `{node}`: no work is in progress there"),
            "continue from the present situation",
        ));
    }
    if let Some((message, help)) = fault(question) {
        return Err(Rejection::new(RejectionReason::BadInput, message, help));
    }
    draft.emit(Change::Raised { frame: path.clone(), question: Some(Box::new(question.clone())) });
    draft.moved(path, Place::Waiting { node: node.clone(), on: WaitingFor::Raised, due: None }, None);
    Ok(())
}

fn fault(question: &RaisedQuestion) -> Option<(String, &'static str)> {
    let mut distinct = BTreeSet::new();
    let options = &question.options;
    if question.question.trim().is_empty() {
        return Some(("the question is empty".to_owned(), "say what is to be decided"));
    }
    if options.len() < 2 || options.len() > MAX_OPTIONS {
        let message = format!("a question must have 2 to {MAX_OPTIONS} options, but this one has {}", options.len());
        return Some((message, "give the answers that the person can choose from"));
    }
    if let Some(twice) = options.iter().find(|option| !distinct.insert(option.as_str())) {
        return Some((format!("the option `{}` is given twice", clip(twice.as_str())), "give each option once"));
    }
    let long = options.iter().map(|option| option.as_str().len()).chain([question.question.len()]).max();
    let empty = options.iter().any(|option| option.as_str().trim().is_empty());
    if empty || long > Some(MAX_BYTES) {
        let message = format!("the question and its options must have 1 to {MAX_BYTES} bytes each");
        return Some((message, "shorten them"));
    }
    None
}

/// Continues the work, with the answer as feedback.
pub(super) fn answered(draft: &mut Draft<'_>, path: &FramePath, frame: &Frame, claim: &Claim<'_>) {
    let node = frame.place.node().clone();
    let question = frame.raised.as_ref().map(|raised| clip(&raised.question)).unwrap_or_default();
    let remark = claim.note.map(|note| format!(" ({note})")).unwrap_or_default();
    let note = Some(format!("{question}: `{}`{remark}", claim.outcome));
    draft.emit(Change::Raised { frame: path.clone(), question: None });
    let feedback = Feedback { from: Some(node.clone()), failures: Vec::new(), note };
    draft.moved(path, Place::Ready { node }, Some(feedback));
}
