//! Finds the members of the context that an expression can read, and their members, so that a large output is converted
//! only as far as a path goes into it.
//!
//! Each node is mapped to the origin of its value: a place in the context, or no particular place. A use of the value
//! as a whole needs everything at its place; a step by name needs only that member. Nodes that cannot be followed
//! (functions with bodies, joins, transforms, assigned variables) end the analysis, and all names at the top are
//! converted whole.

use std::collections::BTreeMap;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

use super::reach::{is_unjoined, takes_context};

/// The part of a value that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole value.
    Whole,
    /// These members if it is an object or an array of objects; otherwise the whole value.
    Members(Members),
}

/// The readable part of each member.
pub(super) type Members = BTreeMap<String, Part>;

/// Returns the readable part of the context; `None` if that is uncertain or is the whole context.
pub(super) fn parts(ast: &AstNode) -> Option<Members> {
    let mut context_parts = ContextParts { root: Part::Members(Members::new()) };
    let value = context_parts.follow(ast, &Some(Vec::new()))?;
    context_parts.whole(&value);
    match context_parts.root {
        Part::Whole => None,
        Part::Members(members) => Some(members),
    }
}

/// The place of a value in the context; `None` if it was computed, or if the whole of it is read anyway.
type Place = Option<Vec<String>>;

struct ContextParts {
    root: Part,
}

impl ContextParts {
    /// Returns the place of a node's value if `context` is the place of its context; `None` if it cannot be followed.
    fn follow(&mut self, node: &AstNode, context: &Place) -> Option<Place> {
        jsonata_core::value::with_stack(|| self.level(node, context))
    }

    fn level(&mut self, node: &AstNode, context: &Place) -> Option<Place> {
        match node {
            AstNode::Name(name) => Some(self.member(context, name)),
            AstNode::Path { steps } => self.path(steps, context),
            AstNode::Variable(name) if name.is_empty() => Some(context.clone()),
            AstNode::ParentVariable(name) if name.is_empty() => Some(Some(Vec::new())),
            AstNode::Wildcard | AstNode::Descendant => {
                self.whole(context);
                Some(None)
            }
            AstNode::Function { name, args, .. } => {
                if takes_context(name, args.len()) {
                    self.whole(context);
                }
                self.use_all(args, context)
            }
            AstNode::Binary { op: BinaryOp::ColonEqual, .. } => None,
            AstNode::Binary { lhs, rhs, .. } => self.use_all([&**lhs, &**rhs], context),
            AstNode::Unary { operand: inner, .. } | AstNode::FunctionApplication(inner) => {
                self.use_all([&**inner], context)
            }
            AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => self.use_all(items, context),
            AstNode::Object(pairs) => self.use_pairs(pairs, context),
            AstNode::ObjectTransform { input, pattern } => {
                let input = self.follow(input, context)?;
                self.use_pairs(pattern, &input)
            }
            AstNode::Conditional { condition, then_branch, else_branch } => {
                self.use_all([&**condition, &**then_branch], context)?;
                self.use_all(else_branch.as_deref(), context)
            }
            AstNode::Sort { input, terms } => {
                let input = self.follow(input, context)?;
                self.use_all(terms.iter().map(|(term, _)| term), &input)?;
                Some(input)
            }
            AstNode::String(_) | AstNode::Number(_) | AstNode::Boolean(_) | AstNode::Null => Some(None),
            AstNode::Undefined | AstNode::Regex { .. } | AstNode::Variable(_) => Some(None),
            AstNode::ParentVariable(_) | AstNode::Parent(_) | AstNode::Placeholder => None,
            AstNode::Call { .. } | AstNode::Lambda { .. } | AstNode::Transform { .. } => None,
        }
    }

