//! The layout of one level: items in layers from top to bottom.
//!
//! A depth-first walk in the written order finds the back edges. Each item is in the first layer that its links permit,
//! so that items added behind it do not move it.

use super::size;
use super::{order, place, route};

/// Links across at most this many layers run between the items, through dummy vertices; longer ones run at the side.
/// All links together get one dummy vertex for each item and `SPARE_PLACES` more.
const LONGEST: usize = 12;
const SPARE_PLACES: usize = 20_000;
/// The maximum number of items without links in a row.
const IN_A_ROW: usize = 6;

/// The items of a level and their links.
#[derive(Default)]
pub(super) struct Level {
    pub(super) items: Vec<Item>,
    pub(super) links: Vec<Link>,
}

/// An item, of even width.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) stands: Placement,
    /// Whether it is centred on everything that it is linked to. Other items are under their first predecessor.
    pub(super) balances: bool,
}

/// Where an item may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Anywhere that its links permit.
    Free,
    /// The same, and the walk begins at it.
    First,
    /// On the upper border, where links from outside enter.
    Top,
    /// On the lower border.
    Bottom,
}

/// A link between two items.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The offset from the middle at which it leaves the lower border; `None` for any.
    pub(super) leaves: Option<i64>,
    /// The offset from the middle at which it enters the upper border; `None` for any.
    pub(super) enters: Option<i64>,
    /// The width of its text; 0 for none.
    pub(super) label: i64,
    /// Whether a failure takes it: such links are separate from others at the side.
    pub(super) is_failure: bool,
}

/// The laid out level; its upper left corner is at 0.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) width: i64,
    pub(super) height: i64,
    /// The upper left corner of each item.
    pub(super) at: Vec<(i64, i64)>,
    pub(super) routes: Vec<Route>,
}

/// The course of a link.
#[derive(Clone, Default)]
pub(super) struct Route {
    pub(super) points: Vec<(i64, i64)>,
    pub(super) label: Option<(i64, i64)>,
    pub(super) back: bool,
}

/// The direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkDirection {
    /// From an item to itself.
    Own,
    /// Downwards along these segments.
    Down(Vec<usize>),
    /// At the side of all items.
    Side,
}

/// An item, or a dummy vertex of a link in a layer that it crosses.
#[derive(Clone, Copy)]
pub(super) struct Vertex {
    pub(super) layer: usize,
    /// Its width with the room around it, half on each side of its middle.
    pub(super) width: i64,
    pub(super) is_place: bool,
}

/// The part of a link between two adjacent layers.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) upper: usize,
    pub(super) lower: usize,
    /// The offset from the middle at the upper vertex, and at the lower one.
    pub(super) leaves: i64,
    pub(super) enters: i64,
    /// Whether it belongs to the main line, which has priority to be straight.
    pub(super) is_main: bool,
}

/// The layers of a level. The vertices of its items come first, in order.
pub(super) struct Layers {
    pub(super) vertices: Vec<Vertex>,
    /// The vertices of each layer from left to right.
    pub(super) rows: Vec<Vec<usize>>,
    pub(super) segments: Vec<Segment>,
    pub(super) courses: Vec<LinkDirection>,
    pub(super) backs: Vec<bool>,
}

pub(super) fn lay(level: &Level) -> Layout {
    if level.items.is_empty() {
        return Layout::default();
    }
    let walk = Walk::of(level);
    let mut layers = layers(level, &walk);
    order::order(&mut layers);
    place::spread(level, &mut layers);
    let middles = place::across(&layers);
    route::routed(level, &layers, &middles)
}

/// The result of the depth-first walk in the written order.
struct Walk {
    /// When each item was found.
    found: Vec<usize>,
    /// The number of found items when each link was followed.
    followed: Vec<usize>,
    backs: Vec<bool>,
    /// The items in topological order without back edges.
    sorted: Vec<usize>,
    /// The links that leave each item.
    out: Vec<Vec<usize>>,
    /// Whether an item is reachable from the first root.
    reached: Vec<bool>,
}

