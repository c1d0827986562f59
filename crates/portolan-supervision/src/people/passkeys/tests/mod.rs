//! Passkeys of an authenticator that is a key in memory. A correct response is accepted; with any one part wrong it is
//! refused.

mod enrolment;
mod keys;

use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use expect_test::expect;
use portolan_runtime::audit;
use portolan_runtime::clock::Clock;
use portolan_runtime::digest::Digest;
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::{Options, Service};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{AnswerContent, Assertion, Challenges, ConfirmedContent, DecisionContent, Registration};
use crate::people::People;

const ORIGIN: &str = "http://localhost:4711";

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An authenticator with one passkey.
struct Authenticator {
    pair: EcdsaKeyPair,
    id: Vec<u8>,
}

/// An authenticator's response before it is signed.
#[derive(Clone)]
struct Saying {
    client: Value,
    rp: &'static str,
    flags: u8,
    count: u32,
}

impl Saying {
    fn of(kind: &str, challenge: &str) -> Saying {
        let client = json!({ "type": kind, "challenge": challenge, "origin": ORIGIN, "crossOrigin": false });
        Saying { client, rp: "localhost", flags: 0x05, count: 0 }
    }

    fn authenticator_data(&self) -> Vec<u8> {
        [&Sha256::digest(self.rp)[..], &[self.flags], &self.count.to_be_bytes()].concat()
    }
}

impl Authenticator {
    fn new(id: &str) -> Authenticator {
        let chance = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &chance).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &chance).expect("a key");
        Authenticator { pair, id: id.as_bytes().to_vec() }
    }

    fn info(&self) -> Vec<u8> {
        let mut info = URL_SAFE_NO_PAD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE").expect("it is base64");
        info.pop();
        [&info, self.pair.public_key().as_ref()].concat()
    }

    fn registered(&self, challenge: &str) -> Registration {
        let saying = Saying { flags: 0x45, ..Saying::of("webauthn.create", challenge) };
        let length = u16::try_from(self.id.len()).expect("it is short").to_be_bytes();
        let data = [&saying.authenticator_data()[..], &[0; 16], &length, &self.id, b"a key in CBOR"].concat();
        Registration {
            id: text(&self.id),
            public_key: text(self.info()),
            algorithm: -7,
            authenticator_data: text(data),
            client_data: text(saying.client.to_string()),
            name: "laptop".to_owned(),
        }
    }

    fn signed(&self, saying: &Saying) -> Assertion {
        let (data, client) = (saying.authenticator_data(), saying.client.to_string());
        let message = [&data[..], &Sha256::digest(&client)[..]].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).expect("it signs");
        Assertion {
            id: text(&self.id),
            authenticator_data: text(data),
            client_data: text(client),
            signature: text(signature),
        }
    }
}

/// A person with a project, and a clock.
struct Stand {
    folder: tempfile::TempDir,
    clock: Clock,
    challenges: Challenges,
    laptop: Authenticator,
}

impl Stand {
    /// Returns a person who has enrolled a passkey.
    fn enrolled() -> Stand {
        let stand = Stand {
            folder: tempfile::tempdir().expect("a folder"),
            clock: Clock::stepping(1_700_000_000_000),
            challenges: Challenges::default(),
            laptop: Authenticator::new("laptop"),
        };
        assert_eq!(stand.enrol(|_| {}), "done");
        stand
    }

    fn service(&self, project: &str) -> Service {
        let project = self.folder.path().join(project);
        std::fs::create_dir_all(&project).expect("a project");
        let (trust, clock) = (Some(self.folder.path().join("data")), self.clock.clone());
        Service::new(Options { trust, clock, ..Options::of(project) }).expect("a service")
    }

    fn enrol(&self, change: impl FnOnce(&mut Registration)) -> String {
        let service = self.service("project");
        let begun = People::of(&service).begin_enrolment(&self.challenges).expect("begun");
        let mut given = self.laptop.registered(&begun.challenge);
        change(&mut given);
        outcome_code(People::of(&service).enrol(&self.challenges, ORIGIN, &given))
    }

    fn challenge(&self) -> String {
        let values = values();
        People::of(&self.service("project"))
            .challenge(&self.challenges, &content(&values).confirmed())
            .expect("a challenge")
    }

    fn confirm(&self, content: &AnswerContent<'_>, given: &Assertion) -> String {
        self.confirm_content(&content.confirmed(), given)
    }

    fn confirm_content(&self, content: &ConfirmedContent, given: &Assertion) -> String {
        outcome_code(People::of(&self.service("project")).confirm_by_passkey(&self.challenges, content, ORIGIN, given))
    }

