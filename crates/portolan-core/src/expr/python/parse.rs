//! Parses tokens into a tree by operator precedence. Unsupported syntax is rejected here, with its place.

use super::token::{PlacedToken, Token, tokens};
use super::tree::{Choice, Literal, Node, Operator, Relation, Sign};
use super::{IN_JSONATA, fault};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// The maximum nesting depth: brackets, conditions, `not`, signs, powers, and the iterables of `for`. Parsing and
/// evaluation need stack for each level; a thread with two megabytes has enough for all levels and the deepest value.
pub(super) const MAX_NESTING: usize = 32;

pub(super) type ParseResult<T> = Result<T, ParseFault>;

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    tokens: Vec<PlacedToken<'t>>,
    /// The index of the current token.
    here: usize,
    nesting: usize,
}

/// Parses a text into a tree.
pub(super) fn parse(text: &str) -> ParseResult<Node> {
    let mut parser = Parser { text, tokens: tokens(text)?, here: 0, nesting: 0 };
    if *parser.token() == Token::End {
        return Err(fault(0, "the expression is empty", "write one, as in `len(output) > 0`"));
    }
    let tree = parser.expressions()?;
    match parser.token() {
        Token::End => Ok(tree),
        _ => Err(parser.out_of_place()),
    }
}

impl<'t> Parser<'t> {
    pub(super) fn token(&self) -> &Token<'t> {
        &self.tokens[self.here].token
    }

    /// Returns the byte offset of the current token.
    pub(super) fn at(&self) -> usize {
        self.tokens[self.here].at
    }

    pub(super) fn shown(&self) -> String {
        self.token().shown(self.text, &self.tokens[self.here])
    }

    /// Advances to the next token; the last one stays.
    pub(super) fn advance(&mut self) {
        self.here = (self.here + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Name(found) if *found == word)
    }

    /// Returns the token after the current one.
    pub(super) fn following(&self) -> &Token<'t> {
        &self.tokens[(self.here + 1).min(self.tokens.len() - 1)].token
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Reads the sign that closes the bracket at `open`.
    pub(super) fn close(&mut self, sign: &str, open: usize) -> ParseResult<()> {
        if self.takes(sign) {
            return Ok(());
        }
        match self.token() {
            Token::End => {
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

    /// Reads an expression, or several with commas between them as a tuple.
    pub(super) fn expressions(&mut self) -> ParseResult<Node> {
        let first = self.expression()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.takes(",") && self.begins() {
            items.push(self.expression()?);
        }
        Ok(Node::Tuple(items))
    }

    /// Checks whether an expression can continue here after a comma.
    fn begins(&self) -> bool {
        !matches!(self.token(), Token::End | Token::Sign(")" | "]" | "}" | ":" | "="))
    }

    pub(super) fn expression(&mut self) -> ParseResult<Node> {
        self.nested(|parser| {
            let then = parser.any()?;
            if !parser.takes_word("if") {
                return Ok(then);
            }
            let condition = parser.any()?;
            if !parser.takes_word("else") {
                let found = parser.shown();
                let help = "write a conditional value with its `else`: `a if condition else b`";
                return Err(fault(parser.at(), format!("expected `else`, found {found}"), help));
            }
            let otherwise = parser.expression()?;
            Ok(Node::Choose(Box::new(Choice { condition, then, otherwise })))
        })
    }

    /// Reads a condition of `or`s. It is also the iterable of a `for`, where a following `if` is a filter.
    pub(super) fn any(&mut self) -> ParseResult<Node> {
        let first = self.all()?;
        if !self.is_word("or") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.takes_word("or") {
            parts.push(self.all()?);
        }
        Ok(Node::Any(parts))
    }

    fn all(&mut self) -> ParseResult<Node> {
        let first = self.not()?;
        if !self.is_word("and") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.takes_word("and") {
            parts.push(self.not()?);
        }
        Ok(Node::All(parts))
    }

    fn not(&mut self) -> ParseResult<Node> {
        if self.takes_word("not") {
            return Ok(Node::Not(Box::new(self.nested(Parser::not)?)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> ParseResult<Node> {
        let first = self.sum()?;
        let mut rest: Vec<(Relation, Node)> = Vec::new();
        loop {
            let at = self.at();
            let Some(relation) = self.relation() else { break };
            let right = self.sum()?;
            if matches!(relation, Relation::Is | Relation::IsNot) {
                let left = rest.last().map_or(&first, |(_, left)| left);
                identity(relation, [left, &right], at)?;
            }
            rest.push((relation, right));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Node::Compare(Box::new(first), rest))
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.token() {
            Token::Sign("==") => Relation::Equal,
            Token::Sign("!=") => Relation::Unequal,
            Token::Sign("<") => Relation::Less,
            Token::Sign("<=") => Relation::LessEqual,
            Token::Sign(">") => Relation::Greater,
            Token::Sign(">=") => Relation::GreaterEqual,
            Token::Name("in") => Relation::In,
            Token::Name("not") if *self.following() == Token::Name("in") => {
                self.advance();
                Relation::NotIn
            }
            Token::Name("is") if *self.following() == Token::Name("not") => {
                self.advance();
                Relation::IsNot
            }
            Token::Name("is") => Relation::Is,
            _ => return None,
        };
        self.advance();
        Some(relation)
    }

    fn sum(&mut self) -> ParseResult<Node> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Parser::product)
    }

    fn product(&mut self) -> ParseResult<Node> {
        const PRODUCTS: &[(&str, Operator)] = &[
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::FloorDivide),
            ("%", Operator::Remainder),
        ];
        self.chain(PRODUCTS, Parser::signed)
    }

    fn chain(&mut self, operators: &[(&str, Operator)], part: fn(&mut Self) -> ParseResult<Node>) -> ParseResult<Node> {
        let first = part(self)?;
        let mut rest = Vec::new();
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.is(sign)) {
            let at = self.at();
            if *operator == Operator::Remainder && rest.is_empty() && is_text(&first) {
                let help = "join the parts with `+`, with `str(…)` around what is not text";
                return Err(fault(at, "text with embedded values is not supported: `'…' % values`", help));
            }
            self.advance();
            rest.push((*operator, part(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Node::Arithmetic(Box::new(first), rest))
    }

    fn signed(&mut self) -> ParseResult<Node> {
        let sign = match self.token() {
            Token::Sign("+") => Sign::Plus,
            Token::Sign("-") => Sign::Minus,
            _ => return self.power(),
        };
        self.advance();
        Ok(Node::Sign(sign, Box::new(self.nested(Parser::signed)?)))
    }

    /// Reads `-a ** -b`: a power binds tighter than the sign before it, and looser than the one after it.
    fn power(&mut self) -> ParseResult<Node> {
        let base = self.trailed()?;
        if !self.takes("**") {
            return Ok(base);
        }
        let exponent = self.nested(Parser::signed)?;
        Ok(Node::Arithmetic(Box::new(base), vec![(Operator::Power, exponent)]))
    }

    /// Makes the fault for a token in the wrong place.
    pub(super) fn out_of_place(&self) -> ParseFault {
        let help = match self.token() {
            Token::End => "complete the expression",
            Token::Sign("=") => "write a comparison with `==`",
            Token::Sign(":=") => "an expression cannot assign names: write the value where it is used",
            Token::Sign("&") => "write `and` to require both conditions",
            Token::Sign("|") => "write `or` to require either condition",
            Token::Sign("~" | "^" | "<<" | ">>" | "@") => {
                "use one of the operators `+`, `-`, `*`, `/`, `//`, `%` and `**`"
            }
            Token::Sign(";") => "a check is a single expression: join conditions with `and`",
            Token::Sign("*" | "**") => "write the items one by one",
            Token::Name("lambda") => "write `[… for x in …]` where the function would be used",
            Token::Name("import" | "from") => IN_JSONATA,
            Token::Name("for") => "put it into brackets: `[… for x in …]`, `all(… for x in …)`",
            Token::Name(word) if KEYWORDS.contains(word) => "a check is an expression, not a statement",
            _ => "join conditions with `and` or `or`; write text in quotes",
        };
        match self.token() {
            Token::End => fault(self.at(), "the expression ends too early", help),
            _ => fault(self.at(), format!("{} is not allowed here", self.shown()), help),
        }
    }
}

/// Words that cannot be names.
pub(super) const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

fn is_text(node: &Node) -> bool {
    matches!(node, Node::Literal(Literal::Text(_)))
}

/// Rejects `is` except with `None`, `True` and `False`: other identities depend on how Python stores values.
fn identity(relation: Relation, sides: [&Node; 2], at: usize) -> ParseResult<()> {
    let is_single = |side: &&Node| matches!(side, Node::Literal(Literal::None | Literal::Bool(_)));
    if sides.iter().any(is_single) {
        return Ok(());
    }
    let help = match relation {
        Relation::IsNot => "write `!=`",
        _ => "write `==`",
    };
    Err(fault(at, format!("`{}` can only test for `None`, `True` and `False`", relation.sign()), help))
}
