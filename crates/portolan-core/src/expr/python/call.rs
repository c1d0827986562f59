//! Parses calls of the supported functions and methods with their arguments.

use super::atom::{functions, is_harmless};
use super::parse::{ParseResult, Parser};
use super::token::Token;
use super::tree::{
    Argument, Call, ComprehensionOutput, FUNCTIONS, Function, METHODS, Method, Node, TYPES, Takes, Trailer, Type,
};
use super::{IN_JSONATA, fault};
use crate::diagnostic::{clip, closest, list};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// The arguments between the parentheses of a call.
#[derive(Default)]
struct Arguments {
    given: Vec<Argument>,
    /// The function in `key=…`.
    key: Option<Function>,
    has_names: bool,
}

impl Parser<'_> {
    /// Reads a call of the function whose name is the current token.
    pub(super) fn call(&mut self, name: &str) -> ParseResult<Node> {
        let at = self.at();
        self.advance();
        let open = self.at();
        if name == "isinstance" {
            self.advance();
            return self.is_instance(open);
        }
        let Some((word, function, takes)) = FUNCTIONS.iter().find(|(word, ..)| *word == name) else {
            return Err(unknown_function(name, at));
        };
        self.advance();
        let Arguments { given: arguments, key, .. } = self.arguments(word, takes, open)?;
        enough(word, &arguments, takes, at)?;
        Ok(Node::Call(Box::new(Call { function: *function, arguments, key })))
    }

    /// Reads a method call on the preceding value.
    pub(super) fn method(&mut self, value: &Node, dot: usize) -> ParseResult<Trailer> {
        let at = self.at();
        let Token::Name(name) = *self.token() else { return Err(self.out_of_place()) };
        if let Node::Name(module) = value
            && ["re", "os", "sys", "json", "math", "datetime", "subprocess"].contains(&module.name.as_str())
        {
            let message =
                format!("{} is not supported: a check has no imports", quoted(&format!("{}.{name}", module.name)));
            return Err(fault(module.at, message, IN_JSONATA));
        }
        is_harmless(name, at)?;
        self.advance();
        let open = self.at();
        let known = METHODS.iter().find(|(word, ..)| *word == name);
        let Some((word, method, takes)) = known else { return Err(unknown_method(name, at, self.is("("))) };
        if !self.takes("(") {
            let help = format!("call it: `.{name}(…)`; a member of a dict is written `['{name}']`");
            return Err(fault(dot, format!("`.{name}` is a method, but is not called"), help));
        }
        let arguments = self.arguments(word, takes, open)?.given;
        enough(word, &arguments, takes, at)?;
        let placed = arguments.iter().filter(|argument| argument.name.is_none()).count();
        let given = |argument: &&Argument| argument.name.as_ref().is_some_and(|name| place(*method, name) < placed);
        if let Some(Argument { name: Some(name), .. }) = arguments.iter().find(given) {
            let message = format!("`{word}` is given `{name}` twice: by position and by name");
            return Err(fault(at, message, "leave out one of them"));
        }
        Ok(Trailer::Method(*method, arguments))
    }

    /// Reads the arguments of a call of `word`, after the parenthesis at `open`.
    fn arguments(&mut self, word: &str, takes: &Takes, open: usize) -> ParseResult<Arguments> {
        let mut arguments = Arguments::default();
        while !self.is(")") {
            match (self.token().clone(), self.following()) {
                (Token::Name(name), Token::Sign("=")) => self.named(name, word, takes, &mut arguments)?,
                _ => self.placed(&mut arguments)?,
            }
            if !self.takes(",") {
                break;
            }
        }
        self.close(")", open)?;
        Ok(arguments)
    }

    /// Reads a keyword argument.
    fn named(&mut self, name: &str, word: &str, takes: &Takes, arguments: &mut Arguments) -> ParseResult<()> {
        let at = self.at();
        let is_given = |argument: &Argument| argument.name.as_deref() == Some(name);
        let twice = arguments.given.iter().any(is_given) || (name == "key" && arguments.key.is_some());
        if !takes.named.contains(&name) || twice {
            return Err(no_such_argument(word, name, takes, at));
        }
        self.advance();
        self.advance();
        if name == "key" {
            arguments.key = self.key()?;
        } else {
            let value = self.expression()?;
            arguments.given.push(Argument { name: Some(name.to_owned()), value });
        }
        arguments.has_names = true;
        Ok(())
    }

    /// Reads a positional argument.
    fn placed(&mut self, arguments: &mut Arguments) -> ParseResult<()> {
        let at = self.at();
        if arguments.has_names {
            let message = "an argument without a name follows one with a name";
            return Err(fault(at, message, "write arguments without a name first"));
        }
        let mut value = self.expression()?;
        if self.is_word("for") {
            value = self.comprehension(ComprehensionOutput::Generator(value), at)?;
            if !arguments.given.is_empty() || !self.is(")") {
                let message = "a `for` among several arguments needs parentheses";
                return Err(fault(at, message, "put it in its own parentheses"));
            }
        }
        arguments.given.push(Argument { name: None, value });
        Ok(())
    }

    /// Reads the function in `key=`.
    fn key(&mut self) -> ParseResult<Option<Function>> {
        let at = self.at();
        if self.takes_word("None") {
            return Ok(None);
        }
        let named = match *self.token() {
            Token::Name(name) if *self.following() != Token::Sign("(") => {
                FUNCTIONS.iter().find(|(word, _, takes)| *word == name && takes.least <= 1 && takes.most >= 1)
            }
            _ => None,
        };
        let Some((_, function, _)) = named else {
            let message = format!("`key` must be the name of a function of one value, found {}", self.shown());
            return Err(fault(at, message, "write one such as `len`, or `[… for x in …]` before sorting"));
        };
        self.advance();
        Ok(Some(*function))
    }

    fn is_instance(&mut self, open: usize) -> ParseResult<Node> {
        let value = self.expression()?;
        if !self.takes(",") {
            let message = format!("expected `,`, found {}", self.shown());
            return Err(fault(self.at(), message, "write it as in `isinstance(output, dict)`"));
        }
        let mut types = Vec::new();
        self.types(&mut types)?;
        self.takes(",");
        self.close(")", open)?;
        Ok(Node::IsInstance(Box::new(value), types))
    }

    /// Reads a type name, several joined by `|`, or a tuple of them.
    fn types(&mut self, found: &mut Vec<Type>) -> ParseResult<()> {
        let open = self.at();
        if self.takes("(") {
            self.nested(|parser| {
                while !parser.is(")") {
                    parser.types(found)?;
                    if !parser.takes(",") {
                        break;
                    }
                }
                Ok(())
            })?;
            return self.close(")", open);
        }
        loop {
            let at = self.at();
            let named = match self.token() {
                Token::Name("None") => Some(Type::None),
                Token::Name(name) => TYPES.iter().find(|(word, _)| word == name).map(|(_, named)| *named),
                _ => None,
            };
            let Some(named) = named else {
                let words: Vec<String> = TYPES.iter().map(|(word, _)| format!("`{word}`")).collect();
                let message = format!("expected a type, found {}", self.shown());
                return Err(fault(at, message, format!("the types are {}", words.join(", "))));
            };
            self.advance();
            found.push(named);
            if !self.takes("|") {
                return Ok(());
            }
        }
    }
}

