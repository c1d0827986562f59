//! Logs a project's non-default rules when a run begins, and whenever they change. The log then shows under which rules
//! a phase was left, and that they were changed on the way.

use std::collections::BTreeMap;

use portolan_core::run::EventKind;
use portolan_gates::Guidelines;
use portolan_gates::guidelines::write;
use serde_json::{Value, json};

use super::super::Service;
use super::super::hold::HeldRun;
use super::events::EventSubject;
use crate::audit::{self, Durability, Filter, Kind, Line, LogEntry, Types};
use crate::digest::Digest;
use crate::error::ServiceError;
use crate::rules::{FILE, rules};
use crate::store::RunId;

/// The logged value of a rule that is default again.
const USUAL: &str = "usual";
/// The rule that allows commits on integration branches, so that I-1 and I-2 do not apply.
const COMMIT_DIRECTLY: &str = "commitDirectly";
/// The field of a line with the digest of all its rules.
const DIGEST: &str = "configDigest";

/// The non-default rules, by their names in the file.
type Settings = BTreeMap<String, String>;

/// Checks whether an event needs a check of the rules: a run begins, or a phase is claimed as done.
pub(super) fn is_asked(what: &EventKind) -> bool {
    matches!(what, EventKind::Begun { .. } | EventKind::Reported { .. })
}

impl Service {
    /// Logs the rules, if the log has others.
    ///
    /// # Errors
    /// The rules have faults, or the log cannot be read or written.
    pub(super) fn log_rules(&self, held: &HeldRun, id: &RunId) -> Result<(), ServiceError> {
        let settings = settings(&rules(self.project())?);
        let digest = digest(&settings);
        let path = audit::project_log(self.project());
        let is_wanted = |line: &Line| line.run.as_deref() == Some(id.as_str()) && (is_setting(line) || is_begin(line));
        let newest = audit::latest(&path, is_wanted)?.filter(is_setting);
        let is_known = newest.map_or(settings.is_empty(), |line| line.data[DIGEST] == digest.as_str());
        if is_known {
            return Ok(());
        }
        let entries = entries(&EventSubject::of(held, id), &settings, &digest, &self.on_record(id)?);
        let is_missing = |_: &LogEntry, newest: Option<&Line>| {
            newest.filter(|line| is_setting(line)).is_none_or(|line| line.data[DIGEST] != digest.as_str())
        };
        self.log()?.append_missing(&entries, Durability::Synced, is_wanted, is_missing)?;
        Ok(())
    }

    /// Returns the logged rules of a run.
    fn on_record(&self, id: &RunId) -> Result<OnRecord, ServiceError> {
        let path = audit::project_log(self.project());
        let mut known = OnRecord::default();
        for kind in [Kind::Config, Kind::Bypass] {
            let filter = Filter { types: Some(Types::One(kind)), run: Some(id.to_string()), ..Filter::default() };
            for line in audit::read(&path, &filter)? {
                known.take(&line?);
            }
        }
        Ok(known)
    }
}

/// The logged rules.
#[derive(Default)]
struct OnRecord {
    settings: Settings,
    /// Whether commits on integration branches are logged already: once for each run, not for each commit.
    commits_directly: bool,
}

impl OnRecord {
    fn take(&mut self, line: &Line) {
        if line.data["source"] == "config" {
            self.commits_directly |= line.data["identifier"] == COMMIT_DIRECTLY;
        }
        let text = |name: &str| line.data[name].as_str().map(str::to_owned);
        if let (true, Some(name), Some(value)) = (is_setting(line), text("name"), text("value")) {
            self.settings.insert(name, value);
        }
    }
}

fn is_setting(line: &Line) -> bool {
    line.kind == Kind::Config.name() && line.data[DIGEST].is_string()
}

fn is_begin(line: &Line) -> bool {
    line.kind == Kind::Boot.name()
}

fn entries(about: &EventSubject<'_>, settings: &Settings, digest: &Digest, known: &OnRecord) -> Vec<LogEntry> {
    let changed = settings.iter().filter(|(name, value)| known.settings.get(*name) != Some(value));
    let gone = known.settings.iter().filter(|(name, value)| *value != USUAL && !settings.contains_key(*name));
    let changed = changed.map(|(name, value)| (name, value.as_str()));
    let changes = changed.chain(gone.map(|(name, _)| (name, USUAL)));
    let line = |(name, value): (&String, &str)| {
        about.present(Kind::Config, json!({ "name": name, "value": value, "source": FILE, DIGEST: digest.as_str() }))
    };
    let mut entries: Vec<LogEntry> = changes.map(line).collect();
    if settings.contains_key(COMMIT_DIRECTLY) && !known.commits_directly {
        entries.push(about.present(Kind::Bypass, commits_directly(about)));
    }
    entries
}

fn commits_directly(about: &EventSubject<'_>) -> Value {
    json!({
        "source": "config",
        "identifier": COMMIT_DIRECTLY,
        "invariant": "I-2",
        "invariants": ["I-1", "I-2"],
        "phase": about.phase(),
        "reason": format!("`{COMMIT_DIRECTLY}` in `{FILE}`: work is committed on integration branches"),
        "by": FILE,
        "stage": "applied",
    })
}

/// Returns each rule of the written rules, as `section.key`.
fn settings(rules: &Guidelines) -> Settings {
    let text = write(rules);
    let mut section = "";
    let mut settings = Settings::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match (name.strip_prefix("  "), value.trim()) {
            (Some(key), value) => settings.insert(format!("{section}.{key}"), value.to_owned()),
            (None, "") => {
                section = name;
                None
            }
            (None, value) => settings.insert(name.to_owned(), value.to_owned()),
        };
    }
    settings
}

fn digest(settings: &Settings) -> Digest {
    Digest::of_parts(settings.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use portolan_gates::guidelines::Level;

    use super::*;

    #[test]
    fn every_rule_that_is_not_usual_has_a_name() {
        let mut rules = Guidelines::default();
        assert!(settings(&rules).is_empty());
        rules.commit_directly = true;
        rules.levels.insert("I-4".to_owned(), Level::Off);
        rules.typecheck.commands = Some(vec![vec!["sh".to_owned(), "-c".to_owned(), "a: b".to_owned()]]);
        let told: Vec<String> = settings(&rules).iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let expected = ["commitDirectly = true", "policies.I-4 = off", r#"typecheck.commands = [[sh, "-c", "a: b"]]"#];
        assert_eq!(told, expected);
    }
}
