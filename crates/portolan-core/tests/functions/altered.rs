//! What a node came to is changed by hand: the run goes on with the other value, also after a restart.

use std::sync::Arc;

use portolan_core::engine::{Rejection, decide, open};
use portolan_core::graph::Workflow;
use portolan_core::present::history;
use portolan_core::run::{Actor, Change, Channel, EffectResult, Event, EventKind, FramePath, Opening, Run};
use portolan_core::value::{NodeId, Timestamp};
use serde_json::{Value, json};

use crate::story::workflow;

const DOUBLED: &str = r#"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - name: outer
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: double}
      - {id: double, type: transform, transform: {expr: '{"n": entry.n * 2}'}, next: inner}
      - {id: inner, type: call, tool: inner, args: {n: {expr: double.n}}, next: sum}
      - {id: sum, type: transform, transform: {expr: '{"n": double.n + inner.n}'}, next: exit}
      - {id: exit, type: exit}
  - name: inner
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: one}
      - {id: one, type: transform, transform: {expr: '{"n": entry.n + 1}'}, next: exit}
      - {id: exit, type: exit}
"#;

struct Told {
    workflow: Workflow,
    journal: Vec<Change>,
}

impl Told {
    fn begun() -> Told {
        let workflow = workflow(DOUBLED);
        let since = Some(Timestamp(0));
        let opening = Opening { input: Some(Arc::new(json!({"n": 2}))), since, ..Opening::of(workflow.id().clone()) };
        let journal = open(&workflow, &opening).expect("it opens");
        Told { workflow, journal }
    }

    /// The run as a restart has it.
    fn run(&self) -> Run {
        let journal = serde_json::to_string(&self.journal).expect("it is JSON");
        let journal: Vec<Change> = serde_json::from_str(&journal).expect("it reads back");
        Run::fold(&journal).expect("it is open")
    }

    /// Goes on until it is before `node`, or over.
    fn until(&mut self, node: &str) -> &mut Told {
        loop {
            let run = self.run();
            let Some(effect) = run.pending(&self.workflow).into_iter().next() else { return self };
            if effect.node().as_str() == node {
                return self;
            }
            let what = effect.id.settled(EffectResult::Due, 0);
            self.takes(&Event { at: Timestamp(0), by: Actor::Engine, what }).expect("it goes on");
        }
    }

    fn takes(&mut self, event: &Event) -> Result<String, Rejection> {
        let changes = decide(&self.workflow, &self.run(), event)?;
        let told = history(event, &changes);
        self.journal.extend(changes);
        Ok(told)
    }

    fn given(&mut self, by: Actor, frame: &[&str], values: Value) -> Result<String, Rejection> {
        let frame = FramePath(frame.iter().map(|name| NodeId::from(*name)).collect());
        let what = EventKind::Noted { frame, values: Arc::new(values) };
        self.takes(&Event { at: Timestamp(0), by, what })
    }

    fn output(&self) -> Value {
        let output = self.run().root.data.and_then(|data| data.output.clone());
        output.map(|output| Value::clone(&output)).unwrap_or_default()
    }
}

fn ada() -> Actor {
    Actor::Person { name: "ada".to_owned(), via: Channel::Studio }
}

#[test]
fn the_run_goes_on_with_the_other_value() {
    let mut told = Told::begun();
    assert_eq!(told.until("").output(), json!({"n": 9}));
    let mut told = Told::begun();
    let line = told.until("inner").given(ada(), &[], json!({"double": {"n": 10}})).expect("it is taken");
    assert_eq!(line, "person ada (studio) changed `double` → the output of `double` was replaced");
    assert_eq!(told.until("").output(), json!({"n": 21}));
}

#[test]
fn the_innermost_frame_that_has_such_a_node_is_meant() {
    let mut told = Told::begun();
    told.until("one").given(ada(), &["inner"], json!({"entry": {"n": 100}, "double": {"n": 0}})).expect("it is taken");
    assert_eq!(told.until("").output(), json!({"n": 101}));
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let mut told = Told::begun();
    told.until("inner");
    let before = told.run();
    let mut refused = |by: Actor, values: Value| told.given(by, &[], values).expect_err("it is refused").to_string();
    let sum = refused(ada(), json!({"double": 1, "sum": 1}));
    assert_eq!(sum, "`sum` has no output yet that could be changed; let the run continue past it first");
    let nothing = refused(ada(), json!({"nothing": 1}));
    assert_eq!(nothing, "there is no node and no variable `nothing`; name a node that was executed, or a variable");
    assert!(refused(ada(), json!([])).starts_with("the values are not an object"));
    assert!(refused(Actor::Agent("a".to_owned()), json!({"double": 1})).starts_with("only a person is allowed"));
    assert_eq!(told.run(), before);
    assert!(
        told.until("")
            .given(ada(), &[], json!({"double": 1}))
            .expect_err("it is over")
            .to_string()
            .contains("the run has ended")
    );
}
