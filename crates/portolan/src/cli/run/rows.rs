//! Collects the rows of a trace while a run is driven, with times in microseconds.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portolan_core::graph::{Node, Workflow};
use portolan_core::present::{CANCELLED, Redaction, TraceRow, UNDER_WAY, expression, function_word, way};
use portolan_core::run::FramePath;
use portolan_runtime::drive::{Began, ExecutionObserver, NodeEnd, SpanId};

/// The most rows that are kept.
const MAX_ROWS: usize = 20_000;

/// The rows of a run. Clones share their state.
#[derive(Clone)]
pub(super) struct Rows {
    began: Instant,
    workflow: Arc<Workflow>,
    hidden: Redaction,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    done: Vec<Row>,
    /// The nodes that have begun and have not ended.
    open: HashMap<[u8; 8], Row>,
}

struct Row {
    start: Duration,
    span: SpanId,
    parent: SpanId,
    row: TraceRow,
}

impl Rows {
    pub(super) fn new(workflow: Arc<Workflow>, hidden: Redaction) -> Rows {
        Rows { began: Instant::now(), workflow, hidden, state: Arc::default() }
    }

    pub(super) fn watch(&self) -> ExecutionObserver {
        let (begins, ends, drops) = (self.clone(), self.clone(), self.clone());
        ExecutionObserver::new(move |began| begins.begins(began), move |ended| ends.ends(ended))
            .dropping(move |span| drops.drops(span))
    }

    /// Returns the rows in the order in which their nodes began. Open nodes count as cancelled if the run is over.
    pub(super) fn take(&self, over: bool) -> Vec<TraceRow> {
        let State { mut done, open } = std::mem::take(&mut *self.state());
        let now = micros(self.began.elapsed());
        let mut open: Vec<Row> = open.into_values().collect();
        // A node ended with the last dropped node inside it, so the innermost nodes come first.
        open.sort_by_key(|row| Reverse(row.start));
        let mut ends: HashMap<[u8; 8], u64> = HashMap::new();
        let lost = |row: &Row, ends: &mut HashMap<[u8; 8], u64>| {
            let end = ends.entry(row.parent.0).or_default();
            *end = (*end).max(row.row.start_us.saturating_add(row.row.took_us));
        };
        done.iter().filter(|row| row.row.became.is_some()).for_each(|row| lost(row, &mut ends));
        for mut row in open {
            let end = ends.get(&row.span.0).copied().unwrap_or(now);
            row.row.took_us = end.saturating_sub(row.row.start_us);
            row.row.became = Some(if over { CANCELLED } else { UNDER_WAY });
            lost(&row, &mut ends);
            done.push(row);
        }
        done.sort_by_key(|row| row.start);
        let rows = done.into_iter().zip(0..);
        rows.map(|(row, index)| TraceRow { index, ..row.row }).collect()
    }

    fn begins(&self, began: &Began<'_>) {
        let mut state = self.state();
        if state.done.len() + state.open.len() >= MAX_ROWS {
            return;
        }
        let node = &self.workflow.flow(began.flow).step(began.node).node;
        let mut row = self.row(began.path, node, began.since.duration_since(self.began));
        row.input = began.arguments.map(|input| self.hidden.value(input));
        row.retries = began.retries;
        let start = began.since.duration_since(self.began);
        state.open.insert(began.span.0, Row { start, span: began.span, parent: began.parent, row });
    }

    fn ends(&self, ended: &NodeEnd<'_>) {
        let mut state = self.state();
        let open = state.open.remove(&ended.span.0);
        if open.is_none() && state.done.len() + state.open.len() >= MAX_ROWS {
            return;
        }
        // Without an event for the beginning, it is computed from the duration.
        let about = || self.began.elapsed().saturating_sub(ended.took);
        let start = open.map_or_else(about, |open| open.start);
        let row = TraceRow {
            took_us: micros(ended.took),
            retries: u32::try_from(ended.calls.len().saturating_sub(1)).unwrap_or(u32::MAX),
            input: ended.input.map(|input| self.hidden.value(input)),
            output: ended.output.map(|output| self.hidden.value(output)),
            error: ended.fault.map(|fault| self.hidden.fault(fault)),
            ..self.row(ended.path, ended.node, start)
        };
        state.done.push(Row { start, span: ended.span, parent: ended.parent, row });
    }

    fn drops(&self, span: SpanId) {
        let mut state = self.state();
        let Some(mut row) = state.open.remove(&span.0) else { return };
        row.row.took_us = micros(self.began.elapsed().saturating_sub(row.start));
        row.row.became = Some(CANCELLED);
        state.done.push(row);
    }

    fn row(&self, path: &FramePath, node: &Node, start: Duration) -> TraceRow {
        TraceRow {
            index: 0,
            at: way(path, &node.id),
            node: node.id.clone(),
            kind: function_word(&node.kind),
            start_us: micros(start),
            took_us: 0,
            retries: 0,
            input: None,
            expression: expression(&node.kind).map(|text| self.hidden.text(&text)),
            output: None,
            error: None,
            became: None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
