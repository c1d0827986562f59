//! The files that configure the gates. A coding agent that can write them can remove the gates.

/// The protected paths, in any folder of a project, because hosts also read settings in subfolders. A pattern that ends
/// in `/**` is a folder with all its contents; one that ends in `*` is all files whose names have that prefix.
pub const PROTECTED: [&str; 19] = [
    ".claude/settings*",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".cursor/hooks.json",
    ".gemini/**",
    ".github/hooks/**",
    ".opencode/plugin/**",
    ".opencode/plugins/**",
    ".git/**",
    ".portolan/**",
    ".vscode/settings.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    ".mcp.json",
    // A person's settings for all projects.
    ".claude.json",
    ".gitconfig",
    ".config/git/**",
    ".config/opencode/**",
    ".local/share/portolan/**",
];

/// The paths beneath protected folders that agents may write, because they are content of the project.
pub const OPEN: [&str; 3] = [".portolan/issues/**", ".portolan/specs/**", ".portolan/reviews/**"];

/// Checks whether a path, relative to the project, is one that only a person may write.
///
/// Ignores case, as the file systems of macOS and Windows do. Otherwise a path in another spelling would be allowed
/// here and open a protected file there.
///
/// ```
/// use portolan_gates::is_protected;
/// assert!(is_protected("./.Claude/settings.local.json"));
/// assert!(!is_protected(".portolan/issues/42.md"));
/// ```
pub fn is_protected(relative: &str) -> bool {
    let parts = parts(relative);
    places(&parts).any(|place| {
        PROTECTED.iter().any(|pattern| covers(pattern, place)) && !OPEN.iter().any(|pattern| covers(pattern, place))
    })
}

/// Checks whether a folder, relative to the project, contains protected files, which moving or deleting it would
/// affect.
pub fn holds_protected(relative: &str) -> bool {
    let parts = parts(relative);
    places(&parts).any(|place| {
        PROTECTED.iter().any(|pattern| {
            let pattern: Vec<&str> = pattern.split('/').collect();
            pattern.len() > place.len() && place.iter().zip(&pattern).all(|(part, expected)| part == expected)
        })
    })
}

/// Checks whether a shell pattern, relative to the project, may match a path that only a person may write. A name that
/// begins with `.` matches only a pattern that begins with `.`. `takes` also counts folders that contain such paths.
///
/// ```
/// use portolan_gates::may_be_protected;
/// assert!(may_be_protected(".claude/*.json", false));
/// assert!(may_be_protected(".[a-z]*", true));
/// assert!(!may_be_protected("*", true));
/// ```
pub fn may_be_protected(pattern: &str, takes: bool) -> bool {
    let pattern = pattern.to_lowercase();
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (0..parts.len()).map(|from| &parts[from..]).any(|place| {
        let open = OPEN.iter().any(|open| {
            let folder = open.trim_end_matches("/**").split('/');
            place.len() > folder.clone().count() && folder.zip(place).all(|(name, part)| name == *part)
        });
        !open && PROTECTED.iter().any(|expected| may_cover(expected, place, takes))
    })
}

fn may_cover(expected: &str, place: &[&str], takes: bool) -> bool {
    // Sample names for a pattern that ends in `*`.
    const SAMPLES: [&str; 2] = ["settings.json", "settings.local.json"];
    let expected: Vec<&str> = expected.split('/').collect();
    let Some((last, folders)) = expected.split_last() else { return false };
    let fits = folders.iter().zip(place).all(|(name, part)| part_matches(part, name));
    if place.len() < folders.len() || (place.len() == folders.len() && *last != "**") {
        return takes && fits;
    }
    match (*last, &place[folders.len()..]) {
        ("**", _) => fits,
        (name, [part]) if name.ends_with('*') => fits && SAMPLES.iter().any(|sample| part_matches(part, sample)),
        (name, [part]) => fits && part_matches(part, name),
        _ => false,
    }
}

/// Checks whether one component of a pattern may match a name. A bracket class matches any character.
pub(super) fn part_matches(part: &str, name: &str) -> bool {
    if name.starts_with('.') && !part.trim_start_matches('\\').starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    let mut places = vec![false; name.len() + 1];
    places[0] = true;
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        let mut next = vec![false; name.len() + 1];
        let literal = match character {
            '*' => {
                let first = places.iter().position(|reached| *reached).unwrap_or(places.len());
                next[first..].fill(true);
                places = next;
                continue;
            }
            '?' => None,
            '[' => {
                characters = behind_class(characters.as_str()).chars();
                None
            }
            '\\' => characters.next(),
            other => Some(other),
        };
        for at in 0..name.len() {
            next[at + 1] = places[at] && literal.is_none_or(|literal| literal == name[at]);
        }
        places = next;
    }
    places[name.len()]
}

