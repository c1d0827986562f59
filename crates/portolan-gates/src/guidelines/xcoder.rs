//! Imports the rules that a project has for xCoder: `.xcoder/guidelines.yaml`, and `workflow` in
//! `.claude/settings.json`. What has a counterpart becomes a rule; everything else is reported as having none.

use super::words::{self, Fault};
use super::{Guidelines, Level, names};
use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::source::{self, Entry, Source, Tree, TreeKind};

/// The result of importing xCoder's files.
#[derive(Clone, Debug, Default)]
pub struct ImportResult {
    /// The rules.
    pub rules: Guidelines,
    /// What could not be imported, each with its file.
    pub notes: Vec<(Source, Diagnostic)>,
}

/// Imports the rules. `guidelines` take precedence over `settings`.
pub fn import(guidelines: Option<&Source>, settings: Option<&Source>) -> ImportResult {
    let mut imported = ImportResult::default();
    if let Some(settings) = settings {
        Import { imported: &mut imported, source: settings }.file(setting);
    }
    if let Some(guidelines) = guidelines {
        Import { imported: &mut imported, source: guidelines }.file(guideline);
    }
    imported.notes.sort_by_key(|(source, note)| (source.name.clone(), note.span.map_or(0, |span| span.start)));
    imported
}

/// Imports one value of a section and key. Returns why it could not.
type Take = fn(&mut Import<'_>, &str, &Entry) -> Result<(), &'static str>;

struct Import<'i> {
    imported: &'i mut ImportResult,
    source: &'i Source,
}

const NOTHING: &str = "it has no counterpart here";
const NOT_THAT: &str = "its value is not supported here";
const A_CHECK: &str = "give a phase an acceptance check that runs it";

impl Import<'_> {
    fn file(&mut self, take: Take) {
        let (tree, faults) = source::parse(self.source);
        for fault in faults {
            self.note(fault);
        }
        let Some(sections) = tree.as_ref().and_then(Tree::entries) else { return };
        for section in sections {
            match section.value.entries() {
                Some(entries) => {
                    for entry in entries {
                        self.entry(&section.key.value, entry, take);
                    }
                }
                None => self.entry("", section, take),
            }
        }
    }

    fn entry(&mut self, section: &str, entry: &Entry, take: Take) {
        if matches!(entry.value.kind, TreeKind::Null) {
            return;
        }
        if let Err(why) = take(self, section, entry) {
            let key = [section, &entry.key.value].into_iter().filter(|part| !part.is_empty());
            let message = format!("`{}` is not imported", clip(&key.collect::<Vec<_>>().join(".")));
            self.note(Diagnostic::warning("not-taken-over", message).at(entry.key.span).help(why));
        }
    }

    fn note(&mut self, note: Diagnostic) {
        self.imported.notes.push((self.source.clone(), note));
    }

    fn rules(&mut self) -> &mut Guidelines {
        &mut self.imported.rules
    }

    fn switch(&mut self, rule: &str, level: Level) {
        self.rules().levels.insert(rule.to_owned(), level);
    }
}