    /// Returns the result of an answer whose confirmation was changed before signing.
    fn says(&self, change: impl FnOnce(&mut Saying)) -> String {
        let mut saying = Saying::of("webauthn.get", &self.challenge());
        change(&mut saying);
        self.confirm(&content(&values()), &self.laptop.signed(&saying))
    }

    /// Returns the result of an answer whose confirmation was changed after signing.
    fn sends(&self, change: impl FnOnce(&mut Assertion)) -> String {
        let mut given = self.laptop.signed(&Saying::of("webauthn.get", &self.challenge()));
        change(&mut given);
        self.confirm(&content(&values()), &given)
    }

    fn pass(&self, seconds: i64) {
        let Clock::Stepping(at) = &self.clock else { return };
        at.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("data/people/passkeys.json")
    }
}

fn outcome_code<T>(done: Result<T, ServiceError>) -> String {
    done.map_or_else(|error| error.code.to_owned(), |_| "done".to_owned())
}

fn values() -> Map<String, Value> {
    Map::from_iter([("limit".to_owned(), json!(3))])
}

fn content(values: &Map<String, Value>) -> AnswerContent<'_> {
    AnswerContent {
        run: "k7m2qx4p",
        branch: Some("left"),
        revision: 7,
        outcome: "passed",
        note: Some("go on"),
        values: Some(values),
    }
}

#[test]
fn what_is_right_confirms_once() {
    let stand = Stand::enrolled();
    let given = stand.laptop.signed(&Saying::of("webauthn.get", &stand.challenge()));
    assert_eq!(stand.confirm(&content(&values()), &given), "done");
    assert_eq!(stand.confirm(&content(&values()), &given), "unknown_challenge");
    // Fields that a browser adds are ignored.
    assert_eq!(stand.says(|saying| saying.client["other_keys_can_be_added_here"] = json!("x")), "done");
    assert_eq!(stand.says(|saying| saying.client = without(&saying.client, "crossOrigin")), "done");
}

fn without(client: &Value, name: &str) -> Value {
    let mut client = client.clone();
    client.as_object_mut().expect("an object").remove(name);
    client
}

#[test]
fn it_confirms_no_other_answer() {
    let stand = Stand::enrolled();
    let (values, other) = (values(), Map::from_iter([("limit".to_owned(), json!(4))]));
    let asked = content(&values);
    let others = [
        AnswerContent { run: "abcdefgh", ..asked },
        AnswerContent { branch: Some("right"), ..asked },
        AnswerContent { branch: None, ..asked },
        AnswerContent { revision: 8, ..asked },
        AnswerContent { outcome: "failed", ..asked },
        AnswerContent { note: Some("go on!"), ..asked },
        AnswerContent { note: None, ..asked },
        AnswerContent { note: Some(""), ..asked },
        AnswerContent { values: Some(&other), ..asked },
        AnswerContent { values: None, ..asked },
    ];
    for other in others {
        let given = stand.laptop.signed(&Saying::of("webauthn.get", &stand.challenge()));
        assert_eq!(stand.confirm(&other, &given), "other_answer", "{other:?}");
        assert_eq!(stand.confirm(&asked, &given), "unknown_challenge", "it is used up");
    }
    // A challenge for an enrolment is not valid for an answer.
    let begun = People::of(&stand.service("project")).begin_enrolment(&stand.challenges).expect("begun");
    let given = stand.laptop.signed(&Saying::of("webauthn.get", &begun.challenge));
    assert_eq!(stand.confirm(&asked, &given), "other_answer");
}

#[test]
fn a_decision_about_one_call_confirms_no_other() {
    let stand = Stand::enrolled();
    let (call, other) = (Digest::of("a call"), Digest::of("another call"));
    let asked = DecisionContent { token: "q000000000001", decision: "allow", call: &call };
    let signed = || {
        let challenge = People::of(&stand.service("project")).challenge(&stand.challenges, &asked.confirmed());
        stand.laptop.signed(&Saying::of("webauthn.get", &challenge.expect("a challenge")))
    };
    let others = [
        DecisionContent { token: "q000000000002", ..asked }.confirmed(),
        DecisionContent { decision: "refuse", ..asked }.confirmed(),
        DecisionContent { call: &other, ..asked }.confirmed(),
        content(&values()).confirmed(),
    ];
    for other in others {
        let given = signed();
        assert_eq!(stand.confirm_content(&other, &given), "other_answer", "{other:?}");
        assert_eq!(stand.confirm_content(&asked.confirmed(), &given), "unknown_challenge", "it is used up");
    }
    let given = signed();
    assert_eq!(stand.confirm_content(&asked.confirmed(), &given), "done");
    assert_eq!(stand.confirm_content(&asked.confirmed(), &given), "unknown_challenge");
}

