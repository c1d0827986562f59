//! Resolves the names in an expression: each is bound by an enclosing `for` or is a known name.

use super::atom::functions;
use super::parse::ParseResult;
use super::tree::{
    Argument, Call, Comprehension, ComprehensionOutput, Function, Method, Name, Node, Relation, Target, Trailer,
};
use super::{IN_JSONATA, fault};
use crate::diagnostic::{closest, list};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// The requirements of a tree.
pub(super) struct Requirements {
    /// The names that it reads from its scope, in alphabetical order, without repetitions.
    pub(super) names: Vec<String>,
    /// Whether it has a loop or makes a range.
    pub(super) loops: bool,
}

/// Returns the requirements of a tree; `known` are the names of the scope.
pub(super) fn asked(tree: &Node, known: &[&str]) -> ParseResult<Requirements> {
    let mut names = Names { known, free: Vec::new(), bound: Vec::new(), loops: false };
    names.value(tree)?;
    names.free.sort_unstable();
    names.free.dedup();
    Ok(Requirements { names: names.free, loops: names.loops })
}

struct Names<'n> {
    known: &'n [&'n str],
    free: Vec<String>,
    /// The names bound by the enclosing `for`s, innermost last, and whether each has its value at this place.
    bound: Vec<(&'n str, bool)>,
    loops: bool,
}

impl<'n> Names<'n> {
    /// Visits a part that must be a value. A generator is rejected, since it could be read only once.
    fn value(&mut self, node: &'n Node) -> ParseResult<()> {
        if let Node::Comprehension(comprehension) = node
            && let ComprehensionOutput::Generator(_) = comprehension.made
        {
            let help = "put it into brackets: `[… for x in …]`";
            return Err(fault(comprehension.at, "a `for` in parentheses is not a value here", help));
        }
        self.part(node)
    }

    fn values(&mut self, nodes: impl IntoIterator<Item = &'n Node>) -> ParseResult<()> {
        nodes.into_iter().try_for_each(|node| self.value(node))
    }

    fn part(&mut self, node: &'n Node) -> ParseResult<()> {
        match node {
            Node::Literal(_) => Ok(()),
            Node::Name(name) => self.name(name),
            Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::All(items) | Node::Any(items) => {
                self.values(items)
            }
            Node::Dict(members) => self.values(members.iter().flat_map(|(key, value)| [key, value])),
            Node::Comprehension(comprehension) => self.comprehension(comprehension),
            Node::Trailed(value, trailers) => {
                self.value(value)?;
                trailers.iter().try_for_each(|trailer| self.trailer(trailer))
            }
            Node::Call(call) => self.call(call),
            Node::IsInstance(value, _) | Node::Sign(_, value) | Node::Not(value) => self.value(value),
            Node::Arithmetic(first, rest) => {
                self.value(first)?;
                self.values(rest.iter().map(|(_, node)| node))
            }
            Node::Compare(first, rest) => {
                self.value(first)?;
                rest.iter().try_for_each(|(relation, node)| match relation {
                    Relation::In | Relation::NotIn => self.part(node),
                    _ => self.value(node),
                })
            }
            Node::Choose(choice) => self.values([&choice.condition, &choice.then, &choice.otherwise]),
        }
    }

    fn call(&mut self, call: &'n Call) -> ParseResult<()> {
        self.loops |= call.function == Function::Range;
        self.arguments(&call.arguments, call.function.goes_through())
    }

    fn arguments(&mut self, arguments: &'n [Argument], goes_through: bool) -> ParseResult<()> {
        arguments.iter().try_for_each(|argument| match goes_through {
            true => self.part(&argument.value),
            false => self.value(&argument.value),
        })
    }

    fn trailer(&mut self, trailer: &'n Trailer) -> ParseResult<()> {
        match trailer {
            Trailer::Index(index) => self.value(index),
            Trailer::Slice(bounds) => self.values(bounds.iter().flatten()),
            Trailer::Method(method, arguments) => self.arguments(arguments, *method == Method::Join),
        }
    }

    fn comprehension(&mut self, comprehension: &'n Comprehension) -> ParseResult<()> {
        self.loops = true;
        let outside = self.bound.len();
        let mut clauses = comprehension.clauses.iter();
        // The iterable of the first `for` is evaluated before any name of the comprehension is bound.
        if let Some(first) = clauses.clone().next() {
            self.part(&first.over)?;
        }
        let mut ends = Vec::new();
        for clause in clauses.clone() {
            bind(&clause.target, &mut self.bound);
            ends.push(self.bound.len());
        }
        let mut begin = outside;
        for (number, (clause, end)) in clauses.by_ref().zip(ends).enumerate() {
            if number > 0 {
                self.part(&clause.over)?;
            }
            self.bound[begin..end].iter_mut().for_each(|(_, has_value)| *has_value = true);
            begin = end;
            self.values(&clause.conditions)?;
        }
        match &comprehension.made {
            ComprehensionOutput::List(item) | ComprehensionOutput::Set(item) | ComprehensionOutput::Generator(item) => {
                self.value(item)?
            }
            ComprehensionOutput::Dict(key, value) => self.values([key, value])?,
        }
        self.bound.truncate(outside);
        Ok(())
    }

    fn name(&mut self, Name { name, at }: &'n Name) -> ParseResult<()> {
        let mut bound = self.bound.iter().rev().filter(|(bound, _)| bound == name);
        match bound.next() {
            Some((_, true)) => return Ok(()),
            // An earlier `for` of the same comprehension may bind the same name.
            Some((_, false)) if bound.any(|(_, has_value)| *has_value) => return Ok(()),
            Some((_, false)) => {
                let message = format!("{} is read before the `for` that gives it a value", quoted(name));
                return Err(fault(*at, message, "change the order of the `for`s, or use another name"));
            }
            None => {}
        }
        if !self.known.contains(&name.as_str()) {
            return Err(self.unknown(name, *at));
        }
        self.free.push(name.clone());
        Ok(())
    }

    fn unknown(&self, name: &str, at: usize) -> ParseFault {
        let message = format!("{} is not a name that a check can read", quoted(name));
        let bound = self.bound.iter().map(|(bound, _)| *bound);
        let help = match (closest(name, self.known.iter().copied().chain(bound)), name) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, "true" | "false" | "null" | "none") => "Python writes `True`, `False` and `None`".to_owned(),
            (None, "type" | "eval" | "exec" | "open") => format!("there are {}; {IN_JSONATA}", functions()),
            (None, _) if self.known.is_empty() => format!("it cannot read any names; {IN_JSONATA}"),
            (None, _) => format!("available names: {}; write text in quotes; {IN_JSONATA}", list(self.known)),
        };
        fault(at, message, help)
    }
}

fn bind<'n>(target: &'n Target, bound: &mut Vec<(&'n str, bool)>) {
    match target {
        Target::Name(name) => bound.push((&name.name, false)),
        Target::Several(targets) => targets.iter().for_each(|target| bind(target, bound)),
    }
}
