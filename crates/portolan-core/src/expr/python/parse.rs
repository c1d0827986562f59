//! Parses tokens into a tree by operator precedence. Unsupported syntax is rejected here, with its place.

use std::collections::BTreeSet;

use super::token::{Kind, Token, tokens};
use super::tree::{COMPARISONS, Node, Operator, RANKS, Shape, Unary};
use super::value::Val;
use super::{IN_JSONATA, fault, unknown};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// The maximum nesting depth: brackets, conditions, `not`, signs, and the iterables of `for`. Parsing and evaluation
/// need stack for each level; a thread with two megabytes has enough for all levels and the deepest value.
const MAX_NESTING: usize = 32;

pub(super) type ParseResult<T> = Result<T, ParseFault>;

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// The index of the current token.
    here: usize,
    nesting: usize,
    /// The names that are read and that no `for` binds so far, with their byte offsets.
    pub(super) reads: Vec<(&'t str, usize)>,
    /// The byte offsets of generators in places that do not iterate over them.
    pub(super) generators: Vec<usize>,
    pub(super) has_loop: bool,
}

/// A parsed expression.
pub(super) struct Parsed {
    /// The expression as it was written.
    pub(super) text: String,
    pub(super) tree: Node,
    /// The names that it reads from its scope, in alphabetical order, without repetitions.
    pub(super) names: Vec<String>,
    pub(super) has_loop: bool,
}

/// Parses a text; `known` are the names of the scope.
pub(super) fn parse(text: &str, known: &[&str]) -> ParseResult<Parsed> {
    let tokens = tokens(text)?;
    let mut parser =
        Parser { text, tokens, here: 0, nesting: 0, reads: Vec::new(), generators: Vec::new(), has_loop: false };
    if parser.is_end() {
        return Err(fault(0, "the expression is empty", "write one, as in `len(output) > 0`"));
    }
    let tree = parser.expressions()?;
    if !parser.is_end() {
        return Err(parser.out_of_place());
    }
    if let Some(at) = parser.generators.first() {
        let help = "put it into brackets: `[… for x in …]`";
        return Err(fault(*at, "a `for` in parentheses is not a value here", help));
    }
    if let Some((name, at)) = parser.reads.iter().find(|(name, _)| !known.contains(name)) {
        return Err(unknown::name(name, *at, known));
    }
    let names: BTreeSet<&str> = parser.reads.iter().map(|(name, _)| *name).collect();
    let names = names.into_iter().map(str::to_owned).collect();
    Ok(Parsed { text: text.to_owned(), tree, names, has_loop: parser.has_loop })
}

impl<'t> Parser<'t> {
    pub(super) fn kind(&self) -> &Kind {
        &self.tokens[self.here].kind
    }

    fn is_end(&self) -> bool {
        matches!(self.kind(), Kind::End)
    }

    /// Returns the byte offset of the current token.
    pub(super) fn at(&self) -> usize {
        self.tokens[self.here].at
    }

