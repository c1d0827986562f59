//! The tree of an expression. It contains only supported operations and no code.

/// One part of an expression. A chain of operators of the same rank is one node, so that a long sum is not a deep tree.
#[derive(Debug)]
pub(super) enum Node {
    Literal(Literal),
    Name(Name),
    List(Vec<Node>),
    Tuple(Vec<Node>),
    Set(Vec<Node>),
    Dict(Vec<(Node, Node)>),
    Comprehension(Box<Comprehension>),
    /// A value followed by subscripts, slices and methods.
    Trailed(Box<Node>, Vec<Trailer>),
    Call(Box<Call>),
    IsInstance(Box<Node>, Vec<Type>),
    Sign(Sign, Box<Node>),
    Not(Box<Node>),
    /// Operators of one rank, from left to right.
    Arithmetic(Box<Node>, Vec<(Operator, Node)>),
    Compare(Box<Node>, Vec<(Relation, Node)>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Choose(Box<Choice>),
}

#[derive(Debug)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

/// A name that is read, and its byte offset.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) at: usize,
}

/// `then if condition else otherwise`.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) condition: Node,
    pub(super) then: Node,
    pub(super) otherwise: Node,
}

#[derive(Debug)]
pub(super) struct Comprehension {
    pub(super) made: ComprehensionOutput,
    pub(super) clauses: Vec<Clause>,
    /// The byte offset of its beginning.
    pub(super) at: usize,
}

/// The result of each pass of a comprehension.
#[derive(Debug)]
pub(super) enum ComprehensionOutput {
    List(Node),
    Set(Node),
    Dict(Node, Node),
    /// Items that are computed on demand.
    Generator(Node),
}

/// `for target in over if … if …`.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) target: Target,
    pub(super) over: Node,
    pub(super) conditions: Vec<Node>,
}

#[derive(Debug)]
pub(super) enum Target {
    Name(Name),
    Several(Vec<Target>),
}

#[derive(Debug)]
pub(super) enum Trailer {
    Index(Node),
    /// `[start:stop:step]`.
    Slice(Box<[Option<Node>; 3]>),
    Method(Method, Vec<Argument>),
}

/// A function call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: Function,
    pub(super) arguments: Vec<Argument>,
    /// The function in `key=…`.
    pub(super) key: Option<Function>,
}

/// An argument, with its name if it is a keyword argument.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl Operator {
    /// Returns the operator as written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::FloorDivide => "//",
            Operator::Remainder => "%",
            Operator::Power => "**",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
    Is,
    IsNot,
}

impl Relation {
    /// Returns the relation as written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::Unequal => "!=",
            Relation::Less => "<",
            Relation::LessEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterEqual => ">=",
            Relation::In => "in",
            Relation::NotIn => "not in",
            Relation::Is => "is",
            Relation::IsNot => "is not",
        }
    }
}

/// A type that `isinstance` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Str,
    Int,
    Float,
    Bool,
    List,
    Tuple,
    Dict,
    Set,
    None,
}

/// The types by name.
pub(super) const TYPES: &[(&str, Type)] = &[
    ("str", Type::Str),
    ("int", Type::Int),
    ("float", Type::Float),
    ("bool", Type::Bool),
    ("list", Type::List),
    ("dict", Type::Dict),
    ("set", Type::Set),
    ("tuple", Type::Tuple),
];

/// Defines callables: the word, the minimum and maximum number of arguments, and the keyword arguments. A keyword
/// argument has the position that it would have without its name, or none.
macro_rules! callables {
    ($(#[$doc:meta])* $kind:ident $table:ident: $($name:ident $word:literal $least:literal $most:literal [$($named:literal)*];)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $kind { $($name),* }

        pub(super) const $table: &[(&str, $kind, Takes)] = &[$(
            ($word, $kind::$name, Takes { least: $least, most: $most, named: &[$($named),*] })
        ),*];

        impl $kind {
            /// Returns the name as written.
            pub(super) fn word(self) -> &'static str {
                match self { $($kind::$name => $word),* }
            }
        }
    };
}

/// The arguments that a call takes.
#[derive(Clone, Copy)]
pub(super) struct Takes {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) named: &'static [&'static str],
}

callables! {
    /// A function that can be called.
    Function FUNCTIONS:
    Len "len" 1 1 []; Str "str" 0 1 []; Int "int" 0 1 []; Float "float" 0 1 []; Bool "bool" 0 1 [];
    Abs "abs" 1 1 []; Min "min" 1 1000 ["key" "default"]; Max "max" 1 1000 ["key" "default"]; Sum "sum" 1 2 ["start"];
    Sorted "sorted" 1 1 ["key" "reverse"]; List "list" 0 1 []; Dict "dict" 0 1 []; Set "set" 0 1 [];
    Tuple "tuple" 0 1 []; Any "any" 1 1 []; All "all" 1 1 []; Round "round" 1 2 ["ndigits"]; Range "range" 1 3 [];
    Enumerate "enumerate" 1 2 ["start"]; Zip "zip" 0 1000 []; Reversed "reversed" 1 1 [];
}

callables! {
    /// A method that can be called.
    Method METHODS:
    Lower "lower" 0 0 []; Upper "upper" 0 0 []; Title "title" 0 0 []; Capitalize "capitalize" 0 0 [];
    Strip "strip" 0 1 []; Lstrip "lstrip" 0 1 []; Rstrip "rstrip" 0 1 [];
    Split "split" 0 2 ["sep" "maxsplit"]; Splitlines "splitlines" 0 1 ["keepends"]; Join "join" 1 1 [];
    Startswith "startswith" 1 3 []; Endswith "endswith" 1 3 []; Count "count" 1 3 []; Find "find" 1 3 [];
    Index "index" 1 3 []; Replace "replace" 2 3 [];
    Isdigit "isdigit" 0 0 []; Isalpha "isalpha" 0 0 []; Isalnum "isalnum" 0 0 []; Isspace "isspace" 0 0 [];
    Isupper "isupper" 0 0 []; Islower "islower" 0 0 [];
    Get "get" 1 2 []; Keys "keys" 0 0 []; Values "values" 0 0 []; Items "items" 0 0 [];
}

impl Function {
    /// Checks whether it iterates over its argument, so that it accepts a generator.
    pub(super) fn goes_through(self) -> bool {
        match self {
            Function::Min
            | Function::Max
            | Function::Sum
            | Function::Sorted
            | Function::List
            | Function::Dict
            | Function::Set
            | Function::Tuple
            | Function::Any
            | Function::All
            | Function::Enumerate
            | Function::Zip => true,
            Function::Len
            | Function::Str
            | Function::Int
            | Function::Float
            | Function::Bool
            | Function::Abs
            | Function::Round
            | Function::Range
            | Function::Reversed => false,
        }
    }
}
