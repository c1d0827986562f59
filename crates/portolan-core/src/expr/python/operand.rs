//! Parses operands: literals, names, brackets, comprehensions, subscripts and calls.

use super::functions::{Callable, FUNCTIONS, MANY};
use super::methods::METHODS;
use super::parse::{KEYWORDS, ParseResult, Parser};
use super::token::Kind;
use super::tree::{Arguments, Clause, Comprehension, Node, Shape, Trailer};
use super::value::Val;
use super::{IN_JSONATA, fault, unknown};
use crate::diagnostic::list;
use crate::expr::jsonata::quoted;

/// The maximum number of `for`s in one comprehension. They are evaluated by nesting.
const MAX_CLAUSES: usize = 8;
/// The functions that are types, as `isinstance` takes them.
const TYPES: &[&str] = &["str", "int", "float", "bool", "list", "dict", "set", "tuple"];

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
                trailers.push(self.method(at)?);
            } else if self.is("(") {
                return Err(fault(at, "what is called here is not a function", "call a function by its name"));
            } else {
                break;
            }
        }
        Ok(if trailers.is_empty() { value } else { Node::Trailed(Box::new(value), trailers) })
    }

    fn atom(&mut self) -> ParseResult<Node> {
        match (self.kind(), self.word()) {
            (Kind::Literal(Val::Text(_)), _) => {
                // Adjacent texts are one text.
                let mut texts = String::new();
                while let Kind::Literal(Val::Text(text)) = self.kind() {
                    texts.push_str(text);
                    self.advance();
                }
                Ok(Node::Literal(Val::text(texts)))
            }
            (Kind::Literal(value), _) => {
                let literal = Node::Literal(value.clone());
                self.advance();
                Ok(literal)
            }
            (Kind::Name, _) => self.name(),
            (_, "(") => self.bracket(Shape::Tuple, ")"),
            (_, "[") => self.bracket(Shape::List, "]"),
            (_, "{") => self.bracket(Shape::Set, "}"),
            _ => Err(self.out_of_place()),
        }
    }

    fn name(&mut self) -> ParseResult<Node> {
        let (name, at) = (self.word(), self.at());
        if KEYWORDS.contains(&name) {
            return Err(self.out_of_place());
        }
        is_harmless(name, at)?;
        if self.following() == "(" {
            return self.call();
        }
        if self.function().is_some() {
            return Err(fault(
                at,
                format!("`{name}` is a function, not a value"),
                format!("call it, as in `{name}(…)`"),
            ));
        }
        self.advance();
        self.reads.push((name, at));
        Ok(Node::Name(name.to_owned()))
    }

    /// Reads a bracket: an expression in parentheses, items, members or a comprehension.
    fn bracket(&mut self, shape: Shape, close: &str) -> ParseResult<Node> {
        let (open, begin) = (self.at(), self.reads.len());
        self.advance();
        if self.takes(close) {
            return Ok(Node::Items(if shape == Shape::Set { Shape::Dict } else { shape }, Vec::new()));
        }
        let mut first = self.expression()?;
        let is_dict = shape == Shape::Set && self.is(":");
        if is_dict {
            first = self.member(first)?;
        }
        let found = match (shape, self.word()) {
            (Shape::Tuple, "for") => {
                let generator = self.comprehension(Shape::Generator, first, begin)?;
                self.generators.push(open);
                generator
            }
            (_, "for") => self.comprehension(if is_dict { Shape::Dict } else { shape }, first, begin)?,
            (Shape::Tuple, word) if word != "," => first,
            _ if is_dict => {
                let mut members = vec![first];
                while self.takes(",") && !self.is(close) {
                    let key = self.expression()?;
                    members.push(self.member(key)?);
                }
                Node::Items(Shape::Dict, members)
            }
            _ => Node::Items(shape, self.items(first)?),
        };
        self.close(close, open)?;
        Ok(found)
    }

    /// Reads the value after the key of a dict.
    fn member(&mut self, key: Node) -> ParseResult<Node> {
        self.expect(":", "write a value for each key, as in `{'a': 1}`")?;
        Ok(Node::Items(Shape::Tuple, vec![key, self.expression()?]))
    }

    /// Reads the `for`s of a comprehension, whose item has read the names from `begin` on.
    fn comprehension(&mut self, shape: Shape, item: Node, begin: usize) -> ParseResult<Node> {
        self.has_loop = true;
        let item_reads = self.reads.split_off(begin);
        let mut bound = Vec::new();
        let mut clauses = Vec::new();
        let mut inside = begin;
        while self.takes("for") {
            if clauses.len() == MAX_CLAUSES {
                let message = format!("the comprehension has more than {MAX_CLAUSES} `for`s");
                return Err(fault(self.at(), message, "write it as several checks"));
            }
            let (target, names) = self.target()?;
            self.expect("in", "say what to iterate over: `for x in output`")?;
            let from = self.reads.len();
            let over = self.nested(Parser::condition)?;
            self.accept(&over);
            if clauses.is_empty() {
                // The iterable of the first `for` is evaluated before any name of the comprehension is bound.
                inside = self.reads.len();
            }
            self.resolve(from.max(inside), &bound);
            if let Some((name, at)) = self.reads[inside..].iter().find(|(name, _)| names.contains(name)) {
                let message = format!("{} is read before the `for` that gives it a value", quoted(name));
                return Err(fault(*at, message, "change the order of the `for`s, or use another name"));
            }
            bound.extend(names);
            let from = self.reads.len();
            let mut conditions = Vec::new();
            while self.takes("if") {
                conditions.push(self.nested(Parser::condition)?);
            }
            self.resolve(from, &bound);
            clauses.push(Clause { target, over, conditions });
        }
        let from = self.reads.len();
        self.reads.extend(item_reads);
        self.resolve(from, &bound);
        Ok(Node::Comprehension(Box::new(Comprehension { shape, item, clauses })))
    }

    /// Removes the bound names from those that are read from `from` on.
    fn resolve(&mut self, from: usize, bound: &[&str]) {
        let reads = self.reads.split_off(from);
        self.reads.extend(reads.into_iter().filter(|(name, _)| !bound.contains(name)));
    }

    /// Reads what is between `for` and `in`, and returns it with its names.
    fn target(&mut self) -> ParseResult<(Node, Vec<&'t str>)> {
        let (at, from) = (self.at(), self.reads.len());
        let mut target = self.atom()?;
        if self.is(",") {
            let mut targets = vec![target];
            while self.takes(",") && !self.is("in") {
                targets.push(self.atom()?);
            }
            target = Node::Items(Shape::Tuple, targets);
        }
        if !is_target(&target) {
            let message = "only names can stand between `for` and `in`";
            return Err(fault(at, message, "name each item, as in `for x in output`"));
        }
        Ok((target, self.reads.split_off(from).into_iter().map(|(name, _)| name).collect()))
    }

    fn subscript(&mut self, open: usize) -> ParseResult<Trailer> {
        let index = if self.is(":") { None } else { Some(self.expressions()?) };
        let trailer = match index {
            Some(index) if !self.is(":") => Trailer::Index(index),
            start => {
                let mut bounds = [start, None, None];
                for bound in &mut bounds[1..] {
                    if self.takes(":") && !self.is(":") && !self.is("]") {
                        *bound = Some(self.expression()?);
                    }
                }
                Trailer::Slice(Box::new(bounds))
            }
        };
        self.close("]", open)?;
        Ok(trailer)
    }

    /// Returns the function that the current token names.
    fn function(&self) -> Option<&'static Callable> {
        FUNCTIONS.iter().find(|function| self.is(function.word))
    }

    /// Reads a call of the function whose name is the current token.
    fn call(&mut self) -> ParseResult<Node> {
        let Some(function) = self.function() else { return Err(unknown::function(self.word(), self.at())) };
        let at = self.at();
        self.advance();
        Ok(Node::Call(function, self.arguments(function, at)?))
    }

    /// Reads a method call on the preceding value.
    fn method(&mut self, dot: usize) -> ParseResult<Trailer> {
        let (name, at) = (self.word(), self.at());
        if !matches!(self.kind(), Kind::Name) {
            return Err(self.out_of_place());
        }
        is_harmless(name, at)?;
        self.advance();
        let known = METHODS.iter().find(|method| method.word == name);
        let Some(method) = known else { return Err(unknown::method(name, at, self.is("("))) };
        if !self.is("(") {
            let help = format!("call it: `.{name}(…)`; a member of a dict is written `['{name}']`");
            return Err(fault(dot, format!("`.{name}` is a method, but is not called"), help));
        }
        Ok(Trailer::Method(method, self.arguments(method, at)?))
    }

    /// Reads the arguments between the parentheses of a call.
    fn arguments(&mut self, callable: &'static Callable, at: usize) -> ParseResult<Arguments> {
        let open = self.at();
        self.advance();
        let mut placed = Vec::new();
        let mut named: Vec<(usize, Node)> = Vec::new();
        while !self.is(")") {
            if matches!(self.kind(), Kind::Name) && self.following() == "=" {
                named.push(self.named(callable, &named)?);
            } else if named.is_empty() {
                placed.push(self.placed(callable, placed.len())?);
            } else {
                let message = "an argument without a name follows one with a name";
                return Err(fault(self.at(), message, "write arguments without a name first"));
            }
            if !self.takes(",") {
                break;
            }
        }
        self.close(")", open)?;
        arranged(callable, placed, named, at)
    }

    fn placed(&mut self, callable: &Callable, place: usize) -> ParseResult<Node> {
        let (at, begin) = (self.at(), self.reads.len());
        if callable.word == "isinstance" && place == 1 {
            return self.types();
        }
        let mut value = self.expression()?;
        if self.is("for") {
            value = self.comprehension(Shape::Generator, value, begin)?;
            self.generators.push(at);
            if place > 0 || !self.is(")") {
                let message = "a `for` among several arguments needs parentheses";
                return Err(fault(at, message, "put it in its own parentheses"));
            }
        }
        if callable.iterates && place == 0 {
            self.accept(&value);
        }
        Ok(value)
    }

    /// Reads a keyword argument, and returns it with its place.
    fn named(&mut self, callable: &Callable, others: &[(usize, Node)]) -> ParseResult<(usize, Node)> {
        let (name, at) = (self.word(), self.at());
        let known = callable.named.iter().find(|(known, _)| *known == name).map(|(_, place)| *place);
        let Some(place) = known.filter(|place| others.iter().all(|(other, _)| other != place)) else {
            let names: Vec<&str> = callable.named.iter().map(|(known, _)| *known).collect();
            let help = match names.is_empty() {
                true => "its arguments have no names".to_owned(),
                false => format!("its named arguments are {}, once each", list(&names)),
            };
            return Err(fault(at, format!("`{}` takes no argument {} here", callable.word, quoted(name)), help));
        };
        self.advance();
        self.advance();
        let value = if name == "key" { self.key()? } else { self.expression()? };
        Ok((place, value))
    }

    /// Reads the function in `key=`.
    fn key(&mut self) -> ParseResult<Node> {
        let key = match self.function().filter(|function| function.takes_one() && self.following() != "(") {
            Some(function) => Node::Function(function),
            None if self.is("None") => Node::Literal(Val::None),
            None => {
                let message = format!("`key` must be the name of a function of one value, found {}", self.shown());
                return Err(fault(self.at(), message, "write one such as `len`, or `[… for x in …]` before sorting"));
            }
        };
        self.advance();
        Ok(key)
    }

    /// Reads the name of a type, or a tuple of them.
    fn types(&mut self) -> ParseResult<Node> {
        let open = self.at();
        if self.takes("(") {
            let mut types = Vec::new();
            while !self.is(")") {
                types.push(self.nested(Parser::types)?);
                if !self.takes(",") {
                    break;
                }
            }
            self.close(")", open)?;
            return Ok(Node::Items(Shape::Tuple, types));
        }
        let Some(function) = self.function().filter(|function| TYPES.contains(&function.word)) else {
            let help = format!("the types are {}; several are written in parentheses", list(TYPES));
            return Err(fault(open, format!("expected a type, found {}", self.shown()), help));
        };
        self.advance();
        if self.is("|") {
            let help = "write several types in parentheses: `isinstance(output, (int, str))`";
            return Err(fault(self.at(), "`|` is not supported between types", help));
        }
        Ok(Node::Function(function))
    }
}

