//! What has changed in a repository since a moment: what was checked out then is in its history, and of what was not
//! committed then it is kept what it was known by. So nothing is written into the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use portolan_core::gates::facts::Unknown;
use portolan_core::gates::names::is_oid;
use serde::{Deserialize, Serialize};

use super::Repository;
use super::git::Git;
use crate::digest::Digest;
use crate::disk::{self, LOCK_FILE};
use crate::program::unknown;

/// The most files that are not committed, for it to be noted how all stand.
const MOST_LOOSE: usize = 1_000;
/// The largest file that is looked into.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// The most files that are told.
const MOST_FILES: usize = 500;
/// The most files whose changes are told line by line.
const MOST_DIFFS: usize = 100;
/// How much is told of all of them, line by line.
const MOST_BYTES: usize = 200 * 1024;
/// What stands for the content of a file that is not there, and of one that is not looked into.
const GONE: &str = "gone";
const LARGE: &str = "large";

/// How the files of a repository stand at a moment: what is checked out, and what each file that is not committed is
/// known by. Nothing of what is in them is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The commit that is checked out.
    pub commit: String,
    loose: BTreeMap<String, String>,
}

/// What has changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The files, by their paths in the repository.
    pub files: Vec<ChangedFile>,
    /// Whether there is more than is told.
    pub cut: bool,
}

/// A file that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Whether it was `added`, `changed` or `removed`.
    pub how: &'static str,
    /// The changes, line by line; nothing where they are not told.
    pub diff: Option<String>,
    /// Why they are not told.
    pub note: Option<&'static str>,
}

const BINARY: &str = "it is no text";
const MIXED: &str = "it had changes that were not committed when the step began, and how it stood then is not kept";
const LONG: &str = "it is more than is shown";

impl Repository {
    /// How the files stand now.
    ///
    /// # Errors
    /// There is no repository or no commit, or too much that is not committed; or git cannot say.
    pub async fn standing(&self) -> Result<Standing, Unknown> {
        let git = Git::open(self.project(), &self.environment).await?;
        let commit = git.head_oid().await?.ok_or_else(|| unknown("no-commit", "nothing is committed yet"))?;
        let loose = git.loose().await?;
        if loose.len() > MOST_LOOSE {
            return Err(unknown("too-much", format!("more than {MOST_LOOSE} files are not committed")));
        }
        let loose = loose.into_keys().map(|path| (content(&git.top.join(&path)), path));
        Ok(Standing { commit, loose: loose.map(|(content, path)| (path, content)).collect() })
    }

    /// What has changed since the files stood so.
    ///
    /// # Errors
    /// What was checked out then is not there any more; or git cannot say.
    pub async fn changes_since(&self, then: &Standing) -> Result<Changes, Unknown> {
        if !is_oid(&then.commit) {
            return Err(unknown("no-commit", "what was checked out then is named by no commit"));
        }
        let git = Git::open(self.project(), &self.environment).await?;
        let mut found = git.differing(&then.commit).await?;
        for (path, is_new) in git.loose().await? {
            if is_new {
                found.insert(path, Differs { how: "added", is_binary: false, is_new });
            }
        }
        // What was not committed then may be as it was committed by now.
        let known: BTreeSet<&String> = found.keys().collect();
        let lost: Vec<String> = then.loose.keys().filter(|path| !known.contains(path)).cloned().collect();
        for path in lost {
            let how = if git.top.join(&path).symlink_metadata().is_ok() { "changed" } else { "removed" };
            found.insert(path, Differs { how, is_binary: false, is_new: false });
        }
        let mut telling = Telling { git: &git, then, told: Changes::default(), left: MOST_BYTES, diffs: 0 };
        // What Portolan locks folders with is nobody's change.
        let is_lock = |path: &str| Path::new(path).file_name().is_some_and(|name| name == LOCK_FILE);
        for (path, differs) in found.into_iter().filter(|(path, _)| !is_lock(path)) {
            telling.tell(path, &differs).await?;
        }
        Ok(telling.told)
    }
}

/// How a file differs from what was committed.
pub(super) struct Differs {
    pub(super) how: &'static str,
    pub(super) is_binary: bool,
    /// Whether git does not know it.
    pub(super) is_new: bool,
}

struct Telling<'t> {
    git: &'t Git,
    then: &'t Standing,
    told: Changes,
    /// How many bytes may still be told.
    left: usize,
    diffs: usize,
}

impl Telling<'_> {
    async fn tell(&mut self, path: String, differs: &Differs) -> Result<(), Unknown> {
        let file = self.git.top.join(&path);
        let before = self.then.loose.get(&path);
        if before.is_some_and(|before| before != LARGE && *before == content(&file)) {
            return Ok(());
        }
        if self.told.files.len() >= MOST_FILES {
            self.told.cut = true;
            return Ok(());
        }
        let (diff, note) = match before {
            Some(_) => (None, Some(MIXED)),
            None if differs.is_binary => (None, Some(BINARY)),
            None if self.left == 0 || self.diffs >= MOST_DIFFS => (None, Some(LONG)),
            None => self.lines(&path, &file, differs).await?,
        };
        self.told.cut |= note == Some(LONG);
        self.told.files.push(ChangedFile { path, how: differs.how, diff, note });
        Ok(())
    }

    async fn lines(
        &mut self,
        path: &str,
        file: &Path,
        differs: &Differs,
    ) -> Result<(Option<String>, Option<&'static str>), Unknown> {
        self.diffs += 1;
        let text = match differs.is_new {
            false => self.git.diff(&self.then.commit, path).await?,
            true => match disk::bytes(file, MOST_FILE_BYTES) {
                Ok(Some(bytes)) if !bytes.contains(&0) => match String::from_utf8(bytes) {
                    Ok(text) => text.lines().map(|line| format!("+{line}\n")).collect(),
                    Err(_) => return Ok((None, Some(BINARY))),
                },
                Ok(Some(_)) => return Ok((None, Some(BINARY))),
                _ => return Ok((None, Some(LONG))),
            },
        };
        let fits = text.len() <= self.left;
        let end = text.floor_char_boundary(self.left.min(text.len()));
        self.left -= end;
        Ok((Some(text[..end].to_owned()), (!fits).then_some(LONG)))
    }
}

/// What the content of a file is known by.
fn content(file: &Path) -> String {
    match disk::bytes(file, MOST_FILE_BYTES) {
        Ok(Some(bytes)) => Digest::of(bytes).to_string(),
        Err(error) if error.kind() == ErrorKind::NotFound => GONE.to_owned(),
        _ => LARGE.to_owned(),
    }
}
