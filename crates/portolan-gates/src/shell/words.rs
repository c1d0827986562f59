//! Converts words of the grammar to [`Word`]s, and reads the substitutions in them. Braces count as a pattern.

use shuck_ast::{
    CommandSubstitutionSyntax, ConditionalExpr, HeredocBody, HeredocBodyPart, StmtSeq, Word as Syntax, WordPart,
    WordPartNode,
};

use super::walk::{Walk, join};
use super::{Why, Word};

/// One part of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A literal character.
    Char(char),
    /// A character with a special meaning at its position.
    Live(char),
    /// Text that is known only at run time; several words if it is not quoted.
    Unknown { several: bool },
}

/// A word under construction.
#[derive(Default)]
struct WordBuilder {
    pieces: Vec<Piece>,
    /// Whether it has quotes, so that it is a word even if it is empty.
    quoted: bool,
}

impl WordBuilder {
    fn push_text(&mut self, text: &str) {
        self.pieces.extend(text.chars().map(Piece::Char));
    }

    /// Appends the text of a part, or an unknown piece if there is none.
    fn part(&mut self, known: Option<String>, quoted: bool) {
        match known {
            Some(text) => self.push_text(&text),
            None => self.pieces.push(Piece::Unknown { several: !quoted }),
        }
    }
}

