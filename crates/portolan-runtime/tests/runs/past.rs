//! The past of runs: each moment of it, runs that begin with the past of another, what is told as it happens, and what
//! waits for a person.

use crate::common::calls::Calls;
use crate::common::{World, agent, person, refusal, step, wait};
use expect_test::expect;
use portolan_core::present::Mark;
use portolan_core::run::Run;
use portolan_core::value::Timestamp;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Feed, Fork, Onto, RunEvent, Service};
use serde_json::Value;

const MEND: &str = "start -> fix; fix -> check; check: gate retries 2; check -passed-> done; check -failed-> fix
                    check -failed-> ask; ask -passed-> fix";

/// A run of [`MEND`] with a failure and a question in it.
fn mended() -> (World, Address) {
    let world = World::with("mend", MEND);
    let run = world.open("mend");
    world.start(&run).expect("it starts");
    for outcome in ["passed", "failed", "passed", "failed", "passed", "failed", "passed", "passed"] {
        world.next(&run, outcome).expect("it is accepted");
    }
    (world, run)
}

/// What has happened on the drawing, in lines.
fn overlay(service: &Service, run: &Address, seq: u64) -> String {
    let past = wait(service.past(run)).expect("it has one");
    let moment = wait(service.moment(&past, seq, &agent())).expect("there is such a record");
    let mut lines = String::new();
    for (name, node) in &moment.overlay.nodes {
        let worst = node.worst.map(|worst| format!(", worst {worst:?}")).unwrap_or_default();
        let budget = node.budget.map(|budget| format!(", {} of {budget} used", node.used)).unwrap_or_default();
        lines +=
            &format!("{name} {:?}, {} visits, {} failures{budget}{worst}\n", node.state, node.visits, node.failures);
    }
    for edge in &moment.overlay.edges {
        lines += &format!("{} -> {} {}\n", edge.from, edge.to, edge.count);
    }
    lines
}

#[test]
fn every_moment_is_the_fold_of_the_records_before_it() {
    let (world, run) = mended();
    let service = world.service();
    let past = wait(service.past(&run)).expect("it has one");
    let records = wait(service.page(&run, 0, 1_000)).expect("they are read");
    assert_eq!(past.head(), records.len() as u64);
    for seq in 1..=past.head() {
        let upto = usize::try_from(seq).expect("it is small");
        let fold = Run::fold(records[..upto].iter().flat_map(|record| &record.changes)).expect("it has begun");
        let moment = wait(service.moment(&past, seq, &agent())).expect("there is such a record");
        assert_eq!(moment.at, records[upto - 1].event.at);
        assert_eq!(moment.view.situation.position.step, fold.root.place.node().as_str());
        assert_eq!(moment.view.situation.position.revision, fold.root.since, "record {seq}");
    }
    let error = refusal(wait(service.moment(&past, 0, &agent())).map(|moment| moment.view));
    assert_eq!((error.code, &*error.message), ("unknown_record", &*format!("`{run}` has no record 0")));
    assert!(wait(service.moment(&past, past.head() + 1, &agent())).is_err());
}

#[test]
fn a_long_past_is_folded_from_the_nearest_fold() {
    let world = World::with(
        "round",
        "start -> fix; fix -> check; check: outputs enough again; check -again-> fix; check -enough-> done",
    );
    let run = world.open("round");
    world.start(&run).expect("it starts");
    for _ in 0..300 {
        world.next(&run, "passed").expect("it is accepted");
        world.next(&run, "again").expect("it is accepted");
    }
    let service = world.service();
    let past = wait(service.past(&run)).expect("it has one");
    assert_eq!(past.head(), 602);
    for seq in [1, 2, 3, 250, 251, 252, 500, 501, 502, 601, 602] {
        let moment = wait(service.moment(&past, seq, &agent())).expect("there is such a record");
        let visits = moment.overlay.nodes.get("fix").map_or(0, |node| node.visits);
        assert_eq!(u64::from(visits), if seq < 2 { 0 } else { seq / 2 }, "record {seq}");
    }
}