const NEVER: usize = usize::MAX;

impl Walk {
    fn of(level: &Level) -> Walk {
        let count = level.items.len();
        let mut out = vec![Vec::new(); count];
        for (at, link) in level.links.iter().enumerate() {
            out[link.from].push(at);
        }
        let mut walk = Walk {
            found: vec![NEVER; count],
            followed: vec![0; level.links.len()],
            backs: vec![false; level.links.len()],
            sorted: Vec::with_capacity(count),
            out,
            reached: vec![false; count],
        };
        let stands = |wanted: Placement| (0..count).filter(move |at| level.items[*at].stands == wanted);
        let (mut finished, mut found, mut is_first) = (vec![false; count], 0, true);
        let roots = stands(Placement::First).chain(stands(Placement::Free));
        for root in roots.chain(stands(Placement::Top)).chain(stands(Placement::Bottom)) {
            if walk.found[root] == NEVER {
                walk.from(level, root, &mut found, &mut finished);
                if is_first {
                    walk.reached = finished.clone();
                }
                is_first = false;
            }
        }
        walk.sorted.reverse();
        walk
    }

    fn from(&mut self, level: &Level, root: usize, found: &mut usize, finished: &mut [bool]) {
        let mut open = vec![(root, 0)];
        self.found[root] = *found;
        *found += 1;
        while let Some((at, next)) = open.last_mut() {
            let Some(&link) = self.out[*at].get(*next) else {
                finished[*at] = true;
                self.sorted.push(*at);
                open.pop();
                continue;
            };
            *next += 1;
            self.followed[link] = *found;
            let to = level.links[link].to;
            if self.found[to] == NEVER {
                self.found[to] = *found;
                *found += 1;
                open.push((to, 0));
            } else {
                self.backs[link] = !finished[to];
            }
        }
    }

    /// Returns the layer of each item, and the number of layers.
    fn layered(&self, level: &Level) -> (Vec<usize>, usize) {
        let is_top = |at: usize| level.items[at].stands == Placement::Top;
        let first = usize::from((0..level.items.len()).any(is_top));
        let mut layer: Vec<usize> = (0..level.items.len()).map(|at| if is_top(at) { 0 } else { first }).collect();
        self.early(level, &mut layer);
        self.late(level, &mut layer);
        self.early(level, &mut layer);
        let linked = self.linked(level);
        let last = (0..layer.len()).filter(|at| linked[*at]).map(|at| layer[at] + 1).max().unwrap_or(first);
        let mut loose = 0;
        for (at, item) in level.items.iter().enumerate() {
            if !linked[at] && !is_top(at) && item.stands != Placement::Bottom {
                layer[at] = last + loose / IN_A_ROW;
                loose += 1;
            }
        }
        let is_bottom = |at: &usize| level.items[*at].stands == Placement::Bottom;
        let above = (0..layer.len()).filter(|at| !is_bottom(at)).map(|at| layer[at] + 1).max().unwrap_or(0);
        let mut count = above;
        for at in (0..layer.len()).filter(is_bottom) {
            layer[at] = above;
            count = above + 1;
        }
        (layer, count)
    }

    /// Moves each item below all its predecessors.
    fn early(&self, level: &Level, layer: &mut [usize]) {
        for &at in &self.sorted {
            for link in self.forward(at) {
                let to = level.links[link].to;
                layer[to] = layer[to].max(layer[at] + 1);
            }
        }
    }

    /// Moves items that the first root does not reach close above their successors.
    fn late(&self, level: &Level, layer: &mut [usize]) {
        let mut leads = self.reached.clone();
        for &at in self.sorted.iter().rev() {
            if self.reached[at] || level.items[at].stands == Placement::Top {
                continue;
            }
            let targets = self.forward(at).map(|link| level.links[link].to).filter(|to| leads[*to]);
            if let Some(lowest) = targets.map(|to| layer[to]).min() {
                leads[at] = true;
                layer[at] = layer[at].max(lowest.saturating_sub(1));
            }
        }
    }

