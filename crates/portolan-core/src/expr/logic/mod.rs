//! JSON Logic: decisions as JSON. A rule is parsed once into a tree of operators; the name in a `var` is JSONata.
//!
//! Data never becomes a rule: only the rule as parsed is evaluated.

mod coerce;
mod eval;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::jsonata::{Jsonata, quoted};
use super::{EvalFault, ParseFault, Scope};
use crate::diagnostic::closest;
pub(super) use coerce::{from_number, truthy};

/// The maximum nesting depth of a rule.
const MAX_RULE_DEPTH: usize = 200;

/// A JSON Logic rule. Cloning it is cheap.
///
/// ```
/// use portolan_core::expr::{Expr, JsonLogic, Scope};
/// use serde_json::json;
///
/// let rule = json!({"and": [{">": [{"var": "$count(items)"}, 1]}, {"==": [{"var": "state"}, "open"]}]});
/// let rule = Expr::Logic(JsonLogic::parse(&rule).expect("it is a rule"));
/// let data = json!({"items": [1, 2], "state": "open"});
/// assert_eq!(rule.holds(&Scope::of(&data)), Ok(true));
/// ```
#[derive(Clone)]
pub struct JsonLogic(Arc<ParsedExpression>);

struct ParsedExpression {
    written: Value,
    rule: Rule,
}

/// A parsed rule.
enum Rule {
    Literal(Value),
    List(Vec<Rule>),
    Var(Var),
    Apply(Op, Vec<Rule>),
}

/// The name in a `var`, and the default for a missing value.
struct Var {
    name: Name,
    default: Option<Box<Rule>>,
}

enum Name {
    /// The whole current data.
    Whole,
    Jsonata(Jsonata),
    /// A dotted path that JSONata parses differently, such as `items.0.id`.
    Path(String),
    /// A computed plain path, since data must not become code.
    Computed(Box<Rule>),
}

/// Defines the operators with their names.
macro_rules! operators {
    ($($name:ident $($word:literal)+;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Op { $($name),* }

        const WORDS: &[(&str, Op)] = &[$($(($word, Op::$name)),+),*];
    };
}

operators! {
    Equal "=="; Same "==="; Unequal "!="; Different "!==";
    Greater ">"; GreaterEqual ">="; Less "<"; LessEqual "<=";
    Not "!"; Truth "!!"; And "and"; Or "or"; If "if" "?:";
    Add "+"; Subtract "-"; Multiply "*"; Divide "/"; Remainder "%"; Min "min"; Max "max";
    In "in"; Cat "cat"; Substr "substr"; Merge "merge"; Log "log";
    Missing "missing"; MissingSome "missing_some";
    Map "map"; Filter "filter"; Reduce "reduce"; All "all"; Some "some"; None "none";
}

impl Op {
    /// Checks whether it evaluates a rule for each item of an array.
    fn is_loop(self) -> bool {
        matches!(self, Op::Map | Op::Filter | Op::Reduce | Op::All | Op::Some | Op::None)
    }
}

impl JsonLogic {
    /// Parses a rule.
    ///
    /// # Errors
    /// The first fault: an unknown operator, an unreadable `var`, or a rule that nests too deep.
    pub fn parse(rule: &Value) -> Result<JsonLogic, ParseFault> {
        let read = read(rule, 0)?;
        Ok(JsonLogic(Arc::new(ParsedExpression { written: rule.clone(), rule: read })))
    }

    /// Returns the rule as it was written.
    pub fn rule(&self) -> &Value {
        &self.0.written
    }

    pub(super) fn eval(&self, scope: &Scope<'_>) -> Result<Value, EvalFault> {
        eval::eval(&self.0.rule, scope).map_err(|fault| EvalFault { expression: self.0.written.to_string(), ..fault })
    }

    /// Returns the names that its `var`s certainly read from the top of their context.
    pub fn roots(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.rule.roots(&mut names);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks whether `is` holds for one of the expressions in its `var`s.
    pub(super) fn any(&self, is: &dyn Fn(&Jsonata) -> bool) -> bool {
        self.0.rule.any(is)
    }

    /// Checks whether it evaluates a rule for each item of an array.
    pub(super) fn loops(&self) -> bool {
        self.0.rule.loops()
    }
}

impl PartialEq for JsonLogic {
    fn eq(&self, other: &JsonLogic) -> bool {
        self.0.written == other.0.written
    }
}

impl Eq for JsonLogic {}

impl fmt::Debug for JsonLogic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonLogic({})", self.0.written)
    }
}

