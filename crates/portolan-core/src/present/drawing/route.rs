//! The courses of links, down between the layers or along the right side, and the positions of their texts.

use std::collections::BTreeMap;

use super::layered::{Item, Layers, Layout, Level, Link, LinkDirection, Placement, Route, Segment};
use super::size::{self, BETWEEN, LABEL_LINE};

/// The extent of a link from an item to itself.
pub(super) const OWN: i64 = 20;
/// The height of the last, vertical stretch of a link.
pub(super) const UPRIGHT: i64 = 14;
/// The gap to items on the border.
pub(super) const TO_BORDER: i64 = 28;
/// The gap between a line at the side and the items that it passes.
pub(super) const ASIDE: i64 = 16;
/// The room above the first layer and below the last for lines that turn there.
const ROUND: i64 = 26;
/// The distance of failures from other links at the corner of an item.
const FAILURES: i64 = 14;
/// The maximum number of lines of text in a gap.
const MOST_LINES: usize = 6;
/// The maximum cost of placing lines at the side as near as possible, in passed layers and comparisons.
const MOST_PASSED: usize = 1_500_000;

pub(super) fn routed(level: &Level, layers: &Layers, middles: &[i64]) -> Layout {
    let mut router = Router::of(level, layers, middles);
    router.texts();
    router.rows();
    let routes = router.routes();
    let at = router.corners();
    finished(level, at, routes, router.bottom)
}

struct Router<'l> {
    level: &'l Level,
    layers: &'l Layers,
    middles: &'l [i64],
    /// The line of each link's text in its gap, counted from below.
    lines: Vec<usize>,
    /// The number of lines of text under each layer.
    under: Vec<usize>,
    /// The upper and the lower border of each layer.
    top: Vec<i64>,
    low: Vec<i64>,
    bottom: i64,
}