fn setting(import: &mut Import<'_>, section: &str, entry: &Entry) -> Result<(), &'static str> {
    let value = &entry.value;
    match (section, entry.key.value.as_str()) {
        ("workflow", "integrationBranch") => import.rules().integration = texts(value, words::branch)?,
        ("workflow", "commitDirectly") => import.rules().commit_directly = flag(value)?,
        ("workflow", "specsRequired") => import.rules().specs.required = flag(value)?,
        ("workflow", "branchPrefix" | "branchPrefixes") => {
            import.rules().branches.prefixes = texts(value, words::prefix)?
        }
        ("workflow" | "quality", _) => return Err(NOTHING),
        // Other settings of the host do not belong to xCoder.
        _ => {}
    }
    Ok(())
}

fn guideline(import: &mut Import<'_>, section: &str, entry: &Entry) -> Result<(), &'static str> {
    let value = &entry.value;
    match (section, entry.key.value.as_str()) {
        ("specify", "specRequired") => import.rules().specs.required = flag(value)?,
        ("specify", "specPath") => import.rules().specs.folders = texts(value, words::folder)?,
        ("specify", "specPattern") => import.rules().specs.pattern = texts(value, words::glob)?.pop(),
        ("branched", "off") => import.rules().integration = texts(value, words::branch)?,
        ("branched", "prefix") => import.rules().branches.prefixes = texts(value, words::prefix)?,
        ("branched", "namingPattern") => import.rules().branches.pattern = texts(value, words::branch_pattern)?.pop(),
        ("commit", "conventional") => {
            if !flag(value)? {
                import.switch("conventionalCommitFormat", Level::Off);
            }
        }
        ("commit", "types") => import.rules().commits.types = texts(value, words::commit_type)?,
        ("commit", "requireIssueRef") => import.rules().commits.require_reference = flag(value)?,
        ("commit", "issueRefPatterns") => {
            return Err("`#1`, `GH-1`, issue addresses and keys such as `ABC-1` are recognised here without patterns");
        }
        ("qa", "typecheck") => typecheck(import, value)?,
        ("qa", "test" | "lint" | "e2e" | "coverageMin") => return Err(A_CHECK),
        ("qa", "verdictTtlMinutes") => import.rules().typecheck.max_age_seconds = Some(seconds(value)?),
        ("workflow", "commitDirectly") => import.rules().commit_directly = flag(value)?,
        ("workflow", "requirePr") => {
            if !flag(value)? {
                import.switch("prOpenedBeforeIdle", Level::Off);
                import.switch("pullRequestMerged", Level::Off);
            }
        }
        ("policies", id) => policy(import, id, value)?,
        _ => return Err(NOTHING),
    }
    Ok(())
}

/// Imports a command line without shell syntax, or whether there is a type check at all.
fn typecheck(import: &mut Import<'_>, value: &Tree) -> Result<(), &'static str> {
    match &value.kind {
        TreeKind::Bool(true) => {}
        TreeKind::Bool(false) => import.switch("I-6", Level::Off),
        TreeKind::String(line) if line.contains(|c: char| "\"'|&;$<>`\\*?(){}~#".contains(c) || c.is_control()) => {
            return Err("it needs a shell; write the commands to `typecheck.commands`, each a list of words");
        }
        TreeKind::String(line) => {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if words.first().is_none_or(|program| program.contains('=')) {
                return Err(NOT_THAT);
            }
            import.rules().typecheck.commands = Some(vec![words]);
        }
        _ => return Err(NOT_THAT),
    }
    Ok(())
}

fn policy(import: &mut Import<'_>, id: &str, value: &Tree) -> Result<(), &'static str> {
    let own = match id {
        "branch-prefix" => "branchMatchesPrefix",
        "conventional-commit" | "conventional-commits" => "conventionalCommitFormat",
        "spec-required" => "specFileExistsIfRequired",
        "tracking-issue" => "trackingIssueExists",
        id => id,
    };
    if !names::known().contains(&own) || own == names::KEPT {
        return Err("there is no rule of that name whose level can be changed");
    }
    let word = value.as_str().unwrap_or_default();
    let level = words::LEVELS.iter().find(|(known, _)| *known == word).map(|(_, level)| *level).ok_or(NOT_THAT)?;
    import.switch(own, level);
    Ok(())
}

fn flag(tree: &Tree) -> Result<bool, &'static str> {
    match tree.kind {
        TreeKind::Bool(flag) => Ok(flag),
        _ => Err(NOT_THAT),
    }
}

fn seconds(tree: &Tree) -> Result<u64, &'static str> {
    match &tree.kind {
        TreeKind::Number(minutes) => {
            let minutes = minutes.parse::<u32>().ok().filter(|minutes| (1..=500_000).contains(minutes));
            minutes.map(|minutes| u64::from(minutes) * 60).ok_or(NOT_THAT)
        }
        _ => Err(NOT_THAT),
    }
}

/// Reads one valid text or several.
fn texts(tree: &Tree, fault: fn(&str) -> Fault) -> Result<Vec<String>, &'static str> {
    let texts: Option<Vec<&str>> = match &tree.kind {
        TreeKind::String(text) => Some(vec![text]),
        TreeKind::Array(items) => items.iter().map(Tree::as_str).collect(),
        _ => None,
    };
    let texts = texts.filter(|texts| !texts.is_empty()).ok_or(NOT_THAT)?;
    match texts.iter().find_map(|text| fault(text)) {
        Some(help) => Err(help),
        None => Ok(texts.into_iter().map(str::to_owned).collect()),
    }
}
