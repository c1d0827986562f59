//! Horizontal positions: as near to the middle of the linked vertices as the neighbours permit.

use super::layered::{Layers, Level, LinkDirection, Vertex};
use super::size;

/// The gap between two dummy vertices, and between one and an item.
const LINKS: i64 = 18;
const LINK: i64 = 22;
/// The distance at which links enter an item.
const APART: i64 = 24;
/// The room beside the text of a link.
pub(super) const BESIDE: i64 = 8;
/// The corners are reserved for links at the side.
pub(super) const CORNER: i64 = 34;
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
        if let (LinkDirection::Down(segments), None) = (course, link.enters)
            && let Some(last) = segments.last()
        {
            // The text of a longer link is above another item.
            let text = if segments.len() == 1 { link.label } else { 0 };
            entering[link.to].push((*last, text));
        }
    }
    for (item, mut ends) in level.items.iter().zip(entering) {
        ends.sort_by_key(|(segment, _)| position[layers.segments[*segment].upper]);
        // The main line is straight if it enters at the middle.
        let main = ends.iter().position(|(segment, _)| layers.segments[*segment].is_main);
        let texts: Vec<i64> = ends.iter().map(|(_, text)| *text).collect();
        for ((segment, _), offset) in ends.into_iter().zip(offsets(&texts, main, item.width / 2 - CORNER)) {
            layers.segments[segment].enters = offset;
        }
    }
}

/// Returns the offsets from the middle of lines beside each other, with room for their texts as far as half of the
/// border, `room`, permits. The main line is at the middle if the others have room beside it.
fn offsets(texts: &[i64], main: Option<usize>, room: i64) -> Vec<i64> {
    let mut at: Vec<i64> = Vec::with_capacity(texts.len());
    for (nth, text) in texts.iter().enumerate() {
        let before = nth.checked_sub(1).map_or(0, |before| at[before] + apart(texts[before], *text));
        at.push(before);
    }
    let (first, last) = (at.first().copied().unwrap_or(0), at.last().copied().unwrap_or(0));
    let farthest = |middle: i64| (last - middle).max(middle - first).max(1);
    let main = main.map(|main| at[main]).filter(|main| farthest(*main) <= room || texts.iter().all(|text| *text == 0));
    let middle = main.unwrap_or_else(|| i64::midpoint(first, last));
    let farthest = farthest(middle);
    let scaled = |offset: i64| offset * farthest.min(room.max(0)) / farthest / 2 * 2;
    at.into_iter().map(|offset| scaled(offset - middle)).collect()
}

/// Returns the distance of two lines at which the text of neither covers the other line or its text.
fn apart(left: i64, right: i64) -> i64 {
    match (left, right) {
        (1.., 1..) => (left + right) / 2 + BESIDE,
        _ => (left.max(right) / 2 + BESIDE).max(APART),
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
