//! Somebody who embeds Portolan drives runs with a store and performers of their own: the checks of a run that an agent
//! is led through, and a function.

use std::sync::Arc;

use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{self, Effect, EffectKind};
use portolan_core::graph::{CheckBy, Workflow};
use portolan_core::run::{Actor, EffectResult, Event, EventKind, FramePath, Opening, Reply, Run, Verdict};
use portolan_core::source::Source;
use portolan_core::validate;
use portolan_core::value::{Outcome, Timestamp};
use portolan_runtime::clock::Clock;
use portolan_runtime::drive::{self, Drive, DriveSetup, EffectFuture, EffectRequest, Perform, StoreRun};
use portolan_runtime::store::{Digest, MemoryStore, NewRun, Record, RunId, Store};
use serde_json::{Value, json};

const CHECKED: &str = r#"{
  "nodes": {
    "start": {"type": "start"},
    "fix": {"type": "task", "accept": [
      {"id": "tests", "run": ["cargo", "test"]},
      {"id": "notes", "file": "NOTES.md"}
    ]},
    "done": {"type": "end", "result": "success"},
    "stuck": {"type": "end", "result": "blocked"}
  },
  "edges": [
    {"from": "start", "to": "fix"},
    {"from": "fix", "to": "done", "on": "passed"},
    {"from": "fix", "to": "stuck", "on": "failed"}
  ]
}"#;

const DOUBLE: &str = r#"
version: "1.0"
server: {name: numbers, version: "1"}
mcpServers:
  numbers: {command: never-started}
tools:
  - name: double
    description: Doubles a number
    inputSchema: {type: object, properties: {n: {type: number}}, required: [n]}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: twice}
      - {id: twice, type: mcp, server: numbers, tool: twice, args: {n: {expr: $.entry.n}}, next: exit}
      - {id: exit, type: exit}
"#;

fn workflow(name: &str, text: &str) -> Arc<Workflow> {
    let (graph, faults) = dialect::parse(&Source::new(name, text), Strictness::Strict).first();
    let graph = graph.unwrap_or_else(|| panic!("{faults:#?}"));
    let (workflow, faults) = validate::validate(&graph, &|_| None, Strictness::Strict);
    Arc::new(workflow.unwrap_or_else(|| panic!("{faults:#?}")))
}

/// A run that somebody keeps in a store of theirs.
struct Kept {
    workflow: Arc<Workflow>,
    store: MemoryStore,
    id: RunId,
}

impl Kept {
    async fn open(workflow: Arc<Workflow>, opening: Opening) -> Arc<Kept> {
        let changes = engine::open(&workflow, &opening).expect("it can be opened");
        let run = Run::fold(&changes).expect("it is open");
        let event = Event { at: Timestamp(0), by: Actor::Engine, what: EventKind::Opened(opening) };
        let id = RunId::random();
        let new = NewRun {
            id: id.clone(),
            definition: Digest::of("a definition"),
            definition_text: "a definition".into(),
            cover: None,
            run,
            records: vec![Record { seq: 1, event, changes }],
        };
        let store = MemoryStore::default();
        store.create(new).await.expect("it can be kept");
        Arc::new(Kept { workflow, store, id })
    }

    /// Has something happen to it, whoever drives it.
    async fn happen(&self, what: EventKind) {
        let stored = self.store.load(&self.id).await.expect("it is there");
        let (mut run, event) = (stored.run, Event { at: Timestamp(0), by: Actor::Agent("me".into()), what });
        let changes = engine::decide(&self.workflow, &run, &event).expect("it is allowed");
        changes.iter().for_each(|change| run.apply(change));
        let record = Record { seq: stored.seq + 1, event, changes };
        self.store.append(&self.id, stored.seq, &record, &run).await.expect("it can be kept");
    }

    async fn drive(&self, performers: Arc<dyn Perform>) -> drive::Outcome {
        let stored = self.store.load(&self.id).await.expect("it is there");
        let keep = StoreRun::new(&self.store, self.id.clone(), stored.seq);
        let setup = DriveSetup { clock: Clock::Still(Timestamp(0)), ..DriveSetup::of(performers, 7) };
        let mut drive = Drive::new(self.workflow.clone(), stored.run, setup, Some(Box::new(keep)));
        let outcome = drive.until_over().await.expect("it can be kept");
        let kept = self.store.load(&self.id).await.expect("it is there").run;
        assert_eq!(*drive.run(), kept, "what is driven is what is kept");
        outcome
    }

    /// The checks that counted, in order.
    async fn counted(&self) -> Vec<String> {
        let records = self.store.records(&self.id, 0, 100).await.expect("it is there");
        let check = |record: &Record| match &record.event.what {
            EventKind::Settled { effect, .. } => effect.check().map(ToString::to_string),
            _ => None,
        };
        records.iter().filter_map(check).collect()
    }

    async fn at(&self) -> String {
        self.store.load(&self.id).await.expect("it is there").run.root.place.node().to_string()
    }
}

/// Begun, and claimed to be done.
async fn claimed() -> Arc<Kept> {
    let kept = Kept::open(workflow("fix.json", CHECKED), Opening::of("fix")).await;
    kept.happen(EventKind::Begun { revision: None }).await;
    let (frame, outcome) = (FramePath::default(), Outcome::passed());
    kept.happen(EventKind::Reported { frame, outcome, revision: None, note: None, outputs: None }).await;
    kept
}

