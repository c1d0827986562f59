//! A passkey is enrolled by a person at a terminal, and confirms answers on the page; the authenticator is a key in memory,
//! and the terminal is Python's.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portolan_core::run::Human;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use super::{Answer, Studio};
use crate::support::Project;

/// Runs a program in a terminal of its own, types a line where it asks for a passphrase, and shows at once what it says.
const TERMINAL: &str = r#"
import os, pty, sys, termios
typed, pid, terminal = sys.argv[1], *pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
    if seen.endswith((b'assphrase: ', b'more: ')):
        while termios.tcgetattr(terminal)[3] & termios.ECHO:
            os.sched_yield()
        os.write(terminal, (typed + '\n').encode())
    sys.stdout.buffer.write(more.replace(b'\r', b''))
    sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// A command of a person at a terminal.
struct AtTerminal {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl AtTerminal {
    fn of(project: &Project, typed: &str, line: &str) -> AtTerminal {
        let own = project.command::<&str>(&[]);
        let mut python = Command::new("python3");
        python.args(["-c", TERMINAL, typed, env!("CARGO_BIN_EXE_portolan")]).args(line.split_whitespace());
        python.current_dir(project.path()).stdin(Stdio::null()).stdout(Stdio::piped()).env("NO_COLOR", "1");
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => python.env(name, value),
                None => python.env_remove(name),
            };
        }
        let mut child = python.spawn().expect("Python starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        AtTerminal { child, out }
    }

    /// The page that it serves.
    fn page(mut self) -> (AtTerminal, Studio) {
        let mut line = String::new();
        while !line.contains("#/passkey&token=") {
            line.clear();
            assert!(self.out.read_line(&mut line).expect("it speaks") > 0, "it ended");
        }
        let (base, token) = line.trim().split_once("#/passkey&token=").expect("an address");
        let port = base.strip_prefix("http://localhost:").expect("an address").trim_end_matches('/').parse();
        // Whoever drops the page ends nothing by that: the process is the terminal's.
        let child = Command::new("true").spawn().expect("it starts");
        let page = Studio { child, port: port.expect("a port"), token: token.to_owned() };
        (self, page)
    }

    /// All that it says until it ends, and how it ends.
    fn end(mut self) -> String {
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("it speaks");
        let code = self.child.wait().expect("it ends").code().expect("a code");
        format!("{said}exit: {code}\n")
    }
}

/// The terminal is closed, and what runs in it ends.
impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// What one holds who has a passkey.
pub(super) struct Authenticator {
    pair: EcdsaKeyPair,
    id: String,
    pub(super) port: u16,
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Authenticator {
    pub(super) fn new() -> Authenticator {
        let chance = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &chance).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &chance).expect("a key");
        Authenticator { pair, id: "laptop's key".to_owned(), port: 0 }
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> String {
        let origin = format!("http://localhost:{}", self.port);
        json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false }).to_string()
    }

    /// What the page sends to have it enrolled.
    fn registered(&self, challenge: &Value) -> Value {
        let length = u16::try_from(self.id.len()).expect("it is short").to_be_bytes();
        let attached = [&[0; 16], &length[..], self.id.as_bytes()].concat();
        let data = [digest(&SHA256, b"localhost").as_ref(), &[0x45, 0, 0, 0, 0], &attached].concat();
        let head = URL_SAFE_NO_PAD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA").expect("it is base64");
        json!({
            "id": text(&self.id),
            "publicKey": text([&head, self.pair.public_key().as_ref()].concat()),
            "algorithm": -7,
            "authenticatorData": text(data),
            "clientDataJSON": text(self.client_data("webauthn.create", challenge)),
            "name": "laptop",
        })
    }

    /// What the page sends with an answer.
    pub(super) fn confirmed(&self, challenge: &Value) -> Value {
        let client = self.client_data("webauthn.get", challenge);
        let data = [digest(&SHA256, b"localhost").as_ref(), &[0x05, 0, 0, 0, 0]].concat();
        let message = [&data[..], digest(&SHA256, client.as_bytes()).as_ref()].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).expect("it signs");
        let (data, client, signature) = (text(data), text(client), text(signature));
        json!({ "id": text(&self.id), "authenticatorData": data, "clientDataJSON": client, "signature": signature })
    }
}

/// What becomes of a request, in a few words.
pub(super) fn outcome_text(answer: &Answer) -> String {
    if answer.status == 200 { "200".to_owned() } else { answer.refusal() }
}

