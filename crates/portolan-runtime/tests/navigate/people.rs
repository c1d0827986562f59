//! Who answers a question: the agent passes an answer on, a person gives it themselves, or nobody does in time.

use crate::common::calls::Calls;
use portolan_core::run::{Actor, Channel, EventKind, Human};
use portolan_core::value::Timestamp;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Act, Caller, Report, States, View};
use serde_json::json;

use crate::common::{World, agent, wait};
use crate::walker::{Led, act, begin, headline, look, required, send, sound, world};

const ID: &str = "pull-request-review";

fn person() -> Caller {
    Caller { by: Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine }, can_ask: false }
}

/// A run at its first question.
fn asked(world: &World) -> View {
    let now = begin(world, ID, json!({ "findings": ["one"] }));
    let now = send(world, &required(&now), None).expect("it is open");
    assert_eq!(now.guidance().checkpoint.as_ref().map(|asked| asked.id.as_str()), Some("platform"));
    now
}

fn answer(checkpoint: &str, option: &str) -> Act {
    Act::Answer { checkpoint: checkpoint.to_owned(), option: Some(option.into()), note: None, outputs: None }
}

/// Who is on record for each answer.
fn answered(world: &World, state: &str) -> Vec<String> {
    let records = wait(world.service().records(&Address::parse(state))).expect("records");
    let is_answer =
        |what: &EventKind| matches!(what, EventKind::Reported { outcome, .. } if outcome.as_str() != "passed");
    let by = |by: &Actor| match by {
        Actor::Person { name, via } => format!("{name} via {via:?}"),
        other => format!("{other:?}"),
    };
    records.iter().filter(|record| is_answer(&record.event.what)).map(|record| by(&record.event.by)).collect()
}

#[test]
fn an_agent_passes_on_what_the_person_said_where_its_word_counts() {
    let world = world(ID, &sound("activity-sound"), States::Handles);
    let now = asked(&world);
    assert!(now.guidance().message.contains("pass on what they answer"), "{}", now.guidance().message);
    act(&world, &now.state, &answer("platform", "github"), &agent()).expect("it counts");
    assert_eq!(answered(&world, &now.state), ["ann via Attested"]);
}

#[test]
fn where_only_their_own_word_counts_an_agent_cannot_answer() {
    for states in [States::Handles, States::Tokens] {
        let mut world = world(ID, &sound("activity-sound"), states);
        world.options.human = Human::Verified;
        let now = asked(&world);
        assert!(now.guidance().available_actions.required.is_empty(), "nothing is open to the agent");
        let blocked = &now.guidance().available_actions.blocked[0];
        assert!(blocked.lifted_by.contains("portolan runs answer"), "{}", blocked.lifted_by);
        let refused = act(&world, &now.state, &answer("platform", "github"), &agent()).expect_err("it does not count");
        assert_eq!(refused.code, "needs_person");
        assert_eq!(refused.view.as_deref(), Some(&now));
        let after = act(&world, &now.state, &answer("platform", "github"), &person()).expect("it counts");
        assert_eq!(headline(&after), "Intake · step 2: Skim related issues");
        if states == States::Handles {
            assert_eq!(answered(&world, &now.state), ["ada via CommandLine"]);
        }
    }
}

#[test]
fn a_false_question_is_never_asked_and_is_on_record() {
    let world = world(ID, &sound("activity-sound"), States::Handles);
    let now = asked(&world);
    let after = act(&world, &now.state, &answer("platform", "github"), &agent()).expect("it counts");
    assert_eq!(headline(&after), "Intake · step 2: Skim related issues");
    let records = wait(world.service().records(&Address::parse(&now.state))).expect("records");
    let last = records.last().expect("a record");
    let told = portolan_core::present::history(&last.event, &last.changes);
    assert!(told.contains("skipped `intake.project`: its condition does not hold"), "{told}");
    assert!(!told.contains("asks a person"), "{told}");
}

