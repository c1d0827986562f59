//! The text of a definition with its graph, and the place in the text of each node and edge.

use std::collections::BTreeSet;

use serde_json::Value;

use super::EditError;
use super::index::Index;
use crate::diagnostic::closest;
use crate::graph::{Edge, Graph, Kind, Node};
use crate::source::{self, PathStep, Source, Span, Tree, TreeKind, parse_part};
use crate::value::NodeId;

/// A place in one of the files of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The index of the file, from 0.
    pub(crate) file: usize,
    /// The path in the file.
    pub(crate) at: Vec<PathStep>,
}

impl Place {
    /// Returns the parent.
    pub(crate) fn parent(&self) -> Option<Place> {
        let (_, at) = self.at.split_last()?;
        Some(Place { file: self.file, at: at.to_vec() })
    }

    /// Returns a place one step inside it.
    pub(crate) fn with(&self, step: impl Into<PathStep>) -> Place {
        let mut place = self.clone();
        place.at.push(step.into());
        place
    }

    /// Splits the place into its parent and the last step.
    pub(crate) fn parted(mut self) -> Option<(Place, PathStep)> {
        let last = self.at.pop()?;
        Some((self, last))
    }

    /// Returns the last step if it is an item index.
    pub(crate) fn number(&self) -> Option<usize> {
        match self.at.last() {
            Some(PathStep::Item(nth)) => Some(*nth),
            _ => None,
        }
    }

    /// Returns the last step if it is a key.
    pub(crate) fn key(&self) -> Option<&str> {
        match self.at.last() {
            Some(PathStep::Key(key)) => Some(key),
            _ => None,
        }
    }
}

/// The text of a definition, with its graph.
pub(crate) struct Page<'p> {
    pub(crate) graph: &'p Graph,
    names: Vec<String>,
    texts: Vec<String>,
    /// Where each file begins in the whole text.
    starts: Vec<usize>,
    /// The tree of each file, with spans in the whole text; `None` for a file that could not be parsed.
    trees: Vec<Option<Tree>>,
    index: Index,
}

impl<'p> Page<'p> {
    /// Returns `None` if the first file cannot be parsed.
    pub(crate) fn of(source: &Source, graph: &'p Graph) -> Option<Page<'p>> {
        let main = source.main();
        let (tree, faults) = source::parse(&main);
        let tree = tree.filter(|_| !faults.iter().any(crate::diagnostic::Diagnostic::is_error))?;
        let (mut texts, mut starts, mut trees) = (vec![main.text.to_string()], vec![0], vec![Some(tree)]);
        for part in source.read_parts() {
            texts.push(source.text[part.span.start..part.span.end].to_owned());
            starts.push(part.span.start);
            trees.push(parse_part(source, part, &mut 0).0);
        }
        let names = source.texts().into_iter().map(|(name, _)| name).collect();
        let index = Index::of(&trees);
        Some(Page { graph, names, texts, starts, trees, index })
    }

    /// Returns the names of the files.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names and the texts of the files.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        self.names.iter().cloned().zip(self.texts.iter().cloned()).collect()
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> usize {
        self.trees.len()
    }

    /// Returns the place of the definition itself.
    pub(crate) fn own(&self) -> Place {
        Place { file: 0, at: Vec::new() }
    }

    /// Returns the node called `id`.
    pub(crate) fn node(&self, id: &str) -> Result<&'p Node, EditError> {
        self.graph.node(&NodeId::from(id)).ok_or_else(|| {
            let unknown = EditError::unknown("node", id);
            match closest(id, self.graph.nodes.iter().map(|node| node.id.as_str())) {
                Some(near) => EditError { help: format!("did you mean `{near}`?"), ..unknown },
                None => unknown,
            }
        })
    }