    /// Returns the text of the current token; it is empty at the end.
    pub(super) fn word(&self) -> &'t str {
        self.word_at(self.here)
    }

    /// Returns the text of the token after the current one.
    pub(super) fn following(&self) -> &'t str {
        self.word_at(self.here + 1)
    }

    fn word_at(&self, index: usize) -> &'t str {
        self.tokens.get(index).map_or("", |token| &self.text[token.at..token.end])
    }

    pub(super) fn shown(&self) -> String {
        match self.kind() {
            Kind::End => "the end".to_owned(),
            _ => quoted(self.word()),
        }
    }

    /// Advances to the next token; the last one stays.
    pub(super) fn advance(&mut self) {
        self.here = (self.here + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.word() == word
    }

    pub(super) fn takes(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.advance();
        }
        found
    }

    /// Reads a word or sign that must be here.
    pub(super) fn expect(&mut self, word: &str, help: &str) -> ParseResult<()> {
        match self.takes(word) {
            true => Ok(()),
            false => Err(fault(self.at(), format!("expected `{word}`, found {}", self.shown()), help)),
        }
    }

    /// Reads the sign that closes the bracket at `open`.
    pub(super) fn close(&mut self, sign: &str, open: usize) -> ParseResult<()> {
        if self.takes(sign) {
            return Ok(());
        }
        match self.kind() {
            Kind::End => {
                let opened = quoted(&self.text[open..=open]);
                Err(fault(open, format!("{opened} is not closed"), format!("write `{sign}` at its end")))
            }
            _ => Err(self.out_of_place()),
        }
    }

    /// Reads one nesting level deeper, up to the limit.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!("the expression nests deeper than {MAX_NESTING} levels");
            return Err(fault(self.at(), message, "write it flatter, or as several checks"));
        }
        let found = read(self)?;
        self.nesting -= 1;
        Ok(found)
    }

    /// Accepts a part in a place that iterates over it, so that it may be a generator.
    pub(super) fn accept(&mut self, node: &Node) {
        if let Node::Comprehension(comprehension) = node
            && comprehension.shape == Shape::Generator
        {
            self.generators.pop();
        }
    }

    /// Reads an expression, or several with commas between them as a tuple.
    pub(super) fn expressions(&mut self) -> ParseResult<Node> {
        let first = self.expression()?;
        match self.is(",") {
            true => self.items(first).map(|items| Node::Items(Shape::Tuple, items)),
            false => Ok(first),
        }
    }

    /// Reads the items after the first one, which may end with a comma.
    pub(super) fn items(&mut self, first: Node) -> ParseResult<Vec<Node>> {
        let mut items = vec![first];
        while self.takes(",") && !matches!(self.word(), "" | ")" | "]" | "}" | ":" | "=") {
            items.push(self.expression()?);
        }
        Ok(items)
    }

    pub(super) fn expression(&mut self) -> ParseResult<Node> {
        self.nested(|parser| {
            let then = parser.condition()?;
            if !parser.takes("if") {
                return Ok(then);
            }
            let condition = parser.condition()?;
            parser.expect("else", "write a conditional value with its `else`: `a if condition else b`")?;
            let otherwise = parser.expression()?;
            Ok(Node::Choose(Box::new([condition, then, otherwise])))
        })
    }

    /// Reads an expression without `if`, such as the iterable of a `for`, where a following `if` is a filter.
    pub(super) fn condition(&mut self) -> ParseResult<Node> {
        self.chain(0)
    }

    /// Reads operands with operators of this rank between them.
    fn chain(&mut self, rank: usize) -> ParseResult<Node> {
        if rank == RANKS.len() {
            return self.signed();
        }
        if rank == COMPARISONS && self.takes("not") {
            return Ok(Node::Unary(Unary::Not, Box::new(self.nested(|parser| parser.chain(rank))?)));
        }
        let first = self.chain(rank + 1)?;
        let mut rest: Vec<(Operator, Node)> = Vec::new();
        loop {
            let at = self.at();
            let Some(operator) = self.operator(RANKS[rank]) else { break };
            let right = self.chain(rank + 1)?;
            let left = rest.last().map_or(&first, |(_, left)| left);
            is_supported(left, operator, &right, at)?;
            if let Operator::In | Operator::NotIn = operator {
                self.accept(&right);
            }
            rest.push((operator, right));
        }
        Ok(if rest.is_empty() { first } else { Node::Chain(Box::new(first), rest) })
    }

    fn operator(&mut self, among: &[(&str, Operator)]) -> Option<Operator> {
        let is_here = |sign: &str| match sign.split_once(' ') {
            Some((word, following)) => self.is(word) && self.following() == following,
            None => self.is(sign),
        };
        let (sign, operator) = among.iter().find(|(sign, _)| is_here(sign))?;
        sign.split(' ').for_each(|_| self.advance());
        Some(*operator)
    }

    fn signed(&mut self) -> ParseResult<Node> {
        let sign = match self.word() {
            "+" => Unary::Plus,
            "-" => Unary::Minus,
            _ => {
                let operand = self.trailed()?;
                if self.is("**") {
                    return Err(fault(self.at(), "`**` is not supported: a check has no powers", IN_JSONATA));
                }
                return Ok(operand);
            }
        };
        self.advance();
        Ok(Node::Unary(sign, Box::new(self.nested(Parser::signed)?)))
    }

    /// Makes the fault for a token in the wrong place.
    pub(super) fn out_of_place(&self) -> ParseFault {
        if self.is_end() {
            return fault(self.at(), "the expression ends too early", "complete the expression");
        }
        let help = match self.word() {
            "=" => "write a comparison with `==`",
            ":=" => "an expression cannot assign names: write the value where it is used",
            "&" => "write `and` to require both conditions",
            "|" => "write `or` to require either condition",
            "~" | "^" | "<<" | ">>" | "@" => IN_JSONATA,
            ";" => "a check is a single expression: join conditions with `and`",
            "*" | "**" => "write the items one by one",
            "lambda" => "write `[… for x in …]` where the function would be used",
            "import" | "from" => IN_JSONATA,
            "for" => "put it into brackets: `[… for x in …]`, `all(… for x in …)`",
            word if KEYWORDS.contains(&word) => "a check is an expression, not a statement",
            _ => "join conditions with `and` or `or`; write text in quotes",
        };
        fault(self.at(), format!("{} is not allowed here", self.shown()), help)
    }
}

/// Words that cannot be names.
pub(super) const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Rejects `%` after a text, and `is` except with `None`, `True` and `False`: other identities depend on how Python
/// stores values.
fn is_supported(left: &Node, operator: Operator, right: &Node, at: usize) -> ParseResult<()> {
    let is_single = |side: &Node| matches!(side, Node::Literal(Val::None | Val::Bool(_)));
    let help = match operator {
        Operator::Remainder if matches!(left, Node::Literal(Val::Text(_))) => {
            let help = "join the parts with `+`, with `str(…)` around what is not text";
            return Err(fault(at, "text with embedded values is not supported: `'…' % values`", help));
        }
        Operator::Is if !is_single(left) && !is_single(right) => "write `==`",
        Operator::IsNot if !is_single(left) && !is_single(right) => "write `!=`",
        _ => return Ok(()),
    };
    Err(fault(at, format!("`{}` can only test for `None`, `True` and `False`", operator.sign()), help))
}
