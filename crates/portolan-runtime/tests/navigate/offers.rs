//! What is offered can be done, what is not offered cannot, and nothing is shown that is not open.
//!
//! Tokens make this plain: one that was given out can be tried with every call there is, each from the same place.

use std::collections::BTreeSet;

use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Act, Report, Request, Service, States, View};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::words::Action;
use crate::common::{World, agent, wait};
use crate::walker::{Led, begin, call, json_of, obey, offered, send, sound, world};

const ID: &str = "pull-request-review";

/// Every word that could name something in the definition: the ids of steps, activities, options and loops.
fn ids(yaml: &str) -> BTreeSet<String> {
    let text = yaml.replace(['{', '}', ','], "\n");
    let ids = text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("id:"));
    ids.map(|id| id.trim().to_owned()).collect()
}

/// Every id in every tool, and every id as an answer to what is asked now.
fn conceivable(now: &View, ids: &BTreeSet<String>) -> Vec<Act> {
    let complete = |step: &str, outcome: &str| Act::Complete { step: step.to_owned(), report: Report::of(outcome) };
    let answer = |checkpoint: &str, option: &str| Act::Answer {
        checkpoint: checkpoint.to_owned(),
        option: Some(option.into()),
        note: None,
        outputs: None,
    };
    let mut deeds: Vec<Act> = ids.iter().flat_map(|id| [complete(id, "passed"), answer(id, "yes")]).collect();
    if let Some(step) = &now.guidance().position.step {
        deeds.extend(["skipped", "failed", "cancelled"].map(|outcome| complete(&step.id, outcome)));
    }
    if let Some(asked) = &now.guidance().checkpoint {
        deeds.extend(ids.iter().map(|option| answer(&asked.id, option)));
    }
    deeds
}

/// Whether a deed is one of those that are offered.
fn is_offered(now: &View, deed: &Act) -> bool {
    let same = |(action, option): (Action, Option<String>)| {
        let (_, offered) = call(&action, option.as_deref());
        match (&offered, deed) {
            (Act::Complete { step, report }, Act::Complete { step: other, report: said }) => {
                step == other && report.outcome == said.outcome
            }
            (Act::Answer { checkpoint, option, .. }, Act::Answer { checkpoint: other, option: said, .. }) => {
                checkpoint == other && option == said
            }
            _ => false,
        }
    };
    offered(&now.guidance()).into_iter().any(same)
}

pub(crate) fn check(service: &Service, now: &View, ids: &BTreeSet<String>) -> Result<(), TestCaseError> {
    let look = |state: &str| Request::led(state.to_owned());
    for (action, option) in offered(&now.guidance()) {
        let (request, deed) = call(&action, option.as_deref());
        let done = wait(service.act(&request, &deed, &agent()));
        prop_assert!(done.is_ok(), "offered and refused: {action:?}: {:?}", done.err());
    }
    for deed in conceivable(now, ids).iter().filter(|deed| !is_offered(now, deed)) {
        let refused = wait(service.act(&look(&now.state), deed, &agent()));
        prop_assert!(refused.is_err(), "not offered and done: {deed:?}");
        let view = refused.err().and_then(|refused| refused.view);
        prop_assert_eq!(view.as_deref(), Some(now), "a refusal shows where the run is: {:?}", deed);
    }
    let again = wait(service.view(&look(&now.state), &agent()));
    prop_assert_eq!(again.as_ref().ok(), Some(now), "a refusal changes nothing");
    Ok(())
}

/// No id is shown but of what is at hand: the activity, the step, the loop, the question and its options.
pub(crate) fn shows_no_more(now: &View, ids: &BTreeSet<String>) -> Result<(), TestCaseError> {
    let shown = json_of(now);
    let mut open: BTreeSet<String> = BTreeSet::new();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for part in ["activity", "step", "loop"] {
        open.extend(text(&shown["position"][part]["id"]));
    }
    open.extend(text(&shown["checkpoint"]["id"]));
    open.extend(shown["checkpoint"]["options"].as_array().into_iter().flatten().filter_map(|it| text(&it["id"])));
    for action in shown["availableActions"].as_object().into_iter().flat_map(|lists| lists.values()) {
        for action in action.as_array().into_iter().flatten() {
            open.extend(text(&action["arguments"]["step_id"]));
        }
    }
    let rest = shown.to_string().replace(&now.state, "");
    let words: BTreeSet<&str> = rest.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').collect();
    for id in ids.iter().filter(|id| !open.contains(*id)) {
        prop_assert!(!words.contains(id.as_str()), "`{id}` must be shown, but is open: {rest}");
    }
    Ok(())
}

