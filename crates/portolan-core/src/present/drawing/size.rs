//! Sizes. The core has no fonts: texts are measured by counting characters.

use super::{DrawnNode, place, svg};

/// The gap between items of a layer.
pub(super) const ACROSS: i64 = 28;
/// The gap between layers.
pub(super) const BETWEEN: i64 = 56;
/// The margin of the drawing.
pub(super) const MARGIN: i64 = 24;
/// The padding of a box except for its head.
pub(super) const PADDING: i64 = 16;
/// The height of a box's head, which has its name.
pub(super) const HEAD: i64 = 36;
/// The height of one line of edge texts.
pub(super) const LABEL_LINE: i64 = 16;

const NAME_LETTER: f64 = 7.4;
const SMALL_LETTER: f64 = 6.2;
/// The room in a head left of the name: a sign that it can be folded, and one of its kind.
const FOLD: i64 = 51;
/// The same for its small print.
pub(super) const INDENT: i64 = 12;
const NARROWEST: i64 = 120;
const WIDEST: i64 = 260;

/// Returns the width of a text if a narrow character is `letter` wide. East Asian characters and emoji are twice as
/// wide.
fn wide(text: &str, letter: f64) -> i64 {
    let letters: u32 = text.chars().map(units).sum();
    (f64::from(letters) * letter).ceil() as i64
}

fn units(letter: char) -> u32 {
    if matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{fe6f}' | '\u{ff00}'..='\u{ffe6}' | '\u{1f000}'..) {
        2
    } else {
        1
    }
}

/// The maximum width of an edge text.
pub(super) const LABEL_ROOM: u32 = 260;

/// Returns the width of an edge text.
pub(super) fn label(text: &str) -> i64 {
    wide(text, SMALL_LETTER).min(LABEL_ROOM.into()) + 8
}

/// Returns the width of a box that lines with texts of this total width enter beside each other.
pub(super) fn for_texts(count: i64, width: i64) -> i64 {
    even((width + (count - 1) * place::BESIDE + 2 * place::CORNER).min(WIDEST))
}

/// Shortens a text to a width, in the font size of names or of the small print.
pub(super) fn fitting(text: &str, width: u32, small: bool) -> String {
    let letter = if small { SMALL_LETTER } else { NAME_LETTER };
    let most = (f64::from(width) / letter) as u32;
    if text.chars().map(units).sum::<u32>() <= most {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |letter: &char| {
        used += units(*letter);
        used < most
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Returns the width and height of a single node. Widths are even, so that the middle is a whole pixel.
pub(super) fn of(node: &DrawnNode) -> (i64, i64) {
    let text = wide(&node.name, NAME_LETTER).max(wide(&node.detail, SMALL_LETTER));
    let narrowest = NARROWEST.max(wide(&svg::what(node), SMALL_LETTER) + 24);
    let width = even((text + 32).clamp(narrowest, WIDEST));
    match node.kind {
        "fork" | "join" => (width, 12),
        "gate" | "switch" | "checkpoint" => {
            (even((text + 56).clamp(narrowest, WIDEST)), if node.detail.is_empty() { 44 } else { 60 })
        }
        "start" => (even((wide(&node.name, NAME_LETTER) + 36).clamp(72, WIDEST)), 32),
        "end" => (even((text + wide(node.result.unwrap_or_default(), NAME_LETTER) + 50).clamp(NARROWEST, WIDEST)), 32),
        _ if node.container.is_some() => (even((text + 60).clamp(narrowest, WIDEST)), 60),
        _ if node.detail.is_empty() => (width, 44),
        _ => (width, 60),
    }
}

/// Returns the minimum width of a box for its head.
pub(super) fn head(node: &DrawnNode) -> i64 {
    even((wide(&node.name, NAME_LETTER) + 60).clamp(NARROWEST, WIDEST))
}

/// Returns the width of the title in the head of a box from its left border, without the rest of a long small print.
pub(super) fn title(node: &DrawnNode) -> i64 {
    let name = FOLD + wide(&node.name, NAME_LETTER);
    name.max((INDENT + wide(&svg::below(node), SMALL_LETTER)).min(WIDEST))
}

pub(super) fn even(width: i64) -> i64 {
    width + width % 2
}
