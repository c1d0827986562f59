//! The ids of tasks. An id has all that a later process needs: who made the call, when, of what tool, about which run.

use data_encoding::BASE64URL_NOPAD;
use portolan_core::value::Timestamp;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::digest::Digest;
use portolan_runtime::store::RunId;

/// How long a task is known, from its creation.
pub(super) const LIFETIME_MS: u64 = 60 * 60 * 1_000;
/// The beginning of every id.
const FORM: &str = "pt1";
/// The longest path of a task file in an id: clients send ids in a header.
const MOST_PATH_BYTES: usize = 400;

/// Who made a call: a project and a client, as a digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner(String);

impl Owner {
    pub(super) fn of(project: &str, client: &str) -> Owner {
        Owner(Digest::of_parts([project.as_bytes(), client.as_bytes()]).as_str()[..16].to_owned())
    }
}

/// A call about a run, whose result the toolset can replace by where the run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mcp) struct RecalledCall {
    /// The tool.
    pub(in crate::mcp) tool: String,
    /// The handle of the run, or the path of its task file.
    pub(in crate::mcp) run: RunName,
}

/// The name of a run that outlives a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum RunName {
    /// The handle of a stored run.
    Handle(RunId),
    /// The path of a task file.
    TaskFile(String),
}

impl RunName {
    /// Returns the address of the run.
    pub(in crate::mcp) fn address(&self) -> Address {
        match self {
            RunName::Handle(id) => Address::Stored(id.clone()),
            RunName::TaskFile(path) => Address::Task(path.clone()),
        }
    }
}

/// The id of a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskId {
    owner: Owner,
    created: i64,
    /// The whole id, with 80 random bits.
    text: String,
}

impl TaskId {
    /// Creates an id. Only a tool with a name of letters, digits and `_` is recalled.
    pub(super) fn new(owner: Owner, tool: &str, run: Option<RunName>) -> TaskId {
        let created = Clock::System.now().0;
        let random = format!("{}{}", RunId::random(), RunId::random());
        let mut text = format!("{FORM}.{created}.{}.{random}", owner.0);
        let is_plain = tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match run.filter(|_| is_plain) {
            Some(RunName::Handle(id)) => text += &format!(".{tool}.h{id}"),
            Some(RunName::TaskFile(path)) if path.len() <= MOST_PATH_BYTES => {
                text += &format!(".{tool}.f{}", BASE64URL_NOPAD.encode(path.as_bytes()));
            }
            Some(RunName::TaskFile(_)) | None => {}
        }
        TaskId { owner, created, text }
    }

    /// Reads an id. Returns `None` if it is none.
    pub(super) fn read(text: &str) -> Option<TaskId> {
        let mut parts = text.split('.');
        let (form, created, owner) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let (_random, count) = (parts.next()?, parts.count());
        let id = TaskId { owner: Owner(owner.to_owned()), created, text: text.to_owned() };
        (form == FORM && (count == 0 || count == 2 && id.call().is_some())).then_some(id)
    }

    /// Returns the call, if it was about a run that outlives a process.
    pub(super) fn call(&self) -> Option<RecalledCall> {
        let mut parts = self.text.split('.').skip(4);
        let (tool, run) = (parts.next()?.to_owned(), parts.next()?);
        let run = match run.split_at_checked(1)? {
            ("h", handle) => RunName::Handle(RunId::parse(handle)?),
            ("f", path) => RunName::TaskFile(String::from_utf8(BASE64URL_NOPAD.decode(path.as_bytes()).ok()?).ok()?),
            _ => return None,
        };
        Some(RecalledCall { tool, run })
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the time of its creation, as clients read it.
    pub(super) fn created(&self) -> String {
        rfc3339(Timestamp(self.created))
    }

    pub(super) fn is_expired(&self) -> bool {
        let age = Clock::System.now().0.saturating_sub(self.created);
        age < 0 || age.unsigned_abs() > LIFETIME_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner::of("/project", "ada")
    }

    #[test]
    fn an_id_tells_its_call() {
        let run = RunName::Handle(RunId::random());
        let id = TaskId::new(owner(), "Next", Some(run.clone()));
        let read = TaskId::read(id.text()).expect("it is one");
        assert_eq!((&read, read.is_expired()), (&id, false));
        assert_eq!(read.call(), Some(RecalledCall { tool: "Next".to_owned(), run }));
        let file = RunName::TaskFile("tasks/a b.json".to_owned());
        assert_eq!(TaskId::new(owner(), "Next", Some(file.clone())).call().map(|call| call.run), Some(file));
    }

    #[test]
    fn an_id_without_a_run_has_no_call() {
        for id in [
            TaskId::new(owner(), "Next", None),
            TaskId::new(owner(), "a.b", Some(RunName::Handle(RunId::random()))),
            TaskId::new(owner(), "Next", Some(RunName::TaskFile("x".repeat(MOST_PATH_BYTES + 1)))),
        ] {
            assert_eq!(TaskId::read(id.text()).expect("it is one").call(), None);
        }
    }

    #[test]
    fn what_is_no_id_is_not_read() {
        let id = TaskId::new(owner(), "Next", None);
        for odd in ["", "x", "pt1", "pt1.1.2", "pt2.1.2.3", "pt1.x.2.3", &format!("{}.Next", id.text())] {
            assert_eq!(TaskId::read(odd), None, "{odd}");
        }
        assert!(TaskId::read("pt1.1.2.3").expect("it is one").is_expired());
        assert!(TaskId::read("pt1.9223372036854775807.2.3").expect("it is one").is_expired(), "it is of the future");
    }

    #[test]
    fn owners_differ_by_project_and_client() {
        assert_ne!(owner(), Owner::of("/project", "ben"));
        assert_ne!(owner(), Owner::of("/other", "ada"));
    }
}
