//! Parses operands: literals, names, brackets, comprehensions, subscripts and method calls.

use super::parse::{KEYWORDS, ParseResult, Parser};
use super::token::Token;
use super::tree::{Clause, Comprehension, ComprehensionOutput, FUNCTIONS, Literal, Name, Node, TYPES, Target, Trailer};
use super::{IN_JSONATA, fault};
use crate::diagnostic::list;
use crate::expr::jsonata::quoted;

/// The maximum number of `for`s in one comprehension. They are evaluated by nesting.
const MAX_CLAUSES: usize = 8;

impl<'t> Parser<'t> {
    /// Reads a value with its subscripts and methods.
    pub(super) fn trailed(&mut self) -> ParseResult<Node> {
        let value = self.atom()?;
        let mut trailers = Vec::new();
        loop {
            let at = self.at();
            if self.takes("[") {
                trailers.push(self.subscript(at)?);
            } else if self.takes(".") {
                trailers.push(self.method(&value, at)?);
            } else if self.is("(") {
                return Err(fault(at, "what is called here is not a function", "call a function by its name"));
            } else {
                break;
            }
        }
        if trailers.is_empty() {
            return Ok(value);
        }
        Ok(Node::Trailed(Box::new(value), trailers))
    }

    fn atom(&mut self) -> ParseResult<Node> {
        let at = self.at();
        let literal = match self.token().clone() {
            Token::Int(int) => Literal::Int(int),
            Token::Float(float) => Literal::Float(float),
            Token::Text(text) => return Ok(self.texts(text)),
            Token::Name("None") => Literal::None,
            Token::Name("True") => Literal::Bool(true),
            Token::Name("False") => Literal::Bool(false),
            Token::Name(name) => return self.name(name),
            Token::Sign("(") => return self.parentheses(at),
            Token::Sign("[") => return self.brackets(at),
            Token::Sign("{") => return self.braces(at),
            Token::Sign(_) | Token::End => return Err(self.out_of_place()),
        };
        self.advance();
        Ok(Node::Literal(literal))
    }

    /// Concatenates adjacent string literals.
    fn texts(&mut self, first: String) -> Node {
        let mut text = first;
        self.advance();
        while let Token::Text(more) = self.token() {
            text.push_str(more);
            self.advance();
        }
        Node::Literal(Literal::Text(text))
    }

    fn name(&mut self, name: &str) -> ParseResult<Node> {
        let at = self.at();
        if KEYWORDS.contains(&name) {
            return Err(self.out_of_place());
        }
        is_harmless(name, at)?;
        let is_called = *self.following() == Token::Sign("(");
        if is_called {
            return self.call(name);
        }
        if FUNCTIONS.iter().any(|(word, ..)| *word == name) || name == "isinstance" {
            let help = match TYPES.iter().any(|(word, _)| *word == name) {
                true => format!("call it, as in `{name}(…)`, or use `isinstance(…, {name})`"),
                false => format!("call it, as in `{name}(…)`"),
            };
            return Err(fault(at, format!("`{name}` is a function, not a value"), help));
        }
        self.advance();
        Ok(Node::Name(Name { name: name.to_owned(), at }))
    }

    fn parentheses(&mut self, open: usize) -> ParseResult<Node> {
        self.advance();
        if self.takes(")") {
            return Ok(Node::Tuple(Vec::new()));
        }
        let inner = self.parentheses_inside(open)?;
        self.close(")", open)?;
        Ok(inner)
    }

