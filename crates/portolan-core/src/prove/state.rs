//! Abstract states: runs without the parts that cannot affect later steps.
//!
//! A state is a [`Run`], so that the engine decides over it. A tracked variable has a *mark* in place of its value: the
//! cells that it may be in. A variable without a mark has no value. Marks are values, and follow the engine's copies:
//! into branches, out of them, and into workflows that others run. They are numbers, which are copied without
//! allocation: copying states is most of the work.

use std::sync::Arc;

use serde_json::Value;

use super::model::{MISSING, Mask, Model, Names, Site};
use crate::expr::{KNOWN, Outputs};
use crate::graph::Kind;
use crate::run::{BranchState, Data, Frame, FramePath, Place, Run};
use crate::value::Timestamp;

/// The bit that distinguishes marks from values: a variable with such large numbers as values is not tracked.
const MARK: Mask = 1 << 63;

/// Makes the mark for a set of cells.
pub(super) fn mark(mask: Mask) -> Value {
    Value::from(MARK | mask)
}

/// Returns the cells of a mark.
pub(super) fn marked(value: &Value) -> Option<Mask> {
    value.as_u64().filter(|number| number & MARK != 0).map(|number| number & !MARK)
}

/// Checks whether a value would be mistaken for a mark.
pub(super) fn is_like_a_mark(value: &Value) -> bool {
    marked(value).is_some()
}

/// Returns the frame of a run at `path`, mutably.
pub(super) fn frame_mut<'r>(run: &'r mut Run, path: &FramePath) -> Option<&'r mut Frame> {
    let mut frame = &mut run.root;
    for name in &path.0 {
        let at = frame.inner().position(|(inner, _)| inner == name)?;
        frame = frame.inner_frames_mut().into_iter().nth(at)?;
    }
    Some(frame)
}

/// Sets a variable.
pub(super) fn set(data: &mut Data, name: &str, value: Value) {
    match data.variables.get_mut(name) {
        Some(slot) => *slot = value,
        None => {
            data.variables.insert(name.to_owned(), value);
        }
    }
}

/// Returns the possible cells of a variable in the data of one frame.
pub(super) fn mask_in(data: &Data, name: &str) -> Mask {
    data.variables.get(name).and_then(marked).unwrap_or(MISSING)
}

/// Removes the parts of a run that cannot affect later steps.
pub(super) fn normalise(model: &Model, run: &mut Run) {
    run.revision = 0;
    run.executed = 0;
    run.tallies = None;
    normalise_frame(model, &mut run.root, true);
}

/// The variables of a frame that a later step may read.
#[derive(Clone, Copy)]
struct KeptVariables<'m> {
    live: Names,
    /// Those of them whose value matters.
    needed: Names,
    /// The facts about the node of the frame.
    site: Option<&'m Site>,
}

impl KeptVariables<'_> {
    /// Returns the cells that a variable has in a normalised state; `None` if it is removed.
    ///
    /// One that is given any value before it is read has all of them now: states that differ only in it are the same.
    fn mask(&self, model: &Model, name: &str, value: &Value) -> Option<Mask> {
        let at = model.names.get_index_of(name).filter(|at| self.live & (1 << at) != 0)?;
        let given = self.site.filter(|_| self.needed & (1 << at) == 0).map_or(0, |site| model.given_in(site, at));
        let mask = marked(value).unwrap_or_else(|| model.mask_of(at, value)) | given;
        (mask != MISSING).then_some(mask)
    }
}

/// Normalises a frame, and returns the variables to keep of it and of the frames inside it with the same flow. Steps
/// give values to the variables of a frame that `owns` them: a pass has only its item, and a branch has copies.
fn normalise_frame<'m>(model: &'m Model, frame: &mut Frame, owns: bool) -> KeptVariables<'m> {
    frame.since = 0;
    frame.spent.clear();
    frame.feedback = None;
    frame.raised = None;
    let Frame { flow, place, data, .. } = frame;
    let site = model.site(flow, place.node());
    let (live, needed) = site.map_or((0, 0), |site| (site.live, site.needed));
    let mut kept = KeptVariables { live, needed, site };
    let mut inside = |inner: &mut Frame, owns: bool| {
        let inner_kept = normalise_frame(model, inner, owns);
        if inner.flow == *flow {
            kept.live |= inner_kept.live;
            kept.needed |= inner_kept.needed;
        }
    };
    match place {
        Place::Passing { passed, .. } => *passed = 0,
        Place::Calling { retries, not_before, .. } => (*retries, *not_before) = (0, None),
        Place::Checking { note, .. } => *note = None,
        Place::Waiting { due, .. } => *due = due.map(|_| Timestamp(0)),
        Place::Looping { node, pass, items, frame } => {
            let kind = &model.workflow.flow(flow).step(node).node.kind;
            let most = if let Kind::Loop(looping) = kind { looping.most as usize } else { 0 };
            if let Some(items) = items {
                keep_ahead(items, *pass as usize, most);
            }
            *pass = 0;
            inside(frame, false);
        }
        Place::Within { frame, .. } => inside(frame, true),
        Place::Forked { branches, .. } => {
            for branch in &mut *branches {
                if let BranchState::Open(frame) = &mut branch.state {
                    inside(frame, false);
                }
            }
            let data = branches.iter_mut().filter_map(|branch| branch.data.as_mut());
            data.for_each(|data| normalise_data(model, data, &KeptVariables { site: None, ..kept }));
        }
        Place::Ready { .. }
        | Place::Conversing { .. }
        | Place::Each { .. }
        | Place::Gathering { .. }
        | Place::Arrived { .. }
        | Place::Ended { .. } => {}
    }
    if let Some(data) = data {
        normalise_data(model, data, &KeptVariables { site: kept.site.filter(|_| owns), ..kept });
    }
    kept
}