/// Checks whether names can be bound to it.
fn is_target(node: &Node) -> bool {
    match node {
        Node::Name(_) => true,
        Node::Items(Shape::Tuple | Shape::List, targets) => targets.iter().all(is_target),
        _ => false,
    }
}

/// Rejects names that begin with two underscores, since they give access to Python's internals.
fn is_harmless(name: &str, at: usize) -> ParseResult<()> {
    if name.starts_with("__") {
        let message = format!("{} is not supported: names that begin with `__` reach outside a check", quoted(name));
        return Err(fault(at, message, IN_JSONATA));
    }
    Ok(())
}

/// Puts each argument in its place, and checks their number.
fn arranged(
    callable: &Callable,
    mut placed: Vec<Node>,
    named: Vec<(usize, Node)>,
    at: usize,
) -> ParseResult<Arguments> {
    if placed.len() < callable.least || placed.len() > callable.most {
        let wanted = match (callable.least, callable.most) {
            (_, 0) => "no argument".to_owned(),
            (1, 1) => "one argument".to_owned(),
            (least, MANY) => format!("at least {least} argument"),
            (least, most) if least == most => format!("{least} arguments"),
            (least, most) => format!("{least} to {most} arguments"),
        };
        let message = format!("`{}` takes {wanted}, but {} are given", callable.word, placed.len());
        let help = if placed.len() > callable.most { IN_JSONATA } else { "give the number of arguments that it takes" };
        return Err(fault(at, message, help));
    }
    // What takes its items one by one takes them as a tuple, too.
    if callable.most == MANY && placed.len() > 1 {
        if named.iter().any(|(place, _)| callable.named.contains(&("default", *place))) {
            return Err(fault(at, "a `default` is not allowed with several values", "give the values as a list"));
        }
        placed = vec![Node::Items(Shape::Tuple, placed)];
    }
    let mut arguments: Arguments = placed.into_iter().map(Some).collect();
    for (place, value) in named {
        if place < arguments.len() && arguments[place].is_some() {
            let message = format!("`{}` is given an argument twice: by position and by name", callable.word);
            return Err(fault(at, message, "leave out one of them"));
        }
        arguments.resize_with(arguments.len().max(place + 1), || None);
        arguments[place] = Some(value);
    }
    Ok(arguments)
}
