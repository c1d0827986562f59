//! Partitions the values of a variable by the outcomes of a definition's comparisons.
//!
//! Conditions compare single values with literals, so there are finitely many cells: two values with the same outcome
//! for every comparison share a cell. Any other expression has no partition.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Expr;
use super::satisfy::samples;
use super::truth::{Numbers, Truth};

/// The maximum number of combinations for the paths inside an object; beyond it there is no partition.
const MAX_COMBINED: usize = 256;
/// The maximum number of comparisons per variable.
const MAX_COMPARED: usize = 128;
/// The maximum length of a sample array: no longer array is accepted anywhere.
const MAX_LENGTH: usize = 10_000;

/// Returns the comparisons of a condition; `None` for other expressions.
pub(super) fn truth(expr: &Expr) -> Option<(&Truth, Numbers)> {
    match expr {
        Expr::When(when) => Some((when.truth(), Numbers::OrText)),
        Expr::Condition(condition) => Some((condition.truth(), Numbers::Only)),
        _ => None,
    }
}

/// Returns the names that an expression reads; `None` if it is not a condition whose values can be partitioned.
pub(crate) fn condition_names(expr: &Expr) -> Option<Vec<&str>> {
    truth(expr).map(|(truth, _)| truth.names())
}

/// The item of a sample array that represents all arrays of its length.
pub(crate) const KNOWN: Value = Value::Bool(true);

/// The cells of one variable.
pub(crate) struct Partition {
    leaves: Vec<(Truth, Numbers)>,
    /// The item limits of loops: arrays count as empty, as within a limit, or as longer.
    sizes: Vec<usize>,
    /// Lengths of arrays that each form a class of their own.
    lengths: Vec<usize>,
    values: Vec<Value>,
    signatures: Vec<Vec<bool>>,
}

impl Partition {
    /// Partitions the values of the variable `name` that `takes` accepts by the comparisons in `exprs`. Returns `None`
    /// if that takes too many values. `sizes` are the limits of the loops over its items, and `lengths` those of the
    /// arrays that the definition itself assigns.
    pub(crate) fn of<'e>(
        name: &str,
        exprs: impl Iterator<Item = &'e Expr>,
        sizes: Vec<usize>,
        lengths: Vec<usize>,
        takes: &dyn Fn(&Value) -> bool,
    ) -> Option<Partition> {
        let mut leaves: Vec<(Truth, Numbers)> = Vec::new();
        for (truth, numbers) in exprs.filter_map(truth) {
            let of_name =
                |leaf: &&Truth| leaf.path().is_some_and(|path| path.first().is_some_and(|first| first == name));
            for leaf in truth.leaves().into_iter().filter(of_name) {
                if !leaves.iter().any(|(known, by)| known == leaf && *by == numbers) {
                    leaves.push((leaf.clone(), numbers));
                }
                if leaves.len() > MAX_COMPARED {
                    return None;
                }
            }
        }
        let mut partition = Partition { leaves, sizes, lengths, values: Vec::new(), signatures: Vec::new() };
        let mut cells: BTreeMap<Vec<bool>, Value> = BTreeMap::new();
        for value in partition.candidates()?.into_iter().filter(|value| takes(value)) {
            cells.entry(partition.signature(&value)).or_insert(value);
        }
        (partition.signatures, partition.values) = cells.into_iter().unzip();
        Some(partition)
    }

    /// Returns a value of each cell.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Returns the cell of a value: its index in [`Partition::values`].
    pub(crate) fn cell_of(&self, value: &Value) -> Option<usize> {
        let signature = self.signature(value);
        self.signatures.iter().position(|known| *known == signature)
    }

    /// Returns the outcome of each comparison.
    fn signature(&self, value: &Value) -> Vec<bool> {
        let at = |path: &[String]| path[1..].iter().try_fold(value, |value, name| value.as_object()?.get(name));
        let comparisons = self.leaves.iter().map(|(leaf, numbers)| leaf.holds_where(&at, *numbers));
        let length = value.as_array().map(Vec::len);
        let longer = |than: usize| length.is_some_and(|length| length > than);
        let is_sized = !self.sizes.is_empty();
        let items = [length.is_some(), longer(0)].into_iter().filter(|_| is_sized);
        let exactly = self.lengths.iter().map(|wanted| length == Some(*wanted));
        comparisons.chain(items).chain(self.sizes.iter().map(|size| longer(*size))).chain(exactly).collect()
    }

    /// Returns values of every type, and objects with a value at each compared path.
    fn candidates(&self) -> Option<Vec<Value>> {
        let mut by_path: BTreeMap<&[String], Vec<(&Truth, Numbers)>> = BTreeMap::new();
        for (leaf, numbers) in &self.leaves {
            if let Some(path) = leaf.path() {
                by_path.entry(path).or_default().push((leaf, *numbers));
            }
        }
        let own = by_path.iter().filter(|(path, _)| path.len() == 1).flat_map(|(_, leaves)| leaves.clone());
        let mut values: Vec<Value> = samples(&own.collect::<Vec<_>>()).into_iter().flatten().collect();
        values.retain(|value| !value.is_null());
        let around = self.lengths.iter().flat_map(|length| [*length, length.saturating_add(1)]);
        let lengths = around.chain([1]).chain(self.sizes.iter().flat_map(|size| [*size, size.saturating_add(1)]));
        let lengths = lengths.filter(|length| *length <= MAX_LENGTH);
        values.extend(lengths.map(|length| items(length, self.lengths.contains(&length))));
        let mut objects = vec![Value::Object(Map::new())];
        for (path, leaves) in by_path.iter().filter(|(path, _)| path.len() > 1) {
            let inner = distinct_values(leaves);
            if objects.len().saturating_mul(inner.len()) > MAX_COMBINED {
                return None;
            }
            let with = |object: &Value, value: &Option<Value>| {
                let mut object = object.clone();
                if let Some(value) = value {
                    put(&mut object, &path[1..], value.clone());
                }
                object
            };
            objects = objects.iter().flat_map(|object| inner.iter().map(move |value| with(object, value))).collect();
        }
        values.extend(objects);
        Some(values)
    }
}

