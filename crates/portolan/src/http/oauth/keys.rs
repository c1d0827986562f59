//! The public keys of an authorization server.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use portolan_core::diagnostic::clip;
use portolan_runtime::http::{client, explained};
use portolan_runtime::service::ServiceError;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

/// How long a document may take to arrive.
const PATIENCE: Duration = Duration::from_secs(4);
/// The most bytes of a document.
const MAX_DOCUMENT: usize = 1 << 20;
/// After how long keys are read again: one that the issuer has withdrawn counts for as long.
const LIFETIME: Duration = Duration::from_mins(15);
/// The shortest time between two readings, since tokens can name keys that never were.
const INTERVAL: Duration = Duration::from_secs(10);

/// The keys of an issuer, which are read again from time to time.
pub(super) struct IssuerKeys {
    issuer: String,
    address: Url,
    client: Client,
    known: RwLock<JwkSet>,
    /// When the keys were last asked for. Held while they are read.
    asked: Mutex<Instant>,
    /// When the keys were last read.
    read: RwLock<Instant>,
}

/// The metadata of an authorization server (RFC 8414), as far as it is used here.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl IssuerKeys {
    /// Finds the keys of an issuer by its metadata.
    ///
    /// # Errors
    /// `no_issuer`
    pub(super) async fn discover(issuer: String) -> Result<IssuerKeys, ServiceError> {
        let refused = |why: String| {
            let message = format!("the authorization server `{}` cannot be used: {why}", clip(&issuer));
            ServiceError::failed(
                "no_issuer",
                message,
                "name the issuer as its metadata does, and check that it answers",
            )
        };
        let client =
            client().timeout(PATIENCE).redirect(Policy::none()).build().map_err(|error| refused(explained(&error)))?;
        let base = Url::parse(&issuer).map_err(|error| refused(error.to_string()))?;
        let mut failures = Vec::new();
        for place in places(&base) {
            match fetched::<Metadata>(&client, place.clone()).await {
                Ok(metadata) if metadata.issuer == issuer => {
                    let address = Url::parse(&metadata.jwks_uri).map_err(|error| refused(error.to_string()))?;
                    let keys = fetched(&client, address.clone()).await;
                    let known = RwLock::new(keys.map_err(|why| refused(format!("`{address}`: {why}")))?);
                    let now = Instant::now();
                    let (asked, read) = (Mutex::new(now), RwLock::new(now));
                    return Ok(IssuerKeys { issuer, address, client, known, asked, read });
                }
                Ok(metadata) => failures.push(format!("`{place}` is of the issuer `{}`", clip(&metadata.issuer))),
                Err(why) => failures.push(format!("`{place}`: {why}")),
            }
        }
        Err(refused(failures.join("; ")))
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the key with which a token is signed. Without an id, it is the only key for the algorithm.
    pub(super) fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut fitting = known.keys.iter().filter(|key| fits(key, id, algorithm));
        let key = fitting.next()?;
        let is_only = id.is_some() || fitting.next().is_none();
        is_only.then(|| DecodingKey::from_jwk(key).ok()).flatten()
    }

    /// Reads the keys again, if none has this id or they are old. Keeps those that are known if that fails.
    pub(super) async fn learn(&self, id: Option<&str>) {
        let is_known = || {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            id.is_none() || known.keys.iter().any(|key| key.common.key_id.as_deref() == id)
        };
        let is_old = || self.read.read().unwrap_or_else(PoisonError::into_inner).elapsed() >= LIFETIME;
        let mut last_request = match is_known() {
            true if !is_old() => return,
            // Old keys are used while another request reads them again.
            true => match self.asked.try_lock() {
                Ok(last_request) => last_request,
                Err(_being_read) => return,
            },
            false => self.asked.lock().await,
        };
        if last_request.elapsed() < INTERVAL || (is_known() && !is_old()) {
            return;
        }
        let fetched = fetched(&self.client, self.address.clone()).await;
        // Those that wait for it find that it was just asked for.
        *last_request = Instant::now();
        match fetched {
            Ok(keys) => {
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = keys;
                *self.read.write().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            Err(why) => tracing::warn!(target: "portolan::note", "the keys of `{}` cannot be read: {why}", self.issuer),
        }
    }
}

