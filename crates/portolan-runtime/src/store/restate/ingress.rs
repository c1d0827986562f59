//! Requests to Restate's ingress. Each may be made again: the objects recognise a request that they have carried out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::address::RestateAddress;
use crate::http;
use crate::nesting;
use crate::store::StoreError;

/// The servers of a cluster.
pub(super) struct Ingress {
    address: RestateAddress,
    client: OnceLock<Result<Client, StoreError>>,
    /// The place of the server that answered last.
    preferred: AtomicUsize,
}

/// A request that was not carried out, or whose result is not known.
enum Failure {
    /// The server may carry it out if it is asked again, or another server.
    Passing(String),
    Final(StoreError),
}

/// The time for which a request is repeated while no server carries it out.
const PATIENCE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time before a request is repeated, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// The largest answer, in bytes: above the largest message of Restate.
const MOST_BYTES: usize = 64 << 20;

impl Ingress {
    pub(super) fn at(address: RestateAddress) -> Ingress {
        Ingress { address, client: OnceLock::new(), preferred: AtomicUsize::new(0) }
    }

    pub(super) fn address(&self) -> &RestateAddress {
        &self.address
    }

    /// Calls a handler without an input.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        object: &str,
        key: &str,
        handler: &str,
    ) -> Result<T, StoreError> {
        self.request(object, key, handler, None).await
    }

    /// Calls a handler.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        object: &str,
        key: &str,
        handler: &str,
        input: &impl Serialize,
    ) -> Result<T, StoreError> {
        let input = serde_json::to_vec(input).expect("inputs are structs, texts and numbers");
        self.request(object, key, handler, Some(input)).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        object: &str,
        key: &str,
        handler: &str,
        input: Option<Vec<u8>>,
    ) -> Result<T, StoreError> {
        let path = format!("{object}/{}/{handler}", self.address.key(key));
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        let urls = self.address.urls();
        loop {
            let place = self.preferred.load(Ordering::Relaxed) % urls.len();
            let why = match self.once(&format!("{}/{path}", urls[place]), input.clone()).await {
                Ok(bytes) => return self.read(object, &bytes),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(why)) => why,
            };
            if begun.elapsed() + pause > PATIENCE {
                return Err(StoreError::Unavailable(format!(
                    "`{}` does not answer ({why}): start Restate and `portolan-restate`, or correct the address, then \
                     try again",
                    self.address
                )));
            }
            self.preferred.store((place + 1) % urls.len(), Ordering::Relaxed);
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn once(&self, url: &str, input: Option<Vec<u8>>) -> Result<Vec<u8>, Failure> {
        let mut request = self.client()?.post(url).timeout(PATIENCE);
        if let Some(token) = self.address.token() {
            request = request.bearer_auth(token);
        }
        if let Some(input) = input {
            request = request.header("content-type", "application/json").body(input);
        }
        let response = request.send().await.map_err(|error| passing(&error))?;
        let status = response.status();
        let bytes = body(response).await?;
        match status {
            status if status.is_success() => Ok(bytes),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Failure::Passing(message(status, &bytes))),
            status => Err(Failure::Final(self.refused(status, &bytes))),
        }
    }

    fn client(&self) -> Result<&Client, StoreError> {
        let client = self.client.get_or_init(|| {
            let builder = http::client().connect_timeout(CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
            builder.build().map_err(|error| {
                StoreError::Unavailable(format!(
                    "no client for `{}` can be made ({}): check the system's certificates",
                    self.address,
                    http::explained(&error)
                ))
            })
        });
        client.as_ref().map_err(StoreError::clone)
    }

    fn refused(&self, status: StatusCode, bytes: &[u8]) -> StoreError {
        let (address, message) = (&self.address, message(status, bytes));
        match status {
            StatusCode::NOT_FOUND => StoreError::Unavailable(format!(
                "`{address}` does not know the objects of Portolan ({message}): start `portolan-restate`, and register \
                 it with `restate deployments register`"
            )),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => StoreError::Unavailable(format!(
                "`{address}` refuses the request ({message}): put a valid token into `RESTATE_AUTH_TOKEN`"
            )),
            StatusCode::CONFLICT => StoreError::Corrupt(format!(
                "`{address}` has a run of a newer release ({message}): start the `portolan-restate` of that release, and \
                 register it"
            )),
            StatusCode::PAYLOAD_TOO_LARGE => StoreError::Failed {
                code: "too_large",
                message: format!("`{address}` does not store so much at once ({message})"),
                help: "raise the limit of messages in Restate's configuration, or keep large data in files".to_owned(),
            },
            _ => StoreError::Unavailable(format!(
                "`{address}` failed ({message}): look into the logs of Restate and of `portolan-restate`"
            )),
        }
    }

    fn read<T: DeserializeOwned>(&self, object: &str, bytes: &[u8]) -> Result<T, StoreError> {
        let bytes = if bytes.is_empty() { b"null" } else { bytes };
        nesting::read(bytes).map_err(|why| {
            StoreError::Corrupt(format!(
                "the answer of `{object}` at `{}` cannot be read ({why}): use the `portolan-restate` of this release",
                self.address
            ))
        })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Final(error)
    }
}

fn passing(error: &reqwest::Error) -> Failure {
    Failure::Passing(http::explained(error))
}

async fn body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| passing(&error))? {
        if bytes.len() + chunk.len() > MOST_BYTES {
            let message = "the answer of the run store is larger than 64 MiB: keep large data in files".to_owned();
            return Err(Failure::Final(StoreError::Unavailable(message)));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the message of an answer that is an error.
fn message(status: StatusCode, bytes: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Fault {
        message: String,
    }
    let parsed = nesting::read::<Fault>(bytes).map(|fault| fault.message);
    let line = parsed.ok().and_then(|message| message.lines().next().map(str::to_owned));
    line.unwrap_or_else(|| format!("status {status}"))
}
