//! The elements of the text that have an id, and the references to them.

use crate::dialect::editing::{Page, Place, text_of};
use crate::source::{Tree, TreeKind};

/// A text that names an activity, or an element of the same activity.
pub(super) struct Reference {
    pub(super) place: Place,
    pub(super) names: String,
    /// The activity in which the name applies; `None` for the name of an activity.
    pub(super) within: Option<Place>,
}

/// Returns the activities, in order.
pub(super) fn activities(page: &Page<'_>) -> Vec<Place> {
    let list = list();
    let own = (0..page.items(&list).len()).map(|nth| list.with(nth));
    own.chain((1..page.files()).map(|file| Place { file, at: Vec::new() })).collect()
}

/// Returns the list of activities in the workflow's file.
pub(super) fn list() -> Place {
    Place { file: 0, at: vec!["activities".into()] }
}

/// Returns the activity of this name.
pub(super) fn activity(page: &Page<'_>, id: &str) -> Option<Place> {
    activities(page).into_iter().find(|place| page.tree(place).and_then(|tree| text_of(tree, "id")) == Some(id))
}

/// Returns the id of an element; a technique without one has the last word of its name.
pub(super) fn id_of(tree: &Tree) -> Option<&str> {
    if let Some(id) = text_of(tree, "id") {
        return Some(id);
    }
    let technique = tree.get("technique").or_else(|| tree.get("skill"))?;
    let name = technique.as_str().or_else(|| text_of(technique, "name"))?;
    name.rsplit("::").next()
}

/// Returns every element of an activity that has an id: steps, checkpoints and loops, nested ones included.
pub(super) fn inside(page: &Page<'_>, place: &Place) -> Vec<Place> {
    let mut found = Vec::new();
    for key in ["steps", "checkpoints", "loops"] {
        let list = place.with(key);
        for nth in (0..page.items(&list).len()).map(|nth| list.with(nth)) {
            if page.tree(&nth).is_some_and(|tree| tree.entries().is_some()) {
                found.extend(inside(page, &nth));
                found.push(nth);
            }
        }
    }
    for over in members(page, &place.with("modeOverrides")) {
        found.extend(inside(page, &over));
    }
    found
}

/// Returns whether an element of an activity has this id.
pub(super) fn is_taken(page: &Page<'_>, activity: &Place, id: &str) -> bool {
    inside(page, activity).iter().any(|place| page.tree(place).and_then(id_of) == Some(id))
}

pub(super) fn members(page: &Page<'_>, object: &Place) -> Vec<Place> {
    let entries = page.tree(object).and_then(Tree::entries).unwrap_or_default();
    entries.iter().map(|entry| object.with(entry.key.value.as_str())).collect()
}

/// Returns every text that names an element.
pub(super) fn references(page: &Page<'_>) -> Vec<Reference> {
    let mut found = ReferenceSearch { page, references: Vec::new(), within: None };
    let own = page.own();
    ["initialActivity", "finalActivity"].iter().for_each(|key| found.text(own.with(*key), false));
    found.objects(&own.with("modes"));
    members(page, &own.with("fragments").with("checkpoints")).iter().for_each(|shared| found.object(shared));
    for activity in activities(page) {
        found.within = Some(activity.clone());
        found.object(&activity);
    }
    found.references
}

struct ReferenceSearch<'f, 'p> {
    page: &'f Page<'p>,
    references: Vec<Reference>,
    within: Option<Place>,
}

impl ReferenceSearch<'_, '_> {
    /// Searches an object by the fields that name an element or contain such objects, and skips values of the author's
    /// own.
    fn object(&mut self, place: &Place) {
        let entries = self.page.tree(place).and_then(Tree::entries).unwrap_or_default();
        let keys: Vec<String> = entries.iter().map(|entry| entry.key.value.clone()).collect();
        for key in keys {
            let inner = place.with(key.as_str());
            match key.as_str() {
                "to" | "transitionTo" | "transitionOverride" => self.text(inner, false),
                "before" | "after" => self.text(inner, true),
                "skipActivities" => self.texts(&inner, false),
                "skipSteps" => self.texts(&inner, true),
                "steps" => {
                    self.texts(&inner, true);
                    self.objects(&inner);
                }
                "activities" => self.looped(&inner),
                "checkpoints" | "loops" | "options" | "decisions" | "branches" | "transitions" => self.objects(&inner),
                "effect" => self.object(&inner),
                "modeOverrides" => members(self.page, &inner).iter().for_each(|over| self.object(over)),
                _ => {}
            }
        }
    }

    fn objects(&mut self, list: &Place) {
        (0..self.page.items(list).len()).for_each(|nth| self.object(&list.with(nth)));
    }

    fn texts(&mut self, list: &Place, of_steps: bool) {
        (0..self.page.items(list).len()).for_each(|nth| self.text(list.with(nth), of_steps));
    }

    /// Collects the names under `activities` of a loop, which may be steps beside it.
    fn looped(&mut self, list: &Place) {
        let steps = self.within.as_ref().map(|activity| activity.with("steps"));
        let steps = steps.as_ref().map_or(&[][..], |steps| self.page.items(steps));
        let names: Vec<&str> = steps.iter().filter_map(id_of).collect();
        for nth in 0..self.page.items(list).len() {
            let place = list.with(nth);
            let is_step = self.page.tree(&place).and_then(Tree::as_str).is_some_and(|name| names.contains(&name));
            self.text(place, is_step);
        }
    }

    fn text(&mut self, place: Place, of_steps: bool) {
        if let Some(TreeKind::String(names)) = self.page.tree(&place).map(|tree| &tree.kind) {
            let within = self.within.clone().filter(|_| of_steps);
            self.references.push(Reference { names: names.clone(), place, within });
        }
    }
}
