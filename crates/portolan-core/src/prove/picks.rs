//! The possible results of unknown facts when the engine continues: variables with several possible cells, free
//! conditions, and the passes of loops.

use std::sync::Arc;

use serde_json::Value;

use super::model::{MISSING, Mask, Site};
use super::state::{are_counted, frame_mut, mark, mask_in, set};
use super::steps::{Act, At, StepResult};
use crate::expr::ConditionTruth;
use crate::graph::{Kind, LoopKind, MAX_ITEMS};
use crate::run::{Frame, FramePath, Place, Run};
use crate::value::NodeId;

/// The assumed result of an unknown fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The variable is in one of these cells.
    In { frame: FramePath, name: usize, cells: Mask },
    /// The free condition with this index holds or does not.
    Free { at: usize, holds: bool },
    /// The budget of a node is spent.
    Spent { frame: FramePath, gate: NodeId },
    /// The loop around continues, is finished, or has made the maximum number of passes.
    Pass(PassKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassKind {
    Another,
    /// Over a known number of items: the states count down to the last one.
    AnotherCounted,
    /// Over an unknown number of items.
    Last,
    /// Over a known number of items.
    LastCounted,
    Most,
}

/// The maximum number of results of one step; with more the analysis stops.
const MAX_WAYS: usize = 4_096;

/// One combination of results.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) run: Run,
    pub(super) picks: Vec<Pick>,
    /// The variables that are read, each with its frame and the cells that remain possible. The step is the same for
    /// all of these cells.
    pub(super) read: Vec<VariableRead>,
}

/// A variable that is read.
#[derive(Clone)]
pub(super) struct VariableRead {
    holder: FramePath,
    name: usize,
    cells: Mask,
}

/// The variables that are read, as far as their cells are distinguished.
type VariableReads = Vec<VariableRead>;

