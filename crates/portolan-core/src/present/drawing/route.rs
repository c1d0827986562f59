//! The courses of links that go down between the layers, and the positions of everything in a level.

use std::collections::BTreeMap;

use super::layered::{Item, Layers, Layout, Level, Link, LinkDirection, Placement, Route, Segment};
use super::sides::Sides;
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
/// The maximum number of lines of text in a gap.
const MOST_LINES: usize = 6;

pub(super) fn routed(level: &Level, layers: &Layers, middles: &[i64]) -> Layout {
    let mut router = Router::of(level, layers, middles);
    router.texts();
    let sides = Sides::of(&router);
    router.rows(&sides);
    let routes = router.routes(&sides);
    let at = router.corners();
    finished(level, at, routes, router.bottom)
}

pub(super) struct Router<'l> {
    pub(super) level: &'l Level,
    pub(super) layers: &'l Layers,
    pub(super) middles: &'l [i64],
    /// The line of each link's text in its gap, counted from below.
    lines: Vec<usize>,
    /// The number of lines of text under each layer.
    under: Vec<usize>,
    /// The upper and the lower border of each layer.
    pub(super) top: Vec<i64>,
    pub(super) low: Vec<i64>,
    bottom: i64,
}

impl<'l> Router<'l> {
    fn of(level: &'l Level, layers: &'l Layers, middles: &'l [i64]) -> Router<'l> {
        let count = layers.rows.len();
        let lines = vec![0; level.links.len()];
        let under = vec![0; count];
        Router { level, layers, middles, lines, under, top: vec![0; count], low: vec![0; count], bottom: 0 }
    }

    pub(super) fn layer(&self, item: usize) -> usize {
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

    /// Computes the vertical position of each layer. A gap has room for the lines to the side that turn in it.
    fn rows(&mut self, sides: &Sides) {
        let last = self.top.len() - 1;
        let above = sides.room_above(0);
        let mut y = if above > 0 { above.max(ROUND) } else { 0 };
        for layer in 0..=last {
            let items = self.layers.rows[layer].iter().filter_map(|vertex| self.level.items.get(*vertex));
            self.top[layer] = y;
            self.low[layer] = y + items.map(|item| item.height).max().unwrap_or(0);
            y = self.low[layer];
            if layer < last {
                let is_border = self.is_border(layer) || self.is_border(layer + 1);
                let least = if is_border { TO_BORDER } else { BETWEEN };
                let turns = sides.room_below(layer) + sides.room_above(layer + 1);
                y += self.under[layer] as i64 * LABEL_LINE + least.max(turns);
            }
        }
        let below = sides.room_below(last);
        self.bottom = y + if below > 0 { below.max(ROUND) } else { 0 };
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
    pub(super) fn upper(&self, item: usize) -> i64 {
        let layer = self.layer(item);
        let room = self.low[layer] - self.top[layer] - self.level.items[item].height;
        self.top[layer] + (room / 2).min(24)
    }

    pub(super) fn lower(&self, item: usize) -> i64 {
        self.upper(item) + self.level.items[item].height
    }

    fn routes(&self, sides: &Sides) -> Vec<Route> {
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

/// Returns the offset from the middle at which a line at the side meets an item, near its right corner.
pub(super) fn corner(item: &Item, beside: i64) -> i64 {
    if item.width < 60 { 0 } else { item.width / 2 - 14 - beside }
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
