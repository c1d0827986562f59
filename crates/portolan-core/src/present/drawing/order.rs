//! The order of things beside each other: the one written, changed only where fewer lines cross.

use super::layered::Layers;

/// How often all layers are gone through, and what that may cost: so many segments looked at.
const SWEEPS: usize = 12;
const COST: usize = 600_000;
/// So many sweeps in a row that make nothing better are the last.
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

/// What each vertex is linked to in the layers above and below.
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

    /// How many lines cross, over all layers.
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

/// Sorts a row by the medians of what its vertices are linked to. Vertices without links stay where they are, and the
/// order of equals stays as it is.
fn sort(row: &mut [usize], others: &[Vec<usize>], position: &[usize]) {
    let slots: Vec<usize> = (0..row.len()).filter(|at| !others[row[*at]].is_empty()).collect();
    let mut sorted: Vec<(usize, usize)> =
        slots.iter().map(|at| (median(&others[row[*at]], position), row[*at])).collect();
    sorted.sort_by_key(|(median, _)| *median);
    for (slot, (_, vertex)) in slots.into_iter().zip(sorted) {
        row[slot] = vertex;
    }
}

/// Twice the median position.
fn median(of: &[usize], position: &[usize]) -> usize {
    let mut positions: Vec<usize> = of.iter().map(|vertex| position[*vertex]).collect();
    positions.sort_unstable();
    positions[(positions.len() - 1) / 2] + positions[positions.len() / 2]
}

/// How many pairs of numbers below `count` stand in the wrong order.
fn inversions(numbers: &[usize], count: usize) -> usize {
    // The sum over a prefix of this tree is how many numbers up to there have been met.
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
