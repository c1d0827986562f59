//! Keys of providers. A key comes from the environment, is sent only to its provider, and is never shown.

use std::fmt;
use std::sync::Arc;

use portolan_core::present::MASK;
use reqwest::Url;
use reqwest::header::HeaderValue;

use super::OpenError;
use super::name::address;
use super::providers::Provider;
use crate::audit::secrets;

/// A source of environment variables.
#[derive(Clone)]
pub struct Variables(Arc<Lookup>);

/// Returns the value of a variable.
type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Variables {
    /// Returns variables that `lookup` finds.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Variables {
        Variables(Arc::new(lookup))
    }

    /// Returns a variable. An empty one counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}

impl Default for Variables {
    /// Returns the variables of the process.
    fn default() -> Variables {
        Variables::new(|name| std::env::var(name).ok())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}

/// A key.
#[derive(Clone)]
pub(super) struct Key {
    variable: &'static str,
    secret: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.variable)
    }
}

impl Key {
    pub(super) fn variable(&self) -> &'static str {
        self.variable
    }

    /// Returns the value of a header, marked as sensitive so that it is not logged.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("{before}{}", self.secret)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Returns the text without the key, and without anything that looks like one.
pub(super) fn scrubbed(text: &str, key: Option<&Key>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| text.replace(&key.secret, MASK));
    secrets::text(&text)
}

/// The address of a model, and its key.
pub(super) struct Place {
    pub(super) base: Url,
    pub(super) key: Option<Key>,
    /// Whether this is the provider itself.
    pub(super) is_own: bool,
}

/// Returns the address of a provider: that of the model's name, else that of the variable such as `OPENAI_BASE_URL`,
/// else the usual one.
///
/// A key is sent to the provider itself, and to the server that this variable names. An address in a name is untrusted
/// text and gets no key. Otherwise any file that names a model could have the key sent anywhere.
pub(super) fn place(
    provider: &'static Provider,
    named: Option<Url>,
    variables: &Variables,
) -> Result<Place, OpenError> {
    let usual = address(provider, provider.base)?;
    let name = base_variable(provider);
    let chosen = match variables.get(&name) {
        Some(text) => Some(address(provider, &text).map_err(|error| {
            let message = format!("the variable `{name}` does not hold a valid address: {}", error.message);
            OpenError::new(error.code, message, "write it as `https://host/path`, or unset it")
        })?),
        None => None,
    };
    let base = named.or_else(|| chosen.clone()).unwrap_or_else(|| usual.clone());
    let is_own = base.origin() == usual.origin();
    let trusted = is_own || chosen.is_some_and(|chosen| chosen.origin() == base.origin());
    let key = provider.key.filter(|_| trusted);
    let secret = key.and_then(|variable| Some(Key { variable, secret: variables.get(variable)? }));
    if let (Some(variable), None, true, false) = (key, &secret, is_own, provider.key_optional) {
        let message = format!("`{provider}` requires a key, but `{variable}` is not set");
        return Err(OpenError::new("no-key", message, format!("set the environment variable `{variable}`")));
    }
    if secret.as_ref().is_some_and(|key| key.header("").is_none()) {
        let variable = key.unwrap_or_default();
        let message = format!("the key in `{variable}` has characters that cannot be sent");
        return Err(OpenError::new("no-key", message, format!("set `{variable}` to the key only")));
    }
    Ok(Place { base, key: secret, is_own })
}

/// Returns `OPENAI_BASE_URL` for `openai`.
pub(super) fn base_variable(provider: &Provider) -> String {
    format!("{}_BASE_URL", provider.name.to_ascii_uppercase())
}