    /// Reads an expression, a generator, or the items of a tuple.
    fn parentheses_inside(&mut self, open: usize) -> ParseResult<Node> {
        let first = self.expression()?;
        if self.is_word("for") {
            return self.comprehension(ComprehensionOutput::Generator(first), open);
        }
        if !self.is(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.takes(",") && !self.is(")") {
            items.push(self.expression()?);
        }
        Ok(Node::Tuple(items))
    }

    fn brackets(&mut self, open: usize) -> ParseResult<Node> {
        self.advance();
        if self.takes("]") {
            return Ok(Node::List(Vec::new()));
        }
        let inner = self.brackets_inside(open)?;
        self.close("]", open)?;
        Ok(inner)
    }

    /// Reads a comprehension, or the items of a list.
    fn brackets_inside(&mut self, open: usize) -> ParseResult<Node> {
        let first = self.expression()?;
        if self.is_word("for") {
            return self.comprehension(ComprehensionOutput::List(first), open);
        }
        let mut items = vec![first];
        while self.takes(",") && !self.is("]") {
            items.push(self.expression()?);
        }
        Ok(Node::List(items))
    }

    fn braces(&mut self, open: usize) -> ParseResult<Node> {
        self.advance();
        if self.takes("}") {
            return Ok(Node::Dict(Vec::new()));
        }
        let inner = self.braces_inside(open)?;
        self.close("}", open)?;
        Ok(inner)
    }

    /// Reads a comprehension, the members of a dict, or the items of a set.
    fn braces_inside(&mut self, open: usize) -> ParseResult<Node> {
        let first = self.expression()?;
        if self.is(":") {
            return self.dict(first, open);
        }
        if self.is_word("for") {
            return self.comprehension(ComprehensionOutput::Set(first), open);
        }
        let mut items = vec![first];
        while self.takes(",") && !self.is("}") {
            items.push(self.expression()?);
        }
        Ok(Node::Set(items))
    }

    fn dict(&mut self, key: Node, open: usize) -> ParseResult<Node> {
        let value = self.member()?;
        if self.is_word("for") {
            return self.comprehension(ComprehensionOutput::Dict(key, value), open);
        }
        let mut members = vec![(key, value)];
        while self.takes(",") && !self.is("}") {
            let key = self.expression()?;
            let value = self.member()?;
            members.push((key, value));
        }
        Ok(Node::Dict(members))
    }

    /// Reads the value after the key of a dict.
    fn member(&mut self) -> ParseResult<Node> {
        if !self.takes(":") {
            let message = format!("expected `:`, found {}", self.shown());
            return Err(fault(self.at(), message, "write a value for each key, as in `{'a': 1}`"));
        }
        self.expression()
    }

    /// Reads the `for`s of a comprehension.
    pub(super) fn comprehension(&mut self, made: ComprehensionOutput, at: usize) -> ParseResult<Node> {
        let mut clauses = Vec::new();
        while self.is_word("for") {
            if clauses.len() == MAX_CLAUSES {
                let message = format!("the comprehension has more than {MAX_CLAUSES} `for`s");
                return Err(fault(self.at(), message, "write it as several checks"));
            }
            self.advance();
            let target = self.targets()?;
            if !self.takes_word("in") {
                let message = format!("expected `in`, found {}", self.shown());
                return Err(fault(self.at(), message, "say what to iterate over: `for x in output`"));
            }
            let over = self.nested(Parser::any)?;
            let mut conditions = Vec::new();
            while self.takes_word("if") {
                conditions.push(self.nested(Parser::any)?);
            }
            clauses.push(Clause { target, over, conditions });
        }
        Ok(Node::Comprehension(Box::new(Comprehension { made, clauses, at })))
    }

    fn targets(&mut self) -> ParseResult<Target> {
        let first = self.target()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut several = vec![first];
        while self.takes(",") && !self.is_word("in") && !self.is(")") && !self.is("]") {
            several.push(self.target()?);
        }
        Ok(Target::Several(several))
    }

    fn target(&mut self) -> ParseResult<Target> {
        let at = self.at();
        for (opening, closing) in [("(", ")"), ("[", "]")] {
            if self.takes(opening) {
                let inner = self.nested(Parser::targets)?;
                self.close(closing, at)?;
                return Ok(match (inner, opening) {
                    (Target::Name(name), "[") => Target::Several(vec![Target::Name(name)]),
                    (inner, _) => inner,
                });
            }
        }
        let Token::Name(name) = *self.token() else {
            let message = format!("expected a name, found {}", self.shown());
            return Err(fault(at, message, "name each item, as in `for x in output`"));
        };
        if KEYWORDS.contains(&name) {
            return Err(self.out_of_place());
        }
        is_harmless(name, at)?;
        if FUNCTIONS.iter().any(|(word, ..)| *word == name) || name == "isinstance" {
            return Err(fault(at, format!("`{name}` is the name of a function"), "use another name for the item"));
        }
        self.advance();
        Ok(Target::Name(Name { name: name.to_owned(), at }))
    }

    fn subscript(&mut self, open: usize) -> ParseResult<Trailer> {
        let index = if self.is(":") { None } else { Some(self.expressions()?) };
        let trailer = match index {
            Some(index) if !self.is(":") => Trailer::Index(index),
            start => self.slice(start)?,
        };
        self.close("]", open)?;
        Ok(trailer)
    }

    fn slice(&mut self, start: Option<Node>) -> ParseResult<Trailer> {
        let mut bounds = [start, None, None];
        for bound in &mut bounds[1..] {
            if self.takes(":") && !self.is(":") && !self.is("]") {
                *bound = Some(self.expression()?);
            }
        }
        Ok(Trailer::Slice(Box::new(bounds)))
    }
}

/// Rejects names that begin with two underscores, since they give access to Python's internals.
pub(super) fn is_harmless(name: &str, at: usize) -> ParseResult<()> {
    if name.starts_with("__") {
        let message = format!("{} is not supported: names that begin with `__` reach outside a check", quoted(name));
        return Err(fault(at, message, IN_JSONATA));
    }
    Ok(())
}

/// Lists the functions for a message.
pub(super) fn functions() -> String {
    let words: Vec<&str> = FUNCTIONS.iter().map(|(word, ..)| *word).collect();
    let (first, second) = words.split_at(words.len() / 2);
    format!("{}, {} and `isinstance`", list(first).replace(" and ", ", "), list(second).replace(" and ", ", "))
}
