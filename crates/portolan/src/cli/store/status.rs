//! `portolan store status` and `portolan store migrate`.

use portolan_runtime::service::{Service, ServiceError, StoreReport};
use portolan_runtime::store::SchemaVersion;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::cli::check::counted;
use crate::cli::output::{Output, one_line, table};

/// The number of driven runs that are named; `--format json` has all of them.
const MOST_NAMED: usize = 5;

pub(super) async fn status(output: Output, service: &Service) -> anyhow::Result<Exit> {
    let report = service.store_status().await?;
    if output.is_json() {
        output.json(&as_json(&report))?;
    } else {
        output.line(table(&rows(&report)))?;
    }
    Ok(if report.unwritable.is_some() { Exit::Failed } else { Exit::Done })
}

fn as_json(report: &StoreReport) -> Value {
    let status = &report.status;
    let problem = |error: &ServiceError| json!({ "error": error.code, "message": error.message, "help": error.help });
    json!({
        "store": report.place,
        "kind": report.kind,
        "exists": status.exists,
        "version": status.schema.map(|schema| schema.found),
        "knownVersion": status.schema.map(|schema| schema.known),
        "writable": report.unwritable.is_none(),
        "problem": report.unwritable.as_ref().map(problem),
        "runs": { "open": status.open, "ended": status.ended },
        "records": status.records,
        "definitions": status.definitions,
        "bytes": status.bytes,
        "driven": status.driven,
    })
}

fn rows(report: &StoreReport) -> Vec<Vec<String>> {
    let status = &report.status;
    let kind = match report.kind {
        "sqlite" => "SQLite",
        "postgres" => "PostgreSQL",
        "restate" => "Restate",
        other => other,
    };
    let mut rows = vec![("store", format!("{} ({kind})", report.place))];
    if !status.exists {
        rows.push(("state", "it does not exist yet: the first run creates it".to_owned()));
    }
    if let Some(schema) = status.schema.filter(|_| status.exists) {
        rows.push(("version", version(schema)));
    }
    if status.exists {
        rows.push(("access", access(report)));
    }
    rows.push(("runs", format!("{} open, {} ended", status.open, status.ended)));
    rows.push(("records", status.records.to_string()));
    rows.extend(status.definitions.map(|count| ("definitions", count.to_string())));
    rows.extend(status.bytes.map(|bytes| ("size", size(bytes))));
    rows.extend(driven(report).map(|driven| ("driven now", driven)));
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn version(schema: SchemaVersion) -> String {
    match schema.found == schema.known {
        true => format!("{}, that of this release", schema.found),
        false => format!("{}; `portolan store migrate` brings it to {}", schema.found, schema.known),
    }
}

fn access(report: &StoreReport) -> String {
    match &report.unwritable {
        None => "it can be read and written".to_owned(),
        Some(error) => one_line(&format!("it can only be read: {}; {}", error.message, error.help)),
    }
}

fn driven(report: &StoreReport) -> Option<String> {
    let driven = report.status.driven.as_ref()?;
    let named: Vec<&str> = driven.iter().take(MOST_NAMED).map(|id| id.as_str()).collect();
    Some(match driven.len() - named.len() {
        _ if named.is_empty() => "none".to_owned(),
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    })
}

/// Formats a size for people.
fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, power)| bytes >> power > 0);
    match unit {
        None => counted(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        Some((unit, power)) => {
            let tenths = (u128::from(bytes) * 10) >> power;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

pub(super) async fn migrate(output: Output, service: &Service) -> anyhow::Result<Exit> {
    let place = service.store_status().await?.place;
    let migrated = service.migrate_store().await?;
    if output.is_json() {
        let (from, to) = (migrated.map(|schema| schema.found), migrated.map(|schema| schema.known));
        output.json(&json!({ "store": place, "from": from, "to": to }))?;
        return Ok(Exit::Done);
    }
    output.line(one_line(&match migrated {
        None => format!("`{place}` does not exist yet: the first run creates it, and nothing is to be done"),
        Some(schema) if schema.found == schema.known => {
            format!("`{place}` has version {}, that of this release: nothing is to be done", schema.known)
        }
        Some(SchemaVersion { found: 0, known }) => format!("created the tables of version {known} in `{place}`"),
        Some(schema) => format!("migrated `{place}` from version {} to version {}", schema.found, schema.known),
    }))?;
    Ok(Exit::Done)
}
