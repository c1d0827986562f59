//! How long the calls of an agent that is led take, from the call to the answer, without any protocol around them; how
//! long its tokens are; and what refusing a bomb takes.
//!
//! `cargo bench -p portolan-runtime --bench navigate -- [FOLDER]`; the store is in that folder, by default in a temporary
//! one.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use portolan_core::present;
use portolan_core::value::Outcome;
use portolan_runtime::service::{
    Act, Caller, Open, Options, Report, Request, RunCarrier, Service, States, StoreAt, View,
};
use serde_json::{Map, json};

/// A workflow that somebody would want, of some sixty steps.
const EXAMPLE: &str = "../../examples/activities/work-package";

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let walks = if std::env::args().any(|argument| argument == "--bench") { 40 } else { 1 };
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).map(PathBuf::from);
    let home = tempfile::tempdir_in(folder.unwrap_or_else(std::env::temp_dir)).expect("there is room for a folder");
    let project = home.path().join("project");
    std::fs::create_dir(&project).expect("there is room for a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE);
    let usual = Options {
        trust: Some(home.path().join("data")),
        definitions: vec![example.join("workflow.yaml"), example.with_file_name("follow-up.yaml")],
        ..Options::of(&project)
    };
    let ways = [
        ("tokens", States::Tokens, StoreAt::Memory),
        ("handles, in memory", States::Handles, StoreAt::Memory),
        ("handles, on disk", States::Handles, usual.store.clone()),
    ];
    for (name, states, store) in ways {
        let service = Service::new(Options { states, store, ..usual.clone() }).expect("the project can be served");
        let (mut looks, mut moves, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..walks {
            runtime.block_on(walk(&service, &mut looks, &mut moves, &mut sizes));
        }
        row(&format!("{name}: get_position"), &mut looks);
        row(&format!("{name}: a move"), &mut moves);
        let at = |nth: usize| {
            sizes.get(nth - 1).map_or_else(|| "-".to_owned(), |(state, _): &(usize, usize)| state.to_string())
        };
        let answers: Vec<usize> = sizes.iter().map(|(_, answer)| *answer).collect();
        println!(
            "{:<40} {} characters at call 1, {} at 30, {} at 60, {} at 90; answers of {} bytes at most",
            format!("{name}: state"),
            at(1),
            at(30),
            at(60),
            at(90),
            answers.iter().max().expect("an answer"),
        );
    }
    let service = Service::new(Options { states: States::Tokens, ..usual }).expect("the project can be served");
    bomb(&service, &runtime, walks);
}

fn row(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{name:<40} n={:5} min {:?} median {:?} p99 {:?}", times.len(), times[0], at(0.5), at(0.99));
}

/// An agent that does what is required, and looks again before each call.
async fn walk(
    service: &Service,
    looks: &mut Vec<Duration>,
    moves: &mut Vec<Duration>,
    sizes: &mut Vec<(usize, usize)>,
) {
    let me = Caller::agent("bench");
    let ticket = Map::from_iter([("ticket".to_owned(), json!("PR-7"))]);
    let wanted = Open {
        carrier: RunCarrier::State,
        workflow: Some("work-package".to_owned()),
        input: Some(std::sync::Arc::new(ticket.into())),
        ..Open::default()
    };
    let mut now = service.open(&wanted, &me).await.unwrap_or_else(|refused| panic!("{refused}"));
    while !now.situation.over {
        sizes.push((now.state.len(), serde_json::to_string(&now.situation).expect("JSON").len()));
        let request = Request::led(now.state.clone());
        let from = Instant::now();
        let looked = service.view(&request, &me).await;
        looks.push(from.elapsed());
        assert!(looked.is_ok_and(|looked| looked == now), "reading changes nothing");
        let deed = deed(&now);
        let from = Instant::now();
        now = service.act(&request, &deed, &me).await.unwrap_or_else(|refused| panic!("{refused}"));
        moves.push(from.elapsed());
    }
}

fn deed(now: &View) -> Act {
    match &now.situation.question {
        Some(question) => {
            let option = Some(Outcome::from(question.asked.options[0].id.as_str()));
            Act::Answer { checkpoint: question.asked.id.clone(), option, note: None, outputs: None }
        }
        None => Act::Complete {
            step: now.situation.work.id.clone(),
            report: Report {
                note: Some("It was done as it was asked for, and looked at by a second pair of eyes.".to_owned()),
                ..Report::of(reported(now).clone())
            },
        },
    }
}

/// The outcome that leads on.
fn reported(now: &View) -> &Outcome {
    let leading = now.situation.offers.iter().find(|offer| offer.leads_on && !matches!(offer.act, present::Act::Begin));
    leading.and_then(|offer| offer.outcome()).expect("something leads on")
}

/// A token of 259 KB that would unpack to 200 MB, and one that is as long as one may be.
fn bomb(service: &Service, runtime: &tokio::runtime::Runtime, walks: usize) {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0_u8; 1 << 20];
    (0..190).for_each(|_| gzip.write_all(&zeros).expect("there is memory"));
    let packed = gzip.finish().expect("there is memory");
    let whole = format!("v1.gzB64.{}", base64::engine::general_purpose::STANDARD.encode(packed));
    for text in [&whole, &whole[..65_533]] {
        let request = Request::led(text.to_owned());
        let mut times = Vec::new();
        let before = peak();
        for _ in 0..walks {
            let from = Instant::now();
            let refused = runtime.block_on(service.view(&request, &Caller::agent("bench")));
            times.push(from.elapsed());
            assert_eq!(refused.expect_err("it is no token").code, "damaged");
        }
        row(&format!("a bomb of {} bytes is refused", text.len()), &mut times);
        println!("{:<40} {} KiB more at the peak", "", peak() - before);
    }
}

/// The most memory that the process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
