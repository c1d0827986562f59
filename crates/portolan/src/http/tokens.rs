//! The tokens of several clients: a file with a line each, which has names and scopes, and no token.
//!
//! ```text
//! # comment
//! NAME SCOPE[,SCOPE…] SHA-256 of the token in hexadecimal
//! ```
//! A token has 256 random bits, so its digest needs no salt and no slow function.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use portolan_core::diagnostic::clip;
use portolan_runtime::service::ServiceError;
use ring::digest::{SHA256, digest};

use super::principal::{Principal, Scope, Scopes};

/// The most bytes of a file of tokens.
const MAX_BYTES: u64 = 4 << 20;
/// The most faults that are named.
const MAX_FAULTS: usize = 10;
/// The most characters of a name.
const MAX_NAME: usize = 64;
/// The beginning of a token, by which scanners for leaked secrets find it.
pub(crate) const PREFIX: &str = "portolan_";

/// A SHA-256 digest.
type Digest = [u8; 32];

/// A line of the file.
#[derive(Clone, Debug)]
pub(crate) struct IssuedToken {
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Scopes,
    digest: Digest,
}

/// The tokens of a file, which is read again when it has changed: a token that is removed is refused from then on.
pub(crate) struct TokenFile {
    path: PathBuf,
    read: Mutex<TokensRead>,
}

struct TokensRead {
    stamp: Option<Stamp>,
    tokens: BTreeMap<Digest, Principal>,
}

/// What changes with the contents of a file.
type Stamp = (u64, SystemTime, u64);

impl TokenFile {
    /// Opens a file of tokens.
    ///
    /// # Errors
    /// The file cannot be read, or has faults.
    pub(crate) fn open(path: PathBuf) -> Result<TokenFile, ServiceError> {
        let stamp = stamp(&path);
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
        let now = stamp(&self.path);
        if now != read.stamp {
            let issued = issued(&self.path);
            if let Err(error) = &issued {
                tracing::warn!(target: "portolan::note", "nobody is admitted: {error}");
            }
            read.tokens = issued.map(by_digest).unwrap_or_default();
            read.stamp = now;
        }
        // The digest of a guess says nothing about how near it is, so that the search need not take constant time.
        read.tokens.get(&digest_of(token)).cloned()
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Some((metadata.len(), metadata.modified().ok()?, inode))
}

fn by_digest(issued: Vec<IssuedToken>) -> BTreeMap<Digest, Principal> {
    issued.into_iter().map(|it| (it.digest, Principal { name: Some(it.name), scopes: it.scopes })).collect()
}

fn digest_of(token: &[u8]) -> Digest {
    let mut bytes = Digest::default();
    bytes.copy_from_slice(digest(&SHA256, token).as_ref());
    bytes
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
    let mut text = String::new();
    let file = File::open(path).map_err(|error| refused(error.to_string(), "make it readable for this user"))?;
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| refused(error.to_string(), "make it a text in UTF-8"))?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(refused(format!("it has more than {MAX_BYTES} bytes"), "divide it among several servers")),
        // Some editors put it at the beginning.
        false => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
    }
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
    let &[name, scopes, digest] = words.as_slice() else {
        return Err("a line has a name, scopes and a digest".to_owned());
    };
    check_name(name)?;
    let scope = |name: &str| Scope::named(name).ok_or_else(|| format!("there is no scope `{}`", clip(name)));
    let scopes = scopes.split(',').map(scope).collect::<Result<Scopes, String>>()?;
    let digest = decoded(digest).ok_or("the digest is not 64 hexadecimal digits")?;
    Ok(IssuedToken { name: name.into(), scopes, digest })
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

fn decoded(hex: &str) -> Option<Digest> {
    let mut bytes = Digest::default();
    if hex.len() != 2 * bytes.len() || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..hex.len()).step_by(2)) {
        *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns the line of a token in a file.
pub(crate) fn line(name: &str, scopes: Scopes, token: &str) -> String {
    let digest: String = digest_of(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {} {digest}\n", scopes.names().join(","))
}
