//! Decodes a run from bytes. The methods return `None` if the bytes cannot have been written by the encoder.

use std::sync::Arc;

use portolan_core::expr::Outputs;
use portolan_core::graph::{EndResult, Workflow};
use portolan_core::run::{
    Branch, BranchState, Branches, Budget, Bypass, Data, Failure, Fault, Feedback, Form, Frame, GateRetries, Human,
    Item, Opening, Place, RaisedQuestion, Rules, Run, Verdict, WaitingFor,
};
use portolan_core::value::{CheckId, NodeId, Outcome, Timestamp, WorkflowId};
use serde_json::{Map, Value};

use super::bytes::{In, flags};
use super::changes::{self, CHANGE_BITS};
use super::expectation::{self, Origin, PLACE_BITS};
use super::words::Words;

/// Reads the bytes after the check.
pub(super) fn state(workflow: &Workflow, words: &Words, revision: u64, bytes: &[u8]) -> Option<Run> {
    let mut reader = Reader { workflow, revision, from: In::new(words, bytes) };
    let run = reader.run()?;
    reader.from.is_at_end().then_some(run)
}

struct Reader<'w> {
    workflow: &'w Workflow,
    revision: u64,
    from: In<'w>,
}

impl<'w> Reader<'w> {
    /// Reads a value if its flag is set.
    fn when<T>(&mut self, flag: bool, read: impl FnOnce(&mut In<'w>) -> Option<T>) -> Option<Option<T>> {
        if flag { read(&mut self.from).map(Some) } else { Some(None) }
    }

    fn run(&mut self) -> Option<Run> {
        // Earlier releases set the first flag if the holder had agreed to a definition that is no longer the current
        // one. Now no agreement is needed.
        let [_, has_rules, description, input, at, is_other, executed, since, folder, effectivities, tallies] =
            self.from.flags()?;
        let rules = self.when(has_rules, rules)?.unwrap_or_default();
        let description = self.when(description, In::own)?;
        let input = self.when(input, In::value)?.map(Arc::new);
        let at = self.when(at, In::node)?;
        let id = self.workflow.id().clone();
        let workflow = self.when(is_other, In::name)?.map_or_else(|| id.clone(), WorkflowId::from);
        let executed = self.when(executed, In::number)?.unwrap_or_default();
        let since = self.when(since, In::signed)?.map(Timestamp);
        let folder = self.when(folder, In::own)?;
        let effectivities = self.when(effectivities, |from| from.list(In::text::<String>))?;
        let tallies = match tallies {
            true => serde_json::from_value(self.from.value()?).ok()?,
            false => None,
        };
        let root = *self.frame(&id, Origin::Opened(input.as_deref()))?;
        let opening = Opening {
            workflow,
            description,
            at,
            rules,
            input,
            since,
            folder,
            effectivities,
            remembered: None,
            origin: None,
        };
        Some(Run { form: Form::One, revision: self.revision, opening, executed, tallies, root })
    }

    fn frame(&mut self, usual: &WorkflowId, origin: Origin<'_>) -> Option<Box<Frame>> {
        self.from.enter()?;
        self.from.spend(size_of::<Frame>())?;
        let head: u64 = self.from.number()?;
        let [has_data, is_spent, has_feedback, has_raised, is_other] = flags(head >> PLACE_BITS)?;
        let flow = self.when(is_other, In::name)?.map_or_else(|| usual.clone(), WorkflowId::from);
        let since = self.revision.wrapping_sub(self.from.number()?);
        let place = self.place((head & ((1 << PLACE_BITS) - 1)) as u8, &flow)?;
        let spent = self.when(is_spent, |from| from.list(spent))?.unwrap_or_default();
        let feedback = self.when(has_feedback, feedback)?;
        let raised = self.when(has_raised, raised)?.map(Box::new);
        let data = if has_data { Some(self.data(&flow, origin)?) } else { None };
        self.from.leave();
        Some(Box::new(Frame { flow, since, place, spent, feedback, raised, data }))
    }

    fn place(&mut self, tag: u8, flow: &WorkflowId) -> Option<Place> {
        let node: NodeId = self.from.node()?;
        match tag {
            expectation::READY => Some(Place::Ready { node }),
            expectation::CHECKING => checking(&mut self.from, node),
            expectation::PASSING => Some(Place::Passing { node, passed: 0 }),
            expectation::PASSING_ON => Some(Place::Passing { node, passed: self.from.number()? }),
            expectation::CALLING => calling(&mut self.from, node),
            expectation::EACH => self.each(node, flow),
            expectation::CONVERSING => {
                let talk = serde_json::from_value(self.from.value()?).ok()?;
                Some(Place::Conversing { node, talk: Box::new(talk) })
            }
            expectation::LOOPING => self.looping(node, flow),
            expectation::WAITING => waiting(&mut self.from, node),
            expectation::FORKED => {
                let branches = self.list(|reader| reader.branch(flow))?;
                Some(Place::Forked { node, branches })
            }
            expectation::GATHERING => Some(Place::Gathering { node }),
            expectation::WITHIN => {
                let frame = self.frame(&expectation::run_by(self.workflow, flow, &node), Origin::Entered)?;
                Some(Place::Within { node, frame })
            }
            expectation::ARRIVED => Some(Place::Arrived { node, outcome: self.from.text()? }),
            expectation::ENDED => Some(Place::Ended { node, result: ended(self.from.number()?)? }),
            _ => None,
        }
    }

    fn each(&mut self, node: NodeId, flow: &WorkflowId) -> Option<Place> {
        let items = Arc::new(self.from.list(In::value)?);
        let begun = self.from.number()?;
        let runs = expectation::run_by(self.workflow, flow, &node);
        let open = self.list(|reader| reader.item(&runs))?;
        let done = self.from.list(|from| from.option(|from| from.value().map(Arc::new)))?;
        Some(Place::Each { node, items, begun, open, done: Arc::new(done) })
    }

    fn looping(&mut self, node: NodeId, flow: &WorkflowId) -> Option<Place> {
        let pass = self.from.number()?;
        let items = self.from.option(|from| from.list(In::value))?;
        let frame = self.frame(flow, expectation::pass(self.workflow, flow, &node, items.as_deref(), pass))?;
        Some(Place::Looping { node, pass, items: items.map(Arc::new), frame })
    }

    fn item(&mut self, usual: &WorkflowId) -> Option<Item> {
        let name = self.from.node()?;
        let index = self.from.number()?;
        Some(Item { name, index, frame: *self.frame(usual, Origin::Entered)? })
    }

    fn branch(&mut self, flow: &WorkflowId) -> Option<Branch> {
        let name = self.from.node()?;
        let head: u64 = self.from.number()?;
        let state = match head >> 1 {
            0 => BranchState::Held,
            1 => BranchState::Open(*self.frame(flow, Origin::Entered)?),
            2 => BranchState::Done(self.from.text()?),
            3 => BranchState::Cancelled,
            _ => return None,
        };
        let data = if head & 1 == 1 { Some(self.data(flow, Origin::Entered)?) } else { None };
        Some(Branch { name, state, data })
    }

    fn data(&mut self, flow: &WorkflowId, origin: Origin<'_>) -> Option<Arc<Data>> {
        let head: u64 = self.from.number()?;
        let [is_skipped, has_input, has_outputs, has_output, has_fault, has_bypasses, has_budget] =
            flags(head >> CHANGE_BITS)?;
        let input = self.when(has_input, In::value)?.unwrap_or_default();
        let changes = head & ((1 << CHANGE_BITS) - 1);
        let mut variables = match changes {
            changes::ANEW => Map::new(),
            _ => origin.variables(self.workflow, flow, &input),
        };
        let weight = variables.iter().map(|(name, value)| name.len() + weight(value)).sum::<usize>();
        self.from.spend(size_of::<Data>() + weight)?;
        match changes {
            changes::NONE => {}
            changes::MARKED => self.marked(&mut variables, flow)?,
            _ => self.from.pairs(&mut variables)?,
        }
        let skipped = self.when(is_skipped, |from| from.list(In::node))?.unwrap_or_default();
        let outputs = self.when(has_outputs, outputs)?.unwrap_or_default();
        let output = self.when(has_output, In::value)?.map(Arc::new);
        let fault = self.when(has_fault, fault)?;
        let bypasses = self.when(has_bypasses, bypasses)?.unwrap_or_default();
        let budget = self.when(has_budget, budget)?;
        let (input, skipped) = (Arc::new(input), skipped.into_iter().collect());
        Some(Arc::new(Data { input, outputs, variables, skipped, bypasses, budget, output, fault }))
    }

    fn marked(&mut self, variables: &mut Map<String, Value>, flow: &WorkflowId) -> Option<()> {
        let mut marks: u64 = self.from.number()?;
        let mut names = expectation::declared(self.workflow, flow).into_iter();
        while marks != 0 {
            let name = names.next()?;
            if marks & 1 == 1 {
                self.from.spend(name.len())?;
                variables.insert(name.to_owned(), self.from.value()?);
            }
            marks >>= 1;
        }
        Some(())
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count: u64 = self.from.number()?;
        let mut items = Vec::new();
        for _ in 0..count {
            self.from.spend(size_of::<T>())?;
            items.push(read(self)?);
        }
        Some(items)
    }
}

fn rules(from: &mut In<'_>) -> Option<Rules> {
    let [is_verified, is_outside, is_branch] = from.flags()?;
    let human = if is_verified { Human::Verified } else { Human::Attested };
    let branches = if is_outside { Branches::Outside } else { Branches::Inside };
    Some(Rules { human, branches, is_branch })
}

fn spent(from: &mut In<'_>) -> Option<GateRetries> {
    Some(GateRetries { gate: from.node()?, used: from.number()? })
}

fn feedback(from: &mut In<'_>) -> Option<Feedback> {
    let [has_from, has_failures, has_note] = from.flags()?;
    let node = if has_from { Some(from.node()?) } else { None };
    let failures = if has_failures { from.list(failure)? } else { Vec::new() };
    let note = if has_note { Some(from.own()?) } else { None };
    Some(Feedback { from: node, failures, note })
}

fn failure(from: &mut In<'_>) -> Option<Failure> {
    Some(Failure { check: from.text()?, reason: from.own()?, output: from.own()? })
}

fn raised(from: &mut In<'_>) -> Option<RaisedQuestion> {
    Some(RaisedQuestion { question: from.own()?, options: from.list(In::text)? })
}

fn checking(from: &mut In<'_>, node: NodeId) -> Option<Place> {
    let outcome: Outcome = from.text()?;
    let settled = from.list(|from| Some((from.text::<CheckId>()?, verdict(from)?)))?;
    Some(Place::Checking { node, outcome, settled, note: from.option(In::own)? })
}

fn verdict(from: &mut In<'_>) -> Option<Verdict> {
    match from.number::<u64>()? {
        0 => Some(Verdict::Held),
        1 => Some(Verdict::Broken { reason: from.own()?, output: from.own()? }),
        2 => Some(Verdict::Unknown { reason: from.own()? }),
        3 => Some(Verdict::Shown { reason: from.own()?, sets: from.option(In::value)?.map(Arc::new) }),
        5 => Some(Verdict::ForPerson { reason: from.own()? }),
        4 => Some(Verdict::Excused { reason: from.own()?, bypass: from.own()? }),
        _ => None,
    }
}

fn calling(from: &mut In<'_>, node: NodeId) -> Option<Place> {
    let arguments = Arc::new(from.value()?);
    let retries = from.number()?;
    let not_before = from.option(In::signed)?.map(Timestamp);
    Some(Place::Calling { node, arguments, retries, not_before })
}

fn waiting(from: &mut In<'_>, node: NodeId) -> Option<Place> {
    let head: u64 = from.number()?;
    let on = match head >> 1 {
        0 => WaitingFor::Answer,
        1 => WaitingFor::Budget,
        2 => WaitingFor::Progress,
        3 => WaitingFor::Raised,
        4 => WaitingFor::Unchecked,
        _ => return None,
    };
    let due = if head & 1 == 1 { Some(Timestamp(from.signed()?)) } else { None };
    Some(Place::Waiting { node, on, due })
}

fn ended(number: u64) -> Option<EndResult> {
    match number {
        0 => Some(EndResult::Success),
        1 => Some(EndResult::Failure),
        2 => Some(EndResult::Blocked),
        3 => Some(EndResult::Cancelled),
        _ => None,
    }
}

fn outputs(from: &mut In<'_>) -> Option<Outputs> {
    serde_json::from_value(from.value()?).ok()
}

fn bypasses(from: &mut In<'_>) -> Option<Vec<Bypass>> {
    serde_json::from_value(from.value()?).ok()
}

fn budget(from: &mut In<'_>) -> Option<Box<Budget>> {
    serde_json::from_value(from.value()?).ok()
}

fn fault(from: &mut In<'_>) -> Option<Fault> {
    Some(Fault { node: from.own()?, code: from.own()?, message: from.own()?, detail: from.own()? })
}

/// Returns the approximate memory of a value.
fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(values) => values.iter().map(|(key, value)| key.len() + weight(value)).sum(),
    };
    size_of::<Value>() + inside
}