#[test]
fn the_drawing_shows_the_latest_and_the_worst() {
    let (world, run) = mended();
    expect![[r#"
        fix Here, 1 visits, 0 failures
        start Done, 1 visits, 0 failures
        start -> fix 1
    "#]]
    .assert_eq(&overlay(&world.service(), &run, 2));
    expect![[r#"
        check Failed, 1 visits, 1 failures, 1 of 2 used
        fix Here, 2 visits, 0 failures
        start Done, 1 visits, 0 failures
        check -> fix 1
        fix -> check 1
        start -> fix 1
    "#]]
    .assert_eq(&overlay(&world.service(), &run, 4));
    expect![[r#"
        ask Waiting, 1 visits, 0 failures
        check Failed, 3 visits, 3 failures, 2 of 2 used
        fix Done, 3 visits, 0 failures
        start Done, 1 visits, 0 failures
        check -> ask 1
        check -> fix 2
        fix -> check 3
        start -> fix 1
    "#]]
    .assert_eq(&overlay(&world.service(), &run, 8));
}

#[test]
fn branches_are_marked_where_they_are() {
    let world = World::with(
        "both",
        "start -> fork; fork -> a, b; a -> join; b -> join; join -passed-> done; join -failed-> failed",
    );
    let run = world.open("both");
    world.start(&run).expect("it starts");
    world.next_in(&run, "a", "passed").expect("it is accepted");
    let service = world.service();
    let past = wait(service.past(&run)).expect("it has one");
    let moment = wait(service.moment(&past, past.head(), &agent())).expect("there is such a record");
    let node = |name: &str| moment.overlay.nodes.get(name).unwrap_or_else(|| panic!("`{name}` was come by"));
    assert_eq!((node("a").state, node("b").state), (Mark::Done, Mark::Here));
    let arrived = node("fork").arrived.expect("a fork says how many of its branches are done");
    assert_eq!((arrived.done, arrived.of), (1, 2));
}

#[test]
fn a_fork_begins_with_the_past_and_leaves_the_other_run_as_it_is() {
    let (world, run) = mended();
    let before = world.history(&run);
    let fork = wait(world.service().fork(&run, Fork::at(5), &agent())).expect("it is forked").address;
    assert_ne!(fork.to_string(), run.to_string());
    assert_eq!(world.current(&fork).expect("it is there").current_step, "check");
    let own = world.history(&fork);
    assert_eq!(own.lines().count(), 5);
    // Only the first record says where the past is from.
    let origin = format!(", a fork of `{run}` after its record 5");
    let own_past = own.replacen(&origin, "", 1);
    assert!(own_past != own && before.starts_with(&own_past), "{own}");
    world.next(&fork, "passed").expect("it goes on by itself");
    assert_eq!(world.history(&run), before);
    let past = wait(world.service().past(&fork)).expect("it has one");
    let origin = past.trail().run().and_then(|run| run.opening.origin.clone()).expect("it is on record");
    assert_eq!((origin.run, origin.seq), (run.to_string(), 5));
    // A fork can be forked.
    let over = refusal(wait(world.service().fork(&fork, Fork::at(7), &agent())));
    assert_eq!((over.code, &*over.message), ("over", "the run had ended by that record"));
    wait(world.service().fork(&fork, Fork::at(3), &agent())).expect("it is forked");
}

#[test]
fn a_run_is_forked_at_each_of_its_records() {
    let (world, run) = mended();
    let records = wait(world.service().page(&run, 0, 100)).expect("they are read").len() as u64;
    for seq in 1..=records {
        let fork = wait(world.service().fork(&run, Fork::at(seq), &person())).map(|view| view.address);
        match fork {
            Ok(fork) => {
                let past = wait(world.service().past(&fork)).expect("it has one");
                // What needs nobody is passed.
                assert!(past.head() == seq || (seq, past.head()) == (records - 1, records), "record {seq}");
            }
            Err(error) => assert_eq!((error.code, seq), ("over", records)),
        }
    }
}

#[test]
fn what_a_person_decided_is_forked_by_persons_only() {
    let world = World::with("ask", "start -> fix; fix -failed-> ask; ask -passed-> fix; fix -passed-> done").verified();
    let run = world.open("ask");
    world.start(&run).expect("it starts");
    let asked = world.next(&run, "failed").expect("it asks");
    wait(world.service().next(&step(&asked, "passed"), &person())).expect("it counts");
    let refused = refusal(wait(world.service().fork(&run, Fork::at(4), &agent())));
    expect![[r"
        needs_person: only a person is allowed to fork a run in which a person has decided something
        ask a person to run `portolan runs fork` in a terminal that was not opened by an agent's program"]]
    .assert_eq(&format!("{}: {}\n{}", refused.code, refused.message, refused.help));
    // Before that nobody's word is taken along.
    wait(world.service().fork(&run, Fork::at(3), &agent())).expect("it is forked");
    wait(world.service().fork(&run, Fork::at(4), &person())).expect("it is forked");
}

#[test]
fn a_task_is_forked_into_the_store() {
    let world = World::with("mend", MEND);
    let task = world.begin("1", "mend");
    world.next(&task, "passed").expect("it is accepted");
    let fork = wait(world.service().fork(&task, Fork::at(2), &agent())).expect("it is forked").address;
    assert!(fork.handle().is_some());
    world.next(&fork, "passed").expect("it goes on by itself");
    assert_eq!(world.current(&task).expect("it is there").current_step, "check");
}

fn lines(news: &[RunEvent]) -> Vec<String> {
    news.iter().map(|happened| format!("{} {}", happened.seq, happened.kind)).collect()
}

#[test]
fn what_happens_is_told_once_whoever_moves_the_runs() {
    let world = World::with("mend", MEND);
    let looks = world.service();
    let mut feed = Feed::from_now(Timestamp(0), None);
    assert!(wait(looks.news(&mut feed)).expect("it is read").is_empty());
    let run = world.open("mend");
    assert_eq!(lines(&wait(looks.news(&mut feed)).expect("it is read")), ["1 opened"]);
    assert!(wait(looks.news(&mut feed)).expect("it is read").is_empty());
    world.start(&run).expect("it starts");
    world.next(&run, "passed").expect("it is accepted");
    let news = wait(looks.news(&mut feed)).expect("it is read");
    assert_eq!(lines(&news), ["2 begun", "3 reported"]);
    assert_eq!((news[1].line.step.as_str(), &news[1].nodes), ("check", &vec!["check".to_owned()]));
    // A task file's records are told, too.
    world.begin("1", "mend");
    assert_eq!(lines(&wait(looks.news(&mut feed)).expect("it is read")), ["1 opened", "2 begun"]);
    assert!(wait(looks.news(&mut feed)).expect("it is read").is_empty());
}

#[test]
fn who_was_cut_off_is_told_all_since() {
    let world = World::with("mend", MEND);
    let run = world.open("mend");
    world.start(&run).expect("it starts");
    let last = wait(world.service().page(&run, 0, 100)).expect("they are read")[1].event.at;
    for outcome in ["passed", "failed", "passed"] {
        world.next(&run, outcome).expect("it is accepted");
    }
    // In another process, which has told nothing yet.
    let mut feed = Feed::since(last, None);
    let told = wait(world.service().news(&mut feed)).expect("it is read");
    let seqs: Vec<u64> = told.iter().map(|happened| happened.seq).filter(|seq| *seq > 2).collect();
    assert_eq!(seqs, [3, 4, 5]);
}

#[test]
fn one_run_alone_can_be_followed() {
    let world = World::with("mend", MEND);
    let [one, other] = [world.open("mend"), world.open("mend")];
    let looks = world.service();
    let mut feed = Feed::from_now(Timestamp(0), Some(one.clone()));
    world.start(&other).expect("it starts");
    world.start(&one).expect("it starts");
    let told = wait(looks.news(&mut feed)).expect("it is read");
    assert_eq!(lines(&told), ["1 opened", "2 begun"]);
    assert!(told.iter().all(|happened| happened.line.run == one.to_string()));
}

#[test]
fn everything_that_happens_to_many_runs_is_told() {
    let world = World::with("mend", MEND);
    let looks = world.service();
    let mut feed = Feed::from_now(Timestamp(0), None);
    let runs: Vec<Address> = (0..300).map(|_| world.open("mend")).collect();
    for run in &runs {
        world.start(run).expect("it starts");
    }
    let told = wait(looks.news(&mut feed)).expect("it is read");
    assert_eq!(told.len(), 600);
}

#[test]
fn questions_wait_with_the_time_since_when() {
    let world = World::with("ask", "start -> fix; fix -failed-> ask; ask -passed-> fix; fix -passed-> done");
    let run = world.open("ask");
    world.start(&run).expect("it starts");
    assert!(wait(world.service().questions(&person())).expect("they are read").is_empty());
    world.next(&run, "failed").expect("it asks");
    let asked = wait(world.service().questions(&person())).expect("they are read");
    let records: Vec<Value> = wait(world.service().page(&run, 0, 100))
        .expect("they are read")
        .iter()
        .map(|record| serde_json::to_value(record.event.at).expect("a time"))
        .collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(serde_json::to_value(asked[0].since).expect("a time"), records[2]);
    assert_eq!(asked[0].view.situation.position.step, "ask");
    assert!(asked[0].view.situation.question.is_some());
}

#[test]
fn values_are_given_to_a_fork_by_the_rules_of_its_step() {
    let world = World::new();
    world.write(
        ".flow/workflows/look.yaml",
        "id: look\nversion: 1.0.0\ntitle: Look\nvariables:\n  - { name: depth, type: number, default: 1 }\ninitialActivity: one\n\
         activities:\n  - id: one\n    version: 1.0.0\n    name: One\n    steps:\n      - { id: read, name: Read, kind: step }\n",
    );
    let run = world.open("look");
    world.start(&run).expect("it starts");
    let records = wait(world.service().page(&run, 0, 100)).expect("they are read").len() as u64;
    let give = |values: Value| {
        wait(world.service().fork(
            &run,
            Fork { values: Some(std::sync::Arc::new(values)), ..Fork::at(records) },
            &agent(),
        ))
    };
    let fork = give(serde_json::json!({ "depth": 3 })).expect("it is forked").address;
    let past = wait(world.service().past(&fork)).expect("it has one");
    assert_eq!(past.head(), records + 1);
    let moment = wait(world.service().moment(&past, past.head(), &agent())).expect("there is such a record");
    assert_eq!(moment.values[0].1["depth"], 3);
    let refused = refusal(give(serde_json::json!({ "depth": "deep" })));
    assert!(refused.message.contains("depth"), "{refused}");
    assert!(give(serde_json::json!({ "nothing": 1 })).is_err());
}

/// The same as [`MEND`] with a step put in behind the check, and one that is called otherwise at the end.
const MENDED_WITH_CARE: &str = "start -> fix; fix -> check; check: gate retries 2; check -passed-> look; look -> done
                                check -failed-> fix; check -failed-> ask; ask -passed-> fix";

#[test]
fn a_fork_stands_on_the_definition_as_it_is_now() {
    let (world, run) = mended();
    let fork = |seq, who| wait(world.service().fork(&run, Fork { onto: Onto::Current, ..Fork::at(seq) }, &who));
    // Nothing has changed: it is a fork like any other.
    let same = fork(3, agent()).expect("it is forked").address;
    assert_eq!(origin(&world, &same), "3");
    world.define("mend", MENDED_WITH_CARE);
    expect!["only a person is allowed to continue a run with a definition that it did not begin with; fork it with the definition that it began with; or ask the person to run `portolan runs fork RUN --at RECORD --definition current` in a terminal"]
    .assert_eq(&refusal(fork(3, agent())).to_string());
    let forked = fork(3, person()).expect("it is forked").address;
    let told = origin(&world, &forked);
    assert!(told.starts_with("3, carried over at 3 from ") && told.contains(" to "), "{told}");
    world.next(&forked, "passed").expect("it goes on");
    assert_eq!(world.current(&forked).expect("it is there").current_step, "look");
    // The other one goes on as it began, and what is forked without a word does, too.
    let pinned = wait(world.service().fork(&run, Fork::at(3), &agent())).expect("it is forked").address;
    world.next(&pinned, "passed").expect("it goes on");
    assert_ne!(world.current(&pinned).expect("it is there").current_step, "look");
    // A fork of the fork knows both definitions, on either side of where it was carried over.
    let later = wait(world.service().fork(&forked, Fork::at(4), &person())).expect("it is forked").address;
    assert_eq!(world.current(&later).expect("it is there").current_step, "look");
    assert!(origin(&world, &later).starts_with("4, carried over at 3 from "));
    let before = wait(world.service().fork(&forked, Fork::at(2), &person())).expect("it is forked").address;
    assert_eq!(origin(&world, &before), "2");
    let past = wait(world.service().past(&later)).expect("it has one");
    for seq in 1..=past.head() {
        wait(world.service().moment(&past, seq, &agent())).expect("each moment is there");
    }
}

#[test]
fn a_fork_is_not_carried_over_where_its_step_or_its_way_is_another() {
    let (world, run) = mended();
    let fork =
        |seq| refusal(wait(world.service().fork(&run, Fork { onto: Onto::Current, ..Fork::at(seq) }, &person())));
    world.define("mend", "start -> fix; fix -> done");
    expect!["the run cannot be migrated to the current definition: `check` no longer exists in `mend`; fork it at an earlier record, or with the definition that it began with"]
    .assert_eq(&fork(3).to_string());
    world.define(
        "mend",
        &MEND.replace("start -> fix", "start -> agree; agree: gate; agree -passed-> fix; agree -failed-> fix"),
    );
    let error = fork(3);
    assert_eq!(error.code, "definition_changed");
    assert!(error.message.contains("`agree`"), "{error}");
}

/// Where a run comes from.
fn origin(world: &World, run: &Address) -> String {
    let past = wait(world.service().past(run)).expect("it has one");
    let origin = past.trail().run().and_then(|run| run.opening.origin.clone()).expect("it was forked");
    let carried = origin.carried.iter().map(|it| format!(", carried over at {} from {} to {}", it.seq, it.from, it.to));
    format!("{}{}", origin.seq, carried.collect::<String>())
}

/// Why a run does not go on, in lines.
fn halt(service: &Service, run: &Address) -> String {
    let Some(halt) = wait(service.halt(run, None, &agent())).expect("it is known") else {
        return "nothing\n".to_owned();
    };
    let mut lines = format!("{:?} at {} ({}) since {}\n", halt.turn, halt.step, halt.step_name, halt.since.0);
    lines.extend(halt.asks.map(|asks| format!("asks {asks}\n")));
    for failed in halt.failed {
        lines += &format!("{} {:?} failed: {}\n", failed.node, failed.check, failed.reason);
    }
    lines.extend(halt.last.map(|last| format!("{} {}\n", last.seq, last.text)));
    lines
}

#[test]
fn why_a_run_does_not_go_on_is_told_until_it_has_done_what_it_was_for() {
    let world = World::with("mend", MEND);
    let run = world.open("mend");
    world.start(&run).expect("it starts");
    let mut told = String::new();
    for outcome in ["passed", "failed", "passed", "failed", "passed", "failed", "passed", "passed", "passed"] {
        told += &halt(&world.service(), &run);
        world.next(&run, outcome).expect("it is accepted");
    }
    told += &halt(&world.service(), &run);
    expect![[r#"
        Agent at fix (fix) since 1700000001000
        2 agent ann began → now at `fix`
        Agent at check (check) since 1700000002000
        3 agent ann reported passed → now at `check`
        Agent at fix (fix) since 1700000003000
        4 agent ann reported failed → retry 1 of 2 for `check`, now at `fix`
        Agent at check (check) since 1700000004000
        5 agent ann reported passed → now at `check`
        Agent at fix (fix) since 1700000005000
        6 agent ann reported failed → retry 2 of 2 for `check`, now at `fix`
        Agent at check (check) since 1700000006000
        7 agent ann reported passed → now at `check`
        Person at ask (ask) since 1700000007000
        asks ask
        8 agent ann reported failed → `ask` asks a person
        Agent at fix (fix) since 1700000008000
        9 person (relayed by agent ann) reported passed → budgets refilled, now at `fix`
        Agent at check (check) since 1700000009000
        10 agent ann reported passed → now at `check`
        nothing
    "#]]
    .assert_eq(&told);
}

#[test]
fn whoever_called_a_run_off_is_told_and_why() {
    let world = World::with("mend", MEND);
    let run = world.open("mend");
    world.start(&run).expect("it starts");
    wait(world.service().cancel(&run, "no time", &agent())).expect("it is called off");
    expect![[r#"
        Nobody at fix (fix) since 1700000002000
        3 agent ann cancelled the run: no time → ended at `fix`: cancelled
    "#]]
    .assert_eq(&halt(&world.service(), &run));
}
