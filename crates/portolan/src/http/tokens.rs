//! The tokens of several clients: a file with a line each, which has names and scopes, and no token.
//!
//! ```text
//! # comment
//! NAME SCOPE[,SCOPE…] SHA-256 of the token in hexadecimal [PROJECT[,PROJECT…]]
//! ```
//! A token has 256 random bits, so its digest needs no salt and no slow function.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use portolan_core::diagnostic::clip;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk::{self, Stamp};
use portolan_runtime::service::ServiceError;

use super::principal::{Principal, Scope, Scopes};
use super::project_path::is_project_name;

/// The most bytes of a file of tokens.
const MAX_BYTES: u64 = 4 << 20;
/// The most faults that are named.
const MAX_FAULTS: usize = 10;
/// The most characters of a name.
const MAX_NAME: usize = 64;
/// The beginning of a token, by which scanners for leaked secrets find it.
pub(crate) const PREFIX: &str = "portolan_";

/// A line of the file.
#[derive(Clone, Debug)]
pub(crate) struct IssuedToken {
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Scopes,
    /// The projects that it is for. `None` if it is for all.
    pub(crate) projects: Option<Arc<BTreeSet<String>>>,
    digest: Digest,
}

/// The tokens of a file, which is read again when it has changed: a token that is removed is refused from then on.
pub(crate) struct TokenFile {
    path: PathBuf,
    read: Mutex<TokensRead>,
}

struct TokensRead {
    /// The stamp before it was read. `None` if a later change might not show in it, so that it must be read again.
    stamp: Option<Stamp>,
    tokens: BTreeMap<Digest, Principal>,
}

impl TokenFile {
    /// Opens a file of tokens.
    ///
    /// # Errors
    /// The file cannot be read, or has faults.
    pub(crate) fn open(path: PathBuf) -> Result<TokenFile, ServiceError> {
        let stamp = settled(&path);
        let tokens = by_digest(issued(&path)?);
        Ok(TokenFile { path, read: Mutex::new(TokensRead { stamp, tokens }) })
    }

    /// Checks whether no token is issued yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).tokens.is_empty()
    }

    /// Returns the holder of a token. None are admitted while the file cannot be read or has faults.
    pub(crate) fn holder(&self, token: &[u8]) -> Option<Principal> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.stamp.is_none() || read.stamp != Stamp::of(&self.path) {
            let stamp = settled(&self.path);
            let issued = issued(&self.path);
            if let Err(error) = &issued {
                tracing::warn!(target: "portolan::note", "nobody is admitted: {error}");
            }
            *read = TokensRead { stamp, tokens: issued.map(by_digest).unwrap_or_default() };
        }
        // The digest of a guess says nothing about how near it is, so that the search need not take constant time.
        read.tokens.get(&Digest::of(token)).cloned()
    }
}

/// Returns the stamp of a file that has not changed for a while.
fn settled(path: &Path) -> Option<Stamp> {
    Stamp::of(path).filter(|stamp| stamp.is_settled(SystemTime::now()))
}

fn by_digest(issued: Vec<IssuedToken>) -> BTreeMap<Digest, Principal> {
    let by_digest =
        |it: IssuedToken| (it.digest, Principal { name: Some(it.name), scopes: it.scopes, projects: it.projects });
    issued.into_iter().map(by_digest).collect()
}

