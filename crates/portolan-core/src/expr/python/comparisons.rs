//! Converts an expression to comparisons of its parts with single values, as in the other condition languages.

use serde_json::{Number, Value};

use super::tree::{Node, Operator, Trailer, Unary};
use super::value::Val;
use crate::expr::truth::{Comparison, Side, Truth};

/// Returns the comparisons that decide the truth of an expression.
pub(super) fn truth(node: &Node) -> Option<Truth> {
    match node {
        Node::Unary(Unary::Not, inner) => Some(Truth::Not(Box::new(truth(inner)?))),
        Node::Chain(first, rest) if matches!(rest[..], [(Operator::And | Operator::Or, _), ..]) => {
            let parts = [&**first].into_iter().chain(rest.iter().map(|(_, node)| node));
            let parts = parts.map(truth).collect::<Option<Vec<_>>>()?;
            Some(if rest[0].0 == Operator::And { Truth::All(parts) } else { Truth::Any(parts) })
        }
        Node::Chain(first, rest) => {
            let mut left = &**first;
            let compared = rest.iter().map(|(operator, right)| {
                let compared = compare(left, *operator, right);
                left = right;
                compared
            });
            compared.collect::<Option<Vec<_>>>().map(Truth::All)
        }
        // Any other part has one truth wherever it occurs in the expression.
        _ => Some(Truth::Is(Side::Path(vec![spelled(node)?]))),
    }
}

fn compare(left: &Node, operator: Operator, right: &Node) -> Option<Truth> {
    let Operator::Compare(comparison) = operator else { return None };
    let (part, comparison, literal) = match (literal(left), literal(right)) {
        (None, Some(literal)) => (left, comparison, literal),
        (Some(literal), None) => (right, turned(comparison), literal),
        _ => return None,
    };
    // Strings are not ordered like numbers.
    if comparison.is_relation() && !literal.is_number() {
        return None;
    }
    Some(Truth::Compare(Side::Path(vec![spelled(part)?]), comparison, Side::Literal(literal)))
}

/// Returns the comparison with its sides swapped.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        Comparison::Equal | Comparison::Unequal => comparison,
    }
}

/// Returns the value of a literal. `True` and `False` are the numbers 1 and 0, as in Python.
fn literal(node: &Node) -> Option<Value> {
    match node {
        Node::Literal(Val::None) => Some(Value::Null),
        Node::Literal(Val::Bool(truth)) => Some(Value::from(u8::from(*truth))),
        Node::Literal(Val::Int(int)) => i64::try_from(*int).ok().map(Value::from),
        Node::Literal(Val::Float(float)) => Number::from_f64(*float).map(Value::Number),
        Node::Literal(Val::Text(text)) => Some(Value::from(&**text)),
        Node::Unary(Unary::Minus, inner) => match literal(inner)? {
            Value::Number(number) if number.is_i64() => number.as_i64()?.checked_neg().map(Value::from),
            Value::Number(number) => Number::from_f64(-number.as_f64()?).map(Value::Number),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the spelling of a part that has the same value wherever it occurs in the expression.
fn spelled(node: &Node) -> Option<String> {
    match node {
        Node::Name(name) => Some(name.clone()),
        Node::Literal(Val::Text(text)) => Some(format!("{text:?}")),
        Node::Literal(Val::Int(int)) => Some(int.to_string()),
        Node::Call(function, arguments) => {
            let arguments = arguments.iter().map(|argument| spelled(argument.as_ref()?));
            Some(format!("{}({})", function.word, arguments.collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Node::Trailed(value, trailers) => {
            let trailers = trailers.iter().map(|trailer| match trailer {
                Trailer::Index(index) => Some(format!("[{}]", spelled(index)?)),
                Trailer::Method(method, arguments) if arguments.is_empty() => Some(format!(".{}()", method.word)),
                Trailer::Method(..) | Trailer::Slice(_) => None,
            });
            Some(format!("{}{}", spelled(value)?, trailers.collect::<Option<String>>()?))
        }
        _ => None,
    }
}