#[test]
fn a_question_answers_itself_when_its_time_is_over() {
    for states in [States::Handles, States::Tokens] {
        let mut world = world(ID, &sound("activity-sound"), states);
        world.options.clock = Clock::Still(Timestamp(1_000));
        let mut now = asked(&world);
        for option in [Some("github"), None, None, None] {
            let done = &required(&now);
            now = send(&world, done, option).expect("it is open");
        }
        assert_eq!(now.guidance().checkpoint.as_ref().map(|asked| asked.id.as_str()), Some("settled"));
        assert!(
            now.guidance().message.contains("60 s after it was asked, it counts as answered with `yes`"),
            "{}",
            now.guidance().message
        );
        world.options.clock = Clock::Still(Timestamp(60_999));
        assert_eq!(look(&world, &now.state).expect("it is there"), now, "its time is not over");
        world.options.clock = Clock::Still(Timestamp(61_000));
        let after = look(&world, &now.state).expect("it is there");
        assert_eq!(headline(&after), "Publish · step 1: Post the review");
        assert!(after.guidance().message.contains("was not answered in time"), "{}", after.guidance().message);
        // The answer that comes after that is late: also by the same token, since its time is over there too.
        let late = act(&world, &now.state, &answer("settled", "no"), &agent()).expect_err("it is late");
        assert_eq!(late.code, "stale");
    }
}

#[test]
fn an_agent_asks_what_the_workflow_does_not_and_is_told_the_answer() {
    let world = world(ID, &sound("activity-sound"), States::Tokens);
    let now = begin(&world, ID, json!({}));
    let ask = now.guidance().available_actions.optional.into_iter().find(|action| action.tool == "raise_checkpoint");
    let asked = send(&world, &ask.expect("it is open"), None).expect("it is open");
    let question = asked.guidance().checkpoint.expect("a question");
    assert_eq!(question.message, "as it was asked for");
    let step = Act::Complete { step: "read".into(), report: Report::of("passed") };
    assert_eq!(act(&world, &asked.state, &step, &agent()).expect_err("a question is open").code, "checkpoint_open");
    let after = act(&world, &asked.state, &answer(&question.id, "that"), &agent()).expect("it counts");
    assert_eq!(headline(&after), "Intake · step 1: Read the pull request");
    assert!(after.guidance().message.contains("as it was asked for: `that`"), "{}", after.guidance().message);
}

#[test]
fn an_early_end_is_offered_and_is_no_success() {
    for states in [States::Handles, States::Tokens] {
        let world = world(ID, &sound("activity-sound"), states);
        let now = asked(&world);
        let end = now.guidance().available_actions.optional.into_iter().find(|action| action.tool == "end_workflow");
        let after = send(&world, &end.expect("it is open"), None).expect("it is open");
        assert!(
            after.guidance().complete && after.guidance().message.contains("cancelled"),
            "{}",
            after.guidance().message
        );
        let step = answer("platform", "github");
        assert_eq!(act(&world, &after.state, &step, &agent()).expect_err("it is over").code, "workflow_completed");
    }
}

#[test]
fn a_server_that_takes_only_a_persons_word_takes_no_token_on_other_terms() {
    let mut world = world(ID, &sound("activity-sound"), States::Tokens);
    let now = asked(&world);
    world.options.human = Human::Verified;
    let refused = act(&world, &now.state, &answer("platform", "github"), &agent()).expect_err("it does not count");
    assert_eq!(refused.code, "needs_person");
    act(&world, &now.state, &answer("platform", "github"), &person()).expect("it counts");
}

#[test]
fn a_person_who_answers_late_is_heard_where_nobody_has_noticed() {
    let mut world = world(ID, &sound("activity-sound"), States::Handles);
    world.options.clock = Clock::Still(Timestamp(1_000));
    let mut now = asked(&world);
    for option in [Some("github"), None, None, None] {
        now = send(&world, &required(&now), option).expect("it is open");
    }
    world.options.clock = Clock::Still(Timestamp(90_000));
    let after = act(&world, &now.state, &answer("settled", "stop"), &person()).expect("it counts");
    assert_eq!(headline(&after), "Wrap up · step 1: Note what was learnt");
}
