//! The outputs of a flow's nodes so far: the data that expressions see.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::value::NodeId;

/// The outputs of a flow's nodes, in recording order.
///
/// The latest output of each node and its number of outputs are always known. Earlier outputs are kept only if an
/// expression looks back at them ([`crate::expr::Expr::looks_back`]).
///
/// Recording takes constant time. Cloning takes time linear in the nodes, since the outputs themselves are shared.
///
/// ```
/// use std::sync::Arc;
/// use portolan_core::expr::Outputs;
/// use serde_json::json;
///
/// let mut outputs = Outputs::new(false);
/// outputs.record(&"entry".into(), Some(Arc::new(json!({"n": 1}))));
/// outputs.record(&"entry".into(), None);
/// assert_eq!(outputs.count("entry"), 2);
/// assert_eq!(outputs.latest("entry"), None); // the second output was undefined
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredOutputs", into = "StoredOutputs")]
pub struct Outputs {
    nodes: IndexMap<NodeId, Node>,
    total: u64,
    /// The index of the node whose output was recorded last.
    newest: Option<usize>,
    /// All outputs in order, if they are kept.
    history: Option<Arc<History>>,
}

/// One node: its number of outputs and the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    count: u64,
    /// The number of its last record among all records, from 1.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_even_if_null")]
    value: Option<Arc<Value>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    records: Vec<Record>,
    /// For each node, in the order of `nodes`, the indexes of its records.
    of_node: Vec<Vec<usize>>,
}

/// An output and the index of its node in `nodes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    node: usize,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_even_if_null")]
    value: Option<Arc<Value>>,
    /// For a state, whether each of its key results was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    met: Option<Arc<Value>>,
}

impl Outputs {
    /// Makes an empty list. `keep_history` is whether an expression of the flow looks back.
    pub fn new(keep_history: bool) -> Outputs {
        Outputs { history: keep_history.then(Arc::default), ..Outputs::default() }
    }

    /// Records the output of a node; `None` is undefined, which counts but is not in the context.
    pub fn record(&mut self, node: &NodeId, value: Option<Arc<Value>>) {
        self.record_met(node, value, None);
    }

    /// Records the output of a state with an object that says of each key result whether it was met.
    pub(crate) fn record_met(&mut self, node: &NodeId, value: Option<Arc<Value>>, met: Option<Arc<Value>>) {
        self.total += 1;
        let at = self.total;
        let index = match self.nodes.get_index_of(node.as_str()) {
            Some(index) => {
                let known = &mut self.nodes[index];
                *known = Node { count: known.count + 1, at, value: value.clone() };
                index
            }
            None => self.nodes.insert_full(node.clone(), Node { count: 1, at, value: value.clone() }).0,
        };
        self.newest = Some(index);
        if let Some(history) = &mut self.history {
            Arc::make_mut(history).push(Record { node: index, value, met });
        }
    }

    /// Replaces a node's latest output. A node without outputs is left as it is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use portolan_core::expr::Outputs;
    /// use serde_json::json;
    ///
    /// let mut outputs = Outputs::new(true);
    /// outputs.record(&"add".into(), Some(Arc::new(json!(1))));
    /// outputs.alter(&"add".into(), Arc::new(json!(2)));
    /// assert_eq!((outputs.count("add"), outputs.latest("add")), (1, Some(&Arc::new(json!(2)))));
    /// ```
    pub fn alter(&mut self, node: &NodeId, value: Arc<Value>) {
        let Some((index, _, known)) = self.nodes.get_full_mut(node.as_str()) else { return };
        known.value = Some(value.clone());
        if let Some(history) = &mut self.history {
            Arc::make_mut(history).alter(index, value);
        }
    }

    /// Appends all outputs of other nodes, in their recording order.
    pub fn absorb(&mut self, others: &Outputs) {
        if let (Some(_), Some(history)) = (&self.history, &others.history) {
            for record in &history.records {
                if let Some((node, _)) = others.nodes.get_index(record.node) {
                    self.record_met(node, record.value.clone(), record.met.clone());
                }
            }
            return;
        }
        let mut nodes: Vec<(&NodeId, &Node)> = others.nodes.iter().collect();
        nodes.sort_unstable_by_key(|(_, node)| node.at);
        for (id, node) in nodes {
            self.record(id, node.value.clone());
            let skipped = node.count - 1;
            self.total += skipped;
            if let Some(known) = self.nodes.get_mut(id.as_str()) {
                known.count += skipped;
                known.at = self.total;
            }
        }
    }

