//! Detection of persons and agents over chains of processes; and passphrases, on a stepping clock.

use std::ffi::OsString;
use std::path::PathBuf;

use expect_test::expect;
use portolan_runtime::audit;
use portolan_runtime::clock::Clock;
use portolan_runtime::error::ServiceError;
use portolan_runtime::process::lineage::{Process, ProcessIdentity};
use portolan_runtime::service::{Options, Service};

use super::People;
use super::descent;
use super::hosts::{Hosts, hosts_in};
use super::markers::Variable;
use super::passphrase::PassphrasePolicy;

/// Builds processes from command lines, the nearest first. The first word is also the program's file.
fn chain(lines: &[&str]) -> Vec<ProcessIdentity> {
    let seen = |(at, line): (usize, &&str)| {
        let pid = u32::try_from(100 - at).expect("small");
        let line = line.replace(" -c ", "\u{1}-c\u{1}");
        let words: Vec<String> = match line.split_once("\u{1}-c\u{1}") {
            Some((shell, text)) => vec![shell.to_owned(), "-c".to_owned(), text.to_owned()],
            None => line.split_whitespace().map(str::to_owned).collect(),
        };
        let start = "then".to_owned();
        ProcessIdentity { process: Process { pid, start }, file: words.first().map(PathBuf::from), words }
    };
    lines.iter().enumerate().map(seen).collect()
}

fn none(_: &str) -> Option<OsString> {
    None
}

/// Returns the command line of the process that a hook records as its host.
fn remembered(lines: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = Hosts::new(vec![folder.path().to_owned()]);
    let chain = chain(lines);
    hosts.remember("claude-code", chain.clone()).expect("written");
    let known = hosts.all().first().map(|host| host.process.pid);
    known.map_or_else(|| "-".to_owned(), |pid| chain[100 - pid as usize].words.join(" "))
}

