//! Collectors that are down, slow, or refuse: a run does not notice, and the person is told once.

use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use portolan_runtime::drive::Outcome;

use crate::collector::{Answer, Collector};
use crate::world::World;

const FUNCTION: &str = "f
    entry: start > a
    a: value 1 > b
    b: value 2 > c
    c: value 3 > exit
    exit: end";
/// The nodes of the function, and the run.
const SPANS: u64 = 6;

fn runs(world: &World) {
    let finished = world.call(FUNCTION);
    assert!(matches!(finished.outcome, Outcome::Done(_)), "{finished:?}");
}

#[test]
fn a_collector_that_is_down_is_told_of_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let url = format!("http://me:secret@{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    let world = World::to(&url, &["OTEL_BSP_SCHEDULE_DELAY=0", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1"]);
    runs(&world);
    runs(&world);
    let began = Instant::now();
    world.close();
    assert!(began.elapsed() < Duration::from_secs(5), "who is not there is not tried again at the end");
    assert_eq!(world.lost(), 2 * SPANS);
    let [note] = &*world.notes() else { panic!("one note: {:?}", world.notes()) };
    assert!(note.starts_with("traces do not arrive at `http://127.0.0.1:"), "{note}");
    assert!(note.contains("onnection refused") && !note.contains("secret"), "{note}");
}

#[test]
fn a_collector_that_refuses_is_told_of_once() {
    let collector = Collector::new(vec![Answer::Status(401), Answer::Status(401)]);
    let world = World::to(&collector.url, &["OTEL_BSP_MAX_EXPORT_BATCH_SIZE=3"]);
    runs(&world);
    world.close();
    assert_eq!(world.lost(), SPANS);
    let [note] = &*world.notes() else { panic!("one note: {:?}", world.notes()) };
    assert!(note.contains("it answers 401 Unauthorized"), "{note}");
}

#[test]
fn a_redirection_is_not_followed_with_the_headers() {
    let collector = Collector::new(vec![Answer::Status(307)]);
    let world = World::to(&collector.url, &["OTEL_EXPORTER_OTLP_HEADERS=authorization=x"]);
    runs(&world);
    world.close();
    assert_eq!((collector.all().len(), world.lost()), (1, SPANS));
}

#[test]
fn what_could_not_be_taken_for_the_moment_is_sent_again() {
    let collector = Collector::new(vec![Answer::Status(503)]);
    let world = World::to(&collector.url, &["OTEL_BSP_SCHEDULE_DELAY=0"]);
    runs(&world);
    let (first, second) = (collector.export(), collector.export());
    assert_eq!(first.body, second.body);
    world.close();
    assert_eq!((world.lost(), world.notes()), (0, Vec::new()));
}

#[test]
fn what_could_not_be_taken_for_the_moment_is_sent_again_at_the_end_too() {
    let collector = Collector::new(vec![Answer::Status(503)]);
    let world = World::to(&collector.url, &[]);
    runs(&world);
    world.close();
    let bodies: Vec<Vec<u8>> = collector.all().into_iter().map(|export| export.body).collect();
    assert!(bodies.len() == 2 && bodies[0] == bodies[1], "{} exports", bodies.len());
    assert_eq!((world.lost(), world.notes()), (0, Vec::new()));
}

#[test]
fn a_collector_that_never_answers_keeps_nobody() {
    let (_never, held) = channel();
    let collector = Collector::new(vec![Answer::Held(held)]);
    let world = World::to(&collector.url, &["OTEL_EXPORTER_OTLP_TIMEOUT=200"]);
    let began = Instant::now();
    runs(&world);
    world.close();
    assert!(began.elapsed() < Duration::from_secs(5), "the end waits for 200 ms, not for the collector");
    let [note] = &*world.notes() else { panic!("one note: {:?}", world.notes()) };
    assert!(note.contains("within 200 ms"), "{note}");
}

#[test]
fn what_finds_no_place_is_dropped_and_counted() {
    let (release, held) = channel();
    let collector = Collector::new(vec![Answer::Held(held)]);
    let world = World::to(&collector.url, &["OTEL_BSP_MAX_QUEUE_SIZE=1", "OTEL_BSP_SCHEDULE_DELAY=0"]);
    runs(&world);
    let first = collector.export();
    // One is with the collector and one waits, at most: the rest of these has no place.
    runs(&world);
    drop(release);
    world.close();
    let arrived = first.spans().len() + collector.spans().len();
    assert_eq!(arrived as u64 + world.lost(), 2 * SPANS, "each arrived or was counted");
    assert!(world.lost() >= SPANS - 1, "{} were lost", world.lost());
    let [note] = &*world.notes() else { panic!("one note: {:?}", world.notes()) };
    assert!(note.starts_with(&format!("{} spans were dropped", world.lost())), "{note}");
}

#[test]
fn after_the_end_nothing_is_sent_and_nothing_hangs() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    runs(&world);
    world.close();
    runs(&world);
    world.close();
    assert_eq!((collector.spans().len() as u64, world.lost()), (SPANS, SPANS));
}
