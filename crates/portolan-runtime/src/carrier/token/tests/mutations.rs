//! Randomly changed texts: only the one that was given out opens, and nothing panics.

use std::collections::BTreeMap;

use super::*;

const MUTATIONS: usize = 20_000;

/// A mutation of a text, perhaps with another one.
type Way = fn(&mut fastrand::Rng, &[char], &[char]) -> Vec<char>;

const WAYS: [Way; 10] = [
    |random, text, _| changed(random, text, any_but),
    |random, text, _| changed(random, text, |_, letter| if letter == 'A' { 'B' } else { 'A' }),
    |random, text, _| {
        let mut text = text.to_vec();
        let letter = any_of(random);
        text.insert(random.usize(..=text.len()), letter);
        text
    },
    |random, text, _| {
        let (from, to) = span(random, text);
        [&text[..from], &text[to..]].concat()
    },
    |random, text, _| {
        let mut text = text.to_vec();
        let (one, other) = (random.usize(..text.len()), random.usize(..text.len()));
        text.swap(one, other);
        text
    },
    |random, text, _| text[..random.usize(..text.len())].to_vec(),
    |random, text, other| {
        let blank = [[].as_slice(), &['\n'], &['=']][random.usize(..3)];
        [text, blank, other].concat()
    },
    // The head of one and the tail of the other.
    |random, text, other| {
        let (head, tail) = (random.usize(..text.len()), random.usize(..other.len()));
        [&text[..head], &other[tail..]].concat()
    },
    |_, text, _| {
        text.iter()
            .map(|letter| match letter {
                '+' => '-',
                '/' => '_',
                other => *other,
            })
            .collect()
    },
    |random, text, _| {
        let (from, to) = span(random, text);
        [&text[..to], &text[from..]].concat()
    },
];

fn changed(random: &mut fastrand::Rng, text: &[char], to: fn(&mut fastrand::Rng, char) -> char) -> Vec<char> {
    let mut text = text.to_vec();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..text.len());
        text[at] = to(random, text[at]);
    }
    text
}

fn any_of(random: &mut fastrand::Rng) -> char {
    const OTHERS: [char; 10] = ['=', '-', '_', '.', ' ', '\n', '\u{feff}', 'é', '\0', '🗝'];
    match random.u8(..8) {
        0 => OTHERS[random.usize(..OTHERS.len())],
        1 => '/',
        2 => '+',
        _ => random.alphanumeric(),
    }
}

fn any_but(random: &mut fastrand::Rng, letter: char) -> char {
    std::iter::repeat_with(|| any_of(random)).find(|other| *other != letter).expect("there are others")
}

fn span(random: &mut fastrand::Rng, text: &[char]) -> (usize, usize) {
    let from = random.usize(..text.len());
    (from, random.usize(from + 1..=text.len()))
}

#[test]
fn no_changed_text_opens() {
    let home = Home::with(&format!("{FIRST_KEY}{SECOND_KEY}"));
    let tokens = home.tokens();
    let states = [Vec::new(), b"state".to_vec(), dense(), b"a long state ".repeat(300)];
    let originals: Vec<(Vec<char>, Claims)> =
        states.iter().map(|state| (home.seal(&claims(state)).chars().collect(), claims(state))).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for nth in 0..MUTATIONS {
        let (text, _) = &originals[random.usize(..originals.len())];
        let (other, _) = &originals[random.usize(..originals.len())];
        let mutated = WAYS[nth % WAYS.len()](&mut random, text, other);
        let original = originals.iter().find(|(text, _)| *text == mutated);
        let mutated: String = mutated.into_iter().collect();
        let outcome = match (tokens.open(&mutated), original) {
            (Ok(opened), Some((_, claims))) => {
                assert_eq!(&opened, claims);
                "as it was"
            }
            (Ok(opened), None) => panic!("{mutated} opens to {opened:?}"),
            (Err(fault), Some(_)) => panic!("{mutated} does not open: {fault}"),
            (Err(fault), None) => fault.code.as_str(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    assert_eq!(outcomes.values().sum::<usize>(), MUTATIONS);
    // Accidental changes are reported differently from deliberate ones.
    assert!(!outcomes.contains_key("not_authentic"), "{outcomes:?}");
    assert!(outcomes["damaged"] > MUTATIONS * 4 / 5, "{outcomes:?}");
}

/// Flips every bit, one at a time, and corrects the checksum: only a forger does that.
#[test]
fn no_changed_bit_opens_even_when_the_checksum_is_right() {
    let home = Home::with(FIRST_KEY);
    let bytes = text::read(&home.seal(&claims(b"state"))).expect("base64");
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for bit in 0..bytes.len() * 8 {
        let mut forged = bytes.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        let forged = with_right_trailer(&forged);
        let outcome = match home.tokens().open(&text::write(&forged).expect("it is short")) {
            Ok(opened) if forged == bytes => {
                assert_eq!(opened, claims(b"state"));
                "as it was"
            }
            Ok(opened) => panic!("bit {bit} changed opens to {opened:?}"),
            Err(fault) => fault.code.as_str(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    assert!(outcomes["not_authentic"] > 8 * 20, "{outcomes:?}");
}

/// Returns the same bytes with the correct checksum and length of the unpacked content, if they unpack.
fn with_right_trailer(bytes: &[u8]) -> Vec<u8> {
    let (head, rest) = bytes.split_at(15 + seal::SEAL_BYTES);
    let unpacked = gzip::unpack(rest);
    if unpacked.end != gzip::End::Reached || rest.len() != unpacked.taken + 8 {
        return bytes.to_vec();
    }
    let seal = Seal::from_bytes(head.last_chunk().expect("it is in the head"));
    let right = gzip::write(&seal, &rest[..unpacked.taken], &unpacked.content);
    [&head[..15], &right[15..]].concat()
}