#[test]
fn it_is_refused_with_any_one_thing_wrong() {
    let stand = Stand::enrolled();
    let client = |name: &str, value: Value| stand.says(|saying| saying.client[name] = value);
    let flags = |flags: u8| stand.says(|saying| saying.flags = flags);
    let stranger = Authenticator::new("laptop");
    let told = [
        ("type", client("type", json!("webauthn.create"))),
        ("challenge of nobody", client("challenge", json!(text([7; 32])))),
        ("no challenge", client("challenge", json!(""))),
        ("port", client("origin", json!("http://localhost:4712"))),
        ("address", client("origin", json!("http://127.0.0.1:4711"))),
        ("https", client("origin", json!("https://localhost:4711"))),
        ("page of another", client("origin", json!("http://evil.example"))),
        ("frame", client("crossOrigin", json!(true))),
        ("frame of a page", client("topOrigin", json!("http://evil.example"))),
        ("rpId", stand.says(|saying| saying.rp = "127.0.0.1")),
        ("nobody there", flags(0x04)),
        ("nobody verified", flags(0x01)),
        ("no flags", flags(0)),
        ("another flag after it was signed", {
            stand.sends(|given| {
                let mut data = URL_SAFE_NO_PAD.decode(&given.authenticator_data).expect("ours");
                data[32] |= 0x10;
                given.authenticator_data = text(data);
            })
        }),
        (
            "key",
            stand.sends(|given| {
                let saying: Value =
                    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(&given.client_data).expect("ours")).expect("JSON");
                let challenge = saying["challenge"].as_str().expect("a text");
                *given = stranger.signed(&Saying::of("webauthn.get", challenge));
            }),
        ),
        ("credential", stand.sends(|given| given.id = text("another"))),
        ("no credential", stand.sends(|given| given.id = String::new())),
    ];
    let told: Vec<String> = told.iter().map(|(what, code)| format!("{what}: {code}\n")).collect();
    expect![[r#"
        type: wrong_passkey
        challenge of nobody: unknown_challenge
        no challenge: unknown_challenge
        port: wrong_passkey
        address: wrong_passkey
        https: wrong_passkey
        page of another: wrong_passkey
        frame: wrong_passkey
        frame of a page: wrong_passkey
        rpId: wrong_passkey
        nobody there: wrong_passkey
        nobody verified: wrong_passkey
        no flags: wrong_passkey
        another flag after it was signed: wrong_passkey
        key: wrong_passkey
        credential: unknown_passkey
        no credential: unknown_passkey
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn what_is_malformed_is_refused() {
    type Field = fn(&mut Assertion) -> &mut String;
    let stand = Stand::enrolled();
    let long = "A".repeat(100_000);
    let short = text([0; 36]);
    let fields: [(&str, Field); 3] = [
        ("clientDataJSON", |given| &mut given.client_data),
        ("authenticatorData", |given| &mut given.authenticator_data),
        ("signature", |given| &mut given.signature),
    ];
    for (name, field) in fields {
        for wrong in ["", "=", "A", "not base64!", "AA==", "\u{1F511}", &long, &short, &text("{}"), &text("[")] {
            let code = stand.sends(|given| *field(given) = wrong.to_owned());
            assert!(["bad_passkey", "wrong_passkey"].contains(&&*code), "{name}: {wrong:.20}: {code}");
        }
    }
    for wrong in [&*long, "\0", "=", "../../x"] {
        assert_eq!(stand.sends(|given| given.id = wrong.to_owned()), "unknown_passkey");
    }
    let twice = r#"{"type":"webauthn.get","type":"webauthn.get","challenge":"x","origin":"x"}"#;
    assert_eq!(stand.sends(|given| given.client_data = text(twice)), "bad_passkey");
    // Each byte of the signature, changed in turn.
    let given = stand.laptop.signed(&Saying::of("webauthn.get", &stand.challenge()));
    for at in 0..URL_SAFE_NO_PAD.decode(&given.signature).expect("ours").len() {
        let code = stand.sends(|given| {
            let mut signature = URL_SAFE_NO_PAD.decode(&given.signature).expect("ours");
            let at = at.min(signature.len() - 1);
            signature[at] ^= 0x55;
            given.signature = text(signature);
        });
        assert_eq!(code, "wrong_passkey", "{at}");
    }
}

#[test]
fn a_challenge_is_good_for_two_minutes_and_few_wait() {
    let stand = Stand::enrolled();
    assert_eq!(stand.says(|_| stand.pass(110)), "done");
    assert_eq!(stand.says(|_| stand.pass(130)), "challenge_expired");
    assert_eq!(stand.says(|_| stand.pass(-10)), "challenge_expired", "a clock that was put back");
    stand.pass(300);
    let first = stand.challenge();
    (0..30).for_each(|_| drop(stand.challenge()));
    let given = stand.laptop.signed(&Saying::of("webauthn.get", &first));
    assert_eq!(stand.confirm(&content(&values()), &given), "done");
    stand.pass(300);
    let Clock::Stepping(at) = &stand.clock else { return };
    let now = at.load(Ordering::Relaxed);
    let first = stand.challenge();
    (0..64).for_each(|_| drop(stand.challenge()));
    at.store(now, Ordering::Relaxed);
    let given = stand.laptop.signed(&Saying::of("webauthn.get", &first));
    assert_eq!(stand.confirm(&content(&values()), &given), "unknown_challenge", "it gave way");
}

#[test]
fn a_count_that_goes_back_is_a_copy() {
    let stand = Stand::enrolled();
    let counted: Vec<String> =
        [0, 5, 6, 6, 5, 0, 7].iter().map(|count| stand.says(|saying| saying.count = *count)).collect();
    let wrong = "wrong_passkey";
    assert_eq!(counted, ["done", "done", "done", wrong, wrong, wrong, "done"]);
}

#[test]
fn only_what_the_log_names_confirms() {
    let stand = Stand::enrolled();
    let path = stand.file();
    let own = std::fs::read_to_string(&path).expect("a file");
    // Another key in place of the person's.
    let forged = Authenticator::new("laptop");
    std::fs::write(&path, own.replace(&text(stand.laptop.info()), &text(forged.info()))).expect("ours");
    let given = forged.signed(&Saying::of("webauthn.get", &stand.challenge()));
    assert_eq!(stand.confirm(&content(&values()), &given), "passkey_unnamed");
    let seen = People::of(&stand.service("project")).passkeys().expect("told");
    assert_eq!((seen.missing, seen.kept[0].is_named), (1, false));
    assert_eq!(People::of(&stand.service("project")).credentials().expect("told"), Vec::<String>::new());
    for broken in ["", "{", "[]", "{\"passkeys\": 1}"] {
        std::fs::write(&path, broken).expect("ours");
        assert_eq!(stand.says(|_| {}), "passkeys_unreadable", "{broken}");
    }
    std::fs::write(&path, "{\"user\":null,\"passkeys\":[]}").expect("ours");
    assert_eq!(stand.says(|_| {}), "unknown_passkey");
    std::fs::write(&path, own).expect("ours");
    assert_eq!(stand.says(|_| {}), "done");
    // The person's other project does not use it until they say so.
    let other = stand.service("other");
    let confirm = || {
        let (values, people) = (values(), People::of(&other));
        let challenge = people.challenge(&stand.challenges, &content(&values).confirmed()).expect("a challenge");
        let given = stand.laptop.signed(&Saying::of("webauthn.get", &challenge));
        outcome_code(people.confirm_by_passkey(&stand.challenges, &content(&values).confirmed(), ORIGIN, &given))
    };
    assert_eq!(confirm(), "passkey_unnamed");
    assert_eq!(outcome_code(People::of(&other).adopt_passkey("phone")), "unknown_passkey");
    assert_eq!(outcome_code(People::of(&other).adopt_passkey("laptop")), "done");
    assert_eq!(confirm(), "done");
    // A removed passkey counts in no project.
    assert_eq!(outcome_code(People::of(&stand.service("project")).remove_passkey("laptop")), "done");
    assert_eq!((stand.says(|_| {}), confirm()), ("unknown_passkey".to_owned(), "unknown_passkey".to_owned()));
    let log = std::fs::read_to_string(audit::project_log(&stand.folder.path().join("project"))).expect("a log");
    assert!(log.contains("\"value\":\"none\""), "{log}");
}

#[test]
fn nothing_is_confirmed_where_the_passphrase_was_changed() {
    let stand = Stand::enrolled();
    let service = stand.service("project");
    People::of(&service).set_passphrase("three plain words").expect("set");
    assert_eq!(stand.says(|_| {}), "done");
    std::fs::remove_file(People::of(&service).file().expect("a place")).expect("ours");
    assert_eq!(stand.says(|_| {}), "passphrase_tampered");
}
