//! Patterns of names: `release/*`, `specs/**/*.md`. In paths `*` and `?` match within one component, and `**` matches
//! across components. In names of branches and tools all of them match across components. Everything else is literal.

/// Checks whether a path, or another name with components, matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    fits(pattern, name, Stars::Within)
}

/// Checks whether the name of a tool matches `pattern`, also as hosts spell it. A name has no components: a server may use
/// `/` in the names of its tools, and a guard of `mcp:db/*` must mean them all.
pub fn means(pattern: &str, tool: &str) -> bool {
    fits(pattern, tool, Stars::Across) || fits(&spelt_rule(pattern), &spelt_rule(tool), Stars::Across)
}

/// Returns the name of a server or of its tool as hosts spell it, which announce the tool `rows.purge` of `db` as
/// `mcp__db__rows_purge`: what models may not use in names of tools becomes `_`.
pub fn spelt(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Returns a rule such as `mcp:db/rows.*`, or a name in this form, with the server and the tool as hosts spell them.
pub(crate) fn spelt_rule(rule: &str) -> String {
    let stays = |c: char| matches!(c, '*' | '?' | ':');
    let char = |c: char| if stays(c) || c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let part = |text: &str| -> String { text.chars().map(char).collect() };
    match rule.split_once('/') {
        None => part(rule),
        Some((server, tool)) => format!("{}/{}", part(server), part(tool)),
    }
}

/// Checks whether a branch matches `pattern`: `release/*` matches `release/1/2` as well. Ignores case, because git
/// references do so on case-insensitive file systems.
pub fn covers(pattern: &str, branch: &str) -> bool {
    let (pattern, branch) = (pattern.to_lowercase(), branch.to_lowercase());
    if !pattern.contains(['*', '?']) {
        return pattern == branch;
    }
    fits(&pattern, &branch, Stars::Across)
}

/// What `*` and `?` match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stars {
    /// Characters within one component of a path.
    Within,
    /// Any characters.
    Across,
}

fn fits(pattern: &str, name: &str, stars: Stars) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let across = stars == Stars::Across;
    // All reachable positions of the pattern are tracked at once. Backtracking would take exponential time.
    let mut places = vec![false; pattern.len() + 1];
    let mut next = places.clone();
    places[0] = true;
    skip(&pattern, &mut places);
    for char in name.chars() {
        next.fill(false);
        for at in (0..pattern.len()).filter(|&at| places[at]) {
            match pattern[at] {
                '*' if across || is_deep(&pattern, at) || char != '/' => next[at] = true,
                '*' => {}
                '?' => next[at + 1] |= across || char != '/',
                literal => next[at + 1] |= literal == char,
            }
        }
        skip(&pattern, &mut next);
        std::mem::swap(&mut places, &mut next);
    }
    places[pattern.len()]
}

/// Adds the positions reachable without a character: `*` may match nothing, and `**/` no folder.
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
    use super::{covers, matches, means};

    #[test]
    fn a_tool_is_meant_however_a_host_spells_it() {
        for (pattern, tool) in [
            ("mcp:db/*", "mcp:db/a/b"),
            ("mcp:db/rows.purge", "mcp:db/rows_purge"),
            ("mcp:team.records/*", "mcp:team_records/drop"),
            ("mcp:a b/x/y", "mcp:a_b/x_y"),
            ("mcp__db__rows.*", "mcp__db__rows_purge"),
        ] {
            assert!(means(pattern, tool), "{pattern} {tool}");
        }
        for (pattern, tool) in
            [("mcp:db/*", "mcp:db_x/y"), ("mcp:db/rows.purge", "mcp:db/rows_purged"), ("edit", "Edit")]
        {
            assert!(!means(pattern, tool), "{pattern} {tool}");
        }
    }

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

    #[test]
    fn what_a_pattern_means_of_branches_is_never_less_than_it_means_of_paths() {
        for (pattern, branch) in [
            ("main", "Main"),
            ("release/*", "release/1/2"),
            ("release/*", "Release/1"),
            ("release/**", "release/1/2"),
            ("**/stable", "stable"),
            ("rel*", "release/1"),
            ("*", "a/b"),
        ] {
            assert!(covers(pattern, branch), "{pattern} {branch}");
        }
        for (pattern, branch) in [("main", "main/x"), ("release/*", "release"), ("release/*", "a/release/1")] {
            assert!(!covers(pattern, branch), "{pattern} {branch}");
        }
        let texts = ["", "*", "a", "a*", "*/a", "**/a", "a/**", "a/*/b", "a?b", "A", "a/b", "a/b/c", "a/c/b", "b/a"];
        for (pattern, name) in texts.iter().flat_map(|pattern| texts.map(|name| (pattern, name))) {
            assert!(covers(pattern, name) || !matches(pattern, name), "{pattern} {name}");
        }
    }
}
