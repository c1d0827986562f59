//! Renames a node in expressions.
//!
//! An occurrence is the node if another name in its place becomes a root of the expression, according to the
//! expression's own parser. If it is uncertain whether an expression names the node, the whole renaming is refused.

use super::EditError;
use super::page::{Page, Place};
use super::spelling::{Occurrence, Spelling, found, has_signature, is_asked, is_key, path_before};
use crate::expr::Jsonata;
use crate::source::{Edit, Tree, TreeKind};

/// The functions whose first argument is the name of a node.
const BY_NAME: [&str; 3] = ["$executionCount(", "$nodeExecution(", "$nodeExecutions("];
/// The JSON Logic operators whose further arguments are evaluated on the items of the first.
const OF_ITEMS: [&str; 6] = ["map", "filter", "reduce", "all", "some", "none"];
/// The renaming of a node in the expressions of a definition.
pub(crate) struct Mentions<'m> {
    page: &'m Page<'m>,
    from: &'m str,
    to: &'m str,
    /// Whether the node begins a branch: the output of `joins` then has the branch's result under its name.
    begins_branch: bool,
    joins: Vec<String>,
    edits: Vec<(usize, Edit)>,
    doubtful: Vec<Place>,
}

/// An expression that may or may not name the node.
struct Doubt;

