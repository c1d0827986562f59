//! Horizontal positions: as near to the middle of the linked vertices as the neighbours permit.

use super::layered::{Layers, Level, LinkDirection, Vertex};
use super::size;

/// The gap between two dummy vertices, and between one and an item.
const LINKS: i64 = 18;
const LINK: i64 = 22;
/// The distance at which links enter an item.
const APART: i64 = 24;
/// The corners are reserved for links at the side.
const CORNER: i64 = 34;
/// The weights of links: the main line is straight first, then long links; all others give way.
const MAIN: f64 = 1_000_000.0;
const STRAIGHT: f64 = 1000.0;
/// The number of passes, each down and up through all layers; a last one goes down.
const PASSES: usize = 4;

/// Spreads the links that enter an item along its border, in their order.
pub(super) fn spread(level: &Level, layers: &mut Layers) {
    let mut position = vec![0; layers.vertices.len()];
    for row in &layers.rows {
        row.iter().enumerate().for_each(|(at, vertex)| position[*vertex] = at);
    }
    let mut entering = vec![Vec::new(); level.items.len()];
    for (link, course) in level.links.iter().zip(&layers.courses) {
        if let (LinkDirection::Down(segments), None) = (course, link.enters) {
            entering[link.to].extend(segments.last().copied());
        }
    }
    for (item, mut segments) in level.items.iter().zip(entering) {
        segments.sort_by_key(|segment| position[layers.segments[*segment].upper]);
        // The main line is straight if it enters at the middle.
        let main = segments.iter().position(|segment| layers.segments[*segment].is_main);
        let twice = main.map_or(segments.len().saturating_sub(1), |main| 2 * main) as i64;
        let farthest = twice.max(2 * segments.len() as i64 - 2 - twice);
        let apart = APART.min((item.width / 2 - CORNER).max(0) * 2 / farthest.max(1)) / 2 * 2;
        for (at, segment) in segments.into_iter().enumerate() {
            layers.segments[segment].enters = (2 * at as i64 - twice) * apart / 2;
        }
    }
}

/// Returns the middle of each vertex.
pub(super) fn across(layers: &Layers) -> Vec<i64> {
    let mut above = vec![Vec::new(); layers.vertices.len()];
    let mut below = vec![Vec::new(); layers.vertices.len()];
    for segment in &layers.segments {
        let offset = segment.leaves - segment.enters;
        let is_long = layers.vertices[segment.upper].is_place && layers.vertices[segment.lower].is_place;
        let weight = if segment.is_main { MAIN } else { 1.0 + f64::from(u8::from(is_long)) * STRAIGHT };
        above[segment.lower].push(Pull { other: segment.upper, offset, weight });
        below[segment.upper].push(Pull { other: segment.lower, offset: -offset, weight });
    }
    let rows: Vec<Row<'_>> = layers.rows.iter().map(|row| Row::of(row, &layers.vertices)).collect();
    let mut middles = vec![0; layers.vertices.len()];
    for row in &rows {
        let half = row.offsets.last().copied().unwrap_or(0) / 2;
        row.vertices.iter().zip(&row.offsets).for_each(|(vertex, offset)| middles[*vertex] = offset - half);
    }
    for _ in 0..PASSES {
        rows.iter().for_each(|row| row.settle(&above, &mut middles));
        rows.iter().rev().for_each(|row| row.settle(&below, &mut middles));
    }
    rows.iter().for_each(|row| row.settle(&above, &mut middles));
    middles
}

/// The position to which a link pulls a vertex: an offset from another vertex.
#[derive(Clone, Copy)]
struct Pull {
    other: usize,
    offset: i64,
    weight: f64,
}

/// A layer, and the offset of each vertex from the first if all are as close as possible.
struct Row<'l> {
    vertices: &'l [usize],
    offsets: Vec<i64>,
}

/// Adjacent vertices that are pulled together and so are as close as possible.
struct Block {
    wanted: f64,
    weight: f64,
    count: usize,
}

impl Row<'_> {
    fn of<'l>(row: &'l [usize], vertices: &[Vertex]) -> Row<'l> {
        let mut offsets = Vec::with_capacity(row.len());
        let mut at = 0;
        for (index, vertex) in row.iter().enumerate() {
            if index > 0 {
                at += distance(vertices[row[index - 1]], vertices[*vertex]);
            }
            offsets.push(at);
        }
        Row { vertices: row, offsets }
    }

    /// Moves each vertex to the mean of its linked vertices, as far as the gaps between neighbours permit: minimizes
    /// the weighted squares of the deviations.
    fn settle(&self, pulls: &[Vec<Pull>], middles: &mut [i64]) {
        let mut blocks: Vec<Block> = Vec::with_capacity(self.vertices.len());
        for (vertex, offset) in self.vertices.iter().zip(&self.offsets) {
            let (wanted, weight) = wish(*vertex, &pulls[*vertex], middles);
            let mut block = Block { wanted: wanted - *offset as f64, weight, count: 1 };
            while let Some(last) = blocks.pop_if(|last| last.wanted >= block.wanted) {
                let weight = last.weight + block.weight;
                block.wanted = (last.wanted * last.weight + block.wanted * block.weight) / weight;
                block = Block { weight, count: last.count + block.count, ..block };
            }
            blocks.push(block);
        }
        let starts = blocks.iter().flat_map(|block| std::iter::repeat_n(block.wanted.round() as i64, block.count));
        for ((vertex, offset), start) in self.vertices.iter().zip(&self.offsets).zip(starts) {
            middles[*vertex] = start + offset;
        }
    }
}

fn distance(left: Vertex, right: Vertex) -> i64 {
    let gap = match (left.is_place, right.is_place) {
        (true, true) => LINKS,
        (false, false) => size::ACROSS,
        _ => LINK,
    };
    (left.width + right.width) / 2 + gap
}

/// Returns the wanted place of a vertex, and its weight.
fn wish(vertex: usize, pulls: &[Pull], middles: &[i64]) -> (f64, f64) {
    if pulls.is_empty() {
        return (middles[vertex] as f64, 0.1);
    }
    let weight: f64 = pulls.iter().map(|pull| pull.weight).sum();
    let sum: f64 = pulls.iter().map(|pull| (middles[pull.other] + pull.offset) as f64 * pull.weight).sum();
    (sum / weight, weight)
}