/// A world in which no time passes: a question that answers itself would be another place.
fn still(yaml: &str) -> World {
    let mut world = world(ID, yaml, States::Tokens);
    world.options.clock = Clock::Still(Timestamp(0));
    world
}

/// The same workflow with ids that stand in no text.
fn renamed(yaml: &str) -> String {
    let mut text = yaml.to_owned();
    for id in ids(yaml).into_iter().filter(|id| id != ID) {
        for (before, after) in [("id: ", ","), ("id: ", "\n"), ("to: ", ","), ("to: ", " }"), ("To: ", ","), ("[", "]")]
        {
            text = text.replace(&format!("{before}{id}{after}"), &format!("{before}zz-{id}{after}"));
        }
        text = text.replace(&format!("defaultOption: {id}\n"), &format!("defaultOption: zz-{id}\n"));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn what_is_offered_is_what_can_be_done(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..24),
        findings in prop::collection::vec("[a-z]{1,5}", 0..3),
    ) {
        let yaml = sound("activity-sound");
        let world = still(&yaml);
        let ids = ids(&yaml);
        let service = world.service();
        let mut now = begin(&world, ID, json!({ "findings": findings }));
        for choice in choices {
            check(&service, &now, &ids)?;
            let bytes = json_of(&now).to_string().len();
            prop_assert!(bytes < 3_000, "{bytes} bytes");
            let offers = offered(&now.guidance());
            // Ending early is tried at every step, and gone on with at none.
            let on: Vec<_> = offers.into_iter().filter(|(action, _)| action.tool != "end_workflow").collect();
            if on.is_empty() {
                prop_assert!(now.guidance().complete);
                break;
            }
            let (action, option) = choice.get(&on);
            now = send(&world, action, option.as_deref()).map_err(|refused| TestCaseError::fail(refused.to_string()))?;
        }
    }

    #[test]
    fn nothing_is_shown_that_is_not_open(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        findings in prop::collection::vec("[a-z]{1,5}", 0..3),
    ) {
        let yaml = renamed(&sound("activity-sound"));
        let ids: BTreeSet<String> = ids(&yaml).into_iter().filter(|id| id.starts_with("zz-")).collect();
        prop_assert!(ids.len() > 15, "{ids:?}");
        let world = still(&yaml);
        let mut now = begin(&world, ID, json!({ "findings": findings }));
        for choice in choices {
            shows_no_more(&now, &ids)?;
            let on: Vec<_> =
                offered(&now.guidance()).into_iter().filter(|(action, _)| action.tool != "end_workflow").collect();
            if on.is_empty() {
                break;
            }
            let (action, option) = choice.get(&on);
            now = send(&world, action, option.as_deref()).map_err(|refused| TestCaseError::fail(refused.to_string()))?;
        }
    }
}

/// Every workflow of the catalogue is walked by who obeys, where nothing is checked.
#[test]
fn the_catalogue_is_navigated_too() {
    let mut world = World::new();
    world.options.states = States::Tokens;
    let service = world.service();
    let overview = service.library().overview();
    assert_eq!(overview.iter().filter(|known| known.fault.is_none()).count(), 18);
    // Phases are left when a repository shows it: no obedience is enough.
    let steps = overview.into_iter().filter(|known| !["delivery", "sdlc-simple"].contains(&known.id.as_str()));
    for known in steps {
        world.believe(&known.id);
        let (told, end) = obey(&world, begin(&world, &known.id, json!({})));
        assert!(end.guidance().message.contains("success"), "{}: {told:?}: {}", known.id, end.guidance().message);
    }
}
