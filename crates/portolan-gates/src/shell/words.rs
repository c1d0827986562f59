//! A word of the grammar as a [`Word`], and the substitutions that run while it is made.

use shuck_ast::{
    BourneParameterExpansion, CommandSubstitutionSyntax, ConditionalExpr, HeredocBody, HeredocBodyPart,
    ParameterExpansion, ParameterExpansionSyntax, SourceText, StmtSeq, Word as Syntax, WordPart, WordPartNode,
};

use std::sync::Arc;

use super::making::{Making, Piece};
use super::walk::{Folders, Walk, join};
use super::{Command, ShellContext, Why, Word};

impl Walk<'_> {
    /// The words that `word` comes to; the commands in it are told on the way.
    pub(super) fn fields(&mut self, word: &Syntax) -> Vec<Word> {
        let making = self.making(word);
        self.finished(making)
    }

    /// The one word that `word` comes to.
    pub(super) fn word(&mut self, word: &Syntax) -> Word {
        let mut words = self.fields(word);
        match (words.len(), words.pop()) {
            (1, Some(word)) => word,
            (0, _) => Word::from(""),
            _ => Word::Spread,
        }
    }

    /// The program that a command names. One that a variable or a brace names is left to the run.
    pub(super) fn program(&mut self, word: &Syntax) -> Vec<Word> {
        let making = self.making(word);
        if making.variable || making.has_braces() {
            return vec![if making.quoted { Word::Dynamic } else { Word::Spread }];
        }
        self.finished(making)
    }

    /// What a variable is given: braces, patterns and spaces mean nothing there.
    pub(super) fn value(&mut self, word: &Syntax) -> Word {
        let mut making = self.making(word);
        for piece in &mut making.pieces {
            match piece {
                Piece::Live('~') => {}
                Piece::Live(character) => *piece = Piece::Char(*character),
                Piece::Unknown { several } => *several = false,
                Piece::Char(_) => {}
            }
        }
        making.quoted = true;
        self.finished(making).pop().unwrap_or(Word::Dynamic)
    }

    fn finished(&self, making: Making) -> Vec<Word> {
        making.words(|name| match name {
            "" => self.variable("HOME")?.known().map(str::to_owned),
            "+" => self.variable("PWD")?.known().map(str::to_owned),
            "-" => self.variable("OLDPWD")?.known().map(str::to_owned),
            _ => None,
        })
    }

    fn making(&mut self, word: &Syntax) -> Making {
        let mut making = Making::default();
        for (at, part) in word.parts.iter().enumerate() {
            self.part(part, at == 0, false, &mut making);
        }
        making
    }

    fn part(&mut self, node: &WordPartNode, first: bool, quoted: bool, making: &mut Making) {
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
                match self.substitution(body, *syntax, node.span.slice(self.source), quoted) {
                    Some(text) => making.expand(&Word::Known(text), quoted),
                    None => making.unknown(quoted),
                }
            }
            WordPart::ProcessSubstitution { body, .. } => {
                making.unknown(true);
                self.subshell(body);
            }
            // `"$@"` is as many words as there are arguments.
            WordPart::Variable(name) => self.expanded(name.as_str(), quoted, making),
            WordPart::Parameter(expansion) => {
                let raw = node.span.slice(self.source);
                match plain_name(raw) {
                    Some(name) => self.expanded(name, quoted, making),
                    None => making.unknown(quoted && !raw.contains('@')),
                }
                self.parameter(expansion, raw);
            }
            WordPart::ArithmeticExpansion { expression, expression_ast, expression_word_ast, .. } => {
                making.unknown(true);
                let raw = node.span.slice(self.source);
                self.late.calculates(raw);
                self.calculated(raw);
                // What is no arithmetic is a substitution that begins with a subshell.
                if let (None, Some(inner)) =
                    (expression_ast, raw.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')))
                {
                    self.text(inner.to_owned());
                }
                self.operand(Some(expression), Some(expression_word_ast), node.span.slice(self.source));
            }
            other => {
                making.unknown(false);
                self.unwalked(other, node.span.slice(self.source));
            }
        }
    }

    /// What stands for a variable, where the text tells it.
    fn expanded(&self, name: &str, quoted: bool, making: &mut Making) {
        let variable = making.variable;
        match self.variable(name) {
            Some(value) if self.memory.is_usual() || quoted => making.expand(&value, quoted),
            _ => making.unknown(quoted && name != "@"),
        }
        // Where the shell is, and whose, is no name for something else.
        making.variable = variable || (making.variable && !matches!(name, "HOME" | "PWD" | "OLDPWD"));
    }

    fn variable(&self, name: &str) -> Option<Word> {
        let alone = |folders: &Folders| match &folders[..] {
            [Word::Known(folder)] => join(&Word::from(self.memory.folder()?), &Word::from(folder.as_str())).into(),
            _ => None,
        };
        match name {
            "PWD" if self.memory.is_usual() => alone(&self.folders),
            "OLDPWD" if self.memory.is_usual() => alone(&self.memory.previous()),
            "PWD" | "OLDPWD" => None,
            _ => self.memory.value(name).cloned(),
        }
    }

    /// Arithmetic may give values to what it names.
    pub(super) fn calculated(&mut self, raw: &str) {
        if raw.contains('=') || raw.contains("++") || raw.contains("--") {
            Arc::make_mut(&mut self.memory).forget_named(&raw.replace('$', " "));
        }
    }

    /// Text outside quotes: a backslash takes the next character as it is, and patterns and `~` wait for the run.
    fn literal(&mut self, raw: &str, first: bool, making: &mut Making) {
        self.live(raw);
        let mut characters = raw.chars();
        let mut begins = first;
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(taken) => {
                        making.quoted = true;
                        making.push(taken);
                    }
                },
                '*' | '?' | '[' | ']' | '{' | '}' | ',' => making.push_live(character),
                '~' if begins => making.push_live(character),
                _ => making.push(character),
            }
            begins = false;
        }
    }

    /// A substitution that the grammar left as text, because it stands too deep.
    fn live(&mut self, raw: &str) {
        let mut characters = raw.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => drop(characters.next()),
                '`' => return self.hidden(raw),
                '$' if characters.as_str().starts_with('(') => return self.hidden(raw),
                _ => {}
            }
        }
    }

    /// A command that the grammar left as text.
    fn hidden(&mut self, text: &str) {
        self.doubt(Why::Hidden, text);
    }

    /// The commands of a substitution are told; what it comes to is known where it only repeats a heredoc.
    fn substitution(
        &mut self,
        body: &StmtSeq,
        syntax: CommandSubstitutionSyntax,
        raw: &str,
        quoted: bool,
    ) -> Option<String> {
        match syntax {
            CommandSubstitutionSyntax::DollarParen => self.repeated(body),
            // Backslashes are taken away before the text between backquotes is read.
            CommandSubstitutionSyntax::Backtick => {
                let inner = raw.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(raw);
                let text = unescaped(inner, quoted);
                self.text(text);
                None
            }
        }
    }

    /// What a substitution comes to, where that is known: `$(cat <<E … E)`, the way in which most write a message of
    /// several lines, and the branch that is checked out.
    fn repeated(&mut self, body: &StmtSeq) -> Option<String> {
        let before = self.told();
        self.subshell(body);
        if let Some(path) = located(self.memory.around(), body.span.slice(self.source)) {
            return Some(path);
        }
        let [command] = self.told_since(before) else { return None };
        if body.len() != 1 || !command.writes.is_empty() {
            return None;
        }
        if command.words == [Word::from("cat")] {
            let text = command.stdin.as_ref().and_then(Word::known)?;
            return Some(text.trim_end_matches('\n').to_owned());
        }
        match command.words.as_slice() {
            [word] | [word, _] if word.known() == Some("pwd") => self.variable("PWD")?.known().map(str::to_owned),
            _ => self.branch(command).or_else(|| self.of_repository(command)),
        }
    }

    /// A folder of the repository that a call of git names, such as `git rev-parse --git-dir`: as an absolute path.
    fn of_repository(&self, command: &Command) -> Option<String> {
        let around = self.memory.around();
        let words: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
        let mut words = words?;
        words.retain(|word| !word.starts_with("--path-format"));
        let mut folder = match &command.folders[..] {
            [folder] => folder.clone(),
            _ => return None,
        };
        if let ["git", "-C", to, ..] = words[..] {
            folder = join(&folder, &Word::from(to));
            words.drain(1..3);
        }
        let plain =
            !command.assignments.iter().chain(command.carried.iter()).any(|given| given.name.starts_with("GIT_"));
        let ["git", "rev-parse", asked @ ..] = &words[..] else { return None };
        let inside = is_within(around, folder.known()?);
        let found = match asked {
            ["--git-dir" | "--absolute-git-dir"] => around.git_dir.clone(),
            ["--git-common-dir"] => around.common_dir.clone(),
            ["--show-toplevel"] => around.root.clone(),
            ["--git-path", path] => {
                let shared = ["hooks", "config", "info", "refs", "objects", "packed-refs", "logs/refs"];
                let is_shared =
                    shared.iter().any(|name| path.strip_prefix(name).is_some_and(|rest| !rest.contains("..")));
                let of = if is_shared { &around.common_dir } else { &around.git_dir };
                of.as_ref().map(|folder| format!("{folder}/{path}"))
            }
            _ => None,
        };
        found.filter(|_| plain && inside)
    }

    /// The branch that a call of git names, as long as nothing in the text may have checked out another.
    fn branch(&self, command: &Command) -> Option<String> {
        let settled = self.level == 0 && !self.switched && self.repeats == 0 && self.pending.is_empty();
        let here = command.folders == [Word::from(".")];
        let plain =
            !command.assignments.iter().chain(command.carried.iter()).any(|given| given.name.starts_with("GIT_"));
        (settled && here && plain && names_branch(command)).then(|| self.memory.branch().map(str::to_owned)).flatten()
    }

    fn parameter(&mut self, expansion: &ParameterExpansion, raw: &str) {
        self.late.expands(raw);
        // `${x:=y}` gives `x` a value.
        self.calculated(raw);
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

    /// The commands in an operand, where its places in the text are to be relied on.
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

    fn unwalked(&mut self, part: &WordPart, raw: &str) {
        self.late.expands(raw);
        match part {
            WordPart::ParameterExpansion { operand, operand_word_ast, .. } => {
                self.operand(operand.as_deref(), operand_word_ast.as_deref(), raw);
            }
            _ => self.maybe_hidden(raw),
        }
    }

    /// Text that is not taken apart: it may hold a command.
    pub(super) fn maybe_hidden(&mut self, raw: &str) {
        if ["`", "$(", "<(", ">("].iter().any(|sign| raw.replace("$((", "").contains(sign)) {
            self.hidden(raw);
        }
    }

    /// The text of a heredoc, and the commands in it.
    pub(super) fn heredoc(&mut self, body: &HeredocBody) -> Word {
        let mut making = Making::default();
        for node in &body.parts {
            match &node.kind {
                HeredocBodyPart::Literal(text) => making.push_text(text.as_str(self.source, node.span)),
                HeredocBodyPart::Variable(name) => self.expanded(name.as_str(), true, &mut making),
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    match self.substitution(body, *syntax, node.span.slice(self.source), true) {
                        Some(text) => making.push_text(&text),
                        None => making.unknown(true),
                    }
                }
                HeredocBodyPart::ArithmeticExpansion { expression, expression_word_ast, .. } => {
                    making.unknown(true);
                    self.late.calculates(node.span.slice(self.source));
                    self.calculated(node.span.slice(self.source));
                    self.operand(Some(expression), Some(expression_word_ast), node.span.slice(self.source));
                }
                HeredocBodyPart::Parameter(expansion) => {
                    let raw = node.span.slice(self.source);
                    match plain_name(raw) {
                        Some(name) => self.expanded(name, true, &mut making),
                        None => making.unknown(true),
                    }
                    self.parameter(expansion, raw);
                }
            }
        }
        making.text()
    }

    /// The commands in `[[ … ]]`. A long row of `&&` nests to the left, so this does not call itself for it.
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
                    // `-v` and `-eq` evaluate the subscript of a variable even where it is quoted.
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

    /// Operators that evaluate what they are given: as arithmetic, or as the name of a variable.
    fn conditioned(&mut self, operator: &str) {
        if matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R") {
            self.late.evaluates(operator);
        }
    }

    /// The commands in a pattern.
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

/// The variable that `${name}` is, where it is nothing more.
fn plain_name(raw: &str) -> Option<&str> {
    let name = raw.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Whether a call of git says which branch is checked out, and nothing else.
pub(super) fn names_branch(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
    words.is_some_and(|words| {
        matches!(
            words[..],
            ["git", "branch", "--show-current"]
                | ["git", "rev-parse", "--abbrev-ref", "HEAD"]
                | ["git", "symbolic-ref", "--short", "HEAD"]
        )
    })
}

/// Where the search path leads to a program, for a text that asks it: `command -v git`.
fn located(around: &ShellContext, text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let name = match words[..] {
        ["which", name] | ["command", "-v", name] | ["type", "-P" | "-p", name] => name,
        _ => return None,
    };
    around.programs.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone())
}

/// Whether a folder, seen from where the shell begins, lies in the worktree around that.
fn is_within(around: &ShellContext, folder: &str) -> bool {
    let (Some(start), Some(root)) = (&around.folder, &around.root) else { return false };
    let whole = if folder.starts_with('/') { folder.to_owned() } else { format!("{start}/{folder}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let whole = format!("/{}", parts.join("/"));
    whole.strip_prefix(root.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Text between backquotes as the inner shell reads it.
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
