//! The data of an evaluation: the outputs so far, further names and variables, the time, and a seed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::outputs::Outputs;
use crate::value::Timestamp;

/// Everything that an expression can read. The same scope always gives the same result.
///
/// ```
/// use portolan_core::expr::{Expr, Jsonata, Scope};
/// use serde_json::json;
///
/// let data = json!({"n": 20});
/// let double = Expr::Jsonata(Jsonata::parse("$.n * 2").expect("it can be read"));
/// assert_eq!(double.eval(&Scope::of(&data)), Ok(Some(json!(40))));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    /// The outputs that appear as one object, innermost first: in a parallel branch, its own outputs hide those of the
    /// flow that forked.
    pub outputs: Vec<&'a Outputs>,
    /// The data itself, instead of outputs.
    pub root: Option<&'a Value>,
    /// Further names at the top of the context; an output of the same name hides them.
    pub names: Vec<(&'a str, &'a Value)>,
    /// Variables without their `$`.
    pub bindings: Vec<(&'a str, &'a Value)>,
    /// The time that `$now` and `$millis` return.
    pub at: Timestamp,
    /// The seed of `$random` and `$shuffle`.
    pub seed: u64,
}

impl<'a> Scope<'a> {
    /// Makes a scope with `root` as its context.
    pub fn of(root: &'a Value) -> Scope<'a> {
        Scope { root: Some(root), ..Scope::default() }
    }

    /// Makes a scope with the outputs as its context, innermost first.
    pub fn over(outputs: impl IntoIterator<Item = &'a Outputs>) -> Scope<'a> {
        Scope { outputs: outputs.into_iter().collect(), ..Scope::default() }
    }

    /// Returns the same scope over other data, for the array operators of JSON Logic.
    pub(crate) fn inside(&self, root: &'a Value) -> Scope<'a> {
        Scope { outputs: Vec::new(), root: Some(root), names: Vec::new(), ..self.clone() }
    }

    /// Returns the value of a name in the context.
    pub(crate) fn name(&self, name: &str) -> Option<&'a Value> {
        if let Some(root) = self.root {
            return root.as_object().and_then(|root| root.get(name));
        }
        // The innermost flow that has the node decides, even if its output there is undefined.
        let of_node = self.outputs.iter().find(|outputs| outputs.count(name) > 0).copied();
        match of_node {
            Some(outputs) => outputs.latest(name).map(Arc::as_ref),
            None => self.names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value),
        }
    }

    /// Returns all visible names with their values, in lookup order.
    pub(crate) fn entries(&self) -> Vec<(&'a str, &'a Value)> {
        if let Some(root) = self.root {
            return root.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
        }
        let mut entries: Vec<(&str, &Value)> = Vec::new();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for (depth, outputs) in self.outputs.iter().copied().enumerate() {
            for (id, value) in outputs.newest_first() {
                let hidden = self.outputs[..depth].iter().any(|inner| inner.count(id.as_str()) > 0);
                if !hidden && names.insert(id.as_str()) {
                    entries.push((id.as_str(), value));
                }
            }
        }
        for (name, value) in self.names.iter().copied() {
            let hidden = self.outputs.iter().any(|outputs| outputs.count(name) > 0);
            if !hidden && names.insert(name) {
                entries.push((name, value));
            }
        }
        entries
    }

    /// Returns the whole context as one value.
    pub(crate) fn whole(&self) -> Value {
        match self.root {
            Some(root) => root.clone(),
            None => {
                let entries = self.entries().into_iter();
                Value::Object(entries.map(|(name, value)| (name.to_owned(), value.clone())).collect::<Map<_, _>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::value::NodeId;

    #[test]
    fn a_branch_sees_its_own_outputs_over_those_of_the_flow() {
        let (mut outer, mut inner) = (Outputs::new(false), Outputs::new(false));
        for (node, value) in [("a", 1), ("b", 2), ("c", 3)] {
            outer.record(&NodeId::from(node), Some(Arc::new(json!(value))));
        }
        inner.record(&NodeId::from("b"), Some(Arc::new(json!(20))));
        inner.record(&NodeId::from("c"), None);
        let (name, shadow) = (json!("n"), json!("never"));
        let mut scope = Scope::over([&inner, &outer]);
        scope.names = vec![("input", &name), ("a", &shadow)];
        assert_eq!(scope.whole().to_string(), r#"{"b":20,"a":1,"input":"n"}"#);
        for (entry, value) in scope.entries() {
            assert_eq!(scope.name(entry), Some(value));
        }
        assert_eq!(scope.name("c"), None);
    }
}