impl<'l> Router<'l> {
    fn of(level: &'l Level, layers: &'l Layers, middles: &'l [i64]) -> Router<'l> {
        let count = layers.rows.len();
        let lines = vec![0; level.links.len()];
        let under = vec![0; count];
        Router { level, layers, middles, lines, under, top: vec![0; count], low: vec![0; count], bottom: 0 }
    }

    fn layer(&self, item: usize) -> usize {
        self.layers.vertices[item].layer
    }

    /// Gives each text a line in its gap, so that no two overlap.
    fn texts(&mut self) {
        let mut gaps: Vec<Vec<(i64, i64, usize)>> = vec![Vec::new(); self.layers.rows.len()];
        for (at, link) in self.level.links.iter().enumerate() {
            if let (LinkDirection::Down(segments), 1..) = (&self.layers.courses[at], link.label) {
                let middle = self.lower_end(&self.layers.segments[segments[0]]);
                gaps[self.layer(link.from)].push((middle - link.label / 2, middle + link.label / 2, at));
            }
        }
        for (layer, mut texts) in gaps.into_iter().enumerate() {
            texts.sort_unstable();
            let mut ends: Vec<i64> = Vec::new();
            for (left, right, link) in texts {
                let free = ends.iter().position(|end| *end < left);
                let line = free.unwrap_or(ends.len()).min(MOST_LINES - 1);
                ends.resize(ends.len().max(line + 1), right);
                ends[line] = right;
                self.lines[link] = line;
            }
            self.under[layer] = ends.len();
        }
    }

    fn lower_end(&self, segment: &Segment) -> i64 {
        self.middles[segment.lower] + segment.enters
    }

    fn upper_end(&self, segment: &Segment) -> i64 {
        self.middles[segment.upper] + segment.leaves
    }

    fn upright(&self, layer: usize) -> i64 {
        UPRIGHT + self.under[layer] as i64 * LABEL_LINE
    }

    /// Computes the vertical position of each layer.
    fn rows(&mut self) {
        let links = self.level.links.iter().zip(&self.layers.courses);
        let sides: Vec<&Link> =
            links.filter(|(_, course)| **course == LinkDirection::Side).map(|(link, _)| link).collect();
        let last = self.top.len() - 1;
        let mut y = if sides.iter().any(|link| self.layer(link.to) == 0) { ROUND } else { 0 };
        for layer in 0..=last {
            let items = self.layers.rows[layer].iter().filter_map(|vertex| self.level.items.get(*vertex));
            self.top[layer] = y;
            self.low[layer] = y + items.map(|item| item.height).max().unwrap_or(0);
            y = self.low[layer];
            if layer < last {
                let is_border = self.is_border(layer) || self.is_border(layer + 1);
                y += self.under[layer] as i64 * LABEL_LINE + if is_border { TO_BORDER } else { BETWEEN };
            }
        }
        self.bottom = y + if sides.iter().any(|link| self.layer(link.from) == last) { ROUND } else { 0 };
    }

    fn is_border(&self, layer: usize) -> bool {
        let first = self.layers.rows[layer].iter().find_map(|vertex| self.level.items.get(*vertex));
        first.is_some_and(|item| matches!(item.stands, Placement::Top | Placement::Bottom))
    }

    /// Returns the upper left corner of each item.
    fn corners(&self) -> Vec<(i64, i64)> {
        let items = self.level.items.iter().enumerate();
        items.map(|(at, item)| (self.middles[at] - item.width / 2, self.upper(at))).collect()
    }

    /// Returns the upper border of an item. A low item is not far above the line that leaves it.
    fn upper(&self, item: usize) -> i64 {
        let layer = self.layer(item);
        let room = self.low[layer] - self.top[layer] - self.level.items[item].height;
        self.top[layer] + (room / 2).min(24)
    }

    fn lower(&self, item: usize) -> i64 {
        self.upper(item) + self.level.items[item].height
    }

    fn routes(&self) -> Vec<Route> {
        let sides = Sides::of(self);
        let mut own = BTreeMap::new();
        let links = self.level.links.iter().enumerate();
        links
            .map(|(at, link)| {
                let route = match &self.layers.courses[at] {
                    LinkDirection::Own => {
                        let count = own.entry(link.from).or_insert(0);
                        *count += 1;
                        self.own(link, *count - 1)
                    }
                    LinkDirection::Down(segments) => self.down(at, segments),
                    LinkDirection::Side => sides.route(self, at),
                };
                Route { back: self.layers.backs[at], ..route }
            })
            .collect()
    }

    /// Routes a link from an item to itself: the first close to the item, others around it.
    fn own(&self, link: &Link, count: i64) -> Route {
        let item = self.level.items[link.from];
        let right = self.middles[link.from] + item.width / 2;
        let out = right + 12 + 4 * count.min(2);
        let middle = self.upper(link.from) + item.height / 2;
        let half = (8 + 2 * count.min(2)).min(item.height / 3);
        let points = vec![(right, middle - half), (out, middle - half), (out, middle + half), (right, middle + half)];
        let label = (link.label > 0).then(|| (right + OWN + link.label / 2, middle + count * LABEL_LINE));
        Route { points, label, back: true }
    }

    fn down(&self, at: usize, segments: &[usize]) -> Route {
        let link = &self.level.links[at];
        let first = self.layer(link.from);
        let mut points = vec![(self.upper_end(&self.layers.segments[segments[0]]), self.lower(link.from))];
        for (layer, segment) in (first..).zip(segments) {
            let segment = &self.layers.segments[*segment];
            let (from, to) = (self.upper_end(segment), self.lower_end(segment));
            points.push((from, self.low[layer]));
            points.push((to, self.top[layer + 1] - self.upright(layer)));
            points.push((to, self.top[layer + 1]));
        }
        if let Some(end) = points.last().copied() {
            points.push((end.0, self.upper(link.to)));
        }
        let label = (link.label > 0).then(|| {
            let line = self.lines[at] as i64 * LABEL_LINE + LABEL_LINE / 2;
            (self.lower_end(&self.layers.segments[segments[0]]), self.top[first + 1] - UPRIGHT - line)
        });
        Route { points: straightened(points), label, back: false }
    }
}

/// The lines at the side: all links that enter an item at one place share a lane, and failures another one.
struct Sides {
    lane_of: Vec<usize>,
    lanes: Vec<Lane>,
    /// The number of lines that leave the same layer before each link.
    leaves: Vec<i64>,
    /// The number of texts of the lane at the same height before each link.
    texts: Vec<i64>,
}

struct Lane {
    enters: i64,
    first: usize,
    last: usize,
    label: i64,
    x: i64,
    /// The number of earlier lanes that enter the same layer.
    turn: i64,
}

const NONE: usize = usize::MAX;

impl Sides {
    fn of(router: &Router<'_>) -> Sides {
        let count = router.level.links.len();
        let mut sides =
            Sides { lane_of: vec![NONE; count], lanes: Vec::new(), leaves: vec![0; count], texts: vec![0; count] };
        let mut known = BTreeMap::new();
        let (mut out, mut into, mut texts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (at, link) in router.level.links.iter().enumerate() {
            if router.layers.courses[at] != LinkDirection::Side {
                continue;
            }
            let beside = if link.is_failure { FAILURES } else { 0 };
            let enters = link.enters.unwrap_or_else(|| corner(&router.level.items[link.to], beside));
            let (first, last) = passed(router, link);
            let lane = *known.entry((link.to, enters, link.is_failure)).or_insert(sides.lanes.len());
            if lane == sides.lanes.len() {
                let turn = next(&mut into, router.layer(link.to));
                sides.lanes.push(Lane { enters, first, last, label: 0, x: 0, turn });
            }
            let known = &mut sides.lanes[lane];
            known.first = known.first.min(first);
            known.last = known.last.max(last);
            known.label = known.label.max(link.label);
            sides.lane_of[at] = lane;
            sides.leaves[at] = next(&mut out, router.layer(link.from));
            if link.label > 0 {
                sides.texts[at] = next(&mut texts, (lane, text_layer(router, link)));
            }
        }
        sides.place(router);
        sides
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
            let beside = if is_near {
                spare -= cost;
                let nearest = right[passed.clone()].iter().copied().max().unwrap_or(0);
                free_beside(nearest, lane.label, taken[passed.clone()].iter().flatten().copied().collect())
            } else {
                outmost
            };
            lane.x = beside + ASIDE + lane.label / 2;
            let (start, end) = (lane.x - lane.label / 2, lane.x + lane.label / 2);
            outmost = outmost.max(end);
            if is_near {
                taken[passed].iter_mut().for_each(|layer| layer.push((start, end)));
            }
        }
    }