#[test]
fn the_host_is_the_nearest_that_is_no_shell_of_a_hook() {
    let told: Vec<String> = [
        &["portolan hook", "host x", "bash", "sshd"][..],
        &["portolan hook", "/bin/sh -c portolan hook claude-code PreToolUse", "host x", "-zsh", "sshd"],
        &["portolan hook", "sh -c a", "bash -c b", "host x"],
        // Several processes of one program are one host; the outermost is recorded.
        &["portolan hook", "/opt/editor --type=ext", "/opt/editor --type=x", "/opt/editor", "systemd --user"],
        // A person runs a hook in a shell or in a script.
        &["portolan hook", "-bash", "sshd"],
        &["portolan hook", "bash script.sh", "host x"],
        // The host has ended.
        &["portolan hook", "systemd --user", "systemd"],
        &["portolan hook", "sh -c a", "tmux: server", "systemd"],
        &["portolan hook"],
    ]
    .into_iter()
    .map(remembered)
    .collect();
    expect![[r#"
        host x
        host x
        host x
        /opt/editor
        -
        -
        -
        -
        -"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_hook_descends_from_its_own_host_and_from_those_that_are_remembered_above_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = Hosts::new(vec![folder.path().to_owned()]);
    let chain = chain(&["portolan hook", "inner -p", "bash -c inner", "outer", "-bash", "editor", "sshd"]);
    let told = || {
        let found = hosts_in(&chain, Some(&hosts));
        found.iter().map(|process| chain[100 - process.pid as usize].words[0].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(told(), ["inner"]);
    hosts.remember("claude-code", chain[2..].iter().cloned()).expect("written");
    assert_eq!(told(), ["inner", "outer"]);
    assert_eq!(hosts_in(&chain, None).len(), 1);
    assert!(hosts_in(&chain[5..], None).is_empty());
}

/// Returns the sign that an agent is asking, if the process `host x` has run a hook before.
fn sign(lines: &[&str], variable: &str) -> String {
    judged(lines, variable, |chain, hosts, variable| descent::agent(chain, hosts, variable))
}

fn judged(
    lines: &[&str],
    variable: &str,
    judge: impl Fn(Option<&[ProcessIdentity]>, &Hosts, Variable<'_>) -> Option<descent::Sign>,
) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = Hosts::new(vec![folder.path().join("none"), folder.path().to_owned()]);
    let chain = chain(lines);
    if let Some(at) = chain.iter().position(|seen| seen.words.join(" ") == "host x") {
        let hook = [
            ProcessIdentity { process: Process { pid: 7, start: String::new() }, ..chain[at].clone() },
            chain[at].clone(),
        ];
        Hosts::new(vec![folder.path().to_owned()]).remember("cursor", hook.clone()).expect("written");
    }
    let set = |name: &str| (name == variable).then(|| OsString::from("1"));
    judge(Some(&chain), &hosts, &set).map_or_else(|| "a person".to_owned(), |sign| sign.to_string())
}

#[test]
fn what_a_host_has_started_is_no_person() {
    let told = [
        sign(&["portolan flow override", "bash", "sshd"], ""),
        sign(&["portolan flow override", "bash", "sshd"], "CLAUDECODE"),
        sign(&["portolan flow override", "bash", "sshd"], "CODEX_THREAD_ID"),
        sign(&["portolan flow override", "bash -c x", "host x", "bash", "sshd"], ""),
        // A terminal of its own does not change the descent.
        sign(&["p flow override", "sh -c p", "script -qc p", "python3 x.py", "bash -c x", "host x", "bash"], ""),
        // Programs named like agents, with and without hooks.
        sign(&["portolan trust", "bash -c x", "/usr/bin/claude -p x", "bash"], ""),
        sign(&["portolan trust", "bash -c x", "node /usr/lib/bin/gemini.js", "bash"], ""),
        sign(&["portolan trust", "bash", "vim claude", "node server.js", "tmux new -s claude"], ""),
        // The host runs below this terminal, not above it.
        sign(&["portolan trust", "bash", "sshd"], "HOME"),
    ];
    expect![[r#"
        a person
        `CLAUDECODE` is set, which Claude Code does for its agent
        `CODEX_THREAD_ID` is set, which Codex does for its agent
        this was started from within `cursor` (process 98)
        this was started from within `cursor` (process 95)
        this was started from within `claude` (process 98)
        this was started from within `gemini` (process 98)
        a person
        a person"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_number_that_was_given_out_again_is_another_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = Hosts::new(vec![folder.path().to_owned()]);
    let mut chain = chain(&["portolan hook", "host x"]);
    hosts.remember("codex", chain.clone()).expect("written");
    assert!(hosts.known(&chain[1].process).is_some());
    chain[1].process.start = "later".to_owned();
    assert!(descent::agent(Some(&chain), &hosts, &none).is_none());
    std::fs::write(folder.path().join("hosts/99"), "{").expect("ours");
    chain[1].process.start = "then".to_owned();
    assert!(hosts.known(&chain[1].process).is_none(), "what cannot be read is none");
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn who_cannot_be_told_is_no_person() {
    let hosts = Hosts::new(Vec::new());
    let told = [descent::agent(None, &hosts, &none), descent::client(None, &hosts, &none, |_| Some(true))];
    assert!(told.iter().all(|sign| matches!(sign, Some(descent::Sign::Unknown))));
}

#[test]
fn a_server_is_asked_by_its_host_or_by_nobody_who_counts() {
    let by_parent = |clients: &[u32]| Some(clients.contains(&99));
    let fed = |lines: &[&str], variable: &str, is_fed_by: fn(&[u32]) -> Option<bool>| {
        judged(lines, variable, |chain, hosts, variable| descent::client(chain, hosts, variable, is_fed_by))
    };
    let client = |lines: &[&str], variable: &str| fed(lines, variable, |_| Some(true));
    let told = [
        client(&["portolan serve --toolset gates", "host x", "bash"], ""),
        client(&["/bin/portolan serve --toolset gates", "sh -c exec portolan serve --toolset gates", "host x"], ""),
        client(&["portolan serve", "an inspector", "bash"], ""),
        // OpenCode sets its variable for its own servers too.
        client(&["portolan serve", "host x"], "OPENCODE"),
        client(&["portolan serve", "python3 client.py", "bash -c python3 client.py", "host x"], ""),
        client(&["portolan serve", "bash -c portolan serve < in > out", "host x"], ""),
        client(&["portolan serve --toolset gates", "bash -c portolan serve --toolset tasks", "host x"], ""),
        client(&["portolan serve", "an inspector", "bash"], "CLAUDECODE"),
        // The agent's shell has become the server.
        fed(&["portolan serve", "host x", "bash"], "", |_| Some(false)),
        fed(&["portolan serve", "an inspector", "bash"], "", by_parent),
        fed(&["portolan serve", "systemd --user", "systemd"], "", by_parent),
        // If the system does not report the other end of the input, descent alone decides.
        fed(&["portolan serve", "host x"], "", |_| None),
    ];
    expect![[r#"
        a person
        a person
        a person
        a person
        another program runs between `cursor` (process 97) and this server
        another program runs between `cursor` (process 98) and this server
        another program runs between `cursor` (process 98) and this server
        `CLAUDECODE` is set, which Claude Code does for its agent
        the input of this server does not come from the program that started it
        a person
        the input of this server does not come from the program that started it
        a person"#]]
    .assert_eq(&told.join("\n"));
}

/// A project with a person, and a clock.
struct Stand {
    folder: tempfile::TempDir,
    clock: Clock,
}

impl Stand {
    fn new() -> Stand {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("project")).expect("a project");
        Stand { folder, clock: Clock::stepping(1_700_000_000_000) }
    }

    fn service(&self, project: &str) -> Service {
        let project = self.folder.path().join(project);
        std::fs::create_dir_all(&project).expect("a project");
        let (trust, clock) = (Some(self.folder.path().join("data")), self.clock.clone());
        Service::new(Options { trust, clock, ..Options::of(project) }).expect("a service")
    }

    fn says(&self, passphrase: &str) -> String {
        outcome_code(People::of(&self.service("project")).confirm(passphrase, "may do this"))
    }

    fn pass(&self, seconds: i64) {
        let Clock::Stepping(at) = &self.clock else { return };
        at.fetch_add(seconds * 1_000, std::sync::atomic::Ordering::Relaxed);
    }

    fn log(&self) -> String {
        std::fs::read_to_string(audit::project_log(&self.folder.path().join("project"))).unwrap_or_default()
    }
}

fn outcome_code(done: Result<(), ServiceError>) -> String {
    done.err().map_or_else(|| "done".to_owned(), |error| error.code.to_owned())
}

const RIGHT: &str = "three plain words";

#[test]
fn the_right_passphrase_confirms_and_wrong_ones_are_on_record_and_waited_after() {
    let stand = Stand::new();
    assert_eq!(stand.says("anything"), "done", "none is set");
    let service = stand.service("project");
    assert_eq!(outcome_code(People::of(&service).set_passphrase("short")), "bad_input");
    assert_eq!(outcome_code(People::of(&service).set_passphrase(RIGHT)), "done");
    assert_eq!(stand.says(RIGHT), "done");
    assert_eq!(stand.says("wrong"), "wrong_passphrase");
    stand.pass(1);
    assert_eq!(stand.says("wrong"), "wrong_passphrase");
    stand.pass(2);
    assert_eq!(stand.says("wrong"), "wrong_passphrase");
    assert_eq!(stand.says(RIGHT), "too_soon", "the right one waits as well");
    stand.pass(4);
    assert_eq!(stand.says(RIGHT), "done");
    assert_eq!(stand.says("wrong"), "wrong_passphrase", "they are counted anew");
    assert_eq!(stand.log().matches("a wrong passphrase was given where only a person may do this").count(), 4);
    assert!(!stand.log().contains(RIGHT) && !stand.log().contains("argon2"), "{}", stand.log());
    let kept = std::fs::read_to_string(People::of(&service).file().expect("a place")).expect("a file");
    assert!(kept.contains("$argon2id$") && !kept.contains(RIGHT), "{kept}");
}

#[test]
fn a_passphrase_that_was_put_in_its_place_is_noticed() {
    let stand = Stand::new();
    let service = stand.service("project");
    assert_eq!(outcome_code(People::of(&service).set_passphrase(RIGHT)), "done");
    let path = People::of(&service).file().expect("a place");
    let own = std::fs::read(&path).expect("a file");
    for forged in [None, Some("{}"), Some("{\"hashes\":[]}")] {
        match forged {
            None => std::fs::remove_file(&path).expect("ours"),
            Some(text) => std::fs::write(&path, text).expect("ours"),
        }
        assert_eq!(stand.says(RIGHT), "passphrase_tampered", "{forged:?}");
    }
    // A passphrase that another person set, who knows its words.
    let other = Stand::new();
    assert_eq!(outcome_code(People::of(&other.service("project")).set_passphrase("the agent's own")), "done");
    let theirs = std::fs::read(People::of(&other.service("project")).file().expect("a place")).expect("a file");
    std::fs::write(&path, theirs).expect("ours");
    assert_eq!(stand.says("the agent's own"), "passphrase_tampered");
    assert_eq!(People::of(&service).standing().expect("told"), PassphrasePolicy::Tampered);
    std::fs::write(&path, own).expect("ours");
    assert_eq!(stand.says(RIGHT), "done");
}

#[test]
fn a_project_goes_by_the_passphrase_that_its_log_names() {
    let stand = Stand::new();
    let (one, two) = (stand.service("project"), stand.service("other"));
    let says = |service: &Service, passphrase: &str| {
        stand.pass(3_600);
        outcome_code(People::of(service).confirm(passphrase, "may do this"))
    };
    assert_eq!(outcome_code(People::of(&one).set_passphrase(RIGHT)), "done");
    assert_eq!(says(&two, "wrong"), "wrong_passphrase", "what a person has set counts in every project");
    assert_eq!(says(&two, RIGHT), "done");
    assert_eq!(outcome_code(People::of(&one).set_passphrase("some other words")), "done");
    assert_eq!((says(&one, RIGHT), says(&one, "some other words")), ("wrong_passphrase".to_owned(), "done".to_owned()));
    assert_eq!((says(&two, "some other words"), says(&two, RIGHT)), ("wrong_passphrase".to_owned(), "done".to_owned()));
    assert_eq!(outcome_code(People::of(&two).forget_passphrase()), "done");
    assert_eq!(People::of(&two).standing().expect("told"), PassphrasePolicy::Unset);
    assert_ne!(People::of(&one).standing().expect("told"), PassphrasePolicy::Unset);
}

#[test]
fn failures_that_cannot_be_read_are_not_forgotten() {
    let stand = Stand::new();
    let service = stand.service("project");
    assert_eq!(outcome_code(People::of(&service).set_passphrase(RIGHT)), "done");
    let failures = People::of(&service).file().expect("a place").with_file_name("failures.json");
    std::fs::write(&failures, "nonsense").expect("ours");
    assert_eq!(stand.says("wrong"), "wrong_passphrase");
    stand.pass(600);
    assert_eq!(stand.says(RIGHT), "too_soon");
    stand.pass(600);
    assert_eq!(stand.says(RIGHT), "done");
}

#[test]
#[cfg(unix)]
fn the_accounts_own_folder_counts_first_whatever_the_environment_says() {
    let own = portolan_runtime::trust::data_dir_of_account().expect("this account has a home");
    assert!(own.is_absolute() && own.ends_with("portolan"), "{}", own.display());
    let folder = tempfile::tempdir().expect("a folder");
    let service =
        Service::new(Options { store: portolan_runtime::service::StoreAt::Memory, ..Options::of(folder.path()) });
    let folders = People::of(&service.expect("a service")).folders(None).expect("told");
    assert_eq!(folders.first(), Some(&own));
    // A data folder that the service was given is the only one.
    let mine = tempfile::tempdir().expect("a folder");
    let trust = Some(mine.path().to_owned());
    let options = Options { store: portolan_runtime::service::StoreAt::Memory, trust, ..Options::of(folder.path()) };
    let folders = People::of(&Service::new(options).expect("a service")).folders(None).expect("told");
    assert_eq!(folders, [mine.path()]);
}