/// What somebody else does while a command runs.
#[derive(Clone, Copy)]
enum Meanwhile {
    Nothing,
    ChecksTheFile,
    Cancels,
}

/// Looks at nothing: commands come to what is said here, and of checks only commands are performed.
struct Commands {
    kept: Arc<Kept>,
    verdict: Verdict,
    meanwhile: Meanwhile,
}

impl Perform for Commands {
    fn takes(&self, effect: &Effect, _workflow: &Workflow) -> bool {
        match &effect.what {
            EffectKind::Check(request) => matches!(request.check, CheckBy::Run { .. }),
            what => *what == EffectKind::Advance,
        }
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        let (kept, verdict, meanwhile) = (self.kept.clone(), self.verdict.clone(), self.meanwhile);
        EffectFuture::at_once(async move {
            match meanwhile {
                Meanwhile::Nothing => {}
                Meanwhile::ChecksTheFile => {
                    let run = kept.store.load(&kept.id).await.expect("it is there").run;
                    let pending = run.pending(&wanted.workflow).into_iter();
                    let file = pending.map(|effect| effect.id).find(|id| *id != wanted.effect.id).expect("the file");
                    kept.happen(file.settled(EffectResult::Verdict(Verdict::Held), 0)).await;
                }
                Meanwhile::Cancels => {
                    kept.happen(EventKind::Cancelled { reason: "enough".into(), outcome: None }).await;
                }
            }
            verdict.into()
        })
    }
}

async fn checked(verdict: Verdict, meanwhile: Meanwhile) -> (drive::Outcome, Arc<Kept>) {
    let kept = claimed().await;
    let outcome = kept.drive(Arc::new(Commands { kept: kept.clone(), verdict, meanwhile })).await;
    (outcome, kept)
}

#[tokio::test]
async fn what_nobody_takes_stays_for_somebody_else() {
    let (outcome, kept) = checked(Verdict::Held, Meanwhile::Nothing).await;
    assert_eq!(outcome, drive::Outcome::Waiting { node: "fix".into(), why: None });
    assert_eq!(kept.counted().await, ["tests"]);
    // The check that is left is performed where the project is.
    let file = kept.store.load(&kept.id).await.expect("it is there").run.pending(&kept.workflow);
    let [Effect { id, what: EffectKind::Check(_), .. }] = file.as_slice() else { panic!("{file:#?}") };
    kept.happen(id.clone().settled(EffectResult::Verdict(Verdict::Held), 0)).await;
    assert_eq!(kept.at().await, "done");
}

#[tokio::test]
async fn another_writer_may_come_first_and_both_verdicts_count() {
    let (outcome, kept) = checked(Verdict::Held, Meanwhile::ChecksTheFile).await;
    assert_eq!((outcome, kept.at().await), (drive::Outcome::Done(None), "done".to_owned()));
    assert_eq!(kept.counted().await, ["notes", "tests"]);

    let broken = Verdict::Broken { reason: "it fails".into(), output: String::new() };
    let (_, kept) = checked(broken, Meanwhile::ChecksTheFile).await;
    assert_eq!(kept.at().await, "stuck", "an agent's word is no verdict");
}

#[tokio::test]
async fn a_verdict_that_comes_late_counts_for_nothing() {
    let (outcome, kept) = checked(Verdict::Held, Meanwhile::Cancels).await;
    assert_eq!((outcome, kept.counted().await.len()), (drive::Outcome::Cancelled, 0));
}

/// Doubles what it is given, and executes the nodes around it. Meanwhile the run may be called off.
struct Doubler {
    called_off: Option<Arc<Kept>>,
}

impl Perform for Doubler {
    fn takes(&self, effect: &Effect, _workflow: &Workflow) -> bool {
        matches!(effect.what, EffectKind::Advance | EffectKind::Call(_))
    }

    fn perform(&self, wanted: EffectRequest) -> EffectFuture {
        let EffectKind::Call(call) = &wanted.effect.what else { panic!("{:?}", wanted.effect) };
        let n = call.arguments["n"].as_i64().expect("a number");
        let called_off = self.called_off.clone();
        EffectFuture::when_due(async move {
            if let Some(kept) = called_off {
                kept.happen(EventKind::Cancelled { reason: "enough".into(), outcome: None }).await;
            }
            Reply::Output(Some(Arc::new(json!({ "twice": 2 * n })))).into()
        })
    }
}

async fn doubling() -> Arc<Kept> {
    let workflow = workflow("numbers.yaml", DOUBLE);
    let input: Option<Arc<Value>> = Some(Arc::new(json!({ "n": 21 })));
    let opening = Opening { input, since: Some(Timestamp(0)), ..Opening::of(workflow.id().clone()) };
    Kept::open(workflow, opening).await
}

#[tokio::test]
async fn a_function_is_driven_by_performers_of_ones_own() {
    let outcome = doubling().await.drive(Arc::new(Doubler { called_off: None })).await;
    assert_eq!(outcome, drive::Outcome::Done(Some(Arc::new(json!({ "twice": 42 })))));
}

#[tokio::test]
async fn a_function_that_is_called_off_elsewhere_ends_as_cancelled() {
    let kept = doubling().await;
    let outcome = kept.drive(Arc::new(Doubler { called_off: Some(kept.clone()) })).await;
    assert_eq!(outcome, drive::Outcome::Cancelled);
}
