//! A notice sent to an address as JSON. Each redirect is checked before anything is sent, and must stay on the same
//! host.

use std::time::Duration;

use portolan_runtime::http;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Url, redirect};

use super::ssrf::look;
use super::{Notice, NotificationFuture, Notifier};

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;
/// The longest notice, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// An address that receives notices.
pub struct Webhook {
    /// Its name.
    pub id: String,
    /// The address.
    pub url: String,
    /// Whether addresses of private networks are allowed.
    pub allow_private: bool,
}

impl Notifier for Webhook {
    fn id(&self) -> &str {
        &self.id
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a> {
        Box::pin(async move {
            match tokio::time::timeout(TIMEOUT, self.post(notice)).await {
                Ok(sent) => sent,
                Err(_elapsed) => Err(format!("it did not answer within {} s", TIMEOUT.as_secs())),
            }
        })
    }
}

impl Webhook {
    async fn post(&self, notice: &Notice) -> Result<(), String> {
        let body = serde_json::to_string(notice).map_err(|error| error.to_string())?;
        if body.len() > MAX_BYTES {
            return Err("the notice is too long".to_owned());
        }
        let mut url = Url::parse(&self.url).map_err(|error| format!("its address is not valid: {error}"))?;
        for _ in 0..=MAX_REDIRECTS {
            let allowed = look(&url, self.allow_private).await?;
            let client = client(&allowed.host, &allowed.addresses)?;
            let request = client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(body.clone());
            // The body of the response is not read.
            let answer = request.send().await.map_err(|error| explained(&error))?;
            if answer.status().is_success() {
                return Ok(());
            }
            if !answer.status().is_redirection() {
                return Err(format!("it answered with status {}", answer.status().as_u16()));
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let next = to.and_then(|to| url.join(to).ok()).ok_or("it redirects without a valid target")?;
            if next.host_str() != url.host_str() || next.scheme() != url.scheme() {
                return Err("it redirects to another host".to_owned());
            }
            url = next;
        }
        Err("it redirects too often".to_owned())
    }
}

fn client(host: &str, addresses: &[std::net::SocketAddr]) -> Result<Client, String> {
    http::client()
        .redirect(redirect::Policy::none())
        // A proxy would resolve the name once more.
        .no_proxy()
        .timeout(TIMEOUT)
        .resolve_to_addrs(host, addresses)
        .build()
        .map_err(|error| explained(&error))
}

/// Returns the cause of a failed request.
fn explained(error: &reqwest::Error) -> String {
    http::cause(error)
        .map_or_else(|| "it cannot be reached".to_owned(), |cause| format!("it cannot be reached: {cause}"))
}
