//! A word of the grammar as a [`Word`], and the substitutions that run while it is made.

use shuck_ast::{
    BourneParameterExpansion, CommandSubstitutionSyntax, ConditionalExpr, HeredocBody, HeredocBodyPart,
    ParameterExpansion, ParameterExpansionSyntax, SourceText, StmtSeq, Word as Syntax, WordPart, WordPartNode,
};

use super::walk::Walk;
use super::{Why, Word};

/// A word that is being put together.
#[derive(Default)]
struct Making {
    text: String,
    dynamic: bool,
    spread: bool,
}

impl Making {
    fn done(self) -> Word {
        match self {
            Self { spread: true, .. } => Word::Spread,
            Self { dynamic: true, .. } => Word::Dynamic,
            Self { text, .. } => Word::Known(text),
        }
    }

    fn expansion(&mut self, quoted: bool) {
        self.dynamic = true;
        self.spread |= !quoted;
    }
}

impl Walk<'_> {
    /// What `word` comes to; the commands in it are told on the way.
    pub(super) fn word(&mut self, word: &Syntax) -> Word {
        let mut making = Making::default();
        if word.brace_syntax.iter().any(|brace| brace.expands()) {
            making.expansion(false);
        }
        for (at, part) in word.parts.iter().enumerate() {
            self.part(part, at == 0, false, &mut making);
        }
        making.done()
    }

    fn part(&mut self, node: &WordPartNode, first: bool, quoted: bool, making: &mut Making) {
        match &node.kind {
            WordPart::Literal(text) if quoted => {
                self.live(text.syntax_str(self.source, node.span));
                making.text.push_str(text.as_str(self.source, node.span));
            }
            WordPart::Literal(text) => self.literal(text.syntax_str(self.source, node.span), first, making),
            WordPart::SingleQuoted { value, .. } => making.text.push_str(value.slice(self.source)),
            WordPart::DoubleQuoted { parts, .. } => {
                for part in parts {
                    self.part(part, false, true, making);
                }
            }
            WordPart::CommandSubstitution { body, syntax } => {
                match self.substitution(body, *syntax, node.span.slice(self.source), quoted) {
                    Some(text) if quoted => making.text.push_str(&text),
                    _ => making.expansion(quoted),
                }
            }
            WordPart::ProcessSubstitution { body, .. } => {
                making.dynamic = true;
                self.subshell(body);
            }
            // `"$@"` is as many words as there are arguments.
            WordPart::Variable(name) => making.expansion(quoted && name.as_str() != "@"),
            WordPart::Parameter(expansion) => {
                let many = node.span.slice(self.source).contains('@');
                making.expansion(quoted && !many);
                self.parameter(expansion, node.span.slice(self.source));
            }
            WordPart::ArithmeticExpansion { expression, expression_ast, expression_word_ast, .. } => {
                making.dynamic = true;
                let raw = node.span.slice(self.source);
                // What is no arithmetic is a substitution that begins with a subshell.
                if let (None, Some(inner)) =
                    (expression_ast, raw.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')))
                {
                    self.text(inner.to_owned());
                }
                self.operand(Some(expression), Some(expression_word_ast), node.span.slice(self.source));
            }
            other => {
                making.expansion(false);
                self.unwalked(other, node.span.slice(self.source));
            }
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
                    Some(taken) => making.text.push(taken),
                },
                '*' | '?' | '[' => {
                    // `[` alone is the program; a pattern has more.
                    making.spread |= raw != "[";
                    making.text.push(character);
                }
                '~' if begins => making.dynamic = true,
                _ => making.text.push(character),
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

    /// `$(cat <<E … E)`, the way in which most write a message of several lines.
    fn repeated(&mut self, body: &StmtSeq) -> Option<String> {
        let before = self.told();
        self.subshell(body);
        let [command] = self.told_since(before) else { return None };
        let cats = command.words == [Word::from("cat")] && command.writes.is_empty();
        let text = command.stdin.as_ref().filter(|_| cats).and_then(Word::known)?;
        (body.len() == 1).then(|| text.trim_end_matches('\n').to_owned())
    }

    fn parameter(&mut self, expansion: &ParameterExpansion, raw: &str) {
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
                HeredocBodyPart::Literal(text) => making.text.push_str(text.as_str(self.source, node.span)),
                HeredocBodyPart::Variable(_) => making.dynamic = true,
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    match self.substitution(body, *syntax, node.span.slice(self.source), true) {
                        Some(text) => making.text.push_str(&text),
                        None => making.dynamic = true,
                    }
                }
                HeredocBodyPart::ArithmeticExpansion { expression, expression_word_ast, .. } => {
                    making.dynamic = true;
                    self.operand(Some(expression), Some(expression_word_ast), node.span.slice(self.source));
                }
                HeredocBodyPart::Parameter(expansion) => {
                    making.dynamic = true;
                    self.parameter(expansion, node.span.slice(self.source));
                }
            }
        }
        making.done()
    }

    /// The commands in `[[ … ]]`. A long row of `&&` nests to the left, so this does not call itself for it.
    pub(super) fn conditional(&mut self, expression: &ConditionalExpr) {
        let mut waiting = vec![expression];
        while let Some(next) = waiting.pop() {
            match next {
                ConditionalExpr::Binary(binary) => waiting.extend([&*binary.right, &*binary.left]),
                ConditionalExpr::Unary(unary) => waiting.push(&unary.expr),
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
