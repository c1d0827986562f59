//! Encodes a run as bytes. Each struct is destructured by field names: a new field does not compile until it is encoded
//! here, with a new line in the table of layouts.

use portolan_core::expr::Outputs;
use portolan_core::graph::{EndResult, Workflow};
use portolan_core::run::{
    Branch, BranchState, Branches, Data, Failure, Fault, Feedback, Form, Frame, GateRetries, Human, Item, Opening,
    Place, RaisedQuestion, Rules, Run, Verdict, WaitingFor,
};
use portolan_core::value::WorkflowId;
use serde::Serialize;
use serde_json::Value;

use super::bytes::{Out, bits};
use super::changes::{CHANGE_BITS, Changes};
use super::expectation::{self, Origin, PLACE_BITS};
use super::words::Words;

/// Encodes a value that has no layout of its own.
fn as_value(what: &impl Serialize) -> Value {
    serde_json::to_value(what).expect("what a run holds is JSON")
}

/// Writes the bytes after the check.
pub(super) fn state(workflow: &Workflow, words: &Words, run: &Run) -> Vec<u8> {
    let mut writer = Writer { workflow, revision: run.revision, out: Out::new(words) };
    writer.run(run);
    writer.out.bytes()
}

struct Writer<'w> {
    workflow: &'w Workflow,
    revision: u64,
    out: Out<'w>,
}

