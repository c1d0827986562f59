//! JSONata. Only this module uses the library that evaluates it, so that the library can be replaced.
//!
//! An expression is parsed once. Only the parts of the scope that it can read are converted. A plain path through
//! objects is resolved without the library.

mod bounds;
mod builtins;
mod dates;
mod fault;
mod guard;
mod host;
mod parts;
mod place;
mod reach;
mod roots;
mod values;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Context, Evaluator, EvaluatorOptions};
use jsonata_core::parser;
use serde_json::Value;

use super::{EvalFault, ParseFault, Scope};
use bounds::{GuardCalls, Meter};
use host::HostFunctions;
use reach::{Plain, Reach};
pub(super) use values::boolean;

/// The maximum length of an expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 32 << 10;
/// The time limit of an evaluation, in milliseconds of wall time.
pub const TIME_LIMIT_MS: u64 = 1_000;
/// The maximum nesting depth of an evaluation: about three levels for each recursive function call.
pub const MAX_DEPTH: usize = 10_000;
/// The maximum number of items in a computed array.
pub const MAX_ITEMS: usize = 1_000_000;
/// The maximum number of items in a path with `@`, `#` or `%`: each is an object while the path continues.
pub const MAX_JOINED_ITEMS: usize = 200_000;
/// The maximum length of a text that an expression makes or splits, in bytes.
pub const MAX_STRING_BYTES: usize = 4 << 20;
/// The maximum memory of all text and items that an evaluation makes, in bytes.
pub const MAX_MEMORY_BYTES: usize = 512 << 20;
/// The maximum length of a number or date picture, in characters.
pub const MAX_PICTURE_CHARS: usize = 1_000;

/// A JSONata expression. Cloning it is cheap.
///
/// ```
/// use portolan_core::expr::{Expr, Jsonata, Scope};
/// use serde_json::json;
///
/// let total = Expr::Jsonata(Jsonata::parse("$sum(items.(price * count))").expect("it can be read"));
/// let data = json!({"items": [{"price": 2.5, "count": 2}, {"price": 1, "count": 3}]});
/// assert_eq!(total.eval(&Scope::of(&data)), Ok(Some(json!(8))));
/// ```
#[derive(Clone)]
pub struct Jsonata(Arc<ParsedExpression>);

struct ParsedExpression {
    text: String,
    ast: AstNode,
    reach: Reach,
    called: GuardCalls,
    named: HostFunctions,
    roots: Vec<String>,
}

impl Jsonata {
    /// Parses an expression.
    ///
    /// # Errors
    /// The first fault, with its place if that is known.
    pub fn parse(text: &str) -> Result<Jsonata, ParseFault> {
        if text.len() > MAX_EXPRESSION_BYTES {
            return Err(ParseFault {
                message: format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", text.len()),
                help: Some("split it over several nodes".to_owned()),
                offset: None,
                code: None,
            });
        }
        let ast = parser::parse(text).map_err(|error| fault::unreadable(text, &error))?;
        let mut reach = Reach::of(&ast);
        let roots = roots::roots(&ast);
        let ast = guard::guard(ast);
        reach.mentions = Reach::of(&ast).mentions;
        let (called, named) = (GuardCalls::of(&reach), HostFunctions::of(&reach));
        Ok(Jsonata(Arc::new(ParsedExpression { text: text.to_owned(), ast, reach, called, named, roots })))
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the names that it certainly reads from the top of its context.
    pub fn roots(&self) -> &[String] {
        &self.0.roots
    }

    /// Checks whether it may read any name of its context, such as a computed one.
    pub(crate) fn sees_all(&self) -> bool {
        self.0.reach.members.is_none()
    }

    /// Checks whether it uses a function that reads earlier outputs, or may do so in a computed text.
    pub fn looks_back(&self) -> bool {
        self.0.reach.looks_back
    }

    /// Checks whether it may compute for long with any input: it has its own functions, ranges, or text to evaluate.
    pub fn is_heavy(&self) -> bool {
        self.0.reach.heavy
    }

    pub(super) fn eval(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        match self.walk(scope) {
            Some(found) => Ok(found.cloned()),
            None => self.evaluate(scope),
        }
    }

    /// Resolves a plain path; `None` if the expression is more than that or the path crosses an array.
    pub(super) fn walk<'v>(&self, scope: &Scope<'v>) -> Option<Option<&'v Value>> {
        let Plain { variable, segments } = self.0.reach.path.as_ref()?;
        let (mut found, rest) = match variable {
            // An unbound variable may be a function.
            Some(variable) => {
                let bound = scope.bindings.iter().rev().find(|(name, _)| name == variable)?;
                (Some(bound.1), &segments[..])
            }
            None if scope.root.is_some_and(Value::is_array) => return None,
            None => segments.split_first().map(|(first, rest)| (scope.name(first), rest))?,
        };
        for segment in rest {
            match found {
                Some(Value::Object(members)) => found = members.get(segment),
                Some(Value::Array(_)) => return None,
                _ => return Some(None),
            }
        }
        Some(found)
    }

    fn evaluate(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        self.within(scope, &EvaluationLimits::default())
    }

    /// Evaluates the expression with other limits than the default; `None` is undefined.
    ///
    /// # Errors
    /// If the evaluation fails or exceeds a limit.
    pub fn within(&self, scope: &Scope<'_>, limits: &EvaluationLimits) -> Result<Option<Value>, EvalFault> {
        let items = if self.0.reach.joins { limits.items.min(MAX_JOINED_ITEMS) } else { limits.items };
        let limits = &EvaluationLimits { items, ..limits.clone() };
        let options = EvaluatorOptions {
            // The library reads its own clock for the timeout. The time that the expression sees comes from the scope.
            timeout_ms: Some(limits.time_ms),
            cancel: None,
            max_stack_depth: Some(limits.depth),
            max_sequence_length: Some(items),
        };
        let mut context = Context::new();
        for (name, value) in &scope.bindings {
            context.bind((*name).to_owned(), values::to_library(value));
        }
        let meter = Rc::new(Meter::new(items));
        let mut evaluator = Evaluator::with_options(context, options);
        self.0.called.register(&mut evaluator, &meter, scope.at.0 as f64);
        host::register(&mut evaluator, &self.0.named, scope);
        let data = values::context(scope, &self.0.reach);
        // Catches a panic of the library. The evaluator and everything that it owns are dropped with it.
        let evaluation = AssertUnwindSafe(|| evaluator.evaluate(&self.0.ast, &data));
        match catch_unwind(evaluation) {
            Ok(Ok(value)) => values::from_library(&value).map_err(|why| why.fault(&self.0.text)),
            Ok(Err(error)) => Err(fault::failed(&error, &self.0.text, limits, meter.in_eval())),
            Err(_) => Err(EvalFault::error("it cannot be evaluated: the evaluator failed", &self.0.text)),
        }
    }
}

/// The limits of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// The wall time, in milliseconds.
    pub time_ms: u64,
    /// The maximum nesting depth.
    pub depth: usize,
    /// The maximum number of items in a sequence.
    pub items: usize,
}

impl Default for EvaluationLimits {
    fn default() -> EvaluationLimits {
        EvaluationLimits { time_ms: TIME_LIMIT_MS, depth: MAX_DEPTH, items: MAX_ITEMS }
    }
}

impl PartialEq for Jsonata {
    fn eq(&self, other: &Jsonata) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Jsonata {}

impl fmt::Debug for Jsonata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jsonata({:?})", self.0.text)
    }
}

/// Quotes the user's words in backticks, shortened if they are long.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", crate::diagnostic::clip(text))
}