impl Rule {
    fn roots<'r>(&'r self, names: &mut Vec<&'r str>) {
        match self {
            Rule::Literal(_) => {}
            // The rule for each item reads from the item.
            Rule::Apply(op, rules) if op.is_loop() => {
                rules.iter().take(1).for_each(|rule| rule.roots(names));
            }
            Rule::List(rules) | Rule::Apply(_, rules) => rules.iter().for_each(|rule| rule.roots(names)),
            Rule::Var(Var { name, default }) => {
                match name {
                    Name::Jsonata(jsonata) => names.extend(jsonata.roots().iter().map(String::as_str)),
                    Name::Path(path) => names.extend(path.split('.').next()),
                    Name::Computed(rule) => rule.roots(names),
                    Name::Whole => {}
                }
                default.iter().for_each(|rule| rule.roots(names));
            }
        }
    }

    fn any(&self, is: &dyn Fn(&Jsonata) -> bool) -> bool {
        match self {
            Rule::Literal(_) => false,
            Rule::List(rules) | Rule::Apply(_, rules) => rules.iter().any(|rule| rule.any(is)),
            Rule::Var(Var { name, default }) => {
                let named = match name {
                    Name::Jsonata(jsonata) => is(jsonata),
                    Name::Computed(rule) => rule.any(is),
                    Name::Whole | Name::Path(_) => false,
                };
                named || default.as_ref().is_some_and(|rule| rule.any(is))
            }
        }
    }

    fn loops(&self) -> bool {
        match self {
            Rule::Literal(_) => false,
            Rule::Apply(op, _) if op.is_loop() => true,
            Rule::List(rules) | Rule::Apply(_, rules) => rules.iter().any(Rule::loops),
            Rule::Var(Var { name, default }) => {
                matches!(name, Name::Computed(rule) if rule.loops())
                    || default.as_ref().is_some_and(|rule| rule.loops())
            }
        }
    }
}

fn read(rule: &Value, depth: usize) -> Result<Rule, ParseFault> {
    if depth > MAX_RULE_DEPTH {
        return Err(fault(
            format!("the rule nests deeper than {MAX_RULE_DEPTH} levels"),
            "split the decision into several",
        ));
    }
    let list = |items: &[Value]| items.iter().map(|item| read(item, depth + 1)).collect::<Result<Vec<Rule>, _>>();
    match rule {
        Value::Array(items) => Ok(Rule::List(list(items)?)),
        // An object with another number of members is a value, as in the reference.
        Value::Object(members) if members.len() == 1 => {
            let (word, arguments) = members.iter().next().unwrap_or_else(|| unreachable!("one member"));
            let arguments = match arguments {
                Value::Array(items) => list(items)?,
                single => vec![read(single, depth + 1)?],
            };
            if word == "var" {
                return Ok(Rule::Var(var(arguments)?));
            }
            match WORDS.iter().find(|(known, _)| known == word) {
                Some((_, op)) => Ok(Rule::Apply(*op, arguments)),
                None => Err(unknown(word)),
            }
        }
        value => Ok(Rule::Literal(value.clone())),
    }
}

fn var(mut arguments: Vec<Rule>) -> Result<Var, ParseFault> {
    let default = (arguments.len() > 1).then(|| Box::new(arguments.swap_remove(1)));
    let name = match arguments.into_iter().next() {
        None | Some(Rule::Literal(Value::Null)) => Name::Whole,
        Some(Rule::Literal(Value::String(text))) if text.is_empty() => Name::Whole,
        Some(Rule::Literal(Value::String(text))) => named(text)?,
        Some(Rule::Literal(Value::Number(index))) => Name::Path(index.to_string()),
        Some(computed @ (Rule::Apply(..) | Rule::Var(_))) => Name::Computed(Box::new(computed)),
        Some(_) => {
            return Err(fault(
                "the name in a `var` must be text or a number",
                "write the path, as in `{\"var\": \"entry.value\"}`",
            ));
        }
    };
    Ok(Var { name, default })
}

/// Parses the name in a `var`. `1` and `1.1` are numbers in JSONata and indexes here; `items.0.id` is not valid
/// JSONata.
fn named(text: String) -> Result<Name, ParseFault> {
    let segments = || text.split('.');
    let is_index = |segment: &str| !segment.is_empty() && segment.chars().all(|c| c.is_ascii_digit());
    let is_word =
        |segment: &str| !segment.is_empty() && segment.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if segments().all(is_index) {
        return Ok(Name::Path(text));
    }
    match Jsonata::parse(&text) {
        Ok(jsonata) => Ok(Name::Jsonata(jsonata)),
        Err(_) if segments().all(is_word) => Ok(Name::Path(text)),
        // The offset is within the text of the `var`, which is unknown to the caller.
        Err(fault) => Err(ParseFault {
            message: format!("{} in the `var` {}", fault.message, quoted(&text)),
            offset: None,
            ..fault
        }),
    }
}

fn unknown(word: &str) -> ParseFault {
    let near = closest(word, WORDS.iter().map(|(known, _)| *known).chain(["var"]));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let words: Vec<String> = WORDS.iter().map(|(known, _)| format!("`{known}`")).collect();
            format!("the operators are `var`, {}", words.join(", "))
        }
    };
    fault(format!("{} is not a JSON Logic operator", quoted(word)), help)
}

fn fault(message: impl Into<String>, help: impl Into<String>) -> ParseFault {
    ParseFault { message: message.into(), help: Some(help.into()), offset: None, code: None }
}
