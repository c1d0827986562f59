//! Challenges for passkeys. A challenge is valid once, for a limited time and for one content. It is a digest of that
//! content, so that a signature cannot be passed off as one for another content.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portolan_core::value::Timestamp;
use portolan_runtime::digest::Digest;
use portolan_runtime::error::ServiceError;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// How long a challenge is valid, in seconds.
pub const CHALLENGE_SECONDS: u32 = 120;

/// The maximum number of open challenges. A new one replaces the oldest.
const MAX_OPEN: usize = 64;

/// What a passkey confirms: the digest of all of its content.
#[derive(Clone, Debug)]
pub struct ConfirmedContent(pub(super) Digest);

/// The content of an answer. The passkey confirms all of it.
#[derive(Clone, Copy, Debug)]
pub struct AnswerContent<'a> {
    /// The run, as the caller names it.
    pub run: &'a str,
    /// The branch, if several wait.
    pub branch: Option<&'a str>,
    /// The revision at which the question was read.
    pub revision: u64,
    /// The chosen outcome.
    pub outcome: &'a str,
    /// The note given with the answer.
    pub note: Option<&'a str>,
    /// Variables and the values they are set to.
    pub values: Option<&'a Map<String, Value>>,
}

impl AnswerContent<'_> {
    /// Returns what the passkey confirms.
    pub fn confirmed(&self) -> ConfirmedContent {
        let AnswerContent { run, branch, revision, outcome, note, values } = self;
        let content = json!(["portolan answer 1", run, branch, revision, outcome, note, values]);
        ConfirmedContent(Digest::of(content.to_string()))
    }
}

/// The content of a decision about a call that waits for a person. The passkey confirms all of it.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContent<'a> {
    /// The token of the call's question.
    pub token: &'a str,
    /// The decision.
    pub decision: &'a str,
    /// The digest of what is called, by whom and with which arguments.
    pub call: &'a Digest,
}

impl DecisionContent<'_> {
    /// Returns what the passkey confirms.
    pub fn confirmed(&self) -> ConfirmedContent {
        let DecisionContent { token, decision, call } = self;
        ConfirmedContent(Digest::of(json!(["portolan decision 1", token, decision, call]).to_string()))
    }
}

/// The open challenges of one server.
#[derive(Debug, Default)]
pub struct Challenges {
    open: Mutex<VecDeque<OpenChallenge>>,
}

#[derive(Debug)]
struct OpenChallenge {
    challenge: String,
    nonce: [u8; 32],
    at: Timestamp,
}

impl Challenges {
    /// Makes a new challenge, in base64url.
    pub(super) fn make(&self, content: &Digest, now: Timestamp) -> Result<String, ServiceError> {
        let mut nonce = [0_u8; 32];
        getrandom::fill(&mut nonce).map_err(|error| {
            let message = format!("the system provides no random bytes: {error}");
            ServiceError::failed("no_chance", message, "try again")
        })?;
        let challenge = challenge(&nonce, content);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.is_good(now));
        if open.len() >= MAX_OPEN {
            open.pop_front();
        }
        open.push_back(OpenChallenge { challenge: challenge.clone(), nonce, at: now });
        Ok(challenge)
    }

    /// Removes a challenge and checks it. Even a failed check uses it up.
    pub(super) fn take(&self, given: &str, content: &Digest, now: Timestamp) -> Result<(), ServiceError> {
        let taken = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.iter().position(|one| one.challenge == given).and_then(|at| open.remove(at))
        };
        let refused =
            |code, message: &str| Err(ServiceError::refused(code, message, "start again with a new challenge"));
        match taken {
            None => refused("unknown_challenge", "this challenge is not from this server, or was used before"),
            Some(one) if !one.is_good(now) => {
                refused("challenge_expired", "the challenge was valid for two minutes and has expired")
            }
            Some(one) if challenge(&one.nonce, content) != given => {
                refused("other_answer", "what the passkey was asked to confirm differs from this answer")
            }
            Some(_) => Ok(()),
        }
    }
}

impl OpenChallenge {
    /// Checks whether the challenge is still valid. A clock that was set back does not extend it.
    fn is_good(&self, now: Timestamp) -> bool {
        let age = now.0.saturating_sub(self.at.0);
        (0..=i64::from(CHALLENGE_SECONDS) * 1_000).contains(&age)
    }
}

fn challenge(nonce: &[u8; 32], content: &Digest) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::new().chain_update(nonce).chain_update(content.as_str()).finalize())
}
