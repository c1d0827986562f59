//! Many move one run at once: one wins, the others hear that they are late, and the journal has one row more.

use std::sync::{Arc, Barrier};

use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Act, Report, States};
use portolan_runtime::store::RunId;
use serde_json::json;

use crate::common::{agent, wait};
use crate::walker::{act, begin, sound, world};

const ID: &str = "pull-request-review";

#[test]
fn of_twenty_that_move_at_once_one_wins() {
    for states in [States::Handles, States::Ledger] {
        let world = Arc::new(world(ID, &sound("activity-sound"), states));
        let now = begin(&world, ID, json!({}));
        let store = world.service();
        let run = wait(store.store().list(Default::default())).expect("a list")[0].id.to_string();
        let address = Address::Stored(RunId::parse(&run).expect("a handle"));
        let before = wait(store.history(&address)).expect("a history").records.len();
        let start = Arc::new(Barrier::new(20));
        let movers: Vec<_> = (0..20)
            .map(|_| {
                let (world, start, state) = (Arc::clone(&world), Arc::clone(&start), now.state.clone());
                std::thread::spawn(move || {
                    start.wait();
                    let done = Act::Complete { step: "read".into(), report: Report::of("passed") };
                    act(&world, &state, &done, &agent()).map_err(|refused| refused.code)
                })
            })
            .collect();
        let answers: Vec<_> = movers.into_iter().map(|mover| mover.join().expect("nobody panics")).collect();
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{states:?}: {answers:?}");
        let stale = answers.iter().filter(|answer| answer.as_ref().err() == Some(&"stale")).count();
        assert_eq!(stale, 19, "{states:?}: {answers:?}");
        let after = wait(store.history(&address)).expect("a history").records.len();
        assert_eq!(after, before + 1, "{states:?}");
    }
}
