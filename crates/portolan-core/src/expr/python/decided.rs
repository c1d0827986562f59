//! Converts an expression to comparisons of its parts with single values, as in the other condition languages.

use serde_json::Value;

use super::tree::{Literal, Node, Relation, Sign, Trailer};
use crate::expr::truth::{Comparison, Side, Truth};

/// Returns the comparisons that decide the truth of an expression.
pub(super) fn truth(node: &Node) -> Option<Truth> {
    match node {
        Node::All(parts) => parts.iter().map(truth).collect::<Option<Vec<_>>>().map(Truth::All),
        Node::Any(parts) => parts.iter().map(truth).collect::<Option<Vec<_>>>().map(Truth::Any),
        Node::Not(inner) => Some(Truth::Not(Box::new(truth(inner)?))),
        Node::Compare(first, rest) => {
            let mut left = &**first;
            let compared = rest.iter().map(|(relation, right)| {
                let compared = compare(left, *relation, right);
                left = right;
                compared
            });
            compared.collect::<Option<Vec<_>>>().map(Truth::All)
        }
        // Any other part has one truth wherever it occurs in the expression.
        _ => Some(Truth::Is(Side::Path(vec![spelled(node)?]))),
    }
}

fn compare(left: &Node, relation: Relation, right: &Node) -> Option<Truth> {
    let (part, relation, literal) = match (literal(left), literal(right)) {
        (None, Some(literal)) => (left, relation, literal),
        (Some(literal), None) => (right, turned(relation), literal),
        _ => return None,
    };
    let comparison = match relation {
        Relation::Equal => Comparison::Equal,
        Relation::Unequal => Comparison::Unequal,
        Relation::Less => Comparison::Less,
        Relation::LessEqual => Comparison::LessEqual,
        Relation::Greater => Comparison::Greater,
        Relation::GreaterEqual => Comparison::GreaterEqual,
        Relation::In | Relation::NotIn | Relation::Is | Relation::IsNot => return None,
    };
    // Strings are not ordered like numbers.
    if comparison.is_relation() && !literal.is_number() {
        return None;
    }
    Some(Truth::Compare(Side::Path(vec![spelled(part)?]), comparison, Side::Literal(literal)))
}

/// Returns the relation with its sides swapped.
fn turned(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::Greater,
        Relation::LessEqual => Relation::GreaterEqual,
        Relation::Greater => Relation::Less,
        Relation::GreaterEqual => Relation::LessEqual,
        other => other,
    }
}

/// Returns the value of a literal. `True` and `False` are the numbers 1 and 0, as in Python.
fn literal(node: &Node) -> Option<Value> {
    match node {
        Node::Literal(Literal::None) => Some(Value::Null),
        Node::Literal(Literal::Bool(truth)) => Some(Value::from(u8::from(*truth))),
        Node::Literal(Literal::Int(int)) => i64::try_from(*int).ok().map(Value::from),
        Node::Literal(Literal::Float(float)) => serde_json::Number::from_f64(*float).map(Value::Number),
        Node::Literal(Literal::Text(text)) => Some(Value::from(text.as_str())),
        Node::Sign(Sign::Minus, inner) => match literal(inner)? {
            Value::Number(number) if number.is_i64() => number.as_i64()?.checked_neg().map(Value::from),
            Value::Number(number) => serde_json::Number::from_f64(-number.as_f64()?).map(Value::Number),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the spelling of a part that has the same value wherever it occurs in the expression.
fn spelled(node: &Node) -> Option<String> {
    match node {
        Node::Name(name) => Some(name.name.clone()),
        Node::Literal(Literal::Text(text)) => Some(format!("{text:?}")),
        Node::Literal(Literal::Int(int)) => Some(int.to_string()),
        Node::Call(call) if call.key.is_none() => {
            let arguments = call.arguments.iter().map(|argument| match argument.name {
                None => spelled(&argument.value),
                Some(_) => None,
            });
            let arguments = arguments.collect::<Option<Vec<_>>>()?;
            Some(format!("{}({})", call.function.word(), arguments.join(", ")))
        }
        Node::Trailed(value, trailers) => {
            let trailers = trailers.iter().map(|trailer| match trailer {
                Trailer::Index(index) => Some(format!("[{}]", spelled(index)?)),
                Trailer::Method(method, arguments) if arguments.is_empty() => Some(format!(".{}()", method.word())),
                Trailer::Method(..) | Trailer::Slice(_) => None,
            });
            Some(format!("{}{}", spelled(value)?, trailers.collect::<Option<String>>()?))
        }
        _ => None,
    }
}
