//! Configuration files: jobs, dependencies and strict settings.

use super::super::removal::What;
use super::Facts;

/// The files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Config {
    /// GitHub workflows, with `jobs`.
    Workflow,
    /// GitLab's file, with jobs at the top level.
    GitLab,
    Cargo,
    Package,
    Requirements,
    GoMod,
    TypeScript,
}

impl Config {
    pub(super) fn of(path: &str) -> Option<Config> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        match name {
            _ if yaml && path.contains(".github/workflows/") => Some(Config::Workflow),
            ".gitlab-ci.yml" => Some(Config::GitLab),
            "Cargo.toml" => Some(Config::Cargo),
            "package.json" => Some(Config::Package),
            "go.mod" => Some(Config::GoMod),
            _ if name.starts_with("requirements") && name.ends_with(".txt") => Some(Config::Requirements),
            _ if name.starts_with("tsconfig") && name.ends_with(".json") => Some(Config::TypeScript),
            _ => None,
        }
    }
}

/// Settings that let a failed job pass.
const LENIENT: [&str; 5] = ["continue-on-error: true", "allow_failure: true", "if: false", "|| true", "|| exit 0"];
/// The top-level keys of GitLab's file that are not jobs.
const NO_JOBS: [&str; 10] = [
    "stages",
    "variables",
    "default",
    "include",
    "image",
    "workflow",
    "cache",
    "services",
    "before_script",
    "after_script",
];
/// The dependency groups of a `package.json`.
const GROUPS: [&str; 3] = ["dependencies", "peerDependencies", "optionalDependencies"];

pub(super) fn read(config: Config, lines: &[(u64, &str)], facts: &mut Facts) {
    let mut group = String::new();
    for (number, line) in lines {
        let (number, line) = (*number, line.trim_end());
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with('#') || bare.starts_with("//") {
            continue;
        }
        let indent = line.len() - bare.len();
        match config {
            Config::Workflow | Config::GitLab => jobs(config, indent, bare, number, &mut group, facts),
            Config::Cargo => cargo(bare, number, &mut group, facts),
            Config::Package => package(bare, number, &mut group, facts),
            Config::Requirements => {
                let end = bare.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(bare.len());
                hold(What::Dependency, &bare[..end], number, facts);
            }
            Config::GoMod => go_mod(bare, number, &mut group, facts),
            Config::TypeScript => type_script(bare, number, facts),
        }
    }
}

fn hold(what: What, name: &str, number: u64, facts: &mut Facts) {
    if !name.is_empty() {
        facts.hold(what, name, number);
    }
}

/// Returns the key of a line `key: …`.
fn key(bare: &str) -> Option<&str> {
    let (key, after) = bare.split_once(':')?;
    let plain = !key.starts_with('-') && (after.is_empty() || after.starts_with(' '));
    plain.then(|| key.trim_matches(['"', '\'']))
}

fn jobs(config: Config, indent: usize, bare: &str, number: u64, group: &mut String, facts: &mut Facts) {
    for lenient in LENIENT {
        if bare.contains(lenient) {
            facts.loosen(What::Strictness, lenient.split(':').next().unwrap_or(lenient), number);
        }
    }
    let Some(key) = key(bare) else { return };
    match (config, indent) {
        (Config::Workflow, 0) => {
            // All jobs have the indentation of the first one.
            *group = if key == "jobs" { "?".to_owned() } else { String::new() };
        }
        (Config::Workflow, indent) if group == "?" || *group == indent.to_string() => {
            *group = indent.to_string();
            hold(What::Job, key, number, facts);
        }
        (Config::GitLab, 0) if !NO_JOBS.contains(&key) => hold(What::Job, key, number, facts),
        _ => {}
    }
}

fn cargo(bare: &str, number: u64, group: &mut String, facts: &mut Facts) {
    if let Some(table) = bare.strip_prefix('[') {
        *group = table.trim_matches(['[', ']']).to_owned();
        let named = group.rsplit_once("dependencies.").map(|(_, name)| name.to_owned());
        hold(What::Dependency, named.as_deref().unwrap_or_default(), number, facts);
        return;
    }
    let Some((name, value)) = bare.split_once('=') else { return };
    let name = name.split('.').next().unwrap_or(name).trim().trim_matches('"');
    if group.ends_with("dependencies") {
        hold(What::Dependency, name, number, facts);
    }
    let strict = value.contains("\"deny\"") || value.contains("\"forbid\"") || value.contains("\"warn\"");
    if group.contains("lints") && strict {
        hold(What::Strictness, name, number, facts);
    }
}

fn package(bare: &str, number: u64, group: &mut String, facts: &mut Facts) {
    let Some((name, value)) = bare.split_once(':') else {
        if bare.starts_with('}') {
            group.clear();
        }
        return;
    };
    let (name, value) = (name.trim().trim_matches('"'), value.trim());
    if value.starts_with('{') {
        *group = if value.contains('}') { String::new() } else { name.to_owned() };
    } else if GROUPS.contains(&group.as_str()) || group == "devDependencies" {
        hold(What::Dependency, name, number, facts);
    } else if group == "scripts" && ["test", "lint", "typecheck", "check"].contains(&name) {
        hold(What::Job, name, number, facts);
    }
}

fn go_mod(bare: &str, number: u64, group: &mut String, facts: &mut Facts) {
    let words: Vec<&str> = bare.split_whitespace().collect();
    match words.as_slice() {
        [word, "("] => *group = (*word).to_owned(),
        [")"] => group.clear(),
        ["require", name, ..] => hold(What::Dependency, name, number, facts),
        [name, ..] if group == "require" => hold(What::Dependency, name, number, facts),
        _ => {}
    }
}

fn type_script(bare: &str, number: u64, facts: &mut Facts) {
    let Some((name, value)) = bare.split_once(':') else { return };
    let name = name.trim().trim_matches('"');
    let strict = name.starts_with("strict") || name.starts_with("no") || name == "exactOptionalPropertyTypes";
    match value.trim().trim_end_matches(',') {
        "true" if strict => hold(What::Strictness, name, number, facts),
        "true" if name == "skipLibCheck" => facts.loosen(What::Strictness, name, number),
        "false" if strict => facts.loosen(What::Strictness, name, number),
        _ => {}
    }
}
