//! The layout of nested boxes: each box is laid out separately, innermost first, and is then one item of its level.
//!
//! An edge through the border of a box is laid out in pieces, which meet at a port on the border.

use std::collections::BTreeMap;

use super::layered::{Item, Layout, Level, Link, Placement, lay};
use super::lines::Way;
use super::place::BESIDE;
use super::sheet::Sheet;
use super::size::{self, HEAD, MARGIN, PADDING};
use super::{Drawing, DrawnEdge, manual_moves, route};

/// The level outside all boxes.
const ROOT: usize = 0;
const PORT: i64 = 8;

pub(super) fn laid_out(sheet: Sheet) -> Drawing {
    let mut nest = Nest::of(sheet);
    let pieces: Vec<Vec<Piece>> = (0..nest.sheet.ways.len()).map(|way| nest.pieces(way)).collect();
    for level in (0..nest.rooms.len()).rev() {
        nest.lay(level);
    }
    nest.place();
    nest.drawing(&pieces)
}

/// An end of a link in a level.
#[derive(Clone, Copy)]
enum End {
    /// A box, and the node in it where the edge ends; often the box itself.
    Box { standing: usize, meant: usize },
    /// A port, by index.
    Port(usize),
}

/// A link of a level, before the places of its ends are known.
struct LevelLink {
    from: End,
    to: End,
    /// The width of its text.
    label: i64,
    is_failure: bool,
}

/// A piece of an edge: the level, and the index of the link in it.
type Piece = (usize, usize);

/// A level: the content of one box, or of none.
#[derive(Default)]
struct Room {
    /// The items in it, in the written order.
    children: Vec<usize>,
    /// The index of the port and its link, by the node where the edge ends and whether the edge leaves it.
    ports: BTreeMap<(usize, bool), (usize, usize)>,
    /// Whether each port is an exit.
    sides: Vec<bool>,
    links: Vec<LevelLink>,
    laid: Layout,
    /// The upper left corner of the level: first in its box, later in the drawing.
    corner: (i64, i64),
}

impl Room {
    /// Returns the leftmost position in the level at which an edge enters it.
    fn entry(&self, laid: &Layout) -> Option<i64> {
        let ports = laid.at.iter().skip(self.children.len()).zip(&self.sides);
        ports.filter(|(_, is_out)| !**is_out).map(|((x, _), _)| x + PORT / 2).min()
    }
}

struct Nest {
    sheet: Sheet,
    /// The root first, then one for each box, empty if the box has no content.
    rooms: Vec<Room>,
    /// The index of each box among the children of its level.
    rank: Vec<usize>,
    sizes: Vec<(i64, i64)>,
    depth: Vec<usize>,
    width: i64,
    height: i64,
}

impl Nest {
    fn of(sheet: Sheet) -> Nest {
        let count = sheet.boxes.len();
        let mut rooms: Vec<Room> = (0..=count).map(|_| Room::default()).collect();
        let (mut rank, mut depth): (Vec<usize>, Vec<usize>) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (at, sketch) in sheet.boxes.iter().enumerate() {
            let level = sketch.parent.map_or(ROOT, |parent| parent + 1);
            rank.push(rooms[level].children.len());
            rooms[level].children.push(at);
            depth.push(sketch.parent.map_or(0, |parent| depth[parent] + 1));
        }
        let sizes = sheet.boxes.iter().map(|sketch| size::of(&sketch.node)).collect();
        Nest { sheet, rooms, rank, sizes, depth, width: 0, height: 0 }
    }

    fn level_of(&self, standing: usize) -> usize {
        self.sheet.boxes[standing].parent.map_or(ROOT, |parent| parent + 1)
    }

