//! The full message of each fault.

use std::io::{Read as _, Write as _};

use expect_test::Expect;
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::*;
use crate::keys::KeyFile;

fn home() -> Home {
    Home::with(FIRST_KEY)
}

/// Returns a token whose last group of four has one `=`.
fn token() -> String {
    let text = home().seal(&claims(b"state..."));
    assert!(text.ends_with('=') && !text.ends_with("=="), "{text}");
    text
}

/// Returns the text of a token's changed bytes.
fn with_bytes(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = text::read(&token()).expect("base64");
    change(&mut bytes);
    text::write(&bytes).expect("it is short")
}

/// Returns a content that the first key signed in this layout.
fn signed(layout: u8, content: &[u8]) -> String {
    let home = home();
    let key = KeyFile::in_folder(home.0.path(), "this is a test").newest().expect("there is a key");
    let packed = gzip::pack(content).expect("it is small");
    text::write(&gzip::write(&Seal::of(&key, layout, &packed), &packed, content)).expect("it is short")
}

/// Returns a token that another program has packed again, unchanged or changed.
fn packed_anew(text: &str, builder: GzBuilder, level: Compression, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut content = Vec::new();
    let bytes = text::read(text).expect("base64");
    GzDecoder::new(&bytes[..]).read_to_end(&mut content).expect("it unpacks");
    change(&mut content);
    let mut encoder = builder.write(Vec::new(), level);
    encoder.write_all(&content).expect("memory takes everything");
    text::write(&encoder.finish().expect("memory takes everything")).expect("it is short")
}

fn refused(text: &str, told: &Expect) {
    told.assert_eq(&home().refusal(text));
}

/// Compares the messages of faults with the same help.
fn damaged(texts: &[(&str, String)], told: &Expect) {
    let message = |text: &str| {
        let fault = home().tokens().open(text).expect_err("it does not open");
        assert_eq!(fault.code, Code::Damaged, "{fault}");
        assert_eq!(fault.help, "send the token exactly as you received it: all of it, on one line, and nothing else");
        fault.message
    };
    let lines: String = texts.iter().map(|(what, text)| format!("{what}: {}\n", message(text))).collect();
    told.assert_eq(&lines);
}

