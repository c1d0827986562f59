//! The tools of a file, and the result of a change.

use std::path::Path;

use portolan_core::diagnostic::{Diagnostic, clip, closest, list};
use portolan_core::dialect::{self, Dialect, RunAs};
use portolan_core::source::{self, Source, Span, SpliceError, Tree, TreeKind, appended, spliced};
use serde_json::{Map, Value, json};

use super::{checks, refused};
use crate::definition::DefinitionError;
use crate::digest::Digest;

/// The dialect of the files that are changed here.
pub(super) const GRAPHS: &str = "toolgraph";

/// A change of a file.
#[derive(Clone, Debug)]
pub enum Change {
    /// Appends a tool.
    Add(Value),
    /// Replaces a tool, perhaps with a new name.
    Update(String, Value),
    /// Deletes a tool.
    Delete(String),
}

/// The present file.
pub struct Present {
    pub(super) source: Source,
    /// The byte order mark of the text, if any.
    mark: &'static str,
    exists: bool,
    tree: Option<Tree>,
}

/// A tool of a file.
pub struct ToolName<'p> {
    /// The name.
    pub name: &'p str,
    /// The description.
    pub description: &'p str,
    at: usize,
}

/// A file after a change.
pub(super) struct PlannedFile {
    /// The text, without a byte order mark.
    pub(super) text: String,
    /// The name of the changed tool after the change.
    pub(super) name: String,
    /// The position of the tool after the change.
    pub(super) span: Option<Span>,
}

/// The number of digest digits in a tool's revision.
const REVISION_DIGITS: usize = 16;

impl Present {
    pub(super) fn of(file: &Path, text: Option<&str>) -> Result<Present, DefinitionError> {
        let mark = if text.is_some_and(|text| text.starts_with('\u{feff}')) { "\u{feff}" } else { "" };
        let source = Source::new(file.to_string_lossy().into_owned(), text.unwrap_or_default());
        let exists = text.is_some();
        if is_blank(&source.text) {
            return Ok(Present { source, mark, exists, tree: None });
        }
        let (tree, faults) = source::parse(&source);
        if faults.iter().any(Diagnostic::is_error) {
            let message = format!("`{}` cannot be read, and was left unchanged", source.name);
            let findings = faults.into_iter().map(|fault| (source.clone(), fault)).collect();
            return Err(checks::faulty(&message, findings));
        }
        // The document may contain only its markers.
        let tree = tree.filter(|tree| tree.span.end > tree.span.start || !matches!(tree.kind, TreeKind::Null));
        let present = Present { source, mark, exists, tree };
        present.is_of_graphs()?;
        Ok(present)
    }

