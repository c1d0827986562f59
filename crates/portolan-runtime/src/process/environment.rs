//! What a command gets to see of the environment. Its output goes to an agent, so variables that look like secrets
//! are kept from it, and their values are struck out of what it prints: it may know them from elsewhere.

use std::ffi::OsString;

use super::output::clean;

/// How the names of secrets end.
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

/// Shorter values are not struck out: `1` or `test` would take half of the output with it.
const SHORTEST_SECRET: usize = 6;

/// An environment, parted.
pub(crate) struct Environment {
    /// What a command may see.
    pub(crate) open: Vec<(OsString, OsString)>,
    /// The values that nobody is to read, the longest first: one may contain another.
    secrets: Vec<String>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn inherited() -> Environment {
        Environment::of(std::env::vars_os())
    }

    /// The environment of these variables.
    pub(crate) fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let (secret, open): (Vec<_>, Vec<_>) = variables.into_iter().partition(|(name, _)| is_secret(name));
        // Compared with cleaned output, so cleaned alike.
        let secrets = secret.iter().map(|(_, value)| clean(&value.to_string_lossy()).trim().to_owned());
        let mut secrets: Vec<String> = secrets.filter(|value| value.len() >= SHORTEST_SECRET).collect();
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Environment { open, secrets }
    }

    /// `text` without the values of secrets.
    pub(crate) fn redact(&self, text: String) -> String {
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
