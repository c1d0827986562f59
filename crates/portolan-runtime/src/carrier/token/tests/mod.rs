//! Tokens as text: claims are restored, keys count, and lengths are bounded.

mod faults;
mod frozen;
mod mutations;

use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::digest::Digest;
use crate::store::RunId;

/// Fixed keys, so that whole texts are fixed.
const FIRST_KEY: &str = "7e87f1655f7d7984 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
const SECOND_KEY: &str = "2bfd563886883140 202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\n";

struct Home(TempDir);

impl Home {
    fn empty() -> Home {
        Home(TempDir::new().expect("there is room for a directory"))
    }

    /// Returns a data folder with these lines as its keys.
    fn with(lines: &str) -> Home {
        let home = Home::empty();
        home.write(lines);
        home
    }

    fn write(&self, lines: &str) {
        fs::write(self.file(), lines).expect("it is ours");
        self.set_mode(0o600);
    }

    #[cfg(unix)]
    fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.file(), std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("it is ours");
    }

    #[cfg(not(unix))]
    fn set_mode(&self, _mode: u32) {}

    fn file(&self) -> PathBuf {
        self.0.path().join("run.keys")
    }

    fn tokens(&self) -> Tokens {
        Tokens::in_folder(self.0.path())
    }

    fn seal(&self, claims: &Claims) -> String {
        self.tokens().seal(claims).expect("it is sealed")
    }

    /// Returns the reason why a text does not open, as a person sees it.
    fn refusal(&self, text: &str) -> String {
        self.fault_text(&self.tokens().open(text).expect_err("it does not open"))
    }

    fn fault_text(&self, fault: &TokenFault) -> String {
        let folder = self.0.path().display().to_string();
        format!("{}: {}\nhelp: {}", fault.code.as_str(), fault.message, fault.help).replace(&folder, "DATA")
    }
}

fn claims(state: &[u8]) -> Claims {
    Claims {
        workflow: "work-package".to_owned(),
        version: Some("1.4.0".to_owned()),
        definition: Fingerprint::of(&Digest::of("the definition")),
        run: RunId::parse("k3mx8q2p").expect("a handle"),
        revision: 89,
        state: state.to_vec(),
    }
}

/// Returns sixty bytes that do not compress.
fn dense() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(60);
    std::iter::repeat_with(|| random.u8(..)).take(60).collect()
}

#[test]
fn a_token_of_usual_ids_and_sixty_bytes_has_at_most_256_characters() {
    let text = Home::with(FIRST_KEY).seal(&claims(&dense()));
    expect!["213"].assert_eq(&text.len().to_string());
    assert!(text.len() <= 256, "{}", text.len());
    let long = Claims { workflow: "w".repeat(32), version: Some("2026.11.22".to_owned()), ..claims(&dense()) };
    let text = Home::with(FIRST_KEY).seal(&Claims { revision: 1_000_000, ..long });
    assert!(text.len() <= 256, "{}", text.len());
}

#[test]
fn the_same_claims_and_key_give_the_same_text() {
    let (here, there) = (Home::with(FIRST_KEY), Home::with(FIRST_KEY));
    let text = here.seal(&claims(b"state"));
    assert_eq!(text, there.seal(&claims(b"state")));
    assert_eq!(text, here.seal(&here.tokens().open(&text).expect("it opens")));
    assert_ne!(text, Home::with(SECOND_KEY).seal(&claims(b"state")));
}

#[test]
fn what_was_sealed_before_leaves_no_trace() {
    let home = Home::with(FIRST_KEY);
    let tokens = home.tokens();
    let seal = |claims: &Claims| tokens.seal(claims).expect("it is sealed");
    let (one, other) = (claims(b"one"), claims(b"another"));
    let texts = [seal(&one), seal(&one), seal(&other), seal(&one)];
    let alone = |claims: &Claims| Home::with(FIRST_KEY).seal(claims);
    assert_eq!(texts, [alone(&one), alone(&one), alone(&other), alone(&one)]);
}

#[test]
fn each_claim_is_signed() {
    let home = Home::with(FIRST_KEY);
    let base = claims(b"state");
    let others = [
        Claims { workflow: "other".to_owned(), ..base.clone() },
        Claims { version: None, ..base.clone() },
        Claims { version: Some(String::new()), ..base.clone() },
        Claims { definition: Fingerprint::of(&Digest::of("another")), ..base.clone() },
        Claims { run: RunId::parse("k3mx8q2q").expect("a handle"), ..base.clone() },
        Claims { revision: 90, ..base.clone() },
        Claims { state: b"State".to_vec(), ..base.clone() },
    ];
    let seal_of = |claims: &Claims| {
        let bytes = text::read(&home.seal(claims)).expect("base64");
        gzip::read(&bytes).expect("a member").seal()
    };
    for other in &others {
        assert_ne!(seal_of(&base), seal_of(other), "{other:?}");
        assert_eq!(home.tokens().open(&home.seal(other)).as_ref(), Ok(other));
    }
}