/// Enrols a passkey from a terminal.
pub(super) fn enrol(project: &Project, passphrase: &str) -> Authenticator {
    let (terminal, page) = AtTerminal::of(project, passphrase, "people passkey").page();
    let mut laptop = Authenticator::new();
    laptop.port = page.port;
    let begun = page.post("/passkeys/challenge", &json!({})).json();
    assert_eq!((&begun["rpId"], &begun["user"]["name"]), (&json!("localhost"), &json!("ada")));
    assert_eq!(outcome_text(&page.post("/passkeys", &laptop.registered(&json!("x")))), "422 unknown_challenge");
    let kept = page.post("/passkeys", &laptop.registered(&begun["challenge"]));
    assert_eq!(kept.json(), json!({ "name": "laptop", "id": text(&laptop.id) }));
    let said = terminal.end();
    assert!(said.contains("`laptop` is enrolled") && said.ends_with("exit: 0\n"), "{said}");
    laptop
}

/// A run that asks a person, whose own word alone counts.
fn asked() -> (Project, String) {
    let mut project = Project::small();
    project.human = Human::Verified;
    let run = project.run("small", "passed failed passed failed");
    (project, run)
}

#[test]
fn a_passkey_confirms_one_answer_and_no_other() {
    let (project, run) = asked();
    let studio = Studio::of(&project, &[]);
    let question = studio.get("/inbox").json()["questions"][0].clone();
    assert_eq!((&question["person"], &question["passkey"]), (&json!(true), &json!(false)));
    let answer = json!({ "revision": question["revision"], "outcome": "passed", "note": "go on" });
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/challenge"), &answer)), "422 no_passkey");

    let mut laptop = enrol(&project, "");
    laptop.port = studio.port;
    assert_eq!(studio.get("/project").json()["passkeys"], 1);
    assert_eq!(studio.get("/inbox").json()["questions"][0]["passkey"], true);
    let listed = project.says("people passkey --list");
    assert_eq!(listed, "laptop  <time>  confirms answers here\nexit: 0\n");

    let before = studio.get(&format!("/runs/{run}/records")).json();
    let challenge = || studio.post(&format!("/runs/{run}/challenge"), &answer).json();
    let with = |change: &dyn Fn(&mut Value), passkey: Value| {
        let mut given = answer.clone();
        given["passkey"] = passkey;
        change(&mut given);
        outcome_text(&studio.post(&format!("/runs/{run}/answer"), &given))
    };
    let asked = challenge();
    assert_eq!((&asked["rpId"], &asked["credentials"]), (&json!("localhost"), &json!([text(&laptop.id)])));
    assert_eq!(asked["seconds"], 120);
    let sign = |authenticator: &Authenticator| authenticator.confirmed(&challenge()["challenge"]);
    // Neither the token alone, nor a passkey that confirmed something else, nor somebody else's.
    assert_eq!(with(&|_| {}, Value::Null), "403 needs_person");
    assert_eq!(with(&|given| given["outcome"] = json!("failed"), sign(&laptop)), "422 other_answer");
    assert_eq!(with(&|given| given["note"] = json!("go on, please"), sign(&laptop)), "422 other_answer");
    assert_eq!(with(&|given| given["set"] = json!({ "limit": 3 }), sign(&laptop)), "422 other_answer");
    assert_eq!(with(&|given| given["revision"] = json!(1), sign(&laptop)), "422 other_answer");
    let stranger = Authenticator { port: studio.port, ..Authenticator::new() };
    assert_eq!(with(&|_| {}, sign(&stranger)), "422 wrong_passkey");
    let elsewhere = Authenticator { port: 1, ..Authenticator::new() };
    assert_eq!(with(&|_| {}, sign(&elsewhere)), "422 wrong_passkey");
    assert_eq!(with(&|_| {}, json!(1)), "400 bad_request");
    assert_eq!(with(&|_| {}, json!({ "id": "x" })), "400 bad_request");

    // One that is used is used, and an answer to an earlier question is stale, whoever confirms it.
    let used = sign(&laptop);
    assert_eq!(with(&|given| given["outcome"] = json!("failed"), used.clone()), "422 other_answer");
    assert_eq!(with(&|_| {}, used), "422 unknown_challenge");
    let mut earlier = answer.clone();
    earlier["revision"] = json!(1);
    let asked = studio.post(&format!("/runs/{run}/challenge"), &earlier).json();
    earlier["passkey"] = laptop.confirmed(&asked["challenge"]);
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/answer"), &earlier)), "409 stale");
    assert_eq!(studio.get(&format!("/runs/{run}/records")).json(), before);

    // No values and none of them are the same answer.
    let passkey = sign(&laptop);
    assert_eq!(with(&|given| given["set"] = json!({}), passkey.clone()), "200");
    assert_eq!(with(&|_| {}, passkey.clone()), "422 nothing_asked");
    let records = studio.get(&format!("/runs/{run}/records")).json();
    let lines: Vec<&str> =
        records["records"].as_array().expect("records").iter().filter_map(|record| record["text"].as_str()).collect();
    let said = lines.iter().filter(|line| line.starts_with("person ada (studio, confirmed by a passkey)"));
    assert_eq!(said.count(), 1, "{lines:?}");
    assert_eq!(studio.get("/inbox").json()["questions"], json!([]));
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/challenge"), &answer)), "422 nothing_asked");
}