    /// Returns an edge by its index in the graph.
    pub(crate) fn edge(&self, number: usize) -> Result<&'p Edge, EditError> {
        self.graph.edges.get(number).ok_or_else(|| EditError::unknown("edge", &number.to_string()))
    }

    /// Returns the place of a node's object. Its id is the key of the object, or a field in it.
    pub(crate) fn place_of(&self, node: &Node) -> Result<Place, EditError> {
        self.object_of(node).map(|(place, _)| place).ok_or_else(|| {
            let message = format!("`{}` is not written anywhere: it follows from other parts of the text", node.id);
            EditError::new(message, "edit the text")
        })
    }

    /// Returns the place of a node's object with its tree; `None` if the node has no text of its own.
    pub(super) fn object_of(&self, node: &Node) -> Option<(Place, &Tree)> {
        let (mut place, tree) = self.index.named(node.span, &self.trees).filter(|_| is_written(self.graph, node))?;
        // A node with a step path is an item of a list, or a file: its name may be nested deeper inside it.
        if node.seat.is_none() || !matches!(place.at.last(), Some(PathStep::Key(_))) {
            return Some((place, tree));
        }
        while matches!(place.at.last(), Some(PathStep::Key(_))) {
            place.at.pop();
        }
        let tree = self.tree(&place)?;
        Some((place, tree))
    }

    /// Returns the place of the value at a span, or of the value whose key is there. `None` for parts derived from
    /// other text.
    pub(crate) fn at(&self, span: Span) -> Option<Place> {
        let found = self.index.standing(span, &self.trees).filter(|_| span != Span::default());
        found.map(|(place, _)| place)
    }

    /// Returns the place of the value at a span, or an error if there is none.
    pub(crate) fn written(&self, span: Span, what: &str) -> Result<Place, EditError> {
        self.at(span).ok_or_else(|| {
            let message = format!("{what} is not written anywhere: it follows from other parts of the text");
            EditError::new(message, "edit the text")
        })
    }

    /// Formats a place for messages; items are called by their id or name.
    pub(crate) fn words(&self, place: &Place) -> String {
        let (mut words, mut here) = (Vec::new(), Place { file: place.file, at: Vec::new() });
        for step in &place.at {
            here.at.push(step.clone());
            words.push(match step {
                PathStep::Key(key) => key.clone(),
                PathStep::Item(nth) => {
                    let tree = self.tree(&here);
                    let name = ["id", "name"].iter().find_map(|key| tree?.get(key)?.as_str());
                    name.map_or_else(|| (nth + 1).to_string(), str::to_owned)
                }
            });
        }
        format!("`{}`", words.join("."))
    }

    /// Returns the lines at a place: from its first character to the end of its last line.
    pub(crate) fn lines(&self, place: &Place) -> Option<&str> {
        let (text, span) = self.own_span(place)?;
        let end = text.get(span.end..)?.find('\n').map_or(text.len(), |more| span.end + more);
        text.get(span.start..end)
    }

    /// Returns the line above a place.
    pub(crate) fn line_above(&self, place: &Place) -> Option<&str> {
        let (text, span) = self.own_span(place)?;
        text.get(..span.start)?.lines().rev().nth(1)
    }

    /// Returns the text of a place's file, and the span of the place in it.
    fn own_span(&self, place: &Place) -> Option<(&str, Span)> {
        let (text, start, span) = (self.texts.get(place.file)?, self.starts.get(place.file)?, self.tree(place)?.span);
        Some((text, Span { start: span.start.checked_sub(*start)?, end: span.end.checked_sub(*start)? }))
    }

    /// Returns the text at a place.
    pub(crate) fn text(&self, place: &Place) -> Option<&str> {
        self.tree(place).and_then(Tree::as_str)
    }

    /// Returns the index of the item of `list` that contains a span.
    pub(crate) fn item_at(&self, list: &Place, span: Span) -> Option<usize> {
        let TreeKind::Array(items) = &self.tree(list)?.kind else { return None };
        items.iter().position(|item| item.span.start <= span.start && span.start < item.span.end)
    }

    /// Returns the tree at a place.
    pub(crate) fn tree(&self, place: &Place) -> Option<&Tree> {
        source::found(self.trees.get(place.file)?.as_ref()?, &place.at)
    }

    /// Returns the value at a place.
    pub(crate) fn value(&self, place: &Place) -> Option<Value> {
        self.tree(place).map(Tree::value)
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self, place: &Place) -> &[Tree] {
        match self.tree(place).map(|tree| &tree.kind) {
            Some(TreeKind::Array(items)) => items,
            _ => &[],
        }
    }

    /// Returns the key after `key` in an object.
    pub(crate) fn key_behind(&self, object: &Place, key: &str) -> Option<String> {
        let entries = self.tree(object)?.entries()?;
        let at = entries.iter().position(|entry| entry.key.value == key)?;
        entries.get(at + 1).map(|entry| entry.key.value.clone())
    }
}

/// Returns whether a node has text of its own rather than being derived. Inside activities, a node has text if its
/// id ends in the written name; derived nodes (a condition before it, the end of its passes) have a longer one.
fn is_written(graph: &Graph, node: &Node) -> bool {
    let Some(seat) = &node.seat else { return graph.activities.is_empty() };
    let is_one = matches!(node.kind, Kind::Activity | Kind::Work { .. } | Kind::Checkpoint { .. } | Kind::Loop(_));
    is_one && node.id.as_str().rsplit('.').next() == Some(seat.id.as_str())
}

/// Returns the number of steps that are written: what is in several places of the graph is one, and an activity is none.
pub fn written_steps(graph: &Graph) -> usize {
    let is_step = |node: &&Node| node.kind != Kind::Activity && node.span != Span::default() && is_written(graph, node);
    graph.nodes.iter().filter(is_step).map(|node| (node.span.start, node.span.end)).collect::<BTreeSet<_>>().len()
}

/// Returns a free id: the wanted one, or one with a number appended.
pub(crate) fn fresh(wanted: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    if !is_taken(wanted) {
        return wanted.to_owned();
    }
    let numbered = (2_u32..).map(|number| format!("{wanted}_{number}"));
    numbered.into_iter().find(|id| !is_taken(id)).unwrap_or_default()
}
