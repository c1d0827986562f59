//! The environment of a command. Its output goes to an agent, so variables that look like secrets are removed. Their
//! values are redacted from the output too, because the command may know them from elsewhere.

use std::ffi::OsString;

use super::output::clean;

/// The endings of the names of secrets.
const SECRET_ENDINGS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "SECRET_KEY",
    "CREDENTIALS",
];

/// Shorter values are not redacted: `1` or `test` would redact much of the output.
const SHORTEST_SECRET: usize = 6;

/// An environment, split into public variables and secrets.
pub struct Environment {
    /// The variables that a command receives.
    pub open: Vec<(OsString, OsString)>,
    /// The values to redact, the longest first, because one may contain another.
    secrets: Vec<String>,
}

impl Environment {
    /// Returns the environment of this process.
    pub fn inherited() -> Environment {
        Environment::of(std::env::vars_os())
    }

    /// Splits these variables.
    pub(crate) fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let (secret, open): (Vec<_>, Vec<_>) = variables.into_iter().partition(|(name, _)| is_secret(name));
        // They are compared with cleaned output, so they are cleaned alike.
        let secrets = secret.iter().map(|(_, value)| clean(&value.to_string_lossy()).trim().to_owned());
        let mut secrets: Vec<String> = secrets.filter(|value| value.len() >= SHORTEST_SECRET).collect();
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Environment { open, secrets }
    }

    /// Returns `text` with the values of secrets redacted.
    pub fn redact(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, "[redacted]"),
            false => text,
        })
    }
}

fn is_secret(name: &OsString) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
