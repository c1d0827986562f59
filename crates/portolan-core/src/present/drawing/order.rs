//! The order of vertices within layers: the written order, changed only if fewer lines cross.

use super::layered::Layers;

/// The maximum number of sweeps over all layers, and their cost in visited segments.
const SWEEPS: usize = 12;
const COST: usize = 600_000;
/// The number of sweeps without improvement after which ordering stops.
const PATIENCE: usize = 4;

pub(super) fn order(layers: &mut Layers) {
    let links = Links::of(layers);
    let mut position = vec![0; layers.vertices.len()];
    let mut rows = layers.rows.clone();
    rows.iter().for_each(|row| number(row, &mut position));
    let mut fewest = links.crossings(&rows, &position);
    let sweeps = SWEEPS.min(COST / layers.segments.len().max(1));
    let mut idle = 0;
    for sweep in 0..sweeps {
        if fewest == 0 || idle >= PATIENCE {
            break;
        }
        links.sweep(&mut rows, &mut position, sweep % 2 == 0);
        let crossings = links.crossings(&rows, &position);
        idle += 1;
        if crossings < fewest {
            fewest = crossings;
            idle = 0;
            layers.rows.clone_from(&rows);
        }
    }
}

fn number(row: &[usize], position: &mut [usize]) {
    for (at, vertex) in row.iter().enumerate() {
        position[*vertex] = at;
    }
}

/// The neighbours of each vertex in the layers above and below.
struct Links {
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Links {
    fn of(layers: &Layers) -> Links {
        let empty = vec![Vec::new(); layers.vertices.len()];
        let mut links = Links { above: empty.clone(), below: empty };
        for segment in &layers.segments {
            links.below[segment.upper].push(segment.lower);
            links.above[segment.lower].push(segment.upper);
        }
        links
    }

    fn sweep(&self, rows: &mut [Vec<usize>], position: &mut [usize], is_down: bool) {
        let (order, others): (Vec<usize>, _) = if is_down {
            ((1..rows.len()).collect(), &self.above)
        } else {
            ((0..rows.len()).rev().collect(), &self.below)
        };
        for row in order {
            sort(&mut rows[row], others, position);
            number(&rows[row], position);
        }
    }

    /// Counts the crossings of lines in all layers.
    fn crossings(&self, rows: &[Vec<usize>], position: &[usize]) -> usize {
        let mut count = 0;
        for pair in rows.windows(2) {
            let mut ends = Vec::new();
            for upper in &pair[0] {
                let from = ends.len();
                ends.extend(self.below[*upper].iter().map(|lower| position[*lower]));
                ends[from..].sort_unstable();
            }
            count += inversions(&ends, pair[1].len());
        }
        count
    }
}

/// Sorts a row by the medians of its neighbours. Vertices without links keep their places, and equal ones their order.
fn sort(row: &mut [usize], others: &[Vec<usize>], position: &[usize]) {
    let slots: Vec<usize> = (0..row.len()).filter(|at| !others[row[*at]].is_empty()).collect();
    let mut sorted: Vec<(usize, usize)> =
        slots.iter().map(|at| (median(&others[row[*at]], position), row[*at])).collect();
    sorted.sort_by_key(|(median, _)| *median);
    for (slot, (_, vertex)) in slots.into_iter().zip(sorted) {
        row[slot] = vertex;
    }
}

/// Returns twice the median position.
fn median(of: &[usize], position: &[usize]) -> usize {
    let mut positions: Vec<usize> = of.iter().map(|vertex| position[*vertex]).collect();
    positions.sort_unstable();
    positions[(positions.len() - 1) / 2] + positions[positions.len() / 2]
}

/// Counts the inversions among numbers below `count`.
fn inversions(numbers: &[usize], count: usize) -> usize {
    // The prefix sum of this tree is the number of visited numbers up to there.
    let mut met = vec![0_usize; count + 1];
    let mut inversions = 0;
    for (before, number) in numbers.iter().enumerate() {
        let (mut at, mut not_greater) = (number + 1, 0);
        while at > 0 {
            not_greater += met[at];
            at &= at - 1;
        }
        inversions += before - not_greater;
        at = number + 1;
        while at <= count {
            met[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    inversions
}