fn enough(word: &str, arguments: &[Argument], takes: &Takes, at: usize) -> ParseResult<()> {
    let placed = arguments.iter().filter(|argument| argument.name.is_none()).count();
    // A keyword argument that has a position counts toward the maximum: `default` and `reverse` have none.
    let by_name = arguments.len() - placed;
    let given_twice = by_name > 0 && takes.most < 1000 && takes.most > 1 && arguments.len() > takes.most;
    if placed < takes.least || placed > takes.most || given_twice {
        let wanted = match (takes.least, takes.most) {
            (0, 0) => "no argument".to_owned(),
            (1, 1) => "one argument".to_owned(),
            (least, 1000) => format!("at least {least} argument"),
            (least, most) if least == most => format!("{least} arguments"),
            (least, most) => format!("{least} to {most} arguments"),
        };
        let message = format!("`{word}` takes {wanted}, but {} are given", arguments.len());
        return Err(fault(at, message, "give the number of arguments that it takes"));
    }
    Ok(())
}

fn no_such_argument(word: &str, name: &str, takes: &Takes, at: usize) -> ParseFault {
    let help = match takes.named {
        [] => "its arguments have no names".to_owned(),
        named => format!("its named arguments are {}, once each", list(named)),
    };
    fault(at, format!("`{word}` takes no argument {} here", quoted(name)), help)
}

fn unknown_function(name: &str, at: usize) -> ParseFault {
    let message = format!("{} is not a function that a check can call", quoted(name));
    let known = FUNCTIONS.iter().map(|(word, ..)| *word).chain(["isinstance"]);
    let help = match (name, closest(name, known)) {
        ("map" | "filter", _) => "write `[… for x in … if …]`".to_owned(),
        ("type", _) => "use `isinstance(output, dict)`".to_owned(),
        ("eval" | "exec" | "compile" | "open" | "getattr" | "hasattr" | "input" | "print", _) => IN_JSONATA.to_owned(),
        (_, Some(near)) => format!("did you mean `{near}`?"),
        _ => format!("there are {}; {IN_JSONATA}", functions()),
    };
    fault(at, message, help)
}

fn unknown_method(name: &str, at: usize, is_called: bool) -> ParseFault {
    let message = format!("{} is not a method that a check can call", quoted(&format!(".{name}")));
    let help = match closest(name, METHODS.iter().map(|(word, ..)| *word)) {
        _ if name == "format" => "join the parts with `+`, with `str(…)` around what is not text".to_owned(),
        Some(near) if is_called => format!("did you mean `.{near}`?"),
        _ if !is_called => {
            format!("a member of a dict is written `['{}']`; {IN_JSONATA}", clip(name))
        }
        _ => IN_JSONATA.to_owned(),
    };
    fault(at, message, help)
}

/// Returns the position of a keyword argument.
pub(super) fn place(method: Method, name: &str) -> usize {
    let takes = METHODS.iter().find(|(_, known, _)| *known == method);
    takes.and_then(|(_, _, takes)| takes.named.iter().position(|known| *known == name)).unwrap_or_default()
}