/// Returns the text after a bracket class whose content begins with `rest`. A class such as `[:lower:]` has brackets of
/// its own, and a leading `]` is literal.
fn behind_class(rest: &str) -> &str {
    let mut at = rest.chars().take_while(|char| matches!(char, '!' | '^')).count();
    at += usize::from(rest[at..].starts_with(']'));
    while let Some(inner) = rest.get(at..).filter(|inner| !inner.is_empty()) {
        if let Some(rest) = inner.strip_prefix(']') {
            return rest;
        }
        let named = ["[:", "[.", "[="].iter().find(|open| inner.starts_with(**open));
        let close = named.and_then(|open| inner[2..].find(&format!("{}]", &open[1..])).map(|end| end + 4));
        at += close.unwrap_or_else(|| inner.chars().next().map_or(1, char::len_utf8));
    }
    ""
}

/// Splits a path into lower-case components, with `.` and `..` resolved.
fn parts(relative: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in relative.split(['/', '\\']) {
        // Windows opens `settings.json.` and `settings.json ` as `settings.json`.
        let name = if part == "." || part == ".." { part } else { part.trim_end_matches(['.', ' ']) };
        match name {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name.to_lowercase()),
        }
    }
    parts
}

/// Returns the path relative to each folder that it goes through.
fn places(parts: &[String]) -> impl Iterator<Item = &[String]> {
    (0..parts.len()).map(|from| &parts[from..])
}

fn covers(pattern: &str, place: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let Some((last, folders)) = pattern.split_last() else { return false };
    if !(place.len() >= folders.len() && folders.iter().zip(place).all(|(folder, part)| folder == part)) {
        return false;
    }
    let rest = &place[folders.len()..];
    match (last.strip_suffix('*'), rest) {
        // The folder itself is covered: `.git` is a file in a linked worktree.
        (Some("*"), _) => true,
        (Some(beginning), [name]) => name.starts_with(beginning),
        (None, [name]) => name == last,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_the_gates_is_protected_however_it_is_spelt() {
        for path in [
            ".claude/settings.json",
            ".claude/settings.local.json",
            "./.claude//settings.json",
            "src/../.claude/settings.json",
            ".claude/x/../settings.json",
            ".CLAUDE/Settings.JSON",
            ".claude\\settings.json",
            ".claude/settings.json.",
            "packages/web/.claude/settings.json",
            ".codex/hooks.json",
            ".codex/config.toml",
            ".cursor/hooks.json",
            ".github/hooks/portolan.json",
            ".gemini/settings.json",
            ".opencode/plugins/portolan.js",
            ".opencode/plugin/mine.ts",
            ".git",
            ".git/config",
            ".git/refs/heads/main",
            "vendor/lib/.git/hooks/pre-commit",
            ".portolan",
            ".portolan/guidelines.yaml",
            ".portolan/installed.json",
            ".portolan/runs/1/state.json",
            ".portolan/issues/../guidelines.yaml",
            ".vscode/settings.json",
            ".mcp.json",
            "/home/me/.gitconfig",
            "/home/me/.config/git/config",
            "/home/me/.claude.json",
            "/home/me/.local/share/portolan/people",
        ] {
            assert!(is_protected(path), "{path}");
        }
    }

    #[test]
    fn what_agents_work_on_is_open() {
        for path in [
            "",
            ".",
            "src/main.rs",
            ".claude/skills/x/SKILL.md",
            ".claude/agents/settings.md",
            ".github/workflows/ci.yml",
            ".gitignore",
            ".gitattributes",
            ".portolan/issues/42.md",
            ".portolan/specs/login.md",
            ".portolan/reviews/7.md",
            ".codex/notes.md",
            "docs/claude/settings.json",
            "hooks.json",
        ] {
            assert!(!is_protected(path), "{path}");
        }
    }

    #[test]
    fn a_folder_with_protected_files_in_it_is_known() {
        for path in [".claude", ".codex/", ".github", ".github/hooks", ".opencode", "web/.cursor", ".git"] {
            assert!(holds_protected(path), "{path}");
        }
        for path in ["", "src", ".claude/skills", ".github/workflows"] {
            assert!(!holds_protected(path), "{path}");
        }
    }

    #[test]
    fn a_pattern_that_may_match_counts() {
        for pattern in [
            ".claude/*",
            ".claude/set*",
            ".cl?ude/settings.json",
            ".[a-z]*/settings.json",
            ".git/hooks/*",
            ".g*/x",
            "web/.mcp.js*",
        ] {
            assert!(may_be_protected(pattern, false), "{pattern}");
        }
        for pattern in [".c*", ".[a-z]*", ".*"] {
            assert!(may_be_protected(pattern, true), "{pattern}");
        }
        for pattern in [
            "*",
            "*.rs",
            "src/*",
            ".claude/skills/*",
            ".portolan/issues/*",
            "target/*/x",
            ".github/workflows/*",
            ".git\\*",
        ] {
            assert!(!may_be_protected(pattern, true), "{pattern}");
        }
    }
}