    fn route(&self, router: &Router<'_>, at: usize) -> Route {
        let link = &router.level.links[at];
        let lane = &self.lanes[self.lane_of[at]];
        let from = router.middles[link.from] + link.leaves.unwrap_or_else(|| corner(&router.level.items[link.from], 0));
        let to = router.middles[link.to] + lane.enters;
        let out = router.low[router.layer(link.from)] + 8 + 4 * (self.leaves[at] % 4);
        let into = router.top[router.layer(link.to)] - 10 - 4 * (lane.turn % 3);
        let ends = (router.lower(link.from), router.upper(link.to));
        let points = vec![(from, ends.0), (from, out), (lane.x, out), (lane.x, into), (to, into), (to, ends.1)];
        let label = (link.label > 0).then(|| {
            let layer = text_layer(router, link);
            (lane.x, (router.top[layer] + router.low[layer]) / 2 + self.texts[at] * LABEL_LINE)
        });
        Route { points: straightened(points), label, back: false }
    }
}

/// Returns the position nearest to `right` with room for a line with a text of this width between the taken ranges.
fn free_beside(right: i64, label: i64, mut taken: Vec<(i64, i64)>) -> i64 {
    taken.sort_unstable();
    let mut beside = right;
    for (start, end) in taken {
        if start < beside + 2 * ASIDE + label && beside < end + ASIDE {
            beside = beside.max(end);
        }
    }
    beside
}

/// Returns how often a key was requested before.
fn next<K: Ord>(counts: &mut BTreeMap<K, i64>, key: K) -> i64 {
    let count = counts.entry(key).or_insert(0);
    *count += 1;
    *count - 1
}

/// Returns the offset from the middle at which a line at the side meets an item, near its right corner.
pub(super) fn corner(item: &Item, beside: i64) -> i64 {
    if item.width < 60 { 0 } else { item.width / 2 - 14 - beside }
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

/// Removes points that are repeated or on a straight line.
pub(super) fn straightened(points: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut kept: Vec<(i64, i64)> = Vec::with_capacity(points.len());
    for point in points {
        if kept.last() == Some(&point) {
            continue;
        }
        if let [.., before, last] = kept[..] {
            let is_upright = before.0 == last.0 && last.0 == point.0 && (last.1 - before.1) * (point.1 - last.1) > 0;
            let is_level = before.1 == last.1 && last.1 == point.1 && (last.0 - before.0) * (point.0 - last.0) > 0;
            if is_upright || is_level {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}

/// Shifts everything so that the left end is at 0.
fn finished(level: &Level, mut at: Vec<(i64, i64)>, mut routes: Vec<Route>, height: i64) -> Layout {
    let corners = at.iter().zip(&level.items).flat_map(|(corner, item)| [corner.0, corner.0 + item.width]);
    let lines = routes.iter().flat_map(|route| route.points.iter().map(|point| point.0));
    let texts = level.links.iter().zip(&routes).flat_map(|(link, route)| {
        let ends = |middle: (i64, i64)| [middle.0 - link.label / 2, middle.0 + link.label / 2];
        route.label.map(ends).into_iter().flatten()
    });
    let (left, right) =
        corners.chain(lines).chain(texts).fold((i64::MAX, i64::MIN), |(left, right), x| (left.min(x), right.max(x)));
    at.iter_mut().for_each(|corner| corner.0 -= left);
    for route in &mut routes {
        route.points.iter_mut().chain(&mut route.label).for_each(|point| point.0 -= left);
    }
    Layout { width: size::even(right - left), height, at, routes }
}
