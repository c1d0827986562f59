//! The rulings of the merge gate on pull requests, from the log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portolan_runtime::audit::{self, Kind};

/// Returns the pull requests among `wanted` whose latest recorded ruling is a block, each with the first reason. An
/// unreadable log needs no error here: without a record, nothing is merged at all.
pub(super) fn blocked(project: &Path, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    wanted.iter().filter_map(|number| Some((*number, why(project, *number)?))).collect()
}

fn why(project: &Path, number: u64) -> Option<String> {
    let is_ruling = |line: &audit::Line| line.kind == Kind::MergeGateVerdict.name() && line.data["pr"] == number;
    let ruling = audit::latest(&audit::project_log(project), is_ruling).ok()??;
    if ruling.data["verdict"] != "block" {
        return None;
    }
    let head = ruling.data["head"].as_str().and_then(|head| head.get(..10)).unwrap_or("an unknown commit");
    let reason = ruling.data["reasons"][0].as_str().unwrap_or("it gave no reason");
    Some(format!("at `{head}`, {reason}"))
}
