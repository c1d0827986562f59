//! Applies manual moves: shifts items from their place in the layout and reroutes their links.

use super::layered::{Item, Layout, Level, Link, Placement, Route};
use super::route::{ASIDE, TO_BORDER, UPRIGHT, corner, straightened};
use super::size::LABEL_LINE;

/// The distance of a link below an item before it turns, and above an item before it enters.
const OUT: i64 = 8;
const INTO: i64 = 10;

/// Moves the first items of a level by `by`; the others are ports, which stay on the border.
pub(super) fn moved(level: &Level, mut laid: Layout, by: &[(i64, i64)]) -> Layout {
    if by.iter().all(|by| *by == (0, 0)) {
        return laid;
    }
    for (corner, by) in laid.at.iter_mut().zip(by) {
        *corner = (corner.0 + by.0, corner.1 + by.1);
    }
    let has = |stands: Placement| level.items.iter().any(|item| item.stands == stands);
    let down = if has(Placement::Top) { under_border(level, &mut laid) } else { 0 };
    let items = level.items.iter().zip(&laid.at).filter(|(item, _)| !is_port(item));
    let lowest = items.map(|(item, corner)| corner.1 + item.height).max().unwrap_or(0);
    laid.height = laid.height.max(lowest + if has(Placement::Bottom) { TO_BORDER } else { 0 });
    for (item, corner) in level.items.iter().zip(&mut laid.at) {
        if item.stands == Placement::Bottom {
            corner.1 = laid.height;
        }
    }
    let moved_by = |item: usize| by.get(item).map(|by| (by.0, by.1 + down));
    for (link, route) in level.links.iter().zip(&mut laid.routes) {
        match (moved_by(link.from), moved_by(link.to)) {
            (Some(from), Some(to)) if from == to => shift(route, from),
            _ => *route = Route { back: route.back, ..led(level, &laid.at, link) },
        }
    }
    fitted(level, laid)
}

fn is_port(item: &Item) -> bool {
    matches!(item.stands, Placement::Top | Placement::Bottom)
}

/// Shifts everything below the ports of the upper border, and returns the distance.
fn under_border(level: &Level, laid: &mut Layout) -> i64 {
    let free = |(item, _): &(&Item, &mut (i64, i64))| !is_port(item);
    let highest = level.items.iter().zip(&mut laid.at).filter(free).map(|(_, corner)| corner.1).min();
    let down = (TO_BORDER - highest.unwrap_or(TO_BORDER)).max(0);
    level.items.iter().zip(&mut laid.at).filter(free).for_each(|(_, corner)| corner.1 += down);
    laid.height += down;
    down
}

fn shift(route: &mut Route, by: (i64, i64)) {
    for point in route.points.iter_mut().chain(&mut route.label) {
        *point = (point.0 + by.0, point.1 + by.1);
    }
}

/// Routes a link between items at any positions: downwards if there is room, else along the side.
fn led(level: &Level, at: &[(i64, i64)], link: &Link) -> Route {
    let (from, to) = (&level.items[link.from], &level.items[link.to]);
    let (lower, upper) = (at[link.from].1 + from.height, at[link.to].1);
    let (leaves, enters) = (at[link.from].0 + from.width / 2, at[link.to].0 + to.width / 2);
    let text = if link.label > 0 { LABEL_LINE } else { 0 };
    if upper - lower >= UPRIGHT + text + OUT {
        let (from, to) = (leaves + link.leaves.unwrap_or(0), enters + link.enters.unwrap_or(0));
        let points = vec![(from, lower), (to, upper - UPRIGHT - text), (to, upper)];
        let label = (link.label > 0).then_some((to, upper - UPRIGHT - LABEL_LINE / 2));
        return Route { points: straightened(points), label, back: false };
    }
    // The side of the target.
    let side = if enters < leaves { -1 } else { 1 };
    let from = leaves + link.leaves.unwrap_or_else(|| side * corner(from, 0));
    let to = enters + link.enters.unwrap_or_else(|| side * corner(to, 0));
    let (out, into) = (lower + OUT, upper - INTO);
    let beside = farthest(level, at, (out.min(into), out.max(into)), side).max((side * from).max(side * to));
    let lane = side * (beside + ASIDE + link.label / 2);
    let points = vec![(from, lower), (from, out), (lane, out), (lane, into), (to, into), (to, upper)];
    let label = (link.label > 0).then_some((lane, i64::midpoint(out, into)));
    Route { points: straightened(points), label, back: false }
}

/// Returns the extent of everything between two heights to a side: 1 is right, -1 is left.
fn farthest(level: &Level, at: &[(i64, i64)], (top, bottom): (i64, i64), side: i64) -> i64 {
    let items = level.items.iter().zip(at).filter(|(item, _)| !is_port(item));
    let beside = items.filter(|(item, corner)| corner.1 <= bottom && top <= corner.1 + item.height);
    let ends = beside.map(|(item, corner)| if side < 0 { -corner.0 } else { corner.0 + item.width });
    ends.max().unwrap_or(i64::MIN / 4)
}

/// Grows the level to its content, and shifts everything to nonnegative positions.
fn fitted(level: &Level, mut laid: Layout) -> Layout {
    let (mut left, mut top, mut right, mut bottom) = (0, 0, laid.width, laid.height);
    let mut hold = |x: (i64, i64), y: (i64, i64)| {
        (left, right) = (left.min(x.0), right.max(x.1));
        (top, bottom) = (top.min(y.0), bottom.max(y.1));
    };
    for (item, (x, y)) in level.items.iter().zip(&laid.at) {
        hold((*x, x + item.width), (*y, y + item.height));
    }
    for (link, route) in level.links.iter().zip(&laid.routes) {
        route.points.iter().for_each(|(x, y)| hold((*x, *x), (*y, *y)));
        if let Some((x, y)) = route.label {
            hold((x - link.label / 2, x + link.label / 2), (y - LABEL_LINE / 2, y + LABEL_LINE / 2));
        }
    }
    left -= left.rem_euclid(2);
    for corner in &mut laid.at {
        *corner = (corner.0 - left, corner.1 - top);
    }
    laid.routes.iter_mut().for_each(|route| shift(route, (-left, -top)));
    Layout { width: super::size::even(right - left), height: bottom - top, ..laid }
}