impl Walk<'_> {
    /// Returns the words that `word` expands to, and reads the commands in it. There are none if it is empty.
    pub(super) fn fields(&mut self, word: &Syntax) -> Option<Word> {
        let making = self.making(word);
        let empty = making.pieces.is_empty() && !making.quoted;
        let made = with_patterns(making.pieces).map(|pieces| self.finished(pieces));
        if made.is_none() {
            self.doubt(Why::Hidden, word.span.slice(self.source));
        }
        (!empty).then(|| made.unwrap_or(Word::Spread))
    }

    /// Returns the one word that `word` expands to.
    pub(super) fn word(&mut self, word: &Syntax) -> Word {
        self.fields(word).unwrap_or(Word::Known(String::new()))
    }

    /// Returns the value that a variable is assigned. Braces, patterns and spaces have no meaning there.
    pub(super) fn value(&mut self, word: &Syntax) -> Word {
        let mut making = self.making(word);
        for piece in &mut making.pieces {
            match piece {
                Piece::Live('~') | Piece::Char(_) => {}
                Piece::Live(character) => *piece = Piece::Char(*character),
                Piece::Unknown { several } => *several = false,
            }
        }
        self.finished(making.pieces)
    }

    fn finished(&self, mut pieces: Vec<Piece>) -> Word {
        if pieces.first() == Some(&Piece::Live('~')) {
            let end = pieces.iter().position(|piece| *piece == Piece::Char('/')).unwrap_or(pieces.len());
            let whose = plain(&pieces[1..end]).unwrap_or_else(|| "?".to_owned());
            let Some(home) = self.variable(match &*whose {
                "" => "HOME",
                "+" => "PWD",
                _ => "",
            }) else {
                return Word::Dynamic;
            };
            drop(pieces.splice(..end, home.chars().map(Piece::Char)));
        }
        let unknown = |several| pieces.contains(&Piece::Unknown { several });
        match is_pattern(&pieces) {
            pattern if unknown(true) || (pattern && unknown(false)) => Word::Spread,
            true => Word::Pattern(pieces.iter().map(pattern_text).collect()),
            false => plain(&pieces).map_or(Word::Dynamic, Word::Known),
        }
    }

    fn making(&mut self, word: &Syntax) -> WordBuilder {
        let mut making = WordBuilder::default();
        for (at, part) in word.parts.iter().enumerate() {
            self.part(part, at == 0, false, &mut making);
        }
        making
    }

    fn part(&mut self, node: &WordPartNode, first: bool, quoted: bool, making: &mut WordBuilder) {
        let raw = node.span.slice(self.source);
        match &node.kind {
            WordPart::Literal(text) if quoted => {
                self.live(text.syntax_str(self.source, node.span));
                making.push_text(text.as_str(self.source, node.span));
            }
            WordPart::Literal(text) => self.literal(text.syntax_str(self.source, node.span), first, making),
            WordPart::SingleQuoted { value, .. } => {
                making.quoted = true;
                making.push_text(value.slice(self.source));
            }
            WordPart::DoubleQuoted { parts, .. } => {
                making.quoted = true;
                for part in parts {
                    self.part(part, false, true, making);
                }
            }
            WordPart::CommandSubstitution { body, syntax } => {
                let known = self.substitution(body, *syntax, raw);
                making.part(known, quoted);
            }
            WordPart::ProcessSubstitution { body, .. } => {
                making.part(None, true);
                self.subshell(body);
            }
            // `"$@"` expands to as many words as there are arguments.
            WordPart::Variable(name) => making.part(self.variable(name.as_str()), quoted && name.as_str() != "@"),
            WordPart::Parameter(_) | WordPart::ParameterExpansion { .. } => {
                making.part(plain_name(raw).and_then(|name| self.variable(name)), quoted && !raw.contains('@'));
                self.expanded(raw);
            }
            WordPart::ArithmeticExpansion { expression_ast, .. } => {
                making.part(None, true);
                self.arithmetic(raw, expression_ast.is_some());
            }
            _ => {
                making.part(None, false);
                self.expanded(raw);
            }
        }
    }

    /// Returns the value of a known variable: `HOME`, `PWD`, or a settled one.
    fn variable(&self, name: &str) -> Option<String> {
        let set = |name: &str| self.carried.iter().any(|given| given.name == name);
        match (name, &self.folders[..]) {
            ("HOME", _) if !set("HOME") => self.around.home.clone(),
            ("PWD", [folder]) if !set("PWD") => {
                join(&Word::from(self.around.folder.as_deref()?), folder).known().map(str::to_owned)
            }
            _ => self.settled.iter().find(|(settled, _)| settled == name).map(|(_, value)| value.clone()),
        }
    }

    /// Reads text outside quotes. A backslash makes the next character literal; patterns and `~` stay live.
    fn literal(&mut self, raw: &str, first: bool, making: &mut WordBuilder) {
        self.live(raw);
        let mut characters = raw.chars();
        let mut begins = first;
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(taken) => {
                        making.quoted = true;
                        making.pieces.push(Piece::Char(taken));
                    }
                },
                '*' | '?' | '[' | ']' | '{' | '}' | ',' => making.pieces.push(Piece::Live(character)),
                '~' if begins => making.pieces.push(Piece::Live(character)),
                _ => making.pieces.push(Piece::Char(character)),
            }
            begins = false;
        }
    }

    /// Reports a substitution that the grammar left as text because it is nested too deep.
    fn live(&mut self, raw: &str) {
        let mut characters = raw.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => drop(characters.next()),
                '`' => return self.doubt(Why::Hidden, raw),
                '$' if characters.as_str().starts_with('(') => return self.doubt(Why::Hidden, raw),
                _ => {}
            }
        }
    }

    /// Reads the commands of a substitution. Its output is known if it only repeats a heredoc, or prints the shell's
    /// folder, worktree or branch, or a temporary path. These are the usual ways to write messages, branches and
    /// folders.
    fn substitution(&mut self, body: &StmtSeq, syntax: CommandSubstitutionSyntax, raw: &str) -> Option<String> {
        // The shell removes backslashes before it reads the text between backquotes.
        if matches!(syntax, CommandSubstitutionSyntax::Backtick) && raw.contains('\\') {
            self.doubt(Why::Hidden, raw);
            return None;
        }
        let before = self.found();
        self.subshell(body);
        let here = matches!(&self.folders[..], [folder] if folder.known() == Some("."));
        match body.span.slice(self.source).trim() {
            "pwd" => return self.variable("PWD"),
            "mktemp" | "mktemp -d" if !self.carried.iter().any(|given| given.name == "TMPDIR") => {
                return Some("/tmp/mktemp".to_owned());
            }
            "git rev-parse --show-toplevel" if here => return self.around.root.clone(),
            // A push and the like read `HEAD` as the branch that is checked out by then.
            "git branch --show-current" | "git rev-parse --abbrev-ref HEAD" | "git symbolic-ref --short HEAD"
                if here =>
            {
                return Some("HEAD".to_owned());
            }
            _ => {}
        }
        match self.found_since(before) {
            [command] if body.len() == 1 && command.writes.is_empty() && command.words == [Word::from("cat")] => {
                let text = command.stdin.as_ref().and_then(Word::known)?;
                Some(text.trim_end_matches('\n').to_owned())
            }
            _ => None,
        }
    }

    /// Reports text that is not parsed and may contain a command.
    pub(super) fn maybe_hidden(&mut self, raw: &str) {
        if ["`", "$(", "<(", ">("].iter().any(|sign| raw.replace("$((", "").contains(sign)) {
            self.doubt(Why::Hidden, raw);
        }
    }

    fn place(&mut self, text: &str) {
        self.late.place.get_or_insert_with(|| text.to_owned());
    }

    /// Records arithmetic or a subscript, which evaluates the values of the variables that it names.
    pub(super) fn evaluated(&mut self, raw: &str) {
        self.maybe_hidden(raw);
        let text = raw.strip_prefix('$').unwrap_or(raw);
        if text.contains(|char: char| char.is_ascii_alphabetic() || matches!(char, '_' | '$')) {
            self.place(raw);
        }
    }

    /// Does so for an expansion. A substitution that begins with a subshell looks the same, but is not arithmetic.
    pub(super) fn arithmetic(&mut self, raw: &str, parsed: bool) {
        self.evaluated(raw);
        if !parsed {
            self.doubt(Why::Hidden, raw);
        }
    }

    /// Records a `${…}` that evaluates a variable's value: by an offset, a subscript, an indirect name, or as a prompt.
    fn expanded(&mut self, raw: &str) {
        self.maybe_hidden(raw);
        let inner = raw.trim_start_matches("${").trim_end_matches('}');
        let name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let rest = inner.trim_start_matches('#').trim_start_matches(name);
        let part = rest.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '=', '+', '?']));
        let subscript = rest.strip_prefix('[').is_some_and(|rest| !rest.starts_with(['@', '*']));
        if inner.starts_with(['!', '(']) || part || subscript || rest.starts_with('@') {
            self.place(raw);
        }
    }

    /// Returns the text of a heredoc, and reads the commands in it.
    pub(super) fn heredoc(&mut self, body: &HeredocBody) -> Word {
        let mut making = WordBuilder::default();
        for node in &body.parts {
            let raw = node.span.slice(self.source);
            match &node.kind {
                HeredocBodyPart::Literal(text) => making.push_text(text.as_str(self.source, node.span)),
                HeredocBodyPart::Variable(name) => making.part(self.variable(name.as_str()), true),
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    let known = self.substitution(body, *syntax, raw);
                    making.part(known, true);
                }
                HeredocBodyPart::ArithmeticExpansion { expression_ast, .. } => {
                    making.part(None, true);
                    self.arithmetic(raw, expression_ast.is_some());
                }
                HeredocBodyPart::Parameter(_) => {
                    making.part(plain_name(raw).and_then(|name| self.variable(name)), true);
                    self.expanded(raw);
                }
            }
        }
        self.finished(making.pieces)
    }

    /// Reads the commands in `[[ … ]]`. A long chain of `&&` nests to the left, so this does not recurse for it.
    pub(super) fn conditional(&mut self, expression: &ConditionalExpr) {
        // These evaluate their operand, as arithmetic or as the name of a variable.
        let evaluates = |walk: &mut Self, operator: &str| {
            if matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R") {
                walk.place(operator);
            }
        };
        let mut waiting = vec![expression];
        while let Some(next) = waiting.pop() {
            match next {
                ConditionalExpr::Binary(binary) => {
                    evaluates(self, binary.op.as_str());
                    waiting.extend([&*binary.right, &*binary.left]);
                }
                ConditionalExpr::Unary(unary) => {
                    evaluates(self, unary.op.as_str());
                    waiting.push(&unary.expr);
                }
                ConditionalExpr::Parenthesized(inner) => waiting.push(&inner.expr),
                ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => {
                    // `-v` and `-eq` evaluate the subscript of a variable even if it is quoted.
                    if let Word::Known(text) = self.word(word)
                        && text.contains('[')
                    {
                        self.maybe_hidden(&text);
                    }
                }
                ConditionalExpr::Pattern(pattern) => self.pattern(pattern),
                ConditionalExpr::VarRef(reference) => self.maybe_hidden(reference.span.slice(self.source)),
            }
        }
    }

    /// Reads the commands in a pattern.
    pub(super) fn pattern(&mut self, pattern: &shuck_ast::Pattern) {
        for part in &pattern.parts {
            match &part.kind {
                shuck_ast::PatternPart::Word(word) => drop(self.word(word)),
                _ => self.maybe_hidden(part.span.slice(self.source)),
            }
        }
    }
}

