//! Agents, obedient and not, in random workflows and in every workflow of the catalogue.

use portolan_core::graph::{Kind, Workflow};
use portolan_core::run::{
    Actor, Branches, Channel, EffectId, EffectPart, Event, EventKind, FramePath, Human, Move, Place, Rules, Verdict,
    moves,
};
use portolan_core::value::{CheckId, NodeId, Outcome, Timestamp, WorkflowId};
use proptest::prelude::*;
use serde_json::json;

use crate::closure::closure;
use crate::generate::{Files, files};
use crate::walk::{Walk, broken, by_agent, by_person, repaired, reported, straight, workflow};
use crate::{WORDS, catalogue, picture};

/// What is offered at every position is accepted, and what is not offered is refused; a refusal changes nothing.
fn offered_is_executable(walk: &Walk<'_>) {
    let frames: Vec<FramePath> = walk.run.positions().into_iter().map(|(path, _)| path).collect();
    for (path, event) in walk.offers() {
        assert!(walk.decide(&event).is_ok(), "{event:?} is offered at {path:?} of {:?}", walk.run.root);
    }
    for path in frames {
        let frame = walk.run.frame(&path).expect("a position is under way");
        let offers = moves(walk.workflow, frame);
        for word in WORDS {
            let outcome = Outcome::from(*word);
            let offered = offers.iter().any(|offer| offer.outcome() == Some(&outcome));
            let decided = walk.decide(&by_person(reported(&path, &outcome, Some(frame.since))));
            assert_eq!(decided.is_ok(), offered, "`{word}` at {path:?} of {:?}", walk.run.root);
            let stale = walk.decide(&by_person(reported(&path, &outcome, Some(frame.since + 1))));
            assert!(stale.is_err(), "a revision that is not the present one");
            if let (Err(rejection), false) = (decided, offers.is_empty()) {
                let accepted =
                    rejection.accepted.iter().all(|word| offers.iter().any(|offer| offer.outcome() == Some(word)));
                assert!(accepted, "a refusal names what would be accepted: {rejection:?}");
            }
        }
        let begins = walk.decide(&by_agent(EventKind::Begun { revision: None })).is_ok();
        assert!(!path.0.is_empty() || begins == offers.contains(&Move::Begin), "{:?}", walk.run.root);
    }
}

/// How many steps a walk through a flow has that comes to each of them once, subflows and checks counted.
fn steps(workflow: &Workflow, flow: &WorkflowId) -> usize {
    let of = |kind: &Kind| match kind {
        Kind::Subflow { workflow: inner, .. } => steps(workflow, &inner.value.as_str().into()),
        _ => 0,
    };
    workflow.flow(flow).steps.values().map(|step| 1 + step.node.accept.len() + of(&step.node.kind)).sum()
}

/// Takes the first move that is offered, until the end or until a person is asked whom it must not answer for. Gives
/// the number of events.
fn obey(walk: &mut Walk<'_>, bound: usize, answers: bool, mut holds: impl FnMut() -> bool) -> usize {
    for events in 0..bound {
        if walk.run.is_over() {
            return events;
        }
        let verdict = if holds() { Verdict::Held } else { broken() };
        if let Some(effect) = walk.pending().first() {
            let effect = effect.clone();
            walk.happen(&by_agent(effect.settled(verdict, 0))).expect("a verdict is never refused");
            continue;
        }
        let asked = |walk: &Walk<'_>, path: &FramePath| {
            matches!(walk.run.frame(path).map(|frame| &frame.place), Some(Place::Waiting { .. }))
        };
        let offer = walk.offers().into_iter().find(|(path, _)| answers || !asked(walk, path));
        let Some((path, first)) = offer else { return events };
        // A verdict that does not hold is a failure where there is no check to find it out.
        let event = match first.what {
            EventKind::Reported { revision, .. } if !answers && verdict != Verdict::Held => {
                by_agent(reported(&path, &Outcome::failed(), revision))
            }
            _ => first,
        };
        walk.happen(&event).expect("what is offered is accepted");
    }
    panic!("no end within {bound} events: {:?}", walk.run.root);
}

fn the_obedient_agent_arrives(workflow: &Workflow) {
    let mut walk = Walk::open(workflow, Rules::default());
    obey(&mut walk, 2 * steps(workflow, workflow.id()) + 2, true, || true);
    assert!(walk.run.is_over());
}

/// Something that an agent might try, made of whatever it can lay hands on.
#[derive(Clone, Debug)]
struct Attempt {
    what: u8,
    picks: [usize; 6],
    by_person: bool,
}

fn attempt() -> impl Strategy<Value = Attempt> {
    (0u8..12, any::<[usize; 6]>(), any::<bool>()).prop_map(|(what, picks, by_person)| Attempt {
        what,
        picks,
        by_person,
    })
}

fn pick<T>(from: &[T], index: usize) -> &T {
    &from[index % from.len()]
}

