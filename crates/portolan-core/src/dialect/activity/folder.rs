//! Activities in files of their own: the folder that a workflow names, and how the files become part of the workflow.
//!
//! The reader of the file system looks the files up; they arrive as parts of the source.

use super::activities::{Activity, read_activity};
use super::reader::Reader;
use super::syntax::File;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::FaultList;
use crate::source::{self, Source, Span, Tree, TreeKind};

/// The default folder of activities.
const USUAL: &str = "activities";

/// Returns whether a file name is that of an activity: two digits, a dash, a name.
pub fn is_activity_file(name: &str) -> bool {
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    matches!(stem.as_bytes(), [tens, ones, b'-', _, ..] if tens.is_ascii_digit() && ones.is_ascii_digit())
}

/// Returns the diagnostic for a definition in that folder with any other name.
pub fn not_an_activity(name: &str) -> Diagnostic {
    let fault = Diagnostic::warning("bad-file-name", format!("`{}` is not read as an activity", clip(name)));
    let help = "an activity's file name has two digits, a dash and a name, such as `01-look-around.yaml`: rename \
        the file, or move it away";
    fault.help(help)
}

/// The folder of a workflow's activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivitiesFolder {
    /// The folder, relative to that of the workflow. Its words never lead out of it.
    pub path: String,
    /// The span that names it; `None` for the default.
    pub named: Option<Span>,
    /// The span of activities in the workflow's own file, which exclude activities in other files.
    pub own: Option<Span>,
    /// Whether the text by itself is certainly a workflow of activities.
    pub is_sure: bool,
}

/// Returns the folder of a workflow's activities; `None` for a text that cannot have one.
///
/// A folder that leads elsewhere gives `None` as well, and reading the workflow reports it.
pub fn activities_folder(source: &Source) -> Option<ActivitiesFolder> {
    let tree = source::parse(source).0?;
    let has = |key: &str| tree.get(key).is_some();
    if ["nodes", "edges", "tools", "mcpServers"].into_iter().any(has) || !has("id") {
        return None;
    }
    let key = |key: &str| {
        let entry = tree.entries()?.iter().rfind(|entry| entry.key.value == key)?;
        Some(entry.key.span)
    };
    let named = tree.get("activitiesDir");
    let path = named.map_or(Some(USUAL), Tree::as_str)?;
    is_inside(path).then(|| ActivitiesFolder {
        path: path.to_owned(),
        named: named.map(|tree| tree.span),
        own: key("activities"),
        is_sure: ["activities", "initialActivity", "activitiesDir"].into_iter().any(has)
            || ["version", "title"].into_iter().all(has),
    })
}

/// Returns the files that a workflow lists as its activities, as written: `01-look.yaml` of its own, or
/// `other/02-mend.yaml` of another workflow beside it.
pub fn activity_files(source: &Source) -> Vec<String> {
    let Some(tree) = source::parse(source).0 else { return Vec::new() };
    let Some(Tree { kind: TreeKind::Array(items), .. }) = tree.get("activities") else { return Vec::new() };
    items.iter().filter_map(Tree::as_str).map(str::to_owned).collect()
}

/// Returns whether a path is plain and stays inside its folder.
pub(super) fn is_inside(path: &str) -> bool {
    let word = |part: &str| !["", ".", ".."].contains(&part);
    path.split('/').all(word) && !path.contains(['\\', ':']) && !path.chars().any(char::is_control)
}

/// Reads the activities of a workflow from its files.
pub(super) fn read_activities(source: &Source, file: &mut File, faults: &mut FaultList) {
    let own = file.activities.take().unwrap_or_default();
    let mut activities: Vec<Activity> = Vec::new();
    let mut copied = 0;
    file.incomplete |= source.faults().iter().any(Diagnostic::is_error);
    let parts = source.parts().len();
    for part in source.read_parts() {
        let (tree, found) = source::parse_part(source, part, &mut copied);
        faults.0.extend(found);
        let read = tree.as_ref().and_then(|tree| read_activity(source, tree, faults));
        match (read, tree.as_ref().and_then(|tree| tree.get("id")).and_then(Tree::as_str)) {
            (Some(activity), _) => activities.push(activity),
            (None, Some(id)) => file.unread.push(id.to_owned()),
            (None, None) => file.incomplete = true,
        }
    }
    // In a list they are at the position of their file names; if these cannot be matched, after the others.
    let is_told = parts == file.named.len() && activities.len() == parts;
    let mut own = own;
    for (nth, activity) in activities.into_iter().enumerate() {
        let at = file.named.get(nth).filter(|_| is_told).copied().unwrap_or(own.len()).min(own.len());
        own.insert(at, activity);
    }
    let activities = own;
    file.activities = Some(Reader::new(source, faults).distinct(activities, "activity", None, |it| &it.id));
}