    /// Returns the number of outputs of the node.
    pub fn count(&self, node: &str) -> u64 {
        self.nodes.get(node).map_or(0, |node| node.count)
    }

    /// Returns the node's latest output; `None` if it has none or that one is undefined.
    pub fn latest(&self, node: &str) -> Option<&Arc<Value>> {
        self.nodes.get(node)?.value.as_ref()
    }

    /// Returns the number of all outputs.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the last recorded output; `None` if it is undefined.
    pub fn last(&self) -> Option<&Arc<Value>> {
        self.nodes.get_index(self.newest?)?.1.value.as_ref()
    }

    /// Returns the newest defined output.
    pub(crate) fn newest(&self) -> Option<&Arc<Value>> {
        let defined = || self.nodes.values().filter(|node| node.value.is_some()).max_by_key(|node| node.at);
        self.last().or_else(|| defined()?.value.as_ref())
    }

    /// Checks whether all outputs are kept.
    pub fn keeps_history(&self) -> bool {
        self.history.is_some()
    }

    /// Returns the latest output of each node if it is defined, newest first.
    pub(crate) fn newest_first(&self) -> Vec<(&NodeId, &Arc<Value>)> {
        let mut known: Vec<(u64, &NodeId, &Arc<Value>)> =
            self.nodes.iter().filter_map(|(id, node)| Some((node.at, id, node.value.as_ref()?))).collect();
        known.sort_unstable_by_key(|(at, ..)| std::cmp::Reverse(*at));
        known.into_iter().map(|(_, id, value)| (id, value)).collect()
    }

    /// Returns the number of outputs that can be looked back at: all, or without history at most the last.
    pub(crate) fn kept(&self) -> u64 {
        if self.history.is_some() { self.total } else { self.total.min(1) }
    }

    /// Returns the output `back` records before the end: 1 is the last.
    pub(crate) fn back(&self, back: u64) -> Option<&Arc<Value>> {
        match &self.history {
            Some(history) => {
                let at = history.records.len().checked_sub(usize::try_from(back).ok()?)?;
                history.records.get(at)?.value.as_ref()
            }
            None => {
                if back == 1 {
                    self.last()
                } else {
                    None
                }
            }
        }
    }

    /// Returns the last `most` outputs of the nodes for which `counts` holds, oldest first, as the original states
    /// program writes its history; empty if none is kept.
    pub(crate) fn history(&self, most: usize, counts: impl Fn(&NodeId) -> bool) -> Vec<Value> {
        let Some(history) = &self.history else { return Vec::new() };
        let entry = |record: &Record| {
            let (node, _) = self.nodes.get_index(record.node).filter(|(node, _)| counts(node))?;
            let met = record.met.as_deref().cloned().unwrap_or_else(|| json!({}));
            Some(json!({ "state_name": node.as_str(), "output": record.value, "key_results_met": met }))
        };
        let mut entries: Vec<Value> = history.records.iter().rev().filter_map(entry).take(most).collect();
        entries.reverse();
        entries
    }

    /// Returns the kept outputs of a node, oldest first; `None` for an undefined one.
    pub(crate) fn of_node(&self, node: &str) -> Vec<Option<&Arc<Value>>> {
        let Some((index, _, known)) = self.nodes.get_full(node) else { return Vec::new() };
        match &self.history {
            Some(history) => {
                history.of_node[index].iter().map(|record| history.records[*record].value.as_ref()).collect()
            }
            None => vec![known.value.as_ref()],
        }
    }
}

impl History {
    fn push(&mut self, record: Record) {
        if self.of_node.len() <= record.node {
            self.of_node.resize_with(record.node + 1, Vec::new);
        }
        self.of_node[record.node].push(self.records.len());
        self.records.push(record);
    }

    /// Replaces the value in the last record of a node.
    fn alter(&mut self, node: usize, value: Arc<Value>) {
        let last = self.of_node.get(node).and_then(|records| records.last());
        if let Some(record) = last.and_then(|at| self.records.get_mut(*at)) {
            record.value = Some(value);
        }
    }
}

