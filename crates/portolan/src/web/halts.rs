//! Why runs do not go on, of one run and of all that there are.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::present::Redaction;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Halt, Last, NextActor, NodeFailure, lifted_by};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer, Refusal};
use super::runs::by;

/// Of how many runs it is told why they do not go on: those that moved last.
const MOST: usize = 100;

/// Why each of the runs that moved last does not go on. One that cannot be read is not told of; its own page says why.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let runs = studio.service.list(false, MOST).await?;
    let mut told = Map::new();
    for line in runs.into_iter().filter(|line| line.status != "success") {
        if let Ok(Some(mut halt)) = studio.halt(&Address::parse(&line.run), None).await {
            halt["driven"] = json!(studio.driven(&line.run).map(|driven| driven.phase()));
            told.insert(line.run, halt);
        }
    }
    Ok(Json(json!({ "halts": told })))
}

impl Studio {
    /// Why a run does not go on; nothing where it has done what it was for.
    pub(super) async fn halt(&self, run: &Address, hidden: Option<Redaction>) -> Result<Option<Value>, Refusal> {
        Ok(self.service.halt(run, hidden, &self.person).await?.map(halt))
    }
}

fn halt(halt: Halt) -> Value {
    let (turn, help) = match &halt.turn {
        NextActor::Person => ("person", None),
        NextActor::Trust(untrusted) => ("trust", Some(lifted_by(untrusted))),
        NextActor::Agent => ("agent", None),
        NextActor::Engine => ("engine", None),
        NextActor::Nobody => ("nobody", None),
    };
    json!({
        "turn": turn,
        "help": help,
        "step": halt.step,
        "stepName": halt.step_name,
        "node": halt.node,
        "branch": halt.branch,
        "since": rfc3339(halt.since),
        "asks": halt.asks,
        "personOnly": halt.person_only,
        "failed": halt.failed.into_iter().map(failed).collect::<Vec<_>>(),
        "last": halt.last.map(last),
    })
}

fn failed(NodeFailure { node, check, reason, output }: NodeFailure) -> Value {
    json!({ "node": node, "check": check, "reason": reason, "output": output })
}

fn last(Last { seq, at, by: who, text }: Last) -> Value {
    json!({ "seq": seq, "at": at, "by": by(&who), "text": text })
}