fn event(walk: &Walk<'_>, past: &[Event], attempt: &Attempt) -> Event {
    let nodes: Vec<NodeId> = walk.workflow.flows().flat_map(|(_, flow)| flow.steps.keys().cloned()).collect();
    let [a, b, c, d, e, f] = attempt.picks;
    let positions = walk.run.positions();
    let astray: Vec<NodeId> = [b, c, d].iter().take(a % 4).map(|index| pick(&nodes, *index).clone()).collect();
    let frame = if e % 4 == 0 { FramePath(astray) } else { pick(&positions, a).0.clone() };
    let revision = (f as u64) % (walk.run.revision + 2);
    let verdict = if f % 2 == 0 { Verdict::Held } else { Verdict::Unknown { reason: String::new() } };
    let offers = walk.offers();
    let what = match attempt.what {
        0..=3 if !offers.is_empty() => pick(&offers, a).1.what.clone(),
        0..=3 => EventKind::Begun { revision: Some(revision) },
        4 => reported(&frame, &Outcome::from(*pick(WORDS, d)), None),
        5 => reported(&frame, &Outcome::from(*pick(WORDS, d)), Some(revision)),
        6 | 7 => match walk.asked.as_slice() {
            [] => EventKind::Begun { revision: None },
            asked => pick(asked, a).clone().settled(verdict, 0),
        },
        8 => {
            let check = CheckId::from(format!("c{}", d % 3));
            let (node, part) = (pick(&nodes, c).clone(), EffectPart::Check(check));
            EffectId { frame, node, since: revision, part }.settled(verdict, 0)
        }
        9 => {
            let outcome = |index: usize| Outcome::from(*pick(WORDS, index));
            let branches = [(b, c), (c, d), (d, e)].map(|(name, word)| (pick(&nodes, name).clone(), outcome(word)));
            EventKind::Gathered { branches: branches.to_vec() }
        }
        10 if !past.is_empty() => return pick(past, a).clone(),
        _ => EventKind::Opened(walk.run.opening.clone()),
    };
    let by = match attempt.by_person {
        true => Actor::Person { name: "mallory".to_owned(), via: Channel::Elicitation },
        false => Actor::Agent("mallory".to_owned()),
    };
    Event { at: Timestamp(0), by, what }
}

fn rules(verified: bool, outside: bool) -> Rules {
    Rules {
        human: if verified { Human::Verified } else { Human::Attested },
        branches: if outside { Branches::Outside } else { Branches::Inside },
        is_branch: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_obedient_agent_arrives_where_no_circle_is_told(files in files()) {
        let Some(workflow) = straight(&files.0) else { return Ok(()) };
        the_obedient_agent_arrives(&workflow);
    }

    #[test]
    fn the_unlucky_agent_arrives_or_waits_for_a_person(files in files(), luck in prop::collection::vec(any::<bool>(), 64)) {
        let Some(workflow) = straight(&files.0) else { return Ok(()) };
        let mut walk = Walk::open(&workflow, Rules::default());
        let mut luck = luck.iter().cycle();
        obey(&mut walk, 20 * steps(&workflow, workflow.id()) + 100, false, || luck.next() == Some(&true));
    }

    #[test]
    fn no_agent_comes_where_legal_moves_do_not_lead(
        files in files(),
        attempts in prop::collection::vec(attempt(), 1..60),
        verified: bool,
        outside: bool,
    ) {
        let Some(workflow) = workflow(&files.0) else { return Ok(()) };
        let rules = rules(verified, outside);
        let Some(legal) = closure(&workflow, rules, 400, offered_is_executable) else { return Ok(()) };
        let mut walk = Walk::open(&workflow, rules);
        let mut past: Vec<Event> = Vec::new();
        for attempt in &attempts {
            let event = event(&walk, &past, attempt);
            let _ = walk.happen(&event);
            prop_assert!(legal.contains(&picture::of(&walk.run.root)), "{event:?} led to {:?}", walk.run.root);
            past.push(event);
        }
    }
}

/// The files with some edges left out and some led elsewhere.
fn damage(files: &Files, wounds: &[(usize, usize, usize)]) -> Files {
    let mut damaged = files.clone();
    for (file, edge, to) in wounds {
        let file = &mut damaged.0[file % files.0.len()];
        let nodes: Vec<String> = file["nodes"].as_object().expect("nodes are an object").keys().cloned().collect();
        let edges = file["edges"].as_array_mut().expect("edges are a list");
        let edge = edge % edges.len();
        match to % 3 {
            0 if edges.len() > 1 => drop(edges.remove(edge)),
            1 => edges[edge]["to"] = json!(pick(&nodes, to / 3)),
            _ => edges[edge]["from"] = json!(pick(&nodes, to / 3)),
        }
    }
    damaged
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_agent_is_stranded_in_a_repaired_workflow(
        files in files(),
        wounds in prop::collection::vec(any::<(usize, usize, usize)>(), 0..6),
        attempts in prop::collection::vec(attempt(), 1..60),
        outside: bool,
    ) {
        let Some(workflow) = repaired(&damage(&files, &wounds).0) else { return Ok(()) };
        let mut walk = Walk::open(&workflow, rules(false, outside));
        let mut past: Vec<Event> = Vec::new();
        for attempt in &attempts {
            let event = event(&walk, &past, attempt);
            let _ = walk.happen(&event);
            offered_is_executable(&walk);
            let waits = matches!(walk.run.root.place, Place::Gathering { .. });
            prop_assert!(walk.run.is_over() || waits || !walk.offers().is_empty(), "{:?}", walk.run.root);
            past.push(event);
        }
    }
}

#[test]
fn what_the_catalogue_offers_is_executable_wherever_a_run_can_be() {
    for file in catalogue::files() {
        let workflow = workflow(&[file]).expect("the catalogue is valid");
        for rules in [rules(false, false), rules(true, true)] {
            let reached = closure(&workflow, rules, 5_000, offered_is_executable);
            assert!(reached.is_some(), "`{}` can be in more states than are looked at", workflow.id());
        }
    }
}

#[test]
fn the_obedient_agent_arrives_in_every_workflow_of_the_catalogue() {
    for file in catalogue::files() {
        the_obedient_agent_arrives(&workflow(&[file]).expect("the catalogue is valid"));
    }
}
