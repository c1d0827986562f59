//! Patterns for paths: `*` and `?` within a name, `[…]` for one character of a set, `**` for any folders.

/// A pattern, split into names.
pub(super) struct Glob {
    names: Vec<Vec<char>>,
}

/// The longest pattern that is accepted, in characters.
const MAX_CHARS: usize = 1_000;

impl Glob {
    /// Parses a pattern. The error says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Glob, String> {
        if pattern.chars().nth(MAX_CHARS).is_some() {
            return Err(format!("a pattern has at most {MAX_CHARS} characters"));
        }
        let names = pattern.trim_start_matches("./").split('/').map(|name| name.chars().collect()).collect();
        Ok(Glob { names })
    }

    /// Checks whether the pattern matches the whole path, given as its names.
    pub(super) fn fits(&self, path: &[&str]) -> bool {
        // Row by row, so that the time is at most the product of both lengths.
        let mut fits = vec![false; path.len() + 1];
        fits[0] = true;
        for pattern in &self.names {
            let any_folders = pattern.as_slice() == ['*', '*'];
            let mut next = vec![false; path.len() + 1];
            for at in 0..=path.len() {
                next[at] = if any_folders {
                    fits[at] || (at > 0 && next[at - 1])
                } else {
                    at > 0 && fits[at - 1] && name_fits(pattern, path[at - 1])
                };
            }
            fits = next;
        }
        fits[path.len()]
    }
}

/// Checks whether a pattern without slashes matches a name. After a mismatch, only the last `*` has to match more.
fn name_fits(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        let one = name.get(n).and_then(|char| one_fits(&pattern[p..], *char));
        match (one, star) {
            (Some(taken), _) => {
                p += taken;
                n += 1;
            }
            (None, _) if p == pattern.len() && n == name.len() => return true,
            (None, Some((after, from))) if from < name.len() => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// Returns the length of the beginning of `pattern` that matches this one character, if it does.
fn one_fits(pattern: &[char], char: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match set(pattern) {
            Some((length, members, negated)) => (members.contains(char) != negated).then_some(length),
            None => (char == '[').then_some(1),
        },
        literal => (*literal == char).then_some(1),
    }
}

struct Members<'a>(&'a [char]);

impl Members<'_> {
    fn contains(&self, char: char) -> bool {
        let mut rest = self.0;
        loop {
            match rest {
                [from, '-', to, after @ ..] => {
                    if (*from..=*to).contains(&char) {
                        return true;
                    }
                    rest = after;
                }
                [one, after @ ..] => {
                    if *one == char {
                        return true;
                    }
                    rest = after;
                }
                [] => return false,
            }
        }
    }
}

/// Parses the set at the beginning of `pattern`: its length, its members, and whether it is negated.
fn set(pattern: &[char]) -> Option<(usize, Members<'_>, bool)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    // A bracket in first position is a member.
    let end = pattern.iter().skip(start + 1).position(|char| *char == ']')? + start + 1;
    Some((end + 1, Members(&pattern[start..end]), negated))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Glob::new(pattern).expect("a pattern").fits(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn patterns_fit_whole_paths() {
        for (pattern, fitting, others) in [
            ("*.rs", &["a.rs", ".rs", ".hidden.rs"][..], &["a.rsx", "b/a.rs", "rs"][..]),
            ("**/*.rs", &["a.rs", "b/a.rs", "b/c/a.rs"], &["a.txt", "a.rs/b"]),
            ("src/**", &["src", "src/a", "src/a/b"], &["srcs/a", "a/src"]),
            ("**", &["a", "a/b"], &[]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a", "a/x", "b"]),
            ("?at", &["cat", "éat"], &["at", "chat"]),
            ("[a-c]x[!0-9]", &["axb", "cx-"], &["dxb", "ax1"]),
            ("[]]", &["]"], &["["]),
            ("[", &["["], &["]"]),
            ("a*b*c", &["abc", "aXbXc", "abbc"], &["ab", "acb"]),
            ("*", &["", "a"], &["a/b"]),
            ("./a", &["a"], &[]),
        ] {
            for path in fitting {
                assert!(fits(pattern, path), "{pattern} should fit {path}");
            }
            for path in others {
                assert!(!fits(pattern, path), "{pattern} should not fit {path}");
            }
        }
    }

    #[test]
    fn no_pattern_takes_for_ever() {
        assert!(!fits(&"*a".repeat(400), &"a".repeat(399)));
        assert!(!fits(&format!("{}b", "**/a/".repeat(150)), &"a/".repeat(2_000)));
        assert!(Glob::new(&"a".repeat(MAX_CHARS + 1)).is_err());
    }
}