fn plain(pieces: &[Piece]) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Char(character) | Piece::Live(character) => Some(*character),
        Piece::Unknown { .. } => None,
    };
    pieces.iter().map(text).collect()
}

fn is_pattern(pieces: &[Piece]) -> bool {
    let open = pieces.iter().position(|piece| *piece == Piece::Live('['));
    pieces.iter().any(|piece| matches!(piece, Piece::Live('*' | '?')))
        || open.is_some_and(|open| pieces[open..].contains(&Piece::Live(']')))
}

fn pattern_text(piece: &Piece) -> String {
    match piece {
        Piece::Char(character @ ('*' | '?' | '[' | ']' | '\\')) => format!("\\{character}"),
        Piece::Char(character) | Piece::Live(character) => character.to_string(),
        Piece::Unknown { .. } => "*".to_owned(),
    }
}

/// Replaces braces that expand to several words by a pattern that matches all of them. Returns `None` if none does: it
/// would have to match a path, or names with and without a dot at the front.
fn with_patterns(pieces: Vec<Piece>) -> Option<Vec<Piece>> {
    let mut found: Vec<Piece> = Vec::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    for piece in pieces {
        found.push(piece);
        match (piece, open.last_mut()) {
            (Piece::Live('{'), _) => open.push((found.len() - 1, false)),
            (Piece::Live(','), Some((_, several))) => *several = true,
            (Piece::Char('.'), Some((from, several))) => {
                *several |= found.len() > *from + 2 && found[found.len() - 2] == Piece::Char('.');
            }
            (Piece::Live('}'), Some(_)) => {
                if let Some((from, true)) = open.pop() {
                    let begins = from == 0 || matches!(found[from - 1], Piece::Char('/') | Piece::Live('{' | ','));
                    let inner = &found[from..];
                    let ends = |piece: &Piece| matches!(piece, Piece::Char('.') | Piece::Live(',' | '}'));
                    let starts = |piece: &Piece| matches!(piece, Piece::Live('{' | ','));
                    let dotted = begins && inner.windows(2).any(|pair| starts(&pair[0]) && ends(&pair[1]));
                    let open = |piece: &Piece| matches!(piece, Piece::Char('/') | Piece::Unknown { .. });
                    if dotted || inner.iter().any(open) {
                        return None;
                    }
                    found.truncate(from);
                    found.push(Piece::Live('*'));
                }
            }
            _ => {}
        }
    }
    Some(found)
}

/// Returns the variable if `raw` is `${name}` and nothing more.
fn plain_name(raw: &str) -> Option<&str> {
    let name = raw.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}