impl<'m> Mentions<'m> {
    pub(crate) fn of(page: &'m Page<'m>, from: &'m str, to: &'m str, joins: Vec<String>) -> Mentions<'m> {
        let begins_branch = !joins.is_empty();
        Mentions { page, from, to, begins_branch, joins, edits: Vec::new(), doubtful: Vec::new() }
    }

    /// Returns the edits, each a new text; refuses if an expression is in doubt.
    pub(crate) fn edits(self) -> Result<Vec<(usize, Edit)>, EditError> {
        if self.doubtful.is_empty() {
            return Ok(self.edits);
        }
        let places: Vec<String> = self.doubtful.iter().take(5).map(|place| self.page.words(place)).collect();
        let rest = self.doubtful.len() - places.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let message = format!(
            "`{}` may be named in an expression that cannot be rewritten safely: {}{more}",
            self.from,
            places.join(", ")
        );
        Err(EditError::new(message, "rewrite these expressions first, or rename it in the text"))
    }

    /// Renames in a JSONata text.
    pub(crate) fn jsonata(&mut self, place: &Place) {
        self.rewritten(place, |mentions, text| mentions.in_jsonata(text, false));
    }

    /// Renames in a JSONata text whose result is the name of a node.
    fn choosing(&mut self, place: &Place) {
        self.rewritten(place, |mentions, text| mentions.in_jsonata(text, true));
    }

    fn rewritten(&mut self, place: &Place, by: impl Fn(&Self, &str) -> Result<Option<String>, Doubt>) {
        let Some(text) = self.page.tree(place).and_then(Tree::as_str) else { return };
        match by(self, text) {
            Ok(Some(text)) => self.set(place, text),
            Ok(None) => {}
            Err(Doubt) => self.doubtful.push(place.clone()),
        }
    }

    fn set(&mut self, place: &Place, text: String) {
        self.edits.push((place.file, Edit::Set { at: place.at.clone(), value: text.into() }));
    }

    /// Renames in a value that contains `{expr: …}`; `dollar` is whether a text that begins with `$` is an expression
    /// too.
    pub(crate) fn template(&mut self, place: &Place, dollar: bool) {
        let page = self.page;
        match page.tree(place).map(|tree| &tree.kind) {
            Some(TreeKind::Object(entries)) => match entries.as_slice() {
                [only] if only.key.value == "expr" => self.jsonata(&place.with("expr")),
                entries => entries.iter().for_each(|entry| self.template(&place.with(&*entry.key.value), dollar)),
            },
            Some(TreeKind::Array(items)) => (0..items.len()).for_each(|nth| self.template(&place.with(nth), dollar)),
            Some(TreeKind::String(text)) if dollar && text.starts_with('$') => self.jsonata(place),
            _ => {}
        }
    }

    /// Renames in `{expr: …}`, or else in a JSON Logic rule.
    pub(crate) fn computed(&mut self, place: &Place) {
        match self.is_wrapped(place) {
            true => self.jsonata(&place.with("expr")),
            false => self.rule(place),
        }
    }

    /// Renames in `{expr: …}` or a rule whose result is the name of a node.
    pub(crate) fn chosen(&mut self, place: &Place) {
        if self.is_wrapped(place) {
            return self.choosing(&place.with("expr"));
        }
        self.rule(place);
        let mut named = Vec::new();
        self.literals(place, true, &mut named);
        for (place, is_result) in named {
            match is_result {
                true => self.set(&place, self.to.to_owned()),
                false => self.doubtful.push(place),
            }
        }
    }

    fn is_wrapped(&self, place: &Place) -> bool {
        let entries = self.page.tree(place).and_then(Tree::entries);
        entries.is_some_and(|entries| matches!(entries, [only] if only.key.value == "expr"))
    }

    /// Renames in the check of a key result. A text is Python, which refers to nodes only through its lookups.
    fn check(&mut self, place: &Place) {
        let Some(text) = self.page.tree(place).and_then(Tree::as_str) else { return self.computed(place) };
        let says = ["'", "\""].iter().any(|quote| text.contains(&format!("{quote}{}{quote}", self.from)));
        if says && (self.begins_branch || text.contains("history")) {
            self.doubtful.push(place.clone());
        }
    }

    /// Renames in the expressions of a state, in any dialect.
    pub(crate) fn state(&mut self, state: &Place) {
        for key in ["prompt", "system"] {
            self.template(&state.with(key), false);
        }
        let sets = state.with("set");
        let page = self.page;
        for variable in page.tree(&sets).and_then(Tree::entries).unwrap_or_default() {
            self.template(&sets.with(&*variable.key.value), false);
        }
        let results = state.with("key_results");
        for nth in 0..page.items(&results).len() {
            self.check(&results.with(nth).with("check"));
        }
    }

    /// Renames in the `var`s of a JSON Logic rule.
    pub(crate) fn rule(&mut self, place: &Place) {
        let page = self.page;
        match page.tree(place).map(|tree| &tree.kind) {
            Some(TreeKind::Array(items)) => (0..items.len()).for_each(|nth| self.rule(&place.with(nth))),
            Some(TreeKind::Object(entries)) => {
                for entry in entries {
                    self.operator(&entry.key.value, &place.with(&*entry.key.value));
                }
            }
            _ => {}
        }
    }

    fn operator(&mut self, name: &str, arguments: &Place) {
        match name {
            "var" => self.variable(arguments),
            "missing" | "missing_some" if self.names_it(arguments) => self.doubtful.push(arguments.clone()),
            name if OF_ITEMS.contains(&name) => self.rule(&arguments.with(0)),
            _ => self.rule(arguments),
        }
    }

    fn variable(&mut self, arguments: &Place) {
        let count = self.page.items(arguments).len();
        let name = if count == 0 { arguments.clone() } else { arguments.with(0) };
        match self.page.tree(&name).map(|tree| &tree.kind) {
            Some(TreeKind::String(text)) if Jsonata::parse(text).is_ok() => self.jsonata(&name),
            Some(TreeKind::String(_)) => self.rewritten(&name, Mentions::in_path),
            Some(_) if self.names_it(&name) => self.doubtful.push(name),
            _ => self.rule(&name),
        }
        (1..count).for_each(|nth| self.rule(&arguments.with(nth)));
    }

    /// Renames in a JSON Logic path that is no JSONata, such as `list.0`.
    fn in_path(&self, path: &str) -> Result<Option<String>, Doubt> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        match first == self.from {
            true if self.to.contains('.') => Err(Doubt),
            true => Ok(Some(format!("{}.{rest}", self.to))),
            false => Ok(None),
        }
    }

    /// Returns whether a text below a place begins with the name.
    fn names_it(&self, place: &Place) -> bool {
        fn any(tree: &Tree, is: &dyn Fn(&str) -> bool) -> bool {
            match &tree.kind {
                TreeKind::String(text) => is(text),
                TreeKind::Array(items) => items.iter().any(|item| any(item, is)),
                TreeKind::Object(entries) => entries.iter().any(|entry| any(&entry.value, is)),
                _ => false,
            }
        }
        let is = |text: &str| text.split('.').next() == Some(self.from);
        self.page.tree(place).is_some_and(|tree| any(tree, &is))
    }

    /// Collects the texts of a rule that equal the name, each with whether it can be the rule's result.
    fn literals(&self, place: &Place, is_result: bool, found: &mut Vec<(Place, bool)>) {
        match self.page.tree(place).map(|tree| &tree.kind) {
            Some(TreeKind::String(text)) if text == self.from => found.push((place.clone(), is_result)),
            Some(TreeKind::Array(items)) => {
                (0..items.len()).for_each(|nth| self.literals(&place.with(nth), false, found));
            }
            Some(TreeKind::Object(entries)) => {
                for entry in entries.iter().filter(|entry| entry.key.value != "var") {
                    let way = place.with(&*entry.key.value);
                    let count = self.page.items(&way).len();
                    if !["if", "?:"].contains(&&*entry.key.value) || count == 0 {
                        self.literals(&way, false, found);
                        continue;
                    }
                    for nth in 0..count {
                        let comes_to = nth % 2 == 1 || nth + 1 == count;
                        self.literals(&way.with(nth), is_result && comes_to, found);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the expression with the new name; `None` if it does not name the node.
    fn in_jsonata(&self, text: &str, chooses: bool) -> Result<Option<String>, Doubt> {
        let found: Vec<Occurrence> = found(text, self.from).collect();
        if found.is_empty() {
            return Ok(None);
        }
        let Ok(parsed) = Jsonata::parse(text) else { return Err(Doubt) };
        let looks_up =
            parsed.looks_back() || text.contains("history") || BY_NAME.iter().any(|name| text.contains(name));
        let sees_all =
            parsed.sees_all() || ["function", "λ"].iter().any(|word| text.contains(word)) && has_signature(text);
        let (mut written, mut last, mut renames_root) = (String::new(), 0, false);
        for one in &found {
            let named = match self.meant(text, one, chooses) {
                OccurrenceMeaning::Asked => {
                    renames_root = true;
                    true
                }
                OccurrenceMeaning::Named => true,
                OccurrenceMeaning::Other => false,
                OccurrenceMeaning::Unclear => {
                    let is_value = one.spelling == Spelling::Text;
                    let is_name = one.spelling != Spelling::Prose;
                    if is_value && (looks_up || chooses) || is_name && (sees_all || self.begins_branch) {
                        return Err(Doubt);
                    }
                    false
                }
            };
            if named {
                written.push_str(&text[last..one.start]);
                written.push_str(&one.spelling.of(self.to).ok_or(Doubt)?);
                last = one.start + self.from.len();
            }
        }
        if last == 0 {
            return Ok(None);
        }
        written.push_str(&text[last..]);
        // A wrong decision above would change the roots.
        let mut wanted: Vec<&str> =
            parsed.roots().iter().map(|name| if name == self.from { self.to } else { name }).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let sound = Jsonata::parse(&written)
            .is_ok_and(|now| !renames_root || now.roots().iter().map(String::as_str).eq(wanted));
        if sound { Ok(Some(written)) } else { Err(Doubt) }
    }

    fn meant(&self, text: &str, one: &Occurrence, chooses: bool) -> OccurrenceMeaning {
        if is_asked(text, one.start, self.from) {
            return OccurrenceMeaning::Asked;
        }
        let open = one.start - usize::from(one.spelling != Spelling::Plain);
        let before = text[..open].trim_end();
        if one.spelling == Spelling::Text {
            if is_key(text, open, one.start + self.from.len() + 1) {
                return OccurrenceMeaning::Other;
            }
            let is_argument = BY_NAME.iter().any(|name| before.ends_with(name));
            let comes_to = chooses && (before.is_empty() || before.ends_with(['?', ':']));
            return if is_argument || comes_to { OccurrenceMeaning::Named } else { OccurrenceMeaning::Unclear };
        }
        let Some(path) = path_before(text, open) else { return OccurrenceMeaning::Unclear };
        match path.as_slice() {
            [join] if self.joins.iter().any(|known| known == join) => OccurrenceMeaning::Named,
            // The input of a node may be the output of a join.
            ["input", ..] => OccurrenceMeaning::Unclear,
            _ => OccurrenceMeaning::Other,
        }
    }
}

/// The meaning of an occurrence of the name.
enum OccurrenceMeaning {
    /// It is a root of the expression.
    Asked,
    /// It names the node in another way.
    Named,
    /// It may be a field, a value or a word.
    Unclear,
    /// It certainly is something else.
    Other,
}