#[test]
fn a_page_that_enrols_does_nothing_else_and_no_other_does_that() {
    let (project, run) = asked();
    let (terminal, page) = AtTerminal::of(&project, "", "people passkey").page();
    let answer = json!({ "revision": 1, "outcome": "passed" });
    for path in [format!("/runs/{run}/answer"), format!("/runs/{run}/challenge"), format!("/runs/{run}/fork")] {
        assert_eq!(outcome_text(&page.post(&path, &answer)), "403 read_only", "{path}");
    }
    for body in [json!({}), json!({ "id": 1 }), json!([]), json!("x")] {
        assert_eq!(outcome_text(&page.post("/passkeys", &body)), "400 bad_request", "{body}");
    }
    let host = page.host();
    let headers = [("Host", &*host), ("Content-Type", "application/json")];
    assert_eq!(outcome_text(&page.with("POST", "/api/v1/passkeys/challenge", &headers, "{}")), "401 no_token");
    drop((page, terminal));

    let laptop = Authenticator::new();
    let sent = [("/passkeys/challenge", json!({})), ("/passkeys", laptop.registered(&json!("x")))];
    let studio = Studio::of(&project, &[]);
    sent.iter().for_each(|(path, body)| assert_eq!(outcome_text(&studio.post(path, body)), "403 needs_person"));
    let studio = Studio::of(&project, &["--read-only"]);
    sent.iter().for_each(|(path, body)| assert_eq!(outcome_text(&studio.post(path, body)), "403 read_only"));
    let challenge = format!("/runs/{run}/challenge");
    assert_eq!(outcome_text(&studio.post(&challenge, &answer)), "403 read_only");
    let mut command = project.command(&["studio", "--format", "json"]);
    command.env("CLAUDECODE", "1");
    let studio = Studio::started(command);
    assert_eq!(outcome_text(&studio.post(&challenge, &answer)), "403 needs_person");
    assert_eq!(studio.get("/inbox").json()["questions"][0]["passkey"], false);
}

#[test]
fn passkeys_are_enrolled_and_removed_by_whoever_knows_the_passphrase() {
    let (project, run) = asked();
    let refused = project.says("people passkey");
    assert!(refused.contains("only a person may set which passkeys confirm answers"), "{refused}");
    assert!(refused.ends_with("exit: 2\n"), "{refused}");
    assert!(AtTerminal::of(&project, "three plain words", "people passphrase").end().ends_with("exit: 0\n"));
    let mut laptop = enrol(&project, "three plain words");
    let doctor = project.says("doctor");
    assert!(doctor.contains("good  people: passkeys that confirm answers in the studio: 1"), "{doctor}");

    let told = AtTerminal::of(&project, "three plain words", "people passkey --remove phone").end();
    assert!(told.contains("error: there is no passkey `phone`"), "{told}");
    let told = AtTerminal::of(&project, "three plain words", "people passkey --remove laptop").end();
    assert!(told.contains("it no longer confirms anything") && told.ends_with("exit: 0\n"), "{told}");
    let studio = Studio::of(&project, &[]);
    laptop.port = studio.port;
    let question = studio.get("/inbox").json()["questions"][0].clone();
    let mut answer = json!({ "revision": question["revision"], "outcome": "passed" });
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/challenge"), &answer)), "422 no_passkey");
    answer["passkey"] = laptop.confirmed(&json!("x"));
    assert_eq!(outcome_text(&studio.post(&format!("/runs/{run}/answer"), &answer)), "422 unknown_challenge");

    // The last of all: after a wrong one, the right one has to wait.
    let told = AtTerminal::of(&project, "anything else", "people passkey").end();
    assert!(told.contains("error: this is not the passphrase") && told.ends_with("exit: 2\n"), "{told}");
}