/// Reads the lines of a file of tokens.
///
/// # Errors
/// `no_tokens` if the file cannot be read, `bad_tokens` with all its faults.
pub(crate) fn issued(path: &Path) -> Result<Vec<IssuedToken>, ServiceError> {
    let text = text(path)?;
    let (mut tokens, mut faults): (Vec<IssuedToken>, Vec<String>) = (Vec::new(), Vec::new());
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        match parsed(line) {
            Ok(token) if tokens.iter().any(|known| known.name == token.name) => {
                faults.push(format!("line {at}: `{}` has a token already", token.name));
            }
            Ok(token) => tokens.push(token),
            Err(why) => faults.push(format!("line {at}: {why}")),
        }
    }
    match faults.is_empty() {
        true => Ok(tokens),
        false => {
            let more = faults.len().saturating_sub(MAX_FAULTS);
            faults.truncate(MAX_FAULTS);
            faults.extend((more > 0).then(|| format!("and {more} more")));
            let message = format!("the file of tokens `{}` has faults: {}", path.display(), faults.join("; "));
            Err(ServiceError::refused(
                "bad_tokens",
                message,
                "remove these lines in an editor, and issue their tokens again",
            ))
        }
    }
}

/// Reads the text of a file of tokens.
fn text(path: &Path) -> Result<String, ServiceError> {
    let refused = |why: String, help: &str| {
        let message = format!("the file of tokens `{}` cannot be read: {why}", path.display());
        ServiceError::refused("no_tokens", message, help)
    };
    let new = "issue a token with `portolan token new NAME --scope … --file FILE`";
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => refused("there is none".to_owned(), new),
        _ => refused(error.to_string(), "make it readable for the user of the server"),
    })?;
    // Anything else could be read for ever.
    if !metadata.is_file() {
        return Err(refused("it is not a file".to_owned(), "name a file"));
    }
    if !is_only_written_by_owner(&metadata) {
        let help = "make it a file of this user or of root, and let nobody else write to it: `chmod go-w FILE`";
        return Err(refused("other users can write to it".to_owned(), help));
    }
    // A link is followed: secrets of Kubernetes are links.
    let bytes = path.canonicalize().and_then(|file| disk::bytes(&file, MAX_BYTES));
    let bytes = bytes.map_err(|error| refused(error.to_string(), "make it readable for this user"))?;
    let Some(bytes) = bytes else {
        return Err(refused(format!("it has more than {MAX_BYTES} bytes"), "divide it among several servers"));
    };
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string(), "make it a text in UTF-8"))?;
    // Some editors put it at the beginning.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(unix)]
fn is_only_written_by_owner(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_trusted = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    is_trusted && metadata.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_only_written_by_owner(_metadata: &fs::Metadata) -> bool {
    true
}

fn parsed(line: &str) -> Result<IssuedToken, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, scopes, digest, projects) = match *words.as_slice() {
        [name, scopes, digest] => (name, scopes, digest, None),
        [name, scopes, digest, projects] => (name, scopes, digest, Some(projects)),
        _ => return Err("a line has a name, scopes and a digest, and perhaps projects".to_owned()),
    };
    check_name(name)?;
    let scope = |name: &str| Scope::named(name).ok_or_else(|| format!("there is no scope `{}`", clip(name)));
    let scopes = scopes.split(',').map(scope).collect::<Result<Scopes, String>>()?;
    let digest = Digest::try_from(digest.to_owned())?;
    let projects = projects.map(|names| names.split(',').map(project_name).collect::<Result<_, String>>());
    Ok(IssuedToken { name: name.into(), scopes, projects: projects.transpose()?.map(Arc::new), digest })
}

/// Returns the name of a project, which must be one that a folder of projects can have.
pub(crate) fn project_name(name: &str) -> Result<String, String> {
    match is_project_name(name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "`{}` is not the name of a project: letters, digits and the characters `.`, `_` and `-`, not beginning with `.`",
            clip(name)
        )),
    }
}

/// Checks the name of a token's holder: it stands in journals, beside the name that the client gives itself.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    match !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "the name `{}` is not 1 to {MAX_NAME} letters, digits and the characters `.`, `_`, `-` and `@`",
            clip(name)
        )),
    }
}

/// Returns the line of a token in a file.
pub(crate) fn line(name: &str, scopes: Scopes, token: &str, projects: &[String]) -> String {
    let line = format!("{name} {} {} {}", scopes.names().join(","), Digest::of(token), projects.join(","));
    format!("{}\n", line.trim_end())
}
