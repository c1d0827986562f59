//! The plugins of a project in `.portolan/plugins.yaml`, and the check that a person allowed what they run.

use std::path::Path;

use portolan_core::source::Source;
use portolan_gates::plugins::{DeclaredGuard, Plugins};
use serde_json::json;

use crate::audit::{Durability, Kind, Line, Log, LogEntry};
use crate::error::{ErrorKind, ServiceError};
use crate::project_folder;
use crate::trust::{Digest, Trust, TrustError, TrustedCommand};

/// The file in which a project declares its plugins.
pub const FILE: &str = ".portolan/plugins.yaml";

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Returns the text of the file, or `None` if there is none.
///
/// # Errors
/// The file cannot be read, or is too long.
pub fn text(project: &Path) -> Result<Option<String>, ServiceError> {
    project_folder::text(project, FILE, MAX_BYTES).map_err(|why| {
        let help = "make it a readable text file, or delete it to add nothing";
        ServiceError::failed("plugins_unreadable", format!("`{FILE}` cannot be read: {why}"), help)
    })
}

/// Returns the plugins of a project.
///
/// # Errors
/// The file cannot be read, or has faults. A faulty file must not count as an empty one.
pub fn load(project: &Path) -> Result<Plugins, ServiceError> {
    let Some(text) = text(project)? else { return Ok(Plugins::default()) };
    let source = Source::new(FILE, text);
    let (plugins, faults) = Plugins::read(&source);
    plugins.ok_or_else(|| {
        let first = faults.iter().find(|fault| fault.is_error());
        let line = first.and_then(|fault| fault.span).map_or(1, |span| source.location(span.start).line);
        let message = first.map_or_else(String::new, |fault| fault.message.clone());
        let help = first.and_then(|fault| fault.help.clone()).unwrap_or_else(|| format!("correct `{FILE}`"));
        let message = format!("`{FILE}`, line {line}: {message}");
        ServiceError::of(ErrorKind::InvalidDefinition, "plugins_invalid", message, help)
    })
}

/// Returns the guards that a project declares, for judging tool calls.
///
/// # Errors
/// As for [`load`].
pub fn guards(project: &Path) -> Result<Vec<DeclaredGuard>, ServiceError> {
    load(project).map(|plugins| plugins.guards)
}

/// Returns the commands and addresses that a person has to trust.
pub fn commands(plugins: &Plugins) -> Vec<TrustedCommand> {
    let command = |(kind, id, argv): (&str, &str, Vec<String>)| TrustedCommand {
        flow: FILE.to_owned(),
        node: kind.to_owned(),
        check: id.to_owned(),
        argv,
        timeout_seconds: 0,
    };
    plugins.commands().into_iter().map(command).collect()
}

/// Returns their digest, or `None` if there are none.
pub fn digest(plugins: &Plugins) -> Option<Digest> {
    let commands = commands(plugins);
    (!commands.is_empty()).then(|| {
        let texts = commands.iter().flat_map(|command| {
            let place = [command.node.clone(), command.check.clone(), command.argv.len().to_string()];
            place.into_iter().chain(command.argv.iter().cloned())
        });
        let texts: Vec<String> = texts.collect();
        Digest::of_parts(
            std::iter::once("portolan plugins 1").chain(texts.iter().map(String::as_str)).map(str::as_bytes),
        )
    })
}

/// Refuses plugins that no person has allowed.
///
/// # Errors
/// They are not trusted, or the record of trust cannot be read.
pub fn must_be_trusted(plugins: &Plugins, trust: &Trust) -> Result<(), ServiceError> {
    let Some(digest) = digest(plugins) else { return Ok(()) };
    let failed = |error: TrustError| ServiceError::failed(error.code(), error.message, error.help);
    if trust.is_trusted(&digest).map_err(failed)? {
        return Ok(());
    }
    let message = format!("`{FILE}` names programs or addresses that have not been trusted yet");
    let help = format!("a person must check them and run `portolan trust {FILE}`");
    Err(ServiceError::of(ErrorKind::NeedsPerson, "not_trusted", message, help))
}

/// Records that built-in components were replaced, once for each.
///
/// # Errors
/// The log cannot be read or written.
pub fn announce_replaced(log: &Log, registry: &str, ids: &[String]) -> Result<(), ServiceError> {
    for id in ids {
        let is_it = |line: &Line| {
            let text = |name: &str| line.data.get(name).and_then(serde_json::Value::as_str);
            line.kind == Kind::RegistryReplaced.name() && text("registry") == Some(registry) && text("id") == Some(id)
        };
        // Drivers and notifiers enforce no rule.
        let kept = if registry == "guard" { rules_of(id) } else { &[] };
        let data = json!({ "registry": registry, "id": id, "invariant": kept.first(), "invariants": kept });
        let entry = LogEntry::of(Kind::RegistryReplaced, data);
        log.append_missing(&[entry], Durability::Written, is_it, |_, found| found.is_none())?;
    }
    Ok(())
}

/// Returns the rules that a built-in guard enforces.
fn rules_of(guard: &str) -> &'static [&'static str] {
    match guard {
        "no-edit-on-integration" => &["I-1", "I-2"],
        "typecheck-must-pass-before-commit" => &["I-6"],
        "commit-must-reference-issue" => &["I-8"],
        "no-verify" => &["I-2", "I-6"],
        // The other guards protect the gates themselves, and no numbered rule.
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use portolan_gates::RULES;

    use super::*;

    #[test]
    fn what_replaces_a_guard_is_on_record_with_its_rules() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Log::open(folder.path().join("log.jsonl")).expect("a log");
        let ids = ["no-verify".to_owned(), "undecidable".to_owned()];
        announce_replaced(&log, "guard", &ids).expect("written");
        announce_replaced(&log, "guard", &ids).expect("written");
        announce_replaced(&log, "driver", &ids[..1]).expect("written");
        let text = std::fs::read_to_string(folder.path().join("log.jsonl")).expect("a log");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let told: Vec<String> = lines.iter().map(|line| line["data"].to_string()).collect();
        assert_eq!(
            told,
            [
                r#"{"registry":"guard","id":"no-verify","invariant":"I-2","invariants":["I-2","I-6"]}"#,
                r#"{"registry":"guard","id":"undecidable","invariant":null,"invariants":[]}"#,
                r#"{"registry":"driver","id":"no-verify","invariant":null,"invariants":[]}"#,
            ]
        );
        let known = |rule: &&str| RULES.iter().any(|known| known.id == *rule);
        assert!(portolan_gates::guards::guards().flat_map(rules_of).all(known));
    }
}
