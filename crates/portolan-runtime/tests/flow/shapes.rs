//! One flow in two shapes, ticked and navigated: the same script leads to the same events.

use portolan_core::value::Outcome;
use portolan_runtime::service::{self, Report, Request};
use proptest::prelude::*;

use super::stand::{Stand, me, past, person};

/// What somebody does, or what becomes of the files that checks look at.
#[derive(Clone, Debug)]
enum Act {
    Tick,
    Back,
    Past(&'static str),
    Put(&'static str),
    Take(&'static str),
}

fn act() -> impl Strategy<Value = Act> {
    let file = prop_oneof![Just("ready"), Just("open"), Just("tested")];
    prop_oneof![
        6 => Just(Act::Tick),
        2 => Just(Act::Back),
        1 => prop_oneof![Just("X-1"), Just("X-2"), Just("X-3"), Just("I-4")].prop_map(Act::Past),
        4 => file.clone().prop_map(Act::Put),
        1 => file.prop_map(Act::Take),
    ]
}

#[derive(Clone, Copy)]
enum Shape {
    Ticked,
    Navigated,
}

/// What the log says when a script is followed in one shape.
async fn script_log(script: &[Act], shape: Shape) -> String {
    let stand = Stand::new();
    let begun = stand.start("t", None).await.expect("begun");
    let run = begun.run_id.expect("a run");
    for act in script {
        match act {
            Act::Put(file) => stand.put(file, "there"),
            Act::Take(file) => drop(std::fs::remove_file(stand.project().join(file))),
            Act::Past(rule) => drop(stand.service().flow().get_past(&past(rule), &person()).await),
            Act::Tick => report(&stand, &run, shape, Outcome::passed()).await,
            Act::Back => report(&stand, &run, shape, Outcome::failed()).await,
        }
    }
    stand.log()
}

async fn report(stand: &Stand, run: &str, shape: Shape, outcome: Outcome) {
    let service = stand.service();
    match shape {
        Shape::Ticked if outcome.is_failed() => drop(service.flow().back("it has to change", &me()).await),
        Shape::Ticked => drop(service.flow().tick(&me()).await),
        Shape::Navigated => {
            let here = service.view(&Request::led(run), &me()).await.expect("it can be looked at");
            let Some(step) = here.situation.work.number.map(|_| here.situation.work.id.clone()) else { return };
            let note = outcome.is_failed().then(|| "it has to change".to_owned());
            let done = service::Act::Complete { step, report: Report { outcome, note, outputs: None } };
            drop(service.act(&Request::led(here.state), &done, &me()).await);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn ticked_and_navigated_come_to_the_same_events(script in proptest::collection::vec(act(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let ticked = runtime.block_on(script_log(&script, Shape::Ticked));
        let navigated = runtime.block_on(script_log(&script, Shape::Navigated));
        prop_assert_eq!(ticked, navigated);
    }
}
