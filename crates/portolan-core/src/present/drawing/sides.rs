//! The courses of links along the right side: back edges, links within a layer, and very long ones.

use std::collections::BTreeMap;

use super::layered::{Link, LinkDirection, Route};
use super::route::{ASIDE, Router, corner, straightened};
use super::size::LABEL_LINE;

/// The distance of failures from other links at the corner of an item.
const FAILURES: i64 = 14;
/// The distance of the first line that turns below a layer or above one from it, and of two such lines.
const OUT: i64 = 8;
const INTO: i64 = 10;
const TURN: i64 = 4;
/// The maximum number of lanes to one place. Further lines share the last of them, so that a place that everything
/// leads back to does not make the drawing wide.
const MOST_LANES: usize = 16;
/// The maximum cost of placing lines at the side as near as possible, in passed layers and comparisons.
const MOST_PASSED: usize = 1_500_000;

/// The lines at the side: each source has a lane of its own to each place where a link enters an item. Lines to one
/// place meet only where they turn towards it.
pub(super) struct Sides {
    lane_of: Vec<usize>,
    lanes: Vec<Lane>,
    /// The number of lines that leave the same layer before each link.
    leaves: Vec<i64>,
    /// The number of texts of the lane at the same height before each link.
    texts: Vec<i64>,
    /// The number of lines that turn below each layer, and above it.
    below: BTreeMap<usize, i64>,
    above: BTreeMap<usize, i64>,
}

struct Lane {
    enters: i64,
    first: usize,
    last: usize,
    /// The width of the texts beside each layer.
    labels: BTreeMap<usize, i64>,
    x: i64,
    /// The number of earlier places in the same layer that lanes enter.
    turn: i64,
}

/// The lanes to one place, by the item and the offset at which their lines leave it.
struct Entry {
    turn: i64,
    lanes: Vec<((usize, Option<i64>), usize)>,
}

const NONE: usize = usize::MAX;

impl Sides {
    pub(super) fn of(router: &Router<'_>) -> Sides {
        let count = router.level.links.len();
        let mut sides = Sides {
            lane_of: vec![NONE; count],
            lanes: Vec::new(),
            leaves: vec![0; count],
            texts: vec![0; count],
            below: BTreeMap::new(),
            above: BTreeMap::new(),
        };
        let (mut entries, mut texts) = (BTreeMap::new(), BTreeMap::new());
        for (at, link) in router.level.links.iter().enumerate() {
            if router.layers.courses[at] != LinkDirection::Side {
                continue;
            }
            let beside = if link.is_failure { FAILURES } else { 0 };
            let enters = link.enters.unwrap_or_else(|| corner(&router.level.items[link.to], beside));
            let entry = entries
                .entry((link.to, enters, link.is_failure))
                .or_insert_with(|| Entry { turn: next(&mut sides.above, router.layer(link.to)), lanes: Vec::new() });
            let (first, last) = passed(router, link);
            let lane = entry.lane((link.from, link.leaves), sides.lanes.len());
            if lane == sides.lanes.len() {
                sides.lanes.push(Lane { enters, first, last, labels: BTreeMap::new(), x: 0, turn: entry.turn });
            }
            let known = &mut sides.lanes[lane];
            known.first = known.first.min(first);
            known.last = known.last.max(last);
            sides.lane_of[at] = lane;
            sides.leaves[at] = next(&mut sides.below, router.layer(link.from));
            if link.label > 0 {
                let layer = text_layer(router, link);
                let label = known.labels.entry(layer).or_insert(0);
                *label = link.label.max(*label);
                sides.texts[at] = next(&mut texts, (lane, layer));
            }
        }
        sides.place(router);
        sides
    }

    /// Returns the room that lines need to turn below a layer.
    pub(super) fn room_below(&self, layer: usize) -> i64 {
        self.below.get(&layer).map_or(0, |count| OUT + TURN * count)
    }

    /// Returns the room that lines need to turn above a layer.
    pub(super) fn room_above(&self, layer: usize) -> i64 {
        self.above.get(&layer).map_or(0, |count| INTO + TURN * count)
    }

