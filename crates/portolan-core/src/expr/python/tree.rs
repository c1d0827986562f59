//! The tree of an expression. It contains only supported operations and no code.

use super::functions::Callable;
use super::value::Val;
use crate::expr::truth::Comparison;

/// One part of an expression. A chain of operators of the same rank is one node, so that a long sum is not a deep tree.
pub(super) enum Node {
    Literal(Val),
    Name(String),
    /// A function that is not called: the key of a sort, or a type of `isinstance`.
    Function(&'static Callable),
    /// The items of a list, a tuple or a set, or the members of a dict as tuples.
    Items(Shape, Vec<Node>),
    Comprehension(Box<Comprehension>),
    Call(&'static Callable, Arguments),
    /// A value followed by subscripts, slices and methods.
    Trailed(Box<Node>, Vec<Trailer>),
    Unary(Unary, Box<Node>),
    /// Operators of one rank, from left to right.
    Chain(Box<Node>, Vec<(Operator, Node)>),
    /// The condition, and the values if it is true and if it is not.
    Choose(Box<[Node; 3]>),
}

/// The arguments of a call in their places.
pub(super) type Arguments = Vec<Option<Node>>;

/// What is made of several items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    List,
    Tuple,
    Set,
    /// The items are pairs of a key and a value.
    Dict,
    Generator,
}

/// `item for … if …`, inside of the brackets of a shape.
pub(super) struct Comprehension {
    pub(super) shape: Shape,
    pub(super) item: Node,
    pub(super) clauses: Vec<Clause>,
}

/// `for target in over if … if …`. A target is a name, or a tuple or list of targets.
pub(super) struct Clause {
    pub(super) target: Node,
    pub(super) over: Node,
    pub(super) conditions: Vec<Node>,
}

pub(super) enum Trailer {
    Index(Node),
    /// `[start:stop:step]`.
    Slice(Box<[Option<Node>; 3]>),
    Method(&'static Callable, Arguments),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Plus,
    Minus,
}

/// An operator between two operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Compare(Comparison),
    In,
    NotIn,
    Is,
    IsNot,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
}

/// The operators by rank; the first rank binds loosest. An operator of two words is before the one that begins it.
pub(super) const RANKS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("==", Operator::Compare(Comparison::Equal)),
        ("!=", Operator::Compare(Comparison::Unequal)),
        ("<", Operator::Compare(Comparison::Less)),
        ("<=", Operator::Compare(Comparison::LessEqual)),
        (">", Operator::Compare(Comparison::Greater)),
        (">=", Operator::Compare(Comparison::GreaterEqual)),
        ("in", Operator::In),
        ("not in", Operator::NotIn),
        ("is not", Operator::IsNot),
        ("is", Operator::Is),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("//", Operator::FloorDivide), ("%", Operator::Remainder)],
];

/// The rank of comparisons; `not` binds as tightly, and stands before them.
pub(super) const COMPARISONS: usize = 2;

impl Operator {
    pub(super) fn is_arithmetic(self) -> bool {
        RANKS[COMPARISONS + 1..].iter().copied().flatten().any(|(_, operator)| *operator == self)
    }

    /// Returns the operator as written.
    pub(super) fn sign(self) -> &'static str {
        let found = RANKS.iter().copied().flatten().find(|(_, operator)| *operator == self);
        found.map_or("", |(sign, _)| sign)
    }
}
