//! The end of a call in the log: what the server answered, or that the call was cancelled.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_gates::Intent;
use portolan_runtime::audit::{Kind, LogEntry};
use portolan_runtime::digest::Digest;
use portolan_runtime::servers::CallError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::OfferedTool;
use super::calls_log::{CallsLog, PendingAppend};
use crate::hook::CallRecord;

/// The end of a call that may be made. Dropped before the call has an answer, it is recorded as cancelled.
pub(super) struct CallEnd(Option<OpenEnd>);

struct OpenEnd {
    log: Arc<CallsLog>,
    record: CallRecord,
    intent: Intent,
    tool: Arc<OfferedTool>,
    begun: Instant,
}

impl CallEnd {
    pub(super) fn of(log: &Arc<CallsLog>, record: &CallRecord, intent: &Intent, tool: &Arc<OfferedTool>) -> CallEnd {
        let (log, record, intent, tool) = (Arc::clone(log), record.clone(), intent.clone(), Arc::clone(tool));
        CallEnd(Some(OpenEnd { log, record, intent, tool, begun: Instant::now() }))
    }

    /// Returns the end of the same call, which begins now.
    pub(super) fn begun(mut self) -> CallEnd {
        if let Some(open) = &mut self.0 {
            open.begun = Instant::now();
        }
        self
    }

    /// Records the answer, with the digest of the call as it is kept, if it is.
    pub(super) fn answered(mut self, result: &Result<Value, CallError>, kept: Option<Digest>) -> PendingAppend {
        let open = self.0.take().expect("only this method and `forget` end it, and both consume it");
        let mut outcome = answer(result);
        if let Some(kept) = kept {
            outcome["recordDigest"] = kept.as_str().into();
        }
        open.record.add_result_amounts(result.as_ref().ok(), &mut outcome);
        let entry = open.entry(outcome);
        open.log.append(vec![entry])
    }

    /// Records nothing: the call is not made.
    pub(super) fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for CallEnd {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let mut outcome = json!({ "outcome": "cancelled" });
            open.record.add_result_amounts(None, &mut outcome);
            let entry = open.entry(outcome);
            let _nobody_waits = open.log.append(vec![entry]);
        }
    }
}

impl OpenEnd {
    fn entry(&self, outcome: Value) -> LogEntry {
        let took = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let OfferedTool { server, tool, .. } = &*self.tool;
        let mut data = json!({ "server": server, "toolName": tool.name, "ms": took });
        if let (Value::Object(data), Value::Object(outcome)) = (&mut data, outcome) {
            data.extend(outcome);
        }
        self.record.entry(Kind::ToolAnswered, Some(&self.intent), data)
    }
}

/// Returns the record of an answer. The result itself may be confidential, so only its digest is recorded.
fn answer(result: &Result<Value, CallError>) -> Value {
    match result {
        Ok(result) => {
            let text = serde_json::to_string(result).expect("JSON");
            let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
            let outcome = if is_error { "error" } else { "result" };
            json!({ "outcome": outcome, "bytes": text.len(), "resultDigest": Digest::of(text).as_str() })
        }
        Err(error) => json!({ "outcome": "failed", "reason": clip(&error.message) }),
    }
}
