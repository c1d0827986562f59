//! Why runs do not continue: for one run, and for all.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::present::Redaction;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Halt, Last, NextActor, NodeFailure, lifted_by};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::Answer;
use super::runs::by;
use crate::http::Refusal;
use crate::words::resumed_by;

/// The number of runs whose halts are listed: the last ones that moved.
const MOST: usize = 100;

/// Returns why each of the last runs does not continue, and what models have used in those that have succeeded. Leaves
/// out a run that cannot be read; its own page shows the error.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let runs = studio.service.list(false, MOST).await?;
    let (mut halts, mut spent) = (Map::new(), Map::new());
    for line in runs {
        let address = Address::parse(&line.run);
        if line.status == "success" {
            if let Ok(spend) = studio.service.spent(&address).await
                && !spend.is_nothing()
            {
                spent.insert(line.run, json!(spend));
            }
        } else if let Ok(Some(mut halt)) = studio.halt(&address, None).await {
            halt["driven"] = json!(studio.driven(&line.run).map(|driven| driven.phase()));
            halts.insert(line.run, halt);
        }
    }
    Ok(Json(json!({ "halts": halts, "spent": spent })))
}

impl Studio {
    /// Returns why a run does not continue, or `None` if it has succeeded.
    pub(super) async fn halt(&self, run: &Address, hidden: Option<Redaction>) -> Result<Option<Value>, Refusal> {
        Ok(self.service.halt(run, hidden, &self.person).await?.map(|found| halt(found, &run.to_string())))
    }
}

fn halt(halt: Halt, run: &str) -> Value {
    let (turn, help) = match &halt.turn {
        NextActor::Person => ("person", None),
        NextActor::Trust(untrusted) => ("trust", Some(lifted_by(untrusted))),
        NextActor::Held(why) => ("held", Some(resumed_by(run, halt.branch.as_deref(), why))),
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
        "retries": halt.retries,
        "spent": (!halt.spent.is_nothing()).then_some(halt.spent),
    })
}

fn failed(NodeFailure { node, check, reason, output }: NodeFailure) -> Value {
    json!({ "node": node, "check": check, "reason": reason, "output": output })
}

fn last(Last { seq, at, by: who, text }: Last) -> Value {
    json!({ "seq": seq, "at": at, "by": by(&who), "text": text })
}
