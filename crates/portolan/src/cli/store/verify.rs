//! `portolan store verify`.

use portolan_runtime::service::Service;
use portolan_runtime::store::{StoreFault, Verification};
use serde_json::json;

use crate::cli::Exit;
use crate::cli::check::counted;
use crate::cli::output::{Output, Paint, one_line};

pub(super) async fn verify(output: Output, service: &Service) -> anyhow::Result<Exit> {
    let found = service.verify_store().await?;
    let exit = if found.fault_count == 0 { Exit::Done } else { Exit::Failed };
    if output.is_json() {
        output.json(&json!({
            "runs": found.runs,
            "records": found.records,
            "notVerified": found.sealed,
            "faultCount": found.fault_count,
            "faults": found.faults,
        }))?;
        return Ok(exit);
    }
    for fault in &found.faults {
        output.line(line(output, fault))?;
    }
    let unlisted = found.fault_count - found.faults.len() as u64;
    if unlisted > 0 {
        output.line(format!("… and {unlisted} more"))?;
    }
    output.line(summary(&found))?;
    if found.sealed > 0 {
        output.remark(format!(
            "{} not verified: sealed with a key that this user does not have (`PORTOLAN_DATA_DIR` names its folder)",
            are(found.sealed, "run"),
        ));
    }
    if exit != Exit::Done {
        output.remark("restore the store from a backup; every run that is not named is intact");
    }
    Ok(exit)
}

fn line(output: Output, fault: &StoreFault) -> String {
    let place = fault.run.as_ref().map_or_else(|| "store".to_owned(), |run| format!("run `{}`", one_line(run)));
    let message = one_line(&fault.message);
    format!("{place}: {message} ({})", output.paint(Paint::Bad, fault.code))
}

fn summary(found: &Verification) -> String {
    let number = |count: u64, what: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let (runs, records) = (number(found.runs, "run"), number(found.records, "record"));
    match found.fault_count {
        0 => format!("{runs} with {records} verified, no faults"),
        count => format!("{runs} with {records} verified, {}", number(count, "fault")),
    }
}

/// Returns `1 run is` or `2 runs are`.
pub(super) fn are(count: u64, what: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(usize::try_from(count).unwrap_or(usize::MAX), what))
}