#[test]
fn the_first_token_makes_the_keys_and_opening_makes_nothing() {
    let home = Home::empty();
    let text = Home::with(FIRST_KEY).seal(&claims(b"state"));
    home.refusal(&text);
    assert!(!home.file().exists());
    let text = home.seal(&claims(b"state"));
    assert!(home.file().exists());
    assert_eq!(home.tokens().open(&text), Ok(claims(b"state")));
}

#[test]
fn the_newest_key_signs_and_the_older_ones_still_open_until_they_are_taken_out() {
    let home = Home::with(FIRST_KEY);
    let tokens = home.tokens();
    let old = tokens.seal(&claims(b"state")).expect("it is sealed");
    home.write(&format!("{FIRST_KEY}{SECOND_KEY}"));
    let new = tokens.seal(&claims(b"state")).expect("it is sealed");
    assert_eq!(new, Home::with(SECOND_KEY).seal(&claims(b"state")));
    for text in [&old, &new] {
        assert_eq!(tokens.open(text), Ok(claims(b"state")));
    }
    home.write(SECOND_KEY);
    assert_eq!(tokens.open(&new), Ok(claims(b"state")));
    assert_eq!(tokens.open(&old).expect_err("its key is gone").code, Code::NotAuthentic);
}

/// Runs the commands of the page as they are.
#[cfg(unix)]
#[test]
fn a_key_that_is_added_as_the_page_says_signs_from_then_on() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/token.md");
    let page = fs::read_to_string(page).expect("the page");
    let commands = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let home = Home::with(FIRST_KEY);
    let old = home.seal(&claims(b"state"));
    let sh = std::process::Command::new("sh")
        .args(["-e", "-c", commands])
        .env("PORTOLAN_DATA_DIR", home.0.path())
        .output()
        .expect("a shell");
    assert!(sh.status.success(), "{}", String::from_utf8_lossy(&sh.stderr));
    let new = home.seal(&claims(b"state"));
    assert_ne!(new, old);
    for text in [old, new] {
        assert_eq!(home.tokens().open(&text), Ok(claims(b"state")));
    }
}

#[test]
fn the_checks_of_a_caller_pass_what_fits() {
    let claims = claims(b"");
    assert_eq!(claims.check_workflow("work-package"), Ok(()));
    // The digest decides: a version is only a name.
    assert_eq!(claims.check_definition(&Digest::of("the definition"), Some("9")), Ok(()));
}

#[test]
fn a_fingerprint_is_the_first_half_of_the_digest() {
    let digest = Digest::of("");
    assert_eq!(Fingerprint::of(&digest).to_string(), digest.as_str()[..32]);
    let odd = |text: &str| Fingerprint::of(&Digest::stored(text));
    assert_ne!(odd("no digest"), odd("no digest either"));
    assert_eq!(odd(""), odd(""));
}

fn any_claims() -> impl Strategy<Value = Claims> {
    let names = (any::<String>(), any::<Option<String>>(), "[2-9a-hj-km-np-z]{8}");
    let numbers =
        (any::<[u8; 16]>(), prop_oneof![any::<u64>(), 0..300_u64], prop::collection::vec(any::<u8>(), 0..3000));
    (names, numbers).prop_map(|((workflow, version, run), (definition, revision, state))| Claims {
        workflow,
        version,
        definition: Fingerprint(definition),
        run: RunId::parse(&run).expect("letters of handles"),
        revision,
        state,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_claims_come_back_and_give_the_same_text_again(claims in any_claims()) {
        let home = Home::with(FIRST_KEY);
        let text = home.seal(&claims);
        let opened = home.tokens().open(&text).expect("it opens");
        prop_assert_eq!(&opened, &claims);
        prop_assert_eq!(home.seal(&opened), text);
    }

    #[test]
    fn what_is_read_is_what_would_be_written(claims in any_claims(), at in 0..60_usize, bytes in any::<[u8; 2]>()) {
        // Only a content that a key of the user signed is read at all.
        let mut content = layout::write(&claims);
        content.splice(at.min(content.len())..(at + 1).min(content.len()), bytes);
        if let Ok(claims) = layout::read(layout::PRESENT, &content) {
            prop_assert_eq!(layout::write(&claims), content);
        }
    }
}

#[test]
fn a_number_that_could_be_shorter_or_is_too_large_is_refused() {
    let content = layout::write(&claims(b"state"));
    let with_revision = |number: &[u8]| {
        let content = [&content[..24], number, &content[25..]].concat();
        layout::read(layout::PRESENT, &content).map(|claims| claims.revision).ok()
    };
    let most = [&[0xff; 9][..], &[1]].concat();
    let over = [&[0xff; 9][..], &[2]].concat();
    assert_eq!([&[0][..], &[0x59], &[0xac, 2], &most].map(with_revision), [0, 89, 300, u64::MAX].map(Some));
    assert_eq!([&[0x80, 0][..], &[0xd9, 0x80, 0], &over, &[0x80; 11]].map(with_revision), [None; 4]);
}
