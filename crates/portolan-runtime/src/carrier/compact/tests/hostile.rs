//! Bytes that the encoder did not write: they are refused or read, with bounded time and memory.

use std::collections::BTreeMap;

use portolan_core::run::{Data, Form, Frame};
use proptest::prelude::*;

use super::bytes::MAX_DEPTH;
use super::made_up::Maker;
use super::*;

/// Returns a state with these bytes after the layout and the check.
fn signed(workflow: &Workflow, rest: &[u8]) -> Vec<u8> {
    [&[PRESENT][..], &Words::of(workflow).check, rest].concat()
}

/// Returns a run with much content.
fn busy(workflow: &Workflow) -> Run {
    let mut random = fastrand::Rng::with_seed(5);
    let runs = (0..50).map(|_| Maker::of(workflow, &mut random).run(workflow));
    runs.max_by_key(|run| text(run).len()).expect("there are some")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), revision in any::<u64>()) {
        let workflow = sample();
        let _ = read(&workflow, revision, &bytes);
        if let Ok(carried) = read(&workflow, revision, &signed(&workflow, &bytes)) {
            let again = write(&workflow, &carried);
            prop_assert_eq!(again.and_then(|again| read(&workflow, revision, &again).ok()), Some(carried));
        }
    }

    #[test]
    fn a_changed_state_is_read_or_refused(at in any::<prop::sample::Index>(), put in prop::collection::vec(any::<u8>(), 0..4)) {
        let workflow = review();
        let run = busy(&workflow);
        let mut bytes = comes_back(&workflow, &run);
        let at = at.index(bytes.len());
        bytes.splice(at..(at + 2).min(bytes.len()), put);
        let _ = read(&workflow, run.revision, &bytes);
    }
}

#[test]
fn what_is_cut_off_or_goes_on_is_refused() {
    let workflow = review();
    let run = busy(&workflow);
    let bytes = comes_back(&workflow, &run);
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for end in 0..bytes.len() {
        let fault = read(&workflow, run.revision, &bytes[..end]).expect_err("it is cut off");
        *refused.entry(format!("{fault:?}")).or_default() += 1;
    }
    assert_eq!(refused, BTreeMap::from([("Damaged".to_owned(), bytes.len())]));
    assert_eq!(read(&workflow, run.revision, &[&bytes[..], &[0]].concat()), Err(Unreadable::Damaged));
}

#[test]
fn another_layout_is_told_from_damage() {
    let workflow = review();
    let bytes = comes_back(&workflow, &busy(&workflow));
    let other = |layout: u8| read(&workflow, 1, &[&[layout], &bytes[1..]].concat());
    assert_eq!([other(0), other(2), other(255)], [0, 2, 255].map(|layout| Err(Unreadable::Layout(layout))));
}

/// Returns the bytes of a number.
fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Returns a run whose opening has this input.
fn with_input(value: &[u8]) -> Vec<u8> {
    [&[1 << 3][..], value].concat()
}

#[test]
fn a_count_makes_no_room_for_what_is_not_there() {
    let workflow = review();
    for kind in 0..8_u64 {
        for count in [u64::MAX >> 3, u64::MAX >> 4, 1 << 32, 1 << 20] {
            let bytes = signed(&workflow, &with_input(&number(count << 3 | kind)));
            assert_eq!(read(&workflow, 1, &bytes), Err(Unreadable::Damaged), "{kind} {count}");
        }
    }
}

#[test]
fn what_would_unpack_to_much_is_refused() {
    let million = 1 << 20;
    let long = "long ".repeat(10_000);
    let text = format!(
        "id: w\nversion: 1.0.0\ntitle: W\nvariables: [{{ name: v, type: string, default: {} }}]\n\
         activities: [{{ id: a, name: A, steps: [{{ id: s, kind: step, name: S }}] }}]\n",
        serde_json::to_string(&long).expect("a text")
    );
    let workflow = workflow(&[("w.yaml", &text)]);
    let refused = |rest: Vec<u8>| assert_eq!(read(&workflow, 1, &signed(&workflow, &rest)), Err(Unreadable::Damaged));
    // A million nulls, and a thousand times a text of the definition.
    refused([with_input(&number(million << 3 | 5)), vec![0; 1 << 20]].concat());
    let listed = Words::of(&workflow).texts.number(&long).expect("it is a default") as u64;
    let texts = number(listed << 3 | 3).repeat(1_000);
    refused([with_input(&number(1_000 << 3 | 5)), texts].concat());
    // Frames within frames, each with the default: few bytes, but a run that cannot be given out either.
    let mut frame = Walk::open(&workflow, &Opening::of("w")).run.root;
    let data = frame.data.clone();
    assert!(data.as_ref().is_some_and(|data| data.variables["v"] == long));
    let branches = (0..2_000).map(|_| portolan_core::run::Branch {
        name: "a".into(),
        state: portolan_core::run::BranchState::Open(frame.clone()),
        data: data.clone(),
    });
    let place = Place::Forked { node: "a".into(), branches: branches.collect() };
    frame = Frame { place, ..Frame::at("w".into(), Place::Ready { node: "a".into() }) };
    let run = Run { form: Form::One, revision: 1, opening: Opening::of("w"), executed: 0, tallies: None, root: frame };
    assert_eq!(write(&workflow, &run), None);
}

#[test]
fn what_is_nested_too_deeply_is_refused_and_overflows_nothing() {
    let workflow = review();
    let deep = signed(&workflow, &with_input(&number(1 << 3 | 5).repeat(1 << 20)));
    assert_eq!(read(&workflow, 1, &deep), Err(Unreadable::Damaged));
    // Frames within frames, each at the first node, reached at this revision: within, looping, forked, each. The last
    // has something after its inner frame.
    let frames: [(&[u8], &[u8]); 4] =
        [(&[9, 0, 1], &[]), (&[5, 0, 1, 0, 0], &[]), (&[7, 0, 1, 1, 1, 2], &[]), (&[4, 0, 1, 0, 0, 1, 1, 0], &[0])];
    for (head, tail) in frames {
        let nested = |depth: usize| {
            let rest = [&[0][..], &head.repeat(depth), &[0, 0, 1], &tail.repeat(depth)].concat();
            read(&workflow, 1, &signed(&workflow, &rest))
        };
        assert_eq!(nested(100_000), Err(Unreadable::Damaged));
        assert_eq!(nested(MAX_DEPTH), Err(Unreadable::Damaged));
        let deepest = nested(MAX_DEPTH - 1).expect("it is as deep as can be");
        assert!(write(&workflow, &deepest).is_some());
    }
}

/// The deepest run that the engine allows: eight workflows, each in eight loops, and a deep value in it.
#[test]
fn what_is_nested_as_deeply_as_can_be_comes_back() {
    let workflow = review();
    let nested = |frames: usize| {
        let mut frame = Frame::at("flow".into(), Place::Ready { node: "n".into() });
        let value = (0..100).fold(json!(1), |value, _| json!([value]));
        frame.data = Some(Arc::new(Data { input: Arc::new(value), ..Data::default() }));
        for _ in 1..frames {
            frame = Frame::at("flow".into(), Place::Within { node: "n".into(), frame: Box::new(frame) });
        }
        Run {
            form: Form::One,
            revision: 1,
            opening: Opening::of(workflow.id().clone()),
            executed: 0,
            tallies: None,
            root: frame,
        }
    };
    comes_back(&workflow, &nested(MAX_DEPTH - 101));
    assert_eq!(write(&workflow, &nested(MAX_DEPTH - 100)), None);
}