/// Makes an array. If its length is one of the known lengths, its items are `KNOWN`.
fn items(length: usize, is_known: bool) -> Value {
    let item = if is_known { KNOWN } else { Value::from(0) };
    Value::Array(vec![item; length])
}

/// Returns one value at a path for each distinct outcome of the comparisons.
fn distinct_values(leaves: &[(&Truth, Numbers)]) -> Vec<Option<Value>> {
    let mut kinds: BTreeMap<Vec<bool>, Option<Value>> = BTreeMap::new();
    for value in samples(leaves) {
        let at = |_: &[String]| value.as_ref();
        let kind = leaves.iter().map(|(leaf, numbers)| leaf.holds_where(&at, *numbers)).collect();
        kinds.entry(kind).or_insert(value);
    }
    kinds.into_values().collect()
}

/// Sets the value at a path and replaces what is in its way.
fn put(object: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(members) = object.as_object_mut() else { return };
    if rest.is_empty() {
        members.insert(first.clone(), value);
        return;
    }
    put(members.entry(first.clone()).or_insert_with(|| Value::Object(Map::new())), rest, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::When;
    use super::*;

    fn cells(conditions: &[&str], takes: fn(&Value) -> bool) -> Partition {
        let conditions: Vec<Expr> =
            conditions.iter().map(|text| Expr::When(When::parse(text).expect("it can be read"))).collect();
        Partition::of("x", conditions.iter(), Vec::new(), Vec::new(), &takes).expect("there are not too many")
    }

    #[test]
    fn a_boolean_has_two_cells_and_numbers_those_between_the_constants() {
        assert_eq!(cells(&["x == true"], Value::is_boolean).values().len(), 2);
        assert_eq!(cells(&["x > 1", "x < 5"], Value::is_number).values().len(), 3);
        assert_eq!(cells(&["x == a", "x == b"], Value::is_string).values().len(), 3);
        assert_eq!(cells(&["y == 1"], Value::is_number).values().len(), 1);
    }

    #[test]
    fn values_of_one_cell_are_one() {
        let partition = cells(&["x > 1", "x < 5"], Value::is_number);
        assert_eq!(partition.cell_of(&json!(2)), partition.cell_of(&json!(4.5)));
        assert_ne!(partition.cell_of(&json!(2)), partition.cell_of(&json!(1)));
    }

    #[test]
    fn what_stands_inside_of_an_object_is_sorted_too() {
        let partition = cells(&["x.state == done", "x.tries > 3"], Value::is_object);
        assert_eq!(partition.values().len(), 4);
        let done = partition.cell_of(&json!({"state": "done", "tries": 9}));
        assert!(done.is_some() && done != partition.cell_of(&json!({"state": "done"})));
    }
}