    fn is_of_graphs(&self) -> Result<(), DefinitionError> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let name = &self.source.name;
        let refused = |what: &str| {
            let message = format!("`{name}` {what}, and was left unchanged");
            refused("not_graphs", message, "name a file of graphs, or one that does not exist yet")
        };
        if tree.entries().is_none() {
            return Err(refused(&format!("is {}", tree.describe())));
        }
        match dialect::of(&self.source).filter(|dialect| dialect.name != GRAPHS) {
            None => {}
            Some(Dialect { run_as: RunAs::Calls, .. }) => return Err(refused("holds a workflow of another format")),
            Some(_) => return Err(refused("holds a workflow that an agent is led through")),
        }
        match tree.get("tools").map(|tools| &tools.kind) {
            None | Some(TreeKind::Array(_) | TreeKind::Null) => Ok(()),
            Some(_) => Err(refused("has `tools` that is not a list")),
        }
    }

    /// Checks whether the file exists.
    pub fn exists(&self) -> bool {
        self.exists
    }

    /// Returns the file's `server` field.
    pub fn face(&self) -> Map<String, Value> {
        let server = self.tree.as_ref().and_then(|tree| tree.get("server")).map(Tree::value);
        server.and_then(|server| server.as_object().cloned()).unwrap_or_default()
    }

    /// Returns the value of the file under `key`.
    pub(super) fn field(&self, key: &str) -> Option<Value> {
        self.tree.as_ref().and_then(|tree| tree.get(key)).map(Tree::value)
    }

    fn items(&self) -> &[Tree] {
        match self.tree.as_ref().and_then(|tree| tree.get("tools")).map(|tools| &tools.kind) {
            Some(TreeKind::Array(items)) => items,
            _ => &[],
        }
    }

    /// Returns the tools, in the order of the file. Items without a name are skipped.
    pub fn tools(&self) -> Vec<ToolName<'_>> {
        let tools = self.items().iter().enumerate().filter_map(|(at, item)| {
            let name = item.get("name")?.as_str()?;
            let description = item.get("description").and_then(Tree::as_str).unwrap_or_default();
            Some(ToolName { name, description, at })
        });
        tools.collect()
    }

    /// Returns the tool called `name`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn tool(&self, name: &str) -> Result<ToolName<'_>, DefinitionError> {
        let tools = self.tools();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let help = match closest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "the file has no tools yet; addGraphTool adds one".to_owned(),
            None => format!("there are {}", list(&names)),
        };
        let unknown = || refused("unknown_tool", format!("there is no tool `{}`", clip(name)), help);
        tools.into_iter().find(|tool| tool.name == name).ok_or_else(unknown)
    }

    /// Returns the definition of a tool, with its nodes even if they are beside the tools.
    pub fn definition(&self, tool: &ToolName<'_>) -> Value {
        let mut definition = self.items()[tool.at].value();
        if let (Some(nodes), Some(fields), 1) = (self.beside(), definition.as_object_mut(), self.items().len()) {
            fields.insert("nodes".to_owned(), nodes.value());
        }
        definition
    }

    /// Returns the revision of a tool: it changes with every byte of its text.
    pub fn revision(&self, tool: &ToolName<'_>) -> Option<String> {
        let text = |tree: &Tree| self.source.text.get(tree.span.start..tree.span.end).unwrap_or_default().as_bytes();
        let own = self.items().get(tool.at)?;
        let value = own.value().to_string();
        let parts = [Some(text(own)), self.beside().map(text), Some(value.as_bytes())];
        let digest = Digest::of_parts(parts.into_iter().flatten());
        Some(digest.as_str()[..REVISION_DIGITS].to_owned())
    }

    /// Returns the nodes beside the tools, in the shape of the design document.
    fn beside(&self) -> Option<&Tree> {
        self.tree.as_ref().and_then(|tree| tree.get("nodes"))
    }

    /// Returns the text with the byte order mark of the file.
    pub(super) fn whole(&self, text: &str) -> String {
        [self.mark, text].concat()
    }

    /// Checks that a tool has the revision that the caller knows.
    pub(super) fn expect(&self, change: &Change, revision: Option<&str>) -> Result<(), DefinitionError> {
        let (Change::Update(name, _) | Change::Delete(name), Some(known)) = (change, revision) else { return Ok(()) };
        if self.revision(&self.tool(name)?).as_deref() == Some(known) {
            return Ok(());
        }
        let message = format!("the tool `{}` has changed since revision `{}`", clip(name), clip(known));
        Err(refused("stale", message, "get it again with getGraphTool, and change the current definition"))
    }

    /// Returns the text of the file after a change.
    pub(super) fn planned(&self, change: &Change) -> Result<PlannedFile, DefinitionError> {
        let (wanted, name) = self.wanted(change)?;
        let text = self.written(&wanted).map_err(|unfit| {
            let message =
                format!("`{}` cannot be changed in place: {}; nothing was written", self.source.name, unfit.0);
            refused("not_editable", message, "a person must make this change in an editor")
        })?;
        let (tree, _) = source::parse(&Source::new(&*self.source.name, &text));
        let after = Present { source: Source::new(&*self.source.name, &text), mark: self.mark, exists: true, tree };
        let span = after.span_of(&name);
        Ok(PlannedFile { text, name, span })
    }

    /// Returns the position of a tool's text: the whole file if the nodes are beside the tools.
    pub(super) fn span_of(&self, name: &str) -> Option<Span> {
        let item = self.tool(name).ok().map(|tool| self.items()[tool.at].span);
        self.beside().and(self.tree.as_ref()).map(|tree| tree.span).or(item)
    }

    /// Returns the text of the file with another value.
    pub(super) fn written(&self, wanted: &Value) -> Result<String, SpliceError> {
        match &self.tree {
            Some(tree) => spliced(&self.source, tree, wanted),
            None => appended(&self.source, wanted),
        }
    }

    /// Returns the value of the file after a change, and the name of the changed tool.
    fn wanted(&self, change: &Change) -> Result<(Value, String), DefinitionError> {
        let mut file = self.value();
        let name = match change {
            Change::Add(tool) => self.add(&mut file, tool)?,
            Change::Update(name, tool) => self.update(&mut file, name, tool)?,
            Change::Delete(name) => {
                let at = self.tool(name)?.at;
                if self.items().len() == 1 {
                    let message = format!("`{}` is the only tool of `{}`", clip(name), self.source.name);
                    let help = "a file without tools cannot be served: add another tool first, or have a person delete the file";
                    return Err(refused("last_tool", message, help));
                }
                tools(&mut file).remove(at);
                name.clone()
            }
        };
        Ok((file, name))
    }

    /// Returns the value of the file, or the initial value of a new file.
    pub(super) fn value(&self) -> Value {
        match &self.tree {
            Some(tree) => tree.value(),
            None => {
                let name = self.source.stem().unwrap_or("graphs");
                json!({ "version": "1.0", "server": { "name": name, "version": "1.0.0" }, "tools": [] })
            }
        }
    }

    fn add(&self, file: &mut Value, tool: &Value) -> Result<String, DefinitionError> {
        let name = name_of(tool)?.ok_or_else(|| {
            refused("bad_tool", "the tool has no `name`", "give it one: clients call the tool by its name")
        })?;
        if self.tools().iter().any(|known| known.name == name) {
            let message = format!("there is already a tool `{}`", clip(&name));
            return Err(refused(
                "duplicate_tool",
                message,
                "change it with updateGraphTool, or give the new one another name",
            ));
        }
        if self.beside().is_some() {
            let message =
                format!("`{}` has its nodes beside its tool, and cannot hold a second tool", self.source.name);
            let help = "have a person move the nodes inside the tool, under its `nodes`; or serve another file for the new tool";
            return Err(refused("one_tool", message, help));
        }
        tools(file).push(tool.clone());
        Ok(name)
    }

    fn update(&self, file: &mut Value, name: &str, tool: &Value) -> Result<String, DefinitionError> {
        let at = self.tool(name)?.at;
        let mut tool = tool.clone();
        let new = match name_of(&tool)? {
            Some(new) => new,
            None => {
                if let Some(fields) = tool.as_object_mut() {
                    fields.shift_insert(0, "name".to_owned(), json!(name));
                }
                name.to_owned()
            }
        };
        if new != name && self.tools().iter().any(|known| known.name == new) {
            let message = format!("there is already a tool `{}`", clip(&new));
            return Err(refused("duplicate_tool", message, "give it another name, or delete the other one first"));
        }
        if self.beside().is_some() {
            self.spread(file, &mut tool)?;
        }
        tools(file)[at] = tool;
        Ok(new)
    }

    /// Moves the nodes of a definition beside its tool if the file has them there.
    fn spread(&self, file: &mut Value, tool: &mut Value) -> Result<(), DefinitionError> {
        let nodes = tool.as_object_mut().and_then(|fields| fields.shift_remove("nodes"));
        match (nodes, self.items().len()) {
            (None, _) => Ok(()),
            (Some(nodes), 1) => {
                file["nodes"] = nodes;
                Ok(())
            }
            (Some(_), _) => {
                let message =
                    format!("the nodes of `{}` are beside its tools, and several tools use them", self.source.name);
                let help =
                    "leave out `nodes` to change the rest of the tool; a person must change the nodes in an editor";
                Err(refused("shared_nodes", message, help))
            }
        }
    }
}

/// Returns the list of tools, which is created if there is none.
pub(super) fn tools(file: &mut Value) -> &mut Vec<Value> {
    if !file["tools"].is_array() {
        file["tools"] = json!([]);
    }
    file["tools"].as_array_mut().expect("it was made one")
}

/// Returns the name in a definition. `None` if it has none.
pub(super) fn name_of(tool: &Value) -> Result<Option<String>, DefinitionError> {
    let Some(fields) = tool.as_object() else {
        let help = "send an object with `name`, `description`, `inputSchema`, `outputSchema` and `nodes`";
        return Err(refused("bad_tool", "the definition of a tool must be an object", help));
    };
    match fields.get("name") {
        None => Ok(None),
        Some(Value::String(name)) if !name.is_empty() => Ok(Some(name.clone())),
        Some(_) => Err(refused(
            "bad_tool",
            "the `name` of a tool must be a non-empty text",
            "give it one: clients call the tool by its name",
        )),
    }
}

/// Checks whether a text contains only comments.
fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}
