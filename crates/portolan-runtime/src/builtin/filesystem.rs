//! Reads files below one folder, and nothing outside it. Symlinks are followed only inside.

mod read;
mod search;

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat};
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, arguments, object, read_only};

/// The maximum number of listed entries of a folder.
const MAX_ENTRIES: usize = 100_000;

/// A folder that is served.
pub(super) struct Filesystem {
    /// The folder with symlinks resolved.
    root: PathBuf,
    /// The folder as it was named, made absolute. Absolute paths of clients may begin with it.
    named: PathBuf,
}

/// The function of a tool. The flag is set when the call is abandoned.
type Work = fn(&Filesystem, Map<String, Value>, &AtomicBool) -> Result<String, String>;

#[derive(Deserialize)]
struct OnePath {
    path: String,
}

pub(super) fn tools() -> Vec<Tool> {
    let path = json!({ "type": "string", "description": "Relative to the served folder, or absolute inside it." });
    let lines = json!({ "type": "integer", "minimum": 1 });
    let patterns = json!({ "type": "array", "items": { "type": "string" } });
    let output = || object(json!({ "content": { "type": "string" } }), &["content"]);
    let one_path = || object(json!({ "path": path }), &["path"]);
    vec![
        read_only(
            "list_directory",
            "Lists a folder, a line for each entry: `[FILE] name` or `[DIR] name`, sorted by name.",
            one_path(),
            output(),
        ),
        read_only(
            "read_text_file",
            "Reads a text file: all of it, or only its first (`head`) or last (`tail`) lines.",
            object(json!({ "path": path, "head": lines, "tail": lines }), &["path"]),
            output(),
        ),
        read_only(
            "search_files",
            "Finds files and folders below a folder by a glob pattern, matched against their path below that \
            folder: `*.md` matches in the folder itself, `**/*.md` at any depth.",
            object(
                json!({ "path": path, "pattern": { "type": "string" }, "excludePatterns": patterns }),
                &["path", "pattern"],
            ),
            output(),
        ),
        read_only("get_file_info", "Returns the size, times and kind of a file or folder.", one_path(), output()),
    ]
}

impl Filesystem {
    pub(super) fn new(root: &Path) -> io::Result<Filesystem> {
        let named = std::path::absolute(root)?;
        let root = root.canonicalize()?;
        match root.is_dir() {
            true => Ok(Filesystem { root, named }),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the folder with symlinks resolved.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Calls a tool. Returns `None` if there is no such tool.
    pub(super) async fn call(self: &Arc<Self>, tool: &str, given: Map<String, Value>) -> Option<Answer> {
        let work: Work = match tool {
            "list_directory" => |files, given, _| files.list(given),
            "read_text_file" => |files, given, _| files.read(given),
            "search_files" => Filesystem::search,
            "get_file_info" => |files, given, _| files.info(given),
            _ => return None,
        };
        let files = Arc::clone(self);
        let stop = Stop::default();
        let stopped = Arc::clone(&stop.0);
        // A disk may hang; blocking threads keep other calls from waiting for it.
        let done = tokio::task::spawn_blocking(move || work(&files, given, &stopped)).await;
        Some(done.unwrap_or_else(|error| Err(format!("the call failed ({error})"))).map(|content| {
            let mut result = CallToolResult::structured(json!({ "content": content }));
            // The content repeats the text for readers that ignore structured results. JSON would only obstruct them.
            result.content = vec![ContentBlock::text(content)];
            result
        }))
    }

    /// Resolves `path` inside the folder. The error says why it may not be used.
    fn find(&self, path: &str) -> Result<PathBuf, String> {
        // First checks the path lexically, so that an error does not reveal whether a file outside exists.
        let below = self.below(path).ok_or_else(|| outside(path))?;
        match self.root.join(below).canonicalize() {
            Ok(found) if found.starts_with(&self.root) => Ok(found),
            Ok(_) => Err(outside(path)),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Makes `path` relative to the folder, resolving every `..` lexically.
    fn below(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let relative = match path.is_absolute() {
            true => path.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.named)).ok()?,
            false => path,
        };
        let mut below = PathBuf::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => below.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !below.pop() {
                        return None;
                    }
                }
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(below)
    }

    fn list(&self, given: Map<String, Value>) -> Result<String, String> {
        let OnePath { path } = arguments("list_directory", given)?;
        let folder = self.find(&path)?;
        let entries = fs::read_dir(&folder).map_err(|error| failed(&path, &error))?;
        let mut lines = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&path, &error))?;
            if lines.len() == MAX_ENTRIES {
                return Err(format!("`{path}` has more than {MAX_ENTRIES} entries; search in it instead"));
            }
            lines.push((shown(&entry.file_name()), self.is_folder(&entry)));
        }
        lines.sort();
        let line = |(name, is_folder): &(String, bool)| format!("[{}] {name}", if *is_folder { "DIR" } else { "FILE" });
        Ok(lines.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    /// Checks for a folder. A symlink counts as its target, if that is inside.
    fn is_folder(&self, entry: &fs::DirEntry) -> bool {
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => {
                entry.path().canonicalize().is_ok_and(|found| found.starts_with(&self.root) && found.is_dir())
            }
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        }
    }

    fn info(&self, given: Map<String, Value>) -> Result<String, String> {
        let OnePath { path } = arguments("get_file_info", given)?;
        let found = self.find(&path)?;
        let data = fs::metadata(found).map_err(|error| failed(&path, &error))?;
        let time = |time: io::Result<SystemTime>| time.ok().and_then(instant).unwrap_or_else(|| "unknown".to_owned());
        let mut lines = vec![
            format!("size: {}", data.len()),
            format!("created: {}", time(data.created())),
            format!("modified: {}", time(data.modified())),
            format!("accessed: {}", time(data.accessed())),
            format!("isDirectory: {}", data.is_dir()),
            format!("isFile: {}", data.is_file()),
        ];
        lines.extend(permissions(&data).map(|permissions| format!("permissions: {permissions}")));
        Ok(lines.join("\n"))
    }
}

/// Set on drop, when the call is abandoned.
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(unix)]
fn permissions(data: &Metadata) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    Some(format!("{:o}", data.permissions().mode() & 0o777))
}

#[cfg(not(unix))]
fn permissions(_data: &Metadata) -> Option<String> {
    None
}

fn instant(time: SystemTime) -> Option<String> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let time = DateTime::from_timestamp(since.as_secs().try_into().ok()?, since.subsec_nanos())?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Formats a name as one line of text, escaping control characters.
fn shown(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let mut shown = String::with_capacity(name.len());
    for char in name.chars() {
        match char.is_control() {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

fn outside(path: &str) -> String {
    format!("`{path}` is outside the served folder; name a path inside it")
}

fn failed(path: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("`{path}` does not exist"),
        ErrorKind::PermissionDenied => format!("reading `{path}` is not allowed"),
        ErrorKind::NotADirectory => format!("`{path}` is not a folder"),
        _ => format!("`{path}` cannot be read ({error})"),
    }
}
