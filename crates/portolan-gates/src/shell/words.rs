//! Converts a word of the grammar to [`Word`]s, and reads the substitutions in it. Braces expand before patterns, as in
//! a shell.

use shuck_ast::{
    BourneParameterExpansion, CommandSubstitutionSyntax, ConditionalExpr, HeredocBody, HeredocBodyPart,
    ParameterExpansion, ParameterExpansionSyntax, SourceText, StmtSeq, Word as Syntax, WordPart, WordPartNode,
};

use super::walk::{Walk, join};
use super::{Why, Word};

/// The longest word with braces, and the most words that it may expand to.
const MAX_BRACED: usize = 512;
const MAX_WORDS: usize = 64;

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

    fn unknown(&mut self, quoted: bool) {
        self.pieces.push(Piece::Unknown { several: !quoted });
    }

    /// Appends the text of a part, or an unknown piece if there is none.
    fn part(&mut self, known: Option<String>, quoted: bool) {
        match known {
            Some(text) => self.push_text(&text),
            None => self.unknown(quoted),
        }
    }
}

impl Walk<'_> {
    /// Returns the words that `word` expands to, and reads the commands in it.
    pub(super) fn fields(&mut self, word: &Syntax) -> Vec<Word> {
        let making = self.making(word);
        if making.pieces.is_empty() && !making.quoted {
            return Vec::new();
        }
        match braced(making.pieces) {
            Some(all) => all.into_iter().map(|pieces| self.finished(pieces)).collect(),
            None => vec![Word::Spread],
        }
    }

    /// Returns the one word that `word` expands to.
    pub(super) fn word(&mut self, word: &Syntax) -> Word {
        let mut words = self.fields(word);
        match (words.len(), words.pop()) {
            (1, Some(word)) => word,
            (0, _) => Word::from(""),
            _ => Word::Spread,
        }
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
        if pieces.contains(&Piece::Unknown { several: true }) {
            return Word::Spread;
        }
        if pieces.contains(&Piece::Unknown { several: false }) {
            return if is_pattern(&pieces) { Word::Spread } else { Word::Dynamic };
        }
        if is_pattern(&pieces) {
            return Word::Pattern(pieces.iter().map(pattern_text).collect());
        }
        plain(&pieces).map_or(Word::Dynamic, Word::Known)
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
                let known = self.substitution(body, *syntax, raw, quoted);
                making.part(known, quoted);
            }
            WordPart::ProcessSubstitution { body, .. } => {
                making.unknown(true);
                self.subshell(body);
            }
            // `"$@"` expands to as many words as there are arguments.
            WordPart::Variable(name) => making.part(self.variable(name.as_str()), quoted && name.as_str() != "@"),
            WordPart::Parameter(expansion) => {
                making.part(plain_name(raw).and_then(|name| self.variable(name)), quoted && !raw.contains('@'));
                self.parameter(expansion, raw);
            }
            WordPart::ArithmeticExpansion { expression, expression_ast, expression_word_ast, .. } => {
                making.unknown(true);
                // A substitution that begins with a subshell looks the same, but is not arithmetic.
                if let (None, Some(inner)) =
                    (expression_ast, raw.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')))
                {
                    self.text(inner.to_owned());
                }
                self.calculated(raw);
                self.operand(Some(expression), Some(expression_word_ast), raw);
            }
            WordPart::ParameterExpansion { operand, operand_word_ast, .. } => {
                making.unknown(false);
                self.expanded(raw);
                self.operand(operand.as_deref(), operand_word_ast.as_deref(), raw);
            }
            _ => {
                making.unknown(false);
                self.expanded(raw);
                self.maybe_hidden(raw);
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
    fn substitution(
        &mut self,
        body: &StmtSeq,
        syntax: CommandSubstitutionSyntax,
        raw: &str,
        quoted: bool,
    ) -> Option<String> {
        if let CommandSubstitutionSyntax::Backtick = syntax {
            // The shell removes backslashes before it reads the text between backquotes.
            let inner = raw.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(raw);
            self.text(unescaped(inner, quoted));
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

    fn parameter(&mut self, expansion: &ParameterExpansion, raw: &str) {
        self.expanded(raw);
        match &expansion.syntax {
            ParameterExpansionSyntax::Bourne(BourneParameterExpansion::Operation {
                operand,
                operand_word_ast,
                operator,
                ..
            }) if operator.replacement_word_ast().is_none() && operand.is_some() => {
                self.operand(operand.as_ref(), operand_word_ast.as_deref(), raw);
            }
            _ => self.maybe_hidden(raw),
        }
    }

    /// Reads the commands in an operand, if its spans refer to the source.
    fn operand(&mut self, text: Option<&SourceText>, word: Option<&Syntax>, raw: &str) {
        match (text, word) {
            (Some(text), Some(word)) if text.is_source_backed() => {
                let before = self.seen();
                self.word(word);
                if self.seen() == before {
                    self.maybe_hidden(raw);
                }
            }
            _ => self.maybe_hidden(raw),
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
    fn calculated(&mut self, raw: &str) {
        let text = raw.strip_prefix('$').unwrap_or(raw);
        if text.contains(|char: char| char.is_ascii_alphabetic() || matches!(char, '_' | '$')) {
            self.place(raw);
        }
    }

    /// Does the same for text that is not parsed.
    pub(super) fn evaluated(&mut self, raw: &str) {
        self.maybe_hidden(raw);
        self.calculated(raw);
    }

    /// Records a `${…}` that evaluates a variable's value: by an offset, a subscript, an indirect name, or as a prompt.
    fn expanded(&mut self, raw: &str) {
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
                    let known = self.substitution(body, *syntax, raw, true);
                    making.part(known, true);
                }
                HeredocBodyPart::ArithmeticExpansion { expression, expression_word_ast, .. } => {
                    making.unknown(true);
                    self.calculated(raw);
                    self.operand(Some(expression), Some(expression_word_ast), raw);
                }
                HeredocBodyPart::Parameter(expansion) => {
                    making.part(plain_name(raw).and_then(|name| self.variable(name)), true);
                    self.parameter(expansion, raw);
                }
            }
        }
        self.finished(making.pieces)
    }

    /// Reads the commands in `[[ … ]]`. A long chain of `&&` nests to the left, so this does not recurse for it.
    pub(super) fn conditional(&mut self, expression: &ConditionalExpr) {
        let mut waiting = vec![expression];
        while let Some(next) = waiting.pop() {
            match next {
                ConditionalExpr::Binary(binary) => {
                    self.conditioned(binary.op.as_str());
                    waiting.extend([&*binary.right, &*binary.left]);
                }
                ConditionalExpr::Unary(unary) => {
                    self.conditioned(unary.op.as_str());
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

    /// Records operators that evaluate their operand, as arithmetic or as the name of a variable.
    fn conditioned(&mut self, operator: &str) {
        if matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R") {
            self.place(operator);
        }
    }

    /// Reads the commands in a pattern.
    pub(super) fn pattern(&mut self, pattern: &shuck_ast::Pattern) {
        let mut waiting = vec![pattern];
        while let Some(next) = waiting.pop() {
            for part in &next.parts {
                match &part.kind {
                    shuck_ast::PatternPart::Word(word) => {
                        self.word(word);
                    }
                    shuck_ast::PatternPart::Group { patterns, .. } => waiting.extend(patterns),
                    _ => self.maybe_hidden(part.span.slice(self.source)),
                }
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

/// Expands the braces of a word. Returns `None` if there are too many words, or for a range (`{1..9}`).
fn braced(pieces: Vec<Piece>) -> Option<Vec<Vec<Piece>>> {
    let mut done = Vec::new();
    let mut waiting = vec![pieces];
    while let Some(next) = waiting.pop() {
        // Each open brace searches for its end.
        if next.len() > MAX_BRACED && next.contains(&Piece::Live('{')) {
            return None;
        }
        let found = (0..next.len()).find_map(|at| alternatives(&next, at).map(|found| (at, found)));
        let Some((open, (close, choices))) = found else {
            done.push(next);
            continue;
        };
        if choices.is_empty() || waiting.len() + done.len() + choices.len() > MAX_WORDS {
            return None;
        }
        let whole = |choice: &Vec<Piece>| [&next[..open], choice.as_slice(), &next[close + 1..]].concat();
        waiting.extend(choices.iter().rev().map(whole));
    }
    Some(done)
}

/// Returns the end of the brace at `open` and its alternatives, which are empty for a range.
fn alternatives(pieces: &[Piece], open: usize) -> Option<(usize, Vec<Vec<Piece>>)> {
    if pieces[open] != Piece::Live('{') {
        return None;
    }
    let (mut depth, mut starts) = (0_usize, vec![open + 1]);
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        match piece {
            Piece::Live('{') => depth += 1,
            Piece::Live(',') if depth == 1 => starts.push(at + 1),
            Piece::Live('}') if depth == 1 => {
                let ends = starts.iter().skip(1).map(|start| start - 1).chain([at]);
                let choices: Vec<Vec<Piece>> =
                    starts.iter().zip(ends).map(|(from, to)| pieces[*from..to].to_vec()).collect();
                let counts = plain(&pieces[open + 1..at]).is_none_or(|inner| inner.contains(".."));
                return match (choices.len(), counts) {
                    (1, true) => Some((at, Vec::new())),
                    (1, false) => None,
                    _ => Some((at, choices)),
                };
            }
            Piece::Live('}') => depth -= 1,
            Piece::Char(_) | Piece::Live(_) | Piece::Unknown { .. } => {}
        }
    }
    None
}

/// Returns the variable if `raw` is `${name}` and nothing more.
fn plain_name(raw: &str) -> Option<&str> {
    let name = raw.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Returns the text between backquotes as the inner shell reads it.
fn unescaped(text: &str, quoted: bool) -> String {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let taken = match (character, characters.peek()) {
            ('\\', Some('\\' | '`' | '$')) => characters.next(),
            ('\\', Some('"')) if quoted => characters.next(),
            _ => None,
        };
        out.push(taken.unwrap_or(character));
    }
    out
}
