//! The files that hold the gates themselves: a coding agent that may write them may take the gates away.

/// What is protected, wherever in a project it stands: hosts also read their settings in subfolders. A pattern that ends
/// in `/**` is a folder with all that is in it, one that ends in `*` is all files whose names begin so.
pub const PROTECTED: [&str; 11] = [
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
];

/// What agents write beneath a protected folder, because it is content of the project.
pub const OPEN: [&str; 3] = [".portolan/issues/**", ".portolan/specs/**", ".portolan/reviews/**"];

/// Whether a path, relative to the project, is one that only a person may write.
///
/// Letters count alike in both cases, as they do on the file systems of macOS and Windows: a path that is spelt otherwise
/// must not be another file here and the same one there.
///
/// ```
/// use portolan_core::gates::is_protected;
/// assert!(is_protected("./.Claude/settings.local.json"));
/// assert!(!is_protected(".portolan/issues/42.md"));
/// ```
pub fn is_protected(relative: &str) -> bool {
    let parts = parts(relative);
    places(&parts).any(|place| {
        PROTECTED.iter().any(|pattern| covers(pattern, place)) && !OPEN.iter().any(|pattern| covers(pattern, place))
    })
}

/// Whether a folder, relative to the project, has protected files in it, so that moving or deleting it takes them along.
pub fn holds_protected(relative: &str) -> bool {
    let parts = parts(relative);
    places(&parts).any(|place| {
        PROTECTED.iter().any(|pattern| {
            let pattern: Vec<&str> = pattern.split('/').collect();
            pattern.len() > place.len() && place.iter().zip(&pattern).all(|(part, expected)| part == expected)
        })
    })
}

/// The parts of a path in lower case, without those that lead nowhere.
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

/// A path as seen from each folder that it goes through.
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
        // The folder itself counts: `.git` is a file in a linked worktree.
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
}
