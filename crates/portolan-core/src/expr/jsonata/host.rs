//! Functions of our own: time and random numbers from the scope, and the outputs of the flow's nodes.

use std::cell::Cell;
use std::rc::Rc;

use jsonata_core::evaluator::{Evaluator, EvaluatorError, HostFn};
use jsonata_core::value::JValue;

use super::reach::Reach;
use super::values::to_library;
use crate::expr::{Outputs, Scope};

/// The functions of our own that an expression uses, computed once.
pub(super) struct HostFunctions {
    millis: bool,
    now: bool,
    chance: bool,
    history: bool,
}

impl HostFunctions {
    pub(super) fn of(reach: &Reach) -> HostFunctions {
        let named = |names: &[&str]| names.iter().any(|name| reach.calls(name));
        HostFunctions {
            millis: named(&["millis"]),
            now: named(&["now"]),
            chance: named(&["random", "shuffle"]),
            history: named(&["previousNode", "executionCount", "nodeExecution", "nodeExecutions"]),
        }
    }
}

/// Registers the functions that the expression uses.
pub(super) fn register(evaluator: &mut Evaluator, named: &HostFunctions, scope: &Scope<'_>) {
    let at = scope.at.0 as f64;
    if named.millis {
        put(evaluator, "millis", move |_: &[JValue]| Ok(JValue::Number(at)));
    }
    if named.now {
        put(evaluator, "now", move |arguments: &[JValue]| now(at, arguments));
    }
    if named.chance {
        let dice = Rc::new(Dice::new(scope.seed));
        let other = Rc::clone(&dice);
        put(evaluator, "random", move |_: &[JValue]| Ok(JValue::Number(dice.fraction())));
        put(evaluator, "shuffle", move |arguments: &[JValue]| shuffle(&other, arguments));
    }
    if named.history {
        history(evaluator, scope);
    }
}

pub(super) fn put(evaluator: &mut Evaluator, name: &str, function: impl HostFn + 'static) {
    let refused = evaluator.register_fn_override(name, function);
    debug_assert!(refused.is_ok(), "`{name}` is not a function that the library compiles");
}

/// The history of the run, outermost flow first: the outputs of a branch follow those before its fork.
struct Past(Vec<Outputs>);

fn history(evaluator: &mut Evaluator, scope: &Scope<'_>) {
    let past = Rc::new(Past(scope.outputs.iter().rev().map(|outputs| (*outputs).clone()).collect()));
    let of = |past: &Rc<Past>| Rc::clone(past);
    let previous = of(&past);
    put(evaluator, "previousNode", move |arguments: &[JValue]| {
        let back = match arguments {
            [] | [JValue::Undefined] => 1.0,
            [JValue::Number(back)] => *back,
            [_] => return mismatch("previousNode", 1),
            _ => return mismatch("previousNode", 2),
        };
        Ok(previous.back(back))
    });
    let counted = of(&past);
    put(evaluator, "executionCount", move |arguments: &[JValue]| {
        let id = node_id("executionCount", arguments, 1)?;
        Ok(JValue::Number(counted.0.iter().map(|outputs| outputs.count(&id)).sum::<u64>() as f64))
    });
    let one = of(&past);
    put(evaluator, "nodeExecution", move |arguments: &[JValue]| {
        let id = node_id("nodeExecution", arguments, 2)?;
        let Some(JValue::Number(index)) = arguments.get(1) else { return mismatch("nodeExecution", 2) };
        Ok(one.execution(&id, *index))
    });
    put(evaluator, "nodeExecutions", move |arguments: &[JValue]| {
        let id = node_id("nodeExecutions", arguments, 1)?;
        Ok(JValue::array(past.of_node(&id)))
    });
}

impl Past {
    /// Returns the output `back` records before the executing node; `null` if there is none.
    fn back(&self, back: f64) -> JValue {
        let mut back = if back >= 1.0 && back.fract() == 0.0 { back as u64 } else { return JValue::Null };
        for outputs in self.0.iter().rev() {
            let kept = outputs.kept();
            if back <= kept {
                return outputs.back(back).map_or(JValue::Null, |value| to_library(value));
            }
            back -= kept;
        }
        JValue::Null
    }

    fn of_node(&self, id: &str) -> Vec<JValue> {
        let all = self.0.iter().flat_map(|outputs| outputs.of_node(id));
        all.map(|value| value.map_or(JValue::Null, |value| to_library(value))).collect()
    }

    fn execution(&self, id: &str, index: f64) -> JValue {
        let all: Vec<_> = self.0.iter().flat_map(|outputs| outputs.of_node(id)).collect();
        let at = if index < 0.0 { index + all.len() as f64 } else { index };
        let found = (at >= 0.0 && at.fract() == 0.0).then(|| all.get(at as usize)).flatten();
        found.copied().flatten().map_or(JValue::Null, |value| to_library(value))
    }
}

fn node_id(function: &str, arguments: &[JValue], takes: usize) -> Result<String, EvaluatorError> {
    match arguments {
        [JValue::String(id), rest @ ..] if rest.len() < takes => Ok(id.to_string()),
        [JValue::String(_), ..] => mismatch(function, takes + 1),
        _ => mismatch(function, 1),
    }
}

pub(super) fn mismatch<T>(function: &str, argument: usize) -> Result<T, EvaluatorError> {
    Err(EvaluatorError::TypeError(format!(
        "T0410: Argument {argument} of function \"{function}\" does not match function signature"
    )))
}

/// Implements `$now([picture[, timezone]])` with the library's `$fromMillis` and the scope's time.
fn now(at: f64, arguments: &[JValue]) -> Result<JValue, EvaluatorError> {
    use jsonata_core::ast::AstNode;
    if let Some(wrong) =
        arguments.iter().position(|argument| !matches!(argument, JValue::String(_) | JValue::Undefined))
    {
        return mismatch("now", wrong + 1);
    }
    if arguments.len() > 2 {
        return mismatch("now", 3);
    }
    let mut args = vec![AstNode::Number(at)];
    args.extend(arguments.iter().map(|argument| match argument {
        JValue::String(text) => AstNode::String(text.to_string()),
        _ => AstNode::Undefined,
    }));
    let call = AstNode::Function { name: "fromMillis".to_owned(), args, is_builtin: true };
    Evaluator::new().evaluate(&call, &JValue::Undefined)
}

/// A small generator (SplitMix64) with the same numbers in a replay. It is not cryptographically secure.
struct Dice(Cell<u64>);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(Cell::new(seed))
    }

    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to less than 1.
    fn fraction(&self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn shuffle(dice: &Dice, arguments: &[JValue]) -> Result<JValue, EvaluatorError> {
    let mut items = match arguments {
        [JValue::Array(items)] => items.to_vec(),
        [JValue::Undefined] => return Ok(JValue::Undefined),
        [single] => vec![single.clone()],
        [] => return mismatch("shuffle", 1),
        _ => return mismatch("shuffle", 2),
    };
    for last in (1..items.len()).rev() {
        items.swap(last, (dice.next() % (last as u64 + 1)) as usize);
    }
    Ok(JValue::array(items))
}