    /// Places lanes, short ones first, each as near as the passed items and earlier lanes permit.
    fn place(&mut self, router: &Router<'_>) {
        let right: Vec<i64> = router.layers.rows.iter().map(|row| right_end(router, row)).collect();
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by_key(|at| self.lanes[*at].last - self.lanes[*at].first);
        let mut spare = MOST_PASSED;
        let mut outmost = right.iter().copied().max().unwrap_or(0);
        let mut taken: Vec<Vec<(i64, i64)>> = vec![Vec::new(); right.len()];
        for at in order {
            let lane = &mut self.lanes[at];
            let passed = lane.first..=lane.last;
            let cost = passed.clone().map(|layer| taken[layer].len() + 1).sum::<usize>();
            let is_near = cost <= spare;
            lane.x = if is_near {
                spare -= cost;
                lane.nearest(&right, &taken)
            } else {
                outmost + ASIDE + lane.half()
            };
            outmost = outmost.max(lane.x + lane.half());
            if is_near {
                passed.for_each(|layer| taken[layer].push((lane.x - lane.beside(layer), lane.x + lane.beside(layer))));
            }
        }
    }

    pub(super) fn route(&self, router: &Router<'_>, at: usize) -> Route {
        let link = &router.level.links[at];
        let lane = &self.lanes[self.lane_of[at]];
        let from = router.middles[link.from] + link.leaves.unwrap_or_else(|| corner(&router.level.items[link.from], 0));
        let to = router.middles[link.to] + lane.enters;
        let out = router.low[router.layer(link.from)] + OUT + TURN * self.leaves[at];
        let into = router.top[router.layer(link.to)] - INTO - TURN * lane.turn;
        let ends = (router.lower(link.from), router.upper(link.to));
        let points = vec![(from, ends.0), (from, out), (lane.x, out), (lane.x, into), (to, into), (to, ends.1)];
        let label = (link.label > 0).then(|| {
            let layer = text_layer(router, link);
            (lane.x, i64::midpoint(router.top[layer], router.low[layer]) + self.texts[at] * LABEL_LINE)
        });
        Route { points: straightened(points), label, back: false }
    }
}

impl Entry {
    /// Returns the lane from a source, `free` if it has none yet.
    fn lane(&mut self, source: (usize, Option<i64>), free: usize) -> usize {
        if let Some((_, lane)) = self.lanes.iter().find(|(known, _)| *known == source) {
            return *lane;
        }
        match self.lanes.last() {
            Some((_, last)) if self.lanes.len() == MOST_LANES => *last,
            _ => {
                self.lanes.push((source, free));
                free
            }
        }
    }
}

impl Lane {
    /// Returns half of the width of the texts beside a layer.
    fn beside(&self, layer: usize) -> i64 {
        self.labels.get(&layer).map_or(0, |label| label / 2)
    }

    /// Returns half of the greatest width.
    fn half(&self) -> i64 {
        self.labels.values().max().map_or(0, |label| label / 2)
    }

    /// Returns the nearest position beside the items, whose right ends are given, where it does not touch the taken
    /// ranges. Only layers with a text need room for one.
    fn nearest(&self, right: &[i64], taken: &[Vec<(i64, i64)>]) -> i64 {
        let (mut x, mut blocked) = (i64::MIN, Vec::new());
        for layer in self.first..=self.last {
            let room = ASIDE + self.beside(layer);
            x = x.max(right[layer] + room);
            blocked.extend(taken[layer].iter().map(|(start, end)| (start - room, end + room)));
        }
        blocked.sort_unstable();
        for (start, end) in blocked {
            if start < x && x < end {
                x = end;
            }
        }
        x
    }
}

/// Returns how often a key was requested before.
fn next<K: Ord>(counts: &mut BTreeMap<K, i64>, key: K) -> i64 {
    let count = counts.entry(key).or_insert(0);
    *count += 1;
    *count - 1
}

/// Returns the first and the last layer that a link passes at the side.
fn passed(router: &Router<'_>, link: &Link) -> (usize, usize) {
    let (from, to) = (router.layer(link.from), router.layer(link.to));
    if to <= from { (to, from) } else { (from + 1, (to - 1).max(from + 1)) }
}

/// Returns the layer beside which the text of a link is.
fn text_layer(router: &Router<'_>, link: &Link) -> usize {
    let (from, to) = (router.layer(link.from), router.layer(link.to));
    if to <= from { from } else { from + 1 }
}

fn right_end(router: &Router<'_>, row: &[usize]) -> i64 {
    let ends = row.iter().map(|vertex| router.middles[*vertex] + router.layers.vertices[*vertex].width / 2);
    ends.max().unwrap_or(i64::MIN / 4)
}
