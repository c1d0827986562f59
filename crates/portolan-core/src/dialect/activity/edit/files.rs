//! Activities in files of their own: the name and the text of a new file.

use serde_json::Value;

use crate::dialect::editing::{EditError, Page, Place, rewritten};
use crate::source::{self, Edit, Source};

/// The highest number in the name of such a file.
const LAST_NUMBER: usize = 99;

/// Returns whether the activities are files of their own.
pub(super) fn holds_activities(page: &Page<'_>) -> bool {
    page.files() > 1
}

/// Returns the name of a file for a new activity: beside the last one, with the next number and the same extension, so
/// that it is the last.
pub(super) fn name_for(page: &Page<'_>, id: &str) -> Result<String, EditError> {
    let last = page.names().last().map_or("", String::as_str);
    let (folder, file) = last.split_at(last.rfind(['/', '\\']).map_or(0, |at| at + 1));
    let ending = file.rsplit_once('.').map_or("yaml", |(_, ending)| ending);
    let number = file.get(..2).and_then(|digits| digits.parse::<usize>().ok()).unwrap_or_default() + 1;
    if number > LAST_NUMBER {
        let help = "give the files before it lower numbers in their names";
        return Err(EditError::new(
            format!("`{file}` has the highest number that the file of an activity can have"),
            help,
        ));
    }
    Ok(format!("{folder}{number:02}-{id}.{ending}"))
}

/// Returns the text of a new file.
pub(super) fn written_out(name: &str, value: &Value) -> Result<String, EditError> {
    source::appended(&Source::new(name, ""), value).map_err(|unfit| {
        let message = format!("the activity cannot be written: {}", unfit.0);
        EditError::new(message, "add it with fewer fields, and edit its text")
    })
}

/// Returns the text of the file at a place with another id and without some fields.
pub(super) fn copied(
    page: &Page<'_>,
    place: &Place,
    name: &str,
    id: &str,
    without: &[&str],
) -> Result<String, EditError> {
    let text = page.texts().into_iter().nth(place.file).map(|(_, text)| text).unwrap_or_default();
    let mut edits = vec![Edit::Set { at: vec!["id".into()], value: id.into() }];
    let there = without.iter().filter(|key| page.tree(&place.with(**key)).is_some());
    edits.extend(there.map(|key| Edit::Remove { at: vec![(*key).into()] }));
    rewritten(name, &text, &edits)
}
