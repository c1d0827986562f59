//! The guarded built-in functions, and their guards.

use super::bounds::{
    CHECK_INTEGER, CHECK_JOIN, CHECK_MATCH, CHECK_REPLACE, CHECK_ZIP, DATE_PICTURE, DATED, PADDED, PICTURE, PRINTED,
    TEXT,
};

/// A built-in function of the library.
pub(super) struct Builtin {
    pub(super) name: &'static str,
    /// The number of arguments that a higher-order function passes to it.
    pub(super) arity: usize,
    /// The guard of each argument.
    pub(super) argument: Option<&'static str>,
    /// The guard of all arguments together.
    pub(super) joint: Option<&'static str>,
    /// Whether it makes text or a value that contains others.
    pub(super) makes: bool,
}

const fn makes(name: &'static str, arity: usize, argument: Option<&'static str>) -> Builtin {
    Builtin { name, arity, argument, joint: None, makes: true }
}

const fn jointly(name: &'static str, arity: usize, joint: &'static str, makes: bool) -> Builtin {
    Builtin { name, arity, argument: None, joint: Some(joint), makes }
}

/// The other built-in functions return a number, a boolean or one of their arguments.
const BUILTINS: &[Builtin] = &[
    makes("append", 2, None),
    makes("base64decode", 1, Some(TEXT)),
    makes("base64encode", 1, Some(TEXT)),
    makes("decodeUrl", 1, Some(TEXT)),
    makes("decodeUrlComponent", 1, Some(TEXT)),
    makes("distinct", 1, None),
    makes("each", 2, None),
    makes("encodeUrl", 1, Some(TEXT)),
    makes("encodeUrlComponent", 1, Some(TEXT)),
    makes("filter", 2, None),
    jointly("formatInteger", 2, CHECK_INTEGER, true),
    makes("formatNumber", 3, Some(PICTURE)),
    makes("fromMillis", 3, Some(DATE_PICTURE)),
    jointly("join", 2, CHECK_JOIN, true),
    makes("lowercase", 1, Some(TEXT)),
    makes("map", 2, None),
    jointly("match", 3, CHECK_MATCH, true),
    makes("merge", 1, None),
    makes("pad", 3, Some(PADDED)),
    makes("parseInteger", 2, Some(PICTURE)),
    jointly("replace", 4, CHECK_REPLACE, true),
    makes("reverse", 1, None),
    makes("sort", 2, None),
    makes("split", 3, Some(TEXT)),
    makes("spread", 1, None),
    makes("string", 1, Some(PRINTED)),
    makes("substring", 3, Some(TEXT)),
    makes("substringAfter", 2, Some(TEXT)),
    makes("substringBefore", 2, Some(TEXT)),
    jointly("toMillis", 2, DATED, false),
    makes("trim", 1, Some(TEXT)),
    makes("uppercase", 1, Some(TEXT)),
    jointly("zip", 2, CHECK_ZIP, true),
];

/// Returns the built-in function of this name if it is guarded.
pub(super) fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.binary_search_by_key(&name, |builtin| builtin.name).ok().map(|at| &BUILTINS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stand_in_order() {
        assert!(BUILTINS.is_sorted_by_key(|builtin| builtin.name));
    }
}
