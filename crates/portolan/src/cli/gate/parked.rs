//! `portolan gate waiting`, `allow` and `refuse`: the calls that wait for a person.

use portolan_core::diagnostic::clip;
use portolan_runtime::service::Service;
use portolan_supervision::gateway::{ParkedCall, ParkedCalls, ParkedDecision};
use serde_json::json;

use super::super::output::safe;
use super::super::{Common, Exit, block_on, person};

/// Lists the calls that wait.
pub(super) fn list(common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let calls = ParkedCalls::of(&Service::new(common.options()?)?)?.waiting()?;
    if output.is_json() {
        output.json(&json!({ "waiting": calls }))?;
        return Ok(Exit::Done);
    }
    if calls.is_empty() {
        output.line("no calls wait for a person")?;
        return Ok(Exit::Done);
    }
    for call in &calls {
        output.line(shown(call))?;
    }
    output.remark("`portolan gate allow TOKEN` allows a call once, `portolan gate refuse TOKEN` refuses it");
    Ok(Exit::Done)
}

/// Returns a call as a person reads it, with invisible characters escaped.
fn shown(ParkedCall { token, server, tool, arguments, client, reason, .. }: &ParkedCall) -> String {
    let arguments = serde_json::to_string_pretty(arguments).expect("JSON");
    let (tool, server) = (clip(tool), clip(server));
    safe(&format!("{token}  {tool} of {server}, called by {client}: {reason}\n{arguments}"))
}

/// Allows or refuses a call, as a person.
pub(super) fn decide(token: &str, decision: ParkedDecision, yes: bool, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = Service::new(common.options()?)?;
    let caller = person::confirmed(&service, "may allow or refuse calls")?;
    let calls = ParkedCalls::of(&service)?;
    let call = calls.find(token)?;
    output.remark(shown(&call));
    if !person::consented("Allow this call once?", yes)? {
        return Ok(Exit::Refused);
    }
    block_on(calls.decide(&call, decision, &caller))??;
    let message = match decision {
        ParkedDecision::Allow => "allowed once: the client can make the call again",
        ParkedDecision::Refuse => "refused",
    };
    match output.is_json() {
        true => output.json(&json!({ "token": token, "decision": decision.word() }))?,
        false => output.line(message)?,
    }
    Ok(Exit::Done)
}
