//! Engine and reference agree: on every random workflow and after every random event, on where the run is, what it
//! has spent, and whether the event was accepted.

use portolan_core::run::{Branches, EventKind, FramePath, Human, Place, Rules, Verdict, moves};
use portolan_core::value::{NodeId, Outcome};
use proptest::prelude::*;

use crate::generate::files;
use crate::reference::{self, Act, Library, Model};
use crate::walk::{Walk, broken, by_agent, by_person, reported, workflow};
use crate::{WORDS, picture};

/// Something that happens, before it is known where the run is.
#[derive(Clone, Debug)]
enum Happening {
    Begin,
    Offered { position: usize, offer: usize, by_person: bool },
    Said { position: usize, word: usize, quote: Quote },
    Astray { path: Vec<usize>, word: usize },
    Settled { which: usize, held: bool },
    SettledLate { which: usize, held: bool },
    Gathered { outcomes: Vec<Option<bool>> },
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
enum Quote {
    Nothing,
    Present,
    Past,
}

fn happening() -> impl Strategy<Value = Happening> {
    let pick = any::<usize>;
    let quote = prop_oneof![Just(Quote::Nothing), Just(Quote::Present), Just(Quote::Past)];
    let offered = (pick(), pick(), prop::bool::weighted(0.8));
    let branches =
        prop::collection::vec(prop_oneof![4 => Just(Some(true)), 2 => Just(Some(false)), 1 => Just(None)], 4);
    prop_oneof![
        1 => Just(Happening::Begin),
        20 => offered.prop_map(|(position, offer, by_person)| Happening::Offered { position, offer, by_person }),
        3 => (pick(), pick(), quote).prop_map(|(position, word, quote)| Happening::Said { position, word, quote }),
        1 => (prop::collection::vec(pick(), 0..3), pick()).prop_map(|(path, word)| Happening::Astray { path, word }),
        8 => (pick(), prop::bool::weighted(0.7)).prop_map(|(which, held)| Happening::Settled { which, held }),
        1 => (pick(), any::<bool>()).prop_map(|(which, held)| Happening::SettledLate { which, held }),
        4 => branches.prop_map(|outcomes| Happening::Gathered { outcomes }),
        1 => prop::bool::weighted(0.1).prop_map(|really| if really { Happening::Cancelled } else { Happening::Begin }),
    ]
}

/// Lets one thing happen to both. Gives whether each of them accepted it.
fn happen(walk: &mut Walk<'_>, model: &mut Model<'_>, happening: &Happening) -> (bool, bool) {
    match happening {
        Happening::Begin => {
            let engine = walk.happen(&by_agent(EventKind::Begun { revision: None }));
            (engine.is_ok(), model.act(&[], &Act::Begin).is_ok())
        }
        Happening::Offered { position, offer, by_person } => {
            let (path, frame) = pick(&walk.run.positions(), *position).clone();
            let Some(outcome) =
                moves(walk.workflow, frame).iter().filter_map(|offer| offer.outcome().cloned()).nth(offer % 4)
            else {
                return (true, true);
            };
            let since = frame.since;
            say(walk, model, (&path, Some(since)), &outcome, *by_person)
        }
        Happening::Said { position, word, quote } => {
            let (path, frame) = pick(&walk.run.positions(), *position).clone();
            let quoted = match quote {
                Quote::Nothing => None,
                Quote::Present => Some(frame.since),
                Quote::Past => Some(frame.since - 1),
            };
            let outcome = Outcome::from(*pick(WORDS, *word));
            if matches!(quote, Quote::Past) {
                return (walk.happen(&by_person(reported(&path, &outcome, quoted))).is_ok(), false);
            }
            say(walk, model, (&path, quoted), &outcome, true)
        }
        Happening::Astray { path, word } => {
            let names: Vec<NodeId> = walk.workflow.flows().flat_map(|(_, flow)| flow.steps.keys().cloned()).collect();
            let path = FramePath(path.iter().map(|name| pick(&names, *name).clone()).collect());
            say(walk, model, (&path, None), &Outcome::from(*pick(WORDS, *word)), true)
        }
        Happening::Settled { which, held } => {
            let pending = walk.pending();
            if pending.is_empty() {
                return (true, true);
            }
            let effect = pick(&pending, *which).clone();
            let path = names(&effect.frame);
            let check = effect.check().expect("what is pending here are checks").clone();
            let verdict = if *held { Verdict::Held } else { broken() };
            let engine = walk.happen(&by_agent(effect.settled(verdict, 0)));
            (engine.is_ok(), model.act(&path, &Act::Settle { check: check.as_str(), held: *held }).is_ok())
        }
        Happening::SettledLate { which, held } => {
            let pending = walk.pending();
            let late: Vec<_> = walk.asked.iter().filter(|id| !pending.contains(id)).cloned().collect();
            if late.is_empty() {
                return (true, true);
            }
            let verdict = if *held { Verdict::Held } else { broken() };
            let engine = walk.happen(&by_agent(pick(&late, *which).clone().settled(verdict, 0)));
            assert_eq!(engine, Ok(Vec::new()), "a verdict that nobody waits for changes nothing");
            (true, true)
        }
        Happening::Gathered { outcomes } => gather(walk, model, outcomes),
        Happening::Cancelled => {
            let engine = walk.happen(&by_person(EventKind::Cancelled { reason: String::new(), outcome: None }));
            (engine.is_ok(), model.cancel().is_ok())
        }
    }
}

fn say(
    walk: &mut Walk<'_>,
    model: &mut Model<'_>,
    (path, revision): (&FramePath, Option<u64>),
    outcome: &Outcome,
    by_a_person: bool,
) -> (bool, bool) {
    let what = reported(path, outcome, revision);
    let event = if by_a_person { by_person(what) } else { by_agent(what) };
    let act = Act::Say { word: outcome.as_str(), by_person: by_a_person };
    (walk.happen(&event).is_ok(), model.act(&names(path), &act).is_ok())
}

fn gather(walk: &mut Walk<'_>, model: &mut Model<'_>, outcomes: &[Option<bool>]) -> (bool, bool) {
    let names = match &walk.run.root.place {
        Place::Gathering { node } => walk.workflow.root().step(node).exits.branches.clone(),
        _ => vec![NodeId::from("w1")],
    };
    let known = names.iter().zip(outcomes).filter_map(|(name, outcome)| Some((name, (*outcome)?)));
    let (engine, reference): (Vec<_>, Vec<_>) = known
        .map(|(name, passed)| {
            let outcome = if passed { Outcome::passed() } else { Outcome::failed() };
            ((name.clone(), outcome), (name.as_str().to_owned(), passed))
        })
        .unzip();
    let accepted = walk.happen(&by_agent(EventKind::Gathered { branches: engine })).is_ok();
    (accepted, model.gather(&reference).is_ok())
}

fn names(path: &FramePath) -> Vec<String> {
    path.0.iter().map(|name| name.as_str().to_owned()).collect()
}

fn pick<T>(from: &[T], index: usize) -> &T {
    &from[index % from.len()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn engine_and_reference_agree(
        files in files(),
        happenings in prop::collection::vec(happening(), 1..80),
        verified: bool,
        outside: bool,
    ) {
        let Some(workflow) = workflow(&files.0) else { return Ok(()) };
        let rules = Rules {
            human: if verified { Human::Verified } else { Human::Attested },
            branches: if outside { Branches::Outside } else { Branches::Inside },
            is_branch: false,
        };
        let mut walk = Walk::open(&workflow, rules);
        let library = Library::of(&files.0);
        let mut model = Model::new(&library, reference::Rules { verified, outside });
        for happening in [Happening::Begin].iter().chain(&happenings) {
            let before = picture::of(&walk.run.root);
            let (engine, reference) = happen(&mut walk, &mut model, happening);
            prop_assert_eq!(engine, reference, "accepted by one only: {:?} at {}", happening, before);
            prop_assert_eq!(picture::of(&walk.run.root), model.root.picture(), "after {:?} at {}", happening, before);
            prop_assert_eq!(walk.run.is_over(), model.is_over());
        }
    }
}
