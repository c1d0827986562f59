//! Reports descriptions, questions and results of other servers that look like instructions to a model: to the person who serves,
//! and in the log. They are passed on unchanged.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::diagnostic::clip;
use portolan_gates::injection;
use portolan_runtime::audit::{Kind, LogEntry};
use portolan_runtime::servers::Tool;
use serde_json::{Value, json};

use super::calls_log::CallsLog;
use super::{Gateway, OfferedTool};
use crate::hook::CallRecord;

/// What was reported to the person, so that it is reported once: the server, the tool, the place and the words.
#[derive(Default)]
pub(super) struct ReportedWords(Mutex<BTreeSet<(String, String, &'static str, &'static str)>>);

impl ReportedWords {
    fn is_new(&self, server: &str, tool: &str, place: &'static str, sign: &'static str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((server.to_owned(), tool.to_owned(), place, sign))
    }
}

impl Gateway {
    /// Reports the descriptions of a server's tools. Each is recorded once by this process.
    pub(super) fn report_descriptions(&self, server: &str, tools: &[Tool]) {
        for tool in tools {
            let Some(sign) = injection::sign(&super::tool_pins::text_of(tool)) else { continue };
            if self.tell_of(server, &tool.name, "description", sign) {
                let entry = entry(&self.keeper.blank_record(), server, &tool.name, "description", sign);
                record(&self.log, entry);
            }
        }
    }

    /// Reports the result of a call, which is recorded each time.
    pub(super) fn report_result(&self, record_of_call: &CallRecord, tool: &OfferedTool, result: &Value) {
        let places = ["content", "contents", "messages"];
        let text: String = places.iter().map(|place| super::tool_pins::texts(&result[place])).collect();
        let Some(sign) = injection::sign(&text) else { return };
        self.tell_of(&tool.server, &tool.tool.name, "result", sign);
        record(&self.log, entry(record_of_call, &tool.server, &tool.tool.name, "result", sign));
    }

    /// Reports the questions of a server to the client of a call.
    pub(super) fn report_question(&self, record_of_call: &CallRecord, tool: &OfferedTool, text: &str) {
        let Some(sign) = injection::sign(text) else { return };
        self.tell_of(&tool.server, &tool.tool.name, "question", sign);
        record(&self.log, entry(record_of_call, &tool.server, &tool.tool.name, "question", sign));
    }

    fn tell_of(&self, server: &str, tool: &str, place: &'static str, sign: &'static str) -> bool {
        let is_new = self.reported.is_new(server, tool, place, sign);
        if is_new {
            let (tool, server) = (clip(tool), clip(server));
            (self.tell)(&format!("a {place} of `{tool}` of `{server}` looks like instructions to a model: `{sign}`"));
        }
        is_new
    }
}

fn entry(record: &CallRecord, server: &str, tool: &str, place: &str, sign: &str) -> LogEntry {
    let data = json!({ "server": server, "toolName": tool, "where": place, "sign": sign });
    record.entry(Kind::ToolSuspicious, None, data)
}

/// Appends an entry for which nobody waits.
fn record(log: &Arc<CallsLog>, entry: LogEntry) {
    let _appended_later = log.append(vec![entry]);
}
