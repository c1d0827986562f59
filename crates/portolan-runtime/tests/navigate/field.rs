//! What an agent perceives: calls that are ready to hand, one thing at a time, blocked only what can be lifted, and rules
//! that stay the same. Held at every place of random walks.

use std::collections::BTreeMap;

use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{States, View};
use proptest::prelude::*;
use serde_json::json;

use crate::common::World;
use crate::walker::{Led, begin, offered, send, sound, world};

const ID: &str = "pull-request-review";
/// What an agent may be asked to fill in: free text, values, or one of the options that are shown.
const HOLES: [&str; 6] = ["summary", "outputs", "option_id", "question", "options", "reason"];

/// Each call names its run, and has no other holes than words.
fn is_ready_to_hand(now: &View) -> Result<(), TestCaseError> {
    let actions = now.guidance().available_actions;
    let blocked = actions.blocked.iter().map(|blocked| &blocked.action);
    for action in actions.required.iter().chain(&actions.optional).chain(blocked) {
        prop_assert_eq!(&action.arguments["workflow_id"], &json!(ID));
        prop_assert_eq!(&action.arguments["state"], &json!(now.state));
        prop_assert!(action.fill.iter().all(|hole| HOLES.contains(hole)), "{action:?}");
        prop_assert!(!action.title.is_empty());
    }
    for blocked in &actions.blocked {
        prop_assert!(!blocked.lifted_by.is_empty(), "{blocked:?}");
    }
    Ok(())
}

/// One call leads on, where the work is not over; it says where the agent is, by name.
fn is_one_thing(now: &View) -> Result<(), TestCaseError> {
    let guidance = now.guidance();
    prop_assert_eq!(guidance.available_actions.required.len(), usize::from(!guidance.complete));
    let headline = guidance.message.lines().next().unwrap_or_default();
    prop_assert!(headline.starts_with(&guidance.position.activity.name), "{headline}");
    if let Some(step) = &guidance.position.step {
        prop_assert!(headline.contains(&format!("step {}: {}", step.index, step.name)), "{headline}");
    }
    if let Some(asked) = &guidance.checkpoint {
        prop_assert!(guidance.message.contains(&asked.message), "{}", guidance.message);
    }
    Ok(())
}

fn rules_of(now: &View) -> String {
    let message = now.guidance().message;
    message.split("\n\n").find(|block| block.starts_with("Rules:")).unwrap_or_default().to_owned()
}

fn still() -> World {
    let mut world = world(ID, &sound("activity-sound"), States::Tokens);
    world.options.clock = Clock::Still(Timestamp(0));
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn at_every_place_one_thing_is_ready_to_hand(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        findings in prop::collection::vec("[a-z]{1,5}", 0..3),
    ) {
        let world = still();
        let mut now = begin(&world, ID, json!({ "findings": findings }));
        let mut rules: BTreeMap<String, String> = BTreeMap::new();
        for choice in choices {
            is_ready_to_hand(&now)?;
            is_one_thing(&now)?;
            let told = rules_of(&now);
            let known = rules.entry(now.guidance().position.activity.id.clone()).or_insert_with(|| told.clone());
            prop_assert_eq!(&*known, &told, "the rules of an activity stay the same");
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