#[test]
fn a_damaged_text_is_told_by_what_became_of_it() {
    let text = token();
    let end = text.len();
    let changed = |at: usize, letter: &str| format!("{}{letter}{}", &text[..at], &text[at + 1..]);
    let last = end - 2;
    damaged(
        &[
            ("nothing", String::new()),
            ("of another kind", "k3mx8q2p".to_owned()),
            ("the beginning alone", text[..7].to_owned()),
            ("the whole beginning alone", text[..9].to_owned()),
            ("without its beginning", text[9..].to_owned()),
            ("cut within a group", text[..end - 7].to_owned()),
            ("cut to one of a group", text[..end - 3].to_owned()),
            ("cut between groups", text[..end - 4].to_owned()),
            ("cut within the seal", text[..41].to_owned()),
            ("cut within the header", text[..17].to_owned()),
            ("a line break behind it", format!("{text}\n")),
            ("a blank before it", format!(" {text}")),
            ("broken over two lines", format!("{}\r\n{}", &text[..80], &text[80..])),
            ("the URL-safe alphabet", changed(60, "-")),
            ("no base64", changed(60, "é")),
            ("no padding", text[..end - 1].to_owned()),
            ("too much padding", format!("{text}=")),
            ("a last letter with bits that nothing holds", changed(last, &next(&text[last..=last]))),
            ("two in a row", format!("{text}{text}")),
            ("too long", format!("{text}{}", "A".repeat(text::MAX_CHARS))),
        ],
        &expect![[r#"
            nothing: the token is empty
            of another kind: the token does not begin with `v1.gzB64.`
            the beginning alone: the token is cut off within its prefix
            the whole beginning alone: the token ends behind `v1.gzB64.`
            without its beginning: the token does not begin with `v1.gzB64.`
            cut within a group: the token has a length that is impossible in base64: it was cut off or changed
            cut to one of a group: the token has a length that is impossible in base64: it was cut off or changed
            cut between groups: the token is cut off
            cut within the seal: the token is cut off
            cut within the header: the token is cut off
            a line break behind it: the token has a space or a line break at character 146
            a blank before it: the token has a space or a line break at character 1
            broken over two lines: the token has a space or a line break at character 81
            the URL-safe alphabet: the token has `-` at character 61, which belongs to the URL-safe alphabet: it was re-encoded
            no base64: the token has `é` at character 61, which is not base64
            no padding: the token lacks `=` at its end: it was cut off, or its padding was removed
            too much padding: the token has too many `=` at its end
            a last letter with bits that nothing holds: the token ends in a character that no token can end in: it was changed
            two in a row: the token has `=` at character 145 with more text after it: something was appended
            too long: the token has 65681 bytes, but a token has at most 65536
        "#]],
    );
}

/// Returns the base64 letter that differs in the lowest bit.
fn next(letter: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let at = ALPHABET.find(letter).expect("it is one") ^ 1;
    ALPHABET[at..=at].to_owned()
}

#[test]
fn a_damaged_member_is_told_by_what_became_of_it() {
    let flip = |at: usize| with_bytes(|bytes| bytes[at] ^= 1);
    let from_end = |back: usize| {
        with_bytes(|bytes| {
            let at = bytes.len() - back;
            bytes[at] ^= 1;
        })
    };
    let member = text::read(&token()).expect("base64");
    let anew = |builder, level| packed_anew(&token(), builder, Compression::new(level), |_| {});
    let mut short = GzBuilder::new().write(Vec::new(), Compression::default());
    short.write_all(&[1; seal::SEAL_BYTES - 1]).expect("memory takes everything");
    let short = short.finish().expect("memory takes everything");
    damaged(
        &[
            ("no gzip", text::write(b"{\"workflow\": 1}").expect("it is short")),
            ("a changed header", flip(4)),
            ("a changed seal", flip(20)),
            ("a changed claim", from_end(12)),
            ("a changed checksum", from_end(8)),
            ("a changed length", from_end(1)),
            ("a compressed part that is none", with_bytes(|bytes| bytes[36] = 0xff)),
            ("cut within its trailer", with_bytes(|bytes| bytes.truncate(bytes.len() - 3))),
            ("cut within its compressed part", with_bytes(|bytes| bytes.truncate(60))),
            ("a second member", with_bytes(|bytes| bytes.extend_from_slice(&member))),
            ("bytes behind it", with_bytes(|bytes| bytes.extend_from_slice(b"more"))),
            ("zeros behind it", with_bytes(|bytes| bytes.extend_from_slice(&[0; 512]))),
            ("packed by another program", anew(GzBuilder::new(), 9)),
            ("packed anew with the same header", anew(GzBuilder::new().operating_system(3), 6)),
            ("not compressed", anew(GzBuilder::new().operating_system(3), 0)),
            ("with a name", anew(GzBuilder::new().filename("token"), 6)),
            ("too short for a seal", text::write(&short).expect("it is short")),
            ("a bit that holds nothing", with_bytes(|bytes| bytes[36] |= 0x80)),
            ("signed, and no claims", signed(layout::PRESENT, b"no claims")),
        ],
        &expect![[r#"
            no gzip: the token does not hold a gzip member with a plain header
            a changed header: the token holds the content that was issued, but compressed differently: a program recompressed it, or it was changed
            a changed seal: the token does not have the stated checksum when unpacked: it was changed
            a changed claim: the token does not have the stated checksum when unpacked: it was changed
            a changed checksum: the token does not have the stated checksum when unpacked: it was changed
            a changed length: the token does not have the stated length when unpacked: it was changed
            a compressed part that is none: the token cannot be unpacked: it was changed
            cut within its trailer: the token is cut off
            cut within its compressed part: the token is cut off
            a second member: the token holds a second gzip member after its own
            bytes behind it: the token has 4 bytes after its gzip member
            zeros behind it: the token has 512 bytes after its gzip member
            packed by another program: the token holds the content that was issued, but compressed differently: a program recompressed it, or it was changed
            packed anew with the same header: the token holds the content that was issued, but compressed differently: a program recompressed it, or it was changed
            not compressed: the token holds the content that was issued, but compressed differently: a program recompressed it, or it was changed
            with a name: the token does not hold a gzip member with a plain header
            too short for a seal: the token is too short to hold a seal, which every token has
            a bit that holds nothing: the token holds the content that was issued, but compressed differently: a program recompressed it, or it was changed
            signed, and no claims: the token does not match layout 1
        "#]],
    );
}

#[test]
fn a_layout_that_is_not_known_is_that_of_a_newer_release() {
    refused(
        &signed(7, &layout::write(&claims(b"state"))),
        &expect![[r#"
        damaged: the token has layout 7, but this release reads layouts up to 1
        help: use the release of Portolan that made it, or a newer one"#]],
    );
}

#[test]
fn another_version_or_encoding_is_not_taken_for_damage() {
    let text = token();
    refused(
        &text.replacen("v1", "v2", 1),
        &expect![[r#"
        unsupported_version: the token has version `v2`, but this release reads `v1`
        help: use the release of Portolan that made it, or a newer one"#]],
    );
    refused(
        &text.replacen("gzB64", "zstdB64", 1),
        &expect![[r#"
        unsupported_version: the token is encoded as `zstdB64`, but this release reads `gzB64`
        help: use the release of Portolan that made it, or a newer one"#]],
    );
    damaged(
        &[
            ("no version", text.replacen("v1", "v", 1)),
            ("no number", text.replacen("v1", "v1x", 1)),
            ("no word", text.replacen("gzB64", "gz+B64", 1)),
            ("a version alone", "v2".to_owned()),
        ],
        &expect![[r#"
            no version: the token does not begin with `v1.gzB64.`
            no number: the token does not begin with `v1.gzB64.`
            no word: the token does not begin with `v1.gzB64.`
            a version alone: the token does not begin with `v1.gzB64.`
        "#]],
    );
}

#[test]
fn what_no_key_of_the_user_signed_is_not_authentic() {
    let other = Home::with(SECOND_KEY);
    refused(
        &other.seal(&claims(b"state")),
        &expect![[r#"
            not_authentic: the token is not authentic: it names key `2bfd5638`, which is not in the key file `DATA/run.keys`
            help: send a token that was issued here, or set `PORTOLAN_DATA_DIR` to the folder with the key file that it was signed with"#]],
    );
    let forged = with_bytes(|bytes| {
        let member = gzip::read(bytes).expect("a member");
        let content = layout::write(&Claims { revision: 90, ..claims(b"state...") });
        *bytes = gzip::write(&member.seal(), &gzip::pack(&content).expect("it is small"), &content);
    });
    refused(
        &forged,
        &expect![[r#"
            not_authentic: the token is not authentic: it names key `7e87f165`, which did not sign its content
            help: send a token that was issued here, or set `PORTOLAN_DATA_DIR` to the folder with the key file that it was signed with"#]],
    );
    // As a forger with the usual tools would do it.
    for at in [0, 1, 10, 30, 50] {
        let forged = packed_anew(&token(), GzBuilder::new(), Compression::default(), |content| content[at] ^= 1);
        assert_eq!(home().tokens().open(&forged).expect_err("it is forged").code, Code::NotAuthentic);
    }
    let nowhere = Home::empty();
    expect![[r#"
        not_authentic: the token is not authentic: it names key `7e87f165`, and the key file `DATA/run.keys` is missing
        help: send a token that was issued here, or set `PORTOLAN_DATA_DIR` to the folder with the key file that it was signed with"#]].assert_eq(&nowhere.refusal(&token()));
}

#[test]
fn a_token_of_something_else_says_of_what() {
    let (home, claims) = (home(), claims(b""));
    let fault = claims.check_workflow("bug-fix").expect_err("it is another");
    expect![[r#"
        workflow_mismatch: the token belongs to a run of workflow `work-package`, but the call names `bug-fix`
        help: name `work-package`, or send a token of a run of `bug-fix`"#]]
    .assert_eq(&home.fault_text(&fault));
    let fault = claims.check_definition(&Digest::of("changed"), Some("1.5.0")).expect_err("it is another");
    expect![[r#"
        definition_changed: run `k3mx8q2p` of workflow `work-package` began with version `1.4.0` (`1645114f06a8`), but the definition is now version `1.5.0` (`d67e2e944994`)
        help: restore the definition that the run began with, or start a new run"#]].assert_eq(&home.fault_text(&fault));
    let unnamed = Claims { version: None, ..claims };
    let fault = unnamed.check_definition(&Digest::of("changed"), None).expect_err("it is another");
    expect![[r#"
        definition_changed: run `k3mx8q2p` of workflow `work-package` began with `1645114f06a8`, without a version, but the definition is now `d67e2e944994`, without a version
        help: restore the definition that the run began with, or start a new run"#]].assert_eq(&home.fault_text(&fault));
}

#[test]
fn the_words_of_a_caller_are_told_on_one_line_and_cut() {
    let words = format!("a\nb{}", "c".repeat(1_000_000));
    let fault = claims(b"").check_workflow(&words).expect_err("it is another");
    assert!(fault.message.contains("`a\\nbccc") && fault.message.contains("c…`"), "{fault}");
    assert!(fault.to_string().len() < 400, "{fault}");
}

#[test]
fn what_has_no_room_in_a_token_is_not_sealed() {
    let home = home();
    let mut random = fastrand::Rng::with_seed(1);
    let dense: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(60_000).collect();
    let told = |state: &[u8]| home.fault_text(&home.tokens().seal(&claims(state)).expect_err("it is too large"));
    expect![[r#"
        too_large: the run's state needs a token of 80141 characters, but a token is limited to 65536 characters
        help: keep the run in the store and refer to it by its handle, or keep less in its state"#]]
    .assert_eq(&told(&dense));
    expect![[r#"
        too_large: the run's state needs 1048641 bytes, but a token is limited to 1048576 bytes before compression
        help: keep the run in the store and refer to it by its handle, or keep less in its state"#]]
    .assert_eq(&told(&vec![b' '; gzip::MAX_UNPACKED]));
    // The largest of both kinds open.
    let beside = layout::write(&claims(b"")).len();
    for state in [&dense[..48_000], &vec![b' '; gzip::MAX_UNPACKED - seal::SEAL_BYTES - beside]] {
        assert_eq!(home.tokens().open(&home.seal(&claims(state))), Ok(claims(state)));
    }
}

#[test]
fn unusable_keys_are_the_keys_fault_and_not_the_tokens() {
    let told = |home: &Home| {
        let made = home.fault_text(&home.tokens().seal(&claims(b"")).expect_err("there is no key"));
        assert_eq!(made, home.refusal(&token()));
        made
    };
    expect![[r#"
        keys_unusable: `DATA/run.keys` is damaged
        help: restore the key file that the runs were stored with"#]]
    .assert_eq(&told(&Home::with("notes of mine\n")));
    let home = Home::empty();
    fs::create_dir(home.file()).expect("there is room for a directory");
    expect![[r#"
        keys_unusable: `DATA/run.keys` is not a key file
        help: restore the key file that the runs were stored with"#]]
    .assert_eq(&told(&home));
}

#[cfg(unix)]
#[test]
fn keys_that_others_may_read_sign_and_open_nothing() {
    let home = home();
    let text = home.seal(&claims(b"state"));
    home.set_mode(0o644);
    let made = home.tokens().seal(&claims(b"state")).expect_err("others may read it");
    assert_eq!(home.fault_text(&made), home.refusal(&text));
    expect![[r#"
        keys_unusable: others can read the key file `DATA/run.keys`
        help: restrict its permissions with `chmod 600`"#]]
    .assert_eq(&home.fault_text(&made));
    home.set_mode(0o600);
    assert_eq!(home.tokens().open(&text), Ok(claims(b"state")));
}

/// Unpacking stops at the limit, however much content follows.
#[test]
fn a_bomb_is_unpacked_to_the_limit_and_no_further() {
    const PACKED: usize = 44 * 1024 * 1024;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
    for _ in 0..PACKED / 4096 {
        encoder.write_all(&[0; 4096]).expect("memory takes everything");
    }
    let bomb = encoder.finish().expect("memory takes everything");
    let unpacked = gzip::unpack(&bomb);
    assert_eq!(unpacked.end, gzip::End::TooMuch);
    let most = gzip::MAX_UNPACKED + gzip::STEP;
    assert!(unpacked.content.len() <= most, "{} bytes", unpacked.content.len());
    assert!(unpacked.content.capacity() <= 2 * most, "{} bytes", unpacked.content.capacity());
    assert!(unpacked.taken < bomb.len() / 20, "{} of {} bytes", unpacked.taken, bomb.len());
    let text = with_bytes(|bytes| *bytes = [&bytes[..36], &bomb, &[0; 8]].concat());
    assert!((55_000..=text::MAX_CHARS).contains(&text.len()), "{} characters", text.len());
    refused(
        &text,
        &expect![[r#"
        damaged: the token unpacks to more than 1048576 bytes, which is the limit for a token
        help: send the token exactly as you received it: all of it, on one line, and nothing else"#]],
    );
    // A text over the limit is not even decoded.
    let larger = format!("{}{}", token(), "!".repeat(259_000));
    refused(
        &larger,
        &expect![[r#"
        damaged: the token has 259145 bytes, but a token has at most 65536
        help: send the token exactly as you received it: all of it, on one line, and nothing else"#]],
    );
}

/// Memory grows with the content and is not allocated in advance.
#[test]
fn room_is_made_for_what_is_there() {
    for size in [0, 1, gzip::STEP - 1, gzip::STEP, gzip::STEP + 1, 100_000, gzip::MAX_UNPACKED - seal::SEAL_BYTES] {
        let content = vec![7; size];
        let unpacked = gzip::unpack(&gzip::pack(&content).expect("it is not too large"));
        assert_eq!((unpacked.end, unpacked.content.len()), (gzip::End::Reached, size));
        assert!(unpacked.content.capacity() <= 2 * size.max(gzip::STEP), "{size}: {}", unpacked.content.capacity());
    }
}