impl At<'_> {
    /// Performs the act once for each combination of results.
    pub(super) fn settled(&self, run: &Run, taken: &mut Vec<StepResult>) -> Option<()> {
        let mut drafts = match (&self.act, self.site) {
            (Act::Advance, Some(site)) => self.resolved(run, site)?,
            _ => vec![Draft { run: run.clone(), picks: Vec::new(), read: Vec::new() }],
        };
        if self.act == Act::Advance {
            if drafts.len().saturating_mul(self.site.map_or(0, |site| site.free) + 1) > MAX_WAYS {
                return None;
            }
            drafts = self.freed(drafts);
            drafts = self.passed(drafts);
        }
        for mut draft in drafts {
            self.give(&mut draft.run);
            self.count(&mut draft.run);
            self.decided(draft, taken);
        }
        Some(())
    }

    /// Splits the cells of the variables that are read as far as the step depends on them.
    fn resolved(&self, run: &Run, site: &Site) -> Option<Vec<Draft>> {
        let all: VariableReads = (0..self.model.names.len())
            .filter(|name| site.reads & (1 << name) != 0)
            .filter_map(|name| self.reading(run, name))
            .collect();
        let mut waiting = vec![all.clone()];
        let mut settled: Vec<VariableReads> = Vec::new();
        while let Some(mut reading) = waiting.pop() {
            match self.undecided(&reading, site) {
                None => settled.push(reading),
                Some((at, cells)) => {
                    let mut other = reading.clone();
                    reading[at].cells &= cells;
                    other[at].cells &= !cells;
                    // The last one pushed is processed first: if no condition holds, loops are finished and the run is
                    // short.
                    waiting.extend([reading, other]);
                }
            }
            if settled.len() + waiting.len() > MAX_WAYS {
                return None;
            }
        }
        Some(settled.into_iter().map(|reading| self.drafted(run, &all, reading)).collect())
    }

    /// Returns the read of a variable. The innermost frame with the variable counts.
    fn reading(&self, run: &Run, name: usize) -> Option<VariableRead> {
        let text = self.model.text(name);
        let owner = run.owner(self.path).0.len();
        let mut around = (owner..=self.path.0.len()).rev().map(|length| FramePath(self.path.0[..length].to_vec()));
        around.find_map(|holder| {
            let data = run.frame(&holder)?.data.as_ref()?;
            data.variables.contains_key(text).then(|| VariableRead { cells: mask_in(data, text), holder, name })
        })
    }

    /// Returns the variable whose cells must be split before the results are known, and the cells on one side.
    fn undecided(&self, reading: &[VariableRead], site: &Site) -> Option<(usize, Mask)> {
        let cells = |name: usize| reading.iter().find(|read| read.name == name).map_or(MISSING, |read| read.cells);
        for condition in &site.asks {
            match condition.truth(&cells) {
                // Later conditions are not evaluated.
                ConditionTruth::Holds(true) => break,
                ConditionTruth::Holds(false) => {}
                ConditionTruth::Depends(name, cells) => {
                    return reading.iter().position(|read| read.name == name).map(|at| (at, cells));
                }
            }
        }
        let is_open = |read: &VariableRead| site.settles & (1 << read.name) != 0 && read.cells.count_ones() > 1;
        let at = reading.iter().position(is_open)?;
        Some((at, 1 << reading[at].cells.trailing_zeros()))
    }

    /// Sets each read variable to any of its possible values.
    fn drafted(&self, run: &Run, all: &[VariableRead], reading: VariableReads) -> Draft {
        let mut draft = Draft { run: run.clone(), picks: Vec::new(), read: Vec::new() };
        for (read, before) in reading.into_iter().zip(all) {
            let Some(data) = frame_mut(&mut draft.run, &read.holder).and_then(Frame::known_data_mut) else {
                continue;
            };
            let text = self.model.text(read.name);
            match self.model.value(read.name, read.cells.trailing_zeros()) {
                Some(value) => set(data, text, value.clone()),
                None => {
                    data.variables.remove(text);
                }
            }
            if read.cells != before.cells {
                let (frame, name, cells) = (read.holder.clone(), read.name, read.cells);
                draft.picks.push(Pick::In { frame, name, cells });
            }
            if read.cells.count_ones() > 1 {
                draft.read.push(read);
            }
        }
        draft
    }

    /// Sets each read variable back to a mark of its remaining cells.
    pub(super) fn reopen(&self, run: &mut Run, read: &[VariableRead]) {
        for read in read {
            if let Some(data) = frame_mut(run, &read.holder).and_then(Frame::known_data_mut) {
                set(data, self.model.text(read.name), mark(read.cells));
            }
        }
    }

    /// Splits by the free conditions. For those of a switch, only the first that holds makes a difference.
    fn freed(&self, drafts: Vec<Draft>) -> Vec<Draft> {
        let free = self.site.map_or(0, |site| site.free);
        let kind = &self.step.node.kind;
        let of_loop = match kind {
            Kind::Repeat { of } => self.model.site(&self.frame.flow, &of.value).map_or(0, |site| site.free),
            _ => free,
        };
        if of_loop == 0 {
            return drafts;
        }
        let answers: Vec<Vec<bool>> = match kind {
            Kind::Switch => (0..=free).map(|first| (0..free).map(|at| at == first).collect()).collect(),
            _ => (0..1_usize << of_loop.min(4))
                .map(|bits| (0..of_loop).map(|at| bits >> at & 1 == 1).collect())
                .collect(),
        };
        let each = |draft: &Draft| -> Vec<Draft> {
            answers.iter().map(|answers| self.answered(draft.clone(), answers)).collect()
        };
        drafts.iter().flat_map(each).collect()
    }

    fn answered(&self, mut draft: Draft, answers: &[bool]) -> Draft {
        let owner = draft.run.owner(self.path);
        let kind = &self.step.node.kind;
        let most = match kind {
            Kind::Loop(looping) if matches!(looping.kind, LoopKind::ForEach { .. }) => Some(looping.most as usize),
            _ => None,
        };
        let length = |most: usize| match answers {
            [true, true, ..] => (most + 1).min(MAX_ITEMS),
            [has_items, ..] => usize::from(*has_items),
            [] => 0,
        };
        if let Some(frame) = frame_mut(&mut draft.run, &owner) {
            let data = frame.data_mut();
            for (at, holds) in answers.iter().enumerate() {
                let value = match most.filter(|_| at == 0) {
                    Some(most) => Value::Array(vec![Value::from(0); length(most)]),
                    None => Value::Bool(*holds),
                };
                data.variables.insert(self.model.free_variable(at), value);
                draft.picks.push(Pick::Free { at, holds: *holds });
            }
        }
        draft
    }

    /// Splits the end of a pass: another pass follows, it was the last one, or it was the maximum.
    fn passed(&self, drafts: Vec<Draft>) -> Vec<Draft> {
        let Kind::Repeat { of } = &self.step.node.kind else { return drafts };
        let flow = self.model.workflow.flow(&self.frame.flow);
        let Kind::Loop(looping) = &flow.step(&of.value).node.kind else { return drafts };
        let Some((outer, _)) = self.path.split() else { return drafts };
        let Some(Place::Looping { items, .. }) =
            drafts.first().and_then(|draft| draft.run.frame(&outer)).map(|it| &it.place)
        else {
            return drafts;
        };
        let ways = ways(items.as_ref().map(|items| items.as_slice()), looping.most);
        let each = |draft: &Draft| -> Vec<Draft> {
            ways.iter().map(|(pass, at, items)| self.passing(draft.clone(), &outer, *pass, *at, items)).collect()
        };
        drafts.iter().flat_map(each).collect()
    }

    /// Sets the pass of a loop and its items.
    fn passing(&self, mut draft: Draft, outer: &FramePath, way: PassKind, at: u32, of: &Arc<Vec<Value>>) -> Draft {
        let place = frame_mut(&mut draft.run, outer).map(|frame| &mut frame.place);
        if let Some(Place::Looping { pass, items, .. }) = place {
            *pass = at;
            *items = items.as_ref().map(|_| Arc::clone(of));
        }
        draft.picks.push(Pick::Pass(way));
        draft
    }
}

/// Returns the possible ends of a loop pass: the pick, the number of the pass, and the items of the loop.
fn ways(items: Option<&[Value]>, most: u32) -> Vec<(PassKind, u32, Arc<Vec<Value>>)> {
    let of = |length: usize| Arc::new(vec![Value::Null; length]);
    match items {
        Some(items) if are_counted(items) => {
            let pass = if items.len() > 1 { PassKind::AnotherCounted } else { PassKind::LastCounted };
            vec![(pass, 0, Arc::new(items.to_vec()))]
        }
        Some([]) => {
            let another = (most > 1).then(|| (PassKind::Another, 0, of((most as usize).min(2))));
            another.into_iter().chain([(PassKind::Last, 0, of(1))]).collect()
        }
        None | Some(_) => {
            let items = of(most as usize + 1);
            let another = (most > 1).then(|| (PassKind::Another, 0, Arc::clone(&items)));
            another.into_iter().chain([(PassKind::Most, most.saturating_sub(1), items)]).collect()
        }
    }
}
