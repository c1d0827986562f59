//! The address of runs in Restate.

use std::fmt;
use std::str::FromStr;

use crate::store::BadAddress;

/// The address of a run store in Restate: `restate://HOST:PORT/SPACE`.
///
/// The port is that of the ingress; several servers of a cluster are separated by commas. `restate+https://` encrypts. A
/// space keeps the runs of one project; it is `portolan` if the address names none.
///
/// ```
/// use portolan_runtime::store::RestateAddress;
///
/// let address: RestateAddress = "restate://one:8080,two:8080/shop".parse()?;
/// assert_eq!(address.to_string(), "restate://one:8080,two:8080/shop");
/// # Ok::<(), portolan_runtime::store::BadAddress>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RestateAddress {
    is_encrypted: bool,
    hosts: Vec<String>,
    space: String,
    token: Option<String>,
}

const PLAIN: &str = "restate://";
const ENCRYPTED: &str = "restate+https://";
const DEFAULT_SPACE: &str = "portolan";
const DEFAULT_PORT: u16 = 8080;
/// The longest name of a space: it is a part of every key.
const MOST_LETTERS: usize = 63;

impl RestateAddress {
    /// Checks whether a text is meant as such an address.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PLAIN) || text.starts_with(ENCRYPTED)
    }

    /// Returns the address with a token, which each request carries as `Authorization: Bearer`.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> RestateAddress {
        RestateAddress { token, ..self }
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the URLs of the servers.
    pub(super) fn urls(&self) -> Vec<String> {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        self.hosts.iter().map(|host| format!("{scheme}://{host}")).collect()
    }

    /// Returns the key of an object in this space.
    pub(super) fn key(&self, rest: &str) -> String {
        format!("{}.{rest}", self.space)
    }
}

impl FromStr for RestateAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<RestateAddress, BadAddress> {
        let wrong = |why: &str| {
            BadAddress(format!(
                "the address of the run store is not understood ({why}); write it like `restate://host:8080/space`"
            ))
        };
        let (is_encrypted, rest) = match (text.strip_prefix(PLAIN), text.strip_prefix(ENCRYPTED)) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(wrong("it does not begin with `restate://` or `restate+https://`")),
        };
        let (hosts, space) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts = hosts.split(',').map(host).collect::<Result<_, _>>().map_err(|why| wrong(&why))?;
        let space = if space.is_empty() { DEFAULT_SPACE } else { space };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if space.len() > MOST_LETTERS || !space.chars().all(is_plain) {
            return Err(BadAddress(format!(
                "`{space}` is not a name of a space; use up to {MOST_LETTERS} of a-z, 0-9, `_` and `-`"
            )));
        }
        Ok(RestateAddress { is_encrypted, hosts, space: space.to_owned(), token: None })
    }
}

/// Returns a host with its port.
fn host(text: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(&format!("http://{text}")).map_err(|error| format!("`{text}`: {error}"))?;
    let is_only_host =
        url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.query().is_none();
    match url.host_str() {
        Some(host) if is_only_host && url.fragment().is_none() => {
            // The parser drops the port that is the usual one of HTTP.
            let is_usual = text.ends_with(":80");
            Ok(format!("{host}:{}", url.port().unwrap_or(if is_usual { 80 } else { DEFAULT_PORT })))
        }
        _ => Err(format!("`{text}` is not a host with a port")),
    }
}

/// Without the token.
impl fmt::Display for RestateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { ENCRYPTED } else { PLAIN };
        write!(f, "{scheme}{}/{}", self.hosts.join(","), self.space)
    }
}

impl fmt::Debug for RestateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RestateAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_hosts_and_a_space() {
        for (text, shown) in [
            ("restate://localhost", "restate://localhost:8080/portolan"),
            ("restate://127.0.0.1:18080/", "restate://127.0.0.1:18080/portolan"),
            ("restate://one,two:9,[::1]:80/shop_2", "restate://one:8080,two:9,[::1]:80/shop_2"),
            ("restate+https://cloud.example:443/shop", "restate+https://cloud.example:443/shop"),
        ] {
            let address: RestateAddress = text.parse().expect(text);
            let with_token = address.with_token(Some("secret".to_owned()));
            assert_eq!((with_token.to_string().as_str(), format!("{with_token:?}").contains("secret")), (shown, false));
        }
    }

    #[test]
    fn a_bad_address_is_refused_with_the_reason() {
        for (text, reason) in [
            ("restate://", "not understood"),
            ("restate://ann:secret@host", "is not a host with a port"),
            ("restate://host:port", "`host:port`: invalid port number"),
            ("restate://host/Shop", "`Shop` is not a name of a space; use up to 63"),
            ("restate://host/a/b", "`a/b` is not a name of a space"),
            ("restate://host?x=1", "is not a host with a port"),
            ("http://host", "it does not begin with"),
        ] {
            let why = text.parse::<RestateAddress>().expect_err(text).to_string();
            assert!(why.contains(reason), "{text}: {why}");
        }
    }
}
