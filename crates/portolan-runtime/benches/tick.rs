//! How long it takes to look at a repository for all checks at once, and to decide over what is found: a branch with many
//! commits, and no network.
//!
//! `cargo bench -p portolan-runtime --bench tick`; the repository is made in the temporary directory, with `git fast-import`.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portolan_core::value::Timestamp;
use portolan_gates::Guidelines;
use portolan_gates::acceptance::{CHECKS, CheckStatus};
use portolan_gates::facts::{Claims, Needs};
use portolan_gates::guidelines::{Forge, IssueProvider};
use portolan_runtime::repository::Repository;
use portolan_runtime::trust::{Digest, Trust, TrustEntry};
use portolan_runtime::typecheck::checker;

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (commits, rounds) = if is_bench { (10_000, 40) } else { (50, 1) };
    let home = tempfile::tempdir().expect("there is room for a folder");
    let project = home.path().canonicalize().expect("it is there").join("project");
    std::fs::create_dir(&project).expect("there is room for a folder");
    let (rules, claims) = (rules(), claims());
    let environment = environment(home.path());
    make(&project, &environment, commits);
    allow(&home.path().join("data"), &project, &rules);
    let repository = Repository::within(&project, environment).trusting(home.path().join("data"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
    let needs = CHECKS.iter().fold(Needs::NOTHING, |needs, kind| needs.and(kind.needs));
    // The first look runs the type checker, whose verdict is kept from then on.
    let first = runtime.block_on(repository.probe(&claims, &rules, needs));
    for kind in &CHECKS {
        let found = kind.decide(&claims, &first, &rules);
        // The branch is not merged, which is found out all the same.
        let expected = if kind.id == "pullRequestMerged" { CheckStatus::Fails } else { CheckStatus::Holds };
        assert_eq!(found.standing, expected, "{}: {}", kind.id, found.reason);
    }
    println!("{commits} commits on the branch, {} checks, median of {rounds}", CHECKS.len());
    let history = Needs { typecheck: false, ..needs };
    for (name, needs) in
        [("all checks", needs), ("all but the type check", history), ("head and branches", Needs::NOTHING)]
    {
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..rounds {
            let from = Instant::now();
            let facts = runtime.block_on(repository.probe(&claims, &rules, needs));
            let decided: Vec<_> = CHECKS.iter().map(|kind| kind.decide(&claims, &facts, &rules)).collect();
            times.push(from.elapsed());
            assert_eq!(decided.len(), CHECKS.len());
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!("{name:<28} min {:>10.3?} median {:>10.3?} p99 {:>10.3?}", times[0], at(0.5), at(0.99));
    }
}

fn rules() -> Guidelines {
    let mut rules = Guidelines::default();
    rules.issues.provider = IssueProvider::Offline;
    rules.pull_requests.forge = Forge::Files { folder: "reviews".to_owned() };
    rules.specs.required = true;
    rules.typecheck.commands = Some(vec![vec!["true".to_owned()]]);
    rules
}

fn claims() -> Claims {
    Claims {
        issue: Some(42),
        branch: Some("feat/auth".to_owned()),
        spec_path: Some("specs/a.md".to_owned()),
        pull_request: Some(7),
        ..Claims::default()
    }
}

fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let pairs = [("PATH", std::env::var_os("PATH").unwrap_or_default()), ("HOME", home.join("home").into_os_string())];
    pairs.map(|(name, value)| (name.into(), value)).to_vec()
}

fn allow(data: &Path, project: &Path, rules: &Guidelines) {
    let checker = checker(project, rules).expect("the rules name one");
    let entry = TrustEntry {
        project: PathBuf::new(),
        commands: checker.digest(),
        file: Digest::of(""),
        path: "bench".to_owned(),
        at: Timestamp(0),
        runs: checker.runs(),
    };
    Trust::open(data, project).and_then(|trust| trust.record(entry)).expect("it can be recorded");
}

/// A repository whose branch has so many commits that `main`, which its remote has, has not.
fn make(project: &Path, environment: &[(OsString, OsString)], commits: usize) {
    git(project, environment, &["init", "-q", "-b", "main"], "");
    let mut stream = String::new();
    commit(
        &mut stream,
        "refs/heads/main",
        "chore: begin",
        &[("specs/a.md", "# A\n\n#42\n"), ("reviews/7.md", "Fine.\n")],
    );
    stream.push_str("reset refs/heads/feat/auth\nfrom refs/heads/main\n\n");
    for at in 0..commits {
        let file = format!("src/file{}.txt", at % 200);
        let message = format!("feat(core): take step {at} of the way\n\nIt is one of many.\n\nRefs #42");
        commit(&mut stream, "refs/heads/feat/auth", &message, &[(&file, &format!("step {at}\n"))]);
    }
    git(project, environment, &["fast-import", "--quiet"], &stream);
    git(project, environment, &["update-ref", "refs/remotes/origin/main", "main"], "");
    git(project, environment, &["checkout", "-q", "-f", "feat/auth"], "");
}

fn commit(stream: &mut String, branch: &str, message: &str, files: &[(&str, &str)]) {
    let who = "t <t@example.com> 1700000000 +0000";
    let done = write!(stream, "commit {branch}\ncommitter {who}\ndata {}\n{message}\n", message.len());
    done.expect("a text grows");
    for (path, text) in files {
        write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).expect("a text grows");
    }
    stream.push('\n');
}

fn git(project: &Path, environment: &[(OsString, OsString)], arguments: &[&str], input: &str) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(project).env_clear().envs(environment.iter().cloned());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("git is there");
    child.stdin.take().expect("it reads").write_all(input.as_bytes()).expect("it reads all");
    assert!(child.wait().expect("it ends").success(), "git {arguments:?}");
}