/// Keeps the remaining items of a loop if their number is known. Otherwise keeps one item if there are more than the
/// loop may make passes, and none if not.
fn keep_ahead(items: &mut Arc<Vec<Value>>, pass: usize, most: usize) {
    if items.len() > most || matches!(items.as_slice(), [Value::Null]) {
        *items = Arc::new(vec![Value::Null]);
    } else if !are_counted(items) {
        *items = Arc::new(Vec::new());
    } else if pass > 0 {
        *items = Arc::new(items.iter().skip(pass).cloned().collect());
    }
}

/// Checks whether the number of items is known.
pub(super) fn are_counted(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| *item == KNOWN)
}

fn normalise_data(model: &Model, data: &mut Arc<Data>, kept: &KeptVariables<'_>) {
    // Unshared data are processed directly: checking them first is as much work.
    if Arc::strong_count(data) > 1 && is_normal(model, data, kept) {
        return;
    }
    let Data { input, outputs, variables, skipped: _, bypasses, budget, output, fault } = Arc::make_mut(data);
    if **input != Value::Null {
        *input = Arc::default();
    }
    *outputs = Outputs::default();
    bypasses.clear();
    (*budget, *output, *fault) = (None, None, None);
    variables.retain(|name, value| {
        let mask = kept.mask(model, name, value);
        *value = mark(mask.unwrap_or(MISSING));
        mask.is_some()
    });
    // Equal states have the same order.
    if !variables.keys().is_sorted() {
        variables.sort_keys();
    }
}

/// Checks whether data need no change: unchanged data stay shared between states.
fn is_normal(model: &Model, data: &Data, kept: &KeptVariables<'_>) -> bool {
    let Data { input, outputs, variables, skipped: _, bypasses, budget, output, fault } = data;
    let is_same = |name: &str, value: &Value| marked(value).is_some() && marked(value) == kept.mask(model, name, value);
    let has_more = **input != Value::Null || *outputs != Outputs::default() || !bypasses.is_empty();
    !has_more
        && (budget.is_none() && output.is_none() && fault.is_none())
        && variables.iter().all(|(name, value)| is_same(name, value))
        && variables.keys().is_sorted()
}

/// Returns a short key that is equal exactly for equal states, written into `key`.
pub(super) fn key<'k>(model: &Model, run: &Run, key: &'k mut Vec<u8>) -> &'k [u8] {
    key.clear();
    frame_key(model, &run.root, key);
    key
}

/// Checks whether two states are at the same places, regardless of their variables.
fn is_at(model: &Model, mut run: Run, mut other: Run) -> bool {
    forget(&mut run.root);
    forget(&mut other.root);
    key(model, &run, &mut Vec::new()) == key(model, &other, &mut Vec::new())
}

/// Checks whether a run of the engine is one of those that an abstract run stands for.
pub(super) fn is_covered(model: &Model, mut run: Run, of_analysis: &Run) -> bool {
    as_modelled(model, &mut run.root);
    normalise(model, &mut run);
    if !is_at(model, run.clone(), of_analysis.clone()) {
        return false;
    }
    let mut wanted: Vec<Option<&Data>> = Vec::new();
    frames_and_data(&of_analysis.root, &mut |_, data| wanted.push(data));
    let mut wanted = wanted.into_iter();
    let mut is_covered = true;
    frames_and_data(&run.root, &mut |_, data| is_covered &= wanted.next().is_some_and(|wanted| may_be(data, wanted)));
    is_covered
}

