//! Challenges that wait for a passkey. One is good once, for a while, and for exactly what it was made for: it is a digest
//! of that, so that what a passkey signs cannot be said to have been anything else.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portolan_core::value::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::error::ServiceError;

/// For so many seconds a challenge is good.
pub const CHALLENGE_SECONDS: u32 = 120;

/// So many wait at a time; the oldest gives way to another one.
const MAX_OPEN: usize = 64;

/// What an answer says, all of which its passkey confirms.
#[derive(Clone, Copy, Debug)]
pub struct AnswerContent<'a> {
    /// The run, as it is named.
    pub run: &'a str,
    /// Which branch, where several wait.
    pub branch: Option<&'a str>,
    /// The revision at which the question was read.
    pub revision: u64,
    /// The answer.
    pub outcome: &'a str,
    /// What is said with it.
    pub note: Option<&'a str>,
    /// Variables that are given values.
    pub values: Option<&'a Map<String, Value>>,
}

impl AnswerContent<'_> {
    pub(super) fn digest(&self) -> Digest {
        let AnswerContent { run, branch, revision, outcome, note, values } = self;
        Digest::of(json!(["portolan answer 1", run, branch, revision, outcome, note, values]).to_string())
    }
}

/// The challenges of one server.
#[derive(Debug, Default)]
pub struct Challenges {
    open: Mutex<VecDeque<Open>>,
}

#[derive(Debug)]
struct Open {
    challenge: String,
    nonce: [u8; 32],
    at: Timestamp,
}

impl Challenges {
    /// Another challenge, in base64url.
    pub(super) fn make(&self, content: &Digest, now: Timestamp) -> Result<String, ServiceError> {
        let mut nonce = [0_u8; 32];
        getrandom::fill(&mut nonce).map_err(|error| {
            let message = format!("the system gives no random bytes: {error}");
            ServiceError::failed("no_chance", message, "try again")
        })?;
        let challenge = challenge(&nonce, content);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.is_good(now));
        if open.len() >= MAX_OPEN {
            open.pop_front();
        }
        open.push_back(Open { challenge: challenge.clone(), nonce, at: now });
        Ok(challenge)
    }

    /// Takes a challenge, whatever comes of it: nobody tries twice with the same one.
    pub(super) fn take(&self, given: &str, content: &Digest, now: Timestamp) -> Result<(), ServiceError> {
        let taken = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.iter().position(|one| one.challenge == given).and_then(|at| open.remove(at))
        };
        let refused =
            |code, message: &str| Err(ServiceError::refused(code, message, "begin anew, with a new challenge"));
        match taken {
            None => refused("unknown_challenge", "this challenge is none of this server's, or was used before"),
            Some(one) if !one.is_good(now) => {
                refused("challenge_expired", "the challenge was good for two minutes, and they are over")
            }
            Some(one) if challenge(&one.nonce, content) != given => {
                refused("other_answer", "what the passkey was asked to confirm is not what is answered here")
            }
            Some(_) => Ok(()),
        }
    }
}

impl Open {
    /// A clock that was put back makes none last longer.
    fn is_good(&self, now: Timestamp) -> bool {
        let age = now.0.saturating_sub(self.at.0);
        (0..=i64::from(CHALLENGE_SECONDS) * 1_000).contains(&age)
    }
}

fn challenge(nonce: &[u8; 32], content: &Digest) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::new().chain_update(nonce).chain_update(content.as_str()).finalize())
}