    fn path(&mut self, steps: &[PathStep], context: &Place) -> Option<Place> {
        let mut at = context.clone();
        for step in steps {
            if !is_unjoined(step) {
                return None;
            }
            at = self.follow(&step.node, &at)?;
            for stage in &step.stages {
                match stage {
                    Stage::Filter(filter) => drop(self.use_all([&**filter], &at)?),
                    Stage::KeepArray => {}
                    Stage::Index(_) => return None,
                }
            }
        }
        Some(at)
    }

    fn use_pairs(&mut self, pairs: &[(AstNode, AstNode)], context: &Place) -> Option<Place> {
        self.use_all(pairs.iter().flat_map(|(key, value)| [key, value]), context)
    }

    /// Follows nodes whose values are used whole to make another value.
    fn use_all<'n>(&mut self, nodes: impl IntoIterator<Item = &'n AstNode>, context: &Place) -> Option<Place> {
        for node in nodes {
            let place = self.follow(node, context)?;
            self.whole(&place);
        }
        Some(None)
    }

    fn member(&mut self, place: &Place, name: &str) -> Place {
        let path: Vec<String> = place.as_ref()?.iter().cloned().chain([name.to_owned()]).collect();
        let within_whole = *at(&mut self.root, &path) == Part::Whole;
        (!within_whole).then_some(path)
    }

    fn whole(&mut self, place: &Place) {
        if let Some(path) = place {
            *at(&mut self.root, path) = Part::Whole;
        }
    }
}

/// Returns the part at a place, or the whole that contains it if that is already read.
fn at<'p>(part: &'p mut Part, path: &[String]) -> &'p mut Part {
    let Some((name, rest)) = path.split_first() else { return part };
    match part {
        Part::Whole => part,
        Part::Members(members) => {
            at(members.entry(name.clone()).or_insert_with(|| Part::Members(Members::new())), rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats members: in `a{b, c{d!}}`, the members `b` and `c` of `a` are read, and all of `d` in `c`.
    fn drawn(members: &Members) -> String {
        let each = members.iter().map(|(name, part)| match part {
            Part::Whole => format!("{name}!"),
            Part::Members(inner) => format!("{name}{{{}}}", drawn(inner)),
        });
        each.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn only_what_a_path_goes_through_is_seen() {
        let cases = [
            ("a", "a!"),
            ("$.a.b", "a{b!}"),
            ("$sum(a.b.c.(p * q))", "a{b{c{p!, q!}}}"),
            ("$$.a[b > 2].c", "a{b!, c!}"),
            ("a[0].b[$$.n].c", "a{b{c!}}, n!"),
            ("a.b & a", "a!"),
            ("a & a.b", "a!"),
            ("a.*", "a!"),
            ("a.**.b", "a!"),
            ("a.b.{ \"k\": c, \"of\": $ }", "a{b!}"),
            ("a.b.{ \"k\": c, \"d\": d.e }", "a{b{c!, d{e!}}}"),
            ("a^(>b.c).d", "a{b{c!}, d!}"),
            ("a{b: $sum(c.d)}", "a{b!, c{d!}}"),
            ("a.$keys()", "a!"),
            ("a.$uppercase(b)", "a{b!}"),
            ("a.b[]", "a{b!}"),
            ("a ? b.c : d.e.f", "a!, b{c!}, d{e{f!}}"),
            ("(a.b).c", "a{b!}"),
            ("[a.b, $x.y].z", "a{b!}"),
        ];
        for (text, expected) in cases {
            let ast = jsonata_core::parser::parse(text).expect("it can be read");
            assert_eq!(parts(&ast).as_ref().map(drawn).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_given_up() {
        for text in [
            "$",
            "*",
            "$map(a.b, function($v) { $v.c })",
            "($x := a.b; $x.c)",
            "a@$v.b",
            "a#$i.b",
            "a.b.%.c",
            "a ~> |b|{\"c\": 1}|",
            "$count(?)(a.b)",
        ] {
            let ast = jsonata_core::parser::parse(text).expect("it can be read");
            assert_eq!(parts(&ast), None, "{text}");
        }
    }
}