/// The serialized form. With history it has only the records, from which the rest follows.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredOutputs {
    History { nodes: Vec<NodeId>, records: Vec<Record> },
    Latest { latest: IndexMap<NodeId, Node>, total: u64 },
}

impl From<Outputs> for StoredOutputs {
    fn from(outputs: Outputs) -> StoredOutputs {
        match outputs.history {
            Some(history) => {
                let nodes = outputs.nodes.into_keys().collect();
                let records = Arc::try_unwrap(history).unwrap_or_else(|shared| (*shared).clone()).records;
                StoredOutputs::History { nodes, records }
            }
            None => StoredOutputs::Latest { latest: outputs.nodes, total: outputs.total },
        }
    }
}

impl From<StoredOutputs> for Outputs {
    fn from(stored: StoredOutputs) -> Outputs {
        match stored {
            StoredOutputs::Latest { latest, total } => {
                let newest = (0..latest.len()).max_by_key(|index| latest[*index].at);
                Outputs { nodes: latest, total, newest, history: None }
            }
            StoredOutputs::History { nodes, records } => {
                let mut outputs = Outputs::new(true);
                for record in records {
                    // Only an edited file has a record without a node. Such a record belongs to no node and is dropped.
                    if let Some(node) = nodes.get(record.node) {
                        outputs.record_met(node, record.value, record.met);
                    }
                }
                outputs
            }
        }
    }
}

/// Deserializes `null` as an output, not as the absence of one.
fn some_even_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Value>>, D::Error> {
    Arc::<Value>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(keep_history: bool, what: &[(&str, Option<Value>)]) -> Outputs {
        let mut outputs = Outputs::new(keep_history);
        for (node, value) in what {
            outputs.record(&NodeId::from(*node), value.clone().map(Arc::new));
        }
        outputs
    }

    #[test]
    fn the_newest_comes_first() {
        let outputs = recorded(false, &[("a", Some(json!(1))), ("b", Some(json!(2))), ("a", Some(json!(3)))]);
        let order: Vec<String> = outputs.newest_first().iter().map(|(id, value)| format!("{id}={value}")).collect();
        assert_eq!(order, ["a=3", "b=2"]);
        assert_eq!((outputs.count("a"), outputs.count("c"), outputs.total()), (2, 0, 3));
        assert_eq!(outputs.last().map(|value| value.to_string()).as_deref(), Some("3"));
    }

    #[test]
    fn what_is_undefined_counts_and_is_not_seen() {
        let outputs = recorded(true, &[("a", Some(json!(1))), ("a", None)]);
        assert_eq!((outputs.count("a"), outputs.latest("a"), outputs.last()), (2, None, None));
        assert_eq!(outputs.back(2).map(|value| value.to_string()).as_deref(), Some("1"));
    }

    #[test]
    fn a_restart_keeps_everything() {
        for keep_history in [false, true] {
            let what =
                [("a", Some(json!({"x": null}))), ("b", Some(Value::Null)), ("a", None), ("b", Some(json!([1])))];
            let outputs = recorded(keep_history, &what);
            let text = serde_json::to_string(&outputs).expect("it can be written");
            let back: Outputs = serde_json::from_str(&text).expect("it can be read");
            assert_eq!(back, outputs, "{text}");
        }
        let nulls = recorded(false, &[("a", Some(Value::Null)), ("b", None)]);
        let text = serde_json::to_string(&nulls).expect("it can be written");
        let back: Outputs = serde_json::from_str(&text).expect("it can be read");
        assert_eq!((back.latest("a").is_some(), back.latest("b").is_some()), (true, false), "{text}");
    }

    #[test]
    fn a_history_with_a_record_of_no_node_is_read_without_it() {
        let text = r#"{"nodes": ["a"], "records": [{"node": 7, "value": 1}, {"node": 0, "value": 2}]}"#;
        let outputs: Outputs = serde_json::from_str(text).expect("it can be read");
        assert_eq!((outputs.total(), outputs.count("a")), (1, 1));
    }

    #[test]
    fn a_sole_owner_records_without_copying_its_history() {
        let mut outputs = recorded(true, &[("a", Some(json!(1)))]);
        let before = outputs.history.as_ref().map(Arc::as_ptr);
        outputs.record(&NodeId::from("a"), None);
        assert_eq!(outputs.history.as_ref().map(Arc::as_ptr), before);
    }
}
