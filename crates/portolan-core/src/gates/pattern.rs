//! Names that are meant by a pattern: `release/*`, `specs/**/*.md`. `*` and `?` stay within a part of a path, `**` does
//! not; everything else is literal.

/// Whether `name` is meant by `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // All places of the pattern that may be reached are kept at once: going back would take exponential time.
    let mut places = vec![false; pattern.len() + 1];
    places[0] = true;
    skip(&pattern, &mut places);
    for &char in &name {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..pattern.len()).filter(|&at| places[at]) {
            match pattern[at] {
                '*' if is_deep(&pattern, at) || char != '/' => next[at] = true,
                '*' => {}
                '?' => next[at + 1] |= char != '/',
                literal => next[at + 1] |= literal == char,
            }
        }
        skip(&pattern, &mut next);
        places = next;
    }
    places[pattern.len()]
}

/// A star may stand for nothing, and `**/` for no folder at all.
fn skip(pattern: &[char], places: &mut [bool]) {
    for at in 0..pattern.len() {
        if places[at] && pattern[at] == '*' {
            places[at + 1] = true;
            let begins = at == 0 || pattern[at - 1] == '/';
            if begins && pattern[at..].starts_with(&['*', '*', '/']) {
                places[at + 3] = true;
            }
        }
    }
}

fn is_deep(pattern: &[char], at: usize) -> bool {
    pattern.get(at + 1) == Some(&'*') || (at > 0 && pattern[at - 1] == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stay_in_their_part_and_double_ones_do_not() {
        for (pattern, name) in [
            ("main", "main"),
            ("release/*", "release/1.0"),
            ("specs/**/*.md", "specs/a.md"),
            ("specs/**/*.md", "specs/a/b/c.md"),
            ("**", "a/b"),
            ("a?c", "abc"),
            ("v1.0+[x]", "v1.0+[x]"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("main", "main2"),
            ("release/*", "release/1/2"),
            ("specs/**/*.md", "other/a.md"),
            ("specs/**/*.md", "specs.md"),
            ("a?c", "a/c"),
            ("m.in", "main"),
            ("", "a"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }
}
