//! A source of several files: one text, so that an offset stays one number, and a table that maps offsets to files.

use std::sync::Arc;

use super::{Entry, Location, Source, Span, Spanned, Tree, TreeKind, yaml};
use crate::diagnostic::Diagnostic;

/// A file that belongs to a source: its name with its text, or with the error of reading it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The name that the user knows.
    pub name: String,
    /// The text, or the diagnostic that is reported at the beginning of the file.
    pub text: Result<String, Diagnostic>,
}

/// A file of a definition during an edit: its name with its text, or `None` if the file does not exist or was removed.
pub type NamedText = (String, Option<String>);

/// The files of a source after the first.
#[derive(Debug, Default)]
pub(super) struct Files {
    parts: Vec<Part>,
    faults: Vec<Diagnostic>,
}

/// The span of a file in the text of its source.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    name: Arc<str>,
    pub(crate) span: Span,
    pub(crate) was_read: bool,
}

impl Source {
    /// Returns the source with further files appended, and with the diagnostics of gathering them. The spans in
    /// `faults` refer to the text of this source.
    ///
    /// A line break separates two files, so that no offset belongs to both.
    #[must_use]
    pub fn joined(&self, pieces: Vec<Piece>, mut faults: Vec<Diagnostic>) -> Source {
        let mut text = self.text.to_string();
        let mut parts = Vec::new();
        for Piece { name, text: piece } in pieces {
            text.push('\n');
            let start = text.len();
            let was_read = piece.is_ok();
            match piece {
                Ok(piece) => text.push_str(piece.strip_prefix('\u{feff}').unwrap_or(&piece)),
                Err(fault) => faults.push(fault.at(Span { start, end: start })),
            }
            parts.push(Part { name: name.into(), span: Span { start, end: text.len() }, was_read });
        }
        let files = Some(Arc::new(Files { parts, faults }));
        Source { text: text.into(), files, ..self.clone() }
    }

    /// Returns whether other files were looked for, even if none were found.
    pub fn is_joined(&self) -> bool {
        self.files.is_some()
    }

    /// Returns the first file alone.
    #[must_use]
    pub fn main(&self) -> Source {
        let end = self.parts().first().map(|part| part.span.start - 1);
        let text = end.map_or_else(|| self.text.clone(), |end| self.text[..end].into());
        Source { text, files: None, ..self.clone() }
    }

    /// Returns the texts of the files after the first, in order, without those that could not be read.
    pub fn others(&self) -> Vec<&str> {
        self.read_parts().map(|part| &self.text[part.span.start..part.span.end]).collect()
    }

    /// Returns the names and texts of all files that could be read, the first file first.
    pub fn texts(&self) -> Vec<(String, String)> {
        let main = self.main();
        let others =
            self.read_parts().map(|part| (part.name.to_string(), self.text[part.span.start..part.span.end].to_owned()));
        std::iter::once((main.name.to_string(), main.text.to_string())).chain(others).collect()
    }

    /// Returns the diagnostics of gathering the files.
    pub fn faults(&self) -> &[Diagnostic] {
        self.files.as_ref().map_or(&[], |files| &files.faults)
    }

    /// Returns the names of all files, the first file first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.parts().iter().map(|part| &*part.name))
    }

    /// Returns the name of the file that contains an offset, and the span of that file in the text.
    pub fn file_at(&self, offset: usize) -> (&str, Span) {
        let parts = self.parts();
        match parts.partition_point(|part| part.span.start <= offset).checked_sub(1) {
            Some(at) => (&parts[at].name, parts[at].span),
            None => (&self.name, Span { start: 0, end: parts.first().map_or(self.text.len(), |it| it.span.start - 1) }),
        }
    }

    /// Formats a byte offset as `file:line:column`.
    pub fn place(&self, offset: usize) -> String {
        let Location { line, column } = self.location(offset);
        format!("{}:{line}:{column}", self.file_at(offset).0)
    }

    /// Returns the files after the first, read or not.
    pub(crate) fn parts(&self) -> &[Part] {
        self.files.as_ref().map_or(&[], |files| &files.parts)
    }

    pub(crate) fn read_parts(&self) -> impl Iterator<Item = &Part> {
        self.parts().iter().filter(|part| part.was_read)
    }
}

/// Parses the file of a part; the spans refer to the whole text. `copied` is the size that the aliases of earlier files
/// added: the limit applies to all files together.
pub(crate) fn parse_part(source: &Source, part: &Part, copied: &mut usize) -> (Option<Tree>, Vec<Diagnostic>) {
    let Span { start, end } = part.span;
    let alone = Source::new(part.name.clone(), &source.text[start..end]);
    let (mut tree, mut faults) = super::parse_with(&alone, &mut |source| yaml::parse_yaml_within(source, copied));
    if let Some(tree) = &mut tree {
        move_tree(tree, start);
    }
    for fault in &mut faults {
        let span = fault.span.get_or_insert_default();
        *span = moved(*span, start);
    }
    (tree, faults)
}