    /// Finds the main link of each item: the first that is not for failures, if it was the first to reach its target.
    fn mains(&self, level: &Level) -> Vec<bool> {
        let mut mains = vec![false; level.links.len()];
        for (at, item) in level.items.iter().enumerate().filter(|(_, item)| !item.balances) {
            let is_usual = |link: &usize| !level.links[*link].is_failure && level.links[*link].to != at;
            let Some(link) = self.forward(at).find(is_usual) else { continue };
            let to = level.links[link].to;
            let is_first = self.found[to] == self.followed[link];
            mains[link] = is_first && !level.items[to].balances && item.stands != Placement::Top;
        }
        mains
    }

    fn forward(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        self.out[at].iter().copied().filter(|link| !self.backs[*link])
    }

    fn linked(&self, level: &Level) -> Vec<bool> {
        let mut linked = vec![false; level.items.len()];
        for link in level.links.iter().filter(|link| link.from != link.to) {
            linked[link.from] = true;
            linked[link.to] = true;
        }
        linked
    }
}

fn layers(level: &Level, walk: &Walk) -> Layers {
    let (layer, count) = walk.layered(level);
    let mut vertices = Vec::with_capacity(level.items.len());
    for (item, layer) in level.items.iter().zip(layer) {
        vertices.push(Vertex { layer, width: item.width, is_place: false });
    }
    for link in level.links.iter().filter(|link| link.from == link.to) {
        let room = 2 * (route::OWN + link.label);
        let vertex = &mut vertices[link.from];
        vertex.width = vertex.width.max(level.items[link.from].width + room);
    }
    let mut layers = Layers {
        vertices,
        rows: vec![Vec::new(); count],
        segments: Vec::new(),
        courses: Vec::new(),
        backs: Vec::new(),
    };
    let mains = walk.mains(level);
    let mut ranks: Vec<(usize, usize, usize)> = walk.found.iter().map(|found| (*found, NEVER, 0)).collect();
    let mut spare = level.items.len() + SPARE_PLACES;
    for (at, link) in level.links.iter().enumerate() {
        let course = layers.course(link, walk.backs[at], &mut spare);
        if let (LinkDirection::Down(segments), true) = (&course, mains[at]) {
            segments.iter().for_each(|segment| layers.segments[*segment].is_main = true);
        }
        ranks.resize(layers.vertices.len(), (walk.followed[at], at, 0));
        layers.courses.push(course);
    }
    layers.backs = walk.backs.clone();
    for (at, vertex) in layers.vertices.iter().enumerate() {
        layers.rows[vertex.layer].push(at);
    }
    layers.rows.iter_mut().for_each(|row| row.sort_by_key(|at| ranks[*at]));
    layers
}

impl Layers {
    fn course(&mut self, link: &Link, is_back: bool, spare: &mut usize) -> LinkDirection {
        if link.from == link.to {
            return LinkDirection::Own;
        }
        let (first, last) = (self.vertices[link.from].layer, self.vertices[link.to].layer);
        if is_back || last <= first || last - first > LONGEST || last - first - 1 > *spare {
            return LinkDirection::Side;
        }
        *spare -= last - first - 1;
        let mut segments = Vec::with_capacity(last - first);
        let mut upper = link.from;
        for layer in first + 1..=last {
            let lower = if layer == last { link.to } else { self.pass(layer, link.label, layer == first + 1) };
            let leaves = if layer == first + 1 { link.leaves.unwrap_or(0) } else { 0 };
            let enters = if layer == last { link.enters.unwrap_or(0) } else { 0 };
            segments.push(self.segments.len());
            self.segments.push(Segment { upper, lower, leaves, enters, is_main: false });
            upper = lower;
        }
        LinkDirection::Down(segments)
    }

    /// Adds a dummy vertex in a layer; the first one of a link has room for its text.
    fn pass(&mut self, layer: usize, label: i64, is_first: bool) -> usize {
        let width = if is_first { size::even(label) } else { 0 };
        self.vertices.push(Vertex { layer, width, is_place: true });
        self.vertices.len() - 1
    }
}