impl Writer<'_> {
    fn run(&mut self, run: &Run) {
        let Run { form: Form::One, revision: _, opening, executed, tallies, root } = run;
        // `remembered` is not carried: only functions have it.
        let Opening { workflow, description, at, rules, input, since, folder, effectivities, remembered: _, origin: _ } =
            opening;
        let is_other = workflow != self.workflow.id();
        self.out.flags([
            false,
            *rules != Rules::default(),
            description.is_some(),
            input.is_some(),
            at.is_some(),
            is_other,
            *executed > 0,
            since.is_some(),
            folder.is_some(),
            effectivities.is_some(),
            tallies.is_some(),
        ]);
        if *rules != Rules::default() {
            self.rules(*rules);
        }
        description.iter().for_each(|text| self.out.own(text));
        input.iter().for_each(|value| self.out.value(value));
        at.iter().for_each(|node| self.out.node(node.as_str()));
        if is_other {
            self.out.name(workflow.as_str());
        }
        if *executed > 0 {
            self.out.number(*executed);
        }
        since.iter().for_each(|since| self.out.signed(since.0));
        folder.iter().for_each(|text| self.out.own(text));
        effectivities.iter().for_each(|names| self.out.list(names.iter(), |out, name| out.text(name)));
        tallies.iter().for_each(|tallies| self.out.value(&as_value(tallies)));
        self.frame(root, &self.workflow.id().clone(), Origin::Opened(input.as_deref()));
    }

    fn rules(&mut self, Rules { human, branches, is_branch }: Rules) {
        let is_verified = match human {
            Human::Attested => false,
            Human::Verified => true,
        };
        let is_outside = match branches {
            Branches::Inside => false,
            Branches::Outside => true,
        };
        self.out.flags([is_verified, is_outside, is_branch]);
    }

    fn frame(&mut self, frame: &Frame, usual: &WorkflowId, origin: Origin<'_>) {
        let Frame { flow, since, place, spent, feedback, raised, data } = frame;
        let is_other = flow != usual;
        let flags = [data.is_some(), !spent.is_empty(), feedback.is_some(), raised.is_some(), is_other];
        self.out.number(bits(flags) << PLACE_BITS | u64::from(expectation::tag(place)));
        if is_other {
            self.out.name(flow.as_str());
        }
        self.out.number(self.revision.wrapping_sub(*since));
        self.place(place, flow);
        if !spent.is_empty() {
            self.out.list(spent.iter(), |out, GateRetries { gate, used }| {
                out.node(gate.as_str());
                out.number(*used);
            });
        }
        feedback.iter().for_each(|feedback| self.feedback(feedback));
        if let Some(RaisedQuestion { question, options }) = raised.as_deref() {
            self.out.own(question);
            self.out.list(options.iter(), |out, option| out.text(option.as_str()));
        }
        data.iter().for_each(|data| self.data(data, flow, origin));
    }

    fn feedback(&mut self, Feedback { from, failures, note }: &Feedback) {
        self.out.flags([from.is_some(), !failures.is_empty(), note.is_some()]);
        from.iter().for_each(|from| self.out.node(from.as_str()));
        if !failures.is_empty() {
            self.out.list(failures.iter(), |out, Failure { check, reason, output }| {
                out.text(check.as_str());
                out.own(reason);
                out.own(output);
            });
        }
        note.iter().for_each(|note| self.out.own(note));
    }

    fn place(&mut self, place: &Place, flow: &WorkflowId) {
        self.out.node(place.node().as_str());
        match place {
            Place::Ready { node: _ } | Place::Passing { passed: 0, .. } | Place::Gathering { node: _ } => {}
            Place::Passing { node: _, passed } => self.out.number(*passed),
            Place::Checking { node: _, outcome, settled, note } => {
                self.out.text(outcome.as_str());
                self.out.list(settled.iter(), |out, (check, settled)| {
                    out.text(check.as_str());
                    verdict(out, settled);
                });
                self.out.option(note.as_ref(), |out, note| out.own(note));
            }
            Place::Calling { node: _, arguments, retries, not_before } => {
                self.out.value(arguments);
                self.out.number(*retries);
                self.out.option(not_before.as_ref(), |out, not_before| out.signed(not_before.0));
            }
            // A conversation is mostly free text, which nothing here makes shorter.
            Place::Conversing { node: _, talk } => self.out.value(&as_value(talk)),
            Place::Each { node, items, begun, open, done } => {
                self.out.list(items.iter(), Out::value);
                self.out.number(*begun);
                let runs = expectation::run_by(self.workflow, flow, node);
                self.out.number(open.len() as u64);
                open.iter().for_each(|item| self.item(item, &runs));
                self.out.list(done.iter(), |out, done| out.option(done.as_deref(), Out::value));
            }
            Place::Looping { node, pass, items, frame } => {
                self.out.number(*pass);
                let items = items.as_ref().map(|items| items.as_slice());
                self.out.option(items, |out, items| out.list(items.iter(), Out::value));
                self.frame(frame, flow, expectation::pass(self.workflow, flow, node, items, *pass));
            }
            Place::Waiting { node: _, on, due } => {
                self.out.number(waiting(*on) << 1 | u64::from(due.is_some()));
                due.iter().for_each(|due| self.out.signed(due.0));
            }
            Place::Forked { node: _, branches } => {
                self.out.number(branches.len() as u64);
                branches.iter().for_each(|branch| self.branch(branch, flow));
            }
            Place::Within { node, frame } => {
                self.frame(frame, &expectation::run_by(self.workflow, flow, node), Origin::Entered);
            }
            Place::Arrived { node: _, outcome } => self.out.text(outcome.as_str()),
            Place::Ended { node: _, result } => self.out.number(ended(*result)),
        }
    }

    fn item(&mut self, Item { name, index, frame }: &Item, usual: &WorkflowId) {
        self.out.node(name.as_str());
        self.out.number(*index);
        self.frame(frame, usual, Origin::Entered);
    }

    fn branch(&mut self, Branch { name, state, data }: &Branch, flow: &WorkflowId) {
        self.out.node(name.as_str());
        let tag: u64 = match state {
            BranchState::Held => 0,
            BranchState::Open(_) => 1,
            BranchState::Done(_) => 2,
            BranchState::Cancelled => 3,
        };
        self.out.number(tag << 1 | u64::from(data.is_some()));
        match state {
            BranchState::Held | BranchState::Cancelled => {}
            BranchState::Open(frame) => self.frame(frame, flow, Origin::Entered),
            BranchState::Done(outcome) => self.out.text(outcome.as_str()),
        }
        data.iter().for_each(|data| self.data(data, flow, Origin::Entered));
    }

    fn data(&mut self, data: &Data, flow: &WorkflowId, origin: Origin<'_>) {
        let Data { input, outputs, variables, skipped, bypasses, budget, output, fault } = data;
        let first = origin.variables(self.workflow, flow, input);
        let changes = Changes::of(&first, variables, &expectation::declared(self.workflow, flow));
        let has_outputs = *outputs != Outputs::default();
        let flags = [
            !skipped.is_empty(),
            !input.is_null(),
            has_outputs,
            output.is_some(),
            fault.is_some(),
            !bypasses.is_empty(),
            budget.is_some(),
        ];
        self.out.number(bits(flags) << CHANGE_BITS | changes.number());
        if !input.is_null() {
            self.out.value(input);
        }
        match changes {
            Changes::None => {}
            Changes::Marked(marks, values) => {
                self.out.number(marks);
                values.iter().for_each(|value| self.out.value(value));
            }
            Changes::Listed(pairs) | Changes::Anew(pairs) => self.out.pairs(&pairs),
        }
        if !skipped.is_empty() {
            self.out.list(skipped.iter(), |out, node| out.node(node.as_str()));
        }
        if has_outputs {
            self.out.value(&serde_json::to_value(outputs).expect("outputs are JSON"));
        }
        output.iter().for_each(|output| self.out.value(output));
        if let Some(Fault { node, code, message, detail }) = fault {
            [node, code, message, detail].iter().for_each(|text| self.out.own(text));
        }
        if !bypasses.is_empty() {
            self.out.value(&serde_json::to_value(bypasses).expect("bypasses are JSON"));
        }
        budget.iter().for_each(|budget| self.out.value(&as_value(budget)));
    }
}

fn verdict(out: &mut Out<'_>, verdict: &Verdict) {
    match verdict {
        Verdict::Held => out.number(0_u8),
        Verdict::Broken { reason, output } => {
            out.number(1_u8);
            out.own(reason);
            out.own(output);
        }
        Verdict::Unknown { reason } => {
            out.number(2_u8);
            out.own(reason);
        }
        Verdict::Shown { reason, sets } => {
            out.number(3_u8);
            out.own(reason);
            out.option(sets.as_deref(), Out::value);
        }
        Verdict::ForPerson { reason } => {
            out.number(5_u8);
            out.own(reason);
        }
        Verdict::Excused { reason, bypass } => {
            out.number(4_u8);
            out.own(reason);
            out.own(bypass);
        }
    }
}

fn waiting(on: WaitingFor) -> u64 {
    match on {
        WaitingFor::Answer => 0,
        WaitingFor::Budget => 1,
        WaitingFor::Progress => 2,
        WaitingFor::Raised => 3,
        WaitingFor::Unchecked => 4,
    }
}

fn ended(result: EndResult) -> u64 {
    match result {
        EndResult::Success => 0,
        EndResult::Failure => 1,
        EndResult::Blocked => 2,
        EndResult::Cancelled => 3,
    }
}