    /// Splits an edge into pieces in order: out of the boxes that contain only its start, then into those that contain
    /// only its end.
    fn pieces(&mut self, way: usize) -> Vec<Piece> {
        let Way { from, to, .. } = self.sheet.ways[way];
        let (mut start, mut end) = (from, to);
        let (mut out, mut into) = (Vec::new(), Vec::new());
        while self.level_of(start) != self.level_of(end) {
            if self.depth[start] >= self.depth[end] {
                start = self.leave(start, from, true, &mut out);
            } else {
                end = self.leave(end, to, false, &mut into);
            }
        }
        let level = self.level_of(start);
        let edge = &self.sheet.ways[way].edge;
        let (label, is_failure) = (edge.text.as_deref().map_or(0, size::label), edge.kind == "failed");
        let (from, to) = (End::Box { standing: start, meant: from }, End::Box { standing: end, meant: to });
        self.rooms[level].links.push(LevelLink { from, to, label, is_failure });
        out.push((level, self.rooms[level].links.len() - 1));
        out.extend(into.into_iter().rev());
        out
    }

    /// Moves an end to the outer level through a port, and returns the box that contains it.
    fn leave(&mut self, standing: usize, meant: usize, is_out: bool, pieces: &mut Vec<Piece>) -> usize {
        let level = self.level_of(standing);
        let Room { ports, sides, links, .. } = &mut self.rooms[level];
        let (_, link) = *ports.entry((meant, is_out)).or_insert_with(|| {
            let (inner, port) = (End::Box { standing, meant }, End::Port(sides.len()));
            let (from, to) = if is_out { (inner, port) } else { (port, inner) };
            links.push(LevelLink { from, to, label: 0, is_failure: false });
            sides.push(is_out);
            (sides.len() - 1, links.len() - 1)
        });
        pieces.push((level, link));
        level - 1
    }

    /// Lays out a level and sizes its box.
    fn lay(&mut self, level: usize) {
        let is_open = level == ROOT || self.sheet.boxes[level - 1].is_open();
        if !is_open {
            return;
        }
        self.widen(level);
        let by = self.rooms[level].children.iter().map(|child| self.sheet.boxes[*child].node.moved.unwrap_or_default());
        let by: Vec<(i64, i64)> = by.map(|(right, down)| (right.into(), down.into())).collect();
        let things = self.level(level);
        let laid = manual_moves::moved(&things, lay(&things), &by);
        let (width, height) = (laid.width, laid.height);
        if level == ROOT {
            (self.width, self.height) = (width + 2 * MARGIN, height + 2 * MARGIN);
            self.rooms[level].corner = (MARGIN, MARGIN);
        } else {
            let node = &self.sheet.boxes[level - 1].node;
            let outer = (width + 2 * PADDING).max(size::head(node));
            // Edges into the box enter right of its title.
            let free = self.rooms[level].entry(&laid).map_or(0, |entry| size::title(node) + BESIDE - entry);
            let left = free.max((outer - width) / 2);
            self.sizes[level - 1] = (size::even(outer.max(left + width + PADDING)), HEAD + height + PADDING);
            self.rooms[level].corner = (left, HEAD);
        }
        self.rooms[level].laid = laid;
    }

    /// Widens boxes that several links with texts enter from one box, so that the texts have room beside each other.
    fn widen(&mut self, level: usize) {
        let mut entering: BTreeMap<(usize, usize), (i64, i64)> = BTreeMap::new();
        for link in self.rooms[level].links.iter().filter(|link| link.label > 0) {
            if let (End::Box { standing: from, .. }, End::Box { standing: to, .. }) = (link.from, link.to)
                && from != to
            {
                let (count, width) = entering.entry((from, to)).or_default();
                (*count, *width) = (*count + 1, *width + link.label);
            }
        }
        for ((_, to), (count, width)) in entering {
            if count > 1 && !self.sheet.boxes[to].is_open() {
                self.sizes[to].0 = self.sizes[to].0.max(size::for_texts(count, width));
            }
        }
    }