/// Returns the places of an issuer's metadata: those of RFC 8414 and of OpenID Connect.
fn places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut place = issuer.clone();
        place.set_path(&path);
        place
    };
    let mut places = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
        at(format!("{path}/.well-known/openid-configuration")),
    ];
    // Without a path the last two are the same.
    places.dedup();
    places
}

/// Checks whether a key can verify a signature of an algorithm, and has the id that a token names.
fn fits(key: &Jwk, id: Option<&str>, algorithm: Algorithm) -> bool {
    let is_for_signatures = key.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let is_of_algorithm = match &key.common.key_algorithm {
        Some(own) => own.to_string().parse::<Algorithm>().is_ok_and(|own| own == algorithm),
        None => DecodingKey::from_jwk(key).is_ok_and(|key| key.family().algorithms().contains(&algorithm)),
    };
    let has_id = id.is_none_or(|id| key.common.key_id.as_deref() == Some(id));
    has_id && is_for_signatures && is_of_algorithm
}

/// Reads a document as JSON.
async fn fetched<T: DeserializeOwned>(client: &Client, address: Url) -> Result<T, String> {
    let is_local = address.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    if address.scheme() != "https" && !is_local {
        return Err("it is not encrypted; only `https` proves who answers".to_owned());
    }
    let mut response = client.get(address).send().await.map_err(|error| explained(&error))?;
    if !response.status().is_success() {
        return Err(format!("the answer is {}", response.status()));
    }
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| explained(&error))? {
        if text.len() + part.len() > MAX_DOCUMENT {
            return Err(format!("it has more than {MAX_DOCUMENT} bytes"));
        }
        text.extend_from_slice(&part);
    }
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use super::*;

    const KEYS: &str = r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "use": "sig",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    /// The keys of an issuer that accepts connections and never answers.
    fn of_hanging_issuer() -> (IssuerKeys, TcpListener) {
        let issuer = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}/keys", issuer.local_addr().expect("an address"));
        let long_ago = Instant::now().checked_sub(LIFETIME * 2).expect("the machine runs for longer");
        let keys = IssuerKeys {
            issuer: "https://issuer.example".to_owned(),
            address: Url::parse(&address).expect("an address"),
            client: client().timeout(Duration::from_secs(2)).build().expect("a client"),
            known: RwLock::new(serde_json::from_str(KEYS).expect("keys")),
            asked: Mutex::new(long_ago),
            read: RwLock::new(Instant::now()),
        };
        (keys, issuer)
    }

    #[tokio::test]
    async fn an_issuer_that_hangs_delays_only_tokens_of_unknown_keys_and_only_once() {
        let (keys, issuer) = of_hanging_issuer();
        let keys = Arc::new(keys);
        let unknown = || {
            let keys = Arc::clone(&keys);
            tokio::spawn(async move { keys.learn(Some("two")).await })
        };
        let waiting = [unknown(), unknown(), unknown()];
        let (_connection, _) = tokio::task::spawn_blocking({
            let issuer = issuer.try_clone().expect("it is open");
            move || issuer.accept().expect("it is asked")
        })
        .await
        .expect("no panic");
        // Tokens of keys that are known are not held up meanwhile, even if the keys are old.
        keys.learn(Some("one")).await;
        *keys.read.write().expect("no panic") = Instant::now().checked_sub(LIFETIME * 2).expect("long ago");
        keys.learn(Some("one")).await;
        assert!(keys.key(Some("one"), Algorithm::EdDSA).is_some());
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        for waiting in waiting {
            waiting.await.expect("no panic");
        }
        assert!(keys.key(Some("one"), Algorithm::EdDSA).is_some(), "what is known is kept");
        // All of them have asked once.
        issuer.set_nonblocking(true).expect("it can be set");
        assert!(issuer.accept().is_err());
    }
}