/// Returns a value with all spans set to `at`: faults of an imported value are reported at the import.
pub(crate) fn placed(tree: &Tree, at: Span) -> Tree {
    let kind = match &tree.kind {
        TreeKind::Array(items) => TreeKind::Array(items.iter().map(|item| placed(item, at)).collect()),
        TreeKind::Object(entries) => {
            let entry = |entry: &Entry| Entry {
                key: Spanned { value: entry.key.value.clone(), span: at },
                value: placed(&entry.value, at),
            };
            TreeKind::Object(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    };
    Tree { kind, span: at }
}

fn moved(span: Span, by: usize) -> Span {
    Span { start: span.start + by, end: span.end + by }
}

fn move_tree(tree: &mut Tree, by: usize) {
    tree.span = moved(tree.span, by);
    match &mut tree.kind {
        TreeKind::Array(items) => items.iter_mut().for_each(|item| move_tree(item, by)),
        TreeKind::Object(entries) => {
            for entry in entries {
                entry.key.span = moved(entry.key.span, by);
                move_tree(&mut entry.value, by);
            }
        }
        TreeKind::Null | TreeKind::Bool(_) | TreeKind::Number(_) | TreeKind::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(name: &str, text: &str) -> Piece {
        Piece { name: name.to_owned(), text: Ok(text.to_owned()) }
    }

    #[test]
    fn a_place_is_told_with_its_file() {
        let missing = Piece { name: "c.yaml".to_owned(), text: Err(Diagnostic::error("syntax", "no")) };
        let pieces = vec![piece("b.yaml", "\u{feff}é: 1\nx: 2"), missing, piece("d.yaml", "z: 3")];
        let source = Source::new("a.yaml", "one: 1\n").joined(pieces, Vec::new());
        let told = |word: &str| source.place(source.text.find(word).expect("it is there"));
        assert_eq!(told("one"), "a.yaml:1:1");
        assert_eq!(told("1\n"), "a.yaml:1:6");
        assert_eq!(told("é"), "b.yaml:1:1");
        assert_eq!(told("2"), "b.yaml:2:4");
        assert_eq!(told("z"), "d.yaml:1:1");
        assert_eq!(source.place(source.text.len()), "d.yaml:1:5");
        assert_eq!(source.place(usize::MAX), "d.yaml:1:5");
        let fault = source.faults()[0].span.expect("it has a place");
        assert_eq!(source.place(fault.start), "c.yaml:1:1");
        assert_eq!(source.names().collect::<Vec<_>>(), ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]);
    }

    #[test]
    fn each_file_is_read_for_itself_and_keeps_its_places() {
        let source = Source::new("a.yaml", "one: 1").joined(vec![piece("b.json", "{\"k\": [2]}")], Vec::new());
        assert_eq!(&*source.main().text, "one: 1");
        assert_eq!(source.others(), ["{\"k\": [2]}"]);
        let part = source.read_parts().next().expect("a part");
        let (tree, faults) = parse_part(&source, part, &mut 0);
        assert_eq!(faults, []);
        let tree = tree.expect("it is read");
        let value = tree.get("k").expect("it has a `k`");
        assert_eq!(&source.text[value.span.start..value.span.end], "[2]");
        let key = &tree.entries().expect("an object")[0].key;
        assert_eq!(&source.text[key.span.start..key.span.end], "\"k\"");
        let (tree, _) = super::super::parse(&source);
        assert!(tree.is_some_and(|tree| tree.get("one").is_some() && tree.get("k").is_none()));
    }

    #[test]
    fn what_aliases_add_is_bounded_for_all_files_together() {
        let mut bomb = format!("a0: &a0 [{}]\n", "x, ".repeat(2_000));
        for level in 1..3 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            bomb += &format!("a{level}: &a{level} [{before}]\n");
        }
        let pieces = (0..20).map(|nth| piece(&format!("{nth}.yaml"), &bomb)).collect();
        let source = Source::new("main.yaml", "a: 1").joined(pieces, Vec::new());
        let mut copied = 0;
        let read: Vec<bool> =
            source.read_parts().map(|part| parse_part(&source, part, &mut copied).0.is_some()).collect();
        assert!(read[0], "one alone is within the bound");
        assert!(!read[19], "all together are not");
    }
}
