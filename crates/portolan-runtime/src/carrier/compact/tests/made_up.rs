//! Arbitrary runs, with every field and every variant, and with words of the definition and others.

use fastrand::Rng;
use portolan_core::chat::{Message, Role};
use portolan_core::expr::Outputs;
use portolan_core::graph::EndResult;
use portolan_core::run::{
    Attempt, Backoff, Branch, BranchState, Branches, Budget, Bypass, BypassSource, Data, Failure, Fault, Feedback,
    Form, Frame, GateRetries, Human, Item, KeyResultOutcome, ModelActivity, ModelState, Place, RaisedQuestion, Spend,
    StateUsage, Tallies, ToolCallResult, Verdict, WaitReason, WaitingFor,
};
use portolan_core::value::{NodeId, Timestamp, WorkflowId};
use serde_json::Map;

use super::*;

pub(super) struct Maker<'r> {
    random: &'r mut Rng,
    words: Vec<String>,
}

impl<'r> Maker<'r> {
    pub(super) fn of(workflow: &Workflow, random: &'r mut Rng) -> Maker<'r> {
        let mut words: Vec<String> = ["", "passed", "é", "no word of it"].map(str::to_owned).into();
        for (id, flow) in workflow.flows() {
            words.push(id.to_string());
            words.extend(flow.steps.keys().map(ToString::to_string));
            words.extend(flow.variables.iter().map(|variable| variable.name.value.clone()));
        }
        Maker { random, words }
    }

    pub(super) fn run(&mut self, workflow: &Workflow) -> Run {
        let human = if self.chance() { Human::Verified } else { Human::Attested };
        let branches = if self.chance() { Branches::Outside } else { Branches::Inside };
        let opening = Opening {
            workflow: if self.chance() { self.word().as_str().into() } else { workflow.id().clone() },
            description: self.maybe(Maker::word),
            at: self.maybe(Maker::node),
            rules: Rules { human, branches, is_branch: self.chance() },
            input: self.maybe(|maker| Arc::new(maker.value(3))),
            since: self.maybe(Maker::time),
            folder: self.maybe(Maker::word),
            effectivities: self.maybe(|maker| maker.some(Maker::word)),
            remembered: None,
            origin: None,
        };
        let executed = self.maybe(Maker::number).unwrap_or_default();
        let tallies = self.maybe(Maker::tallies);
        Run { form: Form::One, revision: self.number(), opening, executed, tallies, root: self.frame(workflow.id(), 3) }
    }

    fn tallies(&mut self) -> Box<Tallies> {
        let spend = Spend { attempts: self.number(), output_tokens: self.number(), ..Spend::default() };
        let granted = [(self.word(), self.number())].into_iter().collect();
        let run = StateUsage { visits: self.number(), spend, granted };
        Box::new(Tallies { states: [(self.word(), run.clone())].into_iter().collect(), run })
    }

    fn talk(&mut self) -> ModelState {
        let found = |maker: &mut Maker| KeyResultOutcome {
            name: maker.word(),
            met: maker.chance(),
            reason: maker.word(),
            evidence: maker.word(),
        };
        let patience = Backoff { failures: self.count(), not_before: self.maybe(Maker::time) };
        let output = Arc::new(self.value(2));
        let doing = match self.random.u8(..3) {
            0 => ModelActivity::Asking(patience),
            1 => ModelActivity::Using {
                settled: self.some(|maker| (maker.word(), ToolCallResult::Failed(maker.word()))),
                open: self.some(|maker| Item {
                    name: maker.node(),
                    index: maker.count(),
                    frame: Frame::at(maker.word().as_str().into(), Place::Ready { node: maker.node() }),
                }),
            },
            _ => ModelActivity::Judging { output, found: self.some(found), votes: vec![None], patience },
        };
        let doing = match self.chance() {
            true => doing,
            false => ModelActivity::Held { why: WaitReason::Exhausted, then: Box::new(doing) },
        };
        ModelState {
            since: self.time(),
            input: Arc::new(self.value(2)),
            attempt: self.count(),
            allowed: self.maybe(Maker::count),
            turn: self.count(),
            asked: self.count(),
            messages: Arc::new(self.some(|maker| Arc::new(Message::text(Role::Assistant, maker.word())))),
            doing,
            failed: self.some(|maker| Attempt { output: Arc::new(maker.value(1)), found: maker.some(found) }),
            before: None,
            met: None,
        }
    }

    fn chance(&mut self) -> bool {
        self.random.bool()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance().then(|| make(self))
    }

    fn bypass(&mut self) -> Bypass {
        Bypass {
            id: self.word(),
            invariant: self.word(),
            node: Some(self.node()),
            reason: self.word(),
            source: BypassSource::Command,
            identifier: self.word(),
            at: self.time(),
            expires_at: self.maybe(Maker::time),
            once: self.chance(),
            used: self.chance(),
        }
    }

    fn some<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.random.usize(..3)).map(|_| make(self)).collect()
    }

    fn word(&mut self) -> String {
        self.words[self.random.usize(..self.words.len())].clone()
    }

    fn node(&mut self) -> NodeId {
        self.word().into()
    }

    fn number(&mut self) -> u64 {
        [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX][self.random.usize(..7)]
    }

    fn count(&mut self) -> u32 {
        self.number().try_into().unwrap_or(3)
    }

    fn time(&mut self) -> Timestamp {
        Timestamp([0, -1, 1_780_000_000_000, i64::MIN, i64::MAX][self.random.usize(..5)])
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.random.u8(..if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => self.chance().into(),
            2 => self.number().into(),
            3 => [-1, i64::MIN, -300][self.random.usize(..3)].into(),
            4 => [0.0, -0.0, 0.1, f64::MIN_POSITIVE, f64::MAX, -2.0][self.random.usize(..6)].into(),
            5 => self.word().into(),
            6 => self.some(|maker| maker.value(depth - 1)).into(),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        self.some(|maker| (maker.word(), maker.value(depth))).into_iter().collect()
    }

    fn frame(&mut self, flow: &WorkflowId, depth: usize) -> Frame {
        let flow = if self.random.u8(..4) == 0 { self.word().as_str().into() } else { flow.clone() };
        let place = self.place(&flow, depth);
        Frame {
            since: self.number(),
            place,
            spent: self.some(|maker| GateRetries { gate: maker.node(), used: maker.count() }),
            feedback: self.maybe(Maker::feedback),
            raised: self.maybe(|maker| {
                let options = maker.some(|maker| maker.word().into());
                Box::new(RaisedQuestion { question: maker.word(), options })
            }),
            data: self.maybe(Maker::data),
            flow,
        }
    }

    fn feedback(&mut self) -> Feedback {
        let failures =
            self.some(|maker| Failure { check: maker.word().into(), reason: maker.word(), output: maker.word() });
        Feedback { from: self.maybe(Maker::node), failures, note: self.maybe(Maker::word) }
    }

    fn place(&mut self, flow: &WorkflowId, depth: usize) -> Place {
        let node = self.node();
        match self.random.u8(..if depth == 0 { 9 } else { 13 }) {
            0 => Place::Ready { node },
            1 => self.checking(node),
            2 => Place::Passing { node, passed: self.count() },
            3 => {
                let arguments = Arc::new(self.value(2));
                Place::Calling { node, arguments, retries: self.count(), not_before: self.maybe(Maker::time) }
            }
            4 => {
                use WaitingFor::{Answer, Budget, Progress, Raised};
                let on = [Answer, Budget, Progress, Raised][self.random.usize(..4)];
                Place::Waiting { node, on, due: self.maybe(Maker::time) }
            }
            5 => Place::Gathering { node },
            6 => Place::Arrived { node, outcome: self.word().into() },
            7 => {
                use EndResult::{Blocked, Cancelled, Failure, Success};
                Place::Ended { node, result: [Success, Failure, Blocked, Cancelled][self.random.usize(..4)] }
            }
            8 => Place::Conversing { node, talk: Box::new(self.talk()) },
            9 => Place::Forked { node, branches: self.some(|maker| maker.branch(flow, depth - 1)) },
            10 => Place::Within { node, frame: Box::new(self.frame(flow, depth - 1)) },
            11 => Place::Looping {
                node,
                pass: self.random.u32(..3),
                items: self.maybe(|maker| Arc::new(maker.some(|maker| maker.value(2)))),
                frame: Box::new(self.frame(flow, depth - 1)),
            },
            _ => self.each(node, flow, depth - 1),
        }
    }

    fn checking(&mut self, node: NodeId) -> Place {
        let settled = self.some(|maker| {
            let (reason, output) = (maker.word(), maker.word());
            let verdict = match maker.random.u8(..5) {
                0 => Verdict::Held,
                1 => Verdict::Broken { reason, output },
                2 => Verdict::Shown { reason, sets: maker.maybe(|maker| Arc::new(maker.value(2))) },
                3 => Verdict::Excused { reason, bypass: output },
                _ => Verdict::Unknown { reason },
            };
            (maker.word().into(), verdict)
        });
        Place::Checking { node, outcome: self.word().into(), settled, note: self.maybe(Maker::word) }
    }

    fn each(&mut self, node: NodeId, flow: &WorkflowId, depth: usize) -> Place {
        let open =
            self.some(|maker| Item { name: maker.node(), index: maker.count(), frame: maker.frame(flow, depth) });
        let done = self.some(|maker| maker.maybe(|maker| Arc::new(maker.value(2))));
        let items = self.some(|maker| maker.value(2));
        Place::Each { node, items: Arc::new(items), begun: self.count(), open, done: Arc::new(done) }
    }

    fn branch(&mut self, flow: &WorkflowId, depth: usize) -> Branch {
        let state = match self.random.u8(..4) {
            0 => BranchState::Held,
            1 => BranchState::Open(self.frame(flow, depth)),
            2 => BranchState::Done(self.word().into()),
            _ => BranchState::Cancelled,
        };
        Branch { name: self.node(), state, data: self.maybe(Maker::data) }
    }

    fn data(&mut self) -> Arc<Data> {
        let mut outputs = Outputs::new(self.chance());
        for (node, value) in self.some(|maker| (maker.node(), maker.maybe(|maker| Arc::new(maker.value(2))))) {
            outputs.record(&node, value);
        }
        let fault = |maker: &mut Self| Fault {
            node: maker.word(),
            code: maker.word(),
            message: maker.word(),
            detail: maker.word(),
        };
        Arc::new(Data {
            input: Arc::new(self.value(2)),
            outputs,
            variables: self.object(2),
            skipped: self.some(Maker::node).into_iter().collect(),
            bypasses: self.some(Maker::bypass),
            budget: self.maybe(|maker| Box::new(Budget { since: maker.time(), tally: maker.tallies().run })),
            output: self.maybe(|maker| Arc::new(maker.value(2))),
            fault: self.maybe(fault),
        })
    }
}

#[test]
fn every_run_that_can_be_made_up_comes_back() {
    let mut random = fastrand::Rng::with_seed(1);
    for workflow in [review(), sample(), of_catalogue("bug-hunt")] {
        for _ in 0..2_000 {
            let run = Maker::of(&workflow, &mut random).run(&workflow);
            comes_back(&workflow, &run);
        }
    }
}
