//! Patterns for paths: `*` and `?` match within a name, `**` matches any folders.

/// Checks whether a pattern matches a whole path, in time proportional to the product of their lengths.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let mut fits = vec![false; names.len() + 1];
    fits[0] = true;
    for part in pattern.trim_start_matches("./").split('/') {
        let mut next = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            next[at] = match part {
                "**" => fits[at] || (at > 0 && next[at - 1]),
                _ => at > 0 && fits[at - 1] && name_fits(part, names[at - 1]),
            };
        }
        fits = next;
    }
    fits[names.len()]
}

/// Returns how specific a pattern is. If two patterns match, the more specific one counts.
pub(super) fn weight(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?' | '/')).count()
}

/// Checks whether a pattern without slashes matches a name.
fn name_fits(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    for c in pattern.chars() {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            next[at] = match c {
                '*' => fits[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && fits[at - 1],
                c => at > 0 && fits[at - 1] && name[at - 1] == c,
            };
        }
        fits = next;
    }
    fits[name.len()]
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_paths() {
        for (pattern, path) in [
            ("src/**", "src/a/b.rs"),
            ("**/*.rs", "a.rs"),
            ("**/*.rs", "x/y/a.rs"),
            ("a/**/z", "a/z"),
            (".github/workflows/*.yml", ".github/workflows/ci.yml"),
            ("?.md", "é.md"),
            ("**", "anything/at/all"),
        ] {
            assert!(fits(pattern, path), "{pattern} fits {path}");
        }
        for (pattern, path) in
            [("src/*", "src/a/b.rs"), ("src/**", "srcs/a"), ("*.rs", "a/b.rs"), ("a", "ab"), ("", "a")]
        {
            assert!(!fits(pattern, path), "{pattern} does not fit {path}");
        }
    }
}
