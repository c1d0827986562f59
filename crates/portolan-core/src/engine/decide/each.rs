//! `forEach`: runs another workflow for each item of an array, as many at once as the node allows.

use std::sync::Arc;

use serde_json::Value;

use super::node_result::NodeOutput;
use super::scope::At;
use super::walk::Draft;
use crate::graph::{Each, MAX_ITEMS};
use crate::run::{Change, Fault, Frame, FramePath, Place};
use crate::value::{NodeId, WorkflowId};

pub(super) fn begin(draft: &mut Draft<'_>, at: &At<'_>, each: &Each) {
    let items = match at.eval(&each.items, &[]) {
        Ok(None) => Vec::new(),
        Ok(Some(Value::Array(items))) => items,
        Ok(Some(item)) => vec![item],
        Err(fault) => return draft.broke(at.path, at.node(), fault),
    };
    if items.len() > MAX_ITEMS {
        let message = format!("there are {} items, more than the {MAX_ITEMS} that one `forEach` takes", items.len());
        return draft.broke(at.path, at.node(), at.fault("too-many-items", message, each.items.text()));
    }
    if items.is_empty() {
        return draft.came_to(at.path, at.node(), Some(Arc::new(Value::Array(items))));
    }
    // All inputs are evaluated before the first item begins, so that a fault in the last one has no effects.
    let mut given = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match input(at, each, index, item) {
            Ok(input) => given.push(input),
            Err(fault) => return draft.broke(at.path, at.node(), fault),
        }
    }
    let first = given.len().min(each.concurrency.get() as usize);
    let frames: Result<Vec<Frame>, Fault> = given[..first].iter().map(|input| frame(draft, each, input)).collect();
    let frames = match frames {
        Ok(frames) => frames,
        Err(fault) => return draft.broke(at.path, at.node(), Fault { node: at.node().to_string(), ..fault }),
    };
    let done = Arc::new(vec![None; given.len()]);
    let (node, items) = (at.node().clone(), Arc::new(given));
    draft.moved(at.path, Place::Each { node, items, begun: 0, open: Vec::new(), done }, None);
    for (index, frame) in (0..).zip(frames) {
        draft.begin_item(at.path, index, frame);
    }
}

fn input(at: &At<'_>, each: &Each, index: usize, item: Value) -> Result<Value, Fault> {
    let Some(args) = &each.args else { return Ok(item) };
    let index = Value::from(index);
    at.eval(args, &[("item", &item), ("index", &index)]).map(Option::unwrap_or_default)
}

fn frame(draft: &Draft<'_>, each: &Each, input: &Value) -> Result<Frame, Fault> {
    draft.inner_frame(&WorkflowId::from(each.workflow.value.as_str()), Some(input.clone()))
}

impl Draft<'_> {
    fn begin_item(&mut self, path: &FramePath, index: u32, item: Frame) {
        self.emit(Change::ItemBegun { frame: path.clone(), index, item });
    }

    /// Handles the output of an item: the next item begins, or the node is done.
    pub(super) fn item_done(&mut self, path: &FramePath, outer: &Frame, name: &NodeId, came: NodeOutput) {
        let Place::Each { node, items, begun, open, done } = &outer.place else { return };
        let Some(item) = open.iter().find(|item| item.name == *name) else { return };
        let output = match came {
            Ok(output) => output,
            // The other items end too: their frames are dropped with the place.
            Err(fault) => return self.broke(path, node, fault.within(name).within(node)),
        };
        self.emit(Change::ItemDone { frame: path.clone(), index: item.index, output: output.clone() });
        let crate::graph::Kind::Each(each) = &self.step(&outer.flow, node).node.kind else { return };
        if let Some(input) = items.get(*begun as usize) {
            return match frame(self, each, input) {
                Ok(frame) => self.begin_item(path, *begun, frame),
                Err(broken) => self.broke(path, node, Fault { node: node.to_string(), ..broken }),
            };
        }
        if open.len() == 1 {
            let mut results = done.to_vec();
            results[item.index as usize] = output;
            let results = results.into_iter().map(|result| result.map_or(Value::Null, Arc::unwrap_or_clone)).collect();
            self.came_to(path, node, Some(Arc::new(Value::Array(results))));
        }
    }
}
