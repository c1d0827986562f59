//! Activities in files of their own: where a workflow says that they are, and how they become part of it.
//!
//! Which files there are is looked up by whoever reads files; they arrive as parts of the source.

use super::activities::{Activity, read_activity};
use super::reader::Reader;
use super::syntax::File;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::FaultList;
use crate::source::{self, Source, Span, Tree, TreeKind};

/// The folder of the activities where a workflow does not say otherwise.
const USUAL: &str = "activities";

/// Whether a definition in the folder of activities is called like the file of one: two digits, a dash, a name.
pub fn is_activity_file(name: &str) -> bool {
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    matches!(stem.as_bytes(), [tens, ones, b'-', _, ..] if tens.is_ascii_digit() && ones.is_ascii_digit())
}

/// What is said of a definition that is called otherwise.
pub fn not_an_activity(name: &str) -> Diagnostic {
    let fault = Diagnostic::warning("bad-file-name", format!("`{}` is not read as an activity", clip(name)));
    let help = "an activity's file has two digits, a dash and a name, such as `01-look-around.yaml`: rename it, or move it away";
    fault.help(help)
}

/// Where a workflow has its activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivitiesFolder {
    /// The folder, relative to that of the workflow. It never leads out of it by its words.
    pub path: String,
    /// Where it is named; nothing where it is the usual one.
    pub named: Option<Span>,
    /// Where the workflow has activities in its own file, so that none may be in others.
    pub own: Option<Span>,
    /// Whether the text is a workflow of activities by what it says itself, whatever lies beside it.
    pub is_sure: bool,
}

/// The folder in which the activities of a workflow stand; nothing for a text that cannot have one.
///
/// A folder that leads elsewhere is none: reading the workflow says so.
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

/// The files that a workflow lists as its activities, as it names them: `01-look.yaml` of its own, `other/02-mend.yaml` of
/// another workflow beside it.
pub fn activity_files(source: &Source) -> Vec<String> {
    let Some(tree) = source::parse(source).0 else { return Vec::new() };
    let Some(Tree { kind: TreeKind::Array(items), .. }) = tree.get("activities") else { return Vec::new() };
    items.iter().filter_map(Tree::as_str).map(str::to_owned).collect()
}

/// Whether a path is plain and leads into the folder that it begins in.
pub(super) fn is_inside(path: &str) -> bool {
    let word = |part: &str| !["", ".", ".."].contains(&part);
    path.split('/').all(word) && !path.contains(['\\', ':']) && !path.chars().any(char::is_control)
}

/// Reads the activities of a workflow whose files were looked for.
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
    // In a list they stand where their files are named; where it cannot be told which is which, behind the others.
    let is_told = parts == file.named.len() && activities.len() == parts;
    let mut own = own;
    for (nth, activity) in activities.into_iter().enumerate() {
        let at = file.named.get(nth).filter(|_| is_told).copied().unwrap_or(own.len()).min(own.len());
        own.insert(at, activity);
    }
    let activities = own;
    file.activities = Some(Reader::new(source, faults).distinct(activities, "activity", None, |it| &it.id));
}
