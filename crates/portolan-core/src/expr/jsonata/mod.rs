//! JSONata: the one place that knows the library that evaluates it, so that it can be replaced.
//!
//! An expression is parsed once. Of the scope only what it can name is converted; a plain path through objects is walked
//! without the library.

mod bounds;
mod builtins;
mod dated;
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
use bounds::{Called, Meter};
use host::Named;
use reach::{Plain, Reach};
pub(super) use values::boolean;

/// The longest expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 32 << 10;
/// How long an evaluation may take, in milliseconds of wall time.
pub const TIME_LIMIT_MS: u64 = 1_000;
/// How deep an evaluation may nest: about three levels for each call of a function by itself.
pub const MAX_DEPTH: usize = 10_000;
/// The most items of an array that an expression makes.
pub const MAX_ITEMS: usize = 1_000_000;
/// The most items of a path with `@`, `#` or `%`: each is an object for as long as the path goes on.
pub const MAX_JOINED_ITEMS: usize = 200_000;
/// The longest text that an expression makes or takes apart, in bytes.
pub const MAX_STRING_BYTES: usize = 4 << 20;
/// How much text and how many items an evaluation may make in all, in bytes.
pub const MAX_MEMORY_BYTES: usize = 512 << 20;
/// The longest picture of a number or a date, in characters.
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
pub struct Jsonata(Arc<Parsed>);

struct Parsed {
    text: String,
    ast: AstNode,
    reach: Reach,
    called: Called,
    named: Named,
    roots: Vec<String>,
}

impl Jsonata {
    /// Reads an expression.
    ///
    /// # Errors
    /// The first fault, with its place where that is known.
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
        let (called, named) = (Called::of(&reach), Named::of(&reach));
        Ok(Jsonata(Arc::new(Parsed { text: text.to_owned(), ast, reach, called, named, roots })))
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The names that it asks of the top of its context, as far as that is certain.
    pub fn roots(&self) -> &[String] {
        &self.0.roots
    }

    /// Whether it may ask for any name of its context, such as one that it computes.
    pub(crate) fn sees_all(&self) -> bool {
        self.0.reach.members.is_none()
    }

    /// Whether it names a function that looks back at earlier outputs, or may do so unseen.
    pub fn looks_back(&self) -> bool {
        self.0.reach.looks_back
    }

    /// Whether it may compute for long whatever it is given: it has functions of its own, ranges, or text to evaluate.
    pub fn is_heavy(&self) -> bool {
        self.0.reach.heavy
    }

    pub(super) fn eval(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        match self.walk(scope) {
            Some(found) => Ok(found.cloned()),
            None => self.evaluate(scope),
        }
    }

    /// What a plain path leads to; nothing when the expression is more than that or an array lies on the way.
    pub(super) fn walk<'v>(&self, scope: &Scope<'v>) -> Option<Option<&'v Value>> {
        let Plain { variable, segments } = self.0.reach.path.as_ref()?;
        let (mut found, rest) = match variable {
            // What is not bound may be a function.
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

    /// The value within other limits than the usual ones; `None` is undefined.
    ///
    /// # Errors
    /// When it fails, or would pass a limit.
    pub fn within(&self, scope: &Scope<'_>, limits: &EvaluationLimits) -> Result<Option<Value>, EvalFault> {
        let items = if self.0.reach.joins { limits.items.min(MAX_JOINED_ITEMS) } else { limits.items };
        let limits = &EvaluationLimits { items, ..limits.clone() };
        let options = EvaluatorOptions {
            // The library reads a clock of its own for this; what an expression is told comes from the scope.
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
        // A panic of the library must not be ours. The evaluator and all that it holds are dropped with it.
        let evaluation = AssertUnwindSafe(|| evaluator.evaluate(&self.0.ast, &data));
        match catch_unwind(evaluation) {
            Ok(Ok(value)) => values::from_library(&value).map_err(|why| why.fault(&self.0.text)),
            Ok(Err(error)) => Err(fault::failed(&error, &self.0.text, limits, meter.in_eval())),
            Err(_) => Err(EvalFault::error("it cannot be evaluated: the evaluator gave up", &self.0.text)),
        }
    }
}

/// How far one evaluation may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// The wall time, in milliseconds.
    pub time_ms: u64,
    /// The levels of nesting.
    pub depth: usize,
    /// The items of a sequence.
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

/// The user's words in backticks, shortened where they are long.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", crate::diagnostic::clip(text))
}