/// Replaces the places at states and items by those of the call or the report that the model has there.
fn as_modelled(model: &Model, frame: &mut Frame) {
    let node = frame.place.node().clone();
    let kind = &model.workflow.flow(&frame.flow).step(&node).node.kind;
    match (&frame.place, kind) {
        (Place::Conversing { .. } | Place::Passing { .. }, Kind::Work { .. }) => frame.place = Place::Ready { node },
        (Place::Conversing { .. } | Place::Each { .. }, Kind::Call(_)) => {
            frame.place = Place::Calling { node, arguments: Arc::default(), retries: 0, not_before: None };
        }
        _ => frame.inner_frames_mut().into_iter().for_each(|inner| as_modelled(model, inner)),
    }
}

/// Checks whether each variable may have its value by the cells of the other data.
fn may_be(data: Option<&Data>, wanted: Option<&Data>) -> bool {
    let names = [data, wanted].into_iter().flatten().flat_map(|data| data.variables.keys());
    let mask = |data: Option<&Data>, name: &str| data.map_or(MISSING, |data| mask_in(data, name));
    let skipped = |data: Option<&Data>| data.map(|data| data.skipped.clone()).unwrap_or_default();
    skipped(data) == skipped(wanted) && names.into_iter().all(|name| mask(data, name) & mask(wanted, name) != 0)
}

/// Calls `visit` for the data of each frame, and for those of each branch, which have no frame once it is done.
pub(super) fn frames_and_data<'r>(frame: &'r Frame, visit: &mut dyn FnMut(Option<&'r Frame>, Option<&'r Data>)) {
    visit(Some(frame), frame.data.as_deref());
    if let Place::Forked { branches, .. } = &frame.place {
        branches.iter().for_each(|branch| visit(None, branch.data.as_deref()));
    }
    frame.inner().for_each(|(_, inner)| frames_and_data(inner, visit));
}

fn forget(frame: &mut Frame) {
    frame.data = None;
    match &mut frame.place {
        Place::Forked { branches, .. } => branches.iter_mut().for_each(|branch| branch.data = None),
        // The number of items may be known in only one of them.
        Place::Looping { items: Some(items), .. } => *items = Arc::default(),
        _ => {}
    }
    frame.inner_frames_mut().into_iter().for_each(forget);
}

fn frame_key(model: &Model, frame: &Frame, key: &mut Vec<u8>) {
    let workflow = &model.workflow;
    number(workflow.number(&frame.flow).unwrap_or_default(), key);
    let steps = &workflow.flow(&frame.flow).steps;
    let node = |id: &crate::value::NodeId| steps.get_index_of(id).unwrap_or(usize::MAX);
    number(node(frame.place.node()), key);
    if let Some(data) = &frame.data {
        data_key(model, data, key);
    }
    let (tag, inner): (u8, Option<&Frame>) = match &frame.place {
        Place::Ready { .. } => (1, None),
        Place::Checking { outcome, .. } => {
            key.extend(outcome.as_str().bytes().chain([0]));
            (2, None)
        }
        Place::Passing { .. } => (3, None),
        Place::Calling { .. } => (4, None),
        Place::Conversing { .. } => (5, None),
        Place::Each { .. } => (6, None),
        Place::Looping { items, frame, .. } => {
            let items = items.as_ref().map_or(&[][..], |items| items.as_slice());
            number(2 * items.len() + usize::from(are_counted(items)), key);
            (7, Some(frame))
        }
        Place::Waiting { on, due, .. } => (8 + 2 * (*on as u8) + u8::from(due.is_some()), None),
        Place::Forked { branches, .. } => {
            for branch in branches {
                match &branch.state {
                    BranchState::Held => key.push(0),
                    BranchState::Open(frame) => {
                        key.push(1);
                        frame_key(model, frame, key);
                    }
                    BranchState::Done(outcome) => key.push(2 + u8::from(outcome.is_failed())),
                    BranchState::Cancelled => key.push(4),
                }
                if let Some(data) = &branch.data {
                    data_key(model, data, key);
                }
            }
            (30, None)
        }
        Place::Gathering { .. } => (31, None),
        Place::Within { frame, .. } => (32, Some(frame)),
        Place::Arrived { outcome, .. } => (33 + u8::from(outcome.is_failed()), None),
        Place::Ended { result, .. } => (35 + *result as u8, None),
    };
    key.push(tag);
    if let Some(inner) = inner {
        frame_key(model, inner, key);
    }
}

fn data_key(model: &Model, data: &Data, key: &mut Vec<u8>) {
    // Only tracked variables are left in a state.
    number(data.variables.len(), key);
    for (name, value) in &data.variables {
        number(model.names.get_index_of(name).unwrap_or(usize::MAX), key);
        number(marked(value).unwrap_or_default() as usize, key);
    }
    for skipped in &data.skipped {
        key.extend(skipped.as_str().bytes().chain([1]));
    }
    key.push(2);
}

/// Appends a number in as few bytes as possible.
fn number(mut number: usize, key: &mut Vec<u8>) {
    while number >= 0x80 {
        key.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    key.push(number as u8);
}