    fn level(&self, level: usize) -> Level {
        let room = &self.rooms[level];
        let children = room.children.iter().map(|child| {
            let (width, height) = self.sizes[*child];
            let stands = if self.sheet.boxes[*child].begins { Placement::First } else { Placement::Free };
            let balances = matches!(self.sheet.boxes[*child].node.kind, "fork" | "join");
            Item { width, height, stands, balances }
        });
        let ports = room.sides.iter().map(|is_out| {
            let stands = if *is_out { Placement::Bottom } else { Placement::Top };
            Item { width: PORT, height: 0, stands, balances: false }
        });
        let links = room.links.iter().map(|link| Link {
            from: self.item(room, link.from),
            to: self.item(room, link.to),
            leaves: self.port(link.from, true),
            enters: self.port(link.to, false),
            label: link.label,
            is_failure: link.is_failure,
        });
        Level { items: children.chain(ports).collect(), links: links.collect() }
    }

    fn item(&self, room: &Room, end: End) -> usize {
        match end {
            End::Box { standing, .. } => self.rank[standing],
            End::Port(port) => room.children.len() + port,
        }
    }

    /// Returns the offset from the middle at which a link meets an item; `None` for any.
    fn port(&self, end: End, is_out: bool) -> Option<i64> {
        let (standing, meant) = match end {
            End::Box { standing, meant } if standing != meant => (standing, meant),
            End::Box { .. } => return None,
            End::Port(_) => return Some(0),
        };
        let room = &self.rooms[standing + 1];
        let (port, _) = room.ports.get(&(meant, is_out))?;
        let (x, _) = room.laid.at[room.children.len() + port];
        Some(room.corner.0 + x + PORT / 2 - self.sizes[standing].0 / 2)
    }

    /// Converts positions in boxes to positions in the drawing, from the outside in.
    fn place(&mut self) {
        for standing in 0..self.sheet.boxes.len() {
            let outer = &self.rooms[self.level_of(standing)];
            let (x, y) = outer.laid.at[self.rank[standing]];
            let corner = (outer.corner.0 + x, outer.corner.1 + y);
            let inner = &mut self.rooms[standing + 1].corner;
            *inner = (inner.0 + corner.0, inner.1 + corner.1);
            let node = &mut self.sheet.boxes[standing].node;
            (node.x, node.y) = (pixels(corner.0), pixels(corner.1));
            (node.width, node.height) = (pixels(self.sizes[standing].0), pixels(self.sizes[standing].1));
        }
    }

    fn drawing(mut self, pieces: &[Vec<Piece>]) -> Drawing {
        let ways = std::mem::take(&mut self.sheet.ways);
        let edges = ways.into_iter().zip(pieces).map(|(way, pieces)| self.routed(way.edge, pieces)).collect();
        let nodes = self.sheet.boxes.into_iter().map(|sketch| sketch.node).collect();
        Drawing { width: pixels(self.width), height: pixels(self.height), nodes, edges }
    }

    fn routed(&self, edge: DrawnEdge, pieces: &[Piece]) -> DrawnEdge {
        let (mut points, mut label_at, mut back) = (Vec::new(), None, false);
        for (level, link) in pieces {
            let room = &self.rooms[*level];
            let route = &room.laid.routes[*link];
            let moved = |point: &(i64, i64)| (point.0 + room.corner.0, point.1 + room.corner.1);
            points.extend(route.points.iter().map(moved));
            label_at = label_at.or(route.label.as_ref().map(moved));
            back |= route.back;
        }
        let pixel = |point: (i64, i64)| (pixels(point.0), pixels(point.1));
        let points = route::straightened(points).into_iter().map(pixel).collect();
        DrawnEdge { points, label_at: label_at.map(pixel), back, ..edge }
    }
}

/// Converts a length to pixels. Nothing is left of or above the drawing, and lengths that a browser cannot count are
/// cut.
fn pixels(length: i64) -> u32 {
    u32::try_from(length.max(0)).unwrap_or(u32::MAX)
}
