//! Tokens that were given out remain valid.

use super::*;

/// A token of layout 1, signed with the first key. It is never changed: such tokens are in use.
const LAYOUT_1: &str = "v1.gzB64.H4sIAAAAAAAAAwAVAOr/AX6H8WUAHoEx29R0FYSlsx3cm23/AT4Awf8WRRFPBqhIeqQSsDbGxTVcazNteDhxMnBZDHdvcmstcGFja2FnZQYxLjQuMGZyb3plbiBpbiBsYXlvdXQgMfl4llZTAAAA";

/// A token whose state was worth compressing.
const LAYOUT_1_COMPRESSED: &str = "v1.gzB64.H4sIAAAAAAAAAwAVAOr/AX6H8WWxe2f8ClSyt4yXafSOAvVHzcchDoAgFABQZzBZNJi5gEWn8wJuNi9g+XPI3J+AFB3nIRAIXALOxTWIr1ubvbKbNq2fY5gOHJ9/eQfpyvoTCnsJJwKjxaWEppwAg5uTzJAA/F0iBtkAAAA=";

fn frozen() -> [(&'static str, Claims); 2] {
    let compressed = Claims { version: None, revision: 300, ..claims(&b"frozen again ".repeat(12)) };
    [(LAYOUT_1, claims(b"frozen in layout 1")), (LAYOUT_1_COMPRESSED, compressed)]
}

#[test]
fn tokens_of_layout_1_open() {
    for (text, claims) in frozen() {
        assert_eq!(Home::with(FIRST_KEY).tokens().open(text), Ok(claims));
    }
}

/// Tokens with another compression open as well, but the text would change between two releases.
#[test]
fn the_compression_of_this_release_is_that_of_the_first() {
    for (text, claims) in frozen() {
        assert_eq!(Home::with(FIRST_KEY).seal(&claims), text);
    }
}

#[test]
fn the_layouts_that_are_known_are_those_that_were_given_out() {
    let content = layout::write(&claims(b"state"));
    let known: Vec<u8> = (0..=u8::MAX).filter(|number| layout::read(*number, &content).is_ok()).collect();
    assert_eq!(known, [1]);
    assert_eq!(layout::PRESENT, 1);
}

/// The bytes of every part, as `docs/token.md` specifies them.
#[test]
fn the_form_is_as_it_is_written_down() {
    let bytes = text::read(LAYOUT_1).expect("base64");
    let member = gzip::read(&bytes).expect("a member");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let packed = member.packed.expect("our own packing");
    let content = member.content();
    let told = [
        ("header", hex(&bytes[..10])),
        ("stored block", hex(&bytes[10..15])),
        ("layout", hex(&bytes[15..16])),
        ("key", hex(&bytes[16..20])),
        ("signature", hex(&bytes[20..36])),
        ("trailer", hex(&bytes[36 + packed.len()..])),
        ("definition", hex(&content[..16])),
        ("run", content[16..24].escape_ascii().to_string()),
        ("the rest", content[24..].escape_ascii().to_string()),
    ];
    let told: String = told.iter().map(|(part, bytes)| format!("{part}: {bytes}\n")).collect();
    expect![[r#"
        header: 1f8b0800000000000003
        stored block: 001500eaff
        layout: 01
        key: 7e87f165
        signature: 001e8131dbd4741584a5b31ddc9b6dff
        trailer: f978965653000000
        definition: 1645114f06a8487aa412b036c6c5355c
        run: k3mx8q2p
        the rest: Y\x0cwork-package\x061.4.0frozen in layout 1
    "#]]
    .assert_eq(&told);
}
